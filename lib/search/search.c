/*
 * search/search.c: searching the text of all sessions.
 *
 * There are two ways to find a hit: the index, for logs that have not changed since
 * they were indexed, and scanning for all others. Either way, what is shown is read
 * from the log itself. If a line has changed since it was found, it is not a hit, and
 * the search is repeated.
 *
 * Messages that have all the words come first. If they do not fill the page, sessions that
 * have the words in several messages follow, and then those that have some: search_rank.c.
 */
#include "search/search.h"

#include "base/array.h"
#include "find/find.h"
#include "search/search_hits.h"
#include "search/search_rank.h"
#include "sys/pool.h"

#include <stdlib.h>

#define LIMIT_DEFAULT 20
#define LIMIT_MAX 10000
#define COMPARE_MAX 20000
/*
 * So many of the best hits are kept, and more only if they do not fill the page: then
 * WIDER times as many, up to MOST.
 */
#define KEEP 400
#define WIDER 16
#define MOST ((size_t)1 << 18)
#define UNSURE 4000             /* collected before their texts are read: fewer of them are */
#define TRIES 4                 /* the last one without the index */

/* ---------------------------------------------------------------- what is asked */

bool grove__search_wants(const struct grove__search_ask *ask, enum grove__search_class class,
			 enum grove_role role, int64_t time)
{
	if (!(ask->in >> class & 1) || !(ask->roles >> grove__search_role(class, role) & 1))
		return false;
	if (ask->since == INT64_MIN && ask->until == INT64_MAX)
		return true;
	return time != GROVE_NO_TIME && time >= ask->since && time < ask->until;
}

bool grove__search_wants_cwd(const struct grove__search_ask *ask)
{
	return ask->cwd || ask->wants;
}

bool grove__search_wants_log(const struct grove__search_ask *ask, const struct grove__log_at *l,
			     const char *agent, const char *cwd)
{
	size_t n;

	if (ask->agent && strcmp(ask->agent, agent))
		return false;
	if (ask->wants && !ask->wants(ask->wants_payload, l->root->store->url, cwd ? cwd : ""))
		return false;
	if (!ask->cwd)
		return true;
	n = strlen(ask->cwd);
	/* the root has a slash of its own */
	n -= n == 1;
	return cwd && !strncmp(cwd, ask->cwd, n) && (!cwd[n] || cwd[n] == '/');
}

static int find_role(const char *name, struct grove__search_ask *ask, struct grove_detail *d)
{
	if (!strcmp(name, "call")) {
		ask->in &= GROVE_SEARCH_IN_CALLS;
		return 0;
	}
	for (unsigned i = GROVE_ROLE_OTHER; i <= GROVE_ROLE_COMPACTION_SUMMARY; i++)
		if (!strcmp(grove_role_name((enum grove_role)i), name)) {
			ask->roles = 1u << i;
			return 0;
		}
	return grove__fail(d, GROVE_EINVAL, NULL, "no role named %.60s", name);
}

static int take_options(const struct grove *g, const struct grove_search_options *opt,
			struct grove__search_ask *ask, struct grove_buf *cwd, struct grove_detail *d)
{
	const unsigned all = GROVE_SEARCH_IN_TEXT | GROVE_SEARCH_IN_CALLS | GROVE_SEARCH_IN_RESULTS |
			     GROVE_SEARCH_IN_NAMES;

	*ask = (struct grove__search_ask){ .roles = UINT32_MAX, .only = GROVE_NO_ENTRY };
	if (opt->in & ~all)
		return grove__fail(d, GROVE_EINVAL, NULL, "unknown kind of text to search in");
	ask->in = opt->in ? opt->in : all;
	ask->agent = opt->agent;
	ask->wants = opt->wants;
	ask->wants_payload = opt->wants_payload;
	ask->since = opt->since ? opt->since : INT64_MIN;
	ask->until = opt->until ? opt->until : INT64_MAX;
	ask->limit = opt->limit ? opt->limit : LIMIT_DEFAULT;
	if (ask->limit > LIMIT_MAX)
		ask->limit = LIMIT_MAX;
	ask->per_session = opt->per_session < LIMIT_MAX ? opt->per_session : LIMIT_MAX;
	ask->most = 2 * ask->limit * (ask->per_session ? ask->per_session : 1);
	if (ask->most < opt->compare)
		ask->most = opt->compare;
	if (ask->most > COMPARE_MAX)
		ask->most = COMPARE_MAX;
	if (ask->most < KEEP)
		ask->most = KEEP;
	if (opt->cwd && grove__world_resolve(g, opt->cwd, cwd))
		return grove__fail_nomem(d);
	ask->cwd = cwd->ptr;
	return opt->role ? find_role(opt->role, ask, d) : 0;
}

