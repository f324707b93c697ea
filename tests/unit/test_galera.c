/*
 * tests/unit/test_galera.c: writers on every node of a cluster, while one node
 * is killed and another one is cut off from the rest. Afterwards every
 * acknowledged line is on all nodes exactly once, and the numbering has no gaps.
 * A writer that has lost its lease on one node can store nothing through another
 * node.
 *
 * tests/lib/galera starts the cluster and runs this program.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <pthread.h>
#include <signal.h>

#include "store/mysql.h"
#include "sys/clock.h"

#include "../lib/scratch.h"

#define str grove__slice_str

enum { NODES = 3, WRITERS = 6, SHARED = 3, MOST = 200000, CHANGES = 4096 };

static char dir[512];
static unsigned port[NODES];
static const struct grove__mysql_options patient = { .schema = &grove__sql_schema_mysql,
						     .patience_ms = 60000 };

static unsigned long read_number(int node, const char *name)
{
	char path[600];
	struct grove_buf b;
	unsigned long n;

	snprintf(path, sizeof(path), "%s/%d/%s", dir, node + 1, name);
	b = file_bytes(path);
	n = strtoul(b.ptr, NULL, 10);
	grove__buf_release(&b);
	return n;
}

/* All nodes, beginning with `first`; or that one alone. */
static struct grove_store *open_store(int first, bool alone)
{
	struct grove_buf url = GROVE_BUF_INIT;
	struct grove_store *st;
	struct grove_detail d;

	grove__buf_add_str(&url, "//grove:s3cret@");
	for (int i = 0; i < (alone ? 1 : NODES); i++)
		grove__buf_addf(&url, "%s127.0.0.1:%u", i ? "," : "", port[(first + i) % NODES]);
	grove__buf_add_str(&url, "/grove_test");
	if (grove__mysql_open(&st, url.ptr, &patient, &d))
		fail_msg("%s", d.message);
	grove__buf_release(&url);
	return st;
}

static void run(const char *what, int node)
{
	char command[600];

	snprintf(command, sizeof(command), "%s/%s %d", dir, what, node + 1);
	assert_int_equal(system(command), 0);
}

struct writer {
	pthread_t thread;
	unsigned number, acknowledged, conflicts;
	uint64_t *at;       /* where each of its lines is */
	uint64_t again;     /* tries that were repeated */
	bool swap;          /* by compare and swap */
	int rc;
	struct grove_detail d;
};

static bool finish;   /* atomic */

/* Three sessions that all share, two writers each on different nodes. */
static struct grove_key key_of(unsigned n)
{
	static char name[SHARED][16];

	snprintf(name[n % SHARED], sizeof(name[0]), "s%u", n % SHARED);
	return (struct grove_key){ "p", name[n % SHARED], "" };
}

static int write_one(struct writer *x, struct grove_store_log *log)
{
	unsigned nr = x->acknowledged % 3 == 2 && x->acknowledged + 4 < MOST ? 4 : 1;
	struct grove_store_record rec[4] = { 0 };
	struct grove_store_appended out;
	struct grove_store_log_stat st = { 0 };
	char line[4][64];
	int rc = x->swap ? grove__log_stat(log, &st, &x->d) : 0;

	for (unsigned i = 0; i < nr; i++) {
		snprintf(line[i], sizeof(line[i]), "%u:%u", x->number, x->acknowledged + i);
		rec[i].line = str(line[i]);
	}
	if (!rc)
		rc = grove__log_append(log, rec, nr, x->swap ? st.tail : GROVE_ANY_POS, GROVE_SYNC_ALWAYS,
				       &out, &x->d);
	if (rc == GROVE_ECONFLICT) {
		x->conflicts++;
		return 0;
	}
	for (unsigned i = 0; i < nr && !rc; i++)
		x->at[x->acknowledged++] = out.pos + i;
	return rc;
}

static void *write_on(void *arg)
{
	struct writer *x = arg;
	struct grove_store *st = open_store((int)(x->number % NODES), false);
	struct grove_key key = key_of(x->number / 2);
	struct grove_store_log *log = NULL;

	x->rc = grove__log_open(&log, st, &key, GROVE_STORE_WRITE, &x->d);
	while (!x->rc && !__atomic_load_n(&finish, __ATOMIC_RELAXED) && x->acknowledged + 4 < MOST)
		x->rc = write_one(x, log);
	x->again = grove__mysql_store(st)->again;
	grove__log_close(log);
	grove__store_close(st);
	return NULL;
}

