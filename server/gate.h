/*
 * gate.h: what every request must pass before it is looked at.
 */
#ifndef SERVER_GATE_H
#define SERVER_GATE_H

#include "server.h"

/*
 * Looks at a request whose header is complete. Returns 0, and r->route and r->who
 * are set; otherwise the HTTP status of the refusal, with the reason in r->detail.
 * r->close is set where nothing after it on the connection can be trusted.
 */
unsigned gate_check(struct request *r);

#endif
