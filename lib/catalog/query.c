/*
 * catalog/query.c: queries for sessions, in pi's language.
 *
 * Every token must match somewhere, and the best match counts:
 *
 *	0  it occurs in the name           the earlier and the denser its letters, the better
 *	1  in id, directory or messages
 *	2  its letters, with others between, in name or directory: likewise
 *
 * The score of a token is the tier, a million each, plus that of the letters. Texts are
 * compared as in JavaScript, in UTF-16 and lower case.
 *
 * The messages are long and have to be read, so they come last and only decide between
 * yes and no: a token that occurs in name, id or directory does not need them. For the
 * other tokens, a few bytes must occur in the raw log, in either case, if the token
 * occurs at all, which rules out most logs.
 */
#include "catalog/query.h"

#include "base/regex.h"
#include "base/array.h"
#include "base/needle.h"
#include "base/utf8.h"
#include "js/js.h"

#include <stdlib.h>
#include <utf8proc.h>

#define TIER 1e6
#define SWAPPED 5

/* Text in lower case, in UTF-16. */
struct units {
	uint16_t *ptr;
	size_t nr;
};

struct token {
	struct units text;
	bool phrase;
	struct grove__needle raw;    /* bytes that must be in the raw JSON; may be empty */
	bool plain;                  /* these are all of it */
};

struct grove__query {
	struct token *token;
	size_t nr, cap;
	struct grove__regex *re;     /* if set, there are no tokens */
};

/* A token, or the regular expression, and one session. */
struct term {
	double score;
	bool found;
	bool open;                   /* the text may still match, which would change `score` */
	bool seen;                   /* its bytes occur in the log */
};

struct grove__query_fit {
	const struct grove__query *q;
	struct term *terms;
	size_t nr;
	struct grove__regex_matcher *matcher;   /* of an expression */
};

/* --------------------------------------------------------------------- texts */

/* There is room. */
static void add_unit(struct units *u, uint32_t unit)
{
	u->ptr[u->nr++] = (uint16_t)unit;
}

static void add_code(struct units *u, uint32_t cp)
{
	if (cp < 0x10000) {
		add_unit(u, cp);
		return;
	}
	cp -= 0x10000;
	add_unit(u, 0xd800 | cp >> 10);
	add_unit(u, 0xdc00 | (cp & 0x3ff));
}

static bool is_letter(uint32_t cp)
{
	utf8proc_category_t c = utf8proc_category((utf8proc_int32_t)cp);

	return c >= UTF8PROC_CATEGORY_LU && c <= UTF8PROC_CATEGORY_LO;
}

/* A capital sigma at the end of a word becomes a final sigma in lower case. */
static bool is_final(const char *from, const char *at, const char *next, const char *end)
{
	uint32_t cp = 0;

	if (next < end) {
		grove__utf8_decode_wtf8(next, end, &cp);
		if (is_letter(cp))
			return false;
	}
	if (at == from)
		return false;
	for (at--; at > from && ((unsigned char)*at & 0xc0) == 0x80;)
		at--;
	grove__utf8_decode_wtf8(at, end, &cp);
	return is_letter(cp);
}

/* `out` is empty. */
static int lower(struct grove_slice text, struct units *out)
{
	const char *p = text.ptr, *end = text.len ? p + text.len : p;

	/* no character has more units than bytes, even in lower case */
	out->ptr = malloc((text.len + 1) * sizeof(*out->ptr));
	if (!out->ptr)
		return GROVE_ENOMEM;
	while (p < end) {
		const char *at = p;
		uint32_t cp = (unsigned char)*p;

		if (cp < 0x80) {
			p++;
			add_unit(out, cp >= 'A' && cp <= 'Z' ? cp + 32 : cp);
			continue;
		}
		p += grove__utf8_decode_wtf8(p, end, &cp);
		if (cp == 0x130) {
			add_unit(out, 'i');
			cp = 0x307;
		} else if (cp == 0x3a3) {
			cp = is_final(text.ptr, at, p, end) ? 0x3c2 : 0x3c3;
		} else {
			cp = (uint32_t)utf8proc_tolower((utf8proc_int32_t)cp);
		}
		add_code(out, cp);
	}
	return 0;
}

/* Turns runs of white space into one space, and trims. */
static void normalize(struct units *u)
{
	size_t nr = 0;

	for (size_t i = 0; i < u->nr; i++) {
		if (!grove__js_is_space(u->ptr[i]))
			u->ptr[nr++] = u->ptr[i];
		else if (nr && u->ptr[nr - 1] != ' ')
			u->ptr[nr++] = ' ';
	}
	u->nr = nr && u->ptr[nr - 1] == ' ' ? nr - 1 : nr;
}

