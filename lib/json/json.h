/*
 * json/json.h: the kinds of JSON value, and what it means to be valid.
 *
 * Valid is what JavaScript's JSON.parse accepts, for every byte string: one
 * value, surrounded by space, tab, CR or LF. Depth has no limit, numbers no
 * range, lone surrogates and U+0000 escapes are fine. The bytes are taken as
 * Node would decode them: a byte that is not UTF-8 stands for U+FFFD, which
 * is an ordinary character inside a string and an error outside of one; since
 * no ASCII byte is ever swallowed by that decoding, it cannot change where a
 * string ends.
 */
#ifndef GROVE_JSON_JSON_H
#define GROVE_JSON_JSON_H

#include "base/slice.h"

enum grove__json_type {
	JSON_NONE,
	JSON_NULL,
	JSON_FALSE,
	JSON_TRUE,
	JSON_NUMBER,
	JSON_STRING,
	JSON_ARRAY,
	JSON_OBJECT
};

/* The type of a valid value, by its first byte; JSON_NONE if `v` is empty. */
static inline enum grove__json_type grove__json_type_of(struct grove_slice v)
{
	if (!v.len)
		return JSON_NONE;
	switch (*v.ptr) {
	case '{': return JSON_OBJECT;
	case '[': return JSON_ARRAY;
	case '"': return JSON_STRING;
	case 't': return JSON_TRUE;
	case 'f': return JSON_FALSE;
	case 'n': return JSON_NULL;
	default:  return JSON_NUMBER;
	}
}

#endif
