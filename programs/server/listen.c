/*
 * listen.c: the addresses the server listens on.
 */
#include "listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
	struct sockaddr_un un;
	struct sockaddr_storage room;
};

static int fail(const char *spec, const char *what, char *why, size_t size)
{
	snprintf(why, size, "%.200s: %s", spec, what);
	return -1;
}

/* Fills in URL, Host and port from what the socket is bound to. */
static void describe(struct listener *l, int tls)
{
	union address a = { .any = { 0 } };
	socklen_t n = sizeof(a);
	char text[64] = "";

	getsockname(l->fd, &a.any, &n);
	if (a.any.sa_family == AF_UNIX) {
		l->is_unix = l->loopback = 1;
		snprintf(l->url, sizeof(l->url), "unix:%s", a.un.sun_path);
		return;
	}
	if (a.any.sa_family == AF_INET) {
		inet_ntop(AF_INET, &a.v4.sin_addr, text, sizeof(text));
		l->port = ntohs(a.v4.sin_port);
		l->loopback = ntohl(a.v4.sin_addr.s_addr) >> 24 == 127;
		snprintf(l->host, sizeof(l->host), "%s:%u", text, l->port);
	} else {
		inet_ntop(AF_INET6, &a.v6.sin6_addr, text, sizeof(text));
		l->port = ntohs(a.v6.sin6_port);
		l->loopback = !!IN6_IS_ADDR_LOOPBACK(&a.v6.sin6_addr);
		snprintf(l->host, sizeof(l->host), "[%s]:%u", text, l->port);
	}
	snprintf(l->url, sizeof(l->url), "%s://%s", tls ? "https" : "http", l->host);
}

/*
 * Returns true if the socket was left by a server that was killed. One that answers belongs
 * to somebody else.
 */
static int is_left_behind(const union address *a, socklen_t len)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int refused = fd >= 0 && connect(fd, &a->any, len) && errno == ECONNREFUSED;

	if (fd >= 0)
		close(fd);
	return refused;
}

static int open_unix(struct listener *l, const char *spec, char *why, size_t size)
{
	const char *path = spec + 5;
	union address a = { .any = { 0 } };
	mode_t mask;
	int rc;

	a.un.sun_family = AF_UNIX;
	if (!*path || strlen(path) >= sizeof(a.un.sun_path))
		return fail(spec, "the path of a socket must have 1 to 107 bytes", why, size);
	memcpy(a.un.sun_path, path, strlen(path) + 1);
	if (is_left_behind(&a, sizeof(a.un)))
		unlink(path);
	l->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (l->fd < 0)
		return fail(spec, strerror(errno), why, size);
	mask = umask(0177);
	rc = bind(l->fd, &a.any, sizeof(a.un));
	umask(mask);
	if (rc || listen(l->fd, LISTEN_BACKLOG)) {
		rc = fail(spec, strerror(errno), why, size);
		close(l->fd);
		l->fd = -1;
		return rc;
	}
	snprintf(l->path, sizeof(l->path), "%s", path);
	describe(l, 0);
	return 0;
}

/* Splits "HOST:PORT" and strips the brackets of an IPv6 address. */
static int split(const char *spec, char *host, size_t size, const char **port)
{
	const char *colon = strrchr(spec, ':'), *from = spec;
	size_t n;

	if (!colon)
		return -1;
	*port = colon + 1;
	n = (size_t)(colon - spec);
	if (n >= 2 && spec[0] == '[' && colon[-1] == ']') {
		from++;
		n -= 2;
	} else if (memchr(spec, ':', n)) {
		return -1;
	}
	if (n >= size || !**port || (*port)[strspn(*port, "0123456789")])
		return -1;
	memcpy(host, from, n);
	host[n] = '\0';
	return 0;
}

static int bind_one(struct listener *l, const struct addrinfo *a)
{
	int on = 1;

	l->fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (l->fd < 0)
		return -1;
	setsockopt(l->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (!bind(l->fd, a->ai_addr, a->ai_addrlen) && !listen(l->fd, LISTEN_BACKLOG))
		return 0;
	on = errno;
	close(l->fd);
	l->fd = -1;
	errno = on;
	return -1;
}

int listen_check(const char *spec, char *why, size_t size)
{
	char host[256];
	const char *port;

	if (strncmp(spec, "unix:", 5) && split(spec, host, sizeof(host), &port))
		return fail(spec, "an address must be HOST:PORT or unix:PATH", why, size);
	return 0;
}

int listen_open(struct listener *l, const char *spec, int tls, char *why, size_t size)
{
	struct addrinfo hints = { .ai_flags = AI_PASSIVE, .ai_socktype = SOCK_STREAM }, *found = NULL;
	char host[256];
	const char *port;
	int rc;

	memset(l, 0, sizeof(*l));
	l->fd = -1;
	if (!strncmp(spec, "unix:", 5))
		return open_unix(l, spec, why, size);
	if (listen_check(spec, why, size))
		return -1;
	split(spec, host, sizeof(host), &port);
	rc = getaddrinfo(*host ? host : NULL, port, &hints, &found);
	if (rc)
		return fail(spec, gai_strerror(rc), why, size);
	rc = bind_one(l, found);
	if (rc)
		fail(spec, strerror(errno), why, size);
	else
		describe(l, tls);
	freeaddrinfo(found);
	return rc;
}

int listen_inherit(struct listener *l, int fd, int tls, char *why, size_t size)
{
	int listening = 0;
	socklen_t n = sizeof(listening);

	memset(l, 0, sizeof(*l));
	l->fd = fd;
	if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &n) || !listening)
		return fail("LISTEN_FDS", "not a listening socket", why, size);
	describe(l, tls);
	return 0;
}

unsigned listen_inherited(void)
{
	const char *pid = getenv("LISTEN_PID"), *nr = getenv("LISTEN_FDS");
	long n;

	if (!pid || !nr || atol(pid) != (long)getpid())
		return 0;
	n = atol(nr);
	return n < 0 ? 0 : n > LISTENERS_MAX ? LISTENERS_MAX : (unsigned)n;
}

void listen_close(struct listener *l)
{
	if (l->fd >= 0)
		close(l->fd);
	if (*l->path)
		unlink(l->path);
	l->fd = -1;
}

void listen_raise_limits(void)
{
	struct rlimit r;

	if (!getrlimit(RLIMIT_NOFILE, &r) && r.rlim_cur < r.rlim_max) {
		/*
		 * a limit; some libraries still use select(), which cannot handle high
		 * descriptors
		 */
		r.rlim_cur = r.rlim_max < 65536 ? r.rlim_max : 65536;
		setrlimit(RLIMIT_NOFILE, &r);
	}
}
