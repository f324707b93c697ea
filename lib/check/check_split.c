/*
 * check/check_split.c: what is whole on a line that is not JSON.
 *
 * A line goes wrong in few ways: its end was never written, a newline was lost, or
 * another writer's line is in the middle of it. So entries begin at the start of the
 * line, after another one, or right where a torn one stops making sense:
 *
 *	"content":"hel{"type":"message"      wrong at `type`: it began two bytes before
 *	"content":"hello"{"type":"message"   wrong at the brace: it begins there
 *	"content":{"type":"message" … }      truncated: the torn one was about to have a
 *	                                     value. Only the braces reveal this, so it
 *	                                     must look like an entry in every way.
 *
 * Each byte is scanned once, except for the two before an error, and those of a
 * truncated line.
 */
#include "check/check.h"

#include "base/array.h"

#include <stdlib.h>

struct split {
	const struct grove__dialect *dialect;
	const struct grove__json_want *want;
	struct grove_slice in;
	struct grove__parts *out;
	struct grove__json_stream *stream;
	size_t *open;              /* where the objects and arrays around a byte begin */
	size_t cap_open;
};

enum trust {
	ANY,                       /* the line begins with it */
	LIKELY,                    /* something else ends where it begins */
	SURE                       /* there is no other evidence for it */
};

void grove__split_parts_release(struct grove__parts *p)
{
	free(p->part);
	*p = (struct grove__parts){ 0 };
}

/* True if the object is an entry that may be put on a line of its own. */
static bool acceptable(const struct split *s, struct grove__part p, enum trust trust)
{
	const char *ptr = s->in.ptr + p.off;
	struct grove__json_line l;
	struct grove__arena tmp;
	struct grove__header h;
	struct grove__entry e;
	enum grove__line_class class;
	bool ok;

	if (grove__json_scan(s->want, ptr, p.len, true, &l) != JSON_VALUE || l.type != JSON_OBJECT)
		return false;
	grove__arena_init(&tmp);
	class = s->dialect->read.index(&l, ptr, &tmp, &e);
	if (class == LINE_HEADER)
		s->dialect->header->read(&l, ptr, &tmp, &h);
	if (class == LINE_SKIP)
		ok = false;
	else if (trust == ANY)
		ok = true;
	else if (class == LINE_HEADER)
		ok = h.usable;
	else if (trust == LIKELY)
		ok = e.has_id || e.aside;
	else
		ok = e.has_id && e.parent_is != PARENT_ABSENT && e.time != GROVE_NO_TIME;
	grove__arena_release(&tmp);
	return ok;
}

static int add_part(struct split *s, struct grove__part p)
{
	struct grove__parts *o = s->out;

	if (grove__array_room(&o->part, &o->cap, o->nr, sizeof(*o->part)))
		return GROVE_ENOMEM;
	o->part[o->nr++] = p;
	return 0;
}

/*
 * Finds the object that ends with the last byte of [from, end), which is the beginning
 * of a value.
 */
static int last_object(struct split *s, size_t from, size_t end)
{
	size_t depth = 0, at = SIZE_MAX;
	bool text = false;

	while (end > from && grove__is_blank(s->in.ptr[end - 1]))
		end--;
	if (end == from || s->in.ptr[end - 1] != '}')
		return 0;
	for (size_t i = from; i < end; i++) {
		char c = s->in.ptr[i];

		if (text) {
			if (c == '\\')
				i++;
			else if (c == '"')
				text = false;
		} else if (c == '"') {
			text = true;
		} else if (c == '{' || c == '[') {
			if (grove__array_room(&s->open, &s->cap_open, depth, sizeof(*s->open)))
				return GROVE_ENOMEM;
			s->open[depth++] = i;
		} else if ((c == '}' || c == ']') && depth) {
			at = s->open[--depth];
		}
	}
	if (at == SIZE_MAX || at == from || text)
		return 0;
	return acceptable(s, (struct grove__part){ at, end - at }, SURE)
		       ? add_part(s, (struct grove__part){ at, end - at })
		       : 0;
}

