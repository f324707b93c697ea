/*
 * js/collate.c: String.prototype.localeCompare(), as far as file names need it.
 *
 * Marks come before digits, digits before letters; whether a letter is small or
 * large counts only between names that are the same otherwise, small first.
 */
#include "js/js.h"

static unsigned weight(unsigned char c)
{
	static const char order[] = " _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$0123456789"
				    "abcdefghijklmnopqrstuvwxyz";
	const char *at;

	if (c >= 'A' && c <= 'Z')
		c = (unsigned char)(c - 'A' + 'a');
	at = c ? strchr(order, c) : NULL;
	return at ? (unsigned)(at - order) + 1 : c < 0x80 ? 0 : c;
}

int grove__js_collate(struct grove_slice a, struct grove_slice b)
{
	size_t n = a.len < b.len ? a.len : b.len;

	for (size_t i = 0; i < n; i++) {
		unsigned x = weight((unsigned char)a.ptr[i]), y = weight((unsigned char)b.ptr[i]);

		if (x != y)
			return x < y ? -1 : 1;
	}
	if (a.len != b.len)
		return a.len < b.len ? -1 : 1;
	for (size_t i = 0; i < n; i++)
		if (a.ptr[i] != b.ptr[i])
			return a.ptr[i] > b.ptr[i] ? -1 : 1; /* in ASCII the large ones come first */
	return 0;
}
