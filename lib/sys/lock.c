/*
 * sys/lock.c: who else is writing?
 *
 * Two questions. Between grove processes an open-file-description lock keeps
 * writers apart; it belongs to the descriptor, so it neither vanishes when
 * another descriptor of the file is closed nor confuses threads. Agents take
 * no lock at all, so before a file is replaced we ask the system whether
 * anybody has it open for writing.
 */
#include "sys/file.h"

#include "sys/seam.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int grove__sys_lock(int fd)
{
	struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	while (grove__sys_faulty("lock") || fcntl(fd, F_OFD_SETLKW, &l))
		if (errno != EINTR)
			return -errno;
	return 0;
}

void grove__sys_unlock(int fd)
{
	struct flock l = { .l_type = F_UNLCK, .l_whence = SEEK_SET };

	fcntl(fd, F_OFD_SETLK, &l);
}

/* Does /proc/PID/fdinfo/FD say that the descriptor can write? */
static int can_write(const char *pid, const char *fd)
{
	char path[PATH_MAX], line[128];
	unsigned flags = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%s/fdinfo/%s", pid, fd);
	f = fopen(path, "re");
	if (!f)
		return 0;
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "flags: %o", &flags) == 1)
			break;
	fclose(f);
	return (flags & O_ACCMODE) != O_RDONLY;
}

static int process_writes(const char *pid, const struct stat *want, const char *except)
{
	char dir[64], path[PATH_MAX];
	struct dirent *e;
	struct stat st;
	DIR *d;
	int found = 0;

	snprintf(dir, sizeof(dir), "/proc/%.20s/fd", pid);
	d = opendir(dir);
	if (!d)
		return 0; /* another user's process, or gone */
	while (!found && (e = readdir(d))) {
		if (e->d_name[0] == '.' || (except && !strcmp(e->d_name, except)))
			continue;
		snprintf(path, sizeof(path), "%s/%.20s", dir, e->d_name);
		if (!stat(path, &st) && st.st_dev == want->st_dev && st.st_ino == want->st_ino)
			found = can_write(pid, e->d_name);
	}
	closedir(d);
	return found;
}

static int ask_proc(const struct stat *want, int except)
{
	char self[24], fd[24];
	struct dirent *e;
	DIR *d = opendir("/proc");
	int found = 0;

	if (!d)
		return -errno;
	snprintf(self, sizeof(self), "%ld", (long)getpid());
	snprintf(fd, sizeof(fd), "%d", except);
	while (!found && (e = readdir(d)))
		if (e->d_name[0] >= '1' && e->d_name[0] <= '9')
			found = process_writes(e->d_name, want,
					       strcmp(e->d_name, self) ? NULL : fd);
	closedir(d);
	return found;
}

int grove__sys_open_for_writing(const char *path, int except)
{
	struct stat st;
	int fd, rc;

	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	/*
	 * A read lease is granted only while no descriptor at all can write,
	 * so it cannot tell ours from others'. It needs the file's owner, and a
	 * file system that has leases.
	 */
	if (except < 0 && !fcntl(fd, F_SETLEASE, F_RDLCK)) {
		fcntl(fd, F_SETLEASE, F_UNLCK);
		rc = 0;
	} else if (except < 0 && errno == EAGAIN) {
		rc = 1;
	} else {
		rc = fstat(fd, &st) ? -errno : ask_proc(&st, except);
	}
	close(fd);
	return rc;
}
