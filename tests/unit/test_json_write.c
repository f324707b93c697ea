/*
 * tests/unit/test_json_write.c: writing JSON as JSON.stringify does.
 *
 * tests/diff compares many results with those of a JavaScript engine. This file
 * has the cases that a reader should know, and those for which an engine has no
 * result.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "json/value.h"
#include "json/write.h"

#define str grove__slice_str
#define BAD "\xef\xbf\xbd"

static void assert_string_put(struct grove_slice text, const char *expect)
{
	struct grove_buf b = GROVE_BUF_INIT;

	assert_int_equal(grove__buf_add_str(&b, "before"), 0);
	assert_int_equal(grove__json_put_string(&b, text), 0);
	assert_string_equal(b.ptr + 6, expect);
	assert_int_equal(b.len, 6 + strlen(expect));
	grove__buf_release(&b);
}

static void assert_canonical(const char *raw, const char *expect)
{
	struct grove_buf b = GROVE_BUF_INIT;

	assert_int_equal(grove__buf_add_str(&b, "before"), 0);
	assert_int_equal(grove__json_put_canonical(&b, str(raw)), 0);
	assert_string_equal(b.ptr + 6, expect);
	/* and it is a fixed point */
	grove__buf_clear(&b);
	assert_int_equal(grove__json_put_canonical(&b, str(expect)), 0);
	assert_string_equal(b.ptr, expect);
	grove__buf_release(&b);
}

static void only_what_must_be_is_escaped(void **state)
{
	(void)state;
	assert_string_put(str(""), "\"\"");
	assert_string_put(str("a/b\x7f\xe2\x80\xa8\xf0\x9f\x98\x80"), "\"a/b\x7f\xe2\x80\xa8\xf0\x9f\x98\x80\"");
	assert_string_put(str("\"\\\b\f\n\r\t"), "\"\\\"\\\\\\b\\f\\n\\r\\t\"");
	assert_string_put(grove__slice("\0\x01\x1f", 3), "\"\\u0000\\u0001\\u001f\"");
	assert_string_put(grove__slice(NULL, 0), "\"\"");
}

static void an_escape_is_found_at_every_position(void **state)
{
	char text[41], expect[64];
	size_t len, at;

	(void)state;
	for (len = 1; len <= 40; len++) {
		for (at = 0; at < len; at++) {
			memset(text, 'x', sizeof text);
			text[at] = '\n';
			snprintf(expect, sizeof expect, "\"%.*s\\n%.*s\"", (int)at, text,
				 (int)(len - at - 1), text + at + 1);
			assert_string_put(grove__slice(text, len), expect);
		}
	}
}

static void lone_surrogates_are_escaped_and_pairs_are_not(void **state)
{
	(void)state;
	assert_string_put(str("a\xed\xa0\xbdz"), "\"a\\ud83dz\"");
	assert_string_put(str("\xed\xb8\x80"), "\"\\ude00\"");
	assert_string_put(str("\xed\xa0\xbd\xed\xb8\x80"), "\"\xf0\x9f\x98\x80\"");
}

static void bytes_that_are_no_text_are_replaced(void **state)
{
	(void)state;
	assert_string_put(str("a\xff\n\xe2\x82"), "\"a" BAD "\\n" BAD "\"");
}

static void a_long_string_of_escapes_grows_the_buffer(void **state)
{
	struct grove_buf b = GROVE_BUF_INIT, back = GROVE_BUF_INIT;
	char text[5000];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof text; i++)
		text[i] = (char)(i % 32);
	assert_int_equal(grove__json_put_string(&b, grove__slice(text, sizeof text)), 0);
	assert_int_equal(grove__json_text(&back, grove__buf_slice(&b)), 0);
	assert_int_equal(back.len, sizeof text);
	assert_memory_equal(back.ptr, text, sizeof text);
	grove__buf_release(&b);
	grove__buf_release(&back);
}

static void numbers_and_times_are_written(void **state)
{
	struct grove_buf b = GROVE_BUF_INIT;
	double zero = 0;

	(void)state;
	grove__json_put_int(&b, INT64_MIN);
	grove__buf_add_char(&b, ' ');
	grove__json_put_int(&b, 0);
	grove__buf_add_char(&b, ' ');
	grove__json_put_double(&b, 1e21);
	grove__buf_add_char(&b, ' ');
	grove__json_put_double(&b, 1 / zero);
	grove__buf_add_char(&b, ' ');
	grove__json_put_double(&b, zero / zero);
	grove__buf_add_char(&b, ' ');
	grove__json_put_double(&b, -zero);
	grove__buf_add_char(&b, ' ');
	grove__json_put_time(&b, 1777798800123);
	grove__buf_add_char(&b, ' ');
	grove__json_put_time(&b, INT64_MIN);
	assert_string_equal(b.ptr, "-9223372036854775808 0 1e+21 null null 0 "
				   "\"2026-05-03T09:00:00.123Z\" null");
	grove__buf_release(&b);
}

static void white_space_goes(void **state)
{
	(void)state;
	assert_canonical(" \n{ \"a\" : [ 1 ,\t2 ] ,\r\"b\" : { } } ", "{\"a\":[1,2],\"b\":{}}");
	assert_canonical("\" kept \"", "\" kept \"");
	assert_canonical(" null ", "null");
}

static void escapes_take_their_usual_form(void **state)
{
	(void)state;
	assert_canonical("\"\\/\\u0041\\u000a\\u001F\\u00E9\\\"\\\\\"", "\"/A\\n\\u001f\xc3\xa9\\\"\\\\\"");
	assert_canonical("\"\\uD83D\\uDE00\\uDE00\\uD83D\"", "\"\xf0\x9f\x98\x80\\ude00\\ud83d\"");
	assert_canonical("\"a\xff\"", "\"a" BAD "\"");
}

