/*
 * tests/unit/test_claude_session.c: what grove writes into a transcript.
 *
 * How transcripts are interpreted is tested in test_claude_chain.c and the
 * files beside it, and what happens to whole files in test_claude_files.c.
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

/* ---------------------------------------------------------------- the file */

static void no_file_appears_before_the_first_message(void **state)
{
	struct world *w = *state;
	struct grove_session *s = begin(w);
	const char *path = grove_session_path(s);
	struct stat st;
	char dir[8192];

	assert_string_equal(path, session_file(w, SID ".jsonl"));
	assert_null(say(w, s, "{\"type\":\"mode\",\"mode\":\"normal\"}"));
	assert_non_null(say(w, s, "{\"type\":\"attachment\",\"attachment\":{\"type\":\"date\"}}"));
	assert_int_equal(grove_session_pending(s), 2);
	snprintf(dir, sizeof(dir), "%s/.claude", w->home);
	assert_false(is_there(dir));

	user(w, s, "hello");
	assert_int_equal(grove_session_pending(s), 0);
	assert_int_equal(lines_in(path), 3);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	for (int i = 0; i < 3; i++) {
		static const char *const dirs[] = { "", "/projects" };

		snprintf(dir, sizeof(dir), "%s/.claude%s", w->home, i < 2 ? dirs[i] : "");
		assert_int_equal(stat(i < 2 ? dir : project_of(w, w->cwd), &st), 0);
		assert_int_equal(st.st_mode & 07777, 0700);
	}
	grove_session_close(s);
}

static void a_session_that_said_nothing_leaves_nothing(void **state)
{
	struct world *w = *state;
	struct grove_session *s = begin(w);
	char dir[8192];

	say(w, s, "{\"type\":\"custom-title\",\"customTitle\":\"T\"}");
	grove_session_close(s);
	snprintf(dir, sizeof(dir), "%s/.claude", w->home);
	assert_false(is_there(dir));
}

static void a_path_in_the_programs_place_is_a_session_of_its(void **state)
{
	struct world *w = *state;
	struct grove_create_options o = { .size = sizeof(o), .path = session_file(w, SID ".jsonl") };
	struct grove_session *s;

	OK(w, grove_session_create(w->g, &o, &s));
	assert_string_equal(grove_session_dialect(s), "claude");
	assert_string_equal(grove_session_id(s), SID);
	user(w, s, "hello");
	assert_int_equal(lines_in(grove_session_path(s)), 1);
	RAW(line_of(grove_session_path(s), 0), "sessionId", q(SID));
	grove_session_close(s);
}

/* ------------------------------------------------------------ the envelope */

static void a_record_is_stamped_as_the_program_stamps_it(void **state)
{
	struct world *w = *state;
	struct grove_session *s = begin(w);
	const char *id = user(w, s, "hello");
	struct grove_slice l = line_of(grove_session_path(s), 0);
	struct grove_buf want = GROVE_BUF_INIT;
	struct grove_slice time = grove__json_get(l, "timestamp");

	grove__buf_addf(&want,
			"{\"parentUuid\":null,\"isSidechain\":false,\"type\":\"user\",\"message\":"
			"{\"role\":\"user\",\"content\":\"hello\"},\"uuid\":\"%s\",\"timestamp\":%.*s,"
			"\"userType\":\"external\",\"entrypoint\":\"grove\",\"cwd\":\"%s\",\"sessionId\":\"" SID
			"\",\"version\":\"%s\",\"gitBranch\":\"HEAD\"}",
			id, (int)time.len, time.ptr, w->cwd, grove_version());
	assert_int_equal(strlen(id), 36);
	assert_int_equal(l.len, want.len);
	assert_memory_equal(l.ptr, want.ptr, want.len);
	grove__buf_release(&want);
	grove_session_close(s);
}

static void the_newest_version_in_the_file_is_said_again(void **state)
{
	struct world *w = *state;
	struct grove_session *s = opened(w, FIRST "{\"parentUuid\":\"a1\",\"type\":\"user\",\"message\":{\"role\":\"user\","
						  "\"content\":\"x\"},\"uuid\":\"u9\",\"version\":\"2.1.325\"}\n"
						  NOTE("tag", "version", "9.9"));

	user(w, s, "more");
	RAW(line_of(grove_session_path(s), -1), "version", "\"2.1.325\"");
	grove_session_close(s);
}

