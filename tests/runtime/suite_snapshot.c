/*
 * tests/runtime/suite_snapshot.c: the snapshot that a user interface loads when
 * it is refreshed.
 */
#include "runtime.h"
#include "../lib/calls.h"

static void a_snapshot_has_tree_path_labels_and_context(void **state)
{
	struct world *w = *state;
	struct grove_session *s = four(w), *t;
	struct grove_buf doc;
	const char *label;
	char part[300];

	add_below(s, "b", "e", "user");
	OK(w->g, grove_session_append_model(s, "p", "m", NULL, NULL, NULL));
	OK(w->g, grove_session_append_thinking_level(s, "high", NULL, NULL));
	OK(w->g, grove_session_append_label(s, "b", "mark", NULL, INTO(&label)));
	OK(w->g, grove_session_set_leaf(s, "e", LEAF(GROVE_LEAF_PERSIST), NULL));
	t = again(w, s, GROVE_OPEN_READ);
	doc = snapshot_of(t, NULL);
	assert_has(&doc, "\"activePath\":[\"a\",\"b\",\"e\"]");
	assert_has(&doc, "\"childrenByParentId\":{\"root\":[\"a\"],\"a\":[\"b\"],"
			 "\"b\":[\"c\",\"e\"],\"c\":[\"d\"]");
	assert_has(&doc, "\"labelsByEntryId\":{\"b\":\"mark\"}");
	assert_has(&doc, "\"rootEntryId\":\"a\",\"leafEntryId\":\"e\"");
	assert_has(&doc, "\"runtimeContext\":{\"messages\":[");
	assert_has(&doc, "\"entryIds\":[\"a\",\"b\",\"e\"]");
	grove_buf_release(&doc);
	/* at the place of the label, the settings before it are in force */
	OK(w->g, grove_session_set_leaf(s, label, LEAF(GROVE_LEAF_PERSIST), NULL));
	assert_int_equal(grove_session_refresh(t), 1);
	doc = snapshot_of(t, NULL);
	snprintf(part, sizeof(part), "\"leafEntryId\":\"%s\"", label);
	assert_has(&doc, part);
	assert_has(&doc, "\"thinkingLevel\":\"high\",\"model\":{\"provider\":\"p\",\"modelId\":\"m\"}");
	grove_buf_release(&doc);
	grove_session_close(t);
	grove_session_close(s);
}

static void windows_leave_out_what_was_not_asked_for(void **state)
{
	struct world *w = *state;
	struct grove_session *s = four(w), *t = again(w, s, GROVE_OPEN_READ);
	struct grove_snapshot_options o = { .size = sizeof(o), .entries = GROVE_SNAPSHOT_NONE };
	struct grove_buf doc;
	char json[500];

	add_below(s, "b", "e", "user");
	assert_int_equal(grove_session_refresh(t), 1);
	doc = snapshot_of(t, &o);
	assert_has(&doc, "\"entries\":[],");
	assert_has(&doc, "\"activePath\":[\"a\",\"b\",\"e\"]");
	grove_buf_release(&doc);
	o.entries = GROVE_SNAPSHOT_PATH;
	doc = snapshot_of(t, &o);
	assert_has(&doc, "\"id\":\"e\"");
	assert_lacks(&doc, "\"id\":\"d\"");
	grove_buf_release(&doc);
	o.limit = 2;
	doc = snapshot_of(t, &o);
	assert_has(&doc, "\"id\":\"b\"");
	assert_lacks(&doc, "\"id\":\"e\"");
	grove_buf_release(&doc);
	/* only some parts */
	o = (struct grove_snapshot_options){ .size = sizeof(o), .parts = GROVE_SNAPSHOT_ACTIVE_PATH | GROVE_SNAPSHOT_LABELS };
	doc = snapshot_of(t, &o);
	assert_string_equal(doc.ptr, "{\"activePath\":[\"a\",\"b\",\"e\"], \"labelsByEntryId\":{}} ");
	grove_buf_release(&doc);
	/* long texts are replaced by references */
	memset(json, 0, sizeof(json));
	strcpy(json, "{\"type\":\"message\",\"id\":\"long\","
		     "\"message\":{\"role\":\"user\",\"content\":\"");
	memset(json + strlen(json), 'z', 200);
	strcat(json, "\"}}");
	say(s, json);
	assert_int_equal(grove_session_refresh(t), 1);
	o = (struct grove_snapshot_options){ .size = sizeof(o), .max_body = 150 };
	doc = snapshot_of(t, &o);
	assert_has(&doc, "\"content\":{\"$ref\":\"long\",\"bytes\":200}");
	assert_lacks(&doc, "zzz");
	grove_buf_release(&doc);
	grove_session_close(t);
	grove_session_close(s);
}

