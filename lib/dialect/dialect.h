/*
 * dialect/dialect.h: how one agent spells its sessions.
 *
 * A dialect is a table of pure functions: bytes and an environment in, fields,
 * names and bytes out. It opens nothing, keeps nothing, and is the only place
 * where an agent's JSON keys are spelled.
 *
 * Slices that a function puts into its result point into the line it was
 * given, or into the arena it was given where text had to be unescaped.
 */
#ifndef GROVE_DIALECT_DIALECT_H
#define GROVE_DIALECT_DIALECT_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/fail.h"
#include "base/ice.h"
#include "entry/entry.h"
#include "json/scan.h"

/* The world as layout rules see it. */
struct grove__env {
	const char *home;
	const char *cwd;
	const char *(*getenv)(void *payload, const char *name);
	void *getenv_payload;
	/* The same path without links: 0, 1 if there is no such file, GROVE_ENOMEM. Appends. */
	int (*realpath)(void *payload, const char *path, struct grove_buf *out);
	/* Is there anything at this path? */
	bool (*exists)(void *payload, const char *path);
	void *file_payload;       /* of these two */
	const char *tty;          /* the terminal we are asked from; NULL: none */
};

/* Is this line part of the session? */
enum grove__line_class {
	LINE_SKIP,      /* valid JSON that stands for nothing */
	LINE_HEADER,
	LINE_ENTRY,
	/*
	 * As the first value, before the header: neither of them; `text` of the
	 * entry is a title. Anywhere else an entry.
	 */
	LINE_SLOT
};

/* How sure a line makes us that an agent wrote it. */
enum grove__claim {
	CLAIM_NONE,
	CLAIM_LIKELY,   /* its relatives could have written the line as well, but do not */
	CLAIM_SURE      /* no other agent writes such lines */
};

/* What a header says. Texts are NUL-terminated and live in the arena. */
struct grove__header {
	bool usable;              /* a session can hang on it */
	unsigned version;
	const char *id;
	const char *cwd;          /* NULL: absent */
	const char *parent;       /* the session it came from; NULL: none */
	const char *title;        /* the session's name; NULL: none */
	const char *title_source; /* who gave it */
	const char *time_text;    /* NULL: absent */
	int64_t time;             /* ms, or GROVE_NO_TIME */
};

/* What a header is written for; the order of its members may depend on it. */
enum grove__header_for {
	HEADER_NEW,
	HEADER_FORK,              /* the whole of another session, of the same directory */
	HEADER_FORK_FROM,         /* the same, of another one */
	HEADER_BRANCH             /* the path to one entry */
};

/* What a new header shall say; strings NULL where absent. */
struct grove__header_in {
	enum grove__header_for what;
	const char *id;
	const char *cwd;
	const char *parent;       /* what the caller says it came from, or … */
	const char *from_id, *from_path; /* … the source of a fork, of which the dialect takes one */
	struct grove_slice from_header;  /* and what that says */
	const char *title, *title_source;
	int64_t time;
};

/*
 * Keep bytes as a blob and append the text of its reference to `ref`. `ext`
 * (may be NULL) is what its file may be called by as well: "png".
 */
struct grove__blob_sink {
	int (*put)(void *payload, struct grove_slice bytes, const char *ext, struct grove_buf *ref);
	void *payload;
};

/* Append a blob's bytes. GROVE_ENOTFOUND and the like: the reference is kept. */
struct grove__blob_source {
	int (*get)(void *payload, struct grove_slice ref, struct grove_buf *bytes);
	void *payload;
};

/*
 * An entry described by its parts, for a dialect to spell. `kind` says which
 * member of the union counts. Pointers are NULL where a part is absent; those
 * that end in _json are raw JSON values.
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
			uint64_t tokens_before;
			bool from_hook;
		} compaction;
		struct {
			const char *summary;
			const char *from;             /* the leaf that was left, or where the branch begins */
			const char *details_json, *usage_json;
			bool from_hook;
		} branch_summary;
		struct { const char *type, *data_json; } custom;
		struct { const char *type, *content_json, *details_json; bool display; } custom_message;
		struct { const char *kind, *provider, *model, *usage_json, *note; } usage;
		struct { const char *target, *replacement_json; } context_edit;
		struct { const char *target, *text; } label;
		struct { const char *text, *source, *before; } name;
		struct { const char *id; } leaf;      /* GROVE_KIND_OTHER: this entry is the leaf */
	};
};

