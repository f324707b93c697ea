/*
 * history/history_search.c: the newest prompts, and the newest that match.
 *
 * The order is by created_at, then id, newest first. The agents' index is on created_at
 * alone, descending, so prompts of the same second are in ascending order of id; asking
 * SQLite for the right order would sort each second, and an import may have put a
 * hundred thousand prompts into one. So we walk:
 *
 *	created_at   9   8 8 8   7 7 … 7 7 7   6
 *	             └── span ──┘└─── same ──┘      a window of n prompts
 *	                            edge = 7
 *
 * `edge` is the second of the n-th prompt (known from the index alone), `span` is
 * everything newer, in any order, and `same` is the rest from that second, by id.
 *
 * A search first walks over the newest prompts and examines each: a common word is
 * found often enough there, and the word index, which would collect every position of
 * it, is not used. Then comes the index, for older prompts. It returns them by id,
 * newest first. If ids and times grow together, the first results are the right ones;
 * this is checked, not assumed: prompts with a smaller id but a later time are examined
 * one by one.
 */
#include "history/history_impl.h"
#include "history/history_match.h"

#include "base/array.h"

#include <stdlib.h>

enum { LIMIT_MOST = 1000 };

/* The position of a prompt in the order. */
struct place {
	int64_t created, id;
};

struct places {
	struct place *at;
	size_t nr, cap;
};

static int add_place(struct places *p, int64_t created, int64_t id)
{
	if (grove__array_room(&p->at, &p->cap, p->nr, sizeof(*p->at)))
		return GROVE_ENOMEM;
	p->at[p->nr++] = (struct place){ created, id };
	return 0;
}

static int newest_first(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->created != y->created)
		return x->created > y->created ? -1 : 1;
	return x->id == y->id ? 0 : x->id > y->id ? -1 : 1;
}

static void sort_places(struct places *p)
{
	if (p->nr)
		qsort(p->at, p->nr, sizeof(*p->at), newest_first);
}

/* --------------------------------------------------------------- connection */

void grove__history_reader_close(struct grove_history *h)
{
	struct grove__history_statements *s = &h->st;
	sqlite3_stmt *const all[] = { s->edge, s->span, s->same, s->row, s->brief, s->index, s->newer };

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		sqlite3_finalize(all[i]);
	memset(s, 0, sizeof(*s));
	grove__history_db_close(&h->db);
}

int grove__history_reader_open(struct grove_history *h, struct grove_detail *d)
{
	if (h->db.db && grove__history_db_current(&h->db))
		return 0;
	grove__history_reader_close(h);
	return grove__history_db_open(&h->db, h->path, HISTORY_READ, h->tuning.busy_ms, d);
}

static int statement(struct grove_history *h, sqlite3_stmt **st, const char *sql,
		     struct grove_detail *d)
{
	return *st ? 0 : grove__history_db_prepare(&h->db, st, d, sql);
}

static int prepare_all(struct grove_history *h, struct grove_detail *d)
{
	struct grove__history_statements *s = &h->st;
	int rc = 0;

	if (!rc)
		rc = statement(h, &s->edge, "SELECT created_at FROM history WHERE created_at < ?1 "
			       "ORDER BY created_at DESC LIMIT 1 OFFSET ?2", d);
	if (!rc)
		rc = statement(h, &s->span, "SELECT created_at, id, prompt FROM history "
			       "WHERE created_at < ?1 AND created_at > ?2 ORDER BY created_at DESC", d);
	if (!rc)
		rc = statement(h, &s->same, "SELECT created_at, id, prompt FROM history "
			       "WHERE created_at = ?1 AND id < ?2 ORDER BY id DESC LIMIT ?3", d);
	if (!rc)
		rc = statement(h, &s->brief, "SELECT created_at, id, prompt FROM history WHERE id = ?1", d);
	if (!rc)
		rc = statement(h, &s->newer, "SELECT created_at, id FROM history "
			       "WHERE created_at > ?1 AND created_at <= ?2 AND id < ?3", d);
	if (!rc)
		rc = statement(h, &s->row, h->db.shape.session_id ?
			       "SELECT created_at, id, prompt, cwd, session_id FROM history WHERE id = ?1" :
			       "SELECT created_at, id, prompt, cwd, NULL FROM history WHERE id = ?1", d);
	if (!rc && h->db.shape.fts)
		rc = statement(h, &s->index, "SELECT rowid FROM history_fts WHERE history_fts MATCH ?1 "
			       "ORDER BY rowid DESC", d);
	return rc;
}

