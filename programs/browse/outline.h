/*
 * outline.h: the tree of a session, as rows that can be folded.
 *
 * A model over a shape (see shape.h), independent of any terminal. Rows are the nodes in
 * drawing order, without those below a folded one. As in pi, a reply with only tool calls
 * is not shown. That is known only after reading it, so rows are read when somebody looks
 * at them, and moving the selection skips such rows.
 *
 * A branch point indents its children. Each row knows its innermost level, and each level
 * the one around it:
 *
 *	row   0 a       no level
 *	      1 ├─b     level 0: child b, no outer one
 *	      2 │ c     level 0
 *	      3 └─d     level 1: child d, no outer one
 */
#ifndef BROWSE_OUTLINE_H
#define BROWSE_OUTLINE_H

#include "away.h"
#include "kit/brief.h"
#include "cursor.h"
#include "kit/shape.h"

struct outline_level {
	uint32_t child, outer;   /* the node drawn with a corner; the level around this one */
};

struct outline_brief {
	uint32_t node;
	struct brief b;
};

struct outline {
	struct grove_view *v;    /* not owned */
	struct away *away;       /* not owned; NULL: its store always answers */
	struct shape s;
	enum shape_filter filter;
	int merged;              /* a reply consists of several records (Claude) */
	uint32_t *rows, *level_of;   /* nodes, and the innermost level of each row; GROVE_NO_ENTRY
	                                if none */
	size_t nr;
	uint32_t *row_of;        /* by record: the row of a node, GROVE_NO_ENTRY if folded */
	uint32_t *below;         /* by record: how many nodes are below it */
	unsigned char *state;    /* by record: enum outline_state in outline.c */
	unsigned char *folded;   /* by entry: survives a new view */
	uint32_t nr_folded;      /* its size */
	struct outline_level *levels;
	size_t nr_levels, cap_levels;
	uint32_t leaf;           /* the node with the leaf; GROVE_NO_ENTRY if none */
	struct cursor cursor;    /* over `rows` */
	struct outline_brief *briefs;  /* the rows read last */
};

/*
 * Lays out the rows of a view; selects the leaf at first, later keeps the selection.
 * Returns 0 or the library's error.
 */
int outline_take(struct outline *o, struct grove_view *v, enum shape_filter filter, int merged);
void outline_release(struct outline *o);
/* Reads all rows again. */
void outline_reread(struct outline *o);

/* Returns the next (`by` 1) or previous (-1) visible row, or the same one if there is none. */
size_t outline_step(struct outline *o, size_t row, int by);
/* Moves the selection by a number of visible rows. */
void outline_move(struct outline *o, long by);
/* Selects the first or the last row. */
void outline_end(struct outline *o, int last);
/* Makes the selected row visible on a screen of `height` rows. */
void outline_fit(struct outline *o, size_t height);
/*
 * Returns the entry of the selected row: the last record of a reply; GROVE_NO_ENTRY without
 * rows.
 */
uint32_t outline_entry(const struct outline *o);
/* Returns its first record. */
uint32_t outline_first(const struct outline *o);
/* Selects the row of an entry and unfolds what hides it; for a hidden one, the row above it. */
void outline_select(struct outline *o, uint32_t entry);
/* Returns true if the selected row contains the leaf. */
int outline_at_leaf(const struct outline *o);
/* Returns true if the row of an entry contains the leaf. */
int outline_has_leaf(const struct outline *o, uint32_t entry);

/* Folds or unfolds the selected row. Returns 0 if nothing is below it. */
int outline_fold(struct outline *o, int fold);
int outline_is_folded(const struct outline *o);
/*
 * Folds all branches that are not on the path to the leaf, or unfolds them if any is folded.
 * Returns 0 if there is none.
 */
int outline_fold_others(struct outline *o);
/*
 * Selects the next (`by` 1) or previous (-1) row where a branch begins, or one with a
 * label. Returns 0 if there is none.
 */
int outline_branch(struct outline *o, int by);
int outline_label(struct outline *o, int by);
/* Returns the newest end of the selected row's branch. */
uint32_t outline_tip(const struct outline *o);

typedef void outline_fn(void *payload, uint32_t entry);
/* Reports the ends of all branches, and the entries with labels. */
void outline_tips(const struct outline *o, outline_fn *fn, void *payload);
void outline_labels(const struct outline *o, outline_fn *fn, void *payload);

/*
 * Prints "user" and so on, as a column; if `width` is small, only its first letter, or a sign
 * for tool results. Returns its width.
 */
unsigned outline_print_word(struct out *to, const struct grove_entry *e, unsigned width);
/* Prints a row within `width` columns. */
int outline_print(struct outline *o, struct out *to, size_t row, unsigned width);

#endif
