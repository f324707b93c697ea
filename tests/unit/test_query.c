/*
 * tests/unit/test_query.c: the query language for finding sessions.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "catalog/query.h"

#include "../lib/chance.h"

#define NO_MATCH 1e18
#define TIER 1e6

static struct grove_slice str(const char *s)
{
	return (struct grove_slice){ s, s ? strlen(s) : 0 };
}

/* What a line of a log looks like that has the text; every `odd`th letter is written as \uXXXX. */
static void spell(char *out, size_t cap, const char *text, unsigned odd)
{
	size_t n = (size_t)snprintf(out, cap, "{\"message\":\"");

	for (unsigned i = 1; *text && n + 16 < cap; text++, i++) {
		unsigned char c = (unsigned char)*text;

		if (c < ' ' || (odd && c < 0x80 && i % odd == 0))
			n += (size_t)snprintf(out + n, cap - n, "\\u%04x", c);
		else if (c == '"' || c == '\\')
			n += (size_t)snprintf(out + n, cap - n, "\\%c", c);
		else
			out[n++] = (char)c;
	}
	snprintf(out + n, cap - n, "\"}");
}

/* The score, or NO_MATCH. What is said comes in one piece; `odd`: as spell() writes it. */
static double ask_odd(const char *query, const char *name, const char *id, const char *text,
		      const char *cwd, unsigned odd)
{
	struct grove__query_on on = { .id = str(id), .name = str(name), .cwd = str(cwd) };
	struct grove__query_fit *fit;
	struct grove__query *q;
	struct grove_detail d;
	double score = 0;
	char line[2000];
	int rc;

	rc = grove__query_new(&q, str(query), &d);
	if (rc == GROVE_ENOTSUP)
		skip();
	assert_int_equal(rc, 0);
	fit = grove__query_fit_new(q);
	assert_non_null(fit);
	assert_int_equal(grove__query_begin(fit, &on, &d), 0);
	spell(line, sizeof(line), text ? text : "", odd);
	if (grove__query_is_open(fit) && !grove__query_raw(fit, line, line + strlen(line)))
		grove__query_raw_end(fit);
	if (grove__query_is_open(fit) && (grove__query_is_whole(fit) || grove__query_may(fit, str(line))))
		assert_int_equal(grove__query_text(fit, str(text), &d), 0);
	rc = grove__query_end(fit, &score);
	grove__query_fit_free(fit);
	grove__query_free(q);
	assert_true(rc == 0 || rc == 1);
	return rc ? NO_MATCH : score;
}

static double ask(const char *query, const char *name, const char *id, const char *text,
		  const char *cwd)
{
	return ask_odd(query, name, id, text, cwd, 0);
}

static bool hits(const char *query, const char *name, const char *id, const char *text, const char *cwd)
{
	return ask(query, name, id, text, cwd) != NO_MATCH;
}

static void assert_score(double got, double want)
{
	double diff = got > want ? got - want : want - got;

	if (diff > 1e-6)
		fail_msg("%.3f, not %.3f", got, want);
}

/* How well a name fits, wherever its letters stand. */
static double letters(const char *query, const char *text)
{
	double score = ask(query, text, NULL, NULL, NULL);

	return score > TIER && score != NO_MATCH ? score - 2 * TIER : score;
}

/* ------------------------------------------------------------------- letters */

static void letters_must_come_in_order(void **state)
{
	(void)state;
	assert_true(letters("abc", "a-b-c") != NO_MATCH);
	assert_true(letters("abc", "acb") == NO_MATCH);
	assert_true(letters("abcd", "abc") == NO_MATCH);
	assert_score(letters("", "abc"), 0);
	assert_true(letters("ABC", "xaxbxc") != NO_MATCH);
}

static void letters_are_scored_by_the_table(void **state)
{
	(void)state;
	/* a run: -5, -10; the beginning of a word: -10; places: 0, 0.1 */
	assert_score(letters("ab", "abc"), -5 - 10 + 0 - 10 + 0.1);
	/* a gap of two: +4; each place 0.1 of its index */
	assert_score(letters("bx", "ab12x"), 0.1 + 4 + 0.4);
	/* the beginning of a word, after each of these */
	assert_score(letters("b", "a b"), -10 + 0.2);
	assert_score(letters("b", "a-b"), -10 + 0.2);
	assert_score(letters("b", "a_b"), -10 + 0.2);
	assert_score(letters("b", "a.b"), -10 + 0.2);
	assert_score(letters("b", "a/b"), -10 + 0.2);
	assert_score(letters("b", "a:b"), -10 + 0.2);
	assert_score(letters("b", "a+b"), 0.2);
	/* all of it: -100 */
	assert_score(letters("ab", "AB"), -5 - 10 - 10 + 0.1 - 100);
}

