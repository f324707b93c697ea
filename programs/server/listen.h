/*
 * listen.h: the addresses the server listens on.
 */
#ifndef SERVER_LISTEN_H
#define SERVER_LISTEN_H

#include "server.h"

/* Checks the syntax of an address. Returns 0, or -1 and a message. */
int listen_check(const char *spec, char *why, size_t size);
/*
 * Opens an address: "127.0.0.1:4517", "[::1]:4517", "localhost:4517", ":4517" (all
 * interfaces), "unix:PATH". Port 0 picks a free one. Returns 0, or -1 and a message.
 */
int listen_open(struct listener *l, const char *spec, int tls, char *why, size_t size);
/* Uses a socket passed by the process that started us (systemd). */
int listen_inherit(struct listener *l, int fd, int tls, char *why, size_t size);
/* Returns how many sockets were passed; they start at descriptor 3. */
unsigned listen_inherited(void);
void listen_close(struct listener *l);

/* Raises the limit on descriptors as far as allowed. */
void listen_raise_limits(void);

#endif
