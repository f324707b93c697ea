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

#include "sys/clock.h"
#include "sys/seam.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define FIRST_PAUSE_NS 50000
#define LAST_PAUSE_NS 2000000

int grove__sys_lock_ms = 10000;

/* One attempt: 0, -EAGAIN if somebody has it, or why it cannot be had at all. */
static int try_lock(int fd)
{
	struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	while (grove__sys_faulty("lock") || fcntl(fd, F_OFD_SETLK, &l))
		if (errno != EINTR)
			return errno == EACCES ? -EAGAIN : -errno;
	return 0;
}

/*
 * The system has no lock that waits for a while only, and a signal that ends the
 * wait is not ours to send. Writers of ours are done within a millisecond, so the
 * first looks come soon after each other, the later ones every other millisecond.
 */
int grove__sys_lock(int fd)
{
	int64_t end = 0, now;
	long pause_ns = FIRST_PAUSE_NS;
	int rc;

	while ((rc = try_lock(fd)) == -EAGAIN) {
		now = grove__sys_ticks_ns();
		if (!end)
			end = now + (int64_t)grove__sys_lock_ms * 1000000;
		if (now >= end)
			return -ETIMEDOUT;
		nanosleep(&(struct timespec){ .tv_nsec = pause_ns }, NULL);
		if (pause_ns < LAST_PAUSE_NS)
			pause_ns += pause_ns / 2;
	}
	return rc;
}

void grove__sys_unlock(int fd)
{
	struct flock l = { .l_type = F_UNLCK, .l_whence = SEEK_SET };

	fcntl(fd, F_OFD_SETLK, &l);
}

/* A line of /proc/PID/fdinfo/FD: does it say what is asked for? */
typedef bool says_fn(const char *line);

static bool can_write(const char *line)
{
	unsigned flags;

	return sscanf(line, "flags: %o", &flags) == 1 && (flags & O_ACCMODE) != O_RDONLY;
}

/* Locks that flock(2) takes are not in the way of ours. */
static bool has_lock(const char *line)
{
	return !strncmp(line, "lock:", 5) && (strstr(line, "OFDLCK") || strstr(line, "POSIX"));
}

static int descriptor_says(const char *pid, const char *fd, says_fn *says)
{
	char path[PATH_MAX], line[128];
	bool found = false;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%s/fdinfo/%s", pid, fd);
	f = fopen(path, "re");
	if (!f)
		return 0;
	while (!found && fgets(line, sizeof(line), f))
		found = says(line);
	fclose(f);
	return found;
}

static int process_says(const char *pid, const struct stat *want, const char *except, says_fn *says)
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
			found = descriptor_says(pid, e->d_name, says);
	}
	closedir(d);
	return found;
}

/* The number of a process whose descriptor says it, 0 if none does, or a negative errno. */
static long ask_proc(const struct stat *want, int except, says_fn *says)
{
	char self[24], fd[24];
	struct dirent *e;
	DIR *d = opendir("/proc");
	long found = 0;

	if (!d)
		return -errno;
	snprintf(self, sizeof(self), "%ld", (long)getpid());
	snprintf(fd, sizeof(fd), "%d", except);
	while (!found && (e = readdir(d)))
		if (e->d_name[0] >= '1' && e->d_name[0] <= '9' &&
		    process_says(e->d_name, want, strcmp(e->d_name, self) ? NULL : fd, says))
			found = atol(e->d_name);
	closedir(d);
	return found;
}

int grove__sys_open_for_writing(const char *path, int except)
{
	struct stat st;
	long found;
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
		found = fstat(fd, &st) ? -errno : ask_proc(&st, except, can_write);
		rc = found > 0 ? 1 : (int)found;
	}
	close(fd);
	return rc;
}

/* What the process calls itself, as far as it can be printed. */
static void name_of(long pid, char *out, size_t size)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%ld/comm", pid);
	f = fopen(path, "re");
	if (!f || !fgets(out, (int)size, f))
		snprintf(out, size, "?");
	if (f)
		fclose(f);
	out[strcspn(out, "\n")] = '\0';
	for (char *p = out; *p; p++)
		if (*p < ' ' || *p > '~')
			*p = '?';
}

int grove__sys_lock_fail(int fd, const char *path, struct grove_detail *d)
{
	struct stat st;
	char name[64];
	long pid = fstat(fd, &st) ? 0 : ask_proc(&st, fd, has_lock);

	if (pid <= 0)
		return grove__fail(d, GROVE_ECONFLICT, path,
				   "another program has it locked and did not release it in time");
	name_of(pid, name, sizeof(name));
	return grove__fail(d, GROVE_ECONFLICT, path,
			   "process %ld (%s) has it locked and did not release it in time", pid, name);
}
