/*
 * json/scan_avx512.c: the kernel for x86-64 CPUs whose vectors are as long as
 * our blocks, and whose comparisons give the masks that we need at once.
 */
#include "json/scan_impl.h"

#ifdef GROVE__JSON_X86

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx2,bmi,bmi2,pclmul"))), \
			     apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx2,bmi,bmi2,pclmul")
#endif

#include <immintrin.h>

struct block {
	__m512i v;
};

static inline struct block block_load(const char *p)
{
	struct block b = { _mm512_loadu_si512(p) };

	return b;
}

static inline uint64_t block_eq(const struct block *b, char c)
{
	return _mm512_cmpeq_epi8_mask(b->v, _mm512_set1_epi8(c));
}

static inline uint64_t block_eq_or(const struct block *b, char bit, char c)
{
	return _mm512_cmpeq_epi8_mask(_mm512_or_si512(b->v, _mm512_set1_epi8(bit)),
				      _mm512_set1_epi8(c));
}

static inline uint64_t block_below(const struct block *b, char n)
{
	return _mm512_cmplt_epu8_mask(b->v, _mm512_set1_epi8(n));
}

static inline uint64_t block_digit(const struct block *b)
{
	__m512i v = _mm512_sub_epi8(b->v, _mm512_set1_epi8('0'));

	return _mm512_cmplt_epu8_mask(v, _mm512_set1_epi8(10));
}

/*
 * Which bytes are in a set, by their two halves: `low` has for every low half
 * a bit for each high half that goes with it, `high` the bit of every high
 * half. Bytes from 0x80 on look up nothing.
 */
static inline uint64_t lookup(__m512i v, __m128i low, __m128i high)
{
	__m512i half = _mm512_and_si512(_mm512_srli_epi16(v, 4), _mm512_set1_epi8(15));

	return _mm512_test_epi8_mask(_mm512_shuffle_epi8(_mm512_broadcast_i32x4(low), v),
				     _mm512_shuffle_epi8(_mm512_broadcast_i32x4(high), half));
}

static inline uint64_t block_escape(const struct block *b)
{
	/* 0x22 " 0x2f /   0x5c \   0x62 b 0x66 f 0x6e n   0x72 r 0x74 t 0x75 u */
	__m128i low = _mm_setr_epi8(0, 0, 1 | 4 | 8, 0, 8, 8, 4, 0, 0, 0, 0, 0, 2, 0, 4, 1);
	__m128i high = _mm_setr_epi8(0, 0, 1, 0, 0, 2, 4, 8, 0, 0, 0, 0, 0, 0, 0, 0);

	return lookup(b->v, low, high);
}

static inline uint64_t block_hex(const struct block *b)
{
	/* 0x30 to 0x39, 0x41 to 0x46, 0x61 to 0x66 */
	__m128i low = _mm_setr_epi8(1, 3, 3, 3, 3, 3, 3, 1, 1, 1, 0, 0, 0, 0, 0, 0);
	__m128i high = _mm_setr_epi8(0, 0, 0, 1, 2, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0);

	return lookup(b->v, low, high);
}

static inline uint64_t prefix_xor(uint64_t m)
{
	/* A product without carries by all ones sums up every bit below. */
	__m128i v = _mm_clmulepi64_si128(_mm_set_epi64x(0, (long long)m),
					 _mm_set1_epi8((char)0xff), 0);

	return (uint64_t)_mm_cvtsi128_si64(v);
}

#include "json/scan_kernel.h"

enum grove__json_verdict grove__json_scan_avx512(const struct grove__json_want *want,
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
