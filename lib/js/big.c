/*
 * js/big.c: natural numbers as large as a double's decimal form can ask for.
 */
#include "js/big.h"

#include <assert.h>
#include <string.h>

#define POW5_13 1220703125u /* the largest power of 5 in a limb */

static void push(struct grove__big *b, uint32_t limb)
{
	assert(b->nr < GROVE__BIG_LIMBS);
	b->limb[b->nr++] = limb;
}

static void trim(struct grove__big *b)
{
	while (b->nr && !b->limb[b->nr - 1])
		b->nr--;
}

void grove__big_set(struct grove__big *b, uint64_t v)
{
	b->nr = 2;
	b->limb[0] = (uint32_t)v;
	b->limb[1] = (uint32_t)(v >> 32);
	trim(b);
}

void grove__big_mul_small(struct grove__big *b, uint32_t by, uint32_t add)
{
	uint64_t carry = add;
	unsigned i;

	for (i = 0; i < b->nr; i++) {
		carry += (uint64_t)b->limb[i] * by;
		b->limb[i] = (uint32_t)carry;
		carry >>= 32;
	}
	if (carry)
		push(b, (uint32_t)carry);
}

void grove__big_mul(struct grove__big *out, const struct grove__big *a, uint64_t by)
{
	uint32_t lo = (uint32_t)by, hi = (uint32_t)(by >> 32);
	uint64_t carry = 0;
	unsigned i;

	*out = *a;
	grove__big_mul_small(out, lo, 0);
	if (!hi)
		return;
	/* out = a * lo is there; add a * hi one limb higher */
	while (out->nr < a->nr + 2)
		push(out, 0);
	for (i = 0; i < a->nr; i++) {
		carry += (uint64_t)a->limb[i] * hi + out->limb[i + 1];
		out->limb[i + 1] = (uint32_t)carry;
		carry >>= 32;
	}
	out->limb[a->nr + 1] = (uint32_t)carry;
	trim(out);
}

void grove__big_mul_pow5(struct grove__big *b, unsigned n)
{
	static const uint32_t pow5[13] = {
		1, 5, 25, 125, 625, 3125, 15625, 78125, 390625, 1953125,
		9765625, 48828125, 244140625
	};

	for (; n >= 13; n -= 13)
		grove__big_mul_small(b, POW5_13, 0);
	if (n)
		grove__big_mul_small(b, pow5[n], 0);
}

void grove__big_set_pow5(struct grove__big *b, unsigned n)
{
	grove__big_set(b, 1);
	grove__big_mul_pow5(b, n);
}

void grove__big_shl(struct grove__big *b, unsigned bits)
{
	unsigned limbs = bits / 32, i;

	if (!b->nr)
		return;
	if (bits % 32)
		grove__big_mul_small(b, (uint32_t)1 << bits % 32, 0);
	if (!limbs)
		return;
	assert(b->nr + limbs <= GROVE__BIG_LIMBS);
	memmove(b->limb + limbs, b->limb, b->nr * sizeof *b->limb);
	for (i = 0; i < limbs; i++)
		b->limb[i] = 0;
	b->nr += limbs;
}

unsigned grove__big_bits(const struct grove__big *b)
{
	if (!b->nr)
		return 0;
	return b->nr * 32 - (unsigned)__builtin_clz(b->limb[b->nr - 1]);
}

static uint32_t limb_at(const struct grove__big *b, unsigned i)
{
	return i < b->nr ? b->limb[i] : 0;
}

static bool bit_at(const struct grove__big *b, unsigned i)
{
	return limb_at(b, i / 32) >> i % 32 & 1;
}

/* Returns true if any of the lowest `bits` bits is set. */
static bool any_below(const struct grove__big *b, unsigned bits)
{
	unsigned i, whole = bits / 32;

	for (i = 0; i < whole && i < b->nr; i++)
		if (b->limb[i])
			return true;
	return bits % 32 && limb_at(b, whole) << (32 - bits % 32);
}

uint64_t grove__big_shr(const struct grove__big *b, unsigned bits, enum grove__big_rest *rest)
{
	unsigned i = bits / 32, s = bits % 32;
	uint64_t v = limb_at(b, i) | (uint64_t)limb_at(b, i + 1) << 32;

	if (s)
		v = v >> s | (uint64_t)limb_at(b, i + 2) << (64 - s);
	*rest = BIG_EXACT;
	if (bits) {
		bool half = bit_at(b, bits - 1), more = any_below(b, bits - 1);

		if (half)
			*rest = more ? BIG_ABOVE_HALF : BIG_HALF;
		else if (more)
			*rest = BIG_BELOW_HALF;
	}
	return v;
}

static int cmp(const struct grove__big *a, const struct grove__big *b)
{
	unsigned i;

	if (a->nr != b->nr)
		return a->nr < b->nr ? -1 : 1;
	for (i = a->nr; i--; )
		if (a->limb[i] != b->limb[i])
			return a->limb[i] < b->limb[i] ? -1 : 1;
	return 0;
}

/*
 * One limb of a quotient: the part of `num` from limb `at` on, which is below
 * den * 2^32, is divided by `den`; the remainder stays in its place. `den` has
 * its highest bit set, so the first two limbs by the first are at most two too
 * many.
 */
static uint32_t div_limb(struct grove__big *num, const struct grove__big *den, unsigned at)
{
	unsigned top = at + den->nr, i;
	uint64_t head = (uint64_t)limb_at(num, top) << 32 | limb_at(num, top - 1);
	uint64_t q = head / den->limb[den->nr - 1];
	uint64_t carry = 0;
	int64_t borrow = 0;

	if (q > UINT32_MAX)
		q = UINT32_MAX;
	while (num->nr <= top)
		push(num, 0);
	for (i = 0; i < den->nr; i++) {
		carry += q * den->limb[i];
		borrow += (int64_t)num->limb[at + i] - (uint32_t)carry;
		num->limb[at + i] = (uint32_t)borrow;
		borrow >>= 32;
		carry >>= 32;
	}
	borrow += (int64_t)num->limb[top] - (int64_t)carry;
	num->limb[top] = (uint32_t)borrow;
	while (borrow < 0) {
		uint64_t sum = 0;

		q--;
		for (i = 0; i < den->nr; i++) {
			sum += (uint64_t)num->limb[at + i] + den->limb[i];
			num->limb[at + i] = (uint32_t)sum;
			sum >>= 32;
		}
		borrow = (int32_t)num->limb[top] + (int64_t)sum;
		num->limb[top] = (uint32_t)borrow;
	}
	trim(num);
	return (uint32_t)q;
}

uint64_t grove__big_div(struct grove__big *num, struct grove__big *den,
			enum grove__big_rest *rest)
{
	unsigned up = (32 - grove__big_bits(den) % 32) % 32;
	uint64_t q = 0;
	unsigned at;
	int c;

	grove__big_shl(num, up);
	grove__big_shl(den, up);
	at = num->nr > den->nr ? num->nr - den->nr : 0;
	assert(at <= 2);
	do
		q = q << 32 | div_limb(num, den, at);
	while (at--);

	if (!num->nr) {
		*rest = BIG_EXACT;
		return q;
	}
	grove__big_shl(num, 1);
	c = cmp(num, den);
	*rest = c < 0 ? BIG_BELOW_HALF : c ? BIG_ABOVE_HALF : BIG_HALF;
	return q;
}
