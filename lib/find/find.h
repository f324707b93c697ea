/*
 * find/find.h: which session is meant.
 */
#ifndef GROVE_FIND_FIND_H
#define GROVE_FIND_FIND_H

#include "logs/logs.h"

/* locate.c: finds a session by what a user types */
int grove__locate(struct grove *g, const char *what, struct grove__where *out,
		  struct grove_detail *d);
/*
 * The same; if several match, `fn` (may be NULL) gets the first 20 of them before
 * GROVE_EAMBIGUOUS is returned.
 */
typedef int grove__candidate_fn(void *payload, struct grove__where *at);
int grove__locate_or(struct grove *g, const char *what, struct grove__where *out, grove__candidate_fn *fn,
		     void *payload, struct grove_detail *d);
/* For what cannot be undone: a session found here is looked for in all other stores, too. */
int grove__locate_for_good(struct grove *g, const char *what, struct grove__where *out, struct grove_detail *d);
/* … by nothing but its id. */
int grove__locate_exactly(struct grove *g, const char *id, struct grove__where *out, grove__candidate_fn *fn,
			  void *payload, struct grove_detail *d);
int grove__locate_path(struct grove *g, const char *path, struct grove__where *out,
		       struct grove_detail *d);
/* Finds the place of a log that a root has. */
int grove__locate_log(struct grove *g, struct grove__root *root, const struct grove_key *key,
		      struct grove__where *out, struct grove_detail *d);
/*
 * Appends the id of a session in a root: from its header, or else from its name.
 * Nothing if neither tells. GROVE_ENOMEM.
 */
int grove__locate_id(struct grove *g, struct grove__root *root, const struct grove_key *key,
		     struct grove_buf *out);

/* last_session.c: the last session of this terminal */
/*
 * Finds the session that the dialect's agent last used in this terminal for this
 * (resolved) cwd, and when that was recorded. Returns 1 if there is none.
 */
int grove__last_session_read(struct grove *g, const struct grove__dialect *dialect, const char *cwd,
		      struct grove__where *out, int64_t *time_ns, struct grove_detail *d);
/* Records it. Callers should ignore failures. Returns 1 if the terminal has no name. */
int grove__last_session_write(const struct grove *g, const struct grove__dialect *dialect, const char *cwd,
		       const char *path, struct grove_detail *d);
/* Deletes the records of all terminals that name the session at this path. Ignores failures. */
void grove__last_session_forget(struct grove *g, const char *path);

/* openers.c: as grove_opener_each() */
int grove__openers(struct grove *g, const char *what, grove_opener_fn *fn, void *payload,
		   struct grove_detail *d);

#endif
