/*
 * tests/unit/test_base64.c: base64 as Node.js handles it, in each of the
 * implementations (kernels).
 *
 * The expected results are those of Node.js; tests/diff compares many more.
 * Each text lies at the very end of its own block of memory, so that a
 * sanitizer notices if even one byte too many is read.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "js/base64.h"
#include "js/js.h"

#include "../lib/chance.h"

#define NR(a) (sizeof(a) / sizeof *(a))

static void *exact(const void *ptr, size_t len)
{
	void *copy = malloc(len ? len : 1);

	assert_non_null(copy);
	memcpy(copy, ptr, len);
	return copy;
}

static void assert_decodes_bytes(const char *text, size_t len, const char *bytes, size_t nr)
{
	const struct grove__base64_kernel *k;
	char *in = exact(text, len);
	char *out = malloc(GROVE__BASE64_DECODED(len));
	struct grove_buf b = GROVE_BUF_INIT;

	assert_non_null(out);
	for (unsigned i = 0; (k = grove__base64_kernel(i)); i++) {
		size_t got = grove__base64_decode(k, out, in, len);

		if (got != nr || memcmp(out, bytes, nr))
			fail_msg("%s: \"%.*s\" gives %zu bytes, not %zu", k->name, (int)len, text, got, nr);
	}
	assert_int_equal(grove__buf_add_str(&b, "before "), 0);
	assert_int_equal(grove__js_base64_decode(&b, grove__slice(in, len)), 0);
	assert_int_equal(b.len, 7 + nr);
	assert_memory_equal(b.ptr + 7, bytes, nr);
	assert_int_equal(b.ptr[b.len], 0);
	grove__buf_release(&b);
	free(out);
	free(in);
}

static void assert_decodes(const char *text, const char *bytes)
{
	assert_decodes_bytes(text, strlen(text), bytes, strlen(bytes));
}

static void assert_encodes(const void *ptr, size_t len, const char *text, size_t nr)
{
	const struct grove__base64_kernel *k;
	char *in = exact(ptr, len);
	char *out = malloc(GROVE__BASE64_ENCODED(len));
	struct grove_buf b = GROVE_BUF_INIT;

	assert_non_null(out);
	for (unsigned i = 0; (k = grove__base64_kernel(i)); i++) {
		assert_int_equal(grove__base64_encode(k, out, in, len), nr);
		assert_memory_equal(out, text, nr);
	}
	assert_int_equal(grove__js_base64(&b, grove__slice(in, len)), 0);
	assert_int_equal(b.len, nr);
	assert_memory_equal(b.ptr, text, nr + 1);
	grove__buf_release(&b);
	free(out);
	free(in);
}

static void encoding_pads(void **state)
{
	(void)state;
	assert_encodes("", 0, "", 0);
	assert_encodes("f", 1, "Zg==", 4);
	assert_encodes("fo", 2, "Zm8=", 4);
	assert_encodes("foo", 3, "Zm9v", 4);
	assert_encodes("foob", 4, "Zm9vYg==", 8);
	assert_encodes("\xfb\xff\xbf", 3, "+/+/", 4);
	assert_encodes("\0\0\0", 3, "AAAA", 4);
}

static void decoding_takes_both_alphabets(void **state)
{
	(void)state;
	assert_decodes("QUJD", "ABC");
	assert_decodes("+/+/", "\xfb\xff\xbf");
	assert_decodes("-_-_", "\xfb\xff\xbf");
	assert_decodes("-/+_", "\xfb\xff\xbf");
}

static void decoding_keeps_the_whole_bytes_of_the_last_group(void **state)
{
	(void)state;
	assert_decodes("", "");
	assert_decodes("Q", "");
	assert_decodes("QU", "A");
	assert_decodes("QUI", "AB");
	assert_decodes("QUJDQ", "ABC");
	assert_decodes("QUJDQQ", "ABCA");
	assert_decodes("QUJDQf", "ABCA"); /* bits left over are nobody's */
}

static void decoding_passes_over_what_is_no_letter(void **state)
{
	(void)state;
	assert_decodes("Q U\nJ\r\nD", "ABC");
	assert_decodes("!Q*U,J.D:", "ABC");
	assert_decodes("QU\xc3\xa9JD", "ABC");         /* é */
	assert_decodes("QU\xe3\x80\x80JD", "ABC");     /* an ideographic space */
	assert_decodes("QU\xffJ\xc3", "AB");           /* bad bytes */
	assert_decodes_bytes("QU\0JD", 5, "ABC", 3);
}

static void decoding_ends_at_an_equals_sign(void **state)
{
	(void)state;
	assert_decodes("=QUJD", "");
	assert_decodes("Q=UJD", "");
	assert_decodes("QU=JD", "A");
	assert_decodes("QUJ=D", "AB");
	assert_decodes("QUJD=QUJD", "ABC");
	assert_decodes("QUJDQQ==QUJD", "ABCA");
}

/* Node looks at the low byte of a UTF-16 unit. */
static void decoding_sees_letters_beyond_latin_1_as_node_does(void **state)
{
	(void)state;
	assert_decodes("\xc5\x91UJD", "ABC");            /* U+0151: Q */
	assert_decodes("QUJD\xc4\xbdQUJD", "ABC");       /* U+013D: = */
	assert_decodes("\xed\xa1\x91UJD", "ABC");        /* U+D851 alone: Q */
	/* U+10451 is D801 DC51: nothing, and Q */
	assert_decodes("\xf0\x90\x91\x91UJD", "ABC");
	/* U+24451 is D851 DC51: QQ */
	assert_decodes("\xf0\xa4\x91\x91\xf0\xa4\x91\x91", "A\x04\x10");
	/* a pair in the middle of groups */
	assert_decodes("QUJ\xf0\xa4\x91\x91QUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJD",
		       "ABPA\5\t\r\5\t\r\5\t\r\5\t\r\5\t\r\5\t\r\5\t\r\5\t\r\5\t");
}

/* Every length, and something odd at every place. */
static void what_was_encoded_comes_back(void **state)
{
	static const char odd[][5] = { " ", "\n", "\r\n", "\xc3\xa9", "!" };
	struct chance c = chance_begin("base64");
	char bytes[200], text[300], broken[310];

	(void)state;
	for (size_t len = 0; len <= sizeof(bytes); len++) {
		struct grove_buf b = GROVE_BUF_INIT;

		for (size_t i = 0; i < len; i++)
			bytes[i] = (char)chance_next(&c);
		assert_int_equal(grove__js_base64(&b, grove__slice(bytes, len)), 0);
		memcpy(text, b.ptr, b.len);
		assert_encodes(bytes, len, b.ptr, b.len);
		assert_decodes_bytes(text, b.len, bytes, len);
		for (size_t at = 0; at + 2 < b.len; at++) {
			const char *o = odd[chance_below(&c, NR(odd))];
			size_t n = strlen(o);

			memcpy(broken, text, at);
			memcpy(broken + at, o, n);
			memcpy(broken + at + n, text + at, b.len - at);
			assert_decodes_bytes(broken, b.len + n, bytes, len);
		}
		grove__buf_release(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(encoding_pads),
		cmocka_unit_test(decoding_takes_both_alphabets),
		cmocka_unit_test(decoding_keeps_the_whole_bytes_of_the_last_group),
		cmocka_unit_test(decoding_passes_over_what_is_no_letter),
		cmocka_unit_test(decoding_ends_at_an_equals_sign),
		cmocka_unit_test(decoding_sees_letters_beyond_latin_1_as_node_does),
		cmocka_unit_test(what_was_encoded_comes_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
