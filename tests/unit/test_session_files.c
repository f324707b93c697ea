/*
 * tests/unit/test_session_files.c: other programs that use a session's file.
 *
 * They append to it, leave half a line, truncate, replace and delete it while
 * grove has it open. Some files are damaged from the beginning.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include <sys/resource.h>
#include <sys/wait.h>

#include "../lib/world.h"
#include "../lib/calls.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define SANITIZED 1
#endif
#endif
#if !defined(SANITIZED) && (defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__))
#define SANITIZED 1
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

#define FILE_OF(w) in_world(w, "a.jsonl")

static struct grove_session *open_branches(struct world *w, unsigned flags)
{
	return session_at(w, make(w, "a.jsonl", BRANCHES), flags);
}

static void assert_raw(struct world *w, struct grove_session *s, const char *bytes, size_t len)
{
	struct grove_buf b = GROVE_BUF_INIT;
	struct grove_view *v = view_of(w, s);

	assert_int_equal(grove_view_raw(v, grove_buf_sink(&b)), 0);
	assert_int_equal(b.len, len);
	assert_memory_equal(b.ptr, bytes, len);
	grove__buf_release(&b);
	grove_view_unref(v);
}

/* Asserts that a reader's raw output is the whole file. */
static void assert_raw_is_file(struct world *w, const char *path)
{
	struct grove_session *s = session_at(w, path, GROVE_OPEN_READ);
	struct grove_buf b = file_bytes(path);

	assert_raw(w, s, b.ptr, b.len);
	grove__buf_release(&b);
	grove_session_close(s);
}

/* ------------------------------------------------------------- other writers */

static void two_handles_follow_each_other(void **state)
{
	struct world *w = *state;
	struct grove_session *s = open_branches(w, GROVE_OPEN_WRITE), *t = session_at(w, FILE_OF(w), GROVE_OPEN_WRITE);
	const char *id[6];
	char ids[256];

	for (int i = 0; i < 6; i++)
		id[i] = user(w, i % 2 ? t : s, "turn");
	snprintf(ids, sizeof(ids), "u1 a1 u3 %s %s %s %s %s %s", id[0], id[1], id[2], id[3], id[4], id[5]);
	assert_path(w, t, ids);
	assert_int_equal(grove_session_refresh(s), 1);
	assert_int_equal(grove_session_refresh(s), 0);
	assert_path(w, s, ids);
	/* each handle knows the ids of the other's entries */
	OK(w, grove_session_append_label(s, id[5], "x", NULL, NULL));
	grove_session_close(s);
	grove_session_close(t);
}

static void who_asked_is_told_of_another_writer(void **state)
{
	struct world *w = *state;
	struct grove_session *s = open_branches(w, GROVE_OPEN_WRITE | GROVE_OPEN_STRICT);
	struct grove_slice json = text("{\"role\":\"user\",\"content\":\"x\"}");
	struct grove_session *t;

	user(w, s, "mine");
	t = session_at(w, FILE_OF(w), GROVE_OPEN_WRITE);
	user(w, t, "theirs");
	GOT(w, grove_session_append(s, json, NULL, NULL), GROVE_ECONFLICT);
	GOT(w, grove_session_append(s, json, NULL, NULL), GROVE_ECONFLICT);
	assert_int_equal(lines_in(FILE_OF(w)), 8);
	assert_int_equal(grove_session_refresh(s), 1);
	OK(w, grove_session_append(s, json, NULL, NULL));
	/* replacing the file is a change as well */
	file_make(in_world(w, "b"), BRANCHES);
	assert_int_equal(rename(in_world(w, "b"), FILE_OF(w)), 0);
	GOT(w, grove_session_append(s, json, NULL, NULL), GROVE_ECONFLICT);
	assert_file(FILE_OF(w), BRANCHES);
	OK(w, grove_session_append(s, json, NULL, NULL));
	assert_int_equal(lines_in(FILE_OF(w)), 7);
	grove_session_close(t);
	grove_session_close(s);
}

static void plain_lines_of_others_are_taken_in(void **state)
{
	struct world *w = *state;
	struct grove_session *s = open_branches(w, GROVE_OPEN_WRITE);
	const char *id;
	char ids[128];

	file_add(FILE_OF(w), ENTRY("f1", "\"a2\"", "user", "foreign"));
	id = user(w, s, "mine");
	snprintf(ids, sizeof(ids), "u1 a1 u2 a2 f1 %s", id);
	assert_path(w, s, ids);
	file_add(FILE_OF(w), "not json\n\n" ENTRY("f2", "\"f1\"", "user", "x"));
	assert_int_equal(grove_session_refresh(s), 1);
	assert_path(w, s, "u1 a1 u2 a2 f1 f2");
	assert_int_equal(counts_of(w, s).malformed, 1);
	assert_int_equal(counts_of(w, s).blank, 1);
	grove_session_close(s);
	assert_raw_is_file(w, FILE_OF(w));
}

static void half_a_line_of_another_is_closed_before_ours(void **state)
{
	struct world *w = *state;
	struct grove_session *s = open_branches(w, GROVE_OPEN_WRITE);
	const char *id;
	struct grove_counts n = { .size = sizeof(n) }, again = { .size = sizeof(again) };
	char ids[64];

	file_add(FILE_OF(w), "{\"type\":\"message\",\"id\":\"half");
	id = user(w, s, "mine");
	snprintf(ids, sizeof(ids), "u1 a1 u3 %s", id);
	assert_path(w, s, ids);
	n = counts_of(w, s);
	assert_int_equal(n.malformed, 1);
	assert_int_equal(n.lines, 8);
	assert_int_equal(n.first_malformed_line, 6);
	assert_int_equal(n.first_malformed_offset, strlen(BRANCHES));
	assert_int_equal(n.torn, 0);
	grove_session_close(s);
	s = session_at(w, FILE_OF(w), GROVE_OPEN_READ);
	assert_path(w, s, ids);
	again = counts_of(w, s);
	assert_int_equal(n.lines, again.lines);
	assert_int_equal(n.bytes, again.bytes);
	assert_int_equal(n.malformed, again.malformed);
	assert_int_equal(n.first_malformed_line, again.first_malformed_line);
	assert_int_equal(n.first_malformed_offset, again.first_malformed_offset);
	grove_session_close(s);
}

static void a_torn_tail_that_is_finished_later_counts(void **state)
{
	static const char line[] = ENTRY("t1", "\"u3\"", "user", "finished");
	struct world *w = *state;
	struct grove_session *s;
	struct grove_counts n = { .size = sizeof(n) };

	make(w, "a.jsonl", BRANCHES);
	file_put(FILE_OF(w), O_APPEND, line, 40);
	s = session_at(w, FILE_OF(w), GROVE_OPEN_READ);
	n = counts_of(w, s);
	assert_int_equal(n.torn, 1);
	assert_int_equal(n.malformed, 1);
	assert_int_equal(n.lines, 7);
	assert_int_equal(n.entries, 5);
	assert_leaf(s, "u3");
	assert_int_equal(grove_session_refresh(s), 0);
	file_put(FILE_OF(w), O_APPEND, line + 40, 10);
	grove_session_refresh(s);
	assert_int_equal(counts_of(w, s).torn, 1);
	/* all of it but the newline: a complete value counts */
	file_put(FILE_OF(w), O_APPEND, line + 50, strlen(line) - 51);
	assert_int_equal(grove_session_refresh(s), 1);
	assert_leaf(s, "t1");
	assert_int_equal(counts_of(w, s).torn, 0);
	assert_int_equal(counts_of(w, s).malformed, 0);
	file_add(FILE_OF(w), "\n");
	assert_int_equal(grove_session_refresh(s), 0);
	file_add(FILE_OF(w), ENTRY("t2", "\"t1\"", "user", "x"));
	assert_int_equal(grove_session_refresh(s), 1);
	assert_leaf(s, "t2");
	assert_int_equal(counts_of(w, s).lines, 8);
	grove_session_close(s);
}

