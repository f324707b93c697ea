/*
 * reply.h: the reply to a request.
 *
 * Handlers write JSON to r->out, or through reply_sink() if it may be long. They return 0,
 * or an error with its detail in r->detail.
 */
#ifndef SERVER_REPLY_H
#define SERVER_REPLY_H

#include "server.h"

/* For content that we did not write: nothing in it may run. */
#define CSP_SANDBOX "sandbox; default-src 'none'"

/* Returned by a handler whose stream continues after it returns. */
#define REPLY_GOES_ON 1

/* The HTTP status of an error. */
unsigned reply_status(int code);
/*
 * Replaces r->out with the error in r->detail. With `status` 0, the status follows from the
 * code.
 */
void reply_error(struct request *r, int code, unsigned status);
/* Fill in r->detail and return `code`. */
int reply_fail(struct request *r, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
int reply_fail_grove(struct request *r, int code);
int reply_fail_session(struct request *r, struct grove_session *s, int code);
int reply_fail_view(struct request *r, const struct grove_view *v, int code);
/* Sets an error with a status other than the code's own. */
int reply_fail_status(struct request *r, unsigned status, int code, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

void reply_header(struct request *r, const char *name, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * Sets the ETag for the state that the reply shows. Returns 1 if the client has it already,
 * so that nothing is left to do (304).
 */
int reply_etag(struct request *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The same with a literal ETag. Does nothing if the client does not have it. */
int reply_has_etag(struct request *r, const char *etag);

/*
 * For replies that may be long. Up to a page is buffered and sent in one piece; beyond that
 * the reply starts, and the thread waits for the client when necessary.
 */
struct grove_sink reply_sink(struct request *r);
/* Called when the handler has returned `rc`. */
void reply_end(struct request *r, int rc);

/* Passes the reply to libmicrohttpd, on the connection's own thread. */
enum MHD_Result reply_queue(struct request *r);

#endif
