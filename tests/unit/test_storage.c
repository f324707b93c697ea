/*
 * tests/unit/test_storage.c: files under paths.
 *
 * Most cases are run over both kinds of storage, which must not be told apart.
 * Those at the end are about the disk: what happens when it is full, and what
 * other programs do meanwhile.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include <cmocka.h>

#include "grove/storage.h"
#include "sys/clock.h"
#include "sys/file.h"

#include "../lib/scratch.h"

#define str grove__slice_str
#define ARRAY(a) (sizeof(a) / sizeof(*(a)))

/* -------------------------------------------------------------- the fixture */

struct kind {
	const char *name;
	int (*make)(const struct grove_storage_options *opt, struct grove_storage **out);
	bool on_disk;
};

static struct kind kinds[] = {
	{ "memory", grove_storage_memory, false },
	{ "files", grove_storage_files, true },
};

struct world {
	const struct kind *kind;
	struct grove_storage *st;
	struct grove_writer *w;    /* freed at the end */
	char dir[256];             /* everything happens below it */
	char path[32][300];        /* at() */
	size_t used;
	unsigned told;             /* on_error was called */
	struct grove_detail why;
};

static int set_up(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	w->kind = *state;
	if (w->kind->on_disk)
		scratch_make(w->dir, sizeof(w->dir));
	else
		snprintf(w->dir, sizeof(w->dir), "/w");
	assert_int_equal(w->kind->make(NULL, &w->st), 0);
	assert_int_equal(grove_storage_ensure_dir(w->st, w->dir), 0);
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;

	grove__sys_fault = NULL;
	grove_writer_free(w->w);
	grove_storage_close(w->st);
	if (w->kind->on_disk)
		scratch_remove(w->dir);
	free(w);
	return 0;
}

/* A path below the world's directory; good for the next 31 of them. */
static const char *at(struct world *w, const char *name)
{
	char *p = w->path[w->used++ % ARRAY(w->path)];

	snprintf(p, sizeof(w->path[0]), "%s/%s", w->dir, name);
	return p;
}

static void check(struct world *w, int rc, int code, const char *what, int line)
{
	struct grove_detail d;

	grove_storage_error(w->st, &d);
	if (rc != code)
		fail_msg("line %d: %s: %d (%s), not %d", line, what, rc, rc < 0 ? d.message : "",
			 code);
	if (code < 0 && (d.code != code || !*d.message))
		fail_msg("line %d: %s: the detail says %d \"%s\"", line, what, d.code, d.message);
}

#define GIVES(code, call) check(w, call, code, #call, __LINE__)
#define OK(call) GIVES(0, call)

static void said(struct world *w, const char *words)
{
	struct grove_detail d;

	grove_storage_error(w->st, &d);
	if (!strstr(d.message, words))
		fail_msg("\"%s\" does not say \"%s\"", d.message, words);
}

static void put(struct world *w, const char *name, const char *text)
{
	OK(grove_storage_write_text(w->st, at(w, name), str(text)));
}

static void has(struct world *w, const char *name, const char *text)
{
	struct grove_buf b = GROVE_BUF_INIT;

	OK(grove_storage_read_text(w->st, at(w, name), &b));
	assert_string_equal(b.ptr ? b.ptr : "", text);
	assert_int_equal(b.len, strlen(text));
	grove_buf_release(&b);
}

static bool there(struct world *w, const char *name)
{
	int rc = grove_storage_exists(w->st, at(w, name));

	assert_in_range(rc, 0, 1);
	return rc;
}

static void on_error(void *payload, const struct grove_detail *why)
{
	struct world *w = payload;

	w->told++;
	w->why = *why;
}

static void open_it(struct world *w, const char *name, unsigned flags)
{
	struct grove_writer_options o = { sizeof(o), flags, on_error, w };

	grove_writer_free(w->w);
	OK(grove_storage_open_writer(w->st, at(w, name), &o, &w->w));
}

/* --------------------------------------------------------------- operations */

static void what_is_written_is_read(void **state)
{
	struct world *w = *state;
	const char odd[] = "a\0b\n\xff\xed\xa0\x80 \xf0\x9f\x8c\xb3";
	struct grove_buf b = GROVE_BUF_INIT;

	put(w, "a", "one\n");
	has(w, "a", "one\n");
	put(w, "a", "another\n");
	has(w, "a", "another\n");
	put(w, "a", "");
	has(w, "a", "");
	OK(grove_storage_write_text(w->st, at(w, "b"), grove__slice(odd, sizeof(odd) - 1)));
	/* behind what is in the buffer */
	assert_int_equal(grove__buf_add_str(&b, ">"), 0);
	OK(grove_storage_read_text(w->st, at(w, "b"), &b));
	assert_int_equal(b.len, sizeof(odd));
	assert_memory_equal(b.ptr + 1, odd, sizeof(odd) - 1);
	grove_buf_release(&b);
}

static void directories_are_made_on_the_way(void **state)
{
	struct world *w = *state;

	put(w, "x/y/z.jsonl", "1");
	has(w, "x/y/z.jsonl", "1");
	assert_true(there(w, "x"));
	assert_true(there(w, "x/y"));
	OK(grove_storage_unlink(w->st, at(w, "x/y/z.jsonl")));
	assert_true(there(w, "x/y"));
	assert_false(there(w, "x/y/z.jsonl"));
	open_it(w, "p/q/r", 0);
	assert_true(there(w, "p/q/r"));
	OK(grove_storage_rename(w->st, at(w, "p/q/r"), at(w, "new/place/r")));
	assert_true(there(w, "new/place/r"));
	OK(grove_storage_ensure_dir(w->st, at(w, "d/e/")));
	OK(grove_storage_ensure_dir(w->st, at(w, "d/e")));
	assert_true(there(w, "d/e/"));
	put(w, "d/./e/../e//f", "1");
	has(w, "d/e/f", "1");
}

