/*
 * grove.h: the session store for coding agents.
 *
 * Coding agents keep each conversation as a log of JSON lines that form a
 * tree: entries with an id and a parent, a leaf, branches, compactions,
 * labels. grove reads and writes those logs as the agents themselves do,
 * rebuilds the tree, and computes the context a model would be sent.
 *
 *	struct grove *g;
 *	struct grove_session *s;
 *	struct grove_view *v;
 *	struct grove_buf json = GROVE_BUF_INIT;
 *
 *	if (grove_open(&g, NULL))
 *		…
 *	if (!grove_session_open(g, "last", GROVE_READ, &s) &&
 *	    !grove_session_view(s, &v)) {
 *		grove_view_context(v, NULL, grove_buf_sink(&json));
 *		puts(json.ptr);
 *		grove_view_unref(v);
 *	}
 *	grove_buf_release(&json);
 *	grove_session_close(s);
 *	grove_close(g);
 *
 * Errors. Functions return 0 or a negative enum grove_error. The story is kept
 * in the handle: grove_error_detail(), grove_session_error(). Constructors
 * yield a handle even when they fail (out of memory aside), so that there is
 * somewhere to ask; every close and free accepts NULL.
 *
 * Threads. Handles are independent of each other. One thread at a time per
 * handle, with two exceptions: grove_session_append*() may be called by many
 * threads on one session, and a view may be read by any number of threads.
 *
 * Processes. After fork() a session in a file may be written by the parent and by
 * the child; a lease stays the parent's. A database that was open is the parent's
 * alone: in the child every call that needs it returns GROVE_EINVAL, closing it
 * does nothing to the parent, and an SQLite file that was open then cannot be
 * opened again before exec(). As with threads, no call may be under way in
 * another thread when the process forks.
 *
 * Callbacks (edits, paths, artifacts, filters, sinks, hits, progress, warnings)
 * run in the middle of the call that they were given to. They may use other
 * handles and any view, and ask their own handle for its error and its names
 * (id, path, dir, cwd, dialect). Every other call on the session or search that
 * is calling them answers GROVE_EINVAL, does nothing and says so in the detail;
 * grove_session_leaf() answers NULL. They must not close that handle.
 *
 * A handle that a failed open left behind can be asked for its error and closed;
 * every other call on it answers GROVE_EINVAL, or NULL.
 *
 * Memory. What comes as a const pointer belongs to the handle or view that
 * gave it, and lives as long as that. What you must release comes in a struct
 * grove_buf. Text is UTF-8.
 *
 * Sizes. A struct that you allocate, for options or for a result, begins with its
 * size: set that to sizeof and the rest to zero. A call reads and writes so many
 * bytes of it and no more, so that a program keeps working with a later library,
 * whose structs have more members. A size of 0 is GROVE_EINVAL. Structs that grove
 * hands out by pointer have none; they grow at their end, so do not copy them into
 * arrays or structs of your own. NULL options are a struct of zeros.
 */
#ifndef GROVE_H
#define GROVE_H

#include <grove/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define GROVE_API __attribute__((visibility("default")))
#else
#define GROVE_API
#endif

#define GROVE_VERSION "0.1.0"

GROVE_API const char *grove_version(void);
/* A few words for an error code: "not found". */
GROVE_API const char *grove_strerror(int code);
/* The code as scripts see it in JSON: "NOTFOUND". */
GROVE_API const char *grove_error_name(int code);

/* ------------------------------------------------------------------ buffers */

GROVE_API void grove_buf_release(struct grove_buf *b);
/* A sink that appends to `b`. */
GROVE_API struct grove_sink grove_buf_sink(struct grove_buf *b);
/* Append text as a JSON string literal, as JSON.stringify would write it. */
GROVE_API int grove_buf_json_string(struct grove_buf *b, struct grove_slice text);
/*
 * Append text or JSON as UTF-8: what is not becomes U+FFFD. Lines are stored as
 * they came, so this is for whoever hands one on to a strict reader.
 */
GROVE_API int grove_buf_utf8(struct grove_buf *b, struct grove_slice text);
/* Append a time as ISO-8601 UTC with milliseconds: 2026-05-03T09:00:00.000Z. */
GROVE_API int grove_buf_time(struct grove_buf *b, int64_t ms);

/* ---------------------------------------------------------------- the words */

/* How durable an append is before it returns. */
enum grove_sync {
	GROVE_SYNC_NONE,   /* given to the system: survives our crash, not the machine's */
	GROVE_SYNC_FLUSH,  /* the same, and writing to the disk has begun */
	GROVE_SYNC_ALWAYS  /* on the disk; threads that append at once share one sync */
};

/* What an entry is, in any dialect. */
enum grove_kind {
	GROVE_KIND_OTHER,           /* a type that we do not know: kept, a tree node */
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
	GROVE_KIND_CONTEXT_CHANGE,  /* of the place it works in: name, tenant, namespace */
	GROVE_KIND_MODE,
	GROVE_KIND_INIT,            /* what a sub-agent was started with */
	GROVE_KIND_RULES,           /* rules that were injected into the conversation */
	GROVE_KIND_TOOLS,           /* a selection of tools */
	GROVE_KIND_RESET,           /* the context begins anew behind it */
	GROVE_KIND_CREDENTIAL,      /* which account answers */
	/* Claude Code */
	GROVE_KIND_SYSTEM,          /* a note of the program: a boundary, a hook, a command */
	GROVE_KIND_ATTACHMENT,
	GROVE_KIND_PROGRESS,
	GROVE_KIND_META,            /* says something about the session: no node of the tree */
	/* work handed to sub-agents, in sessions of hosts */
	GROVE_KIND_SUBAGENT_BATCH,  /* it begins */
	GROVE_KIND_SUBAGENT_RESULT  /* it ends */
};

/* Who speaks, where the kind is a message. */
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
	/* summaries that stand as messages */
	GROVE_ROLE_BRANCH_SUMMARY,
	GROVE_ROLE_COMPACTION_SUMMARY
};

GROVE_API const char *grove_kind_name(enum grove_kind kind);
GROVE_API const char *grove_role_name(enum grove_role role);

/* No entry, no parent. */
#define GROVE_NONE UINT32_MAX
/* Where an entry's id is expected: the place before the first entry. */
#define GROVE_ROOT "root"
/* A time that was missing or not a date. */
#define GROVE_NO_TIME INT64_MIN
/* Do not compare the seq. */
#define GROVE_ANY_SEQ UINT64_MAX

/* -------------------------------------------------------------- environment */

/*
 * The world as grove sees it: where home is, which stores there are. Nothing
 * here is global; two handles may see two worlds.
 */
struct grove;

struct grove_options {
	size_t size;
	const char *cwd;             /* NULL: the process's */
	const char *home;            /* NULL: $HOME */
	/* Variables (PI_CODING_AGENT_DIR, GROVE_STORE, …). NULL: the process's. */
	const char *(*getenv)(void *payload, const char *name);
	void *getenv_payload;
	const char *const *stores;   /* URLs or directories; NULL: $GROVE_STORE, else discovery */
	size_t nr_stores;
	const char *dialect;         /* NULL: told by place and bytes */
	/* Every call that reaches a store, one line each. NULL: none. */
	void (*trace)(void *payload, const char *line);
	void *trace_payload;
	/*
	 * For a log of what goes wrong: a blob that a line refers to is missing, or
	 * a directory cannot be read, and the work goes on; or (`fatal`) a session could not be written, the
	 * call that tried fails, and so will all later ones: told once. From the
	 * thread that works. NULL: nobody is told.
	 */
	void (*warn)(void *payload, int fatal, const struct grove_detail *why);
	void *warn_payload;
	/*
	 * The directory for what can be made again at any time. NULL: grove below
	 * $XDG_CACHE_HOME or ~/.cache; "": nothing is kept.
	 */
	const char *cache;
};

/* `opt` may be NULL. GROVE_EINVAL for a store or dialect that is not known. */
GROVE_API int grove_open(struct grove **out, const struct grove_options *opt);
GROVE_API void grove_close(struct grove *g);
/* The story of the last error of `g`; code 0 if there was none. */
GROVE_API void grove_error_detail(struct grove *g, struct grove_detail *out);

/*
 * Long work tells how far it is: `done` of `total` (0: not known). A non-zero
 * answer cancels it: the call returns GROVE_ECANCELLED and nothing changed.
 */
struct grove_progress {
	int (*fn)(void *payload, uint64_t done, uint64_t total);
	void *payload;
};

/*
 * Who is told while a session is opened, forked or moved, and while sessions
 * are listed. Called from the thread that called us. NULL members: nobody.
 */
GROVE_API void grove_set_progress(struct grove *g, struct grove_progress progress);

/* ------------------------------------------------------------------ listing */

/* Nobody counted. */
#define GROVE_NO_COUNT UINT64_MAX

