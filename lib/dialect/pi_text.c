/*
 * dialect/pi_text.c: the text of pi's entries that a person would read: the first
 * message in a listing, and the pieces of a conversation.
 */
#include "dialect/pi.h"

#include "json/value.h"

int grove__pi_content_text(struct grove_slice content, char between, struct grove_buf *out)
{
	struct grove__json_iter it;
	bool first = true;
	int rc = 0;

	if (grove__json_type_of(content) == JSON_STRING)
		return grove__json_text(out, content);
	if (grove__json_type_of(content) != JSON_ARRAY)
		return 0;
	grove__json_iter_init(&it, content);
	while (!rc && grove__json_next(&it)) {
		struct grove_slice text = grove__json_get(it.value, "text");

		if (!grove__json_string_is(grove__json_get(it.value, "type"), "text"))
			continue;
		if (!first)
			rc = grove__buf_add_char(out, between);
		first = false;
		if (!rc && grove__json_type_of(text) == JSON_STRING)
			rc = grove__json_text(out, text);
	}
	return rc;
}

/* Returns when a message was sent: its own time if that is a number, else its entry's. */
static int64_t message_time(const struct grove__json_line *l, const char *line,
			    const struct grove__entry *e)
{
	struct grove_slice raw = grove__json_span_of(l, line, PI_MESSAGE_TIME);
	double ms;

	if (grove__json_type_of(raw) != JSON_NUMBER)
		return e->time;
	ms = grove__json_number(raw);
	return ms >= -8.64e15 && ms <= 8.64e15 ? (int64_t)ms : GROVE_NO_TIME;
}

int grove__pi_list(const struct grove__json_line *l, const char *line, struct grove__arena *tmp,
		   const struct grove__entry *e, struct grove__summary *sum)
{
	int64_t time;
	int rc;

	(void)tmp;
	if (e->kind == GROVE_KIND_NAME) {
		grove__buf_clear(&sum->name);
		return grove__buf_add_slice(&sum->name, e->text);
	}
	if (e->kind != GROVE_KIND_MESSAGE)
		return 0;
	sum->messages++;
	if ((e->role != GROVE_ROLE_USER && e->role != GROVE_ROLE_ASSISTANT) ||
	    !grove__json_has(l, PI_CONTENT))
		return 0;
	time = message_time(l, line, e);
	if (time != GROVE_NO_TIME && (sum->newest == GROVE_NO_TIME || time > sum->newest))
		sum->newest = time;
	if (sum->has_first || e->role != GROVE_ROLE_USER)
		return 0;
	rc = grove__pi_content_text(grove__json_span_of(l, line, PI_CONTENT), ' ', &sum->first);
	sum->has_first = sum->first.len > 0;
	return rc;
}

struct grove_slice grove__pi_prompt(struct grove_slice line, enum grove_kind kind)
{
	if (kind == GROVE_KIND_MESSAGE)
		line = grove__json_get(line, "message");
	return grove__json_get(line, "content");
}

/* --- pieces --- */

struct teller {
	grove_piece_fn *fn;
	void *payload;
	struct grove_buf text_room, title_room, call_room;
	struct grove_slice call;  /* the id of the current call */
	bool hidden;
};

static int report_piece(struct teller *t, enum grove_piece_kind kind, struct grove_slice title,
			struct grove_slice text, bool error)
{
	struct grove_piece p = { .kind = kind, .error = error, .hidden = t->hidden, .call = t->call };
	int rc = grove__json_words(title, &t->title_room, &p.title);

	rc = rc ? rc : grove__json_words(text, &t->text_room, &p.text);
	return rc ? rc : t->fn(t->payload, &p);
}

static const struct grove_slice nothing = { NULL, 0 };

/* The members read from a block. */
enum { TYPE, TEXT, THINKING, NAME, ARGUMENTS, MIME, ID, MEMBERS };
static const char *const in_block[MEMBERS] = { "type", "text", "thinking", "name", "arguments", "mimeType", "id" };

static int tell_block(struct teller *t, struct grove_slice block, const struct grove_slice *of,
		      enum grove_piece_kind text_kind, struct grove_slice title, bool error)
{
	int rc;

	if (grove__json_string_is(of[TYPE], "text"))
		return report_piece(t, text_kind, title, of[TEXT], error);
	if (grove__json_string_is(of[TYPE], "redactedThinking"))
		return report_piece(t, GROVE_PIECE_THINKING, nothing, grove__slice_str("\"(not readable)\""), false);
	if (grove__json_string_is(of[TYPE], "thinking"))
		return report_piece(t, GROVE_PIECE_THINKING, nothing, of[THINKING], false);
	if (grove__json_string_is(of[TYPE], "toolCall")) {
		rc = grove__json_words(of[ID], &t->call_room, &t->call);
		rc = rc ? rc : report_piece(t, GROVE_PIECE_TOOL_CALL, of[NAME], of[ARGUMENTS], false);
		t->call = nothing;
		return rc;
	}
	if (grove__json_string_is(of[TYPE], "image"))
		return report_piece(t, GROVE_PIECE_IMAGE, of[MIME], nothing, false);
	return report_piece(t, GROVE_PIECE_NOTE, of[TYPE], block, false);
}

