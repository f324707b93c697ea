/* session/blobs.h: the blobs that lines of a session refer to. */
#ifndef GROVE_SESSION_BLOBS_H
#define GROVE_SESSION_BLOBS_H

#include "session/session.h"

/* blobs.c */
struct grove__blobs;
struct grove__blob_sinking {
	struct grove_session *session;
	struct grove_detail *d;
};
/* Returns the blobs of its agent; *out is NULL if the agent does not use any. */
int grove__session_blobs(struct grove_session *s, struct grove__blobs **out,
			 struct grove_detail *d);
/* The same, before storing some: a database is first recorded next to the blobs. */
int grove__session_blobs_for(struct grove_session *s, struct grove__blobs **out,
			     struct grove_detail *d);
void grove__session_close_blobs(struct grove_session *s);
struct grove__blob_source grove__session_blob_source(struct grove_session *s);
/*
 * Replaces references to blobs in `*value` by what they stand for; the result is
 * in `out` if there were any. GROVE_ENOMEM.
 */
int grove__session_resolve(struct grove_session *s, struct grove_slice *value,
			   struct grove_buf *out, struct grove_detail *d);
/* Turns a line into its stored form. Its blobs are on disk on return. Returns 1 if nothing changes. */
int grove__session_prepare(struct grove_session *s, struct grove_slice line, struct grove_buf *out,
			   struct grove_detail *d);

#endif
