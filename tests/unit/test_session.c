/*
 * tests/unit/test_session.c: what grove.h promises about a session.
 *
 * How a session copes with others that write to its file is tested in
 * test_session_files.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../lib/world.h"
#include "../lib/calls.h"

/* ------------------------------------------------------------------ opening */

static void a_session_opens_by_path_id_and_prefix(void **state)
{
	struct world *w = *state;
	struct grove_session *s = fresh(w, GROVE_CREATE_NOW), *t;
	char id[64], path[4096], prefix[16];
	struct grove_list *found;

	snprintf(id, sizeof(id), "%s", grove_session_id(s));
	snprintf(path, sizeof(path), "%s", grove_session_path(s));
	snprintf(prefix, sizeof(prefix), "%.13s", id);
	grove_session_close(s);
	for (int i = 0; i < 4; i++) {
		const char *what[] = { id, path, prefix, "last" };

		t = session_at(w, what[i], GROVE_OPEN_READ);
		assert_string_equal(grove_session_id(t), id);
		assert_string_equal(grove_session_path(t), path);
		assert_string_equal(grove_session_cwd(t), w->cwd);
		assert_string_equal(grove_session_dialect(t), "pi");
		assert_string_equal(grove_session_agent(t), "pi");
		assert_int_equal(grove_session_version(t), 3);
		grove_session_close(t);
	}
	OK(w, grove_find(w->g, prefix, 0, &found));
	assert_string_equal(grove_list_at(found, 0)->path, path);
	grove_list_free(found);
	/* with GROVE_FIND_ID only a complete id is found */
	for (int i = 0; i < 4; i++) {
		const char *what[] = { id, path, prefix, "last" };

		assert_int_equal(grove_find(w->g, what[i], GROVE_FIND_ID, &found), i ? GROVE_ENOTFOUND : 0);
		if (!i)
			assert_string_equal(grove_list_at(found, 0)->path, path);
		grove_list_free(found);
	}
}

static void what_is_not_there_is_not_found(void **state)
{
	struct world *w = *state;
	const char *what[] = { "nothing-like-it", "last", "./no.jsonl", "/no/such/dir/x.jsonl", "abc" };
	struct grove_session *s;

	for (size_t i = 0; i < sizeof(what) / sizeof(*what); i++) {
		GOT(w, grove_session_open(w->g, what[i], GROVE_OPEN_READ, &s), GROVE_ENOTFOUND);
		assert_non_null(s);
		assert_story(s, GROVE_ENOTFOUND, "");
		grove_session_close(s);
	}
	GOT(w, grove_session_open(w->g, "", GROVE_OPEN_READ, &s), GROVE_EINVAL);
	grove_session_close(s);
}

static void make_dirs(const char *path)
{
	char *copy = strdup(path);

	for (char *p = copy + 1; (p = strchr(p, '/')); *p++ = '/') {
		*p = '\0';
		mkdir(copy, 0700);
	}
	free(copy);
}

static void a_file_whose_name_does_not_tell_is_found_by_its_header(void **state)
{
	struct world *w = *state;
	char path[8192];
	struct grove_session *s;

	snprintf(path, sizeof(path), "%s/.pi/agent/sessions/--w--/plain.jsonl", w->home);
	make_dirs(path);
	file_make(path, "\xef\xbb\xbf\nnull\n{\"type\":\"session\",\"version\":3,\"id\":\"in-the-header\",\"cwd\":\"/w\"}\n");
	s = session_at(w, "in-the-header", GROVE_OPEN_READ);
	assert_string_equal(grove_session_path(s), path);
	grove_session_close(s);
	s = session_at(w, "in-the", GROVE_OPEN_READ);
	grove_session_close(s);
	/* a path may begin with the home, or be relative */
	s = session_at(w, "~/.pi/agent/sessions/--w--/plain.jsonl", GROVE_OPEN_READ);
	assert_string_equal(grove_session_path(s), path);
	grove_session_close(s);
	s = session_at(w, "../home/./.pi/agent//sessions/--w--/plain.jsonl", GROVE_OPEN_READ);
	assert_string_equal(grove_session_path(s), path);
	grove_session_close(s);
	make(w, "word", BRANCHES);
	s = session_at(w, "word", GROVE_OPEN_READ);
	grove_session_close(s);
}

static void other_agents_of_the_dialect_are_discovered(void **state)
{
	struct world *w = *state;
	struct grove_list_options o = { .size = sizeof(o), .flags = GROVE_LIST_ALL };
	struct grove_list *l;
	struct grove *g;
	char path[8192];

	snprintf(path, sizeof(path), "%s/.openclaw/agents/main/sessions/x.jsonl", w->home);
	make_dirs(path);
	file_make(path, BRANCHES);
	g = world_grove(w);
	assert_int_equal(grove_list(g, &o, &l), 0);
	assert_int_equal(grove_list_count(l), 1);
	assert_string_equal(grove_list_at(l, 0)->agent, "openclaw");
	assert_string_equal(grove_list_at(l, 0)->dialect, "pi");
	assert_string_equal(grove_list_at(l, 0)->path, path);
	grove_list_free(l);
	grove_close(g);
}

