/*
 * dialect/heads.c: which members of an entry are what, for those who want
 * everything but the long values.
 */
#include "dialect/heads.h"

/* ------------------------------------------------------------ pi and its family */

static const char *const pi_inside[] = { "message", "usage", "cost", NULL };
static const char *const pi_words[] = {
	"type",     "role",          "api",        "provider", "model", "modelId", "stopReason",
	"toolName", "thinkingLevel", "customType", "kind",     NULL
};

const struct grove__dialect_heads grove__heads_pi = {
	.inside = pi_inside,
	.words = pi_words,
	.parent = "parentId",
	.content = "content",
};

/* ----------------------------------------------------------------- Claude Code */

static const char *const claude_inside[] = { "message", "usage", "cache_creation", "server_tool_use", NULL };
/* The last line of them changes from session to session, hardly ever in one. */
static const char *const claude_words[] = {
	"type",      "role", "model",     "stop_reason", "subtype", "level", "service_tier", "permissionMode",
	"sessionId", "cwd",  "gitBranch", "version",     "slug",    "userType", "entrypoint", NULL
};

const struct grove__dialect_heads grove__heads_claude = {
	.inside = claude_inside,
	.words = claude_words,
	.parent = "parentUuid",
	.content = "content",
};
