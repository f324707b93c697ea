/*
 * tests/unit/test_fork.c: fork(2) in a process that has sessions open. Parent
 * and child can both write to files; a database that was opened before the fork
 * is refused in the child, and nothing that the child does disturbs the parent.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../lib/scratch.h"

#include <grove.h>
#include <sys/wait.h>

#define PROMPT "{\"role\":\"user\",\"content\":\"hi\"}"

struct world {
	char dir[512], url[600], other[600];
	struct grove *g;
	struct grove_session *s;
};

static struct grove *open_grove(const struct world *w, const char *url)
{
	const char *const stores[] = { url };
	const struct grove_options opt = { .size = sizeof(opt), .cwd = "/w", .home = w->dir, .cache = "",
					   .stores = stores, .nr_stores = 1 };
	struct grove *g;

	return grove_open(&opt, &g) ? NULL : g;
}

static int set_up(void **state, const char *format)
{
	const struct grove_create_options opt = { .size = sizeof(opt), .flags = GROVE_CREATE_NOW, .id = "one" };
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	scratch_make(w->dir, sizeof(w->dir));
	snprintf(w->url, sizeof(w->url), format, w->dir, "a");
	snprintf(w->other, sizeof(w->other), format, w->dir, "b");
	w->g = open_grove(w, w->url);
	assert_non_null(w->g);
	assert_int_equal(grove_session_create(w->g, &opt, &w->s), 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(grove_session_append(w->s, grove_str(PROMPT), NULL, NULL), 0);
	*state = w;
	return 0;
}

static int in_files(void **state)
{
	return set_up(state, "file:%s/%s");
}

static int in_sqlite(void **state)
{
	return set_up(state, "sqlite:%s/%s.db");
}

static int tear_down(void **state)
{
	struct world *w = *state;

	grove_session_close(w->s);
	grove_close(w->g);
	scratch_remove(w->dir);
	free(w);
	return 0;
}

/* The entries that somebody who opens it anew finds; nothing may be wrong with them. */
static uint32_t entries(struct world *w)
{
	struct grove_counts counts = { .size = sizeof(counts) };
	struct grove *g = open_grove(w, w->url);
	struct grove_session *s;
	struct grove_view *v;
	uint32_t n;

	assert_int_equal(grove_session_open(g, "one", GROVE_OPEN_READ, &s), 0);
	assert_int_equal(grove_session_view(s, &v), 0);
	n = grove_view_count(v);
	grove_view_counts(v, &counts);
	assert_int_equal(counts.duplicates, 0);
	assert_int_equal(counts.orphans, 0);
	assert_int_equal(counts.malformed, 0);
	grove_view_unref(v);
	grove_session_close(s);
	grove_close(g);
	return n;
}

/* What `fn` returns in a child: 0, or the line at which it went wrong. */
static void in_child(struct world *w, int (*fn)(struct world *w), void (*meanwhile)(struct world *w))
{
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid)
		_exit(fn(w) ? 1 : 0);
	if (meanwhile)
		meanwhile(w);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

#define CHECK(true) do { \
	if (!(true)) { \
		print_error("in the child: %s:%d: %s\n", __FILE__, __LINE__, #true); \
		return 1; \
	} \
} while (0)

enum { EACH = 40 };

static int append_each(struct world *w)
{
	for (int i = 0; i < EACH; i++)
		CHECK(!grove_session_append(w->s, grove_str(PROMPT), NULL, NULL));
	grove_session_close(w->s);
	grove_close(w->g);
	return 0;
}

static void append_meanwhile(struct world *w)
{
	for (int i = 0; i < EACH; i++)
		assert_int_equal(grove_session_append(w->s, grove_str(PROMPT), NULL, NULL), 0);
}

static void a_file_is_written_by_parent_and_child(void **state)
{
	struct world *w = *state;

	in_child(w, append_each, append_meanwhile);
	assert_int_equal(entries(w), 3 + 2 * EACH);
	append_meanwhile(w);
	assert_int_equal(entries(w), 3 + 3 * EACH);
}

