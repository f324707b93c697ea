/*
 * tests/unit/test_sys_faults.c: failures of the system calls that sys/ makes.
 *
 * Other tests make a call fail before the system is asked. Here the linker
 * replaces the system calls themselves (--wrap, see tests/meson.build), so that
 * the handling of the system's own error codes is tested, too.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include <dirent.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/random.h>
#include <sys/vfs.h>
#include <sys/wait.h>

#include "sys/alive.h"
#include "sys/clock.h"
#include "sys/event.h"
#include "sys/map.h"
#include "sys/remote.h"
#include "sys/stamp.h"
#include "sys/watch.h"

#include "../lib/scratch.h"

/* -------------------------------------------------------------- broken calls */

#define EVERY 1000
/* The call answers 0 although there was something to do. */
#define NOTHING (-1)

static struct {
	const char *call;
	int err, times;
} broken;

static void breaks(const char *call, int err, int times)
{
	broken.call = call;
	broken.err = err;
	broken.times = times;
}

static bool fails(const char *call)
{
	if (!broken.call || strcmp(broken.call, call) || broken.times <= 0)
		return false;
	broken.times--;
	errno = broken.err > 0 ? broken.err : errno;
	return true;
}

#define BROKEN(type, name, params, args, answer) \
	type __real_##name params; \
	type __wrap_##name params; \
	type __wrap_##name params \
	{ \
		return fails(#name) ? (answer) : __real_##name args; \
	}
#define FAILED (broken.err == NOTHING ? 0 : -1)

BROKEN(int, dup3, (int a, int b, int flags), (a, b, flags), -1)
BROKEN(ssize_t, write, (int fd, const void *p, size_t n), (fd, p, n), FAILED)
BROKEN(ssize_t, pwrite64, (int fd, const void *p, size_t n, off_t off), (fd, p, n, off), FAILED)
BROKEN(int, fchown, (int fd, uid_t uid, gid_t gid), (fd, uid, gid), -1)
BROKEN(int, fchmod, (int fd, mode_t mode), (fd, mode), -1)
BROKEN(int, rename, (const char *from, const char *to), (from, to), -1)
BROKEN(int, mkdir, (const char *path, mode_t mode), (path, mode), -1)
BROKEN(int, fsync, (int fd), (fd), -1)
BROKEN(int, isatty, (int fd), (fd), 1)
BROKEN(ssize_t, readlink, (const char *path, char *out, size_t n), (path, out, n), -1)
BROKEN(int, ttyname_r, (int fd, char *out, size_t n), (fd, out, n), (snprintf(out, n, "/dev/tty9"), 0))
BROKEN(DIR *, opendir, (const char *path), (path), NULL)
BROKEN(FILE *, fopen64, (const char *path, const char *how), (path, how), NULL)
BROKEN(int, eventfd, (unsigned n, int flags), (n, flags), -1)
BROKEN(int, poll, (struct pollfd *p, nfds_t n, int ms), (p, n, ms), -1)
BROKEN(int, inotify_init1, (int flags), (flags), -1)
BROKEN(ssize_t, getrandom, (void *p, size_t n, unsigned flags), (p, n, flags), -1)
BROKEN(int, sched_getaffinity, (pid_t pid, size_t n, cpu_set_t *set), (pid, n, set), -1)
BROKEN(int, kill, (pid_t pid, int sig), (pid, sig), -1)
BROKEN(long, sysconf, (int name), (name), 0)
BROKEN(pid_t, waitpid, (pid_t pid, int *status, int how), (pid, status, how), -1)
BROKEN(int, posix_spawn_file_actions_init, (posix_spawn_file_actions_t *a), (a), ENOMEM)

int __real_statfs64(const char *path, struct statfs *st);
int __wrap_statfs64(const char *path, struct statfs *st);
int __wrap_statfs64(const char *path, struct statfs *st)
{
	int rc = __real_statfs64(path, st);

	if (fails("statfs64"))
		st->f_type = broken.err;
	return rc;
}

int __real_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...)
{
	va_list ap;
	unsigned mode;

	va_start(ap, flags);
	mode = flags & O_CREAT ? va_arg(ap, unsigned) : 0;
	va_end(ap);
	return fails("open64") ? -1 : __real_open64(path, flags, mode);
}

