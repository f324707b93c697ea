/*
 * sys/map.h: maps our own files into memory. Never those of agents: if one is truncated
 * meanwhile, reading it would crash the process.
 */
#ifndef GROVE_SYS_MAP_H
#define GROVE_SYS_MAP_H

#include <stddef.h>

/* Maps the first `len` bytes of an open file; writes to them stay private. */
int grove__sys_map(int fd, size_t len, char **out);
void grove__sys_unmap(char *ptr, size_t len);

#endif
