/*
 * tests/unit/test_store_feed.c: files that others read and write at the same
 * time: recognizing that a file was replaced (base), the right to write
 * (lease), and waiting for changes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <sys/wait.h>

#include "jsonl_world.h"

#include "sys/clock.h"
#include "sys/watch.h"

#define LONG_MS 20000

static const char TEXT[] = "one\ntwo\nthree\n";

/* What `fn` answers in a process of its own, or 99 if that dies. It must not assert. */
static int in_child(struct world *w, int (*fn)(struct world *w))
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid)
		_exit(fn(w));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}

static pid_t begin_child(struct world *w, int (*fn)(struct world *w))
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid)
		_exit(fn(w));
	return pid;
}

static void end_child(pid_t pid, int want)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), want);
}

static void lease_path(const struct world *w, char out[300])
{
	snprintf(out, 300, "%s/.a.jsonl.lease", w->dir);
}

static struct grove_store_log *open_other(struct world *w, unsigned flags)
{
	struct grove_store_log *log;

	OK(grove__log_open(&log, w->st, &key, flags, &w->d));
	return log;
}

/* -------------------------------------------------------------------- base */

static uint64_t base_of(struct world *w)
{
	OK(look(w));
	return w->stat.base;
}

static void a_file_keeps_its_base_while_it_grows(void **state)
{
	struct world *w = *state;
	struct grove_store_log *other;
	uint64_t base;

	have(w, TEXT);
	base = base_of(w);
	assert_in_range(base, 1, ((uint64_t)1 << 53) - 1);
	OK(add(w, "four", GROVE_ANY_POS));
	assert_int_equal(base_of(w), base);
	OK(grove__log_replace(w->log, 0, str("ONE"), GROVE_SYNC_NONE, &w->d));
	assert_int_equal(base_of(w), base);
	other = open_other(w, GROVE_STORE_READ);
	OK(grove__log_stat(other, &w->stat, &w->d));
	assert_int_equal(w->stat.base, base);
	grove__log_close(other);
	grove__log_close(w->log);
	OK(grove__log_open(&w->log, w->st, &key, GROVE_STORE_WRITE, &w->d));
	assert_int_equal(base_of(w), base);
}

static void a_rewrite_has_a_higher_rev_than_all_before_it(void **state)
{
	struct world *w = *state;
	struct grove_store_log *reader;
	uint64_t rev;

	/* many short lines, that become three: the base alone must make up for them */
	have(w, "");
	for (int i = 0; i < 1000; i++)
		OK(add(w, "a line of some thirty bytes or so", GROVE_ANY_POS));
	reader = open_other(w, GROVE_STORE_READ);
	rev = base_of(w) + 1000;
	for (int i = 0; i < 20; i++) {
		OK(rewrite(w, GROVE_ANY_POS, 0));
		assert_true(base_of(w) > rev);
		rev = w->stat.base + 3;
		OK(grove__log_stat(reader, &w->stat, &w->d));
		assert_int_equal(w->stat.base + 3, rev);
	}
	grove__log_close(reader);
	assert_dir(w->dir, "a.jsonl ");
}

static void a_file_put_in_its_place_has_a_higher_base(void **state)
{
	struct world *w = *state;
	uint64_t base, generation;

	have(w, TEXT);
	base = base_of(w);
	generation = w->stat.generation;
	/* an agent takes longer than the clock of the file system between two */
	grove__sys_wait_fd(-1, 30);
	replace_file(w, TEXT);
	assert_true(base_of(w) > base + 3);
	assert_int_not_equal(w->stat.generation, generation);
}

static void a_file_cut_in_place_keeps_its_base(void **state)
{
	struct world *w = *state;
	uint64_t base, generation;

	have(w, TEXT);
	base = base_of(w);
	generation = w->stat.generation;
	assert_int_equal(truncate(w->path, 4), 0);
	assert_int_equal(base_of(w), base);
	assert_int_not_equal(w->stat.generation, generation);
}

static void without_a_time_of_birth_the_base_is_the_number_of_the_file(void **state)
{
	struct world *w = *state;
	struct stat st;
	uint64_t base;

	fail_at("statx", 0, ENODATA);
	have(w, TEXT);
	assert_int_equal(stat(w->path, &st), 0);
	base = base_of(w);
	assert_int_equal(base, st.st_ino);
	OK(rewrite(w, GROVE_ANY_POS, 0));
	assert_int_not_equal(base_of(w), base);
	assert_true(calm() > 0);
}

