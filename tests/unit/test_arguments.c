/*
 * tests/unit/test_arguments.c: what the functions of grove.h do with arguments
 * at or beyond the limits of what is valid.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../lib/transcript.h"
#include "../lib/calls.h"

static void what_has_no_name_is_called_so(void **state)
{
	(void)state;
	assert_string_equal(grove_strerror(GROVE_ENOMEM), "out of memory");
	assert_string_equal(grove_strerror(-12345), "unknown error");
	assert_string_equal(grove_error_name(0), "OK");
	assert_string_equal(grove_error_name(-12345), "UNKNOWN");
	assert_string_equal(grove_kind_name((enum grove_kind)9999), "other");
	assert_string_equal(grove_role_name((enum grove_role)9999), "other");
	assert_string_equal(grove_event_name((enum grove_event_kind)9999), "unknown");
}

static int note_store(void *payload, const struct grove_store_about *s)
{
	struct grove_buf *all = payload;

	assert_null(s->agent);
	return grove_buf_add(all, grove_str(s->url)) || grove_buf_add(all, grove_str(s->dir ? " dir\n" : "\n"));
}

static void stores_are_told_of_even_if_they_are_empty(void **state)
{
	static const char *const urls[] = { "memory:", "/nowhere/at/all" };
	struct grove_options o = { .size = sizeof(o), .stores = urls, .nr_stores = 2 };
	struct grove_buf all = GROVE_BUF_INIT;
	struct grove *g;

	(void)state;
	assert_int_equal(grove_open(&o, &g), 0);
	assert_int_equal(grove_store_each(g, note_store, &all), 0);
	assert_string_equal(all.ptr, "memory:\nfile:/nowhere/at/all dir\n");
	grove_buf_release(&all);
	grove_close(g);
}

static void nothing_is_closed_without_harm(void **state)
{
	struct grove_buf none = GROVE_BUF_INIT;

	(void)state;
	grove_close(NULL);
	grove_list_free(NULL);
	grove_usage_free(NULL);
	grove_search_close(NULL);
	grove_session_close(NULL);
	grove_view_unref(NULL);
	grove_blobs_close(NULL);
	grove_watch_close(NULL);
	grove_history_close(NULL);
	grove_buf_release(&none);
	assert_null(none.ptr);
}

/* Most options may be NULL, which means the defaults. */
static void options_may_be_left_out(void **state)
{
	struct world *w = *state;
	struct grove_buf b = GROVE_BUF_INIT;
	char path[8400], db[8300];
	struct grove_session *s = fresh(w, GROVE_CREATE_NOW), *t;
	struct grove_view *v;
	struct grove_list *l;
	struct grove_usage *u;
	struct grove *g;

	user(w, s, "one");
	snprintf(path, sizeof(path), "%s", grove_session_path(s));
	snprintf(db, sizeof(db), "sqlite:%s/x.db", w->dir);
	OK(w, grove_open(NULL, &g));
	grove_close(g);
	OK(w, grove_list(w->g, NULL, &l));
	assert_int_equal(grove_list_count(l), 1);
	assert_non_null(grove_list_at(l, 0));
	assert_null(grove_list_at(l, 1));
	grove_list_free(l);
	OK(w, grove_usage(w->g, NULL, &u));
	assert_int_equal(grove_usage_totals(u)->total, 0);
	assert_null(grove_usage_at(u, grove_usage_count(u)));
	assert_null(grove_usage_unpriced_at(u, 1000));
	grove_usage_free(u);
	OK(w, grove_session_view(s, &v));
	OK(w, grove_view_context(v, NULL, grove_buf_sink(&b)));
	OK(w, grove_view_snapshot(v, NULL, grove_buf_sink(&b)));
	grove_view_unref(v);
	OK(w, grove_session_fork(s, NULL, &t));
	grove_session_close(t);
	OK(w, grove_fix(w->g, path, NULL, NULL));
	OK(w, grove_archive(w->g, NULL, NULL, NULL));
	OK(w, grove_store_init(w->g, db));
	OK(w, grove_store_upgrade(w->g, db, NULL, NULL));
	OK(w, grove_store_verify(w->g, db, NULL, NULL, NULL));
	OK(w, grove_session_lease_take(s, "me", 1000, NULL));
	OK(w, grove_session_lease_release(s));
	OK(w, name_session(s, "name", GROVE_NAME_BY_USER, NULL));
	OK(w, grove_session_forget(s, grove_session_leaf(s), NULL));
	grove_session_close(s);
	grove_buf_release(&b);
}

