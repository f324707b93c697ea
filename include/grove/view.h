/*
 * grove/view.h: a session at one moment: entries, tree, context.
 *
 * You get it with <grove.h>, which has the rules that apply to all of it.
 */
#ifndef GROVE_VIEW_H
#define GROVE_VIEW_H

#include <grove/session.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A session at one moment: immutable, reference-counted, for any number of threads.
 * Entries are numbered 0 … count-1 in append order; a number is valid for this view and
 * all later ones of the same session until it is rewritten.
 */
struct grove_view;

GROVE_API int grove_session_view(struct grove_session *s, struct grove_view **out);
GROVE_API struct grove_view *grove_view_ref(struct grove_view *v);
GROVE_API void grove_view_unref(struct grove_view *v);

struct grove_entry {
	size_t size;
	uint32_t index;
	uint32_t parent;        /* index, or GROVE_NO_ENTRY */
	const char *id;         /* NULL: none */
	const char *label;      /* NULL: none */
	int64_t time;           /* ms, or GROVE_NO_TIME */
	int64_t label_time;
	enum grove_kind kind;
	enum grove_role role;
	unsigned flags;         /* enum grove_entry_flags */
	uint64_t line;          /* its line in the log, from 0 (the seq) */
	uint64_t bytes;         /* length of that line */
};

/* Counts of what was read. */
struct grove_counts {
	size_t size;
	uint64_t lines;         /* physical lines: the next seq */
	uint64_t bytes;
	uint64_t entries;       /* without header lines */
	uint64_t malformed;     /* lines that are not JSON: skipped, but preserved */
	uint64_t blank;         /* empty lines, and JSON values without content (null, 0, "") */
	uint64_t orphans, cycles, duplicates;
	int torn;               /* the last line has no newline and is not JSON */
	uint64_t first_malformed_line;   /* from 0 */
	uint64_t first_malformed_offset;
};

/* Returns GROVE_EINVAL if `out` has no size. */
GROVE_API int grove_view_counts(const struct grove_view *v, struct grove_counts *out);
GROVE_API uint32_t grove_view_count(const struct grove_view *v);
/* Returns GROVE_ENOTFOUND past the last entry, GROVE_EINVAL if `out` has no size. */
GROVE_API int grove_view_entry(const struct grove_view *v, uint32_t i, struct grove_entry *out);
/*
 * Finds the entry with exactly this id; for GROVE_ROOT, GROVE_NO_ENTRY. Returns 0, or
 * GROVE_ENOTFOUND with *out set to GROVE_NO_ENTRY.
 */
GROVE_API int grove_view_find(const struct grove_view *v, const char *id, uint32_t *out);
/*
 * Returns the leaf at that moment, or GROVE_NO_ENTRY. If the log ends in a leaf marker,
 * that is the entry it names.
 */
GROVE_API uint32_t grove_view_leaf(const struct grove_view *v);
/*
 * Returns the rev of the session at that moment: pass it to grove_watch_add() to resume
 * from here.
 */
GROVE_API uint64_t grove_view_rev(const struct grove_view *v);
/*
 * Returns the generation of the log, which changes when lines are rewritten or removed.
 * Two views of a session with the same generation and rev show the same.
 */
GROVE_API uint64_t grove_view_generation(const struct grove_view *v);
/* Returns the session's name, or NULL. */
GROVE_API const char *grove_view_name(const struct grove_view *v);
/* Appends the header line as JSON. */
GROVE_API int grove_view_header(const struct grove_view *v, struct grove_buf *out);

/* Gets the entries from the root down to `of`; none for GROVE_NO_ENTRY. */
GROVE_API int grove_view_ancestors(const struct grove_view *v, uint32_t of, struct grove_rows *out);