static void a_prefix_that_fits_two_is_ambiguous_and_names_them(void **state)
{
	struct world *w = *state;
	struct grove_create_options o = { .size = sizeof(o), .flags = GROVE_CREATE_NOW, .id = "same-one" };
	struct grove_session *s;
	struct grove_detail d;

	OK(w, grove_session_create(w->g, &o, &s));
	grove_session_close(s);
	o.id = "same-two";
	OK(w, grove_session_create(w->g, &o, &s));
	grove_session_close(s);
	GOT(w, grove_session_open(w->g, "same", GROVE_OPEN_READ, &s), GROVE_EAMBIGUOUS);
	grove_session_error(s, &d);
	assert_non_null(strstr(d.message, "same-one"));
	assert_non_null(strstr(d.message, "same-two"));
	grove_session_close(s);
	/*
	 * three characters are too short for a prefix, and a whole id is not the prefix of another
	 * one
	 */
	GOT(w, grove_session_open(w->g, "sam", GROVE_OPEN_READ, &s), GROVE_ENOTFOUND);
	grove_session_close(s);
	OK(w, grove_session_open(w->g, "same-o", GROVE_OPEN_READ, &s));
	grove_session_close(s);
}

static void a_handle_that_did_not_open_answers_and_does_nothing(void **state)
{
	struct world *w = *state;
	struct grove_session *s, *t;
	struct grove_view *v = NULL;
	struct grove_buf b = GROVE_BUF_INIT;
	enum grove_outcome o;

	GOT(w, grove_session_open(w->g, "/no/such.jsonl", GROVE_OPEN_WRITE, &s), GROVE_ENOTFOUND);
	assert_null(grove_session_id(s));
	assert_null(grove_session_leaf(s));
	assert_int_equal(grove_session_pending(s), 0);
	assert_int_equal(grove_session_view(s, &v), GROVE_EINVAL);
	assert_null(v);
	assert_int_equal(grove_session_append(s, text("{\"role\":\"user\"}"), NULL, NULL), GROVE_EINVAL);
	assert_int_equal(grove_session_append_label(s, "x", "y", NULL, NULL), GROVE_EINVAL);
	assert_int_equal(grove_session_set_name(s, "x", GROVE_NAME_BY_USER, NULL), GROVE_EINVAL);
	assert_int_equal(grove_session_set_leaf(s, "x", NULL, NULL), GROVE_EINVAL);
	assert_int_equal(continue_from(s, "x", 0, &o, &b), GROVE_EINVAL);
	assert_int_equal(grove_session_refresh(s), GROVE_EINVAL);
	assert_int_equal(grove_session_sync(s), GROVE_EINVAL);
	assert_int_equal(grove_session_move(s, "/x"), GROVE_EINVAL);
	assert_int_equal(grove_session_ensure(s), GROVE_EINVAL);
	assert_int_equal(grove_session_fork(s, NULL, &t), GROVE_EINVAL);
	assert_story(t, GROVE_EINVAL, "not open");
	grove_session_close(t);
	grove_session_close(s);
	grove_session_close(NULL);
	grove_view_unref(NULL);
}

static void opening_for_reading_lets_nothing_be_written(void **state)
{
	struct world *w = *state;
	const char *path = make(w, "a.jsonl", BRANCHES);
	struct grove_session *s = session_at(w, path, GROVE_OPEN_READ);

	GOT(w, grove_session_append(s, text("{\"role\":\"user\"}"), NULL, NULL), GROVE_EACCESS);
	GOT(w, grove_session_append_label(s, "u1", "x", NULL, NULL), GROVE_EACCESS);
	GOT(w, grove_session_set_leaf(s, "u1", LEAF(GROVE_LEAF_PERSIST), NULL), GROVE_EACCESS);
	GOT(w, grove_session_move(s, "/x"), GROVE_EACCESS);
	/* only the handle's own leaf moves */
	OK(w, grove_session_set_leaf(s, "u1", NULL, NULL));
	assert_leaf(s, "u1");
	grove_session_close(s);
	assert_file(path, BRANCHES);
}