static void a_whole_last_line_without_its_end_is_an_entry(void **state)
{
	struct world *w = *state;
	char *bytes = strdup(BRANCHES);
	struct grove_session *s;
	const char *id;
	char ids[64];

	bytes[strlen(bytes) - 1] = '\0';
	s = session_at(w, make(w, "a.jsonl", bytes), GROVE_OPEN_WRITE);
	assert_leaf(s, "u3");
	assert_file(FILE_OF(w), bytes);
	id = user(w, s, "next");
	snprintf(ids, sizeof(ids), "u1 a1 u3 %s", id);
	assert_path(w, s, ids);
	assert_int_equal(counts_of(w, s).lines, 7);
	grove_session_close(s);
	s = session_at(w, FILE_OF(w), GROVE_OPEN_READ);
	assert_path(w, s, ids);
	grove_session_close(s);
	/* and if it is changed instead of completed, the file is read again */
	s = session_at(w, make(w, "a.jsonl", bytes), GROVE_OPEN_READ);
	file_add(FILE_OF(w), " ");
	file_add(FILE_OF(w), "\n" ENTRY("z", "\"u3\"", "user", "x"));
	assert_int_equal(grove_session_refresh(s), 1);
	assert_path(w, s, "u1 a1 u3 z");
	grove_session_close(s);
	free(bytes);
}

static void a_file_that_became_shorter_is_read_again(void **state)
{
	struct world *w = *state;
	struct grove_session *s = open_branches(w, GROVE_OPEN_WRITE);
	struct grove_view *v = view_of(w, s);
	struct grove_buf b = GROVE_BUF_INIT;
	const char *id;
	char ids[64];

	assert_int_equal(truncate(FILE_OF(w), (off_t)strlen(HEADER ENTRY("u1", "null", "user", "one"))), 0);
	/* the old view still knows what was there, and never returns wrong bytes */
	assert_int_equal(grove_view_count(v), 5);
	assert_int_equal(grove_view_line(v, row(v, "a2"), 0, &b), GROVE_ESTALE);
	assert_int_equal(grove_view_line(v, row(v, "u1"), 0, &b), 0);
	assert_non_null(strstr(b.ptr, "\"one\""));
	assert_int_equal(grove_view_raw(v, grove_buf_sink(&b)), GROVE_ESTALE);
	id = user(w, s, "go on");
	snprintf(ids, sizeof(ids), "u1 %s", id);
	assert_path(w, s, ids);
	assert_int_equal(lines_in(FILE_OF(w)), 3);
	grove__buf_release(&b);
	grove_view_unref(v);
	grove_session_close(s);
}

static void a_file_that_was_replaced_is_followed(void **state)
{
	struct world *w = *state;
	struct grove_session *s = open_branches(w, GROVE_OPEN_WRITE);
	struct grove_view *v = view_of(w, s);
	struct grove_buf b = GROVE_BUF_INIT;
	const char *id;
	char ids[64];

	user(w, s, "before");
	make(w, "b", HEADER ENTRY("n1", "null", "user", "new") ENTRY("n2", "\"n1\"", "assistant", "x"));
	assert_int_equal(rename(in_world(w, "b"), FILE_OF(w)), 0);
	id = user(w, s, "go on");
	snprintf(ids, sizeof(ids), "n1 n2 %s", id);
	assert_path(w, s, ids);
	assert_int_equal(lines_in(FILE_OF(w)), 4);
	for (uint32_t i = 0; i < grove_view_count(v); i++) {
		int rc = grove_view_line(v, i, 0, &b);

		if (rc)
			assert_int_equal(rc, GROVE_ESTALE);
		else
			assert_null(strstr(b.ptr, "\"new\""));
	}
	grove__buf_release(&b);
	grove_view_unref(v);
	grove_session_close(s);
}

static void a_file_that_was_deleted_is_not_found_and_not_made(void **state)
{
	struct world *w = *state;
	struct grove_session *s = open_branches(w, GROVE_OPEN_WRITE);
	struct grove_slice json = text("{\"role\":\"user\",\"content\":\"x\"}");

	user(w, s, "before");
	assert_int_equal(unlink(FILE_OF(w)), 0);
	GOT(w, grove_session_append(s, json, NULL, NULL), GROVE_ENOTFOUND);
	assert_false(is_there(FILE_OF(w)));
	GOT(w, grove_session_refresh(s), GROVE_ENOTFOUND);
	/* what was read before can still be read */
	assert_int_equal(counts_of(w, s).entries, 6);
	/* the file comes back, and the session continues */
	make(w, "a.jsonl", BRANCHES);
	OK(w, grove_session_append(s, json, NULL, NULL));
	assert_int_equal(lines_in(FILE_OF(w)), 7);
	grove_session_close(s);
}

static void a_file_that_was_replaced_by_rubbish_is_left_alone(void **state)
{
	struct world *w = *state;
	struct grove_session *s = open_branches(w, GROVE_OPEN_WRITE);

	make(w, "b", "no session at all\n");
	assert_int_equal(rename(in_world(w, "b"), FILE_OF(w)), 0);
	GOT(w, grove_session_append(s, text("{\"role\":\"user\"}"), NULL, NULL), GROVE_EDAMAGED);
	GOT(w, grove_session_refresh(s), GROVE_EDAMAGED);
	assert_file(FILE_OF(w), "no session at all\n");
	make(w, "c", BRANCHES);
	assert_int_equal(rename(in_world(w, "c"), FILE_OF(w)), 0);
	assert_int_equal(grove_session_refresh(s), 1);
	assert_leaf(s, "u3");
	grove_session_close(s);
}

static void a_file_written_anew_in_its_place_is_noticed(void **state)
{
	struct world *w = *state;
	struct grove_session *s = open_branches(w, GROVE_OPEN_WRITE);
	struct grove_buf b = GROVE_BUF_INIT;
	struct grove_view *v = view_of(w, s);

	/* as an agent rewrites it: the same inode, longer than before */
	make(w, "a.jsonl", HEADER ENTRY("n1", "null", "user", "a text that makes the file much longer "
		"than it was, so that its size alone does not tell that something has happened here, "
		"and then some more, since all that was there before was not short either, and a bit")
		ENTRY("n2", "\"n1\"", "user", "and another line that stands somewhere else than before "
		"so that nothing of what was there is where it was, except the header, which is the same"));
	assert_int_equal(grove_view_line(v, row(v, "a1"), 0, &b), GROVE_ESTALE);
	assert_int_equal(grove_session_refresh(s), 1);
	assert_path(w, s, "n1 n2");
	grove_view_unref(v);
	/* also a rewrite of the same size, after the session was read */
	v = view_of(w, s);
	make(w, "a.jsonl", HEADER ENTRY("n3", "null", "user", "a text that makes the file much longer "
		"than it was, so that its size alone does not tell that something has happened here, "
		"and then some more, since all that was there before was not short either, and a bit")
		ENTRY("n2", "\"n3\"", "user", "and another line that stands somewhere else than before "
		"so that nothing of what was there is where it was, except the header, which is the same"));
	assert_int_equal(grove_session_refresh(s), 1);
	assert_path(w, s, "n3 n2");
	assert_int_equal(grove_view_line(v, row(v, "n1"), 0, &b), GROVE_ESTALE);
	grove_view_unref(v);
	grove__buf_release(&b);
	grove_session_close(s);
}

