/*
 * peer.c: the clients at the other end of our connections.
 *
 * libmicrohttpd closes an idle connection, but a client that sends one byte per second can
 * keep one open forever. So a thread looks at all connections once a second, and shuts down
 * the sockets of those that have not sent a complete header in time, or whose body arrives
 * or whose reply leaves too slowly. We never close a socket: libmicrohttpd notices the
 * shutdown and does that. It calls peer_end() first, under the same lock, so we never shut
 * down a descriptor that has been reused.
 *
 * Connections whose next header is not complete are waiting: those that have to send it
 * (PEER_HEADER), and those that may be idle between two requests (PEER_IDLE). As
 * libmicrohttpd does not tell when the first byte of the next header arrives, the kernel is
 * asked how many it has received. The waiting ones of each address are in two queues. If
 * there are too many connections, the address that has the most waiting ones loses the one
 * that has waited longest, so nobody can keep others out by opening more of them.
 */
#include "peer.h"
#include "kit/text.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define SLOTS 256u                   /* a power of two */

/* Connections that wait, those that have waited longest first. */
struct queue {
	struct peer *first, *last;
};

/* Where connections come from: an address, or an IPv6 network, whose owner has all of its addresses. */
struct place {
	struct place *next;
	char name[64];
	unsigned peers;              /* its connections */
	unsigned waiting;            /* how many of them are in the queues: */
	struct queue header, idle;
};

struct peers {
	pthread_mutex_t lock;
	pthread_cond_t stop_cond;
	pthread_t sweeper;
	struct peer *first;
	struct place *place[SLOTS];
	unsigned nr;
	unsigned cut;                /* how many were shut down, and have not ended */
	int stop;
};

/* ------------------------------------------------------------------ waiting */

/* All of this needs the lock. */
static struct queue *queue_of(struct peer *p)
{
	return p->phase == PEER_HEADER ? &p->place->header : p->phase == PEER_IDLE ? &p->place->idle : NULL;
}

static void enqueue(struct peer *p)
{
	struct queue *q = queue_of(p);

	if (!q || p->cut)
		return;
	p->before = q->last;
	p->behind = NULL;
	if (q->last)
		q->last->behind = p;
	else
		q->first = p;
	q->last = p;
	p->place->waiting++;
}

static void dequeue(struct peer *p)
{
	struct queue *q = queue_of(p);

	if (!q || p->cut)
		return;
	if (p->before)
		p->before->behind = p->behind;
	else
		q->first = p->behind;
	if (p->behind)
		p->behind->before = p->before;
	else
		q->last = p->before;
	p->place->waiting--;
}

static void enter(struct peer *p, int phase, int64_t now, int64_t allowed)
{
	dequeue(p);
	p->phase = phase;
	p->since = now;
	p->allowed = allowed;
	enqueue(p);
}

static void cut(struct peers *all, struct peer *p)
{
	if (p->cut)
		return;
	dequeue(p);
	p->cut = 1;
	all->cut++;
	shutdown(p->fd, SHUT_RDWR);
}

/* Of all that wait at the address that has the most of them, the one that has waited longest. */
static struct peer *longest_waiting(struct peers *all)
{
	struct place *most = NULL;
	struct peer *p, *q;

	for (unsigned i = 0; i < SLOTS; i++)
		for (struct place *x = all->place[i]; x; x = x->next)
			if (x->waiting && (!most || x->waiting > most->waiting))
				most = x;
	if (!most)
		return NULL;
	p = most->header.first;
	q = most->idle.first;
	return !p || (q && q->since < p->since) ? q : p;
}

void peers_make_room(struct peers *all)
{
	struct peer *p;

	pthread_mutex_lock(&all->lock);
	if (all->nr - all->cut >= CONNECTIONS_CROWDED && (p = longest_waiting(all)))
		cut(all, p);
	pthread_mutex_unlock(&all->lock);
}

/* -------------------------------------------------------------------- sweep */

/* Returns how many bytes the client has sent so far, or 0 if the system does not tell. */
static uint64_t bytes_of(int fd)
{
	struct tcp_info info = { 0 };
	socklen_t n = sizeof(info);

	return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &n) ? 0 : info.tcpi_bytes_received;
}

static int too_slow(const struct peer *p, int64_t now)
{
	int64_t ms = now - p->since;

	if (p->phase == PEER_BODY)
		return ms > BODY_GRACE_MS && p->received < (uint64_t)(ms / 1000) * BYTES_PER_SECOND;
	return p->allowed && ms > p->allowed;
}

