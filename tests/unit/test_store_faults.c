/*
 * tests/unit/test_store_faults.c: stores and blobs when memory runs out or the
 * system fails, at every single call.
 *
 * Each store goes through a typical sequence of operations in which the Nth
 * allocation, or the Nth system call, fails, for every possible N. The
 * operation that is affected returns the proper error code, and the store then
 * holds exactly what it held before that operation, or exactly what it should
 * hold after it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "blob/blob.h"
#include "store/store.h"
#include "sys/clock.h"
#include "sys/file.h"

#include "../lib/scratch.h"

#define str grove__slice_str

/* ------------------------------------------------------------------- faults */

/* The linker leads the library's allocations here (--wrap). */
void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
char *__real_strdup(const char *s);
char *__real_strndup(const char *s, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
char *__wrap_strdup(const char *s);
char *__wrap_strndup(const char *s, size_t n);

static long until_alloc = -1, until_call = -1;   /* below 0: none fails */
static bool failed;

static bool due(long *countdown)
{
	bool now = *countdown == 0;

	if (*countdown >= 0)
		--*countdown;
	failed |= now;
	return now;
}

void *__wrap_malloc(size_t n)
{
	return due(&until_alloc) ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t size)
{
	return due(&until_alloc) ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t n)
{
	return due(&until_alloc) ? NULL : __real_realloc(p, n);
}

char *__wrap_strdup(const char *s)
{
	return due(&until_alloc) ? NULL : __real_strdup(s);
}

char *__wrap_strndup(const char *s, size_t n)
{
	return due(&until_alloc) ? NULL : __real_strndup(s, n);
}

static int on_call(const char *call)
{
	(void)call;
	return due(&until_call) ? EIO : 0;
}

static void calm(void)
{
	until_alloc = until_call = -1;
	grove__sys_fault = NULL;
}

/* ------------------------------------------------------------- a day's work */

struct day {
	char dir[256], url[320];
	struct grove_store *st;
	struct grove_store_log *log;
	struct grove_store_appended at;
	struct grove_store_log_stat stat;
	struct grove_detail d;
	char lines[256];         /* what has to be there, with LF */
	char maybe[256];         /* what the step that failed would have made of it */
	struct grove_key key;
};

static int nothing_key(void *payload, const struct grove_key *key)
{
	(void)payload;
	(void)key;
	return 0;
}

static int nothing_name(void *payload, const char *name, uint64_t size)
{
	(void)payload;
	(void)name;
	(void)size;
	return 0;
}

static int open_store(struct day *y)
{
	int rc = grove__store_init(NULL, y->url, &y->d);

	return rc && rc != GROVE_ENOTSUP ? rc : grove__store_open(&y->st, y->url, &y->d);
}

static int create(struct day *y)
{
	return grove__log_open(&y->log, y->st, &y->key, GROVE_STORE_CREATE, &y->d);
}

static int append(struct day *y)
{
	struct grove_store_record rec[2] = { { .line = str("{\"a\":1}") },
					     { .line = str("{\"b\":2}") } };

	strcpy(y->maybe, "{\"a\":1}\n{\"b\":2}\n");
	return grove__log_append(y->log, rec, 2, 0, GROVE_SYNC_ALWAYS, &y->at, &y->d);
}

static int look(struct day *y)
{
	return grove__log_stat(y->log, &y->stat, &y->d);
}

static int next_line(void *payload, struct grove_store_record *rec)
{
	static const char *const lines[] = { "{\"c\":3}", "{\"d\":4}", "{\"e\":5}" };
	int *i = payload;

	if (*i == 3)
		return 1;
	*rec = (struct grove_store_record){ .line = str(lines[(*i)++]) };
	return 0;
}

static int rewrite(struct day *y)
{
	int i = 0;

	strcpy(y->maybe, "{\"c\":3}\n{\"d\":4}\n{\"e\":5}\n");
	return grove__log_rewrite(y->log, next_line, &i, y->at.tail, 0, &y->d);
}

static int replace(struct day *y)
{
	int rc;

	strcpy(y->maybe, "{\"C\":3}\n{\"d\":4}\n{\"e\":5}\n");
	rc = grove__log_replace(y->log, 0, str("{\"C\":3}"), GROVE_SYNC_ALWAYS, &y->d);
	if (rc == GROVE_ENOTSUP)
		strcpy(y->maybe, y->lines);
	return rc == GROVE_ENOTSUP ? 0 : rc;
}

static int keep(struct day *y)
{
	struct grove_buf b = GROVE_BUF_INIT;
	int rc = grove__log_meta_put(y->log, "leaf", str("1 x"), &y->d);

	if (!rc)
		rc = grove__log_meta_get(y->log, "leaf", &b, &y->d);
	grove__buf_release(&b);
	return rc == GROVE_ENOTSUP ? 0 : rc;
}

static int attach(struct day *y)
{
	struct grove_buf b = GROVE_BUF_INIT;
	int rc = grove__store_attach_put(y->st, &y->key, "deep/er/x", str("bytes"), &y->d);

	if (!rc)
		rc = grove__store_attach_get(y->st, &y->key, "deep/er/x", &b, &y->d);
	if (!rc && (b.len != 5 || memcmp(b.ptr, "bytes", 5)))
		fail_msg("an attachment is not what was attached");
	if (!rc)
		rc = grove__store_attach_list(y->st, &y->key, nothing_name, NULL, &y->d);
	grove__buf_release(&b);
	return rc;
}

static int list(struct day *y)
{
	int rc = grove__store_list(y->st, NULL, nothing_key, NULL, &y->d);

	if (!rc)
		rc = grove__store_list(y->st, "p", nothing_key, NULL, &y->d);
	return rc ? rc : grove__store_list_subs(y->st, NULL, nothing_key, NULL, &y->d);
}

static int move(struct day *y)
{
	struct grove_key to = { "q", "b.jsonl", "" };
	int rc = grove__store_rename(y->st, &y->key, &to, &y->d);

	if (!rc)
		y->key = to;
	return rc;
}

static const struct {
	const char *name;
	int (*step)(struct day *y);
	bool in_parts;           /* a failure may leave part of it done */
} steps[] = {
	{ "open", open_store, false }, { "create", create, false }, { "append", append, false },
	{ "stat", look, false }, { "rewrite", rewrite, false }, { "replace", replace, false },
	{ "keep", keep, false }, { "attach", attach, false }, { "list", list, false },
	{ "move", move, true },
};

/* The log as the next one finds it. */
static void see(const struct day *y, const char *step)
{
	struct grove_store *st = NULL;
	struct grove_store_log *log = NULL;
	struct grove_store_log_stat stat;
	struct grove_store_run run;
	char buf[1024];
	int rc = grove__store_open(&st, y->url, NULL);

	assert_int_equal(rc, 0);
	rc = grove__log_open(&log, st, &y->key, GROVE_STORE_READ, NULL);
	if (!rc) {
		size_t len;

		assert_int_equal(grove__log_stat(log, &stat, NULL), 0);
		assert_int_equal(grove__log_read(log, 0, stat.tail, buf, sizeof(buf), &run, NULL), 0);
		len = run.len;
		buf[len] = '\0';
		if (strcmp(buf, y->lines) && strcmp(buf, y->maybe))
			fail_msg("%s failed at %s, and the log is \"%s\"", y->url, step, buf);
	} else {
		assert_int_equal(rc, GROVE_ENOTFOUND);
		/* nothing had been acknowledged */
		assert_string_equal(y->lines, "");
	}
	grove__log_close(log);
	grove__store_close(st);
}

/* False: nothing failed any more. */
static bool one_day(const char *url, long nth, bool memory)
{
	struct day *y = __real_calloc(1, sizeof(*y));
	bool more;
	int rc = 0;
	size_t i;

	assert_non_null(y);
	scratch_make(y->dir, sizeof(y->dir));
	snprintf(y->url, sizeof(y->url), url, y->dir);
	y->key = (struct grove_key){ "p", "a.jsonl", "" };
	failed = false;
	until_alloc = memory ? nth : -1;
	until_call = memory ? -1 : nth;
	grove__sys_fault = on_call;
	for (i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		strcpy(y->maybe, y->lines);
		rc = steps[i].step(y);
		if (rc)
			break;
		strcpy(y->lines, y->maybe);
	}
	calm();
	more = failed;
	if (rc) {
		const char *name = steps[i].name;

		if (!more)
			fail_msg("%s: %s fails by itself: %s", y->url, name, y->d.message);
		if (memory ? rc != GROVE_ENOMEM : rc != GROVE_EIO)
			fail_msg("%s: %s answers %d (%s) to fault %ld", y->url, name, rc, y->d.message, nth);
		if (strncmp(y->url, "memory:", 7) && !steps[i].in_parts)
			see(y, name);
	}
	grove__log_close(y->log);
	grove__store_close(y->st);
	scratch_remove(y->dir);
	free(y);
	return more;
}

static void files_run_out_of_memory(void **state)
{
	long n = 0;

	(void)state;
	while (one_day("file:%s", n, true))
		n++;
	assert_true(n > 30);
}

static void files_have_a_system_that_fails(void **state)
{
	long n = 0;

	(void)state;
	while (one_day("file:%s", n, false))
		n++;
	assert_true(n > 60);
}

static void memory_runs_out_of_memory(void **state)
{
	long n = 0;

	(void)state;
	while (one_day("memory:%.0s", n, true))
		n++;
	assert_true(n > 20);
}

/* --------------------------------------------------------------------- blobs */

static int nothing_blob(void *payload, const struct grove__blob_entry *e)
{
	(void)payload;
	(void)e;
	return 0;
}

static int blobs_work(struct grove__blobs *b, const char *dir)
{
	struct grove_buf out = GROVE_BUF_INIT;
	char hash[GROVE__BLOB_HASH];
	bool known, gone;
	uint64_t size;
	int rc = grove__blob_put(b, str("some bytes"), GROVE_SYNC_ALWAYS, 0, hash, &known, NULL);

	(void)dir;
	if (!rc)
		rc = grove__blob_put(b, str("some bytes"), GROVE_SYNC_FLUSH, 0, hash, &known, NULL);
	if (!rc && !known)
		fail_msg("a blob is not known after it was put");
	if (!rc)
		rc = grove__blob_alias(b, hash, "png", NULL);
	if (!rc)
		rc = grove__blob_get(b, hash, &out, NULL);
	if (!rc && (out.len != 10 || memcmp(out.ptr, "some bytes", 10)))
		fail_msg("a blob has other bytes");
	if (!rc)
		rc = grove__blob_verify(b, hash, &size, NULL);
	if (!rc)
		rc = grove__blob_has(b, hash, NULL) == 1 ? 0 : GROVE_EIO;
	if (!rc)
		rc = grove__blobs_list(b, nothing_blob, NULL, NULL);
	if (!rc)
		rc = grove__blob_sweep(b, hash, grove__sys_now_ms() * 1000000 + 1000000000, &gone, NULL);
	if (!rc)
		rc = grove__blob_put(b, str("other bytes"), GROVE_SYNC_NONE, 0, hash, &known, NULL);
	if (!rc)
		rc = grove__blobs_sync(b, NULL);
	grove__buf_release(&out);
	return rc;
}

static bool one_day_of_blobs(long nth, bool memory)
{
	struct grove__blobs *b = NULL;
	char dir[300], blobs[320];
	bool more;
	int rc;

	scratch_make(dir, sizeof(dir));
	snprintf(blobs, sizeof(blobs), "%s/blobs//", dir);
	failed = false;
	until_alloc = memory ? nth : -1;
	until_call = memory ? -1 : nth;
	grove__sys_fault = on_call;
	rc = grove__blobs_open(&b, blobs, NULL);
	if (!rc)
		rc = blobs_work(b, dir);
	calm();
	more = failed;
	/* a lock, a time that could not be renewed, another name: these may fail and do no harm */
	if (!more)
		assert_int_equal(rc, 0);
	else if (rc && rc != GROVE_ENOMEM && rc != GROVE_EIO)
		fail_msg("blobs answer %d to fault %ld", rc, nth);
	grove__blobs_close(b);
	/* whatever it was, the next one works */
	assert_int_equal(grove__blobs_open(&b, blobs, NULL), 0);
	assert_int_equal(blobs_work(b, dir), 0);
	grove__blobs_close(b);
	scratch_remove(dir);
	return more;
}

static void blobs_run_out_of_memory(void **state)
{
	long n = 0;

	(void)state;
	while (one_day_of_blobs(n, true))
		n++;
	assert_true(n > 10);
}

static void blobs_have_a_system_that_fails(void **state)
{
	long n = 0;

	(void)state;
	while (one_day_of_blobs(n, false))
		n++;
	assert_true(n > 20);
}

static void blobs_need_a_directory(void **state)
{
	struct grove__blobs *b;
	struct grove_detail d;

	(void)state;
	assert_int_equal(grove__blobs_open(&b, "", &d), GROVE_EINVAL);
	assert_null(b);
	assert_non_null(strstr(d.message, "directory"));
	grove__blobs_close(NULL);
}

/* What no store can do, each of them refuses, and nothing has changed. */
static void what_cannot_be_is_refused_by_every_store(void **state)
{
	static const char *const urls[] = { "file:%s", "memory:%.0s", "sqlite:%s/store.db" };
	const struct grove_key key = { "p", "a.jsonl", "" }, sub = { "p", "b.jsonl", "subagents/agent-1" };
	static char deep[1700];

	(void)state;
	memset(deep, 'a', sizeof(deep) - 1);
	for (size_t i = 0; i < sizeof(urls) / sizeof(*urls); i++) {
		const struct grove_key longest = { "p", "a.jsonl", deep };
		struct day *y = calloc(1, sizeof(*y));
		struct grove_store_log *reader = NULL, *none = NULL;

		assert_non_null(y);
		scratch_make(y->dir, sizeof(y->dir));
		snprintf(y->url, sizeof(y->url), urls[i], y->dir);
		y->key = key;
		/* a build may be without SQLite */
		if (!open_store(y)) {
			assert_int_equal(create(y), 0);
			assert_int_equal(append(y), 0);
			assert_int_equal(grove__store_attach_put(y->st, &key, "x.txt", str("x"), &y->d), 0);
			/* a sub-agent's log has nothing that belongs to it */
			assert_int_equal(grove__store_rename(y->st, &key, &sub, &y->d), GROVE_EINVAL);
			/* a column has an end; memory has none, and a file's name is the system's affair */
			if (i == 2)
				assert_true(grove__log_open(&none, y->st, &longest,
							    GROVE_STORE_CREATE, &y->d) < 0);
			assert_int_equal(
				grove__log_open(&reader, y->st, &key, GROVE_STORE_READ, &y->d), 0);
			assert_int_equal(grove__log_meta_put(reader, GROVE__META_UNFINISHED, str("1"), &y->d),
					 GROVE_EACCESS);
			grove__log_close(reader);
			grove__log_close(y->log);
			/* still there, under its name */
			assert_int_equal(
				grove__log_open(&reader, y->st, &key, GROVE_STORE_READ, &y->d), 0);
			grove__log_close(reader);
		}
		grove__store_close(y->st);
		scratch_remove(y->dir);
		free(y);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_cannot_be_is_refused_by_every_store),
		cmocka_unit_test(files_run_out_of_memory),
		cmocka_unit_test(files_have_a_system_that_fails),
		cmocka_unit_test(memory_runs_out_of_memory),
		cmocka_unit_test(blobs_run_out_of_memory),
		cmocka_unit_test(blobs_have_a_system_that_fails),
		cmocka_unit_test(blobs_need_a_directory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
