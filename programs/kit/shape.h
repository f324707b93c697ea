/*
 * shape.h: the tree of a session as it is drawn.
 *
 * Not every record is a node. A filter hides some, and whatever is below a hidden record
 * moves up to the nearest visible node. Claude Code writes a reply as several records, one
 * per block, with the results of its calls below them. With parallel calls this looks like
 * a staircase, so a reply and its results form one node:
 *
 *	record    a1 ── a2 ──┬─ a3 ── r3 ── u4         a1 a2 a3 are one reply,
 *	                     └─ r2                     r2 and r3 its results
 *	node      a1 ── u4
 */
#ifndef CLI_SHAPE_H
#define CLI_SHAPE_H

#include "cli.h"

/* The same as in pi's own selector. */
enum shape_filter {
	SHAPE_DEFAULT,       /* without labels, settings, names and extension data */
	SHAPE_NO_TOOLS,      /* and without tool results */
	SHAPE_USER_ONLY,
	SHAPE_LABELED_ONLY,
	SHAPE_ALL
};
extern const char *const shape_filters[];

/* The leaf is in the conversation, and the filter hides it. */
#define SHAPE_FILTERED (GROVE_NO_ENTRY - 1)

struct shape {
	struct grove_columns *c;
	/* indexed by record; GROVE_NO_ENTRY for none */
	uint32_t *node;      /* its node, or the one above it if it is hidden */
	uint32_t *nearest;   /* itself, or the nearest visible record above */
	uint32_t *first, *next, *prev;  /* of a node: first child, next sibling; prev is used
	                                   while building */
	uint32_t *more;      /* the next record of the same node */
	uint32_t *last;      /* of a node: its last record */
	uint32_t *results;   /* of a node: how many results it holds */
	uint32_t root;       /* the first root */
	uint32_t leaf;       /* the node of the leaf; GROVE_NO_ENTRY: above all, SHAPE_FILTERED */
	int merged;          /* replies are merged into nodes */
};

/*
 * Lays out the nodes; with `records`, one for every record. Returns 0 or the library's
 * error. Release it in any case.
 */
int shape_make(struct shape *s, struct grove_view *v, enum shape_filter filter, int records, int merged);
void shape_release(struct shape *s);

#endif
