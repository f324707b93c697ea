/*
 * tests/runtime/suite_session.c: whole sessions: created, found, changed,
 * listed, deleted.
 */
#include "runtime.h"
#include "../lib/calls.h"

static void a_session_is_found_by_its_id(void **state)
{
	struct world *w = *state;
	struct grove_session *s = create(w, "session-one"), *t;

	add(s, "a", "user");
	t = again(w, s, GROVE_OPEN_READ);
	assert_string_equal(grove_session_id(t), "session-one");
	assert_string_equal(grove_session_cwd(t), w->cwd);
	assert_string_equal(grove_session_dialect(t), "pi");
	assert_path(t, "a");
	grove_session_close(t);
	/* also found by the beginning of its id */
	OK(w->other, grove_session_open(w->other, "session-o", GROVE_OPEN_READ, &t));
	assert_path(t, "a");
	grove_session_close(t);
	GOT(w->other, grove_session_open(w->other, "session-two", GROVE_OPEN_READ, &t), GROVE_ENOTFOUND);
	grove_session_close(t);
	grove_session_close(s);
}

static void a_session_waits_for_its_first_message(void **state)
{
	struct world *w = *state;
	struct grove_create_options o = { .size = sizeof(o), .id = "later" };
	struct grove_session *s, *t;

	OK(w->g, grove_session_create(w->g, &o, &s));
	OK(w->g, grove_session_append_thinking_level(s, "high", NULL, NULL));
	assert_int_equal(grove_session_pending(s), 1);
	GOT(w->other, grove_session_open(w->other, "later", GROVE_OPEN_READ, &t), GROVE_ENOTFOUND);
	grove_session_close(t);
	add(s, "a", "user");
	assert_int_equal(grove_session_pending(s), 0);
	t = again(w, s, GROVE_OPEN_READ);
	assert_int_equal(lines_of(t), 3);
	assert_leaf(t, "a");
	grove_session_close(t);
	grove_session_close(s);
}

static void the_record_of_a_session_is_complete(void **state)
{
	struct world *w = *state;
	struct grove_create_options o = { .size = sizeof(o), .flags = GROVE_CREATE_NOW, .id = "s-1",
				       .name = "a name", .parent_session = "before" };
	struct grove_session *s, *t;
	struct grove_buf doc;
	char part[800];

	OK(w->g, grove_session_create(w->g, &o, &s));
	add(s, "a", "user");
	add(s, "b", "assistant");
	t = again(w, s, GROVE_OPEN_READ);
	doc = snapshot_of(t, NULL);
	snprintf(part, sizeof(part), "{\"session\":{\"id\":\"s-1\",\"provider\":\"%s\",\"store\":\"%s:",
		 w->kind->name, w->kind->name);
	assert_has(&doc, part);
	assert_lacks(&doc, "s3cret");
	snprintf(part, sizeof(part),
		 ",\"dialect\":\"pi\",\"agent\":\"pi\",\"agentId\":null,\"cwd\":\"%s\","
		 "\"name\":\"a name\",",
		 w->cwd);
	assert_has(&doc, part);
	assert_has(&doc, ",\"leafEntryId\":\"b\",\"parentSession\":\"before\",\"createdAt\":\"20");
	assert_has(&doc, ",\"updatedAt\":\"20");
	/* the entry with the name is part of the tree, and its root */
	snprintf(part, sizeof(part), ",\"entryCount\":3,\"seq\":4,\"rev\":%llu,\"generation\":",
		 (unsigned long long)rev_of(t));
	assert_has(&doc, part);
	grove_buf_release(&doc);
	grove_session_close(t);
	grove_session_close(s);
}

static void what_cannot_be_an_id_makes_no_session(void **state)
{
	struct world *w = *state;
	struct grove_create_options o = { .size = sizeof(o), .flags = GROVE_CREATE_NOW, .id = "no good/id" };
	struct grove_list_options all = { .size = sizeof(all), .flags = GROVE_LIST_ALL };
	struct grove_session *s;
	struct grove_list *l;

	GOT(w->g, grove_session_create(w->g, &o, &s), GROVE_EINVAL);
	grove_session_close(s);
	OK(w->g, grove_list(w->g, &all, &l));
	assert_int_equal(grove_list_count(l), 0);
	grove_list_free(l);
}