static int append_is_refused(struct world *w)
{
	CHECK(grove_session_append(w->s, grove_str(PROMPT), NULL, NULL) == GROVE_ECONFLICT);
	grove_session_close(w->s);
	grove_close(w->g);
	return 0;
}

static void a_lease_is_the_parents_alone(void **state)
{
	struct world *w = *state;
	struct grove_lease lease = { .size = sizeof(lease) };

	assert_int_equal(grove_session_lease_take(w->s, "parent", 600000, &lease), 0);
	in_child(w, append_is_refused, NULL);
	append_meanwhile(w);
	assert_int_equal(entries(w), 3 + EACH);
}

static bool says_fork(struct grove_session *s)
{
	struct grove_detail d;

	grove_session_error(s, &d);
	return d.code == GROVE_EINVAL && strstr(d.message, "fork");
}

static int database_is_refused(struct world *w)
{
	const struct grove_list_options every = { .size = sizeof(every), .flags = GROVE_LIST_ALL };
	struct grove_session *s;
	struct grove_lease lease = { .size = sizeof(lease) };
	struct grove_list *list = NULL;
	struct grove *g;

	CHECK(grove_session_append(w->s, grove_str(PROMPT), NULL, NULL) == GROVE_EINVAL && says_fork(w->s));
	CHECK(grove_session_refresh(w->s) == GROVE_EINVAL && says_fork(w->s));
	CHECK(grove_session_lease_take(w->s, "child", 1000, &lease) == GROVE_EINVAL && says_fork(w->s));
	CHECK(grove_session_open(w->g, "one", GROVE_OPEN_READ, &s) < 0);
	grove_session_close(s);
	CHECK(grove_list(w->g, &every, &list) < 0);
	grove_list_free(list);
	grove_session_close(w->s);
	grove_close(w->g);
	/* nor opened again: SQLite would do without locks. Another one can be. */
	g = open_grove(w, w->url);
	CHECK(g && grove_session_open(g, "one", GROVE_OPEN_READ, &s) < 0);
	grove_session_close(s);
	grove_close(g);
	g = open_grove(w, w->other);
	CHECK(g && !grove_session_create(g, &(struct grove_create_options){ .size = sizeof(struct grove_create_options),
								      .flags = GROVE_CREATE_NOW }, &s));
	CHECK(!grove_session_append(s, grove_str(PROMPT), NULL, NULL));
	grove_session_close(s);
	grove_close(g);
	return 0;
}

static void a_database_is_the_parents_alone(void **state)
{
	struct world *w = *state;

	in_child(w, database_is_refused, append_meanwhile);
	append_meanwhile(w);
	assert_int_equal(entries(w), 3 + 2 * EACH);
}

static int use_it(struct world *w)
{
	struct grove *g = open_grove(w, w->url);
	struct grove_session *s;

	CHECK(!grove_session_open(g, "one", GROVE_OPEN_WRITE, &s));
	CHECK(!grove_session_append(s, grove_str(PROMPT), NULL, NULL));
	grove_session_close(s);
	grove_close(g);
	return 0;
}

static void a_database_that_nobody_has_open_is_the_childs(void **state)
{
	struct world *w = *state;

	grove_session_close(w->s);
	grove_close(w->g);
	w->s = NULL;
	w->g = open_grove(w, w->url);
	in_child(w, use_it, NULL);
	assert_int_equal(entries(w), 4);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_file_is_written_by_parent_and_child, in_files, tear_down),
		cmocka_unit_test_setup_teardown(a_lease_is_the_parents_alone, in_files, tear_down),
		cmocka_unit_test_setup_teardown(a_database_is_the_parents_alone, in_sqlite, tear_down),
		cmocka_unit_test_setup_teardown(a_database_that_nobody_has_open_is_the_childs, in_sqlite,
						tear_down),
	};

	return cmocka_run_group_tests_name("fork", tests, NULL, NULL);
}
