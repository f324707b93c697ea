/*
 * sys/file.c: files of the operating system.
 */
#include "sys/file.h"

#include "sys/limit.h"
#include "sys/seam.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

grove__sys_fault_fn *grove__sys_fault;
grove__sys_told_fn *grove__sys_told;

/* Tells tests what happened to one name, or to two. */
static void tell_tests(const char *call, int fd, const char *path, const char *to)
{
	if (grove__sys_told)
		grove__sys_told(&(struct grove__sys_deed){ .call = call, .fd = fd, .path = path,
							   .to = to });
}

/* … and to the bytes of a file. */
static void tell_bytes(const char *call, int fd, const void *bytes, size_t len, uint64_t off)
{
	if (grove__sys_told)
		grove__sys_told(&(struct grove__sys_deed){ .call = call, .fd = fd, .bytes = bytes,
							   .len = len, .off = off });
}

int grove__sys_open(const char *path, int flags, unsigned mode, int *fd)
{
	/* O_NONBLOCK: a FIFO somebody named like a session must not hang us */
	do
		*fd = grove__sys_faulty("open")
			      ? -1 : open(path, flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, mode);
	while (*fd < 0 && errno == EINTR);
	if (*fd < 0)
		return -errno;
	if (flags & O_CREAT)
		tell_tests("create", *fd, path, NULL);
	return 0;
}

void grove__sys_close(int fd)
{
	if (fd >= 0)
		close(fd);
}

int grove__sys_replace_fd(int fd, int other)
{
	int rc;

	do
		rc = grove__sys_faulty("dup") || dup3(other, fd, O_CLOEXEC) < 0 ? -errno : 0;
	while (rc == -EINTR);
	close(other);
	return rc;
}

