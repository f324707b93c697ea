/*
 * export.c: a session as one file: what the formats share, and JSON.
 */
#include "export.h"


#include <stdlib.h>
#include <string.h>

const char *const export_formats[] = { "html", "md", "json", NULL };

void export_release(struct export *x)
{
	grove_buf_release(&x->raw);
	grove_buf_release(&x->line);
	grove_buf_release(&x->clean);
}

int export_put(struct export *x, struct grove_slice text)
{
	int rc;

	if (!text.len)
		return 0;
	if (!x->redactor)
		return x->to.write(x->to.payload, text.ptr, text.len);
	x->clean.len = 0;
	rc = redact_json(x->redactor, text, &x->clean);
	return rc ? rc : x->to.write(x->to.payload, x->clean.ptr, x->clean.len);
}

int export_puts(struct export *x, const char *text)
{
	return x->to.write(x->to.payload, text, strlen(text));
}

int export_read_line(struct export *x, uint32_t i)
{
	int rc;

	x->raw.len = 0;
	x->line.len = 0;
	rc = grove_view_line(x->v, i, GROVE_LINE_BLOBS, &x->raw);
	return rc ? rc : grove_buf_utf8(&x->line, grove_buf_slice(&x->raw));
}

int export_all_rows(const struct grove_view *v, struct grove_rows *out)
{
	struct grove_columns *c = NULL;
	int rc = grove_view_columns(v, NULL, &c);

	if (!rc && c->nr) {
		out->at = malloc(c->nr * sizeof(*out->at));
		if (!out->at)
			rc = GROVE_ENOMEM;
	}
	if (!rc && c->nr) {
		memcpy(out->at, c->index, c->nr * sizeof(*out->at));
		out->nr = c->nr;
	}
	grove_columns_free(c);
	return rc;
}

int export_is_branch(const struct export *x)
{
	return x->branch || x->format == EXPORT_MD;
}

int export_rows(const struct export *x, struct grove_rows *out)
{
	if (export_is_branch(x))
		return grove_view_conversation(x->v, x->leaf, GROVE_CONVERSATION_WHOLE, out);
	return export_all_rows(x->v, out);
}

/* --------------------------------------------------------------------- JSON */

int export_known(const struct export *x, struct grove_buf *out)
{
	struct grove_snapshot_options o = { .size = sizeof(o), .entries = GROVE_SNAPSHOT_NONE,
					    .flags = x->alone ? GROVE_SNAPSHOT_ALONE : 0 };

	return grove_view_snapshot(x->v, &o, grove_buf_sink(out));
}

static int put_entry_json(struct export *x, uint32_t i, int first)
{
	int rc = export_puts(x, first ? "\n" : ",\n");

	if (!rc)
		rc = export_read_line(x, i);
	return rc ? rc : export_put(x, grove_buf_slice(&x->line));
}

static void put_path(const struct export *x, struct doc *d)
{
	struct grove_entry e = { .size = sizeof(e) };
	struct grove_rows path = { 0 };

	doc_name(d, "activePath");
	doc_open(d, '[');
	if (!grove_view_conversation(x->v, x->leaf, GROVE_CONVERSATION_WHOLE, &path))
		for (size_t i = 0; i < path.nr; i++)
			if (!grove_view_entry(x->v, path.at[i], &e) && e.id)
				doc_string(d, e.id);
	doc_close(d, ']');
	grove_rows_release(&path);
}

static int put_head_json(struct export *x, const struct grove_subagent *a)
{
	struct grove_buf known = GROVE_BUF_INIT;
	struct grove_slice session;
	struct doc d = { .rc = 0 };
	int rc = export_known(x, &known);

	doc_open(&d, '{');
	if (a)
		doc_member(&d, "agentId", a->id);
	if (!rc && grove_json_member(grove_buf_slice(&known), "session", &session))
		doc_member_json(&d, "session", session);
	put_path(x, &d);
	doc_name(&d, "entries");
	doc_open(&d, '[');
	rc = rc ? rc : d.rc;
	if (!rc)
		rc = export_put(x, grove_buf_slice(&d.buf));
	doc_release(&d);
	grove_buf_release(&known);
	return rc;
}

/* Writes one transcript, without the last bracket. */
static int put_transcript(struct export *x, const struct grove_subagent *a)
{
	struct grove_rows rows = { 0 };
	int rc = export_rows(x, &rows);

	if (!rc)
		rc = put_head_json(x, a);
	for (size_t i = 0; i < rows.nr && !rc; i++)
		rc = put_entry_json(x, rows.at[i], !i);
	if (!rc)
		rc = export_puts(x, "]");
	grove_rows_release(&rows);
	return rc;
}

static int put_subagent_json(struct export *x, struct export *sub, const struct grove_subagent *a)
{
	/* the list begins with the first of them */
	int rc = export_puts(x, x->subagents == 1 ? ",\n\"subagents\":[" : ",\n");

	x->subagents = 2;
	if (!rc)
		rc = put_transcript(sub, a);
	return rc ? rc : export_puts(x, "}");
}

static int export_json(struct export *x)
{
	int rc = put_transcript(x, NULL);

	if (!rc)
		rc = export_each_subagent(x, put_subagent_json);
	if (!rc && x->subagents == 2)
		rc = export_puts(x, "]");
	return rc ? rc : export_puts(x, "}\n");
}

/* ------------------------------------------------------------------- all of it */

int export_write(struct export *x, struct grove_sink to)
{
	static int (*const writers[])(struct export *) = { export_html, export_markdown, export_json };
	int rc;

	x->to = to;
	x->subagents = x->subagents != 0;
	rc = writers[x->format](x);
	export_release(x);
	if (rc && !x->why.code)
		grove_view_error(x->v, &x->why);
	return rc;
}
