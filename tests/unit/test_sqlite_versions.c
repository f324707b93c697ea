/*
 * tests/unit/test_sqlite_versions.c: SQLite tables of earlier and later
 * versions.
 */
#include "../lib/sqlite_world.h"

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
	struct grove_store_log *log = log_of(w, &key_a, GROVE_STORE_READ);
	struct grove_buf b = bytes_of(w, log);
	struct grove_store_log_stat st;

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
	struct grove_store_log *log;

	raw(w, version_1);
	raw(w, version_2);
	assert_version_1_rows(w);
	log = log_of(w, &key_a, GROVE_STORE_WRITE);
	OK(add(w, log, str("three"), 2));
	grove__log_close(log);
	assert_int_equal(ask(w, "SELECT start FROM entries WHERE seq = 2"), 6);
}

/* Everything that version 2 brought, on a session of version 1. */
static void use_version_2(struct world *w)
{
	struct grove_store_log *log = log_of(w, &key_a, GROVE_STORE_WRITE), *other;
	struct grove_store_record rec = {
		.line = str("line two"), .id = str("e1"), .kind = 2, .time = 1
	};
	struct grove_store_log_stat st;
	struct grove_lease lease = { .size = sizeof(lease) };
	struct grove_store_appended out;
	unsigned kinds = 0;

	OK(grove__log_stat(log, &st, &w->d));
	assert_int_equal(st.base, 4);
	OK(grove__log_changes(log, 0, count_change, &kinds, &w->d));
	assert_int_equal(kinds, 0);
	OK(grove__log_update(log, 1, grove__slice("\xff\0", 2), &rec, GROVE_CHANGE_UPDATE,
			     GROVE_SYNC_NONE, &w->d));
	OK(grove__log_update(log, 0, str("{}"),
			     &(struct grove_store_record){ .line = str("header") },
			     GROVE_CHANGE_UPDATE, GROVE_SYNC_NONE, &w->d));
	rec = (struct grove_store_record){
		.line = str("three"), .id = str("e2"), .parent = str("e1"), .kind = 2
	};
	OK(grove__log_append(log, &rec, 1, 2, GROVE_SYNC_NONE, &out, &w->d));
	assert_bytes(w, log, "header\nline two\nthree\n");
	OK(grove__log_meta_put(log, "leaf", str("e2"), &w->d));
	OK(grove__log_changes(log, 0, count_change, &kinds, &w->d));
	assert_int_equal(kinds, 223);
	OK(grove__log_stat(log, &st, &w->d));
	assert_int_equal(st.base, 7);
	OK(grove__log_lease_take(log, "me", 60000, &lease, &w->d));
	assert_int_equal(lease.number, 1);
	other = log_of(w, &key_a, GROVE_STORE_WRITE);
	FAILS(GROVE_ECONFLICT, "me holds the lease", add(w, other, str("four"), 3));
	OK(add(w, log, str("four"), 3));
	grove__log_close(other);
	grove__log_close(log);
}

