/*
 * grove/json.h: reading JSON values without parsing them into a tree.
 *
 * You get it with <grove.h>, which has the rules that apply to all of it.
 *
 * For JSON that the library gave you, or that you know to be valid, as grove_json_check()
 * finds out. The other calls do not check the grammar; on invalid JSON they never read outside the text, but may find
 * anything in it. A value is a slice of the text; a string includes its quotes.
 */
#ifndef GROVE_JSON_H
#define GROVE_JSON_H

#include <grove/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GROVE_JSON_DEPTH 512     /* of brackets within each other */
/*
 * Checks that a text is one JSON value in UTF-8, at most GROVE_JSON_DEPTH deep. *value gets
 * it without the white space around it, and *at where the text goes wrong; both may be NULL.
 * Returns 0, GROVE_EJSON or GROVE_ENOMEM.
 */
GROVE_API int grove_json_check(struct grove_slice text, struct grove_slice *value, uint64_t *at);
/*
 * Finds the member `name` of an object, the last one of that name. Returns 1, or 0 if
 * there is none or `object` is not an object.
 */
GROVE_API int grove_json_member(struct grove_slice object, const char *name, struct grove_slice *value);
/*
 * Finds several members in one walk, at most 32. Returns a bit for each that is there;
 * the values of the others become empty.
 */
GROVE_API uint32_t grove_json_members(struct grove_slice object, const char *const *names, size_t nr,
				      struct grove_slice *values);
/*
 * Gives the next member of an object, or the next item of an array. *place starts as
 * NULL. `key` is without its quotes and still has its escapes; it is empty in an array,
 * and may be NULL. Returns 1, or 0 at the end and if `container` is neither.
 */
GROVE_API int grove_json_next(struct grove_slice container, const char **place, struct grove_slice *key,
			      struct grove_slice *value);
/*
 * Writes the text of a string to `out` with its escapes decoded, and points *text to it.
 * It writes as much as fits and stops when fewer than four bytes are left, so the whole
 * text fits if `size` is value.len + 4. A lone surrogate becomes U+FFFD. Returns 1, or 0
 * if `value` is not a string.
 */
GROVE_API int grove_json_text(struct grove_slice value, char *out, size_t size, struct grove_slice *text);

#ifdef __cplusplus
}
#endif
#endif
