/*
 * sys/alive.c: whether a process is running.
 */
#include "sys/alive.h"

#include "sys/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/*
 * Reads state and start time from /proc/PID/stat; false if that fails. The name of the
 * program precedes them in brackets, and may contain brackets itself.
 */
static bool read_stat(int64_t pid, char *state, long long *ticks)
{
	char path[64], text[1024];
	const char *p;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%lld/stat", (long long)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return false;
	text[n] = '\0';
	p = strrchr(text, ')');
	return p && sscanf(p + 1,
			   " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %lld",
			   state, ticks) == 2;
}

/* The system counts from its own start. */
static int64_t time_of(long long ticks)
{
	long hz = sysconf(_SC_CLK_TCK);
	struct timespec up;

	if (ticks <= 0 || hz <= 0 || clock_gettime(CLOCK_BOOTTIME, &up))
		return 0;
	return grove__sys_now_ms() - ((int64_t)up.tv_sec * 1000 + up.tv_nsec / 1000000) +
	       (int64_t)(ticks * 1000 / hz);
}

bool grove__sys_alive(int64_t pid, int64_t *began)
{
	long long ticks = 0;
	char state = '?';

	if (began)
		*began = 0;
	if (pid <= 0 || pid > INT_MAX || (kill((pid_t)pid, 0) && errno == ESRCH))
		return false;
	if (!read_stat(pid, &state, &ticks))
		return true;
	if (began)
		*began = time_of(ticks);
	/* a zombie has ended */
	return state != 'Z' && state != 'X';
}

int64_t grove__sys_pid(void)
{
	return getpid();
}
