/*
 * workers.h: threads for slow work.
 *
 * Each has its own struct grove, and therefore its own errors, and keeps its search open. A
 * thread that waits for a slow client is replaced in the meantime, so that a few slow
 * clients do not hold up everybody else; nor does a store that does not answer.
 */
#ifndef SERVER_WORKERS_H
#define SERVER_WORKERS_H

#include "server.h"

struct worker {
	struct pool *pool;
	struct grove *g;
	struct grove_search *search;  /* NULL: not opened yet */
	int waits;                    /* for a client or a store; another thread took its place */
	unsigned wide;                /* 1: handles a request about all sessions */
	struct afar *store;           /* elsewhere, which this request needs; NULL: none */
	struct worker *next;
};

int pool_new(struct server *s, unsigned threads, struct pool **out);
/* Waits until all submitted requests are done; accepts no more. */
void pool_drain(struct pool *p);
/* Call after that, and after closing everything that uses the workers' handles. */
void pool_free(struct pool *p);

/* Submits a request. Returns 0, or -1 if too many are waiting already. */
int pool_submit(struct pool *p, struct request *r, void (*run)(struct request *r));
/*
 * Call before waiting for a client. Returns 0, and another thread takes over; -1 if too
 * many are waiting already.
 */
int pool_wait_begin(struct worker *w);

/*
 * Call before reading or writing a session of that store. One that is elsewhere may not
 * answer: a few threads may wait for it, and beyond that others take their places, until
 * the request ends. Returns -1 if too many wait already.
 */
int pool_wait_for_store(struct worker *w, const char *store);

/* Opens a struct grove as the settings say; the caller closes it. `store` NULL means all stores. */
int pool_open_grove(struct server *s, const char *store, struct grove **out);
/* The same with these stores only. */
int pool_open_stores(struct server *s, const char *const *stores, size_t nr, struct grove **out);

unsigned pool_waiting(struct pool *p);

#endif
