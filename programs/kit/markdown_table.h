/*
 * markdown_table.h: draws a Markdown table so that it fits.
 *
 * Add a table row by row and cell by cell, then print it:
 *
 *	table_row(&t); table_cell(&t, TABLE_LEFT); table_text(&t, text, style); …
 *	table_print(&t, o, &first, &rest, width);
 *
 * Columns are as wide as their texts; if that is too much, the widest are narrowed and
 * their texts wrapped. If even that is unreadable, each row becomes a paragraph that names
 * its columns.
 */
#ifndef CLI_MARKDOWN_TABLE_H
#define CLI_MARKDOWN_TABLE_H

#include "wrap.h"

enum table_align {
	TABLE_LEFT,
	TABLE_CENTER,
	TABLE_RIGHT
};

struct table_run {
	size_t at, len;          /* in `bytes` */
	unsigned style;
};
struct table_cell {
	size_t run, nr;          /* in `runs` */
	unsigned width;          /* of its text on one line */
	enum table_align align;
};
struct table_row {
	size_t cell, nr;         /* in `cells` */
};

/* Initialize to zero, and end with table_release(). The first row is the head. */
struct table {
	struct out bytes;
	struct table_run *runs;
	struct table_cell *cells;
	struct table_row *rows;
	size_t nr_runs, nr_cells, nr_rows, cap_runs, cap_cells, cap_rows;
};

void table_row(struct table *t);
void table_cell(struct table *t, enum table_align align);
void table_text(struct table *t, struct grove_slice text, unsigned style);
void table_print(const struct table *t, struct out *o, const struct wrap_prefix *first,
		 const struct wrap_prefix *rest, unsigned width);
/* Drops all rows; the table can be used again. */
void table_release(struct table *t);

#endif
