/*
 * tree/walk.c: the children of an entry, in the order asked for.
 */
#include "tree/tree.h"

#include <stdlib.h>

/* An invalid time compares as equal to every other, as in JavaScript. */
static bool later(const struct grove__spine *s, uint32_t a, uint32_t b)
{
	int64_t x = grove__spine_time(s, a), y = grove__spine_time(s, b);

	return x != GROVE_NO_TIME && y != GROVE_NO_TIME && x > y;
}

/*
 * JavaScript's sort for short lists: takes the ordered run at the start (a descending
 * one is reversed), then inserts each row by binary search. With dates that compare as
 * equal to everything, the result depends on which rows are compared; this gives the
 * agents' own tree.
 */
#define SHORT ((size_t)64)

static void sort_short(const struct grove__spine *s, uint32_t *rows, size_t nr)
{
	size_t run = 2;

	if (nr < 2)
		return;
	if (later(s, rows[0], rows[1])) {
		while (run < nr && later(s, rows[run - 1], rows[run]))
			run++;
		for (size_t a = 0, b = run - 1; a < b; a++, b--) {
			uint32_t swap = rows[a];

			rows[a] = rows[b];
			rows[b] = swap;
		}
	} else {
		while (run < nr && !later(s, rows[run - 1], rows[run]))
			run++;
	}
	for (; run < nr; run++) {
		uint32_t row = rows[run];
		size_t lo = 0, hi = run;

		while (lo < hi) {
			size_t mid = lo + (hi - lo) / 2;

			if (later(s, rows[mid], row))
				hi = mid;
			else
				lo = mid + 1;
		}
		memmove(rows + lo + 1, rows + lo, (run - lo) * sizeof(*rows));
		rows[lo] = row;
	}
}

/* Long lists: merged, stable. */
static int sort_long(const struct grove__spine *s, uint32_t *rows, size_t nr)
{
	uint32_t *tmp, *from = rows, *to, *swap;
	size_t width, lo;

	tmp = malloc(nr * sizeof(*tmp));
	if (!tmp)
		return GROVE_ENOMEM;
	to = tmp;
	for (width = 1; width < nr; width *= 2) {
		for (lo = 0; lo < nr; lo += 2 * width) {
			size_t mid = lo + width < nr ? lo + width : nr;
			size_t hi = lo + 2 * width < nr ? lo + 2 * width : nr;
			size_t a = lo, b = mid;

			for (size_t k = lo; k < hi; k++)
				if (a < mid && (b >= hi || !later(s, from[a], from[b])))
					to[k] = from[a++];
				else
					to[k] = from[b++];
		}
		swap = from;
		from = to;
		to = swap;
	}
	if (from != rows)
		memcpy(rows, from, nr * sizeof(*rows));
	free(tmp);
	return 0;
}

/* Fast for the usual case, a list that is already in order. */
static int sort_by_time(const struct grove__spine *s, uint32_t *rows, size_t nr)
{
	size_t i;

	for (i = 1; i < nr && !later(s, rows[i - 1], rows[i]); i++)
		;
	if (i >= nr)
		return 0;
	if (nr >= SHORT)
		return sort_long(s, rows, nr);
	sort_short(s, rows, nr);
	return 0;
}

int grove__tree_children(const struct grove__spine *s, uint32_t nr, uint32_t row, bool by_time,
			 uint32_t **out, size_t *count)
{
	uint32_t first = row == GROVE_NO_ENTRY ? __atomic_load_n(&s->root_first, __ATOMIC_RELAXED)
					   : grove__spine_child(s, row);
	uint32_t r, *rows;
	size_t n = 0;
	int rc = 0;

	/* rows after `nr` were added after the caller's view was taken */
	for (r = first; r != GROVE_NO_ENTRY && r < nr; r = grove__spine_sibling(s, r))
		n++;
	rows = malloc((n ? n : 1) * sizeof(*rows));
	if (!rows)
		return GROVE_ENOMEM;
	n = 0;
	for (r = first; r != GROVE_NO_ENTRY && r < nr; r = grove__spine_sibling(s, r))
		rows[n++] = r;
	/* roots stay in the order of the log */
	if (by_time && row != GROVE_NO_ENTRY)
		rc = sort_by_time(s, rows, n);
	if (rc) {
		free(rows);
		return rc;
	}
	*out = rows;
	*count = n;
	return 0;
}

static int by_row(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

int grove__tree_unmarked(const struct grove__spine *s, uint32_t nr, uint32_t row, uint32_t **out,
			 size_t *count)
{
	uint32_t *rows = NULL, *below, *more;
	size_t n = 0, nr_below, kept = 0;
	bool sorted = true;
	int rc = grove__tree_children(s, nr, row, false, &rows, &n);

	/* a marker may be below a marker: the list grows while we go through it */
	for (size_t i = 0; !rc && i < n; i++) {
		if (!grove__tree_is_mark(s, rows[i]) || grove__spine_child(s, rows[i]) == GROVE_NO_ENTRY)
			continue;
		rc = grove__tree_children(s, nr, rows[i], false, &below, &nr_below);
		if (rc)
			break;
		more = realloc(rows, (n + nr_below + 1) * sizeof(*rows));
		if (more) {
			rows = more;
			memcpy(rows + n, below, nr_below * sizeof(*rows));
			n += nr_below;
			sorted = false;
		} else {
			rc = GROVE_ENOMEM;
		}
		free(below);
	}
	if (rc) {
		free(rows);
		return rc;
	}
	for (size_t i = 0; i < n; i++)
		if (!grove__tree_is_mark(s, rows[i]))
			rows[kept++] = rows[i];
	if (!sorted)
		qsort(rows, kept, sizeof(*rows), by_row);
	*out = rows;
	*count = kept;
	return 0;
}

bool grove__tree_forks(const struct grove__spine *s, uint32_t row)
{
	uint32_t at = grove__spine_child(s, row);
	unsigned found = 0;

	while (at != GROVE_NO_ENTRY) {
		if (!grove__tree_is_mark(s, at) && ++found > 1)
			return true;
		if (grove__tree_is_mark(s, at) && grove__spine_child(s, at) != GROVE_NO_ENTRY) {
			at = grove__spine_child(s, at);
			continue;
		}
		/* go up from the last child of a marker */
		while (grove__spine_sibling(s, at) == GROVE_NO_ENTRY) {
			at = grove__spine_parent(s, at);
			if (at == row)
				return false;
		}
		at = grove__spine_sibling(s, at);
	}
	return false;
}
