/*
 * tests/unit/test_toy.c: a dialect consists of one file and one row in a table.
 *
 * toy.c, toy_list.c and toy_part.c are such files, and the table below has a row for each:
 * a dialect whose logs are trees, one whose logs are lists, and one whose lists begin with
 * a part of another list. This table replaces the library's own table, which is not linked
 * because both define the same names. Nothing in lib/ knows of these dialects.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "dialect/dialect.h"
#include "grove.h"

/* Which allocation fails, counted from 1; 0: none. */
static size_t alloc_fail, alloc_nr;
#define ALLOC_DUE() (alloc_fail && ++alloc_nr == alloc_fail)
#include "../lib/alloc.h"
#include "../lib/scratch.h"
#include "../lib/calls.h"

extern const struct grove__dialect dialect_toy, dialect_toy_list, dialect_toy_part;

const struct grove__dialect *const grove__dialects[] = { &grove__dialect_pi, &dialect_toy, &dialect_toy_list,
							 &dialect_toy_part, NULL };
const struct grove__dialect_defaults grove__dialect_defaults = {
	.session = &grove__dialect_pi,
	.remote = &dialect_toy,
};

struct world {
	char dir[256];
	struct grove *g;
};

static const char *no_variables(void *payload, const char *name)
{
	(void)payload;
	(void)name;
	return NULL;
}

static int set_up(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	struct grove_options opt = { .size = sizeof(opt), .cwd = "/w", .getenv = no_variables, .cache = "" };

	assert_non_null(w);
	scratch_make(w->dir, sizeof(w->dir));
	opt.home = w->dir;
	assert_int_equal(grove_open(&opt, &w->g), 0);
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;

	grove_close(w->g);
	scratch_remove(w->dir);
	free(w);
	return 0;
}

static const char *say(struct grove_session *s, const char *json, const char *parent)
{
	struct grove_append_options opt = { .size = sizeof(opt), .parent = parent };
	const char *id;

	assert_int_equal(grove_session_append(s, grove__slice_str(json), &opt, INTO(&id)), 0);
	return id;
}

/* A question, two answers to it; the second one is the leaf. */
static struct grove_session *conversation(struct world *w)
{
	struct grove_create_options opt = { .size = sizeof(opt), .dialect = "toy", .id = "t1" };
	struct grove_session *s;
	const char *first;

	assert_int_equal(grove_session_create(w->g, &opt, &s), 0);
	first = say(s, "{\"role\":\"user\",\"content\":\"hello\"}", NULL);
	say(s, "{\"role\":\"assistant\",\"content\":\"hi\"}", NULL);
	say(s, "{\"role\":\"assistant\",\"content\":\"hey\"}", first);
	return s;
}

static void a_toy_is_listed_and_recognised(void **state)
{
	struct world *w = *state;
	struct grove_list *l;
	const struct grove_list_item *info;

	grove_session_close(conversation(w));
	assert_int_equal(grove_list(w->g, NULL, &l), 0);
	assert_int_equal(grove_list_count(l), 1);
	info = grove_list_at(l, 0);
	assert_string_equal(info->dialect, "toy");
	assert_string_equal(info->id, "t1");
	assert_string_equal(info->cwd, "/w");
	assert_string_equal(info->first_message, "hello");
	assert_int_equal(info->message_count, 3);
	grove_list_free(l);
}

static void a_toy_in_a_strange_place_is_known_by_its_first_line(void **state)
{
	struct world *w = *state;
	struct grove_session *s;
	char path[300];

	snprintf(path, sizeof(path), "%s/x.jsonl", w->dir);
	file_make(path, "{\"toy\":\"t2\",\"dir\":\"/v\"}\n{\"n\":\"1\",\"up\":null,\"who\":\"user\",\"say\":\"a\"}\n");
	assert_int_equal(grove_session_open(w->g, path, GROVE_OPEN_READ, &s), 0);
	assert_string_equal(grove_session_dialect(s), "toy");
	assert_string_equal(grove_session_id(s), "t2");
	assert_string_equal(grove_session_cwd(s), "/v");
	grove_session_close(s);
}

