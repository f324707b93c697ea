/*
 * search/search_hits.h: the result of a search: hits, by session.
 *
 * Candidates come in order. Copies of a passage, which forks make, stand next to each
 * other: they have the same score and time in another log, and the same text. Of the
 * rest, pages are made: a cursor names the last candidate that was shown by its score, its time, and
 * its number among those that have the same.
 */
#ifndef GROVE_SEARCH_SEARCH_HITS_H
#define GROVE_SEARCH_SEARCH_HITS_H

#include "search/search.h"

/* The place of a candidate among all. */
struct grove__search_place_at {
	unsigned match;
	double score;
	int64_t time;
	uint64_t nr;
};

struct grove_hits {
	struct grove__arena texts;   /* of everything below */
	struct grove_hit **hits;
	size_t nr, cap;
	struct grove_hit_session **sessions;
	size_t nr_sessions, cap_sessions;
	struct grove_hits_about about;
};

/* Returns NULL if out of memory. */
struct grove_hits *grove__search_hits_new(void);
void grove__search_hits_free(struct grove_hits *h);
/*
 * Reads what is shown of the candidates, which are in order, into `out`. `some` is the query
 * of those that have not all the words; it and `after` may be NULL. Sets from->lost if some
 * are no longer hits.
 */
int grove__search_hits_take(struct grove_hits *out, struct grove_search *s, const struct grove__search_ask *ask,
			    const struct grove__search_query *some, struct grove__search_hits *from,
			    const struct grove__search_place_at *after, struct grove_detail *d);
/* Reads a cursor. GROVE_EINVAL */
int grove__search_cursor(const char *text, struct grove__search_place_at *out, struct grove_detail *d);

#endif
