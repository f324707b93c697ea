/*
 * target.h: the target of a request, taken apart.
 *
 * libmicrohttpd hands us the target as it stood in the request line. It is
 * decoded here and nowhere else: percent signs once, each segment of the path for
 * itself, so that an encoded slash cannot make two of one.
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
 * Takes `text` apart. Returns NULL, or a sentence that says why it is refused: it
 * does not begin with a slash, holds a NUL, a slash within a segment, ".." or what
 * is no UTF-8, or has too many parts. Release it in any case.
 */
const char *target_parse(struct target *t, const char *text);
void target_release(struct target *t);

/* The value of a parameter, the first if there are several; NULL: it was not given. */
const char *target_param(const struct target *t, const char *name);

#endif
