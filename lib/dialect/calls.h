/*
 * dialect/calls.h: the tool calls that messages make and answer.
 */
#ifndef GROVE_DIALECT_CALLS_H
#define GROVE_DIALECT_CALLS_H

#include "dialect/dialect.h"

/*
 * `fn` for each call that a message makes, and for each that it answers: the id
 * of the call, raw. A reply that was broken off calls for nothing: its agent
 * does not run what is in it. What `fn` answers other than 0 ends it and is
 * handed back.
 */
typedef int grove__call_fn(void *payload, struct grove_slice id, bool answer);
int grove__dialect_calls(const struct grove__dialect *dialect, struct grove_slice line,
			 enum grove_role role, grove__call_fn *fn, void *payload);

#endif
