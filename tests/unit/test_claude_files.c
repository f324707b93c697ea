/*
 * tests/unit/test_claude_files.c: transcript files that are cut off, copied,
 * moved or damaged, and what is left when a system call fails.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../lib/transcript.h"
#include "../lib/calls.h"

/* ------------------------------------------------------------------- forget */

static void the_last_line_is_cut_off(void **state)
{
	struct world *w = *state;
	struct grove_session *s = opened(w, ONE_WAY);
	const char *path = grove_session_path(s), *id;
	uint64_t relinked = 9;
	struct stat before, after;
	char want[100];

	assert_int_equal(stat(path, &before), 0);
	OK(w, grove_session_forget(s, "a2", &relinked));
	assert_int_equal(relinked, 0);
	assert_int_equal(stat(path, &after), 0);
	assert_int_equal(before.st_ino, after.st_ino);
	assert_file(path, FIRST LINE("user", "u2", "\"a1\"", "3"));
	SAID(w, s, "u1 a1 u2");
	id = user(w, s, "on");
	snprintf(want, sizeof(want), "u1 a1 u2 %s", id);
	SAID(w, s, want);
	grove_session_close(s);
}

static void what_hung_below_hangs_one_higher(void **state)
{
	struct world *w = *state;
	struct grove_session *s = opened(w, "not json\n" TWO_WAYS NOTE("tag", "tag", "t"));
	const char *path = grove_session_path(s);
	uint64_t relinked = 0;
	struct stat st;

	OK(w, grove_session_forget(s, "a1", &relinked));
	assert_int_equal(relinked, 2);
	/* every other byte stays */
	assert_file(path, "not json\n" LINE("user", "u1", "null", "1") LINE("user", "u2", "\"u1\"", "3")
			  LINE("assistant", "a2", "\"u2\"", "4") LINE("user", "u3", "\"u1\"", "5")
			  LINE("assistant", "a3", "\"u3\"", "6") NOTE("tag", "tag", "t"));
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	SAID(w, s, "u1 u3 a3");
	OK(w, grove_session_forget(s, "u1", &relinked));
	assert_int_equal(relinked, 2);
	RAW(line_of(path, 1), "parentUuid", "null");
	SAID(w, s, "u3 a3");
	assert_int_equal(grove_session_forget(s, "a1", &relinked), GROVE_ENOTFOUND);
	assert_int_equal(grove_session_forget(s, GROVE_ROOT, &relinked), GROVE_ENOTFOUND);
	grove_session_close(s);
}

static void what_was_forgotten_is_gone_though_a_note_follows_it(void **state)
{
	struct world *w = *state;
	struct grove_session *s = opened(w, ONE_WAY NOTE("custom-title", "customTitle", "T"));

	OK(w, grove_session_forget(s, "a2", NULL));
	assert_file(grove_session_path(s), FIRST LINE("user", "u2", "\"a1\"", "3") NOTE("custom-title", "customTitle", "T"));
	grove_session_close(s);
}

static void one_of_two_lines_with_one_id_does_not_come_back(void **state)
{
	struct world *w = *state;
	struct grove_session *s = opened(w, FIRST LINE("user", "u2", "\"a1\"", "3") LINE("user", "u2", "\"a1\"", "4"));

	OK(w, grove_session_forget(s, "u2", NULL));
	SAID(w, s, "u1 a1");
	grove_session_close(s);
}

/* --------------------------------------------------------------------- fork */

static struct grove_session *fork_of(struct world *w, struct grove_session *s, struct grove_fork_options o)
{
	struct grove_session *f;

	o.size = sizeof(o);
	OK(w, grove_session_fork(s, &o, &f));
	return f;
}

