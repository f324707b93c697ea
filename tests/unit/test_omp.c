/*
 * tests/unit/test_omp.c: what oh-my-pi does differently from other agents.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "dialect/omp.h"
#include "dialect/xcsh.h"
#include "dialect/xcsh_llm.h"
#include "json/value.h"

#define MAX 16
#define LONG "%500001x"
#define CUT "%499953x\\n\\n[Session persistence truncated large content]"

/* JSON in C, easier to read: ' is ", and %N* repeats the character * N times. */
static char *json(const char *pattern)
{
	struct grove_buf b = GROVE_BUF_INIT;

	assert_int_equal(grove__buf_add_str(&b, ""), 0);
	for (const char *p = pattern; *p; p++) {
		char *end;
		size_t n;

		if (*p != '%') {
			assert_int_equal(grove__buf_add_char(&b, *p == '\'' ? '"' : *p), 0);
			continue;
		}
		n = strtoul(p + 1, &end, 10);
		while (n--)
			assert_int_equal(grove__buf_add_char(&b, *end), 0);
		p = end;
	}
	return b.ptr;
}

static void assert_text(struct grove_slice have, const char *pattern)
{
	char *want = json(pattern);
	size_t len = strlen(want), i = 0;

	while (i < have.len && i < len && have.ptr[i] == want[i])
		i++;
	if (have.len != len || i < len)
		fail_msg("from byte %zu of %zu (not %zu) on: %.*s, not %.300s", i, have.len, len,
			 (int)(have.len - i < 300 ? have.len - i : 300), have.ptr + i, want + i);
	free(want);
}

/* --- what is told --- */

typedef int step(const struct grove_slice *messages, size_t nr,
		 int (*fn)(void *payload, size_t from, struct grove_slice json), void *payload);

static int llm(const struct grove_slice *messages, size_t nr,
	       int (*fn)(void *payload, size_t from, struct grove_slice json), void *payload)
{
	return grove__omp_llm(messages, NULL, nr, 0, fn, payload);
}

static int listen(void *payload, size_t from, struct grove_slice message)
{
	int rc = grove__buf_addf(payload, "%zu:", from);

	rc = rc ? rc : grove__buf_add_slice(payload, message);
	return rc ? rc : grove__buf_add_char(payload, '\n');
}

/* `expect` has a line `from:message` for each that comes out. */
static void check_step(step *fn, const char *expect, const char *const *messages)
{
	struct grove_slice in[MAX] = { { NULL, 0 } };
	struct grove_buf out = GROVE_BUF_INIT;
	size_t nr = 0;

	for (; messages[nr]; nr++) {
		assert_true(nr < MAX);
		in[nr] = grove__slice_str(json(messages[nr]));
	}
	assert_int_equal(fn(in, nr, listen, &out), 0);
	assert_text(grove__buf_slice(&out), expect);
	grove__buf_release(&out);
	while (nr)
		free((char *)in[--nr].ptr);
}

#define assert_settled(expect, ...) \
	check_step(grove__omp_settle, expect, (const char *const[]){ __VA_ARGS__, NULL })
#define assert_told(expect, ...) check_step(llm, expect, (const char *const[]){ __VA_ARGS__, NULL })

#define REPLY(content, rest) "{'role':'assistant','content':[" content "]" rest "}"
#define CALL(id) "{'type':'toolCall','id':'" id "'}"
#define RESULT(id) "{'role':'toolResult','toolCallId':'" id "'}"
#define SAY(text) "{'type':'text','text':'" text "'}"

static void a_reply_that_failed_is_not_told_nor_what_came_of_it(void **state)
{
	(void)state;
	assert_settled("1:" REPLY(SAY("b"), ",'stopReason':'stop'") "\n",
		       REPLY(SAY("a"), ",'stopReason':'error'"), REPLY(SAY("b"), ",'stopReason':'stop'"),
		       REPLY("", ",'stopReason':'aborted'"), REPLY(SAY("c"), ",'retryRecovery':{'k':1}"));
	/* a result that came before it is not its own */
	assert_settled("0:" RESULT("c1") "\n", RESULT("c1"), REPLY(CALL("c1"), ",'stopReason':'aborted'"),
		       RESULT("c1"));
	/* one that was tried again leaves its results to the other */
	assert_settled("1:" RESULT("c1") "\n", REPLY(CALL("c1"), ",'stopReason':'error','retryRecovery':true"), RESULT("c1"));
	/* whoever else made a call of that name */
	assert_settled("1:" REPLY(CALL("c1"), "") "\n", REPLY(CALL("c1"), ",'stopReason':'error'"),
		       REPLY(CALL("c1"), ""), RESULT("c1"));
}

static void a_call_that_nobody_answered_is_not_told(void **state)
{
	(void)state;
	assert_settled("0:" REPLY(SAY("a") "," CALL("c1"), "") "\n1:" RESULT("c1") "\n",
		       REPLY(SAY("a") "," CALL("c1") "," CALL("c2"), ""), RESULT("c1"));
	assert_settled("", REPLY(CALL("c1"), ""));
	assert_settled("", REPLY("{'type':'toolCall'}", ""));
	/* the answer may stand before it */
	assert_settled("0:" RESULT("c1") "\n1:" REPLY(CALL("c1"), "") "\n", RESULT("c1"), REPLY(CALL("c1"), ""));
	/* one id, two spellings */
	assert_settled("0:" REPLY(CALL("\\u0063"), "") "\n1:" RESULT("c") "\n", REPLY(CALL("\\u0063"), ""), RESULT("c"));
}