static void a_line_changed_in_the_middle_is_stale_until_the_next_look(void **state)
{
	struct world *w = *state;
	struct grove_session *s = open_branches(w, GROVE_OPEN_READ);
	struct grove_view *v = view_of(w, s);
	struct grove_buf b = GROVE_BUF_INIT, f = file_bytes(FILE_OF(w));
	char *p = strstr(f.ptr, "three");

	memcpy(p, "THREE", 5);
	file_put(FILE_OF(w), O_TRUNC, f.ptr, f.len);
	assert_int_equal(grove_view_line(v, row(v, "u2"), 0, &b), GROVE_ESTALE);
	assert_int_equal(grove_view_line(v, row(v, "a2"), 0, &b), 0);
	assert_int_equal(grove_view_context(v, &(struct grove_context_options){ sizeof(struct grove_context_options),
						.leaf = "a2" }, grove_buf_sink(&b)), GROVE_ESTALE);
	assert_int_equal(grove_view_log(v, 0, grove_buf_sink(&b)), GROVE_ESTALE);
	assert_int_equal(grove_view_tree(v, 0, grove_buf_sink(&b)), GROVE_ESTALE);
	/* as the header says: refresh, and take a new view */
	assert_int_equal(grove_session_refresh(s), 1);
	grove_view_unref(v);
	v = view_of(w, s);
	assert_int_equal(grove_view_line(v, row(v, "u2"), 0, &b), 0);
	assert_non_null(strstr(b.ptr, "THREE"));
	assert_int_equal(grove_session_refresh(s), 0);
	grove__buf_release(&b);
	grove__buf_release(&f);
	grove_view_unref(v);
	grove_session_close(s);
}

static void a_read_that_fails_loses_nothing(void **state)
{
	struct world *w = *state;
	struct grove_session *s = open_branches(w, GROVE_OPEN_WRITE);

	OK(w, grove_session_set_leaf(s, "a2", NULL, NULL));
	file_add(FILE_OF(w), ENTRY("f1", "\"u3\"", "user", "x") ENTRY("f2", "\"f1\"", "user", "y"));
	for (int i = 0; i < 6; i++) {
		fail_at("pread", EIO, i, 1);
		grove_session_refresh(s);
		all_is_well();
		assert_leaf(s, "a2");
	}
	grove_session_refresh(s);
	assert_int_equal(counts_of(w, s).entries, 7);
	OK(w, grove_session_set_leaf(s, "f2", NULL, NULL));
	assert_path(w, s, "u1 a1 u3 f1 f2");
	grove_session_close(s);
}

static void late_parents_and_double_ids_of_others_are_settled(void **state)
{
	struct world *w = *state;
	struct grove_session *s = open_branches(w, GROVE_OPEN_WRITE);
	struct grove_view *old, *v;
	struct grove_entry e = { .size = sizeof(e) };

	file_add(FILE_OF(w), ENTRY("o", "\"later\"", "user", "orphan"));
	grove_session_refresh(s);
	assert_int_equal(counts_of(w, s).orphans, 1);
	old = view_of(w, s);
	file_add(FILE_OF(w), ENTRY("later", "\"u1\"", "user", "the parent"));
	assert_int_equal(grove_session_refresh(s), 1);
	assert_int_equal(counts_of(w, s).orphans, 0);
	v = view_of(w, s);
	assert_int_equal(grove_view_entry(v, row(v, "o"), &e), 0);
	assert_int_equal(e.parent, row(v, "later"));
	/* the old view has not changed */
	assert_int_equal(grove_view_entry(old, row(old, "o"), &e), 0);
	assert_int_equal(e.parent, GROVE_NO_ENTRY);
	assert_true(e.flags & GROVE_ENTRY_ORPHAN);
	assert_int_equal(find_row(old, "later"), GROVE_NO_ENTRY);
	grove_view_unref(old);
	file_add(FILE_OF(w), ENTRY("u1", "null", "user", "again"));
	assert_int_equal(grove_session_refresh(s), 1);
	assert_int_equal(counts_of(w, s).duplicates, 1);
	assert_int_equal(find_row(v, "u1"), 0);
	grove_view_unref(v);
	v = view_of(w, s);
	assert_int_equal(find_row(v, "u1"), grove_view_count(v) - 1);
	assert_int_equal(grove_view_entry(v, 0, &e), 0);
	assert_true(e.flags & GROVE_ENTRY_SUPERSEDED);
	grove_view_unref(v);
	user(w, s, "and on");
	grove_session_close(s);
}

/* -------------------------------------------------------------------- views */

static void a_view_does_not_change_while_its_session_grows(void **state)
{
	struct world *w = *state;
	struct grove_session *s = open_branches(w, GROVE_OPEN_WRITE);
	struct grove_view *v = view_of(w, s), *ref;
	struct grove_buf a = GROVE_BUF_INIT, b = GROVE_BUF_INIT;
	uint32_t *child;
	size_t nr;

	assert_int_equal(grove_view_tree(v, 0, grove_buf_sink(&a)), 0);
	for (int i = 0; i < 1000; i++)
		user(w, s, "more");
	OK(w, grove_session_set_name(s, "named", GROVE_NAME_BY_USER, NULL));
	OK(w, grove_session_append_label(s, "u1", "labelled", NULL, NULL));
	assert_int_equal(grove_view_tree(v, 0, grove_buf_sink(&b)), 0);
	assert_string_equal(a.ptr, b.ptr);
	assert_int_equal(grove_view_count(v), 5);
	assert_null(grove_view_name(v));
	assert_int_equal(children_rows(v, row(v, "u3"), 0, &child, &nr), 0);
	assert_int_equal(nr, 0);
	free(child);
	grove__buf_release(&b);
	assert_int_equal(grove_view_raw(v, grove_buf_sink(&b)), 0);
	assert_string_equal(b.ptr, BRANCHES);
	grove__buf_release(&b);
	assert_int_equal(children_rows(v, 99, 0, &child, &nr), GROVE_ENOTFOUND);
	assert_int_equal(path_rows(v, 99, &child, &nr), GROVE_ENOTFOUND);
	assert_int_equal(grove_view_line(v, 99, 0, &b), GROVE_ENOTFOUND);
	assert_int_equal(grove_view_piece_each(v, 99, NULL, NULL), GROVE_ENOTFOUND);
	/* and a view outlives its handle */
	ref = grove_view_ref(v);
	grove_session_close(s);
	grove_view_unref(v);
	assert_int_equal(grove_view_line(ref, 0, 0, &b), 0);
	assert_non_null(strstr(b.ptr, "\"one\""));
	grove_view_unref(ref);
	grove__buf_release(&a);
	grove__buf_release(&b);
}

static void a_view_of_a_deferred_session_outlives_its_deferral(void **state)
{
	struct world *w = *state;
	struct grove_session *s = fresh(w, 0);
	struct grove_buf a = GROVE_BUF_INIT, b = GROVE_BUF_INIT;
	struct grove_view *v;
	const char *id;

	OK(w, append_custom(s, "kept", "{\"n\":1}", INTO(&id)));
	v = view_of(w, s);
	assert_int_equal(grove_view_raw(v, grove_buf_sink(&a)), 0);
	user(w, s, "now there is a file");
	user(w, s, "and more");
	assert_int_equal(grove_view_raw(v, grove_buf_sink(&b)), 0);
	assert_string_equal(a.ptr, b.ptr);
	grove__buf_release(&b);
	assert_int_equal(grove_view_line(v, 0, 0, &b), 0);
	assert_non_null(strstr(b.ptr, "\"kept\""));
	grove_session_close(s);
	assert_int_equal(grove_view_line(v, 0, 0, &b), 0);
	assert_non_null(strstr(b.ptr, id ? "\"kept\"" : ""));
	grove_view_unref(v);
	grove__buf_release(&a);
	grove__buf_release(&b);
}

