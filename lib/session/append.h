/* session/append.h: adding entries to a session. */
#ifndef GROVE_SESSION_APPEND_H
#define GROVE_SESSION_APPEND_H

#include "session/session.h"

/* given.c: appends lines as they are, LF between them, to the log in memory. */
int grove__session_put_lines(struct grove_session *s, struct grove_slice text, struct grove_detail *d);

/*
 * submit.c: entries that are written later. All of these are called with the
 * session's lock, but for count and close.
 */
/* Queue records to be written after the image's end; *out is where they will be. GROVE_EFULL. */
int grove__submit_put(struct grove_session *s, const struct grove_store_record *rec, size_t nr,
		      enum grove_sync sync, struct grove_store_appended *out, struct grove_detail *d);
/*
 * Returns once everything submitted is written, or the first failure. The image
 * may be gone then: load it.
 */
int grove__submit_drain(struct grove_session *s, struct grove_detail *d);
/* Makes sure that the image can be composed against: drains if others wrote in between. */
int grove__submit_settle(struct grove_session *s, struct grove_detail *d);
/* Returns the number of entries that wait. */
size_t grove__submit_count(const struct grove_session *s);
/* Waits for the rest and ends the thread. */
void grove__submit_close(struct grove_session *s);

/* latch.c */
/* Remembers and reports the first failed write; every later write returns the same error. */
int grove__session_latch(struct grove_session *s, int rc, struct grove_detail *d);
int grove__session_writable(struct grove_session *s, struct grove_detail *d);
/* Called when it is unknown what a failed write stored: every later write is refused and tells why. */
void grove__session_break(struct grove_session *s, const struct grove_detail *d);
/*
 * Called when lines were stored but the log could not be read afterwards: the
 * caller has to open the session again.
 */
int grove__session_lost_sight(struct grove_session *s, struct grove_detail *d);

/*
 * append.c: an append goes through these functions in this order. `json` is `nr`
 * inputs. out->ids[i] is set to the id of the last entry that input i became, or NULL
 * if it has none (`out` and its `ids` may be NULL). All inputs are stored in one write, or none.
 */
/* Takes the lock. On return the entries are as durable as `opt` asks. */
int grove__session_append(struct grove_session *s, const struct grove_slice *json, size_t nr,
			  const struct grove_append_options *opt, struct grove_append_result *out,
			  struct grove_detail *d);
/* The same, but the entries may be written later (submit.c). */
int grove__session_submit(struct grove_session *s, const struct grove_slice *json, size_t nr,
			  const struct grove_append_options *opt, struct grove_append_result *out,
			  struct grove_detail *d);
/* Among the flags of an append: it may be written later. */
#define GROVE__APPEND_LATER (1u << 31)
/* append_group.c: the same for durable appends, of several threads at once. */
int grove__append_grouped(struct grove_session *s, const struct grove_slice *json, size_t nr,
			  const struct grove_append_options *opt, struct grove_append_result *out,
			  struct grove_detail *d);
/* This and the following are called with the lock held, and do not sync. */
int grove__append_locked(struct grove_session *s, const struct grove_slice *json, size_t nr,
			 const struct grove_append_options *opt, struct grove_append_result *out,
			 struct grove_detail *d);
/* append_split.c: for formats in which one input may become several entries. */
int grove__append_split(struct grove_session *s, const struct grove_slice *json, size_t nr,
			const struct grove_append_options *opt, struct grove_append_result *out,
			struct grove_detail *d);
/* append.c: each input becomes one entry. */
int grove__append_all(struct grove_session *s, const struct grove_slice *json, size_t nr,
		      const struct grove_append_options *opt, struct grove_append_result *out,
		      struct grove_detail *d);
/* Like grove__append_locked(), for an entry that is described by its parts. */
int grove__append_spec(struct grove_session *s, const struct grove__entry_spec *spec,
		       const struct grove_append_options *opt, struct grove_append_result *out,
		       struct grove_detail *d);
/* system.c */
/* An entry being appended. */
struct grove__fresh {
	struct grove_slice line;
	enum grove_kind kind;
	enum grove_role role;
};
/*
 * Gets the system message in force at `leaf` with `nr` entries below it; `out` stays
 * empty if there is none.
 */
int grove__session_system(struct grove_session *s, uint32_t leaf, const struct grove__fresh *fresh,
			  size_t nr, int64_t time, struct grove_buf *out, struct grove_detail *d);
/* append_compose.h has the rest of it. */
void grove__append_batch_free(struct grove__batch *b);
/* append_group.c: returns once everything appended is on disk. Takes the lock. */
int grove__session_sync(struct grove_session *s, struct grove_detail *d);
/*
 * ensure.c: called after GROVE_EEXIST if the session `joins`: continues with the
 * log that another process created. The held lines go below the leaf of that log.
 */
int grove__session_join(struct grove_session *s, struct grove_detail *d);
/* ensure.c: writes a deferred session: the lines it holds, then `more`. */
int grove__session_ensure(struct grove_session *s, const struct grove_store_record *more, size_t nr,
			  enum grove_sync sync, struct grove_detail *d);

#endif
