/*
 * tests/runtime/suite_watch_set.c: watching many sessions together.
 */
#include <dirent.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include "runtime.h"
#include "../lib/calls.h"

#define PATIENCE 20000
#define NR 12

static struct grove_watch *open_set(struct grove *g, unsigned flags, const char *cursor)
{
	struct grove_watch_options o = { .size = sizeof(o), .flags = flags, .cursor = cursor };
	struct grove_watch *x;

	OK(g, grove_watch_open(g, &o, &x));
	return x;
}

static void check_watch(struct grove_watch *x, int rc, const char *what)
{
	struct grove_detail d;

	grove_watch_error(x, &d);
	if (rc)
		fail_msg("%s: %s: %s: %s", what, grove_error_name(rc), d.path, d.message);
}
#define SET(x, call) check_watch(x, call, #call)

static bool next(struct grove_watch *x, int64_t ms, struct grove_event *e)
{
	int rc;

	e->size = sizeof(*e);
	rc = grove_watch_next(x, ms, e);
	if (rc < 0)
		check_watch(x, rc, "grove_watch_next");
	return !rc;
}

static void assert_quiet(struct grove_watch *x)
{
	struct grove_event e;

	if (next(x, 0, &e))
		fail_msg("%s %s", grove_event_name(e.kind), e.entry_id ? e.entry_id : "-");
}

/* Asserts the next event, and returns it. */
static struct grove_event expect(struct grove_watch *x, enum grove_event_kind kind, const char *session,
				 const char *entry)
{
	struct grove_event e;

	assert_true(next(x, PATIENCE, &e));
	assert_string_equal(grove_event_name(e.kind), grove_event_name(kind));
	assert_string_equal(e.session_id ? e.session_id : "-", session);
	if (entry)
		assert_string_equal(e.entry_id ? e.entry_id : "-", entry);
	return e;
}

/*
 * Creates the sessions set0, set1, … with one entry each; every third one is in the store `beside`.
 */
static void make_many(struct world *w, struct grove_session **s, size_t nr)
{
	char id[32];

	for (size_t i = 0; i < nr; i++) {
		struct grove_create_options o = { .size = sizeof(o), .flags = GROVE_CREATE_NOW, .id = id,
						  .dir = i % 3 == 2 ? w->beside + 5 : NULL };

		snprintf(id, sizeof(id), "set%zu", i);
		OK(w->g, grove_session_create(w->g, &o, &s[i]));
		add(s[i], "first", "user");
	}
}

static void close_many(struct grove_session **s, size_t nr)
{
	while (nr)
		grove_session_close(s[--nr]);
}

static struct grove_watch *watch_many(struct world *w, struct grove_session **s, size_t nr, unsigned flags)
{
	struct grove_watch *x = open_set(w->other, flags, NULL);

	for (size_t i = 0; i < nr; i++)
		SET(x, grove_watch_add(x, grove_session_id(s[i]), GROVE_REV_NOW, &s[i]));
	return x;
}

static void each_session_is_told_under_its_tag(void **state)
{
	struct world *w = *state;
	struct grove_session *s[NR];
	struct grove_watch *x;
	struct grove_event e;
	unsigned told[NR] = { 0 };
	char id[32];

	make_many(w, s, NR);
	x = watch_many(w, s, NR, 0);
	assert_quiet(x);
	for (size_t i = 0; i < NR * 5; i++) {
		snprintf(id, sizeof(id), "e%zu", i / NR);
		add(s[i * 7 % NR], id, "user");
	}
	for (size_t i = 0; i < NR * 5; i++) {
		size_t which;

		assert_true(next(x, PATIENCE, &e));
		which = (struct grove_session **)e.tag - s;
		assert_in_range(which, 0, NR - 1);
		assert_int_equal(e.kind, GROVE_EVENT_APPEND);
		assert_string_equal(e.session_id, grove_session_id(s[which]));
		snprintf(id, sizeof(id), "e%u", told[which]++);
		assert_string_equal(e.entry_id, id);
		assert_int_equal(e.nr, 1);
		assert_int_equal(e.first, told[which]);
	}
	for (size_t i = 0; i < NR; i++)
		assert_int_equal(told[i], 5);
	assert_quiet(x);
	grove_watch_close(x);
	close_many(s, NR);
}

