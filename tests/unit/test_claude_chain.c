/*
 * tests/unit/test_claude_chain.c: which records of a transcript make up the
 * conversation.
 */
#include "claude_world.h"

#include "../lib/chance.h"

#define LINES(...) (const char *const[]){ __VA_ARGS__ }
#define NR(...) (sizeof(LINES(__VA_ARGS__)) / sizeof(const char *))

static void check(const char *said, const char *leaf, enum grove__claude_mode mode,
		  const struct grove__claude_options *opt, const char *const *lines, size_t nr)
{
	struct world w;

	world_init(&w);
	world_fill(&w, lines, nr);
	assert_int_equal(grove__claude_chain(&w.rows, mode, opt, &w.said), 0);
	assert_string_equal(world_said(&w), said);
	if (leaf)
		assert_string_equal(world_leaf(&w), leaf);
	world_release(&w);
}
#define CLI(said, leaf, ...) check(said, leaf, CLAUDE_MODE_CLI, NULL, LINES(__VA_ARGS__), NR(__VA_ARGS__))
#define SDK(said, ...) check(said, NULL, CLAUDE_MODE_SDK, NULL, LINES(__VA_ARGS__), NR(__VA_ARGS__))
#define WITH(opt, said, leaf, ...) \
	check(said, leaf, CLAUDE_MODE_CLI, opt, LINES(__VA_ARGS__), NR(__VA_ARGS__))

static void nothing_is_an_empty_conversation(void **state)
{
	struct world w;

	(void)state;
	world_init(&w);
	for (int mode = 0; mode <= CLAUDE_MODE_AGENT; mode++) {
		assert_int_equal(grove__claude_chain(&w.rows, (enum grove__claude_mode)mode, NULL, &w.said), 0);
		assert_int_equal(w.said.nr, 0);
		assert_int_equal(w.said.leaf, CLAUDE_NONE);
	}
	world_release(&w);
	CLI("", "-", "{'type':'mode','mode':'normal'}", "1<- s @1", "2<1 t @2");
	SDK("", "{'type':'mode','mode':'normal'}", "1<- s @1", "2<1 t @2");
}

static void a_gap_is_bridged_for_five_seconds(void **state)
{
	(void)state;
	CLI("1 2 3 4", "4", "1<- u @1", "2<1 a @2", "3<99 u @7", "4<3 a @8");
	CLI("3 4", "4", "1<- u @1", "2<1 a @2", "3<99 u @8", "4<3 a @9");
	/* a record that is its own parent has none that is there */
	CLI("1 2 3 4", "4", "1<- u @1", "2<1 a @2", "3<3 u @7", "4<3 a @8");
	SDK("3 4", "1<- u @1", "2<1 a @2", "3<99 u @7", "4<3 a @8");
}

static void the_bridge_leads_to_the_latest_time_first_in_the_file(void **state)
{
	(void)state;
	CLI("1 2 5", "5", "1<- u @1", "2<1 a @3", "3<1 u @3", "4<3 a @2", "5<99 u @4");
	/* not to a later time, wherever that stands */
	CLI("1 4", "4", "1<- u @1", "2<1 a @9", "3<2 u @9", "4<99 u @4");
	/* and from a side chain to a side chain only */
	CLI("3 4", "4", "1<- u @1", "2<1 a @2", "3<99 u @3 x", "4<3 a @4");
	CLI("1 4 5", "5", "1<- u @1 x", "2<- u @2", "3<2 a @3", "4<99 u @4 x", "5<4 a @5");
}

static void a_circle_ends_where_it_began(void **state)
{
	(void)state;
	CLI("1 2 3", "3", "1<2 u @1", "2<1 a @2", "3<2 u @3");
	SDK("1 2 3", "1<2 u @1", "2<1 a @2", "3<2 u @3");
	SDK("", "1<3 u @1", "2<1 a @2", "3<2 u @3");
	/* where every record is a parent, one that is not shown may be the leaf */
	SDK("2 3 1", "1<3 u @1", "2<1 a @2", "3<2 u @3", "4<1 p @4");
}

