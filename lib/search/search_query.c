/*
 * search/search_query.c: a query, and whether a text matches it.
 *
 * The index and scanning must agree, so both split words with search_words.c and count
 * alike: a phrase counts once for each position where it ends.
 */
#include "search/search_query.h"

#include "base/array.h"
#include "base/needle.h"
#include "base/regex.h"
#include "base/utf8.h"
#include "js/js.h"
#include "search/search_alike.h"
#include "search/search_stem.h"
#include "search/search_words.h"

#include <stdlib.h>

#define QUERY_MAX 4096
#define TERMS_MAX 64
#define WORDS_MAX 256           /* of one term */
#define MARKS_MAX 4096          /* more are not shown anyway */


struct token {
	char bytes[GROVE__WORD_MAX];
	size_t len, from, to;         /* its place in the term's text */
};

struct term {
	struct grove_slice text;      /* as given, without operators */
	struct token *tokens;
	size_t nr;
	bool prefix;                  /* the last word is a prefix */
	bool not;
	bool exact;                   /* in this form, and if there are several words, adjacent */
	/*
	 * Words with this stem match, too; they all begin with the first `common`
	 * letters. len 0: only the word itself.
	 */
	struct token stem;
	size_t common;
	struct grove__needle needle;  /* must occur in a raw line; len 0: nothing must */
};

/* How a term is written. */
struct spelling {
	struct grove_slice text;      /* without operators */
	bool not, quoted, exact, star;
	bool last;                    /* nothing comes after it, not even a space */
};

struct grove__search_query {
	struct grove_buf text;
	struct term *terms;
	size_t nr, cap, nr_wanted;
	const struct term *rarest;    /* whose needle is searched first; NULL: none has one */
	bool some;                    /* a text that has one of them counts */
	struct grove__regex *re;      /* NULL: it is words */
	struct term literal;          /* of a pattern: only its needle */
};

/* -------------------------------------------------------------------- terms */

static int add_token(void *payload, const struct grove__word *w)
{
	struct term *t = payload;
	struct token *k;

	if (t->nr == WORDS_MAX)
		return GROVE_ETOOBIG;
	k = realloc(t->tokens, (t->nr + 1) * sizeof(*k));
	if (!k)
		return GROVE_ENOMEM;
	t->tokens = k;
	k += t->nr++;
	memcpy(k->bytes, w->ptr, w->len);
	k->len = w->len;
	k->from = w->from;
	k->to = w->to;
	return 0;
}

/*
 * True for one character of a script that is split into pairs: it matches the pairs it
 * begins.
 */
static bool is_single(const struct token *k)
{
	uint32_t cp;

	return grove__utf8_decode(k->bytes, k->bytes + k->len, &cp) == k->len && grove__search_word_paired(cp);
}

/* True if JSON writes this character only as itself, or as \u. */
static bool is_safe(uint32_t cp)
{
	return cp < 0x80 ? cp >= 0x20 && cp < 0x7f && cp != '"' && cp != '\\' && cp != '/'
			 : grove__search_word_paired(cp);
}

/* Returns the longest run of such characters. */
static struct grove_slice safe_run(const char *p, size_t len)
{
	const char *end = p + len, *start = p;
	struct grove_slice best = { p, 0 };
	uint32_t cp;

	while (p < end) {
		size_t n = grove__utf8_decode(p, end, &cp);

		p += n;
		if (!is_safe(cp))
			start = p;
		else if ((size_t)(p - start) > best.len)
			best = grove__slice(start, (size_t)(p - start));
	}
	return best;
}

static void pick_needle(struct term *t)
{
	struct grove_slice best = { NULL, 0 }, run;

	for (size_t i = 0; i < t->nr; i++) {
		run = safe_run(t->tokens[i].bytes, t->stem.len ? t->common : t->tokens[i].len);
		if (run.len > best.len)
			best = run;
	}
	grove__needle_init(&t->needle, best);
}