static void a_base_that_cannot_be_told_is_no_other_base(void **state)
{
	struct world *w = *state;
	uint64_t base;

	have(w, TEXT);
	base = base_of(w);
	grove__log_close(w->log);
	OK(grove__log_open(&w->log, w->st, &key, GROVE_STORE_WRITE, &w->d));
	fail_at("statx", 0, EIO);
	FAILS(GROVE_EIO, look(w));
	FAILS(GROVE_EIO, rewrite(w, GROVE_ANY_POS, 0));
	calm();
	assert_int_equal(base_of(w), base);
	assert_file(w->path, TEXT);
	assert_dir(w->dir, "a.jsonl ");
}

/* ------------------------------------------------------------------- lease */

static struct grove_lease held;

static int take(struct world *w, const char *owner, int64_t ms)
{
	return grove__log_lease_take(w->log, owner, ms, &held, &w->d);
}

static int take_by(struct world *w, struct grove_store_log *log, const char *owner, int64_t ms)
{
	return grove__log_lease_take(log, owner, ms, &held, &w->d);
}

static int give_back(struct world *w, struct grove_store_log *log)
{
	int rc = grove__log_lease_release(log, &w->d);

	return rc ? rc : grove__log_lease_get(log, &held, &w->d);
}

static int add_by(struct world *w, struct grove_store_log *log, const char *line)
{
	struct grove_store_record rec = { .line = str(line) };

	return grove__log_append(log, &rec, 1, GROVE_ANY_POS, GROVE_SYNC_NONE, &w->out, &w->d);
}

/* Until the lease that was last told of is past its time. */
static void wait_past(int64_t until)
{
	while (grove__sys_now_ms() <= until)
		grove__sys_wait_fd(-1, 1);
}

/* Every way to write is refused, and nothing is written. */
static void cannot_write(struct world *w, struct grove_store_log *log, const char *words)
{
	struct source s = { new_lines, 3, 0, NULL, NULL };
	struct grove_buf before = file_bytes(w->path);
	uint64_t size = before.len;

	FAILS(GROVE_ECONFLICT, add_by(w, log, "no"));
	said(w, words, w->path);
	FAILS(GROVE_ECONFLICT, grove__log_replace(log, 0, str("ONE"), GROVE_SYNC_NONE, &w->d));
	said(w, words, w->path);
	FAILS(GROVE_ECONFLICT, grove__log_cut(log, 4, size, GROVE_SYNC_NONE, &w->d));
	said(w, words, w->path);
	FAILS(GROVE_ECONFLICT,
	      grove__log_rewrite(log, next_of, &s, GROVE_ANY_POS, GROVE_STORE_FORCE, &w->d));
	said(w, words, w->path);
	FAILS(GROVE_ECONFLICT, grove__log_meta_put(log, GROVE__META_UNFINISHED, str("1"), &w->d));
	said(w, words, w->path);
	assert_file(w->path, before.ptr);
	grove__buf_release(&before);
}

static void can_write(struct world *w, struct grove_store_log *log)
{
	struct source s = { new_lines, 3, 0, NULL, NULL };
	struct grove_store_log_stat st;

	OK(grove__log_stat(log, &st, &w->d));
	OK(add_by(w, log, "yes"));
	OK(grove__log_meta_put(log, GROVE__META_UNFINISHED, str("1"), &w->d));
	OK(grove__log_meta_put(log, GROVE__META_UNFINISHED, str(""), &w->d));
	OK(grove__log_cut(log, w->out.pos, w->out.tail, GROVE_SYNC_NONE, &w->d));
	OK(grove__log_rewrite(log, next_of, &s, GROVE_ANY_POS, GROVE_STORE_FORCE, &w->d));
	OK(grove__log_replace(log, 0, str("NeW 1"), GROVE_SYNC_NONE, &w->d));
}

