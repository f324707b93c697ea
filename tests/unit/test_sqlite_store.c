/*
 * tests/unit/test_sqlite_store.c: what is particular to sessions in an SQLite
 * database: its versions, other programs, locks, limits, crashes. That it is a
 * store like any other is the conformance suite's affair.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <signal.h>
#include <sys/wait.h>

#include "store/sqlite.h"
#include "sys/file.h"

#include "../lib/scratch.h"

#define str grove__slice_str
#define ARRAY(a) (sizeof(a) / sizeof(*(a)))

struct world {
	char dir[256], db[300];
	struct grove_store *st;
	struct grove_detail d;
};

static const struct grove__sqlite_options usual = { .schema = &grove__sql_schema_sqlite,
						    .busy_ms = 60 };

static int set_up(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	scratch_make(w->dir, sizeof(w->dir));
	snprintf(w->db, sizeof(w->db), "%s/store.db", w->dir);
	assert_int_equal(grove__sqlite_open(&w->st, w->db, &usual, NULL), 0);
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;

	grove__sys_fault = NULL;
	grove__store_close(w->st);
	scratch_remove(w->dir);
	free(w);
	return 0;
}

static void reopen(struct world *w, const struct grove__sqlite_options *opt)
{
	grove__store_close(w->st);
	assert_int_equal(grove__sqlite_open(&w->st, w->db, opt, NULL), 0);
}

static void check(struct world *w, int rc, int code, const char *words, const char *what, int line)
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

/* The same file without grove. */
static sqlite3 *raw_open(struct world *w)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(w->db, &db), SQLITE_OK);
	return db;
}

static void raw_run(sqlite3 *db, const char *sql)
{
	char *why = NULL;

	if (sqlite3_exec(db, sql, NULL, NULL, &why))
		fail_msg("%s: %s", sql, why);
}

