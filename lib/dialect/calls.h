/*
 * dialect/calls.h: the tool calls in messages, and their results.
 */
#ifndef GROVE_DIALECT_CALLS_H
#define GROVE_DIALECT_CALLS_H

#include "dialect/dialect.h"

/*
 * Calls `fn` with the id, raw, of each call that a message makes or answers. Calls in a
 * reply that was broken off do not count, because the agent does not run them. Stops if
 * `fn` returns non-zero, and returns that.
 */
typedef int grove__call_fn(void *payload, struct grove_slice id, bool answer);
int grove__dialect_calls(const struct grove__dialect *dialect, struct grove_slice line,
			 enum grove_role role, grove__call_fn *fn, void *payload);

#endif
