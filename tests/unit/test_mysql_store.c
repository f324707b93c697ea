/*
 * tests/unit/test_mysql_store.c: what is special about sessions on a MySQL
 * server: privileges, limits, connections that break, many writers. The
 * conformance suite tests that it is a store like any other.
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

#include <sys/wait.h>

#include <signal.h>
#include <sys/stat.h>

#include "sys/clock.h"

#include "../lib/mysql_world.h"
#include "../lib/proxy.h"

/* -------------------------------------------------------------------- URLs */

static void a_url_is_shown_without_its_password(void **state)
{
	static const char *const shown[][2] = {
		{ "//u:s3cret@h/db", "mysql://u@h/db" },
		{ "//u:s3cret@h:3307,i,[::1]:3308/db", "mysql://u@h:3307,i,[::1]:3308/db" },
		{ "//u:s3@cret/s3cret:@h/db", "mysql://u@h/db" },
		{ "//h/db", "mysql://h/db" },
		{ "//u@/db?socket=/run/x.sock", "mysql://u@localhost/db?socket=/run/x.sock" },
		{ "//u:s3cret@h/db?tls=verify&ca=/etc/ca.pem", "mysql://u@h/db" },
		{ "//a%40b:%73%33cret@h/d%62", "mysql://a@b@h/db" },
	};
	struct world *w = *state;
	struct grove_store *st;

	for (size_t i = 0; i < ARRAY(shown); i++) {
		OK(grove__store_mysql_open(&st, shown[i][0], &w->d));
		assert_string_equal(st->url, shown[i][1]);
		grove__store_close(st);
	}
	OK(grove__store_mysql_open(&st, "//u:%73%33cret@h/d", &w->d));
	assert_string_equal(grove__mysql_store(st)->place.password, "s3cret");
	grove__store_close(st);
}

static void a_url_that_is_none_is_not_repeated(void **state)
{
	static const char *const bad[] = {
		"", "x", "//", "//u:s3cret@h", "//u:s3cret@h/", "//u:s3cret@/db", "//u:s3cret@h:/db",
		"//u:s3cret@h:0/db", "//u:s3cret@h:65536/db", "//u:s3cret@h,/db", "//u:s3cret@h/a/b",
		"//u:s3cret/db", "//u:s3cret%@h/db", "//u:s3cret%zz@h/db", "//u:s3cret%00@h/db",
		"//u:s3cret@h/db?tls=s3cret", "//u:s3cret@h/db?s3cret=1", "//u:s3cret@[::1/db",
		"//u:s3cret?x@h/db",
	};
	struct world *w = *state;
	struct grove_store *st;

	for (size_t i = 0; i < ARRAY(bad); i++) {
		FAILS(GROVE_EINVAL, "mysql", grove__store_mysql_open(&st, bad[i], &w->d));
		assert_null(st);
	}
}

/* ------------------------------------------------------------ who, and what */

static int list_all(struct world *w, const char *rest, unsigned *nr)
{
	struct grove_store *st;
	int rc;

	OK(grove__store_mysql_open(&st, rest, &w->d));
	*nr = 0;
	rc = grove__store_list(st, NULL, count_key, nr, &w->d);
	grove__store_close(st);
	return rc;
}

static void a_wrong_password_is_refused_and_not_repeated(void **state)
{
	struct world *w = *state;
	char rest[256];
	unsigned nr;

	snprintf(rest, sizeof(rest), "//grove:wr0ng-s3cret@127.0.0.1:%u/%s", w->port, w->db);
	FAILS(GROVE_EACCESS, "Access denied", list_all(w, rest, &nr));
	snprintf(rest, sizeof(rest), "//nobody@127.0.0.1:%u/%s", w->port, w->db);
	FAILS(GROVE_EACCESS, "Access denied", list_all(w, rest, &nr));
}

static void a_server_without_tls_is_not_talked_to_in_the_clear(void **state)
{
	struct world *w = *state;
	char rest[300];
	unsigned nr;

	snprintf(rest, sizeof(rest), "%s?tls=on", w->rest);
	FAILS(GROVE_EACCESS, "TLS", list_all(w, rest, &nr));
}

static void a_server_that_is_not_there_is_told_at_once(void **state)
{
	struct world *w = *state;
	int64_t start = grove__sys_ticks_ns();
	unsigned nr;

	FAILS(GROVE_EAWAY, "", list_all(w, "//grove:s3cret@127.0.0.1:1,127.0.0.1:2/x", &nr));
	assert_true(grove__sys_ticks_ns() - start < 3000000000);
}

/* ------------------------------------------------------------ bytes, limits */

