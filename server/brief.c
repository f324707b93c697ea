/*
 * brief.c: an entry without its long texts and its images.
 *
 * One pass over the line. What is open is a stack of names and places, from which a
 * pointer is made when one is needed; bytes between two replacements are copied as
 * they are.
 */
#include "brief.h"
#include "programs/json.h"
#include "body.h"
#include "media.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define IMAGE_LEAST 64u          /* shorter strings are no images */
#define HEAD_BYTES 65536u        /* of an image, in which its size is told */

struct level {
	char bracket;
	struct grove_slice name;  /* of the member at hand, without quotes */
	uint32_t index;           /* of the item at hand */
};

/* Told of each string that is a value. A non-zero answer ends the walk. */
typedef int string_fn(void *payload, const struct level *stack, unsigned depth, struct grove_slice string);

static const char *after_string(const char *p, const char *end)
{
	for (p++; p < end && *p != '"'; p++)
		if (*p == '\\')
			p++;
	return p < end ? p + 1 : end;
}

/* Walks over JSON that is known to be JSON. `string` has its quotes. */
static int walk(struct grove_slice json, string_fn *fn, void *payload)
{
	struct level stack[BODY_DEPTH];
	const char *p = json.ptr, *end = p + json.len, *next;
	unsigned depth = 0;
	int rc = 0, name = 0;

	for (; p < end && !rc; p = next) {
		next = p + 1;
		switch (*p) {
		case '{':
		case '[':
			stack[depth++] = (struct level){ .bracket = *p };
			name = *p == '{';
			break;
		case '}':
		case ']':
			depth--;
			name = 0;
			break;
		case ',':
			name = depth && stack[depth - 1].bracket == '{';
			if (depth && !name)
				stack[depth - 1].index++;
			break;
		case '"':
			next = after_string(p, end);
			if (name)
				stack[depth - 1].name = (struct grove_slice){ p + 1, (size_t)(next - p) - 2 };
			else
				rc = fn(payload, stack, depth, (struct grove_slice){ p, (size_t)(next - p) });
			name = 0;
			break;
		default:
			break;
		}
	}
	return rc;
}

/* ------------------------------------------------------------------- strings */

static unsigned hex4(const char *p)
{
	unsigned c = 0;

	for (int i = 0; i < 4; i++)
		c = c << 4 | (unsigned)(p[i] <= '9' ? p[i] - '0' : (p[i] | 0x20) - 'a' + 10);
	return c;
}

static int encode(char *out, unsigned c)
{
	if (c < 0x80) {
		out[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		out[0] = (char)(0xc0 | c >> 6);
		out[1] = (char)(0x80 | (c & 63));
		return 2;
	}
	if (c < 0x10000) {
		out[0] = (char)(0xe0 | c >> 12);
		out[1] = (char)(0x80 | (c >> 6 & 63));
		out[2] = (char)(0x80 | (c & 63));
		return 3;
	}
	out[0] = (char)(0xf0 | c >> 18);
	out[1] = (char)(0x80 | (c >> 12 & 63));
	out[2] = (char)(0x80 | (c >> 6 & 63));
	out[3] = (char)(0x80 | (c & 63));
	return 4;
}

/* Half of a surrogate pair stands for nothing: U+FFFD. */
static unsigned surrogates(const char **p, const char *end, unsigned c)
{
	unsigned low;

	if (c < 0xd800 || c > 0xdfff)
		return c;
	if (c > 0xdbff || end - *p < 6 || (*p)[0] != '\\' || (*p)[1] != 'u')
		return 0xfffd;
	low = hex4(*p + 2);
	if (low < 0xdc00 || low > 0xdfff)
		return 0xfffd;
	*p += 6;
	return 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
}

/* The escape at *p, which moves on, or the run of plain bytes there, and *p stays. */
static struct grove_slice piece(const char **p, const char *end, char room[4])
{
	static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
	const char *q = *p;
	const char *known;

	if (*q != '\\') {
		while (q < end && *q != '\\')
			q++;
		return (struct grove_slice){ *p, (size_t)(q - *p) };
	}
	if (q[1] == 'u') {
		unsigned c = hex4(q + 2);

		*p = q + 6;
		return (struct grove_slice){ room, (size_t)encode(room, surrogates(p, end, c)) };
	}
	known = strchr(from, q[1]);
	room[0] = known ? to[known - from] : q[1];
	*p = q + 2;
	return (struct grove_slice){ room, 1 };
}

/* Hands the text of a string, its escapes undone, to `fn` piece by piece. */
static int each_piece(struct grove_slice string, int (*fn)(void *payload, struct grove_slice text), void *payload)
{
	const char *p = string.ptr + 1, *end = string.ptr + string.len - 1;
	char room[4];
	int rc = 0;

	while (p < end && !rc) {
		const char *before = p;
		struct grove_slice t = piece(&p, end, room);

		if (p == before)
			p += t.len;
		rc = fn(payload, t);
	}
	return rc;
}

static int count_piece(void *payload, struct grove_slice t)
{
	*(uint64_t *)payload += t.len;
	return 0;
}

/* Bytes of the text that a string stands for. */
static uint64_t text_bytes(struct grove_slice string)
{
	uint64_t n = 0;

	if (!memchr(string.ptr, '\\', string.len))
		return string.len - 2;
	each_piece(string, count_piece, &n);
	return n;
}

/* ------------------------------------------------------------------- images */

static int digit(char c)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *p = c ? strchr(digits, c) : NULL;

	return p ? (int)(p - digits) : -1;
}

