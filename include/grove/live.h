/*
 * grove/live.h: watch a session, and take the right to write to it.
 *
 * You get it with <grove.h>, which says what holds for all of it.
 */
#ifndef GROVE_LIVE_H
#define GROVE_LIVE_H

#include <grove/session.h>

#ifdef __cplusplus
extern "C" {
#endif

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
	uint64_t seq;             /* of the line, from 0; GROVE_NO_SEQ: of none */
};
/* "append", "update", "leaf", "rename", "reset", "delete" */
GROVE_API const char *grove_event_name(enum grove_event_kind kind);
/* Append it as JSON: {"rev":…,"kind":…,"sessionId":…,"entryId":…,"seq":…} */
GROVE_API int grove_event_json(const struct grove_event *e, struct grove_buf *out);

/* From now on. */
#define GROVE_REV_NOW UINT64_MAX

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
 * Takes the lease for `ms` from now. Returns GROVE_ECONFLICT if another owner has
 * it. Once another has taken it over, after its time or under the same name,
 * everything that this handle writes is refused (GROVE_ECONFLICT). Handles without
 * it cannot write while somebody has it. *out (may be NULL) is how it stands then.
 */
GROVE_API int grove_session_lease_take(struct grove_session *s, const char *owner, int64_t ms,
				       struct grove_lease *out);
/*
 * Holds on to the lease that this handle took, until `ms` from now. It never takes
 * one: GROVE_ECONFLICT if this handle has none, or another has taken it over.
 */
GROVE_API int grove_session_lease_renew(struct grove_session *s, int64_t ms, struct grove_lease *out);
GROVE_API int grove_session_lease_release(struct grove_session *s);
/* Who has the lease. */
GROVE_API int grove_session_lease_get(struct grove_session *s, struct grove_lease *out);

#ifdef __cplusplus
}
#endif
#endif
