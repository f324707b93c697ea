/*
 * tests/lib/mysql_world.h: a database for one test case on the server that
 * tests/lib/mariadb has started. The database can be used through grove's
 * store, and directly.
 *
 * All functions assert that they succeed. Include after cmocka.h.
 */
#ifndef TESTS_LIB_MYSQL_WORLD_H
#define TESTS_LIB_MYSQL_WORLD_H

#include "store/mysql.h"

#include "scratch.h"

#define str grove__slice_str
#define ARRAY(a) (sizeof(a) / sizeof(*(a)))

struct world {
	unsigned short port;
	char db[64], rest[256];
	struct grove_store *st;
	struct grove_detail d;
};

static const struct grove__mysql_options usual = { .schema = &grove__sql_schema_mysql };

static char server_dir[512];

static inline unsigned long read_number(const char *name)
{
	char path[600];
	struct grove_buf b;
	unsigned long n;

	snprintf(path, sizeof(path), "%s/%s", server_dir, name);
	b = file_bytes(path);
	n = strtoul(b.ptr, NULL, 10);
	grove__buf_release(&b);
	return n;
}

static inline void check(struct world *w, int rc, int code, const char *words,
			 const char *what, const char *file, int line)
{
	if (rc != code || (code < 0 && (w->d.code != code || !strstr(w->d.message, words)))) {
		print_error("%s:%d: %s: %d \"%s\", not %d \"%s\"\n", file, line, what, rc,
			    rc < 0 ? w->d.message : "", code, words);
		_fail(file, line);
	}
	if (code < 0 && (strstr(w->d.message, "s3cret") || strstr(w->d.path, "s3cret")))
		fail_msg("the password is in \"%s\" %s", w->d.message, w->d.path);
	memset(&w->d, 0, sizeof(w->d));
}

#define OK(call) check(w, call, 0, "", #call, __FILE__, __LINE__)
#define FAILS(code, words, call) check(w, call, code, words, #call, __FILE__, __LINE__)

/* Opens a connection to the same server without grove. */
static inline MYSQL *raw_open(const char *db)
{
	MYSQL *m = mysql_init(NULL);
	char path[600];

	snprintf(path, sizeof(path), "%s/socket", server_dir);
	assert_non_null(m);
	if (!mysql_real_connect(m, "localhost", "root", NULL, db, 0, path, 0))
		fail_msg("%s", mysql_error(m));
	return m;
}

static inline void raw_run(MYSQL *m, const char *sql)
{
	MYSQL_RES *res;

	if (mysql_query(m, sql))
		fail_msg("%s: %s", sql, mysql_error(m));
	res = mysql_store_result(m);
	if (res)
		mysql_free_result(res);
}

static inline void raw(struct world *w, const char *sql)
{
	MYSQL *m = raw_open(w->db);

	raw_run(m, sql);
	mysql_close(m);
}

/* Returns the first column of the first row, or -1 if there is no row or the value is NULL. */
static inline long long ask(struct world *w, const char *sql)
{
	MYSQL *m = raw_open(w->db);
	MYSQL_RES *res;
	MYSQL_ROW row;
	long long n;

	if (mysql_query(m, sql))
		fail_msg("%s: %s", sql, mysql_error(m));
	res = mysql_store_result(m);
	assert_non_null(res);
	row = mysql_fetch_row(res);
	n = row && row[0] ? atoll(row[0]) : -1;
	mysql_free_result(res);
	mysql_close(m);
	return n;
}

static inline void reopen(struct world *w, const struct grove__mysql_options *opt)
{
	grove__store_close(w->st);
	OK(grove__mysql_open(&w->st, w->rest, opt, &w->d));
}

/* Creates or upgrades the store whose URL is "mysql:" and `rest`. */
static inline int init_at(const char *rest, struct grove_detail *d)
{
	char url[1100];

	snprintf(url, sizeof(url), "mysql:%s", rest);
	return grove__store_init(NULL, url, d);
}

static inline int upgrade_at(const char *rest, unsigned *from, unsigned *to, struct grove_detail *d)
{
	char url[1100];

	snprintf(url, sizeof(url), "mysql:%s", rest);
	return grove__store_upgrade(NULL, url, from, to, d);
}

