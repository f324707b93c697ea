/*
 * tests/unit/test_sqlite_lines.c: lines and names in an SQLite store.
 */
#include "../lib/sqlite_world.h"

/* ------------------------------------------------------------ hostile bytes */

static void every_name_is_taken_as_it_is(void **state)
{
	static const struct grove_key key[] = {
		{ "", "a.jsonl", "" }, { "'; DROP TABLE entries; --", "\"'`.jsonl", "" },
		{ "%", "_", "" }, { "\xff\xfe", "\xed\xa0\x80", "\x80/\x81" }, { "A", "A.JSONL", "" },
		{ "a", "a.jsonl", "" }, { "a ", "a.jsonl ", "" }, { "\xc3\xa9", "e\xcc\x81", "" },
	};
	struct world *w = *state;
	struct grove_store_log *log;
	unsigned nr = 0;
	char line[32];

	for (size_t i = 0; i < ARRAY(key); i++) {
		log = log_of(w, &key[i], GROVE_STORE_CREATE);
		snprintf(line, sizeof(line), "%zu", i);
		OK(add(w, log, str(line), 0));
		OK(grove__log_meta_put(log, "it's \"quoted\"", str("v'v"), &w->d));
		grove__log_close(log);
	}
	for (size_t i = 0; i < ARRAY(key); i++) {
		log = log_of(w, &key[i], GROVE_STORE_READ);
		snprintf(line, sizeof(line), "%zu\n", i);
		assert_bytes(w, log, line);
		grove__log_close(log);
	}
	OK(grove__store_list(w->st, NULL, count_key, &nr, &w->d));
	assert_int_equal(nr, ARRAY(key) - 1);
}

static void names_that_no_database_takes_are_refused(void **state)
{
	struct world *w = *state;
	struct grove_store_log *log = make(w, LINES("one"));
	struct grove_key key = key_a, none = { "p", "", "" };
	char huge[2000];

	memset(huge, 'n', sizeof(huge) - 1);
	huge[sizeof(huge) - 1] = '\0';
	key.session = huge;
	FAILS(GROVE_EINVAL, "session", grove__store_rename(w->st, &key_a, &key, &w->d));
	FAILS(GROVE_EINVAL, "attachment",
	      grove__store_attach_put(w->st, &key_a, huge, str("x"), &w->d));
	FAILS(GROVE_EINVAL, "value", grove__log_meta_put(log, huge, str("x"), &w->d));
	grove__log_close(log);
	FAILS(GROVE_EINVAL, "session",
	      grove__log_open(&log, w->st, &key, GROVE_STORE_CREATE, &w->d));
	FAILS(GROVE_EINVAL, "session",
	      grove__log_open(&log, w->st, &none, GROVE_STORE_CREATE, &w->d));
	key = key_a;
	key.project = huge;
	FAILS(GROVE_EINVAL, "project",
	      grove__log_open(&log, w->st, &key, GROVE_STORE_CREATE, &w->d));
	assert_session(w, "one\n");
}

static void columns_hold_what_they_can(void **state)
{
	struct world *w = *state;
	struct grove_store_log *log = make(w, LINES("header"));
	char long_id[400];
	struct grove_store_record rec[] = {
		{ .line = str("a"),
		  .id = str("o'brien\"; --"),
		  .parent = str("x"),
		  .time = -5,
		  .kind = GROVE_KIND_MESSAGE,
		  .role = GROVE_ROLE_USER },
		{ .line = str("b"),
		  .id = grove__slice("n\0ul", 4),
		  .parent = str("\xc3\xa9"),
		  .time = GROVE_NO_TIME,
		  .kind = GROVE_KIND_MESSAGE },
		{ .line = str("c"), .id = grove__slice(long_id, sizeof(long_id)) },
		/* twice the same id is legal */
		{ .line = str("d"), .id = str("o'brien\"; --") },
	};
	struct grove_store_appended out;

	memset(long_id, 'i', sizeof(long_id));
	OK(grove__log_append(log, rec, ARRAY(rec), 1, GROVE_SYNC_NONE, &out, &w->d));
	assert_bytes(w, log, "header\na\nb\nc\nd\n");
	assert_int_equal(ask(w, "SELECT count(*) FROM entries WHERE id = 'o''brien\"; --'"), 2);
	assert_int_equal(ask(w, "SELECT seq FROM entries WHERE parent = 'x'"), 1);
	assert_int_equal(ask(w, "SELECT time FROM entries WHERE seq = 1"), -5);
	assert_int_equal(ask(w, "SELECT count(*) FROM entries WHERE id IS NULL"), 3);
	/* of a line that has or names an id which cannot be looked for nothing is known */
	assert_int_equal(ask(w, "SELECT count(*) FROM entries WHERE kind IS NULL"), 3);
	assert_int_equal(ask(w, "SELECT time FROM entries WHERE seq = 2"), -1);
	grove__log_close(log);
}

