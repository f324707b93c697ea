/*
 * workers.c: threads for slow work.
 */
#include "workers.h"
#include "log.h"
#include "route.h"
#include "kit/store_url.h"

#include <stdlib.h>
#include <string.h>

/* A store elsewhere, and the requests that need it now. */
struct afar {
	struct afar *next;
	char *url;
	unsigned nr;
};

struct pool {
	struct server *server;
	pthread_mutex_t lock;
	pthread_cond_t more, fewer;
	struct request *first, **last;
	void (*run)(struct request *r);
	unsigned jobs;       /* in the queue */
	unsigned wanted;     /* the number of threads we want that are not waiting for a client */
	unsigned threads;    /* how many there are */
	unsigned waiting;    /* threads waiting for a client */
	unsigned wide;       /* threads that handle requests about all sessions */
	struct worker *idle; /* workers without a thread, whose handles are open */
	unsigned nr_idle;
	struct afar *afar;
	int stop;
};

static void warned(void *payload, enum grove_severity severity, const struct grove_detail *why)
{
	(void)payload;
	log_detail(severity == GROVE_SEVERITY_FATAL ? "error" : "warning", why);
}

int pool_open_grove(struct server *s, const char *store, struct grove **out)
{
	if (!store && s->g)
		return grove_dup(s->g, out);
	return pool_open_stores(s, store ? &store : s->set->stores.item, store ? 1 : s->set->stores.nr, out);
}

int pool_open_stores(struct server *s, const char *const *stores, size_t nr, struct grove **out)
{
	struct grove_options go = { .size = sizeof(go), .stores = stores, .nr_stores = nr };

	go.dialect = s->set->dialect;
	go.cache = s->set->no_cache ? "" : NULL;
	go.warn = warned;
	return grove_open(&go, out);
}

static void worker_free(struct worker *w)
{
	grove_search_close(w->search);
	grove_close(w->g);
	free(w);
}

/* Reuses the handles of a thread that has ended, because they know the stores already. */
static struct worker *worker_get(struct pool *p)
{
	struct worker *w = p->idle;

	if (w) {
		p->idle = w->next;
		p->nr_idle--;
		w->waits = 0;
		return w;
	}
	w = calloc(1, sizeof(*w));
	if (w)
		w->pool = p;
	return w;
}

/*
 * The first in the queue that may begin: requests that may read all sessions get at most half
 * of the threads, so that the others are always answered.
 */
static struct request *take(struct pool *p, struct worker *w)
{
	struct request **at = &p->first, *r;

	while (*at && (*at)->route->wide && p->wide >= p->wanted / 2 && !p->stop)
		at = &(*at)->next_job;
	r = *at;
	if (r) {
		*at = r->next_job;
		if (!*at)
			p->last = at;
		p->jobs--;
		w->wide = r->route->wide;
		p->wide += w->wide;
	}
	return r;
}

static void end_wide(struct pool *p, struct worker *w)
{
	p->wide -= w->wide;
	w->wide = 0;
}

/* A thread has ended: its worker is kept for the next one, unless there are enough. */
static void keep_idle(struct pool *p, struct worker *w)
{
	if (p->nr_idle >= p->wanted) {
		worker_free(w);
		return;
	}
	w->next = p->idle;
	p->idle = w;
	p->nr_idle++;
}