static void a_busy_session_does_not_keep_the_others_waiting(void **state)
{
	struct world *w = *state;
	struct grove_session *s[3];
	struct grove_watch *x;
	struct grove_event e;
	char id[32];
	size_t at = 0, n = 0;

	make_many(w, s, 3);
	x = watch_many(w, s, 3, 0);
	for (int i = 0; i < 200; i++) {
		snprintf(id, sizeof(id), "e%d", i);
		add(s[0], id, "user");
	}
	add(s[1], "other", "user");
	for (; n < 201; n++) {
		assert_true(next(x, PATIENCE, &e));
		if (e.tag == &s[1])
			at = n + 1;
	}
	/* its event comes early, not after those of all the others */
	assert_in_range(at, 1, 100);
	grove_watch_close(x);
	close_many(s, 3);
}

static void what_is_removed_is_silent_and_can_come_back(void **state)
{
	struct world *w = *state;
	struct grove_session *s[3];
	struct grove_watch *x;
	uint64_t rev;

	make_many(w, s, 3);
	x = watch_many(w, s, 3, 0);
	add(s[0], "a", "user");
	rev = expect(x, GROVE_EVENT_APPEND, "set0", "a").rev;
	add(s[0], "unheard", "user");
	SET(x, grove_watch_remove(x, &s[0]));
	assert_int_equal(grove_watch_remove(x, &s[0]), GROVE_ENOTFOUND);
	add(s[0], "b", "user");
	add(s[1], "c", "user");
	expect(x, GROVE_EVENT_APPEND, "set1", "c");
	assert_quiet(x);
	SET(x, grove_watch_add(x, "set0", rev, &s[0]));
	expect(x, GROVE_EVENT_APPEND, "set0", "unheard");
	expect(x, GROVE_EVENT_APPEND, "set0", "b");
	/* added twice: each reports for itself */
	SET(x, grove_watch_add(x, "set0", GROVE_REV_NOW, x));
	add(s[0], "d", "user");
	expect(x, GROVE_EVENT_APPEND, "set0", "d");
	expect(x, GROVE_EVENT_APPEND, "set0", "d");
	assert_quiet(x);
	grove_watch_close(x);
	close_many(s, 3);
}

static void a_deleted_session_leaves_the_set(void **state)
{
	struct world *w = *state;
	struct grove_session *s[2];
	struct grove_watch *x;
	struct grove_event e = { .size = sizeof(e) };

	make_many(w, s, 2);
	x = watch_many(w, s, 2, 0);
	assert_quiet(x);
	OK(w->g, grove_remove(w->g, "set0", GROVE_REMOVE_NO_TRASH));
	assert_ptr_equal(expect(x, GROVE_EVENT_DELETE, "set0", "-").tag, &s[0]);
	add(s[1], "a", "user");
	expect(x, GROVE_EVENT_APPEND, "set1", "a");
	OK(w->g, grove_remove(w->g, "set1", GROVE_REMOVE_NO_TRASH));
	expect(x, GROVE_EVENT_DELETE, "set1", "-");
	assert_int_equal(grove_watch_next(x, -1, &e), GROVE_ENOTFOUND);
	assert_int_equal(grove_watch_remove(x, &s[0]), GROVE_ENOTFOUND);
	grove_watch_close(x);
	close_many(s, 2);
}

static void the_descriptor_says_when_to_ask(void **state)
{
	struct world *w = *state;
	struct grove_session *s[3];
	struct grove_watch *x;
	struct grove_event e;
	struct pollfd p;
	int got = 0;

	make_many(w, s, 3);
	x = watch_many(w, s, 3, 0);
	p = (struct pollfd){ .fd = grove_watch_fd(x), .events = POLLIN };
	while (next(x, 0, &e))
		;
	add(s[0], "a", "user");
	add(s[2], "b", "user");
	while (got < 2) {
		assert_int_equal(poll(&p, 1, PATIENCE), 1);
		while (next(x, 0, &e))
			got++;
	}
	assert_int_equal(got, 2);
	/* while there is an event, the descriptor is readable */
	add(s[0], "c", "user");
	add(s[0], "d", "user");
	while (!next(x, 0, &e))
		assert_int_equal(poll(&p, 1, PATIENCE), 1);
	assert_int_equal(poll(&p, 1, 0), 1);
	assert_true(next(x, 0, &e));
	grove_watch_wake(x);
	assert_int_equal(poll(&p, 1, 0), 1);
	assert_false(next(x, -1, &e));
	grove_watch_close(x);
	close_many(s, 3);
}

