/*
 * api/usage.c: the public calls of grove/usage.h.
 */
#include "api/api.h"
#include "catalog/list.h"
#include "usage/usage.h"

#include <stdlib.h>

int grove_usage(struct grove *g, const struct grove_usage_options *opt, struct grove_usage **out)
{
	struct grove_usage_options o;
	struct grove_usage *u = calloc(1, sizeof(*u));
	struct grove_detail d;
	int rc;

	*out = u;
	if (!u)
		return GROVE_ENOMEM;
	grove__fail_clear(&d);
	grove__arena_init(&u->texts);
	rc = grove__sized_take(&o, sizeof(o), opt, &d);
	if (!rc && (unsigned)o.by > GROVE_USAGE_BLOCK)
		rc = grove__fail(&d, GROVE_EINVAL, NULL, "no such way to group usage");
	if (!rc)
		rc = grove__usage(g, &o, u, &d);
	return grove__api_told(g, rc, &d);
}

/* --- what sessions in a list cost --- */

static int by_key(const void *x, const void *y)
{
	const struct grove__usage_sum *a = x, *b = y;

	return strcmp(a->row.key, b->row.key);
}

static void add_costs(struct grove_list *l, struct grove_usage *u)
{
	qsort(u->rows, u->nr, sizeof(*u->rows), by_key);
	for (size_t i = 0; i < l->nr; i++) {
		struct grove_list_item *x = &l->info[i];
		const struct grove__usage_sum want = { .row.key = x->id };
		const struct grove__usage_sum *found = bsearch(&want, u->rows, u->nr, sizeof(*u->rows), by_key);

		if (!found || !*x->id)
			continue;
		x->has_usage = 1;
		x->tokens = found->row.total;
		x->has_cost = found->row.has_cost;
		x->cost = found->row.cost;
		x->estimated = found->row.estimated;
	}
}

/* A session that cannot be read was reported by the list already. */
int grove__api_list_costs(struct grove *g, struct grove_list *l, struct grove_detail *d)
{
	struct grove_usage_options o = { .size = sizeof(o), .by = GROVE_USAGE_SESSION };
	struct grove_usage u = { .whole = true };
	int rc;

	grove__arena_init(&u.texts);
	rc = grove__usage(g, &o, &u, d);
	if (!rc && u.nr)
		add_costs(l, &u);
	grove__usage_release(&u);
	return rc;
}

const struct grove_usage_row *grove_usage_totals(const struct grove_usage *u)
{
	return &u->totals.row;
}

size_t grove_usage_count(const struct grove_usage *u)
{
	return u->nr;
}

const struct grove_usage_row *grove_usage_at(const struct grove_usage *u, size_t i)
{
	return i < u->nr ? &u->rows[i].row : NULL;
}

const struct grove_usage_row *grove_usage_stack_at(const struct grove_usage *u, size_t row, size_t i)
{
	return u->stacked && row < u->nr && i < u->rows[row].nr_stack ? &u->stack[u->rows[row].first + i].row
								      : NULL;
}

const struct grove_usage_unpriced *grove_usage_unpriced_at(const struct grove_usage *u, size_t i)
{
	return i < u->nr_unpriced ? &u->unpriced[i] : NULL;
}

void grove_usage_free(struct grove_usage *u)
{
	if (!u)
		return;
	grove__usage_release(u);
	free(u);
}

int grove_usage_json(const struct grove_usage *u, struct grove_buf *out)
{
	return grove__usage_json(u, out);
}