/* A session as a list shows it. For pi the values of pi's own listing. */
struct grove_info {
	const char *path;
	const char *id;
	const char *dialect;         /* "pi" */
	const char *agent;           /* "pi", "openclaw": who keeps its sessions there */
	const char *store;           /* URL, without password */
	const char *cwd;             /* "" if unknown */
	const char *name;            /* NULL: none */
	const char *parent_session;  /* NULL: none */
	const char *first_message;   /* "(no messages)" */
	int64_t created;             /* ms, or GROVE_NO_TIME */
	int64_t modified;
	uint64_t message_count;      /* or GROVE_NO_COUNT */
	uint64_t size;               /* bytes */
	int64_t file_time;           /* ms; the file's own */
	int64_t file_time_ns;
	size_t first_message_len;    /* it may hold U+0000 */
	/* ms: when its agent deletes it; 0: a list that was not asked for that */
	int64_t expires;
	double score;                /* how well it fits the query: the lower, the better */
	unsigned depth;              /* below how many others it stands in a list of threads */
	/* What the tree tells, in a list that was asked for it, where it could be read. */
	int has_shape;
	const char *leaf;            /* the id of that entry; NULL: none */
	uint64_t entries;
	uint64_t branches;           /* entries with more than one child */
	uint64_t compactions;
	uint64_t malformed;          /* lines that are no JSON */
	int torn;                    /* the last one is not finished */
};

enum grove_sort {
	GROVE_SORT_MODIFIED,  /* newest first; the others too: largest or newest first */
	GROVE_SORT_CREATED,
	GROVE_SORT_SIZE,
	GROVE_SORT_MESSAGES,
	GROVE_SORT_NAME,      /* A to Z, nameless last */
	GROVE_SORT_RELEVANCE  /* what fits the query best first */
};

struct grove_list_options {
	size_t size;
	const char *cwd;          /* only sessions of this directory; NULL: `all` decides */
	int all;                  /* every session, not only those of grove's own cwd */
	int named;                /* only those with a name */
	/*
	 * In pi's language: words and "phrases" that must all occur in id, name,
	 * cwd or what was said (of a word it is enough if name or cwd has its
	 * letters in that order), or re: and a regular expression. GROVE_EINVAL if
	 * that is none, GROVE_ENOTSUP if this build has none, GROVE_ETOOBIG if it
	 * takes too long. NULL: all.
	 */
	const char *query;
	enum grove_sort sort;
	size_t limit;             /* 0: no limit */
	/* Told of each session file that could not be read; the list goes on. */
	void (*skipped)(void *payload, const struct grove_detail *why);
	void *skipped_payload;
	/*
	 * Only sessions that their agent will delete by itself (Claude Code), the
	 * soonest first whatever `sort` says; those that it deletes within so
	 * many ms from now, negative: all of them.
	 */
	int expiring;
	int64_t within;
	int shape;                /* what the trees of the sessions tell, too; costs loading them once */
	/*
	 * Each session behind the one it came from, `depth` says how far below;
	 * by the latest of all that came from them, the newest first. With a query
	 * there are no threads, and `sort` 0 means GROVE_SORT_RELEVANCE.
	 */
	int threads;
};

struct grove_list;
GROVE_API int grove_list(struct grove *g, const struct grove_list_options *opt,
			 struct grove_list **out);
GROVE_API size_t grove_list_count(const struct grove_list *l);
GROVE_API const struct grove_info *grove_list_at(const struct grove_list *l, size_t i);
GROVE_API void grove_list_free(struct grove_list *l);

enum grove_info_flags {
	GROVE_INFO_COUNT = 1  /* count its messages, whatever that takes */
};

/*
 * One session, as a list shows it; also one that lists leave out. `what` is as
 * for grove_find(), and so are the errors; GROVE_EDAMAGED for what is no session.
 * *out is a list of one.
 *
 * With GROVE_INFO_COUNT all of it is as in a list, and costs the same: reading
 * the whole session, unless it is as it was when a list or this call read it.
 * Without, what is kept of it counts if there is such; else only its ends are
 * read: 64 KiB of the end, and so much of the beginning or more, up to 1 MiB,
 * until the first message is found. Then message_count is GROVE_NO_COUNT (a
 * session of less than 256 KiB is always counted), and what was written far from both
 * ends is not seen: a name, or a first message. `modified` is the time of the
 * newest message that was read.
 */
GROVE_API int grove_info(struct grove *g, const char *what, unsigned flags,
			 struct grove_list **out);
/* Append one session as `ls --json` shows it. Messages that were not counted are left out. */
GROVE_API int grove_info_json(const struct grove_info *info, struct grove_buf *out);

/*
 * The sessions that `what` may mean: a path, an id, a prefix of an id (4
 * characters or more), or "last". Exactly one: 0 and its path in `out`. None:
 * GROVE_ENOTFOUND. Several: GROVE_EAMBIGUOUS, the detail lists them.
 */
GROVE_API int grove_find(struct grove *g, const char *what, struct grove_buf *out);

/* -------------------------------------------------------------------- usage */

/*
 * Tokens and cost of all sessions, those of sub-agents included. A reply counts
 * once, however many lines, forks, copies or logs of sub-agents repeat it; then
 * its largest counts hold, and it belongs to the log that has its earliest line
 * (of several the first by path).
 *
 * Where the agent noted no cost, it is estimated by the list price of the model;
 * a model that is not in the list of prices has none.
 */
enum grove_usage_by {
	GROVE_USAGE_DAY,      /* of the reply, in UTC: "2026-05-03" */
	GROVE_USAGE_MODEL,
	GROVE_USAGE_SESSION,  /* its id; sub-agents count for the session that called them */
	GROVE_USAGE_PROJECT,  /* its working directory */
	GROVE_USAGE_AGENT     /* "pi", "claude", "openclaw": as in struct grove_info */
};

struct grove_usage_options {
	size_t size;
	enum grove_usage_by by;
	/* Told of each session file that could not be read; the work goes on. */
	void (*skipped)(void *payload, const struct grove_detail *why);
	void *skipped_payload;
	/* Only replies of these days and those between, in UTC, "2026-05-03"; NULL: no limit. */
	const char *since, *until;
	/*
	 * A file of prices, see grove-usage(1), which come before those that grove
	 * has. NULL: $GROVE_PRICES, or prices.json beside grove's configuration.
	 */
	const char *prices;
};

struct grove_usage_row {
	const char *key;          /* "" where it is not known; NULL in totals */
	uint64_t input, output, cache_read, cache_write;
	uint64_t total;           /* of these four */
	double cost;              /* US dollars, of the replies that have one … */
	int has_cost;             /* … if any has */
	double estimated;         /* how much of it no agent noted: it is by list prices */
	uint64_t unpriced;        /* replies that have no cost */
};

/* A model with replies that have no cost: none was noted, and its price is not known. */
struct grove_usage_unpriced {
	const char *model;        /* "": not told */
	uint64_t replies, total;
};

struct grove_usage;
/*
 * `opt` may be NULL: by day. GROVE_EINVAL if a day or a list of prices is not one,
 * GROVE_ENOTFOUND if that list is not there.
 */
GROVE_API int grove_usage(struct grove *g, const struct grove_usage_options *opt,
			  struct grove_usage **out);
GROVE_API const struct grove_usage_row *grove_usage_totals(const struct grove_usage *u);
GROVE_API size_t grove_usage_count(const struct grove_usage *u);
/* Days in their order, everything else by `total`, the largest first. */
GROVE_API const struct grove_usage_row *grove_usage_at(const struct grove_usage *u, size_t i);
/* The one that used most first; NULL behind the last. */
GROVE_API const struct grove_usage_unpriced *grove_usage_unpriced_at(const struct grove_usage *u,
								     size_t i);
GROVE_API void grove_usage_free(struct grove_usage *u);
/* Append it as `usage --json` shows it. */
GROVE_API int grove_usage_json(const struct grove_usage *u, struct grove_buf *out);

/* ------------------------------------------------------------------- search */

/*
 * Text in all sessions, those of sub-agents included: what was said and summed
 * up, which tools were called with what, what they answered.
 *
 * An index is kept in the cache directory. It is brought up to date by open and
 * refresh; what another process is just adding to it, and everything where there
 * can be none, is looked through instead. What is handed out is what the logs say
 * at that moment.
 *
 * A handle is for one thread at a time.
 */
struct grove_search;

enum grove_search_flags {
	/*
	 * No index: look through all logs, for parts of words as well; a query
	 * `re:PATTERN` is a regular expression (as Perl has them).
	 */
	GROVE_SEARCH_LIVE = 1
};

GROVE_API int grove_search_open(struct grove *g, unsigned flags, struct grove_search **out);
/* Take in what happened since. */
GROVE_API int grove_search_refresh(struct grove_search *s);
GROVE_API void grove_search_error(struct grove_search *s, struct grove_detail *out);
GROVE_API void grove_search_close(struct grove_search *s);

/* Where it stands; bits. */
enum grove_search_in {
	GROVE_SEARCH_TEXT = 1,       /* messages, and summaries of them */
	GROVE_SEARCH_CALLS = 2,      /* names and arguments of tools, commands */
	GROVE_SEARCH_RESULTS = 4     /* what these answered */
};

