/*
 * catalog/scan.c: every value of a log, in one pass.
 *
 * Lines that are no JSON are left out. A lenient dialect takes a line apart that
 * is not just a value, and then the following ones may be part of it: from there
 * on it is read as the loader does.
 */
#include "catalog/scan.h"

#include "base/crc32c.h"
#include "image/lines.h"

#include <stdlib.h>

#define RUN_BYTES ((size_t)256 << 10)

int grove__scan_init(struct grove__scan *s)
{
	*s = (struct grove__scan){ .cap = RUN_BYTES };
	s->buf = malloc(s->cap + GROVE__JSON_PAD);
	return s->buf ? 0 : GROVE_ENOMEM;
}

void grove__scan_release(struct grove__scan *s)
{
	free(s->buf);
}

static int widen(struct grove__scan *s, struct grove_detail *d)
{
	char *p;

	if (s->cap * 2 > GROVE__LINE_MAX)
		return grove__fail(d, GROVE_ETOOBIG, NULL, "a line of more than 1 GiB");
	p = realloc(s->buf, s->cap * 2 + GROVE__JSON_PAD);
	if (!p)
		return grove__fail_nomem(d);
	s->buf = p;
	s->cap *= 2;
	return 0;
}

static int read_values(struct grove__scan *s, struct grove_log *log, struct grove__scan_part *p,
		       uint64_t pos, bool by_line, uint64_t before, struct grove_detail *d)
{
	struct grove__values *v;
	struct grove__value value;
	int rc = grove__values_new(&v, &s->want, log, pos, p->until, by_line, GROVE__LINE_MAX, d);

	while (!rc && !(rc = grove__values_next(v, &value)))
		rc = p->value(p->payload, &value.l, value.ptr, before + value.at.line);
	grove__values_free(v);
	return rc == 1 ? 0 : rc;
}

/* The lines of a run; `off` is where they begin, `line` the number of the first and the next. */
static int read_run(struct grove__scan *s, struct grove_log *log, struct grove__scan_part *p,
		    const struct grove_run *run, size_t off, uint64_t *line, struct grove_detail *d)
{
	uint64_t first = *line;
	struct grove__json_line l;
	int rc = 0;

	for (; !rc && !p->loose && off < run->len; off += (size_t)l.len + 1, ++*line) {
		const char *text = s->buf + off;

		switch (grove__json_scan(&s->want, text, run->len - off, true, &l)) {
		case JSON_VALUE:
			rc = p->value(p->payload, &l, text, *line);
			break;
		case JSON_NOMEM:
			rc = GROVE_ENOMEM;
			break;
		case JSON_BAD:
			p->loose = p->lenient;
			if (p->loose)
				rc = read_values(s, log, p, run->pos + (run->by_line ? *line - first : off),
						 run->by_line, *line, d);
			break;
		default:
			break;
		}
	}
	return rc;
}

/*
 * A line that is longer than the buffer: 0 and the buffer is wider; 1: it is too
 * long for any, *pos is behind it.
 */
static int make_room(struct grove__scan *s, struct grove_log *log, struct grove__scan_part *p,
		     bool by_line, uint64_t *pos, struct grove_detail *d)
{
	uint64_t end;
	int rc;

	if (by_line || (s->cap < GROVE__LINE_LONG && s->cap * 2 <= GROVE__LINE_MAX))
		return widen(s, d);
	rc = grove__lines_end(log, *pos, p->until, s->buf, s->cap, &end, d);
	if (rc)
		return rc;
	if (end - *pos <= GROVE__LINE_MAX)
		return widen(s, d);
	*pos = end;
	p->too_long++;
	return 1;
}

int grove__scan_log(struct grove__scan *s, struct grove_log *log, struct grove__scan_part *p,
		    struct grove_detail *d)
{
	uint64_t pos = p->from, line = 0;
	struct grove_run run;
	int rc = 0;

	while (!rc && !p->loose && pos < p->until) {
		size_t mark = 0;

		rc = grove__log_read(log, pos, p->until, s->buf, s->cap, &run, d);
		if (!rc && run.open) {
			rc = make_room(s, log, p, run.by_line, &pos, d);
			if (rc == 1) {
				line++;
				if (p->too_long == 1)
					grove__fail(d, GROVE_ETOOBIG, NULL,
						    "line %llu is longer than 1 GiB and was passed over",
						    (unsigned long long)line);
				rc = 0;
			}
			continue;
		}
		if (!rc && !pos && run.len >= 3 && !memcmp(s->buf, "\xef\xbb\xbf", 3))
			mark = 3;
		if (!rc && p->sum)
			p->crc = grove__crc32c(p->crc, s->buf, run.len);
		rc = rc ? rc : read_run(s, log, p, &run, mark, &line, d);
		pos = run.next;
	}
	return rc;
}