static void ids_stay_valid_when_the_file_is_read_anew(void **state)
{
	struct world *w = *state;
	struct grove_session *s = open_branches(w, GROVE_OPEN_WRITE);
	const char *leaf = grove_session_leaf(s), *id = user(w, s, "x");
	char copy[64];

	snprintf(copy, sizeof(copy), "%s", id);
	for (int i = 0; i < 3; i++) {
		make(w, "b", BRANCHES);
		assert_int_equal(rename(in_world(w, "b"), FILE_OF(w)), 0);
		assert_int_equal(grove_session_refresh(s), 1);
		user(w, s, "y");
	}
	assert_string_equal(leaf, "u3");
	assert_string_equal(id, copy);
	grove_session_close(s);
}

/* ---------------------------------------------------------------- migration */

#define OLD "{\"type\":\"session\",\"id\":\"old\",\"timestamp\":\"2025-01-01T00:00:00.000Z\",\"cwd\":\"/w\",\"extra\":1}\n" \
	"{\"type\":\"message\"" STAMP ",\"message\":{\"role\":\"user\",\"content\":\"one\"}}\n" \
	"rubbish that stays\n" \
	"{\"type\":\"message\"" STAMP ",\"message\":{\"role\":\"hookMessage\",\"content\":\"two\"}}\r\n" \
	"{\"type\":\"compaction\"" STAMP ",\"summary\":\"s\",\"firstKeptEntryIndex\":2,\"tokensBefore\":1}\n" \
	"{\"type\":\"message\"" STAMP ",\"message\":{\"role\":\"user\",\"content\":\"three\"}}\n"

static char *ids_of(struct world *w, struct grove_session *s)
{
	struct grove_view *v = view_of(w, s);
	struct grove_buf b = GROVE_BUF_INIT;
	struct grove_entry e = { .size = sizeof(e) };

	for (uint32_t i = 0; i < grove_view_count(v); i++) {
		assert_int_equal(grove_view_entry(v, i, &e), 0);
		assert_int_equal(grove__buf_addf(&b, "%s ", e.id), 0);
	}
	grove_view_unref(v);
	return b.ptr;
}

static void reading_an_old_version_shows_what_migrating_it_writes(void **state)
{
	struct world *w = *state;
	struct grove_session *s = session_at(w, make(w, "a.jsonl", OLD), GROVE_OPEN_READ), *t;
	struct grove_buf before = GROVE_BUF_INIT, after = GROVE_BUF_INIT, f;
	char *a = ids_of(w, s), *b, *c;
	struct grove_view *v = view_of(w, s), *now;

	assert_int_equal(grove_session_version(s), 1);
	assert_int_equal(grove_view_log(v, 0, grove_buf_sink(&before)), 0);
	assert_non_null(strstr(before.ptr, "\"role\":\"custom\""));
	assert_file(FILE_OF(w), OLD);
	t = session_at(w, FILE_OF(w), GROVE_OPEN_WRITE);
	assert_int_equal(grove_session_version(t), 1);
	assert_int_equal(grove_session_migrated(t), 5);
	b = ids_of(w, t);
	assert_string_equal(a, b);
	now = view_of(w, t);
	assert_int_equal(grove_view_log(now, 0, grove_buf_sink(&after)), 0);
	assert_string_equal(before.ptr, after.ptr);
	grove_view_unref(now);
	/* entries of unknown types keep their bytes, and the others change only where they must */
	f = file_bytes(FILE_OF(w));
	assert_non_null(strstr(f.ptr, "rubbish that stays\n"));
	assert_non_null(strstr(f.ptr, "\"extra\":1"));
	assert_non_null(strstr(f.ptr, "\"version\":3"));
	grove__buf_release(&f);
	grove_session_close(t);
	/* the reader follows, with the same ids; its old view returns the truth or nothing */
	assert_int_equal(grove_session_refresh(s), 1);
	c = ids_of(w, s);
	assert_string_equal(a, c);
	grove__buf_release(&after);
	for (uint32_t i = 0; i < grove_view_count(v); i++) {
		int rc = grove_view_line(v, i, 0, &after);

		if (rc)
			assert_int_equal(rc, GROVE_ESTALE);
	}
	/* the second time there is nothing to do */
	f = file_bytes(FILE_OF(w));
	t = session_at(w, FILE_OF(w), GROVE_OPEN_WRITE);
	assert_int_equal(grove_session_migrated(t), 0);
	assert_int_equal(grove_session_version(t), 3);
	assert_file(FILE_OF(w), f.ptr);
	grove_session_close(t);
	grove__buf_release(&f);
	free(a);
	free(b);
	free(c);
	grove__buf_release(&before);
	grove__buf_release(&after);
	grove_view_unref(v);
	grove_session_close(s);
}

static void an_old_version_that_grows_is_read_again(void **state)
{
	struct world *w = *state;
	struct grove_session *s = session_at(w, make(w, "a.jsonl", OLD), GROVE_OPEN_READ);
	char *a = ids_of(w, s), *b;

	file_add(FILE_OF(w), "{\"type\":\"message\"" STAMP ",\"message\":{\"role\":\"user\",\"content\":\"4\"}}\n");
	assert_int_equal(grove_session_refresh(s), 1);
	b = ids_of(w, s);
	assert_int_equal(counts_of(w, s).entries, 5);
	assert_memory_equal(a, b, strlen(a));
	free(a);
	free(b);
	grove_session_close(s);
}

static void nothing_is_migrated_while_somebody_may_write(void **state)
{
	struct world *w = *state;
	const char *path = make(w, "a.jsonl", OLD);
	struct grove_session *s;
	int ready[2], done[2], status;
	char c = 0;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	assert_int_equal(pipe(done), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		int fd = open(path, O_WRONLY | O_APPEND);

		if (fd < 0 || write(ready[1], "x", 1) != 1 || read(done[0], &c, 1) != 1)
			_exit(1);
		_exit(0);
	}
	assert_int_equal(read(ready[0], &c, 1), 1);
	GOT(w, grove_session_open(w->g, path, GROVE_OPEN_WRITE, &s), GROVE_ECONFLICT);
	assert_story(s, GROVE_ECONFLICT, "open for writing");
	grove_session_close(s);
	assert_file(path, OLD);
	assert_dir(w->cwd, "a.jsonl ");
	/* reading is allowed, and so is writing with force */
	s = session_at(w, path, GROVE_OPEN_READ);
	grove_session_close(s);
	s = session_at(w, path, GROVE_OPEN_WRITE | GROVE_OPEN_FORCE);
	assert_int_equal(grove_session_migrated(s), 5);
	grove_session_close(s);
	make(w, "a.jsonl", OLD);
	assert_int_equal(write(done[1], "x", 1), 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	close(ready[0]);
	close(ready[1]);
	close(done[0]);
	close(done[1]);
	s = session_at(w, path, GROVE_OPEN_WRITE);
	assert_int_equal(grove_session_migrated(s), 5);
	grove_session_close(s);
}

static void a_migration_that_fails_leaves_the_file_as_it_was(void **state)
{
	static const struct {
		const char *call;
		int err, code;
	} faults[] = {
		{ "write", ENOSPC, GROVE_EFULL },
		{ "fsync", EIO, GROVE_EIO },
		{ "rename", EACCES, GROVE_EACCESS },
		{ "fchmod", EIO, GROVE_EIO },
	};
	struct world *w = *state;
	const char *path = make(w, "a.jsonl", OLD);
	struct grove_session *s;

	for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++) {
		fail_at(faults[i].call, faults[i].err, 0, -1);
		GOT(w, grove_session_open(w->g, path, GROVE_OPEN_WRITE, &s), faults[i].code);
		all_is_well();
		grove_session_close(s);
		assert_file(path, OLD);
		assert_dir(w->cwd, "a.jsonl ");
	}
}

