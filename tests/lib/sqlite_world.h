/*
 * tests/lib/sqlite_world.h: an SQLite store for one test case, with ways to fill
 * it and to look at its file without grove.
 */
#ifndef TESTS_LIB_SQLITE_WORLD_H
#define TESTS_LIB_SQLITE_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "store/sqlite.h"
#include "sys/file.h"

#include "scratch.h"

#define str grove__slice_str
#define ARRAY(a) (sizeof(a) / sizeof(*(a)))

struct world {
	char dir[256], db[300];
	struct grove_store *st;
	struct grove_detail d;
};

static const struct grove__sqlite_options usual = { .schema = &grove__sql_schema_sqlite,
						    .busy_ms = 60 };

static inline int set_up(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	scratch_make(w->dir, sizeof(w->dir));
	snprintf(w->db, sizeof(w->db), "%s/store.db", w->dir);
	assert_int_equal(grove__sqlite_open(&w->st, w->db, &usual, NULL), 0);
	*state = w;
	return 0;
}

static inline int tear_down(void **state)
{
	struct world *w = *state;

	grove__sys_fault = NULL;
	grove__store_close(w->st);
	scratch_remove(w->dir);
	free(w);
	return 0;
}

static inline void reopen(struct world *w, const struct grove__sqlite_options *opt)
{
	grove__store_close(w->st);
	assert_int_equal(grove__sqlite_open(&w->st, w->db, opt, NULL), 0);
}

static inline void check(struct world *w, int rc, int code, const char *words, const char *what, int line)
{
	if (rc != code || (code < 0 && (w->d.code != code || !strstr(w->d.message, words)))) {
		print_error("%s:%d: %s: %d \"%s\", not %d \"%s\"\n", __FILE__, line, what, rc,
			    rc < 0 ? w->d.message : "", code, words);
		_fail(__FILE__, line);
	}
	memset(&w->d, 0, sizeof(w->d));
}

#define OK(call) check(w, call, 0, "", #call, __LINE__)
#define FAILS(code, words, call) check(w, call, code, words, #call, __LINE__)

/* Opens the same file without grove. */
static inline sqlite3 *raw_open(struct world *w)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(w->db, &db), SQLITE_OK);
	return db;
}

static inline void raw_run(sqlite3 *db, const char *sql)
{
	char *why = NULL;

	if (sqlite3_exec(db, sql, NULL, NULL, &why))
		fail_msg("%s: %s", sql, why);
}

static inline void raw(struct world *w, const char *sql)
{
	sqlite3 *db = raw_open(w);

	raw_run(db, sql);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* Returns the first column of the first row, or -1 if there is no row or the value is NULL. */
static inline int64_t ask(struct world *w, const char *sql)
{
	sqlite3 *db = raw_open(w);
	sqlite3_stmt *st;
	int64_t n = -1;

	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &st, NULL), SQLITE_OK);
	if (sqlite3_step(st) == SQLITE_ROW && sqlite3_column_type(st, 0) != SQLITE_NULL)
		n = sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
	return n;
}

static const struct grove_key key_a = { "p", "a.jsonl", "" };

static inline struct grove_store_log *log_of(struct world *w, const struct grove_key *key,
					     unsigned flags)
{
	struct grove_store_log *log = NULL;

	OK(grove__log_open(&log, w->st, key, flags, &w->d));
	return log;
}

static inline int add(struct world *w, struct grove_store_log *log, struct grove_slice line,
		      uint64_t expect)
{
	struct grove_store_record rec = { .line = line };
	struct grove_store_appended out;

	return grove__log_append(log, &rec, 1, expect, GROVE_SYNC_NONE, &out, &w->d);
}

static inline struct grove_store_log *make(struct world *w, const char *const *line, size_t nr)
{
	struct grove_store_log *log = log_of(w, &key_a, GROVE_STORE_CREATE);

	for (size_t i = 0; i < nr; i++)
		OK(add(w, log, str(line[i]), i));
	return log;
}

#define LINES(...) (const char *const[]){ __VA_ARGS__ }, ARRAY(((const char *const[]){ __VA_ARGS__ }))

/* Returns all lines of the log, as the bytes of a file. */
static inline struct grove_buf bytes_of(struct world *w, struct grove_store_log *log)
{
	struct grove_buf b = GROVE_BUF_INIT;
	struct grove_store_log_stat st;
	struct grove_store_run run = { 0 };

	OK(grove__log_stat(log, &st, &w->d));
	OK(grove__buf_reserve(&b, (size_t)st.bytes + 1));
	OK(grove__log_read(log, 0, st.tail, b.ptr, (size_t)st.bytes + 1, &run, &w->d));
	assert_int_equal(run.end, 1);
	assert_int_equal(run.len, st.bytes);
	b.len = run.len;
	b.ptr[b.len] = '\0';
	return b;
}

static inline void assert_bytes(struct world *w, struct grove_store_log *log, const char *text)
{
	struct grove_buf b = bytes_of(w, log);

	assert_string_equal(b.ptr, text);
	grove__buf_release(&b);
}

static inline void assert_session(struct world *w, const char *text)
{
	struct grove_store_log *log = log_of(w, &key_a, GROVE_STORE_READ);

	assert_bytes(w, log, text);
	grove__log_close(log);
}

static inline int count_key(void *payload, const struct grove_key *key)
{
	(void)key;
	++*(unsigned *)payload;
	return 0;
}

static inline int count_change(void *payload, const struct grove_store_change *c)
{
	unsigned *kinds = payload;

	*kinds = *kinds * 10 + c->kind;
	return 0;
}

static inline int count_record(void *payload, uint64_t pos, const struct grove_store_record *rec)
{
	(void)pos;
	(void)rec;
	++*(unsigned *)payload;
	return 0;
}

static inline int one_line(void *payload, struct grove_store_record *rec)
{
	const char **next = payload;

	if (!*next)
		return 1;
	rec->line = str(*next);
	*next = NULL;
	return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

#endif
