/*
 * sys/lock.c: who else is writing.
 *
 * Between grove processes, a lock on the open file description keeps writers apart. It
 * belongs to the descriptor, so it neither vanishes when another descriptor of the file is
 * closed nor confuses threads. Agents take no locks, so before a file is replaced we ask
 * the system whether anybody has it open for writing.
 */
#include "sys/file.h"

#include "sys/clock.h"
#include "sys/openers.h"
#include "sys/seam.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define FIRST_PAUSE_NS 50000
#define LAST_PAUSE_NS 2000000

int grove__sys_lock_ms = 10000;

/* One attempt: returns 0, -EAGAIN if somebody has it, or another error if there are no locks. */
static int try_lock(int fd)
{
	struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	while (grove__sys_faulty("lock") || fcntl(fd, F_OFD_SETLK, &l))
		if (errno != EINTR)
			return errno == EACCES ? -EAGAIN : -errno;
	return 0;
}

/*
 * The system cannot wait for a lock with a time limit except through a signal, which a
 * library must not send. Our writers finish within a millisecond, so the first attempts
 * follow each other quickly, and the later ones come every other millisecond.
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

/* Locks taken by flock(2) do not conflict with ours. */
static bool has_lock(const char *line)
{
	return !strncmp(line, "lock:", 5) && (strstr(line, "OFDLCK") || strstr(line, "POSIX"));
}

struct question {
	grove__fdinfo_fn *says;
	long self, except;       /* our own descriptor, which does not count */
	long found;              /* the process that was found */
};

static int ask(void *payload, const struct grove__open_file *f)
{
	struct question *q = payload;

	if ((f->pid == q->self && atol(f->fd) == q->except) || !grove__sys_descriptor_says(f, q->says))
		return 0;
	q->found = f->pid;
	return 1;
}

/* Returns the id of a process with such a descriptor, 0 if there is none, or a negative errno. */
static long ask_proc(const struct stat *want, int except, grove__fdinfo_fn *says)
{
	struct question q = { .says = says, .self = getpid(), .except = except };
	int rc = grove__sys_each_open(want, NULL, ask, &q);

	return rc < 0 ? rc : q.found;
}

int grove__sys_open_for_writing(const char *path, int except)
{
	struct stat st;
	bool denied;
	long found;
	int fd;

	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	/*
	 * A read lease is granted only while no descriptor can write, including our own. It
	 * requires the file's owner, and a file system with leases.
	 */
	if (except < 0 && !fcntl(fd, F_SETLEASE, F_RDLCK)) {
		fcntl(fd, F_SETLEASE, F_UNLCK);
		close(fd);
		return 0;
	}
	denied = except < 0 && errno == EAGAIN;
	found = fstat(fd, &st) ? -errno : ask_proc(&st, except, grove__sys_can_write);
	close(fd);
	if (found == getpid())
		return 2;
	return denied || found > 0 ? 1 : (int)found;
}

int grove__sys_lock_fail(int fd, const char *path, struct grove_detail *d)
{
	struct stat st;
	char name[64];
	long pid = fstat(fd, &st) ? 0 : ask_proc(&st, fd, has_lock);

	if (pid <= 0)
		return grove__fail(d, GROVE_ECONFLICT, path,
				   "another program has it locked and did not release it in time");
	grove__sys_program(pid, name, sizeof(name));
	return grove__fail(d, GROVE_ECONFLICT, path,
			   "process %ld (%s) has it locked and did not release it in time", pid, name);
}
