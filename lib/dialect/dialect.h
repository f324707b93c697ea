/*
 * dialect/dialect.h: how one agent writes its sessions.
 *
 * A dialect is a table of pure functions: bytes and an environment go in; fields, names
 * and bytes come out. It opens no files, has no state, and is the only place that knows
 * an agent's JSON keys.
 *
 * The table has chapters. Those that are members are part of every dialect:
 *
 *	recognise   does this log, directory or path belong to the agent?
 *	read        what a line is, and its place in the tree
 *	text        the text of an entry that a person would read
 *	list        what a listing shows for a session
 *	usage       what was billed
 *	context     which messages an entry contributes
 *	write       how an entry is stored
 *	names       ids, and the names of sessions
 *	paths       directories and files
 *
 * Those that are pointers are optional as a whole. NULL means that the agent has no
 * such thing; the comment at each pointer says what grove does then.
 *
 *	header        a first line that describes the session
 *	rules         a conversation determined by rules over the whole log
 *	copy          forks that assign new ids to what they copy
 *	blobs         large values in files of their own
 *	history       a database of prompts
 *	last_session  a record of the last session of each terminal
 *	live          records of running processes
 *	resume        commands that continue a session
 *	retention     sessions that the agent deletes after a while
 *	agents        files about sub-agents
 *	delegation    entries about sub-agents
 *	heads         entries without their long values
 *
 * Each slot is marked Required or Optional. Required in an optional chapter means: if
 * the chapter is given. tests/unit/test_dialect.c checks all tables; tests/unit/toy.c
 * is the smallest dialect that lists, loads, forks and appends.
 *
 * Unless a slot says otherwise, a function returns 0 or GROVE_ENOMEM, appends to the
 * buffers it is given, and returns the result of its callback if that is not 0. Slices
 * in a result point into the given line, or into the arena if text had to be unescaped.
 */
#ifndef GROVE_DIALECT_DIALECT_H
#define GROVE_DIALECT_DIALECT_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/fail.h"
#include "base/ice.h"
#include "entry/entry.h"
#include "json/scan.h"

/* The environment, as far as layout rules need it. */
struct grove__env {
	const char *home;
	const char *cwd;
	const char *(*getenv)(void *payload, const char *name);
	void *getenv_payload;
	/* Appends the path without links. Returns 0, 1 if there is no such file, GROVE_ENOMEM. */
	int (*realpath)(void *payload, const char *path, struct grove_buf *out);
	/* True if there is anything at this path. */
	bool (*exists)(void *payload, const char *path);
	void *file_payload;       /* of these two */
	const char *tty;          /* the controlling terminal; NULL: none */
};

typedef int grove__json_fn(void *payload, struct grove_slice json);
/* `from` is the number of the message that this one came from; see each slot. */
typedef int grove__message_fn(void *payload, size_t from, struct grove_slice json);
typedef int grove__root_fn(void *payload, const char *agent, const char *dir, bool flat);

/* ---------------------------------------------------------------- recognise */

/* How certain it is that an agent wrote a line. */
enum grove__claim {
	CLAIM_NONE,
	CLAIM_LIKELY,   /* related agents could have written the line as well, but do not */
	CLAIM_SURE      /* no other agent writes such lines */
};

/*
 * Decides whose log it is, if several agents could have written it. The line counts
 * first, then the path, then what is next to it. No two dialects may give the same
 * answer for a path.
 */
struct grove__dialect_recognise {
	/* Optional. Judges the first line of a log. NULL: a line never decides. */
	enum grove__claim (*claims)(struct grove_slice line);
	/*
	 * Optional. The usual end of the path of its directory of sessions. NULL: it
	 * has no usual location.
	 */
	const char *root;
	/*
	 * Optional. Names next to that directory that only this agent creates, up to
	 * NULL. NULL: none.
	 */
	const char *const *beside;
	/*
	 * Optional. True for the name of a project's directory that only this agent
	 * uses. NULL: none is.
	 */
	bool (*project)(const char *name);
};

/* --------------------------------------------------------------------- read */

/* What a line is. */
enum grove__line_class {
	LINE_SKIP,      /* valid JSON without meaning */
	LINE_HEADER,
	LINE_ENTRY,
	/*
	 * A title slot if it is the first value, before the header: then `text` of
	 * the entry is the title. Anywhere else it is an entry.
	 */
	LINE_SLOT
};

struct grove__dialect_read {
	/*
	 * Required. The members that index(), the header's read() and list.line() need.
	 * Lines are scanned for them once.
	 */
	const struct grove__json_member *members;
	unsigned nr_members;
	/* Required. The member that index() takes an entry's id from. */
	const char *id;
	/* Required. Interprets a line that was scanned for `members`. */
	enum grove__line_class (*index)(const struct grove__json_line *l, const char *line,
					struct grove__arena *tmp, struct grove__entry *out);
	/*
	 * Optional. True in a lenient dialect: values are read one after the other,
	 * whatever the lines are (json/lenient.h). Else a line is a value or
	 * nothing. Ask with grove__dialect_by_value().
	 */
	bool by_value;
	/*
	 * Optional. The first version of the format whose lines have ids; in logs of earlier
	 * ones line_id() gives them, and each entry is below the one before it.
	 * GROVE__IDS_NEVER: no line has one. Such a log is a list, whose lines are stored as
	 * they are composed; ask with grove__dialect_linear(). 0: they always had.
	 */
	unsigned ids_since;
	/*
	 * Required with `ids_since`. Makes the id of a line from its number: a function of
	 * these alone. `attempt` counts the ids that another line has.
	 */
	size_t (*line_id)(struct grove_slice session, uint64_t line, unsigned attempt, char out[40]);
};
#define GROVE__IDS_NEVER (~0u)

