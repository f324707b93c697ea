/*
 * tests/logs/test_logs.c: lines under a key, and files under paths, through <grove.h> and <grove/storage.h>. One
 * suite runs on memory, files, SQLite, a store type of an application and, if $GROVE_TEST_MYSQL names a server,
 * MariaDB.
 *
 * An agent's SDK expects this of a store for its sessions: what is loaded is what was appended, keys are any text, a
 * batch that is sent twice is stored once, and deleting a session deletes nothing else.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../examples/drawer.h"
#include "../lib/chance.h"
#include "../lib/keyed.h"
#include "../lib/scratch.h"
#include "grove.h"
#include "grove/storage.h"

enum { MANY = 64 };

static const struct kind {
	const char *name, *url;   /* %s: a directory of the test; NULL: $GROVE_TEST_MYSQL */
	bool shared;              /* another environment or process sees the same */
	bool files;
	bool same_process;        /* a child process cannot use it */
} kinds[] = {
	{ "memory", "memory:", false, false, true },
	{ "file", "file:%s/store", true, true, false },
	{ "drawer", "drawer:", false, false, true },
#ifdef GROVE_TEST_SQLITE
	{ "sqlite", "sqlite:%s/store.db", true, false, false },
#endif
#ifdef GROVE_TEST_MYSQL
	{ "mysql", NULL, true, false, false },
#endif
};

static const struct kind *kind;

struct world {
	char dir[4000], url[4200];
	struct grove *g;
};

static struct grove *open_env(struct world *w)
{
	const char *stores[] = { w->url };
	struct grove_options o = { .size = sizeof(o), .home = w->dir, .cwd = w->dir, .stores = stores,
				   .nr_stores = 1, .cache = "", .store_types = &drawer_type,
				   .nr_store_types = 1 };
	struct grove *g;

	assert_int_equal(grove_open(&o, &g), 0);
	return g;
}

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	static unsigned nr;
	int rc;

	assert_non_null(w);
	kind = *state;
	scratch_make(w->dir, sizeof(w->dir));
	if (kind->url)
		snprintf(w->url, sizeof(w->url), kind->url, w->dir);
	else
		snprintf(w->url, sizeof(w->url), "%s_logs_%ld_%u", getenv("GROVE_TEST_MYSQL"),
			 (long)getpid(), nr++);
	w->g = open_env(w);
	rc = grove_store_init(w->g, w->url);
	assert_int_equal(rc, 0);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	grove_close(w->g);
	scratch_remove(w->dir);
	free(w);
	return 0;
}

/* ------------------------------------------------------------------ helpers */

static void told(struct world *w, struct grove_log *l, int got, int want, const char *what,
		 const char *file, int line)
{
	struct grove_detail d;

	if (got == want)
		return;
	if (l)
		grove_log_error(l, &d);
	else
		grove_error(w->g, &d);
	print_error("%s:%d: %s: %s: %d, not %d: %s: %s\n", file, line, kind->name, what, got, want,
		    d.path, d.message);
	_fail(file, line);
}

#define GOT(call, want) told(w, NULL, call, want, #call, __FILE__, __LINE__)
#define OK(call) GOT(call, 0)
#define LOG_OK(l, call) told(w, l, call, 0, #call, __FILE__, __LINE__)

static struct grove_key key3(const char *project, const char *session, const char *subpath)
{
	return (struct grove_key){ project, session, subpath };
}

static struct grove_log *log_at(struct world *w, struct grove_key key, unsigned flags)
{
	struct grove_log *l;

	OK(grove_log_open(w->g, NULL, &key, flags, &l));
	return l;
}

static struct grove_log *made(struct world *w, struct grove_key key)
{
	return log_at(w, key, GROVE_LOG_CREATE);
}

static const struct grove_log_options by_uuid = { .size = sizeof(by_uuid), .id_member = "uuid" };

/* Appends the given lines, up to NULL. */
static struct grove_log_result add(struct world *w, struct grove_log *l,
				   const struct grove_log_options *opt, ...)
{
	struct grove_log_result r = { .size = sizeof(r) };
	struct grove_slice lines[MANY];
	const char *s;
	size_t nr = 0;
	va_list ap;

	va_start(ap, opt);
	while ((s = va_arg(ap, const char *)))
		lines[nr++] = grove_str(s);
	va_end(ap);
	LOG_OK(l, grove_log_append(l, lines, nr, opt, &r));
	return r;
}

static void put(struct world *w, struct grove_key key, const char *line)
{
	struct grove_log *l = made(w, key);

	add(w, l, &by_uuid, line, NULL);
	grove_log_close(l);
}

static void assert_lines(struct world *w, struct grove_log *l, const char *want)
{
	struct grove_buf b = GROVE_BUF_INIT;

	LOG_OK(l, grove_log_read(l, 0, 0, grove_buf_sink(&b), NULL));
	assert_string_equal(b.ptr ? b.ptr : "", want);
	grove_buf_release(&b);
}

static void assert_has(struct world *w, struct grove_key key, const char *want)
{
	struct grove_log *l;
	int rc = grove_log_open(w->g, NULL, &key, GROVE_LOG_READ, &l);

	if (want) {
		GOT(rc, 0);
		assert_lines(w, l, want);
	} else {
		GOT(rc, GROVE_ENOTFOUND);
	}
	grove_log_close(l);
}

static void remove_it(struct world *w, struct grove_key key, int want)
{
	GOT(grove_log_remove(w->g, NULL, &key), want);
}

struct names {
	char text[MANY][4000];
	size_t nr;
	uint64_t lines[MANY], bytes[MANY];
	int64_t modified[MANY];
};

static int note(void *payload, const struct grove_log_item *item)
{
	struct names *n = payload;

	assert_true(n->nr < MANY);
	snprintf(n->text[n->nr], sizeof(n->text[0]), "%s|%s|%s",
		 item->key.project ? item->key.project : "-", item->key.session,
		 item->key.subpath ? item->key.subpath : "-");
	n->lines[n->nr] = item->lines;
	n->bytes[n->nr] = item->bytes;
	n->modified[n->nr++] = item->modified;
	return 0;
}

static bool is_listed(const struct names *n, const char *text)
{
	for (size_t i = 0; i < n->nr; i++)
		if (!strcmp(n->text[i], text))
			return true;
	return false;
}

static struct names *list(struct world *w, const struct grove_key *under)
{
	struct names *n = calloc(1, sizeof(*n));

	assert_non_null(n);
	OK(grove_log_each(w->g, NULL, under, GROVE_LOG_EACH_LINES, note, n));
	return n;
}

/* Asserts that the list has these, up to NULL, and no others. */
static void assert_list(struct world *w, const struct grove_key *under, ...)
{
	struct names *n = list(w, under);
	const char *s;
	size_t nr = 0;
	va_list ap;

	va_start(ap, under);
	for (; (s = va_arg(ap, const char *)); nr++)
		if (!is_listed(n, s))
			fail_msg("%s: %s is not listed", kind->name, s);
	va_end(ap);
	if (n->nr != nr)
		fail_msg("%s: %zu are listed, not %zu: %s ...", kind->name, n->nr, nr, n->text[0]);
	free(n);
}

/* ---------------------------------------------------------------- contracts */

static void what_is_read_is_what_was_appended(void **state)
{
	struct world *w = *state;
	struct grove_log *l = made(w, key3("p", "s", NULL));
	struct grove_log_result r;

	r = add(w, l, NULL, "{\"a\":  1}", "{\"b\":{\"c\":[1,{\"d\":\"\\u0000\\n\"}]}}", NULL);
	assert_int_equal(r.stored, 2);
	r = add(w, l, &by_uuid, "not even JSON", "", "\xff\xfe", NULL);
	assert_int_equal(r.stored, 3);
	assert_int_equal(r.seq, 5);
	assert_int_equal(r.bytes, 10 + 33 + 14 + 1 + 3);
	assert_true(r.modified > 1600000000000 || !strcmp(kind->name, "drawer"));
	assert_lines(w, l, "{\"a\":  1}\n{\"b\":{\"c\":[1,{\"d\":\"\\u0000\\n\"}]}}\nnot even JSON\n\n\xff\xfe\n");
	grove_log_close(l);
	assert_has(w, key3("p", "s", NULL),
		   "{\"a\":  1}\n{\"b\":{\"c\":[1,{\"d\":\"\\u0000\\n\"}]}}\nnot even JSON\n\n\xff\xfe\n");
}

static void what_was_never_written_is_not_found(void **state)
{
	struct world *w = *state;
	struct grove_key key = key3("p", "nobody", NULL);
	struct grove_buf b = GROVE_BUF_INIT;
	struct grove_log *l;

	assert_has(w, key, NULL);
	GOT(grove_log_open(w->g, NULL, &key, GROVE_LOG_WRITE, &l), GROVE_ENOTFOUND);
	assert_int_equal(grove_log_read(l, 0, 0, grove_buf_sink(&b), NULL), GROVE_EINVAL);
	grove_log_close(l);
	/* a log that may be created is not created by reading */
	l = made(w, key);
	assert_int_equal(grove_log_read(l, 0, 0, grove_buf_sink(&b), NULL), GROVE_ENOTFOUND);
	grove_log_close(l);
	assert_has(w, key, NULL);
	put(w, key3("p", "s", NULL), "{}");
	assert_has(w, key3("p", "s", "subagents/agent-x"), NULL);
	assert_list(w, NULL, "p|s|-", NULL);
}