struct grove_search_options {
	size_t size;
	unsigned in;                 /* 0: all */
	const char *role;            /* "user", "assistant", "tool", …; "call"; NULL: any */
	const char *cwd;             /* only sessions of this directory, and of those below it */
	const char *agent;           /* as in struct grove_info */
	int64_t since, until;        /* ms; `until` is not included; 0: any */
	size_t limit;                /* 0: 20; never more than 10,000 */
};

struct grove_search_mark {
	size_t from, to;             /* bytes */
};

struct grove_search_hit {
	const char *session_id;
	const char *path;            /* "" where there is none, in a database */
	const char *entry_id;        /* NULL: it has none */
	const char *cwd;             /* "" if unknown */
	const char *agent;
	const char *store;           /* URL, without password */
	enum grove_kind kind;
	enum grove_role role;
	unsigned in;                 /* one of enum grove_search_in */
	int64_t time;                /* ms, or GROVE_NO_TIME */
	/*
	 * What was found, with a few words around it, on one line; and where in
	 * there, in order.
	 */
	struct grove_slice snippet;
	const struct grove_search_mark *marks;
	size_t nr_marks;
	double score;                /* the higher the better; does not depend on other texts */
	int on_active_path;          /* it is part of the conversation that ends at the leaf … */
	int in_context;              /* … and the model still sees it: it was not compacted away */
};
/* What it is given lives until it returns. A non-zero answer ends the list and is handed back. */
typedef int grove_search_fn(void *payload, const struct grove_search_hit *hit);

/*
 * The texts that have all words of `query`, the best first: words, "words side by
 * side", beginnings*, -words that must not occur. In scripts without spaces every
 * part of a text is found. Of very frequent words, the best among the newest few
 * hundred. `opt` may be NULL. GROVE_EINVAL: the query says nothing, or its pattern
 * is none.
 */
GROVE_API int grove_search_run(struct grove_search *s, const char *query,
			       const struct grove_search_options *opt, grove_search_fn *fn,
			       void *payload);
/* Append a hit as `search --json` shows it, what was found between ** and **. */
GROVE_API int grove_search_hit_json(const struct grove_search_hit *hit, struct grove_buf *out);

/* ----------------------------------------------------------------- sessions */

struct grove_session;

enum grove_open_flags {
	GROVE_READ = 0,   /* writes nothing, whatever state the log is in */
	GROVE_WRITE = 1,  /* an old version is migrated at once, atomically */
	/*
	 * When another writer has appended since we looked: answer
	 * GROVE_ECONFLICT instead of going on below its last entry.
	 */
	GROVE_TELL = 2,
	/* Rewrites happen even while another process has the file open, or works on the session. */
	GROVE_FORCE = 4,
	/* With GROVE_WRITE: a file with nothing in it becomes a session, with a header. */
	GROVE_BEGIN = 8,
	/*
	 * With GROVE_WRITE, for agents: note the session as the last one of this
	 * terminal, where its agent does so (xcsh, oh-my-pi); "last" follows it.
	 */
	GROVE_CRUMB = 16,
	/*
	 * With GROVE_READ: a log without a header (Claude), or in a database, is
	 * not read before something asks for it. Until then the session has no cwd.
	 */
	GROVE_LAZY = 32
};

/*
 * Open a session by path, id, prefix of an id, or "last": the first one that
 * grove_list() has for grove's directory, or, where the agent notes it, the
 * one that this terminal had last. GROVE_ENOTFOUND,
 * GROVE_EAMBIGUOUS, GROVE_EDAMAGED (no usable header: nothing is touched).
 */
GROVE_API int grove_session_open(struct grove *g, const char *what, unsigned flags,
				 struct grove_session **out);

enum grove_new_flags {
	/*
	 * A live handle, as an agent keeps it, defers the file until the first
	 * user or assistant message (appends before that are acknowledged with
	 * an id, and grove_session_pending() says so). With this flag the header
	 * is written at once.
	 */
	GROVE_NEW_NOW = 1,
	GROVE_NEW_MEMORY = 2,  /* never a file: the session lives in this handle */
	GROVE_NEW_CRUMB = 4    /* as GROVE_CRUMB */
};

struct grove_new_options {
	size_t size;
	unsigned flags;
	const char *dialect;         /* NULL: "pi" */
	const char *cwd;             /* NULL: grove's */
	const char *id;              /* NULL: a new one; GROVE_EINVAL if it cannot be an id */
	const char *dir;             /* keep the file right in this directory; NULL: the agent's place */
	const char *path;            /* exactly this file; id and time from its name if they are there */
	const char *name;            /* NULL: none */
	const char *parent_session;  /* NULL: none */
};
/*
 * If another begins a session of the same name before this one is written, the
 * first append goes below what the other wrote. A name that is taken already is
 * GROVE_EEXIST, here or when the session is written.
 */
GROVE_API int grove_session_new(struct grove *g, const struct grove_new_options *opt,
				struct grove_session **out);

/*
 * The session of `cwd` (NULL: grove's) that its agent would continue, or a new
 * one. It is one of those that grove_list() has for `cwd`: the one that this
 * terminal had last, where the agent notes that (xcsh, oh-my-pi), else the one
 * whose log was written to last. ("last" follows the order of the list, which
 * for pi goes by the times of messages.) With `dir`, sessions are looked for in
 * that directory alone.
 */
GROVE_API int grove_session_recent(struct grove *g, const char *cwd, const char *dir,
				   struct grove_session **out);

GROVE_API void grove_session_close(struct grove_session *s);
GROVE_API void grove_session_error(struct grove_session *s, struct grove_detail *out);

GROVE_API const char *grove_session_id(const struct grove_session *s);
GROVE_API const char *grove_session_path(const struct grove_session *s); /* NULL in memory */
GROVE_API const char *grove_session_dir(const struct grove_session *s);  /* NULL in memory */
GROVE_API const char *grove_session_cwd(const struct grove_session *s);
GROVE_API const char *grove_session_dialect(const struct grove_session *s);
GROVE_API const char *grove_session_agent(const struct grove_session *s);
/* The format version the log had when it was opened. */
GROVE_API unsigned grove_session_version(const struct grove_session *s);
/* Lines that opening for writing changed to bring the log up to date. */
GROVE_API uint64_t grove_session_migrated(const struct grove_session *s);
/* Entries that this handle holds and no file does yet. */
GROVE_API size_t grove_session_pending(const struct grove_session *s);
/* Write a session whose file was deferred, now. */
GROVE_API int grove_session_ensure(struct grove_session *s);
/* Take in what others appended. 1 if there was something, 0 if not. */
GROVE_API int grove_session_refresh(struct grove_session *s);
/* Wait until everything appended so far is on the disk. */
GROVE_API int grove_session_sync(struct grove_session *s);

/* ------------------------------------------------------------------- append */

struct grove_append_options {
	size_t size;
	const char *parent;      /* NULL: the leaf; GROVE_ROOT: none; else an entry's id */
	/*
	 * The number of lines the log must have, header included; else
	 * GROVE_ECONFLICT and nothing is written. GROVE_ANY_SEQ, or 0 as in a
	 * zeroed struct: do not compare.
	 */
	uint64_t expect_seq;
	enum grove_sync sync;
};

/*
 * Append one entry below `opt->parent` and make it the leaf. `json` is
 * {"type":…, the type's own members} or a bare message {"role":…}; it is
 * stored in the dialect's own order and JSON.stringify's spelling. An id given
 * in it is kept: if the session has that entry already with the same content
 * the call succeeds and writes nothing, with other content it is
 * GROVE_ECONFLICT. *id (may be NULL) is valid until the session closes; NULL
 * for a line that has no id.
 *
 * Returns 0; GROVE_EJSON (the detail has the offset), GROVE_EINVAL (not an
 * entry), GROVE_ENOTFOUND (no such parent or target), GROVE_ECONFLICT: nothing
 * was written. GROVE_EFULL: nothing of it is in the log. After GROVE_EIO the
 * tail is unknown: the handle refuses to write until it is reopened.
 */
GROVE_API int grove_session_append(struct grove_session *s, struct grove_slice json,
				   const struct grove_append_options *opt, const char **id);
/* Several, each below the one before it, in one write: all of them or none. */
GROVE_API int grove_session_append_many(struct grove_session *s, const struct grove_slice *json,
					size_t nr, const struct grove_append_options *opt,
					const char **ids);

/* The kinds, spelled out. Text is UTF-8; arguments that end in _json are JSON, NULL: absent. */
GROVE_API int grove_session_append_message(struct grove_session *s, const char *message_json,
					   const char **id);
GROVE_API int grove_session_append_thinking_level(struct grove_session *s, const char *level,
						  const char **id);
GROVE_API int grove_session_append_model(struct grove_session *s, const char *provider,
					 const char *model, const char **id);
/*
 * The same for one of the roles that xcsh and oh-my-pi give to models ("smol",
 * "plan"; NULL: "default"). Other agents have one model, whatever the role.
 */
GROVE_API int grove_session_append_model_role(struct grove_session *s, const char *provider,
					      const char *model, const char *role, const char **id);