static void of_lines_with_one_uuid_the_last_counts(void **state)
{
	struct world w;

	(void)state;
	CLI("1 2 4 3", "3", "1<- u @1", "2<1 a @2", "3<2 u @3", "4<2 a @4", "3<4 u @5");
	world_init(&w);
	world_fill(&w, LINES("1<- u @1", "2<1 a @2", "1<- u @3"), 3);
	assert_int_equal(grove__claude_rows_find(&w.rows, grove__slice_str("1")), 2);
	assert_int_equal(grove__claude_chain(&w.rows, CLAUDE_MODE_SDK, NULL, &w.said), 0);
	assert_int_equal(w.said.reasons[0], CLAUDE_REPLACED);
	world_release(&w);
}

static void the_recorded_leaf_decides_unless_the_tail_lies_below_it(void **state)
{
	(void)state;
	CLI("1 2 3", "3", "1<- u @1", "2<1 a @2", "3<2 u @3", "4<2 u @4",
	    "{'type':'last-prompt','leafUuid':'3'}");
	CLI("1 2 3", "3", "1<- u @1", "2<1 a @2", "3<2 u @3", "{'type':'last-prompt','leafUuid':'2'}");
	CLI("1 2", "2", "1<- u @1", "2<1 a @2", "3<2 u @3",
	    "{'type':'last-prompt','leafUuid':'2','explicit':true}");
	/* what is written behind it takes away its force */
	CLI("1 2 3", "3", "1<- u @1", "2<1 a @2", "{'type':'last-prompt','leafUuid':'2','explicit':true}",
	    "3<2 u @3");
	CLI("", "-", "1<- u @1", "2<1 a @2", "{'type':'last-prompt','leafUuid':null,'explicit':true}");
	CLI("1 2 3", "3", "1<- u @1", "2<1 a @2", "{'type':'last-prompt','leafUuid':null,'explicit':true}",
	    "3<2 u @3");
	CLI("1 2", "2", "1<- u @1", "2<1 a @2", "{'type':'last-prompt','leafUuid':'99'}");
	SDK("1 2 4", "1<- u @1", "2<1 a @2", "3<2 u @3", "4<2 u @4",
	    "{'type':'last-prompt','leafUuid':'3'}");
}

static void the_next_record_goes_behind_the_attachments(void **state)
{
	(void)state;
	CLI("1 2", "4", "1<- u @1", "2<1 a @2", "3<2 t @3", "4<3 s @4");
	CLI("1 2", "5", "1<- u @1", "2<1 a @2", "3<2 u @3", "4<3 a @4", "5<2 t @5");
	CLI("1 2", "4", "1<- u @1", "2<1 a @2", "3<2 t @3", "4<3 s @4", "5<4 u @5",
	    "{'type':'last-prompt','leafUuid':'2','explicit':true}");
	/* a prompt without a reply: system records are not in between */
	CLI("1", "2", "1<- u @1", "2<1 t @2", "3<2 s @3", "4<3 s @4");
}

static void without_a_message_above_the_tail_the_latest_end_is_the_leaf(void **state)
{
	(void)state;
	CLI("1 2", "2", "1<- u @1", "2<1 a @5", "3<1 u @3", "4<3 a @4", "6<- s @6");
}

#define BOUNDARY(id, meta) \
	"{'type':'system','subtype':'compact_boundary','uuid':'" id "','parentUuid':null," \
	"'logicalParentUuid':'2','timestamp':'2026-01-01T00:00:10.000Z','compactMetadata':{" meta "}}"

static void a_boundary_begins_the_conversation(void **state)
{
	static const struct grove__claude_options all = { .full_history = true };

	(void)state;
	CLI("S 4", "4", "1<- u @1", "2<1 a @2", BOUNDARY("B", ""), "S<B u @11", "4<S a @12");
	WITH(&all, "1 2 S 4", "4", "1<- u @1", "2<1 a @2", BOUNDARY("B", ""), "S<B u @11", "4<S a @12");
	/* but only for those that pass through it */
	CLI("1 5", "5", "1<- u @1", "2<1 a @2", BOUNDARY("B", ""), "S<B u @11", "5<1 u @12");
}