static void odd_bytes_and_ids_come_back(void **state)
{
	static const char *const odd[] = { "it's", "a\"b", "back\\slash", "'; DROP TABLE entries; --",
					   "\xff\xfe\xed\xa0\x80", "\xc3\xa9t\xc3\xa9", "a\tb", "%_" };
	struct world *w = *state;
	struct grove_store_log *log = log_of(w, GROVE_STORE_CREATE);
	struct grove_store_record rec[ARRAY(odd)] = { 0 };
	struct grove_buf want = GROVE_BUF_INIT;
	struct grove_store_appended out;

	for (size_t i = 0; i < ARRAY(odd); i++) {
		rec[i] = (struct grove_store_record){ .line = str(odd[i]),
						      .id = str(odd[i]),
						      .parent = str(odd[i]),
						      .time = (int64_t)i,
						      .kind = 1,
						      .role = 2 };
		OK(grove__buf_addf(&want, "%s\n", odd[i]));
	}
	OK(grove__log_append(log, rec, 1, 0, GROVE_SYNC_NONE, &out, &w->d));
	OK(grove__log_append(log, rec + 1, ARRAY(odd) - 1, 1, GROVE_SYNC_NONE, &out, &w->d));
	/* as an array, on this server */
	assert_true(idle_conn(w)->bulk);
	assert_non_null(idle_conn(w)->st[MY_MANY]);
	assert_bytes(w, log, want.ptr);
	assert_int_equal(ask(w, "SELECT count(*) FROM entries WHERE id = line AND parent = line "
				"AND kind = 1 AND role = 2 AND time = seq"), 5);
	/* ids that the columns do not take: nobody may believe that it has none */
	assert_int_equal(ask(w, "SELECT count(*) FROM entries WHERE id IS NULL AND parent IS NULL "
				"AND kind IS NULL"), 3);
	grove__log_close(log);
	for (size_t i = 0; i < ARRAY(odd); i++) {
		struct grove_key key = { odd[i], odd[i], "" };

		OK(grove__log_open(&log, w->st, &key, GROVE_STORE_CREATE, &w->d));
		OK(grove__log_meta_put(log, odd[i], str(odd[i]), &w->d));
		grove__log_close(log);
		OK(grove__store_attach_put(w->st, &key, odd[i], str(odd[i]), &w->d));
		OK(grove__log_open(&log, w->st, &key, GROVE_STORE_READ, &w->d));
		grove__buf_clear(&want);
		OK(grove__log_meta_get(log, odd[i], &want, &w->d));
		OK(grove__store_attach_get(w->st, &key, odd[i], &want, &w->d));
		assert_int_equal(want.len, 2 * strlen(odd[i]));
		grove__log_close(log);
	}
	grove__buf_release(&want);
}

static void names_differ_in_case_and_in_blanks(void **state)
{
	static const struct grove_key key[] = { { "p", "a", "" }, { "P", "a", "" }, { "p", "A", "" },
						{ "p", "a ", "" }, { "p ", "a", "" }, { "p", "a", " " } };
	struct world *w = *state;
	struct grove_store_log *log;

	for (size_t i = 0; i < ARRAY(key); i++) {
		OK(grove__log_open(&log, w->st, &key[i], GROVE_STORE_CREATE, &w->d));
		grove__log_close(log);
	}
}

static void the_longest_names_fit(void **state)
{
	struct world *w = *state;
	char *name = calloc(1, 4096);
	struct grove_key key = { name, name + 500, name };
	struct grove_store_log *log;

	assert_non_null(name);
	memset(name, 'n', GROVE__SQL_PROJECT);
	key.subpath = "s";
	OK(grove__log_open(&log, w->st, &key, GROVE_STORE_CREATE, &w->d));
	grove__log_close(log);
	key.session = name;
	FAILS(GROVE_EINVAL, "500 bytes",
	      grove__log_open(&log, w->st, &key, GROVE_STORE_CREATE, &w->d));
	free(name);
}

static void a_line_over_the_servers_limit_is_refused_before_it_is_sent(void **state)
{
	const size_t len = (size_t)100 << 20;
	struct world *w = *state;
	struct grove_store_log *log = log_of(w, GROVE_STORE_CREATE);
	char *line = malloc(len), *back = malloc(len + 1);
	struct grove_store_record rec[3] = { { .line = str("two") },
					     { .line = { NULL, 0 } },
					     { .line = str("four") } };
	struct grove_store_appended out;
	struct grove_store_run run = { 0 };
	struct grove_store_log_stat st;

	assert_non_null(line);
	assert_non_null(back);
	for (size_t i = 0; i < len; i++)
		line[i] = (char)('a' + i * 7 % 23);
	rec[1].line = grove__slice(line, len);
	OK(add(w, log, str("one"), 0));
	FAILS(GROVE_ETOOBIG, "max_allowed_packet", add(w, log, rec[1].line, 1));
	FAILS(GROVE_ETOOBIG, "max_allowed_packet",
	      grove__log_append(log, rec, 3, 1, GROVE_SYNC_NONE, &out, &w->d));
	FAILS(GROVE_ETOOBIG, "max_allowed_packet",
	      grove__store_attach_put(w->st, &key_a, "x", rec[1].line, &w->d));
	FAILS(GROVE_ETOOBIG, "max_allowed_packet",
	      grove__log_update(log, 0, str("one"), &rec[1], GROVE_CHANGE_UPDATE, GROVE_SYNC_NONE, &w->d));
	assert_bytes(w, log, "one\n");
	grove__log_close(log);
	/* where the server takes more, so do we */
	raw(w, "SET GLOBAL max_allowed_packet = 268435456");
	reopen(w, &usual);
	log = log_of(w, GROVE_STORE_WRITE);
	OK(grove__log_append(log, rec, 3, 1, GROVE_SYNC_NONE, &out, &w->d));
	OK(grove__log_stat(log, &st, &w->d));
	assert_int_equal(st.bytes, len + 4 + 4 + 1 + 5);
	raw(w, "SET GLOBAL max_allowed_packet = 16777216");
	/* and it can be read where the limit is lower again: in pieces */
	reopen(w, &usual);
	grove__log_close(log);
	log = log_of(w, GROVE_STORE_READ);
	OK(grove__log_read(log, 2, 4, back, 1 << 20, &run, &w->d));
	assert_int_equal(run.open, 1);
	OK(grove__log_read(log, 2, 4, back, len + 1, &run, &w->d));
	assert_int_equal(run.len, len + 1);
	assert_memory_equal(back, line, len);
	for (size_t off = 0; off < len; off += 9999999) {
		size_t n = len - off < 70000 ? len - off : 70000;

		OK(grove__log_fetch(log, 2, off, back, n, &w->d));
		assert_memory_equal(back, line + off, n);
	}
	grove__log_close(log);
	/* what it was is compared in pieces, too; it came longer than anything that could be sent */
	log = log_of(w, GROVE_STORE_WRITE);
	OK(grove__log_update(log, 2, rec[1].line, &rec[0], GROVE_CHANGE_UPDATE, GROVE_SYNC_NONE, &w->d));
	assert_bytes(w, log, "one\ntwo\ntwo\nfour\n");
	grove__log_close(log);
	free(line);
	free(back);
}

