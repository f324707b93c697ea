/*
 * grove/carry.h: sessions that are carried between machines.
 *
 * You get it with <grove.h>, which has the rules that apply to all of it.
 *
 * If two machines have the same session, both may have continued it. These calls read
 * what one of them has stored and add it on the other: each line once, unchanged,
 * identified by its id; likewise the logs of sub-agents, attachments and blobs. The
 * server uses them for /ingress, and so do `grove push`, `pull` and `mirror` at the other
 * end (docs/internals/sync.md).
 */
#ifndef GROVE_CARRY_H
#define GROVE_CARRY_H

#include <grove/env.h>
#include <grove/words.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A session with all that belongs to it. Used by one thread at a time. */
struct grove_carry;

enum grove_carry_open_flags {
	GROVE_CARRY_READ = 0,
	GROVE_CARRY_WRITE = 1,
	GROVE_CARRY_CREATE = 2   /* WRITE; the first append creates what is not there yet */
};

struct grove_carry_options {
	size_t size;
	unsigned flags;          /* enum grove_carry_open_flags */
	/* For a session that is created; `id` is required. */
	const char *id;
	const char *dialect;     /* NULL: what its lines show */
	const char *cwd;         /* its directory here; NULL: what its lines say */
	const char *file;        /* the name that its log has elsewhere; NULL: a new one */
};

/*
 * Opens a session, `what` as in grove_session_open(). With GROVE_CARRY_CREATE, `what`
 * may be NULL: the session does not exist yet. GROVE_EINVAL for an invalid id, name or
 * dialect.
 */
GROVE_API int grove_carry_open(struct grove *g, const char *what, const struct grove_carry_options *opt,
			       struct grove_carry **out);
GROVE_API void grove_carry_close(struct grove_carry *c);
GROVE_API void grove_carry_error(struct grove_carry *c, struct grove_detail *out);

/* What is known about the session; valid until the next call on `c`. */
struct grove_carry_about {
	size_t size;
	const char *id, *dialect, *agent, *cwd, *store;
	const char *path;        /* NULL: none */
	const char *file;        /* the name of its log: pass it on as grove_carry_options.file */
	const char *leaf;        /* NULL: before the first entry */
	int there;               /* the session exists */
	int old;                 /* its log has an older format and must be migrated first */
};
GROVE_API int grove_carry_about(struct grove_carry *c, struct grove_carry_about *out);

/* How far a log reaches. */
struct grove_carry_state {
	size_t size;
	uint64_t seq;            /* number of lines, not counting one that is being written */
	/*
	 * While it stays the same, lines were only appended. It is comparable between
	 * processes; for files it changes when another file takes the name.
	 */
	uint64_t generation;
	int64_t modified;        /* ms: when it was last written to, as lists show it */
};
/*
 * Gets the state of a log: `sub` NULL or "", the session's own, else one that belongs
 * to it ("subagents/agent-1"). GROVE_ENOTFOUND.
 */
GROVE_API int grove_carry_state(struct grove_carry *c, const char *sub, struct grove_carry_state *out);
/*
 * Writes the lines [from, to) as they are stored, an LF after each; `to` 0: to the end,
 * which `out` (may be NULL) gets. GROVE_ESTALE if the log was rewritten meanwhile.
 */
GROVE_API int grove_carry_read(struct grove_carry *c, const char *sub, uint64_t from, uint64_t to,
			       struct grove_sink sink, struct grove_carry_state *out);

enum grove_carry_kind {
	GROVE_CARRY_LINE_BLANK,
	GROVE_CARRY_LINE_BAD,    /* not a JSON object: no reader understands it */
	GROVE_CARRY_LINE_HEADER, /* about the session as a whole; each machine has its own */
	GROVE_CARRY_LINE_ENTRY,  /* has an id */
	GROVE_CARRY_LINE_PLAIN,  /* has none */
	GROVE_CARRY_LINE_LEAF    /* only says where the leaf is; may have an id */
};
struct grove_carry_line {
	size_t size;
	enum grove_carry_kind kind;
	struct grove_slice id;       /* empty: none; valid until the next call on `c` */
	struct grove_slice parent;   /* the same */
	struct grove_slice cwd;      /* the directory that it says it was written in; the same */
};
/*
 * Says what a line is. `seq` is its place in its log. GROVE_EINVAL while the dialect of
 * the session is not known.
 */
