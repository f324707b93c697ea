/*
 * tests/unit/test_catalog.c: a list is the same with a catalog and without one.
 *
 * The tests change random sessions of all dialects at random, damage the
 * catalog in every way, and run several processes at once. They control the
 * clock (the linker redirects grove__sys_now_ms() to this file), so they need
 * not wait until files are old enough.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../lib/chance.h"
#include "../lib/world.h"
#include "digest/catalog.h"
#include "image/image.h"
#include "store/store.h"

/* --------------------------------------------------------------- the clock */

#define HOUR 3600000

static int64_t skew;             /* how many ms the clock is ahead; see set_up() */
static int64_t stopped;          /* a time at which the clock stands still; 0: it moves */

int64_t __wrap_grove__sys_now_ms(void);

int64_t __wrap_grove__sys_now_ms(void)
{
	struct timespec t;

	if (stopped)
		return stopped;
	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000 + skew;
}

/* Waits until what is written from now on has another time than what was written before. */
static void next_tick(const struct world *w)
{
	char path[4200];
	struct stat a, b;

	snprintf(path, sizeof(path), "%s/tick", w->dir);
	file_make(path, "");
	assert_int_equal(stat(path, &a), 0);
	do {
		file_make(path, "x");
		assert_int_equal(stat(path, &b), 0);
	} while (a.st_ctim.tv_sec == b.st_ctim.tv_sec && a.st_ctim.tv_nsec == b.st_ctim.tv_nsec);
}

/* ----------------------------------------------------------------- listing */

static unsigned opened;          /* logs that the present list or sum has opened */
static uint64_t weighed;         /* how many of their bytes were read */
static uint64_t read_from;       /* where the last reading began */
static pthread_mutex_t trace_lock = PTHREAD_MUTEX_INITIALIZER;

static void trace(void *payload, const char *line)
{
	const char *op = strchr(line, '.'), *at = strstr(line, "pos="), *len = strstr(line, "len=");

	(void)payload;
	pthread_mutex_lock(&trace_lock);
	opened += op && !strncmp(op, ".open ", 6);
	if (op && len && (!strncmp(op, ".read ", 6) || !strncmp(op, ".fetch ", 7)))
		weighed += strtoull(len + 4, NULL, 10);
	if (op && !strncmp(op, ".read ", 6) && at)
		read_from = strtoull(at + 4, NULL, 10);
	pthread_mutex_unlock(&trace_lock);
}

static const char *cache_of(const struct world *w)
{
	static char dir[4200];

	snprintf(dir, sizeof(dir), "%s/cache", w->dir);
	return dir;
}

static const char *db_of(const struct world *w)
{
	static char path[4300];

	snprintf(path, sizeof(path), "%s/catalog.db", cache_of(w));
	return path;
}

static const char *only;         /* the directory that is listed; NULL: all */
static const char *database;     /* lists this store; NULL: what is found in the home directory */

/* Returns the whole list as JSON; `cache` "": without a cache. */
static struct grove_buf list_as(const struct world *w, const char *cache, const char *dialect, int shape)
{
	struct grove_options o = { .size = sizeof(o), .home = w->home, .cwd = w->cwd, .dialect = dialect,
				   .getenv = no_variables, .cache = cache, .trace = trace,
				   .stores = database ? &database : NULL, .nr_stores = database ? 1 : 0 };
	struct grove_list_options lo = { .size = sizeof(lo), .cwd = only,
					.flags = (only ? 0 : GROVE_LIST_ALL) | (shape ? GROVE_LIST_SHAPE : 0) };
	struct grove_buf b = GROVE_BUF_INIT;
	struct grove_list *l;
	struct grove *g;

	opened = 0;
	weighed = read_from = 0;
	assert_int_equal(grove_open(&o, &g), 0);
	assert_int_equal(grove_list(g, &lo, &l), 0);
	for (size_t i = 0; i < grove_list_count(l); i++) {
		assert_int_equal(grove_list_item_json(grove_list_at(l, i), &b), 0);
		assert_int_equal(grove__buf_add_char(&b, '\n'), 0);
	}
	grove_list_free(l);
	grove_close(g);
	return b;
}

static bool same(const struct grove_buf *a, const struct grove_buf *b)
{
	return a->len == b->len && (!a->len || !memcmp(a->ptr, b->ptr, a->len));
}

/* Asserts the same list with and without the catalog; returns how many logs the former opened. */
static unsigned assert_same_as(const struct world *w, const char *dialect, int shape, const char *when)
{
	struct grove_buf with = list_as(w, cache_of(w), dialect, shape);
	unsigned nr = opened;
	uint64_t from = read_from;
	struct grove_buf without = list_as(w, "", dialect, shape);

	if (!same(&with, &without))
		fail_msg("%s: with the catalog:\n%s\nwithout:\n%s", when, with.ptr ? with.ptr : "",
			 without.ptr ? without.ptr : "");
	grove__buf_release(&with);
	grove__buf_release(&without);
	read_from = from;
	return nr;
}

/* Whatever the test before has left, all files seem to have been unchanged for a long time. */
static int set_up(void **state)
{
	skew = HOUR;
	stopped = 0;
	only = database = NULL;
	return world_setup(state);
}

#define CATALOG_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, world_teardown)

static unsigned assert_same(const struct world *w, const char *when)
{
	return assert_same_as(w, NULL, 0, when);
}

/* The same of what was billed. */
static struct grove_buf usage_as(const struct world *w, const char *cache)
{
	struct grove_options o = { .size = sizeof(o), .home = w->home, .cwd = w->cwd, .getenv = no_variables,
				   .cache = cache, .trace = trace, .stores = database ? &database : NULL,
				   .nr_stores = database ? 1 : 0 };
	struct grove_usage_options uo = { .size = sizeof(uo), .by = GROVE_USAGE_SESSION };
	struct grove_buf b = GROVE_BUF_INIT;
	struct grove_usage *u;
	struct grove *g;

	opened = 0;
	weighed = 0;
	assert_int_equal(grove_open(&o, &g), 0);
	assert_int_equal(grove_usage(g, &uo, &u), 0);
	assert_int_equal(grove_usage_json(u, &b), 0);
	grove_usage_free(u);
	grove_close(g);
	return b;
}

static unsigned assert_same_usage(const struct world *w, const char *when)
{
	struct grove_buf with = usage_as(w, cache_of(w));
	unsigned nr = opened;
	struct grove_buf without = usage_as(w, "");

	if (!same(&with, &without))
		fail_msg("%s: with the catalog:\n%s\nwithout:\n%s", when, with.ptr, without.ptr);
	grove__buf_release(&with);
	grove__buf_release(&without);
	return nr;
}

/* ------------------------------------------------------------------ a world */

enum kind { PI, OMP, XCSH, CLAUDE, KINDS };

static const char *const dirs[KINDS] = {
	".pi/agent/sessions/--w--", ".omp/agent/sessions/-w", ".xcsh/agent/sessions/--w--",
	".claude/projects/-w",
};

static void make_dirs(const struct world *w)
{
	for (unsigned i = 0; i < KINDS; i++) {
		char path[4300];

		snprintf(path, sizeof(path), "%s/%s", w->home, dirs[i]);
		assert_int_equal(grove__sys_mkdirs(path, 0700), 0);
	}
}

static const char *file_of(const struct world *w, enum kind kind, unsigned nr)
{
	static char path[8][4400];
	static unsigned turn;
	char *p = path[turn++ % 8];

	if (kind == CLAUDE)
		snprintf(p, sizeof(path[0]), "%s/%s/ee%06x-1111-4111-8111-111111111111.jsonl", w->home,
			 dirs[kind], nr);
	else
		snprintf(p, sizeof(path[0]), "%s/%s/2026-01-01T00-00-00-000Z_s%u.jsonl", w->home, dirs[kind], nr);
	return p;
}

