/*
 * tests/fuzz/ice.h: a file in memory that is written once and then damaged.
 *
 * It is like a cache file: most of it was never written, and is 0. There is only
 * one at a time, always at the same addresses: giving back the pages that were
 * touched takes a hundredth of the time of filling megabytes with zeros.
 */
#ifndef TESTS_FUZZ_ICE_H
#define TESTS_FUZZ_ICE_H

#include "fuzz.h"

#define ICE_PIECES 512

struct ice {
	char *ptr;
	size_t len;
	/* what was written, in this order */
	struct {
		size_t at, len;
	} piece[ICE_PIECES];
	size_t nr;
};

void ice_init(struct ice *f);
/* Writes like grove__ice_fn; returns 0. */
int ice_put(struct ice *f, uint64_t at, const void *ptr, size_t len);
/* Nothing more will be written: tells the sanitizer where the file ends. */
void ice_end(struct ice *f);
void ice_melt(struct ice *f);

/* Returns a new random number, computed from the last one. */
static inline uint64_t ice_chance(uint64_t *chance)
{
	*chance = *chance * 6364136223846793005u + 1442695040888963407u;
	return *chance >> 24;
}

/* Returns a word that is likely to be wrong as a number: very large, small, or close to `near`. */
uint32_t ice_word(uint64_t *chance, size_t near);
/* Overwrites one word of the pieces with these numbers; false if they have none. */
bool ice_poison(struct ice *f, uint64_t *chance, size_t from, size_t until, size_t near);

#endif
