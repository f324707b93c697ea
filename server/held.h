/*
 * held.h: sessions that are kept open, and the views of them that requests share.
 *
 * A session is opened once, however many ask for it; its view is made anew only
 * when the log has grown, so a thousand readers of (session, generation, rev) cost
 * one. Those not asked for lately are closed.
 */
#ifndef SERVER_HELD_H
#define SERVER_HELD_H

#include "server.h"

struct held {
	struct held *next;
	unsigned refs;               /* under the lock of all; the table has none */
	int dropped;                 /* out of the table: freed with its last reference */
	int64_t used;                /* ms */

	/* what names it, and what was known when it was found */
	char *what;                  /* its path; its id where there are no files */
	char *key;                   /* its address: the id, with ~ and its store where that is not unique */
	char *id, *store, *cwd, *agent, *dialect, *path, *parent;
	int64_t created;
	int archived;
	struct grove *own;           /* for its store alone; NULL: that of all */

	pthread_mutex_t lock;        /* protects what follows */
	struct grove_session *reader;
	struct grove_view *view;
	pthread_mutex_t write_lock;  /* held while something but an append is written */
	struct grove_session *writer;
	struct grove_carry *carry;   /* takes in lines of other machines; under write_lock; NULL: not opened */
	unsigned writes;             /* under way */
	int64_t written;             /* ms: when the last one ended */
};

int helds_new(struct server *s, struct helds **out);
void helds_free(struct helds *h);
/* Closes what nobody asked for lately. Called about once a second. */
void helds_tidy(struct helds *h);

enum hold_flags {
	HOLD_AFRESH = 1,  /* look it up, even if that was done a moment ago */
	HOLD_ALONE = 2    /* the session itself, whatever ?sub= says */
};
/*
 * Finds the session that r->capture[0] names, and with ?sub= the one of a sub-agent
 * of it. GROVE_ENOTFOUND, also for one that the token does not reach;
 * GROVE_EAMBIGUOUS, with the candidates. Release it.
 */
int hold(struct request *r, unsigned flags, struct held **out);
void hold_release(struct request *r, struct held *h);
/* It was removed, or moved: nobody is to find it any more. All its handles are closed. */
void hold_drop(struct request *r, struct held *h);

/* The session as it is now; unref the view. */
int hold_view(struct request *r, struct held *h, struct grove_view **out);
/* Both of them, and the ETag of that state: 1 if the client has it. */
int hold_state(struct request *r, struct held **h, struct grove_view **v);
void hold_state_end(struct request *r, struct held *h, struct grove_view *v);

/* Appends the `agentId` that the host has given the session, if it has. */
void hold_owner(struct held *h, struct grove_buf *out);

/*
 * A handle to write with. Many may append at once; for anything else hold
 * h->write_lock. Give it back.
 */
int hold_writer(struct request *r, struct held *h, struct grove_session **out);
void hold_writer_end(struct request *r, struct held *h);

/* What a key adds to an id that is not unique: four hexadecimal digits. */
void store_mark(const char *store, char out[5]);
/* Does `name` stand for this store? It may lack "file:", and end with a slash. */
int store_is(const char *store, const char *name);
/*
 * Does `name` stand for a store of this server that is written to? *url is how to open
 * it, with its password; NULL: as all of them together.
 */
int store_known(struct request *r, const char *name, const char **url);
/* The archive, which grove finds by itself, is read and not written. */
int is_archive(const struct grove_store_about *s);
const char *store_provider(const char *store);

#endif