/*
 * Heads: entries as they are stored, without their long values. Each entry has a shape:
 * a JSON object with its members, in their order, in which
 *
 *	{"$":"text"}     is the next of its texts
 *	{"$":"json"}     its next text, which is a JSON value
 *	{"$":"number"}   the next of its numbers
 *	{"$":"parent"}   the id of the entry with this index: its next number
 *	{"$":"left"}     a value that is left out; its next number is the length of its JSON
 *	{"$":"blocks"}   a list of blocks that is left out, likewise; its next text has a
 *	                 character for each block: GROVE_BLOCK_FIRST + i means the shape
 *	                 blocks[i], GROVE_BLOCK_ODD a block without a shape
 *
 * and everything else is literal. Numbers and texts are counted separately, each in the
 * order of the members. An entry whose whole shape is {"$":"line"} was not taken apart:
 * read it with grove_view_line(). Values of more than 128 bytes are left out, and so is
 * the content of messages, however short; usage and other objects that hold numbers are
 * taken apart like the message itself. The shape of a block has its members in their
 * order and the value of "type". Short texts in it are {"$":"text"}, and come after all
 * other texts of the entry, block by block. Everything else in a block is {"$":"left"},
 * without a number.
 *
 * A text that is not plain ASCII is stored as JSON with escapes ({"$":"json"}), so all
 * texts are ASCII, and an offset counts both characters and bytes. The first number of
 * entry `i` is numbers[number[i]], and its first text begins at
 * strings[text_at[text[i]]]; a text ends where the next one begins. `text_at` has one
 * element more than there are texts.
 *
 * Everything but this struct is in one block of memory, [block, block + block_len).
 */
enum grove_block {
	GROVE_BLOCK_FIRST = '!',
	GROVE_BLOCK_ODD = '~'
};
struct grove_heads {
	uint32_t nr;                 /* entries */
	uint32_t nr_shapes, nr_blocks;
	struct grove_slice shapes, blocks;  /* JSON arrays */
	const uint32_t *shape, *number, *text;  /* of each entry */
	const double *numbers;       /* first in the block */
	size_t nr_numbers;
	const uint32_t *text_at;
	size_t nr_texts;
	const char *strings;
	size_t strings_len;
	const void *block;
	size_t block_len;
};
/*
 * Gets the heads of a range of entries, by index. Reads their lines, all in one pass.
 * Returns 0, GROVE_ESTALE as grove_view_line(), or GROVE_ETOOBIG if the texts have more
 * than 4 GiB.
 */
GROVE_API int grove_view_heads(const struct grove_view *v, struct grove_range index,
			       struct grove_heads **out);
GROVE_API void grove_heads_free(struct grove_heads *h);

enum grove_level {
	GROVE_LEVEL_ALL,
	/*
	 * Only entries that give the tree its shape: prompts, compactions and
	 * summaries, work handed to sub-agents, entries with a label, roots, forks
	 * and ends.
	 */
	GROVE_LEVEL_TURNS
};
enum grove_columns_flags {
	GROVE_COLUMNS_FAILED = 1     /* count tools and commands that failed; reads what they printed */
};
struct grove_columns_options {
	size_t size;
	enum grove_level level;
	unsigned flags;              /* enum grove_columns_flags */
	struct grove_range seq;      /* only entries of these lines */
	size_t preview;              /* bytes of text, at most; 0: none, and no line is read */
};
/* A parent before the requested range. */
#define GROVE_EARLIER (UINT32_MAX - 1)
/*
 * The shape of a session, as columns: one array for each member of struct grove_entry.
 * Everything but this struct is in one block of memory, [block, block + block_len).
 */
struct grove_columns {
	uint32_t nr;
	const uint64_t *seq, *bytes;
	const int64_t *time;         /* or GROVE_NO_TIME */
	const uint32_t *index;
	const uint32_t *parent;      /* a place in these columns, GROVE_NO_ENTRY for a root, or GROVE_EARLIER */
	const uint32_t *flags;       /* enum grove_entry_flags */
	const uint32_t *run;         /* GROVE_LEVEL_TURNS: entries between it and its parent; else NULL */
	const uint32_t *failed;      /* GROVE_COLUMNS_FAILED: failures in the run and the entry itself; else NULL */
	const uint32_t *id, *text;   /* offsets into `strings`, NUL-terminated there; 0: none */
	const uint8_t *kind, *role;  /* enum grove_kind, enum grove_role */
	const char *strings;
	size_t strings_len;
	const void *block;
	size_t block_len;
};
/*
 * Gets the columns. No line is read unless a preview or failures are asked for. `opt`
 * may be NULL: all entries. Returns 0, GROVE_ESTALE as grove_view_line(), or
 * GROVE_ETOOBIG if the texts have more than 4 GiB.
 */
