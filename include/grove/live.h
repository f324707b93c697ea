/*
 * grove/live.h: watch sessions, and take the right to write to one.
 *
 * You get it with <grove.h>, which has the rules that apply to all of it.
 */
#ifndef GROVE_LIVE_H
#define GROVE_LIVE_H

#include <grove/view.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * What happens to a session, as it happens, no matter who causes it: this process,
 * another one, another machine on the same database, or the agent itself.
 */
enum grove_event_kind {
	GROVE_EVENT_APPEND,   /* a line was appended; an entry, if entry_id is not NULL */
	GROVE_EVENT_UPDATE,   /* entry_id was changed; NULL: something about the session */
	GROVE_EVENT_LEAF,     /* the leaf is now entry_id; NULL: before the first entry */
	GROVE_EVENT_RENAME,   /* it has another name */
	GROVE_EVENT_RESET,    /* what changed is unknown: load the session again (if key is NULL, the list) */
	GROVE_EVENT_DELETE,   /* it is gone; its last event, after which it is no longer in the set */
	/* of the list, see GROVE_WATCH_LIST: */
	GROVE_EVENT_CREATE,   /* there is a new session */
	GROVE_EVENT_CHANGE,   /* a session changed, perhaps several times */
	GROVE_EVENT_REMOVE    /* it is gone */
};

/* The strings are valid until the next call on the watch. */
struct grove_event {
	size_t size;
	uint64_t rev;             /* pass it to grove_watch_add() to resume after this event */
	enum grove_event_kind kind;
	const char *session_id;   /* NULL in an event of the list if it is unknown */
	const char *entry_id;     /* NULL: none */
	uint64_t seq;             /* of the line, from 0; GROVE_NO_SEQ: no line */
	uint64_t generation;      /* changes when lines are rewritten or removed */
	uint32_t first, nr;       /* the entries concerned: [first, first + nr) in later views */
	const char *key;          /* names this session only: use it as `what` in grove_session_open() */
	void *tag;                /* from grove_watch_add(); NULL in events of the list, and of sessions from a cursor */
};
/* "append", "update", "leaf", "rename", "reset", "delete", "create", "change", "remove" */
GROVE_API const char *grove_event_name(enum grove_event_kind kind);
/* Appends it as JSON: {"rev":…,"kind":…,"sessionId":…,"entryId":…,"seq":…} */
GROVE_API int grove_event_json(const struct grove_event *e, struct grove_buf *out);

/* From now on. */
#define GROVE_REV_NOW UINT64_MAX

/*
 * A set of sessions that are watched together, with one descriptor to poll. It has no
 * thread of its own: grove_watch_next() looks for changes. The events of a session
 * come in order, each exactly once; sessions take turns. Used by one thread at a time,
 * except for grove_watch_wake().
 */
struct grove_watch;
enum grove_watch_flags {
	/*
	 * Also report which sessions appear, change and disappear in the stores of the
	 * environment, from now on. Several changes of a session may be one event.
	 */
	GROVE_WATCH_LIST = 1
};
struct grove_watch_options {
	size_t size;
	unsigned flags;
	/*
	 * From grove_watch_cursor(), called in this process or another one: watch the same
	 * sessions, each from where it was. Changes of the list in the meantime are not
	 * known, so it starts with a reset without a key.
	 */
	const char *cursor;
};
/* Returns GROVE_EINVAL for an invalid cursor. grove_watch_error(*out) has the detail. */
GROVE_API int grove_watch_open(struct grove *g, const struct grove_watch_options *opt,
			       struct grove_watch **out);
/*
 * Watches a session (`what` as in grove_session_open()). `since` is the last rev that
 * the caller has seen: the first events are what happened since then, or a reset if
 * that is no longer known. A session that is added twice is reported twice. Adding
 * reads the session once; an idle session then costs about a kilobyte and no
 * descriptor.
 */
GROVE_API int grove_watch_add(struct grove_watch *w, const char *what, uint64_t since, void *tag);
/* Removes every session that was added with this tag. GROVE_ENOTFOUND if there is none. */
GROVE_API int grove_watch_remove(struct grove_watch *w, const void *tag);
/*
 * Returns a descriptor to poll. When it is readable, call grove_watch_next() until that
 * returns 1, which may be at once. Do not read from it, and do not close it.
 */
