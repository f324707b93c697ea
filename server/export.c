/*
 * export.c: GET /sessions/{id}/export: the conversation as a file.
 *
 * Markdown: a heading for whoever speaks, text as it is, calls and what they
 * answered in fences that are longer than any within them.
 */
#include "handlers.h"
#include "held.h"
#include "reply.h"
#include "route.h"

#include <stdio.h>
#include <string.h>

struct writer {
	struct grove_sink to;
	struct doc d;
	enum grove_role role;    /* whose heading was written last */
	int any;
};

static const char *heading(const struct grove_entry *e)
{
	switch (e->role) {
	case GROVE_ROLE_USER:
		return "User";
	case GROVE_ROLE_ASSISTANT:
		return "Assistant";
	case GROVE_ROLE_TOOL_RESULT:
	case GROVE_ROLE_BASH:
	case GROVE_ROLE_PYTHON:
		return "Tool";
	case GROVE_ROLE_SYSTEM:
	case GROVE_ROLE_DEVELOPER:
		return "System";
	default:
		return grove_kind_name(e->kind);
	}
}

/* The longest run of backquotes in a text, for a fence that it cannot end. */
static int longest_run(struct grove_slice t)
{
	int longest = 2, run = 0;

	for (size_t i = 0; i < t.len; i++) {
		run = t.ptr[i] == '`' ? run + 1 : 0;
		longest = run > longest ? run : longest;
	}
	return longest;
}

static void put_fenced(struct doc *d, const char *word, struct grove_slice text)
{
	int n = longest_run(text) + 1;

	for (int i = 0; i < n; i++)
		doc_puts(d, "`");
	doc_puts(d, word);
	doc_puts(d, "\n");
	if (!d->rc)
		d->rc = grove_buf_utf8(&d->buf, text);
	doc_puts(d, "\n");
	for (int i = 0; i < n; i++)
		doc_puts(d, "`");
	doc_puts(d, "\n\n");
}

static void put_plain(struct doc *d, struct grove_slice text)
{
	if (!d->rc)
		d->rc = grove_buf_utf8(&d->buf, text);
	doc_puts(d, "\n\n");
}

static void put_title(struct doc *d, const char *word, struct grove_slice title)
{
	doc_puts(d, "**");
	doc_puts(d, word);
	if (title.len) {
		doc_puts(d, ": ");
		if (!d->rc)
			d->rc = grove_buf_utf8(&d->buf, title);
	}
	doc_puts(d, "**\n\n");
}

static int put_piece(void *payload, const struct grove_piece *p)
{
	struct doc *d = payload;

	if (p->hidden)
		return 0;
	switch (p->kind) {
	case GROVE_PIECE_TEXT:
	case GROVE_PIECE_SUMMARY:
		put_plain(d, p->text);
		break;
	case GROVE_PIECE_THINKING:
		put_title(d, "Thinking", (struct grove_slice){ NULL, 0 });
		put_plain(d, p->text);
		break;
	case GROVE_PIECE_TOOL_CALL:
		put_title(d, "Call", p->title);
		put_fenced(d, "json", p->text);
		break;
	case GROVE_PIECE_TOOL_RESULT:
		put_title(d, p->error ? "Failed" : "Result", p->title);
		put_fenced(d, "", p->text);
		break;
	case GROVE_PIECE_COMMAND:
		put_fenced(d, "sh", p->text);
		break;
	case GROVE_PIECE_OUTPUT:
		put_fenced(d, "", p->text);
		break;
	case GROVE_PIECE_IMAGE:
		put_title(d, "Image", p->title);
		break;
	default:
		put_title(d, "Note", p->text);
	}
	return d->rc;
}

static int flush(struct writer *w)
{
	int rc = w->d.rc;

	if (!rc && w->d.buf.len)
		rc = w->to.write(w->to.payload, w->d.buf.ptr, w->d.buf.len);
	w->d.buf.len = 0;
	return rc;
}

static int put_entry(struct writer *w, const struct grove_view *v, uint32_t i)
{
	struct grove_entry e = { .size = sizeof(e) };
	int rc = grove_view_entry(v, i, &e);

	if (rc || e.flags & GROVE_ENTRY_LEAF_MARK)
		return rc;
	if (!w->any || e.role != w->role || e.role == GROVE_ROLE_NONE) {
		doc_puts(&w->d, "## ");
		doc_puts(&w->d, heading(&e));
		doc_puts(&w->d, "\n\n");
	}
	w->any = 1;
	w->role = e.role;
	rc = grove_view_piece_each(v, i, put_piece, &w->d);
	return rc ? rc : flush(w);
}

