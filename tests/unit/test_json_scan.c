/*
 * Tests the JSON scanner: all kernels and the streaming scanner must give the
 * same result for every line, wherever it lies in memory and into whatever
 * pieces it is cut.
 */
#include "json/scan_impl.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#ifdef GROVE__JSON_X86
/*
 * A second copy of the AVX2 kernel that counts the lines it hands to the
 * scalar one: right answers alone would not show that it rejects good lines.
 */
static unsigned nr_handed_on;

static enum grove__json_verdict counted_scalar(const struct grove__json_want *want,
					       const char *ptr, size_t len, bool final,
					       struct grove__json_line *out)
{
	nr_handed_on++;
	return grove__json_scan_scalar(want, ptr, len, final, out);
}

grove__json_scan_fn counted_avx2;
#define grove__json_scan_avx2 counted_avx2
#define grove__json_scan_scalar counted_scalar
#include "json/scan_avx2.c"
#undef grove__json_scan_avx2
#undef grove__json_scan_scalar
#endif

enum { TYPE, ID, MESSAGE, ROLE, CONTENT, DEEP, LEAF, LONG, EMPTY, NR };

static const struct grove__json_member members[NR] = {
	[TYPE] = { "type", -1 },
	[ID] = { "id", -1 },
	[MESSAGE] = { "message", -1 },
	[ROLE] = { "role", MESSAGE },
	[CONTENT] = { "content", MESSAGE },
	[DEEP] = { "deep", MESSAGE },
	[LEAF] = { "leaf", DEEP },
	[LONG] = { "a-name-of-31-bytes-0123456789ab", -1 },
	[EMPTY] = { "", -1 },
};

static struct grove__json_want want;

static int set_up(void **state)
{
	(void)state;
	grove__json_want_init(&want, members, NR);
	return 0;
}

/* xorshift: the same numbers everywhere. */
static uint64_t seed = 0x9e3779b97f4a7c15u;

static unsigned rnd(unsigned below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (unsigned)(seed >> 33) % below;
}

/* A copy `shift` bytes into an allocation that ends with the pad. */
static char *place(const char *text, size_t len, size_t shift, char pad, char **mem)
{
	*mem = malloc(shift + len + GROVE__JSON_PAD);
	assert_non_null(*mem);
	memset(*mem, pad, shift + len + GROVE__JSON_PAD);
	memcpy(*mem + shift, text, len);
	return *mem + shift;
}

static void same_line(const char *who, const char *text, size_t len,
		      enum grove__json_verdict va, const struct grove__json_line *a,
		      enum grove__json_verdict vb, const struct grove__json_line *b)
{
	bool same = va == vb && a->len == b->len;

	if (same && va == JSON_BAD)
		same = a->error_off == b->error_off;
	if (same && va == JSON_VALUE) {
		same = a->value.off == b->value.off && a->value.len == b->value.len &&
		       a->type == b->type && a->seen == b->seen;
		for (unsigned i = 0; same && i < NR; i++)
			if (grove__json_has(a, i))
				same = a->span[i].off == b->span[i].off &&
				       a->span[i].len == b->span[i].len;
	}
	if (!same)
		fail_msg("%s: verdict %d len %d error %d seen %llx, scalar %d %d %d %llx, seed %llx: %.*s",
			 who, (int)vb, (int)b->len, (int)b->error_off, (unsigned long long)b->seen, (int)va,
			 (int)a->len, (int)a->error_off, (unsigned long long)a->seen, (unsigned long long)seed,
			 (int)(len < 2000 ? len : 2000), text);
}

/* The stream machine on one line, cut at random; the verdict as a kernel's. */
static enum grove__json_verdict by_stream(const char *text, size_t len, unsigned piece,
					  struct grove__json_line *out)
{
	struct grove__json_stream *s = grove__json_stream_new(&want);
	size_t at = 0, used, end;
	int ret = JSON_STREAM_MORE;

	assert_non_null(s);
	while (ret == JSON_STREAM_MORE) {
		size_t n = piece ? rnd(piece + 1) : len;
		char *mem, *p;

		if (n > len - at)
			n = len - at;
		/* Its own allocation: it may not look beyond the piece. */
		mem = malloc(n + 1);
		assert_non_null(mem);
		p = mem + 1;
		memcpy(p, text + at, n);
		ret = grove__json_stream_feed(s, p, n, at + n == len, &used);
		free(mem);
		assert_true(ret >= 0);
		if (ret == JSON_STREAM_MORE)
			assert_int_equal(used, n);
		at += used;
	}
	*out = *grove__json_stream_line(s);
	grove__json_stream_free(s);
	assert_int_equal(out->len, at);
	for (end = 0; end < len && grove__json_is_blank(text[end]); end++)
		;
	out->len = len;
	if (end == len)
		return JSON_BLANK;
	if (ret == JSON_STREAM_BAD)
		return JSON_BAD;
	for (; at < len && grove__json_is_blank(text[at]); at++)
		;
	out->error_off = at;
	return at == len ? JSON_VALUE : JSON_BAD;
}