static void a_full_server_stores_nothing(void **state)
{
	struct world *w = *state;
	struct grove_store_log *log = log_of(w, GROVE_STORE_CREATE);
	struct grove_store_record rec[3] = { { .line = str("two") },
					     { .line = str("full") },
					     { .line = str("x") } };
	struct grove_store_appended out;

	OK(add(w, log, str("one"), 0));
	raw(w, "CREATE TRIGGER no_room BEFORE INSERT ON entries FOR EACH ROW IF NEW.line = 'full' THEN "
	       "SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1114, MESSAGE_TEXT = 'full'; END IF");
	FAILS(GROVE_EFULL, "no space left", add(w, log, str("full"), 1));
	FAILS(GROVE_EFULL, "no space left",
	      grove__log_append(log, rec, 3, 1, GROVE_SYNC_NONE, &out, &w->d));
	assert_bytes(w, log, "one\n");
	raw(w, "DROP TRIGGER no_room");
	OK(grove__log_append(log, rec, 3, 1, GROVE_SYNC_NONE, &out, &w->d));
	assert_bytes(w, log, "one\ntwo\nfull\nx\n");
	grove__log_close(log);
}

static void a_session_that_is_locked_for_too_long_is_a_conflict(void **state)
{
	const struct grove__mysql_options hasty = { .schema = &grove__sql_schema_mysql, .lock_s = 1,
						    .patience_ms = 500 };
	struct world *w = *state;
	const struct grove_store_record rec = { .line = str("1") };
	struct grove_lease lease = { .size = sizeof(lease) };
	struct grove_store_log *log;
	MYSQL *m = raw_open(w->db);

	reopen(w, &hasty);
	log = log_of(w, GROVE_STORE_CREATE);
	OK(add(w, log, str("one"), 0));
	raw_run(m, "START TRANSACTION");
	raw_run(m, "SELECT * FROM sessions FOR UPDATE");
	FAILS(GROVE_ECONFLICT, "try again", add(w, log, str("two"), 1));
	FAILS(GROVE_ECONFLICT, "try again", grove__log_meta_put(log, "leaf", str("x"), &w->d));
	FAILS(GROVE_ECONFLICT, "try again", grove__log_cut(log, 0, 1, GROVE_SYNC_NONE, &w->d));
	FAILS(GROVE_ECONFLICT, "try again",
	      grove__log_update(log, 0, str("one"), &rec, GROVE_CHANGE_UPDATE, GROVE_SYNC_NONE, &w->d));
	FAILS(GROVE_ECONFLICT, "try again", grove__log_lease_take(log, "me", 1000, &lease, &w->d));
	raw_run(m, "ROLLBACK");
	OK(add(w, log, str("two"), 1));
	assert_bytes(w, log, "one\ntwo\n");
	mysql_close(m);
	grove__log_close(log);
}

static void a_hole_in_the_numbers_is_damage(void **state)
{
	struct world *w = *state;
	struct grove_store_log *log = log_of(w, GROVE_STORE_CREATE);
	struct grove_store_run run = { 0 };
	char buf[64];

	for (uint64_t i = 0; i < 4; i++)
		OK(add(w, log, str("line"), i));
	raw(w, "DELETE FROM entries WHERE seq = 1");
	FAILS(GROVE_EDAMAGED, "line 2", grove__log_read(log, 0, 4, buf, sizeof(buf), &run, &w->d));
	grove__log_close(log);
}

static void a_last_line_without_its_end_is_kept_so(void **state)
{
	struct world *w = *state;
	struct grove_store_log *log = log_of(w, GROVE_STORE_CREATE), *other;
	struct grove_store_record rec = { .line = str("three") };
	struct grove_store_appended out;

	OK(add(w, log, str("one"), 0));
	OK(add(w, log, str("two"), 1));
	other = log_of(w, GROVE_STORE_WRITE);
	OK(grove__log_meta_put(other, GROVE__META_UNFINISHED, str("1"), &w->d));
	assert_bytes(w, log, "one\ntwo");
	/* a handle that knew the end before */
	OK(grove__log_append(log, &rec, 1, 2, GROVE_SYNC_NONE, &out, &w->d));
	assert_int_equal(out.pad, 1);
	assert_bytes(w, other, "one\ntwo\nthree\n");
	OK(grove__log_append(log, &rec, 1, 3, GROVE_SYNC_NONE, &out, &w->d));
	assert_int_equal(out.pad, 0);
	assert_bytes(w, other, "one\ntwo\nthree\nthree\n");
	grove__log_close(other);
	grove__log_close(log);
}

/* -------------------------------------------------------- broken connections */

struct through {
	struct proxy proxy;
};

static void go_through(struct world *w, struct through *t, bool and_direct)
{
	proxy_start(&t->proxy, w->port);
	if (and_direct)
		snprintf(w->rest, sizeof(w->rest), "//grove:s3cret@127.0.0.1:%u,127.0.0.1:%u/%s",
			 t->proxy.port, w->port, w->db);
	else
		snprintf(w->rest, sizeof(w->rest), "//grove:s3cret@127.0.0.1:%u/%s", t->proxy.port, w->db);
	reopen(w, &usual);
}

