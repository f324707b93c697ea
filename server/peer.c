/*
 * peer.c: the clients at the other end of our connections.
 *
 * libmicrohttpd closes an idle connection, but a client that sends one byte per second can
 * keep one open forever. So a thread checks all connections once a second, and shuts down
 * the sockets of those that have not sent a complete header in time or whose body arrives
 * too slowly. We never close a socket: libmicrohttpd notices the shutdown and does that. It
 * calls peer_end() first, under the same lock, so we never shut down a descriptor that has
 * been reused.
 */
#include "peer.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define BODY_GRACE_MS 10000
#define BODY_BYTES_PER_SECOND 1024

struct peers {
	pthread_mutex_t lock;
	pthread_cond_t stop_cond;
	pthread_t sweeper;
	struct peer *first;
	unsigned nr;
	int stop;
};

/* -------------------------------------------------------------------- sweep */

static int too_slow(const struct peer *p, int64_t now)
{
	int64_t ms = now - p->since;

	switch (p->phase) {
	case PEER_HEADER:
		return ms > p->allowed;
	case PEER_BODY:
		return ms > BODY_GRACE_MS &&
		       p->received < (uint64_t)(ms / 1000) * BODY_BYTES_PER_SECOND;
	default:
		return 0;
	}
}

static void *sweep(void *payload)
{
	struct peers *all = payload;
	struct timespec until;

	pthread_mutex_lock(&all->lock);
	while (!all->stop) {
		int64_t now = now_ms();

		for (struct peer *p = all->first; p; p = p->next)
			if (too_slow(p, now))
				shutdown(p->fd, SHUT_RDWR);
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_sec++;
		pthread_cond_timedwait(&all->stop_cond, &all->lock, &until);
	}
	pthread_mutex_unlock(&all->lock);
	return NULL;
}

int peers_new(struct peers **out)
{
	struct peers *p = calloc(1, sizeof(*p));

	*out = NULL;
	if (!p)
		return -1;
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->stop_cond, NULL);
	if (pthread_create(&p->sweeper, NULL, sweep, p)) {
		free(p);
		return -1;
	}
	*out = p;
	return 0;
}

void peers_free(struct peers *p)
{
	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	p->stop = 1;
	pthread_cond_signal(&p->stop_cond);
	pthread_mutex_unlock(&p->lock);
	pthread_join(p->sweeper, NULL);
	pthread_mutex_destroy(&p->lock);
	pthread_cond_destroy(&p->stop_cond);
	free(p);
}

/* -------------------------------------------------------------- connections */

/* An IPv4 address that arrives at an IPv6 socket is spelled as IPv4. */
static void spell_v6(const struct in6_addr *a, char *out, size_t size)
{
	if (IN6_IS_ADDR_V4MAPPED(a))
		inet_ntop(AF_INET, &a->s6_addr[12], out, (socklen_t)size);
	else
		inet_ntop(AF_INET6, a, out, (socklen_t)size);
}

static void address_text(const struct sockaddr *a, char *out, size_t size)
{
	union { const struct sockaddr *any; const struct sockaddr_in *v4; const struct sockaddr_in6 *v6; } u = { a };

	*out = '\0';
	if (a && a->sa_family == AF_INET)
		inet_ntop(AF_INET, &u.v4->sin_addr, out, (socklen_t)size);
	else if (a && a->sa_family == AF_INET6)
		spell_v6(&u.v6->sin6_addr, out, size);
}

int address_read(const char *text, char *out, size_t size)
{
	struct in6_addr v6;
	struct in_addr v4;

	if (inet_pton(AF_INET, text, &v4) == 1)
		inet_ntop(AF_INET, &v4, out, (socklen_t)size);
	else if (inet_pton(AF_INET6, text, &v6) == 1)
		spell_v6(&v6, out, size);
	else
		return -1;
	return 0;
}

static int is_loopback(const char *address)
{
	return !*address || !strncmp(address, "127.", 4) || !strcmp(address, "::1");
}

int peers_accept(struct peers *p, const struct sockaddr *address)
{
	char text[64];
	unsigned nr = 0;

	address_text(address, text, sizeof(text));
	pthread_mutex_lock(&p->lock);
	for (const struct peer *q = p->first; q && nr < HEADERLESS_MAX; q = q->next)
		nr += q->phase == PEER_HEADER && q->allowed == HEADER_SECONDS * 1000 &&
		      !strcmp(q->address, text);
	pthread_mutex_unlock(&p->lock);
	return nr < HEADERLESS_MAX;
}

struct peer *peer_begin(struct peers *all, const struct listener *l, int fd,
			const struct sockaddr *address)
{
	struct peer *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->fd = fd;
	p->listener = l;
	address_text(address, p->address, sizeof(p->address));
	p->loopback = is_loopback(p->address);
	p->since = now_ms();
	p->allowed = HEADER_SECONDS * 1000;
	pthread_mutex_lock(&all->lock);
	p->next = all->first;
	if (p->next)
		p->next->prev = p;
	all->first = p;
	all->nr++;
	pthread_mutex_unlock(&all->lock);
	return p;
}

void peer_end(struct peers *all, struct peer *p)
{
	if (!p)
		return;
	pthread_mutex_lock(&all->lock);
	if (p->next)
		p->next->prev = p->prev;
	if (p->prev)
		p->prev->next = p->next;
	else
		all->first = p->next;
	all->nr--;
	pthread_mutex_unlock(&all->lock);
	free(p);
}

void peer_enter(struct peers *all, struct peer *p, int phase)
{
	pthread_mutex_lock(&all->lock);
	p->phase = phase;
	p->since = now_ms();
	p->received = 0;
	/* a connection may be idle between requests; libmicrohttpd limits that time */
	p->allowed = (IDLE_SECONDS + HEADER_SECONDS) * 1000;
	pthread_mutex_unlock(&all->lock);
}

