/*
 * dialect/file_edits.h: what a tool call changes in files, by its arguments.
 *
 * The tools of all agents are called by a few names and take much the same arguments,
 * because models were taught them.
 */
#ifndef GROVE_DIALECT_FILE_EDITS_H
#define GROVE_DIALECT_FILE_EDITS_H

#include "base/buf.h"
#include "base/slice.h"

#include <stdint.h>

struct grove__file_edit {
	struct grove_slice path;     /* as the call has it */
	uint64_t added, removed;     /* lines; a file that is written as a whole has no removed ones */
};
typedef int grove__file_edit_fn(void *payload, const struct grove__file_edit *e);

/*
 * Calls `fn` with each file that a call of `tool` changes; `args` are its arguments as
 * JSON. Other calls change none. Returns GROVE_ENOMEM or the result of `fn`.
 */
int grove__file_edits(struct grove_slice tool, struct grove_slice args, grove__file_edit_fn *fn, void *payload);

#endif