static void options_that_are_not_known_are_refused(void **state)
{
	struct world *w = *state;
	const char *const stores[] = { "ftp://x" };
	struct grove_options o = { .size = sizeof(o), .home = w->home, .cwd = w->cwd,
				   .getenv = no_variables, .dialect = "cobol" };
	struct grove_create_options n = { .size = sizeof(n), .dialect = "cobol" };
	struct grove_session *s;
	struct grove_detail d;
	struct grove *g;

	assert_int_equal(grove_open(&o, &g), GROVE_EINVAL);
	grove_error(g, &d);
	assert_non_null(strstr(d.message, "cobol"));
	grove_close(g);
	o.dialect = NULL;
	o.stores = stores;
	o.nr_stores = 1;
	assert_int_equal(grove_open(&o, &g), GROVE_EINVAL);
	grove_close(g);
	GOT(w, grove_session_create(w->g, &n, &s), GROVE_EINVAL);
	grove_session_close(s);
	n.dialect = NULL;
	n.id = "../escape";
	GOT(w, grove_session_create(w->g, &n, &s), GROVE_EINVAL);
	grove_session_close(s);
	n.id = NULL;
	n.name = " \n\t ";
	n.flags = GROVE_CREATE_NOW;
	GOT(w, grove_session_create(w->g, &n, &s), GROVE_EINVAL);
	grove_session_close(s);
	assert_dir(w->home, "");
}

static void error_names_are_those_of_the_enum(void **state)
{
	static const char *const names[] = { "OK", "NOMEM", "IO", "INVAL", "NOTFOUND", "EXIST",
		"CONFLICT", "DAMAGED", "JSON", "NOTSUP", "STALE", "TOOBIG", "CANCELLED", "AMBIGUOUS",
		"ACCESS", "FULL" };

	(void)state;
	for (int i = 0; i < (int)(sizeof(names) / sizeof(*names)); i++) {
		assert_string_equal(grove_error_name(-i), names[i]);
		assert_true(*grove_strerror(-i));
	}
	assert_string_equal(grove_error_name(-99), "UNKNOWN");
	assert_string_equal(grove_strerror(-99), "unknown error");
	assert_string_equal(grove_kind_name((enum grove_kind)99), "other");
	assert_string_equal(grove_role_name((enum grove_role)99), "other");
	assert_string_equal(grove_version(), GROVE_VERSION);
}

/* ----------------------------------------------------------------- deferral */

static void nothing_is_on_disk_until_somebody_speaks(void **state)
{
	struct world *w = *state;
	struct grove_session *s = fresh(w, 0);
	const char *path = grove_session_path(s), *id;

	OK(w, grove_session_append_model(s, "acme", "big", NULL, NULL, NULL));
	OK(w, grove_session_append_thinking_level(s, "high", NULL, NULL));
	OK(w, append_custom(s, "x", "{\"a\":1}", INTO(&id)));
	OK(w, grove_session_append_label(s, id, "mark", NULL, NULL));
	OK(w, grove_session_set_name(s, "a name", GROVE_NAME_BY_USER, NULL));
	say(w, s, "{\"role\":\"system\",\"content\":\"be good\"}");
	assert_false(is_there(path));
	assert_int_equal(grove_session_pending(s), 6);
	assert_int_equal(counts_of(w, s).entries, 6);
	assert_dir(w->home, "");

	user(w, s, "hello");
	assert_int_equal(lines_in(path), 8);
	assert_int_equal(grove_session_pending(s), 0);
	assert_int_equal(counts_of(w, s).entries, 7);
	user(w, s, "again");
	assert_int_equal(lines_in(path), 9);
	assert_string_equal(label_of(w, s, id), "mark");
	assert_one_line(w, s);
	grove_session_close(s);
}

static void an_assistant_message_starts_the_file_too(void **state)
{
	struct world *w = *state;
	struct grove_session *s = fresh(w, 0);

	say(w, s, "{\"role\":\"toolResult\",\"content\":[]}");
	assert_false(is_there(grove_session_path(s)));
	say(w, s, "{\"role\":\"assistant\",\"content\":[]}");
	assert_int_equal(lines_in(grove_session_path(s)), 3);
	grove_session_close(s);
}

static void ensure_writes_a_deferred_session_and_keeps_its_leaf(void **state)
{
	struct world *w = *state;
	struct grove_session *s = fresh(w, 0), *t;
	const char *a, *b;

	OK(w, append_custom(s, "a", NULL, INTO(&a)));
	OK(w, append_custom(s, "b", NULL, INTO(&b)));
	OK(w, grove_session_set_leaf(s, a, NULL, NULL));
	OK(w, grove_session_ensure(s));
	assert_int_equal(lines_in(grove_session_path(s)), 3);
	assert_leaf(s, a);
	OK(w, grove_session_ensure(s));
	t = session_at(w, grove_session_path(s), GROVE_OPEN_READ);
	assert_leaf(t, b);
	grove_session_close(t);
	/* the root is a place to branch from, too */
	OK(w, grove_session_set_leaf(s, GROVE_ROOT, NULL, NULL));
	assert_leaf(s, NULL);
	assert_path(w, s, user(w, s, "from the root"));
	grove_session_close(s);
}

static void a_closed_deferred_session_leaves_nothing(void **state)
{
	struct world *w = *state;
	struct grove_session *s = fresh(w, 0);

	OK(w, append_custom(s, "a", NULL, NULL));
	grove_session_close(s);
	assert_dir(w->home, "");
}

