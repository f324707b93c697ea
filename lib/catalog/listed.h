/*
 * catalog/listed.h: one session as a list needs it, and as bytes for the catalog.
 */
#ifndef GROVE_CATALOG_LISTED_H
#define GROVE_CATALOG_LISTED_H

#include "session/session.h"

struct grove__listed {
	const struct grove__dialect *dialect;
	/* What the place says of sessions that do not tell their dialect; NULL: nobody asked it. */
	const char *around;
	int rc;                      /* 1: it is not one for a list; negative: it could not be read */
	const char *id, *cwd, *name, *parent, *why;  /* NULL: none */
	const char *first;           /* NULL: none */
	size_t first_len;
	int64_t created, modified;
	uint64_t messages;
	/* Files that it depends on besides its own, a line each (grove__listed_note()). NULL: none. */
	const char *asked;
	/*
	 * How far reading came, if it can go on from there when lines were
	 * appended, and what it knew besides; 0: it cannot.
	 */
	uint64_t mark;
	uint32_t mark_crc;
	bool has_slot, has_time;     /* there is a slot; the header's time is a text */
	int64_t newest;
	const char *slot, *title, *said;   /* names by slot, header, entries */
};

int grove__listed_pack(const struct grove__listed *l, struct grove_buf *out);
/* Texts point into `bytes`. False: these are not such bytes. */
bool grove__listed_unpack(struct grove_slice bytes, struct grove__listed *l);

/*
 * Add a line for `name` (as a listing asks for it) beside the session file
 * `path`: what that file is like, if it is *there. False in *settled if it may
 * change without becoming another. GROVE_ENOMEM.
 */
int grove__listed_note(struct grove_buf *asked, const char *path, const char *name, bool *there,
		       bool *settled);
/* Is all that was asked for as it was? */
bool grove__listed_holds(const char *asked, const char *path);

#endif
