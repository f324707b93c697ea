/* search/search_tell.h: reads what is shown of a hit from its log. */
#ifndef GROVE_SEARCH_SEARCH_TELL_H
#define GROVE_SEARCH_SEARCH_TELL_H

#include "search/search.h"

/* Zero it, except for `s`, `d` and `hits`; the log that was opened last stays open. */
struct grove__search_teller {
	struct grove_search *s;
	struct grove_detail *d;
	struct grove__search_matcher *m, *some;
	uint32_t at;                 /* index in the sweep's list, plus one; 0: none is open */
	struct grove_store_log *log;
	const struct grove__dialect *dialect;
	struct grove__search_hits *hits;     /* of which it tells */
	struct grove__search_told **told;    /* for each log; NULL: it was not loaded */
	struct grove_buf line, path;
	struct grove__search_texts texts;
	struct grove__search_snippet snippet;
};

/* `some` may be NULL. */
int grove__search_teller_init(struct grove__search_teller *t, const struct grove__search_query *q,
			      const struct grove__search_query *some);
void grove__search_teller_release(struct grove__search_teller *t);
/*
 * Fills in a hit, and its session without its hits; texts are valid until the next call.
 * Returns 1 if it is no longer a hit.
 */
int grove__search_tell(struct grove__search_teller *t, const struct grove__search_hit *h, struct grove_hit *out,
		       struct grove_hit_session *session);

#endif
