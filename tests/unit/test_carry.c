/*
 * tests/unit/test_carry.c: storing lines, files and blobs that come from another
 * machine.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../lib/world.h"

#define HEAD_LINE "{\"type\":\"session\",\"version\":3,\"id\":\"s1\",\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"cwd\":\"/there\"}"
#define SUB_LINE "{\"type\":\"session\",\"version\":3,\"id\":\"sub\",\"cwd\":\"/there\"}"
#define ROW_LINE(id, parent, words)                                                                      \
	"{\"type\":\"message\",\"id\":\"" id "\",\"parentId\":" parent ",\"timestamp\":"                    \
	"\"2026-01-01T00:00:01.000Z\",\"message\":{\"role\":\"user\",\"content\":\"" words "\"}}"

static struct grove_carry *open_new(struct world *w, const char *cwd)
{
	struct grove_carry_options o = { .size = sizeof(o), .flags = GROVE_CARRY_CREATE, .id = "s1", .dialect = "pi",
					 .cwd = cwd };
	struct grove_carry *c;

	OK(w, grove_carry_open(w->g, NULL, &o, &c));
	return c;
}

static int take(struct grove_carry *c, unsigned flags, uint64_t seq, struct grove_carry_result *out, const char *a,
		const char *b, const char *d)
{
	const char *given[] = { a, b, d };
	struct grove_carry_append_options o = { .size = sizeof(o), .flags = flags, .seq = seq };
	struct grove_slice line[3];
	size_t nr = 0;

	for (size_t i = 0; i < 3; i++)
		if (given[i])
			line[nr++] = text(given[i]);
	*out = (struct grove_carry_result){ .size = sizeof(*out) };
	return grove_carry_append(c, line, nr, &o, out);
}

/* All lines of its own log. */
static void assert_lines(struct grove_carry *c, const char *want)
{
	struct grove_buf got = GROVE_BUF_INIT;
	struct grove_carry_state st = { .size = sizeof(st) };

	assert_int_equal(grove_carry_read(c, NULL, 0, 0, grove_buf_sink(&got), &st), 0);
	assert_int_equal(grove_buf_add(&got, (struct grove_slice){ "", 1 }), 0);
	assert_string_equal(got.ptr, want);
	grove_buf_release(&got);
}

static void a_new_session_gets_the_directory_it_has_here(void **state)
{
	struct world *w = *state;
	struct grove_carry *c = open_new(w, w->cwd);
	struct grove_carry_about a = { .size = sizeof(a) };
	struct grove_carry_result r;

	assert_int_equal(take(c, GROVE_CARRY_IF_SEQ, 0, &r, HEAD_LINE, ROW_LINE("a", "null", "one"), NULL), 0);
	assert_true(r.created && r.stored == 2 && r.seq == 2 && !r.branched);
	assert_string_equal(r.leaf, "a");
	assert_int_equal(grove_carry_about(c, &a), 0);
	assert_true(a.there && !a.old);
	assert_string_equal(a.cwd, w->cwd);
	assert_string_equal(a.id, "s1");
	grove_carry_close(c);
}

static void a_line_is_stored_once_and_never_changed(void **state)
{
	struct world *w = *state;
	struct grove_carry *c = open_new(w, "/there");
	struct grove_carry_result r;

	assert_int_equal(take(c, 0, 0, &r, HEAD_LINE, ROW_LINE("a", "null", "one"), NULL), 0);
	assert_int_equal(take(c, 0, 0, &r, HEAD_LINE, ROW_LINE("a", "null", "one"), ROW_LINE("b", "\"a\"", "two")), 0);
	assert_true(r.stored == 1 && r.skipped == 1 && !r.differing);
	assert_int_equal(take(c, 0, 0, &r, ROW_LINE("a", "null", "other"), NULL, NULL), 0);
	assert_true(!r.stored && r.differing == 1);
	assert_lines(c, HEAD_LINE "\n" ROW_LINE("a", "null", "one") "\n" ROW_LINE("b", "\"a\"", "two") "\n");
	assert_int_equal(take(c, GROVE_CARRY_IF_SEQ, 2, &r, ROW_LINE("c", "\"b\"", "x"), NULL, NULL), GROVE_ECONFLICT);
	assert_int_equal(take(c, GROVE_CARRY_IF_SEQ, 3, &r, ROW_LINE("c", "\"b\"", "x"), NULL, NULL), 0);
	assert_int_equal(r.seq, 4);
	grove_carry_close(c);
}

struct differing {
	char id[16];
	int nr, answer;
};

static int on_differ(void *payload, const char *id)
{
	struct differing *d = payload;

	snprintf(d->id, sizeof(d->id), "%s", id);
	d->nr++;
	return d->answer;
}

