/*
 * base/crc32c.c: the Castagnoli checksum.
 *
 * With SSE4.2 eight bytes cost one instruction, but each waits three cycles
 * for the one before; so three runs are computed at once and joined by a table
 * that advances a checksum over the bytes of a run. Elsewhere: a table, a byte
 * at a time.
 */
#include "base/crc32c.h"

#include <stdbool.h>
#include <string.h>

#define POLY 0x82f63b78u /* reflected */

static uint32_t table[256];

static void fill_table(void)
{
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t c = i;

		for (int k = 0; k < 8; k++)
			c = c & 1 ? c >> 1 ^ POLY : c >> 1;
		table[i] = c;
	}
}

static uint32_t plain(uint32_t crc, const unsigned char *p, size_t n)
{
	while (n--)
		crc = crc >> 8 ^ table[(crc ^ *p++) & 0xff];
	return crc;
}

#if defined(__x86_64__)
#include <nmmintrin.h>

#define RUN ((size_t)256) /* bytes of each of the three runs */

/* advance[k][b]: byte b at place k of a checksum, after RUN zero bytes more */
static uint32_t advance[4][256];

/*
 * Checksums add up: what becomes of a byte is the sum (xor) of what becomes of
 * its bits. So the 32 bits alone are led over the run, side by side, and the
 * rest of the table is sums.
 */
static void fill_advance(void)
{
	uint32_t bit[32];

	for (uint32_t i = 0; i < 32; i++)
		bit[i] = (uint32_t)1 << i;
	for (size_t n = 0; n < RUN; n++)
		for (uint32_t i = 0; i < 32; i++)
			bit[i] = bit[i] >> 8 ^ table[bit[i] & 0xff];
	for (uint32_t i = 0; i < 32; i++) {
		uint32_t *a = advance[i / 8], high = (uint32_t)1 << i % 8;

		for (uint32_t b = 0; b < high; b++)
			a[high + b] = a[b] ^ bit[i];
	}
}

static uint32_t over_run(uint32_t c)
{
	return advance[0][c & 0xff] ^ advance[1][c >> 8 & 0xff] ^
	       advance[2][c >> 16 & 0xff] ^ advance[3][c >> 24];
}

static uint64_t word(const unsigned char *p)
{
	uint64_t v;

	memcpy(&v, p, 8);
	return v;
}

__attribute__((target("sse4.2")))
static uint32_t fast(uint32_t crc, const unsigned char *p, size_t n)
{
	uint64_t a = crc, b, c;

	for (; n >= 3 * RUN; n -= 3 * RUN, p += 3 * RUN) {
		b = c = 0;
		for (size_t i = 0; i < RUN; i += 8) {
			a = _mm_crc32_u64(a, word(p + i));
			b = _mm_crc32_u64(b, word(p + RUN + i));
			c = _mm_crc32_u64(c, word(p + 2 * RUN + i));
		}
		a = over_run((uint32_t)a) ^ b;
		a = over_run((uint32_t)a) ^ c;
	}
	for (; n >= 8; n -= 8, p += 8)
		a = _mm_crc32_u64(a, word(p));
	crc = (uint32_t)a;
	while (n--)
		crc = _mm_crc32_u8(crc, *p++);
	return crc;
}
#endif

/* Before main(), at every start of a program: so that nothing has to be asked later. */
__attribute__((constructor)) static void fill(void)
{
	fill_table();
#if defined(__x86_64__)
	fill_advance();
#endif
}

uint32_t grove__crc32c(uint32_t crc, const void *ptr, size_t len)
{
	crc = ~crc;
#if defined(__x86_64__)
	if (__builtin_cpu_supports("sse4.2"))
		return ~fast(crc, ptr, len);
#endif
	return ~plain(crc, ptr, len);
}