/* Begins one snapshot for all statements. Returns 1 if there is nothing to read. */
static int begin_reading(struct grove_history *h, struct grove_detail *d)
{
	int rc;

	if (!h->path)
		return grove__fail(d, GROVE_EINVAL, NULL, "the history could not be opened");
	rc = grove__history_reader_open(h, d);
	if (rc == GROVE_ENOTFOUND) {
		grove__fail_clear(d);
		return 1;
	}
	if (!rc)
		rc = grove__history_db_exec(&h->db, "BEGIN", d);
	if (!rc) {
		int before = h->db.schema_version;

		rc = grove__history_db_refresh(&h->db, d);
		/* another layout: `row` and `index` may need other statements */
		if (!rc && before != h->db.schema_version) {
			sqlite3_finalize(h->st.row);
			sqlite3_finalize(h->st.index);
			h->st.row = h->st.index = NULL;
		}
	}
	if (!rc)
		rc = h->db.shape.absent ? 1 : prepare_all(h, d);
	return rc;
}

/* --------------------------------------------------------------------- walk */

struct walk {
	struct grove_history *h;
	struct grove_detail *d;
	struct place at;      /* the last one that was reported */
	bool begun, ended;
	uint64_t nr;          /* given so far */
	/* Called with each prompt; those of one window come in no particular order. */
	int (*fn)(void *payload, struct place at, const char *prompt, size_t len);
	void *payload;
};

/* Passes on the rows of `st`; *nr counts them, *last is the position of the last. */
static int give(struct walk *w, sqlite3_stmt *st, size_t *nr, struct place *last)
{
	int rc, end = 0;

	while (!end && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		struct place at = { sqlite3_column_int64(st, 0), sqlite3_column_int64(st, 1) };
		const char *text = (const char *)sqlite3_column_text(st, 2);
		size_t len = (size_t)sqlite3_column_bytes(st, 2);

		++*nr;
		if (last)
			*last = at;
		end = w->fn(w->payload, at, text ? text : "", text ? len : 0);
	}
	if (end)
		rc = end == GROVE_ENOMEM ? grove__fail_nomem(w->d) : end;
	else
		rc = rc == SQLITE_DONE ? 0 : grove__history_db_fail(&w->h->db, rc, w->d);
	sqlite3_reset(st);
	return rc;
}

static int give_same(struct walk *w, int64_t created, int64_t below, size_t want, size_t *nr)
{
	sqlite3_stmt *st = w->h->st.same;

	sqlite3_bind_int64(st, 1, created);
	sqlite3_bind_int64(st, 2, below);
	sqlite3_bind_int64(st, 3, (int64_t)want);
	return give(w, st, nr, &w->at);
}

/*
 * Finds the second of the n-th prompt older than the second of `at`. Returns 1 if there
 * are fewer.
 */
static int find_edge(struct walk *w, size_t n, int64_t *edge)
{
	sqlite3_stmt *st = w->h->st.edge;
	int rc;

	if (w->begun)
		sqlite3_bind_int64(st, 1, w->at.created);
	else
		sqlite3_bind_double(st, 1, 1e300);
	sqlite3_bind_int64(st, 2, (int64_t)n - 1);
	rc = sqlite3_step(st);
	*edge = rc == SQLITE_ROW ? sqlite3_column_int64(st, 0) : 0;
	rc = rc == SQLITE_ROW ? 0 : rc == SQLITE_DONE ? 1 : grove__history_db_fail(&w->h->db, rc, w->d);
	sqlite3_reset(st);
	return rc;
}

static int give_span(struct walk *w, const int64_t *edge, size_t *nr)
{
	sqlite3_stmt *st = w->h->st.span;

	if (w->begun)
		sqlite3_bind_int64(st, 1, w->at.created);
	else
		sqlite3_bind_double(st, 1, 1e300);
	if (edge)
		sqlite3_bind_int64(st, 2, *edge);
	else
		sqlite3_bind_double(st, 2, -1e300);
	return give(w, st, nr, NULL);
}