GROVE_API int grove_view_columns(const struct grove_view *v, const struct grove_columns_options *opt,
				 struct grove_columns **out);
GROVE_API void grove_columns_free(struct grove_columns *c);

enum grove_conversation_flags {
	GROVE_CONVERSATION_WHOLE = 1  /* Claude: continue above a compaction */
};
/*
 * Gets the conversation that ends at `to`, in its order. Mostly these are the
 * ancestors; Claude's rules add records that parallel tool calls left next to them and
 * what was typed while the agent worked, and leave out what is above a compaction,
 * unless GROVE_CONVERSATION_WHOLE.
 */
GROVE_API int grove_view_conversation(const struct grove_view *v, uint32_t to, unsigned flags,
				      struct grove_rows *out);

enum grove_order {
	GROVE_ORDER_APPENDED,
	GROVE_ORDER_TIME          /* as the agents draw them */
};
/* Gets the children of `of`; for GROVE_NO_ENTRY, the roots. */
GROVE_API int grove_view_children(const struct grove_view *v, uint32_t of, enum grove_order order,
				  struct grove_rows *out);

enum grove_line_flags {
	/*
	 * Replace references to blobs by what they stand for, as in a context. A
	 * reference whose blob cannot be read stays, and `warn` is called.
	 */
	GROVE_LINE_BLOBS = 1
};
/*
 * Appends the bytes of an entry's line, without its newline: as stored, or as the
 * migration to the current version leaves them. Returns GROVE_ESTALE if the log has
 * changed: refresh the session and take a new view.
 */
GROVE_API int grove_view_line(const struct grove_view *v, uint32_t i, unsigned flags,
			      struct grove_buf *out);

/* Reports the text of an entry that a person would read, piece by piece. */
GROVE_API int grove_view_piece_each(const struct grove_view *v, uint32_t i, grove_piece_fn *fn, void *payload);

/*
 * Appends what a label entry says: the id of the entry that it labels, and the text,
 * which is empty if it removes the label. The label that results from all of them is in
 * grove_entry. Returns 1 if entry `i` is not a label.
 */
GROVE_API int grove_view_label(const struct grove_view *v, uint32_t i, struct grove_buf *target,
			       struct grove_buf *text);

/* The maximum number of bytes of a title in a preview: the name of a tool, or a type. */
#define GROVE_TITLE_MAX 200
/* An entry in a few words. */
struct grove_preview {
	size_t size;
	enum grove_piece_kind kind;
	int error;                   /* the tool or command failed */
	/* Both are in the buffer, and valid until it changes. */
	struct grove_slice title;    /* of a tool call, its result, an image: as in grove_piece */
	struct grove_slice text;
};
/*
 * Appends the first text of an entry to `out`, or whatever else describes it best: at
 * most `max` bytes, and never part of a character. Returns 1 if there is nothing to say.
 */
GROVE_API int grove_view_preview(const struct grove_view *v, uint32_t i, size_t max, struct grove_buf *out,
				 struct grove_preview *about);

enum grove_context_flags {
	GROVE_CONTEXT_SNIPS = 1,    /* Claude: leave out what was snipped */
	GROVE_CONTEXT_WHOLE = 2,    /* Claude: continue above a compaction */
	GROVE_CONTEXT_LLM = 4,      /* as plain messages for a model */
	GROVE_CONTEXT_EXPLAIN = 8,  /* with the reason why each entry is included or not */
	GROVE_CONTEXT_PARTS = 16    /* with the tokens of each part, and of all of them */
};

