/*
 * js/iso.c: the calendar, and toISOString there and back.
 *
 * Years are taken to begin on March 1st, so that a leap day is the last day of
 * one, and grouped to eras of 400, after which the calendar repeats: 146097
 * days. From March on the months have 31 30 31 30 31 days, twice, and then what
 * is left; (153 * m + 2) / 5 is the number of days before month m of that order.
 */
#include "js/calendar.h"
#include "js/js.h"

#define ERA_YEARS 400
#define ERA_DAYS 146097
#define EPOCH 719468 /* days from March 1st of the year 0 to 1970-01-01 */

static int64_t floor_div(int64_t n, int64_t by)
{
	return (n >= 0 ? n : n - (by - 1)) / by;
}

int64_t grove__js_days(int64_t year, int month, int day)
{
	int64_t era, y;

	if (month < 3)
		year--;
	month = (month + 9) % 12;
	era = floor_div(year, ERA_YEARS);
	y = year - era * ERA_YEARS;
	return era * ERA_DAYS + y * 365 + y / 4 - y / 100 +
	       (153 * month + 2) / 5 + day - 1 - EPOCH;
}

/* The digits at `at` of a fixed form, or a number above all limits. */
static unsigned field(const char *p, unsigned at, unsigned width)
{
	unsigned n = 0, bad = 0;

	for (p += at; width--; p++) {
		unsigned digit = (unsigned char)*p - (unsigned)'0';

		bad |= digit > 9;
		n = n * 10 + digit;
	}
	return bad ? 10000 : n;
}

bool grove__js_iso_parse(struct grove_slice text, int64_t *ms)
{
	const char *p = text.ptr;
	unsigned year, month, day, hour, minute, second, milli;

	if (text.len != 24 || p[4] != '-' || p[7] != '-' || p[10] != 'T' || p[13] != ':' ||
	    p[16] != ':' || p[19] != '.' || p[23] != 'Z')
		return false;
	year = field(p, 0, 4);
	month = field(p, 5, 2);
	day = field(p, 8, 2);
	hour = field(p, 11, 2);
	minute = field(p, 14, 2);
	second = field(p, 17, 2);
	milli = field(p, 20, 3);
	if (year > 9999 || month - 1 > 11 || day - 1 > 30 || hour > 23 || minute > 59 ||
	    second > 59 || milli > 999)
		return false;
	*ms = grove__js_days(year, (int)month, (int)day) * GROVE__JS_MS_DAY +
	      ((hour * 60 + minute) * 60 + second) * 1000 + milli;
	return true;
}

static char *put_digits(char *p, unsigned n, int width)
{
	int i;

	for (i = width; i--; n /= 10)
		p[i] = (char)('0' + n % 10);
	return p + width;
}

size_t grove__js_iso(char out[GROVE__JS_ISO_MAX], int64_t ms)
{
	int64_t day, era, y, d, year;
	unsigned month, time;
	char *p = out;

	if (!grove__js_in_range(ms, 0))
		return 0;
	day = floor_div(ms, GROVE__JS_MS_DAY);
	time = (unsigned)(ms - day * GROVE__JS_MS_DAY);

	day += EPOCH;
	era = floor_div(day, ERA_DAYS);
	d = day - era * ERA_DAYS;
	/* leap days before this one taken out, but for the last of each kind */
	y = (d - d / 1460 + d / 36524 - d / 146096) / 365;
	d -= y * 365 + y / 4 - y / 100;
	month = (unsigned)((5 * d + 2) / 153);
	d -= (153 * month + 2) / 5;
	month = (month + 2) % 12 + 1;
	year = era * ERA_YEARS + y + (month < 3);

	if (year < 0 || year > 9999) {
		*p++ = year < 0 ? '-' : '+';
		p = put_digits(p, (unsigned)(year < 0 ? -year : year), 6);
	} else {
		p = put_digits(p, (unsigned)year, 4);
	}
	*p++ = '-';
	p = put_digits(p, month, 2);
	*p++ = '-';
	p = put_digits(p, (unsigned)d + 1, 2);
	*p++ = 'T';
	p = put_digits(p, time / 3600000, 2);
	*p++ = ':';
	p = put_digits(p, time / 60000 % 60, 2);
	*p++ = ':';
	p = put_digits(p, time / 1000 % 60, 2);
	*p++ = '.';
	p = put_digits(p, time % 1000, 3);
	*p++ = 'Z';
	return (size_t)(p - out);
}