static void an_empty_set_wakes_nobody(void **state)
{
	struct world *w = *state;
	struct grove_session *s[3];
	struct grove_watch *x;
	struct grove_event e;
	struct pollfd p;

	make_many(w, s, 3);
	x = watch_many(w, s, 3, 0);
	p = (struct pollfd){ .fd = grove_watch_fd(x), .events = POLLIN };
	add(s[0], "a", "user");
	add(s[0], "b", "user");
	while (!next(x, 0, &e))
		assert_int_equal(poll(&p, 1, PATIENCE), 1);
	/* one event is left, and databases would have to be polled again soon */
	for (unsigned i = 0; i < 3; i++)
		SET(x, grove_watch_remove(x, &s[i]));
	e = (struct grove_event){ .size = sizeof(e) };
	assert_int_equal(grove_watch_next(x, 0, &e), GROVE_ENOTFOUND);
	assert_int_equal(poll(&p, 1, 300), 0);
	grove_watch_close(x);
	close_many(s, 3);
}

static void one_word_resumes_everything(void **state)
{
	struct world *w = *state;
	struct grove_session *s[4];
	struct grove_buf cursor = GROVE_BUF_INIT;
	struct grove_watch *x, *y;
	struct grove_event e;
	unsigned seen = 0;

	make_many(w, s, 4);
	x = watch_many(w, s, 4, 0);
	add(s[0], "a", "user");
	add(s[1], "b", "user");
	expect(x, GROVE_EVENT_APPEND, "set0", "a");
	SET(x, grove_watch_cursor(x, &cursor));
	/* it can be used without quoting in a URL, in a shell and in a line */
	assert_int_equal(strcspn(cursor.ptr, " \t\n\"'\\$`&;?#"), strlen(cursor.ptr));
	add(s[0], "c", "user");
	add(s[2], "d", "user");
	OK(w->g, grove_remove(w->g, "set3", GROVE_REMOVE_NO_TRASH));
	y = open_set(w->other, 0, cursor.ptr);
	for (int i = 0; i < 4; i++) {
		assert_true(next(y, PATIENCE, &e));
		assert_null(e.tag);
		seen |= !strcmp(e.session_id, "set0") && !strcmp(e.entry_id, "c") ? 1
		      : !strcmp(e.session_id, "set1") && !strcmp(e.entry_id, "b") ? 2
		      : !strcmp(e.session_id, "set2") && !strcmp(e.entry_id, "d") ? 4
		      : !strcmp(e.session_id, "set3") && e.kind == GROVE_EVENT_DELETE ? 8 : 16;
	}
	assert_int_equal(seen, 15);
	assert_quiet(y);
	grove_watch_close(y);
	for (size_t i = 0; i < 3; i++) {
		static const char *const wrong[] = { "2", "1,x", "1,5:a:b:c" };
		struct grove_watch_options o = { .size = sizeof(o), .cursor = wrong[i] };

		GOT(NULL, grove_watch_open(w->other, &o, &y), GROVE_EINVAL);
		grove_watch_close(y);
	}
	grove_buf_release(&cursor);
	grove_watch_close(x);
	close_many(s, 4);
}

static void a_view_has_what_the_event_is_about(void **state)
{
	struct world *w = *state;
	struct grove_session *s[2];
	struct grove_watch *x;
	struct grove_view *v;
	struct grove_event e;
	struct grove_entry entry = { .size = sizeof(entry) };

	make_many(w, s, 2);
	x = watch_many(w, s, 2, 0);
	GOT(NULL, grove_watch_view(x, &v), GROVE_ENOTFOUND);
	add(s[1], "a", "user");
	e = expect(x, GROVE_EVENT_APPEND, "set1", "a");
	SET(x, grove_watch_view(x, &v));
	assert_int_equal(grove_view_entry(v, e.first, &entry), 0);
	assert_string_equal(entry.id, "a");
	assert_true(grove_view_rev(v) >= e.rev);
	/* a cursor that was handed out stays the same, whatever the set does */
	add(s[1], "b", "user");
	expect(x, GROVE_EVENT_APPEND, "set1", "b");
	assert_int_equal(grove_view_count(v), 2);
	grove_view_unref(v);
	OK(w->g, grove_remove(w->g, "set1", GROVE_REMOVE_NO_TRASH));
	expect(x, GROVE_EVENT_DELETE, "set1", "-");
	GOT(NULL, grove_watch_view(x, &v), GROVE_ENOTFOUND);
	grove_watch_close(x);
	close_many(s, 2);
}

