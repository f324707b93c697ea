/*
 * gate.c: checks that every request must pass before it is handled.
 *
 * In this order: is it a single request, with no header that could hide another; is its
 * target valid; is it addressed to us (the Host header, which a page of another origin
 * cannot forge even if its name resolves to us); does it come from our own page or from a
 * program (Origin, Sec-Fetch-Site); who sent it; does the route exist, and may they use it;
 * can we read the body.
 */
#include "gate.h"
#include "auth.h"
#include "peer.h"
#include "route.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned __attribute__((format(printf, 4, 5)))
refuse(struct request *r, unsigned status, int code, const char *fmt, ...)
{
	va_list ap;

	r->detail.code = code;
	va_start(ap, fmt);
	vsnprintf(r->detail.message, sizeof(r->detail.message), fmt, ap);
	va_end(ap);
	return status;
}

static const char *header(const struct request *r, const char *name)
{
	return MHD_lookup_connection_value(r->connection, MHD_HEADER_KIND, name);
}

/* ------------------------------------------------------------ one request? */

struct seen {
	unsigned host, length, transfer, origin, authorization, type, site;
	unsigned odd;    /* names that are not valid */
	unsigned cut;    /* values with a CR, where another program may see their end */
};

static int begins(const char *name, const char *with)
{
	size_t n = strlen(with);

	return !strncasecmp(name, with, n) && name[n];
}

/*
 * The HTTP library accepts "Content-Length : 5", whose name ends with a space, and appends
 * a continuation line to the header's name: "Content-Length:" and " 5" become
 * "Content-Length5". Either way it misses the length that a proxy saw.
 */
static int odd_name(const char *name)
{
	size_t n = strspn(name, "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");

	return !n || name[n] || begins(name, "Content-Length") || begins(name, "Transfer-Encoding");
}

static enum MHD_Result count(void *payload, enum MHD_ValueKind kind, const char *name, const char *value)
{
	struct seen *s = payload;

	(void)kind;
	s->cut += value && strchr(value, '\r');
	s->host += !strcasecmp(name, "Host");
	s->length += !strcasecmp(name, "Content-Length");
	s->transfer += !strcasecmp(name, "Transfer-Encoding");
	s->origin += !strcasecmp(name, "Origin");
	s->authorization += !strcasecmp(name, "Authorization");
	s->type += !strcasecmp(name, "Content-Type");
	s->site += !strcasecmp(name, "Sec-Fetch-Site");
	s->odd += odd_name(name);
	return MHD_YES;
}

/* Accepts digits only: programs disagree about how to read "+1", "1, 1" and "0x1". */
static int good_length(const char *value)
{
	size_t n = strspn(value, "0123456789");

	return n && n < 19 && !value[n];
}

/*
 * Requests are smuggled past a proxy by bytes that two programs read differently. If a
 * request is ambiguous, we close the connection.
 */
static unsigned is_one(struct request *r)
{
	struct seen s = { 0 };
	const char *length = header(r, "Content-Length"), *transfer = header(r, "Transfer-Encoding");
	unsigned status = 0;

	MHD_get_connection_values(r->connection, MHD_HEADER_KIND, count, &s);
	if (s.odd)
		status = refuse(r, 400, GROVE_EINVAL, "the name of a header is invalid");
	else if (s.cut)
		status = refuse(r, 400, GROVE_EINVAL, "the value of a header is invalid");
	else if (s.host != 1)
		status = refuse(r, 400, GROVE_EINVAL, "a request must have exactly one Host header");
	else if (s.length > 1 || s.transfer > 1 || (s.length && s.transfer))
		status = refuse(r, 400, GROVE_EINVAL, "the length of the body is given more than once");
	else if (s.origin > 1 || s.authorization > 1 || s.type > 1 || s.site > 1)
		status = refuse(r, 400, GROVE_EINVAL, "a header that may occur only once occurs twice");
	else if (transfer && strcasecmp(transfer, "chunked"))
		status = refuse(r, 501, GROVE_ENOTSUP, "the only transfer encoding that is supported is chunked");
	else if (length && !good_length(length))
		status = refuse(r, 400, GROVE_EINVAL, "Content-Length must be a number");
	else if (r->why)
		status = refuse(r, 400, GROVE_EINVAL, "the target is invalid: %s", r->why);
	r->close |= status != 0;
	return status;
}

