/*
 * blob/blob.h: bytes under the name of their hash.
 *
 * A store of blobs is a directory. A blob is a file in it, named by the SHA-256
 * of its bytes in 64 lower-case hex digits; whoever wants it says
 * `blob:sha256:` and those digits. A file gets its name when it is whole, and
 * is never written to again.
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
/* More than this is not handed out as one piece, nor taken. */
#define GROVE__BLOB_MAX ((uint64_t)1 << 30)

/* The directory need not be there until something is put. */
int grove__blobs_open(struct grove__blobs **out, const char *dir, struct grove_detail *d);
void grove__blobs_close(struct grove__blobs *b);
const char *grove__blobs_dir(const struct grove__blobs *b);

/* 64 lower-case hex digits and nothing else? */
bool grove__blob_hash_ok(struct grove_slice hash);
/*
 * The hash in a reference; false if it is not exactly `blob:sha256:` and 64
 * lower-case hex digits. The functions below take what came through here.
 */
bool grove__blob_parse(struct grove_slice ref, char hash[GROVE__BLOB_HASH]);
/* Append the reference to a hash. */
int grove__blob_ref(struct grove_buf *out, const char *hash);
/* Append where a blob is, or would be. */
int grove__blob_path(const struct grove__blobs *b, const char *hash, struct grove_buf *out);

/* The name that these bytes have. GROVE_ENOMEM. */
int grove__blob_hash(const struct grove__blobs *b, struct grove_slice bytes,
		     char hash[GROVE__BLOB_HASH], struct grove_detail *d);

/*
 * Keep bytes; `hash` gets their name. A blob that is there already is compared
 * with them (GROVE_BLOBS_PUT_TRUST: its size alone) and left as it is, *known says
 * so (may be NULL); only the time of one that has not been put for a while is
 * renewed, so that no sweep takes it. A file that has the name but not the
 * bytes is replaced.
 *
 * On return as durable as `sync` asks, also if it was known; with
 * GROVE_BLOBS_PUT_LATER its name only after grove__blobs_sync(). Without
 * GROVE_SYNC_ALWAYS a crash of the machine may leave a damaged file under the
 * name: readers notice, and the next put mends it.
 *
 * GROVE_EDAMAGED if something lies there that is no file; GROVE_EACCESS,
 * GROVE_EFULL, GROVE_EIO, GROVE_ETOOBIG: nothing was put under the name.
 */
int grove__blob_put(struct grove__blobs *b, struct grove_slice bytes, enum grove_sync sync,
		    unsigned flags, char hash[GROVE__BLOB_HASH], bool *known,
		    struct grove_detail *d);
/*
 * Let a blob be found as HASH.EXT as well, for programs that go by the end of a
 * name. That it cannot be done is no failure: nobody of ours looks there. An
 * `ext` that a list would not take for one is passed over. GROVE_ENOMEM.
 */
int grove__blob_alias(struct grove__blobs *b, const char *hash, const char *ext,
		      struct grove_detail *d);
/* Put the names of all blobs put so far on the disk, at the price of one. */
int grove__blobs_sync(struct grove__blobs *b, struct grove_detail *d);

/*
 * Append a blob's bytes. GROVE_ENOTFOUND; GROVE_EDAMAGED if they are not those
 * that the name promises, or not in a file of their own (a link is not
 * followed). After any failure `out` is as it was.
 */
int grove__blob_get(struct grove__blobs *b, const char *hash, struct grove_buf *out,
		    struct grove_detail *d);
/* The same without the bytes, of any size. *size may be NULL. */
int grove__blob_verify(struct grove__blobs *b, const char *hash, uint64_t *size,
		       struct grove_detail *d);
/* 1: a file of that name is there; 0: it is not. */
int grove__blob_has(struct grove__blobs *b, const char *hash, struct grove_detail *d);
/* GROVE_ENOTFOUND if it is not there. */
int grove__blob_remove(struct grove__blobs *b, const char *hash, struct grove_detail *d);

enum grove__blob_kind {
	BLOB_FILE,
	BLOB_ODD,     /* has a blob's name and is no file */
	BLOB_ALIAS,   /* HASH.png: another name that oh-my-pi gives to a blob */
	BLOB_TEMP     /* of a put that is at work, or never ended */
};

struct grove__blob_entry {
	enum grove__blob_kind kind;
	const char *name;             /* in the directory */
	char hash[GROVE__BLOB_HASH];  /* "" for BLOB_TEMP */
	uint64_t size;
	unsigned nlink;
	int64_t mtime_ns;
};

/* A non-zero answer ends the list and is handed back. */
typedef int grove__blob_fn(void *payload, const struct grove__blob_entry *e);
/* In no order. What has no name of ours is not listed; no directory, no blobs. */
int grove__blobs_list(struct grove__blobs *b, grove__blob_fn *fn, void *payload,
		      struct grove_detail *d);

/*
 * Stores without files whose sessions name blobs of this directory: who removes
 * blobs must look into them as well. They are noted in a file in it, a URL
 * (without a password) a line, before the first blob is put for them.
 */
#define GROVE__BLOBS_NOTE ".grove-stores"
/* Note one; nothing to do if it is known. On the disk when this returns. */
int grove__blobs_note(struct grove__blobs *b, const char *url, struct grove_detail *d);
/* Call `fn` for each; a non-zero answer ends it and is handed back. */
int grove__blobs_noted(struct grove__blobs *b, int (*fn)(void *payload, const char *url),
		       void *payload, struct grove_detail *d);

/*
 * Remove the file of that name, as a list gave it, unless it was put, or put
 * again, after `since_ns`. *gone tells. Who puts the blob at the same time keeps
 * it or stores it anew.
 */
int grove__blob_sweep(struct grove__blobs *b, const char *name, int64_t since_ns, bool *gone,
		      struct grove_detail *d);

#endif
