/*
 * tests/unit/test_claude_llm.c: the conversation that is sent to the model when
 * a session is resumed.
 */
#include "claude_world.h"

#define MAX 16

/* What came out: the number of each message, `-` for one that was made up. */
struct told {
	struct grove_buf order, last;
	size_t nr, stop_at;
};

static int listen(void *payload, size_t from, struct grove_slice json)
{
	struct told *t = payload;

	if (t->stop_at && ++t->nr == t->stop_at)
		return GROVE_ECANCELLED;
	if (from == SIZE_MAX)
		grove__buf_add_char(&t->order, '-');
	else
		grove__buf_addf(&t->order, "%zu", from);
	grove__buf_clear(&t->last);
	return grove__buf_add_slice(&t->last, json);
}

static struct told tell(struct world *w, const char *const *messages, size_t nr, unsigned error_mask)
{
	struct grove_slice in[MAX];
	uint8_t marks[MAX], any = 0;
	struct told t = { .nr = 0 };

	assert_true(nr <= MAX);
	for (size_t i = 0; i < nr; i++) {
		const char *text = messages[i];

		marks[i] = error_mask >> i & 1 ? CLAUDE_MARK_ERROR : 0;
		/* q: a queued prompt, c: a local command */
		if (text[0] != '{') {
			marks[i] |= text[0] == 'q' ? CLAUDE_MARK_QUEUED : CLAUDE_MARK_COMMAND;
			text += 2;
		}
		any |= marks[i];
		in[i] = grove__slice_str(quoted(w, text));
	}
	assert_int_equal(grove__claude_llm(in, any ? marks : NULL, nr, 0, listen, &t), 0);
	return t;
}

static void check(const char *order, const char *last, const char *const *messages, size_t nr,
		  unsigned errors)
{
	struct world w;
	struct told t;

	world_init(&w);
	t = tell(&w, messages, nr, errors);
	assert_string_equal(t.order.ptr ? t.order.ptr : "", order);
	if (last)
		assert_string_equal(t.last.ptr, quoted(&w, last));
	grove__buf_release(&t.order);
	grove__buf_release(&t.last);
	world_release(&w);
}
#define LINES(...) (const char *const[]){ __VA_ARGS__ }
#define CHECK(order, last, errors, ...) \
	check(order, last, LINES(__VA_ARGS__), sizeof(LINES(__VA_ARGS__)) / sizeof(const char *), errors)

#define U "{'role':'user','content':'u'}"
#define A "{'role':'assistant','content':[{'type':'text','text':'a'}]}"
#define CALL(reply, id) \
	"{'id':'" reply "','role':'assistant','content':[{'type':'tool_use','id':'" id "'}]}"
#define RESULT(id) "{'role':'user','content':[{'type':'tool_result','tool_use_id':'" id "'}]}"
#define THINK(reply) "{'id':'" reply "','role':'assistant','content':[{'type':'thinking'}]}"
#define ERROR "{'role':'assistant','model':'<synthetic>','content':[{'type':'text','text':'e'}]}"

static void what_is_whole_is_sent_as_it_is(void **state)
{
	(void)state;
	CHECK("01", NULL, 0, U, A);
	CHECK("0123", NULL, 0, U, CALL("m", "t"), RESULT("t"), A);
	check("", NULL, NULL, 0, 0);
}

static void a_prompt_at_the_end_gets_an_answer(void **state)
{
	(void)state;
	CHECK("012-", "{'role':'assistant','content':[{'type':'text','text':'No response requested.'}]}", 0,
	      U, A, U);
	CHECK("012-", NULL, 0, U, CALL("m", "t"), RESULT("t"));
}

static void a_call_at_the_end_gets_an_error(void **state)
{
	struct world w;
	struct told t;

	(void)state;
	CHECK("01--", NULL, 0, U, CALL("m", "t"));
	/* also beside one that was answered */
	CHECK("0123--", NULL, 0, U, CALL("m", "t"), CALL("m", "v"), RESULT("t"));
	world_init(&w);
	t = tell(&w, LINES(U, "{'role':'assistant','content':[{'type':'text','text':'x'},"
			     "{'type':'tool_use','id':'t'}]}"), 2, 0);
	assert_string_equal(t.order.ptr, "01--");
	grove__buf_release(&t.order);
	grove__buf_release(&t.last);
	world_release(&w);
}

static void a_call_further_up_that_nothing_answers_is_left_out(void **state)
{
	(void)state;
	CHECK("023", NULL, 0, U, CALL("m", "t"), U, A);
	/* with the words beside it */
	CHECK("023", NULL, 0, U,
	      "{'role':'assistant','content':[{'type':'text','text':'x'},{'type':'tool_use','id':'t'}]}", U, A);
	/* of several calls, those that are answered stay */
	CHECK("0123", NULL, 0, U,
	      "{'role':'assistant','content':[{'type':'tool_use','id':'t'},{'type':'tool_use','id':'v'}]}",
	      RESULT("v"), A);
}

static void a_result_without_a_call_is_left_out(void **state)
{
	(void)state;
	CHECK("02", NULL, 0, U, RESULT("t"), A);
	/* what stands beside it stays */
	CHECK("01-", NULL, 0, A,
	      "{'role':'user','content':[{'type':'tool_result','tool_use_id':'t'},{'type':'text','text':'kept'}]}");
}

