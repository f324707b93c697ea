/*
 * tests/fuzz/reference.c: a slow and simple JSON parser.
 */
#include "reference.h"

struct at {
	struct ref *r;
	const char *p;
	size_t i, len;
};

static char peek(const struct at *a)
{
	return a->i < a->len ? a->p[a->i] : '\0';
}

static bool more(const struct at *a)
{
	return a->i < a->len;
}

static void space(struct at *a)
{
	while (more(a) && (peek(a) == ' ' || peek(a) == '\t' || peek(a) == '\r' || peek(a) == '\n'))
		a->i++;
}

static bool take(struct at *a, char c)
{
	if (!more(a) || a->p[a->i] != c)
		return false;
	a->i++;
	return true;
}

static bool word(struct at *a, const char *w)
{
	while (*w)
		if (!take(a, *w++))
			return false;
	return true;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool digits(struct at *a)
{
	if (!more(a) || !is_digit(peek(a)))
		return false;
	while (more(a) && is_digit(peek(a)))
		a->i++;
	return true;
}

static bool number(struct at *a)
{
	take(a, '-');
	if (!take(a, '0') && !digits(a))
		return false;
	if (take(a, '.') && !digits(a))
		return false;
	if (take(a, 'e') || take(a, 'E')) {
		if (!take(a, '+'))
			take(a, '-');
		return digits(a);
	}
	return true;
}

static int hex(char c)
{
	if (is_digit(c))
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static bool string(struct at *a)
{
	if (!take(a, '"'))
		return false;
	while (more(a)) {
		unsigned char c = (unsigned char)peek(a);

		if (c < 0x20)
			return false;
		a->i++;
		if (c == '"')
			return true;
		if (c != '\\')
			continue;
		if (take(a, 'u')) {
			for (int n = 0; n < 4; n++, a->i++)
				if (!more(a) || hex(peek(a)) < 0)
					return false;
		} else if (more(a) && peek(a) && strchr("\"\\/bfnrt", peek(a))) {
			a->i++;
		} else {
			return false;
		}
	}
	return false;
}

/* Begins a value here, in `parent`, with a key or without one. Returns its number. */
static size_t begin(struct at *a, size_t parent, size_t key_off, size_t key_len)
{
	struct ref *r = a->r;
	char c = peek(a);

	if (r->nr == r->cap) {
		r->cap = r->cap ? r->cap * 2 : 64;
		r->nodes = realloc(r->nodes, r->cap * sizeof(*r->nodes));
		CHECK(r->nodes != NULL);
	}
	r->nodes[r->nr] = (struct ref_node){
		.parent = parent, .off = a->i, .key_off = key_off, .key_len = key_len,
		.depth = parent == REF_NONE ? 0 : r->nodes[parent].depth + 1,
		.type = is_digit(c) || c == '-' ? '\0' : c,
	};
	return r->nr++;
}

static bool scalar(struct at *a)
{
	switch (peek(a)) {
	case '"': return string(a);
	case 't': return word(a, "true");
	case 'f': return word(a, "false");
	case 'n': return word(a, "null");
	default:  return number(a);
	}
}

static bool key(struct at *a, size_t *off, size_t *len)
{
	space(a);
	*off = a->i;
	if (!string(a))
		return false;
	*len = a->i - *off;
	space(a);
	return take(a, ':');
}

/* Reads one value with everything in it; `open` is the container that is being read. */
static bool value(struct at *a)
{
	struct ref *r = a->r;
	size_t open = REF_NONE, off = 0, len = 0;

	for (;;) {
		size_t me;
		bool closes = false;

		space(a);
		me = begin(a, open, off, len);
		off = len = 0;
		if (take(a, '{') || take(a, '[')) {
			char end = r->nodes[me].type == '{' ? '}' : ']';

			open = me;
			space(a);
			if (take(a, end))
				closes = true;
			else if (end == '}' && !key(a, &off, &len))
				return false;
			if (!closes)
				continue;
		} else if (!scalar(a)) {
			return false;
		}
		/* a value has ended, and perhaps those around it */
		for (;;) {
			r->nodes[me].len = a->i - r->nodes[me].off;
			r->nodes[me].next = r->nr;
			open = r->nodes[me].parent;
			if (open == REF_NONE)
				return true;
			space(a);
			if (take(a, ','))
				break;
			if (!take(a, r->nodes[open].type == '{' ? '}' : ']'))
				return false;
			me = open;
		}
		if (r->nodes[open].type == '{' && !key(a, &off, &len))
			return false;
	}
}

void ref_parse(struct ref *r, const char *text, size_t len)
{
	struct at a = { .r = r, .p = text, .len = len };

	memset(r, 0, sizeof(*r));
	r->text = text;
	r->ok = value(&a);
	if (r->ok) {
		space(&a);
		r->ok = a.i == len;
	}
	r->error = a.i;
}

void ref_release(struct ref *r)
{
	free(r->nodes);
	memset(r, 0, sizeof(*r));
}

static size_t put(char *out, uint32_t c)
{
	if (c < 0x80) {
		out[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		out[0] = (char)(0xc0 | c >> 6);
		out[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		out[0] = (char)(0xe0 | c >> 12);
		out[1] = (char)(0x80 | (c >> 6 & 0x3f));
		out[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | c >> 18);
	out[1] = (char)(0x80 | (c >> 12 & 0x3f));
	out[2] = (char)(0x80 | (c >> 6 & 0x3f));
	out[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}

/* Decodes one UTF-8 character by the rules of the web: U+FFFD for each maximal invalid part. */
static uint32_t decode(const char *p, size_t len, size_t *used)
{
	unsigned char first = (unsigned char)p[0], low = 0x80, high = 0xbf;
	uint32_t c;
	size_t rest;

	*used = 1;
	if (first < 0x80)
		return first;
	if (first >= 0xc2 && first <= 0xdf) {
		rest = 1;
		c = first & 0x1f;
	} else if (first >= 0xe0 && first <= 0xef) {
		rest = 2;
		c = first & 0xf;
		low = first == 0xe0 ? 0xa0 : 0x80;
		high = first == 0xed ? 0x9f : 0xbf;
	} else if (first >= 0xf0 && first <= 0xf4) {
		rest = 3;
		c = first & 0x7;
		low = first == 0xf0 ? 0x90 : 0x80;
		high = first == 0xf4 ? 0x8f : 0xbf;
	} else {
		return 0xfffd;
	}
	for (; rest; rest--, ++*used) {
		unsigned char next = *used < len ? (unsigned char)p[*used] : 0;

		if (next < low || next > high)
			return 0xfffd;
		low = 0x80;
		high = 0xbf;
		c = c << 6 | (next & 0x3f);
	}
	return c;
}

static uint32_t unit(const char *p)
{
	return (uint32_t)(hex(p[0]) << 12 | hex(p[1]) << 8 | hex(p[2]) << 4 | hex(p[3]));
}

static uint32_t escape(const char *p, size_t left, size_t *used)
{
	static const char names[] = "bfnrt", means[] = "\b\f\n\r\t";
	const char *name = strchr(names, p[1]);
	uint32_t c, low;

	*used = 2;
	if (name)
		return (unsigned char)means[name - names];
	if (p[1] != 'u')
		return (unsigned char)p[1];
	*used = 6;
	c = unit(p + 2);
	if (c < 0xd800 || c > 0xdbff || left < 12 || p[6] != '\\' || p[7] != 'u')
		return c;
	low = unit(p + 8);
	if (low < 0xdc00 || low > 0xdfff)
		return c;
	*used = 12;
	return 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
}

char *ref_text(const char *raw, size_t len, size_t *out_len)
{
	char *out = fuzz_alloc(len * 3 + 1);
	size_t n = 0, used;

	for (size_t i = 1; i + 1 < len; i += used) {
		size_t left = len - 1 - i;
		uint32_t c = raw[i] == '\\' ? escape(raw + i, left, &used) : decode(raw + i, left, &used);

		n += put(out + n, c);
	}
	out[n] = '\0';
	*out_len = n;
	return out;
}

bool ref_key_is(const struct ref *r, size_t node, const char *name, size_t len)
{
	size_t n;
	char *text = ref_text(r->text + r->nodes[node].key_off, r->nodes[node].key_len, &n);
	bool same = n == len && !memcmp(text, name, len);

	free(text);
	return same;
}

size_t ref_member(const struct ref *r, size_t object, const char *name, size_t len)
{
	size_t found = REF_NONE;

	if (r->nodes[object].type != '{')
		return found;
	for (size_t i = object + 1; i < r->nodes[object].next; i = r->nodes[i].next)
		if (ref_key_is(r, i, name, len))
			found = i;
	return found;
}

bool ref_is_document(const char *text, size_t len)
{
	struct ref r;
	size_t used;
	bool ok;

	ref_parse(&r, text, len);
	ok = r.ok;
	ref_release(&r);
	for (size_t i = 0; ok && i < len; i += used)
		ok = decode(text + i, len - i, &used) != 0xfffd || !strncmp(text + i, "\xef\xbf\xbd", len - i < 3 ? len - i : 3);
	return ok;
}
