/*
 * tree/path.c: the way from the root to an entry.
 */
#include "tree/tree.h"

#include <stdlib.h>

int grove__tree_path(const struct grove__spine *s, uint32_t row, uint32_t **out, size_t *nr)
{
	uint32_t *path, r;
	size_t n = 0;

	for (r = row; r != GROVE_NONE; r = grove__spine_parent(s, r))
		n++;
	path = malloc((n ? n : 1) * sizeof(*path));
	if (!path)
		return GROVE_ENOMEM;
	*out = path;
	*nr = n;
	for (r = row; r != GROVE_NONE; r = grove__spine_parent(s, r))
		path[--n] = r;
	return 0;
}

uint32_t grove__tree_leaf(const struct grove__spine *s, uint32_t row)
{
	while (row != GROVE_NONE && grove__spine_flags(s, row) & ROW_LEAF_MARK)
		row = grove__spine_parent(s, row);
	return row;
}

uint32_t grove__tree_named(const struct grove__spine *s, uint32_t row)
{
	while (row != GROVE_NONE && !grove__spine_id(s, row))
		row = grove__spine_parent(s, row);
	return row;
}