/* Ask them all; what the scalar kernel found is in *out. */
static enum grove__json_verdict ask(const char *text, size_t len, size_t shift,
				    struct grove__json_line *out)
{
	static const char pads[] = "9\"}\n \\u";
	const struct grove__json_kernel *k;
	enum grove__json_verdict v, other;
	struct grove__json_line l;
	char *mem, *p;

	p = place(text, len, shift, pads[rnd(sizeof(pads) - 1)], &mem);
	v = grove__json_kernel(0)->scan(&want, p, len, true, out);
	assert_int_equal(out->len, len);
	for (unsigned i = 1; (k = grove__json_kernel(i)); i++) {
		memset(&l, 0xaa, sizeof(l));
		other = k->scan(&want, p, len, true, &l);
		same_line(k->name, text, len, v, out, other, &l);
	}
	free(mem);

	/* With a line end, and something behind it. */
	p = place(text, len + 1, shift, '{', &mem);
	p[len] = '\n';
	for (unsigned i = 0; (k = grove__json_kernel(i)); i++) {
		memset(&l, 0xaa, sizeof(l));
		other = k->scan(&want, p, len + 1 + rnd(2) * 20, rnd(2), &l);
		same_line(k->name, text, len, v, out, other, &l);
		assert_int_equal(k->scan(&want, p, len, false, &l), JSON_MORE);
	}
	free(mem);

	other = by_stream(text, len, shift % 4 == 0 ? 0 : shift % 4 == 1 ? 1 : 100, &l);
	same_line("stream", text, len, v, out, other, &l);
	return v;
}

static void is(const char *text, enum grove__json_verdict expected)
{
	struct grove__json_line l;
	enum grove__json_verdict v = ask(text, strlen(text), 0, &l);

	if (v != expected)
		fail_msg("verdict %d, not %d: %s", (int)v, (int)expected, text);
}

/* The value by itself, and as an element and a member at all places in blocks. */
static void value_is(const char *text, bool good)
{
	enum grove__json_verdict v = good ? JSON_VALUE : JSON_BAD;
	char line[800];

	is(text, v);
	for (int pad = 0; pad < 140; pad += 1 + (pad > 70) * 3) {
		snprintf(line, sizeof(line), "[\"%*s\",%s]", pad, "", text);
		is(line, v);
		snprintf(line, sizeof(line), "{\"id\":%*s%s  ,\"k\":%s}", pad, "", text, text);
		is(line, v);
		snprintf(line, sizeof(line), "{\"id\":%*s%s", pad, "", text);
		if (good)
			is(line, JSON_BAD);
	}
}

static void good(const char *const *texts)
{
	for (; *texts; texts++)
		value_is(*texts, true);
}

static void bad(const char *const *texts)
{
	for (; *texts; texts++)
		value_is(*texts, false);
}

static void has(const char *text, unsigned member, const char *expected)
{
	size_t len = strlen(text);

	for (size_t shift = 0; shift < 64; shift += 7) {
		struct grove__json_line l;
		struct grove_slice span;

		assert_int_equal(ask(text, len, shift, &l), JSON_VALUE);
		span = grove__json_span_of(&l, text, member);
		if (!expected ? span.ptr != NULL : !grove__slice_is(span, expected))
			fail_msg("%s in %s is %.*s, not %s", members[member].name, text,
				 (int)span.len, span.ptr ? span.ptr : "", expected);
	}
}

static void every_kind_of_value_is_accepted(void **state)
{
	(void)state;
	good((const char *[]){ "{}", "[]", "\"\"", "0", "true", "false", "null", "[[]]",
			       "[{}]", "{\"\":{}}", "[1,2]", "[ 1 , 2 ]", "{ \"a\" : 1 }",
			       "{\"a\":1,\"b\":[{\"c\":null}],\"d\":\"\"}", "[[],[]]",
			       "[{},{}]", "{\"a\":{},\"b\":[]}", "[\"\",\"\"]", NULL });
}