/* A word by itself also matches its other forms. The parts of an identifier do not. */
static void find_stem(struct term *t, const struct spelling *how)
{
	const struct token *k = t->tokens;

	if (how->quoted || how->exact || how->star || t->nr != 1 || !grove__search_stem_has(k->bytes, k->len))
		return;
	t->stem = *k;
	t->stem.len = grove__search_stem(t->stem.bytes, k->len);
	t->common = grove__search_stem_common(t->stem.bytes, t->stem.len);
}

/* True if its last word may continue: the user has not finished it. */
static bool is_open(const struct term *t, const struct spelling *how)
{
	const struct token *k = &t->tokens[t->nr - 1];

	return how->star || is_single(k) ||
	       (how->last && !how->quoted && !how->exact && !how->not && k->to == how->text.len);
}

static int add_term(struct grove__search_query *q, const struct spelling *how, struct grove_detail *d)
{
	struct term *t;
	int rc;

	if (q->nr == TERMS_MAX)
		return grove__fail(d, GROVE_EINVAL, NULL, "the query has more than %d words", TERMS_MAX);
	if (grove__array_room(&q->terms, &q->cap, q->nr, sizeof(*q->terms)))
		return grove__fail_nomem(d);
	t = &q->terms[q->nr];
	*t = (struct term){ .text = how->text, .not = how->not, .exact = how->quoted || how->exact };
	rc = grove__words_cut(how->text, true, add_token, t);
	/* drop a term that has no words */
	if (rc || !t->nr) {
		free(t->tokens);
		return !rc ? 0 : rc == GROVE_ENOMEM ? grove__fail_nomem(d)
			   : grove__fail(d, GROVE_EINVAL, NULL, "a phrase has more than %d words", WORDS_MAX);
	}
	t->prefix = is_open(t, how);
	find_stem(t, how);
	pick_needle(t);
	q->nr++;
	q->nr_wanted += !how->not;
	return 0;
}

static bool is_space_at(const char *p, const char *end, size_t *n)
{
	uint32_t cp;

	*n = grove__utf8_decode(p, end, &cp);
	return grove__js_is_space(cp);
}

/* Takes the next term: `-`, then `=`, then "…" or everything up to white space, then `*`. */
static int take_term(struct grove__search_query *q, const char **at, const char *end,
		     struct grove_detail *d)
{
	const char *p = *at, *start, *stop;
	struct spelling how = { .not = *p == '-' && p + 1 < end && p[1] != '-' };
	size_t n;

	p += how.not;
	how.exact = p + 1 < end && *p == '=';
	p += how.exact;
	how.quoted = *p == '"';
	p += how.quoted;
	start = p;
	while (p < end && (how.quoted ? *p != '"' : !is_space_at(p, end, &n)))
		p += how.quoted ? 1 : n;
	stop = p;
	p += how.quoted && p < end;
	how.star = how.quoted ? p < end && *p == '*' : stop > start && stop[-1] == '*';
	if (how.quoted)
		p += how.star;
	else
		stop -= how.star;
	how.last = p == end;
	how.text = grove__slice(start, (size_t)(stop - start));
	*at = p;
	return add_term(q, &how, d);
}

static void pick_rarest(struct grove__search_query *q)
{
	q->rarest = NULL;
	for (size_t i = 0; i < q->nr; i++) {
		const struct term *t = &q->terms[i];

		if (!t->not && t->needle.len && (!q->rarest || t->needle.len > q->rarest->needle.len))
			q->rarest = t;
	}
}

static int split(struct grove__search_query *q, struct grove_detail *d)
{
	const char *p = q->text.ptr, *end = p + q->text.len;
	size_t n;
	int rc = 0;

	while (p < end && !rc) {
		if (is_space_at(p, end, &n))
			p += n;
		else
			rc = take_term(q, &p, end, d);
	}
	if (!rc)
		pick_rarest(q);
	if (!rc && !q->nr_wanted)
		rc = grove__fail(d, GROVE_EINVAL, NULL, "nothing to search for: the query has no words%s",
				 q->nr ? " that must occur" : "");
	return rc;
}

/*
 * A pattern without operators occurs as it is in a raw line, except that k and s also match
 * letters outside ASCII: the longest part without these is searched first.
 */