/* The lines of a session, as a node has them. */
static struct grove_buf lines_on(struct grove_store *st, unsigned session, uint64_t *nr)
{
	struct grove_key key = key_of(session);
	struct grove_buf b = GROVE_BUF_INIT;
	struct grove_store_log_stat stat;
	struct grove_store_run r = { 0 };
	struct grove_store_log *log;
	struct grove_detail d;
	uint64_t at = 0;

	if (grove__log_open(&log, st, &key, GROVE_STORE_READ, &d) ||
	    grove__log_stat(log, &stat, &d))
		fail_msg("%s", d.message);
	assert_int_equal(grove__buf_reserve(&b, (size_t)stat.bytes + 1), 0);
	while (at < stat.tail) {
		if (grove__log_read(log, at, stat.tail, b.ptr + b.len, (size_t)stat.bytes + 1 - b.len, &r, &d))
			fail_msg("%s", d.message);
		b.len += r.len;
		at = r.next;
	}
	assert_int_equal(b.len, stat.bytes);
	b.ptr[b.len] = '\0';
	*nr = stat.tail;
	grove__log_close(log);
	return b;
}

/* Each line of each writer where it was said to be; nothing else. */
static void compare(struct writer *x, unsigned session, const char *text, uint64_t nr)
{
	uint64_t at = 0, acknowledged = 0;

	for (unsigned i = 0; i < WRITERS; i++)
		acknowledged += x[i].number / 2 % SHARED == session ? x[i].acknowledged : 0;
	assert_int_equal(nr, acknowledged);
	for (const char *p = text; *p; p = strchr(p, '\n') + 1, at++) {
		unsigned writer, n;

		assert_int_equal(sscanf(p, "%u:%u", &writer, &n), 2);
		assert_in_range(writer, 0, WRITERS - 1);
		assert_in_range(n, 0, x[writer].acknowledged - 1);
		assert_int_equal(x[writer].at[n], at);
	}
	assert_int_equal(at, nr);
}

/* Moves the leaf of the first session now and then: each time counts once. */
static void *change_on(void *arg)
{
	struct writer *x = arg;
	struct grove_store *st = open_store((int)(x->number % NODES), false);
	struct grove_key key = key_of(0);
	struct grove_store_log *log = NULL;
	char leaf[32];

	x->rc = grove__log_open(&log, st, &key, GROVE_STORE_WRITE, &x->d);
	while (!x->rc && !__atomic_load_n(&finish, __ATOMIC_RELAXED)) {
		snprintf(leaf, sizeof(leaf), "%u", x->acknowledged);
		x->rc = grove__log_meta_put(log, "leaf", str(leaf), &x->d);
		x->acknowledged += !x->rc;
		if (x->rc == GROVE_ECONFLICT) {
			x->conflicts++;
			x->rc = 0;
		}
		usleep(20000);
	}
	x->again = grove__mysql_store(st)->again;
	grove__log_close(log);
	grove__store_close(st);
	return NULL;
}

/* How many lines there were at least, and at most, while there were so many changes. */
struct seen {
	pthread_t thread;
	struct {
		uint64_t least, most;
		bool any;
	} lines[CHANGES];
	int rc;
	struct grove_detail d;
};

static void *look_on(void *arg)
{
	struct seen *x = arg;
	struct grove_store *st = open_store(1, false);
	struct grove_key key = key_of(0);
	struct grove_store_log_stat now;
	struct grove_store_log *log = NULL;

	x->rc = grove__log_open(&log, st, &key, GROVE_STORE_READ, &x->d);
	while (!x->rc && !__atomic_load_n(&finish, __ATOMIC_RELAXED)) {
		x->rc = grove__log_stat(log, &now, &x->d);
		if (x->rc || now.base >= CHANGES)
			break;
		if (!x->lines[now.base].any || now.tail < x->lines[now.base].least)
			x->lines[now.base].least = now.tail;
		if (now.tail > x->lines[now.base].most)
			x->lines[now.base].most = now.tail;
		x->lines[now.base].any = true;
		usleep(1000);
	}
	grove__log_close(log);
	grove__store_close(st);
	return NULL;
}

struct told {
	uint64_t nr, lines;
	const struct seen *seen;
};

/* The n-th change: n of them, and as many lines as were seen before it, but not more than after it. */
static int compare_change(void *payload, const struct grove_store_change *c)
{
	struct told *t = payload;

	assert_true(c->lines >= t->seen->lines[t->nr].most);
	t->nr++;
	assert_in_range(t->nr, 1, CHANGES - 1);
	assert_int_equal(c->kind, GROVE_CHANGE_LEAF);
	assert_int_equal(c->rev - c->lines, t->nr);
	assert_true(c->lines >= t->lines);
	assert_true(!t->seen->lines[t->nr].any || c->lines <= t->seen->lines[t->nr].least);
	t->lines = c->lines;
	return 0;
}

