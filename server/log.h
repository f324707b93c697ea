/*
 * log.h: what the server tells those who run it, one JSON object a line.
 *
 * Nothing of a session's text is ever written: no queries, bodies or titles.
 */
#ifndef SERVER_LOG_H
#define SERVER_LOG_H

#include "programs/doc.h"

/* {"time":…,"level":…,"message":…} on stderr. */
void log_line(const char *level, const char *message);
/* The same with the path and the code of an error. */
void log_detail(const char *level, const struct grove_detail *why);
/* A document that is ready, as one line. */
void log_write(const struct doc *d);

#endif
