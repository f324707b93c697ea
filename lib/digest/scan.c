/*
 * digest/scan.c: every value of a log, in one pass.
 *
 * Lines that are not JSON are left out. If a lenient dialect finds a line that is not
 * exactly one value, the following lines may be part of it, so from there on the log is
 * read as the loader does.
 */
#include "digest/scan.h"

#include "base/crc32c.h"

#define RUN_BYTES ((size_t)256 << 10)

int grove__scan_init(struct grove__scan *s)
{
	*s = (struct grove__scan){ 0 };
	return grove__runs_init(&s->runs, RUN_BYTES);
}

void grove__scan_release(struct grove__scan *s)
{
	grove__runs_release(&s->runs);
}

static int read_values(struct grove__scan *s, struct grove__scan_part *p, uint64_t pos, uint64_t before)
{
	struct grove__runs *r = &s->runs;
	struct grove__values *v;
	struct grove__value value;
	int rc = grove__values_new(&v, &s->want, r->log, pos, p->until, r->run.by_line, GROVE__LINE_MAX, r->d);

	while (!rc && !(rc = grove__values_next(v, &value)))
		rc = p->value(p->payload, &value.l, value.ptr, before + value.at.line);
	grove__values_free(v);
	return rc == 1 ? 0 : rc;
}

/* Reads the lines of the current run; `line` is the number of the first, then of the next. */
static int read_run(struct grove__scan *s, struct grove__scan_part *p, uint64_t *line)
{
	const struct grove_store_run *run = &s->runs.run;
	uint64_t first = *line;
	struct grove__json_line l;
	int rc = 0;

	for (size_t off = s->runs.mark; !rc && !p->loose && off < run->len; off += (size_t)l.len + 1, ++*line) {
		const char *text = s->runs.buf + off;

		switch (grove__json_scan(&s->want, text, run->len - off, true, &l)) {
		case JSON_VALUE:
			rc = p->value(p->payload, &l, text, *line);
			break;
		case JSON_NOMEM:
			rc = GROVE_ENOMEM;
			break;
		case JSON_BAD:
			p->bad = true;
			p->loose = p->lenient;
			if (p->loose)
				rc = read_values(s, p, grove__runs_pos(&s->runs, off, *line - first), *line);
			break;
		default:
			break;
		}
	}
	return rc;
}

/* Skips a line that is too long for any buffer; the first one is reported. */
static int pass_over(struct grove__scan *s, struct grove__scan_part *p, uint64_t *line)
{
	if (!grove__runs_skip(&s->runs))
		return GROVE_ETOOBIG;
	++*line;
	if (!p->too_long++)
		p->first_long = *line;
	grove__fail(s->runs.d, GROVE_ETOOBIG, NULL, "skipped line %llu, which is longer than 1 GiB",
		    (unsigned long long)p->first_long);
	return 0;
}

int grove__scan_log(struct grove__scan *s, struct grove_store_log *log, struct grove__scan_part *p,
		    struct grove_detail *d)
{
	uint64_t line = 0;
	int rc = 0;

	grove__runs_begin(&s->runs, log, p->from, p->until, d);
	while (!rc && !p->loose) {
		rc = grove__runs_next(&s->runs);
		if (rc == GROVE_ETOOBIG) {
			rc = pass_over(s, p, &line);
			continue;
		}
		if (!rc && p->sum)
			p->crc = grove__crc32c(p->crc, s->runs.buf, s->runs.run.len);
		rc = rc ? rc : read_run(s, p, &line);
	}
	p->lines = line;
	return rc == 1 ? 0 : rc;
}
