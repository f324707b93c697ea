/*
 * image/proof.c: checks that every byte of a log is what it was when it was read.
 *
 * A changed time says that something happened to a file, but not what. It may have been
 * changed anywhere, whether it grew or kept its length. So all that was read is read
 * again and compared with the checksums of the image: one for each row, header and
 * slot; for all other lines (white space, malformed, unknown to the dialect) a sum over
 * contents and positions. What is left are newlines.
 *
 * That is as fast as memory, several times as fast as parsing the log again; two
 * threads share the work.
 */
#include "image/image.h"

#include "base/crc32c.h"
#include "sys/pool.h"

#include <stdlib.h>

#define PIECE ((uint64_t)4 << 20)         /* of the log that a thread takes at once */
#define WINDOW ((size_t)256 << 10)        /* of it in memory: as much as fits into CPU caches */
#define THREADS_FROM ((uint64_t)8 << 20)  /* size from which a second thread pays */

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
	uint64_t end;            /* the end of what was read */
	uint64_t next;           /* atomic: the next piece */
	uint64_t odd;            /* atomic: the sum over other lines */
	int rc;                  /* atomic: the first error */
};

/* Some bytes of the log, in memory. */
struct window {
	struct proof *p;
	char *buf;
	uint64_t pos;
	size_t len;
};

/*
 * Returns as many bytes from `pos` on as are in memory, at most `until` and at least
 * one. NULL: see p->rc.
 */
static const char *bytes_at(struct window *w, uint64_t pos, uint64_t until, size_t *len)
{
	if (pos < w->pos || pos >= w->pos + w->len) {
		uint64_t left = pos < w->p->end ? w->p->end - pos : 0;
		int rc;

		w->pos = pos;
		w->len = left < WINDOW ? (size_t)left : WINDOW;
		/* the rows of a cached image may claim to be beyond all that was read */
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

static int sum_of_bytes(struct window *w, uint64_t pos, uint64_t len, uint32_t *crc)
{
	uint64_t until = pos + len;

	*crc = 0;
	while (pos < until) {
		size_t n;
		const char *p = bytes_at(w, pos, until, &n);

		if (!p)
			return GROVE_ESTALE;
		*crc = grove__crc32c(*crc, p, n);
		pos += n;
	}
	return 0;
}

/*
 * Checks whether there is a header, or the slot, and whether it is the same. Returns 1
 * if there is none.
 */
static int beside_rows(const struct grove__image *im, uint64_t pos, uint64_t len, uint32_t crc)
{
	if (im->has_slot && im->slot_pos == pos)
		return im->slot_len == len && im->slot_crc == crc ? 0 : GROVE_ESTALE;
	for (size_t i = 0; i < im->nr_headers; i++)
		if (im->headers[i].at.pos == pos)
			return im->headers[i].at.len == len && im->headers[i].at.crc == crc ? 0 : GROVE_ESTALE;
	return 1;
}

/* Finds where the line at `pos` ends, at most `until`. */
static int line_end(struct window *w, uint64_t pos, uint64_t until, uint64_t *end)
{
	for (*end = pos; *end < until;) {
		size_t n;
		const char *p = bytes_at(w, *end, until, &n), *lf = p ? memchr(p, '\n', n) : NULL;

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

/* Checks what is between two rows: newlines, and lines that are not rows. */
static int prove_gap(struct window *w, uint64_t pos, uint64_t until)
{
	while (pos < until) {
		size_t n;
		const char *p = bytes_at(w, pos, until, &n);
		uint64_t end = 3;
		uint32_t crc;
		int rc = 0;

		if (!p)
			return GROVE_ESTALE;
		if (*p == '\n') {
			pos++;
			continue;
		}
		/* a mark before the first line counts by itself */
		if (pos || !grove__runs_marked(p, n))
			rc = line_end(w, pos, until, &end);
		if (!rc)
			rc = sum_of_bytes(w, pos, end - pos, &crc);
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

static uint64_t begin_of(const struct proof *p, uint32_t row)
{
	return row < p->im->spine->nr ? grove__spine_pos(p->im->spine, row) : p->end;
}

/* Checks the rows that begin in one piece of the log, and what follows each of them. */
static int prove_piece(struct window *w, uint64_t from, uint64_t until)
{
	const struct grove__image *im = w->p->im;
	const struct grove__spine *s = im->spine;
	uint32_t row = grove__spine_from_pos(s, im->bases.rows, from);
	uint32_t last = grove__spine_from_pos(s, im->bases.rows, until);
	int rc = from ? 0 : prove_gap(w, 0, begin_of(w->p, row));

	for (; row < last && !rc; row++) {
		uint64_t pos = grove__spine_pos(s, row), len = grove__spine_len(s, row);
		uint64_t next = begin_of(w->p, row + 1);
		uint32_t crc;

		/* a row is a line, and the next one begins after it */
		if (pos > w->p->end || len > w->p->end - pos || next < pos + len)
			return GROVE_ESTALE;
		rc = sum_of_bytes(w, pos, len, &crc);
		if (!rc && crc != grove__spine_crc(s, row))
			rc = GROVE_ESTALE;
		if (!rc && pos + len < next) {
			size_t n;
			const char *p = bytes_at(w, pos + len, next, &n);

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

	/*
	 * there values need not be lines; and if positions count lines, nothing is
	 * changed in place
	 */
	if (im->by_line || im->loose || im->unknown || im->spine->linked != im->spine->nr)
		return GROVE_ESTALE;
	grove__pool_run(p.end >= THREADS_FROM ? 2 : 1, work, &p);
	if (!p.rc && p.odd != im->odd)
		p.rc = GROVE_ESTALE;
	return p.rc;
}
