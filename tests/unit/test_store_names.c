/*
 * tests/unit/test_store_names.c: what is in the directories of a file store:
 * lists, attachments, and files with other names.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "jsonl_world.h"

/* -------------------------------------------------------------------- list */

struct names {
	struct grove_buf text;
};

static int note(void *payload, const struct grove_key *k)
{
	struct names *n = payload;

	return grove__buf_addf(&n->text, "%s/%s ", k->project, k->session);
}

static void a_list_passes_over_what_is_no_session(void **state)
{
	struct world *w = *state;
	struct names n = { GROVE_BUF_INIT };
	char path[320];

	file_make(w->path, "a\n");
	snprintf(path, sizeof(path), "%s/notes.txt", w->dir);
	file_make(path, "x");
	snprintf(path, sizeof(path), "%s/.jsonl", w->dir);
	file_make(path, "x");
	snprintf(path, sizeof(path), "%s/.a.jsonl.0123456789abcdef.tmp", w->dir);
	file_make(path, "x");
	snprintf(path, sizeof(path), "%s/dangling.jsonl", w->dir);
	assert_int_equal(symlink("nowhere", path), 0);
	OK(grove__store_list(w->st, NULL, note, &n, &w->d));
	assert_string_equal(n.text.ptr, "/a.jsonl ");
	grove__buf_release(&n.text);
	/* a store that is a file has nothing in it */
	{
		struct grove_store *st;

		assert_int_equal(grove__store_open(&st, w->path, &w->d), 0);
		OK(grove__store_list(st, NULL, note, &n, &w->d));
		assert_int_equal(n.text.len, 0);
		grove__store_close(st);
	}
	FAILS(GROVE_EINVAL, grove__store_list(w->st, "..", note, &n, &w->d));
	FAILS(GROVE_EINVAL, grove__store_list(w->st, "a/b", note, &n, &w->d));
}

static void a_directory_we_may_not_read_hides_only_itself(void **state)
{
	struct world *w = *state;
	struct names n = { GROVE_BUF_INIT };
	char path[320];
	int rc;

	file_make(w->path, "a\n");
	snprintf(path, sizeof(path), "%s/closed", w->dir);
	assert_int_equal(mkdir(path, 0), 0);
	be_nobody();
	rc = grove__store_list(w->st, NULL, note, &n, &w->d);
	be_ourselves();
	OK(rc);
	assert_string_equal(n.text.ptr, "/a.jsonl ");
	/* asked for by name it is an error */
	be_nobody();
	rc = grove__store_list(w->st, "closed", note, &n, &w->d);
	be_ourselves();
	FAILS(GROVE_EACCESS, rc);
	said(w, "cannot list", path);
	assert_int_equal(chmod(w->dir, 0), 0);
	be_nobody();
	rc = grove__store_list(w->st, NULL, note, &n, &w->d);
	be_ourselves();
	assert_int_equal(chmod(w->dir, 0755), 0);
	FAILS(GROVE_EACCESS, rc);
	grove__buf_release(&n.text);
}

static void a_list_that_the_system_fails_says_so(void **state)
{
	struct world *w = *state;
	struct names n = { GROVE_BUF_INIT };
	char path[320];

	snprintf(path, sizeof(path), "%s/project", w->dir);
	assert_int_equal(mkdir(path, 0700), 0);
	for (int i = 1; i <= 2; i++) {
		fail_at("opendir", i, EIO);
		FAILS(GROVE_EIO, grove__store_list(w->st, NULL, note, &n, &w->d));
		said(w, "cannot list", i == 1 ? w->dir : path);
	}
	/* a directory that went away meanwhile does not */
	fail_at("opendir", 2, ENOENT);
	OK(grove__store_list(w->st, NULL, note, &n, &w->d));
	calm();
	grove__buf_release(&n.text);
}

/* ------------------------------------------------------------- attachments */

static int note_file(void *payload, const char *name, uint64_t size)
{
	struct names *n = payload;

	return grove__buf_addf(&n->text, "%s=%llu ", name, (unsigned long long)size);
}

static void what_a_crash_left_behind_is_no_attachment(void **state)
{
	struct world *w = *state;
	struct names n = { GROVE_BUF_INIT };
	char path[320];

	file_make(w->path, "a\n");
	OK(grove__store_attach_put(w->st, &key, "x", str("1"), &w->d));
	snprintf(path, sizeof(path), "%s/a/.x.0123456789abcdef.tmp", w->dir);
	file_make(path, "half");
	OK(grove__store_attach_list(w->st, &key, note_file, &n, &w->d));
	assert_string_equal(n.text.ptr, "x=1 ");
	grove__buf_release(&n.text);
	/* but it goes with the rest */
	OK(grove__store_remove(w->st, &key, &w->d));
	assert_dir(w->dir, "");
}

