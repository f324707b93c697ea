/*
 * base/buf.h: a growing run of bytes.
 *
 * Every function that may need memory returns 0 or GROVE_ENOMEM and leaves
 * the buffer as it was in the second case. A buffer never passes
 * GROVE__BUF_MAX: growing from input has an end.
 */
#ifndef GROVE_BASE_BUF_H
#define GROVE_BASE_BUF_H

#include "base/slice.h"

#include <stdarg.h>

#define GROVE__BUF_MAX ((size_t)1 << 40)

void grove__buf_release(struct grove_buf *b);
/* Forget the content, keep the memory. */
void grove__buf_clear(struct grove_buf *b);
/* Cut to `len` bytes, which must not be more than there are. */
void grove__buf_cut(struct grove_buf *b, size_t len);
/* Make room for `more` bytes after the present ones. */
int grove__buf_reserve(struct grove_buf *b, size_t more);
/* The same, and not a byte more than that: for those who know how much there will be. */
int grove__buf_room(struct grove_buf *b, size_t more);

/* Inline: most calls add a few bytes to a buffer that has room. */
static inline int grove__buf_add(struct grove_buf *b, const void *ptr, size_t len)
{
	if (!b->ptr || len > b->cap - b->len) {
		int rc = grove__buf_reserve(b, len);

		if (rc)
			return rc;
	}
	if (len)
		memcpy(b->ptr + b->len, ptr, len);
	b->len += len;
	b->ptr[b->len] = '\0';
	return 0;
}

static inline int grove__buf_add_slice(struct grove_buf *b, struct grove_slice s)
{
	return grove__buf_add(b, s.ptr, s.len);
}

static inline int grove__buf_add_str(struct grove_buf *b, const char *str)
{
	return grove__buf_add(b, str, strlen(str));
}

static inline int grove__buf_add_char(struct grove_buf *b, char c)
{
	return grove__buf_add(b, &c, 1);
}

int grove__buf_addf(struct grove_buf *b, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
int grove__buf_vaddf(struct grove_buf *b, const char *fmt, va_list ap);

static inline struct grove_slice grove__buf_slice(const struct grove_buf *b)
{
	return grove__slice(b->ptr ? b->ptr : "", b->len);
}

#endif