static void errors_and_mere_thinking_are_left_out(void **state)
{
	(void)state;
	CHECK("023", NULL, 1 << 1, U, ERROR, U, A);
	/* a model's own words are not, whatever the flag says */
	CHECK("0123", NULL, 1 << 1, U, A, U, A);
	/* an error at the end is an answer */
	CHECK("0", NULL, 1 << 1, U, ERROR);
	CHECK("023", NULL, 0, U, THINK("m"), U, A);
	CHECK("0-", NULL, 0, U, THINK("m"));
	/* thinking before the words of the same reply stays, if the reply names its model */
	CHECK("012", NULL, 0, U,
	      "{'id':'m','model':'x','role':'assistant','content':[{'type':'thinking','thinking':'h'}]}",
	      "{'id':'m','model':'x','role':'assistant','content':[{'type':'text','text':'x'}]}");
	CHECK("02", NULL, 0, U, THINK("m"), "{'id':'m','role':'assistant','content':[{'type':'text','text':'x'}]}");
	CHECK("01", "{'id':'m','role':'assistant','content':[{'type':'text','text':'x'}]}", 0, U,
	      "{'id':'m','role':'assistant','content':[{'type':'thinking','thinking':'h'},{'type':'text','text':'x'}]}");
}

#define USE(id, reply) \
	"{'id':'" reply "','role':'assistant','content':[{'type':'tool_use','id':'" id "','name':'n','input':{}}]}"
#define SAYS(reply) "{'id':'" reply "','role':'assistant','content':[{'type':'text','text':'x'}]}"
#define RES(id) "{'role':'user','content':[{'type':'tool_result','tool_use_id':'" id "','content':'r'}]}"
#define Q "q:{'role':'user','content':'queued'}"
#define COMMAND "c:{'role':'user','content':'printed'}"

static void calls_come_last_in_a_reply(void **state)
{
	(void)state;
	CHECK("0213456", NULL, 0, U, USE("a", "m"), SAYS("m"), USE("b", "m"), RES("a"), RES("b"), A);
	/* another reply is another message */
	CHECK("01234", NULL, 0, U, USE("a", "m"), SAYS("k"), RES("a"), A);
}

static void a_queued_prompt_stands_behind_the_reply_or_the_result_before_it(void **state)
{
	(void)state;
	CHECK("01234", NULL, 0, U, USE("a", "m"), RES("a"), Q, A);
	CHECK("01324", NULL, 0, U, A, U, Q, A);
	CHECK("0135246", NULL, 0, U, A, U, Q, U, Q, A);
	CHECK("10-", NULL, 0, U, Q);
	/* an error of the API is in its way, though it is not sent */
	CHECK("01245", NULL, 1 << 3, U, A, U, ERROR, Q, A);
	/* behind a call the results come first */
	CHECK("01324", NULL, 0, U, USE("a", "m"), Q, RES("a"), A);
	/* at the end it asks for no answer of its own */
	CHECK("012", NULL, 0, U, A, Q);
}

static void what_local_commands_print_is_sent(void **state)
{
	(void)state;
	CHECK("01234", NULL, 0, U, A, COMMAND, U, A);
	CHECK("012", NULL, 0, U, A, COMMAND);
	/* below an open prompt it stands behind the answer that is made up */
	CHECK("0-1", NULL, 0, U, COMMAND);
	CHECK("201-", NULL, 0, U, COMMAND, Q);
}

static void a_turn_that_ends_with_results_was_interrupted_as_a_whole(void **state)
{
	(void)state;
	CHECK("01-23-", NULL, 0, U, USE("a", "m"), USE("b", "k"), RES("b"));
	/* not beyond its prompt, and not if it was finished */
	CHECK("0234-", NULL, 0, U, USE("a", "m"), U, USE("b", "k"), RES("b"));
	CHECK("0234", NULL, 0, U, USE("a", "m"), USE("b", "k"), RES("b"), A);
	CHECK("02--", NULL, 0, U, USE("a", "m"), USE("b", "k"));
}

static void an_answer_of_the_listener_ends_it(void **state)
{
	struct grove_slice in = grove__slice_str("{\"role\":\"user\",\"content\":\"u\"}");
	struct told t = { .stop_at = 2 };

	(void)state;
	assert_int_equal(grove__claude_llm(&in, NULL, 1, 0, listen, &t), GROVE_ECANCELLED);
	grove__buf_release(&t.order);
	grove__buf_release(&t.last);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_whole_is_sent_as_it_is),
		cmocka_unit_test(a_prompt_at_the_end_gets_an_answer),
		cmocka_unit_test(a_call_at_the_end_gets_an_error),
		cmocka_unit_test(a_call_further_up_that_nothing_answers_is_left_out),
		cmocka_unit_test(a_result_without_a_call_is_left_out),
		cmocka_unit_test(errors_and_mere_thinking_are_left_out),
		cmocka_unit_test(calls_come_last_in_a_reply),
		cmocka_unit_test(a_queued_prompt_stands_behind_the_reply_or_the_result_before_it),
		cmocka_unit_test(what_local_commands_print_is_sent),
		cmocka_unit_test(a_turn_that_ends_with_results_was_interrupted_as_a_whole),
		cmocka_unit_test(an_answer_of_the_listener_ends_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
