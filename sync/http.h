/*
 * http.h: asking a server.
 *
 * One connection, kept open between questions. What the server says is not trusted:
 * answers have a limit, redirects are not followed, and no other protocol is spoken.
 */
#ifndef SYNC_HTTP_H
#define SYNC_HTTP_H

#include <grove.h>

/* A JSON answer has at most this many bytes, and so has a line or a file. */
#define HTTP_ANSWER_MAX ((size_t)64 << 20)

struct http;

/*
 * `url` is http://HOST[:PORT], https://… or unix:PATH; `token` may be NULL. `stopped`
 * is asked now and then: if it answers other than 0, what is under way is given up.
 * -1 and a sentence in `why` for an address that is none.
 */
int http_open(const char *url, const char *token, int (*stopped)(void), struct http **out, char *why, size_t size);
/* A second connection to the same server, for another thread. NULL: no memory. */
struct http *http_dup(const struct http *h);
void http_close(struct http *h);

typedef int http_sink_fn(void *payload, const char *ptr, size_t len);

struct http_call {
	const char *method;          /* NULL: GET */
	const char *path;            /* below /api/v1, with its query */
	const char *type;            /* of the body; NULL: none */
	struct grove_slice body;
	http_sink_fn *sink;          /* for the body of a success; NULL: it goes to `answer` */
	void *payload;
	int endless;                 /* a stream of events: silence is not a failure */
	/* the answer */
	long status;                 /* 0: the server was not reached, or broke off */
	int has_state;
	int foreign;                 /* the answer is not from grove */
	uint64_t seq, generation;    /* of the headers */
	struct grove_buf answer;
	char why[400];               /* after a failure */
};

/*
 * 0, or a negative grove_error: that of the answer, or of the sink. GROVE_EIO with status
 * 0 if the server cannot be reached. Release with http_call_release().
 */
int http_ask(struct http *h, struct http_call *c);
void http_call_release(struct http_call *c);

/* Appends a text with all that has a meaning in a URL encoded; `keep` is left as it is. */
int http_escape(struct grove_buf *out, const char *text, const char *keep);

#endif
