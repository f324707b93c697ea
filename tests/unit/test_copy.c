/*
 * Tests copies between stores: every byte arrives, an interrupted copy can be
 * continued, and no partial session is left behind.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../lib/world.h"

#include "dialect/dialect.h"
#include "image/lines.h"
#include "session/session.h"
#include "store/store.h"
#include "../lib/calls.h"

#define MARK "\xef\xbb\xbf"
#define PROMPT "{\"type\":\"message\",\"message\":{\"role\":\"user\",\"content\":\"hi\"}}"

struct bytes {
	const char *ptr;
	size_t len;
};
#define BYTES(s) { s, sizeof(s) - 1 }

static void put(const char *path, struct bytes b)
{
	file_put(path, O_CREAT | O_TRUNC | O_WRONLY, b.ptr, b.len);
}

static void assert_bytes(const char *path, struct bytes want)
{
	struct grove_buf got = file_bytes(path);

	if (got.len != want.len || (got.len && memcmp(got.ptr, want.ptr, got.len)))
		fail_msg("%s has %zu other bytes, not those %zu", path, got.len, want.len);
	grove__buf_release(&got);
}

static const char *database(const struct world *w, const char *name)
{
	static char url[4][8192];
	static unsigned turn;
	char *u = url[turn++ % 4];

	snprintf(u, sizeof(url[0]), "sqlite:%s/%s.db", w->dir, name);
	return u;
}

static int copy_all(struct world *w, const char *from, const char *to, struct grove_archive_result *r)
{
	memset(r, 0, sizeof(*r));
	r->size = sizeof(*r);
	return grove_store_copy(w->g, from, to, NULL, NULL, r);
}

static int copy_one(struct world *w, const char *what, const char *to)
{
	struct grove_buf id = GROVE_BUF_INIT, path = GROVE_BUF_INIT;
	int rc = grove_copy(w->g, what, to, &id, &path);

	grove_buf_release(&id);
	grove_buf_release(&path);
	return rc;
}

static void every_byte_comes_back(void **state)
{
	static const struct bytes cases[] = {
		BYTES(""),
		BYTES("\n"),
		BYTES("\n\n\n"),
		BYTES("x"),
		BYTES("\r\n"),
		BYTES("\0"),
		BYTES("a\0b\n\0\n"),
		BYTES(HEADER),
		BYTES(BRANCHES),
		BYTES(BRANCHES "{\"type\":\"mess"),
		BYTES(BRANCHES "not JSON\n\n\n  \n[1]\nnull\n"),
		BYTES(MARK BRANCHES),
		BYTES(MARK),
		BYTES("{\"type\":\"session\",\"version\":3,\"id\":\"s1\",\"timestamp\":1,\"cwd\":\"/w\"}"),
		BYTES("{\"uuid\":\"\xff\xfe\"}\n{\"id\":\"\\ud800\",\"type\":\"message\"}\r\n"),
		BYTES("{\"type\":\n\"session\",\n\"version\":3,\"id\":\"s\"}\n{\"type\":\"title\"}"),
	};
	static const char *const dialects[] = { "pi", "omp", "xcsh", "claude" };
	struct world *w = *state;
	struct grove_archive_result r = { .size = sizeof(r) };

	for (size_t d = 0; d < sizeof(dialects) / sizeof(*dialects); d++) {
		struct grove_options o = { .size = sizeof(o), .home = w->home, .cwd = w->cwd,
					   .getenv = no_variables, .dialect = dialects[d] };
		char name[64], back[8192], path[8300];

		grove_close(w->g);
		OK(w, grove_open(&o, &w->g));
		for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
			snprintf(name, sizeof(name), "case-%zu.jsonl", i);
			put(in_world(w, name), cases[i]);
			OK(w, copy_one(w, in_world(w, name), database(w, dialects[d])));
			GOT(w, copy_one(w, in_world(w, name), database(w, dialects[d])), GROVE_EEXIST);
		}
		snprintf(back, sizeof(back), "%s/%s", w->dir, dialects[d]);
		OK(w, copy_all(w, database(w, dialects[d]), back, &r));
		assert_int_equal(r.added, sizeof(cases) / sizeof(*cases));
		for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
			snprintf(path, sizeof(path), "%s/case-%zu.jsonl", back, i);
			assert_bytes(path, cases[i]);
		}
		OK(w, copy_all(w, back, database(w, dialects[d]), &r));
		assert_int_equal(r.unchanged, sizeof(cases) / sizeof(*cases));
	}
}

static void what_a_store_holds_is_counted(void **state)
{
	static const char *const names[] = { "a.jsonl", "b.jsonl", "c.jsonl" };
	struct world *w = *state;
	const char *from = in_world(w, "from");
	struct grove_store_stats *s;
	char path[8300];

	assert_int_equal(mkdir(from, 0700), 0);
	for (size_t i = 0; i < 3; i++) {
		struct bytes all = BYTES(BRANCHES);

		snprintf(path, sizeof(path), "%s/%s", from, names[i]);
		all.len = i == 1 ? all.len : sizeof(HEADER) - 1;
		put(path, all);
	}
	OK(w, grove_store_stats(w->g, from, &s));
	assert_int_equal(s->all.sessions, 3);
	assert_int_equal(s->all.bytes, sizeof(BRANCHES) - 1 + 2 * (sizeof(HEADER) - 1));
	assert_non_null(strstr(s->all.name, "/from"));
	assert_int_equal(s->nr_dialects, 1);
	assert_string_equal(s->dialects[0].name, "pi");
	assert_int_equal(s->dialects[0].entries, s->all.entries);
	assert_int_equal(s->nr_largest, 3);
	assert_int_equal(s->largest[0].bytes, sizeof(BRANCHES) - 1);
	assert_non_null(strstr(s->largest[0].name, "/b.jsonl"));
	grove_store_stats_free(s);
	OK(w, grove_store_stats(w->g, database(w, "none"), &s));
	assert_int_equal(s->all.sessions + s->nr_dialects + s->nr_largest, 0);
	grove_store_stats_free(s);
}

static void any_beginning_is_continued(void **state)
{
	static const char whole[] = HEADER ENTRY("u1", "null", "user", "one") "\r\nx\ny";
	struct world *w = *state;
	struct grove_archive_result r = { .size = sizeof(r) };
	const char *from = in_world(w, "from"), *path;
	char source[8192], there[8300];

	assert_int_equal(mkdir(from, 0700), 0);
	snprintf(source, sizeof(source), "%s/s.jsonl", from);
	for (size_t n = 0; n < sizeof(whole); n++) {
		char to[64];

		path = in_world(w, "back");
		snprintf(to, sizeof(to), "to-%zu", n);
		put(source, (struct bytes){ whole, n });
		OK(w, copy_all(w, from, database(w, to), &r));
		OK(w, copy_all(w, from, in_world(w, to), &r));
		put(source, (struct bytes){ whole, sizeof(whole) - 1 });
		OK(w, copy_all(w, from, database(w, to), &r));
		OK(w, copy_all(w, from, in_world(w, to), &r));
		snprintf(there, sizeof(there), "%s/s.jsonl", in_world(w, to));
		assert_bytes(there, (struct bytes){ whole, sizeof(whole) - 1 });
		/* the source may be behind: nothing is taken away */
		put(source, (struct bytes){ whole, n });
		OK(w, copy_all(w, from, database(w, to), &r));
		assert_int_equal(r.unchanged, 1);
		scratch_remove(path);
		OK(w, copy_all(w, database(w, to), path, &r));
		snprintf(there, sizeof(there), "%s/s.jsonl", path);
		assert_bytes(there, (struct bytes){ whole, sizeof(whole) - 1 });
	}
}

