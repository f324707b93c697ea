/*
 * tests/runtime/suite_submit.c: entries that are submitted now and written later,
 * with every kind of store.
 */
#include "runtime.h"
#include "../lib/calls.h"

#define MINE "{\"type\":\"message\",\"id\":\"mine\",\"message\":{\"role\":\"user\",\"content\":\"x\"}}"

/* Submits an entry; the result is in *r, and the caller releases its lines. */
static void submit(struct grove_session *s, const char *json, struct grove_append_result *r)
{
	static const struct grove_append_options lines = { .size = sizeof(lines), .flags = GROVE_APPEND_LINES };
	struct grove_slice one = text(json);
	struct grove_detail d;

	if (grove_session_submit(s, &one, 1, &lines, r)) {
		grove_session_error(s, &d);
		fail_msg("%s: %s", json, d.message);
	}
}

static const char *submit_json(struct grove_session *s, const char *json)
{
	struct grove_append_result r = { .size = sizeof(r) };

	submit(s, json, &r);
	grove_buf_release(&r.lines);
	return r.id;
}

static const char *submit_words(struct grove_session *s, const char *words)
{
	char json[200];

	snprintf(json, sizeof(json), "{\"role\":\"user\",\"content\":\"%s\"}", words);
	return submit_json(s, json);
}

static void all_of_it_is_written_in_order(void **state)
{
	static const char *const dialects[] = { "pi", "omp", "xcsh", "claude" };
	struct world *w = *state;

	for (size_t i = 0; i < ARRAY(dialects); i++) {
		struct grove_create_options c = { .size = sizeof(c), .dialect = dialects[i] };
		struct grove_buf told = GROVE_BUF_INIT, raw;
		struct grove_session *s, *t;
		char last[100] = "", json[100];

		OK(w->g, grove_session_create(w->g, &c, &s));
		/* these create the log */
		submit_words(s, "begin");
		submit_json(s, "{\"role\":\"assistant\",\"content\":[]}");
		OK(w->g, grove_session_flush(s, GROVE_SYNC_NONE));
		for (int n = 0; n < 100; n++) {
			struct grove_append_result r = { .size = sizeof(r) };

			snprintf(json, sizeof(json), "{\"role\":\"user\",\"content\":\"words %d\"}", n);
			submit(s, json, &r);
			assert_int_equal(r.nr, 1);
			assert_int_equal(r.others, 0);
			snprintf(last, sizeof(last), "%s", r.id);
			OK(w->g, grove_buf_add(&told, grove_buf_slice(&r.lines)));
			grove_buf_release(&r.lines);
		}
		OK(w->g, grove_session_flush(s, GROVE_SYNC_ALWAYS));
		assert_int_equal(grove_session_pending(s), 0);
		OK(w->other, grove_session_open(w->other, grove_session_id(s), GROVE_OPEN_READ, &t));
		raw = raw_of(t);
		assert_non_null(strstr(raw.ptr, told.ptr));
		assert_leaf(t, last);
		grove_buf_release(&raw);
		grove_buf_release(&told);
		grove_session_close(t);
		grove_session_close(s);
	}
}

static void every_other_call_sees_it(void **state)
{
	struct world *w = *state;
	struct grove_session *s = four(w), *f;
	struct grove_buf context = GROVE_BUF_INIT;
	struct grove_view *v;
	const char *id;
	char path[200];

	id = submit_words(s, "first");
	v = view_of(s);
	assert_int_equal(grove_view_count(v), 5);
	grove_view_unref(v);
	snprintf(path, sizeof(path), "a b c d %s", id);
	assert_path(s, path);
	submit_words(s, "second");
	OK(w->g, grove_session_context(s, NULL, grove_buf_sink(&context)));
	assert_has(&context, "second");
	grove_buf_release(&context);
	/* a label of an entry that waits, a branch from it, a fork */
	id = submit_words(s, "third");
	OK(w->g, grove_session_append_label(s, id, "here", NULL, NULL));
	assert_label(s, id, "here");
	submit_words(s, "fourth");
	OK(w->g, grove_session_set_leaf(s, "b", NULL, NULL));
	id = submit_words(s, "fifth");
	OK(w->g, grove_session_fork(s, NULL, &f));
	assert_int_equal(lines_of(f), lines_of(s));
	grove_session_close(f);
	snprintf(path, sizeof(path), "a b %s", id);
	assert_path(s, path);
	grove_session_close(s);
}

static void what_needs_the_log_waits_for_it(void **state)
{
	struct world *w = *state;
	struct grove_session *s = four(w);
	struct grove_append_result r = { .size = sizeof(r) };

	submit_json(s, MINE);
	/* the same entry again: it is written only once */
	submit(s, MINE, &r);
	assert_string_equal(r.id, "mine");
	assert_int_equal(r.nr, 0);
	assert_int_equal(r.lines.len, 0);
	/* a label, an edit, a compaction of an entry that waits */
	submit_json(s, "{\"type\":\"label\",\"targetId\":\"mine\",\"label\":\"L\"}");
	submit_json(s, "{\"type\":\"context_edit\",\"targetId\":\"mine\",\"replacement\":{\"content\":\"y\"}}");
	submit_json(s, "{\"type\":\"compaction\",\"summary\":\"s\",\"firstKeptEntryId\":\"mine\",\"tokensBefore\":1}");
	OK(w->g, grove_session_flush(s, GROVE_SYNC_NONE));
	assert_label(s, "mine", "L");
	assert_int_equal(lines_of(s), 9);
	grove_session_close(s);
}

