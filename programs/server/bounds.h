/*
 * bounds.h: the limits: how much, how many and how long, of everything a client may ask for.
 *
 * What a client sends, what it gets, and what the server keeps for it are bounded. The
 * manual page and docs/http.md name those that a client notices.
 */
#ifndef SERVER_BOUNDS_H
#define SERVER_BOUNDS_H

/* --- connections --- */
#define LISTENERS_MAX 8
#define LISTEN_BACKLOG 511
#define CONNECTIONS_MAX 4096
#define CONNECTIONS_CROWDED (CONNECTIONS_MAX / 8 * 7)   /* from here on, those that waited longest are closed */
#define CONNECTION_MEMORY (32u << 10)
#define HEADER_SECONDS 15            /* until the header of a request is complete */
#define HEADER_GRACE_MS 1000         /* after which a connection counts as one without a header */
#define HEADERLESS_MAX 64            /* such connections per address */
#define IDLE_SECONDS 60              /* between requests */
#define BODY_GRACE_MS 10000          /* after which a body or a reply has to be … */
#define BYTES_PER_SECOND 1024        /* … at least this fast */
#define REPLIES_US 2000000           /* that a client which does not read can delay the server's end */

/* --- access --- */
#define COOKIES_MAX 256
#define COOKIE_SECONDS 43200
#define CODES_MAX 16                 /* one-time codes that open the viewer */
#define CODE_SECONDS 120
#define FAILURES_MAX 5               /* per address and minute; of those who are wrong, the rest get 429 */
#define ADDRESSES_MAX 512            /* whose failures are counted */

/* --- requests --- */
#define BODY_MAX (16u << 20)
#define INGRESS_MAX (64u << 20)      /* lines and files from another machine */
#define IDS_MAX 400u                 /* ids in one request */
#define RANGES_MAX 64u               /* ranges of lines in one request */

/* --- work --- */
#define JOBS_MAX 2048u               /* requests that wait for a thread */
#define WAITING_MAX 64u              /* threads that wait; for each, another one is started */
#define STORE_WAITING_MAX 24u        /* requests that wait for one store */
#define COPY_MAX (256u << 20)        /* a longer session is not copied, and keeps its directory */

/* --- replies; one that is a page of something larger is limited in bytes --- */
#define PAGE_BYTES (1u << 20)
#define STREAM_ROOM (1u << 20)       /* how much of a long reply may be unsent */
#define STREAM_PATIENCE_MS 60000     /* how long a client may read nothing of it */
#define GZIP_LEAST 1024u             /* a shorter reply is not compressed */
#define TEXT_BYTES 8192u             /* of each text, unless the request says otherwise … */
#define TEXT_BYTES_MAX (256u << 10)  /* … up to this */
#define TEXT_RANGE 65536u            /* of one range of a text */
#define HEAD_MAX 240u                /* bytes of a message where only its beginning is asked for */
#define PREVIEW_MAX 400u             /* characters of an entry in a tree … */
#define PREVIEW_TURNS 120u           /* … and of a turn, unless the request says otherwise */
#define DIFFERING_MAX 100            /* ids of entries that differ */
#define STORES_MAX 256u

/* --- lists and searches --- */
#define LIST_DEFAULT 100u
#define LIST_MAX 2000u
#define FACETS_MAX 400u
#define SEARCH_DEFAULT 20u
#define SEARCH_MAX 1000u
#define INSIDE_DEFAULT 200u          /* hits within one session */
#define INSIDE_MAX 10000u
#define GROUPS_MAX 200u              /* sessions, where hits are grouped by them … */
#define GROUP_HITS 5u                /* … and hits of each */

/* --- events --- */
#define BEAT_MS 15000                /* between comments on an idle stream */
#define EVENTS_UNSENT_MAX (256u << 10)   /* a client that has more to read is closed */
#define SUBSCRIPTIONS_MAX 64u        /* sessions of one stream */
#define EVENTS_BURST 500u            /* entries that are reported as one event */
#define EVENTS_TURN 256              /* that are taken from one set before the other gets its turn */

/* --- what is kept between requests --- */
#define HELD_MAX 96u                 /* open sessions */
#define HELD_IDLE_MS 120000
#define WRITER_IDLE_MS 2000          /* a file that is open for writing keeps others from rewriting it */
#define NAMES_MAX 1024u              /* looked-up ids; a power of two */
#define NAME_FRESH_MS 1000
#define OPENED_FRESH_MS 2000         /* who has a file open */
#define RECENT_SLOTS 256u            /* replies; a power of two */
#define RECENT_BYTES (16u << 20)
#define RECENT_FRESH_MS 1000

#endif
