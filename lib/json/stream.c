/*
 * json/stream.c: the machine that reads one value, a byte at a time.
 *
 * It can stop after any byte and continue when more arrive. What it remembers
 * does not grow with the input, but for nesting: one bit a level, first in the
 * machine itself, then on the heap. Values are never kept; of a key only as
 * much as the longest name that somebody may want.
 */
#include "json/scan_impl.h"

#include <stdlib.h>

enum state {
	ST_VALUE,   /* a value */
	ST_ELEMENT, /* after '[': a value or ']' */
	ST_MEMBER,  /* after '{': a key or '}' */
	ST_KEY,     /* after a comma in an object: a key */
	ST_COLON,
	ST_AFTER,   /* after a value in an array or object: ',' or its end */
	ST_STRING,
	ST_ESCAPE,  /* after a backslash */
	ST_HEX,
	ST_LITERAL,
	ST_NUMBER,
	ST_DONE,
	ST_BAD
};

#define EACH_BYTE (UINT64_MAX / 0xff)
#define HIGH_BITS (EACH_BYTE * 0x80)

void grove__json_machine_init(struct grove__json_machine *m,
			      const struct grove__json_want *want,
			      struct grove__json_line *line)
{
	m->want = want;
	m->line = line;
	m->nest = m->near_nest;
	m->nest_words = GROVE__JSON_NEST_WORDS;
	memset(m->key, 0, sizeof(m->key));
	grove__json_machine_reset(m);
}

void grove__json_machine_reset(struct grove__json_machine *m)
{
	m->at = 0;
	m->depth = 0;
	m->ctx_depth = GROVE__JSON_NO_DEPTH;
	m->ctx = -1;
	m->cur = -1;
	m->state = ST_VALUE;
	m->in_key = false;
	m->keep_key = false;
	m->line->len = 0;
	m->line->error_off = 0;
	m->line->value.off = 0;
	m->line->value.len = 0;
	m->line->type = JSON_NONE;
	m->line->seen = 0;
}

void grove__json_machine_release(struct grove__json_machine *m)
{
	if (m->nest != m->near_nest)
		free(m->nest);
}

static int nest_grow(struct grove__json_machine *m)
{
	size_t words = m->nest_words * 2;
	uint64_t *nest;

	if (m->nest == m->near_nest) {
		nest = malloc(words * sizeof(*nest));
		if (nest)
			memcpy(nest, m->near_nest, sizeof(m->near_nest));
	} else {
		nest = realloc(m->nest, words * sizeof(*nest));
	}
	if (!nest)
		return GROVE_ENOMEM;
	m->nest = nest;
	m->nest_words = words;
	return 0;
}

static bool in_object(const struct grove__json_machine *m)
{
	return m->nest[(m->depth - 1) / 64] >> (m->depth - 1) % 64 & 1;
}

/* A value was read up to `end`; the machine is where the value was. */
static void end_value(struct grove__json_machine *m, uint64_t end)
{
	struct grove__json_line *l = m->line;

	if (!m->depth) {
		l->value.len = end - l->value.off;
		m->state = ST_DONE;
		return;
	}
	if (m->depth == m->ctx_depth && m->cur >= 0) {
		l->span[m->cur].len = end - l->span[m->cur].off;
		l->seen |= (uint64_t)1 << m->cur;
		m->cur = -1;
	}
	m->state = ST_AFTER;
}

static int open_nest(struct grove__json_machine *m, bool object)
{
	uint64_t bit = (uint64_t)1 << m->depth % 64;
	size_t word = (size_t)(m->depth / 64);

	if (word == m->nest_words && nest_grow(m))
		return GROVE_ENOMEM;
	if (object)
		m->nest[word] |= bit;
	else
		m->nest[word] &= ~bit;
	if (object && !m->depth) {
		m->ctx_depth = 1;
	} else if (object && m->depth == m->ctx_depth && m->cur >= 0 &&
		   m->want->children[m->cur + 1]) {
		m->ctx = m->cur;
		m->ctx_depth++;
		m->cur = -1;
	}
	m->depth++;
	m->state = object ? ST_MEMBER : ST_ELEMENT;
	return 0;
}

static void close_nest(struct grove__json_machine *m, uint64_t at)
{
	if (m->depth == m->ctx_depth) {
		m->cur = m->ctx;
		m->ctx = m->ctx < 0 ? -1 : m->want->members[m->ctx].parent;
		m->ctx_depth--;
	}
	m->depth--;
	end_value(m, at + 1);
}

static void begin_string(struct grove__json_machine *m, bool key)
{
	m->state = ST_STRING;
	m->in_key = key;
	m->keep_key = key && m->depth == m->ctx_depth;
	m->key_len = 0;
}

