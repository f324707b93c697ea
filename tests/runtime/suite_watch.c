/*
 * tests/runtime/suite_watch.c: reporting the changes of a session as they
 * happen.
 */
#include <pthread.h>
#include <sys/wait.h>

#include "runtime.h"
#include "../lib/calls.h"

#define PATIENCE 20000

struct told {
	struct grove_event e;
	char id[64];             /* "": none */
};

static struct grove_watch *watch_id(struct world *w, const char *id, uint64_t since)
{
	struct grove_watch *x;

	OK(w->other, watch_one(w->other, id, since, &x));
	return x;
}

static struct grove_watch *watch(struct world *w, struct grove_session *s, uint64_t since)
{
	return watch_id(w, grove_session_id(s), since);
}

static bool next(struct grove_watch *x, int64_t ms, struct told *out)
{
	struct grove_detail d;
	int rc;

	out->e.size = sizeof(out->e);
	rc = grove_watch_next(x, ms, &out->e);
	if (rc < 0) {
		grove_watch_error(x, &d);
		fail_msg("%s: %s", grove_error_name(rc), d.message);
	}
	snprintf(out->id, sizeof(out->id), "%s", !rc && out->e.entry_id ? out->e.entry_id : "");
	return !rc;
}

/* Asserts all events that are ready now, as "append:a leaf:b rename". */
static void assert_told(struct grove_watch *x, const char *want)
{
	char got[2048] = "";
	struct told t;
	size_t n = 0;

	while (next(x, 0, &t))
		n += (size_t)snprintf(got + n, sizeof(got) - n, "%s%s%s%s", n ? " " : "",
				      grove_event_name(t.e.kind), *t.id ? ":" : "", t.id);
	assert_string_equal(got, want);
}

static void every_kind_of_event_is_told(void **state)
{
	struct world *w = *state;
	struct grove_session *s = four(w);
	struct grove_watch *x = watch(w, s, GROVE_REV_NOW);
	struct grove_event e = { .size = sizeof(e) };
	struct told t;
	const char *id;
	char want[100];

	assert_told(x, "");
	add(s, "e", "user");
	assert_true(next(x, PATIENCE, &t));
	assert_int_equal(t.e.kind, GROVE_EVENT_APPEND);
	assert_string_equal(t.id, "e");
	assert_string_equal(t.e.session_id, grove_session_id(s));
	assert_int_equal(t.e.seq, 5);
	assert_int_equal(t.e.rev, rev_of(s));
	assert_told(x, "");
	OK(w->g, grove_session_set_leaf(s, "b", LEAF(GROVE_LEAF_PERSIST), NULL));
	assert_told(x, "leaf:b");
	OK(w->g, grove_session_set_leaf(s, GROVE_ROOT, LEAF(GROVE_LEAF_PERSIST), NULL));
	assert_told(x, "leaf");
	OK(w->g, grove_session_set_name(s, "name", GROVE_NAME_BY_USER, INTO(&id)));
	snprintf(want, sizeof(want), "rename:%s", id);
	assert_told(x, want);
	OK(w->g, grove_session_update(s, "c", "/message/content", "\"x\""));
	assert_told(x, "update:c");
	OK(w->g, grove_session_append_label(s, "c", "mark", NULL, INTO(&id)));
	snprintf(want, sizeof(want), "append:%s", id);
	assert_told(x, want);
	if (w->kind->keeps) {
		OK(w->g, grove_session_value_put(s, "agentId", text("x")));
		assert_told(x, "update");
	}
	OK(w->g, grove_session_forget(s, "e", NULL));
	assert_told(x, "reset");
	add(s, "f", "user");
	assert_told(x, "append:f");
	/* a leaf that only this handle uses is not reported */
	OK(w->g, grove_session_set_leaf(s, "a", NULL, NULL));
	assert_told(x, "");
	OK(w->g, grove_remove(w->g, grove_session_id(s), GROVE_REMOVE_NO_TRASH));
	assert_true(next(x, 0, &t));
	assert_int_equal(t.e.kind, GROVE_EVENT_DELETE);
	assert_int_equal(grove_watch_next(x, 0, &e), GROVE_ENOTFOUND);
	assert_int_equal(grove_watch_next(x, -1, &e), GROVE_ENOTFOUND);
	grove_watch_close(x);
	GOT(w->other, watch_one(w->other, grove_session_id(s), GROVE_REV_NOW, &x),
	    GROVE_ENOTFOUND);
	grove_watch_close(x);
	grove_session_close(s);
}

