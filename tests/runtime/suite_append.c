/*
 * tests/runtime/suite_append.c: new entries, of every type.
 */
#include "runtime.h"
#include "../lib/calls.h"

static void every_type_of_entry_is_stored(void **state)
{
	static const char *const types[] = {
		"{\"type\":\"thinking_level_change\",", "{\"type\":\"model_change\",",
		"{\"type\":\"message\",",		"{\"type\":\"message\",",
		"{\"type\":\"compaction\",",		"{\"type\":\"branch_summary\",",
		"{\"type\":\"label\",",			"{\"type\":\"session_info\",",
		"{\"type\":\"custom\",",		"{\"type\":\"custom_message\",",
		"{\"type\":\"subagent_batch\",",	"{\"type\":\"subagent_result\",",
	};
	struct world *w = *state;
	struct grove_session *s = create(w, NULL), *t;
	struct grove_compaction c = { .size = sizeof(c), .summary = "so far", .tokens_before = 9 };
	struct grove_branch_summary b = { .size = sizeof(b), .summary = "left" };
	struct grove_buf raw;
	const char *id, *user, *p;

	OK(w->g, grove_session_append_thinking_level(s, "high", NULL, NULL));
	OK(w->g, grove_session_append_model(s, "p", "m", NULL, NULL, NULL));
	OK(w->g, grove_session_append(s, grove_str("{\"role\":\"user\",\"content\":\"x\"}"), NULL, INTO(&user)));
	OK(w->g, grove_session_append(s, grove_str("{\"role\":\"assistant\",\"content\":[]}"), NULL, INTO(&id)));
	c.first_kept = id;
	OK(w->g, grove_session_append_compaction(s, &c, NULL, INTO(&id)));
	OK(w->g, branch_from(s, id, &b, NULL));
	OK(w->g, grove_session_append_label(s, user, "here", NULL, NULL));
	OK(w->g, grove_session_set_name(s, "name", GROVE_NAME_BY_USER, NULL));
	OK(w->g, grove_session_append_custom(s, "host.data", "{\"n\":1}", NULL, NULL));
	OK(w->g, grove_session_append_custom_message(s, "host.note", "\"read me\"", NULL, 0, NULL, NULL));
	say(s, "{\"type\":\"subagent_batch\",\"batchId\":\"B\",\"tasks\":[]}");
	say(s, "{\"type\":\"subagent_result\",\"batchId\":\"B\",\"results\":[]}");
	t = again(w, s, GROVE_OPEN_READ);
	raw = raw_of(t);
	p = raw.ptr;
	for (size_t i = 0; i < ARRAY(types); i++) {
		p = strchr(p, '\n') + 1;
		if (strncmp(p, types[i], strlen(types[i])))
			fail_msg("%s is not %s", p, types[i]);
	}
	assert_int_equal(lines_of(t), 1 + ARRAY(types));
	assert_label(t, user, "here");
	grove_buf_release(&raw);
	grove_session_close(t);
	grove_session_close(s);
}

static void an_entry_goes_below_the_leaf_or_where_it_is_told_to(void **state)
{
	struct world *w = *state;
	struct grove_session *s = four(w), *t;
	struct grove_append_options o = { .size = sizeof(o), .parent = "nowhere" };
	struct grove_slice json = text("{\"role\":\"user\",\"content\":\"x\"}");
	struct grove_buf raw = raw_of(s);

	GOT(w->g, grove_session_append(s, json, &o, NULL), GROVE_ENOTFOUND);
	assert_raw(s, &raw);
	add_below(s, "b", "e", "user");
	assert_path(s, "a b e");
	add_below(s, GROVE_ROOT, "f", "user");
	assert_path(s, "f");
	add(s, "g", "assistant");
	t = again(w, s, GROVE_OPEN_READ);
	assert_path(t, "f g");
	assert_int_equal(lines_of(t), 8);
	grove_buf_release(&raw);
	grove_session_close(t);
	grove_session_close(s);
}

