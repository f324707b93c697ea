/*
 * tests/unit/test_blob.c: blobs: files that are named by the hash of their
 * content.
 *
 * Whatever fails, the blob's name leads to the whole blob or to nothing, and no
 * temporary file is left behind. If something that is not a blob has a blob's
 * name, it is neither followed nor changed.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <time.h>

#include <cmocka.h>

#include "blob/blob.h"
#include "dialect/xcsh.h"
#include "session/session.h"
#include "sys/file.h"
#include "transfer/blobs.h"

#include "../lib/chance.h"
#include "../lib/scratch.h"

#define str grove__slice_str
#define HELLO "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
#define EMPTY "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

/* ------------------------------------------------------------ the fixture */

struct world {
	char top[256], dir[300];      /* the blobs are in dir, which does not exist yet */
	struct grove__blobs *b;
	struct grove_buf buf;
	struct grove_detail d;
	char hash[GROVE__BLOB_HASH];
	bool known, mounted;
};

static int set_up(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	scratch_make(w->top, sizeof(w->top));
	snprintf(w->dir, sizeof(w->dir), "%s/a/blobs", w->top);
	assert_int_equal(grove__blobs_open(&w->b, w->dir, &w->d), 0);
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;

	grove__sys_fault = NULL;
	grove__blobs_close(w->b);
	grove__buf_release(&w->buf);
	if (w->mounted)
		umount2(w->dir, MNT_DETACH);
	scratch_remove(w->top);
	free(w);
	return 0;
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

static void check(struct world *w, int rc, int code, const char *what, int line)
{
	if (rc != code)
		fail_msg("line %d: %s: %d (%s), not %d", line, what, rc, rc < 0 ? w->d.message : "",
			 code);
	if (code < 0 && (w->d.code != code || !*w->d.message))
		fail_msg("line %d: %s: the detail says %d \"%s\"", line, what, w->d.code,
			 w->d.message);
}

#define FAILS(code, call) check(w, call, code, #call, __LINE__)
#define OK(call) FAILS(0, call)

static int put_as(struct world *w, const char *text, enum grove_sync sync, unsigned flags)
{
	return grove__blob_put(w->b, str(text), sync, flags, w->hash, &w->known, &w->d);
}

static int put(struct world *w, const char *text)
{
	return put_as(w, text, GROVE_SYNC_NONE, 0);
}

static int get(struct world *w, const char *hash)
{
	grove__buf_clear(&w->buf);
	return grove__blob_get(w->b, hash, &w->buf, &w->d);
}

static const char *path_of(const struct world *w, const char *name)
{
	static char path[8][512];
	static unsigned turn;
	char *p = path[turn++ % 8];

	snprintf(p, sizeof(path[0]), "%s/%s", w->dir, name);
	return p;
}

static struct stat stat_of(const struct world *w, const char *name)
{
	struct stat st;

	assert_int_equal(lstat(path_of(w, name), &st), 0);
	return st;
}

/* Makes a blob as old as if it had been stored that long ago. */
static void make_old(const struct world *w, const char *name, time_t seconds)
{
	struct timespec t[2] = { { .tv_sec = time(NULL) - seconds } };

	t[1] = t[0];
	assert_int_equal(utimensat(AT_FDCWD, path_of(w, name), t, AT_SYMLINK_NOFOLLOW), 0);
}

/* ------------------------------------------------------------------- names */

static void a_reference_is_exactly_one_thing(void **state)
{
	static const char *const bad[] = {
		"", "blob:sha256:", HELLO, "blob:sha256:../../x", "blob:sha256:../../../etc/passwd",
		"blob:sha256:" HELLO "0", "blob:sha256:" HELLO ".png", "blob:sha256:" HELLO "\n",
		" blob:sha256:" HELLO, "blob:sha512:" HELLO, "blob:sha256" HELLO, "BLOB:sha256:" HELLO,
		"blob:sha256:2CF24DBA5FB0A30E26E83B2AC5B9E29E1B161E5C1FA7425E73043362938B9824",
		"blob:sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b982",
		"blob:sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b982g",
		"blob:sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e7304336293/b9824",
	};
	char hash[GROVE__BLOB_HASH];

	(void)state;
	assert_true(grove__blob_parse(str("blob:sha256:" HELLO), hash));
	assert_string_equal(hash, HELLO);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		if (grove__blob_parse(str(bad[i]), hash))
			fail_msg("\"%s\" is taken for a reference", bad[i]);
	assert_false(grove__blob_parse(grove__slice("blob:sha256:" HELLO, 75), hash));
}

static int calls;

static int count_calls(const char *call)
{
	(void)call;
	calls++;
	return 0;
}

static void a_bad_reference_touches_no_file(void **state)
{
	struct world *w = *state;
	struct grove_buf out = GROVE_BUF_INIT;
	struct grove_blobs *b;
	struct grove *g;

	assert_int_equal(grove_open(&(struct grove_options){ .size = sizeof(struct grove_options),
								 .home = w->top }, &g), 0);
	assert_int_equal(grove_blobs_open(g, w->dir, &b), 0);
	calls = 0;
	grove__sys_fault = count_calls;
	assert_int_equal(grove_blobs_get(b, "blob:sha256:../../x", &out), GROVE_EINVAL);
	assert_int_equal(grove_blobs_verify(b, "x", NULL, NULL, NULL), GROVE_EINVAL);
	assert_int_equal(calls, 0);
	grove_blobs_error(b, &w->d);
	assert_int_equal(w->d.code, GROVE_EINVAL);
	grove_blobs_close(b);
	grove_close(g);
}

/* ------------------------------------------------------------- put and get */

static void a_blob_is_a_file_named_by_its_hash(void **state)
{
	struct world *w = *state;
	struct stat st;

	OK(put(w, "hello"));
	assert_false(w->known);
	assert_string_equal(w->hash, HELLO);
	assert_file(path_of(w, HELLO), "hello");
	assert_dir(w->dir, HELLO " ");
	assert_int_equal(stat_of(w, HELLO).st_mode, S_IFREG | 0600);
	assert_int_equal(stat(w->dir, &st), 0);
	assert_int_equal(st.st_mode, S_IFDIR | 0700);
	OK(get(w, HELLO));
	assert_string_equal(w->buf.ptr, "hello");
	FAILS(1, grove__blob_has(w->b, HELLO, &w->d));
	OK(put(w, ""));
	assert_string_equal(w->hash, EMPTY);
	OK(get(w, EMPTY));
	assert_int_equal(w->buf.len, 0);
}

static void a_blob_of_many_chunks_comes_back(void **state)
{
	struct world *w = *state;
	struct chance c = chance_begin("blob");
	struct grove_buf big = GROVE_BUF_INIT;
	uint64_t size;
	bool known;

	for (size_t i = 0; i < 100000; i++) {
		uint64_t r = chance_next(&c);

		assert_int_equal(grove__buf_add(&big, &r, sizeof(r)), 0);
	}
	OK(grove__blob_put(w->b, grove__buf_slice(&big), GROVE_SYNC_FLUSH, 0, w->hash, NULL, &w->d));
	OK(grove__blob_put(w->b, grove__buf_slice(&big), GROVE_SYNC_NONE, 0, w->hash, &known, &w->d));
	assert_true(known);
	OK(get(w, w->hash));
	assert_int_equal(w->buf.len, big.len);
	assert_memory_equal(w->buf.ptr, big.ptr, big.len);
	OK(grove__blob_verify(w->b, w->hash, &size, &w->d));
	assert_int_equal(size, big.len);
	big.ptr[big.len - 1] ^= 1; /* a different blob */
	OK(grove__blob_put(w->b, grove__buf_slice(&big), GROVE_SYNC_NONE, 0, w->hash, &known, &w->d));
	assert_false(known);
	grove__buf_release(&big);
}

static bool wrote;

static int watch_writes(const char *call)
{
	if (strcmp(call, "open") && strcmp(call, "fstat") && strcmp(call, "pread"))
		wrote = true;
	return 0;
}

static void a_known_blob_is_not_written(void **state)
{
	struct world *w = *state;
	struct stat before, after;

	OK(put(w, "hello"));
	before = stat_of(w, HELLO);
	wrote = false;
	grove__sys_fault = watch_writes;
	OK(put(w, "hello"));
	assert_true(w->known);
	OK(put_as(w, "hello", GROVE_SYNC_NONE, GROVE_BLOBS_PUT_TRUST));
	assert_true(w->known);
	grove__sys_fault = NULL;
	assert_false(wrote);
	after = stat_of(w, HELLO);
	assert_int_equal(before.st_ino, after.st_ino);
	assert_memory_equal(&before.st_mtim, &after.st_mtim, sizeof(before.st_mtim));
	assert_dir(w->dir, HELLO " ");
}

static void an_old_known_blob_is_young_again(void **state)
{
	struct world *w = *state;
	struct stat before;

	OK(put(w, "hello"));
	before = stat_of(w, HELLO);
	make_old(w, HELLO, 5000);
	OK(put(w, "hello"));
	assert_true(w->known);
	assert_int_equal(stat_of(w, HELLO).st_ino, before.st_ino);
	assert_true(stat_of(w, HELLO).st_mtime > time(NULL) - 100);
}

static void wrong_bytes_are_never_handed_out(void **state)
{
	struct world *w = *state;

	OK(put(w, "hello"));
	file_make(path_of(w, HELLO), "hellO");
	grove__buf_clear(&w->buf);
	assert_int_equal(grove__buf_add_str(&w->buf, "before"), 0);
	FAILS(GROVE_EDAMAGED, grove__blob_get(w->b, HELLO, &w->buf, &w->d));
	assert_string_equal(w->buf.ptr, "before");
	assert_string_equal(w->d.path, path_of(w, HELLO));
	FAILS(GROVE_EDAMAGED, grove__blob_verify(w->b, HELLO, NULL, &w->d));
	file_make(path_of(w, HELLO), "");
	FAILS(GROVE_EDAMAGED, get(w, HELLO));
	FAILS(GROVE_ENOTFOUND, get(w, EMPTY));
	FAILS(0, grove__blob_has(w->b, EMPTY, &w->d));
}

static void a_damaged_blob_is_mended_by_a_put(void **state)
{
	struct world *w = *state;
	ino_t ino;

	OK(put(w, "hello"));
	file_make(path_of(w, HELLO), "hellO");
	ino = stat_of(w, HELLO).st_ino;
	/* a caller that trusts the size is told that the blob is there */
	OK(put_as(w, "hello", GROVE_SYNC_NONE, GROVE_BLOBS_PUT_TRUST));
	assert_true(w->known);
	assert_file(path_of(w, HELLO), "hellO");
	OK(put(w, "hello"));
	assert_false(w->known);
	assert_file(path_of(w, HELLO), "hello");
	assert_true(stat_of(w, HELLO).st_ino != ino); /* a new file, not the old one rewritten */
	file_make(path_of(w, HELLO), "he");
	OK(put_as(w, "hello", GROVE_SYNC_NONE, GROVE_BLOBS_PUT_TRUST));
	assert_file(path_of(w, HELLO), "hello");
}

static void a_link_is_not_followed(void **state)
{
	struct world *w = *state;
	char target[400];

	snprintf(target, sizeof(target), "%s/target", w->top);
	file_make(target, "hello");
	OK(put(w, "x"));
	assert_int_equal(symlink(target, path_of(w, HELLO)), 0);
	FAILS(GROVE_EDAMAGED, get(w, HELLO));
	FAILS(GROVE_EDAMAGED, put(w, "hello"));
	FAILS(GROVE_EDAMAGED, grove__blob_verify(w->b, HELLO, NULL, &w->d));
	FAILS(0, grove__blob_has(w->b, HELLO, &w->d));
	assert_file(target, "hello");
	assert_true(S_ISLNK(stat_of(w, HELLO).st_mode));
}

static void a_directory_is_no_blob(void **state)
{
	struct world *w = *state;

	OK(put(w, "x"));
	assert_int_equal(mkdir(path_of(w, HELLO), 0700), 0);
	FAILS(GROVE_EDAMAGED, get(w, HELLO));
	assert_non_null(strstr(w->d.message, "directory"));
	FAILS(GROVE_EDAMAGED, put(w, "hello"));
	FAILS(0, grove__blob_has(w->b, HELLO, &w->d));
	assert_int_equal(rmdir(path_of(w, HELLO)), 0);
	assert_int_equal(mkfifo(path_of(w, HELLO), 0600), 0);
	FAILS(GROVE_EDAMAGED, get(w, HELLO));
}

static void a_file_in_the_place_of_the_directory_is_told(void **state)
{
	struct world *w = *state;
	char a[300];

	snprintf(a, sizeof(a), "%s/a", w->top);
	assert_int_equal(mkdir(a, 0700), 0);
	file_make(w->dir, "not a directory");
	FAILS(GROVE_EINVAL, put(w, "hello"));
	FAILS(GROVE_ENOTFOUND, get(w, HELLO));
	assert_file(w->dir, "not a directory");
}

/* ------------------------------------------------------------------ faults */

static int fail_at, fail_with;

static int fail_one(const char *call)
{
	if (!strcmp(call, "unlink")) /* failures of cleaning up are not tested here */
		return 0;
	return calls++ == fail_at ? fail_with : 0;
}

/* Asserts that the directory has the whole blob or nothing of it, and no temporary file. */
static void assert_whole_or_absent(struct world *w)
{
	struct grove_buf names = GROVE_BUF_INIT;
	struct stat st;

	if (stat(w->dir, &st))
		return;
	names = dir_names(w->dir);
	if (names.len) {
		assert_string_equal(names.ptr, HELLO " ");
		assert_file(path_of(w, HELLO), "hello");
	}
	grove__buf_release(&names);
}

static void try_each_call(struct world *w, int err, bool there_before)
{
	bool done = false;
	int rc;

	for (fail_at = 0; !done; fail_at++) {
		assert_in_range(fail_at, 0, 100);
		if (there_before) {
			OK(put(w, "hello"));
			make_old(w, HELLO, 5000);
		}
		calls = 0;
		fail_with = err;
		grove__sys_fault = fail_one;
		rc = put_as(w, "hello", GROVE_SYNC_ALWAYS, 0);
		grove__sys_fault = NULL;
		done = calls <= fail_at;
		if (done)
			OK(rc);
		if (rc && (rc != w->d.code || !*w->d.message))
			fail_msg("call %d: %d without a story", fail_at, rc);
		if (!rc)
			assert_file(path_of(w, HELLO), "hello");
		assert_whole_or_absent(w);
		unlink(path_of(w, HELLO));
		/* after a failure, the next attempt succeeds */
		OK(put_as(w, "hello", GROVE_SYNC_ALWAYS, 0));
		unlink(path_of(w, HELLO));
		grove__blobs_close(w->b);
		scratch_remove(w->dir);
		OK(grove__blobs_open(&w->b, w->dir, &w->d));
	}
	assert_in_range(fail_at, 5, 100);
}

static void any_call_may_fail(void **state)
{
	static const int errs[] = { EIO, ENOSPC, EACCES, EROFS, EDQUOT, ENOMEM, EMFILE };

	for (size_t i = 0; i < sizeof(errs) / sizeof(*errs); i++)
		try_each_call(*state, errs[i], false);
}

static void any_call_may_fail_when_it_is_known(void **state)
{
	try_each_call(*state, EIO, true);
	try_each_call(*state, EACCES, true);
}

static int shorten(const char *call)
{
	return !strcmp(call, "write") && calls++ < 2 ? GROVE__SYS_SHORT : 0;
}

static void a_short_write_is_gone_on_with(void **state)
{
	struct world *w = *state;

	calls = 0;
	grove__sys_fault = shorten;
	OK(put(w, "hello"));
	grove__sys_fault = NULL;
	assert_file(path_of(w, HELLO), "hello");
}

static const char *failing;
static int failing_with;

static int fail_named(const char *call)
{
	return strcmp(call, failing) ? 0 : failing_with;
}

static void failures_have_their_codes(void **state)
{
	struct world *w = *state;

	OK(put(w, "x"));
	grove__sys_fault = fail_named;
	failing = "write", failing_with = ENOSPC;
	FAILS(GROVE_EFULL, put(w, "hello"));
	failing_with = EDQUOT;
	FAILS(GROVE_EFULL, put(w, "hello"));
	failing = "rename", failing_with = EROFS;
	FAILS(GROVE_EACCESS, put(w, "hello"));
	assert_string_equal(w->d.path, w->dir);
	failing = "fsync", failing_with = EIO;
	OK(put(w, "hello"));
	FAILS(GROVE_EIO, put_as(w, "other", GROVE_SYNC_ALWAYS, 0));
	grove__sys_fault = NULL;
	FAILS(GROVE_ENOTFOUND, get(w, "d9298a10d1b0735837dc4bd85dac641b0f3cef27a47e5d53a54f2f3f5b2fcffa"));
}

static void a_full_disk_keeps_the_blobs_it_has(void **state)
{
	struct world *w = *state;
	struct grove_buf big = GROVE_BUF_INIT;

	OK(put(w, "x"));
	if (mount("grove-test", w->dir, "tmpfs", 0, "size=64k")) {
		print_message("# mounting is not allowed here\n");
		return;
	}
	w->mounted = true;
	OK(put(w, "hello"));
	assert_int_equal(grove__buf_reserve(&big, 1 << 20), 0);
	memset(big.ptr, 'x', 1 << 20);
	FAILS(GROVE_EFULL, grove__blob_put(w->b, grove__slice(big.ptr, 1 << 20), GROVE_SYNC_NONE, 0,
					   w->hash, NULL, &w->d));
	assert_dir(w->dir, HELLO " ");
	OK(get(w, HELLO));
	/* a blob that is there already needs neither space nor permission to write */
	make_old(w, HELLO, 5000);
	assert_int_equal(mount("grove-test", w->dir, "tmpfs", MS_REMOUNT | MS_RDONLY, "size=64k"), 0);
	OK(put_as(w, "hello", GROVE_SYNC_ALWAYS, 0));
	assert_true(w->known);
	FAILS(GROVE_EACCESS, put(w, "other"));
	assert_dir(w->dir, HELLO " ");
	grove__buf_release(&big);
}

/* -------------------------------------------------------------------- sync */

static int syncs;

static int count_syncs(const char *call)
{
	syncs += !strcmp(call, "fsync");
	return 0;
}

static void many_puts_share_one_sync_of_the_directory(void **state)
{
	struct world *w = *state;
	char text[20];

	OK(put(w, "x"));
	OK(grove__blobs_sync(w->b, &w->d));
	grove__sys_fault = count_syncs;
	for (int i = 0; i < 10; i++) {
		snprintf(text, sizeof(text), "blob %d", i);
		OK(put_as(w, text, GROVE_SYNC_ALWAYS, GROVE_BLOBS_PUT_LATER));
	}
	assert_int_equal(syncs, 10);
	OK(grove__blobs_sync(w->b, &w->d));
	assert_int_equal(syncs, 11);
	OK(grove__blobs_sync(w->b, &w->d));
	assert_int_equal(syncs, 11);
	OK(put(w, "not synced"));
	assert_int_equal(syncs, 11);
	/* known, but not synced yet: syncs the bytes and the name */
	OK(put_as(w, "not synced", GROVE_SYNC_ALWAYS, 0));
	assert_true(w->known);
	assert_int_equal(syncs, 13);
}

/* --------------------------------------------------------- list and sweep */

static int add_kind(void *payload, const struct grove__blob_entry *e)
{
	unsigned *kinds = payload;

	kinds[e->kind]++;
	if (e->kind == BLOB_FILE || e->kind == BLOB_ALIAS)
		assert_int_equal(e->size, 5);
	return 0;
}

static int stop_at_once(void *payload, const struct grove__blob_entry *e)
{
	(void)payload;
	(void)e;
	return 7;
}

static void a_list_has_what_is_ours(void **state)
{
	struct world *w = *state;
	unsigned kinds[4] = { 0 };

	OK(grove__blobs_list(w->b, add_kind, kinds, &w->d));
	OK(put(w, "hello"));
	OK(put(w, "world"));
	assert_int_equal(link(path_of(w, HELLO), path_of(w, HELLO ".png")), 0);
	file_make(path_of(w, ".blob-0123456789abcdef0123456789abcdef.tmp"), "he");
	assert_int_equal(mkdir(path_of(w, EMPTY), 0700), 0);
	file_make(path_of(w, "README"), "");
	file_make(path_of(w, HELLO ".tar.gz"), "");
	file_make(path_of(w, ".blob-0123.tmp"), "");
	OK(grove__blobs_list(w->b, add_kind, kinds, &w->d));
	assert_int_equal(kinds[BLOB_FILE], 2);
	assert_int_equal(kinds[BLOB_ODD], 1);
	assert_int_equal(kinds[BLOB_ALIAS], 1);
	assert_int_equal(kinds[BLOB_TEMP], 1);
	FAILS(7, grove__blobs_list(w->b, stop_at_once, NULL, &w->d));
}

static void a_blob_may_have_another_name(void **state)
{
	struct world *w = *state;
	unsigned kinds[4] = { 0 };

	OK(put(w, "hello"));
	OK(grove__blob_alias(w->b, HELLO, "png", &w->d));
	OK(grove__blob_alias(w->b, HELLO, "png", &w->d));
	OK(grove__blob_alias(w->b, HELLO, "x-icon", &w->d));
	/* names that no list would show, and a blob that does not exist */
	OK(grove__blob_alias(w->b, HELLO, "../x", &w->d));
	OK(grove__blob_alias(w->b, HELLO, "tar.gz", &w->d));
	OK(grove__blob_alias(w->b, HELLO, "", &w->d));
	OK(grove__blob_alias(w->b, EMPTY, "png", &w->d));
	OK(grove__blobs_list(w->b, add_kind, kinds, &w->d));
	assert_int_equal(kinds[BLOB_FILE], 1);
	assert_int_equal(kinds[BLOB_ALIAS], 2);
	/* the blob itself has not moved */
	OK(put(w, "hello"));
	assert_true(w->known);
}

static int64_t ago_ns(time_t seconds)
{
	return ((int64_t)time(NULL) - seconds) * 1000000000;
}

static void a_sweep_spares_the_young(void **state)
{
	struct world *w = *state;
	bool gone;

	OK(put(w, "hello"));
	OK(grove__blob_sweep(w->b, HELLO, ago_ns(3600), &gone, &w->d));
	assert_false(gone);
	make_old(w, HELLO, 5000);
	OK(grove__blob_sweep(w->b, HELLO, ago_ns(3600), &gone, &w->d));
	assert_true(gone);
	OK(grove__blob_sweep(w->b, HELLO, ago_ns(3600), &gone, &w->d));
	assert_false(gone);
	assert_dir(w->dir, "");
}

static struct world *sweeping;

/* Another process sweeps and stores the blob just before our sweep examines it again. */
static int put_before_lstat(const char *call)
{
	struct world *w = sweeping;

	if (strcmp(call, "lstat") || !w)
		return 0;
	sweeping = NULL;
	assert_int_equal(unlink(path_of(w, HELLO)), 0);
	assert_int_equal(put(w, "hello"), 0);
	return 0;
}

static void a_sweep_removes_what_it_looked_at(void **state)
{
	struct world *w = *state;
	bool gone;

	OK(put(w, "hello"));
	make_old(w, HELLO, 5000);
	failing = "unlink", failing_with = EIO;
	grove__sys_fault = fail_named;
	FAILS(GROVE_EIO, grove__blob_sweep(w->b, HELLO, ago_ns(3600), &gone, &w->d));
	assert_false(gone);
	sweeping = w;
	grove__sys_fault = put_before_lstat;
	OK(grove__blob_sweep(w->b, HELLO, ago_ns(3600), &gone, &w->d));
	grove__sys_fault = NULL;
	assert_false(gone);
	OK(get(w, HELLO));
	assert_dir(w->dir, HELLO " ");
}

/* A put and a sweep at the same time: when the put returns, the blob is there, and it stays. */
struct race {
	struct world *w;
	atomic_bool over;
	atomic_uint swept;
};

static void *sweep_on(void *payload)
{
	struct race *r = payload;
	struct grove_detail d;

	while (!r->over) {
		bool gone = false;

		if (grove__blob_sweep(r->w->b, HELLO, ago_ns(3600), &gone, &d))
			break;
		r->swept += gone;
	}
	return NULL;
}

static void a_put_wins_against_a_sweep(void **state)
{
	struct world *w = *state;
	struct race r = { .w = w };
	pthread_t thread[2];

	OK(put(w, "hello"));
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, sweep_on, &r), 0);
	for (int i = 0; i < 20000; i++) {
		struct timespec t[2] = { { .tv_sec = time(NULL) - 5000 } };

		t[1] = t[0];
		utimensat(AT_FDCWD, path_of(w, HELLO), t, 0); /* it may be missing at this moment */
		OK(put(w, "hello"));
		OK(get(w, HELLO));
	}
	r.over = true;
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	print_message("# %u sweeps removed it\n", r.swept);
	assert_dir(w->dir, HELLO " ");
}

