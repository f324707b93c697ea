/*
 * tests/unit/test_claude_rows.c: how a line of a transcript is read and kept as
 * a row.
 */
#include "claude_world.h"

static struct grove__claude_row row_of(struct world *w, const char *line)
{
	struct grove__json_line l;
	struct grove__claude_row row;

	world_scan(w, grove__slice_str(quoted(w, line)), &l, &row);
	return row;
}

static void a_record_tells_its_place(void **state)
{
	struct grove__claude_row r;
	struct world w;

	(void)state;
	world_init(&w);
	r = row_of(&w, "{'parentUuid':'p','isSidechain':false,'type':'assistant','uuid':'u',"
		       "'timestamp':'1970-01-01T00:00:01.000Z','agentId':'a1','message':{'id':'m','role':"
		       "'assistant','content':[{'type':'tool_use','id':'t'}]}}");
	assert_int_equal(r.class, CLAUDE_ASSISTANT);
	assert_int_equal(r.parent_is, PARENT_NAMED);
	assert_true(grove__slice_is(r.uuid, "u"));
	assert_true(grove__slice_is(r.parent, "p"));
	assert_true(grove__slice_is(r.reply, "m"));
	assert_true(grove__slice_is(r.agent, "a1"));
	assert_int_equal(r.time, 1000);
	assert_int_equal(r.flags, CLAUDE_TOOL_USE);
	world_release(&w);
}

static void a_parent_is_named_null_or_absent(void **state)
{
	struct world w;

	(void)state;
	world_init(&w);
	assert_int_equal(row_of(&w, "{'type':'user','parentUuid':null}").parent_is, PARENT_NULL);
	assert_int_equal(row_of(&w, "{'type':'user','parentUuid':''}").parent_is, PARENT_NULL);
	assert_int_equal(row_of(&w, "{'type':'user'}").parent_is, PARENT_ABSENT);
	/* it names something, though nothing that there could be */
	assert_int_equal(row_of(&w, "{'type':'user','parentUuid':5}").parent_is, PARENT_NAMED);
	world_release(&w);
}

static void flags_are_true_as_in_javascript(void **state)
{
	struct world w;

	(void)state;
	world_init(&w);
	assert_int_equal(row_of(&w, "{'type':'user','isMeta':'yes','isSidechain':1,'teamName':'t'}").flags,
			 CLAUDE_META | CLAUDE_SIDECHAIN | CLAUDE_TEAM);
	assert_int_equal(row_of(&w, "{'type':'user','isMeta':'','isSidechain':0,'teamName':null}").flags, 0);
	assert_int_equal(row_of(&w, "{'type':'user','isCompactSummary':true}").flags, CLAUDE_COMPACT_SUMMARY);
	assert_int_equal(row_of(&w, "{'type':'assistant','isApiErrorMessage':true}").flags, CLAUDE_API_ERROR);
	world_release(&w);
}

static void content_tells_calls_results_and_thinking(void **state)
{
	static const struct {
		const char *content;
		unsigned flags;
	} cases[] = {
		{ "'text'", 0 },
		{ "[]", 0 },
		{ "null", 0 },
		{ "[{'type':'text','text':'x'}]", 0 },
		{ "[{'type':'thinking','thinking':'x'}]", CLAUDE_THINKING_ONLY },
		{ "[{'type':'thinking'},{'type':'redacted_thinking'}]", CLAUDE_THINKING_ONLY },
		{ "[{'type':'thinking'},{'type':'text'}]", 0 },
		{ "[ { 'id' : 't' , 'input' : { 'a' : [ '}' , ']' ] } , 'type' : 'tool_use' } ]", CLAUDE_TOOL_USE },
		{ "[{'type':'text'},7,[],{'tool_use_id':'t','type':'tool_result'}]", CLAUDE_TOOL_RESULT },
	};
	struct world w;

	(void)state;
	world_init(&w);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char line[256];

		snprintf(line, sizeof(line), "{'type':'assistant','message':{'content':%s}}", cases[i].content);
		assert_int_equal(row_of(&w, line).flags, cases[i].flags);
	}
	world_release(&w);
}

