/*
 * heap.c: memory of programs that run for long.
 */
#include "heap.h"

#include <features.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

void heap_return_early(void)
{
#ifdef __GLIBC__
	mallopt(M_MMAP_THRESHOLD, 512 << 10);
	mallopt(M_TRIM_THRESHOLD, 1 << 20);
#endif
}