static void an_event_is_spelled_as_json(void **state)
{
	struct world *w = *state;
	struct grove_session *s = create(w, "spelled");
	struct grove_watch *x = watch(w, s, GROVE_REV_NOW);
	struct grove_event e = { .size = sizeof(e) };
	struct grove_buf b = GROVE_BUF_INIT;
	char want[300];

	add(s, "a", "user");
	OK(NULL, grove_watch_next(x, PATIENCE, &e));
	OK(NULL, grove_event_json(&e, &b));
	snprintf(want, sizeof(want),
		 "{\"rev\":%llu,\"kind\":\"append\",\"sessionId\":\"spelled\",\"entryId\":\"a\",\"seq\":1}",
		 (unsigned long long)rev_of(s));
	assert_string_equal(b.ptr, want);
	b.len = 0;
	OK(w->g, grove_remove(w->g, "spelled", GROVE_REMOVE_NO_TRASH));
	OK(NULL, grove_watch_next(x, PATIENCE, &e));
	OK(NULL, grove_event_json(&e, &b));
	assert_has(&b, "\"kind\":\"delete\",\"sessionId\":\"spelled\",\"entryId\":null,\"seq\":null}");
	grove_buf_release(&b);
	grove_watch_close(x);
	grove_session_close(s);
}

static void several_at_once_are_told_one_by_one(void **state)
{
	struct world *w = *state;
	struct grove_session *s = four(w);
	struct grove_watch *x = watch(w, s, GROVE_REV_NOW);
	struct grove_slice json[] = { text("{\"role\":\"user\",\"content\":\"x\"}"),
				      text("{\"role\":\"assistant\",\"content\":[]}"),
				      text("{\"role\":\"user\",\"content\":\"y\"}") };
	const char *ids[3];
	struct told t;
	uint64_t rev = rev_of(s);

	OK(w->g, grove_session_append_many(s, json, 3, NULL, INTO(ids)));
	for (size_t i = 0; i < 3; i++) {
		assert_true(next(x, PATIENCE, &t));
		assert_string_equal(t.id, ids[i]);
		assert_int_equal(t.e.seq, 5 + i);
		assert_int_equal(t.e.rev, rev + 1 + i);
	}
	assert_told(x, "");
	grove_watch_close(x);
	grove_session_close(s);
}

/* Makes every kind of change that does not rewrite the log. */
static void do_this_and_that(struct world *w, struct grove_session *s)
{
	struct grove_branch_summary b = { .size = sizeof(b), .summary = "left" };

	add(s, "e", "user");
	OK(w->g, grove_session_set_leaf(s, "b", LEAF(GROVE_LEAF_PERSIST), NULL));
	OK(w->g, grove_session_set_leaf(s, "d", LEAF(GROVE_LEAF_PERSIST), NULL));
	add(s, "f", "user");
	OK(w->g, grove_session_set_name(s, "one", GROVE_NAME_BY_USER, NULL));
	if (w->kind->keeps) {
		OK(w->g, grove_session_update(s, "b", "/message/content", "\"x\""));
		OK(w->g, grove_session_update(s, "b", "/message/content", "\"y\""));
		OK(w->g, grove_session_value_put(s, "metadata", text("{}")));
	}
	OK(w->g, grove_session_set_leaf(s, GROVE_ROOT, LEAF(GROVE_LEAF_PERSIST), NULL));
	add(s, "g", "user");
	OK(w->g, branch_from(s, "c", &b, NULL));
	if (w->kind->keeps)
		OK(w->g, grove_session_update(s, "g", "/message/content", "\"z\""));
	OK(w->g, grove_session_append_label(s, "a", "mark", NULL, NULL));
}

