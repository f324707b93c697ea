/*
 * tests/lib/counted.c: processes that end early keep what they counted.
 *
 * Only in builds with counters (scripts/coverage): there the linker leads
 * _exit() and raise() here, and the counters are written before the end.
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
