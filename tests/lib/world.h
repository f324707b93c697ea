/*
 * tests/lib/world.h: a home and a working directory for one test, and helpers
 * that most tests of sessions need.
 *
 * Include after cmocka.h. WORLD_TEST(f) is a test whose state is a struct
 * world, which is removed when the test is over.
 */
#ifndef TESTS_LIB_WORLD_H
#define TESTS_LIB_WORLD_H

#include <pthread.h>

#include "grove.h"
#include "scratch.h"
#include "sys/file.h"
#include "calls.h"

struct world {
	char dir[4000];
	char home[4096], cwd[4096];
	struct grove *g;
};

static inline const char *no_variables(void *payload, const char *name)
{
	(void)payload;
	(void)name;
	return NULL;
}

/* Opens another environment on the same directories, as another process would. */
static inline struct grove *world_grove(const struct world *w)
{
	struct grove_options o = { .size = sizeof(o), .home = w->home, .cwd = w->cwd,
				   .getenv = no_variables, .cache = "" };
	struct grove *g;

	assert_int_equal(grove_open(&o, &g), 0);
	return g;
}

static inline int world_setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	scratch_make(w->dir, sizeof(w->dir));
	snprintf(w->home, sizeof(w->home), "%s/home", w->dir);
	snprintf(w->cwd, sizeof(w->cwd), "%s/w", w->dir);
	assert_int_equal(mkdir(w->home, 0700), 0);
	assert_int_equal(mkdir(w->cwd, 0700), 0);
	w->g = world_grove(w);
	*state = w;
	return 0;
}

static inline int world_teardown(void **state)
{
	struct world *w = *state;

	grove__sys_fault = NULL;
	grove_close(w->g);
	scratch_remove(w->dir);
	free(w);
	return 0;
}

#define WORLD_TEST(f) cmocka_unit_test_setup_teardown(f, world_setup, world_teardown)

/* Returns the path of a name in the working directory; it stays valid for the next dozen calls. */
static inline const char *in_world(const struct world *w, const char *name)
{
	static char path[16][8192];
	static unsigned turn;
	char *p = path[turn++ % 16];

	snprintf(p, sizeof(path[0]), "%s/%s", w->cwd, name);
	return p;
}

static inline void assert_grove(struct grove *g, int got, int want, const char *file, int line)
{
	struct grove_detail d;

	if (got == want)
		return;
	grove_error(g, &d);
	print_error("%s:%d: %s, not %s: %s: %s\n", file, line, grove_error_name(got),
		    grove_error_name(want), d.path, d.message);
	_fail(file, line);
}

/* Asserts a call's result, and prints the error message if it is another one. */
#define GOT(w, call, want) assert_grove((w)->g, call, want, __FILE__, __LINE__)
#define OK(w, call) GOT(w, call, 0)

static inline struct grove_slice text(const char *s)
{
	return (struct grove_slice){ s, strlen(s) };
}

static inline struct grove_session *session_at(struct world *w, const char *path, unsigned flags)
{
	struct grove_session *s;

	OK(w, grove_session_open(w->g, path, flags, &s));
	return s;
}

static inline struct grove_view *view_of(struct world *w, struct grove_session *s)
{
	struct grove_view *v;

	OK(w, grove_session_view(s, &v));
	return v;
}

static inline const char *say(struct world *w, struct grove_session *s, const char *json)
{
	const char *id = NULL;

	OK(w, grove_session_append(s, text(json), NULL, INTO(&id)));
	return id;
}

/* Appends a user message and returns its id. */
static inline const char *user(struct world *w, struct grove_session *s, const char *words)
{
	char json[1024];

	snprintf(json, sizeof(json), "{\"role\":\"user\",\"content\":\"%s\"}", words);
	return say(w, s, json);
}

static inline void assert_leaf(struct grove_session *s, const char *id)
{
	const char *leaf = grove_session_leaf(s);

	if (!id)
		assert_null(leaf);
	else if (!leaf)
		fail_msg("the leaf is nowhere, not at %s", id);
	else
		assert_string_equal(leaf, id);
}

/* Asserts the ids from the root to the leaf; blanks separate them. */
static inline void assert_path(struct world *w, struct grove_session *s, const char *ids)
{
	struct grove_view *v = view_of(w, s);
	struct grove_buf got = GROVE_BUF_INIT;
	struct grove_entry e = { .size = sizeof(e) };
	uint32_t *path;
	size_t nr;

	assert_int_equal(path_rows(v, grove_view_leaf(v), &path, &nr), 0);
	for (size_t i = 0; i < nr; i++) {
		assert_int_equal(grove_view_entry(v, path[i], &e), 0);
		assert_int_equal(grove__buf_addf(&got, "%s%s", i ? " " : "", e.id ? e.id : "-"), 0);
	}
	assert_string_equal(got.ptr ? got.ptr : "", ids);
	free(path);
	grove__buf_release(&got);
	grove_view_unref(v);
}

