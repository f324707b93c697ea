/*
 * away.h: a store that does not answer.
 *
 * A database whose server is gone takes long to say so, and would for each entry on the
 * screen. After the first that failed for this reason or took long, no other is read until somebody asks
 * to try again.
 */
#ifndef BROWSE_AWAY_H
#define BROWSE_AWAY_H

#include "ticks.h"

#include <grove.h>

struct away {
	int is, told;
	int64_t since;           /* when the last reading began, in ms */
};

/* Before something is read; `a` may be NULL. Returns 0 if it should not be. */
static inline int away_try(struct away *a)
{
	if (!a)
		return 1;
	a->since = ticks_now();
	return !a->is;
}

/* After it was read; returns `err`. */
static inline int away_read(struct away *a, int err)
{
	enum { LONG_MS = 2000 };

	if (a && (err == GROVE_EAWAY || (err && ticks_now() - a->since >= LONG_MS)))
		a->is = 1;
	return err;
}

#endif
