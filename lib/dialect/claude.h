/*
 * dialect/claude.h: what the files of the Claude Code dialect share.
 *
 * A transcript is a log of records that name their parent, with lines of metadata between
 * them. Rules over the whole file decide which records form the conversation. These rules
 * need a few fields of each record, but never its text. So each line is scanned once and
 * becomes a row:
 *
 *	line → grove__claude_row() → grove__claude_rows_add() → grove__claude_chain()
 */
#ifndef GROVE_DIALECT_CLAUDE_H
#define GROVE_DIALECT_CLAUDE_H

#include "base/ice.h"
#include "base/idmap.h"
#include "dialect/dialect.h"

/* Indexes in the table of members, in claude.c. */
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
	CLAUDE_OTHER,        /* an unknown type: kept, but without effect */
	CLAUDE_USER,         /* the four that make chains … */
	CLAUDE_ASSISTANT,
	CLAUDE_ATTACHMENT,
	CLAUDE_SYSTEM,
	CLAUDE_PROGRESS,     /* … and one that once did, and is skipped */
	CLAUDE_LAST_PROMPT,  /* metadata from here on */
	CLAUDE_CUSTOM_TITLE,
	CLAUDE_AI_TITLE,
	CLAUDE_TITLE,        /* `summary`: the old title of a leaf */
	CLAUDE_TAG,
	CLAUDE_RELOCATED,
	CLAUDE_CONTINUED_IN,
	CLAUDE_REPLACEMENT,  /* content-replacement */
	CLAUDE_NOTE          /* known, but without effect for a reader */
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
	CLAUDE_LEAF_NULL = 1 << 11,      /* leafUuid is present and null */
	CLAUDE_QUEUED = 1 << 12,         /* an attachment: a prompt typed while the agent was
	                                    working */
	CLAUDE_QUEUED_META = 1 << 13,    /* … but not by a person */
	CLAUDE_COMMAND = 1 << 14,        /* a system record: a local command or its output */
	CLAUDE_INTERRUPTED = 1 << 15     /* a user record without results in which the program
	                                    notes that it was interrupted */
};

/* What a line says. Texts point into the line or into the given arena. */
struct grove__claude_row {
	enum grove__claude_class class;
	enum grove__parent parent_is;
	unsigned flags;                  /* enum grove__claude_flags */
	int64_t time;                    /* ms, or GROVE_NO_TIME */
	struct grove_slice uuid;         /* empty if none */
	struct grove_slice parent;       /* if PARENT_NAMED */
	struct grove_slice logical;      /* logicalParentUuid; empty if none */
	struct grove_slice reply;        /* message.id, or source_uuid of a queued prompt; empty
	                                    if none */
	struct grove_slice agent;        /* agentId; empty if none */
	struct grove_slice source;       /* sourceToolAssistantUUID; empty if none */
	struct grove_slice leaf;         /* leafUuid of a last-prompt; empty if none */
	/* raw values; ptr is NULL if absent */
	struct grove_slice content;      /* of the message */
	uint64_t message_off, message_len; /* of the message, relative to the first byte of the
	                                      value */
	struct grove_slice tool;         /* id of its first call or, in an answer, its first
	                                    result */
	unsigned nr_tools;               /* how many there are */
	struct grove_slice compact;      /* compactMetadata of a boundary */
	struct grove_slice removed;      /* what a snip removes */
};

/* Reads a line that was scanned for grove__claude_members. Never fails. */
void grove__claude_row(const struct grove__json_line *l, const char *line,
		       struct grove__arena *tmp, struct grove__claude_row *out);

/*
 * The same, but only what a list needs: class, uuid, time, reply, content, the flags that
 * are members, and whether it is a prompt typed while the agent was working.
 */
void grove__claude_row_brief(const struct grove__json_line *l, const char *line,
			     struct grove__arena *tmp, struct grove__claude_row *out);

/* Returns true for records that form chains. */
static inline bool grove__claude_is_chain(enum grove__claude_class c)
{
	return c >= CLAUDE_USER && c <= CLAUDE_SYSTEM;
}

/*
 * Returns the prompt in an attachment (raw) if it was typed while the agent was working;
 * otherwise ptr is NULL.
 */
