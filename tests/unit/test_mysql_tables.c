/*
 * tests/unit/test_mysql_tables.c: the tables of a MySQL store: they are created
 * on request, distinguished from those of other programs, and upgraded.
 *
 * tests/lib/mariadb starts the server and runs this program.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../lib/mysql_world.h"

static void a_database_that_is_not_there_is_made_when_asked_for(void **state)
{
	struct world *w = *state;
	struct grove_store_log *log;
	unsigned nr, from, to;

	raw(w, "DROP DATABASE IF EXISTS `od``d`");
	snprintf(w->rest, sizeof(w->rest), "//grove:s3cret@127.0.0.1:%u/od%%60d", w->port);
	reopen(w, &usual);
	FAILS(GROVE_ENOTFOUND, "grove store init", grove__store_list(w->st, NULL, count_key, &nr, &w->d));
	FAILS(GROVE_ENOTFOUND, "grove store init",
	      grove__log_open(&log, w->st, &key_a, GROVE_STORE_CREATE, &w->d));
	FAILS(GROVE_ENOTFOUND, "", upgrade_at(w->rest, &from, &to, &w->d));
	OK(init_at(w->rest, &w->d));
	OK(init_at(w->rest, &w->d));
	OK(grove__store_list(w->st, NULL, count_key, &nr, &w->d));
	raw(w, "DROP DATABASE `od``d`");
}

static void looking_makes_no_tables(void **state)
{
	struct world *w = *state;
	struct grove_buf b = GROVE_BUF_INIT;
	struct grove_store_log *log;
	unsigned nr = 0;

	OK(grove__store_list(w->st, NULL, count_key, &nr, &w->d));
	OK(grove__store_list_subs(w->st, NULL, count_key, &nr, &w->d));
	assert_int_equal(nr, 0);
	FAILS(GROVE_ENOTFOUND, "grove store init",
	      grove__log_open(&log, w->st, &key_a, GROVE_STORE_READ, &w->d));
	FAILS(GROVE_ENOTFOUND, "grove store init",
	      grove__log_open(&log, w->st, &key_a, GROVE_STORE_CREATE, &w->d));
	FAILS(GROVE_ENOTFOUND, "", grove__store_remove(w->st, &key_a, &w->d));
	FAILS(GROVE_ENOTFOUND, "", grove__store_attach_get(w->st, &key_a, "x", &b, &w->d));
	assert_int_equal(ask(w, "SELECT count(*) FROM information_schema.tables "
				"WHERE table_schema = DATABASE()"), 0);
}

static void tables_of_another_program_stay_as_they_are(void **state)
{
	struct world *w = *state;
	unsigned nr, from, to;

	raw(w, "CREATE TABLE sessions (cookie INT)");
	FAILS(GROVE_ENOTSUP, "another program", grove__store_list(w->st, NULL, count_key, &nr, &w->d));
	FAILS(GROVE_ENOTSUP, "another program", init_at(w->rest, &w->d));
	FAILS(GROVE_ENOTSUP, "another program", upgrade_at(w->rest, &from, &to, &w->d));
	assert_int_equal(ask(w, "SELECT count(*) FROM information_schema.tables "
				"WHERE table_schema = DATABASE()"), 1);
	/* under other names they are welcome */
	raw(w, "RENAME TABLE sessions TO cookies");
	OK(init_at(w->rest, &w->d));
}

static void an_init_that_was_interrupted_goes_on(void **state)
{
	static const char *const undo[] = { "DELETE FROM meta", "DROP INDEX entries_id ON entries",
					    "ALTER TABLE sessions DROP COLUMN adjust",
					    "DROP TABLE changes", "DROP TABLE session_values",
					    "DROP TABLE attachments", "DROP TABLE entries",
					    "DROP TABLE sessions", "DROP TABLE meta" };
	struct world *w = *state;
	struct grove_store_log *log;

	for (size_t n = 0; n <= ARRAY(undo); n++) {
		for (size_t i = 0; i < n; i++)
			raw(w, undo[i]);
		OK(init_at(w->rest, &w->d));
		reopen(w, &usual);
		log = log_of(w, GROVE_STORE_CREATE);
		OK(add(w, log, str("x"), 0));
		grove__log_close(log);
		OK(grove__store_remove(w->st, &key_a, &w->d));
	}
}

