/*
 * store_url.c: a store's URL as it may be shown.
 */
#include "store_url.h"

#include <string.h>

void store_url_hide_password(char *url)
{
	char *authority = strstr(url, "://"), *colon, *at = NULL;

	if (!authority)
		return;
	authority += 3;
	colon = authority + strcspn(authority, ":@/?");
	/* the last @ before the options: one in a password that is not escaped hides no more */
	for (char *p = authority; *p && *p != '?'; p++)
		if (*p == '@')
			at = p;
	if (*colon == ':' && at && at > colon)
		memmove(colon, at, strlen(at) + 1);
}
