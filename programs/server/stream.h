/*
 * stream.h: a reply that is sent while it is being written.
 *
 * The writer has its own thread; the reader is libmicrohttpd, which asks for bytes. When
 * there are none its connection is suspended, and the next write resumes it. A flag under
 * the lock guards this, because suspending twice is undefined. When too much is unsent the
 * writer waits or, for events, drops its reader.
 */
#ifndef SERVER_STREAM_H
#define SERVER_STREAM_H

#include "server.h"

enum stream_flags {
	STREAM_GZIP = 1
};

/* The writer and the response each hold a reference, and release it separately. */
int stream_new(unsigned flags, struct stream **out);
void stream_unref(struct stream *s);

/*
 * Adds bytes, and waits so that never more than STREAM_ROOM are unsent. GROVE_ECANCELLED if
 * the client has left, or reads nothing for too long.
 */
int stream_write(struct stream *s, struct grove_slice bytes);
/* The same without waiting: GROVE_EFULL if more than `most` bytes would be unsent. */
int stream_offer(struct stream *s, struct grove_slice bytes, size_t most);
/* Ends the stream. With `rc` other than 0 it is broken off, which the client can see. */
void stream_end(struct stream *s, int rc);
/* Returns true if the client has left. */
int stream_gone(struct stream *s);
uint64_t stream_sent(struct stream *s);

/* Creates the response that reads from the stream and holds a reference to it. */
struct MHD_Response *stream_response(struct stream *s, struct MHD_Connection *c);

#endif
