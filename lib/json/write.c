/*
 * json/write.c: JSON as JavaScript's JSON.stringify writes it.
 *
 * Messages are long and mostly plain, so a string is copied in runs: up to the
 * next byte that must be escaped, then the escape. How far the text is UTF-8 is
 * asked beforehand; nearly always that is to its end, and so far bytes above
 * 0x7f need no second look.
 */
#include "json/write.h"

#include "js/js.h"
#include "json/escape.h"

#define ESCAPE_MAX 6

/*
 * Copy eight bytes at a time, look at them while they are in hand, and on a
 * byte that must be escaped take back what was copied too much: a run costs
 * one pass, and a short one no call.
 */
static int put_utf8(struct grove_buf *out, const char *p, const char *end)
{
	char *q;

	for (;;) {
		/* room for the rest unchanged, and one escape */
		int rc = grove__buf_reserve(out, (size_t)(end - p) + ESCAPE_MAX);

		if (rc)
			return rc;
		q = out->ptr + out->len;
		while (end - p >= 8) {
			uint64_t w = grove__json_load(p);
			uint64_t marks = grove__json_has_byte(w, '"') |
					 grove__json_has_byte(w, '\\') |
					 grove__json_has_below(w, 0x20);
			size_t n = 8;

			memcpy(q, p, 8);
			if (marks)
				n = grove__json_unmarked(marks);
			p += n;
			q += n;
			if (marks)
				break;
		}
		while (p < end && *p != '"' && *p != '\\' && (unsigned char)*p >= 0x20)
			*q++ = *p++;
		if (p < end)
			q += grove__json_escape(q, (unsigned char)*p++);
		grove__buf_cut(out, (size_t)(q - out->ptr));
		if (p == end)
			return 0;
	}
}

int grove__json_put_string(struct grove_buf *out, struct grove_slice text)
{
	const char *p = text.ptr, *end;
	size_t start = out->len;
	char esc[ESCAPE_MAX];
	uint32_t cp;
	int rc;

	if (!text.len)
		return grove__buf_add(out, "\"\"", 2);
	if (text.len > GROVE__BUF_MAX)
		return GROVE_ENOMEM;
	end = p + text.len;
	/* room for the usual few escapes too, so that most strings grow once */
	rc = grove__buf_reserve(out, text.len + text.len / 16 + 2 * ESCAPE_MAX);
	if (rc)
		return rc;
	rc = grove__buf_add_char(out, '"');
	while (!rc) {
		size_t good = grove__utf8_prefix(p, (size_t)(end - p));

		rc = put_utf8(out, p, p + good);
		p += good;
		if (rc || p == end)
			break;
		/* a lone surrogate, or bytes that mean nothing */
		p += grove__utf8_decode_wtf8(p, end, &cp);
		rc = grove__buf_add(out, esc, grove__json_escape(esc, cp));
	}
	if (!rc)
		rc = grove__buf_add_char(out, '"');
	if (rc)
		grove__buf_cut(out, start);
	return rc;
}

int grove__json_put_str(struct grove_buf *out, const char *text)
{
	return grove__json_put_string(out, grove__slice_str(text));
}

int grove__json_put_nullable(struct grove_buf *out, struct grove_slice text)
{
	return text.ptr ? grove__json_put_string(out, text) : grove__buf_add_str(out, "null");
}

int grove__json_put_uint(struct grove_buf *out, uint64_t n)
{
	char digits[20], *end = digits + sizeof(digits), *p = end;

	do
		*--p = (char)('0' + n % 10);
	while (n /= 10);
	return grove__buf_add(out, p, (size_t)(end - p));
}

int grove__json_put_int(struct grove_buf *out, int64_t n)
{
	int rc = n < 0 ? grove__buf_add_char(out, '-') : 0;

	return rc ? rc : grove__json_put_uint(out, n < 0 ? 0 - (uint64_t)n : (uint64_t)n);
}

int grove__json_put_double(struct grove_buf *out, double d)
{
	char text[GROVE__JS_NUMBER_MAX];

	/* the difference of a finite number to itself is 0, of the others NaN */
	if (d - d != 0)
		return grove__buf_add_str(out, "null");
	return grove__buf_add(out, text, grove__js_number(text, d));
}

int grove__json_put_time(struct grove_buf *out, int64_t ms)
{
	char text[GROVE__JS_ISO_MAX + 2];
	size_t len = grove__js_iso(text + 1, ms);

	if (!len)
		return grove__buf_add_str(out, "null");
	text[0] = text[len + 1] = '"';
	return grove__buf_add(out, text, len + 2);
}

int grove__json_put_raw(struct grove_buf *out, struct grove_slice raw)
{
	return grove__utf8_repair(out, raw);
}