static void a_name_is_seen_by_everybody(void **state)
{
	struct world *w = *state;
	struct grove_session *s = four(w), *t = again(w, s, GROVE_OPEN_READ);
	struct grove_view *v;

	OK(w->g, grove_session_set_name(s, " first ", GROVE_NAME_BY_USER, NULL));
	OK(w->g, grove_session_set_name(s, "second", GROVE_NAME_BY_USER, NULL));
	assert_int_equal(grove_session_refresh(t), 1);
	v = view_of(t);
	assert_string_equal(grove_view_name(v), "second");
	grove_view_unref(v);
	assert_int_equal(lines_of(t), 7);
	grove_session_close(t);
	grove_session_close(s);
}

static void moving_a_session_gives_it_another_directory(void **state)
{
	struct world *w = *state;
	struct grove_session *s = four(w), *t;
	struct grove_list_options o = { .size = sizeof(o) };
	struct grove_list *l;
	char to[400];

	snprintf(to, sizeof(to), "%s/elsewhere", w->dir);
	OK(w->g, grove_session_move(s, to));
	assert_string_equal(grove_session_cwd(s), to);
	assert_path(s, "a b c d");
	add(s, "e", "user");
	t = again(w, s, GROVE_OPEN_READ);
	assert_string_equal(grove_session_cwd(t), to);
	assert_path(t, "a b c d e");
	assert_int_equal(lines_of(t), 6);
	grove_session_close(t);
	o.cwd = to;
	OK(w->other, grove_list(w->other, &o, &l));
	assert_int_equal(grove_list_count(l), 1);
	assert_string_equal(grove_list_at(l, 0)->id, grove_session_id(s));
	grove_list_free(l);
	o.cwd = w->cwd;
	OK(w->other, grove_list(w->other, &o, &l));
	assert_int_equal(grove_list_count(l), 0);
	grove_list_free(l);
	/* and back again: the old name is free */
	OK(w->g, grove_session_move(s, w->cwd));
	assert_path(s, "a b c d e");
	grove_session_close(s);
}

static void moving_in_a_database_changes_one_line(void **state)
{
	struct world *w = *state;
	struct grove_session *s = four(w), *t = again(w, s, GROVE_OPEN_READ);
	struct grove_buf before = raw_of(s), after;
	size_t head;
	char to[400];

	snprintf(to, sizeof(to), "%s/elsewhere", w->dir);
	OK(w->g, grove_session_move(s, to));
	after = raw_of(s);
	head = strcspn(before.ptr, "\n");
	assert_string_equal(before.ptr + head, after.ptr + strcspn(after.ptr, "\n"));
	assert_has(&after, "/elsewhere\"");
	/*
	 * another handle that has it open notices the move if the store identifies sessions by more
	 * than a path
	 */
	if (w->kind->keeps) {
		assert_int_equal(grove_session_refresh(t), 1);
		assert_string_equal(grove_session_cwd(t), to);
	} else {
		assert_int_equal(grove_session_refresh(t), GROVE_ENOTFOUND);
	}
	grove_buf_release(&before);
	grove_buf_release(&after);
	grove_session_close(t);
	grove_session_close(s);
}

static void values_are_kept_beside_the_lines(void **state)
{
	struct world *w = *state;
	struct grove_session *s = four(w), *t = again(w, s, GROVE_OPEN_READ);
	struct grove_buf b = GROVE_BUF_INIT, doc;
	uint64_t lines = lines_of(s);

	GOT(w->other, grove_session_value_get(t, "agentId", &b), GROVE_ENOTFOUND);
	OK(w->g, grove_session_value_put(s, "agentId", text("agent-7")));
	OK(w->g, grove_session_value_put(s, "metadata", text("{\"a\":[1]}")));
	OK(w->other, grove_session_value_get(t, "agentId", &b));
	assert_string_equal(b.ptr, "agent-7");
	b.len = 0;
	OK(w->other, grove_session_value_get(t, "metadata", &b));
	assert_string_equal(b.ptr, "{\"a\":[1]}");
	GOT(w->g, grove_session_value_put(s, "other", text("x")), GROVE_EINVAL);
	GOT(w->g, grove_session_value_get(s, "other", &b), GROVE_EINVAL);
	/* another value replaces it */
	OK(w->g, grove_session_value_put(s, "agentId", text("agent-8")));
	b.len = 0;
	OK(w->other, grove_session_value_get(t, "agentId", &b));
	assert_string_equal(b.ptr, "agent-8");
	doc = snapshot_of(t, NULL);
	assert_has(&doc, "\"agentId\":\"agent-8\"");
	/* no line is written for it, and a handle for reading cannot set one */
	assert_int_equal(lines_of(s), lines);
	assert_true(grove_session_value_put(t, "agentId", text("x")) < 0);
	grove_buf_release(&doc);
	grove_buf_release(&b);
	grove_session_close(t);
	grove_session_close(s);
}

