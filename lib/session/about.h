/* session/about.h: what is told of a session: facts, its sub-agents, the command that continues it. */
#ifndef GROVE_SESSION_ABOUT_H
#define GROVE_SESSION_ABOUT_H

#include "session/session.h"

/* about.c */
/* Returns the facts that entries record about their session; valid until the next call. */
int grove__session_about(struct grove_session *s, struct grove__about *out, struct grove_detail *d);

/* subagents.c */
int grove__subagents_list(struct grove_session *s, grove_subagent_fn *fn, void *payload,
		       struct grove_detail *d);

/* resume.c: as grove_session_resume() */
int grove__session_resume(struct grove_session *s, const struct grove_command **out, struct grove_detail *d);

#endif