/* ----------------------------------------------------------------- searching */

/* Better hits first; no two are equal. */
static int by_order(const struct grove__logs *sweep, const struct grove__search_hit *a,
		    const struct grove__search_hit *b)
{
	if (a->match != b->match)
		return a->match < b->match ? -1 : 1;
	if (a->score != b->score)
		return a->score > b->score ? -1 : 1;
	if (!a->match && a->time != b->time)
		return a->time > b->time ? -1 : 1;
	if (a->log != b->log)
		return strcmp(sweep->logs[a->log].name, sweep->logs[b->log].name);
	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	if (a->at.pos != b->at.pos)
		return a->at.pos > b->at.pos ? -1 : 1;
	if (a->at.off != b->at.off)
		return a->at.off > b->at.off ? -1 : 1;
	return (int)a->class - (int)b->class;
}

/* In the order of the log, names first. */
static int by_place(const struct grove__search_hit *a, const struct grove__search_hit *b)
{
	bool name = a->class == SEARCH_NAMES;

	if (name != (b->class == SEARCH_NAMES))
		return name ? -1 : 1;
	if (a->at.pos != b->at.pos)
		return a->at.pos < b->at.pos ? -1 : 1;
	if (a->at.off != b->at.off)
		return a->at.off < b->at.off ? -1 : 1;
	return (int)a->class - (int)b->class;
}

static int compare(const struct grove__search_hits *of, const struct grove__search_hit *a,
		   const struct grove__search_hit *b)
{
	return of->ask->only == GROVE_NO_ENTRY ? by_order(of->sweep, a, b) : by_place(a, b);
}

static int compare_in(const void *x, const void *y, void *payload)
{
	return compare(payload, x, y);
}

static bool any_unsure(const struct grove__search_hits *hits)
{
	for (size_t i = 0; i < hits->nr && i < hits->ask->most; i++)
		if (hits->list[i].unsure)
			return true;
	return false;
}

/*
 * Puts the hits in order, and leaves the best. What turns out to be none takes the place of
 * no other: so as many are left as if they had been found without an index.
 */
static int sort(struct grove__search_hits *hits)
{
	size_t most = hits->ask->most;
	int rc = 0;

	if (hits->nr)
		qsort_r(hits->list, hits->nr, sizeof(*hits->list), compare_in, hits);
	while (!rc && any_unsure(hits))
		rc = grove__search_index_make_sure(hits->s->index, hits->s, hits);
	hits->unsure = false;
	if (rc || hits->nr <= most)
		return rc;
	hits->nr = most;
	hits->worst = hits->list[most - 1];
	hits->cut = true;
	return 0;
}

bool grove__search_may_add(const struct grove__search_hits *to, const struct grove__search_hit *h)
{
	return !to->cut || compare(to, h, &to->worst) < 0;
}

int grove__search_add(struct grove__search_hits *to, const struct grove__search_hit *h)
{
	if (!grove__search_may_add(to, h))
		return 0;
	if (to->nr >= 2 * to->ask->most && (!to->unsure || to->nr >= UNSURE) && sort(to))
		return GROVE_ENOMEM;
	if (grove__array_room(&to->list, &to->cap, to->nr, sizeof(*to->list)))
		return GROVE_ENOMEM;
	to->list[to->nr++] = *h;
	to->unsure |= h->unsure;
	return 0;
}

