/*
 * tests/unit/test_logs_found.c: finding logs, telling their state, and processing each
 * of them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/api.h"
#include "logs/logs.h"
#include "../lib/world.h"

/* The allocation that fails, counted down; 0: none does. */
static int failing;
static bool due(void)
{
	return failing && !--failing;
}

#define ALLOC_DUE due
#include "../lib/alloc.h"

#define PI ".pi/agent/sessions"
#define CLAUDE ".claude/projects"
#define ARCHIVE ".local/share/grove/archive"
#define ID "71a4fb9a-250c-45e0-9d1e-0a0b0c0d0e0f"
#define NAMED "2026-09-01T00-00-00-000Z_" ID ".jsonl"

static const struct grove__logs_which sessions = { .sorted = true };
static const struct grove__logs_which everything = { .subs = LOGS_ALL_SUBS, .sorted = true };
static const struct grove__logs_which looked_at = { .sorted = true, .look = true };

static void put(const struct world *w, const char *name, const char *text)
{
	char path[8300], *slash;

	snprintf(path, sizeof(path), "%s/%s", w->home, name);
	slash = strrchr(path, '/');
	*slash = '\0';
	assert_int_equal(grove__sys_mkdirs(path, 0700), 0);
	*slash = '/';
	file_make(path, text);
}

/* A world whose directories were made after it was opened is opened again. */
static void open_again(struct world *w)
{
	grove_close(w->g);
	w->g = world_grove(w);
}

static struct grove__logs find(struct world *w, const struct grove__logs_which *which)
{
	struct grove__logs l = { .nr = 0 };
	struct grove_detail d;

	assert_int_equal(grove__logs_find(&l, w->g, which, &d), 0);
	return l;
}

static size_t count(struct world *w, const struct grove__logs_which *which)
{
	struct grove__logs l = find(w, which);
	size_t nr = l.nr;

	grove__logs_release(&l);
	return nr;
}

/* ------------------------------------------------------------------ which */

static void logs_are_found_by_name_with_those_of_sub_agents(void **state)
{
	struct world *w = *state;
	struct grove_buf tmp = GROVE_BUF_INIT;
	struct grove__logs l;

	put(w, PI "/--b--/2.jsonl", "{}\n");
	put(w, PI "/--a--/1.jsonl", "{}\n");
	put(w, CLAUDE "/-p/" ID ".jsonl", "{}\n");
	put(w, CLAUDE "/-p/" ID "/subagents/agent-1.jsonl", "{}\n");
	open_again(w);
	assert_int_equal(count(w, &sessions), 3);
	l = find(w, &everything);
	assert_int_equal(l.nr, 4);
	for (uint32_t i = 0; i < l.nr; i++) {
		struct grove_key key = grove__logs_key(&l.logs[i]);

		assert_int_equal(grove__logs_index(&l, l.logs[i].root, &key, &tmp), i);
		assert_true(i == 0 || strcmp(l.logs[i - 1].name, l.logs[i].name) < 0);
		assert_string_equal(l.logs[i].path, l.logs[i].name + strlen("file:"));
		assert_int_equal(access(l.logs[i].path, F_OK), 0);
	}
	assert_string_equal(l.logs[1].sub, "subagents/agent-1.jsonl");
	assert_string_equal(l.logs[1].session, ID ".jsonl");
	grove__logs_release(&l);
	grove__buf_release(&tmp);
}

static void one_root_one_project_or_sub_agents_alone_can_be_meant(void **state)
{
	struct world *w = *state;
	struct grove__logs_which which = { .subs = LOGS_ONLY_SUBS };
	struct grove__logs l;

	put(w, PI "/--a--/1.jsonl", "{}\n");
	put(w, PI "/--a--/2.jsonl", "{}\n");
	put(w, PI "/--b--/1.jsonl", "{}\n");
	put(w, CLAUDE "/-p/" ID ".jsonl", "{}\n");
	put(w, CLAUDE "/-p/" ID "/subagents/agent-1.jsonl", "{}\n");
	open_again(w);
	assert_int_equal(count(w, &which), 1);
	l = find(w, &sessions);
	which = (struct grove__logs_which){ .only = l.logs[l.nr - 1].root };
	assert_int_equal(count(w, &which), 3);
	which.project = "--a--";
	assert_int_equal(count(w, &which), 2);
	grove__logs_release(&l);
	which = (struct grove__logs_which){ .by_key = true };
	l = find(w, &which);
	assert_string_equal(l.logs[0].project, "--a--");
	assert_string_equal(l.logs[2].project, "--b--");
	assert_string_equal(l.logs[3].project, "-p");
	grove__logs_release(&l);
}