/* At most `most` bytes of what base64 stands for; it ends where that does. */
static int decode64(struct grove_slice text, size_t most, struct grove_buf *out)
{
	unsigned bits = 0, nr = 0;
	char part[3072];
	size_t n = 0;
	int rc = 0;

	for (size_t i = 0; i < text.len && !rc && out->len + n < most; i++) {
		int d = digit(text.ptr[i]);

		if (d < 0)
			break;
		bits = bits << 6 | (unsigned)d;
		nr += 6;
		if (nr >= 8) {
			nr -= 8;
			part[n++] = (char)(bits >> nr & 0xff);
		}
		if (n == sizeof(part)) {
			rc = grove_buf_add(out, (struct grove_slice){ part, n });
			n = 0;
		}
	}
	return rc ? rc : grove_buf_add(out, (struct grove_slice){ part, n });
}

/* The base64 of a string that is an image, without "data:…;base64,"; 0 if it is none. */
static int image_in(struct grove_slice string, struct grove_slice *base64)
{
	static const char *const begin[] = { "iVBORw0KGgo", "/9j/", "R0lGOD", "UklGR" };
	struct grove_slice t = { string.ptr + 1, string.len - 2 };
	const char *comma;

	if (string.len < IMAGE_LEAST)
		return 0;
	if (!memcmp(t.ptr, "data:image/", 11)) {
		comma = memchr(t.ptr, ',', 64 < t.len ? 64 : t.len);
		if (!comma)
			return 0;
		t.len -= (size_t)(comma + 1 - t.ptr);
		t.ptr = comma + 1;
	}
	for (int i = 0; i < 4; i++) {
		size_t n = strlen(begin[i]);

		if (t.len < IMAGE_LEAST / 2 || memcmp(t.ptr, begin[i], n))
			continue;
		/* text that happens to begin so has a blank soon, and does not come in fours */
		for (size_t k = 0; k < 32; k++)
			if (digit(t.ptr[k]) < 0)
				return 0;
		*base64 = t;
		return t.len % 4 == 0;
	}
	return 0;
}

static unsigned big16(const char *p)
{
	return (unsigned)(unsigned char)p[0] << 8 | (unsigned char)p[1];
}

static unsigned little16(const char *p)
{
	return (unsigned)(unsigned char)p[1] << 8 | (unsigned char)p[0];
}

/* A JPEG tells its size in the first frame, after whatever else stands before it. */
static int jpeg_size(struct grove_slice b, unsigned *w, unsigned *h)
{
	size_t at = 2;

	while (at + 9 < b.len && (unsigned char)b.ptr[at] == 0xff) {
		unsigned char kind = (unsigned char)b.ptr[at + 1];

		if (kind >= 0xc0 && kind <= 0xcf && kind != 0xc4 && kind != 0xc8 && kind != 0xcc) {
			*h = big16(b.ptr + at + 5);
			*w = big16(b.ptr + at + 7);
			return 1;
		}
		at += 2 + big16(b.ptr + at + 2);
	}
	return 0;
}