static void a_fork_has_all_branches_and_ids_of_its_own(void **state)
{
	struct world *w = *state;
	struct grove_session *s = opened(w, TWO_WAYS NOTE("custom-title", "customTitle", "T")), *f;
	struct grove_slice l;
	struct stat st;
	const char *path;

	f = fork_of(w, s, (struct grove_fork_options){ .id = NULL });
	path = grove_session_path(f);
	assert_file(grove_session_path(s), TWO_WAYS NOTE("custom-title", "customTitle", "T"));
	assert_int_equal(lines_in(path), 7);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_string_equal(grove_session_dir(f), project_of(w, w->cwd));
	l = line_of(path, 4);
	RAW(l, "forkedFrom", "{\"sessionId\":\"" SID "\",\"messageUuid\":\"u3\"}");
	RAW(l, "sessionId", q(grove_session_id(f)));
	assert_memory_equal(grove__json_get(l, "parentUuid").ptr, grove__json_get(line_of(path, 1), "uuid").ptr, 38);
	RAW(line_of(path, 6), "customTitle", "\"T (fork)\"");
	RAW(line_of(path, 6), "sessionId", q(grove_session_id(f)));
	RAW(line_of(path, 0), "timestamp", "\"2026-01-01T00:00:01.000Z\"");
	grove_session_close(f);

	f = fork_of(w, s, (struct grove_fork_options){ .leaf = "a2" });
	assert_int_equal(lines_in(grove_session_path(f)), 5);
	RAW(line_of(grove_session_path(f), 3), "forkedFrom.messageUuid", "\"a2\"");
	grove_session_close(f);
	grove_session_close(s);
}

static void a_fork_without_a_title_is_called_by_its_first_words(void **state)
{
	struct world *w = *state;
	struct grove_session *s = opened(w, ONE_WAY), *f = fork_of(w, s, (struct grove_fork_options){ .id = NULL });

	RAW(line_of(grove_session_path(f), -1), "customTitle", "\"u1 (fork)\"");
	grove_session_close(f);
	grove_session_close(s);
}

static void a_fork_with_the_same_ids_is_the_conversation_alone(void **state)
{
	struct world *w = *state;
	struct grove_session *s = opened(w, TWO_WAYS NOTE("last-prompt", "leafUuid", "a2")), *f, *g;
	struct grove_slice l;

	f = fork_of(w, s, (struct grove_fork_options){ .flags = GROVE_FORK_SAME_IDS });
	SAID(w, f, "u1 a1 u2 a2");
	assert_int_equal(lines_in(grove_session_path(f)), 4);
	l = line_of(grove_session_path(f), 2);
	RAW(l, "sessionId", q(grove_session_id(f)));
	RAW(l, "parentUuid", "\"a1\"");
	RAW(l, "forkedFrom", NULL);
	RAW(l, "requestSessionId", NULL);
	/* a reply is billed to the session that asked, even in the copy of a copy */
	l = line_of(grove_session_path(f), 3);
	RAW(l, "requestSessionId", q(grove_session_id(s)));
	g = fork_of(w, f, (struct grove_fork_options){ .flags = GROVE_FORK_SAME_IDS });
	RAW(line_of(grove_session_path(g), 3), "requestSessionId", q(grove_session_id(s)));
	grove_session_close(g);
	grove_session_close(f);
	/* kept messages come where they are told, and are linked so */
	grove_session_close(s);
	s = opened(w, ONE_WAY
		   "{\"parentUuid\":null,\"logicalParentUuid\":\"a2\",\"type\":\"system\",\"subtype\":\"compact_boundary\",\"uuid\":\"b\","
		   "\"timestamp\":\"2026-01-01T00:00:05.000Z\",\"compactMetadata\":{\"preservedSegment\":{\"headUuid\":\"u2\","
		   "\"anchorUuid\":\"s\",\"tailUuid\":\"a2\"}}}\n"
		   LINE("user", "s", "\"b\"", "6") LINE("user", "u4", "\"s\"", "7"));
	f = fork_of(w, s, (struct grove_fork_options){ .flags = GROVE_FORK_SAME_IDS });
	SAID(w, s, "s u2 a2 u4");
	SAID(w, f, "s u2 a2 u4");
	grove_session_close(f);
	grove_session_close(s);
}

