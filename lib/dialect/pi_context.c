/*
 * dialect/pi_context.c: the messages that pi's entries contribute.
 *
 * Most messages are passed on unchanged; the few that are not messages in the file
 * (summaries, extensions' messages) are composed from the entry's members.
 */
#include "dialect/pi.h"

#include "json/edit.h"
#include "json/value.h"
#include "json/write.h"

#include <stdio.h>

enum grove__setting grove__pi_sets(enum grove_kind kind, enum grove_role role)
{
	if (kind == GROVE_KIND_THINKING_LEVEL || kind == GROVE_KIND_MODEL ||
	    (kind == GROVE_KIND_MESSAGE && role == GROVE_ROLE_ASSISTANT))
		return SETTING_LAST;
	return SETTING_NONE;
}

int grove__pi_first_kept(struct grove_slice line, struct grove_buf *out, bool *after)
{
	struct grove_slice id = grove__json_get(line, "firstKeptEntryId");

	*after = false;
	return grove__json_type_of(id) == JSON_STRING ? grove__json_text(out, id) : 0;
}

int grove__pi_edit(struct grove_slice line, struct grove_buf *target, struct grove_slice *content)
{
	struct grove_slice t = grove__json_get(line, "targetId");
	struct grove_slice r = grove__json_get(line, "replacement");

	*content = grove__slice(NULL, 0);
	if (!r.len)
		return 1;
	if (grove__json_type_of(r) != JSON_NULL) {
		*content = grove__json_get(r, "content");
		if (!content->len)
			*content = grove__slice_str("");
	}
	return grove__json_type_of(t) == JSON_STRING ? grove__json_text(target, t) : 0;
}

/* Writes a member, or nothing if the value is absent. */
static void put_member(struct grove__out *o, const char *name, struct grove_slice raw)
{
	if (raw.len)
		grove__out_raw(o, name, raw);
}

/* The level is "off" at first; the model is that of the last change, or of the last reply. */
int grove__pi_settings(const struct grove__set_by *lines, size_t nr, struct grove_buf *out)
{
	struct grove_slice level = grove__slice_str("\"off\""), provider = { NULL, 0 }, model = provider;
	struct grove__out o;
	bool set = false;

	for (size_t i = 0; i < nr; i++) {
		struct grove_slice line = lines[i].line;

		if (lines[i].kind == GROVE_KIND_THINKING_LEVEL) {
			level = grove__json_get(line, "thinkingLevel");
			continue;
		}
		set = true;
		if (lines[i].kind == GROVE_KIND_MESSAGE)
			line = grove__json_get(line, "message");
		provider = grove__json_get(line, "provider");
		model = grove__json_get(line, lines[i].kind == GROVE_KIND_MESSAGE ? "model" : "modelId");
	}
	grove__out_init_buf(&o, out);
	o.comma = true; /* other members come before */
	put_member(&o, "thinkingLevel", level);
	if (set) {
		grove__out_open(&o, "model", '{');
		put_member(&o, "provider", provider);
		put_member(&o, "modelId", model);
		grove__out_close(&o, '}');
	} else {
		grove__out_string(&o, "model", NULL);
	}
	return grove__out_finish(&o);
}

static void put_time(struct grove__out *o, int64_t time)
{
	char text[24];

	snprintf(text, sizeof(text), "%lld", (long long)time);
	grove__out_raw(o, "timestamp", grove__slice_str(time == GROVE_NO_TIME ? "null" : text));
}

/* [{"type":"text","text":…}] */
static void put_text_block(struct grove__out *o, const char *name, struct grove_slice raw_string)
{
	grove__out_open(o, name, '[');
	grove__out_open(o, NULL, '{');
	grove__out_string(o, "type", "text");
	grove__out_raw(o, "text", raw_string);
	grove__out_close(o, '}');
	grove__out_close(o, ']');
}

