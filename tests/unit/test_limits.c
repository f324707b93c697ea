/*
 * tests/unit/test_limits.c: locks that others never release, and limits that
 * the system sets.
 *
 * If a lock is never released, every writer gets a conflict after a while, and
 * readers are not affected. Exceeding the limit on file sizes gives
 * GROVE_EFULL, and no signal reaches the application, whose own signal handlers
 * stay as they were.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include <signal.h>
#include <sys/resource.h>

#include "../lib/world.h"
#include "sys/limit.h"
#include "../lib/calls.h"

#define FILE_OF(w) in_world(w, "a.jsonl")
#define OURS "{\"role\":\"user\",\"content\":\"ours\"}"
#define OLD "{\"type\":\"session\",\"id\":\"s1\",\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"cwd\":\"/w\"}\n" \
	"{\"type\":\"message\",\"timestamp\":\"2026-01-01T00:00:01.000Z\",\"message\":{\"role\":\"user\",\"content\":\"x\"}}\n"

/* --------------------------------------------------------------------- locks */

static int hold(const char *path, int flags, short type)
{
	struct flock l = { .l_type = type, .l_whence = SEEK_SET };
	int fd = open(path, flags | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(fcntl(fd, F_OFD_SETLK, &l), 0);
	return fd;
}

/* What the last failure says: whose lock it is. */
static void assert_names_us(const char *message)
{
	char pid[32];

	snprintf(pid, sizeof(pid), "process %ld (", (long)getpid());
	if (!strstr(message, pid))
		fail_msg("\"%s\" does not name %s", message, pid);
}

static void a_lock_that_is_never_given_up_is_a_conflict(void **state)
{
	struct world *w = *state;
	struct grove_session *s, *other;
	struct grove_detail d;
	struct grove_lease lease = { .size = sizeof(lease) };
	int fd;

	file_make(FILE_OF(w), BRANCHES);
	s = session_at(w, FILE_OF(w), GROVE_OPEN_WRITE);
	fd = hold(FILE_OF(w), O_RDWR, F_WRLCK);
	GOT(w, grove_session_append(s, text(OURS), NULL, NULL), GROVE_ECONFLICT);
	grove_session_error(s, &d);
	assert_names_us(d.message);
	GOT(w, grove_session_append_label(s, "u1", "x", NULL, NULL), GROVE_ECONFLICT);
	GOT(w, grove_session_set_leaf(s, "u2", LEAF(GROVE_LEAF_PERSIST), NULL), GROVE_ECONFLICT);
	GOT(w, grove_session_lease_take(s, "me", 1000, &lease), GROVE_ECONFLICT);
	grove_session_error(s, &d);
	assert_names_us(d.message);

	/* who reads is not in its way, nor who makes another session of it */
	other = session_at(w, FILE_OF(w), GROVE_OPEN_READ);
	assert_int_equal(grove_session_refresh(other), 0);
	grove_session_close(other);
	close(fd);
	assert_int_equal(lines_in(FILE_OF(w)), 6);
	OK(w, grove_session_append(s, text(OURS), NULL, NULL));
	assert_int_equal(lines_in(FILE_OF(w)), 7);
	grove_session_close(s);
}

static void so_is_that_of_somebody_who_may_only_read(void **state)
{
	struct world *w = *state;
	struct grove_session *s;
	int fd;

	file_make(FILE_OF(w), BRANCHES);
	fd = hold(FILE_OF(w), O_RDONLY, F_RDLCK);
	s = session_at(w, FILE_OF(w), GROVE_OPEN_WRITE);
	GOT(w, grove_session_append(s, text(OURS), NULL, NULL), GROVE_ECONFLICT);
	close(fd);
	OK(w, grove_session_append(s, text(OURS), NULL, NULL));
	grove_session_close(s);
}

static void a_log_under_a_lock_is_not_replaced(void **state)
{
	struct world *w = *state;
	struct grove_fix_options fix = { .size = sizeof(fix), .flags = GROVE_FIX_FORCE };
	struct grove_fix_result r = { .size = sizeof(r) };
	struct grove_session *s;
	struct grove_detail d;
	int fd;

	file_make(FILE_OF(w), OLD);
	fd = hold(FILE_OF(w), O_RDWR, F_WRLCK);
	/* of an old version: it is migrated before anything is appended */
	GOT(w, grove_session_open(w->g, FILE_OF(w), GROVE_OPEN_WRITE, &s), GROVE_ECONFLICT);
	grove_session_close(s);
	assert_int_equal(lines_in(FILE_OF(w)), 2);
	close(fd);

	file_make(in_world(w, "b.jsonl"), HEADER "{\"broken\n" ENTRY("u1", "null", "user", "one"));
	fd = hold(in_world(w, "b.jsonl"), O_RDWR, F_WRLCK);
	GOT(w, grove_fix(w->g, in_world(w, "b.jsonl"), &fix, &r), GROVE_ECONFLICT);
	grove_error(w->g, &d);
	assert_names_us(d.message);
	assert_int_equal(lines_in(in_world(w, "b.jsonl")), 3);
	close(fd);
}

/* ---------------------------------------------------------------------- size */

static struct rlimit before;

static void limit_files(rlim_t bytes)
{
	struct rlimit l;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	l = before;
	l.rlim_cur = bytes;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &l), 0);
}