static void assert_value(struct grove_session *s, const char *name, const char *want)
{
	struct grove_buf b = GROVE_BUF_INIT;

	assert_int_equal(grove_session_value_get(s, name, &b), want ? 0 : GROVE_ENOTFOUND);
	if (want)
		assert_string_equal(b.ptr, want);
	grove_buf_release(&b);
}

static void values_go_where_the_session_goes(void **state)
{
	struct world *w = *state;
	struct grove_fork_options path = { .size = sizeof(path), .leaf = "b" };
	struct grove_session *s = four(w), *whole, *part;
	char to[400];

	snprintf(to, sizeof(to), "%s/elsewhere", w->dir);
	OK(w->g, grove_session_value_put(s, "agentId", text("agent-7")));
	OK(w->g, grove_session_move(s, to));
	assert_value(s, "agentId", "agent-7");
	OK(w->g, grove_session_fork(s, NULL, &whole));
	OK(w->g, grove_session_fork(s, &path, &part));
	assert_value(whole, "agentId", "agent-7");
	assert_value(part, "agentId", "agent-7");
	assert_value(part, "metadata", NULL);
	/* from now on they are two sessions */
	OK(w->g, grove_session_value_put(part, "agentId", text("agent-8")));
	assert_value(s, "agentId", "agent-7");
	OK(w->g, grove_remove(w->g, grove_session_id(part), GROVE_REMOVE_NO_TRASH));
	assert_value(s, "agentId", "agent-7");
	grove_session_close(part);
	grove_session_close(whole);
	grove_session_close(s);
}

static void entries_are_listed_from_a_line_on(void **state)
{
	struct world *w = *state;
	struct grove_session *s = four(w), *t = again(w, s, GROVE_OPEN_READ);
	struct grove_snapshot_options o = { .size = sizeof(o), .after = 2, .limit = 2 };
	struct grove_buf doc = snapshot_of(t, &o);

	/* the header is line 0: the window begins at line 2 and has two lines */
	assert_lacks(&doc, "\"id\":\"a\"");
	assert_has(&doc, "\"id\":\"b\"");
	assert_has(&doc, "\"id\":\"c\"");
	assert_lacks(&doc, "\"id\":\"d\"");
	grove_buf_release(&doc);
	o.after = lines_of(t);
	o.limit = 0;
	doc = snapshot_of(t, &o);
	assert_has(&doc, "\"entries\":[]");
	grove_buf_release(&doc);
	add(s, "e", "user");
	assert_int_equal(grove_session_refresh(t), 1);
	doc = snapshot_of(t, &o);
	assert_has(&doc, "\"id\":\"e\"");
	assert_lacks(&doc, "\"id\":\"d\"");
	grove_buf_release(&doc);
	grove_session_close(t);
	grove_session_close(s);
}

static void deleting_takes_all_of_one_session(void **state)
{
	struct world *w = *state;
	struct grove_session *s = four(w), *t = four(w), *x;
	struct grove_list_options o = { .size = sizeof(o), .flags = GROVE_LIST_ALL };
	struct grove_list *l;
	char id[64];

	snprintf(id, sizeof(id), "%s", grove_session_id(s));
	grove_session_close(s);
	OK(w->other, grove_remove(w->other, id, GROVE_REMOVE_NO_TRASH));
	GOT(w->g, grove_session_open(w->g, id, GROVE_OPEN_READ, &x), GROVE_ENOTFOUND);
	grove_session_close(x);
	OK(w->g, grove_list(w->g, &o, &l));
	assert_int_equal(grove_list_count(l), 1);
	assert_string_equal(grove_list_at(l, 0)->id, grove_session_id(t));
	grove_list_free(l);
	/* a second time does no harm */
	GOT(w->g, grove_remove(w->g, id, GROVE_REMOVE_NO_TRASH), GROVE_ENOTFOUND);
	assert_int_equal(lines_of(t), 5);
	grove_session_close(t);
}

