/*
 * tests/unit/test_json_value.c: going through the parts of values that are
 * known to be valid JSON.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../lib/chance.h"
#include "json/escape.h"
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

/* The end of a value is looked for in blocks, so what is hard to read must be tried at each place of one. */
static void the_end_of_a_value_is_found_wherever_a_block_ends(void **state)
{
	static const char *const hard[] = {
		"\"\"", "\"]\"", "\"\\\"]\"", "\"\\\\\"", "\"\\\\\\\"}\"", "{\"[\":{}}", "[[{\"\\\\\":[]}]]", "\"\\\\\\\\\"",
	};
	enum { ROOM = 512, PADDING = 140 };
	char text[ROOM];

	(void)state;
	for (size_t i = 0; i < sizeof(hard) / sizeof(*hard); i++)
		for (int before = 0; before < PADDING; before++)
			for (int after = 0; after < PADDING; after += 23) {
				int n = snprintf(text, sizeof(text), "[\"%0*d\",%s,\"%0*d\"]", before + 1, 0, hard[i],
						 after + 1, 0);

				snprintf(text + n, sizeof(text) - (size_t)n, ",\"\\\"]}\",%0*d]}", PADDING, 0);
				assert_int_equal(grove__json_skip(text, text + strlen(text)), n);
				assert_int_equal(grove__json_skip(text, text + n), n);
			}
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

static void integers_of_every_length_are_read(void **state)
{
	char digits[24] = "";

	(void)state;
	for (size_t len = 1; len < sizeof digits; len++) {
		digits[len - 1] = (char)('0' + len % 10);
		assert_true(grove__json_number(str(digits)) == strtod(digits, NULL));
	}
}

/* --- the quick ways against the plain ones --- */

static unsigned seed;

static unsigned below(unsigned n)
{
	seed = seed * 1103515245u + 12345u;
	return seed >> 8 & 0xffffff ? (seed >> 8 & 0xffffff) % n : 0;
}

/* A string literal of every kind of part, mostly plain. */
static void add_literal(struct grove_buf *b, unsigned parts)
{
	static const char *const odd[] = { "\\n", "\\\"", "\\\\", "\\u0041", "\\ud83d\\ude00", "\\ud83d", "é", "€", "\xf0\x9f\x98\x80",
					   "\xff", "\xc3", "\\/", "\\t", "{", "]" };

	grove__buf_add_char(b, '"');
	while (parts--) {
		if (!below(6))
			grove__buf_add_str(b, odd[below(sizeof odd / sizeof *odd)]);
		else
			grove__buf_add_char(b, (char)('a' + below(26)));
	}
	grove__buf_add_char(b, '"');
}

static void add_value(struct grove_buf *b, unsigned depth);

static void add_object(struct grove_buf *b, unsigned depth)
{
	static const char *const keys[] = { "\"type\"", "\"text\"", "\"t\\u0065xt\"", "\"\"", "\"te\"", "\"texts\"", "\"é\"" };

	grove__buf_add_char(b, '{');
	for (unsigned i = 0, nr = below(5); i < nr; i++) {
		grove__buf_add_str(b, i ? below(3) ? "," : " , " : below(3) ? "" : "\t");
		grove__buf_add_str(b, keys[below(sizeof keys / sizeof *keys)]);
		grove__buf_add_str(b, below(4) ? ":" : " : ");
		add_value(b, depth);
	}
	grove__buf_add_str(b, below(4) ? "}" : " }");
}

static void add_value(struct grove_buf *b, unsigned depth)
{
	switch (depth ? below(6) : below(3)) {
	case 0:
	case 1:
		add_literal(b, below(60));
		break;
	case 2:
		grove__buf_add_str(b, below(2) ? "-12.5e3" : "null");
		break;
	case 3:
		grove__buf_add_char(b, '[');
		for (unsigned i = 0, nr = below(4); i < nr; i++) {
			grove__buf_add_str(b, i ? "," : "");
			add_value(b, depth - 1);
		}
		grove__buf_add_char(b, ']');
		break;
	default:
		add_object(b, depth - 1);
	}
}

/* The text of a literal, character by character. */
static void slow_text(struct grove_buf *out, struct grove_slice raw)
{
	const char *p = raw.ptr + 1, *end = raw.ptr + raw.len - 1;
	char utf8[4];
	uint32_t cp;

	while (p < end) {
		p += *p == '\\' ? grove__json_unescape(p, end, &cp) : grove__utf8_decode(p, end, &cp);
		grove__buf_add(out, utf8, grove__utf8_encode(utf8, cp));
	}
}

static void texts_of_all_lengths_are_what_their_characters_say(void **state)
{
	struct grove_buf raw = GROVE_BUF_INIT, got = GROVE_BUF_INIT, want = GROVE_BUF_INIT, room = GROVE_BUF_INIT;
	struct grove_slice words;

	(void)state;
	for (seed = 1; seed < 20000; seed += 7) {
		unsigned was = seed;

		grove__buf_clear(&raw);
		grove__buf_clear(&got);
		grove__buf_clear(&want);
		add_literal(&raw, below(80));
		slow_text(&want, grove__buf_slice(&raw));
		assert_int_equal(grove__json_text(&got, grove__buf_slice(&raw)), 0);
		assert_int_equal(got.len, want.len);
		assert_memory_equal(got.ptr, want.len ? want.ptr : "", want.len);
		assert_int_equal(grove__json_words(grove__buf_slice(&raw), &room, &words), 0);
		assert_int_equal(words.len, want.len);
		assert_memory_equal(words.ptr, want.len ? want.ptr : "", want.len);
		seed = was;
	}
	grove__buf_release(&raw);
	grove__buf_release(&got);
	grove__buf_release(&want);
	grove__buf_release(&room);
}

static void slow_get(struct grove_slice object, const char *name, struct grove_slice *out)
{
	struct grove__json_iter it;

	*out = grove__slice(NULL, 0);
	if (grove__json_type_of(object) != JSON_OBJECT)
		return;
	grove__json_iter_init(&it, object);
	while (grove__json_next(&it))
		if (grove__json_string_equals(it.key, name))
			*out = it.value;
}

static void assert_members(struct grove_slice object, const char *const *names, size_t nr,
			   const struct grove_slice *of)
{
	for (size_t i = 0; i < nr; i++) {
		struct grove_slice want;

		slow_get(object, names[i], &want);
		assert_ptr_equal(of[i].ptr, want.ptr);
		assert_int_equal(of[i].len, want.len);
	}
}

/* Whatever a text is made of, and wherever it would be cut. */
static void the_start_of_a_text_is_that_of_the_whole(void **state)
{
	static const char *const parts[] = { "a", " ", "words ", "\\n", "\\\\", "\\\"", "\\u0041", "\\ud83d\\ude00", "\\ud83d",
					     "é", "世", "😀", "\xff", "\xc3", "\x80\x80\x80\x80" };
	struct chance c = chance_begin("json_value");
	struct grove_buf raw = GROVE_BUF_INIT, room = GROVE_BUF_INIT, other = GROVE_BUF_INIT;

	(void)state;
	for (int i = 0; i < 20000; i++) {
		uint32_t few = 1 + chance_below(&c, 15), nr = chance_below(&c, 120);
		size_t max = chance_below(&c, 40), lead = 0;
		struct grove_slice whole, start;

		raw.len = 0;
		assert_int_equal(grove__buf_add_char(&raw, '"'), 0);
		for (uint32_t k = 0; k < nr; k++)
			assert_int_equal(grove__buf_add_str(&raw, parts[chance_below(&c, few)]), 0);
		assert_int_equal(grove__buf_add_char(&raw, '"'), 0);
		assert_int_equal(grove__json_words(grove__buf_slice(&raw), &room, &whole), 0);
		assert_int_equal(grove__json_words_start(grove__buf_slice(&raw), max, &other, &start), 0);
		while (lead < whole.len && grove__json_is_space(whole.ptr[lead]))
			lead++;
		if (whole.len <= lead + max)
			assert_int_equal(start.len, whole.len);
		else
			assert_true(start.len > lead + max);
		if (whole.len)
			assert_memory_equal(start.ptr, whole.ptr, whole.len < lead + max ? whole.len : lead + max);
	}
	grove__buf_release(&raw);
	grove__buf_release(&room);
	grove__buf_release(&other);
}

static void members_of_elements_are_those_of_a_walk_over_each(void **state)
{
	static const char *const names[] = { "type", "text", "", "te", "é", "none" };
	enum { NR = sizeof names / sizeof *names };
	struct grove_buf raw = GROVE_BUF_INIT;
	struct grove__json_iter it, plain;
	struct grove_slice of[NR];

	(void)state;
	for (seed = 1; seed < 20000; seed += 7) {
		unsigned was = seed;

		grove__buf_clear(&raw);
		grove__buf_add_str(&raw, "[");
		for (unsigned i = 0, nr = below(5); i < nr; i++) {
			grove__buf_add_str(&raw, i ? below(2) ? "," : " ,\n" : "");
			add_value(&raw, 3);
		}
		grove__buf_add_str(&raw, "]");
		grove__json_iter_init(&it, grove__buf_slice(&raw));
		grove__json_iter_init(&plain, grove__buf_slice(&raw));
		while (grove__json_next(&plain)) {
			assert_true(grove__json_next_members(&it, names, NR, of));
			assert_ptr_equal(it.value.ptr, plain.value.ptr);
			assert_int_equal(it.value.len, plain.value.len);
			assert_members(plain.value, names, NR, of);
			grove__json_get_all(plain.value, names, NR, of);
			assert_members(plain.value, names, NR, of);
		}
		assert_false(grove__json_next_members(&it, names, NR, of));
		seed = was;
	}
	grove__buf_release(&raw);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_walk_yields_members_in_written_order_with_duplicates),
		cmocka_unit_test(a_walk_yields_elements_without_keys),
		cmocka_unit_test(empty_containers_and_scalars_yield_nothing),
		cmocka_unit_test(the_length_of_a_value_is_found_without_what_follows),
		cmocka_unit_test(depth_costs_nothing),
		cmocka_unit_test(the_end_of_a_value_is_found_wherever_a_block_ends),
		cmocka_unit_test(of_duplicate_members_the_last_is_got),
		cmocka_unit_test(elements_are_found_by_their_number),
		cmocka_unit_test(strings_compare_after_unescaping),
		cmocka_unit_test(text_has_its_escapes_resolved),
		cmocka_unit_test(text_keeps_lone_surrogates_as_three_bytes),
		cmocka_unit_test(text_replaces_what_is_not_utf8),
		cmocka_unit_test(text_may_hold_nul),
		cmocka_unit_test(truth_is_that_of_javascript),
		cmocka_unit_test(numbers_are_read_as_doubles),
		cmocka_unit_test(integers_of_every_length_are_read),
		cmocka_unit_test(texts_of_all_lengths_are_what_their_characters_say),
		cmocka_unit_test(the_start_of_a_text_is_that_of_the_whole),
		cmocka_unit_test(members_of_elements_are_those_of_a_walk_over_each),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
