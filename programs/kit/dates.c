/*
 * dates.c: dates and times as people write them.
 *
 * A date is first counted in seconds on the clock of its zone, as if that were UTC, and
 * then converted. When clocks go forward, some times of the day do not exist (in some zones
 * midnight); they mean the moment of the change. When clocks go back, some exist twice;
 * they mean the first.
 */
#include "dates.h"

#include <stdio.h>
#include <strings.h>
#include <time.h>

#define MINUTE 60
#define HOUR 3600
#define DAY 86400

/* A zone; `bad` once it turned out not to exist. */
struct zone {
	const char *tz;
	int bad;
};

static int64_t offset_at(struct zone *z, int64_t second)
{
	int offset;

	if (grove_zone_offset(z->tz, second * 1000, &offset))
		z->bad = 1;
	return offset;
}

/* Returns the moment at which the clocks show `clock`, or skip it. */
static int64_t moment_of(struct zone *z, int64_t clock)
{
	int64_t before = clock - offset_at(z, clock - DAY), after = clock - offset_at(z, clock + DAY);
	int64_t first = before < after ? before : after, second = before < after ? after : before;

	if (first + offset_at(z, first) == clock)
		return first;
	if (second + offset_at(z, second) == clock)
		return second;
	/* it is skipped, somewhere between the two */
	while (first < second) {
		int64_t middle = first + (second - first) / 2;

		if (middle + offset_at(z, middle) < clock)
			first = middle + 1;
		else
			second = middle;
	}
	return first;
}

static int64_t floor_div(int64_t a, int64_t b)
{
	return a / b - (a % b < 0);
}

/* Days since 1970; months beyond December continue into the next year. */
static int64_t days_of(int year, int month, int day)
{
	struct tm tm = { .tm_year = year - 1900, .tm_mon = month - 1, .tm_mday = day };

	return floor_div(timegm(&tm), DAY);
}

/* ------------------------------------------------------------------- parsing */

/* Takes exactly this many digits. */
static int take_digits(const char **p, int nr, int *out)
{
	*out = 0;
	for (int i = 0; i < nr; i++) {
		if (**p < '0' || **p > '9')
			return -1;
		*out = *out * 10 + *(*p)++ - '0';
	}
	return 0;
}

/* Takes a part of a date or time after its separator. Returns 1 if there is none. */
static int take_part(const char **p, char separator, int digits, int least, int most, int *out)
{
	if (**p != separator)
		return 1;
	(*p)++;
	return take_digits(p, digits, out) || *out < least || *out > most ? -1 : 0;
}

struct date {
	int year, month, day;      /* 0 if not given */
	int64_t second;            /* of the day; -1 if not given */
	int64_t ms;                /* of the second */
	int zoned;                 /* an offset is given: */
	int64_t offset;
};

static int take_fraction(const char **p, int64_t *ms)
{
	int64_t unit = 100;

	if (**p != '.')
		return 0;
	if ((*p)[1] < '0' || (*p)[1] > '9')
		return -1;
	for ((*p)++; **p >= '0' && **p <= '9'; (*p)++, unit /= 10)
		*ms += unit * (**p - '0');
	return 0;
}

static int take_offset(const char **p, struct date *d)
{
	int sign = **p == '-' ? -1 : 1, hours, minutes = 0;

	if (!**p)
		return 0;
	d->zoned = 1;
	if (**p == 'Z' || **p == 'z') {
		(*p)++;
		return 0;
	}
	if (take_part(p, **p == '-' ? '-' : '+', 2, 0, 23, &hours))
		return -1;
	if (**p == ':')
		(*p)++;
	if (take_digits(p, 2, &minutes) || minutes > 59)
		return -1;
	d->offset = sign * (hours * HOUR + minutes * MINUTE);
	return 0;
}

static int take_time(const char **p, struct date *d)
{
	int hour, minute, second = 0, rc = take_part(p, **p == ' ' || **p == 't' ? **p : 'T', 2, 0, 24, &hour);

	if (rc)
		return rc;
	if (take_part(p, ':', 2, 0, 59, &minute) || take_part(p, ':', 2, 0, 59, &second) < 0 ||
	    take_fraction(p, &d->ms))
		return -1;
	d->second = hour * HOUR + minute * MINUTE + second;
	return d->second > DAY ? -1 : take_offset(p, d);
}

