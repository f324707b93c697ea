/*
 * sys/zone.c: time zones, by name.
 *
 * The system's functions know one zone, that of the process. A server that is asked for
 * the days of another zone reads the database itself (RFC 8536):
 *
 *	head | the same in 32 bits, which we skip | head
 *	times of changes | for each the type that begins | types | … | \n rule \n
 *
 * The rule is a TZ string as POSIX has it ("CET-1CEST,M3.5.0,M10.5.0/3"), and holds
 * after the last change.
 */
#include "sys/zone.h"

#include "sys/file.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FILE_MAX ((size_t)1 << 20)
#define DAY 86400
#define HEAD 44
#define TYPE 6

/* ------------------------------------------------------------- the calendar */

static int64_t floor_div(int64_t a, int64_t b)
{
	return a / b - (a % b < 0);
}

/* Days from 1970 to the first of a month. */
static int64_t month_begins(int64_t year, int month)
{
	/* counted from March, the leap day comes last */
	int64_t y = month < 3 ? year - 1 : year, era = floor_div(y, 400);
	int m = month < 3 ? month + 9 : month - 3;

	return era * 146097 + (y - era * 400) * 365 + (y - era * 400) / 4 - (y - era * 400) / 100 +
	       (153 * m + 2) / 5 - 719468;
}

static int64_t year_of(int64_t second)
{
	int64_t days = floor_div(second, DAY), year = 1970 + floor_div(days, 366);

	while (month_begins(year + 1, 1) <= days)
		year++;
	return year;
}

static bool is_leap(int64_t year)
{
	return month_begins(year + 1, 1) - month_begins(year, 1) == 366;
}

/* The day of a year on which a rule applies. */
static int64_t day_of(const struct grove__zone_rule *r, int64_t year)
{
	int64_t first, next, day;

	if (r->kind == 'J')
		return month_begins(year, 1) + r->day - 1 + (is_leap(year) && r->day > 59);
	if (r->kind == 'D')
		return month_begins(year, 1) + r->day;
	first = month_begins(year, r->month);
	next = r->month == 12 ? month_begins(year + 1, 1) : month_begins(year, r->month + 1);
	/* 1970-01-01 was a Thursday */
	day = first + (r->day - ((first + 4) % 7 + 7) % 7 + 7) % 7 + 7 * (int64_t)(r->week - 1);
	while (day >= next)
		day -= 7;
	return day;
}

static int32_t recurring_offset(const struct grove__zone *z, int64_t second)
{
	int64_t year = year_of(second + z->offset[0]);
	/* each begins by the clocks of the other */
	int64_t summer = day_of(&z->begin[1], year) * DAY + z->begin[1].second - z->offset[0];
	int64_t winter = day_of(&z->begin[0], year) * DAY + z->begin[0].second - z->offset[1];
	bool is_summer = summer < winter ? second >= summer && second < winter
					 : second >= summer || second < winter;

	return z->offset[is_summer];
}

/* ---------------------------------------------------------------- TZ strings */

static bool take_name(const char **p)
{
	const char *q = *p;

	if (*q == '<') {
		q = strchr(q, '>');
		if (!q)
			return false;
		*p = q + 1;
		return true;
	}
	while ((*q >= 'a' && *q <= 'z') || (*q >= 'A' && *q <= 'Z'))
		q++;
	if (q - *p < 3)
		return false;
	*p = q;
	return true;
}

static bool take_number(const char **p, int most, int *out)
{
	int n = 0, digits = 0;

	for (; **p >= '0' && **p <= '9' && digits < 4; (*p)++, digits++)
		n = n * 10 + (**p - '0');
	*out = n;
	return digits && n <= most;
}

/* [+-]hh[:mm[:ss]] */
static bool take_clock(const char **p, int32_t *out)
{
	int sign = **p == '-' ? -1 : 1, part[3] = { 0 };

	if (**p == '-' || **p == '+')
		(*p)++;
	for (int i = 0; i < 3; i++) {
		if (i && **p != ':')
			break;
		*p += i > 0;
		if (!take_number(p, i ? 59 : 167, &part[i]))
			return false;
	}
	*out = sign * (part[0] * 3600 + part[1] * 60 + part[2]);
	return true;
}

static bool take_day(const char **p, struct grove__zone_rule *r)
{
	r->kind = 'D';
	if (**p == 'M' || **p == 'J')
		r->kind = *(*p)++;
	if (r->kind != 'M')
		return take_number(p, 365, &r->day);
	return take_number(p, 12, &r->month) && r->month && *(*p)++ == '.' &&
	       take_number(p, 5, &r->week) && r->week && *(*p)++ == '.' && take_number(p, 6, &r->day);
}

static bool take_rule(const char **p, struct grove__zone_rule *r)
{
	r->second = 2 * 3600;
	if (*(*p)++ != ',' || !take_day(p, r))
		return false;
	if (**p != '/')
		return true;
	(*p)++;
	return take_clock(p, &r->second);
}

/* West is positive there. */
static bool read_rule(struct grove__zone *z, const char *p)
{
	int32_t west;

	if (!take_name(&p) || !take_clock(&p, &west))
		return false;
	z->offset[0] = z->offset[1] = -west;
	if (!*p)
		return true;
	if (!take_name(&p))
		return false;
	z->offset[1] += 3600;
	if (*p != ',') {
		if (!take_clock(&p, &west))
			return false;
		z->offset[1] = -west;
	}
	z->recurs = true;
	return take_rule(&p, &z->begin[1]) && take_rule(&p, &z->begin[0]) && !*p;
}

