/*
 * tests/unit/test_diff.c: comparing two branches, and finding out from tool calls
 * which files they change.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "dialect/file_edits.h"
#include "lib/world.h"

static int on_edit(void *payload, const struct grove__file_edit *e)
{
	return grove__buf_addf(payload, "%.*s +%llu -%llu;", (int)e->path.len, e->path.ptr,
			       (unsigned long long)e->added, (unsigned long long)e->removed);
}

static void calls_say_which_lines_they_change(void **state)
{
	static const struct {
		const char *tool, *args, *told;
	} cases[] = {
		{ "edit", "{\"path\":\"a\",\"oldText\":\"1\\n2\\n3\\n\",\"newText\":\"1\\nx\\ny\\n3\\n\"}", "a +2 -1;" },
		{ "Edit", "{\"file_path\":\"a\",\"old_string\":\"x\",\"new_string\":\"\"}", "a +0 -1;" },
		{ "Edit", "{\"file_path\":\"a\",\"old_string\":\"\",\"new_string\":\"x\\n\"}", "a +1 -0;" },
		{ "Edit", "{\"file_path\":\"a\",\"old_string\":\"x\\n\",\"new_string\":\"x\"}", "a +0 -0;" },
		{ "edit", "{\"path\":\"a\",\"oldText\":\"x\\n\\nx\",\"newText\":\"x\\nx\"}", "a +0 -1;" },
		{ "MultiEdit",
		  "{\"file_path\":\"a\",\"edits\":[{\"old_string\":\"1\",\"new_string\":\"2\"},7,{\"new_string\":\"3\"},"
		  "{\"old_string\":\"1\",\"new_string\":\"1\\n2\"}]}",
		  "a +2 -1;" },
		{ "write", "{\"path\":\"a\",\"content\":\"1\\n2\"}", "a +2 -0;" },
		{ "NotebookEdit", "{\"notebook_path\":\"n\",\"new_source\":\"1\"}", "n +1 -0;" },
		{ "edit", "{\"path\":\"a\",\"odd\":1}", "a +0 -0;" },
		{ "apply_patch",
		  "{\"input\":\"*** Begin Patch\\n*** Update File: a\\n@@\\n-1\\n+2\\n+3\\n*** Add File: b\\n+1\\n*** End Patch\\n\"}",
		  "a +2 -1;b +1 -0;" },
		{ "apply_patch", "{\"input\":7}", "" },
		{ "read", "{\"path\":\"a\"}", "" },
		{ "edit", "{\"path\":7}", "" },
		{ "edit", "[1]", "" },
		{ "edit", "", "" },
	};
	struct grove_buf told = GROVE_BUF_INIT;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		grove__buf_clear(&told);
		assert_int_equal(grove__buf_add_str(&told, ""), 0);
		assert_int_equal(grove__file_edits(grove__slice_str(cases[i].tool), grove__slice_str(cases[i].args),
						   on_edit, &told), 0);
		assert_string_equal(told.len ? told.ptr : "", cases[i].told);
	}
	grove__buf_release(&told);
}

#define RECORD(type, id, parent, message) \
	"{\"type\":\"" type "\",\"uuid\":\"" id "\",\"parentUuid\":" parent ",\"sessionId\":\"s\",\"cwd\":\"/w\"," \
	"\"timestamp\":\"2026-01-02T03:04:05.000Z\",\"version\":\"2.0.0\",\"message\":" message "}\n"
#define REPLY(content) \
	"{\"id\":\"m\",\"role\":\"assistant\",\"model\":\"claude-sonnet-4-5\",\"content\":[" content "]," \
	"\"usage\":{\"input_tokens\":10,\"output_tokens\":5,\"cache_read_input_tokens\":100,\"cache_creation_input_tokens\":0}}"
#define EDIT(id, path) \
	"{\"type\":\"tool_use\",\"id\":\"" id "\",\"name\":\"Edit\",\"input\":{\"file_path\":\"" path "\"," \
	"\"old_string\":\"a\",\"new_string\":\"b\"}}"
#define RESULT(id, error) \
	"{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"" id "\",\"is_error\":" error ",\"content\":\"x\"}]}"

static const char claude[] =
	RECORD("user", "u1", "null", "{\"role\":\"user\",\"content\":\"go\"}")
	/* one reply in two records: billed once */
	RECORD("assistant", "a1", "\"u1\"", REPLY(EDIT("t1", "kept.c")))
	RECORD("assistant", "a2", "\"a1\"", REPLY(EDIT("t2", "failed.c")))
	RECORD("user", "r1", "\"a2\"", RESULT("t1", "false"))
	RECORD("user", "r2", "\"r1\"", RESULT("t2", "true"))
	RECORD("user", "u2", "\"u1\"", "{\"role\":\"user\",\"content\":\"other\"}");

