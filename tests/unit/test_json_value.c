/*
 * tests/unit/test_json_value.c: walking values that are known to be valid.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "json/value.h"

#define str grove__slice_str

static void assert_slice(struct grove_slice s, const char *expect)
{
	assert_non_null(s.ptr);
	assert_int_equal(s.len, strlen(expect));
	assert_memory_equal(s.ptr, expect, s.len);
}

static void assert_text(const char *raw, const char *expect)
{
	struct grove_buf b = GROVE_BUF_INIT;

	assert_int_equal(grove__json_text(&b, str(raw)), 0);
	assert_string_equal(b.ptr, expect);
	assert_true(grove__json_string_is(str(raw), expect));
	grove__buf_release(&b);
}

static void a_walk_yields_members_in_written_order_with_duplicates(void **state)
{
	struct grove__json_iter it;

	(void)state;
	grove__json_iter_init(&it, str("{ \"a\" : 1 ,\t\"b\":[1,{\"x\":\"]}\"}]\n,\"a\":\"\\\"\" }"));
	assert_true(grove__json_next(&it));
	assert_slice(it.key, "\"a\"");
	assert_slice(it.value, "1");
	assert_true(grove__json_next(&it));
	assert_slice(it.key, "\"b\"");
	assert_slice(it.value, "[1,{\"x\":\"]}\"}]");
	assert_true(grove__json_next(&it));
	assert_slice(it.key, "\"a\"");
	assert_slice(it.value, "\"\\\"\"");
	assert_false(grove__json_next(&it));
	assert_false(grove__json_next(&it));
}

static void a_walk_yields_elements_without_keys(void **state)
{
	struct grove__json_iter it;
	int n = 0;

	(void)state;
	grove__json_iter_init(&it, str("[ null,true , -1.5e3,\"\",[], {} ]"));
	while (grove__json_next(&it)) {
		assert_null(it.key.ptr);
		n++;
	}
	assert_int_equal(n, 6);
	assert_slice(it.value, "{}");
}

static void empty_containers_and_scalars_yield_nothing(void **state)
{
	static const char *const values[] = { "{}", "[]", "{ }", "[\n]", "1", "\"x\"", "null", "" };
	struct grove__json_iter it;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof values / sizeof *values; i++) {
		grove__json_iter_init(&it, str(values[i]));
		assert_false(grove__json_next(&it));
	}
	grove__json_iter_init(&it, grove__slice(NULL, 0));
	assert_false(grove__json_next(&it));
}

static void the_length_of_a_value_is_found_without_what_follows(void **state)
{
	static const struct { const char *text; size_t len; } cases[] = {
		{ "1,2", 1 }, { "-1.5e+3}", 7 }, { "true]", 4 }, { "null ", 4 },
		{ "\"a\\\"b\",", 6 }, { "\"\\\\\"\"", 4 }, { "[[],[[]]],", 9 },
		{ "{\"}\":\"{\"} ", 9 }, { "12", 2 }, { "\"long enough for a word\"x", 24 },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof cases / sizeof *cases; i++) {
		const char *p = cases[i].text;

		assert_int_equal(grove__json_skip(p, p + strlen(p)), cases[i].len);
	}
}

static void depth_costs_nothing(void **state)
{
	size_t n = 1000000;
	char *deep = malloc(2 * n);
	struct grove__json_iter it;

	(void)state;
	assert_non_null(deep);
	memset(deep, '[', n);
	memset(deep + n, ']', n);
	assert_int_equal(grove__json_skip(deep, deep + 2 * n), 2 * n);
	grove__json_iter_init(&it, grove__slice(deep, 2 * n));
	assert_true(grove__json_next(&it));
	assert_int_equal(it.value.len, 2 * n - 2);
	assert_false(grove__json_next(&it));
	free(deep);
}

static void of_duplicate_members_the_last_is_got(void **state)
{
	struct grove_slice o = str("{\"a\":1,\"b\":{\"a\":2},\"\\u0061\":3,\"\":4}");

	(void)state;
	assert_slice(grove__json_get(o, "a"), "3");
	assert_slice(grove__json_get(o, ""), "4");
	assert_slice(grove__json_get(grove__json_get(o, "b"), "a"), "2");
	assert_null(grove__json_get(o, "c").ptr);
	assert_null(grove__json_get(str("[\"a\"]"), "a").ptr);
	assert_null(grove__json_get(grove__slice(NULL, 0), "a").ptr);
}

static void elements_are_found_by_their_number(void **state)
{
	struct grove_slice a = str("[10, [11], \"12\"]");

	(void)state;
	assert_slice(grove__json_at(a, 0), "10");
	assert_slice(grove__json_at(a, 1), "[11]");
	assert_slice(grove__json_at(a, 2), "\"12\"");
	assert_null(grove__json_at(a, 3).ptr);
	assert_null(grove__json_at(str("{\"0\":1}"), 0).ptr);
}

static void strings_compare_after_unescaping(void **state)
{
	(void)state;
	assert_true(grove__json_string_is(str("\"type\""), "type"));
	assert_true(grove__json_string_is(str("\"\\u0074ype\""), "type"));
	assert_true(grove__json_string_is(str("\"\\uD83D\\uDE00\""), "\xf0\x9f\x98\x80"));
	assert_true(grove__json_string_is(str("\"\""), ""));
	assert_false(grove__json_string_is(str("\"typ\""), "type"));
	assert_false(grove__json_string_is(str("\"types\""), "type"));
	assert_false(grove__json_string_is(str("\"a\\u0000\""), "a"));
	assert_false(grove__json_string_is(str("\"\\u0000\""), ""));
	assert_false(grove__json_string_is(str("\"\\u00e9\""), "\xc3"));
	assert_false(grove__json_string_is(str("1"), "1"));
}

static void text_has_its_escapes_resolved(void **state)
{
	(void)state;
	assert_text("\"\"", "");
	assert_text("\"plain and long enough\"", "plain and long enough");
	assert_text("\"\\b\\f\\n\\r\\t\\\"\\\\\\/\"", "\b\f\n\r\t\"\\/");
	assert_text("\"\\u00e9\\u20AC\"", "\xc3\xa9\xe2\x82\xac");
	assert_text("\"\\ud83d\\ude00\"", "\xf0\x9f\x98\x80");
}

static void text_keeps_lone_surrogates_as_three_bytes(void **state)
{
	(void)state;
	assert_text("\"\\ud83d\"", "\xed\xa0\xbd");
	assert_text("\"\\ude00\\ud83d\"", "\xed\xb8\x80\xed\xa0\xbd");
	assert_text("\"\\ud83d\\ud83d\\ude00\"", "\xed\xa0\xbd\xf0\x9f\x98\x80");
	assert_text("\"\\ud83dx\"", "\xed\xa0\xbdx");
}

static void text_replaces_what_is_not_utf8(void **state)
{
	(void)state;
	assert_text("\"a\xff\\n\xe2\x82\"", "a\xef\xbf\xbd\n\xef\xbf\xbd");
	/* raw surrogate bytes are bad to Node, unlike escaped ones */
	assert_text("\"\xed\xa0\xbd\"", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
}