static void a_lease_is_a_line_beside_the_session(void **state)
{
	struct world *w = *state;
	struct grove_buf b;
	struct stat st;
	char path[300], want[200];

	have(w, TEXT);
	OK(grove__log_lease_get(w->log, &held, &w->d));
	assert_int_equal(held.number, 0);
	assert_dir(w->dir, "a.jsonl ");
	OK(take(w, "me", 60000));
	assert_int_equal(held.number, 1);
	assert_string_equal(held.owner, "me");
	assert_true(held.until > grove__sys_now_ms());
	assert_dir(w->dir, ".a.jsonl.lease a.jsonl ");
	lease_path(w, path);
	snprintf(want, sizeof(want), "{\"owner\":\"me\",\"number\":1,\"until\":%lld}\n",
		 (long long)held.until);
	assert_file(path, want);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	/* given back, it stays for its number */
	OK(give_back(w, w->log));
	assert_file(path, "{\"owner\":\"\",\"number\":1,\"until\":0}\n");
	OK(take(w, "me", 60000));
	assert_int_equal(held.number, 2);
	b = file_bytes(w->path);
	assert_int_equal(b.len, strlen(TEXT));
	grove__buf_release(&b);
}

static void who_shares_the_file_shares_the_lease(void **state)
{
	struct world *w = *state;
	struct stat st;
	char path[300];

	have(w, TEXT);
	assert_int_equal(chmod(w->path, 0664), 0);
	OK(take(w, "me", 60000));
	lease_path(w, path);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0660);
}

static void an_owner_may_have_any_name(void **state)
{
	static const char *const names[] = { "\"", "\\", "a\nb", "\x01\x1f", "h\xc3\xb6st:7", "\xff\xfe",
					     "{}", "\\u0041", "x\",\"number\":9" };
	struct world *w = *state;
	struct grove_store_log *other;
	char most[GROVE_LEASE_OWNER_MAX + 1];

	memset(most, '\x02', sizeof(most) - 1);
	most[sizeof(most) - 1] = '\0';
	have(w, TEXT);
	other = open_other(w, GROVE_STORE_READ);
	for (size_t i = 0; i <= ARRAY(names); i++) {
		const char *name = i < ARRAY(names) ? names[i] : most;

		OK(take(w, name, 60000));
		OK(grove__log_lease_get(other, &held, &w->d));
		assert_string_equal(held.owner, name);
		assert_int_equal(held.number, i + 1);
		OK(give_back(w, w->log));
	}
	FAILS(GROVE_EACCESS, take_by(w, other, "me", 1));
	grove__log_close(other);
}

static int child_is_refused(struct world *w)
{
	struct grove_store_record rec = { .line = str("child") };
	struct grove_lease x;
	struct grove_store_log *log;
	int rc = grove__log_open(&log, w->st, &key, GROVE_STORE_WRITE, &w->d);

	if (rc)
		return 1;
	if (grove__log_append(log, &rec, 1, GROVE_ANY_POS, GROVE_SYNC_NONE, &w->out, &w->d) !=
	    GROVE_ECONFLICT)
		return 2;
	if (grove__log_lease_take(log, "child", 60000, &x, &w->d) != GROVE_ECONFLICT)
		return 3;
	return strcmp(x.owner, "parent") ? 4 : 0;
}

static int child_takes_over(struct world *w)
{
	struct grove_store_record rec = { .line = str("child") };
	struct grove_lease x;
	struct grove_store_log *log;
	int rc = grove__log_open(&log, w->st, &key, GROVE_STORE_WRITE, &w->d);

	if (rc || grove__log_lease_take(log, "child", 60000, &x, &w->d) || x.number != 2)
		return 1;
	rc = grove__log_append(log, &rec, 1, GROVE_ANY_POS, GROVE_SYNC_NONE, &w->out, &w->d);
	return rc ? 2 : 0;
}

