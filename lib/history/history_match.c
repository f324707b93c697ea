/*
 * history/history_match.c: whether a prompt matches a query.
 *
 * SQLite's own tokenizer splits words, so that a prompt examined here and one found by
 * the index are judged by the same rule. Most prompts need not be split: if the letters
 * of a word do not occur, the word does not.
 */
#include "history/history_match.h"

#include "base/array.h"
#include "base/utf8.h"
#include "js/js.h"

#include <stdlib.h>

struct term {
	char *ptr;
	size_t len;
	bool plain;           /* ASCII: occurs unchanged in ASCII text, except for case */
	bool fixed;           /* no letter of it has another case or an accent */
};

/* One word of the query: a phrase, whose last term is a prefix. */
struct phrase {
	struct grove_slice text;  /* as it was given */
	struct term *term;
	size_t nr;
	bool *reached;        /* [j]: the words just read are terms 0 … j */
	bool found;           /* in the current prompt */
	uint64_t seen;        /* prompts that have it */
};

struct grove__history_match {
	struct grove_buf query, lower;
	struct phrase *phrase;
	size_t nr, cap, missing;
	uint64_t looked;
	fts5_tokenizer api;
	Fts5Tokenizer *tokenizer;
	bool unspaced;
	int rc;
};

/* ---------------------------------------------------------------- tokenizer */

/* SQLite returns FTS5's table of functions through a statement. */
static fts5_api *find_api(sqlite3 *db)
{
	fts5_api *api = NULL;
	sqlite3_stmt *st = NULL;

	if (!sqlite3_prepare_v2(db, "SELECT fts5(?1)", -1, &st, NULL) &&
	    !sqlite3_bind_pointer(st, 1, &api, "fts5_api_ptr", NULL))
		sqlite3_step(st);
	sqlite3_finalize(st);
	return api;
}

static int find_tokenizer(struct grove__history_match *m, struct grove__history_db *h,
			  struct grove_detail *d)
{
	fts5_api *api = find_api(h->db);
	void *context = NULL;

	if (!api || api->xFindTokenizer(api, "unicode61", &context, &m->api))
		return grove__fail(d, GROVE_ENOTSUP, h->path, "this SQLite was built without FTS5");
	if (m->api.xCreate(context, NULL, 0, &m->tokenizer))
		return grove__fail_nomem(d);
	return 0;
}

/* -------------------------------------------------------------------- query */

static bool is_ascii(const char *p, size_t len)
{
	unsigned char all = 0;

	for (size_t i = 0; i < len; i++)
		all |= (unsigned char)p[i];
	return all < 0x80;
}

/* Han, kana, bopomofo, Thai, Lao, Khmer, Burmese, Tibetan: no spaces, no cases. */
static bool unspaced(uint32_t cp)
{
	return (cp >= 0x2e80 && cp < 0xa4d0) || (cp >= 0xf900 && cp < 0xfb00) ||
	       (cp >= 0x20000 && cp < 0x40000) || (cp >= 0x0e00 && cp < 0x10a0) ||
	       (cp >= 0x1780 && cp < 0x1800);
}

static bool is_fixed(const char *p, size_t len)
{
	const char *end = p + len;
	uint32_t cp;

	while (p < end) {
		p += grove__utf8_decode(p, end, &cp);
		/* kana, Han, Hangul: what the tokenizer neither folds nor strips */
		if (!(cp >= 0x3041 && cp < 0xa000) && !(cp >= 0xac00 && cp < 0xd7a4))
			return false;
	}
	return true;
}

static int add_term(void *payload, int flags, const char *ptr, int len, int from, int to)
{
	struct grove__history_match *m = payload;
	struct phrase *p = &m->phrase[m->nr - 1];
	struct term *t = realloc(p->term, (p->nr + 1) * sizeof(*t));

	(void)flags;
	(void)from;
	(void)to;
	if (!t)
		return SQLITE_NOMEM;
	p->term = t;
	t += p->nr;
	t->len = (size_t)len;
	t->ptr = malloc(t->len + 1);
	if (!t->ptr)
		return SQLITE_NOMEM;
	memcpy(t->ptr, ptr, t->len);
	t->ptr[t->len] = '\0';
	t->plain = is_ascii(ptr, t->len);
	t->fixed = !t->plain && is_fixed(ptr, t->len);
	p->nr++;
	return SQLITE_OK;
}

