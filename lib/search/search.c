/*
 * search/search.c: searching the text of all sessions.
 *
 * There are two ways to find a hit: the index, for logs that have not changed since
 * they were indexed, and scanning for all others. Either way, what is shown is read
 * from the log itself. If a line has changed since it was found, it is not a hit, and
 * the search is repeated.
 */
#include "search/search.h"

#include "base/array.h"
#include "image/sent.h"
#include "sys/pool.h"

#include <stdlib.h>

#define LIMIT_DEFAULT 20
#define LIMIT_MAX 10000
#define TRIES 3
#define LOOKERS_MAX 4
#define LOOK_AT_ONCE 1000       /* number of logs from which a thread of its own pays */

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

bool grove__search_wants_log(const struct grove__search_ask *ask, const char *agent, const char *cwd)
{
	size_t n;

	if (ask->agent && strcmp(ask->agent, agent))
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
	const unsigned all = GROVE_SEARCH_IN_TEXT | GROVE_SEARCH_IN_CALLS | GROVE_SEARCH_IN_RESULTS;

	*ask = (struct grove__search_ask){ .in = all, .roles = UINT32_MAX, .since = INT64_MIN,
					   .until = INT64_MAX, .limit = LIMIT_DEFAULT };
	if (!opt)
		return 0;
	if (opt->in & ~all)
		return grove__fail(d, GROVE_EINVAL, NULL, "unknown kind of text to search in");
	ask->in = opt->in ? opt->in : all;
	ask->agent = opt->agent;
	ask->since = opt->since ? opt->since : INT64_MIN;
	ask->until = opt->until ? opt->until : INT64_MAX;
	ask->limit = opt->limit ? opt->limit : LIMIT_DEFAULT;
	if (ask->limit > LIMIT_MAX)
		ask->limit = LIMIT_MAX;
	if (opt->cwd && grove__world_resolve(g, opt->cwd, cwd))
		return grove__fail_nomem(d);
	ask->cwd = cwd->ptr;
	return opt->role ? find_role(opt->role, ask, d) : 0;
}

/* ------------------------------------------------------------------- a hit */

/* The log that was opened last, since consecutive hits are often in one session. */
struct teller {
	struct grove_search *s;
	struct grove__search_matcher *m;
	uint32_t at;                 /* index in the sweep's list; GROVE_NO_ENTRY: none */
	struct grove_store_log *log;
	const struct grove__dialect *dialect;
	struct grove__image *im;     /* if the index does not know the log */
	uint8_t *places;
	struct grove_buf line, path, id;
	struct grove__search_texts texts;
	struct grove__search_snippet snippet;
	grove_hit_fn *fn;
	void *payload;
	struct grove_detail *d;
};

static void close_log(struct teller *t)
{
	grove__log_close(t->log);
	grove__image_unref(t->im);
	free(t->places);
	t->log = NULL;
	t->im = NULL;
	t->places = NULL;
	t->at = GROVE_NO_ENTRY;
}

static void teller_release(struct teller *t)
{
	close_log(t);
	grove__buf_release(&t->line);
	grove__buf_release(&t->path);
	grove__buf_release(&t->id);
	grove__search_texts_release(&t->texts);
	grove__search_snippet_release(&t->snippet);
}

static int open_log(struct teller *t, const struct grove__search_hit *h)
{
	const struct grove__sweep_log *l = &t->s->sweep.logs[h->log];
	struct grove_key key = { l->project, l->session, l->sub };
	int rc;

	if (t->at == h->log && (h->indexed || t->im))
		return 0;
	close_log(t);
	t->dialect = h->indexed ? grove__search_index_dialect(t->s->index, l) : NULL;
	rc = grove__search_log_open(t->s->g, l, &t->log, &t->dialect, t->d);
	if (!rc && !h->indexed) {
		rc = grove__search_log_image(l, t->s->g->cache, t->log, t->dialect, &t->im, t->d);
		rc = rc ? rc : grove__image_sent(t->im, t->log, grove__search_log_name(l), &t->places, t->d);
	}
	grove__buf_clear(&t->path);
	if (!rc && grove__store_describe(l->root->store, &key, &t->path))
		rc = grove__fail_nomem(t->d);
	if (!rc)
		t->at = h->log;
	return rc;
}

/* Finds the row that begins at a position of the log. */
static uint32_t row_at(const struct grove__image *im, const struct grove__spot *at)
{
	uint32_t low = 0, high = im->spine->nr;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (grove__spine_pos(im->spine, mid) < at->pos)
			low = mid + 1;
		else
			high = mid;
	}
	/* there may be white space before a value */
	if (low == im->spine->nr || grove__spine_pos(im->spine, low) >= at->pos + (im->by_line ? 1 : at->len))
		return GROVE_NO_ENTRY;
	for (; at->off && low + 1 < im->spine->nr; low++)
		if (grove__image_spot(im, low).off == at->off)
			break;
	return low;
}

