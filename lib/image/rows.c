/*
 * image/rows.c: walks over many lines, reading neighbours at once.
 *
 * For a long walk, a second thread reads and checks the next windows, while the first
 * works on the lines of the current one.
 *
 *	reader    window 1 | window 2 | window 3 …
 *	walker               lines of 1 | lines of 2 …
 */
#include "image/image.h"

#include "base/crc32c.h"
#include "sys/pool.h"

#include <stdlib.h>

#define WINDOW ((uint64_t)1 << 20)
#define GAP_LINES ((uint64_t)32)
#define GAP ((uint64_t)32768)       /* reading over a gap is cheaper than reading twice, and waiting for it */
#define AHEAD ((size_t)2)           /* windows that may be ready */
#define AHEAD_FROM ((size_t)2048)   /* number of lines from which a reader pays */

/* Lines that were read at once: those of list[first … first + count - 1]. */
struct grove__rows_window {
	struct grove__runs in;
	size_t len;                 /* of what is in its buffer */
	uint64_t pos;
	size_t first, count;
	/* if positions count lines: the last one visited, and where it begins */
	uint64_t line;
	size_t off;
	size_t checked;             /* number of them found unchanged */
	int rc;                     /* of reading them, and its detail */
	struct grove_detail d;
};

struct grove__ahead {
	struct grove__pool reader;
	pthread_mutex_t lock;
	pthread_cond_t moved;
	struct grove__rows_window window[AHEAD];
	size_t filled, taken;       /* windows so far; the current one is taken - 1 */
	bool stop;
};

void grove__rows_init(struct grove__rows *r, const struct grove__image *im,
		      struct grove_store_log *log, const uint32_t *list, size_t nr)
{
	memset(r, 0, sizeof(*r));
	r->im = im;
	r->log = log;
	r->list = list;
	r->nr = nr;
}

static uint32_t row_at(const struct grove__rows *r, size_t i)
{
	return r->list ? r->list[i] : (uint32_t)i;
}

/* Finds where the row begins in a window; rows are requested in list order. */
static size_t offset_in(const struct grove__rows *r, struct grove__rows_window *w, uint32_t row)
{
	uint64_t pos = grove__spine_pos(r->im->spine, row);

	if (!r->im->by_line)
		return (size_t)(pos - w->pos);
	if (pos < w->line) {
		w->line = w->pos;
		w->off = 0;
	}
	for (; w->line < pos; w->line++) {
		const char *lf = memchr(w->in.buf + w->off, '\n', w->len - w->off);

		w->off = lf ? (size_t)(lf - w->in.buf) + 1 : w->len;
	}
	return w->off;
}

static bool same_bytes(const struct grove__rows *r, struct grove__rows_window *w, uint32_t row)
{
	const struct grove__spine *s = r->im->spine;
	size_t off = offset_in(r, w, row), len = (size_t)grove__spine_len(s, row);

	return off + len <= w->len &&
	       grove__crc32c(0, w->in.buf + off, len) == grove__spine_crc(s, row);
}

/* Makes room for `len` bytes and one more. */
static int window_room(struct grove__rows_window *w, uint64_t len)
{
	return grove__runs_room(&w->in, (size_t)len + 1) ? grove__fail_nomem(&w->d) : 0;
}

/* Fetches the bytes from `pos` on. */
static int fetch_window(const struct grove__rows *r, struct grove__rows_window *w, uint64_t len)
{
	uint64_t pos = w->pos;
	struct grove_store_log *log = grove__base_log(r->im, r->log, &pos);
	int rc = window_room(w, len);

	if (!rc)
		rc = grove__log_fetch(log, pos, 0, w->in.buf, (size_t)len, &w->d);
	w->len = rc ? 0 : (size_t)len;
	return rc;
}

/* The bytes of the lines between two rows, if they are few and short enough to be read over; else more than GAP. */
static uint64_t gap_bytes(const struct grove__rows *r, uint32_t from, uint32_t to, uint64_t lines)
{
	uint64_t bytes = 0;

	if (lines > GAP_LINES)
		return GAP + 1;
	for (uint32_t row = from + 1; row < to && bytes <= GAP; row++)
		bytes += grove__spine_len(r->im->spine, row) + 1;
	return bytes;
}

