/*
 * check/check_lines.c: lines that no reader understands.
 *
 * All physical lines are visited once; in lenient dialects, from the first odd one on,
 * all values. A line that is not JSON may still contain whole entries (check_split.c),
 * which decides its kind.
 */
#include "check/check.h"

#include <stdlib.h>

#define RUN_BYTES ((size_t)4 << 20)
#define SPLIT_MAX ((uint64_t)64 << 20)  /* a longer line is not examined */

/* Returns how many entries are whole in these bytes. */
static int whole_in(struct grove__checker *c, struct grove_slice bytes, size_t *nr)
{
	struct grove__parts parts = { 0 };
	int rc = grove__check_split(c->s->at.dialect, &c->s->image->want, bytes, &parts);

	*nr = parts.nr;
	grove__split_parts_release(&parts);
	return rc ? grove__fail_nomem(c->d) : 0;
}

/* --- value by value --- */

struct losing {
	struct grove__checker *c;
	struct grove__values *v;
	uint64_t line;             /* where reading began */
	bool by_line;
};

/* The same for a part of the log that is not in memory. */
static int whole_at(struct losing *x, uint64_t from, uint64_t end, size_t *nr)
{
	struct grove_buf b = GROVE_BUF_INIT;
	uint64_t off, pos = grove__values_place(x->v, from, &off);
	int rc = 0;

	*nr = 0;
	if (end <= from || end - from > SPLIT_MAX)
		return 0;
	if (grove__buf_reserve(&b, (size_t)(end - from) + GROVE__JSON_PAD))
		rc = grove__fail_nomem(x->c->d);
	if (!rc)
		rc = grove__log_fetch(x->c->s->log, pos, off, b.ptr, (size_t)(end - from), x->c->d);
	if (!rc) {
		memset(b.ptr + (end - from), 0, GROVE__JSON_PAD);
		rc = whole_in(x->c, grove__slice(b.ptr, (size_t)(end - from)), nr);
	}
	grove__buf_release(&b);
	return rc;
}

static int lose(void *payload, const struct grove__json_lost *l)
{
	struct losing *x = payload;
	uint64_t off, pos = grove__values_place(x->v, l->line_pos, &off), line = x->line + l->line;
	uint64_t at = x->by_line ? pos + l->pos - l->line_pos : l->pos;
	size_t whole;
	int rc;

	if (l->nul && !l->rest)
		return grove__check_add(x->c, NULS, line, pos, l->end - l->line_pos, NULL, NULL);
	rc = whole_at(x, l->rest ? l->pos : l->line_pos, l->end, &whole);
	if (rc)
		return rc;
	/* the one that was read comes before the rest */
	if (whole + l->rest > 1)
		return grove__check_add(x->c, FUSED, line, at, whole + l->rest, NULL, NULL);
	return grove__check_add(x->c, whole ? MALFORMED_SAVED : MALFORMED, line, at,
				l->pos - l->line_pos, NULL, NULL);
}

/* Reports what a lenient dialect skips from a line on, but not what is inside its values. */
static int check_values(struct grove__checker *c, uint64_t pos, uint64_t line, bool by_line)
{
	const struct grove__image *im = c->s->image;
	struct losing x = { .c = c, .line = line, .by_line = by_line };
	struct grove__json_passed p;
	struct grove__value value;
	uint64_t last = UINT64_MAX;
	int rc = grove__values_new(&x.v, &im->want, c->s->log, pos, im->tail, by_line, RUN_BYTES,
				   c->d);

	if (!rc)
		grove__values_tell(x.v, lose, &x);
	while (!rc && !(rc = grove__values_next(x.v, &value))) {
		if (value.l.type != JSON_OBJECT)
			rc = grove__check_add(c, NOT_AN_ENTRY, line + value.at.line, value.at.pos, 0, NULL,
					      NULL);
		/*
		 * readable only because the log ends in a torn value: the next append
		 * would hide it
		 */
		else if (value.at.line == last)
			rc = grove__check_add(c, FUSED, line + last, value.at.pos, 2, NULL, NULL);
		last = value.at.line;
	}
	if (rc == 1) {
		uint64_t off;

		grove__values_passed(x.v, &p);
		c->open = p.open && !p.torn;
		pos = grove__values_place(x.v, p.torn_pos, &off);
		rc = p.torn ? grove__check_add(c, TORN, line + p.torn_line, pos, p.end - p.torn_pos, NULL,
					       NULL)
			    : 0;
	}
	grove__values_free(x.v);
	return rc;
}