static void its_tree_and_its_context_are_what_was_appended(void **state)
{
	struct world *w = *state;
	struct grove_session *s;
	struct grove_view *v;
	struct grove_entry e = { .size = sizeof(e) };
	struct grove_buf json = GROVE_BUF_INIT;

	grove_session_close(conversation(w));
	assert_int_equal(grove_session_open(w->g, "t1", GROVE_OPEN_READ, &s), 0);
	assert_int_equal(grove_session_view(s, &v), 0);
	assert_int_equal(grove_view_count(v), 3);
	assert_int_equal(grove_view_entry(v, 0, &e), 0);
	assert_int_equal(e.parent, GROVE_NO_ENTRY);
	assert_int_equal(e.role, GROVE_ROLE_USER);
	for (uint32_t i = 1; i < 3; i++) {
		assert_int_equal(grove_view_entry(v, i, &e), 0);
		assert_int_equal(e.parent, 0);
		assert_int_equal(e.role, GROVE_ROLE_ASSISTANT);
	}
	assert_int_equal(grove_view_leaf(v), 2);
	assert_int_equal(grove_view_context(v, NULL, grove_buf_sink(&json)), 0);
	assert_non_null(strstr(json.ptr, "\"messages\":[{\"role\":\"user\",\"content\":\"hello\"},"
					 "{\"role\":\"assistant\",\"content\":\"hey\"}]"));
	grove_buf_release(&json);
	grove_view_unref(v);
	grove_session_close(s);
}

static void what_a_toy_cannot_say_is_refused(void **state)
{
	struct world *w = *state;
	struct grove_session *s = conversation(w);
	struct grove_detail d;

	assert_int_equal(grove_session_append_thinking_level(s, "high", NULL, NULL), GROVE_ENOTSUP);
	grove_session_error(s, &d);
	assert_string_equal(d.message, "toy has no entries of that kind");
	assert_int_equal(grove_session_append(s, grove__slice_str("{\"type\":\"x\"}"), NULL, NULL), GROVE_EINVAL);
	grove_session_close(s);
}

static void a_toy_is_forked_below_other_parents(void **state)
{
	struct world *w = *state;
	struct grove_session *s = conversation(w), *f;
	struct grove_fork_options opt = { .size = sizeof(opt) };
	struct grove_view *v;

	assert_int_equal(grove_session_fork(s, &opt, &f), 0);
	assert_string_equal(grove_session_dialect(f), "toy");
	assert_int_equal(grove_session_view(f, &v), 0);
	assert_int_equal(grove_view_count(v), 3);
	grove_view_unref(v);
	grove_session_close(f);
	grove_session_close(s);
}

/* ----------------------------------------------------------------- a list */

/* The lines of the session's log, as they are stored. */
static void expect_lines(struct grove *g, const char *what, const char *lines)
{
	struct grove_buf raw = GROVE_BUF_INIT;
	struct grove_session *s;
	struct grove_view *v;

	assert_int_equal(grove_session_open(g, what, GROVE_OPEN_READ, &s), 0);
	assert_int_equal(grove_session_view(s, &v), 0);
	assert_int_equal(grove_view_raw(v, grove_buf_sink(&raw)), 0);
	assert_string_equal(raw.ptr, lines);
	grove_buf_release(&raw);
	grove_view_unref(v);
	grove_session_close(s);
}

