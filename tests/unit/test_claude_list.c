/*
 * tests/unit/test_claude_list.c: what a list shows for a transcript.
 */
#include "claude_world.h"

struct listing {
	struct world w;
	struct grove__claude_summary sum;
};

static void begin(struct listing *l)
{
	world_init(&l->w);
	grove__claude_summary_init(&l->sum, 1);
}

static void end(struct listing *l)
{
	grove__claude_summary_release(&l->sum);
	world_release(&l->w);
}

static void add(struct listing *l, const char *line)
{
	struct grove__json_line j;
	struct grove__claude_row row;
	const char *at = world_scan(&l->w, grove__slice_str(quoted(&l->w, line)), &j, &row);

	assert_int_equal(grove__claude_summary_add(&l->sum, &j, at, &row, &l->w.tmp), 0);
}

static void prompt(struct listing *l, const char *content)
{
	char line[1024];

	snprintf(line, sizeof(line), "{'type':'user','message':{'role':'user','content':%s}}", content);
	add(l, line);
}

/* The first prompt of a session whose users said these two things. */
static void check_first(const char *one, const char *two, const char *expect)
{
	struct listing l;

	begin(&l);
	prompt(&l, one);
	if (two)
		prompt(&l, two);
	assert_true(grove__slice_is(grove__claude_summary_first(&l.sum), expect));
	end(&l);
}

static void the_first_prompt_is_what_a_person_typed(void **state)
{
	(void)state;
	check_first("'plain'", "'later'", "plain");
	check_first("' line one\\nline two '", NULL, "line one line two");
	check_first("'<ide_opened_file>x</ide_opened_file>'", "'real'", "real");
	check_first("'[Request interrupted by user]'", "'real'", "real");
	check_first("'<Tag>x'", NULL, "<Tag>x");
	check_first("'< a>x'", NULL, "< a>x");
	check_first("''", "'real'", "real");
	check_first("[{'type':'text','text':'<x>y</x>'},{'type':'text','text':'second'}]", NULL, "second");
	check_first("[{'type':'tool_result','tool_use_id':'t'},{'type':'text','text':'no'}]", "'real'", "real");
}

static void commands_stand_in_for_a_prompt(void **state)
{
	(void)state;
	check_first("'<command-name>/model</command-name>'", "'real'", "real");
	check_first("'<command-name>/model</command-name>'", "'<command-name>/two</command-name>'", "/model");
	check_first("'<bash-input>ls -la</bash-input>'", "'later'", "! ls -la");
}

static void a_long_prompt_is_cut_between_characters(void **state)
{
	struct grove_buf text = GROVE_BUF_INIT, expect = GROVE_BUF_INIT;

	(void)state;
	grove__buf_add_char(&text, '\'');
	for (int i = 0; i < 199; i++) {
		grove__buf_add_char(&text, 'a');
		grove__buf_add_char(&expect, 'a');
	}
	grove__buf_add_str(&text, "😀 tail'");
	grove__buf_add_str(&expect, "…");
	check_first(text.ptr, NULL, expect.ptr);
	grove__buf_release(&text);
	grove__buf_release(&expect);
}

static void notes_and_summaries_are_no_prompts(void **state)
{
	struct listing l;

	(void)state;
	begin(&l);
	add(&l, "{'type':'user','isMeta':true,'message':{'content':'meta'}}");
	add(&l, "{'type':'user','isCompactSummary':true,'message':{'content':'sum'}}");
	prompt(&l, "'real'");
	assert_true(grove__slice_is(grove__claude_summary_first(&l.sum), "real"));
	end(&l);
}

