/*
 * tests/unit/test_history.c: storing prompts in the history and finding them
 * again while others use the database.
 *
 * Where the library takes a shortcut (it reads the newest prompts one by one,
 * or only the first results of the index), the results are compared with those
 * of plain SQL.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <time.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "../lib/chance.h"
#include "../lib/scratch.h"
#include "dialect/xcsh.h"
#include "history/history.h"

struct world {
	char dir[4000];
	char path[4200];
	struct grove *g;
	struct grove_history *h;
};

static const char *no_variables(void *payload, const char *name)
{
	(void)payload;
	(void)name;
	return NULL;
}

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	struct grove_options o = { .size = sizeof(o), .getenv = no_variables };

	assert_non_null(w);
	scratch_make(w->dir, sizeof(w->dir));
	snprintf(w->path, sizeof(w->path), "%s/history.db", w->dir);
	o.home = o.cwd = w->dir;
	assert_int_equal(grove_open(&o, &w->g), 0);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	grove_history_close(w->h);
	grove_close(w->g);
	scratch_remove(w->dir);
	free(w);
	return 0;
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

static void ok(struct grove_history *h, int rc, int line)
{
	struct grove_detail d;

	if (!rc)
		return;
	grove_history_error(h, &d);
	fail_msg("line %d: %s: %s", line, grove_error_name(rc), d.message);
}
#define OK(call) ok(w->h, (call), __LINE__)

static void open_history(struct world *w)
{
	OK(grove_history_open(w->g, w->path, &w->h));
}

static void close_history(struct world *w)
{
	grove_history_close(w->h);
	w->h = NULL;
}

static struct grove_slice text(const char *str)
{
	return (struct grove_slice){ str, strlen(str) };
}

static void add(struct world *w, const char *prompt)
{
	OK(grove_history_add(w->h, text(prompt), "/w", NULL));
}

/* ------------------------------------------------------------------- answers */

static int join_one(void *payload, const struct grove_history_entry *e)
{
	struct grove_buf *b = payload;

	assert_int_equal(grove__buf_addf(b, "%s%.*s", b->len ? "|" : "", (int)e->prompt.len, e->prompt.ptr), 0);
	return 0;
}

static void assert_recent(struct world *w, size_t limit, const char *want)
{
	struct grove_buf b = GROVE_BUF_INIT;

	OK(grove_history_recent(w->h, limit, join_one, &b));
	assert_string_equal(b.ptr ? b.ptr : "", want);
	grove__buf_release(&b);
}

static void assert_finds_with(struct world *w, const char *query, unsigned flags, const char *want)
{
	struct grove_buf b = GROVE_BUF_INIT;

	OK(grove_history_search(w->h, query, 100, flags, join_one, &b));
	assert_string_equal(b.ptr ? b.ptr : "", want);
	grove__buf_release(&b);
}

static void assert_finds(struct world *w, const char *query, const char *want)
{
	assert_finds_with(w, query, 0, want);
}

/* ------------------------------------------------------- the database by hand */

static sqlite3 *raw_open(const char *path)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	sqlite3_busy_timeout(db, 5000);
	return db;
}

static void raw_run(sqlite3 *db, const char *sql)
{
	char *why = NULL;

	if (sqlite3_exec(db, sql, NULL, NULL, &why))
		fail_msg("%s: %s", sql, why);
}