static void end_string(struct grove__json_machine *m, uint64_t end)
{
	const struct grove__json_want *w = m->want;

	if (!m->in_key) {
		end_value(m, end);
		return;
	}
	if (m->keep_key) {
		m->cur = grove__json_find(w, w->children[m->ctx + 1], m->key, m->key_len);
		/* An earlier member of this name no longer counts. */
		if (m->cur >= 0)
			m->line->seen &= ~(w->below[m->cur] | (uint64_t)1 << m->cur);
	}
	m->state = ST_COLON;
}

/* Take a value's first byte: 1, 0 if no value starts with it, or GROVE_ENOMEM. */
static int begin_value(struct grove__json_machine *m, char c, uint64_t at)
{
	struct grove__json_line *l = m->line;

	switch (c) {
	case '{':
	case '[':
	case '"':
		break;
	case 't':
		m->literal = "rue";
		break;
	case 'f':
		m->literal = "alse";
		break;
	case 'n':
		m->literal = "ull";
		break;
	default:
		m->num = grove__json_num_first(c);
		if (m->num == NUM_END)
			return 0;
	}

	if (!m->depth) {
		l->value.off = at;
		l->type = grove__json_type_of(grove__slice(&c, 1));
	} else if (m->depth == m->ctx_depth && m->cur >= 0) {
		l->span[m->cur].off = at;
	}

	if (c == '{' || c == '[')
		return open_nest(m, c == '{') ? GROVE_ENOMEM : 1;
	if (c == '"')
		begin_string(m, false);
	else
		m->state = c == 't' || c == 'f' || c == 'n' ? ST_LITERAL : ST_NUMBER;
	return 1;
}

/* Finds quotes, backslashes and control characters in eight bytes. */
static uint64_t has_special(uint64_t v)
{
	uint64_t quote = v ^ EACH_BYTE * '"';
	uint64_t slash = v ^ EACH_BYTE * '\\';

	/*
	 * x - n borrows into the high bit of a byte below n. A borrow may run
	 * on into the next byte and lie about it, but only when this one
	 * already said yes. Bytes with the high bit set are never special.
	 */
	return ((quote - EACH_BYTE) | (slash - EACH_BYTE) | (v - EACH_BYTE * 0x20)) & ~v &
	       HIGH_BITS;
}

static bool is_special(char c)
{
	return c == '"' || c == '\\' || (unsigned char)c < 0x20;
}

/* Returns the end of the ordinary characters of a string. */
static const char *skip_plain(const char *p, const char *end)
{
	while (end - p >= 32) {
		uint64_t v[4];

		memcpy(v, p, sizeof(v));
		if (has_special(v[0]) | has_special(v[1]) | has_special(v[2]) |
		    has_special(v[3]))
			break;
		p += sizeof(v);
	}
	while (p < end && !is_special(*p))
		p++;
	return p;
}

static void add_key_char(struct grove__json_machine *m, char c)
{
	if (m->key_len < sizeof(m->key))
		m->key[m->key_len++] = c;
}

static const char *keep_plain(struct grove__json_machine *m, const char *p, const char *end)
{
	for (; p < end && !is_special(*p); p++)
		add_key_char(m, *p);
	return p;
}

/* Returns what a backslash and `c` mean; 0 if nothing ('u' is handled by the caller). */
static char unescape(char c)
{
	switch (c) {
	case '"':
	case '\\':
	case '/':
		return c;
	case 'b':
		return '\b';
	case 'f':
		return '\f';
	case 'n':
		return '\n';
	case 'r':
		return '\r';
	case 't':
		return '\t';
	default:
		return 0;
	}
}

static bool take_escape(struct grove__json_machine *m, char c)
{
	char plain = unescape(c);

	if (c == 'u') {
		m->hex_left = 4;
		m->hex = 0;
		m->state = ST_HEX;
		return true;
	}
	if (m->keep_key)
		add_key_char(m, plain);
	m->state = ST_STRING;
	return plain != 0;
}

static bool take_hex(struct grove__json_machine *m, char c)
{
	unsigned digit;

	if (c >= '0' && c <= '9')
		digit = (unsigned)(c - '0');
	else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
		digit = (unsigned)((c | 0x20) - 'a') + 10;
	else
		return false;
	m->hex = m->hex << 4 | digit;
	if (--m->hex_left)
		return true;
	/* Wanted names are ASCII: one byte that is not spoils the match. */
	if (m->keep_key)
		add_key_char(m, (char)(m->hex < 0x80 ? m->hex : 0x80));
	m->state = ST_STRING;
	return true;
}

static bool is_space(char c)
{
	return c == '\n' || grove__json_is_blank(c);
}

