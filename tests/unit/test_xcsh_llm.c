/*
 * tests/unit/test_xcsh_llm.c: the context of an xcsh session in the form in
 * which a model receives it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "dialect/xcsh.h"
#include "dialect/xcsh_llm.h"
#include "json/value.h"

#include "../lib/chance.h"

#define NOW 1700000000000
#define MAX 64

/* What came out: one line each, `from:json`, made up ones `-:json`. */
struct told {
	struct grove_buf lines;
	size_t nr, stop_at;
	const struct grove_slice *in;
	size_t nr_own; /* handed on in their own bytes */
};

static int listen(void *payload, size_t from, struct grove_slice json)
{
	struct told *t = payload;
	int rc;

	if (t->stop_at && t->nr + 1 == t->stop_at)
		return GROVE_ECANCELLED;
	t->nr++;
	if (from == SIZE_MAX)
		rc = grove__buf_add_str(&t->lines, "-:");
	else
		rc = grove__buf_addf(&t->lines, "%zu:", from);
	if (from != SIZE_MAX && json.ptr == t->in[from].ptr)
		t->nr_own++;
	assert_int_equal(rc, 0);
	assert_int_equal(grove__buf_add_slice(&t->lines, json), 0);
	assert_int_equal(grove__buf_add_char(&t->lines, '\n'), 0);
	return 0;
}

/* JSON in C is easier to read with the other quotes. */
static char *quoted(const char *text)
{
	char *s = strdup(text);

	assert_non_null(s);
	for (char *p = s; *p; p++)
		if (*p == '\'')
			*p = '"';
	return s;
}

static size_t own_bytes;

static void check_told(const char *expect, const char *const *messages, size_t nr)
{
	struct grove_slice in[MAX];
	char *copies[MAX], *want = quoted(expect);
	struct told t = { .in = in };
	size_t i;

	assert_true(nr <= MAX);
	for (i = 0; i < nr; i++) {
		copies[i] = quoted(messages[i]);
		in[i] = grove__slice_str(copies[i]);
	}
	assert_int_equal(grove__xcsh_llm(in, NULL, nr, NOW, listen, &t), 0);
	assert_string_equal(t.lines.ptr ? t.lines.ptr : "", want);
	own_bytes = t.nr_own;
	grove__buf_release(&t.lines);
	for (i = 0; i < nr; i++)
		free(copies[i]);
	free(want);
}

#define assert_told(expect, ...) do { \
	const char *const messages_[] = { __VA_ARGS__ }; \
	check_told(expect, messages_, sizeof messages_ / sizeof *messages_); \
} while (0)

/* The text of the one message that the message `m` becomes. */
static void check_text(const char *expect, const char *m)
{
	static const char prefix[] = "0:{'role':'user','content':[{'type':'text','text':'";
	struct grove_buf b = GROVE_BUF_INIT;

	assert_int_equal(grove__buf_addf(&b, "%s%s'}],'attribution':'user'}\n", prefix, expect), 0);
	assert_told(b.ptr, m);
	grove__buf_release(&b);
}

#define RESULT(id, text) "{'role':'toolResult','toolCallId':'" id "','toolName':'t'," \
	"'content':[{'type':'text','text':'" text "'}],'isError':false,'attribution':'agent'}"
#define CALL(id) "{'type':'toolCall','id':'" id "','name':'t','arguments':{}}"
#define ASSISTANT(calls) "{'role':'assistant','content':[" calls "]}"
#define USER(text) "{'role':'user','content':'" text "','attribution':'user'}"
#define MADE(id) "-:{'role':'toolResult','toolCallId':'" id "','toolName':'t'," \
	"'content':[{'type':'text','text':'Tool execution was interrupted (session recovery).'}]," \
	"'isError':true,'timestamp':1700000000000}\n"

/* --- roles --- */

static void messages_that_say_who_spoke_are_handed_on_in_their_own_bytes(void **state)
{
	(void)state;
	assert_told("0:{ 'role' : 'user', 'content':'q', 'attribution':'agent', 'x':1.0}\n"
		    "1:{'role':'assistant','content':[],'usage':{}}\n"
		    "2:{'role':'developer','content':'d','attribution':'user'}\n"
		    "3:{'role':'toolResult','toolCallId':'z','content':[],'attribution':'user'}\n",
		    "{ 'role' : 'user', 'content':'q', 'attribution':'agent', 'x':1.0}",
		    "{'role':'assistant','content':[],'usage':{}}",
		    "{'role':'developer','content':'d','attribution':'user'}",
		    "{'role':'toolResult','toolCallId':'z','content':[],'attribution':'user'}");
	assert_int_equal(own_bytes, 4);
}

