/*
 * peer.h: the clients at the other end of our connections: who they are, and whether they
 * are too slow.
 */
#ifndef SERVER_PEER_H
#define SERVER_PEER_H

#include "server.h"

struct peers;

int peers_new(struct peers **out);
/* Call after all connections have ended. */
void peers_free(struct peers *p);

/*
 * Called before a connection begins. If there are almost too many, closes one that waits
 * for a request.
 */
void peers_make_room(struct peers *p);
/* Called when a connection begins or ends. Returns NULL if out of memory. */
struct peer *peer_begin(struct peers *p, const struct listener *l, int fd,
			const struct sockaddr *address);
void peer_end(struct peers *p, struct peer *peer);
/* Records what the connection does from now on, for the sweep. */
void peer_enter(struct peers *p, struct peer *peer, int phase);
/* A reply of so many bytes is sent from now on: a client that reads too slowly is cut off. */
void peer_sends(struct peers *p, struct peer *peer, uint64_t bytes);
void peer_received(struct peers *p, struct peer *peer, size_t bytes);

/* Returns which local user is at the other end. The kernel is asked once per connection. */
enum peer_user peer_user(struct peer *peer);

unsigned peers_count(struct peers *p);

/*
 * Copies an IP address in the one spelling that addresses are compared in. Returns 0, or -1 if
 * it is none.
 */
int address_read(const char *text, char *out, size_t size);

#endif