static void what_a_boundary_keeps_follows_its_anchor(void **state)
{
	(void)state;
	CLI("S 2 4", "4", "1<- u @1", "2<1 a @2",
	    BOUNDARY("B", "'preservedMessages':{'anchorUuid':'S','uuids':['2']}"), "S<B u @11", "4<S a @12");
	CLI("2 S 4", "4", "1<- u @1", "2<1 a @2",
	    BOUNDARY("B", "'preservedMessages':{'anchorUuid':'B','uuids':['2']}"), "S<B u @11", "4<S a @12");
	/* one that is missing makes it void, and the segment is not looked at */
	CLI("S 4", "4", "1<- u @1", "2<1 a @2",
	    BOUNDARY("B", "'preservedMessages':{'anchorUuid':'S','uuids':['2','99']},"
			  "'preservedSegment':{'headUuid':'2','anchorUuid':'S','tailUuid':'2'}"),
	    "S<B u @11", "4<S a @12");
	CLI("S 1 2 4", "4", "1<- u @1", "2<1 a @2",
	    BOUNDARY("B", "'preservedSegment':{'headUuid':'1','anchorUuid':'S','tailUuid':'2'}"),
	    "S<B u @11", "4<S a @12");
	/* a tail that does not lead to its head: the SDK does not look */
	CLI("S 4", "4", "1<- u @1", "2<1 a @2",
	    BOUNDARY("B", "'preservedSegment':{'headUuid':'2','anchorUuid':'B','tailUuid':'1'}"),
	    "S<B u @11", "4<S a @12");
	SDK("1 S 4", "1<- u @1", "2<1 a @2",
	    BOUNDARY("B", "'preservedSegment':{'headUuid':'2','anchorUuid':'B','tailUuid':'1'}"),
	    "S<B u @11", "4<S a @12");
}

static void what_is_kept_follows_a_summary_that_nothing_follows(void **state)
{
	static const struct grove__claude_options at_summary = { .leaf = { "S", 1 } };

	(void)state;
#define KEEPS_2_3 BOUNDARY("B", "'preservedMessages':{'anchorUuid':'S','uuids':['2','3']}")
#define FROM_2_TO_3 BOUNDARY("B", "'preservedSegment':{'headUuid':'2','anchorUuid':'S','tailUuid':'3'}")
	CLI("S 2 3", "3", "1<- u @1", "2<1 u @2", "3<2 a @3", KEEPS_2_3, "S<B u @11");
	CLI("S 2 3", "3", "1<- u @1", "2<1 u @2", "3<2 a @3", FROM_2_TO_3, "S<B u @11");
	SDK("S 2 3", "1<- u @1", "2<1 u @2", "3<2 a @3", KEEPS_2_3, "S<B u @11");
	/* a plain last-prompt above the end is passed over, an explicit one counts */
	CLI("S 2 3", "3", "1<- u @1", "2<1 u @2", "3<2 a @3", KEEPS_2_3, "S<B u @11",
	    "{'type':'last-prompt','leafUuid':'S'}");
	CLI("S", "S", "1<- u @1", "2<1 u @2", "3<2 a @3", KEEPS_2_3, "S<B u @11",
	    "{'type':'last-prompt','leafUuid':'S','explicit':true}");
	/* one that names what was forgotten says nothing */
	CLI("S 2 3", "3", "1<- u @1", "2<1 u @2", "3<2 a @3", KEEPS_2_3, "S<B u @11",
	    "{'type':'last-prompt','leafUuid':'1','explicit':true}");
	/* with one branch its end counts, wherever it stands; with two the last line */
	CLI("S 2 3 9 8", "8", "1<- u @1", "2<1 u @2", "3<2 a @3", KEEPS_2_3, "S<B u @11", "8<9 a @12",
	    "9<S u @13");
	CLI("S 2 3 9", "9", "1<- u @1", "2<1 u @2", "3<2 a @3", KEEPS_2_3, "S<B u @11", "8<9 a @12",
	    "7<S u @13", "9<S u @14");
	CLI("S", "S", "1<- u @1", "2<1 u @2", "3<2 a @3", KEEPS_2_3, "7<B u @10", "S<B u @11");
	/* what no message stands above is no branch */
	CLI("S 2 3", "3", "1<- u @1", "2<1 u @2", "3<2 a @3", KEEPS_2_3, "7<B t @10", "S<B u @11");
	/* without anything kept it is the last line */
	CLI("1 2 9", "9", "1<- u @1", "2<1 a @2", "8<9 a @3", "9<2 u @4");
	WITH(&at_summary, "S", "S", "1<- u @1", "2<1 u @2", "3<2 a @3", KEEPS_2_3, "S<B u @11");
}

