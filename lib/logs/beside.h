/*
 * logs/beside.h: the files that belong to a session.
 */
#ifndef GROVE_LOGS_BESIDE_H
#define GROVE_LOGS_BESIDE_H

#include "world/world.h"

/*
 * Records that this store uses these blobs, if it must be: files are found in the agents'
 * directories, and what is in memory ends; another store only by its recorded URL.
 */
int grove__beside_note_blobs(struct grove__blobs *b, const struct grove_store *st, struct grove_detail *d);

/*
 * If `log` is set, it is a log under the session's key with `name` as its subpath,
 * otherwise an attachment. A non-zero result ends the list and is returned.
 */
typedef int grove__beside_fn(void *payload, const char *name, uint64_t size, bool log);
/*
 * Lists everything but the session's own log; nothing for a session that has nothing
 * else, or is gone. The names are collected first, so `fn` may change the store.
 */
int grove__beside_list(struct grove_store *st, const struct grove_key *key, grove__beside_fn *fn,
		       void *payload, struct grove_detail *d);

/* Copies all attachments of one log to another. */
int grove__beside_copy(struct grove_store *from, const struct grove_key *from_key,
			    struct grove_store *to, const struct grove_key *to_key,
			    struct grove_detail *d);

#endif
