/*
 * tests/unit/test_submit.c: entries that are submitted now and written later, to
 * a store that is slow or that fails.
 */
#include <errno.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "../lib/world.h"
#include "../lib/calls.h"
#include "store/store.h"

#define SAID "{\"role\":\"user\",\"content\":\"x\"}"

/* ------------------------------------------------- a store that takes its time */

static sem_t may_go;
static int appends;             /* atomic */
static int slow;                /* atomic: an append does not return before it may go */

static void on_call(void *payload, const char *line)
{
	(void)payload;
	if (!strstr(line, ".append "))
		return;
	__atomic_fetch_add(&appends, 1, __ATOMIC_RELAXED);
	if (__atomic_load_n(&slow, __ATOMIC_RELAXED))
		while (sem_wait(&may_go))
			;
}

static int open_slow(void *payload, const char *url, struct grove_store **out, struct grove_detail *d)
{
	struct grove_store *inner;
	int rc = grove__store_memory_open(&inner, "", d);

	(void)payload;
	(void)url;
	return rc ? rc : grove__store_trace_open(out, inner, on_call, NULL, d);
}

static struct grove *slow_world(struct world *w, struct grove_session **s)
{
	static const struct grove_store_type type = { .size = sizeof(type), .scheme = "slow", .open = open_slow };
	static const char *const stores[] = { "slow:" };
	struct grove_options o = { .size = sizeof(o), .home = w->home, .cwd = w->cwd, .getenv = no_variables,
				   .cache = "", .stores = stores, .nr_stores = 1, .store_types = &type,
				   .nr_store_types = 1 };
	struct grove_create_options c = { .size = sizeof(c), .flags = GROVE_CREATE_NOW };
	struct grove *g;

	sem_init(&may_go, 0, 0);
	assert_int_equal(grove_open(&o, &g), 0);
	assert_int_equal(grove_session_create(g, &c, s), 0);
	__atomic_store_n(&slow, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&appends, 0, __ATOMIC_RELAXED);
	return g;
}

static void hurry(void)
{
	__atomic_store_n(&slow, 0, __ATOMIC_RELAXED);
	sem_post(&may_go);
}

static void leave(struct grove *g, struct grove_session *s)
{
	grove_session_close(s);
	grove_close(g);
	sem_destroy(&may_go);
}

static int submit(struct grove_session *s)
{
	struct grove_slice json = text(SAID);

	return grove_session_submit(s, &json, 1, NULL, NULL);
}

static void nobody_waits_for_a_slow_store(void **state)
{
	struct world *w = *state;
	struct grove_append_options o = { .size = sizeof(o), .flags = GROVE_APPEND_LINES };
	struct grove_append_result r = { .size = sizeof(r) };
	struct grove_slice json = text(SAID);
	struct grove_session *s;
	struct grove *g = slow_world(w, &s);

	for (uint32_t i = 0; i < 100; i++) {
		OK(w, grove_session_submit(s, &json, 1, &o, &r));
		assert_int_equal(r.first, i);
		assert_non_null(strstr(r.lines.ptr, r.id));
		grove_buf_release(&r.lines);
	}
	/* the store has not answered once */
	assert_int_equal(grove_session_pending(s), 100);
	hurry();
	OK(w, grove_session_flush(s, GROVE_SYNC_NONE));
	assert_int_equal(grove_session_pending(s), 0);
	/* what had come together went in few writes: the first ones, and the rest */
	assert_in_range(__atomic_load_n(&appends, __ATOMIC_RELAXED), 1, 2);
	assert_int_equal(counts_of(w, s).entries, 100);
	leave(g, s);
}

static void so_much_may_wait_and_no_more(void **state)
{
	enum { BIG = 9 << 20 };
	struct world *w = *state;
	struct grove_buf big = GROVE_BUF_INIT;
	struct grove_slice json;
	struct grove_session *s;
	struct grove *g = slow_world(w, &s);
	char *x = malloc(BIG);
	int nr = 0, rc;

	assert_non_null(x);
	memset(x, 'x', BIG);
	OK(w, grove_buf_add(&big, text("{\"role\":\"user\",\"content\":\"")));
	OK(w, grove_buf_add(&big, (struct grove_slice){ x, BIG }));
	OK(w, grove_buf_add(&big, text("\"}")));
	free(x);
	json = grove_buf_slice(&big);
	while (!(rc = grove_session_submit(s, &json, 1, NULL, NULL)))
		nr++;
	assert_int_equal(rc, GROVE_EFULL);
	assert_int_equal(nr, 7);
	hurry();
	/* once there is room it goes on */
	OK(w, grove_session_flush(s, GROVE_SYNC_NONE));
	OK(w, grove_session_submit(s, &json, 1, NULL, NULL));
	OK(w, grove_session_flush(s, GROVE_SYNC_NONE));
	assert_int_equal(counts_of(w, s).entries, 8);
	grove_buf_release(&big);
	leave(g, s);
}

/* ----------------------------------------------------------- one that fails */