/* Gets the text and the marks to be shown. Returns 1 if the text does not match. */
static int read_hit(struct teller *t, const struct grove__search_hit *h)
{
	const struct grove_hit_mark *marks;
	struct grove_slice value, text;
	double score;
	size_t nr;
	int rc = grove__line_fetch(t->log, &h->at, &t->line, t->d);

	if (rc)
		return rc;
	if (h->at.lines || memchr(t->line.ptr, '\n', t->line.len))
		grove__line_join(t->line.ptr, t->line.len);
	value = grove__line_trim(grove__buf_slice(&t->line));
	rc = grove__search_texts(&t->texts, t->dialect, value, h->kind, h->role);
	text = grove__buf_slice(&t->texts.of[h->class]);
	rc = rc ? rc : grove__search_match(t->m, text, true, &score);
	if (rc <= 0)
		return rc ? rc : 1;
	marks = grove__search_marks(t->m, &nr);
	return grove__search_snippet(&t->snippet, text, marks, nr);
}

static int know_session(struct teller *t, const struct grove__search_hit *h,
			struct grove_hit *out)
{
	const struct grove__sweep_log *l = &t->s->sweep.logs[h->log];
	struct grove__search_file f;
	uint32_t row;
	int rc;

	if (h->indexed) {
		rc = grove__search_index_file(t->s->index, h->file, h->row, &f);
		if (rc)
			return rc;
		out->session_id = f.session;
		out->cwd = f.cwd;
		out->entry_id = h->entry;
		out->on_active_path = f.on_path;
		out->in_context = f.sent;
		return 0;
	}
	row = row_at(t->im, &h->at);
	if (row == GROVE_NO_ENTRY)
		return 1;
	if (grove__search_log_id(l, t->im, &t->id, &out->session_id))
		return grove__fail_nomem(t->d);
	out->cwd = t->im->header.cwd ? t->im->header.cwd : "";
	out->entry_id = grove__spine_id(t->im->spine, row);
	out->on_active_path = (t->places[row] & ROW_ON_PATH) != 0;
	out->in_context = (t->places[row] & ROW_SENT) != 0;
	return 0;
}

/* Returns 1 if it is no longer a hit. */
static int tell_hit(struct teller *t, const struct grove__search_hit *h)
{
	const struct grove__sweep_log *l = &t->s->sweep.logs[h->log];
	struct grove_hit out = { .time = h->time, .score = h->score };
	int rc = open_log(t, h);

	rc = rc ? rc : read_hit(t, h);
	/* gone or changed; an indexed line is never too long */
	if (rc)
		return rc == GROVE_ENOMEM || (rc == GROVE_ETOOBIG && !h->indexed) ? rc : 1;
	rc = know_session(t, h, &out);
	if (rc)
		return rc;
	out.path = t->path.len ? t->path.ptr : "";
	out.agent = grove__search_log_agent(l, t->dialect);
	out.store = l->root->store->url;
	out.in = 1u << h->class;
	out.role = grove__search_role(h->class, h->role);
	out.kind = h->kind;
	out.snippet = grove__buf_slice(&t->snippet.text);
	out.marks = t->snippet.marks;
	out.nr_marks = t->snippet.nr;
	return t->fn(t->payload, &out);
}

/* ----------------------------------------------------------------- searching */

static int by_order(const void *x, const void *y, void *payload)
{
	return grove__search_order(payload, x, y);
}

static int find(struct grove_search *s, const struct grove__search_ask *ask,
		struct grove__search_hits *hits, bool *lost, struct grove_detail *d)
{
	uint32_t *logs = malloc((s->sweep.nr + 1) * sizeof(*logs));
	size_t nr = 0;
	int rc = logs ? 0 : grove__fail_nomem(d);

	/* the role excludes every class that is asked for */
	if (!ask->in)
		goto out;
	if (!rc && s->index)
		rc = grove__search_index_find(s->index, s, ask, hits, lost, d);
	for (size_t i = 0; i < s->sweep.nr && !rc; i++)
		if (!s->index || s->look[i])
			logs[nr++] = (uint32_t)i;
	if (!rc && nr)
		rc = grove__search_scan(s, ask, logs, nr, hits, d);
out:
	free(logs);
	if (!rc && hits->nr)
		qsort_r(hits->list, hits->nr, sizeof(*hits->list), by_order, &s->sweep);
	return rc;
}

/* Hits that wait until it is certain that they are complete. */
struct kept {
	struct grove_hit hit;
	char *texts;                 /* one allocation for everything the hit points to */
};

struct answers {
	struct kept *list;
	size_t nr, cap;
};

