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

bool grove__sys_wait_fd(int fd, int64_t ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int64_t left = ms < 0 ? 0 : ms > LONG_MS ? LONG_MS : ms;
	int64_t end = grove__sys_ticks_ns() + left * 1000000;

	/* a signal ends the call, not the waiting */
	do {
		if (poll(&p, 1, left > INT_MAX ? INT_MAX : (int)left) > 0)
			return true;
		left = (end - grove__sys_ticks_ns() + 999999) / 1000000;
	} while (left > 0);
	return false;
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
