/*
 * tests/unit/test_runs.c: reading a log in runs of whole lines, from a store whose
 * positions count bytes and from one whose positions count lines.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "jsonl_world.h"

#include "image/lines.h"

#define LONG ((size_t)1 << 20)

/* A file with these bytes, open. */
static void file_with(struct world *w, const char *bytes, size_t len)
{
	FILE *f = fopen(w->path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, len, f), len);
	OK(fclose(f));
	OK(grove__log_open(&w->log, w->st, &key, GROVE_STORE_READ, &w->d));
	OK(grove__log_stat(w->log, &w->stat, &w->d));
}

/* The same lines in memory, where positions count them. */
static void memory_with(struct world *w, const char *const *line, size_t nr)
{
	grove__store_close(w->st);
	OK(grove__store_open(&w->st, "memory:", &w->d));
	OK(grove__log_open(&w->log, w->st, &key, GROVE_STORE_CREATE | GROVE_STORE_WRITE, &w->d));
	for (size_t i = 0; i < nr; i++)
		OK(grove__log_append(w->log, &(struct grove_store_record){ .line = str(line[i]) },
				     1, GROVE_ANY_POS, GROVE_SYNC_NONE, &w->out, &w->d));
	OK(grove__log_stat(w->log, &w->stat, &w->d));
}

static void begin(struct world *w, struct grove__runs *r, size_t cap)
{
	OK(grove__runs_init(r, cap));
	grove__runs_begin(r, w->log, 0, w->stat.tail, &w->d);
}

static void assert_run(const struct grove__runs *r, uint64_t pos, const char *bytes)
{
	static const char none[GROVE__JSON_PAD];

	assert_int_equal(r->run.pos, pos);
	assert_int_equal(r->run.len, strlen(bytes));
	assert_memory_equal(r->buf, bytes, r->run.len);
	assert_memory_equal(r->buf + r->run.len, none, sizeof(none));
}

static void runs_are_whole_lines(void **state)
{
	struct world *w = *state;
	struct grove__runs r;

	file_with(w, "one\ntwo\nthree\nlast", 18);
	begin(w, &r, 9);
	OK(grove__runs_next(&r));
	assert_run(&r, 0, "one\ntwo\n");
	assert_int_equal(grove__runs_pos(&r, 4, 1), 4);
	OK(grove__runs_next(&r));
	assert_run(&r, 8, "three\n");
	OK(grove__runs_next(&r));
	assert_run(&r, 14, "last");
	assert_int_equal(grove__runs_next(&r), 1);
	assert_int_equal(grove__runs_next(&r), 1);
	assert_int_equal(r.cap, 9);
	grove__runs_release(&r);
}

static void positions_may_count_lines(void **state)
{
	struct world *w = *state;
	struct grove__runs r;

	memory_with(w, (const char *[]){ "one", "two", "a longer one" }, 3);
	begin(w, &r, 9);
	OK(grove__runs_next(&r));
	assert_run(&r, 0, "one\ntwo\n");
	assert_int_equal(grove__runs_pos(&r, 4, 1), 1);
	OK(grove__runs_next(&r));
	assert_run(&r, 2, "a longer one\n");
	assert_int_equal(grove__runs_next(&r), 1);
	grove__runs_release(&r);
}

static void a_line_that_does_not_fit_makes_room(void **state)
{
	struct world *w = *state;
	struct grove__runs r;

	file_with(w, "a line of some length\nb\n", 24);
	begin(w, &r, 4);
	OK(grove__runs_next(&r));
	assert_int_equal(r.run.pos, 0);
	assert_memory_equal(r.buf, "a line of some length\n", 22);
	grove__runs_release(&r);

	/* or comes in pieces */
	begin(w, &r, 4);
	r.pieces = true;
	OK(grove__runs_next(&r));
	assert_run(&r, 0, "a li");
	assert_true(r.run.open);
	OK(grove__runs_next(&r));
	assert_run(&r, 4, "ne o");
	grove__runs_release(&r);
}

static void a_line_that_is_too_long_is_told_and_passed_over(void **state)
{
	struct world *w = *state;
	struct grove__runs r;

	file_with(w, "a\n0123456789abcdef\nb\n", 21);
	begin(w, &r, 4);
	r.max = 15; /* it is measured at once */
	OK(grove__runs_next(&r));
	assert_run(&r, 0, "a\n");
	assert_int_equal(grove__runs_next(&r), GROVE_ETOOBIG);
	assert_int_equal(r.cap, 4);
	assert_true(grove__runs_skip(&r));
	OK(grove__runs_next(&r));
	assert_run(&r, 19, "b\n");
	assert_false(grove__runs_skip(&r));
	grove__runs_release(&r);

	/* the line that just fits */
	begin(w, &r, 4);
	r.max = 17;
	OK(grove__runs_next(&r));
	OK(grove__runs_next(&r));
	assert_run(&r, 2, "0123456789abcdef\n");
	grove__runs_release(&r);
}

static void nor_does_a_line_among_counted_ones(void **state)
{
	struct world *w = *state;
	struct grove__runs r;

	memory_with(w, (const char *[]){ "a", "0123456789abcdef0123456789", "b" }, 3);
	begin(w, &r, 4);
	r.max = 16;
	r.pieces = true; /* there are none where lines are counted */
	OK(grove__runs_next(&r));
	assert_int_equal(grove__runs_next(&r), GROVE_ETOOBIG);
	assert_true(grove__runs_skip(&r));
	OK(grove__runs_next(&r));
	assert_run(&r, 2, "b\n");
	grove__runs_release(&r);
}

