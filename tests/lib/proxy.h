/*
 * tests/lib/proxy.h: a TCP proxy that forwards a local port to a server's port
 * and can cut the connection.
 *
 * A client that reaches a server through it can be made to lose the connection
 * after any number of bytes in either direction. All functions assert that they
 * succeed. Include after cmocka.h.
 */
#ifndef TESTS_LIB_PROXY_H
#define TESTS_LIB_PROXY_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PROXY_PAIRS = 32, PROXY_TO_SERVER = 0, PROXY_TO_CLIENT = 1 };

struct proxy {
	int listening, wake[2];
	unsigned short port, target;
	pthread_t thread;
	pthread_mutex_t lock;
	int fd[PROXY_PAIRS][2];  /* client, server; -1: free */
	long left[2];            /* bytes left before all connections are cut; -1: no limit */
	unsigned cuts;
	bool end;
};

static inline int proxy_socket(unsigned short *port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(*port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

	assert_true(fd >= 0);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	assert_int_equal(bind(fd, (struct sockaddr *)&a, len), 0);
	assert_int_equal(listen(fd, 16), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &len), 0);
	*port = ntohs(a.sin_port);
	return fd;
}

static inline void proxy_drop_all(struct proxy *p)
{
	for (int i = 0; i < PROXY_PAIRS; i++)
		for (int k = 0; k < 2; k++)
			if (p->fd[i][k] >= 0) {
				close(p->fd[i][k]);
				p->fd[i][k] = -1;
			}
}

static inline void proxy_accept(struct proxy *p)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(p->target),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int client = accept(p->listening, NULL, NULL), server, one = 1;

	if (client < 0)
		return;
	server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	for (int i = 0; i < PROXY_PAIRS; i++)
		if (p->fd[i][0] < 0) {
			if (connect(server, (struct sockaddr *)&a, sizeof(a)))
				break;
			setsockopt(server, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
			setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
			p->fd[i][0] = client;
			p->fd[i][1] = server;
			return;
		}
	close(client);
	close(server);
}

/* Forwards bytes from one side of a connection to the other. */
static inline void proxy_carry(struct proxy *p, int i, int from)
{
	int way = from == 0 ? PROXY_TO_SERVER : PROXY_TO_CLIENT;
	char buf[65536];
	ssize_t n = read(p->fd[i][from], buf, sizeof(buf));
	bool cut = false;

	if (n > 0 && p->left[way] >= 0) {
		cut = n >= p->left[way];
		if (cut)
			n = p->left[way];
		p->left[way] -= n;
	}
	for (ssize_t at = 0, w; n > 0 && at < n; at += w) {
		w = send(p->fd[i][!from], buf + at, (size_t)(n - at), MSG_NOSIGNAL);
		if (w <= 0) {
			n = 0;
			break;
		}
	}
	if (cut) {
		p->left[0] = p->left[1] = -1;
		p->cuts++;
		proxy_drop_all(p);
	} else if (n <= 0) {
		close(p->fd[i][0]);
		close(p->fd[i][1]);
		p->fd[i][0] = p->fd[i][1] = -1;
	}
}

static inline void *proxy_run(void *arg)
{
	struct proxy *p = arg;

	for (;;) {
		struct pollfd poll_fd[2 + 2 * PROXY_PAIRS];

		pthread_mutex_lock(&p->lock);
		poll_fd[0] = (struct pollfd){ p->listening, POLLIN, 0 };
		poll_fd[1] = (struct pollfd){ p->wake[0], POLLIN, 0 };
		for (int i = 0; i < 2 * PROXY_PAIRS; i++)
			poll_fd[2 + i] = (struct pollfd){ p->fd[i / 2][i % 2], POLLIN, 0 };
		pthread_mutex_unlock(&p->lock);
		poll(poll_fd, 2 + 2 * PROXY_PAIRS, -1);
		pthread_mutex_lock(&p->lock);
		if (p->end)
			break;
		for (int i = 0; i < 2 * PROXY_PAIRS; i++)
			if (poll_fd[2 + i].revents && p->fd[i / 2][i % 2] == poll_fd[2 + i].fd &&
			    poll_fd[2 + i].fd >= 0)
				proxy_carry(p, i / 2, i % 2);
		if (poll_fd[0].revents)
			proxy_accept(p);
		pthread_mutex_unlock(&p->lock);
	}
	proxy_drop_all(p);
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

static inline void proxy_start(struct proxy *p, unsigned short target)
{
	memset(p, 0, sizeof(*p));
	memset(p->fd, -1, sizeof(p->fd));
	p->left[0] = p->left[1] = -1;
	p->target = target;
	p->listening = proxy_socket(&p->port);
	assert_int_equal(pipe(p->wake), 0);
	pthread_mutex_init(&p->lock, NULL);
	assert_int_equal(pthread_create(&p->thread, NULL, proxy_run, p), 0);
}

/* Cuts all connections after so many bytes in one direction. */
static inline void proxy_cut(struct proxy *p, int way, long after)
{
	pthread_mutex_lock(&p->lock);
	p->left[0] = p->left[1] = -1;
	p->left[way] = after;
	pthread_mutex_unlock(&p->lock);
}

static inline void proxy_stop(struct proxy *p)
{
	pthread_mutex_lock(&p->lock);
	p->end = true;
	pthread_mutex_unlock(&p->lock);
	assert_int_equal(write(p->wake[1], "x", 1), 1);
	pthread_join(p->thread, NULL);
	close(p->listening);
	close(p->wake[0]);
	close(p->wake[1]);
}

#endif