static int add_phrase(struct grove__history_match *m, struct grove_slice text)
{
	struct phrase *p;

	if (grove__array_room(&m->phrase, &m->cap, m->nr, sizeof(*m->phrase)))
		return GROVE_ENOMEM;
	p = &m->phrase[m->nr++];
	*p = (struct phrase){ .text = text };
	if (m->api.xTokenize(m->tokenizer, m, FTS5_TOKENIZE_QUERY | FTS5_TOKENIZE_PREFIX, text.ptr,
			     (int)text.len, add_term))
		return GROVE_ENOMEM;
	p->reached = calloc(p->nr + 1, sizeof(*p->reached));
	return p->reached ? 0 : GROVE_ENOMEM;
}

/* Splits at white space, as JavaScript does. */
static int split(struct grove__history_match *m)
{
	const char *p = m->query.ptr, *end = p + m->query.len, *start = NULL;
	int rc = 0;

	while (p < end && !rc) {
		const char *at = p;
		uint32_t cp;

		p += grove__utf8_decode(p, end, &cp);
		if (unspaced(cp))
			m->unspaced = true;
		if (!grove__js_is_space(cp)) {
			if (!start)
				start = at;
		} else if (start) {
			rc = add_phrase(m, grove__slice(start, (size_t)(at - start)));
			start = NULL;
		}
	}
	if (start && !rc)
		rc = add_phrase(m, grove__slice(start, (size_t)(end - start)));
	return rc;
}

int grove__history_match_new(struct grove__history_match **out, struct grove__history_db *h,
			     const char *query, struct grove_detail *d)
{
	struct grove__history_match *m = calloc(1, sizeof(*m));
	size_t len = strlen(query);
	int rc;

	*out = m;
	if (!m)
		return grove__fail_nomem(d);
	if (len > 65536) {
		rc = grove__fail(d, GROVE_ETOOBIG, NULL, "the query is longer than 65,536 bytes");
		goto out;
	}
	rc = find_tokenizer(m, h, d);
	if (!rc && (grove__utf8_repair(&m->query, grove__slice(query, len)) || split(m)))
		rc = grove__fail_nomem(d);
out:
	if (rc) {
		grove__history_match_free(m);
		*out = NULL;
	}
	return rc;
}

void grove__history_match_free(struct grove__history_match *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->nr; i++) {
		for (size_t j = 0; j < m->phrase[i].nr; j++)
			free(m->phrase[i].term[j].ptr);
		free(m->phrase[i].term);
		free(m->phrase[i].reached);
	}
	free(m->phrase);
	if (m->tokenizer)
		m->api.xDelete(m->tokenizer);
	grove__buf_release(&m->query);
	grove__buf_release(&m->lower);
	free(m);
}

bool grove__history_match_empty(const struct grove__history_match *m)
{
	return !m->nr;
}

bool grove__history_match_has_words(const struct grove__history_match *m)
{
	for (size_t i = 0; i < m->nr; i++)
		if (m->phrase[i].nr)
			return true;
	return false;
}

bool grove__history_match_unspaced(const struct grove__history_match *m)
{
	return m->unspaced;
}

/* ------------------------------------------------------------------- prompt */

static bool contains(const struct grove_buf *text, const char *ptr, size_t len)
{
	return memmem(text->ptr, text->len, ptr, len) != NULL;
}

static char lower(char c)
{
	return (char)(c >= 'A' && c <= 'Z' ? c | 0x20 : c);
}

/* Compares like LIKE: ASCII letters in either case, everything else exactly. */
static bool has_part(struct grove__history_match *m, struct grove_slice part)
{
	char small[256], *p = small;
	bool found;

	if (part.len > sizeof(small)) {
		p = malloc(part.len);
		if (!p) {
			m->rc = GROVE_ENOMEM;
			return false;
		}
	}
	for (size_t i = 0; i < part.len; i++)
		p[i] = lower(part.ptr[i]);
	found = contains(&m->lower, p, part.len);
	if (p != small)
		free(p);
	return found;
}

/* Handles the next word of the prompt. */
static int next_word(void *payload, int flags, const char *ptr, int len, int from, int to)
{
	struct grove__history_match *m = payload;

	(void)flags;
	(void)from;
	(void)to;
	for (size_t i = 0; i < m->nr; i++) {
		struct phrase *p = &m->phrase[i];

		if (p->found || !p->nr)
			continue;
		/* backwards, so that the state before this word is read before it is changed */
		for (size_t j = p->nr; j-- > 0;) {
			const struct term *t = &p->term[j];
			bool last = j + 1 == p->nr;

			p->reached[j] = (!j || p->reached[j - 1]) &&
					(last ? (size_t)len >= t->len : (size_t)len == t->len) &&
					!memcmp(ptr, t->ptr, t->len);
		}
		if (p->reached[p->nr - 1]) {
			p->found = true;
			p->seen++;
			if (!--m->missing)
				return SQLITE_DONE;
		}
	}
	return SQLITE_OK;
}