static void a_lease_holds_among_processes(void **state)
{
	struct world *w = *state;
	int64_t until;

	have(w, TEXT);
	OK(take(w, "parent", 60000));
	can_write(w, w->log);
	assert_int_equal(in_child(w, child_is_refused), 0);
	/* to hold on to it keeps the number; past its time it counts until another comes */
	OK(take(w, "parent", 1));
	assert_int_equal(held.number, 1);
	until = held.until;
	wait_past(until);
	can_write(w, w->log);
	assert_int_equal(in_child(w, child_takes_over), 0);
	OK(look(w));
	cannot_write(w, w->log, "taken over by child");
	FAILS(GROVE_ECONFLICT, take(w, "parent", 60000));
	assert_string_equal(held.owner, "child");
	/* to give back what one has no more changes nothing */
	OK(give_back(w, w->log));
	assert_string_equal(held.owner, "child");
	cannot_write(w, w->log, "child holds the lease");
	/* the same owner by another handle */
	OK(take(w, "child", 60000));
	assert_int_equal(held.number, 3);
	can_write(w, w->log);
	OK(give_back(w, w->log));
}

static void a_lease_that_ended_hinders_nobody(void **state)
{
	struct world *w = *state;
	struct grove_store_log *other;

	have(w, TEXT);
	other = open_other(w, GROVE_STORE_WRITE);
	OK(take(w, "me", 60000));
	cannot_write(w, other, "me holds the lease");
	OK(give_back(w, w->log));
	OK(add_by(w, other, "free"));
	OK(take(w, "me", 1));
	wait_past(held.until);
	OK(add_by(w, other, "past"));
	OK(add(w, "and still", GROVE_ANY_POS));
	OK(take_by(w, other, "you", 60000));
	cannot_write(w, w->log, "taken over by you");
	OK(give_back(w, other));
	/* it was taken in between: given back or not, the number is an old one */
	cannot_write(w, w->log, "taken over by another writer");
	OK(take(w, "me", 60000));
	assert_int_equal(held.number, 4);
	grove__log_close(other);
}

/* Append without a pause until somebody has a lease. */
static int child_appends_until_refused(struct world *w)
{
	struct grove_store_record rec = { .line = str("line") };
	struct grove_store_log *log;
	int rc = grove__log_open(&log, w->st, &key, GROVE_STORE_WRITE, &w->d);

	while (!rc)
		rc = grove__log_append(log, &rec, 1, GROVE_ANY_POS, GROVE_SYNC_NONE, &w->out, &w->d);
	return rc == GROVE_ECONFLICT ? 0 : 1;
}

static void from_the_first_taking_on_nobody_else_writes(void **state)
{
	struct world *w = *state;
	uint64_t tail;
	pid_t child;

	for (int i = 0; i < 5; i++) {
		have(w, "");
		child = begin_child(w, child_appends_until_refused);
		/* not before it has begun to rely on there being no lease */
		do
			OK(look(w));
		while (w->stat.tail < 500);
		OK(take(w, "me", 60000));
		assert_int_equal(held.number, 1);
		OK(look(w));
		tail = w->stat.tail;
		end_child(child, 0);
		OK(look(w));
		assert_int_equal(w->stat.tail, tail);
		OK(add(w, "mine", tail));
		grove__log_close(w->log);
		w->log = NULL;
		OK(grove__store_remove(w->st, &key, &w->d));
		assert_dir(w->dir, "");
	}
}

static void a_lease_that_cannot_be_written_is_not_taken(void **state)
{
	struct world *w = *state;
	struct grove_store_log *other;
	uint64_t number = 0;
	int n, rc;

	have(w, TEXT);
	other = open_other(w, GROVE_STORE_WRITE);
	for (n = 1;; n++) {
		fail_at(NULL, n, EIO);
		rc = take(w, "me", 60000);
		if (calm() < n)
			break;
		if (rc) {
			/* and the next who asks gets it; who does not ask may write */
			OK(grove__log_lease_get(other, &held, &w->d));
			assert_string_equal(held.owner, "");
			assert_int_equal(held.number, number);
			OK(add_by(w, other, "x"));
		} else {
			assert_true(held.number > number);
			FAILS(GROVE_ECONFLICT, add_by(w, other, "x"));
			OK(give_back(w, w->log));
			number = held.number;
		}
	}
	OK(rc);
	assert_true(n > 8);
	/* to hold on to it, and to give it back */
	for (n = 1;; n++) {
		fail_at(NULL, n, EIO);
		rc = take(w, "me", 60000);
		if (calm() < n)
			break;
		OK(add(w, "still mine", GROVE_ANY_POS));
		FAILS(GROVE_ECONFLICT, add_by(w, other, "x"));
	}
	OK(rc);
	number = held.number;
	for (n = 1;; n++) {
		fail_at(NULL, n, EIO);
		rc = grove__log_lease_release(w->log, &w->d);
		if (calm() < n)
			break;
		if (rc) {
			OK(add(w, "still mine", GROVE_ANY_POS));
			FAILS(GROVE_ECONFLICT, add_by(w, other, "x"));
		} else {
			OK(add_by(w, other, "free"));
			OK(take(w, "me", 60000));
			assert_true(held.number > number);
			number = held.number;
		}
	}
	OK(rc);
	grove__log_close(other);
	assert_dir(w->dir, ".a.jsonl.lease a.jsonl ");
}

