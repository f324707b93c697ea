/*
 * store/mysql_url.c: mysql://user[:password]@host[:port][,host[:port]…]/db[?option&…]
 *
 * User and hosts end at the last `@` before the options, so a password may contain
 * anything except `?` and `%`, which are written %3F and %25. Messages never repeat any
 * part of a URL: if it was not understood, the password may be anywhere.
 *
 *     socket=PATH      connect through this socket, not to hosts
 *     tls=off|on|verify   verify: also require a certificate for the server's name
 *     ca=, cert=, key=    files for TLS
 */
#include "store/mysql.h"

#include "base/array.h"

#include <stdlib.h>

static int wrong(struct grove_detail *d, const char *what)
{
	return grove__fail(d, GROVE_EINVAL, NULL,
			   "%s (use mysql://user[:password]@host[:port][,host…]/database)", what);
}

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)(c | 0x20);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* %XX is a byte. A name cannot contain a zero byte. */
static int decode(char **out, const char *p, size_t len, struct grove_detail *d)
{
	struct grove_buf b = GROVE_BUF_INIT;
	int rc = grove__buf_reserve(&b, len);

	for (size_t i = 0; i < len && !rc; i++) {
		int c = (unsigned char)p[i];

		if (c == '%') {
			if (len - i < 3 || hex(p[i + 1]) < 0 || hex(p[i + 2]) < 0)
				goto bad;
			c = hex(p[i + 1]) * 16 + hex(p[i + 2]);
			i += 2;
			if (!c)
				goto bad;
		}
		rc = grove__buf_add_char(&b, (char)c);
	}
	if (rc) {
		grove__buf_release(&b);
		return grove__fail_nomem(d);
	}
	b.ptr[b.len] = '\0';
	free(*out);
	*out = b.ptr;
	return 0;
bad:
	grove__buf_release(&b);
	return wrong(d, "in a mysql: URL, % must be followed by two hexadecimal digits");
}

/* Parses one host: name, name:port, [IPv6], [IPv6]:port. */
static int add_host(struct mysql_place *p, const char *at, size_t len, struct grove_detail *d)
{
	const char *name = at, *end = at + len, *stop, *digits = NULL;
	struct mysql_host *h;
	unsigned long port = 0;
	int rc;

	if (len && *at == '[') {
		name++;
		stop = memchr(at, ']', len);
		if (!stop || (stop + 1 < end && stop[1] != ':'))
			return wrong(d, "the host of the mysql: URL is invalid");
		if (stop + 1 < end)
			digits = stop + 2;
	} else {
		stop = memchr(at, ':', len);
		if (stop)
			digits = stop + 1;
		else
			stop = end;
	}
	for (const char *q = digits; q && q < end; q++) {
		if (*q < '0' || *q > '9' || (port = port * 10 + (unsigned long)(*q - '0')) > 65535)
			return wrong(d, "the port of the mysql: URL is invalid");
	}
	if (digits && !port)
		return wrong(d, "the port of the mysql: URL is invalid");
	if (stop == name)
		return wrong(d, "a mysql: URL must have a host");
	if (grove__array_room(&p->host, &p->cap_hosts, p->nr_hosts, sizeof(*p->host)))
		return grove__fail_nomem(d);
	h = &p->host[p->nr_hosts];
	h->name = NULL;
	h->port = (unsigned)port;
	h->lacks = 0;
	rc = decode(&h->name, name, (size_t)(stop - name), d);
	if (!rc)
		p->nr_hosts++;
	return rc;
}

static int add_hosts(struct mysql_place *p, const char *at, size_t len, struct grove_detail *d)
{
	const char *end = at + len;
	int rc = 0;

	while (!rc) {
		const char *comma = memchr(at, ',', (size_t)(end - at));

		rc = add_host(p, at, (size_t)((comma ? comma : end) - at), d);
		if (!comma)
			break;
		at = comma + 1;
	}
	return rc;
}

static bool is(const char *p, size_t len, const char *word)
{
	return strlen(word) == len && !memcmp(p, word, len);
}

