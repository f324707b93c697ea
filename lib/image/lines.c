/*
 * image/lines.c: a log, line by line, as it is stored.
 */
#include "image/lines.h"

#include "base/crc32c.h"

#include <stdlib.h>

#define RUN_BYTES ((size_t)1 << 20)

uint64_t grove__line_max = (uint64_t)1 << 30;

int grove__lines_end(struct grove_log *log, uint64_t pos, uint64_t until, char *buf, size_t cap,
		    uint64_t *end, struct grove_detail *d)
{
	struct grove_run run = { .open = 1 };
	const char *lf = NULL;
	int rc = 0;

	*end = pos;
	while (!rc && !lf && *end < until) {
		rc = grove__log_read(log, *end, until, buf, cap, &run, d);
		if (rc || !run.len)
			break;
		lf = memchr(buf, '\n', run.len);
		*end = lf ? run.pos + (uint64_t)(lf - buf) + 1 : run.pos + run.len;
	}
	return rc;
}

int grove__lines_init(struct grove__lines *r, struct grove_log *log, uint64_t until,
		      struct grove_detail *d)
{
	*r = (struct grove__lines){ .log = log, .d = d, .until = until, .cap = RUN_BYTES };
	r->buf = malloc(r->cap + GROVE__JSON_PAD);
	return r->buf ? 0 : grove__fail_nomem(d);
}

void grove__lines_release(struct grove__lines *r)
{
	free(r->buf);
	r->buf = NULL;
}

void grove__lines_rewind(struct grove__lines *r)
{
	r->pos = r->lines = r->bytes = 0;
	r->off = r->len = 0;
	r->crc = 0;
	r->open = false;
}

static int widen(struct grove__lines *r, bool by_line)
{
	uint64_t end = 0;
	char *p;
	int rc;

	/* memory for all of it only if it is going to be of use */
	if (!by_line && r->cap >= GROVE__LINE_LONG) {
		rc = grove__lines_end(r->log, r->pos, r->until, r->buf, r->cap, &end, r->d);
		if (rc)
			return rc;
	}
	if (r->cap * 2 > GROVE__LINE_MAX || (end && end - r->pos > GROVE__LINE_MAX))
		return grove__fail(r->d, GROVE_ETOOBIG, NULL, "a line of more than 1 GiB");
	p = realloc(r->buf, r->cap * 2 + GROVE__JSON_PAD);
	if (!p)
		return grove__fail_nomem(r->d);
	r->buf = p;
	r->cap *= 2;
	return 0;
}

static int fill(struct grove__lines *r)
{
	struct grove_run run;
	int rc;

	for (;;) {
		if (r->pos >= r->until)
			return 1;
		rc = grove__log_read(r->log, r->pos, r->until, r->buf, r->cap, &run, r->d);
		if (rc)
			return rc;
		if (!run.open)
			break;
		rc = widen(r, run.by_line);
		if (rc)
			return rc;
	}
	r->run_pos = run.pos;
	r->run_lines = 0;
	r->by_line = run.by_line;
	r->pos = run.next;
	r->off = 0;
	r->len = run.len;
	memset(r->buf + r->len, 0, GROVE__JSON_PAD);
	return run.len ? 0 : 1;
}

int grove__lines_next(struct grove__lines *r, struct grove_slice *line)
{
	const char *p, *lf;
	size_t n;
	int rc = r->off == r->len ? fill(r) : 0;

	if (rc)
		return rc;
	p = r->buf + r->off;
	lf = memchr(p, '\n', r->len - r->off);
	n = lf ? (size_t)(lf - p) : r->len - r->off;
	*line = grove__slice(p, n);
	r->at = r->run_pos + (r->by_line ? r->run_lines : r->off);
	r->run_lines++;
	r->off += n + (lf != NULL);
	r->lines++;
	r->bytes += n + 1;
	r->crc = grove__crc32c(grove__crc32c(r->crc, p, n), "\n", 1);
	r->open = !lf;
	return 0;
}
