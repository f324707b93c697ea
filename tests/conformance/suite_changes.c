/*
 * tests/conformance/suite_changes.c: lines that are changed, and the changes
 * that listeners are told of: update, rev, changes.
 */
#include <pthread.h>
#include <unistd.h>

#include "suite_world.h"

static struct grove_store_log_stat stat_of(struct fixture *f, struct grove_store_log *log)
{
	struct grove_store_log_stat st;

	OK(grove__log_stat(log, &st, &f->d));
	return st;
}

/* Counts the lines in the log, and checks that the store counts the same. */
static uint64_t count_lines(struct fixture *f, struct grove_store_log *log)
{
	struct grove_store_log_stat st = stat_of(f, log);
	struct grove_store_run run = { .end = 0 };
	uint64_t lines = 0;
	char *buf = malloc((size_t)st.bytes + 1);

	assert_non_null(buf);
	OK(grove__log_read(log, 0, st.tail, buf, (size_t)st.bytes + 1, &run, &f->d));
	assert_int_equal(run.end, 1);
	assert_int_equal(run.len, st.bytes);
	for (size_t i = 0; i < run.len; i++)
		lines += buf[i] == '\n';
	if (run.len && buf[run.len - 1] != '\n')
		lines++;
	if (f->kind->by_line)
		assert_int_equal(lines, st.tail);
	free(buf);
	return lines;
}

static uint64_t rev_of(struct fixture *f, struct grove_store_log *log)
{
	return stat_of(f, log).base + count_lines(f, log);
}

/* Asserts every byte of the log; the last line may lack its LF. */
static void assert_bytes(struct fixture *f, struct grove_store_log *log, const char *want)
{
	struct grove_store_log_stat st = stat_of(f, log);
	struct grove_store_run run = { .end = 0 };
	char buf[4096];

	assert_int_equal(st.bytes, strlen(want));
	OK(grove__log_read(log, 0, st.tail, buf, sizeof(buf), &run, &f->d));
	assert_int_equal(run.len, strlen(want));
	assert_memory_equal(buf, want, run.len);
}

static int update(struct fixture *f, struct grove_store_log *log, uint64_t pos, const char *was,
		  const char *line)
{
	struct grove_store_record rec = entry_of(line, "e1", "");

	return grove__log_update(log, pos, str(was), &rec, GROVE_CHANGE_UPDATE, GROVE_SYNC_NONE, &f->d);
}

/* ------------------------------------------------------------------ update */

static void a_store_that_cannot_update_says_so(void **state)
{
	struct fixture *f = *state;
	struct grove_store_log *log = make_log(f, key_of("p", "a.jsonl"), LINES("one"));

	if (f->kind->feed) {
		OK(update(f, log, 0, "one", "1"));
		assert_log(f, log, LINES("1"));
	} else {
		FAILS(GROVE_ENOTSUP, update(f, log, 0, "one", "1"));
		assert_log(f, log, LINES("one"));
	}
	if (!f->kind->traced)
		assert_int_equal(grove__log_has_update(log), f->kind->feed);
	grove__log_close(log);
}

static void a_line_can_become_one_of_another_length(void **state)
{
	struct fixture *f = *state;
	struct grove_key key = key_of("p", "a.jsonl");
	struct grove_store_log *log = make_log(f, key, LINES("one", "two", "", "four")), *reader;
	uint64_t generation = generation_of(f, log);
	struct grove_store_appended out;

	reader = open_log(f, key, GROVE_STORE_READ);
	if (!f->kind->feed) {
		FAILS(GROVE_ENOTSUP, update(f, log, 0, "one", "a longer one"));
		goto out;
	}
	OK(update(f, log, 0, "one", "a longer one"));
	assert_bytes(f, log, "a longer one\ntwo\n\nfour\n");
	assert_int_not_equal(generation_of(f, log), generation);
	OK(add(f, log, str("five"), 4, &out));
	assert_bytes(f, reader, "a longer one\ntwo\n\nfour\nfive\n");
	OK(update(f, log, 1, "two", ""));
	OK(update(f, log, 2, "", "three, which was empty"));
	assert_bytes(f, log, "a longer one\n\nthree, which was empty\nfour\nfive\n");
	/* the last line, and then lines appended after it */
	OK(update(f, log, 4, "five", "the fifth"));
	assert_bytes(f, reader, "a longer one\n\nthree, which was empty\nfour\nthe fifth\n");
	OK(add(f, log, str("six"), 5, &out));
	OK(update(f, log, 5, "six", "6"));
	OK(add(f, log, str("7"), 6, &out));
	assert_bytes(f, reader, "a longer one\n\nthree, which was empty\nfour\nthe fifth\n6\n7\n");
	/* the same length, but other bytes */
	OK(update(f, log, 3, "four", "FOUR"));
	assert_bytes(f, log, "a longer one\n\nthree, which was empty\nFOUR\nthe fifth\n6\n7\n");
	assert_int_equal(count_lines(f, log), 7);
out:
	grove__log_close(reader);
	grove__log_close(log);
}

