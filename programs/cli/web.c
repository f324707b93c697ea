/*
 * web.c: a session in the browser.
 */
#include "web.h"

#include "kit/viewer.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Escapes an id for use in a URL. */
static int escape(const char *id, char *out, size_t size)
{
	size_t n = 0;

	for (; *id; id++) {
		unsigned char ch = (unsigned char)*id;
		int plain = isalnum(ch) || strchr("-_.~", ch);

		if (n + 4 > size)
			return -1;
		n += (size_t)snprintf(out + n, size - n, plain ? "%c" : "%%%02X", ch);
	}
	out[n] = '\0';
	return 0;
}

/*
 * If the session's file is in none of the stores that the server would look in, gets its
 * directory as a store and returns 1. Returns 0 if it can be found by its id.
 */
static int store_of(struct cli *c, struct grove_session *s, char *store, size_t size)
{
	const char *path = grove_session_path(s);
	struct grove_list *found = NULL;
	char real[PATH_MAX];
	int err = grove_find(c->g, grove_session_id(s), 0, &found);

	grove_list_free(found);
	if (err != GROVE_ENOTFOUND || !path || !realpath(path, real))
		return 0;
	*strrchr(real, '/') = '\0';
	return (size_t)snprintf(store, size, "file:%s", *real ? real : "/") < size;
}

int cli_show_web(struct cli *c, struct grove_session *s)
{
	char id[512], path[640], url[256], page[1024], store[PATH_MAX + 8];

	if (escape(grove_session_id(s), id, sizeof(id)))
		return cli_error(c, GROVE_EINVAL, "%s: the session's id is too long for a URL", c->command);
	snprintf(path, sizeof(path), "/api/v1/sessions/%s", id);
	if (!viewer_find(path, url, sizeof(url))) {
		snprintf(page, sizeof(page), "%s/s/%s", url, id);
		out_puts(&c->out, page);
		out_puts(&c->out, "\n");
		out_flush(&c->out);
		viewer_open(page);
		return EXIT_DONE;
	}
	snprintf(page, sizeof(page), "/s/%s", id);
	return cli_serve_at(c, page, store_of(c, s, store, sizeof(store)) ? store : NULL);
}
