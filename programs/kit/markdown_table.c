/*
 * markdown_table.c: draws a Markdown table so that it fits.
 */
#include "markdown_table.h"

#include "cli.h"

#include <stdlib.h>
#include <string.h>

enum {
	BETWEEN = 3,              /* columns of " │ " */
	NARROWEST = 8             /* a column narrower than this, with longer text, is unreadable */
};

/* -------------------------------------------------------------------- rows */

static void *one_more(void *list, size_t nr, size_t *cap, size_t size)
{
	if (nr < *cap)
		return list;
	*cap = *cap ? 2 * *cap : 32;
	return cli_realloc(list, *cap, size);
}

void table_row(struct table *t)
{
	t->rows = one_more(t->rows, t->nr_rows, &t->cap_rows, sizeof(*t->rows));
	t->rows[t->nr_rows++] = (struct table_row){ t->nr_cells, 0 };
}

void table_cell(struct table *t, enum table_align align)
{
	t->cells = one_more(t->cells, t->nr_cells, &t->cap_cells, sizeof(*t->cells));
	t->cells[t->nr_cells++] = (struct table_cell){ .run = t->nr_runs, .align = align };
	t->rows[t->nr_rows - 1].nr++;
}

void table_text(struct table *t, struct grove_slice text, unsigned style)
{
	struct table_cell *c = &t->cells[t->nr_cells - 1];

	if (!t->bytes.ptr)
		out_init(&t->bytes, -1);
	t->runs = one_more(t->runs, t->nr_runs, &t->cap_runs, sizeof(*t->runs));
	t->runs[t->nr_runs++] = (struct table_run){ t->bytes.len, text.len, style };
	out_bytes(&t->bytes, text.ptr, text.len);
	c->nr++;
	c->width += out_columns(text);
}

void table_release(struct table *t)
{
	out_release(&t->bytes);
	free(t->runs);
	free(t->cells);
	free(t->rows);
	memset(t, 0, sizeof(*t));
}

static void put_cell(const struct table *t, const struct table_cell *c, struct wrap *w, unsigned style)
{
	for (size_t i = 0; i < c->nr; i++) {
		const struct table_run *r = &t->runs[c->run + i];

		wrap_text(w, (struct grove_slice){ t->bytes.ptr + r->at, r->len }, r->style | style);
	}
}

/* ------------------------------------------------------------------- widths */

static size_t nr_columns(const struct table *t)
{
	size_t nr = 0;

	for (size_t i = 0; i < t->nr_rows; i++)
		if (t->rows[i].nr > nr)
			nr = t->rows[i].nr;
	return nr;
}

static unsigned sum(const unsigned *width, size_t nr, unsigned most)
{
	unsigned n = 0;

	for (size_t i = 0; i < nr; i++)
		n += width[i] < most ? width[i] : most;
	return n;
}

/* Finds widths that fit in `room` columns; returns 0 if none would be readable. */
static int find_widths(const struct table *t, unsigned *width, size_t nr, unsigned room)
{
	unsigned most;

	memset(width, 0, nr * sizeof(*width));
	for (size_t i = 0; i < t->nr_rows; i++)
		for (size_t k = 0; k < t->rows[i].nr; k++)
			if (t->cells[t->rows[i].cell + k].width > width[k])
				width[k] = t->cells[t->rows[i].cell + k].width;
	if (sum(width, nr, room + 1) <= room)
		return 1;
	for (most = room; most >= NARROWEST && sum(width, nr, most) > room;)
		most--;
	if (most < NARROWEST)
		return 0;
	room -= sum(width, nr, most);
	for (size_t i = 0; i < nr; i++) {
		unsigned more = width[i] > most && room ? 1 : 0; /* distribute what rounding left */

		if (width[i] > most)
			width[i] = most + more;
		room -= more;
	}
	return 1;
}

/* ------------------------------------------------------------------ drawing */

struct drawing {
	const struct table *t;
	struct out *o;
	const struct wrap_prefix *prefix, *rest;
	unsigned *width;
	struct out *texts;        /* of the cells of a row */
	size_t nr;
};

static void put_prefix(struct drawing *d)
{
	out_bytes(d->o, d->prefix->bytes, d->prefix->len);
	d->prefix = d->rest;
}

static void rule(struct drawing *d)
{
	put_prefix(d);
	out_style(d->o, OUT_DIM);
	for (size_t k = 0; k < d->nr; k++) {
		if (k)
			out_puts(d->o, "─┼─");
		for (unsigned i = 0; i < d->width[k]; i++)
			out_puts(d->o, "─");
	}
	out_style(d->o, OUT_PLAIN);
	out_puts(d->o, "\n");
}