struct grove_context_options {
	size_t size;
	const char *leaf;   /* NULL: the view's; GROVE_ROOT: none; else an id (GROVE_ENOTFOUND) */
	const char *mode;   /* Claude: "cli" or "sdk"; NULL: the default */
	unsigned flags;     /* enum grove_context_flags */
};
/* Writes what the model would be sent, as `context --json` prints it. */
GROVE_API int grove_view_context(const struct grove_view *v, const struct grove_context_options *opt,
				 struct grove_sink sink);

/* A message of a context. It is valid until the function that receives it returns. */
struct grove_message {
	uint32_t entry;            /* the entry it comes from; GROVE_NO_ENTRY: it is not stored */
	const char *id;            /* of that entry, as in `entryIds`; NULL: none */
	struct grove_slice role;   /* as the message has it; empty: none */
	struct grove_slice text;   /* its first text, at most 1 KiB of it; empty: none */
	struct grove_slice json;   /* the message, as in `messages` */
	const struct grove__message_at *at;  /* for grove_message_pieces() */
	uint64_t tokens;           /* with GROVE_CONTEXT_PARTS: an estimate; else 0 */
};
/* Why an entry is included in a context or not. */
struct grove_context_reason {
	uint32_t entry;
	int included;
	const char *reason;        /* a sentence; valid as long as the library */
	int kept;                  /* it is part of the context, even if the model is sent nothing of it */
};
struct grove_context_about {
	uint32_t leaf;             /* GROVE_NO_ENTRY: none */
	int has_settings;          /* the agent stores model and level in the session */
	const char *model;         /* PROVIDER/ID, or its only name; NULL: none */
	const char *thinking;      /* the level; NULL: none */
	/*
	 * With GROVE_CONTEXT_PARTS: the parts that are not empty, and the tokens in use: what
	 * the last reply was billed for plus an estimate of what follows it or, if
	 * `estimated` is set, an estimate of everything.
	 */
	const struct grove_context_part *parts;
	size_t nr_parts;
	uint64_t used;
	uint64_t window;           /* the most tokens that the model accepts; 0: unknown */
	int estimated;
	/*
	 * Everything the agent stores about model, level and the like: the members of a JSON
	 * object, separated by commas, as `context --json` prints them; empty: none.
	 */
	struct grove_slice settings;
	enum grove_leaf_rule leaf_rule;
	/*
	 * The entry that the rule is based on: the marker, or the entry that the last prompt
	 * or the store names; otherwise the leaf. GROVE_NO_ENTRY: none.
	 */
	uint32_t leaf_by;
};
struct grove_context_reader {
	size_t size;
	void *payload;
	/*
	 * Each may be NULL. They are called in this order: all messages, all reasons,
	 * then `about` once.
	 */
	int (*message)(void *payload, const struct grove_message *m);
	int (*reason)(void *payload, const struct grove_context_reason *r);  /* with GROVE_CONTEXT_EXPLAIN */
	int (*about)(void *payload, const struct grove_context_about *a);
};
/*
 * Reports what the model would be sent, message by message. A non-zero result of a
 * function ends this and is returned. Only the current message is held in memory,
 * unless GROVE_CONTEXT_LLM asks for a conversion that needs all of them.
 */
GROVE_API int grove_view_messages(const struct grove_view *v, const struct grove_context_options *opt,
				  const struct grove_context_reader *to);
/*
 * Reports the text that a person would read of the entry a message comes from, like
 * grove_view_piece_each(). Call it before the function that received the message
 * returns: the entry's line is still in memory then, and usually need not be read
 * again.
 */
GROVE_API int grove_message_pieces(const struct grove_message *m, grove_piece_fn *fn, void *payload);
/* The same in a few words, as grove_view_preview(). */
GROVE_API int grove_message_preview(const struct grove_message *m, size_t max, struct grove_buf *out,
				    struct grove_preview *about);

/*
 * Writes the same as grove_view_context(), for the session as it is now. If the session
 * was opened with GROVE_OPEN_LAZY, only as much of the log is read as the answer needs:
 * for a compacted Claude transcript, usually what comes after the last boundary.
 */