/* Returns where it occurs, from unit `from` on, or SIZE_MAX. */
static size_t find(const struct units *what, const struct units *in, size_t from)
{
	const char *begin = (const char *)in->ptr, *end = (const char *)(in->ptr + in->nr), *at;
	const char *p = (const char *)(in->ptr + from);

	while (p < end && (at = memmem(p, (size_t)(end - p), what->ptr, what->nr * sizeof(*what->ptr)))) {
		/* not at the second byte of a unit */
		if ((size_t)(at - begin) % sizeof(*in->ptr) == 0)
			return (size_t)(at - begin) / sizeof(*in->ptr);
		p = at + 1;
	}
	return SIZE_MAX;
}

static bool occurs(const struct units *what, const struct units *in)
{
	return find(what, in, 0) != SIZE_MAX;
}

/* ------------------------------------------------------------------- letters */

static bool is_boundary(uint16_t c)
{
	return grove__js_is_space(c) || c == '-' || c == '_' || c == '.' || c == '/' || c == ':';
}

struct scoring {
	double score;
	size_t last, run;
	bool begun;
};

/* Adds the next letter, at `i`. */
static void score_letter(struct scoring *s, const struct units *in, size_t i)
{
	/* the very first letter counts as consecutive at the start */
	if (s->begun ? s->last + 1 == i : !i) {
		s->score -= 5 * (double)++s->run;
	} else {
		s->run = 0;
		if (s->begun)
			s->score += 2 * (double)(i - s->last - 1);
	}
	if (!i || is_boundary(in->ptr[i - 1]))
		s->score -= 10;
	s->score += 0.1 * (double)i;
	s->last = i;
	s->begun = true;
}

/*
 * Takes each letter at its first position after the previous one; or all together, if
 * that is better.
 */
static bool in_order(const struct units *what, const struct units *in, double *score)
{
	struct scoring s = { 0 };
	size_t next = 0;

	*score = 0;
	if (!what->nr)
		return true;
	for (size_t i = 0; i < in->nr && next < what->nr; i++) {
		if (in->ptr[i] == what->ptr[next]) {
			score_letter(&s, in, i);
			next++;
		}
	}
	if (next < what->nr)
		return false;
	*score = s.score;
	for (size_t at = find(what, in, 0); at != SIZE_MAX; at = find(what, in, at + 1)) {
		s = (struct scoring){ 0 };
		for (size_t i = 0; i < what->nr; i++)
			score_letter(&s, in, at + i);
		*score = s.score < *score ? s.score : *score;
	}
	if (what->nr == in->nr)
		*score -= 100;
	return true;
}

static bool is_digit(uint16_t c)
{
	return c >= '0' && c <= '9';
}

/* Turns "abc12" into "12abc", and the reverse. Returns false if it is neither. */
static bool swap(const struct units *u, struct units *out)
{
	size_t at = 0;

	for (size_t i = 0; i < u->nr; i++) {
		if (!is_digit(u->ptr[i]) && !(u->ptr[i] >= 'a' && u->ptr[i] <= 'z'))
			return false;
		if (i && is_digit(u->ptr[i]) != is_digit(u->ptr[i - 1])) {
			if (at)
				return false;
			at = i;
		}
	}
	if (!at)
		return false;
	out->ptr = malloc(u->nr * sizeof(*u->ptr));
	if (!out->ptr)
		return false;
	out->nr = u->nr;
	memcpy(out->ptr, u->ptr + at, (u->nr - at) * sizeof(*u->ptr));
	memcpy(out->ptr + u->nr - at, u->ptr, at * sizeof(*u->ptr));
	return true;
}

static bool fuzzy(const struct units *what, const struct units *in, double *score)
{
	struct units other = { NULL };
	bool found = in_order(what, in, score);

	if (!found && swap(what, &other)) {
		found = in_order(&other, in, score);
		*score += SWAPPED;
	}
	free(other.ptr);
	return found;
}

/* ------------------------------------------------------------------- parsing */

/* True for a character that JSON writes as itself, or as \uXXXX. */
static bool is_raw(uint16_t c)
{
	return c > ' ' && c < 0x7f && c != '"' && c != '\\' && c != '/';
}