/* An entry as a caller gives it: raw values, ptr NULL where absent. */
struct grove__input {
	struct grove_slice json;     /* all of it, trimmed */
	struct grove_slice type, id, parent, time;
	struct grove_slice role;     /* of a bare message */
};

/* What each record of a log says about the session, where there is no header to say it. */
struct grove__about {
	const char *session, *cwd, *version, *branch, *entrypoint;
	/* NULL where absent */
	const char *agent, *team, *agent_name, *slug, *prompt;
	bool side;                   /* a side chain */
};

/* Where an entry that is to be written belongs. */
struct grove__place {
	const struct grove__about *about;
	struct grove_slice id;
	struct grove_slice parent;   /* ptr NULL: none */
	int64_t time;
	struct grove_slice stamp;    /* raw JSON, to be kept instead of `time`; ptr NULL: none */
};

/* Which lines of a path tell a setting: none of that kind, the last one, or all. */
enum grove__setting { SETTING_NONE, SETTING_LAST, SETTING_ALL };

/* A line that tells one. */
struct grove__set_by {
	enum grove_kind kind;
	enum grove_role role;
	struct grove_slice line;
};

/* How a listing sees a session; filled line by line. */
struct grove__summary {
	uint64_t messages;
	bool has_first;
	struct grove_buf first;      /* the first words of the user */
	struct grove_buf name;
	int64_t newest;              /* of the messages that count; GROVE_NO_TIME */
	void *more;                  /* of list_new() */
};

/* What a line says that a model was paid for. */
struct grove__billed {
	struct grove_slice key;      /* the same in every repetition; empty: it is never merged */
	struct grove_slice model;    /* text; empty: not told */
	struct grove_slice session;  /* text, where lines tell the session; empty: not told */
	int64_t time;                /* ms, or GROVE_NO_TIME */
	double input, output, cache_read, cache_write;   /* tokens */
	double cache_write_long;     /* what of cache_write is kept for an hour */
	double cost;                 /* where has_cost */
	bool has_cost;
	/* The sum of what sub-agents used, which their own logs tell as well. */
	bool of_subs;
};

/*
 * Where rules over the whole of a log decide which entries are the conversation,
 * the dialect keeps what they need in a struct of its own beside the spine: one
 * row for each of the spine's, in the same order.
 */
struct grove__chain;

struct grove__chain_ask {
	const char *mode;         /* NULL: the usual one */
	const char *leaf;         /* the entry to end with; NULL: by the rules; GROVE_ROOT: none */
	bool own_file;            /* a sub-agent's own log */
	bool snips;               /* leave out what was snipped */
	bool full;                /* go on above a compaction */
	bool prompts;             /* prompts that no message holds count as messages */
	bool llm;                 /* so does all else that is sent */
};

struct grove__chain_walk {
	uint32_t *rows;           /* what is sent, in that order */
	size_t nr;
	uint32_t leaf;            /* the entry that the next one goes below; GROVE_NONE */
	uint8_t *reasons;         /* one for each row of the log; see chain_reason() */
	size_t nr_reasons;
};

/* The last line of a kind that is looked for near the end of a log. */
#define GROVE__TAILS 16
struct grove__tail_line {
	struct grove_slice line;             /* ptr NULL: there is none */
	uint64_t distance;                   /* of its beginning from the end */
	bool followed;                       /* by an entry of the tree */
};

/* A host's own list of messages, of which the new ones are to be stored. */
struct grove__list_in {
	const struct grove_slice *messages;  /* JSON, each with an id */
	size_t nr;
	bool (*stored)(void *payload, struct grove_slice id);
	/* What is to be logged of a message: 0 and it is in `out`; 1: all of it. NULL: all. */
	int (*filter)(void *payload, struct grove_slice json, struct grove_buf *out);
	void *stored_payload, *filter_payload;
	struct grove_slice hint;             /* the entry to begin below; ptr NULL: not known */
	bool side;
	uint64_t seed;
};

