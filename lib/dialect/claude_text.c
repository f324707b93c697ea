/* dialect/claude_text.c: the readable text of Claude Code's records. */
#include "dialect/claude_session.h"

#include "json/value.h"
#include "json/write.h"

struct teller {
	grove_piece_fn *fn;
	void *payload;
	struct grove_buf text_room, title_room, call_room;
	struct grove_slice call;  /* the id of the current call */
	size_t max;               /* bytes of a text that are needed */
};

static const struct grove_slice nothing = { NULL, 0 };

static int report_piece(struct teller *t, enum grove_piece_kind kind, struct grove_slice title,
			struct grove_slice text, bool error)
{
	struct grove_piece p = { .kind = kind, .error = error, .call = t->call };
	int rc = grove__json_words(title, &t->title_room, &p.title);

	rc = rc ? rc : grove__json_words_start(text, t->max, &t->text_room, &p.text);
	return rc ? rc : t->fn(t->payload, &p);
}

/* Reports a note with a title of ours. */
static int note(struct teller *t, const char *title, struct grove_slice text)
{
	struct grove_piece p = { .kind = GROVE_PIECE_NOTE, .title = grove__slice_str(title) };
	int rc = grove__json_words(text, &t->text_room, &p.text);

	return rc ? rc : t->fn(t->payload, &p);
}

/* Reports the texts of a result: a string, or its blocks. */
static int tell_result(struct teller *t, struct grove_slice content, struct grove_slice call, bool error)
{
	enum { TYPE, TEXT, SOURCE, NR };
	static const char *const names[NR] = { "type", "text", "source" };
	/* only the call names the tool, but a failure must be visible */
	struct grove_slice of[NR], title = error ? grove__slice_str("\"tool\"") : nothing;
	struct grove__json_iter it;
	int rc = grove__json_words(call, &t->call_room, &t->call);

	if (rc)
		return rc;
	if (grove__json_type_of(content) != JSON_ARRAY || !grove__json_at(content, 0).len)
		return report_piece(t, GROVE_PIECE_TOOL_RESULT, title,
				    grove__json_type_of(content) == JSON_ARRAY ? nothing : content, error);
	grove__json_iter_init(&it, content);
	while (!rc && grove__json_next_members(&it, names, NR, of)) {
		if (grove__json_string_is(of[TYPE], "text"))
			rc = report_piece(t, GROVE_PIECE_TOOL_RESULT, title, of[TEXT], error);
		else if (grove__json_string_is(of[TYPE], "image"))
			rc = report_piece(t, GROVE_PIECE_IMAGE, grove__json_get(of[SOURCE], "media_type"), nothing, false);
		else
			rc = report_piece(t, GROVE_PIECE_NOTE, of[TYPE], it.value, false);
	}
	return rc;
}

/* The members read from a block. */
enum { TYPE, TEXT, THINKING, NAME, INPUT, SOURCE, ID, CONTENT, IS_ERROR, CALL, MEMBERS };
static const char *const in_block[MEMBERS] = { "type", "text", "thinking", "name", "input", "source", "id",
					      "content", "is_error", "tool_use_id" };

static int tell_block(struct teller *t, struct grove_slice block, const struct grove_slice *of)
{
	int rc;

	t->call = nothing;
	if (grove__json_string_is(of[TYPE], "text"))
		return report_piece(t, GROVE_PIECE_TEXT, nothing, of[TEXT], false);
	if (grove__json_string_is(of[TYPE], "thinking"))
		return report_piece(t, GROVE_PIECE_THINKING, nothing, of[THINKING], false);
	if (grove__json_string_is(of[TYPE], "redacted_thinking"))
		return report_piece(t, GROVE_PIECE_THINKING, nothing, grove__slice_str("\"(not readable)\""), false);
	if (grove__json_string_is(of[TYPE], "tool_use")) {
		rc = grove__json_words(of[ID], &t->call_room, &t->call);
		return rc ? rc : report_piece(t, GROVE_PIECE_TOOL_CALL, of[NAME], of[INPUT], false);
	}
	if (grove__json_string_is(of[TYPE], "tool_result"))
		return tell_result(t, of[CONTENT], of[CALL], grove__json_type_of(of[IS_ERROR]) == JSON_TRUE);
	if (grove__json_string_is(of[TYPE], "image") || grove__json_string_is(of[TYPE], "document"))
		return report_piece(t, GROVE_PIECE_IMAGE, grove__json_get(of[SOURCE], "media_type"), nothing, false);
	return report_piece(t, GROVE_PIECE_NOTE, of[TYPE], block, false);
}

