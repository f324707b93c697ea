/*
 * tests/unit/test_watch_faults.c: a watch when the system cannot report changes,
 * or has no more descriptors.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <unistd.h>

#include "../lib/world.h"
#include "../lib/calls.h"
#include "store/store.h"

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

/* Asserts that appends are reported although `call` always fails with `err`. */
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
	/* and once the system does report changes, that is used */
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

/* If reading fails once, the error is reported, and what was missed is reported later. */
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

/*
 * A store that answers late once, as a cluster does that has just lost a node. What
 * happens in the meantime must not be delayed by several times as much.
 */
static struct {
	struct grove_store_ops ops;
	const struct grove_store_ops *real;
	struct world *w;
	struct grove_session *s;
	const char *id;
	bool late;
} once;

static int open_late_log(struct grove_store *st, const struct grove_key *key, unsigned flags,
			 struct grove_store_log **out, struct grove_detail *d)
{
	int rc = once.real->open(st, key, flags, out, d);

	if (!rc)
		(*out)->ops = &once.ops;
	return rc;
}

static int stat_late(struct grove_store_log *log, struct grove_store_log_stat *out, struct grove_detail *d)
{
	int rc = once.real->stat(log, out, d);

	if (once.late) {
		once.late = false;
		once.id = user(once.w, once.s, "meanwhile");
		usleep(800 * 1000);
	}
	return rc;
}

static int open_late_store(void *payload, const char *url, struct grove_store **out,
			   struct grove_detail *d)
{
	int rc = grove__store_open(out, "memory:", d);

	(void)payload;
	(void)url;
	if (rc)
		return rc;
	once.real = (*out)->ops;
	once.ops = *once.real;
	once.ops.open = open_late_log;
	once.ops.stat = stat_late;
	once.ops.survey = NULL;
	(*out)->ops = &once.ops;
	return 0;
}

static void one_late_answer_is_not_paid_for_tenfold(void **state)
{
	const struct grove_store_type late = { .size = sizeof(late), .scheme = "late",
					       .open = open_late_store };
	const char *store = "late:";
	struct world *w = *state;
	struct grove_options o = { .size = sizeof(o), .home = w->home, .cwd = w->cwd,
				   .getenv = no_variables, .stores = &store, .nr_stores = 1,
				   .store_types = &late, .nr_store_types = 1, .dialect = "pi" };
	struct grove_event e = { .size = sizeof(e) };
	struct grove_watch *x;

	grove_close(w->g);
	assert_int_equal(grove_open(&o, &w->g), 0);
	once.w = w;
	once.s = fresh(w, GROVE_CREATE_NOW);
	OK(w, watch_one(w->g, grove_session_id(once.s), GROVE_REV_NOW, &x));
	assert_int_equal(grove_watch_next(x, 0, &e), 1);
	once.late = true;
	/* in one call: a caller that calls again would ask the store at once */
	assert_int_equal(grove_watch_next(x, 4000, &e), 0);
	assert_int_equal(e.kind, GROVE_EVENT_APPEND);
	assert_string_equal(e.entry_id, once.id);
	grove_watch_close(x);
	grove_session_close(once.s);
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
		cmocka_unit_test_setup_teardown(one_late_answer_is_not_paid_for_tenfold, world_setup,
						world_teardown),
	};

	return cmocka_run_group_tests_name("watch_faults", tests, NULL, NULL);
}