static void a_fork_for_another_directory_lies_in_its_place(void **state)
{
	struct world *w = *state;
	struct grove_session *s = opened(w, ONE_WAY), *f;
	char other[8192], dir[8192];

	snprintf(other, sizeof(other), "%s", in_world(w, "other"));
	assert_int_equal(mkdir(other, 0700), 0);
	f = fork_of(w, s, (struct grove_fork_options){ .cwd = other });
	snprintf(dir, sizeof(dir), "%s", project_of(w, other));
	assert_string_equal(grove_session_dir(f), dir);
	assert_string_equal(grove_session_cwd(f), other);
	assert_int_equal(lines_in(grove_session_path(f)), 6);
	RAW(line_of(grove_session_path(f), 4), "type", "\"relocated\"");
	RAW(line_of(grove_session_path(f), 4), "relocatedCwd", q(other));
	/* what is appended says so, too */
	user(w, f, "x");
	RAW(line_of(grove_session_path(f), -1), "cwd", q(other));
	grove_session_close(f);
	grove_session_close(s);
}

static void what_lies_beside_a_session_is_forked_with_it(void **state)
{
	struct world *w = *state;
	struct grove_session *s = opened(w, ONE_WAY), *f;
	char path[16384];

	beside(w, SID "/subagents/agent-a1.jsonl", LINE("user", "x", "null", "1"));
	beside(w, SID "/subagents/agent-a1.meta.json", "{\"agentType\":\"e\"}");
	beside(w, SID "/tool-results/r.txt", "long");
	f = fork_of(w, s, (struct grove_fork_options){ .id = NULL });
	snprintf(path, sizeof(path), "%s/%s/tool-results/r.txt", grove_session_dir(f), grove_session_id(f));
	assert_file(path, "long");
	snprintf(path, sizeof(path), "%s/%s/subagents/agent-a1.meta.json", grove_session_dir(f), grove_session_id(f));
	assert_file(path, "{\"agentType\":\"e\"}");
	assert_file(session_file(w, SID "/tool-results/r.txt"), "long");
	grove_session_close(f);
	grove_session_close(s);
}

/* ------------------------------------------------------------ move, remove */

static void a_session_moves_with_all_that_belongs_to_it(void **state)
{
	struct world *w = *state;
	struct grove_session *s = opened(w, TWO_WAYS NOTE("last-prompt", "leafUuid", "a2"));
	char other[8192], old[16384], side[16384];

	beside(w, SID "/subagents/agent-a1.jsonl", LINE("user", "x", "null", "1"));
	snprintf(old, sizeof(old), "%s", grove_session_path(s));
	snprintf(other, sizeof(other), "%s", in_world(w, "other"));
	assert_int_equal(mkdir(other, 0700), 0);
	OK(w, grove_session_move(s, other));
	assert_string_equal(grove_session_dir(s), project_of(w, other));
	assert_string_equal(grove_session_cwd(s), other);
	assert_false(is_there(old));
	RAW(line_of(grove_session_path(s), -1), "type", "\"relocated\"");
	RAW(line_of(grove_session_path(s), -1), "relocatedCwd", q(other));
	RAW(line_of(grove_session_path(s), -1), "sessionId", q(SID));
	snprintf(side, sizeof(side), "%s/" SID "/subagents/agent-a1.jsonl", project_of(w, other));
	assert_true(is_there(side));
	old[strlen(old) - 6] = '\0';
	assert_false(is_there(old));
	SAID(w, s, "u1 a1 u2 a2");
	user(w, s, "here");
	RAW(line_of(grove_session_path(s), -1), "cwd", q(other));
	grove_session_close(s);
	s = session_at(w, SID, GROVE_OPEN_READ);
	assert_string_equal(grove_session_cwd(s), other);
	grove_session_close(s);
}

static void a_session_goes_with_all_that_belongs_to_it(void **state)
{
	struct world *w = *state;

	transcript(w, ONE_WAY);
	beside(w, SID "/subagents/agent-a1.jsonl", LINE("user", "x", "null", "1"));
	beside(w, SID "/subagents/workflows/r/agent-a2.jsonl", LINE("user", "x", "null", "1"));
	beside(w, SID "/tool-results/r.txt", "long");
	beside(w, SID "/custom-title.json", "{\"customTitle\":\"T\"}");
	beside(w, "memory/MEMORY.md", "mine");
	OK(w, grove_remove(w->g, SID, GROVE_REMOVE_NO_TRASH));
	assert_dir(project_of(w, w->cwd), "memory ");
	assert_file(session_file(w, "memory/MEMORY.md"), "mine");
}

