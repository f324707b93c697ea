/*
 * grove/log.h: lines under a key, in any store.
 *
 * You get it with <grove.h>, which has the rules that apply to all of it.
 *
 * A session is a log of lines. The calls of <grove/session.h> understand these
 * lines: they stamp, order and check what is appended. The calls below do not.
 * They are for hosts that have session code of their own and want a place to
 * store its lines: what is appended is read back byte for byte. It is an ordinary
 * session all the same: if the lines are those of an agent that grove knows, lists,
 * searches and all other calls see it, with its sub-agents.
 */
#ifndef GROVE_LOG_H
#define GROVE_LOG_H

#include <grove/env.h>
#include <grove/words.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The name of a log: `project` groups sessions, `session` names one, `subpath`
 * names a log that belongs to a session, as that of a sub-agent does. Parts that
 * are absent are NULL.
 *
 * For the calls of this header each part is any text without U+0000, of any
 * length: "../../etc" is a name like any other. So is "", which is not the same as
 * NULL; but an empty subpath counts as absent. The names in a store are derived
 * from the key:
 *
 *     key                                     in a directory of files
 *     { "-home-me", "f3a1", NULL }            -home-me/f3a1.jsonl
 *     { "-home-me", "f3a1", "subagents/x" }   -home-me/f3a1/subagents/x.jsonl
 *     { "../up", "", NULL }                   %2E.%2Fup/%-.jsonl
 *     { NULL, "f3a1", NULL }                  f3a1.jsonl
 *
 * so a plain name is where the agent itself would put it, and others are encoded so
 * that they never leave the store (docs/internals/log.md). In databases the names
 * are the same. Without a project a session shares the top of the store with the
 * projects: do not use both there.
 */
struct grove_key {
	const char *project;
	const char *session;
	const char *subpath;
};

/*
 * An open log. Any number of threads may append to it at once: their lines are
 * stored in the order of their calls, those of one call together. Other calls take
 * turns with them, and all share the last error. The calls of this header that take an
 * environment may be made by many threads, too. The environment must outlive the log.
 */
struct grove_log;

enum grove_log_open_flags {
	GROVE_LOG_READ = 0,
	GROVE_LOG_WRITE = 1,
	GROVE_LOG_CREATE = 2  /* WRITE; if there is no such log, the first line creates it */
};

/*
 * Opens the log under `key` in the store with this URL (NULL: the first store of
 * the environment). All logs of an environment in one store share its connections.
 *
 * GROVE_ENOTFOUND if there is no such log and `flags` lacks GROVE_LOG_CREATE;
 * GROVE_EINVAL for a key without a session or a URL that names no store;
 * GROVE_ENOTSUP for a database that needs `grove store upgrade`.
 */
GROVE_API int grove_log_open(struct grove *g, const char *store, const struct grove_key *key,
			     unsigned flags, struct grove_log **out);
GROVE_API void grove_log_close(struct grove_log *l);
GROVE_API void grove_log_error(struct grove_log *l, struct grove_detail *out);

/* The number of lines if they were not counted; see grove_log_result. */
#define GROVE_LOG_UNCOUNTED UINT64_MAX

enum grove_log_flags {
	GROVE_LOG_IF_SEQ = 1,    /* only if the log has `seq` lines; 0: also if there is no log */
	GROVE_LOG_IF_BYTES = 2,  /* only if it has `bytes` bytes, line ends included; 0: likewise */
	GROVE_LOG_COUNT = 4      /* set `seq` in the result even if a file has to be read for it */
};

struct grove_log_options {
	size_t size;
	unsigned flags;          /* enum grove_log_flags */
	uint64_t seq, bytes;     /* what to compare */
	/*
	 * For append: the member that identifies a line ("uuid"). A line is skipped if
	 * the log, or an earlier line of the same call, has one with the same text
	 * there, so a batch whose fate is unknown can be sent again. A line without
	 * the member, or in which it is not a string or is empty, is always stored.
	 * NULL: all lines are. At most 31 bytes of ASCII.
	 */
	const char *id_member;
	enum grove_sync sync;
};

