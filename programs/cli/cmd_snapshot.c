/*
 * cmd_snapshot.c: a session as a user interface loads it.
 */
#include "commands.h"

#include <string.h>

static void print_member(struct out *o, struct grove_slice object, const char *name)
{
	struct grove_slice v;
	char text[4096];

	if (!grove_json_member(object, name, &v) || !strncmp(v.ptr, "null", 4))
		out_puts(o, "none");
	else if (*v.ptr == '"' && grove_json_text(v, text, sizeof(text), &v))
		out_text(o, v);
	else
		out_bytes(o, v.ptr, v.len);
}

static void print_line(struct out *o, const char *words, struct grove_slice object, const char *name)
{
	out_printf(o, "%-10s ", words);
	print_member(o, object, name);
	out_puts(o, "\n");
}

static size_t items(struct grove_slice doc, const char *name)
{
	struct grove_slice list, item;
	const char *at = NULL;
	size_t nr = 0;

	if (grove_json_member(doc, name, &list))
		while (grove_json_next(list, &at, NULL, &item))
			nr++;
	return nr;
}

static void print_summary(struct cli *c, struct grove_slice doc)
{
	static const struct {
		const char *words, *name;
	} lines[] = {
		{ "session", "id" },	   { "name", "name" },	       { "dialect", "dialect" },
		{ "store", "store" },	   { "cwd", "cwd" },	       { "created", "createdAt" },
		{ "updated", "updatedAt" }, { "entries", "entryCount" }, { "root", "rootEntryId" },
		{ "leaf", "leafEntryId" },
	};
	struct out *o = &c->out;
	struct grove_slice session, context, object;
	size_t nr;

	if (!grove_json_member(doc, "session", &session) || !grove_json_member(doc, "runtimeContext", &context))
		return;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		print_line(o, lines[i].words, session, lines[i].name);
	nr = items(doc, "activePath");
	out_printf(o, "path       %zu %s\n", nr, nr == 1 ? "entry" : "entries");
	nr = items(context, "messages");
	out_printf(o, "context    %zu message%s\n", nr, nr == 1 ? "" : "s");
	if (grove_json_member(doc, "labelsByEntryId", &object) && object.len > 2) {
		out_puts(o, "labels     ");
		out_text(o, object);
		out_puts(o, "\n");
	}
}

int cmd_snapshot(struct cli *c, int argc, char **argv)
{
	static const char *const entries[] = { "all", "path", "none", NULL };
	struct grove_snapshot_options so = { sizeof(so) };
	struct grove_buf doc = GROVE_BUF_INIT;
	struct grove_session *s;
	struct grove_view *v;
	int which = 0, blobs = 0, project = 0, err;
	const struct opt opts[] = {
		{ "entries", .choice = &which, .choices = entries },
		{ "after", .number = &so.after },
		{ "limit", .number = &so.limit },
		{ "max-body", .number = &so.max_body },
		{ "project", .flag = &project },
		{ "blobs", .flag = &blobs },
		{ NULL },
	};

	if (cli_begin(c, opts, "SESSION", &argc, argv))
		return c->status;
	if (blobs && !c->json)
		return cli_usage(c, "--blobs requires --json");
	s = cli_open_read(c, argv[0], GROVE_OPEN_READ);
	if (!s)
		return c->status;
	v = cli_view(c, s);
	if (!v)
		goto out;
	cli_working(c, "reading");
	so.entries = (enum grove_snapshot_entries)which;
	so.flags = (blobs ? GROVE_SNAPSHOT_BLOBS : 0) | (project ? GROVE_SNAPSHOT_PROJECT : 0);
	if (c->json) {
		err = grove_view_snapshot(v, &so, out_json_sink(&c->out));
		if (!err)
			out_end_line(&c->out);
	} else {
		so.entries = GROVE_SNAPSHOT_NONE;
		err = grove_view_snapshot(v, &so, grove_buf_sink(&doc));
		if (!err)
			print_summary(c, (struct grove_slice){ doc.ptr, doc.len });
	}
	c->status = err ? cli_fail_view(c, v, err) : EXIT_DONE;
out:
	grove_buf_release(&doc);
	grove_view_unref(v);
	grove_session_close(s);
	return c->status;
}