static void pick_literal(struct grove__search_query *q, const char *pattern)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _-";
	struct grove_slice best = { pattern, 0 };

	if (pattern[strspn(pattern, plain)])
		return;
	for (const char *p = pattern; *p; p += strspn(p, "kKsS")) {
		size_t n = strcspn(p, "kKsS");

		if (n > best.len)
			best = grove__slice(p, n);
		p += n;
	}
	grove__needle_init(&q->literal.needle, best);
	if (q->literal.needle.len)
		q->rarest = &q->literal;
}

int grove__search_query_new(struct grove__search_query **out, const char *query,
			    bool patterns, struct grove_detail *d)
{
	struct grove__search_query *q = calloc(1, sizeof(*q));
	size_t len = strlen(query);
	int rc;

	*out = NULL;
	if (!q)
		return grove__fail_nomem(d);
	if (len > QUERY_MAX)
		rc = grove__fail(d, GROVE_EINVAL, NULL, "the query is longer than %d bytes", QUERY_MAX);
	else if (grove__utf8_repair(&q->text, grove__slice(query, len)))
		rc = grove__fail_nomem(d);
	else if (strncmp(query, "re:", 3))
		rc = split(q, d);
	else if (!patterns)
		rc = grove__fail(d, GROVE_EINVAL, NULL, "re: the index does not support patterns (use --live)");
	else
		rc = grove__regex_new(&q->re, grove__slice(q->text.ptr + 3, q->text.len - 3), REGEX_LINES, d);
	if (!rc && q->re)
		pick_literal(q, q->text.ptr + 3);
	if (rc)
		grove__search_query_free(q);
	else
		*out = q;
	return rc;
}

/* --------------------------------------------------------------- some of the words */

/* Words that decide nothing in a question, sorted. */
static const char *const stops[] = {
	"a", "about", "after", "again", "all", "also", "am", "an", "and", "any", "are", "as", "at", "be", "because", "been",
	"before", "but", "by", "can", "could", "did", "do", "does", "doing", "done", "during", "each", "for", "from", "get",
	"gets", "got", "had", "has", "have", "having", "he", "her", "here", "him", "his", "how", "i", "if", "in", "instead",
	"into", "is", "it", "its", "just", "let", "may", "me", "might", "more", "most", "must", "my", "no", "not", "now", "of",
	"on", "only", "or", "our", "out", "over", "own", "per", "s", "she", "should", "since", "so", "some", "such", "t",
	"than", "that", "the", "their", "them", "then", "there", "these", "they", "this", "those", "through", "to", "too",
	"up", "us", "use", "used", "very", "via", "was", "we", "were", "what", "when", "where", "which", "while", "who",
	"whom", "whose", "why", "will", "with", "without", "would", "you", "your",
};

static bool is_stop(const struct token *k)
{
	for (size_t i = 0; i < sizeof(stops) / sizeof(*stops); i++)
		if (strlen(stops[i]) == k->len && !memcmp(stops[i], k->bytes, k->len))
			return true;
	return false;
}

static bool has_token(const struct grove__search_query *q, const struct token *k)
{
	for (size_t i = 0; i < q->nr; i++)
		if (q->terms[i].tokens->len == k->len && !memcmp(q->terms[i].tokens->bytes, k->bytes, k->len))
			return true;
	return false;
}

/* Adds a word as a term of its own. */
static int add_some(struct grove__search_query *q, const struct term *of, const struct token *k, bool last)
{
	struct term *t;

	if (q->nr == TERMS_MAX || has_token(q, k))
		return 0;
	if (grove__array_room(&q->terms, &q->cap, q->nr, sizeof(*q->terms)))
		return GROVE_ENOMEM;
	t = &q->terms[q->nr];
	*t = (struct term){ .exact = of->exact, .prefix = (of->prefix && last) || is_single(k) };
	t->tokens = malloc(sizeof(*t->tokens));
	if (!t->tokens)
		return GROVE_ENOMEM;
	q->nr++;
	*t->tokens = *k;
	t->nr = 1;
	t->text = grove__slice(of->text.ptr + k->from, k->to - k->from);
	find_stem(t, &(struct spelling){ .exact = of->exact });
	pick_needle(t);
	return 0;
}