/*
 * A copy of records into another session, where they get other ids.
 */
struct grove__copying;
struct grove__copy_in {
	const char *from, *to;       /* the ids of the sessions */
	uint64_t seed;
	int (*random)(void *payload, uint8_t out[16]);
	/* The parent of an entry that is not copied; 1: no such entry. Good until the next call. */
	int (*parent)(void *payload, struct grove_slice id, struct grove_slice *out);
	void *payload;
};

/*
 * A migration, line by line. `id_at` gives the id that value number `index` of
 * the log (headers counted, bad lines not) has at that moment, or empty.
 */
struct grove__migrate {
	unsigned from;
	struct grove_slice id, parent;      /* the new ones; parent.ptr NULL: none */
	int (*id_at)(void *payload, double index, struct grove_buf *out);
	void *payload;
};

/* What a running process of the agent tells about itself. */
struct grove__live_check {
	int64_t pid;
	int64_t since;               /* ms, or GROVE_NO_TIME */
};

/* What a file beside a session has to do with its sub-agents. */
enum grove__agent_file {
	AGENT_NONE,
	AGENT_LOG,                /* the transcript of one */
	AGENT_META,               /* what is known about one */
	AGENT_REMOTE              /* about one that works elsewhere */
};

/* What is known about a sub-agent; empty where it is not told. */
struct grove__agent_meta {
	struct grove_buf type, description, tool_use, parent, worktree;
};

/* How an agent keeps its sub-agents. Paths are those of attachments. */
struct grove__agents {
	/* What the file at `path` is; its id, and the directories it is grouped in. */
	enum grove__agent_file (*file)(struct grove_slice path, struct grove_slice *id,
				       struct grove_slice *group);
	int (*path)(enum grove__agent_file what, struct grove_slice group, struct grove_slice id,
		    struct grove_buf *out);
	/* Adds to `out`; `json` is valid. */
	int (*meta)(struct grove_slice json, struct grove__agent_meta *out);
	/* The id of the agent whose log has that name, without its ending. False: no agent's log has. */
	bool (*id)(struct grove_slice name, struct grove_slice *id);
};

/* What was said about a delegation, as values; empty where there is none. */
struct grove__delegation_in {
	struct grove_slice result;    /* how it ended */
	struct grove_slice batch;     /* how it began */
	struct grove_slice tool;      /* a tool's result that tells of it */
};

/* The same in one shape, as JSON; empty where nothing is told. */
struct grove__delegation_out {
	struct grove_buf projection, events, evidence, routes;
};

/* Work that was handed to sub-agents and is told by entries. */
struct grove__delegation {
	/* The name of the batch that an entry is about, as text; 1: none. */
	int (*batch)(struct grove_slice value, enum grove_kind kind, struct grove_buf *out);
	int (*project)(const struct grove__delegation_in *in, struct grove__delegation_out *out);
	/* A result's entry with the projection in its place. */
	int (*place)(struct grove_slice value, struct grove_slice projection, struct grove_buf *out);
};

struct grove__dialect {
	const char *name;
	unsigned version;                   /* that it writes */
	/*
	 * Values are read one after the other, whatever the lines are: see
	 * json/lenient.h. Else a line is a value or nothing.
	 */
	bool lenient;
	/*
	 * There is no header: a log is called by its name, and its entries tell
	 * the rest.
	 */
	bool headless;
	bool modified_by_file;              /* a listing shows the file's time */
	bool cuts_file_time;                /* … in whole ms, the rest cut off instead of rounded */
	bool branch_names_target;           /* a branch's summary tells where it begins, not what was left */
	bool fork_settles;                  /* a branch of a session without a directory belongs to the current one */
	bool fresh_labels;                  /* on a branched session labels get its time */
	bool artifacts;                     /* files that lie beside a session belong to it */
	bool latch;                         /* the first failure to write is the last */
	bool real_cwd;                      /* a directory is the same by whatever links it is reached */
	bool loose_names;                   /* a session is also known by its file's name, in any case */
	bool lists_subs;                    /* a list of all has the sessions of sub-agents */

