/*
 * search/search_words.h: from a text to the words that are searched for.
 *
 * A word is a run of letters and digits, in small letters; `_` and whatever else
 * is neither parts words, so the parts of an identifier are words. Scripts that
 * are written without spaces, and Hangul, have a word for every two neighbours:
 * 解析器 is 解析 and 析器. What colours a terminal (ESC [ … m) parts words, too.
 */
#ifndef GROVE_SEARCH_SEARCH_WORDS_H
#define GROVE_SEARCH_SEARCH_WORDS_H

#include "base/slice.h"

#include <stdint.h>

/* Of a longer word only the beginning counts. */
#define GROVE__WORD_MAX 64

struct grove__word {
	const char *ptr;             /* folded; good until the callback returns */
	size_t len;
	size_t from, to;             /* where it stands in the text */
	/*
	 * At the same place as the word before: the last character of a run in
	 * such a script, so that it is found by itself.
	 */
	bool again;
};

/* Other than 0 ends it and is handed back. */
typedef int grove__word_fn(void *payload, const struct grove__word *w);

/* `asked`: the text is a query, which has no use for words at the same place. */
int grove__words_cut(struct grove_slice text, bool asked, grove__word_fn *fn, void *payload);

/* A character as it is compared: in its small form. ASCII has no forms outside of it. */
uint32_t grove__search_word_fold(uint32_t cp);
/* Is it one of a script that is cut into pairs? */
bool grove__search_word_paired(uint32_t cp);

#endif
