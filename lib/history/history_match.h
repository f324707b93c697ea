/*
 * history/history_match.h: whether a prompt matches a query.
 *
 * A query is a set of words separated by white space, all of which must occur. As
 * words: each is what FTS5 makes of "word"*, so "git-commit" is a phrase and "com"
 * matches commit. As parts: each occurs anywhere, whatever is around it.
 */
#ifndef GROVE_HISTORY_HISTORY_MATCH_H
#define GROVE_HISTORY_HISTORY_MATCH_H

#include "history/history_db.h"

struct grove__history_match;

/* For queries on that database. *out is NULL after a failure. */
int grove__history_match_new(struct grove__history_match **out, struct grove__history_db *h,
			     const char *query, struct grove_detail *d);
void grove__history_match_free(struct grove__history_match *m);

/* True if there are no words, so that nothing can be found. */
bool grove__history_match_empty(const struct grove__history_match *m);
/* True if there is a word that a word index can find; "++" is not one. */
bool grove__history_match_has_words(const struct grove__history_match *m);
/* True if it is in a script that is written without spaces, where only parts can match. */
bool grove__history_match_unspaced(const struct grove__history_match *m);

enum grove__history_hit { HIT_NONE = 0, HIT_WORDS = 1, HIT_PARTS = 2 };
/*
 * Returns which of `want` apply to this prompt; negative: GROVE_ENOMEM. Counts the
 * occurrences of each word.
 */
int grove__history_match_prompt(struct grove__history_match *m, const char *ptr, size_t len,
				unsigned want);

/*
 * Makes the query for the index, without words that proved so common in the prompts
 * examined so far that they are better checked on the results of the others. *all:
 * nothing was left out.
 */
int grove__history_match_index_query(struct grove__history_match *m, struct grove_buf *out,
				     bool *all);

#endif
