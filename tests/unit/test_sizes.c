/*
 * tests/unit/test_sizes.c: structs that begin with their size, as programs pass
 * them that were built with an earlier or later grove.h.
 *
 * Each call is made with a struct that is shorter, in a block of exactly that
 * many bytes (the address sanitizer watches its end), with one that is longer,
 * and with one whose size was not set.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../lib/transcript.h"
#include "grove/storage.h"
#include "../lib/calls.h"

#define MORE 64
#define FILL 0x55

static struct {
	struct world *w;
	struct grove_session *s;
	struct grove_view *v;
	struct grove_watch *watch;
	struct grove_blobs *blobs;
	struct grove_search *search;
	struct grove_storage *files;
	const char *path, *db;
} at;

static int ignore_problem(void *payload, const struct grove_problem *p)
{
	(void)payload;
	(void)p;
	return 0;
}

static int no_line(void *payload, struct grove_slice *line)
{
	(void)payload;
	(void)line;
	return 1;
}

/* ---------------------------------------------------------------- the calls */

static int options(void *p)
{
	struct grove *g;
	int rc = grove_open(p, &g);

	grove_close(g);
	return rc;
}

static int list(void *p)
{
	struct grove_list *l;
	int rc = grove_list(at.w->g, p, &l);

	grove_list_free(l);
	return rc;
}

static int usage_of_all(void *p)
{
	struct grove_usage *u;
	int rc = grove_usage(at.w->g, p, &u);

	grove_usage_free(u);
	return rc;
}

static int search(void *p)
{
	struct grove_hits *h;
	int rc = grove_search_run(at.search, "words", p, &h);

	grove_hits_free(h);
	return rc;
}

static int about_hits(void *p)
{
	struct grove_hits *h;
	int rc = grove_search_run(at.search, "words", NULL, &h);

	rc = rc ? rc : grove_hits_about(h, p);
	grove_hits_free(h);
	return rc;
}

static int new_session(void *p)
{
	struct grove_session *s;
	int rc = grove_session_create(at.w->g, p, &s);

	grove_session_close(s);
	return rc;
}

static int open_recent(void *p)
{
	struct grove_session *s;
	int rc = grove_session_open_recent(at.w->g, p, &s);

	grove_session_close(s);
	return rc;
}

static int append(void *p)
{
	return grove_session_append(at.s, text(USER("x")), p, NULL);
}

static int append_many(void *p)
{
	struct grove_slice json[2] = { text(USER("x")), text(USER("y")) };

	return grove_session_append_many(at.s, json, 2, p, NULL);
}

static int append_result(void *p)
{
	return grove_session_append(at.s, text(USER("x")), NULL, p);
}

static int submit(void *p)
{
	struct grove_slice json = text(USER("x"));

	return grove_session_submit(at.s, &json, 1, p, NULL);
}

static int submit_result(void *p)
{
	struct grove_slice json = text(USER("x"));

	return grove_session_submit(at.s, &json, 1, NULL, p);
}

/* The appends of one kind: NAME() tries their options, NAME_result() their result. */
#define APPEND(name, ...)                                                           \
	static int name(void *p)                                                    \
	{                                                                           \
		return grove_session_append_##name(at.s, __VA_ARGS__, p, NULL);     \
	}                                                                           \
	static int name##_result(void *p)                                           \
	{                                                                           \
		return grove_session_append_##name(at.s, __VA_ARGS__, NULL, p);     \
	}

APPEND(thinking_level, "high")
APPEND(model, "p", "m", NULL)
APPEND(label, "no such entry", "l")

static int set_name(void *p)
{
	return grove_session_set_name(at.s, "name", GROVE_NAME_BY_USER, p);
}

static int set_leaf(void *p)
{
	return grove_session_set_leaf(at.s, GROVE_ROOT, p, NULL);
}

static int leaf_result(void *p)
{
	return grove_session_set_leaf(at.s, GROVE_ROOT, NULL, p);
}

static int continue_options(void *p)
{
	return grove_session_continue(at.s, GROVE_ROOT, p, NULL);
}

static int continue_result(void *p)
{
	return grove_session_continue(at.s, GROVE_ROOT, NULL, p);
}

static int renew_lease(void *p)
{
	return grove_session_lease_renew(at.s, 100000, p);
}

static int compaction(void *p)
{
	return grove_session_append_compaction(at.s, p, NULL, NULL);
}

