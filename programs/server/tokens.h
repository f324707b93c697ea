/*
 * tokens.h: the token file: who may connect from elsewhere.
 *
 * Each line has, separated by tabs, a name, the token's SHA-256 in hexadecimal, "read" or
 * "write", and the limits, each "store=URL" or "project=DIR". Tokens are 256 random bits,
 * so the hash needs no salt.
 */
#ifndef SERVER_TOKENS_H
#define SERVER_TOKENS_H

#include "server.h"

#define TOKEN_HASH 32
#define TOKEN_MAX 64   /* the length of a token, with the NUL */
#define TOKEN_NAME_MAX 64

struct token {
	char *name;
	unsigned char hash[TOKEN_HASH];
	enum scope scope;
	char **stores, **projects;  /* empty means no limit */
	size_t nr_stores, nr_projects;
};

/* The contents of a token file. It is shared: requests hold a reference. */
struct tokens {
	atomic_int refs;
	struct token *token;
	size_t nr;
};

/* Reads a file. Returns 0, or -1 and a message in `why`. A missing file has no tokens. */
int tokens_read(const char *path, struct tokens **out, char *why, size_t size);
struct tokens *tokens_ref(struct tokens *t);
void tokens_unref(struct tokens *t);
/* Finds a token by its text, or returns NULL, in constant time. */
const struct token *tokens_find(const struct tokens *t, const char *text);
const struct token *tokens_with_hash(const struct tokens *t, const unsigned char hash[TOKEN_HASH]);

/* Creates a token. Returns 0, or -1 if no random bytes are available. */
int token_make(char text[TOKEN_MAX]);
void token_hash(const char *text, unsigned char hash[TOKEN_HASH]);
/* Random bytes in hexadecimal; `out` has room for two digits each and a NUL. */
int random_hex(char *out, size_t bytes);

/* `grove token`: returns the exit status. */
int cmd_token(int argc, char **argv);

#endif