static void an_update_wants_the_line_to_be_what_it_was(void **state)
{
	struct fixture *f = *state;
	struct grove_key key = key_of("p", "a.jsonl");
	struct grove_store_log *log = make_log(f, key, LINES("one", "two")), *reader;
	struct grove_store_record lf = entry_of("a\nb", "e", "");
	struct grove_store_log_stat before = stat_of(f, log), after;
	static const char *const wrong[] = { "", "o", "onE", "one ", "two", "one\r" };

	reader = open_log(f, key, GROVE_STORE_READ);
	if (!f->kind->feed) {
		FAILS(GROVE_ENOTSUP, update(f, log, 0, "two", "x"));
		goto out;
	}
	for (size_t i = 0; i < ARRAY(wrong); i++)
		FAILS(GROVE_ECONFLICT, update(f, log, 0, wrong[i], "x"));
	FAILS(GROVE_ESTALE, update(f, log, 2, "", "x"));
	FAILS(GROVE_ESTALE, update(f, log, 2000, "one", "x"));
	FAILS(GROVE_ESTALE, update(f, log, UINT64_MAX - 1, "one", "x"));
	FAILS(GROVE_EACCESS, update(f, reader, 0, "one", "x"));
	FAILS(GROVE_EINVAL, grove__log_update(log, 0, str("one"), &lf, GROVE_CHANGE_UPDATE,
					      GROVE_SYNC_NONE, &f->d));
	after = stat_of(f, log);
	assert_int_equal(after.generation, before.generation);
	assert_int_equal(after.base, before.base);
	assert_bytes(f, log, "one\ntwo\n");
	/* no change of another writer is lost */
	OK(update(f, log, 0, "one", "first"));
	FAILS(GROVE_ECONFLICT, update(f, log, 0, "one", "second"));
	assert_bytes(f, log, "first\ntwo\n");
out:
	grove__log_close(reader);
	grove__log_close(log);
}

static void long_lines_can_be_updated_too(void **state)
{
	struct fixture *f = *state;
	struct grove_store_log *log =
		make_log(f, key_of("p", "a.jsonl"), LINES("one", "two", "three"));
	struct grove_store_record huge, other, small = entry_of("2", "e", "");
	struct hard h;
	char buf[8], *copy;

	hard_make(&h);
	huge = other =
		(struct grove_store_record){ .line = h.line[HARD_HUGE], .id = str("e"), .kind = 2 };
	if (!f->kind->feed) {
		FAILS(GROVE_ENOTSUP, grove__log_update(log, 1, str("two"), &huge, GROVE_CHANGE_UPDATE,
						       GROVE_SYNC_NONE, &f->d));
		goto out;
	}
	OK(grove__log_update(log, 1, str("two"), &huge, GROVE_CHANGE_UPDATE, GROVE_SYNC_ALWAYS, &f->d));
	assert_int_equal(stat_of(f, log).bytes, 4 + huge.line.len + 1 + 6);
	OK(grove__log_fetch(log, 1, huge.line.len - 8, buf, 8, &f->d));
	assert_memory_equal(buf, huge.line.ptr + huge.line.len - 8, 8);
	/* differs only in its last byte */
	copy = malloc(huge.line.len);
	assert_non_null(copy);
	memcpy(copy, huge.line.ptr, huge.line.len);
	copy[huge.line.len - 1] ^= 1;
	other.line = grove__slice(copy, huge.line.len);
	FAILS(GROVE_ECONFLICT, grove__log_update(log, 1, other.line, &huge, GROVE_CHANGE_UPDATE,
						 GROVE_SYNC_NONE, &f->d));
	OK(grove__log_update(log, 1, huge.line, &other, GROVE_CHANGE_UPDATE, GROVE_SYNC_NONE, &f->d));
	/* what was fetched before has changed */
	OK(grove__log_fetch(log, 1, huge.line.len - 8, buf, 8, &f->d));
	assert_memory_equal(buf, copy + huge.line.len - 8, 8);
	OK(grove__log_update(log, 1, other.line, &small, GROVE_CHANGE_UPDATE, GROVE_SYNC_NONE, &f->d));
	free(copy);
	assert_bytes(f, log, "one\n2\nthree\n");
	for (size_t i = 0; i < h.nr; i++) {
		struct grove_store_record rec = { .line = h.line[i] };

		OK(grove__log_update(log, 0, i ? h.line[i - 1] : str("one"), &rec, GROVE_CHANGE_UPDATE,
				     GROVE_SYNC_NONE, &f->d));
		assert_int_equal(stat_of(f, log).bytes, rec.line.len + 1 + 2 + 6);
	}
out:
	free(h.huge);
	grove__log_close(log);
}

