/*
 * tests/crash/kill.c: a preloaded library that ends the process before the nth call that
 * changes a file.
 *
 * GROVE_KILL_AT is that number, from 1.
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static void count(void)
{
	static long calls;
	const char *at = getenv("GROVE_KILL_AT");

	if (at && __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED) == atol(at))
		kill(getpid(), SIGKILL);
}

#define CALL(type, name, params, args) \
	type name params; \
	type name params \
	{ \
		static type (*real) params; \
\
		if (!real) \
			*(void **)&real = dlsym(RTLD_NEXT, #name); \
		count(); \
		return real args; \
	}

CALL(ssize_t, pwrite, (int fd, const void *b, size_t n, off_t at), (fd, b, n, at))
CALL(ssize_t, pwrite64, (int fd, const void *b, size_t n, off64_t at), (fd, b, n, at))
CALL(int, rename, (const char *a, const char *b), (a, b))
CALL(int, renameat2, (int d, const char *a, int e, const char *b, unsigned f), (d, a, e, b, f))
CALL(int, link, (const char *a, const char *b), (a, b))
CALL(int, unlink, (const char *a), (a))
CALL(int, rmdir, (const char *a), (a))
CALL(int, mkdir, (const char *a, mode_t m), (a, m))
CALL(int, fsync, (int fd), (fd))
CALL(int, fdatasync, (int fd), (fd))
CALL(int, ftruncate, (int fd, off_t n), (fd, n))

/* Output to the terminal changes no file. */
ssize_t write(int fd, const void *b, size_t n)
{
	static ssize_t (*real)(int fd, const void *b, size_t n);

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "write");
	if (fd > 2)
		count();
	return real(fd, b, n);
}
