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
#include "base/err.h"
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

/* Keep bytes as a blob and append the text of its reference to `ref`. */
struct grove__blob_sink {
	int (*put)(void *payload, struct grove_slice bytes, struct grove_buf *ref);
	void *payload;
};

/* Append a blob's bytes. GROVE_ENOTFOUND and the like: the reference is kept. */
struct grove__blob_source {
	int (*get)(void *payload, struct grove_slice ref, struct grove_buf *bytes);
	void *payload;
};

/* An entry to be spelled by its parts; strings NULL where absent. */
struct grove__wish {
	enum grove_kind kind;
	const char *a, *b, *c;    /* see spell() in each dialect: level; provider, model; … */
	const char *json, *json2; /* raw values */
	uint64_t number;
	bool flag;
};

/* An entry as a caller gives it: raw values, ptr NULL where absent. */
struct grove__input {
	struct grove_slice json;     /* all of it, trimmed */
	struct grove_slice type, id, parent, time;
	struct grove_slice role;     /* of a bare message */
};

/* Where an entry that is to be written belongs. */
struct grove__place {
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

struct grove__dialect {
	const char *name;
	unsigned version;                   /* that it writes */
	/*
	 * Values are read one after the other, whatever the lines are: see
	 * json/lenient.h. Else a line is a value or nothing.
	 */
	bool lenient;
	bool modified_by_file;              /* a listing shows the file's time */
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
	/* {"type":…} for a wish; GROVE_ENOTSUP if there is no word for it. */
	int (*spell)(const struct grove__wish *w, struct grove_buf *out, struct grove_detail *d);
	/* The parts of an input, from a scan for `members`. */
	void (*input)(const struct grove__json_line *l, const char *line, struct grove__input *out);
	/* The kind that an input will be stored as. */
	enum grove_kind (*kind)(const struct grove__input *in);
	/* Is it a plain message, of which all that matters is its role? */
	bool (*bare)(const struct grove__input *in, enum grove_role *role);
	/* Does this entry, once stored, make a deferred session worth a file? */
	bool (*starts_file)(enum grove_kind kind, enum grove_role role);
	/* The same line below another parent, and (not NULL) another first kept entry. */
	int (*relink)(struct grove_slice line, struct grove_slice parent,
		      const struct grove_slice *first_kept, struct grove_buf *out);
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
	/* Did the user choose the title in a slot? */
	bool (*slot_by_user)(struct grove_slice line);
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
	/* The directory of its blobs. NULL: it has none. */
	int (*blobs_dir)(const struct grove__env *env, struct grove_buf *out);
	int (*file_name)(int64_t time, const char *id, struct grove_buf *out);
	/* Time and id from such a name; false if it is not one. */
	bool (*parse_file_name)(struct grove_slice name, int64_t *time, struct grove_slice *id);
	/*
	 * The directories where agents of this dialect keep sessions, best for
	 * new ones first; a path part may be `*`. `flat`: no directory per cwd.
	 */
	int (*roots)(const struct grove__env *env,
		     int (*fn)(void *payload, const char *agent, const char *dir, bool flat),
		     void *payload);

	/* --- whose place is it, where several agents could have been? --- */

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
};

extern const struct grove__dialect grove__dialect_pi;
extern const struct grove__dialect grove__dialect_xcsh;
extern const struct grove__dialect grove__dialect_omp;

/* The dialect of that name, NULL if there is none; `i` counts them all. */
const struct grove__dialect *grove__dialect_find(const char *name);
const struct grove__dialect *grove__dialect_at(unsigned i);
/* A name that we know of, built in or not. */
bool grove__dialect_known(const char *name);
/*
 * The dialect that the first line of a log points to: its name, or NULL if
 * the bytes do not tell.
 */
const char *grove__dialect_guess(struct grove_slice line);

#endif
