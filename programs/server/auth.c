/*
 * auth.c: who is asking, and what they may do.
 *
 * There are three ways to be recognized: run as the user who runs the server, on the same
 * machine; send a token; or send the cookie that a browser received in exchange for a
 * one-time code or a token. Cookies and codes are stored only as hashes, which are compared
 * in constant time.
 */
#include "auth.h"
#include "held.h"
#include "peer.h"
#include "tokens.h"

#include <openssl/crypto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A one-time code or a cookie. */
struct ticket {
	unsigned char hash[TOKEN_HASH];
	int64_t until;   /* ms; 0: free */
	int of_token;    /* it stands for a token: it ends with that, and has its limits */
	unsigned char token[TOKEN_HASH];
};

struct failures {
	char address[64];
	int64_t since;   /* ms: when the current minute began */
	unsigned nr;
};

struct auth {
	struct server *server;
	char path[4096];      /* of the token file; "" if there is none */
	pthread_mutex_t lock;
	struct tokens *tokens;
	struct ticket cookie[COOKIES_MAX], code[CODES_MAX];
	struct failures failed[ADDRESSES_MAX];
};

int auth_reload(struct auth *a, char *why, size_t size)
{
	struct tokens *fresh, *old;

	if (!*a->path)
		return 0;
	if (tokens_read(a->path, &fresh, why, size))
		return -1;
	pthread_mutex_lock(&a->lock);
	old = a->tokens;
	a->tokens = fresh;
	pthread_mutex_unlock(&a->lock);
	tokens_unref(old);
	return 0;
}

int auth_new(struct server *s, struct auth **out, char *why, size_t size)
{
	struct auth *a = calloc(1, sizeof(*a));

	*out = a;
	if (!a) {
		snprintf(why, size, "out of memory");
		return -1;
	}
	a->server = s;
	pthread_mutex_init(&a->lock, NULL);
	if (s->set->token_file)
		snprintf(a->path, sizeof(a->path), "%s", s->set->token_file);
	else if (settings_default_tokens(a->path, sizeof(a->path)))
		a->path[0] = '\0';
	return auth_reload(a, why, size);
}

void auth_free(struct auth *a)
{
	if (!a)
		return;
	tokens_unref(a->tokens);
	pthread_mutex_destroy(&a->lock);
	free(a);
}

int auth_has_file(const struct auth *a)
{
	return a->server->set->token_file || (*a->path && !access(a->path, F_OK));
}

size_t auth_tokens(struct auth *a)
{
	return a->tokens ? a->tokens->nr : 0;
}

/* ----------------------------------------------------------------- failures */

/* Returns the row for an address, reusing the oldest if the table is full. Needs the lock. */
static struct failures *row(struct auth *a, const char *address)
{
	struct failures *oldest = &a->failed[0];

	for (int i = 0; i < ADDRESSES_MAX; i++) {
		struct failures *f = &a->failed[i];

		if (!strcmp(f->address, address) && f->since)
			return f;
		if (f->since < oldest->since)
			oldest = f;
	}
	memset(oldest, 0, sizeof(*oldest));
	snprintf(oldest->address, sizeof(oldest->address), "%s", address);
	return oldest;
}

/*
 * Counts a failure. Returns true if the address had too many within a minute. What is right
 * passes nevertheless: many clients may have one address, and a stranger among them must not
 * be able to keep the others out. Tokens and codes are too long to be guessed at any speed.
 */
static int failed_too_often(struct auth *a, const char *address)
{
	struct failures *f;
	int yes;

	pthread_mutex_lock(&a->lock);
	f = row(a, address);
	if (!f->since || now_ms() - f->since >= 60000) {
		f->since = now_ms();
		f->nr = 0;
	}
	yes = ++f->nr > FAILURES_MAX;
	pthread_mutex_unlock(&a->lock);
	return yes;
}

/* ------------------------------------------------------------------ tickets */

/* Adds a ticket in place of the oldest. */
static struct ticket *add_ticket(struct ticket *t, size_t nr, const char *text, int64_t until)
{
	struct ticket *free_one = &t[0];

