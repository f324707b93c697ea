/*
 * remote.h: the sessions of a server. Its answers were checked (answers.h).
 */
#ifndef SYNC_REMOTE_H
#define SYNC_REMOTE_H

#include "answers.h"
#include "http.h"

/*
 * All of these return 0 or a negative grove_error, with the reason in `why` (400 bytes).
 * GROVE_EIO with *outage set if the server cannot be reached now.
 */
struct remote {
	struct http *http;
	const char *store;           /* where it creates sessions; NULL to let it decide */
	int outage;
	char why[400];
};

/* Gets a session by its id or key; `there` is 0 if it does not exist. Release it in any case. */
int remote_about(struct remote *r, const char *id, struct remote_session *out);

/* `cwd` NULL for all directories. */
int remote_list(struct remote *r, const char *cwd, remote_list_fn *fn, void *payload);

/* Lines from `after` on. GROVE_ENOTFOUND. */
typedef int remote_line_fn(void *payload, struct grove_slice line, uint64_t seq);
struct remote_state {
	uint64_t seq, generation;
};
int remote_lines(struct remote *r, const char *id, const char *sub, uint64_t after, remote_line_fn *fn,
		 void *payload, struct remote_state *out);

/* GROVE_ECONFLICT if the log has another number of lines. */
int remote_put(struct remote *r, const char *id, struct remote_put *p);
int remote_leaf(struct remote *r, const char *id, const char *leaf);

int remote_file_get(struct remote *r, const char *id, const char *name, struct grove_buf *out);
int remote_file_put(struct remote *r, const char *id, const char *name, const char *dialect, const char *cwd,
		    struct grove_slice bytes);
/* Returns 1 if it exists. */
int remote_file_has(struct remote *r, const char *id, const char *name);

#endif
