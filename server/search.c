/*
 * search.c: text in all sessions, or in one; and what they cost.
 */
#include "auth.h"
#include "handlers.h"
#include "held.h"
#include "workers.h"
#include "reply.h"
#include "route.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LIMIT_DEFAULT 20u
#define INSIDE_DEFAULT 200u
#define HITS_MAX 1000u
#define GROUP_HITS 5u

/* ------------------------------------------------------------------- the day */

/* The beginning of a day of the server's own zone, or milliseconds as they are. */
static int read_day(struct request *r, const char *name, int next, int64_t *out)
{
	const char *text = query_text(r, name);
	struct tm t = { .tm_isdst = -1 };
	int y, m, d, used = 0;

	if (!text)
		return 0;
	if (strlen(text) > 10 && text[strspn(text, "0123456789")] == '\0') {
		*out = (int64_t)strtoull(text, NULL, 10);
		return 0;
	}
	if (sscanf(text, "%4d-%2d-%2d%n", &y, &m, &d, &used) != 3 || text[used] || m < 1 || m > 12 || d < 1 || d > 31)
		return reply_fail(r, GROVE_EINVAL, "%s is a day, 2026-11-03, or milliseconds since 1970", name);
	t.tm_year = y - 1900;
	t.tm_mon = m - 1;
	t.tm_mday = d + next;
	*out = (int64_t)mktime(&t) * 1000;
	return 0;
}

/* ------------------------------------------------------------------- search */

/* Hits while they are collected. */
struct hits {
	struct request *r;
	struct doc *d;
	const char *only;        /* the id of the session; NULL: any */
	const char *path;        /* its path, where it has one */
	const struct grove_view *v;
	uint64_t nr, limit;
	uint64_t total;
};

static void put_marks(struct doc *d, const struct grove_hit *h)
{
	doc_name(d, "marks");
	doc_open(d, '[');
	for (size_t i = 0; i < h->nr_marks; i++) {
		doc_open(d, '[');
		doc_number(d, h->marks[i].from);
		doc_number(d, h->marks[i].to);
		doc_close(d, ']');
	}
	doc_close(d, ']');
}

/* Marks are bytes in the snippet as UTF-8. */
static void put_hit(struct doc *d, const struct grove_hit *h)
{
	doc_open(d, '{');
	doc_member(d, "sessionId", h->session_id);
	doc_member(d, "path", h->path);
	doc_member(d, "entryId", h->entry_id);
	doc_member(d, "role", grove_role_name(h->role));
	doc_name(d, "snippet");
	doc_text(d, h->snippet);
	put_marks(d, h);
	doc_name(d, "score");
	doc_real(d, h->score);
	doc_member_time(d, "time", h->time);
	doc_member_bool(d, "onActivePath", h->on_active_path);
	doc_member_bool(d, "inContext", h->in_context);
	doc_name(d, "session");
	doc_open(d, '{');
	doc_member(d, "id", h->session_id);
	doc_member(d, "cwd", h->cwd);
	doc_member(d, "agent", h->agent);
	doc_member(d, "store", h->store);
	doc_puts(d, "}}");
}

static int collect(void *payload, const struct grove_hit *h)
{
	struct hits *c = payload;

	if (!auth_allows(&c->r->who, h->store, h->cwd))
		return 0;
	c->total++;
	if (c->nr == c->limit || c->d->buf.len > PAGE_BYTES)
		return c->d->rc;
	c->nr++;
	put_hit(c->d, h);
	return c->d->rc;
}

static int search_open(struct request *r)
{
	int rc = 0;

	if (!r->worker->search) {
		rc = grove_search_open(r->g, 0, &r->worker->search);
	} else {
		rc = grove_search_refresh(r->worker->search);
	}
	if (rc) {
		grove_search_error(r->worker->search, &r->detail);
		grove_search_close(r->worker->search);
		r->worker->search = NULL;
	}
	return rc;
}

static unsigned read_in(const struct request *r)
{
	return (query_lists(r, "in", "text") ? GROVE_SEARCH_IN_TEXT : 0) |
	       (query_lists(r, "in", "calls") ? GROVE_SEARCH_IN_CALLS : 0) |
	       (query_lists(r, "in", "results") ? GROVE_SEARCH_IN_RESULTS : 0);
}

static int read_search(struct request *r, struct grove_search_options *o, uint64_t *limit)
{
	const char *q = query_text(r, "q");
	int rc = query_number(r, "limit", limit);

	if (!rc && (!q || !*q))
		rc = reply_fail(r, GROVE_EINVAL, "q is missing");
	if (!rc)
		rc = read_day(r, "since", 0, &o->since);
	if (!rc)
		rc = read_day(r, "until", 1, &o->until);
	if (*limit > HITS_MAX)
		*limit = HITS_MAX;
	o->in = read_in(r);
	o->role = query_text(r, "role");
	o->cwd = query_text(r, "project");
	o->agent = query_text(r, "agent");
	o->limit = HITS_MAX;
	return rc;
}

