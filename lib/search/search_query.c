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
#include "search/search_words.h"

#include <stdlib.h>

#define QUERY_MAX 4096
#define TERMS_MAX 64
#define WORDS_MAX 256           /* of one term */
#define MARKS_MAX 4096          /* more are not shown anyway */

struct token {
	char bytes[GROVE__WORD_MAX];
	size_t len;
};

struct term {
	struct grove_slice text;      /* as given, without operators */
	struct token *tokens;
	size_t nr;
	bool prefix;                  /* the last word is a prefix */
	bool not;
	struct grove_buf folded;      /* for parts: its characters as they are compared */
	bool ascii;
	struct grove__needle needle;  /* must occur in a raw line; len 0: nothing must */
};

struct grove__search_query {
	enum grove__search_how how;
	struct grove_buf text;
	struct term *terms;
	size_t nr, cap, nr_wanted;
	const struct term *rarest;    /* whose needle is searched first; NULL: none has one */
	struct grove__regex *re;  /* NULL: it is words */
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

static int fold_term(struct term *t)
{
	const char *p = t->text.ptr, *end = p + t->text.len;
	char bytes[4];
	uint32_t cp;
	int rc = 0;

	t->ascii = true;
	while (p < end && !rc) {
		p += grove__utf8_decode(p, end, &cp);
		t->ascii &= cp < 0x80;
		rc = grove__buf_add(&t->folded, bytes, grove__utf8_encode(bytes, grove__search_word_fold(cp)));
	}
	return rc;
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

static void pick_needle(struct term *t, enum grove__search_how how)
{
	struct grove_slice best = { NULL, 0 }, run;

	if (how == SEARCH_PARTS) {
		best = safe_run(t->folded.ptr, t->folded.len);
	} else {
		for (size_t i = 0; i < t->nr; i++) {
			run = safe_run(t->tokens[i].bytes, t->tokens[i].len);
			if (run.len > best.len)
				best = run;
		}
	}
	grove__needle_init(&t->needle, best);
}

static int add_term(struct grove__search_query *q, struct grove_slice text, bool not, bool prefix,
		    struct grove_detail *d)
{
	struct term *t;
	int rc;

	if (q->nr == TERMS_MAX)
		return grove__fail(d, GROVE_EINVAL, NULL, "the query has more than %d words", TERMS_MAX);
	if (grove__array_room(&q->terms, &q->cap, q->nr, sizeof(*q->terms)))
		return grove__fail_nomem(d);
	t = &q->terms[q->nr];
	*t = (struct term){ .text = text, .not = not };
	rc = grove__words_cut(text, true, add_token, t);
	rc = rc ? rc : fold_term(t);
	if (rc) {
		free(t->tokens);
		grove__buf_release(&t->folded);
		return rc == GROVE_ENOMEM ? grove__fail_nomem(d)
					  : grove__fail(d, GROVE_EINVAL, NULL, "a phrase has more than %d words",
							WORDS_MAX);
	}
	t->prefix = prefix || (t->nr && is_single(&t->tokens[t->nr - 1]));
	/* drop a term that has no words, or as parts no characters */
	if (q->how == SEARCH_WORDS ? !t->nr : !t->folded.len) {
		free(t->tokens);
		grove__buf_release(&t->folded);
		return 0;
	}
	pick_needle(t, q->how);
	q->nr++;
	q->nr_wanted += !not;
	return 0;
}

static bool is_space_at(const char *p, const char *end, size_t *n)
{
	uint32_t cp;

	*n = grove__utf8_decode(p, end, &cp);
	return grove__js_is_space(cp);
}

/* Takes the next term: `-`, then "…" or everything up to white space, then `*`. */
static int take_term(struct grove__search_query *q, const char **at, const char *end,
		     struct grove_detail *d)
{
	const char *p = *at, *start, *stop;
	bool not = *p == '-' && p + 1 < end && p[1] != '-', quoted, star;
	size_t n;

	p += not;
	quoted = *p == '"';
	p += quoted;
	start = p;
	while (p < end && (quoted ? *p != '"' : !is_space_at(p, end, &n)))
		p += quoted ? 1 : n;
	stop = p;
	p += quoted && p < end;
	star = quoted ? p < end && *p == '*' : stop > start && stop[-1] == '*';
	if (quoted)
		p += star;
	else
		stop -= star;
	*at = p;
	return add_term(q, grove__slice(start, (size_t)(stop - start)), not, star, d);
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
	for (size_t i = 0; i < q->nr && !rc; i++) {
		const struct term *t = &q->terms[i];

		if (!t->not && t->needle.len && (!q->rarest || t->needle.len > q->rarest->needle.len))
			q->rarest = t;
	}
	if (!rc && !q->nr_wanted)
		rc = grove__fail(d, GROVE_EINVAL, NULL, "nothing to search for: the query has no words%s",
				 q->nr ? " that must occur" : "");
	return rc;
}

int grove__search_query_new(struct grove__search_query **out, const char *query,
			    enum grove__search_how how, struct grove_detail *d)
{
	struct grove__search_query *q = calloc(1, sizeof(*q));
	size_t len = strlen(query);
	int rc;

	*out = NULL;
	if (!q)
		return grove__fail_nomem(d);
	q->how = how;
	if (len > QUERY_MAX)
		rc = grove__fail(d, GROVE_EINVAL, NULL, "the query is longer than %d bytes", QUERY_MAX);
	else if (grove__utf8_repair(&q->text, grove__slice(query, len)))
		rc = grove__fail_nomem(d);
	else if (strncmp(query, "re:", 3))
		rc = split(q, d);
	else if (how != SEARCH_PARTS)
		rc = grove__fail(d, GROVE_EINVAL, NULL, "re: the index does not support patterns (use --live)");
	else
		rc = grove__regex_new(&q->re, grove__slice(q->text.ptr + 3, q->text.len - 3), REGEX_LINES, d);
	if (rc)
		grove__search_query_free(q);
	else
		*out = q;
	return rc;
}

void grove__search_query_free(struct grove__search_query *q)
{
	if (!q)
		return;
	for (size_t i = 0; i < q->nr; i++) {
		free(q->terms[i].tokens);
		grove__buf_release(&q->terms[i].folded);
	}
	free(q->terms);
	grove__buf_release(&q->text);
	grove__regex_free(q->re);
	free(q);
}

/* Writes the words of a term, adjacent or each by itself. */
static int put_words(struct grove_buf *out, const struct term *t, const char *between)
{
	int rc = grove__buf_add_char(out, '"');

	for (size_t i = 0; i < t->nr && !rc; i++) {
		rc = i ? grove__buf_add_str(out, between) : 0;
		rc = rc ? rc : grove__buf_add(out, t->tokens[i].bytes, t->tokens[i].len);
	}
	return rc ? rc : grove__buf_add_str(out, t->prefix ? "\" *" : "\"");
}

int grove__search_query_fts(const struct grove__search_query *q, bool parts, struct grove_buf *out)
{
	const char *before = "(";
	int rc = 0;

	for (size_t i = 0; i < q->nr && !rc; i++) {
		if (q->terms[i].not)
			continue;
		rc = grove__buf_add_str(out, before);
		rc = rc ? rc : put_words(out, &q->terms[i], parts ? "\" AND \"" : " ");
		before = " AND ";
	}
	rc = rc ? rc : grove__buf_add_char(out, ')');
	/* one text of a part may have what another must not have */
	for (size_t i = 0; i < q->nr && !rc && !parts; i++) {
		if (!q->terms[i].not)
			continue;
		rc = grove__buf_add_str(out, " NOT ");
		rc = rc ? rc : put_words(out, &q->terms[i], " ");
	}
	return rc;
}

bool grove__search_query_is_words(const struct grove__search_query *q)
{
	for (size_t i = 0; i < q->nr; i++)
		if (q->terms[i].not || q->terms[i].nr != 1)
			return false;
	return q->how == SEARCH_WORDS;
}

double grove__search_query_once(const struct grove__search_query *q, uint64_t words)
{
	return (double)q->nr_wanted * grove__search_score(1, words);
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
		if (!l->q->rarest || l->odd < stop || has_needles(l->q, line, stop))
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

static bool is_token(const struct term *t, size_t j, const struct grove__word *w)
{
	const struct token *k = &t->tokens[j];
	bool open = t->prefix && j + 1 == t->nr;

	return (open ? w->len >= k->len : w->len == k->len) && !memcmp(w->ptr, k->bytes, k->len);
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

static int match_words(struct grove__search_matcher *m, struct grove_slice text)
{
	for (size_t i = 0; i < m->q->nr; i++) {
		struct state *s = &m->states[i];

		s->times = 0;
		memset(s->now, 0, m->q->terms[i].nr * sizeof(*s->now));
	}
	return grove__words_cut(text, false, next_word, m);
}

/* Returns the length of the match of a folded term at `p`; 0: none. */
static size_t reach(const struct grove_buf *folded, const char *p, const char *end)
{
	const char *k = folded->ptr, *k_end = k + folded->len, *start = p;
	uint32_t a, b;

	while (k < k_end && p < end) {
		k += grove__utf8_decode(k, k_end, &a);
		p += grove__utf8_decode(p, end, &b);
		if (grove__search_word_fold(b) != a)
			return 0;
	}
	return k == k_end ? (size_t)(p - start) : 0;
}

static int match_part(struct grove__search_matcher *m, const struct term *t, struct state *s,
		      struct grove_slice text)
{
	const char *p = text.ptr, *end = p + text.len;
	struct grove__needle whole;
	bool quick = t->ascii && t->folded.len <= GROVE__NEEDLE_MAX;
	size_t n;
	int rc = 0;

	s->times = 0;
	if (quick)
		grove__needle_init(&whole, grove__buf_slice(&t->folded));
	while (p < end && !rc) {
		if (quick && !(p = grove__needle_find(&whole, p, end)))
			break;
		n = quick ? t->folded.len : reach(&t->folded, p, end);
		if (n) {
			s->times++;
			rc = t->not ? 0 : add_mark(m, (size_t)(p - text.ptr), (size_t)(p - text.ptr) + n);
		}
		p += n ? n : 1;
	}
	return rc;
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

double grove__search_score(uint64_t times, uint64_t words)
{
	/* BM25 with a fixed average length of 100 words */
	double k = 1.2 * (0.25 + 0.75 * (double)words / 100);

	return times ? 2.2 * (double)times / ((double)times + k) : 0;
}

int grove__search_match(struct grove__search_matcher *m, struct grove_slice text, bool once, double *score)
{
	const struct grove__search_query *q = m->q;
	uint64_t times = 0;
	int rc = 0;

	m->nr = 0;
	m->words = 0;
	*score = 0;
	if (q->re) {
		rc = match_pattern(m, text, &times);
		*score = grove__search_score(once && times ? 1 : times, text.len / 6);
		return rc ? rc : times > 0;
	}
	if (q->how == SEARCH_WORDS)
		rc = match_words(m, text);
	for (size_t i = 0; i < q->nr && !rc; i++) {
		const struct term *t = &q->terms[i];
		struct state *s = &m->states[i];

		if (q->how == SEARCH_PARTS) {
			rc = match_part(m, t, s, text);
			m->words = text.len / 6;
		}
		if (!rc && t->not == (s->times > 0))
			return 0;
		if (!t->not)
			*score += grove__search_score(once && s->times ? 1 : s->times, m->words);
	}
	if (rc)
		return rc;
	settle_marks(m);
	return 1;
}

const struct grove_hit_mark *grove__search_marks(const struct grove__search_matcher *m, size_t *nr)
{
	*nr = m->nr;
	return m->marks;
}