static int add_header(struct grove_buf *b, struct chance *c, enum kind kind, unsigned nr)
{
	if (kind == CLAUDE)
		return 0;
	if (kind != PI && !chance_below(c, 3))
		assert_int_equal(grove__buf_addf(b, "{\"type\":\"title\",\"v\":1,\"title\":\"slot %u\",\"source\":\"user\","
						 "\"updatedAt\":\"2026-01-01T00:00:00.000Z\",\"pad\":\"      \"}\n",
						 chance_below(c, 100)), 0);
	return grove__buf_addf(b, "{\"type\":\"session\",\"version\":3,\"id\":\"s%u\",\"timestamp\":"
			       "\"2026-01-01T00:00:%02u.000Z\",\"cwd\":\"/w/%u\"%s}\n",
			       nr, chance_below(c, 60), chance_below(c, 3),
			       chance_below(c, 2) && kind != PI ? ",\"title\":\"by header\"" : "");
}

static int add_claude_line(struct grove_buf *b, struct chance *c, unsigned nr, unsigned i)
{
	switch (chance_below(c, 8)) {
	case 0:
		return grove__buf_addf(b, "{\"type\":\"custom-title\",\"customTitle\":\"T%u\",\"sessionId\":"
				       "\"ee%06x-1111-4111-8111-111111111111\"}\n", chance_below(c, 100), nr);
	case 1:
		return grove__buf_addf(b, "{\"type\":\"ai-title\",\"aiTitle\":\"A%u\",\"sessionId\":"
				       "\"ee%06x-1111-4111-8111-111111111111\"}\n", chance_below(c, 100), nr);
	case 2:
		return grove__buf_add_str(b, "no json\n");
	default:
		return grove__buf_addf(b, "{\"parentUuid\":%s,\"isSidechain\":false,\"cwd\":\"/w\",\"sessionId\":"
				       "\"ee%06x-1111-4111-8111-111111111111\",\"type\":\"%s\",\"message\":"
				       "{\"role\":\"%s\",\"content\":\"words %u\"},\"uuid\":\"ee%06x-0000-4000-8000-"
				       "%012u\",\"timestamp\":\"2026-10-01T10:00:%02u.000Z\"}\n",
				       "null", nr, i % 2 ? "assistant" : "user", i % 2 ? "assistant" : "user",
				       chance_below(c, 1000), nr, i, i % 60);
	}
}

static int add_line(struct grove_buf *b, struct chance *c, enum kind kind, unsigned nr, unsigned i)
{
	if (kind == CLAUDE)
		return add_claude_line(b, c, nr, i);
	switch (chance_below(c, 8)) {
	case 0:
		return grove__buf_addf(b, "{\"type\":\"session_info\",\"id\":\"n%06u\",\"parentId\":null,\"timestamp\":"
				       "\"2026-01-01T00:00:01.000Z\",\"name\":\"name %u\"}\n", i, chance_below(c, 100));
	case 1:
		return grove__buf_add_str(b, "no json\n");
	case 2:
		return grove__buf_addf(b, "{\"type\":\"compaction\",\"id\":\"c%06u\",\"parentId\":null,\"timestamp\":"
				       "\"2026-01-01T00:00:01.000Z\",\"summary\":\"s\",\"firstKeptEntryId\":\"x\","
				       "\"tokensBefore\":1}\n", i);
	default:
		return grove__buf_addf(b, "{\"type\":\"message\",\"id\":\"m%06u\",\"parentId\":\"m%06u\",\"timestamp\":"
				       "\"2026-01-01T00:%02u:01.000Z\",\"message\":{\"role\":\"%s\",\"content\":\"words %u\","
				       "\"timestamp\":%u}}\n", i, chance_below(c, i + 1), chance_below(c, 60),
				       i % 2 ? "assistant" : "user", chance_below(c, 1000),
				       1700000000 + chance_below(c, 100000));
	}
}

/* A reply that cost something. */
static int add_reply(struct grove_buf *b, struct chance *c, enum kind kind, unsigned i)
{
	if (kind == CLAUDE)
		return grove__buf_addf(b, "{\"type\":\"assistant\",\"uuid\":\"eeff%04x-0000-4000-8000-000000000000\",\"parentUuid\":"
				       "null,\"sessionId\":\"s\",\"timestamp\":\"2026-10-01T10:00:%02u.000Z\",\"requestId\":\"r%u\","
				       "\"message\":{\"id\":\"m%u\",\"role\":\"assistant\",\"model\":\"m%u\",\"content\":[],"
				       "\"usage\":{\"input_tokens\":%u,\"output_tokens\":1}}}\n",
				       i, i % 60, i, i, chance_below(c, 3), chance_below(c, 1000));
	return grove__buf_addf(b, "{\"type\":\"message\",\"id\":\"r%06u\",\"parentId\":null,\"timestamp\":"
			       "\"2026-01-01T00:00:%02u.000Z\",\"message\":{\"role\":\"assistant\",\"model\":\"m%u\",\"content\":[],"
			       "\"usage\":{\"input\":%u,\"output\":1,\"cacheRead\":0,\"cacheWrite\":0},\"timestamp\":%u}}\n",
			       i, i % 60, chance_below(c, 3), chance_below(c, 1000), 1700000000 + i);
}

/* An entry of a tree as it should be; now and then one that is not. */
static int add_step(struct grove_buf *b, struct chance *c, unsigned i)
{
	unsigned odd = chance_below(c, 60), parent = odd == 1 ? 999 : i ? chance_below(c, i) : 0;
	char above[24] = "null";

	if (odd == 2)
		return grove__buf_addf(b, "{\"type\":\"label\",\"id\":\"l%06u\",\"parentId\":null,\"timestamp\":"
				       "\"2026-01-01T00:00:01.000Z\",\"targetId\":\"g000000\",\"label\":\"one\"}\n", i);
	if (i && chance_below(c, 8))
		snprintf(above, sizeof(above), "\"g%06u\"", chance_below(c, 3) ? i - 1 : parent);
	return grove__buf_addf(b, "{\"type\":\"%s\",\"id\":\"g%06u\",\"parentId\":%s,\"timestamp\":"
			       "\"2026-01-01T00:00:01.000Z\",\"summary\":\"s\",\"message\":{\"role\":\"user\",\"content\":"
			       "\"words\",\"timestamp\":1700000000}}\n", chance_below(c, 9) ? "message" : "compaction",
			       odd ? i : 0, above);
}

static struct grove_buf content(struct chance *c, enum kind kind, unsigned nr)
{
	struct grove_buf b = GROVE_BUF_INIT;
	unsigned lines = chance_below(c, 12);
	bool steps = kind != CLAUDE && chance_below(c, 2);

	/* some are no sessions */
	if (chance_below(c, 10))
		assert_int_equal(add_header(&b, c, kind, nr), 0);
	for (unsigned i = 0; i < lines; i++)
		assert_int_equal(steps ? add_step(&b, c, i)
				       : chance_below(c, 3) ? add_line(&b, c, kind, nr, i) : add_reply(&b, c, kind, i), 0);
	if (!chance_below(c, 8))
		assert_int_equal(grove__buf_add_str(&b, "{\"half"), 0);
	return b;
}

static void write_file(const char *path, const struct grove_buf *b)
{
	file_put(path, O_CREAT | O_TRUNC, b->ptr ? b->ptr : "", b->len);
}

static void set_mtime(const char *path, struct timespec t)
{
	struct timespec both[2] = { t, t };

	assert_int_equal(utimensat(AT_FDCWD, path, both, 0), 0);
}

/* Other bytes, as many, with the same time; in the same file, or (`anew`) in another. */
static void replace_alike(const struct world *w, struct chance *c, const char *path, bool anew)
{
	struct grove_buf b = file_bytes(path);
	char temp[4300];
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	for (size_t i = 0; i < b.len; i++)
		if (b.ptr[i] >= '0' && b.ptr[i] <= '9' && !chance_below(c, 4))
			b.ptr[i] = '0' + (char)chance_below(c, 10);
	snprintf(temp, sizeof(temp), "%s/other", w->dir);
	write_file(anew ? temp : path, &b);
	if (anew)
		assert_int_equal(rename(temp, path), 0);
	set_mtime(path, st.st_mtim);
	grove__buf_release(&b);
}

