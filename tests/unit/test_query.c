/*
 * tests/unit/test_query.c: the language in which sessions are looked for.
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

/* The score, or NO_MATCH. */
static double ask(const char *query, const char *name, const char *id, const char *text,
		  const char *cwd)
{
	struct grove__query_on on = { .id = str(id), .name = str(name), .text = str(text), .cwd = str(cwd) };
	struct grove__query *q;
	struct grove_detail d;
	double score = 0;
	int rc;

	rc = grove__query_new(&q, str(query), &d);
	if (rc == GROVE_ENOTSUP)
		skip();
	assert_int_equal(rc, 0);
	rc = grove__query_match(q, &on, &score, &d);
	grove__query_free(q);
	assert_true(rc == 0 || rc == 1);
	return rc ? NO_MATCH : score;
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

static double letters(const char *query, const char *text)
{
	double score;
	int rc = grove__query_fuzzy(str(query), str(text), &score);

	assert_true(rc == 0 || rc == 1);
	return rc ? NO_MATCH : score;
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
	assert_score(ask("fix", "Fix it", "id", "text", "/w"), letters("fix", "Fix it"));
	assert_score(ask("abcd", "name", "ABCD-1", "text", "/w"), TIER);
	assert_score(ask("parser", "name", "id", "the PARSER", "/w"), TIER);
	assert_score(ask("proj", NULL, "id", "text", "/home/Project"), TIER);
	assert_score(ask("hpj", NULL, "id", "text", "/home/project"), 2 * TIER + letters("hpj", "/home/project"));
	assert_score(ask("nme", "name", "id", "text", "/w"), 2 * TIER + letters("nme", "name"));
	/* the better of the two */
	assert_score(ask("ne", "nxe", "id", "text", "/nyyyye"), 2 * TIER + letters("ne", "nxe"));
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
	assert_score(ask("\"Fix the\"", "please fix \n the parser", "", "", ""), 0);
	assert_score(ask("\"fix  the\"", "n", "", "please fix the parser", ""), TIER);
	assert_false(hits("\"fix parser\"", "fix the parser", "", "", ""));
	/* no letters with others between */
	assert_false(hits("\"fx\"", "fix", "", "", ""));
	assert_score(ask("\"\"", "n", "i", "t", "/w"), 0);
	assert_score(ask("\" \" it", "it", "", "", ""), letters("it", "it"));
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
			assert_non_null(strstr(d.message, "not built in"));
			continue;
		}
		assert_int_equal(rc, GROVE_EINVAL);
		assert_non_null(strstr(d.message, "re:"));
		assert_null(q);
	}
}

static void an_expression_that_takes_too_long_is_told(void **state)
{
	struct grove__query_on on = { .text = str("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab") };
	struct grove__query *q;
	struct grove_detail d;
	double score;

	(void)state;
	if (grove__query_new(&q, str("re:^(a|a)+(a|a)+$"), &d) == GROVE_ENOTSUP)
		skip();
	assert_int_equal(grove__query_match(q, &on, &score, &d), GROVE_ETOOBIG);
	assert_non_null(strstr(d.message, "too long"));
	grove__query_free(q);
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
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(letters_must_come_in_order),
		cmocka_unit_test(letters_are_scored_by_the_table),
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
		cmocka_unit_test(random_queries_agree_with_a_naive_search),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
