/*
 * dialect/dialects.c: which dialects there are.
 *
 * A new agent is one file and one row here. Nothing else is defined in this
 * file, so a program that is linked with the static library can bring a table
 * of its own (tests/unit/test_toy.c does).
 */
#include "dialect/dialect.h"

/* They are asked in this order; where two claim the same line, the first gets it. */
const struct grove__dialect *const grove__dialects[] = {
	&grove__dialect_pi,
	&grove__dialect_omp,
	&grove__dialect_xcsh,
	&grove__dialect_claude,
	NULL,
};
