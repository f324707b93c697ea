/*
 * mcp.h: what the parts of grove mcp share.
 *
 *	main.c       the program, its options
 *	serve.c      two threads: one reads, one answers
 *	wire.c       lines; message.c: JSON-RPC; answer.c: requests and their results
 *	tools.c      the table of tools and their arguments; tool_*.c: the tools
 *	resources.c  sessions as resources
 *	install.c    how to configure agents
 *
 * Everything in a reply about sessions was written by others: people, models, tools that
 * read the web. It is sent as strings of a JSON document whose first member says so, and
 * nothing in these strings is invisible (see put_recorded()).
 */
#ifndef MCP_MCP_H
#define MCP_MCP_H

#include "kit/doc.h"

#include <stdatomic.h>

struct cli;
struct wire;
struct indexer;

/*
 * The maximum size of an answer in bytes: by default, and what a client may ask for. Even
 * the smallest has room for one item of any kind, with texts of the longest that it shows.
 */
#define ANSWER_BYTES 20000u
#define ANSWER_BYTES_MIN 4000u
#define ANSWER_BYTES_MAX 1000000u

/* What a reply has besides the document. */
#define ENVELOPE_BYTES 400u

/* The maximum size of an id, whose beginning finds an entry as well, and of a path. */
enum { ID_TEXT = 200, PATH_TEXT = 500 };

struct mcp {
	struct cli *c;
	struct grove *g;
	struct wire *wire;
	char version[32];             /* agreed on by initialize; "" if that was not called */
	atomic_int cancelled;         /* the current request was cancelled */
	/* kept between calls; see session_get() */
	struct grove_session *session;
	struct grove_buf session_key;
	struct grove_buf session_word; /* what it was opened by */
	struct grove_search *search;
	struct indexer *indexer;
};

/* A call of a tool, or of anything else that makes a document. */
struct call {
	struct mcp *m;
	const struct tool *tool;
	struct value *values;         /* its arguments, in the order of the table */
	struct doc d;                 /* the document */
	size_t max;                   /* its maximum size, as sent_size() */
	size_t counted, sent;         /* see call_size() */
	int shared;                   /* list_page(): other sessions in the list have this one's id */
	struct running *running;      /* list_sessions: which are open in some process */
	char why[700];                /* the error, for the model */
};

/* ---------------------------------------------------------------- documents */