static bool has_blocks(enum grove_role role)
{
	return role == GROVE_ROLE_USER || role == GROVE_ROLE_ASSISTANT ||
	       role == GROVE_ROLE_TOOL_RESULT;
}

static bool is_editable(enum grove_kind kind, enum grove_role role)
{
	return kind == GROVE_KIND_CUSTOM_MESSAGE || (kind == GROVE_KIND_MESSAGE && has_blocks(role));
}

int grove__pi_fit_edit(struct grove_slice input, enum grove_kind kind, enum grove_role role,
			struct grove_buf *out)
{
	struct grove_slice content = grove__json_get(grove__json_get(input, "replacement"), "content");
	struct grove__json_change change = { .path = { "replacement" } };
	struct grove_buf b = GROVE_BUF_INIT;
	struct grove__out o;
	int rc;

	if (!is_editable(kind, role))
		return GROVE_EINVAL;
	if (!out || grove__json_type_of(content) != JSON_STRING ||
	    (role != GROVE_ROLE_ASSISTANT && role != GROVE_ROLE_TOOL_RESULT))
		return 1;
	grove__out_init_buf(&o, &b);
	grove__out_open(&o, NULL, '{');
	put_text_block(&o, "content", content);
	grove__out_close(&o, '}');
	rc = grove__out_finish(&o);
	change.value = grove__buf_slice(&b);
	if (!rc)
		rc = grove__json_edit(out, input, &change, 1);
	grove__buf_release(&b);
	return rc;
}

/*
 * Writes the message with another content. A string becomes a text block where the role
 * requires blocks.
 */
static int with_content(struct grove_buf *out, struct grove_slice message, struct grove_slice content,
			enum grove_role role)
{
	struct grove__json_change change = { .path = { "content" } };
	struct grove_buf block = GROVE_BUF_INIT;
	struct grove__out o;
	int rc = 0;

	if (content.len)
		change.value = content;

	if (grove__json_type_of(content) == JSON_STRING &&
	    (role == GROVE_ROLE_ASSISTANT || role == GROVE_ROLE_TOOL_RESULT)) {
		grove__out_init_buf(&o, &block);
		put_text_block(&o, NULL, content);
		rc = grove__out_finish(&o);
		change.value = grove__buf_slice(&block);
	}
	if (!rc)
		rc = grove__json_edit(out, message, &change, 1);
	grove__buf_release(&block);
	return rc;
}

static int message(struct grove_slice line, enum grove_role role, const struct grove_slice *edit,
		   int (*fn)(void *payload, struct grove_slice json), void *payload)
{
	struct grove_slice m = grove__json_get(line, "message"), content;
	struct grove_buf b = GROVE_BUF_INIT;
	int rc = 0;

	if (!m.len || grove__json_type_of(m) == JSON_NULL)
		return 0;
	if (grove__json_type_of(m) != JSON_OBJECT)
		return fn(payload, m);
	content = grove__json_get(m, "content");
	/* `custom` once had another name, which edits do not know */
	if (edit && (has_blocks(role) || grove__json_string_is(grove__json_get(m, "role"), "custom")))
		rc = with_content(&b, m, *edit, role);
	else if (content.len && grove__json_type_of(content) != JSON_NULL)
		return fn(payload, m);
	else if (has_blocks(role))
		rc = with_content(&b, m, grove__slice_str("[]"), role);
	else if (role == GROVE_ROLE_SYSTEM)
		rc = with_content(&b, m, grove__slice_str("\"\""), role);
	else
		return fn(payload, m);
	if (!rc)
		rc = fn(payload, grove__buf_slice(&b));
	grove__buf_release(&b);
	return rc;
}

