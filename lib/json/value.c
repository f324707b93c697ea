/*
 * json/value.c: walk a value that is known to be valid.
 *
 * Because the grammar was checked before, finding the end of a value needs no
 * more than counting brackets outside of strings.
 */
#include "json/value.h"

#include "js/js.h"
#include "json/escape.h"

/* Behind the string that starts at `p`, a quote. */
static const char *skip_string(const char *p, const char *end)
{
	const char *q = p + 1;

	/* a quote ends it unless an odd number of backslashes stands before it */
	for (; q < end && (q = memchr(q, '"', (size_t)(end - q))); q++) {
		const char *b = q;

		while (b[-1] == '\\' && b - 1 > p)
			b--;
		if (!((q - b) & 1))
			return q + 1;
	}
	return end;
}

static const char *skip_container(const char *p, const char *end)
{
	size_t depth = 0;

	while (p < end) {
		switch (*p) {
		case '"':
			p = skip_string(p, end);
			continue;
		case '{':
		case '[':
			depth++;
			break;
		case '}':
		case ']':
			if (!--depth)
				return p + 1;
			break;
		default:
			break;
		}
		p++;
	}
	return end;
}

static const char *skip_scalar(const char *p, const char *end)
{
	while (p < end && *p != ',' && *p != '}' && *p != ']' && !grove__json_is_space(*p))
		p++;
	return p;
}

size_t grove__json_skip(const char *p, const char *end)
{
	const char *q;

	if (p == end)
		return 0;
	if (*p == '"')
		q = skip_string(p, end);
	else if (*p == '{' || *p == '[')
		q = skip_container(p, end);
	else
		q = skip_scalar(p, end);
	return (size_t)(q - p);
}

void grove__json_iter_init(struct grove__json_iter *it, struct grove_slice value)
{
	enum grove__json_type type = grove__json_type_of(value);

	it->p = it->end = value.ptr;
	it->key = it->value = grove__slice(NULL, 0);
	it->object = type == JSON_OBJECT;
	if (it->object || type == JSON_ARRAY) {
		it->p++;
		it->end += value.len - 1; /* the closing bracket ends the walk */
	}
}

bool grove__json_next(struct grove__json_iter *it)
{
	const char *p = it->p, *end = it->end;
	size_t len;

	while (p < end && (*p == ',' || grove__json_is_space(*p)))
		p++;
	if (p >= end)
		return false;
	if (it->object) {
		len = grove__json_skip(p, end);
		it->key = grove__slice(p, len);
		p = grove__json_skip_space(p + len, end);
		p = grove__json_skip_space(p + (p < end), end); /* the colon */
	}
	len = grove__json_skip(p, end);
	it->value = grove__slice(p, len);
	it->p = p + len;
	return true;
}

void grove__json_get_all(struct grove_slice object, const char *const *names, size_t nr,
			 struct grove_slice *out)
{
	struct grove__json_iter it;

	for (size_t i = 0; i < nr; i++)
		out[i] = grove__slice(NULL, 0);
	if (grove__json_type_of(object) != JSON_OBJECT)
		return;
	grove__json_iter_init(&it, object);
	while (grove__json_next(&it))
		for (size_t i = 0; i < nr; i++)
			if (grove__json_string_is(it.key, names[i]))
				out[i] = it.value;
}

struct grove_slice grove__json_get(struct grove_slice object, const char *name)
{
	struct grove_slice found;

	grove__json_get_all(object, &name, 1, &found);
	return found;
}

struct grove_slice grove__json_at(struct grove_slice array, size_t i)
{
	struct grove__json_iter it;

	if (grove__json_type_of(array) == JSON_ARRAY) {
		grove__json_iter_init(&it, array);
		while (grove__json_next(&it))
			if (!i--)
				return it.value;
	}
	return grove__slice(NULL, 0);
}

bool grove__json_string_equals(struct grove_slice raw, const char *str)
{
	const char *p, *end;
	uint32_t cp;

	if (grove__json_type_of(raw) != JSON_STRING)
		return false;
	p = raw.ptr + 1;
	end = raw.ptr + raw.len - 1;
	while (p < end) {
		unsigned char c = (unsigned char)*p;
		char utf8[4];
		size_t len;

		if (c < 0x80 && c != '\\') {
			if (*str++ != *p++)
				return false;
			continue;
		}
		if (c == '\\')
			p += grove__json_unescape(p, end, &cp);
		else
			p += grove__utf8_decode(p, end, &cp);
		len = grove__utf8_encode(utf8, cp);
		/* U+0000 would match the end of `str`, and lead us behind it */
		if (!cp || strncmp(str, utf8, len))
			return false;
		str += len;
	}
	return !*str;
}

int grove__json_text(struct grove_buf *out, struct grove_slice raw)
{
	const char *p = raw.ptr + 1, *end = raw.ptr + raw.len - 1;
	size_t start = out->len;
	uint32_t cp;
	char utf8[4];
	int rc;

	rc = grove__buf_reserve(out, raw.len);
	while (!rc && p < end) {
		const char *run = p;

		p = grove__json_plain_end(p, end);
		rc = grove__utf8_repair(out, grove__slice(run, (size_t)(p - run)));
		if (rc || p == end)
			break;
		p += grove__json_unescape(p, end, &cp);
		rc = grove__buf_add(out, utf8, grove__utf8_encode(utf8, cp));
	}
	if (rc)
		grove__buf_cut(out, start);
	return rc;
}

double grove__json_number(struct grove_slice raw)
{
	return grove__js_parse_number(raw);
}

bool grove__json_truthy(struct grove_slice raw)
{
	double d;

	switch (grove__json_type_of(raw)) {
	case JSON_NONE:
	case JSON_NULL:
	case JSON_FALSE:
		return false;
	case JSON_STRING:
		return raw.len > 2;
	case JSON_NUMBER:
		d = grove__json_number(raw);
		return d < 0 || d > 0; /* 1e-400 is a zero too */
	default:
		return true;
	}
}