static void letters_that_stand_together_may_be_better(void **state)
{
	(void)state;
	/* f, i and x of "fxix fix" lie apart, but the second word has them all */
	assert_score(letters("fix", "fxix fix"), 5 * 0.1 - 10 + 6 * 0.1 - 5 + 7 * 0.1 - 10);
	/* the best of them */
	assert_score(letters("ab", "xab ab"), 4 * 0.1 - 10 + 5 * 0.1 - 5);
	assert_score(letters("ab", "ab xab"), -5 - 10 - 10 + 0.1);
	assert_score(letters("ab", "a b xab"), -5 - 10 + 2 - 10 + 0.2);
	/* places that overlap are looked at, too */
	assert_score(letters("aa", "xaaa"), 0.1 + 0.2 - 5);
	assert_score(letters("aa", "xa-aa"), -10 + 0.3 - 5 + 0.4);
}

static void letters_and_digits_may_be_swapped(void **state)
{
	(void)state;
	assert_score(letters("abc12", "12abc"), letters("12abc", "12abc") + 5);
	assert_score(letters("12abc", "abc12"), letters("abc12", "abc12") + 5);
	assert_true(letters("a1b", "1ab") == NO_MATCH);
	assert_true(letters("12", "21") == NO_MATCH);
	assert_true(letters("ab-12", "12ab-") == NO_MATCH);
	/* only if it does not fit as it is */
	assert_score(letters("a1", "a1"), -5 - 10 - 10 + 0.1 - 100);
}

static void places_are_counted_in_utf16(void **state)
{
	(void)state;
	/* a character beyond the first 65,536 takes two places */
	assert_score(letters("x", "\xf0\x9f\x98\x80+x"), 0.3);
	assert_score(letters("x", "\xc3\xa4+x"), 0.2);
	/* I with a dot is two units in lower case */
	assert_score(letters("x", "\xc4\xb0+x"), 0.3);
}

/* -------------------------------------------------------------------- tokens */

static void tiers_tell_where_a_word_was_found(void **state)
{
	(void)state;
	assert_score(ask("fix", "Fix it", "id", "text", "/w"), -5 - 10 - 10 + 0.1 - 15 + 0.2);
	assert_score(ask("abcd", "name", "ABCD-1", "text", "/w"), TIER);
	assert_score(ask("parser", "name", "id", "the PARSER", "/w"), TIER);
	assert_score(ask("proj", NULL, "id", "text", "/home/Project"), TIER);
	assert_score(ask("hpj", NULL, "id", "text", "/home/project"), 2 * TIER + letters("hpj", "/home/project"));
	assert_score(ask("nme", "name", "id", "text", "/w"), 2 * TIER - 5 - 10 + 2 + 0.2 - 5 + 0.3);
	/* the better of the two */
	assert_score(ask("ne", "nxe", "id", "text", "/nyyyye"), 2 * TIER - 5 - 10 + 2 + 0.2);
	/* letters with others between count in name and directory alone */
	assert_false(hits("idf", "name", "i-d-f", "i.d.f", "/w"));
	/* a word that occurs wins over letters in the name */
	assert_score(ask("nm", "name", "nm", "", ""), TIER);
}

static void every_word_must_fit_and_scores_add_up(void **state)
{
	(void)state;
	assert_score(ask("fix parser", "fix it", "id", "the parser", "/w"), letters("fix", "fix it") + TIER);
	assert_false(hits("fix zebra", "fix it", "id", "the parser", "/w"));
	assert_score(ask("  \t ", "n", "i", "t", "/w"), 0);
	assert_score(ask("", "n", "i", "t", "/w"), 0);
	assert_score(ask(" fix\xc2\xa0it ", "fix it", "", "", ""),
		     letters("fix", "fix it") + letters("it", "fix it"));
}

static void phrases_are_found_whatever_the_white_space(void **state)
{
	(void)state;
	assert_score(ask("\"Fix the\"", "please fix \n the parser", "", "", ""), -118);
	assert_score(ask("\"fix\"", "fix", "", "", ""), -139.7);
	assert_score(ask("\" fix \"", "a fix", "", "", ""), -24.1);
	/* but not in an id */
	assert_false(hits("\"i d\"", NULL, "i  d", "", ""));
	assert_score(ask("\"i d\"", NULL, "i d", "", ""), TIER);
	assert_score(ask("\"fix  the\"", "n", "", "please fix the parser", ""), TIER);
	assert_false(hits("\"fix parser\"", "fix the parser", "", "", ""));
	/* no letters with others between */
	assert_false(hits("\"fx\"", "fix", "", "", ""));
	assert_score(ask("\"\"", "n", "i", "t", "/w"), 0);
	assert_score(ask("\" \" it", "it", "", "", ""), -5 - 10 - 10 + 0.1 - 100);
	/* a quote begins a phrase also in the middle of a word */
	assert_true(hits("a\"b c\"d", "a d", "", "b c", ""));
	assert_false(hits("a\"b c\"d", "a d", "", "b x c", ""));
}