static int tell_content(struct teller *t, struct grove_slice content,
			enum grove_piece_kind text_kind, struct grove_slice title, bool error)
{
	struct grove_slice of[MEMBERS];
	struct grove__json_iter it;
	int rc = 0;

	if (grove__json_type_of(content) == JSON_STRING)
		return report_piece(t, text_kind, title, content, error);
	if (grove__json_type_of(content) != JSON_ARRAY)
		return 0;
	grove__json_iter_init(&it, content);
	while (!rc && grove__json_next_members(&it, in_block, MEMBERS, of))
		rc = tell_block(t, it.value, of, text_kind, title, error);
	return rc;
}

/* Reports a command and its output; `name` is the member with the command. */
static int tell_run(struct teller *t, struct grove_slice m, const char *name)
{
	struct grove_slice code = grove__json_get(m, "exitCode");
	bool failed = grove__json_truthy(grove__json_get(m, "cancelled")) ||
		      (grove__json_type_of(code) == JSON_NUMBER && grove__json_truthy(code));
	int rc = report_piece(t, GROVE_PIECE_COMMAND, nothing, grove__json_get(m, name), failed);

	if (!rc)
		rc = report_piece(t, GROVE_PIECE_OUTPUT, nothing, grove__json_get(m, "output"), failed);
	return rc;
}

/* Reports mentioned files, by path. */
static int tell_files(struct teller *t, struct grove_slice files)
{
	struct grove__json_iter it;
	int rc = 0;

	if (grove__json_type_of(files) != JSON_ARRAY)
		return 0;
	grove__json_iter_init(&it, files);
	while (!rc && grove__json_next(&it))
		rc = report_piece(t, GROVE_PIECE_NOTE, grove__slice_str("\"file\""),
				  grove__json_get(it.value, "path"), false);
	return rc;
}

/* An extension's message is for people unless it says otherwise. */
static bool is_hidden(struct grove_slice m)
{
	return grove__json_type_of(grove__json_get(m, "display")) == JSON_FALSE;
}

/* Reports a tool's result, even an empty one. */
static int tell_result(struct teller *t, struct grove_slice content, struct grove_slice call, struct grove_slice tool,
		       bool error)
{
	int rc = grove__json_words(call, &t->call_room, &t->call);

	if (!rc && grove__json_type_of(content) == JSON_ARRAY && !grove__json_at(content, 0).len)
		return report_piece(t, GROVE_PIECE_TOOL_RESULT, tool, nothing, error);
	return rc ? rc : tell_content(t, content, GROVE_PIECE_TOOL_RESULT, tool, error);
}

static int tell_message(struct teller *t, struct grove_slice m, enum grove_role role)
{
	enum { CONTENT, TOOL_NAME, IS_ERROR, ERROR_MESSAGE, STOP_REASON, CALL, NR };
	static const char *const names[NR] = { "content",      "toolName",   "isError",
					       "errorMessage", "stopReason", "toolCallId" };
	struct grove_slice of[NR];
	int rc;

	if (role == GROVE_ROLE_BASH)
		return tell_run(t, m, "command");
	if (role == GROVE_ROLE_PYTHON)
		return tell_run(t, m, "code");
	if (role == GROVE_ROLE_FILES)
		return tell_files(t, grove__json_get(m, "files"));
	if (role == GROVE_ROLE_BRANCH_SUMMARY || role == GROVE_ROLE_COMPACTION_SUMMARY)
		return report_piece(t, GROVE_PIECE_SUMMARY, nothing, grove__json_get(m, "summary"), false);
	t->hidden = role == GROVE_ROLE_CUSTOM && is_hidden(m);
	grove__json_get_all(m, names, NR, of);
	if (role == GROVE_ROLE_TOOL_RESULT)
		return tell_result(t, of[CONTENT], of[CALL], of[TOOL_NAME], grove__json_type_of(of[IS_ERROR]) == JSON_TRUE);
	rc = tell_content(t, of[CONTENT], GROVE_PIECE_TEXT, nothing, false);
	if (!rc && grove__json_type_of(of[ERROR_MESSAGE]) == JSON_STRING)
		rc = report_piece(t, GROVE_PIECE_NOTE, of[STOP_REASON], of[ERROR_MESSAGE], true);
	return rc;
}

/* Reports a change in a few words: "model" + "provider/id". */
static int tell_note(struct teller *t, const char *title, struct grove_slice a, const char *between,
		     struct grove_slice b)
{
	struct grove_buf text = GROVE_BUF_INIT;
	struct grove_piece p = { .kind = GROVE_PIECE_NOTE, .title = grove__slice_str(title),
				 .hidden = t->hidden };
	int rc = grove__json_words(a, &t->text_room, &p.text);