static void change_title_beside(const char *path, struct chance *c)
{
	char dir[4500], text[64];
	size_t n = strlen(path) - strlen(".jsonl");

	snprintf(dir, sizeof(dir), "%.*s", (int)n, path);
	mkdir(dir, 0700);
	snprintf(dir + n, sizeof(dir) - n, "/custom-title.json");
	snprintf(text, sizeof(text), "{\"customTitle\":\"beside %u\"}", chance_below(c, 10));
	if (chance_below(c, 3))
		file_make(dir, text);
	else
		unlink(dir);
}

static void change(const struct world *w, struct chance *c, unsigned files)
{
	enum kind kind = chance_below(c, KINDS);
	unsigned nr = chance_below(c, files);
	const char *path = file_of(w, kind, nr), *other = file_of(w, kind, chance_below(c, files));
	struct grove_buf b = GROVE_BUF_INIT;

	if (!is_there(path)) {
		b = content(c, kind, nr);
		write_file(path, &b);
		grove__buf_release(&b);
		return;
	}
	switch (chance_below(c, 9)) {
	case 0:
		b = content(c, kind, nr);
		write_file(path, &b);
		break;
	case 1:
		unlink(path);
		break;
	case 2:
		assert_int_equal(rename(path, other), 0);
		break;
	case 3:
		replace_alike(w, c, path, false);
		break;
	case 4:
		replace_alike(w, c, path, true);
		break;
	case 5:
		set_mtime(path, (struct timespec){ 1600000000 + chance_below(c, 1000), 5 });
		break;
	case 6:
		if (kind == CLAUDE)
			change_title_beside(path, c);
		break;
	default:
		assert_int_equal((chance_below(c, 2) ? add_line(&b, c, kind, nr, 100 + chance_below(c, 1000))
						     : add_reply(&b, c, kind, chance_below(c, 1000))), 0);
		file_put(path, O_APPEND, b.ptr, b.len);
	}
	grove__buf_release(&b);
}

/* ------------------------------------------------------------------- changes */

static void a_random_world_is_listed_the_same(void **state)
{
	struct world *w = *state;
	struct chance c = chance_begin("a_random_world_is_listed_the_same");

	make_dirs(w);
	for (unsigned turn = 0; turn < 150; turn++) {
		unsigned nr = chance_below(&c, 6);
		char when[64];

		for (unsigned i = 0; i < nr; i++)
			change(w, &c, 4);
		/* clocks go back, too */
		skew = chance_below(&c, 8) ? HOUR : -HOUR;
		snprintf(when, sizeof(when), "turn %u", turn);
		/* before all are looked at: of other directories' sessions less is */
		only = chance_below(&c, 2) ? "/w" : "/w/1";
		assert_same_as(w, NULL, 0, when);
		only = NULL;
		/* whichever comes first reads for the others */
		if (chance_below(&c, 2))
			assert_same_usage(w, when);
		assert_same_as(w, NULL, (int)chance_below(&c, 2), when);
		assert_same_usage(w, when);
		next_tick(w);
		assert_same_as(w, NULL, (int)chance_below(&c, 2), when);
		assert_same_usage(w, when);
		if (!chance_below(&c, 6))
			assert_same_as(w, chance_below(&c, 2) ? "xcsh" : "claude", 0, when);
	}
	skew = HOUR;
}

static const char *make_one(struct world *w)
{
	const char *path = file_of(w, PI, 1);

	make_dirs(w);
	file_make(path, BRANCHES);
	return path;
}

static void what_is_known_is_not_read_again(void **state)
{
	struct world *w = *state;

	make_one(w);
	file_make(file_of(w, CLAUDE, 1), "{\"type\":\"user\",\"uuid\":\"u\",\"parentUuid\":null,\"sessionId\":\"s\","
		  "\"cwd\":\"/w\",\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"message\":{\"role\":\"user\",\"content\":\"hi\"}}\n");
	file_make(file_of(w, PI, 2), "garbage\n");
	assert_true(assert_same_as(w, NULL, 1, "cold") > 0);
	assert_int_equal(assert_same_as(w, NULL, 1, "warm"), 0);
	assert_int_equal(assert_same(w, "warm, without shapes"), 0);
}

static void what_changes_now_is_not_remembered(void **state)
{
	struct world *w = *state;
	struct stat st;

	assert_int_equal(stat(make_one(w), &st), 0);
	stopped = (int64_t)st.st_ctim.tv_sec * 1000 + st.st_ctim.tv_nsec / 1000000;
	assert_true(assert_same(w, "cold") > 0);
	assert_true(assert_same(w, "again") > 0);
	/* from the future: nobody knows what the next change will look like */
	stopped -= HOUR;
	assert_true(assert_same(w, "a clock that went back") > 0);
	assert_true(assert_same(w, "again") > 0);
	stopped = 0;
	assert_true(assert_same(w, "settled") > 0);
	assert_int_equal(assert_same(w, "known"), 0);
}

static void a_dialect_that_is_forced_is_not_what_was_known(void **state)
{
	struct world *w = *state;
	char both[4500];

	make_one(w);
	snprintf(both, sizeof(both), "%s/%s/ee000001-1111-4111-8111-111111111111.jsonl", w->home, dirs[PI]);
	file_make(file_of(w, PI, 2), "{\"type\":\"user\",\"uuid\":\"u\",\"parentUuid\":null,\"sessionId\":\"s\","
		  "\"cwd\":\"/w\",\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"message\":{\"role\":\"user\",\"content\":\"hi\"}}\n");
	/* a session by the rules of both, of another shape in each */
	file_make(file_of(w, PI, 3), HEADER ENTRY("a", "null", "user", "one") ENTRY("b", "\"a\"", "user", "two")
		  "{\"type\":\"user\",\"uuid\":\"u\",\"parentUuid\":null,\"sessionId\":\"s\",\"cwd\":\"/w\",\"timestamp\":"
		  "\"2026-01-01T00:00:00.000Z\",\"message\":{\"role\":\"user\",\"content\":\"hi\"}}\n");
	assert_int_equal(rename(file_of(w, PI, 3), both), 0);
	for (int i = 0; i < 2; i++) {
		assert_same_as(w, NULL, 1, "as it is");
		assert_same_as(w, "claude", 1, "claude");
		assert_same_as(w, "xcsh", 1, "xcsh");
	}
}

/* ---------------------------------------------------------------- databases */

static void append_lines(struct grove_store_log *log, const struct grove_buf *b)
{
	struct grove_detail d;

	for (size_t at = 0, n; at < b->len; at += n + 1) {
		struct grove_store_record r = { .time = GROVE_NO_TIME };
		struct grove_store_appended done;

		n = (size_t)((char *)memchr(b->ptr + at, '\n', b->len - at) - (b->ptr + at));
		r.line = grove__slice(b->ptr + at, n);
		assert_int_equal(grove__log_append(log, &r, 1, GROVE_NO_SEQ, GROVE_SYNC_NONE, &done, &d), 0);
	}
}

