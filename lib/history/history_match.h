/*
 * history/history_match.h: does a prompt answer a query?
 *
 * A query is a set of words divided by white space, all of which must be there.
 * As words: each is what FTS5 makes of "word"*, so "git-commit" is a phrase and
 * "com" finds commit. As parts: each occurs somewhere, whatever stands around.
 */
#ifndef GROVE_HISTORY_HISTORY_MATCH_H
#define GROVE_HISTORY_HISTORY_MATCH_H

#include "history/history_db.h"

struct grove__history_match;

/* For queries on that database. *out is NULL after a failure. */
int grove__history_match_new(struct grove__history_match **out, struct grove__history_db *h,
			     const char *query, struct grove_detail *d);
void grove__history_match_free(struct grove__history_match *m);

/* No words at all: nothing can be found. */
bool grove__history_match_empty(const struct grove__history_match *m);
/* Is there a word that an index of words can find? "++" is not. */
bool grove__history_match_has_words(const struct grove__history_match *m);
/* Is it in a script that is written without spaces, where parts are all one has? */
bool grove__history_match_unspaced(const struct grove__history_match *m);

enum grove__history_hit { HIT_NONE = 0, HIT_WORDS = 1, HIT_PARTS = 2 };
/* Which of `want` holds for this prompt; negative: GROVE_ENOMEM. Counts how often each word occurs. */
int grove__history_match_prompt(struct grove__history_match *m, const char *ptr, size_t len,
				unsigned want);

/*
 * The query for the index, without the words that the prompts looked at so far
 * show to be so common that they are better checked on what the others find.
 * *all: nothing was left out.
 */
int grove__history_match_index_query(struct grove__history_match *m, struct grove_buf *out,
				     bool *all);

#endif