static void a_file_is_no_directory(void **state)
{
	struct world *w = *state;
	struct grove_buf b = GROVE_BUF_INIT;
	struct grove_writer *no;
	char **paths;
	size_t nr;

	put(w, "f", "1");
	OK(grove_storage_ensure_dir(w->st, at(w, "d")));
	GIVES(GROVE_EEXIST, grove_storage_ensure_dir(w->st, at(w, "f")));
	GIVES(GROVE_ENOTFOUND, grove_storage_ensure_dir(w->st, at(w, "f/g")));
	GIVES(GROVE_ENOTFOUND, grove_storage_write_text(w->st, at(w, "f/g"), str("x")));
	GIVES(GROVE_ENOTFOUND, grove_storage_open_writer(w->st, at(w, "f/g"), NULL, &no));
	assert_null(no);
	GIVES(GROVE_ENOTFOUND, grove_storage_list_files(w->st, at(w, "f"), "*", &paths, &nr));
	assert_false(there(w, "f/g"));
	GIVES(GROVE_EINVAL, grove_storage_write_text(w->st, at(w, "d"), str("x")));
	GIVES(GROVE_EINVAL, grove_storage_open_writer(w->st, at(w, "d"), NULL, &no));
	GIVES(GROVE_EINVAL, grove_storage_read_text(w->st, at(w, "d"), &b));
	GIVES(GROVE_EINVAL, grove_storage_read_text_prefix(w->st, at(w, "d"), 1, &b));
	GIVES(GROVE_EINVAL, grove_storage_unlink(w->st, at(w, "d")));
	has(w, "f", "1");
	assert_int_equal(b.len, 0);
	grove_buf_release(&b);
}

static void what_is_missing_is_not_found(void **state)
{
	struct world *w = *state;
	struct grove_storage_stat s = { .size = sizeof(s) };
	struct grove_buf b = GROVE_BUF_INIT;
	struct grove_detail d;
	char **paths = (char **)&paths;
	size_t nr = 7;

	assert_false(there(w, "no"));
	GIVES(GROVE_ENOTFOUND, grove_storage_stat(w->st, at(w, "no"), &s));
	GIVES(GROVE_ENOTFOUND, grove_storage_read_text(w->st, at(w, "no"), &b));
	grove_storage_error(w->st, &d);
	assert_string_equal(d.path, at(w, "no"));
	GIVES(GROVE_ENOTFOUND, grove_storage_read_text_prefix(w->st, at(w, "no"), 10, &b));
	GIVES(GROVE_ENOTFOUND, grove_storage_unlink(w->st, at(w, "no")));
	GIVES(GROVE_ENOTFOUND, grove_storage_list_files(w->st, at(w, "no"), "*", &paths, &nr));
	assert_null(paths);
	assert_int_equal(nr, 0);
	GIVES(GROVE_ENOTFOUND,
	      grove_storage_delete_session_with_artifacts(w->st, at(w, "no.jsonl")));
	assert_null(b.ptr);
}

static void a_path_must_not_be_empty(void **state)
{
	struct world *w = *state;
	struct grove_buf b = GROVE_BUF_INIT;
	struct grove_writer *no;
	char **paths;
	size_t nr;

	GIVES(GROVE_EINVAL, grove_storage_exists(w->st, ""));
	GIVES(GROVE_EINVAL, grove_storage_exists(w->st, NULL));
	GIVES(GROVE_EINVAL, grove_storage_write_text(w->st, "", str("x")));
	GIVES(GROVE_EINVAL, grove_storage_read_text(w->st, "", &b));
	GIVES(GROVE_EINVAL, grove_storage_rename(w->st, at(w, "a"), ""));
	GIVES(GROVE_EINVAL, grove_storage_list_files(w->st, w->dir, NULL, &paths, &nr));
	GIVES(GROVE_EINVAL, grove_storage_open_writer(w->st, "", NULL, &no));
	assert_null(no);
}

static void stat_tells_bytes_and_time(void **state)
{
	struct world *w = *state;
	struct grove_storage_stat s = { .size = sizeof(s) };
	int64_t now = grove__sys_now_ms();

	put(w, "a", "b\xc3\xa4um\n");
	OK(grove_storage_stat(w->st, at(w, "a"), &s));
	assert_int_equal(s.bytes, 6);
	assert_int_equal(s.mtime_ms, s.mtime_ns / 1000000);
	/* file systems stamp with a clock that may lag behind */
	assert_in_range(s.mtime_ms, now - 1000, now + 10000);
	open_it(w, "a", 0);
	OK(grove_writer_write_line(w->w, str("xy\n")));
	OK(grove_storage_stat(w->st, at(w, "a"), &s));
	assert_int_equal(s.bytes, 9);
}

static void list_is(struct world *w, const char *dir, const char *pattern, const char *names)
{
	struct grove_buf b = GROVE_BUF_INIT;
	size_t nr, skip = strlen(at(w, dir)) + 1;
	char **paths;

	OK(grove_storage_list_files(w->st, at(w, dir), pattern, &paths, &nr));
	for (size_t i = 0; i < nr; i++) {
		assert_memory_equal(paths[i], at(w, dir), skip - 1);
		assert_int_equal(grove__buf_addf(&b, "%s ", paths[i] + skip), 0);
	}
	assert_string_equal(b.ptr ? b.ptr : "", names);
	grove_buf_release(&b);
	free(paths);
}

static void lists_have_files_that_fit(void **state)
{
	struct world *w = *state;
	const char *const names[] = { "l/b.jsonl", "l/a.jsonl", "l/c.txt", "l/.jsonl", "l/.x.jsonl",
				      "l/d.jsonl/e.jsonl", "l/jsonl", "l-m/z.jsonl", "l/[b].jsonl" };
	const char *const bad[] = { "**", "**/*.jsonl", "a*", "*.js*", "?", "[ab].jsonl", "{a,b}", "d/e",
				    "*/e" };
	char **paths;
	size_t nr;

	for (size_t i = 0; i < ARRAY(names); i++)
		put(w, names[i], "x");
	list_is(w, "l", "*", "[b].jsonl a.jsonl b.jsonl c.txt jsonl ");
	list_is(w, "l", "*.jsonl", "[b].jsonl a.jsonl b.jsonl ");
	list_is(w, "l", "*.txt", "c.txt ");
	list_is(w, "l", "*.md", "");
	list_is(w, "l", "b.jsonl", "b.jsonl ");
	list_is(w, "l", "d.jsonl", "");
	list_is(w, "l", ".x.jsonl", "");
	for (size_t i = 0; i < ARRAY(bad); i++) {
		GIVES(GROVE_ENOTSUP, grove_storage_list_files(w->st, at(w, "l"), bad[i], &paths, &nr));
		assert_null(paths);
		assert_int_equal(nr, 0);
	}
	/* a directory spelled with a slash gives no double one */
	OK(grove_storage_list_files(w->st, at(w, "l/"), "c.txt", &paths, &nr));
	assert_int_equal(nr, 1);
	assert_string_equal(paths[0], at(w, "l/c.txt"));
	free(paths);
}

