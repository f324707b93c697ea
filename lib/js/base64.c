/*
 * js/base64.c: base64 as Node reads and writes it.
 *
 * Writing is the standard's: its alphabet, padded. Reading forgives: letters
 * of both alphabets, standard and URL-safe, count wherever they stand, `=` ends
 * the text, anything else is passed over, and of an unfinished last group the
 * whole bytes count.
 *
 *     QUJD          ABC        QU JD\n       ABC
 *     QUJDQQ        ABCA       QU=JD         A
 *     QUJDQ         ABC        Q-_8, Q+/8    the same
 *
 * Node looks at the low byte of each UTF-16 unit, so that U+0151 is a `Q` and
 * U+013D ends the text. So do we: text comes from files, and both shall see the
 * same bytes in it.
 *
 * Real text is one long run of letters, which a kernel takes a block at a time;
 * what it stops at is read by the unit.
 */
#include "js/base64.h"

#include "base/utf8.h"
#include "js/js.h"

#if defined(__x86_64__) && defined(__GNUC__)
#define X86 1
#include <immintrin.h>
#endif

enum { ODD = 64, END = 65 };

static const char letters[64] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* The value of each byte: 0 … 63, ODD or END. */
static uint8_t value[256];

/* Filled before main(), so that nothing has to be asked at run time. */
__attribute__((constructor)) static void fill(void)
{
	memset(value, ODD, sizeof(value));
	for (uint8_t i = 0; i < 64; i++)
		value[(uint8_t)letters[i]] = i;
	value['-'] = 62;
	value['_'] = 63;
	value['='] = END;
}

/* -------------------------------------------------------------------- plain */

static size_t encode_plain(char *out, const uint8_t *in, size_t len)
{
	size_t i;

	for (i = 0; i + 3 <= len; i += 3, out += 4) {
		uint32_t v = (uint32_t)in[i] << 16 | (uint32_t)in[i + 1] << 8 | in[i + 2];

		out[0] = letters[v >> 18];
		out[1] = letters[v >> 12 & 63];
		out[2] = letters[v >> 6 & 63];
		out[3] = letters[v & 63];
	}
	return i;
}

static size_t decode_plain(uint8_t *out, const char *in, size_t len)
{
	const uint8_t *p = (const uint8_t *)in;
	size_t i;

	for (i = 0; i + 4 <= len; i += 4, out += 3) {
		uint8_t a = value[p[i]], b = value[p[i + 1]], c = value[p[i + 2]], d = value[p[i + 3]];

		if ((a | b | c | d) & ODD)
			break;
		out[0] = (uint8_t)(a << 2 | b >> 4);
		out[1] = (uint8_t)(b << 4 | c >> 2);
		out[2] = (uint8_t)(c << 6 | d);
	}
	return i;
}

/* --------------------------------------------------------------------- AVX2 */

#ifdef X86
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2")
#endif

static inline __m256i all(char c)
{
	return _mm256_set1_epi8(c);
}

/* 0xff where the byte, as a number without sign, is below `nr`. */
static inline __m256i below(__m256i v, char nr)
{
	return _mm256_cmpeq_epi8(_mm256_min_epu8(v, all((char)(nr - 1))), v);
}

/*
 * 24 bytes become 32 letters. Each lane of 16 gets 12 bytes, each group of
 * three spread over four: [b a c b], as one 32-bit number abc with b twice. Two
 * multiplications then shift all four parts to their places at once.
 */
