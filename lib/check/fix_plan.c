/*
 * check/fix_plan.c: what has to change in a damaged log, line by line.
 *
 * All physical lines are visited. What is whole stays, with its own bytes and on a line
 * of its own; the rest is removed. What stays is put into a spine, that of the log as
 * it will be, so that the tree is judged after the repair.
 *
 * In a lenient dialect a value may span lines, which is not damage. From the first odd
 * line on, the lenient reader finds these values.
 */
#include "check/fix.h"

#include "base/array.h"
#include "base/crc32c.h"
#include "sys/clock.h"

#include <stdlib.h>

static struct grove_slice renamed_name(const void *owner, uint32_t i)
{
	const struct grove__plan *p = owner;

	return grove__slice(p->renames[i].from, p->renames[i].len);
}

void grove__plan_init(struct grove__plan *p, struct grove *g, const struct grove__where *at,
		      const struct grove__dialect *dialect, struct grove_store_log *log,
		      struct grove_detail *d)
{
	uint64_t seed = grove__sys_seed();

	*p = (struct grove__plan){ .g = g, .at = at, .dialect = dialect, .log = log, .d = d };
	p->version = dialect->version;
	grove__json_want_init(&p->want, dialect->read.members, dialect->read.nr_members);
	grove__arena_init(&p->keep);
	grove__idmap_init(&p->renamed, seed, renamed_name, p);
	p->spine = grove__spine_new(seed);
	p->failed = grove__model_init(&p->model, dialect, seed) || !p->spine;
}

void grove__plan_release(struct grove__plan *p)
{
	grove__spine_free(p->spine);
	grove__model_release(&p->model);
	grove__idmap_release(&p->renamed);
	grove__arena_release(&p->keep);
	free(p->edits);
	free(p->changes);
	free(p->odd);
	free(p->tall);
	free(p->renames);
}

static int add_edit(struct grove__plan *p, const struct grove__fix_edit *e)
{
	if (grove__array_room(&p->edits, &p->cap_edits, p->nr_edits, sizeof(*p->edits)))
		return grove__fail_nomem(p->d);
	p->edits[p->nr_edits] = *e;
	p->edits[p->nr_edits].order = (uint32_t)p->nr_edits;
	p->nr_edits++;
	return 0;
}

static int change_row(const void *key, const void *item)
{
	const uint32_t *row = key;
	const struct grove__change *c = item;

	return *row < c->row ? -1 : *row > c->row;
}

struct grove__change *grove__plan_change(struct grove__plan *p, uint32_t row,
					 enum grove__problem why)
{
	struct grove__change *c = NULL;

	/* lines come in order; changes of the tree are sorted in at the end */
	if (p->nr_sorted)
		c = bsearch(&row, p->changes, p->nr_sorted, sizeof(*c), change_row);
	if (c)
		return c;
	if (grove__array_room(&p->changes, &p->cap_changes, p->nr_changes, sizeof(*p->changes)))
		return NULL;
	c = &p->changes[p->nr_changes++];
	*c = (struct grove__change){ .row = row, .why = why };
	if (!p->has_tree)
		p->nr_sorted = p->nr_changes;
	return c;
}

static int odd_row(const void *key, const void *item)
{
	const uint32_t *row = key;
	const struct grove__odd *o = item;

	return *row < o->row ? -1 : *row > o->row;
}

static const struct grove__odd *odd_one(const struct grove__plan *p, uint32_t row)
{
	return p->nr_odd ? bsearch(&row, p->odd, p->nr_odd, sizeof(*p->odd), odd_row) : NULL;
}

static bool is_tall(const struct grove__plan *p, uint32_t row)
{
	const struct grove__odd *o = odd_one(p, row);

	return o && o->tall;
}

struct grove__spot grove__plan_spot(const struct grove__plan *p, uint32_t row)
{
	const struct grove__odd *o = odd_one(p, row);
	struct grove__spot at = {
		.pos = grove__spine_pos(p->spine, row),
		.len = grove__spine_len(p->spine, row),
		.line = grove__spine_line(p->spine, row),
		.crc = grove__spine_crc(p->spine, row),
	};

	if (o) {
		at.off = o->off;
		at.lines = o->lines;
	}
	return at;
}

/* --- lines --- */