static void a_snapshot_stays_when_the_session_goes_on(void **state)
{
	struct world *w = *state;
	struct grove_session *s = four(w), *t = again(w, s, GROVE_OPEN_READ);
	struct grove_buf one = GROVE_BUF_INIT, two = GROVE_BUF_INIT;
	struct grove_view *v = view_of(t);

	OK(NULL, grove_view_snapshot(v, NULL, grove_buf_sink(&one)));
	add(s, "e", "user");
	assert_int_equal(grove_session_refresh(t), 1);
	OK(NULL, grove_view_snapshot(v, NULL, grove_buf_sink(&two)));
	assert_string_equal(one.ptr, two.ptr);
	grove_view_unref(v);
	grove_buf_release(&one);
	grove_buf_release(&two);
	grove_session_close(t);
	grove_session_close(s);
}

static void seq_rev_and_generation_tell_what_happened(void **state)
{
	struct world *w = *state;
	struct grove_session *s = four(w), *t = again(w, s, GROVE_OPEN_READ);
	struct grove_buf doc;
	struct grove_view *v;
	uint64_t rev = rev_of(t), before = rev;
	char part[100];

	add(s, "e", "user");
	assert_int_equal(rev_of(t), rev + 1);
	OK(w->g, grove_session_set_leaf(s, "b", LEAF(GROVE_LEAF_PERSIST), NULL));
	assert_int_equal(rev_of(t), rev + 2);
	rev = rev_of(t);
	OK(w->g, grove_session_update(s, "a", "/message/content", "\"x\""));
	assert_true(rev_of(t) > rev);
	if (w->kind->keeps) {
		assert_int_equal(rev_of(t), rev + 1);
		rev = rev_of(t);
		OK(w->g, grove_session_value_put(s, "metadata", text("{}")));
		assert_int_equal(rev_of(t), rev + 1);
	}
	rev = rev_of(t);
	OK(w->g, grove_session_set_name(s, "name", GROVE_NAME_BY_USER, NULL));
	assert_int_equal(rev_of(t), rev + 1);
	/* removing a line is a rewrite, and still the revision only grows */
	rev = rev_of(t);
	OK(w->g, grove_session_forget(s, "c", NULL));
	assert_true(rev_of(t) > rev);
	assert_true(rev_of(t) > before);
	doc = snapshot_of(t, NULL);
	v = view_of(t);
	snprintf(part, sizeof(part), "\"seq\":%llu,\"rev\":%llu,\"generation\":%llu",
		 (unsigned long long)lines_of(t), (unsigned long long)grove_view_rev(v),
		 (unsigned long long)grove_view_generation(v));
	grove_view_unref(v);
	assert_has(&doc, part);
	grove_buf_release(&doc);
	grove_session_close(t);
	grove_session_close(s);
}