static void messages_count_once_on_all_branches(void **state)
{
	struct listing l;

	(void)state;
	begin(&l);
	add(&l, "{'type':'user','uuid':'1','message':{'content':'a'}}");
	add(&l, "{'type':'assistant','uuid':'2','message':{'id':'m','content':[]}}");
	add(&l, "{'type':'assistant','uuid':'3','message':{'id':'m','content':[]}}");
	add(&l, "{'type':'user','uuid':'4','parentUuid':'1','message':{'content':'other branch'}}");
	add(&l, "{'type':'user','uuid':'4','parentUuid':'1','message':{'content':'again'}}");
	add(&l, "{'type':'user','uuid':'5','isSidechain':true,'message':{'content':'side'}}");
	add(&l, "{'type':'system','uuid':'6'}");
	add(&l, "{'type':'assistant','uuid':'7','message':{'content':[]}}");
	for (int i = 0; i < 500; i++) {
		char line[128];

		snprintf(line, sizeof(line), "{'type':'user','uuid':'n%d','message':{'content':'x'}}", i);
		add(&l, line);
	}
	assert_int_equal(l.sum.messages, 504);
	end(&l);
}

static void the_last_title_counts_and_a_custom_one_before_it(void **state)
{
	struct listing l;

	(void)state;
	begin(&l);
	assert_int_equal(grove__claude_summary_name(&l.sum).len, 0);
	add(&l, "{'type':'ai-title','aiTitle':'one'}");
	add(&l, "{'type':'ai-title','aiTitle':'two'}");
	add(&l, "{'type':'user','uuid':'1','toolUseResult':{'customTitle':'no title'},'message':{}}");
	assert_true(grove__slice_is(grove__claude_summary_name(&l.sum), "two"));
	add(&l, "{'type':'custom-title','customTitle':'mine'}");
	add(&l, "{'type':'ai-title','aiTitle':'three'}");
	assert_true(grove__slice_is(grove__claude_summary_name(&l.sum), "mine"));
	add(&l, "{'type':'custom-title','customTitle':''}");
	assert_true(grove__slice_is(grove__claude_summary_name(&l.sum), "three"));
	end(&l);
}

static void times_and_places_are_found(void **state)
{
	struct listing l;

	(void)state;
	begin(&l);
	add(&l, "{'type':'queue-operation','timestamp':'1970-01-01T00:00:01.000Z'}");
	add(&l, "{'type':'user','uuid':'1','timestamp':'1970-01-01T00:00:03.000Z','cwd':'/a','message':{}}");
	add(&l, "{'type':'user','uuid':'2','timestamp':'1970-01-01T00:00:02.000Z','cwd':'/b','message':{}}");
	assert_int_equal(l.sum.created, 1000);
	assert_int_equal(l.sum.newest, 3000);
	assert_false(l.sum.side);
	assert_true(grove__slice_is(grove__claude_summary_cwd(&l.sum), "/a"));
	add(&l, "{'type':'relocated','relocatedCwd':'/c'}");
	assert_true(grove__slice_is(grove__claude_summary_cwd(&l.sum), "/c"));
	add(&l, "{'type':'continued-in','continuedInSessionId':'next'}");
	assert_true(grove__slice_is(grove__buf_slice(&l.sum.continued_in), "next"));
	add(&l, "{'type':'user','uuid':'3','message':{}}");
	assert_int_equal(l.sum.continued_in.len, 0);
	end(&l);
	begin(&l);
	add(&l, "{'type':'user','isSidechain':true,'uuid':'1','message':{}}");
	assert_true(l.sum.side);
	end(&l);
}

static void a_title_file_is_read(void **state)
{
	struct grove_buf b = GROVE_BUF_INIT;

	(void)state;
	assert_int_equal(grove__claude_title_file(grove__slice_str("{\"customTitle\":\"x\"}"), &b), 0);
	assert_string_equal(b.ptr, "x");
	assert_int_equal(grove__claude_title_file(grove__slice_str("{\"customTitle\":\"\"}"), &b), 1);
	assert_int_equal(grove__claude_title_file(grove__slice_str("[]"), &b), 1);
	grove__buf_release(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_prompt_is_what_a_person_typed),
		cmocka_unit_test(commands_stand_in_for_a_prompt),
		cmocka_unit_test(a_long_prompt_is_cut_between_characters),
		cmocka_unit_test(notes_and_summaries_are_no_prompts),
		cmocka_unit_test(messages_count_once_on_all_branches),
		cmocka_unit_test(the_last_title_counts_and_a_custom_one_before_it),
		cmocka_unit_test(times_and_places_are_found),
		cmocka_unit_test(a_title_file_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
