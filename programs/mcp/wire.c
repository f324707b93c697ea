/*
 * wire.c: reads and writes lines.
 */
#include "wire.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct wire {
	int in, out;
	/* buf[at … len) is unread input; buf[at … seen) is known to contain no line end */
	char *buf;
	size_t at, seen, len, cap;
	int ended;
	pthread_mutex_t lock;
	int broken;              /* the errno of the first write that failed */
};

struct wire *wire_new(int in, int out)
{
	struct wire *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->in = in;
	w->out = out;
	pthread_mutex_init(&w->lock, NULL);
	return w;
}

void wire_free(struct wire *w)
{
	if (!w)
		return;
	pthread_mutex_destroy(&w->lock);
	free(w->buf);
	free(w);
}

/* Waits for input. Returns true if nobody can read our answers any more. */
static int await_input(const struct wire *w)
{
	struct pollfd fds[] = { { .fd = w->in, .events = POLLIN }, { .fd = w->out } };

	while (poll(fds, 2, -1) < 0 && errno == EINTR)
		;
	return !fds[0].revents && fds[1].revents & (POLLERR | POLLHUP);
}

/* Makes room and reads once. Returns 0 or -1. */
static int fill(struct wire *w)
{
	ssize_t n;

	if (w->at) {
		memmove(w->buf, w->buf + w->at, w->len - w->at);
		w->len -= w->at;
		w->seen -= w->at;
		w->at = 0;
	}
	if (w->len == w->cap) {
		size_t cap = w->cap ? w->cap * 2 : 65536;
		char *buf = realloc(w->buf, cap);

		if (!buf)
			return -1;
		w->buf = buf;
		w->cap = cap;
	}
	if (await_input(w)) {
		w->ended = 1;
		return 0;
	}
	do
		n = read(w->in, w->buf + w->len, w->cap - w->len);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -1;
	w->ended = n == 0;
	w->len += (size_t)n;
	return 0;
}

/* Takes the line that ends at `end`. */
static enum wire_result take(struct wire *w, size_t end, int too_long, struct grove_slice *line)
{
	line->ptr = w->buf + w->at;
	line->len = end - w->at;
	w->at = w->seen = end < w->len ? end + 1 : end;
	return too_long || line->len > WIRE_LINE_MAX ? WIRE_TOO_LONG : WIRE_LINE;
}

static enum wire_result read_any(struct wire *w, struct grove_slice *line)
{
	int too_long = 0;

	for (;;) {
		const char *end = w->len > w->seen ? memchr(w->buf + w->seen, '\n', w->len - w->seen) : NULL;

		if (end)
			return take(w, (size_t)(end - w->buf), too_long, line);
		w->seen = w->len;
		if (w->ended)
			return w->at < w->len ? take(w, w->len, too_long, line) : too_long ? WIRE_TOO_LONG : WIRE_END;
		if (w->len - w->at > WIRE_LINE_MAX) {
			/* drop what was read of it, and wait for its end */
			too_long = 1;
			w->at = w->len;
		}
		if (fill(w))
			return WIRE_FAILED;
	}
}

enum wire_result wire_read(struct wire *w, struct grove_slice *line)
{
	enum wire_result r;

	do {
		r = read_any(w, line);
		while (r == WIRE_LINE && line->len && memchr(" \t\r", line->ptr[line->len - 1], 3))
			line->len--;
	} while (r == WIRE_LINE && !line->len);
	return r;
}

static int write_all(int fd, const char *ptr, size_t len)
{
	while (len) {
		ssize_t n = write(fd, ptr, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno;
		ptr += n;
		len -= (size_t)n;
	}
	return 0;
}

void wire_write(struct wire *w, struct grove_slice line)
{
	pthread_mutex_lock(&w->lock);
	if (!w->broken)
		w->broken = write_all(w->out, line.ptr, line.len);
	if (!w->broken)
		w->broken = write_all(w->out, "\n", 1);
	pthread_mutex_unlock(&w->lock);
}

int wire_broken(struct wire *w)
{
	int why;

	pthread_mutex_lock(&w->lock);
	why = w->broken;
	pthread_mutex_unlock(&w->lock);
	return why;
}