static void what_two_stores_share_counts_once(void **state)
{
	struct world *w = *state;
	char outer[4200], inner[4300];
	const char *stores[] = { outer, inner };
	struct grove_options o = { .size = sizeof(o), .home = w->home, .cwd = w->cwd, .getenv = no_variables, .cache = "",
				   .stores = stores, .nr_stores = 2 };

	put(w, "store/p/1.jsonl", "{}\n");
	put(w, "store/q/2.jsonl", "{}\n");
	snprintf(outer, sizeof(outer), "%s/store", w->home);
	snprintf(inner, sizeof(inner), "%s/p", outer);
	grove_close(w->g);
	assert_int_equal(grove_open(&o, &w->g), 0);
	assert_int_equal(count(w, &sessions), 2);
	assert_int_equal(count(w, &(struct grove__logs_which){ .look = true }), 3);
}

static void a_copy_in_an_archive_is_none_while_its_original_is_there(void **state)
{
	struct world *w = *state;
	struct grove__logs_which copies = { .copies = true };
	struct grove__logs l;

	put(w, PI "/--a--/" NAMED, "{}\n");
	put(w, ARCHIVE "/--a--/" NAMED, "{}\n");
	put(w, PI "/--a--/notes.jsonl", "{}\n");
	put(w, ARCHIVE "/--b--/notes.jsonl", "{}\n");
	open_again(w);
	assert_int_equal(count(w, &copies), 4);
	assert_int_equal(count(w, &(struct grove__logs_which){ .no_archives = true }), 2);
	/* the same name in another project is the same session only if it has an id */
	assert_int_equal(count(w, &sessions), 3);
	put(w, PI "/--c--/" NAMED, "{}\n");
	assert_int_equal(unlink((l = find(w, &sessions)).logs[1].path), 0);
	assert_string_equal(l.logs[1].project, "--a--");
	grove__logs_release(&l);
	l = find(w, &sessions);
	assert_int_equal(l.nr, 3);
	for (size_t i = 0; i < l.nr; i++)
		assert_false(l.logs[i].root->archive && !strcmp(l.logs[i].session, NAMED));
	grove__logs_release(&l);
}

/* ----------------------------------------------------------------- states */

static void files_are_looked_at_and_links_are_known(void **state)
{
	struct world *w = *state;
	char file[8300], name[8300];
	struct grove__logs l;

	put(w, PI "/--a--/1.jsonl", "{}\n");
	put(w, PI "/--a--/2.jsonl", "{}\n");
	put(w, PI "/--a--/4.jsonl", "");
	snprintf(file, sizeof(file), "%s/" PI "/--a--/2.jsonl", w->home);
	snprintf(name, sizeof(name), "%s/" PI "/--a--/3.jsonl", w->home);
	assert_int_equal(symlink(file, name), 0);
	open_again(w);
	l = find(w, &looked_at);
	assert_int_equal(l.nr, 4);
	for (size_t i = 0; i < l.nr; i++) {
		assert_true(l.logs[i].is_file);
		assert_int_equal(l.logs[i].linked, i == 2);
		assert_int_equal(l.logs[i].is_empty, i == 3);
		assert_int_equal(l.logs[i].st.size, i == 3 ? 0 : 3);
	}
	assert_int_equal(l.logs[1].st.ino, l.logs[2].st.ino);
	grove__logs_release(&l);
}

static void many_empty_files_take_no_room(void **state)
{
	enum { MANY = 9000 };
	struct world *w = *state;
	char name[100];
	struct grove__logs l;
	size_t full = 0;

	for (int i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), PI "/--a--/%05d.jsonl", i);
		put(w, name, i % 1000 ? "" : "{}\n");
	}
	open_again(w);
	assert_int_equal(count(w, &sessions), MANY);
	l = find(w, &looked_at);
	assert_in_range(l.nr, MANY / 1000, 5000);
	for (size_t i = 0; i < l.nr; i++)
		full += !l.logs[i].is_empty;
	assert_int_equal(full, MANY / 1000);
	grove__logs_release(&l);
}

/* ------------------------------------------------------------------- work */