/* Appends whose question or answer broke off somewhere: each line once, in order. */
static void break_off(struct world *w, int way, uint64_t expect_of(uint64_t), size_t batch)
{
	enum { STEPS = 60 };
	struct through t;
	struct grove_store_log *log;
	struct grove_buf want = GROVE_BUF_INIT;
	uint64_t tail = 0;
	char line[8][64];

	go_through(w, &t, false);
	log = log_of(w, GROVE_STORE_CREATE);
	for (unsigned i = 0; i < STEPS; i++) {
		struct grove_store_record rec[8] = { 0 };
		struct grove_store_appended out;

		for (size_t k = 0; k < batch; k++) {
			snprintf(line[k], sizeof(line[k]), "{\"n\":%u,\"k\":%zu}", i, k);
			rec[k].line = str(line[k]);
			OK(grove__buf_addf(&want, "%s\n", line[k]));
		}
		/* a statement and its answer are some hundred bytes long */
		proxy_cut(&t.proxy, way, (long)(i * (way == PROXY_TO_SERVER ? 4 : 3)));
		OK(grove__log_append(log, rec, batch, expect_of(tail), GROVE_SYNC_ALWAYS, &out, &w->d));
		assert_int_equal(out.pos, tail);
		tail += batch;
		assert_int_equal(out.tail, tail);
		assert_int_equal(out.pad, 0);
	}
	proxy_cut(&t.proxy, 0, -1);
	assert_bytes(w, log, want.ptr);
	assert_true(t.proxy.cuts > STEPS / 4);
	assert_int_equal(ask(w, "SELECT max(seq) + 1 - count(*) FROM entries"), 0);
	grove__log_close(log);
	grove__buf_release(&want);
	proxy_stop(&t.proxy);
	snprintf(w->rest, sizeof(w->rest), "//grove:s3cret@127.0.0.1:%u/%s", w->port, w->db);
	reopen(w, &usual);
}

static uint64_t any(uint64_t tail)
{
	(void)tail;
	return GROVE_ANY_POS;
}

static uint64_t exactly(uint64_t tail)
{
	return tail;
}

static void remove_log(struct world *w)
{
	OK(grove__store_remove(w->st, &key_a, &w->d));
}

static void an_append_whose_answer_is_lost_is_stored_once(void **state)
{
	break_off(*state, PROXY_TO_CLIENT, exactly, 1);
	remove_log(*state);
	break_off(*state, PROXY_TO_CLIENT, any, 1);
}

static void a_batch_whose_answer_is_lost_is_stored_once(void **state)
{
	break_off(*state, PROXY_TO_CLIENT, exactly, 5);
	remove_log(*state);
	break_off(*state, PROXY_TO_CLIENT, any, 5);
}

static void an_append_that_is_cut_short_is_sent_again(void **state)
{
	break_off(*state, PROXY_TO_SERVER, exactly, 1);
	remove_log(*state);
	break_off(*state, PROXY_TO_SERVER, any, 5);
}

static int next_line(void *payload, struct grove_store_record *rec)
{
	unsigned *left = payload;

	rec->line = str("again");
	return (*left)-- ? 0 : 1;
}

/* Everything but appends, with the connection lost at some byte: done, or not and said so. */
static void other_changes_survive_a_lost_answer(void **state)
{
	struct world *w = *state;
	struct grove_key to = { "q", "b.jsonl", "" };
	const struct grove_store_record longer = { .line = str("longer") };
	struct grove_store_log_stat st;
	struct grove_lease lease = { .size = sizeof(lease) };
	struct through t;
	struct grove_buf b = GROVE_BUF_INIT;
	unsigned nr;

	go_through(w, &t, false);
	/* a server that never answered would not be tried again */
	OK(grove__store_list(w->st, NULL, count_key, &nr, &w->d));
	for (unsigned i = 0; i < 60; i++) {
		struct grove_store_log *log;
		unsigned left = 3;
		int rc;

#define CUT() proxy_cut(&t.proxy, PROXY_TO_CLIENT, (long)(i * 7 % 160))
		CUT();
		log = log_of(w, GROVE_STORE_CREATE);
		OK(add(w, log, str("one"), 0));
		OK(add(w, log, str("two"), 1));
		CUT();
		OK(grove__log_meta_put(log, "leaf", str("x"), &w->d));
		CUT();
		OK(grove__log_replace(log, 0, str("ONE"), GROVE_SYNC_NONE, &w->d));
		CUT();
		OK(grove__log_update(log, 0, str("ONE"), &longer, GROVE_CHANGE_UPDATE, GROVE_SYNC_NONE,
				     &w->d));
		CUT();
		OK(grove__log_lease_take(log, "me", 60000, &lease, &w->d));
		CUT();
		OK(grove__log_meta_put(log, "colour", str("red"), &w->d));
		CUT();
		OK(grove__log_lease_release(log, &w->d));
		/* each of them counts once */
		OK(grove__log_stat(log, &st, &w->d));
		assert_int_equal(st.base, 4);
		assert_int_equal(ask(w, "SELECT group_concat(kind ORDER BY rev SEPARATOR '') FROM changes"),
				 3425);
		CUT();
		OK(grove__log_cut(log, 1, 2, GROVE_SYNC_NONE, &w->d));
		assert_bytes(w, log, "longer\n");
		CUT();
		rc = grove__log_rewrite(log, next_line, &left, 1, 0, &w->d);
		proxy_cut(&t.proxy, 0, -1);
		assert_true(!rc || rc == GROVE_EIO);
		assert_bytes(w, log, rc ? "longer\n" : "again\nagain\nagain\n");
		CUT();
		OK(grove__store_attach_put(w->st, &key_a, "x", str("bytes"), &w->d));
		CUT();
		OK(grove__store_rename(w->st, &key_a, &to, &w->d));
		grove__buf_clear(&b);
		CUT();
		OK(grove__store_attach_get(w->st, &to, "x", &b, &w->d));
		assert_string_equal(b.ptr, "bytes");
		CUT();
		OK(grove__store_remove(w->st, &to, &w->d));
		grove__log_close(log);
	}
	assert_true(t.proxy.cuts > 100);
	assert_int_equal(ask(w, "SELECT count(*) FROM entries"), 0);
	assert_int_equal(ask(w, "SELECT count(*) FROM sessions"), 0);
	assert_int_equal(ask(w, "SELECT count(*) FROM changes"), 0);
	grove__buf_release(&b);
	proxy_stop(&t.proxy);
}

