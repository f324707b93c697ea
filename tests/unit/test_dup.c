/*
 * tests/unit/test_dup.c: several handles on one environment, and what lists
 * report about each item.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../lib/world.h"

#define ROUNDS 5
#define SESSIONS 12

/* A world with some sessions, in the agent's own place. */
static int setup(void **state)
{
	struct world *w;
	struct grove_session *s;

	world_setup(state);
	w = *state;
	for (int i = 0; i < SESSIONS; i++) {
		s = fresh(w, GROVE_CREATE_NOW);
		user(w, s, "find the needle");
		say(w, s, "{\"role\":\"assistant\",\"content\":[{\"type\":\"thinking\",\"thinking\":\"no\"},{\"type\":\"text\",\"text\":\"here\"}],"
			  "\"provider\":\"p\",\"model\":\"m\",\"usage\":{\"input\":3,\"output\":4}}");
		grove_session_close(s);
	}
	return 0;
}

/* ------------------------------------------------------------------------- jobs */

struct job {
	struct grove *g;
	pthread_t thread;
	int rc;
	size_t nr;
	uint64_t told;
};

static int count_progress(void *payload, uint64_t done, uint64_t total)
{
	struct job *j = payload;

	(void)done;
	(void)total;
	j->told++;
	return 0;
}

static void *list_all(void *payload)
{
	struct job *j = payload;
	struct grove_buf said = GROVE_BUF_INIT;
	struct grove_list *l;

	for (int i = 0; i < ROUNDS && !j->rc; i++) {
		j->rc = grove_list(j->g, NULL, &l);
		j->nr += grove_list_count(l);
		if (!j->rc)
			j->rc = grove_list_text(l, 0, &said);
		grove_list_free(l);
	}
	grove_buf_release(&said);
	grove_close(j->g);
	return NULL;
}

static void *search_all(void *payload)
{
	struct job *j = payload;
	struct grove_search *s;
	struct grove_hits *h;

	for (int i = 0; i < ROUNDS && !j->rc; i++) {
		j->rc = grove_search_open(j->g, 0, &s);
		if (!j->rc)
			j->rc = grove_search_run(s, "needle", NULL, &h);
		if (!j->rc) {
			/* what several sessions say at the same moment is told once */
			for (size_t at = 0; at < grove_hits_count(h); at++)
				j->nr += 1 + grove_hits_at(h, at)->copies;
			grove_hits_free(h);
		}
		grove_search_close(s);
	}
	grove_close(j->g);
	return NULL;
}

static void *use_all(void *payload)
{
	struct job *j = payload;
	struct grove_usage *u;

	for (int i = 0; i < ROUNDS && !j->rc; i++) {
		j->rc = grove_usage(j->g, NULL, &u);
		j->nr += grove_usage_count(u);
		grove_usage_free(u);
	}
	grove_close(j->g);
	return NULL;
}

static void *open_last(void *payload)
{
	struct job *j = payload;
	struct grove_session *s;
	struct grove_view *v;

	for (int i = 0; i < ROUNDS && !j->rc; i++) {
		j->rc = grove_session_open(j->g, "last", 0, &s);
		if (!j->rc)
			j->rc = grove_session_view(s, &v);
		if (!j->rc) {
			j->nr += grove_view_count(v);
			grove_view_unref(v);
		}
		grove_session_close(s);
	}
	grove_close(j->g);
	return NULL;
}

static void jobs_run_at_once(void **state)
{
	void *(*const work[])(void *) = { list_all, search_all, use_all, open_last, list_all, search_all };
	enum { JOBS = sizeof(work) / sizeof(*work) };
	struct world *w = *state;
	struct job job[JOBS] = { { 0 } };
	struct grove *one;

	/* the handle that they come from is closed while they work */
	OK(w, grove_dup(w->g, &one));
	for (size_t i = 0; i < JOBS; i++) {
		assert_int_equal(grove_dup(one, &job[i].g), 0);
		grove_set_progress(job[i].g, (struct grove_progress){ count_progress, &job[i] });
		assert_int_equal(pthread_create(&job[i].thread, NULL, work[i], &job[i]), 0);
	}
	grove_close(one);
	for (size_t i = 0; i < JOBS; i++) {
		pthread_join(job[i].thread, NULL);
		assert_int_equal(job[i].rc, 0);
		assert_true(job[i].nr);
	}
	assert_int_equal(job[0].nr, SESSIONS * ROUNDS);
	assert_int_equal(job[1].nr, SESSIONS * ROUNDS);
}

/* ---------------------------------------------------------------------- handles */

static void a_second_handle_has_its_own_error_and_progress(void **state)
{
	struct world *w = *state;
	struct job told = { 0 };
	struct grove_detail d;
	struct grove *other;
	struct grove_list *l;

	grove_set_progress(w->g, (struct grove_progress){ count_progress, &told });
	OK(w, grove_dup(w->g, &other));
	assert_int_equal(grove_find(other, "nobody-has-this", 0, &l), GROVE_ENOTFOUND);
	grove_list_free(l);
	grove_error(w->g, &d);
	assert_int_equal(d.code, 0);
	grove_error(other, &d);
	assert_int_equal(d.code, GROVE_ENOTFOUND);
	assert_int_equal(grove_list(other, NULL, &l), 0);
	assert_int_equal(grove_list_count(l), SESSIONS);
	grove_list_free(l);
	assert_int_equal(told.told, 0);
	grove_close(other);
}

