/*
 * view/media.c: images in entries: what they are, how large, and where.
 */
#include "view/heads.h"

#include "json/value.h"

const char *grove__media_type(struct grove_slice bytes)
{
	static const struct {
		const char *start;
		size_t len, at;
		const char *type;
	} known[] = {
		{ "\x89PNG\r\n\x1a\n", 8, 0, "image/png" }, { "\xff\xd8\xff", 3, 0, "image/jpeg" },
		{ "GIF8", 4, 0, "image/gif" },              { "WEBP", 4, 8, "image/webp" },
		{ "%PDF-", 5, 0, "application/pdf" },       { "BM", 2, 0, "image/bmp" },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (bytes.len >= known[i].at + known[i].len &&
		    !memcmp(bytes.ptr + known[i].at, known[i].start, known[i].len))
			return known[i].type;
	return "application/octet-stream";
}

static unsigned byte_at(struct grove_slice b, size_t i)
{
	return (unsigned char)b.ptr[i];
}

static unsigned big16(struct grove_slice b, size_t i)
{
	return byte_at(b, i) << 8 | byte_at(b, i + 1);
}

static unsigned little16(struct grove_slice b, size_t i)
{
	return byte_at(b, i + 1) << 8 | byte_at(b, i);
}

/* The size of a JPEG is in its first frame, which other segments may precede. */
static bool jpeg_size(struct grove_slice b, unsigned *w, unsigned *h)
{
	size_t at = 2;

	while (at + 9 < b.len && byte_at(b, at) == 0xff) {
		unsigned kind = byte_at(b, at + 1);

		if (kind >= 0xc0 && kind <= 0xcf && kind != 0xc4 && kind != 0xc8 && kind != 0xcc) {
			*h = big16(b, at + 5);
			*w = big16(b, at + 7);
			return true;
		}
		at += 2 + big16(b, at + 2);
	}
	return false;
}

static bool webp_size(struct grove_slice b, unsigned *w, unsigned *h)
{
	unsigned bits;

	if (b.len < 30)
		return false;
	if (!memcmp(b.ptr + 12, "VP8X", 4)) {
		*w = 1 + (little16(b, 24) | byte_at(b, 26) << 16);
		*h = 1 + (little16(b, 27) | byte_at(b, 29) << 16);
		return true;
	}
	if (!memcmp(b.ptr + 12, "VP8L", 4)) {
		bits = little16(b, 21) | little16(b, 23) << 16;
		*w = 1 + (bits & 0x3fff);
		*h = 1 + (bits >> 14 & 0x3fff);
		return true;
	}
	*w = little16(b, 26) & 0x3fff;
	*h = little16(b, 28) & 0x3fff;
	return !memcmp(b.ptr + 12, "VP8 ", 4);
}

bool grove__media_size(const char *type, struct grove_slice b, unsigned *w, unsigned *h)
{
	if (!strcmp(type, "image/png") && b.len >= 24) {
		*w = big16(b, 16) << 16 | big16(b, 18);
		*h = big16(b, 20) << 16 | big16(b, 22);
		return true;
	}
	if (!strcmp(type, "image/gif") && b.len >= 10) {
		*w = little16(b, 6);
		*h = little16(b, 8);
		return true;
	}
	if (!strcmp(type, "image/jpeg"))
		return jpeg_size(b, w, h);
	return !strcmp(type, "image/webp") && webp_size(b, w, h);
}

struct grove_slice grove__media_find(const struct grove__dialect_heads *names, struct grove_slice value,
				     unsigned depth, unsigned *nth)
{
	struct grove_slice found = { NULL, 0 };
	struct grove__json_iter it;

	if (grove__json_type_of(value) == JSON_OBJECT) {
		found = names->media(value);
		if (found.ptr && !(*nth)--)
			return found;
		if (found.ptr)
			return grove__slice(NULL, 0);
	}
	if (depth >= GROVE__BRIEF_DEPTH || grove__json_type_of(value) < JSON_ARRAY)
		return grove__slice(NULL, 0);
	grove__json_iter_init(&it, value);
	while (!found.ptr && grove__json_next(&it))
		found = grove__media_find(names, it.value, depth + 1, nth);
	return found;
}
