/*
 * peer.h: the other ends of our connections: who they are, and whether they hold
 * us up.
 */
#ifndef SERVER_PEER_H
#define SERVER_PEER_H

#include "server.h"

struct peers;

int peers_new(struct peers **out);
/* After all connections have ended. */
void peers_free(struct peers *p);

/* May an address have another connection? */
int peers_accept(struct peers *p, const struct sockaddr *address);
/* A connection begins or ends; NULL: out of memory. */
struct peer *peer_begin(struct peers *p, const struct listener *l, int fd,
			const struct sockaddr *address);
void peer_end(struct peers *p, struct peer *peer);
/* What it does from now on, for the sweep. */
void peer_enter(struct peers *p, struct peer *peer, int phase);
void peer_received(struct peers *p, struct peer *peer, size_t bytes);

/*
 * Which user of this machine is at the other end. The kernel is asked once per
 * connection.
 */
enum peer_user peer_user(struct peer *peer);

unsigned peers_count(struct peers *p);

#endif