static void raw(const char *path, const char *sql)
{
	sqlite3 *db = raw_open(path);

	raw_run(db, sql);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void raw_text(const char *path, const char *sql, char *out, size_t size)
{
	sqlite3 *db = raw_open(path);
	sqlite3_stmt *st;

	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &st, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(st), SQLITE_ROW);
	snprintf(out, size, "%s", (const char *)sqlite3_column_text(st, 0));
	sqlite3_finalize(st);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void assert_raw(const char *path, const char *sql, const char *want)
{
	char got[4096];

	raw_text(path, sql, got, sizeof(got));
	assert_string_equal(got, want);
}

#define XCSH \
	"PRAGMA journal_mode=WAL;" \
	"CREATE TABLE history (id INTEGER PRIMARY KEY AUTOINCREMENT, prompt TEXT NOT NULL," \
	" created_at INTEGER NOT NULL DEFAULT (CAST(strftime('%s','now') AS INTEGER)), cwd TEXT);" \
	"CREATE INDEX idx_history_created_at ON history(created_at DESC);"
#define OMP \
	"PRAGMA journal_mode=WAL;" \
	"CREATE TABLE history (id INTEGER PRIMARY KEY AUTOINCREMENT, prompt TEXT NOT NULL UNIQUE," \
	" created_at INTEGER NOT NULL DEFAULT (CAST(strftime('%s','now') AS INTEGER)), cwd TEXT," \
	" session_id TEXT);" \
	"CREATE INDEX idx_history_created_at ON history(created_at DESC);" \
	"PRAGMA user_version=1;"
#define WORDS \
	"CREATE VIRTUAL TABLE history_fts USING fts5(prompt, content='history', content_rowid='id');" \
	"CREATE TRIGGER history_ai AFTER INSERT ON history BEGIN" \
	" INSERT INTO history_fts(rowid, prompt) VALUES (new.id, new.prompt); END;"
#define CHECK_WORDS "INSERT INTO history_fts(history_fts, rank) VALUES('integrity-check', 1)"

/* -------------------------------------------------------------------- adding */

static void a_history_that_is_not_there_is_empty_and_stays_away(void **state)
{
	struct world *w = *state;

	open_history(w);
	assert_recent(w, 10, "");
	assert_finds(w, "x", "");
	OK(grove_history_flush(w->h));
	close_history(w);
	assert_dir(w->dir, "");
}

static void the_first_prompt_makes_the_file_and_its_directory(void **state)
{
	struct world *w = *state;

	snprintf(w->path, sizeof(w->path), "%s/a/b/history.db", w->dir);
	open_history(w);
	add(w, "hello");
	OK(grove_history_flush(w->h));
	assert_recent(w, 10, "hello");
	close_history(w);
	assert_raw(w->path, "SELECT prompt || cwd FROM history", "hello/w");
	assert_raw(w->path, "PRAGMA journal_mode", "wal");
	assert_raw(w->path, "PRAGMA user_version", "0");
}

static void what_we_make_is_what_xcsh_makes_and_two_triggers(void **state)
{
	struct world *w = *state;

	open_history(w);
	add(w, "hello");
	close_history(w);
	assert_raw(w->path, "SELECT sql FROM sqlite_master WHERE name = 'history'",
		   "CREATE TABLE history (\n\tid INTEGER PRIMARY KEY AUTOINCREMENT,\n"
		   "\tprompt TEXT NOT NULL,\n"
		   "\tcreated_at INTEGER NOT NULL DEFAULT (CAST(strftime('%s','now') AS INTEGER)),\n"
		   "\tcwd TEXT\n)");
	assert_raw(w->path, "SELECT group_concat(type || ' ' || name, ' ') FROM (SELECT * FROM sqlite_master "
		   "WHERE name NOT LIKE 'sqlite%' AND name NOT LIKE '%fts\\_%' ESCAPE '\\' ORDER BY name)",
		   "table history trigger history_ad trigger history_ai trigger history_au table history_fts "
		   "index idx_history_created_at");
}

static void prompts_are_trimmed_and_empty_ones_dropped(void **state)
{
	struct world *w = *state;

	open_history(w);
	add(w, "  a b \n");
	add(w, " \t\n\xef\xbb\xbf\xc2\xa0 ");
	add(w, "");
	OK(grove_history_flush(w->h));
	assert_recent(w, 10, "a b");
}

static void bytes_that_are_not_text_become_text(void **state)
{
	struct world *w = *state;

	open_history(w);
	add(w, "a\xff" "b");
	OK(grove_history_flush(w->h));
	assert_recent(w, 10, "a\xef\xbf\xbd" "b");
}

static void equal_neighbours_are_one_within_a_batch_and_across(void **state)
{
	struct world *w = *state;

	open_history(w);
	add(w, "a");
	add(w, "a ");
	OK(grove_history_flush(w->h));
	add(w, " a");
	OK(grove_history_flush(w->h));
	add(w, "b");
	add(w, "a");
	close_history(w);
	open_history(w);
	add(w, "a");
	OK(grove_history_flush(w->h));
	assert_recent(w, 10, "a|b|a");
}

static void a_neighbour_that_another_program_added_counts(void **state)
{
	struct world *w = *state;

	open_history(w);
	add(w, "a");
	OK(grove_history_flush(w->h));
	raw(w->path, "INSERT INTO history(prompt) VALUES('b')");
	add(w, "b");
	add(w, "a");
	OK(grove_history_flush(w->h));
	assert_raw(w->path, "SELECT group_concat(prompt, '') FROM history", "aba");
}

static void a_prompt_without_a_directory_has_none(void **state)
{
	struct world *w = *state;

	open_history(w);
	OK(grove_history_add(w->h, text("a"), NULL, "s"));
	OK(grove_history_flush(w->h));
	assert_raw(w->path, "SELECT cwd IS NULL FROM history", "1");
}

static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static int count_one(void *payload, const struct grove_history_entry *e)
{
	(void)e;
	++*(size_t *)payload;
	return 0;
}

static size_t count(struct world *w)
{
	size_t nr = 0;

	OK(grove_history_recent(w->h, 1000, count_one, &nr));
	return nr;
}

static void prompts_wait_for_company_and_are_written_without_a_flush(void **state)
{
	struct world *w = *state;
	double start = seconds();

	open_history(w);
	add(w, "a");
	add(w, "b");
	assert_int_equal(count(w), 0);
	while (count(w) < 2) {
		if (seconds() - start > 20)
			fail_msg("not written after 20 seconds");
		usleep(5000);
	}
	/* the clock began with the first of them */
	assert_true(seconds() - start >= 0.09);
}

static void a_flush_does_not_wait_for_the_clock(void **state)
{
	struct world *w = *state;
	double start;

	open_history(w);
	grove__history_tuning(w->h)->delay_ms = 60000;
	start = seconds();
	add(w, "a");
	OK(grove_history_flush(w->h));
	add(w, "b");
	close_history(w);
	assert_true(seconds() - start < 50);
	assert_raw(w->path, "SELECT count(*) FROM history", "2");
}

static void a_file_that_was_put_aside_is_not_written_to(void **state)
{
	struct world *w = *state;
	char aside[4300];

	snprintf(aside, sizeof(aside), "%s/aside.db", w->dir);
	open_history(w);
	add(w, "a");
	OK(grove_history_flush(w->h));
	assert_recent(w, 10, "a");
	assert_int_equal(rename(w->path, aside), 0);
	add(w, "b");
	OK(grove_history_flush(w->h));
	assert_recent(w, 10, "b");
	assert_raw(w->path, "SELECT group_concat(prompt) FROM history", "b");
}

static void a_prompt_beyond_all_measure_is_refused(void **state)
{
	struct world *w = *state;
	struct grove_slice s = { "x", ((size_t)64 << 20) + 1 };

	open_history(w);
	assert_int_equal(grove_history_add(w->h, s, NULL, NULL), GROVE_ETOOBIG);
}

static void a_long_prompt_is_kept_whole(void **state)
{
	struct world *w = *state;
	size_t len = (size_t)3 << 20;
	char *all = malloc(len + 1);

	assert_non_null(all);
	memset(all, 'x', len);
	memcpy(all + len - 7, " needle", 8);
	open_history(w);
	add(w, all);
	OK(grove_history_flush(w->h));
	assert_finds(w, "needle", all);
	free(all);
}

/* ------------------------------------------------------------------ oh-my-pi */

static void have_omp(struct world *w)
{
	raw(w->path, OMP WORDS);
	open_history(w);
}

static void where_a_prompt_is_unique_it_is_renewed(void **state)
{
	struct world *w = *state;

	have_omp(w);
	raw(w->path, "INSERT INTO history(prompt, created_at, cwd, session_id) VALUES"
		     "('a', 100, '/old', 's1'), ('b', 200, NULL, NULL)");
	assert_recent(w, 10, "b|a");
	OK(grove_history_add(w->h, text("a"), "/new", "s2"));
	OK(grove_history_flush(w->h));
	assert_recent(w, 10, "a|b");
	assert_raw(w->path, "SELECT count(*) FROM history", "2");
	assert_raw(w->path, "SELECT cwd || session_id FROM history WHERE prompt = 'a'", "/news2");
	raw(w->path, CHECK_WORDS);
	assert_raw(w->path, "PRAGMA user_version", "1");
}

static void its_lines_are_cleaned_as_oh_my_pi_cleans_them(void **state)
{
	struct world *w = *state;

	have_omp(w);
	add(w, " one  \r\ntwo\t\rthree\n  \n four ");
	OK(grove_history_flush(w->h));
	assert_recent(w, 10, "one\ntwo\nthree\n\n four");
}

static void a_use_count_counts(void **state)
{
	struct world *w = *state;

	raw(w->path, OMP WORDS "ALTER TABLE history ADD COLUMN use_count INTEGER NOT NULL DEFAULT 1");
	open_history(w);
	add(w, "a");
	add(w, "b");
	add(w, "a");
	OK(grove_history_flush(w->h));
	assert_raw(w->path, "SELECT use_count FROM history WHERE prompt = 'a'", "2");
}

static void nothing_of_a_foreign_layout_is_changed(void **state)
{
	struct world *w = *state;
	char before[4096], after[4096];
	static const char schema[] = "SELECT group_concat(sql, ';') FROM sqlite_master";

	raw(w->path, XCSH WORDS);
	raw_text(w->path, schema, before, sizeof(before));
	open_history(w);
	add(w, "a b");
	OK(grove_history_flush(w->h));
	assert_finds(w, "b", "a b");
	close_history(w);
	raw_text(w->path, schema, after, sizeof(after));
	assert_string_equal(before, after);
}

static void when_the_agent_changes_the_layout_we_follow(void **state)
{
	struct world *w = *state;

	open_history(w);
	add(w, "a");
	add(w, "b");
	OK(grove_history_flush(w->h));
	assert_recent(w, 10, "b|a");
	raw(w->path, "BEGIN; DROP TABLE history_fts; DROP TABLE history;" OMP WORDS
		     "INSERT INTO history(prompt, created_at) VALUES('a', 1), ('b', 2); COMMIT");
	add(w, "a");
	OK(grove_history_flush(w->h));
	assert_recent(w, 10, "a|b");
	assert_finds(w, "a", "a");
}

static void the_agents_own_places(void **state)
{
	struct world *w = *state;
	char dir[4200];

	OK(grove_history_open(w->g, NULL, &w->h));
	snprintf(dir, sizeof(dir), "%s/.xcsh/agent/history.db", w->dir);
	assert_string_equal(grove_history_path(w->h), dir);
	close_history(w);
	/* only oh-my-pi is here: its own layout */
	snprintf(dir, sizeof(dir), "%s/.omp", w->dir);
	assert_int_equal(mkdir(dir, 0700), 0);
	snprintf(dir, sizeof(dir), "%s/.omp/agent", w->dir);
	assert_int_equal(mkdir(dir, 0700), 0);
	OK(grove_history_open(w->g, NULL, &w->h));
	add(w, "a");
	close_history(w);
	snprintf(dir, sizeof(dir), "%s/.omp/agent/history.db", w->dir);
	assert_raw(dir, "PRAGMA user_version", "1");
	assert_raw(dir, "SELECT count(*) FROM pragma_table_info('history') WHERE name = 'session_id'", "1");
}

struct variables {
	const char *const *pair;
};

static const char *get_variable(void *payload, const char *name)
{
	const struct variables *v = payload;

	for (const char *const *p = v->pair; *p; p += 2)
		if (!strcmp(p[0], name))
			return p[1];
	return NULL;
}

static bool is_there(void *payload, const char *path)
{
	return payload && !strcmp(payload, path);
}

static void assert_place(const char *const *pair, const char *agent, char *there, const char *want)
{
	struct variables v = { pair };
	struct grove__env env = { .home = "/home/me", .cwd = "/w", .getenv = get_variable,
				  .getenv_payload = &v, .exists = is_there, .file_payload = there };
	struct grove_buf b = GROVE_BUF_INIT;

	assert_int_equal(grove__xcsh_history_path(&env, agent, &b), 0);
	assert_string_equal(b.ptr, want);
	grove__buf_release(&b);
}

static void the_rules_for_places(void **state)
{
	static const char *const none[] = { NULL };
	static const char *const config[] = { "PI_CONFIG_DIR", ".cfg", NULL };
	static const char *const agent[] = { "PI_CODING_AGENT_DIR", "x", "XDG_DATA_HOME", "/d", NULL };
	static const char *const xdg[] = { "XDG_DATA_HOME", "/d", NULL };
	char there[] = "/d/xcsh", omp[] = "/d/omp";

	(void)state;
	assert_place(none, "xcsh", NULL, "/home/me/.xcsh/agent/history.db");
	assert_place(none, "omp", NULL, "/home/me/.omp/agent/history.db");
	assert_place(config, "xcsh", NULL, "/home/me/.cfg/agent/history.db");
	assert_place(agent, "xcsh", there, "/w/x/history.db");
	assert_place(xdg, "xcsh", NULL, "/home/me/.xcsh/agent/history.db");
	assert_place(xdg, "xcsh", there, "/d/xcsh/history.db");
	assert_place(xdg, "omp", omp, "/d/omp/history.db");
}

/* ----------------------------------------------------------------- searching */

static void have_some(struct world *w)
{
	static const char *const prompts[] = {
		"commit the git", "fix C++ bug", "日本語のプロンプト", "it's \"quoted\"", "naïve Café",
		"100% done_now", "FooBar_baz", "AND OR NOT NEAR", "git-commit fix", "multi\nline prompt",
	};

	open_history(w);
	for (size_t i = 0; i < sizeof(prompts) / sizeof(*prompts); i++)
		add(w, prompts[i]);
	OK(grove_history_flush(w->h));
}

static void check_words(struct world *w)
{
	assert_finds(w, "git com", "git-commit fix|commit the git");
	assert_finds(w, "fix", "git-commit fix|fix C++ bug");
	assert_finds(w, "FIX bug c++", "fix C++ bug");
	assert_finds(w, "git-commit", "git-commit fix");
	assert_finds(w, "foobar", "FooBar_baz");
	assert_finds(w, "quo", "it's \"quoted\"");
	assert_finds(w, "\"quo", "it's \"quoted\"");
	assert_finds(w, "\"", "");
	assert_finds(w, "cafe naive", "naïve Café");
	assert_finds(w, "line\tprompt", "multi\nline prompt");
	assert_finds(w, "and not", "AND OR NOT NEAR");
	assert_finds(w, "NEAR(", "AND OR NOT NEAR");
	assert_finds(w, "git -- com", "git-commit fix|commit the git");
	assert_finds(w, "日本", "日本語のプロンプト");
	assert_finds(w, "zzz", "");
	assert_finds(w, "prompt:fix", "");
	assert_finds(w, "*", "");
	assert_finds(w, "", "");
	assert_finds(w, "  ", "");
}

static void words_are_found_by_their_beginnings(void **state)
{
	struct world *w = *state;

	have_some(w);
	check_words(w);
	/* and by the index alone */
	grove__history_tuning(w->h)->scan_words = 0;
	check_words(w);
}

static void parts_are_found_when_asked_for(void **state)
{
	struct world *w = *state;

	have_some(w);
	assert_finds(w, "mit", "");
	assert_finds_with(w, "mit", GROVE_HISTORY_PARTS, "git-commit fix|commit the git");
	assert_finds_with(w, "0%", GROVE_HISTORY_PARTS, "100% done_now");
	assert_finds_with(w, "e_n", GROVE_HISTORY_PARTS, "100% done_now");
	assert_finds_with(w, "%", GROVE_HISTORY_PARTS, "100% done_now");
	assert_finds_with(w, "_", GROVE_HISTORY_PARTS, "FooBar_baz|100% done_now");
	assert_finds_with(w, "\\", GROVE_HISTORY_PARTS, "");
	assert_finds_with(w, "OBAR", GROVE_HISTORY_PARTS, "FooBar_baz");
	/* what has the word, and what has it within a word, by time */
	assert_finds_with(w, "it", GROVE_HISTORY_PARTS, "git-commit fix|it's \"quoted\"|commit the git");
}

static void scripts_without_spaces_are_searched_within(void **state)
{
	struct world *w = *state;

	have_some(w);
	assert_finds(w, "本語", "日本語のプロンプト");
	assert_finds(w, "プロンプト 日", "日本語のプロンプト");
	assert_finds(w, "中文", "");
}

static void in_oh_my_pis_layout_parts_are_found(void **state)
{
	struct world *w = *state;

	raw(w->path, OMP WORDS);
	have_some(w);
	assert_finds(w, "mit", "git-commit fix|commit the git");
	assert_finds(w, "本語", "日本語のプロンプト");
}

static void a_limit_is_a_limit(void **state)
{
	struct world *w = *state;
	size_t nr = 0;

	raw(w->path, XCSH WORDS "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1500) "
		     "INSERT INTO history(prompt, created_at) SELECT 'p' || i, i / 7 FROM n");
	open_history(w);
	assert_recent(w, 3, "p1500|p1499|p1498");
	assert_recent(w, 0, "");
	OK(grove_history_recent(w->h, SIZE_MAX, count_one, &nr));
	assert_int_equal(nr, 1000);
	nr = 0;
	OK(grove_history_search(w->h, "p", SIZE_MAX, 0, count_one, &nr));
	assert_int_equal(nr, 1000);
	nr = 0;
	OK(grove_history_search(w->h, "p1", 5, 0, count_one, &nr));
	assert_int_equal(nr, 5);
}

static int stop(void *payload, const struct grove_history_entry *e)
{
	(void)payload;
	(void)e;
	return 42;
}

static int check_fields(void *payload, const struct grove_history_entry *e)
{
	++*(int *)payload;
	if (e->id == 7) {
		assert_int_equal(e->created, 1777798800000);
		assert_string_equal(e->cwd, "/w");
		assert_string_equal(e->session_id, "s");
	} else {
		assert_int_equal(e->id, 8);
		assert_true(e->created == GROVE_NO_TIME);
		assert_null(e->cwd);
		assert_null(e->session_id);
		assert_int_equal(e->prompt.len, 3);
		assert_memory_equal(e->prompt.ptr, "a\0b", 3);
	}
	return 0;
}

static void an_entry_has_all_that_is_known(void **state)
{
	struct world *w = *state;
	int nr = 0;

	raw(w->path, OMP WORDS "INSERT INTO history VALUES(7, 'p', 1777798800, '/w', 's'), "
		     "(8, 'a' || char(0) || 'b', 9000000000000000000, NULL, NULL)");
	open_history(w);
	OK(grove_history_recent(w->h, 10, check_fields, &nr));
	assert_int_equal(nr, 2);
}

static void a_caller_can_stop(void **state)
{
	struct world *w = *state;

	have_some(w);
	assert_int_equal(grove_history_recent(w->h, 5, stop, NULL), 42);
	assert_int_equal(grove_history_search(w->h, "fix", 5, 0, stop, NULL), 42);
	assert_recent(w, 1, "multi\nline prompt");
}

static void without_an_index_of_words_every_prompt_is_looked_at(void **state)
{
	struct world *w = *state;

	raw(w->path, XCSH "INSERT INTO history(prompt, created_at) VALUES('fix it', 1), ('nothing', 2)");
	open_history(w);
	grove__history_tuning(w->h)->scan_words = 1;
	assert_finds(w, "fix", "fix it");
}

static void the_index_follows_changes_and_removals(void **state)
{
	struct world *w = *state;

	have_some(w);
	grove__history_tuning(w->h)->scan_words = 0;
	raw(w->path, "DELETE FROM history WHERE prompt = 'fix C++ bug';"
		     "UPDATE history SET prompt = 'mend it' WHERE prompt = 'git-commit fix';"
		     "UPDATE history SET created_at = created_at + 1 WHERE prompt = 'commit the git'");
	assert_finds(w, "fix", "");
	assert_finds(w, "mend", "mend it");
	raw(w->path, CHECK_WORDS);
}

static void an_upgrade_adds_what_is_missing(void **state)
{
	struct world *w = *state;

	raw(w->path, XCSH WORDS "INSERT INTO history(prompt) VALUES('one word'), ('two words');"
		     "DELETE FROM history WHERE prompt = 'one word'");
	open_history(w);
	OK(grove_history_upgrade(w->h));
	raw(w->path, CHECK_WORDS ";DELETE FROM history;" CHECK_WORDS);
	OK(grove_history_upgrade(w->h));
	add(w, "three");
	OK(grove_history_flush(w->h));
	assert_finds(w, "three", "three");
}

/* --------------------------------------------------- compared with plain SQL */

static const char *const vocabulary[] = {
	"fix", "Fixture", "prefix", "the", "parser", "parse", "C++", "日本語", "本語の", "git-commit",
	"git", "commit", "café", "CAFE", "a", "ab", "abc", "x_y", "\"q\"", "100%", "-", "naïve",
};
enum { NR_WORDS = sizeof(vocabulary) / sizeof(*vocabulary) };

/* What SQL alone finds, one id after the other. */
static void ask_sql(const char *path, const char *query, size_t limit, struct grove_buf *out)
{
	sqlite3 *db = raw_open(path);
	struct grove_buf match = GROVE_BUF_INIT;
	char *copy = strdup(query), *save, *word;
	sqlite3_stmt *st;

	for (word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
		grove__buf_add_str(&match, " \"");
		for (const char *p = word; *p; p++)
			grove__buf_addf(&match, "%s%c", *p == '"' ? "\"" : "", *p);
		grove__buf_add_str(&match, "\"*");
	}
	assert_int_equal(sqlite3_prepare_v2(db, "SELECT h.id FROM history_fts f JOIN history h ON h.id = f.rowid "
			"WHERE history_fts MATCH ?1 ORDER BY h.created_at DESC, h.id DESC LIMIT ?2", -1, &st, NULL),
			SQLITE_OK);
	sqlite3_bind_text(st, 1, match.ptr ? match.ptr : "", (int)match.len, SQLITE_STATIC);
	sqlite3_bind_int64(st, 2, (sqlite3_int64)limit);
	while (sqlite3_step(st) == SQLITE_ROW)
		grove__buf_addf(out, "%lld ", (long long)sqlite3_column_int64(st, 0));
	sqlite3_finalize(st);
	sqlite3_close(db);
	grove__buf_release(&match);
	free(copy);
}

static int join_id(void *payload, const struct grove_history_entry *e)
{
	return grove__buf_addf(payload, "%lld ", (long long)e->id);
}

static void random_prompt(struct chance *c, char *out, size_t size)
{
	size_t len = 0;

	out[0] = '\0';
	for (uint32_t i = 0, nr = 1 + chance_below(c, 5); i < nr; i++)
		/* skewed: some words are common, some rare */
		len += (size_t)snprintf(out + len, size - len, "%s%s", i ? " " : "",
					vocabulary[chance_below(c, 1 + chance_below(c, NR_WORDS))]);
}

static void short_cuts_find_what_the_long_way_finds(void **state)
{
	struct world *w = *state;
	struct chance c = chance_begin("history");
	struct grove__history_tuning *t;
	sqlite3 *db;

	raw(w->path, XCSH WORDS);
	db = raw_open(w->path);
	raw_run(db, "BEGIN");
	for (int i = 0; i < 3000; i++) {
		char prompt[512], *sql;
		/* times that mostly grow, stand still, and jump */
		int64_t time = chance_below(&c, 20) ? i / 40 : (int64_t)chance_below(&c, 100);

		random_prompt(&c, prompt, sizeof(prompt));
		sql = sqlite3_mprintf("INSERT INTO history(prompt, created_at) VALUES(%Q, %lld)", prompt, (long long)time);
		raw_run(db, sql);
		sqlite3_free(sql);
	}
	raw_run(db, "COMMIT");
	sqlite3_close(db);
	open_history(w);
	t = grove__history_tuning(w->h);
	for (int i = 0; i < 400; i++) {
		struct grove_buf want = GROVE_BUF_INIT, got = GROVE_BUF_INIT;
		size_t limit = 1 + chance_below(&c, 60);
		char query[512];

		t->scan_words = chance_below(&c, 3) ? chance_below(&c, 500) : 0;
		t->index_hits = chance_below(&c, 100);
		do /* for these parts are found as well */
			random_prompt(&c, query, sizeof(query));
		while (strstr(query, "本"));
		ask_sql(w->path, query, limit, &want);
		OK(grove_history_search(w->h, query, limit, 0, join_id, &got));
		if (strcmp(want.ptr ? want.ptr : "", got.ptr ? got.ptr : ""))
			fail_msg("%s (limit %zu, %zu walked, %zu asked):\n%s\nbut\n%s", query, limit,
				 t->scan_words, t->index_hits, want.ptr ? want.ptr : "", got.ptr ? got.ptr : "");
		grove__buf_release(&want);
		grove__buf_release(&got);
	}
}

static void the_newest_are_those_of_plain_sql(void **state)
{
	struct world *w = *state;
	struct chance c = chance_begin("recent");

	raw(w->path, XCSH WORDS "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 900) "
		     "INSERT INTO history(prompt, created_at) SELECT i, abs(random()) % 40 FROM n");
	open_history(w);
	for (int i = 0; i < 100; i++) {
		size_t limit = chance_below(&c, 1000);
		struct grove_buf got = GROVE_BUF_INIT;
		char sql[256], *want = malloc(65536);

		assert_non_null(want);
		snprintf(sql, sizeof(sql), "SELECT coalesce(group_concat(id || ' ', ''), '') FROM (SELECT id FROM history "
			 "ORDER BY created_at DESC, id DESC LIMIT %zu)", limit);
		raw_text(w->path, sql, want, 65536);
		OK(grove_history_recent(w->h, limit, join_id, &got));
		assert_string_equal(got.ptr ? got.ptr : "", want);
		grove__buf_release(&got);
		free(want);
	}
}

/* -------------------------------------------------------------------- others */

enum { THREADS = 8, EACH = 500 };

struct share {
	struct world *w;
	int number;
};

static void *add_share(void *payload)
{
	struct share *s = payload;
	struct world *w = s->w;
	char prompt[64];

	for (int i = 0; i < EACH; i++) {
		snprintf(prompt, sizeof(prompt), "thread %d prompt %d", s->number, i);
		add(w, prompt);
		if (i % 100 == 50)
			OK(grove_history_flush(w->h));
		if (i % 100 == 70)
			count(w);
	}
	return NULL;
}

static void many_threads_add_and_read(void **state)
{
	struct world *w = *state;
	pthread_t thread[THREADS];
	struct share share[THREADS];

	open_history(w);
	for (int i = 0; i < THREADS; i++) {
		share[i] = (struct share){ w, i };
		assert_int_equal(pthread_create(&thread[i], NULL, add_share, &share[i]), 0);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	OK(grove_history_flush(w->h));
	assert_raw(w->path, "SELECT count(DISTINCT prompt) || ' ' || count(*) FROM history", "4000 4000");
	/* each thread's own came in order */
	assert_raw(w->path, "SELECT count(*) FROM history a, history b WHERE a.prompt LIKE 'thread 3 %' AND "
		   "b.prompt LIKE 'thread 3 %' AND a.id < b.id AND CAST(substr(a.prompt, 17) AS INT) > "
		   "CAST(substr(b.prompt, 17) AS INT)", "0");
	raw(w->path, CHECK_WORDS);
}

static int add_many(const char *path, const char *name)
{
	struct grove_options o = { .size = sizeof(o), .getenv = no_variables, .home = "/", .cwd = "/" };
	struct grove_history *h = NULL;
	struct grove *g;
	char prompt[64];
	int rc = grove_open(&o, &g);

	if (!rc)
		rc = grove_history_open(g, path, &h);
	for (int i = 0; i < 200 && !rc; i++) {
		snprintf(prompt, sizeof(prompt), "%s %d", name, i);
		rc = grove_history_add(h, text(prompt), NULL, NULL);
		if (!rc && i % 10 == 0)
			rc = grove_history_flush(h);
	}
	if (!rc)
		rc = grove_history_flush(h);
	grove_history_close(h);
	grove_close(g);
	return rc;
}

static void several_processes_make_and_fill_one_history(void **state)
{
	struct world *w = *state;
	pid_t pid[4];
	int status;

	for (int i = 0; i < 4; i++) {
		pid[i] = fork();
		assert_true(pid[i] >= 0);
		if (!pid[i]) {
			char name[32];

			snprintf(name, sizeof(name), "process %d", i);
			_exit(-add_many(w->path, name));
		}
	}
	for (int i = 0; i < 4; i++) {
		assert_int_equal(waitpid(pid[i], &status, 0), pid[i]);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), 0);
	}
	assert_raw(w->path, "SELECT count(*) FROM history", "800");
	raw(w->path, CHECK_WORDS);
}

