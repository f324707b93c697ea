/*
 * dialect/claude.c: interprets a line of a Claude Code transcript.
 *
 *	{"parentUuid":…,"isSidechain":false,"type":"user","message":{…},"uuid":…,"timestamp":…}
 *	{"type":"last-prompt","lastPrompt":…,"leafUuid":…,"sessionId":…}
 *
 * There is no header: every line is independent. The program is JavaScript, so a flag
 * is set if its value is truthy.
 */
#include "dialect/claude.h"

#include "dialect/pi.h"
#include "js/js.h"
#include "json/escape.h"
#include "json/value.h"

const struct grove__json_member grove__claude_members[CLAUDE_MEMBERS] = {
	[CLAUDE_M_TYPE] = { "type", -1 },
	[CLAUDE_M_UUID] = { "uuid", -1 },
	[CLAUDE_M_PARENT] = { "parentUuid", -1 },
	[CLAUDE_M_LOGICAL] = { "logicalParentUuid", -1 },
	[CLAUDE_M_TIME] = { "timestamp", -1 },
	[CLAUDE_M_SIDECHAIN] = { "isSidechain", -1 },
	[CLAUDE_M_META] = { "isMeta", -1 },
	[CLAUDE_M_TEAM] = { "teamName", -1 },
	[CLAUDE_M_SUMMARY] = { "isCompactSummary", -1 },
	[CLAUDE_M_API_ERROR] = { "isApiErrorMessage", -1 },
	[CLAUDE_M_AGENT] = { "agentId", -1 },
	[CLAUDE_M_SUBTYPE] = { "subtype", -1 },
	[CLAUDE_M_COMPACT] = { "compactMetadata", -1 },
	[CLAUDE_M_SNIP] = { "snipMetadata", -1 },
	[CLAUDE_M_REMOVED] = { "removedUuids", -1 },
	[CLAUDE_M_LEAF] = { "leafUuid", -1 },
	[CLAUDE_M_EXPLICIT] = { "explicit", -1 },
	[CLAUDE_M_SESSION] = { "sessionId", -1 },
	[CLAUDE_M_CWD] = { "cwd", -1 },
	[CLAUDE_M_RELOCATED] = { "relocatedCwd", -1 },
	[CLAUDE_M_CUSTOM_TITLE] = { "customTitle", -1 },
	[CLAUDE_M_AI_TITLE] = { "aiTitle", -1 },
	[CLAUDE_M_VERSION] = { "version", -1 },
	[CLAUDE_M_REQUEST] = { "requestId", -1 },
	[CLAUDE_M_MESSAGE] = { "message", -1 },
	[CLAUDE_M_MESSAGE_ID] = { "id", CLAUDE_M_MESSAGE },
	[CLAUDE_M_ROLE] = { "role", CLAUDE_M_MESSAGE },
	[CLAUDE_M_CONTENT] = { "content", CLAUDE_M_MESSAGE },
	[CLAUDE_M_MODEL] = { "model", CLAUDE_M_MESSAGE },
	[CLAUDE_M_USAGE] = { "usage", CLAUDE_M_MESSAGE },
	[CLAUDE_M_CONTINUED] = { "continuedInSessionId", -1 },
	[CLAUDE_M_ATTACHMENT] = { "attachment", -1 },
};