static void tokens_in_the_wrong_place_are_rejected(void **state)
{
	static const char *const tokens[] = { "{", "}", "[", "]", ":", ",", "\"\"", "1",
					      "null", "\"id\"", " " };
	static const char *const ends[] = { "", "}", "]", "}}", "]}" };
	enum { N = sizeof(tokens) / sizeof(tokens[0]) };
	char line[200];

	(void)state;
	bad((const char *[]){ "[1 2]", "[1,]", "[,1]", "[,]", "[1,,2]", "{,}", "{\"a\"}",
			      "{\"a\":}", "{\"a\":1,}", "{\"a\" 1}", "{\"a\"::1}", "{1:2}",
			      "{a:1}", "{null:1}", "[\"a\":1]", "{\"a\",1}", "[}", "{]",
			      "[{]}", "{\"a\":[}]", "]", "}", ",", ":", "[]]", "{}}",
			      "[] []", "{}{}", "{},", "[],", "{}1", "{} null",
			      "{}\"\"", "1 2", "1,", "[1]2", "\"a\"\"b\"", "\"a\"1",
			      "1\"a\"", "[1\"a\"]", "[\"a\"\"b\"]", "[\"a\"1]", "[{}[]]",
			      "[[]{}]", "{\"a\":1\"b\":2}", "{\"a\":1:2}", "{[]:1}",
			      "{{}:1}", "[true false]", "(1)", "'a'", "[1;2]", "//x",
			      "/**/1", NULL });
	is("[],[]", JSON_BAD);
	is("{\"a\":1},{\"a\":1}", JSON_BAD);
	/* All short sequences of tokens: the kernels agree whatever they say. */
	for (unsigned n = 0; n < N * N * N * N; n++) {
		for (unsigned e = 0; e < sizeof(ends) / sizeof(ends[0]); e++) {
			struct grove__json_line l;

			snprintf(line, sizeof(line), "%s%s%s%s%s%s", e == 4 ? "{\"a\":[" :
				 e == 1 ? "{" : e == 2 ? "[" : e == 3 ? "{\"id\":{" : "",
				 tokens[n % N], tokens[n / N % N], tokens[n / N / N % N],
				 tokens[n / N / N / N], ends[e]);
			ask(line, strlen(line), 0, &l);
		}
	}
}

static void numbers_are_those_of_the_grammar_whatever_their_size(void **state)
{
	(void)state;
	good((const char *[]){ "0", "-0", "1", "-1", "10", "1.0", "0.5", "-0.5", "1e5", "1E5",
			       "1e+5", "1e-5", "0e0", "0E-0", "1.5e10", "-1.25E-3", "1e400",
			       "1e-400", "9007199254740993", "0.00000000000000000000000001",
			       "1000000000000000000000000000000000000000000000000000000000"
			       "000000000000000000000000000000000000000000000000", "1e00",
			       "1e0001", "0.0", "100.001", NULL });
	bad((const char *[]){ "01", "00", "-01", "-", "+1", "1.", ".5", "-.5", "1.e5", "1e",
			      "1e+", "1e-", "1E", "1.5.5", "1e5e5", "1e5.5", "0x10", "1_000",
			      "1a", "1-1", "1+1", "--1", "-e", "1e++5", "1e+-5", "0e", "0.e1",
			      "-", "- 1", "1 .5", "1. 5", "1e 5", "Infinity", "-Infinity",
			      "NaN", "1n", "1f", "0-", "1.5-", "1..5", "1ee5", "00.5", "01e5",
			      "0.5.", "1\x80", "\xd9\xa1", NULL });
	/* Longer than a block, wrong behind it. */
	for (int n = 1; n < 200; n += 7) {
		static const char *const ends[] = { "x", ".", "e", "-", "1.", "e+", ".5.5" };
		char text[220];

		memset(text, '7', sizeof(text));
		text[n] = 0;
		value_is(text, true);
		for (unsigned i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
			memcpy(text + n, ends[i], strlen(ends[i]) + 1);
			value_is(text, false);
		}
	}
}

static void literals_must_be_whole(void **state)
{
	(void)state;
	bad((const char *[]){ "t", "tr", "tru", "truE", "truee", "true1", "f", "fals", "falsey",
			      "n", "nul", "nulll", "nullnull", "True", "NULL", "undefined",
			      "true\"\"", "nul\"\"", "true\x01", "null\xef\xbb\xbf", "nan",
			      "null.", "true-", NULL });
}

