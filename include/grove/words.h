/*
 * grove/words.h: names that are common to all dialects: kinds, roles, sync levels.
 *
 * You get it with <grove.h>, which has the rules that apply to all of it.
 */
#ifndef GROVE_WORDS_H
#define GROVE_WORDS_H

#include <grove/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How durable an append is before it returns. */
enum grove_sync {
	GROVE_SYNC_NONE,   /* passed to the system: survives a crash of the process only */
	GROVE_SYNC_FLUSH,  /* the same, and writing to disk has started */
	GROVE_SYNC_ALWAYS  /* on disk; threads that append at the same time share one sync */
};

/* Who chose the name of a session. */
enum grove_name_source {
	GROVE_NAME_BY_USER,
	GROVE_NAME_BY_AGENT   /* made up by the program: does not replace one chosen by the user */
};

/* What an entry is, in any dialect. */
enum grove_kind {
	GROVE_KIND_OTHER,           /* an unknown type: preserved, a node of the tree */
	GROVE_KIND_HEADER,
	GROVE_KIND_MESSAGE,
	GROVE_KIND_THINKING_LEVEL,
	GROVE_KIND_MODEL,
	GROVE_KIND_USAGE,
	GROVE_KIND_COMPACTION,
	GROVE_KIND_BRANCH_SUMMARY,
	GROVE_KIND_CUSTOM,
	GROVE_KIND_CUSTOM_MESSAGE,
	GROVE_KIND_CONTEXT_EDIT,
	GROVE_KIND_LABEL,
	GROVE_KIND_NAME,
	/* xcsh and oh-my-pi */
	GROVE_KIND_SERVICE_TIER,
	GROVE_KIND_CONTEXT_CHANGE,  /* of its working environment: name, tenant, namespace */
	GROVE_KIND_MODE,
	GROVE_KIND_INIT,            /* what a sub-agent was started with */
	GROVE_KIND_RULES,           /* rules that were injected into the conversation */
	GROVE_KIND_TOOLS,           /* a selection of tools */
	GROVE_KIND_RESET,           /* the context starts over after it */
	GROVE_KIND_CREDENTIAL,      /* which account answers */
	/* Claude Code */
	GROVE_KIND_SYSTEM,          /* a note by the program: a boundary, a hook, a command */
	GROVE_KIND_ATTACHMENT,
	GROVE_KIND_PROGRESS,
	GROVE_KIND_META,            /* metadata of the session: not a node of the tree */
	/* work handed to sub-agents, in sessions of hosts */
	GROVE_KIND_SUBAGENT_BATCH,  /* the work begins */
	GROVE_KIND_SUBAGENT_RESULT  /* the work ends */
};

/* Who speaks, if the kind is a message. */
enum grove_role {
	GROVE_ROLE_NONE,
	GROVE_ROLE_OTHER,
	GROVE_ROLE_SYSTEM,
	GROVE_ROLE_USER,
	GROVE_ROLE_ASSISTANT,
	GROVE_ROLE_TOOL_RESULT,
	GROVE_ROLE_BASH,
	GROVE_ROLE_CUSTOM,
	/* xcsh and oh-my-pi */
	GROVE_ROLE_DEVELOPER,
	GROVE_ROLE_PYTHON,
	GROVE_ROLE_FILES,           /* files that were mentioned */
	/* summaries in the form of messages */
	GROVE_ROLE_BRANCH_SUMMARY,
	GROVE_ROLE_COMPACTION_SUMMARY
};

GROVE_API const char *grove_kind_name(enum grove_kind kind);
GROVE_API const char *grove_role_name(enum grove_role role);

/* Irregularities of an entry. */
enum grove_entry_flags {
	GROVE_ENTRY_ORPHAN = 1,      /* its parent is not in the log: shown as a root */
	GROVE_ENTRY_CYCLE = 2,       /* its parents form a cycle, which is broken here */
	GROVE_ENTRY_SUPERSEDED = 4,  /* a later line has the same id: in the log, not in the tree */
	GROVE_ENTRY_NO_ID = 8,
	GROVE_ENTRY_LEAF_MARK = 16   /* written by grove to persist a leaf, which is its parent */
};

/* The text of an entry that a person would read, in pieces. */
enum grove_piece_kind {
	GROVE_PIECE_TEXT,
	GROVE_PIECE_THINKING,
	GROVE_PIECE_TOOL_CALL,    /* title: the tool; text: its arguments as JSON */
	GROVE_PIECE_TOOL_RESULT,  /* title: the tool */
	GROVE_PIECE_COMMAND,      /* text: a shell command */
	GROVE_PIECE_OUTPUT,       /* text: what it printed */
	GROVE_PIECE_IMAGE,        /* title: the media type */
	GROVE_PIECE_SUMMARY,      /* of a compaction or a branch */
	GROVE_PIECE_NOTE          /* a change of model, a label, a name, …, in words */
};
struct grove_piece {
	enum grove_piece_kind kind;
	struct grove_slice title;
	struct grove_slice text;
	int error;                /* the tool or command failed */
	int hidden;               /* not shown to people: data, or `display` is false */
	struct grove_slice call;  /* of a tool call and the pieces of its result: the id that links them */
};
/*
 * A non-zero result ends the walk and is returned. An entry whose line is too long for
 * memory (over 1 GiB) is reported as a note that says so.
 */
typedef int grove_piece_fn(void *payload, const struct grove_piece *piece);

/* What the tokens of a context are spent on. */
enum grove_part {
	GROVE_PART_SYSTEM,
	GROVE_PART_SUMMARY,       /* of a compaction or a branch */
	GROVE_PART_PROMPTS,
	GROVE_PART_REPLIES,
	GROVE_PART_THINKING,
	GROVE_PART_TOOL_CALLS,
	GROVE_PART_TOOL_RESULTS,
	GROVE_PART_IMAGES,
	GROVE_PART_OTHER
};
/* "system", "summary", "prompts", "replies", "thinking", "toolCalls", "toolResults", "images", "other" */
GROVE_API const char *grove_part_name(enum grove_part part);
struct grove_context_part {
	enum grove_part part;
	uint64_t tokens;          /* an estimate: four bytes each, and 1,500 for an image */
	uint64_t bytes, count;
};

/* Why an entry is the leaf. */
enum grove_leaf_rule {
	GROVE_LEAF_BY_LAST_ENTRY,   /* it is the last one of the log; Claude: of its conversation */
	GROVE_LEAF_BY_MARKER,       /* a leaf marker in the log names it */
	GROVE_LEAF_BY_LAST_PROMPT,  /* Claude: the line with the last prompt names it */
	GROVE_LEAF_BY_STORE,        /* the store has it next to the log */
	GROVE_LEAF_BY_HANDLE,       /* it was moved in this handle only */
	GROVE_LEAF_BY_CALLER        /* the caller named it */
};
/* "last-entry", "marker", "last-prompt", "store", "handle", "caller" */
GROVE_API const char *grove_leaf_rule_name(enum grove_leaf_rule rule);

/* No entry, no parent. */
#define GROVE_NO_ENTRY UINT32_MAX
/* In place of an entry's id: the position before the first entry. */
#define GROVE_ROOT "root"
/* A time that is missing or invalid. */
#define GROVE_NO_TIME INT64_MIN
/* The seq of no line. */
#define GROVE_NO_SEQ UINT64_MAX

#ifdef __cplusplus
}
#endif
#endif
