/*
 * storage/files.c: the file system.
 *
 * Agents append to the same files without a lock, and remove and replace them. So a writer
 * checks its file before each line: does it still have a name, and does it end in LF? The
 * file's lock keeps other grove writers out.
 */
#include "storage/storage.h"
#include "sys/clock.h"
#include "sys/file.h"
#include "sys/temp.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#define FILE_MODE 0600
#define DIR_MODE 0700
/* Deeper than any agent's artifacts, and safe on a small stack. */
#define DEEPEST 64

static bool waits(const struct grove_storage *st)
{
	return !(st->flags & GROVE_STORAGE_NO_SYNC);
}

/* Creates the directories that `path` needs. */
static int make_parents(const char *path)
{
	const char *slash = strrchr(path, '/');
	struct grove_buf dir = GROVE_BUF_INIT;
	int err;

	if (!slash || slash == path)
		return 0;
	err = grove__buf_add(&dir, path, (size_t)(slash - path)) ? -ENOMEM :
	      grove__sys_mkdirs(dir.ptr, DIR_MODE);
	grove__buf_release(&dir);
	return err;
}

/* Creates a file; *made_dirs is set if directories had to be created, too. */
static int create(const char *path, int flags, int *fd, bool *made_dirs)
{
	int err = grove__sys_open(path, flags | O_CREAT, FILE_MODE, fd);

	*made_dirs = false;
	if (err != -ENOENT)
		return err;
	err = make_parents(path);
	if (err)
		return err;
	*made_dirs = true;
	return grove__sys_open(path, flags | O_CREAT, FILE_MODE, fd);
}

static int sync_name(const char *path, bool made_dirs)
{
	int err = made_dirs ? grove__sys_sync_parents(path) : grove__sys_sync_parent(path);

	/* whatever the system says, the name exists and may not survive a crash */
	return err ? -EIO : 0;
}

/* --------------------------------------------------------------- operations */

static int files_mkdirs(struct grove_storage *st, const char *path)
{
	struct grove__sys_stat s;
	int err = grove__sys_mkdirs(path, DIR_MODE);

	(void)st;
	if (!err)
		err = grove__sys_stat(path, &s);
	return err ? err : s.type == SYS_DIR ? 0 : -EEXIST;
}

static int files_stat(struct grove_storage *st, const char *path, struct grove__storage_stat *out)
{
	struct grove__sys_stat s;
	int err = grove__sys_stat(path, &s);

	(void)st;
	if (err)
		return err;
	out->bytes = s.size;
	out->mtime_ns = s.mtime_ns;
	out->is_dir = s.type == SYS_DIR;
	return 0;
}

/* Writes the bytes under a temporary name, with the permissions of the old file if there is one. */
static int write_temp(const char *temp, struct grove_slice bytes, const struct grove__sys_stat *old,
		      bool sync, bool *made_dirs)
{
	int fd, err = create(temp, O_WRONLY | O_EXCL | O_NOFOLLOW, &fd, made_dirs);

	if (err)
		return err;
	err = grove__sys_write_all(fd, bytes.ptr, bytes.len);
	if (!err && old)
		err = grove__sys_owner(fd, old->mode, old->uid, old->gid);
	if (!err && sync)
		err = grove__sys_sync(fd);
	grove__sys_close(fd);
	if (err)
		grove__sys_unlink(temp);
	return err;
}

/* Returns this storage's lock on the file, or NULL. Needs the storage's lock. */
static struct grove__storage_lock *lock_on(struct grove_storage *st, const struct grove__sys_stat *file)
{
	struct grove__storage_lock *lock = st->locks;
	struct grove__sys_stat s;

	while (lock && (grove__sys_fstat(lock->fd, &s) || s.dev != file->dev || s.ino != file->ino))
		lock = lock->next;
	return lock;
}

static bool is_ours(struct grove_storage *st, int fd)
{
	struct grove__sys_stat s;
	bool ours;

	pthread_mutex_lock(&st->lock);
	ours = st->locks && !grove__sys_fstat(fd, &s) && lock_on(st, &s);
	pthread_mutex_unlock(&st->lock);
	return ours;
}

/*
 * Keeps other grove writers out, unless the storage already does. *locked: unlock it. A
 * file system without locks cannot, but our checks still help.
 */
