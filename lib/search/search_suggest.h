/*
 * search/search_suggest.h: the words of messages, among which others are suggested.
 *
 * Most words have been met before, so a table of hashes remembers which need not be written
 * again.
 */
#ifndef GROVE_SEARCH_SEARCH_SUGGEST_H
#define GROVE_SEARCH_SEARCH_SUGGEST_H

#include "base/buf.h"

#include <stdint.h>

/* Belongs to one thread. */
struct grove__search_said {
	uint64_t *seen;              /* hashes of words */
	struct grove_buf found;      /* new words, each with a NUL */
};

int grove__search_said_init(struct grove__search_said *s);
void grove__search_said_release(struct grove__search_said *s);
/* Looks at a word with its grove__search_word_hash(). GROVE_ENOMEM. */
int grove__search_said_note(struct grove__search_said *s, const char *word, size_t len, uint64_t hash);

#endif
