/*
 * grove/storage.h: files under paths, in any store.
 *
 * For hosts whose session code is built on a `SessionStorage`, as that of xcsh and
 * oh-my-pi is: such a host keeps its code, and its sessions are in a directory, in
 * memory or in a database. They are ordinary sessions there: lists, searches and all
 * other calls see them. A host without such code should use <grove.h>, which
 * handles sessions as a whole.
 *
 *	struct grove_storage *st;
 *
 *	if (!grove_storage_open(g, "sqlite:sessions.db", &st) &&
 *	    !grove_storage_write_text(st, "/w/a.jsonl", header, NULL) &&
 *	    !grove_storage_append_text(st, "/w/a.jsonl", line, GROVE_SYNC_NONE))
 *		…
 *	grove_storage_close(st);
 *
 * A path is a key (<grove/log.h>), written as text: nothing is resolved. Its directory is
 * the project, its name without `.jsonl` the session; a name without `.jsonl`, as that of
 * a draft, gets a slash at its end instead, which no name of a file has. What lies in the
 * directory of a session that this storage knows belongs to the session:
 *
 *     /w/a.jsonl            { "/w", "a", NULL }
 *     /w/a/task.jsonl       { "/w", "a", "task" }
 *     /w/a/draft.txt        { "/w", "a", "draft.txt/" }
 *
 * A storage knows the files that grove_storage_each() listed and those it wrote, so
 * call that first.
 *
 * A session is a log of lines: the last one is ended if the text lacks an LF. Other
 * files keep their bytes as they are.
 *
 * Errors. Functions return 0 or a negative enum grove_error, and the storage keeps the
 * detail of the last failure of each path. A path that is NULL or empty is
 * GROVE_EINVAL. Besides the codes that a function names, each may return those of
 * grove_log_open() and grove_log_append().
 *
 * Threads. All calls block, and many threads may make them at once; those for one path
 * are carried out in the order in which they arrive. The environment must outlive
 * the storage.
 */
#ifndef GROVE_STORAGE_H
#define GROVE_STORAGE_H

#include <grove.h>

#ifdef __cplusplus
extern "C" {
#endif

struct grove_storage;

/* Opens the store with this URL (NULL: the first of the environment) as a storage. */
GROVE_API int grove_storage_open(struct grove *g, const char *store, struct grove_storage **out);
GROVE_API void grove_storage_close(struct grove_storage *st);
/*
 * Copies the detail of the last failure of a call for `path`; its code is 0 if there was
 * none. NULL: of the calls without a path.
 */
GROVE_API void grove_storage_error(struct grove_storage *st, const char *path, struct grove_detail *out);

/* The title of a session, as oh-my-pi has it. */
struct grove_title {
	size_t size;
	const char *text;        /* NULL: none */
	const char *source;      /* who chose it: "user" or "auto"; NULL: unknown */
	const char *updated;     /* when, as oh-my-pi writes it (ISO 8601); NULL: now */
};

struct grove_storage_item {
	const char *path;          /* valid until the callback returns */
	uint64_t bytes;
	int64_t modified;          /* ms since 1970 */
	struct grove_title title;  /* as it was set; its members are NULL if not */
};
typedef int grove_storage_fn(void *payload, const struct grove_storage_item *item);

/* Lists all files in no particular order. A non-zero result of `fn` ends the list and is returned. */
GROVE_API int grove_storage_each(struct grove_storage *st, grove_storage_fn *fn, void *payload);

/* Appends a file's bytes to `out`. Returns GROVE_ENOTFOUND if there is no such file. */
GROVE_API int grove_storage_read_text(struct grove_storage *st, const char *path, struct grove_buf *out);

/*
 * Appends the first `head` bytes to `first` and the last `tail` bytes to `last`, as the
 * file was at one moment. Each gets all of a shorter file; a character that would be cut
 * in two is left out.
 */
GROVE_API int grove_storage_read_text_slices(struct grove_storage *st, const char *path, size_t head,
					     size_t tail, struct grove_buf *first, struct grove_buf *last);

enum grove_storage_flags {
	GROVE_STORAGE_IF_BYTES = 1 /* only if the file has `bytes` bytes; 0: also if there is none */
};

struct grove_storage_options {
	size_t size;
	unsigned flags;                  /* enum grove_storage_flags */
	uint64_t bytes;
	const struct grove_title *title; /* NULL: as it was */
};

/*
 * Replaces the contents of a file, durably; readers see the old text or the new one.
 * GROVE_ECONFLICT if the file is not as IF_BYTES says, or if another storage has locked
 * it; it is unchanged then. `opt` may be NULL.
 */
GROVE_API int grove_storage_write_text(struct grove_storage *st, const char *path, struct grove_slice text,
				       const struct grove_storage_options *opt);

/*
 * Adds text at the end of a file, and creates the file if it does not exist. When this
 * returns, the text survives a crash of the process, and with GROVE_SYNC_ALWAYS one of the
 * machine. GROVE_ECONFLICT while another storage has locked the file.
 */
GROVE_API int grove_storage_append_text(struct grove_storage *st, const char *path, struct grove_slice text,
					enum grove_sync sync);

/*
 * Sets the title of a session, and puts it into the first line if that reserves room for
 * one, as oh-my-pi's does: the line keeps its length, no other line is written, and a title
 * that is too long is truncated.
 */
GROVE_API int grove_storage_set_title(struct grove_storage *st, const char *path,
				      const struct grove_title *title);

/*
 * Gives a file another path, with what belongs to it, in place of what had that path.
 * GROVE_ENOTFOUND if there is no `from`.
 */
GROVE_API int grove_storage_rename(struct grove_storage *st, const char *from, const char *to);

/* Removes a file; a session with everything that belongs to it. Returns 1 if there was none. */
GROVE_API int grove_storage_remove(struct grove_storage *st, const char *path);

/*
 * Keeps all other storages from writing to a file (they get GROVE_ECONFLICT) until it is
 * unlocked, for at most `ms` from now, so that nobody waits for a program that died. If
 * this storage already has the lock, it is extended. While another one has it, lock
 * waits up to 10 s, then returns GROVE_ECONFLICT. A lock is a lease (<grove/live.h>), and does
 * not prevent removal: to look at a file and then remove it, lock it first.
 *
 * Returns 1 if there is no such file and this storage never knew one; GROVE_ENOTFOUND if it
 * did; GROVE_ENOTSUP in a store without leases.
 */
GROVE_API int grove_storage_lock(struct grove_storage *st, const char *path, int64_t ms);
GROVE_API int grove_storage_unlock(struct grove_storage *st, const char *path);

#ifdef __cplusplus
}
#endif
#endif
