/*
 * usage/usage_rows.h: which row of the result a reply counts in.
 */
#ifndef GROVE_USAGE_USAGE_ROWS_H
#define GROVE_USAGE_USAGE_ROWS_H

#include "base/idmap.h"
#include "sys/zone.h"
#include "usage/usage.h"
#include "usage/usage_logs.h"

/* A window in which the plans of an agent count. */
struct grove__usage_block {
	int64_t begin, first;            /* the full hour, and its first reply */
};

struct grove__usage_rows {
	struct grove_usage *out;
	enum grove_usage_by by;
	const struct grove__usage_logs *logs;
	struct grove__idmap map;             /* from a key to its row */
	uint32_t *of_model, *of_log;         /* rows; GROVE__IDMAP_NONE: not looked up yet */
	const struct grove__zone *zone;      /* of days */
	int64_t day, day_end;                /* of the last reply: first ms, and the next day's */
	uint32_t day_row;                    /* GROVE__IDMAP_NONE: there was none */
	struct grove__usage_block *blocks;   /* in order */
	size_t nr_blocks;
};

/* All that is pointed to must stay; release it even after a failure. GROVE_ENOMEM. */
int grove__usage_rows_init(struct grove__usage_rows *rs, struct grove_usage *out, enum grove_usage_by by,
			   const struct grove__usage_logs *logs, const struct grove__zone *zone);
void grove__usage_rows_release(struct grove__usage_rows *rs);
/*
 * Finds the row of `out` for a reply, or adds it. *row is GROVE__IDMAP_NONE if the reply
 * counts in none. GROVE_ENOMEM.
 */
int grove__usage_rows_find(struct grove__usage_rows *rs, const struct grove__reply *r, uint32_t *row);
/* True if the keys are times. */
bool grove__usage_rows_by_time(enum grove_usage_by by);

#endif
