/*
 * sys/event.c: a bell that one thread rings and another waits for.
 */
#include "sys/event.h"

#include <errno.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

int grove__sys_bell_open(int *fd)
{
	*fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return *fd < 0 ? -errno : 0;
}

void grove__sys_bell_ring(int fd)
{
	const uint64_t one = 1;
	int before = errno;

	/* it can only fail by being full, and then it rings */
	if (write(fd, &one, sizeof(one)) < 0)
		errno = before;
}

int grove__sys_bell_rang(int fd)
{
	uint64_t n;

	return read(fd, &n, sizeof(n)) == (ssize_t)sizeof(n);
}