static void the_next_host_takes_over(void **state)
{
	struct world *w = *state;
	struct through t;
	struct grove_store_log *log;

	go_through(w, &t, true);
	log = log_of(w, GROVE_STORE_CREATE);
	OK(add(w, log, str("one"), 0));
	proxy_stop(&t.proxy);
	OK(add(w, log, str("two"), 1));
	OK(add(w, log, str("three"), GROVE_ANY_POS));
	assert_bytes(w, log, "one\ntwo\nthree\n");
	assert_int_equal(grove__mysql_store(w->st)->host, 1);
	grove__log_close(log);
	/* and a first host that was never there is passed over */
	reopen(w, &usual);
	log = log_of(w, GROVE_STORE_READ);
	assert_bytes(w, log, "one\ntwo\nthree\n");
	grove__log_close(log);
}

static void start_server(const char *options)
{
	char command[2048];

	snprintf(command, sizeof(command), "%s/start %s", server_dir, options);
	assert_int_equal(system(command), 0);
}

static void kill_server(void)
{
	pid_t pid = (pid_t)read_number("pid");

	kill(pid, SIGKILL);
	while (!kill(pid, 0))
		usleep(1000);
}

/* Key and certificate for the address that we connect to, in the server's directory. */
static void make_certificate(const char *name)
{
	char command[2048];

	snprintf(command, sizeof(command),
		 "cd %s && openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=127.0.0.1 "
		 "-addext subjectAltName=IP:127.0.0.1 -keyout %s.key -out %s.pem 2>/dev/null && "
		 "chmod 644 %s.key %s.pem", server_dir, name, name, name, name);
	assert_int_equal(system(command), 0);
}

static void tls_is_spoken_and_the_server_known(void **state)
{
	struct world *w = *state;
	char options[1200], rest[1200];
	unsigned nr;

	make_certificate("server");
	make_certificate("other");
	snprintf(options, sizeof(options), "--ssl-cert=%s/server.pem --ssl-key=%s/server.key", server_dir,
		 server_dir);
	kill_server();
	start_server(options);
	raw(w, "ALTER USER grove@'127.0.0.1' REQUIRE SSL");
	FAILS(GROVE_EACCESS, "Access denied", list_all(w, w->rest, &nr));
	snprintf(rest, sizeof(rest), "%s?tls=on", w->rest);
	OK(list_all(w, rest, &nr));
	snprintf(rest, sizeof(rest), "%s?tls=verify&ca=%s/server.pem", w->rest, server_dir);
	OK(list_all(w, rest, &nr));
	snprintf(rest, sizeof(rest), "%s?tls=verify&ca=%s/other.pem", w->rest, server_dir);
	FAILS(GROVE_EACCESS, "", list_all(w, rest, &nr));
	snprintf(rest, sizeof(rest), "%s?tls=verify", w->rest);
	FAILS(GROVE_EACCESS, "", list_all(w, rest, &nr));
	raw(w, "ALTER USER grove@'127.0.0.1' REQUIRE NONE");
	kill_server();
	start_server("");
	grove__mysql_disconnect(grove__mysql_store(w->st));
}

/* The server's own limit: its files may not grow any more. */
static void a_server_whose_files_cannot_grow_stores_nothing(void **state)
{
	enum { LINE = 200000, MOST = 2000 };
	struct world *w = *state;
	struct grove_store_log *log;
	struct grove_store_log_stat st, after;
	char *line = malloc(LINE);
	uint64_t stored = 0;
	char path[600], options[128];
	struct stat file;
	int rc = 0;

	assert_non_null(line);
	memset(line, 'x', LINE);
	kill_server();
	snprintf(path, sizeof(path), "%s/data/ibdata1", server_dir);
	assert_int_equal(stat(path, &file), 0);
	snprintf(options, sizeof(options), "--innodb-file-per-table=0 --innodb-data-file-path="
		 "ibdata1:12M:autoextend:max:%lldM", (long long)file.st_size / 1048576 + 24);
	start_server(options);
	grove__mysql_disconnect(grove__mysql_store(w->st));
	drop_tables(w);
	OK(init_at(w->rest, &w->d));
	log = log_of(w, GROVE_STORE_CREATE);
	while (stored < MOST && !(rc = add(w, log, grove__slice(line, LINE), stored)))
		stored++;
	FAILS(GROVE_EFULL, "no space left", rc);
	OK(grove__log_stat(log, &st, &w->d));
	assert_int_equal(st.tail, stored);
	/* the server may give back what the refused line took, and take another one */
	while (stored < MOST && !(rc = add(w, log, grove__slice(line, LINE), stored)))
		stored++;
	FAILS(GROVE_EFULL, "no space left", rc);
	OK(grove__log_stat(log, &after, &w->d));
	assert_int_equal(after.tail, stored);
	/* with room again it goes on */
	kill_server();
	start_server("--innodb-file-per-table=0 --innodb-data-file-path=ibdata1:12M:autoextend:max:2000M");
	OK(grove__log_cut(log, 1, stored, GROVE_SYNC_NONE, &w->d));
	OK(add(w, log, grove__slice(line, LINE), 1));
	OK(grove__log_stat(log, &after, &w->d));
	assert_int_equal(after.bytes, 2 * (LINE + 1));
	grove__log_close(log);
	drop_tables(w);
	kill_server();
	start_server("--innodb-data-file-path=ibdata1:12M:autoextend");
	grove__mysql_disconnect(grove__mysql_store(w->st));
	free(line);
}

