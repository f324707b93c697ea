/*
 * search/search_find.c: queries on the index.
 *
 * FTS5 goes through every part that has the words, so what is done for each has to be cheap.
 * From the positions of the words follows which texts of the part have which of them, and in
 * which lanes. The number of words of a text is its score, and once there are enough hits,
 * most texts cannot be better: of these, nothing else is read. The newest come first, since
 * they are the better ones of those with the same score.
 */
#include "search/search_db.h"
#include "search/search_part.h"
#include "search/search_rank.h"

#include "base/array.h"
#include "image/sent.h"

#include <stdlib.h>

/* ----------------------------------------------------------------- positions */

static int mark_position(struct grove__search_index *ix, size_t at, size_t word)
{
	if (at >= ix->cap_at) {
		size_t cap = at + at / 2 + 4096;
		uint64_t *more = realloc(ix->at, cap * sizeof(*more));

		if (!more)
			return SQLITE_NOMEM;
		memset(more + ix->cap_at, 0, (cap - ix->cap_at) * sizeof(*more));
		ix->at = more;
		ix->cap_at = cap;
	}
	if (!ix->at[at]) {
		if (grove__array_room(&ix->found, &ix->cap_found, ix->nr_found, sizeof(*ix->found)))
			return SQLITE_NOMEM;
		ix->found[ix->nr_found++] = (struct grove__search_found){ .nr = (uint32_t)(at / SEARCH_LANES),
									  .lane = at % SEARCH_LANES };
	}
	ix->at[at] |= (uint64_t)1 << word;
	return 0;
}

static int mark_phrase(struct grove__search_index *ix, const Fts5ExtensionApi *api, Fts5Context *c, int phrase,
		       size_t word)
{
	Fts5PhraseIter it;
	int column, off, rc = api->xPhraseFirst(c, phrase, &it, &column, &off);

	for (; !rc && column >= 0; api->xPhraseNext(c, &it, &column, &off))
		if (off >= 0)
			rc = mark_position(ix, (size_t)off, word);
	return rc;
}

/*
 * grove_texts(words): puts the texts of a part that have some of the words into ix->found,
 * and returns their number. The phrases of a query, in its order, are the first word and its
 * other forms, then the next; ix->fts says how many each has.
 */
static void find_texts(const Fts5ExtensionApi *api, Fts5Context *c, sqlite3_context *out, int nr_args,
		       sqlite3_value **args)
{
	struct grove__search_index *ix = api->xUserData(c);
	int rc = 0, phrase = 0;

	(void)nr_args;
	(void)args;
	ix->nr_found = 0;
	for (size_t i = 0; i < ix->fts.nr && !rc; i++)
		for (unsigned j = 0; j < ix->fts.phrases[i] && !rc; j++)
			rc = mark_phrase(ix, api, c, phrase++, i);
	for (size_t i = 0; i < ix->nr_found; i++) {
		struct grove__search_found *f = &ix->found[i];

		f->words = ix->at[(size_t)f->nr * SEARCH_LANES + f->lane];
		ix->at[(size_t)f->nr * SEARCH_LANES + f->lane] = 0;
	}
	if (rc)
		sqlite3_result_error_code(out, rc);
	else
		sqlite3_result_int64(out, (sqlite3_int64)ix->nr_found);
}

int grove__search_find_function(struct grove__search_index *ix, fts5_api *api)
{
	return api->xCreateFunction(api, "grove_texts", ix, find_texts, NULL) ? GROVE_ENOMEM : 0;
}

/* -------------------------------------------------------------------- asking */

/* A query while it is answered. */
struct finding {
	struct grove__search_index *ix;
	const struct grove_search *s;
	const struct grove__search_ask *ask;
	uint8_t *wanted;             /* for each log */
	unsigned lanes;              /* a bit for each that is asked for */
	bool plain;                  /* neither roles nor times are asked for */
	bool sure;                   /* a text that has the words is certainly a match */
	struct grove__search_matcher *m;
	struct grove__search_hits *out;
	struct grove__search_rank *rank;     /* NULL: texts must have all the words */
};