/* ---------------------------------------------------------------- who asks? */

/* Proxies add the address that they see to the end, some of them in a header of its own. */
static enum MHD_Result last_forwarded(void *payload, enum MHD_ValueKind kind, const char *name, const char *value)
{
	const char **last = payload;

	(void)kind;
	if (!strcasecmp(name, "X-Forwarded-For"))
		*last = value;
	return MHD_YES;
}

/* Copies the last item of a list with commas, of which *len bytes are left, and takes it off. */
static void take_last(const char *list, size_t *len, char *out, size_t size)
{
	size_t from = *len, n;

	while (from && list[from - 1] != ',')
		from--;
	n = *len - from;
	*len = from ? from - 1 : 0;
	for (list += from; n && strchr(" \t", *list); n--)
		list++;
	while (n && strchr(" \t", list[n - 1]))
		n--;
	snprintf(out, size, "%.*s", n < size ? (int)n : 0, list);
}

/*
 * The address of the client: the last one that no trusted proxy has. What stands before it
 * in X-Forwarded-For is the client's own words.
 */
static void find_client(struct request *r)
{
	const struct settings *set = r->server->set;
	const char *list = NULL;
	char text[64];
	size_t len;

	snprintf(r->client, sizeof(r->client), "%s", r->peer->address);
	if (set->proxies.nr)
		MHD_get_connection_values(r->connection, MHD_HEADER_KIND, last_forwarded, &list);
	len = list ? strlen(list) : 0;
	while (len && settings_trust(set, r->client)) {
		take_last(list, &len, text, sizeof(text));
		if (address_read(text, r->client, sizeof(r->client)))
			return;
	}
}

/* ------------------------------------------------------------ meant for us? */

/* Returns the host of a URL, and its length. */
static const char *host_of(const char *url, size_t *len)
{
	const char *p = strstr(url, "://");

	p = p ? p + 3 : url;
	*len = strcspn(p, "/");
	return p;
}

static int is_host(const char *host, const char *want, size_t len)
{
	return strlen(host) == len && !strncasecmp(host, want, len);
}

/* Returns the public URL that a Host header matches, or NULL. */
static const char *public_url(const struct request *r, const char *host)
{
	const struct opt_list *urls = &r->server->set->public_urls;

	for (size_t i = 0; i < urls->nr; i++) {
		size_t len;
		const char *want = host_of(urls->item[i], &len);

		if (is_host(host, want, len))
			return urls->item[i];
	}
	return NULL;
}

/* Returns true if the name always refers to this machine. */
static int is_local_host(const struct listener *l, const char *host)
{
	static const char *const names[] = { "127.0.0.1", "localhost", "[::1]", "grove.localhost" };
	char full[64];

	for (int i = 0; i < 4; i++) {
		if (l->is_unix)
			snprintf(full, sizeof(full), "%s", names[i]);
		else
			snprintf(full, sizeof(full), "%s:%u", names[i], l->port);
		if (!strcasecmp(host, full))
			return 1;
	}
	return 0;
}

/* What the Host header tells us. */
struct addressed {
	const char *host;
	const char *url;   /* the matching public URL, or NULL */
	int local;
};

static unsigned is_for_us(struct request *r, struct addressed *to)
{
	const struct listener *l = r->peer->listener;

	to->host = header(r, "Host");
	to->local = is_local_host(l, to->host);
	to->url = public_url(r, to->host);
	if (to->local || to->url || (*l->host && !strcasecmp(to->host, l->host)))
		return 0;
	r->close = 1;
	return refuse(r, 403, GROVE_EACCESS,
		      "this server does not answer to that Host (use --public-url to add an address)");
}

/* ------------------------------------------------------------- from our page? */