static void links_among_the_attachments_are_not_followed(void **state)
{
	struct world *w = *state;
	struct names n = { GROVE_BUF_INIT };
	char outside[320], path[320];

	file_make(w->path, "a\n");
	snprintf(outside, sizeof(outside), "%s/outside", w->dir);
	file_make(outside, "secret");
	OK(grove__store_attach_put(w->st, &key, "x", str("1"), &w->d));
	snprintf(path, sizeof(path), "%s/a/link", w->dir);
	assert_int_equal(symlink("../outside", path), 0);
	FAILS(GROVE_EINVAL, grove__store_attach_get(w->st, &key, "link", &n.text, &w->d));
	assert_int_equal(n.text.len, 0);
	snprintf(path, sizeof(path), "%s/a/dir", w->dir);
	assert_int_equal(symlink("..", path), 0);
	OK(grove__store_attach_list(w->st, &key, note_file, &n, &w->d));
	assert_string_equal(n.text.ptr, "x=1 ");
	/* put replaces a link, it does not write through it */
	OK(grove__store_attach_put(w->st, &key, "link", str("mine"), &w->d));
	assert_file(outside, "secret");
	/* removing the session takes the links, not what they lead to */
	OK(grove__store_remove(w->st, &key, &w->d));
	assert_file(outside, "secret");
	assert_dir(w->dir, "outside ");
	grove__buf_release(&n.text);
}

static void an_attachment_is_stored_or_it_is_not(void **state)
{
	struct world *w = *state;
	char dir[320], path[330];
	int calls;

	snprintf(dir, sizeof(dir), "%s/a", w->dir);
	snprintf(path, sizeof(path), "%s/x", dir);
	file_make(w->path, "a\n");
	OK(grove__store_attach_put(w->st, &key, "x", str("old"), &w->d));
	fail_at(NULL, 0, 0);
	OK(grove__store_attach_put(w->st, &key, "x", str("new"), &w->d));
	calls = calm();
	for (int i = 1; i <= calls; i++) {
		struct grove_buf b;
		int rc;

		OK(grove__store_attach_put(w->st, &key, "x", str("old"), &w->d));
		fail_at(NULL, i, ENOSPC);
		rc = grove__store_attach_put(w->st, &key, "x", str("new"), &w->d);
		calm();
		assert_int_equal(rc, GROVE_EFULL);
		assert_dir(dir, "x ");
		b = file_bytes(path);
		assert_true(!strcmp(b.ptr, "old") || !strcmp(b.ptr, "new"));
		grove__buf_release(&b);
	}
}

static void what_stops_a_walk_is_told_from_any_depth(void **state)
{
	struct world *w = *state;
	struct names n = { GROVE_BUF_INIT };

	file_make(w->path, "a\n");
	OK(grove__store_attach_put(w->st, &key, "one/two/three/x", str("1"), &w->d));
	for (int i = 1; i <= 4; i++) {
		fail_at("lstat", i, EACCES);
		FAILS(GROVE_EACCESS, grove__store_attach_list(w->st, &key, note_file, &n, &w->d));
		said(w, "attachments", w->d.path);
	}
	for (int i = 1; i <= 4; i++) {
		fail_at("opendir", i, EIO);
		FAILS(GROVE_EIO, grove__store_attach_list(w->st, &key, note_file, &n, &w->d));
	}
	/* one that vanished is passed over */
	fail_at("lstat", 4, ENOENT);
	OK(grove__store_attach_list(w->st, &key, note_file, &n, &w->d));
	calm();
	assert_int_equal(n.text.len, 0);
	fail_at("unlink", 2, EACCES);
	FAILS(GROVE_EACCESS, grove__store_remove(w->st, &key, &w->d));
	calm();
	grove__buf_release(&n.text);
}

static void a_file_without_the_ending_has_no_attachments(void **state)
{
	struct world *w = *state;
	struct grove_key plain = { "", "a", "" }, other = { "", "b", "" };
	struct grove_key with = { "", "b.jsonl", "" };
	struct names n = { GROVE_BUF_INIT };

	/* a directory "a" of a.jsonl, and a file "b" that is a session by name only */
	file_make(w->path, "a\n");
	OK(grove__store_attach_put(w->st, &key, "x", str("1"), &w->d));
	OK(grove__log_open(&w->log, w->st, &other, GROVE_STORE_CREATE, &w->d));
	OK(add(w, "b", 0));
	FAILS(GROVE_ENOTSUP, grove__store_attach_put(w->st, &other, "x", str("1"), &w->d));
	FAILS(GROVE_ENOTSUP, grove__store_attach_get(w->st, &other, "x", &n.text, &w->d));
	OK(grove__store_attach_list(w->st, &other, note_file, &n, &w->d));
	assert_int_equal(n.text.len, 0);
	/* neither can take the place of the other */
	FAILS(GROVE_EEXIST, grove__store_rename(w->st, &key, &with, &w->d));
	FAILS(GROVE_EEXIST, grove__store_rename(w->st, &other, &plain, &w->d));
	assert_file(w->path, "a\n");
	plain.session = "c";
	FAILS(GROVE_ENOTSUP, grove__store_rename(w->st, &key, &plain, &w->d));
	OK(grove__store_rename(w->st, &other, &plain, &w->d));
	OK(grove__store_remove(w->st, &plain, &w->d));
	OK(grove__store_attach_get(w->st, &key, "x", &n.text, &w->d));
	assert_string_equal(n.text.ptr, "1");
	grove__buf_release(&n.text);
}

