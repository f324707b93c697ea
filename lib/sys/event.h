/*
 * sys/event.h: bells, alarms, and waiting for several descriptors at once.
 */
#ifndef GROVE_SYS_EVENT_H
#define GROVE_SYS_EVENT_H

#include <stdbool.h>
#include <stdint.h>

/* Opens a descriptor that becomes readable when somebody rings. */
int grove__sys_bell_open(int *fd);
/* May be called from any thread, or a signal handler. */
void grove__sys_bell_ring(int fd);
/* Returns true if somebody rang since the last call. */
int grove__sys_bell_rang(int fd);

/* Opens a descriptor that becomes readable at a given moment. */
int grove__sys_alarm_open(int *fd);
/* Sets the moment, by grove__sys_ticks_ns(), or 0 for none. Clears an earlier alarm. */
void grove__sys_alarm_set(int fd, int64_t moment_ns);

/* Opens a descriptor that is readable while one of those added to it is. */
int grove__sys_many_open(int *fd);
int grove__sys_many_add(int fd, int which);
/* Waits until one of them is readable (true), or for `ms` ms; negative: forever. */
bool grove__sys_many_wait(int fd, int64_t ms);

#endif
