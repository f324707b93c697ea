/*
 * memory.h: memory of programs that run for long.
 */
#ifndef PROGRAMS_MEMORY_H
#define PROGRAMS_MEMORY_H

/*
 * Call first in a program that runs for long and needs much memory only now and then. By
 * default, glibc would keep most of it for the next time.
 */
void memory_return_early(void);

#endif
