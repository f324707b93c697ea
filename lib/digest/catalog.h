/*
 * digest/catalog.h: a cache of what was found in logs.
 *
 * It can be deleted at any time, and grove works without it if there can be none. Of each
 * log it holds up to three chapters: some bytes that only their writer understands, and
 * the state of the log that they are about.
 */
#ifndef GROVE_DIGEST_CATALOG_H
#define GROVE_DIGEST_CATALOG_H

#include "world/world.h"
#include "sys/state.h"

enum grove__chapter {
	CHAPTER_LIST,    /* what a list shows (digest.h) */
	CHAPTER_REPLIES, /* what was billed (billed.h) */
	CHAPTER_SHAPE,   /* what only the tree shows (shape.h) */
	CHAPTERS
};

struct grove__catalog;

/*
 * How many files will be looked up; SIZE_MAX while that is not known. It may be set
 * while another thread opens the catalog.
 */
typedef _Atomic size_t grove__catalog_need;

/*
 * Opens it. Of these chapters (bits), as many logs as needed will be looked up; of the
 * others, only some. Returns NULL if there is none; every call below accepts that. One
 * thread at a time, except for find and recall.
 */
struct grove__catalog *grove__catalog_open(struct grove *g, unsigned chapters,
					   const grove__catalog_need *need);
/*
 * Finds a chapter about the log at `path`, whose state is `st`. Returns true and the
 * bytes, which are valid until the catalog is closed (or, if `tmp` is used, until that is
 * released: grove__catalog_lasts() says which).
 */
bool grove__catalog_find(struct grove__catalog *c, enum grove__chapter chapter, const char *path,
			 const struct grove__log_state *st, struct grove__arena *tmp,
			 struct grove_slice *out);
bool grove__catalog_lasts(const struct grove__catalog *c, enum grove__chapter chapter);
/* Finds what was known about it, whatever it is now; `st` becomes its state of that time. */
bool grove__catalog_recall(struct grove__catalog *c, enum grove__chapter chapter, const char *path,
			   struct grove__log_state *st, struct grove__arena *tmp, struct grove_slice *out);
/* Remembers it. It is written when the catalog is closed; a failure is ignored. */
void grove__catalog_put(struct grove__catalog *c, enum grove__chapter chapter, const char *path,
			const struct grove__log_state *st, struct grove_slice bytes);
/*
 * Writes what is new. If `complete`, some files are examined whether they still exist,
 * and their rows deleted if they do not. `texts`, unless NULL, becomes the owner of all
 * lasting bytes that were found.
 */
void grove__catalog_close(struct grove__catalog *c, bool complete, struct grove__arena *texts);

#endif