/* Leaves out the logs of other directories. */
static int choose_by_cwd(struct finding *f)
{
	struct grove__search_index *ix = f->ix;
	struct grove__search_ask any_agent = *f->ask;
	sqlite3_stmt *st = NULL;
	int step = SQLITE_DONE, rc = grove__search_db_prepare(ix, "SELECT id, cwd FROM files", &st);

	any_agent.agent = NULL;
	while (!rc && (step = sqlite3_step(st)) == SQLITE_ROW) {
		int64_t id = sqlite3_column_int64(st, 0);
		uint32_t log = id > 0 && (uint64_t)id < ix->nr_log_of ? ix->log_of[id] : 0;

		if (log && f->wanted[log - 1])
			f->wanted[log - 1] = grove__search_wants_log(&any_agent, &f->s->sweep.logs[log - 1], NULL,
								     (const char *)sqlite3_column_text(st, 1));
	}
	rc = rc ? rc : grove__search_db_code(ix, step);
	sqlite3_finalize(st);
	return rc;
}

/* Selects the logs that are asked for and that the index has. */
static int choose_logs(struct finding *f)
{
	const struct grove__search_ask *ask = f->ask;
	const struct grove__search_index *ix = f->ix;

	for (size_t i = 0; i < f->s->sweep.nr; i++)
		f->wanted[i] = !f->s->look[i] && (ask->only == GROVE_NO_ENTRY || ask->only == i);
	for (uint32_t i = 0; i < ix->nr && ask->agent; i++) {
		uint32_t log = ix->log_of[ix->known[i].id];

		if (log && (!ix->known[i].dialect ||
			    strcmp(ask->agent, grove__search_log_agent(&f->s->sweep.logs[log - 1], ix->known[i].dialect))))
			f->wanted[log - 1] = false;
	}
	return grove__search_wants_cwd(ask) ? choose_by_cwd(f) : 0;
}

/* Adds a hit, with a copy of its entry's id, if it has one. */
static int add_hit(struct grove__search_hits *to, const struct grove__search_hit *h, const char *entry)
{
	struct grove__search_hit own = *h;

	if (!grove__search_may_add(to, h))
		return 0;
	if (entry && !(own.entry = grove__arena_dup(&to->texts, grove__slice_str(entry))))
		return GROVE_ENOMEM;
	return grove__search_add(to, &own);
}

/* ---------------------------------------------------------------------- parts */

/* A part that has some of the words. */
struct part {
	int64_t id;
	uint32_t file, log;
	int64_t until;
	const unsigned char *sizes;
	size_t nr_sizes;
};

/* Opens the list of a part's texts; `rest` is valid until the next call. */
static int open_part(struct grove__search_index *ix, int64_t id, struct grove_slice *rest)
{
	int rc = grove__search_db_prepare(ix, "SELECT texts FROM texts WHERE id = ?", &ix->one_part);

	if (rc)
		return rc;
	sqlite3_reset(ix->one_part);
	sqlite3_bind_int64(ix->one_part, 1, id);
	if (sqlite3_step(ix->one_part) != SQLITE_ROW) {
		rc = grove__search_db_code(ix, sqlite3_reset(ix->one_part));
		return rc ? rc : GROVE_EDAMAGED;
	}
	*rest = grove__slice(sqlite3_column_blob(ix->one_part, 0), (size_t)sqlite3_column_bytes(ix->one_part, 0));
	return 0;
}

static int by_number(const void *x, const void *y)
{
	const struct grove__search_found *a = x, *b = y;

	return a->nr != b->nr ? (a->nr < b->nr ? -1 : 1) : (int)a->lane - (int)b->lane;
}

static struct grove__search_hit hit_of(const struct part *p, const struct grove__search_doc *e)
{
	return (struct grove__search_hit){ .indexed = true, .log = p->log, .file = p->file, .class = e->class, .kind = e->kind,
					   .role = e->role, .time = e->time, .at = e->at, .row = e->row };
}

