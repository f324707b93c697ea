/*
 * digest/digest.h: one session as a list needs it, and as bytes for the catalog.
 */
#ifndef GROVE_DIGEST_DIGEST_H
#define GROVE_DIGEST_DIGEST_H

#include "world/world.h"

struct grove__digest {
	const struct grove__dialect *dialect;
	/*
	 * The dialect that the location suggests for sessions that do not show theirs;
	 * NULL: not asked.
	 */
	const char *around;
	int rc;                      /* 1: not for a list; negative: it could not be read */
	const char *id, *cwd, *name, *parent, *why;  /* NULL: none */
	const char *first;           /* NULL: none */
	size_t first_len;
	int64_t created, modified;
	uint64_t messages;
	uint64_t bytes;              /* of the log, and its time: no survey tells these */
	int64_t mtime_ns;
	/* Other files that it depends on, one per line (grove__digest_note()). NULL: none. */
	const char *asked;
	/*
	 * How far it was read, if a later reading can continue there after appends, and
	 * the totals up to there; 0: it cannot.
	 */
	uint64_t mark;
	uint32_t mark_crc;
	uint64_t lines;              /* up to there */
	unsigned version;            /* the header's */
	bool has_slot, has_time;     /* there is a slot; the header's time is a string */
	int64_t newest;
	const char *slot, *title, *said;   /* names from slot, header, entries */
};

int grove__digest_pack(const struct grove__digest *l, struct grove_buf *out);
/* Texts point into `bytes`. Returns false if the bytes are invalid. */
bool grove__digest_unpack(struct grove_slice bytes, struct grove__digest *l);

/*
 * Adds a line for `name` (as a listing asks for it) next to the session file `path`:
 * the state of that file, if it is *there. Clears *settled if it may change without
 * that being noticed. GROVE_ENOMEM.
 */
int grove__digest_note(struct grove_buf *asked, const char *path, const char *name, bool *there,
		       bool *settled);
/* True if all files that were consulted are unchanged. */
bool grove__digest_holds(const char *asked, const char *path);

#endif
