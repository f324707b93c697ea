/*
 * tests/unit/test_append_faults.c: appends when memory runs out or the disk
 * fails.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../lib/world.h"

#include "session/session.h"

#include <sched.h>
#include <semaphore.h>

static long countdown = -1;      /* allocations until one fails; below 0: none does */

static int due(void)
{
	return __atomic_load_n(&countdown, __ATOMIC_RELAXED) >= 0 &&
	       __atomic_fetch_sub(&countdown, 1, __ATOMIC_RELAXED) == 0;
}

#define ALLOC_DUE due
#include "../lib/alloc.h"
#include "../lib/calls.h"

static struct grove_session *begin(struct world *w)
{
	struct grove_create_options o = { .size = sizeof(o), .cwd = w->cwd, .dir = w->cwd };
	struct grove_session *s;

	OK(w, grove_session_create(w->g, &o, &s));
	return s;
}

/*
 * A whole entry is checked once more when it is composed, and one that is nested
 * this deeply needs memory for that. Without the memory it must not be taken for
 * an unknown kind of entry: as a user's message it has to create the file.
 */
static void an_entry_is_understood_or_refused(void **state)
{
	enum { DEPTH = 1500 };
	struct world *w = *state;
	struct grove_buf json = GROVE_BUF_INIT;
	int rc = GROVE_ENOMEM, refused = 0;

	assert_int_equal(grove__buf_add_str(&json, "{\"type\":\"message\",\"message\":{\"role\":\"user\","
						  "\"content\":\"x\",\"deep\":"), 0);
	for (int i = 0; i < DEPTH; i++)
		assert_int_equal(grove__buf_add_str(&json, "["), 0);
	for (int i = 0; i < DEPTH; i++)
		assert_int_equal(grove__buf_add_str(&json, "]"), 0);
	assert_int_equal(grove__buf_add_str(&json, "}}"), 0);
	for (long n = 0; rc < 0; n++) {
		struct grove_session *s = begin(w);

		countdown = n;
		rc = grove_session_append(s, (struct grove_slice){ json.ptr, json.len }, NULL, NULL);
		countdown = -1;
		refused += rc != 0;
		/* EIO: it was stored, but the log could not be read again */
		assert_true(!rc || rc == GROVE_ENOMEM || rc == GROVE_EIO);
		assert_int_equal(grove_session_pending(s), 0);
		assert_int_equal(access(grove_session_path(s), F_OK), rc == GROVE_ENOMEM ? -1 : 0);
		grove_session_close(s);
	}
	assert_true(refused > 3);
	grove_buf_release(&json);
}

/* ------------------------------------------------- threads that wait for the disk */

enum { THREADS = 8, TIMES = 20 };

struct crowd {
	struct grove_session *s;
	bool wrong;                 /* the first thread appends something invalid */
	unsigned good[THREADS], io[THREADS], json[THREADS];
};

struct member {
	struct crowd *c;
	unsigned nr;
};

static int no_datasync(const char *call)
{
	return strcmp(call, "fdatasync") ? 0 : EIO;
}

static void *append_some(void *arg)
{
	struct member *m = arg;
	struct grove_append_options o = { .size = sizeof(o), .sync = GROVE_SYNC_ALWAYS };

	for (int i = 0; i < TIMES; i++) {
		const char *json = m->c->wrong && !m->nr ? "no JSON"
							 : "{\"role\":\"user\",\"content\":\"x\"}";
		int rc = grove_session_append(m->c->s, text(json), &o, NULL);

		m->c->good[m->nr] += !rc;
		m->c->io[m->nr] += rc == GROVE_EIO;
		m->c->json[m->nr] += rc == GROVE_EJSON;
	}
	return NULL;
}

static void run(struct crowd *c)
{
	struct member m[THREADS];
	pthread_t thread[THREADS];

	for (unsigned i = 0; i < THREADS; i++) {
		m[i] = (struct member){ c, i };
		assert_int_equal(pthread_create(&thread[i], NULL, append_some, &m[i]), 0);
	}
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
}