static int keep_out(struct grove_storage *st, int fd, bool *locked)
{
	int err = is_ours(st, fd) ? -EALREADY : grove__sys_lock(fd);

	*locked = !err;
	return err == -ETIMEDOUT ? -EBUSY : 0;
}

/* Locks the file that has this name, even if it was replaced meanwhile. */
static int open_locked(struct grove_storage *st, const char *path, int *fd, bool *locked, uint64_t *size)
{
	unsigned nlink = 0;
	int err = 0;

	while (!err && !nlink) {
		err = grove__sys_open(path, O_RDWR, 0, fd);
		if (err)
			break;
		err = keep_out(st, *fd, locked);
		if (!err)
			err = grove__sys_size(*fd, size, &nlink);
		if (err || !nlink)
			grove__sys_close(*fd);
	}
	if (err)
		*fd = -1;
	return err;
}

/*
 * Keeps other grove writers out until *fd is closed, if the file has the `expect` bytes (NULL:
 * nothing is expected, and nothing done). *fd is -1 if there is no file.
 */
static int files_hold(struct grove_storage *st, const char *path, const uint64_t *expect, int *fd)
{
	uint64_t size = 0;
	bool locked;
	int err;

	*fd = -1;
	if (!expect)
		return 0;
	err = open_locked(st, path, fd, &locked, &size);
	if (err && err != -ENOENT)
		return err;
	return size == *expect ? 0 : -ECANCELED;
}

/* If the old file is locked, locks its replacement, too. *fd is -1 if it is not. */
static int lock_next(struct grove_storage *st, const struct grove__sys_stat *old, const char *temp, int *fd)
{
	bool ours;
	int err;

	pthread_mutex_lock(&st->lock);
	ours = lock_on(st, old) != NULL;
	pthread_mutex_unlock(&st->lock);
	*fd = -1;
	if (!ours)
		return 0;
	err = grove__sys_open(temp, O_RDWR, 0, fd);
	/* nobody else knows its name */
	if (!err)
		grove__sys_lock(*fd);
	return err;
}

/* The new file has replaced the old one. */
static void lock_moves(struct grove_storage *st, const struct grove__sys_stat *old, int fd)
{
	struct grove__storage_lock *lock;

	if (fd < 0)
		return;
	pthread_mutex_lock(&st->lock);
	lock = lock_on(st, old);
	grove__sys_close(lock ? lock->fd : fd);
	if (lock)
		lock->fd = fd;
	pthread_mutex_unlock(&st->lock);
}

static int replace_file(struct grove_storage *st, const char *path, struct grove_slice bytes, bool only_new)
{
	int next = -1;
	struct grove_buf target = GROVE_BUF_INIT, temp = GROVE_BUF_INIT;
	struct grove__sys_stat old;
	bool made_dirs = false, there;
	int err = grove__sys_stat(path, &old);

	there = !err;
	if (there && old.type != SYS_FILE)
		return old.type == SYS_DIR ? -EISDIR : -EINVAL;
	if (err && err != -ENOENT)
		return err;
	/* a link stays a link: its target is replaced */
	err = there ? grove__sys_realpath(path, &target) :
	      grove__buf_add_str(&target, path) ? -ENOMEM : 0;
	if (!err)
		err = grove__sys_temp_name(target.ptr, &temp);
	if (!err)
		err = write_temp(temp.ptr, bytes, there ? &old : NULL, waits(st), &made_dirs);
	if (!err) {
		err = there ? lock_next(st, &old, temp.ptr, &next) : 0;
		if (!err)
			err = only_new ? grove__sys_rename_new(temp.ptr, target.ptr)
				       : grove__sys_rename(temp.ptr, target.ptr);
		if (err) {
			grove__sys_unlink(temp.ptr);
			grove__sys_close(next);
		} else {
			lock_moves(st, &old, next);
			err = waits(st) ? sync_name(target.ptr, made_dirs) : 0;
		}
	}
	grove__buf_release(&target);
	grove__buf_release(&temp);
	return err;
}

static int files_write(struct grove_storage *st, const char *path, struct grove_slice bytes,
		       const uint64_t *expect)
{
	int fd, err = files_hold(st, path, expect, &fd);

	if (!err)
		err = replace_file(st, path, bytes, expect && fd < 0);
	/* somebody created it first */
	if (expect && fd < 0 && err == -EEXIST)
		err = -ECANCELED;
	grove__sys_close(fd);
	return err;
}

