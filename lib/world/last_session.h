/*
 * world/last_session.h: notes of terminals about sessions that are gone.
 */
#ifndef GROVE_WORLD_LAST_SESSION_H
#define GROVE_WORLD_LAST_SESSION_H

struct grove;

/* Whatever terminal notes the session of this path forgets it. Nobody should fail because of it. */
void grove__crumbs_forget(struct grove *g, const char *path);

#endif
