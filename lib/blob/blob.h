/*
 * blob/blob.h: data stored under its hash.
 *
 * A store of blobs is a directory. A blob is a file in it, named by the SHA-256 of its
 * bytes in 64 lower-case hex digits; a reference is `blob:sha256:` and those digits. A
 * file gets its name when it is complete, and is never written to again.
 *
 * A store may be used by many threads at once.
 */
#ifndef GROVE_BLOB_BLOB_H
#define GROVE_BLOB_BLOB_H

#include "base/buf.h"
#include "base/fail.h"
#include "grove/blobs.h"

struct grove__blobs;

/* Digits of a hash and its NUL. */
#define GROVE__BLOB_HASH 65
/* Larger blobs are neither returned as one piece nor accepted. */
#define GROVE__BLOB_MAX ((uint64_t)1 << 30)

/* The directory need not exist until something is put. */
int grove__blobs_open(struct grove__blobs **out, const char *dir, struct grove_detail *d);
void grove__blobs_close(struct grove__blobs *b);
const char *grove__blobs_dir(const struct grove__blobs *b);

/* True for 64 lower-case hex digits and nothing else. */
bool grove__blob_hash_ok(struct grove_slice hash);
/*
 * Gets the hash from a reference; false if it is not exactly `blob:sha256:` and 64
 * lower-case hex digits. The functions below take only hashes from here.
 */
bool grove__blob_parse(struct grove_slice ref, char hash[GROVE__BLOB_HASH]);
/* Appends the reference to a hash. */
int grove__blob_ref(struct grove_buf *out, const char *hash);
/* Appends the path of a blob, existing or not. */
int grove__blob_path(const struct grove__blobs *b, const char *hash, struct grove_buf *out);

/* Computes the name of these bytes. GROVE_ENOMEM. */
int grove__blob_hash(const struct grove__blobs *b, struct grove_slice bytes,
		     char hash[GROVE__BLOB_HASH], struct grove_detail *d);

/*
 * Stores bytes; `hash` gets their name. An existing blob is compared with them (with
 * GROVE_BLOBS_PUT_TRUST, only its size) and left as it is, and *known (may be NULL) is
 * set; only the time of one that has not been put for a while is renewed, so that no
 * sweep removes it. A file with the name but other bytes is replaced.
 *
 * On return it is as durable as `sync` asks, even if it existed; with
 * GROVE_BLOBS_PUT_LATER its name only after grove__blobs_sync(). Without
 * GROVE_SYNC_ALWAYS, a crash of the machine may leave a damaged file under the name:
 * readers notice, and the next put repairs it.
 *
 * GROVE_EDAMAGED if the name is taken by something that is not a file; GROVE_EACCESS,
 * GROVE_EFULL, GROVE_EIO, GROVE_ETOOBIG: nothing was put under the name.
 */
int grove__blob_put(struct grove__blobs *b, struct grove_slice bytes, enum grove_sync sync,
		    unsigned flags, char hash[GROVE__BLOB_HASH], bool *known,
		    struct grove_detail *d);
/*
 * Makes a blob available as HASH.EXT as well, for programs that go by the suffix. If
 * that is impossible, it is not a failure, since we do not use it. An `ext` that a list
 * would not recognize is ignored. GROVE_ENOMEM.
 */
int grove__blob_alias(struct grove__blobs *b, const char *hash, const char *ext,
		      struct grove_detail *d);
/* Makes the names of all blobs put so far durable, with one sync. */
int grove__blobs_sync(struct grove__blobs *b, struct grove_detail *d);

/*
 * Appends a blob's bytes. GROVE_ENOTFOUND; GROVE_EDAMAGED if they do not match the
 * name, or are not in a file of their own (a link is not followed). After any failure
 * `out` is unchanged.
 */
int grove__blob_get(struct grove__blobs *b, const char *hash, struct grove_buf *out,
		    struct grove_detail *d);
/* The same without the bytes, of any size. *size may be NULL. */
int grove__blob_verify(struct grove__blobs *b, const char *hash, uint64_t *size,
		       struct grove_detail *d);
/* Returns 1 if there is a file of that name, 0 if not. */
int grove__blob_has(struct grove__blobs *b, const char *hash, struct grove_detail *d);

enum grove__blob_kind {
	BLOB_FILE,
	BLOB_ODD,     /* has a blob's name but is not a file */
	BLOB_ALIAS,   /* HASH.png: a second name that oh-my-pi gives to a blob */
	BLOB_TEMP     /* of a put in progress, or an interrupted one */
};

struct grove__blob_entry {
	enum grove__blob_kind kind;
	const char *name;             /* in the directory */
	char hash[GROVE__BLOB_HASH];  /* "" for BLOB_TEMP */
	uint64_t size;
	unsigned nlink;
	int64_t mtime_ns;
};

/* A non-zero result ends the list and is returned. */
typedef int grove__blob_fn(void *payload, const struct grove__blob_entry *e);
/*
 * In no order. Files without a name of ours are not listed; without a directory there
 * are no blobs.
 */
int grove__blobs_list(struct grove__blobs *b, grove__blob_fn *fn, void *payload,
		      struct grove_detail *d);

/*
 * Stores without files whose sessions refer to blobs of this directory: before blobs
 * are removed, they must be searched as well. They are recorded in this file in it, one
 * URL (without a password) per line, before the first blob is put for them.
 */
#define GROVE__BLOBS_NOTE ".grove-stores"
/* Records one, unless it is known. Durable on return. */
int grove__blobs_note(struct grove__blobs *b, const char *url, struct grove_detail *d);
/* Calls `fn` for each; a non-zero result ends this and is returned. */
int grove__blobs_noted(struct grove__blobs *b, int (*fn)(void *payload, const char *url),
		       void *payload, struct grove_detail *d);

/*
 * Removes the file of that name, as a list gave it, unless it was put, or put again,
 * after `since_ns`. *gone says whether. A put of the blob at the same time keeps it or
 * stores it again.
 */
int grove__blob_sweep(struct grove__blobs *b, const char *name, int64_t since_ns, bool *gone,
		      struct grove_detail *d);

#endif
