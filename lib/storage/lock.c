/*
 * storage/lock.c: files that a storage reserves for itself during several calls.
 */
#include "storage/storage.h"

#include <errno.h>
#include <stdlib.h>

/* Returns where the lock of a path is linked, or the end of the list. Needs the storage's lock. */
static struct grove__storage_lock **find(struct grove_storage *st, const char *path)
{
	struct grove__storage_lock **at = &st->locks;

	while (*at && strcmp((*at)->path, path))
		at = &(*at)->next;
	return at;
}

int grove__storage_lock(struct grove_storage *st, const char *path, struct grove_detail *d)
{
	size_t len = strlen(path) + 1;
	struct grove__storage_lock *lock = calloc(1, sizeof(*lock) + len);
	int err;

	if (!lock)
		return grove__fail_nomem(d);
	memcpy(lock->path, path, len);
	err = st->ops->lock(st, path, lock);
	if (err) {
		free(lock);
		return err == -EBUSY ? grove__fail(d, GROVE_ECONFLICT, path, "the file is locked")
				     : grove__fail_sys(d, err, path, "cannot lock");
	}
	pthread_mutex_lock(&st->lock);
	lock->next = st->locks;
	st->locks = lock;
	pthread_mutex_unlock(&st->lock);
	return 0;
}

int grove__storage_unlock(struct grove_storage *st, const char *path, struct grove_detail *d)
{
	struct grove__storage_lock **at, *lock;

	pthread_mutex_lock(&st->lock);
	at = find(st, path);
	lock = *at;
	if (lock)
		*at = lock->next;
	pthread_mutex_unlock(&st->lock);
	if (!lock)
		return grove__fail(d, GROVE_ENOTFOUND, path, "the file is not locked");
	st->ops->unlock(lock);
	free(lock);
	return 0;
}

void grove__storage_unlock_all(struct grove_storage *st)
{
	struct grove__storage_lock *lock;

	while ((lock = st->locks)) {
		st->locks = lock->next;
		st->ops->unlock(lock);
		free(lock);
	}
}
