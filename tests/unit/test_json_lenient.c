/*
 * Tests the lenient JSON reader: which values it finds in which bytes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "json/lenient.h"

#include <stdlib.h>
#include <string.h>

#include "../lib/chance.h"

struct input {
	const char *text;
	size_t step; /* bytes handed out at a time */
	size_t len;
};

static int source(void *payload, uint64_t pos, char *buf, size_t cap, size_t *got)
{
	const struct input *in = payload;
	size_t n = pos < in->len ? in->len - (size_t)pos : 0;

	if (n > in->step)
		n = in->step;
	if (n > cap)
		n = cap;
	memcpy(buf, in->text + pos, n);
	*got = n;
	return 0;
}

/* The values found in `text`, joined by " | ". */
static void finds(const char *text, const char *want)
{
	static const size_t steps[] = { 1, 2, 3, 7, 1000 };

	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		struct input in = { text, steps[i], strlen(text) };
		struct grove__json_lenient *l = grove__json_lenient_new(NULL, source, &in, 0);
		struct grove__json_found f;
		struct grove_buf out = GROVE_BUF_INIT;

		assert_non_null(l);
		while (!grove__json_lenient_next(l, &f)) {
			assert_int_equal(grove__buf_addf(&out, "%s%.*s", out.len ? " | " : "", (int)f.len,
							 text + f.pos), 0);
		}
		assert_string_equal(out.ptr ? out.ptr : "", want);
		grove__buf_release(&out);
		grove__json_lenient_free(l);
	}
}

static void a_value_a_line_is_what_it_seems(void **state)
{
	(void)state;
	finds("", "");
	finds("\n \t\r\n", "");
	finds("{\"a\":1}\n{\"b\":2}\n", "{\"a\":1} | {\"b\":2}");
	finds("{\"a\":1}\r\n{\"b\":2}", "{\"a\":1} | {\"b\":2}");
	finds("1\nnull\n\"x\"\n[2]", "1 | null | \"x\" | [2]");
}

static void what_follows_a_value_on_its_line_is_not_read(void **state)
{
	(void)state;
	finds("{\"a\":1}{\"b\":2}\n{\"c\":3}", "{\"a\":1} | {\"c\":3}");
	finds("{\"a\":1} x\n{\"c\":3}", "{\"a\":1} | {\"c\":3}");
	finds("{\"a\":1}\r{\"b\":2}\n{\"c\":3}", "{\"a\":1} | {\"c\":3}");
	finds("{\"a\":1},\n{\"b\":1}", "{\"a\":1} | {\"b\":1}");
}

static void a_value_may_span_lines(void **state)
{
	(void)state;
	finds("{\"a\":\n1}\n{\"b\":2}", "{\"a\":\n1} | {\"b\":2}");
	finds("[\n\n1\n,2]{\"x\":1}\n3", "[\n\n1\n,2] | 3");
}

static void a_mistake_costs_the_first_line_of_its_value(void **state)
{
	(void)state;
	finds("{\"t\":\"abc{\"type\":\"x\"}\n{\"b\":2}", "{\"b\":2}");
	finds("{\"c\":\n{\"b\":2}\n{\"d\":3}\n", "{\"b\":2} | {\"d\":3}");
	finds("junk\n{\"b\":2}", "{\"b\":2}");
	finds("\"torn\n{\"b\":2}\n", "{\"b\":2}");
}

static void the_input_may_end_inside_a_value(void **state)
{
	(void)state;
	finds("{\"c\":\n{\"b\":2}\n", "");
	finds("{\"a\":1}\n{\"c\":", "{\"a\":1}");
	finds("{\"a\":1}{\"b\":2}\n{\"c\":", "{\"a\":1} | {\"b\":2}");
	finds("{\"a\":1} x {\"b\":2}\n{\"c\":", "{\"a\":1}");
	finds("-", "");
	finds("{\"a\":1}\n12", "{\"a\":1} | 12");
}

static void lines_and_what_was_lost_are_counted(void **state)
{
	struct input in = { "\n{\"a\":\n1}\nbad\n{\"b\":2}\n{\"c\":", 5, 0 };
	struct grove__json_lenient *l;
	struct grove__json_passed p;
	struct grove__json_found f;

	(void)state;
	in.len = strlen(in.text);
	l = grove__json_lenient_new(NULL, source, &in, 0);
	assert_non_null(l);
	assert_int_equal(grove__json_lenient_next(l, &f), 0);
	assert_int_equal(f.line, 1);
	assert_int_equal(grove__json_lenient_next(l, &f), 0);
	assert_int_equal(f.line, 4);
	assert_int_equal(grove__json_lenient_next(l, &f), 1);
	assert_int_equal(grove__json_lenient_next(l, &f), 1);
	grove__json_lenient_passed(l, &p);
	assert_int_equal(p.bad, 1);
	assert_int_equal(p.bad_line, 3);
	assert_int_equal(p.bad_pos, 10);
	assert_true(p.torn);
	assert_int_equal(p.torn_line, 5);
	assert_int_equal(p.lines, 6);
	grove__json_lenient_free(l);
}

/* -------------------------------------------------------------- by chance */