struct grove_compaction {
	size_t size;
	const char *summary;
	const char *first_kept;     /* NULL: keep nothing */
	uint64_t tokens_before;
	const char *details_json;
	const char *usage_json;
	int from_hook;              /* 0: absent */
	const char *short_summary;  /* xcsh, oh-my-pi: serves as the session's name, if it has none */
	const char *preserve_json;  /* xcsh, oh-my-pi: what extensions keep across it */
};
/* What the agent's compactions have no member for is left out. */
GROVE_API int grove_session_append_compaction(struct grove_session *s,
					      const struct grove_compaction *c, const char **id);
GROVE_API int grove_session_append_custom(struct grove_session *s, const char *type,
					  const char *data_json, const char **id);
GROVE_API int grove_session_append_custom_message(struct grove_session *s, const char *type,
						  const char *content_json, int display,
						  const char *details_json, const char **id);
GROVE_API int grove_session_append_usage(struct grove_session *s, const char *kind,
					 const char *provider, const char *model,
					 const char *usage_json, const char *note, const char **id);
/* `replacement_json`: {"content":…}; NULL: the target is dropped from the context. */
GROVE_API int grove_session_append_context_edit(struct grove_session *s, const char *target,
						const char *replacement_json, const char **id);
/* Label an entry; NULL or "" clears. GROVE_ENOTFOUND if there is no such entry. */
GROVE_API int grove_session_label(struct grove_session *s, const char *target, const char *label,
				  const char **id);
/*
 * Name the session. The name is trimmed; GROVE_EINVAL if nothing is left. Where
 * the header holds the name (xcsh) the log is written anew, and *id is NULL.
 */
GROVE_API int grove_session_rename(struct grove_session *s, const char *name, const char **id);
/*
 * The same, told who chose it: "user" or "auto". Where the agent keeps that, an
 * automatic name does not replace one that the user chose: *applied (may be
 * NULL) is 0 then, and nothing is written.
 */
GROVE_API int grove_session_set_name(struct grove_session *s, const char *name, const char *source,
				     int *applied);

/*
 * Hosts that keep the conversation themselves (Claude Code) hand over their
 * whole list of messages again and again; what is stored already is passed
 * over. GROVE_ENOTSUP for other agents.
 */
struct grove_record_options {
	size_t size;
	/*
	 * The entry to begin below, if the host knows it. NULL: the last message
	 * of the list that is stored and has none but stored ones before it. (One
	 * that a compaction kept comes after new ones, and is nobody's parent.)
	 */
	const char *parent;
	int side;                    /* a side chain, a sub-agent's */
	const char *agent_id;        /* NULL: none */
	const char *team_name, *agent_name;
	const char *entrypoint;      /* NULL: "grove" */
	/* What of a message is logged: 0 and it is in `out`; 1: all of it; negative: an error. */
	int (*filter)(void *payload, struct grove_slice json, struct grove_buf *out);
	void *filter_payload;
	enum grove_sync sync;
};
/*
 * Store the messages that are new, each below the right one: a tool's result
 * below the call, a compaction boundary below nothing, others below the one
 * before. Progress is never stored. *last is the id that the next message goes
 * below (NULL: none yet). Everything or nothing. Lines about the session that
 * lists look for near its end are written once more when they come to lie too
 * far from it.
 */
GROVE_API int grove_session_record(struct grove_session *s, const struct grove_slice *messages,
				   size_t nr, const struct grove_record_options *opt,
				   const char **last);
/*
 * The same for these lines alone, say when a conversation ends; *written may be
 * NULL. They are looked for in the last 8 MiB.
 */
GROVE_API int grove_session_restate(struct grove_session *s, size_t *written);

/* ------------------------------------------------------------------- change */

/* An entry of a log: in a view, or while it is rewritten. */
struct grove_entry;

/*
 * What becomes of an entry: 0 and its new JSON in `out`; 1: it stays as it is;
 * a negative error ends the work, and nothing is changed.
 */
typedef int grove_edit_fn(void *payload, const struct grove_entry *e, struct grove_slice json,
			  struct grove_buf *out);
/*
 * Let `fn` look at every entry and write the log anew, atomically: the entries
 * that it changed, every other line as it was. An entry keeps its type, its id
 * and its parent (GROVE_EINVAL). GROVE_ECONFLICT if another program has the log
 * open for writing, unless the session was opened with GROVE_FORCE. *changed
 * (may be NULL) counts.
 */
GROVE_API int grove_session_rewrite_entries(struct grove_session *s, grove_edit_fn *fn,
					    void *payload, uint64_t *changed);
/*
 * Put another value into one place of one entry, say the arguments of a tool
 * call. `pointer` is a JSON pointer: "/message/content/0/arguments".
 * GROVE_ENOTFOUND if there is no such entry, or nothing at that place.
 */
GROVE_API int grove_session_update(struct grove_session *s, const char *id, const char *pointer,
				   const char *value_json);

/*
 * Take one entry out of the log. The last line is cut off; for any other the
 * log is written anew, and the entries that hung below it hang below its parent
 * then: *relinked (may be NULL) counts them. GROVE_ENOTFOUND; GROVE_ECONFLICT
 * as above.
 */
GROVE_API int grove_session_forget(struct grove_session *s, const char *id, uint64_t *relinked);

/* ---------------------------------------------------------------- artifacts */

/*
 * What tools printed, kept in files beside the session: DIR/ID.TOOL.log, where
 * DIR is the session's path without .jsonl. They move, fork and go with it.
 * GROVE_ENOTSUP for agents that have no such thing.
 */
/* Keep bytes; *id is the next free number. `path` (may be NULL) gets the file's. */
GROVE_API int grove_session_artifact_save(struct grove_session *s, const char *tool,
					  struct grove_slice bytes, uint64_t *id,
					  struct grove_buf *path);
/* The same with nothing in it yet: a file for the caller to write to. */
GROVE_API int grove_session_artifact_new(struct grove_session *s, const char *tool, uint64_t *id,
					 struct grove_buf *path);
/* Where one is, or its bytes. GROVE_ENOTFOUND. */
GROVE_API int grove_session_artifact_path(struct grove_session *s, uint64_t id,
					  struct grove_buf *path);
GROVE_API int grove_session_artifact_get(struct grove_session *s, uint64_t id,
					 struct grove_buf *bytes);
/* A non-zero answer ends the list and is handed back. */
typedef int grove_artifact_fn(void *payload, uint64_t id, const char *name, uint64_t size);
GROVE_API int grove_session_artifact_list(struct grove_session *s, grove_artifact_fn *fn,
					  void *payload);

/* --------------------------------------------------------------------- leaf */

/* The entry the next append goes below; NULL before the first one. */
GROVE_API const char *grove_session_leaf(struct grove_session *s);

enum grove_leaf_flags {
	/*
	 * Logs have no place for the leaf: readers take the last line. With this
	 * flag a line is appended that makes every reader, the agent included,
	 * land there; without, the move lives in this handle.
	 */
	GROVE_LEAF_PERSIST = 1,
	/* Only to an entry of the conversation at hand: else GROVE_ENOTFOUND. */
	GROVE_LEAF_HERE = 2
};
/*
 * Move the leaf to an entry, or to GROVE_ROOT. Nothing is written if it is there already.
 * Claude Code finds the leaf by rules, which cannot end everywhere: at an entry of a
 * sub-agent, at one without a message at or above it, or at one above a compaction that
 * keeps other messages. For those GROVE_ENOTSUP; the detail says why, and nothing is written.
 */
GROVE_API int grove_session_set_leaf(struct grove_session *s, const char *id, unsigned flags);

struct grove_branch_summary {
	size_t size;
	const char *summary;
	const char *details_json;
	const char *usage_json;
	int from_hook;
};
/* Move the leaf to `id` (or GROVE_ROOT) and append a summary of the branch left behind. */
GROVE_API int grove_session_branch(struct grove_session *s, const char *id,
				   const struct grove_branch_summary *b, const char **summary_id);

enum grove_outcome {
	GROVE_OUTCOME_APPEND,  /* it is the leaf: go on */
	GROVE_OUTCOME_SWITCH,  /* the leaf was moved there */
	GROVE_OUTCOME_REPLAY   /* a prompt: the leaf is its parent, its content is handed back */
};
/*
 * Continue from an entry. For GROVE_OUTCOME_REPLAY `content` gets the JSON of
 * the prompt's content, to be edited and sent again.
 */
GROVE_API int grove_session_continue(struct grove_session *s, const char *id, unsigned flags,
				     enum grove_outcome *outcome, struct grove_buf *content);

/* ---------------------------------------------------------- whole sessions */