static void an_append_of_nothing_makes_nothing(void **state)
{
	struct world *w = *state;
	struct grove_log *l = made(w, key3("p", "s", NULL));
	struct grove_log_result r = add(w, l, &by_uuid, NULL);
	struct grove_slice two = grove_str("a\nb");

	assert_int_equal(r.stored + r.skipped + r.seq + r.bytes, 0);
	assert_int_equal(grove_log_append(l, &two, 1, NULL, NULL), GROVE_EINVAL);
	grove_log_close(l);
	assert_has(w, key3("p", "s", NULL), NULL);
	assert_list(w, NULL, NULL);
}

static void known_ids_are_skipped_and_lines_without_one_are_kept(void **state)
{
	struct world *w = *state;
	struct grove_log *l = made(w, key3("p", "s", NULL)), *other;
	struct grove_log_result r;

	r = add(w, l, &by_uuid, "{\"uuid\":\"1\",\"sessionId\":\"s\"}", "{\"x\":1}", "{\"uuid\":\"1\"}",
		"{\"uuid\":\"\\u0032\"}", NULL);
	assert_int_equal(r.stored, 3);
	assert_int_equal(r.skipped, 1);
	/* the same lines again, through another handle that knows nothing yet */
	other = made(w, key3("p", "s", NULL));
	r = add(w, other, &by_uuid, "{\"uuid\":\"1\"}", "{\"x\":1}", "{\"uuid\":\"2\"}", "{\"uuid\":3}",
		"{\"uuid\":\"\"}", "{\"uuid\":\"\"}", "{\"uuid\":3}", NULL);
	assert_int_equal(r.stored, 5);
	assert_int_equal(r.skipped, 2);
	/* and the first handle finds out what the other one wrote */
	add(w, other, &by_uuid, "{\"uuid\":\"4\"}", NULL);
	r = add(w, l, &by_uuid, "{\"uuid\":\"4\"}", "{\"uuid\":\"5\"}", NULL);
	assert_int_equal(r.stored, 1);
	assert_int_equal(r.seq, 10);
	/* with another member the ids are others; without one, nothing is skipped */
	r = add(w, l, &(struct grove_log_options){ .size = sizeof(by_uuid), .id_member = "x" },
		"{\"x\":\"1\",\"uuid\":\"5\"}", "{\"x\":\"1\"}", NULL);
	assert_int_equal(r.stored, 1);
	r = add(w, l, NULL, "{\"uuid\":\"1\"}", NULL);
	assert_int_equal(r.stored, 1);
	/* the same id in another log has nothing to do with it */
	put(w, key3("p", "s", "sub"), "{\"uuid\":\"1\"}");
	assert_has(w, key3("p", "s", "sub"), "{\"uuid\":\"1\"}\n");
	grove_log_close(l);
	grove_log_close(other);
}

static void a_handle_knows_ids_after_the_log_was_rewritten(void **state)
{
	struct world *w = *state;
	struct grove_log *l = made(w, key3("p", "s", NULL)), *other = made(w, key3("p", "s", NULL));
	struct grove_slice one = grove_str("{\"uuid\":\"9\"}");
	struct grove_log_options force = { .size = sizeof(force), .flags = GROVE__KEYED_FORCE };
	struct grove_log_result r;

	add(w, l, &by_uuid, "{\"uuid\":\"1\"}", NULL);
	LOG_OK(other, keyed_replace(other, &one, 1, &force, NULL));
	r = add(w, l, &by_uuid, "{\"uuid\":\"1\"}", "{\"uuid\":\"9\"}", NULL);
	assert_int_equal(r.stored, 1);
	assert_lines(w, other, "{\"uuid\":\"9\"}\n{\"uuid\":\"1\"}\n");
	/* setting a value changes no line */
	LOG_OK(other, grove_log_value_put(other, "x", grove_str("1")));
	LOG_OK(l, grove_log_value_put(l, "x", grove_str("2")));
	r = add(w, l, &by_uuid, "{\"uuid\":\"1\"}", "{\"uuid\":\"10\"}", NULL);
	assert_int_equal(r.skipped, 1);
	/* removed and created again */
	remove_it(w, key3("p", "s", NULL), 0);
	r = add(w, l, &by_uuid, "{\"uuid\":\"1\"}", NULL);
	assert_int_equal(r.stored, 1);
	assert_int_equal(r.seq, 1);
	r = add(w, other, &by_uuid, "{\"uuid\":\"1\"}", "{\"uuid\":\"2\"}", NULL);
	assert_int_equal(r.stored, 1);
	assert_lines(w, l, "{\"uuid\":\"1\"}\n{\"uuid\":\"2\"}\n");
	grove_log_close(l);
	grove_log_close(other);
}

static void sub_logs_and_projects_are_apart(void **state)
{
	struct world *w = *state;
	const struct grove_key p = { "p", NULL, NULL }, q = { "q", NULL, NULL }, s = { "p", "s", NULL },
			       none = { NULL, NULL, NULL };

	put(w, key3("p", "s", NULL), "1");
	put(w, key3("q", "s", NULL), "2");
	put(w, key3("p", "s", "subagents/agent-a"), "3");
	put(w, key3("p", "s", "subagents/agent-b/agent-c"), "4");
	put(w, key3("p", "alone", "subagents/agent-a"), "5");
	assert_has(w, key3("p", "s", NULL), "1\n");
	assert_has(w, key3("p", "s", ""), "1\n");
	assert_has(w, key3("q", "s", NULL), "2\n");
	assert_has(w, key3("p", "s", "subagents/agent-a"), "3\n");
	assert_list(w, &p, "p|s|-", NULL);
	assert_list(w, &q, "q|s|-", NULL);
	assert_list(w, NULL, "p|s|-", "q|s|-", NULL);
	assert_list(w, &none, NULL);
	assert_list(w, &s, "p|s|subagents/agent-a", "p|s|subagents/agent-b/agent-c", NULL);
	/* a session without a log of its own still lists its sub-logs */
	assert_list(w, &(struct grove_key){ "p", "alone", NULL }, "p|alone|subagents/agent-a", NULL);
	remove_it(w, key3("p", "alone", NULL), 0);
	assert_list(w, &(struct grove_key){ "p", "alone", NULL }, NULL);
	assert_has(w, key3("p", "alone", NULL), NULL);
}

static void removing_takes_sub_logs_and_nothing_else(void **state)
{
	struct world *w = *state;
	static const char *const others[] = { "s2", "s-2", "s_", "s%", "s.", "S", "s/2", "", "sa" };
	const struct grove_key p = { "p", NULL, NULL };

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		put(w, key3("p", others[i], NULL), "main");
		put(w, key3("p", others[i], "sub"), "sub");
	}
	put(w, key3("p", "s", NULL), "1");
	put(w, key3("p", "s", "a"), "2");
	put(w, key3("p", "s", "a/b"), "3");
	put(w, key3("p", "s", "a2"), "4");
	remove_it(w, key3("p", "s", "a"), 0);
	assert_has(w, key3("p", "s", "a"), NULL);
	assert_has(w, key3("p", "s", "a/b"), "3\n");
	assert_has(w, key3("p", "s", NULL), "1\n");
	remove_it(w, key3("p", "s", "a"), 1);
	remove_it(w, key3("p", "s", NULL), 0);
	remove_it(w, key3("p", "s", NULL), 1);
	remove_it(w, key3("nowhere", "s", NULL), 1);
	assert_has(w, key3("p", "s", NULL), NULL);
	assert_has(w, key3("p", "s", "a/b"), NULL);
	assert_list(w, &(struct grove_key){ "p", "s", NULL }, NULL);
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		assert_has(w, key3("p", others[i], NULL), "main\n");
		assert_has(w, key3("p", others[i], "sub"), "sub\n");
	}
	assert_list(w, &p, "p|s2|-", "p|s-2|-", "p|s_|-", "p|s%|-", "p|s.|-", "p|S|-", "p|s/2|-",
		    "p||-", "p|sa|-", NULL);
}

/* Returns 300 characters of four bytes each. */
static const char *long_text(unsigned which)
{
	static char text[2][1400];
	char *p = text[which];

	for (int i = 0; i < 300; i++)
		memcpy(p + 4 * i, which ? "\xf0\x9f\x8c\xb3" : "x/y%", 4);
	return p;
}

static void keys_are_any_text(void **state)
{
	struct world *w = *state;
	const char *texts[] = { "../../etc", "..", ".", "", "/", "//", "a/../b", "%", "%41", "%-", "%2E",
				"%~00", "a\nb", "\x7f\x01", "x.jsonl", "x.jsonl/y", ".hidden", ".grove",
				"caf\xc3\xa9", " ", "-", "\\", long_text(0), long_text(1) };
	size_t nr = sizeof(texts) / sizeof(*texts);
	char line[32], want[40], listed[4000];
	struct names *n;

	for (size_t i = 0; i < nr; i++) {
		snprintf(line, sizeof(line), "{\"uuid\":\"%zu\"}", i);
		put(w, key3(texts[i], "s", NULL), line);
		put(w, key3("p", texts[i], NULL), line);
		put(w, key3("p", "t", *texts[i] ? texts[i] : "empty"), line);
		put(w, key3(texts[i], texts[i], texts[i]), line);
	}
	for (size_t i = 0; i < nr; i++) {
		struct grove_key project = { texts[i], NULL, NULL };

		snprintf(want, sizeof(want), "{\"uuid\":\"%zu\"}\n", i);
		assert_has(w, key3(texts[i], "s", NULL), want);
		assert_has(w, key3("p", texts[i], NULL), want);
		assert_has(w, key3("p", "t", *texts[i] ? texts[i] : "empty"), want);
		n = list(w, &project);
		snprintf(listed, sizeof(listed), "%s|s|-", texts[i]);
		if (!is_listed(n, listed) || n->nr != (*texts[i] ? 1 : 2))
			fail_msg("%s: %zu logs of the project %.40s", kind->name, n->nr, texts[i]);
		free(n);
	}
	n = list(w, &(struct grove_key){ "p", NULL, NULL });
	assert_int_equal(n->nr, nr);
	for (size_t i = 0; i < nr; i++) {
		snprintf(listed, sizeof(listed), "p|%s|-", texts[i]);
		if (!is_listed(n, listed))
			fail_msg("%s: %.40s is not listed", kind->name, listed);
	}
	free(n);
	n = list(w, &(struct grove_key){ "p", "t", NULL });
	assert_int_equal(n->nr, nr);
	for (size_t i = 0; i < nr; i++) {
		snprintf(listed, sizeof(listed), "p|t|%s", *texts[i] ? texts[i] : "empty");
		if (!is_listed(n, listed))
			fail_msg("%s: %.40s is not listed", kind->name, listed);
	}
	free(n);
}

