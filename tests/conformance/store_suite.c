/*
 * tests/conformance/store_suite.c: what every store must do.
 *
 * Each case gets a store of its own, empty. What differs from store to store
 * (positions by line or by byte, values kept or not) is said by its row in the
 * table and expected, never passed over.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "store/store.h"
#include "store_suite.h"

#include "../lib/scratch.h"

#define str grove__slice_str
#define ARRAY(a) (sizeof(a) / sizeof(*(a)))

/* ------------------------------------------------------------ the fixture */

struct fixture {
	const struct store_kind *kind;
	char dir[256];
	struct grove_store *st;
	unsigned traced;         /* lines the trace told; atomic */
	struct grove_detail d;
};

static void on_trace(void *payload, const char *line)
{
	struct fixture *f = payload;

	assert_non_null(strchr(line, '.'));
	assert_null(strchr(line, '\n'));
	__atomic_add_fetch(&f->traced, 1, __ATOMIC_RELAXED);
}

static int set_up(void **state)
{
	const struct store_kind *kind = *state;
	struct fixture *f = calloc(1, sizeof(*f));
	struct grove_store *inner;
	char url[512];

	assert_non_null(f);
	f->kind = kind;
	scratch_make(f->dir, sizeof(f->dir));
	if (kind->env)
		snprintf(url, sizeof(url), "%s", getenv(kind->env));
	else
		snprintf(url, sizeof(url), kind->url, f->dir);
	if (grove__store_open(&f->st, url, &f->d))
		fail_msg("%s: %s", url, f->d.message);
	if (kind->traced) {
		inner = f->st;
		assert_int_equal(grove__store_trace_open(&f->st, inner, on_trace, f, &f->d), 0);
		assert_string_equal(f->st->url, inner->url);
	}
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	grove__store_close(f->st);
	scratch_remove(f->dir);
	free(f);
	return 0;
}

/* A call that must end with `code`; where that is an error, it must say why. */
static void check(struct fixture *f, int rc, int code, const char *what, const char *file, int line)
{
	if (rc != code) {
		print_error("%s:%d: %s: %d (%s), not %d\n", file, line, what, rc,
			    rc < 0 ? f->d.message : "", code);
		_fail(file, line);
	}
	if (code < 0 && (f->d.code != code || !*f->d.message)) {
		print_error("%s:%d: %s: the detail says %d \"%s\"\n", file, line, what, f->d.code,
			    f->d.message);
		_fail(file, line);
	}
	memset(&f->d, 0, sizeof(f->d));
}

#define FAILS(code, call) check(f, call, code, #call, __FILE__, __LINE__)
#define OK(call) FAILS(0, call)

static struct grove_key key_of(const char *project, const char *session)
{
	return (struct grove_key){ project, session, "" };
}

static struct grove_log *open_log(struct fixture *f, struct grove_key key, unsigned flags)
{
	struct grove_log *log = NULL;

	OK(grove__log_open(&log, f->st, &key, flags, &f->d));
	assert_non_null(log);
	assert_ptr_equal(log->store, f->st);
	return log;
}

/* A new log with these lines in it, open for writing. */
static struct grove_log *make_log(struct fixture *f, struct grove_key key, const char *const *line,
				  size_t nr)
{
	struct grove_log *log = open_log(f, key, GROVE_LOG_CREATE);
	struct grove_appended out;

	for (size_t i = 0; i < nr; i++) {
		struct grove_record rec = { .line = str(line[i]) };

		OK(grove__log_append(log, &rec, 1, GROVE_ANY_POS, GROVE_SYNC_NONE, &out, &f->d));
	}
	return log;
}

static int add(struct fixture *f, struct grove_log *log, struct grove_slice line, uint64_t expect,
	       struct grove_appended *out)
{
	struct grove_record rec = { .line = line, .id = str("id"), .parent = str("parent"),
				    .time = 12345, .kind = GROVE_KIND_MESSAGE,
				    .role = GROVE_ROLE_USER };

	return grove__log_append(log, &rec, 1, expect, GROVE_SYNC_NONE, out, &f->d);
}

static uint64_t tail_of(struct fixture *f, struct grove_log *log)
{
	struct grove_log_stat st;

	OK(grove__log_stat(log, &st, &f->d));
	return st.tail;
}

static uint64_t generation_of(struct fixture *f, struct grove_log *log)
{
	struct grove_log_stat st;

	OK(grove__log_stat(log, &st, &f->d));
	return st.generation;
}

/* ---------------------------------------------------------------- reading */

struct read_line {
	uint64_t pos;
	struct grove_buf bytes;
};

struct read_lines {
	struct read_line *line;
	size_t nr, cap;
	bool open;        /* the last one has no LF yet */
};

static struct read_line *next_line(struct read_lines *l, uint64_t pos)
{
	if (l->nr == l->cap) {
		l->cap = l->cap ? 2 * l->cap : 64;
		l->line = realloc(l->line, l->cap * sizeof(*l->line));
		assert_non_null(l->line);
	}
	l->line[l->nr] = (struct read_line){ pos, GROVE_BUF_INIT };
	return &l->line[l->nr++];
}

static void free_lines(struct read_lines *l)
{
	for (size_t i = 0; i < l->nr; i++)
		grove__buf_release(&l->line[i].bytes);
	free(l->line);
}

/* Take a run apart into lines; pieces of a long line are put together. */
static void take_run(struct fixture *f, struct read_lines *l, const struct grove_run *run,
		     const char *buf)
{
	const char *p = buf, *end = buf + run->len;

	for (uint64_t i = 0; p < end; i++) {
		const char *lf = memchr(p, '\n', (size_t)(end - p)), *stop = lf ? lf : end;
		struct read_line *x;

		if (l->open)
			x = &l->line[l->nr - 1];
		else
			x = next_line(l, run->pos + (f->kind->by_line ? i
								      : (uint64_t)(p - buf)));
		OK(grove__buf_add(&x->bytes, p, (size_t)(stop - p)));
		l->open = !lf;
		p = stop + (lf ? 1 : 0);
	}
}

/* From `pos` to `until` with a buffer of `cap` bytes, made larger only where the store asks. */
static struct read_lines read_lines(struct fixture *f, struct grove_log *log, uint64_t pos,
				    uint64_t until, size_t cap)
{
	struct read_lines l = { NULL, 0, 0, false };
	struct grove_run run;
	char *buf = malloc(cap);

	assert_non_null(buf);
	do {
		memset(&run, 0xee, sizeof(run));
		OK(grove__log_read(log, pos, until, buf, cap, &run, &f->d));
		assert_int_equal(run.by_line, f->kind->by_line);
		assert_int_equal(run.pos, pos);
		assert_in_range(run.len, 0, cap);
		if (run.open && run.by_line) {
			/* nothing was read: come with a larger buffer */
			assert_int_equal(run.len, 0);
			assert_int_equal(run.next, pos);
			assert_int_equal(run.end, 0);
			buf = realloc(buf, cap *= 2);
			assert_non_null(buf);
			continue;
		}
		if (run.open) {
			/* a piece without an end */
			assert_true(run.len > 0);
			assert_null(memchr(buf, '\n', run.len));
		} else if (!run.end) {
			/* whole lines */
			assert_true(run.len > 0);
			assert_int_equal(buf[run.len - 1], '\n');
		}
		assert_true(run.next > pos || run.end);
		assert_int_equal(run.end, run.next == until);
		take_run(f, &l, &run, buf);
		pos = run.next;
	} while (!run.end);
	free(buf);
	assert_false(l.open);
	return l;
}

static struct read_lines read_all(struct fixture *f, struct grove_log *log, size_t cap)
{
	return read_lines(f, log, 0, tail_of(f, log), cap);
}

static void assert_line(const struct read_line *x, struct grove_slice want)
{
	assert_int_equal(x->bytes.len, want.len);
	if (want.len)
		assert_memory_equal(x->bytes.ptr, want.ptr, want.len);
}

static void assert_log(struct fixture *f, struct grove_log *log, const char *const *line, size_t nr)
{
	struct read_lines l = read_all(f, log, 4096);

	assert_int_equal(l.nr, nr);
	for (size_t i = 0; i < nr; i++)
		assert_line(&l.line[i], str(line[i]));
	free_lines(&l);
}

#define LINES(...) (const char *const[]){ __VA_ARGS__ }, ARRAY(((const char *const[]){ __VA_ARGS__ }))

/* ----------------------------------------------------------- open, create */

static void creating_is_exclusive(void **state)
{
	struct fixture *f = *state;
	struct grove_key key = key_of("--w-p--", "a.jsonl");
	struct grove_log *log = make_log(f, key, LINES("{\"first\":1}")), *other = NULL;

	FAILS(GROVE_EEXIST, grove__log_open(&other, f->st, &key, GROVE_LOG_CREATE, &f->d));
	assert_null(other);
	grove__log_close(log);
	FAILS(GROVE_EEXIST, grove__log_open(&other, f->st, &key, GROVE_LOG_CREATE, &f->d));
	/* nor with other flags beside it */
	FAILS(GROVE_EEXIST, grove__log_open(&other, f->st, &key, GROVE_LOG_CREATE | GROVE_LOG_WRITE,
					    &f->d));
	log = open_log(f, key, GROVE_LOG_READ);
	assert_log(f, log, LINES("{\"first\":1}"));
	grove__log_close(log);
}

