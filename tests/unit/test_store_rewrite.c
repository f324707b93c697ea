/*
 * tests/unit/test_store_rewrite.c: replacing a file by a new one while agents
 * have it open, while system calls fail, and when the disk is full.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "jsonl_world.h"

/* ----------------------------------------------------------------- rewrite */

static void a_rewrite_keeps_mode_and_owner(void **state)
{
	static const unsigned modes[] = { 0600, 0640, 0644, 0666, 0400 };
	struct world *w = *state;
	struct stat st;

	for (size_t i = 0; i < ARRAY(modes); i++) {
		have(w, "old\n");
		assert_int_equal(chmod(w->path, modes[i]), 0);
		if (!geteuid())
			assert_int_equal(chown(w->path, 65534, 65534), 0);
		OK(rewrite(w, 4, 0));
		assert_file(w->path, NEW_TEXT);
		assert_int_equal(stat(w->path, &st), 0);
		assert_int_equal(st.st_mode & 07777, modes[i]);
		if (!geteuid()) {
			assert_int_equal(st.st_uid, 65534);
			assert_int_equal(st.st_gid, 65534);
		}
		assert_dir(w->dir, "a.jsonl ");
		assert_int_equal(unlink(w->path), 0);
	}
}

static void a_rewrite_goes_to_the_target_of_a_link(void **state)
{
	struct world *w = *state;
	char target[320], dir[320];
	struct stat st;

	snprintf(dir, sizeof(dir), "%s/elsewhere", w->dir);
	assert_int_equal(mkdir(dir, 0700), 0);
	snprintf(target, sizeof(target), "%s/elsewhere/real", w->dir);
	file_make(target, "old\n");
	assert_int_equal(symlink("elsewhere/real", w->path), 0);
	OK(grove__log_open(&w->log, w->st, &key, GROVE_STORE_WRITE, &w->d));
	OK(add(w, "more", 4));
	OK(rewrite(w, 9, 0));
	assert_file(target, NEW_TEXT);
	assert_int_equal(lstat(w->path, &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	OK(add(w, "more", strlen(NEW_TEXT)));
	assert_file(target, NEW_TEXT "more\n");
	assert_dir(w->dir, "a.jsonl elsewhere ");
	assert_dir(dir, "real ");
}

/* A child that has the file open until it is told to end; the pipe to tell it. */
static pid_t holder(const char *path, int flags, int *tell)
{
	int to[2], from[2];
	char c;
	pid_t pid;

	assert_int_equal(pipe(to), 0);
	assert_int_equal(pipe(from), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		int fd = open(path, flags);

		close(to[1]);
		if (fd < 0 || write(from[1], "r", 1) != 1)
			_exit(1);
		/* a byte: append a line; the end: go */
		while (read(to[0], &c, 1) == 1)
			if (write(fd, "agent\n", 6) != 6 || write(from[1], "w", 1) != 1)
				_exit(2);
		_exit(0);
	}
	close(to[0]);
	close(from[1]);
	assert_int_equal(read(from[0], &c, 1), 1);
	close(from[0]);
	*tell = to[1];
	return pid;
}

static void dismiss(pid_t pid, int tell)
{
	int status;

	close(tell);
	assert_int_equal(waitpid(pid, &status, 0), pid);
}

static void a_rewrite_is_refused_while_an_agent_has_the_file_open(void **state)
{
	struct world *w = *state;
	pid_t pid;
	int tell;

	file_make(w->path, "old\n");
	pid = holder(w->path, O_WRONLY | O_APPEND, &tell);
	OK(grove__log_open(&w->log, w->st, &key, GROVE_STORE_WRITE, &w->d));
	FAILS(GROVE_ECONFLICT, rewrite(w, 4, 0));
	said(w, "open for writing", w->path);
	assert_file(w->path, "old\n");
	assert_dir(w->dir, "a.jsonl ");
	OK(rewrite(w, 4, GROVE_STORE_FORCE));
	assert_file(w->path, NEW_TEXT);
	dismiss(pid, tell);
	have(w, "old\n");
	OK(rewrite(w, 4, 0));
}

static void who_only_reads_does_not_stop_a_rewrite(void **state)
{
	struct world *w = *state;
	pid_t pid;
	int tell;

	file_make(w->path, "old\n");
	pid = holder(w->path, O_RDONLY, &tell);
	OK(grove__log_open(&w->log, w->st, &key, GROVE_STORE_WRITE, &w->d));
	OK(rewrite(w, 4, 0));
	assert_file(w->path, NEW_TEXT);
	dismiss(pid, tell);
}

static void the_system_knows_who_writes(void **state)
{
	struct world *w = *state;
	int fd, tell;
	pid_t pid;

	file_make(w->path, "old\n");
	assert_int_equal(grove__sys_open_for_writing(w->path, -1), 0);
	fd = open(w->path, O_RDWR);
	assert_true(fd >= 0);
	assert_int_equal(grove__sys_open_for_writing(w->path, -1), 2);
	assert_int_equal(grove__sys_open_for_writing(w->path, fd), 0);
	pid = holder(w->path, O_WRONLY | O_APPEND, &tell);
	assert_int_equal(grove__sys_open_for_writing(w->path, fd), 1);
	close(fd);
	assert_int_equal(grove__sys_open_for_writing(w->path, -1), 1);
	dismiss(pid, tell);
	/* the child had our descriptor too; both are gone */
	assert_int_equal(grove__sys_open_for_writing(w->path, -1), 0);
	assert_int_equal(unlink(w->path), 0);
	assert_int_equal(grove__sys_open_for_writing(w->path, -1), -ENOENT);
}

static void growth_while_a_rewrite_runs_is_not_lost(void **state)
{
	struct world *w = *state;
	struct source s = { new_lines, 3, 0, add_whole, w->path };
	static const uint64_t expect[] = { 4, GROVE_ANY_POS };
	static const unsigned flags[] = { 0, GROVE_STORE_FORCE };

	for (size_t i = 0; i < ARRAY(expect); i++)
		for (size_t k = 0; k < ARRAY(flags); k++) {
			have(w, "old\n");
			s.at = 0;
			FAILS(GROVE_ECONFLICT, grove__log_rewrite(w->log, next_of, &s, expect[i],
								  flags[k], &w->d));
			said(w, "changed", w->path);
			assert_file(w->path, "old\nwhole\n");
			assert_dir(w->dir, "a.jsonl ");
		}
}

static void growth_at_the_last_moment_is_carried_over(void **state)
{
	/* right before the new file gets the name, and right behind */
	static const struct {
		const char *call;
		int nth;
	} moment[] = { { "rename", 1 }, { "fsync", 1 } };
	struct world *w = *state;
	int fd;

	have(w, "old\n");
	fail_at(moment[0].call, moment[0].nth, 0);
	plan.meanwhile = add_whole;
	plan.payload = w->path;
	OK(rewrite(w, 4, 0));
	calm();
	assert_file(w->path, NEW_TEXT "whole\n");
	OK(add(w, "more", strlen(NEW_TEXT "whole\n")));
	assert_file(w->path, NEW_TEXT "whole\nmore\n");

	/* while the new file is synced: seen before the rename */
	have(w, "old\n");
	fail_at(moment[1].call, moment[1].nth, 0);
	plan.meanwhile = add_whole;
	plan.payload = w->path;
	FAILS(GROVE_ECONFLICT, rewrite(w, 4, 0));
	calm();
	assert_file(w->path, "old\nwhole\n");

	/* an agent that keeps its descriptor, and a forced rewrite */
	have(w, "old\n");
	fd = open(w->path, O_WRONLY | O_APPEND | O_CLOEXEC);
	assert_true(fd >= 0);
	OK(rewrite(w, 4, GROVE_STORE_FORCE));
	/* from here on nobody can help it: it writes to a file without a name */
	assert_int_equal(write(fd, "late\n", 5), 5);
	close(fd);
	assert_file(w->path, NEW_TEXT);
}

/*
 * The state after a call of ours failed: the file is the old or the new, whole,
 * nothing lies beside it, and the handle goes on with the file that has the
 * name.
 */
static void assert_settled(struct world *w, int rc, const char *before, const char *after)
{
	struct grove_buf b = file_bytes(w->path);
	const char *is = !strcmp(b.ptr, after) ? after : before;

	assert_dir(w->dir, "a.jsonl ");
	assert_string_equal(b.ptr, is);
	if (!rc)
		assert_ptr_equal(is, after);
	grove__buf_release(&b);
	OK(look(w));
	assert_int_equal(w->stat.tail, strlen(is));
	OK(add(w, "more", strlen(is)));
	assert_int_equal(grove__buf_addf(&b, "%smore\n", is), 0);
	assert_file(w->path, b.ptr);
	grove__buf_release(&b);
}

static void a_rewrite_fails_cleanly_at_every_call(void **state)
{
	static const int errs[] = { EIO, ENOSPC, EACCES, ENOMEM };
	struct world *w = *state;
	int calls, failed = 0;

	have(w, "old\n");
	fail_at(NULL, 0, 0);
	OK(rewrite(w, 4, 0));
	calls = calm();
	assert_in_range(calls, 8, 40);
	for (size_t e = 0; e < ARRAY(errs); e++)
		for (int i = 1; i <= calls; i++) {
			int rc;

			have(w, "old\n");
			fail_at(NULL, i, errs[e]);
			rc = rewrite(w, 4, 0);
			calm();
			if (rc) {
				failed++;
				assert_int_equal(w->d.code, rc);
				assert_true(*w->d.message);
			}
			assert_settled(w, rc, "old\n", NEW_TEXT);
		}
	/* all but the lock, at least */
	assert_true(failed >= (calls - 2) * (int)ARRAY(errs));
}

static void a_rewrite_comes_through_short_writes(void **state)
{
	struct world *w = *state;

	have(w, "old\n");
	fail_at("write", 1, GROVE__SYS_SHORT);
	OK(rewrite(w, 4, 0));
	calm();
	assert_file(w->path, NEW_TEXT);
	have(w, "old\n");
	fail_at("write", 1, GROVE__SYS_SHORT);
	plan.err_after = ENOSPC;
	FAILS(GROVE_EFULL, rewrite(w, 4, 0));
	calm();
	assert_settled(w, GROVE_EFULL, "old\n", NEW_TEXT);
}

static void a_replaced_line_fails_cleanly_at_every_call(void **state)
{
	struct world *w = *state;
	int calls;

	have(w, "a\nold\nb\n");
	fail_at(NULL, 0, 0);
	OK(grove__log_replace(w->log, 2, str("new"), GROVE_SYNC_ALWAYS, &w->d));
	calls = calm();
	assert_file(w->path, "a\nnew\nb\n");
	for (int i = 1; i <= calls; i++) {
		struct grove_buf b;
		int rc;

		have(w, "a\nold\nb\n");
		fail_at(NULL, i, EIO);
		rc = grove__log_replace(w->log, 2, str("new"), GROVE_SYNC_ALWAYS, &w->d);
		calm();
		b = file_bytes(w->path);
		assert_true(!strcmp(b.ptr, "a\nnew\nb\n") || (rc && !strcmp(b.ptr, "a\nold\nb\n")));
		grove__buf_release(&b);
	}
}

static void following_a_replaced_file_fails_cleanly(void **state)
{
	struct world *w = *state;
	int calls;

	have(w, "old\n");
	replace_file(w, "new 1\n");
	fail_at(NULL, 0, 0);
	OK(look(w));
	calls = calm();
	for (int i = 1; i <= calls; i++) {
		have(w, "old\n");
		replace_file(w, "new 1\n");
		fail_at(NULL, i, EIO);
		FAILS(GROVE_EIO, look(w));
		calm();
		/* one failure is not the end: the next look gets there */
		OK(look(w));
		assert_int_equal(w->stat.tail, 6);
		assert_int_equal(w->stat.generation, 1);
		OK(add(w, "x", 6));
		assert_file(w->path, "new 1\nx\n");
	}
}

/* --------------------------------------------------------------- disk full */

static void a_full_disk_loses_nothing_that_was_acknowledged(void **state)
{
	struct world *w = *state;
	struct grove_buf want = GROVE_BUF_INIT, is;
	char line[1001], path[320];
	int rc = 0, stored = 0;

	if (mount("tmpfs", w->dir, "tmpfs", MS_NOSUID | MS_NODEV, "size=128k,mode=755")) {
		print_message("# cannot mount a tmpfs here: %s\n", strerror(errno));
		skip();
	}
	w->mounted = true;
	memset(line, 'x', sizeof(line));
	line[sizeof(line) - 1] = '\0';
	OK(grove__log_open(&w->log, w->st, &key, GROVE_STORE_CREATE, &w->d));
	while (!rc && stored < 1000) {
		line[0] = (char)('a' + stored % 26);
		rc = add(w, line, want.len);
		if (!rc) {
			stored++;
			assert_int_equal(grove__buf_addf(&want, "%s\n", line), 0);
		}
	}
	FAILS(GROVE_EFULL, rc);
	said(w, "nothing was stored", w->path);
	assert_in_range(stored, 50, 140);
	/* the file ends where the last good line does, to the byte */
	assert_file(w->path, want.ptr);
	FAILS(GROVE_EFULL, add(w, line, want.len));
	assert_file(w->path, want.ptr);
	/* a rewrite has no room either, and leaves none of it behind */
	{
		struct source s = { NULL, 0, 0, NULL, NULL };
		const char *lines[200];

		for (size_t i = 0; i < ARRAY(lines); i++)
			lines[i] = line;
		s.line = lines;
		s.nr = ARRAY(lines);
		FAILS(GROVE_EFULL, grove__log_rewrite(w->log, next_of, &s, want.len, 0, &w->d));
	}
	assert_dir(w->dir, "a.jsonl ");
	FAILS(GROVE_EFULL, grove__store_attach_put(w->st, &key, "x", grove__buf_slice(&want), &w->d));
	snprintf(path, sizeof(path), "%s/a", w->dir);
	if (!access(path, F_OK))
		assert_dir(path, "");
	is = file_bytes(w->path);
	assert_int_equal(is.len, want.len);
	assert_memory_equal(is.ptr, want.ptr, want.len);
	grove__buf_release(&is);
	/* with room again the same handle goes on */
	assert_int_equal(mount("tmpfs", w->dir, "tmpfs", MS_REMOUNT, "size=256k"), 0);
	OK(add(w, line, want.len));
	grove__buf_release(&want);
	/* before the file system goes */
	grove__log_close(w->log);
	w->log = NULL;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_rewrite_keeps_mode_and_owner),
		CASE(a_rewrite_goes_to_the_target_of_a_link),
		CASE(a_rewrite_is_refused_while_an_agent_has_the_file_open),
		CASE(who_only_reads_does_not_stop_a_rewrite),
		CASE(the_system_knows_who_writes),
		CASE(growth_while_a_rewrite_runs_is_not_lost),
		CASE(growth_at_the_last_moment_is_carried_over),
		CASE(a_rewrite_fails_cleanly_at_every_call),
		CASE(a_rewrite_comes_through_short_writes),
		CASE(a_replaced_line_fails_cleanly_at_every_call),
		CASE(following_a_replaced_file_fails_cleanly),
		CASE(a_full_disk_loses_nothing_that_was_acknowledged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