struct grove_fork_options {
	size_t size;
	const char *leaf;      /* only the path to this entry; NULL: the whole tree */
	const char *cwd;       /* put it in this directory's own place; NULL: beside the source */
	const char *dir;       /* put it right in this directory */
	const char *id;        /* NULL: a new one */
	enum grove_sync sync;
	unsigned flags;        /* enum grove_fork_flags */
};
enum grove_fork_flags {
	/*
	 * Claude: the conversation alone, in its order, its records with the ids
	 * they have, as `claude --fork-session` does. Without, as its SDK does:
	 * all branches, fresh ids.
	 */
	GROVE_FORK_SAME_IDS = 1,
	GROVE_FORK_MEMORY = 2  /* never a file: the new session lives in its handle */
};
/*
 * A new session from this one; the source is not touched. Entries keep their
 * ids and, wherever nothing in them changes, their bytes. *out is open for
 * writing. The fork of a session in memory (GROVE_NEW_MEMORY) stays in memory,
 * unless `dir` says where to put it.
 */
GROVE_API int grove_session_fork(struct grove_session *s, const struct grove_fork_options *opt,
				 struct grove_session **out);

/* Give the session another working directory: its file moves to that directory's place. */
GROVE_API int grove_session_move(struct grove_session *s, const char *cwd);

enum grove_remove_flags {
	GROVE_REMOVE_NO_TRASH = 1  /* do not even try the desktop's trash */
};
/* Delete a session: into the trash where the `trash` program is there. */
GROVE_API int grove_remove(struct grove *g, const char *what, unsigned flags);

/* --------------------------------------------------------------------- view */

/*
 * A session at one moment: immutable, reference-counted, for any number of
 * threads. Entries are numbered 0 … count-1 in append order; a number is good
 * for one view and all later ones of the same session until it is rewritten.
 */
struct grove_view;

GROVE_API int grove_session_view(struct grove_session *s, struct grove_view **out);
GROVE_API struct grove_view *grove_view_ref(struct grove_view *v);
GROVE_API void grove_view_unref(struct grove_view *v);

enum grove_entry_flags {
	GROVE_ENTRY_ORPHAN = 1,      /* its parent is not in the log: shown as a root */
	GROVE_ENTRY_CYCLE = 2,       /* its parents ran in a circle, broken here */
	GROVE_ENTRY_SUPERSEDED = 4,  /* a later line has the same id: in the log, not in the tree */
	GROVE_ENTRY_NO_ID = 8,
	GROVE_ENTRY_LEAF_MARK = 16   /* written by grove to persist a leaf; stands for its parent */
};

struct grove_entry {
	size_t size;
	uint32_t index;
	uint32_t parent;        /* index, or GROVE_NONE */
	const char *id;         /* NULL: none */
	const char *label;      /* NULL: none */
	int64_t time;           /* ms, or GROVE_NO_TIME */
	int64_t label_time;
	enum grove_kind kind;
	enum grove_role role;
	unsigned flags;         /* enum grove_entry_flags */
	uint64_t line;          /* its line in the log, from 0 (the seq) */
	uint64_t bytes;         /* of that line */
};

/* Counts of what was read. */
struct grove_counts {
	size_t size;
	uint64_t lines;         /* physical lines: the next seq */
	uint64_t bytes;
	uint64_t entries;       /* header lines left out */
	uint64_t malformed;     /* lines that are no JSON: skipped, kept */
	uint64_t blank;         /* empty ones, and JSON values that are nothing (null, 0, "") */
	uint64_t orphans, cycles, duplicates;
	int torn;               /* the last line has no line end and is no JSON */
	uint64_t first_malformed_line;   /* from 0 */
	uint64_t first_malformed_offset;
};

/* GROVE_EINVAL if `out` has no size. */
GROVE_API int grove_view_counts(const struct grove_view *v, struct grove_counts *out);
GROVE_API uint32_t grove_view_count(const struct grove_view *v);
/* GROVE_ENOTFOUND past the last entry, GROVE_EINVAL if `out` has no size. */
GROVE_API int grove_view_entry(const struct grove_view *v, uint32_t i, struct grove_entry *out);
/* The entry of that id, or GROVE_NONE. */
GROVE_API uint32_t grove_view_find(const struct grove_view *v, const char *id);
/* The leaf at that moment, or GROVE_NONE: leaf marks are looked through. */
GROVE_API uint32_t grove_view_leaf(const struct grove_view *v);
/* The rev of the session at that moment: what grove_watch_open() goes on from. */
GROVE_API uint64_t grove_view_rev(const struct grove_view *v);
/* The session's name, or NULL. */
GROVE_API const char *grove_view_name(const struct grove_view *v);
/* The header line as JSON. */
GROVE_API int grove_view_header(struct grove_view *v, struct grove_buf *out);

/* The way from the root to entry `to`, root first; GROVE_NONE: empty. Free with free(). */
GROVE_API int grove_view_path(const struct grove_view *v, uint32_t to, uint32_t **out, size_t *nr);
/*
 * The conversation that ends at `to`, in the order it is told. Mostly the same
 * as the path; Claude's rules bring in what parallel tool calls left beside it
 * and what was typed while the agent worked, and leave out what lies above a
 * compaction, unless `flags` has GROVE_CONTEXT_FULL. Free with free().
 */
GROVE_API int grove_view_conversation(struct grove_view *v, uint32_t to, unsigned flags,
				      uint32_t **out, size_t *nr);
/*
 * The children of `of` (GROVE_NONE: the roots) in append order, or, as the
 * agents draw them, by time. Free with free().
 */
GROVE_API int grove_view_children(const struct grove_view *v, uint32_t of, int by_time,
				  uint32_t **out, size_t *nr);

enum grove_line_flags {
	/*
	 * References to blobs become what they stand for, as in a context. One
	 * whose blob cannot be read stays, and `warn` is told.
	 */
	GROVE_LINE_BLOBS = 1
};
/*
 * The bytes of an entry's line, without its line end: as stored, or as the
 * migration to today's version leaves them. GROVE_ESTALE if the log changed
 * under us: refresh the session and take a new view.
 */
GROVE_API int grove_view_line(struct grove_view *v, uint32_t i, unsigned flags,
			      struct grove_buf *out);

/* What a person would want to read of an entry. */
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
	int hidden;               /* the agent keeps it from people: data, or `display` is false */
};
/*
 * A non-zero answer ends the walk and is handed back. An entry whose line is
 * too long to be held in memory (over 1 GiB) is told as a note that says so.
 */
typedef int grove_piece_fn(void *payload, const struct grove_piece *piece);
GROVE_API int grove_view_pieces(struct grove_view *v, uint32_t i, grove_piece_fn *fn, void *payload);

struct grove_context_options {
	size_t size;
	const char *leaf;   /* NULL: the view's; GROVE_ROOT: none; else an id (GROVE_ENOTFOUND) */
	int llm;            /* as plain messages for a model */
	int explain;        /* add why each entry is, or is not, part of it */
	const char *mode;   /* Claude: "cli" or "sdk"; NULL: the default */
	unsigned flags;     /* enum grove_context_flags */
};
enum grove_context_flags {
	GROVE_CONTEXT_SNIPS = 1, /* Claude: leave out what was snipped */
	GROVE_CONTEXT_FULL = 2   /* Claude: go on above a compaction */
};
/* What the model would be sent, as `context --json` prints it. */
GROVE_API int grove_view_context(struct grove_view *v, const struct grove_context_options *opt,
				 struct grove_sink sink);

/*
 * The same of a session, as it is now. If the session was opened with
 * GROVE_LAZY, only as much of the log is read as the answer needs: of a Claude
 * transcript that was compacted, mostly what lies behind the last boundary.
 */
GROVE_API int grove_session_context(struct grove_session *s,
				    const struct grove_context_options *opt,
				    struct grove_sink sink);

/* All entries as one JSON array, in append order, as `log --json` prints it; enum grove_line_flags. */
GROVE_API int grove_view_log(struct grove_view *v, unsigned flags, struct grove_sink sink);
/* The log's own bytes. */
GROVE_API int grove_view_raw(struct grove_view *v, struct grove_sink sink);

enum grove_snapshot_entries {
	GROVE_SNAPSHOT_ALL,
	GROVE_SNAPSHOT_PATH,     /* of the active path */
	GROVE_SNAPSHOT_NONE
};
enum grove_snapshot_flags {
	GROVE_SNAPSHOT_BLOBS = 1 /* in entries, too, references to blobs become what they stand for */
};
struct grove_snapshot_options {
	size_t size;
	enum grove_snapshot_entries entries;
	uint64_t after;          /* leave out entries of the first so many lines: the seq of an earlier snapshot */
	uint64_t limit;          /* at most so many entries; 0: all */
	/*
	 * Texts of more bytes become {"$ref": the entry's id, "bytes": n}; 0: none
	 * do. Texts of less than 128 bytes never do.
	 */
	uint64_t max_body;
	int project;             /* results of sub-agents carry their projection in metadata */
	unsigned flags;          /* enum grove_snapshot_flags */
};
/*
 * What a user interface loads on refresh, in one document: {session, entries,
 * activePath, childrenByParentId, labelsByEntryId, runtimeContext, subagents}.
 * `opt` may be NULL. With a window (`after`, `limit`) sub-agents are told of for
 * the entries in it.
 */
GROVE_API int grove_view_snapshot(struct grove_view *v, const struct grove_snapshot_options *opt,
				  struct grove_sink sink);

