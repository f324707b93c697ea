/*
 * dialect/claude.h: what the files of the Claude Code dialect share.
 *
 * A transcript is a log of records that name their parent, with lines of
 * metadata between them. Which of the records are the conversation is decided
 * by rules over the whole file; they ask for a few fields of each record, never
 * for its text. So a line is scanned once and leaves a row:
 *
 *	line → grove__claude_row() → grove__claude_rows_add() → grove__claude_chain()
 */
#ifndef GROVE_DIALECT_CLAUDE_H
#define GROVE_DIALECT_CLAUDE_H

#include "base/ice.h"
#include "base/idmap.h"
#include "dialect/dialect.h"

/* Places in the table of members, in claude.c. */
enum {
	CLAUDE_M_TYPE, CLAUDE_M_UUID, CLAUDE_M_PARENT, CLAUDE_M_LOGICAL, CLAUDE_M_TIME,
	CLAUDE_M_SIDECHAIN, CLAUDE_M_META, CLAUDE_M_TEAM, CLAUDE_M_SUMMARY, CLAUDE_M_API_ERROR,
	CLAUDE_M_AGENT, CLAUDE_M_SUBTYPE, CLAUDE_M_COMPACT, CLAUDE_M_SNIP,
	CLAUDE_M_REMOVED, CLAUDE_M_LEAF, CLAUDE_M_EXPLICIT, CLAUDE_M_SESSION, CLAUDE_M_CWD,
	CLAUDE_M_RELOCATED, CLAUDE_M_CUSTOM_TITLE, CLAUDE_M_AI_TITLE, CLAUDE_M_VERSION,
	CLAUDE_M_REQUEST, CLAUDE_M_MESSAGE, CLAUDE_M_MESSAGE_ID, CLAUDE_M_ROLE, CLAUDE_M_CONTENT,
	CLAUDE_M_MODEL, CLAUDE_M_USAGE, CLAUDE_M_CONTINUED, CLAUDE_M_ATTACHMENT,
	CLAUDE_MEMBERS
};
extern const struct grove__json_member grove__claude_members[CLAUDE_MEMBERS];

/* --- claude.c: one line --- */

enum grove__claude_class {
	CLAUDE_OTHER,        /* a type that we do not know: kept, and stands for nothing */
	CLAUDE_USER,         /* the four that make chains … */
	CLAUDE_ASSISTANT,
	CLAUDE_ATTACHMENT,
	CLAUDE_SYSTEM,
	CLAUDE_PROGRESS,     /* … and one that did, and is passed over */
	CLAUDE_LAST_PROMPT,  /* metadata from here on */
	CLAUDE_CUSTOM_TITLE,
	CLAUDE_AI_TITLE,
	CLAUDE_TITLE,        /* `summary`: the old title of a leaf */
	CLAUDE_TAG,
	CLAUDE_RELOCATED,
	CLAUDE_CONTINUED_IN,
	CLAUDE_REPLACEMENT,  /* content-replacement */
	CLAUDE_NOTE          /* known, and nothing that a reader acts on */
};

enum grove__claude_flags {
	CLAUDE_SIDECHAIN = 1 << 0,
	CLAUDE_META = 1 << 1,
	CLAUDE_TEAM = 1 << 2,
	CLAUDE_COMPACT_SUMMARY = 1 << 3,
	CLAUDE_API_ERROR = 1 << 4,
	CLAUDE_BOUNDARY = 1 << 5,        /* a compact boundary */
	CLAUDE_SNIP = 1 << 6,            /* a snip boundary */
	CLAUDE_TOOL_USE = 1 << 7,        /* the message has such a block */
	CLAUDE_TOOL_RESULT = 1 << 8,
	CLAUDE_THINKING_ONLY = 1 << 9,
	CLAUDE_EXPLICIT = 1 << 10,       /* of a last-prompt */
	CLAUDE_LEAF_NULL = 1 << 11,      /* leafUuid is there, and null */
	CLAUDE_QUEUED = 1 << 12,         /* an attachment: a prompt typed while the agent worked */
	CLAUDE_QUEUED_META = 1 << 13,    /* … that no person typed */
	CLAUDE_COMMAND = 1 << 14,        /* a system record: a local command, or what it printed */
	CLAUDE_INTERRUPTED = 1 << 15     /* a user record by which the program notes that it was stopped */
};

