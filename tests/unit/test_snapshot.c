/*
 * Tests snapshots: a snapshot is one document that describes the session at one
 * moment, within the requested window, and shows the results of sub-agents in
 * one form.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../lib/world.h"

#include "dialect/dialect.h"
#include "json/scan.h"
#include "json/value.h"
#include "view/heads.h"
#include "view/snapshot.h"

static struct grove_slice snapshot(struct world *w, struct grove_view *v,
				   const struct grove_snapshot_options *opt, struct grove_buf *doc)
{
	struct grove__json_want want;
	struct grove__json_line l;

	grove_buf_release(doc);
	OK(w, grove_view_snapshot(v, opt, grove_buf_sink(doc)));
	/* one valid value, but for the line ends that stand between its parts */
	assert_int_equal(doc->ptr[doc->len - 1], '\n');
	for (size_t i = 0; i + 1 < doc->len; i++)
		if (doc->ptr[i] == '\n')
			doc->ptr[i] = ' ';
	assert_int_equal(grove__buf_reserve(doc, GROVE__JSON_PAD), 0);
	memset(doc->ptr + doc->len, 0, GROVE__JSON_PAD);
	grove__json_want_init(&want, NULL, 0);
	assert_int_equal(grove__json_scan(&want, doc->ptr, doc->len, true, &l), JSON_VALUE);
	return (struct grove_slice){ doc->ptr, doc->len - 1 };
}

static size_t items(struct grove_slice list)
{
	struct grove__json_iter it;
	size_t nr = 0;

	grove__json_iter_init(&it, list);
	while (grove__json_next(&it))
		nr++;
	return nr;
}

static struct grove_slice member(struct grove_slice doc, const char *a, const char *b)
{
	return grove__json_get(grove__json_get(doc, a), b);
}

static struct grove_session *memory(struct world *w)
{
	struct grove_create_options o = { .size = sizeof(o), .flags = GROVE_CREATE_MEMORY };
	struct grove_session *s;

	OK(w, grove_session_create(w->g, &o, &s));
	return s;
}

static void a_snapshot_tells_the_session_and_its_tree(void **state)
{
	struct world *w = *state;
	struct grove_session *s = memory(w);
	struct grove_buf doc = GROVE_BUF_INIT;
	const char *a = user(w, s, "a"), *b = user(w, s, "b");
	struct grove_view *v;
	struct grove_slice d;

	OK(w, grove_session_set_leaf(s, a, NULL, NULL));
	user(w, s, "c");
	OK(w, grove_session_append_label(s, b, "here", NULL, NULL));
	v = view_of(w, s);
	/* what comes later is not in it */
	user(w, s, "d");
	d = snapshot(w, v, NULL, &doc);
	assert_true(grove__json_string_is(member(d, "session", "provider"), "memory"));
	assert_true(grove__json_string_is(member(d, "session", "rootEntryId"), a));
	assert_true(grove__slice_is(member(d, "session", "entryCount"), "4"));
	assert_true(grove__slice_is(member(d, "session", "seq"), "5"));
	assert_int_equal(items(grove__json_get(d, "entries")), 4);
	assert_int_equal(items(grove__json_get(d, "activePath")), 3);
	assert_int_equal(items(member(d, "childrenByParentId", a)), 2);
	assert_int_equal(items(member(d, "childrenByParentId", "root")), 1);
	assert_true(grove__json_string_is(member(d, "labelsByEntryId", b), "here"));
	assert_int_equal(items(member(d, "runtimeContext", "messages")), 2);
	grove_view_unref(v);
	grove_buf_release(&doc);
	grove_session_close(s);
}