static void a_link_stays_a_link(void **state)
{
	struct world *w = *state;
	struct grove_session *s;
	struct stat st;

	make(w, "real.jsonl", OLD);
	assert_int_equal(chmod(in_world(w, "real.jsonl"), 0640), 0);
	assert_int_equal(symlink("real.jsonl", FILE_OF(w)), 0);
	s = session_at(w, FILE_OF(w), GROVE_OPEN_WRITE);
	assert_int_equal(grove_session_migrated(s), 5);
	user(w, s, "through the link");
	grove_session_close(s);
	assert_int_equal(lstat(FILE_OF(w), &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_int_equal(lstat(in_world(w, "real.jsonl"), &st), 0);
	assert_true(S_ISREG(st.st_mode));
	assert_int_equal(st.st_mode & 07777, 0640);
	assert_int_equal(lines_in(in_world(w, "real.jsonl")), 7);
	/* a link to nothing */
	assert_int_equal(symlink("gone.jsonl", in_world(w, "b.jsonl")), 0);
	GOT(w, grove_session_open(w->g, in_world(w, "b.jsonl"), GROVE_OPEN_READ, &s), GROVE_ENOTFOUND);
	grove_session_close(s);
}

/* ------------------------------------------------------- what is no session */

static void assert_damaged(struct world *w, const char *path)
{
	struct grove_session *s;

	for (unsigned flags = GROVE_OPEN_READ; flags <= GROVE_OPEN_WRITE; flags++) {
		int rc = grove_session_open(w->g, path, flags, &s);

		if (rc != GROVE_EDAMAGED)
			fail_msg("%s: %s", path, grove_error_name(rc));
		assert_story(s, GROVE_EDAMAGED, "");
		grove_session_close(s);
	}
}

static void what_is_no_session_is_damaged_and_not_touched(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
	} files[] = {
#define F(x) { x, sizeof(x) - 1 }
		F("garbage\n"), F("\n\n\n"), F("   "), F("null\n0\n"), F("[]\n"), F("{}\n"), F("\0\0\0\0\0"),
		F("\xef\xbb\xbf"), F("{\"type\":\"session\"}\n"), F("{\"type\":\"session\",\"id\":7}\n"),
		F("{\"type\":\"session\",\"id\":"), F("{\"type\":\"message\",\"id\":\"x\"}\n" HEADER),
#undef F
	};
	struct world *w = *state;

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		struct grove_buf b;

		file_put(FILE_OF(w), O_CREAT | O_TRUNC, files[i].bytes, files[i].len);
		assert_damaged(w, FILE_OF(w));
		b = file_bytes(FILE_OF(w));
		assert_int_equal(b.len, files[i].len);
		assert_memory_equal(b.ptr, files[i].bytes, b.len);
		grove__buf_release(&b);
	}
	assert_dir(w->cwd, "a.jsonl ");
}

static void what_is_no_file_is_damaged(void **state)
{
	struct world *w = *state;

	assert_int_equal(mkdir(in_world(w, "d.jsonl"), 0700), 0);
	assert_damaged(w, in_world(w, "d.jsonl"));
	assert_damaged(w, "/");
	/* and opening a FIFO does not block */
	assert_int_equal(mkfifo(in_world(w, "f.jsonl"), 0600), 0);
	assert_damaged(w, in_world(w, "f.jsonl"));
	assert_damaged(w, "/dev/null");
}

static void an_empty_file_becomes_a_session_only_when_asked_to(void **state)
{
	struct world *w = *state;
	const char *path = make(w, "2026-02-03T04-05-06-789Z_begun.jsonl", "");
	struct grove_session *s;

	assert_damaged(w, path);
	GOT(w, grove_session_open(w->g, path, GROVE_OPEN_READ | GROVE_OPEN_INIT, &s), GROVE_EDAMAGED);
	assert_story(s, GROVE_EDAMAGED, "empty");
	grove_session_close(s);
	assert_file(path, "");
	s = session_at(w, path, GROVE_OPEN_WRITE | GROVE_OPEN_INIT);
	assert_string_equal(grove_session_id(s), "begun");
	user(w, s, "hello");
	assert_int_equal(lines_in(path), 2);
	grove_session_close(s);
}

static void a_file_one_may_not_read_is_said_to_be_so(void **state)
{
	struct world *w = *state;
	const char *path = make(w, "a.jsonl", BRANCHES);
	struct grove_session *s;

	fail_at("open", EACCES, 0, -1);
	GOT(w, grove_session_open(w->g, path, GROVE_OPEN_READ, &s), GROVE_EACCESS);
	assert_story(s, GROVE_EACCESS, "ermission");
	grove_session_close(s);
	fail_at("open", EMFILE, 0, -1);
	GOT(w, grove_session_open(w->g, path, GROVE_OPEN_READ, &s), GROVE_EIO);
	grove_session_close(s);
	fail_at("pread", EIO, 0, -1);
	GOT(w, grove_session_open(w->g, path, GROVE_OPEN_READ, &s), GROVE_EIO);
	grove_session_close(s);
	all_is_well();
	if (!geteuid())
		return;
	assert_int_equal(chmod(path, 0400), 0);
	GOT(w, grove_session_open(w->g, path, GROVE_OPEN_WRITE, &s), GROVE_EACCESS);
	grove_session_close(s);
	s = session_at(w, path, GROVE_OPEN_READ);
	grove_session_close(s);
}

static void odd_lines_hide_no_others(void **state)
{
	static const char bytes[] = "\xef\xbb\xbf" "\n" HEADER "\0\0\0\0\n" "{\"torn\":\n" "  \t\r\n" "null\n" "17\n"
		"{\"type\":\"message\"}\r\n" HEADER ENTRY("a", "null", "user", "x")
		ENTRY("b", "\"a\"", "user", "lone \\ud800 surrogate \xff byte") "\0";
	struct world *w = *state;
	struct grove_session *s;
	struct grove_counts n = { .size = sizeof(n) };

	file_put(FILE_OF(w), O_CREAT, bytes, sizeof(bytes) - 1);
	s = session_at(w, FILE_OF(w), GROVE_OPEN_READ);
	n = counts_of(w, s);
	assert_leaf(s, "b");
	assert_path(w, s, "a b");
	assert_int_equal(n.lines, 12);
	assert_int_equal(n.malformed, 3);
	assert_int_equal(n.torn, 1);
	assert_int_equal(n.entries, 4);
	assert_int_equal(n.first_malformed_line, 2);
	grove_session_close(s);
	assert_raw_is_file(w, FILE_OF(w));
	/* what a writer adds comes after all that */
	s = session_at(w, FILE_OF(w), GROVE_OPEN_WRITE);
	user(w, s, "c");
	n = counts_of(w, s);
	grove_session_close(s);
	s = session_at(w, FILE_OF(w), GROVE_OPEN_READ);
	assert_int_equal(counts_of(w, s).malformed, n.malformed);
	assert_int_equal(counts_of(w, s).lines, n.lines);
	assert_int_equal(counts_of(w, s).entries, 5);
	grove_session_close(s);
}

