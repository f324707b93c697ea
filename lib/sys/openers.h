/*
 * sys/openers.h: which processes have files open.
 */
#ifndef GROVE_SYS_OPENERS_H
#define GROVE_SYS_OPENERS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

/* An open descriptor of a process. */
struct grove__open_file {
	long pid;
	const char *fd;          /* its number, as /proc spells it */
	const char *path;        /* NULL if one file was asked for */
};
/* A non-zero result ends the walk and is returned. */
typedef int grove__open_file_fn(void *payload, const struct grove__open_file *f);

/*
 * Reports the open descriptors of a file (`want`) or, if that is NULL, of files whose names
 * end in `suffix`. Processes of other users are skipped unless we may inspect them. Returns
 * 0, the result of `fn`, or a negative errno if the system does not tell.
 */
int grove__sys_each_open(const struct stat *want, const char *suffix, grove__open_file_fn *fn, void *payload);
/* Returns true if a line of /proc/PID/fdinfo/FD says what is wanted. */
typedef bool grove__fdinfo_fn(const char *line);
bool grove__sys_descriptor_says(const struct grove__open_file *f, grove__fdinfo_fn *says);
/* Returns true if the descriptor can write. */
bool grove__sys_can_write(const char *line);
/* Gets the name of a process's program, made printable; "?" if unknown. */
void grove__sys_program(long pid, char *out, size_t size);

#endif
