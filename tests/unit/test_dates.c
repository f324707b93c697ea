/*
 * Tests dates and times as users write them, in many kinds of time zones.
 *
 * The expected values were computed by hand from the rules of each zone. If the system
 * has no time zone database, only the zones that need none are tested.
 */
#include "../../programs/kit/dates.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../lib/chance.h"

/* Of "2026-05-03T09:00:00Z". */
static int64_t at(const char *iso)
{
	struct tm tm = { 0 };

	assert_non_null(strptime(iso, "%Y-%m-%dT%H:%M:%SZ", &tm));
	return (int64_t)timegm(&tm) * 1000;
}

static int is_known(const char *tz)
{
	int offset;

	return !grove_zone_offset(tz, 0, &offset);
}

struct wanted {
	const char *tz, *now, *text, *from, *until;
};

static void check(const struct wanted *w)
{
	int64_t from, until;

	if (!is_known(w->tz)) {
		print_message("%s is not known here\n", w->tz);
		return;
	}
	if (date_span(w->text, w->tz, at(w->now), &from, &until))
		fail_msg("%s is not understood", w->text);
	if (from != at(w->from) || until != at(w->until ? w->until : w->from))
		fail_msg("%s in %s: %lld to %lld", w->text, w->tz, (long long)from, (long long)until);
}

