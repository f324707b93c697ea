/*
 * usage/usage.c: tokens and cost of all sessions.
 *
 * Reading the logs (usage_logs.h) gives a table of all replies, each once. Those that were
 * asked for are added up, each in its row (usage_rows.h).
 */
#include "usage/usage.h"

#include "base/array.h"
#include "usage/prices.h"
#include "usage/usage_rows.h"

#include <math.h>
#include <stdlib.h>

/* What is known about a model. */
struct model {
	const struct grove__price *price;    /* NULL: none */
	uint64_t unpriced, tokens;           /* replies without a cost, and what they used */
};

struct counting {
	struct grove_usage *out;
	const struct grove_usage_options *opt;
	struct grove_buf project;            /* a path without dots; empty: a name, or none */
	struct model *models;
	bool *wanted;                        /* for each log */
};

/* --- what was asked for --- */

static bool in_project(const char *cwd, const char *project)
{
	size_t n = strlen(project);
	const char *slash = strrchr(cwd, '/');

	if (*project != '/')
		return !strcmp(slash ? slash + 1 : cwd, project);
	return !strncmp(cwd, project, n) && (!cwd[n] || cwd[n] == '/' || n == 1);
}

/* The same for all replies of a log. */
static bool is_log_asked_for(const struct counting *ct, const struct grove__usage_logs *ls, uint32_t nr)
{
	const struct grove_usage_options *o = ct->opt;
	const char *id = grove__usage_logs_id(ls, nr), *cwd = grove__usage_logs_cwd(ls, nr);
	const char *agent = ls->all[nr].agent;

	return (!o->agent || (agent && !strcmp(agent, o->agent))) &&
	       (!o->session || (id && !strcmp(id, o->session))) &&
	       (!o->project || (cwd && in_project(cwd, ct->project.len ? ct->project.ptr : o->project)));
}

static bool is_asked_for(const struct counting *ct, const struct grove__reply *r)
{
	const struct grove_period *p = &ct->opt->period;

	if (r->told || !ct->wanted[r->log])
		return false;
	if (!p->since && !p->until)
		return true;
	return r->time != GROVE_NO_TIME && (!p->since || r->time >= p->since) && (!p->until || r->time < p->until);
}

/* --- sums --- */

static uint64_t plus(uint64_t a, uint64_t b)
{
	return a + b < a ? UINT64_MAX : a + b;
}

/*
 * The sum is the same to its last digit, in whatever order prices come, and whichever
 * copy of a reply counts.
 */
static void add_amount(struct grove__usage_amount *a, double x)
{
	double before = a->sum;

	a->sum += x;
	a->rest += before >= x ? before - a->sum + x : x - a->sum + before;
}

static void add_reply(struct grove__usage_sum *s, const struct grove__reply *r, double estimate)
{
	struct grove_usage_row *row = &s->row;
	bool noted = !isnan(r->cost);

	row->input = plus(row->input, r->input);
	row->output = plus(row->output, r->output);
	row->cache_read = plus(row->cache_read, r->cache_read);
	row->cache_write = plus(row->cache_write, r->cache_write);
	s->replies++;
	row->total = plus(plus(row->input, row->output), plus(row->cache_read, row->cache_write));
	if (!noted && isnan(estimate)) {
		row->unpriced++;
		return;
	}
	add_amount(&s->cost, noted ? r->cost : estimate);
	if (!noted)
		add_amount(&s->estimated, estimate);
	row->has_cost = 1;
}

static void close_sum(struct grove__usage_sum *s)
{
	s->row.cost = s->cost.sum + s->cost.rest;
	s->row.estimated = s->estimated.sum + s->estimated.rest;
}

/* Estimates the cost of a reply from its model's list price; NaN: unknown. */
static double estimate_of(struct model *m, const struct grove__reply *r)
{
	double cost = (double)NAN;

	if (!isnan(r->cost))
		return cost;
	if (m->price)
		cost = grove__prices_of(m->price, r);
	if (isnan(cost)) {
		m->unpriced++;
		m->tokens = plus(m->tokens, plus(plus(r->input, r->output),
						 plus(r->cache_read, r->cache_write)));
	}
	return cost;
}

/* The part of a row that a model used. NULL if out of memory. */
static struct grove__usage_sum *part_of(struct grove_usage *u, uint32_t row, uint32_t model, const char *name)
{
	struct grove__usage_sum *p;

	for (uint32_t i = u->rows[row].first; i != GROVE__IDMAP_NONE; i = u->stack[i].next)
		if (u->stack[i].model == model)
			return &u->stack[i];
	if (grove__array_room(&u->stack, &u->cap_stack, u->nr_stack, sizeof(*u->stack)))
		return NULL;
	p = &u->stack[u->nr_stack];
	*p = (struct grove__usage_sum){ .row.key = grove__arena_dup(&u->texts, grove__slice_str(name)),
					.model = model, .next = u->rows[row].first };
	if (!p->row.key)
		return NULL;
	u->rows[row].first = (uint32_t)u->nr_stack++;
	return p;
}

