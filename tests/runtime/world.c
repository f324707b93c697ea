/*
 * tests/runtime/world.c: creates the directories and environments for one kind
 * of store.
 */
#include "runtime.h"
#include "../lib/calls.h"

static const char *no_variables(void *payload, const char *name)
{
	(void)payload;
	(void)name;
	return NULL;
}

struct grove *see_world(const struct world *w)
{
	const char *const stores[] = { w->url, w->beside };
	struct grove_options o = { .size = sizeof(o), .home = w->home, .cwd = w->cwd,
				   .getenv = no_variables, .stores = stores, .nr_stores = 2 };
	struct grove *g = NULL;

	OK(g, grove_open(&o, &g));
	return g;
}

/* Removes what earlier cases have left on a server. */
static void make_empty(struct world *w)
{
	struct grove_list_options o = { .size = sizeof(o), .flags = GROVE_LIST_ALL };
	struct grove_list *l;

	OK(w->g, grove_store_init(w->g, w->url));
	OK(w->g, grove_list(w->g, &o, &l));
	for (size_t i = 0; i < grove_list_count(l); i++)
		OK(w->g, grove_remove(w->g, grove_list_at(l, i)->id, GROVE_REMOVE_NO_TRASH));
	grove_list_free(l);
}

void name_world(struct world *w, const struct kind *kind)
{
	w->kind = kind;
	snprintf(w->home, sizeof(w->home), "%s/home", w->dir);
	snprintf(w->cwd, sizeof(w->cwd), "%s/w", w->dir);
	snprintf(w->beside, sizeof(w->beside), "file:%s/beside", w->dir);
	if (kind->env)
		snprintf(w->url, sizeof(w->url), "%s", getenv(kind->env));
	else
		snprintf(w->url, sizeof(w->url), kind->url, w->dir);
}

int set_up(void **state)
{
	const struct kind *kind = *state;
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	scratch_make(w->dir, sizeof(w->dir));
	name_world(w, kind);
	assert_int_equal(mkdir(w->home, 0700), 0);
	assert_int_equal(mkdir(w->cwd, 0700), 0);
	w->g = see_world(w);
	w->other = kind->shared ? see_world(w) : w->g;
	if (kind->env)
		make_empty(w);
	*state = w;
	return 0;
}

pid_t start_process(const struct world *w, const char *act, const char *id)
{
	const char *const argv[] = { "test_runtime", "--process", act, w->kind->name, w->dir, id, NULL };
	pid_t pid = fork();

	if (!pid) {
		execv("/proc/self/exe", (char *const *)(uintptr_t)argv);
		_exit(126);
	}
	return pid;
}

int tear_down(void **state)
{
	struct world *w = *state;

	if (w->other != w->g)
		grove_close(w->other);
	grove_close(w->g);
	scratch_remove(w->dir);
	free(w);
	return 0;
}

void check(struct grove *g, int got, int want, const char *what, const char *file, int line)
{
	struct grove_detail d = { .code = 0 };

	if (got == want)
		return;
	if (g)
		grove_error(g, &d);
	print_error("%s:%d: %s: %s, not %s: %s: %s\n", file, line, what, grove_error_name(got),
		    grove_error_name(want), d.path, d.message);
	_fail(file, line);
}

struct grove_slice text(const char *s)
{
	return (struct grove_slice){ s, strlen(s) };
}

struct grove_session *create(struct world *w, const char *id)
{
	struct grove_create_options o = { .size = sizeof(o), .flags = GROVE_CREATE_NOW, .id = id };
	struct grove_session *s;

	OK(w->g, grove_session_create(w->g, &o, &s));
	return s;
}

struct grove_session *again(struct world *w, struct grove_session *s, unsigned flags)
{
	struct grove_session *t;

	OK(w->other, grove_session_open(w->other, grove_session_id(s), flags, &t));
	return t;
}

/* Checks a call's result, and prints the session's error message if it failed. */
static void check_session(struct grove_session *s, int rc, const char *what)
{
	struct grove_detail d;

	if (!rc)
		return;
	grove_session_error(s, &d);
	fail_msg("%s: %s: %s", what, grove_error_name(rc), d.message);
}

struct grove_view *view_of(struct grove_session *s)
{
	struct grove_view *v;

	check_session(s, grove_session_view(s, &v), "a view");
	return v;
}