/* What a line says. Texts live in the line or in the arena given. */
struct grove__claude_row {
	enum grove__claude_class class;
	enum grove__parent parent_is;
	unsigned flags;                  /* enum grove__claude_flags */
	int64_t time;                    /* ms, or GROVE_NO_TIME */
	struct grove_slice uuid;         /* empty: none */
	struct grove_slice parent;       /* where PARENT_NAMED */
	struct grove_slice logical;      /* logicalParentUuid; empty: none */
	struct grove_slice reply;        /* message.id; of a queued prompt its source_uuid; empty: none */
	struct grove_slice agent;        /* agentId; empty: none */
	struct grove_slice source;       /* sourceToolAssistantUUID; empty: none */
	struct grove_slice leaf;         /* leafUuid of a last-prompt; empty: none */
	/* raw values, ptr NULL where absent */
	struct grove_slice content;      /* of the message */
	uint64_t message_off, message_len; /* of the message, from the value's first byte */
	struct grove_slice tool;         /* id of its first call (an answer: its first result) */
	unsigned nr_tools;               /* how many of them there are */
	struct grove_slice compact;      /* compactMetadata of a boundary */
	struct grove_slice removed;      /* what a snip removes */
};

/* Understand a line that was scanned for grove__claude_members. Never fails. */
void grove__claude_row(const struct grove__json_line *l, const char *line,
		       struct grove__arena *tmp, struct grove__claude_row *out);

/*
 * The same, but only what a list wants: class, uuid, time, reply, content, flags as members tell
 * them, and whether it is a prompt typed while the agent worked.
 */
void grove__claude_row_brief(const struct grove__json_line *l, const char *line,
			     struct grove__arena *tmp, struct grove__claude_row *out);

/* Is it a record that chains are made of? */
static inline bool grove__claude_is_chain(enum grove__claude_class c)
{
	return c >= CLAUDE_USER && c <= CLAUDE_SYSTEM;
}

/* The prompt in an attachment (raw) that is one typed while the agent worked; ptr NULL: it is none. */
struct grove_slice grove__claude_queued(struct grove_slice attachment);

/* And one that is sent? */
static inline bool grove__claude_is_message(enum grove__claude_class c)
{
	return c == CLAUDE_USER || c == CLAUDE_ASSISTANT;
}

/*
 * The blocks of a message's content, in one walk: `fn` gets the raw type and
 * the raw id (of a tool_use) or tool_use_id (of a tool_result), empty where
 * absent. A content that is a string has no blocks. Stops when fn answers other
 * than 0, and answers it.
 */
typedef int grove__claude_block_fn(void *payload, struct grove_slice type, struct grove_slice id,
				   struct grove_slice block);
int grove__claude_blocks(struct grove_slice content, grove__claude_block_fn *fn, void *payload);

/* --- claude_rows.c: all lines --- */

/*
 * Ids are interned: a name is a number, and what is under it is looked up
 * when it is asked for. So a parent may come later in the file than its child,
 * and of lines with the same uuid the last one counts, without a second pass.
 */
#define CLAUDE_NONE UINT32_MAX

/* 48 bytes a line; the id's text is kept once, however many lines name it. */
struct grove__claude_packed {
	int64_t time;
	uint32_t id, parent, logical;    /* names; a last-prompt's parent is its leaf */
	uint32_t reply;                  /* name of message.id; of a queued prompt that of source_uuid */
	uint32_t tools;                  /* the first of its tool ids in the pool */
	uint32_t flags;
	uint32_t message_off, message_len; /* in its line; 0: not there, or too far */
	uint16_t nr_tools;
	uint8_t class;
	uint8_t parent_is;
};