static void a_number_of_lines_can_be_insisted_on(void **state)
{
	struct world *w = *state;
	struct grove_session *s = four(w), *t = again(w, s, GROVE_OPEN_WRITE);
	struct grove_append_options o = { .size = sizeof(o), .flags = GROVE_APPEND_IF_SEQ, .seq = 5 };
	struct grove_slice json = text("{\"role\":\"user\",\"content\":\"x\"}");
	struct grove_buf raw;

	OK(w->g, grove_session_append(s, json, &o, NULL));
	raw = raw_of(s);
	/* the other one has not looked since: that is what it asks for */
	GOT(w->other, grove_session_append(t, json, &o, NULL), GROVE_ECONFLICT);
	o.seq = 7;
	GOT(w->other, grove_session_append(t, json, &o, NULL), GROVE_ECONFLICT);
	assert_raw(t, &raw);
	o.seq = 6;
	OK(w->other, grove_session_append(t, json, &o, NULL));
	assert_int_equal(lines_of(s), 7);
	grove_buf_release(&raw);
	grove_session_close(t);
	grove_session_close(s);
}

static void a_retry_writes_nothing_twice(void **state)
{
	static const char mine[] = "{\"type\":\"message\",\"id\":\"mine\","
				   "\"message\":{\"role\":\"user\",\"content\":\"once\"}}";
	static const char other[] = "{\"type\":\"message\",\"id\":\"mine\","
				    "\"message\":{\"role\":\"user\",\"content\":\"twice\"}}";
	struct world *w = *state;
	struct grove_session *s = four(w), *t = again(w, s, GROVE_OPEN_WRITE);
	struct grove_append_options o = { .size = sizeof(o), .parent = "a" };
	struct grove_buf raw;
	const char *id;

	OK(w->g, grove_session_append(s, text(mine), NULL, INTO(&id)));
	assert_string_equal(id, "mine");
	raw = raw_of(s);
	OK(w->g, grove_session_append(s, text(mine), NULL, INTO(&id)));
	assert_string_equal(id, "mine");
	/* by who did not know that it was there */
	OK(w->other, grove_session_append(t, text(mine), NULL, INTO(&id)));
	assert_string_equal(id, "mine");
	assert_raw(t, &raw);
	GOT(w->g, grove_session_append(s, text(other), NULL, NULL), GROVE_ECONFLICT);
	GOT(w->other, grove_session_append(t, text(other), NULL, NULL), GROVE_ECONFLICT);
	/* in another place it is another entry */
	GOT(w->g, grove_session_append(s, text(mine), &o, NULL), GROVE_ECONFLICT);
	assert_raw(s, &raw);
	assert_leaf(s, "mine");
	assert_leaf(t, "mine");
	grove_buf_release(&raw);
	grove_session_close(t);
	grove_session_close(s);
}

static void several_are_stored_or_none(void **state)
{
	struct world *w = *state;
	struct grove_session *s = four(w);
	struct grove_slice json[] = { text("{\"role\":\"user\",\"content\":\"x\"}"),
				      text("{\"role\":\"assistant\",\"content\":[]}"), text("{no") };
	struct grove_buf raw = raw_of(s);
	const char *ids[3];

	GOT(w->g, grove_session_append_many(s, json, 3, NULL, INTO(ids)), GROVE_EJSON);
	assert_raw(s, &raw);
	OK(w->g, grove_session_append_many(s, json, 2, NULL, INTO(ids)));
	assert_leaf(s, ids[1]);
	assert_int_equal(lines_of(s), 7);
	grove_buf_release(&raw);
	grove_session_close(s);
}