enum grove_tree_flags {
	GROVE_TREE_FLAT = 1,     /* {entry, parentId, depth, label?}, one after the other */
	GROVE_TREE_BLOBS = 2     /* as GROVE_LINE_BLOBS */
};
/* The tree as JSON: nested {entry, children, label?}, or flat. */
GROVE_API int grove_view_tree(struct grove_view *v, unsigned flags, struct grove_sink sink);

/* The story of the last error of this view (of any thread). */
GROVE_API void grove_view_error(struct grove_view *v, struct grove_detail *out);

/* -------------------------------------------------------------------- check */

struct grove_problem {
	const char *path;
	uint64_t line;           /* from 1 */
	uint64_t offset;
	const char *kind;        /* docs/cli/grove-check: documented and stable */
	const char *entry_id;    /* NULL: none */
	const char *detail;
	int fixable;
};
struct grove_check_result {
	size_t size;
	uint64_t files, entries, problems;
};
/* A non-zero answer ends the check and is handed back. */
typedef int grove_problem_fn(void *payload, const struct grove_problem *p);
/*
 * Look for damage; changes nothing. `what` as in grove_session_open(); NULL: all
 * sessions here. `result` may be NULL.
 */
GROVE_API int grove_check(struct grove *g, const char *what, grove_problem_fn *fn, void *payload,
			  struct grove_check_result *result);

/*
 * Mending. What is damaged is changed where it has to be, every other line keeps
 * its bytes. What is taken out is kept beside the session: in a file
 * SESSION.jsonl.cut-TIME, or where there are no files as an attachment cut-TIME
 * (docs/internals/check.md says how it is written).
 */
struct grove_fix_change {
	const char *path;
	uint64_t line, new_line; /* before and after, from 1 */
	const char *kind;        /* of the problem that it mends */
	const char *entry_id;    /* of the entry it is about, afterwards; NULL: none */
	const char *detail;
	struct grove_slice old_text;
	struct grove_slice new_text; /* lines, with LF between them; ptr NULL: nothing is left */
};
enum grove_fix_flags {
	GROVE_FIX_DRY_RUN = 1,   /* show, and change nothing */
	GROVE_FIX_FORCE = 2      /* even while another program works on it */
};
struct grove_fix_options {
	size_t size;
	unsigned flags;
	/* Each change that is proposed; NULL: not told. A non-zero answer ends it all and is handed back. */
	int (*change)(void *payload, const struct grove_fix_change *c);
	/* All of a session's are told: 0 to make them, 1 to leave the session alone. NULL: they are made. */
	int (*confirm)(void *payload, const char *path, uint64_t changes);
	/* They are made; `cut` is what holds what was taken out, NULL: nothing was. */
	int (*done)(void *payload, const char *path, const char *cut);
	void *payload;
};
struct grove_fix_result {
	size_t size;
	uint64_t files, mended;  /* sessions looked at, and written */
	uint64_t changes;        /* lines that were changed, or would be */
};
/*
 * Mend what grove_check() calls fixable. `what` as there; with NULL one session
 * that cannot be mended does not keep the others from it: the first error is
 * handed back at last. A session is written in one piece or not at all.
 * GROVE_ECONFLICT if it changed meanwhile, or another program has it open for
 * writing or works on it (GROVE_FIX_FORCE: even so); then, as after every other error but GROVE_EIO, it is as it was.
 * `opt` and `result` may be NULL.
 */
GROVE_API int grove_fix(struct grove *g, const char *what, const struct grove_fix_options *opt,
			struct grove_fix_result *result);

/* -------------------------------------------------------------------- blobs */

/*
 * Bytes that are kept apart from the lines that need them, images mostly: xcsh
 * and oh-my-pi do so, other agents' sessions may. A blob is a file named by the
 * SHA-256 of its bytes; a line refers to it as `blob:sha256:` and 64 lower-case
 * hex digits. It appears whole, is never changed, and is checked when it is
 * read.
 *
 * A handle of blobs may be used by many threads at once; only its error is one
 * for all. It must be closed before the struct grove it came from.
 */
struct grove_blobs;

/* Room for a reference, or a hash, and its NUL. */
#define GROVE_BLOB_REF_MAX 80

/*
 * `dir` NULL: where xcsh has its blobs (PI_CODING_AGENT_DIR, PI_CONFIG_DIR and
 * XDG_DATA_HOME as xcsh understands them). It is made with the first put.
 */
GROVE_API int grove_blobs_open(struct grove *g, const char *dir, struct grove_blobs **out);
GROVE_API void grove_blobs_close(struct grove_blobs *b);
GROVE_API void grove_blobs_error(struct grove_blobs *b, struct grove_detail *out);
GROVE_API const char *grove_blobs_dir(const struct grove_blobs *b);

enum grove_blob_flags {
	/* A file of the right name and size is the blob: do not compare its bytes. */
	GROVE_BLOB_TRUST = 1,
	/*
	 * With GROVE_SYNC_ALWAYS: the bytes are on the disk, the name only after
	 * grove_blobs_sync(). For many puts at once.
	 */
	GROVE_BLOB_LATER = 2
};

struct grove_blob_options {
	size_t size;
	enum grove_sync sync;
	unsigned flags;      /* enum grove_blob_flags */
};

/*
 * Keep bytes and fill in the reference to them. If the blob is there already
 * nothing is written (*known becomes 1; it may be NULL); a file that has its
 * name but other bytes is replaced. At most 1 GiB.
 *
 * After GROVE_EACCESS, GROVE_EFULL, GROVE_EIO and GROVE_ETOOBIG nothing new has
 * the blob's name; GROVE_EDAMAGED: a directory or a link lies there.
 */
GROVE_API int grove_blobs_put(struct grove_blobs *b, struct grove_slice bytes,
			      const struct grove_blob_options *opt,
			      char ref[GROVE_BLOB_REF_MAX], int *known);
/* Put the names of all blobs put so far on the disk: one sync for all of them. */
GROVE_API int grove_blobs_sync(struct grove_blobs *b);

/*
 * Append the bytes of a blob. `what` is a reference or its 64 digits; anything
 * else is GROVE_EINVAL and nothing is looked at. GROVE_ENOTFOUND;
 * GROVE_EDAMAGED if the bytes are not those that were put.
 */
GROVE_API int grove_blobs_get(struct grove_blobs *b, const char *what, struct grove_buf *out);
/* 1 if a blob of that name is there, 0 if not; its bytes are not looked at. */
GROVE_API int grove_blobs_has(struct grove_blobs *b, const char *what);
/* Append the path of the file that a blob is in, or would be. */
GROVE_API int grove_blobs_path(struct grove_blobs *b, const char *what, struct grove_buf *out);

struct grove_blob_problem {
	const char *hash;
	const char *path;
	const char *kind;    /* "wrong-bytes", "not-a-file", "unreadable" */
	const char *detail;
};
struct grove_blob_verify_result {
	size_t size;
	uint64_t blobs, bytes, problems;
};
/* A non-zero answer ends the work and is handed back. */
typedef int grove_blob_problem_fn(void *payload, const struct grove_blob_problem *p);
/* Read a blob, or all of them (NULL), and tell what is wrong. GROVE_ENOTFOUND for one that is not there. */
GROVE_API int grove_blobs_verify(struct grove_blobs *b, const char *what,
				 grove_blob_problem_fn *fn, void *payload,
				 struct grove_blob_verify_result *result);

enum grove_blob_fate {
	GROVE_BLOB_REFERENCED,  /* a session names it: kept */
	GROVE_BLOB_YOUNG,       /* nobody names it, but it may be about to be named: kept */
	GROVE_BLOB_GARBAGE,     /* nobody names it: it would go */
	GROVE_BLOB_REMOVED      /* nobody names it: it went */
};
struct grove_blob_info {
	const char *hash;       /* NULL: what a put that never ended left behind */
	const char *path;
	uint64_t bytes;         /* 0 for another name of a blob */
	int64_t modified;       /* ms: when it was put, or put again */
	enum grove_blob_fate fate;
};
struct grove_blob_gc_options {
	size_t size;
	int force;              /* remove; 0: only tell */
	/*
	 * Seconds that a blob nobody names is left alone: between the put and
	 * the line that names it there is a moment. 0: an hour; negative: none,
	 * for when no agent is at work.
	 */
	int64_t grace;
};
struct grove_blob_gc_result {
	size_t size;
	uint64_t files, scanned;             /* what was searched for references, and its bytes */
	uint64_t referenced, referenced_bytes;
	uint64_t young, young_bytes;
	uint64_t garbage, garbage_bytes;     /* what would go, or went */
};
typedef int grove_blob_info_fn(void *payload, const struct grove_blob_info *i);
/*
 * Remove blobs that no session names. References are looked for in every file
 * of every store that grove was given or can discover, and beside the blobs in
 * `sessions`; 64 hex digits are one wherever they stand. If anything there
 * cannot be read, nothing is removed and the error is handed back. `fn` (may be
 * NULL) is told of each blob; a non-zero answer ends the work and is handed
 * back.
 */
