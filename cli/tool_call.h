/*
 * tool_call.h: the arguments of a tool, for people.
 */
#ifndef CLI_TOOL_CALL_H
#define CLI_TOOL_CALL_H

#include "wrap.h"

/*
 * What a call is about, on one line of at most `width` columns: the command, the file, the
 * question; then what else is short. A file below `cwd` (NULL: none) is named from there.
 * Returns the columns used.
 */
unsigned tool_call_gist(struct out *o, struct grove_slice arguments, const char *cwd, unsigned width);

/* All arguments, one after the other. */
struct tool_call_reader {
	void *payload;
	void (*argument)(void *payload, struct grove_slice name, struct grove_slice text);
};
void tool_call_each(struct grove_slice arguments, const struct tool_call_reader *to);

#endif
