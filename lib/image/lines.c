/*
 * image/lines.c: a log, line by line, as it is stored.
 */
#include "image/lines.h"

#include "base/crc32c.h"

#define RUN_BYTES ((size_t)1 << 20)

int grove__lines_init(struct grove__lines *r, struct grove_log *log, uint64_t until,
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
	*r = (struct grove__lines){ .runs = r->runs };
	r->runs.pos = 0;
}

static int fill(struct grove__lines *r)
{
	int rc = grove__runs_next(&r->runs);

	if (rc == GROVE_ETOOBIG)
		grove__fail_at(r->runs.d, rc, r->runs.path, r->lines + 1, r->runs.pos, "a line of more than 1 GiB");
	r->off = 0;
	r->len = rc ? 0 : r->runs.run.len;
	r->run_lines = 0;
	return rc;
}

int grove__lines_next(struct grove__lines *r, struct grove_slice *line)
{
	const char *p, *lf;
	size_t n;
	int rc = r->off == r->len ? fill(r) : 0;

	if (rc)
		return rc;
	p = r->runs.buf + r->off;
	lf = memchr(p, '\n', r->len - r->off);
	n = lf ? (size_t)(lf - p) : r->len - r->off;
	*line = grove__slice(p, n);
	r->at = grove__runs_pos(&r->runs, r->off, r->run_lines);
	r->run_lines++;
	r->off += n + (lf != NULL);
	r->lines++;
	r->bytes += n + 1;
	r->crc = grove__crc32c(grove__crc32c(r->crc, p, n), "\n", 1);
	r->open = !lf;
	return 0;
}