/* Adds a word; instead of one that is made of others, like refreshToken, these. */
static int take_part(void *payload, const struct grove__word *w)
{
	struct term *t = payload;
	struct grove__word own = *w;
	uint32_t cp;

	if (!w->again)
		return add_token(t, w);
	/* of a script without spaces, it is in the pairs */
	if (grove__utf8_decode(w->ptr, w->ptr + w->len, &cp) == w->len && grove__search_word_paired(cp))
		return 0;
	/* parts come after the whole */
	if (t->nr && t->tokens[t->nr - 1].from <= w->from && t->tokens[t->nr - 1].to >= w->to)
		t->nr--;
	own.again = false;
	return add_token(t, &own);
}

static int add_parts(struct grove__search_query *q, const struct term *of)
{
	struct term cut = { 0 };
	int rc = of->exact ? 0 : grove__words_cut(of->text, false, take_part, &cut);
	const struct term *from = of->exact ? of : &cut;

	/* a phrase has at most so many words, but its parts may be more: they are not needed */
	rc = rc == GROVE_ETOOBIG ? 0 : rc;
	for (size_t i = 0; i < from->nr && !rc; i++)
		rc = add_some(q, of, &from->tokens[i], i + 1 == from->nr);
	free(cut.tokens);
	return rc;
}

/* True if texts with some of the words are of no use: the query says exactly what it wants. */
static bool is_exacting(const struct grove__search_query *q)
{
	for (size_t i = 0; i < q->nr; i++)
		if (q->terms[i].not || (q->terms[i].exact && q->terms[i].nr > 1))
			return true;
	return q->re != NULL;
}

static bool is_same_form(const struct token *a, const char *word, size_t len)
{
	char stem[GROVE__WORD_MAX], other[GROVE__WORD_MAX];
	size_t n;

	if (a->len == len && !memcmp(a->bytes, word, len))
		return true;
	if (!grove__search_stem_has(a->bytes, a->len) || !grove__search_stem_has(word, len))
		return false;
	memcpy(stem, a->bytes, a->len);
	memcpy(other, word, len);
	n = grove__search_stem(stem, a->len);
	return grove__search_stem(other, len) == n && !memcmp(stem, other, n);
}

/* Adds the other words of a line that has a form of this one. */
static int add_line(struct grove__search_query *q, const struct token *k, const char *line)
{
	struct token other = { 0 };
	bool has = false;
	int rc = 0;

	for (const char *p = line, *end; *p && !has; p = end + (*end == ' ')) {
		end = strchrnul(p, ' ');
		has = is_same_form(k, p, (size_t)(end - p));
	}
	for (const char *p = line, *end; *p && has && !rc; p = end + (*end == ' ')) {
		end = strchrnul(p, ' ');
		other.len = (size_t)(end - p);
		memcpy(other.bytes, p, other.len);
		if (!is_same_form(k, p, other.len))
			rc = add_some(q, &(struct term){ .text = grove__slice_str("") }, &other, false);
	}
	return rc;
}

/* Adds words that mean the same. */
static int add_alike(struct grove__search_query *q)
{
	int rc = 0;

	for (size_t i = 0; i < q->nr_wanted; i++)
		for (size_t j = 0; j < sizeof(grove__search_alike) / sizeof(*grove__search_alike) && !rc; j++) {
			const struct token k = *q->terms[i].tokens;

			rc = q->terms[i].exact ? 0 : add_line(q, &k, grove__search_alike[j]);
		}
	return rc;
}

int grove__search_query_some(const struct grove__search_query *q, struct grove__search_query **out)
{
	struct grove__search_query *own;
	int rc = 0;

	*out = NULL;
	if (is_exacting(q))
		return 0;
	own = calloc(1, sizeof(*own));
	if (!own)
		return GROVE_ENOMEM;
	own->some = true;
	for (size_t i = 0; i < q->nr && !rc; i++)
		rc = add_parts(own, &q->terms[i]);
	own->nr_wanted = own->nr;
	rc = rc ? rc : add_alike(own);
	/* of one word, a text has all or nothing */
	if (rc || (own->nr_wanted == 1 && q->nr == 1 && q->terms->nr == 1 &&
		   own->terms->tokens->len == q->terms->tokens->len))
		grove__search_query_free(own);
	else
		*out = own;
	return rc;
}