/* --------------------------------------------------------------- the fixture */

static char dir[256];

static int set_up(void **state)
{
	(void)state;
	scratch_make(dir, sizeof(dir));
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	broken.call = NULL;
	scratch_remove(dir);
	return 0;
}

static const char *in(const char *name)
{
	static char path[4][600];
	static unsigned turn;
	char *p = path[turn++ % 4];

	snprintf(p, sizeof(path[0]), "%s/%s", dir, name);
	return p;
}

static int file(const char *name)
{
	int fd;

	file_make(in(name), "some bytes");
	assert_int_equal(grove__sys_open(in(name), O_RDWR, 0, &fd), 0);
	return fd;
}

/* ------------------------------------------------------------------- the cases */

static void a_descriptor_that_is_none_is_told(void **state)
{
	struct grove__sys_stat st;
	unsigned links;
	uint64_t size;
	int64_t born;
	char *p;

	(void)state;
	assert_int_equal(grove__sys_fstat(-1, &st), -EBADF);
	assert_int_equal(grove__sys_fstat_born(-1, &st, &born), -EBADF);
	assert_int_equal(grove__sys_size(-1, &size, &links), -EBADF);
	assert_int_equal(grove__sys_truncate(-1, 0), -EBADF);
	assert_int_equal(grove__sys_datasync(-1), -EBADF);
	assert_int_equal(grove__sys_sync(-1), -EBADF);
	assert_int_equal(grove__sys_owner(-1, 0600, 0, 0), -EBADF);
	assert_int_equal(grove__sys_touch(-1), -EBADF);
	assert_int_equal(grove__sys_lock(-1), -EBADF);
	assert_int_equal(grove__sys_map(-1, 10, &p), -EBADF);
	assert_null(p);
	grove__sys_unmap(NULL, 10);
	assert_int_equal(grove__sys_replace_fd(-1, dup(1)), -EBADF);
	assert_int_equal(grove__sys_bell_rang(-1), 0);
	errno = 7;
	grove__sys_bell_ring(-1);
	assert_int_equal(errno, 7);
}

static void a_name_that_is_none_is_told(void **state)
{
	(void)state;
	assert_int_equal(grove__sys_set_mtime(in("none"), 1), -ENOENT);
	assert_int_equal(grove__sys_set_mode(in("none"), 0600), -ENOENT);
	assert_int_equal(grove__sys_rmdir(in("none")), -ENOENT);
	assert_int_equal(grove__sys_open_for_writing(in("none"), -1), -ENOENT);
	assert_false(grove__sys_is_remote(in("none")));
}

static void a_write_that_takes_nothing_is_a_full_disk(void **state)
{
	int fd = file("f");

	(void)state;
	breaks("write", NOTHING, 1);
	assert_int_equal(grove__sys_write_all(fd, "x", 1), -ENOSPC);
	breaks("pwrite64", NOTHING, 1);
	assert_int_equal(grove__sys_pwrite_all(fd, "x", 1, 0), -ENOSPC);
	breaks("pwrite64", EINTR, 1);
	assert_int_equal(grove__sys_pwrite_all(fd, "x", 1, 0), 0);
	grove__sys_close(fd);
}

static void signals_in_rare_calls_interrupt_nothing(void **state)
{
	const char *const argv[] = { "true", NULL };
	int fd = file("f"), bell;
	char random[8] = "";

	(void)state;
	breaks("dup3", EINTR, 2);
	assert_int_equal(grove__sys_replace_fd(fd, dup(fd)), 0);
	breaks("getrandom", EINTR, 2);
	grove__sys_random(random, sizeof(random));
	assert_true(memcmp(random, "\0\0\0\0\0\0\0\0", 8) != 0);
	breaks("waitpid", EINTR, 1);
	assert_int_equal(grove__sys_run(argv), 0);
	assert_int_equal(grove__sys_bell_open(&bell), 0);
	grove__sys_bell_ring(bell);
	breaks("poll", EINTR, 1);
	assert_int_equal(grove__sys_wait_fd(bell, 60000), 1);
	grove__sys_close(bell);
	grove__sys_close(fd);
}