static void a_handle_that_failed_can_still_be_asked(void **state)
{
	struct world *w = *state;
	struct grove_session *s;
	struct grove_watch *x;
	struct grove_blobs *b;
	struct grove_detail d;
	struct grove *g;
	struct grove_options o = { .size = sizeof(o), .home = w->home, .cwd = w->cwd, .dialect = "nobody" };

	GOT(w, grove_session_open(w->g, "none-such", GROVE_OPEN_READ, &s), GROVE_ENOTFOUND);
	assert_story(s, GROVE_ENOTFOUND, "none-such");
	assert_null(grove_session_dialect(s));
	assert_null(grove_session_path(s));
	assert_int_equal(grove_session_pending(s), 0);
	grove_session_close(s);
	GOT(w, watch_one(w->g, "none-such", GROVE_REV_NOW, &x), GROVE_ENOTFOUND);
	grove_watch_error(x, &d);
	assert_int_equal(d.code, GROVE_ENOTFOUND);
	grove_watch_close(x);
	GOT(w, grove_blobs_open(w->g, "", &b), GROVE_EINVAL);
	grove_blobs_error(b, &d);
	assert_int_equal(d.code, GROVE_EINVAL);
	grove_blobs_close(b);
	assert_int_equal(grove_open(&o, &g), GROVE_EINVAL);
	grove_error(g, &d);
	assert_int_equal(d.code, GROVE_EINVAL);
	grove_close(g);
}

static void what_is_out_of_range_is_refused(void **state)
{
	struct world *w = *state;
	struct grove_usage_options by = { .size = sizeof(by), .by = (enum grove_usage_by)99 };
	struct grove_session *s = fresh(w, GROVE_CREATE_NOW), *held = fresh(w, 0);
	struct grove_buf b = GROVE_BUF_INIT;
	struct grove_lease lease = { .size = sizeof(lease) };
	struct grove_view *v = view_of(w, s);
	struct grove_blobs *x;
	struct grove_entry e = { .size = sizeof(e) };
	struct grove_usage *u;
	int applied = 7;

	GOT(w, grove_usage(w->g, &by, &u), GROVE_EINVAL);
	grove_usage_free(u);
	assert_int_equal(grove_view_entry(v, 0, &e), GROVE_ENOTFOUND);
	assert_int_equal(grove_view_line(v, 0, 0, &b), GROVE_ENOTFOUND);
	assert_int_equal(grove_view_piece_each(v, 0, NULL, NULL), GROVE_ENOTFOUND);
	GOT(w, name_session(s, "name", (enum grove_name_source)9, &applied), GROVE_EINVAL);
	assert_int_equal(applied, 0);
	GOT(w, grove_session_lease_take(s, "me", 0, &lease), GROVE_EINVAL);
	GOT(w, grove_session_lease_take(held, "me", 10, &lease), GROVE_ENOTSUP);
	GOT(w, grove_session_lease_get(held, &lease), GROVE_ENOTSUP);
	OK(w, grove_blobs_open(w->g, w->cwd, &x));
	GOT(w, grove_blobs_get(x, "blob:sha256:0", &b), GROVE_EINVAL);
	GOT(w, grove_blobs_path(x, "nothing", &b), GROVE_EINVAL);
	GOT(w, grove_blobs_verify(x, "nothing", NULL, NULL, NULL), GROVE_EINVAL);
	grove_blobs_close(x);
	grove_view_unref(v);
	grove_session_close(s);
	grove_session_close(held);
	grove_buf_release(&b);
}

/* Programs that were compiled with an earlier grove.h have a smaller struct. */
static void a_smaller_struct_is_filled_as_far_as_it_goes(void **state)
{
	struct world *w = *state;
	const char *path = make(w, "a.jsonl", HEADER ENTRY("u1", "null", "user", "one") "no json\n");
	struct grove_fix_options o = { .size = offsetof(struct grove_fix_options, change),
				       .flags = GROVE_FIX_DRY_RUN };
	struct grove_fix_result r;
	struct grove_usage_options uo = { .size = offsetof(struct grove_usage_options, prices) };
	struct grove_usage *u;

	/* what lies behind it is not read */
	memset((char *)&o + o.size, 0x55, sizeof(o) - o.size);
	memset((char *)&uo + uo.size, 0x55, sizeof(uo) - uo.size);
	uo.skipped = NULL;
	memset(&r, 0x55, sizeof(r));
	r.size = offsetof(struct grove_fix_result, changes);
	OK(w, grove_fix(w->g, path, &o, &r));
	assert_int_equal(r.files, 1);
	assert_int_equal(r.mended, 0);
	assert_int_equal(r.changes, 0x5555555555555555);
	OK(w, grove_usage(w->g, &uo, &u));
	grove_usage_free(u);
}

