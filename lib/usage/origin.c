/*
 * usage/origin.c: which of several sessions with the same reply was there first.
 *
 * A fork comes after the session it was made from, whatever the clocks say, and otherwise
 * the older session comes first. Of copies of one session, those in an archive come last, and the
 * others are in the order of their paths. The log of a sub-agent has the place of its
 * session.
 */
#include "usage/origin.h"

#include "sys/clock.h"

#include <stdlib.h>

struct place {
	int64_t time;                    /* not before that of the session it was forked from */
	uint32_t depth;                  /* how many sessions are above it; 0: not known yet */
};

struct origin {
	const struct grove__usage_logs *ls;
	struct grove__idmap by_id;
	struct place *place;
	uint32_t *parent;                /* GROVE__IDMAP_NONE: none is here */
};

static struct grove_slice id_of(const void *owner, uint32_t i)
{
	return grove__slice_str(((const struct grove__usage_logs *)owner)->all[i].id);
}

static bool is_session(const struct origin *o, uint32_t i)
{
	return o->ls->all[i].owner == i && o->ls->all[i].id;
}

/* By id: a path may be of another machine, or the session may have been moved. */
static uint32_t find_parent(const struct origin *o, const char *name)
{
	uint32_t found = grove__idmap_get(&o->by_id, grove__slice_str(name));
	const char *slash = strrchr(name, '/');
	const struct grove__dialect *dialect;
	struct grove_slice id;
	int64_t time;

	for (unsigned i = 0; slash && found == GROVE__IDMAP_NONE && (dialect = grove__dialect_at(i)); i++)
		if (dialect->paths.parse_file_name(grove__slice_str(slash + 1), &time, &id))
			found = grove__idmap_get(&o->by_id, id);
	return found;
}

static int find_parents(struct origin *o)
{
	const struct grove__usage_logs *ls = o->ls;
	uint32_t nr = (uint32_t)ls->logs.nr, old;
	int rc = 0;

	for (uint32_t i = 0; i < nr && !rc; i++)
		if (is_session(o, i) && grove__idmap_get(&o->by_id, id_of(ls, i)) == GROVE__IDMAP_NONE)
			rc = grove__idmap_put(&o->by_id, id_of(ls, i), i, &old);
	for (uint32_t i = 0; i < nr; i++)
		o->parent[i] = is_session(o, i) && ls->all[i].parent ? find_parent(o, ls->all[i].parent)
								     : GROVE__IDMAP_NONE;
	return rc;
}

/* Parents first; where they form a circle, it is cut where it was entered. */
static void find_place(struct origin *o, uint32_t i)
{
	uint32_t at = i, below = GROVE__IDMAP_NONE, above;

	/* up, leaving a trail in `parent` */
	while (at != GROVE__IDMAP_NONE && !o->place[at].depth) {
		o->place[at].depth = GROVE__IDMAP_NONE;
		above = o->parent[at];
		o->parent[at] = below;
		below = at;
		at = above;
	}
	if (at != GROVE__IDMAP_NONE && o->place[at].depth == GROVE__IDMAP_NONE)
		at = GROVE__IDMAP_NONE;
	for (; below != GROVE__IDMAP_NONE; at = below, below = o->parent[at]) {
		struct place *p = &o->place[below];

		p->time = o->ls->all[below].time == GROVE_NO_TIME ? INT64_MAX : o->ls->all[below].time;
		p->depth = at == GROVE__IDMAP_NONE ? 1 : o->place[at].depth + 1;
		if (at != GROVE__IDMAP_NONE && o->place[at].time > p->time)
			p->time = o->place[at].time;
	}
}

static int by_place(const void *x, const void *y, void *payload)
{
	const struct origin *o = payload;
	uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
	const struct grove__usage_log *all = o->ls->all;
	const struct place *p = &o->place[all[a].owner], *q = &o->place[all[b].owner];
	const struct grove__log_at *logs = o->ls->logs.logs;

	if (p->time != q->time)
		return p->time < q->time ? -1 : 1;
	if (p->depth != q->depth)
		return p->depth < q->depth ? -1 : 1;
	if (logs[a].root->archive != logs[b].root->archive)
		return logs[a].root->archive ? 1 : -1;
	return a < b ? -1 : a > b;
}

static int settle(struct origin *o, struct grove__usage_logs *ls, uint32_t *order, uint32_t *rank)
{
	uint32_t nr = (uint32_t)ls->logs.nr;
	int rc = find_parents(o);

	for (uint32_t i = 0; i < nr && !rc; i++) {
		order[i] = i;
		find_place(o, i);
	}
	if (rc)
		return rc;
	qsort_r(order, nr, sizeof(*order), by_place, o);
	for (uint32_t i = 0; i < nr; i++)
		rank[order[i]] = i;
	grove__replies_settle(&ls->replies, rank);
	return 0;
}

int grove__origin_settle(struct grove__usage_logs *ls)
{
	struct origin o = { .ls = ls };
	uint32_t *numbers;
	int rc = GROVE_ENOMEM;

	if (!ls->replies.nr_ties)
		return 0;
	grove__idmap_init(&o.by_id, grove__sys_seed(), id_of, ls);
	o.place = calloc(ls->logs.nr, sizeof(*o.place));
	numbers = calloc(ls->logs.nr, 3 * sizeof(*numbers));
	if (o.place && numbers) {
		o.parent = numbers;
		rc = settle(&o, ls, numbers + ls->logs.nr, numbers + 2 * ls->logs.nr);
	}
	free(numbers);
	free(o.place);
	grove__idmap_release(&o.by_id);
	return rc;
}