static void a_name_that_was_deleted_is_free(void **state)
{
	struct world *w = *state;
	struct grove_session *s = create(w, "phoenix");

	add(s, "a", "user");
	grove_session_close(s);
	OK(w->g, grove_remove(w->g, "phoenix", GROVE_REMOVE_NO_TRASH));
	s = create(w, "phoenix");
	add(s, "z", "user");
	assert_path(s, "z");
	assert_int_equal(lines_of(s), 2);
	grove_session_close(s);
}

static struct grove_session *create_beside(struct world *w, const char *id)
{
	struct grove_create_options o = { .size = sizeof(o), .flags = GROVE_CREATE_NOW, .id = id,
				       .dir = w->beside + strlen("file:") };
	struct grove_session *s;

	OK(w->g, grove_session_create(w->g, &o, &s));
	return s;
}

static void a_session_is_deleted_where_it_is(void **state)
{
	struct world *w = *state;
	struct grove_session *s = create(w, "here"), *t = create_beside(w, "beside"), *x;

	add(s, "a", "user");
	add(t, "b", "user");
	/* the expected owner does not matter */
	OK(w->g, grove_session_value_put(s, "agentId", text("long gone")));
	OK(w->other, grove_remove(w->other, "beside", GROVE_REMOVE_NO_TRASH));
	GOT(w->g, grove_session_open(w->g, "beside", GROVE_OPEN_READ, &x), GROVE_ENOTFOUND);
	grove_session_close(x);
	assert_path(s, "a");
	assert_int_equal(lines_of(s), 2);
	grove_session_close(t);
	t = create_beside(w, "beside");
	add(t, "b", "user");
	OK(w->other, grove_remove(w->other, "here", GROVE_REMOVE_NO_TRASH));
	GOT(w->g, grove_session_open(w->g, "here", GROVE_OPEN_READ, &x), GROVE_ENOTFOUND);
	grove_session_close(x);
	assert_int_equal(lines_of(t), 2);
	GOT(w->other, grove_remove(w->other, "here", GROVE_REMOVE_NO_TRASH), GROVE_ENOTFOUND);
	assert_int_equal(lines_of(t), 2);
	grove_session_close(t);
	grove_session_close(s);
}

static void of_two_with_one_id_none_is_guessed(void **state)
{
	struct world *w = *state;
	struct grove_session *s = create(w, "twin"), *t = create_beside(w, "twin"), *x;

	add(s, "a", "user");
	add(t, "b", "user");
	GOT(w->g, grove_remove(w->g, "twin", GROVE_REMOVE_NO_TRASH), GROVE_EAMBIGUOUS);
	assert_int_equal(lines_of(s), 2);
	assert_int_equal(lines_of(t), 2);
	/* a path tells which one is meant */
	OK(w->g, grove_remove(w->g, grove_session_path(t), GROVE_REMOVE_NO_TRASH));
	OK(w->g, grove_session_open(w->g, "twin", GROVE_OPEN_READ, &x));
	assert_path(x, "a");
	grove_session_close(x);
	grove_session_close(t);
	grove_session_close(s);
}

static void a_fork_of_what_nobody_said_waits(void **state)
{
	static const char *const dialects[] = { "pi", "omp", "xcsh" };
	struct world *w = *state;

	for (size_t i = 0; i < ARRAY(dialects); i++) {
		struct grove_create_options c = { .size = sizeof(c), .dialect = dialects[i], .flags = GROVE_CREATE_NOW };
		struct grove_fork_options o = { .size = sizeof(o), .flags = GROVE_FORK_DEFER };
		struct grove_session *s, *f, *t;
		const char *model, *said;
		char id[100];

		OK(w->g, grove_session_create(w->g, &c, &s));
		OK(w->g, grove_session_append_model(s, "p", "m", NULL, NULL, INTO(&model)));
		OK(w->g, grove_session_append(s, text("{\"role\":\"user\",\"content\":\"x\"}"), NULL, NULL));
		OK(w->g, grove_session_append(s, text("{\"role\":\"assistant\",\"content\":[]}"), NULL, INTO(&said)));
		/* on the path to the model change there is no message */
		o.leaf = model;
		OK(w->g, grove_session_fork(s, &o, &f));
		snprintf(id, sizeof(id), "%s", grove_session_id(f));
		assert_int_equal(grove_session_pending(f), 1);
		GOT(w->other, grove_session_open(w->other, id, GROVE_OPEN_READ, &t), GROVE_ENOTFOUND);
		grove_session_close(t);
		OK(w->g, grove_session_append(f, text("{\"role\":\"user\",\"content\":\"x\"}"), NULL, NULL));
		OK(w->g, grove_session_append(f, text("{\"role\":\"assistant\",\"content\":[]}"), NULL, NULL));
		assert_int_equal(grove_session_pending(f), 0);
		OK(w->other, grove_session_open(w->other, id, GROVE_OPEN_READ, &t));
		assert_int_equal(lines_of(t), lines_of(f));
		grove_session_close(t);
		grove_session_close(f);
		/* on the path to the answer there is one */
		o.leaf = said;
		OK(w->g, grove_session_fork(s, &o, &f));
		assert_int_equal(grove_session_pending(f), 0);
		OK(w->other, grove_session_open(w->other, grove_session_id(f), GROVE_OPEN_READ, &t));
		grove_session_close(t);
		grove_session_close(f);
		/* and in the whole tree there is one, too */
		o.leaf = NULL;
		OK(w->g, grove_session_fork(s, &o, &f));
		assert_int_equal(grove_session_pending(f), 0);
		grove_session_close(f);
		grove_session_close(s);
	}
}