static int tell_blocks(struct teller *t, struct grove_slice content)
{
	struct grove_slice of[MEMBERS];
	struct grove__json_iter it;
	int rc = 0;

	grove__json_iter_init(&it, content);
	while (!rc && grove__json_next_members(&it, in_block, MEMBERS, of))
		rc = tell_block(t, it.value, of);
	return rc;
}

static int tell_message(struct teller *t, struct grove_slice line)
{
	enum { MESSAGE, SUMMARY, ERROR, ATTACHMENT, NR };
	static const char *const names[NR] = { "message", "isCompactSummary", "isApiErrorMessage",
					       "attachment" };
	struct grove_slice of[NR], content;

	grove__json_get_all(line, names, NR, of);
	content = of[MESSAGE].len ? grove__json_get(of[MESSAGE], "content")
				  : grove__claude_queued(of[ATTACHMENT]);
	if (grove__json_type_of(content) == JSON_STRING)
		return report_piece(t, grove__json_truthy(of[SUMMARY]) ? GROVE_PIECE_SUMMARY : GROVE_PIECE_TEXT, nothing,
				    content, grove__json_truthy(of[ERROR]));
	return grove__json_type_of(content) == JSON_ARRAY ? tell_blocks(t, content) : 0;
}

/* Returns the most telling member of a metadata line. */
static struct grove_slice gist(struct grove_slice line)
{
	static const char *const members[] = { "customTitle", "aiTitle", "summary", "tag", "lastPrompt",
					       "leafUuid", "mode", "permissionMode", "agentName",
					       "relocatedCwd", "operation", "prUrl", "messageId" };
	struct grove_slice v;

	for (size_t i = 0; i < sizeof(members) / sizeof(*members); i++) {
		v = grove__json_get(line, members[i]);
		if (grove__json_type_of(v) == JSON_STRING)
			return v;
	}
	return nothing;
}

static int release(struct teller *t, int rc)
{
	grove__buf_release(&t->text_room);
	grove__buf_release(&t->title_room);
	grove__buf_release(&t->call_room);
	return rc;
}

int grove__claude_block_pieces(struct grove_slice content, size_t max, grove_piece_fn *fn, void *payload)
{
	struct teller t = { .fn = fn, .payload = payload, .max = max };

	return release(&t, tell_blocks(&t, content));
}

int grove__claude_pieces(struct grove_slice line, enum grove_kind kind, enum grove_role role,
			 grove_piece_fn *fn, void *payload)
{
	struct teller t = { .fn = fn, .payload = payload, .max = SIZE_MAX };
	struct grove_slice v;
	int rc;

	(void)role;
	switch (kind) {
	case GROVE_KIND_MESSAGE:
		rc = tell_message(&t, line);
		break;
	case GROVE_KIND_COMPACTION:
		rc = note(&t, "compaction", grove__json_get(line, "content"));
		break;
	case GROVE_KIND_SYSTEM:
		v = grove__json_get(line, "content");
		if (grove__json_type_of(v) == JSON_STRING)
			rc = report_piece(&t, GROVE_PIECE_NOTE, grove__json_get(line, "subtype"), v, false);
		else
			rc = note(&t, "system", grove__json_get(line, "subtype"));
		break;
	case GROVE_KIND_ATTACHMENT:
		rc = note(&t, "attachment", grove__json_get(grove__json_get(line, "attachment"), "type"));
		break;
	default:
		v = gist(line);
		if (v.len)
			rc = report_piece(&t, GROVE_PIECE_NOTE, grove__json_get(line, "type"), v, false);
		else
			rc = note(&t, "line", grove__json_get(line, "type"));
	}
	return release(&t, rc);
}

struct grove_slice grove__claude_prompt(struct grove_slice line, enum grove_kind kind)
{
	struct grove_slice message;

	if (kind != GROVE_KIND_MESSAGE)
		return nothing;
	message = grove__json_get(line, "message");
	return message.len ? grove__json_get(message, "content")
			   : grove__claude_queued(grove__json_get(line, "attachment"));
}
