/*
 * store_url.c: hides the password in a store's URL.
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