static inline struct grove_counts counts_of(struct world *w, struct grove_session *s)
{
	struct grove_view *v = view_of(w, s);
	struct grove_counts n = { .size = sizeof(n) };

	grove_view_counts(v, &n);
	grove_view_unref(v);
	return n;
}

static inline size_t lines_in(const char *path)
{
	struct grove_buf b = file_bytes(path);
	size_t n = 0;

	for (size_t i = 0; i < b.len; i++)
		n += b.ptr[i] == '\n';
	grove__buf_release(&b);
	return n;
}

static inline bool is_there(const char *path)
{
	return !access(path, F_OK);
}

#define HEADER "{\"type\":\"session\",\"version\":3,\"id\":\"s1\",\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"cwd\":\"/w\"}\n"
#define STAMP ",\"timestamp\":\"2026-01-01T00:00:01.000Z\""
#define ENTRY(id, parent, role, words) \
	"{\"type\":\"message\",\"id\":\"" id "\",\"parentId\":" parent STAMP \
	",\"message\":{\"role\":\"" role "\",\"content\":\"" words "\"}}\n"

/* u1 - a1 - u2 - a2, and u3, a second child of a1 */
#define BRANCHES HEADER \
	ENTRY("u1", "null", "user", "one") \
	ENTRY("a1", "\"u1\"", "assistant", "two") \
	ENTRY("u2", "\"a1\"", "user", "three") \
	ENTRY("a2", "\"u2\"", "assistant", "four") \
	ENTRY("u3", "\"a1\"", "user", "five")

static inline const char *make(struct world *w, const char *name, const char *bytes)
{
	const char *path = in_world(w, name);

	file_make(path, bytes);
	return path;
}

static inline struct grove_session *fresh(struct world *w, unsigned flags)
{
	struct grove_create_options o = { .size = sizeof(o), .flags = flags };
	struct grove_session *s;

	OK(w, grove_session_create(w->g, &o, &s));
	return s;
}

static inline void assert_story(struct grove_session *s, int code, const char *words)
{
	struct grove_detail d;

	grove_session_error(s, &d);
	assert_int_equal(d.code, code);
	if (!strstr(d.message, words))
		fail_msg("'%s' does not say '%s'", d.message, words);
}

static inline uint32_t row(struct grove_view *v, const char *id)
{
	uint32_t i = find_row(v, id);

	assert_int_not_equal(i, GROVE_NO_ENTRY);
	return i;
}

/* Asserts that every entry is the child of the entry before it. */
static inline void assert_one_line(struct world *w, struct grove_session *s)
{
	struct grove_view *v = view_of(w, s);
	struct grove_entry e = { .size = sizeof(e) };

	for (uint32_t i = 0; i < grove_view_count(v); i++) {
		assert_int_equal(grove_view_entry(v, i, &e), 0);
		assert_int_equal(e.parent, i ? i - 1 : GROVE_NO_ENTRY);
	}
	grove_view_unref(v);
}

static inline const char *label_of(struct world *w, struct grove_session *s, const char *id)
{
	struct grove_view *v = view_of(w, s);
	static char label[256];
	struct grove_entry e = { .size = sizeof(e) };

	assert_int_equal(grove_view_entry(v, row(v, id), &e), 0);
	snprintf(label, sizeof(label), "%s", e.label ? e.label : "-");
	grove_view_unref(v);
	return label;
}

/* Asserts that the context's document contains `part`, byte for byte. */
static inline void assert_context(struct world *w, struct grove_session *s, const char *leaf,
			   const char *part)
{
	struct grove_context_options o = { .size = sizeof(o), .leaf = leaf };
	struct grove_buf b = GROVE_BUF_INIT;
	struct grove_view *v = view_of(w, s);

	assert_int_equal(grove_view_context(v, &o, grove_buf_sink(&b)), 0);
	if (!strstr(b.ptr, part))
		fail_msg("%s is not in %s", part, b.ptr);
	grove__buf_release(&b);
	grove_view_unref(v);
}

/* ------------------------------------------------------------- system faults */

static struct {
	const char *call;
	int err;
	int after;     /* this many calls succeed first */
	int times;     /* then this many fail; -1: all */
} plan;

/* Several threads may call this at once, since a listing can use more than one. */
static inline int planned(const char *call)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	int err = 0;

	pthread_mutex_lock(&lock);
	if (plan.times && !strcmp(plan.call, call)) {
		if (plan.after) {
			plan.after--;
		} else {
			err = plan.err;
			plan.times -= plan.times > 0;
		}
	}
	pthread_mutex_unlock(&lock);
	return err;
}

static inline void fail_at(const char *call, int err, int after, int times)
{
	plan.call = call;
	plan.err = err;
	plan.after = after;
	plan.times = times;
	grove__sys_fault = planned;
}

static inline void all_is_well(void)
{
	grove__sys_fault = NULL;
}

#endif
