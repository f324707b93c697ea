/*
 * tests/unit/test_js.c: lengths, numbers and dates as JavaScript handles them.
 *
 * All expected results are those of a JavaScript engine; tests/diff compares
 * many more.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include <float.h>
#include <locale.h>
#include <time.h>

#include "js/calendar.h"
#include "js/js.h"

#define str grove__slice_str
#define NR(a) (sizeof(a) / sizeof *(a))

static void assert_number(double d, const char *expect)
{
	char out[GROVE__JS_NUMBER_MAX];
	size_t len = grove__js_number(out, d);

	assert_int_equal(len, strlen(expect));
	assert_memory_equal(out, expect, len);
}

/* NULL: a double cannot hold it. */
static void assert_canonical(const char *literal, const char *expect)
{
	char out[GROVE__JS_NUMBER_MAX];
	size_t len = grove__js_number_canonical(out, str(literal));

	assert_int_equal(len, expect ? strlen(expect) : 0);
	if (expect)
		assert_memory_equal(out, expect, len);
}

static void assert_trimmed(const char *text, const char *expect)
{
	struct grove_slice s = grove__js_trim(str(text));

	assert_int_equal(s.len, strlen(expect));
	assert_memory_equal(s.ptr, expect, s.len);
}

static void assert_iso(int64_t ms, const char *expect)
{
	char out[GROVE__JS_ISO_MAX];
	size_t len = grove__js_iso(out, ms);

	assert_int_equal(len, strlen(expect));
	assert_memory_equal(out, expect, len);
}

static void set_zone(const char *zone)
{
	assert_int_equal(setenv("TZ", zone, 1), 0);
	tzset();
}

static void length_counts_utf16_units(void **state)
{
	(void)state;
	assert_int_equal(grove__js_length(str("")), 0);
	assert_int_equal(grove__js_length(grove__slice(NULL, 0)), 0);
	assert_int_equal(grove__js_length(str("abc")), 3);
	assert_int_equal(grove__js_length(str("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80")), 4);
	assert_int_equal(grove__js_length(str("\xed\xa0\xbd")), 1);
	assert_int_equal(grove__js_length(str("\xed\xa0\xbd\xed\xb8\x80")), 2);
	assert_int_equal(grove__js_length(str("a\xff\xe2\x82z")), 4);
}

static void trim_takes_unicode_space_from_both_ends(void **state)
{
	(void)state;
	assert_trimmed("", "");
	assert_trimmed(" \t\n\v\f\r ", "");
	assert_trimmed("\xef\xbb\xbf\xc2\xa0 a b \xe3\x80\x80\xe2\x80\xa8", "a b");
	assert_trimmed("\xe2\x80\x8bx\xe2\x80\x8b", "\xe2\x80\x8bx\xe2\x80\x8b"); /* zero width is no space */
	assert_trimmed("x\xc2\x85", "x\xc2\x85");
	assert_trimmed("\x80\xa0", "\x80\xa0");
	assert_trimmed(" \xe2\xc2\xa0", "\xe2");
	assert_int_equal(grove__js_trim(grove__slice(NULL, 0)).len, 0);
}

static void numbers_print_in_their_shortest_form(void **state)
{
	double zero = 0;

	(void)state;
	assert_number(0, "0");
	assert_number(-zero, "0");
	assert_number(-1.5, "-1.5");
	assert_number(0.1 + 0.2, "0.30000000000000004");
	assert_number(1e21, "1e+21");
	assert_number(123456789012345680000.0, "123456789012345680000");
	assert_number(0.000001, "0.000001");
	assert_number(1e-7, "1e-7");
	assert_number(-1.25e-9, "-1.25e-9");
	assert_number(5e-324, "5e-324");
	assert_number(DBL_MAX, "1.7976931348623157e+308");
	assert_number(DBL_MIN, "2.2250738585072014e-308");
	assert_number(9007199254740991.0, "9007199254740991");
	assert_number(9007199254740992.0, "9007199254740992");
	assert_number(-0.000001234567890123456, "-0.000001234567890123456");
	/* below a power of two the nearest 16 digits belong to its neighbour */
	assert_number(0x1p-44, "5.684341886080802e-14");
	assert_number(1e23, "1e+23");
	assert_number(1 / zero, "Infinity");
	assert_number(-1 / zero, "-Infinity");
	assert_number(zero / zero, "NaN");
}

