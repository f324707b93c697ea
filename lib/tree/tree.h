/*
 * tree/tree.h: parents, children, paths. No JSON, no files.
 *
 * A "row" is an index into the spine; `nr` says how many rows the caller
 * knows of. GROVE_NO_ENTRY is no row.
 */
#ifndef GROVE_TREE_TREE_H
#define GROVE_TREE_TREE_H

#include "tree/spine.h"

/*
 * index.c: settle the parents of the rows from `from` on and hang every row
 * into its parent's list. With from = 0 anything goes: duplicate ids, parents
 * that come later, circles. With more rows already linked, GROVE_ESTALE if the
 * new ones disturb what is there (a duplicate id, the late parent of an
 * orphan): then build a new spine.
 */
int grove__tree_link(struct grove__spine *s, uint32_t from);

/* path.c: the way from the root to `row`, root first. Free *out with free(). */
int grove__tree_path(const struct grove__spine *s, uint32_t row, uint32_t **out, size_t *nr);
/* The row that a leaf stands for: leaf marks are looked through. */
uint32_t grove__tree_leaf(const struct grove__spine *s, uint32_t row);
/*
 * The leaf of a log that ends here: the last row, or what that one stands for.
 * Rows with neither an id nor a parent do not end a conversation, for nothing
 * could go on from them; they count only where there are no others.
 */
uint32_t grove__tree_last(const struct grove__spine *s);
/* The last row before `row` that has an id: its parent, in a log without branches. */
uint32_t grove__tree_before(const struct grove__spine *s, uint32_t row);
/* `row` itself, or the nearest ancestor that has an id. */
uint32_t grove__tree_named(const struct grove__spine *s, uint32_t row);

/*
 * walk.c: the children of `row` (GROVE_NO_ENTRY: the roots) in append order or by
 * time. Free *out with free().
 */
int grove__tree_children(const struct grove__spine *s, uint32_t nr, uint32_t row, bool by_time,
			 uint32_t **out, size_t *count);
/*
 * The same in append order, with leaf marks looked through: in the place of one
 * stands what hangs below it.
 */
int grove__tree_unmarked(const struct grove__spine *s, uint32_t nr, uint32_t row, uint32_t **out,
			 size_t *count);
/* Has `row` more than one of these children? */
bool grove__tree_forks(const struct grove__spine *s, uint32_t row);
static inline bool grove__tree_is_mark(const struct grove__spine *s, uint32_t row)
{
	return grove__spine_flags(s, row) & ROW_LEAF_MARK;
}

/*
 * labels.c: the labels as they stand after all events, in the order a map
 * keeps: setting one again leaves it in its place, clearing forgets the place.
 * Immutable and counted, so that views share it.
 */
struct grove__label {
	const char *target;    /* as an id */
	const char *text;
	uint32_t row;          /* the target, or GROVE_NO_ENTRY if there is no such entry */
	uint32_t set_by;       /* the row that set it */
};
struct grove__labels {
	unsigned refs;         /* atomic */
	size_t nr;
	uint32_t *by_row;      /* places in `label`, sorted by row */
	struct grove__label label[];
};
struct grove__labels *grove__labels_new(const struct grove__spine *s);
struct grove__labels *grove__labels_ref(struct grove__labels *l);
void grove__labels_unref(struct grove__labels *l);
/* Is there one whose entry is not there, and may still come? */
bool grove__labels_wait(const struct grove__labels *l);
/* The label of a row, or NULL. */
const struct grove__label *grove__labels_get(const struct grove__labels *l, uint32_t row);

#endif