static void names_of_any_length_are_told_apart(void **state)
{
	struct world *w = *state;
	static char a[3000], b[3000];
	const struct grove_key p = { "p", NULL, NULL };
	struct names *n;

	memset(a, 'a', sizeof(a) - 1);
	memset(b, 'a', sizeof(b) - 1);
	b[2500] = 'b';
	for (size_t len = 215; len <= 225; len++) {
		char key[300];

		snprintf(key, sizeof(key), "%.*s", (int)len, a);
		put(w, key3("p", key, NULL), "1");
		assert_has(w, key3("p", key, NULL), "1\n");
	}
	put(w, key3("p", a, NULL), "a");
	put(w, key3("p", b, NULL), "b");
	put(w, key3("p", b, "sub"), "c");
	assert_has(w, key3("p", a, NULL), "a\n");
	assert_has(w, key3("p", b, NULL), "b\n");
	n = list(w, &p);
	assert_int_equal(n->nr, 13);
	free(n);
	/* after it was moved, it is found by its full name, too */
	OK(keyed_move(w->g, NULL, &(struct grove_key){ "p", b, NULL },
			  &(struct grove_key){ a, b, NULL }));
	assert_has(w, key3(a, b, "sub"), "c\n");
	n = list(w, &(struct grove_key){ a, b, NULL });
	assert_int_equal(n->nr, 1);
	assert_memory_equal(n->text[0], a, 2999);
	free(n);
	n = list(w, &(struct grove_key){ a, NULL, NULL });
	assert_int_equal(n->nr, 1);
	free(n);
}

static void moving_takes_everything_along(void **state)
{
	struct world *w = *state;
	struct grove_key from = { "p", "s", NULL }, to = { "q", "../t", NULL };
	struct grove_log *l = made(w, from), *sub = made(w, key3("p", "s", "x/y"));
	struct grove_buf b = GROVE_BUF_INIT;

	GOT(keyed_move(w->g, NULL, &from, &to), GROVE_ENOTFOUND);
	add(w, l, NULL, "1", NULL);
	add(w, sub, NULL, "2", NULL);
	LOG_OK(l, grove_log_value_put(l, "v", grove_str("one")));
	LOG_OK(sub, grove_log_value_put(sub, "v", grove_str("two")));
	grove_log_close(sub);
	OK(keyed_move(w->g, NULL, &from, &to));
	/* a handle stays with its key */
	assert_int_equal(grove_log_read(l, 0, 0, grove_buf_sink(&b), NULL), GROVE_ENOTFOUND);
	grove_log_close(l);
	assert_has(w, from, NULL);
	assert_has(w, key3("p", "s", "x/y"), NULL);
	l = log_at(w, to, GROVE_LOG_READ);
	sub = log_at(w, key3("q", "../t", "x/y"), GROVE_LOG_READ);
	assert_lines(w, l, "1\n");
	assert_lines(w, sub, "2\n");
	LOG_OK(l, grove_log_value_get(l, "v", &b));
	LOG_OK(sub, grove_log_value_get(sub, "v", &b));
	assert_string_equal(b.ptr, "onetwo");
	grove_log_close(l);
	grove_log_close(sub);
	put(w, from, "another");
	GOT(keyed_move(w->g, NULL, &from, &to), GROVE_EEXIST);
	GOT(keyed_move(w->g, NULL, &(struct grove_key){ "q", "../t", "x/y" },
			   &(struct grove_key){ "q", "../t", "z" }), 0);
	sub = log_at(w, key3("q", "../t", "z"), GROVE_LOG_READ);
	grove_buf_release(&b);
	b = (struct grove_buf)GROVE_BUF_INIT;
	LOG_OK(sub, grove_log_value_get(sub, "v", &b));
	assert_string_equal(b.ptr, "two");
	grove_log_close(sub);
	grove_buf_release(&b);
}

static void values_stay_with_their_log(void **state)
{
	struct world *w = *state;
	struct grove_key key = { "p", "s", NULL };
	struct grove_log *l = made(w, key), *sub = made(w, key3("p", "s", "sub"));
	struct grove_buf b = GROVE_BUF_INIT;
	struct grove_slice bytes = { "a\0\n\xff", 4 };
	struct names *n;
	int64_t before;

	assert_int_equal(grove_log_value_get(l, "v", &b), GROVE_ENOTFOUND);
	assert_int_equal(grove_log_value_put(l, "v", bytes), GROVE_ENOTFOUND);
	before = add(w, l, NULL, "1", NULL).modified;
	add(w, sub, NULL, "1", NULL);
	assert_int_equal(grove_log_value_get(l, "v", &b), GROVE_ENOTFOUND);
	assert_int_equal(grove_log_value_put(l, "", bytes), GROVE_EINVAL);
	LOG_OK(l, grove_log_value_put(l, "../v", grove_str("old")));
	LOG_OK(l, grove_log_value_put(l, "../v", bytes));
	LOG_OK(sub, grove_log_value_put(sub, "../v", grove_str("sub")));
	LOG_OK(l, grove_log_value_get(l, "../v", &b));
	assert_int_equal(b.len, 4);
	assert_memory_equal(b.ptr, bytes.ptr, 4);
	grove_buf_release(&b);
	/* this has changed neither the lines nor their time */
	n = list(w, &(struct grove_key){ "p", NULL, NULL });
	assert_int_equal(n->modified[0], before);
	assert_int_equal(n->lines[0], 1);
	free(n);
	remove_it(w, key3("p", "s", "sub"), 0);
	add(w, sub, NULL, "1", NULL);
	b = (struct grove_buf)GROVE_BUF_INIT;
	assert_int_equal(grove_log_value_get(sub, "../v", &b), GROVE_ENOTFOUND);
	remove_it(w, key, 0);
	add(w, l, NULL, "1", NULL);
	assert_int_equal(grove_log_value_get(l, "../v", &b), GROVE_ENOTFOUND);
	grove_buf_release(&b);
	grove_log_close(l);
	grove_log_close(sub);
}

static void comparisons_refuse_what_others_changed(void **state)
{
	struct world *w = *state;
	struct grove_log *l = made(w, key3("p", "s", NULL)), *other = made(w, key3("p", "s", NULL));
	struct grove_log_options seq = { .size = sizeof(seq), .flags = GROVE_LOG_IF_SEQ },
				 bytes = { .size = sizeof(bytes), .flags = GROVE_LOG_IF_BYTES };
	struct grove_slice line = grove_str("abc");
	struct grove_detail why = { 0 };
	struct grove_log_result r = { .size = sizeof(r), .why = &why };

	seq.seq = 1;
	assert_int_equal(grove_log_append(l, &line, 1, &seq, &r), GROVE_ECONFLICT);
	assert_int_equal(why.code, GROVE_ECONFLICT);
	bytes.bytes = 4;
	assert_int_equal(grove_log_append(l, &line, 1, &bytes, NULL), GROVE_ECONFLICT);
	assert_has(w, key3("p", "s", NULL), NULL);
	seq.seq = bytes.bytes = 0;
	LOG_OK(l, grove_log_append(l, &line, 1, &seq, &r));
	assert_int_equal(r.seq, 1);
	assert_int_equal(r.bytes, 4);
	assert_int_equal(grove_log_append(other, &line, 1, &seq, NULL), GROVE_ECONFLICT);
	assert_int_equal(grove_log_append(other, &line, 1, &bytes, NULL), GROVE_ECONFLICT);
	bytes.bytes = 4;
	LOG_OK(other, grove_log_append(other, &line, 1, &bytes, NULL));
	assert_int_equal(grove_log_append(l, &line, 1, &bytes, NULL), GROVE_ECONFLICT);
	seq.seq = 2;
	LOG_OK(l, grove_log_append(l, &line, 1, &seq, NULL));
	assert_int_equal(keyed_replace(l, NULL, 0, &seq, NULL), GROVE_ECONFLICT);
	seq.seq = 3;
	seq.flags |= GROVE__KEYED_FORCE;
	LOG_OK(l, keyed_replace(l, &line, 1, &seq, &r));
	assert_int_equal(r.seq, 1);
	assert_lines(w, l, "abc\n");
	grove_log_close(l);
	grove_log_close(other);
}

