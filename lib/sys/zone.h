/*
 * sys/zone.h: time zones, by name.
 */
#ifndef GROVE_SYS_ZONE_H
#define GROVE_SYS_ZONE_H

#include "base/buf.h"

#include <stdint.h>

/* From one change of the clocks to the next. */
struct grove__zone_span {
	int64_t from;             /* seconds since 1970; the first span has no beginning */
	int32_t offset;           /* seconds to add to UTC */
};

/* A change of the clocks that recurs every year. */
struct grove__zone_rule {
	char kind;                /* 'M' month, week and day; 'J' days without a 29th of February; 'D' days from 0 */
	int month, week, day;
	int32_t second;           /* of that day, local time before the change */
};

struct grove__zone {
	bool own;                 /* that of this process: the system knows */
	struct grove__zone_span *span;
	size_t nr;
	/* After the last span: two offsets, and the days on which they begin. */
	bool recurs;
	int32_t offset[2];        /* standard time, summer time */
	struct grove__zone_rule begin[2];
};

/*
 * Opens a zone: NULL or "UTC", "" (that of this process), an offset ("+02:00"), or a
 * name in the system's database ("Europe/Berlin"). Returns 0; GROVE_EINVAL for a zone
 * that is not known; GROVE_ENOMEM. Release it in any case.
 */
int grove__zone_open(struct grove__zone *z, const char *name);
void grove__zone_release(struct grove__zone *z);
/* Returns how far local time is ahead of UTC at `ms` since 1970, in seconds. */
int32_t grove__zone_offset(const struct grove__zone *z, int64_t ms);

#endif
