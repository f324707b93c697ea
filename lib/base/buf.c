/*
 * base/buf.c: a growing run of bytes.
 *
 * Capacity doubles, and one byte beyond it is always ours: the NUL that lets
 * a buffer be handed to functions that want a C string.
 */
#include "base/buf.h"

#include "grove/types.h"

#include <stdio.h>
#include <stdlib.h>

void grove__buf_release(struct grove_buf *b)
{
	free(b->ptr);
	b->ptr = NULL;
	b->len = b->cap = 0;
}

void grove__buf_clear(struct grove_buf *b)
{
	grove__buf_cut(b, 0);
}

void grove__buf_cut(struct grove_buf *b, size_t len)
{
	b->len = len;
	if (b->ptr)
		b->ptr[len] = '\0';
}

static int grow(struct grove_buf *b, size_t cap)
{
	char *ptr = realloc(b->ptr, cap + 1);

	if (!ptr)
		return GROVE_ENOMEM;
	b->ptr = ptr;
	b->cap = cap;
	b->ptr[b->len] = '\0';
	return 0;
}

int grove__buf_reserve(struct grove_buf *b, size_t more)
{
	size_t need, cap;

	if (more > GROVE__BUF_MAX || b->len > GROVE__BUF_MAX - more)
		return GROVE_ENOMEM;
	need = b->len + more;
	if (b->ptr && need <= b->cap)
		return 0;
	cap = b->cap ? b->cap : 64;
	while (cap < need)
		cap *= 2;
	return grow(b, cap);
}

int grove__buf_room(struct grove_buf *b, size_t more)
{
	if (more > GROVE__BUF_MAX || b->len > GROVE__BUF_MAX - more)
		return GROVE_ENOMEM;
	return b->ptr && b->len + more <= b->cap ? 0 : grow(b, b->len + more);
}

int grove__buf_vaddf(struct grove_buf *b, const char *fmt, va_list ap)
{
	size_t room = b->ptr ? b->cap - b->len + 1 : 0;
	va_list again;
	int n, rc;

	/* it mostly fits */
	va_copy(again, ap);
	n = vsnprintf(b->ptr ? b->ptr + b->len : NULL, room, fmt, again);
	va_end(again);
	if (n >= 0 && (size_t)n < room) {
		b->len += (size_t)n;
		return 0;
	}
	if (b->ptr)
		b->ptr[b->len] = '\0';
	if (n < 0)
		return GROVE_ENOMEM;
	rc = grove__buf_reserve(b, (size_t)n);
	if (rc)
		return rc;
	vsnprintf(b->ptr + b->len, (size_t)n + 1, fmt, ap);
	b->len += (size_t)n;
	return 0;
}

int grove__buf_addf(struct grove_buf *b, const char *fmt, ...)
{
	va_list ap;
	int rc;

	va_start(ap, fmt);
	rc = grove__buf_vaddf(b, fmt, ap);
	va_end(ap);
	return rc;
}

/* ------------------------------------------------------------------- public */

int grove_buf_add(struct grove_buf *b, struct grove_slice bytes)
{
	return grove__buf_add(b, bytes.ptr, bytes.len);
}

void grove_buf_release(struct grove_buf *b)
{
	grove__buf_release(b);
}

static int write_buf(void *payload, const char *ptr, size_t len)
{
	return grove__buf_add(payload, ptr, len);
}

struct grove_sink grove_buf_sink(struct grove_buf *b)
{
	struct grove_sink s = { write_buf, b };

	return s;
}