static void who_was_away_misses_nothing_and_hears_nothing_twice(void **state)
{
	struct world *w = *state;
	struct grove_session *s = four(w);
	struct grove_watch *x = watch(w, s, GROVE_REV_NOW), *y;
	struct told all[40], t;
	uint64_t first = rev_of(s);
	size_t nr = 0;

	do_this_and_that(w, s);
	while (next(x, 0, &all[nr]))
		assert_in_range(nr++, 0, ARRAY(all) - 2);
	assert_int_equal(nr, w->kind->keeps ? 13 : 9);
	assert_int_equal(all[nr - 1].e.rev, rev_of(s));
	for (size_t i = 0; i <= nr; i++) {
		y = watch(w, s, i ? all[i - 1].e.rev : first);
		for (size_t k = i; k < nr; k++) {
			assert_true(next(y, 0, &t));
			assert_int_equal(t.e.rev, all[k].e.rev);
			assert_int_equal(t.e.kind, all[k].e.kind);
			assert_int_equal(t.e.seq, all[k].e.seq);
			/* an event reports the leaf as it is now */
			if (t.e.kind != GROVE_EVENT_LEAF)
				assert_string_equal(t.id, all[k].id);
		}
		assert_told(y, "");
		grove_watch_close(y);
	}
	/* each rev is greater than the one before */
	for (size_t i = 0; i < nr; i++)
		assert_int_equal(all[i].e.rev, first + 1 + i);
	grove_watch_close(x);
	grove_session_close(s);
}

static void all_of_a_session_can_be_told(void **state)
{
	struct world *w = *state;
	struct grove_session *s = four(w);
	struct grove_watch *x = watch(w, s, 0);

	/* a file may have replaced an earlier one, so its revs do not begin at 0 */
	assert_told(x, w->kind->keeps ? "append append:a append:b append:c append:d" : "reset");
	add(s, "e", "user");
	assert_told(x, "append:e");
	grove_watch_close(x);
	/* a rev that was never reached belongs to another session */
	x = watch(w, s, rev_of(s) + 100);
	assert_told(x, "reset");
	add(s, "f", "user");
	assert_told(x, "append:f");
	grove_watch_close(x);
	grove_session_close(s);
}

static void a_rewritten_log_is_a_reset_for_who_was_away(void **state)
{
	struct world *w = *state;
	struct grove_session *s = four(w);
	uint64_t before = rev_of(s), middle, after;
	struct grove_watch *x;

	add(s, "e", "user");
	middle = rev_of(s);
	OK(w->g, grove_session_forget(s, "b", NULL));
	after = rev_of(s);
	add(s, "f", "user");
	x = watch(w, s, before);
	assert_told(x, w->kind->keeps ? "reset append:f" : "reset");
	grove_watch_close(x);
	x = watch(w, s, middle);
	assert_told(x, w->kind->keeps ? "reset append:f" : "reset");
	grove_watch_close(x);
	x = watch(w, s, after);
	assert_told(x, "append:f");
	grove_watch_close(x);
	/* an update is a rewrite in files, and only there */
	after = rev_of(s);
	OK(w->g, grove_session_update(s, "a", "/message/content", "\"x\""));
	x = watch(w, s, after);
	assert_told(x, w->kind->keeps ? "update:a" : "reset");
	grove_watch_close(x);
	grove_session_close(s);
}

static void a_line_cut_off_is_a_reset(void **state)
{
	struct world *w = *state;
	struct grove_session *s = four(w);
	struct grove_watch *x = watch(w, s, GROVE_REV_NOW);
	uint64_t rev = rev_of(s);

	OK(w->g, grove_session_forget(s, "d", NULL));
	assert_told(x, "reset");
	add(s, "e", "user");
	assert_told(x, "append:e");
	grove_watch_close(x);
	x = watch(w, s, rev);
	/*
	 * a file that was truncated in place and has grown to the same length again looks unchanged
	 */
	assert_told(x, w->kind->keeps ? "reset append:e" : "");
	grove_watch_close(x);
	grove_session_close(s);
}

static void a_view_says_where_to_listen_from(void **state)
{
	struct world *w = *state;
	struct grove_session *s = four(w), *t = again(w, s, GROVE_OPEN_READ);
	struct grove_view *v = view_of(t);
	struct grove_watch *x;

	add(s, "e", "user");
	add(s, "f", "user");
	x = watch(w, s, grove_view_rev(v));
	assert_told(x, "append:e append:f");
	grove_watch_close(x);
	grove_view_unref(v);
	grove_session_close(t);
	grove_session_close(s);
}

static void many_changes_of_one_entry_are_all_told(void **state)
{
	struct world *w = *state;
	struct grove_session *s = four(w);
	struct grove_watch *x = watch(w, s, GROVE_REV_NOW);
	char value[20], told[40];

	for (int i = 0; i < 40; i++) {
		snprintf(value, sizeof(value), "\"%d\"", i);
		OK(w->g, grove_session_update(s, "b", "/message/content", value));
		assert_told(x, "update:b");
		if (i % 7)
			continue;
		snprintf(value, sizeof(value), "n%d", i);
		add(s, value, "user");
		snprintf(told, sizeof(told), "append:%s", value);
		assert_told(x, told);
	}
	grove_watch_close(x);
	grove_session_close(s);
}

