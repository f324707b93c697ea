/*
 * work.c: what takes longer than a person waits for a key.
 */
#include "work.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SESSIONS_FOUND = 1000 };

static int on_progress(void *payload, uint64_t done, uint64_t total)
{
	struct work *w = payload;

	(void)done;
	(void)total;
	return atomic_load(&w->stop);
}

static void read_list(struct work_job *j)
{
	struct grove_list_options lo = { .size = sizeof(lo), .flags = WORK_LIST_FLAGS, .skipped = warnings_add,
					 .skipped_payload = j->w->warnings };

	j->err = grove_list(j->g, &lo, &j->l);
	/* what was read before the error is not the list */
	if (j->err) {
		grove_list_free(j->l);
		j->l = NULL;
	}
}

static void take_hits(struct work_job *j, const struct grove_hits *h)
{
	size_t nr = grove_hits_sessions(h);

	j->found.id = cli_realloc(NULL, nr, sizeof(*j->found.id));
	for (size_t i = 0; i < nr; i++) {
		j->found.id[i] = strdup(grove_hits_session_at(h, i)->id);
		if (!j->found.id[i])
			break;
		j->found.nr++;
	}
}

static void search(struct work_job *j)
{
	struct grove_search_options so = { .size = sizeof(so), .limit = SESSIONS_FOUND, .per_session = 1 };
	struct grove_search *s = NULL;
	struct grove_hits *h = NULL;

	j->err = grove_search_open(j->g, 0, &s);
	if (!j->err)
		j->err = grove_search_run(s, j->query, &so, &h);
	if (!j->err)
		take_hits(j, h);
	grove_hits_free(h);
	grove_search_close(s);
}

static void wake(struct work *w)
{
	/* a full pipe has woken the reader already */
	if (write(w->fd[1], "", 1) < 0)
		return;
}

static void *run(void *payload)
{
	struct work_job *j = payload;

	if (j->kind == WORK_LIST)
		read_list(j);
	else
		search(j);
	atomic_store(&j->ended, 1);
	wake(j->w);
	return NULL;
}

/* Signals are for the thread that has the terminal. Returns 1 if it runs. */
static int start_thread(pthread_t *thread, void *(*fn)(void *), void *payload)
{
	sigset_t all, before;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(thread, NULL, fn, payload);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return !err;
}

static void start(struct work_job *j)
{
	j->l = NULL;
	j->err = 0;
	atomic_store(&j->ended, 0);
	j->running = start_thread(&j->thread, run, j);
}

/* Without a watch the list is as it was read; all else works. */
static void *watch(void *payload)
{
	enum { AGAIN_MS = 500 };
	struct work *w = payload;
	struct grove_watch_options wo = { .size = sizeof(wo), .flags = GROVE_WATCH_LIST };
	struct grove_event e = { .size = sizeof(e) };
	struct grove_watch *list = NULL;
	int err = grove_watch_open(w->g, &wo, &list);

	atomic_store(&w->watch, list);
	while (!err && !atomic_load(&w->stop)) {
		int rc = grove_watch_next(list, -1, &e);

		if (!rc) {
			atomic_store(&w->changed, 1);
			wake(w);
		} else if (rc < 0) {
			poll(NULL, 0, AGAIN_MS); /* a store that cannot be reached */
		}
	}
	return NULL;
}

void work_watch(struct work *w)
{
	if (!w->watching)
		w->watching = start_thread(&w->watcher, watch, w);
}

int work_list_changed(struct work *w)
{
	return atomic_exchange(&w->changed, 0);
}

int work_open(struct work *w, struct grove *g, struct warnings *warnings)
{
	memset(w, 0, sizeof(*w));
	w->warnings = warnings;
	if (pipe2(w->fd, O_CLOEXEC | O_NONBLOCK))
		return -1;
	for (int i = 0; i < WORK_KINDS; i++) {
		w->job[i].w = w;
		w->job[i].kind = (enum work_kind)i;
		if (grove_dup(g, &w->job[i].g))
			return -1;
		grove_set_progress(w->job[i].g, (struct grove_progress){ on_progress, w });
	}
	return grove_dup(g, &w->g) ? -1 : 0;
}

void work_list(struct work *w)
{
	struct work_job *j = &w->job[WORK_LIST];

	if (j->running)
		j->again = 1;
	else
		start(j);
}

void work_search(struct work *w, const char *query)
{
	struct work_job *j = &w->job[WORK_SEARCH];

	if (j->running) {
		snprintf(j->next, sizeof(j->next), "%s", query);
		j->again = 1;
		return;
	}
	snprintf(j->query, sizeof(j->query), "%s", query);
	start(j);
}

int work_is_busy(const struct work *w, enum work_kind kind)
{
	return w->job[kind].running;
}

struct work_job *work_done(struct work *w)
{
	char bytes[16];

	while (read(w->fd[0], bytes, sizeof(bytes)) > 0)
		;
	for (int i = 0; i < WORK_KINDS; i++) {
		struct work_job *j = &w->job[i];

		if (j->running && atomic_load(&j->ended)) {
			pthread_join(j->thread, NULL);
			j->running = 0;
			return j;
		}
	}
	return NULL;
}

int work_close(struct work *w)
{
	struct work_job *j;
	int busy = 0;

	atomic_store(&w->stop, 1);
	if (w->watching) {
		struct grove_watch *list = atomic_load(&w->watch);

		/* one that is being opened looks at `stop` when it is */
		if (list)
			grove_watch_wake(list);
		pthread_join(w->watcher, NULL);
	}
	grove_watch_close(atomic_load(&w->watch));
	grove_close(w->g);
	while ((j = work_done(w))) {
		grove_list_free(j->l);
		sessions_found_release(&j->found);
	}
	for (int i = 0; i < WORK_KINDS; i++)
		busy |= w->job[i].running;
	if (busy)
		return 1;
	for (int i = 0; i < WORK_KINDS; i++)
		grove_close(w->job[i].g);
	close(w->fd[0]);
	close(w->fd[1]);
	return 0;
}
