/*
 * sys/stamp.c: what a file says about itself, besides its bytes.
 */
#include "sys/stamp.h"

#include "sys/file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

int grove__sys_set_mtime(const char *path, int64_t mtime_ns)
{
	struct timespec t[2] = { { .tv_nsec = UTIME_OMIT } };
	int n = grove__sys_fault ? grove__sys_fault("utimens") : 0;

	if (n > 0)
		return -n;
	t[1].tv_sec = mtime_ns / 1000000000 - (mtime_ns % 1000000000 < 0);
	t[1].tv_nsec = mtime_ns - (int64_t)t[1].tv_sec * 1000000000;
	return utimensat(AT_FDCWD, path, t, 0) ? -errno : 0;
}

int grove__sys_set_mode(const char *path, unsigned mode)
{
	int n = grove__sys_fault ? grove__sys_fault("chmod") : 0;

	if (n > 0)
		return -n;
	return chmod(path, (mode_t)mode) ? -errno : 0;
}