static void *put_many(void *payload)
{
	struct world *w = payload;
	char hash[GROVE__BLOB_HASH], text[20];
	struct grove_detail d;

	for (int i = 0; i < 200; i++) {
		snprintf(text, sizeof(text), "blob %d", i % 50);
		if (grove__blob_put(w->b, str(text), i % 7 ? GROVE_SYNC_NONE : GROVE_SYNC_ALWAYS, 0, hash,
				    NULL, &d))
			return w;
	}
	return NULL;
}

static void threads_may_put_the_same_blobs(void **state)
{
	struct world *w = *state;
	pthread_t thread[6];
	void *failed;

	for (int i = 0; i < 6; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, put_many, w), 0);
	for (int i = 0; i < 6; i++) {
		pthread_join(thread[i], &failed);
		assert_null(failed);
	}
	for (int i = 0; i < 50; i++) {
		char text[20];

		snprintf(text, sizeof(text), "blob %d", i);
		OK(put(w, text));
		assert_true(w->known);
	}
}

/* -------------------------------------------------------------- references */

/* A slow and simple way to find the same. */
static bool occurs(const char *text, size_t len, const char *hash)
{
	return memmem(text, len, hash, 64) != NULL;
}

static void references_are_found_wherever_they_stand(void **state)
{
	static const char alphabet[] = "0123456789abcdefABCDEFxyz \":\\n";
	struct chance c = chance_begin("references");
	char hash[20][65], text[3000];

	(void)state;
	for (int round = 0; round < 2000; round++) {
		struct grove__blob_refs r;
		size_t len = chance_below(&c, sizeof(text) + 1), at = 0;
		/* mostly digits, or hardly any */
		uint32_t letters = chance_below(&c, 2) ? 16 : (uint32_t)sizeof(alphabet) - 1;

		grove__blob_refs_init(&r);
		for (size_t i = 0; i < 20; i++) {
			for (size_t k = 0; k < 64; k++)
				hash[i][k] = alphabet[chance_below(&c, 16)];
			hash[i][64] = '\0';
			assert_int_equal(grove__blob_refs_add(&r, hash[i]), 0);
		}
		grove__blob_refs_ready(&r);
		for (size_t i = 0; i < len; i++)
			text[i] = alphabet[chance_below(&c, letters)];
		for (unsigned i = chance_below(&c, 6); i && len >= 64; i--)
			memcpy(text + chance_below(&c, (uint32_t)(len - 63)), hash[chance_below(&c, 20)], 64);
		/* in pieces, each of which begins with the end of the one before */
		while (at < len) {
			size_t n = 1 + chance_below(&c, 500), from = at > 63 ? at - 63 : 0;
			char *piece;

			if (n > len - at)
				n = len - at;
			piece = malloc(at - from + n);
			assert_non_null(piece);
			memcpy(piece, text + from, at - from + n);
			assert_int_equal(grove__blob_refs_feed(&r, piece, at - from + n), 0);
			free(piece);
			at += n;
		}
		for (size_t i = 0; i < 20; i++)
			if (grove__blob_refs_named(&r, hash[i]) != occurs(text, len, hash[i]))
				fail_msg("round %d: %s %s", round, hash[i],
					 occurs(text, len, hash[i]) ? "was missed" : "was invented");
		grove__blob_refs_release(&r);
	}
}

