/*
 * tests/unit/test_session_faults.c: the Nth allocation fails, or the Nth system
 * call, for every N in a typical use of a session.
 *
 * Whatever fails, nothing crashes or leaks (the sanitizers check this), each
 * acknowledged entry is in the file once, every line is whole, and whoever
 * opens the session next can use it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../lib/world.h"

/* ------------------------------------------------------------------- faults */

static long countdown = -1;      /* calls until one fails; below 0: none does */

static int due(void)
{
	return __atomic_load_n(&countdown, __ATOMIC_RELAXED) >= 0 &&
	       __atomic_fetch_sub(&countdown, 1, __ATOMIC_RELAXED) == 0;
}

#define ALLOC_DUE due
#include "../lib/alloc.h"
#include "../lib/calls.h"

static long calls = -1;
static int call_error;

static int nth_call(const char *call)
{
	(void)call;
	/* a listing calls this from several threads */
	return __atomic_fetch_sub(&calls, 1, __ATOMIC_RELAXED) == 0 ? call_error : 0;
}

/* ----------------------------------------------------------- a day's work */

struct day {
	struct world *w;
	struct grove *g;
	char path[8192];
	char id[16][40];             /* acknowledged */
	int nr;
	int failures;
};

static int note(struct day *d, int rc, const char *id)
{
	if (rc < 0)
		d->failures++;
	else if (id)
		snprintf(d->id[d->nr++], sizeof(d->id[0]), "%s", id);
	return rc;
}

static int ignore(void *payload, const char *ptr, size_t len)
{
	(void)payload;
	(void)ptr;
	(void)len;
	return 0;
}

static void look(struct day *d, struct grove_session *s)
{
	struct grove_sink sink = { ignore, NULL };
	struct grove_context_options o = { .size = sizeof(o), .flags = GROVE_CONTEXT_LLM | GROVE_CONTEXT_EXPLAIN };
	struct grove_buf b = GROVE_BUF_INIT;
	struct grove_view *v = NULL;
	uint32_t *child;
	size_t nr;

	if (!note(d, grove_session_view(s, &v), NULL)) {
		note(d, grove_view_context(v, NULL, sink), NULL);
		note(d, grove_view_context(v, &o, sink), NULL);
		note(d, grove_view_tree(v, 0, sink), NULL);
		note(d, grove_view_log(v, 0, sink), NULL);
		note(d, grove_view_raw(v, sink), NULL);
		note(d, grove_view_line(v, 0, 0, &b), NULL);
		if (!note(d, children_rows(v, GROVE_NO_ENTRY, 1, &child, &nr), NULL))
			free(child);
		if (!note(d, path_rows(v, grove_view_leaf(v), &child, &nr), NULL))
			free(child);
	}
	grove_buf_release(&b);
	grove_view_unref(v);
}

static void write_some(struct day *d, struct grove_session *s)
{
	struct grove_compaction c = { .size = sizeof(c), .summary = "sum", .tokens_before = 1 };
	struct grove_branch_summary b = { .size = sizeof(b), .summary = "left" };
	struct grove_append_options o = { .size = sizeof(o), .sync = GROVE_SYNC_ALWAYS };
	struct grove_slice json[2] = { text("{\"role\":\"user\",\"content\":\"1\"}"),
				       text("{\"role\":\"assistant\",\"content\":\"2\"}") };
	const char *id = NULL, *ids[2] = { NULL, NULL };

	note(d, grove_session_append(s, json[0], &o, INTO(&id)), id);
	if (!note(d, grove_session_append_many(s, json, 2, NULL, INTO(ids)), ids[0]))
		note(d, 0, ids[1]);
	note(d, grove_session_append_label(s, "u1", "label", NULL, INTO(&id)), id);
	note(d, append_edit(s, "u1", NULL, INTO(&id)), id);
	note(d, grove_session_set_name(s, "name", GROVE_NAME_BY_USER, INTO(&id)), id);
	note(d, grove_session_append_compaction(s, &c, NULL, INTO(&id)), id);
	note(d, branch_from(s, "a1", &b, &id), id);
	note(d, grove_session_set_leaf(s, "u1", LEAF(GROVE_LEAF_PERSIST), NULL), NULL);
}

static int problem(void *payload, const struct grove_problem *p)
{
	(void)payload;
	(void)p;
	return 0;
}

static void whole_sessions(struct day *d, struct grove_session *s)
{
	struct grove_fork_options o = { .size = sizeof(o), .leaf = "a1", .cwd = "/somewhere" };
	struct grove_list_options lo = { .size = sizeof(lo), .flags = GROVE_LIST_ALL, .query = "one" };
	struct grove_check_result r = { .size = sizeof(r) };
	struct grove_session *t;
	struct grove_list *l;
	int rc;

	note(d, grove_session_fork(s, NULL, &t), NULL);
	grove_session_close(t);
	note(d, grove_session_fork(s, &o, &t), NULL);
	grove_session_close(t);
	note(d, grove_list(d->g, &lo, &l), NULL);
	if (l)
		grove_list_free(l);
	note(d, grove_session_create(d->g, NULL, &t), NULL);
	if (t && grove_session_id(t))
		note(d, grove_session_append(t, text("{\"role\":\"user\",\"content\":\"x\"}"), NULL, NULL), NULL);
	grove_session_close(t);
	rc = grove_session_open(d->g, "last", GROVE_OPEN_READ, &t);
	if (rc != GROVE_ENOTFOUND) /* if it could not be created, it cannot be found */
		note(d, rc, NULL);
	grove_session_close(t);
	note(d, grove_check(d->g, d->path, problem, NULL, &r), NULL);
}