static size_t encode_avx2(char *out, const uint8_t *in, size_t len)
{
	const __m256i spread = _mm256_setr_epi8(
		1, 0, 2, 1, 4, 3, 5, 4, 7, 6, 8, 7, 10, 9, 11, 10,
		1, 0, 2, 1, 4, 3, 5, 4, 7, 6, 8, 7, 10, 9, 11, 10);
	size_t i = 0;

	/* the second load takes 16 bytes from 12 on */
	for (; i + 28 <= len; i += 24, out += 32) {
		__m256i v = _mm256_inserti128_si256(
			_mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)(in + i))),
			_mm_loadu_si128((const __m128i *)(const void *)(in + i + 12)), 1);
		__m256i first, second, delta;

		v = _mm256_shuffle_epi8(v, spread);
		first = _mm256_mulhi_epu16(_mm256_and_si256(v, _mm256_set1_epi32(0x0fc0fc00)),
					   _mm256_set1_epi32(0x04000040));
		second = _mm256_mullo_epi16(_mm256_and_si256(v, _mm256_set1_epi32(0x003f03f0)),
					    _mm256_set1_epi32(0x01000010));
		v = _mm256_or_si256(first, second);

		/* what to add to 0…25, and how that changes at 26, 52, 62 and 63 */
		delta = all('A');
		delta = _mm256_add_epi8(delta, _mm256_and_si256(_mm256_cmpgt_epi8(v, all(25)),
								all('a' - 26 - 'A')));
		delta = _mm256_add_epi8(delta, _mm256_and_si256(_mm256_cmpgt_epi8(v, all(51)),
								all('0' - 52 - ('a' - 26))));
		delta = _mm256_add_epi8(delta, _mm256_and_si256(_mm256_cmpgt_epi8(v, all(61)),
								all('+' - 62 - ('0' - 52))));
		delta = _mm256_add_epi8(delta, _mm256_and_si256(_mm256_cmpgt_epi8(v, all(62)),
								all('/' - 63 - ('+' - 62))));
		_mm256_storeu_si256((__m256i *)(void *)out, _mm256_add_epi8(v, delta));
	}
	return i;
}

/* 32 letters become 24 bytes; 32 are stored. */
static size_t decode_avx2(uint8_t *out, const char *in, size_t len)
{
	const __m256i pick = _mm256_setr_epi8(
		2, 1, 0, 6, 5, 4, 10, 9, 8, 14, 13, 12, -1, -1, -1, -1,
		2, 1, 0, 6, 5, 4, 10, 9, 8, 14, 13, 12, -1, -1, -1, -1);
	size_t i = 0;

	for (; i + 32 <= len; i += 32, out += 24) {
		__m256i c = _mm256_loadu_si256((const __m256i *)(const void *)(in + i));
		__m256i upper = _mm256_sub_epi8(c, all('A'));
		__m256i lower = _mm256_sub_epi8(c, all('a'));
		__m256i digit = _mm256_sub_epi8(c, all('0'));
		__m256i is_upper = below(upper, 26);
		__m256i is_lower = below(lower, 26);
		__m256i is_digit = below(digit, 10);
		__m256i is_62 = _mm256_or_si256(_mm256_cmpeq_epi8(c, all('+')),
						_mm256_cmpeq_epi8(c, all('-')));
		__m256i is_63 = _mm256_or_si256(_mm256_cmpeq_epi8(c, all('/')),
						_mm256_cmpeq_epi8(c, all('_')));
		__m256i special = _mm256_or_si256(is_62, is_63);
		__m256i v = _mm256_or_si256(_mm256_or_si256(is_upper, is_lower),
					    _mm256_or_si256(is_digit, special));

		if (_mm256_movemask_epi8(v) != -1)
			break;
		v = _mm256_and_si256(upper, is_upper);
		v = _mm256_or_si256(v, _mm256_and_si256(_mm256_add_epi8(lower, all(26)), is_lower));
		v = _mm256_or_si256(v, _mm256_and_si256(_mm256_add_epi8(digit, all(52)), is_digit));
		/* 62, and one more where it is 63: a mask is -1 */
		v = _mm256_or_si256(v, _mm256_and_si256(_mm256_sub_epi8(all(62), is_63), special));

		/* a b c d: a * 64 + b, c * 64 + d; then the first * 4096 + the second */
		v = _mm256_maddubs_epi16(v, _mm256_set1_epi32(0x01400140));
		v = _mm256_madd_epi16(v, _mm256_set1_epi32(0x00011000));
		v = _mm256_shuffle_epi8(v, pick);
		v = _mm256_permutevar8x32_epi32(v, _mm256_setr_epi32(0, 1, 2, 4, 5, 6, 3, 7));
		_mm256_storeu_si256((__m256i *)(void *)out, v);
	}
	return i + decode_plain(out, in + i, len - i);
}

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif

/* ------------------------------------------------------------------- choice */

static const struct grove__base64_kernel kernels[] = {
	{ "plain", encode_plain, decode_plain },
#ifdef X86
	{ "avx2", encode_avx2, decode_avx2 },
#endif
};