static void a_program_that_cannot_be_waited_for_is_told(void **state)
{
	const char *const argv[] = { "true", NULL };

	(void)state;
	breaks("posix_spawn_file_actions_init", 0, 1);
	assert_int_equal(grove__sys_run(argv), -ENOMEM);
	breaks("waitpid", ECHILD, 1);
	assert_int_equal(grove__sys_run(argv), -ECHILD);
}

static void files_that_cannot_be_given_away_keep_their_owner(void **state)
{
	int fd = file("f");

	(void)state;
	/* who is not root may not; the group alone is tried then */
	breaks("fchown", EPERM, 2);
	assert_int_equal(grove__sys_owner(fd, 0640, getuid() + 1, getgid() + 1), 0);
	breaks("fchown", EIO, 2);
	assert_int_equal(grove__sys_owner(fd, 0640, getuid() + 1, getgid()), -EIO);
	breaks("fchmod", EROFS, 1);
	assert_int_equal(grove__sys_owner(fd, 0640, getuid(), getgid()), -EROFS);
	grove__sys_close(fd);
}

static int no_renameat2(const char *call)
{
	return strcmp(call, "renameat2") ? 0 : ENOSYS;
}

static void a_directory_that_somebody_else_filled_stays(void **state)
{
	(void)state;
	grove__sys_fault = no_renameat2;
	assert_int_equal(mkdir(in("d"), 0700), 0);
	breaks("rename", ENOTEMPTY, 1);
	assert_int_equal(grove__sys_rename_new(in("d"), in("e")), -EEXIST);
	breaks("rename", ENOTDIR, 1);
	assert_int_equal(grove__sys_rename_new(in("d"), in("e")), -EEXIST);
	breaks("rename", EROFS, 1);
	assert_int_equal(grove__sys_rename_new(in("d"), in("e")), -EROFS);
	assert_int_equal(grove__sys_rename_new(in("none"), in("e")), -ENOENT);
	grove__sys_fault = NULL;
}

static void a_directory_that_is_there_need_not_be_made(void **state)
{
	(void)state;
	/* a file system that is read-only says so before it says that it is there */
	breaks("mkdir", EROFS, EVERY);
	assert_int_equal(grove__sys_mkdirs(dir, 0700), 0);
	assert_int_equal(grove__sys_mkdirs(in("new"), 0700), -EROFS);
	file_make(in("f"), "");
	assert_int_equal(grove__sys_mkdirs(in("f"), 0700), -EROFS);
}

static void a_directory_that_cannot_be_synced_may_be_one_of_others(void **state)
{
	(void)state;
	breaks("fsync", EINVAL, 1);
	assert_int_equal(grove__sys_sync_dir(dir), 0);
	breaks("fsync", EIO, 1);
	assert_int_equal(grove__sys_sync_dir(dir), -EIO);
}

static void a_terminal_has_a_name_or_none(void **state)
{
	struct grove_buf b = GROVE_BUF_INIT;
	int fd = file("f"), saved = dup(0);

	(void)state;
	assert_int_equal(dup2(fd, 0), 0);
	assert_int_equal(grove__sys_tty(&b), -ENOTTY);
	/* one whose link leads to no device, and that has no name */
	breaks("isatty", 0, 1);
	assert_int_equal(grove__sys_tty(&b), -ENOTTY);
	assert_int_equal(b.len, 0);
	assert_int_equal(dup2(saved, 0), 0);
	close(saved);
	grove__sys_close(fd);
	grove__buf_release(&b);
}

static void without_proc_nobody_knows_who_writes(void **state)
{
	int fd = file("f"), other;

	(void)state;
	assert_int_equal(grove__sys_open(in("f"), O_WRONLY, 0, &other), 0);
	assert_int_equal(grove__sys_open_for_writing(in("f"), fd), 2);
	breaks("opendir", ENOENT, 1);
	assert_int_equal(grove__sys_open_for_writing(in("f"), fd), -ENOENT);
	/* a process that ends meanwhile */
	breaks("fopen64", ENOENT, EVERY);
	assert_int_equal(grove__sys_open_for_writing(in("f"), fd), 0);
	grove__sys_close(other);
	grove__sys_close(fd);
}

