/*
 * json/scan_kernel.h: the grammar as arithmetic on 64-bit masks.
 *
 * For each 64-byte block, a kernel's file finds out where the quotes,
 * backslashes and so on are, one bit per byte; the rest is here and is the same
 * for all kernels. The first byte of a block is the lowest bit, so "the byte
 * after" is a shift to the left.
 *
 * Tokens are the bytes outside of strings that matter to the grammar: opening
 * quotes, { } [ ] : , and the first byte of everything else, which must be a
 * number or a literal. Instead of walking from token to token we ask about all
 * of them at once: what is directly before? If G are the gaps (the bytes that
 * are not tokens) and X some of the tokens, an addition that carries through
 * the gaps finds the tokens that follow an X:
 *
 *     text     { " k " : 1 , " m " : 2 }        (lowest bit left)
 *     X        . 1 . . . . . 1 . . . . .        keys
 *     X << 1   . . 1 . . . . . 1 . . . .
 *     G        . . 1 1 . . . . 1 1 . . .
 *     sum & ~G . . . . 1 . . . . . 1 . .        what follows a key: colons
 *
 * Each token makes the next one expect something, and the grammar is what may
 * follow what:
 *
 *     value    after ':', '[', and ',' in an array
 *     key      after '{', and ',' in an object
 *     colon    after a key
 *     , } ]    after anything else (a value); } and ] also after { and [
 *
 * Only whether we are in an array or an object needs a stack, and only the
 * brackets touch it: they are walked one by one, as are numbers, literals and
 * the keys of objects that somebody wants members of.
 *
 * Lines that are not an array or object, are nested 64 deep, spell a key that
 * we look at with escapes, or are wrong, go to the scalar kernel. Correct here
 * therefore means: never to accept what is wrong, never to miss a member.
 *
 * Before including this file, define for `const char *p`, 64 readable bytes:
 *
 *     struct block       the block as the CPU likes it
 *     block_load(p)
 *     block_eq(b, c)     mask of the bytes equal to `c`
 *     block_eq_or(b, bit, c)  ... that are once `bit` is set in them
 *     block_below(b, n)  ... unsigned less than `n` (1 to 127)
 *     block_escape(b)    ... one of "\/bfnrtu
 *     block_digit(b)     ... a decimal digit
 *     block_hex(b)       ... a hexadecimal digit
 *     prefix_xor(m)      bit i: parity of the bits 0 to i of `m`
 */
#include "json/escape.h"
#include "json/scan_impl.h"

/* 1 for { and }, 0 for [ and ]. */
#define IS_BRACE(c) ((unsigned)(c) >> 5 & 1)

struct scan {
	const struct grove__json_want *want;
	struct grove__json_line *out;
	const char *line;
	const char *end;         /* of the bytes given, not of the line */

	/* Carried from block to block. */
	uint64_t escaped;        /* 1: the first byte is escaped */
	uint64_t hex;            /* low bits: hex digits due */
	uint64_t in_string;      /* all ones within a string */
	uint64_t in_scalar;      /* 1: the byte before belongs to a scalar */
	uint64_t want_value;     /* 1: what the last token makes us expect */
	uint64_t want_key;
	uint64_t want_colon;
	uint64_t opened;         /* 1: the last token was { or [ */

	/* Nesting: a bit a level, innermost lowest, set: an object. */
	uint64_t nest;
	unsigned depth;

	/* The search, as in struct grove__json_machine. */
	unsigned ctx_depth;
	int ctx;
	int cur;
};

/* The bytes of one block outside of strings. */
struct tokens {
	const char *at;
	uint64_t all;
	uint64_t quote;   /* opening ones */
	uint64_t scalar;
	uint64_t open;
	uint64_t close;
	uint64_t colon;
	uint64_t comma;
	uint64_t keys;    /* filled by grammar_ok() */
};

/* Every escape is a known one, and \u has its four digits. */
static inline bool escapes_ok(struct scan *s, const struct block *b, uint64_t escaped)
{
	uint64_t u = block_eq(b, 'u') & escaped;
	uint64_t due = s->hex;
	uint64_t wrong = escaped & ~block_escape(b);

	s->hex = 0;
	if (__builtin_expect((u | due) != 0, 0)) {
		due |= u << 1 | u << 2 | u << 3 | u << 4;
		s->hex = u >> 63 | u >> 62 | u >> 61 | u >> 60;
		wrong |= due & ~block_hex(b);
	}
	return !wrong;
}