static int64_t ns(struct timespec t)
{
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void convert(const struct stat *st, struct grove__sys_stat *out)
{
	out->dev = (uint64_t)st->st_dev;
	out->ino = (uint64_t)st->st_ino;
	out->size = (uint64_t)st->st_size;
	out->mtime_ns = ns(st->st_mtim);
	out->ctime_ns = ns(st->st_ctim);
	out->mode = st->st_mode & 07777;
	out->uid = st->st_uid;
	out->gid = st->st_gid;
	out->nlink = (unsigned)st->st_nlink;
	out->type = S_ISREG(st->st_mode) ? SYS_FILE : S_ISDIR(st->st_mode) ? SYS_DIR :
		    S_ISLNK(st->st_mode) ? SYS_LINK : SYS_OTHER;
}

bool grove__sys_is_ours(const struct grove__sys_stat *st)
{
	return st->uid == geteuid() && !(st->mode & 022);
}

int grove__sys_fstat(int fd, struct grove__sys_stat *out)
{
	struct stat st;

	if (grove__sys_faulty("fstat") || fstat(fd, &st))
		return -errno;
	convert(&st, out);
	return 0;
}

int grove__sys_size(int fd, uint64_t *size, unsigned *nlink)
{
	struct statx st;

	if (grove__sys_faulty("fstat") ||
	    statx(fd, "", AT_EMPTY_PATH, STATX_SIZE | STATX_NLINK, &st))
		return -errno;
	*size = st.stx_size;
	*nlink = st.stx_nlink;
	return 0;
}

int grove__sys_stat(const char *path, struct grove__sys_stat *out)
{
	struct stat st;

	if (grove__sys_faulty("stat") || stat(path, &st))
		return -errno;
	convert(&st, out);
	return 0;
}

void grove__sys_dir_init(struct grove__sys_dir *d)
{
	*d = (struct grove__sys_dir){ .path = GROVE_BUF_INIT, .fd = -1 };
}

static void leave(struct grove__sys_dir *d)
{
	grove__sys_close(d->fd);
	d->fd = -1;
	grove__buf_clear(&d->path);
}

void grove__sys_dir_release(struct grove__sys_dir *d)
{
	leave(d);
	grove__buf_release(&d->path);
}

/*
 * Opens the directory of `path` if its last file was in it, too: one in which only one file
 * is looked up is not opened. Returns the name in it, or NULL.
 */
static const char *enter(struct grove__sys_dir *d, const char *path)
{
	const char *slash = strrchr(path, '/');
	struct grove_slice dir = grove__slice(path, slash ? (size_t)(slash - path) : 0);

	if (!d || !dir.len)
		return NULL;
	if (!grove__slice_eq(grove__buf_slice(&d->path), dir)) {
		leave(d);
		if (grove__buf_add_slice(&d->path, dir))
			grove__buf_clear(&d->path);
		return NULL;
	}
	if (d->fd < 0 && grove__sys_open(d->path.ptr, O_PATH | O_DIRECTORY | O_CLOEXEC, 0, &d->fd)) {
		d->fd = -1;
		return NULL;
	}
	return slash + 1;
}

int grove__sys_dir_stat(struct grove__sys_dir *d, const char *path, struct grove__sys_stat *out)
{
	const char *name = enter(d, path);
	struct stat st;

	if (!name)
		return grove__sys_stat(path, out);
	if (grove__sys_faulty("stat") || fstatat(d->fd, name, &st, 0))
		return -errno;
	convert(&st, out);
	return 0;
}

int grove__sys_dir_lstat(struct grove__sys_dir *d, const char *path, struct grove__sys_stat *out)
{
	const char *name = enter(d, path);
	struct stat st;

	if (!name)
		return grove__sys_lstat(path, out);
	if (grove__sys_faulty("lstat") || fstatat(d->fd, name, &st, AT_SYMLINK_NOFOLLOW))
		return -errno;
	convert(&st, out);
	return 0;
}

int grove__sys_lstat(const char *path, struct grove__sys_stat *out)
{
	struct stat st;

	if (grove__sys_faulty("lstat") || lstat(path, &st))
		return -errno;
	convert(&st, out);
	return 0;
}

int grove__sys_pread(int fd, void *buf, size_t len, uint64_t off, size_t *got)
{
	*got = 0;
	while (*got < len) {
		ssize_t n = grove__sys_faulty("pread")
				    ? -1 : pread(fd, (char *)buf + *got, len - *got, (off_t)(off + *got));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			break;
		*got += (size_t)n;
	}
	return 0;
}

ssize_t grove__sys_write(int fd, const void *buf, size_t len)
{
	struct grove__sys_limit limit;
	ssize_t n;

	do {
		int f = grove__sys_ask("write");

		grove__sys_limit_begin(&limit);
		n = f > 0 ? -1 : write(fd, buf, f == GROVE__SYS_SHORT ? len / 2 : len);
		grove__sys_limit_end(&limit);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	tell_bytes("write", fd, buf, (size_t)n, GROVE__SYS_HERE);
	return n;
}

int grove__sys_write_all(int fd, const void *buf, size_t len)
{
	const char *p = buf;

	while (len) {
		ssize_t n = grove__sys_write(fd, p, len);

		if (n < 0)
			return (int)n;
		if (!n)
			return -ENOSPC;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

int grove__sys_pwrite_all(int fd, const void *buf, size_t len, uint64_t off)
{
	struct grove__sys_limit limit;
	const char *p = buf;

	while (len) {
		int f = grove__sys_ask("pwrite");
		ssize_t n;

		grove__sys_limit_begin(&limit);
		n = f > 0 ? -1 : pwrite(fd, p, f == GROVE__SYS_SHORT ? (len + 1) / 2 : len,
					(off_t)off);
		grove__sys_limit_end(&limit);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -ENOSPC;
		tell_bytes("write", fd, p, (size_t)n, off);
		p += n;
		off += (uint64_t)n;
		len -= (size_t)n;
	}
	return 0;
}

int grove__sys_seek_cur(int fd, uint64_t *off)
{
	off_t at = grove__sys_faulty("lseek") ? -1 : lseek(fd, 0, SEEK_CUR);

	if (at < 0)
		return -errno;
	*off = (uint64_t)at;
	return 0;
}

void grove__sys_skip_hole(int fd, uint64_t *off, uint64_t end)
{
	off_t at = grove__sys_faulty("lseek") ? -1 : lseek(fd, (off_t)*off, SEEK_DATA);

	if (at >= 0 && (uint64_t)at > *off)
		*off = (uint64_t)at < end ? (uint64_t)at : end;
	else if (at < 0 && errno == ENXIO)
		*off = end;
}

int grove__sys_truncate(int fd, uint64_t size)
{
	struct grove__sys_limit limit;
	int rc;

	do {
		grove__sys_limit_begin(&limit);
		rc = grove__sys_faulty("ftruncate") || ftruncate(fd, (off_t)size) ? -errno : 0;
		grove__sys_limit_end(&limit);
	} while (rc == -EINTR);
	if (rc)
		return rc;
	tell_bytes("truncate", fd, NULL, 0, size);
	return 0;
}

int grove__sys_datasync(int fd)
{
	/* interrupted by a signal: try again */
	while (grove__sys_faulty("fdatasync") || fdatasync(fd))
		if (errno != EINTR)
			return -errno;
	tell_tests("sync", fd, NULL, NULL);
	return 0;
}

int grove__sys_sync(int fd)
{
	/* interrupted by a signal: try again */
	while (grove__sys_faulty("fsync") || fsync(fd))
		if (errno != EINTR)
			return -errno;
	tell_tests("sync", fd, NULL, NULL);
	return 0;
}

void grove__sys_flush_hint(int fd, uint64_t off, uint64_t len)
{
	sync_file_range(fd, (off_t)off, (off_t)len, SYNC_FILE_RANGE_WRITE);
}

int grove__sys_owner(int fd, unsigned mode, unsigned uid, unsigned gid)
{
	struct stat st;

	if (grove__sys_faulty("fchmod") || fstat(fd, &st))
		return -errno;
	/* only root can give files away; for others a changed group is enough */
	if ((st.st_uid != uid || st.st_gid != gid) && fchown(fd, uid, gid) &&
	    fchown(fd, (uid_t)-1, gid) && errno != EPERM)
		return -errno;
	return fchmod(fd, mode) ? -errno : 0;
}

int grove__sys_touch(int fd)
{
	return grove__sys_faulty("futimens") || futimens(fd, NULL) ? -errno : 0;
}

int grove__sys_rename(const char *from, const char *to)
{
	if (grove__sys_faulty("rename") || rename(from, to))
		return -errno;
	tell_tests("rename", -1, from, to);
	return 0;
}

/* Directories cannot be linked, so check and then rename; a directory that is not empty stays. */
static int rename_dir(const char *from, const char *to)
{
	struct stat st;

	if (!lstat(to, &st))
		return -EEXIST;
	if (errno != ENOENT)
		return -errno;
	if (!rename(from, to)) {
		tell_tests("rename", -1, from, to);
		return 0;
	}
	return errno == ENOTEMPTY || errno == ENOTDIR ? -EEXIST : -errno;
}

int grove__sys_rename_new(const char *from, const char *to)
{
	struct stat st;
	int rc;

	if (grove__sys_faulty("rename"))
		return -errno;
	if (!grove__sys_faulty("renameat2") &&
	    !renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE)) {
		tell_tests("rename", -1, from, to);
		return 0;
	}
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
	/* not supported by the file system: use two steps, during which both names are valid */
	if (!lstat(from, &st) && S_ISDIR(st.st_mode))
		return rename_dir(from, to);
	rc = grove__sys_link(from, to);
	return rc ? rc : grove__sys_unlink(from);
}

int grove__sys_link(const char *from, const char *to)
{
	if (grove__sys_faulty("link") || link(from, to))
		return -errno;
	tell_tests("link", -1, from, to);
	return 0;
}

int grove__sys_unlink(const char *path)
{
	if (grove__sys_faulty("unlink") || unlink(path))
		return -errno;
	tell_tests("unlink", -1, path, NULL);
	return 0;
}

int grove__sys_rmdir(const char *path)
{
	if (grove__sys_faulty("rmdir") || rmdir(path))
		return -errno;
	tell_tests("rmdir", -1, path, NULL);
	return 0;
}

int grove__sys_mkdirs(const char *path, unsigned mode)
{
	char part[PATH_MAX];
	size_t len = strlen(path), i;

	if (grove__sys_faulty("mkdir"))
		return -errno;
	if (len >= sizeof(part))
		return -ENAMETOOLONG;
	memcpy(part, path, len + 1);
	for (i = 1; i <= len; i++) {
		char c = part[i];

		if (c != '/' && c != '\0')
			continue;
		part[i] = '\0';
		if (!mkdir(part, mode)) {
			tell_tests("mkdir", -1, part, NULL);
		} else if (errno != EEXIST) {
			/* a parent that we may not inspect can still exist */
			struct stat st;
			int err = errno;

			if (stat(part, &st) || !S_ISDIR(st.st_mode))
				return -err;
		}
		part[i] = c;
	}
	return 0;
}

bool grove__sys_own_dir(const char *path)
{
	struct grove__sys_stat st;

	return !grove__sys_mkdirs(path, 0700) && !grove__sys_stat(path, &st) && grove__sys_is_ours(&st);
}

int grove__sys_sync_dir(const char *path)
{
	int fd, rc;

	rc = grove__sys_open(path, O_RDONLY | O_DIRECTORY, 0, &fd);
	if (rc)
		return rc;
	rc = grove__sys_sync(fd);
	grove__sys_close(fd);
	/* some file systems cannot sync a directory */
	return rc == -EINVAL || rc == -EBADF ? 0 : rc;
}

int grove__sys_sync_parent(const char *path)
{
	char dir[PATH_MAX];
	const char *slash = strrchr(path, '/');
	size_t n = slash ? (size_t)(slash - path) : 0;

	if (n >= sizeof(dir))
		return -ENAMETOOLONG;
	if (!slash)
		return grove__sys_sync_dir(".");
	if (!n)
		return grove__sys_sync_dir("/");
	memcpy(dir, path, n);
	dir[n] = '\0';
	return grove__sys_sync_dir(dir);
}

int grove__sys_sync_parents(const char *path)
{
	char part[PATH_MAX];
	size_t len = strlen(path);
	char *slash;
	int rc = grove__sys_sync_parent(path);

	if (len >= sizeof(part))
		return -ENAMETOOLONG;
	memcpy(part, path, len + 1);
	while (!rc && (slash = strrchr(part, '/')) && slash > part) {
		*slash = '\0';
		rc = grove__sys_sync_parent(part);
		/* one that we may only pass through was not created by us */
		if (rc == -EACCES || rc == -EPERM)
			rc = 0;
	}
	return rc;
}

int grove__sys_list(const char *dir, int (*fn)(void *payload, const char *name), void *payload,
		    int *ended)
{
	struct dirent *e;
	DIR *d;
	int err = 0;

	*ended = 0;
	d = grove__sys_faulty("opendir") ? NULL : opendir(dir);
	if (!d)
		return -errno;
	while (!*ended) {
		errno = 0;
		e = readdir(d);
		if (!e) {
			err = -errno;
			break;
		}
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
			*ended = fn(payload, e->d_name);
	}
	closedir(d);
	return err;
}

int grove__sys_realpath(const char *path, struct grove_buf *out)
{
	char *p = grove__sys_faulty("realpath") ? NULL : realpath(path, NULL);
	int rc;

	if (!p)
		return -errno;
	rc = grove__buf_add_str(out, p) ? -ENOMEM : 0;
	free(p);
	return rc;
}

int grove__sys_tty(struct grove_buf *out)
{
	char path[PATH_MAX];
	ssize_t n;

	if (!isatty(0))
		return -ENOTTY;
	n = readlink("/proc/self/fd/0", path, sizeof(path) - 1);
	if (n > 0)
		path[n] = '\0';
	/* in a container the link may lead to a name that does not exist */
	if (n <= 0 || strncmp(path, "/dev/", 5))
		if (ttyname_r(0, path, sizeof(path)))
			return -ENOTTY;
	return grove__buf_add_str(out, path) ? -ENOMEM : 0;
}

int grove__sys_read_small(const char *path, size_t max, struct grove_buf *out, int64_t *mtime_ns)
{
	struct grove__sys_stat st;
	size_t got = 0;
	int fd, rc = grove__sys_open(path, O_RDONLY, 0, &fd);

	if (rc)
		return rc;
	rc = grove__sys_fstat(fd, &st);
	if (!rc && (st.type != SYS_FILE || st.size > max))
		rc = -EINVAL;
	if (!rc && grove__buf_reserve(out, (size_t)st.size))
		rc = -ENOMEM;
	if (!rc)
		rc = grove__sys_pread(fd, out->ptr + out->len, (size_t)st.size, 0, &got);
	if (!rc) {
		grove__buf_cut(out, out->len + got);
		if (mtime_ns)
			*mtime_ns = st.mtime_ns;
	}
	grove__sys_close(fd);
	return rc;
}
