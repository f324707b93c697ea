/*
 * text.h: a hash of a text, and the values of hexadecimal digits.
 */
#ifndef KIT_TEXT_H
#define KIT_TEXT_H

#include <stdint.h>

/* FNV-1a. Begin with TEXT_HASH_BEGIN; a hash continues with the next text. */
#define TEXT_HASH_BEGIN 2166136261u
static inline uint32_t text_hash(uint32_t h, const char *text)
{
	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * 16777619u;
	return h;
}

/* Returns -1 for any other character. */
static inline int text_hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)(c | 0x20);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

#endif
