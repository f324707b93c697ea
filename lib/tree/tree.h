/*
 * tree/tree.h: parents, children, paths. No JSON, no files.
 *
 * A "row" is an index into the spine; `nr` is the number of rows that the caller knows.
 * GROVE_NO_ENTRY is not a row.
 */
#ifndef GROVE_TREE_TREE_H
#define GROVE_TREE_TREE_H

#include "tree/spine.h"

/*
 * index.c: finds the parents of the rows from `from` on and adds every row to its
 * parent's list. With from = 0 anything goes: duplicate ids, parents that come later,
 * cycles. If rows are already linked, GROVE_ESTALE if the new ones affect them (a
 * duplicate id, the late parent of an orphan): then build a new spine.
 */
int grove__tree_link(struct grove__spine *s, uint32_t from);

/* path.c: gets the path from the root to `row`, root first. Free *out with free(). */
int grove__tree_path(const struct grove__spine *s, uint32_t row, uint32_t **out, size_t *nr);
/* Returns the row that a leaf stands for: for a leaf marker, its parent. */
uint32_t grove__tree_leaf(const struct grove__spine *s, uint32_t row);
/*
 * Returns the last of the first `nr` rows. Rows with neither an id nor a parent do not
 * end a conversation, because nothing could continue from them; they count only if
 * there are no others.
 */
uint32_t grove__tree_end(const struct grove__spine *s, uint32_t nr);
/* Returns the leaf of a log that ends here: its end, or what that one stands for. */
uint32_t grove__tree_last(const struct grove__spine *s);
/* Returns the last row before `row` that has an id: its parent, in a log without branches. */
uint32_t grove__tree_before(const struct grove__spine *s, uint32_t row);
/* Returns `row` itself, or the nearest ancestor that has an id. */
uint32_t grove__tree_named(const struct grove__spine *s, uint32_t row);

/*
 * walk.c: gets the children of `row` (GROVE_NO_ENTRY: the roots) in append order or by
 * time. Free *out with free().
 */
int grove__tree_children(const struct grove__spine *s, uint32_t nr, uint32_t row, bool by_time,
			 uint32_t **out, size_t *count);
/* The same in append order, with each leaf marker replaced by its children. */
int grove__tree_unmarked(const struct grove__spine *s, uint32_t nr, uint32_t row, uint32_t **out,
			 size_t *count);
/* True if `row` has more than one of these children. */
bool grove__tree_forks(const struct grove__spine *s, uint32_t row);
static inline bool grove__tree_is_mark(const struct grove__spine *s, uint32_t row)
{
	return grove__spine_flags(s, row) & ROW_LEAF_MARK;
}

/*
 * labels.c: the current labels, in the order of a JavaScript map: setting one again
 * leaves it in its position, clearing removes the position. Immutable and
 * reference-counted, so that views share it.
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
/* True if there is one whose entry does not exist, and may still come. */
bool grove__labels_wait(const struct grove__labels *l);
/* Returns the label of a row, or NULL. */
const struct grove__label *grove__labels_get(const struct grove__labels *l, uint32_t row);

#endif
