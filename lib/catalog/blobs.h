/*
 * catalog/blobs.h: which blobs do the sessions of this world name?
 */
#ifndef GROVE_CATALOG_BLOBS_H
#define GROVE_CATALOG_BLOBS_H

#include "blob/blob.h"
#include "session/session.h"

/* Hashes that are looked for, and which of them were found. */
struct grove__blobrefs {
	struct grove__blobref {
		uint8_t hash[32];
		bool named;
	} *at;                    /* sorted once `ready` */
	size_t nr, cap;
	bool ready;
	uint64_t heads[1024];     /* bit n: a hash that begins with these 16 bits */
	uint64_t files, bytes;    /* searched so far */
};

void grove__blobrefs_init(struct grove__blobrefs *r);
void grove__blobrefs_release(struct grove__blobrefs *r);
/* Look for this one too. `hash` is 64 lower-case hex digits. */
int grove__blobrefs_add(struct grove__blobrefs *r, const char *hash);
/* All have been added; from here on they can be found. */
void grove__blobrefs_ready(struct grove__blobrefs *r);
/* Was it named? */
bool grove__blobrefs_named(const struct grove__blobrefs *r, const char *hash);

/*
 * Search bytes. Up to 63 of them at the end may be the head of a hash: begin
 * the next call with those.
 */
#define GROVE__BLOBREFS_CARRY 63
void grove__blobrefs_feed(struct grove__blobrefs *r, const char *ptr, size_t len);

/*
 * Search everything: all stores that were given, all that can be discovered,
 * xcsh's own, and `sessions` beside the directory of the blobs, with all files
 * below them. What is gone when we come to it is passed over; anything else
 * that cannot be read is an error.
 */
int grove__blobrefs_scan(struct grove__blobrefs *r, struct grove *g, const char *blobs_dir,
			 struct grove_detail *d);

/* blobgc.c */
int grove__blob_gc(struct grove *g, struct grove__blobs *b,
		   const struct grove_blob_gc_options *opt, grove_blob_info_fn *fn, void *payload,
		   struct grove_blob_gc_result *result, struct grove_detail *d);

#endif