static void so_long_ago_is_a_moment(void **state)
{
	static const struct wanted all[] = {
		{ "UTC", "2026-11-16T12:00:00Z", "90m", "2026-11-16T10:30:00Z" },
		{ "UTC", "2026-11-16T12:00:00Z", "12h", "2026-11-16T00:00:00Z" },
		{ "Europe/Berlin", "2026-11-16T12:00:00Z", "7d", "2026-11-09T12:00:00Z" },
		{ "Europe/Berlin", "2026-11-16T12:00:00Z", "2w", "2026-11-02T12:00:00Z" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		check(&all[i]);
}

static void a_day_is_the_latest_of_its_name(void **state)
{
	/* 2026-11-16 is a Monday; in Auckland it is Tuesday already */
	static const struct wanted all[] = {
		{ "UTC", "2026-11-16T12:00:00Z", "today", "2026-11-16T00:00:00Z", "2026-11-17T00:00:00Z" },
		{ "UTC", "2026-11-16T12:00:00Z", "yesterday", "2026-11-15T00:00:00Z", "2026-11-16T00:00:00Z" },
		{ "UTC", "2026-11-16T12:00:00Z", "monday", "2026-11-16T00:00:00Z", "2026-11-17T00:00:00Z" },
		{ "UTC", "2026-11-16T12:00:00Z", "Tuesday", "2026-11-10T00:00:00Z", "2026-11-11T00:00:00Z" },
		{ "UTC", "2026-11-16T12:00:00Z", "sunday", "2026-11-15T00:00:00Z", "2026-11-16T00:00:00Z" },
		{ "UTC", "1969-12-31T12:00:00Z", "thursday", "1969-12-25T00:00:00Z", "1969-12-26T00:00:00Z" },
		{ "Pacific/Auckland", "2026-11-16T12:00:00Z", "today", "2026-11-16T11:00:00Z", "2026-11-17T11:00:00Z" },
		{ "Pacific/Auckland", "2026-11-16T12:00:00Z", "monday", "2026-11-15T11:00:00Z", "2026-11-16T11:00:00Z" },
		{ "America/Los_Angeles", "2026-11-16T07:00:00Z", "today", "2026-11-15T08:00:00Z", "2026-11-16T08:00:00Z" },
		{ "+05:45", "2026-11-16T12:00:00Z", "today", "2026-11-15T18:15:00Z", "2026-11-16T18:15:00Z" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		check(&all[i]);
}

static void a_date_lasts_as_long_as_it_says(void **state)
{
	static const struct wanted all[] = {
		{ "UTC", "2026-11-16T12:00:00Z", "2026", "2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z" },
		{ "UTC", "2026-11-16T12:00:00Z", "2026-12", "2026-12-01T00:00:00Z", "2027-01-01T00:00:00Z" },
		{ "UTC", "2026-11-16T12:00:00Z", "2024-02", "2024-02-01T00:00:00Z", "2024-03-01T00:00:00Z" },
		{ "UTC", "2026-11-16T12:00:00Z", "2024-02-29", "2024-02-29T00:00:00Z", "2024-03-01T00:00:00Z" },
		{ "Europe/Berlin", "2026-11-16T12:00:00Z", "2026", "2025-12-31T23:00:00Z", "2026-12-31T23:00:00Z" },
		{ "Europe/Berlin", "2026-11-16T12:00:00Z", "2026-10", "2026-09-30T22:00:00Z", "2026-10-31T23:00:00Z" },
		{ "Asia/Kathmandu", "2026-11-16T12:00:00Z", "2026-11-03", "2026-11-02T18:15:00Z", "2026-11-03T18:15:00Z" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		check(&all[i]);
}

static void a_time_is_local_unless_it_says_otherwise(void **state)
{
	static const struct wanted all[] = {
		{ "Europe/Berlin", "2026-11-16T12:00:00Z", "2026-11-03T10:00", "2026-11-03T09:00:00Z" },
		{ "Europe/Berlin", "2026-11-16T12:00:00Z", "2026-11-03 10:00:30", "2026-11-03T09:00:30Z" },
		{ "Europe/Berlin", "2026-11-16T12:00:00Z", "2026-11-03T10:00Z", "2026-11-03T10:00:00Z" },
		{ "Europe/Berlin", "2026-11-16T12:00:00Z", "2026-11-03T10:00:00.000Z", "2026-11-03T10:00:00Z" },
		{ "Europe/Berlin", "2026-11-16T12:00:00Z", "2026-11-03T10:00:00-05:00", "2026-11-03T15:00:00Z" },
		{ "Europe/Berlin", "2026-11-16T12:00:00Z", "2026-11-03T24:00", "2026-11-03T23:00:00Z" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		check(&all[i]);
}

/* Days of 23, 25 and 23½ hours, days without a midnight or with two, and one that was left out. */
static void days_are_whole_when_clocks_change(void **state)
{
	static const struct wanted all[] = {
		{ "Europe/Berlin", "2026-11-16T12:00:00Z", "2026-03-29", "2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z" },
		{ "Europe/Berlin", "2026-11-16T12:00:00Z", "2026-10-25", "2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z" },
		{ "America/New_York", "2026-11-16T12:00:00Z", "2026-11-01", "2026-11-01T04:00:00Z", "2026-11-02T05:00:00Z" },
		{ "Australia/Lord_Howe", "2026-11-16T12:00:00Z", "2026-10-04", "2026-10-03T13:30:00Z", "2026-10-04T13:00:00Z" },
		/* years for which the files have only a rule */
		{ "Europe/Berlin", "2026-11-16T12:00:00Z", "2045-07-01", "2045-06-30T22:00:00Z", "2045-07-01T22:00:00Z" },
		{ "Europe/Berlin", "2026-11-16T12:00:00Z", "2045-12-01", "2045-11-30T23:00:00Z", "2045-12-01T23:00:00Z" },
		{ "Pacific/Auckland", "2026-11-16T12:00:00Z", "2045-01-01", "2044-12-31T11:00:00Z", "2045-01-01T11:00:00Z" },
		/* the clocks went from midnight to one */
		{ "America/Sao_Paulo", "2026-11-16T12:00:00Z", "2018-11-04", "2018-11-04T03:00:00Z", "2018-11-05T02:00:00Z" },
		/* … and from one back to midnight */
		{ "America/Havana", "2026-11-16T12:00:00Z", "2018-11-04", "2018-11-04T04:00:00Z", "2018-11-05T05:00:00Z" },
		/* no such day in Samoa */
		{ "Pacific/Apia", "2026-11-16T12:00:00Z", "2011-12-30", "2011-12-30T10:00:00Z", "2011-12-30T10:00:00Z" },
		/* a time that was skipped, and one that came twice */
		{ "Europe/Berlin", "2026-11-16T12:00:00Z", "2026-03-29T02:30", "2026-03-29T01:00:00Z" },
		{ "Europe/Berlin", "2026-11-16T12:00:00Z", "2026-10-25T02:30", "2026-10-25T00:30:00Z" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		check(&all[i]);
}

/* "" is the zone of the process, which is the same as by its name. */
static void the_own_zone_is_that_of_the_process(void **state)
{
	static const char *const zones[] = { "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Tehran",
					     "Africa/Casablanca", "America/Caracas", "Europe/Dublin" };

	(void)state;
	for (size_t i = 0; i < sizeof(zones) / sizeof(*zones); i++) {
		if (!is_known(zones[i]))
			continue;
		setenv("TZ", zones[i], 1);
		/* every 11 hours and 7 minutes, from 1969 to 2060 */
		for (int64_t s = -365 * (int64_t)DAY; s < 91 * 365 * (int64_t)DAY; s += 11 * HOUR + 7 * MINUTE + 3) {
			int named = 0, own = 1;

			/* one in a hundred: opening a zone is slow */
			if (s / (11 * HOUR) % 100)
				continue;
			assert_int_equal(grove_zone_offset(zones[i], s * 1000, &named), 0);
			assert_int_equal(grove_zone_offset("", s * 1000, &own), 0);
			if (named != own)
				fail_msg("%s at %lld: %d, not %d", zones[i], (long long)s, named, own);
		}
	}
	unsetenv("TZ");
	tzset();
}

/* The local time at a moment, by the C library. */
static struct tm local(int64_t ms)
{
	time_t second = (time_t)floor_div(ms, 1000);
	struct tm tm;

	localtime_r(&second, &tm);
	return tm;
}

/* What `format` makes of the moments within a span is `name`, and of those around it something else. */
static void check_span(const char *text, const char *format, const char *name, const char *tz, int64_t now,
		       int64_t inside)
{
	int64_t from, until, moments[4];
	char got[64];

	if (date_span(text, tz, now, &from, &until))
		fail_msg("%s is not understood", text);
	if (inside < from || inside >= until)
		fail_msg("%s in %s: %lld is not in it", text, tz, (long long)inside);
	moments[0] = from - 1;
	moments[1] = from;
	moments[2] = until - 1;
	moments[3] = until;
	for (int i = 0; i < 4; i++) {
		struct tm tm = local(moments[i]);

		strftime(got, sizeof(got), format, &tm);
		if (!strcmp(got, name) != (i == 1 || i == 2))
			fail_msg("%s in %s at %lld: %s at %lld", text, tz, (long long)now, got, (long long)moments[i]);
	}
}

/* Each moment is in its day, month and year, and these begin and end where the clocks say so. */
static void every_day_is_as_long_as_by_the_clocks(void **state)
{
	static const char *const zones[] = { "UTC", "Europe/Berlin", "America/New_York", "America/Sao_Paulo",
					     "America/Havana", "Australia/Lord_Howe", "Asia/Kathmandu",
					     "Pacific/Auckland", "Pacific/Apia", "Africa/Casablanca", "Asia/Beirut" };
	struct chance c = chance_begin("dates");

	(void)state;
	for (size_t i = 0; i < sizeof(zones) / sizeof(*zones); i++) {
		if (!is_known(zones[i]))
			continue;
		setenv("TZ", zones[i], 1);
		tzset();
		for (int n = 0; n < 300; n++) {
			/* from 1995 to 2055; one in two near the end of a month, when clocks change */
			int64_t day = 9131 + chance_below(&c, 60 * 365), now;
			char text[64], today[64];
			struct tm tm;

			if (n % 2)
				day = days_of(1995 + (int)chance_below(&c, 60), 1 + (int)chance_below(&c, 12), 1) -
				      chance_below(&c, 9);
			now = (day * DAY + chance_below(&c, DAY)) * 1000 + chance_below(&c, 1000);
			tm = local(now);
			strftime(today, sizeof(today), "%Y-%m-%d", &tm);
			check_span(today, "%Y-%m-%d", today, zones[i], now, now);
			check_span("today", "%Y-%m-%d", today, zones[i], now, now);
			strftime(text, sizeof(text), "%Y-%m", &tm);
			check_span(text, "%Y-%m", text, zones[i], now, now);
			strftime(text, sizeof(text), "%Y", &tm);
			check_span(text, "%Y", text, zones[i], now, now);
			strftime(text, sizeof(text), "%A", &tm);
			check_span(text, "%Y-%m-%d", today, zones[i], now + chance_below(&c, 4) * (int64_t)DAY * 1000, now);
		}
	}
	unsetenv("TZ");
	tzset();
}

static void what_is_no_date_is_refused(void **state)
{
	static const char *const all[] = { "", "7", "d", "7y", "-7d", "1000000000d", "7 d", "tomorrow", "mon", "26", "202", "20266",
					   "2026-", "2026-13", "2026-00", "2026-1", "2026-02-30", "2025-02-29", "2026-11-031",
					   "2026-11-03T", "2026-11-03T10", "2026-11-03T25:00", "2026-11-03T10:60",
					   "2026-11-03T24:01", "2026-11-03T10:00:00.", "2026-11-03T10:00+2", "2026-11-03T10:00ZZ",
					   "2026-11T10:00", "10:00", "2026-11-03T10:00:00Z " };
	struct grove_period p;
	int64_t from, until;
	char why[256];

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (!date_span(all[i], "UTC", 0, &from, &until))
			fail_msg("'%s' was taken", all[i]);
	assert_int_equal(date_span("2026", "Nowhere/Else", 0, &from, &until), -1);
	assert_int_equal(date_period(NULL, "soon", "UTC", &p, why, sizeof(why)), -1);
	assert_string_equal(why, "--until: 'soon' is not a date (try 7d, yesterday, 2026-11 or 2026-11-03T10:00)");
}

static void a_period_includes_both_ends(void **state)
{
	struct grove_period p;
	char why[256];

	(void)state;
	assert_int_equal(date_period("2026-10", "2026-11", "UTC", &p, why, sizeof(why)), 0);
	assert_true(p.since == at("2026-10-01T00:00:00Z") && p.until == at("2026-12-01T00:00:00Z"));
	assert_int_equal(date_period(NULL, NULL, "UTC", &p, why, sizeof(why)), 0);
	assert_true(!p.since && !p.until);
	/* before 1970 is not any time */
	assert_int_equal(date_period(NULL, "1969", "UTC", &p, why, sizeof(why)), 0);
	assert_true(p.until < 0);
}

static void a_zone_that_is_not_known_is_refused(void **state)
{
	static const char *const all[] = { "Nowhere", "../../etc/passwd", "/etc/passwd", "Europe", "+25:00", "+2:", "Europe/Berlin\n" };
	int offset;

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		assert_int_equal(grove_zone_offset(all[i], 0, &offset), GROVE_EINVAL);
	assert_int_equal(grove_zone_offset("-03:30", 0, &offset), 0);
	assert_int_equal(offset, -12600);
	assert_int_equal(grove_zone_offset(NULL, 0, &offset), 0);
	assert_int_equal(offset, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(so_long_ago_is_a_moment),
		cmocka_unit_test(a_day_is_the_latest_of_its_name),
		cmocka_unit_test(a_date_lasts_as_long_as_it_says),
		cmocka_unit_test(a_time_is_local_unless_it_says_otherwise),
		cmocka_unit_test(days_are_whole_when_clocks_change),
		cmocka_unit_test(the_own_zone_is_that_of_the_process),
		cmocka_unit_test(every_day_is_as_long_as_by_the_clocks),
		cmocka_unit_test(what_is_no_date_is_refused),
		cmocka_unit_test(a_period_includes_both_ends),
		cmocka_unit_test(a_zone_that_is_not_known_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