struct grove__claude_name {
	uint64_t text;                   /* its distance from the base; its length (4 bytes) before it */
	uint32_t row;                    /* the last record with this uuid; CLAUDE_NONE: none */
	uint32_t first;                  /* the first one: where JavaScript's map has it */
};

/*
 * What a boundary keeps, or a snip removes: names in the pool. Such lines are
 * few and their lists short, so they are kept as they pass by: a chain never
 * has to read the file again.
 */
struct grove__claude_kept {
	uint32_t row;
	uint32_t anchor, head, tail;     /* of preservedMessages, else of preservedSegment */
	uint32_t first, nr;              /* preservedMessages.uuids, or what is removed */
	bool messages, segment;          /* there is such a member */
};

struct grove__claude_rows {
	struct grove__claude_packed *rows;
	size_t nr, cap;
	struct grove__claude_name *names;
	size_t nr_names, cap_names;
	struct grove__claude_kept *kept;
	size_t nr_kept, cap_kept;
	uint32_t *pool;                  /* lists of names */
	size_t nr_pool, cap_pool;
	struct grove__idmap map;
	struct grove__arena texts;
	uint32_t last_id, last_reply;    /* names: what is a parent next, most likely */
	/* What they were thawed from (claude_ice.c): arrays lie there until they outgrow it. */
	const char *ice;
	size_t ice_len;
	const char *base;                /* texts are so far from here */
};

/* The struct must stay where it is from here on. */
void grove__claude_rows_init(struct grove__claude_rows *r, uint64_t seed);
void grove__claude_rows_release(struct grove__claude_rows *r);
/* This row will be added soon. */
void grove__claude_rows_hint(const struct grove__claude_rows *r, const struct grove__claude_row *row);
/*
 * Take in a line; rows are numbered as they come, metadata and all. Nothing of
 * `row` is referred to afterwards. Returns 0, GROVE_ENOMEM (the row is not
 * there), or GROVE_ETOOBIG after 2^32 - 1 rows or names.
 */
int grove__claude_rows_add(struct grove__claude_rows *r, const struct grove__claude_row *row);
/* The row of a uuid: the last one; CLAUDE_NONE if there is none. */
uint32_t grove__claude_rows_find(const struct grove__claude_rows *r, struct grove_slice uuid);
/* The uuid of a row, empty if it has none; good as long as the rows. */
struct grove_slice grove__claude_rows_uuid(const struct grove__claude_rows *r, uint32_t row);
/* The text of a name. */
struct grove_slice grove__claude_name(const struct grove__claude_rows *r, uint32_t name);

/* --- claude_ice.c: rows as one piece of bytes --- */

/*
 * Write rows from `at` (a multiple of GROVE__ICE_PAGE) on; *end is behind the
 * last byte. GROVE_ENOMEM, or what `fn` answers.
 */
int grove__claude_freeze(const struct grove__claude_rows *r, uint64_t at, uint64_t *end,
			 grove__ice_fn *fn, void *payload);
/*
 * Rows again, over the same bytes, which stay as long as they do and are written
 * to; `r` was initialised and is empty. Whether they are those that were written
 * is the caller's to know; 1 if they cannot be.
 */
int grove__claude_thaw(struct grove__claude_rows *r, char *bytes, size_t len, uint64_t at);

/* --- claude_chain.c: the conversation --- */

enum grove__claude_mode {
	CLAUDE_MODE_CLI,      /* what the program resumes with */
	CLAUDE_MODE_SDK,      /* what its SDK shows */
	CLAUDE_MODE_AGENT     /* a sub-agent's own file */
};

