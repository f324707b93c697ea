/*
 * base/slice.h: bytes that somebody else owns.
 */
#ifndef GROVE_BASE_SLICE_H
#define GROVE_BASE_SLICE_H

#include "grove/types.h"

#include <stdbool.h>
#include <string.h>

static inline struct grove_slice grove__slice(const char *ptr, size_t len)
{
	struct grove_slice s = { ptr, len };
	return s;
}

static inline struct grove_slice grove__slice_str(const char *str)
{
	return grove__slice(str, strlen(str));
}

/* If it ends with `end`, and that is not all of it, cut that off: true. */
static inline bool grove__slice_cut_end(struct grove_slice *s, const char *end)
{
	size_t n = strlen(end);

	if (s->len <= n || memcmp(s->ptr + s->len - n, end, n))
		return false;
	s->len -= n;
	return true;
}

static inline bool grove__slice_eq(struct grove_slice a, struct grove_slice b)
{
	return a.len == b.len && (!a.len || !memcmp(a.ptr, b.ptr, a.len));
}

static inline bool grove__slice_is(struct grove_slice a, const char *str)
{
	return grove__slice_eq(a, grove__slice_str(str));
}

static inline bool grove__slice_starts(struct grove_slice a, const char *prefix)
{
	size_t n = strlen(prefix);
	return a.len >= n && !memcmp(a.ptr, prefix, n);
}

#endif
