/*
 * tests/unit/test_search_words.c: what counts as a word in a search, and which
 * forms of it are found.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../lib/chance.h"
#include "base/buf.h"
#include "base/needle.h"
#include "search/search_stem.h"
#include "search/search_words.h"

/* -------------------------------------------------------------------- words */

static int put_word(void *payload, const struct grove__word *w)
{
	return grove__buf_addf(payload, "%s%.*s ", w->again ? "=" : "", (int)w->len, w->ptr);
}

static void assert_words(const char *text, bool asked, const char *words)
{
	struct grove_buf b = GROVE_BUF_INIT;

	assert_int_equal(grove__buf_add(&b, "", 0), 0);
	assert_int_equal(grove__words_cut(grove__slice_str(text), asked, put_word, &b), 0);
	assert_string_equal(b.ptr, words);
	grove__buf_release(&b);
}

static void words_are_letters_and_digits_in_small(void **state)
{
	(void)state;
	assert_words("", false, "");
	assert_words("The snake_case of a.txt, x2!", false, "the snake case of a txt x2 ");
	assert_words("\033[1;31mred\033[0m \033[", false, "red ");
	assert_words("ÄPFEL Привет", false, "äpfel привет ");
	assert_words("na\xc3\xafve bad\xff" "byte", false, "naïve bad byte ");
	/* a Kelvin sign is no k: raw bytes would not show it */
	assert_words("\xe2\x84\xaa", false, "\xe2\x84\xaa ");
}

static void scripts_without_spaces_are_cut_into_pairs(void **state)
{
	(void)state;
	assert_words("解析器", false, "解析 析器 =器 ");
	assert_words("解析器", true, "解析 析器 ");
	assert_words("修", false, "修 ");
	assert_words("修复bug了", false, "修复 =复 bug 了 ");
	assert_words("한국어 글", false, "한국 국어 =어 글 ");
}

static void of_a_long_word_the_beginning_counts(void **state)
{
	char text[200], want[GROVE__WORD_MAX + 2];

	(void)state;
	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	memset(want, 'a', GROVE__WORD_MAX);
	want[GROVE__WORD_MAX] = ' ';
	want[GROVE__WORD_MAX + 1] = '\0';
	assert_words(text, false, want);
}

static void identifiers_have_parts(void **state)
{
	(void)state;
	assert_words("refreshToken", false, "refreshtoken =refresh =token ");
	assert_words("refreshToken", true, "refreshtoken ");
	assert_words("parseHTTPServer2Go", false, "parsehttpserver2go =parse =http =server2 =go ");
	assert_words("Token APIs NATO x2", false, "token apis nato x2 ");
	/* too many, or too short: nobody has made up such a name */
	assert_words("aB3dE5fGh", false, "ab3de5fgh ");
	assert_words("oneTwoThreeFourFiveSixSeven", false, "onetwothreefourfivesixseven ");
	assert_words("größeReal", false, "größereal ");
}

/* ------------------------------------------------------------------- needle */

static void a_needle_is_found_wherever_it_is(void **state)
{
	struct chance c = chance_begin("needle");

	(void)state;
	for (int i = 0; i < 20000; i++) {
		char hay[100], small[100], needle[6];
		size_t nr = chance_below(&c, sizeof(hay) - 1), n = 1 + chance_below(&c, 5);
		struct grove__needle nd;
		const char *found, *want;

		for (size_t j = 0; j < nr; j++)
			hay[j] = "aAbB@`\x80 "[chance_below(&c, 8)];
		for (size_t j = 0; j < nr; j++)
			small[j] = (char)(hay[j] >= 'A' && hay[j] <= 'Z' ? hay[j] | 0x20 : hay[j]);
		for (size_t j = 0; j < n; j++)
			needle[j] = "ab@`\x80"[chance_below(&c, 5)];
		grove__needle_init(&nd, grove__slice(needle, n));
		found = grove__needle_find(&nd, hay, hay + nr);
		want = memmem(small, nr, needle, n);
		assert_int_equal(found ? found - hay : -1, want ? want - small : -1);
	}
}

/* --------------------------------------------------------------------- stems */

