/*
 * json/value.h: walk a value that is known to be valid.
 *
 * Nothing here checks grammar: give it what the scanner accepted. Values are
 * raw slices, strings with their quotes. Nothing recurses.
 */
#ifndef GROVE_JSON_VALUE_H
#define GROVE_JSON_VALUE_H

#include "base/buf.h"
#include "json/json.h"

/*
 *	struct grove__json_iter it;
 *	grove__json_iter_init(&it, object_or_array);
 *	while (grove__json_next(&it))
 *		… it.key (raw, with quotes; objects only), it.value …
 *
 * Members come in the order they are written, duplicates included.
 */
struct grove__json_iter {
	const char *p, *end;
	struct grove_slice key;
	struct grove_slice value;
	bool object;
};
void grove__json_iter_init(struct grove__json_iter *it, struct grove_slice value);
bool grove__json_next(struct grove__json_iter *it);

/* The length of the value that starts at `p`. */
size_t grove__json_skip(const char *p, const char *end);

/*
 * The member `name` of `object`: the last one of that name, compared after
 * unescaping. Empty (ptr NULL) if there is none, or `object` is not one.
 */
struct grove_slice grove__json_get(struct grove_slice object, const char *name);
/* The same of several members, in one walk. */
void grove__json_get_all(struct grove_slice object, const char *const *names, size_t nr,
			 struct grove_slice *out);
/*
 * The next element of an array together with those members, if it is an object: it is
 * walked once, where next() and get_all() would walk it twice.
 */
bool grove__json_next_members(struct grove__json_iter *it, const char *const *names, size_t nr,
			      struct grove_slice *out);
/* Element `i` of an array, or empty. */
struct grove_slice grove__json_at(struct grove_slice array, size_t i);
/*
 * *out is the value that a JSON pointer ("/a/0/b") names within `value`, or empty.
 * Returns 0 or GROVE_ENOMEM.
 */
int grove__json_pointed(struct grove_slice value, const char *pointer, struct grove_slice *out);

/* Returns true if this raw string (with quotes) is the text `str`, after unescaping. */
bool grove__json_string_equals(struct grove_slice raw, const char *str);
static inline bool grove__json_string_is(struct grove_slice raw, const char *str)
{
	/* most differ in their first byte */
	if (raw.len < 2 || raw.ptr[0] != '"' ||
	    (raw.ptr[1] != *str && raw.ptr[1] != '\\' && raw.ptr[1] != '"' && (unsigned char)raw.ptr[1] < 0x80))
		return false;
	/* and those that do not are spelled plainly */
	if (raw.len == strlen(str) + 2 && !memcmp(raw.ptr + 1, str, raw.len - 2))
		return true;
	return grove__json_string_equals(raw, str);
}

/*
 * Append the text of a raw string to `out`, as UTF-8: escapes resolved, a
 * byte that is not UTF-8 replaced by U+FFFD exactly as Node's decoder does
 * (one per maximal bad part), a lone surrogate kept as its three-byte form
 * (WTF-8), so that the writer can give it back. Returns 0 or GROVE_ENOMEM.
 */
int grove__json_text(struct grove_buf *out, struct grove_slice raw);
/*
 * A value for people: the text of a string, anything else as the JSON it is, in UTF-8.
 * *words is the place in `raw` if that needs no change, else in `room`, which is
 * overwritten; empty for no value. Returns 0 or GROVE_ENOMEM.
 */
int grove__json_words(struct grove_slice raw, struct grove_buf *room, struct grove_slice *words);
/*
 * The same, but of a long text it may be only the start: at least `max` bytes after the
 * leading white space, and one more.
 */
int grove__json_words_start(struct grove_slice raw, size_t max, struct grove_buf *room, struct grove_slice *words);

/* The number as a double (strtod, whatever the locale). */
double grove__json_number(struct grove_slice raw);

/* JavaScript's truth of a value: false for false, null, "", and any zero. */
bool grove__json_truthy(struct grove_slice raw);

#endif
