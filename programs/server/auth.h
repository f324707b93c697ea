/*
 * auth.h: who is asking, and what they may do.
 */
#ifndef SERVER_AUTH_H
#define SERVER_AUTH_H

#include "server.h"

int auth_new(struct server *s, struct auth **out, char *why, size_t size);
void auth_free(struct auth *a);
/* Reads the token file again. If it cannot be read, the old tokens stay valid. */
int auth_reload(struct auth *a, char *why, size_t size);
size_t auth_tokens(struct auth *a);
/* Returns true if there is a token file, or one was asked for. */
int auth_has_file(const struct auth *a);

/*
 * Identifies the client. Returns 0 and fills in r->who; otherwise returns an HTTP status,
 * with the message in r->detail. `trusted` means that the connection comes from this
 * machine and nothing suggests that it was forwarded for somebody else.
 */
unsigned auth_identify(struct request *r, int trusted);

/* Creates a sign-in code for the browser. It works once, within two minutes. */
int auth_code(struct auth *a, char *out, size_t size);
/*
 * Exchanges a code or a token for a cookie. The cookie of a token grants what that does, as
 * long as that is in the file. Returns 0 and the value of Set-Cookie, or an HTTP status.
 */
unsigned auth_exchange(struct request *r, const char *word, char *cookie, size_t size);
/* Returns true if the client may use this directory, whatever the store. */
int auth_in_projects(const struct identity *who, const char *cwd);
/* Invalidates the request's cookie. `cookie` becomes a Set-Cookie that deletes it. */
void auth_logout(struct request *r, char *cookie, size_t size);

/* Returns true if this identity may see sessions of this store and directory. */
int auth_allows(const struct identity *who, const char *store, const char *cwd);
/* Returns true if the identity is limited to certain stores or projects. */
int auth_limited(const struct identity *who);

#endif