/* ------------------------------------------------------------------- views */

static void a_view_shows_the_conversation_as_it_was(void **state)
{
	struct world *w = *state;
	struct grove_session *s = opened(w, TWO_WAYS);
	struct grove_view *one = view_of(w, s), *two, *three;
	struct grove_slice compaction[2] = {
		text("{\"type\":\"system\",\"subtype\":\"compact_boundary\",\"uuid\":\"b\"}"),
		text("{\"type\":\"user\",\"uuid\":\"sum\",\"message\":{\"role\":\"user\",\"content\":\"s\"}}"),
	};

	OK(w, grove_session_set_leaf(s, "a2", LEAF(GROVE_LEAF_PERSIST), NULL));
	two = view_of(w, s);
	OK(w, grove_session_append_many(s, compaction, 2, NULL, NULL));
	three = view_of(w, s);
	/* a later line of the same id changes what was there */
	file_add(grove_session_path(s), LINE("user", "u1", "\"sum\"", "9"));
	assert_int_equal(grove_session_refresh(s), 1);
	assert_view_says(one, "u1 a1 u3 a3", __FILE__, __LINE__);
	assert_view_says(two, "u1 a1 u2 a2", __FILE__, __LINE__);
	assert_view_says(three, "sum", __FILE__, __LINE__);
	SAID(w, s, "sum u1");
	assert_view_says(one, "u1 a1 u3 a3", __FILE__, __LINE__);
	grove_view_unref(one);
	grove_view_unref(two);
	grove_view_unref(three);
	grove_session_close(s);
}

/* ------------------------------------------------------------ what is found */

static void add_big(struct grove_buf *b, const char *uuid, const char *parent, const char *tool, size_t size)
{
	grove__buf_addf(b, "{\"parentUuid\":\"%s\",\"isSidechain\":false,\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":"
			"[{\"type\":\"tool_result\",\"tool_use_id\":\"%s\",\"content\":\"", parent, tool);
	for (size_t i = 0; i < size; i += 64)
		grove__buf_add_str(b, "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde ");
	grove__buf_addf(b, "\"}]},\"uuid\":\"%s\",\"timestamp\":\"2026-01-01T00:00:03.000Z\"}\n", uuid);
}

#define CALL(uuid, parent, tool) \
	"{\"parentUuid\":\"" parent "\",\"isSidechain\":false,\"type\":\"assistant\",\"message\":{\"id\":\"m\",\"role\":\"assistant\"," \
	"\"content\":[{\"type\":\"tool_use\",\"id\":\"" tool "\",\"name\":\"n\",\"input\":{}}]},\"uuid\":\"" uuid \
	"\",\"timestamp\":\"2026-01-01T00:00:02.000Z\"}\n"

static void a_result_of_megabytes_is_still_that_of_its_call(void **state)
{
	static const size_t sizes[] = { 100, 1 << 20, 5 << 20, 9 << 20 };
	struct world *w = *state;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		struct grove_buf b = GROVE_BUF_INIT;
		struct grove_session *s;

		grove__buf_add_str(&b, LINE("user", "u1", "null", "1") CALL("c1", "u1", "t1") CALL("c2", "c1", "t2"));
		add_big(&b, "r1", "c1", "t1", sizes[i]);
		add_big(&b, "r2", "c2", "t2", sizes[i]);
		grove__buf_add_str(&b, LINE("assistant", "a2", "\"r2\"", "5"));
		s = opened(w, b.ptr);
		SAID(w, s, "u1 c1 c2 r1 r2 a2");
		grove_session_close(s);
		grove__buf_release(&b);
	}
}