static void a_line_of_100_mb_is_kept_and_read_in_pieces(void **state)
{
	const size_t len = (size_t)100 << 20;
	struct world *w = *state;
	struct grove_store_log *log = make(w, LINES("header"));
	char *line = malloc(len), *back = malloc(len + 64), small[16384];
	struct grove_store_log_stat st;
	struct grove_store_run run;
	uint64_t x = 88172645463325252u;

	assert_true(line && back);
	for (size_t i = 0; i < len; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		line[i] = (char)(x % 251) == '\n' ? ' ' : (char)(x % 251);
	}
	OK(add(w, log, grove__slice(line, len), 1));
	OK(add(w, log, str("behind"), 2));
	OK(grove__log_stat(log, &st, &w->d));
	assert_int_equal(st.bytes, 7 + len + 1 + 7);
	/* what does not fit is not read */
	memset(&run, 0, sizeof(run));
	OK(grove__log_read(log, 1, 3, back, len, &run, &w->d));
	assert_int_equal(run.open, 1);
	assert_int_equal(run.len, 0);
	OK(grove__log_read(log, 1, 3, back, len + 1, &run, &w->d));
	assert_int_equal(run.next, 2);
	assert_memory_equal(back, line, len);
	OK(grove__log_read(log, 1, 3, back, len + 64, &run, &w->d));
	assert_int_equal(run.end, 1);
	assert_memory_equal(back + len, "\nbehind\n", 8);
	for (size_t off = 0; off < len; off += sizeof(small)) {
		OK(grove__log_fetch(log, 1, off, small, sizeof(small), &w->d));
		if (memcmp(small, line + off, sizeof(small)))
			fail_msg("other bytes at %zu", off);
	}
	OK(grove__log_fetch(log, 1, 1, back, len - 1, &w->d));
	assert_memory_equal(back, line + 1, len - 1);
	FAILS(GROVE_ESTALE, "", grove__log_fetch(log, 1, len - 5, small, 6, &w->d));
	/* a piece that was read before is no older than the log */
	memset(line + 8192, '!', 4096);
	OK(grove__log_fetch(log, 1, 0, small, sizeof(small), &w->d));
	OK(grove__log_replace(log, 1, grove__slice(line, len), GROVE_SYNC_NONE, &w->d));
	OK(grove__log_fetch(log, 1, 0, small, sizeof(small), &w->d));
	assert_memory_equal(small, line, sizeof(small));
	free(line);
	free(back);
	grove__log_close(log);
}

static void what_is_over_the_limit_of_sqlite_is_refused(void **state)
{
	const size_t len = (size_t)1000000001;
	struct world *w = *state;
	struct grove_store_log *log = make(w, LINES("one"));
	/* never touched: no memory behind it */
	char *line = calloc(len, 1);

	assert_non_null(line);
	FAILS(GROVE_ETOOBIG, "1 GB", add(w, log, grove__slice(line, len), 1));
	FAILS(GROVE_ETOOBIG, "1 GB",
	      grove__store_attach_put(w->st, &key_a, "x", grove__slice(line, len), &w->d));
	OK(add(w, log, str("two"), 1));
	assert_bytes(w, log, "one\ntwo\n");
	free(line);
	grove__log_close(log);
}

/* --------------------------------------------------- a last line without LF */

