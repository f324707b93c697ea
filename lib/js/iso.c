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

/* Eight bytes, the first of them lowest. */
static uint64_t load(const char *p)
{
	uint64_t w;

	memcpy(&w, p, sizeof(w));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	w = __builtin_bswap64(w);
#endif
	return w;
}

/*
 * Are these eight bytes those of `form`, but with any digits where `digits` has 0x0f? A digit
 * is '0' with other low bits, to which 6 can be added without a carry.
 */
static bool has_form(const char *p, uint64_t form, uint64_t digits)
{
	const uint64_t six = UINT64_C(0x0606060606060606);
	uint64_t w = load(p);

	return !((w ^ form) & ~digits) && !(((w & digits) + (six & digits)) & digits << 4);
}

/* The number in two digits. */
static unsigned two(const char *p)
{
	return (unsigned)(p[0] - '0') * 10 + (unsigned)(p[1] - '0');
}

bool grove__js_iso_parse(struct grove_slice text, int64_t *ms)
{
	const char *p = text.ptr;
	unsigned month, day, hour, minute, second, milli;

	if (text.len != 24 || !has_form(p, UINT64_C(0x2d30302d30303030), UINT64_C(0x000f0f000f0f0f0f)) || /* 0000-00- */
	    !has_form(p + 8, UINT64_C(0x30303a3030543030), UINT64_C(0x0f0f000f0f000f0f)) ||              /* 00T00:00 */
	    !has_form(p + 16, UINT64_C(0x5a3030302e30303a), UINT64_C(0x000f0f0f000f0f00)))               /* :00.000Z */
		return false;
	month = two(p + 5);
	day = two(p + 8);
	hour = two(p + 11);
	minute = two(p + 14);
	second = two(p + 17);
	milli = two(p + 20) * 10 + (unsigned)(p[22] - '0');
	if (month - 1 > 11 || day - 1 > 30 || hour > 23 || minute > 59 || second > 59)
		return false;
	*ms = grove__js_days(two(p) * 100 + two(p + 2), (int)month, (int)day) * GROVE__JS_MS_DAY +
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