static void a_key_names_the_session(void **state)
{
	struct world *w = *state;
	struct grove_session *s[3], *t;
	struct grove_watch *x;
	struct grove_event e;

	make_many(w, s, 3);
	x = watch_many(w, s, 3, GROVE_WATCH_LIST);
	while (next(x, 0, &e))
		;
	for (size_t i = 1; i < 3; i++) {
		add(s[i], "a", "user");
		/* as an event of the session, and of the list */
		for (int k = 0; k < 2; k++) {
			assert_true(next(x, PATIENCE, &e));
			OK(w->other, grove_session_open(w->other, e.key, GROVE_OPEN_READ, &t));
			assert_string_equal(grove_session_id(t), grove_session_id(s[i]));
			grove_session_close(t);
		}
	}
	grove_watch_close(x);
	close_many(s, 3);
}

/* More sessions than stay loaded: the others are read again from the position that was noted. */
static void sessions_beyond_those_in_memory_are_told_the_same(void **state)
{
	enum { MANY = 70 };
	struct world *w = *state;
	struct grove_session *s[MANY];
	struct grove_watch *x;
	struct grove_event e;
	char id[32];

	make_many(w, s, MANY);
	x = watch_many(w, s, MANY, 0);
	for (int round = 0; round < 2; round++)
		for (size_t i = 0; i < MANY; i++) {
			snprintf(id, sizeof(id), "r%d", round);
			add(s[i], id, "user");
			e = expect(x, GROVE_EVENT_APPEND, grove_session_id(s[i]), id);
			assert_int_equal(e.first, 1 + round);
			assert_int_equal(e.rev, rev_of(s[i]));
		}
	/* a name in the first lines, a line that is changed, a log that is cut */
	OK(w->g, grove_session_update(s[0], "first", "/message/content", "\"x\""));
	if (w->kind->keeps)
		expect(x, GROVE_EVENT_UPDATE, "set0", "first");
	else
		expect(x, GROVE_EVENT_RESET, "set0", "-");
	OK(w->g, grove_session_forget(s[1], "r1", NULL));
	expect(x, GROVE_EVENT_RESET, "set1", "-");
	OK(w->g, grove_session_set_name(s[3], "name", GROVE_NAME_BY_USER, NULL));
	expect(x, GROVE_EVENT_RENAME, "set3", NULL);
	OK(w->g, grove_remove(w->g, "set4", GROVE_REMOVE_NO_TRASH));
	expect(x, GROVE_EVENT_DELETE, "set4", "-");
	assert_quiet(x);
	grove_watch_close(x);
	close_many(s, MANY);
}

static void the_list_tells_what_comes_changes_and_goes(void **state)
{
	struct world *w = *state;
	struct grove_session *s[3], *t;
	struct grove_buf cursor = GROVE_BUF_INIT;
	struct grove_watch *x;
	struct grove_event e;

	make_many(w, s, 3);
	x = open_set(w->other, GROVE_WATCH_LIST, NULL);
	assert_quiet(x);
	add(s[0], "a", "user");
	assert_null(expect(x, GROVE_EVENT_CHANGE, "set0", "-").tag);
	add(s[2], "a", "user");
	expect(x, GROVE_EVENT_CHANGE, "set2", "-");
	t = create(w, "newcomer");
	expect(x, GROVE_EVENT_CREATE, "newcomer", "-");
	add(t, "a", "user");
	expect(x, GROVE_EVENT_CHANGE, "newcomer", "-");
	SET(x, grove_watch_cursor(x, &cursor));
	OK(w->g, grove_remove(w->g, "newcomer", GROVE_REMOVE_NO_TRASH));
	e = expect(x, GROVE_EVENT_REMOVE, "newcomer", "-");
	/* it is reported once, also if the next call has to list the sessions at once */
	add(s[0], "b", "user");
	expect(x, GROVE_EVENT_CHANGE, "set0", "-");
	assert_quiet(x);
	GOT(NULL, grove_watch_view(x, &(struct grove_view *){ NULL }), GROVE_ENOTFOUND);
	grove_watch_close(x);
	grove_session_close(t);
	/* for a list it cannot be known what happened in the meantime */
	x = open_set(w->other, 0, cursor.ptr);
	assert_true(next(x, 0, &e));
	assert_int_equal(e.kind, GROVE_EVENT_RESET);
	assert_null(e.key);
	add(s[1], "a", "user");
	expect(x, GROVE_EVENT_CHANGE, "set1", "-");
	grove_watch_close(x);
	grove_buf_release(&cursor);
	close_many(s, 3);
}