static void *work(void *payload)
{
	struct worker *w = payload;
	struct pool *p = w->pool;
	struct request *r;
	void (*run)(struct request *r);

	if (!w->g && pool_open_grove(p->server, NULL, &w->g))
		log_line("error", "a worker could not open its stores");
	pthread_mutex_lock(&p->lock);
	while (!w->waits) {
		while (!(r = take(p, w)) && !p->stop)
			pthread_cond_wait(&p->more, &p->lock);
		if (!r)
			break;
		run = p->run;
		pthread_mutex_unlock(&p->lock);
		r->g = w->g;
		r->worker = w;
		run(r);
		pthread_mutex_lock(&p->lock);
		end_wide(p, w);
		if (w->store)
			w->store->nr--;
		w->store = NULL;
	}
	if (w->waits)
		p->waiting--;
	else
		p->threads--;
	keep_idle(p, w);
	pthread_cond_broadcast(&p->fewer);
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

/* Needs the lock. */
static int start_thread(struct pool *p)
{
	struct worker *w = worker_get(p);
	pthread_t id;

	if (!w || pthread_create(&id, NULL, work, w)) {
		free(w);
		return -1;
	}
	pthread_detach(id);
	p->threads++;
	return 0;
}

int pool_new(struct server *s, unsigned threads, struct pool **out)
{
	struct pool *p = calloc(1, sizeof(*p));
	int rc = 0;

	*out = p;
	if (!p)
		return -1;
	p->server = s;
	p->wanted = threads;
	p->last = &p->first;
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->more, NULL);
	pthread_cond_init(&p->fewer, NULL);
	pthread_mutex_lock(&p->lock);
	while (!rc && p->threads < p->wanted)
		rc = start_thread(p);
	pthread_mutex_unlock(&p->lock);
	return p->threads ? 0 : rc;
}

void pool_drain(struct pool *p)
{
	pthread_mutex_lock(&p->lock);
	p->stop = 1;
	pthread_cond_broadcast(&p->more);
	while (p->threads || p->waiting)
		pthread_cond_wait(&p->fewer, &p->lock);
	pthread_mutex_unlock(&p->lock);
}

void pool_free(struct pool *p)
{
	if (!p)
		return;
	while (p->idle) {
		struct worker *w = p->idle;

		p->idle = w->next;
		worker_free(w);
	}
	while (p->afar) {
		struct afar *a = p->afar;

		p->afar = a->next;
		free(a->url);
		free(a);
	}
	pthread_mutex_destroy(&p->lock);
	pthread_cond_destroy(&p->more);
	pthread_cond_destroy(&p->fewer);
	free(p);
}

int pool_submit(struct pool *p, struct request *r, void (*run)(struct request *r))
{
	int rc = -1;

	pthread_mutex_lock(&p->lock);
	if (p->jobs < JOBS_MAX && !p->stop) {
		p->run = run;
		r->next_job = NULL;
		*p->last = r;
		p->last = &r->next_job;
		p->jobs++;
		pthread_cond_signal(&p->more);
		rc = 0;
	}
	pthread_mutex_unlock(&p->lock);
	return rc;
}

/* Needs the lock. */
static int wait_begin(struct worker *w)
{
	struct pool *p = w->pool;
	int rc = 0;

	if (w->waits) {
		;
	} else if (p->waiting == WAITING_MAX) {
		rc = -1;
	} else {
		w->waits = 1;
		end_wide(p, w);
		p->waiting++;
		p->threads--;
		if (!p->stop)
			start_thread(p);
	}
	return rc;
}

int pool_wait_begin(struct worker *w)
{
	int rc;

	pthread_mutex_lock(&w->pool->lock);
	rc = wait_begin(w);
	pthread_mutex_unlock(&w->pool->lock);
	return rc;
}

/* Needs the lock. NULL: out of memory. */
static struct afar *afar_of(struct pool *p, const char *store)
{
	struct afar *a = p->afar;

	while (a && strcmp(a->url, store))
		a = a->next;
	if (a)
		return a;
	a = calloc(1, sizeof(*a));
	if (a && !(a->url = strdup(store))) {
		free(a);
		return NULL;
	}
	if (a) {
		a->next = p->afar;
		p->afar = a;
	}
	return a;
}

int pool_wait_for_store(struct worker *w, const char *store)
{
	struct pool *p = w->pool;
	struct afar *a;
	int rc = 0;

	if (w->store || !store_url_is_elsewhere(store))
		return 0;
	pthread_mutex_lock(&p->lock);
	a = afar_of(p, store);
	if (!a || a->nr == STORE_WAITING_MAX || (a->nr >= p->wanted / 2 && wait_begin(w))) {
		rc = -1;
	} else {
		a->nr++;
		w->store = a;
	}
	pthread_mutex_unlock(&p->lock);
	return rc;
}

unsigned pool_waiting(struct pool *p)
{
	unsigned n;

	pthread_mutex_lock(&p->lock);
	n = p->jobs;
	pthread_mutex_unlock(&p->lock);
	return n;
}
