/* search/search_hits.c: the result of a search: hits, by session. */
#include "search/search_hits.h"

#include "base/array.h"
#include "search/search_tell.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* A log that has candidates. */
struct group {
	struct grove_hit_session *session;  /* NULL: none of them is shown */
	const struct grove_hit **list;      /* its hits, once all are known */
	size_t shown;
	uint64_t more;
	bool seen, earlier;                 /* earlier: it was on a page before */
};

struct taking {
	struct grove_hits *out;
	const struct grove__search_ask *ask;
	const struct grove__search_query *some;
	const struct grove__search_place_at *after;
	struct grove__search_teller t;
	struct group *groups;               /* for each log */
	struct group **by;                  /* for each hit that is shown */
	size_t cap_by;
	const struct grove__search_hit *of; /* the next candidates may be copies of this one, … */
	struct grove_buf said;              /* … of which this is shown … */
	bool has_said;                      /* … if it is known */
	struct grove__search_place_at at;   /* of the current candidate */
	struct grove__search_place_at last; /* that was shown */
	bool rest;                          /* something was left for the next page */
};

/* ---------------------------------------------------------------------- copies */

struct grove_hits *grove__search_hits_new(void)
{
	struct grove_hits *h = calloc(1, sizeof(*h));

	if (h)
		grove__arena_init(&h->texts);
	return h;
}

void grove__search_hits_free(struct grove_hits *h)
{
	if (!h)
		return;
	grove__arena_release(&h->texts);
	free(h->hits);
	free(h->sessions);
	free(h);
}

static const char *copy_text(struct taking *k, const char *text)
{
	return text ? grove__arena_dup(&k->out->texts, grove__slice_str(text)) : NULL;
}

static struct grove_hit_session *copy_session(struct taking *k, const struct grove_hit_session *s)
{
	struct grove_hits *out = k->out;
	struct grove_hit_session *own = grove__arena_alloc(&out->texts, sizeof(*own), 8);

	if (!own || grove__array_room(&out->sessions, &out->cap_sessions, out->nr_sessions, sizeof(*out->sessions)))
		return NULL;
	*own = *s;
	own->id = copy_text(k, s->id);
	own->path = copy_text(k, s->path);
	own->name = copy_text(k, s->name);
	own->cwd = copy_text(k, s->cwd);
	own->agent = copy_text(k, s->agent);
	own->store = copy_text(k, s->store);
	if (!own->id || !own->path || (s->name && !own->name) || !own->cwd || !own->agent || !own->store)
		return NULL;
	out->sessions[out->nr_sessions++] = own;
	return own;
}

/* Lists the words that a session lacks. */
static int name_missing(struct taking *k, uint64_t missing, struct grove_hit *own)
{
	const char **list = grove__arena_alloc(&k->out->texts, 64 * sizeof(*list), 8);

	if (!list)
		return GROVE_ENOMEM;
	own->missing = list;
	for (; missing; missing &= missing - 1) {
		struct grove_slice word = grove__search_query_word(k->some, (size_t)__builtin_ctzll(missing));

		if (!(list[own->nr_missing++] = grove__arena_dup(&k->out->texts, word)))
			return GROVE_ENOMEM;
	}
	return 0;
}

static struct grove_hit *copy_hit(struct taking *k, const struct grove_hit *h)
{
	struct grove_hits *out = k->out;
	size_t marks = h->nr_marks * sizeof(*h->marks);
	struct grove_hit *own = grove__arena_alloc(&out->texts, sizeof(*own), 8);
	struct grove_hit_mark *own_marks = grove__arena_alloc(&out->texts, marks + 1, 8);

	if (!own || !own_marks || grove__array_room(&out->hits, &out->cap, out->nr, sizeof(*out->hits)))
		return NULL;
	*own = *h;
	own->entry_id = copy_text(k, h->entry_id);
	own->snippet.ptr = grove__arena_dup(&out->texts, h->snippet);
	own->marks = own_marks;
	if (marks)
		memcpy(own_marks, h->marks, marks);
	if (!own->snippet.ptr || (h->entry_id && !own->entry_id))
		return NULL;
	out->hits[out->nr++] = own;
	return own;
}

/* ---------------------------------------------------------------------- places */

static bool is_after(const struct grove__search_place_at *a, const struct grove__search_place_at *b)
{
	if (!b)
		return true;
	if (a->match != b->match)
		return a->match > b->match;
	if (a->score != b->score)
		return a->score < b->score;
	return a->time != b->time ? a->time < b->time : a->nr > b->nr;
}

/* Moves to the next candidate. In one session, hits are counted from its beginning. */
static void move_to(struct taking *k, const struct grove__search_hit *h)
{
	bool ordered = k->ask->only == GROVE_NO_ENTRY;
	/* the texts of a session follow each other, whenever they were written */
	struct grove__search_place_at at = { h->match, ordered ? h->score : 0, ordered && !h->match ? h->time : 0, 0 };

	k->at.nr = k->at.match == at.match && k->at.score == at.score && k->at.time == at.time ? k->at.nr + 1 : 0;
	k->at.match = at.match;
	k->at.score = at.score;
	k->at.time = at.time;
}