static void a_last_line_stays_unfinished_when_it_is_updated(void **state)
{
	struct fixture *f = *state;
	struct grove_key key = key_of("p", "a.jsonl");
	struct grove_store_log *log = make_log(f, key, LINES("one", "two"));
	struct grove_store_appended out = { .pad = 0 };

	if (!f->kind->open_end) {
		/* elsewhere this value has no special meaning, or there are no values */
		assert_bytes(f, log, "one\ntwo\n");
		grove__log_close(log);
		return;
	}
	OK(grove__log_meta_put(log, GROVE__META_UNFINISHED, str("1"), &f->d));
	assert_bytes(f, log, "one\ntwo");
	OK(update(f, log, 0, "one", "the first"));
	assert_bytes(f, log, "the first\ntwo");
	OK(update(f, log, 1, "two", "the second"));
	assert_bytes(f, log, "the first\nthe second");
	OK(update(f, log, 1, "the second", ""));
	assert_bytes(f, log, "the first\n");
	OK(update(f, log, 1, "", "2"));
	OK(add(f, log, str("three"), 2, &out));
	assert_int_equal(out.pad, 1);
	assert_bytes(f, log, "the first\n2\nthree\n");
	OK(update(f, log, 1, "2", "second"));
	assert_bytes(f, log, "the first\nsecond\nthree\n");
	grove__log_close(log);
}

static void a_cut_after_updates_leaves_the_right_length(void **state)
{
	struct fixture *f = *state;
	struct grove_store_log *log =
		make_log(f, key_of("p", "a.jsonl"), LINES("a", "bb", "ccc", "dddd"));
	struct grove_store_appended out;

	if (!f->kind->feed) {
		FAILS(GROVE_ENOTSUP, update(f, log, 0, "a", "aaaaaaaa"));
		grove__log_close(log);
		return;
	}
	OK(update(f, log, 1, "bb", "BBBBBBBBBB"));
	OK(update(f, log, 2, "ccc", ""));
	/* a line that was updated becomes the last one */
	OK(grove__log_cut(log, 3, 4, GROVE_SYNC_NONE, &f->d));
	assert_bytes(f, log, "a\nBBBBBBBBBB\n\n");
	OK(add(f, log, str("more"), 3, &out));
	assert_bytes(f, log, "a\nBBBBBBBBBB\n\nmore\n");
	OK(update(f, log, 2, "", "c"));
	OK(grove__log_cut(log, 2, 4, GROVE_SYNC_NONE, &f->d));
	assert_bytes(f, log, "a\nBBBBBBBBBB\n");
	OK(update(f, log, 0, "a", "long and longer"));
	OK(grove__log_cut(log, 2, 2, GROVE_SYNC_NONE, &f->d));
	assert_bytes(f, log, "long and longer\nBBBBBBBBBB\n");
	OK(grove__log_cut(log, 0, 2, GROVE_SYNC_NONE, &f->d));
	assert_int_equal(stat_of(f, log).bytes, 0);
	OK(add(f, log, str("anew"), 0, &out));
	assert_bytes(f, log, "anew\n");
	grove__log_close(log);
}

/* A log as a simple array. */
struct model {
	char line[200][48];
	size_t nr;
};

static unsigned dice(uint64_t *seed, unsigned sides)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)((*seed >> 33) % sides);
}

static void any_line(uint64_t *seed, char out[48])
{
	int len = (int)dice(seed, 40);

	for (int i = 0; i < len; i++)
		out[i] = (char)('a' + dice(seed, 26));
	out[len] = '\0';
}

/* Takes one step on the log and on the model. */
static void one_step(struct fixture *f, struct grove_store_log *log, struct model *m,
		     uint64_t *seed)
{
	struct grove_store_record rec[3];
	struct rewriting r = { .rec = rec };
	struct grove_store_appended out;
	char line[48];
	unsigned what = dice(seed, 20);
	size_t at = m->nr ? dice(seed, (unsigned)m->nr) : 0;

	any_line(seed, line);
	if (what < 8 && m->nr < ARRAY(m->line)) {
		OK(add(f, log, str(line), m->nr, &out));
		memcpy(m->line[m->nr++], line, sizeof(line));
	} else if (what < 16 && m->nr) {
		OK(update(f, log, at, m->line[at], line));
		memcpy(m->line[at], line, sizeof(line));
	} else if (what < 18 && m->nr) {
		at = m->nr - (m->nr - at) % 5;
		OK(grove__log_cut(log, at, m->nr, GROVE_SYNC_NONE, &f->d));
		m->nr = at;
	} else if (what == 18) {
		for (r.nr = 0; r.nr < m->nr && r.nr < 3; r.nr++)
			rec[r.nr] = entry_of(m->line[r.nr], "", "");
		OK(grove__log_rewrite(log, next_rewritten, &r, m->nr, GROVE_STORE_FORCE, &f->d));
		m->nr = r.nr;
	} else if (m->nr && f->kind->open_end && what == 19) {
		OK(grove__log_meta_put(log, GROVE__META_UNFINISHED, str("1"), &f->d));
		OK(grove__log_meta_put(log, GROVE__META_UNFINISHED, str(""), &f->d));
	}
}