static void new_now_writes_the_header_and_the_name(void **state)
{
	struct world *w = *state;
	struct grove_create_options o = { .size = sizeof(o), .flags = GROVE_CREATE_NOW, .name = "  my \n name ",
				       .id = "abc", .cwd = "/p/q", .dir = in_world(w, "here"),
				       .parent_session = "/old.jsonl" };
	struct grove_session *s;
	struct grove_view *v;
	struct grove_buf b = GROVE_BUF_INIT;

	OK(w, grove_session_create(w->g, &o, &s));
	assert_int_equal(lines_in(grove_session_path(s)), 2);
	assert_string_equal(grove_session_dir(s), in_world(w, "here"));
	v = view_of(w, s);
	assert_string_equal(grove_view_name(v), "my   name");
	assert_int_equal(grove_view_header(v, &b), 0);
	assert_non_null(strstr(b.ptr, "\"id\":\"abc\""));
	assert_non_null(strstr(b.ptr, "\"cwd\":\"/p/q\""));
	assert_non_null(strstr(b.ptr, "\"parentSession\":\"/old.jsonl\""));
	grove__buf_release(&b);
	grove_view_unref(v);
	grove_session_close(s);
}

static void a_path_of_its_own_gives_id_and_time(void **state)
{
	struct world *w = *state;
	struct grove_create_options o = { .size = sizeof(o),
		.path = in_world(w, "2026-02-03T04-05-06-789Z_my-id.jsonl") };
	struct grove_session *s;
	struct grove_buf b;

	OK(w, grove_session_create(w->g, &o, &s));
	assert_string_equal(grove_session_id(s), "my-id");
	user(w, s, "hi");
	b = file_bytes(grove_session_path(s));
	assert_non_null(strstr(b.ptr, "\"id\":\"my-id\",\"timestamp\":\"2026-02-03T04:05:06.789Z\""));
	grove__buf_release(&b);
	grove_session_close(s);
	o.path = in_world(w, "plain.jsonl");
	OK(w, grove_session_create(w->g, &o, &s));
	assert_int_equal(strlen(grove_session_id(s)), 36);
	grove_session_close(s);
}

/* Checks that everything is as before the append that failed, and that the next one works. */
static void assert_deferral_survives(struct world *w, int err)
{
	struct grove_session *s = fresh(w, 0);
	const char *a;
	struct grove_counts n = { .size = sizeof(n) };

	OK(w, append_custom(s, "a", NULL, INTO(&a)));
	fail_at("write", err, 0, -1);
	assert_int_equal(grove_session_append(s, text("{\"role\":\"user\",\"content\":\"x\"}"), NULL, NULL),
			 GROVE_EFULL);
	all_is_well();
	assert_false(is_there(grove_session_path(s)));
	assert_leaf(s, a);
	assert_int_equal(grove_session_pending(s), 1);
	n = counts_of(w, s);
	assert_int_equal(n.entries, 1);
	assert_int_equal(n.lines, 2);
	user(w, s, "now");
	assert_int_equal(lines_in(grove_session_path(s)), 3);
	grove_session_close(s);
}

static void a_full_disk_leaves_a_deferred_session_deferred(void **state)
{
	assert_deferral_survives(*state, ENOSPC);
	assert_deferral_survives(*state, EDQUOT);
}

static void a_file_that_is_there_already_is_not_touched(void **state)
{
	struct world *w = *state;
	const char *path = make(w, "x.jsonl", "something\n");
	struct grove_create_options o = { .size = sizeof(o), .path = path };
	struct grove_session *s, *t;

	OK(w, grove_session_create(w->g, &o, &s));
	GOT(w, grove_session_append(s, text("{\"role\":\"user\",\"content\":\"x\"}"), NULL, NULL),
	    GROVE_EEXIST);
	GOT(w, grove_session_ensure(s), GROVE_EEXIST);
	assert_file(path, "something\n");
	assert_leaf(s, NULL);
	assert_int_equal(counts_of(w, s).entries, 0);
	o.flags = GROVE_CREATE_NOW;
	GOT(w, grove_session_create(w->g, &o, &t), GROVE_EEXIST);
	assert_file(path, "something\n");
	grove_session_close(t);
	/* once the obstacle is gone, the session is created */
	assert_int_equal(unlink(path), 0);
	user(w, s, "hello");
	assert_int_equal(lines_in(path), 2);
	grove_session_close(s);
}

