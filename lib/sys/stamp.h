/*
 * sys/stamp.h: what a file says about itself, besides its bytes.
 */
#ifndef GROVE_SYS_STAMP_H
#define GROVE_SYS_STAMP_H

#include <stdint.h>

/* The time of its last change; links are followed. 0 or a negative errno. */
int grove__sys_set_mtime(const char *path, int64_t mtime_ns);
/* Sets its permissions. */
int grove__sys_set_mode(const char *path, unsigned mode);

#endif