static const struct {
	const char *type;
	enum grove__claude_class class;
} classes[] = {
	{ "user", CLAUDE_USER },
	{ "assistant", CLAUDE_ASSISTANT },
	{ "attachment", CLAUDE_ATTACHMENT },
	{ "system", CLAUDE_SYSTEM },
	{ "progress", CLAUDE_PROGRESS },
	{ "last-prompt", CLAUDE_LAST_PROMPT },
	{ "custom-title", CLAUDE_CUSTOM_TITLE },
	{ "ai-title", CLAUDE_AI_TITLE },
	{ "summary", CLAUDE_TITLE },
	{ "tag", CLAUDE_TAG },
	{ "relocated", CLAUDE_RELOCATED },
	{ "continued-in", CLAUDE_CONTINUED_IN },
	{ "content-replacement", CLAUDE_REPLACEMENT },
	{ "agent-name", CLAUDE_NOTE },
	{ "agent-color", CLAUDE_NOTE },
	{ "agent-setting", CLAUDE_NOTE },
	{ "mode", CLAUDE_NOTE },
	{ "permission-mode", CLAUDE_NOTE },
	{ "worktree-state", CLAUDE_NOTE },
	{ "pr-link", CLAUDE_NOTE },
	{ "queue-operation", CLAUDE_NOTE },
	{ "file-history-snapshot", CLAUDE_NOTE },
	{ "file-history-delta", CLAUDE_NOTE },
	{ "attribution-snapshot", CLAUDE_NOTE },
	{ "bridge-session", CLAUDE_NOTE },
	{ "tools-used", CLAUDE_NOTE },
	{ "atis-latch", CLAUDE_NOTE },
	{ "cost-state", CLAUDE_NOTE },
	{ "api-request-shape", CLAUDE_NOTE },
	{ "api-request-blob", CLAUDE_NOTE },
	{ "api-request", CLAUDE_NOTE },
};

static enum grove__claude_class class_of(struct grove_slice raw)
{
	for (size_t i = 0; i < sizeof(classes) / sizeof(*classes); i++)
		if (grove__json_string_is(raw, classes[i].type))
			return classes[i].class;
	return CLAUDE_OTHER;
}

/* --- content --- */

static const char *skip_between(const char *p, const char *end)
{
	while (p < end && (*p == ',' || grove__json_is_space(*p)))
		p++;
	return p;
}

/* Reads a block, beginning at its `{`; each long value is scanned only once. Ends after its `}`. */
static const char *read_block(const char *p, const char *end, struct grove_slice *type,
			      struct grove_slice *use, struct grove_slice *result)
{
	*type = *use = *result = grove__slice(NULL, 0);
	for (p = skip_between(p + 1, end); p < end && *p != '}'; p = skip_between(p, end)) {
		struct grove_slice key = grove__slice(p, grove__json_skip(p, end)), value;

		p = grove__json_skip_space(p + key.len, end);
		p = grove__json_skip_space(p + 1, end); /* the colon */
		value = grove__slice(p, grove__json_skip(p, end));
		p += value.len;
		if (grove__json_string_is(key, "type"))
			*type = value;
		else if (grove__json_string_is(key, "id"))
			*use = value;
		else if (grove__json_string_is(key, "tool_use_id"))
			*result = value;
	}
	return p < end ? p + 1 : end;
}

int grove__claude_blocks(struct grove_slice content, grove__claude_block_fn *fn, void *payload)
{
	const char *p, *end;
	int rc = 0;

	if (grove__json_type_of(content) != JSON_ARRAY)
		return 0;
	end = content.ptr + content.len - 1;
	for (p = skip_between(content.ptr + 1, end); p < end && !rc; p = skip_between(p, end)) {
		struct grove_slice type, use, result;
		const char *start = p;

		if (*p != '{') {
			p += grove__json_skip(p, end);
			continue;
		}
		p = read_block(p, end, &type, &use, &result);
		rc = fn(payload, type, grove__json_string_is(type, "tool_result") ? result : use,
			grove__slice(start, (size_t)(p - start)));
	}
	return rc;
}

struct seen {
	unsigned flags, wanted;          /* tool flags; the one that this record can have */
	unsigned nr_tools;
	struct grove_slice tool;
	bool any, other;
};

static int see_block(void *payload, struct grove_slice type, struct grove_slice id,
		     struct grove_slice block)
{
	struct seen *s = payload;
	unsigned flag = 0;