static void sessions_in_memory_have_no_file_and_all_else(void **state)
{
	struct world *w = *state;
	struct grove_session *s = fresh(w, GROVE_CREATE_MEMORY), *t;
	struct grove_buf b = GROVE_BUF_INIT;
	struct grove_view *v;
	const char *a, *c;

	assert_null(grove_session_path(s));
	assert_null(grove_session_dir(s));
	a = user(w, s, "one");
	c = user(w, s, "two");
	assert_int_equal(grove_session_pending(s), 0);
	OK(w, grove_session_set_leaf(s, a, LEAF(GROVE_LEAF_PERSIST), NULL));
	assert_leaf(s, a);
	OK(w, grove_session_append_label(s, c, "x", NULL, NULL));
	OK(w, grove_session_ensure(s));
	OK(w, grove_session_sync(s));
	OK(w, grove_session_refresh(s));
	GOT(w, grove_session_move(s, "/x"), GROVE_ENOTSUP);
	v = view_of(w, s);
	assert_int_equal(grove_view_raw(v, grove_buf_sink(&b)), 0);
	assert_int_equal(grove_view_count(v), 4);
	grove_view_unref(v);
	grove__buf_release(&b);
	assert_dir(w->home, "");
	/* a fork of it is created on the disk only if this is asked for */
	OK(w, grove_session_fork(s, &(struct grove_fork_options){ .size = sizeof(struct grove_fork_options),
								  .dir = w->cwd }, &t));
	assert_int_equal(lines_in(grove_session_path(t)), 5);
	grove_session_close(t);
	assert_dir(w->home, "");
	grove_session_close(s);
}

/* ---------------------------------------------------------- whole sessions */

static void a_fork_of_the_tree_has_its_lines(void **state)
{
	struct world *w = *state;
	struct grove_session *s = session_at(w, make(w, "a.jsonl", BRANCHES "garbage\n"
					     ENTRY("z", "\"u3\"", "user", "end")), GROVE_OPEN_READ), *t;
	struct grove_fork_options o = { .size = sizeof(o), .id = "copy", .sync = GROVE_SYNC_ALWAYS };
	struct grove_buf b;

	OK(w, grove_session_fork(s, &o, &t));
	assert_string_equal(grove_session_id(t), "copy");
	b = file_bytes(grove_session_path(t));
	assert_non_null(strstr(b.ptr, "\"parentSession\":\""));
	assert_non_null(strstr(b.ptr, strchr(BRANCHES, '\n') + 1));
	assert_null(strstr(b.ptr, "garbage"));
	grove__buf_release(&b);
	assert_leaf(t, "z");
	user(w, t, "in the copy");
	assert_leaf(s, "z");
	grove_session_close(t);
	/* a file with the same id and time exists already, or the id is invalid */
	o.id = "bad/id";
	GOT(w, grove_session_fork(s, &o, &t), GROVE_EINVAL);
	grove_session_close(t);
	o.id = NULL;
	o.leaf = "nobody";
	GOT(w, grove_session_fork(s, &o, &t), GROVE_ENOTFOUND);
	assert_story(t, GROVE_ENOTFOUND, "nobody");
	grove_session_close(t);
	o.leaf = GROVE_ROOT;
	GOT(w, grove_session_fork(s, &o, &t), GROVE_ENOTFOUND);
	grove_session_close(t);
	grove_session_close(s);
}

static void a_fork_of_a_path_has_its_entries_and_labels(void **state)
{
	struct world *w = *state;
	struct grove_session *s = session_at(w, make(w, "a.jsonl", BRANCHES
		"{\"type\":\"label\",\"id\":\"l1\",\"parentId\":\"u3\"" STAMP ",\"targetId\":\"u1\",\"label\":\"start\"}\n"
		"{\"type\":\"label\",\"id\":\"l2\",\"parentId\":\"l1\"" STAMP ",\"targetId\":\"a2\",\"label\":\"off\"}\n"
		ENTRY("x", "\"l2\"", "user", "below labels")), GROVE_OPEN_READ), *t;
	struct grove_fork_options o = { .size = sizeof(o), .leaf = "x", .cwd = "/other/place" };
	struct grove_view *v;
	struct grove_entry e = { .size = sizeof(e) };

	OK(w, grove_session_fork(s, &o, &t));
	assert_string_equal(grove_session_cwd(t), "/other/place");
	assert_non_null(strstr(grove_session_path(t), "--other-place--"));
	v = view_of(w, t);
	assert_int_equal(grove_view_count(v), 5);
	assert_int_equal(find_row(v, "l1"), GROVE_NO_ENTRY);
	assert_int_equal(find_row(v, "a2"), GROVE_NO_ENTRY);
	assert_int_equal(grove_view_entry(v, row(v, "x"), &e), 0);
	assert_int_equal(e.parent, row(v, "u3"));
	grove_view_unref(v);
	assert_string_equal(label_of(w, t, "u1"), "start");
	grove_session_close(t);
	grove_session_close(s);
}

static void half_a_fork_is_not_left_behind(void **state)
{
	struct world *w = *state;
	struct grove_session *s = session_at(w, make(w, "a.jsonl", BRANCHES), GROVE_OPEN_READ), *t;

	fail_at("write", ENOSPC, 0, -1);
	GOT(w, grove_session_fork(s, NULL, &t), GROVE_EFULL);
	all_is_well();
	assert_story(t, GROVE_EFULL, "");
	grove_session_close(t);
	assert_dir(w->cwd, "a.jsonl ");
	grove_session_close(s);
}

static int never(void *payload, uint64_t done, uint64_t total)
{
	(void)done;
	(void)total;
	++*(int *)payload;
	return 1;
}

