/*
 * shape.h: the tree of a session as it is drawn.
 *
 * Not every record is a node. A filter hides some, and what hangs below a hidden one
 * moves up to the nearest node that is shown. Claude Code writes a reply as several
 * records, one a block, and the results of its calls below them; with parallel calls
 * that is a staircase, so a reply and its results are one node:
 *
 *	record    a1 ── a2 ──┬─ a3 ── r3 ── u4         a1 a2 a3 are one reply,
 *	                     └─ r2                     r2 and r3 its results
 *	node      a1 ── u4
 */
#ifndef CLI_SHAPE_H
#define CLI_SHAPE_H

#include "cli.h"

/* As pi's own selector has them. */
enum shape_filter {
	SHAPE_DEFAULT,       /* without labels, settings, names and data of extensions */
	SHAPE_NO_TOOLS,      /* nor results of tools */
	SHAPE_USER_ONLY,
	SHAPE_LABELED_ONLY,
	SHAPE_ALL
};
extern const char *const shape_filters[];

struct shape {
	struct grove_columns *c;
	/* by the place of a record in the columns; GROVE_NO_ENTRY: none */
	uint32_t *node;      /* the node that it belongs to, or hangs below if it is hidden */
	uint32_t *nearest;   /* itself, or the nearest record above it that is not hidden */
	uint32_t *first, *next, *prev;  /* of a node: its first child, its next sibling; prev is for building */
	uint32_t *more;      /* the next record of the same node */
	uint32_t *last;      /* of a node: its last record */
	uint32_t *results;   /* of a node: how many results it holds */
	uint32_t root;       /* the first root */
	int merged;          /* replies are one node */
};

/*
 * Lays out the nodes; `records` shows every record. 0, or what the library returned.
 * Release it in any case.
 */
int shape_make(struct shape *s, struct grove_view *v, enum shape_filter filter, int records, int merged);
void shape_release(struct shape *s);

#endif