static void a_quote_that_is_not_closed_is_a_letter(void **state)
{
	(void)state;
	assert_true(hits("say \"hello", "say \"hello\"", "", "", ""));
	assert_false(hits("say \"hello", "say hello", "", "", ""));
	assert_true(hits("\"a b\" \"c", "", "", "\"c b\" \"a", ""));
	assert_false(hits("\"a b\" \"c", "", "", "a b c", ""));
}

static void case_is_that_of_javascript(void **state)
{
	(void)state;
	assert_true(hits("GR\xc3\x9c\xe1\xba\x9e" "E", NULL, "", "gr\xc3\xbc\xc3\x9f" "e", ""));
	assert_false(hits("gr\xc3\xbcsse", NULL, "", "gr\xc3\xbc\xc3\x9f" "e", ""));
	/* a sigma at the end of a word: ΟΔΟΣ, οδος */
	assert_true(hits("\xce\x9f\xce\x94\xce\x9f\xce\xa3", NULL, "", "\xce\xbf\xce\xb4\xce\xbf\xcf\x82", ""));
	assert_false(hits("\xce\x9f\xce\x94\xce\x9f\xce\xa3", NULL, "", "\xce\xbf\xce\xb4\xce\xbf\xcf\x83", ""));
	/* bytes that are no text harm nobody */
	assert_true(hits("b", "a\xff" "b", "", "", ""));
}

static void halves_of_units_are_not_found(void **state)
{
	(void)state;
	/* U+4100 U+4200 has the bytes of U+0041 in its middle, in one order or the other */
	assert_false(hits("A", NULL, "", "\xe4\x84\x80\xe4\x88\x80", ""));
	assert_false(hits("B", NULL, "", "\xe4\x84\x80\xe4\x88\x80", ""));
	assert_true(hits("b", NULL, "", "\xe4\x84\x80\xe4\x88\x80" "b", ""));
}

/* --------------------------------------------------------------- expressions */

static void expressions_are_those_of_javascript(void **state)
{
	(void)state;
	assert_score(ask("re:fix(es|ed)?\\b", "He FIXED it", "", "", ""), 0);
	assert_score(ask("re:^/home/.*x$", "n", "i", "t", "/home/ax"), TIER);
	assert_score(ask("re: a b ", "n", "i", "xa bx", "/w"), TIER);
	assert_false(hits("re:^b", "n", "i", "a\nb", "/w"));
	assert_false(hits("re:a.b", "n", "i", "a\nb", "/w"));
	assert_true(hits("re:a[^]b", "n", "i", "a\nb", "/w"));
	assert_false(hits("re:a$", "n", "i", "a\n", "/w"));
	assert_true(hits("re:\\u0041", "xax", "i", "t", "/w"));
	/* each text by itself */
	assert_false(hits("re:name.*id", "name", "id", "", ""));
	/* bytes that are no text are not matched, and harm nobody */
	assert_true(hits("re:b", "a\xff" "b", "", "", ""));
}

static void bad_expressions_are_told(void **state)
{
	static const char *const bad[] = { "re:", "re:  ", "re:(", "re:[", "re:a{2,1}", "re:\\", "re:*" };
	struct grove__query *q;
	struct grove_detail d;
	int rc;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		rc = grove__query_new(&q, str(bad[i]), &d);
		if (rc == GROVE_ENOTSUP) {
			assert_non_null(strstr(d.message, "not available in this build"));
			continue;
		}
		assert_int_equal(rc, GROVE_EINVAL);
		assert_non_null(strstr(d.message, "re:"));
		assert_null(q);
	}
}