static void strings_may_hold_anything_but_control_characters(void **state)
{
	char text[] = "\"a?b\"";

	(void)state;
	for (int c = 1; c < 256; c++) {
		if (c == '\n' || c == '"' || c == '\\')
			continue;
		text[2] = (char)c;
		value_is(text, c >= 0x20);
	}
	good((const char *[]){ "\"\x7f\"", "\"\xff\xfe\"", "\"\xed\xa0\x80\"", "\"\xc3\"",
			       "\"\xe2\x80\xa8\"", "\"{}[]:,\"", "\"//\"", "\"'\"", NULL });
	bad((const char *[]){ "\"", "\"a", "\"a\\\"", "\"a\tb\"", "\"a\rb\"", NULL });
}

static void a_zero_byte_is_a_control_character(void **state)
{
	struct grove__json_line l;

	(void)state;
	for (size_t shift = 0; shift < 64; shift++) {
		assert_int_equal(ask("[\"a\0b\"]", 7, shift, &l), JSON_BAD);
		assert_int_equal(l.error_off, 3);
		assert_int_equal(ask("[1\0]", 4, shift, &l), JSON_BAD);
		assert_int_equal(l.error_off, 2);
	}
}

static void escapes_are_those_of_the_grammar(void **state)
{
	char text[] = "\"\\?\"";

	(void)state;
	for (int c = 1; c < 256; c++) {
		if (c == '\n' || c == 'u')
			continue;
		text[2] = (char)c;
		value_is(text, strchr("\"\\/bfnrt", c) != NULL);
	}
	good((const char *[]){ "\"\\u0000\"", "\"\\uD800\"", "\"\\udc00\\ud800\"",
			       "\"\\uABCD\\uabcd\\u1234\"", "\"\\\\u\"", "\"\\\\\"",
			       "\"\\u00e9x\"", "\"\\uFFFF\\n\"", NULL });
	bad((const char *[]){ "\"\\u\"", "\"\\u1\"", "\"\\u12\"", "\"\\u123\"", "\"\\u123g\"",
			      "\"\\u 123\"", "\"\\U1234\"", "\"\\u12\\u1234\"", "\"\\x41\"",
			      "\"\\\\\\\"", "\"\\u123\\\"", "\"\\u-123\"", "\"\\u+123\"",
			      "\"\\u@000\"", "\"\\u`000\"", "\"\\uG000\"", "\"\\u/000\"",
			      "\"\\u:000\"", NULL });
}

static void runs_of_backslashes_may_cross_blocks(void **state)
{
	char line[400];

	(void)state;
	for (unsigned pad = 0; pad < 70; pad++) {
		for (unsigned run = 0; run < 140; run++) {
			struct grove__json_line l;
			size_t n = 0;

			line[n++] = '[';
			line[n++] = '"';
			memset(line + n, 'x', pad);
			n += pad;
			memset(line + n, '\\', run);
			n += run;
			memcpy(line + n, "\",1]", 4);
			n += 4;
			assert_int_equal(ask(line, n, pad, &l),
					 run % 2 ? JSON_BAD : JSON_VALUE);
		}
	}
}

static void space_is_four_characters_and_no_more(void **state)
{
	char text[] = "[1?]";

	(void)state;
	for (int c = 1; c < 256; c++) {
		if (c == '\n' || (c >= '0' && c <= '9'))
			continue;
		text[2] = (char)c;
		if (c == ',' || c == ']' || c == '.' || c == 'e')
			continue;
		value_is(text, c == ' ' || c == '\t' || c == '\r');
	}
	bad((const char *[]){ "\xef\xbb\xbf{}", "\xc2\xa0{}", "{}\xe2\x80\xa8", "\f{}", "{}\v",
			      NULL });
}

static void a_line_ends_at_the_first_line_feed(void **state)
{
	const struct grove__json_kernel *k;
	struct grove__json_line l;
	char *mem, *p;

	(void)state;
	is("{}\r", JSON_VALUE);
	is(" \t\r", JSON_BLANK);
	is("", JSON_BLANK);
	is("\r", JSON_BLANK);
	for (size_t shift = 0; shift < 64; shift++) {
		static const char text[] = "\n  \r\n [1] \r\n{\"a\n\"}\n1\nx\n2";
		static const enum grove__json_verdict verdicts[] = {
			JSON_BLANK, JSON_BLANK, JSON_VALUE, JSON_BAD, JSON_BAD, JSON_VALUE,
			JSON_BAD, JSON_VALUE,
		};
		static const unsigned lens[] = { 0, 3, 6, 3, 2, 1, 1, 1 };

		p = place(text, sizeof(text) - 1, shift, '3', &mem);
		for (unsigned i = 0; (k = grove__json_kernel(i)); i++) {
			size_t at = 0;

			for (unsigned n = 0; n < 8; n++) {
				assert_int_equal(k->scan(&want, p + at, sizeof(text) - 1 - at,
							 true, &l), verdicts[n]);
				assert_int_equal(l.len, lens[n]);
				at += (size_t)l.len + 1;
			}
			assert_int_equal(at, sizeof(text));
			assert_int_equal(k->scan(&want, p + at - 2, 1, false, &l), JSON_MORE);
		}
		free(mem);
	}
}

