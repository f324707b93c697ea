/*
 * image/proof.c: is every byte of a log what it was when it was read?
 *
 * A time that moved tells that something happened to a file, and not what. One that
 * kept its length may have been changed in any place, and so may one that grew. So
 * all that was read is read again and compared with the checksums that the image has
 * of it: of rows, headers and the slot one each, of all other lines (blank ones with
 * white space in them, malformed ones, those that no dialect knows) a sum of what
 * they are and where. What is left are line ends.
 *
 * That goes as fast as memory does, several times as fast as reading the log anew;
 * two threads share it, piece by piece.
 */
#include "image/image.h"

#include "base/crc32c.h"
#include "base/fail.h"
#include "sys/pool.h"

#include <stdlib.h>

#define PIECE ((uint64_t)4 << 20)         /* of the log that a thread takes at one go */
#define WINDOW ((size_t)256 << 10)        /* of it that is in memory: as much as caches hold */
#define THREADS_FROM ((uint64_t)8 << 20)  /* bytes from which a second thread pays */

uint64_t grove__proof_odd_line(uint64_t pos, uint64_t len, uint32_t crc)
{
	uint64_t h = pos * 0x9e3779b97f4a7c15u ^ (len << 32 | crc) * 0xd6e8feb86659fd93u;

	h ^= h >> 29;
	h *= 0xbf58476d1ce4e5b9u;
	return h ^ h >> 32;
}

struct proof {
	const struct grove__image *im;
	struct grove_store_log *log;
	uint64_t end;            /* behind what was read */
	uint64_t next;           /* atomic: the piece to look at next */
	uint64_t odd;            /* atomic: the sum of lines that are nothing else */
	int rc;                  /* atomic: the first that went wrong */
};

/* Some bytes of the log, at hand. */
struct window {
	struct proof *p;
	char *buf;
	uint64_t pos;
	size_t len;
};

/* As many bytes from `pos` on as there are at hand, `until` at most and one at least. NULL: p->rc. */
static const char *look(struct window *w, uint64_t pos, uint64_t until, size_t *len)
{
	if (pos < w->pos || pos >= w->pos + w->len) {
		uint64_t left = pos < w->p->end ? w->p->end - pos : 0;
		int rc;

		w->pos = pos;
		w->len = left < WINDOW ? (size_t)left : WINDOW;
		/* of a kept image rows may say that they lie behind all that was read */
		rc = left ? grove__log_fetch(w->p->log, pos, 0, w->buf, w->len, NULL) : GROVE_ESTALE;
		if (rc) {
			w->len = 0;
			__atomic_store_n(&w->p->rc, rc, __ATOMIC_RELAXED);
			return NULL;
		}
	}
	*len = (size_t)(w->pos + w->len - pos);
	if (until - pos < *len)
		*len = (size_t)(until - pos);
	return w->buf + (pos - w->pos);
}

static int sum(struct window *w, uint64_t pos, uint64_t len, uint32_t *crc)
{
	uint64_t until = pos + len;

	*crc = 0;
	while (pos < until) {
		size_t n;
		const char *p = look(w, pos, until, &n);

		if (!p)
			return GROVE_ESTALE;
		*crc = grove__crc32c(*crc, p, n);
		pos += n;
	}
	return 0;
}

/* Is there a header, or the slot, and is it the same? 1: there is none. */
static int beside_rows(const struct grove__image *im, uint64_t pos, uint64_t len, uint32_t crc)
{
	if (im->has_slot && im->slot_pos == pos)
		return im->slot_len == len && im->slot_crc == crc ? 0 : GROVE_ESTALE;
	for (size_t i = 0; i < im->nr_headers; i++)
		if (im->headers[i].at.pos == pos)
			return im->headers[i].at.len == len && im->headers[i].at.crc == crc ? 0 : GROVE_ESTALE;
	return 1;
}

/* Where the line at `pos` ends, `until` at most. */
static int line_end(struct window *w, uint64_t pos, uint64_t until, uint64_t *end)
{
	for (*end = pos; *end < until;) {
		size_t n;
		const char *p = look(w, *end, until, &n), *lf = p ? memchr(p, '\n', n) : NULL;

		if (!p)
			return GROVE_ESTALE;
		if (lf) {
			*end += (uint64_t)(lf - p);
			return 0;
		}
		*end += n;
	}
	return 0;
}