GROVE_API int grove_session_context(struct grove_session *s,
				    const struct grove_context_options *opt,
				    struct grove_sink sink);

/*
 * Writes all entries as one JSON array, in append order, as `log --json` prints them;
 * flags are enum grove_line_flags.
 */
GROVE_API int grove_view_log(const struct grove_view *v, unsigned flags, struct grove_sink sink);
enum grove_entries_flags {       /* in addition to enum grove_line_flags */
	GROVE_ENTRIES_SEQ = 16,     /* each as {"seq", "entry"}, with the seq of its line */
	/*
	 * The data of images becomes {"$media": nth, "type", "bytes", "width"?,
	 * "height"?}; grove_view_media() reads it.
	 */
	GROVE_ENTRIES_MEDIA = 32
};
struct grove_entries_options {
	size_t size;
	unsigned flags;                 /* enum grove_line_flags, enum grove_entries_flags */
	const struct grove_range *seq;  /* only entries of these lines */
	size_t nr_seq;                  /* 0: all entries */
	/*
	 * Longer texts become {"$ref": the entry's id, "pointer", "bytes"}; grove_view_text()
	 * reads them. 0: none do. Texts of less than 128 bytes never do.
	 */
	uint64_t max_text;
	/* The maximum size of the page, which has at least one entry, however long. 0: no limit. */
	uint64_t max_bytes;
	uint64_t limit;                 /* entries; 0: no limit */
};
/*
 * Writes entries as one JSON array, in append order. *next is the seq of the first
 * entry that was left out because the page was full, or GROVE_NO_SEQ. `opt` may
 * be NULL: all entries.
 */
GROVE_API int grove_view_entries(const struct grove_view *v, const struct grove_entries_options *opt,
				 struct grove_sink sink, uint64_t *next);
/*
 * Appends a part of a text in an entry. `pointer` is a JSON pointer (RFC 6901), for
 * example /message/content/0/text; what is not a string is taken as its JSON.
 * `bytes` is a range of its UTF-8; both ends are moved back to the beginning of a
 * character, so that consecutive ranges join without gaps. *total is the length of the
 * whole text. References to blobs are resolved.
 * GROVE_ENOTFOUND if there is no such value.
 */
GROVE_API int grove_view_text(const struct grove_view *v, uint32_t i, const char *pointer,
			      struct grove_range bytes, struct grove_buf *out, uint64_t *total);
/*
 * Appends the bytes of image `nth` (from 0) of an entry. *type is its media type,
 * determined by its bytes, whatever the entry says; application/octet-stream if they
 * are unknown. GROVE_ENOTFOUND if the entry has fewer images.
 */
GROVE_API int grove_view_media(const struct grove_view *v, uint32_t i, unsigned nth, struct grove_buf *bytes,
			       const char **type);
/*
 * Finds the entry that a person means: by its id, by a prefix of its id that no other
 * entry has (at least 4 characters), or by GROVE_ROOT, for which *out is GROVE_NO_ENTRY.
 * Programs that hold ids use grove_view_find(). Returns 0; GROVE_ENOTFOUND; or
 * GROVE_EAMBIGUOUS, and grove_view_matches() has the candidates.
 */
GROVE_API int grove_view_resolve(const struct grove_view *v, const char *what, uint32_t *out);
/* Returns the media type of bytes, determined in the same way. */
GROVE_API const char *grove_media_type(struct grove_slice bytes);
/* Lists the entries whose id begins with `prefix`. */
GROVE_API int grove_view_matches(const struct grove_view *v, const char *prefix, struct grove_rows *out);

/* Writes the log's own bytes. */
GROVE_API int grove_view_raw(const struct grove_view *v, struct grove_sink sink);

