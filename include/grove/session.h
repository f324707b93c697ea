/*
 * grove/session.h: one session: opening it, appending to it, changing it, moving its
 * leaf.
 *
 * You get it with <grove.h>, which has the rules that apply to all of it.
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
	GROVE_OPEN_READ = 0,   /* never writes, whatever state the log is in */
	GROVE_OPEN_WRITE = 1,  /* an old version is migrated at once, atomically */
	/*
	 * If another writer has appended since we looked, return GROVE_ECONFLICT
	 * instead of continuing below its last entry.
	 */
	GROVE_OPEN_STRICT = 2,
	/* Rewrite even while another process has the file open, or is using the session. */
	GROVE_OPEN_FORCE = 4,
	/* With GROVE_OPEN_WRITE: an empty file becomes a session, with a header. */
	GROVE_OPEN_INIT = 8,
	/*
	 * With GROVE_OPEN_WRITE, for agents: record the session as the last one of this
	 * terminal, if its agent does so (xcsh, oh-my-pi); "last" follows it.
	 */
	GROVE_OPEN_NOTE_LAST = 16,
	/*
	 * With GROVE_OPEN_READ: a log without a header (Claude), or in a database, is
	 * not read until something needs it. Until then the session has no cwd.
	 */
	GROVE_OPEN_LAZY = 32
};

/*
 * Opens a session by path, id, prefix of an id, or "last": the first one that
 * grove_list() has for grove's directory, or, if the agent records it, the last one of
 * this terminal. Returns GROVE_ENOTFOUND, GROVE_EAMBIGUOUS, GROVE_EDAMAGED (no usable
 * header: nothing is touched), or, for writing, GROVE_ENOTSUP if it was found in the
 * archive.
 */
GROVE_API int grove_session_open(struct grove *g, const char *what, unsigned flags,
				 struct grove_session **out);

enum grove_create_flags {
	/*
	 * A live handle, as an agent uses it, defers the file until the first user or
	 * assistant message (earlier appends are acknowledged with an id, and
	 * grove_session_pending() counts them). With this flag the header is written at
	 * once.
	 */
	GROVE_CREATE_NOW = 1,
	GROVE_CREATE_MEMORY = 2,  /* never a file: the session exists only in this handle */
	GROVE_CREATE_NOTE_LAST = 4    /* as GROVE_OPEN_NOTE_LAST */
};

struct grove_create_options {
	size_t size;
	unsigned flags;
	const char *dialect;         /* NULL: "pi" */
	const char *cwd;             /* NULL: grove's */
	const char *id;              /* NULL: a new one; GROVE_EINVAL if it is not a valid id */
	const char *dir;             /* put the file into this directory; NULL: the agent's */
	const char *path;            /* exactly this file; its name may give id and time */
	const char *name;            /* NULL: none */
	const char *parent_session;  /* NULL: none */
	/*
	 * With GROVE_CREATE_MEMORY: the session is read as a file of these bytes would
	 * be, with LF between its lines, and an old version is migrated. If their first
	 * value is a header, it provides `id`, `cwd` and `parent_session`; otherwise
	 * one is created. Entries may name parents that do not exist. Empty: a new
	 * session.
	 */
	struct grove_slice lines;
};
/*
 * Creates a session. If another process creates a session of the same name before this
 * one is written, the first append goes below what the other wrote. A name that is
 * already taken is GROVE_EEXIST, here or when the session is written.
 */
GROVE_API int grove_session_create(struct grove *g, const struct grove_create_options *opt,
				struct grove_session **out);

/*
 * Opens the session of opt->cwd (NULL: grove's) that its agent would continue, or
 * creates one as `opt` says. It is one of those that grove_list() has for that
 * directory: the last one of this terminal, if the agent records that (xcsh, oh-my-pi),
 * else the one whose log was written to last; for oh-my-pi, of those that have a message
 * or a name. ("last" follows the order of the list, which for pi is by the times of
 * messages.) With opt->dir, only that directory is searched.
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
/* Returns the format version that the log had when it was opened. */
GROVE_API unsigned grove_session_version(const struct grove_session *s);
/* Returns the number of lines that opening for writing changed to migrate the log. */
GROVE_API uint64_t grove_session_migrated(const struct grove_session *s);
/* Returns the number of entries that are in this handle but not yet in the log: deferred or submitted. */
GROVE_API size_t grove_session_pending(const struct grove_session *s);
/* Writes a session whose file was deferred. */
GROVE_API int grove_session_ensure(struct grove_session *s);
/* Waits until everything appended so far is on disk. A deferred session stays deferred. */
GROVE_API int grove_session_sync(struct grove_session *s);
/* Reads what others have appended. Returns 1 if there was something, 0 if not. */
GROVE_API int grove_session_refresh(struct grove_session *s);

