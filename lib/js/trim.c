/*
 * js/trim.c: String.prototype.trim().
 */
#include "js/js.h"

#include "base/utf8.h"

bool grove__js_is_space(uint32_t cp)
{
	if (cp < 0x80)
		return cp == ' ' || (cp >= '\t' && cp <= '\r');
	return cp == 0xa0 || cp == 0x1680 || (cp >= 0x2000 && cp <= 0x200a) ||
	       cp == 0x2028 || cp == 0x2029 || cp == 0x202f || cp == 0x205f ||
	       cp == 0x3000 || cp == 0xfeff;
}

struct grove_slice grove__js_trim(struct grove_slice text)
{
	const char *p = text.ptr, *end;
	uint32_t cp;

	if (!text.len)
		return text;
	end = p + text.len;
	while (p < end) {
		size_t n = grove__utf8_decode(p, end, &cp);

		if (!grove__js_is_space(cp))
			break;
		p += n;
	}
	/*
	 * White space takes one, two or three bytes. Going back to the last
	 * byte that is no tail finds its beginning; a whole character found so
	 * is one to a decoder coming from the left too, since a lead byte is
	 * never swallowed by bad bytes before it.
	 */
	while (p < end) {
		const char *q = end - 1;

		while (q > p && end - q < 3 && ((unsigned char)*q & 0xc0) == 0x80)
			q--;
		if (grove__utf8_decode(q, end, &cp) != (size_t)(end - q) ||
		    !grove__js_is_space(cp))
			break;
		end = q;
	}
	return grove__slice(p, (size_t)(end - p));
}
