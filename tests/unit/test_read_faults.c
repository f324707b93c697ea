/*
 * tests/unit/test_read_faults.c: reading when memory runs out.
 *
 * A session of each agent is opened and every kind of question is asked about
 * it, while the Nth allocation fails, for every possible N. Each question gets
 * its complete answer or GROVE_ENOMEM, never a part of the answer that looks
 * complete.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../lib/transcript.h"

#include "dialect/dialect.h"

static long countdown = -1;
static bool failed;

static bool due(void)
{
	bool now = countdown == 0;

	if (countdown >= 0)
		countdown--;
	failed |= now;
	return now;
}

#define ALLOC_DUE due
#include "../lib/alloc.h"

/* ------------------------------------------------------------- the questions */

/* What the library says is kept in memory that does not run out. */
struct told {
	char *text;
	size_t len, cap;
};

static int tell(void *payload, const char *ptr, size_t len)
{
	struct told *t = payload;

	if (t->cap - t->len <= len) {
		t->cap = (t->len + len + 1) * 2;
		t->text = __real_realloc(t->text, t->cap);
	}
	memcpy(t->text + t->len, ptr, len);
	t->len += len;
	t->text[t->len] = '\0';
	return 0;
}

static int tell_piece(void *payload, const struct grove_piece *p)
{
	tell(payload, p->title.ptr ? p->title.ptr : "", p->title.len);
	return tell(payload, p->text.ptr ? p->text.ptr : "", p->text.len);
}

static int tell_problem(void *payload, const struct grove_problem *p)
{
	return tell(payload, p->kind, strlen(p->kind));
}

struct asking {
	struct grove *g;
	struct grove_session *s;
	struct grove_view *v;
	const char *path;
	struct told *out;
};

static int ask_context(struct asking *a)
{
	return grove_view_context(a->v, NULL, (struct grove_sink){ tell, a->out });
}

static int ask_llm(struct asking *a)
{
	struct grove_context_options o = { .size = sizeof(o), .flags = GROVE_CONTEXT_LLM | GROVE_CONTEXT_EXPLAIN };

	return grove_view_context(a->v, &o, (struct grove_sink){ tell, a->out });
}

static int ask_snapshot(struct asking *a)
{
	struct grove_snapshot_options o = { .size = sizeof(o), .flags = GROVE_SNAPSHOT_PROJECT, .max_body = 128 };

	return grove_view_snapshot(a->v, &o, (struct grove_sink){ tell, a->out });
}

static int ask_tree(struct asking *a)
{
	int rc = grove_view_tree(a->v, 0, (struct grove_sink){ tell, a->out });

	return rc ? rc : grove_view_tree(a->v, 1, (struct grove_sink){ tell, a->out });
}

static int ask_pieces(struct asking *a)
{
	int rc = 0;

	for (uint32_t i = 0; i < grove_view_count(a->v) && !rc; i++)
		rc = grove_view_piece_each(a->v, i, tell_piece, a->out);
	return rc;
}

static int ask_log(struct asking *a)
{
	return grove_view_log(a->v, 0, (struct grove_sink){ tell, a->out });
}

static int ask_check(struct asking *a)
{
	return grove_check(a->g, a->path, tell_problem, a->out, NULL);
}

static int ask_list(struct asking *a)
{
	struct grove_list_options o = { .size = sizeof(o), .flags = GROVE_LIST_ALL | GROVE_LIST_THREADS | GROVE_LIST_SHAPE };
	struct grove_list *l = NULL;
	int rc = grove_list(a->g, &o, &l);

	if (!rc)
		for (size_t i = 0; i < grove_list_count(l); i++) {
			const struct grove_list_item *x = grove_list_at(l, i);

			tell(a->out, x->id, strlen(x->id));
			tell(a->out, x->name ? x->name : "-", x->name ? strlen(x->name) : 1);
		}
	grove_list_free(l);
	return rc;
}

static int ask_usage(struct asking *a)
{
	struct grove_usage_options o = { .size = sizeof(o) };
	struct grove_usage *u = NULL;
	struct grove_buf b = GROVE_BUF_INIT;
	int rc = grove_usage(a->g, &o, &u);

	if (!rc)
		rc = grove_usage_json(u, &b);
	if (!rc)
		tell(a->out, b.ptr, b.len);
	grove_usage_free(u);
	grove__buf_release(&b);
	return rc;
}

