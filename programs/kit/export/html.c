/*
 * html.c: the viewer's page with a session in it.
 *
 * web/README.md describes how data is embedded: a block for each transcript, with what is
 * known about it, its shape in columns, and a line for each entry. Nothing in a session may
 * end the block: in JSON a < can only be in a string, where it is written as an escape.
 */
#include "export.h"

#include "columns.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char mark[] = "<!--grove:session-->";

/* --------------------------------------------------------------------- lines */

/* Appends JSON as one line of the page. */
static int add_line(struct grove_buf *out, struct grove_slice json)
{
	static const struct grove_slice less = { "\\u003c", 6 }, blank = { " ", 1 };
	int rc = 0;

	while (json.len && !rc) {
		size_t n = 0;

		while (n < json.len && json.ptr[n] != '<' && json.ptr[n] != '\n' && json.ptr[n] != '\r')
			n++;
		rc = grove_buf_add(out, (struct grove_slice){ json.ptr, n });
		if (!rc && n < json.len)
			rc = grove_buf_add(out, json.ptr[n] == '<' ? less : blank);
		n += n < json.len;
		json.ptr += n;
		json.len -= n;
	}
	return rc ? rc : grove_buf_add(out, grove_str("\n"));
}

/* Redacts first, because a secret may be next to a <. */
static int put_line(struct export *x, struct grove_slice json)
{
	struct grove_slice text = json;
	int rc = 0;

	x->clean.len = 0;
	x->raw.len = 0;
	if (x->redactor) {
		rc = redact_json(x->redactor, json, &x->clean);
		text = grove_buf_slice(&x->clean);
	}
	if (!rc)
		rc = add_line(&x->raw, text);
	return rc ? rc : x->to.write(x->to.payload, x->raw.ptr, x->raw.len);
}

/* --------------------------------------------------------------------- shape */

struct shape {
	struct columns cols;
	struct grove_columns *all;
	struct grove_rows rows;
	uint32_t *place;         /* for each entry of the view; GROVE_NO_ENTRY if left out */
};

static void put_shape(struct shape *s, uint32_t leaf)
{
	struct doc *d = &s->cols.d;

	doc_open(d, '{');
	doc_member(d, "level", "all");
	columns_put_shape(&s->cols);
	columns_put_labels(&s->cols);
	doc_name(d, "leaf");
	if (leaf != GROVE_NO_ENTRY && s->place[leaf] != GROVE_NO_ENTRY)
		doc_number(d, s->place[leaf]);
	else
		doc_null(d);
	doc_name(d, "next");
	doc_null(d);
	doc_close(d, '}');
}

static int shape_init(struct shape *s, const struct export *x)
{
	uint32_t n = grove_view_count(x->v);
	int rc = export_rows(x, &s->rows);

	if (!rc)
		rc = grove_view_columns(x->v, NULL, &s->all);
	s->place = malloc((n + 1u) * sizeof(*s->place));
	if (!s->place)
		return GROVE_ENOMEM;
	memset(s->place, 0xff, (n + 1u) * sizeof(*s->place));
	for (size_t i = 0; i < s->rows.nr && !rc; i++)
		s->place[s->rows.at[i]] = (uint32_t)i;
	s->cols = (struct columns){ .v = x->v, .c = s->all, .rows = &s->rows, .place = s->place };
	return rc;
}

static void shape_release(struct shape *s)
{
	grove_rows_release(&s->rows);
	grove_columns_free(s->all);
	free(s->place);
	doc_release(&s->cols.d);
}

/* -------------------------------------------------------------------- blocks */

static void put_agent(struct doc *d, const struct grove_subagent *a)
{
	doc_name(d, "agent");
	doc_open(d, '{');
	doc_member(d, "id", a->id);
	if (a->description || a->type)
		doc_member(d, "name", a->description ? a->description : a->type);
	doc_close(d, '}');
}