static bool blank(struct grove_slice s)
{
	for (size_t i = 0; i < s.len; i++)
		if (!grove__is_blank(s.ptr[i]))
			return false;
	return true;
}

/* The decisions about a line; the part from `from` on is still undecided. */
struct line_plan {
	struct grove__plan *p;
	struct grove_slice line;
	uint64_t number, pos;
	size_t from;               /* decided up to here … */
	bool after;                /* … after a value that stays */
	bool last;                 /* it has no newline */
	enum grove__problem why;   /* the problem with the bytes since `from`, if any */
	bool told;
};

static int edit_gap(struct line_plan *x, size_t to, const char *put)
{
	struct grove__fix_edit e = { .line = x->number, .off = x->from, .len = to - x->from,
				 .put = put, .put_len = put ? strlen(put) : 0, .change = SIZE_MAX };
	bool empty = blank(grove__slice(x->line.ptr + x->from, e.len));

	if (empty && !put)
		return 0;
	e.why = x->told ? x->why : empty ? FUSED : x->last ? TORN : MALFORMED;
	x->told = false;
	return add_edit(x->p, &e);
}

/* Handles a whole value of the line. */
static int settle_part(struct line_plan *x, struct grove__part part)
{
	struct grove_slice value = grove__slice(x->line.ptr + part.off, part.len);
	struct grove__spot at = {
		.pos = x->pos,
		.off = part.off,
		.len = part.len,
		.line = x->number,
		.crc = grove__crc32c(0, value.ptr, value.len),
	};
	enum grove__problem why = MALFORMED;
	enum grove__verdict verdict;
	int rc = grove__plan_take(x->p, &at, value, value, &verdict, &why);

	if (rc)
		return rc;
	if (verdict == GOES) {
		if (!x->told)
			x->why = why;
		x->told = true;
		return 0;
	}
	rc = edit_gap(x, part.off, x->after ? "\n" : NULL);
	x->from = part.off + part.len;
	x->after = true;
	return rc;
}

/* Nothing of it stays. */
static int drop_line(struct line_plan *x)
{
	struct grove__fix_edit e = { .line = x->number, .len = x->line.len, .change = SIZE_MAX,
				 .why = x->told ? x->why : x->last ? TORN : MALFORMED, .whole = true };

	/* earlier decisions about it are dropped with it */
	while (x->p->nr_edits && x->p->edits[x->p->nr_edits - 1].line == x->number)
		x->p->nr_edits--;
	return add_edit(x->p, &e);
}

static int settle_line(struct line_plan *x, const struct grove__parts *parts)
{
	int rc = 0;

	for (size_t i = 0; i < parts->nr && !rc; i++)
		rc = settle_part(x, parts->part[i]);
	if (rc)
		return rc;
	return x->after ? edit_gap(x, x->line.len, NULL) : drop_line(x);
}

/* Handles a line that is not exactly one value, from `begin` on. */
static int split_line(struct line_plan *x, size_t begin)
{
	struct grove__parts parts = { 0 };
	struct grove_slice rest = grove__slice(x->line.ptr + begin, x->line.len - begin);
	int rc = grove__check_split(x->p->dialect, &x->p->want, rest, &parts) ? grove__fail_nomem(x->p->d)
									     : 0;

	for (size_t i = 0; i < parts.nr; i++)
		parts.part[i].off += begin;
	if (!rc)
		rc = settle_line(x, &parts);
	grove__split_parts_release(&parts);
	return rc;
}

/* The number of bytes of a byte-order mark before a line. */
static size_t mark_before(uint64_t number, struct grove_slice line)
{
	return !number && grove__runs_marked(line.ptr, line.len) ? 3 : 0;
}

static int remove_mark(struct grove__plan *p, size_t len)
{
	return len ? add_edit(p, &(struct grove__fix_edit){ .len = len, .change = SIZE_MAX,
								    .why = BYTE_ORDER_MARK })
		   : 0;
}