static void metadata_is_told_apart(void **state)
{
	static const struct {
		const char *type;
		enum grove__claude_class class;
	} cases[] = {
		{ "last-prompt", CLAUDE_LAST_PROMPT }, { "custom-title", CLAUDE_CUSTOM_TITLE },
		{ "ai-title", CLAUDE_AI_TITLE }, { "summary", CLAUDE_TITLE }, { "tag", CLAUDE_TAG },
		{ "relocated", CLAUDE_RELOCATED }, { "api-request-blob", CLAUDE_NOTE },
		{ "progress", CLAUDE_PROGRESS }, { "of-tomorrow", CLAUDE_OTHER }, { "", CLAUDE_OTHER },
	};
	struct grove__claude_row r;
	struct world w;

	(void)state;
	world_init(&w);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char line[64];

		snprintf(line, sizeof(line), "{'type':'%s'}", cases[i].type);
		assert_int_equal(row_of(&w, line).class, cases[i].class);
	}
	assert_int_equal(row_of(&w, "[1]").class, CLAUDE_OTHER);
	assert_int_equal(row_of(&w, "{'type':5}").class, CLAUDE_OTHER);
	r = row_of(&w, "{'type':'last-prompt','leafUuid':'l','explicit':true}");
	assert_true(grove__slice_is(r.leaf, "l"));
	assert_int_equal(r.flags, CLAUDE_EXPLICIT);
	assert_int_equal(row_of(&w, "{'type':'last-prompt','leafUuid':null}").flags, CLAUDE_LEAF_NULL);
	world_release(&w);
}

static void ids_are_kept_once(void **state)
{
	struct world w;

	(void)state;
	world_init(&w);
	for (int i = 0; i < 1000; i++)
		world_record(&w, i % 2 ? "b<a a @1" : "a<b u @1");
	assert_int_equal(w.rows.nr, 1000);
	assert_int_equal(w.rows.nr_names, 2);
	assert_int_equal(grove__claude_rows_find(&w.rows, grove__slice_str("a")), 998);
	assert_int_equal(grove__claude_rows_find(&w.rows, grove__slice_str("c")), CLAUDE_NONE);
	assert_true(grove__slice_is(grove__claude_rows_uuid(&w.rows, 999), "b"));
	/* an id that is only named leads to no row, until there is one */
	world_record(&w, "d<late u @1");
	assert_int_equal(grove__claude_rows_find(&w.rows, grove__slice_str("late")), CLAUDE_NONE);
	world_record(&w, "late<- u @1");
	assert_int_equal(grove__claude_rows_find(&w.rows, grove__slice_str("late")), 1001);
	world_release(&w);
}

static void a_row_is_small(void **state)
{
	(void)state;
	assert_true(sizeof(struct grove__claude_packed) <= 48);
	assert_true(sizeof(struct grove__claude_name) <= 16);
}

static void lists_of_boundaries_and_snips_are_kept(void **state)
{
	struct world w;

	(void)state;
	world_init(&w);
	world_line(&w, grove__slice_str(quoted(&w, "{'type':'system','subtype':'compact_boundary','uuid':'b',"
		"'compactMetadata':{'preservedMessages':{'anchorUuid':'x','uuids':['1',2,'3']}}}")));
	world_line(&w, grove__slice_str(quoted(&w, "{'type':'system','subtype':'snip_boundary','uuid':'s',"
		"'snipMetadata':{'removedUuids':['1']}}")));
	assert_int_equal(w.rows.nr_kept, 2);
	assert_true(w.rows.kept[0].messages);
	assert_int_equal(w.rows.kept[0].nr, 3);
	assert_int_equal(w.rows.pool[w.rows.kept[0].first + 1], CLAUDE_NONE);
	assert_true(grove__slice_is(grove__claude_name(&w.rows, w.rows.kept[0].anchor), "x"));
	assert_int_equal(w.rows.kept[1].nr, 1);
	world_release(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_record_tells_its_place),
		cmocka_unit_test(a_parent_is_named_null_or_absent),
		cmocka_unit_test(flags_are_true_as_in_javascript),
		cmocka_unit_test(content_tells_calls_results_and_thinking),
		cmocka_unit_test(metadata_is_told_apart),
		cmocka_unit_test(ids_are_kept_once),
		cmocka_unit_test(a_row_is_small),
		cmocka_unit_test(lists_of_boundaries_and_snips_are_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
