/*
 * sys/pool.h: helper threads.
 *
 * Work is done by the thread that asks for it, and others may help: all of them call the
 * same function, which takes the next piece from a shared state until none is left. If a
 * thread cannot be started the others do its work, so starting never fails.
 *
 *	grove__pool_run(nr_pieces, work, &shared);
 *
 * or, if the calling thread has something else to do in the meantime,
 *
 *	grove__pool_begin(&p, 1, work, &shared);
 *	…
 *	grove__pool_end(&p);
 */
#ifndef GROVE_SYS_POOL_H
#define GROVE_SYS_POOL_H

#include <pthread.h>
#include <stddef.h>

#define GROVE__POOL_MAX 8

/*
 * `nr` is 0 in the calling thread, the only one that may call the caller back, and 1, 2, …
 * in its helpers.
 */
typedef void grove__pool_fn(void *payload, unsigned nr);

struct grove__pool {
	grove__pool_fn *fn;
	void *payload;
	unsigned nr;                     /* helpers that were started */
	struct grove__pool_helper {
		struct grove__pool *pool;
		pthread_t thread;
		unsigned nr;
	} helper[GROVE__POOL_MAX];
};

/*
 * Starts a thread that gets no signals: those are for the program's own threads. 0 or the
 * error of pthread_create().
 */
int grove__pool_thread(pthread_t *thread, void *(*fn)(void *payload), void *payload);
/* Makes a condition that waits by the monotonic clock, which nobody sets. */
void grove__pool_cond_init(pthread_cond_t *cond);

/*
 * Starts up to `want` helpers, at most GROVE__POOL_MAX. `p` must not move until
 * grove__pool_end(), which waits for them.
 */
void grove__pool_begin(struct grove__pool *p, size_t want, grove__pool_fn *fn, void *payload);
void grove__pool_end(struct grove__pool *p);
/* The same, but no helper if there is only one processor. */
void grove__pool_begin_one(struct grove__pool *p, grove__pool_fn *fn, void *payload);
/* Works in `want` threads, including this one, but not in more than there are processors. */
void grove__pool_run(size_t want, grove__pool_fn *fn, void *payload);

#endif
