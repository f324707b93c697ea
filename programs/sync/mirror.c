/*
 * mirror.c: keeps both sides in step.
 *
 * Changes here come from a watch of the list; changes there come from the server's /events,
 * which a separate thread reads. Each only says which session to look at; what to carry
 * over is found by comparing, as always. So a change that is reported twice, or that was
 * our own, costs one request, and a missed one is found when all sessions are compared:
 * after every outage, and every few minutes.
 */
#include "sync.h"


#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define QUIET_MS 150             /* changes within this time are handled together */
#define ALL_MS (5 * 60 * 1000)
#define PAUSE_MS 500             /* after an outage; doubled each time … */
#define PAUSE_MAX_MS 60000       /* … up to this */
#define CHANGED_MAX 10000

/* Sessions that have changed. */
struct changed {
	pthread_mutex_t lock;
	char **id;
	size_t nr;
	int all;                     /* too many, or it is unknown which */
};

struct mirror {
	struct sync *s;
	struct grove_watch *watch;
	struct changed changed;
	struct http *events;
	pthread_t thread;
	int has_thread;
	atomic_int ending, connected;
	struct grove_buf line;       /* of the stream */
	struct remote_event event;
	int (*all)(void *payload);
	void *payload;
};

static void note(struct changed *c, const char *id)
{
	char **more;
	size_t i = 0;

	pthread_mutex_lock(&c->lock);
	while (id && i < c->nr && strcmp(c->id[i], id))
		i++;
	if (!id || c->nr >= CHANGED_MAX) {
		c->all = 1;
	} else if (i == c->nr) {
		more = realloc(c->id, (c->nr + 1) * sizeof(*more));
		c->id = more ? more : c->id;
		if (!more || !(c->id[c->nr] = strdup(id)))
			c->all = 1;
		else
			c->nr++;
	}
	pthread_mutex_unlock(&c->lock);
}

/* Takes all of them, and clears the set. */
static void take(struct changed *c, char ***id, size_t *nr, int *all)
{
	pthread_mutex_lock(&c->lock);
	*id = c->id;
	*nr = c->nr;
	*all = c->all;
	c->id = NULL;
	c->nr = 0;
	c->all = 0;
	pthread_mutex_unlock(&c->lock);
}

static void free_ids(char **id, size_t nr)
{
	while (nr)
		free(id[--nr]);
	free(id);
}

/* ------------------------------------------------------------------- there */

static int on_events(void *payload, const char *ptr, size_t len)
{
	struct mirror *m = payload;

	if (!atomic_exchange(&m->connected, 1)) {
		/* what happened before we listened */
		note(&m->changed, NULL);
		grove_watch_wake(m->watch);
	}
	for (; len; ptr++, len--) {
		if (*ptr == '\n') {
			if (remote_parse_event(&m->event, grove_buf_slice(&m->line))) {
				note(&m->changed, *m->event.key ? m->event.key : NULL);
				grove_watch_wake(m->watch);
			}
			m->line.len = 0;
		} else if (m->line.len < 65536 && grove_buf_add(&m->line, (struct grove_slice){ ptr, 1 })) {
			return GROVE_ENOMEM;
		}
	}
	return atomic_load(&m->ending) ? GROVE_ECANCELLED : 0;
}

static void nap(struct mirror *m, int64_t ms)
{
	int64_t until = http_clock() + ms;

	while (!sync_stopped() && !atomic_load(&m->ending) && http_clock() < until)
		poll(NULL, 0, 50);
}

static void *listen_there(void *payload)
{
	struct mirror *m = payload;
	int64_t pause = PAUSE_MS;

	while (!sync_stopped() && !atomic_load(&m->ending)) {
		struct http_call c = { .path = "/events?list=1", .sink = on_events, .payload = m, .endless = 1 };
		int rc = http_ask(m->events, &c);

		if (atomic_exchange(&m->connected, 0))
			pause = PAUSE_MS;
		m->line.len = 0;
		http_call_release(&c);
		(void)rc;
		nap(m, pause);
		pause = pause * 2 > PAUSE_MAX_MS ? PAUSE_MAX_MS : pause * 2;
	}
	return NULL;
}

/* -------------------------------------------------------------------- here */