static int branch(void *p)
{
	return branch_from(at.s, GROVE_ROOT, p, NULL);
}

static int fork_session(void *p)
{
	struct grove_session *s;
	int rc = grove_session_fork(at.s, p, &s);

	grove_session_close(s);
	return rc;
}

static int counts(void *p)
{
	return grove_view_counts(at.v, p);
}

static int entry(void *p)
{
	return grove_view_entry(at.v, 0, p);
}

static int view_context(void *p)
{
	struct grove_buf b = GROVE_BUF_INIT;
	int rc = grove_view_context(at.v, p, grove_buf_sink(&b));

	grove_buf_release(&b);
	return rc;
}

static int view_messages(void *p)
{
	struct grove_context_reader to = { .size = sizeof(to) };

	return grove_view_messages(at.v, p, &to);
}

static int view_reader(void *p)
{
	return grove_view_messages(at.v, NULL, p);
}

static int preview_of(void *payload, const struct grove_message *m)
{
	struct grove_buf b = GROVE_BUF_INIT;
	int rc = grove_message_preview(m, 10, &b, payload);

	grove_buf_release(&b);
	return rc;
}

static int message_preview(void *p)
{
	struct grove_context_reader to = { .size = sizeof(to), .payload = p, .message = preview_of };

	return grove_view_messages(at.v, NULL, &to);
}

static int session_context(void *p)
{
	struct grove_buf b = GROVE_BUF_INIT;
	int rc = grove_session_context(at.s, p, grove_buf_sink(&b));

	grove_buf_release(&b);
	return rc;
}

static int snapshot(void *p)
{
	struct grove_buf b = GROVE_BUF_INIT;
	int rc = grove_view_snapshot(at.v, p, grove_buf_sink(&b));

	grove_buf_release(&b);
	return rc;
}

static int view_columns(void *p)
{
	struct grove_columns *c;
	int rc = grove_view_columns(at.v, p, &c);

	grove_columns_free(c);
	return rc;
}

static int view_entries(void *p)
{
	struct grove_buf out = GROVE_BUF_INIT;
	int rc = grove_view_entries(at.v, p, grove_buf_sink(&out), NULL);

	grove_buf_release(&out);
	return rc;
}

static int view_preview(void *p)
{
	struct grove_buf words = GROVE_BUF_INIT;
	int rc = grove_view_preview(at.v, 0, 10, &words, p);

	grove_buf_release(&words);
	return rc;
}

static int check(void *p)
{
	return grove_check(at.w->g, at.path, ignore_problem, NULL, p);
}

static int check_all(void *p)
{
	return grove_check(at.w->g, NULL, ignore_problem, NULL, p);
}

static int verify_store(void *p)
{
	return grove_store_verify(at.w->g, at.db, NULL, NULL, p);
}

static int fix_options(void *p)
{
	return grove_fix(at.w->g, at.path, p, NULL);
}

static int fix_result(void *p)
{
	return grove_fix(at.w->g, NULL, NULL, p);
}

static int put_blob(void *p)
{
	char ref[GROVE_BLOB_REF_MAX];

	return grove_blobs_put(at.blobs, text("bytes"), p, ref, NULL);
}

static int verify_blobs(void *p)
{
	return grove_blobs_verify(at.blobs, NULL, NULL, NULL, p);
}

static int gc_options(void *p)
{
	return grove_blobs_gc(at.blobs, p, NULL, NULL, NULL);
}

static int gc_result(void *p)
{
	return grove_blobs_gc(at.blobs, NULL, NULL, NULL, p);
}

static int open_watch(void *p)
{
	struct grove_watch *x;
	int rc = grove_watch_open(at.w->g, p, &x);

	grove_watch_close(x);
	return rc;
}

static int next_event(void *p)
{
	return grove_watch_next(at.watch, 0, p);
}

static int event_json(void *p)
{
	struct grove_buf b = GROVE_BUF_INIT;
	int rc = grove_event_json(p, &b);

	grove_buf_release(&b);
	return rc;
}

static int take_lease(void *p)
{
	return grove_session_lease_take(at.s, "me", 100000, p);
}

static int see_lease(void *p)
{
	return grove_session_lease_get(at.s, p);
}

static int archive_options(void *p)
{
	return grove_archive(at.w->g, at.path, p, NULL);
}

static int archive_result(void *p)
{
	return grove_archive(at.w->g, at.path, NULL, p);
}