/* A session whose second line is longer than can be held, and where that line begins. */
static struct bytes with_a_long_line(size_t *at)
{
	static char text[sizeof(HEADER BRANCHES) + ((size_t)3 << 20)];
	size_t n = sizeof(HEADER) - 1, end = n + ((size_t)3 << 20);

	memcpy(text, HEADER, n);
	for (size_t i = n; i < end; i++)
		text[i] = (char)('a' + i % 23);
	memcpy(text + n, "{\"x\":\"", 6);
	memcpy(text + end - 3, "\"}\n", 3);
	memcpy(text + end, BRANCHES, sizeof(BRANCHES) - 1);
	*at = n;
	return (struct bytes){ text, end + sizeof(BRANCHES) - 1 };
}

static void a_line_too_long_to_be_held_goes_from_file_to_file(void **state)
{
	struct world *w = *state;
	struct grove_archive_result r = { .size = sizeof(r) };
	uint64_t max = grove__line_max;
	size_t at, n[8];
	struct bytes whole = with_a_long_line(&at);
	char from[8000], source[8192], there[8300], to[64];
	struct grove_detail d;

	grove__line_max = (uint64_t)3 << 19;
	snprintf(from, sizeof(from), "%s/from", w->dir);
	assert_int_equal(mkdir(from, 0700), 0);
	snprintf(source, sizeof(source), "%s/s.jsonl", from);
	memcpy(n, (size_t[]){ 0, at, at + 7, at + (1 << 20), at + (2 << 20), at + (3 << 20) - 1, at + (3 << 20), whole.len },
	       sizeof(n));
	/* as a whole, and on from wherever it was interrupted */
	for (size_t i = 0; i < 8; i++) {
		snprintf(to, sizeof(to), "to-%zu", i);
		put(source, (struct bytes){ whole.ptr, n[i] });
		OK(w, copy_all(w, from, in_world(w, to), &r));
		assert_int_equal(r.failed, 0);
		snprintf(there, sizeof(there), "%s/s.jsonl", in_world(w, to));
		assert_bytes(there, (struct bytes){ whole.ptr, n[i] });
		put(source, whole);
		OK(w, copy_all(w, from, in_world(w, to), &r));
		assert_int_equal(r.failed, 0);
		assert_bytes(there, whole);
		OK(w, copy_all(w, from, in_world(w, to), &r));
		assert_int_equal(r.unchanged, 1);
	}
	/* a byte of it differs: that is another session */
	put(there, (struct bytes){ whole.ptr, at + (2 << 20) });
	file_put(there, O_WRONLY | O_APPEND, "!", 1);
	OK(w, copy_all(w, from, in_world(w, to), &r));
	assert_int_equal(r.failed, 1);

	OK(w, copy_one(w, source, in_world(w, "one")));
	snprintf(there, sizeof(there), "%s/s.jsonl", in_world(w, "one"));
	assert_bytes(there, whole);
	/* a database takes lines as a whole */
	GOT(w, copy_one(w, source, database(w, "db")), GROVE_ETOOBIG);
	grove_error(w->g, &d);
	assert_int_equal(d.line, 2);
	grove__line_max = max;
}

