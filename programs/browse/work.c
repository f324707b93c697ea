/*
 * work.c: what takes longer than a person waits for a key.
 */
#include "work.h"

#include "threads.h"

#include <fcntl.h>
#include <poll.h>
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

	j->why.code = 0;
	j->err = grove_search_open(j->g, 0, &s);
	if (!j->err)
		j->err = grove_search_run(s, j->query, &so, &h);
	if (!j->err) {
		take_hits(j, h);
	} else if (j->err != GROVE_EINVAL && !atomic_load(&j->w->stop)) {
		/* but what is typed need not be a query yet */
		grove_search_error(s, &j->why);
	}
	grove_hits_free(h);
	grove_search_close(s);
}

static void *run(void *payload)
{
	struct work_job *j = payload;

	if (j->kind == WORK_LIST)
		read_list(j);
	else
		search(j);
	atomic_store(&j->ended, 1);
	threads_wake(j->w->fd[1]);
	return NULL;
}

static void start(struct work_job *j)
{
	j->l = NULL;
	j->err = 0;
	atomic_store(&j->ended, 0);
	j->running = threads_start(&j->thread, run, j);
}

/* ------------------------------------------------------------------- changes */

/* Without a watch the list is as it was read; all else works. */
void work_watch(struct work *w)
{
	if (!w->list)
		w->list = follow_begin(w->g, NULL, 0, w->fd[1], w->warnings);
}

int work_list_changed(struct work *w)
{
	return w->list && follow_news(w->list) & FOLLOW_CHANGED;
}

/* Stops a follower and forgets it. Nobody waits for it here: its store may not answer. */
static void leave(struct work *w, struct follower **f)
{
	if (!*f)
		return;
	follow_stop(*f);
	w->leaving = cli_realloc(w->leaving, w->nr_leaving + 1, sizeof(*w->leaving));
	w->leaving[w->nr_leaving++] = *f;
	*f = NULL;
}

static void release_left(struct work *w)
{
	size_t nr = 0;

	for (size_t i = 0; i < w->nr_leaving; i++)
		if (!follow_release(w->leaving[i]))
			w->leaving[nr++] = w->leaving[i];
	w->nr_leaving = nr;
}

int work_follow(struct work *w, const char *key, uint64_t rev)
{
	leave(w, &w->session);
	if (key)
		w->session = follow_begin(w->g, key, rev, w->fd[1], w->warnings);
	return key && !w->session ? -1 : 0;
}

unsigned work_news(struct work *w)
{
	return w->session ? follow_news(w->session) : 0;
}

/* ----------------------------------------------------------------------- all */

int work_open(struct work *w, struct grove *g, struct warnings *warnings)
{
	memset(w, 0, sizeof(*w));
	w->warnings = warnings;
	w->g = g;
	if (pipe2(w->fd, O_CLOEXEC | O_NONBLOCK))
		return -1;
	for (int i = 0; i < WORK_KINDS; i++) {
		w->job[i].w = w;
		w->job[i].kind = (enum work_kind)i;
		if (grove_dup(g, &w->job[i].g))
			return -1;
		grove_set_progress(w->job[i].g, (struct grove_progress){ on_progress, w });
	}
	return 0;
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

static void drain(struct work *w)
{
	char bytes[16];

	while (read(w->fd[0], bytes, sizeof(bytes)) > 0)
		;
}

struct work_job *work_done(struct work *w)
{
	drain(w);
	release_left(w);
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

static int is_any_busy(struct work *w)
{
	struct work_job *j;
	int busy = 0;

	while ((j = work_done(w))) {
		grove_list_free(j->l);
		sessions_found_release(&j->found);
	}
	for (int i = 0; i < WORK_KINDS; i++)
		busy |= w->job[i].running;
	return busy || w->nr_leaving;
}

int work_close(struct work *w)
{
	enum { TRIES = 10, TRY_MS = 20 };   /* what is not waiting for anything ends at once */
	struct pollfd ended = { .fd = w->fd[0], .events = POLLIN };

	atomic_store(&w->stop, 1);
	leave(w, &w->list);
	leave(w, &w->session);
	for (int i = 0; is_any_busy(w); i++) {
		if (i == TRIES)
			return 1;
		poll(&ended, 1, TRY_MS);
	}
	for (int i = 0; i < WORK_KINDS; i++)
		grove_close(w->job[i].g);
	free(w->leaving);
	close(w->fd[0]);
	close(w->fd[1]);
	return 0;
}
