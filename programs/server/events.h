/*
 * events.h: streams of events.
 */
#ifndef SERVER_EVENTS_H
#define SERVER_EVENTS_H

#include "server.h"

/* Returns 0, or -1 if out of memory. */
int events_start(struct server *s);
/* Sends a final event to every stream and ends it. */
void events_stop(struct server *s);
/* Call after the last request was answered. */
void events_free(struct server *s);

#endif