/* Each entry is below the one before it, and these are the ids. */
static void expect_list(struct grove_session *s, const char *const *ids, uint32_t nr)
{
	struct grove_entry e = { .size = sizeof(e) };
	struct grove_view *v;

	assert_int_equal(grove_session_view(s, &v), 0);
	assert_int_equal(grove_view_count(v), nr);
	for (uint32_t i = 0; i < nr; i++) {
		assert_int_equal(grove_view_entry(v, i, &e), 0);
		assert_string_equal(e.id, ids[i]);
		assert_int_equal(e.parent, i ? i - 1 : GROVE_NO_ENTRY);
		assert_int_equal(e.flags, 0);
	}
	assert_int_equal(grove_view_leaf(v), nr - 1);
	grove_view_unref(v);
}

static void expect_context(struct grove_session *s, const char *leaf, const char *messages)
{
	struct grove_context_options opt = { .size = sizeof(opt), .leaf = leaf };
	struct grove_buf json = GROVE_BUF_INIT;
	struct grove_view *v;

	assert_int_equal(grove_session_view(s, &v), 0);
	assert_int_equal(grove_view_context(v, &opt, grove_buf_sink(&json)), 0);
	assert_non_null(strstr(json.ptr, messages));
	grove_buf_release(&json);
	grove_view_unref(v);
}

static int count_problems(void *payload, const struct grove_problem *p)
{
	print_message("%s: %s\n", p->kind, p->detail ? p->detail : "");
	++*(unsigned *)payload;
	return 0;
}

static void expect_sound(struct grove *g, const char *what)
{
	unsigned nr = 0;

	assert_int_equal(grove_check(g, what, count_problems, &nr, NULL), 0);
	assert_int_equal(nr, 0);
}

/* How many entries a word is found in; the last one is in `id`. */
static size_t found(struct grove *g, const char *words, char id[64])
{
	struct grove_search *s;
	struct grove_hits *h;
	size_t nr;

	assert_int_equal(grove_search_open(g, GROVE_SEARCH_NO_INDEX, &s), 0);
	assert_int_equal(grove_search_run(s, words, NULL, &h), 0);
	nr = grove_hits_count(h);
	if (nr)
		snprintf(id, 64, "%s", grove_hits_at(h, nr - 1)->entry_id);
	grove_hits_free(h);
	grove_search_close(s);
	return nr;
}

#define L1_LINES "{\"list\":\"l1\",\"dir\":\"/w\"}\n{\"who\":\"user\",\"say\":\"hello\"}\n" \
		 "{\"who\":\"assistant\",\"say\":\"hi\"}\n"
static const char *const l1_ids[] = { "l1.1", "l1.2", "l1.3", "l1.4" };

static struct grove_session *list_of_two(struct world *w)
{
	struct grove_create_options opt = { .size = sizeof(opt), .dialect = "toylist", .id = "l1" };
	struct grove_session *s;

	assert_int_equal(grove_session_create(w->g, &opt, &s), 0);
	assert_string_equal(say(s, "{\"role\":\"user\",\"content\":\"hello\"}", NULL), "l1.1");
	assert_string_equal(say(s, "{\"role\":\"assistant\",\"content\":\"hi\"}", NULL), "l1.2");
	return s;
}

static void a_list_is_stored_as_it_is_and_known_by_its_lines(void **state)
{
	struct world *w = *state;
	struct grove_session *s = list_of_two(w);

	expect_list(s, l1_ids, 2);
	grove_session_close(s);
	expect_lines(w->g, "l1", L1_LINES);
	assert_int_equal(grove_session_open(w->g, "l1", GROVE_OPEN_WRITE, &s), 0);
	expect_list(s, l1_ids, 2);
	assert_string_equal(say(s, "{\"role\":\"user\",\"content\":\"more\"}", "l1.2"), "l1.3");
	expect_list(s, l1_ids, 3);
	expect_context(s, NULL, "{\"role\":\"assistant\",\"content\":\"hi\"},{\"role\":\"user\",\"content\":\"more\"}]");
	expect_context(s, "l1.1", "\"messages\":[{\"role\":\"user\",\"content\":\"hello\"}]");
	grove_session_close(s);
}

