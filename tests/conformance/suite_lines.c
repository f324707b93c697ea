/*
 * tests/conformance/suite_lines.c: writing and reading lines: create, append,
 * read, compare and swap, replace, rewrite.
 */
#include <pthread.h>

#include "suite_world.h"

/* ----------------------------------------------------------- open, create */

static void creating_is_exclusive(void **state)
{
	struct fixture *f = *state;
	struct grove_key key = key_of("--w-p--", "a.jsonl");
	struct grove_store_log *log = make_log(f, key, LINES("{\"first\":1}")), *other = NULL;

	FAILS(GROVE_EEXIST, grove__log_open(&other, f->st, &key, GROVE_STORE_CREATE, &f->d));
	assert_null(other);
	grove__log_close(log);
	FAILS(GROVE_EEXIST, grove__log_open(&other, f->st, &key, GROVE_STORE_CREATE, &f->d));
	/* other flags beside it change nothing */
	FAILS(GROVE_EEXIST,
	      grove__log_open(&other, f->st, &key, GROVE_STORE_CREATE | GROVE_STORE_WRITE, &f->d));
	log = open_log(f, key, GROVE_STORE_READ);
	assert_log(f, log, LINES("{\"first\":1}"));
	grove__log_close(log);
}

struct racer {
	struct fixture *f;
	pthread_barrier_t *start;
	struct grove_store_log *log;
	int rc;
};

static void *race_to_create(void *arg)
{
	struct racer *r = arg;
	struct grove_key key = key_of("p", "raced.jsonl");

	pthread_barrier_wait(r->start);
	r->rc = grove__log_open(&r->log, r->f->st, &key, GROVE_STORE_CREATE, NULL);
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
	struct grove_store_log *log = (struct grove_store_log *)&log;

	FAILS(GROVE_ENOTFOUND, grove__log_open(&log, f->st, &key, GROVE_STORE_READ, &f->d));
	assert_null(log);
	FAILS(GROVE_ENOTFOUND, grove__log_open(&log, f->st, &key, GROVE_STORE_WRITE, &f->d));
	FAILS(GROVE_ENOTFOUND, grove__log_open(&log, f->st, &flat, GROVE_STORE_READ, &f->d));
	/* the calls above have created nothing */
	grove__log_close(make_log(f, key, LINES("x")));
	FAILS(GROVE_ENOTFOUND, grove__log_open(&log, f->st, &flat, GROVE_STORE_WRITE, &f->d));
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
		struct grove_store_log *log = open_log(f, key[i], GROVE_STORE_READ);

		snprintf(line, sizeof(line), "line of %zu", i);
		assert_log(f, log, want, 1);
		grove__log_close(log);
	}
}

static void a_handle_for_reading_refuses_to_write(void **state)
{
	struct fixture *f = *state;
	struct grove_key key = key_of("p", "a.jsonl");
	struct grove_store_log *log = make_log(f, key, LINES("one"));
	struct grove_store_appended out;

	grove__log_close(log);
	log = open_log(f, key, GROVE_STORE_READ);
	FAILS(GROVE_EACCESS, add(f, log, str("two"), GROVE_ANY_POS, &out));
	FAILS(GROVE_EACCESS, grove__log_replace(log, 0, str("two"), GROVE_SYNC_NONE, &f->d));
	FAILS(GROVE_EACCESS, grove__log_rewrite(log, NULL, NULL, GROVE_ANY_POS, 0, &f->d));
	if (f->kind->meta)
		FAILS(GROVE_EACCESS, grove__log_meta_put(log, "leaf", str("x"), &f->d));
	assert_log(f, log, LINES("one"));
	grove__log_close(log);
}

/* --------------------------------------------------------- append and read */

