/*
 * needle.h: what a person typed to find, in a text.
 *
 * Small letters match large ones too, as in less -i: a needle with a large letter in it is
 * taken as it was typed. Only letters of ASCII have a case here.
 */
#ifndef BROWSE_NEEDLE_H
#define BROWSE_NEEDLE_H

#include <grove.h>

struct needle {
	char text[256];
	size_t len;
	int exact;               /* it has a large letter */
};

void needle_set(struct needle *n, const char *text);
/* The place of the first match at or after `from`; SIZE_MAX: none. An empty needle is nowhere. */
size_t needle_find(const struct needle *n, struct grove_slice text, size_t from);
/* Does each word of the needle occur in one of the texts? */
int needle_words(const struct needle *n, const char *const *texts, size_t nr);

#endif