static void a_window_and_the_next_one_are_the_whole(void **state)
{
	struct world *w = *state;
	struct grove_session *s = memory(w);
	struct grove_snapshot_options o = { .size = sizeof(o) };
	struct grove_buf doc = GROVE_BUF_INIT;
	struct grove_view *v, *later;
	struct grove_slice d;
	uint64_t seq;

	for (int i = 0; i < 10; i++)
		user(w, s, "words");
	v = view_of(w, s);
	d = snapshot(w, v, NULL, &doc);
	seq = (uint64_t)grove__json_number(member(d, "session", "seq"));
	for (int i = 0; i < 3; i++)
		user(w, s, "more");
	later = view_of(w, s);
	o.after = seq;
	d = snapshot(w, later, &o, &doc);
	assert_int_equal(items(grove__json_get(d, "entries")), 3);
	assert_int_equal(items(grove__json_get(d, "activePath")), 13);
	o.limit = 2;
	d = snapshot(w, later, &o, &doc);
	assert_int_equal(items(grove__json_get(d, "entries")), 2);
	o.after = 0;
	o.entries = GROVE_SNAPSHOT_PATH;
	d = snapshot(w, later, &o, &doc);
	assert_int_equal(items(grove__json_get(d, "entries")), 2);
	o.entries = GROVE_SNAPSHOT_NONE;
	d = snapshot(w, later, &o, &doc);
	assert_int_equal(items(grove__json_get(d, "entries")), 0);
	o.entries = (enum grove_snapshot_entries)7;
	assert_int_equal(grove_view_snapshot(v, &o, grove_buf_sink(&doc)), GROVE_EINVAL);
	grove_view_unref(v);
	grove_view_unref(later);
	grove_buf_release(&doc);
	grove_session_close(s);
}

static void an_empty_session_has_a_snapshot(void **state)
{
	struct world *w = *state;
	struct grove_session *s = memory(w);
	struct grove_view *v = view_of(w, s);
	struct grove_buf doc = GROVE_BUF_INIT;
	struct grove_slice d = snapshot(w, v, NULL, &doc);

	assert_true(grove__slice_is(member(d, "session", "leafEntryId"), "null"));
	assert_int_equal(items(grove__json_get(d, "activePath")), 0);
	grove_view_unref(v);
	grove_buf_release(&doc);
	grove_session_close(s);
}

static void long_values_become_references_and_keys_never_do(void **state)
{
	char key[400], in[2000], want[2000];
	struct grove_buf out = GROVE_BUF_INIT;

	(void)state;
	memset(key, 'k', 200);
	key[200] = '\0';
	snprintf(in, sizeof(in), "{\"%s\" : \"short\",\"b\":[\"%s\",{\"c\":\"%s\"}]}", key, key, key);
	snprintf(want, sizeof(want),
		 "{\"%s\" : \"short\",\"b\":[{\"$ref\":\"id\",\"bytes\":200},{\"c\":{\"$ref\":\"id\",\"bytes\":200}}]}",
		 key);
	assert_int_equal(grove__brief_value(&out, text(in), text("id"), 199), 0);
	assert_string_equal(out.ptr, want);
	grove__buf_clear(&out);
	assert_int_equal(grove__brief_value(&out, text(in), text("id"), 200), 0);
	assert_string_equal(out.ptr, in);
	/* 128 escapes are 128 bytes of text, and so is the least that is replaced */
	grove__buf_clear(&out);
	in[0] = '"';
	for (int i = 0; i < 128; i++)
		memcpy(in + 1 + 2 * i, "\\\"", 2);
	memcpy(in + 257, "\"", 2);
	assert_int_equal(grove__brief_value(&out, text(in), text("id"), 1), 0);
	assert_string_equal(out.ptr, in);
	grove__buf_release(&out);
}

static struct grove_buf project(const char *result, const char *batch, const char *tool)
{
	struct grove__delegation_in in = { text(result), text(batch), text(tool) };
	struct grove__delegation_out out = { GROVE_BUF_INIT, GROVE_BUF_INIT, GROVE_BUF_INIT,
					     GROVE_BUF_INIT };

	assert_int_equal(grove__dialect_pi.delegation->project(&in, &out), 0);
	grove__buf_release(&out.events);
	grove__buf_release(&out.evidence);
	grove__buf_release(&out.routes);
	return out.projection;
}

#define TAIL(from, list, used) \
	"\"diagnostics\":{\"selectedSource\":\"" from "\",\"inputSources\":[" list "],\"fallbackUsed\":" used "}}"
#define WORKER(id, agent, status, summary) \
	"{\"taskId\":" id ",\"agent\":" agent ",\"status\":" status ",\"summary\":" summary \
	",\"events\":[],\"evidence\":[],\"toolRoutes\":[]}"

