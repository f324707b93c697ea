/*
 * usage/usage.c: tokens and cost of all sessions.
 *
 * The replies of each log are packed (billed.h) and stored in the catalog, and those of
 * all logs go into one table (replies.h); so it does not matter which of them were read
 * and which are remembered. The row of the result is chosen after all replies have been
 * added, because only then is it known which log a reply belongs to.
 */
#include "usage/usage.h"

#include "base/array.h"
#include "catalog/sweep.h"
#include "js/calendar.h"
#include "js/js.h"
#include "json/out.h"
#include "sys/clock.h"
#include "sys/zone.h"
#include "usage/billed.h"
#include "usage/prices.h"

#include <math.h>
#include <stdlib.h>

#define SUFFIX ".jsonl"

/* What is known about a log, in the order of the sweep. */
struct log_facts {
	const char *id, *cwd, *agent;    /* NULL: not known */
	uint32_t owner;                  /* the session whose sub-agent it is, or itself */
	uint32_t row;                    /* of the answer */
	bool subs;                       /* sub-agents of it have logs */
	bool wanted;
	int64_t window;                  /* its agent counts in such windows; 0: it does not */
};

struct collector {
	struct grove *g;
	struct grove__sweep sweep;
	struct grove__replies replies;
	struct log_facts *logs;
	struct grove__arena texts;
	pthread_mutex_t lock;            /* guards replies and texts while logs are read */
};

/* --- reading --- */

/* Version 1 has no ids: uses those that a migration would give. */
static int give_id(struct grove__sweeping *at, struct grove__entry *e, char out[40])
{
	const struct grove__header *h = &at->header;

	if (!h->id)
		return 0;
	e->id = grove__slice(out, at->dialect->header->migrated_id(grove__slice_str(h->id), at->line, 0, out));
	e->has_id = e->id.len > 0;
	return e->has_id ? 0 : GROVE_ENOMEM;
}

/* Adds those of the current log; `told` is set as if there were other logs. */
static int take_entry(void *payload, struct grove__sweeping *at, const struct grove__json_line *l,
		      const char *line, const struct grove__entry *e)
{
	struct grove__entry own = *e;
	struct grove__billed x;
	char id[40];
	int rc;

	(void)payload;
	if (!at->dialect->usage.billed)
		return 0;
	/* most lines bill nothing, so their ids need not be hashed */
	rc = at->dialect->usage.billed(l, line, &at->tmp, e, &x);
	if (!rc && grove__dialect_lacks_ids(at->dialect, at->header.version)) {
		rc = give_id(at, &own, id);
		rc = rc ? rc : at->dialect->usage.billed(l, line, &at->tmp, &own, &x);
	}
	if (rc)
		return rc == 1 ? 0 : rc;
	if (!at->header.id && x.session.len) {
		at->header.id = grove__arena_dup(&at->keep, x.session);
		if (!at->header.id)
			return GROVE_ENOMEM;
	}
	return grove__replies_add(at->own, &x, 0, true);
}

static int keep_text(struct grove__arena *a, struct grove_slice text, const char **out)
{
	if (!text.len)
		return 0;
	*out = grove__arena_dup(a, text);
	return *out ? 0 : GROVE_ENOMEM;
}

static int take_log(struct collector *c, uint32_t nr, const struct grove__billed_log *l,
		    struct grove_slice bytes)
{
	struct log_facts *f = &c->logs[nr];
	const char *agent = c->sweep.logs[nr].root->agent;
	int rc;

	if (!l->session)
		return 0;
	f->agent = strcmp(agent, "grove") ? agent : l->dialect->name;
	f->window = l->dialect->usage.window;
	pthread_mutex_lock(&c->lock);
	rc = keep_text(&c->texts, l->id, &f->id);
	rc = rc ? rc : keep_text(&c->texts, l->cwd, &f->cwd);
	rc = rc ? rc : grove__billed_fold(bytes, &c->replies, nr, f->subs);
	pthread_mutex_unlock(&c->lock);
	return rc;
}