/*
 * Everything but the number is compared as bits, so that a cursor is exact. The letter tells
 * a later format.
 */
static int put_cursor(struct grove_hits *out, const struct grove__search_place_at *at)
{
	char text[80];
	uint64_t score;

	memcpy(&score, &at->score, sizeof(score));
	snprintf(text, sizeof(text), "b%u.%" PRIx64 ".%" PRIx64 ".%" PRIx64, at->match, score, (uint64_t)at->time, at->nr);
	out->about.cursor = grove__arena_dup(&out->texts, grove__slice_str(text));
	return out->about.cursor ? 0 : GROVE_ENOMEM;
}

int grove__search_cursor(const char *text, struct grove__search_place_at *out, struct grove_detail *d)
{
	uint64_t score, time;
	int used = 0;

	if (sscanf(text, "b%u.%" SCNx64 ".%" SCNx64 ".%" SCNx64 "%n", &out->match, &score, &time, &out->nr, &used) != 4 ||
	    text[used])
		return grove__fail(d, GROVE_EINVAL, NULL, "not a cursor of a search: %.60s", text);
	memcpy(&out->score, &score, sizeof(score));
	out->time = (int64_t)time;
	return 0;
}

/* --------------------------------------------------------------------- choosing */

/* Returns 1 if it is no longer a hit. */
static int show(struct taking *k, struct group *g, const struct grove__search_hit *h)
{
	struct grove_hit hit, *own;
	struct grove_hit_session session;
	int rc = grove__search_tell(&k->t, h, &hit, &session);

	if (rc)
		return rc;
	if (!g->session)
		g->session = copy_session(k, &session);
	own = g->session ? copy_hit(k, &hit) : NULL;
	if (!own || (h->missing && name_missing(k, h->missing, own)) || grove__array_room(&k->by, &k->cap_by, k->out->nr - 1, sizeof(*k->by)))
		return grove__fail_nomem(k->t.d);
	own->session = g->session;
	k->by[k->out->nr - 1] = g;
	g->shown++;
	return 0;
}

/* True if this candidate belongs on the page. */
static bool is_wanted(struct taking *k, struct group *g)
{
	size_t limit = k->ask->limit, per = k->ask->per_session;

	if (!per) {
		if (!is_after(&k->at, k->after))
			return false;
		k->rest |= k->out->nr == limit;
		return k->out->nr < limit;
	}
	if (!g->seen)
		g->earlier = !is_after(&k->at, k->after);
	if (g->earlier)
		return false;
	if (!g->session && k->out->nr_sessions == limit) {
		k->rest = true;
		return false;
	}
	return g->shown < per;
}

static int take_one(struct taking *k, const struct grove__search_hit *h)
{
	struct group *g = &k->groups[h->log];
	bool wanted = is_wanted(k, g), first = !g->seen;
	int rc = wanted ? show(k, g, h) : 0;

	g->seen = true;
	k->out->about.sessions += first;
	k->out->about.total++;
	g->more += !wanted && is_after(&k->at, k->after);
	/* the next page continues after the last hit, or after the best one of the last session */
	if (wanted && !rc && (!k->ask->per_session || first))
		k->last = k->at;
	return rc;
}

/* True if a candidate may be a copy of the one before it. */
static bool may_be_copy(const struct grove__search_hit *of, const struct grove__search_hit *h)
{
	return of && !of->match && !h->match && of->log != h->log && of->time == h->time && h->time != GROVE_NO_TIME &&
	       of->score == h->score && of->class == h->class && of->role == h->role;
}

/* A fork may have the very same line: that is known without reading it. */
static bool have_same_line(const struct grove__search_hit *a, const struct grove__search_hit *b)
{
	return !a->text && !b->text && a->at.len == b->at.len && a->at.crc == b->at.crc;
}

/* Keeps what is shown of the candidate that others may be copies of. Returns 1 if it is no longer a hit. */
static int keep_snippet(struct taking *k)
{
	struct grove_hit hit;
	struct grove_hit_session session;
	int rc = k->has_said ? 0 : grove__search_tell(&k->t, k->of, &hit, &session);

	if (rc || k->has_said)
		return rc;
	grove__buf_clear(&k->said);
	if (grove__buf_add(&k->said, hit.snippet.ptr, hit.snippet.len))
		return grove__fail_nomem(k->t.d);
	k->has_said = true;
	return 0;
}

/*
 * Tells whether a candidate says the same as the one before it. The answer must be the same
 * on every page, or pages would repeat hits and leave some out: so texts are compared even
 * if neither is shown. Returns 1 if one of them is no longer a hit.
 */
