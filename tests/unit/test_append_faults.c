/*
 * tests/unit/test_append_faults.c: what an append must not take for granted:
 * memory, and the disk.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../lib/world.h"

static long countdown = -1;      /* allocations until one fails; below 0: none does */

static int due(void)
{
	return __atomic_load_n(&countdown, __ATOMIC_RELAXED) >= 0 &&
	       __atomic_fetch_sub(&countdown, 1, __ATOMIC_RELAXED) == 0;
}

#define ALLOC_DUE due
#include "../lib/alloc.h"

static struct grove_session *begin(struct world *w)
{
	struct grove_new_options o = { .size = sizeof(o), .cwd = w->cwd, .dir = w->cwd };
	struct grove_session *s;

	OK(w, grove_session_new(w->g, &o, &s));
	return s;
}

/*
 * A whole entry is looked at again when it is composed, and one that nests this
 * deeply needs memory for that. Without it the entry is not one that nobody knows
 * anything of: as a user's message it has to start the file.
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
		/* EIO: stored, but what the log looks like now could not be read */
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
	bool wrong;                 /* the first thread asks for what cannot be */
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
	/* nobody knows what the disk has: the handle is of no more use, another one is */
	GOT(w, grove_session_append(c.s, text("{\"role\":\"user\",\"content\":\"x\"}"), NULL, NULL),
	    GROVE_EIO);
	grove_session_close(c.s);
}

/* One that is refused spoils nothing for those that it waited with. */
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(an_entry_is_understood_or_refused),
		WORLD_TEST(a_sync_that_fails_is_told_to_all_who_waited_for_it),
		WORLD_TEST(each_of_those_who_wait_has_an_answer_of_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
