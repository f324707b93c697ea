/* transfer/copy.h: copies sessions from store to store, byte for byte. */
#ifndef GROVE_TRANSFER_COPY_H
#define GROVE_TRANSFER_COPY_H

#include "transfer/archive.h"

struct grove__copy_job {
	struct grove *g;
	const struct grove__dialect *dialect;
	const char *root_dir;            /* of the source; NULL: none */
	struct grove_store *from, *to;
	struct grove_key key;            /* in both … */
	const char *to_project;          /* … but for its project there; NULL: the same */
	const char *to_session;          /* … and for its name; NULL: the same */
	bool restore;                    /* from an archive to the agent's own place: new times, no earlier versions */
	bool go_on;                      /* an existing copy may be continued; else GROVE_EEXIST */
	uint64_t done, total;            /* for the progress */
};

/*
 * Copies a session with all that belongs to it. `out` has the counts and its state.
 * GROVE_ECONFLICT if neither the existing log nor the source is a prefix of the other:
 * it is left alone. A new copy appears when it is whole; one that is continued keeps
 * what was copied to it.
 */
int grove__copy_session(const struct grove__copy_job *in, struct grove_archived *out,
			struct grove_detail *d);

/*
 * restore.c: copies an archived session back to where its agent has its sessions, or into
 * the directory `dir`. Appends the path. GROVE_EINVAL if it is not in an archive,
 * GROVE_EEXIST if it is still where it was.
 */
int grove__restore(struct grove *g, const char *what, const char *dir, struct grove_buf *path,
		   struct grove_detail *d);

/*
 * Copies one session, as users name it; appends to `id` and `path` (which stays empty
 * if it has none).
 */
int grove__copy(struct grove *g, const char *what, const char *url, struct grove_buf *id,
		struct grove_buf *path, struct grove_detail *d);

#endif
