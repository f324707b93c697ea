/*
 * grove/view.h: a session at one moment: entries, tree, context.
 *
 * You get it with <grove.h>, which says what holds for all of it.
 */
#ifndef GROVE_VIEW_H
#define GROVE_VIEW_H

#include <grove/session.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A session at one moment: immutable, reference-counted, for any number of
 * threads. Entries are numbered 0 … count-1 in append order; a number is good
 * for one view and all later ones of the same session until it is rewritten.
 */
struct grove_view;

GROVE_API int grove_session_view(struct grove_session *s, struct grove_view **out);
GROVE_API struct grove_view *grove_view_ref(struct grove_view *v);
GROVE_API void grove_view_unref(struct grove_view *v);

struct grove_entry {
	size_t size;
	uint32_t index;
	uint32_t parent;        /* index, or GROVE_NONE */
	const char *id;         /* NULL: none */
	const char *label;      /* NULL: none */
	int64_t time;           /* ms, or GROVE_NO_TIME */
	int64_t label_time;
	enum grove_kind kind;
	enum grove_role role;
	unsigned flags;         /* enum grove_entry_flags */
	uint64_t line;          /* its line in the log, from 0 (the seq) */
	uint64_t bytes;         /* of that line */
};

/* Counts of what was read. */
struct grove_counts {
	size_t size;
	uint64_t lines;         /* physical lines: the next seq */
	uint64_t bytes;
	uint64_t entries;       /* header lines left out */
	uint64_t malformed;     /* lines that are no JSON: skipped, kept */
	uint64_t blank;         /* empty ones, and JSON values that are nothing (null, 0, "") */
	uint64_t orphans, cycles, duplicates;
	int torn;               /* the last line has no line end and is no JSON */
	uint64_t first_malformed_line;   /* from 0 */
	uint64_t first_malformed_offset;
};

/* GROVE_EINVAL if `out` has no size. */
GROVE_API int grove_view_counts(const struct grove_view *v, struct grove_counts *out);
GROVE_API uint32_t grove_view_count(const struct grove_view *v);
/* GROVE_ENOTFOUND past the last entry, GROVE_EINVAL if `out` has no size. */
GROVE_API int grove_view_entry(const struct grove_view *v, uint32_t i, struct grove_entry *out);
/* The entry of that id, or GROVE_NONE. */
GROVE_API uint32_t grove_view_find(const struct grove_view *v, const char *id);
/* The leaf at that moment, or GROVE_NONE: leaf marks are looked through. */
GROVE_API uint32_t grove_view_leaf(const struct grove_view *v);
/* The rev of the session at that moment: what grove_watch_open() goes on from. */
GROVE_API uint64_t grove_view_rev(const struct grove_view *v);
/* The session's name, or NULL. */
GROVE_API const char *grove_view_name(const struct grove_view *v);
/* The header line as JSON. */
GROVE_API int grove_view_header(struct grove_view *v, struct grove_buf *out);

/* The way from the root to entry `to`, root first; GROVE_NONE: empty. Free with free(). */
GROVE_API int grove_view_path(const struct grove_view *v, uint32_t to, uint32_t **out, size_t *nr);
/*
 * The conversation that ends at `to`, in the order it is told. Mostly the same
 * as the path; Claude's rules bring in what parallel tool calls left beside it
 * and what was typed while the agent worked, and leave out what lies above a
 * compaction, unless `flags` has GROVE_CONTEXT_FULL. Free with free().
 */
GROVE_API int grove_view_conversation(struct grove_view *v, uint32_t to, unsigned flags,
				      uint32_t **out, size_t *nr);
/*
 * The children of `of` (GROVE_NONE: the roots) in append order, or, as the
 * agents draw them, by time. Free with free().
 */
GROVE_API int grove_view_children(const struct grove_view *v, uint32_t of, int by_time,
				  uint32_t **out, size_t *nr);

enum grove_line_flags {
	/*
	 * References to blobs become what they stand for, as in a context. One
	 * whose blob cannot be read stays, and `warn` is told.
	 */
	GROVE_LINE_BLOBS = 1
};
/*
 * The bytes of an entry's line, without its line end: as stored, or as the
 * migration to today's version leaves them. GROVE_ESTALE if the log changed
 * under us: refresh the session and take a new view.
 */
GROVE_API int grove_view_line(struct grove_view *v, uint32_t i, unsigned flags,
			      struct grove_buf *out);

/* What a person would want to read of an entry, piece by piece. */
GROVE_API int grove_view_pieces(struct grove_view *v, uint32_t i, grove_piece_fn *fn, void *payload);

struct grove_context_options {
	size_t size;
	const char *leaf;   /* NULL: the view's; GROVE_ROOT: none; else an id (GROVE_ENOTFOUND) */
	int llm;            /* as plain messages for a model */
	int explain;        /* add why each entry is, or is not, part of it */
	const char *mode;   /* Claude: "cli" or "sdk"; NULL: the default */
	unsigned flags;     /* enum grove_context_flags */
};
enum grove_context_flags {
	GROVE_CONTEXT_SNIPS = 1, /* Claude: leave out what was snipped */
	GROVE_CONTEXT_FULL = 2   /* Claude: go on above a compaction */
};
/* What the model would be sent, as `context --json` prints it. */
GROVE_API int grove_view_context(struct grove_view *v, const struct grove_context_options *opt,
				 struct grove_sink sink);

