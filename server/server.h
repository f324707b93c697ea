/*
 * server.h: what the parts of the server share.
 *
 * The way of a request: http.c gets it from libmicrohttpd, gate.c decides whether
 * it may pass at all, route.c finds its row in the table, and the row's function
 * answers it, on the thread of the connection if that is known to be quick, else
 * on one of the pool (pool.c) while the connection sleeps. docs/internals/server.md
 * tells it in full.
 */
#ifndef SERVER_SERVER_H
#define SERVER_SERVER_H

#include "programs/doc.h"
#include "settings.h"
#include "target.h"

#include <microhttpd.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>

/* Bounds. Bytes bound every reply that is a page of something larger. */
#define PAGE_BYTES (1u << 20)
#define TEXT_BYTES 8192u
#define TEXT_BYTES_MAX (256u << 10)
#define IDS_MAX 400u
#define BODY_MAX (16u << 20)
#define INGRESS_MAX (64u << 20)   /* lines and files of another machine */
#define STREAM_ROOM (1u << 20)    /* of a long reply that its reader has not taken yet */

#define CONNECTIONS_MAX 4096
#define CONNECTION_MEMORY (32u << 10)
#define HEADER_SECONDS 15
#define IDLE_SECONDS 60
#define HEADERLESS_MAX 64         /* connections of an address that have not sent a header */
#define LISTENERS_MAX 8

enum scope {
	SCOPE_NONE,     /* nobody is asked who they are */
	SCOPE_READ,
	SCOPE_WRITE
};

struct auth;
struct events;
struct held;
struct helds;
struct metrics;
struct pool;
struct recent;
struct route;
struct shown;
struct stream;
struct token;
struct tokens;

/* An address that we listen on. */
struct listener {
	int fd;
	int loopback;            /* only this machine can reach it, a unix socket included */
	int is_unix;
	char url[160];           /* "http://127.0.0.1:4517", "unix:/run/grove.sock" */
	char host[128];          /* as a Host header has it */
	char path[108];          /* of a unix socket that we made; "": none */
	unsigned port;
	struct MHD_Daemon *daemon;
	struct server *server;
};

struct server {
	const struct settings *set;
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
	int64_t started;         /* ms */
};

/* How the user of a connection on this machine was looked up. */
enum peer_user {
	PEER_UNASKED,
	PEER_SAME,               /* who runs this server */
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
	/* What the sweep looks at; under the lock of all peers. */
	enum { PEER_HEADER, PEER_BODY, PEER_REPLY } phase;
	int64_t since;           /* ms: when that began */
	int64_t allowed;         /* ms for a header to come */
	uint64_t received;       /* bytes of the body */
};

/* Who asks. */
struct identity {
	enum scope scope;
	const char *name;        /* of the token; "local", "cookie" */
	const struct token *token;  /* with its limits; NULL: none */
	struct tokens *tokens;   /* which holds it */
};

/*
 * A request and its answer. Its connection holds it, and so does the worker that
 * writes a long answer: the client may leave before that is done.
 */
struct request {
	atomic_int refs;
	struct server *server;
	struct peer *peer;
	struct MHD_Connection *connection;
	char *raw;               /* the target as it came */
	struct target target;
	const char *why;         /* why it cannot be a target; NULL: it can */
	const char *method;
	int begun;               /* the gate was passed */
	int64_t started;         /* us */

	struct identity who;
	const struct route *route;
	const char *capture[4];  /* what stands for {id} and so on, in order */
	struct grove_buf body;
	int body_too_big;

	/* the answer */
	unsigned status;         /* 0: none yet */
	const char *type;
	const char *csp;         /* NULL: that of JSON */
	char etag[64];           /* "": none */
	const char *cache;       /* Cache-Control; NULL: no-store, or no-cache with an ETag */
	struct doc out;          /* JSON, or whatever `type` says */
	int file;                /* sent in place of `out`; -1: none */
	uint64_t file_size;
	struct grove_detail detail;
	int live;                /* the error is that an agent has the session open */
	int error_members;       /* `out` has members that go beside the error */
	struct { char name[32]; char value[256]; } header[6];
	unsigned nr_headers;
	int close;               /* the connection ends with this reply */
	struct stream *stream;   /* a reply too long to be held, or events */
	int gzip;                /* it is sent that way */
	int packed;              /* `out` is packed already */
	uint64_t sent;           /* bytes of the body */

	/* the pool */
	struct request *next_job;
	struct grove *g;         /* of the thread that works on it */
	struct worker *worker;   /* NULL: the connection's own thread */
	struct shown *shown;     /* the session that the answer shows, if others may share it */
	int dispatched;
	atomic_int answered;     /* the reply may be queued */
};

int64_t now_ms(void);        /* that only goes forward */
int64_t now_us(void);
int64_t wall_ms(void);       /* since 1970 */

/* http.c */
int http_start(struct server *s, char *why, size_t size);
/* After all that was under way has been answered. */
void http_stop(struct server *s);
/* From a thread of the pool: the answer to `r`, or the beginning of a stream, is ready. */
void http_answered(struct request *r);
struct request *request_ref(struct request *r);
void request_unref(struct request *r);

#endif
