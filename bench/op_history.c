/*
 * op_history.c: adding prompts, and searching them.
 *
 * Three histories of the same prompts: the one that grove wrote, in xcsh's
 * layout, all within a few seconds; one that plain SQLite wrote, in the same
 * layout, with a prompt every 37 seconds; and that one in oh-my-pi's layout.
 * With 100,000 prompts or more, one in fifty is in Chinese.
 */
#include "bench.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LIMIT = 100, QUERIES = 400, AT_ONCE = 16384, CLASSES = 5 };

static const char *const classes[CLASSES] = { "rare", "common", "prefix", "cjk", "miss" };

#define TABLE(unique, more) \
	"CREATE TABLE history(id INTEGER PRIMARY KEY AUTOINCREMENT, prompt TEXT NOT NULL" unique "," \
	" created_at INTEGER NOT NULL DEFAULT (CAST(strftime('%s','now') AS INTEGER)), cwd TEXT" more ");" \
	"CREATE INDEX idx_history_created_at ON history(created_at DESC);"
#define WORDS \
	"CREATE VIRTUAL TABLE history_fts USING fts5(prompt, content='history', content_rowid='id');" \
	"CREATE TRIGGER history_ai AFTER INSERT ON history BEGIN" \
	" INSERT INTO history_fts(rowid, prompt) VALUES (new.id, new.prompt); END;"

static uint32_t hash(size_t i)
{
	return (uint32_t)(i * 2654435761u);
}

