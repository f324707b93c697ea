/*
 * sys/limit.h: a file-size limit is an error, not a signal.
 *
 * A write past RLIMIT_FSIZE answers EFBIG and sends SIGXFSZ to the thread that
 * wrote, which ends the process unless it is ignored. What a host does about
 * signals is its own affair, so we leave the disposition alone: the signal is
 * blocked in this thread around the write, and taken back if it came. Without
 * a limit this costs one question to the system.
 */
#ifndef GROVE_SYS_LIMIT_H
#define GROVE_SYS_LIMIT_H

#include <signal.h>
#include <stdbool.h>

struct grove__sys_limit {
	bool on;             /* there is a limit */
	bool waiting;        /* the signal was pending before: it is not ours to take */
	sigset_t old;
};

/* Call before anything that may make a file longer. */
void grove__sys_limit_begin(struct grove__sys_limit *l);
/* Call after it, in the same thread. Returns true if the limit was struck. Leaves errno as it is. */
bool grove__sys_limit_end(struct grove__sys_limit *l);

#endif
