/*
 * dialect/dialects.c: the list of dialects.
 *
 * A new agent is one file and one row here. This file defines nothing but tables, so a
 * program that is linked with the static library can replace it with its own
 * (tests/unit/test_toy.c does).
 */
#include "dialect/dialect.h"

/* In order of preference: if two claim the same line, the first gets it. */
const struct grove__dialect *const grove__dialects[] = {
	&grove__dialect_pi,
	&grove__dialect_omp,
	&grove__dialect_xcsh,
	&grove__dialect_claude,
	NULL,
};

/* xcsh was the first of its family to have blobs and a history; hosts build on Claude's logs. */
const struct grove__dialect_defaults grove__dialect_defaults = {
	.session = &grove__dialect_pi,
	.remote = &grove__dialect_claude,
	.blobs = &grove__dialect_xcsh,
	.history = &grove__dialect_xcsh,
};