/* --------------------------------------------------------------------- text */

struct grove__dialect_text {
	/* Required. Calls `fn` with each piece of text in an entry that a person would read. */
	int (*pieces)(struct grove_slice line, enum grove_kind kind, enum grove_role role,
		      grove_piece_fn *fn, void *payload);
	/*
	 * Optional, where nothing but its content tells how a message with blocks reads. Calls
	 * `fn` with the pieces of `content`, an array. Of a text only `max` bytes after its
	 * leading white space are needed, and one more if there are more. NULL: ask with the line.
	 */
	int (*block_pieces)(struct grove_slice content, size_t max, grove_piece_fn *fn, void *payload);
	/*
	 * Optional. Returns the raw content of a prompt, to be edited and sent again;
	 * empty if the entry is not a prompt. NULL: the content is not returned.
	 */
	struct grove_slice (*prompt)(struct grove_slice line, enum grove_kind kind);
};

/* --------------------------------------------------------------------- list */

/* What a listing shows for a session; filled in line by line. */
struct grove__summary {
	uint64_t messages;
	bool has_first;
	struct grove_buf first;      /* the first message of the user */
	struct grove_buf name;
	int64_t newest;              /* the newest time of a message that counts; GROVE_NO_TIME */
	void *more;                  /* what tally->new() made; NULL: nothing */
};

struct grove__header;

/* A listing that must remember more than a summary holds until it has seen every line. */
struct grove__dialect_tally {
	/* Required. Returns NULL when out of memory. */
	void *(*new)(uint64_t seed);
	/* Required. */
	void (*free)(void *more);
	/* Required. read.index() for lines that are only listed: it may leave out what lists do not need. */
	enum grove__line_class (*index)(const struct grove__json_line *l, const char *line,
					struct grove__arena *tmp, struct grove__entry *out);
	/*
	 * Required. Called after the last line: fills `sum`, and those members of the
	 * header that come from entries. `beside` reads a file that belongs to the
	 * session (0, or negative). Returns 1 if the session is not for a list; `sum`
	 * is filled in all the same.
	 */
	int (*end)(void *more, struct grove__arena *keep,
		   int (*beside)(void *payload, const char *name, struct grove_buf *out),
		   void *payload, struct grove__header *h, struct grove__summary *sum);
};

struct grove__dialect_list {
	/* Required. Adds an entry to the summary, and sets `has_first` as soon as there is a first message. */
	int (*line)(const struct grove__json_line *l, const char *line, struct grove__arena *tmp,
		    const struct grove__entry *e, struct grove__summary *sum);
	/* Optional. NULL: the summary is all that must be remembered. */
	const struct grove__dialect_tally *tally;
	/*
	 * Optional. The agent continues no session without messages and a name; the log of one
	 * has fewer bytes than this. 0: it does.
	 */
	uint64_t unused_below;
	/* Optional flags. */
	bool modified_by_file;       /* a listing shows the time of the file, not of the newest message */
	bool cuts_file_time;         /* … in whole milliseconds, truncated instead of rounded */
	bool with_subagents;         /* a list of all sessions includes those of sub-agents */
};

/* -------------------------------------------------------------------- usage */

/* What a line was billed for. */
struct grove__billed {
	struct grove_slice key;      /* the same in every copy; empty: never merged */
	struct grove_slice model;    /* text; empty: unknown */
	struct grove_slice session;  /* text, if lines name the session; empty: unknown */
	struct grove_slice origin;   /* text: the session a copy says it is billed to; empty: none */
	int64_t time;                /* ms, or GROVE_NO_TIME */
	double input, output, cache_read, cache_write;   /* tokens */
	double cache_write_long;     /* the part of cache_write that is for an hour */
	double cost;                 /* where has_cost */
	bool has_cost;
	/* This is the sum of what sub-agents used, and their own logs have it as well. */
	bool of_subs;
};

struct grove__dialect_usage {
	/*
	 * Optional. Finds out what an entry was billed for; returns 1 if for nothing.
	 * The line was scanned for read.members and, after them, these. NULL: the agent
	 * does not record it.
	 */
	int (*billed)(const struct grove__json_line *l, const char *line, struct grove__arena *tmp,
		      const struct grove__entry *e, struct grove__billed *out);
	const struct grove__json_member *members;
	unsigned nr_members;
	/*
	 * Optional. The plans of this agent count in windows of so many ms, which begin
	 * with the hour of a reply that is in none. 0: they do not.
	 */
	int64_t window;
};

/* ------------------------------------------------------------------ context */

/*
 * Appends a blob's bytes. If it returns GROVE_ENOTFOUND or another error except
 * GROVE_ENOMEM, the reference stays where it was.
 */
struct grove__blob_source {
	int (*get)(void *payload, struct grove_slice ref, struct grove_buf *bytes);
	void *payload;
};

/* How many lines of a kind on a path determine a setting: none, the last one, or all. */
enum grove__setting { SETTING_NONE, SETTING_LAST, SETTING_ALL };

/* A line that determines one. */
struct grove__set_by {
	enum grove_kind kind;
	enum grove_role role;
	struct grove_slice line;
};