static void die(void *payload)
{
	(void)payload;
	_exit(9);
}

static int nth_call;

/* Take the lease, for a moment, and be killed before the nth call of the system. */
static int child_dies_taking(struct world *w)
{
	struct grove_lease x;
	struct grove_store_log *log;

	if (grove__log_open(&log, w->st, &key, GROVE_STORE_WRITE, &w->d))
		return 1;
	fail_at(NULL, nth_call, 0);
	plan.meanwhile = die;
	return grove__log_lease_take(log, "child", 1, &x, &w->d) ? 2 : 0;
}

static void a_taker_that_dies_leaves_the_session_usable(void **state)
{
	struct world *w = *state;
	struct grove_buf want = GROVE_BUF_INIT;
	uint64_t number = 0;
	char path[300];
	int rc, deaths = 0;

	have(w, TEXT);
	lease_path(w, path);
	assert_int_equal(grove__buf_add_str(&want, TEXT), 0);
	for (int first = 1; first >= 0; first--)
		for (nth_call = 1;; nth_call++) {
			if (first) {
				unlink(path);
				number = 0;
			}
			rc = in_child(w, child_dies_taking);
			OK(grove__log_lease_get(w->log, &held, &w->d));
			wait_past(held.until);
			OK(add(w, "x", GROVE_ANY_POS));
			assert_int_equal(grove__buf_add_str(&want, "x\n"), 0);
			OK(take(w, "me", 60000));
			assert_true(held.number > number);
			number = held.number;
			OK(give_back(w, w->log));
			if (!rc)
				break;
			assert_int_equal(rc, 9);
			deaths++;
		}
	assert_true(deaths > 16);
	assert_file(w->path, want.ptr);
	grove__buf_release(&want);
}

static void half_a_lease_is_nobodys_and_lets_no_old_number_pass(void **state)
{
	struct world *w = *state;
	struct grove_store_log *stale;
	struct grove_buf line;
	char path[300];
	uint64_t number = 0;

	have(w, TEXT);
	stale = open_other(w, GROVE_STORE_WRITE);
	lease_path(w, path);
	OK(take(w, "me", 60000));
	OK(give_back(w, w->log));
	OK(take_by(w, stale, "stale", 60000));
	line = file_bytes(path);
	OK(add_by(w, stale, "not yet"));
	for (size_t n = 0; n < line.len; n++) {
		file_put(path, O_CREAT | O_TRUNC, line.ptr, n);
		OK(add(w, "x", GROVE_ANY_POS));
		FAILS(GROVE_ECONFLICT, add_by(w, stale, "no"));
	}
	OK(take(w, "me", 60000));
	assert_true(held.number > 2);
	number = held.number;
	assert_true(number < (uint64_t)1 << 53);
	cannot_write(w, stale, "taken over by me");
	OK(give_back(w, w->log));
	OK(take(w, "me", 60000));
	assert_int_equal(held.number, number + 1);
	/* bytes behind it, or other bytes, make no sense either */
	file_put(path, O_CREAT | O_TRUNC, line.ptr, line.len);
	file_add(path, "\n");
	FAILS(GROVE_ECONFLICT, add_by(w, stale, "no"));
	file_make(path, "{\"owner\":\"stale\",\"number\":-2,\"until\":99999999999999}\n");
	FAILS(GROVE_ECONFLICT, add_by(w, stale, "no"));
	file_put(path, O_CREAT | O_TRUNC, line.ptr, line.len);
	OK(add_by(w, stale, "this is the one"));
	/* gone altogether */
	assert_int_equal(unlink(path), 0);
	FAILS(GROVE_ECONFLICT, add_by(w, stale, "no"));
	OK(take_by(w, stale, "stale", 60000));
	assert_int_equal(held.number, 3);
	grove__buf_release(&line);
	grove__log_close(stale);
}