static int webp_size(struct grove_slice b, unsigned *w, unsigned *h)
{
	unsigned bits;

	if (b.len < 30)
		return 0;
	if (!memcmp(b.ptr + 12, "VP8X", 4)) {
		*w = 1 + (little16(b.ptr + 24) | (unsigned)(unsigned char)b.ptr[26] << 16);
		*h = 1 + (little16(b.ptr + 27) | (unsigned)(unsigned char)b.ptr[29] << 16);
		return 1;
	}
	if (!memcmp(b.ptr + 12, "VP8L", 4)) {
		bits = little16(b.ptr + 21) | little16(b.ptr + 23) << 16;
		*w = 1 + (bits & 0x3fff);
		*h = 1 + (bits >> 14 & 0x3fff);
		return 1;
	}
	*w = little16(b.ptr + 26) & 0x3fff;
	*h = little16(b.ptr + 28) & 0x3fff;
	return !memcmp(b.ptr + 12, "VP8 ", 4);
}

static int image_size(const char *type, struct grove_slice b, unsigned *w, unsigned *h)
{
	if (!strcmp(type, "image/png") && b.len >= 24) {
		*w = big16(b.ptr + 16) << 16 | big16(b.ptr + 18);
		*h = big16(b.ptr + 20) << 16 | big16(b.ptr + 22);
		return 1;
	}
	if (!strcmp(type, "image/gif") && b.len >= 10) {
		*w = little16(b.ptr + 6);
		*h = little16(b.ptr + 8);
		return 1;
	}
	if (!strcmp(type, "image/jpeg"))
		return jpeg_size(b, w, h);
	return !strcmp(type, "image/webp") && webp_size(b, w, h);
}

static void put_media(struct doc *d, uint64_t n, struct grove_slice base64)
{
	struct grove_buf head = GROVE_BUF_INIT;
	size_t padding = 0;
	const char *type;
	unsigned w, h;

	if (!d->rc)
		d->rc = decode64(base64, HEAD_BYTES, &head);
	while (padding < 2 && base64.ptr[base64.len - 1 - padding] == '=')
		padding++;
	type = media_type(grove_buf_slice(&head));
	doc_puts(d, "{");
	doc_member_number(d, "$media", n);
	doc_member(d, "type", type ? type : "application/octet-stream");
	doc_member_number(d, "bytes", base64.len / 4 * 3 - padding);
	if (type && image_size(type, grove_buf_slice(&head), &w, &h)) {
		doc_member_number(d, "width", w);
		doc_member_number(d, "height", h);
	}
	doc_puts(d, "}");
	grove_buf_release(&head);
}

/* ------------------------------------------------------------------ entries */

struct brief {
	struct doc *d;
	const char *copied;       /* all before it is in `d` */
	const char *id;
	uint64_t most, media;
};

static void put_pointer(struct doc *d, const struct level *stack, unsigned depth)
{
	struct grove_buf b = GROVE_BUF_INIT;
	char index[16];

	for (unsigned i = 0; i < depth && !d->rc; i++) {
		d->rc = grove_buf_add(&b, grove_str("/"));
		if (stack[i].bracket == '[') {
			snprintf(index, sizeof(index), "%u", stack[i].index);
			d->rc = grove_buf_add(&b, grove_str(index));
			continue;
		}
		for (size_t k = 0; k < stack[i].name.len && !d->rc; k++) {
			char c = stack[i].name.ptr[k];

			d->rc = grove_buf_add(&b, c == '~' ? grove_str("~0") : c == '/' ? grove_str("~1") :
						  (struct grove_slice){ &c, 1 });
		}
	}
	doc_name(d, "pointer");
	doc_text(d, grove_buf_slice(&b));
	grove_buf_release(&b);
}

static int shorten(void *payload, const struct level *stack, unsigned depth, struct grove_slice string)
{
	struct brief *b = payload;
	struct grove_slice base64;
	uint64_t bytes;
	int image = image_in(string, &base64);

	if (!image && string.len - 2 <= b->most)
		return 0;
	bytes = image ? 0 : text_bytes(string);
	if (!image && bytes <= b->most)
		return 0;
	if (!b->d->rc)
		b->d->rc = grove_buf_utf8(&b->d->buf, (struct grove_slice){ b->copied, (size_t)(string.ptr - b->copied) });
	b->copied = string.ptr + string.len;
	if (image) {
		put_media(b->d, b->media++, base64);
		return b->d->rc;
	}
	doc_puts(b->d, "{");
	doc_member(b->d, "$ref", b->id);
	put_pointer(b->d, stack, depth);
	doc_member_number(b->d, "bytes", bytes);
	doc_puts(b->d, "}");
	return b->d->rc;
}

