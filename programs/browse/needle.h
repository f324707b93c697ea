/*
 * needle.h: finds what a person typed in a text.
 *
 * As in less -i, lower-case letters also match upper-case ones, but a needle with an
 * upper-case letter is matched exactly.
 */
#ifndef BROWSE_NEEDLE_H
#define BROWSE_NEEDLE_H

#include <grove.h>

struct needle {
	char text[256];
	size_t len;
	int exact;               /* has an upper-case letter */
};

void needle_set(struct needle *n, const char *text);
/*
 * Returns the position of the first match at or after `from`, and its length, which may not
 * be that of the needle; SIZE_MAX if there is none. An empty needle never matches.
 */
size_t needle_find(const struct needle *n, struct grove_slice text, size_t from, size_t *len);
/* Returns true if it occurs in a text. */
int needle_is_in(const struct needle *n, struct grove_slice text);
/* The same as needle_find() for the first occurrence of any word of the needle. */
size_t needle_find_word(const struct needle *n, struct grove_slice text, size_t from, size_t *len);
/* Returns true if each word of the needle occurs in one of the texts. */
int needle_words(const struct needle *n, const char *const *texts, size_t nr);

#endif