static void signatures_go_with_a_call_that_they_covered(void **state)
{
	(void)state;
	assert_settled("0:" REPLY("{'type':'thinking','thinking':'t'}," SAY("a"), ",'responseId':'r'") "\n",
		       REPLY("{'type':'thinking','thinking':'t','thinkingSignature':'s'},{'type':'redactedThinking','data':'d'},"
			     SAY("a") "," CALL("c1"), ",'responseId':'r'"));
	/* where nothing was lost nothing is touched */
	assert_settled("0:" REPLY("{'type':'redactedThinking','data':'d'}", "") "\n1:" REPLY("", "") "\n",
		       REPLY("{'type':'redactedThinking','data':'d'}", ""), REPLY("", ""));
}

static void messages_of_other_kinds_are_settled(void **state)
{
	(void)state;
	assert_settled("0:{'role':'user'}\n1:" RESULT("lone") "\n2:{'role':'x'}\n", "{'role':'user'}",
		       RESULT("lone"), "{'role':'x'}");
}

static void who_speaks_is_told_last(void **state)
{
	(void)state;
	assert_told("0:{'role':'user','content':'a','timestamp':1,'attribution':'user'}\n"
		    "1:{'role':'user','content':'b','attribution':'agent'}\n"
		    "2:{'role':'developer','content':[],'attribution':'agent'}\n"
		    "3:{'role':'toolResult','attribution':'agent','content':[]}\n"
		    "4:{'role':'assistant','content':[]}\n",
		    "{'role':'user','content':'a','timestamp':1}", "{'role':'user','content':'b','attribution':'agent'}",
		    "{'role':'developer','content':[]}", "{'role':'toolResult','attribution':null,'content':[]}",
		    "{'role':'assistant','content':[]}", "{'role':'unheard'}",
		    "{'role':'bashExecution','command':'x','excludeFromContext':true}");
}

static void nothing_is_merged_and_nothing_made_up(void **state)
{
	(void)state;
	assert_told("0:{'role':'user','content':[" SAY("a") "],'attribution':'user'}\n"
		    "1:{'role':'user','content':[" SAY("b") "],'attribution':'user'}\n"
		    "2:" REPLY(CALL("c1"), "") "\n",
		    "{'role':'user','content':[" SAY("a") "]}", "{'role':'user','content':[" SAY("b") "]}",
		    REPLY(CALL("c1"), ""));
}

static void an_extension_speaks_as_the_developer(void **state)
{
	(void)state;
	assert_told("0:{'role':'developer','content':[" SAY("a") "],'timestamp':1}\n"
		    "1:{'role':'developer','content':[],'attribution':'user','timestamp':1}\n"
		    "2:{'role':'user','content':[" SAY("c") "],'attribution':'user','timestamp':1}\n"
		    "3:{'role':'developer','content':[" SAY("d") "],'attribution':'agent'}\n"
		    "4:{'role':'developer','content':[" SAY("") "]}\n",
		    "{'role':'custom','customType':'x','content':'a','display':true,'timestamp':1}",
		    "{'role':'hookMessage','customType':'skill-prompt','content':[],'attribution':'user','timestamp':1}",
		    "{'role':'custom','customType':'skill-prompt','content':[" SAY("c") "],'attribution':'user','timestamp':1}",
		    "{'role':'custom','customType':'skill-prompt','content':'d','attribution':'agent'}",
		    "{'role':'custom','content':''}", "{'role':'custom','content':{}}", "{'role':'custom'}");
}

#define IMAGE(d) "{'type':'image','data':'" d "'}"

static void a_developer_shows_no_images(void **state)
{
	(void)state;
	assert_told("0:{'role':'developer','content':[" SAY("a") "," SAY("b") "],'attribution':'agent','timestamp':1}\n"
		    "0:{'role':'user','content':[" SAY("Images attached to x.") "," IMAGE("1") "," IMAGE("2")
		    "],'attribution':'agent','timestamp':1}\n"
		    "1:{'role':'user','content':[" SAY("Images attached to y.") "," IMAGE("3") "]}\n"
		    "2:{'role':'user','content':[" IMAGE("4") "],'attribution':'user'}\n",
		    "{'role':'custom','customType':'x','content':[" SAY("a") "," IMAGE("1") "," SAY("b") "," IMAGE("2")
		    "],'attribution':'agent','timestamp':1}",
		    "{'role':'hookMessage','customType':'y','content':[" IMAGE("3") "]}",
		    "{'role':'custom','customType':'skill-prompt','content':[" IMAGE("4") "],'attribution':'user'}");
}