/* Changes a session of the database, in one of the ways that are there. */
static void change_in_database(struct grove_store *st, struct chance *c)
{
	enum kind kind = chance_below(c, KINDS);
	unsigned nr = chance_below(c, 4), what = chance_below(c, 10);
	struct grove_key key = { kind == CLAUDE ? "-w" : "--w--", NULL, "" };
	struct grove_buf b = GROVE_BUF_INIT;
	struct grove_store_log *log;
	struct grove_detail d;
	char name[100], title[60];
	int rc;

	snprintf(name, sizeof(name), kind == CLAUDE ? "ee%06x-1111-4111-8111-111111111111.jsonl"
						    : "2026-01-01T00-00-00-000Z_s%u.jsonl", nr);
	key.session = name;
	rc = what < 2 ? grove__store_remove(st, &key, &d) : 0;
	assert_true(!rc || rc == GROVE_ENOTFOUND);
	rc = grove__log_open(&log, st, &key, GROVE_STORE_WRITE, &d);
	if (rc == GROVE_ENOTFOUND) {
		assert_int_equal(add_header(&b, c, kind, nr), 0);
		assert_int_equal(add_line(&b, c, kind, nr, 1), 0);
		assert_int_equal(grove__log_open(&log, st, &key, GROVE_STORE_CREATE, &d), 0);
		append_lines(log, &b);
		/* a copy has the time of what it was copied from */
		if (chance_below(c, 2))
			grove__time_keep(log, INT64_C(1700000000) * 1000000000 + chance_below(c, 1000000));
	} else if (what == 2 && kind == CLAUDE) {
		snprintf(title, sizeof(title), "{\"customTitle\":\"beside %u\"}", chance_below(c, 10));
		assert_int_equal(grove__store_attach_put(st, &key, "custom-title.json", grove__slice_str(title), &d), 0);
	} else if (what == 3) {
		struct grove_store_log_stat now;

		assert_int_equal(grove__log_stat(log, &now, &d), 0);
		if (now.tail)
			assert_int_equal(grove__log_cut(log, now.tail - 1, now.tail, GROVE_SYNC_NONE, &d), 0);
	} else if (what == 4) {
		static const char *const names[] = { "pi", "omp", "xcsh", "claude" };

		assert_int_equal(grove__log_meta_put(log, "dialect", grove__slice_str(names[chance_below(c, KINDS)]), &d), 0);
	} else if (what == 5) {
		grove__time_keep(log, INT64_C(1700000000) * 1000000000 + chance_below(c, 1000000));
	} else {
		unsigned i = 100 + chance_below(c, 1000);

		assert_int_equal(chance_below(c, 2) ? add_reply(&b, c, kind, i) : add_line(&b, c, kind, nr, i), 0);
		append_lines(log, &b);
	}
	grove__log_close(log);
	grove__buf_release(&b);
}

static void a_random_database_is_listed_the_same(void **state)
{
	struct world *w = *state;
	struct chance c = chance_begin("a_random_database_is_listed_the_same");
	struct grove_store *st;
	struct grove_detail d;
	unsigned unread = 0;
	char url[4300];

	snprintf(url, sizeof(url), "sqlite:%s/sessions.db", w->dir);
	assert_int_equal(grove__store_init(NULL, url, &d), 0);
	assert_int_equal(grove__store_open(&st, url, &d), 0);
	database = url;
	for (unsigned turn = 0; turn < 120; turn++) {
		unsigned nr = chance_below(&c, 4);
		char when[64];

		skew = 0;
		for (unsigned i = 0; i < nr; i++)
			change_in_database(st, &c);
		/* sometimes before it counts as settled */
		skew = chance_below(&c, 4) ? HOUR : 0;
		snprintf(when, sizeof(when), "turn %u", turn);
		only = chance_below(&c, 2) ? "/w" : "/w/1";
		assert_same_as(w, NULL, 0, when);
		only = NULL;
		assert_same_as(w, NULL, (int)chance_below(&c, 2), when);
		assert_same_usage(w, when);
		skew = HOUR;
		assert_same(w, when);
		unread += !assert_same(w, when);
		assert_same_usage(w, when);
		assert_int_equal(assert_same_usage(w, when), 0);
	}
	assert_true(unread > 3);
	grove__store_close(st);
}

/* ------------------------------------------------------------------ growing */

#define BIG ((size_t)3 << 20)

/* A line that is not JSON makes readers of some dialects lenient, and these read everything. */
static void add_json_line(struct grove_buf *b, struct chance *c, enum kind kind, unsigned i)
{
	size_t len = b->len;

	do {
		grove__buf_cut(b, len);
		assert_int_equal(add_line(b, c, kind, 1, i), 0);
	} while (b->ptr[len] != '{');
}

static const char *make_big(struct world *w, enum kind kind, uint64_t seed)
{
	struct chance c = { seed };
	struct grove_buf b = GROVE_BUF_INIT;
	const char *path = file_of(w, kind, 1);

	make_dirs(w);
	assert_int_equal(add_header(&b, &c, kind, 1), 0);
	for (unsigned i = 0; b.len < BIG; i++)
		add_json_line(&b, &c, kind, i);
	write_file(path, &b);
	grove__buf_release(&b);
	return path;
}

/* Lines are appended, and only they are read. */
static void grow(struct world *w, const char *path, enum kind kind, struct chance *c)
{
	next_tick(w);
	assert_same(w, "cold");
	for (unsigned i = 0; i < 8; i++) {
		struct grove_buf b = GROVE_BUF_INIT;
		struct stat st;

		assert_int_equal(stat(path, &st), 0);
		add_json_line(&b, c, kind, 1000000 + i);
		file_put(path, O_APPEND, b.ptr, b.len);
		assert_int_equal(assert_same(w, "grown"), 1);
		assert_int_equal(read_from, st.st_size);
		grove__buf_release(&b);
	}
}

static void a_file_that_grew_is_read_on_from_where_it_ended(void **state)
{
	struct world *w = *state;

	for (enum kind kind = PI; kind < CLAUDE; kind++)
		for (uint64_t seed = 1; seed < 7; seed++) {
			struct chance c = { seed };
			const char *path = make_big(w, kind, seed);

			grow(w, path, kind, &c);
			unlink(path);
		}
}

/* Without a message, the header tells when it was modified, or (it has no time) the file. */
static void a_file_without_messages_grows_as_well(void **state)
{
	static const char *const times[] = { "\"2026-01-01T00:00:00.000Z\"", "\"never\"", "null", "5" };
	struct world *w = *state;
	const char *path = file_of(w, PI, 1);

	make_dirs(w);
	for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++) {
		struct grove_buf b = GROVE_BUF_INIT;

		assert_int_equal(grove__buf_addf(&b, "{\"type\":\"session\",\"version\":3,\"id\":\"s1\",\"timestamp\":%s}\n",
						 times[i]), 0);
		while (b.len < BIG)
			assert_int_equal(grove__buf_add_str(&b, "{\"type\":\"custom\",\"id\":\"c\",\"parentId\":null}\n"), 0);
		write_file(path, &b);
		assert_same(w, times[i]);
		for (unsigned k = 0; k < 3; k++) {
			file_add(path, "{\"type\":\"custom\",\"id\":\"c\",\"parentId\":null}\n");
			assert_int_equal(assert_same(w, times[i]), 1);
			assert_true(read_from >= BIG);
		}
		grove__buf_release(&b);
	}
}

/* Where a value may go on in the next line, what comes next may belong to it. */
static void a_value_that_is_not_finished_is_read_again(void **state)
{
	struct world *w = *state;

	for (enum kind kind = PI; kind < CLAUDE; kind++) {
		const char *path = make_big(w, kind, 2);

		file_add(path, "{\"type\":\"message\",\"id\":\"hh\",\n");
		assert_same(w, "half");
		assert_same(w, "half, again");
		file_add(path, "\"parentId\":null,\"message\":{\"role\":\"user\",\"content\":\"x\"}}\n");
		assert_same(w, "whole");
		file_add(path, ENTRY("z1", "null", "user", "more"));
		assert_same(w, "more");
		unlink(path);
	}
}

/* A byte is changed, then a line appended. */
static void change_and_grow(struct world *w, const char *path, uint64_t at, const char *bytes)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, bytes, strlen(bytes), (off_t)at), strlen(bytes));
	close(fd);
	file_add(path, ENTRY("zz", "null", "user", "more"));
	assert_same(w, bytes);
	next_tick(w);
	assert_same(w, bytes);
}

static void a_file_that_is_another_before_its_end_is_read_again(void **state)
{
	struct world *w = *state;
	const char *path = make_big(w, PI, 1);
	struct grove_buf b;
	char *cwd, *last;

	assert_same(w, "cold");
	b = file_bytes(path);
	cwd = strstr(b.ptr, "\"cwd\":\"/w/");
	assert_non_null(cwd);
	change_and_grow(w, path, (uint64_t)(cwd - b.ptr), "\"cwd\":\"/x/");
	last = memrchr(b.ptr, 'w', b.len);
	assert_non_null(last);
	change_and_grow(w, path, (uint64_t)(last - b.ptr), "W");
	grove__buf_release(&b);
	/* shorter, then longer than it was */
	assert_int_equal(truncate(path, BIG / 2), 0);
	assert_same(w, "cut");
	file_add(path, "\n" ENTRY("y1", "null", "user", "more"));
	assert_same(w, "cut and grown");
	/* an end without a line end, which is then another line */
	file_add(path, "{\"type\":\"message\",\"id\":\"hh\"");
	assert_same(w, "torn");
	file_add(path, ",\"parentId\":null,\"message\":{\"role\":\"user\",\"content\":\"x\"}}\n");
	assert_same(w, "mended");
}