static void without_proc_a_process_that_answers_is_alive(void **state)
{
	int64_t began;

	(void)state;
	assert_true(grove__sys_alive(getpid(), &began));
	assert_true(began > 0);
	breaks("open64", ENOENT, 1);
	assert_true(grove__sys_alive(getpid(), &began));
	assert_int_equal(began, 0);
	breaks("sysconf", 0, 1);
	assert_true(grove__sys_alive(getpid(), &began));
	assert_int_equal(began, 0);
	/* another user's */
	breaks("kill", EPERM, 1);
	assert_true(grove__sys_alive(getpid(), NULL));
	breaks("kill", ESRCH, 1);
	assert_false(grove__sys_alive(getpid(), NULL));
}

static void one_that_has_ended_is_not_alive(void **state)
{
	pid_t pid = fork();
	siginfo_t info;

	(void)state;
	if (!pid)
		_exit(0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	assert_false(grove__sys_alive(pid, NULL));
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_false(grove__sys_alive(pid, NULL));
}

static void a_place_on_another_machine_is_known(void **state)
{
	(void)state;
	assert_false(grove__sys_is_remote(dir));
	breaks("statfs64", 0x6969, 1);
	assert_true(grove__sys_is_remote(dir));
}

static void who_knows_no_processors_has_one(void **state)
{
	(void)state;
	breaks("sched_getaffinity", EPERM, 1);
	assert_int_equal(grove__sys_cpus(), 1);
	assert_true(grove__sys_cpus() >= 1);
}

static void waiting_for_longer_than_there_are_numbers(void **state)
{
	int bell;

	(void)state;
	breaks("eventfd", EMFILE, 1);
	assert_int_equal(grove__sys_bell_open(&bell), -EMFILE);
	assert_int_equal(grove__sys_bell_open(&bell), 0);
	assert_int_equal(grove__sys_wait_fd(bell, -5), 0);
	assert_int_equal(grove__sys_wait_fd(bell, 2), 0);
	grove__sys_bell_ring(bell);
	assert_int_equal(grove__sys_wait_fd(bell, INT64_MAX), 1);
	assert_int_equal(grove__sys_bell_rang(bell), 1);
	grove__sys_close(bell);
}

static int no_birth(const char *call)
{
	return strcmp(call, "statx") ? 0 : ENODATA;
}

static void everything_has_a_kind_and_perhaps_a_birth(void **state)
{
	struct grove__sys_stat st;
	int64_t born = -1;
	int fd = file("f");

	(void)state;
	assert_int_equal(grove__sys_fstat_born(fd, &st, &born), 0);
	assert_int_equal(st.type, SYS_FILE);
	grove__sys_fault = no_birth;
	assert_int_equal(grove__sys_fstat_born(fd, &st, &born), 0);
	assert_int_equal(born, 0);
	grove__sys_fault = NULL;
	grove__sys_close(fd);
	assert_int_equal(grove__sys_open(dir, O_RDONLY | O_DIRECTORY, 0, &fd), 0);
	assert_int_equal(grove__sys_fstat_born(fd, &st, &born), 0);
	assert_int_equal(st.type, SYS_DIR);
	grove__sys_close(fd);
	assert_int_equal(grove__sys_open("/dev/null", O_RDONLY, 0, &fd), 0);
	assert_int_equal(grove__sys_fstat_born(fd, &st, &born), 0);
	assert_int_equal(st.type, SYS_OTHER);
	grove__sys_close(fd);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_descriptor_that_is_none_is_told),
		CASE(a_name_that_is_none_is_told),
		CASE(a_write_that_takes_nothing_is_a_full_disk),
		CASE(signals_in_rare_calls_interrupt_nothing),
		CASE(a_program_that_cannot_be_waited_for_is_told),
		CASE(files_that_cannot_be_given_away_keep_their_owner),
		CASE(a_directory_that_somebody_else_filled_stays),
		CASE(a_directory_that_is_there_need_not_be_made),
		CASE(a_directory_that_cannot_be_synced_may_be_one_of_others),
		CASE(a_terminal_has_a_name_or_none),
		CASE(without_proc_nobody_knows_who_writes),
		CASE(without_proc_a_process_that_answers_is_alive),
		CASE(one_that_has_ended_is_not_alive),
		CASE(a_place_on_another_machine_is_known),
		CASE(who_knows_no_processors_has_one),
		CASE(waiting_for_longer_than_there_are_numbers),
				CASE(everything_has_a_kind_and_perhaps_a_birth),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