static int add_to_row(struct counting *ct, const struct grove__replies *all, const struct grove__reply *r,
		      uint32_t row)
{
	struct grove_usage *u = ct->out;
	double estimate = estimate_of(&ct->models[r->model], r);
	struct grove__usage_sum *part;

	add_reply(&u->rows[row], r, estimate);
	add_reply(&u->totals, r, estimate);
	if (!u->stacked)
		return 0;
	part = part_of(u, row, r->model, all->models[r->model]);
	if (!part)
		return GROVE_ENOMEM;
	add_reply(part, r, estimate);
	return 0;
}

/* A session that has nothing but copies of other sessions' replies cost nothing. */
static int add_sessions(struct counting *ct, struct grove__usage_rows *rows)
{
	const struct grove__usage_logs *ls = rows->logs;
	struct grove__reply none = { .time = GROVE_NO_TIME };
	uint32_t row;
	int rc = 0;

	for (uint32_t i = 0; ct->out->whole && i < ls->logs.nr && !rc; i++) {
		if (!ls->all[i].billed)
			continue;
		none.log = i;
		rc = grove__usage_rows_find(rows, &none, &row);
		if (!rc && !ct->out->rows[row].replies)
			ct->out->rows[row].row.has_cost = 1;
	}
	return rc;
}

static int sum_up(struct counting *ct, struct grove__usage_rows *rows)
{
	struct grove_usage *u = ct->out;
	const struct grove__replies *all = &rows->logs->replies;
	uint32_t row = 0;
	int rc = 0;

	for (size_t i = 0; i < all->nr && !rc; i++) {
		const struct grove__reply *r = &all->all[i];

		if (!is_asked_for(ct, r))
			continue;
		rc = grove__usage_rows_find(rows, r, &row);
		if (!rc && row != GROVE__IDMAP_NONE)
			rc = add_to_row(ct, all, r, row);
	}
	rc = rc ? rc : add_sessions(ct, rows);
	close_sum(&u->totals);
	for (size_t i = 0; i < u->nr; i++)
		close_sum(&u->rows[i]);
	for (size_t i = 0; i < u->nr_stack; i++)
		close_sum(&u->stack[i]);
	return rc;
}

/* --- the order of the result --- */

/* Unknown keys come last. */
static int by_key(const void *x, const void *y)
{
	const struct grove__usage_sum *p = x, *q = y;
	const struct grove_usage_row *a = &p->row, *b = &q->row;

	if (!*a->key || !*b->key)
		return !*a->key - !*b->key;
	return strcmp(a->key, b->key);
}

static int by_total(const void *x, const void *y)
{
	const struct grove__usage_sum *a = x, *b = y;

	if (a->row.total != b->row.total)
		return a->row.total > b->row.total ? -1 : 1;
	return by_key(x, y);
}

static int by_tokens(const void *x, const void *y)
{
	const struct grove_usage_unpriced *a = x, *b = y;

	if (a->total != b->total)
		return a->total > b->total ? -1 : 1;
	return strcmp(a->model, b->model);
}

static int tell_unpriced(const struct counting *ct, const struct grove__replies *all)
{
	struct grove_usage *u = ct->out;

	if (!u->totals.row.unpriced)
		return 0;
	u->unpriced = calloc(all->nr_models, sizeof(*u->unpriced));
	if (!u->unpriced)
		return GROVE_ENOMEM;
	for (size_t i = 0; i < all->nr_models; i++) {
		const struct model *m = &ct->models[i];
		struct grove_usage_unpriced *x = &u->unpriced[u->nr_unpriced];

		if (!m->unpriced)
			continue;
		x->model = grove__arena_dup(&u->texts, grove__slice_str(all->models[i]));
		x->replies = m->unpriced;
		x->total = m->tokens;
		if (!x->model)
			return GROVE_ENOMEM;
		u->nr_unpriced++;
	}
	qsort(u->unpriced, u->nr_unpriced, sizeof(*u->unpriced), by_tokens);
	return 0;
}

/* Puts the parts of each row side by side, largest first. */
static int order_stack(struct grove_usage *u)
{
	struct grove__usage_sum *all = calloc(u->nr_stack ? u->nr_stack : 1, sizeof(*all));
	uint32_t nr = 0;

	if (!all)
		return GROVE_ENOMEM;
	for (size_t i = 0; i < u->nr; i++) {
		struct grove__usage_sum *row = &u->rows[i];
		uint32_t from = nr;

		for (uint32_t k = row->first; k != GROVE__IDMAP_NONE; k = u->stack[k].next)
			all[nr++] = u->stack[k];
		row->first = from;
		row->nr_stack = nr - from;
		qsort(all + from, nr - from, sizeof(*all), by_total);
	}
	free(u->stack);
	u->stack = all;
	u->nr_stack = nr;
	return 0;
}