/* Entries of GROVE_KIND_CONTEXT_EDIT, which change what an earlier entry contributes. */
struct grove__dialect_edits {
	/*
	 * Required. Finds the target of an edit, and what replaces its content (ptr
	 * NULL: the target is dropped; empty: it has no content at all). Returns 1 if
	 * the edit has no effect.
	 */
	int (*read)(struct grove_slice line, struct grove_buf *target, struct grove_slice *content);
	/*
	 * Required. Writes an edit's input in the form for a target of that kind and role.
	 * Returns 1 if it stays as it is, GROVE_EINVAL if no such entry can be edited. `out`
	 * NULL: only asks.
	 */
	int (*fit)(struct grove_slice input, enum grove_kind kind, enum grove_role role, struct grove_buf *out);
};

/*
 * What the model is sent. Without rules, the conversation is the path from the root to
 * the leaf, from the last compaction on; with rules, only messages() and llm() are used.
 */
struct grove__dialect_context {
	/*
	 * Required. Calls `fn` with each message of an entry. `next`, if not NULL: the
	 * entry is the compaction that counts, and this is the time of the entry that
	 * follows it in the context (GROVE_NO_TIME: none). `edit`, if not NULL, replaces
	 * the content. `blobs` (may be NULL) has what the line only refers to.
	 */
	int (*messages)(struct grove_slice line, enum grove_kind kind, enum grove_role role,
			int64_t time, const int64_t *next, const struct grove_slice *edit,
			const struct grove__blob_source *blobs, grove__json_fn *fn, void *payload);
	/* Optional. Says which entries determine a setting. NULL: none does. */
	enum grove__setting (*sets)(enum grove_kind kind, enum grove_role role);
	/*
	 * Optional, together with sets(). Writes the settings as members of a context
	 * document (`,"thinkingLevel":…`), from the lines that determine them, in the
	 * order of the path.
	 */
	int (*settings)(const struct grove__set_by *lines, size_t nr, struct grove_buf *out);
	/*
	 * Optional. Finds the id of the first entry that a compaction keeps; with
	 * *after it is the last one that it does not keep. NULL: the
	 * agent has no compactions, or rules.
	 */
	int (*first_kept)(struct grove_slice line, struct grove_buf *out, bool *after);
	/* Optional. NULL: the agent has no context edits. */
	const struct grove__dialect_edits *edits;
	/*
	 * Optional. Calls `fn` with those messages of a context that are really sent,
	 * each with its original number. NULL: all are, unchanged.
	 */
	int (*settle)(const struct grove_slice *messages, size_t nr, grove__message_fn *fn,
		      void *payload);
	/*
	 * Optional. Turns the messages of a context into plain LLM messages: `fn` gets
	 * each, and the number of the message it came from (the first, if several were
	 * merged; SIZE_MAX: it was made up, at `now`). `marks` has what the rules know about
	 * the row of each (grove__chain_row); NULL without rules. NULL: they already are
	 * plain.
	 */
	int (*llm)(const struct grove_slice *messages, const uint8_t *marks, size_t nr, int64_t now,
		   grove__message_fn *fn, void *payload);
	/*
	 * Optional. Writes the system message in force after these. Returns 1 if there
	 * is none. NULL: the agent does not store it.
	 */
	int (*system)(const struct grove_slice *messages, size_t nr, int64_t time,
		      struct grove_buf *out);
};

/* -------------------------------------------------------------------- write */

/*
 * An entry described by its parts, for a dialect to write. `kind` says which member of
 * the union counts. Pointers are NULL if a part is absent; those that end in _json are
 * raw JSON values.
 */
struct grove__entry_spec {
	enum grove_kind kind;
	union {
		struct { const char *level; } thinking;
		struct { const char *provider, *model, *role; } model;
		struct {
			const char *summary, *short_summary;
			const char *first_kept;       /* the id of the first entry that is kept */
			const char *details_json, *usage_json;
			const char *preserve_json;    /* what is kept for an extension */
			double tokens_before;
			enum grove_tristate from_hook;
		} compaction;
		struct {
			const char *summary;
			const char *from;             /* the leaf that was left, or where the branch begins */
			const char *details_json, *usage_json;
			enum grove_tristate from_hook;
		} branch_summary;
		struct { const char *target; struct grove_slice text; } label;
		struct { const char *text, *source, *before; } name;
		struct { const char *id; } leaf;      /* GROVE_KIND_OTHER: this entry is the leaf */
	};
};

/* An entry as a caller gives it: raw values, ptr NULL if absent. */
struct grove__input {
	struct grove_slice json;     /* all of it, trimmed */
	struct grove_slice type, id, parent, time;
	struct grove_slice role;     /* of the message, bare or within an entry */
};

/* What each record of a log says about its session, if there is no header to say it. */
struct grove__about {
	const char *session, *cwd, *version, *branch, *entrypoint;   /* NULL where absent */
};

/* The place of an entry that is to be written. */
struct grove__place {
	const struct grove__about *about;
	struct grove_slice id;
	struct grove_slice parent;   /* ptr NULL: none */
	int64_t time;
	struct grove_slice stamp;    /* raw JSON, to be kept instead of `time`; ptr NULL: none */
};