enum { PIECES = 1000 };

struct tally {
	struct grove__logs_work work;
	unsigned char seen[PIECES];
	size_t begun, ended, fails_at;
	size_t done;
};

static int begin(void *payload, void *own)
{
	struct tally *t = payload;

	assert_int_equal(*(size_t *)own, 0);
	__atomic_fetch_add(&t->begun, 1, __ATOMIC_RELAXED);
	return 0;
}

static int one(void *payload, void *own, size_t i, struct grove_detail *why)
{
	struct tally *t = payload;

	t->seen[i]++;
	++*(size_t *)own;
	return i == t->fails_at ? grove__fail(why, GROVE_EIO, "here", "no") : 0;
}

static int end(void *payload, void *own)
{
	struct tally *t = payload;

	t->ended++;
	t->done += *(size_t *)own;
	return 0;
}

static int share(struct world *w, struct tally *t, size_t at_once, struct grove_detail *d)
{
	t->work = (struct grove__logs_work){ .g = w->g, .nr = PIECES, .at_once = at_once, .own = sizeof(size_t),
					     .begin = begin, .one = one, .end = end, .payload = t, .d = d };
	return grove__logs_each(&t->work);
}

static void every_piece_is_done_once(void **state)
{
	struct world *w = *state;

	for (size_t at_once = 1; at_once < 2000; at_once *= 7) {
		struct tally t = { .fails_at = PIECES };
		struct grove_detail d;

		assert_int_equal(share(w, &t, at_once, &d), 0);
		assert_int_equal(t.done, PIECES);
		assert_int_equal(t.begun, t.ended);
		for (size_t i = 0; i < PIECES; i++)
			assert_int_equal(t.seen[i], 1);
	}
}

static void the_first_failure_ends_the_work(void **state)
{
	struct world *w = *state;
	struct tally t = { .fails_at = 7 };
	struct grove_detail d;

	assert_int_equal(share(w, &t, 1, &d), GROVE_EIO);
	assert_string_equal(d.path, "here");
	assert_int_equal(t.begun, t.ended);
	assert_int_equal(t.seen[7], 1);
}

static int enough(void *payload, uint64_t done, uint64_t total)
{
	(void)payload;
	assert_int_equal(total, PIECES);
	return done >= 10;
}

static void the_caller_may_cancel(void **state)
{
	struct world *w = *state;
	struct tally t = { .fails_at = PIECES };
	struct grove_detail d;
	int rc;

	w->g->progress = (struct grove_progress){ enough, NULL };
	rc = share(w, &t, 1, &d);
	/* others may have taken all of it before this thread could say so */
	assert_true(rc == GROVE_ECANCELLED || t.done == PIECES);
	w->g->progress = (struct grove_progress){ NULL, NULL };
}

/* ------------------------------------------------------------------ faults */

static void short_memory_is_an_error_and_nothing_else(void **state)
{
	struct world *w = *state;
	struct grove_detail d;
	int rc = GROVE_ENOMEM, steps = 0;

	put(w, PI "/--a--/" NAMED, "{}\n");
	put(w, CLAUDE "/-p/" ID ".jsonl", "{}\n");
	put(w, ARCHIVE "/--b--/notes.jsonl", "{}\n");
	open_again(w);
	while (rc) {
		struct grove__logs l = { .nr = 0 };

		failing = ++steps;
		rc = grove__logs_find(&l, w->g, &everything, &d);
		/* it went without what it had no memory for, or said so */
		rc = failing ? 0 : rc ? rc : GROVE_ENOMEM;
		failing = 0;
		assert_true(!rc || rc == GROVE_ENOMEM);
		grove__logs_release(&l);
	}
	assert_true(steps > 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(logs_are_found_by_name_with_those_of_sub_agents),
		WORLD_TEST(one_root_one_project_or_sub_agents_alone_can_be_meant),
		WORLD_TEST(what_two_stores_share_counts_once),
		WORLD_TEST(a_copy_in_an_archive_is_none_while_its_original_is_there),
		WORLD_TEST(files_are_looked_at_and_links_are_known),
		WORLD_TEST(many_empty_files_take_no_room),
		WORLD_TEST(every_piece_is_done_once),
		WORLD_TEST(the_first_failure_ends_the_work),
		WORLD_TEST(the_caller_may_cancel),
		WORLD_TEST(short_memory_is_an_error_and_nothing_else),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