static unsigned nr_runnable(void)
{
#ifdef X86
	__builtin_cpu_init();
	if (__builtin_cpu_supports("avx2"))
		return 2;
#endif
	return 1;
}

const struct grove__base64_kernel *grove__base64_kernel(unsigned i)
{
	return i < nr_runnable() ? &kernels[i] : NULL;
}

/* -------------------------------------------------------------- whole texts */

size_t grove__base64_encode(const struct grove__base64_kernel *k, char *out, const void *ptr,
			    size_t len)
{
	const uint8_t *in = ptr;
	char *o = out;
	size_t done = k->encode(out, in, len);
	uint32_t v;

	o += done / 3 * 4;
	in += done;
	len -= done;
	done = encode_plain(o, in, len);
	o += done / 3 * 4;
	in += done;
	len -= done;
	if (len) {
		v = (uint32_t)in[0] << 16 | (len > 1 ? (uint32_t)in[1] << 8 : 0);
		o[0] = letters[v >> 18];
		o[1] = letters[v >> 12 & 63];
		o[2] = len > 1 ? letters[v >> 6 & 63] : '=';
		o[3] = '=';
		o += 4;
	}
	return (size_t)(o - out);
}

/* The low bytes of the one or two units at `p`, through the table. */
static size_t read_units(const char *p, const char *end, uint8_t v[2])
{
	uint32_t cp;
	size_t n;

	v[1] = ODD;
	if (!((uint8_t)*p & 0x80)) {
		v[0] = value[(uint8_t)*p];
		return 1;
	}
	n = grove__utf8_decode_wtf8(p, end, &cp);
	if (cp >= 0x10000) {
		v[0] = value[(cp - 0x10000) >> 10 & 0xff];
		v[1] = value[cp & 0xff];
	} else {
		v[0] = value[cp & 0xff];
	}
	return n;
}

size_t grove__base64_decode(const struct grove__base64_kernel *k, void *out, const char *text,
			    size_t len)
{
	const char *p = text, *end = text + len;
	uint8_t *o = out, v[2];
	uint32_t acc = 0;
	unsigned nr = 0;    /* letters in acc */
	bool whole = true;  /* a group has just ended: the kernel may try again */

	while (p < end) {
		if (whole) {
			size_t used = k->decode(o, p, (size_t)(end - p));

			p += used;
			o += used / 4 * 3;
			whole = false;
			if (p == end)
				break;
		}
		p += read_units(p, end, v);
		for (unsigned i = 0; i < 2; i++) {
			if (v[i] == END)
				goto out;
			if (v[i] == ODD)
				continue;
			acc = acc << 6 | v[i];
			if (++nr < 4)
				continue;
			*o++ = (uint8_t)(acc >> 16);
			*o++ = (uint8_t)(acc >> 8);
			*o++ = (uint8_t)acc;
			acc = nr = 0;
			whole = true;
		}
		/* the second unit of a pair began a group */
		whole = whole && !nr;
	}
out:
	if (nr == 2)
		*o++ = (uint8_t)(acc >> 4);
	if (nr == 3) {
		*o++ = (uint8_t)(acc >> 10);
		*o++ = (uint8_t)(acc >> 2);
	}
	return (size_t)(o - (uint8_t *)out);
}

static const struct grove__base64_kernel *best(void)
{
	return &kernels[nr_runnable() - 1];
}

int grove__js_base64(struct grove_buf *out, struct grove_slice bytes)
{
	int rc = bytes.len > GROVE__BUF_MAX ? GROVE_ENOMEM :
		 grove__buf_reserve(out, GROVE__BASE64_ENCODED(bytes.len));

	if (!rc)
		out->len += grove__base64_encode(best(), out->ptr + out->len, bytes.ptr, bytes.len);
	if (!rc)
		out->ptr[out->len] = '\0';
	return rc;
}

int grove__js_base64_decode(struct grove_buf *out, struct grove_slice text)
{
	int rc = text.len > GROVE__BUF_MAX ? GROVE_ENOMEM :
		 grove__buf_reserve(out, GROVE__BASE64_DECODED(text.len));

	if (!rc)
		out->len += grove__base64_decode(best(), out->ptr + out->len, text.ptr, text.len);
	if (!rc)
		out->ptr[out->len] = '\0';
	return rc;
}