static void a_prefix_ends_with_a_character(void **state)
{
	struct world *w = *state;
	static const struct {
		const char *text;
		size_t max;
		const char *want;
	} table[] = {
		{ "abc", 0, "" },
		{ "abc", 2, "ab" },
		{ "abc", 3, "abc" },
		{ "abc", SIZE_MAX, "abc" },
		{ "a\xc3\xa4" "b", 2, "a" },
		{ "a\xc3\xa4" "b", 3, "a\xc3\xa4" },
		{ "\xe2\x82\xac", 1, "" },
		{ "\xe2\x82\xac", 2, "" },
		{ "\xe2\x82\xac", 3, "\xe2\x82\xac" },
		{ "x\xf0\x9f\x8c\xb3y", 4, "x" },
		{ "x\xf0\x9f\x8c\xb3y", 5, "x\xf0\x9f\x8c\xb3" },
		/* what is no UTF-8 is nobody's half */
		{ "\x80\x80\x80\x80\x80", 4, "\x80\x80\x80\x80" },
		{ "a\xff\xff", 2, "a\xff" },
		/* the file's own end is left as it is */
		{ "a\xc3", 2, "a\xc3" },
		{ "", 5, "" },
	};

	for (size_t i = 0; i < ARRAY(table); i++) {
		struct grove_buf b = GROVE_BUF_INIT;

		put(w, "p", table[i].text);
		OK(grove_storage_read_text_prefix(w->st, at(w, "p"), table[i].max, &b));
		if (strcmp(b.ptr ? b.ptr : "", table[i].want))
			fail_msg("case %zu: \"%s\"", i, b.ptr);
		assert_int_equal(b.len, strlen(table[i].want));
		grove_buf_release(&b);
	}
}

static void both_ends_of_a_file_are_read_at_once(void **state)
{
	struct world *w = *state;
	static const struct {
		const char *text;
		size_t head, tail;
		const char *first, *last;
	} table[] = {
		{ "abcdef", 2, 3, "ab", "def" },
		{ "abcdef", 0, 0, "", "" },
		{ "abcdef", 6, 6, "abcdef", "abcdef" },
		{ "abc", 10, SIZE_MAX, "abc", "abc" },
		{ "abcdef", 4, 4, "abcd", "cdef" },
		{ "\xc3\xa4" "b\xc3\xa4", 1, 1, "", "" },
		{ "\xc3\xa4" "b\xc3\xa4", 2, 3, "\xc3\xa4", "b\xc3\xa4" },
		{ "x\xf0\x9f\x8c\xb3y", 3, 4, "x", "y" },
		{ "\x80\x80\x80\x80\x80", 4, 4, "\x80\x80\x80\x80", "\x80\x80\x80\x80" },
		/* the file's own beginning is left as it is */
		{ "\xa4" "a", 1, 2, "\xa4", "\xa4" "a" },
		{ "", 5, 5, "", "" },
	};
	struct grove_buf a = GROVE_BUF_INIT, b = GROVE_BUF_INIT;

	for (size_t i = 0; i < ARRAY(table); i++) {
		struct grove_buf first = GROVE_BUF_INIT, last = GROVE_BUF_INIT;

		put(w, "p", table[i].text);
		OK(grove_storage_read_text_slices(w->st, at(w, "p"), table[i].head, table[i].tail, &first, &last));
		if (strcmp(first.ptr ? first.ptr : "", table[i].first) || strcmp(last.ptr ? last.ptr : "", table[i].last))
			fail_msg("case %zu: \"%s\" \"%s\"", i, first.ptr, last.ptr);
		grove_buf_release(&first);
		grove_buf_release(&last);
	}
	GIVES(GROVE_ENOTFOUND, grove_storage_read_text_slices(w->st, at(w, "no"), 1, 1, &a, &b));
	GIVES(GROVE_EINVAL, grove_storage_read_text_slices(w->st, "", 1, 1, &a, &b));
}

static void a_file_of_another_size_is_left_alone(void **state)
{
	struct world *w = *state;

	/* no file has no bytes */
	GIVES(GROVE_ECONFLICT, grove_storage_write_text_if(w->st, at(w, "s.jsonl"), str("one"), 3));
	assert_false(there(w, "s.jsonl"));
	OK(grove_storage_write_text_if(w->st, at(w, "s.jsonl"), str("one"), 0));
	GIVES(GROVE_ECONFLICT, grove_storage_write_text_if(w->st, at(w, "s.jsonl"), str("two"), 0));
	said(w, "cannot write: the file does not have the expected 0 bytes");
	has(w, "s.jsonl", "one");
	OK(grove_storage_write_text_if(w->st, at(w, "s.jsonl"), str("longer"), 3));
	has(w, "s.jsonl", "longer");
	put(w, "s/0.log", "1");
	GIVES(GROVE_ECONFLICT, grove_storage_delete_session_with_artifacts_if(w->st, at(w, "s.jsonl"), 3));
	has(w, "s.jsonl", "longer");
	has(w, "s/0.log", "1");
	GIVES(GROVE_ENOTFOUND, grove_storage_delete_session_with_artifacts_if(w->st, at(w, "no.jsonl"), 3));
	OK(grove_storage_delete_session_with_artifacts_if(w->st, at(w, "s.jsonl"), 6));
	assert_false(there(w, "s.jsonl"));
	assert_false(there(w, "s"));
}

#define SLOT(title, source, time, pad)                                                              \
	"{\"type\":\"title\",\"v\":1,\"title\":\"" title "\",\"source\":\"" source "\",\"updatedAt\":\"" time    \
	"\",\"pad\":\"" pad "\"}\n{\"x\":1}\n"