/* A message of a context. It lives until the function that is told of it returns. */
struct grove_message {
	uint32_t entry;            /* the entry it comes from; GROVE_NONE: it is made up, not stored */
	const char *id;            /* of that entry, as `entryIds` has it; NULL: none */
	struct grove_slice role;   /* as the message spells it; empty: it has none */
	struct grove_slice text;   /* its first text, at most 1 KiB of it; empty: it has none */
	struct grove_slice json;   /* the message, as `messages` has it */
	const struct grove__message_at *at;  /* for grove_message_pieces() */
};
/* Why an entry is, or is not, part of a context. */
struct grove_context_reason {
	uint32_t entry;
	int included;
	const char *reason;        /* a sentence; lives as long as the library */
};
struct grove_context_about {
	uint32_t leaf;             /* GROVE_NONE: none */
	int has_settings;          /* the agent keeps model and level with the session */
	const char *model;         /* PROVIDER/ID, or the one name that it has; NULL: none */
	const char *thinking;      /* the level; NULL: none */
};
struct grove_context_reader {
	size_t size;
	void *payload;
	/* Each may be NULL. They are called in this order: all messages, all reasons, once `about`. */
	int (*message)(void *payload, const struct grove_message *m);
	int (*reason)(void *payload, const struct grove_context_reason *r);  /* with `explain` */
	int (*about)(void *payload, const struct grove_context_about *a);
};
/*
 * What the model would be sent, message by message. A function that returns
 * something other than 0 ends it, and that is returned. Nothing but the message at
 * hand is held in memory, unless `llm` asks for a conversion that looks at all of them.
 */
GROVE_API int grove_view_messages(struct grove_view *v, const struct grove_context_options *opt,
				  const struct grove_context_reader *to);
/*
 * What a person would want to read of the entry that a message comes from, as
 * grove_view_pieces(). Call it before the function that was told of the message
 * returns: the entry's line is at hand then, and mostly need not be read again.
 */
GROVE_API int grove_message_pieces(const struct grove_message *m, grove_piece_fn *fn, void *payload);

/*
 * What grove_view_context() writes, of a session as it is now. If the session was opened with
 * GROVE_LAZY, only as much of the log is read as the answer needs: of a Claude
 * transcript that was compacted, mostly what lies behind the last boundary.
 */
GROVE_API int grove_session_context(struct grove_session *s,
				    const struct grove_context_options *opt,
				    struct grove_sink sink);

/* All entries as one JSON array, in append order, as `log --json` prints it; enum grove_line_flags. */
GROVE_API int grove_view_log(struct grove_view *v, unsigned flags, struct grove_sink sink);
/* The log's own bytes. */
GROVE_API int grove_view_raw(struct grove_view *v, struct grove_sink sink);

enum grove_snapshot_entries {
	GROVE_SNAPSHOT_ALL,
	GROVE_SNAPSHOT_PATH,     /* of the active path */
	GROVE_SNAPSHOT_NONE
};
enum grove_snapshot_flags {
	GROVE_SNAPSHOT_BLOBS = 1 /* in entries, too, references to blobs become what they stand for */
};
struct grove_snapshot_options {
	size_t size;
	enum grove_snapshot_entries entries;
	uint64_t after;          /* leave out entries of the first so many lines: the seq of an earlier snapshot */
	uint64_t limit;          /* at most so many entries; 0: all */
	/*
	 * Texts of more bytes become {"$ref": the entry's id, "bytes": n}; 0: none
	 * do. Texts of less than 128 bytes never do.
	 */
	uint64_t max_body;
	int project;             /* results of sub-agents carry their projection in metadata */
	unsigned flags;          /* enum grove_snapshot_flags */
};
/*
 * What a user interface loads on refresh, in one document: {session, entries,
 * activePath, childrenByParentId, labelsByEntryId, runtimeContext, subagents}.
 * `opt` may be NULL. With a window (`after`, `limit`) sub-agents are told of for
 * the entries in it.
 */
GROVE_API int grove_view_snapshot(struct grove_view *v, const struct grove_snapshot_options *opt,
				  struct grove_sink sink);

enum grove_tree_flags {
	GROVE_TREE_FLAT = 1,     /* {entry, parentId, depth, label?}, one after the other */
	GROVE_TREE_BLOBS = 2     /* as GROVE_LINE_BLOBS */
};
/* The tree as JSON: nested {entry, children, label?}, or flat. */
GROVE_API int grove_view_tree(struct grove_view *v, unsigned flags, struct grove_sink sink);

/* The story of the last error of this view (of any thread). */
GROVE_API void grove_view_error(struct grove_view *v, struct grove_detail *out);

#ifdef __cplusplus
}
#endif
#endif
