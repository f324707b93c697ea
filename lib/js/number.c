/*
 * js/number.c: numbers as JavaScript reads and prints them.
 *
 * Everything is exact: a double is a whole number times a power of two, a
 * literal one times a power of ten, and both conversions are a quotient of
 * natural numbers, rounded once.
 *
 * Printing wants the shortest decimal that reads back as the same double, and
 * of several the nearest. All decimals that do lie between the midpoints to
 * the two neighbours:
 *
 *     -----(-------|------)------|---     v, its neighbours and midpoints
 *          low     v      high
 *
 * We scale by a power of ten until v has 18 or 19 digits before the point.
 * The interval is then wider than 1 (a double has less than 17 digits), so
 * the whole numbers in it will do, and they fit 64 bits: the shortest is a
 * multiple of the highest power of ten that has one between low and high.
 */
#include "js/js.h"

#include "js/big.h"

#include <assert.h>
#include <float.h>

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

static const uint64_t pow10[19] = {
	1u, 10u, 100u, 1000u, 10000u, 100000u, 1000000u, 10000000u, 100000000u,
	1000000000u, 10000000000u, 100000000000u, 1000000000000u,
	10000000000000u, 100000000000000u, 1000000000000000u,
	10000000000000000u, 100000000000000000u, 1000000000000000000u
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

static double make_double(bool negative, uint64_t bits)
{
	double v;

	bits |= (uint64_t)negative << 63;
	memcpy(&v, &bits, sizeof v);
	return v;
}

/*
 * The bits of the double nearest to (q + something below 1, if `more`) * 2^e;
 * q has more than 54 bits unless it is exact.
 */
static uint64_t round_bits(uint64_t q, int e, bool more)
{
	int up = __builtin_clzll(q), exponent, keep;
	uint64_t f, half, rest;

	q <<= up;
	exponent = e - up + 63; /* q is 1.xxx * 2^exponent now */
	if (exponent > 1023)
		return (uint64_t)0x7ff << 52;
	keep = exponent >= -1022 ? 53 : 53 - (-1022 - exponent);
	if (keep < 0)
		return 0;
	/* two steps: a shift by 64 is not one */
	f = keep ? q >> (64 - keep) : 0;
	rest = keep ? q << keep : q;
	half = (uint64_t)1 << 63;
	if (rest > half || (rest == half && (more || (f & 1))))
		f++;
	/*
	 * A normal number's leading bit adds one to the exponent's field below;
	 * so does a carry out of the fraction, up to infinity.
	 */
	return exponent >= -1022 ? f + ((uint64_t)(exponent + 1022) << 52) : f;
}

static uint64_t exact_bits(const struct decimal *d)
{
	int64_t e10 = d->point - d->nr - d->more;
	struct grove__big num, den;
	enum grove__big_rest rest;
	unsigned i, bits, have;
	uint64_t q;
	int e2;

	grove__big_set(&num, 0);
	for (i = 0; i < d->nr; i++)
		grove__big_mul_small(&num, 10, (uint32_t)(d->digit[i] - '0'));
	if (d->more) /* somewhere above the digits we have: any digit will do */
		grove__big_mul_small(&num, 10, 1);

	if (e10 >= 0) {
		grove__big_mul_pow5(&num, (unsigned)e10);
		bits = grove__big_bits(&num);
		e2 = bits > 64 ? (int)(bits - 64) : 0;
		q = grove__big_shr(&num, (unsigned)e2, &rest);
		return round_bits(q, e2 + (int)e10, rest != BIG_EXACT);
	}
	/* shift until the quotient has 63 or 64 bits */
	grove__big_set_pow5(&den, (unsigned)-e10);
	bits = grove__big_bits(&den) + 63;
	have = grove__big_bits(&num);
	e2 = (int)have - (int)bits;
	if (e2 < 0)
		grove__big_shl(&num, bits - have);
	else
		grove__big_shl(&den, have - bits);
	q = grove__big_div(&num, &den, &rest);
	return round_bits(q, e2 + (int)e10, rest != BIG_EXACT);
}

static double decimal_value(const struct decimal *d)
{
	int64_t e10 = d->point - d->nr;

	if (!d->nr || d->point < -330)
		return make_double(d->negative, 0);
	if (d->point > 310)
		return make_double(d->negative, (uint64_t)0x7ff << 52);
#if FLT_EVAL_METHOD == 0
	/* Both sides exact in a double: the machine's one rounding is ours. */
	if (d->nr <= 15 && e10 >= -22 && e10 <= 22) {
		static const double exact10[23] = {
			1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
			1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22
		};
		uint64_t n = 0;
		unsigned i;
		double v;

		for (i = 0; i < d->nr; i++)
			n = n * 10 + (uint64_t)(d->digit[i] - '0');
		v = e10 < 0 ? (double)n / exact10[-e10] : (double)n * exact10[e10];
		return d->negative ? -v : v;
	}
#endif
	return make_double(d->negative, exact_bits(d));
}

double grove__js_parse_number(struct grove_slice text)
{
	struct decimal d;

	if (!read_decimal(&d, text))
		return make_double(false, (uint64_t)0x7ff8 << 48);
	return decimal_value(&d);
}

/* ---- printing ---- */

/* Digits of a finite double above 0: 0.ddd * 10^point. */
struct shortest {
	unsigned nr;
	int point;
	char digit[20];
};

/* floor(x * log10(2)), for the exponents of doubles. */
static int floor_log10_pow2(int x)
{
	int64_t y = (int64_t)x * 1292913986; /* log10(2) * 2^32 */

	return (int)(y >= 0 ? y >> 32 : -((-y + UINT32_MAX) >> 32));
}

/* m * 2^e2 * 10^k; `pow5` is 5^|k|. */
static uint64_t scale(uint64_t m, int e2, int k, const struct grove__big *pow5,
		      enum grove__big_rest *rest)
{
	struct grove__big num, den;

	e2 += k;
	if (k >= 0) {
		grove__big_mul(&num, pow5, m);
		if (e2 > 0)
			grove__big_shl(&num, (unsigned)e2);
		return grove__big_shr(&num, e2 < 0 ? (unsigned)-e2 : 0, rest);
	}
	grove__big_set(&num, m);
	den = *pow5;
	if (e2 >= 0)
		grove__big_shl(&num, (unsigned)e2);
	else
		grove__big_shl(&den, (unsigned)-e2);
	return grove__big_div(&num, &den, rest);
}

/* The whole numbers that read back as v, and v itself, scaled. */
struct range {
	uint64_t low, high;
	uint64_t v;
	enum grove__big_rest rest; /* of v */
};

/*
 * The multiple of `unit` nearest to v, of two the one with the even digit; the
 * other neighbour where only that is in the range. 0 if neither is.
 */
static uint64_t nearest(const struct range *r, uint64_t unit)
{
	uint64_t below = r->v / unit * unit, above = below + unit, left = r->v - below;
	bool up, down;
	int cmp;

	down = below >= r->low;
	up = above <= r->high;
	if (!down || !up)
		return down ? below : up ? above : 0;
	if (unit == 1)
		cmp = r->rest < BIG_HALF ? -1 : r->rest > BIG_HALF;
	else if (left == unit / 2)
		cmp = r->rest != BIG_EXACT;
	else
		cmp = left < unit / 2 ? -1 : 1;
	if (!cmp)
		cmp = below / unit % 2 ? 1 : -1;
	return cmp < 0 ? below : above;
}

static void shortest_digits(struct shortest *s, double v)
{
	enum grove__big_rest low_rest, high_rest;
	struct grove__big pow5;
	uint64_t bits, f, digits;
	int e, k, unit;
	struct range r;
	bool even, edge;

	memcpy(&bits, &v, sizeof bits);
	f = bits & (((uint64_t)1 << 52) - 1);
	e = (int)(bits >> 52 & 0x7ff);
	edge = !f && e > 1; /* below a power of two, the neighbour is half as far */
	if (e)
		f |= (uint64_t)1 << 52;
	else
		e = 1;
	e -= 1075;
	even = !(f & 1); /* then a midpoint also rounds to this number */

	k = 17 - floor_log10_pow2(e + 63 - __builtin_clzll(f));
	grove__big_set_pow5(&pow5, (unsigned)(k < 0 ? -k : k));
	r.v = scale(4 * f, e - 2, k, &pow5, &r.rest);
	r.low = scale(4 * f - (edge ? 1 : 2), e - 2, k, &pow5, &low_rest);
	r.high = scale(4 * f + 2, e - 2, k, &pow5, &high_rest);
	r.low += !even || low_rest != BIG_EXACT;
	r.high -= !even && high_rest == BIG_EXACT;

	for (unit = 18; !(digits = nearest(&r, pow10[unit])); unit--)
		assert(unit);
	digits /= pow10[unit];

	s->nr = 1;
	while (s->nr < 19 && pow10[s->nr] <= digits)
		s->nr++;
	s->point = (int)s->nr + unit - k;
	for (e = (int)s->nr; e--; digits /= 10)
		s->digit[e] = (char)('0' + digits % 10);
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