static void files_are_mentioned_by_the_developer_and_shown_by_the_user(void **state)
{
	(void)state;
	assert_told("0:{'role':'developer','content':[" SAY("<file path=\\'a\\'>\\nx\\n</file>\\n<file path=\\'b\\'>\\n</file>")
		    "],'attribution':'user','timestamp':1}\n"
		    "0:{'role':'user','content':[" SAY("<file path=\\'p\\'>\\ny\\n</file>") "," IMAGE("1")
		    "],'attribution':'user','timestamp':1}\n",
		    "{'role':'fileMention','files':[{'path':'a','content':'x'},{'path':'p','content':'y','image':" IMAGE("1")
		    "},{'path':'b','content':''}],'timestamp':1}",
		    "{'role':'fileMention','files':[],'timestamp':1}");
}

#define INTRO "What follows sums up the conversation up to this point, which is not repeated here:"

static void a_summary_says_when_history_was_written_anew(void **state)
{
	(void)state;
	assert_told("0:{'role':'user','content':[" SAY(INTRO "\\n\\n<summary>\\nS\\n</summary>")
		    "],'attribution':'agent','historyRewriteAt':7,'providerPayload':{'a':1},'timestamp':7}\n"
		    "1:{'role':'user','content':["
		    SAY("What follows sums up a branch that this conversation came back from:\\n\\n<summary>\\nB\\n</summary>")
		    "],'attribution':'agent','historyRewriteAt':8,'timestamp':8}\n",
		    "{'role':'compactionSummary','summary':'S','providerPayload':{'a':1},'timestamp':7}",
		    "{'role':'branchSummary','summary':'B','timestamp':8}");
}

static void a_summary_with_blocks_needs_no_words(void **state)
{
	(void)state;
	assert_told("0:{'role':'user','content':[" SAY("S\\n\\n\\n") "," SAY("h") "," IMAGE("1")
		    "],'attribution':'agent','historyRewriteAt':7,'timestamp':7}\n"
		    "1:{'role':'user','content':[" SAY(INTRO "\\n\\n<summary>\\nS\\n</summary>") "," IMAGE("1")
		    "],'attribution':'agent'}\n",
		    "{'role':'compactionSummary','summary':'S\\n\\n\\n','blocks':[" SAY("h") "," IMAGE("1") "],'images':["
		    IMAGE("1") "],'timestamp':7}",
		    "{'role':'compactionSummary','summary':'S','images':[" IMAGE("1") "]}");
}

static void what_was_pruned_keeps_its_images(void **state)
{
	(void)state;
	assert_told("0:{'role':'toolResult','content':[" IMAGE("1") "," SAY("ab") "," IMAGE("2") "],'prunedAt':5,'attribution':'agent'}\n"
		    "1:{'role':'toolResult','content':[" SAY("[Output truncated]") "," IMAGE("1") "],'prunedAt':5,'attribution':'agent'}\n"
		    "2:{'role':'toolResult','content':[" SAY("[Output truncated]") "],'prunedAt':5,'attribution':'agent'}\n",
		    "{'role':'toolResult','content':[" IMAGE("1") "," SAY("a") "," IMAGE("2") "," SAY("b") "],'prunedAt':5}",
		    "{'role':'toolResult','content':[" IMAGE("1") "],'prunedAt':5}",
		    "{'role':'toolResult','content':[" SAY("") "],'prunedAt':5}");
}

static void check_format(const char *text, const char *expect)
{
	struct grove_buf b = GROVE_BUF_INIT;

	assert_int_equal(grove__buf_add_str(&b, ""), 0);
	assert_int_equal(grove__xcsh_format(grove__slice_str(text), true, &b), 0);
	assert_string_equal(b.ptr, expect);
	grove__buf_release(&b);
}

static void one_blank_line_stays_and_more_go(void **state)
{
	(void)state;
	check_format("a\n\nb", "a\n\nb");
	check_format("a\n\n\nb\n \n\t\nc", "a\nb\nc");
	check_format("<x>\n\ny\n\n</x>\n\nz", "<x>\n\ny\n</x>\n\nz");
	check_format("a\n\n- b\n\n1. c", "a\n\n- b\n\n1. c");
	check_format("a\n\n\n```\n\n\n\n| x |\n```\n\n\nb", "a\n```\n\n\n\n| x |\n```\nb");
	check_format("| a |\n| :- |", "|a|\n|:---|");
	check_format("a  \n\n\n\n", "a");
}

/* --- what is said about a run's output --- */

static void check_notice(const char *meta, const char *expect)
{
	struct grove_buf b = GROVE_BUF_INIT;
	char *m = json(meta);

	assert_int_equal(grove__buf_add_str(&b, "|"), 0);
	assert_int_equal(grove__xcsh_notice(grove__slice_str(m), &grove__omp_wording, &b), 0);
	assert_string_equal(b.ptr + 1, expect);
	grove__buf_release(&b);
	free(m);
}

