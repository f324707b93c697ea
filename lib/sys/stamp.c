/*
 * sys/stamp.c: what a file says about itself, besides its bytes.
 */
#include "sys/stamp.h"

#include "sys/seam.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

int grove__sys_set_mtime(const char *path, int64_t mtime_ns)
{
	struct timespec t[2] = { { .tv_nsec = UTIME_OMIT } };

	if (grove__sys_faulty("utimens"))
		return -errno;
	t[1].tv_sec = mtime_ns / 1000000000 - (mtime_ns % 1000000000 < 0);
	t[1].tv_nsec = mtime_ns - (int64_t)t[1].tv_sec * 1000000000;
	return utimensat(AT_FDCWD, path, t, 0) ? -errno : 0;
}

int grove__sys_set_mode(const char *path, unsigned mode)
{
	return grove__sys_faulty("chmod") || chmod(path, (mode_t)mode) ? -errno : 0;
}
