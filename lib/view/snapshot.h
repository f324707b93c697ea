/*
 * view/snapshot.h: a session as a user interface loads it.
 */
#ifndef GROVE_VIEW_SNAPSHOT_H
#define GROVE_VIEW_SNAPSHOT_H

#include "view/view.h"

/* How a delegation to sub-agents ended, in a uniform shape. */
struct grove__delegated {
	uint32_t row;                    /* of the entry that reports it */
	const char *batch;               /* as text; "" if it has none */
	bool last;                       /* of that batch */
	struct grove__delegation_out out;
};

struct grove__delegations {
	struct grove__delegated *at;     /* by row */
	size_t nr, cap;
	struct grove__arena names;
};

/* delegations.c: finds those among `rows` (NULL: the first `nr`), ascending. */
int grove__delegations_find(struct grove__delegations *all, struct grove_view *v,
			    const uint32_t *rows, size_t nr, struct grove_detail *d);
void grove__delegations_release(struct grove__delegations *all);
/* Returns that of a row, or NULL. */
const struct grove__delegated *grove__delegations_of(const struct grove__delegations *all,
						    uint32_t row);

/* snapshot.c */
int grove__view_snapshot(struct grove_view *v, const struct grove_snapshot_options *opt,
			 struct grove_sink sink, struct grove_detail *d);
#endif