static void whatever_is_done_the_log_is_what_it_should_be(void **state)
{
	struct fixture *f = *state;
	struct grove_store_log *log = make_log(f, key_of("p", "a.jsonl"), NULL, 0);
	uint64_t first = (uint64_t)getpid() * 2654435761u, seed = first, rev = 0, now;
	struct model *m = calloc(1, sizeof(*m));

	assert_non_null(m);
	if (!f->kind->feed) {
		FAILS(GROVE_ENOTSUP, update(f, log, 0, "", "x"));
		goto out;
	}
	for (int i = 0; i < 250; i++) {
		struct read_lines l;
		bool same;

		one_step(f, log, m, &seed);
		l = read_all(f, log, 16384);
		same = l.nr == m->nr;
		for (size_t k = 0; k < m->nr && same; k++)
			same = grove__slice_eq(grove__buf_slice(&l.line[k].bytes), str(m->line[k]));
		now = rev_of(f, log);
		if (!same || now < rev)
			fail_msg("seed %llu, step %d", (unsigned long long)first, i);
		rev = now;
		free_lines(&l);
	}
out:
	free(m);
	grove__log_close(log);
}

struct adder {
	struct fixture *f;
	unsigned times;
	int rc;
};

/* Adds one to the number in the first line, `times` times, while others do the same. */
static void *add_up(void *arg)
{
	struct adder *a = arg;
	struct grove_key key = key_of("p", "a.jsonl");
	struct grove_store_log *log = NULL;
	struct grove_store_run run;
	char was[32], line[32];

	a->rc = grove__log_open(&log, a->f->st, &key, GROVE_STORE_WRITE, NULL);
	while (!a->rc && a->times) {
		struct grove_store_record rec = entry_of("", "n", "");

		a->rc = grove__log_read(log, 0, 1, was, sizeof(was), &run, NULL);
		if (a->rc)
			break;
		was[run.len - 1] = '\0';
		snprintf(line, sizeof(line), "%d", atoi(was) + 1);
		rec.line = str(line);
		a->rc = grove__log_update(log, 0, str(was), &rec, GROVE_CHANGE_UPDATE, GROVE_SYNC_NONE,
					  NULL);
		a->times -= !a->rc;
		if (a->rc == GROVE_ECONFLICT)
			a->rc = 0;
	}
	grove__log_close(log);
	return NULL;
}

static void of_those_who_update_at_once_none_is_lost(void **state)
{
	enum { TIMES = 20 };
	struct fixture *f = *state;
	struct grove_store_log *log = make_log(f, key_of("p", "a.jsonl"), LINES("0", "x"));
	struct adder adder[4];
	pthread_t thread[ARRAY(adder)];
	uint64_t base = stat_of(f, log).base;

	if (!f->kind->feed) {
		FAILS(GROVE_ENOTSUP, update(f, log, 0, "0", "1"));
		grove__log_close(log);
		return;
	}
	for (size_t i = 0; i < ARRAY(adder); i++) {
		adder[i] = (struct adder){ f, TIMES, 0 };
		assert_int_equal(pthread_create(&thread[i], NULL, add_up, &adder[i]), 0);
	}
	for (size_t i = 0; i < ARRAY(adder); i++) {
		pthread_join(thread[i], NULL);
		assert_int_equal(adder[i].rc, 0);
	}
	assert_bytes(f, log, "80\nx\n");
	assert_int_equal(stat_of(f, log).base, base + ARRAY(adder) * TIMES);
	grove__log_close(log);
}

/* ----------------------------------------------------------------- changes */

struct told {
	struct grove_store_change list[32];
	char id[32][300];
	size_t nr, stop;         /* `stop`: end after so many changes; 0: never */
};

static int take_change(void *payload, const struct grove_store_change *c)
{
	struct told *t = payload;

	assert_true(t->nr < ARRAY(t->list));
	t->list[t->nr] = *c;
	snprintf(t->id[t->nr], sizeof(t->id[0]), "%.*s", (int)c->id.len, c->id.len ? c->id.ptr : "");
	return ++t->nr == t->stop ? 1 : 0;
}

static void ask_changes(struct fixture *f, struct grove_store_log *log, uint64_t since,
			struct told *t)
{
	memset(t, 0, sizeof(*t));
	OK(grove__log_changes(log, since, take_change, t, &f->d));
}

