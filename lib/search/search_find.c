/*
 * search/search_find.c: queries on the index.
 *
 * FTS5 goes through every doc that has the words, so what is done for each has to be cheap.
 * How often it has them bounds its score, and once there are enough hits, most docs cannot
 * be better: of these, nothing else is read. In a part the number of words bounds the score
 * of an entry. The newest come first, since they are the better ones of those with the same
 * score.
 */
#include "search/search_db.h"
#include "search/search_part.h"

#include "base/array.h"
#include "image/sent.h"

#include <stdlib.h>

/* ----------------------------------------------------------------- functions */

static int count(const Fts5ExtensionApi *api, Fts5Context *c, int phrase, uint64_t *out)
{
	Fts5PhraseIter it;
	int column, off, last_column = -1, last = -1;
	int rc = api->xPhraseFirst(c, phrase, &it, &column, &off);

	*out = 0;
	for (; !rc && column >= 0; api->xPhraseNext(c, &it, &column, &off)) {
		*out += column != last_column || off != last;
		last_column = column;
		last = off;
	}
	return rc;
}

/*
 * The phrases of a query, in its order, are the words of the first term, then those of the
 * next: a word and its other forms. ix->fts says how many each has.
 */

/* grove_score(words, N): how well a doc of N words matches. */
static void score(const Fts5ExtensionApi *api, Fts5Context *c, sqlite3_context *out, int nr,
		  sqlite3_value **args)
{
	const struct grove__search_index *ix = api->xUserData(c);
	uint64_t times, all, words = nr == 1 ? (uint64_t)sqlite3_value_int64(args[0]) : 0;
	double sum = 0;
	int rc = 0, phrase = 0;

	for (size_t i = 0; i < ix->fts.nr && !rc; i++) {
		all = 0;
		for (unsigned j = 0; j < ix->fts.terms[i] && !rc; j++) {
			rc = count(api, c, phrase++, &times);
			all += times;
		}
		sum += grove__search_score(all, words);
	}
	if (rc)
		sqlite3_result_error_code(out, rc);
	else
		sqlite3_result_double(out, sum);
}

/* Positions in a part, in order: the entries that have something. */
struct positions {
	uint32_t *at;
	size_t nr, cap;
};

/* Adds the positions of a phrase to those of the other forms of its word. */
static int add_positions(const Fts5ExtensionApi *api, Fts5Context *c, int phrase, struct positions *p)
{
	Fts5PhraseIter it;
	int column, off, rc = api->xPhraseFirst(c, phrase, &it, &column, &off);

	for (; !rc && column >= 0; api->xPhraseNext(c, &it, &column, &off)) {
		if (grove__array_room(&p->at, &p->cap, p->nr, sizeof(*p->at)))
			return SQLITE_NOMEM;
		p->at[p->nr++] = (uint32_t)off;
	}
	return rc;
}

static int by_position(const void *x, const void *y)
{
	const uint32_t *a = x, *b = y;

	return *a < *b ? -1 : *a > *b;
}

/* Keeps the positions in `all` that this term has too. */
static void narrow(struct positions *all, const struct positions *p)
{
	size_t i = 0, kept = 0;

	for (size_t j = 0; j < all->nr; j++) {
		while (i < p->nr && p->at[i] < all->at[j])
			i++;
		if (i < p->nr && p->at[i] == all->at[j] && (!kept || all->at[kept - 1] != all->at[j]))
			all->at[kept++] = all->at[j];
	}
	all->nr = kept;
}