struct grove_slice grove__claude_queued(struct grove_slice attachment);

/* Returns true for records that are messages. */
static inline bool grove__claude_is_message(enum grove__claude_class c)
{
	return c == CLAUDE_USER || c == CLAUDE_ASSISTANT;
}

/*
 * Walks over the blocks of a message's content. `fn` gets the raw type, and the raw id (of
 * a tool_use) or tool_use_id (of a tool_result), empty if absent. A content that is a
 * string has no blocks. Stops when fn returns non-zero, and returns that.
 */
typedef int grove__claude_block_fn(void *payload, struct grove_slice type, struct grove_slice id,
				   struct grove_slice block);
int grove__claude_blocks(struct grove_slice content, grove__claude_block_fn *fn, void *payload);

/* --- claude_rows.c: all lines --- */

/*
 * Ids are interned: a name is a number, and the record under it is looked up when needed.
 * So a parent may come later in the file than its child, and the last of several lines with
 * the same uuid counts, without a second pass.
 */
#define CLAUDE_NONE UINT32_MAX

/* 48 bytes per line; the text of an id is stored once, however many lines name it. */
struct grove__claude_packed {
	int64_t time;
	uint32_t id, parent, logical;    /* names; the parent of a last-prompt is its leaf */
	uint32_t reply;                  /* name of message.id, or of a queued prompt's
	                                    source_uuid */
	uint32_t tools;                  /* index of its first tool id in the pool */
	uint32_t flags;
	uint32_t message_off, message_len; /* within its line; 0 if absent or too far */
	uint16_t nr_tools;
	uint8_t class;
	uint8_t parent_is;
};

struct grove__claude_name {
	uint64_t text;                   /* offset from the base; preceded by its length (4 bytes) */
	uint32_t row;                    /* the last record with this uuid, or CLAUDE_NONE */
	uint32_t first;                  /* the first one, which has its position in JavaScript's
	                                    map */
};

/*
 * What a boundary keeps or a snip removes: names in the pool. There are few such lines, and
 * their lists are short, so they are stored during the scan and a chain never has to read
 * the file again.
 */
struct grove__claude_kept {
	uint32_t row;
	uint32_t anchor, head, tail;     /* of preservedMessages, or else of preservedSegment */
	uint32_t first, nr;              /* preservedMessages.uuids, or what is removed */
	bool messages, segment;          /* the member is present */
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
	uint32_t last_id, last_reply;    /* names: the most likely next parent */
	/*
	 * The bytes they were thawed from (claude_ice.c): arrays stay there until they
	 * outgrow it.
	 */
	const char *ice;
	size_t ice_len;
	const char *base;                /* texts are relative to this */
};

/* The struct must not move after this call. */
void grove__claude_rows_init(struct grove__claude_rows *r, uint64_t seed);
void grove__claude_rows_release(struct grove__claude_rows *r);
/* Prefetches for a row that will be added soon. */
void grove__claude_rows_hint(const struct grove__claude_rows *r, const struct grove__claude_row *row);
/*
 * Adds a line. Rows are numbered consecutively, including metadata. `row` is not referred
 * to afterwards. `id` is its uuid if that stays valid as long as the rows, with its length
 * in the 4 bytes before it, or NULL: then the uuid is copied. Returns 0, GROVE_ENOMEM (the
 * row was not added), or GROVE_ETOOBIG after 2^32 - 1 rows or names.
 */
int grove__claude_rows_add(struct grove__claude_rows *r, const struct grove__claude_row *row, const char *id);
/* Returns the last row with a uuid, or CLAUDE_NONE. */
uint32_t grove__claude_rows_find(const struct grove__claude_rows *r, struct grove_slice uuid);
/* Returns the uuid of a row, or an empty slice; valid as long as the rows. */
struct grove_slice grove__claude_rows_uuid(const struct grove__claude_rows *r, uint32_t row);
/* The text of a name. */
struct grove_slice grove__claude_name(const struct grove__claude_rows *r, uint32_t name);

/* --- claude_ice.c: rows as one piece of bytes --- */

/*
 * Writes rows from `at` on, which is a multiple of GROVE__ICE_PAGE; *end is after the last
 * byte. Returns GROVE_ENOMEM, or the result of `fn`.
 */
