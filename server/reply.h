/*
 * reply.h: what is said in answer to a request.
 *
 * Functions of routes write JSON to r->out, or through reply_sink() where it may
 * become long. They return 0, or an error whose detail is in r->detail.
 */
#ifndef SERVER_REPLY_H
#define SERVER_REPLY_H

#include "server.h"

/* For bytes of others: nothing in them may run. */
#define CSP_SANDBOX "sandbox; default-src 'none'"

/* What the function of a route returns when its stream goes on without it. */
#define REPLY_GOES_ON 1

/* The HTTP status of an error. */
unsigned reply_status(int code);
/* Makes r->out the error that r->detail tells; `status` 0: that of its code. */
void reply_error(struct request *r, int code, unsigned status);
/* Fills in r->detail; both return `code`. */
int reply_fail(struct request *r, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
int reply_fail_grove(struct request *r, int code);
int reply_fail_session(struct request *r, struct grove_session *s, int code);
int reply_fail_view(struct request *r, const struct grove_view *v, int code);
/* An error with another status than that of its code. */
int reply_fail_status(struct request *r, unsigned status, int code, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

void reply_header(struct request *r, const char *name, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * The state that the answer shows, as its ETag. Returns 1 if the client has it
 * already: then there is nothing left to do (304).
 */
int reply_etag(struct request *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The same with an ETag that is written out. If the client does not have it, nothing is done. */
int reply_has_etag(struct request *r, const char *etag);

/*
 * For answers that may be long. What fits in a page is kept and sent whole; beyond
 * it the reply begins, and the thread waits for its reader where it must.
 */
struct grove_sink reply_sink(struct request *r);
/* Called when the function of the route has returned `rc`. */
void reply_end(struct request *r, int rc);

/* Hands the answer to libmicrohttpd, on the connection's own thread. */
enum MHD_Result reply_queue(struct request *r);

#endif
