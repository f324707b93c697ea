/*
 * catalog/shape.h: what only the tree of a session tells, for a long list.
 */
#ifndef GROVE_CATALOG_SHAPE_H
#define GROVE_CATALOG_SHAPE_H

#include "catalog/list_read.h"

struct grove__shape {
	uint64_t entries, branches, compactions, malformed;
	bool torn;
	const char *leaf;            /* NULL: none; good as long as `tmp` below */
};

/* Of a session that was just read for a list; known from an earlier one, or loaded. */
int grove__shape_of(struct grove *g, struct grove__catalog *c, const struct grove__list_one *x,
		    struct grove__arena *tmp, struct grove__shape *out, struct grove_detail *d);

#endif