static void forms_of_a_word_have_one_stem(void **state)
{
	static const char *const same[][6] = {
		{ "connect", "connected", "connecting", "connection", "connections", "connective" },
		{ "relate", "related", "relating", "relates", "relational", "relation" },
		{ "happy", "happiness" }, { "retry", "retries", "retried" }, { "hop", "hops", "hopped", "hopping" },
		{ "file", "files", "filed", "filing" }, { "sensible", "sensibility", "sensibly" },
		{ "agree", "agreed", "agrees" }, { "caress", "caresses" }, { "index", "indexes", "indexing", "indexed" },
		{ "activate", "activated", "activation", "activator" }, { "control", "controlled", "controlling" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(same) / sizeof(*same); i++)
		for (size_t j = 0; j < 6 && same[i][j]; j++) {
			char a[64], b[64];
			size_t n = strlen(same[i][0]), m = strlen(same[i][j]);

			snprintf(a, sizeof(a), "%s", same[i][0]);
			snprintf(b, sizeof(b), "%s", same[i][j]);
			n = grove__search_stem(a, n);
			m = grove__search_stem(b, m);
			if (n != m || memcmp(a, b, n))
				fail_msg("%s: %.*s, %s: %.*s", same[i][0], (int)n, a, same[i][j], (int)m, b);
		}
}

/* The examples of the algorithm's description, which are its steps one after the other. */
static void stems_are_those_of_the_description(void **state)
{
	static const char *const pairs[][2] = {
		{ "ponies", "poni" }, { "feed", "feed" }, { "plastered", "plaster" }, { "bled", "bled" },
		{ "motoring", "motor" }, { "sing", "sing" }, { "conflated", "conflat" }, { "troubled", "troubl" },
		{ "sized", "size" }, { "tanned", "tan" }, { "falling", "fall" }, { "hissing", "hiss" },
		{ "fizzed", "fizz" }, { "sky", "sky" }, { "conditional", "condit" }, { "rational", "ration" },
		{ "digitizer", "digit" }, { "vietnamization", "vietnam" }, { "operator", "oper" },
		{ "feudalism", "feudal" }, { "decisiveness", "decis" }, { "hopefulness", "hope" },
		{ "callousness", "callous" }, { "triplicate", "triplic" }, { "formative", "form" },
		{ "electrical", "electr" }, { "goodness", "good" }, { "revival", "reviv" }, { "allowance", "allow" },
		{ "inference", "infer" }, { "airliner", "airlin" }, { "gyroscopic", "gyroscop" },
		{ "adjustable", "adjust" }, { "defensible", "defens" }, { "irritant", "irrit" },
		{ "replacement", "replac" }, { "adjustment", "adjust" }, { "dependent", "depend" },
		{ "adoption", "adopt" }, { "communism", "commun" }, { "homologous", "homolog" },
		{ "effective", "effect" }, { "probate", "probat" }, { "rate", "rate" }, { "cease", "ceas" },
		{ "roll", "roll" }, { "generalizations", "gener" }, { "oscillators", "oscil" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
		char word[64];
		size_t n = strlen(pairs[i][0]);

		snprintf(word, sizeof(word), "%s", pairs[i][0]);
		n = grove__search_stem(word, n);
		word[n] = '\0';
		assert_string_equal(word, pairs[i][1]);
	}
}

/* Raw lines are searched for the letters that all forms of a word have. */
static void every_word_begins_with_what_its_stem_has_in_common(void **state)
{
	static const char *const ends[] = { "", "s", "e", "es", "ed", "ing", "y", "ies", "ied", "ation", "ational", "ization",
					    "izer", "ability", "ibility", "bility", "bly", "ently", "ousness", "iveness",
					    "fulness", "ality", "ivity", "ogy", "icate", "ative", "alize", "icity",
					    "ical", "ement", "ment", "ion", "ions", "ll", "lling", "eed", "sses", "er" };
	struct chance c = chance_begin("stems");

	(void)state;
	for (int i = 0; i < 20000; i++) {
		char word[64], stem[64];
		size_t n = 1 + chance_below(&c, 6), common;

		for (size_t j = 0; j < n; j++)
			word[j] = "abelstyioz"[chance_below(&c, 10)];
		for (int j = 0; j < 2; j++) {
			const char *end = ends[chance_below(&c, sizeof(ends) / sizeof(*ends))];

			n += (size_t)snprintf(word + n, sizeof(word) - n, "%s", end);
		}
		if (!grove__search_stem_has(word, n))
			continue;
		memcpy(stem, word, n);
		common = grove__search_stem(stem, n);
		if (!grove__search_stem_differs(word, n))
			assert_true(common == n && !memcmp(stem, word, n));
		common = grove__search_stem_common(stem, common);
		if (common > n || memcmp(stem, word, common))
			fail_msg("%.*s does not begin with %.*s", (int)n, word, (int)common, stem);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_are_letters_and_digits_in_small),
		cmocka_unit_test(scripts_without_spaces_are_cut_into_pairs),
		cmocka_unit_test(of_a_long_word_the_beginning_counts),
		cmocka_unit_test(identifiers_have_parts),
		cmocka_unit_test(a_needle_is_found_wherever_it_is),
		cmocka_unit_test(forms_of_a_word_have_one_stem),
		cmocka_unit_test(stems_are_those_of_the_description),
		cmocka_unit_test(every_word_begins_with_what_its_stem_has_in_common),
	};

	return cmocka_run_group_tests_name("search_words", tests, NULL, NULL);
}
