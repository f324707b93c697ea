/*
 * image/runs.h: a log, in runs of whole lines. Every reader of a log stands on this.
 *
 *	rc = grove__runs_init(&r, RUN_BYTES) ? … : 0;
 *	grove__runs_begin(&r, log, from, until, d);
 *	while (!rc && !(rc = grove__runs_next(&r)))
 *		… r.buf, r.run.len …
 *	grove__runs_release(&r);
 *
 * Stores read into a buffer that is given to them: as many whole lines as fit, or
 * a part of a line that is longer. Here is what a reader would have to do about it:
 *
 *	the buffer     belongs to the cursor, and is used for one log after another
 *	growth         a line that does not fit makes it larger, up to `max`; a long one
 *	               is measured first, so that no memory is taken in vain
 *	pieces         a reader that can do without whole lines sets `pieces`, and gets a
 *	               long line as it comes, if positions count bytes (run.open)
 *	the mark       of bytes that some editors leave at the very start: `mark` of them
 *	               are not part of the text, and are handed out all the same
 *	positions      count bytes or lines (run.by_line); grove__runs_pos() knows both
 *	progress       is told before each run, and may end the reading
 *
 * On top of it are lines.h (one line at a time, as it is stored), values.c (values
 * that are not lines), and those who look at a whole run before they look at its
 * lines: the loader, lists, searches, checks.
 */
#ifndef GROVE_IMAGE_RUNS_H
#define GROVE_IMAGE_RUNS_H

#include "json/json.h"
#include "json/scan.h"
#include "store/store.h"

/* What some editors put before the first line. */
#define GROVE__MARK "\xef\xbb\xbf"

/* A line longer than this is never held in memory as a whole. Tests make it shorter. */
#define GROVE__LINE_MAX grove__line_max
extern uint64_t grove__line_max;

struct grove__runs {
	char *buf;               /* the run at hand; GROVE__JSON_PAD bytes after it are readable, and 0 */
	size_t cap;
	uint64_t max;            /* longer lines are GROVE_ETOOBIG; 0: GROVE__LINE_MAX */
	bool pieces;             /* long lines are handed out piece by piece */
	const struct grove_progress *progress;   /* NULL: nobody asks */
	const char *path;        /* for what is told of failures; NULL: the store's business */

	struct grove_store_log *log;
	struct grove_detail *d;
	uint64_t begin, pos, until;   /* the next run begins at `pos`; callers may move it */
	struct grove_store_run run;
	size_t mark;             /* 3: the run begins with a byte-order mark */
	uint64_t after_long;     /* where the line ends that was too long, or 0 */
};

/* A cursor with room for runs of `cap` bytes. One of zeros has none yet. GROVE_ENOMEM. */
int grove__runs_init(struct grove__runs *r, size_t cap);
void grove__runs_release(struct grove__runs *r);
/* Have room for runs, or something else, of `cap` bytes. What is in the buffer stays. GROVE_ENOMEM. */
int grove__runs_room(struct grove__runs *r, size_t cap);
/* Read `log` from `from` up to `until`. Failures go to `d`. */
void grove__runs_begin(struct grove__runs *r, struct grove_store_log *log, uint64_t from,
		       uint64_t until, struct grove_detail *d);
/*
 * The next run: 0, or 1 at the end. The last line of a log may lack its LF. With
 * `pieces` run.open says that it is part of a line only. GROVE_ETOOBIG for a line
 * longer than `max`, GROVE_ECANCELLED, GROVE_ENOMEM, or what the store says.
 */
int grove__runs_next(struct grove__runs *r);
/* Tell how far `pos` is, as is done before each run. GROVE_ECANCELLED. */
int grove__runs_tell(const struct grove__runs *r);
/* After GROVE_ETOOBIG: go on after that line. False if it was the store that said so. */
bool grove__runs_skip(struct grove__runs *r);
/* The position of what begins `off` bytes, and `line` lines, into the run. */
static inline uint64_t grove__runs_pos(const struct grove__runs *r, size_t off, uint64_t line)
{
	return r->run.pos + (r->run.by_line ? line : off);
}

/* Does a text begin with the mark? */
static inline bool grove__runs_marked(const char *ptr, size_t len)
{
	return len >= 3 && !memcmp(ptr, GROVE__MARK, 3);
}

/* A line that is longer than the buffer. */
struct grove__runs_long {
	uint64_t len;
	uint32_t crc;
	enum grove__json_verdict verdict;        /* JSON_BLANK, JSON_VALUE or JSON_BAD */
	uint64_t error_off;                      /* JSON_BAD: where it went wrong */
	bool closed;                             /* it has its LF */
};
/*
 * Feed the line that begins in the run at hand, which is open, to `s`, which was
 * reset. Then run.pos is where the line begins, after a mark; the next run begins
 * after the line. GROVE_ENOMEM, or what the store says.
 */
int grove__runs_stream(struct grove__runs *r, struct grove__json_stream *s,
		       struct grove__runs_long *out);

#endif
