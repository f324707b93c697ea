/*
 * base/utf8.c: code points and their bytes.
 *
 * The well-formed sequences, which are narrower than the bit patterns
 * suggest (nothing overlong, no surrogates, nothing above U+10FFFF):
 *
 *     00..7f
 *     c2..df  80..bf
 *     e0      a0..bf  80..bf
 *     ed      80..9f  80..bf
 *     e1..ef  80..bf  80..bf          but for the two above
 *     f0      90..bf  80..bf  80..bf
 *     f4      80..8f  80..bf  80..bf
 *     f1..f3  80..bf  80..bf  80..bf
 *
 * Only the second byte is ever bounded by the first, so one pair of limits
 * describes a lead byte.
 */
#include "base/utf8.h"

#define HIGH_BITS 0x8080808080808080u

/* Bytes that follow lead byte `c`, and limits of the first of them; 0: no lead. */
static inline unsigned follow(unsigned char c, unsigned char *lo, unsigned char *hi)
{
	*lo = 0x80;
	*hi = 0xbf;
	if (c < 0xc2)
		return 0;
	if (c < 0xe0)
		return 1;
	if (c < 0xf0) {
		if (c == 0xe0)
			*lo = 0xa0;
		else if (c == 0xed)
			*hi = 0x9f;
		return 2;
	}
	if (c > 0xf4)
		return 0;
	if (c == 0xf0)
		*lo = 0x90;
	else if (c == 0xf4)
		*hi = 0x8f;
	return 3;
}

static inline bool is_tail(unsigned char c)
{
	return (c & 0xc0) == 0x80;
}

size_t grove__utf8_prefix(const char *ptr, size_t len)
{
	const unsigned char *p = (const unsigned char *)ptr, *start = p, *end;

	if (!len)
		return 0; /* and `ptr` may be NULL */
	end = p + len;
	while (p < end) {
		unsigned char lo, hi;
		unsigned n;

		if (*p < 0x80) {
			uint64_t w[4];

			while ((size_t)(end - p) >= sizeof w) {
				memcpy(w, p, sizeof w);
				if ((w[0] | w[1] | w[2] | w[3]) & HIGH_BITS)
					break;
				p += sizeof w;
			}
			while ((size_t)(end - p) >= sizeof *w) {
				memcpy(w, p, sizeof *w);
				if (w[0] & HIGH_BITS)
					break;
				p += sizeof *w;
			}
			while (p < end && *p < 0x80)
				p++;
			continue;
		}
		/* most of what is not ASCII; the two leads with limits go below */
		while (end - p >= 3 && (*p & 0xf0) == 0xe0 && *p != 0xe0 && *p != 0xed &&
		       is_tail(p[1]) && is_tail(p[2]))
			p += 3;
		if (p == end || *p < 0x80)
			continue;
		n = follow(*p, &lo, &hi);
		if (!n || (size_t)(end - p) <= n || p[1] < lo || p[1] > hi)
			break;
		if (n > 1 && !is_tail(p[2]))
			break;
		if (n > 2 && !is_tail(p[3]))
			break;
		p += n + 1;
	}
	return (size_t)(p - start);
}

size_t grove__utf8_decode(const char *ptr, const char *end, uint32_t *cp)
{
	const unsigned char *p = (const unsigned char *)ptr;
	size_t len = (size_t)(end - ptr);
	unsigned char lo, hi;
	uint32_t v = *p;
	unsigned n, i;

	if (v < 0x80) {
		*cp = v;
		return 1;
	}
	n = follow(*p, &lo, &hi);
	v &= 0x3fu >> n;
	for (i = 1; i <= n; i++) {
		if (i == len || p[i] < lo || p[i] > hi)
			break;
		v = v << 6 | (p[i] & 0x3fu);
		lo = 0x80;
		hi = 0xbf;
	}
	*cp = n && i > n ? v : GROVE__UTF8_BAD;
	return i;
}

/* The surrogate whose three bytes are at `p`, else 0. */
static uint32_t surrogate_at(const char *ptr, const char *end)
{
	const unsigned char *p = (const unsigned char *)ptr;

	if (end - ptr < 3 || p[0] != 0xed || !is_tail(p[1]) || p[1] < 0xa0 || !is_tail(p[2]))
		return 0;
	return 0xd000u | (p[1] & 0x3fu) << 6 | (p[2] & 0x3fu);
}

