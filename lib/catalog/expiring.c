/* catalog/expiring.c: the sessions in a list that their agents will delete, soonest first. */
#include "catalog/list.h"

#include "sys/clock.h"
#include "world/world.h"

#include <stdlib.h>

static int soonest_first(const void *x, const void *y)
{
	const struct grove_list_item *a = x, *b = y;

	if (a->expires != b->expires)
		return a->expires < b->expires ? -1 : 1;
	return strcmp(a->path, b->path);
}

/* Marks those of one root. */
static int mark(struct grove *g, const struct grove__root *root, struct grove_list *l,
		struct grove_detail *d)
{
	struct grove__expiry e;
	int rc = grove__expiry_of(g, root, &e, d);

	if (rc)
		return rc;
	for (size_t i = 0; i < l->nr && e.dialect; i++) {
		struct grove_list_item *x = &l->info[i];

		if (!strcmp(x->store, root->store->url) && !strcmp(x->dialect, e.dialect->name))
			x->expires = e.dialect->retention->expires(grove__buf_slice(&e.settings), x->file_time);
	}
	grove__expiry_release(&e);
	return 0;
}

int grove__list_expiring(struct grove *g, int64_t within, struct grove_list *l,
			 struct grove_detail *d)
{
	int64_t now = grove__sys_now_ms();
	int64_t before = within < 0 || within > INT64_MAX - now ? INT64_MAX : now + within;
	size_t nr = 0;
	int rc = 0;

	for (size_t i = 0; i < l->nr; i++)
		l->info[i].expires = GROVE_NO_TIME;
	for (size_t i = 0; i < g->nr_roots && !rc; i++)
		rc = mark(g, &g->roots[i], l, d);
	if (rc)
		return rc;
	for (size_t i = 0; i < l->nr; i++)
		if (l->info[i].expires != GROVE_NO_TIME && l->info[i].expires < before)
			l->info[nr++] = l->info[i];
	l->nr = nr;
	if (nr)
		qsort(l->info, nr, sizeof(*l->info), soonest_first);
	return 0;
}
