/*
 * image/lines.c: a log, line by line, as it is stored.
 */
#include "image/lines.h"

#include "base/crc32c.h"

#define RUN_BYTES ((size_t)1 << 20)
#define PIECE ((size_t)64 << 10)

int grove__lines_init(struct grove__lines *r, struct grove_store_log *log, uint64_t until,
		      struct grove_detail *d)
{
	*r = (struct grove__lines){ 0 };
	if (grove__runs_init(&r->runs, RUN_BYTES))
		return grove__fail_nomem(d);
	grove__runs_begin(&r->runs, log, 0, until, d);
	return 0;
}

void grove__lines_release(struct grove__lines *r)
{
	grove__runs_release(&r->runs);
}

void grove__lines_rewind(struct grove__lines *r)
{
	*r = (struct grove__lines){ .runs = r->runs, .long_lines = r->long_lines };
	r->runs.pos = 0;
}

/* Counts the current line, of `n` bytes and perhaps an LF. */
static void count(struct grove__lines *r, uint64_t n, uint32_t crc, bool closed)
{
	r->len = n;
	r->lines++;
	r->bytes += n + 1;
	r->crc = grove__crc32c(crc, "\n", 1);
	r->open = !closed;
}

/* The line at `at` is too long for memory: gets its length and checksum, in pieces. */
static int pass_long(struct grove__lines *r, uint64_t at)
{
	struct grove__runs *runs = &r->runs;
	uint64_t end = runs->pos;
	uint32_t crc = r->crc;
	bool closed = false;

	for (uint64_t pos = at; pos < end;) {
		size_t n = end - pos < runs->cap ? (size_t)(end - pos) : runs->cap;
		int rc = grove__log_fetch(runs->log, pos, 0, runs->buf, n, runs->d);

		if (rc)
			return rc;
		pos += n;
		closed = pos == end && runs->buf[n - 1] == '\n';
		crc = grove__crc32c(crc, runs->buf, n - closed);
	}
	r->at = at;
	r->is_long = true;
	count(r, end - at - closed, crc, closed);
	return 0;
}

/* Gets the next run. *is_long: it was a line that is too long. */
static int fill(struct grove__lines *r, bool *is_long)
{
	uint64_t at = r->runs.pos;
	int rc = grove__runs_next(&r->runs);

	*is_long = rc == GROVE_ETOOBIG && r->long_lines && !r->runs.run.by_line && grove__runs_skip(&r->runs);
	r->off = r->run_lines = 0;
	r->end = rc ? 0 : r->runs.run.len;
	if (*is_long) {
		grove__fail_clear(r->runs.d);
		rc = pass_long(r, at);
	} else if (rc == GROVE_ETOOBIG) {
		grove__fail_at(r->runs.d, rc, r->runs.path, r->lines + 1, at,
			       "line %llu is longer than 1 GiB", (unsigned long long)r->lines + 1);
	}
	return rc;
}

int grove__lines_next(struct grove__lines *r, struct grove_slice *line)
{
	const char *p, *lf;
	bool is_long = false;
	size_t n;
	int rc;

	r->is_long = false;
	rc = r->off == r->end ? fill(r, &is_long) : 0;
	*line = grove__slice(r->runs.buf, 0);
	if (rc || is_long)
		return rc;
	p = r->runs.buf + r->off;
	lf = memchr(p, '\n', r->end - r->off);
	n = lf ? (size_t)(lf - p) : r->end - r->off;
	*line = grove__slice(p, n);
	r->at = grove__runs_pos(&r->runs, r->off, r->run_lines);
	r->run_lines++;
	r->off += n + (lf != NULL);
	count(r, n, grove__crc32c(r->crc, p, n), lf);
	return 0;
}

int grove__lines_begins(const struct grove__lines *r, struct grove_slice line,
			const struct grove__lines *part, struct grove_slice part_line)
{
	char a[PIECE], b[PIECE];

	if (part->len > r->len)
		return 0;
	if (!r->is_long)
		return !part->len || !memcmp(line.ptr, part_line.ptr, (size_t)part->len);
	for (uint64_t off = 0; off < part->len;) {
		size_t n = part->len - off < PIECE ? (size_t)(part->len - off) : PIECE;
		int rc = grove__log_fetch(r->runs.log, r->at, off, a, n, r->runs.d);

		if (!rc)
			rc = grove__log_fetch(part->runs.log, part->at, off, b, n, r->runs.d);
		if (rc)
			return rc;
		if (memcmp(a, b, n))
			return 0;
		off += n;
	}
	return 1;
}