static void what_a_boundary_does_not_keep_is_forgotten_by_the_cli(void **state)
{
	struct world w;

	(void)state;
	CLI("S 2 5", "5", "1<- u @1", "2<1 a @2",
	    BOUNDARY("B", "'preservedMessages':{'anchorUuid':'S','uuids':['2']}"), "S<B u @11", "4<S a @12",
	    "5<1 u @13");
	/* an attachment has lost its parent, and is bridged like any other */
	CLI("S 2 4 6", "6", "1<- u @1", "2<1 a @2",
	    BOUNDARY("B", "'preservedMessages':{'anchorUuid':'S','uuids':['2']}"), "S<B u @11", "4<S a @12",
	    "5<1 t @13", "6<5 u @14");
	SDK("1 5", "1<- u @1", "2<1 a @2",
	    BOUNDARY("B", "'preservedMessages':{'anchorUuid':'S','uuids':['2']}"), "S<B u @11", "4<S a @12",
	    "5<1 u @13");
	world_init(&w);
	world_fill(&w, LINES("1<- u @1", "2<1 a @2",
			     BOUNDARY("B", "'preservedMessages':{'anchorUuid':'S','uuids':['2']}"),
			     "S<B u @11", "4<S a @12"), 5);
	assert_int_equal(grove__claude_chain(&w.rows, CLAUDE_MODE_CLI, NULL, &w.said), 0);
	assert_int_equal(w.said.reasons[0], CLAUDE_DROPPED);
	assert_int_equal(w.said.reasons[1], CLAUDE_SENT_KEPT);
	assert_int_equal(w.said.reasons[2], CLAUDE_SILENT);
	assert_int_equal(w.said.reasons[3], CLAUDE_SENT);
	world_release(&w);
}

#define CALL(id, parent, reply, tool, at) \
	"{'type':'assistant','uuid':'" id "','parentUuid':'" parent "','timestamp':'2026-01-01T00:00:" at \
	".000Z','message':{'id':'" reply "','content':[{'type':'tool_use','id':'" tool "'}]}}"
#define RESULT(id, parent, tool, at) \
	"{'type':'user','uuid':'" id "','parentUuid':'" parent "','timestamp':'2026-01-01T00:00:" at \
	".000Z','message':{'content':[{'type':'tool_result','tool_use_id':'" tool "','content':'x'}]}}"

static void results_beside_the_chain_belong_to_its_replies(void **state)
{
	(void)state;
	CLI("1 A B rA rB 9", "9", "1<- u @1", CALL("A", "1", "m", "a", "02"), CALL("B", "A", "m", "b", "03"),
	    RESULT("rA", "A", "a", "04"), RESULT("rB", "B", "b", "05"), "9<rB a @6");
	/* the program pulls results together, the SDK leaves the chain as it is */
	CLI("1 A B rA rB 9", "9", "1<- u @1", CALL("A", "1", "m", "a", "02"), RESULT("rA", "A", "a", "03"),
	    CALL("B", "rA", "m", "b", "04"), RESULT("rB", "B", "b", "05"), "9<rB a @6");
	SDK("1 A rA B rB 9", "1<- u @1", CALL("A", "1", "m", "a", "02"), RESULT("rA", "A", "a", "03"),
	    CALL("B", "rA", "m", "b", "04"), RESULT("rB", "B", "b", "05"), "9<rB a @6");
	/* one that hangs elsewhere is known by the call that it names */
	CLI("1 A rA 9", "9", "1<- u @1", CALL("A", "1", "m", "a", "02"), RESULT("rA", "99", "a", "03"),
	    "9<A u @6");
	SDK("1 A rA 9", "1<- u @1", CALL("A", "1", "m", "a", "02"), RESULT("rA", "99", "a", "03"), "9<A u @6");
	/* and ends the conversation if its call did */
	CLI("1 A rA", "rA", "1<- u @1", CALL("A", "1", "m", "a", "02"), RESULT("rA", "A", "a", "03"), "8<rA a @4",
	    "{'type':'last-prompt','leafUuid':'A','explicit':true}");
}

