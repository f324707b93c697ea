/*
 * sys/file.h: files, as the operating system gives them to us.
 *
 * Thin: every call answers 0 (or a count) or a negative errno, retries EINTR,
 * and does nothing else. The rest of the library reaches the system only
 * through this directory, so this is also where tests make it fail.
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
 * How long an open file is and how many names it has, and nothing else. Asking
 * for its times would make the system stamp the next write more finely, which
 * costs more than the write.
 */
int grove__sys_size(int fd, uint64_t *size, unsigned *nlink);
int grove__sys_stat(const char *path, struct grove__sys_stat *out);  /* follows links */
int grove__sys_lstat(const char *path, struct grove__sys_stat *out);

/* The directory of the last file that was asked for: of the next ones there, only the names are looked up. */
struct grove__sys_dir {
	struct grove_buf path;
	int fd;                /* -1: not opened */
};

void grove__sys_dir_init(struct grove__sys_dir *d);
void grove__sys_dir_release(struct grove__sys_dir *d);
/* As grove__sys_stat(), which is enough for a single file (`d` NULL). */
int grove__sys_dir_stat(struct grove__sys_dir *d, const char *path, struct grove__sys_stat *out);
/* Is it this user's, and nobody else may write to it? */
bool grove__sys_is_ours(const struct grove__sys_stat *st);
/* Make a directory if need be; false if there is none that is ours in that sense. */
bool grove__sys_own_dir(const char *path);

/* Read until `len` bytes or the end of the file; *got says how many. */
int grove__sys_pread(int fd, void *buf, size_t len, uint64_t off, size_t *got);
/* One write(2): how many bytes went, or a negative errno if none did. */
ssize_t grove__sys_write(int fd, const void *buf, size_t len);
/* Write everything, at the file's own position. */
int grove__sys_write_all(int fd, const void *buf, size_t len);
int grove__sys_pwrite_all(int fd, const void *buf, size_t len, uint64_t off);
int grove__sys_seek_cur(int fd, uint64_t *off);
int grove__sys_truncate(int fd, uint64_t size);
int grove__sys_datasync(int fd);
int grove__sys_sync(int fd);
/* Start writing out, do not wait. */
void grove__sys_flush_hint(int fd, uint64_t off, uint64_t len);
int grove__sys_owner(int fd, unsigned mode, unsigned uid, unsigned gid);
/* Modified just now, says the file; its bytes stay. */
int grove__sys_touch(int fd);

int grove__sys_rename(const char *from, const char *to);
/* The same, but -EEXIST when `to` is there. */
int grove__sys_rename_new(const char *from, const char *to);
/* Another name for the same file; -EEXIST when `to` is there. */
int grove__sys_link(const char *from, const char *to);
int grove__sys_unlink(const char *path);
int grove__sys_rmdir(const char *path);
/* Make the directory and its parents. */
int grove__sys_mkdirs(const char *path, unsigned mode);
int grove__sys_sync_dir(const char *path);
/* The directory of `path`, synced. */
int grove__sys_sync_parent(const char *path);
/* The same, and every directory above it: all that mkdirs may have made. */
int grove__sys_sync_parents(const char *path);

/*
 * Append a file of at most `max` bytes; *mtime_ns (may be NULL) is its time.
 * -EINVAL for a larger one, or what is no file.
 */
int grove__sys_read_small(const char *path, size_t max, struct grove_buf *out, int64_t *mtime_ns);
/* Call `fn` with each name but "." and ".."; stop when it answers non-zero, which goes to *ended. */
int grove__sys_list(const char *dir, int (*fn)(void *payload, const char *name), void *payload,
		    int *ended);
/* The path with every link resolved, appended to `out`. */
int grove__sys_realpath(const char *path, struct grove_buf *out);
/* The path of the terminal on standard input, appended to `out`; -ENOTTY if there is none. */
int grove__sys_tty(struct grove_buf *out);

/*
 * Whole-file lock of the open file description, for writers. Waits for others
 * to give theirs up, but for no longer than grove__sys_lock_ms: then -ETIMEDOUT,
 * and the caller must not write. A file system without locks answers -ENOLCK or
 * the like; callers continue without.
 */
int grove__sys_lock(int fd);
void grove__sys_unlock(int fd);
/* Milliseconds; tests shorten it. */
extern int grove__sys_lock_ms;
/*
 * GROVE_ECONFLICT for a lock that timed out. The detail names the process that
 * holds one on the file of `fd`, where the system tells.
 */
int grove__sys_lock_fail(int fd, const char *path, struct grove_detail *d);

/*
 * Has anybody this file open for writing, apart from our own descriptor
 * `except` (-1: none)? 1 yes, 0 no, or a negative errno when the system will
 * not say.
 */
int grove__sys_open_for_writing(const char *path, int except);
/* Let the number `fd` stand for what `other` stands for, which is closed. */
int grove__sys_replace_fd(int fd, int other);

/* Run a program with arguments, output discarded; its exit status or -errno. */
int grove__sys_run(const char *const argv[]);

/*
 * Test seam: when set, asked before each call with its name; a positive errno
 * makes the call fail with it, GROVE__SYS_SHORT makes a write come up short.
 * EINTR is what it always is: the call is tried again, and asked about again.
 * Set it before any thread runs.
 */
#define GROVE__SYS_SHORT (-1)
typedef int grove__sys_fault_fn(const char *call);
extern grove__sys_fault_fn *grove__sys_fault;

/*
 * Test seam: when set, told of each call that changed files or names, or synced
 * them, once it has succeeded: all that must be known to say what a disk may
 * hold when the power goes.
 */
#define GROVE__SYS_HERE UINT64_MAX
struct grove__sys_deed {
	const char *call;        /* create, write, truncate, sync; mkdir, rmdir, rename, link, unlink */
	int fd;                  /* of the first four; of a directory, too */
	const char *path;        /* create, and those of names */
	const char *to;          /* rename, link */
	const void *bytes;       /* write */
	size_t len;
	uint64_t off;            /* write (GROVE__SYS_HERE: up to the file's position), truncate */
};
typedef void grove__sys_told_fn(const struct grove__sys_deed *deed);
extern grove__sys_told_fn *grove__sys_told;

#endif