/* Sets the error; returns `code`. */
int call_fail(struct call *k, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* The same with the library's message. */
int call_fail_grove(struct call *k, int code);

/* Begins the document: an object, and the notice that what follows is data. */
void put_notice(struct doc *d);
/*
 * Returns the size of JSON as it is sent: a document is one string of the reply, where quotes
 * and backslashes take two bytes.
 */
size_t sent_size(struct grove_slice json);
/* The same of the call's document, which must only have grown since the last call. */
size_t call_size(struct call *k);

/*
 * Writes recorded text as a string in which control and invisible characters are spelled
 * out. The string has at most `max` bytes as sent_size(); 0 for any number. Returns 1 if it
 * was cut.
 */
int put_recorded(struct doc *d, struct grove_slice text, size_t max);
/* The same, and of what is read of it at most `most` bytes. */
int put_recorded_text(struct doc *d, struct grove_slice text, size_t most, size_t max);
/* The same as put_recorded() for a member; nothing if there is no text. */
void put_recorded_member(struct doc *d, const char *name, const char *text, size_t max);
/* Adds a separately made JSON object as the next item, if it fits. Returns 0 if it does not. */
int put_item(struct call *k, struct doc *item, size_t nr);

/* Writes "grove://session/ID" as a member. */
void put_uri(struct doc *d, struct grove_slice id);

/*
 * Opens the session named by the argument `session`, and takes a current view. It stays
 * open, so that the next page need not read it again. Of several with the same id, that is
 * the one that the cursor belongs to, or that has the entry asked for, or the one modified
 * last. Sets the error if it fails.
 */
int session_get(struct call *k, const char *what, struct grove_session **s, struct grove_view **v);
void session_forget(struct mcp *m);
/*
 * Several stores may have a session with the same id. Returns true if all in the list have
 * the same one.
 */
int same_ids(const struct grove_list *l);
/* Appends what names just this session: its path, or its id and store. */
void add_session_key(struct doc *d, const struct grove_list_item *i);
/* Finds the entry that `what` names; NULL means `otherwise`. Sets the error if it fails. */
int entry_get(struct call *k, struct grove_view *v, const char *what, uint32_t otherwise, uint32_t *out);

/* ------------------------------------------------------------------ cursors */

/*
 * A cursor is a letter and up to four numbers. It contains the position of the next page,
 * so nothing is remembered between calls.
 */
void put_cursor(struct doc *d, const char *name, char letter, const uint64_t *numbers, size_t nr);
/* Sets the error if it fails. */
int cursor_read(struct call *k, const char *cursor, char letter, uint64_t *numbers, size_t nr);
/*
 * Positions in a session are the numbers of its entries, which mean others in another
 * session, and after it was rewritten. This number tells whether these entries are still
 * the same.
 */
uint64_t cursor_stamp(const struct grove_session *s, const struct grove_view *v, const uint32_t *entries, size_t nr);
/* Sets the error that it is not. */
int cursor_expired(struct call *k);

/* -------------------------------------------------------------------- tools */

enum value_kind {
	VALUE_TEXT,
	VALUE_NUMBER,
	VALUE_FLAG,
	VALUE_CHOICE
};

struct arg {
	const char *name;             /* NULL ends the table */
	enum value_kind kind;
	int required;
	uint64_t least, most;         /* of a number */
	const char *choices;          /* "a|b|c" */
	const char *about;            /* a description for the model */
};

struct value {
	int given;
	char *text;                   /* a text, or the choice */
	uint64_t number;              /* a number, a flag, or the index of the choice */
};

struct tool {
	const char *name, *title, *about;
	const struct arg *args;
	int (*run)(struct call *k);   /* returns 0 or a negative grove_error, set by call_fail() */
};

/* The value of one of the tool's arguments, or its default. */
const char *arg_text(const struct call *k, const char *name);  /* NULL if not given */
uint64_t arg_number(const struct call *k, const char *name, uint64_t otherwise);
/* Reads `cwd` (NULL: not an argument) and `agent`. Sets the error if they cannot match anything. */
int arg_scope(struct call *k, const char **cwd, const char **agent);
/* Reads the period from `since` and `until`. Sets the error if it fails. */
int arg_period(struct call *k, struct grove_period *out);

extern const struct tool *const tools[];   /* ends with NULL */
extern const struct tool tool_search_sessions, tool_list_sessions, tool_get_overview, tool_get_messages,
	tool_get_tree, tool_get_context, tool_get_usage;

/* Arguments that several tools have. */
#define ARG_CURSOR { "cursor", VALUE_TEXT, .about = "nextCursor of the previous page, to get the next one." }
#define ARG_BYTES { "maxBytes", VALUE_NUMBER, .least = ANSWER_BYTES_MIN, .most = ANSWER_BYTES_MAX, \
	.about = "The maximum number of bytes in the answer. Default: 20000." }
#define ARG_SESSION { "session", VALUE_TEXT, .required = 1, \
	.about = "The id of the session, or its key if it has one. A prefix of the id (4 characters or more), its path, or last " \
	"(the latest of this directory) will do." }

/* The member "tools": [...], and the result of a call. Returns 0, or a message_error with `why`. */
void tools_list(struct doc *d);
int tools_call(struct mcp *m, struct grove_slice params, struct doc *d, char *why, size_t size);

/* ------------------------------------------------- what several tools share */

/* The members of a session in a list. */
void put_session_members(struct doc *d, const struct grove_list_item *i, size_t text);
/* Calls `fn` for a page of the wanted sessions, newest first. Sets the error if it fails. */
int list_page(struct call *k, const struct grove_list_options *o, const char *cursor, size_t limit,
	      int (*put)(struct call *k, const struct grove_list_item *i, size_t nr));
/* A page of a conversation, from its first message or from the cursor; see tool_messages.c. */
int messages_from_start(struct call *k, const char *session, const char *cursor);

/* ---------------------------------------------------------------- resources */

/* Each writes the members of its result. Returns 0, or a message_error with `why`. */
int resources_list(struct mcp *m, struct grove_slice params, struct doc *d, char *why, size_t size);
int resources_templates(struct mcp *m, struct grove_slice params, struct doc *d, char *why, size_t size);
int resources_read(struct mcp *m, struct grove_slice params, struct doc *d, char *why, size_t size);

/* ----------------------------------------------------------------- the rest */

/* Answers one message; appends nothing to `out` if no reply is needed. */
void answer_message(struct mcp *m, struct grove_slice json, struct grove_buf *out);
/* Writes an error, with the id as received, if any. */
void answer_error(struct doc *d, struct grove_slice id, int code, const char *why);

/* Reads and answers until the input ends. Returns an exit status. */
int serve(struct mcp *m);

/* Prints how to configure an agent. Returns an exit status. */
int install_print(struct cli *c, const char *agent);

#endif