/* Asserts that there are `nr` changes, and that the last one, just made, is this one. */
static void assert_last(struct fixture *f, struct grove_store_log *log, size_t nr,
			enum grove_change_kind kind, const char *id)
{
	struct told t;

	ask_changes(f, log, 0, &t);
	assert_int_equal(t.nr, nr);
	assert_int_equal(t.list[nr - 1].kind, kind);
	assert_string_equal(t.id[nr - 1], id);
	assert_int_equal(t.list[nr - 1].rev, rev_of(f, log));
	assert_int_equal(t.list[nr - 1].lines, count_lines(f, log));
	for (size_t i = 1; i < nr; i++)
		assert_true(t.list[i].rev > t.list[i - 1].rev);
}

static void a_store_without_a_record_of_changes_says_so(void **state)
{
	struct fixture *f = *state;
	struct grove_store_log *log = make_log(f, key_of("p", "a.jsonl"), LINES("one", "two"));
	struct told t = { .nr = 0 };

	if (f->kind->feed) {
		OK(grove__log_changes(log, 0, take_change, &t, &f->d));
		OK(grove__log_changes(log, UINT64_MAX, take_change, &t, &f->d));
	} else {
		FAILS(GROVE_ENOTSUP, grove__log_changes(log, 0, take_change, &t, &f->d));
	}
	assert_int_equal(t.nr, 0);
	if (!f->kind->traced)
		assert_int_equal(grove__log_has_changes(log), f->kind->feed);
	grove__log_close(log);
}

static void every_change_is_told_in_its_order(void **state)
{
	struct fixture *f = *state;
	struct grove_key key = key_of("p", "a.jsonl"), to = key_of("q", "b.jsonl");
	struct grove_store_log *log = make_log(f, key, LINES("one", "two"));
	struct grove_store_record name = entry_of("renamed", "n1", "");
	struct grove_store_appended out;
	uint64_t rev = rev_of(f, log);

	if (!f->kind->feed) {
		FAILS(GROVE_ENOTSUP, grove__log_changes(log, 0, take_change, NULL, &f->d));
		grove__log_close(log);
		return;
	}
	OK(grove__log_meta_put(log, "leaf", str("e9"), &f->d));
	assert_last(f, log, 1, GROVE_CHANGE_LEAF, "");
	assert_int_equal(rev_of(f, log), rev + 1);
	OK(add(f, log, str("three"), 2, &out));
	assert_int_equal(rev_of(f, log), rev + 2);
	OK(update(f, log, 0, "one", "the first"));
	assert_last(f, log, 2, GROVE_CHANGE_UPDATE, "e1");
	assert_int_equal(rev_of(f, log), rev + 3);
	OK(grove__log_update(log, 1, str("two"), &name, GROVE_CHANGE_NAME, GROVE_SYNC_NONE, &f->d));
	assert_last(f, log, 3, GROVE_CHANGE_NAME, "n1");
	OK(grove__log_meta_put(log, "name", str("a name"), &f->d));
	assert_last(f, log, 4, GROVE_CHANGE_NAME, "");
	OK(grove__log_meta_put(log, "something", str("else"), &f->d));
	assert_last(f, log, 5, GROVE_CHANGE_VALUE, "");
	/* writing the same value again is a change, too */
	OK(grove__log_meta_put(log, "something", str("else"), &f->d));
	assert_last(f, log, 6, GROVE_CHANGE_VALUE, "");
	OK(grove__log_replace(log, 2, str("THREE"), GROVE_SYNC_NONE, &f->d));
	assert_last(f, log, 7, GROVE_CHANGE_NAME, "");
	OK(grove__store_rename(f->st, &key, &to, &f->d));
	assert_last(f, log, 8, GROVE_CHANGE_VALUE, "");
	assert_int_equal(rev_of(f, log), rev + 9);
	/* these values are not changes of the session */
	if (f->kind->open_end) {
		OK(grove__log_meta_put(log, "dialect", str("pi"), &f->d));
		OK(grove__log_meta_put(log, GROVE__META_UNFINISHED, str("1"), &f->d));
		assert_last(f, log, 8, GROVE_CHANGE_VALUE, "");
	}
	grove__log_close(log);
}

