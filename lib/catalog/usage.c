/*
 * catalog/usage.c: tokens and cost of all sessions.
 *
 * All logs are read first, whose replies go into one table (replies.h); which
 * row of the answer one belongs to is asked when they are all there, because
 * only then it is known which log it belongs to.
 */
#include "catalog/usage.h"

#include "base/array.h"
#include "catalog/replies.h"
#include "catalog/sweep.h"
#include "js/js.h"
#include "json/write.h"
#include "sys/clock.h"

#include <math.h>
#include <stdlib.h>

#define SUFFIX ".jsonl"

/* What is known of a log, in the order of the sweep's. */
struct log_facts {
	const char *id, *cwd, *agent;    /* NULL: not known */
	uint32_t owner;                  /* the session whose sub-agent it is, or itself */
	uint32_t row;                    /* of the answer */
	bool subs;                       /* sub-agents of it have logs */
};

struct collector {
	struct grove__sweep sweep;
	struct grove__replies replies;
	struct log_facts *logs;
	struct grove__arena texts;
	pthread_mutex_t lock;            /* replies, and facts while logs are read */
};

/* --- reading --- */

/* Version 1 has no ids: they are those that a migration gives. */
static int give_id(struct grove__sweeping *at, struct grove__entry *e, char out[40])
{
	const struct grove__header *h = &at->header;

	if (!h->id)
		return 0;
	e->id = grove__slice(out, at->dialect->migrated_id(grove__slice_str(h->id), at->line, 0, out));
	e->has_id = e->id.len > 0;
	return e->has_id ? 0 : GROVE_ENOMEM;
}

static int take_entry(void *payload, struct grove__sweeping *at, const struct grove__json_line *l,
		      const char *line, const struct grove__entry *e)
{
	struct collector *c = payload;
	struct log_facts *f = &c->logs[at->nr];
	struct grove__entry own = *e;
	struct grove__billed x;
	char id[40];
	int rc;

	if (!at->dialect->billed)
		return 0;
	/* an id that no line needs is not worth its hash: most bill nothing */
	rc = at->dialect->billed(l, line, &at->tmp, e, &x);
	if (!rc && !at->dialect->headless && at->header.version < 2) {
		rc = give_id(at, &own, id);
		rc = rc ? rc : at->dialect->billed(l, line, &at->tmp, &own, &x);
	}
	if (rc)
		return rc == 1 ? 0 : rc;
	if (!at->header.id && x.session.len) {
		at->header.id = grove__arena_dup(&at->keep, x.session);
		if (!at->header.id)
			return GROVE_ENOMEM;
	}
	pthread_mutex_lock(&c->lock);
	rc = grove__replies_add(&c->replies, &x, at->nr, f->subs);
	pthread_mutex_unlock(&c->lock);
	return rc;
}

static int keep_text(struct grove__arena *a, const char *text, const char **out)
{
	if (!text || !*text)
		return 0;
	*out = grove__arena_dup(a, grove__slice_str(text));
	return *out ? 0 : GROVE_ENOMEM;
}

static int take_facts(void *payload, struct grove__sweeping *at)
{
	struct collector *c = payload;
	struct log_facts *f = &c->logs[at->nr];
	const char *agent = c->sweep.logs[at->nr].root->agent;
	int rc;

	f->agent = strcmp(agent, "grove") ? agent : at->dialect->name;
	rc = keep_text(&c->texts, at->header.id, &f->id);
	return rc ? rc : keep_text(&c->texts, at->header.cwd, &f->cwd);
}

/* --- which log belongs to which --- */

static struct grove_slice path_of(const void *owner, uint32_t i)
{
	const struct grove__sweep *s = owner;

	return grove__slice_str(s->logs[i].path);
}

/*
 * A session's own files lie in a directory of its name: whoever is named as one
 * of the directories above a log is a caller of it, the outermost its session.
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

struct grouping {
	struct grove_usage *out;
	struct grove__idmap map;
	uint32_t *of_model;              /* row of each model; GROVE__IDMAP_NONE: not yet */
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
	u->rows[*row] = (struct grove__usage_sum){ .row.key = grove__arena_dup(&u->texts, key) };
	if (!u->rows[*row].row.key)
		return GROVE_ENOMEM;
	rc = grove__idmap_put(&gr->map, key, *row, &old);
	u->nr += !rc;
	return rc;
}

static int row_of_day(struct grouping *gr, int64_t time, uint32_t *row)
{
	char iso[GROVE__JS_ISO_MAX];
	size_t n = time == GROVE_NO_TIME ? 0 : grove__js_iso(iso, time);

	/* in years beyond 0…9999 the day ends later */
	return find_row(gr, grove__slice(iso, n ? n - strlen("T00:00:00.000Z") : 0), row);
}