static void no_limit(void)
{
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
}

/* Nothing was changed, and nothing waits. */
static void assert_signal_untouched(void)
{
	struct sigaction sa;
	sigset_t set;

	assert_int_equal(sigaction(SIGXFSZ, NULL, &sa), 0);
	assert_true(sa.sa_handler == SIG_DFL);
	assert_int_equal(pthread_sigmask(SIG_BLOCK, NULL, &set), 0);
	assert_int_equal(sigismember(&set, SIGXFSZ), 0);
	assert_int_equal(sigpending(&set), 0);
	assert_int_equal(sigismember(&set, SIGXFSZ), 0);
}

static void a_file_that_may_not_grow_is_full(void **state)
{
	struct world *w = *state;
	struct grove_session *s;
	struct grove_buf was, is;
	int rc;

	file_make(FILE_OF(w), BRANCHES);
	was = file_bytes(FILE_OF(w));
	s = session_at(w, FILE_OF(w), GROVE_OPEN_WRITE);
	limit_files(was.len + 40);
	rc = grove_session_append(s, text(OURS), NULL, NULL);
	no_limit();
	assert_signal_untouched();
	GOT(w, rc, GROVE_EFULL);
	/* the head of the line that fitted is cut off again */
	is = file_bytes(FILE_OF(w));
	assert_int_equal(is.len, was.len);
	assert_memory_equal(is.ptr, was.ptr, was.len);
	OK(w, grove_session_append(s, text(OURS), NULL, NULL));
	grove_session_close(s);
	grove__buf_release(&was);
	grove__buf_release(&is);
}

static void so_is_a_blob(void **state)
{
	struct world *w = *state;
	struct grove_blobs *b;
	char ref[GROVE_BLOB_REF_MAX];
	char bytes[9000];
	int rc;

	memset(bytes, 'x', sizeof(bytes));
	OK(w, grove_blobs_open(w->g, in_world(w, "blobs"), &b));
	limit_files(4096);
	rc = grove_blobs_put(b, (struct grove_slice){ bytes, sizeof(bytes) }, NULL, ref, NULL);
	no_limit();
	assert_signal_untouched();
	GOT(w, rc, GROVE_EFULL);
	OK(w, grove_blobs_put(b, (struct grove_slice){ bytes, sizeof(bytes) }, NULL, ref, NULL));
	grove_blobs_close(b);
}

#ifdef GROVE_TEST_SQLITE
static void so_is_a_database(void **state)
{
	struct world *w = *state;
	struct grove_create_options o = { .size = sizeof(o), .dialect = "pi", .id = "s1" };
	char url[8200], big[70000];
	struct grove_options wo = { .size = sizeof(wo), .home = w->home, .cwd = w->cwd,
				    .getenv = no_variables, .cache = "" };
	const char *stores[] = { url };
	struct grove_session *s;
	struct grove *g;
	int rc;

	snprintf(url, sizeof(url), "sqlite:%s", in_world(w, "s.db"));
	wo.stores = stores;
	wo.nr_stores = 1;
	OK(w, grove_open(&wo, &g));
	OK(w, grove_session_create(g, &o, &s));
	assert_grove(g, grove_session_append(s, text(OURS), NULL, NULL), 0, __FILE__, __LINE__);
	snprintf(big, sizeof(big), "{\"role\":\"user\",\"content\":\"%065000d\"}", 0);
	limit_files(40000);
	rc = grove_session_append(s, text(big), NULL, NULL);
	no_limit();
	assert_signal_untouched();
	assert_grove(g, rc, GROVE_EFULL, __FILE__, __LINE__);
	assert_grove(g, grove_session_append(s, text(big), NULL, NULL), 0, __FILE__, __LINE__);
	grove_session_close(s);
	grove_close(g);
}

