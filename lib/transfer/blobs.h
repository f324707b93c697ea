/* transfer/blobs.h: finds the blobs that sessions refer to. */
#ifndef GROVE_TRANSFER_BLOBS_H
#define GROVE_TRANSFER_BLOBS_H

#include "blob/blob.h"
#include "session/session.h"

/* The hashes that are searched for, and which of them were found. */
struct grove__blob_refs {
	struct grove__blobref {
		uint8_t hash[32];
		bool named;
	} *at;                    /* sorted once `ready` */
	size_t nr, cap;
	bool ready;
	uint64_t heads[1024];     /* bit n: a hash that begins with these 16 bits */
	uint64_t files, bytes;    /* searched so far */
	uint64_t sessions;        /* logs among them */
	struct grove_buf plain;   /* bytes without their escapes */
};

void grove__blob_refs_init(struct grove__blob_refs *r);
void grove__blob_refs_release(struct grove__blob_refs *r);
/* Adds a hash to search for. `hash` is 64 lower-case hex digits. */
int grove__blob_refs_add(struct grove__blob_refs *r, const char *hash);
/* Called after all have been added; from now on they can be found. */
void grove__blob_refs_ready(struct grove__blob_refs *r);
/* Returns true if it was referred to. */
bool grove__blob_refs_named(const struct grove__blob_refs *r, const char *hash);

/*
 * Searches bytes, as they are and with the escapes of JSON decoded (\u0061 is a digit,
 * also in a string within a string). Up to this many at the end may be the beginning of
 * a hash: begin the next call with those. GROVE_ENOMEM.
 */
#define GROVE__BLOBREFS_CARRY 1023
int grove__blob_refs_feed(struct grove__blob_refs *r, const char *ptr, size_t len);

/*
 * Searches everything: all stores that were given, all that can be discovered, xcsh's
 * own, and `sessions` next to the directory of the blobs, with all files below them;
 * and the stores that are recorded next to the blobs. Files that disappear meanwhile
 * are skipped; anything else that cannot be read is an error. So is what looks like a
 * disk that is not mounted: a dangling link, and an empty directory of sessions or of a
 * project.
 */
int grove__blob_refs_scan(struct grove__blob_refs *r, struct grove *g, struct grove__blobs *b,
			 struct grove_detail *d);

/* blob_gc.c */
int grove__blob_gc(struct grove *g, struct grove__blobs *b,
		   const struct grove_blobs_gc_options *opt, grove_blob_item_fn *fn, void *payload,
		   struct grove_blobs_gc_result *result, struct grove_detail *d);

#endif