static void nothing_is_decided_without_a_line_end(void **state)
{
	const struct grove__json_kernel *k;
	static const char text[] = "{\"id\":\"0123456789012345678901234567890123456789012345"
				   "678901234567890123456789\",x}";
	struct grove__json_line l;
	char *mem, *p;

	(void)state;
	for (size_t len = 0; len < sizeof(text); len++) {
		p = place(text, len, 0, '\n', &mem);
		for (unsigned i = 0; (k = grove__json_kernel(i)); i++)
			assert_int_equal(k->scan(&want, p, len, false, &l), JSON_MORE);
		free(mem);
	}
}

static void the_value_is_trimmed(void **state)
{
	static const char *const values[] = { "{\"id\":1}", "[1]", "\"x\"", "-1.5", "null" };
	struct grove__json_line l;
	char line[400];

	(void)state;
	for (unsigned i = 0; i < 5; i++) {
		for (int pad = 0; pad < 150; pad += 5) {
			snprintf(line, sizeof(line), "%*s%s\t%*s\r", pad, "", values[i], pad, "");
			assert_int_equal(ask(line, strlen(line), 0, &l), JSON_VALUE);
			assert_int_equal(l.value.off, pad);
			assert_int_equal(l.value.len, strlen(values[i]));
			assert_int_equal(l.type, grove__json_type_of(grove__slice_str(values[i])));
		}
	}
}

static void errors_are_where_the_line_went_wrong(void **state)
{
	static const struct {
		const char *text;
		size_t off;
	} cases[] = {
		{ "{\"a\":01}", 6 },   { "{\"a\":1", 6 },       { "[1,]", 3 },
		{ "[\"a\\x\"]", 4 },   { "[\"\\u12g4\"]", 6 },  { "tru", 3 },
		{ "trux", 3 },         { "{} {}", 3 },          { "[1 2]", 3 },
		{ "\"a", 2 },          { "[-]", 2 },            { "{\"a\":[}", 6 },
		{ "]", 0 },            { "  x", 2 },            { "1x", 1 },
		{ "\xef\xbb\xbf{}", 0 }, { "[1}", 2 },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct grove__json_line l;

		assert_int_equal(ask(cases[i].text, strlen(cases[i].text), i, &l), JSON_BAD);
		assert_int_equal(l.error_off, cases[i].off);
	}
}

static void wanted_members_are_found_with_their_whole_value(void **state)
{
	static const char line[] = "{ \"type\" : \"a\\\"b\" ,\"id\":-1.5e3,\"x\":{\"id\":7},\"message\""
				   ":{\"role\":[1,{\"role\":2}] ,\"content\":null,\"id\":3,"
				   "\"deep\":{\"leaf\":{}}} , \"\":true }";

	(void)state;
	has(line, TYPE, "\"a\\\"b\"");
	has(line, ID, "-1.5e3");
	has(line, MESSAGE, "{\"role\":[1,{\"role\":2}] ,\"content\":null,\"id\":3,"
			   "\"deep\":{\"leaf\":{}}}");
	has(line, ROLE, "[1,{\"role\":2}]");
	has(line, CONTENT, "null");
	has(line, DEEP, "{\"leaf\":{}}");
	has(line, LEAF, "{}");
	has(line, EMPTY, "true");
	has(line, LONG, NULL);
	has("{\"a-name-of-31-bytes-0123456789ab\":1}", LONG, "1");
	has("{\"a-name-of-31-bytes-0123456789abc\":1}", LONG, NULL);
	has("{\"a-name-of-31-bytes-0123456789a\":1}", LONG, NULL);
	has("{\"a-name-of-31-bytes-0123456789aB\":1}", LONG, NULL);
	has("{\"Id\":1,\"i\":2,\"idd\":3}", ID, NULL);
}