static void what_is_not_to_be_is_said_at_once(void **state)
{
	struct world *w = *state;
	struct grove_session *s = four(w);
	struct grove_append_options o = { .size = sizeof(o), .flags = GROVE_APPEND_IF_SEQ, .seq = 5 };
	struct grove_slice json = text("{\"role\":\"user\",\"content\":\"x\"}");
	struct grove_slice bad[2] = { json, text("{\"role\":") };
	struct grove_append_result r = { .size = sizeof(r) };

	GOT(w->g, grove_session_submit(s, &json, 1, &o, NULL), GROVE_EINVAL);
	o.flags = GROVE_APPEND_IF_REV;
	GOT(w->g, grove_session_submit(s, &json, 1, &o, NULL), GROVE_EINVAL);
	GOT(w->g, grove_session_submit(s, bad, 2, NULL, &r), GROVE_EJSON);
	assert_int_equal(r.failed, 1);
	o = (struct grove_append_options){ .size = sizeof(o), .parent = "nowhere" };
	GOT(w->g, grove_session_submit(s, &json, 1, &o, NULL), GROVE_ENOTFOUND);
	/* none of these errors affects what follows */
	submit_words(s, "x");
	OK(w->g, grove_session_flush(s, GROVE_SYNC_NONE));
	assert_int_equal(lines_of(s), 6);
	grove_session_close(s);
}

static void it_is_a_branch_beside_what_others_wrote(void **state)
{
	struct world *w = *state;
	struct grove_session *s = four(w), *t = again(w, s, GROVE_OPEN_WRITE);
	struct grove_append_result r = { .size = sizeof(r) };
	struct grove_slice json = text("{\"role\":\"user\",\"content\":\"x\"}");
	char mine[100], path[300];

	add(t, "theirs", "user");
	/*
	 * this handle has not read the other's entry: its own goes below the entries that it knows
	 */
	snprintf(mine, sizeof(mine), "%s", submit_words(s, "mine"));
	OK(w->g, grove_session_flush(s, GROVE_SYNC_NONE));
	snprintf(path, sizeof(path), "a b c d %s", mine);
	assert_path(s, path);
	OK(w->g, grove_session_submit(s, &json, 1, NULL, &r));
	/*
	 * the other's entry comes before ours, so row numbers that were known are not valid any
	 * more
	 */
	assert_int_equal(r.others, GROVE_NO_ENTRY);
	assert_int_equal(r.first, 6);
	snprintf(path, sizeof(path), "a b c d %s %s", mine, r.id);
	OK(w->g, grove_session_submit(s, &json, 1, NULL, &r));
	assert_int_equal(r.others, 0);
	assert_int_equal(lines_of(s), 9);
	assert_int_equal(lines_of(t), 9);
	grove_session_close(t);
	grove_session_close(s);
}

static void who_wants_to_be_told_of_others_is(void **state)
{
	struct world *w = *state;
	struct grove_session *s = four(w), *t = again(w, s, GROVE_OPEN_WRITE | GROVE_OPEN_STRICT);
	struct grove_slice json = text("{\"role\":\"user\",\"content\":\"x\"}");

	add(s, "theirs", "user");
	submit_words(t, "mine");
	GOT(w->other, grove_session_flush(t, GROVE_SYNC_NONE), GROVE_ECONFLICT);
	/* and so does every later call */
	GOT(w->other, grove_session_submit(t, &json, 1, NULL, NULL), GROVE_ECONFLICT);
	GOT(w->other, grove_session_append(t, json, NULL, NULL), GROVE_ECONFLICT);
	GOT(w->other, grove_session_refresh(t), GROVE_ECONFLICT);
	GOT(w->other, grove_session_flush(t, GROVE_SYNC_NONE), GROVE_ECONFLICT);
	grove_session_close(t);
	assert_int_equal(lines_of(s), 6);
	grove_session_close(s);
}

static void without_the_lease_it_fails_for_good(void **state)
{
	struct world *w = *state;
	struct grove_session *s = four(w), *t = again(w, s, GROVE_OPEN_WRITE);
	struct grove_lease lease = { .size = sizeof(lease) };

	OK(w->other, grove_session_lease_take(t, "them", 60000, &lease));
	submit_words(s, "mine");
	GOT(w->g, grove_session_flush(s, GROVE_SYNC_NONE), GROVE_ECONFLICT);
	OK(w->other, grove_session_lease_release(t));
	GOT(w->g, grove_session_flush(s, GROVE_SYNC_NONE), GROVE_ECONFLICT);
	grove_session_close(s);
	assert_int_equal(lines_of(t), 5);
	grove_session_close(t);
}

static void closing_waits_for_it(void **state)
{
	struct world *w = *state;
	struct grove_session *s = four(w), *t;
	struct grove_view *v = view_of(s);
	char id[100];

	snprintf(id, sizeof(id), "%s", grove_session_id(s));
	for (int i = 0; i < 50; i++)
		submit_words(s, "x");
	/* the view keeps the session's memory, but entries that wait are written */
	grove_session_close(s);
	OK(w->other, grove_session_open(w->other, id, GROVE_OPEN_READ, &t));
	assert_int_equal(lines_of(t), 55);
	grove_session_close(t);
	assert_int_equal(grove_view_count(v), 4);
	grove_view_unref(v);
}

const struct CMUnitTest submit_cases[] = {
	CASE(all_of_it_is_written_in_order),
	CASE(every_other_call_sees_it),
	CASE(what_needs_the_log_waits_for_it),
	CASE(what_is_not_to_be_is_said_at_once),
	CASE(it_is_a_branch_beside_what_others_wrote),
	CASE(who_wants_to_be_told_of_others_is),
	CASE(without_the_lease_it_fails_for_good),
	CASE(closing_waits_for_it),
};
const size_t nr_submit_cases = ARRAY(submit_cases);
