/*
 * js/number.c: numbers as JavaScript reads and prints them.
 *
 * The C library converts, which it does exactly: a decimal that is read is rounded once,
 * and so is a double that is printed with a given number of digits. Its locale is kept
 * out: it is given "12345e-7" to read, without a point, and of what it prints only the
 * digits are taken.
 *
 * Printing wants the shortest decimal that reads back as the same double, and of several
 * the nearest. All decimals that do lie between the midpoints to the two neighbours:
 *
 *     -----(-------|------)------|---     v, its neighbours and midpoints
 *          low     v      high
 *
 * A decimal of up to 15 digits survives the way to a double and back, so if v has such a
 * form, it is v rounded to 15 digits. Otherwise 16 or 17 digits will do.
 */
#include "js/js.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* No midpoint between doubles has more than 768 digits: beyond, only "more". */
#define DIGITS_MAX 799

/* 0.ddd... * 10^point, without zeros at either end; none at all is 0. */
struct decimal {
	bool negative;
	bool more;      /* digits were cut off */
	unsigned nr;
	int64_t point;
	char digit[DIGITS_MAX];
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/*
 * Digits up to `end` or the first other byte. Zeros wait in *zeros until a
 * digit comes that makes them count. Returns the bytes read.
 */
static size_t read_digits(struct decimal *d, const char *p, const char *end, uint64_t *zeros)
{
	const char *start = p;

	for (; p < end && is_digit(*p); p++) {
		if (*p == '0') {
			++*zeros;
			continue;
		}
		for (; *zeros && d->nr < DIGITS_MAX; --*zeros)
			d->digit[d->nr++] = '0';
		if (d->nr < DIGITS_MAX)
			d->digit[d->nr++] = *p;
		else
			d->more = true;
		*zeros = 0;
	}
	return (size_t)(p - start);
}

static int64_t read_exponent(const char **pp, const char *end)
{
	const char *p = *pp;
	bool negative = false;
	int64_t e = 0;

	if (p < end && (*p == '+' || *p == '-'))
		negative = *p++ == '-';
	if (p == end || !is_digit(*p))
		return INT64_MIN;
	for (; p < end && is_digit(*p); p++)
		if (e < INT64_MAX / 100) /* more than any text's length, and no overflow */
			e = e * 10 + (*p - '0');
	*pp = p;
	return negative ? -e : e;
}

/* [+-] digits [. digits] [e [+-] digits], with digits on one side of the point. */
static bool read_decimal(struct decimal *d, struct grove_slice text)
{
	const char *p = text.ptr, *end;
	size_t whole, all, before;
	uint64_t zeros = 0;
	int64_t e;

	if (!text.len)
		return false;
	end = p + text.len;
	d->negative = d->more = false;
	d->nr = 0;
	if (*p == '+' || *p == '-')
		d->negative = *p++ == '-';

	/* leading zeros are no digits: read them first, so the point can be placed */
	for (before = 0; p < end && *p == '0'; p++)
		before++;
	whole = read_digits(d, p, end, &zeros);
	p += whole;
	all = before + whole;
	d->point = (int64_t)whole;
	if (p < end && *p == '.') {
		const char *fraction = ++p;

		if (!whole)
			while (p < end && *p == '0')
				p++;
		d->point -= p - fraction;
		p += read_digits(d, p, end, &zeros);
		all += (size_t)(p - fraction);
	}
	if (!all)
		return false;
	if (p < end && (*p == 'e' || *p == 'E')) {
		p++;
		e = read_exponent(&p, end);
		if (e == INT64_MIN)
			return false;
		d->point += e;
	}
	return p == end;
}

/* ---- reading ---- */

/*
 * n * 10^-e, by one division with 11 bits more than a double has. It is right unless these
 * are exactly half: then the division may have rounded to there from either side.
 */
static bool divide(uint64_t n, int e, double *out)
{
#if LDBL_MANT_DIG == 64 && defined(__x86_64__)
	static const long double exact10[] = { 1e0L,  1e1L,  1e2L,  1e3L,  1e4L,  1e5L,  1e6L,  1e7L,  1e8L,  1e9L,
					       1e10L, 1e11L, 1e12L, 1e13L, 1e14L, 1e15L, 1e16L, 1e17L, 1e18L, 1e19L,
					       1e20L, 1e21L, 1e22L, 1e23L, 1e24L, 1e25L, 1e26L, 1e27L };
	long double q;
	uint64_t bits;

	if (!n || e < 0 || e > 27)
		return false;
	q = (long double)n / exact10[e];
	memcpy(&bits, &q, sizeof(bits));
	*out = (double)q;
	return (bits & 0x7ff) != 0x400;
#else
	(void)n;
	(void)e;
	(void)out;
	return false;
#endif
}

/* n * 10^e */
static double value_of(uint64_t n, int e)
{
	static const double exact10[] = { 1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
					  1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
					  1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22 };
	char text[40];
	double v;

	/* both sides are exact in a double, and the machine rounds once */
	if (FLT_EVAL_METHOD == 0 && n <= (uint64_t)1 << 53 && e >= -22 && e <= 22)
		return e < 0 ? (double)n / exact10[-e] : (double)n * exact10[e];
	if (divide(n, -e, &v))
		return v;
	snprintf(text, sizeof(text), "%" PRIu64 "e%d", n, e);
	return strtod(text, NULL);
}

static double decimal_value(const struct decimal *d)
{
	char text[DIGITS_MAX + 16];
	uint64_t n = 0;
	double v = 0;

	if (d->nr && d->point > 310) {
		v = (double)INFINITY;
	} else if (d->nr > 19 && d->point >= -330) {
		/* digits that were cut off are somewhere above those we have: any digit will do */
		snprintf(text, sizeof(text), "%.*s%se%d", (int)d->nr, d->digit, d->more ? "1" : "",
			 (int)(d->point - d->nr - d->more));
		v = strtod(text, NULL);
	} else if (d->point >= -330) {
		for (unsigned i = 0; i < d->nr; i++)
			n = n * 10 + (uint64_t)(d->digit[i] - '0');
		v = n ? value_of(n, (int)(d->point - d->nr)) : 0;
	}
	return d->negative ? -v : v;
}

/* Most numbers: a few digits, and perhaps a point between them. */
static bool read_simple(struct grove_slice text, double *out)
{
	const uint64_t most = 1000000000000000000u;
	size_t i = 0, point = text.len;
	uint64_t n = 0;

	for (; i < text.len && n < most; i++) {
		if (is_digit(text.ptr[i]))
			n = n * 10 + (uint64_t)(text.ptr[i] - '0');
		else if (text.ptr[i] == '.' && i && point == text.len)
			point = i;
		else
			return false;
	}
	if (!i || i < text.len || point + 1 == text.len || text.len - point > 28)
		return false;
	*out = value_of(n, point < text.len ? -(int)(text.len - point - 1) : 0);
	return true;
}

double grove__js_parse_number(struct grove_slice text)
{
	struct decimal d;
	double v;

	if (read_simple(text, &v))
		return v;
	if (!read_decimal(&d, text))
		return (double)NAN;
	return decimal_value(&d);
}

/* ---- printing ---- */

/* Prints a finite double above 0 with `nr` digits: *n * 10^*e. */
static void round_to(double v, int nr, uint64_t *n, int *e)
{
	char text[40], *p;

	snprintf(text, sizeof(text), "%.*e", nr - 1, v);
	for (*n = 0, p = text; *p != 'e'; p++)
		if (is_digit(*p))
			*n = *n * 10 + (uint64_t)(*p - '0');
	*e = (int)strtol(p + 1, NULL, 10) - (nr - 1);
}

/* The shortest form of a finite double above 0: 0.ddd * 10^point. */
struct shortest {
	unsigned nr;
	int point;
	char digit[24];
};

static void shortest_digits(struct shortest *s, double v)
{
	/* numbers below the normal ones have fewer bits, and may need fewer digits */
	int nr = v < DBL_MIN ? 1 : 15, e, e17;
	uint64_t unit = nr == 1 ? 10000000000000000 : 100, n, n17;

	round_to(v, 17, &n17, &e17);
	for (; unit > 1; unit /= 10, nr++) {
		n = n17 / unit + (n17 % unit > unit / 2);
		e = e17 + 17 - nr;
		if (n17 % unit == unit / 2) /* which v may be less or more than */
			round_to(v, nr, &n, &e);
		/*
		 * below a power of two the neighbour is half as far, so if the nearest
		 * decimal is below and too far, the one above may still do
		 */
		if (value_of(n, e) == v || value_of(++n, e) == v)
			break;
	}
	if (unit == 1) {
		n = n17;
		e = e17;
	}
	for (; n % 10 == 0; n /= 10)
		e++;
	s->nr = (unsigned)snprintf(s->digit, sizeof(s->digit), "%" PRIu64, n);
	s->point = (int)s->nr + e;
}

/* Digits, at most 20 of them, in the form that Number.prototype.toString has. */
static size_t format(char *out, bool negative, const char *digit, unsigned nr, int point)
{
	char *p = out;
	int e, zeros;

	if (negative)
		*p++ = '-';
	if (point > 21 || point < -5) {
		*p++ = *digit;
		if (nr > 1) {
			*p++ = '.';
			memcpy(p, digit + 1, nr - 1);
			p += nr - 1;
		}
		e = point - 1;
		*p++ = 'e';
		*p++ = e < 0 ? '-' : '+';
		e = e < 0 ? -e : e;
		if (e >= 100)
			*p++ = (char)('0' + e / 100);
		if (e >= 10)
			*p++ = (char)('0' + e / 10 % 10);
		*p++ = (char)('0' + e % 10);
		return (size_t)(p - out);
	}
	if (point <= 0) {
		*p++ = '0';
		*p++ = '.';
		for (zeros = point; zeros < 0; zeros++)
			*p++ = '0';
		memcpy(p, digit, nr);
		return (size_t)(p + nr - out);
	}
	if ((unsigned)point < nr) {
		memcpy(p, digit, (size_t)point);
		p[point] = '.';
		memcpy(p + point + 1, digit + point, nr - (size_t)point);
		return (size_t)(p + nr + 1 - out);
	}
	memcpy(p, digit, nr);
	p += nr;
	for (zeros = point - (int)nr; zeros > 0; zeros--)
		*p++ = '0';
	return (size_t)(p - out);
}

static size_t copy(char *out, const char *text)
{
	size_t len = strlen(text);

	memcpy(out, text, len);
	return len;
}

size_t grove__js_number(char out[GROVE__JS_NUMBER_MAX], double d)
{
	bool negative = d < 0;
	struct shortest s;

	if (d != d)
		return copy(out, "NaN");
	if (negative)
		d = -d;
	if (d > DBL_MAX)
		return copy(out, negative ? "-Infinity" : "Infinity");
	/* below 2^53 a whole number's own digits are the shortest, zeros and all */
	if (d < 9007199254740992.0 && d == (double)(uint64_t)d) {
		char text[20], *end = text + sizeof text, *p = end;
		uint64_t n = (uint64_t)d;

		do
			*--p = (char)('0' + n % 10);
		while (n /= 10);
		if (negative)
			*--p = '-';
		memcpy(out, p, (size_t)(end - p));
		return (size_t)(end - p);
	}
	shortest_digits(&s, d);
	return format(out, negative, s.digit, s.nr, s.point);
}

size_t grove__js_number_canonical(char out[GROVE__JS_NUMBER_MAX], struct grove_slice literal)
{
	struct shortest s;
	struct decimal d;
	double v;

	if (!read_decimal(&d, literal))
		return 0;
	if (!d.nr)
		return copy(out, "0");
	if (d.nr > 17)
		return 0;
	/*
	 * Up to 15 digits survive the way to a double and back, in the range
	 * where it has all of its bits, so its form is that of these digits:
	 * nothing to compute.
	 */
	if (d.nr > 15 || d.point < -300 || d.point > 300) {
		v = decimal_value(&d);
		if (v < 0)
			v = -v;
		if (v == 0 || v > DBL_MAX)
			return 0;
		shortest_digits(&s, v);
		if (s.nr != d.nr || s.point != d.point || memcmp(s.digit, d.digit, d.nr))
			return 0;
	}
	return format(out, d.negative, d.digit, d.nr, (int)d.point);
}

bool grove__js_is_index(struct grove_slice key, uint32_t *index)
{
	uint64_t n = 0;
	size_t i;

	if (!key.len || key.len > 10 || (key.ptr[0] == '0' && key.len > 1))
		return false;
	for (i = 0; i < key.len; i++) {
		if (!is_digit(key.ptr[i]))
			return false;
		n = n * 10 + (uint64_t)(key.ptr[i] - '0');
	}
	if (n >= UINT32_MAX)
		return false;
	*index = (uint32_t)n;
	return true;
}
