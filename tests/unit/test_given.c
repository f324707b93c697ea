/*
 * tests/unit/test_given.c: sessions in memory that are created from given
 * lines.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../lib/world.h"
#include "../lib/calls.h"

#define SUB(id, parent) "{\"type\":\"user\",\"uuid\":\"" id "\",\"parentUuid\":" parent STAMP \
	",\"sessionId\":\"s1\",\"cwd\":\"/w\",\"isSidechain\":false,\"message\":{\"role\":\"user\",\"content\":\"said " id "\"}}\n"
#define ID1 "00000000-0000-4000-8000-000000000001"
#define ID2 "00000000-0000-4000-8000-000000000002"

static struct grove_session *given(struct world *w, const char *dialect, const char *lines)
{
	struct grove_create_options o = { .size = sizeof(o), .flags = GROVE_CREATE_MEMORY,
					  .dialect = dialect, .lines = grove_str(lines) };
	struct grove_session *s;

	OK(w, grove_session_create(w->g, &o, &s));
	return s;
}

/* A whole session as text: what it is made of, and what the model is sent. */
static struct grove_buf told(struct world *w, struct grove_session *s)
{
	struct grove_context_options full = { .size = sizeof(full) };
	struct grove_buf b = GROVE_BUF_INIT;
	struct grove_view *v = view_of(w, s);
	struct grove_entry e = { .size = sizeof(e) };

	for (uint32_t i = 0; i < grove_view_count(v); i++) {
		char line[400];

		OK(w, grove_view_entry(v, i, &e));
		snprintf(line, sizeof(line), "%s %u %d %d %x %s\n", e.id ? e.id : "-", e.parent, (int)e.kind,
			 (int)e.role, e.flags, e.label ? e.label : "");
		OK(w, grove_buf_add(&b, grove_str(line)));
	}
	OK(w, grove_view_raw(v, grove_buf_sink(&b)));
	/* the memory store ends each line, a file ends where it ends */
	if (b.ptr[b.len - 1] != '\n')
		OK(w, grove_buf_add(&b, grove_str("\n")));
	OK(w, grove_view_context(v, &full, grove_buf_sink(&b)));
	OK(w, grove_buf_add(&b, grove_str(grove_session_leaf(s))));
	grove_view_unref(v);
	return b;
}

static void they_are_what_a_file_of_them_is(void **state)
{
	static const struct {
		const char *dialect, *lines;
	} cases[] = {
		{ "pi", BRANCHES },
		/* orphans, a cycle, no parent at all, a second entry of the same id */
		{ "pi", HEADER ENTRY("x", "\"nobody\"", "user", "orphan") ENTRY("y", "\"x\"", "user", "below it")
			ENTRY("c", "\"d\"", "user", "c") ENTRY("d", "\"c\"", "user", "d")
			ENTRY("x", "null", "user", "again") },
		/* lines that no reader understands, blank ones, no LF at the end */
		{ "pi", "\n" HEADER "not JSON\n\n" ENTRY("a", "null", "user", "a") "{\"type\":\"new\",\"id\":\"n\",\"parentId\":\"a\"}" },
		/* a version that is not known yet */
		{ "pi", "{\"type\":\"session\",\"version\":9,\"id\":\"s9\",\"cwd\":\"/w\"}\n" ENTRY("a", "null", "user", "a") },
		{ "omp", BRANCHES },
		{ "xcsh", BRANCHES },
		{ "claude", SUB(ID1, "null") SUB(ID2, "\"" ID1 "\"") },
	};
	struct world *w = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct grove_options o = { .size = sizeof(o), .home = w->home, .cwd = w->cwd,
					   .getenv = no_variables, .cache = "", .dialect = cases[i].dialect };
		struct grove_session *s = given(w, cases[i].dialect, cases[i].lines), *f;
		struct grove_buf got = told(w, s), want;
		struct grove *g;

		assert_null(grove_session_path(s));
		OK(w, grove_open(&o, &g));
		OK(w, grove_session_open(g, make(w, "f.jsonl", cases[i].lines), GROVE_OPEN_READ, &f));
		want = told(w, f);
		assert_string_equal(got.ptr, want.ptr);
		assert_int_equal(grove_session_version(s), grove_session_version(f));
		assert_string_equal(grove_session_cwd(s), grove_session_cwd(f));
		grove_buf_release(&got);
		grove_buf_release(&want);
		grove_session_close(s);
		grove_session_close(f);
		grove_close(g);
	}
}

