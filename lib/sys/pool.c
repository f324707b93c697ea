/*
 * sys/pool.c: helper threads.
 */
#include "sys/pool.h"

#include "sys/clock.h"

#include <signal.h>
#include <time.h>

int grove__pool_thread(pthread_t *thread, void *(*fn)(void *payload), void *payload)
{
	sigset_t all, before;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = pthread_create(thread, NULL, fn, payload);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return rc;
}

void grove__pool_cond_init(pthread_cond_t *cond)
{
	pthread_condattr_t clock;

	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(cond, &clock);
	pthread_condattr_destroy(&clock);
}

static void *help(void *arg)
{
	struct grove__pool_helper *h = arg;

	h->pool->fn(h->pool->payload, h->nr);
	return NULL;
}

void grove__pool_begin(struct grove__pool *p, size_t want, grove__pool_fn *fn, void *payload)
{
	p->fn = fn;
	p->payload = payload;
	for (p->nr = 0; p->nr < want && p->nr < GROVE__POOL_MAX; p->nr++) {
		struct grove__pool_helper *h = &p->helper[p->nr];

		h->pool = p;
		h->nr = p->nr + 1;
		if (grove__pool_thread(&h->thread, help, h))
			break;
	}
}

void grove__pool_end(struct grove__pool *p)
{
	while (p->nr)
		pthread_join(p->helper[--p->nr].thread, NULL);
}

void grove__pool_begin_one(struct grove__pool *p, grove__pool_fn *fn, void *payload)
{
	grove__pool_begin(p, grove__sys_cpus() > 1, fn, payload);
}

void grove__pool_run(size_t want, grove__pool_fn *fn, void *payload)
{
	unsigned cpus = grove__sys_cpus();
	struct grove__pool p;

	if (want > cpus)
		want = cpus;
	grove__pool_begin(&p, want ? want - 1 : 0, fn, payload);
	fn(payload, 0);
	grove__pool_end(&p);
}