static void what_differs_stays_as_it_is(void **state)
{
	struct world *w = *state;
	struct grove_archive_result r = { .size = sizeof(r) };

	assert_int_equal(mkdir(in_world(w, "a"), 0700), 0);
	assert_int_equal(mkdir(in_world(w, "b"), 0700), 0);
	file_make(in_world(w, "a/s.jsonl"), HEADER ENTRY("u1", "null", "user", "one"));
	file_make(in_world(w, "b/s.jsonl"), HEADER ENTRY("u1", "null", "user", "two"));
	OK(w, copy_all(w, in_world(w, "a"), in_world(w, "b"), &r));
	assert_int_equal(r.failed, 1);
	assert_file(in_world(w, "b/s.jsonl"), HEADER ENTRY("u1", "null", "user", "two"));
}

/* --- failures --- */

static int countdown;

static int fail_later(const char *call)
{
	(void)call;
	return countdown > 0 && !--countdown ? EIO : 0;
}

static void a_copy_that_fails_leaves_nothing(void **state)
{
	struct world *w = *state;
	const char *from = make(w, "s.jsonl", BRANCHES "torn"), *to = in_world(w, "to");
	int rc = -1;

	assert_int_equal(mkdir(in_world(w, "s"), 0700), 0);
	file_make(in_world(w, "s/note.txt"), "a note");
	file_make(in_world(w, "s/sub.jsonl"), "{}\n");
	for (int n = 1; rc && n < 500; n++) {
		countdown = n;
		grove__sys_fault = fail_later;
		rc = copy_one(w, from, to);
		grove__sys_fault = NULL;
		if (rc && is_there(in_world(w, "to/s.jsonl")))
			fail_msg("after call %d failed a file is there", n);
	}
	assert_int_equal(rc, 0);
	assert_file(in_world(w, "to/s.jsonl"), BRANCHES "torn");
	assert_file(in_world(w, "to/s/note.txt"), "a note");
	assert_file(in_world(w, "to/s/sub.jsonl"), "{}\n");
}

