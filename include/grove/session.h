/*
 * grove/session.h: one session: open it, append to it, change it, move about in it.
 *
 * You get it with <grove.h>, which says what holds for all of it.
 */
#ifndef GROVE_SESSION_H
#define GROVE_SESSION_H

#include <grove/env.h>
#include <grove/words.h>

#ifdef __cplusplus
extern "C" {
#endif

struct grove_session;

enum grove_open_flags {
	GROVE_OPEN_READ = 0,   /* writes nothing, whatever state the log is in */
	GROVE_OPEN_WRITE = 1,  /* an old version is migrated at once, atomically */
	/*
	 * When another writer has appended since we looked: answer
	 * GROVE_ECONFLICT instead of going on below its last entry.
	 */
	GROVE_OPEN_STRICT = 2,
	/* Rewrites happen even while another process has the file open, or works on the session. */
	GROVE_OPEN_FORCE = 4,
	/* With GROVE_OPEN_WRITE: a file with nothing in it becomes a session, with a header. */
	GROVE_OPEN_INIT = 8,
	/*
	 * With GROVE_OPEN_WRITE, for agents: note the session as the last one of this
	 * terminal, where its agent does so (xcsh, oh-my-pi); "last" follows it.
	 */
	GROVE_OPEN_NOTE_LAST = 16,
	/*
	 * With GROVE_OPEN_READ: a log without a header (Claude), or in a database, is
	 * not read before something asks for it. Until then the session has no cwd.
	 */
	GROVE_OPEN_LAZY = 32
};

/*
 * Open a session by path, id, prefix of an id, or "last": the first one that
 * grove_list() has for grove's directory, or, where the agent notes it, the
 * one that this terminal had last. GROVE_ENOTFOUND,
 * GROVE_EAMBIGUOUS, GROVE_EDAMAGED (no usable header: nothing is touched).
 */
GROVE_API int grove_session_open(struct grove *g, const char *what, unsigned flags,
				 struct grove_session **out);

enum grove_create_flags {
	/*
	 * A live handle, as an agent keeps it, defers the file until the first
	 * user or assistant message (appends before that are acknowledged with
	 * an id, and grove_session_pending() says so). With this flag the header
	 * is written at once.
	 */
	GROVE_CREATE_NOW = 1,
	GROVE_CREATE_MEMORY = 2,  /* never a file: the session lives in this handle */
	GROVE_CREATE_NOTE_LAST = 4    /* as GROVE_OPEN_NOTE_LAST */
};

struct grove_create_options {
	size_t size;
	unsigned flags;
	const char *dialect;         /* NULL: "pi" */
	const char *cwd;             /* NULL: grove's */
	const char *id;              /* NULL: a new one; GROVE_EINVAL if it cannot be an id */
	const char *dir;             /* keep the file right in this directory; NULL: the agent's place */
	const char *path;            /* exactly this file; id and time from its name if they are there */
	const char *name;            /* NULL: none */
	const char *parent_session;  /* NULL: none */
	/*
	 * With GROVE_CREATE_MEMORY: the session is what a file of these bytes would
	 * be, LF between its lines, an old version brought up to date. If their first
	 * value is a header, `id`, `cwd` and `parent_session` are what it says; else it
	 * gets one. Entries may name parents that are not there. Empty: a new session.
	 */
	struct grove_slice lines;
};
/*
 * If another begins a session of the same name before this one is written, the
 * first append goes below what the other wrote. A name that is taken already is
 * GROVE_EEXIST, here or when the session is written.
 */
GROVE_API int grove_session_create(struct grove *g, const struct grove_create_options *opt,
				struct grove_session **out);

/*
 * Opens the session of opt->cwd (NULL: grove's) that its agent would continue, or
 * creates one as `opt` says. It is one of those that grove_list() has for that
 * directory: the one that this terminal had last, where the agent notes that
 * (xcsh, oh-my-pi), else the one whose log was written to last. ("last" follows
 * the order of the list, which for pi goes by the times of messages.) With
 * opt->dir, sessions are looked for in that directory alone.
 */
GROVE_API int grove_session_open_recent(struct grove *g, const struct grove_create_options *opt,
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
/* Writes a session whose file was deferred. */
GROVE_API int grove_session_ensure(struct grove_session *s);
/* Waits until everything appended so far is on the disk. A deferred session stays deferred. */
GROVE_API int grove_session_sync(struct grove_session *s);
/* Takes in what others appended. Returns 1 if there was something, 0 if not. */
GROVE_API int grove_session_refresh(struct grove_session *s);

/* ------------------------------------------------------------------- append */

enum grove_append_flags {
	/* Only if the log has `seq` lines, header included; else GROVE_ECONFLICT, and nothing is written. */
	GROVE_APPEND_IF_SEQ = 1,
	GROVE_APPEND_LINES = 2,  /* the result has the lines as they were stored */
	/* The same for the revision: nothing at all has changed, the leaf in a database included. */
	GROVE_APPEND_IF_REV = 4
};

struct grove_append_options {
	size_t size;
	unsigned flags;
	const char *parent;      /* NULL: the leaf; GROVE_ROOT: none; else an entry's id */
	uint64_t seq;            /* with GROVE_APPEND_IF_SEQ */
	enum grove_sync sync;
	uint64_t rev;            /* with GROVE_APPEND_IF_REV */
};

/* What became of an append. Ids are valid until the session closes. */
struct grove_append_result {
	size_t size;
	const char *id;          /* of the last entry; NULL: its line has none */
	/* Yours, with room for one id per input, which are filled in; or NULL. */
	const char **ids;
	/* The new entries are [first, first + nr) of every later view, until the log is rewritten. */
	uint32_t first, nr;
	uint64_t seq, rev;       /* of the log, after it */
	/*
	 * With GROVE_APPEND_LINES: the new lines, each with its LF; release it. While
	 * the session is deferred they are as its handle holds them. A line that is
	 * written besides to pin the leaf (Claude) is not among them, nor in `nr`.
	 */
	struct grove_buf lines;
	/* After a failure: the input that was refused, or the number of inputs. */
	size_t failed;
	/* Yours, for threads that share a session; or NULL. grove_session_error() has it too. */
	struct grove_detail *why;
	uint64_t generation;     /* changes when lines that were there are rewritten or removed */
	/*
	 * Entries of others that this call took in: those right before `first`. If
	 * it found the log rewritten, GROVE_NO_ENTRY: numbers of entries that you
	 * knew mean nothing any more.
	 */
	uint32_t others;
};

/*
 * Appends one entry below `opt->parent` and makes it the leaf. `json` is
 * {"type":…, the type's own members} or a bare message {"role":…}; it is
 * stored in the dialect's own order and JSON.stringify's spelling. An id given
 * in it is kept: if the session has that entry already with the same content
 * the call succeeds and writes nothing, with other content it is
 * GROVE_ECONFLICT. `opt` and `out` may be NULL, here and below.
 *
 * Returns 0; GROVE_EJSON (the detail has the offset), GROVE_EINVAL (not an
 * entry), GROVE_ENOTFOUND (no such parent or target), GROVE_ECONFLICT: nothing
 * was written. GROVE_EFULL: nothing of it is in the log. After GROVE_EIO the
 * tail is unknown: the handle refuses to write until it is reopened.
 */
GROVE_API int grove_session_append(struct grove_session *s, struct grove_slice json,
				   const struct grove_append_options *opt,
				   struct grove_append_result *out);
/* Appends several, each below the one before it, in one write: all of them or none. */
GROVE_API int grove_session_append_many(struct grove_session *s, const struct grove_slice *json,
					size_t nr, const struct grove_append_options *opt,
					struct grove_append_result *out);

/* The kinds, spelled out. Text is UTF-8; arguments that end in _json are JSON, NULL: absent. */
GROVE_API int grove_session_append_thinking_level(struct grove_session *s, const char *level,
						  const struct grove_append_options *opt,
						  struct grove_append_result *out);
/*
 * `role` is one of those that xcsh and oh-my-pi give to models ("smol", "plan";
 * NULL: "default"). Other agents have one model, whatever the role.
 */
GROVE_API int grove_session_append_model(struct grove_session *s, const char *provider,
					 const char *model, const char *role,
					 const struct grove_append_options *opt,
					 struct grove_append_result *out);
struct grove_compaction {
	size_t size;
	const char *summary;
	const char *first_kept;     /* NULL: keep nothing; pi writes the entry's own id then */
	double tokens_before;       /* may be a fraction; JSON has null for one that is not finite */
	const char *details_json;
	const char *usage_json;
	enum grove_tristate from_hook;
	const char *short_summary;  /* xcsh, oh-my-pi: serves as the session's name, if it has none */
	const char *preserve_json;  /* xcsh, oh-my-pi: what extensions keep across it */
};
/* What the agent's compactions have no member for is left out. */
GROVE_API int grove_session_append_compaction(struct grove_session *s,
					      const struct grove_compaction *c,
					      const struct grove_append_options *opt,
					      struct grove_append_result *out);
GROVE_API int grove_session_append_custom(struct grove_session *s, const char *type,
					  const char *data_json,
					  const struct grove_append_options *opt,
					  struct grove_append_result *out);
enum grove_custom_flags {
	GROVE_CUSTOM_HIDDEN = 1     /* the agent does not show it to people */
};
GROVE_API int grove_session_append_custom_message(struct grove_session *s, const char *type,
						  const char *content_json, const char *details_json,
						  unsigned flags,
						  const struct grove_append_options *opt,
						  struct grove_append_result *out);
GROVE_API int grove_session_append_usage(struct grove_session *s, const char *kind,
					 const char *provider, const char *model,
					 const char *usage_json, const char *note,
					 const struct grove_append_options *opt,
					 struct grove_append_result *out);
/* `replacement_json`: {"content":…}; NULL: the target is dropped from the context. */
GROVE_API int grove_session_append_context_edit(struct grove_session *s, const char *target,
						const char *replacement_json,
						const struct grove_append_options *opt,
						struct grove_append_result *out);
/* Labels an entry; NULL and "" clear ("" is written, as agents do). GROVE_ENOTFOUND if there is no such entry. */
GROVE_API int grove_session_append_label(struct grove_session *s, const char *target,
					 const char *label, const struct grove_append_options *opt,
					 struct grove_append_result *out);
/*
 * Names the session. The name is trimmed. If nothing is left the session has no
 * name any more (pi); GROVE_EINVAL for agents that cannot say so. Where
 * the header holds the name (xcsh) the log is written anew, and out->id is NULL.
 * Returns 1, and writes nothing, if the agent notes who chose a name and one that
 * the user chose would be replaced by one of GROVE_NAME_BY_AGENT.
 */
GROVE_API int grove_session_set_name(struct grove_session *s, const char *name,
				     enum grove_name_source by, struct grove_append_result *out);

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
	GROVE_LEAF_IN_CONVERSATION = 2
};
struct grove_branch_summary {
	size_t size;
	const char *summary;
	const char *details_json;
	const char *usage_json;
	enum grove_tristate from_hook;
};

struct grove_leaf_options {
	size_t size;
	unsigned flags;             /* enum grove_leaf_flags */
	/* Appended below the new leaf, about the branch that is left; NULL: none. Implies PERSIST. */
	const struct grove_branch_summary *summary;
};

enum grove_outcome {
	GROVE_OUTCOME_APPEND,  /* it is the leaf: go on */
	GROVE_OUTCOME_SWITCH,  /* the leaf was moved there */
	GROVE_OUTCOME_REPLAY   /* a prompt: the leaf is its parent, its content is handed back */
};

struct grove_leaf_result {
	size_t size;
	enum grove_outcome outcome;
	const char *leaf;           /* where it is now; NULL: before the first entry */
	const char *summary_id;     /* of the entry that holds the summary */
	struct grove_buf content;   /* after GROVE_OUTCOME_REPLAY: the prompt's content as JSON. Release it */
};

/*
 * Moves the leaf to an entry, or to GROVE_ROOT. Nothing is written if it is there
 * already. Claude Code computes the leaf by rules, which cannot end everywhere: at
 * an entry of a sub-agent, at one without a message at or above it, or at one above
 * a compaction that keeps other messages. For those it returns GROVE_ENOTSUP; the
 * detail says why, and nothing is written. `opt` and `out` may be NULL.
 */
GROVE_API int grove_session_set_leaf(struct grove_session *s, const char *id,
				     const struct grove_leaf_options *opt,
				     struct grove_leaf_result *out);
/*
 * Continues from an entry. For GROVE_OUTCOME_REPLAY out->content is the prompt, to
 * be edited and sent again. opt->summary must be NULL (GROVE_EINVAL).
 */
GROVE_API int grove_session_continue(struct grove_session *s, const char *id,
				     const struct grove_leaf_options *opt,
				     struct grove_leaf_result *out);

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
 * open for writing, unless the session was opened with GROVE_OPEN_FORCE. *changed
 * (may be NULL) counts.
 */
GROVE_API int grove_session_rewrite(struct grove_session *s, grove_edit_fn *fn,
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

/* ----------------------------------------------------------- whole sessions */

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
	GROVE_FORK_MEMORY = 2, /* never a file: the new session lives in its handle */
	/*
	 * If there is no message in it that a new session would be written for, the
	 * fork waits in its handle for the first one, as a session that was just
	 * created does.
	 */
	GROVE_FORK_DEFER = 4
};
/*
 * A new session from this one; the source is not touched. Entries keep their
 * ids and, wherever nothing in them changes, their bytes. *out is open for
 * writing. The fork of a session in memory (GROVE_CREATE_MEMORY) stays in memory,
 * unless `dir` says where to put it.
 */
GROVE_API int grove_session_fork(struct grove_session *s, const struct grove_fork_options *opt,
				 struct grove_session **out);

/* Give the session another working directory: its file moves to that directory's place. */
GROVE_API int grove_session_move(struct grove_session *s, const char *cwd);

/* ------------------------------------------------------------------- values */

/*
 * What a host wants to know of a session later: "agentId" (whose it is) or
 * "metadata" (JSON). It goes where the session goes; in files it lies in the
 * session's directory. GROVE_ENOTSUP while nothing of a new session is stored,
 * and in files whose names do not end in .jsonl; GROVE_ENOTFOUND if it was never
 * put.
 */
GROVE_API int grove_session_value_put(struct grove_session *s, const char *name,
				      struct grove_slice value);
GROVE_API int grove_session_value_get(struct grove_session *s, const char *name,
				      struct grove_buf *out);

/* ---------------------------------------------------------------- ancestors */

/*
 * The entries from a leaf (NULL: the session's own) up to its root, as they are
 * stored, the leaf first. Where the store can, nothing else is read: open the
 * session with GROVE_OPEN_LAZY. A non-zero answer ends it and is handed back.
 */
struct grove_ancestor {
	const char *id;              /* NULL: none */
	const char *parent;          /* NULL: none, or it is not there */
	enum grove_kind kind;
	enum grove_role role;
	int64_t time;                /* ms, or GROVE_NO_TIME */
	struct grove_slice json;
};
typedef int grove_ancestor_fn(void *payload, const struct grove_ancestor *e);
GROVE_API int grove_session_ancestors(struct grove_session *s, const char *leaf, grove_ancestor_fn *fn,
				    void *payload);

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
GROVE_API int grove_session_artifact_each(struct grove_session *s, grove_artifact_fn *fn,
					  void *payload);

/* --------------------------------------------------------------- sub-agents */

/* A sub-agent of a session; NULL where it is not known. */
struct grove_subagent {
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
typedef int grove_subagent_fn(void *payload, const struct grove_subagent *a);

/*
 * By group and id. Transcript and metadata of one id are one agent, also if they
 * lie in different groups; then it is in that of its transcript. GROVE_ENOTSUP for agents that keep nothing about sub-agents (all but Claude Code).
 */
GROVE_API int grove_session_subagent_each(struct grove_session *s, grove_subagent_fn *fn, void *payload);
/* What is known about one, a JSON object. GROVE_ENOTFOUND, GROVE_EDAMAGED. */
GROVE_API int grove_session_subagent_meta_get(struct grove_session *s, const char *agent_id,
					   struct grove_buf *out);
/* Replace it, atomically; the agent need not have a transcript yet. GROVE_EJSON, GROVE_EINVAL. */
GROVE_API int grove_session_subagent_meta_put(struct grove_session *s, const char *agent_id,
					   struct grove_slice json);

/*
 * Where a sub-agent works that has neither a transcript nor metadata yet: both
 * will go into this group ("workflows/RUN"; "" or NULL: none). What exists stays
 * where it is. Known to this handle only. GROVE_EINVAL, GROVE_ENOTSUP.
 */
GROVE_API int grove_session_subagent_group(struct grove_session *s, const char *agent_id, const char *group);
/*
 * Append the path of a sub-agent's transcript, which need not exist yet: a
 * session of its own, to be opened or made (grove_create_options.path) there.
 * GROVE_EINVAL; GROVE_ENOTSUP where there are no paths.
 */
GROVE_API int grove_session_subagent_path(struct grove_session *s, const char *agent_id,
				       struct grove_buf *out);

/* The same for agents that work elsewhere: there is a record of each, and no transcript. */
typedef int grove_remote_agent_fn(void *payload, const char *id, const char *json);
GROVE_API int grove_session_remote_agent_each(struct grove_session *s, grove_remote_agent_fn *fn,
					  void *payload);
GROVE_API int grove_session_remote_agent_get(struct grove_session *s, const char *id,
					     struct grove_buf *out);
GROVE_API int grove_session_remote_agent_put(struct grove_session *s, const char *id,
					     struct grove_slice json);

#ifdef __cplusplus
}
#endif
#endif
