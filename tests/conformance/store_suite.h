/*
 * tests/conformance/store_suite.h: the tests that every store must pass.
 *
 * The cases are written once, against store/store.h, and run for each row of a
 * table. A new store is a new row.
 */
#ifndef TESTS_CONFORMANCE_STORE_SUITE_H
#define TESTS_CONFORMANCE_STORE_SUITE_H

#include <stdbool.h>
#include <stddef.h>

#include <grove/sys.h>

struct CMUnitTest;

struct store_kind {
	const char *name;       /* the name of each case begins with it */
	const char *url;        /* %s: a fresh directory for each case */
	const struct grove_store_type *type;  /* an application's type; NULL: grove's own */
	const char *env;        /* a variable with the URL instead; unset: skipped */
	bool traced;            /* wrapped in the trace store */

	bool by_line;           /* positions count lines, not bytes */
	bool meta;              /* keeps values with a log */
	bool sees_writers;      /* a rewrite is refused while another handle can write */
	bool feed;              /* lines can be updated, and changes are reported */
	bool open_end;          /* a value can say that the last line lacks its line end */
};

/*
 * Adds the cases of one store after the `nr` that are in `tests`; returns how many there are now.
 */
size_t store_suite_add(const struct store_kind *kind, struct CMUnitTest *tests, size_t nr,
		       size_t cap);

#endif