enum grove_snapshot_entries {
	GROVE_SNAPSHOT_ALL,
	GROVE_SNAPSHOT_PATH,     /* of the active path */
	GROVE_SNAPSHOT_NONE
};
enum grove_snapshot_flags {
	GROVE_SNAPSHOT_BLOBS = 1,   /* replace references to blobs in entries, too */
	GROVE_SNAPSHOT_PROJECT = 2, /* results of sub-agents have their projection in metadata */
	GROVE_SNAPSHOT_ALONE = 4    /* parentSession is null: do not name the session it was forked from */
};
/* The members of a snapshot. */
enum grove_snapshot_parts {
	GROVE_SNAPSHOT_SESSION = 1,
	GROVE_SNAPSHOT_ENTRIES = 2,
	GROVE_SNAPSHOT_ACTIVE_PATH = 4,
	GROVE_SNAPSHOT_CHILDREN = 8,
	GROVE_SNAPSHOT_LABELS = 16,
	GROVE_SNAPSHOT_CONTEXT = 32,
	GROVE_SNAPSHOT_SUBAGENTS = 64
};
struct grove_snapshot_options {
	size_t size;
	enum grove_snapshot_entries entries;
	uint64_t after;          /* the seq of an earlier snapshot: only entries after it */
	uint64_t limit;          /* at most this many entries; 0: all */
	/*
	 * Longer texts become {"$ref": the entry's id, "bytes": n}; 0: none do. Texts of
	 * less than 128 bytes never do.
	 */
	uint64_t max_body;
	unsigned flags;          /* enum grove_snapshot_flags */
	unsigned parts;          /* enum grove_snapshot_parts; 0: all. The others cost nothing */
};
/*
 * Writes everything a user interface loads on refresh, in one document: {session,
 * entries, activePath, childrenByParentId, labelsByEntryId, runtimeContext, subagents}.
 * `opt` may be NULL. With a window (`after`, `limit`), only sub-agents of the entries
 * in it are included.
 */
GROVE_API int grove_view_snapshot(const struct grove_view *v, const struct grove_snapshot_options *opt,
				  struct grove_sink sink);

enum grove_tree_flags {
	GROVE_TREE_FLAT = 1,     /* {entry, parentId, depth, label?, labelTimestamp?}, one after the other */
	GROVE_TREE_BLOBS = 2     /* as GROVE_LINE_BLOBS */
};
/* Writes the tree as JSON: nested {entry, children, label?, labelTimestamp?}, or flat. */
GROVE_API int grove_view_tree(const struct grove_view *v, unsigned flags, struct grove_sink sink);

/* Copies the detail of the last error of this view, of any thread. */
GROVE_API void grove_view_error(const struct grove_view *v, struct grove_detail *out);

/* A file that tools changed on a branch, according to their calls. */
struct grove_diff_file {
	const char *path;            /* as the calls have it */
	uint64_t added, removed;     /* lines; a file written as a whole has no removed ones */
	uint64_t edits;              /* calls, not counting those that failed */
};
/* One of two branches: what it has after the fork. */
struct grove_diff_side {
	uint32_t leaf;               /* the entry that was given */
	uint64_t entries;
	const struct grove_range *seq;   /* the lines of these entries */
	size_t nr_seq;
	uint64_t tokens;             /* sent and received, including cached ones */
	double cost;                 /* in USD; NaN: not known for any reply */
	const struct grove_diff_file *const *files;  /* in the order of their first change */
	size_t nr_files;
	double estimated;            /* the part of `cost` that is estimated from list prices */
};
struct grove_diff {
	uint32_t fork;               /* the last entry that both have; GROVE_NO_ENTRY: none */
	uint64_t common;             /* entries up to there */
	const struct grove_diff_side *a, *b;
};
/*
 * Compares two branches: the paths from the root to the entries `a` and `b`, either of
 * which may be GROVE_NO_ENTRY. Reads what comes after the fork. Leaf markers do not
 * count. Returns 0, GROVE_ENOTFOUND if there is no such entry, or GROVE_ESTALE as
 * grove_view_line().
 */
GROVE_API int grove_view_diff(const struct grove_view *v, uint32_t a, uint32_t b, struct grove_diff **out);
GROVE_API void grove_diff_free(struct grove_diff *d);

#ifdef __cplusplus
}
#endif
#endif