static void megabytes_of_progress_do_not_hide_a_message(void **state)
{
	struct world *w = *state;
	struct grove_buf b = GROVE_BUF_INIT;
	struct grove_session *s;
	struct grove_counts n = { .size = sizeof(n) };

	grove__buf_add_str(&b, FIRST);
	for (int i = 0; i < 20000; i++)
		grove__buf_addf(&b, "{\"type\":\"progress\",\"uuid\":\"p%d\",\"parentUuid\":\"%s%d\",\"data\":{\"x\":\"%0120d\"},"
				"\"timestamp\":\"2026-01-01T00:00:03.000Z\"}\n", i, i ? "p" : "a", i ? i - 1 : 1, i);
	grove__buf_add_str(&b, LINE("user", "u2", "\"p19999\"", "4"));
	s = opened(w, b.ptr);
	SAID(w, s, "u1 a1 u2");
	n = counts_of(w, s);
	assert_int_equal(n.entries, 20003);
	assert_int_equal(n.malformed, 0);
	assert_leaf(s, "u2");
	grove_session_close(s);
	grove__buf_release(&b);
}

static int note_problem(void *payload, const struct grove_problem *p)
{
	struct grove_buf *b = payload;

	return grove__buf_addf(b, "%llu:%s ", (unsigned long long)p->line, p->kind);
}

static void assert_problems(struct world *w, const char *path, const char *want)
{
	struct grove_check_result r = { .size = sizeof(r) };
	struct grove_buf b = GROVE_BUF_INIT;

	OK(w, grove_check(w->g, path, note_problem, &b, &r));
	assert_string_equal(b.ptr ? b.ptr : "", want);
	grove__buf_release(&b);
}

static void what_is_wrong_is_told_with_its_line(void **state)
{
	struct world *w = *state;
	struct grove_session *s;

	/* nothing is wrong with lines about the session, nor with a boundary */
	assert_problems(w, transcript(w, TWO_WAYS NOTE("custom-title", "customTitle", "T")
				      "{\"parentUuid\":null,\"logicalParentUuid\":\"a3\",\"type\":\"system\",\"subtype\":\"compact_boundary\","
				      "\"uuid\":\"b\"}\n"), "");
	/* a line of another writer within one of ours */
	s = opened(w, FIRST "{\"parentUuid\":\"a1\",\"type\":\"us" LINE("user", "u2", "\"a1\"", "3")
		   LINE("assistant", "a2", "\"u2\"", "4"));
	assert_int_equal(counts_of(w, s).malformed, 1);
	assert_int_equal(counts_of(w, s).first_malformed_line, 2);
	SAID(w, s, "u1 a1 a2");
	assert_problems(w, grove_session_path(s), "3:malformed 4:orphan ");
	grove_session_close(s);
	/* a parent that is in another file */
	s = opened(w, FIRST LINE("user", "u2", "\"far away\"", "3"));
	SAID(w, s, "u1 a1 u2");
	assert_problems(w, grove_session_path(s), "3:orphan ");
	grove_session_close(s);
	s = opened(w, FIRST LINE("user", "x", "\"y\"", "3") LINE("user", "y", "\"x\"", "4"));
	SAID(w, s, "u1 a1 x y");
	assert_problems(w, grove_session_path(s), "3:cycle ");
	grove_session_close(s);
	assert_problems(w, transcript(w, FIRST LINE("user", "u1", "null", "5") "{\"type"), "1:duplicate-id 4:torn ");
	assert_problems(w, transcript(w, "\xef\xbb\xbf" FIRST "\n[1]\n"), "1:byte-order-mark 4:not-an-entry ");
}

static void marks_line_ends_and_half_characters_hide_nothing(void **state)
{
	struct world *w = *state;
	struct grove_session *s = opened(w, "\xef\xbb\xbf" FIRST);

	SAID(w, s, "u1 a1");
	user(w, s, "on");
	RAW(line_of(grove_session_path(s), 2), "parentUuid", "\"a1\"");
	grove_session_close(s);
	{
		struct grove_buf b = GROVE_BUF_INIT;

		for (const char *p = ONE_WAY; *p; p++)
			grove__buf_addf(&b, "%s%c", *p == '\n' ? "\r" : "", *p);
		s = opened(w, b.ptr);
		SAID(w, s, "u1 a1 u2 a2");
		OK(w, grove_session_forget(s, "u2", NULL));
		SAID(w, s, "u1 a1 a2");
		grove_session_close(s);
		grove__buf_release(&b);
	}
	s = opened(w, RECORD("user", "u1", "null", "1", "\"\\ud800 x \\udc00\"") "\n"
		   RECORD("assistant", "a1", "\"u1\"", "2", "\"\xed\xa0\x80 \xff\"") "\n" LINE("user", "u2", "\"a1\"", "3"));
	SAID(w, s, "u1 a1 u2");
	say(w, s, "{\"role\":\"user\",\"content\":\"\\ud83d\"}");
	RAW(line_of(grove_session_path(s), 3), "message.content", "\"\\ud83d\"");
	assert_context(w, s, NULL, "u2");
	grove_session_close(s);
}