size_t grove__utf8_decode_wtf8(const char *p, const char *end, uint32_t *cp)
{
	uint32_t unit = surrogate_at(p, end), low;

	if (!unit)
		return grove__utf8_decode(p, end, cp);
	if (grove__utf8_is_high(unit)) {
		low = surrogate_at(p + 3, end);
		if (grove__utf8_is_low(low)) {
			*cp = grove__utf8_join(unit, low);
			return 6;
		}
	}
	*cp = unit;
	return 3;
}

size_t grove__utf8_encode(char out[4], uint32_t cp)
{
	if (cp < 0x80) {
		out[0] = (char)cp;
		return 1;
	}
	if (cp < 0x800) {
		out[0] = (char)(0xc0 | cp >> 6);
		out[1] = (char)(0x80 | (cp & 0x3f));
		return 2;
	}
	if (cp < 0x10000) {
		out[0] = (char)(0xe0 | cp >> 12);
		out[1] = (char)(0x80 | (cp >> 6 & 0x3f));
		out[2] = (char)(0x80 | (cp & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | cp >> 18);
	out[1] = (char)(0x80 | (cp >> 12 & 0x3f));
	out[2] = (char)(0x80 | (cp >> 6 & 0x3f));
	out[3] = (char)(0x80 | (cp & 0x3f));
	return 4;
}

int grove__utf8_repair(struct grove_buf *out, struct grove_slice s)
{
	const char *p = s.ptr, *end;
	size_t start = out->len;
	uint32_t cp;
	int rc;

	if (!s.len)
		return 0;
	end = p + s.len;
	for (;;) {
		size_t good = grove__utf8_prefix(p, (size_t)(end - p));

		rc = grove__buf_add(out, p, good);
		p += good;
		if (rc || p == end)
			break;
		p += grove__utf8_decode(p, end, &cp);
		rc = grove__buf_add(out, "\xef\xbf\xbd", 3);
		if (rc)
			break;
	}
	if (rc)
		grove__buf_cut(out, start);
	return rc;
}

int grove__utf8_repair_wtf8(struct grove_buf *out, struct grove_slice s)
{
	const char *p = s.ptr, *end = s.ptr + s.len;
	char one[4];
	int rc = 0;

	if (grove__utf8_valid(s))
		return grove__buf_add_slice(out, s);
	while (p < end && !rc) {
		uint32_t cp;

		p += grove__utf8_decode_wtf8(p, end, &cp);
		if (grove__utf8_is_surrogate(cp))
			cp = GROVE__UTF8_BAD;
		rc = grove__buf_add(out, one, grove__utf8_encode(one, cp));
	}
	return rc;
}

/* Returns how much of `len` bytes remains without a last character that was cut. */
static size_t whole_characters(const char *p, size_t len)
{
	for (size_t back = 1; back <= 3 && back <= len; back++) {
		unsigned char c = (unsigned char)p[len - back];
		size_t need = c >= 0xf8 ? 1 : c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;

		if ((c & 0xc0) != 0x80)
			return need > back ? len - back : len;
	}
	return len;
}

/* Returns how many bytes belong to a character whose beginning was cut off. */
static size_t rest_of_character(const char *p, size_t len)
{
	size_t n = 0;

	while (n < len && n < 4 && ((unsigned char)p[n] & 0xc0) == 0x80)
		n++;
	/* that many belong to no character at all */
	return n < 4 ? n : 0;
}

void grove__utf8_cut_end(struct grove_buf *b, size_t from)
{
	if (b->len > from)
		grove__buf_cut(b, from + whole_characters(b->ptr + from, b->len - from));
}

void grove__utf8_cut_start(struct grove_buf *b, size_t from)
{
	size_t cut = b->len > from ? rest_of_character(b->ptr + from, b->len - from) : 0;

	if (!cut)
		return;
	memmove(b->ptr + from, b->ptr + from + cut, b->len - from - cut);
	grove__buf_cut(b, b->len - cut);
}
