/*
 * threads.h: threads beside the one that has the terminal.
 */
#ifndef BROWSE_THREADS_H
#define BROWSE_THREADS_H

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

/* Starts a thread without signals: those are for the one that has the terminal. Returns 1 if it runs. */
static inline int threads_start(pthread_t *thread, void *(*fn)(void *), void *payload)
{
	sigset_t all, before;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(thread, NULL, fn, payload);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return !err;
}

/* Wakes whoever polls the other end of a pipe. A full pipe has woken them already. */
static inline void threads_wake(int fd)
{
	if (write(fd, "", 1) < 0)
		return;
}

#endif