void grove__search_query_drop_stops(struct grove__search_query *q)
{
	size_t kept = 0, left = 0;

	for (size_t i = 0; i < q->nr; i++)
		left += !q->terms[i].not && (q->terms[i].exact || q->terms[i].nr > 1 || !is_stop(q->terms[i].tokens));
	for (size_t i = 0; left && i < q->nr; i++) {
		struct term *t = &q->terms[i];

		if (t->exact || t->not || t->nr > 1 || !is_stop(t->tokens))
			q->terms[kept++] = *t;
		else
			free(t->tokens);
	}
	if (left) {
		q->nr = kept;
		q->nr_wanted = left;
		pick_rarest(q);
	}
}

size_t grove__search_query_words(const struct grove__search_query *q, size_t *alike)
{
	*alike = q->nr - q->nr_wanted;
	return q->nr_wanted;
}

struct grove_slice grove__search_query_word(const struct grove__search_query *q, size_t i)
{
	return q->terms[i].text;
}

void grove__search_query_free(struct grove__search_query *q)
{
	if (!q)
		return;
	for (size_t i = 0; i < q->nr; i++)
		free(q->terms[i].tokens);
	free(q->terms);
	grove__buf_release(&q->text);
	grove__regex_free(q->re);
	free(q);
}

/* -------------------------------------------------------------------- FTS5 */

/* The query while it is written. */
struct writing {
	struct grove__search_fts *to;
	const struct term *t;
};

static int put_word(struct grove__search_fts *f, const char *word, size_t len)
{
	unsigned *phrases = &f->phrases[f->nr - 1];
	int rc = grove__buf_add_str(&f->match, *phrases ? " OR \"" : "\"");

	++*phrases;
	rc = rc ? rc : grove__buf_add(&f->match, word, len);
	return rc ? rc : grove__buf_add_char(&f->match, '"');
}

static int put_token(struct grove__search_fts *f, const struct token *k, bool prefix)
{
	int rc = put_word(f, k->bytes, k->len);

	return rc || !prefix ? rc : grove__buf_add_str(&f->match, " *");
}

/* Adds a form of a word, unless the word itself, or as a prefix, finds it anyway. */
static int put_form(void *payload, const char *form, size_t len)
{
	struct writing *w = payload;
	const struct token *k = w->t->tokens;

	if ((w->t->prefix ? len >= k->len : len == k->len) && !memcmp(form, k->bytes, k->len))
		return 0;
	return put_word(w->to, form, len);
}

/* Writes a word with all its forms. */
static int put_forms(struct grove__search_fts *f, const struct term *t)
{
	struct writing w = { f, t };
	int rc = put_token(f, t->tokens, t->prefix);

	return rc || !t->stem.len ? rc : f->forms(f->payload, grove__slice(t->stem.bytes, t->stem.len), put_form, &w);
}

/* Writes the words of a term, each by itself: where they are adjacent is found out from the text. */
static int put_term(struct grove__search_fts *f, const struct term *t, const char *between)
{
	int rc = 0;

	for (size_t i = 0; i < t->nr && f->nr < GROVE__SEARCH_FTS_WORDS && !rc; i++) {
		rc = f->nr ? grove__buf_add_str(&f->match, between) : 0;
		f->phrases[f->nr++] = 0;
		rc = rc ? rc : grove__buf_add_char(&f->match, '(');
		if (t->nr == 1)
			rc = rc ? rc : put_forms(f, t);
		else
			rc = rc ? rc : put_token(f, &t->tokens[i], t->prefix && i + 1 == t->nr);
		rc = rc ? rc : grove__buf_add_char(&f->match, ')');
	}
	return rc;
}

int grove__search_query_fts(const struct grove__search_query *q, struct grove__search_fts *f)
{
	int rc = 0;

	grove__buf_clear(&f->match);
	f->nr = 0;
	/* one text of a part may have what another must not have */
	for (size_t i = 0; i < q->nr && !rc; i++)
		if (!q->terms[i].not)
			rc = put_term(f, &q->terms[i], q->some ? " OR " : " AND ");
	return rc;
}