static char *put(char **at, const char *text, size_t len)
{
	char *start = *at;

	if (len)
		memcpy(start, text, len);
	start[len] = '\0';
	*at += len + 1;
	return start;
}

static int keep(void *payload, const struct grove_hit *h)
{
	struct answers *a = payload;
	struct kept *k;
	size_t marks = h->nr_marks * sizeof(*h->marks);
	char *at;

	if (grove__array_room(&a->list, &a->cap, a->nr, sizeof(*a->list)))
		return GROVE_ENOMEM;
	k = &a->list[a->nr];
	k->hit = *h;
	k->texts = malloc(marks + strlen(h->session_id) + strlen(h->path) + strlen(h->cwd) +
			  (h->entry_id ? strlen(h->entry_id) : 0) + h->snippet.len + 5);
	if (!k->texts)
		return GROVE_ENOMEM;
	if (marks)
		memcpy(k->texts, h->marks, marks);
	at = k->texts + marks;
	k->hit.marks = (const struct grove_hit_mark *)(const void *)k->texts;
	k->hit.session_id = put(&at, h->session_id, strlen(h->session_id));
	k->hit.path = put(&at, h->path, strlen(h->path));
	k->hit.cwd = put(&at, h->cwd, strlen(h->cwd));
	if (h->entry_id)
		k->hit.entry_id = put(&at, h->entry_id, strlen(h->entry_id));
	k->hit.snippet.ptr = put(&at, h->snippet.ptr, h->snippet.len);
	a->nr++;
	return 0;
}

static void answers_clear(struct answers *a)
{
	while (a->nr)
		free(a->list[--a->nr].texts);
}

/* Sets *lost if some are no longer hits. */
static int tell(struct grove_search *s, const struct grove__search_ask *ask,
		const struct grove__search_hits *hits, struct answers *a, bool *lost,
		struct grove_detail *d)
{
	struct teller t = { .s = s, .at = GROVE_NO_ENTRY, .fn = keep, .payload = a, .d = d };
	int rc = 0;

	t.m = grove__search_matcher_new(ask->q);
	if (!t.m)
		rc = grove__fail_nomem(d);
	for (size_t i = 0; i < hits->nr && a->nr < ask->limit && !rc; i++) {
		rc = tell_hit(&t, &hits->list[i]);
		*lost |= rc == 1;
		rc = rc == 1 ? 0 : rc;
	}
	grove__search_matcher_free(t.m);
	teller_release(&t);
	return rc;
}

static int search_once(struct grove_search *s, const struct grove__search_ask *ask,
		       struct answers *a, bool *lost, struct grove_detail *d)
{
	struct grove__search_hits hits = { 0 };
	int rc;

	*lost = false;
	grove__arena_init(&hits.texts);
	rc = find(s, ask, &hits, lost, d);
	rc = rc ? rc : tell(s, ask, &hits, a, lost, d);
	grove__arena_release(&hits.texts);
	free(hits.list);
	return rc;
}

/* The index cannot be relied on: builds it again. */
static int begin_anew(struct grove_search *s, bool last, struct grove_detail *d)
{
	grove__search_index_close(s->index);
	s->index = NULL;
	if (!last)
		grove__search_index_remove(s->g);
	else
		s->alone = true;
	return grove__search_refresh(s, d);
}

int grove__search_run(struct grove_search *s, const char *query,
		      const struct grove_search_options *opt, grove_hit_fn *fn, void *payload,
		      struct grove_detail *d)
{
	struct grove__search_query *q = NULL;
	struct grove_buf cwd = GROVE_BUF_INIT;
	struct grove__search_ask ask;
	struct answers a = { 0 };
	enum grove__search_how how = s->flags & GROVE_SEARCH_NO_INDEX ? SEARCH_PARTS : SEARCH_WORDS;
	bool lost = false;
	int rc = take_options(s->g, opt, &ask, &cwd, d);

	rc = rc ? rc : grove__search_query_new(&q, query, how, d);
	ask.q = q;
	for (int i = 0; i < TRIES && !rc; i++) {
		answers_clear(&a);
		rc = search_once(s, &ask, &a, &lost, d);
		if (rc == GROVE_EDAMAGED && s->index)
			rc = begin_anew(s, i > 0, d);
		else if (rc || !lost)
			break;
		/* the logs have changed since; or, if they have not, the index is wrong */
		else if (i + 2 < TRIES || !s->index)
			rc = grove__search_refresh(s, d);
		else
			rc = begin_anew(s, false, d);
	}
	for (size_t i = 0; i < a.nr && !rc; i++)
		rc = fn(payload, &a.list[i].hit);
	answers_clear(&a);
	free(a.list);
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
	free(s->like);
	s->look = NULL;
	s->like = NULL;
	grove__sweep_release(&s->sweep);
	memset(&s->sweep, 0, sizeof(s->sweep));
}

