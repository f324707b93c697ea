/*
 * stream.c: a reply that is sent while it is being written.
 */
#include "stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zlib.h>

#define BLOCK (64u << 10)

struct stream {
	atomic_int refs;
	pthread_mutex_t lock;
	pthread_cond_t room;
	struct grove_buf waiting;
	size_t from;         /* everything before it was sent */
	uint64_t sent;
	int ended;           /* 1: complete; -1: broken off */
	int gone;            /* the reader has left */
	int suspended;
	struct MHD_Connection *connection;
	int gzip;
	z_stream z;
};

int stream_new(unsigned flags, struct stream **out)
{
	struct stream *s = calloc(1, sizeof(*s));

	*out = s;
	if (!s)
		return GROVE_ENOMEM;
	atomic_init(&s->refs, 1);
	s->gzip = !!(flags & STREAM_GZIP);
	if (s->gzip && deflateInit2(&s->z, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
		free(s);
		*out = NULL;
		return GROVE_ENOMEM;
	}
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->room, NULL);
	return 0;
}

void stream_unref(struct stream *s)
{
	if (!s || atomic_fetch_sub(&s->refs, 1) != 1)
		return;
	if (s->gzip)
		deflateEnd(&s->z);
	grove_buf_release(&s->waiting);
	pthread_mutex_destroy(&s->lock);
	pthread_cond_destroy(&s->room);
	free(s);
}

/* ------------------------------------------------------------------- writer */

/* Needs the lock, here and below. */
static void wake_reader(struct stream *s)
{
	if (!s->suspended)
		return;
	s->suspended = 0;
	MHD_resume_connection(s->connection);
}

static int add(struct stream *s, struct grove_slice bytes)
{
	/* discard what was sent once it is more than half, or before the buffer would have to grow */
	if (s->from && (s->from >= s->waiting.len / 2 || s->waiting.len + bytes.len > STREAM_ROOM)) {
		memmove(s->waiting.ptr, s->waiting.ptr + s->from, s->waiting.len - s->from);
		s->waiting.len -= s->from;
		s->from = 0;
	}
	return grove_buf_add(&s->waiting, bytes);
}

static int deflate_into(struct stream *s, struct grove_slice bytes, int flush)
{
	union { const char *from; Bytef *to; } in = { bytes.ptr };
	char out[16384];
	int rc = 0;

	s->z.next_in = in.to;
	s->z.avail_in = (uInt)bytes.len;
	do {
		s->z.next_out = (Bytef *)out;
		s->z.avail_out = sizeof(out);
		deflate(&s->z, flush);
		rc = add(s, (struct grove_slice){ out, sizeof(out) - s->z.avail_out });
	} while (!rc && !s->z.avail_out);
	return rc;
}

static int put(struct stream *s, struct grove_slice bytes, int flush)
{
	int rc = 0;

	while (s->gzip && !rc && bytes.len > BLOCK) {
		rc = deflate_into(s, (struct grove_slice){ bytes.ptr, BLOCK }, Z_NO_FLUSH);
		bytes.ptr += BLOCK;
		bytes.len -= BLOCK;
	}
	if (!rc)
		rc = s->gzip ? deflate_into(s, bytes, flush) : add(s, bytes);
	wake_reader(s);
	return rc;
}

static size_t unsent(const struct stream *s)
{
	return s->waiting.len - s->from;
}

/*
 * If there is no room, waits until half of it is free: less would not be worth waking up for.
 * GROVE_ECANCELLED if the client read nothing for too long.
 */
static int wait_for_room(struct stream *s)
{
	struct timespec until;
	uint64_t sent = s->sent;
	size_t most = unsent(s) < STREAM_ROOM ? STREAM_ROOM : STREAM_ROOM / 2;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += STREAM_PATIENCE_MS / 1000;
	while (!s->gone && unsent(s) > most) {
		if (pthread_cond_timedwait(&s->room, &s->lock, &until) != ETIMEDOUT)
			continue;
		if (s->sent == sent)
			s->gone = 1;
		sent = s->sent;
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_sec += STREAM_PATIENCE_MS / 1000;
	}
	return s->gone ? GROVE_ECANCELLED : 0;
}