/* What is kept beside sessions is a help: without it the answers are the same. */
static void caches_that_may_not_grow_are_done_without(void **state)
{
	struct world *w = *state;
	struct grove_options o = { .size = sizeof(o), .home = w->home, .cwd = w->cwd,
				   .getenv = no_variables, .cache = in_world(w, "cache") };
	struct grove_list_options lo = { .size = sizeof(lo), .flags = GROVE_LIST_ALL };
	struct grove_search_options so = { .size = sizeof(so) };
	struct grove_search *search;
	struct grove_list *l;
	struct grove *g;
	struct grove_hits *found;
	int rc, hits = 0;
	char dir[8192];

	snprintf(dir, sizeof(dir), "%s/.pi/agent/sessions/--w--", w->home);
	assert_int_equal(grove__sys_mkdirs(dir, 0700), 0);
	strcat(dir, "/2026-01-01T00-00-00-000Z_s1.jsonl");
	file_make(dir, BRANCHES);
	OK(w, grove_open(&o, &g));
	limit_files(1000);
	rc = grove_list(g, &lo, &l);
	if (!rc && !grove_search_open(g, 0, &search)) {
		if (!grove_search_run(search, "one", &so, &found))
			hits = (int)grove_hits_count(found);
		grove_hits_free(found);
		grove_search_close(search);
	}
	no_limit();
	assert_signal_untouched();
	assert_int_equal(rc, 0);
	assert_int_equal(grove_list_count(l), 1);
	assert_int_equal(hits, 1);
	grove_list_free(l);
	grove_close(g);
}
#endif

static void a_signal_that_waited_before_goes_on_waiting(void **state)
{
	struct grove__sys_limit l;
	sigset_t set, old;
	int sig;

	(void)state;
	sigemptyset(&set);
	sigaddset(&set, SIGXFSZ);
	assert_int_equal(pthread_sigmask(SIG_BLOCK, &set, &old), 0);
	assert_int_equal(pthread_kill(pthread_self(), SIGXFSZ), 0);
	limit_files(1 << 20);
	grove__sys_limit_begin(&l);
	assert_false(grove__sys_limit_end(&l));
	no_limit();
	assert_int_equal(sigwait(&set, &sig), 0);
	assert_int_equal(sig, SIGXFSZ);
	assert_int_equal(pthread_sigmask(SIG_SETMASK, &old, NULL), 0);
}

/* ------------------------------------------------------------- what is hidden */

static struct {
	int err;             /* of the n-th call */
	const char *call;
	int nth, warned;
	char path[4096];
} hide;

static int fail_nth(const char *call)
{
	return !strcmp(call, hide.call) && !hide.nth-- ? hide.err : 0;
}

static void count_warning(void *payload, enum grove_severity fatal, const struct grove_detail *why)
{
	(void)payload;
	assert_false(fatal);
	hide.warned++;
	snprintf(hide.path, sizeof(hide.path), "%s", why->path);
}

/* Two projects of a session each, and who listens to warnings. */
static struct grove *two_projects(struct world *w)
{
	struct grove_options o = { .size = sizeof(o), .home = w->home, .cwd = w->cwd,
				   .getenv = no_variables, .cache = "", .warn = count_warning };
	struct grove *g;
	char path[8192];

	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/.pi/agent/sessions/--%d--", w->home, i);
		assert_int_equal(grove__sys_mkdirs(path, 0700), 0);
		strcat(path, i ? "/2026-01-01T00-00-00-000Z_s2.jsonl" : "/2026-01-01T00-00-00-000Z_s1.jsonl");
		file_make(path, BRANCHES);
	}
	OK(w, grove_open(&o, &g));
	return g;
}

static int ignore_problem(void *payload, const struct grove_problem *p)
{
	(void)payload;
	(void)p;
	return 0;
}

static void fail_call(const char *call, int nth, int err)
{
	memset(&hide, 0, sizeof(hide));
	hide.call = call;
	hide.nth = nth;
	hide.err = err;
	grove__sys_fault = fail_nth;
}