static void a_session_that_moves_is_followed(void **state)
{
	struct world *w = *state;
	struct grove_session *s = four(w);
	struct grove_watch *x = watch(w, s, GROVE_REV_NOW);
	char to[400];
	struct told t;

	snprintf(to, sizeof(to), "%s/elsewhere", w->dir);
	OK(w->g, grove_session_move(s, to));
	assert_true(next(x, PATIENCE, &t));
	assert_int_equal(t.e.kind, w->kind->keeps ? GROVE_EVENT_UPDATE : GROVE_EVENT_RESET);
	while (next(x, 0, &t))
		assert_int_equal(t.e.kind, GROVE_EVENT_UPDATE);
	add(s, "e", "user");
	assert_told(x, "append:e");
	for (int i = 0; i < 20; i++) {
		OK(w->g, grove_session_update(s, "b", "/message/content", i % 2 ? "1" : "2"));
		assert_told(x, "update:b");
	}
	grove_watch_close(x);
	grove_session_close(s);
}

static void a_session_made_anew_is_a_reset(void **state)
{
	struct world *w = *state;
	struct grove_session *s = create(w, "phoenix");
	struct grove_watch *x;

	add(s, "a", "user");
	add(s, "b", "assistant");
	x = watch(w, s, GROVE_REV_NOW);
	OK(w->g, grove_remove(w->g, "phoenix", GROVE_REMOVE_NO_TRASH));
	grove_session_close(s);
	s = create(w, "phoenix");
	add(s, "z", "user");
	assert_told(x, "reset");
	add(s, "y", "assistant");
	assert_told(x, "append:y");
	grove_watch_close(x);
	grove_session_close(s);
}

static void waiting_can_be_ended(void **state)
{
	struct world *w = *state;
	struct grove_session *s = four(w);
	struct grove_watch *x = watch(w, s, GROVE_REV_NOW);
	struct told t;

	grove_watch_wake(x);
	assert_false(next(x, -1, &t));
	assert_false(next(x, 1, &t));
	add(s, "e", "user");
	grove_watch_wake(x);
	/* what has happened is still reported */
	assert_true(next(x, -1, &t));
	assert_string_equal(t.id, "e");
	grove_watch_close(x);
	grove_watch_close(NULL);
	grove_session_close(s);
}

/* --- another process, or where there can be none, another thread --- */

#define WRITTEN 60

static void write_much(struct grove *g, struct grove_session *s, bool keeps)
{
	char id[20];

	for (int i = 0; i < WRITTEN; i++) {
		snprintf(id, sizeof(id), "n%d", i);
		add(s, id, i % 2 ? "assistant" : "user");
		if (i % 10 == 9)
			OK(g, grove_session_set_leaf(s, "a", LEAF(GROVE_LEAF_PERSIST), NULL));
		if (keeps && i % 4 == 3)
			OK(g, grove_session_update(s, "b", "/message/content", i % 8 == 3 ? "1" : "[]"));
		if (keeps && i % 10 == 5)
			OK(g, grove_session_value_put(s, "metadata", text("{}")));
	}
	OK(g, grove_session_set_name(s, "done", GROVE_NAME_BY_USER, NULL));
}

static void *thread_writes(void *arg)
{
	write_much(NULL, arg, true);
	return NULL;
}

int process_writes(const struct world *w, const char *id)
{
	struct grove *g = see_world(w);
	struct grove_session *s;

	if (grove_session_open(g, id, GROVE_OPEN_WRITE, &s))
		return 1;
	write_much(g, s, w->kind->keeps);
	grove_session_close(s);
	grove_close(g);
	return 0;
}

