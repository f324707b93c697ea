/*
 * tests/unit/test_json_read.c: reading values from JSON as a program that uses
 * the library does.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <grove.h>

static struct grove_slice str(const char *text)
{
	return (struct grove_slice){ text, strlen(text) };
}

static void assert_slice(struct grove_slice s, const char *expect)
{
	assert_int_equal(s.len, strlen(expect));
	if (s.len)
		assert_memory_equal(s.ptr, expect, s.len);
}

static void a_member_is_found_by_its_name(void **state)
{
	struct grove_slice object = str(" {\"a\" : 1, \"b\":{\"a\":2},\"\\u0063\":[3],\"a\":\"last\"}\n");
	struct grove_slice value = str("as it was"), values[3];

	(void)state;
	assert_int_equal(grove_json_member(object, "a", &value), 1);
	assert_slice(value, "\"last\"");
	assert_int_equal(grove_json_member(object, "b", &value), 1);
	assert_slice(value, "{\"a\":2}");
	assert_int_equal(grove_json_member(object, "c", &value), 1);
	assert_slice(value, "[3]");
	assert_int_equal(grove_json_member(object, "d", &value), 0);
	assert_slice(value, "[3]");
	assert_int_equal(grove_json_members(object, (const char *const[]){ "c", "d", "a" }, 3, values), 5);
	assert_slice(values[0], "[3]");
	assert_slice(values[1], "");
	assert_slice(values[2], "\"last\"");
	assert_int_equal(grove_json_member(str("[1]"), "a", &value), 0);
	assert_int_equal(grove_json_member(str("{}"), "a", &value), 0);
	assert_int_equal(grove_json_member(str(""), "a", &value), 0);
}

static void members_and_items_come_in_order(void **state)
{
	struct grove_slice object = str("{\"x\":[], \"y\\n\":\"}\"}"), array = str(" [1, {\"a\":[2]} ,\"]\"] ");
	struct grove_slice key, value;
	const char *place = NULL;

	(void)state;
	assert_int_equal(grove_json_next(object, &place, &key, &value), 1);
	assert_slice(key, "x");
	assert_slice(value, "[]");
	assert_int_equal(grove_json_next(object, &place, &key, &value), 1);
	assert_slice(key, "y\\n");
	assert_slice(value, "\"}\"");
	assert_int_equal(grove_json_next(object, &place, &key, &value), 0);
	place = NULL;
	assert_int_equal(grove_json_next(array, &place, &key, &value), 1);
	assert_slice(value, "1");
	assert_int_equal(key.len, 0);
	assert_int_equal(grove_json_next(array, &place, NULL, &value), 1);
	assert_slice(value, "{\"a\":[2]}");
	assert_int_equal(grove_json_next(array, &place, NULL, &value), 1);
	assert_slice(value, "\"]\"");
	assert_int_equal(grove_json_next(array, &place, NULL, &value), 0);
	place = NULL;
	assert_int_equal(grove_json_next(str("true"), &place, NULL, &value), 0);
	assert_int_equal(grove_json_next(str("[ ]"), &place, NULL, &value), 0);
}

static void a_text_is_read_as_far_as_it_fits(void **state)
{
	static const struct {
		const char *json, *text;
	} cases[] = {
		{ "\"\"", "" }, { "\"a\\n\\\"\\/\\u00e4\"", "a\n\"/\303\244" }, { " \"b\" ", "b" },
		{ "\"\\ud83d\\ude00\"", "\360\237\230\200" },
		{ "\"\\ud83d\\u0041\\ude00\"", "\357\277\275A\357\277\275" },
	};
	struct grove_slice text;
	char out[64];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		assert_int_equal(grove_json_text(str(cases[i].json), out, sizeof(out), &text), 1);
		assert_slice(text, cases[i].text);
	}
	assert_int_equal(grove_json_text(str("\"abcdefgh\""), out, 8, &text), 1);
	assert_slice(text, "abcde");
	assert_int_equal(grove_json_text(str("1"), out, sizeof(out), &text), 0);
	assert_int_equal(grove_json_text(str("\""), out, sizeof(out), &text), 0);
}

/* Each prefix in memory of its own size, so that a sanitizer sees a byte too many. */
static void a_text_that_is_cut_off_is_not_left(void **state)
{
	static const char whole[] = "{\"a\" : [1,{\"b\":\"\\ud83d\\ude00\"}], \"c\" : \"\\u00e4\\\\\"}";
	struct grove_slice key, value, text;
	char out[64];

	(void)state;
	for (size_t n = 0; n < sizeof(whole); n++) {
		char *part = malloc(n ? n : 1);
		struct grove_slice all = { part, n };
		const char *place = NULL;
		size_t seen = 0;

		assert_non_null(part);
		memcpy(part, whole, n);
		while (grove_json_next(all, &place, &key, &value)) {
			assert_true(value.ptr >= part && value.ptr + value.len <= part + n);
			grove_json_text(value, out, sizeof(out), &text);
			assert_true(seen++ < n);
		}
		grove_json_member(all, "c", &value);
		free(part);
	}
}

static void a_text_is_one_value_or_is_not(void **state)
{
	static const struct {
		const char *json, *value;
		uint64_t at;
	} cases[] = {
		{ " {\"a\": [1, \"]\\\"[\"]}\n", "{\"a\": [1, \"]\\\"[\"]}", 0 }, { "\t-1e5 ", "-1e5", 0 }, { "null", "null", 0 },
		{ "", NULL, 0 }, { "  ", NULL, 2 }, { "{\"a\":1}x", NULL, 7 }, { "[1,]", NULL, 3 }, { "\"\377\"", NULL, 0 }, { "nul", NULL, 3 },
		{ "\"\n\"", NULL, 1 }, { "1 2", NULL, 2 }, { "[", NULL, 1 }, { "]", NULL, 0 },
	};
	char deep[2 * GROVE_JSON_DEPTH + 2];
	struct grove_slice value;
	uint64_t at;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		int rc = grove_json_check(str(cases[i].json), &value, &at);

		assert_int_equal(rc, cases[i].value ? 0 : GROVE_EJSON);
		if (cases[i].value)
			assert_slice(value, cases[i].value);
		else
			assert_int_equal(at, cases[i].at);
	}
	memset(deep, '[', GROVE_JSON_DEPTH);
	memset(deep + GROVE_JSON_DEPTH, ']', GROVE_JSON_DEPTH);
	assert_int_equal(grove_json_check((struct grove_slice){ deep, 2 * GROVE_JSON_DEPTH }, NULL, NULL), 0);
	memset(deep, '[', GROVE_JSON_DEPTH + 1);
	memset(deep + GROVE_JSON_DEPTH + 1, ']', GROVE_JSON_DEPTH + 1);
	assert_int_equal(grove_json_check((struct grove_slice){ deep, sizeof(deep) }, NULL, &at), GROVE_EJSON);
	assert_int_equal(at, GROVE_JSON_DEPTH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_member_is_found_by_its_name),
		cmocka_unit_test(members_and_items_come_in_order),
		cmocka_unit_test(a_text_is_read_as_far_as_it_fits),
		cmocka_unit_test(a_text_is_one_value_or_is_not),
		cmocka_unit_test(a_text_that_is_cut_off_is_not_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
