/*
 * js/calendar.h: days and dates, shared by what reads and what prints them.
 */
#ifndef GROVE_JS_CALENDAR_H
#define GROVE_JS_CALENDAR_H

#include "base/slice.h"

#include <stdint.h>

#define GROVE__JS_MS_DAY ((int64_t)86400000)
#define GROVE__JS_MS_MAX ((int64_t)8640000000000000)

/* Returns true for a time that a Date can hold, or within this many days of one. */
static inline bool grove__js_in_range(int64_t ms, int64_t days)
{
	days *= GROVE__JS_MS_DAY;
	return ms <= GROVE__JS_MS_MAX + days && ms >= -GROVE__JS_MS_MAX - days;
}

/*
 * Days from 1970-01-01 to a day of the Gregorian calendar, continued backwards
 * to years before it. Months count from 1; a day beyond the month's last runs
 * on into the next.
 */
int64_t grove__js_days(int64_t year, int month, int day);

/*
 * Is `text` a date as toISOString gives it, in a year of four digits? Then *ms
 * gets it. False says nothing: the text may be a date of another form.
 */
bool grove__js_iso_parse(struct grove_slice text, int64_t *ms);

#endif
