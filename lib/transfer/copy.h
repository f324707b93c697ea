/*
 * transfer/copy.h: sessions on their way from store to store, byte for byte.
 */
#ifndef GROVE_TRANSFER_COPY_H
#define GROVE_TRANSFER_COPY_H

#include "transfer/archive.h"

struct grove__copy_job {
	struct grove *g;
	const struct grove__dialect *dialect;
	const char *root_dir;            /* of the source; NULL: none */
	struct grove_store *from, *to;
	struct grove_key key;            /* in both */
	bool go_on;                      /* what is there may be continued; else GROVE_EEXIST */
	uint64_t done, total;            /* for the progress */
};

/*
 * Copy a session with all that belongs to it. `out` counts, and has its state.
 * GROVE_ECONFLICT if what is there already is no beginning of the source, nor
 * the other way round: it stays as it is. Without `go_on` a failure leaves
 * nothing behind; with it, what was copied stays, to be continued.
 */
int grove__copy_session(const struct grove__copy_job *in, struct grove_archived *out,
			struct grove_detail *d);

/* One session, as people name it; `id` and `path` (empty: it has none) are added to. */
int grove__copy(struct grove *g, const char *what, const char *url, struct grove_buf *id,
		struct grove_buf *path, struct grove_detail *d);

#endif