static void put_text_file(struct world *w, const char *name, const char *bytes)
{
	char *path = strdup(in_world(w, name)), *slash;

	slash = strrchr(path, '/');
	*slash = '\0';
	assert_int_equal(grove__sys_mkdirs(path, 0700), 0);
	*slash = '/';
	file_make(path, bytes);
	free(path);
}

static void assert_branch(struct world *w, const char *cwd, const char *want)
{
	struct grove_create_options o = { .size = sizeof(o), .dialect = "claude", .cwd = cwd };
	struct grove_session *s;

	OK(w, grove_session_create(w->g, &o, &s));
	user(w, s, "x");
	RAW(line_of(grove_session_path(s), 0), "gitBranch", want);
	grove_session_close(s);
}

static void the_branch_is_that_of_the_working_directory(void **state)
{
	struct world *w = *state;

	put_text_file(w, "repo/.git/HEAD", "ref: refs/heads/feature/x\n");
	put_text_file(w, "repo/deep/down/here", "");
	assert_branch(w, in_world(w, "repo"), "\"feature/x\"");
	assert_branch(w, in_world(w, "repo/deep/down"), "\"feature/x\"");
	/* detached: a commit, and no name */
	put_text_file(w, "repo/.git/HEAD", "0123456789012345678901234567890123456789\n");
	assert_branch(w, in_world(w, "repo"), "\"HEAD\"");
	/* a work tree, its directory told by a whole path and by one from here */
	put_text_file(w, "repo/.git/worktrees/t/HEAD", "ref: refs/heads/tree\r\n");
	put_text_file(w, "tree/.git", "gitdir: ../repo/.git/worktrees/t\n");
	assert_branch(w, in_world(w, "tree"), "\"tree\"");
	{
		char link[9000];

		snprintf(link, sizeof(link), "gitdir: %s\n", in_world(w, "repo/.git/worktrees/t"));
		put_text_file(w, "tree/.git", link);
	}
	assert_branch(w, in_world(w, "tree"), "\"tree\"");
	/* and where there is no repository */
	assert_branch(w, w->cwd, "\"HEAD\"");
	put_text_file(w, "odd/.git", "no such words");
	assert_branch(w, in_world(w, "odd"), "\"HEAD\"");
}

static void what_the_input_says_itself_stays(void **state)
{
	struct world *w = *state;
	struct grove_session *s = begin(w);
	struct grove_slice l;

	say(w, s, "{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"x\"},\"uuid\":\"mine\","
		  "\"timestamp\":\"2020-01-01T00:00:00.000Z\",\"entrypoint\":\"cli\",\"version\":\"3\",\"cwd\":\"/else\","
		  "\"gitBranch\":\"b\",\"slug\":\"a-b-c\",\"promptId\":\"p\",\"unknown\":{\"deep\":[1]}}");
	l = line_of(grove_session_path(s), 0);
	RAW(l, "uuid", "\"mine\"");
	RAW(l, "timestamp", "\"2020-01-01T00:00:00.000Z\"");
	RAW(l, "entrypoint", "\"cli\"");
	RAW(l, "version", "\"3\"");
	RAW(l, "cwd", "\"/else\"");
	RAW(l, "gitBranch", "\"b\"");
	RAW(l, "slug", "\"a-b-c\"");
	RAW(l, "promptId", "\"p\"");
	RAW(l, "unknown", "{\"deep\":[1]}");
	RAW(l, "sessionId", q(SID));
	grove_session_close(s);
}

/* ------------------------------------------------------------------- append */

static void a_reply_of_several_blocks_becomes_a_record_for_each(void **state)
{
	struct world *w = *state;
	struct grove_session *s = begin(w);
	const char *path = grove_session_path(s), *prompt = user(w, s, "x"), *last;
	struct grove_slice one, two, three, id;

	last = say(w, s, "{\"role\":\"assistant\",\"model\":\"m\",\"content\":[{\"type\":\"thinking\",\"thinking\":\"t\"},"
			 "{\"type\":\"text\",\"text\":\"y\"},{\"type\":\"tool_use\",\"id\":\"t1\",\"name\":\"n\",\"input\":{}}],"
			 "\"usage\":{\"input_tokens\":1}}");
	assert_int_equal(lines_in(path), 4);
	one = line_of(path, 1);
	two = line_of(path, 2);
	three = line_of(path, 3);
	RAW(one, "parentUuid", q(prompt));
	RAW(one, "message.content", "[{\"type\":\"thinking\",\"thinking\":\"t\"}]");
	RAW(two, "message.content", "[{\"type\":\"text\",\"text\":\"y\"}]");
	RAW(three, "uuid", q(last));
	RAW(three, "message.usage", "{\"input_tokens\":1}");
	id = grove__json_get(grove__json_get(one, "message"), "id");
	assert_true(id.len > 4);
	assert_memory_equal(grove__json_get(grove__json_get(three, "message"), "id").ptr, id.ptr, id.len);
	assert_memory_equal(grove__json_get(two, "parentUuid").ptr, grove__json_get(one, "uuid").ptr, 38);
	assert_memory_equal(grove__json_get(three, "parentUuid").ptr, grove__json_get(two, "uuid").ptr, 38);
	assert_leaf(s, last);
	grove_session_close(s);
}

