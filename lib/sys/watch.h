/*
 * sys/watch.h: waiting for something to happen, and telling whether it did.
 */
#ifndef GROVE_SYS_WATCH_H
#define GROVE_SYS_WATCH_H

#include "sys/file.h"

#include <stdbool.h>
#include <stdint.h>

/* Until `fd` can be read from (true), or for so many ms. -1: only the time counts. */
bool grove__sys_wait_fd(int fd, int64_t ms);
/* The same for two: 1 if `a` can be read from, 2 if `b` can, 3, or 0 after the time. */
unsigned grove__sys_wait_fds(int a, int b, int64_t ms);

/*
 * A file whose changes the system reports: what is written to it, and what
 * becomes of its name. Begins as GROVE__SYS_WATCH_INIT.
 */
struct grove__sys_watch {
	int fd;         /* can be read from when something was reported; -1: not made yet */
	int file, dir;  /* what is watched; -1: nothing */
};
#define GROVE__SYS_WATCH_INIT { -1, -1, -1 }

/*
 * Watch the file that has this name now, and no other one any more. A file that
 * is not there is none to watch, and no failure. A negative errno when the system
 * will not report: then one has to look oneself.
 */
int grove__sys_watch(struct grove__sys_watch *w, const char *path);
/* Take what was reported so far. Was any of it about the file, or about its name? */
bool grove__sys_watch_take(struct grove__sys_watch *w, const char *path);
void grove__sys_watch_end(struct grove__sys_watch *w);

/*
 * grove__sys_fstat(), and when the file was made, in microseconds since 1970; 0 if
 * the file system does not know. One call, for those who look at many files.
 */
int grove__sys_fstat_born(int fd, struct grove__sys_stat *out, int64_t *us);

#endif
