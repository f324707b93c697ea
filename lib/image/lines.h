/*
 * image/lines.h: a log, line by line, as it is stored.
 *
 *	rc = grove__lines_init(&r, log, until, d);
 *	while (!rc && !(rc = grove__lines_next(&r, &line)))
 *		…
 *	grove__lines_release(&r);
 */
#ifndef GROVE_IMAGE_LINES_H
#define GROVE_IMAGE_LINES_H

#include "image/image.h"

struct grove__lines {
	struct grove__runs runs;
	size_t off, end;                 /* what of the run at hand has not been given out yet */
	uint64_t run_lines;              /* of it were given out */
	uint64_t at;                     /* position of the line given out last */
	uint64_t lines, bytes;           /* given out, each line with an LF */
	uint32_t crc;                    /* of those */
	bool open;                       /* the last of them has no LF */
	uint64_t len;                    /* of the line given out last */
	bool is_long;                    /* it is over GROVE__LINE_MAX: there is no more of it than this */
	bool long_lines;                 /* set by who can do with that; else they are GROVE_ETOOBIG */
};

int grove__lines_init(struct grove__lines *r, struct grove_store_log *log, uint64_t until,
		      struct grove_detail *d);
void grove__lines_release(struct grove__lines *r);
/* From the beginning again. */
void grove__lines_rewind(struct grove__lines *r);
/*
 * The next line without its LF: 0, 1 at the end, or an error. It is good as long
 * as grove__lines_more() is true after it, and until the next call.
 * GROVE__JSON_PAD bytes after it are readable. GROVE_ETOOBIG beyond GROVE__LINE_MAX, but
 * see `long_lines`, which is good where positions count bytes.
 */
int grove__lines_next(struct grove__lines *r, struct grove_slice *line);
/*
 * Does the line given out last by `r`, which is `line`, begin with the one of
 * `part`? 1 or 0, or an error. Long ones are compared piece by piece.
 */
int grove__lines_begins(const struct grove__lines *r, struct grove_slice line,
			const struct grove__lines *part, struct grove_slice part_line);
/* Is the next line in the same buffer? Else those given out so far are about to go. */
static inline bool grove__lines_more(const struct grove__lines *r)
{
	return r->off != r->end;
}

/* records.c: lines as records, with what the dialect finds in them */

struct grove__records {
	const struct grove__dialect *dialect;
	struct grove__json_want want;
	struct grove__arena tmp;         /* texts that had to be unescaped */
	bool any;                        /* there was a value before */
};

void grove__records_init(struct grove__records *r, const struct grove__dialect *dialect);
/*
 * The record of a line, which has GROVE__JSON_PAD readable bytes behind it. What
 * no reader understands is a record of nothing but its line. Texts live until
 * grove__records_clear(). GROVE_ENOMEM.
 */
int grove__records_fill(struct grove__records *r, struct grove_slice line,
			struct grove_store_record *out);
void grove__records_clear(struct grove__records *r);
void grove__records_release(struct grove__records *r);

#endif