static void a_batch_may_have_a_line_twice(void **state)
{
	struct world *w = *state;
	struct grove_carry *c = open_new(w, "/there");
	struct differing told = { .answer = 5 };
	struct grove_carry_append_options o = { .size = sizeof(o), .differs = on_differ, .payload = &told };
	struct grove_slice other[] = { text(ROW_LINE("b", "\"a\"", "two")), text(ROW_LINE("b", "\"a\"", "other")) };
	struct grove_carry_result r;

	/* white space around it makes no other line, and no line of its own */
	assert_int_equal(take(c, 0, 0, &r, HEAD_LINE, ROW_LINE("a", "null", "one"), "\t" ROW_LINE("a", "null", "one") " \r"), 0);
	assert_true(r.stored == 2 && r.skipped == 1 && !r.differing);
	assert_int_equal(take(c, 0, 0, &r, " \t", "", NULL), 0);
	assert_true(!r.stored && !r.skipped && r.seq == 2);
	/* whoever is told of two that differ may end it, and then none is stored */
	assert_int_equal(grove_carry_append(c, other, 2, &o, &r), 5);
	assert_string_equal(told.id, "b");
	assert_lines(c, HEAD_LINE "\n" ROW_LINE("a", "null", "one") "\n");
	told.answer = 0;
	assert_int_equal(grove_carry_append(c, other, 2, &o, &r), 0);
	assert_true(r.stored == 1 && r.differing == 1 && told.nr == 2);
	assert_lines(c, HEAD_LINE "\n" ROW_LINE("a", "null", "one") "\n" ROW_LINE("b", "\"a\"", "two") "\n");
	grove_carry_close(c);
}

#define CLAUDE_ID "8f14e45f-ceea-467f-ab3c-000000000001"
#define CLAUDE_LINE(cwd) \
	"{\"parentUuid\":null,\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"one\"},\"uuid\":" \
	"\"00000000-0000-4000-8000-000000000001\",\"timestamp\":\"2026-01-01T00:00:01.000Z\"," cwd "\"sessionId\":\"" CLAUDE_ID "\"}"

static void lines_say_where_a_session_was(void **state)
{
	struct world *w = *state;
	struct grove_carry_options o = { .size = sizeof(o), .flags = GROVE_CARRY_CREATE, .id = CLAUDE_ID, .dialect = "claude" };
	struct grove_carry_about a = { .size = sizeof(a) };
	struct grove_carry *c = open_new(w, NULL);
	struct grove_carry_result r;

	assert_int_equal(take(c, 0, 0, &r, HEAD_LINE, ROW_LINE("a", "null", "one"), NULL), 0);
	assert_int_equal(grove_carry_about(c, &a), 0);
	assert_string_equal(a.cwd, "/there");
	grove_carry_close(c);
	/* without a header it is in the lines, or nowhere */
	OK(w, grove_carry_open(w->g, NULL, &o, &c));
	assert_int_equal(take(c, 0, 0, &r, CLAUDE_LINE(""), NULL, NULL), GROVE_EINVAL);
	assert_int_equal(take(c, 0, 0, &r, CLAUDE_LINE("\"cwd\":\"not/from/the/root\","), NULL, NULL), GROVE_EINVAL);
	assert_int_equal(take(c, 0, 0, &r, CLAUDE_LINE("\"cwd\":\"/there\","), NULL, NULL), 0);
	assert_true(r.created && r.stored == 1);
	assert_int_equal(grove_carry_about(c, &a), 0);
	assert_non_null(strstr(a.path, "/projects/-there/" CLAUDE_ID ".jsonl"));
	grove_carry_close(c);
}

static void the_leaf_moves_only_to_what_is_below_it(void **state)
{
	struct world *w = *state;
	struct grove_carry *c = open_new(w, "/there");
	struct grove_carry_line l = { .size = sizeof(l) };
	struct grove_carry_result r;
	struct grove_session *s;

	assert_int_equal(take(c, 0, 0, &r, HEAD_LINE, ROW_LINE("a", "null", "one"), ROW_LINE("b", "\"a\"", "two")), 0);
	assert_int_equal(take(c, 0, 0, &r, ROW_LINE("x", "\"a\"", "beside"), NULL, NULL), 0);
	assert_true(r.branched && r.stored == 1 && r.seq == 5);
	assert_string_equal(r.leaf, "b");
	/* a reader of its own sees the same */
	s = session_at(w, "s1", GROVE_OPEN_READ);
	assert_leaf(s, "b");
	grove_session_close(s);
	assert_int_equal(take(c, 0, 0, &r, ROW_LINE("d", "\"b\"", "on"), ROW_LINE("y", "\"x\"", "beside"), NULL), 0);
	assert_string_equal(r.leaf, "d");
	assert_false(r.branched);
	assert_int_equal(take(c, GROVE_CARRY_FOLLOW, 0, &r, ROW_LINE("z", "\"y\"", "there"), NULL, NULL), 0);
	assert_string_equal(r.leaf, "z");
	/* what it wrote about the leaf is known as such */
	assert_int_equal(grove_carry_line(c, text("{\"type\":\"custom\",\"customType\":\"grove.leaf\",\"id\":\"m\",\"parentId\":\"b\"}"),
					  4, &l), 0);
	assert_int_equal(l.kind, GROVE_CARRY_LINE_LEAF);
	grove_carry_close(c);
}