static int stop(void *payload, uint64_t done, uint64_t total)
{
	(void)done;
	(void)total;
	return ++*(int *)payload > 2;
}

static void it_can_be_stopped_and_goes_on(void **state)
{
	struct world *w = *state;
	struct grove_archive_result r = { .size = sizeof(r) };
	int calls = 0;
	char name[64];

	assert_int_equal(mkdir(in_world(w, "from"), 0700), 0);
	for (int i = 0; i < 5; i++) {
		snprintf(name, sizeof(name), "from/%d.jsonl", i);
		file_make(in_world(w, name), BRANCHES);
	}
	grove_set_progress(w->g, (struct grove_progress){ stop, &calls });
	GOT(w, copy_all(w, in_world(w, "from"), database(w, "x"), &r), GROVE_ECANCELLED);
	grove_set_progress(w->g, (struct grove_progress){ NULL, NULL });
	OK(w, copy_all(w, in_world(w, "from"), database(w, "x"), &r));
	assert_int_equal(r.sessions, 5);
	assert_int_equal(r.failed, 0);
	OK(w, copy_all(w, database(w, "x"), in_world(w, "back"), &r));
	assert_file(in_world(w, "back/4.jsonl"), BRANCHES);
}

/* --- records --- */

static struct grove_store_record record(struct grove__records *r, const char *line)
{
	static char padded[4096];
	struct grove_store_record rec;

	memset(padded, 0, sizeof(padded));
	memcpy(padded, line, strlen(line));
	assert_int_equal(grove__records_fill(r, (struct grove_slice){ padded, strlen(line) }, &rec), 0);
	return rec;
}

static void records_say_what_the_dialect_finds(void **state)
{
	struct grove__records r;
	struct grove_store_record rec;

	(void)state;
	grove__records_init(&r, &grove__dialect_pi);
	rec = record(&r, MARK "{\"type\":\"session\",\"id\":\"s\",\"timestamp\":\"1970-01-01T00:00:00.005Z\"}");
	assert_int_equal(rec.kind, GROVE_KIND_HEADER);
	assert_int_equal(rec.time, 5);
	assert_int_equal(rec.id.len, 0);
	rec = record(&r, "{\"type\":\"message\",\"id\":\"b\",\"parentId\":\"a\",\"message\":{\"role\":\"user\"}}");
	assert_true(grove__slice_is(rec.id, "b"));
	assert_true(grove__slice_is(rec.parent, "a"));
	assert_int_equal(rec.kind, GROVE_KIND_MESSAGE);
	assert_int_equal(rec.role, GROVE_ROLE_USER);
	assert_int_equal(rec.time, 0);
	rec = record(&r, "{\"type\":\"mess");
	assert_int_equal(rec.kind, 0);
	assert_int_equal(rec.line.len, 13);
	grove__records_release(&r);
	grove__records_init(&r, &grove__dialect_claude);
	rec = record(&r, "{\"type\":\"user\",\"uuid\":\"u\",\"parentUuid\":\"p\",\"message\":{\"role\":\"user\",\"content\":\"x\"}}");
	assert_true(grove__slice_is(rec.id, "u"));
	assert_true(grove__slice_is(rec.parent, "p"));
	grove__records_release(&r);
}