/* The same if positions count lines. */
static void read_lines(const struct grove__rows *r, size_t first, struct grove__rows_window *w)
{
	const struct grove__spine *s = r->im->spine;
	uint64_t pos = w->pos, end = pos + 1;
	uint64_t bytes = grove__spine_len(s, row_at(r, first)) + 1, there = pos;
	struct grove_store_log *log = grove__base_log(r->im, r->log, &there);
	size_t i;

	for (i = first + 1; i < r->nr; i++) {
		uint64_t p = grove__spine_pos(s, row_at(r, i)), n = grove__spine_len(s, row_at(r, i)) + 1, gap;

		if (p < end)
			break;
		gap = gap_bytes(r, row_at(r, i - 1), row_at(r, i), p - end);
		if (gap > GAP || bytes + gap + n > WINDOW)
			break;
		end = p + 1;
		bytes += gap + n;
	}
	w->line = pos;
	w->off = 0;
	w->count = 1;
	/* one without neighbours is cheaper to read by itself */
	if (i == first + 1) {
		w->rc = fetch_window(r, w, bytes - 1);
		return;
	}
	w->rc = window_room(w, bytes);
	if (w->rc)
		return;
	/* the numbers of a base's lines are in the lower bits */
	grove__runs_begin(&w->in, log, there, end - pos + there, &w->d);
	w->rc = grove__runs_next(&w->in);
	if (w->rc == 1)
		w->rc = grove__fail(&w->d, GROVE_ESTALE, NULL, "became shorter while it was being read");
	if (w->rc)
		return;
	w->len = w->in.run.len;
	/* as many as were read: lines between them take space, too */
	while (w->count < i - first && grove__spine_pos(s, row_at(r, first + w->count)) - pos < w->in.run.next - there)
		w->count++;
}

/* Reads the line of list[first], and the lines right after it. */
static void read_window(const struct grove__rows *r, size_t first, struct grove__rows_window *w)
{
	const struct grove__spine *s = r->im->spine;
	uint32_t row = row_at(r, first);
	uint64_t pos = grove__spine_pos(s, row), end = pos + grove__spine_len(s, row);
	size_t i;

	w->pos = pos;
	w->first = first;
	w->checked = 0;
	w->rc = 0;
	w->len = 0;
	if (r->im->by_line && end - pos <= GROVE__LINE_MAX) {
		read_lines(r, first, w);
		goto check;
	}
	for (i = first + 1; i < r->nr; i++) {
		uint64_t p = grove__spine_pos(s, row_at(r, i)), n = grove__spine_len(s, row_at(r, i));

		if (r->im->by_line || p < end || p - end > GAP || p + n - pos > WINDOW)
			break;
		end = p + n;
	}
	w->count = i - first;
	if (end - pos > GROVE__LINE_MAX) {
		w->rc = grove__fail_at(&w->d, GROVE_ETOOBIG, NULL, (uint64_t)grove__spine_line(s, row) + 1,
				       pos, "a line of %llu bytes is too long to be held in memory",
				       (unsigned long long)(end - pos));
		return;
	}
	w->rc = fetch_window(r, w, end - pos);
check:
	while (!w->rc && w->checked < w->count && same_bytes(r, w, row_at(r, first + w->checked)))
		w->checked++;
}

/* --- the reader --- */

static void read_ahead(void *payload, unsigned thread)
{
	const struct grove__rows *r = payload;
	struct grove__ahead *a = r->ahead;
	struct grove__rows_window *w;
	size_t next = r->ahead_from;
	bool go;

	(void)thread;
	while (next < r->nr) {
		pthread_mutex_lock(&a->lock);
		/* the current window must not be filled */
		while (!a->stop && a->filled - a->taken + (a->taken > 0) >= AHEAD)
			pthread_cond_wait(&a->moved, &a->lock);
		go = !a->stop;
		w = &a->window[a->filled % AHEAD];
		pthread_mutex_unlock(&a->lock);
		if (!go)
			break;
		read_window(r, next, w);
		next = w->rc || w->checked < w->count ? r->nr : w->first + w->count;
		pthread_mutex_lock(&a->lock);
		a->filled++;
		pthread_cond_broadcast(&a->moved);
		pthread_mutex_unlock(&a->lock);
	}
}

static void stop_ahead(struct grove__ahead *a)
{
	pthread_mutex_lock(&a->lock);
	a->stop = true;
	pthread_cond_broadcast(&a->moved);
	pthread_mutex_unlock(&a->lock);
	grove__pool_end(&a->reader);
	pthread_mutex_destroy(&a->lock);
	pthread_cond_destroy(&a->moved);
	for (size_t i = 0; i < AHEAD; i++)
		grove__runs_release(&a->window[i].in);
	free(a);
}