/* Returns false if the letters of some word do not occur. */
static bool may_have_words(struct grove__history_match *m, bool ascii)
{
	bool may = true;

	for (size_t i = 0; i < m->nr; i++) {
		struct phrase *p = &m->phrase[i];
		bool here = true;

		for (size_t j = 0; j < p->nr && here; j++) {
			const struct term *t = &p->term[j];

			if (ascii ? t->plain : t->fixed)
				here = contains(&m->lower, t->ptr, t->len);
			else if (ascii)
				here = false;
		}
		if (!here)
			may = false;
	}
	return may;
}

static bool has_words(struct grove__history_match *m, const char *ptr, size_t len, bool ascii)
{
	int rc;

	m->looked++;
	if (!may_have_words(m, ascii)) {
		/* only for the statistics: if its letters occur, the word probably does */
		for (size_t i = 0; i < m->nr; i++) {
			struct phrase *p = &m->phrase[i];

			if (p->nr && p->term[0].plain &&
			    contains(&m->lower, p->term[0].ptr, p->term[0].len))
				p->seen++;
		}
		return false;
	}
	m->missing = 0;
	for (size_t i = 0; i < m->nr; i++) {
		struct phrase *p = &m->phrase[i];

		p->found = false;
		memset(p->reached, 0, p->nr * sizeof(*p->reached));
		m->missing += p->nr > 0;
	}
	if (!m->missing)
		return false;
	rc = m->api.xTokenize(m->tokenizer, m, FTS5_TOKENIZE_DOCUMENT, ptr, (int)len, next_word);
	if (rc == SQLITE_NOMEM)
		m->rc = GROVE_ENOMEM;
	return !m->missing;
}

int grove__history_match_prompt(struct grove__history_match *m, const char *ptr, size_t len,
				unsigned want)
{
	bool ascii = is_ascii(ptr, len);
	int hit = HIT_NONE;

	if (!m->nr)
		return HIT_NONE;
	m->rc = 0;
	grove__buf_clear(&m->lower);
	if (grove__buf_reserve(&m->lower, len + 1))
		return GROVE_ENOMEM;
	for (size_t i = 0; i < len; i++)
		m->lower.ptr[i] = lower(ptr[i]);
	m->lower.ptr[len] = '\0';
	m->lower.len = len;
	if ((want & HIT_WORDS) && has_words(m, ptr, len, ascii))
		hit |= HIT_WORDS;
	if (want & HIT_PARTS) {
		bool all = true;

		for (size_t i = 0; i < m->nr && all; i++)
			all = has_part(m, m->phrase[i].text);
		if (all)
			hit |= HIT_PARTS;
	}
	return m->rc ? m->rc : hit;
}

/* -------------------------------------------------------------------- index */

static int put_phrase(struct grove_buf *out, struct grove_slice text)
{
	int rc = grove__buf_add_str(out, out->len ? " \"" : "\"");

	for (size_t i = 0; i < text.len && !rc; i++) {
		if (text.ptr[i] == '"')
			rc = grove__buf_add_char(out, '"');
		if (!rc)
			rc = grove__buf_add_char(out, text.ptr[i]);
	}
	return rc ? rc : grove__buf_add_str(out, "\"*");
}

int grove__history_match_index_query(struct grove__history_match *m, struct grove_buf *out,
				     bool *all)
{
	uint64_t rarest = UINT64_MAX, most;
	int rc = 0;

	*all = true;
	for (size_t i = 0; i < m->nr; i++)
		if (m->phrase[i].nr && m->phrase[i].seen < rarest)
			rarest = m->phrase[i].seen;
	/*
	 * The index collects all positions of a prefix before it answers. A word in
	 * every third prompt, next to one in every hundredth, costs more there than
	 * checking what the rarer one finds.
	 */
	most = rarest * 8 > m->looked / 50 ? rarest * 8 : m->looked / 50;
	for (size_t i = 0; i < m->nr && !rc; i++) {
		if (!m->phrase[i].nr)
			continue;
		if (m->looked && m->phrase[i].seen > most)
			*all = false;
		else
			rc = put_phrase(out, m->phrase[i].text);
	}
	return rc;
}
