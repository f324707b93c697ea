/*
 * store/jsonl.h: what the files of the file store share.
 */
#ifndef GROVE_STORE_JSONL_H
#define GROVE_STORE_JSONL_H

#include "store/store.h"
#include "sys/file.h"
#include "sys/watch.h"

#include <pthread.h>

struct jsonl_store {
	struct grove_store base;
	char *root;            /* the directory, without a trailing slash */
	char *url;
	grove__hidden_fn *hidden;  /* may be NULL */
	void *hidden_payload;
	grove__guard_fn *guard;    /* may be NULL */
	void *guard_payload;
};

/*
 * An open file. `lock` guards everything below it and makes the appends of this process
 * take turns; the file's own lock keeps other processes out.
 */
struct jsonl_log {
	struct grove_store_log base;
	char *path;
	int fd;                /* the number stays; the file behind it may be replaced */
	int64_t pid;           /* of the process that opened it */
	bool writable;
	char *values;          /* the directory of its values; NULL: it has none */
	bool locked;           /* the file, by the thread that has `lock` */
	bool created;          /* by this handle, and still empty */
	bool unnamed;          /* created by this handle, its directory not yet synced */
	bool new_dirs;         /* and directories for it */
	pthread_mutex_t lock;
	uint64_t generation;
	uint64_t dev, ino, size; /* as last seen */
	unsigned nlink;        /* number of names at the last check */
	int64_t looked_ns;     /* when that was; 0: never */
	uint64_t lf_at;        /* if this is its size, the file is known to end in LF */
	uint64_t born;         /* stat's base of the file we have open … */
	bool born_known;       /* … once somebody asked */
	char *lease_path;      /* NULL: not yet determined */
	bool leased;           /* that file exists: every write reads it */
	int64_t lease_looked_ns; /* when it was last checked and did not exist */
	struct grove_lease lease; /* under which this handle writes; number 0: none */
	struct grove_buf out;  /* the bytes of one append */

	/* group commit: appends are counted, and a sync covers all before it */
	pthread_mutex_t sync_lock;
	pthread_cond_t synced_cond;
	uint64_t written, synced;
	bool syncing, sync_failed;
};

static inline struct jsonl_store *grove__jsonl_store(struct grove_store *st)
{
	return (struct jsonl_store *)st;
}

static inline struct jsonl_log *grove__jsonl_log(struct grove_store_log *log)
{
	return (struct jsonl_log *)log;
}

/* jsonl.c: appends the path of a key to `out`. GROVE_EINVAL for a hostile name. */
int grove__jsonl_path(const struct jsonl_store *st, const struct grove_key *key,
		      struct grove_buf *out, struct grove_detail *d);

/* True if the path names a session's file (*.jsonl), which may have a directory. */
bool grove__jsonl_has_suffix(const char *name);
/*
 * Returns how much of the name is that of its directory; 0: it cannot have one. A log that
 * has no name yet (jsonl_aside.c) has a directory, too.
 */
size_t grove__jsonl_stem(const char *name);
/*
 * Checks that the file at `path`, below the root, may be created or changed.
 * GROVE_EACCESS if a directory on the way is a link that leads out of the store. This
 * is not used for a session's own log: that is written wherever its name leads, as
 * agents do.
 */
int grove__jsonl_inside(const struct jsonl_store *st, const char *path, struct grove_detail *d);
/*
 * Checks the file under our path. GROVE_ESTALE if it is gone, or is not the one we have
 * open.
 */
int grove__jsonl_look(struct jsonl_log *log, struct grove__sys_stat *st, struct grove_detail *d);
/*
 * The same at a third of the cost, for every append: only dev, ino and size. A file
 * that was replaced or deleted is noticed at once, by its number of names; one that was
 * only moved is noticed within a hundredth of a second, because only appends in quick
 * succession skip the check of the name.
 */
int grove__jsonl_glance(struct jsonl_log *log, struct grove__sys_stat *st, struct grove_detail *d);
/*
 * Returns stat's base for the file we have open: its birth time in microseconds, with a
 * few bits of its inode number, because the clock of file systems ticks only every few
 * milliseconds. If the file system has no birth times, it is the inode number alone: a
 * replacement then has another base, but not always a higher one. The lock is held.
 */
int grove__jsonl_base(struct jsonl_log *log, uint64_t *base, struct grove_detail *d);
/*
 * The same for any descriptor, with the rest of its stat. Returns a negative errno.
 * *timed says that it is a time, so that a later file has a higher one.
 */
int grove__jsonl_base_of(int fd, struct grove__sys_stat *st, uint64_t *base, bool *timed);
/*
 * Begins a change: takes both locks, or neither if it fails. GROVE_EACCESS if the log was
 * opened for reading, GROVE_ECONFLICT if another program does not release the file's lock.
 * A file system without locks has none, and the writers' checks still apply.
 */
int grove__jsonl_begin(struct jsonl_log *log, struct grove_detail *d);
/* Releases both. */
void grove__jsonl_end(struct jsonl_log *log);
/* Releases the file's lock early. */
void grove__jsonl_unlock(struct jsonl_log *log);
/* Remembers what was found. Another file, or a shorter one, is a new generation. */
void grove__jsonl_seen(struct jsonl_log *log, const struct grove__sys_stat *st);

/* jsonl_append.c */
int grove__jsonl_append(struct grove_store_log *l, const struct grove_store_record *rec, size_t nr,
			uint64_t expect, uint64_t base, enum grove_sync sync,
			struct grove_store_appended *out, struct grove_detail *d);