static bool take_known(void *payload, uint32_t nr, struct grove_slice bytes, int *rc)
{
	struct collector *c = payload;
	struct grove__billed_log l;

	if (!grove__billed_unpack(bytes, &l) || !l.dialect ||
	    !grove__sweep_reads_as(c->g, &c->sweep.logs[nr], l.dialect, l.around))
		return false;
	*rc = take_log(c, nr, &l, bytes);
	return true;
}

static int take_end(void *payload, struct grove__sweeping *at, struct grove_buf *bytes)
{
	struct collector *c = payload;
	const struct grove__header *h = &at->header;
	struct grove__billed_log l = {
		.dialect = at->dialect, .session = at->has_header,
		.around = grove__slice_str(grove__sweep_around(c->g, &c->sweep.logs[at->nr])),
	};
	struct grove__replies *own = at->own;
	int rc;

	if (l.session) {
		l.id = grove__slice_str(h->id ? h->id : "");
		l.cwd = grove__slice_str(h->cwd ? h->cwd : "");
	}
	rc = grove__billed_pack(&l, own, bytes);
	rc = rc ? rc : take_log(c, at->nr, &l, grove__buf_slice(bytes));
	grove__replies_clear(own);
	return rc;
}

static void *thread_new(void *payload)
{
	struct grove__replies *own = malloc(sizeof(*own));

	(void)payload;
	if (own)
		grove__replies_init(own);
	return own;
}

static void thread_free(void *payload, void *own)
{
	(void)payload;
	grove__replies_release(own);
	free(own);
}

/* --- which log belongs to which --- */

static struct grove_slice path_of(const void *owner, uint32_t i)
{
	const struct grove__sweep *s = owner;

	return grove__slice_str(s->logs[i].path);
}

/*
 * The files of a session are in the directory with its name: if a session has the name
 * of one of the directories above a log, it started that log, and the outermost is its
 * session.
 */
static int find_owner(struct collector *c, const struct grove__idmap *map, uint32_t i,
		      struct grove_buf *b)
{
	const struct grove__sweep_log *log = &c->sweep.logs[i];
	const char *path = log->path, *p = path + strlen(log->root->store->url);
	uint32_t above;
	int rc = 0;

	c->logs[i].owner = i;
	while (!rc && *p && (p = strchr(p + 1, '/'))) {
		grove__buf_clear(b);
		rc = grove__buf_add(b, path, (size_t)(p - path));
		rc = rc ? rc : grove__buf_add_str(b, SUFFIX);
		above = rc ? GROVE__IDMAP_NONE : grove__idmap_get(map, grove__buf_slice(b));
		if (above == GROVE__IDMAP_NONE)
			continue;
		c->logs[above].subs = true;
		if (c->logs[i].owner == i)
			c->logs[i].owner = above;
	}
	return rc;
}

static int find_owners(struct collector *c)
{
	struct grove_buf b = GROVE_BUF_INIT;
	struct grove__idmap map;
	uint64_t seed;
	uint32_t old;
	int rc = 0;

	c->logs = calloc(c->sweep.nr ? c->sweep.nr : 1, sizeof(*c->logs));
	if (!c->logs)
		return GROVE_ENOMEM;
	grove__sys_random(&seed, sizeof(seed));
	grove__idmap_init(&map, seed, path_of, &c->sweep);
	for (uint32_t i = 0; i < c->sweep.nr && !rc; i++)
		rc = grove__idmap_put(&map, path_of(&c->sweep, i), i, &old);
	for (uint32_t i = 0; i < c->sweep.nr && !rc; i++)
		rc = find_owner(c, &map, i, &b);
	grove__idmap_release(&map);
	grove__buf_release(&b);
	return rc;
}

/* --- rows --- */

/* What is known about a model. */
struct model {
	const struct grove__price *price;    /* NULL: none */
	uint64_t unpriced, tokens;           /* replies without a cost, and what they used */
	uint32_t row;                        /* GROVE__IDMAP_NONE: not yet */
};