static void every_double_reads_back_from_its_form(void **state)
{
	uint64_t bits = 1;
	int i;

	(void)state;
	for (i = 0; i < 200000; i++) {
		char out[GROVE__JS_NUMBER_MAX];
		double d, back;
		uint64_t b;
		size_t len;

		bits = bits * 6364136223846793005u + 1442695040888963407u;
		b = bits;
		memcpy(&d, &b, sizeof d);
		if (d - d != 0)
			continue;
		len = grove__js_number(out, d);
		back = grove__js_parse_number(grove__slice(out, len));
		assert_true(back == d);
	}
}

static void literals_are_rounded_correctly(void **state)
{
	static const struct { const char *text; double value; } cases[] = {
		{ "0", 0 }, { "1", 1 }, { "-12.5e1", -125 }, { "+.5", 0.5 }, { "5.", 5 },
		{ "9007199254740993", 9007199254740992.0 },
		{ "9007199254740993.00000000000000000000000000000000001", 9007199254740994.0 },
		{ "9007199254740995", 9007199254740996.0 },
		{ "1.7976931348623158e308", DBL_MAX },
		{ "2.4703282292062327e-324", 0 },
		{ "2.4703282292062328e-324", 5e-324 },
		{ "2.2250738585072011e-308", 0x0.fffffffffffffp-1022 },
		{ "0.000000000000000000000000000001e30", 1 },
		{ "1e23", 1e23 }, { "8.5e22", 8.5e22 },
	};
	static const char *const bad[] = { "", "-", ".", "e5", "1e", "1e+", "1x", " 1", "0x10", "1.2.3", "Infinity" };
	size_t i;

	(void)state;
	for (i = 0; i < NR(cases); i++)
		assert_true(grove__js_parse_number(str(cases[i].text)) == cases[i].value);
	assert_true(grove__js_parse_number(str("1e400")) > DBL_MAX);
	assert_true(grove__js_parse_number(str("-1.7976931348623159e308")) < -DBL_MAX);
	assert_true(grove__js_parse_number(str("1e-99999999999999999999")) == 0);
	for (i = 0; i < NR(bad); i++) {
		double d = grove__js_parse_number(str(bad[i]));

		assert_true(d != d);
	}
	assert_true(1 / grove__js_parse_number(str("-0")) < 0);
	assert_true(grove__js_parse_number(grove__slice(NULL, 0)) !=
		    grove__js_parse_number(grove__slice(NULL, 0)));
}

static void numbers_do_not_care_for_the_locale(void **state)
{
	(void)state;
	if (!setlocale(LC_ALL, "de_AT.UTF-8") && !setlocale(LC_ALL, "de_DE.UTF-8"))
		skip();
	assert_number(1.5, "1.5");
	assert_true(grove__js_parse_number(str("1.5")) == 1.5);
	setlocale(LC_ALL, "C");
}

static void canonical_spelling_needs_an_unchanged_value(void **state)
{
	(void)state;
	assert_canonical("1.0", "1");
	assert_canonical("1e3", "1000");
	assert_canonical("-0", "0");
	assert_canonical("-0.0e7", "0");
	assert_canonical("0.10", "0.1");
	assert_canonical("1E5", "100000");
	assert_canonical("1e21", "1e+21");
	assert_canonical("1e-7", "1e-7");
	assert_canonical("-12.50", "-12.5");
	assert_canonical("123456789012345680000", "123456789012345680000");
	assert_canonical("0.30000000000000004", "0.30000000000000004");
	assert_canonical("5e-324", "5e-324");
	assert_canonical("1.7976931348623157e308", "1.7976931348623157e+308");
	assert_canonical("12345678901234567890", NULL);
	assert_canonical("9007199254740993", NULL);
	assert_canonical("1152921504606846976", NULL);
	assert_canonical("1e400", NULL);
	assert_canonical("1e-400", NULL);
	assert_canonical("3e-324", NULL);
	assert_canonical("0.1234567890123456789", NULL);
	assert_canonical("0.30000000000000005", NULL);
}