int grove__claude_freeze(const struct grove__claude_rows *r, uint64_t at, uint64_t *end,
			 grove__ice_fn *fn, void *payload);
/*
 * Restores rows on top of the same bytes, which must stay valid as long as the rows and
 * will be written to. `r` is initialized and empty. The caller must make sure that they are
 * the bytes that were written; returns 1 if they cannot be.
 */
int grove__claude_thaw(struct grove__claude_rows *r, char *bytes, size_t len, uint64_t at);

/* --- claude_chain.c: the conversation --- */

enum grove__claude_mode {
	CLAUDE_MODE_CLI,      /* what the program resumes with */
	CLAUDE_MODE_SDK,      /* what its SDK shows */
	CLAUDE_MODE_AGENT     /* a sub-agent's own file */
};

/* Why a row is part of the conversation, or is not. */
enum grove__claude_reason {
	CLAUDE_NOT_ASKED,     /* metadata */
	CLAUDE_SENT,
	CLAUDE_SENT_KEPT,     /* before the boundary, but kept by it */
	CLAUDE_SENT_RECOVERED,/* not on the chain, but part of a reply that is */
	CLAUDE_SENT_BRIDGED,  /* its parent is missing, so it continues from an earlier record */
	CLAUDE_SILENT,        /* on the chain, but not a message */
	CLAUDE_HIDDEN,        /* on the chain, but not shown in this mode */
	CLAUDE_REPLACED,      /* a later line has the same uuid */
	CLAUDE_PASSED,        /* a progress record */
	CLAUDE_SNIPPED,
	CLAUDE_DROPPED,       /* before the boundary, which keeps others */
	CLAUDE_BEHIND,        /* above the boundary at which the chain begins */
	CLAUDE_SIDE,          /* of a sub-agent */
	CLAUDE_OFF_CHAIN,     /* another branch */
	CLAUDE_REASONS
};
/* Describes a reason for people. */
const char *grove__claude_reason_text(enum grove__claude_reason reason);

struct grove__claude_options {
	struct grove_slice leaf;  /* the record to end with; ptr NULL to use the rules; empty for
	                             none, a root */
	bool apply_snips;         /* leave out what a snip removes */
	bool full_history;        /* continue above a boundary, through its logical parent */
	bool prompts;             /* include prompts typed while the agent was working; always so
	                             in mode sdk */
	bool answered;            /* of these, only those the SDK shows in a sub-agent's file */
	bool llm;                 /* also include everything else that is sent: the output of
	                             local commands */
};

struct grove__claude_conversation {
	uint32_t *rows;           /* in the order in which they are sent */
	size_t nr, cap;
	uint32_t leaf;            /* the last record, the parent of the next one */
	uint8_t *reasons;         /* enum grove__claude_reason for each row */
	size_t nr_reasons;
	bool recorded;            /* a last-prompt says where the conversation ends: at `named` … */
	uint32_t named;           /* … or before the first record, if CLAUDE_NONE */
};

void grove__claude_conversation_release(struct grove__claude_conversation *c);
/*
 * `out` is zeroed or was filled before, and is replaced. `leaf` is CLAUDE_NONE for an empty
 * conversation. Returns 0, GROVE_ENOTFOUND if the requested leaf is not a record of a
 * chain, or GROVE_ENOMEM.
 */
int grove__claude_chain(const struct grove__claude_rows *r, enum grove__claude_mode mode,
			const struct grove__claude_options *opt,
			struct grove__claude_conversation *out);

/*
 * Checks whether a conversation can be made to end at this row. Returns 0; 1 if the rules
 * would choose another row whatever is written, with the reason in *why; or GROVE_ENOMEM.
 */
int grove__claude_may_end(const struct grove__claude_rows *r, enum grove__claude_mode mode,
			  uint32_t row, const char **why);

/* --- claude_llm.c --- */

/* What a message itself does not say. */
enum grove__claude_mark {
	CLAUDE_MARK_ERROR = 1 << 0,     /* a reply with isApiErrorMessage */
	CLAUDE_MARK_QUEUED = 1 << 1,    /* a prompt typed while the agent was working */
	CLAUDE_MARK_COMMAND = 1 << 2    /* a local command, or its output */
};

