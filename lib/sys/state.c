/*
 * sys/state.c: what the times of a file tell about it.
 */
#include "sys/state.h"

#include "sys/clock.h"

/* What changes within a tick of the clock has the same time. */
#define TICK_MS 100
/* Some file systems count seconds, and some of these only every other one. */
#define COARSE_MS 2500
#define SECOND_NS INT64_C(1000000000)

bool grove__sys_settled(int64_t ctime_ns)
{
	int64_t age = grove__sys_now_ms() - ctime_ns / 1000000;

	return ctime_ns && age >= (ctime_ns % SECOND_NS ? TICK_MS : COARSE_MS);
}
