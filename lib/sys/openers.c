/*
 * sys/openers.c: which processes have files open.
 *
 * Linux shows this as links in /proc/PID/fd. For a single file the links are followed, so
 * names do not matter; for all files of a kind their names are read, which needs no access
 * to the files.
 */
#include "sys/openers.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct asked {
	const struct stat *want;
	const char *suffix;
	grove__open_file_fn *fn;
	void *payload;
};

bool grove__sys_can_write(const char *line)
{
	unsigned flags;

	return sscanf(line, "flags: %o", &flags) == 1 && (flags & O_ACCMODE) != O_RDONLY;
}

bool grove__sys_descriptor_says(const struct grove__open_file *f, grove__fdinfo_fn *says)
{
	char path[PATH_MAX], line[128];
	bool found = false;
	FILE *info;

	snprintf(path, sizeof(path), "/proc/%ld/fdinfo/%s", f->pid, f->fd);
	info = fopen(path, "re");
	if (!info)
		return false;
	while (!found && fgets(line, sizeof(line), info))
		found = says(line);
	fclose(info);
	return found;
}

static bool is_wanted(const struct asked *a, const char *link)
{
	struct stat st;

	return !stat(link, &st) && st.st_dev == a->want->st_dev && st.st_ino == a->want->st_ino;
}

/* Gets the name of the file behind a link, if it has the suffix. */
static bool is_named(const struct asked *a, const char *link, char *name, size_t size)
{
	size_t end = strlen(a->suffix);
	ssize_t n = readlink(link, name, size - 1);

	if (n <= (ssize_t)end || *name != '/')
		return false;
	name[n] = '\0';
	return !strcmp(name + n - end, a->suffix);
}

static int look_at_process(const struct asked *a, const char *pid)
{
	char dir[64], link[PATH_MAX], name[PATH_MAX];
	struct dirent *e;
	int rc = 0;
	DIR *d;

	snprintf(dir, sizeof(dir), "/proc/%.20s/fd", pid);
	d = opendir(dir);
	if (!d)
		return 0; /* another user's process, or gone */
	while (!rc && (e = readdir(d))) {
		struct grove__open_file f = { .pid = atol(pid), .fd = e->d_name };

		if (e->d_name[0] == '.')
			continue;
		snprintf(link, sizeof(link), "%s/%.20s", dir, e->d_name);
		if (a->want ? is_wanted(a, link) : is_named(a, link, name, sizeof(name))) {
			f.path = a->want ? NULL : name;
			rc = a->fn(a->payload, &f);
		}
	}
	closedir(d);
	return rc;
}

int grove__sys_each_open(const struct stat *want, const char *suffix, grove__open_file_fn *fn, void *payload)
{
	struct asked a = { .want = want, .suffix = suffix, .fn = fn, .payload = payload };
	struct dirent *e;
	DIR *d = opendir("/proc");
	int rc = 0;

	if (!d)
		return -errno;
	while (!rc && (e = readdir(d)))
		if (e->d_name[0] >= '1' && e->d_name[0] <= '9')
			rc = look_at_process(&a, e->d_name);
	closedir(d);
	return rc;
}

void grove__sys_program(long pid, char *out, size_t size)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%ld/comm", pid);
	f = fopen(path, "re");
	if (!f || !fgets(out, (int)size, f))
		snprintf(out, size, "?");
	if (f)
		fclose(f);
	out[strcspn(out, "\n")] = '\0';
	for (char *p = out; *p; p++)
		if (*p < ' ' || *p > '~')
			*p = '?';
}
