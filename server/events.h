/*
 * events.h: what happens, as it happens.
 */
#ifndef SERVER_EVENTS_H
#define SERVER_EVENTS_H

#include "server.h"

/* Returns 0, or -1 out of memory. */
int events_start(struct server *s);
/* Tells every stream that it ends, and ends it. */
void events_stop(struct server *s);
/* After the last request was answered. */
void events_free(struct server *s);

#endif
