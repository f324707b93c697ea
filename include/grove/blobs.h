/*
 * grove/blobs.h: blobs, large values stored outside the lines that refer to them.
 *
 * You get it with <grove.h>, which has the rules that apply to all of it.
 */
#ifndef GROVE_BLOBS_H
#define GROVE_BLOBS_H

#include <grove/session.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Large values, mostly images, stored outside the lines that refer to them. xcsh
 * and oh-my-pi do so; sessions of other agents may. A blob is a file named by the
 * SHA-256 of its bytes; a line refers to it as `blob:sha256:` and 64 lower-case
 * hex digits. It appears atomically, is never changed, and is verified whenever
 * it is read.
 *
 * Many threads may use a handle at once, but they share its last error. It must
 * be closed before the struct grove it came from.
 */
struct grove_blobs;

/* The size of a buffer for a reference or a hash, with its NUL. */
#define GROVE_BLOB_REF_MAX 80

/*
 * Opens a directory of blobs. If `dir` is NULL, it is the one xcsh uses (according
 * to PI_CODING_AGENT_DIR, PI_CONFIG_DIR and XDG_DATA_HOME). The first put creates it.
 */
GROVE_API int grove_blobs_open(struct grove *g, const char *dir, struct grove_blobs **out);
GROVE_API void grove_blobs_close(struct grove_blobs *b);
GROVE_API void grove_blobs_error(struct grove_blobs *b, struct grove_detail *out);

enum grove_blobs_put_flags {
	/* Accept a file with the right name and size without comparing its bytes. */
	GROVE_BLOBS_PUT_TRUST = 1,
	/*
	 * With GROVE_SYNC_ALWAYS: sync the bytes now, but the name only with
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
 * Stores bytes, at most 1 GiB, and fills in the reference to them. If the blob
 * already exists, nothing is written and *known becomes 1 (`known` may be NULL). A
 * file with its name but other bytes is replaced.
 *
 * After GROVE_EACCESS, GROVE_EFULL, GROVE_EIO or GROVE_ETOOBIG, the blob's name
 * refers to what it did before. GROVE_EDAMAGED means that the name is taken by a
 * directory or a link.
 */
GROVE_API int grove_blobs_put(struct grove_blobs *b, struct grove_slice bytes,
			      const struct grove_blobs_put_options *opt,
			      char ref[GROVE_BLOB_REF_MAX], int *known);
/* Makes the names of all blobs put so far durable, with one sync for all of them. */
GROVE_API int grove_blobs_sync(struct grove_blobs *b);

/*
 * Appends the bytes of a blob to `out`. `what` is a reference or its 64 digits;
 * anything else is GROVE_EINVAL, and no file is opened. Returns GROVE_ENOTFOUND if
 * there is no such blob, GROVE_EDAMAGED if the bytes are not those that were put.
 */
GROVE_API int grove_blobs_get(struct grove_blobs *b, const char *what, struct grove_buf *out);
/* Appends the path of the file that holds the blob, or would hold it. */
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
/* A non-zero result ends the work and is returned by the call. */
typedef int grove_blob_problem_fn(void *payload, const struct grove_blob_problem *p);
/*
 * Reads a blob, or all of them if `what` is NULL, and reports each problem to `fn`.
 * Returns GROVE_ENOTFOUND if there is no such blob.
 */
GROVE_API int grove_blobs_verify(struct grove_blobs *b, const char *what,
				 grove_blob_problem_fn *fn, void *payload,
				 struct grove_blobs_verify_result *result);

enum grove_blob_fate {
	GROVE_BLOB_FATE_REFERENCED,  /* a session refers to it: it stays */
	GROVE_BLOB_FATE_YOUNG,       /* nothing refers to it yet: it stays for now */
	GROVE_BLOB_FATE_GARBAGE,     /* nothing refers to it: it would be removed */
	GROVE_BLOB_FATE_REMOVED      /* nothing refers to it: it was removed */
};
struct grove_blob_item {
	const char *hash;       /* NULL: the temporary file of an interrupted put */
	const char *path;
	uint64_t bytes;         /* 0 for a second name of a blob */
	int64_t modified;       /* ms: when it was last put */
	enum grove_blob_fate fate;
};
enum grove_blobs_gc_flags {
	GROVE_BLOBS_GC_REMOVE = 1   /* remove garbage; without this flag it is only reported */
};
struct grove_blobs_gc_options {
	size_t size;
	unsigned flags;         /* enum grove_blobs_gc_flags */
	/*
	 * The age in ms up to which an unreferenced blob is left alone, because the
	 * line that refers to it is appended only after the put. 0 means an hour;
	 * a negative value means no grace at all, for when no agent is running.
	 */
	int64_t grace;
};
struct grove_blobs_gc_result {
	size_t size;
	uint64_t files, scanned;             /* files searched for references, and their bytes */
	uint64_t referenced, referenced_bytes;
	uint64_t young, young_bytes;
	uint64_t garbage, garbage_bytes;     /* removed, or to be removed */
};
typedef int grove_blob_item_fn(void *payload, const struct grove_blob_item *i);
/*
 * Removes blobs that no session refers to. References are searched for in every
 * file of every store that grove was given or can discover, and in `sessions` next
 * to the blobs; any 64 hex digits count as a reference. If any of these files
 * cannot be read, nothing is removed and the error is returned. `fn` is called for
 * each blob and may be NULL; a non-zero result ends the work and is returned.
 */
GROVE_API int grove_blobs_gc(struct grove_blobs *b, const struct grove_blobs_gc_options *opt,
			     grove_blob_item_fn *fn, void *payload,
			     struct grove_blobs_gc_result *result);

#ifdef __cplusplus
}
#endif
#endif
