/*
 * transfer/blobs.h: which blobs do the sessions of this world name?
 */
#ifndef GROVE_TRANSFER_BLOBS_H
#define GROVE_TRANSFER_BLOBS_H

#include "blob/blob.h"
#include "session/session.h"

/* Hashes that are looked for, and which of them were found. */
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
/* Look for this one too. `hash` is 64 lower-case hex digits. */
int grove__blob_refs_add(struct grove__blob_refs *r, const char *hash);
/* All have been added; from here on they can be found. */
void grove__blob_refs_ready(struct grove__blob_refs *r);
/* Was it named? */
bool grove__blob_refs_named(const struct grove__blob_refs *r, const char *hash);

/*
 * Search bytes, as they are and with the escapes of JSON decoded (\u0061 is a
 * digit, also where a string lies within a string). Some of them at the end may
 * be the head of a hash: begin the next call with those. GROVE_ENOMEM.
 */
#define GROVE__BLOBREFS_CARRY 1023
int grove__blob_refs_feed(struct grove__blob_refs *r, const char *ptr, size_t len);

/*
 * Search everything: all stores that were given, all that can be discovered,
 * xcsh's own, and `sessions` beside the directory of the blobs, with all files
 * below them; and the stores that are noted beside the blobs. What is gone when we
 * come to it is passed over; anything else that cannot be read is an error. So
 * is what looks like a disk that is not there: a link that leads nowhere, and a
 * directory of sessions, or of a project, with nothing in it.
 */
int grove__blob_refs_scan(struct grove__blob_refs *r, struct grove *g, struct grove__blobs *b,
			 struct grove_detail *d);

/* blob_gc.c */
int grove__blob_gc(struct grove *g, struct grove__blobs *b,
		   const struct grove_blobs_gc_options *opt, grove_blob_item_fn *fn, void *payload,
		   struct grove_blobs_gc_result *result, struct grove_detail *d);

#endif