/* Finds hits; or, if there is a `rank`, reports to it what has some of the words. */
static int find(struct grove_search *s, const struct grove__search_ask *ask, struct grove__search_rank *rank,
		struct grove__search_hits *hits, struct grove_detail *d)
{
	uint32_t *logs = malloc((s->sweep.nr + 1) * sizeof(*logs));
	size_t nr = 0;
	int rc = logs ? 0 : grove__fail_nomem(d);

	/* the role excludes every class that is asked for */
	if (!ask->in)
		goto out;
	if (!rc && s->index)
		rc = grove__search_index_find(s->index, s, ask, rank, hits, d);
	for (size_t i = 0; i < s->sweep.nr && !rc; i++)
		if ((!s->index || s->look[i]) && (ask->only == GROVE_NO_ENTRY || ask->only == i))
			logs[nr++] = (uint32_t)i;
	if (!rc && nr)
		rc = grove__search_scan(s, ask, rank, logs, nr, hits, d);
	if (!rc && !rank && sort(hits))
		rc = grove__fail_nomem(d);
out:
	free(logs);
	return rc;
}

/* Adds sessions that have the words, or some of them, but in no one message. */
static int find_sessions(struct grove_search *s, const struct grove__search_ask *ask,
			 const struct grove__search_query *some, struct grove__search_hits *hits, struct grove_detail *d)
{
	struct grove__search_ask any = *ask;
	struct grove__search_rank *rank = grove__search_rank_new(s, some);
	int rc = rank ? 0 : grove__fail_nomem(d);

	any.q = some;
	for (size_t i = 0; i < hits->nr && !rc; i++)
		grove__search_rank_skip(rank, hits->list[i].log);
	rc = rc ? rc : find(s, &any, rank, hits, d);
	if (!rc && s->index)
		rc = grove__search_index_take(s->index, s, rank, hits, d);
	else if (!rc && grove__search_rank_take(rank, hits, NULL, NULL))
		rc = grove__fail_nomem(d);
	if (!rc && sort(hits))
		rc = grove__fail_nomem(d);
	grove__search_rank_free(rank);
	return rc;
}

/* Finds the log of the one session that is searched. */
static int find_only(struct grove_search *s, const struct grove__where *w, uint32_t *out, struct grove_detail *d)
{

	*out = GROVE_NO_ENTRY;
	for (uint32_t i = 0; i < s->sweep.nr && *out == GROVE_NO_ENTRY; i++) {
		const struct grove__log_at *l = &s->sweep.logs[i];
		const char *path = grove__search_log_path(l);

		if (w->path ? path && !strcmp(path, w->path)
			    : !strcmp(l->root->store->url, w->store->url) && !strcmp(l->session, w->session) &&
				      !strcmp(l->project, w->project) && !strcmp(l->sub, w->sub ? w->sub : ""))
			*out = i;
	}
	return *out != GROVE_NO_ENTRY ? 0
	       : grove__fail(d, GROVE_ENOTFOUND, w->path, "not among the sessions that are searched");
}

/* What is searched for, and where. */
struct looking_for {
	struct grove__search_ask ask;
	struct grove__search_query *some;    /* for sessions; NULL: only messages that have all words */
	struct grove__where where;
	bool one;                    /* only the session that `where` names */
	struct grove__search_place_at after;
	bool continues;
};

/* Reads what is shown of the hits. */
static int take(struct grove_search *s, struct looking_for *l, struct grove__search_hits *hits, struct grove_hits **out,
		struct grove_detail *d)
{
	grove__search_hits_free(*out);
	*out = grove__search_hits_new();
	if (!*out)
		return grove__fail_nomem(d);
	return grove__search_hits_take(*out, s, &l->ask, l->some, hits, l->continues ? &l->after : NULL, d);
}

static int search_once(struct grove_search *s, struct looking_for *l, struct grove_hits **out, bool *lost,
		       struct grove_detail *d)
{
	struct grove__search_hits hits = { .sweep = &s->sweep, .ask = &l->ask, .s = s };
	int rc = l->one ? find_only(s, &l->where, &l->ask.only, d) : 0;