GROVE_API int grove_watch_fd(const struct grove_watch *w);
/*
 * Returns 0 and the next event; 1 if there was none within `ms` (negative: no limit),
 * or after grove_watch_wake(); GROVE_ENOTFOUND if no session is left and the list is not
 * watched. Any other error concerns one session or one store: call again, it is
 * retried, and no event is lost.
 */
GROVE_API int grove_watch_next(struct grove_watch *w, int64_t ms, struct grove_event *out);
/*
 * Returns a view of the session of the last event, which includes that event and perhaps
 * later ones. GROVE_ENOTFOUND after an event of the list, and after a delete.
 */
GROVE_API int grove_watch_view(struct grove_watch *w, struct grove_view **out);
/*
 * After an event of the list that says that a session was created or has changed: sets
 * *rev to what it was when this was last asked about the session, or when the watch was
 * opened, so that grove_watch_add() reports what happened since then. If that cannot be
 * told (a file is now shorter, or another one), it reports a reset. Reads a file once.
 * GROVE_ENOTFOUND after any other event; otherwise errors as grove_session_open().
 */
GROVE_API int grove_watch_before(struct grove_watch *w, uint64_t *rev);
/*
 * Appends one word that says where all sessions of the set are. It needs no quoting in a
 * shell or in a line of text. Its length grows with the number of sessions.
 */
GROVE_API int grove_watch_cursor(struct grove_watch *w, struct grove_buf *out);
/* Ends the waiting. May be called from any thread or signal handler. */
GROVE_API void grove_watch_wake(struct grove_watch *w);
GROVE_API void grove_watch_error(struct grove_watch *w, struct grove_detail *out);
GROVE_API void grove_watch_close(struct grove_watch *w);

/* A process that has a session open. Members are valid until the function that receives it returns. */
struct grove_opener {
	const char *path;         /* of the session's file; NULL: unknown */
	const char *session_id;   /* NULL: unknown */
	int64_t pid;
	int64_t since;            /* when the process started, ms since 1970, or GROVE_NO_TIME */
	const char *program;      /* what the process calls itself */
	const char *agent;        /* whose session it is; NULL: unknown */
	int writing;              /* it may write: it has the file open for writing, or says so itself */
};
typedef int grove_opener_fn(void *payload, const struct grove_opener *o);
/*
 * Reports the processes that have a session open, or if `what` is NULL those that have
 * any file open whose name ends in .jsonl, and those that say which session they use
 * (Claude Code). Looks into processes of this user only, and not into this one. An
 * agent that opens its file for each line and leaves no record is not found. A
 * non-zero result of `fn` ends this and is returned. GROVE_ENOTFOUND as for
 * grove_session_open().
 */
GROVE_API int grove_opener_each(struct grove *g, const char *what, grove_opener_fn *fn, void *payload);

/*
 * The exclusive right to write to a session, for a limited time. Every time it is taken
 * it gets a higher number, and writes under an earlier number are refused. Agents know
 * nothing about leases and can still write to their files.
 */
#define GROVE_LEASE_OWNER_MAX 127
struct grove_lease {
	size_t size;
	char owner[GROVE_LEASE_OWNER_MAX + 1];  /* "": nobody */
	uint64_t number;                        /* that it got when it was last taken; 0: never */
	int64_t until;                          /* ms since 1970 */
};
/*
 * Takes the lease for `ms` from now. Returns GROVE_ECONFLICT if another owner holds
 * it. Once another handle has taken it over, because it expired or under the same
 * owner's name, everything this handle writes is refused with GROVE_ECONFLICT. Handles
 * without the lease cannot write while somebody holds it. *out (may be NULL) is set to
 * the state of the lease afterwards.
 */
GROVE_API int grove_session_lease_take(struct grove_session *s, const char *owner, int64_t ms,
				       struct grove_lease *out);
/*
 * Extends the lease that this handle took to `ms` from now. It never takes one:
 * GROVE_ECONFLICT if this handle has none, or another has taken it over.
 */
GROVE_API int grove_session_lease_renew(struct grove_session *s, int64_t ms, struct grove_lease *out);
GROVE_API int grove_session_lease_release(struct grove_session *s);
/* Says who has the lease. */
GROVE_API int grove_session_lease_get(struct grove_session *s, struct grove_lease *out);

#ifdef __cplusplus
}
#endif
#endif
