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
	char *root;            /* the directory, without a slash at its end */
	char *url;
	grove__hidden_fn *hidden;  /* NULL: nobody is told */
	void *hidden_payload;
};

/*
 * An open file. `lock` guards everything below it and makes the appends of
 * this process take turns; the file's own lock keeps other processes out.
 */
struct jsonl_log {
	struct grove_store_log base;
	char *path;
	int fd;                /* the number stays, what it stands for may be replaced */
	int64_t pid;           /* of the process that opened it */
	bool writable;
	bool has_dir;          /* a session's own log, which may have a directory beside it */
	bool created;          /* by this handle, and nothing is in it yet */
	bool unnamed;          /* made by this handle: its directory is not synced yet */
	bool new_dirs;         /* and directories for it */
	pthread_mutex_t lock;
	uint64_t generation;
	uint64_t dev, ino, size; /* as last seen */
	unsigned nlink;        /* names the file had at the last look */
	int64_t looked_ns;     /* when that was; 0: never */
	uint64_t lf_at;        /* the file is known to end in LF when this is its size */
	uint64_t born;         /* stat's base of the file we have open … */
	bool born_known;       /* … once somebody asked */
	char *lease_path;      /* NULL: not looked for yet */
	bool leased;           /* that file is there: every write looks into it */
	int64_t lease_looked_ns; /* when it was last looked for, and was not there */
	struct grove_lease lease; /* under which this handle writes; number 0: none */
	struct grove_buf out;  /* the bytes of one append */

	/* group commit: appends are counted, a sync covers all that came before it */
	pthread_mutex_t sync_lock;
	pthread_cond_t synced_cond;
	uint64_t written, synced;
	bool syncing, sync_failed;

	struct grove__sys_watch watch; /* of the thread that waits */
};

static inline struct jsonl_store *grove__jsonl_store(struct grove_store *st)
{
	return (struct jsonl_store *)st;
}

static inline struct jsonl_log *grove__jsonl_log(struct grove_store_log *log)
{
	return (struct jsonl_log *)log;
}

/* jsonl.c: the path of a key, appended to `out`. GROVE_EINVAL for a hostile name. */
int grove__jsonl_path(const struct jsonl_store *st, const struct grove_key *key,
		      struct grove_buf *out, struct grove_detail *d);

/* Does the path name a session's file (*.jsonl), which may have a directory beside it? */
bool grove__jsonl_has_suffix(const char *name);
/*
 * May the file at `path`, below the root, be made or changed? GROVE_EACCESS if a
 * directory on the way is a link that leads out of the store. A session's own
 * log is not asked about: it is written wherever its name leads, as agents do.
 */
int grove__jsonl_inside(const struct jsonl_store *st, const char *path, struct grove_detail *d);
/* Look at the file under our path. GROVE_ESTALE if it is gone, or not the one we have open. */
int grove__jsonl_look(struct jsonl_log *log, struct grove__sys_stat *st, struct grove_detail *d);
/*
 * The same at a third of the price, for every append: only dev, ino and size. A
 * file that was replaced or deleted is noticed at once, by its number of names;
 * one that was merely moved, within a hundredth of a second: only appends in a
 * quick row are spared the look at the name.
 */
int grove__jsonl_glance(struct jsonl_log *log, struct grove__sys_stat *st, struct grove_detail *d);
/*
 * stat's base, of the file we have open: when it was made, in microseconds, and a
 * little of its number, because the clock of file systems ticks every few
 * milliseconds only. A file system that does not know gives its number alone:
 * then a new file in the place of an old one has another base, not always a
 * higher one. With the lock held.
 */
int grove__jsonl_base(struct jsonl_log *log, uint64_t *base, struct grove_detail *d);
/*
 * The same of any descriptor, with all else about it; a negative errno. *timed: it
 * is a time, so a later file has a higher one.
 */
int grove__jsonl_base_of(int fd, struct grove__sys_stat *st, uint64_t *base, bool *timed);
/*
 * The file's own lock; *locked says whether there is one to give back: a file
 * system without locks has none, and the checks of the writers still hold.
 * GROVE_ECONFLICT if another program does not give it up.
 */
int grove__jsonl_lock(struct jsonl_log *log, bool *locked, struct grove_detail *d);
/* Remember what was seen; another file, or a shorter one, is another generation. */
void grove__jsonl_seen(struct jsonl_log *log, const struct grove__sys_stat *st);