static void a_title_has_its_place_in_the_first_line(void **state)
{
	struct world *w = *state;
	struct grove_title t = { sizeof(t), "the \xc3\xa4", "user", "t2" };
	struct grove_buf text = GROVE_BUF_INIT;
	static const char *const other[] = {
		"", "\n", "{\"x\":1}\n", "{\"type\":\"title\",\"v\":1,\"title\":\"\",\"pad\":\"  \"}",
		"{\"type\":\"title\",\"v\":1,\"title\":\"\",\"pad\":\"  \"}\n", "{\"type\":\"title\",\"v\":1,\n",
		"{\"type\":\"title\",\"v\":2,\"title\":\"\",\"pad\":\"                                                     \"}\n",
	};

	GIVES(GROVE_ENOTFOUND, grove_storage_set_title(w->st, at(w, "s"), &t));
	put(w, "s", SLOT("", "auto", "", "          "));
	OK(grove_storage_set_title(w->st, at(w, "s"), &t));
	has(w, "s", SLOT("the \xc3\xa4", "user", "t2", "  "));
	/* as much of it as there is room for, in whole characters */
	t.text = "a long title \xc3\xa4";
	OK(grove_storage_set_title(w->st, at(w, "s"), &t));
	has(w, "s", SLOT("a long t", "user", "t2", ""));
	t.text = NULL;
	t.source = "auto";
	OK(grove_storage_set_title(w->st, at(w, "s"), &t));
	t.source = "user";
	has(w, "s", SLOT("", "auto", "t2", "        "));
	t.text = "x";
	for (size_t i = 0; i < ARRAY(other); i++) {
		put(w, "o", other[i]);
		assert_int_equal(grove_storage_set_title(w->st, at(w, "o"), &t), 1);
		has(w, "o", other[i]);
	}
	/* without a time it is now */
	put(w, "s", SLOT("", "user", "2026-05-03T09:00:00.000Z", "   "));
	t.updated = NULL;
	OK(grove_storage_set_title(w->st, at(w, "s"), &t));
	OK(grove_storage_read_text(w->st, at(w, "s"), &text));
	assert_non_null(strstr(text.ptr, "Z\",\"pad\":\"  \"}\n{\"x\":1}\n"));
	assert_null(strstr(text.ptr, "2026-05-03T09:00:00.000Z"));
	grove_buf_release(&text);
}

static void a_lock_is_for_others(void **state)
{
	struct world *w = *state;

	GIVES(GROVE_ENOTFOUND, grove_storage_lock(w->st, at(w, "s.jsonl")));
	GIVES(GROVE_ENOTFOUND, grove_storage_unlock(w->st, at(w, "s.jsonl")));
	said(w, "the file is not locked");
	put(w, "s.jsonl", "one\n");
	open_it(w, "s.jsonl", GROVE_WRITER_APPEND);
	OK(grove_storage_lock(w->st, at(w, "s.jsonl")));
	GIVES(GROVE_ECONFLICT, grove_storage_lock(w->st, at(w, "./s.jsonl")));
	said(w, "the file is locked");
	/* what this storage does goes on */
	OK(grove_writer_write_line(w->w, str("two")));
	OK(grove_storage_write_text_if(w->st, at(w, "s.jsonl"), str("three\n"), 8));
	assert_int_equal(grove_storage_set_title(w->st, at(w, "s.jsonl"), NULL), 1);
	GIVES(GROVE_ECONFLICT, grove_storage_lock(w->st, at(w, "s.jsonl")));
	OK(grove_storage_unlock(w->st, at(w, "s.jsonl")));
	OK(grove_storage_lock(w->st, at(w, "s.jsonl")));
	OK(grove_storage_delete_session_with_artifacts_if(w->st, at(w, "s.jsonl"), 6));
	OK(grove_storage_unlock(w->st, at(w, "s.jsonl")));
	/* a lock that is left ends with the storage */
	put(w, "s.jsonl", "one\n");
	OK(grove_storage_lock(w->st, at(w, "s.jsonl")));
}

static void rename_replaces(void **state)
{
	struct world *w = *state;

	put(w, "a", "new");
	put(w, "b", "old");
	OK(grove_storage_rename(w->st, at(w, "a"), at(w, "b")));
	has(w, "b", "new");
	assert_false(there(w, "a"));
	OK(grove_storage_rename(w->st, at(w, "b"), at(w, "b")));
	has(w, "b", "new");
	/* nothing to rename: told, but no error, and nothing is made */
	GIVES(1, grove_storage_rename(w->st, at(w, "a"), at(w, "b")));
	GIVES(1, grove_storage_rename(w->st, at(w, "a"), at(w, "q/b")));
	GIVES(1, grove_storage_rename(w->st, at(w, "b/c"), at(w, "q/b")));
	assert_false(there(w, "q"));
	has(w, "b", "new");
	GIVES(GROVE_ENOTFOUND, grove_storage_rename(w->st, at(w, "b"), at(w, "b/c")));
}

static void directories_are_renamed_with_all_in_them(void **state)
{
	struct world *w = *state;

	put(w, "d/1", "one");
	put(w, "d/e/2", "two");
	put(w, "d-e/3", "three");
	put(w, "f", "file");
	OK(grove_storage_ensure_dir(w->st, at(w, "empty")));
	GIVES(GROVE_EINVAL, grove_storage_rename(w->st, at(w, "d"), at(w, "d/e/g")));
	GIVES(GROVE_EINVAL, grove_storage_rename(w->st, at(w, "d"), at(w, "f")));
	GIVES(GROVE_EINVAL, grove_storage_rename(w->st, at(w, "f"), at(w, "d")));
	GIVES(GROVE_EEXIST, grove_storage_rename(w->st, at(w, "d"), at(w, "d-e")));
	OK(grove_storage_rename(w->st, at(w, "d"), at(w, "a/z")));
	assert_false(there(w, "d"));
	has(w, "a/z/1", "one");
	has(w, "a/z/e/2", "two");
	has(w, "d-e/3", "three");
	OK(grove_storage_rename(w->st, at(w, "a/z"), at(w, "empty")));
	list_is(w, "empty", "*", "1 ");
	has(w, "empty/e/2", "two");
	list_is(w, "a", "*", "");
}

static void a_session_goes_with_its_artifacts(void **state)
{
	struct world *w = *state;

	put(w, "s.jsonl", "1");
	put(w, "s/0.bash.log", "1");
	put(w, "s/deep/er/1.read.log", "1");
	put(w, "s-2/0.bash.log", "1");
	put(w, "s.x", "1");
	OK(grove_storage_delete_session_with_artifacts(w->st, at(w, "s.jsonl")));
	assert_false(there(w, "s.jsonl"));
	assert_false(there(w, "s"));
	assert_true(there(w, "s-2/0.bash.log"));
	assert_true(there(w, "s.x"));
	/* without a directory; and a path without the ending has none */
	put(w, "t.jsonl", "1");
	OK(grove_storage_delete_session_with_artifacts(w->st, at(w, "t.jsonl")));
	put(w, "dir/t.log", "1");
	put(w, "dir/.jsonl", "1");
	OK(grove_storage_delete_session_with_artifacts(w->st, at(w, "dir/t.log")));
	OK(grove_storage_delete_session_with_artifacts(w->st, at(w, "dir/.jsonl")));
	assert_true(there(w, "dir"));
	/* a file in the place of the directory is not ours */
	put(w, "u.jsonl", "1");
	put(w, "u", "mine");
	OK(grove_storage_delete_session_with_artifacts(w->st, at(w, "u.jsonl")));
	has(w, "u", "mine");
	/* a session that is not there leaves the directory alone */
	put(w, "v/precious", "1");
	GIVES(GROVE_ENOTFOUND,
	      grove_storage_delete_session_with_artifacts(w->st, at(w, "v.jsonl")));
	has(w, "v/precious", "1");
}