static void *kill_and_start(void *arg)
{
	usleep(*(unsigned *)arg * 1000);
	kill_server();
	start_server("");
	return NULL;
}

static void a_server_that_is_killed_in_the_middle_loses_nothing(void **state)
{
	enum { BATCH = 400 };
	struct world *w = *state;
	struct grove_store_record *rec = calloc(BATCH, sizeof(*rec));
	char(*line)[64] = calloc(BATCH, sizeof(*line));
	struct grove_store_log *log = log_of(w, GROVE_STORE_CREATE);
	struct grove_buf want = GROVE_BUF_INIT;
	struct grove_store_appended out;
	unsigned after[] = { 30, 80 };
	unsigned n = 0;

	assert_non_null(rec);
	assert_non_null(line);
	for (size_t round = 0; round < ARRAY(after); round++) {
		pthread_t thread;
		int64_t end = grove__sys_ticks_ns() + 2500000000;

		assert_int_equal(pthread_create(&thread, NULL, kill_and_start, &after[round]), 0);
		while (grove__sys_ticks_ns() < end) {
			for (size_t i = 0; i < BATCH; i++) {
				snprintf(line[i], sizeof(line[i]), "{\"n\":%u}", n++);
				rec[i] = (struct grove_store_record){ .line = str(line[i]) };
				OK(grove__buf_addf(&want, "%s\n", line[i]));
			}
			OK(grove__log_append(log, rec, BATCH, n - BATCH, GROVE_SYNC_ALWAYS, &out, &w->d));
			usleep(2000);
		}
		pthread_join(thread, NULL);
	}
	assert_bytes(w, log, want.ptr);
	grove__buf_release(&want);
	grove__log_close(log);
	free(line);
	free(rec);
}

/* ------------------------------------------------------------- many writers */

enum { WRITERS = 4, EACH = 150 };

struct writer {
	struct grove_store *st;
	unsigned number, conflicts;
	int rc;
	struct grove_detail d;
};

static void *write_by_swap(void *arg)
{
	struct writer *x = arg;
	struct grove_store_log *log = NULL;
	struct grove_store_log_stat st;
	struct grove_store_appended out;
	char line[64];

	x->rc = grove__log_open(&log, x->st, &key_a, GROVE_STORE_WRITE, &x->d);
	for (unsigned done = 0; done < EACH && !x->rc;) {
		struct grove_store_record rec = { 0 };

		x->rc = grove__log_stat(log, &st, &x->d);
		snprintf(line, sizeof(line), "%llu by %u n %u", (unsigned long long)st.tail, x->number, done);
		rec.line = str(line);
		if (!x->rc)
			x->rc = grove__log_append(log, &rec, 1, st.tail, GROVE_SYNC_NONE, &out, &x->d);
		if (x->rc == GROVE_ECONFLICT) {
			x->conflicts++;
			x->rc = 0;
			continue;
		}
		done++;
	}
	grove__log_close(log);
	return NULL;
}

static void writers_of_several_programs_leave_no_gap(void **state)
{
	struct world *w = *state;
	struct grove_store_log *log = log_of(w, GROVE_STORE_CREATE);
	struct writer x[WRITERS];
	pthread_t thread[WRITERS];
	unsigned next[WRITERS] = { 0 };
	struct grove_buf b;
	unsigned long long n = 0;
	char *at;

	memset(x, 0, sizeof(x));
	for (unsigned i = 0; i < WRITERS; i++) {
		x[i].number = i;
		OK(grove__mysql_open(&x[i].st, w->rest, &usual, &w->d));
		assert_int_equal(pthread_create(&thread[i], NULL, write_by_swap, &x[i]), 0);
	}
	for (unsigned i = 0; i < WRITERS; i++) {
		pthread_join(thread[i], NULL);
		if (x[i].rc)
			fail_msg("%d %s", x[i].rc, x[i].d.message);
		grove__store_close(x[i].st);
	}
	b = bytes_of(w, log);
	for (at = b.ptr; *at; at = strchr(at, '\n') + 1, n++) {
		unsigned long long seq;
		unsigned by, nth;

		assert_int_equal(sscanf(at, "%llu by %u n %u", &seq, &by, &nth), 3);
		assert_int_equal(seq, n);
		assert_int_equal(nth, next[by]++);
	}
	assert_int_equal(n, WRITERS * EACH);
	grove__buf_release(&b);
	grove__log_close(log);
}