/* Finds the longest run of such characters. */
static void set_needle(struct token *t)
{
	char bytes[GROVE__NEEDLE_MAX];
	size_t best = 0, len = 0;

	for (size_t i = 0, n = 0; i < t->text.nr; i++) {
		n = is_raw(t->text.ptr[i]) ? n + 1 : 0;
		if (n > len) {
			len = n;
			best = i + 1 - n;
		}
	}
	t->plain = len == t->text.nr && len <= sizeof(bytes);
	len = len < sizeof(bytes) ? len : sizeof(bytes);
	for (size_t i = 0; i < len; i++)
		bytes[i] = (char)t->text.ptr[best + i];
	grove__needle_init(&t->raw, grove__slice(bytes, len));
}

static int add_token(struct grove__query *q, struct grove_slice text, bool phrase)
{
	struct token *t;
	int rc;

	if (grove__array_room(&q->token, &q->cap, q->nr, sizeof(*q->token)))
		return GROVE_ENOMEM;
	t = &q->token[q->nr++];
	*t = (struct token){ .phrase = phrase };
	rc = lower(text, &t->text);
	if (phrase)
		normalize(&t->text);
	if (!rc && !t->text.nr)
		free(q->token[--q->nr].text.ptr);
	else if (!rc)
		set_needle(t);
	return rc;
}

static int add_words(struct grove__query *q, struct grove_slice text)
{
	const char *p = text.ptr, *end = p + text.len, *from = p;
	int rc = 0;

	while (p < end && !rc) {
		uint32_t cp;
		size_t n = grove__utf8_decode_wtf8(p, end, &cp);

		if (grove__js_is_space(cp)) {
			rc = p > from ? add_token(q, grove__slice(from, (size_t)(p - from)), false) : 0;
			from = p + n;
		}
		p += n;
	}
	return rc || end == from ? rc : add_token(q, grove__slice(from, (size_t)(end - from)), false);
}

static size_t count_quotes(struct grove_slice text)
{
	size_t n = 0;

	for (size_t i = 0; i < text.len; i++)
		n += text.ptr[i] == '"';
	return n;
}

static int add_tokens(struct grove__query *q, struct grove_slice text)
{
	bool phrase = false;
	int rc = 0;

	/* with an unclosed quote, all quotes are letters */
	if (count_quotes(text) % 2)
		return add_words(q, text);
	while (text.len && !rc) {
		const char *quote = memchr(text.ptr, '"', text.len);
		size_t n = quote ? (size_t)(quote - text.ptr) : text.len;
		struct grove_slice part = grove__slice(text.ptr, n);

		rc = phrase ? add_token(q, part, true) : add_words(q, part);
		n += quote != NULL;
		text = grove__slice(text.ptr + n, text.len - n);
		phrase = !phrase;
	}
	return rc;
}

int grove__query_new(struct grove__query **out, struct grove_slice text, struct grove_detail *d)
{
	struct grove__query *q = calloc(1, sizeof(*q));
	int rc;

	*out = NULL;
	if (!q)
		return grove__fail_nomem(d);
	text = grove__js_trim(text);
	if (text.len >= 3 && !memcmp(text.ptr, "re:", 3)) {
		text = grove__js_trim(grove__slice(text.ptr + 3, text.len - 3));
		rc = text.len ? grove__regex_new(&q->re, text, REGEX_JAVASCRIPT, d)
			      : grove__fail(d, GROVE_EINVAL, NULL, "re: no expression given");
	} else {
		rc = add_tokens(q, text) ? grove__fail_nomem(d) : 0;
	}
	if (rc) {
		grove__query_free(q);
		return rc;
	}
	*out = q;
	return 0;
}

void grove__query_free(struct grove__query *q)
{
	if (!q)
		return;
	for (size_t i = 0; i < q->nr; i++)
		free(q->token[i].text.ptr);
	free(q->token);
	grove__regex_free(q->re);
	free(q);
}

bool grove__query_is_blank(const struct grove__query *q)
{
	return !q->nr && !q->re;
}

/* ---------------------------------------------------------- what is remembered */

enum { NAME, ID, CWD, PART, FIELDS };

struct looking {
	struct grove_slice raw[FIELDS];
	struct units field[FIELDS], flat[FIELDS];   /* lower case; the same, normalized */
};

static int field(struct looking *lo, unsigned i, struct units **out)
{
	*out = &lo->field[i];
	return lo->field[i].ptr ? 0 : lower(lo->raw[i], &lo->field[i]);
}