static void an_index_is_what_sorts_first_among_keys(void **state)
{
	static const char *const no[] = { "", "00", "01", "-1", "1.0", "4294967295", "4294967296", "10000000000", "1a", " 1" };
	uint32_t index;
	size_t i;

	(void)state;
	assert_true(grove__js_is_index(str("0"), &index));
	assert_int_equal(index, 0);
	assert_true(grove__js_is_index(str("4294967294"), &index));
	assert_true(index == 4294967294u);
	for (i = 0; i < NR(no); i++)
		assert_false(grove__js_is_index(str(no[i]), &index));
}

struct date_case {
	const char *text;
	int64_t ms;
};

static void assert_dates(const struct date_case *cases, size_t nr)
{
	size_t i;

	for (i = 0; i < nr; i++) {
		int64_t ms = grove__js_date_parse(str(cases[i].text));

		if (ms != cases[i].ms)
			fail_msg("%s: %lld, not %lld", cases[i].text, (long long)ms, (long long)cases[i].ms);
	}
}

#define NAN_DATE GROVE__JS_NAN_DATE

static void dates_of_the_standard_are_read(void **state)
{
	static const struct date_case cases[] = {
		{ "2026-05-03T09:00:00.123Z", 1777798800123 },
		{ "2026-05-03T09:00:00Z", 1777798800000 },
		{ "2026-05-03t09:00:00z", 1777798800000 },
		{ "2026-05-03T09:00Z", 1777798800000 },
		{ "2026-05-03T09:00:00.1239999Z", 1777798800123 },
		{ "2026-05-03T09:00:00.1Z", 1777798800100 },
		{ "2026-05-03T09:00:00+02:00", 1777791600000 },
		{ "2026-05-03T09:00:00+0200", 1777791600000 },
		{ "2026-05-03T24:00:00Z", 1777852800000 },
		{ "2026-05-03", 1777766400000 },
		{ "2026-05", 1777593600000 },
		{ "2026", 1767225600000 },
		{ "2026-02-30", 1772409600000 },  /* runs on to March 2nd */
		{ "2026-02-30T00:00:00.000Z", 1772409600000 },
		{ "1969-12-31T23:59:59.999Z", -1 },
		{ "+002026-05", 1777593600000 },
		{ "+275760-09-13T00:00:00.000Z", 8640000000000000 },
		{ "-271821-04-20", -8640000000000000 },
		{ "+275760-09-13T00:00:00.001Z", NAN_DATE },
		{ "2026-13-01", NAN_DATE }, { "2026-00-01", NAN_DATE }, { "2026-02-32", NAN_DATE },
		{ "2026-05-03T24:00:00.001Z", NAN_DATE }, { "2026-05-03T09:60Z", NAN_DATE },
		{ "2026-05-03T09:00:60Z", NAN_DATE }, { "2026-05-03T", NAN_DATE },
		{ "2026-05-03T09", NAN_DATE }, { "2026-05-03T09:00+02", NAN_DATE },
		{ "2026-05-03T09:00:00Z ", NAN_DATE }, { "2026-05-03T09:00:00.Z", NAN_DATE },
		{ "2026-05-03T09:00:00,5Z", NAN_DATE }, { "", NAN_DATE }, { "20260503", NAN_DATE },
		{ "2026-05-03T09:00:00.000+24:00", NAN_DATE }, { "-000000", NAN_DATE },
	};

	(void)state;
	assert_dates(cases, NR(cases));
	assert_true(grove__js_date_parse(grove__slice(NULL, 0)) == NAN_DATE);
}