	/* The members that index(), header() and list() look at. */
	const struct grove__json_member *members;
	unsigned nr_members;

	/* --- reading --- */

	/* Understand a line that was scanned for `members`. */
	enum grove__line_class (*index)(const struct grove__json_line *l, const char *line,
					struct grove__arena *tmp, struct grove__entry *out);
	void (*header)(const struct grove__json_line *l, const char *line,
		       struct grove__arena *keep, struct grove__header *out);
	/* Count an entry in. GROVE_ENOMEM. */
	int (*list)(const struct grove__json_line *l, const char *line, struct grove__arena *tmp,
		    const struct grove__entry *e, struct grove__summary *sum);
	/*
	 * Where a listing has to remember more: begin (NULL: out of memory), and
	 * end: fill `sum`, and of the header what a log without one tells. 1: it
	 * is not one for a list, but filled in it is. `beside` asks for a file that belongs to it
	 * (0, or negative). Both NULL: nothing more.
	 */
	void *(*list_new)(uint64_t seed);
	/* index() for lines that are only listed. NULL: the same. */
	enum grove__line_class (*list_index)(const struct grove__json_line *l, const char *line,
					     struct grove__arena *tmp, struct grove__entry *out);
	int (*list_end)(void *more, struct grove__arena *keep,
			int (*beside)(void *payload, const char *name, struct grove_buf *out),
			void *payload, struct grove__header *h, struct grove__summary *sum);
	void (*list_free)(void *more);
	/*
	 * What an entry was billed for; 1 if nothing, GROVE_ENOMEM. Its line was
	 * scanned for `members` and, behind them, `bill_members`.
	 */
	int (*billed)(const struct grove__json_line *l, const char *line, struct grove__arena *tmp,
		      const struct grove__entry *e, struct grove__billed *out);
	const struct grove__json_member *bill_members;
	unsigned nr_bill_members;
	/* The first words of the user among what was listed so far; may stay empty. */
	int (*list_first)(const void *more, struct grove_buf *out);
	/* Were they among it? NULL: the summary says so at once. */
	bool (*list_begun)(const void *more);
	/* What a person reads of an entry. */
	int (*pieces)(struct grove_slice line, enum grove_kind kind, enum grove_role role,
		      grove_piece_fn *fn, void *payload);

	/* The raw content of a prompt, to be edited and sent again; empty if there is none. */
	struct grove_slice (*prompt)(struct grove_slice line, enum grove_kind kind);

	/* --- context --- */

	enum grove__setting (*sets)(enum grove_kind kind, enum grove_role role);
	/*
	 * The settings as members of a context document (`,"thinkingLevel":…`),
	 * from the lines that tell them, in the order of the path.
	 */
	int (*settings)(const struct grove__set_by *lines, size_t nr, struct grove_buf *out);
	/* The id of the first entry that a compaction keeps; `after`: of the last that it does not. */
	int (*first_kept)(struct grove_slice line, struct grove_buf *out, bool *after);
	/*
	 * Does a compaction carry a summary that stands in front of what it kept
	 * by its time as well? NULL: none does.
	 */
	bool (*own_summary)(struct grove_slice line);
	/*
	 * The target of a context edit, and what replaces its content (ptr NULL:
	 * drop the target; empty: no content at all). 1: it says nothing.
	 */
	int (*edit)(struct grove_slice line, struct grove_buf *target, struct grove_slice *content);
	/* May an entry be the target of a context edit? */
	bool (*editable)(enum grove_kind kind, enum grove_role role);
	/* A context edit's input as it must read for a target of that role. 1: as it is. */
	int (*fit_edit)(struct grove_slice input, enum grove_role target, struct grove_buf *out);
	/*
	 * The messages that an entry stands for: `fn` is called for each.
	 * `newest_compaction`: this is the compaction that counts. `edit`, if not
	 * NULL, replaces the content. `blobs` (may be NULL) has what the line
	 * only refers to.
	 */
	int (*messages)(struct grove_slice line, enum grove_kind kind, enum grove_role role,
			int64_t time, bool newest_compaction, const struct grove_slice *edit,
			const struct grove__blob_source *blobs,
			int (*fn)(void *payload, struct grove_slice json), void *payload);
	/*
	 * A line with what its references to blobs stand for. 1: it has none that
	 * `blobs` knows; GROVE_ENOMEM. NULL: its agent keeps no blobs.
	 */
	int (*resolve)(struct grove_slice line, const struct grove__blob_source *blobs,
		       struct grove_buf *out);
	/*
	 * What of the messages of a context is really sent: `fn` gets each, and
	 * the number of the message it was. NULL: all of them, as they are.
	 */
	int (*settle)(const struct grove_slice *messages, size_t nr,
		      int (*fn)(void *payload, size_t from, struct grove_slice json), void *payload);
	/*
	 * The messages of a context as plain LLM messages: `fn` gets each, and the
	 * number of the message it came from (the first, if several were merged;
	 * SIZE_MAX: it was made up, at `now`).
	 */
	int (*llm)(const struct grove_slice *messages, size_t nr, int64_t now,
		   int (*fn)(void *payload, size_t from, struct grove_slice json), void *payload);

