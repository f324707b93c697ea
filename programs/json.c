/*
 * json.c: a small reader of JSON.
 */
#include "json.h"

#include <string.h>
#include <utf8proc.h>

static const char *skip_space(const char *p, const char *end)
{
	while (p < end && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t'))
		p++;
	return p;
}

/* Behind the string that opens at p. */
static const char *skip_string(const char *p, const char *end)
{
	const char *q = p + 1;

	/* a quote ends it unless an odd number of backslashes stands before it */
	for (; q < end && (q = memchr(q, '"', (size_t)(end - q))); q++) {
		const char *b = q;

		while (b - 1 > p && b[-1] == '\\')
			b--;
		if (!((q - b) & 1))
			return q + 1;
	}
	return end;
}

/* Behind the value at p, however deep it is. */
static const char *skip_value(const char *p, const char *end)
{
	size_t depth = 0;

	while (p < end) {
		switch (*p) {
		case '"':
			p = skip_string(p, end);
			break;
		case '{':
		case '[':
			depth++;
			p++;
			continue;
		case '}':
		case ']':
			if (!depth)
				return p;
			depth--;
			p++;
			break;
		default:
			if (depth) { /* a word, or what stands between values */
				p++;
				continue;
			}
			while (p < end && !strchr(",]} \n\r\t", *p))
				p++;
		}
		if (!depth)
			return p;
	}
	return p;
}

/* The next member of an object: its key without quotes, and its value. */
static int next_member(const char **at, const char *end, struct grove_slice *key,
		       struct grove_slice *value)
{
	const char *p = *at;

	if (p >= end || *p != '"')
		return 0;
	key->ptr = p + 1;
	p = skip_string(p, end);
	key->len = (size_t)(p - key->ptr) - 1;
	p = skip_space(p, end);
	if (p < end && *p == ':')
		p++;
	p = skip_space(p, end);
	value->ptr = p;
	p = skip_value(p, end);
	value->len = (size_t)(p - value->ptr);
	p = skip_space(p, end);
	if (p < end && *p == ',')
		p = skip_space(p + 1, end);
	*at = p;
	return 1;
}

unsigned json_members(struct grove_slice object, const char *const *names, size_t nr,
		      struct grove_slice *values)
{
	const char *end = object.ptr + object.len;
	const char *p = skip_space(object.ptr, end);
	struct grove_slice key, value;
	unsigned found = 0;

	if (p == end || *p != '{')
		return 0;
	p = skip_space(p + 1, end);
	while (found != (1u << nr) - 1 && next_member(&p, end, &key, &value))
		for (size_t i = 0; i < nr; i++)
			if (!(found & 1u << i) && strlen(names[i]) == key.len &&
			    !memcmp(names[i], key.ptr, key.len)) {
				values[i] = value;
				found |= 1u << i;
			}
	return found;
}

int json_member(struct grove_slice object, const char *name, struct grove_slice *value)
{
	return json_members(object, &name, 1, value) != 0;
}

int json_next(struct grove_slice object, const char **place, struct grove_slice *key,
	      struct grove_slice *value)
{
	const char *end = object.ptr + object.len;

	if (!*place) {
		*place = skip_space(object.ptr, end);
		if (*place == end || **place != '{')
			return 0;
		*place = skip_space(*place + 1, end);
	}
	return next_member(place, end, key, value);
}

int json_item(struct grove_slice array, const char **place, struct grove_slice *item)
{
	const char *end = array.ptr + array.len;
	const char *p = *place ? *place : skip_space(array.ptr, end);

	if (p == end || (!*place && *p != '['))
		return 0;
	if (!*place || *p == ',')
		p++;
	p = skip_space(p, end);
	if (p == end || *p == ']')
		return 0;
	item->ptr = p;
	p = skip_value(p, end);
	item->len = (size_t)(p - item->ptr);
	*place = skip_space(p, end);
	return item->len > 0;
}

static utf8proc_int32_t hex4(const char *p)
{
	utf8proc_int32_t c = 0;

	for (int i = 0; i < 4; i++) {
		char d = p[i];

		c = c * 16 + (d <= '9' ? d - '0' : (d | 0x20) - 'a' + 10);
	}
	return c;
}

/* The character of the escape at p (behind the backslash); moves p behind it. */
static utf8proc_int32_t escape(const char **at, const char *end)
{
	static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
	const char *p = *at;
	const char *known = strchr(from, *p);
	utf8proc_int32_t c, low;

	*at = p + 1;
	if (*p != 'u')
		return known ? to[known - from] : *p;
	if (end - p < 5)
		return 0xfffd;
	c = hex4(p + 1);
	*at = p += 5;
	if (c < 0xd800 || c > 0xdfff)
		return c;
	if (c > 0xdbff || end - p < 6 || p[0] != '\\' || p[1] != 'u')
		return 0xfffd;
	low = hex4(p + 2);
	if (low < 0xdc00 || low > 0xdfff)
		return 0xfffd;
	*at = p + 6;
	return 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
}

int json_text(struct grove_slice value, char *out, size_t size, struct grove_slice *text)
{
	const char *p = value.ptr, *end = value.ptr + value.len;
	size_t n = 0;

	if (p == end || *p != '"')
		return 0;
	for (p++; p < end && *p != '"' && n + 4 <= size;) {
		if (*p == '\\' && p + 1 < end) {
			p++;
			n += (size_t)utf8proc_encode_char(escape(&p, end),
							  (utf8proc_uint8_t *)out + n);
		} else {
			out[n++] = *p++;
		}
	}
	text->ptr = out;
	text->len = n;
	return 1;
}

int json_is_true(struct grove_slice value)
{
	return value.len == 4 && !memcmp(value.ptr, "true", 4);
}