/* --- line by line --- */

static int bad_line(struct grove__checker *c, const struct grove__json_line *l, const char *ptr,
		    uint64_t line, uint64_t pos, bool last)
{
	size_t nul = 0, whole;
	int rc;

	while (nul < l->len && !ptr[nul])
		nul++;
	if (l->len && nul == l->len && !last)
		return grove__check_add(c, NULS, line, pos, l->len, NULL, NULL);
	rc = whole_in(c, grove__slice(ptr, (size_t)l->len), &whole);
	if (rc)
		return rc;
	if (whole > 1)
		return grove__check_add(c, FUSED, line, pos + l->error_off, whole, NULL, NULL);
	if (last)
		return grove__check_add(c, TORN, line, pos, l->len, NULL, NULL);
	return grove__check_add(c, whole ? MALFORMED_SAVED : MALFORMED, line, pos + l->error_off,
				l->error_off, NULL, NULL);
}

/* Handles the lines of the current run. *loose: the rest was read by values. */
static int check_run(struct grove__checker *c, const struct grove__runs *r, uint64_t *line, bool *loose)
{
	bool lenient = grove__dialect_by_value(c->s->image->dialect);
	int rc = 0;

	for (size_t off = r->mark; off < r->run.len && !rc && !*loose; ++*line) {
		const char *at = r->buf + off;
		struct grove__json_line l;
		enum grove__json_verdict v = grove__json_scan(&c->s->image->want, at, r->run.len - off, true, &l);
		uint64_t pos = r->run.by_line ? *line : r->run.pos + off;

		if (v == JSON_NOMEM)
			rc = grove__fail_nomem(c->d);
		else if (v == JSON_BAD && (*loose = lenient))
			rc = check_values(c, pos, *line, r->run.by_line);
		else if (v == JSON_BAD)
			rc = bad_line(c, &l, at, *line, pos, off + l.len >= r->run.len);
		else if (v == JSON_VALUE && l.type != JSON_OBJECT)
			rc = grove__check_add(c, NOT_AN_ENTRY, *line, pos, 0, NULL, NULL);
		c->open |= v != JSON_BAD && off + l.len >= r->run.len;
		off += (size_t)l.len + 1;
	}
	return rc;
}

/* Handles a line that does not fit, in pieces. */
static int check_long(struct grove__checker *c, struct grove__runs *r, uint64_t line, bool *loose)
{
	const struct grove__image *im = c->s->image;
	struct grove__json_stream *stream = grove__json_stream_new(&im->want);
	struct grove__runs_long l;
	int rc = stream ? grove__runs_stream(r, stream, &l) : grove__fail_nomem(c->d);

	grove__json_stream_free(stream);
	if (rc)
		return rc;
	c->open |= !l.closed && l.verdict != JSON_BAD;
	if (l.verdict != JSON_BAD)
		return 0;
	*loose = grove__dialect_by_value(im->dialect);
	if (*loose)
		return check_values(c, r->run.pos, line, false);
	return l.closed ? grove__check_add(c, MALFORMED, line, r->run.pos + l.error_off, l.error_off, NULL, NULL)
			: grove__check_add(c, TORN, line, r->run.pos, l.len, NULL, NULL);
}

static int check_end(struct grove__checker *c)
{
	const struct grove__image *im = c->s->image;

	if (!c->open || !im->lines)
		return 0;
	return grove__check_add(c, NO_NEWLINE, im->lines - 1, im->by_line ? im->tail - 1 : im->bytes, 0,
				NULL, NULL);
}

int grove__check_lines(struct grove__checker *c)
{
	struct grove__runs r;
	uint64_t line = 0;
	bool loose = false;
	int rc = grove__runs_init(&r, RUN_BYTES) ? grove__fail_nomem(c->d) : 0;

	r.pieces = true;
	r.path = c->s->at.path;
	grove__runs_begin(&r, c->s->log, 0, c->s->image->tail, c->d);
	while (!rc && !loose && !(rc = grove__runs_next(&r))) {
		if (r.mark)
			rc = grove__check_add(c, BYTE_ORDER_MARK, 0, 0, 0, NULL, NULL);
		if (!rc)
			rc = r.run.open ? check_long(c, &r, line++, &loose) : check_run(c, &r, &line, &loose);
	}
	grove__runs_release(&r);
	return rc < 0 ? rc : check_end(c);
}
