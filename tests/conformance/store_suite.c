/*
 * tests/conformance/store_suite.c: the tests that every store must pass.
 *
 * Each case gets an empty store of its own. Where stores differ (positions that
 * count lines or bytes, values kept or not), the store's row in the table says
 * so; the cases expect exactly that and skip nothing. The cases are in the
 * other files.
 */
#include "suite_world.h"

/* ------------------------------------------------------------ the fixture */

static void on_trace(void *payload, const char *line)
{
	struct fixture *f = payload;

	assert_non_null(strchr(line, '.'));
	assert_null(strchr(line, '\n'));
	__atomic_add_fetch(&f->traced, 1, __ATOMIC_RELAXED);
}

static int remove_one(void *payload, const struct grove_key *key)
{
	struct fixture *f = payload;

	return grove__store_remove(f->st, key, &f->d);
}

/* Prepares a store that all cases share: creates it if necessary, and empties it. */
static void make_empty(struct fixture *f, const char *url)
{
	OK(grove__store_init(NULL, url, &f->d));
	OK(grove__store_list(f->st, NULL, remove_one, f, &f->d));
	OK(grove__store_list_subs(f->st, NULL, remove_one, f, &f->d));
}

int suite_set_up(void **state)
{
	const struct store_kind *kind = *state;
	struct fixture *f = calloc(1, sizeof(*f));
	struct grove__store_types types = { .nr = 0 };
	struct grove_store *inner;
	char url[512];

	assert_non_null(f);
	f->kind = kind;
	scratch_make(f->dir, sizeof(f->dir));
	if (kind->env)
		snprintf(url, sizeof(url), "%s", getenv(kind->env));
	else
		snprintf(url, sizeof(url), kind->url, f->dir);
	if (kind->type)
		assert_int_equal(grove__store_types_take(&types, kind->type, 1, &f->d), 0);
	if (grove__store_open_of(&types, &f->st, url, &f->d))
		fail_msg("%s: %s", url, f->d.message);
	grove__store_types_release(&types);
	if (kind->env)
		make_empty(f, url);
	if (kind->traced) {
		inner = f->st;
		assert_int_equal(grove__store_trace_open(&f->st, inner, on_trace, f, &f->d), 0);
		assert_string_equal(f->st->url, inner->url);
	}
	*state = f;
	return 0;
}

int suite_tear_down(void **state)
{
	struct fixture *f = *state;

	grove__store_close(f->st);
	scratch_remove(f->dir);
	free(f);
	return 0;
}

void check(struct fixture *f, int rc, int code, const char *what, const char *file, int line)
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

struct grove_key key_of(const char *project, const char *session)
{
	return (struct grove_key){ project, session, "" };
}

struct grove_store_log *open_log(struct fixture *f, struct grove_key key, unsigned flags)
{
	struct grove_store_log *log = NULL;

	OK(grove__log_open(&log, f->st, &key, flags, &f->d));
	assert_non_null(log);
	assert_ptr_equal(log->store, f->st);
	return log;
}

struct grove_store_log *make_log(struct fixture *f, struct grove_key key, const char *const *line,
				 size_t nr)
{
	struct grove_store_log *log = open_log(f, key, GROVE_STORE_CREATE);
	struct grove_store_appended out;

	for (size_t i = 0; i < nr; i++) {
		struct grove_store_record rec = { .line = str(line[i]) };

		OK(grove__log_append(log, &rec, 1, GROVE_ANY_POS, GROVE_SYNC_NONE, &out, &f->d));
	}
	return log;
}

int add(struct fixture *f, struct grove_store_log *log, struct grove_slice line, uint64_t expect,
	struct grove_store_appended *out)
{
	struct grove_store_record rec = { .line = line,
					  .id = str("id"),
					  .parent = str("parent"),
					  .time = 12345,
					  .kind = GROVE_KIND_MESSAGE,
					  .role = GROVE_ROLE_USER };

	return grove__log_append(log, &rec, 1, expect, GROVE_SYNC_NONE, out, &f->d);
}

uint64_t tail_of(struct fixture *f, struct grove_store_log *log)
{
	struct grove_store_log_stat st;

	OK(grove__log_stat(log, &st, &f->d));
	return st.tail;
}