/* The text may be one of the best, as far as is known without reading where it is. */
static bool may_be_best(const struct finding *f, const struct part *p, const struct grove__search_found *x)
{
	const struct grove__search_hit *worst = &f->out->worst;
	double score;

	if (f->ask->only != GROVE_NO_ENTRY || !f->out->cut || x->nr >= p->nr_sizes)
		return true;
	score = grove__search_query_score(f->ask->q, p->sizes[x->nr]);
	return score > worst->score || (score == worst->score && p->until >= worst->time);
}

static int take_all_words(struct finding *f, const struct part *p)
{
	struct grove__search_index *ix = f->ix;
	uint64_t all = ix->fts.nr < 64 ? ((uint64_t)1 << ix->fts.nr) - 1 : UINT64_MAX;
	struct grove__search_doc e = { 0 };
	struct grove_slice rest;
	uint32_t at = 0;
	size_t nr = 0;
	int rc = 0;

	for (size_t i = 0; i < ix->nr_found; i++)
		if (ix->found[i].words == all && f->lanes >> ix->found[i].lane & 1 && may_be_best(f, p, &ix->found[i]))
			ix->found[nr++] = ix->found[i];
	if (!nr)
		return 0;
	qsort(ix->found, nr, sizeof(*ix->found), by_number);
	rc = open_part(ix, p->id, &rest);
	for (size_t i = 0; i < nr && !rc; i++) {
		struct grove__search_hit h;

		for (; at <= ix->found[i].nr && !rc; at++)
			rc = grove__search_part_next(&rest, &e);
		if (rc || grove__search_lane(e.class, e.role) != ix->found[i].lane)
			return GROVE_EDAMAGED;
		if (!grove__search_wants(f->ask, e.class, e.role, e.time))
			continue;
		h = hit_of(p, &e);
		h.score = grove__search_query_score(f->ask->q, e.words);
		h.unsure = !f->sure;
		rc = add_hit(f->out, &h, e.entry);
	}
	return rc;
}

/*
 * Notes the texts of a part. Where one is in its log is looked up only if it is shown, so
 * until then its position is that in the index: the part, and its number there.
 */
static int note_some_words(struct finding *f, const struct part *p)
{
	struct grove__search_index *ix = f->ix;
	struct grove__search_doc e = { 0 };
	struct grove_slice rest;
	uint32_t at = 0;
	int rc = 0;

	if (!f->plain) {
		qsort(ix->found, ix->nr_found, sizeof(*ix->found), by_number);
		rc = open_part(ix, p->id, &rest);
	}
	for (size_t i = 0; i < ix->nr_found && !rc; i++) {
		const struct grove__search_found *x = &ix->found[i];
		struct grove__search_hit h = { .indexed = true, .log = p->log, .file = p->file,
					       .class = (uint8_t)grove__search_lane_class(x->lane),
					       .role = x->lane == LANE_PROMPT ? GROVE_ROLE_USER : GROVE_ROLE_OTHER,
					       .at = { .pos = (uint64_t)p->id, .off = x->nr } };

		if (!(f->lanes >> x->lane & 1))
			continue;
		for (; !f->plain && at <= x->nr && !rc; at++)
			rc = grove__search_part_next(&rest, &e);
		if (rc)
			return GROVE_EDAMAGED;
		if (f->plain || grove__search_wants(f->ask, e.class, e.role, e.time))
			rc = grove__search_rank_note(f->rank, x->words, &h);
	}
	return rc;
}

/* Completes a hit that has been noted. */
static int complete(void *payload, struct grove__search_hit *h)
{
	struct finding *f = payload;
	struct part p = { .id = (int64_t)h->at.pos, .file = h->file, .log = h->log };
	struct grove__search_doc e = { 0 };
	struct grove__search_hit own;
	struct grove_slice rest;
	int rc = open_part(f->ix, p.id, &rest);

	for (uint64_t i = 0; i <= h->at.off && !rc; i++)
		rc = grove__search_part_next(&rest, &e) ? GROVE_EDAMAGED : 0;
	if (rc)
		return rc;
	own = hit_of(&p, &e);
	own.match = h->match;
	own.missing = h->missing;
	own.score = h->score;
	own.rank = h->rank;
	*h = own;
	return e.entry && !(h->entry = grove__arena_dup(&f->out->texts, grove__slice_str(e.entry))) ? GROVE_ENOMEM : 0;
}