static void *append_on(void *arg)
{
	struct writer *x = arg;
	struct grove_store_log *log = NULL;
	struct grove_store_appended out;
	char line[2][64];

	x->rc = grove__log_open(&log, x->st, &key_a, GROVE_STORE_WRITE, &x->d);
	for (unsigned n = 0; n < EACH && !x->rc; n++) {
		struct grove_store_record rec[2] = { 0 };

		snprintf(line[0], sizeof(line[0]), "by %u n %u", x->number, n);
		snprintf(line[1], sizeof(line[1]), "by %u n %u'", x->number, n);
		rec[0].line = str(line[0]);
		rec[1].line = str(line[1]);
		x->rc = grove__log_append(log, rec, 2, GROVE_ANY_POS, GROVE_SYNC_NONE, &out, &x->d);
	}
	grove__log_close(log);
	return NULL;
}

/* While others append: what is left is a log without a gap, its `start` right. */
static void cuts_and_rewrites_among_appends_leave_no_gap(void **state)
{
	struct world *w = *state;
	struct grove_store_log *log = log_of(w, GROVE_STORE_CREATE);
	struct writer x[WRITERS];
	pthread_t thread[WRITERS];
	struct grove_store_log_stat st;
	unsigned done = 0;

	memset(x, 0, sizeof(x));
	OK(add(w, log, str("header"), 0));
	for (unsigned i = 0; i < WRITERS; i++) {
		x[i].number = i;
		OK(grove__mysql_open(&x[i].st, w->rest, &usual, &w->d));
		assert_int_equal(pthread_create(&thread[i], NULL, append_on, &x[i]), 0);
	}
	for (unsigned i = 0; i < 100; i++) {
		unsigned left = i % 7;
		int rc;

		OK(grove__log_stat(log, &st, &w->d));
		rc = i % 2 ? grove__log_cut(log, st.tail / 2, st.tail, GROVE_SYNC_NONE, &w->d)
			   : grove__log_rewrite(log, next_line, &left, GROVE_ANY_POS, 0, &w->d);
		if (rc && rc != GROVE_ECONFLICT)
			fail_msg("%d %s", rc, w->d.message);
		done += !rc;
	}
	for (unsigned i = 0; i < WRITERS; i++) {
		pthread_join(thread[i], NULL);
		if (x[i].rc)
			fail_msg("%d %s", x[i].rc, x[i].d.message);
		grove__store_close(x[i].st);
	}
	assert_true(done > 20);
	assert_int_equal(ask(w, "SELECT coalesce(max(seq) + 1, 0) - count(*) FROM entries"), 0);
	assert_int_equal(ask(w, "SELECT count(*) FROM entries a JOIN entries b ON a.session_id = b.session_id "
				"AND b.seq = a.seq + 1 WHERE b.start <> a.start + length(a.line) + 1"), 0);
	grove__log_close(log);
}

/* ------------------------------------------------------ changes and parents */

static void *append_many(void *arg)
{
	struct writer *x = arg;
	struct grove_store_log *log = NULL;
	struct grove_store_appended out;
	struct grove_store_record rec = { .line = str("a line") };

	x->rc = grove__log_open(&log, x->st, &key_a, GROVE_STORE_WRITE, &x->d);
	for (unsigned n = 0; n < EACH && !x->rc; n++)
		x->rc = grove__log_append(log, &rec, 1, GROVE_ANY_POS, GROVE_SYNC_NONE, &out, &x->d);
	grove__log_close(log);
	return NULL;
}

/* Each change under its own rev, with the number of lines that there were just then. */
static void changes_among_appends_tell_how_many_lines_there_were(void **state)
{
	enum { CHANGES = 120 };
	struct world *w = *state;
	struct grove_store_log *log = log_of(w, GROVE_STORE_CREATE);
	struct writer x[WRITERS];
	pthread_t thread[WRITERS];
	struct grove_store_record rec = { .id = str("h") };
	struct grove_store_log_stat st;
	char line[2][32] = { "header" };

	memset(x, 0, sizeof(x));
	OK(add(w, log, str("header"), 0));
	for (unsigned i = 0; i < WRITERS; i++) {
		OK(grove__mysql_open(&x[i].st, w->rest, &usual, &w->d));
		assert_int_equal(pthread_create(&thread[i], NULL, append_many, &x[i]), 0);
	}
	for (unsigned i = 0; i < CHANGES; i++) {
		if (i % 2) {
			OK(grove__log_meta_put(log, "leaf", str("x"), &w->d));
			continue;
		}
		snprintf(line[i / 2 % 2 ? 0 : 1], sizeof(line[0]), "%.*s", (int)(i % 23 + 1),
			 "abcdefghijklmnopqrstuvwxyz");
		rec.line = str(line[i / 2 % 2 ? 0 : 1]);
		OK(grove__log_update(log, 0, str(line[i / 2 % 2]), &rec, GROVE_CHANGE_UPDATE,
				     GROVE_SYNC_NONE, &w->d));
	}
	for (unsigned i = 0; i < WRITERS; i++) {
		pthread_join(thread[i], NULL);
		if (x[i].rc)
			fail_msg("%d %s", x[i].rc, x[i].d.message);
		grove__store_close(x[i].st);
	}
	OK(grove__log_stat(log, &st, &w->d));
	assert_int_equal(st.base, CHANGES);
	assert_int_equal(st.tail, WRITERS * EACH + 1);
	assert_int_equal(st.bytes, ask(w, "SELECT sum(length(line) + 1) FROM entries"));
	/* the n-th of them: n changes, and the lines that were stored before it */
	assert_int_equal(ask(w, "SELECT count(*) FROM changes"), CHANGES);
	assert_int_equal(ask(w, "SELECT count(*) FROM (SELECT rev - `lines` AS n, row_number() OVER "
				"(ORDER BY rev) AS k FROM changes) c WHERE n <> k"), 0);
	assert_int_equal(ask(w, "SELECT count(*) FROM changes c WHERE c.`lines` > (SELECT count(*) FROM "
				"entries e WHERE e.`stored` <= c.time + 1000)"), 0);
	grove__log_close(log);
}