static void two_writers_go_on_below_each_other(void **state)
{
	struct world *w = *state;
	struct grove_session *s = four(w), *t = again(w, s, GROVE_OPEN_WRITE);

	for (int i = 0; i < 10; i++) {
		char a[8], b[8];

		snprintf(a, sizeof(a), "s%d", i);
		snprintf(b, sizeof(b), "t%d", i);
		add(s, a, "user");
		add(t, b, "assistant");
	}
	assert_path(t, "a b c d s0 t0 s1 t1 s2 t2 s3 t3 s4 t4 s5 t5 s6 t6 s7 t7 s8 t8 s9 t9");
	assert_int_equal(lines_of(s), 25);
	assert_leaf(s, "t9");
	grove_session_close(t);
	grove_session_close(s);
}

static void who_wants_to_be_told_of_other_writers_is(void **state)
{
	struct world *w = *state;
	struct grove_session *s = four(w), *t = again(w, s, GROVE_OPEN_WRITE | GROVE_OPEN_STRICT);
	struct grove_slice json = text("{\"role\":\"user\",\"content\":\"x\"}");
	struct grove_buf raw;

	add(s, "e", "user");
	raw = raw_of(s);
	GOT(w->other, grove_session_append(t, json, NULL, NULL), GROVE_ECONFLICT);
	assert_raw(s, &raw);
	assert_in_range(grove_session_refresh(t), 0, 1);
	OK(w->other, grove_session_append(t, json, NULL, NULL));
	grove_buf_release(&raw);
	grove_session_close(t);
	grove_session_close(s);
}

static void a_line_that_is_long_or_odd_stays_what_it_is(void **state)
{
	struct world *w = *state;
	struct grove_session *s = create(w, NULL), *t;
	struct grove_buf raw;
	size_t n = (size_t)1 << 20;
	char *p = malloc(n + 200);

	assert_non_null(p);
	strcpy(p, "{\"role\":\"user\","
		  "\"content\":\"\\u0000 \\ud800 \xf0\x9f\x8c\xb3 ' \\\\ \",\"odd\":\"");
	memset(p + strlen(p), 'x', n);
	strcpy(p + n, "\"}");
	say(s, p);
	raw = raw_of(s);
	t = again(w, s, GROVE_OPEN_READ);
	assert_raw(t, &raw);
	assert_has(&raw, "\\u0000 \\ud800 \xf0\x9f\x8c\xb3 ' \\\\ \",\"odd\":\"xxx");
	assert_true(raw.len > n);
	free(p);
	grove_buf_release(&raw);
	grove_session_close(t);
	grove_session_close(s);
}

static void delegations_keep_their_order_of_members(void **state)
{
	struct world *w = *state;
	struct grove_session *s = four(w);
	struct grove_buf raw;

	say(s, "{\"tasks\":[{\"taskId\":\"1\"}],\"metadata\":{\"k\":1},\"batchId\":\"B\","
	       "\"type\":\"subagent_batch\"}");
	say(s, "{\"metadata\":{},\"results\":[{\"taskId\":\"1\",\"status\":\"ok\"}],\"batchId\":\"B\","
	       "\"type\":\"subagent_result\"}");
	raw = raw_of(s);
	assert_has(&raw, ",\"batchId\":\"B\",\"tasks\":[{\"taskId\":\"1\"}],\"metadata\":{\"k\":1}}\n");
	assert_has(&raw, ",\"batchId\":\"B\",\"results\":[{\"taskId\":\"1\",\"status\":\"ok\"}],"
			 "\"metadata\":{}}\n");
	grove_buf_release(&raw);
	grove_session_close(s);
}

const struct CMUnitTest append_cases[] = {
	CASE(every_type_of_entry_is_stored),
	CASE(an_entry_goes_below_the_leaf_or_where_it_is_told_to),
	CASE(a_number_of_lines_can_be_insisted_on),
	CASE(a_retry_writes_nothing_twice),
	CASE(several_are_stored_or_none),
	CASE(two_writers_go_on_below_each_other),
	CASE(who_wants_to_be_told_of_other_writers_is),
	CASE(a_line_that_is_long_or_odd_stays_what_it_is),
	CASE(delegations_keep_their_order_of_members),
};
const size_t nr_append_cases = ARRAY(append_cases);
