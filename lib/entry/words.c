/*
 * entry/words.c: kinds and roles by name.
 *
 * A kind or role that is added to the public enum and not counted in entry.h
 * does not fit into these arrays, so it cannot be forgotten here.
 */
#include "entry/entry.h"

const char *grove_kind_name(enum grove_kind kind)
{
	static const char *const names[GROVE__KINDS] = {
		[GROVE_KIND_OTHER] = "other",
		[GROVE_KIND_HEADER] = "header",
		[GROVE_KIND_MESSAGE] = "message",
		[GROVE_KIND_THINKING_LEVEL] = "thinking",
		[GROVE_KIND_MODEL] = "model",
		[GROVE_KIND_USAGE] = "usage",
		[GROVE_KIND_COMPACTION] = "compaction",
		[GROVE_KIND_BRANCH_SUMMARY] = "branch-summary",
		[GROVE_KIND_CUSTOM] = "custom",
		[GROVE_KIND_CUSTOM_MESSAGE] = "custom-message",
		[GROVE_KIND_CONTEXT_EDIT] = "context-edit",
		[GROVE_KIND_LABEL] = "label",
		[GROVE_KIND_NAME] = "name",
		[GROVE_KIND_SERVICE_TIER] = "service-tier",
		[GROVE_KIND_CONTEXT_CHANGE] = "context-change",
		[GROVE_KIND_MODE] = "mode",
		[GROVE_KIND_INIT] = "init",
		[GROVE_KIND_RULES] = "rules",
		[GROVE_KIND_TOOLS] = "tools",
		[GROVE_KIND_RESET] = "reset",
		[GROVE_KIND_CREDENTIAL] = "credential",
		[GROVE_KIND_SYSTEM] = "system",
		[GROVE_KIND_ATTACHMENT] = "attachment",
		[GROVE_KIND_PROGRESS] = "progress",
		[GROVE_KIND_META] = "meta",
		[GROVE_KIND_SUBAGENT_BATCH] = "subagent-batch",
		[GROVE_KIND_SUBAGENT_RESULT] = "subagent-result",
	};

	return (size_t)kind < GROVE__KINDS ? names[kind] : "other";
}

const char *grove_part_name(enum grove_part part)
{
	static const char *const names[] = { "system", "summary", "prompts", "replies", "thinking", "toolCalls",
					     "toolResults", "images", "other" };

	return (size_t)part < sizeof(names) / sizeof(names[0]) ? names[part] : "other";
}

const char *grove_leaf_rule_name(enum grove_leaf_rule rule)
{
	static const char *const names[] = { "last-entry", "marker", "last-prompt", "store", "handle", "caller" };

	return (size_t)rule < sizeof(names) / sizeof(names[0]) ? names[rule] : "other";
}

const char *grove_role_name(enum grove_role role)
{
	static const char *const names[GROVE__ROLES] = {
		[GROVE_ROLE_NONE] = "",
		[GROVE_ROLE_OTHER] = "other",
		[GROVE_ROLE_SYSTEM] = "system",
		[GROVE_ROLE_USER] = "user",
		[GROVE_ROLE_ASSISTANT] = "assistant",
		[GROVE_ROLE_TOOL_RESULT] = "tool",
		[GROVE_ROLE_BASH] = "bash",
		[GROVE_ROLE_CUSTOM] = "custom",
		[GROVE_ROLE_DEVELOPER] = "developer",
		[GROVE_ROLE_PYTHON] = "python",
		[GROVE_ROLE_FILES] = "files",
		[GROVE_ROLE_BRANCH_SUMMARY] = "branch-summary",
		[GROVE_ROLE_COMPACTION_SUMMARY] = "compaction",
	};

	return (size_t)role < GROVE__ROLES ? names[role] : "other";
}
