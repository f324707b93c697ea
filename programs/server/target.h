/*
 * target.h: parsing the target of a request.
 *
 * libmicrohttpd passes on the target as it was in the request line, and only this code
 * decodes it: percent escapes once, for each path segment separately, so that an encoded
 * slash cannot split a segment.
 */
#ifndef SERVER_TARGET_H
#define SERVER_TARGET_H

#include <stddef.h>

#define TARGET_SEGMENTS 12
#define TARGET_PARAMS 64

struct target_param {
	const char *name, *value;
};

struct target {
	char *memory;
	const char *segment[TARGET_SEGMENTS];
	unsigned nr_segments;
	struct target_param param[TARGET_PARAMS];
	unsigned nr_params;
};

/*
 * Parses `text`. Returns NULL, or a message that says why it is refused: it does not begin
 * with a slash, contains a NUL, a slash within a segment, ".." or invalid UTF-8, or has too
 * many parts. Release the target in any case.
 */
const char *target_parse(struct target *t, const char *text);
void target_release(struct target *t);

/* Returns the first value of a parameter, or NULL if it is absent. */
const char *target_param(const struct target *t, const char *name);

#endif
