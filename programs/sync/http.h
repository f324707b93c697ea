/*
 * http.h: requests to a server.
 *
 * One connection, kept open between requests. The server is not trusted: answers are
 * limited in size and time, redirects are not followed, and no other protocol is used.
 */
#ifndef SYNC_HTTP_H
#define SYNC_HTTP_H

#include <grove.h>

/* The maximum size of a JSON answer, and of a line or file. */
#define HTTP_ANSWER_MAX ((size_t)64 << 20)
/* Of all headers of an answer, with those that come before and after it. */
#define HTTP_HEADERS_MAX ((size_t)256 << 10)
/*
 * How long a request may take, in seconds: so much, and one more for each HTTP_PACE bytes
 * that were transferred; but never more than HTTP_LONGEST.
 */
#define HTTP_PATIENCE 60
#define HTTP_PACE (16 << 10)
#define HTTP_LONGEST 3600

struct http;

/*
 * `url` is http://HOST[:PORT], https://… or unix:PATH; `token` may be NULL. `stopped` is
 * called now and then: if it returns non-zero, the current request is abandoned. Returns -1
 * and a message in `why` for an invalid address.
 */
int http_open(const char *url, const char *token, int (*stopped)(void), struct http **out, char *why, size_t size);
/* Opens a second connection to the same server, for another thread. NULL if out of memory. */
struct http *http_dup(const struct http *h);
void http_close(struct http *h);
/* The server's address, for messages. */
const char *http_name(const struct http *h);

typedef int http_sink_fn(void *payload, const char *ptr, size_t len);

struct http_call {
	const char *method;          /* NULL for GET */
	const char *path;            /* below /api/v1, with its query */
	const char *type;            /* of the body; NULL if none */
	struct grove_slice body;
	http_sink_fn *sink;          /* receives the body of a success; NULL to collect it in
	                                `answer` */
	void *payload;
	uint64_t most;               /* bytes of that body; 0: HTTP_ANSWER_MAX */
	int endless;                 /* a stream of events, without end */
	/* the answer */
	long status;                 /* 0 if the server was not reached, or the connection broke */
	int has_state;
	int foreign;                 /* the answer is not from grove */
	int late;                    /* it took too long, although something came */
	uint64_t received;           /* bytes of the body, unpacked */
	uint64_t seq, generation;    /* from the headers */
	struct grove_buf answer;
	char why[400];               /* after a failure; a sink that fails may say why itself */
};

/*
 * Returns 0 or a negative grove_error: that of the answer, or of the sink. GROVE_EIO with
 * status 0 if the server cannot be reached. Release with http_call_release().
 */
int http_ask(struct http *h, struct http_call *c);
void http_call_release(struct http_call *c);

/* Milliseconds, of a clock that is never set. */
int64_t http_clock(void);

/* Appends a text, escaped for a URL except for the characters in `keep`. */
int http_escape(struct grove_buf *out, const char *text, const char *keep);

#endif