static size_t skip_blank(const struct split *s, size_t at)
{
	while (at < s->in.len && grove__is_blank(s->in.ptr[at]))
		at++;
	return at;
}

/* Accepts a whole value, if it is an entry and what follows fits. */
static int take_value(struct split *s, size_t at, size_t len, enum trust *trust)
{
	size_t after = skip_blank(s, at + len);
	bool fits = after == s->in.len || s->in.ptr[after] == '{';
	struct grove__part p = { at, len };

	if ((*trust != ANY && !fits) || !acceptable(s, p, *trust)) {
		*trust = SURE;
		return 0;
	}
	*trust = LIKELY;
	return add_part(s, p);
}

/* Returns where the next value may begin after one that goes wrong at `bad`. */
static size_t after_mistake(const struct split *s, size_t at, size_t bad, enum trust *trust)
{
	*trust = LIKELY;
	if (bad < s->in.len && s->in.ptr[bad] == '{' && bad > at)
		return bad;
	if (bad > at + 2 && s->in.ptr[bad - 2] == '{' && s->in.ptr[bad - 1] == '"')
		return bad - 2;
	*trust = SURE;
	return bad > at ? bad : at + 1;
}

static int go(struct split *s)
{
	enum trust trust = ANY;
	size_t at = 0;
	int rc = 0;

	while (!rc && at < s->in.len) {
		size_t used = 0, bad;
		int state;

		/* what a crash of the machine left of a block, before what was written next */
		while (at < s->in.len && (grove__is_blank(s->in.ptr[at]) || !s->in.ptr[at])) {
			if (!s->in.ptr[at] && trust == ANY)
				trust = LIKELY;
			at++;
		}
		if (at == s->in.len)
			break;
		if (s->in.ptr[at] != '{') {
			const char *brace = memchr(s->in.ptr + at, '{', s->in.len - at);

			if (!brace)
				break;
			at = (size_t)(brace - s->in.ptr);
			trust = SURE;
		}
		grove__json_stream_reset(s->stream);
		state = grove__json_stream_feed(s->stream, s->in.ptr + at, s->in.len - at, true, &used);
		if (state < 0)
			return GROVE_ENOMEM;
		if (state == JSON_STREAM_DONE) {
			rc = take_value(s, at, used, &trust);
			at += used;
			continue;
		}
		bad = state == JSON_STREAM_BAD
			      ? at + (size_t)grove__json_stream_line(s->stream)->error_off
			      : s->in.len;
		if (bad >= s->in.len || s->in.ptr[bad] == '{')
			rc = last_object(s, at, bad < s->in.len ? bad : s->in.len);
		if (bad >= s->in.len)
			break;
		at = after_mistake(s, at, bad, &trust);
	}
	return rc;
}

static bool has_rest(struct grove_slice in, const struct grove__parts *p)
{
	size_t at = 0;

	for (size_t i = 0; i <= p->nr; i++) {
		size_t end = i < p->nr ? p->part[i].off : in.len;

		for (; at < end; at++)
			if (!grove__is_blank(in.ptr[at]))
				return true;
		if (i < p->nr)
			at = p->part[i].off + p->part[i].len;
	}
	return false;
}

int grove__check_split(const struct grove__dialect *dialect, const struct grove__json_want *want,
		       struct grove_slice bytes, struct grove__parts *out)
{
	struct split s = { .dialect = dialect, .want = want, .in = bytes, .out = out };
	int rc;

	out->nr = 0;
	s.stream = grove__json_stream_new(want);
	rc = s.stream ? go(&s) : GROVE_ENOMEM;
	grove__json_stream_free(s.stream);
	free(s.open);
	out->rest = has_rest(bytes, out);
	return rc;
}
