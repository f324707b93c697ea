/*
 * sys/clock.c: time and random bytes.
 */
#include "sys/clock.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>

int64_t grove__sys_now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int64_t grove__sys_ticks_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t grove__sys_worked_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t grove__sys_ticks_coarse_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void grove__sys_random(void *out, size_t len)
{
	char *p = out;

	while (len) {
		ssize_t n = getrandom(p, len, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			abort(); /* without randomness, two sessions could get the same id */
		p += n;
		len -= (size_t)n;
	}
}

uint64_t grove__sys_seed(void)
{
	uint64_t seed;

	grove__sys_random(&seed, sizeof(seed));
	return seed;
}

unsigned grove__sys_cpus(void)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set))
		return 1;
	return (unsigned)CPU_COUNT(&set);
}
