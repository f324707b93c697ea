/*
 * dialect/heads.c: which members of an entry are what, for those who want
 * everything but the long values.
 */
#include "dialect/heads.h"

#include "json/value.h"

struct block {
	const char *type;
	char letter;
};

static char letter(const struct block *known, struct grove_slice type)
{
	for (; known->type; known++)
		if (grove__json_string_is(type, known->type))
			return known->letter;
	return GROVE_BLOCK_OTHER;
}

/* ------------------------------------------------------------ pi and its family */

static const char *const pi_inside[] = { "message", "usage", "cost", NULL };
static const char *const pi_words[] = {
	"type",     "role",          "api",        "provider", "model", "modelId", "stopReason",
	"toolName", "thinkingLevel", "customType", "kind",     NULL
};

static char pi_block(struct grove_slice type)
{
	static const struct block known[] = {
		{ "text", GROVE_BLOCK_TEXT },   { "toolCall", GROVE_BLOCK_CALL },
		{ "image", GROVE_BLOCK_IMAGE }, { "thinking", GROVE_BLOCK_THINKING },
		{ NULL, 0 }
	};

	return letter(known, type);
}

const struct grove__dialect_heads grove__heads_pi = {
	.inside = pi_inside,
	.words = pi_words,
	.parent = "parentId",
	.content = "content",
	.block = pi_block,
};

/* ----------------------------------------------------------------- Claude Code */

static const char *const claude_inside[] = { "message", "usage", "cache_creation", "server_tool_use", NULL };
/* The last line of them changes from session to session, hardly ever in one. */
static const char *const claude_words[] = {
	"type",      "role", "model",     "stop_reason", "subtype", "level", "service_tier", "permissionMode",
	"sessionId", "cwd",  "gitBranch", "version",     "slug",    "userType", "entrypoint", NULL
};

static char claude_block(struct grove_slice type)
{
	static const struct block known[] = {
		{ "text", GROVE_BLOCK_TEXT },          { "tool_use", GROVE_BLOCK_CALL },
		{ "tool_result", GROVE_BLOCK_RESULT }, { "thinking", GROVE_BLOCK_THINKING },
		{ "image", GROVE_BLOCK_IMAGE },        { "redacted_thinking", GROVE_BLOCK_THINKING },
		{ NULL, 0 }
	};

	return letter(known, type);
}

const struct grove__dialect_heads grove__heads_claude = {
	.inside = claude_inside,
	.words = claude_words,
	.parent = "parentUuid",
	.content = "content",
	.block = claude_block,
};
