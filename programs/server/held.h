/*
 * held.h: open sessions, and views of them that requests share.
 *
 * A session is opened once, however many clients ask for it, and its view is renewed only
 * when the log has grown. So a thousand readers of (session, generation, rev) cost no more
 * than one. Sessions that were not used for a while are closed.
 */
#ifndef SERVER_HELD_H
#define SERVER_HELD_H

#include "server.h"

struct held {
	struct held *next;
	unsigned refs;               /* protected by the table's lock; the table itself holds none */
	int dropped;                 /* no longer in the table; freed with its last reference */
	int64_t used;                /* ms */

	/* its names, and what was known when it was found */
	char *what;                  /* its path, or its id if the store has no files */
	char *key;                   /* its address: the id, plus ~ and a mark of its own if the id
	                                is not unique */
	char *id, *store, *cwd, *agent, *dialect, *path, *parent;
	int64_t created;
	int archived;
	struct grove *own;           /* a handle for its store alone; NULL to use the common one */

	pthread_mutex_t lock;        /* protects what follows */
	struct grove_session *reader;
	struct grove_view *view;
	pthread_mutex_t write_lock;  /* held during every write except an append */
	struct grove_session *writer;
	struct grove_carry *carry;   /* accepts lines from other machines; under write_lock; NULL
	                                if not opened */
	unsigned writes;             /* in progress */
	int64_t written;             /* ms: when the last one ended */
};

int helds_new(struct server *s, struct helds **out);
void helds_free(struct helds *h);
/* Closes sessions that were not used lately. Called about once a second. */
void helds_tidy(struct helds *h);

enum hold_flags {
	HOLD_AFRESH = 1,  /* look it up again, even if that was just done */
	HOLD_ALONE = 2    /* the session itself, ignoring ?sub= */
};
/*
 * Finds the session that r->capture[0] names or, with ?sub=, the transcript of one of its
 * sub-agents. GROVE_ENOTFOUND, also if the token does not reach it; GROVE_EAMBIGUOUS, with
 * the candidates. Release it.
 */
int hold(struct request *r, unsigned flags, struct held **out);
void hold_release(struct request *r, struct held *h);
/*
 * Drops a session that was removed or moved: it cannot be found any more, and all its
 * handles are closed.
 */
void hold_drop(struct request *r, struct held *h);

/* Returns a view of the current state; unref it. */
int hold_view(struct request *r, struct held *h, struct grove_view **out);
/* Gets both, and sets the ETag. Returns 1 if the client has this state already. */
int hold_state(struct request *r, struct held **h, struct grove_view **v);
void hold_state_end(struct request *r, struct held *h, struct grove_view *v);

/* Appends the session's `agentId`, if the host has set one. */
void hold_owner(struct held *h, struct grove_buf *out);

/*
 * Returns a handle for writing; give it back. Several threads may append at once; for any
 * other change hold h->write_lock.
 */
int hold_writer(struct request *r, struct held *h, struct grove_session **out);
void hold_writer_end(struct request *r, struct held *h);

/* Returns true if `name` means this store. It may lack "file:" or end with a slash. */
int store_is(const char *store, const char *name);
/*
 * Returns true if `name` is a writable store of this server. *url is its URL with the
 * password, or NULL for the common handle.
 */
int store_known(struct request *r, const char *name, const char **url);
/* Returns true for the archive, which grove finds by itself and never writes to here. */
int is_archive(const struct grove_store_about *s);
const char *store_provider(const char *store);

#endif
