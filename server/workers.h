/*
 * workers.h: threads for work that takes its time.
 *
 * Each has a struct grove of its own, so errors are its own as well, and keeps its
 * search open. A thread that must wait for a slow reader is replaced meanwhile, so
 * that a few of those do not stop everybody else.
 */
#ifndef SERVER_WORKERS_H
#define SERVER_WORKERS_H

#include "server.h"

struct worker {
	struct pool *pool;
	struct grove *g;
	struct grove_search *search;  /* NULL: not opened yet */
	int waits;                    /* for a reader; another took its place */
	struct worker *next;
};

int pool_new(struct server *s, unsigned threads, struct pool **out);
/* Waits until all that was handed over is done; nothing more is taken. */
void pool_drain(struct pool *p);
/* After that, and after what its handles were used for is closed. */
void pool_free(struct pool *p);

/* Hands over a request. Returns 0, or -1 if too much is waiting already. */
int pool_submit(struct pool *p, struct request *r, void (*run)(struct request *r));
/*
 * The thread of this worker is about to wait for its reader. Returns 0, and another
 * takes its place; -1 if too many wait already.
 */
int pool_wait_begin(struct worker *w);

/* A struct grove as the settings say; the caller closes it. `store` NULL: theirs. */
int pool_open_grove(struct server *s, const char *store, struct grove **out);

unsigned pool_waiting(struct pool *p);

#endif