static void an_expression_that_takes_too_long_is_told(void **state)
{
	struct grove_slice text = str("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab");
	struct grove__query_on on = { .name = text }, nothing = { .name = str("n") };
	struct grove__query_fit *fit;
	struct grove__query *q;
	struct grove_detail d;

	(void)state;
	if (grove__query_new(&q, str("re:^(a|a)+(a|a)+$"), &d) == GROVE_ENOTSUP)
		skip();
	fit = grove__query_fit_new(q);
	assert_non_null(fit);
	assert_int_equal(grove__query_begin(fit, &on, &d), GROVE_ETOOBIG);
	assert_non_null(strstr(d.message, "too long"));
	grove__fail_clear(&d);
	assert_int_equal(grove__query_begin(fit, &nothing, &d), 0);
	assert_true(grove__query_is_open(fit));
	assert_int_equal(grove__query_text(fit, text, &d), GROVE_ETOOBIG);
	assert_non_null(strstr(d.message, "too long"));
	grove__query_fit_free(fit);
	grove__query_free(q);
}

/* ---------------------------------------------------------------- what was said */

/* A fit of a session without a name, in `/w`. */
static struct grove__query_fit *begin(struct grove__query **q, const char *query, const char *part)
{
	struct grove__query_on on = { .id = str("id"), .cwd = str("/w"), .part = str(part) };
	struct grove__query_fit *fit;
	struct grove_detail d;

	if (grove__query_new(q, str(query), &d) == GROVE_ENOTSUP)
		skip();
	fit = grove__query_fit_new(*q);
	assert_non_null(fit);
	assert_int_equal(grove__query_begin(fit, &on, &d), 0);
	return fit;
}

static void end(struct grove__query *q, struct grove__query_fit *fit)
{
	grove__query_fit_free(fit);
	grove__query_free(q);
}