/* Gets the next `n` prompts; fewer at the end. */
static int walk_on(struct walk *w, size_t n)
{
	size_t nr = 0, before;
	int64_t edge;
	int rc = 0;

	if (w->begun)
		rc = give_same(w, w->at.created, w->at.id, n, &nr);
	if (!rc && nr < n) {
		rc = find_edge(w, n - nr, &edge);
		if (rc == 1) {
			rc = give_span(w, NULL, &nr);
			w->ended = true;
		} else if (!rc) {
			rc = give_span(w, &edge, &nr);
			before = nr;
			if (!rc && nr < n)
				rc = give_same(w, edge, INT64_MAX, n - nr, &nr);
			/*
			 * a time that is not a whole number: continue rather than loop
			 * forever
			 */
			if (!rc && nr == before)
				w->at = (struct place){ edge, INT64_MIN };
		}
	}
	w->begun = true;
	w->nr += nr;
	return rc;
}

/* ------------------------------------------------------------------- answer */

/* Copies of the results: the caller's function may take its time, and call us. */
struct answer {
	struct grove__arena texts;
	struct grove_history_entry *entry;
	size_t nr;
};

static int keep_text(struct answer *a, sqlite3_stmt *st, int column, const char **out)
{
	const char *text = (const char *)sqlite3_column_text(st, column);
	size_t len = (size_t)sqlite3_column_bytes(st, column);

	*out = text ? grove__arena_dup(&a->texts, grove__slice(text, len)) : NULL;
	return text && !*out ? GROVE_ENOMEM : 0;
}

static int fetch(struct grove_history *h, const struct places *p, size_t limit, struct answer *a,
		 struct grove_detail *d)
{
	size_t nr = p->nr < limit ? p->nr : limit;
	sqlite3_stmt *st = h->st.row;
	int rc = 0;

	a->entry = calloc(nr + 1, sizeof(*a->entry));
	if (!a->entry)
		return grove__fail_nomem(d);
	for (size_t i = 0; i < nr && !rc; i++) {
		struct grove_history_entry *e = &a->entry[a->nr];

		sqlite3_bind_int64(st, 1, p->at[i].id);
		rc = sqlite3_step(st);
		if (rc == SQLITE_ROW) {
			const char *prompt;

			e->id = p->at[i].id;
			/* outside this range a time in ms is invalid */
			e->created = p->at[i].created > -8640000000000 && p->at[i].created < 8640000000000 ?
				p->at[i].created * 1000 : GROVE_NO_TIME;
			rc = keep_text(a, st, 2, &prompt);
			e->prompt = grove__slice(prompt ? prompt : "", (size_t)sqlite3_column_bytes(st, 2));
			if (!rc)
				rc = keep_text(a, st, 3, &e->cwd);
			if (!rc)
				rc = keep_text(a, st, 4, &e->session_id);
			a->nr++;
			if (rc)
				rc = grove__fail_nomem(d);
		} else {
			rc = rc == SQLITE_DONE ? 0 : grove__history_db_fail(&h->db, rc, d);
		}
		sqlite3_reset(st);
	}
	return rc;
}

/* Begins one; `reading` is held from then on. Returns 1 if there is nothing to read. */
static int begin_answer(struct grove_history *h, struct answer *a, struct grove_detail *d)
{
	grove__arena_init(&a->texts);
	pthread_mutex_lock(&h->reading);
	return begin_reading(h, d);
}

/* Ends it with its results; `rc` is what came of looking for them. */
static int deliver(struct grove_history *h, struct answer *a, int rc, grove_history_fn *fn, void *payload)
{
	grove__history_db_rollback(&h->db);
	pthread_mutex_unlock(&h->reading);
	rc = rc == 1 ? 0 : rc;
	for (size_t i = 0; i < a->nr && !rc; i++)
		rc = fn(payload, &a->entry[i]);
	grove__arena_release(&a->texts);
	free(a->entry);
	return rc;
}

/* ------------------------------------------------------------------- recent */

static int take_place(void *payload, struct place at, const char *prompt, size_t len)
{
	(void)prompt;
	(void)len;
	return add_place(payload, at.created, at.id);
}

int grove__history_recent(struct grove_history *h, size_t limit, grove_history_fn *fn,
			  void *payload, struct grove_detail *d)
{
	struct places found = { 0 };
	struct answer a = { .nr = 0 };
	struct walk w = { .h = h, .d = d, .fn = take_place, .payload = &found };
	int rc;

	if (limit > LIMIT_MOST)
		limit = LIMIT_MOST;
	rc = begin_answer(h, &a, d);
	if (!rc && limit) {
		rc = walk_on(&w, limit);
		sort_places(&found);
		if (!rc)
			rc = fetch(h, &found, limit, &a, d);
	}
	free(found.at);
	return deliver(h, &a, rc, fn, payload);
}