static void replacing_is_all_or_nothing(void **state)
{
	struct world *w = *state;
	struct grove_log *l = made(w, key3("p", "s", NULL));
	struct grove_slice lines[] = { { "x", 1 }, { "y\nz", 3 } };
	struct grove_log_options force = { .size = sizeof(force), .flags = GROVE__KEYED_FORCE };
	struct grove_buf b = GROVE_BUF_INIT;
	struct grove_log *again;

	/* a log that does not exist yet is created */
	LOG_OK(l, keyed_replace(l, lines, 1, NULL, NULL));
	assert_lines(w, l, "x\n");
	add(w, l, NULL, "1", "2", NULL);
	assert_int_equal(keyed_replace(l, lines, 2, &force, NULL), GROVE_EINVAL);
	assert_lines(w, l, "x\n1\n2\n");
	LOG_OK(l, keyed_replace(l, NULL, 0, &force, NULL));
	assert_lines(w, l, "");
	grove_log_close(l);
	/* without any line it is still a log */
	again = log_at(w, key3("p", "s", NULL), GROVE_LOG_READ);
	LOG_OK(again, grove_log_read(again, 0, 0, grove_buf_sink(&b), NULL));
	assert_int_equal(b.len, 0);
	assert_int_equal(grove_log_append(again, lines, 1, NULL, NULL), GROVE_EACCESS);
	grove_log_close(again);
	assert_list(w, NULL, "p|s|-", NULL);
}

static void a_part_of_the_lines_can_be_read(void **state)
{
	struct world *w = *state;
	struct grove_log *l = made(w, key3("p", "s", NULL));
	static const struct { uint64_t from, to; const char *want; } parts[] = {
		{ 0, 0, "0\n1\n2\n3\n" }, { 1, 0, "1\n2\n3\n" }, { 1, 3, "1\n2\n" }, { 3, 4, "3\n" },
		{ 4, 0, "" }, { 9, 0, "" }, { 2, 2, "" }, { 3, 1, "" }, { 0, 9, "0\n1\n2\n3\n" },
	};

	add(w, l, NULL, "0", "1", "2", "3", NULL);
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		struct grove_log_result r = { .size = sizeof(r) };
		struct grove_buf b = GROVE_BUF_INIT;

		LOG_OK(l, grove_log_read(l, parts[i].from, parts[i].to, grove_buf_sink(&b), &r));
		assert_string_equal(b.ptr ? b.ptr : "", parts[i].want);
		assert_int_equal(r.stored, strlen(parts[i].want) / 2);
		assert_int_equal(r.bytes, 8);
		grove_buf_release(&b);
	}
	grove_log_close(l);
}

/* Asserts both ends of the log, lines without their LF; "" means that there is no line. */
static void ends_are(struct world *w, struct grove_log *l, size_t head, size_t tail, const char *first,
		     const char *last)
{
	struct grove_buf a = GROVE_BUF_INIT, b = GROVE_BUF_INIT;

	LOG_OK(l, keyed_read_ends(l, head, tail, &a, &b, NULL));
	assert_string_equal(a.ptr ? a.ptr : "", first);
	assert_string_equal(b.ptr ? b.ptr : "", last);
	grove_buf_release(&a);
	grove_buf_release(&b);
}

static void both_ends_can_be_read(void **state)
{
	struct world *w = *state;
	struct grove_log *l = made(w, key3("p", "s", NULL));
	struct grove_log_result r = { .size = sizeof(r) };
	struct grove_buf a = GROVE_BUF_INIT, b = GROVE_BUF_INIT;
	char want[4096], line[16];
	struct grove_slice s = { line, 0 };

	assert_int_equal(keyed_read_ends(l, 1, 1, &a, &b, NULL), GROVE_ENOTFOUND);
	add(w, l, NULL, "\xc3\xa4\xc3\xa4", "", "x\xf0\x9f\x8c\xb3", NULL);
	ends_are(w, l, 100, 100, "\xc3\xa4\xc3\xa4\n\nx\xf0\x9f\x8c\xb3\n", "\xc3\xa4\xc3\xa4\n\nx\xf0\x9f\x8c\xb3\n");
	ends_are(w, l, 3, 4, "\xc3\xa4", "\n");
	ends_are(w, l, 4, 5, "\xc3\xa4\xc3\xa4", "\xf0\x9f\x8c\xb3\n");
	ends_are(w, l, 0, 7, "", "\nx\xf0\x9f\x8c\xb3\n");
	ends_are(w, l, 12, 0, "\xc3\xa4\xc3\xa4\n\nx\xf0\x9f\x8c\xb3\n", "");
	LOG_OK(l, keyed_replace(l, NULL, 0, NULL, NULL));
	ends_are(w, l, 9, 9, "", "");
	/* the first lines are long, so a guess from their length would not find the last ones */
	memset(want, 'y', sizeof(want));
	s = (struct grove_slice){ want, sizeof(want) };
	for (int i = 0; i < 8; i++)
		LOG_OK(l, grove_log_append(l, &s, 1, NULL, NULL));
	*want = '\0';
	for (int i = 0; i < 600; i++) {
		s = (struct grove_slice){ line, (size_t)snprintf(line, sizeof(line), "%03d", i) };
		LOG_OK(l, grove_log_append(l, &s, 1, NULL, NULL));
		if (i >= 100)
			snprintf(want + strlen(want), sizeof(want) - strlen(want), "%03d\n", i);
	}
	ends_are(w, l, 5, 2000, "yyyyy", want);
	LOG_OK(l, keyed_read_ends(l, 40000, 1 << 20, &a, &b, &r));
	assert_int_equal(a.len, r.bytes);
	assert_int_equal(r.bytes, 8 * 4097 + 600 * 4);
	assert_memory_equal(a.ptr, b.ptr, a.len);
	grove_buf_release(&a);
	grove_buf_release(&b);
	grove_log_close(l);
}

/* Returns whether the store supports the call. An application's store need not. */
static bool has(int rc)
{
	if (rc == GROVE_ENOTSUP)
		assert_string_equal(kind->name, "drawer");
	return rc != GROVE_ENOTSUP;
}

static void a_title_is_put_into_the_line_that_has_room(void **state)
{
	struct world *w = *state;
	struct grove_log *l = made(w, key3("p", "s", NULL));
	struct grove_title t = { sizeof(t), "the \xc3\xa4", "user", "t2" };

	assert_int_equal(keyed_set_title(l, &t), GROVE_ENOTFOUND);
	add(w, l, NULL, "{\"x\":1}", NULL);
	assert_int_equal(keyed_set_title(l, &t), 1);
	LOG_OK(l, keyed_replace(l, NULL, 0, NULL, NULL));
	assert_int_equal(keyed_set_title(l, &t), 1);
	add(w, l, NULL, "{\"type\":\"title\",\"v\":1,\"title\":\"\",\"source\":\"auto\",\"updatedAt\":\"\",\"pad\":\"          \"}",
	    "{\"x\":1}", NULL);
	if (has(keyed_set_title(l, &t))) {
		assert_lines(w, l, "{\"type\":\"title\",\"v\":1,\"title\":\"the \xc3\xa4\",\"source\":\"user\",\"updatedAt\":\"t2\",\"pad\":\"  \"}\n"
				   "{\"x\":1}\n");
		add(w, l, NULL, "{\"x\":2}", NULL);
		t.updated = NULL;
		assert_int_equal(keyed_set_title(l, &t), 1);
	}
	grove_log_close(l);
}

static void a_lock_keeps_other_handles_from_writing(void **state)
{
	struct world *w = *state;
	struct grove_key key = { "p", "s", NULL };
	struct grove_log *l = made(w, key), *other = made(w, key);
	struct grove_slice line = grove_str("2");

	assert_int_equal(keyed_lock(l, 60000), GROVE_ENOTFOUND);
	add(w, l, NULL, "1", NULL);
	assert_int_equal(keyed_lock(l, 0), GROVE_EINVAL);
	if (!has(keyed_lock(l, 60000)))
		goto out;
	assert_int_equal(grove_log_append(other, &line, 1, NULL, NULL), GROVE_ECONFLICT);
	assert_int_equal(keyed_replace(other, &line, 1, NULL, NULL), GROVE_ECONFLICT);
	/* the lock does not keep out its holder, nor what the holder puts in the log's place */
	add(w, l, NULL, "2", NULL);
	LOG_OK(l, keyed_replace(l, &line, 1, &(struct grove_log_options){ .size = sizeof(struct grove_log_options), .flags = GROVE__KEYED_FORCE }, NULL));
	add(w, l, NULL, "3", NULL);
	LOG_OK(l, keyed_lock(l, 60000));
	assert_int_equal(grove_log_append(other, &line, 1, NULL, NULL), GROVE_ECONFLICT);
	LOG_OK(l, keyed_unlock(l));
	LOG_OK(l, keyed_unlock(l));
	add(w, other, NULL, "4", NULL);
	/* a lock that has expired may be taken by anybody */
	LOG_OK(l, keyed_lock(l, 1));
	usleep(5000);
	LOG_OK(other, keyed_lock(other, 60000));
	assert_int_equal(grove_log_append(l, &line, 1, NULL, NULL), GROVE_ECONFLICT);
	LOG_OK(l, keyed_unlock(l));
	/* the lock is removed with its log */
	remove_it(w, key, 0);
	LOG_OK(other, keyed_unlock(other));
	add(w, l, NULL, "5", NULL);
	add(w, other, NULL, "6", NULL);
	assert_has(w, key, "5\n6\n");
out:
	grove_log_close(l);
	grove_log_close(other);
}

static int stop(void *payload, const char *ptr, size_t len)
{
	(void)payload;
	(void)ptr;
	(void)len;
	return GROVE_ECANCELLED;
}

static int say_seven(void *payload, const struct grove_log_item *item)
{
	(void)payload;
	(void)item;
	return 7;
}