/*
 * A session that cannot be repaired does not prevent repairing the others; the first error is
 * reported.
 */
static void all_sessions_are_mended_but_one(void **state)
{
	struct world *w = *state;
	const char *dir = in_world(w, "s");
	struct grove_options wo = { .size = sizeof(wo), .home = w->home, .cwd = w->cwd, .cache = "",
				    .getenv = no_variables, .stores = &dir, .nr_stores = 1 };
	struct grove_fix_result r = { .size = sizeof(r) };
	struct grove_detail d;
	struct grove *g;

	assert_int_equal(mkdir(dir, 0700), 0);
	make(w, "s/2026-01-01T00-00-00-000Z_s1.jsonl", HEADER ENTRY("u1", "null", "user", "one") "no json\n");
	make(w, "s/2026-01-01T00-00-00-000Z_s2.jsonl", HEADER ENTRY("u1", "null", "user", "one") "no json\n");
	assert_int_equal(grove_open(&wo, &g), 0);
	fail_at("rename", EACCES, 0, 1);
	assert_int_equal(grove_fix(g, NULL, NULL, &r), GROVE_EACCESS);
	all_is_well();
	assert_int_equal(r.files, 2);
	assert_int_equal(r.mended, 1);
	grove_error(g, &d);
	assert_int_equal(d.code, GROVE_EACCESS);
	assert_int_equal(grove_fix(g, NULL, NULL, &r), 0);
	assert_int_equal(r.mended, 1);
	grove_close(g);
	assert_int_equal(lines_in(in_world(w, "s/2026-01-01T00-00-00-000Z_s1.jsonl")), 2);
	assert_int_equal(lines_in(in_world(w, "s/2026-01-01T00-00-00-000Z_s2.jsonl")), 2);
}

static void an_event_is_told_as_json(void **state)
{
	struct grove_event e = { .size = sizeof(e), .rev = 3, .kind = GROVE_EVENT_LEAF, .session_id = "s", .seq = GROVE_NO_SEQ };
	struct grove_buf b = GROVE_BUF_INIT;

	(void)state;
	assert_int_equal(grove_event_json(&e, &b), 0);
	assert_string_equal(b.ptr, "{\"rev\":3,\"kind\":\"leaf\",\"sessionId\":\"s\",\"entryId\":null,\"seq\":null}");
	grove_buf_release(&b);
	e.entry_id = "e";
	e.seq = 4;
	assert_int_equal(grove_event_json(&e, &b), 0);
	assert_string_equal(b.ptr, "{\"rev\":3,\"kind\":\"leaf\",\"sessionId\":\"s\",\"entryId\":\"e\",\"seq\":4}");
	grove_buf_release(&b);
}

static void a_session_of_any_agent_lives_in_memory(void **state)
{
	static const char *const dialects[] = { "pi", "xcsh", "omp", "claude" };
	struct world *w = *state;

	for (size_t i = 0; i < 4; i++) {
		struct grove_create_options o = { .size = sizeof(o), .dialect = dialects[i], .flags = GROVE_CREATE_MEMORY };
		struct grove_buf b = GROVE_BUF_INIT;
		struct grove_session *s;
		struct grove_view *v;
		char leaf[64];

		OK(w, grove_session_create(w->g, &o, &s));
		assert_null(grove_session_path(s));
		user(w, s, "a question");
		snprintf(leaf, sizeof(leaf), "%s", say(w, s, "{\"role\":\"assistant\",\"content\":\"an answer\"}"));
		assert_leaf(s, leaf);
		v = view_of(w, s);
		assert_int_equal(grove_view_count(v), 2);
		assert_int_equal(grove_view_context(v, NULL, grove_buf_sink(&b)), 0);
		assert_non_null(strstr(b.ptr, "an answer"));
		grove_buf_release(&b);
		grove_view_unref(v);
		grove_session_close(s);
	}
}

