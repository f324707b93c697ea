/*
 * search/search_query.h: what is searched for, and whether a text has it.
 *
 * A query is terms, all of which must occur: words; "several words" that stand
 * side by side; beginnings*; -words that must not occur. Punctuation inside a
 * word makes it a phrase of its parts. Searched as parts, a term is found
 * wherever its letters stand, also inside of words. `re:PATTERN` is a regular
 * expression.
 */
#ifndef GROVE_SEARCH_SEARCH_QUERY_H
#define GROVE_SEARCH_SEARCH_QUERY_H

#include "base/buf.h"
#include "base/fail.h"
#include "grove/search.h"

enum grove__search_how { SEARCH_WORDS, SEARCH_PARTS };

struct grove__search_query;

/* GROVE_EINVAL with a reason. A pattern needs SEARCH_PARTS. */
int grove__search_query_new(struct grove__search_query **out, const char *query,
			    enum grove__search_how how, struct grove_detail *d);
void grove__search_query_free(struct grove__search_query *q);
/* The same in the words of FTS5; of parts: those in which all words are. */
int grove__search_query_fts(const struct grove__search_query *q, bool parts, struct grove_buf *out);
/* Does it ask for single words alone, so that these tell whether a text has it? */
bool grove__search_query_is_words(const struct grove__search_query *q);

/*
 * The lines between `p` and `end` that may have what is searched for, as far as
 * their raw bytes tell: every line that has it is among them. Zero it but for
 * the first three.
 */
struct grove__search_lines {
	const struct grove__search_query *q;
	const char *p, *end;
	const char *hit, *odd;       /* the next ones; `end`: there is none */
	bool begun;
};
/* The next one, without its line end; NULL: there is none. */
const char *grove__search_lines_next(struct grove__search_lines *l, size_t *len);

/* How well a term that occurs `times` in a text of `words` words fits. */
double grove__search_score(uint64_t times, uint64_t words);
/* The same of a query each of whose terms counts once. */
double grove__search_query_once(const struct grove__search_query *q, uint64_t words);

/* A text that is looked at; belongs to one thread. */
struct grove__search_matcher;
struct grove__search_matcher *grove__search_matcher_new(const struct grove__search_query *q);
void grove__search_matcher_free(struct grove__search_matcher *m);
/*
 * 1: the text has it; 0: not; GROVE_ENOMEM, GROVE_ETOOBIG (a pattern that takes
 * too long). Where it stands is told by the marks, which do not overlap, good
 * until the next call. `once`: for the score it does not matter how often.
 */
int grove__search_match(struct grove__search_matcher *m, struct grove_slice text, bool once, double *score);
const struct grove_hit_mark *grove__search_marks(const struct grove__search_matcher *m, size_t *nr);

#endif
