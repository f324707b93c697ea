/*
 * sys/limit.c: turns a file-size limit into an error instead of a signal.
 */
#include "sys/limit.h"

#include <errno.h>
#include <pthread.h>
#include <sys/resource.h>
#include <time.h>

static void signal_set(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGXFSZ);
}

void grove__sys_limit_begin(struct grove__sys_limit *l)
{
	struct rlimit limit;
	sigset_t set;

	l->on = !getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur != RLIM_INFINITY;
	if (!l->on)
		return;
	l->waiting = !sigpending(&set) && sigismember(&set, SIGXFSZ) == 1;
	signal_set(&set);
	l->on = !pthread_sigmask(SIG_BLOCK, &set, &l->old);
}

bool grove__sys_limit_end(struct grove__sys_limit *l)
{
	const struct timespec at_once = { 0 };
	int err = errno;
	bool struck = false;
	sigset_t set;

	if (!l->on)
		return false;
	signal_set(&set);
	if (!l->waiting) {
		int sig;

		do
			sig = sigtimedwait(&set, NULL, &at_once);
		while (sig < 0 && errno == EINTR);
		struck = sig == SIGXFSZ;
	}
	pthread_sigmask(SIG_SETMASK, &l->old, NULL);
	errno = err;
	return struck;
}
