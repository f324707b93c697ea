/*
 * auth.h: who asks, and what they may do.
 */
#ifndef SERVER_AUTH_H
#define SERVER_AUTH_H

#include "server.h"

#define CODE_SECONDS 120
#define COOKIE_SECONDS 43200
#define FAILURES_MAX 5          /* of an address in a minute */

int auth_new(struct server *s, struct auth **out, char *why, size_t size);
void auth_free(struct auth *a);
/* Reads the tokens again. With a file that cannot be read those before it stay. */
int auth_reload(struct auth *a, char *why, size_t size);
/* How many tokens there are. */
size_t auth_tokens(struct auth *a);

/*
 * Finds out who asks. Returns 0 and fills r->who; otherwise an HTTP status, with
 * the sentence in r->detail. `trusted`: the connection comes from this machine and
 * nothing says that it stands for somebody elsewhere.
 */
unsigned auth_identify(struct request *r, int trusted);

/* A new code for the browser, good once and for two minutes. */
int auth_code(struct auth *a, char *out, size_t size);
/* Takes a code for a cookie. Returns 0 and Set-Cookie's value, or an HTTP status. */
unsigned auth_exchange(struct request *r, const char *code, char *cookie, size_t size);
/* Forgets the cookie of this request; `cookie` becomes one that has ended. */
void auth_logout(struct request *r, char *cookie, size_t size);

/* May this identity see a session of this store and directory? */
int auth_allows(const struct identity *who, const char *store, const char *cwd);
/* Is it limited at all? */
int auth_limited(const struct identity *who);

#endif