/* jsonl_append.c */
int grove__jsonl_append(struct grove_store_log *l, const struct grove_store_record *rec, size_t nr,
			uint64_t expect, enum grove_sync sync, struct grove_store_appended *out,
			struct grove_detail *d);
int grove__jsonl_sync(struct grove_store_log *l, struct grove_detail *d);
int grove__jsonl_cut(struct grove_store_log *l, uint64_t pos, uint64_t expect, enum grove_sync sync,
		     struct grove_detail *d);
int grove__jsonl_replace(struct grove_store_log *l, uint64_t pos, struct grove_slice line,
			 enum grove_sync sync, struct grove_detail *d);

/* jsonl_rewrite.c */
int grove__jsonl_rewrite(struct grove_store_log *l, grove_line_fn *next, void *payload,
			 uint64_t expect, unsigned flags, struct grove_detail *d);
/* A temporary name beside `path` that nobody can guess, appended to `out`. */
int grove__jsonl_temp_name(const char *path, struct grove_buf *out);

/* jsonl_lease.c */
int grove__jsonl_lease_take(struct grove_store_log *l, const char *owner, int64_t ms,
			    struct grove_lease *out, struct grove_detail *d);
int grove__jsonl_lease_renew(struct grove_store_log *l, int64_t ms, struct grove_lease *out,
			     struct grove_detail *d);
int grove__jsonl_lease_release(struct grove_store_log *l, struct grove_detail *d);
int grove__jsonl_lease_get(struct grove_store_log *l, struct grove_lease *out,
			   struct grove_detail *d);
/*
 * May this handle write? GROVE_ECONFLICT while another has the right. Under the
 * file's lock, after a look at the file and before anything is written.
 */
int grove__jsonl_may_write(struct jsonl_log *log, struct grove_detail *d);
/* Is this the name of a file that tells who has the lease? */
bool grove__jsonl_is_lease(const char *name);
/* The session at `path` is gone, and its lease with it. */
void grove__jsonl_lease_remove(const char *path);
/* The session's file gets another name, and its lease with it. GROVE_EEXIST if it is not free. */
int grove__jsonl_move(const char *from, const char *to, struct grove_detail *d);

/* jsonl_wait.c */
int grove__jsonl_wait(struct grove_store_log *l, const struct grove_store_log_stat *seen,
		      int64_t ms, int wake, struct grove_detail *d);

/* The directory of values, in a session's own: no attachment. */
#define GROVE__JSONL_VALUES ".grove"
/* jsonl_attach.c: a small file as a whole, with the directories above it; it replaces another. */
int grove__jsonl_put_small(const char *path, struct grove_slice bytes, struct grove_detail *d);
/* Its bytes, appended to `out`. GROVE_ENOTFOUND. */
int grove__jsonl_get_small(const char *path, struct grove_buf *out, struct grove_detail *d);

/* jsonl_meta.c: GROVE__META_UNFINISHED, and what hosts keep. */
int grove__jsonl_meta_get(struct grove_store_log *l, const char *name, struct grove_buf *out,
			  struct grove_detail *d);
int grove__jsonl_meta_put(struct grove_store_log *l, const char *name, struct grove_slice value,
			  struct grove_detail *d);

/* jsonl_attach.c: files beside a session, in the directory named like it. */
int grove__jsonl_attach_put(struct grove_store *st, const struct grove_key *key, const char *name,
			    struct grove_slice bytes, struct grove_detail *d);
int grove__jsonl_attach_get(struct grove_store *st, const struct grove_key *key, const char *name,
			    struct grove_buf *out, struct grove_detail *d);
int grove__jsonl_attach_list(struct grove_store *st, const struct grove_key *key,
			     grove_name_fn *fn, void *payload, struct grove_detail *d);
/*
 * Move or delete the whole directory; nothing to do when there is none. A log
 * that belongs to a session has none of its own. The first asks whether the
 * move can be done: GROVE_EEXIST if something lies where it would go.
 */
int grove__jsonl_attach_may_rename(struct jsonl_store *st, const struct grove_key *from,
				   const struct grove_key *to, struct grove_detail *d);
int grove__jsonl_attach_rename(struct jsonl_store *st, const struct grove_key *from,
			       const struct grove_key *to, struct grove_detail *d);
int grove__jsonl_attach_remove(struct jsonl_store *st, const struct grove_key *key,
			       struct grove_detail *d);

#endif
