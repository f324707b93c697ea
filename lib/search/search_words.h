/*
 * search/search_words.h: splits a text into words.
 *
 * A word is a run of letters and digits, in lower case. `_` and everything else
 * separates words, so the parts of an identifier are words. Scripts that are written
 * without spaces, and Hangul, have a word for every two adjacent characters: 解析器 is 解析
 * and 析器. Terminal colours (ESC [ … m) separate words, too. A word with capitals inside,
 * like refreshToken, is also found by its parts.
 */
#ifndef GROVE_SEARCH_SEARCH_WORDS_H
#define GROVE_SEARCH_SEARCH_WORDS_H

#include "base/slice.h"

#include <stdint.h>

/* Only the beginning of a longer word counts. */
#define GROVE__WORD_MAX 64

struct grove__word {
	const char *ptr;             /* folded; valid until the callback returns */
	size_t len;
	size_t from, to;             /* its position in the text */
	/*
	 * At the same position as the previous word: the last character of a run in such a
	 * script, or a part of an identifier, so that it can be found by itself.
	 */
	bool again;
};

/* A non-zero result ends the splitting and is returned. */
typedef int grove__word_fn(void *payload, const struct grove__word *w);

/* `asked`: the text is a query, which does not need words at the same position. */
int grove__words_cut(struct grove_slice text, bool asked, grove__word_fn *fn, void *payload);

/* Returns a hash of a word, of which all bits are good. */
static inline uint64_t grove__search_word_hash(const char *p, size_t n)
{
	const uint64_t k = 0x9e3779b97f4a7c15;
	uint64_t h = n * k, part;

	for (; n >= sizeof(part); p += sizeof(part), n -= sizeof(part)) {
		memcpy(&part, p, sizeof(part));
		h = (h ^ part) * k;
		h ^= h >> 29;
	}
	for (part = 0; n; n--)
		part = part << 8 | (unsigned char)p[n - 1];
	h = (h ^ part) * k;
	return h ^ h >> 29;
}

/* True if it belongs to a script that is split into pairs. */
bool grove__search_word_paired(uint32_t cp);

#endif
