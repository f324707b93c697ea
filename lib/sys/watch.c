/*
 * sys/watch.c: waiting for something to happen, and telling whether it did.
 */
#include "sys/watch.h"

#include "sys/clock.h"
#include "sys/seam.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define LONG_MS ((int64_t)1 << 40)  /* as good as for ever, and safe to multiply */

unsigned grove__sys_wait_fds(int a, int b, int64_t ms)
{
	struct pollfd p[] = { { .fd = a, .events = POLLIN }, { .fd = b, .events = POLLIN } };
	int64_t left = ms < 0 ? 0 : ms > LONG_MS ? LONG_MS : ms;
	int64_t end = grove__sys_ticks_ns() + left * 1000000;

	/* a signal ends the call, not the waiting */
	do {
		if (poll(p, 2, left > INT_MAX ? INT_MAX : (int)left) > 0)
			return (p[0].revents ? 1u : 0) | (p[1].revents ? 2u : 0);
		left = (end - grove__sys_ticks_ns() + 999999) / 1000000;
	} while (left > 0);
	return 0;
}

bool grove__sys_wait_fd(int fd, int64_t ms)
{
	return grove__sys_wait_fds(fd, -1, ms);
}

static int add(int fd, const char *path, uint32_t mask, int *wd)
{
	int err, now;

	if (grove__sys_faulty("inotify_add_watch"))
		return -errno;
	now = inotify_add_watch(fd, path, mask);
	err = now < 0 ? -errno : 0;
	/* the same thing has the same number: another one takes its place */
	if (*wd >= 0 && *wd != now)
		inotify_rm_watch(fd, *wd);
	*wd = now;
	return err;
}

static int add_parent(int fd, const char *path, int *wd)
{
	char dir[PATH_MAX];
	const char *slash = strrchr(path, '/');
	size_t n = slash ? (size_t)(slash - path) : 0;

	if (n >= sizeof(dir))
		return -ENAMETOOLONG;
	memcpy(dir, path, n);
	dir[n] = '\0';
	return add(fd, n ? dir : slash ? "/" : ".",
		   IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ONLYDIR, wd);
}

int grove__sys_watch(struct grove__sys_watch *w, const char *path)
{
	int err;

	if (w->fd < 0) {
		w->fd = grove__sys_faulty("inotify_init") ? -1
							  : inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
		if (w->fd < 0)
			return -errno;
	}
	/* the file tells of its own end, too; only a link that leads elsewhere is the directory's */
	err = add(w->fd, path, IN_MODIFY | IN_ATTRIB | IN_MOVE_SELF | IN_DELETE_SELF, &w->file);
	add_parent(w->fd, path, &w->dir);
	return err == -ENOENT ? 0 : err;
}

bool grove__sys_watch_take(struct grove__sys_watch *w, const char *path)
{
	_Alignas(struct inotify_event) char buf[4096];
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	const struct inotify_event *e;
	bool ours = false;
	ssize_t n;

	while (w->fd >= 0 && (n = read(w->fd, buf, sizeof(buf))) > 0)
		for (const char *p = buf; p < buf + n; p += sizeof(*e) + e->len) {
			e = (const void *)p;
			if (e->mask & IN_Q_OVERFLOW || e->wd == w->file ||
			    (e->wd == w->dir && (!e->len || !strcmp(e->name, name))))
				ours = true;
			/* what is gone is watched no more */
			if (e->mask & IN_IGNORED && e->wd == w->file)
				w->file = -1;
			if (e->mask & IN_IGNORED && e->wd == w->dir)
				w->dir = -1;
		}
	return ours;
}

void grove__sys_watch_end(struct grove__sys_watch *w)
{
	grove__sys_close(w->fd);
	w->fd = w->file = w->dir = -1;
}

/* -------------------------------------------------------- many directories */

int grove__sys_dirs_open(int *fd)
{
	*fd = grove__sys_faulty("inotify_init") ? -1 : inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	return *fd < 0 ? -errno : 0;
}

int grove__sys_dirs_add(int fd, const char *path, int *number)
{
	*number = grove__sys_faulty("inotify_add_watch")
			  ? -1
			  : inotify_add_watch(fd, path, IN_MODIFY | IN_ATTRIB | IN_CREATE | IN_DELETE |
								IN_MOVED_FROM | IN_MOVED_TO | IN_MOVE_SELF |
								IN_DELETE_SELF | IN_ONLYDIR);
	return *number < 0 ? -errno : 0;
}

void grove__sys_dirs_remove(int fd, int number)
{
	inotify_rm_watch(fd, number);
}

bool grove__sys_dirs_take(int fd, grove__sys_dirs_fn *fn, void *payload)
{
	_Alignas(struct inotify_event) char buf[16384];
	const struct inotify_event *e;
	bool all = true;
	ssize_t n;

	while ((n = read(fd, buf, sizeof(buf))) > 0)
		for (const char *p = buf; p < buf + n; p += sizeof(*e) + e->len) {
			e = (const void *)p;
			if (e->mask & IN_Q_OVERFLOW)
				all = false;
			else
				fn(payload, e->wd, e->len ? e->name : NULL,
				   e->mask & (IN_IGNORED | IN_MOVE_SELF));
		}
	return all;
}

static int64_t ns(struct statx_timestamp t)
{
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int grove__sys_fstat_born(int fd, struct grove__sys_stat *out, int64_t *us)
{
	struct statx st;
	bool unborn;

	if (grove__sys_faulty("fstat"))
		return -errno;
	/* ENODATA: a file system that does not know */
	unborn = grove__sys_faulty("statx");
	if ((unborn && errno != ENODATA) ||
	    statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_BTIME, &st))
		return -errno;
	out->dev = makedev(st.stx_dev_major, st.stx_dev_minor);
	out->ino = st.stx_ino;
	out->size = st.stx_size;
	out->mtime_ns = ns(st.stx_mtime);
	out->ctime_ns = ns(st.stx_ctime);
	out->mode = st.stx_mode & 07777;
	out->uid = st.stx_uid;
	out->gid = st.stx_gid;
	out->nlink = st.stx_nlink;
	out->type = S_ISREG(st.stx_mode) ? SYS_FILE : S_ISDIR(st.stx_mode) ? SYS_DIR : SYS_OTHER;
	*us = unborn || !(st.stx_mask & STATX_BTIME) ? 0 : ns(st.stx_btime) / 1000;
	return 0;
}
