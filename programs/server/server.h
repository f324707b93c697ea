/*
 * server.h: what the parts of the server share.
 *
 * The path of a request: http.c receives it from libmicrohttpd, gate.c decides whether to
 * let it in, route.c finds its row in the table, and that row's handler answers it. Quick
 * handlers run on the connection's thread, the others on the pool (workers.c) while the
 * connection is suspended. See docs/internals/server.md.
 */
#ifndef SERVER_SERVER_H
#define SERVER_SERVER_H

#include "bounds.h"
#include "kit/doc.h"
#include "settings.h"
#include "target.h"

#include <microhttpd.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>

enum scope {
	SCOPE_NONE,     /* no authentication */
	SCOPE_READ,
	SCOPE_WRITE
};

struct auth;
struct events;
struct held;
struct helds;
struct metrics;
struct place;
struct pool;
struct recent;
struct route;
struct shown;
struct stream;
struct token;
struct tokens;

/* An address we listen on. */
struct listener {
	int fd;
	int loopback;            /* reachable only from this machine; true for a unix socket */
	int is_unix;
	char url[160];           /* "http://127.0.0.1:4517", "unix:/run/grove.sock" */
	char host[128];          /* as in a Host header */
	char path[108];          /* of a unix socket that we created; "" otherwise */
	unsigned port;
	struct MHD_Daemon *daemon;
	struct server *server;
};

struct server {
	const struct settings *set;
	struct grove *g;         /* of which the pool's are second handles: what one finds out, all know */
	struct listener listener[LISTENERS_MAX];
	unsigned nr_listeners;
	int tls;
	struct auth *auth;
	struct pool *pool;
	struct indexer *indexer;
	struct helds *helds;
	struct recent *recent;
	struct openers *openers;
	struct metrics *metrics;
	struct events *events;
	struct peers *peers;
	struct tls_files *tls_files;
	atomic_int stopping;
	atomic_int replying;     /* requests that were read, and whose replies are not sent yet */
	int64_t started;         /* ms */
};

/* Which local user is at the other end of a connection. */
enum peer_user {
	PEER_UNASKED,
	PEER_SAME,               /* the user who runs this server */
	PEER_OTHER,
	PEER_UNKNOWN
};

/* The other end of a connection. */
struct peer {
	struct peer *next, *prev;
	int fd;
	const struct listener *listener;
	char address[64];        /* "" for a unix socket */
	int loopback;
	enum peer_user user;
	/* For the sweep; protected by the lock of all peers. */
	struct place *place;     /* where it comes from */
	struct peer *before, *behind;   /* in one of its queues */
	/* a header is to come, or may come after a pause; a body comes; there is something to reply */
	enum { PEER_HEADER, PEER_IDLE, PEER_BODY, PEER_REPLY } phase;
	int64_t since;           /* ms: when this phase began */
	int64_t allowed;         /* ms until it must end; 0: no limit */
	uint64_t bytes;          /* idle: bytes that had come when that began; 0: unknown */
	uint64_t received;       /* bytes of the body so far */
	int cut;                 /* it was shut down */
};

/* Who is asking. */
struct identity {
	enum scope scope;
	const char *name;        /* the token's; or "local", "cookie" */
	const struct token *token;  /* has the limits; NULL if there are none */
	struct tokens *tokens;   /* holds the token */
};

/*
 * A request and its reply. The connection holds a reference, and so does the worker that
 * writes a long reply, because the client may leave first.
 */
struct request {
	atomic_int refs;
	struct server *server;
	struct peer *peer;
	struct MHD_Connection *connection;
	char *raw;               /* the target as received */
	struct target target;
	const char *why;         /* why the target is invalid; NULL if it is valid */
	const char *method;
	char client[64];         /* its address, as a trusted proxy tells it; "" for a unix socket */
	int begun;               /* passed the gate */
	int64_t started;         /* us */

	struct identity who;
	const struct route *route;
	const char *capture[4];  /* the values of {id} and so on, in order */
	struct grove_buf body;
	int body_too_big;

	/* the reply */
	unsigned status;         /* 0 if there is none yet */
	const char *type;
	const char *csp;         /* NULL for the default of JSON */
	char etag[64];           /* "" if none */
	const char *cache;       /* Cache-Control; NULL means no-store, or no-cache with an ETag */
	struct doc out;          /* JSON, or whatever `type` says */
	int file;                /* sent instead of `out`; -1 if none */
	uint64_t file_size;
	struct grove_detail detail;
	int live;                /* the error is that an agent has the session open */
	int error_members;       /* `out` has members to add to the error */
	struct { char name[32]; char value[256]; } header[6];
	unsigned nr_headers;
	int close;               /* close the connection after this reply */
	struct stream *stream;   /* for a reply too long to buffer, or events */
	int gzip;                /* send it gzipped */
	int packed;              /* `out` is gzipped already */
	uint64_t sent;           /* bytes of the body */

	/* the pool */
	struct request *next_job;
	struct grove *g;         /* belongs to the thread that handles it */
	struct worker *worker;   /* NULL on the connection's own thread */
	struct shown *shown;     /* the session that the reply shows, if the reply can be shared */
	int dispatched;
	atomic_int answered;     /* the reply may be queued */
};

int64_t now_ms(void);        /* monotonic */
int64_t now_us(void);
int64_t wall_ms(void);       /* since 1970 */

/* http.c */
int http_start(struct server *s, char *why, size_t size);
/* Call after every request in progress was answered. */
void http_stop(struct server *s);
/* Called on a thread of the pool: the reply to `r`, or the beginning of a stream, is ready. */
void http_answered(struct request *r);
struct request *request_ref(struct request *r);
void request_unref(struct request *r);

#endif