static void members_are_only_looked_for_where_they_belong(void **state)
{
	(void)state;
	has("[{\"id\":1}]", ID, NULL);
	has("{\"x\":{\"id\":1}}", ID, NULL);
	has("{\"role\":1}", ROLE, NULL);
	has("{\"message\":[{\"role\":1}]}", ROLE, NULL);
	has("{\"message\":{\"x\":{\"role\":1}}}", ROLE, NULL);
	has("{\"message\":{\"message\":{\"role\":1}}}", ROLE, NULL);
	has("{\"type\":{\"role\":1}}", ROLE, NULL);
	has("{\"x\":\"id\",\"y\":[\"id\"]}", ID, NULL);
	has("\"id\"", ID, NULL);
}

static void of_equal_keys_the_last_one_counts(void **state)
{
	(void)state;
	has("{\"id\":1,\"id\":\"two\"}", ID, "\"two\"");
	has("{\"message\":{\"role\":1},\"message\":5}", ROLE, NULL);
	has("{\"message\":{\"role\":1},\"message\":5}", MESSAGE, "5");
	has("{\"message\":{\"role\":1},\"message\":[{\"role\":2}]}", ROLE, NULL);
	has("{\"message\":{\"role\":1,\"deep\":{\"leaf\":1}},\"message\":{\"role\":2}}", ROLE, "2");
	has("{\"message\":{\"role\":1,\"deep\":{\"leaf\":1}},\"message\":{\"role\":2}}", LEAF, NULL);
	has("{\"message\":{\"deep\":{\"leaf\":1},\"deep\":{}}}", LEAF, NULL);
	has("{\"message\":{\"deep\":{\"leaf\":1},\"deep\":{}}}", DEEP, "{}");
	has("{\"message\":null,\"message\":{\"role\":3}}", ROLE, "3");
	has("{\"message\":{\"role\":1},\"m\\u0065ssage\":5}", ROLE, NULL);
}

static void keys_are_compared_without_their_escapes(void **state)
{
	(void)state;
	has("{\"\\u0069d\":1}", ID, "1");
	has("{\"\\u0069\\u0064\":1}", ID, "1");
	has("{\"i\\u00644\":1}", ID, NULL);
	has("{\"\\u0169d\":1}", ID, NULL);
	has("{\"id\\u0000\":1}", ID, NULL);
	has("{\"\\\\id\":1}", ID, NULL);
	has("{\"\\/id\":1,\"id\\n\":1}", ID, NULL);
	has("{\"message\":{\"r\\u006fle\":\"\\u006f\"}}", ROLE, "\"\\u006f\"");
	has("{\"\\u0061\\u002d\\u006e\\u0061\\u006d\\u0065\\u002d\\u006f\\u0066\\u002d\\u0033\\u0031"
	    "\\u002d\\u0062\\u0079\\u0074\\u0065\\u0073\\u002d\\u0030\\u0031\\u0032\\u0033\\u0034\\u0035"
	    "\\u0036\\u0037\\u0038\\u0039\\u0061\\u0062\":1}", LONG, "1");
	has("{\"0123456789012345678901234567890\\u0030123456789\":1,\"id\":2}", ID, "2");
}

static void depth_has_no_limit(void **state)
{
	size_t depths[] = { 62, 63, 64, 65, 1000, 1023, 1024, 1025, 2048, 4097, 1000000 };

	(void)state;
	for (unsigned i = 0; i < sizeof(depths) / sizeof(depths[0]); i++) {
		size_t d = depths[i], n = 0;
		char *text = malloc(7 * d + 100);
		struct grove__json_line l;

		assert_non_null(text);
		for (size_t k = 0; k < d; k++) {
			const char *open = k % 3 ? "[" : "{\"id\":";

			memcpy(text + n, open, strlen(open));
			n += strlen(open);
		}
		text[n++] = '1';
		for (size_t k = d; k--;)
			text[n++] = k % 3 ? ']' : '}';
		assert_int_equal(ask(text, n, i, &l), JSON_VALUE);
		assert_int_equal(l.span[ID].off, 6);
		assert_int_equal(l.span[ID].len, n - 7);
		text[n - 2] ^= 0x20;
		assert_int_equal(ask(text, n, i, &l), JSON_BAD);
		assert_int_equal(l.error_off, n - 2);
		assert_int_equal(ask(text, n / 2, i, &l), JSON_BAD);
		free(text);
	}
}