static void changes_are_told_from_where_the_listener_is(void **state)
{
	struct fixture *f = *state;
	struct grove_store_log *log = make_log(f, key_of("p", "a.jsonl"), LINES("one", "two"));
	struct grove_store_appended out;
	struct told all, t;

	if (!f->kind->feed) {
		FAILS(GROVE_ENOTSUP, grove__log_changes(log, 5, take_change, NULL, &f->d));
		grove__log_close(log);
		return;
	}
	for (int i = 0; i < 6; i++) {
		OK(grove__log_meta_put(log, i % 2 ? "leaf" : "name", str("x"), &f->d));
		OK(add(f, log, str("line"), GROVE_ANY_POS, &out));
		OK(add(f, log, str("line"), GROVE_ANY_POS, &out));
	}
	ask_changes(f, log, 0, &all);
	assert_int_equal(all.nr, 6);
	for (size_t i = 0; i < all.nr; i++) {
		/* asked from the change itself, or from just after it: this change comes first */
		for (uint64_t more = 0; more < 3; more++) {
			ask_changes(f, log, all.list[i].rev + more, &t);
			assert_int_equal(t.nr, all.nr - i);
			assert_int_equal(t.list[0].rev, all.list[i].rev);
			assert_int_equal(t.list[t.nr - 1].rev, all.list[5].rev);
		}
	}
	ask_changes(f, log, all.list[0].rev - 1, &t);
	assert_int_equal(t.nr, 6);
	ask_changes(f, log, UINT64_MAX, &t);
	assert_int_equal(t.nr, 1);
	assert_int_equal(t.list[0].rev, all.list[5].rev);
	/* a listener that stops */
	memset(&t, 0, sizeof(t));
	t.stop = 2;
	assert_int_equal(grove__log_changes(log, 0, take_change, &t, &f->d), 1);
	assert_int_equal(t.nr, 2);
	grove__log_close(log);
}

static void a_reset_is_the_first_change_that_is_known(void **state)
{
	struct fixture *f = *state;
	struct grove_key key = key_of("p", "a.jsonl");
	struct grove_store_log *log = make_log(f, key, LINES("one", "two", "three", "four"));
	struct grove_store_record rec[2] = { entry_of("ONE", "e1", ""),
					     entry_of("TWO", "e2", "e1") };
	struct rewriting r = { rec, 2, 0 };
	struct told t;
	uint64_t rev;

	if (!f->kind->feed) {
		/* a rewrite is reported only by another base */
		uint64_t base = stat_of(f, log).base;

		OK(grove__log_rewrite(log, next_rewritten, &r, tail_of(f, log), 0, &f->d));
		assert_int_not_equal(stat_of(f, log).base, base);
		grove__log_close(log);
		return;
	}
	OK(grove__log_meta_put(log, "leaf", str("x"), &f->d));
	OK(update(f, log, 0, "one", "1"));
	rev = rev_of(f, log);
	OK(grove__log_rewrite(log, next_rewritten, &r, 4, 0, &f->d));
	assert_true(rev_of(f, log) > rev);
	assert_last(f, log, 1, GROVE_CHANGE_RESET, "");
	ask_changes(f, log, rev, &t);
	assert_int_equal(t.nr, 1);
	OK(grove__log_meta_put(log, "leaf", str("y"), &f->d));
	assert_last(f, log, 2, GROVE_CHANGE_LEAF, "");
	ask_changes(f, log, 0, &t);
	assert_int_equal(t.list[0].kind, GROVE_CHANGE_RESET);
	assert_int_equal(t.list[0].lines, 2);
	rev = rev_of(f, log);
	OK(grove__log_cut(log, 1, 2, GROVE_SYNC_NONE, &f->d));
	assert_true(rev_of(f, log) > rev);
	assert_last(f, log, 1, GROVE_CHANGE_RESET, "");
	/* a call that fails is not a change */
	rev = rev_of(f, log);
	FAILS(GROVE_ECONFLICT, grove__log_cut(log, 0, 2, GROVE_SYNC_NONE, &f->d));
	r.at = 0;
	FAILS(GROVE_ECONFLICT, grove__log_rewrite(log, next_rewritten, &r, 4, 0, &f->d));
	FAILS(GROVE_ECONFLICT, update(f, log, 0, "other", "x"));
	assert_int_equal(rev_of(f, log), rev);
	assert_last(f, log, 1, GROVE_CHANGE_RESET, "");
	grove__log_close(log);
}

static void a_log_that_was_made_anew_has_no_changes(void **state)
{
	struct fixture *f = *state;
	struct grove_key key = key_of("p", "a.jsonl");
	struct grove_store_log *log = make_log(f, key, LINES("one"));
	struct told t;

	if (!f->kind->feed) {
		FAILS(GROVE_ENOTSUP, grove__log_changes(log, 0, take_change, &t, &f->d));
		grove__log_close(log);
		return;
	}
	OK(grove__log_meta_put(log, "leaf", str("x"), &f->d));
	OK(grove__store_remove(f->st, &key, &f->d));
	grove__log_close(log);
	log = make_log(f, key, LINES("again"));
	ask_changes(f, log, 0, &t);
	assert_int_equal(t.nr, 0);
	assert_int_equal(rev_of(f, log), 1);
	OK(grove__log_meta_put(log, "leaf", str("y"), &f->d));
	assert_last(f, log, 1, GROVE_CHANGE_LEAF, "");
	grove__log_close(log);
}