static void what_another_process_does_is_told(void **state)
{
	struct world *w = *state;
	struct grove_session *s = four(w);
	struct grove_watch *x = watch(w, s, GROVE_REV_NOW);
	uint64_t rev = rev_of(s);
	pthread_t thread;
	int status = 0, appends = 0, leaves = 0, updates = 0;
	pid_t pid = 0;
	struct told t;
	char id[20], session[64];

	/* until the thread has ended, only the thread may use the session's handle */
	snprintf(session, sizeof(session), "%s", grove_session_id(s));
	if (w->kind->shared)
		pid = start_process(w, "writes", session);
	else
		assert_int_equal(pthread_create(&thread, NULL, thread_writes, s), 0);
	do {
		assert_true(next(x, PATIENCE, &t));
		assert_int_equal(t.e.rev, ++rev);
		if (t.e.kind == GROVE_EVENT_APPEND) {
			snprintf(id, sizeof(id), "n%d", appends++);
			assert_string_equal(t.id, id);
		}
		leaves += t.e.kind == GROVE_EVENT_LEAF;
		updates += t.e.kind == GROVE_EVENT_UPDATE;
		/* the watch is closed for a while now and then */
		if (appends % 7 == 3) {
			grove_watch_close(x);
			x = watch_id(w, session, rev);
		}
	} while (t.e.kind != GROVE_EVENT_RENAME);
	assert_int_equal(appends, WRITTEN);
	assert_int_equal(leaves, WRITTEN / 10);
	assert_int_equal(updates, w->kind->keeps ? WRITTEN / 4 + WRITTEN / 10 : 0);
	if (pid)
		assert_int_equal(waitpid(pid, &status, 0), pid);
	else
		assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(status, 0);
	assert_told(x, "");
	assert_int_equal(rev, rev_of(s));
	grove_watch_close(x);
	grove_session_close(s);
}

static void a_listener_that_waits_is_told_of_a_delete(void **state)
{
	struct world *w = *state;
	struct grove_session *s = four(w);
	struct grove_watch *x = watch(w, s, GROVE_REV_NOW);
	struct told t;

	assert_false(next(x, 1, &t));
	OK(w->g, grove_remove(w->g, grove_session_id(s), GROVE_REMOVE_NO_TRASH));
	assert_true(next(x, PATIENCE, &t));
	assert_int_equal(t.e.kind, GROVE_EVENT_DELETE);
	assert_true(t.e.rev > 0);
	grove_watch_close(x);
	grove_session_close(s);
}

/* Names and leaves of Claude sessions are stored in lines that are not entries. */
static void other_dialects_tell_names_and_leaves_too(void **state)
{
	struct world *w = *state;
	struct grove_create_options o = { .size = sizeof(o), .dialect = "claude" };
	struct grove_session *s;
	struct grove_watch *x;
	const char *a, *b;
	char first[64];
	struct told t;
	bool renamed = false, moved = false;

	OK(w->g, grove_session_create(w->g, &o, &s));
	OK(w->g, grove_session_append(s, text("{\"role\":\"user\",\"content\":\"x\"}"), NULL, INTO(&a)));
	snprintf(first, sizeof(first), "%s", a);
	OK(w->g, grove_session_append(s, text("{\"role\":\"user\",\"content\":\"y\"}"), NULL, INTO(&b)));
	x = watch(w, s, GROVE_REV_NOW);
	OK(w->g, grove_session_set_name(s, "a name", GROVE_NAME_BY_USER, NULL));
	while (next(x, 0, &t))
		renamed |= t.e.kind == GROVE_EVENT_RENAME;
	assert_true(renamed);
	OK(w->g, grove_session_set_leaf(s, first, LEAF(GROVE_LEAF_PERSIST), NULL));
	while (next(x, 0, &t)) {
		moved |= t.e.kind == GROVE_EVENT_LEAF;
		if (t.e.kind == GROVE_EVENT_LEAF)
			assert_string_equal(t.id, first);
	}
	assert_true(moved);
	grove_watch_close(x);
	grove_session_close(s);
}

const struct CMUnitTest watch_cases[] = {
	CASE(every_kind_of_event_is_told),
	CASE(an_event_is_spelled_as_json),
	CASE(several_at_once_are_told_one_by_one),
	CASE(who_was_away_misses_nothing_and_hears_nothing_twice),
	CASE(all_of_a_session_can_be_told),
	CASE(a_rewritten_log_is_a_reset_for_who_was_away),
	CASE(a_line_cut_off_is_a_reset),
	CASE(a_view_says_where_to_listen_from),
	CASE(many_changes_of_one_entry_are_all_told),
	CASE(a_session_that_moves_is_followed),
	CASE(a_session_made_anew_is_a_reset),
	CASE(waiting_can_be_ended),
	CASE(what_another_process_does_is_told),
	CASE(a_listener_that_waits_is_told_of_a_delete),
	CASE(other_dialects_tell_names_and_leaves_too),
};
const size_t nr_watch_cases = ARRAY(watch_cases);
