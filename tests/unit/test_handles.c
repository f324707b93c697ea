/*
 * Tests every function that takes a session in two hard situations: on a handle
 * that is left from a failed open, and in a callback of the session itself.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <ctype.h>
#include <glob.h>
#include <unistd.h>

#include "../lib/transcript.h"

static struct grove_slice line = { USER("x"), sizeof(USER("x")) - 1 };

/* What a call may leave behind; released after each. */
static struct {
	struct grove_buf buf;
	struct grove_view *view;
	struct grove_session *fork;
	struct grove_detail detail;
	struct grove_lease lease;
	enum grove_outcome outcome;
	const char *id;
	uint64_t nr;
	size_t written;
	int applied;
	const struct grove_command *command;
} got = { .lease = { .size = sizeof(got.lease) } };

static int on_agent(void *p, const struct grove_subagent *a)
{
	(void)p;
	(void)a;
	return 0;
}

enum what {
	VALUE,    /* it answers NULL or 0 where there is nothing, and may be asked anywhere */
	LOCKED,   /* an int: negative where there is nothing, GROVE_EINVAL in a callback */
	FREE,     /* an int: negative where there is nothing, may be called anywhere */
	LEAF,     /* as a value, but not in callbacks */
	NONE      /* void */
};

#define COMPACTION (&(struct grove_compaction){ .size = sizeof(struct grove_compaction), .summary = "s" })
#define BRANCH (&(struct grove_branch_summary){ .size = sizeof(struct grove_branch_summary), .summary = "s" })
#define ALWAYS (&(struct grove_append_options){ .size = sizeof(struct grove_append_options), .sync = GROVE_SYNC_ALWAYS })

#define CALLS(X) \
	X(grove_session_id, VALUE, (intptr_t)grove_session_id(s)) \
	X(grove_session_path, VALUE, (intptr_t)grove_session_path(s)) \
	X(grove_session_dir, VALUE, (intptr_t)grove_session_dir(s)) \
	X(grove_session_cwd, VALUE, (intptr_t)grove_session_cwd(s)) \
	X(grove_session_dialect, VALUE, (intptr_t)grove_session_dialect(s)) \
	X(grove_session_agent, VALUE, (intptr_t)grove_session_agent(s)) \
	X(grove_session_version, VALUE, (intptr_t)grove_session_version(s)) \
	X(grove_session_migrated, VALUE, (intptr_t)grove_session_migrated(s)) \
	X(grove_session_pending, VALUE, (intptr_t)grove_session_pending(s)) \
	X(grove_session_error, NONE, (grove_session_error(s, &got.detail), 0)) \
	X(grove_session_ensure, LOCKED, grove_session_ensure(s)) \
	X(grove_session_refresh, LOCKED, grove_session_refresh(s)) \
	X(grove_session_sync, LOCKED, grove_session_sync(s)) \
	X(grove_session_append, LOCKED, grove_session_append(s, line, NULL, INTO(&got.id))) \
	X(grove_session_append_many, LOCKED, grove_session_append_many(s, &line, 1, ALWAYS, INTO(&got.id))) \
	X(grove_session_submit, LOCKED, grove_session_submit(s, &line, 1, NULL, INTO(&got.id))) \
	X(grove_session_flush, LOCKED, grove_session_flush(s, GROVE_SYNC_ALWAYS)) \
	X(grove_session_append_thinking_level, LOCKED, grove_session_append_thinking_level(s, "low", NULL, INTO(&got.id))) \
	X(grove_session_append_model, LOCKED, grove_session_append_model(s, "p", "m", NULL, NULL, INTO(&got.id))) \
	X(grove_session_append_compaction, LOCKED, grove_session_append_compaction(s, COMPACTION, NULL, INTO(&got.id))) \
	X(grove_session_append_label, LOCKED, grove_session_append_label(s, "x", "y", NULL, INTO(&got.id))) \
	X(grove_session_set_name, LOCKED, name_session(s, "n", GROVE_NAME_BY_USER, &got.applied)) \
	X(grove_session_resume, LOCKED, grove_session_resume(s, &got.command)) \
	X(grove_session_update, LOCKED, grove_session_update(s, "x", "/a", "1")) \
	X(grove_session_forget, LOCKED, grove_session_forget(s, "x", &got.nr)) \
	X(grove_session_leaf, LEAF, (intptr_t)grove_session_leaf(s)) \
	X(grove_session_set_leaf, LOCKED, grove_session_set_leaf(s, GROVE_ROOT, LEAF(GROVE_LEAF_PERSIST), NULL)) \
	X(grove_session_continue, LOCKED, continue_from(s, "x", 0, &got.outcome, &got.buf)) \
	X(grove_session_fork, LOCKED, grove_session_fork(s, NULL, &got.fork)) \
	X(grove_session_move, LOCKED, grove_session_move(s, "/x")) \
	X(grove_session_view, LOCKED, grove_session_view(s, &got.view)) \
	X(grove_session_context, LOCKED, grove_session_context(s, NULL, grove_buf_sink(&got.buf))) \
	X(grove_session_lease_take, LOCKED, grove_session_lease_take(s, "o", 1000, &got.lease)) \
	X(grove_session_lease_renew, LOCKED, grove_session_lease_renew(s, 1000, &got.lease)) \
	X(grove_session_lease_release, LOCKED, grove_session_lease_release(s)) \
	X(grove_session_lease_get, LOCKED, grove_session_lease_get(s, &got.lease)) \
	X(grove_session_value_put, LOCKED, grove_session_value_put(s, "metadata", line)) \
	X(grove_session_value_get, LOCKED, grove_session_value_get(s, "metadata", &got.buf)) \
	X(grove_session_subagent_each, FREE, grove_session_subagent_each(s, on_agent, NULL)) \
	X(grove_session_close, NONE, 0) /* by every test, at its end */

