/*
 * tests/unit/test_search_watch.c: a search that is told which sessions have changed
 * finds the same as one that examines all of them.
 */
#include "search_world.h"
#include "sys/remote.h"

static struct grove_search *open_watch(struct grove *g, const struct place *p)
{
	struct grove_search *s;

	g->warn = warned;
	assert_int_equal(grove_search_open(g, GROVE_SEARCH_NO_UPDATE | GROVE_SEARCH_WATCH, &s), 0);
	/* elsewhere everything is examined each time, and found as well */
	if (grove__sys_reports_all(p->store))
		assert_non_null(s->watch);
	return s;
}

static void update_index(const struct place *p)
{
	struct grove_buf b = answer(p, true, 0, "alpha", NULL);

	grove__buf_release(&b);
}

static void assert_watch_same(const struct place *p, struct grove_search *s, const char *query)
{
	struct grove_buf scan = answer(p, false, 0, query, NULL), b = GROVE_BUF_INIT;

	assert_int_equal(grove__buf_add(&b, "", 0), 0);
	assert_int_equal(grove_search_refresh(s), 0);
	assert_int_equal(ask(s, query, NULL, &b), 0);
	if (strcmp(b.ptr, scan.ptr))
		fail_msg("%s: watching finds\n%sbut there is\n%s", query, b.ptr, scan.ptr);
	grove__buf_release(&scan);
	grove__buf_release(&b);
}

static void a_search_that_watches_sees_what_happens(void **state)
{
	struct place *p = *state;
	struct grove *g = open_world(p, true);
	struct grove_search *s = open_watch(g, p);
	char query[200];

	p->c = chance_begin("watch");
	for (int i = 0; i < 200; i++) {
		for (uint32_t n = chance_below(&p->c, 4); n; n--)
			happen(p);
		if (!chance_below(&p->c, 4))
			update_index(p);
		random_query(p, query, sizeof(query));
		assert_watch_same(p, s, query);
	}
	if (grove__sys_reports_all(p->store))
		assert_non_null(s->watch);
	grove_search_close(s);
	grove_close(g);
}

static void put_session(struct place *p, const char *name, const char *text)
{
	char path[1200], bytes[600];
	const char *file = strrchr(name, '/') + 1;
	int n = snprintf(bytes, sizeof(bytes),
			 "{\"type\":\"session\",\"version\":3,\"id\":\"%.*s\",\"timestamp\":\"2026-05-03T09:00:00.000Z\","
			 "\"cwd\":\"/w\"}\n{\"type\":\"message\",\"id\":\"00000001\",\"parentId\":null,"
			 "\"timestamp\":\"2026-05-03T09:00:00.000Z\",\"message\":{\"role\":\"user\",\"content\":\"%s\"}}\n",
			 (int)strcspn(file, "."), file, text);

	snprintf(path, sizeof(path), "%s/%s", p->dir, name);
	file_put(path, O_CREAT | O_TRUNC, bytes, (size_t)n);
}

static void in_dir(struct place *p, int (*call)(const char *, const char *), const char *a, const char *b)
{
	char x[1200], y[1200];

	snprintf(x, sizeof(x), "%s/%s", p->dir, a);
	snprintf(y, sizeof(y), "%s/%s", p->dir, b);
	assert_int_equal(call(x, y), 0);
}

static void make_dir(struct place *p, const char *name)
{
	char path[1200];

	snprintf(path, sizeof(path), "%s/%s", p->dir, name);
	assert_int_equal(mkdir(path, 0700), 0);
}