/*
 * If a session is added because the list has reported a change, that change is reported for it,
 * too.
 */
static void a_change_in_the_list_is_followed_from_before_it(void **state)
{
	struct world *w = *state;
	struct grove_session *s[2], *t;
	struct grove_watch *x;
	struct grove_event e;
	uint64_t rev = 0;

	make_many(w, s, 2);
	x = open_set(w->other, GROVE_WATCH_LIST, NULL);
	GOT(NULL, grove_watch_before(x, &rev), GROVE_ENOTFOUND);
	add(s[0], "a", "user");
	add(s[0], "b", "user");
	e = expect(x, GROVE_EVENT_CHANGE, "set0", "-");
	SET(x, grove_watch_before(x, &rev));
	assert_int_equal(rev + 2, rev_of(s[0]));
	SET(x, grove_watch_add(x, e.key, rev, s[0]));
	expect(x, GROVE_EVENT_APPEND, "set0", "a");
	expect(x, GROVE_EVENT_APPEND, "set0", "b");
	GOT(NULL, grove_watch_before(x, &rev), GROVE_ENOTFOUND);
	/* nobody asked after the first change: the events begin before both */
	add(s[1], "a", "user");
	expect(x, GROVE_EVENT_CHANGE, "set1", "-");
	add(s[1], "b", "user");
	e = expect(x, GROVE_EVENT_CHANGE, "set1", "-");
	SET(x, grove_watch_before(x, &rev));
	assert_int_equal(rev + 2, rev_of(s[1]));
	/* a new session had nothing */
	t = create(w, "newcomer");
	e = expect(x, GROVE_EVENT_CREATE, "newcomer", "-");
	SET(x, grove_watch_before(x, &rev));
	SET(x, grove_watch_add(x, e.key, rev, t));
	expect(x, GROVE_EVENT_APPEND, "newcomer", NULL);
	OK(w->g, grove_remove(w->g, "set1", GROVE_REMOVE_NO_TRASH));
	do
		assert_true(next(x, PATIENCE, &e));
	while (e.kind != GROVE_EVENT_REMOVE);
	GOT(NULL, grove_watch_before(x, &rev), GROVE_ENOTFOUND);
	grove_watch_close(x);
	grove_session_close(t);
	close_many(s, 2);
}

/* A session may be created in one step and written to in another. */
static void a_log_without_a_line_is_no_session_yet(void **state)
{
	struct world *w = *state;
	struct grove_session *s[3];
	struct grove_watch *x;
	char path[400];
	FILE *f;

	/* the third one shows in which directory the new one will be */
	make_many(w, s, 3);
	x = open_set(w->other, GROVE_WATCH_LIST, NULL);
	snprintf(path, sizeof(path), "%s/2026-01-01T00-00-00-000Z_unborn.jsonl", w->beside + 5);
	f = fopen(path, "w");
	assert_non_null(f);
	add(s[2], "a", "user");
	expect(x, GROVE_EVENT_CHANGE, "set2", "-");
	assert_quiet(x);
	fputs("{\"type\":\"session\",\"version\":3,\"id\":\"unborn\",\"timestamp\":\"2026-01-01T00:00:00.000Z\","
	      "\"cwd\":\"/w\"}\n", f);
	assert_int_equal(fclose(f), 0);
	expect(x, GROVE_EVENT_CREATE, "unborn", "-");
	assert_quiet(x);
	grove_watch_close(x);
	close_many(s, 3);
}

/* --- writers that are killed --- */

