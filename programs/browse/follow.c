/*
 * follow.c: a thread that watches one session, or the list of all.
 */
#include "follow.h"

#include "threads.h"

#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct follower {
	struct grove *g;
	char *key;               /* NULL: the list */
	uint64_t rev;
	int fd;
	struct warnings *warnings;
	_Atomic(struct grove_watch *) watch;
	atomic_uint news;
	atomic_int stop, ended;
	pthread_t thread;
};

static void tell(struct follower *f, unsigned news)
{
	atomic_fetch_or(&f->news, news);
	threads_wake(f->fd);
}

/* Reports that a store cannot be reached, and waits a little. */
static void wait_for_store(struct follower *f, struct grove_watch *watch)
{
	enum { AGAIN_MS = 500 };
	struct grove_detail why;

	/* when the list is read, that is told anyway */
	if (f->key && !atomic_load(&f->stop)) {
		grove_watch_error(watch, &why);
		warnings_add(f->warnings, &why);
		threads_wake(f->fd);
	}
	poll(NULL, 0, AGAIN_MS);
}

static int add(struct follower *f, struct grove_watch *watch)
{
	int err;

	do {
		err = grove_watch_add(watch, f->key, f->rev, NULL);
		if (err != GROVE_EIO && err != GROVE_EAWAY)
			break;
		wait_for_store(f, watch);
	} while (!atomic_load(&f->stop));
	return err;
}

/* Returns 0 to go on, or why there is nothing to watch any more. */
static int next(struct follower *f, struct grove_watch *watch)
{
	struct grove_event e = { .size = sizeof(e) };
	int rc = grove_watch_next(watch, -1, &e);

	if (!rc) {
		tell(f, e.kind == GROVE_EVENT_DELETE ? FOLLOW_DELETED : FOLLOW_CHANGED);
		return 0;
	}
	if (f->key && rc == GROVE_ENOTFOUND)
		return rc;
	if (rc < 0)
		wait_for_store(f, watch);
	return 0;
}

static void *run(void *payload)
{
	struct follower *f = payload;
	struct grove_watch_options wo = { .size = sizeof(wo), .flags = f->key ? 0 : GROVE_WATCH_LIST };
	struct grove_watch *watch = NULL;
	int err = grove_watch_open(f->g, &wo, &watch);

	if (err)
		grove_watch_close(watch);
	else
		atomic_store(&f->watch, watch);
	if (!err && f->key)
		err = add(f, watch);
	if (err)
		tell(f, err == GROVE_ENOTFOUND ? FOLLOW_DELETED : FOLLOW_FAILED);
	while (!err && !atomic_load(&f->stop))
		err = next(f, watch);
	atomic_store(&f->ended, 1);
	threads_wake(f->fd);
	return NULL;
}

static void release(struct follower *f)
{
	grove_watch_close(atomic_load(&f->watch));
	grove_close(f->g);
	free(f->key);
	free(f);
}

struct follower *follow_begin(struct grove *g, const char *key, uint64_t rev, int fd, struct warnings *warnings)
{
	struct follower *f = cli_realloc(NULL, 1, sizeof(*f));

	memset(f, 0, sizeof(*f));
	f->rev = rev;
	f->fd = fd;
	f->warnings = warnings;
	f->key = key ? strdup(key) : NULL;
	if ((key && !f->key) || grove_dup(g, &f->g) || !threads_start(&f->thread, run, f)) {
		release(f);
		return NULL;
	}
	return f;
}

unsigned follow_news(struct follower *f)
{
	return atomic_exchange(&f->news, 0);
}

void follow_stop(struct follower *f)
{
	struct grove_watch *watch;

	atomic_store(&f->stop, 1);
	watch = atomic_load(&f->watch);
	/* one that is being opened looks at `stop` when it is */
	if (watch)
		grove_watch_wake(watch);
}

int follow_release(struct follower *f)
{
	if (!atomic_load(&f->ended))
		return 0;
	pthread_join(f->thread, NULL);
	release(f);
	return 1;
}