	(void)block;
	s->any = true;
	if (grove__json_string_is(type, "tool_use"))
		flag = CLAUDE_TOOL_USE;
	else if (grove__json_string_is(type, "tool_result"))
		flag = CLAUDE_TOOL_RESULT;
	s->flags |= flag;
	if (flag == s->wanted && !s->nr_tools++)
		s->tool = id;
	if (!grove__json_string_is(type, "thinking") &&
	    !grove__json_string_is(type, "redacted_thinking"))
		s->other = true;
	return 0;
}

/* Returns true if this is the program's note that it was interrupted: a text, or a single block. */
static bool is_interruption(struct grove_slice content)
{
	struct grove__json_iter it;
	struct grove_slice text = content;

	if (grove__json_type_of(content) == JSON_ARRAY) {
		grove__json_iter_init(&it, content);
		if (!grove__json_next(&it))
			return false;
		text = grove__json_get(it.value, "text");
	}
	if (!grove__slice_starts(text, "\"[Request interrupted by user]") &&
	    !grove__slice_starts(text, "\"[Request interrupted by user for tool use]"))
		return false;
	return text.ptr == content.ptr || !grove__json_next(&it);
}

/* --- a line --- */

static bool truthy(const struct grove__json_line *l, const char *line, unsigned member)
{
	return grove__json_has(l, member) &&
	       grove__json_truthy(grove__json_span_of(l, line, member));
}

static struct grove_slice text(const struct grove__json_line *l, const char *line, unsigned member,
			       struct grove__arena *tmp)
{
	return grove__pi_text(tmp, grove__json_span_of(l, line, member));
}

/* An empty parent counts as none; one that is not a string names a record that does not exist. */
static void read_parent(const struct grove__json_line *l, const char *line,
			struct grove__arena *tmp, struct grove__claude_row *out)
{
	struct grove_slice raw = grove__json_span_of(l, line, CLAUDE_M_PARENT);

	if (!raw.len) {
		out->parent_is = PARENT_ABSENT;
	} else if (!grove__json_truthy(raw)) {
		out->parent_is = PARENT_NULL;
	} else {
		out->parent_is = PARENT_NAMED;
		out->parent = grove__json_type_of(raw) == JSON_STRING ? grove__pi_text(tmp, raw) : raw;
	}
}

struct grove_slice grove__claude_queued(struct grove_slice attachment)
{
	struct grove_slice prompt = { NULL, 0 };
	enum grove__json_type type;

	if (!grove__json_string_is(grove__json_get(attachment, "type"), "queued_command"))
		return prompt;
	prompt = grove__json_get(attachment, "prompt");
	type = grove__json_type_of(prompt);
	return type == JSON_STRING || type == JSON_ARRAY ? prompt : grove__slice(NULL, 0);
}

static void read_attachment(const struct grove__json_line *l, const char *line,
			    struct grove__arena *tmp, struct grove__claude_row *out)
{
	struct grove_slice attachment = grove__json_span_of(l, line, CLAUDE_M_ATTACHMENT), source;

	if (!grove__claude_queued(attachment).ptr)
		return;
	out->flags |= CLAUDE_QUEUED;
	if (grove__json_truthy(grove__json_get(attachment, "isMeta")))
		out->flags |= CLAUDE_QUEUED_META;
	source = grove__json_get(attachment, "source_uuid");
	if (grove__json_type_of(source) == JSON_STRING)
		out->reply = grove__pi_text(tmp, source);
}

static void read_system(const struct grove__json_line *l, const char *line,
			struct grove__claude_row *out)
{
	struct grove_slice subtype = grove__json_span_of(l, line, CLAUDE_M_SUBTYPE);

	if (grove__json_string_is(subtype, "compact_boundary")) {
		out->flags |= CLAUDE_BOUNDARY;
		out->compact = grove__json_span_of(l, line, CLAUDE_M_COMPACT);
	} else if (grove__json_string_is(subtype, "snip_boundary")) {
		out->flags |= CLAUDE_SNIP;
		out->removed = grove__json_get(grove__json_span_of(l, line, CLAUDE_M_SNIP),
					       "removedUuids");
		if (!out->removed.len)
			out->removed = grove__json_span_of(l, line, CLAUDE_M_REMOVED);
	} else if (grove__json_string_is(subtype, "local_command")) {
		out->flags |= CLAUDE_COMMAND;
	}
}

