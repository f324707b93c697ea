/*
 * json/edit.h: changes a member of an object and leaves every other byte alone.
 */
#ifndef GROVE_JSON_EDIT_H
#define GROVE_JSON_EDIT_H

#include "base/buf.h"

/*
 * One change: the member at `path` (names from the top-level object down,
 * NULL-terminated, at most 4) gets the raw value `value`; ptr NULL removes it.
 * An existing member keeps its place (of duplicates the last one, which is the
 * one that counts, is changed, and all are removed); a new one goes after the
 * last member as `,"name":value`. A parent object on the path must be there,
 * else the change is ignored.
 */
struct grove__json_change {
	const char *path[5];
	struct grove_slice value;
};

/*
 * Append `object` (valid, an object) with the changes made, in order, to
 * `out`. No two changes may touch the same member or one within the other.
 * Returns 0 or GROVE_ENOMEM.
 */
int grove__json_edit(struct grove_buf *out, struct grove_slice object,
		     const struct grove__json_change *changes, size_t nr);

/* The same for one member that becomes a string; text.ptr NULL: null. */
int grove__json_edit_text(struct grove_buf *out, struct grove_slice object, const char *member,
			  struct grove_slice text);

/*
 * Append `value` (valid) with what a JSON pointer ("/a/0/b") points at replaced
 * by the raw value `with`. 1 if it points at nothing; GROVE_ENOMEM.
 */
int grove__json_replace(struct grove_buf *out, struct grove_slice value, const char *pointer,
			struct grove_slice with);

#endif
