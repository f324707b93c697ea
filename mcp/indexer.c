/*
 * indexer.c: brings the index of the search up to date while calls are answered.
 */
#include "indexer.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct indexer {
	struct cli *c;
	pthread_t thread;
	int started;               /* it must be joined */
	atomic_int working, stop;
};

static int goes_on(void *payload, uint64_t done, uint64_t total)
{
	struct indexer *ix = payload;

	(void)done;
	(void)total;
	return atomic_load(&ix->stop);
}

/* With a handle of its own. It tells nobody of what it passes over: the calls do. */
static void *work(void *payload)
{
	struct indexer *ix = payload;
	struct grove_options o = { .size = sizeof(o), .stores = ix->c->stores.item, .nr_stores = ix->c->stores.nr,
				   .dialect = ix->c->dialect };
	struct grove_search *search = NULL;
	struct grove *g = NULL;

	if (!grove_open(&o, &g)) {
		grove_set_progress(g, (struct grove_progress){ goes_on, ix });
		grove_search_open(g, 0, &search);
	}
	grove_search_close(search);
	grove_close(g);
	atomic_store(&ix->working, 0);
	return NULL;
}

struct indexer *indexer_new(struct cli *c)
{
	struct indexer *ix = calloc(1, sizeof(*ix));

	if (ix)
		ix->c = c;
	return ix;
}

static void join(struct indexer *ix)
{
	if (ix->started)
		pthread_join(ix->thread, NULL);
	ix->started = 0;
}

void indexer_start(struct indexer *ix)
{
	if (!ix || ix->c->no_cache || atomic_load(&ix->working))
		return;
	join(ix);
	atomic_store(&ix->working, 1);
	ix->started = !pthread_create(&ix->thread, NULL, work, ix);
	if (!ix->started)
		atomic_store(&ix->working, 0);
}

void indexer_free(struct indexer *ix)
{
	if (!ix)
		return;
	atomic_store(&ix->stop, 1);
	join(ix);
	free(ix);
}
