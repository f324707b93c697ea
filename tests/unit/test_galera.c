/*
 * tests/unit/test_galera.c: writers on every node of a cluster, one of which is
 * killed: every line that was acknowledged is on all nodes, once, and no number
 * is missing.
 *
 * tests/lib/galera starts the cluster around it.
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

enum { NODES = 3, WRITERS = 6, SHARED = 3, MOST = 20000 };

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

static int write_one(struct writer *x, struct grove_log *log)
{
	unsigned nr = x->acknowledged % 3 == 2 && x->acknowledged + 4 < MOST ? 4 : 1;
	struct grove_record rec[4] = { 0 };
	struct grove_appended out;
	struct grove_log_stat st = { 0 };
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
	struct grove_log *log = NULL;

	x->rc = grove__log_open(&log, st, &key, GROVE_LOG_WRITE, &x->d);
	while (!x->rc && !__atomic_load_n(&finish, __ATOMIC_RELAXED) && x->acknowledged + 4 < MOST)
		x->rc = write_one(x, log);
	grove__log_close(log);
	grove__store_close(st);
	return NULL;
}

/* The lines of a session, as a node has them. */
static struct grove_buf lines_on(struct grove_store *st, unsigned session, uint64_t *nr)
{
	struct grove_key key = key_of(session);
	struct grove_buf b = GROVE_BUF_INIT;
	struct grove_log_stat stat;
	struct grove_run r = { 0 };
	struct grove_log *log;
	struct grove_detail d;
	uint64_t at = 0;

	if (grove__log_open(&log, st, &key, GROVE_LOG_READ, &d) || grove__log_stat(log, &stat, &d))
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

static void a_node_that_is_killed_takes_nothing_along(void **state)
{
	struct writer x[WRITERS];
	struct grove_store *st = open_store(0, false);
	struct grove_detail d;
	unsigned all = 0, conflicts = 0;
	pid_t pid;

	(void)state;
	if (grove__mysql_init(grove__mysql_store(st), &d))
		fail_msg("%s", d.message);
	for (unsigned i = 0; i < SHARED; i++) {
		struct grove_key key = key_of(i);
		struct grove_log *log;

		if (grove__log_open(&log, st, &key, GROVE_LOG_CREATE, &d))
			fail_msg("%s", d.message);
		grove__log_close(log);
	}
	grove__store_close(st);
	memset(x, 0, sizeof(x));
	for (unsigned i = 0; i < WRITERS; i++) {
		x[i].number = i;
		x[i].swap = i % 2;
		x[i].at = calloc(MOST, sizeof(*x[i].at));
		assert_non_null(x[i].at);
		assert_int_equal(pthread_create(&x[i].thread, NULL, write_on, &x[i]), 0);
	}
	sleep(3);
	pid = (pid_t)read_number(1, "pid");
	kill(pid, SIGKILL);
	/* its writers go on elsewhere, when the others have noticed */
	sleep(12);
	run("start", 1);
	run("wait", 1);
	sleep(2);
	__atomic_store_n(&finish, true, __ATOMIC_RELAXED);
	for (unsigned i = 0; i < WRITERS; i++) {
		pthread_join(x[i].thread, NULL);
		if (x[i].rc)
			fail_msg("writer %u: %d %s", i, x[i].rc, x[i].d.message);
		assert_true(x[i].acknowledged > 10);
		all += x[i].acknowledged;
		conflicts += x[i].conflicts;
	}
	for (int node = 0; node < NODES; node++) {
		run("wait", node);
		st = open_store(node, true);
		for (unsigned s = 0; s < SHARED; s++) {
			uint64_t nr;
			struct grove_buf b = lines_on(st, s, &nr);

			compare(x, s, b.ptr, nr);
			grove__buf_release(&b);
		}
		grove__store_close(st);
	}
	print_message("# %u lines by %d writers, %u conflicts\n", all, WRITERS, conflicts);
	for (unsigned i = 0; i < WRITERS; i++)
		free(x[i].at);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_node_that_is_killed_takes_nothing_along),
	};
	const char *given = getenv("GROVE_TEST_GALERA_DIR");

	if (!given) {
		puts("1..0 # skip run it by tests/lib/galera");
		return 77;
	}
	snprintf(dir, sizeof(dir), "%s", given);
	for (int i = 0; i < NODES; i++)
		port[i] = (unsigned)read_number(i, "port");
	return cmocka_run_group_tests_name("galera", tests, NULL, NULL);
}