/* Appends the lines, reads them with buffers of all these sizes, and compares. */
static void come_back(struct fixture *f, const char *name, const struct hard *h, size_t nr,
		      const size_t *caps, size_t nr_caps)
{
	struct grove_store_log *log = open_log(f, key_of("p", name), GROVE_STORE_CREATE), *other;
	struct grove_store_appended out;
	uint64_t bytes = 0, tail = 0;
	struct grove_store_log_stat st;

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
	other = open_log(f, key_of("p", name), GROVE_STORE_READ);
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
	/* without the line of 3 MB, which would take too long with tiny buffers */
	come_back(f, "tiny.jsonl", &h, 9, tiny, ARRAY(tiny));
	free(h.huge);
}

static void one_append_takes_many_records(void **state)
{
	struct fixture *f = *state;
	struct grove_store_log *log = open_log(f, key_of("p", "batch.jsonl"), GROVE_STORE_CREATE);
	struct grove_store_record rec[16] = { 0 };
	struct grove_store_appended out;
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
	struct grove_store_log *log = open_log(f, key_of("p", "many.jsonl"), GROVE_STORE_CREATE);
	uint64_t *pos = calloc(NR, sizeof(*pos));
	struct grove_store_appended out;
	char line[64];

	assert_non_null(pos);
	for (int i = 0; i < NR; i++) {
		snprintf(line, sizeof(line), "{\"n\":%d,\"pad\":\"%.*s\"}", i, i % 29,
			 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxx");
		OK(add(f, log, str(line), GROVE_ANY_POS, &out));
		pos[i] = out.pos;
	}
	/* reading finds the positions that append has returned */
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
	struct grove_store_log *log = make_log(f, key_of("p", "a.jsonl"), LINES("one", "two"));
	uint64_t tail = tail_of(f, log);
	struct grove_store_appended out;

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
	struct grove_store_log *log = open_log(f, key_of("p", "empty.jsonl"), GROVE_STORE_CREATE);
	struct grove_store_log_stat st;
	struct grove_store_run run;
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
	struct grove_store_log *log = make_log(f, key_of("p", "a.jsonl"), LINES("one", "two"));
	const struct grove_store_record rec[] = { { .line = str("three") },
						  { .line = str("fo\nur") },
						  { .line = str("five") } };
	struct grove_store_appended out;
	uint64_t second = f->kind->by_line ? 1 : 4;

	FAILS(GROVE_EINVAL, add(f, log, str("a\nb"), GROVE_ANY_POS, &out));
	FAILS(GROVE_EINVAL, add(f, log, str("\n"), GROVE_ANY_POS, &out));
	FAILS(GROVE_EINVAL, add(f, log, str("ends in one\n"), GROVE_ANY_POS, &out));
	/* a batch with an invalid line is not stored at all */
	FAILS(GROVE_EINVAL, grove__log_append(log, rec, ARRAY(rec), GROVE_ANY_POS, GROVE_SYNC_NONE,
					      &out, &f->d));
	FAILS(GROVE_EINVAL, grove__log_replace(log, second, str("t\no"), GROVE_SYNC_NONE, &f->d));
	assert_log(f, log, LINES("one", "two"));
	grove__log_close(log);
}

static void every_level_of_sync_stores_the_line(void **state)
{
	struct fixture *f = *state;
	struct grove_store_log *log =
		open_log(f, key_of("new-project", "a.jsonl"), GROVE_STORE_CREATE);
	struct grove_store_record rec = { .line = str("line") };
	struct grove_store_appended out;

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
	struct grove_store_log *log = make_log(f, key_of("p", "a.jsonl"), LINES("one"));
	uint64_t tail = tail_of(f, log);
	struct grove_store_appended out;

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
	struct grove_store_log *a = open_log(f, key, GROVE_STORE_CREATE);
	struct grove_store_log *b = NULL, *reader;
	struct grove_store_appended out;
	uint64_t tail = 0, seen;
	char line[32];

	OK(add(f, a, str("0"), 0, &out));
	tail = out.tail;
	b = open_log(f, key, GROVE_STORE_WRITE);
	reader = open_log(f, key, GROVE_STORE_READ);
	for (int i = 1; i < 200; i++) {
		struct grove_store_log *mine = i % 3 ? a : b, *theirs = i % 3 ? b : a;

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
	/* growth does not change the generation */
	assert_int_equal(generation_of(f, reader), generation_of(f, reader));
	grove__log_close(reader);
	grove__log_close(b);
	grove__log_close(a);
}

enum { THREADS = 16, APPENDS = 40 };

struct appender {
	struct grove_store_log *log;
	pthread_barrier_t *start;
	unsigned number;
	int rc;
};

/* Writes "t07 n0012 a", or in the same append "t07 n0012 b", padded to many lengths. */
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
		struct grove_store_record rec[2] = { 0 };
		struct grove_store_appended out;

		thread_line(one, sizeof(one), a->number, n, 'a');
		thread_line(two, sizeof(two), a->number, n, 'b');
		rec[0].line = str(one);
		rec[1].line = str(two);
		a->rc = grove__log_append(a->log, rec, 2, GROVE_ANY_POS, GROVE_SYNC_ALWAYS, &out,
					  NULL);
		/* fetch may be called at the same time as append */
		if (!a->rc)
			a->rc = grove__log_fetch(a->log, out.pos, 0, two, strlen(one), NULL);
		if (!a->rc && memcmp(one, two, strlen(one)))
			a->rc = GROVE_EDAMAGED;
	}
	return NULL;
}

