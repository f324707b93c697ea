/*
 * search/search_re.h: regular expressions, and where they match.
 */
#ifndef GROVE_SEARCH_SEARCH_RE_H
#define GROVE_SEARCH_SEARCH_RE_H

#include "base/fail.h"
#include "base/slice.h"

struct grove__search_re;

/* GROVE_EINVAL with a reason; GROVE_ENOTSUP where they are not built in. */
int grove__search_re_new(struct grove__search_re **out, struct grove_slice pattern,
			 struct grove_detail *d);
void grove__search_re_free(struct grove__search_re *re);

/* What one thread needs for matching; NULL: out of memory. */
struct grove__search_matching;
struct grove__search_matching *grove__search_matching_new(const struct grove__search_re *re);
void grove__search_matching_free(struct grove__search_matching *m);
/*
 * The next match from *from on: 1, and *from … *to is it; 0: none. GROVE_ENOMEM,
 * GROVE_ETOOBIG (it takes too long).
 */
int grove__search_matching_next(struct grove__search_matching *m, struct grove_slice text,
				size_t *from, size_t *to);

#endif
