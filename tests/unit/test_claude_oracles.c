/*
 * tests/unit/test_claude_oracles.c: transcripts, and how the real programs read
 * them.
 *
 * Each line of tests/data/claude/expected.txt has one result: the name of the
 * case, then `cli`, `sdk` or `agent` and the uuids of the conversation in their
 * order, or `leaf` and the record after which a program that resumes the
 * session continues.
 */
#include "claude_world.h"

static struct grove_buf read_data(const char *name)
{
	const char *dir = getenv("GROVE_TEST_DATA");
	struct grove_buf path = GROVE_BUF_INIT, out = GROVE_BUF_INIT;
	char part[4096];
	size_t n;
	FILE *f;

	assert_non_null(dir);
	grove__buf_addf(&path, "%s/claude/%s", dir, name);
	f = fopen(path.ptr, "rb");
	if (!f)
		fail_msg("%s: cannot open", path.ptr);
	while ((n = fread(part, 1, sizeof(part), f)))
		assert_int_equal(grove__buf_add(&out, part, n), 0);
	fclose(f);
	grove__buf_release(&path);
	return out;
}

/* As a loader would: a bad line is skipped, a torn one is not there. */
static void load(struct world *w, const char *name)
{
	struct grove_buf text;
	char file[160];
	size_t at = 0, len;

	snprintf(file, sizeof(file), "%s.jsonl", name);
	text = read_data(file);
	len = text.len;
	assert_int_equal(grove__buf_reserve(&text, GROVE__JSON_PAD), 0);
	memset(text.ptr + len, 0, GROVE__JSON_PAD);
	while (at < len) {
		struct grove__json_line l;
		struct grove__claude_row row;

		if (grove__json_scan(&w->want, text.ptr + at, len - at, true, &l) == JSON_VALUE) {
			grove__claude_row(&l, text.ptr + at, &w->tmp, &row);
			assert_int_equal(grove__claude_rows_add(&w->rows, &row, NULL), 0);
		}
		at += l.len + 1;
	}
	grove__buf_release(&text);
}

static bool ask(const char *name, const char *what, const char *expect)
{
	enum grove__claude_mode mode = !strcmp(what, "sdk")     ? CLAUDE_MODE_SDK
				       : !strcmp(what, "agent") ? CLAUDE_MODE_AGENT
								: CLAUDE_MODE_CLI;
	struct world w;
	const char *got;
	bool good;

	world_init(&w);
	load(&w, name);
	assert_int_equal(grove__claude_chain(&w.rows, mode, NULL, &w.said), 0);
	got = strcmp(what, "leaf") ? world_said(&w) : world_leaf(&w);
	good = !strcmp(got, expect);
	if (!good)
		print_error("%s %s:\n  expected %s\n  got      %s\n", name, what, expect, got);
	world_release(&w);
	return good;
}

static void the_answers_are_those_of_the_programs(void **state)
{
	struct grove_buf all = read_data("expected.txt");
	size_t nr = 0, bad = 0;

	(void)state;
	for (char *line = all.ptr, *end; *line; line = end + 1) {
		char name[128], what[16];
		int used = 0;

		end = strchr(line, '\n');
		assert_non_null(end);
		*end = '\0';
		assert_int_equal(sscanf(line, "%127s %15s%n", name, what, &used), 2);
		line += used;
		bad += !ask(name, what, *line == ' ' ? line + 1 : line);
		nr++;
	}
	grove__buf_release(&all);
	assert_true(nr > 150);
	assert_int_equal(bad, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_answers_are_those_of_the_programs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
