/*
 * digest/catalog.h: a cache of what was found in sessions.
 *
 * It can be deleted at any time, and grove works without it if there can be none. For
 * each purpose it holds some bytes per file, or per log of a database, that only their
 * owner understands.
 */
#ifndef GROVE_DIGEST_CATALOG_H
#define GROVE_DIGEST_CATALOG_H

#include "session/session.h"
#include "sys/state.h"

enum grove__purpose { CATALOG_LIST, CATALOG_USAGE, CATALOG_SHAPE, CATALOG_NR };

struct grove__catalog;

/*
 * How many files will be looked up; SIZE_MAX while that is not known. It may be set
 * while another thread opens the catalog.
 */
typedef _Atomic size_t grove__catalog_need;

/*
 * Opens it for looking up as many files as needed. Returns NULL if there is none; every
 * call below accepts that. One thread at a time, except for find.
 */
struct grove__catalog *grove__catalog_open(struct grove *g, enum grove__purpose purpose,
					   const grove__catalog_need *need);
/*
 * Finds what is known about the file at `path`, whose state is `st`. Returns true and
 * the bytes, which are valid until the catalog is closed (or, if `tmp` is used, until
 * that is released: grove__catalog_lasts() says which).
 */
bool grove__catalog_find(struct grove__catalog *c, const char *path,
			 const struct grove__log_state *st, struct grove__arena *tmp,
			 struct grove_slice *out);
bool grove__catalog_lasts(const struct grove__catalog *c);
/* Finds what was known about it, whatever it is now; `st` becomes its state of that time. */
bool grove__catalog_recall(struct grove__catalog *c, const char *path, struct grove__log_state *st,
			   struct grove__arena *tmp, struct grove_slice *out);
/* Finds what was known about it when it was shorter: the same file by device and inode. */
bool grove__catalog_former(struct grove__catalog *c, const char *path,
			   const struct grove__log_state *st, struct grove__arena *tmp,
			   struct grove_slice *out);
/* Remembers it. It is written when the catalog is closed; a failure is ignored. */
void grove__catalog_put(struct grove__catalog *c, const char *path, const struct grove__log_state *st,
			struct grove_slice bytes);
/*
 * Writes what is new. If `complete`, some files are examined whether they still exist,
 * and their rows deleted if they do not. `texts`, unless NULL, becomes the owner of all
 * lasting bytes that were found.
 */
void grove__catalog_close(struct grove__catalog *c, bool complete, struct grove__arena *texts);

#endif