	/* --- conversations by rules over the whole log; all NULL where a path is one --- */

	struct grove__chain *(*chain_new)(uint64_t seed);
	void (*chain_free)(struct grove__chain *c);
	/* The next row: what index() found. GROVE_ENOMEM, GROVE_ETOOBIG. */
	int (*chain_add)(struct grove__chain *c, const struct grove__entry *e);
	/* It will be added soon. Cheap, and changes nothing. */
	void (*chain_hint)(const struct grove__chain *c, const struct grove__entry *e);
	/* There will be so many times as many rows as now. */
	void (*chain_expect)(struct grove__chain *c, uint64_t times);
	/* As it was with `nr` rows. NULL when out of memory. */
	struct grove__chain *(*chain_copy)(const struct grove__chain *c, uint32_t nr);
	uint32_t (*chain_count)(const struct grove__chain *c);
	/*
	 * A chain as bytes from `at` (a multiple of GROVE__ICE_PAGE) to *end, and back.
	 * The bytes stay as long as the chain, and are written to; that they are the
	 * same is for the caller to see to. GROVE_ENOMEM, or what `fn` answers; NULL.
	 */
	int (*chain_freeze)(const struct grove__chain *c, uint64_t at, uint64_t *end, grove__ice_fn *fn,
			    void *payload);
	struct grove__chain *(*chain_thaw)(char *bytes, size_t len, uint64_t at);
	/*
	 * The conversation; free `rows` and `reasons`. GROVE_ENOTFOUND: no such
	 * leaf; GROVE_EINVAL: no such mode; GROVE_ENOMEM.
	 */
	int (*chain_walk)(const struct grove__chain *c, const struct grove__chain_ask *ask,
			  struct grove__chain_walk *out);
	/* A reason in words, and whether it is one for being sent; NULL: the row was not in question. */
	const char *(*chain_reason)(uint8_t reason, bool *sent);
	/*
	 * Logs that are long because they were compacted often can be read from
	 * their last boundary on: bytes that stand in every such line, whether a
	 * line is one, and whether a chain that begins with one needs nothing from
	 * above it. NULL: they cannot.
	 */
	const char *boundary_mark;
	bool (*is_boundary)(struct grove_slice line);
	bool (*chain_closed)(const struct grove__chain *c);
	/*
	 * The entry that an input belongs below whatever the leaf is: the call that
	 * it answers. 1: none; GROVE_ENOMEM. NULL: there is no such thing.
	 */
	int (*chain_call)(const struct grove__chain *c, struct grove_slice json,
			  struct grove_slice *id);
	/* A row of a side chain: never a leaf of the log it stands in. */
	bool (*chain_side)(const struct grove__chain *c, uint32_t row);
	/* Rows that name an entry to be kept that is not there: `fn` for each. */
	int (*chain_lacks)(const struct grove__chain *c, int (*fn)(void *payload, uint32_t row),
			   void *payload);
	/* Where the one message of a row stands in its value; false: ask messages(). */
	bool (*chain_message)(const struct grove__chain *c, uint32_t row, size_t *off, size_t *len);
	/*
	 * Can the leaf be moved to a row? 0; 1 if the rules go elsewhere whatever is
	 * written down, and *why says why; or GROVE_ENOMEM. As of now, never of a log's past.
	 */
	int (*chain_may_end)(const struct grove__chain *c, uint32_t row, bool own_file, const char **why);
	/* The id under which a mode (NULL: the usual one) shows a row, if it is not its own; else empty. */
	struct grove_slice (*chain_alias)(const struct grove__chain *c, uint32_t row, const char *mode);
	/* llm(), told which rows the messages come from. */
	int (*chain_llm)(const struct grove__chain *c, const uint32_t *rows,
			 const struct grove_slice *messages, size_t nr,
			 int (*fn)(void *payload, size_t from, struct grove_slice json),
			 void *payload);

