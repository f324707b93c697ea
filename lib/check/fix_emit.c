/*
 * check/fix_emit.c: the log, line by line, before and after the repair.
 *
 * This is done three times: to show, to save and to write the changes. To make sure
 * that it is the same each time, the log is compared at the end with the one that the
 * plan was made for.
 */
#include "check/fix.h"

#include "base/array.h"

#include <stdlib.h>

int grove__fix_mended_init(struct grove__mended *m, const struct grove__plan *p,
			   struct grove_store_log *log, struct grove_detail *d)
{
	*m = (struct grove__mended){ .plan = p, .row = GROVE_NO_ENTRY };
	return grove__lines_init(&m->lines, log, p->tail, d);
}

void grove__fix_mended_release(struct grove__mended *m)
{
	grove__lines_release(&m->lines);
	grove__buf_release(&m->text);
	grove__buf_release(&m->rewritten);
	free(m->pieces);
}

static int add_piece(struct grove__mended *m, struct grove__piece piece)
{
	if (grove__array_room(&m->pieces, &m->cap_pieces, m->nr_pieces, sizeof(*m->pieces)))
		return GROVE_ENOMEM;
	m->pieces[m->nr_pieces++] = piece;
	return 0;
}

/* Writes a changed value: a piece only where it differs from the old one. */
static int emit_change(struct grove__mended *m, const struct grove__fix_edit *e)
{
	const struct grove__change *c = &m->plan->changes[e->change];
	struct grove_slice was = grove__slice(m->old.ptr + e->off, e->len), is;
	size_t head = 0, tail = 0, most;
	int rc;

	m->row = c->row;
	grove__buf_clear(&m->rewritten);
	rc = grove__fix_plan_rewrite(m->plan, c, was, &m->rewritten);
	if (rc)
		return rc;
	is = grove__buf_slice(&m->rewritten);
	most = is.len < was.len ? is.len : was.len;
	while (head < most && is.ptr[head] == was.ptr[head])
		head++;
	while (tail < most - head && is.ptr[is.len - 1 - tail] == was.ptr[was.len - 1 - tail])
		tail++;
	rc = add_piece(m, (struct grove__piece){ e->off + head, was.len - head - tail,
						 m->text.len + head, is.len - head - tail, e->why,
						 false });
	return rc ? rc : grove__buf_add_slice(&m->text, is);
}

static int emit_edit(struct grove__mended *m, const struct grove__fix_edit *e, bool dropped)
{
	size_t put = e->put_len;

	if (e->change != SIZE_MAX && !e->put)
		return emit_change(m, e);
	/* the lines before it are gone: what follows needs no newline in front */
	if (dropped && !m->text.len && put == 1 && e->put[0] == '\n')
		put = 0;
	if (e->len || put) {
		int rc = add_piece(m, (struct grove__piece){ e->off, e->len, m->text.len, put, e->why,
							     false });

		if (rc)
			return rc;
	}
	return put ? grove__buf_add(&m->text, e->put, put) : 0;
}

/*
 * Handles the line's own newline: it is removed with a line of which nothing stays, and
 * with one that only had something put before it; a line that had none gets one.
 */
static int emit_end(struct grove__mended *m, bool whole)
{
	bool closed = m->text.len && m->text.ptr[m->text.len - 1] == '\n';

	if (whole && (closed || !m->text.len)) {
		m->pieces[m->nr_pieces - 1].lf = !m->lines.open;
		m->gone = !m->text.len;
		if (closed)
			grove__buf_cut(&m->text, m->text.len - 1);
		return 0;
	}
	if (!m->lines.open)
		return 0;
	return add_piece(m, (struct grove__piece){ m->old.len, 0, m->text.len, 1, NO_NEWLINE, false });
}

static int emit_line(struct grove__mended *m)
{
	const struct grove__plan *p = m->plan;
	bool whole = false;
	size_t at = 0;
	int rc = 0;

	m->why = p->edits[m->edit].why;
	m->row = GROVE_NO_ENTRY;
	for (; m->edit < p->nr_edits && p->edits[m->edit].line == m->line && !rc; m->edit++) {
		struct grove__fix_edit e = p->edits[m->edit];

		/* beyond the end: up to there */
		if (e.off > m->old.len)
			e.off = m->old.len;
		if (e.len > m->old.len - e.off)
			e.len = m->old.len - e.off;
		if (e.off > at)
			rc = grove__buf_add(&m->text, m->old.ptr + at, e.off - at);
		if (!rc)
			rc = emit_edit(m, &e, whole);
		whole |= e.whole;
		at = e.off + e.len;
	}
	if (!rc)
		rc = grove__buf_add(&m->text, m->old.ptr + at, m->old.len - at);
	/* the scanner reads a little beyond the end */
	if (!rc)
		rc = grove__buf_reserve(&m->text, GROVE__JSON_PAD);
	/* an empty line that is removed has only its newline */
	if (!rc && whole && !m->nr_pieces)
		rc = add_piece(m, (struct grove__piece){ .why = m->why });
	return rc ? rc : emit_end(m, whole);
}

/* Advances by the length of the previous line, before and after. */
static void step(struct grove__mended *m)
{
	if (!m->lines.lines)
		return;
	m->old_at += m->old.len + !m->lines.open;
	if (!m->changed) {
		m->new_at += m->old.len + 1;
		m->new_line++;
		return;
	}
	if (m->gone)
		return;
	m->new_at += m->text.len + 1;
	m->new_line++;
	for (size_t i = 0; i < m->text.len; i++)
		m->new_line += m->text.ptr[i] == '\n';
}

int grove__fix_mended_next(struct grove__mended *m)
{
	const struct grove__plan *p = m->plan;
	int rc;

	step(m);
	rc = grove__lines_next(&m->lines, &m->old);
	if (rc == 1 && (m->lines.lines != p->lines || m->lines.crc != p->crc))
		return grove__fail(m->lines.runs.d, GROVE_ECONFLICT, p->at->path,
				   "changed while it was being repaired; nothing was written (try again)");
	if (rc)
		return rc;
	m->line = m->lines.lines - 1;
	m->changed = m->edit < p->nr_edits && p->edits[m->edit].line == m->line;
	m->gone = false;
	m->nr_pieces = 0;
	grove__buf_clear(&m->text);
	if (!m->changed)
		return 0;
	return emit_line(m) ? grove__fail_nomem(m->lines.runs.d) : 0;
}