static void work(struct day *d)
{
	struct grove_options o = { .size = sizeof(o), .home = d->w->home, .cwd = d->w->cwd,
				   .getenv = no_variables };
	struct grove_session *s = NULL;

	if (!note(d, grove_open(&o, &d->g), NULL) &&
	    !note(d, grove_session_open(d->g, d->path, GROVE_OPEN_WRITE, &s), NULL)) {
		write_some(d, s);
		look(d, s);
		file_add(d->path, ENTRY("f1", "\"u1\"", "user", "foreign"));
		note(d, grove_session_refresh(s), NULL);
		whole_sessions(d, s);
	}
	grove_session_close(s);
	grove_close(d->g);
}

static void open_only(struct day *d)
{
	struct grove_options o = { .size = sizeof(o), .home = d->w->home, .cwd = d->w->cwd,
				   .getenv = no_variables };
	struct grove_session *s = NULL;

	if (!note(d, grove_open(&o, &d->g), NULL))
		note(d, grove_session_open(d->g, d->path, GROVE_OPEN_WRITE, &s), NULL);
	grove_session_close(s);
	grove_close(d->g);
}

#define YOUNG HEADER ENTRY("u1", "null", "user", "one") ENTRY("a1", "\"u1\"", "assistant", "two")
/* The same in an old version, which opening converts. */
#define OLD "{\"type\":\"session\",\"version\":2,\"id\":\"s1\",\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"cwd\":\"/w\"}\n" \
	ENTRY("u1", "null", "user", "one") ENTRY("a1", "\"u1\"", "assistant", "two")

static void assert_sound(struct day *d)
{
	struct world *w = d->w;
	struct grove_session *s = session_at(w, d->path, GROVE_OPEN_WRITE);
	struct grove_counts n = counts_of(w, s);
	struct grove_view *v = view_of(w, s);

	assert_int_equal(n.malformed, 0);
	assert_int_equal(n.duplicates, 0);
	assert_int_equal(n.orphans, 0);
	assert_int_not_equal(find_row(v, "u1"), GROVE_NO_ENTRY);
	assert_int_not_equal(find_row(v, "a1"), GROVE_NO_ENTRY);
	for (int i = 0; i < d->nr; i++)
		assert_int_not_equal(find_row(v, d->id[i]), GROVE_NO_ENTRY);
	grove_view_unref(v);
	user(w, s, "the next one");
	grove_session_close(s);
}

/* Runs one typical use of a session; sets *over if it had fewer than N such calls. */
static int one_day(struct world *w, void (*arm)(long n), long n, const char *file,
		   void (*job)(struct day *d), bool *over)
{
	struct day d = { .w = w };

	snprintf(d.path, sizeof(d.path), "%s", make(w, "day.jsonl", file));
	arm(n);
	job(&d);
	*over = countdown >= 0 || calls >= 0;
	arm(-1);
	assert_sound(&d);
	scratch_remove(in_world(w, "../home"));
	assert_int_equal(mkdir(w->home, 0700), 0);
	return d.failures;
}

static void arm_memory(long n)
{
	countdown = n;
}

static void arm_calls(long n)
{
	calls = n;
	grove__sys_fault = n < 0 ? NULL : nth_call;
}

static void every_n(struct world *w, void (*arm)(long n), const char *file, void (*job)(struct day *d))
{
	static const int errors[] = { EIO, ENOSPC, EACCES, EMFILE };
	int failures = 0, without;
	bool over = false;
	long n;

	for (n = 0; !over; n++) {
		call_error = errors[n % 4];
		failures += one_day(w, arm, n, file, job, &over);
	}
	/* nothing fails by itself, and nearly everything fails when it is made to */
	without = one_day(w, arm, -1, file, job, &over);
	assert_int_equal(without, 0);
	assert_true(n > 20 && failures > n / 2);
}

static void the_nth_allocation_fails(void **state)
{
	every_n(*state, arm_memory, YOUNG, work);
}

static void the_nth_system_call_fails(void **state)
{
	every_n(*state, arm_calls, YOUNG, work);
}

static void the_nth_allocation_fails_while_it_is_migrated(void **state)
{
	every_n(*state, arm_memory, OLD, open_only);
}

static void the_nth_system_call_fails_while_it_is_migrated(void **state)
{
	every_n(*state, arm_calls, OLD, open_only);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(the_nth_allocation_fails),
		WORLD_TEST(the_nth_system_call_fails),
		WORLD_TEST(the_nth_allocation_fails_while_it_is_migrated),
		WORLD_TEST(the_nth_system_call_fails_while_it_is_migrated),
	};

	scratch_prefer_memory();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
