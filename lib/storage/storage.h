/*
 * storage/storage.h: what the files of this room share.
 *
 *     path.c      which key a path is, the files that are known, and their open logs
 *     storage.c   the calls of <grove/storage.h>
 */
#ifndef GROVE_STORAGE_STORAGE_H
#define GROVE_STORAGE_STORAGE_H

#include "base/fail.h"
#include "base/idmap.h"
#include "grove/storage.h"
#include "keyed/keyed.h"

#include <pthread.h>

/* A path that was used or listed. It stays in the table as long as the storage. */
struct grove__storage_file {
	char *path;
	bool there;              /* it was listed or written: its key stays the same */
	unsigned users;          /* calls that are under way: its key and its log stay the same, too */
	uint64_t used;           /* when the last one ended, as a number of calls */
	char *project, *session, *subpath;
	struct grove_log *log;   /* NULL: not open */
	struct grove_detail *detail;  /* of its last failure; NULL: none */
};

struct grove_storage {
	struct grove *g;
	char *store;             /* its URL; NULL: the first of the environment */
	pthread_mutex_t lock;    /* for everything below */
	struct grove_detail detail;
	struct grove__storage_file **files;
	size_t nr, cap;
	struct grove__idmap by_path;
	size_t nr_open;
	uint64_t calls;
};

int grove__storage_init(struct grove_storage *st, struct grove *g, const char *store, struct grove_detail *d);
void grove__storage_release(struct grove_storage *st);

/* Returns the file of a path that was used or listed, or NULL. With the lock. */
struct grove__storage_file *grove__storage_find(const struct grove_storage *st, const char *path);

/* A call for one path. */
struct grove__storage_use {
	struct grove_storage *st;
	struct grove__storage_file *f;   /* NULL: it could not begin */
	struct grove_detail d;
};

/* Every call of this ends with grove__storage_end(), also after a failure. */
int grove__storage_begin(struct grove_storage *st, const char *path, struct grove__storage_use *u);
/* `wrote`: if it succeeded, the file is there. Returns `rc`. */
int grove__storage_end(struct grove__storage_use *u, int rc, bool wrote);
struct grove_key grove__storage_key(const struct grove__storage_file *f);
/* A log has this key. `path` is for the caller to release. GROVE_ENOMEM. */
int grove__storage_learn(struct grove_storage *st, const struct grove_key *key, struct grove_buf *path);
/* The file is gone, with what belongs to it. */
void grove__storage_forget(struct grove_storage *st, const struct grove__storage_file *f);
/* Returns true for a file that is no log of lines, such as a draft. */
bool grove__storage_is_text(const char *path);

#endif