static void results_of_any_age_have_one_shape(void **state)
{
	static const struct {
		const char *result, *batch, *tool, *want;
	} cases[] = {
		{ "{\"batchId\":\"b\"}", "", "",
		  "{\"batchId\":\"b\",\"status\":\"unknown\",\"workers\":[]," TAIL("none", "", "false") },
		{ "{\"batchId\":\"b\"}", "{\"tasks\":[{\"taskId\":\"t\",\"agent\":\"a\"}]}", "",
		  "{\"batchId\":\"b\",\"status\":\"running\",\"workers\":[" WORKER(
			  "\"t\"", "\"a\"", "\"pending\"", "null") "]," TAIL("none", "", "false") },
		{ "{\"results\":[{\"taskId\":1,\"status\":\"ok\"}]}", "", "",
		  "{\"batchId\":null,\"status\":\"completed\",\"workers\":[" WORKER(
			  "1", "null", "\"ok\"", "null") "]," TAIL("subagent_result", "\"subagent_result\"", "false") },
		{ "{\"batchId\":\"b\",\"results\":[]}", "{\"metadata\":{\"results\":[{\"taskId\":\"t\"}]}}",
		  "{\"message\":{\"details\":{\"metadata\":{\"results\":[{\"taskId\":\"t\",\"status\":\"error\"}]}}}}",
		  "{\"batchId\":\"b\",\"status\":\"failed\",\"workers\":[" WORKER(
			  "\"t\"", "null", "\"error\"", "null") "]," TAIL(
			  "tool_message", "\"tool_message\",\"metadata_fallback\"", "true") },
		{ "{\"batchId\":\"b\"}", "{\"metadata\":{\"status\":\"odd\",\"results\":[{\"taskId\":\"t\"},3]}}", "",
		  "{\"batchId\":\"b\",\"status\":\"odd\",\"workers\":[" WORKER(
			  "\"t\"", "null", "\"unknown\"", "null") "]," TAIL(
			  "metadata_fallback", "\"metadata_fallback\"", "true") },
		/* what is not what it should be is as good as not there */
		{ "{\"batchId\":7,\"results\":\"none\",\"metadata\":[1]}", "3", "[]",
		  "{\"batchId\":7,\"status\":\"unknown\",\"workers\":[]," TAIL("none", "", "false") },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct grove_buf got = project(cases[i].result, cases[i].batch, cases[i].tool);

		assert_string_equal(got.ptr, cases[i].want);
		grove__buf_release(&got);
	}
}

static void only_what_lies_on_the_path_is_about_a_result(void **state)
{
	struct world *w = *state;
	struct grove_session *s = memory(w);
	struct grove_buf doc = GROVE_BUF_INIT;
	const char *a = user(w, s, "a"), *r;
	struct grove_view *v;
	struct grove_slice d, p;

	/* the batch of that name is on another branch */
	say(w, s, "{\"type\":\"subagent_batch\",\"batchId\":\"b\",\"tasks\":[{\"taskId\":\"t\"}]}");
	OK(w, grove_session_set_leaf(s, a, NULL, NULL));
	r = say(w, s, "{\"type\":\"subagent_result\",\"batchId\":\"b\",\"results\":[]}");
	v = view_of(w, s);
	d = snapshot(w, v, NULL, &doc);
	p = grove__json_get(member(d, "subagents", "projectionByEntryId"), r);
	assert_int_equal(items(grove__json_get(p, "workers")), 0);
	assert_true(grove__json_string_is(member(p, "diagnostics", "selectedSource"), "none"));
	grove_view_unref(v);
	grove_buf_release(&doc);
	grove_session_close(s);
}

static int full(void *payload, const char *ptr, size_t len)
{
	size_t *left = payload;

	(void)ptr;
	if (len > *left)
		return GROVE_EFULL;
	*left -= len;
	return 0;
}

static void a_sink_that_is_full_ends_it(void **state)
{
	struct world *w = *state;
	struct grove_session *s = memory(w);
	struct grove_view *v;
	size_t left = 10;

	user(w, s, "a");
	v = view_of(w, s);
	assert_int_equal(grove_view_snapshot(v, NULL, (struct grove_sink){ full, &left }), GROVE_EFULL);
	grove_view_unref(v);
	grove_session_close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(a_snapshot_tells_the_session_and_its_tree),
		WORLD_TEST(a_window_and_the_next_one_are_the_whole),
		WORLD_TEST(an_empty_session_has_a_snapshot),
		cmocka_unit_test(long_values_become_references_and_keys_never_do),
		cmocka_unit_test(results_of_any_age_have_one_shape),
		WORLD_TEST(only_what_lies_on_the_path_is_about_a_result),
		WORLD_TEST(a_sink_that_is_full_ends_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
