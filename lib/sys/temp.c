/*
 * sys/temp.c: names of what is not whole yet.
 *
 *	.NAME.mmmmmmppppppnnnn.tmp    machine, process, number
 */
#include "sys/temp.h"

#include "base/crc32c.h"
#include "sys/alive.h"
#include "sys/clock.h"
#include "sys/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DIGITS 16
#define NAME_BYTES 200
#define DAY_MS ((int64_t)86400 * 1000)

/* Differs for each boot of each machine, and for processes that do not see each other. */
static uint32_t machine(void)
{
	char id[64], space[64];
	ssize_t n = readlink("/proc/self/ns/pid", space, sizeof(space));
	int fd = n > 0 ? open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC) : -1;
	ssize_t got = fd < 0 ? -1 : read(fd, id, sizeof(id));

	if (fd >= 0)
		close(fd);
	return got > 0 ? grove__crc32c(grove__crc32c(0, id, (size_t)got), space, (size_t)n) & 0xffffff : 0;
}

int grove__sys_temp_name(const char *path, struct grove_buf *out)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	size_t n = strlen(name);
	uint16_t r;

	grove__sys_random(&r, sizeof(r));
	return grove__buf_addf(out, "%.*s.%s.%06x%06x%04x" GROVE__TEMP_TAIL, (int)(name - path), path,
			       n > NAME_BYTES ? name + n - NAME_BYTES : name, (unsigned)machine(),
			       (unsigned)grove__sys_pid() & 0xffffff, (unsigned)r)
		       ? -ENOMEM : 0;
}

int grove__sys_temp_open(const char *path, int flags, struct grove_buf *out, int *fd)
{
	size_t len = out->len;
	int err;

	*fd = -1;
	do {
		grove__buf_cut(out, len);
		err = grove__sys_temp_name(path, out);
		if (!err)
			err = grove__sys_open(out->ptr, flags | O_CREAT | O_EXCL | O_NOFOLLOW, 0600, fd);
	} while (err == -EEXIST);
	return err;
}

size_t grove__sys_temp_of(const char *name, const char *tail)
{
	size_t n = strlen(name), k = strlen(tail), end = n - k;

	if (name[0] != '.' || n < k + DIGITS + 3 || strcmp(name + end, tail) ||
	    name[end - DIGITS - 1] != '.' || strspn(name + end - DIGITS, "0123456789abcdef") < DIGITS)
		return 0;
	return end - DIGITS - 2;
}

size_t grove__sys_temp_for(const char *name, const char *tail, const char *of)
{
	size_t n = grove__sys_temp_of(name, tail), k = of ? strlen(of) : n, cut = k > NAME_BYTES ? k - NAME_BYTES : 0;

	return n && (!of || (n == k - cut && !memcmp(name + 1, of + cut, n))) ? n : 0;
}

/* Returns the process that made the name, and 0 if it was none of this machine's. */
static int64_t maker(const char *name, const char *tail)
{
	size_t n = grove__sys_temp_of(name, tail);
	uint64_t hex = n ? strtoull(name + n + 2, NULL, 16) : 0;

	return hex >> 40 && hex >> 40 == machine() ? (int64_t)(hex >> 16 & 0xffffff) : 0;
}

bool grove__sys_temp_left(const char *path, const char *tail)
{
	const char *slash = strrchr(path, '/');
	struct grove__sys_stat st;

	if (grove__sys_lstat(path, &st) || st.type != SYS_FILE || grove__sys_open_for_writing(path, -1))
		return false;
	return maker(slash ? slash + 1 : path, tail) || st.mtime_ns / 1000000 < grove__sys_now_ms() - DAY_MS;
}

bool grove__sys_temp_gone(const char *name, const char *tail, int64_t changed)
{
	int64_t pid = maker(name, tail);

	return pid ? !grove__sys_alive(pid, NULL) : changed < grove__sys_now_ms() - DAY_MS;
}