struct grove_log_result {
	size_t size;
	uint64_t stored;         /* lines of this call that were stored, or read */
	uint64_t skipped;        /* lines that were in the log already */
	/*
	 * The log afterwards: its lines, its bytes (line ends included), the time of
	 * its last change in ms, and what a watcher knows it by. All are 0 for a log
	 * that does not exist. The lines of a file are counted only if the call needs
	 * their number (IF_SEQ, COUNT, id_member); else it is GROVE_LOG_UNCOUNTED.
	 */
	uint64_t seq, bytes;
	int64_t modified;
	uint64_t rev, generation;
	/* Yours, or NULL: where the detail of a failure goes, besides the log's own. */
	struct grove_detail *why;
};

/*
 * Stores lines at the end of the log. They are given without line ends. If there are no
 * lines, or all of them are skipped, nothing changes and no log is created. `opt` and
 * `out` may be NULL.
 *
 * GROVE_ECONFLICT if the log is not as IF_SEQ or IF_BYTES say, or if another writer
 * holds the lease (<grove/live.h>); GROVE_EINVAL for a line end in a line;
 * GROVE_ENOTFOUND if the log was removed and the handle may not create a new one;
 * GROVE_ETOOBIG for more than the database accepts at once. After all of these, and
 * after GROVE_EFULL and GROVE_EACCESS, nothing was stored. After GROVE_EIO the first
 * lines may have been: with an `id_member` it is safe to call again.
 */
GROVE_API int grove_log_append(struct grove_log *l, const struct grove_slice *lines, size_t nr,
			       const struct grove_log_options *opt, struct grove_log_result *out);

/*
 * Writes the lines [from, to) as they are stored, an LF after each; `to` 0: to the
 * end. The sink gets many at once. GROVE_ENOTFOUND if the log does not exist (yet, or any
 * more). `out` may be NULL.
 */
GROVE_API int grove_log_read(struct grove_log *l, uint64_t from, uint64_t to,
			     struct grove_sink sink, struct grove_log_result *out);

/* One log of a listing. */
struct grove_log_item {
	struct grove_key key;    /* NULL where a part is absent; valid until the callback returns */
	uint64_t lines;          /* GROVE_LOG_UNCOUNTED in files, unless you ask for it */
	uint64_t bytes;          /* line ends included */
	int64_t modified;        /* ms; the same clock as in grove_log_result */
};
typedef int grove_log_fn(void *payload, const struct grove_log_item *item);

enum grove_log_each_flags {
	GROVE_LOG_EACH_LINES = 1 /* count lines, even if files have to be read for it */
};

/*
 * Lists logs in no particular order: if `under` is NULL, all sessions of the store; if it
 * has no session, those of its project; otherwise the logs that belong to the session,
 * but not its own. A non-zero result of `fn` ends the list and is returned. `fn` may use
 * the store and other handles.
 *
 * Only names that a key can have are listed, and nothing in a store that does not exist.
 */
GROVE_API int grove_log_each(struct grove *g, const char *store, const struct grove_key *under,
			     unsigned flags, grove_log_fn *fn, void *payload);

/*
 * Deletes a log with its values; a session with everything that belongs to it. Returns 1
 * if there was no such log. Durable on return.
 */
GROVE_API int grove_log_remove(struct grove *g, const char *store, const struct grove_key *key);

/*
 * Values: bytes that are stored with a log under a name of at most 128 bytes, and are
 * moved and deleted with it. A put replaces the value at once and durably. "agentId" and
 * "metadata" are those of grove_session_value_get(). GROVE_ENOTFOUND if it was never put, or
 * there is no log.
 */
GROVE_API int grove_log_value_get(struct grove_log *l, const char *name, struct grove_buf *out);
GROVE_API int grove_log_value_put(struct grove_log *l, const char *name, struct grove_slice value);

#ifdef __cplusplus
}
#endif
#endif
