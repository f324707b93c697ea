/*
 * tests/unit/test_watch_faults.c: a watch where the system will not report, or has
 * no more descriptors.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../lib/world.h"
#include "../lib/calls.h"

#define PATIENCE 20000

static void expect_append(struct grove_watch *x, const char *id)
{
	struct grove_event e = { .size = sizeof(e) };
	struct grove_detail d;
	int rc = grove_watch_next(x, PATIENCE, &e);

	grove_watch_error(x, &d);
	if (rc)
		fail_msg("%d: %s", rc, d.message);
	assert_int_equal(e.kind, GROVE_EVENT_APPEND);
	assert_string_equal(e.entry_id, id);
}

/* Appends are told although `call` fails with `err` for ever. */
static void assert_polls(struct world *w, const char *call, int err)
{
	struct grove_session *s = fresh(w, GROVE_CREATE_NOW);
	struct grove_watch *x;
	struct grove_event e = { .size = sizeof(e) };
	const char *id;

	fail_at(call, err, 0, -1);
	OK(w, watch_one(w->g, grove_session_path(s), GROVE_REV_NOW, &x));
	assert_int_equal(grove_watch_next(x, 0, &e), 1);
	id = user(w, s, "one");
	expect_append(x, id);
	id = user(w, s, "two");
	expect_append(x, id);
	/* and once it does report, that is used */
	all_is_well();
	assert_int_equal(grove_watch_next(x, 500, &e), 1);
	id = user(w, s, "three");
	expect_append(x, id);
	grove_watch_close(x);
	grove_session_close(s);
}

static void without_an_inotify_instance_files_are_polled(void **state)
{
	assert_polls(*state, "inotify_init", EMFILE);
}

static void beyond_the_limit_of_watches_files_are_polled(void **state)
{
	assert_polls(*state, "inotify_add_watch", ENOSPC);
}

static void without_descriptors_there_is_no_set_but_a_reason(void **state)
{
	static const char *const calls[] = { "epoll_create", "eventfd", "timerfd", "epoll_ctl" };
	struct world *w = *state;
	struct grove_watch *x;
	struct grove_detail d;

	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		fail_at(calls[i], EMFILE, 0, -1);
		assert_true(grove_watch_open(w->g, NULL, &x) < 0);
		all_is_well();
		grove_watch_error(x, &d);
		assert_true(d.code < 0);
		grove_watch_close(x);
	}
}

/* A look that fails is told, and made up for later. */
static void a_look_that_fails_loses_nothing(void **state)
{
	struct world *w = *state;
	struct grove_session *s = fresh(w, GROVE_CREATE_NOW);
	struct grove_event e = { .size = sizeof(e) };
	struct grove_watch *x;
	const char *id;

	OK(w, watch_one(w->g, grove_session_path(s), GROVE_REV_NOW, &x));
	id = user(w, s, "one");
	fail_at("pread", EIO, 0, -1);
	assert_int_equal(grove_watch_next(x, 0, &e), GROVE_EIO);
	assert_int_equal(grove_watch_next(x, 0, &e), 1);
	all_is_well();
	expect_append(x, id);
	grove_watch_close(x);
	grove_session_close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(without_an_inotify_instance_files_are_polled, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(beyond_the_limit_of_watches_files_are_polled, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(without_descriptors_there_is_no_set_but_a_reason, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(a_look_that_fails_loses_nothing, world_setup, world_teardown),
	};

	return cmocka_run_group_tests_name("watch_faults", tests, NULL, NULL);
}
