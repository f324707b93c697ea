/*
 * remote.h: the sessions of a server. Its answers were checked (answers.h).
 */
#ifndef SYNC_REMOTE_H
#define SYNC_REMOTE_H

#include "answers.h"
#include "http.h"
#include "spool.h"

/* What a server may send: bytes of one session, lines of one log, sessions of a list. */
#define REMOTE_BYTES_MAX ((uint64_t)8 << 30)
#define REMOTE_LINES_MAX 10000000u
#define REMOTE_SESSIONS_MAX 1000000u
/* So many answers that take too long, one after the other, count as an outage. */
#define REMOTE_LATE_MAX 3

/*
 * All of these return 0 or a negative grove_error, with the reason in `why` (400 bytes).
 * GROVE_EIO with *outage set if the server cannot be reached now.
 */
struct remote {
	struct http *http;
	const char *store;           /* where it creates sessions; NULL to let it decide */
	int outage;
	int partial;                 /* a list lacked the sessions of a store that did not answer */
	uint64_t received;           /* bytes of this session */
	unsigned late;               /* answers that took too long, since the last one that did not */
	char why[400];
};

/* From now on, answers are about another session. */
void remote_begin(struct remote *r);

/* Gets a session by its id or key; `there` is 0 if it does not exist. Release it in any case. */
int remote_about(struct remote *r, const char *id, struct remote_session *out);

/* `cwd` NULL for all directories. Those with an invalid id are left out, and counted in *refused. */
int remote_list(struct remote *r, const char *cwd, remote_list_fn *fn, void *payload, uint64_t *refused);

/*
 * Gets the lines from `after` on. All of them have arrived when this returns 0, exactly as
 * many as were announced. GROVE_ENOTFOUND. Release the spool in any case.
 */
struct remote_state {
	uint64_t seq, generation;
};
int remote_lines(struct remote *r, const char *id, const char *sub, uint64_t after, struct spool *lines,
		 struct remote_state *out);

/* GROVE_ECONFLICT if the log has another number of lines. */
int remote_put(struct remote *r, const char *id, struct remote_put *p);
int remote_leaf(struct remote *r, const char *id, const char *leaf);

int remote_file_get(struct remote *r, const char *id, const char *name, struct grove_buf *out);
int remote_file_put(struct remote *r, const char *id, const char *name, const char *dialect, const char *cwd,
		    struct grove_slice bytes);
/* Returns 1 if it exists. */
int remote_file_has(struct remote *r, const char *id, const char *name);

#endif