static void long_lines_are_no_different(void **state)
{
	static const unsigned sizes[] = { 60000, 65536, 70001, 300000 };

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		size_t n = 0, size = sizes[i];
		char *text = malloc(3 * size + 200);
		struct grove__json_line l;

		assert_non_null(text);
		n += (size_t)snprintf(text, 100, "{\"message\":{\"content\":\"");
		while (n < size)
			text[n++] = (char)(' ' + 3 + rnd(50));
		n += (size_t)snprintf(text + n, 100, "\",\"role\":1},\"x\":[0");
		while (n < 2 * size)
			n += (size_t)snprintf(text + n, 20, ",%u", rnd(100000));
		n += (size_t)snprintf(text + n, size, "],%*s\"id\":1}", (int)(size / 2), "");
		assert_int_equal(ask(text, n, i, &l), JSON_VALUE);
		assert_int_equal(l.seen, 1u << ID | 1u << MESSAGE | 1u << ROLE | 1u << CONTENT);
		text[n - 3] = '"';
		assert_int_equal(ask(text, n, i, &l), JSON_BAD);
		free(text);
	}
}

static const char *const lines[] = {
	"{\"type\":\"session\",\"version\":3,\"id\":\"d697c894\",\"timestamp\":\"2026-05-05T07:51:55.000Z\"}",
	"{\"type\":\"message\",\"id\":\"9058fe3b\",\"parentId\":null,\"message\":{\"role\":\"assistant\","
	"\"content\":[{\"type\":\"text\",\"text\":\"a\\n\\tb\\\\\\\"c\\u00e9 \xc3\xa9\"},{\"type\":"
	"\"toolCall\",\"arguments\":{}}],\"usage\":{\"input\":3,\"cost\":{\"input\":9e-06,\"output\":"
	"0.00669,\"cacheRead\":-1.5E+10,\"x\":1e-5}},\"deep\":{\"leaf\":[]}},\"ok\":true,\"no\":false}",
	"[[],{},[{}],{\"a\":[1,-0,2.50,true,null,\"\"]}, \"x\\\\\\\\\" ]",
	"{ \"message\" : { \"role\" : [ 1 , 2 ] , \"content\" : \"\\ud83d\\ude00\" } , \"id\" : 12345678901234567890 }",
};
enum { NR_LINES = sizeof(lines) / sizeof(lines[0]) };

static void damaged_lines_are_judged_alike(void **state)
{
	static const char bytes[] = "{}[]:,\"\\ \t\r0123456789-+.eEtrufalsn/bx\x01\x1f\x7f\x80\xef\xff";

	(void)state;
	for (unsigned round = 0; round < 60000; round++) {
		struct grove__json_line l;
		char line[1000];
		size_t n = 0, len, pad = rnd(100);
		const char *base = lines[rnd(NR_LINES)];

		/* Something before it, so that everything visits every place. */
		if (rnd(2)) {
			n = (size_t)snprintf(line, sizeof(line), "{\"pad\":\"%*s\",\"message\":",
					     (int)pad, "");
		}
		len = strlen(base);
		memcpy(line + n, base, len);
		len += n;
		if (n)
			line[len++] = '}';
		for (unsigned edits = rnd(4); edits; edits--) {
			size_t at = rnd((unsigned)len), many = 1 + rnd(3);

			switch (rnd(4)) {
			case 0:
				line[at] = bytes[rnd(sizeof(bytes) - 1)];
				break;
			case 1:
				memmove(line + at + 1, line + at, len - at);
				line[at] = bytes[rnd(sizeof(bytes) - 1)];
				len++;
				break;
			case 2:
				if (many > len - at - 1)
					break;
				memmove(line + at, line + at + many, len - at - many);
				len -= many;
				break;
			default:
				if (rnd(8) == 0)
					len = at + 1;
				break;
			}
		}
		ask(line, len, rnd(64), &l);
	}
}

static void good_lines_stay_in_the_fast_kernel(void **state)
{
	(void)state;
#ifdef GROVE__JSON_X86
	if (!grove__json_kernel(1))
		skip();
	nr_handed_on = 0;
	for (unsigned i = 0; i < NR_LINES; i++) {
		for (int pad = 0; pad < 130; pad++) {
			struct grove__json_line l;
			char line[1000], *mem, *p;
			int n = snprintf(line, sizeof(line), "{\"pad\":\"%*s\",\"message\":%s}",
					 pad, "", lines[i]);

			p = place(line, (size_t)n, 0, '\n', &mem);
			assert_int_equal(counted_avx2(&want, p, (size_t)n, true, &l), JSON_VALUE);
			free(mem);
			if (nr_handed_on)
				fail_msg("handed on: %s", line);
		}
	}
#else
	skip();
#endif
}

