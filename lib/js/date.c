/*
 * js/date.c: Date.parse.
 *
 * A date is first read as the standard's own form,
 *
 *     [+-YY]YYYY[-MM[-DD]][THH:mm[:ss[.fraction]][Z|+-hh:mm]]
 *
 * and where that ends early, V8 continues by rules that accept whatever people
 * write. They are odd but few: a number before a colon belongs to the time,
 * as does the one after it; any other number is the next part of the date;
 * words are months, zones, AM or PM by their first three letters, and noise
 * as long as no number was read; parentheses and most punctuation are noise;
 * a sign after a time begins an offset. What the numbers of a date mean is
 * decided at the end, from their size. These dates have no zone unless they
 * name one: local time.
 */
#include "js/js.h"

#include "base/utf8.h"
#include "js/calendar.h"

#include <time.h>

/* More than an offset can bring back into the range, but no overflow yet. */
#define YEAR_MAX 1000000
/* Unset; no number in a date is negative before its sign is applied. */
#define NONE (-1)

enum token_kind { T_END, T_NUMBER, T_SYMBOL, T_WORD, T_SPACE, T_OTHER };
enum word { W_NOISE, W_MONTH, W_HALF, W_ZONE, W_TIME };

struct token {
	enum token_kind kind;
	enum word word;
	char symbol;   /* one of : - + . ) */
	int value;     /* of a number or a word */
	size_t len;    /* digits, or characters of a word */
};

struct reader {
	const char *p, *end;
	struct token next;
};

static const struct {
	char text[4];
	enum word word;
	int value; /* month, hours to add, hours from UTC */
} words[] = {
	{ "jan", W_MONTH, 1 }, { "feb", W_MONTH, 2 }, { "mar", W_MONTH, 3 },
	{ "apr", W_MONTH, 4 }, { "may", W_MONTH, 5 }, { "jun", W_MONTH, 6 },
	{ "jul", W_MONTH, 7 }, { "aug", W_MONTH, 8 }, { "sep", W_MONTH, 9 },
	{ "oct", W_MONTH, 10 }, { "nov", W_MONTH, 11 }, { "dec", W_MONTH, 12 },
	{ "am", W_HALF, 0 }, { "pm", W_HALF, 12 },
	{ "ut", W_ZONE, 0 }, { "utc", W_ZONE, 0 }, { "z", W_ZONE, 0 },
	{ "gmt", W_ZONE, 0 }, { "cdt", W_ZONE, -5 }, { "cst", W_ZONE, -6 },
	{ "edt", W_ZONE, -4 }, { "est", W_ZONE, -5 }, { "mdt", W_ZONE, -6 },
	{ "mst", W_ZONE, -7 }, { "pdt", W_ZONE, -7 }, { "pst", W_ZONE, -8 },
	{ "t", W_TIME, 0 },
};

/* ---- tokens ---- */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Nine digits from the first that is not 0 count; more are only skipped. */
static void read_number(struct reader *r, struct token *t)
{
	const char *start = r->p;
	unsigned nr = 0;

	t->kind = T_NUMBER;
	for (; r->p < r->end && is_digit(*r->p); r->p++) {
		if (nr < 9)
			t->value = t->value * 10 + (*r->p - '0');
		if (nr || *r->p != '0')
			nr++;
	}
	t->len = (size_t)(r->p - start);
}

/* A word is made of anything from 'A' upwards that is not white space. */
static bool read_word(struct reader *r, struct token *t)
{
	char text[4] = "";
	uint32_t cp;
	size_t i;

	while (r->p < r->end) {
		size_t n = grove__utf8_decode_wtf8(r->p, r->end, &cp);

		if (cp < 'A' || grove__js_is_space(cp))
			break;
		r->p += n;
		if (t->len < 3)
			text[t->len] = (char)(cp < 0x80 ? cp | 0x20 : 1);
		/* a character beyond the BMP is two to JavaScript, but no word we know */
		t->len++;
	}
	if (!t->len)
		return false;
	t->kind = T_WORD;
	for (i = 0; i < sizeof words / sizeof *words; i++) {
		if (memcmp(text, words[i].text, sizeof text))
			continue;
		if (t->len > 3 && words[i].word != W_MONTH)
			continue;
		t->word = words[i].word;
		t->value = words[i].value;
		break;
	}
	return true;
}

/* Over a balanced pair, or to the end. */
static void skip_parentheses(struct reader *r)
{
	size_t depth = 0;

	for (; r->p < r->end; r->p++) {
		if (*r->p == '(') {
			depth++;
		} else if (*r->p == ')' && !--depth) {
			r->p++;
			break;
		}
	}
}