/* The last line of a uuid is what it says, the first one is where it stands. */
static void a_repeated_record_keeps_its_place(void **state)
{
	(void)state;
	CLI("1 A B C rA rB rC 9", "9", "1<- u @1", CALL("A", "1", "m", "a", "02"), CALL("B", "A", "m", "b", "03"),
	    CALL("C", "B", "m", "c", "04"), RESULT("rA", "A", "a", "05"), RESULT("rB", "B", "b", "06"),
	    RESULT("rC", "C", "c", "07"), CALL("B", "A", "m", "b", "08"), "9<rC a @9");
	CLI("1 A B rA rB 9", "9", "1<- u @1", CALL("A", "1", "m", "a", "02"), CALL("B", "A", "m", "b", "03"),
	    RESULT("rA", "A", "a", "05"), RESULT("rB", "B", "b", "06"), RESULT("rA", "A", "a", "07"),
	    "9<rB a @8");
	/* the leaf goes by lines */
	CLI("1 2 3", "3", "1<- u @1", "2<1 a @2", "3<2 u @3", "4<3 a @4", "3<2 u @5");
	SDK("1 2", "1<- u @1", "2<1 a @2", "3<1 a @3", "2<1 a @4");
	/* above the boundary is what first stood above it, and the boundary where it first stood */
	CLI("S 2 9", "9", "1<- u @1", "2<1 a @2",
	    BOUNDARY("B", "'preservedMessages':{'anchorUuid':'S','uuids':['2']}"), "S<B u @11", "1<S u @12",
	    "9<1 u @13");
	CLI("S 2 8 9", "9", "1<- u @1", "2<1 a @2",
	    BOUNDARY("B", "'preservedMessages':{'anchorUuid':'S','uuids':['2']}"), "S<B u @11", "8<S a @12",
	    BOUNDARY("B", "'preservedMessages':{'anchorUuid':'S','uuids':['2']}"), "9<8 u @13");
	SDK("R 2 8 9", "1<- u @1", "2<1 a @2",
	    BOUNDARY("B", "'preservedMessages':{'anchorUuid':'S','uuids':['1','2']}"), "S<B u @11", "8<S a @12",
	    BOUNDARY("C", "'preservedMessages':{'anchorUuid':'R','uuids':['2','8']}"), "R<C u @13",
	    BOUNDARY("B", "'preservedMessages':{'anchorUuid':'S','uuids':['1','2']}"), "9<R u @14");
	/* of equal times the bridge leads to the first in the file */
	CLI("1 9", "9", "1<- u @1", "2<1 a @1", "1<- u @1", "9<99 u @2");
}

static void a_call_beside_the_chain_is_no_other_branch(void **state)
{
	(void)state;
	CLI("1 A B rA rB 9", "9", "1<- u @1", CALL("A", "1", "m", "a", "02"), RESULT("rA", "A", "a", "03"),
	    CALL("B", "A", "m", "b", "04"), RESULT("rB", "B", "b", "05"), "9<rB a @6",
	    "{'type':'last-prompt','leafUuid':'rA'}");
}

static void side_chains_notes_and_teams(void **state)
{
	(void)state;
	/* one on the way up is sent by the one, and not shown by the other */
	CLI("1 2 3", "3", "1<- u @1", "2<1 a @2 x", "3<2 u @3");
	SDK("1 3", "1<- u @1", "2<1 a @2 x", "3<2 u @3");
	CLI("1 2 3", "3", "1<- u @1", "2<1 a @2", "3<2 u @3 m");
	SDK("1 2", "1<- u @1", "2<1 a @2", "3<2 u @3 m");
	SDK("1 2", "1<- u @1", "2<1 a @2", "3<2 u @3 T");
	CLI("1 2", "2", "1<- u @1", "2<1 a @2", "3<- u @3 x", "4<3 a @4 x");
	/* in a sub-agent's own file they are the conversation */
	check("3 4", "4", CLAUDE_MODE_AGENT, NULL, LINES("3<- u @3 x", "4<3 a @4 x", "5<4 t @5 x"), 3);
}

static void progress_is_passed_over(void **state)
{
	(void)state;
	CLI("1 4", "4", "1<- u @1", "2<1 p @2", "3<2 p @3", "4<3 a @4", "5<4 p @5");
	SDK("1 4", "1<- u @1", "2<1 p @2", "3<2 p @3", "4<3 a @4", "5<4 p @5");
	/* a circle of them is a gap */
	CLI("1 4", "4", "1<- u @1", "2<3 p @2", "3<2 p @3", "4<3 a @4");
}