static void a_lease_outlives_a_rewrite(void **state)
{
	struct world *w = *state;
	struct grove_store_log *other;

	have(w, TEXT);
	other = open_other(w, GROVE_STORE_WRITE);
	OK(add_by(w, other, "four"));
	OK(take(w, "me", 60000));
	OK(rewrite(w, GROVE_ANY_POS, GROVE_STORE_FORCE));
	assert_file(w->path, NEW_TEXT);
	OK(add(w, "NEW 4", GROVE_ANY_POS));
	/* who has the old file open finds the new one, and the lease */
	FAILS(GROVE_ESTALE, add_by(w, other, "lost"));
	FAILS(GROVE_ECONFLICT, take_by(w, other, "you", 60000));
	OK(grove__log_stat(other, &w->stat, &w->d));
	cannot_write(w, other, "me holds the lease");
	/* a file that an agent put there is under it as well */
	replace_file(w, TEXT);
	FAILS(GROVE_ESTALE, add(w, "lost", GROVE_ANY_POS));
	OK(grove__log_stat(other, &w->stat, &w->d));
	cannot_write(w, other, "me holds the lease");
	OK(look(w));
	OK(add(w, "four", GROVE_ANY_POS));
	assert_file(w->path, "one\ntwo\nthree\nfour\n");
	grove__log_close(other);
}

static void a_lease_goes_with_the_session(void **state)
{
	static const struct grove_key to = { "p", "b.jsonl", "" };
	struct world *w = *state;
	struct grove_store_log *other;
	char dir[300];

	have(w, TEXT);
	snprintf(dir, sizeof(dir), "%s/p", w->dir);
	OK(take(w, "me", 60000));
	/* a place that is not free keeps its own */
	OK(grove__log_open(&other, w->st, &to, GROVE_STORE_CREATE, &w->d));
	OK(add_by(w, other, "b"));
	FAILS(GROVE_EEXIST, grove__store_rename(w->st, &key, &to, &w->d));
	assert_dir(dir, "b.jsonl ");
	grove__log_close(other);
	OK(grove__store_remove(w->st, &to, &w->d));
	assert_dir(w->dir, ".a.jsonl.lease a.jsonl p ");

	OK(grove__store_rename(w->st, &key, &to, &w->d));
	assert_dir(w->dir, "p ");
	assert_dir(dir, ".b.jsonl.lease b.jsonl ");
	FAILS(GROVE_ESTALE, add(w, "lost", GROVE_ANY_POS));
	OK(grove__log_open(&other, w->st, &to, GROVE_STORE_WRITE, &w->d));
	FAILS(GROVE_ECONFLICT, add_by(w, other, "no"));
	OK(take_by(w, other, "me", 60000));
	assert_int_equal(held.number, 2);
	OK(add_by(w, other, "yes"));
	grove__log_close(other);
	OK(grove__store_remove(w->st, &to, &w->d));
	assert_dir(dir, "");
}

static void a_move_that_fails_leaves_the_lease(void **state)
{
	static const struct grove_key to = { "", "b.jsonl", "" };
	struct world *w = *state;
	struct grove_store_log *other;
	int n, rc;

	have(w, TEXT);
	OK(take(w, "me", 60000));
	other = open_other(w, GROVE_STORE_WRITE);
	for (n = 1;; n++) {
		fail_at(NULL, n, EIO);
		rc = grove__store_rename(w->st, &key, &to, &w->d);
		if (calm() < n || !rc)
			break;
		cannot_write(w, other, "me holds the lease");
		OK(add(w, "mine", GROVE_ANY_POS));
	}
	OK(rc);
	grove__log_close(other);
}