	for (size_t i = 0; i < nr; i++)
		if (t[i].until < free_one->until)
			free_one = &t[i];
	memset(free_one, 0, sizeof(*free_one));
	token_hash(text, free_one->hash);
	free_one->until = until;
	return free_one;
}

static struct ticket *find_ticket(struct ticket *t, size_t nr, const char *text)
{
	unsigned char hash[TOKEN_HASH];
	struct ticket *found = NULL;

	token_hash(text, hash);
	for (size_t i = 0; i < nr; i++)
		if (!CRYPTO_memcmp(hash, t[i].hash, TOKEN_HASH) && t[i].until > now_ms())
			found = &t[i];
	return found;
}

int auth_code(struct auth *a, char *out, size_t size)
{
	char text[33];

	if (size < sizeof(text) || random_hex(text, 16))
		return -1;
	memcpy(out, text, sizeof(text));
	pthread_mutex_lock(&a->lock);
	add_ticket(a->code, CODES_MAX, text, now_ms() + CODE_SECONDS * 1000);
	pthread_mutex_unlock(&a->lock);
	return 0;
}

/* Browsers share cookies between ports, so the cookie's name contains our port. */
static void cookie_name(const struct request *r, char *out, size_t size)
{
	snprintf(out, size, "%sgrove_%u", r->server->tls ? "__Host-" : "", r->peer->listener->port);
}

static void cookie_line(const struct request *r, const char *value, int seconds, char *out, size_t size)
{
	char name[32];

	cookie_name(r, name, sizeof(name));
	snprintf(out, size, "%s=%s; HttpOnly; SameSite=Strict; Path=/; Max-Age=%d%s", name, value,
		 seconds, r->server->tls ? "; Secure" : "");
}

unsigned auth_exchange(struct request *r, const char *word, char *cookie, size_t size)
{
	struct auth *a = r->server->auth;
	const struct token *token;
	struct ticket *code, *t;
	char value[65];

	if (random_hex(value, 32))
		return 500;
	pthread_mutex_lock(&a->lock);
	code = find_ticket(a->code, CODES_MAX, word);
	token = code ? NULL : tokens_find(a->tokens, word);
	if (code)
		memset(code, 0, sizeof(*code));
	if (code || token) {
		t = add_ticket(a->cookie, COOKIES_MAX, value, now_ms() + COOKIE_SECONDS * 1000LL);
		t->of_token = token != NULL;
		if (token)
			memcpy(t->token, token->hash, TOKEN_HASH);
	}
	pthread_mutex_unlock(&a->lock);
	if (!code && !token)
		return failed_too_often(a, r->client) ? 429 : 403;
	cookie_line(r, value, COOKIE_SECONDS, cookie, size);
	return 0;
}

/* Copies our cookie's value from the Cookie header. Returns 0 if there is none. */
static int find_cookie(const struct request *r, char *out, size_t size)
{
	const char *p = MHD_lookup_connection_value(r->connection, MHD_HEADER_KIND, "Cookie");
	char name[32];
	size_t n, len;

	cookie_name(r, name, sizeof(name));
	n = strlen(name);
	while (p && *p) {
		p += strspn(p, " \t;");
		len = strcspn(p, ";");
		if (len > n && !strncmp(p, name, n) && p[n] == '=' && len - n - 1 < size) {
			memcpy(out, p + n + 1, len - n - 1);
			out[len - n - 1] = '\0';
			return 1;
		}
		p += len;
	}
	return 0;
}

void auth_logout(struct request *r, char *cookie, size_t size)
{
	struct auth *a = r->server->auth;
	struct ticket *t;
	char value[80];

	if (find_cookie(r, value, sizeof(value))) {
		pthread_mutex_lock(&a->lock);
		t = find_ticket(a->cookie, COOKIES_MAX, value);
		if (t)
			memset(t, 0, sizeof(*t));
		pthread_mutex_unlock(&a->lock);
	}
	cookie_line(r, "", 0, cookie, size);
}

/* ----------------------------------------------------------------- identity */

static unsigned refuse(struct request *r, unsigned status, const char *why)
{
	r->detail.code = GROVE_EACCESS;
	snprintf(r->detail.message, sizeof(r->detail.message), "%s", why);
	return status;
}