/* grove_entries(TABLE): the entries of a part that have all words, as 32-bit numbers. */
static void entries(const Fts5ExtensionApi *api, Fts5Context *c, sqlite3_context *out, int nr_args,
		    sqlite3_value **args)
{
	const struct grove__search_index *ix = api->xUserData(c);
	struct positions all = { 0 }, one = { 0 };
	int rc = 0, phrase = 0;

	(void)nr_args;
	(void)args;
	for (size_t i = 0; i < ix->fts.nr && !rc; i++) {
		struct positions *p = i ? &one : &all;

		p->nr = 0;
		for (unsigned j = 0; j < ix->fts.terms[i] && !rc; j++)
			rc = add_positions(api, c, phrase++, p);
		if (!rc && ix->fts.terms[i] > 1 && p->nr)
			qsort(p->at, p->nr, sizeof(*p->at), by_position);
		if (!rc)
			narrow(&all, p);
	}
	if (rc)
		sqlite3_result_error_code(out, rc);
	else
		sqlite3_result_blob64(out, all.at ? (void *)all.at : "", all.nr * sizeof(*all.at), SQLITE_TRANSIENT);
	free(all.at);
	free(one.at);
}

/* grove_file(N): whether the docs of this file count. */
static void file_counts(sqlite3_context *out, int nr, sqlite3_value **args)
{
	const struct grove__search_index *ix = sqlite3_user_data(out);
	int64_t id = sqlite3_value_int64(args[0]);

	(void)nr;
	sqlite3_result_int(out, id > 0 && (uint64_t)id < ix->nr_log_of && ix->log_of[id] &&
					ix->wanted[ix->log_of[id] - 1]);
}

/* grove_wants(ROLE, TIME) */
static void doc_counts(sqlite3_context *out, int nr, sqlite3_value **args)
{
	const struct grove__search_index *ix = sqlite3_user_data(out);
	int role = sqlite3_value_int(args[0]);

	(void)nr;
	sqlite3_result_int(out, role >= 0 && role < 32 &&
					grove__search_wants(ix->ask, SEARCH_TEXT, role, sqlite3_value_int64(args[1])));
}

/* Returns whether a hit with this score, and no newer than this, may be one of the best. */
static bool may_be_best(const struct grove__search_index *ix, double score, int64_t time)
{
	const struct grove__search_hit *worst = &ix->hits->worst;

	return ix->ask->only != GROVE_NO_ENTRY || !ix->hits->cut || score > worst->score ||
	       (score == worst->score && time >= worst->time);
}

/* grove_best(SCORE), grove_best(SCORE, TIME) */
static void best(sqlite3_context *out, int nr, sqlite3_value **args)
{
	int64_t time = nr == 2 ? sqlite3_value_int64(args[1]) : INT64_MAX;

	sqlite3_result_int(out, may_be_best(sqlite3_user_data(out), sqlite3_value_double(args[0]), time));
}

/* grove_any(ENTRIES, SIZES, UNTIL): whether any of these entries of a part may be one of the best. */
static void any_best(sqlite3_context *out, int nr, sqlite3_value **args)
{
	const struct grove__search_index *ix = sqlite3_user_data(out);
	const char *list = sqlite3_value_blob(args[0]);
	const unsigned char *sizes = sqlite3_value_blob(args[1]);
	size_t len = (size_t)sqlite3_value_bytes(args[0]), nr_sizes = (size_t)sqlite3_value_bytes(args[1]);
	int64_t until = sqlite3_value_int64(args[2]);
	uint32_t at;
	bool any = false;

	(void)nr;
	for (size_t i = 0; i < len && !any; i += sizeof(at)) {
		memcpy(&at, list + i, sizeof(at));
		/* with too few sizes it is damaged, as will be found */
		any = at >= nr_sizes || may_be_best(ix, grove__search_query_once(ix->ask->q, sizes[at]), until);
	}
	sqlite3_result_int(out, any);
}

int grove__search_find_functions(struct grove__search_index *ix, fts5_api *api)
{
	if (api->xCreateFunction(api, "grove_score", ix, score, NULL) ||
	    api->xCreateFunction(api, "grove_entries", ix, entries, NULL) ||
	    sqlite3_create_function(ix->db, "grove_file", 1, SQLITE_UTF8, ix, file_counts, NULL, NULL) ||
	    sqlite3_create_function(ix->db, "grove_wants", 2, SQLITE_UTF8, ix, doc_counts, NULL, NULL) ||
	    sqlite3_create_function(ix->db, "grove_best", -1, SQLITE_UTF8, ix, best, NULL, NULL) ||
	    sqlite3_create_function(ix->db, "grove_any", 3, SQLITE_UTF8, ix, any_best, NULL, NULL))
		return GROVE_ENOMEM;
	return 0;
}

