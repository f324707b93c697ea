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
 * Reports the descriptors that are open for a file (`want`), or if that is NULL for
 * files whose names end in `suffix`. Processes of other users are passed over unless
 * we may look into them. Returns 0, what `fn` returned, or a negative errno if the
 * system does not say.
 */
int grove__sys_each_open(const struct stat *want, const char *suffix, grove__open_file_fn *fn, void *payload);
/* A line of /proc/PID/fdinfo/FD: does it say what is asked for? */
typedef bool grove__fdinfo_fn(const char *line);
bool grove__sys_descriptor_says(const struct grove__open_file *f, grove__fdinfo_fn *says);
/* It may write to its file. */
bool grove__sys_can_write(const char *line);
/* What a process calls itself, as far as it can be printed; "?" if that is unknown. */
void grove__sys_program(long pid, char *out, size_t size);

#endif