static void results_of_sub_agents_have_one_shape(void **state)
{
	struct world *w = *state;
	struct grove_session *s = four(w), *t;
	struct grove_snapshot_options o = { .size = sizeof(o), .flags = GROVE_SNAPSHOT_PROJECT };
	struct grove_buf doc;
	char part[200];
	const char *id;

	say(s, "{\"type\":\"subagent_batch\",\"batchId\":\"B\",\"tasks\":[{\"taskId\":\"1\","
	       "\"agent\":\"scout\",\"prompt\":\"look\"}]}");
	id = say(s, "{\"type\":\"subagent_result\",\"batchId\":\"B\",\"results\":[{\"taskId\":\"1\","
		    "\"status\":\"completed\",\"summary\":\"found it\"}],\"metadata\":{"
		    "\"processEvents\":[{\"taskId\":\"1\",\"kind\":\"started\"}],"
		    "\"evidenceSummaries\":[{\"taskId\":\"1\",\"text\":\"a file\"}],"
		    "\"toolRuntimeRoutes\":[{\"taskId\":\"1\",\"tool\":\"read\"}]}}");
	t = again(w, s, GROVE_OPEN_READ);
	doc = snapshot_of(t, NULL);
	snprintf(part, sizeof(part), "\"projectionByEntryId\":{\"%s\":{\"batchId\":\"B\","
		 "\"status\":\"completed\",\"workers\":[{\"taskId\":\"1\",\"agent\":\"scout\",", id);
	assert_has(&doc, part);
	assert_has(&doc, "\"summary\":\"found it\"");
	assert_has(&doc, "\"selectedSource\":\"subagent_result\"");
	assert_has(&doc, "\"fallbackUsed\":false");
	assert_has(&doc, "\"processEventsByEntryId\":{");
	assert_has(&doc, "\"evidenceSummariesByEntryId\":{");
	assert_has(&doc, "\"toolRuntimeRoutesByEntryId\":{");
	assert_has(&doc, "\"subagentRuntimeByBatchId\":{\"B\":");
	assert_has(&doc, "\"toolRuntimeRoutesByBatchId\":{\"B\":");
	assert_lacks(&doc, "\"subagentProjection\":{");
	grove_buf_release(&doc);
	doc = snapshot_of(t, &o);
	assert_has(&doc, "\"subagentProjection\":{\"batchId\":\"B\"");
	grove_buf_release(&doc);
	grove_session_close(t);
	grove_session_close(s);
}

static void context_has_what_the_model_is_sent(void **state)
{
	struct world *w = *state;
	struct grove_session *s = four(w), *t;
	struct grove_context_options o = { .size = sizeof(o), .flags = GROVE_CONTEXT_LLM };
	struct grove_compaction c = { .size = sizeof(c), .summary = "so far", .first_kept = "c" };
	struct grove_buf doc = GROVE_BUF_INIT;

	say(s, "{\"role\":\"tool\",\"toolCallId\":\"x\",\"content\":\"done\"}");
	OK(w->g, append_custom(s, "data", "{\"secret\":1}", NULL));
	OK(w->g, grove_session_append_compaction(s, &c, NULL, NULL));
	say(s, "{\"type\":\"subagent_batch\",\"batchId\":\"B\",\"tasks\":[]}");
	t = again(w, s, GROVE_OPEN_READ | GROVE_OPEN_LAZY);
	OK(w->other, grove_session_context(t, &o, grove_buf_sink(&doc)));
	assert_has(&doc, "so far");
	assert_has(&doc, "says c");
	assert_has(&doc, "\"role\":\"tool\"");
	assert_lacks(&doc, "says b");
	assert_lacks(&doc, "secret");
	assert_lacks(&doc, "batchId");
	grove_buf_release(&doc);
	grove_session_close(t);
	grove_session_close(s);
}

const struct CMUnitTest snapshot_cases[] = {
	CASE(a_snapshot_has_tree_path_labels_and_context),
	CASE(windows_leave_out_what_was_not_asked_for),
	CASE(a_snapshot_stays_when_the_session_goes_on),
	CASE(seq_rev_and_generation_tell_what_happened),
	CASE(results_of_sub_agents_have_one_shape),
	CASE(context_has_what_the_model_is_sent),
};
const size_t nr_snapshot_cases = ARRAY(snapshot_cases);
