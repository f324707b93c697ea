/*
 * search/search_query.h: a query, and whether a text matches it.
 *
 * A query consists of terms, all of which must occur: words, which match all forms of an
 * English word; =words, which match only themselves; "several words" that are adjacent;
 * prefixes*; -words that must not occur. The last word is a prefix, too, unless a space
 * comes after it: it may not have been finished. Punctuation inside a word makes it a
 * phrase of its parts. `re:PATTERN` is a regular expression, for scanning only.
 */
#ifndef GROVE_SEARCH_SEARCH_QUERY_H
#define GROVE_SEARCH_SEARCH_QUERY_H

#include "base/buf.h"
#include "base/fail.h"
#include "grove/search.h"

struct grove__search_query;

/* Returns GROVE_EINVAL with a reason. `patterns`: they are allowed. */
int grove__search_query_new(struct grove__search_query **out, const char *query, bool patterns,
			    struct grove_detail *d);
void grove__search_query_free(struct grove__search_query *q);

/* Leaves out words such as "what" and "the", unless there are no others. */
void grove__search_query_drop_stops(struct grove__search_query *q);
/*
 * Makes a query for texts that have some of the words, each by itself, and identifiers by
 * their parts. *out is NULL if that is of no use: for patterns, phrases, words that must not
 * occur, and a single word. GROVE_ENOMEM.
 */
int grove__search_query_some(const struct grove__search_query *q, struct grove__search_query **out);
/*
 * How many words that query has, how many others that mean the same come after them, and each
 * word as it was written.
 */
size_t grove__search_query_words(const struct grove__search_query *q, size_t *alike);
struct grove_slice grove__search_query_word(const struct grove__search_query *q, size_t i);

/* Called with each word that has a stem. */
typedef int grove__search_form_fn(void *payload, const char *word, size_t len);
/* A query in the syntax of FTS5: a text may match if it has these words, or some of them. */
#define GROVE__SEARCH_FTS_WORDS 64

struct grove__search_fts {
	/* Finds the words of the index that have this stem. */
	int (*forms)(void *payload, struct grove_slice stem, grove__search_form_fn *fn, void *fn_payload);
	void *payload;

	/* afterwards */
	struct grove_buf match;
	unsigned phrases[GROVE__SEARCH_FTS_WORDS];  /* how many, one after the other, stand for each word */
	size_t nr;                   /* words */
};
int grove__search_query_fts(const struct grove__search_query *q, struct grove__search_fts *f);
void grove__search_fts_release(struct grove__search_fts *f);
/* True if it consists of single words, so that these alone decide whether a text matches. */
bool grove__search_query_is_words(const struct grove__search_query *q);

/*
 * Writes the query with other words. `fn` gets each word that must occur by itself, and
 * may write another one. If it never does, nothing is written.
 */
int grove__search_query_respell(const struct grove__search_query *q,
				int (*fn)(void *payload, struct grove_slice word, struct grove_buf *other),
				void *payload, struct grove_buf *out);

/*
 * The lines between `p` and `end` that may match, judged by their raw bytes: every line
 * that matches is among them. Zero it, except for the first three members.
 */
struct grove__search_lines {
	const struct grove__search_query *q;
	const char *p, *end;
	const char *hit, *odd;       /* the next ones; `end`: none */
	bool begun;
};
/* Returns the next one, without its newline, or NULL. */
const char *grove__search_lines_next(struct grove__search_lines *l, size_t *len);

/* Scores a text of `words` words that matches: the shorter, the better. */
double grove__search_query_score(const struct grove__search_query *q, uint64_t words);

/* Matches texts; belongs to one thread. */
struct grove__search_matcher;
struct grove__search_matcher *grove__search_matcher_new(const struct grove__search_query *q);
void grove__search_matcher_free(struct grove__search_matcher *m);
/*
 * Returns 1 if the text matches, 0 if not; GROVE_ENOMEM, GROVE_ETOOBIG (a pattern takes
 * too long). The marks say where; they do not overlap and are valid until the next
 * call.
 */
int grove__search_match(struct grove__search_matcher *m, struct grove_slice text, double *score);
/* Which words of a query for some of them the text has: a bit for each. GROVE_ENOMEM. */
int grove__search_match_some(struct grove__search_matcher *m, struct grove_slice text, uint64_t *words);
const struct grove_hit_mark *grove__search_marks(const struct grove__search_matcher *m, size_t *nr);

#endif