/* What lies between two rows: line ends, and lines that are none. */
static int prove_gap(struct window *w, uint64_t pos, uint64_t until)
{
	while (pos < until) {
		size_t n;
		const char *p = look(w, pos, until, &n);
		uint64_t end = 3;
		uint32_t crc;
		int rc = 0;

		if (!p)
			return GROVE_ESTALE;
		if (*p == '\n') {
			pos++;
			continue;
		}
		/* a mark in front of the first line is something by itself */
		if (pos || !grove__runs_marked(p, n))
			rc = line_end(w, pos, until, &end);
		if (!rc)
			rc = sum(w, pos, end - pos, &crc);
		if (!rc)
			rc = beside_rows(w->p->im, pos, end - pos, crc);
		if (rc == 1)
			__atomic_fetch_add(&w->p->odd, grove__proof_odd_line(pos, end - pos, crc), __ATOMIC_RELAXED);
		else if (rc)
			return rc;
		pos = end;
	}
	return 0;
}

/* The first row at `pos` or behind it. */
static uint32_t row_from(const struct grove__spine *s, uint64_t pos)
{
	uint32_t from = 0, to = s->nr;

	while (from < to) {
		uint32_t mid = from + (to - from) / 2;

		if (grove__spine_pos(s, mid) < pos)
			from = mid + 1;
		else
			to = mid;
	}
	return from;
}

static uint64_t begin_of(const struct proof *p, uint32_t row)
{
	return row < p->im->spine->nr ? grove__spine_pos(p->im->spine, row) : p->end;
}

/* The rows that begin in one piece of the log, and what follows each of them. */
static int prove_piece(struct window *w, uint64_t from, uint64_t until)
{
	const struct grove__spine *s = w->p->im->spine;
	uint32_t row = row_from(s, from), last = row_from(s, until);
	int rc = from ? 0 : prove_gap(w, 0, begin_of(w->p, row));

	for (; row < last && !rc; row++) {
		uint64_t pos = grove__spine_pos(s, row), len = grove__spine_len(s, row);
		uint64_t next = begin_of(w->p, row + 1);
		uint32_t crc;

		/* a row is a line, and the next one begins behind it */
		if (pos > w->p->end || len > w->p->end - pos || next < pos + len)
			return GROVE_ESTALE;
		rc = sum(w, pos, len, &crc);
		if (!rc && crc != grove__spine_crc(s, row))
			rc = GROVE_ESTALE;
		if (!rc && pos + len < next) {
			size_t n;
			const char *p = look(w, pos + len, next, &n);

			if (!p || *p != '\n')
				rc = GROVE_ESTALE;
			else if (pos + len + 1 < next)
				rc = prove_gap(w, pos + len + 1, next);
		} else if (!rc && next < w->p->end) {
			rc = GROVE_ESTALE;
		}
	}
	return rc;
}

static void work(void *payload, unsigned thread)
{
	struct proof *p = payload;
	struct window w = { .p = p, .buf = malloc(WINDOW) };
	int rc = w.buf ? 0 : GROVE_ENOMEM;

	(void)thread;
	while (!rc && !__atomic_load_n(&p->rc, __ATOMIC_RELAXED)) {
		uint64_t from = __atomic_fetch_add(&p->next, PIECE, __ATOMIC_RELAXED);

		if (from >= p->end && from)
			break;
		rc = prove_piece(&w, from, p->end - from < PIECE ? p->end : from + PIECE);
	}
	free(w.buf);
	if (rc)
		__atomic_store_n(&p->rc, rc, __ATOMIC_RELAXED);
}

int grove__image_prove(const struct grove__image *im, struct grove_store_log *log)
{
	struct proof p = { .im = im, .log = log, .end = im->next };

	/* values need not be lines there; and where positions count lines nothing is changed in its place */
	if (im->by_line || im->loose || im->unknown || im->spine->linked != im->spine->nr)
		return GROVE_ESTALE;
	grove__pool_run(p.end >= THREADS_FROM ? 2 : 1, work, &p);
	if (!p.rc && p.odd != im->odd)
		p.rc = GROVE_ESTALE;
	return p.rc;
}
