/*
 * search/search_stem.h: the stem of an English word.
 *
 * Words with the same stem are forms of each other: "connect", "connected" and
 * "connections". A stem need not be a word: that of "happy" is "happi".
 */
#ifndef GROVE_SEARCH_SEARCH_STEM_H
#define GROVE_SEARCH_SEARCH_STEM_H

#include <stdbool.h>
#include <stddef.h>

/* True if it may have a stem other than itself: at least three small ASCII letters. */
bool grove__search_stem_has(const char *word, size_t len);
/* False if a word is certainly its own stem. */
bool grove__search_stem_differs(const char *word, size_t len);
/* Turns a word that may have another stem into it. Returns the new length. */
size_t grove__search_stem(char *word, size_t len);
/* Returns how many letters of a stem begin every word that has it. */
size_t grove__search_stem_common(const char *stem, size_t len);

#endif
