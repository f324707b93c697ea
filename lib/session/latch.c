/*
 * session/latch.c: whether a session may still be written to.
 *
 * Some agents stop writing a session for good after a write has failed, because a
 * conversation with a gap is worse than one that ends. The first failure is remembered,
 * reported once, and returned by every later call.
 */
#include "session/append.h"

#include <stdio.h>
#include <stdlib.h>

int grove__session_latch(struct grove_session *s, int rc, struct grove_detail *d)
{
	/* an invalid argument is not a failure of the disk */
	if (!s->at.dialect || (rc != GROVE_EIO && rc != GROVE_EAWAY && rc != GROVE_EFULL && rc != GROVE_EACCESS) || !s->at.dialect->write.latch ||
	    s->writing.latch || !d)
		return rc;
	s->writing.latch = malloc(sizeof(*s->writing.latch));
	if (!s->writing.latch)
		return rc;
	*s->writing.latch = *d;
	s->writing.latch->code = rc;
	if (s->at.path) {
		/* the message is about this session, whichever file failed */
		if (d->path[0] && strcmp(d->path, s->at.path))
			snprintf(s->writing.latch->message, sizeof(s->writing.latch->message), "%.200s: %.250s", d->path,
				 d->message);
		snprintf(s->writing.latch->path, sizeof(s->writing.latch->path), "%s", s->at.path);
	}
	if (s->g->warn)
		s->g->warn(s->g->warn_payload, GROVE_SEVERITY_FATAL, s->writing.latch);
	return rc;
}

int grove__session_writable(struct grove_session *s, struct grove_detail *d)
{
	if (!(s->flags & GROVE_OPEN_WRITE))
		return grove__fail(d, GROVE_EACCESS, s->at.path, "opened read-only");
	if (s->writing.latch) {
		if (d)
			*d = *s->writing.latch;
		return s->writing.latch->code;
	}
	if (s->writing.unknown)
		return grove__fail(d, GROVE_EIO, s->at.path,
				   "an earlier write failed and may or may not be stored (open the session again)%s%s",
				   s->writing.cause ? ": " : "", s->writing.cause ? s->writing.cause : "");
	return 0;
}

void grove__session_break(struct grove_session *s, const struct grove_detail *d)
{
	s->writing.unknown = true;
	if (!s->writing.cause && d && *d->message)
		s->writing.cause = strdup(d->message);
}

/*
 * The lines are in the log, but its current state is unknown. Nothing may be removed or
 * written again: the caller has to open the session again.
 */
int grove__session_lost_sight(struct grove_session *s, struct grove_detail *d)
{
	char why[200] = "";

	if (d)
		snprintf(why, sizeof(why), "%.199s", d->message);
	grove__session_break(s, d);
	return grove__fail(d, GROVE_EIO, s->at.path,
			   "stored, but reading the session again failed: %s", why);
}