/* ------------------------------------------------------------------- search */

struct search {
	struct grove_history *h;
	struct grove_detail *d;
	struct grove__history_match *m;
	size_t limit;
	unsigned want;             /* HIT_… of the prompts being walked over */
	struct walk walk;
	struct places words, parts;
};

static int look_at(void *payload, struct place at, const char *prompt, size_t len)
{
	struct search *s = payload;
	int hit = grove__history_match_prompt(s->m, prompt, len, s->want);

	if (hit < 0)
		return hit;
	if (hit & HIT_WORDS)
		return add_place(&s->words, at.created, at.id);
	if (hit & HIT_PARTS)
		return add_place(&s->parts, at.created, at.id);
	return 0;
}

/* Walks until `most` prompts were seen, or `full` has enough. */
static int walk_newest(struct search *s, uint64_t most, const struct places *full)
{
	size_t step = s->limit < 64 ? 64 : s->limit;
	int rc = 0;

	while (!rc && !s->walk.ended && s->walk.nr < most && full->nr < s->limit) {
		if (step > most - s->walk.nr)
			step = (size_t)(most - s->walk.nr);
		rc = walk_on(&s->walk, step);
		if (step < 1024)
			step *= 2;
	}
	return rc;
}

/* True if this one was already walked over. */
static bool walked(const struct search *s, struct place p)
{
	return s->walk.begun && (s->walk.ended || newest_first(&p, &s->walk.at) <= 0);
}

/* Looks up a result of the index, and, if asked to, checks that it matches. */
static int check_hit(struct search *s, int64_t id, bool match, struct places *hits)
{
	sqlite3_stmt *st = s->h->st.brief;
	int rc;

	sqlite3_bind_int64(st, 1, id);
	rc = sqlite3_step(st);
	if (rc == SQLITE_ROW) {
		struct place at = { sqlite3_column_int64(st, 0), id };

		rc = 0;
		if (!walked(s, at)) {
			if (match) {
				const char *text = (const char *)sqlite3_column_text(st, 2);

				rc = grove__history_match_prompt(s->m, text ? text : "",
								 text ? (size_t)sqlite3_column_bytes(st, 2) : 0,
								 HIT_WORDS);
			}
			if (!match || rc == HIT_WORDS)
				rc = add_place(hits, at.created, id);
			if (rc)
				rc = grove__fail_nomem(s->d);
		}
	} else {
		/* gone, and the index was not updated */
		rc = rc == SQLITE_DONE ? 0 : grove__history_db_fail(&s->h->db, rc, s->d);
	}
	sqlite3_reset(st);
	return rc;
}

/*
 * The index gave `hits` with ids from `lowest` up and has more. Prompts with a smaller
 * id come before those only if their time is later than that of the last one needed:
 * examines all of these.
 */
static int check_newer(struct search *s, struct places *hits, size_t need, int64_t lowest)
{
	sqlite3_stmt *st = s->h->st.newer;
	struct places late = { 0 };
	int rc;

	sort_places(hits);
	sqlite3_bind_int64(st, 1, hits->at[need - 1].created);
	sqlite3_bind_int64(st, 2, s->walk.begun ? s->walk.at.created : INT64_MAX);
	sqlite3_bind_int64(st, 3, lowest);
	while ((rc = sqlite3_step(st)) == SQLITE_ROW)
		if (add_place(&late, sqlite3_column_int64(st, 0), sqlite3_column_int64(st, 1))) {
			rc = SQLITE_NOMEM;
			break;
		}
	rc = rc == SQLITE_DONE ? 0 : grove__history_db_fail(&s->h->db, rc, s->d);
	sqlite3_reset(st);
	for (size_t i = 0; i < late.nr && !rc; i++)
		if (!walked(s, late.at[i]))
			rc = check_hit(s, late.at[i].id, true, hits);
	free(late.at);
	return rc;
}