#define FUNCTION(name, what, expr) static intptr_t call_##name(struct grove_session *s) { (void)s; return (intptr_t)(expr); }
CALLS(FUNCTION)

static const struct call {
	const char *name;
	enum what what;
	intptr_t (*fn)(struct grove_session *s);
} calls[] = {
#define ROW(name, what, expr) { #name, what, call_##name },
	CALLS(ROW)
};

#define NR_CALLS (sizeof(calls) / sizeof(*calls))

static intptr_t try_call(const struct call *c, struct grove_session *s)
{
	intptr_t answer = c->fn(s);

	grove_buf_release(&got.buf);
	grove_view_unref(got.view);
	grove_session_close(got.fork);
	got.view = NULL;
	got.fork = NULL;
	return answer;
}

/* ------------------------------------------------- all that the headers have */

static bool is_known(const char *name, size_t len)
{
	for (size_t i = 0; i < NR_CALLS; i++)
		if (strlen(calls[i].name) == len && !memcmp(calls[i].name, name, len))
			return true;
	return false;
}

/* The functions declared in `text` that take a session; fails on one that is not in the table. */
static unsigned look_through(const char *text)
{
	unsigned nr = 0;

	for (const char *p = text; (p = strstr(p, "GROVE_API")); p++) {
		const char *paren = strchr(p, '('), *end = paren ? strchr(paren, ')') : NULL, *name = paren;
		const char *takes = paren ? strstr(paren, "struct grove_session *") : NULL;

		while (name && name > p && (isalnum((unsigned char)name[-1]) || name[-1] == '_'))
			name--;
		if (!takes || takes > end || takes[strlen("struct grove_session *")] == '*')
			continue;
		nr++;
		if (!is_known(name, (size_t)(paren - name)))
			fail_msg("%.*s() takes a session and is not tried here", (int)(paren - name), name);
	}
	return nr;
}

static unsigned look_into(const char *path)
{
	FILE *f = fopen(path, "r");
	char *text = calloc(1, 1 << 20);
	unsigned nr;

	assert_non_null(f);
	assert_true(fread(text, 1, (1 << 20) - 1, f) > 0);
	fclose(f);
	nr = look_through(text);
	free(text);
	return nr;
}

static void every_function_that_takes_a_session_is_tried(void **state)
{
	const char *data = getenv("GROVE_TEST_DATA");
	char pattern[4096];
	unsigned nr;
	glob_t g;

	(void)state;
	if (!data)
		skip();
	snprintf(pattern, sizeof(pattern), "%s/../../include/grove.h", data);
	nr = look_into(pattern);
	snprintf(pattern, sizeof(pattern), "%s/../../include/grove/*.h", data);
	assert_int_equal(glob(pattern, 0, NULL, &g), 0);
	for (size_t i = 0; i < g.gl_pathc; i++)
		nr += look_into(g.gl_pathv[i]);
	globfree(&g);
	assert_int_equal(nr, NR_CALLS);
}