static void a_stream_reads_value_after_value(void **state)
{
	static const char text[] = " {\"id\":1}\n[\n1,\n2\n]12 \"x\"null-3";
	static const size_t ends[] = { 9, 18, 20, 24, 28, 30 };
	struct grove__json_stream *s = grove__json_stream_new(&want);
	size_t at = 0, used;

	(void)state;
	assert_non_null(s);
	for (unsigned i = 0; i < 6; i++) {
		grove__json_stream_reset(s);
		assert_int_equal(grove__json_stream_feed(s, text + at, sizeof(text) - 1 - at,
							 true, &used), JSON_STREAM_DONE);
		at += used;
		assert_int_equal(at, ends[i]);
		assert_int_equal(grove__json_stream_line(s)->len, used);
		/* Done is done. */
		assert_int_equal(grove__json_stream_feed(s, "x", 1, false, &used),
				 JSON_STREAM_DONE);
		assert_int_equal(used, 0);
	}
	grove__json_stream_free(s);
}

static void a_stream_waits_for_the_end_of_a_number(void **state)
{
	struct grove__json_stream *s = grove__json_stream_new(&want);
	size_t used;

	(void)state;
	assert_non_null(s);
	assert_int_equal(grove__json_stream_feed(s, " 12", 3, false, &used), JSON_STREAM_MORE);
	assert_int_equal(grove__json_stream_feed(s, ".", 1, false, &used), JSON_STREAM_MORE);
	assert_int_equal(grove__json_stream_feed(s, "5", 1, false, &used), JSON_STREAM_MORE);
	assert_int_equal(grove__json_stream_feed(s, NULL, 0, true, &used), JSON_STREAM_DONE);
	assert_int_equal(grove__json_stream_line(s)->value.off, 1);
	assert_int_equal(grove__json_stream_line(s)->value.len, 4);
	grove__json_stream_reset(s);
	assert_int_equal(grove__json_stream_feed(s, "12.", 3, true, &used), JSON_STREAM_BAD);
	assert_int_equal(grove__json_stream_line(s)->error_off, 3);
	assert_int_equal(grove__json_stream_feed(s, "1", 1, true, &used), JSON_STREAM_BAD);
	grove__json_stream_reset(s);
	assert_int_equal(grove__json_stream_feed(s, " \n ", 3, true, &used), JSON_STREAM_BAD);
	grove__json_stream_reset(s);
	assert_int_equal(grove__json_stream_feed(s, NULL, 0, false, &used), JSON_STREAM_MORE);
	grove__json_stream_free(s);
	grove__json_stream_free(NULL);
}

static void the_best_kernel_answers(void **state)
{
	const struct grove__json_kernel *k;
	struct grove__json_line l;
	char *mem, *p = place("{\"id\":7}", 8, 0, 'x', &mem);
	unsigned i = 0;

	(void)state;
	for (; (k = grove__json_kernel(i)); i++)
		assert_non_null(k->name);
	assert_true(i >= 1);
	assert_string_equal(grove__json_kernel(0)->name, "scalar");
	assert_int_equal(grove__json_scan(&want, p, 8, true, &l), JSON_VALUE);
	assert_true(grove__slice_is(grove__json_span_of(&l, p, ID), "7"));
	free(mem);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_kind_of_value_is_accepted),
		cmocka_unit_test(tokens_in_the_wrong_place_are_rejected),
		cmocka_unit_test(numbers_are_those_of_the_grammar_whatever_their_size),
		cmocka_unit_test(literals_must_be_whole),
		cmocka_unit_test(strings_may_hold_anything_but_control_characters),
		cmocka_unit_test(a_zero_byte_is_a_control_character),
		cmocka_unit_test(escapes_are_those_of_the_grammar),
		cmocka_unit_test(runs_of_backslashes_may_cross_blocks),
		cmocka_unit_test(space_is_four_characters_and_no_more),
		cmocka_unit_test(a_line_ends_at_the_first_line_feed),
		cmocka_unit_test(nothing_is_decided_without_a_line_end),
		cmocka_unit_test(the_value_is_trimmed),
		cmocka_unit_test(errors_are_where_the_line_went_wrong),
		cmocka_unit_test(wanted_members_are_found_with_their_whole_value),
		cmocka_unit_test(members_are_only_looked_for_where_they_belong),
		cmocka_unit_test(of_equal_keys_the_last_one_counts),
		cmocka_unit_test(keys_are_compared_without_their_escapes),
		cmocka_unit_test(depth_has_no_limit),
		cmocka_unit_test(long_lines_are_no_different),
		cmocka_unit_test(damaged_lines_are_judged_alike),
		cmocka_unit_test(good_lines_stay_in_the_fast_kernel),
		cmocka_unit_test(a_stream_reads_value_after_value),
		cmocka_unit_test(a_stream_waits_for_the_end_of_a_number),
		cmocka_unit_test(the_best_kernel_answers),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