struct listing {
	struct grove__storage_list *out;
	struct grove_buf path;
	size_t base;
	int err;                 /* a negative errno that ends the list */
};

static int list_one(void *payload, const char *name)
{
	struct listing *li = payload;
	struct grove__sys_stat s;
	int err;

	if (!grove__storage_wants(li->out, name))
		return 0;
	grove__buf_cut(&li->path, li->base);
	err = grove__buf_add_str(&li->path, name) ? -ENOMEM : grove__sys_lstat(li->path.ptr, &s);
	if (!err && s.type == SYS_FILE)
		err = grove__storage_listed(li->out, name);
	/* already gone */
	li->err = err == -ENOENT ? 0 : err;
	return li->err != 0;
}

static int files_list(struct grove_storage *st, struct grove__storage_list *out)
{
	struct listing li = { .out = out };
	int ended, err;

	(void)st;
	err = grove__buf_addf(&li.path, "%s/", out->dir) ? -ENOMEM : 0;
	li.base = li.path.len;
	if (!err)
		err = grove__sys_list(out->dir, list_one, &li, &ended);
	grove__buf_release(&li.path);
	return err ? err : li.err;
}

/* Appends at most `max` of the bytes from `off` on. */
static int read_part(int fd, uint64_t off, uint64_t max, struct grove_buf *out)
{
	size_t got = 0, before = out->len;
	int err = grove__buf_reserve(out, (size_t)max) ? -ENOMEM : 0;

	if (!err)
		err = grove__sys_pread(fd, out->ptr + before, (size_t)max, off, &got);
	if (!err)
		grove__buf_cut(out, before + got);
	return err;
}

static int files_read(struct grove_storage *st, const char *path, struct grove__storage_ends *e)
{
	struct grove__sys_stat s;
	int fd, err = grove__sys_open(path, O_RDONLY, 0, &fd);

	(void)st;
	if (err)
		return err;
	err = grove__sys_fstat(fd, &s);
	if (!err && s.type != SYS_FILE)
		err = s.type == SYS_DIR ? -EISDIR : -EINVAL;
	e->bytes = s.size;
	if (!err)
		err = read_part(fd, 0, s.size < e->head ? s.size : e->head, e->first);
	if (!err && e->tail)
		err = read_part(fd, s.size < e->tail ? 0 : s.size - e->tail, s.size < e->tail ? s.size : e->tail, e->last);
	grove__sys_close(fd);
	return err;
}

static int change_locked(struct grove_storage *st, int fd, grove__storage_line_fn *fn, void *payload)
{
	struct grove_buf head = GROVE_BUF_INIT, line = GROVE_BUF_INIT;
	const char *lf = NULL;
	int err = read_part(fd, 0, GROVE__STORAGE_LINE_MAX, &head);

	if (!err && head.len)
		lf = memchr(head.ptr, '\n', head.len);
	if (!err)
		err = fn(payload, grove__slice(head.ptr, lf ? (size_t)(lf - head.ptr) : 0), &line);
	if (!err)
		err = grove__sys_pwrite_all(fd, line.ptr, line.len, 0);
	if (!err && waits(st))
		err = grove__sys_sync(fd);
	grove__buf_release(&head);
	grove__buf_release(&line);
	return err;
}

static int files_change_line(struct grove_storage *st, const char *path, grove__storage_line_fn *fn,
			     void *payload)
{
	uint64_t size;
	bool locked;
	int fd, err = open_locked(st, path, &fd, &locked, &size);

	if (err)
		return err;
	err = change_locked(st, fd, fn, payload);
	grove__sys_close(fd);
	return err;
}

static int files_lock(struct grove_storage *st, const char *path, struct grove__storage_lock *lock)
{
	struct grove__sys_stat s;
	uint64_t size;
	bool locked;
	int err = open_locked(st, path, &lock->fd, &locked, &size);

	if (err)
		return err;
	err = grove__sys_fstat(lock->fd, &s);
	if (!err && s.type != SYS_FILE)
		err = -EINVAL;
	/* a file system without locks */
	if (!err && !locked)
		err = is_ours(st, lock->fd) ? -EBUSY : -ENOTSUP;
	if (err)
		grove__sys_close(lock->fd);
	return err;
}