static void a_locked_history_keeps_nobody_waiting_and_loses_nothing(void **state)
{
	struct world *w = *state;
	struct grove_detail d;
	double start;
	sqlite3 *db;

	open_history(w);
	grove__history_tuning(w->h)->busy_ms = 30;
	add(w, "before");
	OK(grove_history_flush(w->h));
	db = raw_open(w->path);
	raw_run(db, "BEGIN IMMEDIATE");
	start = seconds();
	add(w, "one");
	add(w, "two");
	assert_true(seconds() - start < 5);
	assert_int_equal(grove_history_flush(w->h), GROVE_ECONFLICT);
	grove_history_error(w->h, &d);
	assert_string_equal(d.message, "another program has the history locked (try again)");
	assert_string_equal(d.path, w->path);
	/* reading goes on */
	assert_recent(w, 10, "before");
	raw_run(db, "COMMIT");
	sqlite3_close(db);
	add(w, "three");
	OK(grove_history_flush(w->h));
	assert_recent(w, 10, "three|two|one|before");
}

/* ------------------------------------------------------------------ bad files */

static void assert_refused(struct world *w, int want, const char *words)
{
	struct grove_buf before = file_bytes(w->path), after;
	struct grove_detail d;
	int rc = grove_history_open(w->g, w->path, &w->h);

	assert_int_equal(rc, want);
	assert_non_null(w->h);
	grove_history_error(w->h, &d);
	if (!strstr(d.message, words))
		fail_msg("%s: should say %s", d.message, words);
	assert_string_equal(d.path, w->path);
	/* nor is it written to by those who do not listen */
	grove_history_add(w->h, text("x"), NULL, NULL);
	assert_int_equal(grove_history_flush(w->h), want);
	assert_int_equal(grove_history_recent(w->h, 1, stop, NULL), want);
	close_history(w);
	after = file_bytes(w->path);
	assert_int_equal(before.len, after.len);
	assert_memory_equal(before.ptr, after.ptr, before.len);
	grove__buf_release(&before);
	grove__buf_release(&after);
	assert_dir(w->dir, "history.db ");
}