/* ------------------------------------------------------------------- append */

enum grove_append_flags {
	/*
	 * Append only if the log has `seq` lines, including the header; otherwise
	 * GROVE_ECONFLICT, and nothing is written.
	 */
	GROVE_APPEND_IF_SEQ = 1,
	GROVE_APPEND_LINES = 2,  /* the result has the lines as they were stored */
	/*
	 * Append only if the session is still at revision `rev`: nothing at all may have
	 * changed, including the leaf in a database.
	 */
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

/* The result of an append. Ids are valid until the session is closed. */
struct grove_append_result {
	size_t size;
	const char *id;          /* of the last entry; NULL: its line has none */
	/* Your array with room for one id per input, which is filled in; or NULL. */
	const char **ids;
	/*
	 * The new entries have the numbers [first, first + nr) in every later view,
	 * until the log is rewritten.
	 */
	uint32_t first, nr;
	uint64_t seq, rev;       /* of the log, after this append */
	/*
	 * With GROVE_APPEND_LINES: the new lines, each with its LF; release it. While
	 * the session is deferred, they are as its handle holds them. A line that is
	 * also written to pin the leaf (Claude) is not included, nor counted in `nr`.
	 */
	struct grove_buf lines;
	/* After a failure: the index of the refused input, or the number of inputs. */
	size_t failed;
	/*
	 * Your struct, for threads that share a session; or NULL. grove_session_error()
	 * has the same.
	 */
	struct grove_detail *why;
	uint64_t generation;     /* changes when existing lines are rewritten or removed */
	/*
	 * The number of entries by other writers that this call has read; they come
	 * right before `first`. GROVE_NO_ENTRY if the log was rewritten: entry numbers
	 * that you knew are no longer valid.
	 */
	uint32_t others;
};

/*
 * Appends one entry below `opt->parent` and makes it the leaf. `json` is {"type":…, the
 * type's own members} or a bare message {"role":…}; it is stored in the dialect's own
 * order of members, in the form that JSON.stringify writes. An id in it is preserved:
 * if the session already has that entry with the same content, the call succeeds and
 * writes nothing; with different content it returns GROVE_ECONFLICT. `opt` and `out`
 * may be NULL, here and below.
 *
 * Returns 0; GROVE_EJSON (the detail has the offset), GROVE_EINVAL (not an entry),
 * GROVE_ENOTFOUND (no such parent or target) or GROVE_ECONFLICT if nothing was written;
 * GROVE_EFULL if nothing of it is in the log. After GROVE_EIO the tail is unknown: the
 * handle refuses to write until the session is opened again.
 */
GROVE_API int grove_session_append(struct grove_session *s, struct grove_slice json,
				   const struct grove_append_options *opt,
				   struct grove_append_result *out);
/* Appends several entries, each below the one before it, in one write: all of them or none. */
GROVE_API int grove_session_append_many(struct grove_session *s, const struct grove_slice *json,
					size_t nr, const struct grove_append_options *opt,
					struct grove_append_result *out);

/*
 * Write-behind, for programs that must not wait for the store. The entries get their
 * ids, parents and lines now and are written in order by a thread of the session, as
 * many in one write as are waiting. *out is what append would return.
 *
 * Every other call on the session waits until all of them are written, so views and
 * contexts contain them, and appends go below them. submit itself waits where it
 * needs the log: for the entry that creates a deferred session, for a compaction, for
 * an id that exists already, and always for Claude Code, whose leaf depends on the whole
 * log. If another writer appends in between, our entries become a branch beside its own;
 * a lease prevents that, and with GROVE_OPEN_STRICT it is a failure.
 *
 * The first failure is sticky: every later call and grove_session_flush() return it,
 * entries submitted after it are not written, and the session must be opened again.
 * Only entries for which flush returned 0 are acknowledged; a crash may lose later ones.
 * Closing the session waits for the rest; a failure that no call has returned goes to
 * grove_options.warn. After fork(2) the child process cannot use the handle.
 *
 * Returns what append does; GROVE_EINVAL for GROVE_APPEND_IF_SEQ and GROVE_APPEND_IF_REV;
 * GROVE_EFULL if 64 MiB are waiting already, in which case nothing happened.
 */
GROVE_API int grove_session_submit(struct grove_session *s, const struct grove_slice *json, size_t nr,
				   const struct grove_append_options *opt,
				   struct grove_append_result *out);
/*
 * Waits until all submitted entries are written, and with GROVE_SYNC_ALWAYS until they
 * are on disk. A deferred session stays deferred.
 */
GROVE_API int grove_session_flush(struct grove_session *s, enum grove_sync sync);

/*
 * Entries that each agent writes in its own way. Text is UTF-8; members that end in _json
 * are JSON, or NULL if absent.
 */
GROVE_API int grove_session_append_thinking_level(struct grove_session *s, const char *level,
						  const struct grove_append_options *opt,
						  struct grove_append_result *out);
/*
 * `role` is one of the roles that xcsh and oh-my-pi give to models ("smol", "plan";
 * NULL: "default"). Other agents have one model, whatever the role.
 */
GROVE_API int grove_session_append_model(struct grove_session *s, const char *provider,
					 const char *model, const char *role,
					 const struct grove_append_options *opt,
					 struct grove_append_result *out);
struct grove_compaction {
	size_t size;
	const char *summary;
	const char *first_kept;     /* NULL: keep nothing; pi then writes the entry's own id */
	double tokens_before;       /* may be a fraction; null in JSON if it is not finite */
	const char *details_json;
	const char *usage_json;
	enum grove_tristate from_hook;
	const char *short_summary;  /* xcsh, oh-my-pi: used as the name of a session without one */
	const char *preserve_json;  /* xcsh, oh-my-pi: data of extensions that survives it */
};
/* Members that the agent's compactions do not have are left out. */
GROVE_API int grove_session_append_compaction(struct grove_session *s,
					      const struct grove_compaction *c,
					      const struct grove_append_options *opt,
					      struct grove_append_result *out);
/*
 * Labels an entry; NULL or "" clears the label ("" is written, as agents do). Returns
 * GROVE_ENOTFOUND if there is no such entry.
 */
GROVE_API int grove_session_append_label(struct grove_session *s, const char *target,
					 const char *label, const struct grove_append_options *opt,
					 struct grove_append_result *out);
/*
 * Names the session. The name is trimmed. If nothing is left, the session loses its
 * name (pi), or GROVE_EINVAL if the agent cannot express that. If the name is in the
 * header (xcsh), the log is rewritten, and out->id is NULL. Returns 1 and writes
 * nothing if `by` is GROVE_NAME_BY_AGENT, the agent records who chose a name, and the
 * user chose the current one.
 */
GROVE_API int grove_session_set_name(struct grove_session *s, const char *name,
				     enum grove_name_source by, struct grove_append_result *out);

/* --------------------------------------------------------------------- leaf */

/* Returns the entry that the next append goes below; NULL before the first one. */
GROVE_API const char *grove_session_leaf(struct grove_session *s);

enum grove_leaf_flags {
	/*
	 * Logs have no place for the leaf: readers take the last line. With this flag a
	 * line is appended that makes every reader, including the agent, continue
	 * there; without it, the move is known to this handle only.
	 */
	GROVE_LEAF_PERSIST = 1,
	/* Only to an entry of the current conversation: otherwise GROVE_ENOTFOUND. */
	GROVE_LEAF_IN_CONVERSATION = 2,
	/*
	 * Only if the session is still at revision `rev`: otherwise GROVE_ECONFLICT, and
	 * nothing is written.
	 */
	GROVE_LEAF_IF_REV = 4
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
	/*
	 * A summary of the branch that is left, appended below the new leaf; NULL:
	 * none. Implies PERSIST.
	 */
	const struct grove_branch_summary *summary;
	uint64_t rev;               /* with GROVE_LEAF_IF_REV */
};

enum grove_outcome {
	GROVE_OUTCOME_APPEND,  /* it already was the leaf */
	GROVE_OUTCOME_SWITCH,  /* the leaf was moved there */
	GROVE_OUTCOME_REPLAY   /* a prompt: the leaf is its parent, and its content is returned */
};

struct grove_leaf_result {
	size_t size;
	enum grove_outcome outcome;
	const char *leaf;           /* the current leaf; NULL: before the first entry */
	const char *summary_id;     /* of the entry with the summary */
	struct grove_buf content;   /* after GROVE_OUTCOME_REPLAY: the prompt's content as JSON. Release it */
};

/*
 * Moves the leaf to an entry, or to GROVE_ROOT. If it is already there, nothing is
 * written. Claude Code computes the leaf by rules, which exclude some entries: those of
 * a sub-agent, those without a message at or above them, and those above a compaction
 * that keeps other messages. For these it returns GROVE_ENOTSUP; the detail says why,
 * and nothing is written. `opt` and `out` may be NULL.
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

/*
 * Replaces one value in one entry, for instance the arguments of a tool call. `pointer`
 * is a JSON pointer: "/message/content/0/arguments". Returns GROVE_ENOTFOUND if there
 * is no such entry, or no such value, GROVE_ECONFLICT if the log has to be rewritten and
 * another program has it open for writing, unless the session was opened with
 * GROVE_OPEN_FORCE.
 */
GROVE_API int grove_session_update(struct grove_session *s, const char *id, const char *pointer,
				   const char *value_json);

/*
 * Removes one entry from the log. The last line is truncated; for any other the log is
 * rewritten, and the children of the entry are attached to its parent: *relinked is
 * their number; `relinked` may be NULL. Returns GROVE_ENOTFOUND; GROVE_ECONFLICT as
 * above.
 */
GROVE_API int grove_session_forget(struct grove_session *s, const char *id, uint64_t *relinked);

/* ----------------------------------------------------------- whole sessions */

struct grove_fork_options {
	size_t size;
	const char *leaf;      /* only the path to this entry; NULL: the whole tree */
	const char *cwd;       /* put it where sessions of this directory go; NULL: next to the source */
	const char *dir;       /* put it into exactly this directory */
	const char *id;        /* NULL: a new one */
	enum grove_sync sync;
	unsigned flags;        /* enum grove_fork_flags */
};
enum grove_fork_flags {
	/*
	 * Claude: only the conversation, in its order, with the same record ids, as
	 * `claude --fork-session` does. Without this flag, as its SDK does: all
	 * branches, with new ids.
	 */
	GROVE_FORK_SAME_IDS = 1,
	GROVE_FORK_MEMORY = 2, /* never a file: the new session exists only in its handle */
	/*
	 * If the fork contains no user or assistant message, its file is deferred until
	 * the first one, as for a session that was just created.
	 */
	GROVE_FORK_DEFER = 4
};
/*
 * Creates a new session from this one; the source is not touched. Entries keep their
 * ids and, unless something in them changes, their bytes. *out is open for writing. The
 * fork of a session in memory (GROVE_CREATE_MEMORY) stays in memory, unless `dir` says
 * where to put it.
 */
GROVE_API int grove_session_fork(struct grove_session *s, const struct grove_fork_options *opt,
				 struct grove_session **out);

/* Changes the working directory of the session, and moves its file accordingly. */
GROVE_API int grove_session_move(struct grove_session *s, const char *cwd);

/* A program to be started. */
struct grove_command {
	const char *cwd;              /* the directory to start it in; NULL: unknown */
	const char *const *argv;      /* ends with NULL */
};
/*
 * Gets the command with which the session's agent continues it. It is valid until the
 * next call or until the session is closed. GROVE_ENOTSUP if the agent would not find
 * the session, because it is in a database or an archive or belongs to a sub-agent; the
 * detail says what to do.
 */
GROVE_API int grove_session_resume(struct grove_session *s, const struct grove_command **out);

/* ------------------------------------------------------------------- values */

/*
 * Values that a host stores with a session: "agentId" or "metadata" (JSON). They are
 * moved with the session; for files they are in the session's directory. GROVE_ENOTSUP
 * while nothing of a new session is stored, and for files whose names do not end in
 * .jsonl; GROVE_ENOTFOUND if the value was never put.
 */
GROVE_API int grove_session_value_put(struct grove_session *s, const char *name,
				      struct grove_slice value);
GROVE_API int grove_session_value_get(struct grove_session *s, const char *name,
				      struct grove_buf *out);

/* --------------------------------------------------------------- sub-agents */

/* A sub-agent of a session; members are NULL if unknown. */
struct grove_subagent {
	const char *id;
	const char *group;        /* the directories it is grouped in, "workflows/RUN", or "" */
	const char *type;         /* the type of agent needed to resume it */
	const char *description;
	const char *tool_use_id;  /* the call that started it */
	const char *parent_id;    /* the sub-agent that started it */
	const char *worktree;
	const char *path;         /* its transcript: open it as a session with this path */
	const char *meta;         /* all that is known, as a JSON object */
	const char *session_id;   /* of its transcript, also in a database: "agent-…" */
};
/* A non-zero result ends the list and is returned. */
typedef int grove_subagent_fn(void *payload, const struct grove_subagent *a);

/*
 * Reports sub-agents by group and id. Transcript and metadata of one id are one agent,
 * even if they are in different groups; then the group is that of its transcript.
 * GROVE_ENOTSUP for agents that store nothing about sub-agents (all but Claude Code).
 */
GROVE_API int grove_session_subagent_each(struct grove_session *s, grove_subagent_fn *fn, void *payload);
#ifdef __cplusplus
}
#endif
#endif
