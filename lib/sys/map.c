/*
 * sys/map.c: maps our own files into memory.
 */
#include "sys/map.h"

#include <errno.h>
#include <sys/mman.h>

int grove__sys_map(int fd, size_t len, char **out)
{
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);

	*out = p == MAP_FAILED ? NULL : p;
	return *out ? 0 : -errno;
}

void grove__sys_unmap(char *ptr, size_t len)
{
	if (ptr)
		munmap(ptr, len);
}