struct grove__dialect_write {
	/* Required. Finds the parts of an input, from a scan for read.members. */
	void (*input)(const struct grove__json_line *l, const char *line, struct grove__input *out);
	/* Required. Returns the kind that an input will be stored as. */
	enum grove_kind (*kind)(const struct grove__input *in);
	/*
	 * Optional. True if the input is a message of which only the role matters, and
	 * which leaves its parent to us; the line that is composed of it is then not
	 * read again. NULL: none is.
	 */
	bool (*bare)(const struct grove__input *in, enum grove_role *role);
	/*
	 * Required. Writes an entry from {"type":…} or a bare message. GROVE_EINVAL
	 * with a reason if it is neither. `target` gets the id of the entry that it
	 * refers to and that must exist (a label's), if any.
	 */
	int (*compose)(const struct grove__input *in, const struct grove__place *at,
		       struct grove_slice system, struct grove_buf *out,
		       struct grove_buf *target, struct grove_detail *d);
	/*
	 * Optional. Writes the input {"type":…} for a spec; GROVE_ENOTSUP if the agent has no
	 * such entry. NULL: it has none that a spec can describe. Call it through
	 * grove__dialect_spell().
	 */
	int (*spell)(const struct grove__entry_spec *spec, struct grove_buf *out,
		     struct grove_detail *d);
	/* Required. True if this entry, once stored, makes a deferred session worth a file. */
	bool (*starts_file)(enum grove_kind kind, enum grove_role role);
	/*
	 * Required. Writes the same line below another parent, and (if not NULL) with
	 * another first kept entry, and as one of another session.
	 */
	int (*relink)(struct grove_slice line, struct grove_slice parent,
		      const struct grove_slice *first_kept, const char *session, struct grove_buf *out);
	/*
	 * Optional. Turns a message without content into an entry that the agent
	 * ignores. NULL: there is no such entry, and damage of this kind stays.
	 */
	int (*mute)(struct grove_slice line, struct grove_buf *out);
	/*
	 * Optional. Splits an input that becomes several entries, as a reply may be, each with
	 * results below it: `fn` gets each. `random` is for what they share. NULL: every input
	 * is one entry.
	 */
	int (*split)(struct grove_slice json, const uint8_t random[16], grove__json_fn *fn,
		     void *payload);
	/*
	 * Required with rules, else unused. The member of a line with the version of the
	 * program that wrote it, a string.
	 */
	const char *written_by;
	/*
	 * Required. Writes the header with another working directory; the log was at `from`
	 * (NULL: nowhere). Without a header, `header` is empty, and this is a line that names
	 * the working directory from now on.
	 */
	int (*move)(struct grove_slice header, const char *cwd, const char *from, struct grove_buf *out);
	/* Optional flags. */
	bool latch;                  /* after the first failure to write, all later writes are refused */
	bool fresh_labels;           /* in a branched session labels get its time, not their own */
	bool branch_names_target;    /* a branch summary names where the branch begins, not the leaf that was left */
};

/* -------------------------------------------------------------------- names */

struct grove__dialect_names {
	/* Required. Makes an id for an entry of 16 random bytes; `again`: a longer one, after collisions. */
	size_t (*entry_id)(const uint8_t random[16], bool again, char out[40]);
	/* Required. True if a session may have this id; `session_id_rule` says the rule in words. */
	bool (*session_id_ok)(struct grove_slice id);
	const char *session_id_rule;
	/*
	 * Required. Makes the id of a new session. `seq` grows with each, and its lower 22
	 * bits do not wrap within one `time`: ids of later calls are greater.
	 */
	void (*session_id)(int64_t time, uint64_t seq, const uint8_t random[8], char out[40]);
	/*
	 * Required. Writes a session's name as the agent would store it. Returns 1 if nothing
	 * is left, but an entry with an empty name removes the name; without such entries,
	 * `out` stays empty.
	 */
	int (*clean)(struct grove_slice name, struct grove_buf *out);
};

/* -------------------------------------------------------------------- paths */

/* A sub-agent's own log; empty if unknown. */
struct grove__own_file {
	struct grove_slice agent;     /* the id in its name */
	struct grove_slice session;   /* the one it belongs to, which is in its path */
};

struct grove__dialect_paths {
	/*
	 * Required. Calls `fn` with the directories where agents of this dialect store
	 * sessions, the best for new ones first. A part of a path may be `*`. `flat`:
	 * sessions are not grouped by working directory.
	 */
	int (*roots)(const struct grove__env *env, grove__root_fn *fn, void *payload);
	/* Required. Names the directory of a working directory below the root. */
	int (*project)(const struct grove__env *env, const char *cwd, struct grove_buf *out);
	/*
	 * Optional. Calls `fn` with the names that earlier releases gave it: a session
	 * that names no directory may be in one of them. Some may equal project()'s.
	 * NULL: there was only one.
	 */
	int (*old_projects)(const struct grove__env *env, const char *cwd,
			    int (*fn)(void *payload, const char *project), void *payload);
	/* Required. Names the file of a session. */
	int (*file_name)(int64_t time, const char *id, struct grove_buf *out);
	/* Required. Finds time and id in such a name; false if it is not one. */
	bool (*parse_file_name)(struct grove_slice name, int64_t *time, struct grove_slice *id);
	/*
	 * Optional. True if the log of that name is a sub-agent's own, and says whose it is.
	 * `path` may be NULL. NULL: none is.
	 */
	bool (*own_file)(const char *name, const char *path, struct grove__own_file *out);
	/*
	 * Optional. Calls `fn` with directories outside the session's own that contain
	 * files of it, and their names as attachments. `root` has the project's
	 * directory (NULL: none). NULL: there are none.
	 */
	int (*apart)(const struct grove__env *env, const char *root, const char *session,
		     int (*fn)(void *payload, const char *dir, const char *name), void *payload);
	/*
	 * Optional. Names the database for which an agent may have given up the logs at or
	 * below `path`. Returns 1 if no such agent has logs there.
	 */
	int (*database)(const char *path, struct grove_buf *out);
	/* Optional flags. */
	bool artifacts;              /* files next to a session belong to it */
	bool backups;                /* NAME.*.bak next to it is a copy from which it would come back */
	bool real_cwd;               /* links to a directory are the same directory */
	bool loose_names;            /* a session is also known by its file's name, in any case */
};

