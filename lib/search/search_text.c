/*
 * search/search_text.c: the texts of an entry that are searched.
 *
 * These are messages and summaries; tool calls with their arguments; results. Thinking,
 * images, and grove's own words about an entry are not searched.
 */
#include "search/search_text.h"

#include "json/escape.h"
#include "json/value.h"

/*
 * Adds the strings, numbers and names in a call's arguments, one per line, because
 * escapes would hide words.
 */
static int add_values(struct grove_buf *out, struct grove_slice json)
{
	const char *p = json.ptr, *end = p + json.len;
	int rc = 0;

	while (p < end && !rc) {
		const char *start = p;

		if (*p == '"') {
			for (p = grove__json_plain_end(p + 1, end); p < end && *p == '\\';)
				p = p + 2 < end ? grove__json_plain_end(p + 2, end) : end;
			if (p == end)
				return grove__buf_add(out, start, (size_t)(end - start));
			p++;
			rc = grove__json_text(out, grove__slice(start, (size_t)(p - start)));
		} else {
			while (p < end && *p != '"' && !strchr("{}[],:", *p))
				p++;
			rc = grove__buf_add(out, start, (size_t)(p - start));
			while (p < end && *p != '"' && strchr("{}[],:", *p))
				p++;
		}
		if (!rc && out->len && out->ptr[out->len - 1] != '\n')
			rc = grove__buf_add_char(out, '\n');
	}
	return rc;
}

static int add_text(struct grove_buf *out, struct grove_slice text)
{
	int rc = out->len && text.len ? grove__buf_add_char(out, '\n') : 0;

	return rc ? rc : grove__buf_add_slice(out, text);
}

static int take_piece(void *payload, const struct grove_piece *p)
{
	struct grove__search_texts *t = payload;
	struct grove_buf *calls = &t->of[SEARCH_CALLS];
	int rc;

	switch (p->kind) {
	case GROVE_PIECE_TEXT:
	case GROVE_PIECE_SUMMARY:
		return add_text(&t->of[SEARCH_TEXT], p->text);
	case GROVE_PIECE_TOOL_RESULT:
	case GROVE_PIECE_OUTPUT:
		return add_text(&t->of[SEARCH_RESULTS], p->text);
	case GROVE_PIECE_COMMAND:
		return add_text(calls, p->text);
	case GROVE_PIECE_TOOL_CALL:
		rc = add_text(calls, p->title);
		if (p->text.len && *p->text.ptr != '{' && *p->text.ptr != '[')
			return rc ? rc : add_text(calls, p->text);
		rc = rc || !calls->len ? rc : grove__buf_add_char(calls, '\n');
		return rc ? rc : add_values(calls, p->text);
	default:
		return 0;
	}
}

int grove__search_texts(struct grove__search_texts *t, const struct grove__dialect *dialect,
			struct grove_slice value, enum grove_kind kind, enum grove_role role)
{
	for (int i = 0; i < SEARCH_CLASSES; i++)
		grove__buf_clear(&t->of[i]);
	switch (kind) {
	case GROVE_KIND_MESSAGE:
	case GROVE_KIND_CUSTOM_MESSAGE:
	case GROVE_KIND_COMPACTION:
	case GROVE_KIND_BRANCH_SUMMARY:
		return dialect->text.pieces(value, kind, role, take_piece, t);
	default:
		return 0;
	}
}

void grove__search_texts_release(struct grove__search_texts *t)
{
	for (int i = 0; i < SEARCH_CLASSES; i++)
		grove__buf_release(&t->of[i]);
}

enum grove_role grove__search_role(enum grove__search_class class, enum grove_role role)
{
	return class == SEARCH_RESULTS && role == GROVE_ROLE_USER ? GROVE_ROLE_TOOL_RESULT : role;
}