/* Closes those that have been without a header for longest, of an address that has too many of them. */
static void thin_out(struct peers *all, struct place *x, int64_t now)
{
	struct peer *p = x->header.first;
	unsigned nr = 0;

	for (; p && now - p->since > HEADER_GRACE_MS; p = p->behind)
		nr++;
	for (; nr > HEADERLESS_MAX; nr--)
		cut(all, x->header.first);
}

static void look_at_all(struct peers *all)
{
	int64_t now = now_ms();

	for (struct peer *p = all->first; p; p = p->next) {
		if (p->phase == PEER_IDLE && !p->cut && p->bytes && bytes_of(p->fd) > p->bytes)
			enter(p, PEER_HEADER, now, HEADER_SECONDS * 1000);
		if (too_slow(p, now))
			cut(all, p);
	}
	for (unsigned i = 0; i < SLOTS; i++)
		for (struct place *x = all->place[i]; x; x = x->next)
			if (*x->name)
				thin_out(all, x, now);
}

static void *sweep(void *payload)
{
	struct peers *all = payload;
	struct timespec until;

	pthread_mutex_lock(&all->lock);
	while (!all->stop) {
		look_at_all(all);
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

/* ---------------------------------------------------------- where they come from */

static void name_place(char *out, size_t size, const struct sockaddr *address, const char *text)
{
	union { const struct sockaddr *any; const struct sockaddr_in6 *v6; } u = { address };
	struct in6_addr net = { 0 };

	if (strchr(text, ':')) {
		memcpy(&net, &u.v6->sin6_addr, 8);
		inet_ntop(AF_INET6, &net, out, (socklen_t)size);
	} else {
		snprintf(out, size, "%s", text);
	}
}

static struct place **find_place(struct peers *all, const char *name)
{
	struct place **p;
	uint32_t h = text_hash(TEXT_HASH_BEGIN, name);

	for (p = &all->place[(h ^ h >> 16) & (SLOTS - 1)]; *p && strcmp((*p)->name, name) != 0; p = &(*p)->next)
		;
	return p;
}

/* Finds the place, or adds it. */
static struct place *take_place(struct peers *all, const char *name)
{
	struct place **p = find_place(all, name);

	if (!*p && (*p = calloc(1, sizeof(**p))))
		snprintf((*p)->name, sizeof((*p)->name), "%s", name);
	if (*p)
		(*p)->peers++;
	return *p;
}

static void leave_place(struct peers *all, struct place *x)
{
	struct place **p;

	if (--x->peers)
		return;
	p = find_place(all, x->name);
	*p = x->next;
	free(x);
}

/* ------------------------------------------------------------- one connection */

struct peer *peer_begin(struct peers *all, const struct listener *l, int fd,
			const struct sockaddr *address)
{
	struct peer *p = calloc(1, sizeof(*p));
	char name[64];

	if (!p)
		return NULL;
	p->fd = fd;
	p->listener = l;
	address_text(address, p->address, sizeof(p->address));
	p->loopback = is_loopback(p->address);
	name_place(name, sizeof(name), address, p->address);
	pthread_mutex_lock(&all->lock);
	p->place = take_place(all, name);
	if (p->place) {
		p->phase = PEER_HEADER;
		p->since = now_ms();
		p->allowed = HEADER_SECONDS * 1000;
		enqueue(p);
		p->next = all->first;
		if (p->next)
			p->next->prev = p;
		all->first = p;
		all->nr++;
	}
	pthread_mutex_unlock(&all->lock);
	if (!p->place) {
		free(p);
		return NULL;
	}
	return p;
}

void peer_end(struct peers *all, struct peer *p)
{
	if (!p)
		return;
	pthread_mutex_lock(&all->lock);
	dequeue(p);
	leave_place(all, p->place);
	if (p->next)
		p->next->prev = p->prev;
	if (p->prev)
		p->prev->next = p->next;
	else
		all->first = p->next;
	all->nr--;
	all->cut -= p->cut;
	pthread_mutex_unlock(&all->lock);
	free(p);
}

void peer_enter(struct peers *all, struct peer *p, int phase)
{
	uint64_t bytes = phase == PEER_IDLE ? bytes_of(p->fd) : 0;

	pthread_mutex_lock(&all->lock);
	/* libmicrohttpd limits the time without any traffic */
	enter(p, phase, now_ms(), phase == PEER_IDLE ? (IDLE_SECONDS + HEADER_SECONDS) * 1000 : 0);
	p->bytes = bytes;
	p->received = 0;
	pthread_mutex_unlock(&all->lock);
}

void peer_sends(struct peers *all, struct peer *p, uint64_t bytes)
{
	pthread_mutex_lock(&all->lock);
	enter(p, PEER_REPLY, now_ms(), IDLE_SECONDS * 1000 + (int64_t)(bytes / BYTES_PER_SECOND) * 1000);
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