static int take_part(struct finding *f, sqlite3_stmt *st)
{
	const struct grove__search_index *ix = f->ix;
	int64_t file = sqlite3_column_int64(st, 1), since = sqlite3_column_int64(st, 2);
	struct part p = {
		.id = sqlite3_column_int64(st, 0), .file = (uint32_t)file, .until = sqlite3_column_int64(st, 3),
		.log = file > 0 && (uint64_t)file < ix->nr_log_of ? ix->log_of[file] : 0,
		.sizes = sqlite3_column_blob(st, 4), .nr_sizes = (size_t)sqlite3_column_bytes(st, 4),
	};

	if (!p.log-- || !f->wanted[p.log])
		return 0;
	if (f->ask->since != INT64_MIN || f->ask->until != INT64_MAX)
		if (p.until < f->ask->since || since > f->ask->until)
			return 0;
	return f->rank ? note_some_words(f, &p) : take_all_words(f, &p);
}

static int forms_of(void *payload, struct grove_slice stem, grove__search_form_fn *fn, void *fn_payload)
{
	return grove__search_vocab_forms(payload, stem, fn, fn_payload);
}

static int find_parts(struct finding *f)
{
	struct grove__search_index *ix = f->ix;
	int step = SQLITE_DONE;
	int rc = grove__search_db_prepare(ix, "SELECT p.id, p.file, p.since, p.until, p.sizes, grove_texts(words) FROM words "
					      "CROSS JOIN parts p ON p.id = words.rowid WHERE words MATCH ?1 "
					      "ORDER BY words.rowid DESC", &ix->find);

	ix->fts.forms = forms_of;
	ix->fts.payload = ix;
	rc = rc ? rc : grove__search_query_fts(f->ask->q, &ix->fts);
	if (!rc)
		sqlite3_bind_text(ix->find, 1, ix->fts.match.ptr, -1, SQLITE_STATIC);
	while (!rc && (step = sqlite3_step(ix->find)) == SQLITE_ROW)
		rc = take_part(f, ix->find);
	rc = rc ? rc : grove__search_db_code(ix, step);
	sqlite3_reset(ix->find);
	sqlite3_reset(ix->one_part);
	return rc;
}

/* ---------------------------------------------------------------------- names */

static int take_name(void *payload, const struct grove__search_hit *h, const char *text)
{
	struct finding *f = payload;
	struct grove__search_hit own = *h;
	uint64_t words = 0;
	int rc = f->rank ? grove__search_match_some(f->m, grove__slice_str(text), &words)
			 : grove__search_match(f->m, grove__slice_str(text), &own.score);

	if (rc < 0 || (!rc && !words))
		return rc;
	own.text = grove__arena_dup(&f->out->texts, grove__slice_str(text));
	if (!own.text || (h->entry && !(own.entry = grove__arena_dup(&f->out->texts, grove__slice_str(h->entry)))))
		return GROVE_ENOMEM;
	return f->rank ? grove__search_rank_note(f->rank, words, &own) : grove__search_add(f->out, &own);
}

/* Titles and labels. */
static int find_names(struct finding *f)
{
	struct grove__search_index *ix = f->ix;
	int rc = 0;

	for (size_t i = 0; i < ix->nr && !rc; i++) {
		const struct grove__search_known *k = &ix->known[i];
		struct grove__search_hit h = { .indexed = true, .file = (uint32_t)k->id, .log = ix->log_of[k->id] - 1 };

		if ((k->names.title || k->names.labels.len) && ix->log_of[k->id] && f->wanted[h.log])
			rc = grove__search_names_each(&k->names, f->ask, &h, take_name, f);
	}
	return rc;
}

/* Whatever else went wrong, the index cannot be relied on. */
static int found(int rc)
{
	return rc >= 0 || rc == GROVE_ENOMEM || rc == GROVE_ECONFLICT ? rc : GROVE_EDAMAGED;
}

