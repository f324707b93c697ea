/*
 * sys/alive.h: is a process at work?
 */
#ifndef GROVE_SYS_ALIVE_H
#define GROVE_SYS_ALIVE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Is there a process of that number that has not ended? *began (may be NULL) is
 * when it was started, in ms; 0: the system does not tell.
 */
bool grove__sys_alive(int64_t pid, int64_t *began);
/* The number of this one: another after fork(). */
int64_t grove__sys_pid(void);

#endif