static void what_is_missing_is_told(void **state)
{
	(void)state;
	check_notice("{'truncation':{'truncatedBy':'bytes','totalLines':9,'maxBytes':51200,'shownRange':{'start':1,'end':3},"
		     "'nextOffset':4,'artifactId':'7'}}",
		     "\n\n[Showing lines 1-3 of 9 (50.0KB limit). Use :4 to continue. Read artifact://7 for full output]");
	check_notice("{'truncation':{'direction':'middle','totalLines':9,'outputLines':3,'headRange':{'start':1,'end':2},"
		     "'tailRange':{'start':8,'end':9},'elidedLines':1,'elidedBytes':4400,'nextOffset':4}}",
		     "\n\n[Showing lines 1-2 and 8-9 of 9; 1 middle line (4.3KB) elided. Use :4 to continue]");
	check_notice("{'truncation':{'direction':'middle','totalLines':9,'outputLines':3,'headRange':{'start':1,'end':2},"
		     "'tailRange':{'start':8,'end':9},'totalBytes':30,'outputBytes':20}}",
		     "\n\n[Showing lines 1-2 and 8-9 of 9; 6 middle lines (10B) elided]");
	check_notice("{'truncation':{'direction':'middle','totalLines':9,'elidedBytes':4400}}",
		     "\n\n[Showing head and tail bytes of 9 lines; 4.3KB elided]");
	check_notice("{'truncation':{'partialLine':true,'totalLines':4,'outputBytes':1024,'totalBytes':5000,'nextOffset':2,"
		     "'artifactId':'5','shownRange':{'start':2,'end':2}}}",
		     "\n\n[Showing line 2 (partial, 1.0KB of 4.9KB) of 4. Read artifact://5 for full output]");
	check_notice("{'truncation':{'partialLine':true,'totalLines':4,'outputBytes':1}}",
		     "\n\n[Showing line 1 (partial, 1B of NaNGB) of 4]");
}

#define FOUND(list) "{'diagnostics':{'summary':'S','messages':[" list "]}}"
#define HEAD "\n\nLSP Diagnostics (S):\n"

static void findings_stand_in_a_tree_of_directories(void **state)
{
	(void)state;
	check_notice(FOUND("'src/a.ts:1:2 x','src/b.ts:3:4 y','src/a.ts:5:6 z','lib/q.ts:1:1 l','b.ts:1:1 y','plain','c.ts:1:1 y'"),
		     HEAD "# b.ts\n  1:1 y\n\n# c.ts\n  1:1 y\n\n# src/\n## a.ts\n  1:2 x\n  5:6 z\n## b.ts\n  3:4 y\n\n"
		     "# lib/\n## q.ts\n  1:1 l\n\nplain");
	/* directories that hold nothing else share a line */
	check_notice(FOUND("'x/y/z/v/u/w.ts:1:1 a','x/y/z/w.ts:1:1 b'"),
		     HEAD "# x/y/z/\n## w.ts\n  1:1 b\n\n## v/u/\n### w.ts\n  1:1 a");
	check_notice(FOUND("'x/y/z/w.ts:1:1 a','x/q/z/w.ts:1:1 b','o/p.ts:1:1 c'"),
		     HEAD "# x/\n\n## y/z/\n### w.ts\n  1:1 a\n\n## q/z/\n### w.ts\n  1:1 b\n\n# o/\n## p.ts\n  1:1 c");
	check_notice(FOUND("'a/b:1:1 z','a/b/c:1:1 y'"), HEAD "# a/\n## b\n  1:1 z\n\n## b/\n### c\n  1:1 y");
	check_notice(FOUND("'/abs/x.ts:1:1 a','/y.ts:1:1 b','./c.ts:1:1 c','src\\\\d.ts:1:1 d'"),
		     HEAD "# /\n## y.ts\n  1:1 b\n\n## abs/\n### x.ts\n  1:1 a\n\n# ./\n## c.ts\n  1:1 c\n\n"
		     "# src/\n## d.ts\n  1:1 d");
	check_notice(FOUND("'http://foo/bar:1:1 a','x:1:1\\tb','two\\nlines:1:1 c'"),
		     HEAD "# http://foo/bar\n  1:1 a\n\n# x\n  1:1\tb\n\ntwo\nlines:1:1 c");
}

static void a_deep_tree_costs_no_more_than_a_flat_one(void **state)
{
	struct grove_buf m = GROVE_BUF_INIT, b = GROVE_BUF_INIT;
	size_t i, depth = 200000;

	(void)state;
	assert_int_equal(grove__buf_add_str(&m, "{\"diagnostics\":{\"messages\":[\"x:1:1 y\""), 0);
	for (int twice = 0; twice < 2; twice++) {
		assert_int_equal(grove__buf_add_str(&m, ",\""), 0);
		for (i = 0; i < depth; i++)
			assert_int_equal(grove__buf_add_str(&m, "d/"), 0);
		assert_int_equal(grove__buf_addf(&m, "f%d:1:1 z\"", twice), 0);
	}
	assert_int_equal(grove__buf_add_str(&m, "]}}"), 0);
	assert_int_equal(grove__xcsh_notice(grove__buf_slice(&m), &grove__omp_wording, &b), 0);
	assert_string_equal(b.ptr + b.len - 30, "d/\n## f0\n  1:1 z\n## f1\n  1:1 z");
	grove__buf_release(&m);
	grove__buf_release(&b);
}

/* --- messages of entries --- */

static int take(void *payload, struct grove_slice message)
{
	return grove__buf_add_slice(payload, message);
}

static void check_message(enum grove_kind kind, const char *line, const char *expect)
{
	const int64_t next = 900;
	struct grove_buf b = GROVE_BUF_INIT;
	char *l = json(line);

	assert_int_equal(grove__buf_add_str(&b, ""), 0);
	assert_int_equal(grove__omp_messages(grove__slice_str(l), kind, GROVE_ROLE_NONE, 1000, &next, NULL, NULL,
					     take, &b), 0);
	assert_text(grove__buf_slice(&b), expect);
	grove__buf_release(&b);
	free(l);
}

