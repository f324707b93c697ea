/*
 * tests/unit/test_claude_names.c: the names of the directories and files in
 * which Claude Code keeps its sessions.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "dialect/claude.h"

struct vars {
	const char *config, *name, *link;
};

static const char *get(void *payload, const char *name)
{
	const struct vars *v = payload;

	if (!strcmp(name, "CLAUDE_CONFIG_DIR"))
		return v->config;
	return strcmp(name, "CLAUDE_CODE_PROJECT_DIR_NAME") ? NULL : v->name;
}

static int real(void *payload, const char *path, struct grove_buf *out)
{
	const struct vars *v = payload;

	if (!v->link || strcmp(path, "/link"))
		return 1;
	return grove__buf_add_str(out, v->link);
}

static struct grove__env world(struct vars *v)
{
	struct grove__env env = { .home = "/home/me", .cwd = "/here", .getenv = get, .getenv_payload = v,
				  .realpath = real, .file_payload = v };

	return env;
}

static void check_key(struct vars *v, const char *cwd, const char *expect)
{
	struct grove__env env = world(v);
	struct grove_buf b = GROVE_BUF_INIT;

	assert_int_equal(grove__claude_project(&env, cwd, &b), 0);
	assert_string_equal(b.ptr ? b.ptr : "", expect);
	grove__buf_release(&b);
}

static void a_project_is_its_path_in_letters_and_dashes(void **state)
{
	struct vars v = { NULL, NULL, NULL };

	(void)state;
	check_key(&v, "/w/project", "-w-project");
	check_key(&v, "/w/a_b.c", "-w-a-b-c");
	check_key(&v, "/w/Mixed Case", "-w-Mixed-Case");
	check_key(&v, "/w/ünï 日本", "-w--n----");
	check_key(&v, "/w/emoji😀dir", "-w-emoji--dir");
	/* composed and decomposed spellings are the same name */
	check_key(&v, "/w/e\xcc\x81", "-w--");
	/* a link is where it leads to */
	v.link = "/real/place";
	check_key(&v, "/link", "-real-place");
}

static void a_long_path_is_cut_and_hashed(void **state)
{
	struct vars v = { NULL, NULL, NULL };
	struct grove__env env = world(&v);
	struct grove_buf cwd = GROVE_BUF_INIT, key = GROVE_BUF_INIT;

	(void)state;
	grove__buf_add_str(&cwd, "/");
	for (int i = 0; i < 199; i++)
		grove__buf_add_char(&cwd, 'a');
	assert_int_equal(grove__claude_project(&env, cwd.ptr, &key), 0);
	assert_int_equal(key.len, 200);
	grove__buf_add_char(&cwd, 'a');
	grove__buf_clear(&key);
	assert_int_equal(grove__claude_project(&env, cwd.ptr, &key), 0);
	assert_string_equal(key.ptr + 201, "b6ymvl");
	grove__buf_release(&cwd);
	grove__buf_release(&key);
}

static void a_chosen_name_counts_with_a_chosen_config(void **state)
{
	struct vars v = { "/cfg", "my_name-1", NULL };

	(void)state;
	check_key(&v, "/w/project", "my_name-1");
	v.config = NULL;
	check_key(&v, "/w/project", "-w-project");
	v.config = "/cfg";
	v.name = "not/a.name";
	check_key(&v, "/w/project", "-w-project");
	v.name = "0123456789012345678901234567890123456789012345678901234567890123";
	check_key(&v, "/w/project", v.name);
	v.name = "01234567890123456789012345678901234567890123456789012345678901234";
	check_key(&v, "/w/project", "-w-project");
}

static int one_root(void *payload, const char *agent, const char *dir, bool flat)
{
	assert_string_equal(agent, "claude");
	assert_false(flat);
	assert_string_equal(dir, payload);
	return 0;
}

static void the_root_is_below_the_config_directory(void **state)
{
	struct vars v = { NULL, NULL, NULL };
	struct grove__env env = world(&v);
	struct grove_buf b = GROVE_BUF_INIT;
	char usual[] = "/home/me/.claude/projects", other[] = "/cfg/projects", near[] = "/here/c/projects";

	(void)state;
	assert_int_equal(grove__claude_roots(&env, one_root, usual), 0);
	v.config = "/cfg/";
	assert_int_equal(grove__claude_roots(&env, one_root, other), 0);
	v.config = "c";
	assert_int_equal(grove__claude_roots(&env, one_root, near), 0);
	v.config = NULL;
	assert_int_equal(grove__claude_file_history(&env, "id", &b), 0);
	assert_string_equal(b.ptr, "/home/me/.claude/file-history/id");
	grove__buf_release(&b);
}