static struct grove_view *claude_view(struct world *w, struct grove_session **s)
{
	struct grove_options o = { .size = sizeof(o), .home = w->dir, .cwd = w->dir, .dialect = "claude" };
	struct grove_view *v;
	char path[4200];
	FILE *f;

	snprintf(path, sizeof(path), "%s/01234567-89ab-4cde-8f01-23456789abcd.jsonl", w->dir);
	f = fopen(path, "w");
	assert_non_null(f);
	assert_true(fputs(claude, f) >= 0);
	assert_int_equal(fclose(f), 0);
	grove_close(w->g);
	assert_int_equal(grove_open(&o, &w->g), 0);
	assert_int_equal(grove_session_open(w->g, path, GROVE_OPEN_READ, s), 0);
	assert_int_equal(grove_session_view(*s, &v), 0);
	return v;
}

static void a_side_has_its_lines_its_price_and_its_files(void **state)
{
	struct world *w = *state;
	struct grove_session *s;
	struct grove_view *v = claude_view(w, &s);
	struct grove_diff *d;
	uint32_t a, b;

	assert_int_equal(grove_view_find(v, "r2", &a), 0);
	assert_int_equal(grove_view_find(v, "u2", &b), 0);
	assert_int_equal(grove_view_diff(v, a, b, &d), 0);
	assert_int_equal(d->fork, 0);
	assert_int_equal(d->common, 1);
	assert_int_equal(d->a->leaf, a);
	assert_int_equal(d->a->entries, 4);
	assert_int_equal(d->a->nr_seq, 1);
	assert_int_equal(d->a->seq[0].from, 1);
	assert_int_equal(d->a->seq[0].to, 5);
	assert_int_equal(d->a->tokens, 115);
	assert_true(d->a->cost > 0 && d->a->cost < 0.01);
	assert_int_equal(d->a->nr_files, 1);
	assert_string_equal(d->a->files[0]->path, "kept.c");
	assert_int_equal(d->a->files[0]->added, 1);
	assert_int_equal(d->a->files[0]->removed, 1);
	assert_int_equal(d->a->files[0]->edits, 1);
	assert_int_equal(d->b->entries, 1);
	assert_int_equal(d->b->nr_files, 0);
	assert_true(isnan(d->b->cost));
	grove_diff_free(d);
	grove_view_unref(v);
	grove_session_close(s);
}

static void a_branch_may_be_empty_or_missing(void **state)
{
	struct world *w = *state;
	struct grove_session *s;
	struct grove_view *v = claude_view(w, &s);
	struct grove_diff *d;

	assert_int_equal(grove_view_diff(v, GROVE_NO_ENTRY, 0, &d), 0);
	assert_int_equal(d->fork, GROVE_NO_ENTRY);
	assert_int_equal(d->common, 0);
	assert_int_equal(d->a->entries, 0);
	assert_int_equal(d->b->entries, 1);
	grove_diff_free(d);
	assert_int_equal(grove_view_diff(v, 0, 4, &d), 0);
	assert_int_equal(d->fork, 0);
	assert_int_equal(d->a->entries, 0);
	grove_diff_free(d);
	assert_int_equal(grove_view_diff(v, 0, 77, &d), GROVE_ENOTFOUND);
	assert_null(d);
	grove_diff_free(NULL);
	grove_view_unref(v);
	grove_session_close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_say_which_lines_they_change),
		WORLD_TEST(a_side_has_its_lines_its_price_and_its_files),
		WORLD_TEST(a_branch_may_be_empty_or_missing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