/* Keeps the latest rows if they are times, otherwise the largest. */
static void limit_rows(struct grove_usage *u, const struct grove_usage_options *opt)
{
	if (!opt->limit || u->nr <= opt->limit)
		return;
	if (grove__usage_rows_by_time(opt->by))
		memmove(u->rows, u->rows + (u->nr - opt->limit), opt->limit * sizeof(*u->rows));
	u->nr = opt->limit;
}

static int arrange(struct grove_usage *u, const struct grove_usage_options *opt)
{
	if (u->nr)
		qsort(u->rows, u->nr, sizeof(*u->rows), grove__usage_rows_by_time(opt->by) ? by_key : by_total);
	limit_rows(u, opt);
	return u->stacked ? order_stack(u) : 0;
}

/* --- all of it --- */

static int look_up(struct counting *ct, const struct grove__usage_logs *ls, const struct grove__prices *prices)
{
	const struct grove__replies *all = &ls->replies;

	ct->models = calloc(all->nr_models ? all->nr_models : 1, sizeof(*ct->models));
	ct->wanted = calloc(ls->logs.nr ? ls->logs.nr : 1, sizeof(*ct->wanted));
	if (!ct->models || !ct->wanted)
		return GROVE_ENOMEM;
	for (size_t i = 0; i < all->nr_models; i++)
		ct->models[i].price = grove__prices_find(prices, all->models[i]);
	for (uint32_t i = 0; i < ls->logs.nr; i++)
		ct->wanted[i] = is_log_asked_for(ct, ls, i);
	return 0;
}

static int count(struct counting *ct, const struct grove__usage_logs *ls, const struct grove__prices *prices,
		 const struct grove__zone *zone)
{
	struct grove_usage *out = ct->out;
	struct grove__usage_rows rows;
	int rc;

	out->stacked = ct->opt->flags & GROVE_USAGE_STACK;
	out->copies = ls->replies.merged;
	rc = grove__usage_rows_init(&rows, out, ct->opt->by, ls, zone);
	rc = rc ? rc : look_up(ct, ls, prices);
	rc = rc ? rc : sum_up(ct, &rows);
	rc = rc ? rc : tell_unpriced(ct, &ls->replies);
	rc = rc ? rc : arrange(out, ct->opt);
	grove__usage_rows_release(&rows);
	free(ct->models);
	free(ct->wanted);
	return rc;
}

static int open_zone(struct grove__zone *zone, const char *tz, struct grove_detail *d)
{
	int rc = grove__zone_open(zone, tz);

	if (rc == GROVE_ENOMEM)
		return grove__fail_nomem(d);
	return rc ? grove__fail(d, rc, NULL, "%.64s: unknown time zone", tz) : 0;
}

static int resolve_project(struct counting *ct, struct grove *g, struct grove_detail *d)
{
	const char *project = ct->opt->project;

	if (!project || (!strchr(project, '/') && *project != '.'))
		return 0;
	return grove__world_resolve(g, project, &ct->project) ? grove__fail_nomem(d) : 0;
}

/* GROVE_ENOMEM. */
static int note_away(const struct grove *g, struct grove_usage *out)
{
	size_t nr = 0;

	if (!grove__roots_away(g))
		return 0;
	out->away = calloc(g->nr_roots + 1, sizeof(*out->away));
	for (size_t i = 0; i < g->nr_roots && out->away; i++)
		if (g->roots[i].away && (out->away[nr] = grove__arena_dup(&out->texts, grove__slice_str(g->roots[i].store->url))))
			nr++;
	return out->away && !out->texts.failed ? 0 : GROVE_ENOMEM;
}

int grove__usage(struct grove *g, const struct grove_usage_options *opt, struct grove_usage *out,
		 struct grove_detail *d)
{
	struct counting ct = { .out = out, .opt = opt };
	struct grove__usage_logs logs;
	struct grove__prices prices;
	struct grove__zone zone;
	int rc;

	grove__usage_logs_init(&logs, g, opt);
	grove__prices_init(&prices);
	/* invalid options are reported before the work */
	rc = open_zone(&zone, opt->tz, d);
	rc = rc ? rc : resolve_project(&ct, g, d);
	rc = rc ? rc : grove__prices_load(&prices, g, opt->prices, d);
	rc = rc ? rc : grove__usage_logs_read(&logs, d);
	if (!rc && (grove__prices_unite(&prices, &logs.replies) || count(&ct, &logs, &prices, &zone) || note_away(g, out)))
		rc = grove__fail_nomem(d);
	grove__prices_release(&prices);
	grove__zone_release(&zone);
	grove__buf_release(&ct.project);
	grove__usage_logs_release(&logs);
	return rc;
}

void grove__usage_release(struct grove_usage *u)
{
	free(u->rows);
	free(u->stack);
	free(u->unpriced);
	free(u->away);
	grove__arena_release(&u->texts);
}
