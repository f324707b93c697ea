/*
 * json.h: look into a JSON document that the library made.
 *
 * Only as much as a listing for people needs: find a member, walk an array,
 * read a string. The document is known to be JSON; nothing is checked beyond
 * what keeps a reader within its bounds.
 */
#ifndef PROGRAMS_JSON_H
#define PROGRAMS_JSON_H

#include <grove.h>

/* The value of a member of an object; 0 if there is none. */
int json_member(struct grove_slice object, const char *name, struct grove_slice *value);
/*
 * Several at once, at most 31: a large document is walked through once. A bit for
 * each that is there; the values of the others are left as they are.
 */
unsigned json_members(struct grove_slice object, const char *const *names, size_t nr,
		      struct grove_slice *values);
/*
 * The member of an object at *place, which starts as NULL; 0 at the end. *place moves on.
 * The key is without its quotes, its escapes are still there.
 */
int json_next(struct grove_slice object, const char **place, struct grove_slice *key,
	      struct grove_slice *value);
/*
 * The item of an array at *place, which starts as NULL; 0 at the end. *place
 * moves on.
 */
int json_item(struct grove_slice array, const char **place, struct grove_slice *item);
/* The first bytes of a string, its escapes undone; 0 if it is no string. */
int json_text(struct grove_slice value, char *out, size_t size, struct grove_slice *text);
int json_is_true(struct grove_slice value);

#endif
