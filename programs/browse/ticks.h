/*
 * ticks.h: a clock that is never set.
 */
#ifndef BROWSE_TICKS_H
#define BROWSE_TICKS_H

#include <stdint.h>
#include <time.h>

/* Returns ms since some moment. */
static inline int64_t ticks_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

#endif
