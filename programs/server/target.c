/*
 * target.c: parsing the target of a request.
 */
#include "target.h"
#include "kit/text.h"
#include "kit/valid.h"

#include <stdlib.h>
#include <string.h>

enum decode_flags {
	DECODE_PLUS = 1   /* decode + as a space, as in forms */
};

/* Decodes `text` in place. Returns NULL, or why that failed. */
static const char *decode(char *text, unsigned flags)
{
	char *to = text;

	for (const char *p = text; *p; p++) {
		int high, low;

		if (*p == '%') {
			high = text_hex(p[1]);
			low = high < 0 ? -1 : text_hex(p[2]);
			if (low < 0)
				return "a percent sign is not followed by two hexadecimal digits";
			if (!high && !low)
				return "a NUL";
			*to++ = (char)(high << 4 | low);
			p += 2;
		} else {
			*to++ = *p == '+' && (flags & DECODE_PLUS) ? ' ' : *p;
		}
	}
	*to = '\0';
	return utf8_valid(text, (size_t)(to - text)) ? NULL : "bytes that are not UTF-8";
}

static const char *add_segment(struct target *t, char *text)
{
	const char *why;

	if (t->nr_segments == TARGET_SEGMENTS)
		return "too many segments";
	why = decode(text, 0);
	if (why)
		return why;
	if (strchr(text, '/'))
		return "a slash within a segment";
	if (!strcmp(text, ".") || !strcmp(text, ".."))
		return "a segment of dots";
	t->segment[t->nr_segments++] = text;
	return NULL;
}

static const char *add_param(struct target *t, char *text)
{
	char *equals = strchr(text, '=');
	const char *why;

	if (!*text)
		return NULL;
	if (t->nr_params == TARGET_PARAMS)
		return "too many parameters";
	if (equals)
		*equals++ = '\0';
	why = decode(text, DECODE_PLUS);
	if (!why && equals)
		why = decode(equals, DECODE_PLUS);
	if (!why)
		t->param[t->nr_params++] = (struct target_param){ text, equals ? equals : "" };
	return why;
}

/* Passes each part of `text` to `add`. */
static const char *split(struct target *t, char *text, char at,
			 const char *(*add)(struct target *t, char *part))
{
	const char *why = NULL;

	while (text && !why) {
		char *next = strchr(text, at);

		if (next)
			*next++ = '\0';
		why = add(t, text);
		text = next;
	}
	return why;
}

const char *target_parse(struct target *t, const char *text)
{
	const char *why;
	char *query;

	memset(t, 0, sizeof(*t));
	if (*text != '/')
		return "it does not begin with a slash";
	t->memory = strdup(text + 1);
	if (!t->memory)
		return "out of memory";
	query = strchr(t->memory, '?');
	if (query)
		*query++ = '\0';
	why = *t->memory ? split(t, t->memory, '/', add_segment) : NULL;
	if (!why && query)
		why = split(t, query, '&', add_param);
	return why;
}

void target_release(struct target *t)
{
	free(t->memory);
	t->memory = NULL;
}

const char *target_param(const struct target *t, const char *name)
{
	for (unsigned i = 0; i < t->nr_params; i++)
		if (!strcmp(t->param[i].name, name))
			return t->param[i].value;
	return NULL;
}