/* Wraps a cell's text to the width of its column. Returns the number of lines. */
static size_t lay_out(struct drawing *d, const struct table_cell *c, size_t k, unsigned style)
{
	struct wrap_prefix pad = { .len = 0 };
	unsigned spare = c->width < d->width[k] ? d->width[k] - c->width : 0;
	struct wrap w;
	size_t lines;

	d->texts[k].len = 0;
	wrap_init(&w, &d->texts[k], d->width[k]);
	w.fill = 1;
	if (c->align == TABLE_CENTER)
		spare /= 2;
	for (; c->align != TABLE_LEFT && spare; spare--)
		wrap_prefix_add(&pad, d->o, " ", 0);
	wrap_prefix(&w, &pad, NULL);
	put_cell(d->t, c, &w, style);
	wrap_end(&w);
	lines = w.lines;
	wrap_release(&w);
	return lines;
}

/* Prints line `n` of a cell's text, or spaces. */
static void put_line(struct drawing *d, size_t k, size_t *at)
{
	const struct out *text = &d->texts[k];
	const char *p = text->ptr + *at;
	const char *nl = *at < text->len ? memchr(p, '\n', text->len - *at) : NULL;

	if (!nl) {
		out_pad(d->o, d->width[k]);
		return;
	}
	out_bytes(d->o, p, (size_t)(nl - p));
	*at = (size_t)(nl + 1 - text->ptr);
}

/* Returns how many lines it took. */
static size_t draw_row(struct drawing *d, const struct table_row *row, unsigned style)
{
	size_t lines = 1, at[64] = { 0 };

	for (size_t k = 0; k < d->nr; k++) {
		size_t n = 0;

		d->texts[k].len = 0;
		if (k < row->nr)
			n = lay_out(d, &d->t->cells[row->cell + k], k, style);
		if (n > lines)
			lines = n;
	}
	for (size_t i = 0; i < lines; i++) {
		put_prefix(d);
		for (size_t k = 0; k < d->nr; k++) {
			if (k) {
				out_style(d->o, OUT_DIM);
				out_puts(d->o, " │ ");
				out_style(d->o, OUT_PLAIN);
			}
			put_line(d, k, &at[k]);
		}
		out_puts(d->o, "\n");
	}
	return lines;
}

/* Returns true if a text is longer than its column. Rows are then separated by rules. */
static int is_tall(const struct drawing *d)
{
	for (size_t i = 1; i < d->t->nr_rows; i++)
		for (size_t k = 0; k < d->t->rows[i].nr; k++)
			if (d->t->cells[d->t->rows[i].cell + k].width > d->width[k])
				return 1;
	return 0;
}

static void draw(struct drawing *d)
{
	int tall = is_tall(d);

	for (size_t k = 0; k < d->nr; k++) {
		out_init(&d->texts[k], -1);
		d->texts[k].color = d->o->color;
	}
	for (size_t i = 0; i < d->t->nr_rows && !out_failed(d->o); i++) {
		draw_row(d, &d->t->rows[i], i ? 0 : WRAP_BOLD);
		if (i + 1 < d->t->nr_rows && (!i || tall))
			rule(d);
	}
	for (size_t k = 0; k < d->nr; k++)
		out_release(&d->texts[k]);
}

/* Prints each row as lines of "column: text". */
static void tell_rows(const struct drawing *d, unsigned width)
{
	const struct table_row *head = &d->t->rows[0];
	size_t from = d->t->nr_rows > 1 ? 1 : 0; /* a head without rows is printed as a row */
	struct wrap_prefix rest = *d->rest;
	struct wrap w;

	wrap_prefix_add(&rest, d->o, "  ", 0);
	wrap_init(&w, d->o, width);
	for (size_t i = from; i < d->t->nr_rows && !out_failed(d->o); i++) {
		const struct table_row *row = &d->t->rows[i];

		if (i > from) {
			wrap_prefix(&w, d->rest, d->rest);
			wrap_line(&w);
		}
		for (size_t k = 0; k < row->nr; k++) {
			wrap_prefix(&w, i == from && !k ? d->prefix : d->rest, &rest);
			if (i && k < head->nr && d->t->cells[head->cell + k].nr) {
				put_cell(d->t, &d->t->cells[head->cell + k], &w, WRAP_BOLD);
				wrap_text(&w, out_str(": "), WRAP_BOLD);
			}
			put_cell(d->t, &d->t->cells[row->cell + k], &w, 0);
			wrap_end(&w);
		}
	}
	wrap_release(&w);
}

void table_print(const struct table *t, struct out *o, const struct wrap_prefix *first,
		 const struct wrap_prefix *rest, unsigned width)
{
	enum { MOST = 64 };
	unsigned widths[MOST], lines;
	struct out texts[MOST];
	struct drawing d = { t, o, first, rest, widths, texts, nr_columns(t) };

	if (!d.nr)
		return;
	lines = BETWEEN * (unsigned)(d.nr - 1) + rest->width;
	if (d.nr <= MOST && width > lines && find_widths(t, widths, d.nr, width - lines))
		draw(&d);
	else
		tell_rows(&d, width);
}