static void raw(struct world *w, const char *sql)
{
	sqlite3 *db = raw_open(w);

	raw_run(db, sql);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* The first column of the first row; -1: no row, or NULL. */
static int64_t ask(struct world *w, const char *sql)
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

static struct grove_log *log_of(struct world *w, const struct grove_key *key, unsigned flags)
{
	struct grove_log *log = NULL;

	OK(grove__log_open(&log, w->st, key, flags, &w->d));
	return log;
}

static int add(struct world *w, struct grove_log *log, struct grove_slice line, uint64_t expect)
{
	struct grove_record rec = { .line = line };
	struct grove_appended out;

	return grove__log_append(log, &rec, 1, expect, GROVE_SYNC_NONE, &out, &w->d);
}

static struct grove_log *make(struct world *w, const char *const *line, size_t nr)
{
	struct grove_log *log = log_of(w, &key_a, GROVE_LOG_CREATE);

	for (size_t i = 0; i < nr; i++)
		OK(add(w, log, str(line[i]), i));
	return log;
}

#define LINES(...) (const char *const[]){ __VA_ARGS__ }, ARRAY(((const char *const[]){ __VA_ARGS__ }))

/* Everything in the log, as the bytes of a file. */
static struct grove_buf bytes_of(struct world *w, struct grove_log *log)
{
	struct grove_buf b = GROVE_BUF_INIT;
	struct grove_log_stat st;
	struct grove_run run = { 0 };

	OK(grove__log_stat(log, &st, &w->d));
	OK(grove__buf_reserve(&b, (size_t)st.bytes + 1));
	OK(grove__log_read(log, 0, st.tail, b.ptr, (size_t)st.bytes + 1, &run, &w->d));
	assert_int_equal(run.end, 1);
	assert_int_equal(run.len, st.bytes);
	b.len = run.len;
	b.ptr[b.len] = '\0';
	return b;
}

static void assert_bytes(struct world *w, struct grove_log *log, const char *text)
{
	struct grove_buf b = bytes_of(w, log);

	assert_string_equal(b.ptr, text);
	grove__buf_release(&b);
}

static void assert_session(struct world *w, const char *text)
{
	struct grove_log *log = log_of(w, &key_a, GROVE_LOG_READ);

	assert_bytes(w, log, text);
	grove__log_close(log);
}

static int count_key(void *payload, const struct grove_key *key)
{
	(void)key;
	++*(unsigned *)payload;
	return 0;
}

/* ---------------------------------------------------------- made, and found */

static void looking_makes_no_database(void **state)
{
	struct world *w = *state;
	struct grove_log *log;
	struct grove_buf b = GROVE_BUF_INIT;
	unsigned nr = 0, from, to;

	FAILS(GROVE_ENOTFOUND, "grove store init",
	      grove__log_open(&log, w->st, &key_a, GROVE_LOG_READ, &w->d));
	FAILS(GROVE_ENOTFOUND, "grove store init",
	      grove__log_open(&log, w->st, &key_a, GROVE_LOG_WRITE, &w->d));
	FAILS(GROVE_ENOTFOUND, "", grove__store_remove(w->st, &key_a, &w->d));
	FAILS(GROVE_ENOTFOUND, "", grove__store_attach_get(w->st, &key_a, "x", &b, &w->d));
	FAILS(GROVE_ENOTFOUND, "grove store init", grove__sqlite_upgrade(w->st, &from, &to, &w->d));
	OK(grove__store_list(w->st, NULL, count_key, &nr, &w->d));
	assert_int_equal(nr, 0);
	assert_dir(w->dir, "");
}

static void the_first_session_makes_it_for_its_owner_alone(void **state)
{
	struct world *w = *state;
	struct stat st;

	umask(0);
	grove__log_close(make(w, LINES("one")));
	assert_int_equal(stat(w->db, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	reopen(w, &usual);
	/* at rest it is one file */
	assert_dir(w->dir, "store.db ");
	assert_session(w, "one\n");
	umask(022);
}

static void a_store_can_be_made_ahead_and_once_more(void **state)
{
	struct world *w = *state;
	char url[400];
	unsigned from = 7, to = 7;

	snprintf(url, sizeof(url), "sqlite:%s/deep/er/x.db", w->dir);
	OK(grove__store_init(NULL, url, &w->d));
	OK(grove__store_init(NULL, url, &w->d));
	OK(grove__store_upgrade(NULL, url, &from, &to, &w->d));
	assert_int_equal(from, 2);
	assert_int_equal(to, 2);
	/* a directory needs nothing */
	OK(grove__store_init(NULL, w->dir, &w->d));
	OK(grove__store_upgrade(NULL, w->dir, &from, &to, &w->d));
	assert_int_equal(to, 0);
	FAILS(GROVE_EINVAL, "unknown kind", grove__store_init(NULL, "ftp:x", &w->d));
}

static void an_empty_file_is_an_empty_store(void **state)
{
	struct world *w = *state;
	struct grove_log *log;

	file_make(w->db, "");
	FAILS(GROVE_ENOTFOUND, "", grove__log_open(&log, w->st, &key_a, GROVE_LOG_READ, &w->d));
	grove__log_close(make(w, LINES("one")));
	assert_session(w, "one\n");
}

static void what_is_no_database_is_refused(void **state)
{
	struct world *w = *state;
	struct grove_log *log;
	char text[3000];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	file_make(w->db, text);
	FAILS(GROVE_EDAMAGED, "not an SQLite database",
	      grove__log_open(&log, w->st, &key_a, GROVE_LOG_READ, &w->d));
	FAILS(GROVE_EDAMAGED, "not an SQLite database",
	      grove__log_open(&log, w->st, &key_a, GROVE_LOG_CREATE, &w->d));
	assert_file(w->db, text);
	assert_int_equal(unlink(w->db), 0);
	assert_int_equal(mkdir(w->db, 0700), 0);
	FAILS(GROVE_EINVAL, "not a file", grove__log_open(&log, w->st, &key_a, GROVE_LOG_READ, &w->d));
	FAILS(GROVE_EINVAL, "not a file", grove__log_open(&log, w->st, &key_a, GROVE_LOG_CREATE, &w->d));
}

static void another_programs_database_is_left_alone(void **state)
{
	struct world *w = *state;
	struct grove_log *log;
	struct grove_buf before, after;

	raw(w, "CREATE TABLE sessions (x); INSERT INTO sessions VALUES (1)");
	before = file_bytes(w->db);
	FAILS(GROVE_ENOTSUP, "not a store of grove",
	      grove__log_open(&log, w->st, &key_a, GROVE_LOG_READ, &w->d));
	FAILS(GROVE_ENOTSUP, "not a store of grove",
	      grove__log_open(&log, w->st, &key_a, GROVE_LOG_CREATE, &w->d));
	FAILS(GROVE_ENOTSUP, "not a store of grove", grove__sqlite_init(w->st, &w->d));
	after = file_bytes(w->db);
	assert_int_equal(before.len, after.len);
	assert_memory_equal(before.ptr, after.ptr, after.len);
	grove__buf_release(&before);
	grove__buf_release(&after);
}

static void a_name_is_a_name(void **state)
{
	static const char *const names[] = { ":memory:", "file:x.db?mode=memory", "a b%20#?.db" };
	struct world *w = *state;
	char cwd[1024];

	assert_non_null(getcwd(cwd, sizeof(cwd)));
	assert_int_equal(chdir(w->dir), 0);
	for (size_t i = 0; i < ARRAY(names); i++) {
		grove__store_close(w->st);
		assert_int_equal(grove__sqlite_open(&w->st, names[i], &usual, NULL), 0);
		grove__log_close(make(w, LINES("one")));
		grove__store_close(w->st);
		assert_int_equal(access(names[i], F_OK), 0);
		assert_int_equal(grove__sqlite_open(&w->st, names[i], &usual, NULL), 0);
		assert_session(w, "one\n");
	}
	assert_int_equal(chdir(cwd), 0);
}

static void a_link_leads_to_the_database(void **state)
{
	struct world *w = *state;
	struct grove_log *log;
	char link[300];

	snprintf(link, sizeof(link), "%s/link.db", w->dir);
	grove__log_close(make(w, LINES("one")));
	reopen(w, &usual);
	assert_int_equal(symlink("store.db", link), 0);
	grove__store_close(w->st);
	assert_int_equal(grove__sqlite_open(&w->st, link, &usual, NULL), 0);
	log = log_of(w, &key_a, GROVE_LOG_WRITE);
	OK(add(w, log, str("two"), 1));
	OK(grove__log_sync(log, &w->d));
	grove__log_close(log);
	reopen(w, &usual);
	assert_session(w, "one\ntwo\n");
}

/* ----------------------------------------------------------------- versions */

/* Version 1, letter by letter: what is out there does not change with the source. */
static const char version_1[] =
	"CREATE TABLE meta (name TEXT NOT NULL PRIMARY KEY, value INTEGER NOT NULL);"
	"CREATE TABLE sessions (session_id BLOB NOT NULL PRIMARY KEY, project TEXT NOT NULL,"
	" session TEXT NOT NULL, subpath TEXT NOT NULL, dialect BLOB, name BLOB, leaf BLOB,"
	" generation INTEGER NOT NULL, rev INTEGER NOT NULL, unfinished INTEGER, lease_owner BLOB,"
	" lease_number INTEGER NOT NULL, lease_until INTEGER, created INTEGER NOT NULL,"
	" updated INTEGER NOT NULL, UNIQUE (project, session, subpath));"
	"CREATE TABLE entries (session_id BLOB NOT NULL, seq INTEGER NOT NULL, start INTEGER NOT NULL,"
	" stored INTEGER NOT NULL, time INTEGER, kind INTEGER, role INTEGER, id TEXT, parent TEXT,"
	" line BLOB NOT NULL, PRIMARY KEY (session_id, seq));"
	"CREATE TABLE attachments (session_id BLOB NOT NULL, name TEXT NOT NULL, bytes BLOB NOT NULL,"
	" PRIMARY KEY (session_id, name));"
	"CREATE TABLE session_values (session_id BLOB NOT NULL, name TEXT NOT NULL, value BLOB NOT NULL,"
	" PRIMARY KEY (session_id, name));"
	"INSERT INTO meta VALUES ('version', 1);"
	"INSERT INTO sessions VALUES (x'00112233445566778899aabbccddeeff', 'p', 'a.jsonl', '', 'pi', NULL,"
	" 'e1', 3, 4, NULL, NULL, 0, NULL, 1700000000000, 1700000000000);"
	"INSERT INTO entries VALUES (x'00112233445566778899aabbccddeeff', 0, 0, 1700000000001,"
	" NULL, NULL, NULL, NULL, NULL, x'7b7d');"
	"INSERT INTO entries VALUES (x'00112233445566778899aabbccddeeff', 1, 3, 1700000000002,"
	" 1700000000002, 2, 3, 'e1', NULL, x'ff00');"
	"INSERT INTO attachments VALUES (x'00112233445566778899aabbccddeeff', 'a/b', x'00');"
	"INSERT INTO session_values VALUES (x'00112233445566778899aabbccddeeff', 'v', x'31');";

/* What came with version 2, in the same way. */
static const char version_2[] =
	"CREATE TABLE changes (session_id BLOB NOT NULL, rev INTEGER NOT NULL, lines INTEGER NOT NULL,"
	" kind INTEGER NOT NULL, id TEXT, time INTEGER NOT NULL, PRIMARY KEY (session_id, rev));"
	"ALTER TABLE sessions ADD COLUMN adjust INTEGER NOT NULL DEFAULT 0;"
	"CREATE INDEX entries_id ON entries (session_id, id, seq);"
	"UPDATE meta SET value = 2;";

/* What a version 3 could be. */
static const char *const next_version[] = {
	"ALTER TABLE sessions ADD COLUMN colour TEXT",
	"CREATE INDEX entries_kind ON entries (session_id, kind)",
	NULL
};
static const char *const bad_version[] = {
	"ALTER TABLE sessions ADD COLUMN colour TEXT",
	"ALTER TABLE nowhere ADD COLUMN x",
	NULL
};

static void assert_version_1_rows(struct world *w)
{
	struct grove_log *log = log_of(w, &key_a, GROVE_LOG_READ);
	struct grove_buf b = bytes_of(w, log);
	struct grove_log_stat st;

	assert_int_equal(b.len, 6);
	assert_memory_equal(b.ptr, "{}\n\xff\0\n", 6);
	grove__buf_clear(&b);
	OK(grove__log_stat(log, &st, &w->d));
	assert_int_equal(st.generation, 3);
	assert_int_equal(st.mtime_ms, 1700000000002);
	OK(grove__log_meta_get(log, "leaf", &b, &w->d));
	OK(grove__log_meta_get(log, "v", &b, &w->d));
	OK(grove__log_meta_get(log, "dialect", &b, &w->d));
	OK(grove__store_attach_get(w->st, &key_a, "a/b", &b, &w->d));
	assert_int_equal(b.len, 6);
	assert_memory_equal(b.ptr, "e11pi\0", 6);
	grove__buf_release(&b);
	grove__log_close(log);
}

static void a_database_of_version_2_is_read_and_written(void **state)
{
	struct world *w = *state;
	struct grove_log *log;

	raw(w, version_1);
	raw(w, version_2);
	assert_version_1_rows(w);
	log = log_of(w, &key_a, GROVE_LOG_WRITE);
	OK(add(w, log, str("three"), 2));
	grove__log_close(log);
	assert_int_equal(ask(w, "SELECT start FROM entries WHERE seq = 2"), 6);
}

static int count_change(void *payload, const struct grove_change *c)
{
	unsigned *kinds = payload;

	*kinds = *kinds * 10 + c->kind;
	return 0;
}

static int count_record(void *payload, uint64_t pos, const struct grove_record *rec)
{
	(void)pos;
	(void)rec;
	++*(unsigned *)payload;
	return 0;
}

/* Everything that version 2 brought, on a session of version 1. */
static void use_version_2(struct world *w)
{
	struct grove_log *log = log_of(w, &key_a, GROVE_LOG_WRITE), *other;
	struct grove_record rec = { .line = str("line two"), .id = str("e1"), .kind = 2, .time = 1 };
	struct grove_log_stat st;
	struct grove_lease lease = { .size = sizeof(lease) };
	struct grove_appended out;
	unsigned kinds = 0, nr = 0;

	OK(grove__log_stat(log, &st, &w->d));
	assert_int_equal(st.base, 4);
	OK(grove__log_changes(log, 0, count_change, &kinds, &w->d));
	assert_int_equal(kinds, 0);
	OK(grove__log_update(log, 1, grove__slice("\xff\0", 2), &rec, GROVE_CHANGE_UPDATE,
			     GROVE_SYNC_NONE, &w->d));
	OK(grove__log_update(log, 0, str("{}"), &(struct grove_record){ .line = str("header") },
			     GROVE_CHANGE_UPDATE, GROVE_SYNC_NONE, &w->d));
	rec = (struct grove_record){ .line = str("three"), .id = str("e2"), .parent = str("e1"),
				     .kind = 2 };
	OK(grove__log_append(log, &rec, 1, 2, GROVE_SYNC_NONE, &out, &w->d));
	assert_bytes(w, log, "header\nline two\nthree\n");
	OK(grove__log_meta_put(log, "leaf", str("e2"), &w->d));
	OK(grove__log_changes(log, 0, count_change, &kinds, &w->d));
	assert_int_equal(kinds, 223);
	OK(grove__log_stat(log, &st, &w->d));
	assert_int_equal(st.base, 7);
	OK(grove__log_ancestors(log, str("e2"), count_record, &nr, &w->d));
	assert_int_equal(nr, 2);
	OK(grove__log_lease_take(log, "me", 60000, &lease, &w->d));
	assert_int_equal(lease.number, 1);
	other = log_of(w, &key_a, GROVE_LOG_WRITE);
	FAILS(GROVE_ECONFLICT, "me has a lease", add(w, other, str("four"), 3));
	OK(add(w, log, str("four"), 3));
	grove__log_close(other);
	grove__log_close(log);
}

static void a_database_of_version_1_waits_for_its_upgrade(void **state)
{
	struct world *w = *state;
	struct grove_buf b = GROVE_BUF_INIT;
	struct grove_log *log;
	char url[400];
	unsigned from, to, nr = 0;

	snprintf(url, sizeof(url), "sqlite:%s", w->db);
	raw(w, version_1);
	FAILS(GROVE_ENOTSUP, "run `grove store upgrade` (its tables have version 1, not 2)",
	      grove__log_open(&log, w->st, &key_a, GROVE_LOG_READ, &w->d));
	FAILS(GROVE_ENOTSUP, "grove store upgrade",
	      grove__log_open(&log, w->st, &key_a, GROVE_LOG_CREATE, &w->d));
	FAILS(GROVE_ENOTSUP, "grove store upgrade", grove__store_remove(w->st, &key_a, &w->d));
	FAILS(GROVE_ENOTSUP, "grove store upgrade",
	      grove__store_list(w->st, NULL, count_key, &nr, &w->d));
	FAILS(GROVE_ENOTSUP, "grove store upgrade",
	      grove__store_attach_get(w->st, &key_a, "a/b", &b, &w->d));
	FAILS(GROVE_ENOTSUP, "grove store upgrade", grove__store_init(NULL, url, &w->d));
	assert_int_equal(ask(w, "SELECT value FROM meta"), 1);
	assert_int_equal(ask(w, "SELECT count(*) FROM pragma_table_info('changes')"), 0);
	OK(grove__store_upgrade(NULL, url, &from, &to, &w->d));
	assert_int_equal(from, 1);
	assert_int_equal(to, 2);
	/* by the store that was refused, too */
	assert_version_1_rows(w);
	OK(grove__store_upgrade(NULL, url, &from, &to, &w->d));
	assert_int_equal(from, 2);
	assert_version_1_rows(w);
	use_version_2(w);
	raw(w, "UPDATE meta SET value = 3");
	FAILS(GROVE_ENOTSUP, "made by a later grove", grove__store_upgrade(NULL, url, &from, &to, &w->d));
	assert_int_equal(ask(w, "SELECT value FROM meta"), 3);
}

/* All columns and indexes, as a number: the same for the same tables. */
static int64_t shape_of(struct world *w)
{
	return ask(w, "SELECT sum(length(x) * (1 + instr('abcdefghijklmnopqrstuvwxyz', substr(x, 1, 1)))) "
		   "FROM (SELECT lower(t.name || c.cid || c.name || c.type || c.\"notnull\" || c.pk) AS x "
		   "FROM sqlite_master t, pragma_table_info(t.name) c WHERE t.type = 'table' UNION ALL "
		   "SELECT lower(i.name || c.seqno || c.name) FROM sqlite_master i, pragma_index_info(i.name) c "
		   "WHERE i.type = 'index')");
}

/* The tables that this grove makes of the first versions are those that it made then. */
static void versions_are_what_they_were(void **state)
{
	const struct grove__sql_schema one = { 1, grove__sql_schema_sqlite.versions };
	const struct grove__sqlite_options first = { .schema = &one };
	struct world *w = *state;
	int64_t then;

	raw(w, version_1);
	then = shape_of(w);
	assert_true(then > 0);
	assert_int_equal(unlink(w->db), 0);
	reopen(w, &first);
	OK(grove__sqlite_init(w->st, &w->d));
	assert_int_equal(shape_of(w), then);
	assert_int_equal(unlink(w->db), 0);
	raw(w, version_1);
	raw(w, version_2);
	assert_true(shape_of(w) > then);
	then = shape_of(w);
	assert_int_equal(unlink(w->db), 0);
	reopen(w, &usual);
	grove__log_close(make(w, LINES("one")));
	assert_int_equal(shape_of(w), then);
}

static void an_upgrade_keeps_what_is_there(void **state)
{
	const char *const *const all[] = { grove__sql_schema_sqlite.versions[0],
					   grove__sql_schema_sqlite.versions[1], next_version };
	const struct grove__sql_schema schema = { 3, all };
	const struct grove__sqlite_options later = { .schema = &schema, .busy_ms = 60 };
	struct world *w = *state;
	struct grove_log *log;
	unsigned from, to;

	raw(w, version_1);
	reopen(w, &later);
	FAILS(GROVE_ENOTSUP, "grove store upgrade",
	      grove__log_open(&log, w->st, &key_a, GROVE_LOG_READ, &w->d));
	FAILS(GROVE_ENOTSUP, "grove store upgrade",
	      grove__log_open(&log, w->st, &key_a, GROVE_LOG_CREATE, &w->d));
	FAILS(GROVE_ENOTSUP, "grove store upgrade", grove__store_remove(w->st, &key_a, &w->d));
	assert_int_equal(ask(w, "SELECT value FROM meta"), 1);
	OK(grove__sqlite_upgrade(w->st, &from, &to, &w->d));
	assert_int_equal(from, 1);
	assert_int_equal(to, 3);
	assert_version_1_rows(w);
	OK(grove__sqlite_upgrade(w->st, &from, &to, &w->d));
	assert_int_equal(from, 3);
	assert_int_equal(ask(w, "SELECT count(colour) FROM sessions"), 0);
	log = log_of(w, &key_a, GROVE_LOG_WRITE);
	OK(add(w, log, str("three"), 2));
	grove__log_close(log);
	/* and from nothing all versions are made */
	assert_int_equal(unlink(w->db), 0);
	grove__log_close(make(w, LINES("one")));
	assert_session(w, "one\n");
	assert_int_equal(ask(w, "SELECT value FROM meta"), 3);
	/* this grove does not touch it, nor make it older */
	reopen(w, &usual);
	FAILS(GROVE_ENOTSUP, "made by a later grove",
	      grove__log_open(&log, w->st, &key_a, GROVE_LOG_READ, &w->d));
	FAILS(GROVE_ENOTSUP, "made by a later grove", grove__sqlite_upgrade(w->st, &from, &to, &w->d));
}

static void an_upgrade_that_fails_changes_nothing(void **state)
{
	const char *const *const all[] = { grove__sql_schema_sqlite.versions[0],
					   grove__sql_schema_sqlite.versions[1], bad_version };
	const struct grove__sql_schema schema = { 3, all };
	const struct grove__sqlite_options later = { .schema = &schema, .busy_ms = 60 };
	struct world *w = *state;
	unsigned from, to;

	raw(w, version_1);
	reopen(w, &later);
	FAILS(GROVE_EIO, "no such table", grove__sqlite_upgrade(w->st, &from, &to, &w->d));
	assert_int_equal(ask(w, "SELECT value FROM meta"), 1);
	assert_int_equal(ask(w, "SELECT count(*) FROM pragma_table_info('sessions') "
			     "WHERE name = 'colour'"), 0);
	assert_int_equal(ask(w, "SELECT count(*) FROM pragma_table_info('changes')"), 0);
	/* it can still be brought to where this grove is */
	reopen(w, &usual);
	OK(grove__sqlite_upgrade(w->st, &from, &to, &w->d));
	assert_version_1_rows(w);
}

static void a_later_version_is_refused_and_left_alone(void **state)
{
	struct world *w = *state;
	struct grove_log *log;
	struct grove_buf b = GROVE_BUF_INIT;
	unsigned nr = 0;

	raw(w, version_1);
	raw(w, version_2);
	raw(w, "UPDATE meta SET value = 99");
	FAILS(GROVE_ENOTSUP, "made by a later grove",
	      grove__log_open(&log, w->st, &key_a, GROVE_LOG_READ, &w->d));
	FAILS(GROVE_ENOTSUP, "version 99",
	      grove__log_open(&log, w->st, &key_a, GROVE_LOG_CREATE, &w->d));
	FAILS(GROVE_ENOTSUP, "made by a later grove", grove__store_remove(w->st, &key_a, &w->d));
	FAILS(GROVE_ENOTSUP, "made by a later grove",
	      grove__store_list(w->st, NULL, count_key, &nr, &w->d));
	FAILS(GROVE_ENOTSUP, "made by a later grove",
	      grove__store_attach_get(w->st, &key_a, "a/b", &b, &w->d));
	FAILS(GROVE_ENOTSUP, "made by a later grove", grove__sqlite_init(w->st, &w->d));
	raw(w, "UPDATE meta SET value = 2");
	assert_version_1_rows(w);
}

static void an_upgrade_under_an_open_session_is_noticed(void **state)
{
	struct world *w = *state;
	struct grove_log *log = make(w, LINES("one"));

	raw(w, "UPDATE meta SET value = 3");
	FAILS(GROVE_ENOTSUP, "made by a later grove", add(w, log, str("two"), 1));
	raw(w, "UPDATE meta SET value = 2");
	OK(add(w, log, str("two"), 1));
	assert_bytes(w, log, "one\ntwo\n");
	grove__log_close(log);
}

static void a_version_that_cannot_be_read_is_damage(void **state)
{
	static const char *const how[] = { "DELETE FROM meta", "UPDATE meta SET value = 'x'",
					   "UPDATE meta SET value = 0", "UPDATE meta SET value = -1" };
	struct world *w = *state;
	struct grove_log *log;

	for (size_t i = 0; i < ARRAY(how); i++) {
		raw(w, version_1);
		raw(w, how[i]);
		FAILS(GROVE_EDAMAGED, "version", grove__log_open(&log, w->st, &key_a, GROVE_LOG_READ, &w->d));
		FAILS(GROVE_EDAMAGED, "version",
		      grove__log_open(&log, w->st, &key_a, GROVE_LOG_CREATE, &w->d));
		assert_int_equal(unlink(w->db), 0);
	}
	raw(w, version_1);
	raw(w, "DROP TABLE entries");
	FAILS(GROVE_ENOTSUP, "not a store of grove",
	      grove__log_open(&log, w->st, &key_a, GROVE_LOG_READ, &w->d));
}

/* ------------------------------------------------------------ hostile bytes */

static void every_name_is_taken_as_it_is(void **state)
{
	static const struct grove_key key[] = {
		{ "", "a.jsonl", "" }, { "'; DROP TABLE entries; --", "\"'`.jsonl", "" },
		{ "%", "_", "" }, { "\xff\xfe", "\xed\xa0\x80", "\x80/\x81" }, { "A", "A.JSONL", "" },
		{ "a", "a.jsonl", "" }, { "a ", "a.jsonl ", "" }, { "\xc3\xa9", "e\xcc\x81", "" },
	};
	struct world *w = *state;
	struct grove_log *log;
	unsigned nr = 0;
	char line[32];

	for (size_t i = 0; i < ARRAY(key); i++) {
		log = log_of(w, &key[i], GROVE_LOG_CREATE);
		snprintf(line, sizeof(line), "%zu", i);
		OK(add(w, log, str(line), 0));
		OK(grove__log_meta_put(log, "it's \"quoted\"", str("v'v"), &w->d));
		grove__log_close(log);
	}
	for (size_t i = 0; i < ARRAY(key); i++) {
		log = log_of(w, &key[i], GROVE_LOG_READ);
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
	struct grove_log *log = make(w, LINES("one"));
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
	FAILS(GROVE_EINVAL, "session", grove__log_open(&log, w->st, &key, GROVE_LOG_CREATE, &w->d));
	FAILS(GROVE_EINVAL, "session", grove__log_open(&log, w->st, &none, GROVE_LOG_CREATE, &w->d));
	key = key_a;
	key.project = huge;
	FAILS(GROVE_EINVAL, "project", grove__log_open(&log, w->st, &key, GROVE_LOG_CREATE, &w->d));
	assert_session(w, "one\n");
}

static void columns_hold_what_they_can(void **state)
{
	struct world *w = *state;
	struct grove_log *log = make(w, LINES("header"));
	char long_id[400];
	struct grove_record rec[] = {
		{ .line = str("a"), .id = str("o'brien\"; --"), .parent = str("x"), .time = -5,
		  .kind = GROVE_KIND_MESSAGE, .role = GROVE_ROLE_USER },
		{ .line = str("b"), .id = grove__slice("n\0ul", 4), .parent = str("\xc3\xa9"),
		  .time = GROVE_NO_TIME, .kind = GROVE_KIND_MESSAGE },
		{ .line = str("c"), .id = grove__slice(long_id, sizeof(long_id)) },
		/* twice the same id is legal */
		{ .line = str("d"), .id = str("o'brien\"; --") },
	};
	struct grove_appended out;

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
	struct grove_log *log = make(w, LINES("header"));
	char *line = malloc(len), *back = malloc(len + 64), small[16384];
	struct grove_log_stat st;
	struct grove_run run;
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
	struct grove_log *log = make(w, LINES("one"));
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
	struct grove_log *log = make(w, LINES("one", "two")), *empty;
	const struct grove_key key = { "p", "empty.jsonl", "" };
	struct grove_record rec = { .line = str("three") };
	struct grove_buf b = GROVE_BUF_INIT;
	struct grove_appended out;
	struct grove_run run = { 0 };
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
	empty = log_of(w, &key, GROVE_LOG_CREATE);
	FAILS(GROVE_EINVAL, "", grove__log_meta_put(empty, GROVE__META_UNFINISHED, str("1"), &w->d));
	grove__log_close(empty);
}

static int one_line(void *payload, struct grove_record *rec)
{
	const char **next = payload;

	if (!*next)
		return 1;
	rec->line = str(*next);
	*next = NULL;
	return 0;
}

static void generation_and_rev_count_what_they_should(void **state)
{
	static const char rev[] = "SELECT rev FROM sessions", generation[] = "SELECT generation FROM sessions";
	struct world *w = *state;
	struct grove_log *log = make(w, LINES("one", "two"));
	struct grove_log_stat before, after;
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
	struct grove_log *log = make(w, LINES("one", "two", "three"));
	struct grove_record rec = { .line = str("a longer line") };

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
	assert_int_equal(grove_open(&g, &opt), 0);
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
	struct grove_log *log = make(w, LINES(header, entry));
	struct grove_record rec = { .line = str(longer) };

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

/* An import or an older grove left lines of which the columns know nothing. */
static void a_parent_may_be_in_a_line_that_nobody_looked_at(void **state)
{
	struct world *w = *state;
	struct grove_log *log = make(w, LINES("{\"id\":\"a\"}"));
	struct grove_record rec = { .line = str("B"), .id = str("b"), .parent = str("a"), .kind = 2 };
	struct grove_appended out;
	unsigned nr = 0;

	OK(grove__log_append(log, &rec, 1, 1, GROVE_SYNC_NONE, &out, &w->d));
	FAILS(GROVE_ENOTSUP, "nobody looked at",
	      grove__log_ancestors(log, str("b"), count_record, &nr, &w->d));
	FAILS(GROVE_ENOTSUP, "nobody looked at",
	      grove__log_ancestors(log, str("a"), count_record, &nr, &w->d));
	rec = (struct grove_record){ .line = str("A"), .id = str("a"), .kind = 2 };
	OK(grove__log_update(log, 0, str("{\"id\":\"a\"}"), &rec, GROVE_CHANGE_UPDATE, GROVE_SYNC_NONE,
			     &w->d));
	nr = 0;
	OK(grove__log_ancestors(log, str("b"), count_record, &nr, &w->d));
	assert_int_equal(nr, 2);
	FAILS(GROVE_ENOTFOUND, "no such entry",
	      grove__log_ancestors(log, str("c"), count_record, &nr, &w->d));
	grove__log_close(log);
}

static void an_entry_is_found_by_an_index(void **state)
{
	struct world *w = *state;
	sqlite3 *db;
	sqlite3_stmt *st;
	char sql[500];

	grove__log_close(make(w, LINES("one")));
	db = raw_open(w);
	snprintf(sql, sizeof(sql), "EXPLAIN QUERY PLAN %s", grove__sql_text[SQL_ENTRY]);
	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &st, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(st), SQLITE_ROW);
	assert_non_null(strstr((const char *)sqlite3_column_text(st, 3), "entries_id"));
	sqlite3_finalize(st);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* ----------------------------------------------------------- other programs */

/* Where a log ends is remembered from append to append; not over what others did. */
static void a_lease_by_another_store_is_noticed(void **state)
{
	struct world *w = *state;
	struct grove_log *log = make(w, LINES("one")), *theirs;
	struct grove_store *other;
	struct grove_lease lease = { .size = sizeof(lease) };
	struct grove_detail d;

	OK(add(w, log, str("two"), 1));
	OK(add(w, log, str("three"), 2));
	OK(grove__sqlite_open(&other, w->db, &usual, &w->d));
	OK(grove__log_open(&theirs, other, &key_a, GROVE_LOG_WRITE, &w->d));
	OK(grove__log_lease_take(theirs, "they", 60000, &lease, &w->d));
	FAILS(GROVE_ECONFLICT, "they has a lease", add(w, log, str("four"), 3));
	FAILS(GROVE_ECONFLICT, "they has a lease", grove__log_lease_take(log, "we", 1, &lease, &w->d));
	OK(grove__log_lease_release(theirs, &d));
	OK(grove__log_lease_take(log, "we", 60000, &lease, &w->d));
	assert_int_equal(lease.number, 2);
	OK(add(w, log, str("four"), 3));
	OK(add(w, log, str("five"), 4));
	/* the same owner in another program */
	OK(grove__log_lease_take(theirs, "we", 60000, &lease, &d));
	assert_int_equal(lease.number, 3);
	FAILS(GROVE_ECONFLICT, "taken over by we", add(w, log, str("six"), 5));
	OK(add(w, theirs, str("six"), 5));
	FAILS(GROVE_ECONFLICT, "taken over", grove__log_meta_put(log, "leaf", str("x"), &w->d));
	assert_bytes(w, log, "one\ntwo\nthree\nfour\nfive\nsix\n");
	/* a session that is gone has no lease */
	OK(grove__store_remove(other, &key_a, &w->d));
	FAILS(GROVE_ESTALE, "removed", grove__log_lease_take(log, "we", 60000, &lease, &w->d));
	FAILS(GROVE_ESTALE, "removed", grove__log_lease_get(log, &lease, &w->d));
	assert_int_equal(ask(w, "SELECT count(*) FROM changes"), 0);
	grove__log_close(theirs);
	grove__store_close(other);
	grove__log_close(log);
}

static void a_locked_database_is_waited_for_and_then_told(void **state)
{
	struct world *w = *state;
	struct grove_log *log = make(w, LINES("one")), *other;
	sqlite3 *db = raw_open(w);

	raw_run(db, "BEGIN IMMEDIATE");
	FAILS(GROVE_ECONFLICT, "locked", add(w, log, str("two"), 1));
	FAILS(GROVE_ECONFLICT, "locked", grove__store_remove(w->st, &key_a, &w->d));
	FAILS(GROVE_ECONFLICT, "locked", grove__log_meta_put(log, "leaf", str("x"), &w->d));
	FAILS(GROVE_ECONFLICT, "locked",
	      grove__log_open(&other, w->st, &(struct grove_key){ "p", "b", "" }, GROVE_LOG_CREATE, &w->d));
	/* reading goes on */
	assert_bytes(w, log, "one\n");
	raw_run(db, "COMMIT");
	OK(add(w, log, str("two"), 1));
	assert_bytes(w, log, "one\ntwo\n");
	sqlite3_close(db);
	grove__log_close(log);
}

static void a_database_that_was_deleted_takes_nothing_more(void **state)
{
	struct world *w = *state;
	struct grove_log *log = make(w, LINES("one")), *again;
	struct grove_log_stat st;

	assert_int_equal(unlink(w->db), 0);
	FAILS(GROVE_ESTALE, "removed", add(w, log, str("lost"), GROVE_ANY_POS));
	FAILS(GROVE_ENOTFOUND, "", grove__log_stat(log, &st, &w->d));
	/* another one in its place is another store */
	again = make(w, LINES("new"));
	FAILS(GROVE_ESTALE, "removed", add(w, log, str("lost"), GROVE_ANY_POS));
	OK(add(w, again, str("more"), 1));
	assert_bytes(w, again, "new\nmore\n");
	grove__log_close(again);
	grove__log_close(log);
}

/* In a process of its own: `nr` lines, of whoever it is. */
static void write_lines(const char *db, char who, unsigned nr, enum grove_sync sync, int ack)
{
	const struct grove__sqlite_options patient = { .schema = &grove__sql_schema_sqlite };
	struct grove_store *st;
	struct grove_log *log;
	struct grove_appended out;
	char line[700];

	if (grove__sqlite_open(&st, db, &patient, NULL) ||
	    grove__log_open(&log, st, &key_a, GROVE_LOG_WRITE, NULL))
		_exit(2);
	memset(line, who, sizeof(line));
	for (unsigned i = 0; i < nr; i++) {
		struct grove_record rec[2] = { 0 };
		int n = snprintf(line, sizeof(line), "%c %06u", who, i);

		line[n] = ' ';
		rec[0].line = grove__slice(line, (size_t)n);
		rec[1].line = grove__slice(line, sizeof(line) - i % 300);
		if (grove__log_append(log, rec, 2, GROVE_ANY_POS, sync, &out, NULL))
			_exit(3);
		if (ack >= 0 && write(ack, &i, sizeof(i)) != sizeof(i))
			_exit(4);
	}
	grove__log_close(log);
	grove__store_close(st);
	_exit(0);
}

static void two_processes_write_to_one_session(void **state)
{
	enum { NR = 150 };
	struct world *w = *state;
	struct grove_buf b;
	struct grove_log *log;
	unsigned next[2] = { 0 };
	pid_t pid[2];
	int status;
	char *p;

	grove__log_close(make(w, LINES("header")));
	/* SQLite's handles must not be carried into a child */
	grove__store_close(w->st);
	for (int i = 0; i < 2; i++) {
		pid[i] = fork();
		assert_true(pid[i] >= 0);
		if (!pid[i])
			write_lines(w->db, (char)('a' + i), NR, GROVE_SYNC_NONE, -1);
	}
	for (int i = 0; i < 2; i++) {
		assert_int_equal(waitpid(pid[i], &status, 0), pid[i]);
		assert_int_equal(status, 0);
	}
	assert_int_equal(grove__sqlite_open(&w->st, w->db, &usual, NULL), 0);
	log = log_of(w, &key_a, GROVE_LOG_READ);
	b = bytes_of(w, log);
	p = strchr(b.ptr, '\n') + 1;
	for (unsigned i = 0; i < 2 * NR; i++) {
		unsigned n, who = (unsigned)(*p - 'a');

		assert_in_range(who, 0, 1);
		assert_int_equal(sscanf(p + 2, "%u", &n), 1);
		assert_int_equal(n, next[who]++);
		/* the two lines of an append are together */
		p = strchr(p, '\n') + 1;
		assert_int_equal(sscanf(p + 2, "%u", &n), 1);
		assert_int_equal(n, next[who] - 1);
		p = strchr(p, '\n') + 1;
	}
	assert_int_equal(p - b.ptr, b.len);
	grove__buf_release(&b);
	grove__log_close(log);
}

static void a_writer_that_is_killed_loses_nothing_that_it_told(void **state)
{
	struct world *w = *state;

	grove__log_close(make(w, LINES("header")));
	grove__store_close(w->st);
	for (unsigned round = 0; round < 6; round++) {
		enum grove_sync sync = round % 2 ? GROVE_SYNC_ALWAYS : GROVE_SYNC_NONE;
		unsigned told = 0, i = 0, lines = 0, last = 0;
		struct grove_log *log;
		struct grove_buf b;
		int ack[2];
		pid_t pid;

		assert_int_equal(pipe(ack), 0);
		pid = fork();
		assert_true(pid >= 0);
		if (!pid) {
			close(ack[0]);
			write_lines(w->db, (char)('a' + round), 100000, sync, ack[1]);
		}
		close(ack[1]);
		while (told < 20 + round * 37 && read(ack[0], &i, sizeof(i)) == sizeof(i))
			told++;
		kill(pid, SIGKILL);
		while (read(ack[0], &i, sizeof(i)) == sizeof(i))
			told++;
		close(ack[0]);
		assert_int_equal(waitpid(pid, NULL, 0), pid);
		assert_int_equal(grove__sqlite_open(&w->st, w->db, &usual, NULL), 0);
		log = log_of(w, &key_a, GROVE_LOG_WRITE);
		b = bytes_of(w, log);
		for (char *p = strchr(b.ptr, '\n') + 1; *p; p = strchr(p, '\n') + 1)
			if (*p == (char)('a' + round)) {
				assert_int_equal(sscanf(p + 2, "%u", &last), 1);
				assert_int_equal(last, lines++ / 2);
			}
		/* whole appends, all that were told and perhaps the one that was not */
		assert_int_equal(lines % 2, 0);
		assert_true(told >= 20 + round * 37);
		assert_in_range(lines / 2, told, told + 1);
		OK(add(w, log, str("after it"), GROVE_ANY_POS));
		grove__buf_release(&b);
		grove__log_close(log);
		grove__store_close(w->st);
	}
	assert_int_equal(grove__sqlite_open(&w->st, w->db, &usual, NULL), 0);
	assert_int_equal(ask(w, "SELECT count(*) FROM pragma_integrity_check "
			     "WHERE integrity_check = 'ok'"), 1);
}

/* ------------------------------------------------------- limits and failures */

static void a_full_disk_leaves_the_session_as_it_was(void **state)
{
	const struct grove__sqlite_options tight = { .schema = &grove__sql_schema_sqlite,
						     .busy_ms = 60, .max_pages = 40 };
	struct world *w = *state;
	struct grove_log *log = make(w, LINES("one"));
	struct grove_record rec[64] = { 0 };
	struct grove_appended out;
	struct grove_buf b;
	struct grove_record large = { .line = grove__slice((char[400000]){ "x" }, 400000),
				      .id = str("e") };
	struct grove_log_stat before, after;
	char line[8000];
	const char *anew = line;

	grove__log_close(log);
	reopen(w, &tight);
	log = log_of(w, &key_a, GROVE_LOG_WRITE);
	OK(grove__log_stat(log, &before, &w->d));
	memset(line, 'x', sizeof(line));
	line[sizeof(line) - 1] = '\0';
	for (size_t i = 0; i < ARRAY(rec); i++)
		rec[i].line = str(line);
	for (int i = 0; i < 3; i++) {
		FAILS(GROVE_EFULL, "no space", grove__log_append(log, rec, ARRAY(rec), 1, GROVE_SYNC_ALWAYS,
								 &out, &w->d));
		assert_bytes(w, log, "one\n");
	}
	FAILS(GROVE_EFULL, "no space",
	      grove__store_attach_put(w->st, &key_a, "x", grove__slice(NULL, 0), &w->d) ? 1 :
	      grove__store_attach_put(w->st, &key_a, "big",
				      grove__slice((char[400000]){ "x" }, 400000), &w->d));
	FAILS(GROVE_EFULL, "no space", grove__log_update(log, 0, str("one"), &large, GROVE_CHANGE_UPDATE,
							 GROVE_SYNC_ALWAYS, &w->d));
	FAILS(GROVE_EFULL, "no space", grove__log_meta_put(log, "leaf", large.line, &w->d));
	OK(grove__log_stat(log, &after, &w->d));
	assert_memory_equal(&after, &before, sizeof(after));
	assert_int_equal(ask(w, "SELECT count(*) FROM changes"), 0);
	/* what fits goes */
	OK(grove__log_append(log, rec, 4, 1, GROVE_SYNC_ALWAYS, &out, &w->d));
	assert_int_equal(ask(w, "SELECT start FROM entries WHERE seq = 1"), 4);
	OK(grove__log_rewrite(log, one_line, &anew, 5, 0, &w->d));
	b = bytes_of(w, log);
	assert_int_equal(b.len, sizeof(line));
	grove__buf_release(&b);
	grove__log_close(log);
	/* and with room again, all of it */
	reopen(w, &usual);
	log = log_of(w, &key_a, GROVE_LOG_WRITE);
	OK(grove__log_append(log, rec, ARRAY(rec), 1, GROVE_SYNC_ALWAYS, &out, &w->d));
	assert_int_equal(out.tail, 65);
	grove__log_close(log);
}

static int fail_sync(const char *call)
{
	return strcmp(call, "fdatasync") ? 0 : EIO;
}

static void after_a_sync_that_failed_nothing_is_called_durable(void **state)
{
	struct world *w = *state;
	struct grove_log *log = make(w, LINES("one"));
	struct grove_record rec = { .line = str("two") };
	struct grove_appended out;

	grove__sys_fault = fail_sync;
	FAILS(GROVE_EIO, "", grove__log_append(log, &rec, 1, 1, GROVE_SYNC_ALWAYS, &out, &w->d));
	grove__sys_fault = NULL;
	OK(grove__log_append(log, &rec, 1, 2, GROVE_SYNC_NONE, &out, &w->d));
	FAILS(GROVE_EIO, "unknown", grove__log_sync(log, &w->d));
	FAILS(GROVE_EIO, "unknown", grove__log_append(log, &rec, 1, GROVE_ANY_POS, GROVE_SYNC_ALWAYS,
						      &out, &w->d));
	grove__log_close(log);
}

static void a_missing_line_is_damage_and_no_shift(void **state)
{
	struct world *w = *state;
	struct grove_log *log = make(w, LINES("one", "two", "three"));
	struct grove_run run = { 0 };
	char buf[64];

	raw(w, "DELETE FROM entries WHERE seq = 1");
	FAILS(GROVE_EDAMAGED, "line 2", grove__log_read(log, 0, 3, buf, sizeof(buf), &run, &w->d));
	FAILS(GROVE_ESTALE, "", grove__log_fetch(log, 1, 0, buf, 1, &w->d));
	OK(add(w, log, str("four"), 3));
	raw(w, "UPDATE entries SET line = '\xc3\xa9\xc3\xa9' WHERE seq = 0");
	FAILS(GROVE_EDAMAGED, "bytes", grove__log_read(log, 0, 1, buf, sizeof(buf), &run, &w->d));
	FAILS(GROVE_EDAMAGED, "bytes", grove__log_fetch(log, 0, 0, buf, 1, &w->d));
	grove__log_close(log);
}

static void a_damaged_file_is_an_error_and_no_crash(void **state)
{
	struct world *w = *state;
	struct grove_buf whole;
	struct grove_log *log;
	unsigned seed = 1;

	log = make(w, LINES("header"));
	for (int i = 0; i < 300; i++)
		OK(add(w, log, str("a line that is neither long nor short, but there are many of them"),
		       GROVE_ANY_POS));
	grove__log_close(log);
	grove__store_close(w->st);
	whole = file_bytes(w->db);
	for (int round = 0; round < 60; round++) {
		struct grove_log_stat st;
		struct grove_run run = { 0 };
		static char buf[65536];
		char *copy = malloc(whole.len);
		int rc;

		assert_non_null(copy);
		memcpy(copy, whole.ptr, whole.len);
		for (int i = 0; i < 400; i++) {
			seed = seed * 1103515245 + 12345;
			/* the head stays: it is the rows that are looked at */
			copy[100 + seed % (whole.len - 100)] = (char)(seed >> 16);
		}
		file_put(w->db, O_CREAT | O_TRUNC, copy, whole.len);
		free(copy);
		assert_int_equal(grove__sqlite_open(&w->st, w->db, &usual, NULL), 0);
		rc = grove__log_open(&log, w->st, &key_a, GROVE_LOG_WRITE, NULL);
		if (!rc) {
			if (!grove__log_stat(log, &st, NULL))
				grove__log_read(log, 0, st.tail, buf, sizeof(buf), &run, NULL);
			add(w, log, str("more"), GROVE_ANY_POS);
			grove__log_close(log);
		}
		assert_true(rc <= 0);
		grove__store_close(w->st);
	}
	grove__buf_release(&whole);
	assert_int_equal(grove__sqlite_open(&w->st, w->db, &usual, NULL), 0);
}

static void what_may_not_be_written_can_be_read(void **state)
{
	struct world *w = *state;
	struct grove_log *log;
	bool root = !geteuid();

	grove__log_close(make(w, LINES("one")));
	grove__store_close(w->st);
	assert_int_equal(chmod(w->db, 0444), 0);
	assert_int_equal(chmod(w->dir, 0555), 0);
	/* root may write everywhere */
	if (root)
		assert_int_equal(seteuid(65534), 0);
	assert_int_equal(grove__sqlite_open(&w->st, w->db, &usual, NULL), 0);
	assert_session(w, "one\n");
	log = log_of(w, &key_a, GROVE_LOG_WRITE);
	FAILS(GROVE_EACCESS, "", add(w, log, str("two"), 1));
	grove__log_close(log);
	if (root)
		assert_int_equal(seteuid(0), 0);
	assert_int_equal(chmod(w->dir, 0700), 0);
}

/* All of it by reads into a buffer of that size. */
static void assert_read(struct world *w, struct grove_log *log, const struct grove_buf *want, size_t cap)
{
	char *buf = malloc(cap);
	struct grove_log_stat st;
	struct grove_run run = { 0 };
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
	struct grove_log *log[2];
	char *line = malloc(600000);
	uint64_t nr[2] = { 0, 0 };

	assert_non_null(line);
	for (int k = 0; k < 2; k++)
		log[k] = log_of(w, &key[k], GROVE_LOG_CREATE);
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

static void a_file_that_was_set_up_otherwise_serves_as_well(void **state)
{
	static const char *const ways[] = {
		"PRAGMA journal_mode = DELETE", "PRAGMA journal_mode = PERSIST", "PRAGMA journal_mode = WAL",
		"PRAGMA page_size = 512", "PRAGMA page_size = 65536", "PRAGMA auto_vacuum = FULL",
		"PRAGMA encoding = 'UTF-16le'", "PRAGMA encoding = 'UTF-16be'", "PRAGMA user_version = 99",
	};
	struct world *w = *state;

	for (size_t i = 0; i < ARRAY(ways); i++) {
		struct grove_log *log;
		char sql[256];

		/* it takes effect with the first page */
		snprintf(sql, sizeof(sql), "%s; CREATE TABLE t (a); DROP TABLE t", ways[i]);
		raw(w, sql);
		log = make(w, LINES("{\"id\":\"\xc3\xa9\"}", "", "\xff not text"));
		OK(grove__log_meta_put(log, "name", str("a name"), &w->d));
		grove__log_close(log);
		reopen(w, &usual);
		assert_session(w, "{\"id\":\"\xc3\xa9\"}\n\n\xff not text\n");
		grove__store_close(w->st);
		unlink(w->db);
		assert_int_equal(grove__sqlite_open(&w->st, w->db, &usual, NULL), 0);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(looking_makes_no_database),
		TEST(lines_are_read_in_order_wherever_their_rows_are),
		TEST(a_file_that_was_set_up_otherwise_serves_as_well),
		TEST(the_first_session_makes_it_for_its_owner_alone),
		TEST(a_store_can_be_made_ahead_and_once_more),
		TEST(an_empty_file_is_an_empty_store),
		TEST(what_is_no_database_is_refused),
		TEST(another_programs_database_is_left_alone),
		TEST(a_name_is_a_name),
		TEST(a_link_leads_to_the_database),
		TEST(a_database_of_version_2_is_read_and_written),
		TEST(a_database_of_version_1_waits_for_its_upgrade),
		TEST(versions_are_what_they_were),
		TEST(an_upgrade_keeps_what_is_there),
		TEST(an_upgrade_that_fails_changes_nothing),
		TEST(a_later_version_is_refused_and_left_alone),
		TEST(an_upgrade_under_an_open_session_is_noticed),
		TEST(a_version_that_cannot_be_read_is_damage),
		TEST(every_name_is_taken_as_it_is),
		TEST(names_that_no_database_takes_are_refused),
		TEST(columns_hold_what_they_can),
		TEST(a_line_of_100_mb_is_kept_and_read_in_pieces),
		TEST(what_is_over_the_limit_of_sqlite_is_refused),
		TEST(a_last_line_may_lack_its_line_end),
		TEST(generation_and_rev_count_what_they_should),
		TEST(an_update_does_not_touch_the_rows_behind_it),
		TEST(a_session_with_updated_lines_is_verified),
		TEST(a_parent_may_be_in_a_line_that_nobody_looked_at),
		TEST(an_entry_is_found_by_an_index),
		TEST(a_lease_by_another_store_is_noticed),
		TEST(a_locked_database_is_waited_for_and_then_told),
		TEST(a_database_that_was_deleted_takes_nothing_more),
		TEST(two_processes_write_to_one_session),
		TEST(a_writer_that_is_killed_loses_nothing_that_it_told),
		TEST(a_full_disk_leaves_the_session_as_it_was),
		TEST(after_a_sync_that_failed_nothing_is_called_durable),
		TEST(a_missing_line_is_damage_and_no_shift),
		TEST(a_damaged_file_is_an_error_and_no_crash),
		TEST(what_may_not_be_written_can_be_read),
	};

	return cmocka_run_group_tests_name("sqlite_store", tests, NULL, NULL);
}