static size_t prompt(char *out, size_t cap, size_t i, size_t n)
{
	int len;

	if (n >= 100000 && i % 50 == 49)
		len = snprintf(out, cap, "请修复第 %zu 个解析器里的错误，然后提交代码 %x", i, hash(i));
	else
		len = snprintf(out, cap, "prompt %zu fix parser %x in session tree", i, hash(i));
	return (size_t)len;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* ------------------------------------------------------------------ searching */

static int count_one(void *payload, const struct grove_history_entry *e)
{
	(void)e;
	++*(size_t *)payload;
	return 0;
}

static int fail_history(struct grove_history *h, int code, const char *what)
{
	struct grove_detail d = { 0 };

	if (!code)
		return 0;
	if (h)
		grove_history_error(h, &d);
	return fail("%s: %s: %s", what, grove_error_name(code), d.message);
}

static int search(struct grove_history *h, const char *query, size_t *hits, double *ms)
{
	double start = now_ms();
	int rc;

	*hits = 0;
	rc = grove_history_search(h, query, LIMIT, 0, count_one, hits);
	*ms = now_ms() - start;
	return fail_history(h, rc, query);
}

static void query_of(char *out, size_t cap, int class, size_t k, size_t n)
{
	static const char *const common[] = { "parser", "session tree", "fix", "prompt parser in" };
	static const char *const cjk[] = { "修复", "解析器", "错误", "提交代码", "请修复第" };
	uint32_t r = hash(k * 7919 + 13);

	switch (class) {
	case 0:
		snprintf(out, cap, "%x", hash(r % n));
		break;
	case 1:
		snprintf(out, cap, "%s", common[k % 4]);
		break;
	case 2:
		if (k & 1)
			snprintf(out, cap, "%x%x", 1 + r % 15, r / 64 % 16);
		else
			snprintf(out, cap, "%.2s", k & 2 ? "fi" : "pa");
		break;
	case 3:
		snprintf(out, cap, "%s", cjk[k % 5]);
		break;
	default:
		snprintf(out, cap, "zq%xw", r);
	}
}

static void put_named(const char *name, const char *class, const char *what, double ms)
{
	char text[64];

	snprintf(text, sizeof(text), "%s%s_%s_ms", name, class, what);
	put_ms(text, ms);
}

/* p50 and p99 of each kind of question, and of all together. */
static int measure(const char *name, struct grove_history *h, size_t n)
{
	static double took[CLASSES * QUERIES];
	char query[128];
	size_t hits;
	int rc = 0;

	for (int class = 0; class < CLASSES && !rc; class++) {
		double *at = took + class * QUERIES;

		for (size_t k = 0; k < QUERIES && !rc; k++) {
			query_of(query, sizeof(query), class, k, n);
			rc = search(h, query, &hits, &at[k]);
			if (!rc && (class == 4 ? hits != 0 : class == 3 ? n >= 100000 && hits < 50 : !hits))
				rc = fail("%s%s: %zu hits for %s", name, classes[class], hits, query);
		}
		qsort(at, QUERIES, sizeof(*at), by_value);
		put_named(name, classes[class], "p50", at[QUERIES / 2]);
		put_named(name, classes[class], "p99", at[QUERIES * 99 / 100]);
	}
	qsort(took, CLASSES * QUERIES, sizeof(*took), by_value);
	put_named(name, "search", "p50", took[CLASSES * QUERIES / 2]);
	put_named(name, "search", "p99", took[CLASSES * QUERIES * 99 / 100]);
	return rc;
}

static int measure_file(const char *name, struct grove *g, const char *path, size_t n)
{
	struct grove_history *h = NULL;
	int rc = fail_history(h, grove_history_open(g, path, &h), "open");

	if (!rc)
		rc = measure(name, h, n);
	grove_history_close(h);
	return rc;
}

/* --------------------------------------------------------------- plain SQLite */

/* The same prompts by plain SQLite: one statement, many rows a transaction. */
static int plain(const char *path, const char *schema, size_t n, double *ms)
{
	sqlite3 *db = NULL;
	sqlite3_stmt *st = NULL;
	char text[256];
	double start;
	int bad = sqlite3_open(path, &db) ||
		  sqlite3_exec(db, "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL", NULL, NULL, NULL) ||
		  sqlite3_exec(db, schema, NULL, NULL, NULL) ||
		  sqlite3_prepare_v2(db, "INSERT INTO history(prompt, created_at, cwd) VALUES(?,?,?)", -1,
				     &st, NULL);

	start = now_ms();
	for (size_t i = 0; i < n && !bad; i++) {
		size_t len = prompt(text, sizeof(text), i, n);

		if (i % AT_ONCE == 0)
			bad |= sqlite3_exec(db, i ? "COMMIT; BEGIN" : "BEGIN", NULL, NULL, NULL);
		sqlite3_bind_text(st, 1, text, (int)len, SQLITE_STATIC);
		sqlite3_bind_int64(st, 2, 1700000000 + (int64_t)i * 37);
		sqlite3_bind_text(st, 3, "/tmp/proj", -1, SQLITE_STATIC);
		bad |= sqlite3_step(st) != SQLITE_DONE || sqlite3_reset(st);
	}
	bad = bad || sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
	*ms = now_ms() - start;
	if (bad)
		fail("plain SQLite: %s", db ? sqlite3_errmsg(db) : "out of memory");
	sqlite3_finalize(st);
	sqlite3_close(db);
	return bad ? -1 : 0;
}

/* ------------------------------------------------------------------- the rest */

static int insert(struct grove_history *h, size_t n)
{
	char text[256];
	double start = now_ms(), took;
	int rc = 0;

	for (size_t i = 0; i < n && !rc; i++) {
		size_t len = prompt(text, sizeof(text), i, n);

		rc = grove_history_add(h, (struct grove_slice){ text, len }, "/tmp/proj", NULL);
	}
	put_ms("call_ms", now_ms() - start);
	if (!rc)
		rc = grove_history_flush(h);
	took = now_ms() - start;
	put_ms("insert_ms", took);
	put_number("ops", (double)n / (took / 1000));
	return fail_history(h, rc, "add");
}

static int best_search(struct grove_history *h, const char *query, const char *name, size_t *hits)
{
	double ms, best = 1e9;
	int rc = 0;

	for (int k = 0; k < 5 && !rc; k++) {
		rc = search(h, query, hits, &ms);
		if (ms < best)
			best = ms;
	}
	put_ms(name, best);
	return rc;
}

static int check_newest(void *payload, const struct grove_history_entry *e)
{
	char want[256];
	size_t n = *(size_t *)payload, len = prompt(want, sizeof(want), n - 1, n);

	return e->prompt.len == len && !memcmp(e->prompt.ptr, want, len) ? 0 : 1;
}

int op_history(const char *path, size_t n)
{
	struct grove_history *h = NULL;
	struct grove *g = NULL;
	char own[4096], spread[4096], omp[4096], bare[4096], rare[32];
	size_t hits = 0;
	double ms;
	int rc = fail_world(g, grove_open(NULL, &g), "world");

	(void)path;
	snprintf(own, sizeof(own), "%s/history.db", scratch());
	snprintf(spread, sizeof(spread), "%s/spread.db", scratch());
	snprintf(omp, sizeof(omp), "%s/omp.db", scratch());
	snprintf(bare, sizeof(bare), "%s/bare.db", scratch());
	snprintf(rare, sizeof(rare), "%x", hash(4242));
	if (!rc)
		rc = fail_history(h, grove_history_open(g, own, &h), "open");
	if (!rc)
		rc = insert(h, n);
	if (!rc && grove_history_recent(h, 1, check_newest, &n))
		rc = fail("the newest prompt is not the last one added");
	if (!rc)
		rc = best_search(h, "parser session", "search_ms", &hits);
	put_count("hits", hits);
	if (!rc)
		rc = best_search(h, rare, "search_rare_ms", &hits);
	put_count("hits2", hits);
	if (!rc)
		rc = plain(spread, TABLE("", "") WORDS, n, &ms);
	if (!rc)
		put_ms("plain_ms", ms);
	if (!rc)
		rc = plain(bare, TABLE("", ""), n, &ms);
	if (!rc) {
		put_ms("plain_without_words_ms", ms);
		rc = measure("", h, n);
	}
	if (!rc)
		rc = measure_file("spread_", g, spread, n);
	if (!rc)
		rc = plain(omp, TABLE(" UNIQUE", ", session_id TEXT") WORDS "PRAGMA user_version=1", n, &ms);
	if (!rc)
		rc = measure_file("omp_", g, omp, n);
	grove_history_close(h);
	grove_close(g);
	return rc;
}