/* ---------------------------------------------------------------------- gc */

struct fates {
	unsigned nr[4];
	char last[65];
};

static int add_fate(void *payload, const struct grove_blob_item *i)
{
	struct fates *f = payload;

	f->nr[i->fate]++;
	snprintf(f->last, sizeof(f->last), "%s", i->hash ? i->hash : "");
	return 0;
}

static const char *test_variables(void *payload, const char *name)
{
	(void)payload;
	(void)name;
	return NULL;
}

/*
 * Opens an environment whose home is the scratch directory, with the blobs where xcsh keeps them.
 */
static struct grove *open_home(struct world *w, struct grove_blobs **b)
{
	struct grove_options o = { .size = sizeof(o), .home = w->top, .cwd = w->top,
				   .getenv = test_variables };
	struct grove *g;

	assert_int_equal(grove_open(&o, &g), 0);
	assert_int_equal(grove_blobs_open(g, NULL, b), 0);
	snprintf(w->dir, sizeof(w->dir), "%s/.xcsh/agent/blobs", w->top);
	return g;
}

/* Returns 1 if the blob is there, 0 if it is not. */
static int has(struct grove_blobs *b, const char *what)
{
	struct grove_buf bytes = GROVE_BUF_INIT;
	int rc = grove_blobs_get(b, what, &bytes);

	grove_buf_release(&bytes);
	return rc == GROVE_ENOTFOUND ? 0 : rc ? rc : 1;
}

