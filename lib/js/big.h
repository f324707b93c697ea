/*
 * js/big.h: natural numbers as large as a double's decimal form can ask for.
 *
 * A fixed size, so no memory to run out of. The largest comes from reading a
 * literal: 800 digits are 2658 bits, and a divisor is at most 5^1130, 2624
 * bits; both are moved by less than 100 bits before they are divided.
 */
#ifndef GROVE_JS_BIG_H
#define GROVE_JS_BIG_H

#include <stdbool.h>
#include <stdint.h>

#define GROVE__BIG_LIMBS 96

struct grove__big {
	unsigned nr; /* limbs in use, the highest not 0; 0 is the number 0 */
	uint32_t limb[GROVE__BIG_LIMBS]; /* lowest first */
};

/* How a quotient's fraction compares to one half. */
enum grove__big_rest { BIG_EXACT, BIG_BELOW_HALF, BIG_HALF, BIG_ABOVE_HALF };

void grove__big_set(struct grove__big *b, uint64_t v);
void grove__big_set_pow5(struct grove__big *b, unsigned n);
/* b = b * by + add */
void grove__big_mul_small(struct grove__big *b, uint32_t by, uint32_t add);
/* out = a * by; `out` is not `a`. */
void grove__big_mul(struct grove__big *out, const struct grove__big *a, uint64_t by);
void grove__big_mul_pow5(struct grove__big *b, unsigned n);
void grove__big_shl(struct grove__big *b, unsigned bits);
unsigned grove__big_bits(const struct grove__big *b);

/* b / 2^bits, which must be below 2^64. */
uint64_t grove__big_shr(const struct grove__big *b, unsigned bits, enum grove__big_rest *rest);
/* num / den, which must be below 2^64. Both are overwritten. */
uint64_t grove__big_div(struct grove__big *num, struct grove__big *den,
			enum grove__big_rest *rest);

#endif