	if (!rc && b.len) {
		rc = grove__buf_add_slice(&text, p.text);
		rc = rc ? rc : grove__buf_add_str(&text, between);
		rc = rc ? rc : grove__json_words(b, &t->text_room, &p.text);
		rc = rc ? rc : grove__buf_add_slice(&text, p.text);
		p.text = grove__buf_slice(&text);
	}
	rc = rc ? rc : t->fn(t->payload, &p);
	grove__buf_release(&text);
	return rc;
}

static int release(struct teller *t, int rc)
{
	grove__buf_release(&t->text_room);
	grove__buf_release(&t->title_room);
	grove__buf_release(&t->call_room);
	return rc;
}

/*
 * Reports a note for each task of a batch, or for each result; for the batch itself if
 * there are none.
 */
static int tell_delegation(struct teller *t, struct grove_slice line, bool begins)
{
	struct grove_slice list = grove__json_get(line, begins ? "tasks" : "results");
	struct grove__json_iter it;
	int rc = 0;

	if (grove__json_type_of(list) != JSON_ARRAY || !grove__json_at(list, 0).len)
		return tell_note(t, begins ? "task" : "result", grove__json_get(line, "batchId"), "",
				 nothing);
	grove__json_iter_init(&it, list);
	while (!rc && grove__json_next(&it))
		rc = begins ? tell_note(t, "task", grove__json_get(it.value, "agent"), ": ",
					grove__json_get(it.value, "prompt"))
			    : tell_note(t, "result", grove__json_get(it.value, "status"), ": ",
					grove__json_get(it.value, "summary"));
	return rc;
}

int grove__pi_pieces(struct grove_slice line, enum grove_kind kind, enum grove_role role,
		     grove_piece_fn *fn, void *payload)
{
	struct teller t = { .fn = fn, .payload = payload };
	int rc;

#define GET(name) grove__json_get(line, name)
	switch (kind) {
	case GROVE_KIND_MESSAGE:
		rc = tell_message(&t, GET("message"), role);
		break;
	case GROVE_KIND_CUSTOM_MESSAGE:
		t.hidden = is_hidden(line);
		rc = tell_content(&t, GET("content"), GROVE_PIECE_TEXT, GET("customType"), false);
		break;
	case GROVE_KIND_COMPACTION:
	case GROVE_KIND_BRANCH_SUMMARY:
		rc = report_piece(&t, GROVE_PIECE_SUMMARY, nothing, GET("summary"), false);
		break;
	case GROVE_KIND_THINKING_LEVEL:
		rc = tell_note(&t, "thinking", GET("thinkingLevel"), "", nothing);
		break;
	case GROVE_KIND_MODEL:
		if (GET("modelId").len)
			rc = tell_note(&t, "model", GET("provider"), "/", GET("modelId"));
		else
			rc = tell_note(&t, "model", GET("model"), " as ", GET("role"));
		break;
	case GROVE_KIND_USAGE:
		rc = tell_note(&t, "usage", GET("provider"), "/", GET("model"));
		break;
	case GROVE_KIND_LABEL:
		if (grove__json_truthy(GET("label")))
			rc = tell_note(&t, "label", GET("targetId"), ": ", GET("label"));
		else
			rc = tell_note(&t, "label", GET("targetId"), " ", grove__slice_str("\"(cleared)\""));
		break;
	case GROVE_KIND_NAME:
		rc = tell_note(&t, "name", GET("name").len ? GET("name") : GET("title"), "", nothing);
		break;
	case GROVE_KIND_SERVICE_TIER:
		rc = tell_note(&t, "service tier", GET("serviceTier"), "", nothing);
		break;
	case GROVE_KIND_CONTEXT_CHANGE:
		rc = tell_note(&t, "context", GET("contextName"), " of ", GET("tenant"));
		break;
	case GROVE_KIND_MODE:
		rc = tell_note(&t, "mode", GET("mode"), " ", GET("data"));
		break;
	case GROVE_KIND_INIT:
		rc = tell_note(&t, "task", GET("task"), "", nothing);
		break;
	case GROVE_KIND_RULES:
		rc = tell_note(&t, "rules", GET("injectedRules"), "", nothing);
		break;
	case GROVE_KIND_TOOLS:
		rc = tell_note(&t, "tools", GET("selectedToolNames"), "", nothing);
		break;
	case GROVE_KIND_CREDENTIAL:
		rc = tell_note(&t, "account", GET("provider"), "", nothing);
		break;
	case GROVE_KIND_RESET:
		rc = tell_note(&t, "reset", grove__slice_str("\"the context begins here\""), "", nothing);
		break;
	case GROVE_KIND_CONTEXT_EDIT:
		rc = tell_note(&t, "context edit", GET("targetId"), " → ", GET("replacement"));
		break;
	case GROVE_KIND_SUBAGENT_BATCH:
	case GROVE_KIND_SUBAGENT_RESULT:
		rc = tell_delegation(&t, line, kind == GROVE_KIND_SUBAGENT_BATCH);
		break;
	case GROVE_KIND_CUSTOM:
		t.hidden = true;
		rc = tell_note(&t, "custom", GET("customType"), " ", GET("data"));
		break;
	default:
		rc = tell_note(&t, "entry", GET("type"), "", nothing);
	}
#undef GET
	return release(&t, rc);
}