static int by_file(const void *x, const void *y, void *payload)
{
	const uint32_t *i = x, *j = y;
	const struct grove__search_like *like = payload, *a = &like[*i], *b = &like[*j];

	if (a->dev != b->dev)
		return a->dev < b->dev ? -1 : 1;
	if (a->ino != b->ino)
		return a->ino < b->ino ? -1 : 1;
	return *i < *j ? -1 : *i > *j;
}

/* A file may be found by several paths through links: the first one counts. */
static int drop_doubles(struct grove_search *s)
{
	struct grove__sweep_log *logs = s->sweep.logs;
	struct grove__search_like *like = s->like;
	uint32_t *order = malloc((s->sweep.nr + 1) * sizeof(*order));
	bool *twice = calloc(s->sweep.nr + 1, sizeof(*twice));
	size_t nr = 0, kept = 0;

	for (uint32_t i = 0; order && i < s->sweep.nr; i++)
		if (logs[i].root->dir && !like[i].gone)
			order[nr++] = i;
	if (order && twice && nr) {
		qsort_r(order, nr, sizeof(*order), by_file, like);
		for (size_t i = 1; i < nr; i++)
			twice[order[i]] = like[order[i]].dev == like[order[i - 1]].dev &&
					  like[order[i]].ino == like[order[i - 1]].ino;
		for (size_t i = 0; i < s->sweep.nr; i++)
			if (!twice[i]) {
				logs[kept] = logs[i];
				like[kept++] = like[i];
			}
		s->sweep.nr = kept;
	}
	nr = order && twice;
	free(order);
	free(twice);
	return nr ? 0 : GROVE_ENOMEM;
}

/* Shared by the threads that examine all logs, in batches. */
struct looking {
	struct grove_search *s;
	size_t next;             /* atomic */
	int rc;                  /* atomic */
};

static int look_at_some(struct grove_search *s, size_t from, struct grove_buf *path)
{
	size_t end = from + LOOK_AT_ONCE < s->sweep.nr ? from + LOOK_AT_ONCE : s->sweep.nr;
	int rc = 0;

	for (size_t i = from; i < end && !rc; i++) {
		rc = grove__search_log_path(&s->sweep.logs[i], path);
		if (!rc)
			grove__search_log_look(&s->sweep.logs[i], path->ptr, &s->like[i]);
	}
	return rc;
}

static void look_at(void *payload, unsigned thread)
{
	struct looking *l = payload;
	struct grove_buf path = GROVE_BUF_INIT;
	size_t from;
	int rc = 0;

	(void)thread;
	while (!rc && (from = __atomic_fetch_add(&l->next, LOOK_AT_ONCE, __ATOMIC_RELAXED)) < l->s->sweep.nr)
		rc = look_at_some(l->s, from, &path);
	if (rc)
		__atomic_store_n(&l->rc, rc, __ATOMIC_RELAXED);
	grove__buf_release(&path);
}

static int look_at_all(struct grove_search *s)
{
	size_t want = s->sweep.nr / LOOK_AT_ONCE + 1;
	struct looking l = { .s = s };

	grove__pool_run(want < LOOKERS_MAX ? want : LOOKERS_MAX, look_at, &l);
	return l.rc;
}

static int find_logs(struct grove_search *s, struct grove_detail *d)
{
	int rc = grove__sweep_find(&s->sweep, s->g, d);

	if (rc)
		return rc;
	s->look = calloc(s->sweep.nr + 1, 1);
	s->like = calloc(s->sweep.nr + 1, sizeof(*s->like));
	rc = s->look && s->like ? 0 : GROVE_ENOMEM;
	rc = rc ? rc : look_at_all(s);
	rc = rc ? rc : drop_doubles(s);
	return rc ? grove__fail_nomem(d) : 0;
}

int grove__search_refresh(struct grove_search *s, struct grove_detail *d)
{
	struct grove_detail why;
	int rc;

	forget_logs(s);
	rc = find_logs(s, d);
	if (rc)
		return rc;
	/* if it fails twice, building it again does not help */
	for (int i = 0; i < 2 && !s->alone; i++) {
		grove__fail_clear(&why);
		rc = s->index ? 0 : grove__search_index_open(s->g, &s->index, &why);
		if (!rc && !s->index) {
			if (why.code)
				grove__search_note(s->g, &why);
			return 0;
		}
		rc = rc ? rc : grove__search_index_sync(s->index, s->g, &s->sweep, s->like, s->look, d);
		if (rc != GROVE_EDAMAGED)
			return rc;
		grove__search_index_close(s->index);
		s->index = NULL;
		grove__search_index_remove(s->g);
	}
	return 0;
}

void grove__search_release(struct grove_search *s)
{
	grove__search_index_close(s->index);
	forget_logs(s);
}