static void a_file_that_is_no_database_is_left_alone(void **state)
{
	struct world *w = *state;

	file_make(w->path, "these are not the bytes of a database, whoever wrote them, and they are many");
	assert_refused(w, GROVE_EDAMAGED, "damaged");
}

static void a_later_layout_is_left_alone(void **state)
{
	struct world *w = *state;

	raw(w->path, OMP WORDS "PRAGMA user_version=2");
	assert_refused(w, GROVE_ENOTSUP, "layout 2");
}

static void another_database_is_left_alone(void **state)
{
	struct world *w = *state;

	raw(w->path, "CREATE TABLE other(x)");
	assert_refused(w, GROVE_ENOTSUP, "not a prompt history");
}

static void a_table_without_our_columns_is_left_alone(void **state)
{
	struct world *w = *state;

	raw(w->path, "CREATE TABLE history(id INTEGER PRIMARY KEY, text TEXT, created_at INTEGER, cwd TEXT)");
	assert_refused(w, GROVE_ENOTSUP, "a column is missing");
}

static void a_column_that_must_be_filled_and_cannot_is_not_guessed(void **state)
{
	struct world *w = *state;

	raw(w->path, "CREATE TABLE history(id INTEGER PRIMARY KEY, prompt TEXT, created_at INTEGER, cwd TEXT, "
		     "model TEXT NOT NULL); INSERT INTO history VALUES(1, 'a', 1, NULL, 'm')");
	open_history(w);
	assert_recent(w, 10, "a");
	add(w, "b");
	assert_int_equal(grove_history_flush(w->h), GROVE_ENOTSUP);
	close_history(w);
	assert_raw(w->path, "SELECT count(*) FROM history", "1");
}