/* Lines are read leniently by agents; what body_check() would not take is not walked. */
static int is_json(struct grove_slice line)
{
	size_t at;

	return !body_check(line, &at);
}

void brief_entry(struct doc *d, struct grove_slice line, const char *id, uint64_t most)
{
	struct brief b = { .d = d, .copied = line.ptr, .id = id, .most = most };

	if (!is_json(line)) {
		doc_json(d, line);
		return;
	}
	doc_json(d, (struct grove_slice){ "", 0 });   /* a comma, if one is due */
	walk(line, shorten, &b);
	if (!d->rc)
		d->rc = grove_buf_utf8(&d->buf, (struct grove_slice){ b.copied, (size_t)(line.ptr + line.len - b.copied) });
}

struct wanted_media {
	uint64_t n;
	struct grove_slice base64;
};

static int find_media(void *payload, const struct level *stack, unsigned depth, struct grove_slice string)
{
	struct wanted_media *w = payload;

	(void)stack;
	(void)depth;
	return image_in(string, &w->base64) && !w->n--;
}

int brief_media(struct grove_slice line, uint64_t n, struct grove_buf *out)
{
	struct wanted_media w = { .n = n };

	if (!is_json(line) || !walk(line, find_media, &w))
		return GROVE_ENOTFOUND;
	return decode64(w.base64, SIZE_MAX, out);
}

/* -------------------------------------------------------------------- texts */

/* One step of a pointer: the member or item that it names. */
static int step(struct grove_slice *at, const char *name)
{
	struct grove_slice item;
	const char *place = NULL;
	unsigned long n = 0;

	if (at->len && *at->ptr == '{')
		return json_member(*at, name, at);
	if (!*name || name[strspn(name, "0123456789")])
		return 0;
	for (n = strtoul(name, NULL, 10); json_item(*at, &place, &item); n--)
		if (!n) {
			*at = item;
			return 1;
		}
	return 0;
}

static int follow(struct grove_slice *at, const char *pointer)
{
	char name[256];
	size_t n;

	while (*pointer == '/') {
		for (n = 0, pointer++; *pointer && *pointer != '/'; pointer++) {
			if (n + 1 == sizeof(name))
				return 0;
			name[n] = *pointer;
			if (*pointer == '~' && (pointer[1] == '0' || pointer[1] == '1'))
				name[n] = *++pointer == '0' ? '~' : '/';
			n++;
		}
		name[n] = '\0';
		if (!step(at, name))
			return 0;
	}
	return !*pointer;
}

struct cut {
	uint64_t at, from, upto;  /* bytes of the text */
	struct grove_buf *out;
	int rc;
};

static int cut_piece(void *payload, struct grove_slice t)
{
	struct cut *c = payload;
	uint64_t from = c->from > c->at ? c->from - c->at : 0, to = c->upto > c->at ? c->upto - c->at : 0;

	to = to < t.len ? to : t.len;
	if (from < to)
		c->rc = grove_buf_add(c->out, (struct grove_slice){ t.ptr + from, to - from });
	c->at += t.len;
	return c->rc;
}

static int continues(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

int brief_text(struct grove_slice line, const char *pointer, uint64_t *from, uint64_t most,
	       struct grove_buf *out, uint64_t *total)
{
	struct grove_slice at = line;
	struct cut c = { .from = *from, .upto = *from + most, .out = out };
	size_t end, skip = 0, keep;

	if (!is_json(line) || !follow(&at, pointer) || at.len < 2 || *at.ptr != '"')
		return GROVE_ENOTFOUND;
	if (each_piece(at, cut_piece, &c))
		return c.rc;
	*total = c.at;
	end = out->len;
	/* from the first whole character to the last: what was cut off comes with the next part */
	while (skip < end && skip < 3 && continues(out->ptr[skip]))
		skip++;
	keep = end;
	if (*from + end < *total && end) {
		size_t head = end - 1;

		while (head > skip && continues(out->ptr[head]))
			head--;
		if ((unsigned char)out->ptr[head] >= 0xc0)
			keep = head;
	}
	if (keep > skip)
		memmove(out->ptr, out->ptr + skip, keep - skip);
	out->len = keep - skip;
	*from += skip;
	return 0;
}