static int parse_date(const char *p, struct date *d)
{
	int rc;

	*d = (struct date){ .second = -1 };
	if (take_digits(&p, 4, &d->year))
		return -1;
	rc = take_part(&p, '-', 2, 1, 12, &d->month);
	rc = rc ? rc : take_part(&p, '-', 2, 1, 31, &d->day);
	/* there is no 31st of February */
	if (!rc && d->day > days_of(d->year, d->month + 1, 1) - days_of(d->year, d->month, 1))
		return -1;
	rc = rc ? rc : take_time(&p, d);
	return rc < 0 || *p ? -1 : 0;
}

/* -------------------------------------------------------------------- spans */

/* The days from `first` up to, but not including, `next`. */
static void days_span(struct zone *z, int64_t first, int64_t next, int64_t *from, int64_t *until)
{
	*from = moment_of(z, first * DAY) * 1000;
	*until = moment_of(z, next * DAY) * 1000;
}

static void date_of(struct zone *z, const struct date *d, int64_t *from, int64_t *until)
{
	int64_t clock;

	if (d->second < 0) {
		days_span(z, days_of(d->year, d->month ? d->month : 1, d->day ? d->day : 1),
			  d->day     ? days_of(d->year, d->month, d->day + 1)
			  : d->month ? days_of(d->year, d->month + 1, 1)
				     : days_of(d->year + 1, 1, 1),
			  from, until);
		return;
	}
	clock = days_of(d->year, d->month, d->day) * DAY + d->second;
	*from = *until = (d->zoned ? clock - d->offset : moment_of(z, clock)) * 1000 + d->ms;
}

/* A time before now. */
static int ago(const char *text, int64_t now, int64_t *from, int64_t *until)
{
	static const struct {
		char unit;
		int64_t seconds;
	} units[] = { { 'm', MINUTE }, { 'h', HOUR }, { 'd', DAY }, { 'w', 7 * DAY } };
	int64_t n = 0;
	const char *p = text;

	while (*p >= '0' && *p <= '9' && p - text < 9)
		n = n * 10 + *p++ - '0';
	if (p == text || !*p || p[1])
		return -1;
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (units[i].unit == *p) {
			*from = *until = now - n * units[i].seconds * 1000;
			return 0;
		}
	return -1;
}

static int named_day(const char *text, struct zone *z, int64_t now, int64_t *from, int64_t *until)
{
	static const char *const weekdays[] = { "sunday", "monday", "tuesday", "wednesday", "thursday",
						"friday", "saturday" };
	int64_t second = floor_div(now, 1000), today = floor_div(second + offset_at(z, second), DAY);
	int64_t day = today + 1;

	if (!strcasecmp(text, "today"))
		day = today;
	else if (!strcasecmp(text, "yesterday"))
		day = today - 1;
	/* 1970 began on a Thursday */
	for (int i = 0; i < 7; i++)
		if (!strcasecmp(text, weekdays[i]))
			day = today - (today + 4 - i + 700000000) % 7;
	if (day > today)
		return -1;
	days_span(z, day, day + 1, from, until);
	return 0;
}

int date_span(const char *text, const char *tz, int64_t now, int64_t *from, int64_t *until)
{
	struct zone z = { tz, 0 };
	struct date d;

	if (ago(text, now, from, until) && named_day(text, &z, now, from, until)) {
		if (parse_date(text, &d))
			return -1;
		date_of(&z, &d, from, until);
	}
	return z.bad ? -1 : 0;
}

static int wrong(const char *option, const char *text, char *why, size_t size)
{
	snprintf(why, size, "--%s: '%.64s' is not a date (try 7d, yesterday, 2026-11 or 2026-11-03T10:00)",
		 option, text);
	return -1;
}

int date_period(const char *since, const char *until, const char *tz, struct grove_period *out,
		char *why, size_t size)
{
	struct timespec t;
	int64_t now, from, to;

	clock_gettime(CLOCK_REALTIME, &t);
	now = (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
	*out = (struct grove_period){ 0, 0 };
	if (since) {
		if (date_span(since, tz, now, &from, &to))
			return wrong("since", since, why, size);
		out->since = from;
	}
	if (until) {
		if (date_span(until, tz, now, &from, &to))
			return wrong("until", until, why, size);
		/* 0 would mean no limit */
		out->until = to ? to : -1;
	}
	return 0;
}