static void a_line_about_the_session_has_no_id_and_no_parent(void **state)
{
	struct world *w = *state;
	struct grove_session *s = opened(w, FIRST);
	struct grove_view *v;
	struct grove_entry e = { .size = sizeof(e) };

	assert_null(say(w, s, "{\"customTitle\":\"T\",\"type\":\"custom-title\"}"));
	assert_null(say(w, s, "{\"type\":\"a type of next year\",\"x\":1}"));
	assert_int_equal(line_of(grove_session_path(s), 2).len, strlen(NOTE("custom-title", "customTitle", "T")) - 1);
	RAW(line_of(grove_session_path(s), 3), "uuid", NULL);
	RAW(line_of(grove_session_path(s), 3), "x", "1");
	v = view_of(w, s);
	assert_int_equal(grove_view_entry(v, 2, &e), 0);
	assert_int_equal(e.kind, GROVE_KIND_META);
	assert_null(e.id);
	assert_string_equal(grove_view_name(v), "T");
	grove_view_unref(v);
	assert_leaf(s, "a1");
	grove_session_close(s);
}

static void an_append_below_another_record_is_where_the_rules_end(void **state)
{
	struct world *w = *state;
	struct grove_session *s = opened(w, ONE_WAY);
	const char *path = grove_session_path(s), *id = append_below(w, s, "a1", USER("new way"));

	/* the last record of the file is the leaf: nothing more has to be said */
	assert_int_equal(lines_in(path), 5);
	RAW(line_of(path, 4), "parentUuid", "\"a1\"");
	assert_leaf(s, id);
	id = append_below(w, s, GROVE_ROOT, USER("from the start"));
	RAW(line_of(path, 5), "parentUuid", "null");
	assert_int_equal(lines_in(path), 6);
	SAID(w, s, id);
	grove_session_close(s);
}

static void a_leaf_that_was_written_down_elsewhere_is_written_anew(void **state)
{
	struct world *w = *state;
	struct grove_session *s = opened(w, TWO_WAYS NOTE("last-prompt", "leafUuid", "a2"));
	const char *path = grove_session_path(s), *id;
	char want[200];

	assert_leaf(s, "a2");
	/* below the leaf: the rule goes along */
	id = user(w, s, "on");
	assert_int_equal(lines_in(path), 8);
	assert_leaf(s, id);
	id = append_below(w, s, "a3", USER("over there"));
	assert_int_equal(lines_in(path), 10);
	RAW(line_of(path, 9), "type", "\"last-prompt\"");
	RAW(line_of(path, 9), "leafUuid", q(id));
	snprintf(want, sizeof(want), "u1 a1 u3 a3 %s", id);
	SAID(w, s, want);
	/* and from there on nothing more has to be said */
	user(w, s, "further");
	assert_int_equal(lines_in(path), 11);
	grove_session_close(s);
}

static void below_what_is_not_there_nothing_is_written(void **state)
{
	struct world *w = *state;
	struct grove_session *s = opened(w, FIRST);
	struct grove_append_options o = { .size = sizeof(o), .parent = "nobody" };

	assert_int_equal(grove_session_append(s, text(USER("x")), &o, NULL), GROVE_ENOTFOUND);
	assert_int_equal(grove_session_append(s, text("{\"type\":\"progress\",\"uuid\":\"p\"}"), NULL, NULL), GROVE_EINVAL);
	assert_int_equal(grove_session_append(s, text("{\"type\":\"user\"}"), NULL, NULL), GROVE_EINVAL);
	assert_int_equal(grove_session_append(s, text("{\"role\":\"system\",\"content\":\"x\"}"), NULL, NULL), GROVE_EINVAL);
	assert_int_equal(grove_session_append(s, text("{"), NULL, NULL), GROVE_EJSON);
	assert_int_equal(grove_session_append_label(s, "a1", "l", NULL, NULL), GROVE_ENOTSUP);
	assert_file(grove_session_path(s), FIRST);
	grove_session_close(s);
}

