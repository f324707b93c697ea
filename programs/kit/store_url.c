/*
 * store_url.c: what programs need to know of a store's URL.
 */
#include "store_url.h"
#include "text.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

void store_url_hide_password(char *url)
{
	char *authority = strstr(url, "://"), *colon, *at = NULL;

	if (!authority)
		return;
	authority += 3;
	colon = authority + strcspn(authority, ":@/?");
	/*
	 * up to the last @ before the options: an unescaped @ in a password must not expose
	 * the rest
	 */
	for (char *p = authority; *p && *p != '?'; p++)
		if (*p == '@')
			at = p;
	if (*colon == ':' && at && at > colon)
		memmove(colon, at, strlen(at) + 1);
}

/* Folded, as the library computes it when it is given such a name. */
static void fold(uint32_t h, char out[5])
{
	snprintf(out, 5, "%04x", (unsigned)((h ^ h >> 16) & 0xffff));
}

void store_url_mark(const char *url, char out[5])
{
	fold(text_hash(TEXT_HASH_BEGIN, url), out);
}

void store_url_session_mark(const char *url, const char *path, char out[5])
{
	fold(text_hash(text_hash(TEXT_HASH_BEGIN, url), path && *path == '/' ? path : ""), out);
}

int store_url_is_elsewhere(const char *url)
{
	return !strncmp(url, "mysql:", 6) || !strncmp(url, "postgres:", 9);
}