/* ---------------------------------------------------------- a failed handle */

static void try_all(struct grove_session *s, bool opened)
{
	struct grove_detail d;

	assert_non_null(s);
	for (size_t i = 0; i < NR_CALLS; i++) {
		intptr_t answer = try_call(&calls[i], s);

		if (opened) /* it may know something, but it must not fall over */
			continue;
		if (calls[i].what == VALUE || calls[i].what == LEAF ? answer != 0
								    : calls[i].what != NONE && answer >= 0)
			fail_msg("%s() on a failed handle: %ld", calls[i].name, (long)answer);
	}
	grove_session_error(s, &d);
	assert_true(d.code < 0);
	assert_true(d.message[0]);
	grove_session_close(s);
}

static void a_failed_handle_answers_every_call(void **state)
{
	struct world *w = *state;
	struct grove_create_options o = { .size = sizeof(o), .dialect = "none-such" };
	struct grove_fork_options fo = { .size = sizeof(fo), .leaf = "none-such" };
	struct grove_session *s, *f;
	char path[8192];

	GOT(w, grove_session_open(w->g, "none-such", GROVE_OPEN_READ, &s), GROVE_ENOTFOUND);
	try_all(s, false);
	GOT(w, grove_session_open(w->g, "none-such", GROVE_OPEN_WRITE, &s), GROVE_ENOTFOUND);
	try_all(s, false);
	snprintf(path, sizeof(path), "%s/none.jsonl", w->cwd);
	GOT(w, grove_session_open(w->g, path, GROVE_OPEN_READ | GROVE_OPEN_LAZY, &s), GROVE_ENOTFOUND);
	try_all(s, true); /* it has a path */
	GOT(w, grove_session_create(w->g, &o, &s), GROVE_EINVAL);
	try_all(s, true); /* it was to be written */
	s = fresh(w, GROVE_CREATE_NOW);
	user(w, s, "hello");
	GOT(w, grove_session_fork(s, &fo, &f), GROVE_ENOTFOUND);
	try_all(f, false);
	grove_session_close(s);
}

static void a_damaged_session_answers_every_call(void **state)
{
	static const char *const dialects[] = { "pi", "omp", "xcsh", "claude" };
	struct world *w = *state;
	struct grove_options o = { .size = sizeof(o), .home = w->home, .cwd = w->cwd };
	struct grove_session *s;
	struct grove *g;
	char path[8192];
	FILE *f;

	snprintf(path, sizeof(path), "%s/damaged.jsonl", w->cwd);
	for (size_t i = 0; i < 4; i++) {
		o.dialect = dialects[i];
		assert_int_equal(grove_open(&o, &g), 0);
		for (unsigned flags = GROVE_OPEN_READ; flags <= GROVE_OPEN_WRITE; flags++) {
			f = fopen(path, "w");
			fputs("\"this is no session\"\n", f);
			fclose(f);
			if (grove_session_open(g, path, flags, &s))
				try_all(s, true);
			else
				grove_session_close(s);
		}
		grove_close(g);
	}
}

/* ------------------------------------------------------------- in a callback */

static struct grove_session *own;
static unsigned tried;

/* All of them, by a callback of the session that they are called on. */
static void call_own(void)
{
	struct grove_detail d;

	if (tried)
		return;
	for (size_t i = 0; i < NR_CALLS; i++) {
		intptr_t answer = try_call(&calls[i], own);

		tried++;
		if (calls[i].what == LEAF)
			assert_int_equal(answer, 0);
		if (calls[i].what != LOCKED)
			continue;
		if (answer != GROVE_EINVAL)
			fail_msg("%s() in a callback: %ld", calls[i].name, (long)answer);
		grove_session_error(own, &d);
		assert_int_equal(d.code, GROVE_EINVAL);
		assert_non_null(strstr(d.message, "callback"));
	}
}

static int own_sink(void *p, const char *ptr, size_t len)
{
	(void)p;
	(void)ptr;
	(void)len;
	call_own();
	return 0;
}

static void was_tried(void)
{
	assert_int_equal(tried, NR_CALLS);
	tried = 0;
}