/* ------------------------------------------------------------------- damage */

static void fill_world(struct world *w, struct chance *c)
{
	make_dirs(w);
	for (unsigned i = 0; i < 80; i++)
		change(w, c, 12);
	next_tick(w);
}

static unsigned list_for(const struct world *w, int shape)
{
	struct grove_buf b = list_as(w, cache_of(w), NULL, shape);

	grove__buf_release(&b);
	return opened;
}

static unsigned sum_for(const struct world *w)
{
	struct grove_buf b = usage_as(w, cache_of(w));

	grove__buf_release(&b);
	return opened;
}

/*
 * Whoever comes first reads a log, and once: what lists show, what was billed and, where
 * the conversation is a path, the shape of its tree are found together.
 */
static void a_log_is_read_once_for_lists_and_sums(void **state)
{
	enum { EACH = 3, LINES = 600 };
	struct world *w = *state;
	struct chance c = chance_begin("a_log_is_read_once_for_lists_and_sums");
	uint64_t once = 0;

	make_dirs(w);
	for (unsigned i = 0; i < KINDS * EACH; i++) {
		struct grove_buf b = GROVE_BUF_INIT;

		assert_int_equal(add_header(&b, &c, i % KINDS, i), 0);
		for (unsigned k = 0; k < LINES; k++)
			assert_int_equal(add_reply(&b, &c, i % KINDS, k), 0);
		write_file(file_of(w, i % KINDS, i), &b);
		once += b.len;
		grove__buf_release(&b);
	}
	/* and a little for the line that tells the dialect */
	once += once / 20;
	for (int sums_first = 0; sums_first < 2; sums_first++) {
		assert_int_equal(sums_first ? sum_for(w) : list_for(w, 0), KINDS * EACH);
		assert_in_range(weighed, 1, once);
		assert_int_equal(sums_first ? list_for(w, 0) : sum_for(w), 0);
		assert_int_equal(weighed, 0);
		/* rules need a reading of their own */
		assert_int_equal(list_for(w, 1), EACH);
		assert_in_range(weighed, 1, once / 2);
		assert_int_equal(list_for(w, 0) + list_for(w, 1) + sum_for(w), 0);
		assert_int_equal(unlink(db_of(w)), 0);
	}
}

static void a_damaged_catalog_is_as_good_as_none(void **state)
{
	struct world *w = *state;
	struct chance c = chance_begin("a_damaged_catalog_is_as_good_as_none");

	fill_world(w, &c);
	for (unsigned turn = 0; turn < 60; turn++) {
		struct grove_buf b;
		unsigned nr = 1 + chance_below(&c, 40);

		assert_same_as(w, NULL, 1, "before");
		b = file_bytes(db_of(w));
		assert_true(b.len > 0);
		if (turn % 3 == 0) {
			b.len = chance_below(&c, (uint32_t)b.len);
		} else if (turn % 3 == 1) {
			for (unsigned i = 0; i < nr; i++)
				b.ptr[chance_below(&c, (uint32_t)b.len)] ^= (char)(1 + chance_below(&c, 255));
		} else {
			size_t at = chance_below(&c, (uint32_t)b.len), len = chance_below(&c, 5000);

			memset(b.ptr + at, (int)chance_below(&c, 256), len < b.len - at ? len : b.len - at);
		}
		write_file(db_of(w), &b);
		grove__buf_release(&b);
		assert_same_as(w, NULL, 1, "damaged");
		assert_same_as(w, NULL, 1, "after");
	}
}

/* Each number and text of the rows, changed in a way that SQLite does not see. */
static void a_row_that_was_changed_is_not_believed(void **state)
{
	static const char *const ways[] = {
		"UPDATE digests SET about = replace(about, 'one', 'eno')",
		"UPDATE digests SET about = substr(about, 1, length(about) - 1)",
		"UPDATE digests SET about = x''",
		"UPDATE digests SET about = NULL",
		"UPDATE digests SET crc = crc + 1",
		"UPDATE digests SET path = path || 'x'",
		"UPDATE digests SET about = 'text', crc = 'text'",
		"UPDATE digests SET about = zeroblob(200) WHERE id >= 1 << 62",
		"DROP TABLE digests",
		"UPDATE OR REPLACE digests SET id = id + (1 << 62) WHERE id < 1 << 61",
		"PRAGMA user_version = 1",
		"PRAGMA user_version = 999",
		"PRAGMA user_version = 999; DROP TABLE digests; CREATE TABLE digests (other TEXT)",
		"DROP TABLE digests; CREATE VIEW digests AS SELECT 1 AS path",
		"PRAGMA journal_mode = DELETE",
	};
	struct world *w = *state;

	make_one(w);
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		sqlite3 *db;

		assert_same_as(w, NULL, 1, "before");
		assert_int_equal(sqlite3_open(db_of(w), &db), SQLITE_OK);
		if (sqlite3_exec(db, ways[i], NULL, NULL, NULL) != SQLITE_OK)
			fail_msg("%s: %s", ways[i], sqlite3_errmsg(db));
		sqlite3_close(db);
		assert_same_as(w, NULL, 1, ways[i]);
		assert_same_as(w, NULL, 1, ways[i]);
		assert_int_equal(assert_same_as(w, NULL, 1, ways[i]), 0);
	}
}

static void where_there_can_be_no_catalog_there_is_none(void **state)
{
	struct world *w = *state;

	make_one(w);
	/* a file where the directory should be */
	file_make(cache_of(w), "");
	assert_true(assert_same_as(w, NULL, 1, "a file") > 0);
	assert_file(cache_of(w), "");
	assert_int_equal(unlink(cache_of(w)), 0);
	/* a directory where the file should be */
	assert_int_equal(grove__sys_mkdirs(db_of(w), 0700), 0);
	assert_true(assert_same_as(w, NULL, 1, "a directory") > 0);
	assert_true(assert_same_as(w, NULL, 1, "a directory") > 0);
	assert_int_equal(rmdir(db_of(w)), 0);
	/* what may be read, but not written */
	assert_same_as(w, NULL, 1, "cold");
	assert_int_equal(chmod(db_of(w), 0400), 0);
	assert_int_equal(chmod(cache_of(w), 0500), 0);
	file_add(file_of(w, PI, 1), ENTRY("z", "null", "user", "more"));
	next_tick(w);
	assert_same_as(w, NULL, 1, "read-only");
	assert_same_as(w, NULL, 1, "read-only");
	assert_int_equal(chmod(cache_of(w), 0700), 0);
	assert_int_equal(chmod(db_of(w), 0600), 0);
	assert_same_as(w, NULL, 1, "writable again");
	assert_int_equal(assert_same_as(w, NULL, 1, "known"), 0);
}