/* Finds the newest prompts with these words among those that were not walked over. */
static int ask_index(struct search *s)
{
	sqlite3_stmt *st = s->h->st.index;
	struct grove_buf query = GROVE_BUF_INIT;
	struct places hits = { 0 };
	size_t need = s->limit - s->words.nr, asked = 0;
	int64_t id = 0;
	bool all, more = false;
	int rc = grove__history_match_index_query(s->m, &query, &all);

	if (rc || sqlite3_bind_text(st, 1, query.ptr, (int)query.len, SQLITE_STATIC)) {
		grove__buf_release(&query);
		return grove__fail_nomem(s->d);
	}
	while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
		if (hits.nr >= need && asked >= s->h->tuning.index_hits) {
			more = true;
			break;
		}
		id = sqlite3_column_int64(st, 0);
		rc = check_hit(s, id, !all, &hits);
		if (rc)
			break;
		asked++;
	}
	if (rc == SQLITE_DONE || more)
		rc = 0;
	else if (rc > 0)
		rc = grove__history_db_fail(&s->h->db, rc, s->d);
	sqlite3_reset(st);
	sqlite3_clear_bindings(st);
	if (!rc && more)
		rc = check_newer(s, &hits, need, id);
	for (size_t i = 0; i < hits.nr && !rc; i++)
		if (add_place(&s->words, hits.at[i].created, hits.at[i].id))
			rc = grove__fail_nomem(s->d);
	grove__buf_release(&query);
	free(hits.at);
	return rc;
}

static int search_words(struct search *s)
{
	bool words = grove__history_match_has_words(s->m);
	int rc;

	if (!words)
		return 0;
	/* without an index that we can trust, every prompt is examined */
	rc = walk_newest(s, s->h->db.shape.fts ? s->h->tuning.scan_words : UINT64_MAX, &s->words);
	if (!rc && s->words.nr < s->limit && !s->walk.ended)
		rc = ask_index(s);
	return rc;
}

/* Searches for parts of words, if whole words were not enough. */
static int search_parts(struct search *s, bool all)
{
	struct places known = { 0 };
	int rc;

	/* prompts that have the words were already found */
	s->want = HIT_PARTS;
	rc = walk_newest(s, all ? UINT64_MAX : s->h->tuning.scan_parts, &s->parts);
	if (rc)
		return rc;
	sort_places(&s->words);
	known = s->words;
	s->words = (struct places){ 0 };
	for (size_t i = 0; i < known.nr && !rc; i++)
		rc = add_place(&s->words, known.at[i].created, known.at[i].id);
	for (size_t i = 0; i < s->parts.nr && !rc; i++)
		if (!known.nr || !bsearch(&s->parts.at[i], known.at, known.nr, sizeof(*known.at), newest_first))
			rc = add_place(&s->words, s->parts.at[i].created, s->parts.at[i].id);
	free(known.at);
	return rc ? grove__fail_nomem(s->d) : 0;
}

/* xcsh matches whole words only; oh-my-pi also matches parts. */
static bool wants_parts(const struct search *s, unsigned flags)
{
	return (flags & GROVE_HISTORY_PARTS) || s->h->db.shape.unique_prompt ||
	       grove__history_match_unspaced(s->m);
}

static int search(struct search *s, const char *query, unsigned flags)
{
	int rc = grove__history_match_new(&s->m, &s->h->db, query, s->d);
	bool parts;

	if (rc || grove__history_match_empty(s->m))
		return rc;
	parts = wants_parts(s, flags);
	s->want = HIT_WORDS | (parts ? HIT_PARTS : 0);
	rc = search_words(s);
	if (!rc && parts && s->words.nr < s->limit)
		rc = search_parts(s, flags & GROVE_HISTORY_PARTS);
	sort_places(&s->words);
	return rc;
}

int grove__history_search(struct grove_history *h, const char *query, size_t limit, unsigned flags,
			  grove_history_fn *fn, void *payload, struct grove_detail *d)
{
	struct search s = {
		.h = h, .d = d, .limit = limit < LIMIT_MOST ? limit : LIMIT_MOST,
		.walk = { .h = h, .d = d, .fn = look_at, .payload = &s },
	};
	struct answer a = { .nr = 0 };
	int rc;

	rc = begin_answer(h, &a, d);
	if (!rc && s.limit) {
		rc = search(&s, query, flags);
		if (!rc)
			rc = fetch(h, &s.words, s.limit, &a, d);
	}
	grove__history_match_free(s.m);
	free(s.words.at);
	free(s.parts.at);
	return deliver(h, &a, rc, fn, payload);
}
