/*
 * The lenient reader: which values it finds in which bytes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "json/lenient.h"

#include <string.h>

struct input {
	const char *text;
	size_t step; /* bytes handed out at a time */
};

static int source(void *payload, uint64_t pos, char *buf, size_t cap, size_t *got)
{
	const struct input *in = payload;
	size_t len = strlen(in->text), n = pos < len ? len - (size_t)pos : 0;

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
		struct input in = { text, steps[i] };
		struct grove__json_lenient *l = grove__json_lenient_new(source, &in, 0);
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
	struct input in = { "\n{\"a\":\n1}\nbad\n{\"b\":2}\n{\"c\":", 5 };
	struct grove__json_lenient *l = grove__json_lenient_new(source, &in, 0);
	struct grove__json_passed p;
	struct grove__json_found f;

	(void)state;
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_value_a_line_is_what_it_seems),
		cmocka_unit_test(what_follows_a_value_on_its_line_is_not_read),
		cmocka_unit_test(a_value_may_span_lines),
		cmocka_unit_test(a_mistake_costs_the_first_line_of_its_value),
		cmocka_unit_test(the_input_may_end_inside_a_value),
		cmocka_unit_test(lines_and_what_was_lost_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