static void one_that_is_locked_is_waited_for_a_moment_only(void **state)
{
	struct world *w = *state;
	sqlite3 *db;

	make_one(w);
	assert_same(w, "cold");
	assert_int_equal(sqlite3_open(db_of(w), &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "BEGIN EXCLUSIVE", NULL, NULL, NULL), SQLITE_OK);
	file_add(file_of(w, PI, 1), ENTRY("z", "null", "user", "more"));
	assert_same(w, "locked");
	assert_int_equal(sqlite3_exec(db, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
	assert_same(w, "free");
	assert_int_equal(assert_same(w, "known"), 0);
}

/* Of how many logs there is this chapter. */
static int64_t rows_in(const struct world *w, enum grove__chapter chapter)
{
	sqlite3_stmt *st;
	sqlite3 *db;
	char sql[80];
	int64_t n;

	snprintf(sql, sizeof(sql), "SELECT count(*) FROM digests WHERE id >> 61 = %d", (int)chapter);
	assert_int_equal(sqlite3_open(db_of(w), &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &st, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(st), SQLITE_ROW);
	n = sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	sqlite3_close(db);
	return n;
}

static void what_is_gone_is_forgotten(void **state)
{
	struct world *w = *state;

	make_one(w);
	file_make(file_of(w, PI, 2), BRANCHES);
	assert_same_as(w, NULL, 1, "two");
	assert_int_equal(rows_in(w, CHAPTER_LIST), 2);
	assert_int_equal(rows_in(w, CHAPTER_REPLIES), 2);
	assert_int_equal(rows_in(w, CHAPTER_SHAPE), 2);
	assert_int_equal(unlink(file_of(w, PI, 2)), 0);
	assert_same_as(w, NULL, 1, "one");
	assert_int_equal(rows_in(w, CHAPTER_LIST), 1);
	assert_int_equal(rows_in(w, CHAPTER_REPLIES), 1);
	assert_int_equal(rows_in(w, CHAPTER_SHAPE), 1);
}

/* The files of other stores are in the same catalog, and there may be many of them. */
static void what_is_gone_is_forgotten_little_by_little(void **state)
{
	enum { FILES = 400 };
	struct world *w = *state;
	struct grove_buf b;
	int before;

	make_dirs(w);
	for (unsigned i = 0; i < FILES; i++)
		file_make(file_of(w, PI, i), BRANCHES);
	assert_same(w, "many");
	assert_int_equal(rows_in(w, CHAPTER_LIST), FILES);
	for (unsigned i = 1; i < FILES; i++)
		assert_int_equal(unlink(file_of(w, PI, i)), 0);
	for (int left = FILES; left > 1; left = before) {
		b = list_as(w, cache_of(w), NULL, 0);
		grove__buf_release(&b);
		before = rows_in(w, CHAPTER_LIST);
		assert_true(before < left);
	}
	assert_same(w, "one");
}

static void named(char *out, size_t len, const char *id, const char *cwd, const char *name)
{
	snprintf(out, len, "{\"type\":\"session\",\"version\":3,\"id\":\"%s\",\"timestamp\":"
		 "\"2026-01-01T00:00:00.000Z\",\"cwd\":\"%s\"}\n{\"type\":\"session_info\",\"id\":\"a\","
		 "\"parentId\":null,\"timestamp\":\"2026-01-01T00:00:01.000Z\",\"name\":\"%s\"}\n", id, cwd, name);
}

/* "ID NAME", sorted by id. */
static struct grove_buf names_of(const struct world *w, unsigned flags)
{
	struct grove_options o = { .size = sizeof(o), .home = w->home, .cwd = w->cwd, .getenv = no_variables,
				   .cache = cache_of(w), .trace = trace };
	struct grove_list_options lo = { .size = sizeof(lo), .flags = GROVE_LIST_ALL | flags, .sort = GROVE_SORT_NAME };
	struct grove_buf b = GROVE_BUF_INIT;
	struct grove_list *l;
	struct grove *g;

	opened = 0;
	assert_int_equal(grove_open(&o, &g), 0);
	assert_int_equal(grove_list(g, &lo, &l), 0);
	for (size_t i = 0; i < grove_list_count(l); i++)
		assert_int_equal(grove__buf_addf(&b, "%s %s\n", grove_list_at(l, i)->id, grove_list_at(l, i)->name), 0);
	grove_list_free(l);
	grove_close(g);
	return b;
}

static void assert_names(const struct world *w, unsigned flags, unsigned opens, const char *want)
{
	struct grove_buf b = names_of(w, flags);

	assert_string_equal(b.ptr ? b.ptr : "", want);
	assert_int_equal(opened, opens);
	grove__buf_release(&b);
}

static void what_is_remembered_need_not_be_examined(void **state)
{
	struct world *w = *state;
	char text[5000];

	make_dirs(w);
	named(text, sizeof(text), "far", "/far", "a: far");
	file_make(file_of(w, PI, 1), text);
	named(text, sizeof(text), "near", w->cwd, "b: near");
	file_make(file_of(w, PI, 2), text);
	named(text, sizeof(text), "gone", "/far", "c: gone");
	file_make(file_of(w, PI, 3), text);
	/* nothing is remembered yet */
	assert_names(w, GROVE_LIST_REMEMBERED, 3, "far a: far\nnear b: near\ngone c: gone\n");
	named(text, sizeof(text), "far", "/far", "a: another");
	file_make(file_of(w, PI, 1), text);
	named(text, sizeof(text), "near", w->cwd, "b: another");
	file_make(file_of(w, PI, 2), text);
	assert_int_equal(unlink(file_of(w, PI, 3)), 0);
	named(text, sizeof(text), "new", "/far", "d: new");
	file_make(file_of(w, PI, 4), text);
	assert_names(w, GROVE_LIST_REMEMBERED, 2, "far a: far\nnear b: another\nnew d: new\n");
	assert_names(w, 0, 1, "far a: another\nnear b: another\nnew d: new\n");
	assert_names(w, GROVE_LIST_REMEMBERED, 0, "far a: another\nnear b: another\nnew d: new\n");
}

static void nobody_else_may_read_it(void **state)
{
	struct world *w = *state;
	mode_t was = umask(0);
	struct stat st;

	make_one(w);
	assert_same(w, "cold");
	umask(was);
	assert_int_equal(stat(db_of(w), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(stat(cache_of(w), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
}

static void without_a_cache_nothing_is_written(void **state)
{
	struct world *w = *state;
	struct grove_buf b;

	make_one(w);
	b = list_as(w, "", NULL, 1);
	assert_true(b.len > 0);
	grove__buf_release(&b);
	assert_false(is_there(cache_of(w)));
	assert_dir(w->home, ".claude .omp .pi .xcsh ");
}

/* ---------------------------------------------------------------- processes */

static uint64_t count_messages(const struct world *w)
{
	struct grove_buf b = list_as(w, cache_of(w), NULL, 0);
	const char *at = b.ptr ? strstr(b.ptr, "\"messageCount\":") : NULL;
	uint64_t n = at ? strtoull(at + strlen("\"messageCount\":"), NULL, 10) : UINT64_MAX;

	grove__buf_release(&b);
	return n;
}

/* 0, or what is wrong. */
static int list_while(const struct world *w, const unsigned *written, const int *stop)
{
	while (!__atomic_load_n(stop, __ATOMIC_ACQUIRE)) {
		unsigned before = __atomic_load_n(written, __ATOMIC_ACQUIRE);
		uint64_t n = count_messages(w);
		unsigned after = __atomic_load_n(written, __ATOMIC_ACQUIRE);

		/* one more may be in the file and not counted yet */
		if (n < before || n > after + 1)
			return 1;
	}
	return count_messages(w) == *written ? 0 : 2;
}

static void processes_share_it_while_another_one_writes(void **state)
{
	struct world *w = *state;
	struct shared {
		unsigned written;
		int stop;
	} *sh = mmap(NULL, sizeof(*sh), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	const char *path = file_of(w, PI, 1);
	pid_t child[2];

	assert_ptr_not_equal(sh, MAP_FAILED);
	make_dirs(w);
	file_make(path, HEADER);
	for (unsigned i = 0; i < 2; i++) {
		child[i] = fork();
		assert_true(child[i] >= 0);
		if (!child[i])
			_exit(list_while(w, &sh->written, &sh->stop));
	}
	for (unsigned i = 0; i < 300; i++) {
		file_add(path, ENTRY("zz", "null", "user", "more"));
		__atomic_fetch_add(&sh->written, 1, __ATOMIC_RELEASE);
		/* the others' turn, now and then: their answers are to be kept as well */
		if (i % 10 == 0)
			assert_int_equal(count_messages(w), i + 1);
	}
	__atomic_store_n(&sh->stop, 1, __ATOMIC_RELEASE);
	for (unsigned i = 0; i < 2; i++) {
		int status;

		assert_int_equal(waitpid(child[i], &status, 0), child[i]);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), 0);
	}
	munmap(sh, sizeof(*sh));
	assert_same_as(w, NULL, 1, "at the end");
}

/* -------------------------------------------------------------------- places */

static void empty_files_are_neither_opened_nor_remembered(void **state)
{
	enum { FILES = 20000, SESSIONS = 4 };
	struct world *w = *state;

	make_one(w);
	for (unsigned i = 2; i < FILES; i++) {
		int fd = open(file_of(w, PI, i), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

		assert_true(fd >= 0);
		close(fd);
	}
	/* wherever sessions are among them, they are found */
	for (unsigned i = 1; i < SESSIONS; i++)
		file_make(file_of(w, PI, i * (FILES / SESSIONS)), HEADER);
	next_tick(w);
	assert_int_equal(assert_same(w, "cold"), SESSIONS);
	assert_int_equal(rows_in(w, CHAPTER_LIST), SESSIONS);
	assert_int_equal(assert_same(w, "warm"), 0);
	/* one that is written to becomes a session */
	file_make(file_of(w, PI, 2), HEADER);
	assert_int_equal(assert_same(w, "written"), 1);
}

static void links_in_a_circle_end_somewhere(void **state)
{
	struct world *w = *state;
	char path[4500];

	make_one(w);
	snprintf(path, sizeof(path), "%s/.pi/agent/sessions/loop", w->home);
	assert_int_equal(symlink(".", path), 0);
	snprintf(path, sizeof(path), "%s/%s/up", w->home, dirs[PI]);
	assert_int_equal(symlink("..", path), 0);
	snprintf(path, sizeof(path), "%s/%s/self.jsonl", w->home, dirs[PI]);
	assert_int_equal(symlink("self.jsonl", path), 0);
	snprintf(path, sizeof(path), "%s/%s/dir.jsonl", w->home, dirs[PI]);
	assert_int_equal(symlink(".", path), 0);
	/* the same file by another name */
	snprintf(path, sizeof(path), "%s/%s/other.jsonl", w->home, dirs[PI]);
	assert_int_equal(symlink(file_of(w, PI, 1), path), 0);
	assert_same_as(w, NULL, 1, "cold");
	assert_same_as(w, NULL, 1, "warm");
	/* a link that leads elsewhere is another file */
	file_make(file_of(w, XCSH, 1), HEADER);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink(file_of(w, XCSH, 1), path), 0);
	assert_same_as(w, NULL, 1, "elsewhere");
}

/* ------------------------------------------------------------------- threads */

static struct grove_list *threads_of(struct world *w, struct grove_list_options lo)
{
	struct grove_list *l;

	lo.size = sizeof(lo);
	lo.flags = GROVE_LIST_ALL | GROVE_LIST_THREADS;
	OK(w, grove_list(w->g, &lo, &l));
	return l;
}

/* Ids in order, each behind as many dots as it is deep. */
static void assert_threads(struct world *w, struct grove_list_options lo, const char *want)
{
	struct grove_list *l = threads_of(w, lo);
	struct grove_buf b = GROVE_BUF_INIT;

	for (size_t i = 0; i < grove_list_count(l); i++) {
		const struct grove_list_item *s = grove_list_at(l, i);

		assert_int_equal(grove__buf_addf(&b, "%s%.*s%s", i ? " " : "", (int)s->depth, "..........", s->id), 0);
	}
	assert_string_equal(b.ptr ? b.ptr : "", want);
	grove__buf_release(&b);
	grove_list_free(l);
}

static void put_session(struct world *w, unsigned nr, const char *parent, unsigned minute)
{
	struct grove_buf b = GROVE_BUF_INIT;

	assert_int_equal(grove__buf_addf(&b, "{\"type\":\"session\",\"version\":3,\"id\":\"s%u\",\"timestamp\":"
					 "\"2026-01-01T00:%02u:00.000Z\",\"cwd\":\"/w\"%s%s%s}\n", nr, minute,
					 parent ? ",\"parentSession\":\"" : "", parent ? parent : "",
					 parent ? "\"" : ""), 0);
	write_file(file_of(w, PI, nr), &b);
	grove__buf_release(&b);
}

static void threads_stand_below_their_parents(void **state)
{
	struct world *w = *state;
	struct grove_list_options none = { 0 }, named = { .query = "s" },
				  by_size = { .sort = GROVE_SORT_CREATED }, two = { .limit = 2 };
	char link[4500];

	make_dirs(w);
	put_session(w, 1, NULL, 1);
	put_session(w, 2, NULL, 5);
	put_session(w, 3, file_of(w, PI, 1), 2);
	put_session(w, 4, file_of(w, PI, 3), 9);
	put_session(w, 5, "s1", 4);
	put_session(w, 6, "/not/there.jsonl", 3);
	/* the latest of all below counts: s4 is the newest, so s1 is the first */
	assert_threads(w, none, "s1 .s3 ..s4 .s5 s2 s6");
	assert_threads(w, by_size, "s2 s6 s1 .s5 .s3 ..s4");
	assert_threads(w, two, "s1 .s3");
	assert_threads(w, named, "s4 s2 s5 s6 s3 s1");
	/* a parent by another name of its file */
	snprintf(link, sizeof(link), "%s/link.jsonl", w->dir);
	assert_int_equal(symlink(file_of(w, PI, 2), link), 0);
	put_session(w, 6, link, 3);
	assert_threads(w, none, "s1 .s3 ..s4 .s5 s2 .s6");
}

static void threads_in_a_circle_are_all_there(void **state)
{
	struct world *w = *state;
	struct grove_list_options none = { 0 };

	make_dirs(w);
	put_session(w, 1, "s1", 1);
	put_session(w, 2, "s3", 2);
	put_session(w, 3, "s4", 3);
	put_session(w, 4, "s2", 4);
	put_session(w, 5, "s2", 5);
	assert_threads(w, none, "s4 .s3 ..s2 ...s5 s1");
}

static void random_threads_lose_nobody(void **state)
{
	struct world *w = *state;
	struct chance c = chance_begin("random_threads_lose_nobody");
	struct grove_list_options none = { 0 };

	make_dirs(w);
	for (unsigned turn = 0; turn < 30; turn++) {
		unsigned nr = 1 + chance_below(&c, 25), seen[32] = { 0 };
		struct grove_list *l;
		char parent[16];

		for (unsigned i = 1; i <= 25; i++)
			unlink(file_of(w, PI, i));
		for (unsigned i = 1; i <= nr; i++) {
			snprintf(parent, sizeof(parent), "s%u", 1 + chance_below(&c, 2 * nr));
			put_session(w, i, parent, chance_below(&c, 60));
		}
		l = threads_of(w, none);
		assert_int_equal(grove_list_count(l), nr);
		for (size_t i = 0; i < nr; i++) {
			const struct grove_list_item *s = grove_list_at(l, i);

			seen[atoi(s->id + 1)]++;
			assert_true(s->depth <= (i ? grove_list_at(l, i - 1)->depth + 1 : 0));
		}
		for (unsigned i = 1; i <= nr; i++)
			assert_int_equal(seen[i], 1);
		grove_list_free(l);
	}
}

/* -------------------------------------------------------------------- queries */

static void a_bad_query_is_an_error_not_an_empty_list(void **state)
{
	struct world *w = *state;
	struct grove_list_options lo = { .size = sizeof(lo), .flags = GROVE_LIST_ALL, .query = "re:(" };
	struct grove_list *l;
	int rc;

	make_one(w);
	rc = grove_list(w->g, &lo, &l);
	assert_true(rc == GROVE_EINVAL || rc == GROVE_ENOTSUP);
	grove_list_free(l);
	lo.query = "re:^(a|a)+(a|a)+$";
	file_make(file_of(w, PI, 2), HEADER ENTRY("a", "null", "user",
		  "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab"));
	rc = grove_list(w->g, &lo, &l);
	assert_true(rc == GROVE_ETOOBIG || rc == GROVE_ENOTSUP);
	grove_list_free(l);
}

/* -------------------------------------------------------------- one by name */

static uint64_t bytes_read;

static void weigh(void *payload, const char *line)
{
	const char *op = strchr(line, '.'), *at = strstr(line, "len=");

	(void)payload;
	if (op && (!strncmp(op, ".read ", 6) || !strncmp(op, ".fetch ", 7)) && at)
		bytes_read += strtoull(at + 4, NULL, 10);
}

/* As JSON, as in a list; what was read for it is in bytes_read. */
static struct grove_buf info_as(const struct world *w, const char *cache, const char *path, unsigned flags,
				struct grove_list_item *out)
{
	struct grove_options o = { .size = sizeof(o), .home = w->home, .cwd = w->cwd, .getenv = no_variables,
				   .cache = cache, .trace = weigh };
	struct grove_buf b = GROVE_BUF_INIT;
	struct grove_list *l;
	struct grove *g;

	bytes_read = 0;
	assert_int_equal(grove_open(&o, &g), 0);
	assert_int_equal(grove_find(g, path, flags, &l), 0);
	assert_int_equal(grove_list_count(l), 1);
	*out = *grove_list_at(l, 0);
	assert_int_equal(grove_list_item_json(out, &b), 0);
	assert_int_equal(grove__buf_add_char(&b, '\n'), 0);
	grove_list_free(l);
	grove_close(g);
	return b;
}

/* The text without a member. */
static void strip(struct grove_buf *b, const char *member)
{
	char *at = strstr(b->ptr, member), *end = at ? strchr(at, ',') + 1 : NULL;

	if (!at)
		return;
	memmove(at, end, strlen(end) + 1);
	b->len -= (size_t)(end - at);
}

static void one_session_is_told_by_its_ends(void **state)
{
	struct world *w = *state;

	for (enum kind kind = PI; kind < KINDS; kind++) {
		const char *path = make_big(w, kind, kind + 1);
		struct grove_list_item info;
		struct grove_buf list, ends, all;

		next_tick(w);
		/* names stand all over these, so the end has one of every sort */
		list = list_as(w, "", NULL, 0);
		all = info_as(w, "", path, GROVE_FIND_COUNT, &info);
		assert_true(same(&all, &list));
		assert_true(bytes_read >= BIG);
		assert_true(info.message_count > 0 && info.message_count != GROVE_NO_COUNT);
		ends = info_as(w, "", path, 0, &info);
		assert_true(info.message_count == GROVE_NO_COUNT);
		assert_true(bytes_read < (uint64_t)1 << 20);
		strip(&list, "\"messageCount\":");
		/* the messages in the middle of these may be the newest ones */
		if (kind != CLAUDE) {
			strip(&list, "\"modified\":");
			strip(&ends, "\"modified\":");
		}
		if (!same(&ends, &list))
			fail_msg("in a list:\n%s\nby its ends:\n%s", list.ptr, ends.ptr);
		grove__buf_release(&ends);
		grove__buf_release(&list);
		/* what is known need not be read at all, and a count is kept for lists */
		ends = info_as(w, cache_of(w), path, 0, &info);
		assert_true(info.message_count == GROVE_NO_COUNT);
		grove__buf_release(&ends);
		ends = info_as(w, cache_of(w), path, GROVE_FIND_COUNT, &info);
		assert_true(same(&ends, &all));
		grove__buf_release(&ends);
		ends = info_as(w, cache_of(w), path, 0, &info);
		assert_true(same(&ends, &all));
		assert_true(bytes_read < 65536);
		assert_int_equal(assert_same(w, "counted"), 0);
		grove__buf_release(&ends);
		grove__buf_release(&all);
		unlink(path);
	}
}

/* The first message stands behind a long line, the last line is a long one. */
static void long_lines_at_the_ends_hide_nothing(void **state)
{
	struct world *w = *state;
	const char *path = file_of(w, PI, 1);
	struct grove_buf b = GROVE_BUF_INIT, list, ends;
	struct grove_list_item info;
	char *x = malloc(300001);

	assert_non_null(x);
	memset(x, 'x', 300000);
	x[300000] = '\0';
	make_dirs(w);
	assert_int_equal(grove__buf_addf(&b, "{\"type\":\"session\",\"version\":3,\"id\":\"s1\",\"timestamp\":"
					     "\"2026-01-01T00:00:00.000Z\",\"cwd\":\"/w\"}\n"), 0);
	assert_int_equal(grove__buf_addf(&b, "{\"type\":\"custom\",\"id\":\"00000001\",\"parentId\":null,\"timestamp\":"
					     "\"2026-01-01T00:00:01.000Z\",\"customType\":\"a\",\"data\":\"%s\"}\n", x), 0);
	for (unsigned i = 2; i < 1000; i++)
		assert_int_equal(grove__buf_addf(&b, "{\"type\":\"message\",\"id\":\"%08x\",\"parentId\":\"%08x\","
						     "\"timestamp\":\"2026-01-01T00:%02u:%02u.000Z\",\"message\":{\"role\":\"user\","
						     "\"content\":\"say %u %.500s\",\"timestamp\":%u}}\n",
						 i, i - 1, i / 60, i % 60, i, x, 1000 * i), 0);
	assert_int_equal(grove__buf_addf(&b, "{\"type\":\"session_info\",\"id\":\"f0000001\",\"parentId\":null,\"timestamp\":"
					     "\"2026-01-01T01:00:00.000Z\",\"name\":\"the end\"}\n"), 0);
	/* no message within the last 64 KiB: all of it is read, for the time of the last one */
	assert_int_equal(grove__buf_addf(&b, "{\"type\":\"custom\",\"id\":\"f0000002\",\"parentId\":null,\"timestamp\":"
					     "\"2026-01-01T01:00:01.000Z\",\"customType\":\"a\",\"data\":\"%s\"}\n", x), 0);
	write_file(path, &b);
	list = list_as(w, "", NULL, 0);
	ends = info_as(w, "", path, 0, &info);
	assert_true(same(&ends, &list));
	assert_true(info.message_count == 998);
	assert_non_null(strstr(ends.ptr, "\"firstMessage\":\"say 2 "));
	assert_non_null(strstr(ends.ptr, "\"name\":\"the end\""));
	grove__buf_release(&ends);
	grove__buf_release(&list);
	grove__buf_release(&b);
	free(x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CATALOG_TEST(a_random_world_is_listed_the_same),
		CATALOG_TEST(a_random_database_is_listed_the_same),
		CATALOG_TEST(what_is_known_is_not_read_again),
		CATALOG_TEST(what_changes_now_is_not_remembered),
		CATALOG_TEST(a_dialect_that_is_forced_is_not_what_was_known),
		CATALOG_TEST(a_file_that_grew_is_read_on_from_where_it_ended),
		CATALOG_TEST(a_file_without_messages_grows_as_well),
		CATALOG_TEST(a_value_that_is_not_finished_is_read_again),
		CATALOG_TEST(a_file_that_is_another_before_its_end_is_read_again),
		CATALOG_TEST(a_log_is_read_once_for_lists_and_sums),
		CATALOG_TEST(a_damaged_catalog_is_as_good_as_none),
		CATALOG_TEST(a_row_that_was_changed_is_not_believed),
		CATALOG_TEST(where_there_can_be_no_catalog_there_is_none),
		CATALOG_TEST(one_that_is_locked_is_waited_for_a_moment_only),
		CATALOG_TEST(what_is_gone_is_forgotten),
		CATALOG_TEST(what_is_gone_is_forgotten_little_by_little),
		CATALOG_TEST(what_is_remembered_need_not_be_examined),
		CATALOG_TEST(nobody_else_may_read_it),
		CATALOG_TEST(without_a_cache_nothing_is_written),
		CATALOG_TEST(processes_share_it_while_another_one_writes),
		CATALOG_TEST(empty_files_are_neither_opened_nor_remembered),
		CATALOG_TEST(links_in_a_circle_end_somewhere),
		CATALOG_TEST(threads_stand_below_their_parents),
		CATALOG_TEST(threads_in_a_circle_are_all_there),
		CATALOG_TEST(random_threads_lose_nobody),
		CATALOG_TEST(a_bad_query_is_an_error_not_an_empty_list),
		CATALOG_TEST(one_session_is_told_by_its_ends),
		CATALOG_TEST(long_lines_at_the_ends_hide_nothing),
	};

	scratch_prefer_memory();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