/* Why a row is where it is, or is not there. */
enum grove__claude_reason {
	CLAUDE_NOT_ASKED,     /* metadata: never in question */
	CLAUDE_SENT,
	CLAUDE_SENT_KEPT,     /* before the boundary, and kept by it */
	CLAUDE_SENT_RECOVERED,/* beside the chain, of a reply that is on it */
	CLAUDE_SENT_BRIDGED,  /* its parent is not there: continues with a record before */
	CLAUDE_SILENT,        /* on the chain, and not a message */
	CLAUDE_HIDDEN,        /* on the chain, and not shown in this mode */
	CLAUDE_REPLACED,      /* a later line has the same uuid */
	CLAUDE_PASSED,        /* a progress record */
	CLAUDE_SNIPPED,
	CLAUDE_DROPPED,       /* before the boundary, which keeps others */
	CLAUDE_BEHIND,        /* above the boundary that the chain begins at */
	CLAUDE_SIDE,          /* of a sub-agent */
	CLAUDE_OFF_CHAIN,     /* another branch */
	CLAUDE_REASONS
};
/* In words, for people. */
const char *grove__claude_reason_text(enum grove__claude_reason reason);

struct grove__claude_options {
	struct grove_slice leaf;  /* the record to end with; ptr NULL: by the rules; empty: none, a root */
	bool apply_snips;         /* what a snip removes is not there */
	bool full_history;        /* continue above a boundary, by its logical parent */
	bool prompts;             /* prompts typed while the agent worked are messages; in mode sdk always */
	bool llm;                 /* so is all else that is sent: what local commands printed */
};

struct grove__claude_conversation {
	uint32_t *rows;           /* in the order sent */
	size_t nr, cap;
	uint32_t leaf;            /* the last record, after which the next one is written */
	uint8_t *reasons;         /* enum grove__claude_reason of each row */
	size_t nr_reasons;
	bool recorded;            /* a last-prompt says where it ends: at `named` … */
	uint32_t named;           /* … or before the first record, if CLAUDE_NONE */
};

void grove__claude_conversation_release(struct grove__claude_conversation *c);
/*
 * `out` is zeroed or was filled before; it is replaced. `leaf` is CLAUDE_NONE
 * for an empty conversation. Returns 0, GROVE_ENOTFOUND if the leaf asked for
 * is not a record of a chain, or GROVE_ENOMEM.
 */
int grove__claude_chain(const struct grove__claude_rows *r, enum grove__claude_mode mode,
			const struct grove__claude_options *opt,
			struct grove__claude_conversation *out);

/*
 * Can a conversation be made to end at this row? Returns 0; 1 if the rules would
 * go somewhere else whatever is written down, and *why says why; GROVE_ENOMEM.
 */
int grove__claude_may_end(const struct grove__claude_rows *r, enum grove__claude_mode mode,
			  uint32_t row, const char **why);

/* --- claude_llm.c --- */

/* What a message does not say of itself. */
enum grove__claude_mark {
	CLAUDE_MARK_ERROR = 1 << 0,     /* a reply with isApiErrorMessage */
	CLAUDE_MARK_QUEUED = 1 << 1,    /* a prompt typed while the agent worked */
	CLAUDE_MARK_COMMAND = 1 << 2    /* a local command, or what it printed */
};

/*
 * The messages of a conversation as the program would send them: what it
 * leaves out is left out, what it makes up is made up, and all stand in the
 * order that it sends. `marks` (may be NULL) has enum grove__claude_mark of each.
 * `fn` gets each, in its own bytes where nothing changes, and the number
 * of the message it came from (SIZE_MAX: made up).
 *
 * Returns 0, GROVE_ENOMEM, or what fn answered.
 */
int grove__claude_llm(const struct grove_slice *messages, const uint8_t *marks, size_t nr,
		      int (*fn)(void *payload, size_t from, struct grove_slice json),
		      void *payload);

/* --- claude_list.c --- */

/*
 * How a listing sees a session; filled line by line. Messages are told apart by
 * a hash of their id: 16 bytes a message, whatever is in it.
 */