static int flat_field(struct looking *lo, unsigned i, struct units **out)
{
	int rc = 0;

	*out = &lo->flat[i];
	if (!lo->flat[i].ptr) {
		rc = lower(lo->raw[i], &lo->flat[i]);
		normalize(&lo->flat[i]);
	}
	return rc;
}

static void looking_release(struct looking *lo)
{
	for (unsigned i = 0; i < FIELDS; i++) {
		free(lo->field[i].ptr);
		free(lo->flat[i].ptr);
	}
}

/* Matches its letters in order, in name or directory, whichever is better. */
static int match_letters(struct looking *lo, const struct token *t, struct term *term)
{
	static const unsigned where[] = { NAME, CWD };
	struct units *u;
	double s;

	for (size_t i = 0; i < 2; i++) {
		int rc = field(lo, where[i], &u);

		if (rc)
			return rc;
		if (!u->nr || !fuzzy(&t->text, u, &s))
			continue;
		s += 2 * TIER;
		term->score = term->found && term->score < s ? term->score : s;
		term->found = true;
	}
	return 0;
}

static int match_token(struct looking *lo, const struct token *t, struct term *term)
{
	struct units *u;

	for (unsigned i = 0; i < FIELDS; i++) {
		/* white space in an id is significant */
		int rc = t->phrase && i != ID ? flat_field(lo, i, &u) : field(lo, i, &u);

		if (rc)
			return rc;
		if (!u->nr || !occurs(&t->text, u))
			continue;
		term->score = TIER;
		if (i == NAME)
			fuzzy(&t->text, u, &term->score);
		term->found = true;
		return 0;
	}
	term->open = true;
	return t->phrase ? 0 : match_letters(lo, t, term);
}

/* Returns 1 if the expression matches, 0 if not, or an error. */
static int matches(struct grove__query_fit *f, struct grove_slice text, struct grove_detail *d)
{
	size_t from = 0, to;
	int rc = grove__regex_next(f->matcher, text, &from, &to);

	if (rc == GROVE_ENOMEM)
		return grove__fail_nomem(d);
	return rc < 0 ? grove__fail(d, rc, NULL, "re: the expression takes too long to match") : rc;
}

/* A part of the text proves nothing, because it begins and ends elsewhere. */
static int match_regex(struct grove__query_fit *f, const struct looking *lo, struct grove_detail *d)
{
	struct term *term = &f->terms[0];
	int rc = 0;

	for (unsigned i = 0; i < PART && !rc; i++) {
		term->score = i == NAME ? 0 : TIER;
		if (i != NAME || lo->raw[i].len)
			rc = matches(f, lo->raw[i], d);
	}
	term->found = rc == 1;
	term->open = !rc;
	return rc < 0 ? rc : 0;
}

struct grove__query_fit *grove__query_fit_new(const struct grove__query *q)
{
	struct grove__query_fit *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->q = q;
	f->nr = q->re ? 1 : q->nr;
	f->terms = calloc(f->nr + 1, sizeof(*f->terms));
	f->matcher = q->re ? grove__regex_matcher_new(q->re) : NULL;
	if (f->terms && (f->matcher || !q->re))
		return f;
	grove__query_fit_free(f);
	return NULL;
}

void grove__query_fit_free(struct grove__query_fit *f)
{
	if (!f)
		return;
	grove__regex_matcher_free(f->matcher);
	free(f->terms);
	free(f);
}

int grove__query_begin(struct grove__query_fit *f, const struct grove__query_on *on,
		       struct grove_detail *d)
{
	struct looking lo = { .raw = { on->name, on->id, on->cwd, on->part } };
	int rc = 0;

	memset(f->terms, 0, f->nr * sizeof(*f->terms));
	if (f->q->re)
		return match_regex(f, &lo, d);
	for (size_t i = 0; i < f->nr && !rc; i++)
		rc = match_token(&lo, &f->q->token[i], &f->terms[i]);
	looking_release(&lo);
	return rc ? grove__fail_nomem(d) : 0;
}

int grove__query_end(const struct grove__query_fit *f, double *score)
{
	*score = 0;
	for (size_t i = 0; i < f->nr; i++) {
		if (!f->terms[i].found)
			return 1;
		*score += f->terms[i].score;
	}
	return 0;
}

/* ----------------------------------------------------------------- the raw log */

static const struct grove__needle *needle_of(const struct grove__query_fit *f, size_t i)
{
	return f->q->re || !f->q->token[i].raw.len ? NULL : &f->q->token[i].raw;
}