static void the_same_record_twice_is_stored_once(void **state)
{
	struct world *w = *state;
	struct grove_session *s = opened(w, FIRST);
	const char *once = "{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"x\"},\"uuid\":\"mine\"}";
	const char *other = "{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"y\"},\"uuid\":\"mine\"}";

	say(w, s, once);
	assert_string_equal(say(w, s, once), "mine");
	assert_int_equal(lines_in(grove_session_path(s)), 3);
	assert_int_equal(grove_session_append(s, text(other), NULL, NULL), GROVE_ECONFLICT);
	grove_session_close(s);
}

static void a_reply_that_became_several_records_is_stored_once(void **state)
{
	struct world *w = *state;
	struct grove_session *s = opened(w, FIRST);
	const char *reply = "{\"type\":\"assistant\",\"message\":{\"role\":\"assistant\",\"id\":\"m\",\"content\":[{\"type\":\"text\","
			    "\"text\":\"1\"},{\"type\":\"text\",\"text\":\"2\"}]},\"uuid\":\"reply\"}";

	assert_string_equal(say(w, s, reply), "reply");
	assert_int_equal(lines_in(grove_session_path(s)), 4);
	assert_string_equal(say(w, s, reply), "reply");
	assert_int_equal(lines_in(grove_session_path(s)), 4);
	assert_leaf(s, "reply");
	grove_session_close(s);
}

static void a_result_hangs_below_its_call_and_a_boundary_below_nothing(void **state)
{
	struct world *w = *state;
	struct grove_session *s = opened(w, ONE_WAY);
	const char *path = grove_session_path(s), *b;

	say(w, s, "{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"t\"}]},"
		  "\"sourceToolAssistantUUID\":\"a1\"}");
	RAW(line_of(path, 4), "parentUuid", "\"a1\"");
	b = say(w, s, "{\"type\":\"system\",\"subtype\":\"compact_boundary\",\"content\":\"Conversation compacted\"}");
	assert_non_null(b);
	RAW(line_of(path, -1), "parentUuid", "null");
	assert_true(grove__json_get(line_of(path, -1), "logicalParentUuid").len > 2);
	grove_session_close(s);
}

static void what_is_appended_is_the_leaf_whatever_it_is(void **state)
{
	struct world *w = *state;
	struct grove_session *s = opened(w, TWO_WAYS);
	const char *path = grove_session_path(s), *sum;

	say(w, s, "{\"type\":\"system\",\"subtype\":\"compact_boundary\",\"uuid\":\"b\"}");
	RAW(line_of(path, 6), "logicalParentUuid", "\"a3\"");
	/* a summary belongs below its boundary, also when it comes with the next call */
	assert_leaf(s, "b");
	sum = say(w, s, "{\"type\":\"user\",\"isCompactSummary\":true,\"message\":{\"role\":\"user\",\"content\":\"s\"}}");
	RAW(line_of(path, -1), "parentUuid", "\"b\"");
	SAID(w, s, sum);
	grove_session_close(s);
}

static void a_note_of_the_program_behind_a_prompt_is_the_leaf(void **state)
{
	static const char note[] = "{\"type\":\"system\",\"subtype\":\"informational\",\"content\":\"x\",\"uuid\":\"n\"}";
	struct world *w = *state;
	struct grove_session *s = opened(w, FIRST);

	/* by the rules it does not count there, so a line has to say it: in one handle … */
	user(w, s, "unanswered");
	say(w, s, note);
	assert_leaf(s, "n");
	RAW(line_of(grove_session_path(s), -1), "leafUuid", "\"n\"");
	grove_session_close(s);
	/* … and in a new one */
	s = opened(w, FIRST LINE("user", "u2", "\"a1\"", "3"));
	say(w, s, note);
	assert_leaf(s, "n");
	RAW(line_of(grove_session_path(s), -1), "leafUuid", "\"n\"");
	grove_session_close(s);
}

