/*
 * usage/turns.h: the replies of one session.
 *
 * A reply may have several lines, which the table merges; the number that it keeps for
 * each reply is the row of its first line.
 */
#ifndef GROVE_USAGE_TURNS_H
#define GROVE_USAGE_TURNS_H

#include "usage/prices.h"
#include "digest/replies.h"
#include "usage/usage.h"
#include "view/view.h"

struct grove__turns {
	struct grove_view *v;
	struct grove__json_want want;
	struct grove__json_member members[GROVE__JSON_WANT_MAX];
	struct grove__replies replies;
	struct grove__prices prices;
	struct grove__arena tmp;
	struct grove_buf line;           /* with room for the scanner */
};

/* Release it in any case. */
int grove__turns_init(struct grove__turns *t, struct grove_view *v, struct grove_detail *d);
void grove__turns_release(struct grove__turns *t);
/* Adds a row if it bills something; `value` is its line. GROVE_ENOMEM, GROVE_ETOOBIG. */
int grove__turns_add(struct grove__turns *t, uint32_t row, struct grove_slice value);
/* Returns the cost of a reply, as stored or computed from prices; NaN if unknown. */
double grove__turns_cost(const struct grove__turns *t, const struct grove__reply *r);

#endif
