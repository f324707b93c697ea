/*
 * sys/clock.h: time and random bytes.
 */
#ifndef GROVE_SYS_CLOCK_H
#define GROVE_SYS_CLOCK_H

#include <stddef.h>
#include <stdint.h>

/* Milliseconds since 1970. */
int64_t grove__sys_now_ms(void);
/* Nanoseconds of a monotonic clock. */
int64_t grove__sys_ticks_ns(void);
/* The same, cheaper but only accurate to a few milliseconds. */
int64_t grove__sys_ticks_coarse_ns(void);
/* Processor time of this thread, in nanoseconds. */
int64_t grove__sys_worked_ns(void);
/* Never fails: the kernel's generator has no error once it is seeded. */
void grove__sys_random(void *out, size_t len);
/* Returns a random number, for a table whose keys come from files. */
uint64_t grove__sys_seed(void);
/* How many threads are worth starting. */
unsigned grove__sys_cpus(void);

#endif