static void files_end_without_a_line_end_when_told_so(void **state)
{
	struct world *w = *state;
	struct grove_key key = { "", "s.jsonl", "" };
	struct grove_store_record rec = { .line = text("a") };
	struct grove_buf got = GROVE_BUF_INIT;
	struct grove_store_appended done;
	struct grove_detail d;
	struct grove_store *st;
	struct grove_store_log *log;

	assert_int_equal(grove__store_open(&st, w->cwd, &d), 0);
	assert_int_equal(grove__log_open(&log, st, &key, GROVE_STORE_CREATE, &d), 0);
	assert_int_equal(grove__log_append(log, &rec, 1, 0, GROVE_SYNC_NONE, &done, &d), 0);
	assert_int_equal(grove__log_meta_get(log, GROVE__META_UNFINISHED, &got, &d), GROVE_ENOTFOUND);
	for (int i = 0; i < 2; i++)
		assert_int_equal(grove__log_meta_put(log, GROVE__META_UNFINISHED, text("1"), &d), 0);
	assert_file(in_world(w, "s.jsonl"), "a");
	assert_int_equal(grove__log_meta_get(log, GROVE__META_UNFINISHED, &got, &d), 0);
	assert_string_equal(got.ptr, "1");
	/* the next line ends it */
	assert_int_equal(grove__log_append(log, &rec, 1, 1, GROVE_SYNC_NONE, &done, &d), 0);
	assert_int_equal(done.pad, 1);
	assert_int_equal(grove__log_meta_put(log, GROVE__META_UNFINISHED, text("1"), &d), 0);
	assert_int_equal(grove__log_meta_put(log, GROVE__META_UNFINISHED, text(""), &d), 0);
	assert_file(in_world(w, "s.jsonl"), "a\na\n");
	grove__log_close(log);
	grove__store_close(st);
	grove__buf_release(&got);
}

static void logs_in_memory_end_without_a_line_end_when_told_so(void **state)
{
	struct grove_key key = { "", "s.jsonl", "" };
	struct grove_store_record rec[2] = { { .line = text("a") }, { .line = text("b") } };
	struct grove_buf got = GROVE_BUF_INIT;
	struct grove_store_log_stat stat;
	struct grove_store_appended done;
	struct grove_store_run run = { 0 };
	struct grove_detail d;
	struct grove_store *st;
	struct grove_store_log *log;
	char buf[16];

	(void)state;
	assert_int_equal(grove__store_open(&st, "memory:", &d), 0);
	assert_int_equal(grove__log_open(&log, st, &key, GROVE_STORE_CREATE, &d), 0);
	assert_int_equal(grove__log_meta_put(log, GROVE__META_UNFINISHED, text("1"), &d), GROVE_EINVAL);
	assert_int_equal(grove__log_append(log, rec, 2, 0, GROVE_SYNC_NONE, &done, &d), 0);
	assert_int_equal(grove__log_meta_put(log, GROVE__META_UNFINISHED, text("1"), &d), 0);
	assert_int_equal(grove__log_meta_get(log, GROVE__META_UNFINISHED, &got, &d), 0);
	assert_string_equal(got.ptr, "1");
	assert_int_equal(grove__log_stat(log, &stat, &d), 0);
	assert_int_equal(stat.bytes, 3);
	assert_int_equal(grove__log_read(log, 0, 2, buf, sizeof(buf), &run, &d), 0);
	assert_int_equal(run.len, 3);
	assert_memory_equal(buf, "a\nb", 3);
	/* the next line ends it, and only a line does */
	assert_int_equal(grove__log_append(log, NULL, 0, 2, GROVE_SYNC_NONE, &done, &d), 0);
	assert_int_equal(done.pad, 0);
	assert_int_equal(grove__log_cut(log, 2, 2, GROVE_SYNC_NONE, &d), 0);
	assert_int_equal(grove__log_append(log, rec, 1, 2, GROVE_SYNC_NONE, &done, &d), 0);
	assert_int_equal(done.pad, 1);
	assert_int_equal(grove__log_meta_get(log, GROVE__META_UNFINISHED, &got, &d), GROVE_ENOTFOUND);
	/* a line that goes takes its end along */
	assert_int_equal(grove__log_meta_put(log, GROVE__META_UNFINISHED, text("1"), &d), 0);
	assert_int_equal(grove__log_cut(log, 2, 3, GROVE_SYNC_NONE, &d), 0);
	assert_int_equal(grove__log_stat(log, &stat, &d), 0);
	assert_int_equal(stat.bytes, 4);
	grove__log_close(log);
	grove__store_close(st);
	grove__buf_release(&got);
}

/* ------------------------------------------------------------------- forks */

/* The source is named by its id. */
static void assert_fork(struct grove_session *s, const char *leaf)
{
	struct grove_fork_options o = { .size = sizeof(o), .leaf = leaf };
	struct grove_buf header = GROVE_BUF_INIT;
	struct grove_session *t;
	struct grove_view *v;
	char want[200];

	assert_int_equal(grove_session_fork(s, &o, &t), 0);
	assert_int_equal(grove_session_view(t, &v), 0);
	assert_int_equal(grove_view_header(v, &header), 0);
	snprintf(want, sizeof(want), "\"parentSession\":\"%s\"", grove_session_id(s));
	assert_non_null(strstr(header.ptr, want));
	assert_int_equal(grove_view_count(v), leaf ? 1 : 2);
	grove_view_unref(v);
	grove_session_close(t);
	grove__buf_release(&header);
}