static void compare_changes(struct grove_store *st, unsigned acknowledged, const struct seen *seen)
{
	struct grove_key key = key_of(0);
	struct told t = { .seen = seen };
	struct grove_store_log_stat stat;
	struct grove_store_log *log;
	struct grove_detail d;

	if (grove__log_open(&log, st, &key, GROVE_STORE_READ, &d) ||
	    grove__log_stat(log, &stat, &d) || grove__log_changes(log, 0, compare_change, &t, &d))
		fail_msg("%s", d.message);
	assert_int_equal(t.nr, acknowledged);
	assert_int_equal(stat.base, acknowledged);
	assert_true(t.lines <= stat.tail);
	grove__log_close(log);
}

static void make_sessions(void)
{
	struct grove_store *st = open_store(0, false);
	struct grove_detail d;

	if (grove__mysql_init(st, &d))
		fail_msg("%s", d.message);
	for (unsigned i = 0; i < SHARED; i++) {
		struct grove_key key = key_of(i);
		struct grove_store_log *log;

		if (grove__store_remove(st, &key, &d) && d.code != GROVE_ENOTFOUND)
			fail_msg("%s", d.message);
		if (grove__log_open(&log, st, &key, GROVE_STORE_CREATE, &d))
			fail_msg("%s", d.message);
		grove__log_close(log);
	}
	grove__store_close(st);
}

/* A statement of the one who runs the server. */
static void command(int node, const char *sql)
{
	MYSQL *m = mysql_init(NULL);
	char path[600];

	assert_non_null(m);
	snprintf(path, sizeof(path), "%s/%d/socket", dir, node + 1);
	if (!mysql_real_connect(m, "localhost", "root", NULL, NULL, 0, path, 0) || mysql_query(m, sql))
		fail_msg("%s: %s", sql, mysql_error(m));
	mysql_close(m);
}

/* How many nodes the node sees, itself included. */
static int size_of_cluster(int node)
{
	MYSQL *m = mysql_init(NULL);
	MYSQL_RES *res;
	MYSQL_ROW row;
	char path[600];
	int n = 0;

	assert_non_null(m);
	snprintf(path, sizeof(path), "%s/%d/socket", dir, node + 1);
	if (mysql_real_connect(m, "localhost", "root", NULL, NULL, 0, path, 0) &&
	    !mysql_query(m, "SHOW STATUS LIKE 'wsrep_cluster_size'")) {
		res = mysql_store_result(m);
		row = res ? mysql_fetch_row(res) : NULL;
		n = row ? atoi(row[1]) : 0;
		mysql_free_result(res);
	}
	mysql_close(m);
	return n;
}

static void wait_for_size(int node, int size)
{
	for (int i = 0; size_of_cluster(node) != size; i++) {
		if (i == 600)
			fail_msg("node %d never saw %d nodes", node + 1, size);
		usleep(100000);
	}
}

