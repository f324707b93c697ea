/*
 * digest/outline.h: the shape of a regular log, found while its lines are read for a list.
 *
 * To know the tree of any log, it has to be loaded: entries may repeat an id, name a parent
 * that comes later or does not exist, or say something about others. But nearly all logs
 * whose conversation is a path have none of that. In these each entry has an id of its own
 * and is below an earlier one, or at the top, so that counting is enough.
 */
#ifndef GROVE_DIGEST_OUTLINE_H
#define GROVE_DIGEST_OUTLINE_H

#include "base/buf.h"
#include "dialect/dialect.h"

struct grove__outline {
	bool irregular;              /* nothing else here counts */
	uint64_t entries, branches, compactions;
	struct grove_buf last;       /* the id of the last entry */
	uint64_t seed;
	struct grove__outline_entry {
		uint64_t hash;       /* of its id; 0: free */
		uint64_t children;
	} *slots;
	size_t cap;
};

/* Zero it before the first one. The memory is kept for the next log. */
void grove__outline_begin(struct grove__outline *o, const struct grove__dialect *dialect);
/* Returns 0 or GROVE_ENOMEM. */
int grove__outline_add(struct grove__outline *o, const struct grove__entry *e);
void grove__outline_release(struct grove__outline *o);

#endif