static void a_last_line_may_lack_its_line_end(void **state)
{
	struct world *w = *state;
	struct grove_store_log *log = make(w, LINES("one", "two")), *empty;
	const struct grove_key key = { "p", "empty.jsonl", "" };
	struct grove_store_record rec = { .line = str("three") };
	struct grove_buf b = GROVE_BUF_INIT;
	struct grove_store_appended out;
	struct grove_store_run run = { 0 };
	char buf[16];

	FAILS(GROVE_ENOTFOUND, "", grove__log_meta_get(log, GROVE__META_UNFINISHED, &b, &w->d));
	OK(grove__log_meta_put(log, GROVE__META_UNFINISHED, str("1"), &w->d));
	assert_bytes(w, log, "one\ntwo");
	OK(grove__log_meta_get(log, GROVE__META_UNFINISHED, &b, &w->d));
	assert_string_equal(b.ptr, "1");
	grove__buf_release(&b);
	/* the line before it has one, also when it is read alone */
	OK(grove__log_read(log, 0, 1, buf, sizeof(buf), &run, &w->d));
	assert_int_equal(run.len, 4);
	/* what changes other things leaves it as it is */
	OK(grove__log_replace(log, 1, str("TWO"), GROVE_SYNC_NONE, &w->d));
	OK(grove__log_cut(log, 2, 2, GROVE_SYNC_NONE, &w->d));
	assert_bytes(w, log, "one\nTWO");
	OK(grove__log_append(log, NULL, 0, 2, GROVE_SYNC_NONE, &out, &w->d));
	assert_int_equal(out.pad, 0);
	assert_bytes(w, log, "one\nTWO");
	OK(grove__log_append(log, &rec, 1, 2, GROVE_SYNC_NONE, &out, &w->d));
	assert_int_equal(out.pad, 1);
	assert_int_equal(out.pos, 2);
	assert_bytes(w, log, "one\nTWO\nthree\n");
	FAILS(GROVE_ENOTFOUND, "", grove__log_meta_get(log, GROVE__META_UNFINISHED, &b, &w->d));
	OK(grove__log_append(log, &rec, 1, 3, GROVE_SYNC_NONE, &out, &w->d));
	assert_int_equal(out.pad, 0);
	/* an end that was given is not taken away again */
	OK(grove__log_cut(log, 2, 4, GROVE_SYNC_NONE, &w->d));
	assert_bytes(w, log, "one\nTWO\n");
	OK(grove__log_meta_put(log, GROVE__META_UNFINISHED, str("1"), &w->d));
	OK(grove__log_meta_put(log, GROVE__META_UNFINISHED, str(""), &w->d));
	assert_bytes(w, log, "one\nTWO\n");
	grove__log_close(log);
	empty = log_of(w, &key, GROVE_STORE_CREATE);
	FAILS(GROVE_EINVAL, "", grove__log_meta_put(empty, GROVE__META_UNFINISHED, str("1"), &w->d));
	grove__log_close(empty);
}

static void generation_and_rev_count_what_they_should(void **state)
{
	static const char rev[] = "SELECT rev FROM sessions", generation[] = "SELECT generation FROM sessions";
	struct world *w = *state;
	struct grove_store_log *log = make(w, LINES("one", "two"));
	struct grove_store_log_stat before, after;
	const char *line = "anew";

	assert_int_equal(ask(w, rev), 0);
	assert_int_equal(ask(w, generation), 0);
	OK(grove__log_meta_put(log, "leaf", str("x"), &w->d));
	OK(grove__log_meta_put(log, "other", str("x"), &w->d));
	/* beside the log, or found out about it: no change */
	OK(grove__store_attach_put(w->st, &key_a, "a", str("x"), &w->d));
	OK(grove__log_meta_put(log, "dialect", str("pi"), &w->d));
	assert_int_equal(ask(w, rev), 2);
	assert_int_equal(ask(w, generation), 0);
	OK(grove__log_replace(log, 0, str("ONE"), GROVE_SYNC_ALWAYS, &w->d));
	assert_int_equal(ask(w, generation), 1);
	assert_int_equal(ask(w, rev), 3);
	/* a line less, but no rev less */
	OK(grove__log_cut(log, 1, 2, GROVE_SYNC_ALWAYS, &w->d));
	assert_int_equal(ask(w, generation), 2);
	assert_int_equal(ask(w, rev), 5);
	assert_int_equal(ask(w, "SELECT count(*) FROM changes"), 1);
	OK(grove__log_stat(log, &before, &w->d));
	assert_true(before.mtime_ms > 1700000000000);
	usleep(3000);
	OK(grove__log_rewrite(log, one_line, &line, 1, 0, &w->d));
	assert_int_equal(ask(w, generation), 3);
	assert_int_equal(ask(w, rev), 6);
	OK(grove__log_stat(log, &after, &w->d));
	assert_true(after.mtime_ms > before.mtime_ms);
	grove__log_close(log);
}