static void a_watch_notices_what_the_system_does_not_report(void **state)
{
	struct place *p = *state;
	struct grove *g = open_world(p, true);
	struct grove_search *s;
	const void *listed;

	make_dir(p, "s/project");
	make_dir(p, "out");
	make_dir(p, "other");
	put_session(p, "s/project/one.jsonl", "alpha");
	put_session(p, "out/hard.jsonl", "alpha");
	put_session(p, "out/soft.jsonl", "alpha");
	in_dir(p, link, "out/hard.jsonl", "s/project/hard.jsonl");
	in_dir(p, symlink, "out/soft.jsonl", "s/project/soft.jsonl");
	put_session(p, "out/in-link.jsonl", "alpha");
	put_session(p, "other/in-link.jsonl", "gamma");
	in_dir(p, symlink, "out", "s/link");
	s = open_watch(g, p);
	assert_watch_same(p, s, "alpha");
	/* by other names */
	put_session(p, "out/hard.jsonl", "delta");
	assert_watch_same(p, s, "delta");
	put_session(p, "out/soft.jsonl", "betamax");
	assert_watch_same(p, s, "betamax");
	put_session(p, "out/in-link.jsonl", "naive");
	assert_watch_same(p, s, "naive");
	/* the link leads elsewhere */
	in_dir(p, symlink, "other", "new-link");
	in_dir(p, rename, "new-link", "s/link");
	assert_watch_same(p, s, "gamma");
	assert_watch_same(p, s, "naive");
	/* directories */
	make_dir(p, "s/second");
	put_session(p, "s/second/two.jsonl", "retry");
	assert_watch_same(p, s, "retry");
	make_dir(p, "s/second/two");
	make_dir(p, "s/second/two/subagents");
	put_session(p, "s/second/two/subagents/agent-1.jsonl", "happy");
	assert_watch_same(p, s, "happy");
	put_session(p, "s/second/two/subagents/agent-2.jsonl", "happy");
	assert_watch_same(p, s, "happy");
	in_dir(p, rename, "s/second", "s/third");
	assert_watch_same(p, s, "retry");
	put_session(p, "s/third/two.jsonl", "running");
	assert_watch_same(p, s, "running");
	/* another one in the place of the store */
	in_dir(p, rename, "s", "s-before");
	assert_watch_same(p, s, "alpha");
	make_dir(p, "s");
	put_session(p, "s/new.jsonl", "alpha");
	assert_watch_same(p, s, "alpha");
	/* what is known is not listed again */
	listed = s->sweep.logs;
	put_session(p, "s/new.jsonl", "delta alpha");
	assert_watch_same(p, s, "delta");
	if (s->watch)
		assert_ptr_equal(s->sweep.logs, listed);
	grove_search_close(s);
	grove_close(g);
}

static void copy_to_other(struct place *p, struct grove *g, const char *name)
{
	struct grove_buf id = GROVE_BUF_INIT, path = GROVE_BUF_INIT;
	char from[1200];

	snprintf(from, sizeof(from), "%s/%s", p->dir, name);
	assert_int_equal(grove_copy(g, from, p->other, &id, &path), 0);
	grove_buf_release(&id);
	grove_buf_release(&path);
}

static void append_to(struct grove *g, const char *what, const char *message)
{
	struct grove_session *session;

	assert_int_equal(grove_session_open(g, what, GROVE_OPEN_WRITE, &session), 0);
	assert_int_equal(grove_session_append(session, grove__slice_str(message), NULL, NULL), 0);
	grove_session_close(session);
}

static void a_watch_asks_databases_what_changed(void **state)
{
	struct place *p = *state;
	struct grove_search *s;
	const void *listed;
	struct grove *g, *writer;

	snprintf(p->other, sizeof(p->other), "sqlite:%s/other.db", p->dir);
	make_dir(p, "out");
	put_session(p, "out/one.jsonl", "alpha");
	put_session(p, "s/two.jsonl", "alpha");
	g = open_world(p, true);
	writer = open_world(p, false);
	copy_to_other(p, writer, "out/one.jsonl");
	update_index(p);
	s = open_watch(g, p);
	assert_watch_same(p, s, "alpha");
	/* neither what is unchanged nor what was appended makes it list everything */
	listed = s->sweep.logs;
	assert_watch_same(p, s, "alpha");
	append_to(writer, "one", "{\"role\":\"user\",\"content\":\"alpha betamax\"}");
	assert_watch_same(p, s, "betamax");
	put_session(p, "s/two.jsonl", "alpha gamma");
	assert_watch_same(p, s, "gamma");
	update_index(p);
	assert_watch_same(p, s, "alpha");
	if (s->watch)
		assert_ptr_equal(s->sweep.logs, listed);
	/* sessions come, go, and come again with as many lines */
	put_session(p, "out/three.jsonl", "delta");
	copy_to_other(p, writer, "out/three.jsonl");
	assert_watch_same(p, s, "delta");
	update_index(p);
	assert_int_equal(grove_remove(writer, "three", GROVE_REMOVE_NO_TRASH), 0);
	assert_watch_same(p, s, "delta");
	put_session(p, "out/three.jsonl", "naive");
	copy_to_other(p, writer, "out/three.jsonl");
	assert_watch_same(p, s, "naive");
	assert_watch_same(p, s, "delta");
	grove_search_close(s);
	grove_close(writer);
	grove_close(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_search_that_watches_sees_what_happens, setup, teardown),
		cmocka_unit_test_setup_teardown(a_watch_notices_what_the_system_does_not_report, setup, teardown),
		cmocka_unit_test_setup_teardown(a_watch_asks_databases_what_changed, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