static void what_is_remembered_is_asked_first(void **state)
{
	static const struct {
		const char *query, *part;
		bool open, whole;
	} table[] = {
		{ "id", NULL, false, false },
		{ "id w", NULL, false, false },
		{ "", NULL, false, false },
		{ "parser", NULL, true, false },
		{ "id parser", NULL, true, false },
		{ "parser", "the Parser", false, false },
		{ "\"the parser\"", "of the\nparser", false, false },
		{ "\"parser\"", NULL, true, false },
		{ "\"the parser\"", "the", true, true },
		{ "id \"the parser\"", NULL, true, true },
		{ "re:i.", NULL, false, false },
		/* a part has other ends than the whole */
		{ "re:parser", "parser", true, true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		struct grove__query *q;
		struct grove__query_fit *fit = begin(&q, table[i].query, table[i].part);

		if (grove__query_is_open(fit) != table[i].open || grove__query_is_whole(fit) != table[i].whole)
			fail_msg("%s: open %d, whole %d", table[i].query, grove__query_is_open(fit),
				 grove__query_is_whole(fit));
		end(q, fit);
	}
}

static void words_may_stand_in_different_messages(void **state)
{
	struct grove__query *q;
	struct grove__query_fit *fit = begin(&q, "fix parser id", NULL);
	struct grove_detail d;
	double score;

	(void)state;
	assert_int_equal(grove__query_text(fit, str("please FIX it"), &d), 0);
	assert_true(grove__query_is_open(fit));
	assert_int_equal(grove__query_end(fit, &score), 1);
	assert_int_equal(grove__query_text(fit, str("the fixed parser"), &d), 0);
	assert_false(grove__query_is_open(fit));
	assert_int_equal(grove__query_end(fit, &score), 0);
	assert_score(score, 3 * TIER);
	end(q, fit);
}

/* The place in the text does not matter, and letters with others between do not count there. */
static void the_text_brings_a_yes_or_a_no(void **state)
{
	(void)state;
	assert_score(ask("parser", NULL, "id", "one. two parser three", "/w"), TIER);
	assert_score(ask("parser parser", NULL, "id", "parser", "/w"), 2 * TIER);
	assert_score(ask("wx", NULL, "id", "text", "/w/x"), 2 * TIER - 17.6);
	assert_score(ask("wx", NULL, "id", "text wx", "/w/x"), TIER);
	assert_score(ask("\"x\" y", NULL, "", "y x", "/w"), 2 * TIER);
	assert_score(ask("\"two three\"", NULL, "id", "one two  \n three", "/w"), TIER);
	assert_false(hits("re:^b", NULL, "i", "a b", "/w"));
	assert_score(ask("re:b$", NULL, "i", "a b", "/w"), TIER);
	assert_false(hits("messages", NULL, "id", "", "/w"));
}

static void logs_that_cannot_have_it_are_seen_by_their_bytes(void **state)
{
	static const struct {
		const char *query, *raw;
		bool open;
	} table[] = {
		{ "parser", "{\"text\":\"the PARSER\"}", true },
		{ "parser", "{\"text\":\"the tree\"}", false },
		{ "fix parser", "{\"text\":\"the parser\"}", false },
		/* written otherwise */
		{ "parser", "{\"text\":\"the \\u0070arser\"}", true },
		{ "parser", "{\"text\":\"the \\u0050arser\"}", true },
		{ "kill", "{\"text\":\"\xe2\x84\xaaill\"}", true },
		{ "kill", "{\"text\":\"\\u212aill\"}", true },
		{ "kill", "{\"text\":\"\\u212Aill\"}", true },
		{ "ix", "{\"text\":\"\xc4\xb0x\"}", true },
		{ "ix", "{\"text\":\"\\u0130x\"}", true },
		/* other escapes hide no letters */
		{ "parser", "{\"text\":\"\\u001b[1m \\u00e4 \\ud83d\"}", false },
		/* of what JSON may write otherwise, the rest */
		{ "src/main.c", "{\"text\":\"src\\/main.c\"}", true },
		{ "say\"hello", "{\"text\":\"say\\\"hello\"}", true },
		{ "src/main.c", "{\"text\":\"src/other.c\"}", false },
		{ "\"the parser\"", "{\"text\":\"parser the\"}", true },
		{ "\"the parser\"", "{\"text\":\"the tree\"}", false },
		/* nothing to go by */
		{ "\xc3\xa4", "{}", true },
		{ "re:parser", "{}", true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		struct grove__query *q;
		struct grove__query_fit *fit = begin(&q, table[i].query, NULL);
		const char *raw = table[i].raw;

		assert_true(grove__query_is_open(fit));
		if (!grove__query_raw(fit, raw, raw + strlen(raw)))
			grove__query_raw_end(fit);
		if (grove__query_is_open(fit) != table[i].open)
			fail_msg("%s in %s", table[i].query, raw);
		end(q, fit);
	}
}

static void two_characters_become_ascii_in_lower_case(void **state)
{
	(void)state;
	assert_true(hits("kill", NULL, "id", "\xe2\x84\xaaill", "/w"));
	assert_true(hits("i", NULL, "0", "x\xc4\xb0", "/w"));
	assert_false(hits("istanbul", NULL, "0", "\xc4\xb0stanbul", "/w"));
}

/* What occurs as it is, in whatever place, is found; by words a naive search finds, too. */
static void random_queries_agree_with_a_naive_search(void **state)
{
	struct chance c = chance_begin("random_queries_agree_with_a_naive_search");

	(void)state;
	for (int turn = 0; turn < 20000; turn++) {
		static const char letters_of[] = "abAB12 \"-";
		char query[12], text[24];
		size_t n = chance_below(&c, 6), m = chance_below(&c, 20);
		bool all = true;
		char copy[12], *save, *word;

		for (size_t i = 0; i < n; i++)
			query[i] = letters_of[chance_below(&c, 7)];
		query[n] = '\0';
		for (size_t i = 0; i < m; i++)
			text[i] = letters_of[chance_below(&c, 9)];
		text[m] = '\0';
		memcpy(copy, query, n + 1);
		for (word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save))
			all = all && strcasestr(text, word);
		if (hits(query, NULL, "", text, "") != all)
			fail_msg("'%s' in '%s': %s", query, text, all ? "not found" : "found");
		if ((ask_odd(query, NULL, "", text, "", 1 + chance_below(&c, 5)) != NO_MATCH) != all)
			fail_msg("'%s' in '%s', with escapes: %s", query, text, all ? "not found" : "found");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(letters_must_come_in_order),
		cmocka_unit_test(letters_are_scored_by_the_table),
		cmocka_unit_test(letters_that_stand_together_may_be_better),
		cmocka_unit_test(letters_and_digits_may_be_swapped),
		cmocka_unit_test(places_are_counted_in_utf16),
		cmocka_unit_test(tiers_tell_where_a_word_was_found),
		cmocka_unit_test(every_word_must_fit_and_scores_add_up),
		cmocka_unit_test(phrases_are_found_whatever_the_white_space),
		cmocka_unit_test(a_quote_that_is_not_closed_is_a_letter),
		cmocka_unit_test(case_is_that_of_javascript),
		cmocka_unit_test(halves_of_units_are_not_found),
		cmocka_unit_test(expressions_are_those_of_javascript),
		cmocka_unit_test(bad_expressions_are_told),
		cmocka_unit_test(an_expression_that_takes_too_long_is_told),
		cmocka_unit_test(what_is_remembered_is_asked_first),
		cmocka_unit_test(words_may_stand_in_different_messages),
		cmocka_unit_test(the_text_brings_a_yes_or_a_no),
		cmocka_unit_test(logs_that_cannot_have_it_are_seen_by_their_bytes),
		cmocka_unit_test(two_characters_become_ascii_in_lower_case),
		cmocka_unit_test(random_queries_agree_with_a_naive_search),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