static void names_move_where_the_system_has_no_such_call(void **state)
{
	struct world *w = *state;
	struct grove_key to = { "project", "b.jsonl", "" }, taken = { "", "c.jsonl", "" };
	struct grove_buf got = GROVE_BUF_INIT;
	char path[320];

	file_make(w->path, "a\n");
	OK(grove__store_attach_put(w->st, &key, "x", str("1"), &w->d));
	snprintf(path, sizeof(path), "%s/c.jsonl", w->dir);
	file_make(path, "c\n");
	fail_at("renameat2", 0, EINVAL);
	FAILS(GROVE_EEXIST, grove__store_rename(w->st, &key, &taken, &w->d));
	assert_file(path, "c\n");
	assert_int_equal(unlink(path), 0);
	snprintf(path, sizeof(path), "%s/c", w->dir);
	assert_int_equal(mkdir(path, 0700), 0);
	FAILS(GROVE_EEXIST, grove__store_rename(w->st, &key, &taken, &w->d));
	OK(grove__store_rename(w->st, &key, &to, &w->d));
	calm();
	OK(grove__store_attach_get(w->st, &to, "x", &got, &w->d));
	assert_string_equal(got.ptr, "1");
	grove__buf_release(&got);
	assert_dir(w->dir, "c project ");
	snprintf(path, sizeof(path), "%s/project", w->dir);
	assert_dir(path, "b b.jsonl ");
}

static void moving_what_is_not_there_makes_nothing(void **state)
{
	struct world *w = *state;
	struct grove_key to = { "project", "b.jsonl", "" };

	FAILS(GROVE_ENOTFOUND, grove__store_rename(w->st, &key, &to, &w->d));
	assert_dir(w->dir, "");
}

static void a_path_is_described_as_it_is_opened(void **state)
{
	struct world *w = *state;
	struct grove_key sub = { "p", "s.jsonl", "subagents/x.jsonl" };
	struct grove_buf out = GROVE_BUF_INIT;
	char want[320];

	OK(grove__store_describe(w->st, &key, &out));
	assert_string_equal(out.ptr, w->path);
	grove__buf_clear(&out);
	OK(grove__store_describe(w->st, &sub, &out));
	snprintf(want, sizeof(want), "%s/p/s/subagents/x.jsonl", w->dir);
	assert_string_equal(out.ptr, want);
	grove__buf_release(&out);
}

/* ------------------------------------------------------- names that last */

/* What happened to names, and which directories were synced, below the store: in order. */
static struct {
	const char *dir;
	struct grove_buf text;
} deeds;

static const char *below(const char *path)
{
	size_t n = strlen(deeds.dir);

	return strncmp(path, deeds.dir, n) ? NULL : path[n] ? path + n + 1 : ".";
}

static void note_deed(const struct grove__sys_deed *deed)
{
	char link[64], path[512] = "";
	const char *name = deed->path;
	ssize_t n;

	if (!strcmp(deed->call, "sync")) {
		snprintf(link, sizeof(link), "/proc/self/fd/%d", deed->fd);
		n = readlink(link, path, sizeof(path) - 1);
		assert_true(n > 0);
		path[n] = '\0';
		name = path;
	} else if (strcmp(deed->call, "rename") && strcmp(deed->call, "unlink") &&
		   strcmp(deed->call, "mkdir")) {
		return;
	}
	/* directories above the store are synced with those that were made in it */
	if (below(name))
		assert_int_equal(grove__buf_addf(&deeds.text, "%s %s\n", deed->call, below(name)), 0);
}

static void watch_deeds(struct world *w)
{
	deeds.dir = w->dir;
	grove__buf_clear(&deeds.text);
	grove__sys_told = note_deed;
}

static void assert_deeds(const char *want)
{
	grove__sys_told = NULL;
	assert_string_equal(deeds.text.ptr, want);
}