static void the_order_of_closing_is_free(void **state)
{
	struct world *w = *state;
	struct grove *g = world_grove(w), *other;
	struct grove_buf said = GROVE_BUF_INIT;
	struct grove_blobs *blobs;
	struct grove_search *search;
	struct grove_session *s;
	struct grove_watch *watch;
	struct grove_view *v;
	struct grove_list *l;

	assert_int_equal(grove_dup(g, &other), 0);
	assert_int_equal(grove_session_open(g, "last", GROVE_OPEN_WRITE, &s), 0);
	assert_int_equal(grove_session_view(s, &v), 0);
	assert_int_equal(grove_list(g, NULL, &l), 0);
	assert_int_equal(grove_search_open(g, GROVE_SEARCH_NO_INDEX, &search), 0);
	assert_int_equal(grove_blobs_open(g, in_world(w, "blobs"), &blobs), 0);
	assert_int_equal(grove_watch_open(g, NULL, &watch), 0);
	assert_int_equal(grove_watch_add(watch, "last", GROVE_REV_NOW, NULL), 0);
	grove_close(g);
	assert_int_equal(grove_session_append(s, text("{\"role\":\"user\",\"content\":\"on\"}"), NULL, NULL), 0);
	grove_session_close(s);
	assert_int_equal(grove_view_line(v, 0, 0, &said), 0);
	grove_view_unref(v);
	grove_watch_close(watch);
	grove_search_close(search);
	grove_blobs_close(blobs);
	assert_int_equal(grove_list_text(l, 0, &said), 0);
	grove_list_free(l);
	assert_int_equal(grove_session_open(other, "last", 0, &s), 0);
	grove_close(other);
	grove_session_close(s);
	grove_buf_release(&said);
}

static int note_kept(void *payload, const struct grove_context_reason *r)
{
	struct grove_rows *rows = payload;

	assert_true(!r->included || r->kept);
	if (r->kept)
		rows->nr++;
	return 0;
}

/* a prompt, a compaction that keeps nothing but a label's line, and a reply */
static void the_entries_of_a_context(void **state)
{
	struct world *w = *state;
	struct grove_context_options o = { .size = sizeof(o), .flags = GROVE_CONTEXT_EXPLAIN };
	struct grove_session *s = fresh(w, GROVE_CREATE_NOW);
	const char *first = user(w, s, "one"), *kept;
	struct grove_compaction c = { .size = sizeof(c), .summary = "short" };
	struct grove_rows counted = { NULL, 0 };
	struct grove_context_reader r = { .size = sizeof(r), .payload = &counted, .reason = note_kept };
	struct grove_view *v;

	OK(w, grove_session_append_label(s, first, "here", NULL, INTO(&kept)));
	c.first_kept = kept;
	OK(w, grove_session_append_compaction(s, &c, NULL, NULL));
	user(w, s, "two");
	v = view_of(w, s);
	OK(w, grove_view_messages(v, &o, &r));
	assert_int_equal(counted.nr, 3);
	grove_view_unref(v);
	grove_session_close(s);
}

/* ------------------------------------------------------------------------ lists */

static void a_list_tells_what_was_said(void **state)
{
	struct world *w = *state;
	struct grove_buf said = GROVE_BUF_INIT;
	struct grove_list_options o = { .size = sizeof(o), .flags = GROVE_LIST_ALL, .limit = 3 };
	struct grove_list *l;

	OK(w, grove_list(w->g, &o, &l));
	assert_int_equal(grove_list_count(l), 3);
	OK(w, grove_list_text(l, 2, &said));
	assert_string_equal(said.ptr, "find the needle here");
	assert_int_equal(grove_list_text(l, 3, &said), GROVE_ENOTFOUND);
	assert_int_equal(unlink(grove_list_at(l, 1)->path), 0);
	assert_int_equal(grove_list_text(l, 1, &said), GROVE_ENOTFOUND);
	grove_list_free(l);
	OK(w, grove_find(w->g, "last", 0, &l));
	said.len = 0;
	OK(w, grove_list_text(l, 0, &said));
	assert_string_equal(said.ptr, "find the needle here");
	grove_list_free(l);
	grove_buf_release(&said);
}

