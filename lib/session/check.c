/*
 * session/check.c: find damage, change nothing.
 *
 * Two passes: over the physical lines (in lenient dialects, from the first odd
 * one on, over the values) for what no reader understands;
 * over the tree, for entries that hang nowhere, twice, or in a circle, and for
 * those that speak of others which are not there. What is found is told in the
 * order of the lines. The kinds are part of the interface: they are documented
 * and do not change.
 */
#include "session/session.h"

#include "base/array.h"

#include <stdio.h>
#include <stdlib.h>

#define RUN_BYTES ((size_t)4 << 20)

enum problem {
	NO_HEADER,
	BYTE_ORDER_MARK,
	MALFORMED,
	NULS,
	TORN,
	NOT_AN_ENTRY,
	SECOND_HEADER,
	NO_ID,
	DUPLICATE_ID,
	ORPHAN,
	CYCLE,
	MISSING_TARGET
};

static const struct {
	const char *kind;
	const char *words;         /* `number` stands where the # is */
} kinds[] = {
	[NO_HEADER] = { "no-header", "" },
	[BYTE_ORDER_MARK] = { "byte-order-mark",
			      "a byte-order mark at the beginning: not every reader accepts it" },
	[MALFORMED] = { "malformed", "not JSON from byte # of the line on" },
	[NULS] = { "malformed", "# NUL bytes" },
	[TORN] = { "torn", "the last line is not finished: # bytes, then nothing" },
	[NOT_AN_ENTRY] = { "not-an-entry", "JSON, but not an object: it says nothing" },
	[SECOND_HEADER] = { "second-header", "a second header: readers use the first one only" },
	[NO_ID] = { "no-id", "an entry without an id: nothing can be hung below it" },
	[DUPLICATE_ID] = { "duplicate-id", "a later line has the same id and counts instead" },
	[ORPHAN] = { "orphan", "its parent is nowhere in the session: shown as a root" },
	[CYCLE] = { "cycle", "its parents lead back to itself: shown as a root" },
	[MISSING_TARGET] = { "missing-target", "it names an entry that is not there" },
};

struct finding {
	uint64_t line, offset;     /* line from 0 */
	uint64_t number;
	const char *id;
	enum problem what;
	uint32_t order;            /* found as such */
};

struct checker {
	struct grove_session *s;
	struct finding *found;
	size_t nr, cap;
	struct grove_detail *d;
};

static int add(struct checker *c, enum problem what, uint64_t line, uint64_t offset, uint64_t number,
	       const char *id)
{
	if (grove__array_room(&c->found, &c->cap, c->nr, sizeof(*c->found)))
		return grove__fail_nomem(c->d);
	c->found[c->nr] = (struct finding){ line, offset, number, id, what, (uint32_t)c->nr };
	c->nr++;
	return 0;
}

/* --- value by value --- */

struct losing {
	struct checker *c;
	struct grove__values *v;
	uint64_t line;             /* where reading began */
	bool by_line;
};

static int lose(void *payload, const struct grove__json_lost *l)
{
	struct losing *x = payload;
	uint64_t off, pos = grove__values_place(x->v, l->line_pos, &off);

	if (l->nul && !l->rest)
		return add(x->c, NULS, x->line + l->line, pos, l->end - l->line_pos, NULL);
	return add(x->c, MALFORMED, x->line + l->line, x->by_line ? pos + l->pos - l->line_pos : l->pos,
		   l->pos - l->line_pos, NULL);
}

/* What a lenient dialect gives up from a line on: not what lies inside its values. */
static int check_values(struct checker *c, uint64_t pos, uint64_t line, bool by_line)
{
	const struct grove__image *im = c->s->image;
	struct losing x = { .c = c, .line = line, .by_line = by_line };
	struct grove__json_passed p;
	struct grove__value value;
	int rc = grove__values_new(&x.v, &im->want, c->s->log, pos, im->tail, by_line, RUN_BYTES,
				   c->d);

	if (!rc)
		grove__values_tell(x.v, lose, &x);
	while (!rc && !(rc = grove__values_next(x.v, &value)))
		if (value.l.type != JSON_OBJECT)
			rc = add(c, NOT_AN_ENTRY, line + value.at.line, value.at.pos, 0, NULL);
	if (rc == 1) {
		uint64_t off;

		grove__values_passed(x.v, &p);
		pos = grove__values_place(x.v, p.torn_pos, &off);
		rc = p.torn ? add(c, TORN, line + p.torn_line, pos, p.end - p.torn_pos, NULL) : 0;
	}
	grove__values_free(x.v);
	return rc;
}

/* --- line by line --- */

static int bad_line(struct checker *c, const struct grove__json_line *l, const char *ptr,
		    uint64_t line, uint64_t pos, bool last)
{
	size_t nul = 0;

	while (nul < l->len && !ptr[nul])
		nul++;
	if (last)
		return add(c, TORN, line, pos, l->len, NULL);
	if (l->len && nul == l->len)
		return add(c, NULS, line, pos, l->len, NULL);
	return add(c, MALFORMED, line, pos + l->error_off, l->error_off, NULL);
}