/* The tokens right after one of `x`; *carry goes from block to block. */
static inline uint64_t behind(uint64_t x, uint64_t all, uint64_t *carry)
{
	unsigned long long sum;
	bool over = __builtin_uaddll_overflow(x << 1 | *carry, ~all, &sum);

	*carry = x >> 63 | over;
	return sum & all;
}

/*
 * Walk the brackets, keeping the stack; *turns gets those after which we are
 * no longer in an array but in an object, or the reverse. False: mismatched,
 * too deep, or something after the end. Brackets are hard to predict, so
 * opening and closing ones go the same way.
 */
static inline bool walk_brackets(struct scan *s, const struct tokens *t, uint64_t *turns)
{
	uint64_t nest = s->nest;
	uint64_t wrong = 0;
	unsigned depth = s->depth;

	for (uint64_t m = t->open | t->close; m; m &= m - 1) {
		unsigned i = (unsigned)__builtin_ctzll(m);
		uint64_t brace = IS_BRACE(t->at[i]);
		uint64_t open = t->open >> i & 1;
		uint64_t now = open ? nest << 1 | brace : nest >> 1;

		wrong |= (brace ^ nest) & ~open;
		*turns |= ((now ^ nest) & 1) << i;
		nest = now;
		depth += (unsigned)(open << 1) - 1;
		if (depth - 1 >= 63) {
			/* Nothing follows the end, and no second value. */
			if (depth || m & (m - 1) || t->all >> i >> 1)
				return false;
			s->out->value.len = (uint64_t)(t->at - s->line) + i + 1 -
					    s->out->value.off;
		}
	}
	s->nest = nest;
	s->depth = depth;
	return !(wrong & 1);
}

static inline bool grammar_ok(struct scan *s, const struct block *b, struct tokens *t)
{
	uint64_t turns = 0, braces = 0, objects;
	uint64_t value, key, colon, opened, rest, wrong;

	objects = 0 - (s->nest & 1);
	if (t->open | t->close) {
		if (!walk_brackets(s, t, &turns))
			return false;
		braces = block_eq(b, '{') & t->open;
		/* A bracket belongs to the level that contains it, not to the one it opens. */
		objects ^= prefix_xor(turns) ^ turns;
	}
	value = behind(t->colon | (t->open & ~braces) | (t->comma & ~objects), t->all,
		       &s->want_value);
	key = behind(braces | (t->comma & objects), t->all, &s->want_key);
	t->keys = t->quote & key;
	colon = behind(t->keys, t->all, &s->want_colon);
	opened = behind(t->open, t->all, &s->opened);
	rest = t->all & ~(value | key | colon);

	wrong = t->colon ^ colon;
	wrong |= (t->quote | t->scalar | t->open) & ~(value | t->keys);
	wrong |= t->comma & ~rest;
	wrong |= t->close & ~(rest | opened);
	return !wrong;
}

/* A number or literal, and nothing glued to it. */
static inline bool scalar_ok(const char *p, const char *end)
{
	enum grove__json_num n = grove__json_num_first(*p);

	if (n == NUM_END) {
		/* It may reach beyond `end`: then the line is cut short anyway. */
		if (!memcmp(p, "true", 4) || !memcmp(p, "null", 4))
			p += 4;
		else if (!memcmp(p, "false", 5))
			p += 5;
		else
			return false;
	} else {
		while (++p < end) {
			enum grove__json_num next = grove__json_num_next(n, *p);

			if (next == NUM_END)
				break;
			n = next;
		}
		if (n < NUM_ZERO)
			return false;
	}
	if (p >= end)
		return true;
	switch (*p) {
	case ',': case ']': case '}': case ':': case '[': case '{': case '"':
	case ' ': case '\t': case '\r': case '\n':
		return true;
	default:
		return false;
	}
}

/*
 * All numbers and literals of a block: `run` are their bytes, `first` where
 * they start. Numbers that lie within the block are checked together, again by
 * letting additions run through them; see grove__json_num_next() for the rules.
 */
