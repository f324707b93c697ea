/*
 * search/search_forms.h: which words of a text are forms of others.
 *
 * The index has a row for each word whose stem is another word. Most words have been met
 * before, so a table of hashes remembers which need not be looked at again.
 */
#ifndef GROVE_SEARCH_SEARCH_FORMS_H
#define GROVE_SEARCH_SEARCH_FORMS_H

#include "base/buf.h"

#include <stdint.h>

/* Belongs to one thread. */
struct grove__search_forms {
	uint64_t *seen;              /* hashes of words */
	struct grove_buf found;      /* what is new: stem, NUL, word, NUL, … */
};

int grove__search_forms_init(struct grove__search_forms *f);
/* Forgets what was seen: what was found may not have been written. */
void grove__search_forms_clear(struct grove__search_forms *f);
void grove__search_forms_release(struct grove__search_forms *f);
/* Looks at a word with its grove__search_word_hash(). GROVE_ENOMEM. */
int grove__search_forms_note(struct grove__search_forms *f, const char *word, size_t len, uint64_t hash);

#endif