	grove__arena_init(&hits.texts);
	rc = rc ? rc : find(s, &l->ask, NULL, &hits, d);
	rc = rc ? rc : take(s, l, &hits, out, d);
	if (!rc && l->some && !hits.lost && !hits.cut && !(*out)->about.cursor) {
		rc = find_sessions(s, &l->ask, l->some, &hits, d);
		rc = rc ? rc : take(s, l, &hits, out, d);
	}
	*lost = hits.lost;
	grove__arena_release(&hits.texts);
	free(hits.list);
	return rc;
}

static void leave_index(struct grove_search *s)
{
	grove__search_index_close(s->index);
	s->index = NULL;
}

/* The index cannot be relied on. If it is gone already, another may be in its place by now. */
static void drop_index(struct grove_search *s)
{
	bool gone = grove__search_index_is_gone(s->index);

	leave_index(s);
	if (!gone)
		grove__search_index_remove(s->g);
}

/* Builds the index again; the last time, all logs are scanned instead. */
static int begin_anew(struct grove_search *s, bool last, struct grove_detail *d)
{
	if (!last)
		drop_index(s);
	leave_index(s);
	s->alone |= last;
	return grove__search_refresh(s, d);
}

/* Searches for more hits as long as those that were kept do not fill the page. */
static int search_enough(struct grove_search *s, struct looking_for *l, struct grove_hits **out, bool *lost,
			 struct grove_detail *d)
{
	int rc;

	while (!(rc = search_once(s, l, out, lost, d)) && !*lost && (*out)->about.more && !(*out)->about.cursor &&
	       l->ask.most < MOST)
		l->ask.most *= WIDER;
	return rc;
}

/* Repeats the search as long as what it finds changes meanwhile. */
static int search(struct grove_search *s, struct looking_for *l, struct grove_hits **out, struct grove_detail *d)
{
	bool lost = false, alone = s->alone;
	int rc = 0;

	for (int i = 0; i < TRIES && !rc; i++) {
		rc = search_enough(s, l, out, &lost, d);
		if (rc == GROVE_ECONFLICT && s->index) {
			leave_index(s);
			rc = search_enough(s, l, out, &lost, d);
		}
		if (rc == GROVE_EDAMAGED && s->index)
			rc = begin_anew(s, i > 0, d);
		else if (rc || !lost)
			break;
		/* the logs have changed since; or, if they have not, the index is wrong */
		else if (!i || !s->index)
			rc = grove__search_refresh(s, d);
		else
			rc = begin_anew(s, i + 2 == TRIES, d);
	}
	s->alone = alone;
	return rc;
}

/* Tells whether a query finds anything where the other one found nothing. */
static int finds(struct grove_search *s, const struct looking_for *l, const char *query, bool *yes)
{
	struct grove__search_ask ask = l->ask;
	struct grove__search_hits hits = { .sweep = &s->sweep, .ask = &ask, .s = s };
	struct grove__search_query *q = NULL;
	struct grove_detail why;
	int rc = grove__search_query_new(&q, query, false, &why);

	grove__arena_init(&hits.texts);
	ask.q = q;
	rc = rc ? rc : find(s, &ask, NULL, &hits, &why);
	*yes = !rc && hits.nr;
	grove__arena_release(&hits.texts);
	free(hits.list);
	grove__search_query_free(q);
	return rc;
}

/* Says how far the index is, and what to search for instead if there was nothing. */
static int say_about(struct grove_search *s, const struct looking_for *l, struct grove_hits *h, struct grove_detail *d)
{
	struct grove_buf other = GROVE_BUF_INIT;
	bool good = false;
	int rc = 0;

	h->about.logs = s->sweep.nr;
	for (size_t i = 0; i < s->sweep.nr; i++)
		h->about.behind += !s->index || s->look[i];
	if (h->about.total || !s->index)
		return 0;
	rc = grove__search_index_suggest(s->index, l->ask.q, &other);
	/* a damaged index has been noticed before, or will be */
	if (!rc && other.len)
		rc = finds(s, l, other.ptr, &good);
	if (!rc && good && !(h->about.suggest = grove__arena_dup(&h->texts, grove__buf_slice(&other))))
		rc = GROVE_ENOMEM;
	grove__buf_release(&other);
	return rc == GROVE_ENOMEM ? grove__fail_nomem(d) : 0;
}