/* Appends from several threads, which share `handles` handles of one log. */
static void append_from_threads(struct fixture *f, unsigned handles)
{
	struct grove_key key = key_of("p", "threads.jsonl");
	struct grove_store_log *log[4];
	struct appender a[THREADS];
	pthread_t thread[THREADS];
	pthread_barrier_t start;
	unsigned next[THREADS] = { 0 };
	struct read_lines l;
	char line[128];

	log[0] = make_log(f, key, LINES("header"));
	for (unsigned i = 1; i < handles; i++)
		log[i] = open_log(f, key, GROVE_STORE_WRITE);
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
	/*
	 * each line is there once and whole, batches stay together, each thread's lines are in
	 * order
	 */
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
	struct grove_store_log *log;
	unsigned number, conflicts;
	int rc;
};

/* Appends its own line number by compare and swap, and tries again after a conflict. */
static void *count_by_swap(void *arg)
{
	struct counter *c = arg;
	struct grove_store_log_stat st;
	struct grove_store_appended out;
	char line[32];

	for (unsigned done = 0; done < 50 && !c->rc;) {
		struct grove_store_record rec = { 0 };

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
	struct grove_store_log *first = make_log(f, key, LINES("header"));
	struct counter c[6];
	pthread_t thread[ARRAY(c)];
	struct read_lines l;

	for (unsigned i = 0; i < ARRAY(c); i++) {
		c[i] = (struct counter){ f, open_log(f, key, GROVE_STORE_WRITE), i, 0, 0 };
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
	struct grove_store_log *log = open_log(f, key_of("p", "a.jsonl"), GROVE_STORE_CREATE);
	struct grove_store_appended out;
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
	struct grove_store_log *log = make_log(f, key_of("p", "a.jsonl"), LINES("one", "twotwo"));
	uint64_t tail = tail_of(f, log), last = f->kind->by_line ? 1 : 4;
	struct grove_store_run run;
	char buf[64];

	FAILS(GROVE_ESTALE, grove__log_fetch(log, last, 0, buf, 8, &f->d));
	FAILS(GROVE_ESTALE, grove__log_fetch(log, last, 7, buf, 2, &f->d));
	FAILS(GROVE_ESTALE, grove__log_fetch(log, tail, 0, buf, 1, &f->d));
	FAILS(GROVE_ESTALE, grove__log_fetch(log, tail + 1000, 0, buf, 1, &f->d));
	/* reading up to a position behind the end of the log */
	FAILS(GROVE_ESTALE, grove__log_read(log, 0, tail + 1, buf, sizeof(buf), &run, &f->d));
	FAILS(GROVE_ESTALE, grove__log_read(log, tail, tail + 5, buf, sizeof(buf), &run, &f->d));
	FAILS(GROVE_ESTALE, grove__log_read(log, tail + 7, tail + 9, buf, sizeof(buf), &run, &f->d));
	/* or from a position behind the end that was asked for */
	FAILS(GROVE_ESTALE, grove__log_read(log, tail, 0, buf, sizeof(buf), &run, &f->d));
	/* reading at the end itself is no error */
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
	struct grove_store_log *log = make_log(f, key, LINES("title one", "{\"a\":1}", "", "last"));
	struct grove_store_log *reader = open_log(f, key, GROVE_STORE_READ);
	struct read_lines l = read_all(f, log, 4096);
	uint64_t tail = tail_of(f, log);
	struct grove_store_appended out;

	OK(grove__log_replace(log, l.line[0].pos, str("title two"), GROVE_SYNC_ALWAYS, &f->d));
	OK(grove__log_replace(log, l.line[1].pos, str("{\"a\":2}"), GROVE_SYNC_NONE, &f->d));
	OK(grove__log_replace(log, l.line[2].pos, grove__slice(NULL, 0), GROVE_SYNC_NONE, &f->d));
	OK(grove__log_replace(log, l.line[3].pos, str("LAST"), GROVE_SYNC_FLUSH, &f->d));
	assert_int_equal(tail_of(f, log), tail);
	assert_log(f, log, LINES("title two", "{\"a\":2}", "", "LAST"));
	assert_log(f, reader, LINES("title two", "{\"a\":2}", "", "LAST"));
	/* the log still grows at its end */
	OK(add(f, log, str("more"), tail, &out));
	assert_log(f, reader, LINES("title two", "{\"a\":2}", "", "LAST", "more"));
	free_lines(&l);
	grove__log_close(reader);
	grove__log_close(log);
}

static void a_line_of_another_length_is_refused(void **state)
{
	struct fixture *f = *state;
	struct grove_store_log *log =
		make_log(f, key_of("p", "a.jsonl"), LINES("abc", "", "defg", "hi"));
	struct read_lines l = read_all(f, log, 4096);
	const char *const wrong[] = { "", "x", "xx", "xxxxx", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx" };

	for (size_t i = 0; i < l.nr; i++)
		for (size_t k = 0; k < ARRAY(wrong); k++)
			if (strlen(wrong[k]) != l.line[i].bytes.len)
				FAILS(GROVE_EINVAL, grove__log_replace(log, l.line[i].pos, str(wrong[k]),
								       GROVE_SYNC_NONE, &f->d));
	/* at a position where no line begins */
	FAILS(GROVE_ESTALE, grove__log_replace(log, tail_of(f, log), str(""), GROVE_SYNC_NONE, &f->d));
	FAILS(GROVE_ESTALE, grove__log_replace(log, tail_of(f, log) + 9, str("x"), GROVE_SYNC_NONE,
					       &f->d));
	/* a position inside a line is not a line */
	if (!f->kind->by_line)
		FAILS(GROVE_EINVAL, grove__log_replace(log, 1, str("xx"), GROVE_SYNC_NONE, &f->d));
	assert_log(f, log, LINES("abc", "", "defg", "hi"));
	free_lines(&l);
	grove__log_close(log);
}

/* -------------------------------------------------------------------- cut */

static void a_log_can_be_cut_off_where_a_line_begins(void **state)
{
	struct fixture *f = *state;
	struct grove_key key = key_of("p", "a.jsonl");
	struct grove_store_log *log = make_log(f, key, LINES("one", "two", "three", "four"));
	struct grove_store_log *reader = open_log(f, key, GROVE_STORE_READ);
	struct read_lines l = read_all(f, log, 4096);
	uint64_t tail = tail_of(f, log);
	struct grove_store_appended out;

	FAILS(GROVE_EACCESS, grove__log_cut(reader, l.line[2].pos, tail, GROVE_SYNC_NONE, &f->d));
	FAILS(GROVE_ECONFLICT, grove__log_cut(log, l.line[2].pos, tail - 1, GROVE_SYNC_NONE, &f->d));
	FAILS(GROVE_EINVAL, grove__log_cut(log, tail + 1, tail, GROVE_SYNC_NONE, &f->d));
	if (!f->kind->by_line)
		FAILS(GROVE_EINVAL, grove__log_cut(log, l.line[2].pos + 1, tail, GROVE_SYNC_NONE, &f->d));
	assert_log(f, log, LINES("one", "two", "three", "four"));
	OK(grove__log_cut(log, tail, tail, GROVE_SYNC_NONE, &f->d));
	assert_log(f, log, LINES("one", "two", "three", "four"));
	OK(grove__log_cut(log, l.line[2].pos, tail, GROVE_SYNC_ALWAYS, &f->d));
	assert_int_equal(tail_of(f, log), l.line[2].pos);
	assert_log(f, log, LINES("one", "two"));
	assert_log(f, reader, LINES("one", "two"));
	/* the log grows from there */
	OK(add(f, log, str("other"), l.line[2].pos, &out));
	assert_log(f, reader, LINES("one", "two", "other"));
	OK(grove__log_cut(log, 0, tail_of(f, log), GROVE_SYNC_NONE, &f->d));
	assert_int_equal(tail_of(f, log), 0);
	OK(add(f, log, str("anew"), 0, &out));
	assert_log(f, log, LINES("anew"));
	free_lines(&l);
	grove__log_close(reader);
	grove__log_close(log);
}

/* ---------------------------------------------------------------- rewrite */

struct source {
	const char *const *line;
	size_t nr, at;
	int end;                 /* the result after the last line: 1, or an error */
	struct fixture *f;
	struct grove_store_log *read; /* return the lines of this log instead, in reverse order */
	struct read_lines lines;
	struct grove_buf buf;
};

static int next_of(void *payload, struct grove_store_record *rec)
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
		rec->line = grove__slice(s->buf.ptr, x->bytes.len);
		return rc;
	}
	rec->line = str(s->line[s->at++]);
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
	struct grove_store_log *log = make_log(f, key, LINES("one", "two", "three"));
	struct source s = source_of(LINES("ONE", "", "a longer second line", "THREE"), 1);
	struct grove_store_appended out;
	uint64_t before = generation_of(f, log);

	OK(grove__log_rewrite(log, next_of, &s, tail_of(f, log), 0, &f->d));
	assert_log(f, log, LINES("ONE", "", "a longer second line", "THREE"));
	assert_int_not_equal(generation_of(f, log), before);
	/* the handle continues with the new log */
	OK(add(f, log, str("four"), tail_of(f, log), &out));
	assert_log(f, log, LINES("ONE", "", "a longer second line", "THREE", "four"));
	grove__log_close(log);
	log = open_log(f, key, GROVE_STORE_READ);
	assert_log(f, log, LINES("ONE", "", "a longer second line", "THREE", "four"));
	grove__log_close(log);
}

static void a_rewrite_may_leave_nothing(void **state)
{
	struct fixture *f = *state;
	struct grove_store_log *log = make_log(f, key_of("p", "a.jsonl"), LINES("one", "two"));
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
	struct grove_store_log *log = open_log(f, key_of("p", "a.jsonl"), GROVE_STORE_CREATE);
	struct source s = { .nr = NR, .end = 1, .read = log, .buf = GROVE_BUF_INIT };
	struct grove_store_appended out;
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
	struct grove_store_log *log = make_log(f, key, LINES("one", "two"));
	uint64_t before = generation_of(f, log), tail = tail_of(f, log);
	const int codes[] = { GROVE_EJSON, GROVE_ECANCELLED, GROVE_EIO, GROVE_ENOMEM };
	struct grove_store_appended out;

	for (size_t i = 0; i < ARRAY(codes); i++)
		for (size_t nr = 0; nr < 3; nr++) {
			const char *const line[] = { "x", "y", "z" };
			struct source s = source_of(line, nr, codes[i]);

			/* the caller's own code is passed on unchanged */
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
	log = open_log(f, key, GROVE_STORE_READ);
	assert_log(f, log, LINES("one", "two", "three"));
	grove__log_close(log);
}

static void a_rewrite_is_refused_when_the_tail_has_moved(void **state)
{
	struct fixture *f = *state;
	struct grove_key key = key_of("p", "a.jsonl");
	struct grove_store_log *log = make_log(f, key, LINES("one")), *other;
	uint64_t tail = tail_of(f, log);
	struct source s = source_of(LINES("new"), 1);
	struct grove_store_appended out;

	other = open_log(f, key, GROVE_STORE_WRITE);
	OK(add(f, other, str("two"), tail, &out));
	grove__log_close(other);
	FAILS(GROVE_ECONFLICT, grove__log_rewrite(log, next_of, &s, tail, 0, &f->d));
	FAILS(GROVE_ECONFLICT,
	      grove__log_rewrite(log, next_of, &s, tail, GROVE_STORE_FORCE, &f->d));
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
	struct grove_store_log *log = make_log(f, key, LINES("one", "two", "three"));
	struct grove_store_log *reader = open_log(f, key, GROVE_STORE_READ);
	struct read_lines old = read_all(f, reader, 4096);
	uint64_t before = generation_of(f, reader), tail = tail_of(f, reader);
	struct source s = source_of(LINES("1"), 1);
	struct grove_store_run run;
	char buf[64];

	OK(grove__log_rewrite(log, next_of, &s, tail, 0, &f->d));
	/* the handle may still see the old bytes or get an error, but never wrong bytes */
	{
		int rc = grove__log_fetch(reader, old.line[2].pos, 0, buf, 5, &f->d);

		assert_true(rc == GROVE_ESTALE || (!rc && !memcmp(buf, "three", 5)));
	}
	assert_int_not_equal(generation_of(f, reader), before);
	before = generation_of(f, reader);
	assert_int_equal(generation_of(f, reader), before);
	assert_log(f, reader, LINES("1"));
	/* positions of the old log are not valid any more */
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
	struct grove_store_log *log = make_log(f, key, LINES("one", "two", "three"));
	struct grove_store_log *writer = open_log(f, key, GROVE_STORE_WRITE);
	uint64_t tail = tail_of(f, writer), before = generation_of(f, writer);
	struct source s = source_of(LINES("1", "2"), 1);
	struct grove_store_appended out;
	int rc;

	if (f->kind->sees_writers)
		FAILS(GROVE_ECONFLICT, grove__log_rewrite(log, next_of, &s, tail, 0, &f->d));
	s.at = 0;
	OK(grove__log_rewrite(log, next_of, &s, tail, GROVE_STORE_FORCE, &f->d));
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

const struct CMUnitTest line_cases[] = {
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
	CASE(a_log_can_be_cut_off_where_a_line_begins),
	CASE(a_line_of_another_length_is_refused),
	CASE(a_rewrite_replaces_every_line),
	CASE(a_rewrite_may_leave_nothing),
	CASE(a_rewrite_may_read_the_log_it_rewrites),
	CASE(a_rewrite_that_fails_changes_nothing),
	CASE(a_rewrite_is_refused_when_the_tail_has_moved),
	CASE(a_reader_notices_a_rewrite_and_goes_on),
	CASE(a_writer_notices_a_rewrite_and_goes_on),
};
const size_t nr_line_cases = ARRAY(line_cases);