static void what_lies_beside_may_be_missing_or_unreadable(void **state)
{
	struct world *w = *state;
	struct grove_list_options o = { .size = sizeof(o), .flags = GROVE_LIST_ALL };
	struct grove_session *s;
	struct grove_list *l;
	char path[16384];

	transcript(w, ONE_WAY);
	/* a sub-agent that nothing is known about */
	beside(w, SID "/subagents/agent-a1.jsonl", LINE("user", "x", "null", "1") LINE("assistant", "y", "\"x\"", "2"));
	s = session_at(w, session_file(w, SID "/subagents/agent-a1.jsonl"), GROVE_OPEN_READ);
	SAID(w, s, "x y");
	grove_session_close(s);
	/* a directory where a file should be; one that is no JSON */
	for (int i = 0; i < 2; i++) {
		if (i) {
			snprintf(path, sizeof(path), "%s", session_file(w, SID "/custom-title.json"));
			assert_int_equal(rmdir(path), 0);
			beside(w, SID "/custom-title.json", "{\"customT");
		} else {
			assert_int_equal(grove__sys_mkdirs(session_file(w, SID "/custom-title.json"), 0700), 0);
		}
		OK(w, grove_list(w->g, &o, &l));
		assert_int_equal(grove_list_count(l), 1);
		assert_string_equal(grove_list_at(l, 0)->first_message, "u1");
		assert_null(grove_list_at(l, 0)->name);
		grove_list_free(l);
	}
}

/* ------------------------------------------------------------------- faults */

static long calls = -1;
static int call_error;

static int nth_call(const char *call)
{
	(void)call;
	return __atomic_fetch_sub(&calls, 1, __ATOMIC_RELAXED) == 0 ? call_error : 0;
}

/* What a session is asked to do; 0 or what went wrong. */
typedef int work_fn(struct grove_session *s);

static int work_append(struct grove_session *s)
{
	struct grove_append_options o = { .size = sizeof(o), .parent = "a2", .sync = GROVE_SYNC_ALWAYS };

	return grove_session_append(s, text("{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"1\"},"
					    "{\"type\":\"text\",\"text\":\"2\"}]}"), &o, NULL);
}

static int work_rename(struct grove_session *s)
{
	return grove_session_set_name(s, "N", GROVE_NAME_BY_USER, NULL);
}

static int work_leaf(struct grove_session *s)
{
	return grove_session_set_leaf(s, "a2", LEAF(GROVE_LEAF_PERSIST), NULL);
}

static int work_forget_last(struct grove_session *s)
{
	return grove_session_forget(s, "a3", NULL);
}

static int work_forget(struct grove_session *s)
{
	return grove_session_forget(s, "a1", NULL);
}

static int work_fork(struct grove_session *s)
{
	struct grove_fork_options o = { .size = sizeof(o), .sync = GROVE_SYNC_ALWAYS };
	struct grove_session *f;
	int rc = grove_session_fork(s, &o, &f);

	grove_session_close(f);
	return rc;
}

static int work_move(struct grove_session *s)
{
	return grove_session_move(s, "/elsewhere");
}

/* All bytes of all files below a directory but those of `.cache`: names and contents, one after the other. */
static struct grove_buf *gathered;

static int gather(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	struct grove_buf b;

	(void)st;
	(void)ftw;
	if (type != FTW_F)
		return 0;
	b = file_bytes(path);
	/* a fork has another name each time */
	grove__buf_addf(gathered, "[%zu]", b.len);
	if (strstr(path, SID))
		grove__buf_add_slice(gathered, grove__buf_slice(&b));
	grove__buf_release(&b);
	return 0;
}