static inline bool scalars_ok(const struct scan *s, const struct block *b, const char *p,
			      uint64_t run, uint64_t first)
{
	uint64_t digit = block_digit(b) & run;
	uint64_t minus = block_eq(b, '-') & run;
	/* What started in an earlier block was checked there, to its end. */
	uint64_t num = run & (run + s->in_scalar);
	/* What continues in the next one is checked byte by byte, like literals. */
	uint64_t tail = ~num ? num & ~(UINT64_MAX >> __builtin_clzll(~num)) : num;
	uint64_t single = first & (~(digit | minus) | tail);
	uint64_t zero, dot, sign, e, at, end, used, wrong;

	for (uint64_t m = single; m; m &= m - 1)
		if (!scalar_ok(p + __builtin_ctzll(m), s->end))
			return false;
	num &= num + single;
	first &= num;
	digit &= num;
	if (!first)
		return true;

	zero = block_eq(b, '0');
	dot = block_eq(b, '.');
	sign = minus | block_eq(b, '+');
	e = block_eq_or(b, 0x20, 'e');
	used = digit | (first & minus);
	/* `at` is where digits must be, `end` the first byte after them. */
	at = (first & ~minus) | (first & minus) << 1;
	wrong = at & ~digit;
	wrong |= (at & zero) << 1 & digit;
	end = (at + digit) & ~digit;
	dot &= end;
	at = dot << 1;
	wrong |= at & ~digit;
	end |= (at + digit) & ~digit;
	e &= end;
	sign &= e << 1;
	at = (e << 1 & ~sign) | sign << 1;
	wrong |= at & ~digit;
	used |= dot | e | sign;
	return !(wrong | (num & ~used));
}

/* The value of `cur` ended before `p`, a comma or closing brace. */
static inline void end_member(struct scan *s, const char *p)
{
	struct grove__json_span *span = &s->out->span[s->cur];

	while (grove__json_is_blank(p[-1]))
		p--;
	span->len = (uint64_t)(p - s->line) - span->off;
	s->out->seen |= (uint64_t)1 << s->cur;
	s->cur = -1;
}

/*
 * A key of the object we search: its opening quote is at `p`, and the lowest
 * bit of `ends` says how long it is (none: we must look). What comes after
 * may be wrong still; then the spans do not matter, but we must stay within
 * the bytes given. False: this is for the scalar kernel.
 */
static inline bool take_key(struct scan *s, const char *p, uint64_t ends)
{
	const struct grove__json_want *w = s->want;
	size_t len;

	if (s->cur >= 0) {
		const char *comma = p - 1;

		while (*comma != ',')
			comma--;
		end_member(s, comma);
	}
	p++;
	if (!ends) {
		/* A name has at most 31 bytes, escaped or not. */
		struct block b = block_load(p);
		uint64_t slash = block_eq(&b, '\\');

		ends = block_eq(&b, '"');
		if (!(uint32_t)(ends | slash))
			return true;
		if (slash & (ends ^ (ends - 1)))
			return false;
	}
	len = (size_t)__builtin_ctzll(ends);
	s->cur = grove__json_find(w, w->children[s->ctx + 1], p, len);
	if (s->cur < 0)
		return true;
	s->out->seen &= ~(w->below[s->cur] | (uint64_t)1 << s->cur);
	p += len + 1;
	while (p < s->end && (*p == ':' || grove__json_is_blank(*p)))
		p++;
	s->out->span[s->cur].off = (uint64_t)(p - s->line);
	return true;
}

/*
 * Follow the wanted members through a block that began at `depth`. `ends`
 * are its closing quotes if there is no backslash in it, else none.
 */
static inline bool search(struct scan *s, const struct tokens *t, unsigned depth,
			  uint64_t ends)
{
	const char *p = t->at;
	uint64_t brackets = t->open | t->close;
	uint64_t left = UINT64_MAX;

	for (;;) {
		uint64_t m = left & brackets;
		unsigned i;

		if (depth == s->ctx_depth)
			m |= left & t->keys;
		if (!m)
			return true;
		i = (unsigned)__builtin_ctzll(m);
		left = UINT64_MAX << i << 1;
		if (t->keys >> i & 1) {
			if (!take_key(s, p + i, ends >> i >> 1))
				return false;
		} else if (t->open >> i & 1) {
			if (depth == s->ctx_depth && s->cur >= 0 && p[i] == '{' &&
			    s->want->children[s->cur + 1]) {
				s->ctx = s->cur;
				s->ctx_depth++;
				s->cur = -1;
			}
			depth++;
		} else {
			if (depth == s->ctx_depth) {
				if (s->cur >= 0)
					end_member(s, p + i);
				s->cur = s->ctx;
				s->ctx = s->ctx < 0 ? -1 : s->want->members[s->ctx].parent;
				s->ctx_depth--;
			}
			depth--;
		}
	}
}