int grove__jsonl_sync(struct grove_store_log *l, struct grove_detail *d);
int grove__jsonl_cut(struct grove_store_log *l, uint64_t pos, uint64_t expect, enum grove_sync sync,
		     struct grove_detail *d);
int grove__jsonl_replace(struct grove_store_log *l, uint64_t pos, struct grove_slice line,
			 enum grove_sync sync, struct grove_detail *d);

/* jsonl_rewrite.c */
int grove__jsonl_rewrite(struct grove_store_log *l, grove_line_fn *next, void *payload,
			 uint64_t expect, unsigned flags, struct grove_detail *d);

/* Copies what `from` has from `since` on to the end of `to`, and syncs it. A negative errno. */
int grove__jsonl_carry_over(int from, int to, uint64_t since);

/*
 * jsonl_aside.c: gives the log `path`, which is whole and durable, and what belongs to it
 * the name `name` (the keys are those of the two). GROVE_EEXIST; after a failure it still
 * is where it was.
 */
int grove__jsonl_aside_name(struct jsonl_store *st, const struct grove_key *from, const struct grove_key *to,
			    const char *path, const char *name, struct grove_detail *d);
/* Moves a session to a place to which its file cannot be renamed. */
int grove__jsonl_move_far(struct grove_store *store, const struct grove_key *from, const struct grove_key *to,
			  const char *path, const char *name, struct grove_detail *d);
/*
 * Ends such a move that was interrupted when both were there: removes `path`. Returns 1 if
 * `name` is not its copy.
 */
int grove__jsonl_move_ended(struct grove_store *store, const struct grove_key *from, const struct grove_key *to,
			    const char *path, const char *name, struct grove_detail *d);
/* Like grove__store_tidy(), for a project (NULL: all) and one of its sessions (NULL: all). */
int grove__jsonl_tidy(const char *root, const char *project, const char *of, bool clear, grove__left_fn *fn,
		      void *payload);
/* Clears what was left of this file. */
void grove__jsonl_tidy_beside(const char *path);

/* jsonl_lease.c */
int grove__jsonl_lease(struct grove_store_log *l, const char *owner, int64_t ms, struct grove_lease *out,
		       struct grove_detail *d);
int grove__jsonl_lease_get(struct grove_store_log *l, struct grove_lease *out,
			   struct grove_detail *d);
/*
 * Checks that this handle may write. GROVE_ECONFLICT while somebody else holds the
 * lease. Called under the file's lock, after checking the file and before anything is
 * written.
 */
int grove__jsonl_may_write(struct jsonl_log *log, struct grove_detail *d);
/* True if this is the name of a lease file. */
bool grove__jsonl_is_lease(const char *name);
/* Removes the lease of the session at `path`, which has been removed. */
void grove__jsonl_lease_remove(const char *path);
/*
 * Renames the session's file, together with its lease. GROVE_EEXIST if the name is taken.
 * Sets *far, and does nothing, if it is on another file system.
 */
int grove__jsonl_move(const char *from, const char *to, bool *far, struct grove_detail *d);

/* The directory for values, in a session's own directory; not an attachment. */
#define GROVE__JSONL_VALUES ".grove"
/*
 * jsonl_meta.c: appends the directory of the values of one log to `out`; nothing if
 * its name does not end in .jsonl. GROVE_ENOMEM.
 */
int grove__jsonl_values_dir(const struct jsonl_store *st, const struct grove_key *key,
			    struct grove_buf *out);
/*
 * jsonl_attach.c: writes a small file atomically, replacing an old one, and creates its
 * directories.
 */
int grove__jsonl_put_small(const char *path, struct grove_slice bytes, struct grove_detail *d);
/* Appends its bytes to `out`. GROVE_ENOTFOUND. */
int grove__jsonl_get_small(const char *path, struct grove_buf *out, struct grove_detail *d);

/* jsonl_meta.c: GROVE__META_UNFINISHED, and the values of hosts. */
int grove__jsonl_meta_get(struct grove_store_log *l, const char *name, struct grove_buf *out,
			  struct grove_detail *d);
int grove__jsonl_meta_put(struct grove_store_log *l, const char *name, struct grove_slice value,
			  uint64_t expect, uint64_t base, struct grove_detail *d);

/* jsonl_attach.c: files of a session, in the directory with its name. */
int grove__jsonl_attach_put(struct grove_store *st, const struct grove_key *key, const char *name,
			    struct grove_slice bytes, struct grove_detail *d);
int grove__jsonl_attach_get(struct grove_store *st, const struct grove_key *key, const char *name,
			    struct grove_buf *out, struct grove_detail *d);
int grove__jsonl_attach_list(struct grove_store *st, const struct grove_key *key,
			     grove_name_fn *fn, void *payload, struct grove_detail *d);
/*
 * Moves or deletes the whole directory; does nothing if there is none. A log that
 * belongs to a session has none of its own. The first checks whether the move is
 * possible: GROVE_EEXIST if the target exists. *moved: there was one.
 */
int grove__jsonl_attach_may_rename(struct jsonl_store *st, const struct grove_key *from,
				   const struct grove_key *to, struct grove_detail *d);
int grove__jsonl_attach_rename(struct jsonl_store *st, const struct grove_key *from,
			       const struct grove_key *to, bool *moved, struct grove_detail *d);
int grove__jsonl_attach_remove(struct jsonl_store *st, const struct grove_key *key,
			       struct grove_detail *d);
/* The values of a log that belongs to a session, whose directory stays. */
int grove__jsonl_values_rename(struct jsonl_store *st, const struct grove_key *from,
			       const struct grove_key *to, struct grove_detail *d);
int grove__jsonl_values_remove(struct jsonl_store *st, const struct grove_key *key,
			       struct grove_detail *d);

#endif
