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
	size_t off, end;                 /* the rest of the current run, not returned yet */
	uint64_t run_lines;              /* of it that were returned */
	uint64_t at;                     /* position of the last line returned */
	uint64_t lines, bytes;           /* returned, each line with an LF */
	uint32_t crc;                    /* of those */
	bool open;                       /* the last of them has no LF */
	uint64_t len;                    /* of the last line returned */
	bool is_long;                    /* it is over GROVE__LINE_MAX: only this is known */
	bool long_lines;                 /* set by callers that can handle it; else GROVE_ETOOBIG */
};

int grove__lines_init(struct grove__lines *r, struct grove_store_log *log, uint64_t until,
		      struct grove_detail *d);
void grove__lines_release(struct grove__lines *r);
/* From the beginning again. */
void grove__lines_rewind(struct grove__lines *r);
/*
 * Gets the next line without its LF. Returns 0, 1 at the end, or an error. The line is
 * valid as long as grove__lines_more() is true after it, and until the next call.
 * GROVE__JSON_PAD bytes after it are readable. GROVE_ETOOBIG beyond GROVE__LINE_MAX,
 * but see `long_lines`, which works if positions count bytes.
 */
int grove__lines_next(struct grove__lines *r, struct grove_slice *line);
/*
 * Returns 1 if `line`, the last one returned by `r`, begins with that of `part`, 0 if
 * not, or an error. Long ones are compared in pieces.
 */
int grove__lines_begins(const struct grove__lines *r, struct grove_slice line,
			const struct grove__lines *part, struct grove_slice part_line);
/*
 * True if the next line is in the same buffer. Otherwise those returned so far become
 * invalid.
 */
static inline bool grove__lines_more(const struct grove__lines *r)
{
	return r->off != r->end;
}

/* records.c: lines as records, with what the dialect finds in them */

/* What a line is. */
struct grove__record_read {
	enum grove__json_verdict verdict;
	struct grove__json_line json;
	bool whole;                      /* the line is one object, and nothing else */
	enum grove__line_class class;    /* of a value: a header, the slot in front, an entry, … */
	struct grove__entry e;           /* of an entry */
	struct grove__header h;          /* of a header */
	struct grove_store_record rec;   /* as a store has it */
};

/*
 * Reads a line, which is followed by GROVE__JSON_PAD readable bytes. Texts that had to be
 * unescaped go to `texts`. `first`: there was no value before it. GROVE_ENOMEM.
 */
int grove__records_read(const struct grove__dialect *dialect, const struct grove__json_want *want,
			struct grove_slice line, bool first, struct grove__arena *texts,
			struct grove__record_read *out);
/*
 * Copies lines to where they can be scanned: `text`, which the caller releases, as it frees
 * *out, the lines there. GROVE_ENOMEM.
 */
int grove__records_copy(const struct grove_slice *lines, size_t nr, struct grove_buf *text,
			struct grove_slice **out);
/* Returns the agent that wrote such lines, by the first that shows it; NULL if none does. */
const struct grove__dialect *grove__records_dialect(const struct grove_slice *lines, size_t nr);

struct grove__records {
	const struct grove__dialect *dialect;
	struct grove__json_want want;
	struct grove__arena tmp;         /* texts that had to be unescaped */
	bool any;                        /* there was a value before */
};

void grove__records_init(struct grove__records *r, const struct grove__dialect *dialect);
/*
 * Makes the record of a line, which is followed by GROVE__JSON_PAD readable bytes. A
 * line that no reader understands has no other columns. Texts are valid until
 * grove__records_clear(). GROVE_ENOMEM.
 */
int grove__records_fill(struct grove__records *r, struct grove_slice line,
			struct grove_store_record *out);
void grove__records_clear(struct grove__records *r);
void grove__records_release(struct grove__records *r);

#endif