/* Returns 1 if the lenient reader is needed first. */
static int plan_line(struct grove__plan *p, const struct grove__lines *r, struct grove_slice line,
		     bool asked)
{
	struct line_plan x = { .p = p, .line = line, .number = r->lines - 1, .pos = r->at,
			       .from = mark_before(r->lines - 1, line), .last = r->open };
	struct grove__json_line l;
	enum grove__json_verdict v;
	struct grove__part part;
	int rc = remove_mark(p, x.from);

	if (rc)
		return rc;
	v = grove__json_scan(&p->want, line.ptr + x.from, line.len - x.from, true, &l);
	if (v == JSON_NOMEM)
		return grove__fail_nomem(p->d);
	if (v == JSON_BLANK)
		return 0;
	if (v == JSON_BAD && grove__dialect_by_value(p->dialect) && !asked) {
		p->nr_edits = x.from ? p->nr_edits - 1 : p->nr_edits;
		return 1;
	}
	if (v == JSON_BAD)
		return split_line(&x, x.from);
	part = (struct grove__part){ x.from + (size_t)l.value.off, (size_t)l.value.len };
	return settle_line(&x, &(struct grove__parts){ .part = &part, .nr = 1 });
}

/* --- values over several lines --- */

static uint64_t count_lf(const char *p, size_t len, size_t *last)
{
	const char *end = p + len, *from = p;
	uint64_t n = 0;

	while ((p = memchr(p, '\n', (size_t)(end - p)))) {
		n++;
		from = ++p;
	}
	*last = (size_t)(end - from);
	return n;
}

/* Finds the values from `pos` on that are not within one line. */
static int find_tall(struct grove__plan *p, uint64_t pos, uint64_t line, bool by_line)
{
	struct grove_buf b = GROVE_BUF_INIT;
	struct grove__values *v = NULL;
	struct grove__value value;
	int rc = grove__values_new(&v, &p->want, p->log, pos, p->tail, by_line, (uint64_t)1 << 20, p->d);

	while (!rc && !(rc = grove__values_next(v, &value))) {
		struct grove__tall t = { .line = line + value.at.line, .off = (size_t)value.at.off,
					 .at = value.at };

		if (value.at.len > GROVE__LINE_MAX) {
			rc = grove__fail(p->d, GROVE_ETOOBIG, p->at->path, "a value is longer than 1 GiB");
			break;
		}
		/* as stored: the reader's value is already joined into one line */
		rc = grove__line_fetch(p->log, &value.at, &b, p->d);
		if (rc)
			break;
		t.lines = 1 + count_lf(b.ptr, b.len, &t.end);
		if (t.lines == 1)
			continue;
		if (grove__array_room(&p->tall, &p->cap_tall, p->nr_tall, sizeof(*p->tall))) {
			rc = grove__fail_nomem(p->d);
			break;
		}
		t.at.line = t.line;
		p->tall[p->nr_tall++] = t;
	}
	grove__values_free(v);
	grove__buf_release(&b);
	return rc == 1 ? 0 : rc;
}

/* Removes all lines of a value, except for what follows the value on the last one. */
static int drop_tall(struct grove__plan *p, const struct grove__tall *t, enum grove__problem why)
{
	int rc = 0;

	for (uint64_t i = 0; i + 1 < t->lines && !rc; i++)
		rc = add_edit(p, &(struct grove__fix_edit){ .line = t->line + i,
								.len = SIZE_MAX,
								.change = SIZE_MAX, .why = why,
								.whole = true });
	return rc;
}

/* Reads the lines of a value; `line` is the first of them, and afterwards the last. */
static int gather(struct grove__plan *p, struct grove__lines *r, const struct grove__tall *t,
		  struct grove_slice *line, struct grove_buf *text)
{
	int rc = 0;

	grove__buf_clear(text);
	for (uint64_t i = 0; !rc; i++) {
		if ((i && grove__buf_add_char(text, '\n')) || grove__buf_add_slice(text, *line))
			return grove__fail_nomem(p->d);
		if (i + 1 == t->lines)
			break;
		rc = grove__lines_next(r, line);
	}
	if (!rc && grove__buf_reserve(text, GROVE__JSON_PAD))
		rc = grove__fail_nomem(p->d);
	return rc == 1 ? grove__fail(p->d, GROVE_ESTALE, p->at->path, "was changed") : rc;
}

static int plan_tall(struct grove__plan *p, struct grove__lines *r, const struct grove__tall *t,
		     struct grove_slice line, struct grove_buf *text)
{
	uint64_t pos = r->at;
	size_t mark = mark_before(t->line, line), off = r->runs.run.by_line ? t->off : (size_t)(t->at.pos - pos);
	enum grove__problem why = MALFORMED;
	struct line_plan x = { .p = p };
	struct grove_buf stored = GROVE_BUF_INIT;
	struct grove__spot at = t->at;
	enum grove__verdict verdict;
	int rc = gather(p, r, t, &line, text);