int grove__search_index_find(struct grove__search_index *ix, struct grove_search *s,
			     const struct grove__search_ask *ask, struct grove__search_rank *rank,
			     struct grove__search_hits *out, struct grove_detail *d)
{
	struct finding f = { .ix = ix, .s = s, .ask = ask, .sure = grove__search_query_is_words(ask->q),
			     .m = grove__search_matcher_new(ask->q), .out = out, .rank = rank,
			     .wanted = calloc(s->sweep.nr + 1, 1),
			     .plain = ask->roles == UINT32_MAX && ask->since == INT64_MIN && ask->until == INT64_MAX };
	int rc = f.wanted && f.m ? 0 : GROVE_ENOMEM;

	for (enum grove__search_lane i = 0; i < SEARCH_LANES; i++)
		f.lanes |= (ask->in >> grove__search_lane_class(i) & 1) << i;
	/* in one state, for files of an index that was made again have the numbers of others */
	rc = rc ? rc : grove__search_index_begin(ix, s);
	rc = rc ? rc : choose_logs(&f);
	rc = rc ? rc : find_names(&f);
	if (!rc && f.lanes)
		rc = find_parts(&f);
	grove__search_index_end(ix);
	grove__search_matcher_free(f.m);
	free(f.wanted);
	return rc == GROVE_ENOMEM ? grove__fail_nomem(d) : found(rc);
}

int grove__search_index_take(struct grove__search_index *ix, struct grove_search *s, struct grove__search_rank *rank,
			     struct grove__search_hits *out, struct grove_detail *d)
{
	struct finding f = { .ix = ix, .s = s, .out = out };
	int64_t version = ix->version;
	int rc = grove__search_index_begin(ix, s);

	/* others have written since: what was noted may be that of another log */
	out->lost |= !rc && ix->version != version;
	if (!rc && !out->lost)
		rc = grove__search_rank_take(rank, out, complete, &f);
	sqlite3_reset(ix->one_part);
	grove__search_index_end(ix);
	return rc == GROVE_ENOMEM ? grove__fail_nomem(d) : found(rc);
}

/* -------------------------------------------------------------------- making sure */

/* For words that must be adjacent, or must not occur, the text itself is examined. */
struct reading {
	struct grove__search_index *ix;
	struct grove_search *s;
	struct grove__search_matcher *m;
	struct grove__search_texts texts;
	struct grove_buf line;
	uint32_t at;                 /* the log that is open, plus one; 0: none */
	struct grove_store_log *log;
	const struct grove__dialect *dialect;
};

static int has_it(struct reading *r, const struct grove__search_hit *h)
{
	const struct grove__log_at *l = &r->s->sweep.logs[h->log];
	double score;
	int rc = 0;

	if (r->at != h->log + 1) {
		grove__log_close(r->log);
		r->dialect = grove__search_index_dialect(r->ix, l);
		rc = grove__search_log_open(r->s->g, l, &r->log, &r->dialect, NULL);
		r->at = rc ? 0 : h->log + 1;
	}
	rc = rc ? rc : grove__line_fetch(r->log, &h->at, &r->line, NULL);
	if (rc)
		return rc;
	grove__line_join(r->line.ptr, r->line.len);
	rc = grove__search_texts(&r->texts, r->dialect, grove__line_trim(grove__buf_slice(&r->line)), h->kind, h->role);
	return rc ? rc : grove__search_match(r->m, grove__buf_slice(&r->texts.of[h->class]), &score);
}

static int by_log(const void *x, const void *y)
{
	const struct grove__search_hit *a = *(const struct grove__search_hit *const *)x;
	const struct grove__search_hit *b = *(const struct grove__search_hit *const *)y;

	if (a->log != b->log)
		return a->log < b->log ? -1 : 1;
	return a->at.pos < b->at.pos ? -1 : a->at.pos > b->at.pos;
}