static void long_work_can_be_cancelled(void **state)
{
	struct world *w = *state;
	const char *path = make(w, "a.jsonl", BRANCHES);
	struct grove_session *s, *t;
	int asked = 0;

	s = session_at(w, path, GROVE_OPEN_READ);
	grove_set_progress(w->g, (struct grove_progress){ never, &asked });
	GOT(w, grove_session_fork(s, NULL, &t), GROVE_ECANCELLED);
	grove_session_close(t);
	grove_session_close(s);
	GOT(w, grove_session_open(w->g, path, GROVE_OPEN_READ, &s), GROVE_ECANCELLED);
	grove_session_close(s);
	assert_true(asked >= 2);
	grove_set_progress(w->g, (struct grove_progress){ NULL, NULL });
	assert_dir(w->cwd, "a.jsonl ");
}

static void a_moved_session_lies_in_its_new_place(void **state)
{
	struct world *w = *state;
	struct grove_session *s = fresh(w, GROVE_CREATE_NOW), *t;
	const char *a = user(w, s, "a");
	struct grove_view *v;
	struct grove_buf b = GROVE_BUF_INIT;
	char old[4096];

	snprintf(old, sizeof(old), "%s", grove_session_path(s));
	/* another handle wrote in the meantime, and was closed */
	t = session_at(w, old, GROVE_OPEN_WRITE);
	user(w, t, "b");
	grove_session_close(t);
	v = view_of(w, s);
	OK(w, grove_session_move(s, "/some/where"));
	assert_false(is_there(old));
	assert_true(is_there(grove_session_path(s)));
	assert_non_null(strstr(grove_session_path(s), "/--some-where--/"));
	assert_string_equal(grove_session_cwd(s), "/some/where");
	assert_int_equal(counts_of(w, s).entries, 2);
	/* the old view returns the right bytes or an error */
	if (!grove_view_line(v, row(v, a), 0, &b))
		assert_non_null(strstr(b.ptr, "\"a\""));
	grove__buf_release(&b);
	grove_view_unref(v);
	user(w, s, "c");
	OK(w, grove_session_move(s, "/some/where/else"));
	OK(w, grove_session_move(s, "/some/where/else"));
	user(w, s, "d");
	assert_int_equal(lines_in(grove_session_path(s)), 5);
	t = session_at(w, grove_session_id(s), GROVE_OPEN_READ);
	assert_string_equal(grove_session_cwd(t), "/some/where/else");
	grove_session_close(t);
	grove_session_close(s);
}

static void a_move_onto_another_file_is_refused(void **state)
{
	struct world *w = *state;
	struct grove_create_options o = { .size = sizeof(o), .flags = GROVE_CREATE_NOW, .id = "x", .cwd = "/there" };
	struct grove_session *s, *t;
	struct grove_buf b = GROVE_BUF_INIT;
	char *name;

	OK(w, grove_session_create(w->g, &o, &t));
	o.cwd = "/here";
	OK(w, grove_session_create(w->g, &o, &s));
	/* the names differ in their time: make the times equal */
	name = strrchr(grove_session_path(s), '/');
	assert_int_equal(grove__buf_addf(&b, "%s%s", grove_session_dir(t), name), 0);
	if (strcmp(b.ptr, grove_session_path(t)))
		assert_int_equal(link(grove_session_path(t), b.ptr), 0);
	GOT(w, grove_session_move(s, "/there"), GROVE_EEXIST);
	assert_string_equal(grove_session_cwd(s), "/here");
	assert_true(is_there(grove_session_path(s)));
	grove__buf_release(&b);
	grove_session_close(s);
	grove_session_close(t);
}

static void a_move_that_fails_leaves_a_whole_session_where_it_was(void **state)
{
	static const char *const names[] = { "write", "fsync", "rename", "renameat2", "mkdir" };
	struct world *w = *state;
	struct grove_session *s = fresh(w, GROVE_CREATE_NOW);
	char path[4096];

	user(w, s, "a");
	snprintf(path, sizeof(path), "%s", grove_session_path(s));
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		int rc;

		fail_at(names[i], EIO, 0, -1);
		rc = grove_session_move(s, "/some/where");
		all_is_well();
		if (!rc)
			fail_msg("%s: it moved", names[i]);
		assert_true(is_there(path));
		assert_string_equal(grove_session_path(s), path);
		assert_int_equal(counts_of(w, s).entries, 1);
	}
	user(w, s, "b");
	assert_int_equal(lines_in(path), 3);
	OK(w, grove_session_move(s, "/some/where"));
	assert_false(is_there(path));
	grove_session_close(s);
}