#define FRAME(d) "{'data':'" d "','mimeType':'i','cols':1,'rows':2,'chars':3}"

static void a_compaction_may_be_pictures(void **state)
{
	(void)state;
	check_message(GROVE_KIND_COMPACTION,
		      "{'summary':'S','preserveData':{'snapcompact':{'frames':[" FRAME("A") ",{'data':'B'},"
		      FRAME("") "],'textHead':'h','textTail':'t'}}}",
		      "{'role':'compactionSummary','summary':'S','blocks':["
		      SAY("h\\n-------------- imaged middle below\\n") ",{'type':'image','data':'A','mimeType':'i'},"
		      SAY("-------------- imaged middle above\\nt")
		      "],'images':[{'type':'image','data':'A','mimeType':'i'}],'timestamp':1000}");
	/* or was to be */
	check_message(GROVE_KIND_COMPACTION, "{'summary':'S','preserveData':{'snapcompact':{'frames':[{'data':'B'}],'textHead':'h','textTail':'t'}}}",
		      "{'role':'compactionSummary','summary':'S','blocks':[" SAY("ht") "],'timestamp':1000}");
	check_message(GROVE_KIND_COMPACTION, "{'summary':'S','preserveData':{'snapcompact':{'textTail':'t','textHead':5}}}",
		      "{'role':'compactionSummary','summary':'S','blocks':[" SAY("t") "],'timestamp':1000}");
	check_message(GROVE_KIND_COMPACTION, "{'summary':'S','preserveData':{'snapcompact':{'frames':[],'textHead':''}}}",
		      "{'role':'compactionSummary','summary':'S','timestamp':1000}");
}

static void a_custom_message_has_all_its_members(void **state)
{
	(void)state;
	check_message(GROVE_KIND_CUSTOM_MESSAGE, "{'content':'x','display':1,'attribution':'user','details':{'a':1}}",
		      "{'role':'custom','customType':'custom-message','content':'x','display':false,'details':{'a':1},"
		      "'attribution':'user','timestamp':1000}");
	check_message(GROVE_KIND_CUSTOM_MESSAGE, "{'customType':'c','content':5}", "");
}

/* --- settings --- */

static void check_settings(const char *expect, const struct grove__set_by *lines, size_t nr)
{
	struct grove__set_by own[MAX] = { { .kind = GROVE_KIND_OTHER } };
	struct grove_buf b = GROVE_BUF_INIT;

	for (size_t i = 0; i < nr; i++) {
		own[i] = lines[i];
		own[i].line = grove__slice_str(json(lines[i].line.ptr));
	}
	assert_int_equal(grove__omp_settings(own, nr, &b), 0);
	assert_text(grove__buf_slice(&b), expect);
	grove__buf_release(&b);
	for (size_t i = 0; i < nr; i++)
		free((char *)own[i].line.ptr);
}

#define SETTINGS(...) (const struct grove__set_by[]){ __VA_ARGS__ }, \
	sizeof((const struct grove__set_by[]){ __VA_ARGS__ }) / sizeof(struct grove__set_by)
#define LEVEL(l) { GROVE_KIND_THINKING_LEVEL, GROVE_ROLE_NONE, { l, sizeof(l) - 1 } }
#define MODEL(l) { GROVE_KIND_MODEL, GROVE_ROLE_NONE, { l, sizeof(l) - 1 } }
#define TIER(l) { GROVE_KIND_SERVICE_TIER, GROVE_ROLE_NONE, { l, sizeof(l) - 1 } }
#define ANSWER(l) { GROVE_KIND_MESSAGE, GROVE_ROLE_ASSISTANT, { l, sizeof(l) - 1 } }
#define REST ",'injectedTtsrRules':[],'mode':'none'"

static void a_level_is_what_was_asked_for_or_what_is_in_force(void **state)
{
	(void)state;
	check_settings(",'thinkingLevel':'off','models':{}" REST, SETTINGS(LEVEL("{'thinkingLevel':null,'configured':null}")));
	check_settings(",'thinkingLevel':'off','configuredThinkingLevel':'off','models':{}" REST,
		       SETTINGS(LEVEL("{'thinkingLevel':'off','configured':null}")));
	check_settings(",'thinkingLevel':'high','configuredThinkingLevel':'auto','models':{}" REST,
		       SETTINGS(LEVEL("{'thinkingLevel':'high','configured':'auto'}")));
	check_settings(",'thinkingLevel':'low','configuredThinkingLevel':'low','models':{}" REST,
		       SETTINGS(LEVEL("{'thinkingLevel':'low'}")));
}

static void a_tier_is_of_a_family(void **state)
{
	(void)state;
	check_settings(",'thinkingLevel':'off','serviceTier':{'openai':'default','anthropic':'priority'},'models':{}" REST,
		       SETTINGS(TIER("{'serviceTier':{'anthropic':'priority','zz':'flex','google':'weird','openai':'default'}}")));
	check_settings(",'thinkingLevel':'off','serviceTier':{'openai':'flex'},'models':{}" REST,
		       SETTINGS(TIER("{'serviceTier':'flex'}")));
	check_settings(",'thinkingLevel':'off','serviceTier':{'openai':'priority','anthropic':'priority','google':'priority'},'models':{}" REST,
		       SETTINGS(TIER("{'serviceTier':'priority'}")));
	check_settings(",'thinkingLevel':'off','models':{}" REST, SETTINGS(TIER("{'serviceTier':{'google':'weird'}}")));
}

