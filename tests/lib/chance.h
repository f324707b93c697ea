/*
 * tests/lib/chance.h: random numbers for property tests.
 *
 * The seed is printed when a test begins. Setting GROVE_SEED to it repeats the
 * run.
 */
#ifndef TESTS_LIB_CHANCE_H
#define TESTS_LIB_CHANCE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct chance {
	uint64_t state;
};

static inline uint64_t chance_next(struct chance *c)
{
	uint64_t z = (c->state += 0x9e3779b97f4a7c15u);

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

/* Returns a number from 0 to n-1. */
static inline uint32_t chance_below(struct chance *c, uint32_t n)
{
	return (uint32_t)(chance_next(c) % n);
}

static inline struct chance chance_begin(const char *what)
{
	const char *given = getenv("GROVE_SEED");
	struct timespec now;
	struct chance c;

	clock_gettime(CLOCK_REALTIME, &now);
	c.state = given && *given ? strtoull(given, NULL, 0)
				  : (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	/* printed as a TAP comment, so that it does not disturb a reader of the results */
	printf("# %s: GROVE_SEED=%llu\n", what, (unsigned long long)c.state);
	fflush(stdout);
	return c;
}

#endif
