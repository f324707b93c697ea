/*
 * sys/file.h: files of the operating system.
 *
 * A thin layer: every call returns 0 (or a count) or a negative errno, retries EINTR, and
 * does nothing else. The rest of the library reaches the system only through this
 * directory, so this is also where tests inject failures.
 */
#ifndef GROVE_SYS_FILE_H
#define GROVE_SYS_FILE_H

#include "base/buf.h"
#include "base/fail.h"

#include <stdint.h>
#include <sys/types.h>

enum grove__sys_type { SYS_FILE, SYS_DIR, SYS_LINK, SYS_OTHER };

struct grove__sys_stat {
	uint64_t dev, ino, size;
	int64_t mtime_ns, ctime_ns;
	unsigned mode, uid, gid, nlink;
	enum grove__sys_type type;
};

int grove__sys_open(const char *path, int flags, unsigned mode, int *fd);
void grove__sys_close(int fd);
int grove__sys_fstat(int fd, struct grove__sys_stat *out);
/*
 * Gets only the size of an open file and its number of names. Asking for its times would
 * make the system record the time of the next write more precisely, which costs more than
 * the write.
 */
int grove__sys_size(int fd, uint64_t *size, unsigned *nlink);
int grove__sys_stat(const char *path, struct grove__sys_stat *out);  /* follows links */
int grove__sys_lstat(const char *path, struct grove__sys_stat *out);

/* The directory of the last file: for others in it, only their names are looked up. */
struct grove__sys_dir {
	struct grove_buf path;
	int fd;                /* -1: not opened */
};

void grove__sys_dir_init(struct grove__sys_dir *d);
void grove__sys_dir_release(struct grove__sys_dir *d);
/* Like grove__sys_stat(), which is enough for a single file (`d` NULL). */
int grove__sys_dir_stat(struct grove__sys_dir *d, const char *path, struct grove__sys_stat *out);
int grove__sys_dir_lstat(struct grove__sys_dir *d, const char *path, struct grove__sys_stat *out);  /* does not follow links */
/* Returns true if it belongs to this user, and nobody else may write to it. */
bool grove__sys_is_ours(const struct grove__sys_stat *st);
/* Creates a directory if necessary. Returns false if there is none that is ours in that sense. */
bool grove__sys_own_dir(const char *path);

/* Reads until `len` bytes or the end of the file; *got says how many. */
int grove__sys_pread(int fd, void *buf, size_t len, uint64_t off, size_t *got);
/* One write(2): returns how many bytes were written, or a negative errno if none. */
ssize_t grove__sys_write(int fd, const void *buf, size_t len);
/* Writes everything, at the file's own position. */
int grove__sys_write_all(int fd, const void *buf, size_t len);
int grove__sys_pwrite_all(int fd, const void *buf, size_t len, uint64_t off);
int grove__sys_seek_cur(int fd, uint64_t *off);
/* Sets *off to where data comes next, after a hole, or to `end`; leaves it alone if that is not known. Moves the file's own position. */
void grove__sys_skip_hole(int fd, uint64_t *off, uint64_t end);
int grove__sys_truncate(int fd, uint64_t size);
int grove__sys_datasync(int fd);
int grove__sys_sync(int fd);
/* Starts writing to disk, without waiting. */
void grove__sys_flush_hint(int fd, uint64_t off, uint64_t len);
int grove__sys_owner(int fd, unsigned mode, unsigned uid, unsigned gid);
/* Sets the modification time to now. */
int grove__sys_touch(int fd);

int grove__sys_rename(const char *from, const char *to);
/* The same, but -EEXIST if `to` exists. */
int grove__sys_rename_new(const char *from, const char *to);
/* Adds another name for the same file; -EEXIST if `to` exists. */
int grove__sys_link(const char *from, const char *to);
int grove__sys_unlink(const char *path);
int grove__sys_rmdir(const char *path);
/* Creates the directory and its parents. */
int grove__sys_mkdirs(const char *path, unsigned mode);
int grove__sys_sync_dir(const char *path);
/* Syncs the directory of `path`. */
int grove__sys_sync_parent(const char *path);
/* The same, and every directory above it: all that mkdirs may have created. */
int grove__sys_sync_parents(const char *path);

/*
 * Appends a file of at most `max` bytes; *mtime_ns (may be NULL) is its time. -EINVAL for a
 * larger one, or if it is not a file.
 */
int grove__sys_read_small(const char *path, size_t max, struct grove_buf *out, int64_t *mtime_ns);
/*
 * Calls `fn` with each name except "." and ".."; stops when it returns non-zero, which goes
 * to *ended.
 */
int grove__sys_list(const char *dir, int (*fn)(void *payload, const char *name), void *payload,
		    int *ended);
/* Appends the path with every link resolved to `out`. */
int grove__sys_realpath(const char *path, struct grove_buf *out);
/* Appends the path of the terminal on standard input to `out`; -ENOTTY if there is none. */
int grove__sys_tty(struct grove_buf *out);

/*
 * Takes the lock on an open file description, for writers. Waits for others to release
 * theirs, but no longer than grove__sys_lock_ms: then -ETIMEDOUT, and the caller must not
 * write. On a file system without locks, returns -ENOLCK or the like; callers continue
 * without.
 */
int grove__sys_lock(int fd);
void grove__sys_unlock(int fd);
/* Milliseconds; tests shorten it. */
extern int grove__sys_lock_ms;
/*
 * Sets GROVE_ECONFLICT for a lock that timed out. The detail names the process that holds a
 * lock on the file of `fd`, if the system tells.
 */
int grove__sys_lock_fail(int fd, const char *path, struct grove_detail *d);

/*
 * Returns 1 if another process has this file open for writing, 2 if our own has, apart from
 * our descriptor `except` (-1 for none), 0 if nobody has, or a negative errno if the system
 * does not tell.
 */
int grove__sys_open_for_writing(const char *path, int except);
/* Makes `fd` refer to the file of `other`, and closes `other`. */
int grove__sys_replace_fd(int fd, int other);

/* Runs a program with arguments and discards its output. Returns its exit status or -errno. */
int grove__sys_run(const char *const argv[]);

/*
 * Test seam: if set, called before each call with its name. A positive errno makes the call
 * fail with it; GROVE__SYS_SHORT makes a write short. After EINTR the call is tried again,
 * and this is called again. Set it before any thread runs.
 */
#define GROVE__SYS_SHORT (-1)
typedef int grove__sys_fault_fn(const char *call);
extern grove__sys_fault_fn *grove__sys_fault;

/*
 * Test seam: if set, called after each successful call that changed or synced files or
 * names: everything needed to know what a disk may contain after a power loss.
 */
#define GROVE__SYS_HERE UINT64_MAX
struct grove__sys_deed {
	const char *call;        /* create, write, truncate, sync; mkdir, rmdir, rename, link, unlink */
	int fd;                  /* for the first four; also of a directory */
	const char *path;        /* for create, and for calls on names */
	const char *to;          /* rename, link */
	const void *bytes;       /* write */
	size_t len;
	uint64_t off;            /* write (GROVE__SYS_HERE: up to the file's position), truncate */
};
typedef void grove__sys_told_fn(const struct grove__sys_deed *deed);
extern grove__sys_told_fn *grove__sys_told;

#endif