/* The values of an application are copied by a fork, also by one that is not stored yet. */
static void a_fork_that_waits_has_its_sources_values(void **state)
{
	struct world *w = *state;
	struct grove_session *s = create(w, NULL), *f;
	struct grove_fork_options o = { .size = sizeof(o), .flags = GROVE_FORK_DEFER };
	struct grove_buf value = GROVE_BUF_INIT;

	OK(w->g, grove_session_value_put(s, "agentId", grove_str("me")));
	OK(w->g, grove_session_fork(s, &o, &f));
	OK(w->g, grove_session_ensure(f));
	OK(w->g, grove_session_value_get(f, "agentId", &value));
	assert_string_equal(value.ptr, "me");
	grove_buf_release(&value);
	grove_session_close(f);
	grove_session_close(s);
}

static void a_fork_in_memory_stays_there(void **state)
{
	static const char *const dialects[] = { "pi", "omp", "xcsh", "claude" };
	struct world *w = *state;

	for (size_t i = 0; i < ARRAY(dialects); i++) {
		struct grove_create_options c = { .size = sizeof(c), .dialect = dialects[i], .flags = GROVE_CREATE_MEMORY };
		struct grove_fork_options o = { .size = sizeof(o), .flags = GROVE_FORK_MEMORY | GROVE_FORK_DEFER };
		struct grove_session *s, *f, *t;

		OK(w->g, grove_session_create(w->g, &c, &s));
		OK(w->g, grove_session_append(s, text("{\"role\":\"user\",\"content\":\"x\"}"), NULL, NULL));
		for (int given = 0; given < 2; given++) {
			OK(w->g, grove_session_fork(s, given ? &o : NULL, &f));
			assert_null(grove_session_path(f));
			OK(w->g, grove_session_append(f, text("{\"role\":\"user\",\"content\":\"y\"}"), NULL, NULL));
			assert_int_equal(grove_session_pending(f), 0);
			GOT(w->other, grove_session_open(w->other, grove_session_id(f), GROVE_OPEN_READ, &t), GROVE_ENOTFOUND);
			grove_session_close(t);
			grove_session_close(f);
		}
		grove_session_close(s);
	}
}

const struct CMUnitTest session_cases[] = {
	CASE(a_session_is_found_by_its_id),
	CASE(a_session_waits_for_its_first_message),
	CASE(the_record_of_a_session_is_complete),
	CASE(what_cannot_be_an_id_makes_no_session),
	CASE(a_name_is_seen_by_everybody),
	CASE(moving_a_session_gives_it_another_directory),
	CASE(moving_in_a_database_changes_one_line),
	CASE(values_are_kept_beside_the_lines),
	CASE(values_go_where_the_session_goes),
	CASE(entries_are_listed_from_a_line_on),
	CASE(deleting_takes_all_of_one_session),
	CASE(a_name_that_was_deleted_is_free),
	CASE(a_session_is_deleted_where_it_is),
	CASE(of_two_with_one_id_none_is_guessed),
	CASE(a_fork_of_what_nobody_said_waits),
	CASE(a_fork_that_waits_has_its_sources_values),
	CASE(a_fork_in_memory_stays_there),
};
const size_t nr_session_cases = ARRAY(session_cases);
