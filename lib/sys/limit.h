/*
 * sys/limit.h: turns a file-size limit into an error instead of a signal.
 *
 * A write past RLIMIT_FSIZE fails with EFBIG and sends SIGXFSZ to the thread, which ends
 * the process unless it is ignored. We must not change how a host handles signals, so the
 * signal is blocked in this thread during the write, and removed if it came. Without a
 * limit this costs one system call.
 */
#ifndef GROVE_SYS_LIMIT_H
#define GROVE_SYS_LIMIT_H

#include <signal.h>
#include <stdbool.h>

struct grove__sys_limit {
	bool on;             /* there is a limit */
	bool waiting;        /* the signal was pending before, so it is not ours */
	sigset_t old;
};

/* Call before anything that may make a file longer. */
void grove__sys_limit_begin(struct grove__sys_limit *l);
/* Call after it, in the same thread. Returns true if the limit was exceeded. Keeps errno. */
bool grove__sys_limit_end(struct grove__sys_limit *l);

#endif