static int add_option(struct mysql_place *p, const char *at, size_t len, struct grove_detail *d)
{
	const char *eq = memchr(at, '=', len), *value = eq ? eq + 1 : NULL;
	size_t name = eq ? (size_t)(eq - at) : len, n = eq ? len - name - 1 : 0;

	if (!len)
		return 0;
	if (value && n && is(at, name, "socket"))
		return decode(&p->socket, value, n, d);
	if (value && n && is(at, name, "ca"))
		return decode(&p->ca, value, n, d);
	if (value && n && is(at, name, "cert"))
		return decode(&p->cert, value, n, d);
	if (value && n && is(at, name, "key"))
		return decode(&p->key, value, n, d);
	if (value && is(at, name, "tls")) {
		if (is(value, n, "off"))
			p->tls = PLACE_TLS_OFF;
		else if (is(value, n, "on"))
			p->tls = PLACE_TLS_ON;
		else if (is(value, n, "verify"))
			p->tls = PLACE_TLS_VERIFY;
		else
			return grove__fail(d, GROVE_EINVAL, NULL, "tls in a mysql: URL must be off, on or verify");
		return 0;
	}
	return grove__fail(d, GROVE_EINVAL, NULL,
			   "the options of a mysql: URL are socket, tls, ca, cert and key");
}

/* Writes the URL for people: no password, no options. */
static int describe(struct mysql_place *p, struct grove_detail *d)
{
	struct grove_buf b = GROVE_BUF_INIT;
	int rc = grove__buf_addf(&b, "mysql://%s%s", p->user, *p->user ? "@" : "");

	for (size_t i = 0; i < p->nr_hosts && !rc; i++) {
		const struct mysql_host *h = &p->host[i];
		bool six = strchr(h->name, ':');

		rc = grove__buf_addf(&b, "%s%s%s%s", i ? "," : "", six ? "[" : "", h->name, six ? "]" : "");
		if (!rc && h->port)
			rc = grove__buf_addf(&b, ":%u", h->port);
	}
	if (!rc)
		rc = grove__buf_addf(&b, "/%s", p->db);
	if (!rc && p->socket)
		rc = grove__buf_addf(&b, "?socket=%s", p->socket);
	if (rc) {
		grove__buf_release(&b);
		return grove__fail_nomem(d);
	}
	p->url = b.ptr;
	return 0;
}

int grove__mysql_parse(struct mysql_place *p, const char *rest, struct grove_detail *d)
{
	const char *end, *at = NULL, *slash, *colon, *q;
	int rc;

	memset(p, 0, sizeof(*p));
	if (strncmp(rest, "//", 2))
		return wrong(d, "not a mysql: URL");
	rest += 2;
	end = strchr(rest, '?');
	if (!end)
		end = rest + strlen(rest);
	for (q = rest; q < end; q++)
		if (*q == '@')
			at = q;
	rc = decode(&p->user, "", 0, d);
	if (!rc)
		rc = decode(&p->password, "", 0, d);
	if (!rc && at) {
		colon = memchr(rest, ':', (size_t)(at - rest));
		rc = decode(&p->user, rest, (size_t)((colon ? colon : at) - rest), d);
		if (!rc && colon)
			rc = decode(&p->password, colon + 1, (size_t)(at - colon - 1), d);
		rest = at + 1;
	}
	if (rc)
		return rc;
	slash = memchr(rest, '/', (size_t)(end - rest));
	if (!slash || slash + 1 == end)
		return wrong(d, "a mysql: URL must have a database");
	for (q = slash + 1; q < end; q++)
		if (*q == '/')
			return wrong(d, "a mysql: URL must end with the database");
	rc = decode(&p->db, slash + 1, (size_t)(end - slash - 1), d);
	for (q = end; !rc && *q;) {
		size_t n = strcspn(++q, "&");

		rc = add_option(p, q, n, d);
		q += n;
	}
	/* with a socket a host has no meaning, and may be left out */
	if (!rc && (slash > rest || !p->socket))
		rc = add_hosts(p, rest, (size_t)(slash - rest), d);
	if (!rc && !p->nr_hosts)
		rc = add_host(p, "localhost", strlen("localhost"), d);
	return rc ? rc : describe(p, d);
}

void grove__mysql_place_release(struct mysql_place *p)
{
	for (size_t i = 0; i < p->nr_hosts; i++)
		free(p->host[i].name);
	free(p->host);
	free(p->user);
	free(p->password);
	free(p->db);
	free(p->socket);
	free(p->ca);
	free(p->cert);
	free(p->key);
	free(p->url);
	memset(p, 0, sizeof(*p));
}