/* --------------------------------------------------------------- large ones */

/* Writes {"…":"xxx…"} with `len` x. */
static void put_x(int fd, const char *before, size_t len, const char *after)
{
	char x[65536];

	memset(x, 'x', sizeof(x));
	assert_int_equal(write(fd, before, strlen(before)), strlen(before));
	while (len) {
		size_t n = len < sizeof(x) ? len : sizeof(x);

		assert_int_equal(write(fd, x, n), n);
		len -= n;
	}
	assert_int_equal(write(fd, after, strlen(after)), strlen(after));
}

static void a_long_message_comes_back_as_it_was(void **state)
{
	enum { LEN = 3 << 20 };
	struct world *w = *state;
	struct grove_session *s = session_at(w, make(w, "a.jsonl", HEADER), GROVE_OPEN_WRITE);
	struct grove_buf json = GROVE_BUF_INIT, line = GROVE_BUF_INIT;
	struct grove_view *v;

	assert_int_equal(grove__buf_addf(&json, "{\"role\":\"user\",\"content\":\""), 0);
	for (int i = 0; i < LEN / 16; i++)
		assert_int_equal(grove__buf_add_str(&json, "0123456789\\n\\\"é "), 0);
	assert_int_equal(grove__buf_addf(&json, "\"}"), 0);
	OK(w, grove_session_append(s, grove__buf_slice(&json), NULL, NULL));
	user(w, s, "behind it");
	for (int again = 0; again < 2; again++) {
		v = view_of(w, s);
		assert_int_equal(grove_view_line(v, 0, 0, &line), 0);
		assert_non_null(strstr(line.ptr, json.ptr));
		grove_view_unref(v);
		grove_session_close(s);
		s = session_at(w, FILE_OF(w), GROVE_OPEN_READ);
	}
	assert_int_equal(counts_of(w, s).entries, 2);
	grove__buf_release(&json);
	grove__buf_release(&line);
	grove_session_close(s);
}

static void a_line_of_70_mb_is_indexed_without_holding_it(void **state)
{
	const size_t len = (size_t)70 << 20;
	struct world *w = *state;
	int fd = open(FILE_OF(w), O_CREAT | O_WRONLY, 0600);
	struct grove_session *s;
	struct rusage before, after;
	struct grove_entry e = { .size = sizeof(e) };
	struct grove_view *v;

	put_x(fd, HEADER ENTRY("a", "null", "user", "before") "{\"type\":\"custom\",\"customType\":\"t\",\"data\":\"", len,
	      "\",\"id\":\"big\",\"parentId\":\"a\"" STAMP "}\n" ENTRY("b", "\"big\"", "user", "behind"));
	put_x(fd, "{\"no\":\"", (size_t)5 << 20, "\n" ENTRY("c", "\"b\"", "user", "behind a bad one"));
	close(fd);
	getrusage(RUSAGE_SELF, &before);
	s = session_at(w, FILE_OF(w), GROVE_OPEN_READ);
	assert_path(w, s, "a big b c");
	assert_int_equal(counts_of(w, s).malformed, 1);
	getrusage(RUSAGE_SELF, &after);
	/* sanitizers need memory themselves */
	assert_true(SANITIZED || after.ru_maxrss - before.ru_maxrss < 32 * 1024);
	v = view_of(w, s);
	assert_int_equal(grove_view_entry(v, row(v, "big"), &e), 0);
	assert_true(e.bytes > len);
	grove_view_unref(v);
	grove_session_close(s);
	/* long lines that are not objects, or not JSON at all, hide no other line */
	fd = open(FILE_OF(w), O_TRUNC | O_WRONLY, 0600);
	put_x(fd, HEADER "\"", (size_t)3 << 20, "\"\n");
	put_x(fd, "[\"", (size_t)3 << 20, "\"]\n" ENTRY("a", "null", "user", "x"));
	for (int i = 0; i < 3 << 14; i++)
		assert_int_equal(write(fd, "                                                                ", 64), 64);
	put_x(fd, "\n", 0, ENTRY("b", "\"a\"", "user", "x"));
	close(fd);
	s = session_at(w, FILE_OF(w), GROVE_OPEN_READ);
	assert_path(w, s, "a b");
	assert_int_equal(counts_of(w, s).malformed, 0);
	assert_int_equal(counts_of(w, s).blank, 1);
	assert_int_equal(counts_of(w, s).entries, 4);
	grove_session_close(s);
	/* a line without an end is an incomplete last line */
	fd = open(FILE_OF(w), O_TRUNC | O_WRONLY, 0600);
	put_x(fd, HEADER ENTRY("a", "null", "user", "x") "{\"x\":\"", (size_t)5 << 20, "");
	close(fd);
	s = session_at(w, FILE_OF(w), GROVE_OPEN_READ);
	assert_path(w, s, "a");
	assert_int_equal(counts_of(w, s).torn, 1);
	assert_int_equal(counts_of(w, s).malformed, 1);
	file_add(FILE_OF(w), "\",\"type\":\"custom\",\"id\":\"z\",\"parentId\":\"a\"}\n");
	assert_int_equal(grove_session_refresh(s), 1);
	assert_path(w, s, "a z");
	assert_int_equal(counts_of(w, s).malformed, 0);
	grove_session_close(s);
}

static void long_lines_are_listed_migrated_and_kept_in_memory(void **state)
{
	const size_t len = (size_t)3 << 20;
	struct world *w = *state;
	struct grove_create_options o = { .size = sizeof(o), .flags = GROVE_CREATE_MEMORY };
	struct grove_list_options lo = { .size = sizeof(lo), .flags = GROVE_LIST_ALL };
	const char *const stores[] = { w->cwd };
	struct grove_options go = { .size = sizeof(go), .home = w->home, .cwd = w->cwd,
				    .getenv = no_variables, .stores = stores, .nr_stores = 1 };
	int fd = open(FILE_OF(w), O_CREAT | O_WRONLY, 0600);
	struct grove_buf json = GROVE_BUF_INIT, raw = GROVE_BUF_INIT;
	struct grove_session *s;
	struct grove_list *l;
	struct grove_view *v;
	struct grove *g;

	/* a compaction that keeps everything from a later entry on, which already has an id */
	put_x(fd, "{\"type\":\"session\",\"id\":\"old\",\"timestamp\":\"2025-01-01T00:00:00.000Z\",\"cwd\":\"/w\"}\n"
	      "{\"type\":\"compaction\",\"summary\":\"s\",\"firstKeptEntryIndex\":2,\"tokensBefore\":1" STAMP "}\n"
	      "{\"type\":\"message\",\"id\":\"early\"" STAMP ",\"message\":{\"role\":\"user\",\"content\":\"", len, "\"}}\n");
	close(fd);
	assert_int_equal(grove_open(&go, &g), 0);
	assert_int_equal(grove_list(g, &lo, &l), 0);
	assert_int_equal(grove_list_count(l), 1);
	assert_int_equal(strlen(grove_list_at(l, 0)->first_message), len);
	grove_list_free(l);
	grove_close(g);
	s = session_at(w, FILE_OF(w), GROVE_OPEN_READ);
	v = view_of(w, s);
	assert_int_equal(grove_view_log(v, 0, grove_buf_sink(&raw)), 0);
	assert_non_null(strstr(raw.ptr, "\"firstKeptEntryId\":\"early\""));
	grove__buf_release(&raw);
	grove_view_unref(v);
	grove_session_close(s);
	s = session_at(w, FILE_OF(w), GROVE_OPEN_WRITE);
	assert_int_equal(grove_session_migrated(s), 3);
	grove_session_close(s);
	assert_raw_is_file(w, FILE_OF(w));

	assert_int_equal(grove__buf_add_str(&json, "{\"role\":\"user\",\"content\":\""), 0);
	for (size_t i = 0; i < len; i += 16)
		assert_int_equal(grove__buf_add_str(&json, "0123456789abcdef"), 0);
	assert_int_equal(grove__buf_add_str(&json, "\"}"), 0);
	OK(w, grove_session_create(w->g, &o, &s));
	OK(w, grove_session_append(s, grove__buf_slice(&json), NULL, NULL));
	user(w, s, "behind");
	v = view_of(w, s);
	assert_int_equal(grove_view_raw(v, grove_buf_sink(&raw)), 0);
	assert_true(raw.len > json.len);
	assert_non_null(strstr(raw.ptr, json.ptr));
	assert_non_null(strstr(raw.ptr, "behind"));
	grove_view_unref(v);
	grove_session_close(s);
	grove__buf_release(&raw);
	/* a session that was deferred, too, when its file is created */
	o.flags = 0;
	OK(w, grove_session_create(w->g, &o, &s));
	json.ptr[9] = 'U'; /* an unknown role creates no file */
	OK(w, grove_session_append(s, grove__buf_slice(&json), NULL, NULL));
	assert_int_equal(grove_session_pending(s), 1);
	user(w, s, "now");
	assert_int_equal(lines_in(grove_session_path(s)), 3);
	assert_int_equal(counts_of(w, s).entries, 2);
	grove_session_close(s);
	grove__buf_release(&json);
}