struct grove__claude_summary {
	uint64_t messages;               /* of all branches; the lines of one reply once */
	struct grove_buf first;          /* the first real prompt, cut for a list */
	bool has_first;
	struct grove_buf command;        /* a slash command: the prompt if there is no other */
	bool has_command;
	struct grove_buf custom_title, ai_title;   /* the last of each; empty: none */
	struct grove_buf cwd, relocated;
	bool has_cwd, has_relocated;
	struct grove_buf continued_in;   /* the session it went on in, if no turn followed */
	struct grove_buf forked_from;    /* the session that it is a fork of; empty: none */
	int64_t created;                 /* the first time there is; GROVE_NO_TIME */
	int64_t newest;                  /* of the messages that count; GROVE_NO_TIME */
	bool any, side;                  /* a line was seen; the first is a sub-agent's */
	uint64_t seed, *seen;            /* hashes of ids, an open table */
	size_t nr_seen, cap_seen;
};
void grove__claude_summary_init(struct grove__claude_summary *s, uint64_t seed);
void grove__claude_summary_release(struct grove__claude_summary *s);
/* Count a line in. GROVE_ENOMEM. */
int grove__claude_summary_add(struct grove__claude_summary *s, const struct grove__json_line *l,
			      const char *line, const struct grove__claude_row *row,
			      struct grove__arena *tmp);
/* The name and the first message of a list; empty if there is none. */
struct grove_slice grove__claude_summary_name(const struct grove__claude_summary *s);
struct grove_slice grove__claude_summary_first(const struct grove__claude_summary *s);
struct grove_slice grove__claude_summary_cwd(const struct grove__claude_summary *s);
/* The title in a custom-title.json beside the session; 1 if there is none. */
int grove__claude_title_file(struct grove_slice json, struct grove_buf *out);

/* --- claude_names.c --- */

/* $CLAUDE_CONFIG_DIR or ~/.claude. */
int grove__claude_config_dir(const struct grove__env *env, struct grove_buf *out);
int grove__claude_roots(const struct grove__env *env,
			int (*fn)(void *payload, const char *agent, const char *dir, bool flat),
			void *payload);
int grove__claude_project(const struct grove__env *env, const char *cwd, struct grove_buf *out);
bool grove__claude_session_id_ok(struct grove_slice id);
int grove__claude_file_name(int64_t time, const char *id, struct grove_buf *out);
/* *time is GROVE_NO_TIME: these names have none. */
bool grove__claude_parse_file_name(struct grove_slice name, int64_t *time,
				   struct grove_slice *id);
size_t grove__claude_entry_id(const uint8_t random[16], bool again, char out[40]);
int grove__claude_clean_name(struct grove_slice name, struct grove_buf *out);

/* What is in the directory of a session, <project>/<session id>/. */
enum grove__claude_sidecar {
	CLAUDE_SIDE_OTHER,        /* kept, and none of ours */
	CLAUDE_SIDE_AGENT,        /* subagents/…/agent-<id>.jsonl */
	CLAUDE_SIDE_AGENT_META,   /* subagents/…/agent-<id>.meta.json */
	CLAUDE_SIDE_JOURNAL,      /* subagents/workflows/<run>/journal.jsonl */
	CLAUDE_SIDE_RESULT,       /* tool-results/<id>.txt */
	CLAUDE_SIDE_TITLE,        /* custom-title.json */
	CLAUDE_SIDE_ARCHIVED,     /* archived.json */
	CLAUDE_SIDE_REMOTE        /* remote-agents/… */
};
/*
 * What the file at `path` (below that directory) is. *id gets the agent's or
 * the result's id, *group the directories between subagents/ and the file;
 * both empty where there are none.
 */
enum grove__claude_sidecar grove__claude_sidecar(struct grove_slice path, struct grove_slice *id,
						 struct grove_slice *group);
/* The path of a sub-agent's file below that directory; `group` may be empty. */
int grove__claude_agent_path(struct grove_slice group, struct grove_slice id, bool meta,
			     struct grove_buf *out);
/* <config>/file-history/<session id>. */
int grove__claude_file_history(const struct grove__env *env, const char *session,
			       struct grove_buf *out);

#endif
