/*
 * json/scan_avx2.c: the kernel for x86-64 CPUs since 2013 or so.
 */
#include "json/scan_impl.h"

#ifdef GROVE__JSON_X86

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,bmi,bmi2,pclmul"))), \
			     apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,bmi,bmi2,pclmul")
#endif

#include <immintrin.h>

struct block {
	__m256i lo, hi;
};

static inline struct block block_load(const char *p)
{
	struct block b = {
		_mm256_loadu_si256((const __m256i *)(const void *)p),
		_mm256_loadu_si256((const __m256i *)(const void *)(p + 32)),
	};
	return b;
}

static inline uint64_t mask_of(__m256i lo, __m256i hi)
{
	return (uint32_t)_mm256_movemask_epi8(lo) |
	       (uint64_t)(uint32_t)_mm256_movemask_epi8(hi) << 32;
}

static inline uint64_t block_eq(const struct block *b, char c)
{
	__m256i v = _mm256_set1_epi8(c);

	return mask_of(_mm256_cmpeq_epi8(b->lo, v), _mm256_cmpeq_epi8(b->hi, v));
}

static inline uint64_t block_eq_or(const struct block *b, char bit, char c)
{
	__m256i set = _mm256_set1_epi8(bit);
	struct block with = { _mm256_or_si256(b->lo, set), _mm256_or_si256(b->hi, set) };

	return block_eq(&with, c);
}

static inline uint64_t block_below(const struct block *b, char n)
{
	__m256i v = _mm256_set1_epi8((char)(n - 1));

	return mask_of(_mm256_cmpeq_epi8(_mm256_min_epu8(b->lo, v), b->lo),
		       _mm256_cmpeq_epi8(_mm256_min_epu8(b->hi, v), b->hi));
}

static inline uint64_t block_digit(const struct block *b)
{
	__m256i zero = _mm256_set1_epi8('0');
	struct block v = { _mm256_sub_epi8(b->lo, zero), _mm256_sub_epi8(b->hi, zero) };

	return block_below(&v, 10);
}

/*
 * Which bytes are in a set, by their two halves: `low` has for every low half
 * a bit for each high half that goes with it, `high` the bit of every high
 * half. Bytes from 0x80 on look up nothing.
 */
static inline __m256i lookup(__m256i v, __m128i low, __m128i high)
{
	__m256i half = _mm256_and_si256(_mm256_srli_epi16(v, 4), _mm256_set1_epi8(15));
	__m256i l = _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(low), v);
	__m256i h = _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(high), half);

	return _mm256_cmpeq_epi8(_mm256_and_si256(l, h), _mm256_setzero_si256());
}

static inline uint64_t block_escape(const struct block *b)
{
	/* 0x22 " 0x2f /   0x5c \   0x62 b 0x66 f 0x6e n   0x72 r 0x74 t 0x75 u */
	__m128i low = _mm_setr_epi8(0, 0, 1 | 4 | 8, 0, 8, 8, 4, 0, 0, 0, 0, 0, 2, 0, 4, 1);
	__m128i high = _mm_setr_epi8(0, 0, 1, 0, 0, 2, 4, 8, 0, 0, 0, 0, 0, 0, 0, 0);

	return ~mask_of(lookup(b->lo, low, high), lookup(b->hi, low, high));
}

static inline uint64_t block_hex(const struct block *b)
{
	/* 0x30 to 0x39, 0x41 to 0x46, 0x61 to 0x66 */
	__m128i low = _mm_setr_epi8(1, 3, 3, 3, 3, 3, 3, 1, 1, 1, 0, 0, 0, 0, 0, 0);
	__m128i high = _mm_setr_epi8(0, 0, 0, 1, 2, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0);

	return ~mask_of(lookup(b->lo, low, high), lookup(b->hi, low, high));
}

static inline uint64_t prefix_xor(uint64_t m)
{
	/* A product without carries by all ones sums up every bit below. */
	__m128i v = _mm_clmulepi64_si128(_mm_set_epi64x(0, (long long)m),
					 _mm_set1_epi8((char)0xff), 0);

	return (uint64_t)_mm_cvtsi128_si64(v);
}

#include "json/scan_kernel.h"

enum grove__json_verdict grove__json_scan_avx2(const struct grove__json_want *want,
					       const char *ptr, size_t len, bool final,
					       struct grove__json_line *out)
{
	return scan_line(want, ptr, len, final, out);
}

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

#endif
