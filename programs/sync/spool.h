/*
 * spool.h: the lines of an answer, set aside until all of it has arrived.
 *
 * A server that announces something else than it sends, or stops in the middle, has then
 * changed nothing. Up to a megabyte is in memory, more in a file without a name below
 * $TMPDIR or /var/tmp.
 */
#ifndef SYNC_SPOOL_H
#define SYNC_SPOOL_H

#include <grove.h>

#include <stdio.h>

struct spool {
	struct grove_buf text;       /* lines with their LF; or, of a file, the line read last */
	FILE *file;                  /* NULL: all is in `text` */
	size_t at;                   /* what is read next, in `text` */
	uint64_t lines, most;        /* complete ones; how many there may be */
	size_t part;                 /* bytes after the last LF */
};

enum { SPOOL_TOO_MANY = 1 };

/*
 * Adds a piece. Returns 0; SPOOL_TOO_MANY for anything after `most` lines; GROVE_ETOOBIG for
 * a line beyond `longest` bytes; GROVE_EFULL, GROVE_EIO, GROVE_ENOMEM.
 */
int spool_add(struct spool *s, const char *ptr, size_t len, size_t longest);
/* Begins to read, once or again. GROVE_EFULL, GROVE_EIO if not all of it could be set aside. */
int spool_rewind(struct spool *s);
/* Gets a line without its LF, valid until the next call. Returns 1 after the last one. */
int spool_next(struct spool *s, struct grove_slice *line);
void spool_release(struct spool *s);

#endif
