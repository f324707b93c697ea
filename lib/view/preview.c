/*
 * view/preview.c: an entry in a few words.
 */
#include "view/heads.h"

/* Returns how well a piece describes its entry: smaller is better. */
static int rank(enum grove_piece_kind kind)
{
	switch (kind) {
	case GROVE_PIECE_TEXT:
	case GROVE_PIECE_SUMMARY:
	case GROVE_PIECE_COMMAND:
	case GROVE_PIECE_TOOL_RESULT:
		return 0;
	case GROVE_PIECE_TOOL_CALL:
	case GROVE_PIECE_NOTE:
		return 1;
	case GROVE_PIECE_OUTPUT:
	case GROVE_PIECE_IMAGE:
		return 2;
	case GROVE_PIECE_THINKING:
		break;
	}
	return 3;
}

struct choosing {
	size_t max;
	struct grove_buf *out;
	size_t start, title_len;
	struct grove_preview *p;
	bool found;
	int rc;
};

/* At most `max` bytes, not within a character. */
static struct grove_slice cut(struct grove_slice text, size_t max)
{
	if (text.len <= max)
		return text;
	while (max && ((unsigned char)text.ptr[max] & 0xc0) == 0x80)
		max--;
	return grove__slice(text.ptr, max);
}

static struct grove_slice trim(struct grove_slice text)
{
	while (text.len && memchr(" \t\r\n", *text.ptr, 4)) {
		text.ptr++;
		text.len--;
	}
	return text;
}

static int consider(void *payload, const struct grove_piece *piece)
{
	struct choosing *c = payload;
	struct grove_slice text = trim(piece->text), title = cut(piece->title, GROVE_TITLE_MAX);

	if ((c->found && rank(piece->kind) >= rank(c->p->kind)) || (!text.len && !title.len))
		return 0;
	c->found = true;
	c->p->kind = piece->kind;
	c->p->error = piece->error;
	if (c->out->len > c->start)
		grove__buf_cut(c->out, c->start);
	c->title_len = title.len;
	c->rc = grove__buf_add_slice(c->out, title);
	c->rc = c->rc ? c->rc : grove__buf_add_slice(c->out, cut(text, c->max));
	return c->rc || !rank(piece->kind) ? 1 : 0;
}

/* Fills in the result; `rc` is what came of passing all pieces to consider(). */
static int finish(struct choosing *c, int rc)
{
	rc = rc > 0 ? c->rc : rc;
	if (rc < 0)
		return rc;
	if (!c->found)
		return 1;
	c->p->title = grove__slice(c->out->ptr + c->start, c->title_len);
	c->p->text = grove__slice(c->out->ptr + c->start + c->title_len, c->out->len - c->start - c->title_len);
	return 0;
}

int grove__preview_line(struct grove_view *v, uint32_t row, struct grove_slice line, size_t max,
			struct grove_buf *out, struct grove_preview *p)
{
	struct choosing c = { .max = max, .out = out, .start = out->len, .p = p };

	return finish(&c, grove__image_pieces(v->image, row, line, consider, &c));
}

int grove__view_preview(struct grove_view *v, uint32_t row, size_t max, struct grove_buf *out,
			struct grove_preview *p, struct grove_detail *d)
{
	struct choosing c = { .max = max, .out = out, .start = out->len, .p = p };

	return finish(&c, grove__view_pieces(v, row, grove__slice(NULL, 0), consider, &c, d));
}

int grove__message_preview(const struct grove_message *m, size_t max, struct grove_buf *out,
			   struct grove_preview *p)
{
	struct choosing c = { .max = max, .out = out, .start = out->len, .p = p };

	return finish(&c, grove__context_pieces(m, max, consider, &c));
}