static void an_old_version_is_brought_up_to_date(void **state)
{
	static const char one[] =
		"{\"type\":\"session\",\"id\":\"old\",\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"cwd\":\"/w\"}\n"
		"{\"type\":\"message\",\"timestamp\":\"2026-01-01T00:00:01.000Z\",\"message\":{\"role\":\"user\",\"content\":\"a\"}}\n"
		"{\"type\":\"message\",\"timestamp\":\"2026-01-01T00:00:02.000Z\",\"message\":{\"role\":\"hookMessage\",\"content\":\"b\"}}\n"
		"{\"type\":\"compaction\",\"timestamp\":\"2026-01-01T00:00:03.000Z\",\"summary\":\"s\",\"firstKeptEntryIndex\":2,\"tokensBefore\":1}\n";
	struct world *w = *state;
	struct grove_session *s = given(w, NULL, one);
	struct grove_view *v = view_of(w, s);
	struct grove_buf raw = GROVE_BUF_INIT;
	struct grove_entry e = { .size = sizeof(e) };
	char kept[100];

	assert_int_equal(grove_session_version(s), 1);
	assert_int_equal(grove_session_migrated(s), 4);
	assert_string_equal(grove_session_id(s), "old");
	OK(w, grove_view_raw(v, grove_buf_sink(&raw)));
	assert_non_null(strstr(raw.ptr, "\"version\":3}"));
	assert_non_null(strstr(raw.ptr, "\"role\":\"custom\""));
	OK(w, grove_view_entry(v, 1, &e));
	assert_int_equal(e.parent, 0);
	snprintf(kept, sizeof(kept), "\"firstKeptEntryId\":\"%s\"", e.id);
	assert_non_null(strstr(raw.ptr, kept));
	grove_buf_release(&raw);
	grove_view_unref(v);
	grove_session_close(s);
}

static void without_a_header_they_get_one(void **state)
{
	struct world *w = *state;
	struct grove_create_options o = { .size = sizeof(o), .flags = GROVE_CREATE_MEMORY, .id = "mine", .cwd = "/w",
					  .name = "named",
					  .lines = grove_str(ENTRY("a", "\"lost\"", "user", "a") ENTRY("b", "\"a\"", "user", "b")) };
	struct grove_session *s;
	struct grove_view *v;

	OK(w, grove_session_create(w->g, &o, &s));
	assert_string_equal(grove_session_id(s), "mine");
	assert_string_equal(grove_session_cwd(s), "/w");
	v = view_of(w, s);
	assert_int_equal(grove_view_count(v), 3);
	assert_string_equal(grove_view_name(v), "named");
	grove_view_unref(v);
	grove_session_close(s);
	/* a header's word stands against that of the options */
	o.lines = grove_str(BRANCHES);
	o.name = NULL;
	OK(w, grove_session_create(w->g, &o, &s));
	assert_string_equal(grove_session_id(s), "s1");
	grove_session_close(s);
	/* nothing but lines that are none is a session, too, as an agent has it that drafts one */
	o.lines = grove_str("{\n");
	OK(w, grove_session_create(w->g, &o, &s));
	assert_string_equal(grove_session_id(s), "mine");
	user(w, s, "go on");
	grove_session_close(s);
}

static void they_go_on_like_any_session(void **state)
{
	struct world *w = *state;
	struct grove_session *s = given(w, NULL, HEADER ENTRY("x", "\"nobody\"", "user", "orphan")), *f;
	const char *id = user(w, s, "more");
	char path[100];

	snprintf(path, sizeof(path), "x %s", id);
	assert_path(w, s, path);
	OK(w, grove_session_fork(s, NULL, &f));
	assert_null(grove_session_path(f));
	assert_path(w, f, path);
	grove_session_close(f);
	grove_session_close(s);
}

static void a_file_is_not_made_of_them(void **state)
{
	struct world *w = *state;
	struct grove_create_options o = { .size = sizeof(o), .lines = grove_str(BRANCHES) };
	struct grove_session *s;

	GOT(w, grove_session_create(w->g, &o, &s), GROVE_EINVAL);
	assert_story(s, GROVE_EINVAL, "memory");
	grove_session_close(s);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		WORLD_TEST(they_are_what_a_file_of_them_is),
		WORLD_TEST(an_old_version_is_brought_up_to_date),
		WORLD_TEST(without_a_header_they_get_one),
		WORLD_TEST(they_go_on_like_any_session),
		WORLD_TEST(a_file_is_not_made_of_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