static void become(struct request *r, const struct token *t)
{
	r->who.token = t;
	r->who.scope = t->scope;
	r->who.name = t->name;
}

static unsigned by_token(struct request *r, const char *header)
{
	struct auth *a = r->server->auth;
	const struct token *t = NULL;

	pthread_mutex_lock(&a->lock);
	r->who.tokens = tokens_ref(a->tokens);
	pthread_mutex_unlock(&a->lock);
	if (!strncasecmp(header, "Bearer ", 7))
		t = tokens_find(r->who.tokens, header + 7 + strspn(header + 7, " "));
	if (t)
		become(r, t);
	else if (failed_too_often(a, r->client))
		return refuse(r, 429, "too many wrong tokens from this address; wait a minute");
	return t ? 0 : refuse(r, 401, "this token is unknown");
}

static unsigned by_cookie(struct request *r, const char *value)
{
	struct auth *a = r->server->auth;
	const struct token *token = NULL;
	struct ticket *t;
	int known;

	pthread_mutex_lock(&a->lock);
	t = find_ticket(a->cookie, COOKIES_MAX, value);
	if (t && t->of_token) {
		r->who.tokens = tokens_ref(a->tokens);
		token = tokens_with_hash(r->who.tokens, t->token);
	}
	known = t && (token || !t->of_token);
	pthread_mutex_unlock(&a->lock);
	if (!known)
		return refuse(r, 401, "this browser's access has expired; open the server's address with #t= and a token");
	r->who.scope = SCOPE_WRITE;
	r->who.name = "cookie";
	if (token)
		become(r, token);
	return 0;
}

static unsigned by_place(struct request *r)
{
	switch (peer_user(r->peer)) {
	case PEER_SAME:
		r->who.scope = SCOPE_WRITE;
		r->who.name = "local";
		return 0;
	case PEER_OTHER:
		return refuse(r, 403, "this server answers only the user who runs it; others need a token");
	default:
		return refuse(r, 403, "it cannot be determined which user sent the request; send a token");
	}
}

unsigned auth_identify(struct request *r, int trusted)
{
	const char *header = MHD_lookup_connection_value(r->connection, MHD_HEADER_KIND, "Authorization");
	char cookie[80];
	unsigned status;

	if (header)
		status = by_token(r, header);
	else if (trusted && !r->server->set->auth)
		status = by_place(r);
	else if (find_cookie(r, cookie, sizeof(cookie)))
		status = by_cookie(r, cookie);
	else
		status = refuse(r, 401, "a token is required (Authorization: Bearer …)");
	if (!status && r->server->set->read_only && r->who.scope > SCOPE_READ)
		r->who.scope = SCOPE_READ;
	return status;
}

int auth_limited(const struct identity *who)
{
	return who->token && (who->token->nr_stores || who->token->nr_projects);
}

/* Returns true if any part of the path is "..". */
static int has_dots(const char *path)
{
	for (const char *p = path; (p = strstr(p, "..")); p += 2)
		if ((p == path || p[-1] == '/') && (!p[2] || p[2] == '/'))
			return 1;
	return 0;
}

/* Returns true if `cwd` is this directory or below it. */
static int is_below(const char *cwd, const char *dir)
{
	size_t n = strlen(dir);

	if (has_dots(cwd))
		return 0;
	while (n > 1 && dir[n - 1] == '/')
		n--;
	return !strncmp(cwd, dir, n) && (!cwd[n] || cwd[n] == '/' || n == 1);
}

int auth_in_projects(const struct identity *who, const char *cwd)
{
	const struct token *t = who->token;
	int ok = !t || !t->nr_projects;

	for (size_t i = 0; !ok && i < t->nr_projects; i++)
		ok = cwd && *cwd && is_below(cwd, t->projects[i]);
	return ok;
}

int auth_allows(const struct identity *who, const char *store, const char *cwd)
{
	const struct token *t = who->token;
	int ok = !t || !t->nr_stores;

	for (size_t i = 0; !ok && i < t->nr_stores; i++)
		ok = store && store_is(store, t->stores[i]);
	return ok && auth_in_projects(who, cwd);
}