void grove__search_fts_release(struct grove__search_fts *f)
{
	grove__buf_release(&f->match);
}

int grove__search_query_respell(const struct grove__search_query *q,
				int (*fn)(void *payload, struct grove_slice word, struct grove_buf *other),
				void *payload, struct grove_buf *out)
{
	const char *at = q->text.ptr, *end = at + q->text.len;
	struct grove_buf other = GROVE_BUF_INIT;
	bool any = false;
	int rc = 0;

	for (size_t i = 0; i < q->nr && !rc; i++) {
		const struct term *t = &q->terms[i];
		const struct token *k = t->tokens;

		if (t->not || t->nr != 1)
			continue;
		grove__buf_clear(&other);
		rc = fn(payload, grove__slice(k->bytes, k->len), &other);
		if (rc || !other.len)
			continue;
		any = true;
		rc = grove__buf_add(out, at, (size_t)(t->text.ptr + k->from - at));
		rc = rc ? rc : grove__buf_add_slice(out, grove__buf_slice(&other));
		at = t->text.ptr + k->to;
	}
	grove__buf_release(&other);
	return rc || !any ? rc : grove__buf_add(out, at, (size_t)(end - at));
}

bool grove__search_query_is_words(const struct grove__search_query *q)
{
	for (size_t i = 0; i < q->nr; i++)
		if (q->terms[i].not || q->terms[i].nr != 1)
			return false;
	return !q->re;
}

/*
 * BM25 with a fixed average length of 100 words, and each word once. Texts that are about as
 * long are equally good, so that the newest of them comes first.
 */
static double score_one(uint64_t words)
{
	for (uint64_t about = 16; about <= words; about *= 2)
		if (words < 2 * about)
			words = about;
	return 2.2 / (1 + 1.2 * (0.25 + 0.75 * (double)words / 100));
}

double grove__search_query_score(const struct grove__search_query *q, uint64_t words)
{
	double one = score_one(words), sum = 0;

	for (size_t i = 0; i < q->nr_wanted; i++)
		sum += one;
	return sum;
}

/* ---------------------------------------------------------------- raw lines */

/* Any character may be written as \uXXXX; control characters are not part of a word. */
static const char *find_escape(const char *p, const char *end)
{
	static const struct grove__needle u = { .bytes = "\\u", .len = 2, .b = 1 };

	while ((p = grove__needle_find(&u, p, end))) {
		if (end - p < 6 || p[2] != '0' || p[3] != '0' || (p[4] != '0' && p[4] != '1'))
			return p;
		p += 6;
	}
	return NULL;
}

static bool has_needles(const struct grove__search_query *q, const char *p, const char *end)
{
	for (size_t i = 0; i < q->nr; i++) {
		const struct term *t = &q->terms[i];

		if (!t->not && t != q->rarest && t->needle.len &&
		    !grove__needle_find(&t->needle, p, end))
			return false;
	}
	return true;
}

/* True if a line may have some of the words. */
static bool has_any(const struct grove__search_query *q, const char *p, const char *end)
{
	for (size_t i = 0; i < q->nr; i++)
		if (!q->terms[i].needle.len || grove__needle_find(&q->terms[i].needle, p, end))
			return true;
	return find_escape(p, end) != NULL;
}

static void look_ahead(struct grove__search_lines *l)
{
	if (!l->begun || (l->hit < l->p && l->hit < l->end)) {
		l->hit = grove__needle_find(&l->q->rarest->needle, l->p, l->end);
		l->hit = l->hit ? l->hit : l->end;
	}
	if (!l->begun || (l->odd < l->p && l->odd < l->end)) {
		l->odd = find_escape(l->p, l->end);
		l->odd = l->odd ? l->odd : l->end;
	}
	l->begun = true;
}

