/*
 * search.c: full-text search, in all sessions or in one; and their cost.
 */
#include "auth.h"
#include "handlers.h"
#include "held.h"
#include "kit/dates.h"
#include "kit/indexer.h"
#include "reply.h"
#include "route.h"
#include "workers.h"

#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ the time */

/* Accepts milliseconds. Returns NULL if the text is a number, else the text. */
static const char *take_ms(const char *text, int64_t *out)
{
	if (!text || strlen(text) <= 10 || text[strspn(text, "0123456789")])
		return text;
	*out = (int64_t)strtoull(text, NULL, 10);
	return NULL;
}

static int read_period(struct request *r, struct grove_search_options *o)
{
	int64_t since_ms = 0, until_ms = 0;
	const char *since = take_ms(query_text(r, "since"), &since_ms), *tz = "";
	const char *until = take_ms(query_text(r, "until"), &until_ms);
	struct grove_period period = { 0 };
	char why[256];
	int rc = read_zone(r, &tz);

	if (!rc && date_period(since, until, tz, &period, why, sizeof(why)))
		rc = reply_fail(r, GROVE_EINVAL, "%s", why + 2);  /* skip the dashes */
	o->since = since_ms ? since_ms : period.since;
	o->until = until_ms ? until_ms : period.until;
	return rc;
}

/* ------------------------------------------------------------------- search */

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

static const char *role_of(const struct grove_hit *h)
{
	if (h->in == GROVE_SEARCH_IN_NAMES)
		return h->kind == GROVE_KIND_NAME ? "title" : "label";
	return h->role == GROVE_ROLE_NONE ? grove_kind_name(h->kind) : grove_role_name(h->role);
}

/*
 * The text of a hit, in a list of all sessions or within one. Marks count bytes of the
 * UTF-8 snippet.
 */
static void put_text(struct doc *d, const struct grove_hit *h)
{
	doc_member(d, "role", role_of(h));
	doc_name(d, "snippet");
	doc_text(d, h->snippet);
	put_marks(d, h);
	doc_member_time(d, "time", h->time);
	doc_member_bool(d, "onActivePath", h->on_active_path);
	doc_member_bool(d, "inContext", h->in_context);
}

static void put_session(struct doc *d, const struct grove_hit_session *s)
{
	doc_name(d, "session");
	doc_open(d, '{');
	doc_member(d, "id", s->id);
	doc_member(d, "path", s->path);
	doc_member_title(d, "name", s->name);
	doc_member(d, "cwd", s->cwd);
	doc_member(d, "agent", s->agent);
	doc_member(d, "store", s->store);
	doc_member_time(d, "modified", s->modified);
	doc_close(d, '}');
}

static void put_hit(struct doc *d, const struct grove_hit *h)
{
	doc_open(d, '{');
	doc_member(d, "sessionId", h->session->id);
	doc_member(d, "path", h->session->path);
	doc_member(d, "entryId", h->entry_id);
	put_text(d, h);
	doc_name(d, "score");
	doc_real(d, h->score);
	doc_member_number(d, "copies", h->copies);
	doc_member_match(d, h);
	put_session(d, h->session);
	doc_close(d, '}');
}

/* The index is updated in the background; what it lacks is scanned in the meantime. */
static int search_open(struct request *r)
{
	int rc = 0;

	if (!r->worker->search)
		rc = grove_search_open(r->g, GROVE_SEARCH_NO_UPDATE, &r->worker->search);
	else
		rc = grove_search_refresh(r->worker->search);
	if (rc) {
		grove_search_error(r->worker->search, &r->detail);
		grove_search_close(r->worker->search);
		r->worker->search = NULL;
	}
	return rc;
}

static int search_run(struct request *r, const struct grove_search_options *o, struct grove_hits **out,
		      struct grove_hits_about *about)
{
	int rc = grove_search_run(r->worker->search, query_text(r, "q"), o, out);

	if (rc) {
		grove_search_error(r->worker->search, &r->detail);
		return rc;
	}
	rc = grove_hits_about(*out, about);
	if (!rc && about->behind)
		indexer_wake(r->server->indexer);
	return rc;
}

static int read_in(struct request *r, unsigned *out)
{
	static const char *const words[] = { "text", "calls", "results", "names", "all", NULL };
	static const unsigned flags[] = {
		GROVE_SEARCH_IN_TEXT, GROVE_SEARCH_IN_CALLS, GROVE_SEARCH_IN_RESULTS, GROVE_SEARCH_IN_NAMES,
		GROVE_SEARCH_IN_TEXT | GROVE_SEARCH_IN_CALLS | GROVE_SEARCH_IN_RESULTS | GROVE_SEARCH_IN_NAMES
	};

	*out = 0;
	for (int i = 0; words[i]; i++)
		if (query_lists(r, "in", words[i]))
			*out |= flags[i];
	return query_words(r, "in", words);
}

/* Returns true if the token may see the session. */
static int reaches(void *payload, const char *store, const char *cwd)
{
	return auth_allows(payload, store, cwd);
}