static void a_header_of_2_mb_is_a_header(void **state)
{
	struct world *w = *state;
	int fd = open(FILE_OF(w), O_CREAT | O_WRONLY, 0600);
	struct grove_session *s;

	put_x(fd, "\xef\xbb\xbf" "{\"type\":\"session\",\"version\":3,\"note\":\"", (size_t)2 << 20,
	      "\",\"id\":\"long-header\",\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"cwd\":\"/w\"}\n"
	      ENTRY("a", "null", "user", "x"));
	close(fd);
	s = session_at(w, FILE_OF(w), GROVE_OPEN_WRITE);
	assert_string_equal(grove_session_id(s), "long-header");
	user(w, s, "on");
	assert_int_equal(counts_of(w, s).entries, 2);
	grove_session_close(s);
	assert_raw_is_file(w, FILE_OF(w));
}

static int count_bytes(void *payload, const char *ptr, size_t len)
{
	(void)ptr;
	*(size_t *)payload += len;
	return 0;
}

static void a_hundred_thousand_deep_is_not_too_deep(void **state)
{
	enum { DEEP = 100000 };
	struct world *w = *state;
	struct grove_buf b = GROVE_BUF_INIT;
	struct grove_session *s;
	struct rlimit was, limit;
	uint32_t *path;
	size_t nr, bytes = 0;
	struct grove_view *v;

	assert_int_equal(grove__buf_add_str(&b, HEADER), 0);
	for (int i = 0; i < DEEP; i++)
		assert_int_equal(grove__buf_addf(&b, "{\"type\":\"message\",\"id\":\"i%d\",\"parentId\":\"i%d\"" STAMP
						 ",\"message\":{\"role\":\"user\",\"content\":\"x\"}}\n",
						 i, i - 1), 0);
	file_put(FILE_OF(w), O_CREAT, b.ptr, b.len);
	grove__buf_release(&b);
	/* with a stack too small for recursion */
	assert_int_equal(getrlimit(RLIMIT_STACK, &was), 0);
	limit = was;
	limit.rlim_cur = 256 << 10;
	assert_int_equal(setrlimit(RLIMIT_STACK, &limit), 0);
	s = session_at(w, FILE_OF(w), GROVE_OPEN_READ);
	v = view_of(w, s);
	assert_int_equal(path_rows(v, grove_view_leaf(v), &path, &nr), 0);
	assert_int_equal(nr, DEEP);
	free(path);
	assert_int_equal(grove_view_tree(v, 0, (struct grove_sink){ count_bytes, &bytes }), 0);
	assert_int_equal(grove_view_tree(v, 1, (struct grove_sink){ count_bytes, &bytes }), 0);
	assert_int_equal(grove_view_context(v, NULL, (struct grove_sink){ count_bytes, &bytes }), 0);
	assert_int_equal(grove_view_log(v, 0, (struct grove_sink){ count_bytes, &bytes }), 0);
	assert_true(bytes > (size_t)DEEP * 400);
	grove_view_unref(v);
	grove_session_close(s);
	assert_int_equal(setrlimit(RLIMIT_STACK, &was), 0);
}

static int full(void *payload, const char *ptr, size_t len)
{
	(void)payload;
	(void)ptr;
	(void)len;
	return GROVE_EFULL;
}

static void a_sink_that_fails_ends_the_work(void **state)
{
	struct world *w = *state;
	struct grove_session *s = open_branches(w, GROVE_OPEN_READ);
	struct grove_view *v = view_of(w, s);
	struct grove_sink sink = { full, NULL };

	assert_int_equal(grove_view_tree(v, 0, sink), GROVE_EFULL);
	assert_int_equal(grove_view_tree(v, 1, sink), GROVE_EFULL);
	assert_int_equal(grove_view_context(v, NULL, sink), GROVE_EFULL);
	assert_int_equal(grove_view_log(v, 0, sink), GROVE_EFULL);
	assert_int_equal(grove_view_raw(v, sink), GROVE_EFULL);
	grove_view_unref(v);
	grove_session_close(s);
}

/* -------------------------------------------------------------------- check */

static int note_problem(void *payload, const struct grove_problem *p)
{
	struct grove_buf *b = payload;

	return grove__buf_addf(b, "%llu@%llu %s %s\n", (unsigned long long)p->line,
			       (unsigned long long)p->offset, p->kind, p->entry_id ? p->entry_id : "-");
}