/* A window in which the plans of an agent count. */
struct block {
	int64_t begin, first;                /* the full hour, and its first reply */
};

struct grouping {
	struct grove_usage *out;
	const struct grove_usage_options *opt;
	struct grove_buf project;            /* a path without dots; empty: a name, or none */
	struct grove__idmap map;
	struct model *models;
	int64_t since, until;                /* the first ms, and the first one after the end */
	bool dated;                          /* these two hold */
	struct grove__zone zone;
	int64_t day, day_end;                /* of the last reply: first ms, and the next day's */
	uint32_t day_row;                    /* GROVE__IDMAP_NONE: there was none */
	struct block *blocks;                /* in order */
	size_t nr_blocks;
};

static struct grove_slice key_of(const void *owner, uint32_t i)
{
	const struct grove_usage *u = owner;

	return grove__slice_str(u->rows[i].row.key);
}

static int find_row(struct grouping *gr, struct grove_slice key, uint32_t *row)
{
	struct grove_usage *u = gr->out;
	uint32_t old;
	int rc;

	*row = grove__idmap_get(&gr->map, key);
	if (*row != GROVE__IDMAP_NONE)
		return 0;
	rc = grove__array_room(&u->rows, &u->cap, u->nr, sizeof(*u->rows));
	if (rc)
		return rc;
	*row = (uint32_t)u->nr;
	u->rows[*row] = (struct grove__usage_sum){ .row.key = grove__arena_dup(&u->texts, key),
						   .first = GROVE__IDMAP_NONE };
	if (!u->rows[*row].row.key)
		return GROVE_ENOMEM;
	rc = grove__idmap_put(&gr->map, key, *row, &old);
	u->nr += !rc;
	return rc;
}

/* Writes the name of the day, week or month that this local time is in. */
static size_t time_key(enum grove_usage_by by, int64_t local, char iso[GROVE__JS_ISO_MAX])
{
	int64_t day = local / GROVE__JS_MS_DAY - (local % GROVE__JS_MS_DAY < 0);
	size_t n;

	/* 1970 began on a Thursday */
	if (by == GROVE_USAGE_WEEK)
		local = (day - ((day + 3) % 7 + 7) % 7) * GROVE__JS_MS_DAY;
	n = grove__js_iso(iso, local);
	/* in years beyond 0…9999 the day is longer */
	n -= n ? strlen("T00:00:00.000Z") : 0;
	return n && by == GROVE_USAGE_MONTH ? n - strlen("-00") : n;
}

/*
 * The replies of a day mostly come together, so its row is remembered: from midnight to
 * midnight by the clocks at this reply. Where the clocks change in between, it is not.
 */
static int row_of_time(struct grouping *gr, int64_t time, uint32_t *row)
{
	char iso[GROVE__JS_ISO_MAX];
	int64_t local = 0;
	size_t n = 0;
	int rc;

	if (time != GROVE_NO_TIME) {
		if (gr->day_row != GROVE__IDMAP_NONE && time >= gr->day && time < gr->day_end) {
			*row = gr->day_row;
			return 0;
		}
		local = time + (int64_t)grove__zone_offset(&gr->zone, time) * 1000;
		n = time_key(gr->opt->by, local, iso);
	}
	rc = find_row(gr, grove__slice(iso, n), row);
	if (rc || !n)
		return rc;
	gr->day = time - (local % GROVE__JS_MS_DAY + GROVE__JS_MS_DAY) % GROVE__JS_MS_DAY;
	gr->day_end = gr->day + GROVE__JS_MS_DAY;
	gr->day_row = grove__zone_offset(&gr->zone, gr->day) == grove__zone_offset(&gr->zone, gr->day_end)
			      ? *row
			      : GROVE__IDMAP_NONE;
	return 0;
}

/* --- blocks --- */

static int by_first(const void *x, const void *y)
{
	const struct block *a = x, *b = y;

	return a->first < b->first ? -1 : a->first > b->first;
}