/* The lines that are whole in the buffer. *loose: the rest was read by values. */
static int check_run(struct checker *c, const char *buf, const struct grove_run *run, size_t off,
		     uint64_t *line, bool *loose)
{
	bool lenient = c->s->image->dialect->lenient;
	int rc = 0;

	for (; off < run->len && !rc && !*loose; ++*line) {
		struct grove__json_line l;
		enum grove__json_verdict v =
			grove__json_scan(&c->s->image->want, buf + off, run->len - off, true, &l);
		uint64_t pos = run->by_line ? *line : run->pos + off;

		if (v == JSON_NOMEM)
			rc = grove__fail_nomem(c->d);
		else if (v == JSON_BAD && (*loose = lenient))
			rc = check_values(c, pos, *line, run->by_line);
		else if (v == JSON_BAD)
			rc = bad_line(c, &l, buf + off, *line, pos, off + l.len >= run->len);
		else if (v == JSON_VALUE && l.type != JSON_OBJECT)
			rc = add(c, NOT_AN_ENTRY, *line, pos, 0, NULL);
		off += (size_t)l.len + 1;
	}
	return rc;
}

/* A line that does not fit, piece by piece. The buffer holds the first one. */
static int check_long(struct checker *c, char *buf, struct grove_run run, uint64_t line, uint64_t *next,
		      bool *loose)
{
	const struct grove__image *im = c->s->image;
	struct grove__json_stream *stream = grove__json_stream_new(&im->want);
	uint64_t begin = run.pos, pos = run.pos, len = 0;
	int state = JSON_STREAM_MORE, rc = stream ? 0 : grove__fail_nomem(c->d);
	const char *lf = NULL;

	while (!rc) {
		size_t n, used = 0;

		lf = memchr(buf, '\n', run.len);
		n = lf ? (size_t)(lf - buf) : run.len;
		if (state == JSON_STREAM_MORE)
			state = grove__json_stream_feed(stream, buf, n, lf || run.end, &used);
		if (state < 0)
			rc = grove__fail_nomem(c->d);
		while (state == JSON_STREAM_DONE && used < n)
			if (!strchr(" \t\r", buf[used++]) || !buf[used - 1])
				state = JSON_STREAM_BAD;
		len += n;
		pos += n;
		if (lf || run.end)
			break;
		if (!rc)
			rc = grove__log_read(c->s->log, pos, im->tail, buf, RUN_BYTES, &run, c->d);
	}
	*next = pos + (lf ? 1 : 0);
	*loose = state != JSON_STREAM_DONE && im->dialect->lenient;
	if (!rc && *loose) {
		rc = check_values(c, begin, line, false);
	} else if (!rc && state != JSON_STREAM_DONE) {
		uint64_t at = state == JSON_STREAM_BAD ? grove__json_stream_line(stream)->error_off : len;

		rc = lf ? add(c, MALFORMED, line, begin + at, at, NULL)
			: add(c, TORN, line, begin, len, NULL);
	}
	grove__json_stream_free(stream);
	return rc;
}

static int check_lines(struct checker *c)
{
	const struct grove__image *im = c->s->image;
	char *buf = malloc(RUN_BYTES + GROVE__JSON_PAD);
	uint64_t pos = 0, line = 0;
	bool loose = false;
	int rc = buf ? 0 : grove__fail_nomem(c->d);

	while (!rc && !loose && pos < im->tail) {
		struct grove_run run = { 0 };
		size_t off = 0;

		rc = grove__log_read(c->s->log, pos, im->tail, buf, RUN_BYTES, &run, c->d);
		if (rc || (run.open && run.by_line))
			break;
		if (!run.by_line && !pos && run.len >= 3 && !memcmp(buf, "\xef\xbb\xbf", 3)) {
			rc = add(c, BYTE_ORDER_MARK, 0, 0, 0, NULL);
			/* a long line is fed from its first byte on: read once more without the mark */
			if (run.open) {
				pos = 3;
				continue;
			}
			off = 3;
		}
		if (!rc && run.open) {
			rc = check_long(c, buf, run, line++, &pos, &loose);
			continue;
		}
		if (!rc)
			rc = check_run(c, buf, &run, off, &line, &loose);
		pos = run.next;
	}
	free(buf);
	return rc;
}

static int check_headers(struct checker *c)
{
	const struct grove__image *im = c->s->image;
	int rc = 0;

	for (size_t i = 1; i < im->nr_headers && !rc; i++)
		rc = add(c, SECOND_HEADER, im->headers[i].at.line, im->headers[i].at.pos, 0, NULL);
	return rc;
}

/* --- the tree --- */

static bool is_there(const struct checker *c, struct grove_slice id)
{
	const struct grove__spine *s = c->s->image->spine;

	return grove__spine_find(s, s->nr, id) != GROVE_NONE;
}

static int missing(struct checker *c, uint32_t row)
{
	const struct grove__spine *s = c->s->image->spine;

	return add(c, MISSING_TARGET, grove__spine_line(s, row), grove__spine_pos(s, row), 0,
		   grove__spine_id(s, row));
}

