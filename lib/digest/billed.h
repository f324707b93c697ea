/*
 * digest/billed.h: the replies of one log, as bytes for the catalog.
 */
#ifndef GROVE_DIGEST_BILLED_H
#define GROVE_DIGEST_BILLED_H

#include "digest/replies.h"

/* What else is known about the log. */
struct grove__billed_log {
	const struct grove__dialect *dialect;   /* by which it was read; NULL: it was not */
	struct grove_slice around;              /* suggested by its location; empty: nobody asked */
	bool session;                           /* it is one */
	int64_t time;                           /* of its beginning; GROVE_NO_TIME */
	struct grove_slice id, cwd, parent;     /* empty: not known */
	uint32_t nr;                            /* how many replies there are; pack() has its own */
};

/* `told` of each reply says that it sums up what sub-agents used. GROVE_ENOMEM. */
int grove__billed_pack(const struct grove__billed_log *l, const struct grove__replies *rs,
		       struct grove_buf *out);
/* Texts point into `bytes`. Returns false if these are other bytes, or damaged. */
bool grove__billed_unpack(struct grove_slice bytes, struct grove__billed_log *l);
/*
 * Adds the replies in `bytes`, which unpack() has accepted, as those of log `log`;
 * `subs` says whether that has sub-agents with logs of their own. GROVE_ENOMEM,
 * GROVE_ETOOBIG.
 */
int grove__billed_fold(struct grove_slice bytes, struct grove__replies *rs, uint32_t log, bool subs);

#endif
