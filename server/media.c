/*
 * media.c: what bytes are, by what they begin with.
 */
#include "media.h"

const char *media_type(struct grove_slice b)
{
	if (b.len >= 8 && !memcmp(b.ptr, "\x89PNG\r\n\x1a\n", 8))
		return "image/png";
	if (b.len >= 3 && !memcmp(b.ptr, "\xff\xd8\xff", 3))
		return "image/jpeg";
	if (b.len >= 6 && (!memcmp(b.ptr, "GIF87a", 6) || !memcmp(b.ptr, "GIF89a", 6)))
		return "image/gif";
	if (b.len >= 12 && !memcmp(b.ptr, "RIFF", 4) && !memcmp(b.ptr + 8, "WEBP", 4))
		return "image/webp";
	return NULL;
}