static void lines_behind_the_others_leave_the_base_alone(void **state)
{
	struct fixture *f = *state;
	struct grove_key key = key_of("p", "a.jsonl");
	struct grove_store_log *log = make_log(f, key, LINES("one")), *reader;
	uint64_t base = stat_of(f, log).base, rev = rev_of(f, log);
	struct grove_store_record rec[3] = { entry_of("a", "a", ""), entry_of("b", "b", "a"),
					     entry_of("c", "c", "b") };
	struct grove_store_appended out;

	reader = open_log(f, key, GROVE_STORE_READ);
	assert_int_equal(stat_of(f, reader).base, base);
	OK(grove__log_append(log, rec, 3, GROVE_ANY_POS, GROVE_SYNC_NONE, &out, &f->d));
	assert_int_equal(stat_of(f, log).base, base);
	assert_int_equal(stat_of(f, reader).base, base);
	assert_int_equal(rev_of(f, log), rev + 3);
	grove__log_close(reader);
	grove__log_close(log);
}

/* ------------------------------------------------------ appends on a base */

static int add_on(struct fixture *f, struct grove_store_log *log, const char *line, uint64_t expect,
		  uint64_t base)
{
	struct grove_store_record rec[2] = { entry_of(line, "e1", ""), entry_of(line, "e2", "e1") };
	struct grove_store_appended out;

	return grove__log_append_on(log, rec, ARRAY(rec), expect, base, GROVE_SYNC_NONE, &out, &f->d);
}

static void an_append_on_another_base_is_refused(void **state)
{
	struct fixture *f = *state;
	struct grove_key key = key_of("p", "a.jsonl");
	struct grove_store_log *log = make_log(f, key, LINES("one")),
			       *other = open_log(f, key, GROVE_STORE_WRITE);
	uint64_t base = stat_of(f, log).base, tail = tail_of(f, log);
	struct grove_store_appended out;

	OK(add_on(f, log, "a", tail, base));
	if (!f->kind->feed) {
		/* a file store has no base that other changes could move */
		OK(add_on(f, log, "b", tail_of(f, log), base + 1));
		assert_log(f, log, LINES("one", "a", "a", "b", "b"));
		goto out;
	}
	/* each of these is a change, whichever handle made it */
	OK(grove__log_meta_put(other, "leaf", str("3 e1"), &f->d));
	FAILS(GROVE_ECONFLICT, add_on(f, log, "no", 3, base));
	FAILS(GROVE_ECONFLICT, add_on(f, log, "no", GROVE_ANY_POS, base));
	FAILS(GROVE_ECONFLICT, add_on(f, other, "no", 3, base));
	FAILS(GROVE_ECONFLICT, grove__log_append_on(log, NULL, 0, 3, base, GROVE_SYNC_NONE, &out, &f->d));
	base = stat_of(f, log).base;
	OK(add_on(f, log, "b", 3, base));
	OK(update(f, other, 0, "one", "1"));
	FAILS(GROVE_ECONFLICT, add_on(f, log, "no", 5, base));
	base = stat_of(f, log).base;
	OK(grove__log_meta_put(log, "anything", str("x"), &f->d));
	FAILS(GROVE_ECONFLICT, add_on(f, log, "no", 5, base));
	/* who does not ask for a base is not refused, and who knows the present one may append */
	OK(add(f, log, str("c"), 5, &out));
	OK(add_on(f, log, "d", 6, GROVE_ANY_BASE));
	OK(add_on(f, log, "e", 8, stat_of(f, log).base));
	/* this is found out about the log, and does not change it */
	base = stat_of(f, log).base;
	OK(grove__log_meta_put(other, "dialect", str("pi"), &f->d));
	OK(grove__log_meta_put(other, GROVE__META_UNFINISHED, str("1"), &f->d));
	OK(add_on(f, log, "f", 10, base));
	/* lines of another writer move the tail, not the base */
	OK(add(f, other, str("g"), 12, &out));
	FAILS(GROVE_ECONFLICT, add_on(f, log, "no", 12, base));
	OK(add_on(f, log, "h", 13, base));
	assert_log(f, log, LINES("1", "a", "a", "b", "b", "c", "d", "d", "e", "e", "f", "f", "g", "h", "h"));
out:
	grove__log_close(other);
	grove__log_close(log);
}

struct mover {
	struct fixture *f;
	unsigned times;
	int rc;
};

static void *move_leaf(void *arg)
{
	struct mover *m = arg;
	struct grove_key key = key_of("p", "a.jsonl");
	struct grove_store_log *log = NULL;

	m->rc = grove__log_open(&log, m->f->st, &key, GROVE_STORE_WRITE, NULL);
	for (; !m->rc && m->times; m->times--)
		m->rc = grove__log_meta_put(log, "leaf", str("x"), NULL);
	grove__log_close(log);
	return NULL;
}

