/*
 * json/escape.h: the inside of a string literal.
 *
 * Shared by the reader and the writers of strings. Everything reads valid
 * literals; nothing reads past `end`.
 */
#ifndef GROVE_JSON_ESCAPE_H
#define GROVE_JSON_ESCAPE_H

#include "base/utf8.h"

#define GROVE__JSON_BYTES(c) (0x0101010101010101u * (unsigned char)(c))

/* Eight bytes, the first of them lowest. */
static inline uint64_t grove__json_load(const char *p)
{
	uint64_t w;

	memcpy(&w, p, sizeof w);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	w = __builtin_bswap64(w);
#endif
	return w;
}

/*
 * The high bit of each byte that is `c`, or below `n` (at most 0x80). A borrow
 * may mark bytes above a true hit as well, so only the lowest mark counts.
 */
static inline uint64_t grove__json_has_byte(uint64_t w, char c)
{
	w ^= GROVE__JSON_BYTES(c);
	return (w - GROVE__JSON_BYTES(1)) & ~w & GROVE__JSON_BYTES(0x80);
}

static inline uint64_t grove__json_has_below(uint64_t w, unsigned char n)
{
	return (w - GROVE__JSON_BYTES(n)) & ~w & GROVE__JSON_BYTES(0x80);
}

/* Bytes before the lowest mark; there must be one. */
static inline size_t grove__json_unmarked(uint64_t marks)
{
	return (size_t)__builtin_ctzll(marks) / 8;
}

/* From inside a literal to the next quote or backslash, or `end`. */
static inline const char *grove__json_plain_end(const char *p, const char *end)
{
	while (end - p >= 8) {
		uint64_t w = grove__json_load(p);
		uint64_t marks = grove__json_has_byte(w, '"') | grove__json_has_byte(w, '\\');

		if (marks)
			return p + grove__json_unmarked(marks);
		p += 8;
	}
	while (p < end && *p != '"' && *p != '\\')
		p++;
	return p;
}

static inline bool grove__json_is_space(char c)
{
	return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static inline const char *grove__json_skip_space(const char *p, const char *end)
{
	while (p < end && grove__json_is_space(*p))
		p++;
	return p;
}

/* The unit of the escape uXXXX at `p` (the u itself). */
static inline uint32_t grove__json_unit(const char *p)
{
	uint32_t unit = 0;
	int i;

	for (i = 1; i <= 4; i++) {
		unsigned char c = (unsigned char)p[i];

		/* digits have bit 6 clear; of letters the low four bits count from 1 */
		unit = unit << 4 | ((c & 0xfu) + (c & 0x40 ? 9u : 0u));
	}
	return unit;
}

/*
 * Read the escape at `p`, a backslash; two that make a surrogate pair are read
 * as one character. Returns the bytes taken: 2, 6 or 12.
 */
static inline size_t grove__json_unescape(const char *p, const char *end, uint32_t *cp)
{
	uint32_t low;

	switch (p[1]) {
	case 'b': *cp = '\b'; return 2;
	case 'f': *cp = '\f'; return 2;
	case 'n': *cp = '\n'; return 2;
	case 'r': *cp = '\r'; return 2;
	case 't': *cp = '\t'; return 2;
	case 'u': break;
	default:  *cp = (unsigned char)p[1]; return 2;
	}
	*cp = grove__json_unit(p + 1);
	if (grove__utf8_is_high(*cp) && end - p >= 12 && p[6] == '\\' && p[7] == 'u') {
		low = grove__json_unit(p + 7);
		if (grove__utf8_is_low(low)) {
			*cp = grove__utf8_join(*cp, low);
			return 12;
		}
	}
	return 6;
}

/* Write a character as JSON.stringify does inside a string; the length. */
static inline size_t grove__json_escape(char out[6], uint32_t cp)
{
	static const char hex[16] = "0123456789abcdef";
	/* of the controls, those with a short name */
	static const char name[32] = {
		['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r',
	};

	if (cp >= 0x20 && cp != '"' && cp != '\\' && !grove__utf8_is_surrogate(cp))
		return grove__utf8_encode(out, cp);
	out[0] = '\\';
	if (cp == '"' || cp == '\\' || (cp < 0x20 && name[cp])) {
		out[1] = cp < 0x20 ? name[cp] : (char)cp;
		return 2;
	}
	out[1] = 'u';
	out[2] = hex[cp >> 12 & 0xf];
	out[3] = hex[cp >> 8 & 0xf];
	out[4] = hex[cp >> 4 & 0xf];
	out[5] = hex[cp & 0xf];
	return 6;
}

/*
 * Of a block of 64 bytes, those that a backslash escapes, where `slash` has the backslashes,
 * a bit a byte, the first the lowest. *carry, 0 or 1: the first byte is escaped by the block
 * before; then, the next block's first.
 */
static inline uint64_t grove__json_escaped(uint64_t slash, uint64_t *carry)
{
	const uint64_t even_bits = 0x5555555555555555u;
	/*
	 * In a run of backslashes every second one, from the first on,
	 * escapes what follows it. Adding a run's first bit clears the run, so
	 * those that start at an even place can be told from the others.
	 */
	uint64_t fresh = slash & ~*carry;
	uint64_t first = fresh & ~(fresh << 1);
	uint64_t even = fresh & ~(fresh + (first & even_bits));
	uint64_t escapes = (even & even_bits) | (fresh & ~even & ~even_bits);
	uint64_t escaped = escapes << 1 | *carry;

	*carry = escapes >> 63;
	return escaped;
}

#endif