static void a_damaged_page_is_told(void **state)
{
	struct world *w = *state;
	char page[4096];
	int fd;

	raw(w->path, XCSH WORDS "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000) "
		     "INSERT INTO history(prompt, created_at) SELECT 'prompt number ' || i, i FROM n");
	memset(page, 0x5a, sizeof(page));
	fd = open(w->path, O_RDWR | O_CLOEXEC);
	for (off_t at = 4096; pread(fd, page, 1, at) == 1; at += 4096) {
		memset(page, 0x5a, sizeof(page));
		/* the schema stays readable */
		assert_int_equal(pwrite(fd, page, sizeof(page), at), sizeof(page));
	}
	close(fd);
	open_history(w);
	assert_int_equal(grove_history_recent(w->h, 5, stop, NULL), GROVE_EDAMAGED);
	assert_int_equal(grove_history_search(w->h, "number", 5, 0, stop, NULL), GROVE_EDAMAGED);
}

static void an_empty_file_is_an_empty_history(void **state)
{
	struct world *w = *state;

	file_make(w->path, "");
	open_history(w);
	assert_recent(w, 10, "");
	add(w, "a");
	OK(grove_history_flush(w->h));
	assert_recent(w, 10, "a");
}

static void a_directory_is_not_a_history(void **state)
{
	struct world *w = *state;

	assert_int_equal(grove_history_open(w->g, w->dir, &w->h), GROVE_EINVAL);
	close_history(w);
	assert_int_equal(grove_history_open(w->g, "", &w->h), GROVE_EINVAL);
	assert_int_equal(grove_history_add(w->h, text("a"), NULL, NULL), GROVE_EINVAL);
	assert_int_equal(grove_history_recent(w->h, 1, stop, NULL), GROVE_EINVAL);
}