/* Takes a byte between tokens. Returns 1, 0 if it is not allowed here, or GROVE_ENOMEM. */
static int take_token(struct grove__json_machine *m, char c, uint64_t at)
{
	switch ((enum state)m->state) {
	case ST_ELEMENT:
		if (c == ']') {
			close_nest(m, at);
			return 1;
		}
		/* fall through */
	case ST_VALUE:
		return begin_value(m, c, at);
	case ST_MEMBER:
		if (c == '}') {
			close_nest(m, at);
			return 1;
		}
		/* fall through */
	case ST_KEY:
		if (c != '"')
			return 0;
		begin_string(m, true);
		return 1;
	case ST_COLON:
		m->state = ST_VALUE;
		return c == ':';
	default: /* ST_AFTER */
		if (c == ',')
			m->state = in_object(m) ? ST_KEY : ST_VALUE;
		else if (c == (in_object(m) ? '}' : ']'))
			close_nest(m, at);
		else
			return 0;
		return 1;
	}
}

/* Read until the value ends or the bytes do; after the last byte taken. */
static const char *run(struct grove__json_machine *m, const char *p, const char *end,
		       int *ret)
{
	const char *start = p;
	uint64_t base = m->at;
	int ok = 1;

	while (p < end && ok > 0) {
		switch ((enum state)m->state) {
		case ST_STRING:
			p = m->keep_key ? keep_plain(m, p, end) : skip_plain(p, end);
			if (p == end)
				break;
			ok = *p == '"' || *p == '\\';
			if (*p == '"')
				end_string(m, base + (uint64_t)(p + 1 - start));
			else
				m->state = ST_ESCAPE;
			p += ok;
			break;
		case ST_ESCAPE:
			ok = take_escape(m, *p);
			p += ok;
			break;
		case ST_HEX:
			ok = take_hex(m, *p);
			p += ok;
			break;
		case ST_LITERAL:
			ok = *p == *m->literal;
			p += ok;
			if (ok && !*++m->literal)
				end_value(m, base + (uint64_t)(p - start));
			break;
		case ST_NUMBER: {
			enum grove__json_num next = grove__json_num_next(m->num, *p);

			/* The byte after a number is not part of it. */
			if (next != NUM_END) {
				m->num = next;
				p++;
			} else if (m->num >= NUM_ZERO) {
				end_value(m, base + (uint64_t)(p - start));
			} else {
				ok = 0;
			}
			break;
		}
		case ST_DONE:
			goto out;
		case ST_BAD:
			ok = 0;
			break;
		default:
			if (!is_space(*p))
				ok = take_token(m, *p, base + (uint64_t)(p - start));
			p += ok > 0;
			break;
		}
	}
out:
	m->at = base + (uint64_t)(p - start);
	*ret = ok < 0 ? ok : !ok ? JSON_STREAM_BAD : m->state == ST_DONE ? JSON_STREAM_DONE :
									 JSON_STREAM_MORE;
	return p;
}

int grove__json_machine_feed(struct grove__json_machine *m, const char *ptr, size_t len,
			     bool final, size_t *used)
{
	int ret = m->state == ST_DONE ? JSON_STREAM_DONE :
		  m->state == ST_BAD  ? JSON_STREAM_BAD :
					JSON_STREAM_MORE;

	*used = 0;
	if (ret == JSON_STREAM_MORE && len)
		*used = (size_t)(run(m, ptr, ptr + len, &ret) - ptr);
	if (ret == JSON_STREAM_MORE && final) {
		ret = JSON_STREAM_BAD;
		if (m->state == ST_NUMBER && m->num >= NUM_ZERO && !m->depth) {
			end_value(m, m->at);
			ret = JSON_STREAM_DONE;
		}
	}
	if (ret == JSON_STREAM_BAD) {
		m->state = ST_BAD;
		m->line->error_off = m->at;
	}
	m->line->len = m->at;
	return ret;
}

struct grove__json_stream {
	struct grove__json_machine machine;
	struct grove__json_line line;
};

struct grove__json_stream *grove__json_stream_new(const struct grove__json_want *want)
{
	struct grove__json_stream *s = malloc(sizeof(*s));

	if (s)
		grove__json_machine_init(&s->machine, want, &s->line);
	return s;
}

void grove__json_stream_free(struct grove__json_stream *s)
{
	if (!s)
		return;
	grove__json_machine_release(&s->machine);
	free(s);
}

void grove__json_stream_reset(struct grove__json_stream *s)
{
	grove__json_machine_reset(&s->machine);
}

int grove__json_stream_feed(struct grove__json_stream *s, const char *ptr, size_t len,
			    bool final, size_t *used)
{
	return grove__json_machine_feed(&s->machine, ptr, len, final, used);
}

const struct grove__json_line *grove__json_stream_line(const struct grove__json_stream *s)
{
	return &s->line;
}