const char *grove__search_lines_next(struct grove__search_lines *l, size_t *len)
{
	while (l->p < l->end) {
		const char *line = l->p, *at = line, *stop;

		if (l->q->rarest) {
			look_ahead(l);
			at = l->odd < l->hit ? l->odd : l->hit;
			if (at == l->end)
				break;
			line = memrchr(l->p, '\n', (size_t)(at - l->p));
			line = line ? line + 1 : l->p;
		}
		stop = memchr(at, '\n', (size_t)(l->end - at));
		stop = stop ? stop : l->end;
		l->p = stop < l->end ? stop + 1 : l->end;
		*len = (size_t)(stop - line);
		if (l->q->some ? has_any(l->q, line, stop)
			       : !l->q->rarest || l->odd < stop || has_needles(l->q, line, stop))
			return line;
	}
	return NULL;
}

/* ----------------------------------------------------------------- matching */

struct state {
	uint64_t times;
	/* [j]: words 0 … j of the term have just been read; where the first of them began */
	bool *now, *before;
	size_t *from, *from_before;
	bool counted;                 /* at this place */
};

struct grove__search_matcher {
	const struct grove__search_query *q;
	struct state *states;
	bool *flags;                  /* the memory of these */
	size_t *places;
	uint64_t words;
	struct grove_hit_mark *marks;
	size_t nr, cap;
	struct grove__regex_matcher *matching;  /* of a pattern */
};

struct grove__search_matcher *grove__search_matcher_new(const struct grove__search_query *q)
{
	struct grove__search_matcher *m = calloc(1, sizeof(*m));
	size_t all = 0, at = 0;
	bool ok;

	if (!m)
		return NULL;
	m->q = q;
	for (size_t i = 0; i < q->nr; i++)
		all += q->terms[i].nr;
	m->states = calloc(q->nr + 1, sizeof(*m->states));
	m->flags = calloc(2 * all + 1, sizeof(*m->flags));
	m->places = calloc(2 * all + 1, sizeof(*m->places));
	ok = m->states && m->flags && m->places;
	for (size_t i = 0; i < q->nr && ok; i++) {
		m->states[i].now = m->flags + at;
		m->states[i].before = m->flags + at + all;
		m->states[i].from = m->places + at;
		m->states[i].from_before = m->places + at + all;
		at += q->terms[i].nr;
	}
	if (ok && q->re) {
		m->matching = grove__regex_matcher_new(q->re);
		ok = m->matching != NULL;
	}
	if (ok)
		return m;
	grove__search_matcher_free(m);
	return NULL;
}

void grove__search_matcher_free(struct grove__search_matcher *m)
{
	if (!m)
		return;
	grove__regex_matcher_free(m->matching);
	free(m->states);
	free(m->flags);
	free(m->places);
	free(m->marks);
	free(m);
}

static int add_mark(struct grove__search_matcher *m, size_t from, size_t to)
{
	if (m->nr == MARKS_MAX)
		return 0;
	if (grove__array_room(&m->marks, &m->cap, m->nr, sizeof(*m->marks)))
		return GROVE_ENOMEM;
	m->marks[m->nr++] = (struct grove_hit_mark){ from, to };
	return 0;
}

/* True if a word has the stem of a term. */
static bool is_form(const struct term *t, const struct grove__word *w)
{
	char word[GROVE__WORD_MAX];

	if (!t->stem.len || w->len < t->common || memcmp(w->ptr, t->stem.bytes, t->common) ||
	    !grove__search_stem_has(w->ptr, w->len))
		return false;
	memcpy(word, w->ptr, w->len);
	return grove__search_stem(word, w->len) == t->stem.len && !memcmp(word, t->stem.bytes, t->stem.len);
}

static bool is_token(const struct term *t, size_t j, const struct grove__word *w)
{
	const struct token *k = &t->tokens[j];
	bool open = t->prefix && j + 1 == t->nr;

	return ((open ? w->len >= k->len : w->len == k->len) && !memcmp(w->ptr, k->bytes, k->len)) ||
	       is_form(t, w);
}

/* Advances for a word at the next position, or another one at the same. */
static void move_on(struct state *s, size_t nr)
{
	bool *was = s->before;
	size_t *from = s->from_before;

	s->before = s->now;
	s->now = was;
	s->from_before = s->from;
	s->from = from;
	memset(s->now, 0, nr * sizeof(*s->now));
	s->counted = false;
}