static void only_uuids_name_sessions(void **state)
{
	struct grove_slice id;
	struct grove_buf b = GROVE_BUF_INIT;
	int64_t time = 0;

	(void)state;
	assert_true(grove__claude_parse_file_name(
		grove__slice_str("c1000000-1111-4111-8111-11111111111F.jsonl"), &time, &id));
	assert_int_equal(time, GROVE_NO_TIME);
	assert_int_equal(id.len, 36);
	assert_false(grove__claude_parse_file_name(grove__slice_str("agent-a1b2c3d.jsonl"), &time, &id));
	assert_false(grove__claude_parse_file_name(
		grove__slice_str("c1000000-1111-4111-8111-111111111111.json"), &time, &id));
	assert_false(grove__claude_session_id_ok(grove__slice_str("c1000000-1111-4111-8111-11111111111g")));
	assert_false(grove__claude_session_id_ok(grove__slice_str("c1000000x1111-4111-8111-111111111111")));
	assert_int_equal(grove__claude_file_name(0, "id", &b), 0);
	assert_string_equal(b.ptr, "id.jsonl");
	grove__buf_release(&b);
}

static void an_entry_is_named_by_a_random_uuid(void **state)
{
	static const uint8_t random[16] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
					    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };
	char id[40];

	(void)state;
	assert_int_equal(grove__claude_entry_id(random, false, id), 36);
	assert_string_equal(id, "ffffffff-ffff-4fff-bfff-ffffffffffff");
}

static void files_beside_a_session_are_told_apart(void **state)
{
	static const struct {
		const char *path;
		enum grove__claude_sidecar what;
		const char *id, *group;
	} cases[] = {
		{ "subagents/agent-a1.jsonl", CLAUDE_SIDE_AGENT, "a1", "" },
		{ "subagents/agent-a1.meta.json", CLAUDE_SIDE_AGENT_META, "a1", "" },
		{ "subagents/workflows/r1/agent-a1.jsonl", CLAUDE_SIDE_AGENT, "a1", "workflows/r1" },
		{ "subagents/workflows/r1/journal.jsonl", CLAUDE_SIDE_JOURNAL, "", "workflows/r1" },
		{ "subagents/journal.jsonl", CLAUDE_SIDE_OTHER, "", "" },
		{ "subagents/agent-.jsonl", CLAUDE_SIDE_OTHER, "", "" },
		{ "subagents/notes.txt", CLAUDE_SIDE_OTHER, "", "" },
		{ "tool-results/b1.txt", CLAUDE_SIDE_RESULT, "b1", "" },
		{ "tool-results/b1.json", CLAUDE_SIDE_OTHER, "", "" },
		{ "custom-title.json", CLAUDE_SIDE_TITLE, "", "" },
		{ "archived.json", CLAUDE_SIDE_ARCHIVED, "", "" },
		{ "remote-agents/t.json", CLAUDE_SIDE_REMOTE, "", "" },
		{ "x/custom-title.json", CLAUDE_SIDE_OTHER, "", "" },
		{ "", CLAUDE_SIDE_OTHER, "", "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct grove_slice id, group;

		assert_int_equal(grove__claude_sidecar(grove__slice_str(cases[i].path), &id, &group),
				 cases[i].what);
		assert_true(grove__slice_is(id, cases[i].id));
		assert_true(grove__slice_is(group, cases[i].group));
	}
}

static void a_name_is_trimmed(void **state)
{
	struct grove_buf b = GROVE_BUF_INIT;

	(void)state;
	assert_int_equal(grove__claude_clean_name(grove__slice_str("  New Title \n"), &b), 0);
	assert_string_equal(b.ptr, "New Title");
	grove__buf_release(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_project_is_its_path_in_letters_and_dashes),
		cmocka_unit_test(a_long_path_is_cut_and_hashed),
		cmocka_unit_test(a_chosen_name_counts_with_a_chosen_config),
		cmocka_unit_test(the_root_is_below_the_config_directory),
		cmocka_unit_test(only_uuids_name_sessions),
		cmocka_unit_test(an_entry_is_named_by_a_random_uuid),
		cmocka_unit_test(files_beside_a_session_are_told_apart),
		cmocka_unit_test(a_name_is_trimmed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