static void a_list_has_no_branches(void **state)
{
	struct world *w = *state;
	struct grove_session *s = list_of_two(w);
	struct grove_append_options opt = { .size = sizeof(opt), .parent = "l1.1" };
	struct grove_slice more = grove__slice_str("{\"role\":\"user\",\"content\":\"more\"}");
	struct grove_detail d;

	assert_int_equal(grove_session_append(s, more, &opt, NULL), GROVE_ENOTSUP);
	grove_session_error(s, &d);
	assert_string_equal(d.message, "entries of a toylist session have no ids, and follow one another: "
				       "the next one goes below the last");
	assert_int_equal(grove_session_set_leaf(s, "l1.1", LEAF(0), NULL), GROVE_ENOTSUP);
	grove_session_error(s, &d);
	assert_string_equal(d.message, "the leaf cannot be l1.1: its entries follow one another");
	assert_int_equal(grove_session_set_leaf(s, GROVE_ROOT, LEAF(0), NULL), GROVE_ENOTSUP);
	assert_int_equal(grove_session_set_leaf(s, "l1.2", LEAF(0), NULL), 0);
	expect_list(s, l1_ids, 2);
	grove_session_close(s);
}

/* Ids come from where a line is stored, so what others wrote counts. */
static void two_writers_of_a_list_give_each_line_one_id(void **state)
{
	struct world *w = *state;
	struct grove_session *a = list_of_two(w), *b;
	struct grove_append_options later = { .size = sizeof(later), .sync = GROVE_SYNC_NONE };

	assert_int_equal(grove_session_open(w->g, "l1", GROVE_OPEN_WRITE, &b), 0);
	expect_list(b, l1_ids, 2);
	assert_string_equal(say(a, "{\"role\":\"user\",\"content\":\"more\"}", NULL), "l1.3");
	assert_int_equal(grove_session_submit(b, (struct grove_slice[]){ grove__slice_str("{\"role\":\"user\",\"content\":\"most\"}") },
					      1, &later, NULL), 0);
	assert_int_equal(grove_session_flush(b, GROVE_SYNC_FLUSH), 0);
	expect_list(b, l1_ids, 4);
	assert_int_equal(grove_session_refresh(a), 1);
	expect_list(a, l1_ids, 4);
	grove_session_close(a);
	grove_session_close(b);
}

static void a_torn_line_of_a_list_counts(void **state)
{
	static const char *const ids[] = { "l2.1", "l2.4" };
	struct world *w = *state;
	struct grove_session *s;
	char path[300];

	snprintf(path, sizeof(path), "%s/x.jsonl", w->dir);
	file_make(path, "{\"list\":\"l2\",\"dir\":\"/w\"}\n{\"who\":\"user\",\"say\":\"a\"}\n\n{\"who\":\"us");
	assert_int_equal(grove_session_open(w->g, path, GROVE_OPEN_WRITE, &s), 0);
	assert_string_equal(say(s, "{\"role\":\"user\",\"content\":\"b\"}", NULL), "l2.4");
	expect_list(s, ids, 2);
	grove_session_close(s);
	assert_int_equal(grove_session_open(w->g, path, GROVE_OPEN_READ, &s), 0);
	expect_list(s, ids, 2);
	grove_session_close(s);
}

static void a_list_is_listed_searched_checked_and_forked(void **state)
{
	static const char *const ids[] = { "l9.1", "l9.2" };
	struct world *w = *state;
	struct grove_session *s = list_of_two(w), *f;
	struct grove_fork_options whole = { .size = sizeof(whole), .id = "l9" };
	struct grove_fork_options part = { .size = sizeof(part), .id = "l8", .leaf = "l1.1" };
	struct grove_list *l;
	char id[64];

	assert_int_equal(grove_list(w->g, NULL, &l), 0);
	assert_int_equal(grove_list_count(l), 1);
	assert_string_equal(grove_list_at(l, 0)->first_message, "hello");
	assert_int_equal(grove_list_at(l, 0)->message_count, 2);
	grove_list_free(l);
	assert_int_equal(found(w->g, "hello", id), 1);
	assert_string_equal(id, "l1.1");
	expect_sound(w->g, "l1");
	assert_int_equal(grove_session_fork(s, &whole, &f), 0);
	expect_list(f, ids, 2);
	grove_session_close(f);
	assert_int_equal(grove_session_fork(s, &part, &f), 0);
	grove_session_close(f);
	expect_lines(w->g, "l8", "{\"list\":\"l8\",\"dir\":\"/w\"}\n{\"who\":\"user\",\"say\":\"hello\"}\n");
	grove_session_close(s);
}

