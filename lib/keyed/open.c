/*
 * keyed/open.c: one open log: taking turns, opening it again when it was replaced.
 *
 * Calls on one handle take turns by number, so that lines are stored in the order in which
 * threads called; a plain mutex does not guarantee that. Syncing is not part of a turn:
 * threads that wait at the same time share a sync (GROVE_SYNC_ALWAYS), and the log they
 * wait for is reference-counted, because the next turn may have to open it again.
 *
 * A log can be replaced or removed by others at any time, as agents and `grove rm` do. The
 * store then returns GROVE_ESTALE or GROVE_ENOTFOUND, and we open the log that has the name
 * now, or create a new one.
 */
#include "keyed/keyed.h"

#include <stdlib.h>

#define TRIES 64

int grove__keyed_init(struct grove *g, const char *store, const struct grove_key *key,
		      unsigned flags, struct grove_log *l, struct grove_detail *d)
{
	int rc;

	l->g = grove__world_ref(g);
	l->flags = flags & GROVE_LOG_CREATE ? flags | GROVE_LOG_WRITE : flags;
	pthread_mutex_init(&l->lock, NULL);
	pthread_cond_init(&l->turn, NULL);
	grove__keyed_ids_init(&l->ids);
	rc = grove__keyed_name_of(key, &l->name, d);
	if (!rc)
		rc = grove__world_shared(g, store, &l->store, d);
	if (!rc)
		l->columns = grove__store_traits(l->store).columns;
	return rc;
}

int grove__keyed_open(struct grove *g, const char *store, const struct grove_key *key,
		      unsigned flags, struct grove_log *l, struct grove_detail *d)
{
	int rc = grove__keyed_init(g, store, key, flags, l, d);

	if (rc)
		return rc;
	rc = grove__keyed_have(l, false, d);
	return rc == GROVE_ENOTFOUND && flags & GROVE_LOG_CREATE ? 0 : rc;
}

void grove__keyed_close(struct grove_log *l)
{
	grove__keyed_drop(l);
	grove__keyed_ids_release(&l->ids);
	grove__keyed_name_release(&l->name);
	pthread_cond_destroy(&l->turn);
	pthread_mutex_destroy(&l->lock);
	grove__world_unref(l->g);
}

void grove__keyed_enter(struct grove_log *l)
{
	uint64_t mine;

	pthread_mutex_lock(&l->lock);
	mine = l->next++;
	while (l->serving != mine)
		pthread_cond_wait(&l->turn, &l->lock);
	pthread_mutex_unlock(&l->lock);
}

void grove__keyed_leave(struct grove_log *l)
{
	pthread_mutex_lock(&l->lock);
	l->serving++;
	pthread_cond_broadcast(&l->turn);
	pthread_mutex_unlock(&l->lock);
}

void grove__keyed_held_release(struct grove_log *l, struct grove__keyed_held *h)
{
	bool last;

	if (!h)
		return;
	pthread_mutex_lock(&l->lock);
	last = !--h->refs;
	pthread_mutex_unlock(&l->lock);
	if (!last)
		return;
	grove__log_close(h->log);
	free(h);
}

void grove__keyed_drop(struct grove_log *l)
{
	grove__keyed_held_release(l, l->held);
	l->held = NULL;
	l->made = false;
	l->dialect = NULL;
	l->ids.valid = false;
}

/*
 * For a name that does not contain all of the key: the log does. Two keys with the same
 * name are unlikely, but must not share a log.
 */
static int keep_key(struct grove_log *l, struct grove_store_log *log, struct grove_detail *d)
{
	struct grove_buf have = GROVE_BUF_INIT;
	int rc = grove__log_meta_get(log, GROVE__META_KEY, &have, d);

	if (rc == GROVE_ENOTFOUND)
		rc = l->flags & GROVE_LOG_WRITE
			     ? grove__log_meta_put(log, GROVE__META_KEY, grove__buf_slice(&l->name.text), d)
			     : 0;
	else if (!rc && !grove__slice_eq(grove__buf_slice(&have), grove__buf_slice(&l->name.text)))
		rc = grove__fail(d, GROVE_EEXIST, NULL, "another key has the same name");
	grove__buf_release(&have);
	return rc;
}

static int hold(struct grove_log *l, struct grove_store_log *log, struct grove_detail *d)
{
	int rc = l->name.cut ? keep_key(l, log, d) : 0;
	struct grove__keyed_held *h = NULL;

	if (!rc)
		rc = grove__keyed_lock_again(l, log, d);
	if (!rc)
		h = calloc(1, sizeof(*h));
	if (!h) {
		grove__log_close(log);
		return rc ? rc : grove__fail_nomem(d);
	}
	h->log = log;
	h->refs = 1;
	l->held = h;
	return 0;
}

int grove__keyed_have(struct grove_log *l, bool make, struct grove_detail *d)
{
	const struct grove_key key = grove__keyed_name_key(&l->name);
	unsigned flags = l->flags & GROVE_LOG_WRITE ? GROVE_STORE_WRITE : GROVE_STORE_READ;
	struct grove_store_log *log = NULL;
	uint64_t moves = __atomic_load_n(&l->g->log_moves, __ATOMIC_ACQUIRE);
	int rc = GROVE_ENOTFOUND;

	/* in a database, an open log follows a move, so check who has our key now */
	if (l->held && l->moves != moves)
		grove__keyed_drop(l);
	if (l->held)
		return 0;
	l->moves = moves;
	make = make && l->flags & GROVE_LOG_CREATE;
	/* others may create and remove it meanwhile */
	for (int tries = 0; tries < TRIES; tries++) {
		rc = grove__log_open(&log, l->store, &key, flags, d);
		l->made = rc == GROVE_ENOTFOUND && make;
		if (l->made)
			rc = grove__log_open(&log, l->store, &key, GROVE_STORE_CREATE, d);
		if (rc != GROVE_EEXIST)
			break;
	}
	l->ids.valid = false;
	return rc ? rc : hold(l, log, d);
}

int grove__keyed_stat(struct grove_log *l, struct grove_store_log_stat *st, struct grove_detail *d)
{
	int rc = grove__keyed_have(l, false, d);

	if (!rc)
		rc = grove__log_stat(l->held->log, st, d);
	if (rc != GROVE_ESTALE && (rc != GROVE_ENOTFOUND || !l->held))
		return rc;
	grove__keyed_drop(l);
	rc = grove__keyed_have(l, false, d);
	return rc ? rc : grove__log_stat(l->held->log, st, d);
}