static void a_link_and_its_target_have_one_lease(void **state)
{
	static const struct grove_key by_link = { "", "link.jsonl", "" };
	struct world *w = *state;
	struct grove_store_log *link;
	char path[300];

	have(w, TEXT);
	snprintf(path, sizeof(path), "%s/link.jsonl", w->dir);
	assert_int_equal(symlink("a.jsonl", path), 0);
	OK(grove__log_open(&link, w->st, &by_link, GROVE_STORE_WRITE, &w->d));
	OK(take_by(w, link, "me", 60000));
	assert_dir(w->dir, ".a.jsonl.lease a.jsonl link.jsonl ");
	cannot_write(w, w->log, "me holds the lease");
	OK(add_by(w, link, "mine"));
	grove__log_close(link);
	OK(grove__store_remove(w->st, &by_link, &w->d));
	assert_dir(w->dir, ".a.jsonl.lease a.jsonl ");
}

static void a_new_log_that_stays_empty_leaves_no_lease(void **state)
{
	struct world *w = *state;

	OK(grove__log_open(&w->log, w->st, &key, GROVE_STORE_CREATE, &w->d));
	OK(take(w, "me", 60000));
	grove__log_close(w->log);
	w->log = NULL;
	assert_dir(w->dir, "");
}

static int count_key(void *payload, const struct grove_key *k)
{
	(void)k;
	++*(int *)payload;
	return 0;
}

static int count_name(void *payload, const char *name, uint64_t size)
{
	(void)size;
	assert_true(!strcmp(name, "tool.txt") || !strcmp(name, "agents/x.jsonl"));
	++*(int *)payload;
	return 0;
}

static void leases_are_not_listed(void **state)
{
	static const struct grove_key sub = { "", "a.jsonl", "agents/x.jsonl" };
	struct world *w = *state;
	struct grove_store_log *log;
	char path[300];
	int nr = 0;

	have(w, TEXT);
	OK(grove__store_attach_put(w->st, &key, "tool.txt", str("x"), &w->d));
	OK(grove__log_open(&log, w->st, &sub, GROVE_STORE_CREATE, &w->d));
	OK(add_by(w, log, "x"));
	OK(take_by(w, log, "me", 60000));
	OK(take(w, "me", 60000));
	OK(grove__store_list(w->st, NULL, count_key, &nr, &w->d));
	OK(grove__store_list(w->st, "", count_key, &nr, &w->d));
	OK(grove__store_list_subs(w->st, NULL, count_key, &nr, &w->d));
	assert_int_equal(nr, 3);
	grove__log_close(log);
	/* beside attachments, with the log that it is of or without */
	nr = 0;
	OK(grove__store_attach_list(w->st, &key, count_name, &nr, &w->d));
	assert_int_equal(nr, 2);
	snprintf(path, sizeof(path), "%s/a/agents/x.jsonl", w->dir);
	assert_int_equal(unlink(path), 0);
	nr = 0;
	OK(grove__store_attach_list(w->st, &key, count_name, &nr, &w->d));
	assert_int_equal(nr, 1);
	OK(grove__store_remove(w->st, &key, &w->d));
	assert_dir(w->dir, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_file_keeps_its_base_while_it_grows),
		CASE(a_rewrite_has_a_higher_rev_than_all_before_it),
		CASE(a_file_put_in_its_place_has_a_higher_base),
		CASE(a_file_cut_in_place_keeps_its_base),
		CASE(without_a_time_of_birth_the_base_is_the_number_of_the_file),
		CASE(a_base_that_cannot_be_told_is_no_other_base),
		CASE(a_lease_is_a_line_beside_the_session),
		CASE(who_shares_the_file_shares_the_lease),
		CASE(an_owner_may_have_any_name),
		CASE(a_lease_holds_among_processes),
		CASE(a_lease_that_ended_hinders_nobody),
		CASE(from_the_first_taking_on_nobody_else_writes),
		CASE(a_lease_that_cannot_be_written_is_not_taken),
		CASE(a_taker_that_dies_leaves_the_session_usable),
		CASE(half_a_lease_is_nobodys_and_lets_no_old_number_pass),
		CASE(a_lease_outlives_a_rewrite),
		CASE(a_lease_goes_with_the_session),
		CASE(a_move_that_fails_leaves_the_lease),
		CASE(a_link_and_its_target_have_one_lease),
		CASE(a_new_log_that_stays_empty_leaves_no_lease),
		CASE(leases_are_not_listed),
	};

	return cmocka_run_group_tests_name("store feed", tests, NULL, NULL);
}
