/*
 * media.h: what bytes are, by what they begin with.
 */
#ifndef SERVER_MEDIA_H
#define SERVER_MEDIA_H

#include <grove.h>

/* For bytes of others: nothing in them may run. */
#define CSP_SANDBOX "sandbox; default-src 'none'"

/* "image/png", "image/jpeg", "image/gif", "image/webp"; NULL: none of these. */
const char *media_type(struct grove_slice bytes);

#endif