struct racer {
	struct fixture *f;
	pthread_barrier_t *start;
	struct grove_log *log;
	int rc;
};

static void *race_to_create(void *arg)
{
	struct racer *r = arg;
	struct grove_key key = key_of("p", "raced.jsonl");

	pthread_barrier_wait(r->start);
	r->rc = grove__log_open(&r->log, r->f->st, &key, GROVE_LOG_CREATE, NULL);
	return NULL;
}

static void of_many_who_create_one_succeeds(void **state)
{
	struct fixture *f = *state;
	struct racer racer[8];
	pthread_t thread[ARRAY(racer)];
	pthread_barrier_t start;
	unsigned made = 0;

	pthread_barrier_init(&start, NULL, ARRAY(racer));
	for (size_t i = 0; i < ARRAY(racer); i++) {
		racer[i] = (struct racer){ f, &start, NULL, 0 };
		assert_int_equal(pthread_create(&thread[i], NULL, race_to_create, &racer[i]), 0);
	}
	for (size_t i = 0; i < ARRAY(racer); i++)
		pthread_join(thread[i], NULL);
	for (size_t i = 0; i < ARRAY(racer); i++) {
		made += !racer[i].rc;
		assert_true(!racer[i].rc || racer[i].rc == GROVE_EEXIST);
		assert_int_equal(!racer[i].rc, racer[i].log != NULL);
		grove__log_close(racer[i].log);
	}
	assert_int_equal(made, 1);
	pthread_barrier_destroy(&start);
}

static void what_is_missing_is_not_found(void **state)
{
	struct fixture *f = *state;
	struct grove_key key = key_of("nowhere", "a.jsonl"), flat = key_of("", "a.jsonl");
	struct grove_log *log = (struct grove_log *)&log;

	FAILS(GROVE_ENOTFOUND, grove__log_open(&log, f->st, &key, GROVE_LOG_READ, &f->d));
	assert_null(log);
	FAILS(GROVE_ENOTFOUND, grove__log_open(&log, f->st, &key, GROVE_LOG_WRITE, &f->d));
	FAILS(GROVE_ENOTFOUND, grove__log_open(&log, f->st, &flat, GROVE_LOG_READ, &f->d));
	/* looking made nothing */
	grove__log_close(make_log(f, key, LINES("x")));
	FAILS(GROVE_ENOTFOUND, grove__log_open(&log, f->st, &flat, GROVE_LOG_WRITE, &f->d));
}

static void keys_that_differ_in_one_part_are_different(void **state)
{
	struct fixture *f = *state;
	const struct grove_key key[] = {
		{ "p", "a.jsonl", "" }, { "q", "a.jsonl", "" }, { "p", "b.jsonl", "" },
		{ "", "a.jsonl", "" }, { "p", "a.jsonl", "subagents/x.jsonl" },
		{ "p", "a.jsonl", "subagents/y.jsonl" }, { "p", "b.jsonl", "subagents/x.jsonl" },
	};
	char line[32];
	const char *const want[] = { line };

	for (size_t i = 0; i < ARRAY(key); i++) {
		snprintf(line, sizeof(line), "line of %zu", i);
		grove__log_close(make_log(f, key[i], want, 1));
	}
	for (size_t i = 0; i < ARRAY(key); i++) {
		struct grove_log *log = open_log(f, key[i], GROVE_LOG_READ);

		snprintf(line, sizeof(line), "line of %zu", i);
		assert_log(f, log, want, 1);
		grove__log_close(log);
	}
}

static void a_handle_for_reading_refuses_to_write(void **state)
{
	struct fixture *f = *state;
	struct grove_key key = key_of("p", "a.jsonl");
	struct grove_log *log = make_log(f, key, LINES("one"));
	struct grove_appended out;

	grove__log_close(log);
	log = open_log(f, key, GROVE_LOG_READ);
	FAILS(GROVE_EACCESS, add(f, log, str("two"), GROVE_ANY_POS, &out));
	FAILS(GROVE_EACCESS, grove__log_replace(log, 0, str("two"), GROVE_SYNC_NONE, &f->d));
	FAILS(GROVE_EACCESS, grove__log_rewrite(log, NULL, NULL, GROVE_ANY_POS, 0, &f->d));
	if (f->kind->meta)
		FAILS(GROVE_EACCESS, grove__log_meta_put(log, "leaf", str("x"), &f->d));
	assert_log(f, log, LINES("one"));
	grove__log_close(log);
}

/* --------------------------------------------------------- append and read */

/* Lines that a careless store would spoil. */
struct hard {
	struct grove_slice line[16];
	size_t nr;
	char every[255];
	char *huge;
};

static void hard_make(struct hard *h)
{
	const size_t huge = (size_t)3 << 20;
	size_t n = 0;

	for (unsigned c = 0; c < 256; c++)
		if (c != '\n')
			h->every[n++] = (char)c;
	h->huge = malloc(huge);
	assert_non_null(h->huge);
	for (size_t i = 0; i < huge; i++)
		h->huge[i] = (char)('a' + i * 7 % 23);
	h->nr = 0;
	h->line[h->nr++] = str("{\"type\":\"session\"}");
	h->line[h->nr++] = grove__slice(NULL, 0);
	h->line[h->nr++] = str("");
	h->line[h->nr++] = grove__slice(h->every, n);
	h->line[h->nr++] = str("ends in a carriage return\r");
	h->line[h->nr++] = str("\r");
	h->line[h->nr++] = grove__slice("\0\0\0", 3);
	h->line[h->nr++] = str("\xef\xbb\xbf{}");
	h->line[h->nr++] = str("\xff\xfe\xed\xa0\x80 not UTF-8");
	h->line[h->nr++] = grove__slice(h->huge, huge);
	h->line[h->nr++] = str(" ");
	h->line[h->nr++] = str("");
	h->line[h->nr++] = str("%s%n%d");
	h->line[h->nr++] = str("");
}

/* Append the lines, read them with buffers of all these sizes, compare. */
static void come_back(struct fixture *f, const char *name, const struct hard *h, size_t nr,
		      const size_t *caps, size_t nr_caps)
{
	struct grove_log *log = open_log(f, key_of("p", name), GROVE_LOG_CREATE), *other;
	struct grove_appended out;
	uint64_t bytes = 0, tail = 0;
	struct grove_log_stat st;

	for (size_t i = 0; i < nr; i++) {
		OK(add(f, log, h->line[i], tail, &out));
		assert_int_equal(out.pos, tail);
		assert_int_equal(out.pad, 0);
		tail = out.tail;
		bytes += h->line[i].len + 1;
	}
	OK(grove__log_stat(log, &st, &f->d));
	assert_int_equal(st.bytes, bytes);
	assert_int_equal(st.tail, f->kind->by_line ? nr : bytes);
	other = open_log(f, key_of("p", name), GROVE_LOG_READ);
	for (size_t c = 0; c < nr_caps; c++) {
		struct read_lines l = read_all(f, c % 2 ? log : other, caps[c]);

		assert_int_equal(l.nr, nr);
		for (size_t i = 0; i < nr; i++)
			assert_line(&l.line[i], h->line[i]);
		free_lines(&l);
	}
	grove__log_close(log);
	grove__log_close(other);
}

static void bytes_come_back_as_they_were(void **state)
{
	static const size_t tiny[] = { 1, 2, 3, 4, 5, 7, 13, 64, 255, 256, 257 };
	static const size_t large[] = { 4096, 65536, (size_t)1 << 20, (size_t)3 << 20,
					((size_t)3 << 20) + 1, (size_t)8 << 20 };
	struct fixture *f = *state;
	struct hard h;

	hard_make(&h);
	come_back(f, "hard.jsonl", &h, h.nr, large, ARRAY(large));
	/* the tiny buffers without the line of 3 MB: a byte at a time takes all day */
	come_back(f, "tiny.jsonl", &h, 9, tiny, ARRAY(tiny));
	free(h.huge);
}

static void one_append_takes_many_records(void **state)
{
	struct fixture *f = *state;
	struct grove_log *log = open_log(f, key_of("p", "batch.jsonl"), GROVE_LOG_CREATE);
	struct grove_record rec[16] = { 0 };
	struct grove_appended out;
	struct read_lines l;
	struct hard h;

	hard_make(&h);
	OK(add(f, log, str("first"), 0, &out));
	for (size_t i = 0; i < h.nr; i++)
		rec[i].line = h.line[i];
	OK(grove__log_append(log, rec, h.nr, out.tail, GROVE_SYNC_FLUSH, &out, &f->d));
	assert_int_equal(out.tail, tail_of(f, log));
	l = read_lines(f, log, out.pos, out.tail, 4096);
	assert_int_equal(l.nr, h.nr);
	for (size_t i = 0; i < h.nr; i++)
		assert_line(&l.line[i], h.line[i]);
	free_lines(&l);
	l = read_all(f, log, 100);
	assert_int_equal(l.nr, h.nr + 1);
	free_lines(&l);
	grove__log_close(log);
	free(h.huge);
}

