/*
 * session/append_group.c: durable appends of several threads, with one sync.
 *
 * Threads that append to one session at once would queue for its lock, then for the
 * sync, and be woken twice for each line. On a fast disk that costs more than the sync.
 * So durable appends are queued. The thread that finds the queue empty leads: it takes
 * the lock, appends all that is queued by then, syncs once, and wakes the others. While
 * it syncs, the lock is free for the next leader; leaders that sync at the same time
 * share a sync in the store.
 *
 *     A leads    lock, append A, unlock, sync …
 *     B leads    wait for the lock;  C, D, E: queued with B, asleep
 *     B          lock, append B C D E, unlock, sync (after A's), wake C D E
 */
#include "session/append.h"

#include <semaphore.h>

/* A queued append. It is on the stack of the thread that waits. */
struct grove__append_group {
	struct grove__append_group *next;
	const struct grove_slice *json;
	size_t nr;
	const struct grove_append_options *opt;
	struct grove_append_result *out;
	struct grove_detail *d;
	int rc;
	sem_t done;
};

/* Queues an append. Returns true if the queue was empty, so that its thread leads. */
static bool queue_append(struct grove_session *s, struct grove__append_group *w)
{
	struct grove__append_group *was = __atomic_load_n(&s->writing.group, __ATOMIC_RELAXED);

	do
		w->next = was;
	while (!__atomic_compare_exchange_n(&s->writing.group, &was, w, true, __ATOMIC_RELEASE,
					    __ATOMIC_RELAXED));
	/* from here on `w->next` belongs to the leader */
	return !was;
}

/* Takes all that is queued, in the order in which it was queued. */
static struct grove__append_group *take_queue(struct grove_session *s)
{
	struct grove__append_group *w = __atomic_exchange_n(&s->writing.group, NULL, __ATOMIC_ACQUIRE);
	struct grove__append_group *list = NULL, *next;

	for (; w; w = next) {
		next = w->next;
		w->next = list;
		list = w;
	}
	return list;
}

/* Reports the failed sync to every thread whose lines were stored. */
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
	grove__session_break(s, why);
	grove__session_latch(s, rc, first->d);
	grove__session_unlock(s);
}

static void lead(struct grove_session *s, const struct grove__append_group *mine)
{
	struct grove__append_group *list, *w, *next;
	struct grove_detail why;
	struct grove_store_log *log;
	bool stored = false;
	int rc = 0;

	grove__session_lock(s);
	list = take_queue(s);
	for (w = list; w; w = w->next) {
		w->rc = grove__append_locked(s, w->json, w->nr, w->opt, w->out, w->d);
		stored |= !w->rc;
	}
	log = s->deferral.store ? NULL : s->log;
	/* like a view: if the session changes to another log meanwhile, this one stays open */
	__atomic_fetch_add(&s->refs, 1, __ATOMIC_RELAXED);
	grove__session_unlock(s);
	grove__fail_clear(&why);
	if (stored && log)
		rc = grove__log_sync(log, &why);
	if (rc)
		sync_failed(s, list, rc, &why);
	grove__session_unref(s);
	/* a thread that was woken has left, and its stack with it */
	for (w = list; w; w = next) {
		next = w->next;
		if (w != mine)
			sem_post(&w->done);
	}
}

int grove__append_grouped(struct grove_session *s, const struct grove_slice *json, size_t nr,
			  const struct grove_append_options *opt, struct grove_append_result *out,
			  struct grove_detail *d)
{
	struct grove__append_group w = { .json = json, .nr = nr, .opt = opt, .out = out, .d = d };
	int state;

	/* the others wait for the leader, which has pointers to their stacks */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	sem_init(&w.done, 0, 0);
	if (queue_append(s, &w))
		lead(s, &w);
	else
		while (sem_wait(&w.done))
			; /* a signal */
	sem_destroy(&w.done);
	pthread_setcancelstate(state, NULL);
	return w.rc;
}

int grove__session_sync(struct grove_session *s, struct grove_detail *d)
{
	struct grove_store_log *log;
	int rc = grove__session_enter(s, d);

	if (rc)
		return rc;
	rc = s->writing.latch ? grove__session_writable(s, d) : grove__session_load(s, d);
	log = s->log;
	__atomic_fetch_add(&s->refs, 1, __ATOMIC_RELAXED);
	grove__session_unlock(s);
	if (!rc) {
		rc = grove__log_sync(log, d);
		if (rc) {
			grove__session_lock(s);
			grove__session_break(s, d);
			grove__session_latch(s, rc, d);
			grove__session_unlock(s);
		}
	}
	grove__session_unref(s);
	return rc;
}
