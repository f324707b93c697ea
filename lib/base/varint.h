/*
 * base/varint.h: numbers of seven bits a byte, the lowest first; small ones are short.
 */
#ifndef GROVE_BASE_VARINT_H
#define GROVE_BASE_VARINT_H

#include "base/slice.h"

#include <stdint.h>

/* The most bytes that one takes. */
#define GROVE__VARINT_MAX 10

/* Write `n` to `out`; how many bytes it took. */
static inline size_t grove__varint_put(char *out, uint64_t n)
{
	size_t len = 0;

	for (; n >= 0x80; n >>= 7)
		out[len++] = (char)(n | 0x80);
	out[len++] = (char)n;
	return len;
}

/* Takes one from the front of `s`. Returns false if there is none, or it does not end. */
static inline bool grove__varint_take(struct grove_slice *s, uint64_t *out)
{
	*out = 0;
	for (unsigned shift = 0; s->len && shift < 64; shift += 7) {
		unsigned char c = (unsigned char)*s->ptr++;

		s->len--;
		*out |= (uint64_t)(c & 0x7f) << shift;
		if (c < 0x80)
			return true;
	}
	return false;
}

#endif