static void tables_of_another_version_are_refused(void **state)
{
	static const char *const third[] = { "ALTER TABLE sessions ADD COLUMN colour INT",
					     "UPDATE meta SET value = 3 WHERE name = 'version'", NULL };
	const char *const *versions[] = { grove__sql_schema_mysql.versions[0],
					  grove__sql_schema_mysql.versions[1], third };
	const struct grove__sql_schema three = { 3, versions };
	const struct grove__mysql_options later = { .schema = &three };
	struct world *w = *state;
	struct grove_store_log *log = log_of(w, GROVE_STORE_CREATE);
	unsigned nr, from, to;

	OK(add(w, log, str("kept"), 0));
	grove__log_close(log);
	reopen(w, &later);
	FAILS(GROVE_ENOTSUP, "grove store upgrade", grove__store_list(w->st, NULL, count_key, &nr, &w->d));
	FAILS(GROVE_ENOTSUP, "grove store upgrade", grove__mysql_init(w->st, &w->d));
	/* interrupted behind its first statement */
	raw(w, third[0]);
	OK(grove__mysql_upgrade(w->st, &from, &to, &w->d));
	assert_int_equal(from, 2);
	assert_int_equal(to, 3);
	OK(grove__mysql_upgrade(w->st, &from, &to, &w->d));
	assert_int_equal(from, 3);
	log = log_of(w, GROVE_STORE_READ);
	assert_bytes(w, log, "kept\n");
	grove__log_close(log);
	reopen(w, &usual);
	FAILS(GROVE_ENOTSUP, "newer grove", grove__store_list(w->st, NULL, count_key, &nr, &w->d));
	FAILS(GROVE_ENOTSUP, "newer grove", grove__mysql_init(w->st, &w->d));
	FAILS(GROVE_ENOTSUP, "newer grove",
	      grove__mysql_upgrade(w->st, &from, &to, &w->d));
}

/* ----------------------------------------------------- tables of version 1 */

/* Tables as they were, with a session of two lines, a value and an attachment. */
static void make_version_1(struct world *w)
{
	for (const char *const *sql = grove__sql_schema_mysql.versions[0]; *sql; sql++)
		raw(w, *sql);
	raw(w, "INSERT INTO sessions (session_id, project, session, subpath, name, leaf, generation, rev, "
	       "lease_number, created, updated) VALUES (repeat('s', 16), 'p', 'a.jsonl', '', 'title', 'b', "
	       "3, 7, 0, 1000, 2000)");
	raw(w, "INSERT INTO entries (session_id, seq, start, `stored`, time, kind, role, id, parent, line) "
	       "VALUES (repeat('s', 16), 0, 0, 1000, 1, 2, 1, 'a', NULL, 'one'), "
	       "(repeat('s', 16), 1, 4, 1001, 2, 2, 2, 'b', 'a', 'two')");
	raw(w, "INSERT INTO session_values VALUES (repeat('s', 16), 'colour', 'red')");
	raw(w, "INSERT INTO attachments VALUES (repeat('s', 16), 'x', 'bytes')");
}

