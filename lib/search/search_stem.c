/*
 * search/search_stem.c: the stem of an English word.
 *
 * This is the algorithm of M. F. Porter, "An algorithm for suffix stripping", Program 14
 * (1980), with the two later changes by its author (-logi, and -bli instead of -abli).
 *
 * A word is [C](VC)^m[V], where C is a run of consonants and V one of vowels. m, the
 * measure, says how much would be left: a suffix is removed, or replaced by a shorter one,
 * if m of what comes before it is large enough. Each step takes the longest suffix of its
 * list that the word has, and no other, whether or not the measure then allows it.
 */
#include "search/search_stem.h"

#include <string.h>

struct word {
	char *at;
	size_t len;
};

struct rule {
	const char *suffix, *instead;
};

/* ------------------------------------------------------------------- letters */

static bool is_consonant(const char *at, size_t i)
{
	switch (at[i]) {
	case 'a':
	case 'e':
	case 'i':
	case 'o':
	case 'u':
		return false;
	case 'y':
		/* a vowel after a consonant */
		return !i || !is_consonant(at, i - 1);
	default:
		return true;
	}
}

static size_t measure(const char *at, size_t len)
{
	size_t m = 0, i = 0;

	while (i < len && is_consonant(at, i))
		i++;
	for (;; m++) {
		while (i < len && !is_consonant(at, i))
			i++;
		if (i == len)
			return m;
		while (i < len && is_consonant(at, i))
			i++;
	}
}

static bool has_vowel(const char *at, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!is_consonant(at, i))
			return true;
	return false;
}

static bool ends_double(const char *at, size_t len)
{
	return len >= 2 && at[len - 1] == at[len - 2] && is_consonant(at, len - 1);
}

/* Consonant, vowel, consonant other than w, x, y: such a word may have lost an e. */
static bool ends_short(const char *at, size_t len)
{
	return len >= 3 && is_consonant(at, len - 3) && !is_consonant(at, len - 2) &&
	       is_consonant(at, len - 1) && !strchr("wxy", at[len - 1]);
}

/* ------------------------------------------------------------------- suffixes */

static bool ends_in(const char *at, size_t len, const char *suffix)
{
	size_t n = strlen(suffix);

	return len >= n && !memcmp(at + len - n, suffix, n);
}

static bool ends(const struct word *w, const char *suffix)
{
	return ends_in(w->at, w->len, suffix);
}

static void replace(struct word *w, size_t cut, const char *instead)
{
	size_t n = strlen(instead);

	w->len -= cut;
	memcpy(w->at + w->len, instead, n);
	w->len += n;
}

/*
 * Applies the longest rule that fits, if the measure of the rest is more than `more`.
 * Returns the rule that fits, applied or not; NULL: none.
 */
static const struct rule *apply(struct word *w, const struct rule *rules, size_t more)
{
	const struct rule *best = NULL;
	size_t n = 0;

	for (const struct rule *r = rules; r->suffix; r++)
		if (strlen(r->suffix) > n && ends(w, r->suffix)) {
			best = r;
			n = strlen(r->suffix);
		}
	if (best && measure(w->at, w->len - n) > more)
		replace(w, n, best->instead);
	return best;
}

/* ---------------------------------------------------------------------- steps */

/* caresses, ponies, cats */
static void plurals(struct word *w)
{
	if (ends(w, "sses") || ends(w, "ies"))
		w->len -= 2;
	else if (ends(w, "s") && !ends(w, "ss"))
		w->len--;
}

/* plastered, motoring; hopping becomes hop, and filing file */
static void past_and_present(struct word *w)
{
	size_t n = ends(w, "ed") ? 2 : ends(w, "ing") ? 3 : 0;

	if (ends(w, "eed")) {
		w->len -= measure(w->at, w->len - 3) > 0;
		return;
	}
	if (!n || !has_vowel(w->at, w->len - n))
		return;
	w->len -= n;
	if (ends(w, "at") || ends(w, "bl") || ends(w, "iz"))
		replace(w, 0, "e");
	else if (ends_double(w->at, w->len) && !strchr("lsz", w->at[w->len - 1]))
		w->len--;
	else if (measure(w->at, w->len) == 1 && ends_short(w->at, w->len))
		replace(w, 0, "e");
}

static void y_to_i(struct word *w)
{
	if (ends(w, "y") && has_vowel(w->at, w->len - 1))
		w->at[w->len - 1] = 'i';
}

static const struct rule doubles[] = {
	{ "ational", "ate" }, { "tional", "tion" }, { "enci", "ence" }, { "anci", "ance" },
	{ "izer", "ize" },    { "bli", "ble" },	    { "alli", "al" },	{ "entli", "ent" },
	{ "eli", "e" },	      { "ousli", "ous" },   { "ization", "ize" }, { "ation", "ate" },
	{ "ator", "ate" },    { "alism", "al" },    { "iveness", "ive" }, { "fulness", "ful" },
	{ "ousness", "ous" }, { "aliti", "al" },    { "iviti", "ive" }, { "biliti", "ble" },
	{ "logi", "log" },    { 0 },
};

static const struct rule endings[] = {
	{ "icate", "ic" }, { "ative", "" }, { "alize", "al" }, { "iciti", "ic" },
	{ "ical", "ic" },  { "ful", "" },   { "ness", "" },    { 0 },
};

static const struct rule last[] = {
	{ "al", "" },  { "ance", "" },	{ "ence", "" }, { "er", "" },  { "ic", "" },  { "able", "" }, { "ible", "" },
	{ "ant", "" }, { "ement", "" }, { "ment", "" }, { "ent", "" }, { "ou", "" },  { "ism", "" },  { "ate", "" },
	{ "iti", "" }, { "ous", "" },	{ "ive", "" },	{ "ize", "" }, { 0 },
};

static void last_suffix(struct word *w)
{
	if (ends(w, "ion")) {
		if ((ends(w, "sion") || ends(w, "tion")) && measure(w->at, w->len - 3) > 1)
			w->len -= 3;
		return;
	}
	apply(w, last, 1);
}

/* probate, controll */
static void tidy(struct word *w)
{
	if (ends(w, "e")) {
		size_t m = measure(w->at, w->len - 1);

		w->len -= m > 1 || (m == 1 && !ends_short(w->at, w->len - 1));
	}
	if (ends(w, "ll") && measure(w->at, w->len) > 1)
		w->len--;
}

/* ----------------------------------------------------------------------- all */

bool grove__search_stem_has(const char *word, size_t len)
{
	if (len < 3)
		return false;
	for (size_t i = 0; i < len; i++)
		if (word[i] < 'a' || word[i] > 'z')
			return false;
	return true;
}

bool grove__search_stem_differs(const char *word, size_t len)
{
	/* every suffix of the rules ends in one of these */
	return strchr("cdegilmnrstuy", word[len - 1]) != NULL;
}

size_t grove__search_stem(char *word, size_t len)
{
	struct word w = { word, len };

	plurals(&w);
	past_and_present(&w);
	y_to_i(&w);
	apply(&w, doubles, 0);
	apply(&w, endings, 0);
	last_suffix(&w);
	tidy(&w);
	return w.len;
}

size_t grove__search_stem_common(const char *stem, size_t len)
{
	/*
	 * Letters that are not the word's own: -bility becomes -ble or -bl, y becomes i, and
	 * an e may have been added. Everything else only removes letters.
	 */
	if (ends_in(stem, len, "ble"))
		return len - 2;
	return len - (ends_in(stem, len, "bl") || ends_in(stem, len, "e") || ends_in(stem, len, "i"));
}
