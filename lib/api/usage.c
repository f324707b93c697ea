/*
 * api/usage.c: the part of grove.h about tokens and cost.
 */
#include "api/api.h"
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
	if (!rc && (unsigned)o.by > GROVE_USAGE_AGENT)
		rc = grove__fail(&d, GROVE_EINVAL, NULL, "no such way to group usage");
	if (!rc)
		rc = grove__usage(g, &o, u, &d);
	return grove__api_told(g, rc, &d);
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
