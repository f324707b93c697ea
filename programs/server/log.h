/*
 * log.h: the server's log for administrators, one JSON object per line.
 *
 * It never contains text from sessions: no queries, bodies or titles.
 */
#ifndef SERVER_LOG_H
#define SERVER_LOG_H

#include "kit/doc.h"

/* {"time":…,"level":…,"message":…} on stderr. */
void log_line(const char *level, const char *message);
/* The same, plus the path and code of an error. */
void log_detail(const char *level, const struct grove_detail *why);
/* Writes a finished document as one line. */
void log_write(const struct doc *d);

#endif