/* Returns the idle connection in the pool. */
static inline struct mysql_conn *idle_conn(struct world *w)
{
	return grove__mysql_conn(grove__mysql_store(w->st)->base.idle);
}

/* Creates a database without tables for this test case. */
static inline int set_up_bare(void **state)
{
	static unsigned nr;
	struct world *w = calloc(1, sizeof(*w));
	char sql[128];
	MYSQL *m;

	assert_non_null(w);
	w->port = (unsigned short)read_number("port");
	snprintf(w->db, sizeof(w->db), "case_%u", ++nr);
	snprintf(w->rest, sizeof(w->rest), "//grove:s3cret@127.0.0.1:%u/%s", w->port, w->db);
	m = raw_open(NULL);
	snprintf(sql, sizeof(sql), "CREATE DATABASE %s", w->db);
	raw_run(m, sql);
	mysql_close(m);
	OK(grove__mysql_open(&w->st, w->rest, &usual, &w->d));
	*state = w;
	return 0;
}

static inline int set_up(void **state)
{
	struct world *w;

	set_up_bare(state);
	w = *state;
	OK(grove__mysql_init(w->st, &w->d));
	return 0;
}

static inline int tear_down(void **state)
{
	struct world *w = *state;
	char sql[128];
	MYSQL *m = raw_open(NULL);

	grove__store_close(w->st);
	snprintf(sql, sizeof(sql), "DROP DATABASE IF EXISTS %s", w->db);
	raw_run(m, sql);
	mysql_close(m);
	free(w);
	return 0;
}

static const struct grove_key key_a = { "p", "a.jsonl", "" };

static inline struct grove_store_log *log_of(struct world *w, unsigned flags)
{
	struct grove_store_log *log = NULL;

	OK(grove__log_open(&log, w->st, &key_a, flags, &w->d));
	return log;
}

static inline int add(struct world *w, struct grove_store_log *log, struct grove_slice line,
		      uint64_t expect)
{
	struct grove_store_record rec = { .line = line };
	struct grove_store_appended out;

	return grove__log_append(log, &rec, 1, expect, GROVE_SYNC_NONE, &out, &w->d);
}

/* Returns all lines of the log, as the bytes of a file. */
static inline struct grove_buf bytes_of(struct world *w, struct grove_store_log *log)
{
	struct grove_buf b = GROVE_BUF_INIT;
	struct grove_store_log_stat st;
	struct grove_store_run run = { 0 };
	uint64_t at = 0;

	OK(grove__log_stat(log, &st, &w->d));
	OK(grove__buf_reserve(&b, (size_t)st.bytes + 1));
	while (at < st.tail) {
		OK(grove__log_read(log, at, st.tail, b.ptr + b.len, (size_t)st.bytes + 1 - b.len, &run,
				   &w->d));
		assert_true(run.next > at);
		b.len += run.len;
		at = run.next;
	}
	assert_int_equal(b.len, st.bytes);
	b.ptr[b.len] = '\0';
	return b;
}

static inline void assert_bytes(struct world *w, struct grove_store_log *log, const char *text)
{
	struct grove_buf b = bytes_of(w, log);

	assert_string_equal(b.ptr, text);
	grove__buf_release(&b);
}

static inline int count_key(void *payload, const struct grove_key *key)
{
	(void)key;
	++*(unsigned *)payload;
	return 0;
}

static inline void drop_tables(struct world *w)
{
	raw(w, "DROP TABLE IF EXISTS meta, sessions, entries, attachments, session_values, changes");
}

static inline int count_line(void *payload, uint64_t pos, const struct grove_store_record *rec)
{
	(void)pos;
	(void)rec;
	++*(unsigned *)payload;
	return 0;
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
#define BARE(name) cmocka_unit_test_setup_teardown(name, set_up_bare, tear_down)

/* Runs the tests if there is a server. */
#define RUN_WITH_SERVER(name, tests) \
	(find_server() ? cmocka_run_group_tests_name(name, tests, NULL, NULL) : 77)

static inline bool find_server(void)
{
	const char *dir = getenv("GROVE_TEST_MYSQL_DIR");

	if (dir)
		snprintf(server_dir, sizeof(server_dir), "%s", dir);
	else
		puts("1..0 # skip run it by tests/lib/mariadb");
	return dir;
}

#endif