static int put_custom(struct grove_buf *out, struct grove_slice line, int64_t time,
		      const struct grove_slice *edit)
{
	struct grove_slice content = edit ? *edit : grove__json_get(line, "content");
	struct grove__out o;

	if (!edit && (!content.len || grove__json_type_of(content) == JSON_NULL))
		content = grove__slice_str("[]");
	grove__out_init_buf(&o, out);
	grove__out_open(&o, NULL, '{');
	grove__out_string(&o, "role", "custom");
	put_member(&o, "customType", grove__json_get(line, "customType"));
	put_member(&o, "content", content);
	put_member(&o, "display", grove__json_get(line, "display"));
	put_member(&o, "details", grove__json_get(line, "details"));
	put_time(&o, time);
	grove__out_close(&o, '}');
	return grove__out_finish(&o);
}

/* {"role":ROLE,"summary":…,NAME:…,"timestamp":…} */
static int put_summary(struct grove_buf *out, struct grove_slice line, const char *role,
		       const char *name, int64_t time)
{
	struct grove__out o;

	grove__out_init_buf(&o, out);
	grove__out_open(&o, NULL, '{');
	grove__out_string(&o, "role", role);
	put_member(&o, "summary", grove__json_get(line, "summary"));
	put_member(&o, name, grove__json_get(line, name));
	put_time(&o, time);
	grove__out_close(&o, '}');
	return grove__out_finish(&o);
}

int grove__pi_messages(struct grove_slice line, enum grove_kind kind, enum grove_role role,
		       int64_t time, const int64_t *next, const struct grove_slice *edit,
		       const struct grove__blob_source *blobs,
		       int (*fn)(void *payload, struct grove_slice json), void *payload)
{
	struct grove_buf b = GROVE_BUF_INIT;
	struct grove_slice system;
	int rc = 0;

	(void)blobs;
	switch (kind) {
	case GROVE_KIND_MESSAGE:
		return message(line, role, edit, fn, payload);
	case GROVE_KIND_CUSTOM_MESSAGE:
		rc = put_custom(&b, line, time, edit);
		break;
	case GROVE_KIND_BRANCH_SUMMARY:
		if (!grove__json_truthy(grove__json_get(line, "summary")))
			return 0;
		rc = put_summary(&b, line, "branchSummary", "fromId", time);
		break;
	case GROVE_KIND_COMPACTION:
		if (!next)
			return 0;
		system = grove__json_get(line, "systemMessage");
		if (grove__json_truthy(system))
			rc = fn(payload, system);
		if (!rc)
			rc = put_summary(&b, line, "compactionSummary", "tokensBefore", time);
		break;
	default:
		return 0;
	}
	if (!rc)
		rc = fn(payload, grove__buf_slice(&b));
	grove__buf_release(&b);
	return rc;
}

/* --- as plain messages for a model --- */

/* {"role":"user","content":…,"timestamp":…}; a string becomes a text block. */
static int put_user(struct grove_buf *out, struct grove_slice content, struct grove_slice time)
{
	struct grove__out o;

	grove__out_init_buf(&o, out);
	grove__out_open(&o, NULL, '{');
	grove__out_string(&o, "role", "user");
	if (grove__json_type_of(content) == JSON_STRING)
		put_text_block(&o, "content", content);
	else
		put_member(&o, "content", content);
	put_member(&o, "timestamp", time);
	grove__out_close(&o, '}');
	return grove__out_finish(&o);
}

/* Adds a value as JavaScript would convert it to a string. */
static void add_text(struct grove__out *o, struct grove_slice raw)
{
	if (o->rc)
		return;
	if (grove__json_type_of(raw) == JSON_STRING)
		o->rc = grove__json_text(o->to, raw);
	else
		o->rc = raw.len ? grove__json_put_canonical(o->to, raw)
				: grove__buf_add_str(o->to, "undefined");
}