static void a_callback_cannot_call_its_own_session(void **state)
{
	static const char *const dialects[] = { "pi", "omp", "xcsh", "claude" };
	struct world *w = *state;

	alarm(120); /* for the day it waits for itself */
	for (size_t i = 0; i < 8; i++) {
		struct grove_create_options o = { .size = sizeof(o), .dialect = dialects[i % 4],
					       .flags = i < 4 ? GROVE_CREATE_NOW : GROVE_CREATE_MEMORY };
		struct grove_sink sink = { own_sink, NULL };
		struct grove_view *before, *after;

		OK(w, grove_session_create(w->g, &o, &own));
		user(w, own, "hello");
		say(w, own, "{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"a reply\"}]}");
		tried = 0;
		before = view_of(w, own);
		OK(w, grove_session_context(own, NULL, sink));
		was_tried();
		after = view_of(w, own);
		assert_int_equal(grove_view_count(after), grove_view_count(before));
		grove_view_unref(after);
		/* and it works as ever */
		user(w, own, "goodbye");
		grove_view_unref(before);
		grove_session_close(own);
	}
	alarm(0);
}

static int own_search(void *payload, uint64_t done, uint64_t total)
{
	struct grove_search **s = payload;
	struct grove_hits *h;
	struct grove_detail d;

	(void)done;
	(void)total;
	if (!*s)
		return 0;
	assert_int_equal(grove_search_run(*s, "hello", NULL, &h), GROVE_EINVAL);
	assert_null(h);
	assert_int_equal(grove_search_refresh(*s), GROVE_EINVAL);
	grove_search_error(*s, &d);
	assert_non_null(strstr(d.message, "callback"));
	tried++;
	return 0;
}

static void a_callback_cannot_search_with_the_handle_that_calls_it(void **state)
{
	struct world *w = *state;
	struct grove_session *s = fresh(w, GROVE_CREATE_NOW);
	struct grove_search *x = NULL;
	struct grove_hits *h;

	user(w, s, "hello");
	user(w, s, "hello again");
	alarm(120);
	grove_set_progress(w->g, (struct grove_progress){ own_search, &x });
	OK(w, grove_search_open(w->g, GROVE_SEARCH_NO_INDEX, &x));
	for (int times = 0; times < 2; times++) {
		tried = 0;
		OK(w, grove_search_run(x, "hello", NULL, &h));
		assert_true(tried > 0);
		assert_int_equal(grove_hits_count(h), 2);
		grove_hits_free(h);
	}
	grove_search_close(x);
	x = NULL;
	grove_set_progress(w->g, (struct grove_progress){ 0 });
	alarm(0);
	grove_session_close(s);
}

/* While a view is told, the session may go on: the view does not change. */
static int appending_sink(void *payload, const char *ptr, size_t len)
{
	struct world *w = payload;

	(void)ptr;
	(void)len;
	if (!tried++)
		user(w, own, "meanwhile");
	return 0;
}

static void a_sink_of_a_views_context_may_append(void **state)
{
	static const char *const dialects[] = { "pi", "omp", "xcsh", "claude" };
	struct world *w = *state;
	struct grove_context_options llm = { .size = sizeof(llm), .flags = GROVE_CONTEXT_LLM };

	alarm(120); /* for the day it waits for itself */
	for (size_t i = 0; i < 4; i++) {
		struct grove_create_options o = { .size = sizeof(o), .dialect = dialects[i], .flags = GROVE_CREATE_NOW };
		struct grove_sink sink = { appending_sink, w };
		struct grove_view *v;

		OK(w, grove_session_create(w->g, &o, &own));
		/* more than fits into one piece for the sink */
		for (int n = 0; n < 200; n++) {
			char words[600];

			snprintf(words, sizeof(words), "%0500d", n);
			user(w, own, words);
		}
		v = view_of(w, own);
		tried = 0;
		OK(w, grove_view_context(v, &llm, sink));
		assert_int_not_equal(tried, 0);
		assert_int_equal(grove_view_count(v), 200);
		grove_view_unref(v);
		grove_session_close(own);
	}
	alarm(0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_function_that_takes_a_session_is_tried),
		WORLD_TEST(a_failed_handle_answers_every_call),
		WORLD_TEST(a_damaged_session_answers_every_call),
		WORLD_TEST(a_callback_cannot_call_its_own_session),
		WORLD_TEST(a_callback_cannot_search_with_the_handle_that_calls_it),
		WORLD_TEST(a_sink_of_a_views_context_may_append),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