void grove__claude_row_brief(const struct grove__json_line *l, const char *line,
			     struct grove__arena *tmp, struct grove__claude_row *out)
{
	static const struct {
		unsigned member, flag;
	} flags[] = {
		{ CLAUDE_M_SIDECHAIN, CLAUDE_SIDECHAIN }, { CLAUDE_M_META, CLAUDE_META },
		{ CLAUDE_M_TEAM, CLAUDE_TEAM }, { CLAUDE_M_SUMMARY, CLAUDE_COMPACT_SUMMARY },
		{ CLAUDE_M_API_ERROR, CLAUDE_API_ERROR }, { CLAUDE_M_EXPLICIT, CLAUDE_EXPLICIT },
	};
	struct grove_slice raw;

	memset(out, 0, sizeof(*out));
	out->time = GROVE_NO_TIME;
	out->parent_is = PARENT_ABSENT;
	if (l->type != JSON_OBJECT)
		return;
	out->class = class_of(grove__json_span_of(l, line, CLAUDE_M_TYPE));
	for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++)
		if (truthy(l, line, flags[i].member))
			out->flags |= flags[i].flag;
	out->uuid = text(l, line, CLAUDE_M_UUID, tmp);
	raw = grove__json_span_of(l, line, CLAUDE_M_TIME);
	if (grove__json_type_of(raw) == JSON_STRING)
		out->time = grove__js_date_parse(grove__pi_text(tmp, raw));
	if (grove__claude_is_message(out->class)) {
		out->reply = text(l, line, CLAUDE_M_MESSAGE_ID, tmp);
		out->content = grove__json_span_of(l, line, CLAUDE_M_CONTENT);
	} else if (out->class == CLAUDE_ATTACHMENT) {
		read_attachment(l, line, tmp, out);
	}
}

void grove__claude_row(const struct grove__json_line *l, const char *line,
		       struct grove__arena *tmp, struct grove__claude_row *out)
{
	struct grove_slice raw;

	grove__claude_row_brief(l, line, tmp, out);
	if (l->type != JSON_OBJECT)
		return;
	read_parent(l, line, tmp, out);
	out->logical = text(l, line, CLAUDE_M_LOGICAL, tmp);
	out->agent = text(l, line, CLAUDE_M_AGENT, tmp);
	if (grove__claude_is_message(out->class)) {
		struct seen s = { .wanted = out->class == CLAUDE_USER ? CLAUDE_TOOL_RESULT
								      : CLAUDE_TOOL_USE };

		if (grove__json_has(l, CLAUDE_M_MESSAGE)) {
			out->message_off = l->span[CLAUDE_M_MESSAGE].off - l->value.off;
			out->message_len = l->span[CLAUDE_M_MESSAGE].len;
		}
		grove__claude_blocks(out->content, see_block, &s);
		out->flags |= s.flags;
		out->tool = s.tool;
		out->nr_tools = s.nr_tools;
		if (out->class == CLAUDE_ASSISTANT && s.any && !s.other)
			out->flags |= CLAUDE_THINKING_ONLY;
		/*
		 * callers treat a tool result like an interruption, so results need not be read
		 * for this
		 */
		if (out->class == CLAUDE_USER && !(s.flags & CLAUDE_TOOL_RESULT) && is_interruption(out->content))
			out->flags |= CLAUDE_INTERRUPTED;
	} else if (out->class == CLAUDE_SYSTEM) {
		read_system(l, line, out);
	} else if (out->class == CLAUDE_LAST_PROMPT) {
		raw = grove__json_span_of(l, line, CLAUDE_M_LEAF);
		out->leaf = grove__pi_text(tmp, raw);
		if (grove__json_type_of(raw) == JSON_NULL)
			out->flags |= CLAUDE_LEAF_NULL;
	}
}
