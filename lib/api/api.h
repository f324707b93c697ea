/*
 * api/api.h: what the files of the public interface share.
 */
#ifndef GROVE_API_H
#define GROVE_API_H

#include "base/sized.h"
#include "session/session.h"

/* Keep the detail of a failure in *kept, under `lock` (NULL: there is none); returns `rc`. */
int grove__api_keep(struct grove_detail *kept, pthread_mutex_t *lock, int rc, const struct grove_detail *d);
/* Keep the detail of a failure with the handle; returns `rc`. */
int grove__api_told(struct grove *g, int rc, const struct grove_detail *d);
/* An empty list of `g`; NULL: out of memory. */
struct grove_list *grove__api_list_new(struct grove *g);
/* usage.c: adds to each session of a list what it used. */
int grove__api_list_costs(struct grove *g, struct grove_list *l, struct grove_detail *d);
/* Keep the detail of a failure with the session; returns `rc`. */
int grove__api_session_told(struct grove_session *s, int rc, const struct grove_detail *d);

/* The end of what grove__session_enter() began: unlock, keep the detail, return `rc`. */
static inline int grove__api_session_leave(struct grove_session *s, int rc, const struct grove_detail *d)
{
	grove__session_unlock(s);
	return grove__api_session_told(s, rc, d);
}

/* Clears *d, locks the session and makes it ready for a call; after a failure it is not locked. */
static inline int grove__api_session_enter(struct grove_session *s, struct grove_detail *d)
{
	grove__fail_clear(d);
	d->code = grove__session_enter(s, d);
	return d->code;
}

/*
 * The result of `call`, which runs under the session's lock and reports failures in *d.
 * This is a macro because a function would only get the result of a call made before.
 */
#define IN_SESSION(s, d, call)                                              \
	(grove__api_session_enter(s, d) ? grove__api_session_told(s, (d)->code, d) \
					: grove__api_session_leave(s, call, d))

#endif
