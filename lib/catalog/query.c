/*
 * catalog/query.c: what a person types to find a session, in pi's language.
 *
 * Every token must fit somewhere, and the best place counts:
 *
 *	0  it occurs in the name           and the better, the earlier and the denser its letters
 *	1  in id, text or directory
 *	2  its letters, with others between, in name or directory: the same
 *
 * A token's score is the tier, a million each, and that of the letters. Texts
 * are compared as JavaScript has them, in UTF-16 and lower case.
 */
#include "catalog/query.h"

#include "base/array.h"
#include "base/utf8.h"
#include "js/js.h"

#include <stdlib.h>
#include <utf8proc.h>

#define TIER 1e6
#define SWAPPED 5

/* Text in lower case, in UTF-16. */
struct units {
	uint16_t *ptr;
	size_t nr, cap;
};

struct token {
	struct units text;
	bool phrase;
};

struct grove__query {
	struct token *token;
	size_t nr, cap;
	struct grove__regex *re;     /* then there are no tokens */
};

/* --------------------------------------------------------------------- texts */

static int add_unit(struct units *u, uint32_t unit)
{
	if (grove__array_room(&u->ptr, &u->cap, u->nr, sizeof(*u->ptr)))
		return GROVE_ENOMEM;
	u->ptr[u->nr++] = (uint16_t)unit;
	return 0;
}

static int add_code(struct units *u, uint32_t cp)
{
	int rc;

	if (cp < 0x10000)
		return add_unit(u, cp);
	cp -= 0x10000;
	rc = add_unit(u, 0xd800 | cp >> 10);
	return rc ? rc : add_unit(u, 0xdc00 | (cp & 0x3ff));
}

static bool is_letter(uint32_t cp)
{
	utf8proc_category_t c = utf8proc_category((utf8proc_int32_t)cp);

	return c >= UTF8PROC_CATEGORY_LU && c <= UTF8PROC_CATEGORY_LO;
}

/* A capital sigma at the end of a word is a final one in lower case. */
static bool is_final(const char *from, const char *at, const char *next, const char *end)
{
	uint32_t cp = 0;

	if (next < end) {
		grove__wtf8_decode(next, end, &cp);
		if (is_letter(cp))
			return false;
	}
	if (at == from)
		return false;
	for (at--; at > from && ((unsigned char)*at & 0xc0) == 0x80;)
		at--;
	grove__wtf8_decode(at, end, &cp);
	return is_letter(cp);
}

static int lower(struct grove_slice text, struct units *out)
{
	const char *p = text.ptr, *end = text.len ? p + text.len : p;
	int rc = 0;

	while (p < end && !rc) {
		const char *at = p;
		uint32_t cp = (unsigned char)*p;

		if (cp < 0x80) {
			p++;
			rc = add_unit(out, cp >= 'A' && cp <= 'Z' ? cp + 32 : cp);
			continue;
		}
		p += grove__wtf8_decode(p, end, &cp);
		if (cp == 0x130) {
			rc = add_unit(out, 'i');
			cp = 0x307;
		} else if (cp == 0x3a3) {
			cp = is_final(text.ptr, at, p, end) ? 0x3c2 : 0x3c3;
		} else {
			cp = (uint32_t)utf8proc_tolower((utf8proc_int32_t)cp);
		}
		rc = rc ? rc : add_code(out, cp);
	}
	return rc;
}

/* White space becomes one blank, none at the ends. */
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

static bool occurs(const struct units *what, const struct units *in)
{
	const char *p = (const char *)in->ptr, *end = (const char *)(in->ptr + in->nr), *at;

	while ((at = memmem(p, (size_t)(end - p), what->ptr, what->nr * sizeof(*what->ptr)))) {
		/* not where it begins with the second half of a unit */
		if ((size_t)(at - (const char *)in->ptr) % sizeof(*in->ptr) == 0)
			return true;
		p = at + 1;
	}
	return false;
}

/* ------------------------------------------------------------------- letters */

static bool is_boundary(uint16_t c)
{
	return grove__js_is_space(c) || c == '-' || c == '_' || c == '.' || c == '/' || c == ':';
}

static bool in_order(const struct units *what, const struct units *in, double *score)
{
	size_t next = 0, last = 0, run = 0;

	*score = 0;
	for (size_t i = 0; i < in->nr && next < what->nr; i++) {
		if (in->ptr[i] != what->ptr[next])
			continue;
		/* the first letter of all goes on from what is before it */
		if (next ? last + 1 == i : !i) {
			*score -= 5 * (double)++run;
		} else {
			run = 0;
			if (next)
				*score += 2 * (double)(i - last - 1);
		}
		if (!i || is_boundary(in->ptr[i - 1]))
			*score -= 10;
		*score += 0.1 * (double)i;
		last = i;
		next++;
	}
	if (next < what->nr)
		return false;
	if (what->nr && what->nr == in->nr)
		*score -= 100;
	return true;
}