static void removing_removes_one_session(void **state)
{
	struct world *w = *state;
	const char *a = make(w, "a.jsonl", BRANCHES), *b = make(w, "b.jsonl", BRANCHES);

	OK(w, grove_remove(w->g, a, GROVE_REMOVE_NO_TRASH));
	assert_false(is_there(a));
	assert_true(is_there(b));
	GOT(w, grove_remove(w->g, a, GROVE_REMOVE_NO_TRASH), GROVE_ENOTFOUND);
	GOT(w, grove_remove(w->g, w->cwd, GROVE_REMOVE_NO_TRASH), GROVE_EDAMAGED);
	assert_true(is_there(w->cwd));
}

static void recent_finds_the_newest_of_the_directory_or_begins_one(void **state)
{
	struct world *w = *state;
	struct grove_session *s, *t;
	char id[64];

	OK(w, grove_session_open_recent(w->g, NULL, &s));
	assert_false(is_there(grove_session_path(s)));
	user(w, s, "first");
	snprintf(id, sizeof(id), "%s", grove_session_id(s));
	OK(w, grove_session_open_recent(w->g, NULL, &t));
	assert_string_equal(grove_session_id(t), id);
	user(w, t, "second");
	assert_int_equal(grove_session_refresh(s), 1);
	grove_session_close(t);
	OK(w, grove_session_open_recent(w->g, &(struct grove_create_options){ .size = sizeof(struct grove_create_options), .cwd = "/elsewhere", .dir = NULL }, &t));
	assert_string_not_equal(grove_session_id(t), id);
	grove_session_close(t);
	/* in a directory that the caller chose */
	OK(w, grove_session_open_recent(w->g, &(struct grove_create_options){ .size = sizeof(struct grove_create_options), .cwd = NULL, .dir = in_world(w, "mine") }, &t));
	assert_string_equal(grove_session_dir(t), in_world(w, "mine"));
	user(w, t, "there");
	snprintf(id, sizeof(id), "%s", grove_session_id(t));
	grove_session_close(t);
	OK(w, grove_session_open_recent(w->g, &(struct grove_create_options){ .size = sizeof(struct grove_create_options), .cwd = NULL, .dir = in_world(w, "mine") }, &t));
	assert_string_equal(grove_session_id(t), id);
	grove_session_close(t);
	grove_session_close(s);
}

/* ------------------------------------------------------------------ listing */

static void skipped(void *payload, const struct grove_detail *why)
{
	assert_true(*why->message);
	++*(int *)payload;
}

static void a_list_shows_what_was_asked_for(void **state)
{
	struct world *w = *state;
	static const struct {
		const char *id, *cwd, *name, *says;
	} made[] = {
		{ "one", "/p", "Zebra", "short" },
		{ "two", "/p", NULL, "a longer message than the others have" },
		{ "three", "/q", "apple", "Straße" },
	};
	struct grove_list_options o = { .size = sizeof(o), .flags = GROVE_LIST_ALL };
	struct grove_list *l;
	int told = 0;

	for (size_t i = 0; i < 3; i++) {
		struct grove_create_options n = { .size = sizeof(n), .id = made[i].id, .cwd = made[i].cwd,
					       .name = made[i].name };
		struct grove_session *s;

		OK(w, grove_session_create(w->g, &n, &s));
		user(w, s, made[i].says);
		if (!i)
			user(w, s, "and more");
		grove_session_close(s);
	}
#define LIST(count, first) do { \
	OK(w, grove_list(w->g, &o, &l)); \
	assert_int_equal(grove_list_count(l), count); \
	if (count) \
		assert_string_equal(grove_list_at(l, 0)->id, first); \
	assert_null(grove_list_at(l, count)); \
	grove_list_free(l); \
} while (0)
	OK(w, grove_list(w->g, NULL, &l));
	assert_int_equal(grove_list_count(l), 3);
	grove_list_free(l);
	o.sort = GROVE_SORT_NAME;
	LIST(3, "one");
	o.sort = GROVE_SORT_MESSAGES;
	LIST(3, "one");
	o.sort = GROVE_SORT_SIZE;
	o.limit = 1;
	LIST(1, "one");
	o.limit = 0;
	o.sort = GROVE_SORT_CREATED;
	o.flags = GROVE_LIST_ALL | GROVE_LIST_NAMED;
	o.query = "STRAßE";
	LIST(1, "three");
	o.query = "nothing of the kind";
	LIST(0, "");
	o.query = NULL;
	o.flags = 0;
	LIST(0, "");
	o.cwd = "/p/";
	o.sort = GROVE_SORT_NAME;
	LIST(2, "one");
	/* a file that cannot be read is reported, and hides no other */
	o.cwd = NULL;
	o.flags = GROVE_LIST_ALL;
	o.skipped = skipped;
	o.skipped_payload = &told;
	/*
	 * the first open is that of the directory; when it fails, each file is opened by its path
	 */
	fail_at("open", EACCES, 1, 1);
	OK(w, grove_list(w->g, &o, &l));
	all_is_well();
	assert_int_equal(grove_list_count(l), 2);
	assert_int_equal(told, 1);
	grove_list_free(l);
	grove_list_free(NULL);
}