static void a_sync_that_fails_is_told_to_all_who_waited_for_it(void **state)
{
	struct world *w = *state;
	struct crowd c = { .s = begin(w) };
	struct grove_detail d;

	user(w, c.s, "there is a file");
	grove__sys_fault = no_datasync;
	run(&c);
	grove__sys_fault = NULL;
	for (unsigned i = 0; i < THREADS; i++) {
		assert_int_equal(c.good[i], 0);
		assert_int_equal(c.io[i], TIMES);
	}
	grove_session_error(c.s, &d);
	assert_int_equal(d.code, GROVE_EIO);
	assert_true(d.message[0] != '\0');
	/*
	 * it is not known what is on the disk: this handle cannot be used any more, but another one
	 * can
	 */
	GOT(w, grove_session_append(c.s, text("{\"role\":\"user\",\"content\":\"x\"}"), NULL, NULL),
	    GROVE_EIO);
	/* … and it repeats the reason */
	grove_session_error(c.s, &d);
	assert_non_null(strstr(d.message, "an earlier write failed"));
	assert_non_null(strstr(d.message, strerror(EIO)));
	grove_session_close(c.s);
}

/* An entry that is refused does not affect those with which it waited. */
static void each_of_those_who_wait_has_an_answer_of_its_own(void **state)
{
	struct world *w = *state;
	struct crowd c = { .s = begin(w), .wrong = true };
	struct grove_view *v;

	user(w, c.s, "there is a file");
	run(&c);
	assert_int_equal(c.json[0], TIMES);
	for (unsigned i = 1; i < THREADS; i++)
		assert_int_equal(c.good[i], TIMES);
	v = view_of(w, c.s);
	assert_int_equal(grove_view_count(v), 1 + (THREADS - 1) * TIMES);
	grove_view_unref(v);
	grove_session_close(c.s);
}

/* ------------------------------------------- what happens while somebody waits */

static struct {
	const char *call;           /* the first call with this name waits until `go` */
	int shut;
	sem_t there, go;
} gate;

static int held_up(const char *call)
{
	if (!strcmp(call, gate.call) && __atomic_exchange_n(&gate.shut, 0, __ATOMIC_ACQ_REL)) {
		sem_post(&gate.there);
		while (sem_wait(&gate.go))
			;
	}
	return 0;
}

static void shut_gate(const char *call)
{
	gate.call = call;
	gate.shut = 1;
	sem_init(&gate.there, 0, 0);
	sem_init(&gate.go, 0, 0);
	grove__sys_fault = held_up;
}

static void wait_at_gate(void)
{
	while (sem_wait(&gate.there))
		;
}

static void open_gate(void)
{
	sem_post(&gate.go);
}

struct one {
	struct grove_session *s;
	enum grove_sync sync;
	pthread_t thread;
	bool done;
	int rc;
};

static void *append_one(void *arg)
{
	struct one *o = arg;
	struct grove_append_options opt = { .size = sizeof(opt), .sync = o->sync };

	o->rc = grove_session_append(o->s, text("{\"role\":\"user\",\"content\":\"x\"}"), &opt, NULL);
	o->done = true;
	pthread_testcancel();
	return NULL;
}

static void start(struct one *o, struct grove_session *s, enum grove_sync sync)
{
	*o = (struct one){ .s = s, .sync = sync };
	assert_int_equal(pthread_create(&o->thread, NULL, append_one, o), 0);
}

static void assert_appended(struct one *o)
{
	pthread_join(o->thread, NULL);
	assert_true(o->done);
	assert_int_equal(o->rc, 0);
}

/* A session that moves leaves its log. A thread that waits for the disk still uses that log. */
static void a_log_that_is_left_while_it_is_synced_stays_open(void **state)
{
	struct world *w = *state;
	struct grove_create_options o = { .size = sizeof(o), .cwd = w->cwd };
	struct grove_session *s;
	struct one one;

	OK(w, grove_session_create(w->g, &o, &s));
	user(w, s, "there is a file");
	shut_gate("fdatasync");
	start(&one, s, GROVE_SYNC_ALWAYS);
	wait_at_gate();
	OK(w, grove_session_move(s, w->home));
	/* the old log is closed before the next move, unless a thread still uses it */
	GOT(w, grove_session_move(s, w->cwd), GROVE_ECONFLICT);
	open_gate();
	assert_appended(&one);
	grove__sys_fault = NULL;
	OK(w, grove_session_move(s, w->cwd));
	assert_int_equal(counts_of(w, s).entries, 2);
	grove_session_close(s);
}

static struct grove__append_group *waiting(struct grove_session *s)
{
	return __atomic_load_n(&s->writing.group, __ATOMIC_ACQUIRE);
}

/* A, which does not wait for the disk, holds the lock; B waits for the lock, and C for B. */
static void line_up(struct grove_session *s, struct one *a, struct one *b, struct one *c)
{
	struct grove__append_group *first;

	shut_gate("write");
	start(a, s, GROVE_SYNC_NONE);
	wait_at_gate();
	start(b, s, GROVE_SYNC_ALWAYS);
	while (!(first = waiting(s)))
		sched_yield();
	start(c, s, GROVE_SYNC_ALWAYS);
	while (waiting(s) == first)
		sched_yield();
}