static struct token scan(struct reader *r)
{
	struct token t = { .kind = T_END };
	uint32_t cp;
	size_t n;

	if (r->p == r->end)
		return t;
	if (is_digit(*r->p)) {
		read_number(r, &t);
		return t;
	}
	if (strchr(":-+.)", *r->p) && *r->p) {
		t.kind = T_SYMBOL;
		t.symbol = *r->p++;
		return t;
	}
	if (read_word(r, &t))
		return t;
	if (*r->p == '(') {
		t.kind = T_OTHER;
		skip_parentheses(r);
		return t;
	}
	n = grove__utf8_decode_wtf8(r->p, r->end, &cp);
	t.kind = grove__js_is_space(cp) ? T_SPACE : T_OTHER;
	r->p += n;
	return t;
}

static struct token take(struct reader *r)
{
	struct token t = r->next;

	r->next = scan(r);
	return t;
}

static bool is_symbol(const struct token *t, char symbol)
{
	return t->kind == T_SYMBOL && t->symbol == symbol;
}

static bool is_sign(const struct token *t)
{
	return is_symbol(t, '+') || is_symbol(t, '-');
}

static bool is_z(const struct token *t)
{
	return t->kind == T_WORD && t->word == W_ZONE && t->len == 1;
}

static bool skip_symbol(struct reader *r, char symbol)
{
	if (!is_symbol(&r->next, symbol))
		return false;
	take(r);
	return true;
}

/* A number of exactly this many digits, within limits, is next. */
static bool is_fixed(const struct reader *r, size_t len, int lo, int hi)
{
	return r->next.kind == T_NUMBER && r->next.len == len &&
	       r->next.value >= lo && r->next.value <= hi;
}

/* ---- parts ---- */

struct parts {
	int date[3];
	unsigned nr_date;
	int month;       /* named, or NONE */
	bool iso;
	int time[4];     /* hour, minute, second, millisecond */
	unsigned nr_time;
	int half;        /* hours to add to a time of twelve hours, or NONE */
	int sign;        /* of the offset; 0: local time */
	int zone_hour, zone_minute;
};

static bool within(int n, int lo, int hi)
{
	return n >= lo && n <= hi;
}

static bool add_date(struct parts *d, int n)
{
	if (d->nr_date == 3)
		return false;
	d->date[d->nr_date++] = n;
	return true;
}

static bool add_time(struct parts *d, int n)
{
	if (d->nr_time == 4)
		return false;
	d->time[d->nr_time++] = n;
	return true;
}

/* The time's last number: nothing can follow it. */
static void end_time(struct parts *d, int n)
{
	add_time(d, n);
	while (add_time(d, 0))
		;
}

/* Returns true if a time has begun whose next number this could be. */
static bool time_wants(const struct parts *d, int n)
{
	return (d->nr_time == 1 && n < 60) || (d->nr_time == 2 && n < 60) ||
	       (d->nr_time == 3 && n < 1000);
}

static void set_zone(struct parts *d, int hours)
{
	d->sign = hours < 0 ? -1 : 1;
	d->zone_hour = hours < 0 ? -hours : hours;
	d->zone_minute = 0;
}

/* A fraction's digits, read as a number, in milliseconds. */
static int fraction_ms(const struct token *t)
{
	size_t len = t->len > 9 ? 9 : t->len;
	int n = t->value;

	for (; len < 3; len++)
		n *= 10;
	for (; len > 3; len--)
		n /= 10;
	return n;
}

/* ---- the standard's form ---- */

enum iso { ISO_WHOLE, ISO_BAD, ISO_OTHER };

static bool iso_zone(struct reader *r, struct parts *d)
{
	if (is_z(&r->next)) {
		take(r);
		set_zone(d, 0);
	} else if (is_sign(&r->next)) {
		d->sign = take(r).symbol == '-' ? -1 : 1;
		if (is_fixed(r, 4, 0, 2359)) {
			int hhmm = take(r).value;

			d->zone_hour = hhmm / 100;
			d->zone_minute = hhmm % 100;
			return d->zone_minute < 60;
		}
		if (!is_fixed(r, 2, 0, 23))
			return false;
		d->zone_hour = take(r).value;
		if (!skip_symbol(r, ':') || !is_fixed(r, 2, 0, 59))
			return false;
		d->zone_minute = take(r).value;
	}
	return true;
}