/* ------------------------------------------------------------------- groups */

/* Hits of one session, in the order of the best. */
struct group {
	char *id, *path;
	struct doc session, hits;
	uint64_t nr, more;
};

struct groups {
	struct request *r;
	struct group *group;
	size_t nr, most;
	uint64_t total;
};

static struct group *group_of(struct groups *g, const struct grove_hit *h)
{
	struct group *more;

	for (size_t i = 0; i < g->nr; i++)
		if (!strcmp(g->group[i].id, h->session_id) && !strcmp(g->group[i].path, h->path))
			return &g->group[i];
	if (g->nr == g->most)
		return NULL;
	more = &g->group[g->nr];
	more->id = strdup(h->session_id);
	more->path = strdup(h->path);
	if (!more->id || !more->path)
		return NULL;
	g->nr++;
	doc_open(&more->session, '{');
	doc_member(&more->session, "id", h->session_id);
	doc_member(&more->session, "path", h->path);
	doc_member(&more->session, "cwd", h->cwd);
	doc_member(&more->session, "agent", h->agent);
	doc_member(&more->session, "store", h->store);
	doc_close(&more->session, '}');
	doc_open(&more->hits, '[');
	return more;
}

static int collect_group(void *payload, const struct grove_hit *h)
{
	struct groups *g = payload;
	struct group *one;

	if (!auth_allows(&g->r->who, h->store, h->cwd))
		return 0;
	g->total++;
	one = group_of(g, h);
	if (!one)
		return 0;
	if (one->nr < GROUP_HITS) {
		one->nr++;
		put_hit(&one->hits, h);
	} else {
		one->more++;
	}
	return one->hits.rc;
}

static void put_groups(struct doc *d, struct groups *g)
{
	doc_name(d, "groups");
	doc_open(d, '[');
	for (size_t i = 0; i < g->nr; i++) {
		struct group *one = &g->group[i];

		doc_close(&one->hits, ']');
		if (d->buf.len < PAGE_BYTES) {
			doc_open(d, '{');
			doc_member_json(d, "session", grove_buf_slice(&one->session.buf));
			doc_member_json(d, "hits", grove_buf_slice(&one->hits.buf));
			doc_member_number(d, "more", one->more);
			doc_close(d, '}');
		}
	}
	doc_close(d, ']');
}

static void release_groups(struct groups *g)
{
	for (size_t i = 0; i < g->nr; i++) {
		free(g->group[i].id);
		free(g->group[i].path);
		doc_release(&g->group[i].session);
		doc_release(&g->group[i].hits);
	}
	free(g->group);
}

static int search_grouped(struct request *r, const struct grove_search_options *o, uint64_t limit)
{
	struct groups g = { .r = r, .most = limit };
	int rc;

	g.group = calloc(limit ? limit : 1, sizeof(*g.group));
	if (!g.group)
		return GROVE_ENOMEM;
	rc = grove_search_run(r->worker->search, query_text(r, "q"), o, collect_group, &g);
	if (rc < 0)
		grove_search_error(r->worker->search, &r->detail);
	put_groups(&r->out, &g);
	doc_member_number(&r->out, "total", g.total);
	release_groups(&g);
	return rc;
}

static int search_plain(struct request *r, const struct grove_search_options *o, uint64_t limit)
{
	struct hits c = { .r = r, .d = &r->out, .limit = limit };
	int rc;

	doc_name(&r->out, "hits");
	doc_open(&r->out, '[');
	rc = grove_search_run(r->worker->search, query_text(r, "q"), o, collect, &c);
	if (rc < 0)
		grove_search_error(r->worker->search, &r->detail);
	doc_close(&r->out, ']');
	doc_member_number(&r->out, "total", c.total);
	return rc;
}

int get_search(struct request *r)
{
	static const char *const groups[] = { "session", NULL };
	struct grove_search_options o = { .size = sizeof(o) };
	uint64_t limit = LIMIT_DEFAULT;
	int64_t begin = now_ms();
	int grouped = -1, rc = read_search(r, &o, &limit);

	if (!rc)
		rc = query_choice(r, "group", groups, &grouped);
	if (!rc)
		rc = search_open(r);
	if (rc)
		return rc;
	doc_open(&r->out, '{');
	rc = grouped == 0 ? search_grouped(r, &o, limit) : search_plain(r, &o, limit);
	doc_member_number(&r->out, "tookMs", (uint64_t)(now_ms() - begin));
	doc_puts(&r->out, ",\"index\":{\"state\":\"ready\",\"behind\":0}}");
	return rc < 0 ? rc : 0;
}

/* ------------------------------------------------------------ in one session */