	/* The system message in force after these; 1 if there is none. NULL: there is no such thing. */
	int (*system)(const struct grove_slice *messages, size_t nr, int64_t time,
		      struct grove_buf *out);

	/* --- writing --- */

	/*
	 * The header; where the agent begins its logs with a title slot, that is
	 * slot()'s.
	 */
	int (*compose_header)(const struct grove__header_in *in, struct grove_buf *out);
	/*
	 * Spell an entry from {"type":…} or a bare message. GROVE_EINVAL with a
	 * reason if it is neither. `target` gets the id of the entry it is about
	 * and needs (a label's), if any.
	 */
	int (*compose)(const struct grove__input *in, const struct grove__place *at,
		       struct grove_slice system, struct grove_buf *out,
		       struct grove_buf *target, struct grove_detail *d);
	/* {"type":…} for a spec; GROVE_ENOTSUP if there is no word for it. */
	int (*spell)(const struct grove__entry_spec *spec, struct grove_buf *out, struct grove_detail *d);
	/*
	 * Inputs that become several entries: `fn` gets each. NULL: every one is
	 * one entry. `random` is for what they have to share.
	 */
	int (*split)(struct grove_slice json, const uint8_t random[16],
		     int (*fn)(void *payload, struct grove_slice json), void *payload);
	/*
	 * Of a host's list: `fn` gets each message that is to be stored, as an
	 * input that names its parent. `last` is the id below which the next one
	 * goes. GROVE_EINVAL with a reason. NULL: the agent keeps no such list.
	 */
	int (*plan)(const struct grove__list_in *in,
		    int (*fn)(void *payload, struct grove_slice json), void *payload,
		    struct grove_buf *last, struct grove_detail *d);
	/*
	 * Lines that other programs look for near the end of a log: where a line
	 * is one, its place in a table of GROVE__TAILS, else -1; and those that
	 * have to be written once more, to be found after `more` bytes still.
	 * NULL: there are none.
	 */
	int (*tail_type)(struct grove_slice line);
	int (*tail_lines)(const struct grove__tail_line *last, uint64_t more,
			  int (*fn)(void *payload, struct grove_slice line), void *payload);
	/* The version of the program that wrote a line; 1 if it does not tell. */
	int (*written_by)(struct grove_slice line, struct grove_buf *out);
	/* The parts of an input, from a scan for `members`. */
	void (*input)(const struct grove__json_line *l, const char *line, struct grove__input *out);
	/* The kind that an input will be stored as. */
	enum grove_kind (*kind)(const struct grove__input *in);
	/* Is it a plain message, of which all that matters is its role? */
	bool (*bare)(const struct grove__input *in, enum grove_role *role);
	/* Does this entry, once stored, make a deferred session worth a file? */
	bool (*starts_file)(enum grove_kind kind, enum grove_role role);
	/*
	 * Forks that give other ids to what they copy; all NULL where entries
	 * keep theirs. `row` is one of the chain's; all that are to be copied
	 * are added before the first line. copy_line: every line of the log, in
	 * order, and where its message stands (ptr NULL: not known); 1: it is not
	 * copied. copy_tail: what stands behind them;
	 * `title` NULL: none, `given`: to be taken as it is.
	 */
	struct grove__copying *(*copy_new)(const struct grove__copy_in *in);
	void (*copy_free)(struct grove__copying *c);
	int (*copy_add)(struct grove__copying *c, const struct grove__chain *chain, uint32_t row);
	int (*copy_line)(struct grove__copying *c, struct grove_slice line, struct grove_slice message,
			 bool last, int64_t now, struct grove_buf *out);
	int (*copy_tail)(struct grove__copying *c, const char *title, bool given, const char *cwd,
			 int64_t now, int (*fn)(void *payload, struct grove_slice line),
			 void *payload);
	/* The line as one of another session, below another parent, its id kept. */
	int (*adopt)(struct grove_slice line, const char *session, struct grove_slice parent,
		     struct grove_buf *out);
	/* Of a reason of chain_walk(): does the row lie on the chain, sent or not? */
	bool (*chain_has)(uint8_t reason);
	/* A line that says where the session works from now on. NULL: the header does. */
	int (*relocate)(const char *cwd, struct grove_buf *out);
	/* The same line below another parent, and (not NULL) another first kept entry. */
	int (*relink)(struct grove_slice line, struct grove_slice parent,
		      const struct grove_slice *first_kept, struct grove_buf *out);
	/*
	 * A message that lacks what was said, as an entry that its agent passes over.
	 * NULL: there is no such entry.
	 */
	int (*mute)(struct grove_slice line, struct grove_buf *out);
	/*
	 * A line as it is stored: what belongs into blobs goes to the sink, what
	 * must not be kept is left out. 1: as it is; else what the sink answered.
	 * NULL: lines are stored as they are composed.
	 */
	int (*prepare)(struct grove_slice line, const struct grove__blob_sink *sink,
		       struct grove_buf *out);
	/* The header with another title. NULL: a name is an entry of its own. */
	int (*title)(struct grove_slice line, const char *title, const char *source,
		     struct grove_buf *out);
	/*
	 * A line of a fixed length in front of the header that holds the title
	 * (NULL: none yet). NULL: there is no such thing. `first`: sessions begin
	 * with it, not only those that have one already.
	 */
	int (*slot)(const char *title, const char *source, int64_t time, struct grove_buf *out);
	bool slot_first;
	/* Who chose the title in a slot: "user", "auto", or NULL. */
	const char *(*slot_source)(struct grove_slice line);
	/* The header with another working directory; the log was at `from` (NULL: nowhere). */
	int (*move_header)(struct grove_slice line, const char *cwd, const char *from,
			   struct grove_buf *out);
	/* The line in today's version. 1: it needs no change. */
	int (*migrate)(struct grove_slice line, const struct grove__migrate *m,
		       struct grove_buf *out);