static void a_database_of_version_1_waits_for_its_upgrade(void **state)
{
	struct world *w = *state;
	struct grove_buf b = GROVE_BUF_INIT;
	struct grove_store_log *log;
	char url[400];
	unsigned from, to, nr = 0;

	snprintf(url, sizeof(url), "sqlite:%s", w->db);
	raw(w, version_1);
	FAILS(GROVE_ENOTSUP, "run 'grove store upgrade' (its tables have version 1, not 2)",
	      grove__log_open(&log, w->st, &key_a, GROVE_STORE_READ, &w->d));
	FAILS(GROVE_ENOTSUP, "grove store upgrade",
	      grove__log_open(&log, w->st, &key_a, GROVE_STORE_CREATE, &w->d));
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
	FAILS(GROVE_ENOTSUP, "created by a newer grove", grove__store_upgrade(NULL, url, &from, &to, &w->d));
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
	struct grove_store_log *log;
	unsigned from, to;

	raw(w, version_1);
	reopen(w, &later);
	FAILS(GROVE_ENOTSUP, "grove store upgrade",
	      grove__log_open(&log, w->st, &key_a, GROVE_STORE_READ, &w->d));
	FAILS(GROVE_ENOTSUP, "grove store upgrade",
	      grove__log_open(&log, w->st, &key_a, GROVE_STORE_CREATE, &w->d));
	FAILS(GROVE_ENOTSUP, "grove store upgrade", grove__store_remove(w->st, &key_a, &w->d));
	assert_int_equal(ask(w, "SELECT value FROM meta"), 1);
	OK(grove__sqlite_upgrade(w->st, &from, &to, &w->d));
	assert_int_equal(from, 1);
	assert_int_equal(to, 3);
	assert_version_1_rows(w);
	OK(grove__sqlite_upgrade(w->st, &from, &to, &w->d));
	assert_int_equal(from, 3);
	assert_int_equal(ask(w, "SELECT count(colour) FROM sessions"), 0);
	log = log_of(w, &key_a, GROVE_STORE_WRITE);
	OK(add(w, log, str("three"), 2));
	grove__log_close(log);
	/* and from nothing all versions are made */
	assert_int_equal(unlink(w->db), 0);
	grove__log_close(make(w, LINES("one")));
	assert_session(w, "one\n");
	assert_int_equal(ask(w, "SELECT value FROM meta"), 3);
	/* this grove does not touch it, nor make it older */
	reopen(w, &usual);
	FAILS(GROVE_ENOTSUP, "created by a newer grove",
	      grove__log_open(&log, w->st, &key_a, GROVE_STORE_READ, &w->d));
	FAILS(GROVE_ENOTSUP, "created by a newer grove", grove__sqlite_upgrade(w->st, &from, &to, &w->d));
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
	struct grove_store_log *log;
	struct grove_buf b = GROVE_BUF_INIT;
	unsigned nr = 0;

	raw(w, version_1);
	raw(w, version_2);
	raw(w, "UPDATE meta SET value = 99");
	FAILS(GROVE_ENOTSUP, "created by a newer grove",
	      grove__log_open(&log, w->st, &key_a, GROVE_STORE_READ, &w->d));
	FAILS(GROVE_ENOTSUP, "version 99",
	      grove__log_open(&log, w->st, &key_a, GROVE_STORE_CREATE, &w->d));
	FAILS(GROVE_ENOTSUP, "created by a newer grove", grove__store_remove(w->st, &key_a, &w->d));
	FAILS(GROVE_ENOTSUP, "created by a newer grove",
	      grove__store_list(w->st, NULL, count_key, &nr, &w->d));
	FAILS(GROVE_ENOTSUP, "created by a newer grove",
	      grove__store_attach_get(w->st, &key_a, "a/b", &b, &w->d));
	FAILS(GROVE_ENOTSUP, "created by a newer grove", grove__sqlite_init(w->st, &w->d));
	raw(w, "UPDATE meta SET value = 2");
	assert_version_1_rows(w);
}

static void an_upgrade_under_an_open_session_is_noticed(void **state)
{
	struct world *w = *state;
	struct grove_store_log *log = make(w, LINES("one"));

	raw(w, "UPDATE meta SET value = 3");
	FAILS(GROVE_ENOTSUP, "created by a newer grove", add(w, log, str("two"), 1));
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
	struct grove_store_log *log;

	for (size_t i = 0; i < ARRAY(how); i++) {
		raw(w, version_1);
		raw(w, how[i]);
		FAILS(GROVE_EDAMAGED, "version",
		      grove__log_open(&log, w->st, &key_a, GROVE_STORE_READ, &w->d));
		FAILS(GROVE_EDAMAGED, "version",
		      grove__log_open(&log, w->st, &key_a, GROVE_STORE_CREATE, &w->d));
		assert_int_equal(unlink(w->db), 0);
	}
	raw(w, version_1);
	raw(w, "DROP TABLE entries");
	FAILS(GROVE_ENOTSUP, "not a grove store",
	      grove__log_open(&log, w->st, &key_a, GROVE_STORE_READ, &w->d));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(a_database_of_version_2_is_read_and_written),
		TEST(a_database_of_version_1_waits_for_its_upgrade),
		TEST(versions_are_what_they_were),
		TEST(an_upgrade_keeps_what_is_there),
		TEST(an_upgrade_that_fails_changes_nothing),
		TEST(a_later_version_is_refused_and_left_alone),
		TEST(an_upgrade_under_an_open_session_is_noticed),
		TEST(a_version_that_cannot_be_read_is_damage),
	};

	return cmocka_run_group_tests_name("sqlite_versions", tests, NULL, NULL);
}