GROVE_API int grove_carry_line(struct grove_carry *c, struct grove_slice line, uint64_t seq,
			       struct grove_carry_line *out);

enum grove_carry_append_flags {
	GROVE_CARRY_IF_SEQ = 1,  /* only if the log has `seq` lines; 0: also if there is none */
	/*
	 * The leaf goes where the lines lead. Without this flag it stays where it is
	 * unless the new one is below it: then a line is stored that says so.
	 */
	GROVE_CARRY_FOLLOW = 2
};
/* A line that was not stored, because another one has its id. */
typedef int grove_carry_differ_fn(void *payload, const char *id);

struct grove_carry_append_options {
	size_t size;
	unsigned flags;          /* enum grove_carry_append_flags */
	uint64_t seq;            /* with GROVE_CARRY_IF_SEQ */
	const char *sub;         /* as in grove_carry_state() */
	enum grove_sync sync;
	grove_carry_differ_fn *differs;  /* may be NULL; a non-zero result ends the work before anything is stored */
	void *payload;
};

struct grove_carry_result {
	size_t size;
	uint64_t stored;         /* lines of this call */
	uint64_t skipped;        /* lines that the log already had, with the same bytes */
	uint64_t differing;      /* lines that were left out: another line has their id */
	uint64_t seq, generation;  /* of the log afterwards */
	int created;             /* the session, or the log */
	int branched;            /* the leaf stayed where it was, although lines were added */
	const char *leaf;        /* of the session; NULL: none, or not of its own log */
};

/*
 * Stores lines from another machine, in their order and unchanged, except for the
 * directory in a header. A line whose id the log already has is skipped; so is a header,
 * if the log has one. Lines without an id are always stored: use GROVE_CARRY_IF_SEQ, or a
 * batch that is sent again is stored twice. All are stored, or none.
 *
 * GROVE_ECONFLICT if the log has another length than IF_SEQ says; GROVE_EJSON for what
 * is not a JSON object; GROVE_EINVAL for a log that would begin without its header, or
 * with that of another session; GROVE_ENOTSUP for a log of an earlier version;
 * GROVE_ETOOBIG for more than a database takes at once.
 */
GROVE_API int grove_carry_append(struct grove_carry *c, const struct grove_slice *lines, size_t nr,
				 const struct grove_carry_append_options *opt,
				 struct grove_carry_result *out);

/*
 * Sets when a log was last written to: lines that are carried do not make a session look
 * new. `sub` as in grove_carry_state(). GROVE_EINVAL if it is before 1970 or absurd.
 */
GROVE_API int grove_carry_set_modified(struct grove_carry *c, const char *sub, int64_t ms);

/* What belongs to a session besides its own log. */
struct grove_carry_part {
	const char *name;        /* of a log without its suffix: pass it as `sub` */
	uint64_t size;           /* bytes, of a file */
	int is_log;
};
/* A non-zero result ends the list and is returned. */
typedef int grove_carry_part_fn(void *payload, const struct grove_carry_part *p);
GROVE_API int grove_carry_each(struct grove_carry *c, grove_carry_part_fn *fn, void *payload);

/*
 * Files: attachments by their names ("tool-results/x.txt"), blobs as "blobs/" and their
 * hash. get appends the bytes; put replaces them, atomically. GROVE_EINVAL for an invalid
 * name, or for bytes with another hash; GROVE_ENOTFOUND; GROVE_ENOTSUP for a blob if the
 * agent has none, or for an attachment if the session does not exist yet.
 */
GROVE_API int grove_carry_file_get(struct grove_carry *c, const char *name, struct grove_buf *out);
GROVE_API int grove_carry_file_put(struct grove_carry *c, const char *name, struct grove_slice bytes);

#ifdef __cplusplus
}
#endif
#endif