/*
 * One block, of which the bytes in `valid` belong to the line and those in
 * `ctrl` are control characters. False: not for us.
 */
static inline bool scan_block(struct scan *s, const struct block *b, const char *p,
			      uint64_t valid, uint64_t ctrl)
{
	uint64_t slash = block_eq(b, '\\') & valid;
	uint64_t quote = block_eq(b, '"') & valid;
	uint64_t in_string, outside, space, scalar;
	unsigned depth = s->depth;
	struct tokens t;

	if (slash | s->escaped | s->hex) {
		uint64_t escaped = grove__json_escaped(slash, &s->escaped) & valid;

		quote &= ~escaped;
		if (!escapes_ok(s, b, escaped))
			return false;
	}
	in_string = prefix_xor(quote) ^ s->in_string;
	s->in_string = 0 - (in_string >> 63);
	if (ctrl & in_string)
		return false;
	/* Most blocks of most lines are the middle of a string. */
	outside = valid & ~in_string;
	if (!(outside | quote))
		return true;

	space = block_eq(b, ' ');
	if (ctrl)
		space |= block_eq(b, '\t') | block_eq(b, '\r');
	t.at = p;
	t.quote = quote & in_string;
	t.open = block_eq_or(b, 0x20, '{') & outside;
	t.close = block_eq_or(b, 0x20, '}') & outside;
	t.colon = block_eq(b, ':') & outside;
	t.comma = block_eq(b, ',') & outside;
	t.all = t.quote | t.open | t.close | t.colon | t.comma;
	scalar = outside & ~(t.all | quote | space);
	t.scalar = scalar & ~(scalar << 1 | s->in_scalar);
	t.all |= t.scalar;
	if (!depth && t.all && p != s->line + s->out->value.off)
		return false; /* something after the value */
	if (t.scalar && !scalars_ok(s, b, p, scalar, t.scalar))
		return false;
	s->in_scalar = scalar >> 63;
	return grammar_ok(s, b, &t) &&
	       search(s, &t, depth, slash ? 0 : quote & ~in_string);
}

static inline enum grove__json_verdict scan_line(const struct grove__json_want *want,
						 const char *ptr, size_t len, bool final,
						 struct grove__json_line *out)
{
	struct scan s = { .want = want, .out = out, .line = ptr, .end = ptr + len };
	size_t at = 0;

	while (at < len && grove__json_is_blank(ptr[at]))
		at++;
	if (at == len || (ptr[at] != '{' && ptr[at] != '['))
		return grove__json_scan_scalar(want, ptr, len, final, out);
	out->value.off = at;
	out->type = ptr[at] == '{' ? JSON_OBJECT : JSON_ARRAY;
	out->seen = 0;
	s.want_value = 1;
	s.ctx_depth = ptr[at] == '{' ? 1 : UINT32_MAX;
	s.ctx = -1;
	s.cur = -1;

	for (;; at += 64) {
		struct block b = block_load(ptr + at);
		uint64_t ctrl = block_below(&b, 0x20);
		uint64_t valid = UINT64_MAX;
		uint64_t lf = 0;
		bool last = len - at < 64;

		if (last) {
			valid = ((uint64_t)1 << (len - at)) - 1;
			out->len = len;
		}
		if (ctrl)
			lf = block_eq(&b, '\n') & valid;
		if (lf) {
			valid = (lf & (0 - lf)) - 1;
			out->len = at + (uint64_t)__builtin_ctzll(lf);
			last = true;
		} else if (last && !final) {
			return JSON_MORE;
		}
		if (!scan_block(&s, &b, ptr + at, valid, ctrl & valid))
			break;
		if (last) {
			if (s.depth || s.in_string)
				break;
			return JSON_VALUE;
		}
	}
	return grove__json_scan_scalar(want, ptr, len, final, out);
}