/* The first line. */
static int put_known(struct export *x, const struct grove_subagent *a, const char *note)
{
	struct grove_buf known = GROVE_BUF_INIT;
	struct grove_slice value;
	struct doc d = { .rc = 0 };
	int rc = export_known(x, &known);

	doc_open(&d, '{');
	if (!rc && grove_json_member(grove_buf_slice(&known), "session", &value))
		doc_member_json(&d, "session", value);
	if (!rc && x->subagents && grove_json_member(grove_buf_slice(&known), "subagents", &value))
		doc_member_json(&d, "subagents", value);
	if (a)
		put_agent(&d, a);
	if (note) {
		doc_name(&d, "notes");
		doc_open(&d, '[');
		doc_string(&d, note);
		doc_close(&d, ']');
	}
	doc_close(&d, '}');
	rc = rc ? rc : d.rc;
	if (!rc)
		rc = put_line(x, grove_buf_slice(&d.buf));
	doc_release(&d);
	grove_buf_release(&known);
	return rc;
}

static int put_entries(struct export *x, const struct grove_rows *rows)
{
	int rc = 0;

	for (size_t i = 0; i < rows->nr && !rc; i++) {
		rc = export_read_line(x, rows->at[i]);
		if (!rc)
			rc = put_line(x, x->line.len ? grove_buf_slice(&x->line) : grove_str("null"));
	}
	return rc;
}

static int put_block(struct export *x, const struct grove_subagent *a, const char *note)
{
	struct shape s = { .all = NULL };
	int rc = shape_init(&s, x);

	if (!rc)
		rc = export_puts(x, "<script type=\"application/json\" class=\"grove-session\">\n");
	if (!rc)
		rc = put_known(x, a, note);
	if (!rc) {
		put_shape(&s, x->leaf);
		rc = s.cols.d.rc ? s.cols.d.rc : put_line(x, grove_buf_slice(&s.cols.d.buf));
	}
	if (!rc)
		rc = put_entries(x, &s.rows);
	shape_release(&s);
	return rc ? rc : export_puts(x, "</script>\n");
}

static int put_subagent(struct export *x, struct export *sub, const struct grove_subagent *a)
{
	(void)x;
	return put_block(sub, a, NULL);
}

static int put_blocks(struct export *x, const char *note)
{
	int rc = put_block(x, NULL, note);

	return rc ? rc : export_each_subagent(x, put_subagent);
}

/* ------------------------------------------------------------------- the page */

static int write_nowhere(void *payload, const char *ptr, size_t len)
{
	(void)payload;
	(void)ptr;
	(void)len;
	return 0;
}

/* The page says above the conversation what was replaced, so it is counted first. */
static int count_replaced(struct export *x, struct grove_buf *note)
{
	struct grove_sink to = x->to;
	struct redactor counted;
	int rc;

	x->to = (struct grove_sink){ write_nowhere, NULL };
	rc = put_blocks(x, NULL);
	x->to = to;
	counted = *x->redactor;
	memset(x->redactor->count, 0, sizeof(x->redactor->count));
	if (!rc)
		rc = grove_buf_add(note, grove_str("Replaced before this file was made: "));
	return rc ? rc : redactor_tell(&counted, note);
}

int export_html(struct export *x)
{
	struct grove_buf note = GROVE_BUF_INIT;
	const char *at = x->page.len ? memmem(x->page.ptr, x->page.len, mark, sizeof(mark) - 1) : NULL;
	int rc = at ? 0 : GROVE_ENOTSUP;

	if (!rc && x->redactor)
		rc = count_replaced(x, &note);
	if (!rc)
		rc = x->to.write(x->to.payload, x->page.ptr, (size_t)(at - x->page.ptr));
	if (!rc)
		rc = put_blocks(x, note.ptr);
	if (!rc) {
		at += sizeof(mark) - 1;
		rc = x->to.write(x->to.payload, at, (size_t)(x->page.ptr + x->page.len - at));
	}
	grove_buf_release(&note);
	return rc;
}