	if (rc)
		return rc;
	at.pos = pos;
	at.off = off;
	if (off + t->at.len > text->len ||
	    grove__crc32c(0, text->ptr + off, (size_t)t->at.len) != t->at.crc)
		return grove__fail(p->d, GROVE_ESTALE, p->at->path, "was changed");
	if (grove__buf_add(&stored, text->ptr + off, (size_t)t->at.len))
		rc = grove__fail_nomem(p->d);
	grove__line_join(text->ptr + off, (size_t)t->at.len);
	p->in_tall = true;
	if (!rc)
		rc = grove__plan_take(p, &at, grove__line_trim(grove__slice(text->ptr + off, (size_t)t->at.len)),
				grove__buf_slice(&stored), &verdict, &why);
	p->in_tall = false;
	grove__buf_release(&stored);
	if (!rc)
		rc = verdict == GOES ? drop_tall(p, t, why) : remove_mark(p, mark);
	if (rc)
		return rc;
	x = (struct line_plan){ .p = p, .line = line, .number = r->lines - 1, .pos = r->at,
				.from = verdict == STAYS ? t->end : 0, .after = verdict == STAYS,
				.last = r->open, .why = why, .told = verdict == GOES };
	if (verdict == STAYS && blank(grove__slice(line.ptr + t->end, line.len - t->end)))
		return 0;
	return split_line(&x, t->end);
}

/* --- the whole --- */

