/*
 * tests/unit/test_utf8.c: which bytes are valid UTF-8, and how invalid ones are
 * replaced.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/utf8.h"

#define BAD "\xef\xbf\xbd"

static size_t prefix(const char *text, size_t len)
{
	/* at the very end of its memory, so that a sanitizer sees a byte too many */
	char *copy = malloc(len ? len : 1);
	size_t n;

	assert_non_null(copy);
	memcpy(copy, text, len);
	n = grove__utf8_prefix(copy, len);
	free(copy);
	return n;
}

static void assert_repaired(const char *text, const char *expect)
{
	struct grove_buf b = GROVE_BUF_INIT;

	assert_int_equal(grove__utf8_repair(&b, grove__slice_str(text)), 0);
	assert_string_equal(b.ptr, expect);
	grove__buf_release(&b);
}

static void every_code_point_reads_back_as_it_was_written(void **state)
{
	uint32_t cp, got;
	char utf8[4];

	(void)state;
	for (cp = 0; cp <= 0x10ffff; cp++) {
		size_t len = grove__utf8_encode(utf8, cp);
		size_t expect = cp < 0x80 ? 1 : cp < 0x800 ? 2 : cp < 0x10000 ? 3 : 4;
		bool surrogate = grove__utf8_is_surrogate(cp);

		assert_int_equal(len, expect);
		assert_int_equal(grove__utf8_valid(grove__slice(utf8, len)), !surrogate);
		assert_int_equal(grove__utf8_decode_wtf8(utf8, utf8 + len, &got), len);
		assert_int_equal(got, cp);
		if (surrogate) {
			assert_int_equal(grove__utf8_decode(utf8, utf8 + len, &got), 1);
			assert_int_equal(got, GROVE__UTF8_BAD);
		} else {
			assert_int_equal(grove__utf8_decode(utf8, utf8 + len, &got), len);
			assert_int_equal(got, cp);
		}
	}
}

static void the_valid_prefix_ends_before_the_first_bad_byte(void **state)
{
	/* long enough for every stride of the fast path, at every position */
	char text[100];
	size_t len, at;

	(void)state;
	for (len = 0; len <= 80; len++) {
		memset(text, 'x', sizeof text);
		assert_int_equal(prefix(text, len), len);
		for (at = 0; at < len; at++) {
			text[at] = '\x80';
			assert_int_equal(prefix(text, len), at);
			text[at] = 'x';
		}
		for (at = 0; at + 3 <= len; at++) {
			memcpy(text + at, "\xe2\x82\xac", 3);
			assert_int_equal(prefix(text, len), len);
			assert_int_equal(prefix(text, at + 1), at);
			assert_int_equal(prefix(text, at + 2), at);
			memcpy(text + at, "xxx", 3);
		}
	}
}

static void overlong_forms_surrogates_and_what_is_too_large_are_bad(void **state)
{
	static const char *const bad[] = {
		"\xc0\x80", "\xc1\xbf", "\xe0\x80\x80", "\xe0\x9f\xbf", "\xed\xa0\x80",
		"\xed\xbf\xbf", "\xf0\x80\x80\x80", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80",
		"\xf5\x80\x80\x80", "\xff", "\x80", "\xc2", "\xe1\x80", "\xf1\x80\x80",
		"\xc2\x41", "\xe1\x41\x80", "\xe1\x80\x41", "\xf1\x80\x80\x41",
	};
	static const char *const good[] = {
		"\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80",
		"\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf3\xbf\xbf\xbf", "\xf4\x8f\xbf\xbf",
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_false(grove__utf8_valid(grove__slice_str(bad[i])));
	for (i = 0; i < sizeof good / sizeof *good; i++)
		assert_true(grove__utf8_valid(grove__slice_str(good[i])));
}

static void each_maximal_bad_part_becomes_one_replacement(void **state)
{
	(void)state;
	assert_repaired("plain", "plain");
	assert_repaired("a\x80z", "a" BAD "z");
	assert_repaired("a\xe2\x82z", "a" BAD "z");       /* could have become a euro */
	assert_repaired("a\xf0\x9f\x98", "a" BAD);
	assert_repaired("\xe2\x82\xe2\x82\xac", BAD "\xe2\x82\xac");
	assert_repaired("\xed\xa0\x80", BAD BAD BAD);      /* a surrogate never begins */
	assert_repaired("\xc0\xaf", BAD BAD);
	assert_repaired("\xf4\x90\x80\x80", BAD BAD BAD BAD);
	assert_repaired("\xef\xbf\xbd", BAD);              /* already one */
}

static void wtf8_keeps_lone_surrogates_and_joins_pairs(void **state)
{
	static const char pair[] = "\xed\xa0\xbd\xed\xb8\x80";
	uint32_t cp;

	(void)state;
	assert_int_equal(grove__utf8_decode_wtf8(pair, pair + 6, &cp), 6);
	assert_int_equal(cp, 0x1f600);
	assert_int_equal(grove__utf8_decode_wtf8(pair, pair + 5, &cp), 3);
	assert_int_equal(cp, 0xd83d);
	assert_int_equal(grove__utf8_decode_wtf8(pair + 3, pair + 6, &cp), 3);
	assert_int_equal(cp, 0xde00);
	/* cut short it is no surrogate but bad bytes, one by one */
	assert_int_equal(grove__utf8_decode_wtf8(pair, pair + 2, &cp), 1);
	assert_int_equal(cp, GROVE__UTF8_BAD);
}

static void nothing_is_valid(void **state)
{
	struct grove_buf b = GROVE_BUF_INIT;

	(void)state;
	assert_true(grove__utf8_valid(grove__slice(NULL, 0)));
	assert_int_equal(grove__utf8_repair(&b, grove__slice(NULL, 0)), 0);
	assert_int_equal(b.len, 0);
	grove__buf_release(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_code_point_reads_back_as_it_was_written),
		cmocka_unit_test(the_valid_prefix_ends_before_the_first_bad_byte),
		cmocka_unit_test(overlong_forms_surrogates_and_what_is_too_large_are_bad),
		cmocka_unit_test(each_maximal_bad_part_becomes_one_replacement),
		cmocka_unit_test(wtf8_keeps_lone_surrogates_and_joins_pairs),
		cmocka_unit_test(nothing_is_valid),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
