/*
 * sys/map.h: files of our own, mapped. Never those of agents: one that is cut
 * off under us would take the process along.
 */
#ifndef GROVE_SYS_MAP_H
#define GROVE_SYS_MAP_H

#include <stddef.h>

/* The first `len` bytes of an open file; what is written to them stays here. */
int grove__sys_map(int fd, size_t len, char **out);
void grove__sys_unmap(char *ptr, size_t len);

#endif