const char *say(struct grove_session *s, const char *json)
{
	const char *id = NULL;

	check_session(s, grove_session_append(s, text(json), NULL, INTO(&id)), json);
	assert_non_null(id);
	return id;
}

void add_below(struct grove_session *s, const char *parent, const char *id, const char *role)
{
	struct grove_append_options o = { .size = sizeof(o), .parent = parent };
	char json[300];

	snprintf(json, sizeof(json),
		 "{\"type\":\"message\",\"id\":\"%s\",\"message\":{\"role\":\"%s\",\"content\":\"says %s\"}}",
		 id, role, id);
	check_session(s, grove_session_append(s, text(json), &o, NULL), json);
}

void add(struct grove_session *s, const char *id, const char *role)
{
	add_below(s, NULL, id, role);
}

struct grove_session *four(struct world *w)
{
	struct grove_session *s = create(w, NULL);

	add(s, "a", "user");
	add(s, "b", "assistant");
	add(s, "c", "user");
	add(s, "d", "assistant");
	return s;
}

void assert_leaf(struct grove_session *s, const char *id)
{
	const char *leaf = grove_session_leaf(s);

	if (!id)
		assert_null(leaf);
	else if (!leaf)
		fail_msg("the leaf is nowhere, not at %s", id);
	else
		assert_string_equal(leaf, id);
}

void assert_path(struct grove_session *s, const char *ids)
{
	struct grove_view *v = view_of(s);
	struct grove_entry e = { .size = sizeof(e) };
	char got[1024] = "";
	uint32_t *path;
	size_t nr, n = 0;

	OK(NULL, path_rows(v, grove_view_leaf(v), &path, &nr));
	for (size_t i = 0; i < nr; i++) {
		OK(NULL, grove_view_entry(v, path[i], &e));
		n += (size_t)snprintf(got + n, sizeof(got) - n, "%s%s", i ? " " : "", e.id ? e.id : "-");
	}
	free(path);
	grove_view_unref(v);
	assert_string_equal(got, ids);
}

uint64_t lines_of(struct grove_session *s)
{
	struct grove_counts n = { .size = sizeof(n) };
	struct grove_view *v;

	assert_in_range(grove_session_refresh(s), 0, 1);
	v = view_of(s);
	grove_view_counts(v, &n);
	grove_view_unref(v);
	return n.lines;
}

uint64_t rev_of(struct grove_session *s)
{
	struct grove_view *v;
	uint64_t rev;

	assert_in_range(grove_session_refresh(s), 0, 1);
	v = view_of(s);
	rev = grove_view_rev(v);
	grove_view_unref(v);
	return rev;
}

struct grove_buf raw_of(struct grove_session *s)
{
	struct grove_buf b = GROVE_BUF_INIT;
	struct grove_view *v;

	assert_in_range(grove_session_refresh(s), 0, 1);
	v = view_of(s);
	OK(NULL, grove_view_raw(v, grove_buf_sink(&b)));
	grove_view_unref(v);
	return b;
}

void assert_raw(struct grove_session *s, const struct grove_buf *want)
{
	struct grove_buf got = raw_of(s);

	assert_string_equal(got.ptr, want->ptr);
	assert_int_equal(got.len, want->len);
	grove_buf_release(&got);
}

struct grove_buf snapshot_of(struct grove_session *s, const struct grove_snapshot_options *opt)
{
	struct grove_buf b = GROVE_BUF_INIT;
	struct grove_view *v = view_of(s);

	OK(NULL, grove_view_snapshot(v, opt, grove_buf_sink(&b)));
	grove_view_unref(v);
	for (size_t i = 0; i < b.len; i++)
		if (b.ptr[i] == '\n')
			b.ptr[i] = ' ';
	return b;
}

void assert_has(const struct grove_buf *doc, const char *part)
{
	if (!strstr(doc->ptr, part))
		fail_msg("%s is not in %s", part, doc->ptr);
}

void assert_lacks(const struct grove_buf *doc, const char *part)
{
	if (strstr(doc->ptr, part))
		fail_msg("%s is in %s", part, doc->ptr);
}

void assert_label(struct grove_session *s, const char *id, const char *label)
{
	struct grove_view *v = view_of(s);
	struct grove_entry e = { .size = sizeof(e) };

	OK(NULL, grove_view_entry(v, find_row(v, id), &e));
	if (label)
		assert_string_equal(e.label ? e.label : "(none)", label);
	else
		assert_null(e.label);
	grove_view_unref(v);
}
