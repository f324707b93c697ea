/*
 * tests/unit/test_sys.c: the results of the system layer in unusual situations.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "sys/file.h"
#include "sys/remote.h"

#include "../lib/scratch.h"

static char dir[256];
static char longest[5000];

static int set_up(void **state)
{
	(void)state;
	scratch_make(dir, sizeof(dir));
	memset(longest, 'a', sizeof(longest) - 1);
	for (size_t i = 0; i < sizeof(longest) - 1; i += 200)
		longest[i] = '/';
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	grove__sys_fault = NULL;
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

static void a_path_that_is_too_long_is_told(void **state)
{
	struct grove__sys_stat st;
	int fd;

	(void)state;
	assert_int_equal(grove__sys_mkdirs(longest, 0700), -ENAMETOOLONG);
	assert_int_equal(grove__sys_sync_parent(longest), -ENAMETOOLONG);
	assert_int_equal(grove__sys_sync_parents(longest), -ENAMETOOLONG);
	assert_int_equal(grove__sys_open(longest, O_RDONLY, 0, &fd), -ENAMETOOLONG);
	assert_int_equal(grove__sys_lstat(longest, &st), -ENAMETOOLONG);
}

static void a_name_without_a_directory_is_in_this_one(void **state)
{
	(void)state;
	assert_int_equal(grove__sys_sync_parent("name"), 0);
	assert_int_equal(grove__sys_sync_parent("/name"), 0);
	assert_int_equal(grove__sys_sync_dir(in("none")), -ENOENT);
}

static int no_open(const char *call)
{
	return strcmp(call, "open") ? 0 : EMFILE;
}

/* Every file as grove__sys_stat() has it, whichever was asked for before it. */
static void compare_stats(void)
{
	static const char *const names[] = { "one/a", "one/b", "one/link", "one/none", "one/a", "two/a", "two/b",
					     "none/a", "none/b", "one/b", "one/c", "top", "top/a", "top/b" };
	struct grove__sys_stat now, direct;
	struct grove__sys_dir d;

	grove__sys_dir_init(&d);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		int err = grove__sys_stat(in(names[i]), &direct);

		assert_int_equal(grove__sys_dir_stat(&d, in(names[i]), &now), err);
		assert_int_equal(grove__sys_dir_stat(NULL, in(names[i]), &now), err);
		if (!err) {
			assert_int_equal(now.ino, direct.ino);
			assert_int_equal(now.size, direct.size);
			assert_int_equal(now.type, direct.type);
		}
	}
	grove__sys_dir_release(&d);
}

static void files_of_one_directory_are_found_in_it(void **state)
{
	struct grove__sys_stat st;
	struct grove__sys_dir d;

	(void)state;
	assert_int_equal(mkdir(in("one"), 0700), 0);
	assert_int_equal(mkdir(in("two"), 0700), 0);
	file_make(in("one/a"), "a");
	file_make(in("one/b"), "bb");
	file_make(in("one/c"), "ccc");
	file_make(in("two/a"), "aaaa");
	file_make(in("two/b"), "bbbbb");
	file_make(in("top"), "t");
	assert_int_equal(symlink("../two/b", in("one/link")), 0);
	compare_stats();
	/* without a descriptor to spare */
	grove__sys_fault = no_open;
	compare_stats();
	grove__sys_fault = NULL;
	grove__sys_dir_init(&d);
	assert_int_equal(grove__sys_dir_stat(&d, "none of these", &st), -ENOENT);
	assert_int_equal(grove__sys_dir_stat(&d, "/none of these", &st), -ENOENT);
	grove__sys_dir_release(&d);
}

static int no_renameat2(const char *call)
{
	return strcmp(call, "renameat2") ? 0 : ENOSYS;
}

static void a_new_name_takes_no_place_even_where_the_system_cannot_promise_it(void **state)
{
	(void)state;
	grove__sys_fault = no_renameat2;
	file_make(in("a"), "a");
	file_make(in("b"), "b");
	assert_int_equal(mkdir(in("d"), 0700), 0);
	assert_int_equal(mkdir(in("e"), 0700), 0);
	assert_int_equal(grove__sys_rename_new(in("a"), in("b")), -EEXIST);
	assert_int_equal(grove__sys_rename_new(in("d"), in("b")), -EEXIST);
	assert_int_equal(grove__sys_rename_new(in("d"), in("e")), -EEXIST);
	assert_int_equal(grove__sys_rename_new(in("d"), in("none/e")), -ENOENT);
	assert_int_equal(grove__sys_rename_new(in("d"), in("a/e")), -ENOTDIR);
	assert_file(in("b"), "b");
	assert_int_equal(grove__sys_rename_new(in("d"), in("f")), 0);
	assert_int_equal(grove__sys_rename_new(in("a"), in("c")), 0);
	assert_file(in("c"), "a");
	assert_int_equal(access(in("a"), F_OK), -1);
}