static void nodes_that_are_killed_or_cut_off_take_nothing_along(void **state)
{
	struct writer x[WRITERS + 1];
	struct seen *seen = calloc(1, sizeof(*seen));
	struct grove_store *st;
	unsigned all = 0, conflicts = 0;
	uint64_t again = 0;
	int64_t start;

	(void)state;
	make_sessions();
	__atomic_store_n(&finish, false, __ATOMIC_RELAXED);
	memset(x, 0, sizeof(x));
	start = grove__sys_ticks_ns();
	for (unsigned i = 0; i <= WRITERS; i++) {
		x[i].number = i;
		x[i].swap = i % 2;
		x[i].at = calloc(MOST, sizeof(*x[i].at));
		assert_non_null(x[i].at);
		assert_int_equal(pthread_create(&x[i].thread, NULL, i < WRITERS ? write_on : change_on, &x[i]),
				 0);
	}
	assert_non_null(seen);
	assert_int_equal(pthread_create(&seen->thread, NULL, look_on, seen), 0);
	sleep(3);
	kill((pid_t)read_number(1, "pid"), SIGKILL);
	/* its writers go on elsewhere, when the others have noticed */
	wait_for_size(0, 2);
	sleep(3);
	run("start", 1);
	run("wait", 1);
	sleep(2);
	/* a node that lives, but alone: what its writers had under way is undone there, or was sent before */
	command(2, "SET GLOBAL wsrep_provider_options = 'gmcast.isolate=1'");
	wait_for_size(0, 2);
	sleep(5);
	command(2, "SET GLOBAL wsrep_provider_options = 'gmcast.isolate=0'");
	wait_for_size(0, 3);
	run("wait", 2);
	sleep(3);
	__atomic_store_n(&finish, true, __ATOMIC_RELAXED);
	for (unsigned i = 0; i <= WRITERS; i++) {
		pthread_join(x[i].thread, NULL);
		if (x[i].rc)
			fail_msg("writer %u: %d %s", i, x[i].rc, x[i].d.message);
		assert_true(x[i].acknowledged > 10);
		all += i < WRITERS ? x[i].acknowledged : 0;
		conflicts += x[i].conflicts;
		again += x[i].again;
	}
	start = (grove__sys_ticks_ns() - start) / 1000000;
	pthread_join(seen->thread, NULL);
	if (seen->rc)
		fail_msg("%d %s", seen->rc, seen->d.message);
	for (int node = 0; node < NODES; node++) {
		run("wait", node);
		st = open_store(node, true);
		for (unsigned s = 0; s < SHARED; s++) {
			uint64_t nr;
			struct grove_buf b = lines_on(st, s, &nr);

			compare(x, s, b.ptr, nr);
			grove__buf_release(&b);
		}
		compare_changes(st, x[WRITERS].acknowledged, seen);
		grove__store_close(st);
	}
	print_message("# %u lines by %d writers and %u changes in %lld.%03lld s; %u conflicts told, "
		      "%llu tries repeated\n", all, WRITERS, x[WRITERS].acknowledged,
		      (long long)start / 1000, (long long)start % 1000, conflicts,
		      (unsigned long long)again);
	for (unsigned i = 0; i <= WRITERS; i++)
		free(x[i].at);
	free(seen);
}

/* ------------------------------------------------------------------- leases */

struct holder {
	pthread_t thread;
	struct grove_store_log *log;
	unsigned acknowledged;
	bool taken;         /* by another, so that what begins now has to be refused; atomic */
	bool late;          /* something that began then was stored */
	int rc;
	struct grove_detail d;
};

/* Append until it is refused. */
static void *append_until_refused(void *arg)
{
	struct holder *h = arg;
	struct grove_store_record rec = { .line = str("by the holder") };
	struct grove_store_appended out;

	for (;;) {
		bool taken = __atomic_load_n(&h->taken, __ATOMIC_ACQUIRE);

		h->rc = grove__log_append(h->log, &rec, 1, GROVE_ANY_POS, GROVE_SYNC_NONE, &out, &h->d);
		if (h->rc)
			return NULL;
		h->acknowledged++;
		if (taken) {
			h->late = true;
			return NULL;
		}
	}
}

static struct grove_store_log *open_log(struct grove_store *st)
{
	struct grove_key key = key_of(0);
	struct grove_store_log *log = NULL;
	struct grove_detail d;

	if (grove__log_open(&log, st, &key, GROVE_STORE_WRITE, &d))
		fail_msg("%s", d.message);
	return log;
}

static struct grove_lease take(struct grove_store_log *log, const char *owner, int64_t ms)
{
	struct grove_lease lease = { .size = sizeof(lease) };
	struct grove_detail d;

	if (grove__log_lease_take(log, owner, ms, &lease, &d))
		fail_msg("%s", d.message);
	return lease;
}

static uint64_t tail_of(struct grove_store_log *log)
{
	struct grove_store_log_stat st;
	struct grove_detail d;

	if (grove__log_stat(log, &st, &d))
		fail_msg("%s", d.message);
	return st.tail;
}