static void a_damaged_list_is_mended(void **state)
{
	struct world *w = *state;
	struct grove_fix_result fixed = { .size = sizeof(fixed) };
	char path[300];
	unsigned nr = 0;

	snprintf(path, sizeof(path), "%s/x.jsonl", w->dir);
	file_make(path, "{\"list\":\"l2\",\"dir\":\"/w\"}\n{\"who\":\"user\",\"say\":\"a\"}\nnothing\n{\"who\":\"user\",\"say\":\"b\"}\n");
	assert_int_equal(grove_check(w->g, path, count_problems, &nr, NULL), 0);
	assert_int_equal(nr, 1);
	assert_int_equal(grove_fix(w->g, path, NULL, &fixed), 0);
	assert_int_equal(fixed.mended, 1);
	expect_lines(w->g, path, "{\"list\":\"l2\",\"dir\":\"/w\"}\n{\"who\":\"user\",\"say\":\"a\"}\n{\"who\":\"user\",\"say\":\"b\"}\n");
	expect_sound(w->g, path);
}

static void a_list_goes_to_a_database_and_back(void **state)
{
	struct world *w = *state;
	struct grove_buf id = GROVE_BUF_INIT, path = GROVE_BUF_INIT;
	struct grove_session *s;
	struct grove *g;
	struct grove_options opt = { .size = sizeof(opt), .cwd = "/w", .getenv = no_variables, .cache = "" };
	char db[300], dir[300];
	const char *stores[] = { db };

	grove_session_close(list_of_two(w));
	snprintf(db, sizeof(db), "sqlite:%s/db", w->dir);
	snprintf(dir, sizeof(dir), "%s/back", w->dir);
	if (grove_copy(w->g, "l1", db, &id, &path) == GROVE_ENOTSUP)
		skip(); /* built without SQLite */
	opt.home = "/nowhere";
	opt.stores = stores;
	opt.nr_stores = 1;
	assert_int_equal(grove_open(&opt, &g), 0);
	expect_lines(g, "l1", L1_LINES);
	expect_sound(g, "l1");
	assert_int_equal(grove_session_open(g, "l1", GROVE_OPEN_WRITE, &s), 0);
	expect_list(s, l1_ids, 2);
	assert_string_equal(say(s, "{\"role\":\"user\",\"content\":\"more\"}", NULL), "l1.3");
	expect_list(s, l1_ids, 3);
	grove_session_close(s);
	assert_int_equal(grove_copy(g, "l1", dir, &id, &path), 0);
	expect_lines(g, path.ptr, L1_LINES "{\"who\":\"user\",\"say\":\"more\"}\n");
	grove_close(g);
	grove_buf_release(&id);
	grove_buf_release(&path);
}

/* ------------------------------------- a list that begins with a part of another one */

#define P1 "{\"list\":\"p1\",\"dir\":\"/w\",\"of\":null}\n{\"who\":\"user\",\"say\":\"hello\"}\n" \
	   "{\"who\":\"assistant\",\"say\":\"hi\"}\n{\"who\":\"user\",\"say\":\"bye\"}\n"