/* ----------------------------------------------------------------- the file */

static uint64_t big_endian(const unsigned char *p, int bytes)
{
	uint64_t n = 0;

	for (int i = 0; i < bytes; i++)
		n = n << 8 | p[i];
	return n;
}

struct head {
	uint64_t is_ut, is_std, leaps, changes, types, letters;
};

/* The bytes after a head. 0: this is not one. */
static uint64_t read_head(const unsigned char *p, size_t len, unsigned width, struct head *h)
{
	uint64_t *const member[] = { &h->is_ut, &h->is_std, &h->leaps, &h->changes, &h->types, &h->letters };

	if (len < HEAD || memcmp(p, "TZif", 4))
		return 0;
	for (size_t i = 0; i < 6; i++)
		*member[i] = big_endian(p + 20 + 4 * i, 4);
	if (!h->types)
		return 0;
	return h->changes * (width + 1) + h->types * TYPE + h->letters + h->leaps * (width + 4) + h->is_std + h->is_ut;
}

static int read_spans(struct grove__zone *z, const unsigned char *p, const struct head *h)
{
	const unsigned char *type = p + h->changes * 9;

	z->span = calloc(h->changes + 1, sizeof(*z->span));
	if (!z->span)
		return GROVE_ENOMEM;
	z->nr = h->changes + 1;
	z->span[0] = (struct grove__zone_span){ INT64_MIN, (int32_t)big_endian(type, 4) };
	for (size_t i = 0; i < h->changes; i++) {
		unsigned which = p[h->changes * 8 + i];

		if (which >= h->types)
			return GROVE_EINVAL;
		z->span[i + 1].from = (int64_t)big_endian(p + i * 8, 8);
		z->span[i + 1].offset = (int32_t)big_endian(type + (size_t)which * TYPE, 4);
	}
	return 0;
}

static int read_file(struct grove__zone *z, const struct grove_buf *b)
{
	const unsigned char *p = (const unsigned char *)b->ptr;
	size_t len = b->len;
	struct head h;
	uint64_t n = read_head(p, len, 4, &h);
	char *rule, *end;
	int rc;

	/* version 1 has 32 bits only, and no rule */
	if (!n || p[4] < '2' || n > len - HEAD)
		return GROVE_EINVAL;
	p += HEAD + n;
	len -= HEAD + n;
	n = read_head(p, len, 8, &h);
	if (!n || n >= len - HEAD)
		return GROVE_EINVAL;
	rc = read_spans(z, p + HEAD, &h);
	rule = b->ptr + (b->len - len) + HEAD + n;
	end = *rule == '\n' ? strchr(rule + 1, '\n') : NULL;
	if (rc || !end)
		return rc ? rc : GROVE_EINVAL;
	*end = '\0';
	/* an empty one: the last span continues */
	return !rule[1] || read_rule(z, rule + 1) ? 0 : GROVE_EINVAL;
}

/* ------------------------------------------------------------------- a zone */

static int one_span(struct grove__zone *z, int32_t offset)
{
	z->span = calloc(1, sizeof(*z->span));
	if (!z->span)
		return GROVE_ENOMEM;
	z->span[0] = (struct grove__zone_span){ INT64_MIN, offset };
	z->nr = 1;
	return 0;
}

/* A path within the database, and nowhere else. */
static bool is_name(const char *name)
{
	return strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-_/") == strlen(name) &&
	       *name != '/' && strlen(name) < 64;
}

static int read_named(struct grove__zone *z, const char *name)
{
	struct grove_buf path = GROVE_BUF_INIT, bytes = GROVE_BUF_INIT;
	const char *dir = getenv("TZDIR");
	int rc = grove__buf_addf(&path, "%s/%s", dir && *dir ? dir : "/usr/share/zoneinfo", name);

	if (!rc && grove__sys_read_small(path.ptr, FILE_MAX, &bytes, NULL))
		rc = GROVE_EINVAL;
	rc = rc ? rc : read_file(z, &bytes);
	grove__buf_release(&path);
	grove__buf_release(&bytes);
	return rc;
}

int grove__zone_open(struct grove__zone *z, const char *name)
{
	const char *p = name;
	int32_t offset = 0;

	*z = (struct grove__zone){ .own = name && !*name };
	if (z->own) {
		tzset();
		return 0;
	}
	if (!name || !strcmp(name, "UTC") || !strcmp(name, "Z"))
		return one_span(z, 0);
	if (*p == '+' || *p == '-')
		return take_clock(&p, &offset) && !*p && offset > -DAY && offset < DAY ? one_span(z, offset)
										       : GROVE_EINVAL;
	return is_name(name) ? read_named(z, name) : GROVE_EINVAL;
}

void grove__zone_release(struct grove__zone *z)
{
	free(z->span);
	*z = (struct grove__zone){ 0 };
}

static int32_t own_offset(int64_t second)
{
	time_t t = (time_t)second;
	struct tm tm;

	return localtime_r(&t, &tm) ? (int32_t)tm.tm_gmtoff : 0;
}

int32_t grove__zone_offset(const struct grove__zone *z, int64_t ms)
{
	int64_t second = floor_div(ms, 1000);
	size_t low = 0, high = z->nr;

	if (z->own)
		return own_offset(second);
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (z->span[middle].from <= second)
			low = middle;
		else
			high = middle;
	}
	if (low + 1 == z->nr && z->recurs)
		return recurring_offset(z, second);
	return z->span[low].offset;
}