static void dates_as_people_and_logs_write_them_are_read(void **state)
{
	static const struct date_case cases[] = {
		{ "Sun May 03 2026 09:00:00 GMT+0200 (CEST)", 1777791600000 },
		{ "Sun, 03 May 2026 09:00:00 GMT", 1777798800000 },
		{ "2026-05-03 09:00:00Z", 1777798800000 },
		{ "2026-05-03 09:00:00.5+02:00", 1777791600500 },
		{ "3 May 2026 09:00 UTC", 1777798800000 },
		{ "May 3, 2026 9:00 AM UTC", 1777798800000 },
		{ "5/3/2026 9:00:00 PM GMT", 1777842000000 },
		{ "1/1/2000 10:20:30.4567 PST", 946750830456 },
		{ "yesterday", NAN_DATE }, { "2026-05-03 noon", NAN_DATE }, { "May", NAN_DATE },
		{ "1/1/999999999 5:00Z", NAN_DATE },
	};

	(void)state;
	assert_dates(cases, NR(cases));
}

static void dates_without_a_zone_are_local(void **state)
{
	/* written as a rule, so that no zone has to be installed */
	static const char vienna[] = "CET-1CEST,M3.5.0,M10.5.0/3";
	static const struct date_case cases[] = {
		{ "2026-05-03T09:00:00", 1777791600000 }, /* summer */
		{ "2026-01-03T09:00:00", 1767427200000 }, /* winter */
		{ "2026-05-03 09:00:00", 1777791600000 },
		{ "2026/05/03", 1777759200000 },
		{ "May 3, 2026", 1777759200000 },
		{ "2026-05-03", 1777766400000 },          /* but a date alone is not */
		{ "2026-03-29T01:59:59", 1774745999000 },
		{ "2026-03-29T02:30:00", 1774747800000 }, /* shown by no clock: as if winter went on */
		{ "2026-03-29T03:00:00", 1774746000000 },
		{ "2026-10-25T02:30:00", 1792888200000 }, /* shown twice: the first */
		{ "2026-10-25T03:00:00", 1792893600000 },
	};
	const char *before = getenv("TZ");
	char *kept = before ? strdup(before) : NULL;

	(void)state;
	set_zone(vienna);
	assert_dates(cases, NR(cases));
	set_zone("UTC0");
	assert_true(grove__js_date_parse(str("2026-05-03T09:00:00")) == 1777798800000);
	if (kept)
		setenv("TZ", kept, 1);
	else
		unsetenv("TZ");
	tzset();
	free(kept);
}

/* Any other byte anywhere: what is read is printed the same, and what is refused is no digit in place of one. */
static void a_time_of_the_fixed_form_is_read_as_it_prints(void **state)
{
	static const char form[] = "2026-05-03T09:00:00.123Z";
	char text[sizeof(form)], out[GROVE__JS_ISO_MAX];
	int64_t ms;

	(void)state;
	for (size_t at = 0; at + 1 < sizeof(form); at++)
		for (int c = 0; c < 256; c++) {
			bool digit = form[at] >= '0' && form[at] <= '9', taken;

			memcpy(text, form, sizeof(form));
			text[at] = (char)c;
			taken = grove__js_iso_parse(grove__slice(text, 24), &ms);
			if (digit ? c < '0' || c > '9' : c != form[at])
				assert_false(taken);
			if (taken) {
				assert_int_equal(grove__js_iso(out, ms), 24);
				assert_memory_equal(out, text, 24);
			}
		}
	assert_true(grove__js_iso_parse(str("9999-12-31T23:59:59.999Z"), &ms));
	assert_false(grove__js_iso_parse(str("2026-05-03T24:00:00.000Z"), &ms));
	assert_false(grove__js_iso_parse(str("2026-05-03T23:60:00.000Z"), &ms));
	assert_false(grove__js_iso_parse(str("2026-00-03T23:00:00.000Z"), &ms));
	assert_false(grove__js_iso_parse(str("2026-05-00T23:00:00.000Z"), &ms));
	assert_false(grove__js_iso_parse(str("2026-05-03T09:00:00.12Z"), &ms));
}