/* How long the windows are in which its agent counts; 0: it does not. */
static int64_t window_of(const struct collector *c, const struct grove__reply *r)
{
	return r->told || r->time == GROVE_NO_TIME ? 0 : c->logs[r->log].window;
}

/*
 * Finds when each block begins. The account is one for all projects, so all replies
 * count here, whichever are asked for.
 */
static int find_blocks(struct grouping *gr, const struct collector *c)
{
	const struct grove__replies *all = &c->replies;
	struct block *b = calloc(all->nr ? all->nr : 1, sizeof(*b));
	const int64_t hour = GROVE__JS_MS_DAY / 24;
	int64_t window = 0;
	size_t nr = 0;

	if (!b)
		return GROVE_ENOMEM;
	for (size_t i = 0; i < all->nr; i++)
		if (window_of(c, &all->all[i])) {
			window = window_of(c, &all->all[i]);
			b[nr++].first = all->all[i].time;
		}
	qsort(b, nr, sizeof(*b), by_first);
	gr->blocks = b;
	/* there are no more blocks than replies, so they replace them from the front */
	for (size_t i = 0; i < nr; i++) {
		int64_t t = b[i].first, into = (t % hour + hour) % hour;

		/* the last moment belongs to both, and counts for the first */
		if (!gr->nr_blocks || t - b[gr->nr_blocks - 1].begin > window)
			b[gr->nr_blocks++] = (struct block){ t - into, t };
	}
	return 0;
}

/* *row is GROVE__IDMAP_NONE for a reply that is in no block. */
static int row_of_block(struct grouping *gr, const struct collector *c, const struct grove__reply *r,
			uint32_t *row)
{
	size_t low = 0, high = gr->nr_blocks;
	int64_t window = window_of(c, r);
	char iso[GROVE__JS_ISO_MAX];
	int rc;

	*row = GROVE__IDMAP_NONE;
	if (!window)
		return 0;
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (gr->blocks[middle].first <= r->time)
			low = middle;
		else
			high = middle;
	}
	rc = find_row(gr, grove__slice(iso, grove__js_iso(iso, gr->blocks[low].begin)), row);
	if (!rc)
		gr->out->rows[*row].row.period = (struct grove_period){ gr->blocks[low].begin,
									gr->blocks[low].begin + window };
	return rc;
}

static int row_of_model(struct grouping *gr, const struct grove__replies *all, uint32_t model,
			uint32_t *row)
{
	struct model *m = &gr->models[model];

	if (m->row == GROVE__IDMAP_NONE) {
		int rc = find_row(gr, grove__slice_str(all->models[model]), &m->row);

		if (rc)
			return rc;
	}
	*row = m->row;
	return 0;
}

static int row_of_log(struct grouping *gr, struct collector *c, enum grove_usage_by by, uint32_t log,
		      uint32_t *row)
{
	struct log_facts *own = &c->logs[log], *f = &c->logs[own->owner];
	const char *key;

	if (own->row == GROVE__IDMAP_NONE) {
		int rc;

		if (by == GROVE_USAGE_AGENT)
			key = own->agent;
		else if (by == GROVE_USAGE_PROJECT)
			key = f->cwd ? f->cwd : own->cwd;
		else
			key = f->id ? f->id : own->id;
		rc = find_row(gr, grove__slice_str(key ? key : ""), &own->row);
		if (rc)
			return rc;
	}
	*row = own->row;
	return 0;
}

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

static bool in_project(const char *cwd, const char *project)
{
	size_t n = strlen(project);
	const char *slash = strrchr(cwd, '/');

	if (*project != '/')
		return !strcmp(slash ? slash + 1 : cwd, project);
	return !strncmp(cwd, project, n) && (!cwd[n] || cwd[n] == '/' || n == 1);
}

/* The same for all replies of a log. */
static bool is_log_asked_for(const struct grouping *gr, const struct collector *c, const struct log_facts *own)
{
	const struct grove_usage_options *o = gr->opt;
	const struct log_facts *f = &c->logs[own->owner];
	const char *id = f->id ? f->id : own->id, *cwd = f->cwd ? f->cwd : own->cwd;

	return (!o->agent || (own->agent && !strcmp(own->agent, o->agent))) &&
	       (!o->session || (id && !strcmp(id, o->session))) &&
	       (!o->project || (cwd && in_project(cwd, gr->project.len ? gr->project.ptr : o->project)));
}

