/*
 * tokens.c: reading the token file.
 */
#include "kit/store_url.h"
#include "tokens.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

int random_hex(char *out, size_t bytes)
{
	unsigned char raw[64];

	if (bytes > sizeof(raw) || getrandom(raw, bytes, 0) != (ssize_t)bytes)
		return -1;
	for (size_t i = 0; i < bytes; i++)
		snprintf(out + 2 * i, 3, "%02x", raw[i]);
	return 0;
}

/* A token is "grove_" and 32 bytes in URL-safe base64 without padding. */
int token_make(char text[TOKEN_MAX])
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
	unsigned char raw[33] = { 0 };
	size_t n = 6;

	if (getrandom(raw, 32, 0) != 32)
		return -1;
	memcpy(text, "grove_", n);
	for (unsigned bit = 0; bit < 256; bit += 6) {
		unsigned two = (unsigned)raw[bit / 8] << 8 | raw[bit / 8 + 1];

		text[n++] = digits[two >> (10 - bit % 8) & 63];
	}
	text[n] = '\0';
	return 0;
}

void token_hash(const char *text, unsigned char hash[TOKEN_HASH])
{
	unsigned n = TOKEN_HASH;

	/* if hashing fails, no token may match */
	if (!EVP_Digest(text, strlen(text), hash, &n, EVP_sha256(), NULL))
		abort();
}

static int hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int read_hash(const char *text, unsigned char hash[TOKEN_HASH])
{
	if (strlen(text) != 2 * TOKEN_HASH)
		return -1;
	for (int i = 0; i < TOKEN_HASH; i++) {
		int high = hex_digit(text[2 * i]), low = hex_digit(text[2 * i + 1]);

		if (high < 0 || low < 0)
			return -1;
		hash[i] = (unsigned char)(high << 4 | low);
	}
	return 0;
}

static int add(char ***list, size_t *nr, const char *text)
{
	char **more = realloc(*list, (*nr + 1) * sizeof(*more));

	if (!more)
		return -1;
	*list = more;
	more[*nr] = strdup(text);
	if (!more[*nr])
		return -1;
	++*nr;
	return 0;
}

static int read_limit(struct token *t, const char *text)
{
	if (!strncmp(text, "store=", 6)) {
		if (add(&t->stores, &t->nr_stores, text + 6))
			return -1;
		/* the URLs that it is compared with have no password */
		store_url_hide_password(t->stores[t->nr_stores - 1]);
		return 0;
	}
	if (!strncmp(text, "project=", 8))
		return add(&t->projects, &t->nr_projects, text + 8);
	return -1;
}

static void token_release(struct token *t)
{
	for (size_t i = 0; i < t->nr_stores; i++)
		free(t->stores[i]);
	for (size_t i = 0; i < t->nr_projects; i++)
		free(t->projects[i]);
	free(t->stores);
	free(t->projects);
	free(t->name);
}

/* Returns the next word, up to a tab, or NULL. */
static char *word(char **line)
{
	return *line ? strsep(line, "\t") : NULL;
}

static int read_line(struct token *t, char *line)
{
	const char *name = word(&line), *hash = word(&line), *scope = word(&line), *limit;

	if (!name || !*name || !hash || !scope || read_hash(hash, t->hash))
		return -1;
	if (!strcmp(scope, "write"))
		t->scope = SCOPE_WRITE;
	else if (!strcmp(scope, "read"))
		t->scope = SCOPE_READ;
	else
		return -1;
	while ((limit = word(&line)))
		if (read_limit(t, limit))
			return -1;
	t->name = strdup(name);
	return t->name ? 0 : -1;
}

static int add_line(struct tokens *t, char *line)
{
	struct token *more = realloc(t->token, (t->nr + 1) * sizeof(*more));

	if (!more)
		return -1;
	t->token = more;
	memset(&more[t->nr], 0, sizeof(*more));
	if (read_line(&more[t->nr], line)) {
		token_release(&more[t->nr]);
		return -1;
	}
	t->nr++;
	return 0;
}

/*
 * Others must not have access: the hashes are no secret, but whoever can write to the file
 * can grant access.
 */
static int private(FILE *f, const char *path, char *why, size_t size)
{
	struct stat st;

	if (fstat(fileno(f), &st) || !(st.st_mode & 077))
		return 0;
	snprintf(why, size, "%s: others may read or write it (chmod 600 it)", path);
	return -1;
}

static int read_all(struct tokens *t, FILE *f, const char *path, char *why, size_t size)
{
	char *line = NULL;
	size_t room = 0;
	ssize_t n;
	unsigned nr = 0;
	int rc = 0;

	while (!rc && (n = getline(&line, &room, f)) >= 0) {
		nr++;
		while (n && (line[n - 1] == '\n' || line[n - 1] == '\r'))
			line[--n] = '\0';
		if (!n || *line == '#')
			continue;
		rc = add_line(t, line);
		if (rc)
			snprintf(why, size, "%s: line %u is not a token", path, nr);
	}
	if (!rc && ferror(f)) {
		snprintf(why, size, "%s: %s", path, strerror(errno));
		rc = -1;
	}
	free(line);
	return rc;
}

int tokens_read(const char *path, struct tokens **out, char *why, size_t size)
{
	struct tokens *t = calloc(1, sizeof(*t));
	FILE *f;
	int rc = 0;

	*out = NULL;
	if (!t) {
		snprintf(why, size, "out of memory");
		return -1;
	}
	atomic_init(&t->refs, 1);
	f = fopen(path, "re");
	if (f) {
		rc = private(f, path, why, size);
		if (!rc)
			rc = read_all(t, f, path, why, size);
		fclose(f);
	} else if (errno != ENOENT) {
		snprintf(why, size, "%s: %s", path, strerror(errno));
		rc = -1;
	}
	if (rc)
		tokens_unref(t);
	else
		*out = t;
	return rc;
}

struct tokens *tokens_ref(struct tokens *t)
{
	if (t)
		atomic_fetch_add(&t->refs, 1);
	return t;
}

void tokens_unref(struct tokens *t)
{
	if (!t || atomic_fetch_sub(&t->refs, 1) != 1)
		return;
	for (size_t i = 0; i < t->nr; i++)
		token_release(&t->token[i]);
	free(t->token);
	free(t);
}

const struct token *tokens_with_hash(const struct tokens *t, const unsigned char hash[TOKEN_HASH])
{
	const struct token *found = NULL;

	for (size_t i = 0; t && i < t->nr; i++)
		if (!CRYPTO_memcmp(hash, t->token[i].hash, TOKEN_HASH))
			found = &t->token[i];
	return found;
}

const struct token *tokens_find(const struct tokens *t, const char *text)
{
	unsigned char hash[TOKEN_HASH];

	token_hash(text, hash);
	return tokens_with_hash(t, hash);
}
