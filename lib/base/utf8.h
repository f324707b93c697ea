/*
 * base/utf8.h: code points and their bytes.
 *
 * What is not UTF-8 reads as U+FFFD, once for each maximal part that could
 * have begun a character: the rule of the Unicode standard and of the WHATWG
 * decoders. WTF-8 is UTF-8 in which a surrogate may be spelled in three bytes, so
 * that every string of UTF-16 units has a spelling.
 */
#ifndef GROVE_BASE_UTF8_H
#define GROVE_BASE_UTF8_H

#include "base/buf.h"

#include <stdint.h>

#define GROVE__UTF8_BAD 0xfffdu

static inline bool grove__utf8_is_high(uint32_t cp)
{
	return cp - 0xd800u < 0x400u;
}

static inline bool grove__utf8_is_low(uint32_t cp)
{
	return cp - 0xdc00u < 0x400u;
}

static inline bool grove__utf8_is_surrogate(uint32_t cp)
{
	return cp - 0xd800u < 0x800u;
}

static inline uint32_t grove__utf8_join(uint32_t high, uint32_t low)
{
	return 0x10000u + ((high - 0xd800u) << 10) + (low - 0xdc00u);
}

/* Returns how many bytes from `p` on are valid UTF-8; a truncated character is not. */
size_t grove__utf8_prefix(const char *p, size_t len);

static inline bool grove__utf8_valid(struct grove_slice s)
{
	return grove__utf8_prefix(s.ptr, s.len) == s.len;
}

/*
 * Read one code point at `p` < `end`. Returns the bytes it takes, at least
 * one; for bad bytes *cp is GROVE__UTF8_BAD.
 */
size_t grove__utf8_decode(const char *p, const char *end, uint32_t *cp);

/*
 * The same for WTF-8. A pair of three-byte surrogates, as two strings joined
 * end to end may have, is read as the one character that it makes.
 */
size_t grove__utf8_decode_wtf8(const char *p, const char *end, uint32_t *cp);

/* Write a code point, a surrogate as its three bytes. Returns the length. */
size_t grove__utf8_encode(char out[4], uint32_t cp);

/* Append `s` with bad bytes replaced by U+FFFD. Returns 0 or GROVE_ENOMEM. */
int grove__utf8_repair(struct grove_buf *out, struct grove_slice s);
/* The same of WTF-8: half a surrogate pair becomes one U+FFFD. */
int grove__utf8_repair_wtf8(struct grove_buf *out, struct grove_slice s);

/*
 * A text from `from` on was cut out of a longer one: take off the part of a character
 * that is left at its end, or at its start.
 */
void grove__utf8_cut_end(struct grove_buf *b, size_t from);
void grove__utf8_cut_start(struct grove_buf *b, size_t from);

#endif
