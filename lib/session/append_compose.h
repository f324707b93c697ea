/*
 * session/append_compose.h: entries on their way to the log.
 */
#ifndef GROVE_SESSION_APPEND_COMPOSE_H
#define GROVE_SESSION_APPEND_COMPOSE_H

#include "session/session.h"

/* An entry on its way to the log. */
struct grove__append_item {
	size_t off;                      /* of its line in the batch's bytes */
	size_t id_off, id_len;           /* of its id in the batch's names */
	size_t parent_off, parent_len;   /* the same of its parent's; length 0: it has none */
	uint32_t retry;                  /* the row that is this entry already, or GROVE_NO_ENTRY */
	size_t up;                       /* its parent in the batch, counted from 1; 0: `row` is it */
	uint32_t row;
	struct grove__entry e;
	bool plain;                      /* `e` is all there is to know */
};

/* A batch of them. Lives with its session, so that one append costs no allocation. */
struct grove__batch {
	struct grove_session *s;
	const struct grove_append_options *opt;
	struct grove_buf lines, names, input, prepared;
	struct grove__append_item *item;
	struct grove_store_record *rec; /* of those that are to be stored */
	size_t nr, fresh, cap;
	struct grove_slice parent;       /* of the next entry; ptr NULL: none */
	struct grove_buf parent_buf;
	uint64_t base;                   /* of the log where the leaf is kept that it goes below */
	struct grove_slice first_parent; /* of the first one; in the spine */
	uint32_t first_row;
	uint8_t random[256];             /* bytes from `random_at` on are unused */
	size_t random_at;
	bool starts_file, labels;
	struct grove__about about;       /* of the session, for logs whose entries tell it */
	uint32_t first_new;              /* the row of the first that was stored; GROVE_NO_ENTRY: look for it */
	struct grove_buf *gives;         /* the caller wants the lines here; NULL: it does not */
	bool began;                      /* it was the one that created the log */
	bool guard;                      /* a line goes first that ends what an unfinished one began */
	struct grove_detail *d;
};

/* The session's batch, ready for `nr` entries. Returns NULL when out of memory. */
struct grove__batch *grove__append_batch_get(struct grove_session *s, size_t nr,
					     const struct grove_append_options *opt,
					     struct grove_detail *d);
/* Done with it. The memory of a large batch is not kept for the small ones that follow. */
void grove__append_batch_put(struct grove__batch *b);
void grove__append_batch_free(struct grove__batch *b);

/*
 * Compose the lines of `nr` inputs against the session as we know it.
 *
 * Returns 0; GROVE_ENOTFOUND if an input speaks of an entry that is not there;
 * GROVE_EINVAL if it is not a usable entry; GROVE_ECONFLICT if there is another
 * entry of its id. After a failure b->nr counts the inputs before the one at fault.
 */
int grove__append_compose(struct grove__batch *b, const struct grove_slice *json, size_t nr);

/* The id of entry `i`; empty if it has none. */
static inline struct grove_slice grove__append_id(const struct grove__batch *b, size_t i)
{
	return grove__slice(b->names.ptr + b->item[i].id_off, b->item[i].id_len);
}

#endif