/* ------------------------------------------------------------------- header */

/* The contents of a header. Texts are NUL-terminated and in the arena. */
struct grove__header {
	bool usable;              /* false: it is too damaged for a session */
	unsigned version;
	const char *id;
	const char *cwd;          /* NULL: absent */
	const char *parent;       /* the session it came from; NULL: none */
	/*
	 * The session with a part of whose log this one begins; NULL: none. The part ends
	 * before line number `base_lines` of that log or, if that is 0, before this byte.
	 */
	const char *base;
	uint64_t base_lines, base_bytes;
	const char *title;        /* the session's name; NULL: none */
	const char *title_source; /* who gave it */
	const char *time_text;    /* NULL: absent */
	int64_t time;             /* ms, or GROVE_NO_TIME */
};

/* What a header is written for; the order of its members may depend on it. */
enum grove__header_for {
	HEADER_NEW,
	HEADER_FORK,              /* a copy of a whole session, in the same directory */
	HEADER_FORK_FROM,         /* the same, in another one */
	HEADER_BRANCH             /* a copy of the path to one entry */
};

/* The contents of a new header; strings are NULL if absent. */
struct grove__header_in {
	enum grove__header_for what;
	const char *id;
	const char *cwd;
	const char *parent;       /* what the caller says it came from, or … */
	const char *from_id, *from_path; /* … the source of a fork, of which the dialect takes one */
	struct grove_slice from_header;  /* the source's header */
	const char *title, *title_source;
	int64_t time;
};

/* A migration, line by line. */
struct grove__migrate {
	unsigned from;
	struct grove_slice id, parent;      /* the new ones; parent.ptr NULL: none */
	/*
	 * Appends the id that value number `index` of the log (headers counted, bad
	 * lines not) has at that moment; nothing if it has none.
	 */
	int (*id_at)(void *payload, double index, struct grove_buf *out);
	void *payload;
};

/* A line of fixed length before the header that holds the title, so that it can be overwritten in place. */
struct grove__dialect_slot {
	/* Required. Writes the line. `title` NULL: there is none yet. */
	int (*compose)(const char *title, const char *source, int64_t time, struct grove_buf *out);
	/* Required. Returns who chose the title: "user", "auto", or NULL. */
	const char *(*source)(struct grove_slice line);
	/*
	 * Optional. True if new sessions begin with a slot; otherwise only existing
	 * slots are kept.
	 */
	bool first;
};

struct grove__dialect_header {
	/* Required. Reads a line that index() called LINE_HEADER. */
	void (*read)(const struct grove__json_line *l, const char *line, struct grove__arena *keep,
		     struct grove__header *out);
	/* Optional. Names the kind of log that begins with this line, which is no header. NULL: not known. */
	const char *(*other)(struct grove_slice line);
	/* Required. Writes a new one. */
	int (*compose)(const struct grove__header_in *in, struct grove_buf *out);
	/* Optional. Writes it with another title. NULL: a session's name is an entry. */
	int (*title)(struct grove_slice line, const char *title, const char *source,
		     struct grove_buf *out);
	/* Optional. NULL: there is no slot for a title. */
	const struct grove__dialect_slot *slot;
	/* Optional. True if a branch of a session without a directory belongs to the current one. */
	bool fork_settles;
	/*
	 * Required if `version` of the dialect is greater than 1. Writes a line in the
	 * current version. Returns 1 if it needs no change.
	 */
	int (*migrate)(struct grove_slice line, const struct grove__migrate *m, struct grove_buf *out);
};

/* -------------------------------------------------------------------- rules */

/*
 * What the rules need to know about a log: a struct of the dialect's own next to the
 * spine, with one row for each of the spine's, in the same order.
 */
struct grove__chain;

struct grove__chain_ask {
	const char *mode;         /* NULL: the usual one */
	const char *leaf;         /* the entry to end with; NULL: by the rules; GROVE_ROOT: none */
	bool own_file;            /* a sub-agent's own log */
	bool snips;               /* leave out what was snipped */
	bool full;                /* continue above a compaction */
	bool prompts;             /* prompts outside messages count as messages */
	bool llm;                 /* so does everything else that is sent */
};

struct grove__chain_walk {
	uint32_t *rows;           /* what is sent, in that order */
	size_t nr;
	uint32_t leaf;            /* the entry that the next one goes below; GROVE_NO_ENTRY */
	uint8_t *reasons;         /* one for each row of the log; see reason() */
	size_t nr_reasons;
	bool recorded;            /* a line says what the leaf is: `named`; else it is the last entry */
	uint32_t named;           /* GROVE_NO_ENTRY: none */
	bool closed;              /* it begins with the first row, and needs nothing from before it */
};

/* Where a row is in a conversation: not in it, or on the way to its leaf, or also sent. */
enum grove__chain_place { CHAIN_OFF, CHAIN_PASSED, CHAIN_SENT };

/* What rules know about a row. */
struct grove__chain_row {
	size_t message_off, message_len;  /* of its one message, in its value; len 0: ask context.messages() */
	struct grove_slice alias; /* the id under which a mode shows it; empty: its own */
	uint8_t mark;             /* what context.llm() must know about it */
	bool side;                /* of a side chain, which is never a leaf of its log */
	bool lacks;               /* it keeps an entry that does not exist */
};

/* A chain as bytes, from `at` on; see freeze(). */
struct grove__chain_ice {
	char *bytes;
	size_t len;
	uint64_t at;
	uint32_t nr;              /* rows */
};