/* A hit with its place, so that all can be put into the order of the log. */
struct place {
	uint64_t seq;
	size_t from, to;   /* its text in `all` */
};

struct inside {
	struct request *r;
	const struct held *h;
	const struct grove_view *v;
	struct doc all;
	struct place *place;
	size_t nr, most;
	uint64_t total;
};

static int collect_inside(void *payload, const struct grove_hit *h)
{
	struct inside *c = payload;
	struct grove_entry e = { .size = sizeof(e) };
	uint32_t i;

	if (strcmp(h->session_id, c->h->id) || (c->h->path && strcmp(h->path, c->h->path)))
		return 0;
	c->total++;
	if (c->nr == c->most || !h->entry_id || grove_view_find(c->v, h->entry_id, &i) ||
	    grove_view_entry(c->v, i, &e))
		return 0;
	c->all.buf.len = c->all.buf.len ? c->all.buf.len : 0;
	c->place[c->nr].seq = e.line;
	c->place[c->nr].from = c->all.buf.len;
	doc_puts(&c->all, "{");
	doc_member(&c->all, "entryId", h->entry_id);
	doc_member_number(&c->all, "seq", e.line);
	doc_member(&c->all, "role", grove_role_name(h->role));
	doc_name(&c->all, "snippet");
	doc_text(&c->all, h->snippet);
	put_marks(&c->all, h);
	doc_member_bool(&c->all, "onActivePath", h->on_active_path);
	doc_member_bool(&c->all, "inContext", h->in_context);
	doc_puts(&c->all, "}");
	c->place[c->nr++].to = c->all.buf.len;
	return c->all.rc;
}

static int by_seq(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return x->seq < y->seq ? -1 : x->seq > y->seq;
}

static int run_inside(struct inside *c)
{
	struct grove_search_options o = { .size = sizeof(o), .limit = 10000 };
	struct doc *d = &c->r->out;
	int rc;

	o.in = read_in(c->r);
	o.agent = c->h->agent;
	o.cwd = *c->h->cwd ? c->h->cwd : NULL;
	rc = grove_search_run(c->r->worker->search, query_text(c->r, "q"), &o, collect_inside, c);
	if (rc < 0)
		grove_search_error(c->r->worker->search, &c->r->detail);
	qsort(c->place, c->nr, sizeof(*c->place), by_seq);
	doc_open(d, '{');
	doc_name(d, "hits");
	doc_open(d, '[');
	for (size_t i = 0; i < c->nr && d->buf.len < PAGE_BYTES; i++)
		doc_json(d, (struct grove_slice){ c->all.buf.ptr + c->place[i].from,
						  c->place[i].to - c->place[i].from });
	doc_close(d, ']');
	doc_member_number(d, "total", c->total);
	doc_close(d, '}');
	return rc < 0 ? rc : c->all.rc;
}

int get_search_inside(struct request *r)
{
	struct inside c = { .r = r };
	struct held *h = NULL;
	struct grove_view *v = NULL;
	uint64_t limit = INSIDE_DEFAULT;
	const char *q = query_text(r, "q");
	int rc = query_number(r, "limit", &limit);

	if (!rc && (!q || !*q))
		rc = reply_fail(r, GROVE_EINVAL, "q is missing");
	if (!rc)
		rc = hold(r, 0, &h);
	if (!rc)
		rc = hold_view(r, h, &v);
	if (!rc)
		rc = search_open(r);
	if (!rc) {
		c.h = h;
		c.v = v;
		c.most = limit < HITS_MAX ? limit : HITS_MAX;
		c.place = calloc(c.most + 1, sizeof(*c.place));
		rc = c.place ? run_inside(&c) : GROVE_ENOMEM;
	}
	free(c.place);
	doc_release(&c.all);
	hold_state_end(r, h, v);
	return rc;
}

/* -------------------------------------------------------------------- usage */

int get_usage(struct request *r)
{
	static const char *const by[] = { "day", "model", "session", "project", "agent", NULL };
	struct grove_usage_options o = { .size = sizeof(o) };
	struct grove_usage *u = NULL;
	int which = 0, rc = query_choice(r, "by", by, &which);

	if (rc)
		return rc;
	/* sums are over all sessions */
	if (auth_limited(&r->who))
		return reply_fail(r, GROVE_EACCESS, "this token is limited to some sessions");
	if (query_text(r, "stack") || query_text(r, "project") || query_text(r, "agent"))
		return not_yet(r);
	o.by = (enum grove_usage_by)which;
	o.since = query_text(r, "since");
	o.until = query_text(r, "until");
	rc = grove_usage(r->g, &o, &u);
	if (rc)
		rc = reply_fail_grove(r, rc);
	else
		rc = grove_usage_json(u, &r->out.buf);
	grove_usage_free(u);
	return rc;
}