/*
 * Reports the messages of a conversation as the program would send them: leaves out what it
 * leaves out, adds what it adds, in the order that it uses. `marks` (may be NULL) has an
 * enum grove__claude_mark for each. `fn` gets each message, in its original bytes if
 * unchanged, and the index of the message it came from (SIZE_MAX if it was added).
 *
 * Returns 0, GROVE_ENOMEM, or the result of fn.
 */
int grove__claude_llm(const struct grove_slice *messages, const uint8_t *marks, size_t nr, int64_t now,
		      int (*fn)(void *payload, size_t from, struct grove_slice json),
		      void *payload);

/* --- claude_list.c --- */

/*
 * A session as a list shows it, filled in line by line. Messages are distinguished by a
 * hash of their id, which takes 16 bytes per message, whatever its size.
 */
struct grove__claude_summary {
	uint64_t messages;               /* on all branches; the lines of a reply count once */
	struct grove_buf first;          /* the first real prompt, shortened for a list */
	bool has_first;
	struct grove_buf command;        /* a slash command, used if there is no other prompt */
	bool has_command;
	struct grove_buf custom_title, ai_title;   /* the last of each; empty if none */
	struct grove_buf cwd, relocated;
	bool has_cwd, has_relocated;
	struct grove_buf continued_in;   /* the session in which it was continued, if no turn
	                                    followed */
	struct grove_buf forked_from;    /* the session it was forked from; empty if none */
	int64_t created;                 /* the first time in the log, or GROVE_NO_TIME */
	int64_t newest;                  /* of the messages that count, or GROVE_NO_TIME */
	bool any, side;                  /* a line was seen; the first belongs to a sub-agent */
	uint64_t seed, *seen;            /* hashes of ids, an open table */
	size_t nr_seen, cap_seen;
};
void grove__claude_summary_init(struct grove__claude_summary *s, uint64_t seed);
void grove__claude_summary_release(struct grove__claude_summary *s);
/* Adds a line. GROVE_ENOMEM. */
int grove__claude_summary_add(struct grove__claude_summary *s, const struct grove__json_line *l,
			      const char *line, const struct grove__claude_row *row,
			      struct grove__arena *tmp);
/* The name and the first message for a list; empty if there is none. */
struct grove_slice grove__claude_summary_name(const struct grove__claude_summary *s);
struct grove_slice grove__claude_summary_first(const struct grove__claude_summary *s);
struct grove_slice grove__claude_summary_cwd(const struct grove__claude_summary *s);
/* Gets the title from a custom-title.json next to the session. Returns 1 if there is none. */
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
/* These names contain no time, so it is always GROVE_NO_TIME. */
bool grove__claude_parse_file_name(struct grove_slice name, int64_t *time,
				   struct grove_slice *id);
size_t grove__claude_entry_id(const uint8_t random[16], bool again, char out[40]);
int grove__claude_clean_name(struct grove_slice name, struct grove_buf *out);

/* The files in the directory of a session, <project>/<session id>/. */
enum grove__claude_sidecar {
	CLAUDE_SIDE_OTHER,        /* kept, but not one of ours */
	CLAUDE_SIDE_AGENT,        /* subagents/…/agent-<id>.jsonl */
	CLAUDE_SIDE_AGENT_META,   /* subagents/…/agent-<id>.meta.json */
	CLAUDE_SIDE_JOURNAL,      /* subagents/workflows/<run>/journal.jsonl */
	CLAUDE_SIDE_RESULT,       /* tool-results/<id>.txt */
	CLAUDE_SIDE_TITLE,        /* custom-title.json */
	CLAUDE_SIDE_ARCHIVED,     /* archived.json */
	CLAUDE_SIDE_REMOTE        /* remote-agents/… */
};
/*
 * Classifies the file at `path`, relative to that directory. *id gets the id of the agent
 * or the result, *group the directories between subagents/ and the file; both are empty if
 * there are none.
 */
enum grove__claude_sidecar grove__claude_sidecar(struct grove_slice path, struct grove_slice *id,
						 struct grove_slice *group);
/* <config>/file-history/<session id>. */
int grove__claude_file_history(const struct grove__env *env, const char *session,
			       struct grove_buf *out);

#endif