void peer_received(struct peers *all, struct peer *p, size_t bytes)
{
	pthread_mutex_lock(&all->lock);
	p->received += bytes;
	pthread_mutex_unlock(&all->lock);
}

unsigned peers_count(struct peers *p)
{
	unsigned n;

	pthread_mutex_lock(&p->lock);
	n = p->nr;
	pthread_mutex_unlock(&p->lock);
	return n;
}

/* -------------------------------------------------------------------- users */

/* The two ends of a connection, as the kernel's table lists them for the other side. */
struct ends {
	int family;
	unsigned char theirs[16], ours[16];
	in_port_t their_port, our_port;
};

static int end_of(const struct sockaddr_storage *a, unsigned char address[16], in_port_t *port)
{
	union { const struct sockaddr_storage *any; const struct sockaddr_in *v4; const struct sockaddr_in6 *v6; } u = { a };

	memset(address, 0, 16);
	if (a->ss_family == AF_INET) {
		memcpy(address, &u.v4->sin_addr, 4);
		*port = u.v4->sin_port;
		return 0;
	}
	if (a->ss_family == AF_INET6) {
		memcpy(address, &u.v6->sin6_addr, 16);
		*port = u.v6->sin6_port;
		return 0;
	}
	return -1;
}

static int ends_of(int fd, struct ends *e)
{
	union { struct sockaddr any; struct sockaddr_storage room; } ours, theirs;
	socklen_t n = sizeof(ours), m = sizeof(theirs);

	if (getsockname(fd, &ours.any, &n) || getpeername(fd, &theirs.any, &m))
		return -1;
	e->family = ours.any.sa_family;
	if (end_of(&ours.room, e->ours, &e->our_port))
		return -1;
	return end_of(&theirs.room, e->theirs, &e->their_port);
}

/* Asks the kernel for one row of its socket table. Returns the user id, or -1. */
static long ask_netlink(const struct ends *e)
{
	struct {
		struct nlmsghdr head;
		struct inet_diag_req_v2 ask;
	} out = { 0 };
	union {
		struct nlmsghdr head;
		char room[1024];
	} in;
	struct inet_diag_msg *found;
	long user = -1;
	ssize_t n;
	int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);

	if (fd < 0)
		return -1;
	out.head.nlmsg_len = sizeof(out);
	out.head.nlmsg_type = SOCK_DIAG_BY_FAMILY;
	out.head.nlmsg_flags = NLM_F_REQUEST;
	out.ask.sdiag_family = (unsigned char)e->family;
	out.ask.sdiag_protocol = IPPROTO_TCP;
	out.ask.idiag_states = ~0u;
	out.ask.id.idiag_sport = e->their_port;
	out.ask.id.idiag_dport = e->our_port;
	memcpy(out.ask.id.idiag_src, e->theirs, 16);
	memcpy(out.ask.id.idiag_dst, e->ours, 16);
	out.ask.id.idiag_cookie[0] = out.ask.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
	if (send(fd, &out, sizeof(out), 0) == (ssize_t)sizeof(out)) {
		n = recv(fd, &in, sizeof(in), 0);
		if (n > 0 && NLMSG_OK(&in.head, (unsigned)n) && in.head.nlmsg_type == SOCK_DIAG_BY_FAMILY) {
			found = NLMSG_DATA(&in.head);
			user = found->id.idiag_sport == e->their_port ? (long)found->idiag_uid : -1;
		}
	}
	close(fd);
	return user;
}

/* Spells an address as /proc/net/tcp does: words in the machine's byte order. */
static void proc_address(char *out, size_t size, const unsigned char *address, int family, in_port_t port)
{
	size_t at = 0;

	for (int i = 0; i < (family == AF_INET ? 1 : 4); i++) {
		uint32_t word;

		memcpy(&word, address + 4 * i, 4);
		at += (size_t)snprintf(out + at, size - at, "%08X", word);
	}
	snprintf(out + at, size - at, ":%04X", ntohs(port));
}

/* Reads the same table as text, where netlink is not available. */
static long ask_proc(const struct ends *e)
{
	char theirs[48], ours[48], local[48], remote[48], line[512];
	FILE *f = fopen(e->family == AF_INET ? "/proc/net/tcp" : "/proc/net/tcp6", "re");
	unsigned long user;
	long found = -1;

	if (!f)
		return -1;
	proc_address(theirs, sizeof(theirs), e->theirs, e->family, e->their_port);
	proc_address(ours, sizeof(ours), e->ours, e->family, e->our_port);
	while (found < 0 && fgets(line, sizeof(line), f))
		if (sscanf(line, " %*[^:]: %47s %47s %*s %*s %*s %*s %lu", local, remote, &user) == 3 &&
		    !strcmp(local, theirs) && !strcmp(remote, ours))
			found = (long)user;
	fclose(f);
	return found;
}

static long user_of_unix(int fd)
{
	struct ucred who;
	socklen_t n = sizeof(who);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &n) ? -1 : (long)who.uid;
}

enum peer_user peer_user(struct peer *p)
{
	struct ends e;
	long user;

	if (p->user != PEER_UNASKED)
		return p->user;
	if (p->listener->is_unix) {
		user = user_of_unix(p->fd);
	} else if (ends_of(p->fd, &e)) {
		user = -1;
	} else {
		user = ask_netlink(&e);
		if (user < 0)
			user = ask_proc(&e);
	}
	p->user = user < 0 ? PEER_UNKNOWN : (uid_t)user == geteuid() ? PEER_SAME : PEER_OTHER;
	return p->user;
}
