/*
 * tests/runtime/suite_append.c: appending entries of every type.
 */
#include "runtime.h"
#include "../lib/calls.h"

#include <math.h>

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
	OK(w->g, append_custom(s, "host.data", "{\"n\":1}", NULL));
	OK(w->g, append_custom_message(s, "host.note", "\"read me\"", NULL));
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
	/* the other handle does not know of the new entry, and the flag asks to be told */
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
	/* the other handle did not know that the entry is there */
	OK(w->other, grove_session_append(t, text(mine), NULL, INTO(&id)));
	assert_string_equal(id, "mine");
	assert_raw(t, &raw);
	GOT(w->g, grove_session_append(s, text(other), NULL, NULL), GROVE_ECONFLICT);
	GOT(w->other, grove_session_append(t, text(other), NULL, NULL), GROVE_ECONFLICT);
	/* at another place it would be another entry */
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

static bool ends_with(const struct grove_buf *raw, const struct grove_buf *lines)
{
	return lines->len && raw->len >= lines->len &&
	       !memcmp(raw->ptr + raw->len - lines->len, lines->ptr, lines->len);
}

/* Asserts that the lines of a result are the last ones of the log. */
static void assert_last(struct grove_session *s, struct grove_append_result *r)
{
	struct grove_buf raw = raw_of(s);

	if (!ends_with(&raw, &r->lines))
		fail_msg("%s does not end with %s", raw.ptr, r->lines.ptr ? r->lines.ptr : "(nothing)");
	grove_buf_release(&raw);
	grove_buf_release(&r->lines);
}

static uint32_t count_of(struct grove_session *s)
{
	struct grove_view *v = view_of(s);
	uint32_t nr = grove_view_count(v);

	grove_view_unref(v);
	return nr;
}

static void an_append_tells_its_lines_in_every_dialect(void **state)
{
	static const char *const dialects[] = { "pi", "omp", "xcsh", "claude" };
	static const char *const json[] = { "{\"role\":\"user\",\"content\":\"one\"}",
					    "{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"two\"}]}",
					    "{\"role\":\"user\",\"content\":\"three\"}" };
	struct world *w = *state;
	struct grove_append_options o = { .size = sizeof(o), .flags = GROVE_APPEND_LINES };

	for (size_t i = 0; i < ARRAY(dialects); i++) {
		struct grove_create_options c = { .size = sizeof(c), .dialect = dialects[i] };
		struct grove_session *s;
		uint32_t known = 0;

		OK(w->g, grove_session_create(w->g, &c, &s));
		for (size_t n = 0; n < ARRAY(json); n++) {
			struct grove_append_result r = { .size = sizeof(r) };
			uint32_t after;

			OK(w->g, grove_session_append(s, text(json[n]), &o, &r));
			after = count_of(s);
			assert_int_equal(r.first, known);
			assert_int_equal(r.nr, 1);
			assert_int_equal(r.others, 0);
			assert_int_equal(r.seq, lines_of(s));
			assert_int_equal(r.rev, rev_of(s));
			assert_non_null(strstr(r.lines.ptr, r.id));
			/* a line that stores the leaf may follow */
			if (after == r.first + r.nr)
				assert_last(s, &r);
			known = after;
			grove_buf_release(&r.lines);
		}
		grove_session_close(s);
	}
}

/*
 * The first message creates the log; entries that waited until then are prepared in the same way.
 */
static void an_image_is_told_as_it_is_stored(void **state)
{
	static const char *const dialects[] = { "omp", "xcsh" };
	struct world *w = *state;
	struct grove_append_options o = { .size = sizeof(o), .flags = GROVE_APPEND_LINES };
	char json[9000];

	snprintf(json, sizeof(json), "{\"role\":\"assistant\",\"content\":[{\"type\":\"image\",\"data\":\"%08000d\",\"mimeType\":\"image/png\"}]}", 0);
	for (size_t i = 0; i < ARRAY(dialects); i++) {
		struct grove_create_options c = { .size = sizeof(c), .dialect = dialects[i] };
		struct grove_append_result r = { .size = sizeof(r) };
		struct grove_session *s;

		OK(w->g, grove_session_create(w->g, &c, &s));
		OK(w->g, grove_session_append(s, text("{\"type\":\"model_change\",\"model\":\"p/m\"}"), NULL, NULL));
		OK(w->g, grove_session_append(s, text(json), &o, &r));
		OK(w->g, grove_session_ensure(s));
		assert_in_range(r.lines.len, 1, 1000);
		assert_last(s, &r);
		grove_session_close(s);
	}
}