/* A fork in memory continues like its source, and leaves nothing on the disk. */
static void try_fork_in_memory(struct world *w, struct grove_session *s,
			       const struct grove_fork_options *opt, const char *cwd)
{
	struct grove_buf b = GROVE_BUF_INIT;
	struct grove_session *f, *again;

	OK(w, grove_session_fork(s, opt, &f));
	assert_null(grove_session_path(f));
	assert_null(grove_session_dir(f));
	assert_int_equal(grove_session_pending(f), 0);
	assert_string_equal(grove_session_cwd(f), cwd);
	assert_string_not_equal(grove_session_id(f), grove_session_id(s));
	user(w, f, "one more");
	OK(w, grove_session_ensure(f));
	OK(w, grove_session_sync(f));
	OK(w, grove_session_refresh(f));
	OK(w, grove_session_context(f, NULL, grove_buf_sink(&b)));
	assert_non_null(strstr(b.ptr, "a question"));
	assert_non_null(strstr(b.ptr, "an answer"));
	assert_non_null(strstr(b.ptr, "one more"));
	grove_buf_release(&b);
	OK(w, grove_session_fork(f, NULL, &again));
	assert_null(grove_session_path(again));
	grove_session_close(again);
	grove_session_close(f);
	grove_buf_release(&b);
	assert_dir(w->home, "");
	assert_dir(w->cwd, "");
}

static void a_fork_of_a_session_in_memory_stays_there(void **state)
{
	static const char *const dialects[] = { "pi", "xcsh", "omp", "claude" };
	struct world *w = *state;

	for (size_t i = 0; i < 4; i++) {
		struct grove_create_options o = { .size = sizeof(o), .dialect = dialects[i], .flags = GROVE_CREATE_MEMORY };
		struct grove_fork_options all = { .size = sizeof(all) }, path = all, moved = all, same = all;
		struct grove_session *s;
		char leaf[64];

		OK(w, grove_session_create(w->g, &o, &s));
		user(w, s, "a question");
		snprintf(leaf, sizeof(leaf), "%s", say(w, s, "{\"role\":\"assistant\",\"content\":\"an answer\"}"));
		path.leaf = leaf;
		moved.cwd = "/elsewhere";
		same.flags = GROVE_FORK_SAME_IDS;
		try_fork_in_memory(w, s, NULL, grove_session_cwd(s));
		try_fork_in_memory(w, s, &all, grove_session_cwd(s));
		try_fork_in_memory(w, s, &path, grove_session_cwd(s));
		try_fork_in_memory(w, s, &moved, "/elsewhere");
		try_fork_in_memory(w, s, &same, grove_session_cwd(s));
		grove_session_close(s);
	}
}

static void a_fork_into_memory_is_no_file(void **state)
{
	struct world *w = *state;
	struct grove_session *s = fresh(w, GROVE_CREATE_NOW), *f;
	struct grove_fork_options o = { .size = sizeof(o), .flags = GROVE_FORK_MEMORY };
	struct grove_buf b = GROVE_BUF_INIT;

	user(w, s, "a question");
	OK(w, grove_session_fork(s, &o, &f));
	assert_null(grove_session_path(f));
	user(w, f, "one more");
	assert_int_equal(lines_in(grove_session_path(s)), 2);
	OK(w, grove_session_context(f, NULL, grove_buf_sink(&b)));
	assert_non_null(strstr(b.ptr, "one more"));
	grove_buf_release(&b);
	grove_session_close(f);
	grove_session_close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_has_no_name_is_called_so),
		cmocka_unit_test(stores_are_told_of_even_if_they_are_empty),
		cmocka_unit_test(nothing_is_closed_without_harm),
		WORLD_TEST(options_may_be_left_out),
		WORLD_TEST(a_handle_that_failed_can_still_be_asked),
		WORLD_TEST(what_is_out_of_range_is_refused),
		WORLD_TEST(a_smaller_struct_is_filled_as_far_as_it_goes),
		WORLD_TEST(all_sessions_are_mended_but_one),
		cmocka_unit_test(an_event_is_told_as_json),
		WORLD_TEST(a_session_of_any_agent_lives_in_memory),
		WORLD_TEST(a_fork_of_a_session_in_memory_stays_there),
		WORLD_TEST(a_fork_into_memory_is_no_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