/* After the T: no way back to the free form from here. */
static bool iso_time(struct reader *r, struct parts *d)
{
	bool midnight; /* 24:00, at the end of a day */

	if (!is_fixed(r, 2, 0, 24))
		return false;
	midnight = r->next.value == 24;
	add_time(d, take(r).value);
	if (!skip_symbol(r, ':') || !is_fixed(r, 2, 0, midnight ? 0 : 59))
		return false;
	add_time(d, take(r).value);
	if (skip_symbol(r, ':')) {
		if (!is_fixed(r, 2, 0, midnight ? 0 : 59))
			return false;
		add_time(d, take(r).value);
		if (skip_symbol(r, '.')) {
			struct token t = take(r);

			if (t.kind != T_NUMBER || (midnight && t.value))
				return false;
			add_time(d, fraction_ms(&t));
		}
	}
	return iso_zone(r, d) && r->next.kind == T_END;
}

/*
 * Where the form is left within the date, what was read stays, and *t is the
 * token at which the free form continues.
 */
static enum iso read_iso(struct reader *r, struct parts *d, struct token *t)
{
	if (is_sign(&r->next)) {
		*t = take(r);
		if (!is_fixed(r, 6, 0, 999999))
			return ISO_OTHER;
		/* there is no year -0; V8 then forgets the number and continues */
		if (t->symbol == '-' && !r->next.value) {
			take(r);
			return ISO_OTHER;
		}
		add_date(d, take(r).value * (t->symbol == '-' ? -1 : 1));
	} else if (is_fixed(r, 4, 0, 9999)) {
		add_date(d, take(r).value);
	} else {
		*t = take(r);
		return ISO_OTHER;
	}
	if (skip_symbol(r, '-')) {
		if (!is_fixed(r, 2, 1, 12)) {
			*t = take(r);
			return ISO_OTHER;
		}
		add_date(d, take(r).value);
		if (skip_symbol(r, '-')) {
			if (!is_fixed(r, 2, 1, 31)) {
				*t = take(r);
				return ISO_OTHER;
			}
			add_date(d, take(r).value);
		}
	}
	if (r->next.kind == T_WORD && r->next.word == W_TIME) {
		take(r);
		if (!iso_time(r, d))
			return ISO_BAD;
	} else if (r->next.kind != T_END) {
		*t = take(r);
		return ISO_OTHER;
	} else {
		set_zone(d, 0); /* a date without a time is UTC */
	}
	d->iso = true;
	return ISO_WHOLE;
}

/* ---- the free form ---- */

static bool free_number(struct reader *r, struct parts *d, struct token t)
{
	int n = t.value;

	if (skip_symbol(r, ':')) {
		if (skip_symbol(r, ':')) { /* "n::" leaves out the minutes */
			if (d->nr_time)
				return false;
			add_time(d, n);
			add_time(d, 0);
			return true;
		}
		if (!add_time(d, n))
			return false;
		skip_symbol(r, '.');
		return true;
	}
	if (skip_symbol(r, '.') && time_wants(d, n)) {
		add_time(d, n);
		if (r->next.kind != T_NUMBER)
			return false;
		t = take(r);
		end_time(d, fraction_ms(&t));
		return true;
	}
	if (d->zone_hour != NONE && d->zone_minute == NONE && n < 60) {
		d->zone_minute = n;
		return true;
	}
	if (time_wants(d, n)) {
		end_time(d, n);
		return r->next.kind == T_END || r->next.kind == T_SPACE ||
		       is_z(&r->next) || is_sign(&r->next);
	}
	if (!add_date(d, n))
		return false;
	skip_symbol(r, '-');
	return true;
}

static bool free_word(struct reader *r, struct parts *d, const struct token *t, bool number)
{
	if (t->word == W_HALF && d->nr_time) {
		d->half = t->value;
	} else if (t->word == W_MONTH) {
		d->month = t->value;
		skip_symbol(r, '-');
	} else if (t->word == W_ZONE && number) {
		set_zone(d, t->value);
	} else {
		/* noise: before all numbers, and not glued to the first */
		return !number && r->next.kind != T_NUMBER;
	}
	return true;
}

static bool free_offset(struct reader *r, struct parts *d, const struct token *sign)
{
	struct token t = { .kind = T_END };

	d->sign = sign->symbol == '-' ? -1 : 1;
	if (r->next.kind == T_NUMBER)
		t = take(r);
	if (is_symbol(&r->next, ':')) {
		d->zone_hour = t.value;
		d->zone_minute = NONE;
	} else if (t.len == 1 || t.len == 2) {
		d->zone_hour = t.value;
		d->zone_minute = 0;
	} else if (t.len == 3 || t.len == 4) {
		d->zone_hour = t.value / 100;
		d->zone_minute = t.value % 100;
	} else {
		return false;
	}
	return true;
}

