/*
 * sys/event.c: bells, alarms, and waiting for several descriptors at once.
 */
#include "sys/event.h"

#include "sys/seam.h"
#include "sys/watch.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

int grove__sys_bell_open(int *fd)
{
	*fd = grove__sys_faulty("eventfd") ? -1 : eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return *fd < 0 ? -errno : 0;
}

void grove__sys_bell_ring(int fd)
{
	const uint64_t one = 1;
	int before = errno;

	/* the write fails only if the counter is full, and then the bell rings anyway */
	if (write(fd, &one, sizeof(one)) < 0)
		errno = before;
}

int grove__sys_bell_rang(int fd)
{
	uint64_t n;

	return read(fd, &n, sizeof(n)) == (ssize_t)sizeof(n);
}

int grove__sys_alarm_open(int *fd)
{
	*fd = grove__sys_faulty("timerfd") ? -1
					   : timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	return *fd < 0 ? -errno : 0;
}

void grove__sys_alarm_set(int fd, int64_t moment_ns)
{
	struct itimerspec t = { .it_value = { .tv_sec = moment_ns / 1000000000,
					      .tv_nsec = moment_ns % 1000000000 } };

	/* cannot fail with a valid descriptor and time */
	timerfd_settime(fd, TFD_TIMER_ABSTIME, &t, NULL);
}

int grove__sys_many_open(int *fd)
{
	*fd = grove__sys_faulty("epoll_create") ? -1 : epoll_create1(EPOLL_CLOEXEC);
	return *fd < 0 ? -errno : 0;
}

int grove__sys_many_add(int fd, int which)
{
	struct epoll_event e = { .events = EPOLLIN };

	if (grove__sys_faulty("epoll_ctl") || epoll_ctl(fd, EPOLL_CTL_ADD, which, &e))
		return -errno;
	return 0;
}

bool grove__sys_many_wait(int fd, int64_t ms)
{
	return grove__sys_wait_fd(fd, ms < 0 ? INT64_MAX : ms);
}