static void two_handles_write_one_conversation(void **state)
{
	struct world *w = *state;
	struct grove_session *s = opened(w, FIRST), *t;
	struct grove *g = world_grove(w);
	const char *path = grove_session_path(s), *a, *b, *c;
	char want[200];

	assert_int_equal(grove_session_open(g, path, GROVE_OPEN_WRITE, &t), 0);
	a = user(w, s, "one");
	assert_int_equal(grove_session_append(t, text(USER("two")), NULL, INTO(&b)), 0);
	c = user(w, s, "three");
	RAW(line_of(path, 3), "parentUuid", q(a));
	RAW(line_of(path, 4), "parentUuid", q(b));
	snprintf(want, sizeof(want), "u1 a1 %s %s %s", a, b, c);
	SAID(w, s, want);
	grove_session_close(t);
	grove_close(g);
	/* and with one who knows nothing of us */
	file_add(path, LINE("user", "theirs", "\"a1\"", "9"));
	a = user(w, s, "four");
	RAW(line_of(path, -1), "parentUuid", "\"theirs\"");
	snprintf(want, sizeof(want), "u1 a1 theirs %s", a);
	SAID(w, s, want);
	grove_session_close(s);
}

static void an_unfinished_last_line_is_ended_before_the_next(void **state)
{
	struct world *w = *state;
	struct grove_session *s = opened(w, FIRST "{\"parentUuid\":\"a1\",\"type\":\"us");
	const char *path = grove_session_path(s);
	struct grove_counts n = { .size = sizeof(n) };

	user(w, s, "on");
	assert_int_equal(lines_in(path), 4);
	assert_int_equal(line_of(path, 2).len, strlen("{\"parentUuid\":\"a1\",\"type\":\"us"));
	RAW(line_of(path, 3), "parentUuid", "\"a1\"");
	n = counts_of(w, s);
	assert_int_equal(n.malformed, 1);
	assert_int_equal(n.first_malformed_line, 2);
	grove_session_close(s);
}

/* --------------------------------------------------------------------- name */

static void a_new_name_is_a_line_at_the_end(void **state)
{
	struct world *w = *state;
	struct grove_session *s = opened(w, TWO_WAYS);
	const char *id = "x";

	OK(w, grove_session_set_name(s, " \t Caf\xc3\xa9 \"q\" \n", GROVE_NAME_BY_USER, INTO(&id)));
	assert_null(id);
	assert_file(grove_session_path(s), TWO_WAYS "{\"type\":\"custom-title\",\"customTitle\":\"Caf\xc3\xa9 \\\"q\\\"\","
						    "\"sessionId\":\"" SID "\"}\n");
	assert_int_equal(grove_session_set_name(s, "  \n ", GROVE_NAME_BY_USER, INTO(&id)), GROVE_EINVAL);
	assert_leaf(s, "a3");
	grove_session_close(s);
}

/* --------------------------------------------------------------------- leaf */

static void a_leaf_can_be_kept_for_every_reader(void **state)
{
	struct world *w = *state;
	struct grove_session *s = opened(w, TWO_WAYS);
	const char *path = grove_session_path(s), *id;
	char want[100];

	OK(w, grove_session_set_leaf(s, "a3", LEAF(GROVE_LEAF_PERSIST), NULL));
	assert_int_equal(lines_in(path), 6);      /* it is there already */
	OK(w, grove_session_set_leaf(s, "a1", LEAF(GROVE_LEAF_PERSIST), NULL));
	assert_int_equal(lines_in(path), 7);
	assert_memory_equal(line_of(path, 6).ptr,
			    "{\"type\":\"last-prompt\",\"leafUuid\":\"a1\",\"explicit\":true,\"sessionId\":\"" SID "\"}",
			    line_of(path, 6).len);
	SAID(w, s, "u1 a1");
	id = user(w, s, "third way");
	RAW(line_of(path, 7), "parentUuid", "\"a1\"");
	snprintf(want, sizeof(want), "u1 a1 %s", id);
	SAID(w, s, want);
	grove_session_close(s);
}

static void before_the_first_record_there_is_a_leaf_too(void **state)
{
	struct world *w = *state;
	struct grove_session *s = opened(w, TWO_WAYS);
	const char *path = grove_session_path(s), *id;

	OK(w, grove_session_set_leaf(s, GROVE_ROOT, LEAF(GROVE_LEAF_PERSIST), NULL));
	RAW(line_of(path, 6), "leafUuid", "null");
	RAW(line_of(path, 6), "explicit", "true");
	assert_leaf(s, NULL);
	SAID(w, s, "");
	id = user(w, s, "anew");
	RAW(line_of(path, 7), "parentUuid", "null");
	SAID(w, s, id);
	grove_session_close(s);
}