static void reading_leaves_the_file_and_its_log_as_they_are(void **state)
{
	struct world *w = *state;
	char wal[4300];
	struct grove_buf before, after;
	sqlite3 *db;

	raw(w->path, XCSH WORDS);
	/* an agent that crashed: its last prompts are still beside the file */
	db = raw_open(w->path);
	raw_run(db, "PRAGMA wal_autocheckpoint=0; INSERT INTO history(prompt) VALUES('a')");
	sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	sqlite3_close(db);
	snprintf(wal, sizeof(wal), "%s-wal", w->path);
	before = file_bytes(w->path);
	open_history(w);
	assert_recent(w, 10, "a");
	close_history(w);
	after = file_bytes(w->path);
	assert_int_equal(before.len, after.len);
	assert_memory_equal(before.ptr, after.ptr, before.len);
	assert_int_equal(access(wal, F_OK), 0);
	grove__buf_release(&before);
	grove__buf_release(&after);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_history_that_is_not_there_is_empty_and_stays_away),
		TEST(the_first_prompt_makes_the_file_and_its_directory),
		TEST(what_we_make_is_what_xcsh_makes_and_two_triggers),
		TEST(prompts_are_trimmed_and_empty_ones_dropped),
		TEST(bytes_that_are_not_text_become_text),
		TEST(equal_neighbours_are_one_within_a_batch_and_across),
		TEST(a_neighbour_that_another_program_added_counts),
		TEST(a_prompt_without_a_directory_has_none),
		TEST(prompts_wait_for_company_and_are_written_without_a_flush),
		TEST(a_flush_does_not_wait_for_the_clock),
		TEST(a_file_that_was_put_aside_is_not_written_to),
		TEST(a_prompt_beyond_all_measure_is_refused),
		TEST(a_long_prompt_is_kept_whole),
		TEST(where_a_prompt_is_unique_it_is_renewed),
		TEST(its_lines_are_cleaned_as_oh_my_pi_cleans_them),
		TEST(a_use_count_counts),
		TEST(nothing_of_a_foreign_layout_is_changed),
		TEST(when_the_agent_changes_the_layout_we_follow),
		TEST(the_agents_own_places),
		TEST(the_rules_for_places),
		TEST(words_are_found_by_their_beginnings),
		TEST(parts_are_found_when_asked_for),
		TEST(scripts_without_spaces_are_searched_within),
		TEST(in_oh_my_pis_layout_parts_are_found),
		TEST(a_limit_is_a_limit),
		TEST(an_entry_has_all_that_is_known),
		TEST(a_caller_can_stop),
		TEST(without_an_index_of_words_every_prompt_is_looked_at),
		TEST(the_index_follows_changes_and_removals),
		TEST(an_upgrade_adds_what_is_missing),
		TEST(short_cuts_find_what_the_long_way_finds),
		TEST(the_newest_are_those_of_plain_sql),
		TEST(many_threads_add_and_read),
		TEST(several_processes_make_and_fill_one_history),
		TEST(a_locked_history_keeps_nobody_waiting_and_loses_nothing),
		TEST(a_file_that_is_no_database_is_left_alone),
		TEST(a_later_layout_is_left_alone),
		TEST(another_database_is_left_alone),
		TEST(a_table_without_our_columns_is_left_alone),
		TEST(a_column_that_must_be_filled_and_cannot_is_not_guessed),
		TEST(a_damaged_page_is_told),
		TEST(an_empty_file_is_an_empty_history),
		TEST(a_directory_is_not_a_history),
		TEST(reading_leaves_the_file_and_its_log_as_they_are),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
