/*
 * tests/unit/test_json_edit.c: changing members of a JSON text while every
 * other byte stays as it is.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "json/edit.h"

#define str grove__slice_str

#define SET(v, ...) { { __VA_ARGS__ }, { v, sizeof(v) - 1 } }
#define REMOVE(...) { { __VA_ARGS__ }, { NULL, 0 } }

#define assert_edit(object, expect, ...) do { \
	const struct grove__json_change changes_[] = { __VA_ARGS__ }; \
	check_edit(object, expect, changes_, sizeof changes_ / sizeof *changes_); \
} while (0)

static void check_edit(const char *object, const char *expect,
		       const struct grove__json_change *changes, size_t nr)
{
	struct grove_buf b = GROVE_BUF_INIT;

	assert_int_equal(grove__buf_add_str(&b, "before"), 0);
	assert_int_equal(grove__json_edit(&b, str(object), changes, nr), 0);
	assert_string_equal(b.ptr + 6, expect);
	grove__buf_release(&b);
}

static void without_changes_nothing_changes(void **state)
{
	(void)state;
	check_edit("{ \"a\" : 1.0 }", "{ \"a\" : 1.0 }", NULL, 0);
}

static void an_existing_member_keeps_its_place(void **state)
{
	(void)state;
	assert_edit("{\"a\" : 1 , \"b\":2}", "{\"a\" : [] , \"b\":2}", SET("[]", "a"));
	assert_edit("{\"a\":{\"x\":\"}\"} ,\"b\":2}", "{\"a\":null ,\"b\":2}", SET("null", "a"));
}

static void a_new_member_goes_directly_behind_the_last_value(void **state)
{
	(void)state;
	assert_edit("{\"a\": 1, \"b\":2 }", "{\"a\": 1, \"b\":2,\"n\":3 }", SET("3", "n"));
	assert_edit("{\"a\":[1 ] \n}", "{\"a\":[1 ],\"n\":3 \n}", SET("3", "n"));
}

static void into_an_empty_object_it_goes_behind_the_brace(void **state)
{
	(void)state;
	assert_edit("{}", "{\"n\":3}", SET("3", "n"));
	assert_edit("{ }", "{\"n\":3 }", SET("3", "n"));
	assert_edit("{ }", "{\"n\":3,\"m\":4 }", SET("3", "n"), SET("4", "m"));
}

static void new_names_are_escaped(void **state)
{
	(void)state;
	assert_edit("{}", "{\"a\\\"\\n\":3}", SET("3", "a\"\n"));
}

static void a_removed_member_takes_the_comma_behind_it(void **state)
{
	(void)state;
	assert_edit("{\"a\": 1, \"b\":2 }", "{\"b\":2 }", REMOVE("a"));
	assert_edit("{ \"a\":1 , \"b\":2 , \"c\":3}", "{ \"a\":1 , \"c\":3}", REMOVE("b"));
}

static void a_removed_last_member_takes_the_comma_before_it(void **state)
{
	(void)state;
	assert_edit("{\"a\": 1, \"b\":2 }", "{\"a\": 1 }", REMOVE("b"));
	assert_edit("{\"a\": 1 , \"b\":2}", "{\"a\": 1 }", REMOVE("b"));
}

static void a_removed_only_member_leaves_white_space(void **state)
{
	(void)state;
	assert_edit("{\"a\":1}", "{}", REMOVE("a"));
	assert_edit("{ \"a\":1 }", "{  }", REMOVE("a"));
}

static void removing_what_is_not_there_changes_nothing(void **state)
{
	(void)state;
	assert_edit("{ \"a\":1 }", "{ \"a\":1 }", REMOVE("b"));
}

static void all_duplicates_are_removed_but_the_last_is_set(void **state)
{
	(void)state;
	assert_edit("{\"a\":1,\"b\":2,\"\\u0061\":3}", "{\"b\":2}", REMOVE("a"));
	assert_edit("{\"a\":1,\"a\":2,\"b\":2,\"a\":3, \"a\":4}", "{\"b\":2}", REMOVE("a"));
	assert_edit("{\"a\":1,\"a\":2}", "{}", REMOVE("a"));
	assert_edit("{\"a\":1,\"b\":2,\"\\u0061\":3}", "{\"a\":1,\"b\":2,\"\\u0061\":9}", SET("9", "a"));
}

static void paths_lead_into_objects(void **state)
{
	(void)state;
	assert_edit("{\"m\":{\"c\":{\"d\":{\"e\":1}}}}", "{\"m\":{\"c\":{\"d\":{\"e\":2}}}}",
		    SET("2", "m", "c", "d", "e"));
	assert_edit("{\"m\": { \"a\":1 } }", "{\"m\": { \"a\":1,\"n\":2 } }", SET("2", "m", "n"));
	assert_edit("{\"m\": { \"a\":1 } }", "{\"m\": {  } }", REMOVE("m", "a"));
	/* of duplicate parents the last is the one that counts */
	assert_edit("{\"m\":{\"a\":1},\"m\":{\"a\":2}}", "{\"m\":{\"a\":1},\"m\":{\"a\":3}}", SET("3", "m", "a"));
}

