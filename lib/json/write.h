/*
 * json/write.h: JSON as JavaScript's JSON.stringify writes it.
 */
#ifndef GROVE_JSON_WRITE_H
#define GROVE_JSON_WRITE_H

#include "base/buf.h"

/*
 * Append `text` (UTF-8, or WTF-8 for lone surrogates) as a string literal:
 * escapes only " \ \b \f \n \r \t, other controls as \u00xx in lower case,
 * lone surrogates as \udxxx; everything else raw. Bytes that are not WTF-8
 * become U+FFFD, as Node's decoder would have made them.
 */
int grove__json_put_string(struct grove_buf *out, struct grove_slice text);
int grove__json_put_str(struct grove_buf *out, const char *text);
/* The same; null where text.ptr is NULL. */
int grove__json_put_nullable(struct grove_buf *out, struct grove_slice text);
/* A whole number with all its digits. */
int grove__json_put_int(struct grove_buf *out, int64_t n);
int grove__json_put_uint(struct grove_buf *out, uint64_t n);
/* In JavaScript's shortest form; null for what is not finite. */
int grove__json_put_double(struct grove_buf *out, double d);
/* A time as JavaScript's toISOString, in quotes; null outside its range. */
int grove__json_put_time(struct grove_buf *out, int64_t ms);

/*
 * Append the valid value `raw` as JSON.stringify(JSON.parse(raw)) would give
 * it: white space gone, escapes normalised, of duplicate keys the last value
 * at the first one's place, integer-like keys first in ascending order,
 * numbers in JavaScript's shortest form. One difference, for people's data:
 * a number whose decimal value that form would change (1e400, 2^53 + 1,
 * more digits than a double has) keeps the spelling it has.
 */
int grove__json_put_canonical(struct grove_buf *out, struct grove_slice raw);

/* Would that change nothing? A quick answer: false when in doubt. */
bool grove__json_is_canonical(struct grove_slice raw);

/*
 * Append the valid value `raw` as it is, except that bytes which are not
 * UTF-8 become U+FFFD: for documents that must be UTF-8.
 */
int grove__json_put_raw(struct grove_buf *out, struct grove_slice raw);

#endif
