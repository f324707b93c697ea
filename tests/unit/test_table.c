/*
 * tests/unit/test_table.c: a hash table whose items contain their own link.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/table.h"

static void what_is_added_is_found_until_it_goes(void **state)
{
	enum { NR = 1000 };
	struct grove__table t = { .at = NULL };
	struct grove__table_node node[NR];
	size_t found = 0;

	(void)state;
	assert_null(grove__table_first(&t, 1));
	for (size_t i = 0; i < NR; i++) {
		/* ten of each */
		node[i].hash = i % 100;
		assert_int_equal(grove__table_add(&t, &node[i]), 0);
	}
	for (size_t i = 0; i < NR; i += 2)
		grove__table_remove(&t, &node[i]);
	assert_int_equal(t.nr, NR / 2);
	for (uint64_t h = 0; h < 100; h++)
		for (struct grove__table_node *n = grove__table_first(&t, h); n; n = grove__table_next(n)) {
			assert_int_equal(n->hash, h);
			assert_int_equal((n - node) % 2, 1);
			found++;
		}
	assert_int_equal(found, NR / 2);
	grove__table_release(&t);
	assert_null(grove__table_first(&t, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(what_is_added_is_found_until_it_goes) };

	return cmocka_run_group_tests_name("table", tests, NULL, NULL);
}
