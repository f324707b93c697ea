/*
 * base/needle.c: find a few bytes among many, letters in either case.
 *
 * Two bytes of the needle, the rarest ones, are compared at sixteen or thirty-two
 * places at once; only where both fit are all of them looked at.
 */
#include "base/needle.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

/* Roughly how often a byte occurs in text; bytes not listed are rare. */
static unsigned frequency(unsigned char c)
{
	static const char often[] = " etaoinsrhldcumfpgwybvk,.-_/\":0123456789xjqz";
	const char *p = c ? strchr(often, c) : NULL;

	return p ? 64 - (unsigned)(p - often) : c >= 0x80 ? 30 : 1;
}

void grove__needle_init(struct grove__needle *n, struct grove_slice s)
{
	memset(n, 0, sizeof(*n));
	n->len = s.len < GROVE__NEEDLE_MAX ? s.len : GROVE__NEEDLE_MAX;
	for (size_t i = 0; i < n->len; i++) {
		unsigned char c = (unsigned char)s.ptr[i];

		n->mask[i] = ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') ? 0x20 : 0;
		n->bytes[i] = c | n->mask[i];
		if (frequency(n->bytes[i]) < frequency(n->bytes[n->a]))
			n->a = i;
	}
	n->b = n->a ? 0 : n->len - 1;
	for (size_t i = 0; i < n->len; i++)
		if (i != n->a && frequency(n->bytes[i]) < frequency(n->bytes[n->b]))
			n->b = i;
}

static bool fits(const struct grove__needle *n, const char *p)
{
	for (size_t i = 0; i < n->len; i++)
		if (((unsigned char)p[i] | n->mask[i]) != n->bytes[i])
			return false;
	return true;
}

#ifdef __x86_64__
/* These look at places from *p on, as long as there are enough of them up to `last`. */
static const char *find_sse2(const struct grove__needle *n, const char **p, const char *last)
{
	const __m128i a = _mm_set1_epi8((char)n->bytes[n->a]), b = _mm_set1_epi8((char)n->bytes[n->b]);
	const __m128i am = _mm_set1_epi8((char)n->mask[n->a]), bm = _mm_set1_epi8((char)n->mask[n->b]);

	for (; last - *p >= 16; *p += 16) {
		__m128i x = _mm_loadu_si128((const __m128i *)(const void *)(*p + n->a));
		__m128i y = _mm_loadu_si128((const __m128i *)(const void *)(*p + n->b));
		unsigned hits;

		x = _mm_cmpeq_epi8(_mm_or_si128(x, am), a);
		y = _mm_cmpeq_epi8(_mm_or_si128(y, bm), b);
		hits = (unsigned)_mm_movemask_epi8(_mm_and_si128(x, y));
		for (; hits; hits &= hits - 1)
			if (fits(n, *p + __builtin_ctz(hits)))
				return *p + __builtin_ctz(hits);
	}
	return NULL;
}

__attribute__((target("avx2")))
static const char *find_avx2(const struct grove__needle *n, const char **p, const char *last)
{
	const __m256i a = _mm256_set1_epi8((char)n->bytes[n->a]), b = _mm256_set1_epi8((char)n->bytes[n->b]);
	const __m256i am = _mm256_set1_epi8((char)n->mask[n->a]), bm = _mm256_set1_epi8((char)n->mask[n->b]);

	for (; last - *p >= 32; *p += 32) {
		__m256i x = _mm256_loadu_si256((const __m256i *)(const void *)(*p + n->a));
		__m256i y = _mm256_loadu_si256((const __m256i *)(const void *)(*p + n->b));
		unsigned hits;

		x = _mm256_cmpeq_epi8(_mm256_or_si256(x, am), a);
		y = _mm256_cmpeq_epi8(_mm256_or_si256(y, bm), b);
		hits = (unsigned)_mm256_movemask_epi8(_mm256_and_si256(x, y));
		for (; hits; hits &= hits - 1)
			if (fits(n, *p + __builtin_ctz(hits)))
				return *p + __builtin_ctz(hits);
	}
	return NULL;
}
#endif

const char *grove__needle_find(const struct grove__needle *n, const char *p, const char *end)
{
	const char *last;

	if (!n->len || (size_t)(end - p) < n->len)
		return NULL;
	last = end - n->len;
#ifdef __x86_64__
	const char *hit = __builtin_cpu_supports("avx2") ? find_avx2(n, &p, last) : NULL;

	hit = hit ? hit : find_sse2(n, &p, last);
	if (hit)
		return hit;
#endif
	for (; p <= last; p++)
		if (fits(n, p))
			return p;
	return NULL;
}
