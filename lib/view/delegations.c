/*
 * view/delegations.c: delegations to sub-agents, with the entries about each.
 *
 * One entry says how a delegation ended, another one above it how it began, and in
 * older sessions a tool's result in between has more. All of them name the batch; only
 * lines that do are examined.
 */
#include "view/snapshot.h"

#include "base/array.h"

#include <stdlib.h>

/* An entry that names a batch. */
struct mention {
	uint32_t row;
	enum grove_kind kind;
	const char *batch;
};

struct mentions {
	struct mention *at;              /* by row */
	size_t nr, cap;
};

static int by_row(const void *x, const void *y)
{
	const struct mention *a = x, *b = y;

	return a->row < b->row ? -1 : a->row > b->row;
}

static const struct mention *mention_of(const struct mentions *m, uint32_t row)
{
	struct mention key = { .row = row };

	return m->nr ? bsearch(&key, m->at, m->nr, sizeof(*m->at), by_row) : NULL;
}

static bool may_mention(enum grove_kind kind, enum grove_role role)
{
	return kind == GROVE_KIND_SUBAGENT_BATCH || kind == GROVE_KIND_SUBAGENT_RESULT ||
	       (kind == GROVE_KIND_MESSAGE &&
		(role == GROVE_ROLE_TOOL_RESULT || role == GROVE_ROLE_OTHER));
}

static int find_mentions(struct grove__delegations *all, struct grove_view *v, struct mentions *m,
			 struct grove_detail *d)
{
	const struct grove__spine *s = v->image->spine;
	const struct grove__delegation *rules = v->image->dialect->delegation;
	struct grove_buf name = GROVE_BUF_INIT;
	struct grove__rows rows;
	struct grove_slice value;
	uint32_t *list = malloc((v->nr ? v->nr : 1) * sizeof(*list)), row;
	size_t nr = 0;
	int rc = list ? 0 : grove__fail_nomem(d);

	for (uint32_t i = 0; i < v->nr && !rc; i++)
		if (may_mention(grove__spine_kind(s, i), grove__spine_role(s, i)))
			list[nr++] = i;
	grove__rows_init(&rows, v->image, v->log, list, nr);
	while (!rc && !(rc = grove__rows_next(&rows, &row, &value, d))) {
		enum grove_kind kind = grove__spine_kind(s, row);

		grove__buf_clear(&name);
		rc = rules->batch(value, kind, &name);
		if (rc == 1 && kind != GROVE_KIND_SUBAGENT_RESULT) {
			rc = 0;
			continue;
		}
		if (rc < 0 || grove__array_room(&m->at, &m->cap, m->nr, sizeof(*m->at))) {
			rc = grove__fail_nomem(d);
			break;
		}
		m->at[m->nr] = (struct mention){ row, kind,
						 grove__arena_dup(&all->names, grove__buf_slice(&name)) };
		rc = m->at[m->nr++].batch ? 0 : grove__fail_nomem(d);
	}
	grove__rows_release(&rows);
	grove__buf_release(&name);
	free(list);
	return rc < 0 ? rc : 0;
}

/* Goes up the path to the nearest entries about the same batch. */
static void look_up(const struct grove__spine *s, const struct mentions *m, const struct mention *end,
		    uint32_t *batch, uint32_t *tool)
{
	uint32_t row = grove__spine_parent(s, end->row);

	*batch = *tool = GROVE_NO_ENTRY;
	if (!*end->batch)
		return;
	for (; row != GROVE_NO_ENTRY && (*batch == GROVE_NO_ENTRY || *tool == GROVE_NO_ENTRY);
	     row = grove__spine_parent(s, row)) {
		const struct mention *x = mention_of(m, row);

		if (!x || strcmp(x->batch, end->batch))
			continue;
		if (x->kind == GROVE_KIND_SUBAGENT_BATCH && *batch == GROVE_NO_ENTRY)
			*batch = row;
		if (x->kind == GROVE_KIND_MESSAGE && *tool == GROVE_NO_ENTRY)
			*tool = row;
	}
}