static void ten_thousand_lines_are_as_good_as_one(void **state)
{
	enum { NR = 10000 };
	static const size_t caps[] = { 50, 1000, 65536, (size_t)4 << 20 };
	struct fixture *f = *state;
	struct grove_log *log = open_log(f, key_of("p", "many.jsonl"), GROVE_LOG_CREATE);
	uint64_t *pos = calloc(NR, sizeof(*pos));
	struct grove_appended out;
	char line[64];

	assert_non_null(pos);
	for (int i = 0; i < NR; i++) {
		snprintf(line, sizeof(line), "{\"n\":%d,\"pad\":\"%.*s\"}", i, i % 29,
			 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxx");
		OK(add(f, log, str(line), GROVE_ANY_POS, &out));
		pos[i] = out.pos;
	}
	/* what append said and what reading finds is one and the same */
	for (size_t c = 0; c < ARRAY(caps); c++) {
		struct read_lines l = read_all(f, log, caps[c]);

		assert_int_equal(l.nr, NR);
		for (int i = 0; i < NR; i++) {
			snprintf(line, sizeof(line), "{\"n\":%d,\"pad\":\"%.*s\"}", i, i % 29,
				 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxx");
			assert_line(&l.line[i], str(line));
			assert_int_equal(l.line[i].pos, pos[i]);
		}
		free_lines(&l);
	}
	/* from the middle, and only a part */
	for (int i = 0; i < NR; i += 997) {
		int end = i + 10 < NR ? i + 10 : NR - 1;
		struct read_lines l = read_lines(f, log, pos[i], pos[end], 64);

		assert_int_equal(l.nr, end - i);
		for (int k = i; k < end; k++)
			assert_int_equal(l.line[k - i].pos, pos[k]);
		free_lines(&l);
	}
	free(pos);
	grove__log_close(log);
}

static void appending_nothing_writes_nothing(void **state)
{
	struct fixture *f = *state;
	struct grove_log *log = make_log(f, key_of("p", "a.jsonl"), LINES("one", "two"));
	uint64_t tail = tail_of(f, log);
	struct grove_appended out;

	OK(grove__log_append(log, NULL, 0, GROVE_ANY_POS, GROVE_SYNC_ALWAYS, &out, &f->d));
	assert_int_equal(out.pos, tail);
	assert_int_equal(out.tail, tail);
	OK(grove__log_append(log, NULL, 0, tail, GROVE_SYNC_NONE, &out, &f->d));
	FAILS(GROVE_ECONFLICT, grove__log_append(log, NULL, 0, 0, GROVE_SYNC_NONE, &out, &f->d));
	assert_log(f, log, LINES("one", "two"));
	grove__log_close(log);
}

static void an_empty_log_reads_as_empty(void **state)
{
	struct fixture *f = *state;
	struct grove_log *log = open_log(f, key_of("p", "empty.jsonl"), GROVE_LOG_CREATE);
	struct grove_log_stat st;
	struct grove_run run;
	char buf[8];

	OK(grove__log_stat(log, &st, &f->d));
	assert_int_equal(st.tail, 0);
	assert_int_equal(st.bytes, 0);
	OK(grove__log_read(log, 0, 0, buf, sizeof(buf), &run, &f->d));
	assert_int_equal(run.len, 0);
	assert_int_equal(run.end, 1);
	assert_int_equal(run.open, 0);
	grove__log_close(log);
}

static void a_line_with_a_line_end_in_it_is_refused(void **state)
{
	struct fixture *f = *state;
	struct grove_log *log = make_log(f, key_of("p", "a.jsonl"), LINES("one", "two"));
	const struct grove_record rec[] = { { .line = str("three") }, { .line = str("fo\nur") },
					    { .line = str("five") } };
	struct grove_appended out;
	uint64_t second = f->kind->by_line ? 1 : 4;

	FAILS(GROVE_EINVAL, add(f, log, str("a\nb"), GROVE_ANY_POS, &out));
	FAILS(GROVE_EINVAL, add(f, log, str("\n"), GROVE_ANY_POS, &out));
	FAILS(GROVE_EINVAL, add(f, log, str("ends in one\n"), GROVE_ANY_POS, &out));
	/* of a batch nothing is stored */
	FAILS(GROVE_EINVAL, grove__log_append(log, rec, ARRAY(rec), GROVE_ANY_POS, GROVE_SYNC_NONE,
					      &out, &f->d));
	FAILS(GROVE_EINVAL, grove__log_replace(log, second, str("t\no"), GROVE_SYNC_NONE, &f->d));
	assert_log(f, log, LINES("one", "two"));
	grove__log_close(log);
}

static void every_level_of_sync_stores_the_line(void **state)
{
	struct fixture *f = *state;
	struct grove_log *log = open_log(f, key_of("new-project", "a.jsonl"), GROVE_LOG_CREATE);
	struct grove_record rec = { .line = str("line") };
	struct grove_appended out;

	OK(grove__log_sync(log, &f->d));
	OK(grove__log_append(log, &rec, 1, GROVE_ANY_POS, GROVE_SYNC_NONE, &out, &f->d));
	OK(grove__log_append(log, &rec, 1, GROVE_ANY_POS, GROVE_SYNC_FLUSH, &out, &f->d));
	OK(grove__log_append(log, &rec, 1, GROVE_ANY_POS, GROVE_SYNC_ALWAYS, &out, &f->d));
	OK(grove__log_append(log, &rec, 1, GROVE_ANY_POS, GROVE_SYNC_NONE, &out, &f->d));
	OK(grove__log_sync(log, &f->d));
	OK(grove__log_sync(log, &f->d));
	assert_log(f, log, LINES("line", "line", "line", "line"));
	grove__log_close(log);
}

/* ------------------------------------------------------- compare and swap */

static void an_append_can_ask_for_the_tail_to_be_where_it_was(void **state)
{
	struct fixture *f = *state;
	struct grove_log *log = make_log(f, key_of("p", "a.jsonl"), LINES("one"));
	uint64_t tail = tail_of(f, log);
	struct grove_appended out;

	OK(add(f, log, str("two"), tail, &out));
	assert_int_equal(out.pos, tail);
	FAILS(GROVE_ECONFLICT, add(f, log, str("late"), tail, &out));
	FAILS(GROVE_ECONFLICT, add(f, log, str("late"), 0, &out));
	FAILS(GROVE_ECONFLICT, add(f, log, str("early"), tail_of(f, log) + 1, &out));
	OK(add(f, log, str("three"), GROVE_ANY_POS, &out));
	OK(add(f, log, str("four"), out.tail, &out));
	assert_log(f, log, LINES("one", "two", "three", "four"));
	grove__log_close(log);
}

static void two_handles_take_turns(void **state)
{
	struct fixture *f = *state;
	struct grove_key key = key_of("p", "a.jsonl");
	struct grove_log *a = open_log(f, key, GROVE_LOG_CREATE);
	struct grove_log *b = NULL, *reader;
	struct grove_appended out;
	uint64_t tail = 0, seen;
	char line[32];

	OK(add(f, a, str("0"), 0, &out));
	tail = out.tail;
	b = open_log(f, key, GROVE_LOG_WRITE);
	reader = open_log(f, key, GROVE_LOG_READ);
	for (int i = 1; i < 200; i++) {
		struct grove_log *mine = i % 3 ? a : b, *theirs = i % 3 ? b : a;

		snprintf(line, sizeof(line), "%d", i);
		seen = tail_of(f, theirs);
		assert_int_equal(seen, tail);
		OK(add(f, mine, str(line), tail, &out));
		FAILS(GROVE_ECONFLICT, add(f, theirs, str("lost"), seen, &out));
		tail = tail_of(f, reader);
	}
	for (int h = 0; h < 3; h++) {
		struct read_lines l = read_all(f, h == 0 ? a : h == 1 ? b : reader, 256);

		assert_int_equal(l.nr, 200);
		for (int i = 0; i < 200; i++) {
			snprintf(line, sizeof(line), "%d", i);
			assert_line(&l.line[i], str(line));
		}
		free_lines(&l);
	}
	/* growth is no new generation */
	assert_int_equal(generation_of(f, reader), generation_of(f, reader));
	grove__log_close(reader);
	grove__log_close(b);
	grove__log_close(a);
}

enum { THREADS = 16, APPENDS = 40 };

struct appender {
	struct grove_log *log;
	pthread_barrier_t *start;
	unsigned number;
	int rc;
};

/* "t07 n0012 a" and, in one append with it, "t07 n0012 b", padded to many lengths */
static void thread_line(char *out, size_t cap, unsigned thread, unsigned n, char part)
{
	snprintf(out, cap, "t%02u n%04u %c %.*s", thread, n, part, (int)((thread * 31 + n * 7) % 90),
		 "yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy");
}

static void *append_many(void *arg)
{
	struct appender *a = arg;
	char one[128], two[128];

	pthread_barrier_wait(a->start);
	for (unsigned n = 0; n < APPENDS && !a->rc; n++) {
		struct grove_record rec[2] = { 0 };
		struct grove_appended out;

		thread_line(one, sizeof(one), a->number, n, 'a');
		thread_line(two, sizeof(two), a->number, n, 'b');
		rec[0].line = str(one);
		rec[1].line = str(two);
		a->rc = grove__log_append(a->log, rec, 2, GROVE_ANY_POS, GROVE_SYNC_ALWAYS, &out,
					  NULL);
		/* fetch may be called beside append */
		if (!a->rc)
			a->rc = grove__log_fetch(a->log, out.pos, 0, two, strlen(one), NULL);
		if (!a->rc && memcmp(one, two, strlen(one)))
			a->rc = GROVE_EDAMAGED;
	}
	return NULL;
}

/* `handles` of one log, shared by the threads. */
static void append_from_threads(struct fixture *f, unsigned handles)
{
	struct grove_key key = key_of("p", "threads.jsonl");
	struct grove_log *log[4];
	struct appender a[THREADS];
	pthread_t thread[THREADS];
	pthread_barrier_t start;
	unsigned next[THREADS] = { 0 };
	struct read_lines l;
	char line[128];

	log[0] = make_log(f, key, LINES("header"));
	for (unsigned i = 1; i < handles; i++)
		log[i] = open_log(f, key, GROVE_LOG_WRITE);
	pthread_barrier_init(&start, NULL, THREADS);
	for (unsigned i = 0; i < THREADS; i++) {
		a[i] = (struct appender){ log[i % handles], &start, i, 0 };
		assert_int_equal(pthread_create(&thread[i], NULL, append_many, &a[i]), 0);
	}
	for (unsigned i = 0; i < THREADS; i++) {
		pthread_join(thread[i], NULL);
		assert_int_equal(a[i].rc, 0);
	}
	pthread_barrier_destroy(&start);
	/* each line once and whole, a batch together, every thread's in its order */
	l = read_all(f, log[0], 1000);
	assert_int_equal(l.nr, 1 + 2 * THREADS * APPENDS);
	for (size_t i = 1; i < l.nr; i += 2) {
		unsigned t;

		assert_int_equal(sscanf(l.line[i].bytes.ptr, "t%u", &t), 1);
		assert_in_range(t, 0, THREADS - 1);
		thread_line(line, sizeof(line), t, next[t], 'a');
		assert_line(&l.line[i], str(line));
		thread_line(line, sizeof(line), t, next[t], 'b');
		assert_line(&l.line[i + 1], str(line));
		next[t]++;
	}
	free_lines(&l);
	for (unsigned i = 0; i < handles; i++)
		grove__log_close(log[i]);
}

static void many_threads_append_on_one_handle(void **state)
{
	append_from_threads(*state, 1);
}

static void many_threads_append_on_several_handles(void **state)
{
	append_from_threads(*state, 4);
}

struct counter {
	struct fixture *f;
	struct grove_log *log;
	unsigned number, conflicts;
	int rc;
};

/* Append the number of the line that it becomes, or look again. */
static void *count_by_swap(void *arg)
{
	struct counter *c = arg;
	struct grove_log_stat st;
	struct grove_appended out;
	char line[32];

	for (unsigned done = 0; done < 50 && !c->rc;) {
		struct grove_record rec = { 0 };

		c->rc = grove__log_stat(c->log, &st, NULL);
		if (c->rc)
			break;
		snprintf(line, sizeof(line), "%llu by %u", (unsigned long long)st.tail, c->number);
		rec.line = str(line);
		c->rc = grove__log_append(c->log, &rec, 1, st.tail, GROVE_SYNC_NONE, &out, NULL);
		if (c->rc == GROVE_ECONFLICT) {
			c->conflicts++;
			c->rc = 0;
			continue;
		}
		done++;
	}
	return NULL;
}

static void of_those_who_expect_one_tail_one_succeeds(void **state)
{
	struct fixture *f = *state;
	struct grove_key key = key_of("p", "swap.jsonl");
	struct grove_log *first = make_log(f, key, LINES("header"));
	struct counter c[6];
	pthread_t thread[ARRAY(c)];
	struct read_lines l;

	for (unsigned i = 0; i < ARRAY(c); i++) {
		c[i] = (struct counter){ f, open_log(f, key, GROVE_LOG_WRITE), i, 0, 0 };
		assert_int_equal(pthread_create(&thread[i], NULL, count_by_swap, &c[i]), 0);
	}
	for (unsigned i = 0; i < ARRAY(c); i++) {
		pthread_join(thread[i], NULL);
		assert_int_equal(c[i].rc, 0);
		grove__log_close(c[i].log);
	}
	l = read_all(f, first, 4096);
	assert_int_equal(l.nr, 1 + 50 * ARRAY(c));
	for (size_t i = 1; i < l.nr; i++)
		assert_int_equal(strtoull(l.line[i].bytes.ptr, NULL, 10), l.line[i].pos);
	free_lines(&l);
	grove__log_close(first);
}

/* ---------------------------------------------------------- fetch, beyond */

static void a_part_of_a_line_can_be_fetched(void **state)
{
	struct fixture *f = *state;
	struct grove_log *log = open_log(f, key_of("p", "a.jsonl"), GROVE_LOG_CREATE);
	struct grove_appended out;
	uint64_t pos[16];
	struct hard h;
	char *buf;

	hard_make(&h);
	buf = malloc((size_t)4 << 20);
	assert_non_null(buf);
	for (size_t i = 0; i < h.nr; i++) {
		OK(add(f, log, h.line[i], GROVE_ANY_POS, &out));
		pos[i] = out.pos;
	}
	for (size_t i = 0; i < h.nr; i++) {
		size_t len = h.line[i].len;
		const size_t part[][2] = { { 0, len }, { 0, len / 2 }, { len / 2, len - len / 2 },
					   { len, 0 }, { len ? len - 1 : 0, len ? 1 : 0 } };

		for (size_t k = 0; k < ARRAY(part); k++) {
			memset(buf, '#', part[k][1] + 1);
			OK(grove__log_fetch(log, pos[i], part[k][0], buf, part[k][1], &f->d));
			if (part[k][1])
				assert_memory_equal(buf, h.line[i].ptr + part[k][0], part[k][1]);
			assert_int_equal(buf[part[k][1]], '#');
		}
	}
	free(buf);
	free(h.huge);
	grove__log_close(log);
}

static void what_lies_beyond_the_end_is_stale(void **state)
{
	struct fixture *f = *state;
	struct grove_log *log = make_log(f, key_of("p", "a.jsonl"), LINES("one", "twotwo"));
	uint64_t tail = tail_of(f, log), last = f->kind->by_line ? 1 : 4;
	struct grove_run run;
	char buf[64];

	FAILS(GROVE_ESTALE, grove__log_fetch(log, last, 0, buf, 8, &f->d));
	FAILS(GROVE_ESTALE, grove__log_fetch(log, last, 7, buf, 2, &f->d));
	FAILS(GROVE_ESTALE, grove__log_fetch(log, tail, 0, buf, 1, &f->d));
	FAILS(GROVE_ESTALE, grove__log_fetch(log, tail + 1000, 0, buf, 1, &f->d));
	/* reading up to where the log does not reach */
	FAILS(GROVE_ESTALE, grove__log_read(log, 0, tail + 1, buf, sizeof(buf), &run, &f->d));
	FAILS(GROVE_ESTALE, grove__log_read(log, tail, tail + 5, buf, sizeof(buf), &run, &f->d));
	FAILS(GROVE_ESTALE, grove__log_read(log, tail + 7, tail + 9, buf, sizeof(buf), &run, &f->d));
	/* or from behind the end that was asked for */
	FAILS(GROVE_ESTALE, grove__log_read(log, tail, 0, buf, sizeof(buf), &run, &f->d));
	/* the end itself is no error */
	OK(grove__log_read(log, tail, tail, buf, sizeof(buf), &run, &f->d));
	assert_int_equal(run.len, 0);
	assert_int_equal(run.end, 1);
	grove__log_close(log);
}

/* ---------------------------------------------------------------- replace */

static void a_line_can_be_replaced_by_one_as_long(void **state)
{
	struct fixture *f = *state;
	struct grove_key key = key_of("p", "a.jsonl");
	struct grove_log *log = make_log(f, key, LINES("title one", "{\"a\":1}", "", "last"));
	struct grove_log *reader = open_log(f, key, GROVE_LOG_READ);
	struct read_lines l = read_all(f, log, 4096);
	uint64_t tail = tail_of(f, log);
	struct grove_appended out;

	OK(grove__log_replace(log, l.line[0].pos, str("title two"), GROVE_SYNC_ALWAYS, &f->d));
	OK(grove__log_replace(log, l.line[1].pos, str("{\"a\":2}"), GROVE_SYNC_NONE, &f->d));
	OK(grove__log_replace(log, l.line[2].pos, grove__slice(NULL, 0), GROVE_SYNC_NONE, &f->d));
	OK(grove__log_replace(log, l.line[3].pos, str("LAST"), GROVE_SYNC_FLUSH, &f->d));
	assert_int_equal(tail_of(f, log), tail);
	assert_log(f, log, LINES("title two", "{\"a\":2}", "", "LAST"));
	assert_log(f, reader, LINES("title two", "{\"a\":2}", "", "LAST"));
	/* and the log still grows at its end */
	OK(add(f, log, str("more"), tail, &out));
	assert_log(f, reader, LINES("title two", "{\"a\":2}", "", "LAST", "more"));
	free_lines(&l);
	grove__log_close(reader);
	grove__log_close(log);
}

static void a_line_of_another_length_is_refused(void **state)
{
	struct fixture *f = *state;
	struct grove_log *log = make_log(f, key_of("p", "a.jsonl"), LINES("abc", "", "defg", "hi"));
	struct read_lines l = read_all(f, log, 4096);
	const char *const wrong[] = { "", "x", "xx", "xxxxx", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx" };

	for (size_t i = 0; i < l.nr; i++)
		for (size_t k = 0; k < ARRAY(wrong); k++)
			if (strlen(wrong[k]) != l.line[i].bytes.len)
				FAILS(GROVE_EINVAL, grove__log_replace(log, l.line[i].pos, str(wrong[k]),
								       GROVE_SYNC_NONE, &f->d));
	/* where there is no line */
	FAILS(GROVE_ESTALE, grove__log_replace(log, tail_of(f, log), str(""), GROVE_SYNC_NONE, &f->d));
	FAILS(GROVE_ESTALE, grove__log_replace(log, tail_of(f, log) + 9, str("x"), GROVE_SYNC_NONE,
					       &f->d));
	/* a place inside a line is not a line */
	if (!f->kind->by_line)
		FAILS(GROVE_EINVAL, grove__log_replace(log, 1, str("xx"), GROVE_SYNC_NONE, &f->d));
	assert_log(f, log, LINES("abc", "", "defg", "hi"));
	free_lines(&l);
	grove__log_close(log);
}

/* ---------------------------------------------------------------- rewrite */

struct source {
	const char *const *line;
	size_t nr, at;
	int end;                 /* what comes behind the last line: 1, or an error */
	struct fixture *f;
	struct grove_log *read;  /* yield the lines of this log instead, upside down */
	struct read_lines lines;
	struct grove_buf buf;
};

static int next_of(void *payload, struct grove_slice *line)
{
	struct source *s = payload;

	if (s->at == s->nr)
		return s->end;
	if (s->read) {
		struct read_line *x = &s->lines.line[s->nr - 1 - s->at++];
		int rc;

		grove__buf_clear(&s->buf);
		rc = grove__buf_reserve(&s->buf, x->bytes.len);
		if (!rc)
			rc = grove__log_fetch(s->read, x->pos, 0, s->buf.ptr, x->bytes.len, NULL);
		*line = grove__slice(s->buf.ptr, x->bytes.len);
		return rc;
	}
	*line = str(s->line[s->at++]);
	return 0;
}

static struct source source_of(const char *const *line, size_t nr, int end)
{
	return (struct source){ .line = line, .nr = nr, .end = end };
}

static void a_rewrite_replaces_every_line(void **state)
{
	struct fixture *f = *state;
	struct grove_key key = key_of("p", "a.jsonl");
	struct grove_log *log = make_log(f, key, LINES("one", "two", "three"));
	struct source s = source_of(LINES("ONE", "", "a longer second line", "THREE"), 1);
	struct grove_appended out;
	uint64_t before = generation_of(f, log);

	OK(grove__log_rewrite(log, next_of, &s, tail_of(f, log), 0, &f->d));
	assert_log(f, log, LINES("ONE", "", "a longer second line", "THREE"));
	assert_int_not_equal(generation_of(f, log), before);
	/* the handle goes on from there */
	OK(add(f, log, str("four"), tail_of(f, log), &out));
	assert_log(f, log, LINES("ONE", "", "a longer second line", "THREE", "four"));
	grove__log_close(log);
	log = open_log(f, key, GROVE_LOG_READ);
	assert_log(f, log, LINES("ONE", "", "a longer second line", "THREE", "four"));
	grove__log_close(log);
}

static void a_rewrite_may_leave_nothing(void **state)
{
	struct fixture *f = *state;
	struct grove_log *log = make_log(f, key_of("p", "a.jsonl"), LINES("one", "two"));
	struct source none = source_of(NULL, 0, 1), some = source_of(LINES("again"), 1);

	OK(grove__log_rewrite(log, next_of, &none, GROVE_ANY_POS, 0, &f->d));
	assert_int_equal(tail_of(f, log), 0);
	OK(grove__log_rewrite(log, next_of, &some, 0, 0, &f->d));
	assert_log(f, log, LINES("again"));
	grove__log_close(log);
}

static void a_rewrite_may_read_the_log_it_rewrites(void **state)
{
	enum { NR = 3000 };
	struct fixture *f = *state;
	struct grove_log *log = open_log(f, key_of("p", "a.jsonl"), GROVE_LOG_CREATE);
	struct source s = { .nr = NR, .end = 1, .read = log, .buf = GROVE_BUF_INIT };
	struct grove_appended out;
	struct read_lines l;
	char line[1024];

	/* large enough to be written in several pieces */
	for (int i = 0; i < NR; i++) {
		snprintf(line, sizeof(line), "%d %*d", i, 500 + i % 500, i);
		OK(add(f, log, str(line), GROVE_ANY_POS, &out));
	}
	s.lines = read_all(f, log, 65536);
	OK(grove__log_rewrite(log, next_of, &s, out.tail, 0, &f->d));
	assert_int_equal(s.at, NR);
	l = read_all(f, log, 65536);
	assert_int_equal(l.nr, NR);
	for (int i = 0; i < NR; i++)
		assert_line(&l.line[i], grove__buf_slice(&s.lines.line[NR - 1 - i].bytes));
	free_lines(&l);
	free_lines(&s.lines);
	grove__buf_release(&s.buf);
	grove__log_close(log);
}

static void a_rewrite_that_fails_changes_nothing(void **state)
{
	struct fixture *f = *state;
	struct grove_key key = key_of("p", "a.jsonl");
	struct grove_log *log = make_log(f, key, LINES("one", "two"));
	uint64_t before = generation_of(f, log), tail = tail_of(f, log);
	const int codes[] = { GROVE_EJSON, GROVE_ECANCELLED, GROVE_EIO, GROVE_ENOMEM };
	struct grove_appended out;

	for (size_t i = 0; i < ARRAY(codes); i++)
		for (size_t nr = 0; nr < 3; nr++) {
			const char *const line[] = { "x", "y", "z" };
			struct source s = source_of(line, nr, codes[i]);

			/* the caller's own code, untouched */
			assert_int_equal(grove__log_rewrite(log, next_of, &s, tail, 0, &f->d), codes[i]);
			assert_int_equal(s.at, nr);
		}
	{
		struct source s = source_of(LINES("x", "y\nz"), 1);

		FAILS(GROVE_EINVAL, grove__log_rewrite(log, next_of, &s, tail, 0, &f->d));
	}
	assert_log(f, log, LINES("one", "two"));
	assert_int_equal(generation_of(f, log), before);
	OK(add(f, log, str("three"), tail, &out));
	grove__log_close(log);
	log = open_log(f, key, GROVE_LOG_READ);
	assert_log(f, log, LINES("one", "two", "three"));
	grove__log_close(log);
}

static void a_rewrite_is_refused_when_the_tail_has_moved(void **state)
{
	struct fixture *f = *state;
	struct grove_key key = key_of("p", "a.jsonl");
	struct grove_log *log = make_log(f, key, LINES("one")), *other;
	uint64_t tail = tail_of(f, log);
	struct source s = source_of(LINES("new"), 1);
	struct grove_appended out;

	other = open_log(f, key, GROVE_LOG_WRITE);
	OK(add(f, other, str("two"), tail, &out));
	grove__log_close(other);
	FAILS(GROVE_ECONFLICT, grove__log_rewrite(log, next_of, &s, tail, 0, &f->d));
	FAILS(GROVE_ECONFLICT, grove__log_rewrite(log, next_of, &s, tail, GROVE_LOG_FORCE, &f->d));
	FAILS(GROVE_ECONFLICT, grove__log_rewrite(log, next_of, &s, 0, 0, &f->d));
	assert_log(f, log, LINES("one", "two"));
	s.at = 0;
	OK(grove__log_rewrite(log, next_of, &s, out.tail, 0, &f->d));
	assert_log(f, log, LINES("new"));
	grove__log_close(log);
}

static void a_reader_notices_a_rewrite_and_goes_on(void **state)
{
	struct fixture *f = *state;
	struct grove_key key = key_of("p", "a.jsonl");
	struct grove_log *log = make_log(f, key, LINES("one", "two", "three"));
	struct grove_log *reader = open_log(f, key, GROVE_LOG_READ);
	struct read_lines old = read_all(f, reader, 4096);
	uint64_t before = generation_of(f, reader), tail = tail_of(f, reader);
	struct source s = source_of(LINES("1"), 1);
	struct grove_run run;
	char buf[64];

	OK(grove__log_rewrite(log, next_of, &s, tail, 0, &f->d));
	/* it may go on with what it had, or be told; wrong bytes are what it never gets */
	{
		int rc = grove__log_fetch(reader, old.line[2].pos, 0, buf, 5, &f->d);

		assert_true(rc == GROVE_ESTALE || (!rc && !memcmp(buf, "three", 5)));
	}
	assert_int_not_equal(generation_of(f, reader), before);
	before = generation_of(f, reader);
	assert_int_equal(generation_of(f, reader), before);
	assert_log(f, reader, LINES("1"));
	/* what the old one reached is not there any more */
	FAILS(GROVE_ESTALE, grove__log_read(reader, 0, tail, buf, sizeof(buf), &run, &f->d));
	FAILS(GROVE_ESTALE, grove__log_fetch(reader, old.line[2].pos, 0, buf, 5, &f->d));
	free_lines(&old);
	grove__log_close(reader);
	grove__log_close(log);
}

static void a_writer_notices_a_rewrite_and_goes_on(void **state)
{
	struct fixture *f = *state;
	struct grove_key key = key_of("p", "a.jsonl");
	struct grove_log *log = make_log(f, key, LINES("one", "two", "three"));
	struct grove_log *writer = open_log(f, key, GROVE_LOG_WRITE);
	uint64_t tail = tail_of(f, writer), before = generation_of(f, writer);
	struct source s = source_of(LINES("1", "2"), 1);
	struct grove_appended out;
	int rc;

	if (f->kind->sees_writers)
		FAILS(GROVE_ECONFLICT, grove__log_rewrite(log, next_of, &s, tail, 0, &f->d));
	s.at = 0;
	OK(grove__log_rewrite(log, next_of, &s, tail, GROVE_LOG_FORCE, &f->d));
	rc = add(f, writer, str("lost"), tail, &out);
	assert_true(rc == GROVE_ESTALE || rc == GROVE_ECONFLICT);
	assert_int_not_equal(generation_of(f, writer), before);
	OK(add(f, writer, str("3"), tail_of(f, writer), &out));
	OK(add(f, log, str("4"), GROVE_ANY_POS, &out));
	assert_log(f, log, LINES("1", "2", "3", "4"));
	assert_log(f, writer, LINES("1", "2", "3", "4"));
	grove__log_close(writer);
	grove__log_close(log);
}

/* ----------------------------------------------------------------- list */

struct names {
	char name[64][128];
	size_t nr;
	size_t stop_at;           /* answer 42 when there are so many; 0: never */
	struct fixture *f;
	bool removing, renaming;
};

static int note_key(void *payload, const struct grove_key *key)
{
	struct names *n = payload;
	struct fixture *f = n->f;

	assert_in_range(n->nr, 0, ARRAY(n->name) - 1);
	snprintf(n->name[n->nr++], sizeof(n->name[0]), "%s|%s|%s", key->project, key->session,
		 key->subpath);
	if (n->removing)
		OK(grove__store_remove(f->st, key, &f->d));
	if (n->renaming && !strstr(key->session, "moved-")) {
		char moved[64];
		struct grove_key to = { key->project, moved, "" };

		snprintf(moved, sizeof(moved), "moved-%.40s", key->session);
		OK(grove__store_rename(f->st, key, &to, &f->d));
	}
	return n->stop_at && n->nr == n->stop_at ? 42 : 0;
}

static int note_name(void *payload, const char *name, uint64_t size)
{
	struct names *n = payload;

	assert_in_range(n->nr, 0, ARRAY(n->name) - 1);
	snprintf(n->name[n->nr++], sizeof(n->name[0]), "%s=%llu", name, (unsigned long long)size);
	return n->stop_at && n->nr == n->stop_at ? 42 : 0;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(a, b);
}

static void assert_names(struct names *n, const char *const *want, size_t nr)
{
	qsort(n->name, n->nr, sizeof(n->name[0]), by_text);
	for (size_t i = 0; i < nr && i < n->nr; i++)
		assert_string_equal(n->name[i], want[i]);
	assert_int_equal(n->nr, nr);
	n->nr = 0;
}

static void make_some(struct fixture *f)
{
	static const struct grove_key key[] = {
		{ "p", "a.jsonl", "" }, { "p", "b.jsonl", "" }, { "q", "a.jsonl", "" },
		{ "", "flat.jsonl", "" }, { "p", "a.jsonl", "subagents/x.jsonl" },
	};

	for (size_t i = 0; i < ARRAY(key); i++)
		grove__log_close(make_log(f, key[i], LINES("x")));
}

static void a_list_names_every_log_once(void **state)
{
	struct fixture *f = *state;
	struct names n = { .f = f };

	/* nothing was ever stored: nothing is there, which is no error */
	OK(grove__store_list(f->st, NULL, note_key, &n, &f->d));
	OK(grove__store_list(f->st, "p", note_key, &n, &f->d));
	OK(grove__store_list(f->st, "", note_key, &n, &f->d));
	assert_int_equal(n.nr, 0);
	make_some(f);
	OK(grove__store_list(f->st, NULL, note_key, &n, &f->d));
	assert_names(&n, LINES("p|a.jsonl|", "p|b.jsonl|", "q|a.jsonl|", "|flat.jsonl|"));
	OK(grove__store_list(f->st, "p", note_key, &n, &f->d));
	assert_names(&n, LINES("p|a.jsonl|", "p|b.jsonl|"));
	OK(grove__store_list(f->st, "q", note_key, &n, &f->d));
	assert_names(&n, LINES("q|a.jsonl|"));
	OK(grove__store_list(f->st, "", note_key, &n, &f->d));
	assert_names(&n, LINES("|flat.jsonl|"));
	OK(grove__store_list(f->st, "none", note_key, &n, &f->d));
	assert_int_equal(n.nr, 0);
}

static void a_list_ends_when_it_is_told_to(void **state)
{
	struct fixture *f = *state;
	struct names n = { .f = f, .stop_at = 2 };

	make_some(f);
	assert_int_equal(grove__store_list(f->st, NULL, note_key, &n, &f->d), 42);
	assert_int_equal(n.nr, 2);
	n.nr = 0;
	assert_int_equal(grove__store_list(f->st, "p", note_key, &n, &f->d), 42);
	assert_int_equal(n.nr, 2);
}

static void what_is_listed_may_be_removed_on_the_spot(void **state)
{
	struct fixture *f = *state;
	struct names n = { .f = f, .removing = true };

	make_some(f);
	OK(grove__store_list(f->st, NULL, note_key, &n, &f->d));
	n.removing = false;
	assert_names(&n, LINES("p|a.jsonl|", "p|b.jsonl|", "q|a.jsonl|", "|flat.jsonl|"));
	OK(grove__store_list(f->st, NULL, note_key, &n, &f->d));
	assert_int_equal(n.nr, 0);
}

static void what_is_listed_may_be_renamed_on_the_spot(void **state)
{
	struct fixture *f = *state;
	struct names n = { .f = f, .renaming = true };

	make_some(f);
	/* the new names may or may not be met on the way */
	OK(grove__store_list(f->st, NULL, note_key, &n, &f->d));
	n = (struct names){ .f = f };
	OK(grove__store_list(f->st, NULL, note_key, &n, &f->d));
	assert_names(&n, LINES("p|moved-a.jsonl|", "p|moved-b.jsonl|", "q|moved-a.jsonl|",
			       "|moved-flat.jsonl|"));
}

/* ---------------------------------------------------------- remove, rename */

static void removing_twice_is_harmless(void **state)
{
	struct fixture *f = *state;
	struct grove_key key = key_of("p", "a.jsonl"), other = key_of("p", "b.jsonl");
	struct grove_log *log = make_log(f, other, LINES("stays"));
	struct grove_buf got = GROVE_BUF_INIT;

	FAILS(GROVE_ENOTFOUND, grove__store_remove(f->st, &key, &f->d));
	grove__log_close(make_log(f, key, LINES("x")));
	OK(grove__store_attach_put(f->st, &key, "sub/note.txt", str("bytes"), &f->d));
	OK(grove__store_attach_put(f->st, &other, "sub/note.txt", str("stays too"), &f->d));
	OK(grove__store_remove(f->st, &key, &f->d));
	FAILS(GROVE_ENOTFOUND, grove__store_remove(f->st, &key, &f->d));
	FAILS(GROVE_ENOTFOUND, grove__store_attach_get(f->st, &key, "sub/note.txt", &got, &f->d));
	assert_log(f, log, LINES("stays"));
	OK(grove__store_attach_get(f->st, &other, "sub/note.txt", &got, &f->d));
	assert_string_equal(got.ptr, "stays too");
	grove__buf_release(&got);
	grove__log_close(log);
	/* the name is free again, and nothing of the old one comes back */
	log = make_log(f, key, LINES("new"));
	assert_log(f, log, LINES("new"));
	FAILS(GROVE_ENOTFOUND, grove__store_attach_get(f->st, &key, "sub/note.txt", &got, &f->d));
	grove__log_close(log);
	grove__buf_release(&got);
}

static void a_removed_log_is_not_revived_by_its_handle(void **state)
{
	struct fixture *f = *state;
	struct grove_key key = key_of("p", "a.jsonl");
	struct grove_log *log = make_log(f, key, LINES("one")), *none;
	struct grove_log_stat st;
	struct grove_appended out;

	OK(grove__store_remove(f->st, &key, &f->d));
	if (f->kind->forgets_handles) {
		FAILS(GROVE_ENOTFOUND, grove__log_stat(log, &st, &f->d));
		FAILS(GROVE_ESTALE, add(f, log, str("two"), GROVE_ANY_POS, &out));
	} else {
		OK(grove__log_stat(log, &st, &f->d));
		OK(add(f, log, str("two"), GROVE_ANY_POS, &out));
	}
	FAILS(GROVE_ENOTFOUND, grove__log_open(&none, f->st, &key, GROVE_LOG_READ, &f->d));
	grove__log_close(log);
	FAILS(GROVE_ENOTFOUND, grove__log_open(&none, f->st, &key, GROVE_LOG_READ, &f->d));
}

static void removing_a_session_takes_its_logs_along(void **state)
{
	struct fixture *f = *state;
	struct grove_key key = key_of("p", "a.jsonl");
	struct grove_key sub = { "p", "a.jsonl", "subagents/x.jsonl" };
	struct grove_key foreign = { "p", "b.jsonl", "subagents/x.jsonl" };
	struct grove_log *log;

	grove__log_close(make_log(f, key, LINES("x")));
	grove__log_close(make_log(f, sub, LINES("of a")));
	grove__log_close(make_log(f, foreign, LINES("of b")));
	OK(grove__store_remove(f->st, &key, &f->d));
	FAILS(GROVE_ENOTFOUND, grove__log_open(&log, f->st, &sub, GROVE_LOG_READ, &f->d));
	log = open_log(f, foreign, GROVE_LOG_READ);
	assert_log(f, log, LINES("of b"));
	grove__log_close(log);
}

static void removing_a_log_of_a_session_leaves_the_rest(void **state)
{
	struct fixture *f = *state;
	struct grove_key key = key_of("p", "a.jsonl");
	struct grove_key x = { "p", "a.jsonl", "subagents/x.jsonl" };
	struct grove_key y = { "p", "a.jsonl", "subagents/y.jsonl" };
	struct grove_key z = { "p", "a.jsonl", "subagents/z.jsonl" };
	struct grove_buf got = GROVE_BUF_INIT;
	struct grove_log *log;

	grove__log_close(make_log(f, key, LINES("session")));
	grove__log_close(make_log(f, x, LINES("x")));
	grove__log_close(make_log(f, y, LINES("y")));
	OK(grove__store_attach_put(f->st, &key, "meta.json", str("{}"), &f->d));
	OK(grove__store_remove(f->st, &x, &f->d));
	FAILS(GROVE_ENOTFOUND, grove__store_remove(f->st, &x, &f->d));
	FAILS(GROVE_ENOTFOUND, grove__log_open(&log, f->st, &x, GROVE_LOG_READ, &f->d));
	/* the same for another name */
	OK(grove__store_rename(f->st, &y, &z, &f->d));
	log = open_log(f, z, GROVE_LOG_READ);
	assert_log(f, log, LINES("y"));
	grove__log_close(log);
	log = open_log(f, key, GROVE_LOG_READ);
	assert_log(f, log, LINES("session"));
	grove__log_close(log);
	OK(grove__store_attach_get(f->st, &key, "meta.json", &got, &f->d));
	assert_string_equal(got.ptr, "{}");
	grove__buf_release(&got);
}

static void a_log_moves_to_a_free_name_with_all_it_has(void **state)
{
	struct fixture *f = *state;
	struct grove_key from = key_of("p", "a.jsonl"), to = key_of("new-project", "b.jsonl");
	struct grove_key sub = { "p", "a.jsonl", "subagents/x.jsonl" };
	struct grove_key moved = { "new-project", "b.jsonl", "subagents/x.jsonl" };
	struct grove_buf got = GROVE_BUF_INIT;
	struct names n = { .f = f };
	struct grove_log *log = make_log(f, from, LINES("one", "two"));

	if (f->kind->meta)
		OK(grove__log_meta_put(log, "leaf", str("abc"), &f->d));
	grove__log_close(log);
	grove__log_close(make_log(f, sub, LINES("sub")));
	OK(grove__store_attach_put(f->st, &from, "tool-results/1.txt", str("result"), &f->d));
	OK(grove__store_rename(f->st, &from, &to, &f->d));
	FAILS(GROVE_ENOTFOUND, grove__log_open(&log, f->st, &from, GROVE_LOG_READ, &f->d));
	FAILS(GROVE_ENOTFOUND, grove__log_open(&log, f->st, &sub, GROVE_LOG_READ, &f->d));
	log = open_log(f, to, GROVE_LOG_READ);
	assert_log(f, log, LINES("one", "two"));
	if (f->kind->meta) {
		OK(grove__log_meta_get(log, "leaf", &got, &f->d));
		assert_string_equal(got.ptr, "abc");
		grove__buf_clear(&got);
	}
	grove__log_close(log);
	log = open_log(f, moved, GROVE_LOG_READ);
	assert_log(f, log, LINES("sub"));
	grove__log_close(log);
	OK(grove__store_attach_get(f->st, &to, "tool-results/1.txt", &got, &f->d));
	assert_string_equal(got.ptr, "result");
	OK(grove__store_list(f->st, NULL, note_key, &n, &f->d));
	assert_names(&n, LINES("new-project|b.jsonl|"));
	/* and back again, within one project too */
	OK(grove__store_rename(f->st, &to, &from, &f->d));
	to = key_of("p", "c.jsonl");
	OK(grove__store_rename(f->st, &from, &to, &f->d));
	OK(grove__store_list(f->st, NULL, note_key, &n, &f->d));
	assert_names(&n, LINES("p|c.jsonl|"));
	grove__buf_release(&got);
}

static void a_name_that_is_taken_is_not_overwritten(void **state)
{
	struct fixture *f = *state;
	struct grove_key a = key_of("p", "a.jsonl"), b = key_of("p", "b.jsonl");
	struct grove_key c = key_of("p", "c.jsonl"), none = key_of("p", "none.jsonl");
	struct grove_key of_c = { "p", "c.jsonl", "subagents/x.jsonl" };
	struct grove_buf got = GROVE_BUF_INIT;
	struct names n = { .f = f };
	struct grove_log *log;

	grove__log_close(make_log(f, a, LINES("a")));
	grove__log_close(make_log(f, b, LINES("b")));
	OK(grove__store_attach_put(f->st, &a, "x", str("of a"), &f->d));
	OK(grove__store_attach_put(f->st, &b, "x", str("of b"), &f->d));
	FAILS(GROVE_EEXIST, grove__store_rename(f->st, &a, &b, &f->d));
	FAILS(GROVE_EEXIST, grove__store_rename(f->st, &a, &a, &f->d));
	FAILS(GROVE_ENOTFOUND, grove__store_rename(f->st, &none, &c, &f->d));
	/* no log of that name, but something that would belong to it */
	grove__log_close(make_log(f, of_c, LINES("of c")));
	FAILS(GROVE_EEXIST, grove__store_rename(f->st, &a, &c, &f->d));
	log = open_log(f, a, GROVE_LOG_READ);
	assert_log(f, log, LINES("a"));
	grove__log_close(log);
	log = open_log(f, b, GROVE_LOG_READ);
	assert_log(f, log, LINES("b"));
	grove__log_close(log);
	OK(grove__store_attach_get(f->st, &a, "x", &got, &f->d));
	OK(grove__store_attach_get(f->st, &b, "x", &got, &f->d));
	assert_string_equal(got.ptr, "of aof b");
	OK(grove__store_list(f->st, NULL, note_key, &n, &f->d));
	assert_names(&n, LINES("p|a.jsonl|", "p|b.jsonl|"));
	grove__buf_release(&got);
}

/* ------------------------------------------------------------ attachments */

static void attachments_come_back_as_they_were(void **state)
{
	struct fixture *f = *state;
	struct grove_key key = key_of("p", "a.jsonl"), other = key_of("p", "b.jsonl");
	struct grove_buf got = GROVE_BUF_INIT;
	struct hard h;

	hard_make(&h);
	grove__log_close(make_log(f, key, LINES("x")));
	grove__log_close(make_log(f, other, LINES("y")));
	FAILS(GROVE_ENOTFOUND, grove__store_attach_get(f->st, &key, "a.txt", &got, &f->d));
	OK(grove__store_attach_put(f->st, &key, "a.txt", str("line 1\nline 2\n"), &f->d));
	OK(grove__store_attach_put(f->st, &key, "deep/er/every", grove__slice(h.every, 255), &f->d));
	OK(grove__store_attach_put(f->st, &key, "empty", grove__slice(NULL, 0), &f->d));
	OK(grove__store_attach_put(f->st, &key, "huge", h.line[9], &f->d));
	/* get adds to what is in the buffer */
	OK(grove__buf_add_str(&got, "before "));
	OK(grove__store_attach_get(f->st, &key, "a.txt", &got, &f->d));
	assert_string_equal(got.ptr, "before line 1\nline 2\n");
	grove__buf_clear(&got);
	OK(grove__store_attach_get(f->st, &key, "deep/er/every", &got, &f->d));
	assert_int_equal(got.len, 255);
	assert_memory_equal(got.ptr, h.every, 255);
	grove__buf_clear(&got);
	OK(grove__store_attach_get(f->st, &key, "empty", &got, &f->d));
	assert_int_equal(got.len, 0);
	OK(grove__store_attach_get(f->st, &key, "huge", &got, &f->d));
	assert_int_equal(got.len, h.line[9].len);
	assert_memory_equal(got.ptr, h.line[9].ptr, got.len);
	/* another session has its own */
	FAILS(GROVE_ENOTFOUND, grove__store_attach_get(f->st, &other, "a.txt", &got, &f->d));
	grove__buf_release(&got);
	free(h.huge);
}

static void an_attachment_is_replaced_as_a_whole(void **state)
{
	struct fixture *f = *state;
	struct grove_key key = key_of("p", "a.jsonl");
	struct grove_buf got = GROVE_BUF_INIT;
	struct names n = { .f = f };

	grove__log_close(make_log(f, key, LINES("x")));
	OK(grove__store_attach_put(f->st, &key, "t", str("a long first version"), &f->d));
	OK(grove__store_attach_put(f->st, &key, "t", str("short"), &f->d));
	OK(grove__store_attach_get(f->st, &key, "t", &got, &f->d));
	assert_string_equal(got.ptr, "short");
	OK(grove__store_attach_list(f->st, &key, note_name, &n, &f->d));
	assert_names(&n, LINES("t=5"));
	grove__buf_release(&got);
}

static void attachments_are_listed_by_their_whole_names(void **state)
{
	struct fixture *f = *state;
	struct grove_key key = key_of("p", "a.jsonl"), other = key_of("p", "b.jsonl");
	struct names n = { .f = f };

	grove__log_close(make_log(f, key, LINES("x")));
	grove__log_close(make_log(f, other, LINES("y")));
	OK(grove__store_attach_list(f->st, &key, note_name, &n, &f->d));
	assert_int_equal(n.nr, 0);
	OK(grove__store_attach_put(f->st, &key, "z.txt", str("12345"), &f->d));
	OK(grove__store_attach_put(f->st, &key, "a/b/c.txt", str(""), &f->d));
	OK(grove__store_attach_put(f->st, &key, "a/b/d.txt", str("1"), &f->d));
	OK(grove__store_attach_put(f->st, &key, "a/e", str("12"), &f->d));
	OK(grove__store_attach_put(f->st, &key, ".hidden.tmp", str("123"), &f->d));
	OK(grove__store_attach_put(f->st, &other, "w", str("1"), &f->d));
	OK(grove__store_attach_list(f->st, &key, note_name, &n, &f->d));
	assert_names(&n, LINES(".hidden.tmp=3", "a/b/c.txt=0", "a/b/d.txt=1", "a/e=2", "z.txt=5"));
	n.stop_at = 3;
	assert_int_equal(grove__store_attach_list(f->st, &key, note_name, &n, &f->d), 42);
	assert_int_equal(n.nr, 3);
}

static void without_a_session_nothing_can_be_attached(void **state)
{
	struct fixture *f = *state;
	struct grove_key key = key_of("p", "a.jsonl");
	struct grove_buf got = GROVE_BUF_INIT;
	struct names n = { .f = f };

	FAILS(GROVE_ENOTFOUND, grove__store_attach_put(f->st, &key, "t", str("x"), &f->d));
	FAILS(GROVE_ENOTFOUND, grove__store_attach_get(f->st, &key, "t", &got, &f->d));
	FAILS(GROVE_ENOTFOUND, grove__store_attach_list(f->st, &key, note_name, &n, &f->d));
	grove__log_close(make_log(f, key, LINES("x")));
	FAILS(GROVE_ENOTFOUND, grove__store_attach_get(f->st, &key, "t", &got, &f->d));
	grove__buf_release(&got);
}

static void a_name_that_would_leave_the_session_is_refused(void **state)
{
	static const char *const bad[] = { "", "/", "/x", "../x", "a/../../x", "a//b", "a/", ".",
					   "..", "./x", "a/./b", "a/.." };
	struct fixture *f = *state;
	struct grove_key key = key_of("p", "a.jsonl");
	struct grove_buf got = GROVE_BUF_INIT;
	struct names n = { .f = f };

	grove__log_close(make_log(f, key, LINES("x")));
	for (size_t i = 0; i < ARRAY(bad); i++) {
		FAILS(GROVE_EINVAL, grove__store_attach_put(f->st, &key, bad[i], str("x"), &f->d));
		FAILS(GROVE_EINVAL, grove__store_attach_get(f->st, &key, bad[i], &got, &f->d));
	}
	OK(grove__store_attach_list(f->st, &key, note_name, &n, &f->d));
	assert_int_equal(n.nr, 0);
	assert_int_equal(got.len, 0);
	grove__buf_release(&got);
}

/* ------------------------------------------------------------------- meta */

static void values_are_kept_with_a_log_or_the_store_says_no(void **state)
{
	struct fixture *f = *state;
	struct grove_key key = key_of("p", "a.jsonl"), other = key_of("p", "b.jsonl");
	struct grove_log *log = make_log(f, key, LINES("x")), *second = make_log(f, other, LINES("y"));
	struct grove_buf got = GROVE_BUF_INIT;
	struct hard h;

	FAILS(GROVE_ENOTFOUND, grove__log_meta_get(log, "leaf", &got, &f->d));
	if (!f->kind->meta) {
		FAILS(GROVE_ENOTSUP, grove__log_meta_put(log, "leaf", str("abc"), &f->d));
		FAILS(GROVE_ENOTFOUND, grove__log_meta_get(log, "leaf", &got, &f->d));
		grove__log_close(log);
		grove__log_close(second);
		return;
	}
	hard_make(&h);
	OK(grove__log_meta_put(log, "leaf", str("abc"), &f->d));
	OK(grove__log_meta_put(log, "name", grove__slice(h.every, 255), &f->d));
	OK(grove__log_meta_put(log, "empty", grove__slice(NULL, 0), &f->d));
	OK(grove__log_meta_put(second, "leaf", str("another"), &f->d));
	OK(grove__log_meta_put(log, "leaf", str("abcd"), &f->d));
	grove__log_close(log);
	log = open_log(f, key, GROVE_LOG_READ);
	OK(grove__log_meta_get(log, "leaf", &got, &f->d));
	assert_string_equal(got.ptr, "abcd");
	OK(grove__log_meta_get(log, "empty", &got, &f->d));
	assert_int_equal(got.len, 4);
	grove__buf_clear(&got);
	OK(grove__log_meta_get(log, "name", &got, &f->d));
	assert_int_equal(got.len, 255);
	assert_memory_equal(got.ptr, h.every, 255);
	FAILS(GROVE_ENOTFOUND, grove__log_meta_get(log, "lea", &got, &f->d));
	/* values are no lines */
	assert_log(f, log, LINES("x"));
	grove__log_close(log);
	grove__log_close(second);
	grove__buf_release(&got);
	free(h.huge);
}

/* --------------------------------------------------------------- the rest */

static void the_trace_tells_of_every_call(void **state)
{
	struct fixture *f = *state;
	struct grove_key key = key_of("p", "a.jsonl");
	struct grove_buf got = GROVE_BUF_INIT;
	struct names n = { .f = f };
	struct grove_log *log;
	unsigned before = f->traced;

	log = make_log(f, key, LINES("x", "y"));
	tail_of(f, log);
	assert_log(f, log, LINES("x", "y"));
	grove__log_meta_get(log, "leaf", &got, NULL);
	grove__log_close(log);
	OK(grove__store_list(f->st, NULL, note_key, &n, &f->d));
	/* open, 2 append, stat, stat, read, meta_get, close, list */
	assert_int_equal(f->traced - before, f->kind->traced ? 9 : 0);
	OK(grove__store_describe(f->st, &key, &got));
	grove__buf_release(&got);
}

#define CASE(name) { #name, name, set_up, tear_down, NULL }

static const struct CMUnitTest cases[] = {
	CASE(creating_is_exclusive),
	CASE(of_many_who_create_one_succeeds),
	CASE(what_is_missing_is_not_found),
	CASE(keys_that_differ_in_one_part_are_different),
	CASE(a_handle_for_reading_refuses_to_write),
	CASE(bytes_come_back_as_they_were),
	CASE(one_append_takes_many_records),
	CASE(ten_thousand_lines_are_as_good_as_one),
	CASE(appending_nothing_writes_nothing),
	CASE(an_empty_log_reads_as_empty),
	CASE(a_line_with_a_line_end_in_it_is_refused),
	CASE(every_level_of_sync_stores_the_line),
	CASE(an_append_can_ask_for_the_tail_to_be_where_it_was),
	CASE(two_handles_take_turns),
	CASE(many_threads_append_on_one_handle),
	CASE(many_threads_append_on_several_handles),
	CASE(of_those_who_expect_one_tail_one_succeeds),
	CASE(a_part_of_a_line_can_be_fetched),
	CASE(what_lies_beyond_the_end_is_stale),
	CASE(a_line_can_be_replaced_by_one_as_long),
	CASE(a_line_of_another_length_is_refused),
	CASE(a_rewrite_replaces_every_line),
	CASE(a_rewrite_may_leave_nothing),
	CASE(a_rewrite_may_read_the_log_it_rewrites),
	CASE(a_rewrite_that_fails_changes_nothing),
	CASE(a_rewrite_is_refused_when_the_tail_has_moved),
	CASE(a_reader_notices_a_rewrite_and_goes_on),
	CASE(a_writer_notices_a_rewrite_and_goes_on),
	CASE(a_list_names_every_log_once),
	CASE(a_list_ends_when_it_is_told_to),
	CASE(what_is_listed_may_be_removed_on_the_spot),
	CASE(what_is_listed_may_be_renamed_on_the_spot),
	CASE(removing_twice_is_harmless),
	CASE(a_removed_log_is_not_revived_by_its_handle),
	CASE(removing_a_session_takes_its_logs_along),
	CASE(removing_a_log_of_a_session_leaves_the_rest),
	CASE(a_log_moves_to_a_free_name_with_all_it_has),
	CASE(a_name_that_is_taken_is_not_overwritten),
	CASE(attachments_come_back_as_they_were),
	CASE(an_attachment_is_replaced_as_a_whole),
	CASE(attachments_are_listed_by_their_whole_names),
	CASE(without_a_session_nothing_can_be_attached),
	CASE(a_name_that_would_leave_the_session_is_refused),
	CASE(values_are_kept_with_a_log_or_the_store_says_no),
	CASE(the_trace_tells_of_every_call),
};

size_t store_suite_add(const struct store_kind *kind, struct CMUnitTest *tests, size_t nr, size_t cap)
{
	static char names[1024][128];

	if (kind->env && !getenv(kind->env))
		return nr;
	for (size_t i = 0; i < ARRAY(cases) && nr < cap && nr < ARRAY(names); i++, nr++) {
		snprintf(names[nr], sizeof(names[nr]), "%s: %s", kind->name, cases[i].name);
		tests[nr] = cases[i];
		tests[nr].name = names[nr];
		tests[nr].initial_state = (void *)(uintptr_t)kind;
	}
	return nr;
}