static void a_right_that_was_taken_over_is_worth_nothing_on_any_node(void **state)
{
	enum { ROUNDS = 60 };
	struct grove_store *st[NODES];
	struct grove_store_log *log[NODES];
	struct grove_store_record rec = { .line = str("a line") };
	struct grove_store_appended out;
	struct grove_lease first = { .size = sizeof(first) }, second = { .size = sizeof(second) };
	struct grove_detail d;
	uint64_t tail, all = 0, before, tries, most = 0;
	unsigned acknowledged = 0;
	int64_t start, longest = 0;

	(void)state;
	make_sessions();
	for (int i = 0; i < NODES; i++) {
		st[i] = open_store(i, true);
		log[i] = open_log(st[i]);
	}
	/* one behind the other */
	first = take(log[0], "agent", 600000);
	assert_int_equal(grove__log_append(log[0], &rec, 1, 0, GROVE_SYNC_NONE, &out, &d), 0);
	assert_int_equal(grove__log_append(log[2], &rec, 1, GROVE_ANY_POS, GROVE_SYNC_NONE, &out, &d),
			 GROVE_ECONFLICT);
	assert_int_equal(grove__log_lease_take(log[2], "somebody", 1000, &second, &d), GROVE_ECONFLICT);
	second = take(log[1], "agent", 600000);
	assert_int_equal(second.number, first.number + 1);
	assert_int_equal(grove__log_append(log[0], &rec, 1, GROVE_ANY_POS, GROVE_SYNC_NONE, &out, &d),
			 GROVE_ECONFLICT);
	assert_non_null(strstr(d.message, "taken over"));
	assert_int_equal(grove__log_meta_put(log[0], "leaf", str("x"), &d), GROVE_ECONFLICT);
	assert_int_equal(tail_of(log[1]), 1);
	all = 1;
	/* and at the same moment */
	for (unsigned round = 0; round < ROUNDS; round++) {
		int one = (int)(round % NODES), other = (int)((round + 1) % NODES);
		struct holder h = { .log = log[one] };

		first = take(log[one], "agent", 600000);
		assert_int_equal(pthread_create(&h.thread, NULL, append_until_refused, &h), 0);
		usleep(20000 * (round % 7));
		before = grove__mysql_store(st[other])->again;
		start = grove__sys_ticks_ns();
		second = take(log[other], "agent", 600000);
		longest = grove__sys_ticks_ns() - start > longest ? grove__sys_ticks_ns() - start : longest;
		tries = grove__mysql_store(st[other])->again - before;
		most = tries > most ? tries : most;
		__atomic_store_n(&h.taken, true, __ATOMIC_RELEASE);
		tail = tail_of(log[other]);
		pthread_join(h.thread, NULL);
		assert_true(second.number > first.number);
		if (h.late || h.rc != GROVE_ECONFLICT)
			fail_msg("round %u: %d %s", round, h.rc, h.d.message);
		/* nothing came after it */
		assert_int_equal(tail_of(log[other]), tail);
		assert_int_equal(tail, all + h.acknowledged);
		all = tail;
		acknowledged += h.acknowledged;
	}
	print_message("# %d times taken over, after %llu ms and %llu tries again at most, %u lines by those who held it\n",
		      ROUNDS, (unsigned long long)longest / 1000000, (unsigned long long)most, acknowledged);
	/* whoever takes it has his turn, however fast the other is: no race for the tail */
	assert_in_range(most, 0, 8);
	assert_int_equal(grove__log_lease_release(log[ROUNDS % NODES], NULL), 0);
	for (int i = 0; i < NODES; i++) {
		grove__log_close(log[i]);
		grove__store_close(st[i]);
	}
}

/* A store that was never there before asks another node. */
static void what_one_node_has_made_is_found_on_the_others_at_once(void **state)
{
	struct grove_key key = key_of(0);
	struct grove_store *st[NODES], *fresh;
	struct grove_store_log *log;
	struct grove_detail d;

	(void)state;
	make_sessions();
	for (int i = 0; i < NODES; i++)
		st[i] = open_store(i, true);
	for (unsigned round = 0; round < 150; round++) {
		struct grove_store *maker = st[round % NODES];

		if (grove__store_remove(maker, &key, &d) ||
		    grove__log_open(&log, maker, &key, GROVE_STORE_CREATE, &d))
			fail_msg("%s", d.message);
		grove__log_close(log);
		fresh = open_store((int)((round + 1) % NODES), true);
		if (grove__log_open(&log, fresh, &key, GROVE_STORE_WRITE, &d))
			fail_msg("round %u: %s", round, d.message);
		grove__log_close(log);
		grove__store_close(fresh);
	}
	for (int i = 0; i < NODES; i++)
		grove__store_close(st[i]);
}

int main(int argc, char **argv)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_one_node_has_made_is_found_on_the_others_at_once),
		cmocka_unit_test(a_right_that_was_taken_over_is_worth_nothing_on_any_node),
		cmocka_unit_test(nodes_that_are_killed_or_cut_off_take_nothing_along),
	};
	const char *given = getenv("GROVE_TEST_GALERA_DIR");

	if (!given) {
		puts("1..0 # skip run it by tests/lib/galera");
		return 77;
	}
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	snprintf(dir, sizeof(dir), "%s", given);
	for (int i = 0; i < NODES; i++)
		port[i] = (unsigned)read_number(i, "port");
	return cmocka_run_group_tests_name("galera", tests, NULL, NULL);
}
