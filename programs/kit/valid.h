/*
 * valid.h: is it UTF-8?
 */
#ifndef PROGRAMS_VALID_H
#define PROGRAMS_VALID_H

#include <stddef.h>
#include <utf8proc.h>

static inline int utf8_valid(const char *text, size_t len)
{
	while (len) {
		utf8proc_int32_t c;
		utf8proc_ssize_t n = utf8proc_iterate((const utf8proc_uint8_t *)text,
						      (utf8proc_ssize_t)len, &c);

		if (n <= 0)
			return 0;
		text += n;
		len -= (size_t)n;
	}
	return 1;
}

#endif
