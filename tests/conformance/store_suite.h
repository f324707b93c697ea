/*
 * tests/conformance/store_suite.h: what every store must do.
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
	const char *name;       /* stands before the name of each case */
	const char *url;        /* %s: a fresh directory for each case */
	const struct grove_store_type *type;  /* that a host brings; NULL: one of grove's own */
	const char *env;        /* a variable that holds the URL instead; unset: left out */
	bool traced;            /* wrapped in the trace store */

	bool by_line;           /* positions count lines, not bytes */
	bool meta;              /* keeps values with a log */
	bool sees_writers;      /* a rewrite is refused while another handle can write */
	bool feed;              /* updates lines, tells changes */
	bool open_end;          /* a last line may lack its line end by a value */
};

/* The cases of one store, behind the `nr` that are in `tests`; how many there are now. */
size_t store_suite_add(const struct store_kind *kind, struct CMUnitTest *tests, size_t nr,
		       size_t cap);

#endif
