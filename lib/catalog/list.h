/*
 * catalog/list.h: every session there is, as a list shows it.
 */
#ifndef GROVE_CATALOG_LIST_H
#define GROVE_CATALOG_LIST_H

#include "session/session.h"

struct grove_list {
	struct grove_info *info;
	size_t nr, cap;
	struct grove__arena texts;
	struct grove__arena known;   /* texts as the catalog had them */
};

int grove__list(struct grove *g, const struct grove_list_options *opt, struct grove_list *out,
		struct grove_detail *d);
/* expiring.c: only what its agent will delete within so many ms (negative: ever), soonest first. */
int grove__list_expiring(struct grove *g, int64_t within, struct grove_list *l,
			 struct grove_detail *d);
/*
 * threads.c: each below the one it came from, `depth` says how far. `by_time`:
 * the one with the latest below it first. GROVE_ENOMEM.
 */
int grove__list_thread(struct grove_list *l, bool by_time);
void grove__list_release(struct grove_list *l);

#endif