/* Appends to random sessions until it is killed. */
int process_scribbles(const struct world *w, const char *seed)
{
	unsigned n = (unsigned)atoi(seed);
	struct grove *g = see_world(w);
	char id[60];

	for (;;) {
		struct grove_session *s;

		n = n * 1103515245 + 12345;
		snprintf(id, sizeof(id), "set%u", (n >> 16) % NR);
		if (!grove_session_open(g, id, GROVE_OPEN_WRITE, &s)) {
			for (unsigned k = (n >> 8) % 4; k; k--)
				grove_session_append(s, text("{\"role\":\"user\",\"content\":\"x\"}"), NULL, NULL);
		}
		grove_session_close(s);
	}
}

struct heard {
	char **ids;
	size_t nr, cap;
	uint64_t rev;
};

static void hear(struct heard *h, const struct grove_event *e)
{
	assert_true(e->rev >= h->rev);
	h->rev = e->rev;
	/*
	 * a killed writer may leave half a line; the next writer ends it, and it counts as a line
	 * without an entry
	 */
	if (e->kind != GROVE_EVENT_APPEND || !e->entry_id)
		return;
	if (h->nr == h->cap) {
		h->cap = h->cap * 2 + 64;
		h->ids = realloc(h->ids, h->cap * sizeof(*h->ids));
		assert_non_null(h->ids);
	}
	h->ids[h->nr++] = strdup(e->entry_id);
}

static size_t number_of(const struct grove_event *e)
{
	return (size_t)atoi(e->session_id + 3);
}

static void assert_heard_all(struct grove_session *s, struct heard *h)
{
	struct grove_view *v = view_of(s);
	struct grove_entry entry = { .size = sizeof(entry) };

	/* all but the first, which was there before */
	assert_int_equal(h->nr + 1, grove_view_count(v));
	for (uint32_t i = 0; i < h->nr; i++) {
		assert_int_equal(grove_view_entry(v, i + 1, &entry), 0);
		assert_string_equal(entry.id, h->ids[i]);
		free(h->ids[i]);
	}
	free(h->ids);
	assert_int_equal(h->rev, grove_view_rev(v));
	grove_view_unref(v);
}

static void whatever_is_written_is_told_once_and_in_order(void **state)
{
	struct world *w = *state;
	struct grove_session *s[NR];
	struct heard heard[NR] = { { NULL } };
	struct grove_buf cursor = GROVE_BUF_INIT;
	struct grove_watch *x;
	struct grove_event e;
	pid_t pid[3] = { 0 };
	char seed[20];
	size_t nr = 0;

	if (!w->kind->shared)
		return;
	make_many(w, s, NR);
	x = watch_many(w, s, NR, 0);
	while (nr < 600) {
		size_t i = nr % 3;

		if (!pid[i]) {
			snprintf(seed, sizeof(seed), "%zu", nr + 17);
			pid[i] = start_process(w, "scribbles", seed);
		}
		assert_true(next(x, PATIENCE, &e));
		hear(&heard[number_of(&e)], &e);
		if (++nr % 40 == 0) {
			kill(pid[i], SIGKILL);
			waitpid(pid[i], NULL, 0);
			pid[i] = 0;
		}
		/* continues from the cursor, as a new process would */
		if (nr % 150 == 0) {
			grove_buf_release(&cursor);
			SET(x, grove_watch_cursor(x, &cursor));
			grove_watch_close(x);
			x = open_set(w->other, 0, cursor.ptr);
		}
	}
	for (size_t i = 0; i < 3; i++)
		if (pid[i]) {
			kill(pid[i], SIGKILL);
			waitpid(pid[i], NULL, 0);
		}
	/* one more entry ends each session, even where half a line was left */
	for (size_t i = 0; i < NR; i++) {
		OK(w->g, grove_session_refresh(s[i]) < 0 ? -1 : 0);
		add(s[i], "end", "user");
	}
	for (size_t ended = 0; ended < NR;) {
		assert_true(next(x, PATIENCE, &e));
		hear(&heard[number_of(&e)], &e);
		ended += e.entry_id && !strcmp(e.entry_id, "end");
	}
	assert_quiet(x);
	for (size_t i = 0; i < NR; i++)
		assert_heard_all(s[i], &heard[i]);
	grove_buf_release(&cursor);
	grove_watch_close(x);
	close_many(s, NR);
}

/* --- two thousand --- */

