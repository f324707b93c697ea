/*
 * sys/clock.h: the time, and bytes that nobody can guess.
 */
#ifndef GROVE_SYS_CLOCK_H
#define GROVE_SYS_CLOCK_H

#include <stddef.h>
#include <stdint.h>

/* Milliseconds since 1970. */
int64_t grove__sys_now_ms(void);
/* Nanoseconds of a clock that never goes back. */
int64_t grove__sys_ticks_ns(void);
/* The same, cheap and no finer than a few milliseconds. */
int64_t grove__sys_ticks_coarse_ns(void);
/* Nanoseconds that the processor has worked for this thread. */
int64_t grove__sys_worked_ns(void);
/* Never fails: the kernel's generator has no error once it is seeded. */
void grove__sys_random(void *out, size_t len);
/* How many threads are worth starting. */
unsigned grove__sys_cpus(void);

#endif
