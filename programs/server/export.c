/*
 * export.c: GET /sessions/{id}/export: a session as a file.
 *
 * The code in kit/export/ does the work, as for `grove export`. An unfiltered JSON export is a
 * snapshot.
 */
#include "kit/export/export.h"
#include "assets.h"
#include "handlers.h"
#include "held.h"
#include "reply.h"
#include "route.h"

#include <stdlib.h>
#include <string.h>

/* The page is part of the viewer. */
static struct grove_slice find_page(void)
{
	for (const struct asset *a = assets; a->name; a++)
		if (!strcmp(a->name, "export.html"))
			return (struct grove_slice){ a->plain, a->plain_len };
	return (struct grove_slice){ NULL, 0 };
}

/* Applies the query parameters; `h` and the view are set. */
static int set_up(struct request *r, struct held *h, const struct grove_view *v, enum export_format format,
		  struct export *x)
{
	const char *id = query_text(r, "leaf");
	int rc;

	*x = (struct export){ .g = h->own ? h->own : r->g, .v = v, .id = h->id, .agent = h->agent, .format = format,
			      .leaf = grove_view_leaf(v), .branch = id != NULL, .page = find_page(),
			      .alone = h->parent && !parent_shown(r, NULL, h->parent) };
	rc = query_flag(r, "subagents", &x->subagents);
	if (!rc && id && *id)
		rc = find_entry(r, v, id, &x->leaf);
	return rc;
}

static int write_whole(struct request *r, struct export *x)
{
	struct grove_snapshot_options o = { .size = sizeof(o),
					    .flags = GROVE_SNAPSHOT_BLOBS | (x->alone ? GROVE_SNAPSHOT_ALONE : 0) };
	int rc;

	if (x->format == EXPORT_JSON && !x->branch && !x->redactor && !x->subagents)
		rc = grove_view_snapshot(x->v, &o, reply_sink(r));
	else
		rc = export_write(x, reply_sink(r));
	if (rc < 0 && !r->detail.code) {
		if (x->why.code)
			r->detail = x->why;
		else
			reply_fail_view(r, x->v, rc);
	}
	return rc;
}

/* Opens its own handle for sub-agents, so that a slow client does not block the shared one. */
static int write_export(struct request *r, struct held *h, struct export *x)
{
	int rc;

	if (!x->subagents)
		return write_whole(r, x);
	rc = grove_session_open(x->g, h->what, GROVE_OPEN_READ, &x->s);
	if (rc)
		grove_error(x->g, &r->detail);
	else
		rc = write_whole(r, x);
	grove_session_close(x->s);
	return rc;
}

static void name_file(struct request *r, const struct held *h, enum export_format format)
{
	static const char *const types[] = { "text/html; charset=utf-8", "text/markdown; charset=utf-8", "application/json" };

	r->type = types[format];
	/* The file name is the id, provided it has no character with a meaning in headers. */
	if (h->id[strspn(h->id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.")] == '\0')
		reply_header(r, "Content-Disposition", "attachment; filename=\"%.120s.%s\"", h->id,
			     export_formats[format]);
	else
		reply_header(r, "Content-Disposition", "attachment");
}

int get_export(struct request *r)
{
	struct redactor redactor;
	struct export x;
	struct held *h;
	struct grove_view *v;
	int format = EXPORT_MD, clean = 0, rc = query_choice(r, "format", export_formats, &format);

	if (!rc)
		rc = query_flag(r, "redact", &clean);
	if (rc)
		return rc;
	if (format == EXPORT_HTML && !find_page().len)
		return reply_fail_status(r, 501, GROVE_ENOTSUP,
					 "this server was built without the viewer, which HTML needs");
	rc = clean ? redactor_init(&redactor, getenv("HOME")) : 0;
	if (rc == GROVE_ENOTSUP)
		return reply_fail_status(r, 501, rc, "redaction is not built in: this server was built without PCRE2");
	if (!rc)
		rc = hold_state(r, &h, &v);
	if (rc < 0)
		return rc;
	/*
	 * sub-agents' transcripts are files of their own, which the ETag of the log does
	 * not cover
	 */
	if (query_text(r, "subagents")) {
		r->etag[0] = '\0';
		if (rc == 1)
			r->status = rc = 0;
	}
	if (!rc)
		rc = set_up(r, h, v, (enum export_format)format, &x);
	if (!rc) {
		x.redactor = clean ? &redactor : NULL;
		name_file(r, h, x.format);
		rc = write_export(r, h, &x);
	}
	hold_state_end(r, h, v);
	return rc < 0 ? rc : 0;
}
