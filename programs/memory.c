/*
 * memory.c: memory of programs that run for long.
 */
#include "memory.h"

#include <features.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

void memory_return_early(void)
{
#ifdef __GLIBC__
	mallopt(M_MMAP_THRESHOLD, 512 << 10);
	mallopt(M_TRIM_THRESHOLD, 1 << 20);
#endif
}