static const struct {
	const char *name;
	int (*ask)(struct asking *a);
	bool alone;              /* of the world, not of a view */
	bool skips;              /* one that cannot be read is left out, as told elsewhere */
} questions[] = {
	{ "context", ask_context, false, false }, { "llm", ask_llm, false, false },
	{ "snapshot", ask_snapshot, false, false }, { "tree", ask_tree, false, false },
	{ "pieces", ask_pieces, false, false }, { "log", ask_log, false, false },
	{ "check", ask_check, true, false }, { "list", ask_list, true, true },
	{ "usage", ask_usage, true, true },
};

/* With the Nth allocation failing (below 0: none); what was answered. */
static int ask(struct world *w, const char *path, size_t q, long nth, struct told *out)
{
	struct asking a = { .path = path, .out = out, .g = world_grove(w) };
	int rc = 0;

	out->len = 0;
	tell(out, "", 0);
	failed = false;
	countdown = nth;
	if (!questions[q].alone) {
		rc = grove_session_open(a.g, path, GROVE_OPEN_READ, &a.s);
		if (!rc)
			rc = grove_session_view(a.s, &a.v);
	}
	if (!rc)
		rc = questions[q].ask(&a);
	countdown = -1;
	grove_view_unref(a.v);
	grove_session_close(a.s);
	grove_close(a.g);
	return rc;
}

static void ask_all(struct world *w, const char *path)
{
	struct told want = { 0 }, got = { 0 };

	for (size_t q = 0; q < sizeof(questions) / sizeof(*questions); q++) {
		assert_int_equal(ask(w, path, q, -1, &want), 0);
		assert_true(want.len > 0 || questions[q].ask == ask_check);
		for (long n = 0;; n++) {
			int rc = ask(w, path, q, n, &got);

			if (!failed) {
				assert_int_equal(rc, 0);
				break;
			}
			if (rc && rc != GROVE_ENOMEM)
				fail_msg("%s of %s answers %s to allocation %ld", questions[q].name, path,
					 grove_error_name(rc), n);
			if (!rc && !questions[q].skips && strcmp(got.text, want.text))
				fail_msg("%s of %s is another when allocation %ld fails: %.300s, not %.300s",
					 questions[q].name, path, n, got.text, want.text);
		}
	}
	free(want.text);
	free(got.text);
}

/* ------------------------------------------------------------- the sessions */

#define TS ",\"timestamp\":\"2026-01-01T00:00:01.000Z\""
#define USAGE ",\"usage\":{\"input\":1,\"output\":2,\"cacheRead\":0,\"cacheWrite\":0,\"cost\":{\"total\":0.5}}"
#define TURNS \
	ENTRY("u1", "null", "user", "one \\u00e9 two") \
	"{\"type\":\"message\",\"id\":\"a1\",\"parentId\":\"u1\"" TS ",\"message\":{\"role\":\"assistant\",\"content\":[" \
	"{\"type\":\"thinking\",\"thinking\":\"hm\"},{\"type\":\"text\",\"text\":\"yes\"},{\"type\":\"toolCall\",\"id\":\"t1\"," \
	"\"name\":\"bash\",\"arguments\":{\"command\":\"ls\"}}],\"provider\":\"p\",\"model\":\"m\"" USAGE ",\"timestamp\":2}}\n" \
	"{\"type\":\"message\",\"id\":\"r1\",\"parentId\":\"a1\"" TS ",\"message\":{\"role\":\"toolResult\",\"toolCallId\":\"t1\"," \
	"\"toolName\":\"bash\",\"content\":[{\"type\":\"text\",\"text\":\"file\"}],\"isError\":false}}\n" \
	"{\"type\":\"label\",\"id\":\"l1\",\"parentId\":\"r1\"" TS ",\"targetId\":\"u1\",\"label\":\"here\"}\n" \
	"{\"type\":\"thinking_level_change\",\"id\":\"h1\",\"parentId\":\"l1\"" TS ",\"thinkingLevel\":\"high\"}\n" \
	ENTRY("u2", "\"h1\"", "user", "more") \
	"{\"type\":\"compaction\",\"id\":\"k1\",\"parentId\":\"u2\"" TS ",\"summary\":\"so far\",\"firstKeptEntryId\":\"u2\"," \
	"\"tokensBefore\":9}\n" \
	ENTRY("u3", "\"k1\"", "user", "again") ENTRY("u4", "\"a1\"", "user", "a branch") \
	"{\"type\":\"branch_summary\",\"id\":\"b1\",\"parentId\":\"u4\"" TS ",\"fromId\":\"u3\",\"summary\":\"was there\"}\n"

