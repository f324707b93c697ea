/*
 * sys/event.h: bells, alarms, and waiting for several of them at once.
 */
#ifndef GROVE_SYS_EVENT_H
#define GROVE_SYS_EVENT_H

#include <stdbool.h>
#include <stdint.h>

/* A descriptor that can be read from once somebody rang. */
int grove__sys_bell_open(int *fd);
/* From any thread, or a signal handler. */
void grove__sys_bell_ring(int fd);
/* Did somebody ring since the last time? */
int grove__sys_bell_rang(int fd);

/* A descriptor that can be read from once a moment has come. */
int grove__sys_alarm_open(int *fd);
/* The moment, by grove__sys_ticks_ns(); 0: none. What came before is forgotten. */
void grove__sys_alarm_set(int fd, int64_t moment_ns);

/* A descriptor that can be read from while one of those added to it can. */
int grove__sys_many_open(int *fd);
int grove__sys_many_add(int fd, int which);
/* Waits until one of them is readable (true), or for `ms` ms; negative: forever. */
bool grove__sys_many_wait(int fd, int64_t ms);

#endif