static void others_get_an_attribution_behind_what_they_have(void **state)
{
	(void)state;
	assert_told("0:{'role':'user','content':'q','timestamp':5,'attribution':'user'}\n"
		    "1:{'role':'developer','content':'d','attribution':'agent'}\n"
		    "2:{'role':'toolResult','attribution':'agent','content':[]}\n",
		    "{'role':'user','content':'q','timestamp':5}",
		    "{'role':'developer','content':'d'}",
		    "{'role':'toolResult','attribution':null,'content':[]}");
}

static void roles_that_nobody_knows_are_not_told(void **state)
{
	(void)state;
	assert_told("", "{'role':'narrator','content':'x'}", "{'content':'x'}", "7", "null", "[]",
		    "{'role':3}");
	check_told("", NULL, 0);
}

static void a_pruned_result_keeps_its_texts_in_one_block(void **state)
{
	(void)state;
	assert_told("0:{'role':'toolResult','content':[{'type':'text','text':'ab\\n'}],'prunedAt':9,'attribution':'agent'}\n"
		    "1:{'role':'toolResult','content':[{'type':'text','text':'[Output truncated]'}],'prunedAt':null,'attribution':'user'}\n"
		    "2:{'role':'toolResult','prunedAt':1,'attribution':'user','content':[{'type':'text','text':'[Output truncated]'}]}\n",
		    "{'role':'toolResult','content':[{'type':'text','text':'a'},{'type':'image','data':'x'},"
		    "{'type':'text','text':'b\\n'}],'prunedAt':9}",
		    "{'role':'toolResult','content':[{'type':'image','data':'x'}],'prunedAt':null,'attribution':'user'}",
		    "{'role':'toolResult','prunedAt':1,'attribution':'user'}");
}

static void extensions_speak_as_a_user(void **state)
{
	(void)state;
	assert_told("0:{'role':'user','content':[{'type':'text','text':'hear'}],'attribution':'agent','timestamp':7}\n"
		    "1:{'role':'user','content':[{'type':'image','data':'x'}],'timestamp':8}\n",
		    "{'role':'custom','customType':'n','content':'hear','display':true,'details':{},"
		    "'attribution':'agent','timestamp':7}",
		    "{'role':'hookMessage','content':[{'type':'image','data':'x'}],'timestamp':8}");
}

/* --- runs --- */

static void a_command_is_told_with_its_output(void **state)
{
	(void)state;
	assert_told("0:{'role':'user','content':[{'type':'text','text':'Ran `ls`\\n```\\na\\nb\\n```\\n\\nCommand exited with code 1'}],"
		    "'attribution':'user','timestamp':1}\n",
		    "{'role':'bashExecution','command':'ls','output':'a\\nb','exitCode':1,'cancelled':false,"
		    "'truncated':false,'timestamp':1}");
	check_text("Ran `x`\\n(no output)", "{'role':'bashExecution','command':'x','output':'','exitCode':0}");
	check_text("Ran `x`\\n(no output)", "{'role':'bashExecution','command':'x','exitCode':null}");
	check_text("Ran `x`\\n(no output)\\n\\n(command cancelled)",
		   "{'role':'bashExecution','command':'x','output':'','exitCode':3,'cancelled':true}");
}

static void python_is_told_in_words_of_its_own(void **state)
{
	(void)state;
	check_text("Ran Python:\\n```python\\n1+1\\n```\\n(no output)\\n\\n(execution cancelled)",
		   "{'role':'pythonExecution','code':'1+1','output':'','exitCode':0,'cancelled':true}");
	check_text("Ran Python:\\n```python\\n1+1\\n```\\nOutput:\\n```\\n2\\n```\\n\\nExecution failed with code 4",
		   "{'role':'pythonExecution','code':'1+1','output':'2','exitCode':4,'cancelled':false}");
}

static void a_run_that_was_excluded_is_not_told(void **state)
{
	(void)state;
	assert_told("", "{'role':'bashExecution','command':'x','excludeFromContext':true}",
		    "{'role':'pythonExecution','code':'x','excludeFromContext':true}");
}

