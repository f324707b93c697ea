/*
 * dialect/heads.c: which members of an entry are what, for those who want
 * everything but the long values.
 */
#include "dialect/heads.h"

#include "json/value.h"

/* Returns a raw string; empty if the value is something else. */
static struct grove_slice text_only(struct grove_slice value)
{
	return value.ptr && grove__json_type_of(value) == JSON_STRING ? value : grove__slice(NULL, 0);
}

/* ------------------------------------------------------------ pi and its family */

static const char *const pi_inside[] = { "message", "usage", "cost", NULL };
static const char *const pi_words[] = {
	"type",     "role",          "api",        "provider", "model", "modelId", "stopReason",
	"toolName", "thinkingLevel", "customType", "kind",     NULL
};

static struct grove_slice pi_media(struct grove_slice block)
{
	static const char *const names[] = { "type", "data" };
	struct grove_slice of[2];

	grove__json_get_all(block, names, 2, of);
	return of[0].ptr && grove__json_string_is(of[0], "image") ? text_only(of[1]) : grove__slice(NULL, 0);
}

const struct grove__dialect_heads grove__heads_pi = {
	.inside = pi_inside,
	.words = pi_words,
	.parent = "parentId",
	.content = "content",
	.block_type = "type",
	.media = pi_media,
};

/* ----------------------------------------------------------------- Claude Code */

static const char *const claude_inside[] = { "message", "usage", "cache_creation", "server_tool_use", NULL };
/* Those in the last row differ between sessions, but hardly ever within one. */
static const char *const claude_words[] = {
	"type",      "role", "model",     "stop_reason", "subtype", "level", "service_tier", "permissionMode",
	"sessionId", "cwd",  "gitBranch", "version",     "slug",    "userType", "entrypoint", NULL
};

static struct grove_slice claude_media(struct grove_slice block)
{
	static const char *const names[] = { "type", "data" };
	struct grove_slice source = grove__json_get(block, "source"), of[2];

	if (!source.ptr)
		return grove__slice(NULL, 0);
	grove__json_get_all(source, names, 2, of);
	return of[0].ptr && grove__json_string_is(of[0], "base64") ? text_only(of[1]) : grove__slice(NULL, 0);
}

const struct grove__dialect_heads grove__heads_claude = {
	.inside = claude_inside,
	.words = claude_words,
	.parent = "parentUuid",
	.content = "content",
	.block_type = "type",
	.media = claude_media,
};