/* Starts with the next window; without a thread the walk continues alone. */
static void start_ahead(struct grove__rows *r)
{
	struct grove__ahead *a;

	r->alone = true;
	if (r->nr - r->i < AHEAD_FROM)
		return;
	a = calloc(1, sizeof(*a));
	if (!a)
		return;
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->moved, NULL);
	r->ahead = a;
	r->ahead_from = r->i;
	grove__pool_begin_one(&a->reader, read_ahead, r);
	if (!a->reader.nr) {
		stop_ahead(a);
		r->ahead = NULL;
	}
}

void grove__rows_release(struct grove__rows *r)
{
	if (r->ahead)
		stop_ahead(r->ahead);
	if (r->own) {
		grove__runs_release(&r->own->in);
		free(r->own);
	}
	grove__buf_release(&r->window);
	grove__buf_release(&r->joined);
	grove__buf_release(&r->changed);
}

/* Returns the window with list[i], which comes after all that were requested. */
static struct grove__rows_window *next_window(struct grove__rows *r)
{
	struct grove__ahead *a;
	struct grove__rows_window *w;

	if (r->own && !r->ahead && !r->alone)
		start_ahead(r);
	a = r->ahead;
	if (!a) {
		if (!r->own)
			r->own = calloc(1, sizeof(*r->own));
		if (r->own)
			read_window(r, r->i, r->own);
		return r->own;
	}
	pthread_mutex_lock(&a->lock);
	a->taken++;
	pthread_cond_broadcast(&a->moved);
	while (a->filled < a->taken)
		pthread_cond_wait(&a->moved, &a->lock);
	w = &a->window[(a->taken - 1) % AHEAD];
	pthread_mutex_unlock(&a->lock);
	return w;
}

/* If values span lines that are counted, each row is fetched separately. */
static int fetch_row(struct grove__rows *r, uint32_t row, struct grove_slice *line,
		     struct grove_detail *d)
{
	struct grove__spot at = grove__image_spot(r->im, row);
	int rc = grove__line_fetch(r->log, &at, &r->window, d);

	*line = grove__buf_slice(&r->window);
	return rc;
}

/* Gets the row's bytes as stored; its neighbours were read with it. */
static int look_row(struct grove__rows *r, uint32_t row, struct grove_slice *line,
		    struct grove_detail *d)
{
	const struct grove__spine *s = r->im->spine;
	struct grove__rows_window *w = r->at;

	if (!w || r->i >= w->first + w->count) {
		w = r->at = next_window(r);
		if (!w)
			return grove__fail_nomem(d);
	}
	if (w->rc) {
		if (d)
			*d = w->d;
		return w->rc;
	}
	if (r->i - w->first >= w->checked)
		return grove__fail_at(d, GROVE_ESTALE, NULL, (uint64_t)grove__spine_line(s, row) + 1,
				      grove__spine_pos(s, row),
				      "the line has changed: another program changed the session");
	*line = grove__slice(w->in.buf + offset_in(r, w, row), (size_t)grove__spine_len(s, row));
	return 0;
}

int grove__rows_next(struct grove__rows *r, uint32_t *row, struct grove_slice *value,
		     struct grove_detail *d)
{
	struct grove_slice line;
	int rc;

	if (r->i >= r->nr)
		return 1;
	*row = row_at(r, r->i);
	if (grove__image_at_hand(r->im, *row, &line))
		rc = 0;
	else
		rc = r->im->nr_spans ? fetch_row(r, *row, &line, d) : look_row(r, *row, &line, d);
	if (rc == GROVE_ESTALE)
		grove__image_spoil(r->im);
	if (rc)
		return rc;
	r->i++;
	/* the window keeps the stored bytes: a row may be requested twice */
	if (grove__dialect_by_value(r->im->dialect) && memchr(line.ptr, '\n', line.len)) {
		grove__buf_clear(&r->joined);
		if (grove__buf_add_slice(&r->joined, line) ||
		    grove__buf_reserve(&r->joined, GROVE__JSON_PAD))
			return grove__fail_nomem(d);
		grove__line_join(r->joined.ptr, r->joined.len);
		line = grove__buf_slice(&r->joined);
	}
	*value = grove__line_trim(line);
	if (!grove__image_old(r->im))
		return 0;
	grove__buf_clear(&r->changed);
	rc = grove__image_migrate(r->im, r->log, *row, *value, &r->changed);
	if (rc < 0)
		return rc == GROVE_ENOMEM ? grove__fail_nomem(d) : rc;
	if (!rc)
		*value = grove__buf_slice(&r->changed);
	return 0;
}
