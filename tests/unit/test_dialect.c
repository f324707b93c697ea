/*
 * tests/unit/test_dialect.c: the tables of the dialects, and the words for kinds and roles.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "dialect/dialect.h"

static void every_kind_and_role_has_a_word_of_its_own(void **state)
{
	(void)state;
	for (unsigned i = 0; i < GROVE__KINDS; i++) {
		assert_non_null(grove_kind_name((enum grove_kind)i));
		for (unsigned k = 0; k < i; k++)
			assert_string_not_equal(grove_kind_name((enum grove_kind)i),
						grove_kind_name((enum grove_kind)k));
	}
	for (unsigned i = 0; i < GROVE__ROLES; i++) {
		assert_non_null(grove_role_name((enum grove_role)i));
		for (unsigned k = 0; k < i; k++)
			assert_string_not_equal(grove_role_name((enum grove_role)i),
						grove_role_name((enum grove_role)k));
	}
	assert_string_equal(grove_kind_name((enum grove_kind)GROVE__KINDS), "other");
	assert_string_equal(grove_role_name((enum grove_role)GROVE__ROLES), "other");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_kind_and_role_has_a_word_of_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
