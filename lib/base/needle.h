/*
 * base/needle.h: find a few bytes among many, letters in either case.
 */
#ifndef GROVE_BASE_NEEDLE_H
#define GROVE_BASE_NEEDLE_H

#include "base/slice.h"

#include <stdint.h>

#define GROVE__NEEDLE_MAX 64

struct grove__needle {
	unsigned char bytes[GROVE__NEEDLE_MAX];  /* ASCII letters are small */
	unsigned char mask[GROVE__NEEDLE_MAX];   /* 0x20 where a byte is such a letter */
	size_t len;
	size_t a, b;                             /* the places of its rarest bytes */
};

/* Only the beginning of a long one is used. */
void grove__needle_init(struct grove__needle *n, struct grove_slice bytes);
const char *grove__needle_find(const struct grove__needle *n, const char *p, const char *end);

#endif