static int copy_result(void *p)
{
	return grove_store_copy(at.w->g, at.db, at.db, NULL, NULL, p);
}

static int log_call(const void *opt, void *out, void *read)
{
	struct grove_buf lines = GROVE_BUF_INIT;
	struct grove_key key = { "p", "s", NULL };
	struct grove_slice line = text("{}");
	struct grove_log *l;
	int rc = grove_log_open(at.w->g, at.db, &key, GROVE_LOG_CREATE, &l);

	if (!rc && (opt || out))
		rc = grove_log_append(l, &line, 1, opt, out);
	if (!rc && read)
		rc = grove_log_read(l, 0, 0, grove_buf_sink(&lines), read);
	grove_buf_release(&lines);
	grove_log_close(l);
	return rc;
}

static int log_options(void *p)
{
	return log_call(p, NULL, NULL);
}

static int log_result(void *p)
{
	return log_call(NULL, p, NULL);
}

static int log_read(void *p)
{
	return log_call(NULL, NULL, p);
}

static int carry(const void *options, const void *append, void *about, void *st, void *is, void *result)
{
	struct grove_slice line = text("{\"type\":\"custom\",\"id\":\"c\",\"parentId\":null}");
	struct grove_carry_options write = { .size = sizeof(write), .flags = GROVE_CARRY_WRITE };
	struct grove_buf lines = GROVE_BUF_INIT;
	struct grove_carry *c;
	int rc = grove_carry_open(at.w->g, at.path, options ? options : &write, &c);

	if (!rc && about)
		rc = grove_carry_about(c, about);
	if (!rc && st)
		rc = grove_carry_state(c, NULL, st);
	if (!rc && st)
		rc = grove_carry_read(c, NULL, 0, 0, grove_buf_sink(&lines), st);
	if (!rc && is)
		rc = grove_carry_line(c, line, 1, is);
	if (!rc && (append || result))
		rc = grove_carry_append(c, &line, 1, append, result);
	grove_buf_release(&lines);
	grove_carry_close(c);
	return rc;
}

static int carry_options(void *p)
{
	return carry(p, NULL, NULL, NULL, NULL, NULL);
}

static int carry_about(void *p)
{
	return carry(NULL, NULL, p, NULL, NULL, NULL);
}

static int carry_state(void *p)
{
	return carry(NULL, NULL, NULL, p, NULL, NULL);
}

static int carry_line(void *p)
{
	return carry(NULL, NULL, NULL, NULL, p, NULL);
}

static int carry_append(void *p)
{
	return carry(NULL, p, NULL, NULL, NULL, NULL);
}

static int carry_result(void *p)
{
	return carry(NULL, NULL, NULL, NULL, NULL, p);
}

static int hydrate(void *p)
{
	struct grove_source src = { .next = no_line };

	return grove_hydrate(at.w->g, p, &src, NULL);
}

static int storage_write(void *p)
{
	return grove_storage_write_text(at.files, "/w/a.jsonl", grove_str("x\n"), p);
}

static int storage_title(void *p)
{
	return grove_storage_set_title(at.files, "/w/a.jsonl", p);
}

/* ------------------------------------------------------- what is done to them */

static void say_summary(void *p)
{
	((struct grove_compaction *)p)->summary = "summary";
}

static void say_branch(void *p)
{
	((struct grove_branch_summary *)p)->summary = "summary";
}

static void say_id(void *p)
{
	((struct grove_hydrate_options *)p)->id = "9d9c0c4e-0000-4000-8000-000000000001";
}

#define SIZE(name) sizeof(struct grove_##name)
#define UP_TO(name, member) (offsetof(struct grove_##name, member) + sizeof(char *))

