/*
 * sys/event.h: a bell that one thread rings and another waits for.
 */
#ifndef GROVE_SYS_EVENT_H
#define GROVE_SYS_EVENT_H

/* A descriptor that can be read from once somebody rang. */
int grove__sys_bell_open(int *fd);
/* From any thread, or a signal handler. */
void grove__sys_bell_ring(int fd);
/* Did somebody ring since the last time? */
int grove__sys_bell_rang(int fd);

#endif
