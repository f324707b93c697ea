/*
 * tests/unit/test_toy.c: a dialect is one file and one row.
 *
 * toy.c is the file, the table below has the row. The library's own table is not
 * linked, since this one defines the same names; nothing in lib/ knows a toy.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "dialect/dialect.h"
#include "grove.h"

#include "../lib/scratch.h"
#include "../lib/calls.h"

extern const struct grove__dialect dialect_toy;

const struct grove__dialect *const grove__dialects[] = { &grove__dialect_pi, &dialect_toy, NULL };
const struct grove__dialect_defaults grove__dialect_defaults = {
	.session = &grove__dialect_pi,
	.remote = &dialect_toy,
};

struct world {
	char dir[256];
	struct grove *g;
};

static const char *no_variables(void *payload, const char *name)
{
	(void)payload;
	(void)name;
	return NULL;
}

static int set_up(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	struct grove_options opt = { .size = sizeof(opt), .cwd = "/w", .getenv = no_variables, .cache = "" };

	assert_non_null(w);
	scratch_make(w->dir, sizeof(w->dir));
	opt.home = w->dir;
	assert_int_equal(grove_open(&opt, &w->g), 0);
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;

	grove_close(w->g);
	scratch_remove(w->dir);
	free(w);
	return 0;
}

static const char *say(struct grove_session *s, const char *json, const char *parent)
{
	struct grove_append_options opt = { .size = sizeof(opt), .parent = parent };
	const char *id;

	assert_int_equal(grove_session_append(s, grove__slice_str(json), &opt, INTO(&id)), 0);
	return id;
}

/* A question, two answers to it; the second one is the leaf. */
static struct grove_session *conversation(struct world *w)
{
	struct grove_create_options opt = { .size = sizeof(opt), .dialect = "toy", .id = "t1" };
	struct grove_session *s;
	const char *first;

	assert_int_equal(grove_session_create(w->g, &opt, &s), 0);
	first = say(s, "{\"role\":\"user\",\"content\":\"hello\"}", NULL);
	say(s, "{\"role\":\"assistant\",\"content\":\"hi\"}", NULL);
	say(s, "{\"role\":\"assistant\",\"content\":\"hey\"}", first);
	return s;
}

static void a_toy_is_listed_and_recognised(void **state)
{
	struct world *w = *state;
	struct grove_list *l;
	const struct grove_list_item *info;

	grove_session_close(conversation(w));
	assert_int_equal(grove_list(w->g, NULL, &l), 0);
	assert_int_equal(grove_list_count(l), 1);
	info = grove_list_at(l, 0);
	assert_string_equal(info->dialect, "toy");
	assert_string_equal(info->id, "t1");
	assert_string_equal(info->cwd, "/w");
	assert_string_equal(info->first_message, "hello");
	assert_int_equal(info->message_count, 3);
	grove_list_free(l);
}

static void a_toy_in_a_strange_place_is_known_by_its_first_line(void **state)
{
	struct world *w = *state;
	struct grove_session *s;
	char path[300];

	snprintf(path, sizeof(path), "%s/x.jsonl", w->dir);
	file_make(path, "{\"toy\":\"t2\",\"dir\":\"/v\"}\n{\"n\":\"1\",\"up\":null,\"who\":\"user\",\"say\":\"a\"}\n");
	assert_int_equal(grove_session_open(w->g, path, GROVE_OPEN_READ, &s), 0);
	assert_string_equal(grove_session_dialect(s), "toy");
	assert_string_equal(grove_session_id(s), "t2");
	assert_string_equal(grove_session_cwd(s), "/v");
	grove_session_close(s);
}

static void its_tree_and_its_context_are_what_was_appended(void **state)
{
	struct world *w = *state;
	struct grove_session *s;
	struct grove_view *v;
	struct grove_entry e = { .size = sizeof(e) };
	struct grove_buf json = GROVE_BUF_INIT;

	grove_session_close(conversation(w));
	assert_int_equal(grove_session_open(w->g, "t1", GROVE_OPEN_READ, &s), 0);
	assert_int_equal(grove_session_view(s, &v), 0);
	assert_int_equal(grove_view_count(v), 3);
	assert_int_equal(grove_view_entry(v, 0, &e), 0);
	assert_int_equal(e.parent, GROVE_NO_ENTRY);
	assert_int_equal(e.role, GROVE_ROLE_USER);
	for (uint32_t i = 1; i < 3; i++) {
		assert_int_equal(grove_view_entry(v, i, &e), 0);
		assert_int_equal(e.parent, 0);
		assert_int_equal(e.role, GROVE_ROLE_ASSISTANT);
	}
	assert_int_equal(grove_view_leaf(v), 2);
	assert_int_equal(grove_view_context(v, NULL, grove_buf_sink(&json)), 0);
	assert_non_null(strstr(json.ptr, "\"messages\":[{\"role\":\"user\",\"content\":\"hello\"},"
					 "{\"role\":\"assistant\",\"content\":\"hey\"}]"));
	grove_buf_release(&json);
	grove_view_unref(v);
	grove_session_close(s);
}

static void what_a_toy_cannot_say_is_refused(void **state)
{
	struct world *w = *state;
	struct grove_session *s = conversation(w);
	struct grove_detail d;

	assert_int_equal(grove_session_append_thinking_level(s, "high", NULL, NULL), GROVE_ENOTSUP);
	grove_session_error(s, &d);
	assert_string_equal(d.message, "toy has no entries of that kind");
	assert_int_equal(grove_session_append(s, grove__slice_str("{\"type\":\"x\"}"), NULL, NULL), GROVE_EINVAL);
	grove_session_close(s);
}

static void a_toy_is_forked_below_other_parents(void **state)
{
	struct world *w = *state;
	struct grove_session *s = conversation(w), *f;
	struct grove_fork_options opt = { .size = sizeof(opt) };
	struct grove_view *v;

	assert_int_equal(grove_session_fork(s, &opt, &f), 0);
	assert_string_equal(grove_session_dialect(f), "toy");
	assert_int_equal(grove_session_view(f, &v), 0);
	assert_int_equal(grove_view_count(v), 3);
	grove_view_unref(v);
	grove_session_close(f);
	grove_session_close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_toy_is_listed_and_recognised, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_toy_in_a_strange_place_is_known_by_its_first_line, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(its_tree_and_its_context_are_what_was_appended, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_a_toy_cannot_say_is_refused, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_toy_is_forked_below_other_parents, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