/* Which of the calls to opendir() is the one for a project of pi's. */
static int opendir_of_a_project(struct grove *g)
{
	struct grove_list_options lo = { .size = sizeof(lo), .flags = GROVE_LIST_ALL };
	struct grove_list *l;

	for (int n = 0; n < 20; n++) {
		fail_call("opendir", n, EACCES);
		assert_int_equal(grove_list(g, &lo, &l), 0);
		grove__sys_fault = NULL;
		grove_list_free(l);
		if (hide.warned && strstr(hide.path, "--"))
			return n;
	}
	fail_msg("no directory is opened");
	return -1;
}

static void a_directory_that_cannot_be_read_is_told_about(void **state)
{
	struct world *w = *state;
	struct grove *g = two_projects(w);
	struct grove_list_options lo = { .size = sizeof(lo), .flags = GROVE_LIST_ALL };
	struct grove_list *l;
	int n = opendir_of_a_project(g), rc;

	grove_close(g);
	g = two_projects(w);
	fail_call("opendir", n, EACCES);
	assert_int_equal(grove_list(g, &lo, &l), 0);
	assert_int_equal(hide.warned, 1);
	assert_int_equal(grove_list_count(l), 1);
	grove_list_free(l);
	/* where all is promised, it is an error */
	grove_close(g);
	g = two_projects(w);
	fail_call("opendir", 1, EACCES);
	rc = grove_check(g, NULL, ignore_problem, NULL, NULL);
	grove__sys_fault = NULL;
	assert_int_equal(hide.warned, 1);
	assert_int_equal(rc, GROVE_EACCESS);
	grove_close(g);
}

static void descriptors_that_ran_out_are_no_empty_directory(void **state)
{
	struct world *w = *state;
	struct grove *g = two_projects(w);
	struct grove_list_options lo = { .size = sizeof(lo), .flags = GROVE_LIST_ALL };
	int n = opendir_of_a_project(g);
	static const int errs[] = { EMFILE, ENFILE };

	for (size_t i = 0; i < 2; i++) {
		struct grove_list *l = NULL;

		fail_call("opendir", n, errs[i]);
		if (!grove_list(g, &lo, &l))
			assert_int_not_equal(hide.warned, 0);
		grove__sys_fault = NULL;
		grove_list_free(l);
	}
	grove_close(g);
}

/* A session that may be the one that is meant cannot be opened. */
static void so_is_a_file_when_one_is_looked_for(void **state)
{
	struct world *w = *state;
	struct grove *g;
	struct grove_session *s = NULL;
	char path[8192];
	int rc;

	snprintf(path, sizeof(path), "%s/.pi/agent/sessions/--w--", w->home);
	assert_int_equal(grove__sys_mkdirs(path, 0700), 0);
	strcat(path, "/oddly-named.jsonl");
	file_make(path, BRANCHES);
	g = two_projects(w);
	for (int n = 0; n < 6; n++) {
		fail_call("open", n, EMFILE);
		rc = grove_session_open(g, "nosuch", GROVE_OPEN_READ, &s);
		grove__sys_fault = NULL;
		assert_true(rc < 0);
		grove_session_close(s);
		if (hide.nth < 0 && rc == GROVE_ENOTFOUND)
			assert_int_not_equal(hide.warned, 0);
		grove_close(g);
		g = two_projects(w);
	}
	grove_close(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(a_lock_that_is_never_given_up_is_a_conflict),
		WORLD_TEST(so_is_that_of_somebody_who_may_only_read),
		WORLD_TEST(a_log_under_a_lock_is_not_replaced),
		WORLD_TEST(a_file_that_may_not_grow_is_full),
		WORLD_TEST(so_is_a_blob),
#ifdef GROVE_TEST_SQLITE
		WORLD_TEST(so_is_a_database),
		WORLD_TEST(caches_that_may_not_grow_are_done_without),
#endif
		WORLD_TEST(a_directory_that_cannot_be_read_is_told_about),
		WORLD_TEST(descriptors_that_ran_out_are_no_empty_directory),
		WORLD_TEST(so_is_a_file_when_one_is_looked_for),
		cmocka_unit_test(a_signal_that_waited_before_goes_on_waiting),
	};

	grove__sys_lock_ms = 30;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