static void what_others_wrote_is_told_before_ones_own(void **state)
{
	struct world *w = *state;
	struct grove_session *s = four(w), *t = again(w, s, GROVE_OPEN_WRITE);
	struct grove_append_options o = { .size = sizeof(o), .flags = GROVE_APPEND_LINES };
	struct grove_append_result r = { .size = sizeof(r) };
	struct grove_slice two[2] = { text("{\"role\":\"user\",\"content\":\"x\"}"),
				      text("{\"role\":\"user\",\"content\":\"y\"}") };
	const char *ids[2];
	uint64_t generation;

	OK(w->g, grove_session_append_many(s, two, 2, &o, &r));
	assert_int_equal(r.others, 0);
	assert_int_equal(r.first, 4);
	assert_int_equal(r.nr, 2);
	assert_last(s, &r);
	generation = r.generation;
	/* the other handle has not read the new lines yet */
	r.ids = ids;
	OK(w->other, grove_session_append(t, text("{\"type\":\"message\",\"id\":\"mine\",\"message\":{\"role\":\"user\",\"content\":\"z\"}}"), &o, &r));
	assert_int_equal(r.others, 2);
	assert_int_equal(r.first, 6);
	assert_int_equal(r.nr, 1);
	assert_int_equal(r.seq, 8);
	assert_int_equal(r.generation, generation);
	assert_string_equal(ids[0], "mine");
	assert_last(t, &r);
	/* an entry that was there already is not reported, but the lines before it are */
	r.ids = NULL;
	OK(w->g, grove_session_append(s, text("{\"type\":\"message\",\"id\":\"mine\",\"message\":{\"role\":\"user\",\"content\":\"z\"}}"), &o, &r));
	assert_int_equal(r.nr, 0);
	assert_int_equal(r.lines.len, 0);
	assert_string_equal(r.id, "mine");
	grove_session_close(t);
	grove_session_close(s);
}

static void a_log_that_was_rewritten_is_told(void **state)
{
	struct world *w = *state;
	struct grove_session *s = four(w), *t = again(w, s, GROVE_OPEN_WRITE | GROVE_OPEN_FORCE);
	struct grove_append_result r = { .size = sizeof(r) };
	struct grove_slice json = text("{\"role\":\"user\",\"content\":\"x\"}");
	uint64_t generation;

	OK(w->g, grove_session_append(s, json, NULL, &r));
	generation = r.generation;
	OK(w->other, grove_session_forget(t, "b", NULL));
	OK(w->g, grove_session_append(s, json, NULL, &r));
	assert_int_equal(r.others, GROVE_NO_ENTRY);
	assert_int_not_equal(r.generation, generation);
	assert_int_equal(r.first, 4);
	assert_int_equal(r.seq, 6);
	OK(w->g, grove_session_append(s, json, NULL, &r));
	assert_int_equal(r.others, 0);
	grove_session_close(t);
	grove_session_close(s);
}

static void a_revision_can_be_insisted_on(void **state)
{
	struct world *w = *state;
	struct grove_session *s = four(w), *t = again(w, s, GROVE_OPEN_WRITE);
	struct grove_append_options o = { .size = sizeof(o), .flags = GROVE_APPEND_IF_REV, .rev = rev_of(t) };
	struct grove_append_result r = { .size = sizeof(r) };
	struct grove_slice json = text("{\"role\":\"user\",\"content\":\"x\"}");

	OK(w->other, grove_session_append(t, json, &o, &r));
	GOT(w->g, grove_session_append(s, json, &o, NULL), GROVE_ECONFLICT);
	o.rev = r.rev;
	/* moving the leaf is a change, even if the caller gives the parent itself */
	OK(w->other, grove_session_set_leaf(t, "b", LEAF(GROVE_LEAF_PERSIST), NULL));
	o.parent = "d";
	GOT(w->g, grove_session_append(s, json, &o, NULL), GROVE_ECONFLICT);
	o.rev = rev_of(s);
	OK(w->g, grove_session_append(s, json, &o, NULL));
	grove_session_close(t);
	grove_session_close(s);
}

/*
 * If the caller asks for lines but its struct has no room for them, none are returned and none
 * leak.
 */
static void lines_that_nobody_takes_are_released(void **state)
{
	struct world *w = *state;
	struct grove_session *s = four(w);
	struct grove_append_options o = { .size = sizeof(o), .flags = GROVE_APPEND_LINES };
	struct grove_append_result r = { .size = offsetof(struct grove_append_result, lines) };
	struct grove_slice json = text("{\"role\":\"user\",\"content\":\"x\"}");

	OK(w->g, grove_session_append(s, json, &o, NULL));
	OK(w->g, grove_session_append(s, json, &o, &r));
	assert_int_equal(r.first, 5);
	assert_null(r.lines.ptr);
	grove_session_close(s);
}