/* ------------------------------------------------------------------ writers */

static void lines_follow_each_other(void **state)
{
	struct world *w = *state;

	open_it(w, "s/a.jsonl", 0);
	has(w, "s/a.jsonl", "");
	OK(grove_writer_write_line(w->w, str("one\n")));
	OK(grove_writer_write_line(w->w, str("two\nthree\n")));
	OK(grove_writer_write_line(w->w, str("")));
	OK(grove_writer_write_line(w->w, str("four")));
	has(w, "s/a.jsonl", "one\ntwo\nthree\nfour\n");
	OK(grove_writer_flush(w->w));
	OK(grove_writer_fsync(w->w));
	OK(grove_writer_fsync(w->w));
	OK(grove_writer_close(w->w));
	open_it(w, "s/a.jsonl", GROVE_WRITER_APPEND);
	OK(grove_writer_write_line(w->w, str("five\n")));
	has(w, "s/a.jsonl", "one\ntwo\nthree\nfour\nfive\n");
	open_it(w, "s/a.jsonl", GROVE_WRITER_TRUNCATE);
	has(w, "s/a.jsonl", "");
	OK(grove_writer_write_line(w->w, str("new\n")));
	has(w, "s/a.jsonl", "new\n");
	assert_int_equal(grove_writer_get_error(w->w, NULL), 0);
	assert_int_equal(w->told, 0);
}

static void a_torn_line_is_ended_first(void **state)
{
	struct world *w = *state;

	put(w, "a", "one\n{\"torn");
	open_it(w, "a", 0);
	has(w, "a", "one\n{\"torn");
	OK(grove_writer_write_line(w->w, str("two\n")));
	OK(grove_writer_write_line(w->w, str("three")));
	has(w, "a", "one\n{\"torn\ntwo\nthree\n");
}

static void a_closed_writer_says_so(void **state)
{
	struct world *w = *state;
	struct grove_detail d;

	open_it(w, "a", 0);
	OK(grove_writer_write_line(w->w, str("one\n")));
	OK(grove_writer_close(w->w));
	OK(grove_writer_close(w->w));
	GIVES(GROVE_EINVAL, grove_writer_write_line(w->w, str("two\n")));
	grove_storage_error(w->st, &d);
	assert_string_equal(d.message, "Writer closed");
	GIVES(GROVE_EINVAL, grove_writer_flush(w->w));
	GIVES(GROVE_EINVAL, grove_writer_fsync(w->w));
	/* the caller's mistake, not the file's */
	assert_int_equal(grove_writer_get_error(w->w, &d), 0);
	assert_int_equal(d.code, 0);
	assert_int_equal(w->told, 0);
	has(w, "a", "one\n");
}

static void a_file_that_lost_its_name_takes_no_lines(void **state)
{
	struct world *w = *state;
	struct grove_detail d;

	for (int how = 0; how < 3; how++) {
		w->told = 0;
		put(w, "a", "");
		put(w, "b", "other\n");
		open_it(w, "a", 0);
		OK(grove_writer_write_line(w->w, str("one\n")));
		if (how == 0)
			OK(grove_storage_unlink(w->st, at(w, "a")));
		else if (how == 1)
			put(w, "a", "rewritten\n");
		else
			OK(grove_storage_rename(w->st, at(w, "b"), at(w, "a")));
		GIVES(GROVE_ESTALE, grove_writer_write_line(w->w, str("two\n")));
		GIVES(GROVE_ESTALE, grove_writer_flush(w->w));
		assert_int_equal(grove_writer_get_error(w->w, &d), GROVE_ESTALE);
		assert_string_equal(d.path, at(w, "a"));
		assert_int_equal(w->told, 1);
		GIVES(GROVE_ESTALE, grove_writer_close(w->w));
		if (how)
			has(w, "a", how == 1 ? "rewritten\n" : "other\n");
	}
}

static void a_writer_follows_a_file_that_moves(void **state)
{
	struct world *w = *state;

	open_it(w, "a", 0);
	OK(grove_writer_write_line(w->w, str("one\n")));
	OK(grove_storage_rename(w->st, at(w, "a"), at(w, "d/b")));
	OK(grove_writer_write_line(w->w, str("two\n")));
	OK(grove_storage_rename(w->st, at(w, "d"), at(w, "e")));
	OK(grove_writer_write_line(w->w, str("three\n")));
	has(w, "e/b", "one\ntwo\nthree\n");
}

static void a_writer_outlives_its_storage(void **state)
{
	struct world *w = *state;

	open_it(w, "a", 0);
	grove_storage_close(w->st);
	w->st = NULL;
	assert_int_equal(grove_writer_write_line(w->w, str("one\n")), 0);
	assert_int_equal(grove_writer_fsync(w->w), 0);
	assert_int_equal(grove_writer_close(w->w), 0);
	if (w->kind->on_disk)
		assert_file(at(w, "a"), "one\n");
	grove_storage_close(NULL);
	grove_writer_free(NULL);
}

enum { CROWD = 8, EACH = 200 };

struct member {
	struct grove_storage *st;
	const char *path;
	struct grove_writer *shared;  /* NULL: one of its own */
	int nr;
	pthread_t thread;
	unsigned failed;
};

static void *write_many(void *payload)
{
	struct member *m = payload;
	struct grove_writer *own = m->shared;
	char line[64];

	if (!own && grove_storage_open_writer(m->st, m->path, NULL, &own))
		m->failed++;
	for (int i = 0; i < EACH && !m->failed; i++) {
		snprintf(line, sizeof(line), "%d %d\n", m->nr, i);
		m->failed += grove_writer_write_line(own, str(line)) != 0;
	}
	if (!m->shared)
		grove_writer_free(own);
	return NULL;
}