static void numbers_take_javascript_form(void **state)
{
	(void)state;
	assert_canonical("[1.0,1e3,-0,0.10,1E5,1e21,100,1e-7,-1.50]",
			 "[1,1000,0,0.1,100000,1e+21,100,1e-7,-1.5]");
	assert_canonical("[0,-1,123456789012345,-123456789012345]",
			 "[0,-1,123456789012345,-123456789012345]");
}

static void numbers_that_a_double_would_change_keep_their_spelling(void **state)
{
	static const char kept[] =
		"[12345678901234567890,9007199254740993,1e400,1e-400,0.1234567890123456789,1.0e400]";

	(void)state;
	assert_canonical(kept, kept);
}

static void of_duplicates_the_last_value_takes_the_first_place(void **state)
{
	(void)state;
	assert_canonical("{\"a\":1,\"b\":2,\"a\":3}", "{\"a\":3,\"b\":2}");
	assert_canonical("{\"a\":1,\"\\u0061\":{\"x\":1,\"x\":2}}", "{\"a\":{\"x\":2}}");
	assert_canonical("{\"a\":{\"2\":0,\"1\":0},\"a\":[]}", "{\"a\":[]}");
	assert_canonical("{\"a\xff\":1,\"a\xfe\":2}", "{\"a" BAD "\":2}");
}

static void integer_keys_come_first_in_ascending_order(void **state)
{
	(void)state;
	assert_canonical("{\"b\":1,\"10\":2,\"9\":3,\"a\":4}", "{\"9\":3,\"10\":2,\"b\":1,\"a\":4}");
	assert_canonical("{\"01\":1,\"4294967295\":2,\"4294967294\":3,\"-1\":4}",
			 "{\"4294967294\":3,\"01\":1,\"4294967295\":2,\"-1\":4}");
	assert_canonical("[{\"x\":{\"1\":0,\"0\":{\"b\":0,\"7\":1}},\"3\":[{\"2\":0,\"1\":0}]}]",
			 "[{\"3\":[{\"1\":0,\"2\":0}],\"x\":{\"0\":{\"7\":1,\"b\":0},\"1\":0}}]");
}

static void large_objects_are_put_in_order_too(void **state)
{
	struct grove_buf in = GROVE_BUF_INIT, out = GROVE_BUF_INIT, expect = GROVE_BUF_INIT;
	int i;

	(void)state;
	/* 0…999 backwards, each twice */
	for (i = 1999; i >= 0; i--)
		grove__buf_addf(&in, "%s\"%d\":%d", i == 1999 ? "{" : ",", i % 1000, i);
	for (i = 0; i < 1000; i++)
		grove__buf_addf(&expect, "%s\"%d\":%d", i ? "," : "{", i, i);
	grove__buf_add_char(&in, '}');
	grove__buf_add_char(&expect, '}');
	assert_int_equal(grove__json_put_canonical(&out, grove__buf_slice(&in)), 0);
	assert_string_equal(out.ptr, expect.ptr);
	grove__buf_release(&in);
	grove__buf_release(&out);
	grove__buf_release(&expect);
}

static void repeat(struct grove_buf *b, const char *text, int n)
{
	while (n--)
		grove__buf_add_str(b, text);
}

static void any_depth_is_walked_and_reordered_in_linear_time(void **state)
{
	struct grove_buf in = GROVE_BUF_INIT, out = GROVE_BUF_INIT, expect = GROVE_BUF_INIT;
	int n = 200000;

	(void)state;
	repeat(&in, "[{\"b\": 0,\"1\":", n);
	repeat(&in, "1.0", 1);
	repeat(&in, "} ]", n);
	repeat(&expect, "[{\"1\":", n);
	repeat(&expect, "1", 1);
	repeat(&expect, ",\"b\":0}]", n);
	assert_int_equal(grove__json_put_canonical(&out, grove__buf_slice(&in)), 0);
	assert_int_equal(out.len, expect.len);
	assert_memory_equal(out.ptr, expect.ptr, out.len);
	grove__buf_release(&in);
	grove__buf_release(&out);
	grove__buf_release(&expect);
}

static void a_raw_value_only_loses_its_bad_bytes(void **state)
{
	struct grove_buf b = GROVE_BUF_INIT;

	(void)state;
	assert_int_equal(grove__json_put_raw(&b, str("{ \"a\" : \"\xff\", \"1\": 1.0 }")), 0);
	assert_string_equal(b.ptr, "{ \"a\" : \"" BAD "\", \"1\": 1.0 }");
	grove__buf_release(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_what_must_be_is_escaped),
		cmocka_unit_test(an_escape_is_found_at_every_position),
		cmocka_unit_test(lone_surrogates_are_escaped_and_pairs_are_not),
		cmocka_unit_test(bytes_that_are_no_text_are_replaced),
		cmocka_unit_test(a_long_string_of_escapes_grows_the_buffer),
		cmocka_unit_test(numbers_and_times_are_written),
		cmocka_unit_test(white_space_goes),
		cmocka_unit_test(escapes_take_their_usual_form),
		cmocka_unit_test(numbers_take_javascript_form),
		cmocka_unit_test(numbers_that_a_double_would_change_keep_their_spelling),
		cmocka_unit_test(of_duplicates_the_last_value_takes_the_first_place),
		cmocka_unit_test(integer_keys_come_first_in_ascending_order),
		cmocka_unit_test(large_objects_are_put_in_order_too),
		cmocka_unit_test(any_depth_is_walked_and_reordered_in_linear_time),
		cmocka_unit_test(a_raw_value_only_loses_its_bad_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
