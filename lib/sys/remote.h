/*
 * sys/remote.h: is a place on this machine?
 */
#ifndef GROVE_SYS_REMOTE_H
#define GROVE_SYS_REMOTE_H

#include <stdbool.h>

/* Does a directory lie on another machine, as far as the system says? */
bool grove__sys_is_remote(const char *dir);

#endif
