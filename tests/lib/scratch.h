/*
 * tests/lib/scratch.h: a temporary directory for a test, and files in it.
 *
 * All functions assert that they succeed: a test that cannot set up its files
 * has failed. Include after cmocka.h.
 */
#ifndef TESTS_LIB_SCRATCH_H
#define TESTS_LIB_SCRATCH_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"

/*
 * For tests that create thousands of files and sync each a few times, which takes
 * long on a disk: from now on directories are created in memory, unless $TMPDIR names
 * a place.
 */
static inline void scratch_prefer_memory(void)
{
	if (!access("/dev/shm", W_OK))
		setenv("TMPDIR", "/dev/shm", 0);
}

/* Creates a new directory below $TMPDIR or /tmp. */
static inline void scratch_make(char *dir, size_t cap)
{
	const char *tmp = getenv("TMPDIR");

	assert_in_range(snprintf(dir, cap, "%s/grove-test-XXXXXX", tmp && *tmp ? tmp : "/tmp"), 1,
			cap - 1);
	assert_non_null(mkdtemp(dir));
}

static inline int scratch_remove_one(const char *path, const struct stat *st, int type,
				     struct FTW *ftw)
{
	(void)st;
	(void)ftw;
	return type == FTW_DP || type == FTW_D ? rmdir(path) : unlink(path);
}

/* Removes the directory and everything in it. */
static inline void scratch_remove(const char *dir)
{
	nftw(dir, scratch_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* Returns the content of a file in a new buffer, which the caller releases. */
static inline struct grove_buf file_bytes(const char *path)
{
	struct grove_buf b = GROVE_BUF_INIT;
	char part[65536];
	ssize_t n;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		fail_msg("cannot read %s: %s", path, strerror(errno));
	while ((n = read(fd, part, sizeof(part))) > 0)
		assert_int_equal(grove__buf_add(&b, part, (size_t)n), 0);
	assert_int_equal(n, 0);
	close(fd);
	return b;
}

/*
 * Does open(2) with `flags`, one write(2) and close(2), like a program that knows nothing of grove.
 */
static inline void file_put(const char *path, int flags, const char *ptr, size_t len)
{
	int fd = open(path, flags | O_WRONLY | O_CLOEXEC, 0600);

	if (fd < 0)
		fail_msg("cannot open %s: %s", path, strerror(errno));
	assert_int_equal(write(fd, ptr, len), len);
	close(fd);
}

static inline void file_make(const char *path, const char *text)
{
	file_put(path, O_CREAT | O_TRUNC, text, strlen(text));
}

static inline void file_add(const char *path, const char *text)
{
	file_put(path, O_APPEND, text, strlen(text));
}

static inline void assert_file(const char *path, const char *text)
{
	struct grove_buf b = file_bytes(path);

	if (b.len != strlen(text) || (b.len && memcmp(b.ptr, text, b.len)))
		fail_msg("%s is not what it should be:\n%s\nbut:\n%s", path, text,
			 b.ptr ? b.ptr : "");
	grove__buf_release(&b);
}

static inline int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Returns the names in a directory, sorted, each followed by a blank. */
static inline struct grove_buf dir_names(const char *dir)
{
	struct grove_buf b = GROVE_BUF_INIT;
	char *name[256];
	size_t nr = 0;
	struct dirent *e;
	DIR *d = opendir(dir);

	assert_non_null(d);
	while ((e = readdir(d)))
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, "..")) {
			assert_in_range(nr, 0, 255);
			name[nr] = strdup(e->d_name);
			assert_non_null(name[nr++]);
		}
	closedir(d);
	qsort(name, nr, sizeof(*name), by_name);
	for (size_t i = 0; i < nr; i++) {
		assert_int_equal(grove__buf_addf(&b, "%s ", name[i]), 0);
		free(name[i]);
	}
	return b;
}

static inline void assert_dir(const char *dir, const char *names)
{
	struct grove_buf b = dir_names(dir);

	assert_string_equal(b.ptr ? b.ptr : "", names);
	grove__buf_release(&b);
}

#endif
