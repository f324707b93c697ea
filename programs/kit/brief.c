/*
 * brief.c: an entry in one line.
 */
#include "brief.h"

#include "shape.h"

#include <string.h>

/* Copies a preview into our own memory. `err` is the result of making it. */
static int take(struct brief *b, int err, struct grove_buf *words, const struct grove_preview *p)
{
	b->found = !err;
	if (!err) {
		b->kind = p->kind;
		b->error = p->error;
		memcpy(b->bytes, words->ptr, words->len);
		b->title = (struct grove_slice){ b->bytes, p->title.len };
		b->text = (struct grove_slice){ b->bytes + p->title.len, p->text.len };
	}
	grove_buf_release(words);
	return err > 0 ? 0 : err;
}

int brief_read(struct brief *b, struct grove_view *v, uint32_t i)
{
	struct grove_buf words = GROVE_BUF_INIT;
	struct grove_preview p = { .size = sizeof(p) };

	return take(b, grove_view_preview(v, i, BRIEF_TEXT, &words, &p), &words, &p);
}

int brief_node(struct brief *b, const struct shape *s, struct grove_view *v, uint32_t node)
{
	struct brief other;
	int err = brief_read(b, v, s->c->index[node]);

	for (uint32_t i = s->more[node]; !err && i != GROVE_NO_ENTRY; i = s->more[i]) {
		if (b->found && b->kind == GROVE_PIECE_TEXT)
			break;
		if (s->c->role[i] != GROVE_ROLE_ASSISTANT)
			continue;
		err = brief_read(&other, v, s->c->index[i]);
		if (err || !other.found || other.kind == GROVE_PIECE_THINKING)
			continue;
		if (!b->found || b->kind == GROVE_PIECE_THINKING || other.kind == GROVE_PIECE_TEXT) {
			*b = other;
			b->title = (struct grove_slice){ b->bytes, other.title.len };
			b->text = (struct grove_slice){ b->bytes + other.title.len, other.text.len };
		}
	}
	return err;
}

int brief_message(struct brief *b, const struct grove_message *m, size_t max)
{
	struct grove_buf words = GROVE_BUF_INIT;
	struct grove_preview p = { .size = sizeof(p) };

	return take(b, grove_message_preview(m, max < BRIEF_TEXT ? max : BRIEF_TEXT, &words, &p), &words, &p);
}

unsigned brief_print(struct out *o, const struct brief *b, unsigned width)
{
	enum out_style style = OUT_PLAIN;
	const char *mark = NULL;
	unsigned used = 0, mark_columns = 1;
	int titled = 0;

	if (!b->found)
		return 0;
	switch (b->kind) {
	case GROVE_PIECE_TOOL_CALL:
		mark = "→";
		titled = 1;
		break;
	case GROVE_PIECE_TOOL_RESULT:
		mark = b->error ? "✗" : NULL;
		style = b->error ? OUT_RED : OUT_DIM;
		break;
	case GROVE_PIECE_COMMAND:
		mark = "$";
		break;
	case GROVE_PIECE_IMAGE:
		mark = "image";
		mark_columns = 5;
		titled = 1;
		break;
	case GROVE_PIECE_OUTPUT:
	case GROVE_PIECE_THINKING:
	case GROVE_PIECE_NOTE:
		style = OUT_DIM;
		break;
	case GROVE_PIECE_TEXT:
	case GROVE_PIECE_SUMMARY:
		break;
	}
	if (style != OUT_PLAIN)
		out_style(o, style);
	if (mark && mark_columns <= width) {
		out_puts(o, mark);
		used = mark_columns;
	} else if (mark) {
		used = out_fit(o, out_str(mark), width);
	}
	if (mark && used < width) {
		out_bytes(o, " ", 1);
		used++;
	}
	if (titled && b->title.len) {
		used += out_fit(o, b->title, width - used);
		if (b->text.len && used < width) {
			out_bytes(o, " ", 1);
			used++;
		}
	}
	used += out_fit(o, b->text, width - used);
	if (style != OUT_PLAIN)
		out_style(o, OUT_PLAIN);
	return used;
}

const char *brief_word(const struct grove_entry *e)
{
	if (e->kind == GROVE_KIND_MESSAGE && e->role != GROVE_ROLE_NONE)
		return grove_role_name(e->role);
	return grove_kind_name(e->kind);
}

enum out_style brief_style(const struct grove_entry *e)
{
	if (e->kind == GROVE_KIND_COMPACTION || e->kind == GROVE_KIND_BRANCH_SUMMARY)
		return OUT_MAGENTA;
	if (e->kind != GROVE_KIND_MESSAGE && e->kind != GROVE_KIND_CUSTOM_MESSAGE)
		return OUT_DIM;
	switch (e->role) {
	case GROVE_ROLE_BRANCH_SUMMARY:
	case GROVE_ROLE_COMPACTION_SUMMARY:
		return OUT_MAGENTA;
	case GROVE_ROLE_USER:
		return OUT_GREEN;
	case GROVE_ROLE_ASSISTANT:
		return OUT_CYAN;
	case GROVE_ROLE_TOOL_RESULT:
	case GROVE_ROLE_BASH:
		return OUT_YELLOW;
	default:
		return OUT_BLUE;
	}
}
