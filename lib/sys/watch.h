/*
 * sys/watch.h: waiting for something to happen, and telling whether it did.
 */
#ifndef GROVE_SYS_WATCH_H
#define GROVE_SYS_WATCH_H

#include "sys/file.h"

#include <stdbool.h>
#include <stdint.h>

/* Waits until `fd` is readable (returns true), or for `ms`. With -1, only waits. */
bool grove__sys_wait_fd(int fd, int64_t ms);
/*
 * Directories for which the system reports what is written and which names appear and
 * disappear, many of them through one descriptor. Returns a negative errno if the system
 * refuses (the user has too many of these): the caller then has to poll.
 */
int grove__sys_dirs_open(int *fd);
/* The same directory has the same number, by whatever name. */
int grove__sys_dirs_add(int fd, const char *path, int *number);
void grove__sys_dirs_remove(int fd, int number);
/*
 * Something happened to `name` in a directory (NULL: to the directory itself, which
 * is reported no more if it is `gone`).
 */
typedef void grove__sys_dirs_fn(void *payload, int number, const char *name, bool gone);
/* Take what was reported so far. False: something was lost, so anything may have happened. */
bool grove__sys_dirs_take(int fd, grove__sys_dirs_fn *fn, void *payload);

/*
 * grove__sys_fstat(), and when the file was made, in microseconds since 1970; 0 if
 * the file system does not know. One call, for those who look at many files.
 */
int grove__sys_fstat_born(int fd, struct grove__sys_stat *out, int64_t *us);

#endif