static const char *put(struct world *w, const char *dir, const char *name, const char *bytes)
{
	static char path[8400];

	snprintf(path, sizeof(path), "%s/%s", w->home, dir);
	assert_int_equal(grove__sys_mkdirs(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/%s/%s", w->home, dir, name);
	file_make(path, bytes);
	return path;
}

static void pi_is_read_whole_or_not_at_all(void **state)
{
	struct world *w = *state;

	ask_all(w, put(w, ".pi/agent/sessions/--w--", "2026-01-01T00-00-00-000Z_s1.jsonl", HEADER TURNS
		       "{\"type\":\"session_info\",\"id\":\"n1\",\"parentId\":\"b1\"" TS ",\"name\":\"its name\"}\n"));
}

#define TITLED "{\"type\":\"session\",\"version\":3,\"id\":\"s1\"" TS ",\"cwd\":\"/w\",\"title\":\"t\",\"titleSource\":\"user\"}\n"
#define MODEL "{\"type\":\"model_change\",\"id\":\"m1\",\"parentId\":\"b1\"" TS ",\"model\":\"p/m\"}\n"

static void xcsh_is_read_whole_or_not_at_all(void **state)
{
	struct world *w = *state;

	ask_all(w, put(w, ".xcsh/agent/sessions/-w", "2026-01-01T00-00-00-000Z_s1.jsonl", TITLED TURNS MODEL));
}

static void omp_is_read_whole_or_not_at_all(void **state)
{
	struct world *w = *state;

	ask_all(w, put(w, ".omp/agent/sessions/-w", "2026-01-01T00-00-00-000Z_s1.jsonl", TITLED TURNS MODEL));
}

static void claude_is_read_whole_or_not_at_all(void **state)
{
	struct world *w = *state;

	ask_all(w, put(w, ".claude/projects/-w", SID ".jsonl", TWO_WAYS
		       RECORD("assistant", "a4", "\"a3\"", "7",
			      "[{\"type\":\"tool_use\",\"id\":\"t1\",\"name\":\"Bash\",\"input\":{}}]") "\n"
		       RECORD("user", "r4", "\"a4\"", "8",
			      "[{\"type\":\"tool_result\",\"tool_use_id\":\"t1\",\"content\":\"x\"}]") "\n"
		       NOTE("custom-title", "customTitle", "its name")));
}

/* What a header says is all there, or it is known that it is not: never an empty text. */
static void a_header_is_read_whole_or_known_not_to_be(void **state)
{
	static const char line[] =
		"{\"type\":\"session\",\"version\":\"\\u0033\",\"id\":\"s\\u0031\"" TS ",\"cwd\":\"\\/w\","
		"\"parentSession\":\"\\/p\",\"title\":\"\\u0074\",\"titleSource\":\"us\\u0065r\"}" "        "
		"                                                        ";
	static const char *const names[] = { "pi", "xcsh", "omp" };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		const struct grove__dialect *d = grove__dialect_find(names[i]);
		struct grove__json_want want;
		struct grove__json_line l;
		struct grove__arena keep;
		struct grove__header h;
		long n = 0;

		grove__json_want_init(&want, d->read.members, d->read.nr_members);
		assert_int_equal(grove__json_scan(&want, line, strcspn(line, " "), true, &l), JSON_VALUE);
		do {
			grove__arena_init(&keep);
			failed = false;
			countdown = n++;
			d->header->read(&l, line, &keep, &h);
			countdown = -1;
			assert_int_equal(keep.failed, failed);
			if (!failed) {
				assert_string_equal(h.id, "s1");
				assert_string_equal(h.cwd, "/w");
				assert_string_equal(h.parent, "/p");
				assert_int_equal(h.version, 3);
			} else if (h.id) {
				assert_string_equal(h.id, "s1");
			}
			grove__arena_release(&keep);
		} while (failed);
		assert_true(n > 5);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_header_is_read_whole_or_known_not_to_be),
		WORLD_TEST(pi_is_read_whole_or_not_at_all),
		WORLD_TEST(xcsh_is_read_whole_or_not_at_all),
		WORLD_TEST(omp_is_read_whole_or_not_at_all),
		WORLD_TEST(claude_is_read_whole_or_not_at_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