GROVE_API int grove_blobs_gc(struct grove_blobs *b, const struct grove_blob_gc_options *opt,
			     grove_blob_info_fn *fn, void *payload,
			     struct grove_blob_gc_result *result);

/* Append bytes as base64, padded. */
GROVE_API int grove_buf_base64(struct grove_buf *b, struct grove_slice bytes);

/*
 * Keep bytes where the session's agent keeps its blobs, on the disk when this
 * returns. GROVE_ENOTSUP for agents that have none.
 */
GROVE_API int grove_session_put_blob(struct grove_session *s, struct grove_slice bytes,
				     char ref[GROVE_BLOB_REF_MAX]);

/* --------------------------------------------------------------------- live */

/*
 * What happens to a session, as it happens, whoever does it: this process,
 * another one, another machine over the same database, the agent itself.
 */
enum grove_event_kind {
	GROVE_EVENT_APPEND,   /* a line; an entry, if entry_id is there */
	GROVE_EVENT_UPDATE,   /* an entry was changed; without one, something about the session */
	GROVE_EVENT_LEAF,     /* the leaf is entry_id now, NULL: before the first entry */
	GROVE_EVENT_RENAME,   /* it has another name */
	GROVE_EVENT_RESET,    /* the log was rewritten: load it again */
	GROVE_EVENT_DELETE    /* it is gone; the last event */
};

struct grove_event {
	size_t size;
	uint64_t rev;             /* who has seen this event goes on from here */
	enum grove_event_kind kind;
	const char *session_id;
	const char *entry_id;     /* NULL: none. As the others, good until the next call */
	uint64_t seq;             /* of the line, from 0; GROVE_ANY_SEQ: of none */
};
/* "append", "update", "leaf", "rename", "reset", "delete" */
GROVE_API const char *grove_event_name(enum grove_event_kind kind);
/* Append it as JSON: {"rev":…,"kind":…,"sessionId":…,"entryId":…,"seq":…} */
GROVE_API int grove_event_json(const struct grove_event *e, struct grove_buf *out);

/* From now on. */
#define GROVE_ANY_REV UINT64_MAX

/*
 * Listen to a session (`what` as in grove_session_open()), from the rev on that
 * was seen last: what happened since comes first, and if that cannot be told any
 * more, a reset. One thread at a time per watch, apart from grove_watch_wake().
 */
struct grove_watch;
GROVE_API int grove_watch_open(struct grove *g, const char *what, uint64_t since,
			       struct grove_watch **out);
/*
 * The next event: 0. 1 if there was none within `ms` (negative: wait for ever),
 * or grove_watch_wake() was called. GROVE_ENOTFOUND after a delete.
 */
GROVE_API int grove_watch_next(struct grove_watch *w, int64_t ms, struct grove_event *out);
/* End the waiting, from any thread or signal handler. */
GROVE_API void grove_watch_wake(struct grove_watch *w);
GROVE_API void grove_watch_error(struct grove_watch *w, struct grove_detail *out);
GROVE_API void grove_watch_close(struct grove_watch *w);

/*
 * The right to write to a session, for a while. Each taking has a higher number
 * than all before it; a write under an earlier number is refused. Agents that
 * know nothing of grove are not kept from writing to their files.
 */
#define GROVE_LEASE_OWNER_MAX 127
struct grove_lease {
	size_t size;
	char owner[GROVE_LEASE_OWNER_MAX + 1];  /* "": nobody */
	uint64_t number;                        /* of the last taking; 0: there was none */
	int64_t until;                          /* ms since 1970 */
};
/*
 * Take it for `ms` from now, or hold on to it for that long. *out (may be NULL)
 * is how it stands then. GROVE_ECONFLICT if another owner has it. Once another
 * has taken it over, after its time or under the same name, everything that this
 * handle writes is refused (GROVE_ECONFLICT). Handles without it cannot write
 * while somebody has it.
 */
GROVE_API int grove_session_lease(struct grove_session *s, const char *owner, int64_t ms,
				  struct grove_lease *out);
GROVE_API int grove_session_unlease(struct grove_session *s);
/* Who has it. */
GROVE_API int grove_session_leased(struct grove_session *s, struct grove_lease *out);

/*
 * What a host wants to know of a session later: "agentId" (whose it is) or
 * "metadata" (JSON). It goes where the session goes; in files it lies in the
 * session's directory. GROVE_ENOTSUP while nothing of a new session is stored,
 * and in files whose names do not end in .jsonl; GROVE_ENOTFOUND if it was never
 * put.
 */
GROVE_API int grove_session_put_value(struct grove_session *s, const char *name,
				      struct grove_slice value);
GROVE_API int grove_session_get_value(struct grove_session *s, const char *name,
				      struct grove_buf *out);

/*
 * The entries from a leaf (NULL: the session's own) up to its root, as they are
 * stored, the leaf first. Where the store can, nothing else is read: open the
 * session with GROVE_LAZY. A non-zero answer ends it and is handed back.
 */
struct grove_path_entry {
	const char *id;              /* NULL: none */
	const char *parent;          /* NULL: none, or it is not there */
	enum grove_kind kind;
	enum grove_role role;
	int64_t time;                /* ms, or GROVE_NO_TIME */
	struct grove_slice json;
};
typedef int grove_path_fn(void *payload, const struct grove_path_entry *e);
GROVE_API int grove_session_path_up(struct grove_session *s, const char *leaf, grove_path_fn *fn,
				    void *payload);

/* ------------------------------------------------------------------ archive */

/*
 * Claude Code deletes sessions that have not been written to for a month. An
 * archive is a store that keeps them: the log, line by line, and all that
 * belongs to it, under the same names, so that everything that reads a session
 * reads it there. What is in an archive stays in it: where the source has lost
 * or changed lines, what the archive had is kept beside the new copy, and a
 * source that is gone changes nothing.
 */
enum grove_archive_state {
	GROVE_ARCHIVE_NEW,
	GROVE_ARCHIVE_GROWN,      /* lines or files were added */
	GROVE_ARCHIVE_UNCHANGED,
	GROVE_ARCHIVE_KEPT,       /* the source was rewritten: see `older` */
	GROVE_ARCHIVE_FAILED      /* see `why`; what could be kept was */
};

/* One session that was archived; good until the callback returns. */
struct grove_archived {
	const char *path;         /* where it came from … */
	const char *archive;      /* … and where it is kept */
	const char *session;      /* its name: the file's, in files */
	enum grove_archive_state state;
	uint64_t lines;           /* stored now, those of sub-agents included */
	uint64_t total_lines;     /* of the session's own log in the archive */
	uint64_t files;           /* stored now: attachments and blobs */
	uint64_t missing;         /* blobs that are named and could not be found */
	const char *older;        /* where what was replaced went; NULL: nothing was */
	const struct grove_detail *why;  /* NULL: it went well */
};
/* A non-zero answer ends the work and is handed back. */
typedef int grove_archive_fn(void *payload, const struct grove_archived *a);

struct grove_archive_options {
	size_t size;
	/*
	 * The archive: a URL or directory. NULL: $GROVE_ARCHIVE, else grove/archive
	 * below $XDG_DATA_HOME or ~/.local/share.
	 */
	const char *to;
	/*
	 * With all sessions: only those that their agent will delete within so
	 * many ms, negative: ever.
	 */
	int expiring;
	int64_t within;
	grove_archive_fn *told;   /* NULL: nobody */
	void *payload;
};

struct grove_archive_result {
	size_t size;
	uint64_t sessions;
	uint64_t added, grown, unchanged, kept, failed;  /* of these */
	uint64_t lines, files, missing;
};

/*
 * Bring an archive up to date with one session (`what` as in
 * grove_session_open(); what lies in a session's own directory means that
 * session), or with all of them (NULL). A session that fails is told of and
 * counted, and the others go on: the call returns 0. GROVE_ENOTFOUND and
 * GROVE_EAMBIGUOUS for `what`; GROVE_EINVAL, GROVE_ENOTSUP for the archive.
 * After GROVE_ECANCELLED, or a crash, everything in it is whole, and the next
 * call goes on from there.
 */
GROVE_API int grove_archive(struct grove *g, const char *what,
			    const struct grove_archive_options *opt,
			    struct grove_archive_result *result);

/* ------------------------------------------------------------------- stores */

/*
 * Copy a session (`what` as in grove_session_open()) into another store, under
 * the same key: every line as it is stored, sub-agents' logs, attachments, and
 * the blobs that it names. Its id is added to `id`, its path, if it has one
 * there, to `path`. On the disk when this returns; after a failure there is
 * nothing new. GROVE_EEXIST if the store has that session.
 */
GROVE_API int grove_copy(struct grove *g, const char *what, const char *store,
			 struct grove_buf *id, struct grove_buf *path);

/* Make what a store needs; harmless when it is there. */
GROVE_API int grove_store_init(struct grove *g, const char *store);
/*
 * Are the stores that were named to grove_open(), or by $GROVE_STORE, there to be
 * read? GROVE_ENOTFOUND for a directory that does not exist, or that has files
 * and no session; an empty one is a store. With none named there is nothing to
 * look at. (Lists take what is not there for empty: sessions may yet be made.)
 */