static void a_session_that_is_removed_or_moved_stays_so(void **state)
{
	struct world *w = *state;
	const struct grove_key a = { "", "a.jsonl", "" }, b = { "", "b.jsonl", "" },
			       c = { "p", "c.jsonl", "" };

	file_make(w->path, "a\n");
	OK(grove__store_attach_put(w->st, &a, "x.txt", grove__slice_str("x"), &w->d));
	watch_deeds(w);
	OK(grove__store_rename(w->st, &a, &b, &w->d));
	assert_deeds("rename a\nrename a.jsonl\nsync .\n");
	/* into a directory that is not there: that one has to last, too */
	watch_deeds(w);
	OK(grove__store_rename(w->st, &b, &c, &w->d));
	assert_deeds("mkdir p\nsync .\nrename b\nrename b.jsonl\nsync p\nsync .\n");
	watch_deeds(w);
	OK(grove__store_rename(w->st, &c, &a, &w->d));
	assert_deeds("rename p/c\nrename p/c.jsonl\nsync .\nsync p\n");
	watch_deeds(w);
	OK(grove__store_remove(w->st, &a, &w->d));
	assert_deeds("unlink a.jsonl\nunlink a/x.txt\nsync .\n");
	grove__buf_release(&deeds.text);
}

static int no_sync(const char *call)
{
	return strcmp(call, "fsync") ? 0 : EIO;
}

static void that_a_name_may_not_last_is_told(void **state)
{
	struct world *w = *state;
	const struct grove_key a = { "", "a.jsonl", "" }, b = { "", "b.jsonl", "" };
	struct names n = { GROVE_BUF_INIT };

	file_make(w->path, "a\n");
	grove__sys_fault = no_sync;
	FAILS(GROVE_EIO, grove__store_rename(w->st, &a, &b, &w->d));
	grove__sys_fault = NULL;
	OK(grove__store_list(w->st, NULL, note, &n, &w->d));
	assert_string_equal(n.text.ptr, "/b.jsonl ");
	grove__sys_fault = no_sync;
	FAILS(GROVE_EIO, grove__store_remove(w->st, &b, &w->d));
	grove__sys_fault = NULL;
	grove__buf_clear(&n.text);
	OK(grove__store_list(w->st, NULL, note, &n, &w->d));
	assert_int_equal(n.text.len, 0);
	grove__buf_release(&n.text);
}

/* Between the last look at a name and the naming, another may take it. */
static void a_name_that_another_took_stays_the_others(void **state)
{
	struct world *w = *state;
	struct grove_store_record ours = { .line = str("ours") };
	struct grove__aside a;
	char temp[600];

	for (int vanished = 0; vanished < 2; vanished++) {
		unlink(w->path);
		OK(grove__aside_open(&a, w->st, &key, false, &w->d));
		OK(grove__log_append(a.log, &ours, 1, 0, GROVE_SYNC_NONE, &w->out, &w->d));
		snprintf(temp, sizeof(temp), "%s/%s", w->dir, a.session.ptr);
		file_make(w->path, "another's\n");
		if (vanished)
			assert_int_equal(unlink(temp), 0);
		assert_int_not_equal(grove__aside_name(&a, &w->d), 0);
		grove__aside_end(&a, false);
		assert_file(w->path, "another's\n");
		assert_int_equal(access(temp, F_OK), -1);
	}
}

static void moving_onto_another_leaves_its_attachments(void **state)
{
	struct world *w = *state;
	const struct grove_key a = { "", "a.jsonl", "" }, b = { "", "b.jsonl", "" };
	struct grove_buf bytes = GROVE_BUF_INIT;
	char path[300];

	file_make(w->path, "a\n");
	snprintf(path, sizeof(path), "%s/b.jsonl", w->dir);
	file_make(path, "b\n");
	OK(grove__store_attach_put(w->st, &b, "x.txt", str("of b"), &w->d));
	FAILS(GROVE_EEXIST, grove__store_rename(w->st, &a, &b, &w->d));
	OK(grove__store_attach_get(w->st, &b, "x.txt", &bytes, &w->d));
	assert_string_equal(bytes.ptr, "of b");
	grove__buf_release(&bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_list_passes_over_what_is_no_session),
		CASE(a_directory_we_may_not_read_hides_only_itself),
		CASE(a_list_that_the_system_fails_says_so),
		CASE(what_a_crash_left_behind_is_no_attachment),
		CASE(links_among_the_attachments_are_not_followed),
		CASE(an_attachment_is_stored_or_it_is_not),
		CASE(what_stops_a_walk_is_told_from_any_depth),
		CASE(a_file_without_the_ending_has_no_attachments),
		CASE(names_move_where_the_system_has_no_such_call),
		CASE(moving_what_is_not_there_makes_nothing),
		CASE(a_name_that_another_took_stays_the_others),
		CASE(moving_onto_another_leaves_its_attachments),
		CASE(a_path_is_described_as_it_is_opened),
		CASE(a_session_that_is_removed_or_moved_stays_so),
		CASE(that_a_name_may_not_last_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