static void two_stores_and_two_worlds_are_apart(void **state)
{
	struct world *w = *state;
	char a[4200], b[4200];
	const char *const stores[] = { a, b };
	struct grove_options o = { .size = sizeof(o), .home = w->home, .cwd = w->cwd,
				   .getenv = no_variables, .stores = stores, .nr_stores = 2 };
	struct grove_create_options n = { .size = sizeof(n), .flags = GROVE_CREATE_NOW, .id = "twin" };
	struct grove_session *s;
	struct grove_list_options lo = { .size = sizeof(lo), .flags = GROVE_LIST_ALL };
	struct grove_list *l;
	struct grove_detail d;
	struct grove *g;

	snprintf(a, sizeof(a), "file:%s/a", w->dir);
	snprintf(b, sizeof(b), "%s/b", w->dir);
	assert_int_equal(grove_open(&o, &g), 0);
	assert_int_equal(grove_session_create(g, &n, &s), 0);
	assert_true(!strncmp(grove_session_path(s), w->dir, strlen(w->dir)));
	grove_session_close(s);
	n.dir = b;
	assert_int_equal(grove_session_create(g, &n, &s), 0);
	grove_session_close(s);
	assert_int_equal(grove_list(g, &lo, &l), 0);
	assert_int_equal(grove_list_count(l), 2);
	grove_list_free(l);
	/* one id in two places: the error names both */
	assert_int_equal(grove_session_open(g, "twin", GROVE_OPEN_READ, &s), GROVE_EAMBIGUOUS);
	grove_session_error(s, &d);
	assert_non_null(strstr(d.message, "2 sessions"));
	grove_session_close(s);
	grove_close(g);
	OK(w, grove_list(w->g, &lo, &l));
	assert_int_equal(grove_list_count(l), 0);
	grove_list_free(l);
}

static void trace(void *payload, const char *line)
{
	(void)line;
	++*(int *)payload;
}

static void every_call_that_reaches_a_store_can_be_traced(void **state)
{
	struct world *w = *state;
	int calls = 0;
	struct grove_options o = { .size = sizeof(o), .home = w->home, .cwd = w->cwd,
				   .getenv = no_variables, .trace = trace, .trace_payload = &calls };
	struct grove_session *s;
	struct grove *g;
	int before;

	assert_int_equal(grove_open(&o, &g), 0);
	assert_int_equal(grove_session_open(g, make(w, "a.jsonl", BRANCHES), GROVE_OPEN_WRITE, &s), 0);
	before = calls;
	assert_true(before);
	assert_int_equal(grove_session_append(s, grove_str("{\"role\":\"user\"}"), NULL, NULL), 0);
	assert_true(calls > before);
	grove_session_close(s);
	grove_close(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(a_session_opens_by_path_id_and_prefix),
		WORLD_TEST(what_is_not_there_is_not_found),
		WORLD_TEST(a_file_whose_name_does_not_tell_is_found_by_its_header),
		WORLD_TEST(other_agents_of_the_dialect_are_discovered),
		WORLD_TEST(a_prefix_that_fits_two_is_ambiguous_and_names_them),
		WORLD_TEST(a_handle_that_did_not_open_answers_and_does_nothing),
		WORLD_TEST(opening_for_reading_lets_nothing_be_written),
		WORLD_TEST(options_that_are_not_known_are_refused),
		cmocka_unit_test(error_names_are_those_of_the_enum),
		WORLD_TEST(nothing_is_on_disk_until_somebody_speaks),
		WORLD_TEST(an_assistant_message_starts_the_file_too),
		WORLD_TEST(ensure_writes_a_deferred_session_and_keeps_its_leaf),
		WORLD_TEST(a_closed_deferred_session_leaves_nothing),
		WORLD_TEST(new_now_writes_the_header_and_the_name),
		WORLD_TEST(a_path_of_its_own_gives_id_and_time),
		WORLD_TEST(a_full_disk_leaves_a_deferred_session_deferred),
		WORLD_TEST(a_file_that_is_there_already_is_not_touched),
		WORLD_TEST(sessions_in_memory_have_no_file_and_all_else),
		WORLD_TEST(a_fork_of_the_tree_has_its_lines),
		WORLD_TEST(a_fork_of_a_path_has_its_entries_and_labels),
		WORLD_TEST(half_a_fork_is_not_left_behind),
		WORLD_TEST(long_work_can_be_cancelled),
		WORLD_TEST(a_moved_session_lies_in_its_new_place),
		WORLD_TEST(a_move_onto_another_file_is_refused),
		WORLD_TEST(a_move_that_fails_leaves_a_whole_session_where_it_was),
		WORLD_TEST(removing_removes_one_session),
		WORLD_TEST(recent_finds_the_newest_of_the_directory_or_begins_one),
		WORLD_TEST(a_list_shows_what_was_asked_for),
		WORLD_TEST(two_stores_and_two_worlds_are_apart),
		WORLD_TEST(every_call_that_reaches_a_store_can_be_traced),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