#define P2 "{\"list\":\"p2\",\"dir\":\"/w\",\"of\":\"p1\",\"lines\":3}\n{\"who\":\"user\",\"say\":\"wait\"}\n"
#define P3 "{\"list\":\"p3\",\"dir\":\"/w\",\"of\":\"p2\",\"lines\":2}\n{\"who\":\"assistant\",\"say\":\"why\"}\n"
/* the first two are the base's */
static const char *const p2_ids[] = { "p1.1", "p1.2", "p2.1", "p2.2" };
static const char *const p3_ids[] = { "p1.1", "p1.2", "p2.1", "p3.1" };

static void part_file(struct world *w, const char *id, const char *lines)
{
	char path[400];

	snprintf(path, sizeof(path), "%s/.toypart/--w--/2026-01-01T00-00-00-000Z_%s.jsonl", w->dir, id);
	file_make(path, lines);
}

static void make_parts(struct world *w)
{
	char dir[300];

	snprintf(dir, sizeof(dir), "%s/.toypart", w->dir);
	mkdir(dir, 0777);
	snprintf(dir, sizeof(dir), "%s/.toypart/--w--", w->dir);
	mkdir(dir, 0777);
	part_file(w, "p1", P1);
	part_file(w, "p2", P2);
	part_file(w, "p3", P3);
}

static void a_log_begins_with_a_part_of_another(void **state)
{
	struct world *w = *state;
	struct grove_session *s;
	char id[64];

	make_parts(w);
	assert_int_equal(grove_session_open(w->g, "p2", GROVE_OPEN_WRITE, &s), 0);
	expect_list(s, p2_ids, 3);
	expect_context(s, NULL, "{\"role\":\"assistant\",\"content\":\"hi\"},{\"role\":\"user\",\"content\":\"wait\"}]");
	expect_context(s, "p1.1", "\"messages\":[{\"role\":\"user\",\"content\":\"hello\"}]");
	assert_string_equal(say(s, "{\"role\":\"assistant\",\"content\":\"ok\"}", NULL), "p2.2");
	expect_list(s, p2_ids, 4);
	/* the lines of the base are not its own: not stored, and found once */
	expect_lines(w->g, "p2", P2 "{\"who\":\"assistant\",\"say\":\"ok\"}\n");
	assert_int_equal(found(w->g, "hello", id), 1);
	assert_string_equal(id, "p1.1");
	assert_int_equal(found(w->g, "wait", id), 1);
	assert_string_equal(id, "p2.1");
	expect_sound(w->g, "p2");
	expect_sound(w->g, NULL);
	grove_session_close(s);
	/* a base that has one itself */
	assert_int_equal(grove_session_open(w->g, "p3", GROVE_OPEN_READ, &s), 0);
	expect_list(s, p3_ids, 4);
	expect_context(s, NULL, "{\"role\":\"user\",\"content\":\"hello\"},{\"role\":\"assistant\",\"content\":\"hi\"},"
				"{\"role\":\"user\",\"content\":\"wait\"},{\"role\":\"assistant\",\"content\":\"why\"}]");
	grove_session_close(s);
}

static void what_is_in_the_base_is_changed_there(void **state)
{
	struct world *w = *state;
	struct grove_session *s;
	struct grove_detail d;

	make_parts(w);
	assert_int_equal(grove_session_open(w->g, "p2", GROVE_OPEN_WRITE, &s), 0);
	assert_int_equal(grove_session_update(s, "p1.1", "/say", "\"x\""), GROVE_ENOTSUP);
	grove_session_error(s, &d);
	assert_string_equal(d.message, "entry p1.1 is in the log of session p1");
	assert_int_equal(grove_session_update(s, "p2.1", "/say", "\"x\""), 0);
	expect_lines(w->g, "p2", "{\"list\":\"p2\",\"dir\":\"/w\",\"of\":\"p1\",\"lines\":3}\n{\"who\":\"user\",\"say\":\"x\"}\n");
	expect_list(s, p2_ids, 3);
	grove_session_close(s);
}