#define QUEUED(id, parent, more) \
	"{'type':'attachment','uuid':'" id "','parentUuid':'" parent "','timestamp':'2026-01-01T00:00:30.000Z'," \
	"'attachment':{'type':'queued_command','prompt':'" id "'" more "}}"

static void what_was_typed_while_the_agent_worked_is_said(void **state)
{
	static const struct grove__claude_options prompts = { .prompts = true };

	(void)state;
	CLI("1 2 4", "4", "1<- u @1", "2<1 a @2", QUEUED("3", "2", ""), "4<3 a @4");
	WITH(&prompts, "1 2 3 4", "4", "1<- u @1", "2<1 a @2", QUEUED("3", "2", ""), "4<3 a @4");
	SDK("1 2 3 4", "1<- u @1", "2<1 a @2", QUEUED("3", "2", ""), "4<3 a @4");
	/* at the end, too; but it is no conversation by itself */
	WITH(&prompts, "1 2 3", "5", "1<- u @1", "2<1 a @2", QUEUED("3", "2", ""), "5<3 t @4");
	CLI("1 2", "5", "1<- u @1", "2<1 a @2", QUEUED("3", "2", ""), "5<3 t @4");
	SDK("1 2 3", "1<- u @1", "2<1 a @2", QUEUED("3", "2", ""), "5<3 t @4");
	SDK("", QUEUED("3", "2", ""));
	/* the SDK does not show what no person typed, nor what was not taken up, nor the same twice */
	SDK("1 2 4", "1<- u @1", "2<1 a @2", QUEUED("3", "2", ",'isMeta':true"), "4<3 a @4");
	SDK("1 2 4", "1<- u @1", "2<1 a @2", QUEUED("3", "2", ""), "4<3 u @4");
	SDK("1 2 3 5", "1<- u @1", "2<1 a @2", QUEUED("3", "2", ""), "4<3 u @4 m", "5<4 a @5");
	SDK("1 2 3 5", "1<- u @1", "2<1 a @2", QUEUED("3", "2", ",'source_uuid':'s'"),
	    QUEUED("4", "3", ",'source_uuid':'s'"), "5<4 a @5");
	SDK("1 2 5", "1<- u @1", "2<1 a @2", QUEUED("3", "2", ",'source_uuid':'1'"), "5<3 a @5");
	/* below a result beside the chain */
	WITH(&prompts, "1 A B rA 8 rB 9", "9", "1<- u @1", CALL("A", "1", "m", "a", "02"),
	     CALL("B", "A", "m", "b", "03"), RESULT("rA", "A", "a", "04"), QUEUED("8", "rA", ""),
	     RESULT("rB", "B", "b", "05"), "9<rB a @6");
	WITH(&prompts, "1 A B rA rB 9", "9", "1<- u @1", CALL("A", "1", "m", "a", "02"),
	     CALL("B", "A", "m", "b", "03"), RESULT("rA", "A", "a", "04"), QUEUED("8", "rA", ""), "7<8 a @5",
	     RESULT("rB", "B", "b", "05"), "9<rB a @6");
}

static const char *why_not(const char *id, const char *const *lines, size_t nr)
{
	const char *why;
	struct world w;
	int rc;

	world_init(&w);
	world_fill(&w, lines, nr);
	rc = grove__claude_may_end(&w.rows, CLAUDE_MODE_CLI,
				   grove__claude_rows_find(&w.rows, grove__slice_str(id)), &why);
	assert_int_equal(rc, why != NULL);
	world_release(&w);
	return why;
}

static void the_leaf_cannot_be_everywhere(void **state)
{
	const char *const lines[] = {
		"0<- t @0", "1<- u @1", "2<1 a @2", "3<1 a @3 x",
		BOUNDARY("B", "'preservedMessages':{'anchorUuid':'S','uuids':['2']}"), "S<B u @11", "4<S a @12",
		"5<- t @13",
	};

	(void)state;
	assert_null(why_not("2", lines, 8));
	assert_null(why_not("S", lines, 8));
	assert_null(why_not("4", lines, 8));
	assert_non_null(strstr(why_not("1", lines, 8), "above a compaction"));
	assert_non_null(strstr(why_not("5", lines, 8), "no message"));
	/* without a boundary nothing is forgotten */
	assert_null(why_not("1", lines, 4));
	assert_non_null(strstr(why_not("3", lines, 4), "sub-agent"));
}