/* Two characters become ASCII letters only in lower case: the Kelvin sign, and I with a dot. */
static bool has_strange(const char *p, const char *end)
{
	static const struct grove__needle kelvin = { .bytes = "\xe2\x84\xaa", .len = 3, .a = 2, .b = 1 };
	static const struct grove__needle dotted = { .bytes = "\xc4\xb0", .len = 2, .b = 1 };

	return grove__needle_find(&kelvin, p, end) || grove__needle_find(&dotted, p, end);
}

/* True if there may be letters that are written in another way. */
static bool has_odd(const char *p, const char *end)
{
	static const struct grove__needle u = { .bytes = "\\u", .len = 2, .b = 1 };
	const char *at = p;

	for (; (at = grove__needle_find(&u, at, end)); at += 2) {
		if (end - at < 6)
			break;
		if ((!memcmp(at + 2, "00", 2) && at[4] >= '2' && at[4] <= '7') ||
		    !memcmp(at + 2, "0130", 4) || (!memcmp(at + 2, "212", 3) && (at[5] | 0x20) == 'a'))
			return true;
	}
	return has_strange(p, end);
}

bool grove__query_is_open(const struct grove__query_fit *f)
{
	bool open = false;

	for (size_t i = 0; i < f->nr; i++) {
		open |= f->terms[i].open;
		/* one that can no longer occur decides */
		if (!f->terms[i].open && !f->terms[i].found)
			return false;
	}
	return open;
}

static bool has_blank(const struct units *u)
{
	for (size_t i = 0; i < u->nr; i++)
		if (u->ptr[i] == ' ')
			return true;
	return false;
}

bool grove__query_is_whole(const struct grove__query_fit *f)
{
	for (size_t i = 0; i < f->nr; i++)
		if (f->terms[i].open && (f->q->re || has_blank(&f->q->token[i].text)))
			return true;
	return false;
}

bool grove__query_raw(struct grove__query_fit *f, const char *p, const char *end)
{
	bool all = true;

	for (size_t i = 0; i < f->nr; i++) {
		struct term *t = &f->terms[i];
		const struct grove__needle *n = needle_of(f, i);

		if (!t->open || t->seen)
			continue;
		t->seen = !n || grove__needle_find(n, p, end);
		all &= t->seen;
	}
	if (!all && has_odd(p, end)) {
		for (size_t i = 0; i < f->nr; i++)
			f->terms[i].seen = true;
		all = true;
	}
	return all;
}

void grove__query_raw_end(struct grove__query_fit *f)
{
	for (size_t i = 0; i < f->nr; i++)
		f->terms[i].open &= f->terms[i].seen;
}

bool grove__query_may(const struct grove__query_fit *f, struct grove_slice line)
{
	const char *end = line.ptr + line.len;

	for (size_t i = 0; i < f->nr; i++) {
		const struct grove__needle *n = needle_of(f, i);

		if (f->terms[i].open && (!n || grove__needle_find(n, line.ptr, end)))
			return true;
	}
	return has_odd(line.ptr, end);
}

/* -------------------------------------------------------------- what was said */

/* Returns 1 if it occurs, 0 if not, or GROVE_ENOMEM. */
static int text_has(const struct token *t, struct looking *lo)
{
	const char *p = lo->raw[PART].ptr, *end = p + lo->raw[PART].len;
	struct units *u;
	int rc;

	if (t->plain) {
		if (grove__needle_find(&t->raw, p, end))
			return 1;
		if (!has_strange(p, end))
			return 0;
	}
	rc = t->phrase ? flat_field(lo, PART, &u) : field(lo, PART, &u);
	return rc ? rc : occurs(&t->text, u);
}

int grove__query_text(struct grove__query_fit *f, struct grove_slice text, struct grove_detail *d)
{
	struct looking lo = { .raw[PART] = text.len ? text : grove__slice_str("") };
	int rc = 0;

	for (size_t i = 0; i < f->nr && rc >= 0; i++) {
		struct term *t = &f->terms[i];

		if (!t->open)
			continue;
		rc = f->q->re ? matches(f, lo.raw[PART], d) : text_has(&f->q->token[i], &lo);
		if (rc == 1)
			*t = (struct term){ .found = true, .score = TIER };
	}
	looking_release(&lo);
	return rc == GROVE_ENOMEM ? grove__fail_nomem(d) : rc < 0 ? rc : 0;
}