/* A thread that is cancelled ends after its line was stored, and the others get their answers. */
static void a_thread_that_waits_cannot_be_cancelled(void **state)
{
	struct world *w = *state;
	struct grove_session *s = begin(w);
	struct one a, b, c;

	user(w, s, "there is a file");
	line_up(s, &a, &b, &c);
	assert_int_equal(pthread_cancel(c.thread), 0);
	assert_int_equal(pthread_cancel(b.thread), 0);
	open_gate();
	assert_appended(&a);
	assert_appended(&b);
	assert_appended(&c);
	grove__sys_fault = NULL;
	assert_int_equal(counts_of(w, s).entries, 4);
	assert_one_line(w, s);
	grove_session_close(s);
}

/* B asks for the sync, and C gets its result. */
static void those_who_waited_for_another_are_told_too(void **state)
{
	struct world *w = *state;
	struct grove_session *s = begin(w);
	struct one a, b, c;

	user(w, s, "there is a file");
	line_up(s, &a, &b, &c);
	grove__sys_fault = no_datasync;
	open_gate();
	assert_appended(&a);
	pthread_join(b.thread, NULL);
	pthread_join(c.thread, NULL);
	grove__sys_fault = NULL;
	assert_int_equal(b.rc, GROVE_EIO);
	assert_int_equal(c.rc, GROVE_EIO);
	grove_session_close(s);
}

/* ------------------------------------------------- what comes in between */

static struct grove_session *quick;     /* appends right after the next time the log is examined */

int __real_grove__log_stat(struct grove_store_log *log, struct grove_store_log_stat *out,
			   struct grove_detail *d);
int __wrap_grove__log_stat(struct grove_store_log *log, struct grove_store_log_stat *out,
			   struct grove_detail *d);
int __wrap_grove__log_stat(struct grove_store_log *log, struct grove_store_log_stat *out,
			   struct grove_detail *d)
{
	int rc = __real_grove__log_stat(log, out, d);
	struct grove_session *s = quick;

	quick = NULL;
	if (s)
		assert_int_equal(grove_session_append(s, text("{\"role\":\"user\",\"content\":\"y\"}"), NULL, NULL), 0);
	return rc;
}

/* A moved leaf is followed; but a line that arrives while the leaf is being read is reported. */
static void a_line_behind_a_moved_leaf_is_told_of(void **state)
{
	struct world *w = *state;
	struct grove_slice json = text("{\"role\":\"user\",\"content\":\"x\"}");
	const char *const stores[] = { "memory:" };
	struct grove_options o = { .size = sizeof(o), .home = w->home, .cwd = w->cwd,
				   .getenv = no_variables, .cache = "", .stores = stores, .nr_stores = 1 };
	struct grove_create_options new = { .size = sizeof(new), .flags = GROVE_CREATE_NOW };
	struct grove_session *s, *t;
	const char *first;
	struct grove *g;

	assert_int_equal(grove_open(&o, &g), 0);
	assert_int_equal(grove_session_create(g, &new, &s), 0);
	assert_int_equal(grove_session_append(s, json, NULL, INTO(&first)), 0);
	assert_int_equal(grove_session_append(s, json, NULL, NULL), 0);
	assert_int_equal(grove_session_open(g, grove_session_id(s), GROVE_OPEN_WRITE | GROVE_OPEN_STRICT, &t), 0);
	assert_int_equal(grove_session_refresh(t), 0);
	assert_int_equal(grove_session_set_leaf(s, first, LEAF(GROVE_LEAF_PERSIST), NULL), 0);
	quick = s;
	assert_int_equal(grove_session_append(t, json, NULL, NULL), GROVE_ECONFLICT);
	assert_null(quick);
	assert_int_equal(counts_of(w, s).entries, 3);
	/* now the handle knows of the line */
	assert_int_equal(grove_session_append(t, json, NULL, NULL), 0);
	grove_session_close(t);
	grove_session_close(s);
	grove_close(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(an_entry_is_understood_or_refused),
		WORLD_TEST(a_sync_that_fails_is_told_to_all_who_waited_for_it),
		WORLD_TEST(each_of_those_who_wait_has_an_answer_of_its_own),
		WORLD_TEST(a_log_that_is_left_while_it_is_synced_stays_open),
		WORLD_TEST(a_thread_that_waits_cannot_be_cancelled),
		WORLD_TEST(those_who_waited_for_another_are_told_too),
		WORLD_TEST(a_line_behind_a_moved_leaf_is_told_of),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