/* What label entries say, one by one, and what holds in the end. */
static void a_list_tells_labels_and_the_values_of_hosts(void **state)
{
	struct world *w = *state;
	struct grove_list_options o = { .size = sizeof(o), .flags = GROVE_LIST_ALL | GROVE_LIST_SHAPE };
	struct grove_session *s = fresh(w, GROVE_CREATE_NOW);
	const char *first = user(w, s, "one"), *set, *cleared;
	struct grove_buf target = GROVE_BUF_INIT, text = GROVE_BUF_INIT;
	struct grove_view *v;
	struct grove_list *l;
	uint32_t at;

	OK(w, grove_session_append_label(s, first, "here", NULL, INTO(&set)));
	v = view_of(w, s);
	OK(w, grove_view_find(v, set, &at));
	OK(w, grove_view_label(v, at, &target, &text));
	assert_string_equal(target.ptr, first);
	assert_string_equal(text.ptr, "here");
	assert_int_equal(grove_view_label(v, 0, &target, &text), 1);
	assert_int_equal(grove_view_label(v, 99, &target, &text), 1);
	grove_view_unref(v);
	OK(w, grove_list(w->g, &o, &l));
	assert_int_equal(grove_list_at(l, 0)->nr_labels, 1);
	assert_string_equal(grove_list_at(l, 0)->labels[0], "here");
	assert_null(grove_list_at(l, 0)->labels[1]);
	text.len = 0;
	assert_int_equal(grove_list_value(l, 0, "agentId", &text), GROVE_ENOTFOUND);
	assert_int_equal(grove_list_value(l, 9, "agentId", &text), GROVE_ENOTFOUND);
	OK(w, grove_session_value_put(s, "agentId", grove_str("me")));
	OK(w, grove_list_value(l, 0, "agentId", &text));
	assert_int_equal(text.len, 2);
	grove_list_free(l);
	OK(w, grove_session_append_label(s, first, NULL, NULL, INTO(&cleared)));
	v = view_of(w, s);
	OK(w, grove_view_find(v, cleared, &at));
	text.len = target.len = 0;
	OK(w, grove_view_label(v, at, &target, &text));
	assert_int_equal(text.len, 0);
	assert_int_equal(target.len, strlen(first));
	grove_view_unref(v);
	OK(w, grove_list(w->g, &o, &l));
	assert_int_equal(grove_list_at(l, 0)->nr_labels, 0);
	grove_list_free(l);
	grove_buf_release(&target);
	grove_buf_release(&text);
	grove_session_close(s);
}

static void only_sessions_right_in_a_directory(void **state)
{
	static const char header[] = "{\"type\":\"session\",\"version\":3,\"id\":\"%s\",\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"cwd\":\"/w\"}\n"
				     "{\"type\":\"message\",\"id\":\"a\",\"parentId\":null,\"message\":{\"role\":\"user\",\"content\":\"x\"}}\n";
	struct world *w = *state;
	const char *dir = strdup(in_world(w, "store"));
	struct grove_options opt = { .size = sizeof(opt), .home = w->home, .cwd = w->cwd, .getenv = no_variables,
				     .cache = "", .stores = &dir, .nr_stores = 1 };
	struct grove_list_options o = { .size = sizeof(o), .flags = GROVE_LIST_ALL };
	struct grove_buf json = GROVE_BUF_INIT;
	struct grove_list *l;
	struct grove *g;
	char line[512];

	assert_int_equal(mkdir(dir, 0700), 0);
	assert_int_equal(mkdir(in_world(w, "store/--w--"), 0700), 0);
	snprintf(line, sizeof(line), header, "aaaa");
	file_make(in_world(w, "store/2026_aaaa.jsonl"), line);
	snprintf(line, sizeof(line), header, "bbbb");
	file_make(in_world(w, "store/--w--/2026_bbbb.jsonl"), line);
	assert_int_equal(grove_open(&opt, &g), 0);
	assert_int_equal(grove_list(g, &o, &l), 0);
	assert_int_equal(grove_list_count(l), 2);
	assert_int_equal(grove_list_item_json(grove_list_at(l, 0), &json), 0);
	assert_null(strstr(json.ptr, "fileTime"));
	grove_list_free(l);
	o.flags |= GROVE_LIST_FLAT | GROVE_LIST_PLACE;
	assert_int_equal(grove_list(g, &o, &l), 0);
	assert_int_equal(grove_list_count(l), 1);
	assert_string_equal(grove_list_at(l, 0)->id, "aaaa");
	assert_int_equal(grove_list_item_json(grove_list_at(l, 0), &json), 0);
	assert_non_null(strstr(json.ptr, "/2026_aaaa.jsonl\",\"fileTime\":\"2"));
	grove_list_free(l);
	grove_close(g);
	grove_buf_release(&json);
	free((char *)dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(jobs_run_at_once, setup, world_teardown),
		cmocka_unit_test_setup_teardown(a_second_handle_has_its_own_error_and_progress, setup, world_teardown),
		cmocka_unit_test_setup_teardown(the_order_of_closing_is_free, setup, world_teardown),
		WORLD_TEST(the_entries_of_a_context),
		cmocka_unit_test_setup_teardown(a_list_tells_what_was_said, setup, world_teardown),
		WORLD_TEST(a_list_tells_labels_and_the_values_of_hosts),
		cmocka_unit_test_setup_teardown(only_sessions_right_in_a_directory, setup, world_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