/* Returns how many changes there had been when the log had `lines` lines. */
static uint64_t changes_before(const struct told *t, uint64_t lines)
{
	uint64_t nr = 0;

	for (size_t i = 0; i < t->nr; i++)
		nr += t->list[i].lines <= lines;
	return nr;
}

/* Each line contains the base on which it was stored; the changes show which base that was. */
static void no_change_slips_in_before_an_append(void **state)
{
	enum { TIMES = 15, APPENDS = 40 };
	struct fixture *f = *state;
	struct grove_store_log *log = make_log(f, key_of("p", "a.jsonl"), LINES("0"));
	struct mover mover[2] = { { f, TIMES, 0 }, { f, TIMES, 0 } };
	pthread_t thread[ARRAY(mover)];
	uint64_t base = stat_of(f, log).base;
	struct read_lines l;
	struct told t;

	if (!f->kind->feed) {
		FAILS(f->kind->meta ? 0 : GROVE_ENOTSUP, grove__log_meta_put(log, "leaf", str("x"), &f->d));
		grove__log_close(log);
		return;
	}
	for (size_t i = 0; i < ARRAY(mover); i++)
		assert_int_equal(pthread_create(&thread[i], NULL, move_leaf, &mover[i]), 0);
	for (unsigned n = 0; n < APPENDS;) {
		struct grove_store_log_stat st = stat_of(f, log);
		struct grove_store_record rec = { .kind = 0 };
		struct grove_store_appended out;
		char line[32];
		int rc;

		snprintf(line, sizeof(line), "%llu", (unsigned long long)(st.base - base));
		rec.line = str(line);
		rc = grove__log_append_on(log, &rec, 1, st.tail, st.base, GROVE_SYNC_NONE, &out, &f->d);
		assert_true(!rc || rc == GROVE_ECONFLICT);
		n += !rc;
	}
	for (size_t i = 0; i < ARRAY(mover); i++) {
		pthread_join(thread[i], NULL);
		assert_int_equal(mover[i].rc, 0);
	}
	ask_changes(f, log, 0, &t);
	assert_int_equal(t.nr, ARRAY(mover) * TIMES);
	l = read_all(f, log, 4096);
	assert_int_equal(l.nr, APPENDS + 1);
	for (size_t i = 1; i < l.nr; i++)
		assert_int_equal(strtoull(l.line[i].bytes.ptr, NULL, 10), changes_before(&t, i));
	free_lines(&l);
	grove__log_close(log);
}

static void a_value_on_another_base_or_tail_is_refused(void **state)
{
	struct fixture *f = *state;
	struct grove_key key = key_of("p", "a.jsonl");
	struct grove_store_log *log = make_log(f, key, LINES("one")),
			       *other = open_log(f, key, GROVE_STORE_WRITE);
	uint64_t base = stat_of(f, log).base, tail = tail_of(f, log);
	struct grove_store_appended out;

	if (!f->kind->feed)
		goto out;
	OK(grove__log_meta_put_on(log, "leaf", str("1 e1"), tail, base, &f->d));
	FAILS(GROVE_ECONFLICT, grove__log_meta_put_on(other, "leaf", str("1 e2"), tail, base, &f->d));
	base = stat_of(f, log).base;
	OK(add(f, other, str("two"), tail, &out));
	FAILS(GROVE_ECONFLICT, grove__log_meta_put_on(log, "leaf", str("1 e3"), tail, base, &f->d));
	assert_int_equal(stat_of(f, log).base, base);
	OK(grove__log_meta_put_on(log, "leaf", str("2 e4"), tail_of(f, log), base, &f->d));
	assert_last(f, log, 2, GROVE_CHANGE_LEAF, "");
out:
	grove__log_close(other);
	grove__log_close(log);
}

const struct CMUnitTest change_cases[] = {
	CASE(a_store_that_cannot_update_says_so),
	CASE(a_line_can_become_one_of_another_length),
	CASE(an_update_wants_the_line_to_be_what_it_was),
	CASE(long_lines_can_be_updated_too),
	CASE(a_last_line_stays_unfinished_when_it_is_updated),
	CASE(a_cut_after_updates_leaves_the_right_length),
	CASE(whatever_is_done_the_log_is_what_it_should_be),
	CASE(of_those_who_update_at_once_none_is_lost),
	CASE(a_store_without_a_record_of_changes_says_so),
	CASE(every_change_is_told_in_its_order),
	CASE(changes_are_told_from_where_the_listener_is),
	CASE(a_reset_is_the_first_change_that_is_known),
	CASE(a_log_that_was_made_anew_has_no_changes),
	CASE(lines_behind_the_others_leave_the_base_alone),
	CASE(an_append_on_another_base_is_refused),
	CASE(no_change_slips_in_before_an_append),
	CASE(a_value_on_another_base_or_tail_is_refused),
};
const size_t nr_change_cases = ARRAY(change_cases);
