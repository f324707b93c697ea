/*
 * tree/index.c: from a log of lines to a tree.
 *
 * Lines are in the order they were written and name their parent by id. We keep that
 * order and add three arrays:
 *
 *     line      0:header  1:a  2:b  3:c  4:d
 *     parent       -       -    1    2    2     b was continued twice
 *     child        -       2    3    -    -     first child
 *     sibling      -       -    -    4    -     next with the same parent
 *
 * What grove writes has parent[i] < i; other files may name a later line, which is
 * fine. An entry whose parent is missing, or closes a cycle, becomes a root marked
 * ORPHAN or CYCLE: shown, reported by check, never dropped. If two lines have one id,
 * the later is the entry, in the position of the earlier.
 */
#include "tree/tree.h"

#include <stdlib.h>

/* Parents that did not exist when their child was added may exist by now. */
static void settle_pending(struct grove__spine *s, uint32_t from)
{
	size_t keep = 0;

	for (size_t i = 0; i < s->nr_pending; i++) {
		struct grove__pending p = s->pending[i];
		uint32_t parent;

		if (p.row < from) {
			s->pending[keep++] = p;
			continue;
		}
		parent = grove__idmap_get(&s->ids, grove__spine_name(p.parent));
		if (parent != GROVE__IDMAP_NONE) {
			grove__spine_set_parent(s, p.row, parent);
			s->forward = true;
			continue;
		}
		grove__spine_set_flag(s, p.row, ROW_ORPHAN);
		s->nr_orphans++;
		s->pending[keep++] = p; /* an orphan may find its parent on a later reload */
	}
	s->nr_pending = keep;
}

/* True if one of the rows from `from` on is the parent of an earlier orphan. */
static bool answers_orphan(struct grove__spine *s, uint32_t from)
{
	for (size_t i = 0; i < s->nr_pending && s->pending[i].row < from; i++)
		if (grove__idmap_get(&s->ids, grove__spine_name(s->pending[i].parent)) !=
		    GROVE__IDMAP_NONE)
			return true;
	return false;
}

/* Returns the row that counts for the id of `row`. */
static uint32_t winner(const struct grove__spine *s, uint32_t row)
{
	if (row == GROVE_NO_ENTRY || !(grove__spine_flags(s, row) & ROW_SUPERSEDED))
		return row;
	return grove__idmap_get(&s->ids, grove__spine_name(grove__spine_id(s, row)));
}

/*
 * Breaks cycles. From every row, walks up until the root, a row known to be good, or
 * one met on this very walk: that closes a cycle, whose first member in the log becomes
 * a root.
 */
static int break_cycles(struct grove__spine *s)
{
	enum { NEW, WALK, GOOD };
	uint8_t *state = calloc(s->nr ? s->nr : 1, 1);
	uint32_t row, r, first;

	if (!state)
		return GROVE_ENOMEM;
	for (row = 0; row < s->nr; row++) {
		for (r = row; r != GROVE_NO_ENTRY && state[r] == NEW; r = grove__spine_parent(s, r))
			state[r] = WALK;
		if (r != GROVE_NO_ENTRY && state[r] == WALK) {
			uint32_t end = r;

			/* go all the way round: the walk may have entered after `first` */
			first = r;
			do {
				state[r] = GOOD;
				r = grove__spine_parent(s, r);
				if (r < first)
					first = r;
			} while (r != end);
			grove__spine_set_parent(s, first, GROVE_NO_ENTRY);
			grove__spine_set_flag(s, first, ROW_CYCLE);
			s->nr_cycles++;
		}
		for (r = row; r != GROVE_NO_ENTRY && state[r] == WALK; r = grove__spine_parent(s, r))
			state[r] = GOOD;
	}
	free(state);
	return 0;
}

/* Puts every entry in the position of the first line that had its id. */
static int link_with_duplicates(struct grove__spine *s)
{
	uint8_t *hung = calloc(s->nr ? s->nr : 1, 1);

	if (!hung)
		return GROVE_ENOMEM;
	for (uint32_t row = 0; row < s->nr; row++) {
		uint32_t w = winner(s, row);

		if (hung[w] || grove__spine_flags(s, w) & ROW_ASIDE)
			continue;
		hung[w] = 1;
		grove__spine_link_child(s, w);
	}
	free(hung);
	return 0;
}

int grove__tree_link(struct grove__spine *s, uint32_t from)
{
	int rc;

	s->shared = true;
	if (from && (s->duplicates || answers_orphan(s, from)))
		return GROVE_ESTALE;
	settle_pending(s, from);
	if (from && s->forward)
		return GROVE_ESTALE;
	if (!s->duplicates && !s->forward) {
		for (uint32_t row = from; row < s->nr; row++)
			if (!(grove__spine_flags(s, row) & ROW_ASIDE))
				grove__spine_link_child(s, row);
		s->linked = s->nr;
		return 0;
	}
	for (uint32_t row = 0; row < s->nr && s->duplicates; row++)
		grove__spine_set_parent(s, row, winner(s, grove__spine_parent(s, row)));
	rc = break_cycles(s);
	if (!rc)
		rc = link_with_duplicates(s);
	/* settled: later rows are judged by themselves */
	s->duplicates = s->forward = false;
	s->linked = s->nr;
	return rc;
}