static int is_copy(struct taking *k, const struct grove__search_hit *h, bool *yes)
{
	struct grove_hit hit;
	struct grove_hit_session session;
	int rc;

	*yes = may_be_copy(k->of, h);
	if (!*yes || have_same_line(k->of, h))
		return 0;
	*yes = false;
	rc = keep_snippet(k);
	rc = rc ? rc : grove__search_tell(&k->t, h, &hit, &session);
	*yes = !rc && grove__slice_eq(hit.snippet, grove__buf_slice(&k->said));
	return rc;
}

static int take_all(struct taking *k, struct grove__search_hits *from)
{
	bool shown = false, copy;
	int rc = 0;

	for (size_t i = 0; i < from->nr && rc >= 0; i++) {
		const struct grove__search_hit *h = &from->list[i];
		size_t before = k->out->nr;

		rc = is_copy(k, h, &copy);
		from->lost |= rc == 1;
		if (rc)
			continue;
		if (copy) {
			if (shown)
				k->out->hits[before - 1]->copies++;
			continue;
		}
		move_to(k, h);
		rc = take_one(k, h);
		from->lost |= rc == 1;
		k->of = h;
		k->has_said = false;
		shown = k->out->nr > before;
	}
	return rc < 0 ? rc : 0;
}

/* Gives each session its hits. */
static int group(struct taking *k, size_t nr_logs)
{
	struct grove_hits *out = k->out;
	const struct grove_hit **list = grove__arena_alloc(&out->texts, (out->nr + 1) * sizeof(*list), 8);

	if (!list)
		return GROVE_ENOMEM;
	for (size_t i = 0; i < nr_logs; i++) {
		struct group *g = &k->groups[i];

		if (!g->session)
			continue;
		g->list = list;
		g->session->hits = list;
		g->session->more = g->more;
		list += g->shown;
	}
	for (size_t i = 0; i < out->nr; i++)
		k->by[i]->list[k->by[i]->session->nr++] = out->hits[i];
	return 0;
}

/* ------------------------------------------------------------------------- ids */

enum { ID_SHORTEST = 8 };

/* Returns where the id begins in the name of a log: after the time, if the agent puts one there. */
static const char *id_in(const struct grove__log_at *l)
{
	const char *name = *l->sub ? l->sub : l->session;
	const char *at = strrchr(name, *l->sub ? '/' : '_');

	return at ? at + 1 : name;
}

/* How the id of a session compares with those of all logs. */
struct measure {
	unsigned len;                       /* of the id */
	unsigned most;                      /* the most characters that another one begins with, too */
	bool named;                         /* a log is named so */
};

static void compare_id(struct measure *m, const char *own, const char *id)
{
	unsigned n = ID_SHORTEST;

	if (m->len <= ID_SHORTEST || strncmp(id, own, ID_SHORTEST))
		return;
	while (n < m->len && id[n] == own[n])
		n++;
	m->named |= n == m->len;
	m->most = n < m->len && n > m->most ? n : m->most;
}

/* Measures how much of each session's id has to be shown. */
static int measure_ids(const struct grove__logs *sweep, struct grove_hits *out)
{
	struct measure *m = calloc(out->nr_sessions + 1, sizeof(*m));

	if (!m)
		return GROVE_ENOMEM;
	for (size_t i = 0; i < out->nr_sessions; i++)
		m[i].len = (unsigned)strlen(out->sessions[i]->id);
	for (size_t i = 0; i < sweep->nr && out->nr_sessions; i++) {
		const char *id = id_in(&sweep->logs[i]);

		for (size_t j = 0; j < out->nr_sessions; j++)
			compare_id(&m[j], out->sessions[j]->id, id);
	}
	for (size_t i = 0; i < out->nr_sessions; i++) {
		unsigned n = m[i].most ? m[i].most + 1 : ID_SHORTEST;

		out->sessions[i]->id_len = m[i].named && n < m[i].len ? n : m[i].len;
	}
	free(m);
	return 0;
}

int grove__search_hits_take(struct grove_hits *out, struct grove_search *s, const struct grove__search_ask *ask,
			    const struct grove__search_query *some, struct grove__search_hits *from,
			    const struct grove__search_place_at *after, struct grove_detail *d)
{
	struct taking k = { .out = out, .ask = ask, .some = some, .after = after, .said = GROVE_BUF_INIT,
			    .t = { .s = s, .d = d, .hits = from } };
	int rc = grove__search_teller_init(&k.t, ask->q, some);

	k.at.score = -1;
	k.groups = calloc(s->sweep.nr + 1, sizeof(*k.groups));
	if (!k.groups)
		rc = grove__fail_nomem(d);
	rc = rc ? rc : take_all(&k, from);
	if (!rc && group(&k, s->sweep.nr))
		rc = grove__fail_nomem(d);
	if (!rc && k.rest && put_cursor(out, &k.last))
		rc = grove__fail_nomem(d);
	if (!rc && measure_ids(&s->sweep, out))
		rc = grove__fail_nomem(d);
	out->about.more = from->cut || from->beyond;
	free(k.groups);
	free(k.by);
	grove__buf_release(&k.said);
	grove__search_teller_release(&k.t);
	return rc;
}
