/*
 * tests/unit/jsonl_world.h: a file store for a test, and system calls that fail
 * on demand. Include after cmocka.h.
 */
#ifndef TESTS_UNIT_JSONL_WORLD_H
#define TESTS_UNIT_JSONL_WORLD_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>

#include "store/store.h"
#include "sys/file.h"

#include "../lib/scratch.h"

#define str grove__slice_str
#define ARRAY(a) (sizeof(a) / sizeof(*(a)))

/* ------------------------------------------------------------ the fixture */

struct world {
	char dir[256];            /* the store */
	char path[300];           /* dir/a.jsonl */
	struct grove_store *st;
	struct grove_store_log *log; /* on path; closed at the end if not NULL */
	struct grove_store_appended out;
	struct grove_store_log_stat stat;
	struct grove_detail d;
	bool mounted;
};

static const struct grove_key key = { "", "a.jsonl", "" };

static inline int set_up(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	char url[300];

	assert_non_null(w);
	scratch_make(w->dir, sizeof(w->dir));
	assert_int_equal(chmod(w->dir, 0755), 0);
	snprintf(w->path, sizeof(w->path), "%s/a.jsonl", w->dir);
	snprintf(url, sizeof(url), "file:%s", w->dir);
	assert_int_equal(grove__store_open(&w->st, url, &w->d), 0);
	*state = w;
	return 0;
}

static inline int tear_down(void **state)
{
	struct world *w = *state;

	grove__sys_fault = NULL;
	grove__log_close(w->log);
	grove__store_close(w->st);
	if (w->mounted)
		umount2(w->dir, MNT_DETACH);
	scratch_remove(w->dir);
	free(w);
	return 0;
}

static inline void check(struct world *w, int rc, int code, const char *what, int line)
{
	if (rc != code)
		fail_msg("line %d: %s: %d (%s), not %d", line, what, rc, rc < 0 ? w->d.message : "",
			 code);
	if (code < 0 && (w->d.code != code || !*w->d.message))
		fail_msg("line %d: %s: the detail says %d \"%s\"", line, what, w->d.code,
			 w->d.message);
}

/* Asserts the message and the path of the last error. */
static inline void said(struct world *w, const char *words, const char *path)
{
	if (!strstr(w->d.message, words))
		fail_msg("\"%s\" does not say \"%s\"", w->d.message, words);
	assert_string_equal(w->d.path, path);
}

#define FAILS(code, call) check(w, call, code, #call, __LINE__)
#define OK(call) FAILS(0, call)

static inline int add(struct world *w, const char *line, uint64_t expect)
{
	struct grove_store_record rec = { .line = str(line) };

	return grove__log_append(w->log, &rec, 1, expect, GROVE_SYNC_NONE, &w->out, &w->d);
}

static inline int add_synced(struct world *w, const char *line)
{
	struct grove_store_record rec = { .line = str(line) };

	return grove__log_append(w->log, &rec, 1, GROVE_ANY_POS, GROVE_SYNC_ALWAYS, &w->out, &w->d);
}

static inline int look(struct world *w)
{
	return grove__log_stat(w->log, &w->stat, &w->d);
}

/* Creates a file of these bytes, open for writing. */
static inline void have(struct world *w, const char *text)
{
	grove__log_close(w->log);
	file_make(w->path, text);
	OK(grove__log_open(&w->log, w->st, &key, GROVE_STORE_WRITE, &w->d));
}

/* ----------------------------------------------------------------- faults */

/*
 * Which calls fail: the `nth` (from 1; 0: all) of those named `call` (NULL: any
 * name), with `err`. Before the call, `meanwhile` may do something.
 */
static struct {
	const char *call;
	int nth, err, err_after;  /* err_after: the calls after the nth fail with this */
	void (*meanwhile)(void *payload);
	void *payload;
	int seen;
} plan;

static inline int on_call(const char *call)
{
	int n, err = 0;

	if (plan.call && strcmp(plan.call, call))
		return 0;
	n = __atomic_add_fetch(&plan.seen, 1, __ATOMIC_RELAXED);
	if (!plan.nth || n == plan.nth) {
		if (plan.meanwhile)
			plan.meanwhile(plan.payload);
		err = plan.err;
	} else if (n > plan.nth) {
		err = plan.err_after;
	}
	return err;
}

static inline void fail_at(const char *call, int nth, int err)
{
	memset(&plan, 0, sizeof(plan));
	plan.call = call;
	plan.nth = nth;
	plan.err = err;
	grove__sys_fault = on_call;
}

/* Returns how many calls there were; from now on none fails. */
static inline int calm(void)
{
	grove__sys_fault = NULL;
	return plan.seen;
}

/* ----------------------------------------------------------- other programs */

static inline void add_half(void *path)
{
	file_add(path, "half");
}

static inline void add_whole(void *path)
{
	file_add(path, "whole\n");
}

static inline void replace_file(struct world *w, const char *text)
{
	char temp[320];

	snprintf(temp, sizeof(temp), "%s.new", w->path);
	file_make(temp, text);
	assert_int_equal(rename(temp, w->path), 0);
}

/* Acts as the user nobody if the program runs as root, to whom nothing is forbidden. */
static inline void be_nobody(void)
{
	if (!geteuid())
		assert_int_equal(seteuid(65534), 0);
}

static inline void be_ourselves(void)
{
	if (!getuid())
		assert_int_equal(seteuid(0), 0);
}

/* --------------------------------------------------------- lines to rewrite */

struct source {
	const char *const *line;
	size_t nr, at;
	void (*meanwhile)(void *payload);
	void *payload;
};

static inline int next_of(void *payload, struct grove_store_record *rec)
{
	struct source *s = payload;

	if (s->at == s->nr)
		return 1;
	if (s->at == 1 && s->meanwhile)
		s->meanwhile(s->payload);
	rec->line = str(s->line[s->at++]);
	return 0;
}

static const char *const new_lines[] = { "NEW 1", "NEW 2", "NEW 3" };
#define NEW_TEXT "NEW 1\nNEW 2\nNEW 3\n"

static inline int rewrite(struct world *w, uint64_t expect, unsigned flags)
{
	struct source s = { new_lines, 3, 0, NULL, NULL };

	return grove__log_rewrite(w->log, next_of, &s, expect, flags, &w->d);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

#endif