static const struct call {
	const char *name;
	int (*make)(void *p);
	size_t size;                 /* of our struct */
	bool out;                    /* it is a result */
	size_t least;                /* the shortest that makes sense; 0: its size alone */
	void (*fill)(void *p);
} calls[] = {
	{ "grove_open", options, SIZE(options) },
	{ "grove_list", list, SIZE(list_options) },
	{ "grove_usage", usage_of_all, SIZE(usage_options) },
	{ "grove_search_run", search, SIZE(search_options) },
	{ "grove_hits_about", about_hits, SIZE(hits_about), true },
	{ "grove_session_create", new_session, SIZE(create_options) },
	{ "grove_session_append", append, SIZE(append_options) },
	{ "grove_session_append, its result", append_result, SIZE(append_result), true },
	{ "grove_session_set_leaf", set_leaf, SIZE(leaf_options) },
	{ "grove_session_set_leaf, its result", leaf_result, SIZE(leaf_result), true },
	{ "grove_session_append_many", append_many, SIZE(append_options) },
	{ "grove_session_append_compaction", compaction, SIZE(compaction), .least = UP_TO(compaction, summary),
	  .fill = say_summary },
	{ "grove_session_branch", branch, SIZE(branch_summary), .least = UP_TO(branch_summary, summary),
	  .fill = say_branch },
	{ "grove_session_fork", fork_session, SIZE(fork_options) },
	{ "grove_view_counts", counts, SIZE(counts), true },
	{ "grove_view_entry", entry, SIZE(entry), true },
	{ "grove_view_context", view_context, SIZE(context_options) },
	{ "grove_view_messages", view_messages, SIZE(context_options) },
	{ "grove_view_messages, its reader", view_reader, SIZE(context_reader) },
	{ "grove_session_context", session_context, SIZE(context_options) },
	{ "grove_view_snapshot", snapshot, SIZE(snapshot_options) },
	{ "grove_view_columns", view_columns, SIZE(columns_options) },
	{ "grove_view_entries", view_entries, SIZE(entries_options) },
	{ "grove_view_preview", view_preview, SIZE(preview), true },
	{ "grove_check", check, SIZE(check_result), true },
	{ "grove_check of all", check_all, SIZE(check_result), true },
	{ "grove_store_verify", verify_store, SIZE(check_result), true },
	{ "grove_fix", fix_options, SIZE(fix_options) },
	{ "grove_fix of all", fix_result, SIZE(fix_result), true },
	{ "grove_blobs_put", put_blob, SIZE(blobs_put_options) },
	{ "grove_blobs_verify", verify_blobs, SIZE(blobs_verify_result), true },
	{ "grove_blobs_gc", gc_options, SIZE(blobs_gc_options) },
	{ "grove_blobs_gc, its result", gc_result, SIZE(blobs_gc_result), true },
	{ "grove_watch_open", open_watch, SIZE(watch_options) },
	{ "grove_watch_next", next_event, SIZE(event), true },
	{ "grove_session_lease_take", take_lease, SIZE(lease), true },
	{ "grove_session_lease_renew", renew_lease, SIZE(lease), true },
	{ "grove_session_lease_get", see_lease, SIZE(lease), true },
	{ "grove_archive", archive_options, SIZE(archive_options) },
	{ "grove_archive, its result", archive_result, SIZE(archive_result), true },
	{ "grove_store_copy", copy_result, SIZE(archive_result), true },
	{ "grove_log_append", log_options, SIZE(log_options) },
	{ "grove_log_append, its result", log_result, SIZE(log_result), true },
	{ "grove_carry_open", carry_options, SIZE(carry_options) },
	{ "grove_carry_about", carry_about, SIZE(carry_about), true },
	{ "grove_carry_state, grove_carry_read", carry_state, SIZE(carry_state), true },
	{ "grove_carry_line", carry_line, SIZE(carry_line), true },
	{ "grove_carry_append", carry_append, SIZE(carry_append_options) },
	{ "grove_carry_append, its result", carry_result, SIZE(carry_result), true },
	{ "grove_session_open_recent", open_recent, SIZE(create_options) },
	{ "grove_session_submit", submit, SIZE(append_options) },
	{ "grove_session_submit, its result", submit_result, SIZE(append_result), true },
	{ "grove_session_append_thinking_level", thinking_level, SIZE(append_options) },
	{ "grove_session_append_thinking_level, its result", thinking_level_result, SIZE(append_result), true },
	{ "grove_session_append_model", model, SIZE(append_options) },
	{ "grove_session_append_model, its result", model_result, SIZE(append_result), true },
	{ "grove_session_append_label", label, SIZE(append_options) },
	{ "grove_session_append_label, its result", label_result, SIZE(append_result), true },
	{ "grove_session_set_name", set_name, SIZE(append_result), true },
	{ "grove_session_continue", continue_options, SIZE(leaf_options) },
	{ "grove_session_continue, its result", continue_result, SIZE(leaf_result), true },
	{ "grove_message_preview", message_preview, SIZE(preview), true },
	{ "grove_event_json", event_json, SIZE(event) },
	{ "grove_log_read", log_read, SIZE(log_result), true },
	{ "grove_hydrate", hydrate, SIZE(hydrate_options), .least = UP_TO(hydrate_options, id),
	  .fill = say_id },
	{ "grove_storage_write_text", storage_write, SIZE(storage_options) },
	{ "grove_storage_set_title", storage_title, SIZE(title) },
};
#define NR_CALLS (sizeof(calls) / sizeof(*calls))