uint64_t generation_of(struct fixture *f, struct grove_store_log *log)
{
	struct grove_store_log_stat st;

	OK(grove__log_stat(log, &st, &f->d));
	return st.generation;
}

/* ---------------------------------------------------------------- reading */

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

void free_lines(struct read_lines *l)
{
	for (size_t i = 0; i < l->nr; i++)
		grove__buf_release(&l->line[i].bytes);
	free(l->line);
}

/* Splits a run into lines; the pieces of a long line are put together. */
static void take_run(struct fixture *f, struct read_lines *l, const struct grove_store_run *run,
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

struct read_lines read_lines(struct fixture *f, struct grove_store_log *log, uint64_t pos,
			     uint64_t until, size_t cap)
{
	struct read_lines l = { NULL, 0, 0, false };
	struct grove_store_run run;
	char *buf = malloc(cap);

	assert_non_null(buf);
	do {
		memset(&run, 0xee, sizeof(run));
		OK(grove__log_read(log, pos, until, buf, cap, &run, &f->d));
		assert_int_equal(run.by_line, f->kind->by_line);
		assert_int_equal(run.pos, pos);
		assert_in_range(run.len, 0, cap);
		if (run.open && run.by_line) {
			/* nothing was read: the buffer must be larger */
			assert_int_equal(run.len, 0);
			assert_int_equal(run.next, pos);
			assert_int_equal(run.end, 0);
			buf = realloc(buf, cap *= 2);
			assert_non_null(buf);
			continue;
		}
		if (run.open) {
			/* a piece of a line, without its end */
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

struct read_lines read_all(struct fixture *f, struct grove_store_log *log, size_t cap)
{
	return read_lines(f, log, 0, tail_of(f, log), cap);
}

void assert_line(const struct read_line *x, struct grove_slice want)
{
	assert_int_equal(x->bytes.len, want.len);
	if (want.len)
		assert_memory_equal(x->bytes.ptr, want.ptr, want.len);
}

void assert_log(struct fixture *f, struct grove_store_log *log, const char *const *line, size_t nr)
{
	struct read_lines l = read_all(f, log, 4096);

	assert_int_equal(l.nr, nr);
	for (size_t i = 0; i < nr; i++)
		assert_line(&l.line[i], str(line[i]));
	free_lines(&l);
}

struct grove_store_record entry_of(const char *line, const char *id, const char *parent)
{
	return (struct grove_store_record){ .line = str(line),
					    .id = str(id),
					    .parent = str(parent),
					    .time = 1700000000000,
					    .kind = GROVE_KIND_MESSAGE,
					    .role = GROVE_ROLE_USER };
}

int next_rewritten(void *payload, struct grove_store_record *rec)
{
	struct rewriting *r = payload;

	if (r->at == r->nr)
		return 1;
	*rec = r->rec[r->at++];
	return 0;
}

/* ----------------------------------------------------------- hard lines */

void hard_make(struct hard *h)
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

/* ------------------------------------------------------------- the table */

static size_t add_cases(const struct store_kind *kind, const struct CMUnitTest *cases, size_t nr_cases,
			struct CMUnitTest *tests, size_t nr, size_t cap)
{
	static char names[1024][128];

	for (size_t i = 0; i < nr_cases; i++, nr++) {
		if (nr >= cap || nr >= ARRAY(names))
			abort(); /* better than leaving out a case silently */
		snprintf(names[nr], sizeof(names[nr]), "%s: %s", kind->name, cases[i].name);
		tests[nr] = cases[i];
		tests[nr].name = names[nr];
		tests[nr].initial_state = (void *)(uintptr_t)kind;
	}
	return nr;
}

size_t store_suite_add(const struct store_kind *kind, struct CMUnitTest *tests, size_t nr, size_t cap)
{
	if (kind->env && !getenv(kind->env))
		return nr;
	nr = add_cases(kind, line_cases, nr_line_cases, tests, nr, cap);
	nr = add_cases(kind, name_cases, nr_name_cases, tests, nr, cap);
	nr = add_cases(kind, change_cases, nr_change_cases, tests, nr, cap);
	return add_cases(kind, lease_cases, nr_lease_cases, tests, nr, cap);
}