static const char *make_file(const struct world *w, const char *name, const char *text)
{
	static char path[512];

	snprintf(path, sizeof(path), "%s/%s", w->top, name);
	*strrchr(path, '/') = '\0';
	assert_int_equal(grove__sys_mkdirs(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/%s", w->top, name);
	file_make(path, text);
	return path;
}

static void keep_text(struct grove_blobs *b, const char *text, char ref[GROVE_BLOB_REF_MAX])
{
	assert_int_equal(grove_blobs_put(b, str(text), NULL, ref, NULL), 0);
}

static void gc_keeps_what_any_file_names(void **state)
{
	static const char *const places[] = {
		".xcsh/agent/sessions/-x/a.jsonl",             /* beside the blobs */
		".xcsh/agent/sessions/-x/a/task/sub.jsonl",    /* a sub-agent's */
		".xcsh/agent/sessions/-x/a/3.bash.log",        /* an artifact */
		".xcsh/agent/sessions/-x/.a.jsonl.99.tmp",     /* a rewrite that was cut off */
		".pi/agent/sessions/--x--/b.jsonl",            /* another agent's */
	};
	struct world *w = *state;
	struct grove_blobs_gc_options go = { .size = sizeof(go), .grace = -1 };
	struct grove_blobs_gc_result r = { .size = sizeof(r) };
	struct fates f = { { 0 }, "" };
	struct grove_buf line = GROVE_BUF_INIT;
	struct grove_blobs *b;
	struct grove *g = open_home(w, &b);
	char ref[GROVE_BLOB_REF_MAX], text[20];

	for (size_t i = 0; i < 5; i++) {
		snprintf(text, sizeof(text), "image %zu", i);
		keep_text(b, text, ref);
		grove__buf_clear(&line);
		assert_int_equal(grove__buf_addf(&line, "{\"data\":\"%s\"}\n", ref), 0);
		make_file(w, places[i], line.ptr);
	}
	keep_text(b, "hello", ref);
	/* a dry run reports, and removes nothing */
	assert_int_equal(grove_blobs_gc(b, &go, add_fate, &f, &r), 0);
	assert_int_equal(f.nr[GROVE_BLOB_FATE_REFERENCED], 5);
	assert_int_equal(f.nr[GROVE_BLOB_FATE_GARBAGE], 1);
	assert_int_equal(r.garbage, 1);
	assert_int_equal(r.garbage_bytes, 5);
	assert_int_equal(r.files, 5);
	assert_int_equal(has(b, HELLO), 1);
	/* within the grace period a blob stays, whatever is forced */
	go.flags = GROVE_BLOBS_GC_REMOVE;
	go.grace = 0;
	assert_int_equal(grove_blobs_gc(b, &go, NULL, NULL, &r), 0);
	assert_int_equal(r.young, 1);
	assert_int_equal(has(b, HELLO), 1);
	make_old(w, HELLO, 4000);
	memset(&f, 0, sizeof(f));
	assert_int_equal(grove_blobs_gc(b, &go, add_fate, &f, &r), 0);
	assert_int_equal(f.nr[GROVE_BLOB_FATE_REMOVED], 1);
	assert_int_equal(f.nr[GROVE_BLOB_FATE_REFERENCED], 5);
	assert_int_equal(has(b, HELLO), 0);
	grove__buf_release(&line);
	grove_blobs_close(b);
	grove_close(g);
}

static void gc_sees_what_a_given_store_would_hide(void **state)
{
	struct world *w = *state;
	struct grove_blobs_gc_options go = { .size = sizeof(go), .flags = GROVE_BLOBS_GC_REMOVE, .grace = -1 };
	struct grove_options o = { .size = sizeof(o), .home = w->top, .cwd = w->top,
				   .getenv = test_variables, .nr_stores = 1 };
	const char *store = "memory:";
	struct grove_blobs *b;
	struct grove *g = open_home(w, &b);
	char ref[GROVE_BLOB_REF_MAX];

	keep_text(b, "hello", ref);
	make_file(w, ".pi/agent/sessions/--x--/b.jsonl", "{\"image_url\":\"blob:sha256:" HELLO "\"}");
	grove_blobs_close(b);
	grove_close(g);
	o.stores = &store;
	assert_int_equal(grove_open(&o, &g), 0);
	assert_int_equal(grove_blobs_open(g, NULL, &b), 0);
	assert_int_equal(grove_blobs_gc(b, &go, NULL, NULL, NULL), 0);
	assert_int_equal(has(b, ref), 1);
	grove_blobs_close(b);
	grove_close(g);
}

static void gc_looks_into_what_belongs_to_sessions_without_files(void **state)
{
	struct world *w = *state;
	struct grove_blobs_gc_options go = { .size = sizeof(go), .flags = GROVE_BLOBS_GC_REMOVE, .grace = -1 };
	struct grove_options o = { .size = sizeof(o), .home = w->top, .cwd = w->top,
				   .getenv = test_variables, .nr_stores = 1 };
	const char *store = "memory:";
	struct grove_store_record rec = { .line = grove__slice_str(
						  "{\"image_url\":\"blob:sha256:" HELLO "\"}") };
	struct grove_key session = { "p", "s.jsonl", "" }, sub = { "p", "s.jsonl", "task.jsonl" };
	struct grove_store_record first = { .line = grove__slice_str("{}") };
	struct grove_store_appended out;
	struct grove_blobs *b;
	struct grove_store_log *log;
	struct grove *g;
	char ref[GROVE_BLOB_REF_MAX];

	o.stores = &store;
	assert_int_equal(grove_open(&o, &g), 0);
	assert_int_equal(grove_blobs_open(g, NULL, &b), 0);
	keep_text(b, "hello", ref);
	assert_int_equal(
		grove__log_open(&log, g->roots[0].store, &session, GROVE_STORE_CREATE, NULL), 0);
	assert_int_equal(grove__log_append(log, &first, 1, 0, GROVE_SYNC_NONE, &out, NULL), 0);
	grove__log_close(log);
	assert_int_equal(grove__log_open(&log, g->roots[0].store, &sub, GROVE_STORE_CREATE, NULL),
			 0);
	assert_int_equal(grove__log_append(log, &rec, 1, 0, GROVE_SYNC_NONE, &out, NULL), 0);
	grove__log_close(log);
	assert_int_equal(grove_blobs_gc(b, &go, NULL, NULL, NULL), 0);
	assert_int_equal(has(b, ref), 1);
	grove_blobs_close(b);
	grove_close(g);
}

static void gc_removes_nothing_if_it_cannot_read_everything(void **state)
{
	struct world *w = *state;
	struct grove_blobs_gc_options go = { .size = sizeof(go), .flags = GROVE_BLOBS_GC_REMOVE, .grace = -1 };
	struct grove_blobs *b;
	struct grove *g = open_home(w, &b);
	char ref[GROVE_BLOB_REF_MAX];

	keep_text(b, "hello", ref);
	make_file(w, ".xcsh/agent/sessions/-x/a.jsonl", "{}\n");
	grove__sys_fault = fail_named;
	failing = "pread", failing_with = EIO;
	assert_int_equal(grove_blobs_gc(b, &go, NULL, NULL, NULL), GROVE_EIO);
	failing = "opendir", failing_with = EACCES;
	assert_int_equal(grove_blobs_gc(b, &go, NULL, NULL, NULL), GROVE_EACCESS);
	grove__sys_fault = NULL;
	assert_int_equal(has(b, ref), 1);
	grove_blobs_close(b);
	grove_close(g);
}

static void gc_walks_links_but_not_in_circles(void **state)
{
	struct world *w = *state;
	struct grove_blobs_gc_result r = { .size = sizeof(r) };
	struct grove_blobs *b;
	struct grove *g = open_home(w, &b);
	char ref[GROVE_BLOB_REF_MAX], from[400], to[400];

	keep_text(b, "hello", ref);
	make_file(w, "elsewhere/a.jsonl", "blob:sha256:" HELLO);
	make_file(w, ".xcsh/agent/sessions/-x/a.jsonl", "{}\n");
	snprintf(to, sizeof(to), "%s/elsewhere", w->top);
	snprintf(from, sizeof(from), "%s/.xcsh/agent/sessions/-y", w->top);
	assert_int_equal(symlink(to, from), 0);
	snprintf(from, sizeof(from), "%s/elsewhere/back", w->top);
	snprintf(to, sizeof(to), "%s/.xcsh/agent/sessions", w->top);
	assert_int_equal(symlink(to, from), 0);
	snprintf(from, sizeof(from), "%s/elsewhere/nowhere", w->top);
	assert_int_equal(symlink("/nonexistent/x", from), 0);
	assert_int_equal(grove_blobs_gc(b, NULL, NULL, NULL, &r), 0);
	assert_int_equal(r.referenced, 1);
	assert_int_equal(r.files, 2);
	grove_blobs_close(b);
	grove_close(g);
}

static void gc_takes_other_names_and_leftovers_along(void **state)
{
	struct world *w = *state;
	struct grove_blobs_gc_options go = { .size = sizeof(go), .flags = GROVE_BLOBS_GC_REMOVE, .grace = -1 };
	struct grove_blobs_gc_result r = { .size = sizeof(r) };
	struct grove_blobs *b;
	struct grove *g = open_home(w, &b);
	char ref[GROVE_BLOB_REF_MAX];

	keep_text(b, "hello", ref);
	keep_text(b, "", ref);
	assert_int_equal(link(path_of(w, HELLO), path_of(w, HELLO ".png")), 0);
	assert_int_equal(link(path_of(w, EMPTY), path_of(w, EMPTY ".png")), 0);
	file_make(path_of(w, ".blob-0123456789abcdef0123456789abcdef.tmp"), "he");
	file_make(path_of(w, "notes.txt"), "mine");
	make_file(w, ".xcsh/agent/sessions/-x/a.jsonl", EMPTY);
	assert_int_equal(grove_blobs_gc(b, &go, NULL, NULL, &r), 0);
	assert_int_equal(r.garbage, 3);
	assert_int_equal(r.garbage_bytes, 7);
	assert_dir(w->dir, EMPTY " " EMPTY ".png notes.txt ");
	grove_blobs_close(b);
	grove_close(g);
}

/* ------------------------------------------------------------- the directory */

struct place {
	const char *config, *agent, *xdg, *there;
};

static const char *place_variable(void *payload, const char *name)
{
	const struct place *p = payload;

	return !strcmp(name, "PI_CONFIG_DIR") ? p->config :
	       !strcmp(name, "PI_CODING_AGENT_DIR") ? p->agent :
	       !strcmp(name, "XDG_DATA_HOME") ? p->xdg : NULL;
}

static bool is_there(void *payload, const char *path)
{
	const struct place *p = payload;

	return p->there && !strcmp(path, p->there);
}

static void the_directory_is_where_xcsh_has_it(void **state)
{
	static const struct {
		struct place p;
		const char *dir;
	} cases[] = {
		{ { NULL, NULL, NULL, NULL }, "/home/me/.xcsh/agent/blobs" },
		{ { "", "", "", NULL }, "/home/me/.xcsh/agent/blobs" },
		{ { ".omp", NULL, NULL, NULL }, "/home/me/.omp/agent/blobs" },
		{ { NULL, "/srv/agent/", NULL, NULL }, "/srv/agent/blobs" },
		{ { NULL, "x/../agent", NULL, NULL }, "/w/agent/blobs" },
		{ { NULL, NULL, "/data", NULL }, "/home/me/.xcsh/agent/blobs" },
		{ { NULL, NULL, "/data", "/data/xcsh" }, "/data/xcsh/blobs" },
		{ { NULL, "/srv/agent", "/data", "/data/xcsh" }, "/srv/agent/blobs" },
		{ { NULL, "/home/me/.xcsh/agent", "/data", "/data/xcsh" }, "/data/xcsh/blobs" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct place p = cases[i].p;
		struct grove__env env = { .home = "/home/me", .cwd = "/w", .getenv = place_variable,
					  .getenv_payload = &p, .exists = is_there, .file_payload = &p };
		struct grove_buf out = GROVE_BUF_INIT;

		assert_int_equal(grove__xcsh_blobs_dir(&env, "xcsh", &out), 0);
		assert_string_equal(out.ptr, cases[i].dir);
		grove__buf_release(&out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_reference_is_exactly_one_thing),
		TEST(a_bad_reference_touches_no_file),
		TEST(a_blob_is_a_file_named_by_its_hash),
		TEST(a_blob_of_many_chunks_comes_back),
		TEST(a_known_blob_is_not_written),
		TEST(an_old_known_blob_is_young_again),
		TEST(wrong_bytes_are_never_handed_out),
		TEST(a_damaged_blob_is_mended_by_a_put),
		TEST(a_link_is_not_followed),
		TEST(a_directory_is_no_blob),
		TEST(a_file_in_the_place_of_the_directory_is_told),
		TEST(any_call_may_fail),
		TEST(any_call_may_fail_when_it_is_known),
		TEST(a_short_write_is_gone_on_with),
		TEST(failures_have_their_codes),
		TEST(a_full_disk_keeps_the_blobs_it_has),
		TEST(many_puts_share_one_sync_of_the_directory),
		TEST(a_list_has_what_is_ours),
		TEST(a_blob_may_have_another_name),
		TEST(a_sweep_spares_the_young),
		TEST(a_sweep_removes_what_it_looked_at),
		TEST(a_put_wins_against_a_sweep),
		TEST(threads_may_put_the_same_blobs),
		cmocka_unit_test(references_are_found_wherever_they_stand),
		TEST(gc_keeps_what_any_file_names),
		TEST(gc_sees_what_a_given_store_would_hide),
		TEST(gc_looks_into_what_belongs_to_sessions_without_files),
		TEST(gc_removes_nothing_if_it_cannot_read_everything),
		TEST(gc_walks_links_but_not_in_circles),
		TEST(gc_takes_other_names_and_leftovers_along),
		cmocka_unit_test(the_directory_is_where_xcsh_has_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