/* The notice for a meta value. */
static void check_notice(const char *meta, const char *expect)
{
	struct grove_buf b = GROVE_BUF_INIT;
	char *m = quoted(meta);

	assert_int_equal(grove__buf_add_str(&b, "|"), 0);
	assert_int_equal(grove__xcsh_notice(grove__slice_str(m), &grove__xcsh_wording, &b), 0);
	assert_string_equal(b.ptr + 1, expect);
	grove__buf_release(&b);
	free(m);
}

static void without_meta_there_is_no_notice(void **state)
{
	(void)state;
	check_notice("{}", "");
	check_notice("null", "");
	check_notice("{'limits':{}}", "");
	check_notice("{'truncation':null,'limits':null,'diagnostics':null}", "");
}

static void a_notice_says_which_lines_are_shown(void **state)
{
	(void)state;
	check_notice("{'truncation':{'truncatedBy':'lines','totalLines':900,'outputLines':100,"
		     "'shownRange':{'start':801,'end':900},'artifactId':'7'}}",
		     "\n\n[Showing lines 801-900 of 900. Read artifact://7 for full output]");
	check_notice("{'truncation':{'truncatedBy':'bytes','totalLines':50,'outputLines':12,'maxBytes':51200,"
		     "'nextOffset':13},'limits':{'matchLimit':{'reached':100,'suggestion':200}}}",
		     "\n\n[Showing 12 of 50 lines (50.0KB limit). Use sel=L13 to continue. "
		     "100 matches limit reached. Use limit=200 for more]");
	check_notice("{'truncation':{'truncatedBy':'lines','totalLines':5,'outputLines':0,"
		     "'shownRange':{'start':6,'end':5},'maxBytes':10}}",
		     "\n\n[Showing 0 of 5 lines]");
}

static void a_run_carries_its_notice_behind_its_exit_code(void **state)
{
	(void)state;
	check_text("Ran `c`\\n```\\no\\n```\\n\\nCommand exited with code 2\\n\\n[Some lines truncated to 80 chars]",
		   "{'role':'bashExecution','command':'c','output':'o','exitCode':2,'meta':{'limits':"
		   "{'columnTruncated':{'maxColumn':80}}}}");
}

