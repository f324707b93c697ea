/*
 * js/length.c: how long JavaScript thinks a text is.
 */
#include "js/js.h"

#include "base/utf8.h"

/*
 * In valid UTF-8 every byte that is not a tail begins a character, and those
 * of four bytes are two units. Tails are 10xxxxxx, four-byte leads 1111xxxx.
 */
static size_t units(const unsigned char *p, size_t len)
{
	size_t n = 0, i;

	for (i = 0; i < len; i++)
		n += (size_t)((p[i] & 0xc0) != 0x80) + (size_t)(p[i] >= 0xf0);
	return n;
}

size_t grove__js_length(struct grove_slice text)
{
	const char *p = text.ptr, *end;
	size_t n = 0;
	uint32_t cp;

	if (!text.len)
		return 0;
	end = p + text.len;
	for (;;) {
		size_t good = grove__utf8_prefix(p, (size_t)(end - p));

		n += units((const unsigned char *)p, good);
		p += good;
		if (p == end)
			return n;
		p += grove__utf8_decode_wtf8(p, end, &cp);
		n += cp < 0x10000 ? 1 : 2;
	}
}