/* A conversation determined by rules over the whole log. Only image/model.h asks them. */
struct grove__dialect_rules {
	/*
	 * Required. Makes a chain: an empty one or, if `ice` is not NULL, the one of `nr` rows
	 * that is frozen there. The bytes must stay as long as the chain, and are written to;
	 * the caller verifies that they are the same. Returns NULL when out of memory, or for
	 * bytes that are none.
	 */
	struct grove__chain *(*new)(uint64_t seed, const struct grove__chain_ice *ice);
	/* Required. */
	void (*free)(struct grove__chain *c);
	/*
	 * Required. Adds the next row: what index() found. `id` is its id if that stays
	 * valid as long as the chain, with its length in the 4 bytes before it; else NULL.
	 * GROVE_ENOMEM, GROVE_ETOOBIG.
	 */
	int (*add)(struct grove__chain *c, const struct grove__entry *e, const char *id);
	/*
	 * Required. Announces that a row will be added soon; with `e` NULL, that there will
	 * be `times` as many as now. Cheap, and changes nothing that can be asked.
	 */
	void (*announce)(struct grove__chain *c, const struct grove__entry *e, uint64_t times);
	/*
	 * Required. Writes a chain as bytes from `at` (a multiple of GROVE__ICE_PAGE) to *end.
	 * Returns GROVE_ENOMEM or the result of `fn`.
	 */
	int (*freeze)(const struct grove__chain *c, uint64_t at, uint64_t *end, grove__ice_fn *fn,
		      void *payload);
	/*
	 * Required. Finds the conversation as it was with `nr` rows; the caller frees
	 * `rows` and `reasons`. GROVE_ENOTFOUND: no such leaf; GROVE_EINVAL: no such mode;
	 * GROVE_ENOMEM.
	 */
	int (*walk)(const struct grove__chain *c, uint32_t nr, const struct grove__chain_ask *ask,
		    struct grove__chain_walk *out);
	/* Required. Returns the text of a reason, and its place. NULL if the row was not considered. */
	const char *(*reason)(uint8_t reason, enum grove__chain_place *place);
	/*
	 * Optional. Logs that are long because they were compacted often can be read from
	 * their last boundary on. Finds it among the lines that begin after the first line
	 * end in these bytes, and end in them. NULL in place of a line: there is none. NULL
	 * as a slot: logs are always read as a whole.
	 */
	const char *(*boundary)(const char *bytes, size_t len);
	/*
	 * Required. Finds the entry that an input belongs below, whatever the leaf is:
	 * the call that it answers. Returns 1 if there is none.
	 */
	int (*call)(const struct grove__chain *c, struct grove_slice json, struct grove_slice *id);
	/* Required. Says what is known about a row. `mode` NULL: the usual one. `out` is zeroed. */
	void (*row)(const struct grove__chain *c, uint32_t row, const char *mode,
		    struct grove__chain_row *out);
	/*
	 * Required. Returns 0 if the leaf can be moved to a row, or 1 if the rules
	 * exclude it whatever is written, with the reason in *why. This is about the
	 * current log, never about an earlier state.
	 */
	int (*may_end)(const struct grove__chain *c, uint32_t row, bool own_file, const char **why);
};

/* --------------------------------------------------------------------- copy */

/* What is copied, and where to. Functions return 0 or an error unless they say otherwise. */
struct grove__copy_in {
	const char *from, *to;       /* the ids of the sessions */
	const struct grove__chain *chain;
	uint32_t nr;                 /* rows of it */
	const uint8_t *wanted;       /* for each, whether it is to be copied; NULL: all are */
	/*
	 * The entry of the source whose copy is the leaf (GROVE_ROOT: none; NULL: the rules
	 * find it). If it is the last one that is copied, and in this row, the rules find
	 * it, too.
	 */
	const char *leaf;
	uint32_t leaf_row;
	const char *title;           /* NULL: there is none */
	const char *cwd;             /* NULL: as it was */
	int64_t now;
	uint64_t seed;
	void *payload;
	int (*random)(void *payload, uint8_t out[16]);
	/*
	 * Finds the parent of an entry that is not copied; 1: no such entry. Valid
	 * until the next call.
	 */
	int (*parent)(void *payload, struct grove_slice id, struct grove_slice *out);
	/*
	 * Gets the line of the next row, copied or not, with its message if that is known
	 * (else ptr NULL). Returns 1 at the end.
	 */
	int (*next)(void *payload, uint32_t *row, struct grove_slice *line, struct grove_slice *message);
	/* The copy's lines go to the end of this; added() is called after each, with its begin. */
	struct grove_buf *out;
	int (*added)(void *payload, size_t begin);
};

/*
 * Copies records into another session, where they get new ids. Returns 1 if there is
 * nothing to copy, or the result of a function of `in`.
 */
typedef int grove__copy_fn(const struct grove__copy_in *in);

/* -------------------------------------------------------------------- blobs */

/*
 * Stores bytes as a blob and appends its reference to `ref`. `ext` (may be NULL) is a
 * suffix that its file may have as well: "png".
 */
struct grove__blob_sink {
	int (*put)(void *payload, struct grove_slice bytes, const char *ext, struct grove_buf *ref);
	void *payload;
};

