/*
 * tokens.h: who may ask from elsewhere: the file of tokens.
 *
 * A line for each: name, SHA-256 of the token in hexadecimal digits, "read" or
 * "write", then its limits, each "store=URL" or "project=DIR"; a tab between them.
 * Tokens have 256 bits of the system's randomness, so their hash needs no salt.
 */
#ifndef SERVER_TOKENS_H
#define SERVER_TOKENS_H

#include "server.h"

#define TOKEN_HASH 32
#define TOKEN_MAX 64   /* characters of a token, and its NUL */
#define TOKEN_NAME_MAX 64

struct token {
	char *name;
	unsigned char hash[TOKEN_HASH];
	enum scope scope;
	char **stores, **projects;  /* empty: all */
	size_t nr_stores, nr_projects;
};

/* What a file says. It is shared: requests hold it while they are answered. */
struct tokens {
	atomic_int refs;
	struct token *token;
	size_t nr;
};

/* Reads a file. Returns 0, or -1 and a sentence in `why`. A file that is not there has no tokens. */
int tokens_read(const char *path, struct tokens **out, char *why, size_t size);
struct tokens *tokens_ref(struct tokens *t);
void tokens_unref(struct tokens *t);
/* The token with this text; NULL: there is none. As slow for a wrong one as for a right one. */
const struct token *tokens_find(const struct tokens *t, const char *text);

/* A new token's text. Returns 0, or -1 if there is no randomness. */
int token_make(char text[TOKEN_MAX]);
void token_hash(const char *text, unsigned char hash[TOKEN_HASH]);
/* Random bytes as hexadecimal digits; `out` has room for twice as many and a NUL. */
int random_hex(char *out, size_t bytes);

/* `grove token`: returns the exit status. */
int cmd_token(int argc, char **argv);

#endif