static void files_unlock(struct grove__storage_lock *lock)
{
	grove__sys_close(lock->fd);
}

static int files_rename(struct grove_storage *st, const char *from, const char *to)
{
	struct grove__sys_stat a, b;
	bool made_dirs = false;
	int err = grove__sys_lstat(from, &a);

	if (err)
		return err == -ENOENT || err == -ENOTDIR ? 1 : err;
	if (!grove__sys_lstat(to, &b) && (a.type == SYS_DIR) != (b.type == SYS_DIR))
		return -EISDIR;
	err = grove__sys_rename(from, to);
	if (err == -ENOENT) {
		err = make_parents(to);
		if (!err)
			err = grove__sys_rename(from, to);
		/* it existed a moment ago, and now it does not */
		if (err == -ENOENT)
			return 1;
		made_dirs = true;
	}
	if (err)
		return err == -ENOTEMPTY ? -EEXIST : err;
	/* the new name first: better twice than never */
	err = waits(st) ? sync_name(to, made_dirs) : 0;
	return err || !waits(st) ? err : sync_name(from, false);
}

static int files_unlink(struct grove_storage *st, const char *path, const uint64_t *expect)
{
	int fd, err = files_hold(st, path, expect, &fd);

	if (!err)
		err = grove__sys_unlink(path);
	else if (expect && fd < 0 && err == -ECANCELED)
		err = -ENOENT;
	grove__sys_close(fd);
	return err;
}

struct removal {
	struct grove_buf path;
	unsigned depth;
	int err;                 /* the first, negative; the rest is removed nevertheless */
};

static int remove_one(void *payload, const char *name)
{
	struct removal *r = payload;
	size_t len = r->path.len;
	struct grove__sys_stat s;
	int err, ended;

	if (grove__buf_addf(&r->path, "/%s", name)) {
		r->err = -ENOMEM;
		return 1;
	}
	err = grove__sys_lstat(r->path.ptr, &s);
	if (!err && s.type == SYS_DIR && r->depth < DEEPEST) {
		r->depth++;
		err = grove__sys_list(r->path.ptr, remove_one, r, &ended);
		r->depth--;
		if (!err && !r->err)
			err = grove__sys_rmdir(r->path.ptr);
	} else if (!err) {
		err = grove__sys_unlink(r->path.ptr);
	}
	/* already gone: somebody else is removing it, too */
	if (err && err != -ENOENT && !r->err)
		r->err = err;
	grove__buf_cut(&r->path, len);
	return 0;
}

static int files_remove_tree(struct grove_storage *st, const char *path)
{
	struct removal r = { .path = GROVE_BUF_INIT };
	struct grove__sys_stat s;
	int ended, err = grove__sys_lstat(path, &s);

	(void)st;
	if (err)
		return err == -ENOENT ? 0 : err;
	if (s.type == SYS_LINK)
		return grove__sys_unlink(path);
	if (s.type != SYS_DIR)
		return 0;
	err = grove__buf_add_str(&r.path, path) ? -ENOMEM : 0;
	if (!err)
		err = grove__sys_list(path, remove_one, &r, &ended);
	if (!err)
		err = r.err ? r.err : grove__sys_rmdir(path);
	grove__buf_release(&r.path);
	return err;
}

/* ------------------------------------------------------------------ writers */

struct file {
	struct grove__storage_file base;
	struct grove_storage *st;
	char *path;
	int fd;
	bool made, made_dirs;    /* created by us, and the name is not synced yet */
	uint64_t lf_at;          /* if this is its size, the file is known to end in LF */
	struct grove_buf out;    /* an LF and a line */
};

static struct file *file_of(struct grove__storage_file *f)
{
	return (struct file *)f;
}

static void files_close(struct grove__storage_file *base)
{
	struct file *f = file_of(base);

	grove__sys_close(f->fd);
	grove__buf_release(&f->out);
	free(f->path);
	free(f);
}

static int files_open(struct grove_storage *st, const char *path, bool truncate,
		      struct grove__storage_file **out)
{
	const int flags = O_RDWR | O_APPEND | (truncate ? O_TRUNC : 0);
	struct file *f = calloc(1, sizeof(*f));
	struct grove__sys_stat s;
	int err;

