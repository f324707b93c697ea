/*
 * js/url.c: the path of a file: URL.
 */
#include "js/js.h"

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

int grove__js_file_url(const char *url, struct grove_buf *out)
{
	static const char local[] = "localhost";
	int rc = 0;

	if (strncmp(url, "file://", 7))
		return 1;
	url += 7;
	if (!strncmp(url, local, sizeof(local) - 1) && url[sizeof(local) - 1] == '/')
		url += sizeof(local) - 1;
	for (; *url && *url != '?' && *url != '#' && !rc; url++) {
		int hi = *url == '%' ? digit(url[1]) : -1, lo = hi < 0 ? -1 : digit(url[2]);

		/* a NUL would end the path, so it stays encoded */
		if (lo < 0 || !(hi | lo)) {
			rc = grove__buf_add_char(out, *url);
			continue;
		}
		rc = grove__buf_add_char(out, (char)(hi << 4 | lo));
		url += 2;
	}
	return rc;
}