static void sizes_have_one_decimal_and_a_half_goes_up(void **state)
{
	static const char *const sizes[][2] = {
		{ "1023", "1023B" }, { "1024", "1.0KB" }, { "1280", "1.3KB" }, { "1536", "1.5KB" },
		{ "1048575", "1024.0KB" }, { "1048576", "1.0MB" }, { "3221225472", "3.0GB" },
		{ "1099511627776", "1024.0GB" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		char meta[200], expect[200];

		snprintf(meta, sizeof meta, "{'truncation':{'truncatedBy':'bytes','totalLines':2,"
			 "'outputLines':1,'maxBytes':%s}}", sizes[i][0]);
		snprintf(expect, sizeof expect, "\n\n[Showing 1 of 2 lines (%s limit)]", sizes[i][1]);
		check_notice(meta, expect);
	}
}

static void all_limits_stand_in_one_notice(void **state)
{
	(void)state;
	check_notice("{'limits':{'columnTruncated':{'maxColumn':500},'headLimit':{'reached':3,'suggestion':6},"
		     "'resultLimit':{'reached':2,'suggestion':4},'matchLimit':{'reached':1,'suggestion':2}}}",
		     "\n\n[1 matches limit reached. Use limit=2 for more. "
		     "2 results limit reached. Use limit=4 for more. "
		     "3 results limit reached. Use limit=6 for more. Some lines truncated to 500 chars]");
}

static void diagnostics_are_grouped_by_directory_and_file(void **state)
{
	(void)state;
	check_notice("{'diagnostics':{'summary':'2 errors','messages':[]}}", "");
	check_notice("{'diagnostics':{'summary':'6 errors','messages':["
		     "'src/b.c:1:2 first','./top.c:3:4 [x] at 5:6 y','src/a.c:7:8 second','strange',"
		     "'./src/b.c:1:1 other place','src/b.c:9:10 third','top.c:1:1 again','lone.c:2:2 l',"
		     "'also strange:1 x','/r.c:1:2 r']}}",
		     "\n\nLSP Diagnostics (6 errors):\n"
		     "# src\n## └─ b.c\n  1:2 first\n  9:10 third\n## └─ a.c\n  7:8 second\n\n"
		     "# top.c\n  3:4 [x] at 5:6 y\n  1:1 again\n\n"
		     "# lone.c\n  2:2 l\n\n"
		     "# ./src\n## └─ b.c\n  1:1 other place\n\n"
		     "# /\n## └─ r.c\n  1:2 r\n\n"
		     "strange\nalso strange:1 x");
	check_notice("{'limits':{'matchLimit':{'reached':1,'suggestion':2}},"
		     "'diagnostics':{'summary':'s','messages':['odd',':1:2 x']}}",
		     "\n\n[1 matches limit reached. Use limit=2 for more]\n\n"
		     "LSP Diagnostics (s):\nodd\n:1:2 x");
}

/* --- summaries and files --- */

/* The text of a summary, from the tag on, and what follows the text. */
static void check_summary(const char *message, const char *summary, const char *rest)
{
	char *m = quoted(message), *want = quoted(rest);
	struct grove_slice in = grove__slice_str(m), text;
	struct grove_buf b = GROVE_BUF_INIT;
	struct told t = { .in = &in };
	const char *tag;

	assert_int_equal(grove__xcsh_llm(&in, NULL, 1, NOW, listen, &t), 0);
	text = grove__slice(t.lines.ptr + 2, t.lines.len - 3);
	text = grove__json_get(grove__json_at(grove__json_get(text, "content"), 0), "text");
	assert_int_equal(grove__json_text(&b, text), 0);
	tag = strstr(b.ptr, "\n\n<summary>\n");
	assert_non_null(tag);
	assert_null(memchr(b.ptr, '\n', (size_t)(tag - b.ptr)));
	assert_true(tag > b.ptr);
	assert_string_equal(tag, summary);
	assert_string_equal(text.ptr + text.len, want);
	grove__buf_release(&b);
	grove__buf_release(&t.lines);
	free(m);
	free(want);
}

static void summaries_are_told_by_the_agent_between_tags(void **state)
{
	(void)state;
	check_summary("{'role':'branchSummary','summary':'left that','fromId':'root','timestamp':3}",
		      "\n\n<summary>\nleft that\n</summary>", "}],'attribution':'agent','timestamp':3}\n");
	check_summary("{'role':'compactionSummary','summary':'<b> & \\u00e9','tokensBefore':9,"
		      "'providerPayload':{'type':'h'},'timestamp':4}",
		      "\n\n<summary>\n<b> & \u00e9\n</summary>",
		      "}],'attribution':'agent','providerPayload':{'type':'h'},'timestamp':4}\n");
	check_summary("{'role':'compactionSummary','summary':null}", "\n\n<summary>\n</summary>",
		      "}],'attribution':'agent'}\n");
	check_summary("{'role':'branchSummary','summary':'\\n\\n## Goal  \\n\\n- a\\n\\n\\n'}",
		      "\n\n<summary>\n## Goal\n- a\n</summary>", "}],'attribution':'agent'}\n");
}

static void mentioned_files_are_a_reminder_with_their_images_behind_it(void **state)
{
	(void)state;
	check_text("<system-reminder>\\n<file path=\\\"p\\\">\\n</file>\\n\\n<file path=\\\"q\\\">\\nc\\n</file>"
		   "\\n</system-reminder>",
		   "{'role':'fileMention','files':[{'path':'p','content':''},{'path':'q','content':'c','lineCount':1}]}");
	assert_told("0:{'role':'user','content':[{'type':'text','text':'<system-reminder>\\n<file path=\\\"i\\\">\\nd\\n</file>"
		    "\\n</system-reminder>'},{'type':'image','data':'x'}],'attribution':'user','timestamp':3}\n"
		    "1:{'role':'user','content':[{'type':'text','text':'Ran `x`\\n(no output)'}],'attribution':'user'}\n",
		    "{'role':'fileMention','files':[{'path':'i','content':'d','image':{'type':'image','data':'x'}}],'timestamp':3}",
		    "{'role':'bashExecution','command':'x'}");
}

static void check_format(const char *text, const char *expect)
{
	struct grove_buf b = GROVE_BUF_INIT;

	assert_int_equal(grove__buf_add_str(&b, "|"), 0);
	assert_int_equal(grove__xcsh_format(grove__slice_str(text), false, &b), 0);
	assert_string_equal(b.ptr + 1, expect);
	grove__buf_release(&b);
}

static void prompts_lose_white_space_at_line_ends(void **state)
{
	(void)state;
	check_format("", "");
	check_format("a \t\r\n  b\u00a0\n\n\n\nc\n\n", "a\n  b\n\nc");
	check_format("a\n \t\n\nb", "a\n\nb");
}

static void blank_lines_go_where_lists_and_tags_make_room(void **state)
{
	(void)state;
	check_format("a\n\n- b\n\n* c\n\n12. d\n\n-e", "a\n- b\n* c\n12. d\n\n-e");
	check_format("<a>\n\nb\n\n</a>\n\nc", "<a>\nb\n</a>\n\nc");
	check_format("x\n\n<a_b-c k=\"v\">\n\nb", "x\n\n<a_b-c k=\"v\">\nb");
	check_format("<A>\n\nb\n\n</A>", "<A>\n\nb\n\n</A>");
	check_format("<a>b\n\nc", "<a>b\n\nc");
	check_format("<a1>\n\nc", "<a1>\n\nc");
}

static void tables_lose_their_padding(void **state)
{
	(void)state;
	check_format("| a  | b |\n|----|:--:|\n|  1 | 2|", "|a|b|\n|---|:---:|\n|1|2|");
	check_format("| |\n| | |\n|\t|", "||\n||\n||");
	check_format("|-| |\n|   |---|\n| a | |", "|---|\n|---|\n|a||");
	check_format("|:|\n|:-|-:|\n  | x |", "|:---:|\n|:---|---:|\n  |x|");
	check_format("| a\n||\na |", "| a\n||\na |");
}

static void code_stays_as_it_is(void **state)
{
	(void)state;
	check_format("```c\n| a | b |\n\n\n- x\n```\n\n\ny", "```c\n| a | b |\n\n\n- x\n```\n\ny");
	check_format("~~~\n\n</a>\n~~~\n</a>", "~~~\n\n</a>\n~~~\n</a>");
	check_format("```\n\n\n", "```");
}

/* --- calls and results --- */

static void results_that_follow_their_call_stay(void **state)
{
	(void)state;
	assert_told("0:" ASSISTANT(CALL("1") "," CALL("2")) "\n1:" RESULT("2", "b") "\n2:" RESULT("1", "a")
		    "\n3:" USER("u") "\n",
		    ASSISTANT(CALL("1") "," CALL("2")), RESULT("2", "b"), RESULT("1", "a"), USER("u"));
	assert_int_equal(own_bytes, 4);
}

static void what_stands_between_a_call_and_its_result_comes_behind(void **state)
{
	(void)state;
	assert_told("0:" ASSISTANT(CALL("1") "," CALL("2")) "\n2:" RESULT("1", "a") "\n4:" RESULT("2", "b")
		    "\n1:" USER("u") "\n3:" USER("v") "\n5:" USER("w") "\n",
		    ASSISTANT(CALL("1") "," CALL("2")), USER("u"), RESULT("1", "a"), USER("v"),
		    RESULT("2", "b"), USER("w"));
}

static void a_call_without_result_gets_one_that_says_so(void **state)
{
	(void)state;
	assert_told("0:" ASSISTANT(CALL("1") "," CALL("2")) "\n1:" RESULT("1", "a") "\n" MADE("2")
		    "2:" USER("u") "\n3:" ASSISTANT("") "\n",
		    ASSISTANT(CALL("1") "," CALL("2")), RESULT("1", "a"), USER("u"), ASSISTANT(""));
	assert_told("0:" ASSISTANT("{'type':'toolCall','id':'x\\n'},{'type':'toolCall'},{'type':'toolCall','id':'y','name':''}")
		    "\n-:{'role':'toolResult','toolCallId':'x\\n','toolName':'unknown','content':[{'type':'text',"
		    "'text':'Tool execution was interrupted (session recovery).'}],'isError':true,'timestamp':1700000000000}\n"
		    "-:{'role':'toolResult','toolCallId':'y','toolName':'unknown','content':[{'type':'text',"
		    "'text':'Tool execution was interrupted (session recovery).'}],'isError':true,'timestamp':1700000000000}\n",
		    ASSISTANT("{'type':'toolCall','id':'x\\n'},{'type':'toolCall'},{'type':'toolCall','id':'y','name':''}"));
}

static void an_id_that_was_answered_before_gets_a_copy(void **state)
{
	(void)state;
	assert_told("0:" RESULT("1", "early") "\n1:" RESULT("1", "late") "\n2:" ASSISTANT(CALL("1"))
		    "\n1:" RESULT("1", "late") "\n3:" USER("u") "\n",
		    RESULT("1", "early"), RESULT("1", "late"), ASSISTANT(CALL("1")), USER("u"));
}

static void copies_and_made_up_results_come_in_the_order_of_the_calls(void **state)
{
	(void)state;
	assert_told("0:" RESULT("3", "c") "\n1:" ASSISTANT(CALL("1") "," CALL("2") "," CALL("3"))
		    "\n2:" RESULT("2", "b") "\n" MADE("1") "0:" RESULT("3", "c") "\n",
		    RESULT("3", "c"), ASSISTANT(CALL("1") "," CALL("2") "," CALL("3")), RESULT("2", "b"));
}

static void an_assistant_that_was_displaced_is_repaired_too(void **state)
{
	(void)state;
	assert_told("0:" ASSISTANT(CALL("1")) "\n3:" RESULT("1", "a") "\n1:" ASSISTANT(CALL("2"))
		    "\n4:" RESULT("2", "b") "\n2:" USER("u") "\n",
		    ASSISTANT(CALL("1")), ASSISTANT(CALL("2")), USER("u"), RESULT("1", "a"),
		    RESULT("2", "b"));
}

static void behind_a_made_up_result_made_up_ones_come_first(void **state)
{
	(void)state;
	assert_told("0:" RESULT("4", "d") "\n1:" ASSISTANT(CALL("1")) "\n" MADE("1")
		    "2:" ASSISTANT(CALL("2") "," CALL("3") "," CALL("4")) "\n" MADE("3")
		    "4:" RESULT("2", "b") "\n0:" RESULT("4", "d") "\n3:" USER("u") "\n",
		    RESULT("4", "d"), ASSISTANT(CALL("1")), ASSISTANT(CALL("2") "," CALL("3") "," CALL("4")),
		    USER("u"), RESULT("2", "b"));
	/* a copy that displaces does not */
	assert_told("0:" RESULT("1", "a") "\n1:" ASSISTANT(CALL("1")) "\n0:" RESULT("1", "a")
		    "\n2:" ASSISTANT(CALL("2") "," CALL("3")) "\n3:" RESULT("3", "c") "\n" MADE("2"),
		    RESULT("1", "a"), ASSISTANT(CALL("1")), ASSISTANT(CALL("2") "," CALL("3")),
		    RESULT("3", "c"));
}

static void ids_that_come_again_in_every_turn_find_their_own_result(void **state)
{
	(void)state;
	assert_told("0:" ASSISTANT(CALL("1")) "\n1:" RESULT("1", "a") "\n2:" ASSISTANT(CALL("1"))
		    "\n3:" RESULT("1", "b") "\n",
		    ASSISTANT(CALL("1")), RESULT("1", "a"), ASSISTANT(CALL("1")), RESULT("1", "b"));
	/* the first was not answered: it takes what is next, and the second a copy of the last */
	assert_told("0:" ASSISTANT(CALL("1")) "\n2:" RESULT("1", "b") "\n1:" ASSISTANT(CALL("1"))
		    "\n4:" RESULT("1", "c") "\n3:" ASSISTANT(CALL("1")) "\n4:" RESULT("1", "c") "\n",
		    ASSISTANT(CALL("1")), ASSISTANT(CALL("1")), RESULT("1", "b"), ASSISTANT(CALL("1")),
		    RESULT("1", "c"));
	/* one id twice in one message is one call */
	assert_told("0:" ASSISTANT(CALL("1") "," CALL("1")) "\n1:" RESULT("1", "a") "\n2:" RESULT("1", "b") "\n",
		    ASSISTANT(CALL("1") "," CALL("1")), RESULT("1", "a"), RESULT("1", "b"));
}

static void ids_are_compared_as_texts(void **state)
{
	(void)state;
	assert_told("0:" ASSISTANT(CALL("a\\u0062")) "\n1:" RESULT("ab", "x") "\n",
		    ASSISTANT(CALL("a\\u0062")), RESULT("ab", "x"));
}

/* --- merging --- */

static void texts_of_users_in_a_row_become_one_message(void **state)
{
	(void)state;
	assert_told("0:{'role':'user','content':[{'type':'text','text':'a'},{'type':'text','text':'Ran `x`\\n(no output)'},"
		    "{'type':'text','text':'c'} , {'type':'text','text':'d'}],'timestamp':1,'attribution':'user'}\n"
		    "4:" ASSISTANT("") "\n"
		    "5:{'role':'user','content':[{'type':'text','text':'e'},{'type':'text','text':'f'}],"
		    "'attribution':'user','timestamp':6}\n",
		    "{'role':'user','content':[ {'type':'text','text':'a'} ],'timestamp':1}",
		    "{'role':'bashExecution','command':'x','timestamp':2}",
		    "{'role':'user','content':[ ]}",
		    "{'role':'custom','content':[{'type':'text','text':'c'} , {'type':'text','text':'d'}],'attribution':'agent'}",
		    ASSISTANT(""),
		    "{'role':'custom','content':'e','attribution':'user','timestamp':6}",
		    "{'role':'hookMessage','content':'f'}");
}

static void strings_images_and_developers_are_never_merged(void **state)
{
	(void)state;
	assert_told("0:" USER("a") "\n1:" USER("b") "\n"
		    "2:{'role':'user','content':[{'type':'text','text':'c'}],'attribution':'user'}\n"
		    "3:{'role':'user','content':[{'type':'text','text':'d'},{'type':'image'}],'attribution':'user'}\n"
		    "4:{'role':'user','content':[{'type':'text','text':'e'}],'attribution':'user'}\n"
		    "5:{'role':'developer','content':[{'type':'text','text':'f'}],'attribution':'agent'}\n"
		    "6:{'role':'developer','content':[{'type':'text','text':'g'}],'attribution':'agent'}\n",
		    USER("a"), USER("b"),
		    "{'role':'user','content':[{'type':'text','text':'c'}],'attribution':'user'}",
		    "{'role':'user','content':[{'type':'text','text':'d'},{'type':'image'}],'attribution':'user'}",
		    "{'role':'user','content':[{'type':'text','text':'e'}],'attribution':'user'}",
		    "{'role':'developer','content':[{'type':'text','text':'f'}],'attribution':'agent'}",
		    "{'role':'developer','content':[{'type':'text','text':'g'}],'attribution':'agent'}");
}

static void what_repair_brings_together_is_merged(void **state)
{
	(void)state;
	assert_told("0:" ASSISTANT(CALL("1")) "\n2:" RESULT("1", "r") "\n"
		    "1:{'role':'user','content':[{'type':'text','text':'a'},{'type':'text','text':'b'}],'attribution':'user'}\n",
		    ASSISTANT(CALL("1")),
		    "{'role':'user','content':[{'type':'text','text':'a'}],'attribution':'user'}",
		    RESULT("1", "r"), "{'role':'custom','content':'b'}");
}

/* --- the whole --- */

static void a_listener_that_has_heard_enough_ends_it(void **state)
{
	char *m = quoted(USER("u"));
	struct grove_slice in[3] = { grove__slice_str(m), grove__slice_str(m), grove__slice_str(m) };
	struct told t = { .in = in, .stop_at = 2 };

	(void)state;
	assert_int_equal(grove__xcsh_llm(in, NULL, 3, NOW, listen, &t), GROVE_ECANCELLED);
	assert_int_equal(t.nr, 1);
	grove__buf_release(&t.lines);
	free(m);
}

static struct chance chance;

static unsigned pick(unsigned n)
{
	return chance_below(&chance, n);
}

/* Of random conversations: every call is answered at once, and nothing else is lost. */
struct judge {
	size_t seen[MAX];
	char open[8];      /* ids that wait for a result */
	const struct grove_slice *in;
};

static int hear(void *payload, size_t from, struct grove_slice json)
{
	struct judge *j = payload;
	struct grove_slice role = grove__json_get(json, "role"), id;
	struct grove__json_iter it;
	char *p;

	if (from != SIZE_MAX)
		j->seen[from]++;
	if (grove__json_string_is(role, "toolResult")) {
		id = grove__json_get(json, "toolCallId");
		p = strchr(j->open, id.ptr[1]);
		if (p)
			memmove(p, p + 1, strlen(p));
		return 0;
	}
	assert_string_equal(j->open, "");
	grove__json_iter_init(&it, grove__json_get(json, "content"));
	while (grove__json_string_is(role, "assistant") && grove__json_next(&it)) {
		id = grove__json_get(it.value, "id");
		if (!strchr(j->open, id.ptr[1]))
			strncat(j->open, id.ptr + 1, 1);
	}
	return 0;
}

static void every_call_is_answered_at_once_whatever_the_order(void **state)
{
	static const char *const ids[] = { "a", "b", "c", "d", "e", "f" };

	(void)state;
	chance = chance_begin("conversations");
	for (int round = 0; round < 3000; round++) {
		char *copies[MAX];
		struct grove_slice in[MAX];
		struct judge j = { .in = in };
		size_t nr = 1 + pick(14), i;

		for (i = 0; i < nr; i++) {
			const char *x = ids[pick(6)], *y = ids[pick(6)];
			char text[300];

			switch (pick(4)) {
			case 0:
				snprintf(text, sizeof text, "{'role':'assistant','content':[{'type':'toolCall','id':'%s'},"
					 "{'type':'toolCall','id':'%s'}]}", x, y);
				break;
			case 1:
				snprintf(text, sizeof text, USER("u"));
				break;
			default:
				snprintf(text, sizeof text, "{'role':'toolResult','toolCallId':'%s'}", x);
			}
			copies[i] = quoted(text);
			in[i] = grove__slice_str(copies[i]);
		}
		assert_int_equal(grove__xcsh_llm(in, NULL, nr, NOW, hear, &j), 0);
		assert_string_equal(j.open, "");
		for (i = 0; i < nr; i++) {
			assert_true(j.seen[i] >= 1);
			free(copies[i]);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(messages_that_say_who_spoke_are_handed_on_in_their_own_bytes),
		cmocka_unit_test(others_get_an_attribution_behind_what_they_have),
		cmocka_unit_test(roles_that_nobody_knows_are_not_told),
		cmocka_unit_test(a_pruned_result_keeps_its_texts_in_one_block),
		cmocka_unit_test(extensions_speak_as_a_user),
		cmocka_unit_test(a_command_is_told_with_its_output),
		cmocka_unit_test(python_is_told_in_words_of_its_own),
		cmocka_unit_test(a_run_that_was_excluded_is_not_told),
		cmocka_unit_test(without_meta_there_is_no_notice),
		cmocka_unit_test(a_notice_says_which_lines_are_shown),
		cmocka_unit_test(a_run_carries_its_notice_behind_its_exit_code),
		cmocka_unit_test(sizes_have_one_decimal_and_a_half_goes_up),
		cmocka_unit_test(all_limits_stand_in_one_notice),
		cmocka_unit_test(diagnostics_are_grouped_by_directory_and_file),
		cmocka_unit_test(summaries_are_told_by_the_agent_between_tags),
		cmocka_unit_test(mentioned_files_are_a_reminder_with_their_images_behind_it),
		cmocka_unit_test(prompts_lose_white_space_at_line_ends),
		cmocka_unit_test(blank_lines_go_where_lists_and_tags_make_room),
		cmocka_unit_test(tables_lose_their_padding),
		cmocka_unit_test(code_stays_as_it_is),
		cmocka_unit_test(results_that_follow_their_call_stay),
		cmocka_unit_test(what_stands_between_a_call_and_its_result_comes_behind),
		cmocka_unit_test(a_call_without_result_gets_one_that_says_so),
		cmocka_unit_test(an_id_that_was_answered_before_gets_a_copy),
		cmocka_unit_test(copies_and_made_up_results_come_in_the_order_of_the_calls),
		cmocka_unit_test(an_assistant_that_was_displaced_is_repaired_too),
		cmocka_unit_test(behind_a_made_up_result_made_up_ones_come_first),
		cmocka_unit_test(ids_that_come_again_in_every_turn_find_their_own_result),
		cmocka_unit_test(ids_are_compared_as_texts),
		cmocka_unit_test(texts_of_users_in_a_row_become_one_message),
		cmocka_unit_test(strings_images_and_developers_are_never_merged),
		cmocka_unit_test(what_repair_brings_together_is_merged),
		cmocka_unit_test(a_listener_that_has_heard_enough_ends_it),
		cmocka_unit_test(every_call_is_answered_at_once_whatever_the_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