static void a_file_in_the_way_of_a_directory_is_told(void **state)
{
	(void)state;
	file_make(in("a"), "a");
	assert_int_equal(grove__sys_mkdirs(in("a/b"), 0700), -ENOTDIR);
	assert_int_equal(grove__sys_mkdirs(in("x/y/z"), 0700), 0);
	assert_int_equal(grove__sys_mkdirs(in("x/y/z"), 0700), 0);
}

static int signal_once(const char *call)
{
	static int turn;

	(void)call;
	return ++turn % 2 ? EINTR : 0;
}

static void a_signal_interrupts_nothing(void **state)
{
	size_t got;
	char c[4];
	int fd;

	(void)state;
	grove__sys_fault = signal_once;
	assert_int_equal(grove__sys_open(in("a"), O_RDWR | O_CREAT, 0600, &fd), 0);
	assert_int_equal(grove__sys_write_all(fd, "1234", 4), 0);
	assert_int_equal(grove__sys_pwrite_all(fd, "x", 1, 1), 0);
	assert_int_equal(grove__sys_pread(fd, c, 4, 0, &got), 0);
	assert_int_equal(got, 4);
	assert_memory_equal(c, "1x34", 4);
	assert_int_equal(grove__sys_truncate(fd, 2), 0);
	assert_int_equal(grove__sys_datasync(fd), 0);
	assert_int_equal(grove__sys_sync(fd), 0);
	assert_int_equal(grove__sys_lock(fd), 0);
	grove__sys_unlock(fd);
	grove__sys_close(fd);
	grove__sys_fault = NULL;
	assert_file(in("a"), "1x");
}

static void what_is_no_small_file_is_not_read(void **state)
{
	struct grove_buf b = GROVE_BUF_INIT;
	int64_t when = 0;

	(void)state;
	file_make(in("a"), "12345");
	assert_int_equal(mkfifo(in("fifo"), 0600), 0);
	assert_int_equal(grove__sys_read_small(in("a"), 4, &b, NULL), -EINVAL);
	assert_int_equal(grove__sys_read_small(in("fifo"), 4, &b, NULL), -EINVAL);
	assert_int_equal(grove__sys_read_small(dir, 1 << 20, &b, NULL), -EINVAL);
	assert_int_equal(grove__sys_read_small(in("none"), 4, &b, NULL), -ENOENT);
	assert_int_equal(b.len, 0);
	assert_int_equal(grove__sys_read_small(in("a"), 5, &b, &when), 0);
	assert_int_equal(b.len, 5);
	assert_true(when > 0);
	grove__buf_release(&b);
}

static void programs_tell_how_they_ended(void **state)
{
	const char *const yes[] = { "true", NULL }, *const no[] = { "false", NULL };
	const char *const none[] = { "/nonexistent/program", NULL };
	const char *const killed[] = { "sh", "-c", "kill -9 $$", NULL };

	(void)state;
	assert_int_equal(grove__sys_run(yes), 0);
	assert_true(grove__sys_run(no) > 0);
	assert_int_not_equal(grove__sys_run(none), 0);
	assert_int_equal(grove__sys_run(killed), -EINTR);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

static int number_of(int fd, int level, int name)
{
	int value = -1;
	socklen_t len = sizeof(value);

	assert_int_equal(getsockopt(fd, level, name, &value, &len), 0);
	return value;
}

static void a_machine_that_disappears_is_noticed(void **state)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0), pair[2];

	(void)state;
	assert_true(fd >= 0);
	grove__sys_notice_silence(fd, 15);
	assert_int_equal(number_of(fd, SOL_SOCKET, SO_KEEPALIVE), 1);
#ifdef TCP_USER_TIMEOUT
	assert_int_equal(number_of(fd, IPPROTO_TCP, TCP_USER_TIMEOUT), 15000);
	assert_int_equal(number_of(fd, IPPROTO_TCP, TCP_KEEPIDLE) +
			 number_of(fd, IPPROTO_TCP, TCP_KEEPCNT) * number_of(fd, IPPROTO_TCP, TCP_KEEPINTVL), 15);
#endif
	close(fd);
	/* a socket of this machine stays as it is */
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	grove__sys_notice_silence(pair[0], 15);
	assert_int_equal(write(pair[0], "x", 1), 1);
	close(pair[0]);
	close(pair[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_machine_that_disappears_is_noticed),
		CASE(a_path_that_is_too_long_is_told),
		CASE(a_name_without_a_directory_is_in_this_one),
		CASE(files_of_one_directory_are_found_in_it),
		CASE(a_new_name_takes_no_place_even_where_the_system_cannot_promise_it),
		CASE(a_file_in_the_way_of_a_directory_is_told),
		CASE(a_signal_interrupts_nothing),
		CASE(what_is_no_small_file_is_not_read),
		CASE(programs_tell_how_they_ended),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