static void a_leaf_that_is_not_kept_lives_in_its_handle(void **state)
{
	struct world *w = *state;
	struct grove_session *s = opened(w, TWO_WAYS), *t;
	const char *id;
	char want[100];

	OK(w, grove_session_set_leaf(s, "a2", NULL, NULL));
	assert_leaf(s, "a2");
	t = session_at(w, grove_session_path(s), GROVE_OPEN_READ);
	assert_leaf(t, "a3");
	grove_session_close(t);
	assert_file(grove_session_path(s), TWO_WAYS);
	id = user(w, s, "on");
	snprintf(want, sizeof(want), "u1 a1 u2 a2 %s", id);
	SAID(w, s, want);
	grove_session_close(s);
}

static void here_is_only_what_belongs_to_the_conversation(void **state)
{
	struct world *w = *state;
	struct grove_session *s = opened(w, TWO_WAYS);

	assert_int_equal(grove_session_set_leaf(s, "u2", LEAF(GROVE_LEAF_IN_CONVERSATION), NULL), GROVE_ENOTFOUND);
	assert_story(s, GROVE_ENOTFOUND, "not part of the conversation");
	assert_leaf(s, "a3");
	OK(w, grove_session_set_leaf(s, "a1", LEAF(GROVE_LEAF_IN_CONVERSATION | GROVE_LEAF_PERSIST), NULL));
	SAID(w, s, "u1 a1");
	assert_int_equal(grove_session_set_leaf(s, "u3", LEAF(GROVE_LEAF_IN_CONVERSATION), NULL), GROVE_ENOTFOUND);
	assert_int_equal(grove_session_set_leaf(s, "nobody", NULL, NULL), GROVE_ENOTFOUND);
	grove_session_close(s);
}

static void continuing_from_a_prompt_hands_it_back(void **state)
{
	struct world *w = *state;
	struct grove_session *s = opened(w, TWO_WAYS);
	struct grove_buf content = GROVE_BUF_INIT;
	enum grove_outcome how;

	OK(w, continue_from(s, "u2", GROVE_LEAF_PERSIST, &how, &content));
	assert_int_equal(how, GROVE_OUTCOME_REPLAY);
	assert_string_equal(content.ptr, "\"u2\"");
	SAID(w, s, "u1 a1");
	OK(w, continue_from(s, "a2", GROVE_LEAF_PERSIST, &how, &content));
	assert_int_equal(how, GROVE_OUTCOME_SWITCH);
	SAID(w, s, "u1 a1 u2 a2");
	grove__buf_release(&content);
	grove_session_close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(no_file_appears_before_the_first_message),
		WORLD_TEST(a_session_that_said_nothing_leaves_nothing),
		WORLD_TEST(a_path_in_the_programs_place_is_a_session_of_its),
		WORLD_TEST(a_record_is_stamped_as_the_program_stamps_it),
		WORLD_TEST(the_newest_version_in_the_file_is_said_again),
		WORLD_TEST(the_branch_is_that_of_the_working_directory),
		WORLD_TEST(what_the_input_says_itself_stays),
		WORLD_TEST(a_reply_of_several_blocks_becomes_a_record_for_each),
		WORLD_TEST(a_line_about_the_session_has_no_id_and_no_parent),
		WORLD_TEST(an_append_below_another_record_is_where_the_rules_end),
		WORLD_TEST(a_leaf_that_was_written_down_elsewhere_is_written_anew),
		WORLD_TEST(below_what_is_not_there_nothing_is_written),
		WORLD_TEST(the_same_record_twice_is_stored_once),
		WORLD_TEST(a_reply_that_became_several_records_is_stored_once),
		WORLD_TEST(a_result_hangs_below_its_call_and_a_boundary_below_nothing),
		WORLD_TEST(what_is_appended_is_the_leaf_whatever_it_is),
		WORLD_TEST(a_note_of_the_program_behind_a_prompt_is_the_leaf),
		WORLD_TEST(two_handles_write_one_conversation),
		WORLD_TEST(an_unfinished_last_line_is_ended_before_the_next),
		WORLD_TEST(a_new_name_is_a_line_at_the_end),
		WORLD_TEST(a_leaf_can_be_kept_for_every_reader),
		WORLD_TEST(before_the_first_record_there_is_a_leaf_too),
		WORLD_TEST(a_leaf_that_is_not_kept_lives_in_its_handle),
		WORLD_TEST(here_is_only_what_belongs_to_the_conversation),
		WORLD_TEST(continuing_from_a_prompt_hands_it_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