int stream_write(struct stream *s, struct grove_slice bytes)
{
	int rc = 0;

	pthread_mutex_lock(&s->lock);
	while (!rc && bytes.len) {
		size_t n = 0;

		rc = wait_for_room(s);
		if (!rc) {
			n = STREAM_ROOM - unsent(s) < bytes.len ? STREAM_ROOM - unsent(s) : bytes.len;
			rc = put(s, (struct grove_slice){ bytes.ptr, n }, Z_NO_FLUSH);
		}
		bytes.ptr += n;
		bytes.len -= n;
	}
	pthread_mutex_unlock(&s->lock);
	return rc;
}

int stream_offer(struct stream *s, struct grove_slice bytes, size_t most)
{
	int rc;

	pthread_mutex_lock(&s->lock);
	if (s->gone)
		rc = GROVE_ECANCELLED;
	else if (unsent(s) + bytes.len > most)
		rc = GROVE_EFULL;
	else
		rc = put(s, bytes, Z_SYNC_FLUSH);
	pthread_mutex_unlock(&s->lock);
	return rc;
}

void stream_end(struct stream *s, int rc)
{
	pthread_mutex_lock(&s->lock);
	if (!rc && s->gzip)
		rc = deflate_into(s, (struct grove_slice){ NULL, 0 }, Z_FINISH);
	if (!s->ended)
		s->ended = rc ? -1 : 1;
	wake_reader(s);
	pthread_mutex_unlock(&s->lock);
}

int stream_gone(struct stream *s)
{
	int gone;

	pthread_mutex_lock(&s->lock);
	gone = s->gone;
	pthread_mutex_unlock(&s->lock);
	return gone;
}

uint64_t stream_sent(struct stream *s)
{
	uint64_t n;

	pthread_mutex_lock(&s->lock);
	n = s->sent;
	pthread_mutex_unlock(&s->lock);
	return n;
}

/* ------------------------------------------------------------------- reader */

static ssize_t read_some(void *payload, uint64_t pos, char *buf, size_t max)
{
	struct stream *s = payload;
	size_t n;
	ssize_t rc;

	(void)pos;
	pthread_mutex_lock(&s->lock);
	n = unsent(s) < max ? unsent(s) : max;
	if (s->gone) {
		rc = MHD_CONTENT_READER_END_WITH_ERROR;
	} else if (n) {
		memcpy(buf, s->waiting.ptr + s->from, n);
		s->from += n;
		s->sent += n;
		pthread_cond_signal(&s->room);
		rc = (ssize_t)n;
	} else if (s->ended) {
		rc = s->ended > 0 ? MHD_CONTENT_READER_END_OF_STREAM : MHD_CONTENT_READER_END_WITH_ERROR;
	} else {
		/*
		 * 0 may be returned only after suspending; otherwise libmicrohttpd would
		 * keep asking
		 */
		s->suspended = 1;
		MHD_suspend_connection(s->connection);
		rc = 0;
	}
	pthread_mutex_unlock(&s->lock);
	return rc;
}

static void reader_gone(void *payload)
{
	struct stream *s = payload;

	pthread_mutex_lock(&s->lock);
	s->gone = 1;
	s->suspended = 0;
	pthread_cond_signal(&s->room);
	pthread_mutex_unlock(&s->lock);
	stream_unref(s);
}

struct MHD_Response *stream_response(struct stream *s, struct MHD_Connection *c)
{
	struct MHD_Response *response;

	s->connection = c;
	response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK, read_some, s, reader_gone);
	if (response)
		atomic_fetch_add(&s->refs, 1);
	return response;
}
