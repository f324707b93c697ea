/*
 * carry.h: what programs that transfer sessions share.
 */
#ifndef PROGRAMS_CARRY_H
#define PROGRAMS_CARRY_H

#include <grove/carry.h>

/*
 * Returns true if the log of this session has no line yet: a transfer was interrupted
 * between creating it and storing the first one. It counts as absent, and its lines go there.
 */
int carry_is_empty(struct grove *g, const char *what);

#endif