/* -------------------------------------------------------------------- asking */

/* Leaves out the logs of other directories. */
static int choose_by_cwd(struct grove__search_index *ix, const struct grove__logs *sweep,
			 const struct grove__search_ask *ask, uint8_t *wanted)
{
	struct grove__search_ask any_agent = *ask;
	sqlite3_stmt *st = NULL;
	int step = SQLITE_DONE, rc = grove__search_db_prepare(ix, "SELECT id, cwd FROM files", &st);

	any_agent.agent = NULL;
	while (!rc && (step = sqlite3_step(st)) == SQLITE_ROW) {
		int64_t id = sqlite3_column_int64(st, 0);
		uint32_t log = id > 0 && (uint64_t)id < ix->nr_log_of ? ix->log_of[id] : 0;

		if (log && wanted[log - 1])
			wanted[log - 1] = grove__search_wants_log(&any_agent, &sweep->logs[log - 1], NULL,
								  (const char *)sqlite3_column_text(st, 1));
	}
	rc = rc ? rc : grove__search_db_code(ix, step);
	sqlite3_finalize(st);
	return rc;
}

/* Selects the logs that are asked for and that the index has. */
static int choose_logs(struct grove__search_index *ix, const struct grove__logs *sweep,
		       const uint8_t *look, const struct grove__search_ask *ask, uint8_t *wanted)
{
	for (size_t i = 0; i < sweep->nr; i++)
		wanted[i] = !look[i] && (ask->only == GROVE_NO_ENTRY || ask->only == i);
	for (uint32_t i = 0; i < ix->nr && ask->agent; i++) {
		uint32_t log = ix->log_of[ix->known[i].id];

		if (log && (!ix->known[i].dialect ||
			    strcmp(ask->agent, grove__search_log_agent(&sweep->logs[log - 1], ix->known[i].dialect))))
			wanted[log - 1] = false;
	}
	return grove__search_wants_cwd(ask) ? choose_by_cwd(ix, sweep, ask, wanted) : 0;
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

static int take_hit(struct grove__search_index *ix, sqlite3_stmt *st, struct grove__search_hits *out)
{
	const char *entry = (const char *)sqlite3_column_text(st, 11);
	struct grove__search_hit h = {
		.indexed = true,
		.score = sqlite3_column_double(st, 0),
		.file = (uint32_t)sqlite3_column_int64(st, 1),
		.class = SEARCH_TEXT,
		.role = (uint8_t)sqlite3_column_int(st, 2),
		.time = sqlite3_column_int64(st, 3),
		.kind = (uint8_t)sqlite3_column_int(st, 4),
		.row = (uint32_t)sqlite3_column_int64(st, 5),
		.at = { .pos = (uint64_t)sqlite3_column_int64(st, 6), .off = (uint64_t)sqlite3_column_int64(st, 7),
			.len = (uint64_t)sqlite3_column_int64(st, 8), .crc = (uint32_t)sqlite3_column_int64(st, 9),
			.lines = sqlite3_column_int(st, 10) != 0 },
	};

	h.log = ix->log_of[h.file] - 1;
	return add_hit(out, &h, entry);
}

static const char of_docs[] =
	"SELECT grove_score(words, d.length), d.file, d.role, d.time, d.kind, d.row, d.pos, d.off, "
	"d.len, d.sum, d.lines, d.entry FROM words CROSS JOIN docs d ON d.id = words.rowid "
	"WHERE words MATCH ?1 AND grove_best(grove_score(words)) AND grove_file(d.file) "
	"AND grove_wants(d.role, d.time) AND grove_best(grove_score(words, d.length), d.time) "
	"ORDER BY words.rowid DESC";

/* Makes a statement ready for the next query. `step`: what the last step returned. */
static int end_finding(struct grove__search_index *ix, sqlite3_stmt *st, int rc, int step)
{
	rc = rc ? rc : grove__search_db_code(ix, step);
	if (st) {
		sqlite3_reset(st);
		sqlite3_clear_bindings(st);
	}
	return rc;
}

/* Searches the messages. */
static int find_docs(struct grove__search_index *ix, const char *match, struct grove__search_hits *out)
{
	int step = SQLITE_DONE, rc = grove__search_db_prepare(ix, of_docs, &ix->find[SEARCH_TEXT]);
	sqlite3_stmt *st = ix->find[SEARCH_TEXT];

	if (!rc)
		sqlite3_bind_text(st, 1, match, -1, SQLITE_STATIC);
	while (!rc && (step = sqlite3_step(st)) == SQLITE_ROW)
		rc = take_hit(ix, st, out);
	return end_finding(ix, st, rc, step);
}

static const char *const of_parts[SEARCH_CLASSES] = {
	[SEARCH_CALLS] = "SELECT p.file, p.entries, grove_entries(calls) FROM calls "
			 "CROSS JOIN parts p ON p.id = calls.rowid "
			 "WHERE calls MATCH ?1 AND grove_file(p.file) AND p.until >= ?2 AND p.since <= ?3 "
			 "AND grove_any(grove_entries(calls), p.sizes, p.until) "
			 "ORDER BY calls.rowid DESC",
	[SEARCH_RESULTS] = "SELECT p.file, p.entries, grove_entries(results) FROM results "
			   "CROSS JOIN parts p ON p.id = results.rowid "
			   "WHERE results MATCH ?1 AND grove_file(p.file) AND p.until >= ?2 AND p.since <= ?3 "
			   "AND grove_any(grove_entries(results), p.sizes, p.until) "
			   "ORDER BY results.rowid DESC",
};

/* Tool calls, or results: parts of logs. */
struct parts {
	struct grove__search_index *ix;
	int class;
	bool sure;                   /* an entry that has the words is certainly a match */
	struct grove__search_matcher *m;
	struct grove__search_hits *out;
};

static int take_entry(struct parts *p, uint32_t file, const struct grove__search_doc *e)
{
	const struct grove__search_ask *ask = p->ix->ask;
	struct grove__search_hit h = {
		.indexed = true, .log = p->ix->log_of[file] - 1, .file = file, .class = (uint8_t)p->class,
		.kind = e->kind, .role = e->role, .time = e->time, .at = e->at, .row = e->row,
		.score = grove__search_query_once(ask->q, e->words), .unsure = !p->sure,
	};

	if (e->role >= 32 || !grove__search_wants(ask, p->class, e->role, e->time))
		return 0;
	return add_hit(p->out, &h, e->entry);
}

static int take_part(struct parts *p, sqlite3_stmt *st)
{
	struct grove_slice rest = { sqlite3_column_blob(st, 1), (size_t)sqlite3_column_bytes(st, 1) };
	const char *list = sqlite3_column_blob(st, 2);
	size_t nr = (size_t)sqlite3_column_bytes(st, 2) / sizeof(uint32_t);
	struct grove__search_doc e = { 0 };
	uint32_t at = 0, next;
	int rc = 0;

	for (size_t i = 0; i < nr && !rc; i++) {
		memcpy(&next, list + i * sizeof(next), sizeof(next));
		for (; at <= next && !rc; at++)
			rc = grove__search_part_next(&rest, &e);
		rc = rc ? GROVE_EDAMAGED : take_entry(p, (uint32_t)sqlite3_column_int64(st, 0), &e);
	}
	return rc;
}

static int find_parts(struct parts *p, const char *match)
{
	const struct grove__search_ask *ask = p->ix->ask;
	int step = SQLITE_DONE, rc = grove__search_db_prepare(p->ix, of_parts[p->class], &p->ix->find[p->class]);
	sqlite3_stmt *st = p->ix->find[p->class];

	if (!rc) {
		sqlite3_bind_text(st, 1, match, -1, SQLITE_STATIC);
		sqlite3_bind_int64(st, 2, ask->since);
		sqlite3_bind_int64(st, 3, ask->until);
	}
	while (!rc && (step = sqlite3_step(st)) == SQLITE_ROW)
		rc = take_part(p, st);
	return end_finding(p->ix, st, rc, step);
}

/* The words of the index that have a stem, other than the stem itself. */
static int forms_of(void *payload, struct grove_slice stem, grove__search_form_fn *fn, void *fn_payload)
{
	struct grove__search_index *ix = payload;
	int step = SQLITE_DONE;
	int rc = grove__search_db_prepare(ix, "SELECT word FROM forms WHERE stem = ?", &ix->of_stem);

	if (!rc)
		sqlite3_bind_text(ix->of_stem, 1, stem.ptr, (int)stem.len, SQLITE_STATIC);
	while (!rc && (step = sqlite3_step(ix->of_stem)) == SQLITE_ROW)
		rc = fn(fn_payload, (const char *)sqlite3_column_text(ix->of_stem, 0),
			(size_t)sqlite3_column_bytes(ix->of_stem, 0));
	rc = rc ? rc : grove__search_db_code(ix, step);
	sqlite3_reset(ix->of_stem);
	return rc;
}

static int take_name(void *payload, const struct grove__search_hit *h, const char *text)
{
	struct grove__search_hits *out = payload;
	struct grove__search_hit own = *h;

	own.text = grove__arena_dup(&out->texts, grove__slice_str(text));
	return own.text ? add_hit(out, &own, h->entry) : GROVE_ENOMEM;
}

/* Titles and labels. */
static int find_names(struct grove__search_index *ix, struct parts *p)
{
	int rc = 0;

	for (size_t i = 0; i < ix->nr && !rc; i++) {
		const struct grove__search_known *k = &ix->known[i];
		struct grove__search_hit h = { .indexed = true, .file = (uint32_t)k->id, .log = ix->log_of[k->id] - 1 };

		if ((k->names.title || k->names.labels.len) && ix->log_of[k->id] && ix->wanted[h.log])
			rc = grove__search_names_find(&k->names, ix->ask, p->m, &h, take_name, p->out);
	}
	return rc;
}

static int find_all(struct grove__search_index *ix, struct parts *p)
{
	const struct grove__search_ask *ask = ix->ask;
	int rc = find_names(ix, p);

	ix->fts.forms = forms_of;
	ix->fts.payload = ix;
	for (p->class = 0; p->class < SEARCH_CLASSES && !rc; p->class++) {
		if (!(ask->in >> p->class & 1))
			continue;
		ix->fts.parts = p->class != SEARCH_TEXT;
		rc = grove__search_query_fts(ask->q, &ix->fts);
		if (!rc)
			rc = p->class == SEARCH_TEXT ? find_docs(ix, ix->fts.match.ptr, p->out)
						     : find_parts(p, ix->fts.match.ptr);
	}
	return rc;
}

/* Whatever else went wrong, the index cannot be relied on. */
static int found(int rc)
{
	return rc >= 0 || rc == GROVE_ENOMEM || rc == GROVE_ECONFLICT ? rc : GROVE_EDAMAGED;
}

int grove__search_index_find(struct grove__search_index *ix, struct grove_search *s,
			     const struct grove__search_ask *ask, struct grove__search_hits *out,
			     struct grove_detail *d)
{
	struct parts p = { .ix = ix, .sure = grove__search_query_is_words(ask->q),
			   .m = grove__search_matcher_new(ask->q), .out = out };
	uint8_t *wanted = calloc(s->sweep.nr + 1, 1);
	int rc = wanted && p.m ? 0 : GROVE_ENOMEM;

	ix->ask = ask;
	ix->hits = out;
	ix->wanted = wanted;
	/* in one state, for files of an index that was made again have the numbers of others */
	rc = rc ? rc : grove__search_index_begin(ix, s);
	rc = rc ? rc : choose_logs(ix, &s->sweep, s->look, ask, wanted);
	rc = rc ? rc : find_all(ix, &p);
	grove__search_index_end(ix);
	grove__search_matcher_free(p.m);
	free(wanted);
	ix->wanted = NULL;
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
	return rc ? rc : grove__search_matches(r->m, grove__buf_slice(&r->texts.of[h->class]));
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