static void a_model_that_was_chosen_stays(void **state)
{
	(void)state;
	check_settings(",'thinkingLevel':'off','models':{'smol':'x/1','default':'p/m'}" REST,
		       SETTINGS(MODEL("{'model':'x/1','role':'smol'}"), ANSWER("{'message':{'provider':'p','model':'m'}}")));
	check_settings(",'thinkingLevel':'off','models':{'default':'x/1'}" REST,
		       SETTINGS(MODEL("{'model':'x/1'}"), ANSWER("{'message':{'provider':'p','model':'m'}}")));
}

/* --- the first lines --- */

static void check_header(enum grove__header_for what, const char *expect)
{
	char *from = json("{'type':'session','zzz':1,'additionalDirectories':['/a'],'previousSessionFiles':['/o']}");
	char *kept = json("{'type':'session','providerPromptCacheKey':'k'}");
	struct grove__header_in in = {
		.what = what, .id = "new", .cwd = "/w", .title = "T", .title_source = "user", .time = 0,
	};
	struct grove_buf b = GROVE_BUF_INIT;

	if (what != HEADER_NEW) {
		in.from_id = "old";
		in.from_path = "/o.jsonl";
		in.from_header = grove__slice_str(from);
	}
	assert_int_equal(grove__dialect_omp.header->compose(&in, &b), 0);
	assert_text(grove__buf_slice(&b), expect);
	if (what == HEADER_FORK) {
		grove__buf_clear(&b);
		in.from_header = grove__slice_str(kept);
		assert_int_equal(grove__dialect_omp.header->compose(&in, &b), 0);
		assert_non_null(strstr(b.ptr, "\"providerPromptCacheKey\":\"k\"}"));
	}
	grove__buf_release(&b);
	free(from);
	free(kept);
}

#define TIME "'timestamp':'1970-01-01T00:00:00.000Z'"

static void a_header_has_the_order_of_what_it_is_for(void **state)
{
	(void)state;
	check_header(HEADER_NEW, "{'type':'session','version':3,'id':'new'," TIME ",'cwd':'/w','title':'T','titleSource':'user'}");
	check_header(HEADER_FORK, "{'type':'session','version':3,'id':'new','title':'T','titleSource':'user'," TIME
		     ",'cwd':'/w','additionalDirectories':['/a'],'parentSession':'old','providerPromptCacheKey':'old'}");
	check_header(HEADER_FORK_FROM, "{'type':'session','version':3,'id':'new'," TIME ",'cwd':'/w','parentSession':'old',"
		     "'providerPromptCacheKey':'old','title':'T','titleSource':'user','additionalDirectories':['/a']}");
	check_header(HEADER_BRANCH, "{'type':'session','version':3,'id':'new'," TIME ",'cwd':'/w','title':'T','titleSource':'user',"
		     "'parentSession':'/o.jsonl','additionalDirectories':['/a']}");
}

static void check_slot(const char *title, const char *source, const char *expect)
{
	struct grove_buf b = GROVE_BUF_INIT;

	assert_int_equal(grove__dialect_omp.header->slot->compose(title, source, 0, &b), 0);
	if (b.len && b.ptr[b.len - 1] == '\n')
		grove__buf_cut(&b, b.len - 1);
	assert_int_equal(b.len, 255);
	assert_text(grove__buf_slice(&b), expect);
	grove__buf_release(&b);
}

#define SLOT_TIME "'updatedAt':'1970-01-01T00:00:00.000Z'"

static void a_slot_has_256_bytes_whatever_the_title(void **state)
{
	(void)state;
	check_slot(NULL, NULL, "{'type':'title','v':1,'title':''," SLOT_TIME ",'pad':'%174 '}");
	check_slot("abc", "user", "{'type':'title','v':1,'title':'abc','source':'user'," SLOT_TIME ",'pad':'%155 '}");
	check_slot("éééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééé", "user",
		   "{'type':'title','v':1,'title':'ééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééé',"
		   "'source':'user'," SLOT_TIME ",'pad':''}");
}

/* --- on the way to the disk --- */

static struct grove_buf kept;     /* what was put last */
static char ended[40];            /* and how its name may end */
static unsigned nr_put;

#define REF "blob:sha256:0000000000000000000000000000000000000000000000000000000000000000"

static int keep(void *payload, struct grove_slice bytes, const char *ext, struct grove_buf *ref)
{
	(void)payload;
	nr_put++;
	snprintf(ended, sizeof(ended), "%s", ext ? ext : "-");
	grove__buf_clear(&kept);
	assert_int_equal(grove__buf_add_slice(&kept, bytes), 0);
	return grove__buf_add_str(ref, REF);
}

static int fetch(void *payload, struct grove_slice ref, struct grove_buf *bytes)
{
	(void)payload;
	(void)ref;
	return grove__buf_add_str(bytes, "\1\2\3");
}