static void a_part_is_listed_forked_and_followed(void **state)
{
	static const char *const ids[] = { "p9.1", "p9.2", "p9.3" };
	struct world *w = *state;
	struct grove_fork_options opt = { .size = sizeof(opt), .id = "p9" };
	struct grove_session *s, *f;
	struct grove_list *l;

	make_parts(w);
	assert_int_equal(grove_list(w->g, NULL, &l), 0);
	assert_int_equal(grove_list_count(l), 3);
	/* a list shows what is in the log itself */
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(grove_list_at(l, i)->message_count, strcmp(grove_list_at(l, i)->id, "p1") ? 1 : 3);
	grove_list_free(l);
	/* a copy stands by itself */
	assert_int_equal(grove_session_open(w->g, "p2", GROVE_OPEN_READ, &s), 0);
	assert_int_equal(grove_session_fork(s, &opt, &f), 0);
	expect_list(f, ids, 3);
	grove_session_close(f);
	/* others append, and change the log in its place */
	part_file(w, "p2", P2 "{\"who\":\"assistant\",\"say\":\"ok\"}\n");
	assert_true(grove_session_refresh(s) >= 0);
	expect_list(s, p2_ids, 4);
	grove_session_close(s);
}

static void a_part_needs_its_base(void **state)
{
	struct world *w = *state;
	struct grove_session *s;
	struct grove_detail d;
	char dir[300];

	snprintf(dir, sizeof(dir), "%s/.toypart", w->dir);
	mkdir(dir, 0777);
	snprintf(dir, sizeof(dir), "%s/.toypart/--w--", w->dir);
	mkdir(dir, 0777);
	part_file(w, "p2", P2);
	assert_int_equal(grove_session_open(w->g, "p2", GROVE_OPEN_READ, &s), GROVE_EDAMAGED);
	grove_error(w->g, &d);
	grove_session_close(s);
	assert_string_equal(d.message, "it begins with a part of session p1, which is not there");
	part_file(w, "p1", "{\"list\":\"p1\",\"dir\":\"/w\",\"of\":null}\n");
	assert_int_equal(grove_session_open(w->g, "p2", GROVE_OPEN_READ, &s), GROVE_EDAMAGED);
	grove_error(w->g, &d);
	grove_session_close(s);
	assert_string_equal(d.message, "it begins with more of session p1 than there is");
	part_file(w, "p1", "{\"list\":\"p1\",\"dir\":\"/w\",\"of\":\"p2\",\"lines\":1}\n");
	assert_int_equal(grove_session_open(w->g, "p2", GROVE_OPEN_READ, &s), GROVE_EDAMAGED);
	grove_error(w->g, &d);
	grove_session_close(s);
	assert_string_equal(d.message, "it begins with a part of itself, or of too many sessions");
}

/* What a host does with one: opens it, reads all of it, and says something. */
static int use_part(struct grove *g)
{
	struct grove_slice more = grove__slice_str("{\"role\":\"user\",\"content\":\"more\"}");
	struct grove_context_options opt = { .size = sizeof(opt) };
	struct grove_buf json = GROVE_BUF_INIT;
	struct grove_session *s;
	struct grove_view *v;
	int rc = grove_session_open(g, "p3", GROVE_OPEN_WRITE, &s);

	if (!rc) {
		rc = grove_session_view(s, &v);
		if (!rc) {
			rc = grove_view_context(v, &opt, grove_buf_sink(&json));
			grove_view_unref(v);
		}
		rc = rc ? rc : grove_session_append(s, more, NULL, NULL);
	}
	grove_session_close(s);
	grove_buf_release(&json);
	return rc;
}