static void put_head(struct doc *d, const struct held *h, const struct grove_view *v)
{
	const char *name = grove_view_name(v);

	doc_puts(d, "# ");
	if (!d->rc)
		d->rc = grove_buf_utf8(&d->buf, grove_str(name ? name : h->id));
	doc_puts(d, "\n\n");
	doc_printf(d, "%.64s session %.256s\n\n", h->agent, h->id);
}

static int write_markdown(struct request *r, const struct held *h, const struct grove_view *v, uint32_t leaf)
{
	struct writer w = { .to = reply_sink(r) };
	struct grove_rows path = { 0 };
	int rc = grove_view_conversation(v, leaf, GROVE_CONVERSATION_WHOLE, &path);

	put_head(&w.d, h, v);
	for (size_t i = 0; i < path.nr && !rc; i++)
		rc = put_entry(&w, v, path.at[i]);
	if (!rc)
		rc = flush(&w);
	doc_release(&w.d);
	grove_rows_release(&path);
	return rc;
}

/* The conversation that ends at a leaf: what a snapshot has of it. */
static int write_path(struct request *r, struct held *h, const struct grove_view *v, uint32_t leaf)
{
	struct writer w = { .to = reply_sink(r) };
	struct grove_entry e = { .size = sizeof(e) };
	struct grove_rows path = { 0 };
	struct grove_buf line = GROVE_BUF_INIT;
	int rc = grove_view_conversation(v, leaf, GROVE_CONVERSATION_WHOLE, &path);

	doc_puts(&w.d, "{\"session\":{");
	put_session_record(r, &w.d, h, v);
	doc_puts(&w.d, "},\n\"activePath\":[");
	for (size_t i = 0; i < path.nr && !rc; i++)
		if (!grove_view_entry(v, path.at[i], &e) && e.id)
			doc_string(&w.d, e.id);
	doc_puts(&w.d, "],\n\"entries\":[");
	for (size_t i = 0; i < path.nr && !rc; i++) {
		line.len = 0;
		rc = grove_view_line(v, path.at[i], GROVE_LINE_BLOBS, &line);
		doc_puts(&w.d, i ? ",\n" : "\n");
		if (!rc)
			rc = grove_buf_utf8(&w.d.buf, grove_buf_slice(&line));
		if (!rc)
			rc = flush(&w);
	}
	doc_puts(&w.d, "]}\n");
	if (!rc)
		rc = flush(&w);
	grove_buf_release(&line);
	grove_rows_release(&path);
	doc_release(&w.d);
	return rc;
}

static int write_format(struct request *r, struct held *h, const struct grove_view *v, uint32_t leaf, int json)
{
	struct grove_snapshot_options o = { .size = sizeof(o), .flags = GROVE_SNAPSHOT_BLOBS };

	if (!json)
		return write_markdown(r, h, v, leaf);
	/* without a leaf, all branches */
	return query_text(r, "leaf") ? write_path(r, h, v, leaf) : grove_view_snapshot(v, &o, reply_sink(r));
}

int get_export(struct request *r)
{
	static const char *const formats[] = { "md", "json", "html", NULL };
	const char *id = query_text(r, "leaf");
	struct held *h;
	struct grove_view *v;
	uint32_t leaf = GROVE_NO_ENTRY;
	int format = 0, rc = query_choice(r, "format", formats, &format);

	if (rc)
		return rc;
	if (format == 2)
		return reply_fail_status(r, 501, GROVE_ENOTSUP, "this server cannot export HTML yet");
	rc = hold_state(r, &h, &v);
	if (!rc && id && *id)
		rc = find_entry(r, v, id, &leaf);
	else if (!rc)
		leaf = grove_view_leaf(v);
	if (!rc) {
		r->type = format ? "application/json" : "text/markdown; charset=utf-8";
		/* the name is made of the id alone, which has no character that means something in a header */
		if (h->id[strspn(h->id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.")] == '\0')
			reply_header(r, "Content-Disposition", "attachment; filename=\"%.120s.%s\"", h->id,
				     formats[format]);
		else
			reply_header(r, "Content-Disposition", "attachment");
		rc = write_format(r, h, v, leaf, format);
		if (rc < 0 && !r->detail.code)
			reply_fail_view(r, v, rc);
	}
	hold_state_end(r, h, v);
	return rc < 0 ? rc : 0;
}
