/*
 * catalog/catalog.h: what was found in session files, kept as long as they stay
 * as they are.
 *
 * A cache: it can be deleted at any time, and who cannot have it does without.
 * What is kept of a file is some bytes that only their owner understands, one
 * piece a purpose.
 */
#ifndef GROVE_CATALOG_CATALOG_H
#define GROVE_CATALOG_CATALOG_H

#include "session/session.h"
#include "sys/file.h"

enum grove__purpose { CATALOG_LIST, CATALOG_USAGE, CATALOG_SHAPE, CATALOG_NR };

struct grove__catalog;

/*
 * For files that are about to be looked up, `nr` of them (SIZE_MAX: all there are).
 * NULL: there is none, and every call below takes that. Not for two threads at
 * once, but for find.
 */
struct grove__catalog *grove__catalog_open(struct grove *g, enum grove__purpose purpose, size_t nr);
/*
 * What is known of the file at `path`, which is like `st`: true, and the bytes,
 * good until the catalog is closed (or, `tmp` is used, until that is released:
 * grove__catalog_lasts() says which).
 */
bool grove__catalog_find(struct grove__catalog *c, const char *path,
			 const struct grove__sys_stat *st, struct grove__arena *tmp,
			 struct grove_slice *out);
bool grove__catalog_lasts(const struct grove__catalog *c);
/* What was known of it when it was shorter: the same file by device and inode. */
bool grove__catalog_former(struct grove__catalog *c, const char *path,
			   const struct grove__sys_stat *st, struct grove__arena *tmp,
			   struct grove_slice *out);
/* Is a file's ctime so long ago that the next change will have another one? */
bool grove__catalog_settled(int64_t ctime_ns);
/* Remember it. It is written when the catalog is closed; if it cannot be, so be it. */
void grove__catalog_put(struct grove__catalog *c, const char *path, const struct grove__sys_stat *st,
			struct grove_slice bytes);
/*
 * Write what is new. `complete`: whatever was not looked up may be gone; it is
 * forgotten if it is. `texts` (or NULL) becomes the owner of all bytes that were
 * found and last.
 */
void grove__catalog_close(struct grove__catalog *c, bool complete, struct grove__arena *texts);

#endif