static int read_value(struct grove_view *v, uint32_t row, struct grove_buf *line,
		      struct grove_slice *value, struct grove_detail *d)
{
	*value = grove__slice(NULL, 0);
	return row == GROVE_NO_ENTRY ? 0 : grove__image_line(v->image, v->log, row, line, value, d);
}

static int project(struct grove_view *v, const struct mentions *m, const struct mention *end,
		   struct grove__delegated *out, struct grove_detail *d)
{
	struct grove_buf line[3] = { GROVE_BUF_INIT, GROVE_BUF_INIT, GROVE_BUF_INIT };
	struct grove__delegation_in in;
	uint32_t batch, tool;
	int rc;

	look_up(v->image->spine, m, end, &batch, &tool);
	rc = read_value(v, end->row, &line[0], &in.result, d);
	if (!rc)
		rc = read_value(v, batch, &line[1], &in.batch, d);
	if (!rc)
		rc = read_value(v, tool, &line[2], &in.tool, d);
	if (!rc && v->image->dialect->delegation->project(&in, &out->out))
		rc = grove__fail_nomem(d);
	for (int i = 0; i < 3; i++)
		grove__buf_release(&line[i]);
	return rc;
}

static struct grove_slice batch_name(const void *owner, uint32_t i)
{
	const struct grove__delegations *all = owner;

	return grove__slice_str(all->at[i].batch);
}

/* If a batch has several results, the last one counts. */
static int mark_last(struct grove__delegations *all, uint64_t seed, struct grove_detail *d)
{
	struct grove__idmap map;
	uint32_t old;
	int rc = 0;

	grove__idmap_init(&map, seed, batch_name, all);
	for (size_t i = 0; i < all->nr && !rc; i++) {
		if (!*all->at[i].batch)
			continue;
		rc = grove__idmap_put(&map, batch_name(all, (uint32_t)i), (uint32_t)i, &old);
		all->at[i].last = true;
		if (!rc && old != GROVE__IDMAP_NONE)
			all->at[old].last = false;
	}
	grove__idmap_release(&map);
	return rc ? grove__fail_nomem(d) : 0;
}

int grove__delegations_find(struct grove__delegations *all, struct grove_view *v,
			    const uint32_t *rows, size_t nr, struct grove_detail *d)
{
	const struct grove__spine *s = v->image->spine;
	struct mentions m = { 0 };
	bool looked = false;
	int rc = 0;

	memset(all, 0, sizeof(*all));
	grove__arena_init(&all->names);
	if (!v->image->dialect->delegation)
		return 0;
	for (size_t i = 0; i < nr && !rc; i++) {
		uint32_t row = rows ? rows[i] : (uint32_t)i;
		const struct mention *end;

		if (grove__spine_kind(s, row) != GROVE_KIND_SUBAGENT_RESULT || !grove__spine_id(s, row))
			continue;
		if (!looked)
			rc = find_mentions(all, v, &m, d);
		looked = true;
		end = mention_of(&m, row);
		if (rc || !end)
			continue;
		if (grove__array_room(&all->at, &all->cap, all->nr, sizeof(*all->at))) {
			rc = grove__fail_nomem(d);
			break;
		}
		all->at[all->nr] = (struct grove__delegated){ .row = row, .batch = end->batch };
		rc = project(v, &m, end, &all->at[all->nr++], d);
	}
	free(m.at);
	return rc ? rc : mark_last(all, s->ids.seed, d);
}

void grove__delegations_release(struct grove__delegations *all)
{
	for (size_t i = 0; i < all->nr; i++) {
		grove__buf_release(&all->at[i].out.projection);
		grove__buf_release(&all->at[i].out.events);
		grove__buf_release(&all->at[i].out.evidence);
		grove__buf_release(&all->at[i].out.routes);
	}
	free(all->at);
	grove__arena_release(&all->names);
}

const struct grove__delegated *grove__delegations_of(const struct grove__delegations *all,
						    uint32_t row)
{
	size_t lo = 0, hi = all->nr;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (all->at[mid].row < row)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < all->nr && all->at[lo].row == row ? &all->at[lo] : NULL;
}