static int read_search(struct request *r, struct grove_search_options *o)
{
	const char *q = query_text(r, "q");
	uint64_t limit = SEARCH_DEFAULT;
	int rc = query_number(r, "limit", &limit);

	if (!rc && (!q || !*q))
		rc = reply_fail(r, GROVE_EINVAL, "q is missing");
	if (!rc)
		rc = read_period(r, o);
	if (!rc)
		rc = read_in(r, &o->in);
	if (!rc)
		rc = query_flag(r, "strict", &o->strict);
	o->role = query_text(r, "role");
	o->cwd = query_text(r, "project");
	o->agent = query_text(r, "agent");
	o->cursor = query_text(r, "cursor");
	o->limit = limit < SEARCH_MAX ? limit : SEARCH_MAX;
	o->compare = SEARCH_MAX;
	if (auth_limited(&r->who)) {
		o->wants = reaches;
		o->wants_payload = &r->who;
	}
	return rc;
}

static void put_hits(struct doc *d, const struct grove_hits *h)
{
	doc_name(d, "hits");
	doc_open(d, '[');
	for (size_t i = 0; i < grove_hits_count(h); i++)
		put_hit(d, grove_hits_at(h, i));
	doc_close(d, ']');
}

static void put_groups(struct doc *d, const struct grove_hits *h)
{
	doc_name(d, "groups");
	doc_open(d, '[');
	for (size_t i = 0; i < grove_hits_sessions(h); i++) {
		const struct grove_hit_session *s = grove_hits_session_at(h, i);

		doc_open(d, '{');
		put_session(d, s);
		doc_name(d, "hits");
		doc_open(d, '[');
		for (size_t j = 0; j < s->nr; j++)
			put_hit(d, s->hits[j]);
		doc_close(d, ']');
		doc_member_number(d, "more", s->more);
		doc_close(d, '}');
	}
	doc_close(d, ']');
}

static void put_about(struct request *r, const struct grove_hits_about *about)
{
	struct doc *d = &r->out;

	doc_member_number(d, "total", about->total);
	doc_member_number(d, "sessions", about->sessions);
	if (about->cursor)
		doc_member(d, "next", about->cursor);
	/* it may come from any session, not only from those that a limited token reaches */
	if (about->suggest && !auth_limited(&r->who))
		doc_member(d, "suggest", about->suggest);
	doc_name(d, "index");
	doc_open(d, '{');
	doc_member(d, "state", about->behind && indexer_builds(r->server->indexer) ? "building" : "ready");
	doc_member_number(d, "behind", about->behind);
	doc_close(d, '}');
	doc_member_away(d, r->g, auth_limited(&r->who));
}

int get_search(struct request *r)
{
	static const char *const groups[] = { "session", NULL };
	struct grove_search_options o = { .size = sizeof(o) };
	struct grove_hits_about about = { .size = sizeof(about) };
	struct grove_hits *h = NULL;
	int64_t begin = now_ms();
	int grouped = -1, rc = read_search(r, &o);

	if (!rc)
		rc = query_choice(r, "group", groups, &grouped);
	if (grouped == 0) {
		o.per_session = GROUP_HITS;
		o.limit = o.limit < GROUPS_MAX ? o.limit : GROUPS_MAX;
	}
	if (!rc)
		rc = search_open(r);
	if (!rc)
		rc = search_run(r, &o, &h, &about);
	if (!rc) {
		doc_open(&r->out, '{');
		if (grouped == 0)
			put_groups(&r->out, h);
		else
			put_hits(&r->out, h);
		put_about(r, &about);
		doc_member_number(&r->out, "tookMs", (uint64_t)(now_ms() - begin));
		doc_close(&r->out, '}');
	}
	grove_hits_free(h);
	return rc;
}

/* ------------------------------------------------------------ in one session */

static void put_inside(struct doc *d, const struct grove_view *v, const struct grove_hit *h)
{
	struct grove_entry e = { .size = sizeof(e) };
	uint32_t i;
	int there = h->entry_id && !grove_view_find(v, h->entry_id, &i) && !grove_view_entry(v, i, &e);

	doc_open(d, '{');
	doc_member(d, "entryId", h->entry_id);
	if (there)
		doc_member_number(d, "seq", e.line);
	put_text(d, h);
	doc_close(d, '}');
}

static int run_inside(struct request *r, const struct held *held, const struct grove_view *v, uint64_t limit)
{
	struct grove_search_options o = { .size = sizeof(o), .limit = limit < SEARCH_MAX ? limit : SEARCH_MAX,
					  .compare = INSIDE_MAX,
					  .what = held->path ? held->path : held->key };
	struct grove_hits_about about = { .size = sizeof(about) };
	struct grove_hits *h = NULL;
	struct doc *d = &r->out;
	int rc = read_in(r, &o.in);

	o.cursor = query_text(r, "cursor");
	if (!rc)
		rc = search_run(r, &o, &h, &about);
	if (rc)
		return rc;
	doc_open(d, '{');
	doc_name(d, "hits");
	doc_open(d, '[');
	for (size_t i = 0; i < grove_hits_count(h); i++)
		put_inside(d, v, grove_hits_at(h, i));
	doc_close(d, ']');
	doc_member_number(d, "total", about.total);
	if (about.cursor)
		doc_member(d, "next", about.cursor);
	doc_close(d, '}');
	grove_hits_free(h);
	return 0;
}

int get_search_inside(struct request *r)
{
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
	if (!rc)
		rc = run_inside(r, h, v, limit);
	hold_state_end(r, h, v);
	return rc;
}