static void many_writers_do_not_mix_their_lines(void **state)
{
	struct world *w = *state;
	struct member member[CROWD];
	struct grove_buf b = GROVE_BUF_INIT;
	int next[CROWD] = { 0 };
	char *line, *save = NULL;

	open_it(w, "many", 0);
	for (int i = 0; i < CROWD; i++) {
		member[i] = (struct member){ w->st, at(w, "many"), i % 2 ? w->w : NULL, i, 0, 0 };
		assert_int_equal(pthread_create(&member[i].thread, NULL, write_many, &member[i]), 0);
	}
	for (int i = 0; i < CROWD; i++) {
		pthread_join(member[i].thread, NULL);
		assert_int_equal(member[i].failed, 0);
	}
	OK(grove_storage_read_text(w->st, at(w, "many"), &b));
	for (line = strtok_r(b.ptr, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		int nr, i;

		assert_int_equal(sscanf(line, "%d %d", &nr, &i), 2);
		assert_in_range(nr, 0, CROWD - 1);
		assert_int_equal(i, next[nr]++);
	}
	for (int i = 0; i < CROWD; i++)
		assert_int_equal(next[i], EACH);
	grove_buf_release(&b);
}

/* ----------------------------------------------------------------- the disk */

static struct {
	const char *call;
	int nth, err, err_after, seen;
	const char *also;          /* a call that fails whenever it is made */
} plan;

static int on_call(const char *call)
{
	int n;

	if (plan.also && !strcmp(plan.also, call))
		return EIO;
	if (strcmp(plan.call, call))
		return 0;
	n = __atomic_add_fetch(&plan.seen, 1, __ATOMIC_RELAXED);
	return n == plan.nth ? plan.err : n > plan.nth ? plan.err_after : 0;
}

/* The `nth` of these calls fails so, and those after it otherwise. */
static void fail_at(const char *call, int nth, int err, int err_after)
{
	plan.call = call;
	plan.nth = nth;
	plan.err = err;
	plan.err_after = err_after;
	plan.seen = 0;
	plan.also = NULL;
	grove__sys_fault = on_call;
}

static void disk_full_in_the_middle_of_a_line(void **state)
{
	struct world *w = *state;
	struct grove_detail d;

	open_it(w, "a", 0);
	OK(grove_writer_write_line(w->w, str("one\n")));
	fail_at("write", 1, GROVE__SYS_SHORT, ENOSPC);
	GIVES(GROVE_EFULL, grove_writer_write_line(w->w, str("a long line that is cut\n")));
	grove__sys_fault = NULL;
	assert_file(at(w, "a"), "one\n");
	/* room again, but what comes now would have a gap before it */
	GIVES(GROVE_EFULL, grove_writer_write_line(w->w, str("three\n")));
	GIVES(GROVE_EFULL, grove_writer_flush(w->w));
	GIVES(GROVE_EFULL, grove_writer_fsync(w->w));
	GIVES(GROVE_EFULL, grove_writer_close(w->w));
	GIVES(GROVE_EFULL, grove_writer_close(w->w));
	assert_int_equal(grove_writer_get_error(w->w, &d), GROVE_EFULL);
	assert_string_equal(d.path, at(w, "a"));
	assert_int_equal(w->told, 1);
	assert_int_equal(w->why.code, GROVE_EFULL);
	assert_string_equal(w->why.message, d.message);
	assert_file(at(w, "a"), "one\n");
}

static void disk_full_while_a_torn_line_is_ended(void **state)
{
	struct world *w = *state;

	file_make(at(w, "a"), "one\ntorn");
	open_it(w, "a", 0);
	fail_at("write", 1, GROVE__SYS_SHORT, ENOSPC);
	GIVES(GROVE_EFULL, grove_writer_write_line(w->w, str("two\n")));
	assert_file(at(w, "a"), "one\ntorn");
}

static void short_writes_are_completed(void **state)
{
	struct world *w = *state;

	open_it(w, "a", 0);
	OK(grove_writer_write_line(w->w, str("one\n")));
	fail_at("write", 1, GROVE__SYS_SHORT, 0);
	OK(grove_writer_write_line(w->w, str("a line in two parts\n")));
	assert_int_equal(plan.seen, 2);
	assert_file(at(w, "a"), "one\na line in two parts\n");
	assert_int_equal(w->told, 0);
}

static void what_cannot_be_taken_back_is_told(void **state)
{
	struct world *w = *state;

	static const char *const also[] = { "ftruncate", "lseek" };

	for (size_t i = 0; i < ARRAY(also); i++) {
		w->told = 0;
		open_it(w, "a", GROVE_WRITER_TRUNCATE);
		fail_at("write", 1, GROVE__SYS_SHORT, ENOSPC);
		plan.also = also[i];
		GIVES(GROVE_EIO, grove_writer_write_line(w->w, str("half\n")));
		grove__sys_fault = NULL;
		GIVES(GROVE_EIO, grove_writer_write_line(w->w, str("two\n")));
		assert_int_equal(w->told, 1);
		assert_file(at(w, "a"), "ha");
	}
}

static void a_sync_that_fails_stays_failed(void **state)
{
	struct world *w = *state;

	open_it(w, "a", 0);
	OK(grove_writer_write_line(w->w, str("one\n")));
	fail_at("fsync", 1, EIO, 0);
	GIVES(GROVE_EIO, grove_writer_fsync(w->w));
	GIVES(GROVE_EIO, grove_writer_fsync(w->w));
	GIVES(GROVE_EIO, grove_writer_write_line(w->w, str("two\n")));
	assert_int_equal(plan.seen, 1);
	assert_int_equal(w->told, 1);
	assert_file(at(w, "a"), "one\n");
}

/* Whatever fails, the file is the old one and nothing lies beside it. */
static void a_file_is_replaced_whole_or_not_at_all(void **state)
{
	static const struct {
		const char *call;
		int nth, err, code;
		bool is_new;
	} table[] = {
		{ "open", 1, EACCES, GROVE_EACCESS, false },
		{ "write", 1, ENOSPC, GROVE_EFULL, false },
		{ "fchmod", 1, EPERM, GROVE_EACCESS, false },
		{ "fsync", 1, EIO, GROVE_EIO, false },
		{ "rename", 1, EACCES, GROVE_EACCESS, false },
		{ "fsync", 2, EINVAL, 0, true },   /* a file system that syncs no directories */
		{ "fsync", 2, ENOSPC, GROVE_EIO, true },
	};
	struct world *w = *state;

	for (size_t i = 0; i < ARRAY(table); i++) {
		file_make(at(w, "a"), "old");
		fail_at(table[i].call, table[i].nth, table[i].err, 0);
		GIVES(table[i].code, grove_storage_write_text(w->st, at(w, "a"), str("new")));
		assert_in_range(plan.seen, table[i].nth, 10);
		grove__sys_fault = NULL;
		assert_file(at(w, "a"), table[i].is_new ? "new" : "old");
		assert_dir(w->dir, "a ");
	}
	/* short in the middle, and then full */
	fail_at("write", 1, GROVE__SYS_SHORT, ENOSPC);
	GIVES(GROVE_EFULL, grove_storage_write_text(w->st, at(w, "b"), str("new")));
	grove__sys_fault = NULL;
	assert_dir(w->dir, "a ");
}

static void without_sync_nothing_waits(void **state)
{
	struct world *w = *state;
	struct grove_storage_options o = { .size = sizeof(o), .flags = GROVE_STORAGE_NO_SYNC };

	fail_at("fsync", 0, 0, 0);
	put(w, "a", "1");
	OK(grove_storage_rename(w->st, at(w, "a"), at(w, "b")));
	assert_int_equal(plan.seen, 4);
	grove_storage_close(w->st);
	assert_int_equal(grove_storage_files(&o, &w->st), 0);
	fail_at("fsync", 0, 0, 0);
	put(w, "a", "1");
	OK(grove_storage_rename(w->st, at(w, "a"), at(w, "b")));
	assert_int_equal(plan.seen, 0);
	open_it(w, "b", 0);
	OK(grove_writer_fsync(w->w));
	assert_int_equal(plan.seen, 1);
}

static void rights_and_links_stay(void **state)
{
	struct world *w = *state;
	struct stat s;

	put(w, "a", "1");
	assert_int_equal(stat(at(w, "a"), &s), 0);
	assert_int_equal(s.st_mode & 0777, 0600);
	assert_int_equal(chmod(at(w, "a"), 0644), 0);
	assert_int_equal(symlink("a", at(w, "link")), 0);
	put(w, "link", "2");
	assert_int_equal(lstat(at(w, "link"), &s), 0);
	assert_true(S_ISLNK(s.st_mode));
	assert_file(at(w, "a"), "2");
	assert_int_equal(stat(at(w, "a"), &s), 0);
	assert_int_equal(s.st_mode & 0777, 0644);
	OK(grove_storage_ensure_dir(w->st, at(w, "d/e")));
	assert_int_equal(stat(at(w, "d"), &s), 0);
	assert_int_equal(s.st_mode & 0777, 0700);
	/* a link is no file of this directory */
	list_is(w, ".", "*", "a ");
	OK(grove_storage_unlink(w->st, at(w, "link")));
	assert_file(at(w, "a"), "2");
	assert_int_equal(symlink("nowhere", at(w, "dangling")), 0);
	assert_false(there(w, "dangling"));
	assert_int_equal(mkfifo(at(w, "fifo"), 0600), 0);
	GIVES(GROVE_EINVAL, grove_storage_open_writer(w->st, at(w, "fifo"), NULL, &w->w));
	GIVES(GROVE_EINVAL, grove_storage_write_text(w->st, at(w, "fifo"), str("x")));
	list_is(w, ".", "*", "a ");
}

static void links_among_artifacts_are_not_followed(void **state)
{
	struct world *w = *state;

	put(w, "keep/me", "1");
	put(w, "s.jsonl", "1");
	put(w, "s/0.bash.log", "1");
	assert_int_equal(symlink("../keep", at(w, "s/dir")), 0);
	assert_int_equal(symlink("../keep/me", at(w, "s/file")), 0);
	OK(grove_storage_delete_session_with_artifacts(w->st, at(w, "s.jsonl")));
	assert_dir(w->dir, "keep ");
	put(w, "t.jsonl", "1");
	assert_int_equal(symlink("keep", at(w, "t")), 0);
	OK(grove_storage_delete_session_with_artifacts(w->st, at(w, "t.jsonl")));
	assert_dir(w->dir, "keep ");
	assert_file(at(w, "keep/me"), "1");
}

static void artifacts_that_stay_are_told(void **state)
{
	struct world *w = *state;
	struct grove_detail d;
	char want[600];

	put(w, "s.jsonl", "1");
	put(w, "s/0.bash.log", "1");
	fail_at("rmdir", 1, EACCES, 0);
	GIVES(GROVE_EACCESS, grove_storage_delete_session_with_artifacts(w->st, at(w, "s.jsonl")));
	snprintf(want, sizeof(want),
		 "Session file deleted but failed to remove artifacts directory %s: %s",
		 at(w, "s"), strerror(EACCES));
	grove_storage_error(w->st, &d);
	assert_string_equal(d.message, want);
	assert_string_equal(d.path, at(w, "s"));
	assert_false(there(w, "s.jsonl"));
	assert_true(there(w, "s"));
	/* when the file itself stays, so does the rest */
	put(w, "t.jsonl", "1");
	put(w, "t/0.bash.log", "1");
	fail_at("unlink", 1, EACCES, 0);
	GIVES(GROVE_EACCESS, grove_storage_delete_session_with_artifacts(w->st, at(w, "t.jsonl")));
	said(w, "cannot delete the session");
	assert_true(there(w, "t/0.bash.log"));
}

static void other_programs_append_meanwhile(void **state)
{
	struct world *w = *state;

	open_it(w, "a", 0);
	OK(grove_writer_write_line(w->w, str("one\n")));
	file_add(at(w, "a"), "theirs\n");
	OK(grove_writer_write_line(w->w, str("two\n")));
	file_add(at(w, "a"), "half");
	OK(grove_writer_write_line(w->w, str("three\n")));
	assert_file(at(w, "a"), "one\ntheirs\ntwo\nhalf\nthree\n");
}

static void a_lock_keeps_others_out(void **state)
{
	struct world *w = *state;
	struct grove_storage *other;
	struct grove_writer *line;
	const int patience = grove__sys_lock_ms;

	put(w, "s.jsonl", "one\n");
	assert_int_equal(grove_storage_files(NULL, &other), 0);
	assert_int_equal(grove_storage_open_writer(other, at(w, "s.jsonl"), NULL, &line), 0);
	OK(grove_storage_lock(w->st, at(w, "s.jsonl")));
	grove__sys_lock_ms = 1;
	assert_int_equal(grove_storage_lock(other, at(w, "s.jsonl")), GROVE_ECONFLICT);
	assert_int_equal(grove_storage_write_text_if(other, at(w, "s.jsonl"), str("x"), 4), GROVE_ECONFLICT);
	assert_int_equal(grove_storage_delete_session_with_artifacts_if(other, at(w, "s.jsonl"), 4), GROVE_ECONFLICT);
	assert_int_equal(grove_storage_set_title(other, at(w, "s.jsonl"), NULL), GROVE_ECONFLICT);
	assert_int_equal(grove_writer_write_line(line, str("x")), GROVE_ECONFLICT);
	/* what takes its place is locked as well */
	OK(grove_storage_write_text(w->st, at(w, "s.jsonl"), str("two\n")));
	assert_int_equal(grove_storage_lock(other, at(w, "s.jsonl")), GROVE_ECONFLICT);
	has(w, "s.jsonl", "two\n");
	OK(grove_storage_unlock(w->st, at(w, "s.jsonl")));
	grove__sys_lock_ms = patience;
	assert_int_equal(grove_storage_lock(other, at(w, "s.jsonl")), 0);
	grove_storage_close(other);
	OK(grove_storage_lock(w->st, at(w, "s.jsonl")));
	grove_writer_free(line);
}

static void a_list_that_fails_is_empty(void **state)
{
	struct world *w = *state;
	char **paths = (char **)&paths;
	size_t nr = 7;

	put(w, "a", "1");
	put(w, "b", "1");
	fail_at("lstat", 2, EIO, 0);
	GIVES(GROVE_EIO, grove_storage_list_files(w->st, w->dir, "*", &paths, &nr));
	assert_null(paths);
	assert_int_equal(nr, 0);
	fail_at("opendir", 1, EACCES, 0);
	GIVES(GROVE_EACCESS, grove_storage_list_files(w->st, w->dir, "*", &paths, &nr));
	/* one that is gone when we look is simply not there */
	fail_at("lstat", 1, ENOENT, 0);
	OK(grove_storage_list_files(w->st, w->dir, "*", &paths, &nr));
	assert_int_equal(nr, 1);
	free(paths);
}

static void a_file_of_gigabytes_is_refused_and_its_prefix_is_not(void **state)
{
	struct world *w = *state;
	struct grove_buf b = GROVE_BUF_INIT;

	put(w, "a", "begin");
	assert_int_equal(truncate(at(w, "a"), ((off_t)1 << 30) + 1), 0);
	GIVES(GROVE_ETOOBIG, grove_storage_read_text(w->st, at(w, "a"), &b));
	assert_null(b.ptr);
	OK(grove_storage_read_text_prefix(w->st, at(w, "a"), 5, &b));
	assert_string_equal(b.ptr, "begin");
	grove_buf_release(&b);
}

/* ------------------------------------------------------------------- memory */

static void appending_costs_the_same_however_long_the_file(void **state)
{
	struct world *w = *state;
	char line[1024];
	struct grove_storage_stat s = { .size = sizeof(s) };

	/* 64 MiB in lines: copying the file for each would move terabytes */
	memset(line, 'x', sizeof(line) - 1);
	line[sizeof(line) - 1] = '\n';
	open_it(w, "a", 0);
	for (int i = 0; i < 65536; i++)
		if (grove_writer_write_line(w->w, grove__slice(line, sizeof(line))))
			fail_msg("line %d", i);
	OK(grove_storage_stat(w->st, at(w, "a"), &s));
	assert_int_equal(s.bytes, 65536 * 1024);
}

static void paths_in_memory_are_text(void **state)
{
	struct world *w = *state;
	struct grove_buf b = GROVE_BUF_INIT;

	OK(grove_storage_write_text(w->st, "rel/../w/./x", str("1")));
	has(w, "x", "1");
	OK(grove_storage_read_text(w->st, "/../../w//x", &b));
	assert_string_equal(b.ptr, "1");
	grove_buf_release(&b);
	/* taken out as text: `rel` need not be there, and is not */
	GIVES(0, grove_storage_exists(w->st, "/rel"));
	GIVES(1, grove_storage_exists(w->st, "/"));
	GIVES(GROVE_EINVAL, grove_storage_rename(w->st, "/", "/y"));
	GIVES(GROVE_EINVAL, grove_storage_write_text(w->st, "/", str("1")));
}

/* -------------------------------------------------------------------- tables */

#define BOTH(name) { #name, name, 3 }
#define MEMORY(name) { #name, name, 1 }
#define FILES(name) { #name, name, 2 }

static const struct {
	const char *name;
	void (*fn)(void **state);
	unsigned kinds;
} cases[] = {
	BOTH(what_is_written_is_read),
	BOTH(directories_are_made_on_the_way),
	BOTH(a_file_is_no_directory),
	BOTH(what_is_missing_is_not_found),
	BOTH(a_path_must_not_be_empty),
	BOTH(stat_tells_bytes_and_time),
	BOTH(lists_have_files_that_fit),
	BOTH(a_prefix_ends_with_a_character),
	BOTH(both_ends_of_a_file_are_read_at_once),
	BOTH(a_file_of_another_size_is_left_alone),
	BOTH(a_title_has_its_place_in_the_first_line),
	BOTH(a_lock_is_for_others),
	FILES(a_lock_keeps_others_out),
	BOTH(rename_replaces),
	BOTH(directories_are_renamed_with_all_in_them),
	BOTH(a_session_goes_with_its_artifacts),
	BOTH(lines_follow_each_other),
	BOTH(a_torn_line_is_ended_first),
	BOTH(a_closed_writer_says_so),
	BOTH(a_file_that_lost_its_name_takes_no_lines),
	BOTH(a_writer_follows_a_file_that_moves),
	BOTH(a_writer_outlives_its_storage),
	BOTH(many_writers_do_not_mix_their_lines),
	FILES(disk_full_in_the_middle_of_a_line),
	FILES(disk_full_while_a_torn_line_is_ended),
	FILES(short_writes_are_completed),
	FILES(what_cannot_be_taken_back_is_told),
	FILES(a_sync_that_fails_stays_failed),
	FILES(a_file_is_replaced_whole_or_not_at_all),
	FILES(without_sync_nothing_waits),
	FILES(rights_and_links_stay),
	FILES(links_among_artifacts_are_not_followed),
	FILES(artifacts_that_stay_are_told),
	FILES(other_programs_append_meanwhile),
	FILES(a_list_that_fails_is_empty),
	FILES(a_file_of_gigabytes_is_refused_and_its_prefix_is_not),
	MEMORY(appending_costs_the_same_however_long_the_file),
	MEMORY(paths_in_memory_are_text),
};

int main(void)
{
	struct CMUnitTest tests[2 * ARRAY(cases)];
	char names[2 * ARRAY(cases)][96];
	size_t nr = 0;

	for (size_t k = 0; k < ARRAY(kinds); k++)
		for (size_t i = 0; i < ARRAY(cases); i++) {
			if (!(cases[i].kinds & 1u << k))
				continue;
			snprintf(names[nr], sizeof(names[nr]), "%s: %s", kinds[k].name, cases[i].name);
			tests[nr] = (struct CMUnitTest){ names[nr], cases[i].fn, set_up, tear_down,
							 &kinds[k] };
			nr++;
		}
	return _cmocka_run_group_tests("storage", tests, nr, NULL, NULL);
}
