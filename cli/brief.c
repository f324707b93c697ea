/*
 * brief.c: an entry in one line.
 */
#include "brief.h"

#include <string.h>

/* What tells most about an entry: the smaller the better. */
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

static struct grove_slice keep(char **place, const char *end, struct grove_slice text)
{
	struct grove_slice kept = { *place, (size_t)(end - *place) };

	if (kept.len > text.len)
		kept.len = text.len;
	else /* not within a character */
		while (kept.len && kept.len < text.len &&
		       ((unsigned char)text.ptr[kept.len] & 0xc0) == 0x80)
			kept.len--;
	if (kept.len)
		memcpy(*place, text.ptr, kept.len);
	*place += kept.len;
	return kept;
}

static struct grove_slice trim(struct grove_slice text)
{
	while (text.len && strchr(" \t\r\n", *text.ptr)) {
		text.ptr++;
		text.len--;
	}
	return text;
}

static int on_piece(void *payload, const struct grove_piece *piece)
{
	struct brief *b = payload;
	struct grove_slice text = trim(piece->text);
	char *place = b->bytes;

	if (b->found && rank(piece->kind) >= rank(b->kind))
		return 0;
	if (!text.len && !piece->title.len)
		return 0;
	b->found = 1;
	b->kind = piece->kind;
	b->error = piece->error;
	b->title = keep(&place, b->bytes + 200, piece->title);
	b->text = keep(&place, b->bytes + sizeof(b->bytes), text);
	return !rank(b->kind);
}

int brief_read(struct brief *b, struct grove_view *v, uint32_t i)
{
	int err;

	b->found = 0;
	err = grove_view_piece_each(v, i, on_piece, b);
	return err > 0 ? 0 : err;
}

int brief_message(struct brief *b, const struct grove_message *m)
{
	int err;

	b->found = 0;
	err = grove_message_pieces(m, on_piece, b);
	return err > 0 ? 0 : err;
}

unsigned brief_print(struct out *o, const struct brief *b, unsigned width)
{
	enum out_style style = OUT_PLAIN;
	const char *mark = NULL;
	unsigned used = 0;
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
	if (mark)
		used += out_fit(o, out_str(mark), width);
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
