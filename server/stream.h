/*
 * stream.h: a reply that is sent while it is written.
 *
 * One side writes, on a thread of its own; the other is libmicrohttpd, which asks
 * for bytes. When there are none its connection is suspended, and the next write
 * resumes it: one flag under one lock, for suspending twice is undefined. When too
 * much waits to be sent the writer waits, or, for events, gives up its reader.
 */
#ifndef SERVER_STREAM_H
#define SERVER_STREAM_H

#include "server.h"

#define STREAM_PATIENCE_MS 60000   /* for which a reader may take nothing */

enum stream_flags {
	STREAM_GZIP = 1
};

/* Two ends hold it, the writer and the reply: each gives up its own. */
int stream_new(unsigned flags, struct stream **out);
void stream_unref(struct stream *s);

/*
 * Adds bytes, and waits while more than STREAM_ROOM are unsent. GROVE_ECANCELLED if
 * the reader has left, or takes nothing.
 */
int stream_write(struct stream *s, struct grove_slice bytes);
/* The same without waiting: GROVE_EFULL if more than `most` would be unsent. */
int stream_offer(struct stream *s, struct grove_slice bytes, size_t most);
/* Nothing more comes; `rc` other than 0: it broke off, and the connection shows that. */
void stream_end(struct stream *s, int rc);
/* Has the reader left? */
int stream_gone(struct stream *s);
uint64_t stream_sent(struct stream *s);

/* The other end: the response that reads from it. It holds the stream. */
struct MHD_Response *stream_response(struct stream *s, struct MHD_Connection *c);

#endif
