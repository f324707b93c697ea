/*
 * dates.h: dates and times as people write them.
 *
 *	90m 12h 7d 2w                  this long ago
 *	today yesterday monday…sunday  the latest such day; today counts
 *	2026, 2026-11, 2026-11-03      a year, a month, a day
 *	2026-11-03T10:00[:00][Z]       a time; also with an offset, +02:00
 *
 * Days are those of a time zone, named as for grove_zone_offset().
 */
#ifndef PROGRAMS_DATES_H
#define PROGRAMS_DATES_H

#include <grove.h>

/*
 * Gets the beginning and end of the named time: a day, a month or a year; for a moment,
 * *from is *until. `now` is in ms. Returns 0, or -1 for anything else.
 */
int date_span(const char *text, const char *tz, int64_t now, int64_t *from, int64_t *until);

/*
 * Makes a period of --since and --until (NULL if not given), which includes the day, month
 * or year that either names. Returns 0, or -1 and a message in `why`.
 */
int date_period(const char *since, const char *until, const char *tz, struct grove_period *out,
		char *why, size_t size);

#endif