static void the_first_failure_stays(void **state)
{
	struct world *w = *state;
	struct grove_session *s = session_at(w, make(w, "a.jsonl", BRANCHES), GROVE_OPEN_WRITE);
	struct grove_view *v;

	OK(w, submit(s));
	OK(w, grove_session_flush(s, GROVE_SYNC_NONE));
	fail_at("write", ENOSPC, 0, 1000);
	OK(w, submit(s));
	GOT(w, grove_session_flush(s, GROVE_SYNC_NONE), GROVE_EFULL);
	all_is_well();
	GOT(w, submit(s), GROVE_EFULL);
	GOT(w, grove_session_append(s, text(SAID), NULL, NULL), GROVE_EFULL);
	GOT(w, grove_session_view(s, &v), GROVE_EFULL);
	GOT(w, grove_session_flush(s, GROVE_SYNC_ALWAYS), GROVE_EFULL);
	assert_null(grove_session_leaf(s));
	grove_session_close(s);
	assert_int_equal(lines_in(in_world(w, "a.jsonl")), 7);
	s = session_at(w, in_world(w, "a.jsonl"), GROVE_OPEN_WRITE);
	OK(w, submit(s));
	grove_session_close(s);
	assert_int_equal(lines_in(in_world(w, "a.jsonl")), 8);
}

static int warned;

static void on_warning(void *payload, enum grove_severity severity, const struct grove_detail *why)
{
	(void)payload;
	assert_int_equal(severity, GROVE_SEVERITY_FATAL);
	assert_int_equal(why->code, GROVE_EFULL);
	warned++;
}

static void a_failure_that_nobody_was_told_of_is_a_warning(void **state)
{
	struct world *w = *state;
	struct grove_options o = { .size = sizeof(o), .home = w->home, .cwd = w->cwd, .getenv = no_variables,
				   .cache = "", .warn = on_warning };
	struct grove_session *s;
	struct grove *g;

	OK(w, grove_open(&o, &g));
	OK(w, grove_session_open(g, make(w, "a.jsonl", BRANCHES), GROVE_OPEN_WRITE, &s));
	warned = 0;
	fail_at("write", ENOSPC, 0, 1000);
	OK(w, submit(s));
	grove_session_close(s);
	all_is_well();
	assert_int_equal(warned, 1);
	grove_close(g);
}

/* ------------------------------------------------------------ how logs begin */

static void a_deferred_session_stays_deferred(void **state)
{
	struct world *w = *state;
	struct grove_session *s = fresh(w, 0);
	struct grove_slice model = text("{\"type\":\"model_change\",\"provider\":\"p\",\"modelId\":\"m\"}");

	OK(w, grove_session_submit(s, &model, 1, NULL, NULL));
	OK(w, grove_session_flush(s, GROVE_SYNC_ALWAYS));
	assert_false(is_there(grove_session_path(s)));
	assert_int_equal(grove_session_pending(s), 1);
	OK(w, submit(s));
	assert_true(is_there(grove_session_path(s)));
	OK(w, submit(s));
	OK(w, grove_session_flush(s, GROVE_SYNC_NONE));
	assert_int_equal(lines_in(grove_session_path(s)), 4);
	grove_session_close(s);
}

static void a_line_that_was_torn_is_ended_first(void **state)
{
	struct world *w = *state;
	struct grove_session *s = session_at(w, make(w, "a.jsonl", BRANCHES "{\"type\":\"mess"), GROVE_OPEN_WRITE);

	OK(w, submit(s));
	OK(w, submit(s));
	grove_session_close(s);
	s = session_at(w, in_world(w, "a.jsonl"), GROVE_OPEN_READ);
	assert_int_equal(counts_of(w, s).entries, 7);
	assert_int_equal(counts_of(w, s).malformed, 1);
	grove_session_close(s);
}

static void a_child_cannot_use_it(void **state)
{
	struct world *w = *state;
	struct grove_session *s = session_at(w, make(w, "a.jsonl", BRANCHES), GROVE_OPEN_WRITE);
	int status;
	pid_t pid;

	OK(w, submit(s));
	OK(w, grove_session_flush(s, GROVE_SYNC_NONE));
	pid = fork();
	if (!pid)
		_exit(submit(s) == GROVE_EINVAL && grove_session_flush(s, GROVE_SYNC_NONE) == GROVE_EINVAL ? 0 : 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	OK(w, submit(s));
	grove_session_close(s);
	assert_int_equal(lines_in(in_world(w, "a.jsonl")), 8);
}

/* ------------------------------------------------------------- many threads */

static void *submit_many(void *payload)
{
	for (int i = 0; i < 200; i++)
		if (submit(payload) || (i % 50 == 0 && grove_session_append(payload, text(SAID), NULL, NULL)))
			return payload;
	return NULL;
}

static void many_threads_submit_and_append(void **state)
{
	struct world *w = *state;
	struct grove_session *s = session_at(w, make(w, "a.jsonl", BRANCHES), GROVE_OPEN_WRITE);
	pthread_t t[4];
	void *failed;

	for (size_t i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&t[i], NULL, submit_many, s), 0);
	for (size_t i = 0; i < 4; i++) {
		pthread_join(t[i], &failed);
		assert_null(failed);
	}
	OK(w, grove_session_flush(s, GROVE_SYNC_NONE));
	assert_int_equal(counts_of(w, s).entries, 5 + 4 * 204);
	assert_int_equal(counts_of(w, s).orphans, 0);
	grove_session_close(s);
	assert_int_equal(lines_in(in_world(w, "a.jsonl")), 6 + 4 * 204);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		WORLD_TEST(nobody_waits_for_a_slow_store),
		WORLD_TEST(so_much_may_wait_and_no_more),
		WORLD_TEST(the_first_failure_stays),
		WORLD_TEST(a_failure_that_nobody_was_told_of_is_a_warning),
		WORLD_TEST(a_deferred_session_stays_deferred),
		WORLD_TEST(a_line_that_was_torn_is_ended_first),
		WORLD_TEST(a_child_cannot_use_it),
		WORLD_TEST(many_threads_submit_and_append),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