/* The length that the rows tell, however they came to be; `start` stays what it was. */
static void an_update_does_not_touch_the_rows_behind_it(void **state)
{
	struct world *w = *state;
	struct grove_store_log *log = make(w, LINES("one", "two", "three"));
	struct grove_store_record rec = { .line = str("a longer line") };

	OK(grove__log_update(log, 0, str("one"), &rec, GROVE_CHANGE_UPDATE, GROVE_SYNC_NONE, &w->d));
	assert_int_equal(ask(w, "SELECT start FROM entries WHERE seq = 1"), 4);
	assert_int_equal(ask(w, "SELECT adjust FROM sessions"), 10);
	OK(grove__log_update(log, 2, str("three"), &rec, GROVE_CHANGE_UPDATE, GROVE_SYNC_NONE, &w->d));
	assert_int_equal(ask(w, "SELECT adjust FROM sessions"), 10);
	OK(add(w, log, str("four"), 3));
	assert_int_equal(ask(w, "SELECT start FROM entries WHERE seq = 3"), 22);
	assert_bytes(w, log, "a longer line\ntwo\na longer line\nfour\n");
	OK(grove__log_cut(log, 1, 4, GROVE_SYNC_NONE, &w->d));
	assert_int_equal(ask(w, "SELECT adjust FROM sessions"), 0);
	assert_bytes(w, log, "a longer line\n");
	grove__log_close(log);
}

static int count_problem(void *payload, const struct grove_problem *p)
{
	(void)p;
	++*(unsigned *)payload;
	return 0;
}

static void assert_sound(struct world *w, bool sound)
{
	const struct grove_options opt = { .size = sizeof(opt), .cwd = w->dir, .home = w->dir,
					   .dialect = "pi" };
	struct grove *g;
	unsigned problems = 0;
	char url[400];

	snprintf(url, sizeof(url), "sqlite:%s", w->db);
	assert_int_equal(grove_open(&opt, &g), 0);
	assert_int_equal(grove_store_verify(g, url, count_problem, &problems, NULL), 0);
	assert_int_equal(problems, sound ? 0 : 1);
	grove_close(g);
}

static void a_session_with_updated_lines_is_verified(void **state)
{
	static const char header[] = "{\"type\":\"session\",\"version\":3,\"id\":\"s\","
				     "\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"cwd\":\"/w\"}";
	static const char longer[] = "{\"type\":\"session\",\"version\":3,\"id\":\"s\","
				     "\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"cwd\":\"/somewhere/else\"}";
	static const char entry[] = "{\"type\":\"session_info\",\"id\":\"aaaaaaaa\",\"parentId\":null,"
				    "\"timestamp\":\"2026-01-01T00:00:01.000Z\",\"name\":\"x\"}";
	struct world *w = *state;
	struct grove_store_log *log = make(w, LINES(header, entry));
	struct grove_store_record rec = { .line = str(longer) };

	assert_sound(w, true);
	OK(grove__log_update(log, 0, str(header), &rec, GROVE_CHANGE_UPDATE, GROVE_SYNC_NONE, &w->d));
	assert_sound(w, true);
	OK(grove__log_cut(log, 1, 2, GROVE_SYNC_NONE, &w->d));
	OK(add(w, log, str(entry), 1));
	assert_sound(w, true);
	grove__log_close(log);
	raw(w, "UPDATE sessions SET adjust = adjust + 1");
	assert_sound(w, false);
}

static void lines_without_an_id_are_found_in_an_index(void **state)
{
	struct world *w = *state;
	sqlite3 *db;
	sqlite3_stmt *st;
	char sql[500];

	grove__log_close(make(w, LINES("one")));
	db = raw_open(w);
	snprintf(sql, sizeof(sql), "EXPLAIN QUERY PLAN %s", grove__sql_text[SQL_WITHOUT_ID]);
	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &st, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(st), SQLITE_ROW);
	assert_non_null(strstr((const char *)sqlite3_column_text(st, 3), "entries_id"));
	sqlite3_finalize(st);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void a_missing_line_is_damage_and_no_shift(void **state)
{
	struct world *w = *state;
	struct grove_store_log *log = make(w, LINES("one", "two", "three"));
	struct grove_store_run run = { 0 };
	char buf[64];

	raw(w, "DELETE FROM entries WHERE seq = 1");
	FAILS(GROVE_EDAMAGED, "line 2", grove__log_read(log, 0, 3, buf, sizeof(buf), &run, &w->d));
	FAILS(GROVE_ESTALE, "", grove__log_fetch(log, 1, 0, buf, 1, &w->d));
	OK(add(w, log, str("four"), 3));
	raw(w, "UPDATE entries SET line = '\xc3\xa9\xc3\xa9' WHERE seq = 0");
	FAILS(GROVE_EDAMAGED, "length", grove__log_read(log, 0, 1, buf, sizeof(buf), &run, &w->d));
	FAILS(GROVE_EDAMAGED, "length", grove__log_fetch(log, 0, 0, buf, 1, &w->d));
	grove__log_close(log);
}

