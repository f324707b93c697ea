/*
 * on_path.h: whether PATH has a program.
 */
#ifndef PROGRAMS_ON_PATH_H
#define PROGRAMS_ON_PATH_H

/* Returns true if PATH has a program of this name. */
int on_path(const char *name);

#endif