static int row_of_model(struct grouping *gr, const struct grove__replies *all, uint32_t model,
			uint32_t *row)
{
	if (gr->of_model[model] == GROVE__IDMAP_NONE) {
		int rc = find_row(gr, grove__slice_str(all->models[model]), &gr->of_model[model]);

		if (rc)
			return rc;
	}
	*row = gr->of_model[model];
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
 * In whatever order prices come, and whichever copy of a reply counts, their sum
 * is the same to its last digit.
 */
static void add_cost(struct grove__usage_sum *s, double cost)
{
	double before = s->row.cost;

	s->row.cost += cost;
	s->rest += before >= cost ? before - s->row.cost + cost : cost - s->row.cost + before;
	s->row.has_cost = 1;
}

static void add_reply(struct grove__usage_sum *s, const struct grove__reply *r)
{
	struct grove_usage_row *row = &s->row;

	row->input = plus(row->input, r->input);
	row->output = plus(row->output, r->output);
	row->cache_read = plus(row->cache_read, r->cache_read);
	row->cache_write = plus(row->cache_write, r->cache_write);
	row->total = plus(plus(row->input, row->output), plus(row->cache_read, row->cache_write));
	if (!isnan(r->cost))
		add_cost(s, r->cost);
}

static int sum_up(struct grouping *gr, struct collector *c, enum grove_usage_by by)
{
	struct grove_usage *u = gr->out;
	const struct grove__replies *all = &c->replies;
	uint32_t row = 0;
	int rc = 0;

	for (size_t i = 0; i < all->nr && !rc; i++) {
		const struct grove__reply *r = &all->all[i];

		if (r->told)
			continue;
		if (by == GROVE_USAGE_DAY)
			rc = row_of_day(gr, r->time, &row);
		else if (by == GROVE_USAGE_MODEL)
			rc = row_of_model(gr, all, r->model, &row);
		else
			rc = row_of_log(gr, c, by, r->log, &row);
		if (!rc) {
			add_reply(&u->rows[row], r);
			add_reply(&u->totals, r);
		}
	}
	u->totals.row.cost += u->totals.rest;
	for (size_t i = 0; i < u->nr; i++)
		u->rows[i].row.cost += u->rows[i].rest;
	return rc;
}

/* What is not known comes last. */
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

static int group(struct collector *c, enum grove_usage_by by, struct grove_usage *out)
{
	struct grouping gr = { .out = out };
	size_t nr = c->replies.nr_models;
	int rc;

	gr.of_model = malloc((nr ? nr : 1) * sizeof(*gr.of_model));
	if (!gr.of_model)
		return GROVE_ENOMEM;
	for (size_t i = 0; i < nr; i++)
		gr.of_model[i] = GROVE__IDMAP_NONE;
	for (size_t i = 0; i < c->sweep.nr; i++)
		c->logs[i].row = GROVE__IDMAP_NONE;
	grove__idmap_init(&gr.map, c->replies.seed[0], key_of, out);
	rc = sum_up(&gr, c, by);
	if (!rc && out->nr)
		qsort(out->rows, out->nr, sizeof(*out->rows),
		      by == GROVE_USAGE_DAY ? by_key : by_total);
	grove__idmap_release(&gr.map);
	free(gr.of_model);
	return rc;
}

int grove__usage(struct grove *g, const struct grove_usage_options *opt, struct grove_usage *out,
		 struct grove_detail *d)
{
	struct collector c = {
		.sweep = { .bill = true, .entry = take_entry, .end = take_facts,
			   .skipped = opt->skipped, .skipped_payload = opt->skipped_payload },
	};
	int rc;

	c.sweep.payload = &c;
	grove__replies_init(&c.replies);
	grove__arena_init(&c.texts);
	pthread_mutex_init(&c.lock, NULL);
	rc = grove__sweep_find(&c.sweep, g, d);
	if (!rc && find_owners(&c))
		rc = grove__fail_nomem(d);
	if (!rc)
		rc = grove__sweep_read(&c.sweep, g, d);
	if (!rc && group(&c, opt->by, out))
		rc = grove__fail_nomem(d);
	pthread_mutex_destroy(&c.lock);
	grove__sweep_release(&c.sweep);
	grove__replies_release(&c.replies);
	grove__arena_release(&c.texts);
	free(c.logs);
	return rc;
}

void grove__usage_release(struct grove_usage *u)
{
	free(u->rows);
	grove__arena_release(&u->texts);
}

static int put_row(struct grove_buf *out, const struct grove_usage_row *r)
{
	int rc = grove__buf_add_char(out, '{');

	if (r->key) {
		rc = rc ? rc : grove__buf_add_str(out, "\"key\":");
		rc = rc ? rc : grove__json_put_str(out, r->key);
		rc = rc ? rc : grove__buf_add_char(out, ',');
	}
	rc = rc ? rc : grove__buf_addf(out,
				       "\"input\":%llu,\"output\":%llu,\"cacheRead\":%llu,"
				       "\"cacheWrite\":%llu,\"totalTokens\":%llu,\"cost\":",
				       (unsigned long long)r->input, (unsigned long long)r->output,
				       (unsigned long long)r->cache_read,
				       (unsigned long long)r->cache_write,
				       (unsigned long long)r->total);
	rc = rc ? rc : r->has_cost ? grove__json_put_double(out, r->cost)
				   : grove__buf_add_str(out, "null");
	return rc ? rc : grove__buf_add_char(out, '}');
}

int grove__usage_json(const struct grove_usage *u, struct grove_buf *out)
{
	int rc = grove__buf_add_str(out, "{\"totals\":");

	rc = rc ? rc : put_row(out, &u->totals.row);
	rc = rc ? rc : grove__buf_add_str(out, ",\"rows\":[");
	for (size_t i = 0; i < u->nr && !rc; i++) {
		rc = i ? grove__buf_add_str(out, ",\n") : 0;
		rc = rc ? rc : put_row(out, &u->rows[i].row);
	}
	return rc ? rc : grove__buf_add_str(out, "]}");
}
