/*
 * sys/pool.h: threads that help for a while.
 *
 * Work is done by the thread that asks for it, and others may help: they all call
 * the same function, which takes the next piece from what they share until there
 * is none left. A thread that cannot be started is work for the others, so that
 * starting never fails.
 *
 *	grove__pool_run(nr_pieces, work, &shared);
 *
 * or, where the asker has something else to do meanwhile,
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

/* `nr` is 0 in the thread that asked, which alone may talk to the caller, and 1, 2, … in its helpers. */
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
 * Start up to `want` helpers, and GROVE__POOL_MAX at most. `p` must stay where it
 * is until grove__pool_end(), which waits for them.
 */
void grove__pool_begin(struct grove__pool *p, size_t want, grove__pool_fn *fn, void *payload);
void grove__pool_end(struct grove__pool *p);
/* The same, but no helper where there is only one processor. */
void grove__pool_begin_one(struct grove__pool *p, grove__pool_fn *fn, void *payload);
/* Work in `want` threads, this one included, but not in more than there are processors. */
void grove__pool_run(size_t want, grove__pool_fn *fn, void *payload);

#endif
