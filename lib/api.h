/*
 * api.h: what the files of the public interface share.
 */
#ifndef GROVE_API_H
#define GROVE_API_H

#include "session/session.h"

/* Keep the story of a failure with the session; hands `rc` on. */
int grove__session_told(struct grove_session *s, int rc, const struct grove_detail *d);

/* What runs under a session's lock, with its story kept. */
#define WITH_SESSION(s, call)                                   \
	do {                                                    \
		struct grove_detail d;                          \
		int rc_;                                        \
		grove__detail_clear(&d);                        \
		pthread_mutex_lock(&(s)->lock);                 \
		rc_ = (call);                                   \
		pthread_mutex_unlock(&(s)->lock);               \
		return grove__session_told((s), rc_, &d);       \
	} while (0)

#endif
