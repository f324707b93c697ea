/*
 * heap.h: memory of programs that run for long.
 */
#ifndef PROGRAMS_HEAP_H
#define PROGRAMS_HEAP_H

/*
 * Call first in a program that runs for long and needs much memory only now and then. By
 * default, glibc would keep most of it for the next time.
 */
void heap_return_early(void);

#endif