static int next_word(void *payload, const struct grove__word *w)
{
	struct grove__search_matcher *m = payload;
	int rc = 0;

	m->words += !w->again;
	for (size_t i = 0; i < m->q->nr && !rc; i++) {
		const struct term *t = &m->q->terms[i];
		struct state *s = &m->states[i];

		if (!w->again)
			move_on(s, t->nr);
		for (size_t j = 0; j < t->nr; j++) {
			if ((j && !s->before[j - 1]) || !is_token(t, j, w))
				continue;
			s->now[j] = true;
			s->from[j] = j ? s->from_before[j - 1] : w->from;
			if (j + 1 < t->nr || s->counted)
				continue;
			s->counted = true;
			s->times++;
			if (!t->not)
				rc = add_mark(m, s->from[j], w->to);
		}
	}
	return rc;
}

static void begin_words(struct grove__search_matcher *m)
{
	m->words = 0;
	for (size_t i = 0; i < m->q->nr; i++) {
		struct state *s = &m->states[i];

		s->times = 0;
		memset(s->now, 0, m->q->terms[i].nr * sizeof(*s->now));
	}
}

static int match_words(struct grove__search_matcher *m, struct grove_slice text)
{
	begin_words(m);
	return grove__words_cut(text, false, next_word, m);
}

static int match_pattern(struct grove__search_matcher *m, struct grove_slice text, uint64_t *times)
{
	size_t from = 0, to, before = 0;
	int rc = 0;

	*times = 0;
	while (m->nr < MARKS_MAX && (rc = grove__regex_next(m->matching, text, &from, &to)) == 1) {
		++*times;
		rc = to > from ? add_mark(m, from, to) : 0;
		if (rc)
			break;
		/*
		 * continue after the match; skip an empty one, or one that (by \K)
		 * begins before the start
		 */
		before = to > before ? to : before + 1;
		while (before < text.len && ((unsigned char)text.ptr[before] & 0xc0) == 0x80)
			before++;
		from = before;
	}
	return rc < 0 ? rc : 0;
}

static int by_place(const void *x, const void *y)
{
	const struct grove_hit_mark *a = x, *b = y;

	return a->from < b->from ? -1 : a->from > b->from;
}

/* Sorts the marks, and joins those that touch. */
static void settle_marks(struct grove__search_matcher *m)
{
	size_t nr = 0;

	if (m->nr < 2)
		return;
	qsort(m->marks, m->nr, sizeof(*m->marks), by_place);
	for (size_t i = 1; i < m->nr; i++) {
		if (m->marks[i].from > m->marks[nr].to)
			m->marks[++nr] = m->marks[i];
		else if (m->marks[i].to > m->marks[nr].to)
			m->marks[nr].to = m->marks[i].to;
	}
	m->nr = nr + 1;
}

int grove__search_match(struct grove__search_matcher *m, struct grove_slice text, double *score)
{
	const struct grove__search_query *q = m->q;
	uint64_t times = 0;
	int rc = 0;

	m->nr = 0;
	*score = 0;
	if (q->re) {
		rc = match_pattern(m, text, &times);
		*score = score_one(text.len / 6);
		return rc ? rc : times > 0;
	}
	rc = match_words(m, text);
	for (size_t i = 0; i < q->nr && !rc; i++)
		if (q->terms[i].not == (m->states[i].times > 0))
			return 0;
	*score = grove__search_query_score(q, m->words);
	if (rc)
		return rc;
	settle_marks(m);
	return 1;
}

int grove__search_match_some(struct grove__search_matcher *m, struct grove_slice text, uint64_t *words)
{
	int rc;

	m->nr = 0;
	*words = 0;
	rc = match_words(m, text);
	for (size_t i = 0; i < m->q->nr && !rc; i++)
		*words |= (uint64_t)(m->states[i].times > 0) << i;
	settle_marks(m);
	return rc;
}

const struct grove_hit_mark *grove__search_marks(const struct grove__search_matcher *m, size_t *nr)
{
	*nr = m->nr;
	return m->marks;
}