static void a_leaf_can_be_asked_for(void **state)
{
	struct grove__claude_options opt = { .leaf = { "2", 1 } };
	struct world w;

	(void)state;
	WITH(&opt, "1 2", "2", "1<- u @1", "2<1 a @2", "3<2 u @3");
	/* what a later boundary does had not been done then */
	WITH(&opt, "1 2", "2", "1<- u @1", "2<1 a @2",
	     BOUNDARY("B", "'preservedMessages':{'anchorUuid':'S','uuids':['2']}"), "S<B u @11");
	opt.leaf = grove__slice("", 0);
	WITH(&opt, "", "-", "1<- u @1", "2<1 a @2");
	opt.leaf = grove__slice_str("99");
	world_init(&w);
	world_fill(&w, LINES("1<- u @1", "{'type':'last-prompt','leafUuid':'99'}"), 2);
	assert_int_equal(grove__claude_chain(&w.rows, CLAUDE_MODE_CLI, &opt, &w.said), GROVE_ENOTFOUND);
	world_release(&w);
}

static void snips_are_applied_when_asked(void **state)
{
	static const struct grove__claude_options snips = { .apply_snips = true };

	(void)state;
#define SNIPPED "1<- u @1", "2<1 a @2", "3<2 u @3", "4<3 a @4", \
	"{'type':'system','subtype':'snip_boundary','uuid':'5','parentUuid':'4'," \
	"'timestamp':'2026-01-01T00:00:05.000Z','removedUuids':['2','3']}"
	CLI("1 2 3 4", "5", SNIPPED);
	WITH(&snips, "1 4", "5", SNIPPED);
}

static void every_reason_has_words(void **state)
{
	(void)state;
	for (int i = 0; i < CLAUDE_REASONS; i++)
		assert_non_null(grove__claude_reason_text((enum grove__claude_reason)i));
}

/* Whatever the file: no row twice, nothing that is not there, always an end. */
static void any_transcript_has_a_conversation(void **state)
{
	static const char types[] = "uuuaaatsp";
	struct chance c = chance_begin("transcripts");

	(void)state;
	for (int round = 0; round < 300; round++) {
		unsigned nr = 1 + chance_below(&c, 40);
		struct world w;

		world_init(&w);
		for (unsigned i = 0; i < nr; i++) {
			char words[64];

			if (!chance_below(&c, 12)) {
				snprintf(words, sizeof(words), "{'type':'last-prompt','leafUuid':'%u'}",
					 chance_below(&c, nr));
				world_line(&w, grove__slice_str(quoted(&w, words)));
				continue;
			}
			if (!chance_below(&c, 15)) {
				char line[400];

				snprintf(line, sizeof(line),
					 "{'type':'system','subtype':'compact_boundary','uuid':'%u','parentUuid':null,"
					 "'compactMetadata':{'%s':{'anchorUuid':'%u','headUuid':'%u','tailUuid':'%u',"
					 "'uuids':['%u','%u']}}}", i,
					 chance_below(&c, 2) ? "preservedMessages" : "preservedSegment",
					 chance_below(&c, nr), chance_below(&c, nr),
					 chance_below(&c, nr), chance_below(&c, nr),
					 chance_below(&c, nr));
				world_line(&w, grove__slice_str(quoted(&w, line)));
				continue;
			}
			snprintf(words, sizeof(words), "%u<%u %c @%u %s", chance_below(&c, nr),
				 chance_below(&c, nr + 2), types[chance_below(&c, sizeof(types) - 1)],
				 chance_below(&c, 20), chance_below(&c, 6) ? "" : "x");
			world_record(&w, words);
		}
		for (int mode = 0; mode <= CLAUDE_MODE_AGENT; mode++) {
			bool seen[64] = { false };

			assert_int_equal(grove__claude_chain(&w.rows, (enum grove__claude_mode)mode, NULL,
							     &w.said), 0);
			assert_int_equal(w.said.nr_reasons, w.rows.nr);
			for (size_t i = 0; i < w.said.nr; i++) {
				assert_true(w.said.rows[i] < w.rows.nr);
				assert_false(seen[w.said.rows[i]]);
				seen[w.said.rows[i]] = true;
			}
		}
		world_release(&w);
	}
}

