/*
 * image/runs.c: a log, in runs of whole lines.
 */
#include "image/runs.h"

#include "base/crc32c.h"

#include <stdlib.h>

/* A line longer than this is measured before memory is taken for it. */
#define LONG ((size_t)4 << 20)
/* A shorter buffer grows faster: the store may be remote. */
#define SMALL ((size_t)64 << 10)

uint64_t grove__line_max = (uint64_t)1 << 30;

int grove__runs_init(struct grove__runs *r, size_t cap)
{
	*r = (struct grove__runs){ .cap = cap };
	r->buf = malloc(cap + GROVE__JSON_PAD);
	return r->buf ? 0 : GROVE_ENOMEM;
}

void grove__runs_release(struct grove__runs *r)
{
	free(r->buf);
	r->buf = NULL;
}

int grove__runs_room(struct grove__runs *r, size_t cap)
{
	char *p;

	if (cap <= r->cap)
		return 0;
	p = realloc(r->buf, cap + GROVE__JSON_PAD);
	if (!p)
		return GROVE_ENOMEM;
	r->buf = p;
	r->cap = cap;
	return 0;
}

void grove__runs_begin(struct grove__runs *r, struct grove_store_log *log, uint64_t from,
		       uint64_t until, struct grove_detail *d)
{
	r->log = log;
	r->begin = r->pos = from;
	r->until = until;
	r->d = d;
}

int grove__runs_tell(const struct grove__runs *r)
{
	const struct grove_progress *p = r->progress;

	if (!p || !p->fn || !p->fn(p->payload, r->pos - r->begin, r->until - r->begin))
		return 0;
	return grove__fail(r->d, GROVE_ECANCELLED, r->path, "cancelled");
}

/* Finds the end of the line that begins at `pos`, including its LF, by reading it in pieces. */
static int find_end(struct grove__runs *r)
{
	const char *lf = NULL;
	int rc = 0;

	r->after_long = r->pos;
	while (!rc && !lf && r->after_long < r->until && !(rc = grove__runs_tell(r))) {
		rc = grove__log_read(r->log, r->after_long, r->until, r->buf, r->cap, &r->run, r->d);
		if (rc || !r->run.len)
			break;
		lf = memchr(r->buf, '\n', r->run.len);
		/* a file that a crash left with gigabytes of nothing is not read byte by byte */
		r->after_long = lf ? r->after_long + (uint64_t)(lf - r->buf) + 1 : r->run.next;
	}
	return rc;
}

/* The line at `pos` does not fit. */
static int widen(struct grove__runs *r)
{
	uint64_t max = r->max ? r->max : GROVE__LINE_MAX, cap = (uint64_t)r->cap * (r->cap < SMALL ? 4 : 2);
	int rc;

	if (r->run.by_line) {
		r->after_long = r->pos + 1;
		if (cap > max && r->cap < max)
			cap = max;
	} else if (r->cap >= LONG || cap > max) {
		rc = find_end(r);
		if (rc)
			return rc;
		cap = r->after_long - r->pos;
	}
	if (cap > max)
		return grove__fail(r->d, GROVE_ETOOBIG, r->path, "a line is longer than 1 GiB");
	return grove__runs_room(r, (size_t)cap) ? grove__fail_nomem(r->d) : 0;
}

int grove__runs_next(struct grove__runs *r)
{
	int rc;

	if (r->pos >= r->until)
		return 1;
	r->after_long = 0;
	rc = grove__runs_tell(r);
	while (!rc) {
		rc = grove__log_read(r->log, r->pos, r->until, r->buf, r->cap, &r->run, r->d);
		if (rc || !r->run.open || (r->pieces && !r->run.by_line))
			break;
		rc = widen(r);
	}
	if (rc)
		return rc;
	r->pos = r->run.open && !r->run.by_line ? r->run.pos + r->run.len : r->run.next;
	r->mark = !r->run.pos && grove__runs_marked(r->buf, r->run.len) ? 3 : 0;
	memset(r->buf + r->run.len, 0, GROVE__JSON_PAD);
	return r->run.len ? 0 : 1;
}

bool grove__runs_skip(struct grove__runs *r)
{
	if (r->after_long <= r->pos)
		return false;
	r->pos = r->after_long;
	return true;
}

/* Only white space may follow a value. */
static bool is_space(const char *p, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (p[i] != ' ' && p[i] != '\t' && p[i] != '\r')
			return false;
	return true;
}

int grove__runs_stream(struct grove__runs *r, struct grove__json_stream *s,
		       struct grove__runs_long *out)
{
	int state = JSON_STREAM_MORE, rc;
	struct grove_store_run run = r->run;
	const char *p = r->buf + r->mark;
	bool blank = true, last;
	uint64_t hole;

	*out = (struct grove__runs_long){ 0 };
	r->run.pos += r->mark;
	run.pos += r->mark;
	run.len -= r->mark;
	r->mark = 0;
	for (;; p = r->buf) {
		const char *lf = memchr(p, '\n', run.len);
		size_t n = lf ? (size_t)(lf - p) : run.len, used = 0;

		last = lf || run.end;
		blank = blank && is_space(p, n);
		out->crc = grove__crc32c(out->crc, p, n);
		out->len += n;
		if (state == JSON_STREAM_MORE)
			state = grove__json_stream_feed(s, p, n, last, &used);
		if (state < 0)
			return grove__fail_nomem(r->d);
		if (state == JSON_STREAM_DONE && !is_space(p + used, n - used))
			state = JSON_STREAM_BAD;
		out->closed = lf;
		if (last)
			break;
		/* a hole is not JSON. Its sum is not that of its bytes: what is cached of this log is never proved */
		hole = run.next - (run.pos + run.len);
		if (hole) {
			state = JSON_STREAM_BAD;
			out->len += hole;
			out->crc = grove__crc32c(out->crc, &hole, sizeof(hole));
		}
		rc = grove__runs_tell(r);
		rc = rc ? rc : grove__log_read(r->log, r->run.pos + out->len, r->until, r->buf, r->cap, &run, r->d);
		if (rc)
			return rc;
	}
	r->pos = r->run.pos + out->len + out->closed;
	out->verdict = blank ? JSON_BLANK : state == JSON_STREAM_DONE ? JSON_VALUE : JSON_BAD;
	out->error_off = state == JSON_STREAM_BAD ? grove__json_stream_line(s)->error_off : out->len;
	return 0;
}
