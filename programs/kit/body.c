/*
 * body.c: checks that a request's body is valid JSON.
 *
 * Without recursion: open brackets are on an explicit stack of limited depth, so a body
 * cannot exhaust ours.
 */
#include "body.h"
#include "valid.h"

#include <string.h>

struct scan {
	const char *p, *end;
};

static void space(struct scan *s)
{
	while (s->p < s->end && memchr(" \t\r\n", *s->p, 4))
		s->p++;
}

static const char *escape(struct scan *s)
{
	s->p++;
	if (s->p == s->end)
		return "an unterminated string";
	if (memchr("\"\\/bfnrt", *s->p, 8)) {
		s->p++;
		return NULL;
	}
	if (*s->p != 'u')
		return "an invalid escape";
	s->p++;
	for (int i = 0; i < 4; i++, s->p++)
		if (s->p == s->end || !strchr("0123456789abcdefABCDEF", *s->p) || !*s->p)
			return "\\u must be followed by four hexadecimal digits";
	return NULL;
}

static const char *string(struct scan *s)
{
	const char *why = NULL;

	for (s->p++; s->p < s->end && *s->p != '"' && !why;) {
		if (*s->p == '\\')
			why = escape(s);
		else if ((unsigned char)*s->p < 0x20)
			why = "a control character in a string";
		else
			s->p++;
	}
	if (!why && s->p == s->end)
		why = "an unterminated string";
	if (!why)
		s->p++;
	return why;
}

static int digits(struct scan *s)
{
	const char *from = s->p;

	while (s->p < s->end && *s->p >= '0' && *s->p <= '9')
		s->p++;
	return s->p > from;
}

static const char *number(struct scan *s)
{
	static const char bad[] = "an invalid number";

	if (*s->p == '-')
		s->p++;
	if (s->p < s->end && *s->p == '0')
		s->p++;
	else if (!digits(s))
		return bad;
	if (s->p < s->end && *s->p == '.') {
		s->p++;
		if (!digits(s))
			return bad;
	}
	if (s->p < s->end && (*s->p | 0x20) == 'e') {
		s->p++;
		if (s->p < s->end && (*s->p == '+' || *s->p == '-'))
			s->p++;
		if (!digits(s))
			return bad;
	}
	return NULL;
}

static const char *word(struct scan *s)
{
	static const char *const words[] = { "true", "false", "null" };

	for (int i = 0; i < 3; i++) {
		size_t n = strlen(words[i]);

		if ((size_t)(s->end - s->p) >= n && !memcmp(s->p, words[i], n)) {
			s->p += n;
			return NULL;
		}
	}
	return "a value is missing";
}

static const char *name(struct scan *s)
{
	const char *why;

	space(s);
	if (s->p == s->end || *s->p != '"')
		return "the name of a member is missing";
	why = string(s);
	if (why)
		return why;
	space(s);
	if (s->p == s->end || *s->p != ':')
		return "a colon is missing";
	s->p++;
	return NULL;
}

static const char *scalar(struct scan *s)
{
	if (*s->p == '"')
		return string(s);
	if (*s->p == '-' || (*s->p >= '0' && *s->p <= '9'))
		return number(s);
	return word(s);
}

/* After a value: closes what ends here, and skips the comma. *more says whether a value follows. */
static const char *after(struct scan *s, char *open, unsigned *depth, int *more)
{
	while (*depth) {
		space(s);
		if (s->p == s->end)
			return "unexpected end";
		if (*s->p == ',') {
			s->p++;
			*more = 1;
			return open[*depth - 1] == '{' ? name(s) : NULL;
		}
		if (*s->p != (open[*depth - 1] == '{' ? '}' : ']'))
			return "a comma or a bracket is missing";
		s->p++;
		--*depth;
	}
	*more = 0;
	return NULL;
}

/* Opens the object or array at s->p. *empty says whether it was closed at once. */
static const char *opened(struct scan *s, char *open, unsigned *depth, int *empty)
{
	char bracket = *s->p;

	if (*depth == BODY_DEPTH)
		return "nested too deeply";
	s->p++;
	space(s);
	*empty = s->p < s->end && *s->p == (bracket == '{' ? '}' : ']');
	if (*empty) {
		s->p++;
		return NULL;
	}
	open[(*depth)++] = bracket;
	return bracket == '{' ? name(s) : NULL;
}

static const char *value(struct scan *s)
{
	char open[BODY_DEPTH];
	unsigned depth = 0;
	const char *why = NULL;
	int more = 1, empty;

	while (more && !why) {
		space(s);
		if (s->p == s->end)
			return "unexpected end";
		if (*s->p == '{' || *s->p == '[') {
			why = opened(s, open, &depth, &empty);
			if (why || !empty)
				continue;
		} else {
			why = scalar(s);
		}
		if (!why)
			why = after(s, open, &depth, &more);
	}
	return why;
}

const char *body_check(struct grove_slice json, size_t *at)
{
	struct scan s = { json.ptr, json.ptr + json.len };
	const char *why;

	*at = 0;
	if (!json.len)
		return "the body is empty";
	if (!utf8_valid(json.ptr, json.len))
		return "not valid UTF-8";
	why = value(&s);
	if (!why) {
		space(&s);
		if (s.p < s.end)
			why = "unexpected text after the value";
	}
	*at = (size_t)(s.p - json.ptr);
	return why;
}