int grove__search_run(struct grove_search *s, const char *query,
		      const struct grove_search_options *opt, struct grove_hits **out,
		      struct grove_detail *d)
{
	struct grove__search_query *q = NULL;
	struct grove_buf cwd = GROVE_BUF_INIT;
	struct looking_for l = { .one = opt->what, .continues = opt->cursor };
	int rc = take_options(s->g, opt, &l.ask, &cwd, d);

	*out = NULL;
	rc = rc ? rc : grove__search_query_new(&q, query, s->flags & GROVE_SEARCH_NO_INDEX, d);
	rc = rc || !l.continues ? rc : grove__search_cursor(opt->cursor, &l.after, d);
	rc = rc || !l.one ? rc : grove__locate(s->g, opt->what, &l.where, d);
	l.ask.q = q;
	if (!rc && !opt->strict && !l.one) {
		grove__search_query_drop_stops(q);
		if (grove__search_query_some(q, &l.some))
			rc = grove__fail_nomem(d);
	}
	rc = rc ? rc : search(s, &l, out, d);
	rc = rc ? rc : say_about(s, &l, *out, d);
	if (rc) {
		grove__search_hits_free(*out);
		*out = NULL;
	}
	if (l.one)
		grove__where_release(&l.where);
	grove__search_query_free(l.some);
	grove__search_query_free(q);
	grove__buf_release(&cwd);
	return rc;
}

/* ------------------------------------------------------------- which there are */

void grove__search_note(struct grove *g, const struct grove_detail *why)
{
	/*
	 * one at a time, except for a search made by a callback; not under the lock of
	 * `g`, which a callback may need
	 */
	static pthread_mutex_t telling = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

	pthread_mutex_lock(&telling);
	if (g->warn)
		g->warn(g->warn_payload, 0, why);
	pthread_mutex_unlock(&telling);
}

static void forget_logs(struct grove_search *s)
{
	free(s->look);
	s->look = NULL;
	grove__logs_release(&s->sweep);
	memset(&s->sweep, 0, sizeof(s->sweep));
	if (s->watch)
		grove__search_watch_forget(s->watch);
}

static int by_file(const void *x, const void *y, void *payload)
{
	const uint32_t *i = x, *j = y;
	const struct grove__log_at *logs = payload;
	const struct grove__log_state *a = &logs[*i].st, *b = &logs[*j].st;

	if (a->dev != b->dev)
		return a->dev < b->dev ? -1 : 1;
	if (a->ino != b->ino)
		return a->ino < b->ino ? -1 : 1;
	return *i < *j ? -1 : *i > *j;
}

/* A file may be found by several paths through links: the first one counts. */
static int drop_doubles(struct grove_search *s)
{
	struct grove__log_at *logs = s->sweep.logs;
	uint32_t *order = malloc((s->sweep.nr + 1) * sizeof(*order));
	size_t nr = 0, kept = 0;

	if (!order)
		return GROVE_ENOMEM;
	for (uint32_t i = 0; i < s->sweep.nr; i++)
		if (logs[i].is_file)
			order[nr++] = i;
	if (nr)
		qsort_r(order, nr, sizeof(*order), by_file, logs);
	for (size_t i = 1; i < nr; i++)
		s->look[order[i]] = logs[order[i]].st.dev == logs[order[i - 1]].st.dev &&
				    logs[order[i]].st.ino == logs[order[i - 1]].st.ino;
	for (size_t i = 0; i < s->sweep.nr; i++)
		if (!s->look[i])
			logs[kept++] = logs[i];
	memset(s->look, 0, s->sweep.nr);
	s->sweep.nr = kept;
	free(order);
	return 0;
}

