/*
 * outline.h: the tree of a session, as rows that can be folded.
 *
 * A model over a shape (see shape.h), which knows nothing of a terminal. Rows are the
 * nodes in the order in which they are drawn, without those below a folded one. As in
 * pi, a reply that only calls tools is not shown; whether it is one is known only when
 * it is read, so rows are read when somebody looks at them, and steps pass over those.
 *
 * A branch point moves its children to the right. Each row knows its innermost level,
 * and each level the one around it:
 *
 *	row   0 a       no level
 *	      1 ├─b     level 0: child b, no outer one
 *	      2 │ c     level 0
 *	      3 └─d     level 1: child d, no outer one
 */
#ifndef BROWSE_OUTLINE_H
#define BROWSE_OUTLINE_H

#include "brief.h"
#include "cursor.h"
#include "shape.h"

struct outline_level {
	uint32_t child, outer;   /* the node that is drawn with a corner; the level around this one */
};

struct outline_brief {
	uint32_t node;
	struct brief b;
};

struct outline {
	struct grove_view *v;    /* not ours */
	struct shape s;
	enum shape_filter filter;
	int merged;              /* a reply is several records (Claude) */
	uint32_t *rows, *level_of;   /* nodes, and the innermost level of each row; GROVE_NO_ENTRY: none */
	size_t nr;
	uint32_t *row_of;        /* by record: the row of a node, GROVE_NO_ENTRY if it is folded away */
	uint32_t *below;         /* by record: how many nodes are below a node */
	unsigned char *state;    /* by record: enum outline_state in outline.c */
	unsigned char *folded;   /* by entry: survives a new view */
	uint32_t nr_folded;      /* its size */
	struct outline_level *levels;
	size_t nr_levels, cap_levels;
	uint32_t leaf;           /* the node that the leaf belongs to; GROVE_NO_ENTRY: none */
	struct cursor cursor;    /* over `rows` */
	struct outline_brief *briefs;  /* what was read last */
};

/*
 * Lays out the rows of a view; the leaf is selected at first, then what was. 0, or what the
 * library returned.
 */
int outline_take(struct outline *o, struct grove_view *v, enum shape_filter filter, int merged);
void outline_release(struct outline *o);

/* The row after (`by` 1) or before (-1) a row that is shown; the same one if there is none. */
size_t outline_step(struct outline *o, size_t row, int by);
/* Moves the selection by so many rows that are shown. */
void outline_move(struct outline *o, long by);
/* Selects the first or the last row. */
void outline_end(struct outline *o, int last);
/* Makes the selected row visible on a screen of `height` rows. */
void outline_fit(struct outline *o, size_t height);
/* The entry that the selected row stands for: of a reply its last record; GROVE_NO_ENTRY: there are no rows. */
uint32_t outline_entry(const struct outline *o);
/* Its first record. */
uint32_t outline_first(const struct outline *o);
/* Selects the row that has an entry, unfolding what hides it; of a hidden one, the row it hangs below. */
void outline_select(struct outline *o, uint32_t entry);
/* Is the selected row the leaf's? */
int outline_at_leaf(const struct outline *o);

/* Folds or unfolds the selected row. 0: there is nothing below it. */
int outline_fold(struct outline *o, int fold);
int outline_is_folded(const struct outline *o);
/* Folds all branches that are not on the way to the leaf; if there are such, unfolds them. */
void outline_fold_others(struct outline *o);
/* Selects the next (`by` 1) or previous (-1) row where a branch begins; or one with a label. 0: there is none. */
int outline_branch(struct outline *o, int by);
int outline_label(struct outline *o, int by);
/* The newest end of the branch that the selected row is on. */
uint32_t outline_tip(const struct outline *o);

typedef void outline_fn(void *payload, uint32_t entry);
/* Reports the ends of all branches, and the entries that have labels. */
void outline_tips(const struct outline *o, outline_fn *fn, void *payload);
void outline_labels(const struct outline *o, outline_fn *fn, void *payload);

/* Prints a row within `width` columns. */
int outline_print(struct outline *o, struct out *to, size_t row, unsigned width);

#endif