static int is_our_origin(const struct request *r, const struct addressed *to, const char *origin)
{
	char ours[320];
	size_t len;
	const char *host;

	if (to->url) {
		host = host_of(to->url, &len);
		snprintf(ours, sizeof(ours), "%.*s", (int)(host + len - to->url), to->url);
	} else {
		snprintf(ours, sizeof(ours), "%s://%s", r->server->tls ? "https" : "http", to->host);
	}
	return !strcasecmp(origin, ours);
}

static int only_reads(const struct request *r)
{
	return !strcmp(r->method, "GET") || !strcmp(r->method, "HEAD");
}

static int under_api(const struct request *r)
{
	return r->target.nr_segments && !strcmp(r->target.segment[0], "api");
}

static unsigned is_same_site(struct request *r, const struct addressed *to)
{
	const char *site = header(r, "Sec-Fetch-Site"), *origin = header(r, "Origin");

	if (!under_api(r))
		return 0;
	if (site && strcasecmp(site, "same-origin") && strcasecmp(site, "none"))
		return refuse(r, 403, GROVE_EACCESS, "requests from pages of other sites are refused");
	if (origin && !is_our_origin(r, to, origin))
		return refuse(r, 403, GROVE_EACCESS, "requests from pages of other origins are refused");
	if (only_reads(r))
		return 0;
	if (!origin && (!header(r, "Authorization") || header(r, "Cookie")))
		return refuse(r, 403, GROVE_EACCESS,
			      "to change something, send Origin with this server's address, or a token and no cookie");
	if (!header(r, "X-Grove") || strcmp(header(r, "X-Grove"), "1"))
		return refuse(r, 403, GROVE_EACCESS, "to change something, send the header X-Grove: 1");
	return 0;
}

/* ------------------------------------------------------------------ the rest */

static unsigned find_route(struct request *r)
{
	unsigned methods;

	r->route = route_find(r, &methods);
	if (r->route)
		return 0;
	if (!methods)
		return refuse(r, 404, GROVE_ENOTFOUND, "there is nothing at this address");
	route_allow_header(r, methods);
	return refuse(r, 405, GROVE_ENOTSUP, "this address does not accept %.16s", r->method);
}

static unsigned has_scope(struct request *r)
{
	if (r->who.scope >= r->route->scope)
		return 0;
	if (r->server->set->read_only)
		return refuse(r, 403, GROVE_EACCESS, "this server only reads (--read-only)");
	return refuse(r, 403, GROVE_EACCESS, "this token may only read");
}

static int is_type(const char *type, const char *want)
{
	size_t n = strlen(want);

	return type && !strncasecmp(type, want, n) && (!type[n] || strchr("; \t", type[n]));
}

static unsigned good_body(struct request *r)
{
	const char *length = header(r, "Content-Length");
	const char *takes = r->route->takes ? r->route->takes : "application/json";
	int has = header(r, "Transfer-Encoding") || (length && strtoull(length, NULL, 10) > 0);

	if (!has)
		return 0;
	if (length && strtoull(length, NULL, 10) > route_body_max(r)) {
		r->close = 1;
		return refuse(r, 413, GROVE_ETOOBIG, "a body can have at most %u bytes", route_body_max(r));
	}
	if (!only_reads(r) && !is_type(header(r, "Content-Type"), takes))
		return refuse(r, 415, GROVE_EINVAL, "the body must be %s", takes);
	return 0;
}

/* Returns true if nothing suggests that the request was forwarded for somebody elsewhere. */
static int from_here(const struct request *r, const struct addressed *to)
{
	return r->peer->listener->loopback && to->local && !header(r, "Forwarded") &&
	       !header(r, "X-Forwarded-For") && !header(r, "Via");
}

unsigned gate_check(struct request *r)
{
	struct addressed to;
	unsigned status;

	find_client(r);
	status = is_one(r);
	if (!status)
		status = is_for_us(r, &to);
	if (!status)
		status = is_same_site(r, &to);
	if (!status)
		status = find_route(r);
	if (!status && r->route->scope > SCOPE_NONE) {
		status = auth_identify(r, from_here(r, &to));
		if (!status)
			status = has_scope(r);
	}
	if (!status)
		status = good_body(r);
	return status;
}
