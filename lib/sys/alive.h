/*
 * sys/alive.h: whether a process is running.
 */
#ifndef GROVE_SYS_ALIVE_H
#define GROVE_SYS_ALIVE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Returns true if there is a process with that id that has not ended. *began (may be NULL)
 * is when it was started, in ms; 0 if the system does not tell.
 */
bool grove__sys_alive(int64_t pid, int64_t *began);
/* Returns the id of this process, which differs after fork(). */
int64_t grove__sys_pid(void);

#endif