/* All of it by reads into a buffer of that size. */
static void assert_read(struct world *w, struct grove_store_log *log, const struct grove_buf *want,
			size_t cap)
{
	char *buf = malloc(cap);
	struct grove_store_log_stat st;
	struct grove_store_run run = { 0 };
	size_t got = 0;

	assert_non_null(buf);
	OK(grove__log_stat(log, &st, &w->d));
	for (uint64_t at = 0; at < st.tail; at = run.next) {
		OK(grove__log_read(log, at, st.tail, buf, cap, &run, &w->d));
		assert_true(run.next > at && got + run.len <= want->len);
		assert_memory_equal(buf, want->ptr + got, run.len);
		got += run.len;
	}
	assert_int_equal(got, want->len);
	free(buf);
}

static void lines_are_read_in_order_wherever_their_rows_are(void **state)
{
	/* of two sessions in turn: side by side for a while, or not */
	static const unsigned stretch[] = { 1, 100, 1, 1, 1, 40, 200, 3, 3, 31, 32, 33, 500 };
	const struct grove_key key[] = { key_a, { "p", "b.jsonl", "" } };
	struct world *w = *state;
	struct grove_buf want[2] = { GROVE_BUF_INIT, GROVE_BUF_INIT };
	struct grove_store_log *log[2];
	char *line = malloc(600000);
	uint64_t nr[2] = { 0, 0 };

	assert_non_null(line);
	for (int k = 0; k < 2; k++)
		log[k] = log_of(w, &key[k], GROVE_STORE_CREATE);
	for (unsigned i = 0; i < ARRAY(stretch); i++)
		for (unsigned n = 0; n < stretch[i]; n++) {
			unsigned k = i % 2;
			/* some are empty, some long enough to come by themselves */
			size_t len = nr[k] % 97 == 50 ? 300000 + nr[k] : nr[k] % 13 == 5 ? 0 : 10 + nr[k] % 300;

			memset(line, 'a' + (int)(nr[k] % 26), len);
			OK(add(w, log[k], grove__slice(line, len), nr[k]++));
			assert_int_equal(grove__buf_add(&want[k], line, len), 0);
			assert_int_equal(grove__buf_add_char(&want[k], '\n'), 0);
		}
	for (int k = 0; k < 2; k++) {
		assert_read(w, log[k], &want[k], want[k].len + 1);
		assert_read(w, log[k], &want[k], 400000);
	}
	/* what is cut off and written anew lies behind the others */
	OK(grove__log_cut(log[0], 60, nr[0], GROVE_SYNC_NONE, &w->d));
	want[0].len = 0;
	for (uint64_t n = 0; n < 60; n++)
		want[0].len = (size_t)((char *)memchr(want[0].ptr + want[0].len, '\n', 400000) + 1 - want[0].ptr);
	for (unsigned n = 0; n < 100; n++) {
		OK(add(w, log[0], str("anew"), 60 + n));
		assert_int_equal(grove__buf_add_str(&want[0], "anew\n"), 0);
	}
	assert_read(w, log[0], &want[0], want[0].len + 1);
	for (int k = 0; k < 2; k++) {
		grove__log_close(log[k]);
		grove__buf_release(&want[k]);
	}
	free(line);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(lines_are_read_in_order_wherever_their_rows_are),
		TEST(every_name_is_taken_as_it_is),
		TEST(names_that_no_database_takes_are_refused),
		TEST(columns_hold_what_they_can),
		TEST(a_line_of_100_mb_is_kept_and_read_in_pieces),
		TEST(what_is_over_the_limit_of_sqlite_is_refused),
		TEST(a_last_line_may_lack_its_line_end),
		TEST(generation_and_rev_count_what_they_should),
		TEST(an_update_does_not_touch_the_rows_behind_it),
		TEST(a_session_with_updated_lines_is_verified),
		TEST(lines_without_an_id_are_found_in_an_index),
		TEST(a_missing_line_is_damage_and_no_shift),
	};

	return cmocka_run_group_tests_name("sqlite_lines", tests, NULL, NULL);
}