static void a_fork_without_a_path_is_known_to_its_store(void **state)
{
	struct world *w = *state;
	const char *store = "memory:", *first, *id;
	struct grove_create_options now = { .size = sizeof(now), .flags = GROVE_CREATE_NOW };

	for (int i = 0; i < 3; i++) {
		const char *dialect[] = { "pi", "omp", "xcsh" };
		struct grove_options o = { .size = sizeof(o), .home = w->home, .cwd = w->cwd,
					   .getenv = no_variables, .stores = &store, .nr_stores = 1,
					   .dialect = dialect[i] };
		struct grove_session *s;
		struct grove *g;

		assert_int_equal(grove_open(&o, &g), 0);
		assert_int_equal(grove_session_create(g, &now, &s), 0);
		assert_int_equal(grove_session_append(s, text(PROMPT), NULL, INTO(&first)), 0);
		assert_int_equal(grove_session_append(s, text(PROMPT), NULL, INTO(&id)), 0);
		assert_fork(s, NULL);
		assert_fork(s, first);
		grove_session_close(s);
		grove_close(g);
	}
}

static void assert_agent(struct world *w, const char *store, const char *id, const char *want)
{
	struct grove_options o = { .size = sizeof(o), .home = w->home, .cwd = w->cwd,
				   .getenv = no_variables, .stores = &store, .nr_stores = 1 };
	struct grove_buf value = GROVE_BUF_INIT;
	struct grove_session *s;
	struct grove *g;

	assert_int_equal(grove_open(&o, &g), 0);
	assert_int_equal(grove_session_open(g, id, GROVE_OPEN_READ, &s), 0);
	assert_int_equal(grove_session_value_get(s, "agentId", &value), 0);
	assert_string_equal(value.ptr, want);
	grove_session_close(s);
	grove_close(g);
	grove__buf_release(&value);
}

static void what_a_host_keeps_comes_along(void **state)
{
	struct world *w = *state;
	struct grove_create_options now = { .size = sizeof(now), .flags = GROVE_CREATE_NOW };
	struct grove_archive_result r = { .size = sizeof(r) };
	struct grove_session *s;
	const char *db = database(w, "values");
	char id[100], back[8192];

	assert_int_equal(grove_session_create(w->g, &now, &s), 0);
	snprintf(id, sizeof(id), "%s", grove_session_id(s));
	assert_int_equal(grove_session_append(s, text(PROMPT), NULL, NULL), 0);
	assert_int_equal(grove_session_value_put(s, "agentId", text("agent-7")), 0);
	grove_session_close(s);
	/* from a file to a database, and back to files */
	assert_int_equal(grove_store_init(w->g, db), 0);
	assert_int_equal(copy_one(w, id, db), 0);
	assert_agent(w, db, id, "agent-7");
	snprintf(back, sizeof(back), "file:%s/back", w->dir);
	assert_int_equal(grove_store_init(w->g, back), 0);
	assert_int_equal(copy_all(w, db, back, &r), 0);
	assert_agent(w, back, id, "agent-7");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(every_byte_comes_back),
		WORLD_TEST(any_beginning_is_continued),
		WORLD_TEST(a_line_too_long_to_be_held_goes_from_file_to_file),
		WORLD_TEST(what_differs_stays_as_it_is),
		WORLD_TEST(a_copy_that_fails_leaves_nothing),
		WORLD_TEST(it_can_be_stopped_and_goes_on),
		cmocka_unit_test(records_say_what_the_dialect_finds),
		WORLD_TEST(what_a_store_holds_is_counted),
		WORLD_TEST(files_end_without_a_line_end_when_told_so),
		cmocka_unit_test(logs_in_memory_end_without_a_line_end_when_told_so),
		WORLD_TEST(a_fork_without_a_path_is_known_to_its_store),
		WORLD_TEST(what_a_host_keeps_comes_along),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