static void a_missing_parent_makes_a_change_void(void **state)
{
	(void)state;
	assert_edit("{\"a\":1}", "{\"a\":1}", SET("2", "m", "n"));
	assert_edit("{\"a\":1}", "{\"a\":1}", SET("2", "a", "n"));
	assert_edit("{\"a\":[{}]}", "{\"a\":[{}]}", SET("2", "a", "n"));
	assert_edit("{\"m\":{},\"m\":1}", "{\"m\":{},\"m\":1}", SET("2", "m", "n"));
	assert_edit("{\"m\":{}}", "{\"m\":{}}", REMOVE("m", "n", "o"));
}

static void several_changes_are_made_at_once(void **state)
{
	(void)state;
	assert_edit("{\"a\": 1, \"b\":2, \"c\":3 }", "{\"a\": 1, \"c\":3,\"n\":4 }",
		    REMOVE("b"), SET("4", "n"));
	assert_edit("{\"a\": 1, \"b\":2, \"c\":3 }", "{\"a\": 1,\"n\":4 }",
		    REMOVE("b"), SET("4", "n"), REMOVE("c"));
	assert_edit("{\"a\": 1, \"b\":2, \"c\":3 }", "{\"n\":4,\"m\":5 }",
		    REMOVE("b"), SET("4", "n"), REMOVE("c"), REMOVE("a"), SET("5", "m"));
	assert_edit("{\"x\":1,\"m\":{\"a\":1,\"b\":2},\"y\":2}",
		    "{\"x\":7,\"m\":{\"a\":8,\"b\":2,\"c\":9},\"y\":2,\"z\":6}",
		    SET("9", "m", "c"), SET("6", "z"), SET("8", "m", "a"), SET("7", "x"));
}

static void bytes_that_are_not_ours_are_not_looked_at(void **state)
{
	(void)state;
	assert_edit("{\"k\xff\":\"\xed\xa0\x80\",\"a\":1.0e1}", "{\"k\xff\":\"\xed\xa0\x80\",\"a\":1.0e1,\"n\":2}",
		    SET("2", "n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_changes_nothing_changes),
		cmocka_unit_test(an_existing_member_keeps_its_place),
		cmocka_unit_test(a_new_member_goes_directly_behind_the_last_value),
		cmocka_unit_test(into_an_empty_object_it_goes_behind_the_brace),
		cmocka_unit_test(new_names_are_escaped),
		cmocka_unit_test(a_removed_member_takes_the_comma_behind_it),
		cmocka_unit_test(a_removed_last_member_takes_the_comma_before_it),
		cmocka_unit_test(a_removed_only_member_leaves_white_space),
		cmocka_unit_test(removing_what_is_not_there_changes_nothing),
		cmocka_unit_test(all_duplicates_are_removed_but_the_last_is_set),
		cmocka_unit_test(paths_lead_into_objects),
		cmocka_unit_test(a_missing_parent_makes_a_change_void),
		cmocka_unit_test(several_changes_are_made_at_once),
		cmocka_unit_test(bytes_that_are_not_ours_are_not_looked_at),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