struct grove__dialect_blobs {
	/* Required. Names the directory of the agent's blobs. */
	int (*dir)(const struct grove__env *env, struct grove_buf *out);
	/*
	 * Required. Writes a line as it is stored: large values go to the sink, and
	 * what must not be stored is left out. Returns 1 if the line stays as it is, or
	 * an error of the sink.
	 */
	int (*prepare)(struct grove_slice line, const struct grove__blob_sink *sink,
		       struct grove_buf *out);
	/*
	 * Required. Writes a line with what its references stand for. Returns 1 if it has none
	 * that `blobs` knows.
	 */
	int (*resolve)(struct grove_slice line, const struct grove__blob_source *blobs,
		       struct grove_buf *out);
};

/* ------------------------------------------- history, terminals, processes */

struct grove__dialect_history {
	/* Required. Names the file of the agent's prompts. */
	int (*path)(const struct grove__env *env, struct grove_buf *out);
	/* Optional. The number of its layout that a new database has in PRAGMA user_version. 0: none. */
	unsigned layout;
};

/* The record of a terminal's last session. */
struct grove__dialect_last_session {
	/* Required. Names the record's file. Returns 1 if this terminal has no name. */
	int (*path)(const struct grove__env *env, struct grove_buf *out);
	/* Required. */
	int (*compose)(const char *cwd, const char *path, struct grove_buf *out);
	/* Required. Reads a record; false if it is invalid. */
	bool (*parse)(struct grove_slice text, struct grove_slice *cwd, struct grove_slice *path);
};

/* The command with which an agent continues a session. */
struct grove__resume {
	const char *agent;
	const char *command;         /* words; "{id}" or "{key}" is one of them (session/resume.c) */
	bool paths;                  /* the path of a file will do as well */
	/*
	 * Required with "{key}": the file beside the session that has the agent's names for
	 * its sessions, and what finds one in it: appends the name of session `id`, or
	 * nothing. GROVE_ENOMEM.
	 */
	const char *names;
	const char *unnamed;         /* what is said if it is not there */
	int (*find_name)(struct grove_slice json, const char *id, struct grove_buf *out);
};

/* What a running process of the agent records about itself. */
struct grove__live_check {
	int64_t pid;
	int64_t since;               /* ms, or GROVE_NO_TIME */
};

struct grove__dialect_live {
	/*
	 * Required. Calls `fn` with the directories in which processes leave a record;
	 * `path` is the session's.
	 */
	int (*dirs)(const struct grove__env *env, const char *path,
		    int (*fn)(void *payload, const char *dir), void *payload);
	/*
	 * Required. Reads who left the record of that file name, and appends the id of
	 * the session it is using; false if it is not a record. `json` is valid.
	 */
	bool (*note)(const char *name, struct grove_slice json, struct grove__live_check *out,
		     struct grove_buf *session);
};

struct grove__dialect_retention {
	/*
	 * Required. Returns when the agent deletes a log that was last written at
	 * `mtime` (ms); GROVE_NO_TIME: never. `settings` is the text of the file below,
	 * valid JSON or empty.
	 */
	int64_t (*expires)(struct grove_slice settings, int64_t mtime);
	/* Required. The path of that file, relative to the directory of sessions. */
	const char *settings;
};

/* --------------------------------------------------------------- sub-agents */

/* What a file next to a session has to do with its sub-agents. */
enum grove__agent_file {
	AGENT_NONE,
	AGENT_LOG,                /* the transcript of one */
	AGENT_META                /* what is known about one */
};

/* What is known about a sub-agent; empty if unknown. */
struct grove__agent_meta {
	struct grove_buf type, description, tool_use, parent, worktree;
};

/*
 * How an agent stores its sub-agents. Paths are those of attachments. All slots are
 * required.
 */
struct grove__agents {
	/* Says what the file at `path` is; its id, and the directories it is grouped in. */
	enum grove__agent_file (*file)(struct grove_slice path, struct grove_slice *id,
				       struct grove_slice *group);
	/* Adds to `out`; `json` is valid. */
	int (*meta)(struct grove_slice json, struct grove__agent_meta *out);
};

/* What entries say about a delegation, as values; empty if absent. */
struct grove__delegation_in {
	struct grove_slice result;    /* how it ended */
	struct grove_slice batch;     /* how it began */
	struct grove_slice tool;      /* a tool's result that reports it */
};

/* The same in a uniform shape, as JSON; empty if unknown. */
struct grove__delegation_out {
	struct grove_buf projection, events, evidence, routes;
};

/* Work that was delegated to sub-agents and recorded in entries. All slots are required. */
struct grove__delegation {
	/* Names the batch that an entry is about, as text. Returns 1 if there is none. */
	int (*batch)(struct grove_slice value, enum grove_kind kind, struct grove_buf *out);
	int (*project)(const struct grove__delegation_in *in, struct grove__delegation_out *out);
	/* Writes a result's entry with the projection in its place. */
	int (*place)(struct grove_slice value, struct grove_slice projection, struct grove_buf *out);
};

/* -------------------------------------------------------------------- heads */

/* The meaning of an entry's members; see view/heads.c. Lists end with NULL. */
struct grove__dialect_heads {
	/* Required. Members whose objects are taken apart, member by member. */
	const char *const *inside;
	/* Required. Members that have few different texts, which repeat from entry to entry. */
	const char *const *words;
	/* Required. The member of an entry that names its parent. */
	const char *parent;
	/*
	 * Optional. The member with the content of a message, usually a list of blocks. NULL:
	 * there is none.
	 */
	const char *content;
	/* Optional. The member of a block that says what it is; its value is part of a block's shape. */
	const char *block_type;
	/* Optional. Returns the raw base64 text of a block that is an image; empty if it is not. NULL: there are none. */
	struct grove_slice (*media)(struct grove_slice block);
};

