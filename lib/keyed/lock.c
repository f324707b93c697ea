/*
 * keyed/lock.c: keeping others from writing.
 *
 * The lock is a lease of the store. It belongs to an open log of the store, and ours may be
 * reopened at any time; the lease is then taken again under the same name.
 */
#include "keyed/keyed.h"

#include "sys/clock.h"
#include "sys/watch.h"

#include <stdio.h>

#define PATIENCE_MS 10000
#define PAUSE_MS 5

static void name_owner(struct grove_log *l)
{
	uint64_t r;

	grove__sys_random(&r, sizeof(r));
	snprintf(l->owner, sizeof(l->owner), "log %016llx", (unsigned long long)r);
}

static int take_lease(struct grove_log *l, int64_t ms, struct grove_detail *d)
{
	struct grove_store_log_stat st;
	struct grove_lease lease;
	int rc;

	grove__keyed_enter(l);
	if (!*l->owner)
		name_owner(l);
	rc = grove__keyed_stat(l, &st, d);
	if (!rc)
		rc = grove__log_lease_take(l->held->log, l->owner, ms, &lease, d);
	if (!rc)
		l->lock_ms = ms;
	grove__keyed_leave(l);
	return rc;
}

int grove__keyed_lock(struct grove_log *l, int64_t ms, struct grove_detail *d)
{
	int64_t end = grove__sys_ticks_ns() + (int64_t)PATIENCE_MS * 1000000;
	int rc;

	if (!(l->flags & (GROVE_LOG_WRITE | GROVE_LOG_CREATE)) || ms <= 0)
		return grove__fail(d, GROVE_EINVAL, NULL, "a lock needs a handle that may write, and a positive duration");
	while ((rc = take_lease(l, ms, d)) == GROVE_ECONFLICT && grove__sys_ticks_ns() < end)
		grove__sys_wait_fd(-1, PAUSE_MS);
	return rc;
}

int grove__keyed_lock_again(struct grove_log *l, struct grove_store_log *log, struct grove_detail *d)
{
	struct grove_lease lease;
	int rc = l->lock_ms ? grove__log_lease_take(log, l->owner, l->lock_ms, &lease, d) : 0;

	if (rc != GROVE_ECONFLICT)
		return rc;
	/* it expired, and somebody else has it: we can still read */
	l->lock_ms = 0;
	grove__fail_clear(d);
	return 0;
}

int grove__keyed_unlock(struct grove_log *l, struct grove_detail *d)
{
	int rc = 0;

	grove__keyed_enter(l);
	if (l->lock_ms && l->held)
		rc = grove__log_lease_release(l->held->log, d);
	l->lock_ms = 0;
	/* the lock is gone with the log */
	if (rc == GROVE_ESTALE || rc == GROVE_ENOTFOUND) {
		grove__keyed_drop(l);
		rc = 0;
	}
	grove__keyed_leave(l);
	return rc;
}