static bool is_digit(uint16_t c)
{
	return c >= '0' && c <= '9';
}

/* "abc12" as "12abc", and the reverse. False: it is neither. */
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

int grove__query_fuzzy(struct grove_slice query, struct grove_slice text, double *score)
{
	struct units what = { NULL }, in = { NULL };
	int rc = lower(query, &what);

	rc = rc ? rc : lower(text, &in);
	if (!rc)
		rc = !fuzzy(&what, &in, score);
	free(what.ptr);
	free(in.ptr);
	return rc;
}

/* ------------------------------------------------------------------- parsing */

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
	return rc;
}

static int add_words(struct grove__query *q, struct grove_slice text)
{
	const char *p = text.ptr, *end = p + text.len, *from = p;
	int rc = 0;

	while (p < end && !rc) {
		uint32_t cp;
		size_t n = grove__wtf8_decode(p, end, &cp);

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

	/* a quote that is not closed is a letter, and so are the others */
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
		rc = text.len ? grove__regex_new(&q->re, text, d)
			      : grove__fail(d, GROVE_EINVAL, NULL, "there is no expression after re:");
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

/* ------------------------------------------------------------------ matching */

enum { NAME, ID, TEXT, CWD, FIELDS };

struct looking {
	struct grove_slice raw[FIELDS];
	struct units field[FIELDS], flat[FIELDS];   /* lower case; the same, normalized */
	bool has[FIELDS], has_flat[FIELDS];
};

static int field(struct looking *lo, unsigned i, struct units **out)
{
	int rc = lo->has[i] ? 0 : lower(lo->raw[i], &lo->field[i]);

	lo->has[i] = true;
	*out = &lo->field[i];
	return rc;
}

static int flat_field(struct looking *lo, unsigned i, struct units **out)
{
	int rc = lo->has_flat[i] ? 0 : lower(lo->raw[i], &lo->flat[i]);

	if (!lo->has_flat[i])
		normalize(&lo->flat[i]);
	lo->has_flat[i] = true;
	*out = &lo->flat[i];
	return rc;
}

/* Its letters in order, in name or directory: the better of the two. */
static int match_letters(struct looking *lo, const struct token *t, double *score)
{
	static const unsigned where[] = { NAME, CWD };
	bool found = false;
	struct units *u;
	double s;

	for (size_t i = 0; i < 2; i++) {
		int rc = field(lo, where[i], &u);

		if (rc)
			return rc;
		if (!u->nr || !fuzzy(&t->text, u, &s))
			continue;
		*score = found && *score < s ? *score : s;
		found = true;
	}
	*score += 2 * TIER;
	return !found;
}

static int match_token(struct looking *lo, const struct token *t, double *score)
{
	struct units *u;

	for (unsigned i = 0; i < FIELDS; i++) {
		int rc = t->phrase ? flat_field(lo, i, &u) : field(lo, i, &u);

		if (rc)
			return rc;
		if (!u->nr || !occurs(&t->text, u))
			continue;
		*score = i == NAME ? 0 : TIER;
		if (i == NAME && !t->phrase)
			fuzzy(&t->text, u, score);
		return 0;
	}
	return t->phrase ? 1 : match_letters(lo, t, score);
}

static int match_regex(const struct grove__query *q, const struct looking *lo, double *score,
		       struct grove_detail *d)
{
	int rc = 1;

	for (unsigned i = 0; i < FIELDS && rc == 1; i++) {
		*score = i == NAME ? 0 : TIER;
		if (i != NAME || lo->raw[i].len)
			rc = grove__regex_match(q->re, lo->raw[i], d);
	}
	return rc;
}

int grove__query_match(const struct grove__query *q, const struct grove__query_on *on, double *score,
		       struct grove_detail *d)
{
	struct looking lo = { .raw = { on->name, on->id, on->text, on->cwd } };
	double s;
	int rc = 0;

	*score = 0;
	if (q->re)
		return match_regex(q, &lo, score, d);
	for (size_t i = 0; i < q->nr && !rc; i++) {
		rc = match_token(&lo, &q->token[i], &s);
		*score += rc ? 0 : s;
	}
	for (unsigned i = 0; i < FIELDS; i++) {
		free(lo.field[i].ptr);
		free(lo.flat[i].ptr);
	}
	return rc < 0 ? grove__fail_nomem(d) : rc;
}