static size_t open_descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	size_t n = 0;

	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

/* Creates a session with 20 entries; the caller frees the returned name. */
static char *make_one(struct world *w, const char *id)
{
	struct grove_slice json[20];
	struct grove_session *s = create(w, id);
	char *name;

	for (size_t i = 0; i < ARRAY(json); i++)
		json[i] = text("{\"role\":\"user\",\"content\":\"x\"}");
	OK(w->g, grove_session_append_many(s, json, ARRAY(json), NULL, NULL));
	name = strdup(grove_session_path(s) ? grove_session_path(s) : id);
	assert_non_null(name);
	grove_session_close(s);
	return name;
}

/* Copies the file of many0 under another id: creating each would wait for the disk. */
static char *copy_one(const char *first, const char *id)
{
	char path[600], bytes[16384], *at;
	FILE *f = fopen(first, "r");
	size_t n;

	assert_non_null(f);
	n = fread(bytes, 1, sizeof(bytes) - 1, f);
	bytes[n] = '\0';
	fclose(f);
	at = strstr(bytes, "many0");
	assert_non_null(at);
	snprintf(path, sizeof(path), "%.*s/%s.jsonl", (int)(strrchr(first, '/') - first), first, id);
	f = fopen(path, "w");
	assert_non_null(f);
	fprintf(f, "%.*s%s%s", (int)(at - bytes), bytes, id, at + strlen("many0"));
	assert_int_equal(fclose(f), 0);
	return strdup(path);
}

static void two_thousand_sessions_cost_little(void **state)
{
	enum { MANY = 2000, PER_SESSION = 4096 };
	struct world *w = *state;
	/* in a database, creating each waits for the disk */
	int many = w->kind->keeps ? MANY / 8 : MANY;
	struct grove_session *s;
	struct grove_watch *x;
	struct grove_event e;
	char *names[MANY];
	size_t fds, before;
	char id[32];

	/* in memory, or on a server, they take too long to create */
	if (w->kind->env || !w->kind->shared)
		return;
	for (int i = 0; i < many; i++) {
		snprintf(id, sizeof(id), "many%d", i);
		names[i] = i && !w->kind->keeps ? copy_one(names[0], id) : make_one(w, id);
	}
	fds = open_descriptors();
	before = mallinfo2().uordblks;
	x = open_set(w->other, 0, NULL);
	for (int i = 0; i < many; i++)
		SET(x, grove_watch_add(x, names[i], GROVE_REV_NOW, NULL));
	assert_quiet(x);
	/* what a few loaded sessions need, and a little for each of the others */
	assert_in_range(mallinfo2().uordblks - before, 0, (size_t)many * PER_SESSION + (4 << 20));
	assert_in_range(open_descriptors() - fds, 0, 60);
	for (int i = 0; i < many; i += 97) {
		snprintf(id, sizeof(id), "many%d", i);
		OK(w->g, grove_session_open(w->g, names[i], GROVE_OPEN_WRITE, &s));
		add(s, "new", "user");
		expect(x, GROVE_EVENT_APPEND, id, "new");
		grove_session_close(s);
	}
	assert_false(next(x, 0, &e));
	assert_in_range(open_descriptors() - fds, 0, 60);
	grove_watch_close(x);
	while (many)
		free(names[--many]);
}

const struct CMUnitTest watch_set_cases[] = {
	CASE(each_session_is_told_under_its_tag),
	CASE(a_busy_session_does_not_keep_the_others_waiting),
	CASE(what_is_removed_is_silent_and_can_come_back),
	CASE(a_deleted_session_leaves_the_set),
	CASE(the_descriptor_says_when_to_ask),
	CASE(an_empty_set_wakes_nobody),
	CASE(one_word_resumes_everything),
	CASE(a_view_has_what_the_event_is_about),
	CASE(a_key_names_the_session),
	CASE(sessions_beyond_those_in_memory_are_told_the_same),
	CASE(the_list_tells_what_comes_changes_and_goes),
	CASE(a_change_in_the_list_is_followed_from_before_it),
	CASE(a_log_without_a_line_is_no_session_yet),
	CASE(whatever_is_written_is_told_once_and_in_order),
	CASE(two_thousand_sessions_cost_little),
};
const size_t nr_watch_set_cases = ARRAY(watch_set_cases);
