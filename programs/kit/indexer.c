/*
 * indexer.c: a thread that keeps the search index up to date, and counts what lists did not.
 */
#include "indexer.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

/* What cannot be remembered is not counted all the time: one part of work to so many of rest. */
#define REST 10

struct indexer {
	struct indexer_options o;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t woken;
	int wanted, busy, done;   /* done: at least once */
	int to_count;
	int64_t rest;             /* ms: until when nothing is counted */
	atomic_int stop;
};

/* Ends the work when the program stops. */
static int goes_on(void *payload, uint64_t done, uint64_t total)
{
	struct indexer *ix = payload;

	(void)done;
	(void)total;
	return atomic_load(&ix->stop);
}

/* Indexing needs much memory, and the program may run for days without doing so again. */
static void return_memory(void)
{
#ifdef __GLIBC__
	malloc_trim(0);
#endif
}

static void update(struct indexer *ix)
{
	struct grove *g = NULL;
	struct grove_search *search = NULL;
	struct grove_detail why = { 0 };
	int rc = ix->o.open(ix->o.payload, &g);

	if (!rc) {
		grove_set_progress(g, (struct grove_progress){ goes_on, ix });
		rc = grove_search_open(g, 0, &search);
	}
	if (rc && rc != GROVE_ECANCELLED && ix->o.failed) {
		if (search)
			grove_search_error(search, &why);
		ix->o.failed(ix->o.payload, &why);
	}
	grove_search_close(search);
	grove_close(g);
	return_memory();
}

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* A complete list, which the next one remembers. Returns how long it took. */
static int64_t count(struct indexer *ix)
{
	struct grove *g = NULL;
	struct grove_list *l = NULL;
	int64_t began = now_ms();

	if (!ix->o.open(ix->o.payload, &g)) {
		grove_set_progress(g, (struct grove_progress){ goes_on, ix });
		grove_list(g, NULL, &l);
	}
	grove_list_free(l);
	grove_close(g);
	return now_ms() - began;
}

static void *work(void *payload)
{
	int64_t took;
	struct indexer *ix = payload;

	pthread_mutex_lock(&ix->lock);
	while (!atomic_load(&ix->stop)) {
		if (ix->to_count) {
			pthread_mutex_unlock(&ix->lock);
			took = count(ix);
			pthread_mutex_lock(&ix->lock);
			ix->to_count = 0;
			ix->rest = now_ms() + REST * took;
			continue;
		}
		if (!ix->wanted) {
			pthread_cond_wait(&ix->woken, &ix->lock);
			continue;
		}
		ix->wanted = 0;
		ix->busy = 1;
		pthread_mutex_unlock(&ix->lock);
		update(ix);
		pthread_mutex_lock(&ix->lock);
		ix->busy = 0;
		ix->done = 1;
	}
	pthread_mutex_unlock(&ix->lock);
	return NULL;
}

struct indexer *indexer_new(const struct indexer_options *o)
{
	struct indexer *ix = calloc(1, sizeof(*ix));

	if (!ix)
		return NULL;
	ix->o = *o;
	pthread_mutex_init(&ix->lock, NULL);
	pthread_cond_init(&ix->woken, NULL);
	if (pthread_create(&ix->thread, NULL, work, ix)) {
		pthread_cond_destroy(&ix->woken);
		pthread_mutex_destroy(&ix->lock);
		free(ix);
		return NULL;
	}
	return ix;
}

void indexer_wake(struct indexer *ix)
{
	pthread_mutex_lock(&ix->lock);
	ix->wanted = 1;
	pthread_cond_signal(&ix->woken);
	pthread_mutex_unlock(&ix->lock);
}

void indexer_count(struct indexer *ix)
{
	pthread_mutex_lock(&ix->lock);
	ix->to_count |= now_ms() >= ix->rest;
	pthread_cond_signal(&ix->woken);
	pthread_mutex_unlock(&ix->lock);
}

int indexer_builds(struct indexer *ix)
{
	int yes;

	pthread_mutex_lock(&ix->lock);
	yes = ix->busy || !ix->done;
	pthread_mutex_unlock(&ix->lock);
	return yes;
}

void indexer_free(struct indexer *ix)
{
	if (!ix)
		return;
	atomic_store(&ix->stop, 1);
	indexer_wake(ix);
	pthread_join(ix->thread, NULL);
	pthread_cond_destroy(&ix->woken);
	pthread_mutex_destroy(&ix->lock);
	free(ix);
}