static int find_logs(struct grove_search *s, struct grove_detail *d)
{
	struct grove__logs_which all = { .subs = LOGS_ALL_SUBS, .tell = LOGS_SURVEY, .sorted = true, .look = true };
	int rc = grove__logs_find(&s->sweep, s->g, &all, d);

	if (rc)
		return rc;
	/* not every database tells the states of all its logs at once */
	for (size_t i = 0; i < s->sweep.nr; i++)
		if (!s->sweep.logs[i].root->dir && !s->sweep.logs[i].is_surveyed)
			grove__search_log_look(&s->sweep.logs[i]);
	s->look = calloc(s->sweep.nr + 1, 1);
	return !s->look || drop_doubles(s) ? grove__fail_nomem(d) : 0;
}

/* The index is opened while logs are being found. */
struct opening {
	struct grove *g;
	struct grove__pool pool;
	bool done;                   /* … and this is what came of it */
	struct grove__search_index *index;
	struct grove_detail why;
	int rc;
};

static void open_index(void *payload, unsigned thread)
{
	struct opening *o = payload;

	(void)thread;
	grove__fail_clear(&o->why);
	o->rc = grove__search_index_open(o->g, &o->index, &o->why);
	if (o->index)
		grove__search_index_warm(o->index);
	o->done = true;
}

static int take_index(struct opening *o, struct grove__search_index **out, struct grove_detail *why)
{
	if (!o->done)
		return grove__search_index_open(o->g, out, why);
	o->done = false;
	*out = o->index;
	*why = o->why;
	return o->rc;
}

/* Finds out which of the logs the index has. `same`: they are as they were the last time. */
static int ask_index(struct grove_search *s, struct opening *o, bool same, struct grove_detail *d)
{
	struct grove__search_logs logs = { &s->sweep, s->look, same };
	struct grove_detail why;
	int rc;

	/* if it fails twice, building it again does not help */
	for (int i = 0; i < 2 && !s->alone; i++) {
		grove__fail_clear(&why);
		logs.same &= s->index != NULL;
		rc = s->index ? 0 : take_index(o, &s->index, &why);
		if (!rc && !s->index) {
			if (why.code)
				grove__search_note(s->g, &why);
			return 0;
		}
		rc = rc ? rc : grove__search_index_sync(s->index, s->g, &logs, !(s->flags & GROVE_SEARCH_NO_UPDATE), d);
		if (rc != GROVE_EDAMAGED && rc != GROVE_ECONFLICT)
			return rc;
		if (rc == GROVE_ECONFLICT) {
			leave_index(s);
			return 0;
		}
		drop_index(s);
	}
	return 0;
}

static int examine_all(struct grove_search *s, struct grove_detail *d)
{
	struct opening o = { .g = s->g };
	int rc;

	if (!s->index && !s->alone)
		grove__pool_begin_one(&o.pool, open_index, &o);
	forget_logs(s);
	rc = find_logs(s, d);
	grove__pool_end(&o.pool);
	if (!rc)
		rc = ask_index(s, &o, false, d);
	else if (o.done)
		grove__search_index_close(o.index);
	return rc;
}

/* After a failure, what is known of the logs is not all: the next refresh examines them. */
static int watched(struct grove_search *s, int rc)
{
	if (!rc)
		return 0;
	grove__search_watch_free(s->watch);
	s->watch = NULL;
	return rc;
}

int grove__search_refresh(struct grove_search *s, struct grove_detail *d)
{
	grove__search_watch_free(s->watch);
	s->watch = s->flags & GROVE_SEARCH_WATCH ? grove__search_watch_new(s->g) : NULL;
	return watched(s, examine_all(s, d));
}

int grove__search_refresh_some(struct grove_search *s, struct grove_detail *d)
{
	enum grove__search_news news = s->watch ? grove__search_watch_take(s->watch, s) : SEARCH_DIRS_CHANGED;

	switch (news) {
	case SEARCH_SAME:
	case SEARCH_LOGS:
		return watched(s, ask_index(s, &(struct opening){ .g = s->g }, news == SEARCH_SAME, d));
	case SEARCH_NAMES_CHANGED:
		return watched(s, examine_all(s, d));
	default:
		return grove__search_refresh(s, d);
	}
}

void grove__search_release(struct grove_search *s)
{
	grove__search_index_close(s->index);
	forget_logs(s);
	grove__search_watch_free(s->watch);
}
