/*
 * body.h: checks that a request's body is valid JSON.
 *
 * Once checked, it can be read with grove_json_member() and similar calls.
 */
#ifndef PROGRAMS_BODY_H
#define PROGRAMS_BODY_H

#include <grove.h>

/* The maximum depth; a deeper body is refused. */
#define BODY_DEPTH 512

/*
 * Returns NULL if `json` is exactly one JSON value, in UTF-8. Otherwise returns what is
 * wrong, with the position in *at.
 */
const char *body_check(struct grove_slice json, size_t *at);

#endif