/* Asserts that the last line contains this text. */
static void assert_wrote(struct grove_session *s, const char *part)
{
	struct grove_buf raw = raw_of(s);
	const char *line;

	raw.ptr[raw.len - 1] = '\0';
	line = strrchr(raw.ptr, '\n') + 1;
	if (!strstr(line, part))
		fail_msg("%s is not in %s", part, line);
	grove_buf_release(&raw);
}

static void a_compaction_says_false_and_fractions(void **state)
{
	static const struct {
		const char *dialect, *said, *unsaid;
	} d[] = { { "pi", "\"fromHook\":false", "fromHook" },
		  { "omp", "\"fromExtension\":false", "fromExtension" },
		  { "xcsh", "\"fromExtension\":false", "fromExtension" } };
	struct world *w = *state;

	for (size_t i = 0; i < ARRAY(d); i++) {
		struct grove_create_options o = { .size = sizeof(o), .dialect = d[i].dialect, .flags = GROVE_CREATE_NOW };
		struct grove_compaction c = { .size = sizeof(c), .summary = "s", .tokens_before = 0.5,
					      .from_hook = GROVE_FALSE };
		struct grove_branch_summary b = { .size = sizeof(b), .summary = "left", .from_hook = GROVE_FALSE };
		struct grove_session *s;
		struct grove_buf raw;
		const char *id;

		OK(w->g, grove_session_create(w->g, &o, &s));
		OK(w->g, grove_session_append(s, text("{\"role\":\"user\",\"content\":\"x\"}"), NULL, INTO(&id)));
		c.first_kept = id;
		OK(w->g, grove_session_append_compaction(s, &c, NULL, NULL));
		assert_wrote(s, "\"tokensBefore\":0.5,");
		assert_wrote(s, d[i].said);
		OK(w->g, branch_from(s, id, &b, NULL));
		assert_wrote(s, d[i].said);
		c.from_hook = GROVE_ABSENT;
		c.tokens_before = 1e21;
		OK(w->g, grove_session_append_compaction(s, &c, NULL, NULL));
		assert_wrote(s, "\"tokensBefore\":1e+21");
		raw = raw_of(s);
		assert_null(strstr(strstr(raw.ptr, "1e+21"), d[i].unsaid));
		grove_buf_release(&raw);
		c.tokens_before = NAN;
		c.from_hook = GROVE_TRUE;
		OK(w->g, grove_session_append_compaction(s, &c, NULL, NULL));
		assert_wrote(s, "\"tokensBefore\":null");
		assert_wrote(s, ":true");
		grove_session_close(s);
	}
}

static void a_compaction_that_keeps_nothing_names_itself(void **state)
{
	static const char *const json[] = {
		"{\"type\":\"compaction\",\"summary\":\"s\",\"firstKeptEntryId\":null,\"tokensBefore\":1}",
		"{\"type\":\"compaction\",\"summary\":\"s\",\"tokensBefore\":1}" };
	struct world *w = *state;
	struct grove_session *s = four(w);
	char want[100];

	for (size_t i = 0; i < ARRAY(json); i++) {
		snprintf(want, sizeof(want), "\"firstKeptEntryId\":\"%s\"", say(s, json[i]));
		assert_wrote(s, want);
	}
	grove_session_close(s);
}

static void an_empty_label_and_a_blank_name_are_written(void **state)
{
	struct world *w = *state;
	struct grove_session *s = four(w);
	struct grove_view *v;

	OK(w->g, grove_session_append_label(s, "a", "L", NULL, NULL));
	assert_label(s, "a", "L");
	OK(w->g, grove_session_append_label(s, "a", "", NULL, NULL));
	assert_wrote(s, "\"label\":\"\"");
	assert_label(s, "a", NULL);
	OK(w->g, grove_session_append_label(s, "a", NULL, NULL, NULL));
	assert_wrote(s, "\"targetId\":\"a\"}");
	OK(w->g, grove_session_set_name(s, "named", GROVE_NAME_BY_USER, NULL));
	OK(w->g, grove_session_set_name(s, " \n ", GROVE_NAME_BY_USER, NULL));
	assert_wrote(s, "\"name\":\"\"");
	v = view_of(s);
	assert_null(grove_view_name(v));
	grove_view_unref(v);
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
	CASE(an_append_tells_its_lines_in_every_dialect),
	CASE(an_image_is_told_as_it_is_stored),
	CASE(what_others_wrote_is_told_before_ones_own),
	CASE(a_log_that_was_rewritten_is_told),
	CASE(a_revision_can_be_insisted_on),
	CASE(lines_that_nobody_takes_are_released),
	CASE(a_compaction_says_false_and_fractions),
	CASE(a_compaction_that_keeps_nothing_names_itself),
	CASE(an_empty_label_and_a_blank_name_are_written),
};
const size_t nr_append_cases = ARRAY(append_cases);
