/*
 * export.c: GET /sessions/{id}/export: a session as a file.
 *
 * export/ makes it, as for `grove export`. JSON without a leaf is a snapshot.
 */
#include "export/export.h"
#include "assets.h"
#include "handlers.h"
#include "held.h"
#include "reply.h"
#include "route.h"

#include <string.h>

/* The page comes with the viewer. */
static struct grove_slice find_page(void)
{
	for (const struct asset *a = assets; a->name; a++)
		if (!strcmp(a->name, "export.html"))
			return (struct grove_slice){ a->plain, a->plain_len };
	return (struct grove_slice){ NULL, 0 };
}

static int write_format(struct request *r, const struct held *h, const struct grove_view *v, uint32_t leaf,
			enum export_format format)
{
	struct grove_snapshot_options o = { .size = sizeof(o), .flags = GROVE_SNAPSHOT_BLOBS };
	struct export x = { .g = r->g, .v = v, .id = h->id, .agent = h->agent, .format = format, .leaf = leaf,
			    .branch = query_text(r, "leaf") != NULL, .page = find_page() };

	if (format == EXPORT_JSON && !x.branch)
		return grove_view_snapshot(v, &o, reply_sink(r));
	return export_write(&x, reply_sink(r));
}

int get_export(struct request *r)
{
	static const char *const types[] = { "text/html; charset=utf-8", "text/markdown; charset=utf-8", "application/json" };
	const char *id = query_text(r, "leaf");
	struct held *h;
	struct grove_view *v;
	uint32_t leaf = GROVE_NO_ENTRY;
	int format = EXPORT_MD, rc = query_choice(r, "format", export_formats, &format);

	if (rc)
		return rc;
	if (format == EXPORT_HTML && !find_page().len)
		return reply_fail_status(r, 501, GROVE_ENOTSUP,
					 "this server was built without the viewer, of which HTML is made");
	rc = hold_state(r, &h, &v);
	if (!rc && id && *id)
		rc = find_entry(r, v, id, &leaf);
	else if (!rc)
		leaf = grove_view_leaf(v);
	if (!rc) {
		r->type = types[format];
		/* the name is made of the id alone, which has no character that means something in a header */
		if (h->id[strspn(h->id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.")] == '\0')
			reply_header(r, "Content-Disposition", "attachment; filename=\"%.120s.%s\"", h->id,
				     export_formats[format]);
		else
			reply_header(r, "Content-Disposition", "attachment");
		rc = write_format(r, h, v, leaf, (enum export_format)format);
		if (rc < 0 && !r->detail.code)
			reply_fail_view(r, v, rc);
	}
	hold_state_end(r, h, v);
	return rc < 0 ? rc : 0;
}
