/*
 * tests/unit/test_json_out.c: writing JSON documents to a buffer or a sink, and
 * reading them from a file that has several lines.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "json/out.h"
#include "json/scan.h"

static void write_sample(struct grove__out *o)
{
	grove__out_open(o, NULL, '{');
	grove__out_string(o, "text", "a\"b");
	grove__out_string(o, "none", NULL);
	grove__out_slice(o, "empty", grove__slice("", 0));
	grove__out_open(o, "list", '[');
	grove__out_number(o, NULL, UINT64_MAX);
	grove__out_double(o, NULL, 0.5);
	grove__out_newline(o);
	grove__out_bool(o, NULL, true);
	grove__out_open(o, NULL, '{');
	grove__out_close(o, '}');
	grove__out_close(o, ']');
	grove__out_time(o, "time", 0);
	grove__out_time(o, "never", GROVE_NO_TIME);
	grove__out_key(o, "k\n");
	grove__out_raw(o, NULL, grove__slice_str("[1]"));
	grove__out_close(o, '}');
}

static const char sample[] =
	"{\"text\":\"a\\\"b\",\"none\":null,\"empty\":\"\",\"list\":[18446744073709551615,0.5,\ntrue,{}],"
	"\"time\":\"1970-01-01T00:00:00.000Z\",\"never\":null,\"k\\n\":[1]}";

static void commas_come_by_themselves(void **state)
{
	struct grove_buf b = GROVE_BUF_INIT;
	struct grove__out o;

	(void)state;
	assert_int_equal(grove__buf_add_str(&b, "before "), 0);
	grove__out_init_buf(&o, &b);
	write_sample(&o);
	assert_int_equal(grove__out_finish(&o), 0);
	assert_string_equal(b.ptr + 7, sample);
	grove__buf_release(&b);
}

struct pieces {
	struct grove_buf all;
	unsigned nr, fail_at;
};

static int take(void *payload, const char *ptr, size_t len)
{
	struct pieces *p = payload;

	if (++p->nr == p->fail_at)
		return GROVE_EFULL;
	return grove__buf_add(&p->all, ptr, len);
}

static void a_sink_gets_the_same_in_pieces(void **state)
{
	struct pieces p = { .nr = 0 };
	struct grove__out o;

	(void)state;
	grove__out_init(&o, (struct grove_sink){ take, &p });
	write_sample(&o);
	assert_int_equal(p.nr, 0);
	for (unsigned i = 0; i < 20000; i++)
		grove__out_str(&o, "0123456789");
	assert_int_equal(grove__out_finish(&o), 0);
	assert_int_equal(p.nr, 4);
	assert_int_equal(p.all.len, sizeof(sample) - 1 + 200000);
	assert_memory_equal(p.all.ptr, sample, sizeof(sample) - 1);
	grove__buf_release(&p.all);
}

static void the_first_error_sticks(void **state)
{
	struct pieces p = { .fail_at = 2 };
	struct grove__out o;

	(void)state;
	grove__out_init(&o, (struct grove_sink){ take, &p });
	for (unsigned i = 0; i < 20000; i++)
		grove__out_string(&o, NULL, "0123456789");
	grove__out_fail(&o, GROVE_EINVAL);
	assert_int_equal(grove__out_finish(&o), GROVE_EFULL);
	assert_int_equal(p.nr, 2);
	grove__buf_release(&p.all);
}

static void after_a_failure_nothing_is_sent(void **state)
{
	struct pieces p = { .nr = 0 };
	struct grove__out o;

	(void)state;
	grove__out_init(&o, (struct grove_sink){ take, &p });
	write_sample(&o);
	grove__out_fail(&o, 0);
	grove__out_fail(&o, GROVE_EINVAL);
	grove__out_number(&o, NULL, 1);
	assert_int_equal(grove__out_finish(&o), GROVE_EINVAL);
	assert_int_equal(p.nr, 0);
}

static void a_file_of_several_lines_is_one_value(void **state)
{
	struct grove_buf b = GROVE_BUF_INIT;
	uint64_t at = 7;

	(void)state;
	assert_int_equal(grove__buf_add_str(&b, "\n {\n\"a\":\n1}\n\n"), 0);
	assert_int_equal(grove__json_document(&b, &at), 0);
	assert_string_equal(b.ptr, "{ \"a\": 1}");
	assert_int_equal(at, 0);
	grove__buf_release(&b);
}

static void what_is_no_value_says_where(void **state)
{
	struct grove_buf b = GROVE_BUF_INIT;
	uint64_t at = 7;

	(void)state;
	assert_int_equal(grove__json_document(&b, &at), 1);
	assert_int_equal(at, 0);
	assert_int_equal(grove__buf_add_str(&b, "{}\n{}"), 0);
	assert_int_equal(grove__json_document(&b, &at), 1);
	assert_int_equal(at, 3);
	assert_int_equal(grove__json_document(&b, NULL), 1);
	grove__buf_release(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(commas_come_by_themselves),
		cmocka_unit_test(a_sink_gets_the_same_in_pieces),
		cmocka_unit_test(the_first_error_sticks),
		cmocka_unit_test(after_a_failure_nothing_is_sent),
		cmocka_unit_test(a_file_of_several_lines_is_one_value),
		cmocka_unit_test(what_is_no_value_says_where),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
