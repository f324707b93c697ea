/*
 * assets.c: the viewer's files, which are built into the program.
 */
#include "assets.h"
#include "handlers.h"
#include "reply.h"

#include <string.h>

#define CSP_PAGE \
	"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; " \
	"worker-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " \
	"require-trusted-types-for 'script'; trusted-types grove"

/* The viewer's addresses have no files behind them; the page itself interprets them. */
static int is_page(const struct request *r)
{
	const char *first = r->target.nr_segments ? r->target.segment[0] : "";

	return !*first || !strcmp(first, "s") || !strcmp(first, "usage") || !strcmp(first, "search");
}

static const struct asset *find(const char *name)
{
	for (const struct asset *a = assets; a->name; a++)
		if (!strcmp(a->name, name))
			return a;
	return NULL;
}

static const struct asset *wanted(const struct request *r)
{
	char name[256];
	size_t n = 0;

	if (is_page(r))
		return find("index.html");
	for (unsigned i = 0; i < r->target.nr_segments; i++) {
		size_t len = strlen(r->target.segment[i]);

		if (n + len + 2 > sizeof(name))
			return NULL;
		if (i)
			name[n++] = '/';
		memcpy(name + n, r->target.segment[i], len);
		n += len;
	}
	name[n] = '\0';
	return find(strcmp(name, "licenses") ? name : "licenses.txt");
}

/* app-YENPS4IU.css: another content has another name. */
static int is_named_by_content(const char *name)
{
	const char *dash = strrchr(name, '-');

	return dash && strspn(dash + 1, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") == 8 && dash[9] == '.';
}

int get_page(struct request *r)
{
	const struct asset *a = wanted(r);
	const char *accept;

	r->csp = CSP_PAGE;
	if (!a && is_page(r)) {
		r->type = "text/html; charset=utf-8";
		doc_puts(&r->out, "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>grove</title>\n"
				  "<p>This server was built without the viewer. Its programming interface is described at "
				  "<a href=\"/api/v1/openapi.json\">/api/v1/openapi.json</a>.</p></html>\n");
		return 0;
	}
	if (!a)
		return reply_fail(r, GROVE_ENOTFOUND, "there is nothing at this address");
	r->type = a->type;
	if (is_named_by_content(a->name))
		r->cache = "public, max-age=31536000, immutable";
	if (reply_etag(r, "%s", a->etag))
		return 0;
	/* assets are stored gzipped, and unpacked only for clients that do not accept gzip */
	accept = MHD_lookup_connection_value(r->connection, MHD_HEADER_KIND, "Accept-Encoding");
	if (a->packed_len && accept && strstr(accept, "gzip")) {
		doc_add(&r->out, (struct grove_slice){ a->packed, a->packed_len });
		reply_header(r, "Content-Encoding", "gzip");
		r->packed = 1;
	} else {
		doc_add(&r->out, (struct grove_slice){ a->plain, a->plain_len });
	}
	return 0;
}
