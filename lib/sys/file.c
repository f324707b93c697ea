/*
 * sys/file.c: files, as the operating system gives them to us.
 */
#include "sys/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

grove__sys_fault_fn *grove__sys_fault;

static int fault(const char *call)
{
	return grove__sys_fault ? grove__sys_fault(call) : 0;
}

int grove__sys_open(const char *path, int flags, unsigned mode, int *fd)
{
	int n = fault("open");

	if (n > 0)
		return -n;
	/* O_NONBLOCK: a FIFO somebody named like a session must not hang us */
	do
		*fd = open(path, flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, mode);
	while (*fd < 0 && errno == EINTR);
	return *fd < 0 ? -errno : 0;
}

void grove__sys_close(int fd)
{
	if (fd >= 0)
		close(fd);
}

int grove__sys_replace_fd(int fd, int other)
{
	int n = fault("dup"), rc;

	rc = n > 0 ? -n : dup3(other, fd, O_CLOEXEC) < 0 ? -errno : 0;
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

int grove__sys_fstat(int fd, struct grove__sys_stat *out)
{
	struct stat st;
	int n = fault("fstat");

	if (n > 0)
		return -n;
	if (fstat(fd, &st))
		return -errno;
	convert(&st, out);
	return 0;
}

int grove__sys_size(int fd, uint64_t *size, unsigned *nlink)
{
	struct statx st;
	int n = fault("fstat");

	if (n > 0)
		return -n;
	if (statx(fd, "", AT_EMPTY_PATH, STATX_SIZE | STATX_NLINK, &st))
		return -errno;
	*size = st.stx_size;
	*nlink = st.stx_nlink;
	return 0;
}

int grove__sys_stat(const char *path, struct grove__sys_stat *out)
{
	struct stat st;
	int n = fault("stat");

	if (n > 0)
		return -n;
	if (stat(path, &st))
		return -errno;
	convert(&st, out);
	return 0;
}

int grove__sys_lstat(const char *path, struct grove__sys_stat *out)
{
	struct stat st;
	int n = fault("lstat");

	if (n > 0)
		return -n;
	if (lstat(path, &st))
		return -errno;
	convert(&st, out);
	return 0;
}

int grove__sys_pread(int fd, void *buf, size_t len, uint64_t off, size_t *got)
{
	int f = fault("pread");

	*got = 0;
	if (f > 0)
		return -f;
	while (*got < len) {
		ssize_t n = pread(fd, (char *)buf + *got, len - *got, (off_t)(off + *got));

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
	int f = fault("write");
	ssize_t n;

	if (f > 0)
		return -f;
	if (f == GROVE__SYS_SHORT)
		len /= 2;
	do
		n = write(fd, buf, len);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
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
	const char *p = buf;
	int f = fault("pwrite");

	if (f > 0)
		return -f;
	while (len) {
		ssize_t n = pwrite(fd, p, len, (off_t)off);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -ENOSPC;
		p += n;
		off += (uint64_t)n;
		len -= (size_t)n;
	}
	return 0;
}

int grove__sys_seek_cur(int fd, uint64_t *off)
{
	int n = fault("lseek");
	off_t at;

	if (n > 0)
		return -n;
	at = lseek(fd, 0, SEEK_CUR);
	if (at < 0)
		return -errno;
	*off = (uint64_t)at;
	return 0;
}

int grove__sys_truncate(int fd, uint64_t size)
{
	int n = fault("ftruncate");

	if (n > 0)
		return -n;
	while (ftruncate(fd, (off_t)size))
		if (errno != EINTR)
			return -errno;
	return 0;
}

int grove__sys_datasync(int fd)
{
	int n = fault("fdatasync");

	if (n > 0)
		return -n;
	return fdatasync(fd) ? -errno : 0;
}

int grove__sys_sync(int fd)
{
	int n = fault("fsync");

	if (n > 0)
		return -n;
	return fsync(fd) ? -errno : 0;
}

void grove__sys_flush_hint(int fd, uint64_t off, uint64_t len)
{
	sync_file_range(fd, (off_t)off, (off_t)len, SYNC_FILE_RANGE_WRITE);
}

int grove__sys_owner(int fd, unsigned mode, unsigned uid, unsigned gid)
{
	struct stat st;
	int n = fault("fchmod");

	if (n > 0)
		return -n;
	if (fstat(fd, &st))
		return -errno;
	/* only root can give files away; for others a changed group is enough */
	if ((st.st_uid != uid || st.st_gid != gid) && fchown(fd, uid, gid) &&
	    fchown(fd, (uid_t)-1, gid) && errno != EPERM)
		return -errno;
	return fchmod(fd, mode) ? -errno : 0;
}

int grove__sys_touch(int fd)
{
	int n = fault("futimens");

	if (n > 0)
		return -n;
	return futimens(fd, NULL) ? -errno : 0;
}

int grove__sys_rename(const char *from, const char *to)
{
	int n = fault("rename");

	if (n > 0)
		return -n;
	return rename(from, to) ? -errno : 0;
}

/* Directories have no second name: look, then rename; one that is not empty stays. */
static int rename_dir(const char *from, const char *to)
{
	struct stat st;

	if (!lstat(to, &st))
		return -EEXIST;
	if (errno != ENOENT)
		return -errno;
	if (!rename(from, to))
		return 0;
	return errno == ENOTEMPTY || errno == ENOTDIR ? -EEXIST : -errno;
}

int grove__sys_rename_new(const char *from, const char *to)
{
	struct stat st;
	int n = fault("rename");

	if (n > 0)
		return -n;
	n = fault("renameat2");
	if (n <= 0) {
		if (!renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE))
			return 0;
		n = errno;
	}
	if (n != EINVAL && n != ENOSYS)
		return -n;
	/* a file system without that: two steps, both names good in between */
	if (!lstat(from, &st) && S_ISDIR(st.st_mode))
		return rename_dir(from, to);
	if (link(from, to))
		return -errno;
	return unlink(from) ? -errno : 0;
}

int grove__sys_link(const char *from, const char *to)
{
	int n = fault("link");

	if (n > 0)
		return -n;
	return link(from, to) ? -errno : 0;
}

int grove__sys_unlink(const char *path)
{
	int n = fault("unlink");

	if (n > 0)
		return -n;
	return unlink(path) ? -errno : 0;
}

int grove__sys_rmdir(const char *path)
{
	int n = fault("rmdir");

	if (n > 0)
		return -n;
	return rmdir(path) ? -errno : 0;
}

int grove__sys_mkdirs(const char *path, unsigned mode)
{
	char part[PATH_MAX];
	size_t len = strlen(path), i;
	int n = fault("mkdir");

	if (n > 0)
		return -n;
	if (len >= sizeof(part))
		return -ENAMETOOLONG;
	memcpy(part, path, len + 1);
	for (i = 1; i <= len; i++) {
		char c = part[i];

		if (c != '/' && c != '\0')
			continue;
		part[i] = '\0';
		if (mkdir(part, mode) && errno != EEXIST) {
			/* a parent we may not look into can still be there */
			struct stat st;
			int err = errno;

			if (stat(part, &st) || !S_ISDIR(st.st_mode))
				return -err;
		}
		part[i] = c;
	}
	return 0;
}

int grove__sys_sync_dir(const char *path)
{
	int fd, rc;

	rc = grove__sys_open(path, O_RDONLY | O_DIRECTORY, 0, &fd);
	if (rc)
		return rc;
	rc = grove__sys_sync(fd);
	grove__sys_close(fd);
	/* some file systems have no notion of syncing a directory */
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
		/* one we may only pass through is not one we made */
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
	int err = fault("opendir");

	*ended = 0;
	if (err > 0)
		return -err;
	err = 0;
	d = opendir(dir);
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
	int rc = fault("realpath");
	char *p;

	if (rc > 0)
		return -rc;
	p = realpath(path, NULL);
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
	/* in a container the link may lead to a name that is not there */
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