/* Everything of version 1 is still there, and what version 2 has works with it. */
static void assert_upgraded(struct world *w)
{
	struct grove_buf b = GROVE_BUF_INIT;
	struct grove_store_record rec = { .line = str("ONE!"), .id = str("a"), .kind = 2 };
	struct grove_store_log_stat st;
	struct grove_store_log *log;

	reopen(w, &usual);
	log = log_of(w, GROVE_STORE_WRITE);
	OK(grove__log_stat(log, &st, &w->d));
	assert_int_equal(st.base, 7);
	assert_int_equal(st.generation, 3);
	assert_bytes(w, log, "one\ntwo\n");
	OK(grove__log_meta_get(log, "leaf", &b, &w->d));
	OK(grove__log_meta_get(log, "name", &b, &w->d));
	OK(grove__log_meta_get(log, "colour", &b, &w->d));
	OK(grove__store_attach_get(w->st, &key_a, "x", &b, &w->d));
	assert_string_equal(b.ptr, "btitleredbytes");
	OK(grove__log_update(log, 0, str("one"), &rec, GROVE_CHANGE_UPDATE, GROVE_SYNC_NONE, &w->d));
	OK(add(w, log, str("three"), 2));
	assert_bytes(w, log, "ONE!\ntwo\nthree\n");
	assert_int_equal(ask(w, "SELECT count(*) FROM changes WHERE rev = 10 AND `lines` = 2"), 1);
	grove__buf_release(&b);
	grove__log_close(log);
}

static void an_upgrade_that_was_interrupted_goes_on(void **state)
{
	const char *const *steps = grove__sql_schema_mysql.versions[1];
	struct world *w = *state;
	unsigned from, to, nr;
	struct grove_store_log *log;

	for (size_t done = 0;; done++) {
		make_version_1(w);
		for (size_t i = 0; i < done; i++)
			raw(w, steps[i]);
		if (!steps[done])
			break;
		reopen(w, &usual);
		FAILS(GROVE_ENOTSUP, "grove store upgrade",
		      grove__log_open(&log, w->st, &key_a, GROVE_STORE_WRITE, &w->d));
		OK(upgrade_at(w->rest, &from, &to, &w->d));
		assert_int_equal(from, 1);
		assert_int_equal(to, 2);
		assert_upgraded(w);
		drop_tables(w);
	}
	/* with the last statement it was done */
	OK(upgrade_at(w->rest, &from, &to, &w->d));
	assert_int_equal(from, 2);
	assert_upgraded(w);
	/* another program's table of the name that is new */
	drop_tables(w);
	make_version_1(w);
	raw(w, "CREATE TABLE changes (colour INT)");
	FAILS(GROVE_ENOTSUP, "another program", upgrade_at(w->rest, &from, &to, &w->d));
	reopen(w, &usual);
	FAILS(GROVE_ENOTSUP, "another program", grove__store_list(w->st, NULL, count_key, &nr, &w->d));
	assert_int_equal(ask(w, "SELECT value FROM meta"), 1);
}

struct maker {
	pthread_t thread;
	const char *rest;
	bool init;
	int rc;
	struct grove_detail d;
};

static void *make_store(void *arg)
{
	struct maker *m = arg;
	unsigned from, to;

	m->rc = m->init ? init_at(m->rest, &m->d)
			: upgrade_at(m->rest, &from, &to, &m->d);
	return NULL;
}

static void several_may_make_or_upgrade_the_tables_at_once(void **state)
{
	struct world *w = *state;
	struct maker m[4];

	for (unsigned round = 0; round < 8; round++) {
		drop_tables(w);
		if (round % 2)
			make_version_1(w);
		for (size_t i = 0; i < ARRAY(m); i++) {
			m[i] = (struct maker){ .rest = w->rest, .init = !(round % 2) };
			assert_int_equal(pthread_create(&m[i].thread, NULL, make_store, &m[i]), 0);
		}
		for (size_t i = 0; i < ARRAY(m); i++) {
			pthread_join(m[i].thread, NULL);
			if (m[i].rc)
				fail_msg("round %u: %d %s", round, m[i].rc, m[i].d.message);
		}
		assert_int_equal(ask(w, "SELECT value FROM meta"), 2);
		if (round % 2)
			assert_upgraded(w);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		BARE(a_database_that_is_not_there_is_made_when_asked_for),
		BARE(looking_makes_no_tables),
		BARE(tables_of_another_program_stay_as_they_are),
		CASE(an_init_that_was_interrupted_goes_on),
		CASE(tables_of_another_version_are_refused),
		BARE(an_upgrade_that_was_interrupted_goes_on),
		BARE(several_may_make_or_upgrade_the_tables_at_once),
	};

	return RUN_WITH_SERVER("mysql_tables", tests);
}
