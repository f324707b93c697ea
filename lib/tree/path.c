/* tree/path.c: the path from the root to an entry. */
#include "tree/tree.h"

#include <stdlib.h>

int grove__tree_path(const struct grove__spine *s, uint32_t row, uint32_t **out, size_t *nr)
{
	size_t n = 0, cap = 256;
	uint32_t *path = malloc(cap * sizeof(*path)), *more;

	/* walk up from the leaf only once: parents are far apart in memory */
	for (; path && row != GROVE_NO_ENTRY; row = grove__spine_parent(s, row)) {
		if (n == cap) {
			cap *= 2;
			more = realloc(path, cap * sizeof(*path));
			if (!more)
				free(path);
			path = more;
			if (!path)
				break;
		}
		path[n++] = row;
	}
	if (!path)
		return GROVE_ENOMEM;
	*out = path;
	*nr = n;
	for (size_t i = 0; i < n / 2; i++) {
		uint32_t swap = path[i];

		path[i] = path[n - 1 - i];
		path[n - 1 - i] = swap;
	}
	return 0;
}

uint32_t grove__tree_leaf(const struct grove__spine *s, uint32_t row)
{
	while (row != GROVE_NO_ENTRY && grove__spine_flags(s, row) & ROW_LEAF_MARK)
		row = grove__spine_parent(s, row);
	return row;
}

/* A number, a string, an array, {}: not connected to other entries. */
static bool is_loose(const struct grove__spine *s, uint32_t row)
{
	const unsigned loose = ROW_NO_ID | ROW_PARENT_ABSENT;

	return (grove__spine_flags(s, row) & loose) == loose;
}

uint32_t grove__tree_end(const struct grove__spine *s, uint32_t nr)
{
	uint32_t row = nr;

	while (row && is_loose(s, row - 1))
		row--;
	/* only such rows: the last one is as good as any */
	if (!row)
		row = nr;
	return row ? row - 1 : GROVE_NO_ENTRY;
}

uint32_t grove__tree_last(const struct grove__spine *s)
{
	return grove__tree_leaf(s, grove__tree_end(s, s->nr));
}

uint32_t grove__tree_before(const struct grove__spine *s, uint32_t row)
{
	while (row && !grove__spine_id(s, row - 1))
		row--;
	return row ? row - 1 : GROVE_NO_ENTRY;
}

uint32_t grove__tree_named(const struct grove__spine *s, uint32_t row)
{
	while (row != GROVE_NO_ENTRY && !grove__spine_id(s, row))
		row = grove__spine_parent(s, row);
	return row;
}
