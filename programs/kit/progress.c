/*
 * progress.c: a line on the terminal during long work.
 */
#include "progress.h"
#include "out.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { PATIENCE = 500, PACE = 100 }; /* ms */

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* If the terminal cannot take output right now, skip this update. */
static void put(const struct progress *p, const char *ptr, size_t len)
{
	while (len) {
		ssize_t n = write(p->fd, ptr, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return;
		ptr += n;
		len -= (size_t)n;
	}
}

/*
 * Needs the lock, like everything below. The text may come from a server, so it is printed
 * safely.
 */
static void draw(struct progress *p, int64_t now)
{
	enum { TAIL = 16 }; /* ": 100 %, 3600 s" */
	unsigned long long seconds = (unsigned long long)(now - p->begin) / 1000;
	pid_t front = tcgetpgrp(p->fd);
	struct out o;

	/* a background process must not write to the terminal */
	if (front >= 0 && front != getpgrp())
		return;
	out_init(&o, -1);
	out_puts(&o, "\r");
	out_fit(&o, out_str(p->what), p->width > 2 * TAIL ? p->width - TAIL - 1 : TAIL);
	if (p->total)
		out_printf(&o, ": %llu %%, %llu s",
			   (unsigned long long)(p->done >= p->total ? 100 : (double)p->done * 100 / (double)p->total),
			   seconds);
	else
		out_printf(&o, ": %llu s", seconds);
	out_puts(&o, "\033[K");
	put(p, o.ptr, o.len);
	out_release(&o);
	p->shown = 1;
}

static void hide(struct progress *p)
{
	static const char words[] = "\r\033[K";

	if (p->shown)
		put(p, words, sizeof(words) - 1);
	p->shown = 0;
}

static void *run(void *payload)
{
	struct progress *p = payload;

	pthread_mutex_lock(&p->lock);
	for (int64_t next = p->begin + PATIENCE; !p->stop; next += PACE) {
		struct timespec ts = { (time_t)(next / 1000), (long)(next % 1000) * 1000000 };

		while (!p->stop && pthread_cond_timedwait(&p->wake, &p->lock, &ts) != ETIMEDOUT)
			;
		if (!p->stop)
			draw(p, now_ms());
	}
	hide(p);
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

void progress_init(struct progress *p, int fd, unsigned width)
{
	pthread_condattr_t how;

	memset(p, 0, sizeof(*p));
	p->fd = fd;
	p->width = width;
	pthread_mutex_init(&p->lock, NULL);
	pthread_condattr_init(&how);
	pthread_condattr_setclock(&how, CLOCK_MONOTONIC);
	pthread_cond_init(&p->wake, &how);
	pthread_condattr_destroy(&how);
}

void progress_release(struct progress *p)
{
	progress_end(p);
	pthread_cond_destroy(&p->wake);
	pthread_mutex_destroy(&p->lock);
}

/* Block signals in this thread, because they should interrupt reads of the main one. */
static int start(struct progress *p)
{
	sigset_t all, before;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	rc = pthread_create(&p->thread, NULL, run, p);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return rc;
}

void progress_begin(struct progress *p, const char *what)
{
	progress_end(p);
	if (p->fd < 0)
		return;
	p->stop = 0;
	p->begin = now_ms();
	p->done = p->total = 0;
	progress_say(p, what);
	p->running = !start(p);
}

void progress_at(struct progress *p, uint64_t done, uint64_t total)
{
	if (!p->running)
		return;
	pthread_mutex_lock(&p->lock);
	p->done = done;
	p->total = total;
	pthread_mutex_unlock(&p->lock);
}

void progress_say(struct progress *p, const char *what)
{
	size_t len = strlen(what);

	if (p->fd < 0)
		return;
	len = len < sizeof(p->what) ? len : sizeof(p->what) - 1;
	pthread_mutex_lock(&p->lock);
	memmove(p->what, what, len); /* it may be the same string */
	p->what[len] = '\0';
	pthread_mutex_unlock(&p->lock);
}

void progress_hide(struct progress *p)
{
	if (!p->running)
		return;
	pthread_mutex_lock(&p->lock);
	hide(p);
	pthread_mutex_unlock(&p->lock);
}

void progress_end(struct progress *p)
{
	if (!p->running)
		return;
	pthread_mutex_lock(&p->lock);
	p->stop = 1;
	pthread_cond_signal(&p->wake);
	pthread_mutex_unlock(&p->lock);
	pthread_join(p->thread, NULL);
	p->running = 0;
}
