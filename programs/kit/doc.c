/*
 * doc.c: writes a JSON document.
 */
#include "doc.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void doc_release(struct doc *d)
{
	grove_buf_release(&d->buf);
	d->rc = 0;
}

void doc_add(struct doc *d, struct grove_slice bytes)
{
	if (!d->rc)
		d->rc = grove_buf_add(&d->buf, bytes);
}

void doc_puts(struct doc *d, const char *text)
{
	doc_add(d, grove_str(text));
}

void doc_printf(struct doc *d, const char *fmt, ...)
{
	char text[512];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= sizeof(text))
		d->rc = d->rc ? d->rc : GROVE_ETOOBIG;
	else
		doc_add(d, (struct grove_slice){ text, (size_t)n });
}

static int is_surrogate(const unsigned char *p, size_t len, unsigned from)
{
	return len >= 3 && p[0] == 0xed && p[1] >= from && p[1] < from + 0x10 && p[2] >= 0x80;
}

/* Returns the length of the character at `p`; two halves of a surrogate pair are one. */
static size_t char_len(const unsigned char *p, size_t len)
{
	size_t n = 1;

	if (is_surrogate(p, len, 0xa0) && is_surrogate(p + 3, len - 3, 0xb0))
		return 6;
	while (n < len && n < 4 && (p[n] & 0xc0) == 0x80 && *p >= 0xc0)
		n++;
	return n;
}

size_t doc_cut_title(struct grove_slice text, char out[TITLE_BYTES])
{
	const unsigned char *p = (const unsigned char *)text.ptr;
	size_t at = 0, last = 0, nr = 0;

	for (; at < text.len && nr < TITLE_MAX; nr++) {
		last = at;
		at += char_len(p + at, text.len - at);
	}
	if (at < text.len) {
		memcpy(out, text.ptr, last);
		memcpy(out + last, "…", sizeof("…"));
		return last + sizeof("…") - 1;
	}
	if (at)
		memcpy(out, text.ptr, at);
	out[at] = '\0';
	return at;
}

void doc_member_title(struct doc *d, const char *name, const char *text)
{
	char title[TITLE_BYTES];

	if (!text)
		return;
	doc_cut_title(grove_str(text), title);
	doc_member(d, name, title);
}

#define FLUSH 32768u

void doc_flush(struct doc *d, struct grove_sink to)
{
	if (d->rc || d->buf.len < FLUSH)
		return;
	d->rc = to.write(to.payload, d->buf.ptr, d->buf.len - 1);
	d->buf.ptr[0] = d->buf.ptr[d->buf.len - 1];
	d->buf.len = 1;
}

/* Writes a comma, except before the first item of an object or array, or the value of a member. */
static void comma(struct doc *d)
{
	char last = d->buf.len ? d->buf.ptr[d->buf.len - 1] : '{';

	if (last != '{' && last != '[' && last != ':' && last != ',')
		doc_puts(d, ",");
}

void doc_open(struct doc *d, char bracket)
{
	comma(d);
	doc_add(d, (struct grove_slice){ &bracket, 1 });
}

void doc_close(struct doc *d, char bracket)
{
	doc_add(d, (struct grove_slice){ &bracket, 1 });
}

void doc_name(struct doc *d, const char *name)
{
	doc_string(d, name);
	doc_puts(d, ":");
}

void doc_text(struct doc *d, struct grove_slice text)
{
	comma(d);
	if (!d->rc)
		d->rc = grove_buf_json_string(&d->buf, text);
}

void doc_string(struct doc *d, const char *text)
{
	if (text)
		doc_text(d, grove_str(text));
	else
		doc_null(d);
}

/* Faster than printf(), because columns have millions of them. */
static void put_digits(struct doc *d, uint64_t n, int negative)
{
	char text[24];
	size_t at = sizeof(text);

	do
		text[--at] = (char)('0' + n % 10);
	while (n /= 10);
	if (negative)
		text[--at] = '-';
	doc_add(d, (struct grove_slice){ text + at, sizeof(text) - at });
}

void doc_number(struct doc *d, uint64_t n)
{
	comma(d);
	put_digits(d, n, 0);
}

void doc_signed(struct doc *d, int64_t n)
{
	comma(d);
	put_digits(d, n < 0 ? 0 - (uint64_t)n : (uint64_t)n, n < 0);
}

void doc_real(struct doc *d, double x)
{
	comma(d);
	doc_printf(d, "%.15g", x);
}

void doc_bool(struct doc *d, int yes)
{
	comma(d);
	doc_puts(d, yes ? "true" : "false");
}

void doc_null(struct doc *d)
{
	comma(d);
	doc_puts(d, "null");
}

void doc_time(struct doc *d, int64_t ms)
{
	if (ms == GROVE_NO_TIME) {
		doc_null(d);
		return;
	}
	comma(d);
	doc_puts(d, "\"");
	if (!d->rc)
		d->rc = grove_buf_time(&d->buf, ms);
	doc_puts(d, "\"");
}

void doc_json(struct doc *d, struct grove_slice json)
{
	comma(d);
	if (!d->rc)
		d->rc = grove_buf_utf8(&d->buf, json);
}

void doc_member(struct doc *d, const char *name, const char *text)
{
	doc_name(d, name);
	doc_string(d, text);
}

void doc_member_number(struct doc *d, const char *name, uint64_t n)
{
	doc_name(d, name);
	doc_number(d, n);
}

void doc_member_bool(struct doc *d, const char *name, int yes)
{
	doc_name(d, name);
	doc_bool(d, yes);
}

void doc_member_time(struct doc *d, const char *name, int64_t ms)
{
	doc_name(d, name);
	doc_time(d, ms);
}

void doc_member_json(struct doc *d, const char *name, struct grove_slice json)
{
	doc_name(d, name);
	doc_json(d, json);
}

struct away {
	struct doc *d;
	int kinds, any;
};

static int put_away(void *payload, const struct grove_store_about *s)
{
	struct away *a = payload;

	if (!s->away)
		return 0;
	if (!a->any) {
		doc_name(a->d, "away");
		doc_open(a->d, '[');
	}
	a->any = 1;
	doc_text(a->d, (struct grove_slice){ s->url, a->kinds ? strcspn(s->url, ":") : strlen(s->url) });
	return 0;
}

void doc_member_away(struct doc *d, struct grove *g, int kinds)
{
	struct away a = { d, kinds, 0 };

	grove_store_each(g, put_away, &a);
	if (a.any)
		doc_close(d, ']');
}

void doc_member_match(struct doc *d, const struct grove_hit *h)
{
	doc_member(d, "match", grove_search_match_name(h->match));
	if (!h->nr_missing)
		return;
	doc_name(d, "missing");
	doc_open(d, '[');
	for (size_t i = 0; i < h->nr_missing; i++)
		doc_text(d, (struct grove_slice){ h->missing[i], strlen(h->missing[i]) });
	doc_close(d, ']');
}

void doc_error(struct doc *d, int code, const char *why)
{
	doc_puts(d, "{\"error\":{");
	doc_member(d, "code", grove_error_name(code));
	doc_member(d, "message", why);
	doc_puts(d, "}}\n");
}
