/*
 * tool_call.h: the arguments of a tool call, for people.
 */
#ifndef CLI_TOOL_CALL_H
#define CLI_TOOL_CALL_H

#include "wrap.h"

/*
 * Prints what a call is about, in at most `width` columns: the command, file or question,
 * then other short arguments. A file below `cwd` (may be NULL) is given relative to it.
 * Returns the columns used.
 */
unsigned tool_call_gist(struct out *o, struct grove_slice arguments, const char *cwd, unsigned width);

/* Iterates over all arguments. */
struct tool_call_reader {
	void *payload;
	void (*argument)(void *payload, struct grove_slice name, struct grove_slice text);
};
void tool_call_each(struct grove_slice arguments, const struct tool_call_reader *to);

#endif
