/*
 * session/append_group.c: appends that wait for the disk, together.
 *
 * Threads that append to one session at once would queue for its lock, then for
 * the sync, and be woken twice for each line: on a quick disk that costs more
 * than the sync. So whoever wants a durable append puts it on a list, and who
 * finds the list empty does all that is on it by the time he has the lock, asks
 * for one sync that covers them, and wakes the others when it has returned.
 * Meanwhile the lock is free for the next list. Several such threads share a sync
 * in the store.
 *
 *     A finds it empty    lock, append A, unlock, sync …
 *     B finds it empty    wait for the lock;  C, D, E: on B's list, asleep
 *     B                   lock, append B C D E, unlock, sync (after A's), wake C D E
 */
#include "session/session.h"

#include <semaphore.h>

/* An append of a thread that waits. Lives on its stack. */
struct grove__append_group {
	struct grove__append_group *next;
	const struct grove_slice *json;
	size_t nr;
	const struct grove_append_options *opt;
	const char **ids;
	struct grove_detail *d;
	int rc;
	sem_t done;
};

/* Put it on the list. True: that was empty, so its thread does them all. */
static bool put(struct grove_session *s, struct grove__append_group *w)
{
	struct grove__append_group *was = __atomic_load_n(&s->durable, __ATOMIC_RELAXED);

	do
		w->next = was;
	while (!__atomic_compare_exchange_n(&s->durable, &was, w, true, __ATOMIC_RELEASE,
					    __ATOMIC_RELAXED));
	/* once it is there `w->next` is for who takes the list */
	return !was;
}

/* All that are on the list, in the order in which they came. */
static struct grove__append_group *take(struct grove_session *s)
{
	struct grove__append_group *w = __atomic_exchange_n(&s->durable, NULL, __ATOMIC_ACQUIRE);
	struct grove__append_group *list = NULL, *next;

	for (; w; w = next) {
		next = w->next;
		w->next = list;
		list = w;
	}
	return list;
}

/* What none of them can rely on is told to each whose lines were stored. */
static void sync_failed(struct grove_session *s, struct grove__append_group *list, int rc,
			const struct grove_detail *why)
{
	struct grove__append_group *first = NULL;

	for (struct grove__append_group *w = list; w; w = w->next) {
		if (w->rc)
			continue;
		*w->d = *why;
		w->rc = rc;
		first = first ? first : w;
	}
	grove__session_lock(s);
	s->broken = true;
	grove__session_latch(s, rc, first->d);
	grove__session_unlock(s);
}

static void do_all(struct grove_session *s, const struct grove__append_group *mine)
{
	struct grove__append_group *list, *w, *next;
	struct grove_detail why;
	struct grove_log *log;
	bool stored = false;
	int rc = 0;

	grove__session_lock(s);
	list = take(s);
	for (w = list; w; w = w->next) {
		w->rc = grove__append_locked(s, w->json, w->nr, w->opt, w->ids, w->d);
		stored |= !w->rc;
	}
	log = s->held ? NULL : s->log;
	/* as a view does: a log that the session leaves meanwhile stays open */
	__atomic_fetch_add(&s->refs, 1, __ATOMIC_RELAXED);
	grove__session_unlock(s);
	grove__fail_clear(&why);
	if (stored && log)
		rc = grove__log_sync(log, &why);
	if (rc)
		sync_failed(s, list, rc, &why);
	grove__session_unref(s);
	/* one that is woken is no longer there */
	for (w = list; w; w = next) {
		next = w->next;
		if (w != mine)
			sem_post(&w->done);
	}
}

static int append_durable(struct grove_session *s, struct grove__append_group *w)
{
	int state;

	/* others wait for who does them all, and he has the address of those who wait */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	sem_init(&w->done, 0, 0);
	if (put(s, w))
		do_all(s, w);
	else
		while (sem_wait(&w->done))
			; /* a signal */
	sem_destroy(&w->done);
	pthread_setcancelstate(state, NULL);
	return w->rc;
}

int grove__session_append(struct grove_session *s, const struct grove_slice *json, size_t nr,
			  const struct grove_append_options *opt, const char **ids,
			  struct grove_detail *d)
{
	struct grove__append_group w = { .json = json, .nr = nr, .opt = opt, .ids = ids, .d = d };
	int rc;

	/* who waits for the others must not be the one they wait for */
	if (opt && opt->sync == GROVE_SYNC_ALWAYS && !grove__session_inside(s))
		return append_durable(s, &w);
	rc = grove__session_enter(s, d);
	if (rc)
		return rc;
	rc = grove__append_locked(s, json, nr, opt, ids, d);
	grove__session_unlock(s);
	return rc;
}

int grove__session_sync(struct grove_session *s, struct grove_detail *d)
{
	struct grove_log *log;
	int rc = grove__session_enter(s, d);

	if (rc)
		return rc;
	rc = s->latch ? grove__session_writable(s, d) : grove__session_load(s, d);
	log = s->log;
	__atomic_fetch_add(&s->refs, 1, __ATOMIC_RELAXED);
	grove__session_unlock(s);
	if (!rc) {
		rc = grove__log_sync(log, d);
		if (rc) {
			grove__session_lock(s);
			s->broken = true;
			grove__session_latch(s, rc, d);
			grove__session_unlock(s);
		}
	}
	grove__session_unref(s);
	return rc;
}