static bool is_asked_for(const struct grouping *gr, const struct collector *c, const struct grove__reply *r)
{
	if (r->told || !c->logs[r->log].wanted)
		return false;
	return !gr->dated || (r->time != GROVE_NO_TIME && r->time >= gr->since && r->time < gr->until);
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

static int add_to_row(struct grouping *gr, const struct grove__replies *all, const struct grove__reply *r,
		      uint32_t row)
{
	struct grove_usage *u = gr->out;
	double estimate = estimate_of(&gr->models[r->model], r);
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

static int row_of(struct grouping *gr, struct collector *c, const struct grove__reply *r, uint32_t *row)
{
	enum grove_usage_by by = gr->opt->by;

	if (by == GROVE_USAGE_DAY || by == GROVE_USAGE_WEEK || by == GROVE_USAGE_MONTH)
		return row_of_time(gr, r->time, row);
	if (by == GROVE_USAGE_BLOCK)
		return row_of_block(gr, c, r, row);
	if (by == GROVE_USAGE_MODEL)
		return row_of_model(gr, &c->replies, r->model, row);
	return row_of_log(gr, c, by, r->log, row);
}

static int sum_up(struct grouping *gr, struct collector *c)
{
	struct grove_usage *u = gr->out;
	const struct grove__replies *all = &c->replies;
	uint32_t row = 0;
	int rc = gr->opt->by == GROVE_USAGE_BLOCK ? find_blocks(gr, c) : 0;

	for (size_t i = 0; i < all->nr && !rc; i++) {
		const struct grove__reply *r = &all->all[i];

		if (!is_asked_for(gr, c, r))
			continue;
		rc = row_of(gr, c, r, &row);
		if (!rc && row != GROVE__IDMAP_NONE)
			rc = add_to_row(gr, all, r, row);
	}
	close_sum(&u->totals);
	for (size_t i = 0; i < u->nr; i++)
		close_sum(&u->rows[i]);
	for (size_t i = 0; i < u->nr_stack; i++)
		close_sum(&u->stack[i]);
	return rc;
}

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

static int tell_unpriced(const struct grouping *gr, const struct grove__replies *all)
{
	struct grove_usage *u = gr->out;

	if (!u->totals.row.unpriced)
		return 0;
	u->unpriced = calloc(all->nr_models, sizeof(*u->unpriced));
	if (!u->unpriced)
		return GROVE_ENOMEM;
	for (size_t i = 0; i < all->nr_models; i++) {
		const struct model *m = &gr->models[i];
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

static int look_up_models(struct grouping *gr, const struct grove__replies *all,
			  const struct grove__prices *prices)
{
	gr->models = calloc(all->nr_models ? all->nr_models : 1, sizeof(*gr->models));
	if (!gr->models)
		return GROVE_ENOMEM;
	for (size_t i = 0; i < all->nr_models; i++) {
		gr->models[i].price = grove__prices_find(prices, all->models[i]);
		gr->models[i].row = GROVE__IDMAP_NONE;
	}
	return 0;
}

static bool is_by_time(enum grove_usage_by by)
{
	return by == GROVE_USAGE_DAY || by == GROVE_USAGE_WEEK || by == GROVE_USAGE_MONTH || by == GROVE_USAGE_BLOCK;
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

/* Of times the latest stay, of all else the largest. */
static void limit_rows(struct grove_usage *u, const struct grove_usage_options *opt)
{
	if (!opt->limit || u->nr <= opt->limit)
		return;
	if (is_by_time(opt->by))
		memmove(u->rows, u->rows + (u->nr - opt->limit), opt->limit * sizeof(*u->rows));
	u->nr = opt->limit;
}

static int arrange(struct grove_usage *u, const struct grove_usage_options *opt)
{
	if (u->nr)
		qsort(u->rows, u->nr, sizeof(*u->rows), is_by_time(opt->by) ? by_key : by_total);
	limit_rows(u, opt);
	return u->stacked ? order_stack(u) : 0;
}

static int group(struct collector *c, struct grouping *gr, const struct grove__prices *prices)
{
	struct grove_usage *out = gr->out;
	int rc = look_up_models(gr, &c->replies, prices);

	for (size_t i = 0; i < c->sweep.nr; i++) {
		c->logs[i].row = GROVE__IDMAP_NONE;
		c->logs[i].wanted = is_log_asked_for(gr, c, &c->logs[i]);
	}
	gr->day_row = GROVE__IDMAP_NONE;
	out->stacked = gr->opt->flags & GROVE_USAGE_STACK;
	out->copies = c->replies.merged;
	grove__idmap_init(&gr->map, c->replies.spread[0], key_of, out);
	rc = rc ? rc : sum_up(gr, c);
	rc = rc ? rc : tell_unpriced(gr, &c->replies);
	rc = rc ? rc : arrange(out, gr->opt);
	grove__idmap_release(&gr->map);
	free(gr->models);
	free(gr->blocks);
	return rc;
}

/* --- all of it --- */

/* Parses "2026-05-03" into its first ms. GROVE_EINVAL if it is not a day. */
static int parse_day(const char *text, int64_t *ms, struct grove_detail *d)
{
	struct grove_slice day = grove__slice_str(text);
	char iso[GROVE__JS_ISO_MAX];

	*ms = day.len == strlen("2026-05-03") ? grove__js_date_parse(day) : GROVE__JS_NAN_DATE;
	/* a 31st of February would be a day in March */
	if (*ms == GROVE__JS_NAN_DATE || !grove__js_iso(iso, *ms) || memcmp(iso, text, day.len) ||
	    *ms % GROVE__JS_MS_DAY)
		return grove__fail(d, GROVE_EINVAL, NULL, "%.40s is not a day such as 2026-05-03", text);
	return 0;
}

static int take_days(struct grouping *gr, const struct grove_usage_options *opt,
		     struct grove_detail *d)
{
	int rc = 0;

	gr->since = INT64_MIN;
	gr->until = INT64_MAX;
	gr->dated = opt->since || opt->until;
	if (opt->since)
		rc = parse_day(opt->since, &gr->since, d);
	if (!rc && opt->until) {
		rc = parse_day(opt->until, &gr->until, d);
		gr->until += rc ? 0 : GROVE__JS_MS_DAY;
	}
	if (opt->period.since) {
		gr->since = opt->period.since > gr->since ? opt->period.since : gr->since;
		gr->dated = true;
	}
	if (opt->period.until) {
		gr->until = opt->period.until < gr->until ? opt->period.until : gr->until;
		gr->dated = true;
	}
	if (!rc && (rc = grove__zone_open(&gr->zone, opt->tz)))
		return rc == GROVE_ENOMEM ? grove__fail_nomem(d)
					  : grove__fail(d, rc, NULL, "%.64s: unknown time zone", opt->tz);
	return rc;
}

static int collect(struct collector *c, struct grove *g, struct grove_detail *d)
{
	int rc;

	grove__sweep_begin(&c->sweep, g);
	rc = grove__sweep_find(&c->sweep, g, d);
	if (!rc && find_owners(c))
		rc = grove__fail_nomem(d);
	return rc ? rc : grove__sweep_read(&c->sweep, g, d);
}

int grove__usage(struct grove *g, const struct grove_usage_options *opt, struct grove_usage *out,
		 struct grove_detail *d)
{
	struct collector c = {
		.g = g,
		.sweep = { .bill = true, .purpose = CATALOG_USAGE, .thread_new = thread_new,
			   .thread_free = thread_free, .known = take_known, .entry = take_entry,
			   .end = take_end, .skipped = opt->skipped,
			   .skipped_payload = opt->skipped_payload },
	};
	struct grouping gr = { .out = out, .opt = opt };
	struct grove__prices prices;
	int rc;

	c.sweep.payload = &c;
	grove__replies_init(&c.replies);
	grove__arena_init(&c.texts);
	grove__prices_init(&prices);
	pthread_mutex_init(&c.lock, NULL);
	/* invalid options are reported before the work */
	rc = take_days(&gr, opt, d);
	if (!rc && opt->project && (strchr(opt->project, '/') || *opt->project == '.') &&
	    grove__world_resolve(g, opt->project, &gr.project))
		rc = grove__fail_nomem(d);
	rc = rc ? rc : grove__prices_load(&prices, g, opt->prices, d);
	rc = rc ? rc : collect(&c, g, d);
	if (!rc && group(&c, &gr, &prices))
		rc = grove__fail_nomem(d);
	pthread_mutex_destroy(&c.lock);
	grove__prices_release(&prices);
	grove__zone_release(&gr.zone);
	grove__buf_release(&gr.project);
	grove__sweep_release(&c.sweep);
	grove__replies_release(&c.replies);
	grove__arena_release(&c.texts);
	free(c.logs);
	return rc;
}

void grove__usage_release(struct grove_usage *u)
{
	free(u->rows);
	free(u->stack);
	free(u->unpriced);
	grove__arena_release(&u->texts);
}

static void put_sums(struct grove__out *o, const struct grove_usage_row *r)
{
	grove__out_number(o, "input", r->input);
	grove__out_number(o, "output", r->output);
	grove__out_number(o, "cacheRead", r->cache_read);
	grove__out_number(o, "cacheWrite", r->cache_write);
	grove__out_number(o, "totalTokens", r->total);
	if (r->has_cost)
		grove__out_double(o, "cost", r->cost);
	else
		grove__out_string(o, "cost", NULL);
	if (r->estimated > 0)
		grove__out_double(o, "estimated", r->estimated);
}

static void put_row(struct grove__out *o, const struct grove_usage *u, const struct grove__usage_sum *s)
{
	grove__out_open(o, NULL, '{');
	grove__out_string(o, "key", s->row.key);
	if (s->row.period.until)
		grove__out_time(o, "until", s->row.period.until);
	put_sums(o, &s->row);
	if (u->stacked) {
		grove__out_open(o, "stack", '{');
		for (uint32_t i = 0; i < s->nr_stack; i++) {
			grove__out_key(o, u->stack[s->first + i].row.key);
			grove__out_open(o, NULL, '{');
			put_sums(o, &u->stack[s->first + i].row);
			grove__out_close(o, '}');
		}
		grove__out_close(o, '}');
	}
	grove__out_close(o, '}');
}

static void put_unpriced(struct grove__out *o, const struct grove_usage *u)
{
	grove__out_open(o, "unpriced", '[');
	for (size_t i = 0; i < u->nr_unpriced; i++) {
		const struct grove_usage_unpriced *x = &u->unpriced[i];

		grove__out_open(o, NULL, '{');
		grove__out_string(o, "model", x->model);
		grove__out_number(o, "replies", x->replies);
		grove__out_number(o, "totalTokens", x->total);
		grove__out_close(o, '}');
	}
	grove__out_close(o, ']');
}

int grove__usage_json(const struct grove_usage *u, struct grove_buf *out)
{
	struct grove__out o;

	grove__out_init_buf(&o, out);
	grove__out_open(&o, NULL, '{');
	grove__out_open(&o, "totals", '{');
	put_sums(&o, &u->totals.row);
	grove__out_close(&o, '}');
	grove__out_open(&o, "rows", '[');
	for (size_t i = 0; i < u->nr; i++) {
		grove__out_newline(&o);
		put_row(&o, u, &u->rows[i]);
	}
	grove__out_close(&o, ']');
	if (u->stacked)
		grove__out_number(&o, "copies", u->copies);
	if (u->nr_unpriced)
		put_unpriced(&o, u);
	grove__out_close(&o, '}');
	return grove__out_finish(&o);
}