GROVE_API int grove_stores_exist(struct grove *g);
/* Bring its tables up to date; from and to which version (may be NULL), 0: it has none. */
GROVE_API int grove_store_upgrade(struct grove *g, const char *store, unsigned *from, unsigned *to);
/*
 * Read everything in a store and tell what is wrong: the kinds of grove_check(),
 * and "unreadable", "wrong-length", "wrong-checksum", "wrong-bytes". `result`
 * may be NULL.
 */
GROVE_API int grove_store_verify(struct grove *g, const char *store, grove_problem_fn *fn,
				 void *payload, struct grove_check_result *result);
/*
 * Copy all sessions of a store into another one. What is there already is
 * compared and continued; where it differs nothing is changed, and `fn` (may be
 * NULL) is told (GROVE_ECONFLICT). One that fails is counted, and the others go
 * on: the call returns 0. `result` may be NULL. After GROVE_ECANCELLED, or a
 * crash, the next call goes on from there.
 */
GROVE_API int grove_store_copy(struct grove *g, const char *from, const char *to,
			       grove_archive_fn *fn, void *payload,
			       struct grove_archive_result *result);
/* What a store holds, as `store stats --json` prints it. */
GROVE_API int grove_store_stats(struct grove *g, const char *store, struct grove_sink sink);

/* ------------------------------------------------------------------ hydrate */

/* A log that is somewhere else, line by line. */
struct grove_source {
	/*
	 * The next line, without its end: 0, 1 behind the last one, or a negative
	 * error, which ends the work. It is good until the next call.
	 */
	int (*next)(void *payload, struct grove_slice *line);
	/*
	 * Called once, when the local log is the remote one: from here on what is
	 * appended may be sent there. Not called after a failure. NULL: nobody
	 * wants to know. What it answers is handed back.
	 */
	int (*persist)(void *payload);
	void *payload;
};

struct grove_hydrate_options {
	size_t size;
	const char *path;        /* exactly this file, or … */
	const char *id;          /* … the session of this id, … */
	const char *dialect;     /* NULL: "claude" */
	const char *cwd;         /* … of this directory; NULL: grove's */
	unsigned flags;          /* GROVE_FORCE: even while another process has the file open */
};

/*
 * Put a remote log in the place of the local one, atomically; in a file it is
 * nobody else's to read (0600, directories that are made 0700). *lines (may be
 * NULL) counts.
 *
 * On any failure the local log is as it was, and the detail tells why: what the
 * source answered; GROVE_ENOTFOUND if it is empty; GROVE_EJSON if one of its
 * lines is no JSON object; GROVE_ECONFLICT if the local log is being written.
 */
GROVE_API int grove_session_hydrate(struct grove *g, const struct grove_hydrate_options *opt,
				    const struct grove_source *src, uint64_t *lines);

/* --------------------------------------------------------------- sub-agents */

/* A sub-agent of a session; NULL where it is not known. */
struct grove_agent {
	const char *id;
	const char *group;        /* the directories it is grouped in, "workflows/RUN"; "": none */
	const char *type;         /* who resumes it needs an agent of this type */
	const char *description;
	const char *tool_use_id;  /* the call that started it */
	const char *parent_id;    /* the sub-agent that started it */
	const char *worktree;
	const char *path;         /* its transcript: a session of its own, to be opened by this */
	const char *meta;         /* all that is known, as a JSON object */
};
/* A non-zero answer ends the list and is handed back. */
typedef int grove_agent_fn(void *payload, const struct grove_agent *a);

/*
 * By group and id. Transcript and metadata of one id are one agent, also if they
 * lie in different groups; then it is in that of its transcript. GROVE_ENOTSUP for agents that keep nothing about sub-agents (all but Claude Code).
 */
GROVE_API int grove_session_agents(struct grove_session *s, grove_agent_fn *fn, void *payload);
/* What is known about one, a JSON object. GROVE_ENOTFOUND, GROVE_EDAMAGED. */
GROVE_API int grove_session_agent_meta_get(struct grove_session *s, const char *agent_id,
					   struct grove_buf *out);
/* Replace it, atomically; the agent need not have a transcript yet. GROVE_EJSON, GROVE_EINVAL. */
GROVE_API int grove_session_agent_meta_put(struct grove_session *s, const char *agent_id,
					   struct grove_slice json);

/*
 * Where a sub-agent works that has neither a transcript nor metadata yet: both
 * will go into this group ("workflows/RUN"; "" or NULL: none). What exists stays
 * where it is. Known to this handle only. GROVE_EINVAL, GROVE_ENOTSUP.
 */
GROVE_API int grove_session_agent_group(struct grove_session *s, const char *agent_id, const char *group);
/*
 * Append the path of a sub-agent's transcript, which need not exist yet: a
 * session of its own, to be opened or made (grove_new_options.path) there.
 * GROVE_EINVAL; GROVE_ENOTSUP where there are no paths.
 */
GROVE_API int grove_session_agent_path(struct grove_session *s, const char *agent_id,
				       struct grove_buf *out);

/* The same for agents that work elsewhere: there is a record of each, and no transcript. */
typedef int grove_remote_agent_fn(void *payload, const char *id, const char *json);
GROVE_API int grove_session_remote_agents(struct grove_session *s, grove_remote_agent_fn *fn,
					  void *payload);
GROVE_API int grove_session_remote_agent_get(struct grove_session *s, const char *id,
					     struct grove_buf *out);
GROVE_API int grove_session_remote_agent_put(struct grove_session *s, const char *id,
					     struct grove_slice json);

/* ----------------------------------------------------------- prompt history */

/*
 * The prompts that a person typed, as xcsh and oh-my-pi keep them: a database,
 * history.db, of which either layout can be read and added to. It may be open
 * in several programs at once. Without SQLite in this build every call answers
 * GROVE_ENOTSUP.
 *
 * A handle may be used by many threads at once; only its error is one for all.
 */
struct grove_history;

/*
 * `path` NULL: the agent's own file (that of the dialect which grove_open() was
 * told, else xcsh's or oh-my-pi's, whichever is there). A file that is not
 * there is an empty history, and is made with the first prompt. GROVE_EDAMAGED,
 * GROVE_ENOTSUP (a layout that is not known, say of a later release),
 * GROVE_ECONFLICT (locked): the file is left as it is.
 */
GROVE_API int grove_history_open(struct grove *g, const char *path, struct grove_history **out);
/* Writes what is still queued, if it can; flush first to know. */
GROVE_API void grove_history_close(struct grove_history *h);
GROVE_API void grove_history_error(struct grove_history *h, struct grove_detail *out);
GROVE_API const char *grove_history_path(const struct grove_history *h);

/*
 * Add a prompt, trimmed; an empty one, and one equal to the prompt added last,
 * is dropped (where the layout has each prompt once, its time is renewed).
 * `cwd` and `session_id` (which xcsh has no place for) may be NULL. Never waits
 * for the disk or for others: prompts are queued and written together, at the
 * latest after 100 ms. GROVE_ETOOBIG; GROVE_EFULL if too many are queued.
 */
GROVE_API int grove_history_add(struct grove_history *h, struct grove_slice prompt,
				const char *cwd, const char *session_id);
/*
 * Wait until everything added so far is written. When that fails it stays
 * queued: GROVE_ECONFLICT if another program holds the database for longer than
 * five seconds, GROVE_EACCESS, GROVE_EFULL, and what opening may answer.
 */
GROVE_API int grove_history_flush(struct grove_history *h);

struct grove_history_entry {
	int64_t id;
	struct grove_slice prompt;
	const char *cwd;             /* NULL: not known */
	const char *session_id;      /* NULL: not known */
	int64_t created;             /* ms, of whole seconds; GROVE_NO_TIME */
};
/* What it is given lives until it returns. A non-zero answer ends the list and is handed back. */
typedef int grove_history_fn(void *payload, const struct grove_history_entry *e);

/* The newest prompts that were written, newest first; never more than 1,000. */
GROVE_API int grove_history_recent(struct grove_history *h, size_t limit, grove_history_fn *fn,
				   void *payload);

enum grove_history_search_flags {
	/* Also find parts of words, in all prompts, however long that takes. */
	GROVE_HISTORY_PARTS = 1
};
/*
 * The newest prompts that have all words of `query`, newest first. A word may
 * be the beginning of a longer one. If these are fewer than `limit`, prompts
 * among the newest 10,000 in which the words occur anywhere are added: in
 * oh-my-pi's layout, as it does itself; in xcsh's for scripts without spaces.
 */
GROVE_API int grove_history_search(struct grove_history *h, const char *query, size_t limit,
				   unsigned flags, grove_history_fn *fn, void *payload);

/*
 * Add what a history may lack: the index by time, the index of words, the
 * triggers that keep it right when a prompt is changed or removed; and index
 * all words again. The tables stay as they are, and their agent can go on.
 */
GROVE_API int grove_history_upgrade(struct grove_history *h);

#ifdef __cplusplus
}
#endif
#endif