static int forget(void **state)
{
	(void)state;
	grove__buf_release(&kept);
	nr_put = 0;
	return 0;
}

/* NULL: needs no change. */
static void check_prepare(const char *line, const char *expect)
{
	static const struct grove__blob_sink sink = { keep, NULL };
	struct grove_buf out = GROVE_BUF_INIT;
	char *in = json(line);

	assert_int_equal(grove__omp_prepare(grove__slice_str(in), &sink, &out), expect ? 0 : 1);
	assert_text(grove__buf_slice(&out), expect ? expect : "");
	grove__buf_release(&out);
	free(in);
}

static void what_is_signed_stays_as_it_is(void **state)
{
	static const char *const whole[] = {
		"{'type':'thinking','thinking':'" LONG "','thinkingSignature':'s','x':'" LONG "','jsonlEvents':1}",
		"{'type':'text','text':'" LONG "','textSignature':'s'}",
		"{'type':'toolCall','arguments':{'a':'" LONG "','content':[{'type':'image','data':'%2000A'}]},'thoughtSignature':'s'}",
		"{'type':'redactedThinking','data':'" LONG "','y':'" LONG "'}",
		"{'type':'reasoning','summary':[{'text':'" LONG "'}],'encrypted_content':'x'}",
		"{'preserveData':{'anthropicCompaction':{'content':'" LONG "','jsonlEvents':1}}}",
		"{'providerPayload':{'type':'anthropicCompaction','content':'" LONG "'}}",
		"{'thinkingSignature':'" LONG "','textSignature':['" LONG "'],'thoughtSignature':'" LONG "'}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(whole) / sizeof(*whole); i++)
		check_prepare(whole[i], NULL);
	assert_int_equal(nr_put, 0);
}

static void what_is_not_is_cut(void **state)
{
	(void)state;
	check_prepare("{'type':'thinking','thinking':'" LONG "','thinkingSignature':''}",
		      "{'type':'thinking','thinking':'" CUT "','thinkingSignature':''}");
	check_prepare("{'type':'text','text':'" LONG "','thinkingSignature':'s'}",
		      "{'type':'text','text':'" CUT "','thinkingSignature':'s'}");
	check_prepare("{'type':'reasoning','y':'" LONG "'}", "{'type':'reasoning','y':'" CUT "'}");
	check_prepare("{'anthropicCompaction':{'y':'" LONG "'}}", "{'anthropicCompaction':{'y':'" CUT "'}}");
	check_prepare("{'result':'" LONG "','signature':'" LONG "'}", "{'result':'" CUT "','signature':'" CUT "'}");
}

#define DETAILED(role, details) "{'type':'message','message':{'role':'" role "','details':{" details "},'x':1}}"
#define TOOL "'serverName':'s','mcpToolName':'t'"
#define CUT_AT(id) ",'meta':{'truncation':{'artifactId':" id "}}"

static void a_structure_that_its_artifact_has_is_not_stored(void **state)
{
	static const char *const whole[] = {
		DETAILED("toolResult", TOOL ",'structuredContent':{'a':1}"),
		DETAILED("toolResult", TOOL ",'structuredContent':{'a':1}" CUT_AT("''")),
		DETAILED("toolResult", TOOL ",'structuredContent':{'a':1}" CUT_AT("7")),
		DETAILED("toolResult", "'serverName':'s','structuredContent':{'a':1}" CUT_AT("'7'")),
		DETAILED("toolResult", TOOL ",'other':{'structuredContent':{'a':1}}" CUT_AT("'7'")),
		DETAILED("assistant", TOOL ",'structuredContent':{'a':1}" CUT_AT("'7'")),
	};

	(void)state;
	check_prepare(DETAILED("toolResult", TOOL ",'structuredContent':{'a':1}" CUT_AT("'7'")),
		      DETAILED("toolResult", TOOL CUT_AT("'7'")));
	check_prepare(DETAILED("toolResult", TOOL CUT_AT("'7'") ",'y':'" LONG "','structuredContent':null"),
		      DETAILED("toolResult", TOOL CUT_AT("'7'") ",'y':'" CUT "'"));
	for (size_t i = 0; i < sizeof(whole) / sizeof(*whole); i++)
		check_prepare(whole[i], NULL);
}

static void ciphers_and_images_are_never_cut(void **state)
{
	(void)state;
	check_prepare("{'type':'compaction','encrypted_content':'" LONG "'}", NULL);
	check_prepare("{'files':[{'image':{'type':'image','data':'" LONG "'}}],'blocks':[{'mimeType':'image/png','data':'" LONG "'}]}",
		      NULL);
}

static void what_a_stream_left_behind_is_kept_in_part(void **state)
{
	(void)state;
	check_prepare("{'content':[{'type':'toolCall','partialJson':'x','jsonlEvents':[1]}]}",
		      "{'content':[{'type':'toolCall','partialJson':'x'}]}");
	check_prepare("{'partialJson':'" LONG "'}", "{'partialJson':'" CUT "'}");
	check_prepare("{'partialJson':'x'}", NULL);
}

static void images_are_looked_for_in_more_places(void **state)
{
	(void)state;
	check_prepare("{'images':[{'data':'%1024A','mimeType':'image/png'}]}", "{'images':[{'data':'" REF "','mimeType':'image/png'}]}");
	assert_int_equal(kept.len, 768);
	assert_string_equal(ended, "png");
	check_prepare("{'frames':[{'data':'%2000A','mimeType':'IMAGE/JPEG; q=1','cols':1}]}",
		      "{'frames':[{'data':'" REF "','mimeType':'IMAGE/JPEG; q=1','cols':1}]}");
	assert_string_equal(ended, "jpg");
	check_prepare("{'content':{'type':'image','data':'%2000A','mimeType':'image/svg+xml'}}",
		      "{'content':{'type':'image','data':'" REF "','mimeType':'image/svg+xml'}}");
	assert_string_equal(ended, "svg");
	check_prepare("{'content':[{'type':'image','data':'%2000A'}]}", "{'content':[{'type':'image','data':'" REF "'}]}");
	assert_string_equal(ended, "-");
	check_prepare("{'type':'image_generation_call','result':'%1024A','y':'" LONG "'}",
		      "{'type':'image_generation_call','result':'" REF "','y':'" LONG "'}");
	check_prepare("{'image_url':'data:image/png;base64,AA'}", "{'image_url':'" REF "'}");
	assert_string_equal(ended, "-");
	assert_int_equal(nr_put, 6);
}

static void not_everything_that_looks_so_is_an_image(void **state)
{
	(void)state;
	check_prepare("{'images':[{'data':'%1023A','mimeType':'image/png'},{'data':'%2000A'},{'data':'%2000A','mimeType':'text/plain'}]}", NULL);
	check_prepare("{'frames':[{'data':'" REF "','mimeType':'image/png'},{'data':'blob:sha256:%2000a','mimeType':'image/png'}]}", NULL);
	check_prepare("{'content':[{'data':'%2000A','mimeType':'image/png'}],'blocks':[{'type':'image','data':'%2000A'}]}", NULL);
	check_prepare("{'type':'image_generation_call','result':'%1023A'}", NULL);
	assert_int_equal(nr_put, 0);
}

static void all_references_come_back(void **state)
{
	static const struct grove__blob_source source = { fetch, NULL };
	struct grove_buf out = GROVE_BUF_INIT;
	char *in = json("{'frames':[{'data':'" REF "','mimeType':'image/png'}],'x':{'type':'image_generation_call','result':'" REF
			"'},'content':[{'type':'image','data':'" REF "'}],'data':'" REF "'}");

	(void)state;
	assert_int_equal(grove__xcsh_restore(grove__slice_str(in), false, &source, &out), 0);
	assert_text(grove__buf_slice(&out),
		    "{'frames':[{'data':'AQID','mimeType':'image/png'}],'x':{'type':'image_generation_call','result':'AQID'},"
		    "'content':[{'type':'image','data':'AQID'}],'data':'" REF "'}");
	grove__buf_release(&out);
	free(in);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_reply_that_failed_is_not_told_nor_what_came_of_it),
		cmocka_unit_test(a_call_that_nobody_answered_is_not_told),
		cmocka_unit_test(signatures_go_with_a_call_that_they_covered),
		cmocka_unit_test(messages_of_other_kinds_are_settled),
		cmocka_unit_test(who_speaks_is_told_last),
		cmocka_unit_test(nothing_is_merged_and_nothing_made_up),
		cmocka_unit_test(an_extension_speaks_as_the_developer),
		cmocka_unit_test(a_developer_shows_no_images),
		cmocka_unit_test(files_are_mentioned_by_the_developer_and_shown_by_the_user),
		cmocka_unit_test(a_summary_says_when_history_was_written_anew),
		cmocka_unit_test(a_summary_with_blocks_needs_no_words),
		cmocka_unit_test(what_was_pruned_keeps_its_images),
		cmocka_unit_test(one_blank_line_stays_and_more_go),
		cmocka_unit_test(what_is_missing_is_told),
		cmocka_unit_test(findings_stand_in_a_tree_of_directories),
		cmocka_unit_test(a_deep_tree_costs_no_more_than_a_flat_one),
		cmocka_unit_test(a_compaction_may_be_pictures),
		cmocka_unit_test(a_custom_message_has_all_its_members),
		cmocka_unit_test(a_level_is_what_was_asked_for_or_what_is_in_force),
		cmocka_unit_test(a_tier_is_of_a_family),
		cmocka_unit_test(a_model_that_was_chosen_stays),
		cmocka_unit_test(a_header_has_the_order_of_what_it_is_for),
		cmocka_unit_test(a_slot_has_256_bytes_whatever_the_title),
		cmocka_unit_test_teardown(what_is_signed_stays_as_it_is, forget),
		cmocka_unit_test_teardown(what_is_not_is_cut, forget),
		cmocka_unit_test_teardown(a_structure_that_its_artifact_has_is_not_stored, forget),
		cmocka_unit_test_teardown(ciphers_and_images_are_never_cut, forget),
		cmocka_unit_test_teardown(what_a_stream_left_behind_is_kept_in_part, forget),
		cmocka_unit_test_teardown(images_are_looked_for_in_more_places, forget),
		cmocka_unit_test_teardown(not_everything_that_looks_so_is_an_image, forget),
		cmocka_unit_test(all_references_come_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