static void times_print_as_to_iso_string_does(void **state)
{
	char out[GROVE__JS_ISO_MAX];

	(void)state;
	assert_iso(0, "1970-01-01T00:00:00.000Z");
	assert_iso(-1, "1969-12-31T23:59:59.999Z");
	assert_iso(1777798800123, "2026-05-03T09:00:00.123Z");
	assert_iso(951782400000, "2000-02-29T00:00:00.000Z");
	assert_iso(-62167219200000, "0000-01-01T00:00:00.000Z");
	assert_iso(-62167219200001, "-000001-12-31T23:59:59.999Z");
	assert_iso(253402300800000, "+010000-01-01T00:00:00.000Z");
	assert_iso(8640000000000000, "+275760-09-13T00:00:00.000Z");
	assert_iso(-8640000000000000, "-271821-04-20T00:00:00.000Z");
	assert_int_equal(grove__js_iso(out, 8640000000000001), 0);
	assert_int_equal(grove__js_iso(out, GROVE__JS_NAN_DATE), 0);
}

static void every_day_reads_back_from_its_form(void **state)
{
	char out[GROVE__JS_ISO_MAX];
	int64_t day;

	(void)state;
	for (day = -800000; day < 4000000; day += 7) {
		int64_t ms = day * 86400000 + day % 86400000;
		size_t len = grove__js_iso(out, ms);

		assert_true(grove__js_date_parse(grove__slice(out, len)) == ms);
	}
}

static int collated(const char *a, const char *b)
{
	return grove__js_collate(str(a), str(b));
}

static void names_compare_as_the_locale_has_them(void **state)
{
	(void)state;
	assert_int_equal(collated("a", "a"), 0);
	assert_true(collated("a", "B") < 0);
	assert_true(collated("b", "B") < 0);
	assert_true(collated("Ab", "aa") > 0);
	assert_true(collated("aB", "Ab") < 0);
	assert_true(collated("a_b", "a-b") < 0);
	assert_true(collated("a-b", "a.b") < 0);
	assert_true(collated("a.b", "a1") < 0);
	assert_true(collated("a", "a.b") < 0);
	assert_true(collated("z", "\xc3\xa9") < 0);
}

static void assert_path_of(const char *url, const char *expect)
{
	struct grove_buf b = GROVE_BUF_INIT;

	assert_int_equal(grove__js_file_url(url, &b), expect ? 0 : 1);
	assert_string_equal(b.len ? b.ptr : "", expect ? expect : "");
	grove__buf_release(&b);
}

static void file_urls_are_paths(void **state)
{
	(void)state;
	assert_path_of("/a/b", NULL);
	assert_path_of("file:/a", NULL);
	assert_path_of("file:///w/a%20b", "/w/a b");
	assert_path_of("file:///%c3%A9", "/\xc3\xa9");
	assert_path_of("file://localhost/w", "/w");
	assert_path_of("file:///w#x", "/w");
	assert_path_of("file:///w%2", "/w%2");
	assert_path_of("file:///w%00", "/w%00");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_compare_as_the_locale_has_them),
		cmocka_unit_test(file_urls_are_paths),
		cmocka_unit_test(length_counts_utf16_units),
		cmocka_unit_test(trim_takes_unicode_space_from_both_ends),
		cmocka_unit_test(numbers_print_in_their_shortest_form),
		cmocka_unit_test(every_double_reads_back_from_its_form),
		cmocka_unit_test(literals_are_rounded_correctly),
		cmocka_unit_test(numbers_do_not_care_for_the_locale),
		cmocka_unit_test(canonical_spelling_needs_an_unchanged_value),
		cmocka_unit_test(an_index_is_what_sorts_first_among_keys),
		cmocka_unit_test(dates_of_the_standard_are_read),
		cmocka_unit_test(dates_as_people_and_logs_write_them_are_read),
		cmocka_unit_test(dates_without_a_zone_are_local),
		cmocka_unit_test(a_time_of_the_fixed_form_is_read_as_it_prints),
		cmocka_unit_test(times_print_as_to_iso_string_does),
		cmocka_unit_test(every_day_reads_back_from_its_form),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
