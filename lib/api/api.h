/*
 * api/api.h: what the files of the public interface share.
 */
#ifndef GROVE_API_H
#define GROVE_API_H

#include "base/sized.h"
#include "session/session.h"

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

/* What runs under a session's lock, with its detail kept. */
#define WITH_SESSION(s, call)                                                \
	do {                                                                 \
		struct grove_detail d;                                       \
		int rc_;                                                     \
		grove__fail_clear(&d);                                     \
		rc_ = grove__session_enter((s), &d);                         \
		return rc_ ? grove__api_session_told((s), rc_, &d)               \
			   : grove__api_session_leave((s), (call), &d);          \
	} while (0)

#endif