/* ---------------------------------------------------------------- the table */

struct grove__dialect {
	const char *name;             /* Required. "pi", as users write it */
	unsigned version;             /* Required. The version of the format that is written; at least 1 */

	struct grove__dialect_recognise recognise;
	struct grove__dialect_read read;
	struct grove__dialect_text text;
	struct grove__dialect_list list;
	struct grove__dialect_usage usage;
	struct grove__dialect_context context;
	struct grove__dialect_write write;
	struct grove__dialect_names names;
	struct grove__dialect_paths paths;

	/* NULL: logs have no header; the predicates below say what follows from that. */
	const struct grove__dialect_header *header;
	/* NULL: the conversation is the path from the root to the leaf. */
	const struct grove__dialect_rules *rules;
	/* NULL: entries keep their ids when a session is forked. */
	grove__copy_fn *copy;
	/* NULL: lines are stored as they are composed. */
	const struct grove__dialect_blobs *blobs;
	/* NULL: the agent does not record prompts. */
	const struct grove__dialect_history *history;
	/* NULL: terminals are not remembered. */
	const struct grove__dialect_last_session *last_session;
	/* NULL: running processes leave no notes. */
	const struct grove__dialect_live *live;
	/* Commands up to one without an agent. NULL: no program is known that continues sessions. */
	const struct grove__resume *resume;
	/* NULL: the agent deletes nothing. */
	const struct grove__dialect_retention *retention;
	/* NULL: nothing is stored about sub-agents. */
	const struct grove__agents *agents;
	/* NULL: entries say nothing about sub-agents. */
	const struct grove__delegation *delegation;
	/* NULL: no member is special. */
	const struct grove__dialect_heads *heads;
};

extern const struct grove__dialect grove__dialect_pi;
extern const struct grove__dialect grove__dialect_xcsh;
extern const struct grove__dialect grove__dialect_omp;
extern const struct grove__dialect grove__dialect_claude;

/* All dialects, up to NULL; see dialects.c. */
extern const struct grove__dialect *const grove__dialects[];

/* The dialect to use if the caller names none and the location suggests none. See dialects.c. */
struct grove__dialect_defaults {
	const struct grove__dialect *session;  /* for new sessions, and logs that no dialect recognises */
	const struct grove__dialect *remote;   /* for sessions that are fetched from elsewhere */
	const struct grove__dialect *blobs;    /* whose directory of blobs is used; NULL: none */
	const struct grove__dialect *history;  /* whose prompts are used; NULL: none */
};
extern const struct grove__dialect_defaults grove__dialect_defaults;

/* Returns the dialect of that name, or the one with index `i`; NULL if there is none. */
const struct grove__dialect *grove__dialect_find(const char *name);
const struct grove__dialect *grove__dialect_at(unsigned i);
/*
 * Returns the dialect with the strongest claim to the first line of a log; NULL if no dialect
 * claims it. GROVE__JSON_PAD bytes after the line must be readable.
 */
const struct grove__dialect *grove__dialect_recognise(struct grove_slice line);
/* Scans a single line for `members`. Returns false if it is not a JSON object. */
bool grove__dialect_scan(const struct grove__json_member *members, unsigned nr,
			 struct grove_slice line, struct grove__json_line *out);
/* Calls write.spell(). GROVE_ENOTSUP, with a reason, if the dialect has none. */
int grove__dialect_spell(const struct grove__dialect *d, const struct grove__entry_spec *spec,
			 struct grove_buf *out, struct grove_detail *detail);

/* --------------------------------------------------------------- predicates */

/* Returns true if a log must begin with a header to be a session. */
static inline bool grove__dialect_has_header(const struct grove__dialect *d)
{
	return d->header != NULL;
}

/* Returns true if entries record the working directory, and a move to another one. */
static inline bool grove__dialect_cwd_in_entries(const struct grove__dialect *d)
{
	return !d->header;
}

/* True if the name of a log, up to its ending, is the id of the session. */
static inline bool grove__dialect_id_is_name(const struct grove__dialect *d)
{
	return !d->header;
}

/* True if a log without a line may be a session that has yet to begin. */
static inline bool grove__dialect_may_be_empty(const struct grove__dialect *d)
{
	return !d->header;
}

/* True if the header holds the session's name. */
static inline bool grove__dialect_has_title(const struct grove__dialect *d)
{
	return d->header && d->header->title;
}

/* True if new sessions begin with a title slot. */
static inline bool grove__dialect_slot_first(const struct grove__dialect *d)
{
	return d->header && d->header->slot && d->header->slot->first;
}

/* True if logs of earlier versions can be read. */
static inline bool grove__dialect_migrates(const struct grove__dialect *d)
{
	return d->header && d->header->migrate;
}

/* True if entries of that version of the format have no ids of their own. */
static inline bool grove__dialect_lacks_ids(const struct grove__dialect *d, unsigned version)
{
	return version < d->read.ids_since;
}

/* True if no line has an id or a parent: entries follow one another, and are known by their lines. */
static inline bool grove__dialect_linear(const struct grove__dialect *d)
{
	return d->read.ids_since == GROVE__IDS_NEVER;
}

/* True if the log of that name is a sub-agent's own; see paths.own_file(). */
static inline bool grove__dialect_own_file(const struct grove__dialect *d, const char *name, const char *path,
					   struct grove__own_file *out)
{
	return d->paths.own_file && d->paths.own_file(name, path, out);
}

/* True if a value may span lines, or share one with others. */
static inline bool grove__dialect_by_value(const struct grove__dialect *d)
{
	return d->read.by_value;
}

#endif
