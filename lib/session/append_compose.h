/* session/append_compose.h: entries being appended. */
#ifndef GROVE_SESSION_APPEND_COMPOSE_H
#define GROVE_SESSION_APPEND_COMPOSE_H

#include "session/append.h"

/* An entry being appended. */
struct grove__append_item {
	size_t off;                      /* of its line in the batch's bytes */
	size_t id_off, id_len;           /* of its id in the batch's names */
	size_t parent_off, parent_len;   /* the same for its parent's; length 0: none */
	uint32_t retry;                  /* the row that already is this entry, or GROVE_NO_ENTRY */
	size_t up;                       /* its parent in the batch, counted from 1; 0: `row` is it */
	uint32_t row;
	struct grove__entry e;
	bool plain;                      /* `e` is all there is to know */
};

/* A batch of them. It belongs to the session, so that an append needs no allocation. */
struct grove__batch {
	struct grove_session *s;
	const struct grove_append_options *opt;
	struct grove_buf lines, names, input, prepared;
	struct grove__append_item *item;
	struct grove_store_record *rec; /* for those to be stored */
	size_t nr, fresh, cap;
	struct grove_slice parent;       /* of the next entry; ptr NULL: none */
	struct grove_buf parent_buf;
	uint64_t base;                   /* of the log, if the parent is a stored leaf */
	struct grove_slice first_parent; /* of the first one; in the spine */
	uint32_t first_row;
	uint8_t random[256];             /* bytes from `random_at` on are unused */
	size_t random_at;
	bool starts_file, labels;
	struct grove__about about;       /* of the session, for logs whose entries tell it */
	uint32_t first_new;              /* the row of the first that was stored; GROVE_NO_ENTRY: look for it */
	struct grove_buf *gives;         /* receives the lines; NULL: not wanted */
	bool later;                      /* the line is queued, see submit.c */
	bool began;                      /* this batch created the log */
	bool guard;                      /* a line comes first that ends an unfinished value */
	struct grove_detail *d;
};

/* Returns the session's batch, ready for `nr` entries, or NULL if out of memory. */
struct grove__batch *grove__append_batch_get(struct grove_session *s, size_t nr,
					     const struct grove_append_options *opt,
					     struct grove_detail *d);
/* Releases it. The memory of a large batch is not kept for the small ones that follow. */
void grove__append_batch_put(struct grove__batch *b);
void grove__append_batch_free(struct grove__batch *b);

/* An input needs a line that waits to be written: compose again once it is. */
enum { GROVE__UNWRITTEN = 2 };

/*
 * Composes the lines of `nr` inputs from what the session knows.
 *
 * Returns 0; GROVE__UNWRITTEN; GROVE_ENOTFOUND if an input refers to an entry that does not exist;
 * GROVE_EINVAL if it is not a usable entry; GROVE_ECONFLICT if another entry has its
 * id. After a failure b->nr is the number of inputs before the one at fault.
 */
int grove__append_compose(struct grove__batch *b, const struct grove_slice *json, size_t nr);

/* Returns the id of entry `i`; empty if it has none. */
static inline struct grove_slice grove__append_id(const struct grove__batch *b, size_t i)
{
	return grove__slice(b->names.ptr + b->item[i].id_off, b->item[i].id_len);
}

#endif