static void every_line_is_whole(const char *path)
{
	struct grove_buf b = file_bytes(path);

	assert_true(b.len && b.ptr[b.len - 1] == '\n');
	grove__buf_release(&b);
}

static struct grove_buf state_of(struct world *w)
{
	struct grove_buf b = GROVE_BUF_INIT;
	char dir[8192];

	gathered = &b;
	snprintf(dir, sizeof(dir), "%s/.claude", w->home);
	nftw(dir, gather, 16, FTW_PHYS);
	return b;
}

static void whatever_call_fails_the_log_is_as_it_was_or_whole(void **state)
{
	static work_fn *const works[] = { work_append, work_rename, work_leaf, work_forget_last,
					  work_forget, work_fork, work_move };
	static const int errors[] = { EIO, ENOSPC, EACCES };
	struct world *w = *state;

	for (size_t i = 0; i < sizeof(works) / sizeof(*works) * 3; i++) {
		for (long n = 0;; n++) {
			struct grove_buf before, after;
			struct grove_session *s;
			struct grove_counts c = { .size = sizeof(c) };
			char dir[8192];
			bool reached;
			int rc;

			snprintf(dir, sizeof(dir), "%s/.claude", w->home);
			scratch_remove(dir);
			s = opened(w, TWO_WAYS);
			beside(w, SID "/tool-results/r.txt", "long");
			before = state_of(w);
			calls = n;
			call_error = errors[i % 3];
			grove__sys_fault = nth_call;
			rc = works[i / 3](s);
			grove__sys_fault = NULL;
			reached = calls < 0;
			grove_session_close(s);
			after = state_of(w);
			/* a write that fails leaves nothing behind, unless nobody can tell */
			if (rc && ((i / 3 < 4 && rc != GROVE_EIO) || works[i / 3] == work_fork) &&
			    (before.len != after.len || memcmp(before.ptr, after.ptr, before.len)))
				fail_msg("work %zu, call %ld (error %d): %s, but something was changed", i / 3, n,
					 errors[i % 3], grove_error_name(rc));
			grove__buf_release(&before);
			grove__buf_release(&after);
			/* the session is there, under its id, and can be read and written */
			s = session_at(w, SID, GROVE_OPEN_WRITE);
			c = counts_of(w, s);
			assert_int_equal(c.malformed + c.blank + (uint64_t)c.torn, 0);
			assert_true(c.entries >= 5);
			every_line_is_whole(grove_session_path(s));
			user(w, s, "on");
			assert_int_equal(counts_of(w, s).malformed, 0);
			grove_session_close(s);
			if (!rc && !reached)
				break;
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(the_last_line_is_cut_off),
		WORLD_TEST(what_hung_below_hangs_one_higher),
		WORLD_TEST(what_was_forgotten_is_gone_though_a_note_follows_it),
		WORLD_TEST(one_of_two_lines_with_one_id_does_not_come_back),
		WORLD_TEST(a_fork_has_all_branches_and_ids_of_its_own),
		WORLD_TEST(a_fork_without_a_title_is_called_by_its_first_words),
		WORLD_TEST(a_fork_with_the_same_ids_is_the_conversation_alone),
		WORLD_TEST(a_fork_for_another_directory_lies_in_its_place),
		WORLD_TEST(what_lies_beside_a_session_is_forked_with_it),
		WORLD_TEST(a_session_moves_with_all_that_belongs_to_it),
		WORLD_TEST(a_session_goes_with_all_that_belongs_to_it),
		WORLD_TEST(a_view_shows_the_conversation_as_it_was),
		WORLD_TEST(a_result_of_megabytes_is_still_that_of_its_call),
		WORLD_TEST(megabytes_of_progress_do_not_hide_a_message),
		WORLD_TEST(what_is_wrong_is_told_with_its_line),
		WORLD_TEST(marks_line_ends_and_half_characters_hide_nothing),
		WORLD_TEST(what_lies_beside_may_be_missing_or_unreadable),
		WORLD_TEST(whatever_call_fails_the_log_is_as_it_was_or_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