static void a_mark_is_handed_out_and_told(void **state)
{
	struct world *w = *state;
	struct grove__runs r;

	file_with(w, GROVE__MARK "a\n" GROVE__MARK "b\n", 10);
	begin(w, &r, 6);
	OK(grove__runs_next(&r));
	assert_run(&r, 0, GROVE__MARK "a\n");
	assert_int_equal(r.mark, 3);
	OK(grove__runs_next(&r));
	assert_int_equal(r.mark, 0);
	grove__runs_release(&r);
}

static int have_had_enough(void *payload, uint64_t done, uint64_t total)
{
	uint64_t *at = payload;

	assert_int_equal(total, 12);
	assert_true(done >= at[0]);
	at[0] = done;
	return done >= at[1];
}

static void who_is_told_may_end_it(void **state)
{
	struct world *w = *state;
	uint64_t at[2] = { 0, 8 };
	struct grove_progress p = { have_had_enough, at };
	struct grove__runs r;

	file_with(w, "one\ntwo\nsix\n", 12);
	begin(w, &r, 4);
	r.progress = &p;
	r.path = "where it is";
	OK(grove__runs_next(&r));
	OK(grove__runs_next(&r));
	assert_int_equal(grove__runs_next(&r), GROVE_ECANCELLED);
	assert_string_equal(w->d.path, "where it is");
	assert_int_equal(at[0], 8);
	grove__runs_release(&r);
}

/* What the machine says of a line of `len` bytes that begins and ends so. */
static struct grove__runs_long streamed(struct world *w, const char *mark, const char *first,
					const char *last, bool closed, uint64_t *pos)
{
	size_t n = strlen(mark) + strlen(first), len = n + LONG + strlen(last) + closed;
	char *text = malloc(len + 2);
	struct grove__json_want want;
	struct grove__json_stream *s;
	struct grove__runs_long l;
	struct grove__runs r;

	assert_non_null(text);
	memset(text, ' ', len);
	memcpy(text, mark, strlen(mark));
	memcpy(text + strlen(mark), first, strlen(first));
	memcpy(text + n + LONG, last, strlen(last));
	memcpy(text + len - closed, "\nb", 2);
	file_with(w, text, closed ? len + 1 : len);
	begin(w, &r, 4096);
	r.pieces = true;
	grove__json_want_init(&want, NULL, 0);
	s = grove__json_stream_new(&want);
	assert_non_null(s);
	OK(grove__runs_next(&r));
	assert_true(r.run.open);
	OK(grove__runs_stream(&r, s, &l));
	*pos = r.run.pos;
	assert_int_equal(l.len, len - strlen(mark) - closed);
	assert_int_equal(l.closed, closed);
	if (closed) {
		OK(grove__runs_next(&r));
		assert_run(&r, len, "b");
	}
	assert_int_equal(grove__runs_next(&r), 1);
	grove__json_stream_free(s);
	grove__runs_release(&r);
	grove__log_close(w->log);
	w->log = NULL;
	free(text);
	return l;
}

static void a_long_line_is_judged_piece_by_piece(void **state)
{
	struct world *w = *state;
	struct grove__runs_long l;
	uint64_t pos;

	assert_int_equal(streamed(w, "", "{\"a\":1", "}", true, &pos).verdict, JSON_VALUE);
	assert_int_equal(pos, 0);
	assert_int_equal(streamed(w, GROVE__MARK, "[1", "] ", false, &pos).verdict, JSON_VALUE);
	assert_int_equal(pos, 3);
	assert_int_equal(streamed(w, "", " \t", "\r", true, &pos).verdict, JSON_BLANK);
	l = streamed(w, "", "{}", "x", true, &pos);
	assert_int_equal(l.verdict, JSON_BAD);
	l = streamed(w, "", "{\"a\":", "", false, &pos);
	assert_int_equal(l.verdict, JSON_BAD);
	assert_int_equal(l.error_off, l.len);
	assert_int_equal(streamed(w, "", "{]", "", true, &pos).error_off, 1);
}

static void a_line_names_its_number_when_it_is_too_long(void **state)
{
	struct world *w = *state;
	uint64_t max = grove__line_max;
	struct grove__lines r;
	struct grove_slice line;
	char *text = malloc(3 * LONG);

	assert_non_null(text);
	memset(text, 'x', 3 * LONG);
	memcpy(text, "one\n", 4);
	file_with(w, text, 3 * LONG);
	grove__line_max = 2 * LONG;
	OK(grove__lines_init(&r, w->log, w->stat.tail, &w->d));
	OK(grove__lines_next(&r, &line));
	assert_int_equal(grove__lines_next(&r, &line), GROVE_ETOOBIG);
	assert_int_equal(w->d.line, 2);
	assert_int_equal(w->d.offset, 4);
	grove__lines_release(&r);
	grove__line_max = max;
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(runs_are_whole_lines, set_up, tear_down),
		cmocka_unit_test_setup_teardown(positions_may_count_lines, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_line_that_does_not_fit_makes_room, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_line_that_is_too_long_is_told_and_passed_over, set_up, tear_down),
		cmocka_unit_test_setup_teardown(nor_does_a_line_among_counted_ones, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_mark_is_handed_out_and_told, set_up, tear_down),
		cmocka_unit_test_setup_teardown(who_is_told_may_end_it, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_long_line_is_judged_piece_by_piece, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_line_names_its_number_when_it_is_too_long, set_up, tear_down),
	};

	return cmocka_run_group_tests_name("runs", tests, NULL, NULL);
}
