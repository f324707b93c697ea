/*
 * assets.h: the viewer's files, which are part of the program.
 */
#ifndef SERVER_ASSETS_H
#define SERVER_ASSETS_H

#include <stddef.h>

struct asset {
	const char *name;        /* "index.html"; NULL ends the list */
	const char *type;
	const char *etag;        /* of its bytes */
	const char *plain;
	size_t plain_len;
	const char *packed;      /* gzip; NULL: it is smaller as it is */
	size_t packed_len;
};

/* Made by embed.py. */
extern const struct asset assets[];

#endif
