/*
 * listen.h: the addresses that the server listens on.
 */
#ifndef SERVER_LISTEN_H
#define SERVER_LISTEN_H

#include "server.h"

/* Is it written as an address must be? Returns 0, or -1 and a sentence. */
int listen_check(const char *spec, char *why, size_t size);
/*
 * Opens one: "127.0.0.1:4517", "[::1]:4517", "localhost:4517", ":4517" (of every
 * address), "unix:PATH". Port 0 takes a free one. Returns 0, or -1 and a sentence.
 */
int listen_open(struct listener *l, const char *spec, int tls, char *why, size_t size);
/* One that was passed to us by the process that started us (systemd). */
int listen_inherit(struct listener *l, int fd, int tls, char *why, size_t size);
/* How many were: they begin at descriptor 3. */
unsigned listen_inherited(void);
void listen_close(struct listener *l);

/* As many descriptors as we are allowed. */
void listen_raise_limits(void);

#endif
