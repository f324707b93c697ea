/*
 * logs/each.c: logs are independent of each other, so threads share them.
 *
 * Their order is random, and the result must not depend on it.
 */
#include "logs/logs.h"

#include <stdlib.h>

/* With the lock held. Returns false if there is nothing more to do. */
static bool next_some(struct grove__logs_work *w, unsigned thread, size_t *from, size_t *to)
{
	const struct grove_progress *p = &w->g->progress;
	size_t left = w->nr - w->next;

	if (w->rc || !left)
		return false;
	*from = w->next;
	*to = w->next += left < w->at_once ? left : w->at_once;
	if (p->fn && !thread && p->fn(p->payload, w->next, w->nr))
		w->rc = grove__fail(w->d, GROVE_ECANCELLED, NULL, "cancelled");
	return !w->rc;
}

static void work(void *payload, unsigned thread)
{
	struct grove__logs_work *w = payload;
	struct grove_detail why;
	void *own = calloc(1, w->own);
	size_t from = 0, to = 0;
	bool more;
	int rc = own ? w->begin(w->payload, own) : GROVE_ENOMEM;

	grove__fail_clear(&why);
	do {
		while (!rc && from < to)
			rc = w->one(w->payload, own, from++, &why);
		pthread_mutex_lock(&w->lock);
		more = !rc && next_some(w, thread, &from, &to);
		if (!more && own && w->end(w->payload, own))
			rc = GROVE_ENOMEM;
		if (rc && !w->rc) {
			w->rc = rc;
			if (rc == GROVE_ENOMEM)
				grove__fail_nomem(w->d);
			else if (w->d)
				*w->d = why;
		}
		pthread_mutex_unlock(&w->lock);
	} while (more);
	free(own);
}

int grove__logs_each(struct grove__logs_work *w)
{
	w->next = 0;
	w->rc = 0;
	pthread_mutex_init(&w->lock, NULL);
	grove__pool_run(w->nr, work, w);
	pthread_mutex_destroy(&w->lock);
	return w->rc;
}
