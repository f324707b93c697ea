/*
 * gate.h: checks that every request must pass before it is handled.
 */
#ifndef SERVER_GATE_H
#define SERVER_GATE_H

#include "server.h"

/*
 * Checks a request whose header is complete. Returns 0 and sets r->route and r->who;
 * otherwise returns the HTTP status of the refusal, with the reason in r->detail. Sets
 * r->close if whatever follows on the connection cannot be trusted.
 */
unsigned gate_check(struct request *r);

#endif