static void callbacks_can_end_the_work(void **state)
{
	struct world *w = *state;
	struct grove_log *l = made(w, key3("p", "s", NULL));

	add(w, l, NULL, "0", "1", NULL);
	assert_int_equal(grove_log_read(l, 0, 0, (struct grove_sink){ stop, NULL }, NULL),
			 GROVE_ECANCELLED);
	assert_int_equal(grove_log_each(w->g, NULL, NULL, 0, say_seven, NULL), 7);
	grove_log_close(l);
}

static void a_line_of_5_megabytes_and_500_in_a_batch(void **state)
{
	struct world *w = *state;
	struct grove_log *l = made(w, key3("p", "s", NULL));
	size_t len = 5 << 20;
	char *line = malloc(len + 1), (*many)[64] = calloc(500, 64);
	struct grove_slice lines[500];
	struct grove_log_result r = { .size = sizeof(r) };
	struct grove_buf b = GROVE_BUF_INIT;

	assert_non_null(line);
	assert_non_null(many);
	memset(line, 'x', len);
	line[len] = '\0';
	memcpy(line, "{\"uuid\":\"big\",\"sessionId\":\"s\",\"t\":\"", 35);
	memcpy(line + len - 2, "\"}", 2);
	lines[0] = grove_str(line);
	LOG_OK(l, grove_log_append(l, lines, 1, &by_uuid, NULL));
	for (int i = 0; i < 500; i++) {
		snprintf(many[i], 64, "{\"uuid\":\"%d\",\"n\":%d}", i, i);
		lines[i] = grove_str(many[i]);
	}
	LOG_OK(l, grove_log_append(l, lines, 500, &by_uuid, &r));
	assert_int_equal(r.stored, 500);
	assert_int_equal(r.seq, 501);
	LOG_OK(l, grove_log_append(l, lines, 500, &by_uuid, &r));
	assert_int_equal(r.skipped, 500);
	lines[0] = grove_str(line);
	LOG_OK(l, grove_log_append(l, lines, 1, &by_uuid, &r));
	assert_int_equal(r.skipped, 1);
	LOG_OK(l, grove_log_read(l, 0, 0, grove_buf_sink(&b), &r));
	assert_int_equal(r.stored, 501);
	assert_memory_equal(b.ptr, line, len);
	assert_memory_equal(b.ptr + len + 1, many[0], strlen(many[0]));
	grove_buf_release(&b);
	grove_log_close(l);
	free(line);
	free(many);
}

/* ------------------------------------------------------------ many writers */

enum { THREADS = 8, EACH = 40 };

struct writer {
	struct world *w;
	struct grove_log *l;
	int nr, rc;
};

static void *write_some(void *payload)
{
	struct writer *t = payload;
	struct grove_log_options opt = by_uuid;

	opt.sync = t->nr % 2 ? GROVE_SYNC_ALWAYS : GROVE_SYNC_NONE;
	for (int i = 0; i < EACH && !t->rc; i++) {
		char a[96], b[96];
		struct grove_slice lines[2];

		snprintf(a, sizeof(a), "{\"uuid\":\"%d-%d-a\",\"by\":%d,\"i\":%d}", t->nr, i, t->nr, 2 * i);
		snprintf(b, sizeof(b), "{\"uuid\":\"%d-%d-b\",\"by\":%d,\"i\":%d}", t->nr, i, t->nr, 2 * i + 1);
		lines[0] = grove_str(a);
		lines[1] = grove_str(b);
		t->rc = grove_log_append(t->l, lines, 2, &opt, NULL);
		/* and once more, as if no answer had come */
		if (!t->rc && i % 7 == 0)
			t->rc = grove_log_append(t->l, lines, 2, &opt, NULL);
	}
	return NULL;
}

/* Asserts that all lines are there once, each writer's in order, those of one call together. */
static void assert_written(struct world *w, struct grove_key key, int writers)
{
	struct grove_log *l = log_at(w, key, GROVE_LOG_READ);
	struct grove_buf b = GROVE_BUF_INIT;
	int next[THREADS * 2] = { 0 }, last = -1, nr = 0;

	LOG_OK(l, grove_log_read(l, 0, 0, grove_buf_sink(&b), NULL));
	for (char *p = b.ptr, *lf; (lf = strchr(p, '\n')); p = lf + 1, nr++) {
		int by = -1, i = -1;

		*lf = '\0';
		if (sscanf(strstr(p, "\"by\""), "\"by\":%d,\"i\":%d", &by, &i) != 2 || by < 0 || by >= writers)
			fail_msg("%s: %s", kind->name, p);
		if (i != next[by]++ || (i % 2 && last != by))
			fail_msg("%s: line %d of writer %d comes as number %d", kind->name, i, by, nr);
		last = by;
	}
	assert_int_equal(nr, writers * EACH * 2);
	grove_buf_release(&b);
	grove_log_close(l);
}

static void many_threads_append_to_one_handle(void **state)
{
	struct world *w = *state;
	struct grove_log *l = made(w, key3("p", "s", NULL));
	struct writer t[THREADS];
	pthread_t id[THREADS];

	for (int i = 0; i < THREADS; i++) {
		t[i] = (struct writer){ w, l, i, 0 };
		assert_int_equal(pthread_create(&id[i], NULL, write_some, &t[i]), 0);
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(id[i], NULL);
		LOG_OK(l, t[i].rc);
	}
	grove_log_close(l);
	assert_written(w, key3("p", "s", NULL), THREADS);
}

static void many_threads_append_through_handles_of_their_own(void **state)
{
	struct world *w = *state;
	struct writer t[THREADS];
	pthread_t id[THREADS];

	for (int i = 0; i < THREADS; i++) {
		t[i] = (struct writer){ w, made(w, key3("p", "s", NULL)), i, 0 };
		assert_int_equal(pthread_create(&id[i], NULL, write_some, &t[i]), 0);
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(id[i], NULL);
		LOG_OK(t[i].l, t[i].rc);
		grove_log_close(t[i].l);
	}
	assert_written(w, key3("p", "s", NULL), THREADS);
}

static void a_second_environment_sees_it(void **state)
{
	struct world *w = *state;
	struct world other = *w;

	if (!kind->shared)
		skip();
	put(w, key3("p", "s", NULL), "{\"uuid\":\"1\"}");
	other.g = open_env(&other);
	assert_has(&other, key3("p", "s", NULL), "{\"uuid\":\"1\"}\n");
	put(&other, key3("p", "s", NULL), "{\"uuid\":\"1\"}");
	put(&other, key3("p", "s", NULL), "{\"uuid\":\"2\"}");
	assert_has(w, key3("p", "s", NULL), "{\"uuid\":\"1\"}\n{\"uuid\":\"2\"}\n");
	grove_close(other.g);
}

/* A child that appends, reports through `fd` what was acknowledged, and is killed. */
static void child(struct world *w, int nr, int from, int fd)
{
	struct grove_key key = key3("p", "s", NULL);
	struct grove_log_options opt = by_uuid;
	struct grove_log *l;
	struct grove *g;

	g = open_env(w);
	if (grove_log_open(g, NULL, &key, GROVE_LOG_CREATE, &l))
		_exit(2);
	opt.sync = GROVE_SYNC_FLUSH;
	for (int i = from; i < EACH; i++) {
		char a[96], b[96];
		struct grove_slice lines[2];

		snprintf(a, sizeof(a), "{\"uuid\":\"%d-%d-a\",\"by\":%d,\"i\":%d}", nr, i, nr, 2 * i);
		snprintf(b, sizeof(b), "{\"uuid\":\"%d-%d-b\",\"by\":%d,\"i\":%d}", nr, i, nr, 2 * i + 1);
		lines[0] = grove_str(a);
		lines[1] = grove_str(b);
		if (grove_log_append(l, lines, 2, &opt, NULL) || write(fd, &i, sizeof(i)) != sizeof(i))
			_exit(3);
	}
	_exit(0);
}

static void what_was_acknowledged_survives_a_kill(void **state)
{
	struct world *w = *state;
	enum { CHILDREN = 4 };
	struct chance c = chance_begin(kind->name);
	pid_t pid[CHILDREN];
	int from[CHILDREN] = { 0 }, fd[CHILDREN][2], alive = CHILDREN;

	if (kind->same_process)
		skip();
	/* no database may be open when the process forks */
	grove_close(w->g);
	for (int i = 0; i < CHILDREN; i++)
		pid[i] = -1;
	while (alive) {
		for (int i = 0; i < CHILDREN; i++) {
			int status, got;

			if (from[i] >= EACH)
				continue;
			assert_int_equal(pipe(fd[i]), 0);
			pid[i] = fork();
			assert_true(pid[i] >= 0);
			if (!pid[i])
				child(w, i, from[i], fd[i][1]);
			close(fd[i][1]);
			/* some are killed at once, some later, some not at all */
			for (uint32_t n = chance_below(&c, 60); n; n--)
				if (read(fd[i][0], &got, sizeof(got)) == sizeof(got))
					from[i] = got + 1;
			kill(pid[i], SIGKILL);
			while (read(fd[i][0], &got, sizeof(got)) == sizeof(got))
				from[i] = got + 1;
			waitpid(pid[i], &status, 0);
			assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
			close(fd[i][0]);
			alive -= from[i] >= EACH;
		}
	}
	w->g = open_env(w);
	assert_written(w, key3("p", "s", NULL), CHILDREN);
}

/* ------------------------------------------------------------------- a model */

enum { KEYS = 7, IDS = 40, STEPS = 400 };

static struct {
	struct grove_buf lines[KEYS];
	bool there[KEYS], has[KEYS][IDS];
	uint64_t nr[KEYS];
} model;