/* The rules of lenient.h, word for word, with a reader that forgets all it saw. */
static void by_the_rules(const char *t, struct grove_buf *out)
{
	size_t len = strlen(t), at = 0, last = 0;
	bool have_last = false, resumed = false;
	struct grove__json_want nothing;
	struct grove__json_stream *s;

	grove__json_want_init(&nothing, NULL, 0);
	s = grove__json_stream_new(&nothing);
	assert_non_null(s);
	for (;;) {
		const char *lf;
		size_t used;
		int rc;

		at += strspn(t + at, " \t\r\n");
		if (at == len)
			break;
		grove__json_stream_reset(s);
		rc = grove__json_stream_feed(s, t + at, len - at, false, &used);
		if (rc == JSON_STREAM_MORE) {
			size_t none;

			rc = grove__json_stream_feed(s, "", 0, true, &none);
			rc = rc == JSON_STREAM_DONE ? rc : JSON_STREAM_MORE;
		}
		if (rc == JSON_STREAM_MORE) {
			if (!have_last || resumed)
				break;
			resumed = true;
			at = last;
			continue;
		}
		have_last = rc == JSON_STREAM_DONE;
		if (have_last) {
			assert_int_equal(grove__buf_addf(out, "%s%.*s", out->len ? " | " : "", (int)used,
							 t + at), 0);
			last = at += used;
		}
		lf = strchr(t + at, '\n');
		if (!lf)
			break;
		at = (size_t)(lf - t) + 1;
	}
	grove__json_stream_free(s);
}

static void random_text_is_read_by_the_rules(void **state)
{
	static const char *const pieces[] = {
		"{", "}", "[", "]", "\n", "\n", "\n", ",", ":", "1", "\"k\":", "\"k\":[\n", "[\n", "{\n", "]\n",
		"}\n", "1,\n", "\"s\"", "{\"a\":1}", "\"[{\\\"\"", " ", "x", "null", "\"", ",\n",
	};
	struct chance c = chance_begin("lenient");

	(void)state;
	for (int i = 0; i < 20000; i++) {
		struct grove_buf t = GROVE_BUF_INIT, want = GROVE_BUF_INIT;
		uint32_t nr = 1 + chance_below(&c, 24);

		for (uint32_t k = 0; k < nr; k++)
			assert_int_equal(grove__buf_add_str(&t, pieces[chance_below(&c, sizeof(pieces) /
										  sizeof(*pieces))]), 0);
		by_the_rules(t.ptr, &want);
		finds(t.ptr, want.ptr ? want.ptr : "");
		grove__buf_release(&t);
		grove__buf_release(&want);
	}
}

static void deep_nesting_that_goes_wrong_is_not_read_again_and_again(void **state)
{
	size_t nr = 200000;
	char *text = malloc(2 * nr + 16);
	struct input in = { text, 1 << 20 };
	struct grove__json_lenient *l;
	struct grove__json_passed p;
	struct grove__json_found f;

	(void)state;
	assert_non_null(text);
	for (size_t i = 0; i < nr; i++)
		memcpy(text + 2 * i, "[\n", 2);
	memcpy(text + 2 * nr, "x\n{\"a\":1}\n", 11);
	in.len = 2 * nr + 10;
	l = grove__json_lenient_new(NULL, source, &in, 0);
	assert_non_null(l);
	assert_int_equal(grove__json_lenient_next(l, &f), 0);
	assert_int_equal(f.line, nr + 1);
	assert_int_equal(grove__json_lenient_next(l, &f), 1);
	grove__json_lenient_passed(l, &p);
	assert_int_equal(p.bad, nr + 1);
	grove__json_lenient_free(l);
	free(text);
}

struct told {
	struct grove_buf text;
};

static int tell(void *payload, const struct grove__json_lost *lost)
{
	struct told *t = payload;

	return grove__buf_addf(&t->text, "%d@%d-%d%s%s ", (int)lost->line, (int)lost->pos, (int)lost->end,
			       lost->rest ? "r" : "", lost->nul ? "n" : "");
}

static void loses(const char *text, const char *want)
{
	struct input in = { text, 3, strlen(text) };
	struct grove__json_lenient *l = grove__json_lenient_new(NULL, source, &in, 0);
	struct grove__json_found f;
	struct told t = { GROVE_BUF_INIT };

	assert_non_null(l);
	grove__json_lenient_tell(l, tell, &t);
	while (!grove__json_lenient_next(l, &f))
		;
	assert_string_equal(t.text.ptr ? t.text.ptr : "", want);
	grove__buf_release(&t.text);
	grove__json_lenient_free(l);
}

static void what_is_lost_is_told_in_its_order(void **state)
{
	(void)state;
	loses("{\"a\":\n1} \n\n2", "");
	loses("bad\n1 x\n2\n{\"a\":\nx\n", "0@0-3 1@6-7r 3@15-15 4@16-17 ");
	loses(" bad", "0@1-4 ");
	loses("[\n[\nx\n", "0@1-1 1@3-3 2@4-5 ");
	/* an unfinished end has the rest of a line read after all */
	loses("1 2\n[", "");
	loses("1 2 3\n[", "0@4-5r ");
	loses("1 x\n[", "0@2-3r ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_value_a_line_is_what_it_seems),
		cmocka_unit_test(what_follows_a_value_on_its_line_is_not_read),
		cmocka_unit_test(a_value_may_span_lines),
		cmocka_unit_test(a_mistake_costs_the_first_line_of_its_value),
		cmocka_unit_test(the_input_may_end_inside_a_value),
		cmocka_unit_test(lines_and_what_was_lost_are_counted),
		cmocka_unit_test(what_is_lost_is_told_in_its_order),
		cmocka_unit_test(deep_nesting_that_goes_wrong_is_not_read_again_and_again),
		cmocka_unit_test(random_text_is_read_by_the_rules),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
