/*
 * storage/storage.h: what the files of this room share.
 *
 * A storage is a table of operations over paths. They return 0 or a negative errno, even in
 * memory, so codes and messages come from one place and both kinds fail in the same way.
 *
 *     grove_storage_*() ── storage.c ─┬─ files.c, memory.c
 *     grove_writer_*() ─── writer.c ──┘
 */
#ifndef GROVE_STORAGE_STORAGE_H
#define GROVE_STORAGE_STORAGE_H

#include "base/buf.h"
#include "base/fail.h"
#include "grove/storage.h"

#include <pthread.h>

struct grove__storage_stat {
	uint64_t bytes;
	int64_t mtime_ns;
	bool is_dir;
};

/* Both ends of a file at one moment. */
struct grove__storage_ends {
	size_t head, tail;       /* how many bytes of each at most */
	struct grove_buf *first; /* appended to */
	struct grove_buf *last;  /* NULL if `tail` is 0 */
	uint64_t bytes;          /* of the whole file */
};

#define GROVE__STORAGE_LINE_MAX 4096
/* Returns 0 and appends the replacement to `out`, 1 for no change, or a negative errno. */
typedef int grove__storage_line_fn(void *payload, struct grove_slice line, struct grove_buf *out);

/* A file that this storage has locked. */
struct grove__storage_lock {
	struct grove__storage_lock *next;
	int fd;                  /* on disk: an open descriptor holds the lock */
	char path[];
};

/* Files of a directory whose names match, as paths. */
struct grove__storage_list {
	const char *dir, *pattern;
	struct grove_buf paths;  /* each with its NUL */
	size_t nr;
};

/* An open file of a writer; each kind embeds it first. Used by one thread at a time. */
struct grove__storage_file {
	const struct grove__storage_ops *ops;
};

/* Paths are never empty. Functions return 0 or a negative errno unless they say otherwise. */
struct grove__storage_ops {
	int (*mkdirs)(struct grove_storage *st, const char *path);
	/* Follows links. */
	int (*stat)(struct grove_storage *st, const char *path, struct grove__storage_stat *out);
	/*
	 * Replaces the whole file, or leaves the old one unchanged. -ECANCELED if it does
	 * not have the `expect` bytes (NULL: any size; 0: empty, or no file).
	 */
	int (*write)(struct grove_storage *st, const char *path, struct grove_slice bytes,
		     const uint64_t *expect);
	/* Calls grove__storage_listed() for files that grove__storage_wants() accepts. */
	int (*list)(struct grove_storage *st, struct grove__storage_list *out);
	int (*read)(struct grove_storage *st, const char *path, struct grove__storage_ends *ends);
	/* Returns 1 if there is no `from`. */
	int (*rename)(struct grove_storage *st, const char *from, const char *to);
	/*
	 * Replaces the first line by what `fn` makes of it, which has the same length. A
	 * line of more than GROVE__STORAGE_LINE_MAX bytes, or none, is passed as empty.
	 * Returns 1 if `fn` wants no change.
	 */
	int (*change_line)(struct grove_storage *st, const char *path, grove__storage_line_fn *fn, void *payload);
	/* Keeps others out until `lock` is closed; -EBUSY if this storage has it already. */
	int (*lock)(struct grove_storage *st, const char *path, struct grove__storage_lock *lock);
	void (*unlock)(struct grove__storage_lock *lock);
	/* As with write(), but the file must exist. */
	int (*unlink)(struct grove_storage *st, const char *path, const uint64_t *expect);
	/* Removes a directory and everything in it, or a link; leaves anything else alone. */
	int (*remove_tree)(struct grove_storage *st, const char *path);

	int (*open)(struct grove_storage *st, const char *path, bool truncate,
		    struct grove__storage_file **out);
	/*
	 * Appends a line with its LF: all of it or, unless it returns -EIO, nothing.
	 * -ESTALE if the file no longer has a name.
	 */
	int (*append)(struct grove__storage_file *f, struct grove_slice line);
	int (*sync)(struct grove__storage_file *f);
	void (*close)(struct grove__storage_file *f);

	void (*release)(struct grove_storage *st);
};

/* Each kind embeds it first. */
struct grove_storage {
	const struct grove__storage_ops *ops;
	unsigned flags;
	unsigned refs;               /* atomic: the caller's, and one per writer */
	pthread_mutex_t lock;        /* for everything below */
	struct grove_detail detail;
	struct grove__storage_lock *locks;
};

int grove__storage_init(struct grove_storage *st, const struct grove__storage_ops *ops,
			const struct grove_storage_options *opt);
void grove__storage_unref(struct grove_storage *st);
/* Stores the detail of a failure; returns `rc`. */
int grove__storage_told(struct grove_storage *st, int rc, const struct grove_detail *d);
/* Returns true if this name belongs in a list. */
bool grove__storage_wants(const struct grove__storage_list *l, const char *name);
int grove__storage_listed(struct grove__storage_list *l, const char *name);

#endif