static void model_append(int k, int id, const char *line)
{
	if (id >= 0 && model.has[k][id])
		return;
	if (id >= 0)
		model.has[k][id] = true;
	model.there[k] = true;
	model.nr[k]++;
	assert_int_equal(grove_buf_add(&model.lines[k], grove_str(line)), 0);
	assert_int_equal(grove_buf_add(&model.lines[k], grove_str("\n")), 0);
}

static void model_forget(int k)
{
	grove_buf_release(&model.lines[k]);
	model.lines[k] = (struct grove_buf)GROVE_BUF_INIT;
	model.there[k] = false;
	model.nr[k] = 0;
	memset(model.has[k], 0, sizeof(model.has[k]));
}

static void random_calls_agree_with_a_model(void **state)
{
	struct world *w = *state;
	static const struct grove_key keys[KEYS] = {
		{ "p", "a", NULL }, { "p", "a", "x" }, { "p", "a", "x/y" }, { "p", "a2", NULL },
		{ "q", "a", NULL }, { "..", "/", NULL }, { "p", "", "x" },
	};
	struct chance c = chance_begin(kind->name);
	struct grove_log *log[KEYS][2] = { { NULL } };
	struct grove_log_options opt = by_uuid;

	memset(&model, 0, sizeof(model));
	for (int step = 0; step < STEPS; step++) {
		int k = (int)chance_below(&c, KEYS), h = (int)chance_below(&c, 2);
		uint32_t what = chance_below(&c, 20);
		struct grove_slice lines[5];
		char text[5][64];
		int ids[5];
		size_t nr = chance_below(&c, 6);

		if (what < 2 && log[k][h]) {
			grove_log_close(log[k][h]);
			log[k][h] = NULL;
		}
		if (!log[k][h])
			log[k][h] = made(w, keys[k]);
		for (size_t i = 0; i < nr; i++) {
			ids[i] = (int)chance_below(&c, IDS + 10);
			if (ids[i] >= IDS)
				ids[i] = -1;
			if (ids[i] < 0)
				snprintf(text[i], 64, "{\"n\":%d}", step);
			else
				snprintf(text[i], 64, "{\"uuid\":\"id-%d\",\"sessionId\":\"%d\"}", ids[i], k);
			lines[i] = grove_str(text[i]);
		}
		if (what == 19) {
			int rc = grove_log_remove(w->g, NULL, &keys[k]);
			bool any = model.there[k];

			for (int i = 0; i < KEYS; i++)
				if (i == k || (!keys[k].subpath && keys[i].subpath &&
					       !strcmp(keys[i].project, keys[k].project) &&
					       !strcmp(keys[i].session, keys[k].session))) {
					any = any || model.there[i];
					model_forget(i);
				}
			GOT(rc, any ? 0 : 1);
		} else if (what == 18) {
			struct grove_log_options force = { .size = sizeof(force), .flags = GROVE__KEYED_FORCE };

			LOG_OK(log[k][h], keyed_replace(log[k][h], lines, nr, &force, NULL));
			model_forget(k);
			model.there[k] = true;
			/* here nothing is skipped */
			for (size_t i = 0; i < nr; i++) {
				if (ids[i] >= 0)
					model.has[k][ids[i]] = false;
				model_append(k, ids[i], text[i]);
			}
		} else {
			struct grove_log_result r = { .size = sizeof(r) };
			uint64_t before = model.nr[k];

			for (size_t i = 0; i < nr; i++)
				model_append(k, ids[i], text[i]);
			LOG_OK(log[k][h], grove_log_append(log[k][h], lines, nr, &opt, &r));
			assert_int_equal(r.stored, model.nr[k] - before);
			assert_int_equal(r.seq, model.nr[k]);
			assert_int_equal(r.bytes, model.lines[k].len);
		}
		k = (int)chance_below(&c, KEYS);
		assert_has(w, keys[k], model.there[k] ? (model.lines[k].ptr ? model.lines[k].ptr : "") : NULL);
	}
	for (int k = 0; k < KEYS; k++) {
		grove_log_close(log[k][0]);
		grove_log_close(log[k][1]);
		model_forget(k);
	}
}

/* ------------------------------------------------------- an ordinary session */

static void a_log_of_an_agent_is_an_ordinary_session(void **state)
{
	struct world *w = *state;
	static const char id[] = "0b8f2f6e-34a5-4f7e-9a55-0f3d7a1c9e11";
	struct grove_log *l = made(w, key3("-home-me", id, NULL));
	struct grove_log *sub = made(w, key3("-home-me", id, "subagents/agent-a1"));
	struct grove_session *s;
	struct grove_list *found;
	const struct grove_list_item *item;
	struct grove_view *v;
	struct grove_counts n = { .size = sizeof(n) };

	add(w, l, &by_uuid, "{\"type\":\"queue-operation\",\"operation\":\"enqueue\",\"sessionId\":\"0b8f2f6e-34a5-4f7e-9a55-0f3d7a1c9e11\"}",
	    "{\"parentUuid\":null,\"isSidechain\":false,\"userType\":\"external\",\"cwd\":\"/home/me\",\"sessionId\":\"0b8f2f6e-34a5-4f7e-9a55-0f3d7a1c9e11\",\"version\":\"2.1.0\",\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"the first question\"},\"uuid\":\"11111111-1111-4111-8111-111111111111\",\"timestamp\":\"2026-05-03T09:00:00.000Z\"}",
	    "{\"parentUuid\":\"11111111-1111-4111-8111-111111111111\",\"isSidechain\":false,\"cwd\":\"/home/me\",\"sessionId\":\"0b8f2f6e-34a5-4f7e-9a55-0f3d7a1c9e11\",\"type\":\"assistant\",\"message\":{\"id\":\"msg_1\",\"role\":\"assistant\",\"model\":\"claude-sonnet-4-5\",\"content\":[{\"type\":\"text\",\"text\":\"an answer\"}],\"usage\":{\"input_tokens\":10,\"output_tokens\":20}},\"uuid\":\"22222222-2222-4222-8222-222222222222\",\"timestamp\":\"2026-05-03T09:00:01.000Z\"}",
	    NULL);
	add(w, sub, &by_uuid, "{\"parentUuid\":null,\"isSidechain\":true,\"agentId\":\"a1\",\"cwd\":\"/home/me\",\"sessionId\":\"0b8f2f6e-34a5-4f7e-9a55-0f3d7a1c9e11\",\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"look closer\"},\"uuid\":\"33333333-3333-4333-8333-333333333333\",\"timestamp\":\"2026-05-03T09:00:00.500Z\"}",
	    NULL);
	grove_log_close(l);
	grove_log_close(sub);
	OK(grove_list(w->g, NULL, &found));
	assert_int_equal(grove_list_count(found), 1);
	item = grove_list_at(found, 0);
	assert_string_equal(item->dialect, "claude");
	assert_string_equal(item->id, id);
	assert_string_equal(item->first_message, "the first question");
	grove_list_free(found);
	OK(grove_session_open(w->g, id, GROVE_OPEN_READ, &s));
	OK(grove_session_view(s, &v));
	grove_view_counts(v, &n);
	assert_int_equal(n.lines, 3);
	grove_view_unref(v);
	grove_session_close(s);
	if (kind->files) {
		char path[4300];
		struct stat st;

		snprintf(path, sizeof(path), "%s/store/-home-me/%s/subagents/agent-a1.jsonl", w->dir, id);
		assert_int_equal(stat(path, &st), 0);
		snprintf(path, sizeof(path), "%s/store/-home-me/%s.jsonl", w->dir, id);
		assert_int_equal(stat(path, &st), 0);
	}
}

/* File stores: incomplete lines that agents leave, and files that are not grove's. */
static void files_may_be_unfinished_or_not_ours(void **state)
{
	struct world *w = *state;
	const struct grove_key p = { "p", NULL, NULL };
	char path[4300];
	struct grove_log *l;
	struct grove_log_result r;
	FILE *f;

	if (!kind->files)
		skip();
	put(w, key3("p", "s", NULL), "{\"uuid\":\"1\"}");
	snprintf(path, sizeof(path), "%s/store/p/s.jsonl", w->dir);
	f = fopen(path, "a");
	assert_non_null(f);
	fputs("{\"uuid\":\"2\"}", f);
	fclose(f);
	l = made(w, key3("p", "s", NULL));
	assert_lines(w, l, "{\"uuid\":\"1\"}\n{\"uuid\":\"2\"}\n");
	r = add(w, l, &by_uuid, "{\"uuid\":\"2\"}", "{\"uuid\":\"3\"}", NULL);
	assert_int_equal(r.skipped, 1);
	assert_int_equal(r.seq, 3);
	f = fopen(path, "a");
	assert_non_null(f);
	fputs("{\"uuid\":\"4", f);
	fclose(f);
	r = add(w, l, &by_uuid, "{\"uuid\":\"4\"}", NULL);
	assert_int_equal(r.stored, 1);
	r = add(w, l, &by_uuid, "{\"uuid\":\"4\"}", NULL);
	assert_int_equal(r.skipped, 1);
	assert_lines(w, l, "{\"uuid\":\"1\"}\n{\"uuid\":\"2\"}\n{\"uuid\":\"3\"}\n{\"uuid\":\"4\n{\"uuid\":\"4\"}\n");
	/* without ids nobody counts lines, unless asked to */
	r = add(w, l, NULL, "x", NULL);
	assert_true(r.seq == 6 || r.seq == GROVE_LOG_UNCOUNTED);
	r = add(w, l, &(struct grove_log_options){ .size = sizeof(by_uuid), .flags = GROVE_LOG_COUNT }, "y", NULL);
	assert_int_equal(r.seq, 7);
	grove_log_close(l);
	/* names that cannot come from a key */
	snprintf(path, sizeof(path), "%s/store/p/%%zz.jsonl", w->dir);
	f = fopen(path, "w");
	assert_non_null(f);
	fclose(f);
	snprintf(path, sizeof(path), "%s/store/p/%%41.jsonl", w->dir);
	f = fopen(path, "w");
	assert_non_null(f);
	fclose(f);
	assert_list(w, &p, "p|s|-", NULL);
}

