/*
 * dialect/calls.c: the tool calls in messages, and their results.
 *
 * In pi's family, a reply has blocks of type toolCall and each result is a message. Claude
 * has blocks of type tool_use, and the results are blocks of a user message.
 */
#include "dialect/calls.h"

#include "json/value.h"

struct shape {
	const char *call;            /* the type of a block that is a call, whose id is `id` */
	const char *answer;          /* … that is a result; NULL if a message is one */
	const char *answer_id;
};

static const struct shape pi = { "toolCall", NULL, "toolCallId" };
static const struct shape claude = { "tool_use", "tool_result", "tool_use_id" };

static bool broken_off(struct grove_slice message)
{
	struct grove_slice why = grove__json_get(message, "stopReason");

	return grove__json_string_is(why, "aborted") || grove__json_string_is(why, "error");
}

static int report_call(struct grove_slice id, bool answer, grove__call_fn *fn, void *payload)
{
	return id.ptr && grove__json_type_of(id) == JSON_STRING ? fn(payload, id, answer) : 0;
}

int grove__dialect_calls(const struct grove__dialect *dialect, struct grove_slice line,
			 enum grove_role role, grove__call_fn *fn, void *payload)
{
	const struct shape *s = dialect == &grove__dialect_claude ? &claude : &pi;
	struct grove_slice message = grove__json_get(line, "message"), content, type;
	struct grove__json_iter it;
	int rc = 0;

	if (role != GROVE_ROLE_ASSISTANT && role != GROVE_ROLE_TOOL_RESULT)
		return 0;
	if (role == GROVE_ROLE_TOOL_RESULT && !s->answer)
		return report_call(grove__json_get(message, s->answer_id), true, fn, payload);
	content = grove__json_get(message, "content");
	if (!content.ptr || grove__json_type_of(content) != JSON_ARRAY || broken_off(message))
		return 0;
	grove__json_iter_init(&it, content);
	while (!rc && grove__json_next(&it)) {
		type = grove__json_get(it.value, "type");
		if (role == GROVE_ROLE_ASSISTANT && grove__json_string_is(type, s->call))
			rc = report_call(grove__json_get(it.value, "id"), false, fn, payload);
		else if (role == GROVE_ROLE_TOOL_RESULT && s->answer &&
			 grove__json_string_is(type, s->answer))
			rc = report_call(grove__json_get(it.value, s->answer_id), true, fn, payload);
	}
	return rc;
}