/* Waits for the first change, and a moment longer for those that come with it. */
static void listen_here(struct mirror *m, int64_t most)
{
	int64_t until = http_clock() + most, ms;
	struct grove_event e = { .size = sizeof(e) };
	size_t nr;
	int all;

	for (;;) {
		pthread_mutex_lock(&m->changed.lock);
		nr = m->changed.nr;
		all = m->changed.all;
		pthread_mutex_unlock(&m->changed.lock);
		ms = until - http_clock();
		if (nr || all)
			ms = ms < QUIET_MS ? ms : QUIET_MS;
		if (ms <= 0 || sync_stopped())
			return;
		/* do not wait long, in case a signal came just before */
		ms = ms < 500 ? ms : 500;
		if (!grove_watch_next(m->watch, ms, &e)) {
			if (e.kind != GROVE_EVENT_REMOVE)
				note(&m->changed, e.session_id);
		} else if (nr || all) {
			return;
		}
	}
}

static int sync_one(struct mirror *m, const char *key)
{
	struct grove_buf what = GROVE_BUF_INIT;
	struct grove_list *l = NULL;
	char id[300], *tilde;
	const char *cwd = NULL;
	int rc, here;

	/* the server names a session by its id and, if that is not unique, its store */
	snprintf(id, sizeof(id), "%s", key);
	tilde = strrchr(id, '~');
	if (tilde && strlen(tilde) == 5)
		*tilde = '\0';
	here = !grove_find(m->s->c->g, id, GROVE_FIND_ID, &l) && grove_list_count(l);
	if (here) {
		const struct grove_list_item *it = grove_list_at(l, 0);

		cwd = it->cwd;
		rc = grove_buf_add(&what, grove_str(it->path && *it->path == '/' ? it->path : it->id));
		rc = rc ? rc : grove_buf_add(&what, (struct grove_slice){ "", 1 });
	} else {
		rc = 0;
	}
	if (!rc && mirror_wants(m->payload, id, cwd))
		rc = sync_session(m->s, here ? what.ptr : NULL, id, key, 0);
	grove_list_free(l);
	grove_buf_release(&what);
	return rc;
}

/* -------------------------------------------------------------------- both */

static int start(struct mirror *m)
{
	struct grove_watch_options o = { .size = sizeof(o), .flags = GROVE_WATCH_LIST };
	int rc = grove_watch_open(m->s->c->g, &o, &m->watch);

	if (rc) {
		m->s->c->status = cli_fail_grove(m->s->c, rc);
		return 1;
	}
	pthread_mutex_init(&m->changed.lock, NULL);
	m->events = http_dup(m->s->remote.http);
	if (!m->events || pthread_create(&m->thread, NULL, listen_there, m))
		return GROVE_ENOMEM;
	m->has_thread = 1;
	return 0;
}

static void stop(struct mirror *m)
{
	char **id;
	size_t nr;
	int all;

	atomic_store(&m->ending, 1);
	if (m->has_thread)
		pthread_join(m->thread, NULL);
	http_close(m->events);
	grove_watch_close(m->watch);
	take(&m->changed, &id, &nr, &all);
	free_ids(id, nr);
	grove_buf_release(&m->line);
}

/* Returns 0, or GROVE_EIO if the server is away. */
static int look(struct mirror *m, int all)
{
	char **id;
	size_t nr;
	int more, rc = 0;

	take(&m->changed, &id, &nr, &more);
	if (all || more)
		rc = m->all(m->payload);
	else
		for (size_t i = 0; i < nr && !rc && !sync_stopped(); i++)
			rc = sync_one(m, id[i]);
	free_ids(id, nr);
	return rc;
}

static int is_passing(const struct mirror *m, int rc)
{
	return rc < 0 && rc != GROVE_ENOMEM && rc != GROVE_ECANCELLED && m->s->remote.outage;
}

int mirror_run(struct sync *s, int (*all)(void *payload), void *payload)
{
	struct mirror m = { .s = s, .all = all, .payload = payload };
	int64_t pause = PAUSE_MS, last = 0;
	int away = 0, rc = start(&m);

	while (!rc && !sync_stopped()) {
		int everything = !last || away || http_clock() - last > ALL_MS;

		rc = look(&m, everything);
		if (is_passing(&m, rc)) {
			if (!away++)
				cli_warn(s->c, "mirror: %s (trying again)", s->remote.why);
			nap(&m, pause);
			pause = pause * 2 > PAUSE_MAX_MS ? PAUSE_MAX_MS : pause * 2;
			rc = 0;
			continue;
		}
		if (away)
			cli_warn(s->c, "mirror: the server can be reached again");
		away = 0;
		pause = PAUSE_MS;
		if (everything)
			last = http_clock();
		out_flush(&s->c->out);
		if (!rc && !s->dry)
			listen_here(&m, ALL_MS);
		if (s->dry)
			break;
	}
	stop(&m);
	return rc == GROVE_ECANCELLED && sync_stopped() ? 0 : rc;
}