static void bash_text(struct grove__out *o, struct grove_slice m)
{
	struct grove_slice output = grove__json_get(m, "output");
	struct grove_slice code = grove__json_get(m, "exitCode");
	struct grove_slice path = grove__json_get(m, "fullOutputPath");

	grove__out_str(o, "Ran `");
	add_text(o, grove__json_get(m, "command"));
	grove__out_str(o, "`\n");
	if (grove__json_truthy(output)) {
		grove__out_str(o, "```\n");
		add_text(o, output);
		grove__out_str(o, "\n```");
	} else {
		grove__out_str(o, "(no output)");
	}
	if (grove__json_truthy(grove__json_get(m, "cancelled"))) {
		grove__out_str(o, "\n\n(command cancelled)");
	} else if (grove__json_type_of(code) != JSON_NULL && code.len &&
		   !(grove__json_type_of(code) == JSON_NUMBER && !grove__json_truthy(code))) {
		grove__out_str(o, "\n\nCommand exited with code ");
		add_text(o, code);
	}
	if (grove__json_truthy(grove__json_get(m, "truncated")) && grove__json_truthy(path)) {
		grove__out_str(o, "\n\n[Output truncated. Full output: ");
		add_text(o, path);
		grove__out_str(o, "]");
	}
}

/* The text around a summary; the two forms really end differently. */
static const char branch_before[] =
	"The following is a summary of a branch that this conversation came back from:\n\n<summary>\n";
static const char branch_after[] = "</summary>";
static const char compaction_before[] =
	"The conversation history before this point was compacted into the following summary:\n\n<summary>\n";
static const char compaction_after[] = "\n</summary>";

static void summary_text(struct grove__out *o, struct grove_slice m, const char *before, const char *after)
{
	grove__out_str(o, before);
	add_text(o, grove__json_get(m, "summary"));
	grove__out_str(o, after);
}

/* Converts one message. Returns 1 if the model does not see it. */
static int llm_one(struct grove_slice m, struct grove_buf *out)
{
	struct grove_slice role = grove__json_get(m, "role"), time = grove__json_get(m, "timestamp");
	struct grove_buf text = GROVE_BUF_INIT, quoted = GROVE_BUF_INIT;
	struct grove__out o;
	int rc;

	grove__out_init_buf(&o, &text);
	switch (grove__pi_role(role)) {
	case GROVE_ROLE_SYSTEM:
	case GROVE_ROLE_USER:
	case GROVE_ROLE_ASSISTANT:
	case GROVE_ROLE_TOOL_RESULT:
		return grove__json_put_raw(out, m);
	case GROVE_ROLE_CUSTOM:
		if (!grove__json_string_is(role, "custom"))
			return 1;
		return put_user(out, grove__json_get(m, "content"), time);
	case GROVE_ROLE_BASH:
		if (grove__json_truthy(grove__json_get(m, "excludeFromContext")))
			return 1;
		bash_text(&o, m);
		break;
	default:
		if (grove__json_string_is(role, "branchSummary"))
			summary_text(&o, m, branch_before, branch_after);
		else if (grove__json_string_is(role, "compactionSummary"))
			summary_text(&o, m, compaction_before, compaction_after);
		else
			return 1;
	}
	rc = grove__out_finish(&o);
	rc = rc ? rc : grove__json_put_string(&quoted, grove__buf_slice(&text));
	rc = rc ? rc : put_user(out, grove__buf_slice(&quoted), time);
	grove__buf_release(&text);
	grove__buf_release(&quoted);
	return rc;
}

int grove__pi_llm(const struct grove_slice *messages, const uint8_t *marks, size_t nr, int64_t now,
		  int (*fn)(void *payload, size_t from, struct grove_slice json), void *payload)
{
	struct grove_buf out = GROVE_BUF_INIT;
	int rc = 0;

	(void)marks, (void)now;
	for (size_t i = 0; i < nr && !rc; i++) {
		grove__buf_clear(&out);
		rc = llm_one(messages[i], &out);
		if (!rc)
			rc = fn(payload, i, grove__buf_slice(&out));
		else if (rc == 1)
			rc = 0;
	}
	grove__buf_release(&out);
	return rc;
}