	/* --- names --- */

	/* A new id for an entry from 16 random bytes; try `again` is a longer one. */
	size_t (*entry_id)(const uint8_t random[16], bool again, char out[40]);
	/* The id that a migration gives to a line: a function of these alone. */
	size_t (*migrated_id)(struct grove_slice session, uint64_t line, unsigned attempt,
			      char out[40]);
	bool (*session_id_ok)(struct grove_slice id);
	const char *session_id_rule;        /* the same in words */
	/*
	 * A new session's id. `seq` grows with every one, and its lower 22 bits
	 * do not wrap within one `time`: ids of later calls are greater.
	 */
	void (*session_id)(int64_t time, uint64_t seq, const uint8_t random[8], char out[40]);
	/* A name as the agent would keep it; empty if nothing is left. */
	int (*clean_name)(struct grove_slice name, struct grove_buf *out);
	/* The directory of a cwd below the sessions' root. */
	int (*project)(const struct grove__env *env, const char *cwd, struct grove_buf *out);
	/*
	 * The names that it had in earlier generations, which are read as well;
	 * some may equal project()'s. NULL: there was but one.
	 */
	int (*old_projects)(const struct grove__env *env, const char *cwd,
			    int (*fn)(void *payload, const char *project), void *payload);
	/*
	 * What the directory's name begins with, whichever release made it, if
	 * its end cannot be known. 1: it can. NULL: it always can.
	 */
	int (*project_prefix)(const struct grove__env *env, const char *cwd, struct grove_buf *out);
	/* The directory of its blobs. NULL: it has none. */
	int (*blobs_dir)(const struct grove__env *env, struct grove_buf *out);
	int (*file_name)(int64_t time, const char *id, struct grove_buf *out);
	/* Time and id from such a name; false if it is not one. */
	bool (*parse_file_name)(struct grove_slice name, int64_t *time, struct grove_slice *id);
	/*
	 * The directories where agents of this dialect keep sessions, best for
	 * new ones first; a path part may be `*`. `flat`: no directory per cwd.
	 */
	/* Is the log of that name a sub-agent's own? NULL: none is. */
	bool (*own_file)(const char *name);
	/* The session that such a log belongs to, by its path. */
	bool (*owner)(const char *path, struct grove_slice *id);
	int (*roots)(const struct grove__env *env,
		     int (*fn)(void *payload, const char *agent, const char *dir, bool flat),
		     void *payload);