/* A struct in a block of `room` bytes, of which it says that it has `size`. */
static unsigned char *block(const struct call *c, size_t room, size_t size, int beyond)
{
	unsigned char *p = malloc(room);
	size_t known = room < c->size ? room : c->size;

	assert_non_null(p);
	memset(p, 0, known);
	memset(p + known, beyond, room - known);
	memcpy(p, &size, sizeof(size));
	if (c->fill)
		c->fill(p);
	return p;
}

static void assert_answers(const struct call *c, int want, unsigned char *p)
{
	int rc = c->make(p);

	if (rc != want)
		fail_msg("%s: %s, not %s", c->name, grove_error_name(rc), grove_error_name(want));
}

static void assert_all(const struct call *c, const unsigned char *p, size_t from, size_t to, int byte)
{
	for (size_t i = from; i < to; i++)
		if (p[i] != byte)
			fail_msg("%s: byte %zu is %#x, not %#x", c->name, i, p[i], byte);
}

static int open_all(void **state)
{
	struct world *w;

	world_setup(state);
	w = at.w = *state;
	at.s = fresh(w, GROVE_CREATE_NOW);
	user(w, at.s, "words");
	at.v = view_of(w, at.s);
	at.path = strdup(grove_session_path(at.s));
	at.db = strdup(in_world(w, "store"));
	assert_int_equal(mkdir(at.db, 0700), 0);
	OK(w, watch_one(w->g, at.path, 0, &at.watch));
	OK(w, grove_blobs_open(w->g, in_world(w, "blobs"), &at.blobs));
	OK(w, grove_search_open(w->g, 0, &at.search));
	OK(w, grove_storage_open(w->g, "memory:", &at.files));
	return 0;
}

static int close_all(void **state)
{
	grove_storage_close(at.files);
	grove_search_close(at.search);
	grove_blobs_close(at.blobs);
	grove_watch_close(at.watch);
	grove_view_unref(at.v);
	grove_session_close(at.s);
	free((char *)at.path);
	free((char *)at.db);
	return world_teardown(state);
}

static void a_struct_without_its_size_is_refused(void **state)
{
	(void)state;
	for (const struct call *c = calls; c < calls + NR_CALLS; c++) {
		unsigned char *p = block(c, c->size, 0, 0);

		assert_answers(c, GROVE_EINVAL, p);
		if (c->out)
			assert_all(c, p, 0, c->size, 0);
		free(p);
	}
}

static void a_shorter_struct_is_read_and_written_as_far_as_it_goes(void **state)
{
	(void)state;
	for (const struct call *c = calls; c < calls + NR_CALLS; c++) {
		size_t least = c->least ? c->least : sizeof(size_t);
		unsigned char *whole = block(c, c->size, c->size, 0), *p;
		int want = c->make(whole);

		for (size_t size = least; size < c->size; size += sizeof(size_t)) {
			p = block(c, size, size, 0);
			assert_answers(c, want, p);
			free(p);
		}
		/* what lies past the end that it names is the caller's own */
		p = block(c, c->size, least, 0);
		memset(p + least, FILL, c->size - least);
		assert_answers(c, want, p);
		assert_all(c, p, least, c->size, FILL);
		free(p);
		free(whole);
	}
}

static void of_a_longer_struct_the_unknown_part_is_ignored_and_becomes_zero(void **state)
{
	(void)state;
	for (const struct call *c = calls; c < calls + NR_CALLS; c++) {
		unsigned char *whole = block(c, c->size, c->size, 0);
		unsigned char *p = block(c, c->size + MORE, c->size + MORE, FILL);

		assert_answers(c, c->make(whole), p);
		assert_all(c, p, c->size, c->size + MORE, c->out ? 0 : FILL);
		free(p);
		free(whole);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_struct_without_its_size_is_refused, open_all, close_all),
		cmocka_unit_test_setup_teardown(a_shorter_struct_is_read_and_written_as_far_as_it_goes, open_all, close_all),
		cmocka_unit_test_setup_teardown(of_a_longer_struct_the_unknown_part_is_ignored_and_becomes_zero,
						open_all, close_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
