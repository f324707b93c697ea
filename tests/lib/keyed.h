/*
 * tests/lib/keyed.h: wrappers for log operations that are internal to the library, with
 * the same signatures as the calls of <grove/log.h>.
 */
#ifndef GROVE_TESTS_KEYED_H
#define GROVE_TESTS_KEYED_H

#include "keyed/keyed.h"

static inline int keyed_told(struct grove_log *l, int rc, const struct grove_detail *d)
{
	if (rc < 0)
		l->detail = *d;
	return rc;
}

static inline int keyed_replace(struct grove_log *l, const struct grove_slice *lines, size_t nr,
				const struct grove_log_options *opt, struct grove_log_result *out)
{
	struct grove_log_options none = { .size = sizeof(none) };
	struct grove_log_result r = { .size = sizeof(r) };
	struct grove_detail d = { 0 };

	return keyed_told(l, grove__keyed_replace(l, lines, nr, opt ? opt : &none, out != NULL, out ? out : &r, &d), &d);
}

static inline int keyed_read_ends(struct grove_log *l, size_t head, size_t tail, struct grove_buf *first,
				  struct grove_buf *last, struct grove_log_result *out)
{
	struct grove_log_result r = { .size = sizeof(r) };
	struct grove_detail d = { 0 };

	return keyed_told(l, grove__keyed_read_ends(l, head, tail, first, last, out ? out : &r, &d), &d);
}

static inline int keyed_lock(struct grove_log *l, int64_t ms)
{
	struct grove_detail d = { 0 };

	return keyed_told(l, grove__keyed_lock(l, ms, &d), &d);
}

static inline int keyed_unlock(struct grove_log *l)
{
	struct grove_detail d = { 0 };

	return keyed_told(l, grove__keyed_unlock(l, &d), &d);
}

static inline int keyed_set_title(struct grove_log *l, const struct grove_title *title)
{
	struct grove_detail d = { 0 };

	return keyed_told(l, grove__keyed_set_title(l, title, &d), &d);
}

static inline int keyed_move(struct grove *g, const char *store, const struct grove_key *from,
			     const struct grove_key *to)
{
	struct grove_detail d = { 0 };

	return grove__keyed_move(g, store, from, to, &d);
}

#endif
