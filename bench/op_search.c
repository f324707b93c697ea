/*
 * op_search.c: builds an index of all sessions in PATH, and queries it.
 *
 * The mix is 200 words of the index, spread evenly over the logarithm of how often
 * it has them: from those that are in one text to those that are nearly everywhere.
 * The words are the index's own, so this looks into the library.
 */
#include "bench.h"

#include "search/search_db.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define QUERIES 200
#define ROUNDS 3

struct words {
	char word[QUERIES][80];
	size_t nr;
};

static int by_value(const void *x, const void *y)
{
	const double *a = x, *b = y;

	return *a < *b ? -1 : *a > *b;
}

static int fail_search(struct grove_search *s, int code, const char *what)
{
	struct grove_detail d = { 0 };

	if (!code)
		return 0;
	if (s)
		grove_search_error(s, &d);
	return fail("%s: %s: %s", what, grove_error_name(code), d.message);
}

static int ask(struct grove_search *s, const char *word, size_t *hits)
{
	struct grove_hits *h;
	int rc = fail_search(s, grove_search_run(s, word, NULL, &h), word);

	*hits = rc ? 0 : grove_hits_count(h);
	grove_hits_free(h);
	return rc;
}

static int number(sqlite3 *db, const char *sql, double *out)
{
	sqlite3_stmt *st = NULL;
	int bad = sqlite3_prepare_v2(db, sql, -1, &st, NULL) || sqlite3_step(st) != SQLITE_ROW;

	*out = bad ? 0 : sqlite3_column_double(st, 0);
	sqlite3_finalize(st);
	return bad ? fail("%s: %s", sql, sqlite3_errmsg(db)) : 0;
}

static int add_text(void *payload, const struct grove__search_doc *doc)
{
	*(double *)payload += (double)doc->text.len;
	return 0;
}

/* How much text was indexed. */
static double text_bytes(struct grove *g, const struct grove_search *s)
{
	struct grove_detail why;
	double sum = 0;

	for (size_t i = 0; i < s->sweep.nr; i++) {
		struct grove__search_feed f = { .g = g, .log = &s->sweep.logs[i], .doc = add_text, .payload = &sum };

		grove__search_feed(&f, &why);
		grove__search_feed_release(&f);
	}
	return sum;
}

/* Words at even steps of the logarithm of how many parts of logs have them. */
static int choose(sqlite3 *db, struct words *w)
{
	sqlite3_stmt *st = NULL;
	double most;
	int bad = sqlite3_exec(db, "CREATE VIRTUAL TABLE temp.said USING fts5vocab(main, words, row);"
				   "CREATE TEMP TABLE frequency AS SELECT term, doc FROM said "
				   "WHERE length(term) > 1 ORDER BY doc, term;"
				   "CREATE INDEX temp.by_doc ON frequency(doc)", NULL, NULL, NULL);

	if (bad || number(db, "SELECT max(doc) FROM frequency", &most))
		return fail("no words: %s", sqlite3_errmsg(db));
	bad = sqlite3_prepare_v2(db, "SELECT term FROM frequency WHERE doc >= "
				     "exp(ln(?1) * ?2 / 199.0) ORDER BY doc, term LIMIT 1 OFFSET ?3", -1, &st, NULL);
	/* without libm: by rank */
	if (bad)
		bad = sqlite3_prepare_v2(db, "SELECT term FROM frequency WHERE doc >= ?1 * ?2 * ?2 * ?2 / 8000000 "
					     "ORDER BY doc, term LIMIT 1 OFFSET ?3", -1, &st, NULL);
	for (int i = 0; i < QUERIES && !bad; i++) {
		sqlite3_bind_double(st, 1, most);
		sqlite3_bind_int(st, 2, i);
		sqlite3_bind_int(st, 3, i % 7);
		if (sqlite3_step(st) == SQLITE_ROW)
			snprintf(w->word[w->nr++], sizeof(w->word[0]), "%s", (const char *)sqlite3_column_text(st, 0));
		sqlite3_reset(st);
	}
	sqlite3_finalize(st);
	return bad ? fail("no words: %s", sqlite3_errmsg(db)) : 0;
}

static int measure(struct grove_search *s, const struct words *w)
{
	static double took[QUERIES * ROUNDS];
	size_t nr = 0, hits = 0;
	int rc = 0;

	/* the first round warms up */
	for (int round = -1; round < ROUNDS && !rc; round++)
		for (size_t i = 0; i < w->nr && !rc; i++) {
			double start = now_ms();

			rc = ask(s, w->word[i], &hits);
			if (round >= 0)
				took[nr++] = now_ms() - start;
			if (!rc && !hits)
				rc = fail("%s: nothing found", w->word[i]);
		}
	if (rc || !nr)
		return rc;
	qsort(took, nr, sizeof(*took), by_value);
	put_ms("p50_ms", took[nr / 2]);
	put_ms("p99_ms", took[nr * 99 / 100]);
	put_ms("max_ms", took[nr - 1]);
	return 0;
}

static int live(struct grove *g, const char *word)
{
	struct grove_search *s = NULL;
	size_t hits = 0;
	double start = now_ms();
	int rc = fail_search(s, grove_search_open(g, GROVE_SEARCH_NO_INDEX, &s), "live");

	rc = rc ? rc : ask(s, word, &hits);
	put_ms("live_ms", now_ms() - start);
	if (!rc && !hits)
		rc = fail("live: nothing found for %s", word);
	grove_search_close(s);
	return rc;
}

int op_search(const char *path, size_t n)
{
	static struct words words;
	const char *stores[] = { path };
	char cache[4096];
	struct grove_options opt = { .size = sizeof(opt), .stores = stores, .nr_stores = 1, .cache = cache };
	struct grove_search *s = NULL;
	struct grove *g = NULL;
	double start, took, text = 0, bytes = 0, parts = 0, size = 0;
	int rc;

	(void)n;
	snprintf(cache, sizeof(cache), "%s/cache", scratch());
	rc = fail_world(g, grove_open(&opt, &g), "world");
	start = now_ms();
	rc = rc ? rc : fail_search(s, grove_search_open(g, 0, &s), "index");
	took = now_ms() - start;
	put_ms("index_ms", took);
	put_number("index_peak_mb", peak_mb());
	if (!rc && !s->index)
		rc = fail("there is no index");
	rc = rc ? rc : number(s->index->db, "SELECT sum(size) FROM files", &bytes);
	rc = rc ? rc : number(s->index->db, "SELECT count(*) FROM parts", &parts);
	rc = rc ? rc : number(s->index->db, "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size",
			      &size);
	put_number("bytes_mb", bytes / 1e6);
	put_count("parts", (uint64_t)parts);
	put_number("db_mb", size / 1e6);
	put_number("index_mb_s", bytes / 1e6 / (took / 1e3));
	text = rc ? 0 : text_bytes(g, s);
	put_number("text_mb", text / 1e6);
	put_number("index_text_mb_s", text / 1e6 / (took / 1e3));
	start = now_ms();
	rc = rc ? rc : fail_search(s, grove_search_refresh(s), "refresh");
	put_ms("refresh_ms", now_ms() - start);
	rc = rc ? rc : choose(s->index->db, &words);
	put_count("queries", words.nr);
	rc = rc ? rc : measure(s, &words);
	rc = rc || !words.nr ? rc : live(g, words.word[0]);
	grove_search_close(s);
	grove_close(g);
	return rc;
}