/* The entry that a compaction or an edit speaks of. */
static int check_target(struct checker *c, uint32_t row)
{
	const struct grove__image *im = c->s->image;
	enum grove_kind kind = grove__spine_kind(im->spine, row);
	struct grove_buf line = GROVE_BUF_INIT, id = GROVE_BUF_INIT;
	struct grove_slice value, content;
	bool after;
	int rc;

	if (kind != GROVE_KIND_COMPACTION && kind != GROVE_KIND_CONTEXT_EDIT)
		return 0;
	/* where an entry of that kind speaks of none */
	if (kind == GROVE_KIND_COMPACTION && !im->dialect->first_kept)
		return 0;
	rc = grove__image_line(im, c->s->log, row, &line, &value, c->d);
	if (!rc) {
		rc = kind == GROVE_KIND_COMPACTION ? im->dialect->first_kept(value, &id, &after)
						   : im->dialect->edit(value, &id, &content);
		if (rc < 0)
			rc = grove__fail_nomem(c->d);
		else
			rc = id.len && !is_there(c, grove__buf_slice(&id)) ? missing(c, row) : 0;
	}
	grove__buf_release(&line);
	grove__buf_release(&id);
	return rc;
}

static int lacks(void *payload, uint32_t row)
{
	return missing(payload, row);
}

static int check_tree(struct checker *c)
{
	static const struct {
		unsigned flag;
		enum problem what;
	} flags[] = {
		{ ROW_ORPHAN, ORPHAN },
		{ ROW_CYCLE, CYCLE },
		{ ROW_SUPERSEDED, DUPLICATE_ID },
		{ ROW_NO_ID, NO_ID },
	};
	const struct grove__spine *s = c->s->image->spine;
	size_t lines = c->nr, at = 0;
	int rc = 0;

	for (uint32_t row = 0; row < s->nr && !rc; row++) {
		uint64_t line = grove__spine_line(s, row);

		/* what is no entry has no id either: once is enough */
		while (at < lines && c->found[at].line < line)
			at++;
		if (at < lines && c->found[at].line == line && c->found[at].what == NOT_AN_ENTRY)
			continue;
		for (size_t i = 0; i < sizeof(flags) / sizeof(*flags) && !rc; i++)
			if (grove__spine_flags(s, row) & flags[i].flag &&
			    (flags[i].flag != ROW_NO_ID || !(grove__spine_flags(s, row) & ROW_ASIDE)))
				rc = add(c, flags[i].what, line, grove__spine_pos(s, row), 0,
					 grove__spine_id(s, row));
		if (!rc)
			rc = check_target(c, row);
	}
	for (size_t i = 0; i < s->nr_labels && !rc; i++)
		if (!is_there(c, grove__spine_name(s->labels[i].target)))
			rc = missing(c, s->labels[i].row);
	/* what a boundary keeps and what is not there: the rest is not kept either */
	if (!rc && c->s->image->chain)
		rc = c->s->at.dialect->chain_lacks(c->s->image->chain, lacks, c);
	return rc;
}

/* --- telling --- */

static int by_line(const void *a, const void *b)
{
	const struct finding *x = a, *y = b;

	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static int tell(struct checker *c, const struct finding *f, const char *words, grove_problem_fn *fn,
		void *payload, struct grove_check_result *result)
{
	const char *mark = strchr(words, '#');
	char text[256];
	struct grove_problem p = {
		.path = c->s->at.path ? c->s->at.path : "",
		.line = f->line + 1,
		.offset = f->offset,
		.kind = kinds[f->what].kind,
		.entry_id = f->id,
		.detail = text,
	};

	if (mark)
		snprintf(text, sizeof(text), "%.*s%llu%s", (int)(mark - words), words,
			 (unsigned long long)f->number, mark + 1);
	else
		snprintf(text, sizeof(text), "%s", words);
	result->problems++;
	return fn(payload, &p);
}

int grove__check(struct grove *g, struct grove__where *at, grove_problem_fn *fn, void *payload,
		 struct grove_check_result *result, struct grove_detail *d)
{
	struct checker c = { .d = d };
	int rc;

	c.s = grove__session_alloc(g);
	if (!c.s)
		return grove__fail_nomem(d);
	result->files++;
	rc = grove__session_open(g, at, GROVE_READ, c.s, d);
	if (rc == GROVE_EDAMAGED) {
		struct finding f = { .what = NO_HEADER };

		if (d->has_place && d->line) {
			f.line = d->line - 1;
			f.offset = d->offset;
		}
		rc = tell(&c, &f, d->message, fn, payload, result);
	} else if (!rc) {
		result->entries += c.s->image->spine->nr;
		rc = check_lines(&c);
		if (!rc)
			rc = check_tree(&c);
		if (!rc)
			rc = check_headers(&c);
		if (!rc && c.nr)
			qsort(c.found, c.nr, sizeof(*c.found), by_line);
		for (size_t i = 0; i < c.nr && !rc; i++)
			rc = tell(&c, &c.found[i], kinds[c.found[i].what].words, fn, payload, result);
	}
	free(c.found);
	grove__session_unref(c.s);
	return rc;
}
