/*
 * image/runs.h: a log, in runs of whole lines. Every reader of a log uses this.
 *
 *	rc = grove__runs_init(&r, RUN_BYTES) ? … : 0;
 *	grove__runs_begin(&r, log, from, until, d);
 *	while (!rc && !(rc = grove__runs_next(&r)))
 *		… r.buf, r.run.len …
 *	grove__runs_release(&r);
 *
 * Stores read into a given buffer: as many whole lines as fit, or a part of a line that
 * is longer. This handles the details for all readers:
 *
 *	the buffer     belongs to the cursor, and is reused for one log after another
 *	growth         a line that does not fit makes it larger, up to `max`; a long one
 *	               is measured first, so that no memory is allocated in vain
 *	pieces         a reader that does not need whole lines sets `pieces`, and gets a
 *	               long line in parts, if positions count bytes (run.open)
 *	the mark       that some editors put at the very start: `mark` bytes are not
 *	               part of the text, but are returned all the same
 *	positions      count bytes or lines (run.by_line); grove__runs_pos() knows both
 *	progress       is reported before each run, and may end the reading
 *
 * lines.h (one line at a time, as stored) and values.c (values that are not lines) are
 * built on it, and so are those that examine a whole run before its lines: the loader,
 * lists, searches, checks.
 */
#ifndef GROVE_IMAGE_RUNS_H
#define GROVE_IMAGE_RUNS_H

#include "json/json.h"
#include "json/scan.h"
#include "store/store.h"

/* What some editors put before the first line. */
#define GROVE__MARK "\xef\xbb\xbf"

/* A longer line is never held in memory as a whole. Tests make this smaller. */
#define GROVE__LINE_MAX grove__line_max
extern uint64_t grove__line_max;

struct grove__runs {
	char *buf;               /* the current run; GROVE__JSON_PAD zero bytes follow it */
	size_t cap;
	uint64_t max;            /* longer lines are GROVE_ETOOBIG; 0: GROVE__LINE_MAX */
	bool pieces;             /* return long lines in pieces */
	const struct grove_progress *progress;   /* NULL: nobody asks */
	const char *path;        /* for error messages; NULL: up to the store */

	struct grove_store_log *log;
	struct grove_detail *d;
	uint64_t begin, pos, until;   /* the next run begins at `pos`; callers may move it */
	struct grove_store_run run;
	size_t mark;             /* 3: the run begins with a byte-order mark */
	uint64_t after_long;     /* the end of the line that was too long, or 0 */
};

/*
 * Initializes a cursor for runs of `cap` bytes. A zeroed one has no buffer yet.
 * GROVE_ENOMEM.
 */
int grove__runs_init(struct grove__runs *r, size_t cap);
void grove__runs_release(struct grove__runs *r);
/*
 * Makes room for runs, or other data, of `cap` bytes; keeps the contents of the buffer.
 * GROVE_ENOMEM.
 */
int grove__runs_room(struct grove__runs *r, size_t cap);
/* Starts reading `log` from `from` up to `until`. Failures are reported in `d`. */
void grove__runs_begin(struct grove__runs *r, struct grove_store_log *log, uint64_t from,
		       uint64_t until, struct grove_detail *d);
/*
 * Gets the next run. Returns 0, or 1 at the end. The last line of a log may lack its
 * LF. With `pieces`, run.open says that it is only part of a line. GROVE_ETOOBIG for a
 * line longer than `max`, GROVE_ECANCELLED, GROVE_ENOMEM, or an error of the store.
 */
int grove__runs_next(struct grove__runs *r);
/* Reports how far `pos` is, as is done before each run. GROVE_ECANCELLED. */
int grove__runs_tell(const struct grove__runs *r);
/*
 * After GROVE_ETOOBIG: continues after that line. Returns false if the error came from
 * the store.
 */
bool grove__runs_skip(struct grove__runs *r);
/* Returns the position of what begins `off` bytes, and `line` lines, into the run. */
static inline uint64_t grove__runs_pos(const struct grove__runs *r, size_t off, uint64_t line)
{
	return r->run.pos + (r->run.by_line ? line : off);
}

/* True if a text begins with the mark. */
static inline bool grove__runs_marked(const char *ptr, size_t len)
{
	return len >= 3 && !memcmp(ptr, GROVE__MARK, 3);
}

/* A line that is longer than the buffer. */
struct grove__runs_long {
	uint64_t len;
	uint32_t crc;
	enum grove__json_verdict verdict;        /* JSON_BLANK, JSON_VALUE or JSON_BAD */
	uint64_t error_off;                      /* JSON_BAD: the first wrong byte */
	bool closed;                             /* it has its LF */
};
/*
 * Feeds the line that begins in the current run, which is open, to `s`, which was
 * reset. Afterwards run.pos is where the line begins, after a mark; the next run begins
 * after the line. GROVE_ENOMEM, or an error of the store.
 */
int grove__runs_stream(struct grove__runs *r, struct grove__json_stream *s,
		       struct grove__runs_long *out);

#endif