static void each_allocation_for_a_part_may_fail(void **state)
{
	struct world *w = *state;
	int rc = GROVE_ENOMEM;

	make_parts(w);
	for (size_t i = 1; rc; i++) {
		alloc_nr = 0;
		alloc_fail = i;
		rc = use_part(w->g);
		/* threads and prefetching may do without */
		alloc_fail = alloc_nr < i ? 0 : alloc_fail;
		if (rc)
			assert_int_equal(rc, GROVE_ENOMEM);
		else if (alloc_fail)
			rc = GROVE_ENOMEM;
		alloc_fail = 0;
		part_file(w, "p3", P3);
		assert_true(i < 10000);
	}
	expect_sound(w->g, "p3");
}

static void a_part_goes_to_a_database_and_back_with_its_base(void **state)
{
	struct world *w = *state;
	struct grove_buf id = GROVE_BUF_INIT, path = GROVE_BUF_INIT;
	struct grove_session *s;
	struct grove *g;
	struct grove_options opt = { .size = sizeof(opt), .cwd = "/w", .getenv = no_variables, .cache = "" };
	char db[300], dir[300];
	const char *stores[] = { db };

	make_parts(w);
	snprintf(db, sizeof(db), "sqlite:%s/db", w->dir);
	snprintf(dir, sizeof(dir), "%s/back", w->dir);
	if (grove_copy(w->g, "p1", db, &id, &path) == GROVE_ENOTSUP)
		skip(); /* built without SQLite */
	assert_int_equal(grove_copy(w->g, "p2", db, &id, &path), 0);
	assert_int_equal(grove_copy(w->g, "p3", db, &id, &path), 0);
	opt.home = "/nowhere";
	opt.stores = stores;
	opt.nr_stores = 1;
	assert_int_equal(grove_open(&opt, &g), 0);
	assert_int_equal(grove_session_open(g, "p2", GROVE_OPEN_WRITE, &s), 0);
	expect_list(s, p2_ids, 3);
	assert_string_equal(say(s, "{\"role\":\"assistant\",\"content\":\"ok\"}", NULL), "p2.2");
	expect_list(s, p2_ids, 4);
	expect_context(s, NULL, "{\"role\":\"assistant\",\"content\":\"hi\"},{\"role\":\"user\",\"content\":\"wait\"},{\"role\":\"assistant\",\"content\":\"ok\"}]");
	grove_session_close(s);
	expect_sound(g, "p2");
	assert_int_equal(grove_session_open(g, "p3", GROVE_OPEN_READ, &s), 0);
	expect_list(s, p3_ids, 4);
	grove_session_close(s);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(grove_copy(g, (const char *[]){ "p1", "p2", "p3" }[i], dir, &id, &path), 0);
	grove_close(g);
	snprintf(db, sizeof(db), "%s", dir);
	assert_int_equal(grove_open(&opt, &g), 0);
	expect_lines(g, "p2", P2 "{\"who\":\"assistant\",\"say\":\"ok\"}\n");
	assert_int_equal(grove_session_open(g, "p3", GROVE_OPEN_READ, &s), 0);
	expect_list(s, p3_ids, 4);
	grove_session_close(s);
	grove_close(g);
	grove_buf_release(&id);
	grove_buf_release(&path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_toy_is_listed_and_recognised, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_toy_in_a_strange_place_is_known_by_its_first_line, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(its_tree_and_its_context_are_what_was_appended, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_a_toy_cannot_say_is_refused, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_toy_is_forked_below_other_parents, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_list_is_stored_as_it_is_and_known_by_its_lines, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_list_has_no_branches, set_up, tear_down),
		cmocka_unit_test_setup_teardown(two_writers_of_a_list_give_each_line_one_id, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_torn_line_of_a_list_counts, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_list_is_listed_searched_checked_and_forked, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_damaged_list_is_mended, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_list_goes_to_a_database_and_back, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_log_begins_with_a_part_of_another, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_is_in_the_base_is_changed_there, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_part_is_listed_forked_and_followed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_part_needs_its_base, set_up, tear_down),
		cmocka_unit_test_setup_teardown(each_allocation_for_a_part_may_fail, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_part_goes_to_a_database_and_back_with_its_base, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