/* Leaves out those of the first `nr` hits that are still unsure. */
static void drop_unsure(struct grove__search_hits *hits, size_t nr)
{
	size_t kept = 0;

	for (size_t i = 0; i < hits->nr; i++)
		if (i >= nr || !hits->list[i].unsure)
			hits->list[kept++] = hits->list[i];
	hits->nr = kept;
}

int grove__search_index_make_sure(struct grove__search_index *ix, struct grove_search *s,
				  struct grove__search_hits *hits)
{
	struct reading r = { .ix = ix, .s = s, .m = grove__search_matcher_new(hits->ask->q) };
	size_t nr = hits->nr < hits->ask->most ? hits->nr : hits->ask->most;
	struct grove__search_hit **by = malloc((nr + 1) * sizeof(*by));
	size_t unsure = 0;
	int rc = r.m && by ? 0 : GROVE_ENOMEM;

	for (size_t i = 0; i < nr && !rc; i++)
		if (hits->list[i].unsure)
			by[unsure++] = &hits->list[i];
	if (unsure)
		qsort(by, unsure, sizeof(*by), by_log);
	for (size_t i = 0; i < unsure && rc != GROVE_ENOMEM; i++) {
		rc = has_it(&r, by[i]);
		by[i]->unsure = rc != 1;
		/* it is gone or was rewritten: everything is examined again */
		hits->lost |= rc < 0;
	}
	drop_unsure(hits, nr);
	free(by);
	grove__log_close(r.log);
	grove__search_matcher_free(r.m);
	grove__search_texts_release(&r.texts);
	grove__buf_release(&r.line);
	return rc == GROVE_ENOMEM ? rc : 0;
}

const struct grove__dialect *grove__search_index_dialect(const struct grove__search_index *ix,
							 const struct grove__log_at *l)
{
	uint32_t k = grove__idmap_get(&ix->by_key, grove__slice_str(l->name));

	return k == GROVE__IDMAP_NONE ? NULL : ix->known[k].dialect;
}

int grove__search_index_file(struct grove__search_index *ix, const struct grove__log_at *l,
			     uint32_t file, uint32_t row, struct grove__search_file *out)
{
	const char *session, *cwd, *name;
	struct grove_slice places;
	int rc = grove__search_db_prepare(ix, "SELECT session, cwd, places, name, modified FROM files "
					      "WHERE id = ? AND key = ?", &ix->one_file);

	if (rc)
		return found(rc);
	sqlite3_bind_int64(ix->one_file, 1, file);
	sqlite3_bind_text(ix->one_file, 2, l->name, -1, SQLITE_STATIC);
	/* another process has read the log again meanwhile, so ours is out of date */
	if (sqlite3_step(ix->one_file) != SQLITE_ROW) {
		rc = grove__search_db_code(ix, sqlite3_reset(ix->one_file));
		return rc ? found(rc) : 1;
	}
	session = (const char *)sqlite3_column_text(ix->one_file, 0);
	cwd = (const char *)sqlite3_column_text(ix->one_file, 1);
	places.ptr = sqlite3_column_blob(ix->one_file, 2);
	places.len = (size_t)sqlite3_column_bytes(ix->one_file, 2);
	name = (const char *)sqlite3_column_text(ix->one_file, 3);
	grove__buf_clear(&ix->session);
	grove__buf_clear(&ix->cwd);
	grove__buf_clear(&ix->name);
	if (grove__buf_add_str(&ix->session, session ? session : "") ||
	    grove__buf_add_str(&ix->cwd, cwd ? cwd : "") || grove__buf_add_str(&ix->name, name ? name : ""))
		rc = GROVE_ENOMEM;
	out->session = ix->session.ptr;
	out->cwd = ix->cwd.ptr;
	out->name = name ? ix->name.ptr : NULL;
	out->modified = sqlite3_column_int64(ix->one_file, 4);
	/* the title is not an entry */
	out->on_path = row == GROVE_NO_ENTRY || grove__search_place(places, row, ROW_ON_PATH);
	out->sent = grove__search_place(places, row, ROW_SENT);
	sqlite3_reset(ix->one_file);
	return rc;
}
