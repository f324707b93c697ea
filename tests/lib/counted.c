/*
 * tests/lib/counted.c: saves the coverage counters of processes that end early.
 *
 * Used only in builds that count coverage (scripts/coverage). There the linker
 * redirects _exit() and raise() to this file, which writes the counters before
 * the process ends.
 */
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

void __gcov_dump(void);
_Noreturn void __real__exit(int status);
_Noreturn void __wrap__exit(int status);
int __real_raise(int sig);
int __wrap_raise(int sig);

void __wrap__exit(int status)
{
	__gcov_dump();
	__real__exit(status);
}

int __wrap_raise(int sig)
{
	if (sig == SIGKILL)
		__gcov_dump();
	return __real_raise(sig);
}