	/* --- whose place is it, where several agents could have been? --- */

	/*
	 * How sure the first line of a log makes us that this agent wrote it.
	 * NULL: a line never tells.
	 */
	enum grove__claim (*claims)(struct grove_slice line);
	/* Where two would say the same, only one of them may. */
	const char *own_root;               /* how the path of its root usually ends */
	const char *const *beside;          /* what it keeps beside the root, and others do not */
	/* Is this a project as no other agent names it? */
	bool (*own_project)(const char *name);

	/* --- the note that a terminal has of its last session; NULL: there are none --- */

	/* Its path; 1 if this terminal has no name. */
	int (*crumb_path)(const struct grove__env *env, struct grove_buf *out);
	int (*crumb_compose)(const char *cwd, const char *path, struct grove_buf *out);
	/* What it says; false if it says nothing. */
	bool (*crumb_parse)(struct grove_slice text, struct grove_slice *cwd,
			    struct grove_slice *path);

	/* --- what belongs to a session, and how long it lives --- */

	const struct grove__agents *agents; /* NULL: nothing is kept about sub-agents */
	/*
	 * Directories outside its own in which files of a session lie, and what
	 * they are called as attachments. `root` has its project's directory
	 * (NULL: none). NULL: there are none.
	 */
	int (*apart)(const struct grove__env *env, const char *root, const char *session,
		     int (*fn)(void *payload, const char *dir, const char *name), void *payload);
	/*
	 * When the agent itself deletes a log that was last written at `mtime`
	 * (ms); GROVE_NO_TIME: never. `settings` is the text of the file
	 * `sweep_settings`, seen from the root, valid or empty. NULL: it deletes
	 * nothing.
	 */
	int64_t (*expires)(struct grove_slice settings, int64_t mtime);
	const char *sweep_settings;

	const struct grove__delegation *delegation; /* NULL: entries tell of none */

	/* --- the trace of its running processes; both NULL: they leave none --- */

	/* The directories in which each of them keeps a note; `path` is the session's. */
	int (*live_dirs)(const struct grove__env *env, const char *path,
			 int (*fn)(void *payload, const char *dir), void *payload);
	/*
	 * Who left the note of that file name, and the id of the session it works
	 * on, appended; false if it is not one. `json` is valid.
	 */
	bool (*live_note)(const char *name, struct grove_slice json, struct grove__live_check *out,
			  struct grove_buf *session);
};

extern const struct grove__dialect grove__dialect_pi;
extern const struct grove__dialect grove__dialect_xcsh;
extern const struct grove__dialect grove__dialect_omp;
extern const struct grove__dialect grove__dialect_claude;

extern const struct grove__dialect *const grove__dialects[];

/* The dialect of that name, NULL if there is none. `i` counts them all up to the NULL that ends them. */
const struct grove__dialect *grove__dialect_find(const char *name);
const struct grove__dialect *grove__dialect_at(unsigned i);
/*
 * The dialect with the strongest claim to the first line of a log; NULL if there
 * is none. GROVE__JSON_PAD bytes behind the line must be readable.
 */
const struct grove__dialect *grove__dialect_recognise(struct grove_slice line);
/* For those who judge one line: scans it for `members`. False: it is no JSON object. */
bool grove__dialect_scan(const struct grove__json_member *members, unsigned nr,
			 struct grove_slice line, struct grove__json_line *out);

#endif