/* As many boundaries as children, and each moves them all: below the last one kept in the end. */
static void children_may_be_moved_very_often(void **state)
{
	const unsigned nr = 20000;
	struct world w;
	char words[300];

	(void)state;
	world_init(&w);
	world_record(&w, "k0<- u @1");
	for (unsigned i = 0; i < nr; i++) {
		snprintf(words, sizeof(words), "c%u<k0 u @2", i);
		world_record(&w, words);
	}
	for (unsigned i = 1; i <= nr; i++) {
		snprintf(words, sizeof(words), "k%u<- u @1", i);
		world_record(&w, words);
		snprintf(words, sizeof(words),
			 "{'type':'system','subtype':'compact_boundary','uuid':'b%u','parentUuid':null,"
			 "'compactMetadata':{'preservedMessages':{'anchorUuid':'k%u','uuids':['k%u']}}}",
			 i, i - 1, i);
		world_line(&w, grove__slice_str(quoted(&w, words)));
	}
	assert_int_equal(grove__claude_chain(&w.rows, CLAUDE_MODE_SDK, NULL, &w.said), 0);
	assert_string_equal(world_leaf(&w), "c19999");
	assert_int_equal(w.said.nr, nr + 2);
	world_release(&w);
}

static void a_reply_may_have_very_many_records(void **state)
{
	const unsigned nr = 50000;
	struct world w;
	char words[200];

	(void)state;
	world_init(&w);
	for (unsigned i = 0; i < nr; i++) {
		snprintf(words, sizeof(words),
			 "{'type':'assistant','uuid':'%u','parentUuid':'%u','message':{'id':'m'}}", i + 1, i);
		world_line(&w, grove__slice_str(quoted(&w, words)));
	}
	for (int mode = 0; mode <= CLAUDE_MODE_AGENT; mode++) {
		assert_int_equal(grove__claude_chain(&w.rows, (enum grove__claude_mode)mode, NULL, &w.said), 0);
		assert_int_equal(w.said.nr, nr);
		for (unsigned i = 0; i < nr; i++)
			assert_int_equal(w.said.rows[i], i);
	}
	world_release(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_an_empty_conversation),
		cmocka_unit_test(a_gap_is_bridged_for_five_seconds),
		cmocka_unit_test(the_bridge_leads_to_the_latest_time_first_in_the_file),
		cmocka_unit_test(a_circle_ends_where_it_began),
		cmocka_unit_test(of_lines_with_one_uuid_the_last_counts),
		cmocka_unit_test(the_recorded_leaf_decides_unless_the_tail_lies_below_it),
		cmocka_unit_test(the_next_record_goes_behind_the_attachments),
		cmocka_unit_test(without_a_message_above_the_tail_the_latest_end_is_the_leaf),
		cmocka_unit_test(a_boundary_begins_the_conversation),
		cmocka_unit_test(what_a_boundary_keeps_follows_its_anchor),
		cmocka_unit_test(what_is_kept_follows_a_summary_that_nothing_follows),
		cmocka_unit_test(what_a_boundary_does_not_keep_is_forgotten_by_the_cli),
		cmocka_unit_test(results_beside_the_chain_belong_to_its_replies),
		cmocka_unit_test(a_repeated_record_keeps_its_place),
		cmocka_unit_test(a_call_beside_the_chain_is_no_other_branch),
		cmocka_unit_test(side_chains_notes_and_teams),
		cmocka_unit_test(progress_is_passed_over),
		cmocka_unit_test(what_was_typed_while_the_agent_worked_is_said),
		cmocka_unit_test(the_leaf_cannot_be_everywhere),
		cmocka_unit_test(a_leaf_can_be_asked_for),
		cmocka_unit_test(snips_are_applied_when_asked),
		cmocka_unit_test(every_reason_has_words),
		cmocka_unit_test(any_transcript_has_a_conversation),
		cmocka_unit_test(children_may_be_moved_very_often),
		cmocka_unit_test(a_reply_may_have_very_many_records),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
