/*
 * within.h: may a token write this, or would the session leave its directories?
 */
#ifndef SERVER_WITHIN_H
#define SERVER_WITHIN_H

#include "server.h"

#include <grove/carry.h>

struct held;

/*
 * Checks lines from another machine, or with `fresh` those of a session that is created by
 * them; `h` is NULL then. GROVE_EACCESS, with r->detail, if the session would be outside the
 * token's limits with them.
 */
int within_carried(struct request *r, struct held *h, const struct grove_carry_options *fresh,
		   const struct grove_slice *line, size_t nr);
/* The same for entries that are appended. */
int within_appended(struct request *r, struct held *h, const struct grove_slice *entry, size_t nr);
/* The same for a value of an entry that is replaced. */
int within_updated(struct request *r, struct held *h, const char *entry, const char *pointer, const char *json);
/*
 * Checks a session that was made from another one. One that is outside is removed before
 * anybody is told of it.
 */
int within_made(struct request *r, struct grove *g, struct grove_session *made);

#endif