static void arguments_are_checked(void **state)
{
	struct world *w = *state;
	struct grove_log *l;
	struct grove_slice line = grove_str("x");
	struct grove_log_options opt = { .size = sizeof(opt), .id_member = "" };
	struct grove_key none = { "p", NULL, NULL }, key = { "p", "s", NULL };

	GOT(grove_log_open(w->g, NULL, &none, GROVE_LOG_CREATE, &l), GROVE_EINVAL);
	grove_log_close(l);
	GOT(grove_log_open(w->g, "nosuch:x", &key, GROVE_LOG_CREATE, &l), GROVE_EINVAL);
	assert_int_equal(grove_log_append(l, &line, 1, NULL, NULL), GROVE_EINVAL);
	grove_log_close(l);
	grove_log_close(NULL);
	l = made(w, key);
	assert_int_equal(grove_log_append(l, &line, 1, &opt, NULL), GROVE_EINVAL);
	opt.id_member = "a member with a very long name, longer than any";
	assert_int_equal(grove_log_append(l, &line, 1, &opt, NULL), GROVE_EINVAL);
	opt.size = 0;
	assert_int_equal(grove_log_append(l, &line, 1, &opt, NULL), GROVE_EINVAL);
	grove_log_close(l);
	assert_list(w, NULL, NULL);
}

/* -------------------------------------------------------- files under paths */

static struct grove_storage *storage_of(struct world *w)
{
	struct grove_storage *st;

	OK(grove_storage_open(w->g, NULL, &st));
	return st;
}

static void told_file(struct grove_storage *st, const char *path, int got, int want, const char *what, int line)
{
	struct grove_detail d;

	grove_storage_error(st, path, &d);
	if (got != want)
		fail_msg("%s: line %d: %s: %d, not %d: %s", kind->name, line, what, got, want, d.message);
	if (want < 0)
		assert_int_equal(d.code, want);
}

#define FILE_GOT(path, call, want) told_file(st, path, call, want, #call, __LINE__)
#define FILE_OK(path, call) FILE_GOT(path, call, 0)

static void write_file(struct grove_storage *st, const char *path, const char *text)
{
	FILE_OK(path, grove_storage_write_text(st, path, grove_str(text), NULL));
}

static void append_file(struct grove_storage *st, const char *path, const char *text)
{
	FILE_OK(path, grove_storage_append_text(st, path, grove_str(text), GROVE_SYNC_NONE));
}

/* Asserts the file's content; NULL: there is no such file. */
static void assert_text(struct grove_storage *st, const char *path, const char *want)
{
	struct grove_buf b = GROVE_BUF_INIT;

	FILE_GOT(path, grove_storage_read_text(st, path, &b), want ? 0 : GROVE_ENOTFOUND);
	assert_string_equal(b.ptr ? b.ptr : "", want ? want : "");
	grove_buf_release(&b);
}

static void assert_slices(struct grove_storage *st, const char *path, size_t head, size_t tail, const char *want)
{
	struct grove_buf first = GROVE_BUF_INIT, last = GROVE_BUF_INIT;
	char got[100];

	FILE_OK(path, grove_storage_read_text_slices(st, path, head, tail, &first, &last));
	snprintf(got, sizeof(got), "%s|%s", first.ptr ? first.ptr : "", last.ptr ? last.ptr : "");
	assert_string_equal(got, want);
	grove_buf_release(&first);
	grove_buf_release(&last);
}

static int note_file(void *payload, const struct grove_storage_item *item)
{
	struct names *n = payload;

	assert_true(n->nr < MANY);
	snprintf(n->text[n->nr++], sizeof(n->text[0]), "%s %d %s", item->path, (int)item->bytes,
		 item->title.text ? item->title.text : "-");
	return 0;
}

/* Asserts that the files are these, each "path bytes title", up to NULL, and no others. */
static void assert_files(struct grove_storage *st, ...)
{
	struct names *n = calloc(1, sizeof(*n));
	const char *s;
	size_t nr = 0;
	va_list ap;

	assert_non_null(n);
	FILE_OK(NULL, grove_storage_each(st, note_file, n));
	va_start(ap, st);
	for (; (s = va_arg(ap, const char *)); nr++)
		if (!is_listed(n, s))
			fail_msg("%s: %s is not listed", kind->name, s);
	va_end(ap);
	if (n->nr != nr)
		fail_msg("%s: %zu are listed, not %zu: %s ...", kind->name, n->nr, nr, n->text[0]);
	free(n);
}

static void files_are_what_was_written(void **state)
{
	struct world *w = *state;
	struct grove_storage *st = storage_of(w);

	assert_files(st, NULL);
	assert_text(st, "/w/a.jsonl", NULL);
	write_file(st, "/w/a.jsonl", "{\"x\":\"\u00e4\"}\n\n{}\n");
	assert_text(st, "/w/a.jsonl", "{\"x\":\"\u00e4\"}\n\n{}\n");
	append_file(st, "/w/a.jsonl", "1\n2\n");
	assert_text(st, "/w/a.jsonl", "{\"x\":\"\u00e4\"}\n\n{}\n1\n2\n");
	/* a session is a log of lines */
	append_file(st, "/w/a.jsonl", "3");
	append_file(st, "/w/a.jsonl", "4\n");
	assert_slices(st, "/w/a.jsonl", 7, 6, "{\"x\":\"|2\n3\n4\n");
	assert_slices(st, "/w/a.jsonl", 8, 2, "{\"x\":\"\u00e4|4\n");
	write_file(st, "/w/a.jsonl", "");
	assert_text(st, "/w/a.jsonl", "");
	append_file(st, "b.jsonl", "1\n");
	assert_files(st, "/w/a.jsonl 0 -", "b.jsonl 2 -", NULL);
	grove_storage_close(st);
}

static void a_path_is_a_key(void **state)
{
	struct world *w = *state;
	struct grove_storage *st = storage_of(w);

	append_file(st, "/w/x/y.jsonl", "1\n");
	append_file(st, "/w/a.jsonl", "2\n");
	append_file(st, "/w/a/task.jsonl", "3\n");
	append_file(st, "/w/a/draft.txt", "4\n");
	append_file(st, "/top.jsonl", "5\n");
	append_file(st, "bare", "6\n");
	assert_has(w, key3("/w/x", "y", NULL), "1\n");
	assert_has(w, key3("/w", "a", NULL), "2\n");
	assert_has(w, key3("/w", "a", "task"), "3\n");
	assert_has(w, key3("/w", "a", "draft.txt/"), "4\n");
	assert_has(w, key3("/", "top", NULL), "5\n");
	assert_has(w, key3(NULL, "bare/", NULL), "6\n");
	/* a file that has a key keeps it */
	append_file(st, "/w/x.jsonl", "7\n");
	append_file(st, "/w/x/y.jsonl", "8\n");
	assert_has(w, key3("/w/x", "y", NULL), "1\n8\n");
	grove_storage_close(st);
	/* another storage knows only what it has listed */
	st = storage_of(w);
	assert_files(st, "/w/x/y.jsonl 4 -", "/w/a.jsonl 2 -", "/w/a/task.jsonl 2 -", "/w/a/draft.txt 2 -",
		     "/top.jsonl 2 -", "bare 2 -", "/w/x.jsonl 2 -", NULL);
	append_file(st, "/w/a/task.jsonl", "9\n");
	append_file(st, "/w/a/more.jsonl", "10\n");
	assert_has(w, key3("/w", "a", "task"), "3\n9\n");
	assert_has(w, key3("/w", "a", "more"), "10\n");
	grove_storage_close(st);
}

static void other_files_keep_their_bytes(void **state)
{
	struct world *w = *state;
	struct grove_storage_options opt = { .size = sizeof(opt), .flags = GROVE_STORAGE_IF_BYTES, .bytes = 8 };
	struct grove_storage *st = storage_of(w);
	const char *draft = "/w/a/draft.txt";

	append_file(st, "/w/a.jsonl", "1\n");
	write_file(st, draft, "half a th\u00f6ught");
	assert_text(st, draft, "half a th\u00f6ught");
	assert_slices(st, draft, 10, 5, "half a th|ught");
	assert_files(st, "/w/a.jsonl 2 -", "/w/a/draft.txt 15 -", NULL);
	append_file(st, draft, "s\n");
	append_file(st, draft, "x");
	assert_text(st, draft, "half a th\u00f6ughts\nx");
	write_file(st, draft, "x\nyz");
	FILE_GOT(draft, grove_storage_write_text(st, draft, grove_str("?"), &opt), GROVE_ECONFLICT);
	opt.bytes = 4;
	FILE_OK(draft, grove_storage_write_text(st, draft, grove_str("!\n\n"), &opt));
	assert_text(st, draft, "!\n\n");
	grove_storage_close(st);
}

