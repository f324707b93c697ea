/*
 * check/fix_tree.c: attaches entries that have no valid parent.
 *
 * An entry whose parent was never written, or whose parents form a cycle, is attached
 * to the entry before it in the log: most likely it was written there, and from there
 * the path leads up to a root. If that one is a descendant of the entry itself, the
 * entry becomes a root, because anything else would be a cycle.
 */
#include "check/fix.h"

#include <stdlib.h>

/* Returns the end of the path up from a row; paths are compressed on the way. */
static uint32_t top_of(uint32_t *up, uint32_t row)
{
	while (up[row] != row) {
		up[row] = up[up[row]];
		row = up[row];
	}
	return row;
}

/* True if it can have children. */
static bool can_be_parent(const struct grove__spine *s, uint32_t row)
{
	return grove__spine_id(s, row) && !(grove__spine_flags(s, row) & ROW_ASIDE) &&
	       grove__spine_kind(s, row) != GROVE_KIND_PROGRESS;
}

static int hang(struct grove__plan *p, uint32_t row, uint32_t below, uint32_t *up)
{
	bool cycle = grove__spine_flags(p->spine, row) & ROW_CYCLE;
	struct grove__change *c = grove__plan_change(p, row, cycle ? CYCLE : ORPHAN);

	if (!c)
		return grove__fail_nomem(p->d);
	if (below != GROVE_NO_ENTRY && top_of(up, below) == top_of(up, row))
		below = GROVE_NO_ENTRY;
	c->relink = true;
	c->parent = below == GROVE_NO_ENTRY ? NULL : grove__spine_id(p->spine, below);
	if (below != GROVE_NO_ENTRY)
		up[row] = below;
	return 0;
}

int grove__plan_tree(struct grove__plan *p)
{
	struct grove__spine *s = p->spine;
	uint32_t *up, before[2] = { GROVE_NO_ENTRY, GROVE_NO_ENTRY };
	int rc = grove__tree_link(s, 0);

	if (rc)
		return grove__fail_nomem(p->d);
	if (!s->nr_orphans && !s->nr_cycles)
		return 0;
	up = malloc(((size_t)s->nr + 1) * sizeof(*up));
	if (!up)
		return grove__fail_nomem(p->d);
	for (uint32_t row = 0; row < s->nr; row++)
		up[row] = grove__spine_parent(s, row) == GROVE_NO_ENTRY ? row : grove__spine_parent(s, row);
	for (uint32_t row = 0; row < s->nr && !rc; row++) {
		/* a side chain continues where it was, and so does the main conversation */
		bool side = grove__model_side(&p->model, row);

		if (grove__spine_flags(s, row) & (ROW_ORPHAN | ROW_CYCLE))
			rc = hang(p, row, before[side], up);
		if (can_be_parent(s, row))
			before[side] = row;
	}
	free(up);
	return rc;
}
