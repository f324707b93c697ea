/*
 * search/search_rank.h: sessions in which the words of a query are spread over messages.
 *
 * A session is a document here: what counts is how many of its texts have each word, whoever
 * found that out, the index or scanning. A few texts that have the most of the words are
 * shown of it.
 */
#ifndef GROVE_SEARCH_SEARCH_RANK_H
#define GROVE_SEARCH_SEARCH_RANK_H

#include "search/search.h"

struct grove__search_rank;

/* `q` is a query for some of the words. NULL if out of memory. */
struct grove__search_rank *grove__search_rank_new(const struct grove_search *s, const struct grove__search_query *q);
void grove__search_rank_free(struct grove__search_rank *r);
/* Leaves out a log: it has a text with all the words. */
void grove__search_rank_skip(struct grove__search_rank *r, uint32_t log);
/* Forgets what was reported of a log: it is read again. */
void grove__search_rank_forget(struct grove__search_rank *r, uint32_t log);
/*
 * A text has some words. A thread may report those of one log while others report others.
 * The texts of a log are told apart by at.pos and at.off, in their order. GROVE_ENOMEM.
 */
int grove__search_rank_note(struct grove__search_rank *r, uint64_t words, const struct grove__search_hit *h);
/* Completes a text that the index found. */
typedef int grove__search_whole_fn(void *payload, struct grove__search_hit *h);
/* Adds the best texts of the best sessions. */
int grove__search_rank_take(struct grove__search_rank *r, struct grove__search_hits *out, grove__search_whole_fn *whole,
			    void *payload);

#endif