static int by_place(const void *a, const void *b)
{
	const struct grove__fix_edit *x = a, *y = b;

	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	if (x->off != y->off)
		return x->off < y->off ? -1 : 1;
	/* what is put before a line comes before all its other edits */
	if (!x->len != !y->len)
		return x->len ? 1 : -1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static int by_row(const void *a, const void *b)
{
	const struct grove__change *x = a, *y = b;

	return x->row < y->row ? -1 : x->row > y->row;
}

/*
 * Returns the value over several lines that begins here; NULL: none, or it begins after
 * something else.
 */
static const struct grove__tall *tall_here(const struct grove__plan *p, const struct grove__lines *r,
					   struct grove_slice line, size_t *next)
{
	const struct grove__tall *t;
	size_t mark, off;

	while (*next < p->nr_tall && p->tall[*next].line < r->lines - 1)
		++*next;
	t = *next < p->nr_tall ? &p->tall[*next] : NULL;
	if (!t || t->line != r->lines - 1)
		return NULL;
	mark = mark_before(t->line, line);
	off = r->runs.run.by_line ? t->off : (size_t)(t->at.pos - r->at);
	return off >= mark && blank(grove__slice(line.ptr + mark, off - mark)) ? t : NULL;
}

static int plan_lines(struct grove__plan *p)
{
	const struct grove__tall *t;
	struct grove__lines r;
	struct grove_slice line;
	struct grove_buf g = GROVE_BUF_INIT;
	bool asked = false;
	size_t tall = 0;
	int rc = grove__lines_init(&r, p->log, p->tail, p->d);

	r.runs.progress = &p->g->progress;
	r.runs.path = p->at->path;
	while (!rc && !(rc = grove__lines_next(&r, &line))) {
		t = tall_here(p, &r, line, &tall);
		rc = t ? plan_tall(p, &r, t, line, &g) : plan_line(p, &r, line, asked);
		if (rc != 1)
			continue;
		asked = true;
		rc = find_tall(p, r.at, r.lines - 1, r.runs.run.by_line);
		if (rc)
			break;
		t = tall_here(p, &r, line, &tall);
		rc = t ? plan_tall(p, &r, t, line, &g) : plan_line(p, &r, line, true);
	}
	p->lines = r.lines;
	p->bytes = r.bytes;
	p->crc = r.crc;
	p->open = r.lines && r.open;
	grove__buf_release(&g);
	grove__lines_release(&r);
	return rc == 1 ? 0 : rc;
}

/* A last line that stays gets a newline if it has none. */
static int plan_end(struct grove__plan *p)
{
	const struct grove__fix_edit *e = p->nr_edits ? &p->edits[p->nr_edits - 1] : NULL;

	if (!p->open || (e && e->line == p->lines - 1))
		return 0;
	return add_edit(p, &(struct grove__fix_edit){ .line = p->lines - 1, .off = SIZE_MAX,
							  .change = SIZE_MAX, .why = NO_NEWLINE });
}

static int plan_header(struct grove__plan *p)
{
	struct grove_buf line = GROVE_BUF_INIT;
	struct grove__fix_edit e = { .line = p->first_line, .change = SIZE_MAX, .why = NO_HEADER };
	int rc = 0;

	if (!grove__dialect_has_header(p->dialect) || (p->has_header && !p->misplaced))
		return 0;
	if (p->misplaced)
		rc = grove__buf_add_slice(&line, p->header) ? grove__fail_nomem(p->d) : 0;
	else
		rc = p->usable ? grove__plan_header(p, &line) : 1;
	if (rc == 1) {
		p->beyond = true;
		p->nr_edits = p->nr_changes = 0;
		return 0;
	}
	if (!rc && grove__buf_add_char(&line, '\n'))
		rc = grove__fail_nomem(p->d);
	if (!rc) {
		e.put = grove__arena_dup(&p->keep, grove__buf_slice(&line));
		e.put_len = line.len;
		rc = e.put ? add_edit(p, &e) : grove__fail_nomem(p->d);
	}
	grove__buf_release(&line);
	return rc;
}

/* A changed value of several lines becomes one; all others change in place. */
static int place_change(struct grove__plan *p, size_t i)
{
	const struct grove__change *c = &p->changes[i];
	struct grove__spot at = grove__plan_spot(p, c->row);
	struct grove_buf b = GROVE_BUF_INIT, out = GROVE_BUF_INIT;
	struct grove__fix_edit e = { .line = at.line, .off = (size_t)at.off, .len = (size_t)at.len,
				 .change = i, .why = c->why };
	uint64_t lines;
	size_t last;
	char *lf;
	int rc;

	if (!is_tall(p, c->row))
		return add_edit(p, &e);
	rc = grove__line_fetch(p->log, &at, &b, p->d);
	if (rc)
		goto out;
	lines = count_lf(b.ptr, b.len, &last);
	lf = memchr(b.ptr, '\n', b.len);
	e.len = lf ? (size_t)(lf - b.ptr) : b.len;
	grove__line_join(b.ptr, b.len);
	if (grove__fix_plan_rewrite(p, c, grove__line_trim(grove__buf_slice(&b)), &out) ||
	    !(e.put = grove__arena_dup(&p->keep, grove__buf_slice(&out)))) {
		rc = grove__fail_nomem(p->d);
		goto out;
	}
	e.put_len = out.len;
	rc = add_edit(p, &e);
	/* an edit that extends beyond its line takes all of it */
	for (uint64_t n = 1; n < lines && !rc; n++)
		rc = add_edit(p, &(struct grove__fix_edit){ .line = at.line + n, .len = SIZE_MAX,
								.change = SIZE_MAX, .why = c->why,
								.whole = true });
	if (!rc && lines)
		rc = add_edit(p, &(struct grove__fix_edit){ .line = at.line + lines, .len = last,
								.change = SIZE_MAX, .why = c->why,
								.whole = true });
out:
	grove__buf_release(&b);
	grove__buf_release(&out);
	return rc;
}

int grove__plan_make(struct grove__plan *p)
{
	struct grove_store_log_stat st;
	int rc = p->failed ? grove__fail_nomem(p->d) : grove__log_stat(p->log, &st, p->d);

	if (rc)
		return rc;
	p->tail = st.tail;
	p->generation = st.generation;
	rc = plan_lines(p);
	if (!rc)
		rc = plan_end(p);
	p->has_tree = true;
	if (!rc && !grove__dialect_lacks_ids(p->dialect, p->version))
		rc = grove__plan_tree(p);
	if (!rc && p->nr_changes)
		qsort(p->changes, p->nr_changes, sizeof(*p->changes), by_row);
	for (size_t i = 0; i < p->nr_changes && !rc; i++)
		rc = place_change(p, i);
	if (!rc)
		rc = plan_header(p);
	if (!rc && p->nr_edits)
		qsort(p->edits, p->nr_edits, sizeof(*p->edits), by_place);
	return rc;
}
