/*
 * api/json.c: the public calls of grove/json.h.
 *
 * The rooms below may trust what the scanner accepted. Callers may be wrong about
 * theirs, so what would lead out of the text ends the walk.
 */
#include <grove/json.h>

#include "base/utf8.h"
#include "json/escape.h"
#include "json/scan.h"
#include "json/value.h"

static struct grove_slice trim(struct grove_slice v)
{
	while (v.len && grove__json_is_space(*v.ptr)) {
		v.ptr++;
		v.len--;
	}
	while (v.len && grove__json_is_space(v.ptr[v.len - 1]))
		v.len--;
	return v;
}

/* Returns how much of a text is not nested too deeply: up to the first bracket that is. */
static size_t shallow(struct grove_slice text)
{
	unsigned depth = 0;
	bool in_string = false;

	for (size_t i = 0; i < text.len; i++) {
		char c = text.ptr[i];

		if (c == '"')
			in_string = !in_string;
		else if (in_string)
			i += c == '\\';
		else if ((c == '[' || c == '{') && ++depth > GROVE_JSON_DEPTH)
			return i;
		else if ((c == ']' || c == '}') && depth)
			depth--;
	}
	return text.len;
}

int grove_json_check(struct grove_slice text, struct grove_slice *value, uint64_t *at)
{
	struct grove__json_want nothing;
	struct grove__json_stream *s;
	size_t used = 0;
	int rc;

	if (at)
		*at = 0;
	if (!text.len || !grove__utf8_valid(text))
		return GROVE_EJSON;
	grove__json_want_init(&nothing, NULL, 0);
	s = grove__json_stream_new(&nothing);
	if (!s)
		return GROVE_ENOMEM;
	rc = grove__json_stream_feed(s, text.ptr, shallow(text), true, &used);
	if (rc == JSON_STREAM_BAD)
		used = (size_t)grove__json_stream_line(s)->error_off;
	grove__json_stream_free(s);
	if (rc < 0)
		return rc;
	while (rc == JSON_STREAM_DONE && used < text.len && grove__json_is_space(text.ptr[used]))
		used++;
	if (at)
		*at = used;
	if (rc != JSON_STREAM_DONE || used < text.len)
		return GROVE_EJSON;
	if (value)
		*value = trim(text);
	return 0;
}

int grove_json_next(struct grove_slice container, const char **place, struct grove_slice *key,
		    struct grove_slice *value)
{
	struct grove__json_iter it;

	grove__json_iter_init(&it, trim(container));
	if (*place)
		it.p = *place;
	if (!grove__json_next(&it) || !it.value.len || (it.object && it.key.len < 2))
		return 0;
	*place = it.p;
	*value = it.value;
	if (key)
		*key = it.object ? grove__slice(it.key.ptr + 1, it.key.len - 2) : it.key;
	return 1;
}

int grove_json_member(struct grove_slice object, const char *name, struct grove_slice *value)
{
	struct grove_slice found = grove__json_get(trim(object), name);

	if (!found.len)
		return 0;
	*value = found;
	return 1;
}

uint32_t grove_json_members(struct grove_slice object, const char *const *names, size_t nr,
			    struct grove_slice *values)
{
	uint32_t found = 0;

	grove__json_get_all(trim(object), names, nr, values);
	for (size_t i = 0; i < nr; i++)
		found |= (uint32_t)!!values[i].len << i;
	return found;
}

/* Reads the escape at p, a backslash. Returns the bytes taken. */
static size_t unescape(const char *p, const char *end, uint32_t *cp)
{
	size_t n;

	*cp = 0xfffd;
	if (end - p < (p[1] == 'u' ? 6 : 2))
		return (size_t)(end - p);
	n = grove__json_unescape(p, end, cp);
	if (grove__utf8_is_high(*cp) || grove__utf8_is_low(*cp))
		*cp = 0xfffd;
	return n;
}

int grove_json_text(struct grove_slice value, char *out, size_t size, struct grove_slice *text)
{
	const char *p, *end;
	size_t n = 0;
	uint32_t cp;

	value = trim(value);
	if (value.len < 2 || *value.ptr != '"')
		return 0;
	p = value.ptr + 1;
	end = value.ptr + value.len - 1;
	while (p < end && n + 4 <= size)
		if (*p == '\\') {
			p += unescape(p, end, &cp);
			n += grove__utf8_encode(out + n, cp);
		} else {
			out[n++] = *p++;
		}
	*text = grove__slice(out, n);
	return 1;
}