static bool read_free(struct reader *r, struct parts *d, struct token t)
{
	bool number = d->nr_date > 0;

	for (; t.kind != T_END; t = take(r)) {
		bool ok = true;

		if (t.kind == T_NUMBER) {
			number = true;
			ok = free_number(r, d, t);
		} else if (t.kind == T_WORD) {
			ok = free_word(r, d, &t, number);
		} else if (is_sign(&t) && (d->nr_time || (!d->zone_hour && !d->zone_minute))) {
			number = true;
			ok = free_offset(r, d, &t);
		} else if (is_sign(&t) || is_symbol(&t, ')')) {
			ok = !number;
		}
		if (!ok)
			return false;
	}
	return true;
}

/* ---- from parts to milliseconds ---- */

/* Finds out which of the numbers is the year. */
static bool place_date(const struct parts *d, int ymd[3])
{
	int n[3] = { 1, 1, 1 }, year, month, day;

	if (!d->nr_date)
		return false;
	memcpy(n, d->date, d->nr_date * sizeof *n);
	if (d->month != NONE) {
		month = d->month;
		day = n[0];
		year = n[1];
		if (!within(n[0], 1, 31)) {
			day = n[1];
			year = n[0];
		}
	} else if (d->iso || !within(n[0], 1, 31)) {
		year = n[0];
		month = n[1];
		day = n[2];
	} else {
		month = n[0];
		day = n[1];
		year = n[2];
	}
	if (!d->iso && within(year, 0, 99))
		year += year < 50 ? 2000 : 1900;
	ymd[0] = year;
	ymd[1] = month;
	ymd[2] = day;
	return within(year, -YEAR_MAX, YEAR_MAX) && within(month, 1, 12) && within(day, 1, 31);
}

static bool place_time(const struct parts *d, int64_t *ms)
{
	int t[4] = { 0, 0, 0, 0 };

	memcpy(t, d->time, d->nr_time * sizeof *t);
	if (d->half != NONE) {
		if (!within(t[0], 0, 12))
			return false;
		t[0] = t[0] % 12 + d->half;
	}
	if (!within(t[0], 0, 23) || !within(t[1], 0, 59) || !within(t[2], 0, 59) ||
	    !within(t[3], 0, 999))
		if (t[0] != 24 || t[1] || t[2] || t[3])
			return false;
	*ms = ((t[0] * 60 + t[1]) * 60 + t[2]) * (int64_t)1000 + t[3];
	return true;
}

static int64_t zone_offset(int64_t seconds)
{
	time_t t = (time_t)seconds;
	struct tm tm;

	return localtime_r(&t, &tm) ? tm.tm_gmtoff : 0;
}

/*
 * The instant at which clocks here show `local`. If they do twice, the first;
 * if never, what they would show had they not been put forward: in both cases
 * the offset before the change is the one to use.
 */
static int64_t local_to_utc(int64_t local)
{
	int64_t s = (local >= 0 ? local : local - 999) / 1000, ms = local - s * 1000;
	int64_t before = s - zone_offset(s - 86400);
	int64_t after = s - zone_offset(s + 86400);

	if (before + zone_offset(before) != s && after + zone_offset(after) == s)
		return after * 1000 + ms;
	return before * 1000 + ms;
}

int64_t grove__js_date_parse(struct grove_slice text)
{
	struct reader r = { .p = text.ptr };
	struct parts d = {
		.month = NONE, .half = NONE, .zone_hour = NONE, .zone_minute = NONE
	};
	struct token t;
	int ymd[3];
	int64_t ms;

	if (!text.len)
		return GROVE__JS_NAN_DATE;
	if (grove__js_iso_parse(text, &ms))
		return ms;
	r.end = text.ptr + text.len;
	take(&r);
	switch (read_iso(&r, &d, &t)) {
	case ISO_WHOLE:
		break;
	case ISO_BAD:
		return GROVE__JS_NAN_DATE;
	case ISO_OTHER:
		if (!read_free(&r, &d, t))
			return GROVE__JS_NAN_DATE;
		break;
	}
	if (!place_date(&d, ymd) || !place_time(&d, &ms))
		return GROVE__JS_NAN_DATE;
	ms += grove__js_days(ymd[0], ymd[1], ymd[2]) * GROVE__JS_MS_DAY;
	if (d.sign) {
		int64_t offset = (d.zone_hour == NONE ? 0 : (int64_t)d.zone_hour * 3600) +
				 (d.zone_minute == NONE ? 0 : d.zone_minute * 60);

		if (offset > INT32_MAX)
			return GROVE__JS_NAN_DATE;
		ms -= d.sign * offset * 1000;
	} else if (grove__js_in_range(ms, 30)) {
		ms = local_to_utc(ms);
	}
	return grove__js_in_range(ms, 0) ? ms : GROVE__JS_NAN_DATE;
}