static void what_is_no_line_is_refused(void **state)
{
	struct world *w = *state;
	struct grove_carry *c = open_new(w, "/there");
	struct grove_carry_result r;

	assert_int_equal(take(c, 0, 0, &r, ROW_LINE("a", "null", "one"), NULL, NULL), GROVE_EINVAL);
	assert_int_equal(take(c, 0, 0, &r, "{\"type\":\"session\",\"id\":\"other\",\"version\":3}", NULL, NULL), GROVE_EINVAL);
	assert_int_equal(take(c, 0, 0, &r, HEAD_LINE, "no json", NULL), GROVE_EJSON);
	assert_int_equal(take(c, 0, 0, &r, HEAD_LINE, "[]", NULL), GROVE_EJSON);
	assert_int_equal(take(c, 0, 0, &r, HEAD_LINE "\n{}", NULL, NULL), GROVE_EINVAL);
	grove_carry_close(c);
	assert_int_equal(grove_resolve(w->g, "s1", &(struct grove_buf){ NULL, 0, 0 }), GROVE_ENOTFOUND);
}

static int count_part(void *payload, const struct grove_carry_part *p)
{
	assert_true(p->is_log ? !strcmp(p->name, "subs/one") : !strcmp(p->name, "out/1.txt"));
	++*(int *)payload;
	return 0;
}

static void files_and_logs_stay_below_their_session(void **state)
{
	static const char *const bad[] = { "", "..", "../x", "/x", "a/../x", ".grove/x", "a/.x", "a//x", "a/", "x.jsonl", "a\nb" };
	struct world *w = *state;
	struct grove_carry *c = open_new(w, "/there");
	struct grove_carry_append_options o = { .size = sizeof(o), .sub = "subs/one" };
	struct grove_slice line[] = { text(SUB_LINE), text(ROW_LINE("q", "null", "sub")) };
	struct grove_carry_state st = { .size = sizeof(st) };
	struct grove_carry_result r;
	struct grove_buf got = GROVE_BUF_INIT;
	int parts = 0;

	assert_int_equal(grove_carry_file_put(c, "out/1.txt", text("x")), GROVE_ENOTSUP);
	assert_int_equal(take(c, 0, 0, &r, HEAD_LINE, ROW_LINE("a", "null", "one"), NULL), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		assert_int_equal(grove_carry_file_put(c, bad[i], text("x")), GROVE_EINVAL);
		assert_int_equal(grove_carry_file_get(c, bad[i], &got), GROVE_EINVAL);
	}
	assert_int_equal(grove_carry_file_put(c, "out/1.txt", text("bytes")), 0);
	assert_int_equal(grove_carry_file_get(c, "out/1.txt", &got), 0);
	assert_int_equal(got.len, 5);
	grove_buf_release(&got);
	assert_int_equal(grove_carry_append(c, line + 1, 1, &o, &r), GROVE_EINVAL);
	assert_int_equal(grove_carry_append(c, line, 2, &o, &r), 0);
	assert_true(r.created && r.seq == 2 && !r.leaf);
	assert_int_equal(grove_carry_state(c, "subs/one", &st), 0);
	assert_int_equal(st.seq, 2);
	assert_int_equal(grove_carry_state(c, "../s1", &st), GROVE_EINVAL);
	assert_int_equal(grove_carry_state(c, "subs/two", &st), GROVE_ENOTFOUND);
	assert_int_equal(grove_carry_each(c, count_part, &parts), 0);
	assert_int_equal(parts, 2);
	grove_carry_close(c);
}

static void ids_that_are_none_are_refused(void **state)
{
	static const char *const bad[] = { "", "../x", "a/b", "a b" };
	struct world *w = *state;
	struct grove_carry *c;

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct grove_carry_options o = { .size = sizeof(o), .flags = GROVE_CARRY_CREATE, .id = bad[i], .dialect = "pi" };

		assert_int_equal(grove_carry_open(w->g, NULL, &o, &c), GROVE_EINVAL);
		assert_int_equal(grove_carry_each(c, count_part, NULL), GROVE_EINVAL);
		grove_carry_close(c);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(a_new_session_gets_the_directory_it_has_here),
		WORLD_TEST(a_line_is_stored_once_and_never_changed),
		WORLD_TEST(a_batch_may_have_a_line_twice),
		WORLD_TEST(lines_say_where_a_session_was),
		WORLD_TEST(the_leaf_moves_only_to_what_is_below_it),
		WORLD_TEST(what_is_no_line_is_refused),
		WORLD_TEST(files_and_logs_stay_below_their_session),
		WORLD_TEST(ids_that_are_none_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
