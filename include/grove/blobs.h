/*
 * grove/blobs.h: bytes that are kept apart from the lines that need them.
 *
 * You get it with <grove.h>, which says what holds for all of it.
 */
#ifndef GROVE_BLOBS_H
#define GROVE_BLOBS_H

#include <grove/session.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Bytes that are kept apart from the lines that need them, images mostly: xcsh
 * and oh-my-pi do so, other agents' sessions may. A blob is a file named by the
 * SHA-256 of its bytes; a line refers to it as `blob:sha256:` and 64 lower-case
 * hex digits. It appears whole, is never changed, and is checked when it is
 * read.
 *
 * A handle of blobs may be used by many threads at once; only its error is one
 * for all. It must be closed before the struct grove it came from.
 */
struct grove_blobs;

/* Room for a reference, or a hash, and its NUL. */
#define GROVE_BLOB_REF_MAX 80

/*
 * `dir` NULL: where xcsh has its blobs (PI_CODING_AGENT_DIR, PI_CONFIG_DIR and
 * XDG_DATA_HOME as xcsh understands them). It is made with the first put.
 */
GROVE_API int grove_blobs_open(struct grove *g, const char *dir, struct grove_blobs **out);
GROVE_API void grove_blobs_close(struct grove_blobs *b);
GROVE_API void grove_blobs_error(struct grove_blobs *b, struct grove_detail *out);
GROVE_API const char *grove_blobs_dir(const struct grove_blobs *b);

enum grove_blobs_put_flags {
	/* A file of the right name and size is the blob: do not compare its bytes. */
	GROVE_BLOBS_PUT_TRUST = 1,
	/*
	 * With GROVE_SYNC_ALWAYS: the bytes are on the disk, the name only after
	 * grove_blobs_sync(). For many puts at once.
	 */
	GROVE_BLOBS_PUT_LATER = 2
};

struct grove_blobs_put_options {
	size_t size;
	enum grove_sync sync;
	unsigned flags;      /* enum grove_blobs_put_flags */
};

/*
 * Keep bytes and fill in the reference to them. If the blob is there already
 * nothing is written (*known becomes 1; it may be NULL); a file that has its
 * name but other bytes is replaced. At most 1 GiB.
 *
 * After GROVE_EACCESS, GROVE_EFULL, GROVE_EIO and GROVE_ETOOBIG nothing new has
 * the blob's name; GROVE_EDAMAGED: a directory or a link lies there.
 */
GROVE_API int grove_blobs_put(struct grove_blobs *b, struct grove_slice bytes,
			      const struct grove_blobs_put_options *opt,
			      char ref[GROVE_BLOB_REF_MAX], int *known);
/* Put the names of all blobs put so far on the disk: one sync for all of them. */
GROVE_API int grove_blobs_sync(struct grove_blobs *b);

/*
 * Append the bytes of a blob. `what` is a reference or its 64 digits; anything
 * else is GROVE_EINVAL and nothing is looked at. GROVE_ENOTFOUND;
 * GROVE_EDAMAGED if the bytes are not those that were put.
 */
GROVE_API int grove_blobs_get(struct grove_blobs *b, const char *what, struct grove_buf *out);
/* 1 if a blob of that name is there, 0 if not; its bytes are not looked at. */
GROVE_API int grove_blobs_has(struct grove_blobs *b, const char *what);
/* Append the path of the file that a blob is in, or would be. */
GROVE_API int grove_blobs_path(struct grove_blobs *b, const char *what, struct grove_buf *out);

struct grove_blob_problem {
	const char *hash;
	const char *path;
	const char *kind;    /* "wrong-bytes", "not-a-file", "unreadable" */
	const char *detail;
};
struct grove_blobs_verify_result {
	size_t size;
	uint64_t blobs, bytes, problems;
};
/* A non-zero answer ends the work and is handed back. */
typedef int grove_blob_problem_fn(void *payload, const struct grove_blob_problem *p);
/* Read a blob, or all of them (NULL), and tell what is wrong. GROVE_ENOTFOUND for one that is not there. */
GROVE_API int grove_blobs_verify(struct grove_blobs *b, const char *what,
				 grove_blob_problem_fn *fn, void *payload,
				 struct grove_blobs_verify_result *result);

enum grove_blob_fate {
	GROVE_BLOB_FATE_REFERENCED,  /* a session names it: kept */
	GROVE_BLOB_FATE_YOUNG,       /* nobody names it, but it may be about to be named: kept */
	GROVE_BLOB_FATE_GARBAGE,     /* nobody names it: it would go */
	GROVE_BLOB_FATE_REMOVED      /* nobody names it: it went */
};
struct grove_blob_item {
	const char *hash;       /* NULL: what a put that never ended left behind */
	const char *path;
	uint64_t bytes;         /* 0 for another name of a blob */
	int64_t modified;       /* ms: when it was put, or put again */
	enum grove_blob_fate fate;
};
enum grove_blobs_gc_flags {
	GROVE_BLOBS_GC_REMOVE = 1   /* remove them; without, they are only told of */
};
struct grove_blobs_gc_options {
	size_t size;
	unsigned flags;         /* enum grove_blobs_gc_flags */
	/*
	 * For how many ms a blob that nobody names is left alone: between the put
	 * and the line that names it there is a moment. 0: an hour; negative: none,
	 * for when no agent is at work.
	 */
	int64_t grace;
};
struct grove_blobs_gc_result {
	size_t size;
	uint64_t files, scanned;             /* what was searched for references, and its bytes */
	uint64_t referenced, referenced_bytes;
	uint64_t young, young_bytes;
	uint64_t garbage, garbage_bytes;     /* what would go, or went */
};
typedef int grove_blob_item_fn(void *payload, const struct grove_blob_item *i);
/*
 * Remove blobs that no session names. References are looked for in every file
 * of every store that grove was given or can discover, and beside the blobs in
 * `sessions`; 64 hex digits are one wherever they stand. If anything there
 * cannot be read, nothing is removed and the error is handed back. `fn` (may be
 * NULL) is told of each blob; a non-zero answer ends the work and is handed
 * back.
 */
GROVE_API int grove_blobs_gc(struct grove_blobs *b, const struct grove_blobs_gc_options *opt,
			     grove_blob_item_fn *fn, void *payload,
			     struct grove_blobs_gc_result *result);

/*
 * Keep bytes where the session's agent keeps its blobs, on the disk when this
 * returns. GROVE_ENOTSUP for agents that have none.
 */
GROVE_API int grove_session_blob_put(struct grove_session *s, struct grove_slice bytes,
				     char ref[GROVE_BLOB_REF_MAX]);

#ifdef __cplusplus
}
#endif
#endif