static void check_names_every_kind_of_damage_and_its_place(void **state)
{
	static const char bytes[] = HEADER                                      /* 1 */
		ENTRY("a", "null", "user", "x")
		"{bad\n"
		"\n"
		"42\n"
		ENTRY("o", "\"nobody\"", "user", "x")
		ENTRY("c", "\"d\"", "user", "x")
		ENTRY("d", "\"c\"", "user", "x")
		ENTRY("a", "null", "user", "again")
		HEADER                                                          /* 10 */
		"{\"type\":\"custom\"}\n"
		"{\"type\":\"label\",\"id\":\"l\",\"parentId\":\"a\",\"targetId\":\"gone\",\"label\":\"x\"}\n"
		"{\"type\":\"compaction\",\"id\":\"k\",\"parentId\":\"l\",\"firstKeptEntryId\":\"gone\",\"summary\":\"\",\"tokensBefore\":1}\n"
		"{\"type\":\"context_edit\",\"id\":\"e\",\"parentId\":\"k\",\"targetId\":\"gone\",\"replacement\":null}\n"
		"{\"type\":\"mess";
	static const char *const kinds[] = { "malformed", "torn", "not-an-entry", "orphan", "cycle",
		"duplicate-id", "second-header", "no-id", "missing-target" };
	struct world *w = *state;
	struct grove_check_result r = { .size = sizeof(r) };
	struct grove_buf b = GROVE_BUF_INIT;

	make(w, "a.jsonl", bytes);
	OK(w, grove_check(w->g, FILE_OF(w), note_problem, &b, &r));
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strstr(b.ptr, kinds[i]))
			fail_msg("no %s in\n%s", kinds[i], b.ptr);
	assert_non_null(strstr(b.ptr, "12@"));
	assert_non_null(strstr(b.ptr, "missing-target l\n"));
	assert_non_null(strstr(b.ptr, "missing-target k\n"));
	assert_non_null(strstr(b.ptr, "missing-target e\n"));
	assert_int_equal(r.files, 1);
	assert_int_equal(r.problems, 11);
	assert_file(FILE_OF(w), bytes);
	grove__buf_release(&b);
	/* a sound session has no problems */
	make(w, "a.jsonl", BRANCHES);
	OK(w, grove_check(w->g, FILE_OF(w), note_problem, &b, &r));
	assert_int_equal(b.len, 0);
	assert_int_equal(r.entries, 5);
	make(w, "a.jsonl", "\xef\xbb\xbf" BRANCHES);
	OK(w, grove_check(w->g, FILE_OF(w), note_problem, &b, &r));
	assert_string_equal(b.ptr, "1@0 byte-order-mark -\n");
	grove__buf_release(&b);
	make(w, "a.jsonl", "x\n");
	OK(w, grove_check(w->g, FILE_OF(w), note_problem, &b, &r));
	assert_string_equal(b.ptr, "1@0 no-header -\n");
	grove__buf_release(&b);
	make(w, "a.jsonl", "");
	OK(w, grove_check(w->g, FILE_OF(w), note_problem, &b, &r));
	assert_string_equal(b.ptr, "1@0 no-header -\n");
	grove__buf_release(&b);
}

static void check_finds_long_lines_that_are_damaged(void **state)
{
	struct world *w = *state;
	int fd = open(FILE_OF(w), O_CREAT | O_WRONLY, 0600);
	struct grove_check_result r = { .size = sizeof(r) };
	struct grove_buf b = GROVE_BUF_INIT;

	put_x(fd, HEADER "{\"x\":\"", (size_t)9 << 20, "\n");
	put_x(fd, "{\"type\":\"custom\",\"id\":\"a\",\"parentId\":null,\"x\":\"", (size_t)9 << 20, "\"}\n");
	put_x(fd, "{\"x\":\"", (size_t)5 << 20, "");
	close(fd);
	OK(w, grove_check(w->g, FILE_OF(w), note_problem, &b, &r));
	assert_non_null(strstr(b.ptr, "2@"));
	assert_non_null(strstr(b.ptr, "malformed -\n"));
	assert_non_null(strstr(b.ptr, "4@"));
	assert_non_null(strstr(b.ptr, "torn -\n"));
	assert_int_equal(r.problems, 2);
	grove__buf_release(&b);
}

static int stop(void *payload, const struct grove_problem *p)
{
	(void)p;
	return ++*(int *)payload == 2 ? GROVE_ECANCELLED : 0;
}

static int give_up(void *payload, uint64_t done, uint64_t total)
{
	(void)done;
	(void)total;
	++*(int *)payload;
	return 1;
}

static void a_check_of_all_goes_on_behind_a_bad_file_and_can_be_stopped(void **state)
{
	struct world *w = *state;
	struct grove_check_result r = { .size = sizeof(r) };
	struct grove_buf b = GROVE_BUF_INIT;
	struct grove_session *s;
	char dir[4096], path[8192];
	int asked = 0;

	for (int i = 0; i < 3; i++) {
		s = fresh(w, GROVE_CREATE_NOW);
		snprintf(dir, sizeof(dir), "%s", grove_session_dir(s));
		grove_session_close(s);
	}
	for (int i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s/x%d.jsonl", dir, i);
		file_make(path, i ? "x\n" : "");
	}
	OK(w, grove_check(w->g, NULL, note_problem, &b, &r));
	assert_int_equal(r.files, 6);
	assert_int_equal(r.problems, 3);
	GOT(w, grove_check(w->g, NULL, stop, &asked, &r), GROVE_ECANCELLED);
	assert_int_equal(asked, 2);
	/* what was not examined for that reason is not a problem */
	asked = 0;
	grove__buf_clear(&b);
	grove_set_progress(w->g, (struct grove_progress){ give_up, &asked });
	GOT(w, grove_check(w->g, NULL, note_problem, &b, &r), GROVE_ECANCELLED);
	grove_set_progress(w->g, (struct grove_progress){ NULL, NULL });
	assert_true(asked);
	assert_int_equal(b.len, 0);
	GOT(w, grove_check(w->g, "nobody-knows", note_problem, &b, &r), GROVE_ENOTFOUND);
	grove__buf_release(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(two_handles_follow_each_other),
		WORLD_TEST(who_asked_is_told_of_another_writer),
		WORLD_TEST(plain_lines_of_others_are_taken_in),
		WORLD_TEST(half_a_line_of_another_is_closed_before_ours),
		WORLD_TEST(a_torn_tail_that_is_finished_later_counts),
		WORLD_TEST(a_whole_last_line_without_its_end_is_an_entry),
		WORLD_TEST(a_file_that_became_shorter_is_read_again),
		WORLD_TEST(a_file_that_was_replaced_is_followed),
		WORLD_TEST(a_file_that_was_deleted_is_not_found_and_not_made),
		WORLD_TEST(a_file_that_was_replaced_by_rubbish_is_left_alone),
		WORLD_TEST(a_file_written_anew_in_its_place_is_noticed),
		WORLD_TEST(a_line_changed_in_the_middle_is_stale_until_the_next_look),
		WORLD_TEST(a_read_that_fails_loses_nothing),
		WORLD_TEST(late_parents_and_double_ids_of_others_are_settled),
		WORLD_TEST(a_view_does_not_change_while_its_session_grows),
		WORLD_TEST(a_view_of_a_deferred_session_outlives_its_deferral),
		WORLD_TEST(ids_stay_valid_when_the_file_is_read_anew),
		WORLD_TEST(reading_an_old_version_shows_what_migrating_it_writes),
		WORLD_TEST(an_old_version_that_grows_is_read_again),
		WORLD_TEST(nothing_is_migrated_while_somebody_may_write),
		WORLD_TEST(a_migration_that_fails_leaves_the_file_as_it_was),
		WORLD_TEST(a_link_stays_a_link),
		WORLD_TEST(what_is_no_session_is_damaged_and_not_touched),
		WORLD_TEST(what_is_no_file_is_damaged),
		WORLD_TEST(an_empty_file_becomes_a_session_only_when_asked_to),
		WORLD_TEST(a_file_one_may_not_read_is_said_to_be_so),
		WORLD_TEST(odd_lines_hide_no_others),
		WORLD_TEST(a_long_message_comes_back_as_it_was),
		WORLD_TEST(a_line_of_70_mb_is_indexed_without_holding_it),
		WORLD_TEST(long_lines_are_listed_migrated_and_kept_in_memory),
		WORLD_TEST(a_header_of_2_mb_is_a_header),
		WORLD_TEST(a_hundred_thousand_deep_is_not_too_deep),
		WORLD_TEST(a_sink_that_fails_ends_the_work),
		WORLD_TEST(check_names_every_kind_of_damage_and_its_place),
		WORLD_TEST(check_finds_long_lines_that_are_damaged),
		WORLD_TEST(a_check_of_all_goes_on_behind_a_bad_file_and_can_be_stopped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