static void a_file_of_another_size_is_left_alone(void **state)
{
	struct world *w = *state;
	struct grove_storage_options opt = { .size = sizeof(opt), .flags = GROVE_STORAGE_IF_BYTES };
	struct grove_storage *st = storage_of(w);
	const char *a = "/w/a.jsonl";

	FILE_OK(a, grove_storage_write_text(st, a, grove_str("1\n"), &opt));
	FILE_GOT(a, grove_storage_write_text(st, a, grove_str("2\n"), &opt), GROVE_ECONFLICT);
	opt.bytes = 2;
	FILE_OK(a, grove_storage_write_text(st, a, grove_str("3\n"), &opt));
	assert_text(st, a, "3\n");
	grove_storage_close(st);
}

static void a_title_is_in_the_list_and_in_the_first_line(void **state)
{
	struct world *w = *state;
	struct grove_title t = { .size = sizeof(t), .text = "one", .updated = "2026-01-01T00:00:00.000Z" };
	struct grove_storage_options opt = { .size = sizeof(opt), .title = &t };
	struct grove_storage *st = storage_of(w);
	struct grove_buf b = GROVE_BUF_INIT;
	const char *a = "/w/a.jsonl";

	FILE_GOT(a, grove_storage_set_title(st, a, &t), GROVE_ENOTFOUND);
	FILE_OK(a, grove_storage_write_text(st, a, grove_str("{}\n"), &opt));
	assert_files(st, "/w/a.jsonl 3 one", NULL);
	t.text = "two";
	FILE_OK(a, grove_storage_set_title(st, a, &t));
	assert_files(st, "/w/a.jsonl 3 two", NULL);
	assert_text(st, a, "{}\n");
	write_file(st, a, "{\"type\":\"title\",\"v\":1,\"title\":\"\",\"updatedAt\":\"\",\"pad\":\"                               \"}\n");
	FILE_OK(a, grove_storage_set_title(st, a, &t));
	FILE_OK(a, grove_storage_read_text(st, a, &b));
	if (!kind->same_process || !strcmp(kind->name, "memory"))
		assert_non_null(strstr(b.ptr, "\"title\":\"two\""));
	grove_buf_release(&b);
	grove_storage_close(st);
}

static void files_move_and_go_with_what_belongs_to_them(void **state)
{
	struct world *w = *state;
	struct grove_storage *st = storage_of(w);

	FILE_GOT("/w/a.jsonl", grove_storage_rename(st, "/w/a.jsonl", "/w/b.jsonl"), GROVE_ENOTFOUND);
	append_file(st, "/w/a.jsonl", "1\n");
	append_file(st, "/w/a/task.jsonl", "2\n");
	append_file(st, "/w/b.jsonl", "3\n");
	FILE_OK("/w/a.jsonl", grove_storage_rename(st, "/w/a.jsonl", "/w/a.jsonl"));
	FILE_OK("/w/a.jsonl", grove_storage_rename(st, "/w/a.jsonl", "/v/b.jsonl"));
	assert_files(st, "/v/b.jsonl 2 -", "/v/b/task.jsonl 2 -", "/w/b.jsonl 2 -", NULL);
	assert_text(st, "/w/a.jsonl", NULL);
	/* in place of another file */
	FILE_OK("/w/b.jsonl", grove_storage_rename(st, "/w/b.jsonl", "/v/b.jsonl"));
	assert_files(st, "/v/b.jsonl 2 -", NULL);
	assert_text(st, "/v/b.jsonl", "3\n");
	append_file(st, "/w/b.jsonl", "4\n");
	append_file(st, "/v/b/task.jsonl", "5\n");
	FILE_OK("/v/b.jsonl", grove_storage_remove(st, "/v/b.jsonl"));
	FILE_GOT("/v/b.jsonl", grove_storage_remove(st, "/v/b.jsonl"), 1);
	assert_files(st, "/w/b.jsonl 2 -", NULL);
	assert_text(st, "/w/b.jsonl", "4\n");
	grove_storage_close(st);
}

static void a_lock_is_for_other_storages(void **state)
{
	struct world *w = *state;
	struct grove_storage *st = storage_of(w), *other;
	const char *a = "/w/a.jsonl";
	int rc;

	FILE_GOT(a, grove_storage_lock(st, a, 10000), 1);
	append_file(st, a, "1\n");
	rc = grove_storage_lock(st, a, 10000);
	if (rc == GROVE_ENOTSUP) {
		grove_storage_close(st);
		skip();
	}
	assert_int_equal(rc, 0);
	append_file(st, a, "2\n");
	other = storage_of(w);
	assert_int_equal(grove_storage_append_text(other, a, grove_str("no\n"), GROVE_SYNC_NONE), GROVE_ECONFLICT);
	FILE_OK(a, grove_storage_unlock(st, a));
	append_file(other, a, "3\n");
	assert_text(st, a, "1\n2\n3\n");
	assert_int_equal(grove_storage_remove(other, a), 0);
	FILE_GOT(a, grove_storage_lock(st, a, 10000), GROVE_ENOTFOUND);
	grove_storage_close(other);
	grove_storage_close(st);
}

static void many_files_are_used_in_turn(void **state)
{
	struct world *w = *state;
	struct grove_storage *st = storage_of(w);
	char path[40], line[40];

	for (int i = 0; i < 300; i++) {
		snprintf(path, sizeof(path), "/w/%d.jsonl", i % 100);
		snprintf(line, sizeof(line), "%d\n", i);
		append_file(st, path, line);
	}
	assert_text(st, "/w/7.jsonl", "7\n107\n207\n");
	assert_text(st, "/w/99.jsonl", "99\n199\n299\n");
	grove_storage_close(st);
}

static void a_path_must_not_be_empty(void **state)
{
	struct world *w = *state;
	struct grove_storage *st = storage_of(w), *bad;
	struct grove_buf b = GROVE_BUF_INIT;
	struct grove_detail d;

	FILE_GOT(NULL, grove_storage_read_text(st, "", &b), GROVE_EINVAL);
	FILE_GOT(NULL, grove_storage_append_text(st, NULL, grove_str("x"), GROVE_SYNC_NONE), GROVE_EINVAL);
	append_file(st, "/w/a.jsonl", "1\n");
	FILE_GOT("/w/a.jsonl", grove_storage_rename(st, "/w/a.jsonl", ""), GROVE_EINVAL);
	grove_storage_close(st);
	GOT(grove_storage_open(w->g, "nosuch:x", &bad), GROVE_EINVAL);
	grove_storage_error(bad, NULL, &d);
	assert_int_equal(d.code, GROVE_EINVAL);
	grove_storage_close(bad);
	grove_storage_close(NULL);
}

#define TEST(f) { #f, f }

static const struct {
	const char *name;
	void (*fn)(void **state);
} cases[] = {
	TEST(what_is_read_is_what_was_appended),
	TEST(what_was_never_written_is_not_found),
	TEST(an_append_of_nothing_makes_nothing),
	TEST(known_ids_are_skipped_and_lines_without_one_are_kept),
	TEST(a_handle_knows_ids_after_the_log_was_rewritten),
	TEST(sub_logs_and_projects_are_apart),
	TEST(removing_takes_sub_logs_and_nothing_else),
	TEST(keys_are_any_text),
	TEST(names_of_any_length_are_told_apart),
	TEST(moving_takes_everything_along),
	TEST(values_stay_with_their_log),
	TEST(comparisons_refuse_what_others_changed),
	TEST(replacing_is_all_or_nothing),
	TEST(a_part_of_the_lines_can_be_read),
	TEST(both_ends_can_be_read),
	TEST(a_title_is_put_into_the_line_that_has_room),
	TEST(a_lock_keeps_other_handles_from_writing),
	TEST(callbacks_can_end_the_work),
	TEST(a_line_of_5_megabytes_and_500_in_a_batch),
	TEST(many_threads_append_to_one_handle),
	TEST(many_threads_append_through_handles_of_their_own),
	TEST(a_second_environment_sees_it),
	TEST(what_was_acknowledged_survives_a_kill),
	TEST(random_calls_agree_with_a_model),
	TEST(a_log_of_an_agent_is_an_ordinary_session),
	TEST(files_may_be_unfinished_or_not_ours),
	TEST(arguments_are_checked),
	TEST(files_are_what_was_written),
	TEST(a_path_is_a_key),
	TEST(other_files_keep_their_bytes),
	TEST(a_file_of_another_size_is_left_alone),
	TEST(a_title_is_in_the_list_and_in_the_first_line),
	TEST(files_move_and_go_with_what_belongs_to_them),
	TEST(a_lock_is_for_other_storages),
	TEST(many_files_are_used_in_turn),
	TEST(a_path_must_not_be_empty),
};

int main(void)
{
	const char *only = getenv("GROVE_TEST_STORE");
	bool server = getenv("GROVE_TEST_MYSQL");
	enum { CASES = sizeof(cases) / sizeof(*cases), KINDS = sizeof(kinds) / sizeof(*kinds) };
	static struct CMUnitTest tests[CASES * KINDS];
	static char name[CASES * KINDS][128];
	size_t nr = 0;

	for (size_t i = 0; i < CASES * KINDS; i++) {
		const struct kind *k = &kinds[i / CASES];

		/* when a server is given, only its store is tested */
		if (only ? strcmp(only, k->name) != 0 : !k->url != server)
			continue;
		snprintf(name[nr], sizeof(name[nr]), "%s: %s", k->name, cases[i % CASES].name);
		tests[nr] = (struct CMUnitTest){ name[nr], cases[i % CASES].fn, setup, teardown,
						 (void *)(uintptr_t)k };
		nr++;
	}
	return _cmocka_run_group_tests("logs", tests, nr, NULL, NULL);
}
