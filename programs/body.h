/*
 * body.h: is a request's body the JSON that it says it is?
 *
 * Once it is known to be, grove_json_member() and its like look into it.
 */
#ifndef PROGRAMS_BODY_H
#define PROGRAMS_BODY_H

#include <grove.h>

/* Values within values; beyond that a body is refused. */
#define BODY_DEPTH 512

/*
 * Returns NULL if `json` is one JSON value and nothing else, in UTF-8. Otherwise
 * what is wrong, and the byte where in *at.
 */
const char *body_check(struct grove_slice json, size_t *at);

#endif