static void text_may_hold_nul(void **state)
{
	struct grove_buf b = GROVE_BUF_INIT;

	(void)state;
	assert_int_equal(grove__json_text(&b, str("\"a\\u0000b\"")), 0);
	assert_int_equal(b.len, 3);
	assert_memory_equal(b.ptr, "a\0b", 3);
	grove__buf_release(&b);
}

static void truth_is_that_of_javascript(void **state)
{
	static const char *const no[] = { "false", "null", "\"\"", "0", "-0", "0.0", "0e5", "1e-400" };
	static const char *const yes[] = { "true", "\"0\"", "\" \"", "1", "-1", "1e400", "5e-324", "{}", "[]" };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof no / sizeof *no; i++)
		assert_false(grove__json_truthy(str(no[i])));
	for (i = 0; i < sizeof yes / sizeof *yes; i++)
		assert_true(grove__json_truthy(str(yes[i])));
	assert_false(grove__json_truthy(grove__slice(NULL, 0)));
}

static void numbers_are_read_as_doubles(void **state)
{
	(void)state;
	assert_true(grove__json_number(str("-12.5e1")) == -125.0);
	assert_true(grove__json_number(str("0.1")) == 0.1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_walk_yields_members_in_written_order_with_duplicates),
		cmocka_unit_test(a_walk_yields_elements_without_keys),
		cmocka_unit_test(empty_containers_and_scalars_yield_nothing),
		cmocka_unit_test(the_length_of_a_value_is_found_without_what_follows),
		cmocka_unit_test(depth_costs_nothing),
		cmocka_unit_test(of_duplicate_members_the_last_is_got),
		cmocka_unit_test(elements_are_found_by_their_number),
		cmocka_unit_test(strings_compare_after_unescaping),
		cmocka_unit_test(text_has_its_escapes_resolved),
		cmocka_unit_test(text_keeps_lone_surrogates_as_three_bytes),
		cmocka_unit_test(text_replaces_what_is_not_utf8),
		cmocka_unit_test(text_may_hold_nul),
		cmocka_unit_test(truth_is_that_of_javascript),
		cmocka_unit_test(numbers_are_read_as_doubles),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