/* As a pooler between us and the server might do it. */
static int begin_and_write(struct sql_conn *c, struct sql_work *w, struct grove_detail *d)
{
	(void)w;
	(void)d;
	raw_run(grove__mysql_conn(c)->db, "START TRANSACTION");
	raw_run(grove__mysql_conn(c)->db, "INSERT INTO session_values VALUES (repeat('x', 16), 'a', 'b')");
	return 0;
}

static int commit_and_chain(struct sql_conn *c, struct sql_work *w, struct grove_detail *d)
{
	(void)w;
	(void)d;
	raw_run(grove__mysql_conn(c)->db, "SET SESSION completion_type = CHAIN");
	raw_run(grove__mysql_conn(c)->db, "INSERT INTO session_values VALUES (repeat('y', 16), 'a', 'b')");
	return 0;
}

static void nothing_is_acknowledged_in_a_transaction_that_is_open(void **state)
{
	struct world *w = *state;
	struct mysql_store *s = grove__mysql_store(w->st);
	struct sql_work plain = { .fn = begin_and_write, .mode = SQL_OWN };
	struct sql_work chained = { .fn = commit_and_chain, .mode = SQL_WRITE };
	struct grove_store_log *log = log_of(w, GROVE_STORE_CREATE);

	FAILS(GROVE_EIO, "transaction open", grove__mysql_work(&s->base, &plain, &w->d));
	assert_int_equal(ask(w, "SELECT count(*) FROM session_values"), 0);
	/* committed; but the connection is not used again, as it began another one */
	OK(grove__mysql_work(&s->base, &chained, &w->d));
	assert_int_equal(ask(w, "SELECT count(*) FROM session_values"), 1);
	assert_null(s->base.idle);
	OK(add(w, log, str("a line"), 0));
	assert_int_equal(ask(w, "SELECT count(*) FROM entries"), 1);
	grove__log_close(log);
}

static int use_in_child(struct world *w, struct grove_store_log *log)
{
	struct grove_store_log_stat st;
	struct grove_store *again;
	struct grove_store_log *other;

	if (add(w, log, str("by the child"), GROVE_ANY_POS) != GROVE_EINVAL || !strstr(w->d.message, "fork") ||
	    grove__log_stat(log, &st, &w->d) != GROVE_EINVAL)
		return 1;
	grove__log_close(log);
	grove__store_close(w->st);
	/* with a connection of its own it can */
	if (grove__mysql_open(&again, w->rest, &usual, &w->d) ||
	    grove__log_open(&other, again, &key_a, GROVE_STORE_WRITE, &w->d) ||
	    add(w, other, str("by the child"), GROVE_ANY_POS))
		return 2;
	grove__log_close(other);
	grove__store_close(again);
	return 0;
}

static void a_child_does_not_use_its_parents_connections(void **state)
{
	struct world *w = *state;
	struct mysql_store *s = grove__mysql_store(w->st);
	struct grove_store_log *log = log_of(w, GROVE_STORE_CREATE);
	int status;
	pid_t pid;

	OK(add(w, log, str("before"), 0));
	fflush(NULL);
	pid = fork();
	if (!pid)
		_exit(use_in_child(w, log));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	/* the child has ended, and the connection is as it was: nothing had to be tried again */
	OK(add(w, log, str("after"), GROVE_ANY_POS));
	assert_int_equal(s->again, 0);
	assert_bytes(w, log, "before\nby the child\nafter\n");
	grove__log_close(log);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		CASE(nothing_is_acknowledged_in_a_transaction_that_is_open),
		CASE(a_child_does_not_use_its_parents_connections),
		/* before the server's files have grown */
		CASE(a_server_whose_files_cannot_grow_stores_nothing),
		BARE(a_url_is_shown_without_its_password),
		BARE(a_url_that_is_none_is_not_repeated),
		CASE(a_wrong_password_is_refused_and_not_repeated),
		CASE(a_server_without_tls_is_not_talked_to_in_the_clear),
		BARE(a_server_that_is_not_there_is_told_at_once),
		CASE(odd_bytes_and_ids_come_back),
		CASE(names_differ_in_case_and_in_blanks),
		CASE(the_longest_names_fit),
		CASE(a_line_over_the_servers_limit_is_refused_before_it_is_sent),
		CASE(a_full_server_stores_nothing),
		CASE(a_session_that_is_locked_for_too_long_is_a_conflict),
		CASE(a_hole_in_the_numbers_is_damage),
		CASE(a_last_line_without_its_end_is_kept_so),
		CASE(an_append_whose_answer_is_lost_is_stored_once),
		CASE(a_batch_whose_answer_is_lost_is_stored_once),
		CASE(an_append_that_is_cut_short_is_sent_again),
		CASE(other_changes_survive_a_lost_answer),
		CASE(the_next_host_takes_over),
		CASE(tls_is_spoken_and_the_server_known),
		CASE(a_server_that_is_killed_in_the_middle_loses_nothing),
		CASE(writers_of_several_programs_leave_no_gap),
		CASE(cuts_and_rewrites_among_appends_leave_no_gap),
		CASE(changes_among_appends_tell_how_many_lines_there_were),
	};

	return RUN_WITH_SERVER("mysql_store", tests);
}