	*out = NULL;
	if (!f || !(f->path = strdup(path))) {
		free(f);
		return -ENOMEM;
	}
	f->base.ops = st->ops;
	f->st = st;
	f->lf_at = UINT64_MAX;
	err = grove__sys_open(path, flags, 0, &f->fd);
	if (err == -ENOENT) {
		err = create(path, flags, &f->fd, &f->made_dirs);
		f->made = !err;
	}
	if (err)
		f->fd = -1;
	if (!err)
		err = grove__sys_fstat(f->fd, &s);
	if (!err && s.type != SYS_FILE)
		err = -EINVAL;
	if (err)
		files_close(&f->base);
	else
		*out = &f->base;
	return err;
}

/*
 * Writes at the end. A signal may make a write short without harm: the rest follows, as
 * long as nobody else has written in between. What cannot be completed is removed again,
 * but only while our bytes are the last ones.
 */
static int put(struct file *f, struct grove_slice bytes, uint64_t *end)
{
	uint64_t start = 0, size;
	size_t done = 0;
	unsigned nlink;
	ssize_t n = 0;

	while (done < bytes.len) {
		n = grove__sys_write(f->fd, bytes.ptr + done, bytes.len - done);
		if (n <= 0)
			break;
		if (grove__sys_seek_cur(f->fd, end))
			return -EIO;
		if (!done)
			start = *end - (uint64_t)n;
		else if (*end != start + done + (uint64_t)n)
			return -EIO;
		done += (size_t)n;
	}
	if (done == bytes.len)
		return 0;
	if (done && (grove__sys_size(f->fd, &size, &nlink) || size != start + done ||
		     grove__sys_truncate(f->fd, start)))
		return -EIO;
	return n ? (int)n : -ENOSPC;
}

static int append_locked(struct file *f, struct grove_slice line)
{
	uint64_t size, end = 0;
	unsigned nlink;
	size_t got;
	char last = '\n';
	int err = grove__sys_size(f->fd, &size, &nlink);

	if (err)
		return err;
	if (!nlink)
		return -ESTALE;
	if (size && size != f->lf_at) {
		err = grove__sys_pread(f->fd, &last, 1, size - 1, &got);
		if (err)
			return err;
	}
	if (last != '\n') {
		/* one write for both, so that no reader sees an empty line */
		grove__buf_clear(&f->out);
		if (grove__buf_add_char(&f->out, '\n') || grove__buf_add_slice(&f->out, line))
			return -ENOMEM;
		line = grove__buf_slice(&f->out);
	}
	err = put(f, line, &end);
	f->lf_at = err ? UINT64_MAX : end;
	return err;
}

static int files_append(struct grove__storage_file *base, struct grove_slice line)
{
	struct file *f = file_of(base);
	bool locked;
	int err = keep_out(f->st, f->fd, &locked);

	if (err)
		return err;
	err = append_locked(f, line);
	if (locked)
		grove__sys_unlock(f->fd);
	/* rarely needed again */
	grove__buf_release(&f->out);
	return err;
}

static int files_sync(struct grove__storage_file *base)
{
	struct file *f = file_of(base);
	int err = grove__sys_sync(f->fd);

	if (!err && f->made)
		err = sync_name(f->path, f->made_dirs);
	if (!err)
		f->made = false;
	return err;
}

static void files_release(struct grove_storage *st)
{
	free(st);
}

static const struct grove__storage_ops files_ops = {
	.mkdirs = files_mkdirs,
	.stat = files_stat,
	.write = files_write,
	.list = files_list,
	.read = files_read,
	.rename = files_rename,
	.change_line = files_change_line,
	.lock = files_lock,
	.unlock = files_unlock,
	.unlink = files_unlink,
	.remove_tree = files_remove_tree,
	.open = files_open,
	.append = files_append,
	.sync = files_sync,
	.close = files_close,
	.release = files_release,
};

int grove_storage_files(const struct grove_storage_options *opt, struct grove_storage **out)
{
	*out = calloc(1, sizeof(**out));
	return *out ? grove__storage_init(*out, &files_ops, opt) : GROVE_ENOMEM;
}
