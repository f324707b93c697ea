/*
 * dialect/claude_chain.h: what the two halves of the chain share.
 *
 * claude_chain.c finds the leaf and walks up; claude_reply.c adds what belongs to a reply
 * on the chain but is not on it.
 */
#ifndef GROVE_DIALECT_CLAUDE_CHAIN_H
#define GROVE_DIALECT_CLAUDE_CHAIN_H

#include "dialect/claude.h"

/* Used instead of a row: it has no parent; it names one that does not exist. */
#define CLAUDE_ROOT UINT32_MAX
#define CLAUDE_MISSING (UINT32_MAX - 1)

enum {
	CHAIN_LIVE = 1 << 0,       /* a record that counts */
	CHAIN_ON = 1 << 1,         /* on the chain */
	CHAIN_KEPT = 1 << 2,       /* by the boundary */
	CHAIN_DROPPED = 1 << 3,
	CHAIN_SNIPPED = 1 << 4,
	CHAIN_REFERRED = 1 << 5,   /* the parent of some row */
	CHAIN_PLACED = 1 << 6,
	CHAIN_BRIDGED = 1 << 7
};

struct grove__claude_work {
	const struct grove__claude_rows *r;
	enum grove__claude_mode mode;
	const struct grove__claude_options *opt;
	uint32_t *parent;          /* for each row, relinked: a row, ROOT or MISSING */
	uint32_t *lifted;          /* the message at or above each row; NONE if not computed yet */
	uint8_t *bits;
	uint32_t *chain;           /* from the first record to the leaf */
	size_t nr_chain;
	bool relinked;             /* the last boundary keeps messages that were found */
	bool *sources;             /* by name: a queued prompt with this source_uuid was placed */
	struct grove__claude_conversation *out;
};

static inline bool grove__claude_live(const struct grove__claude_work *w, uint32_t row)
{
	return w->bits[row] & CHAIN_LIVE;
}

/*
 * Returns where the program has a record: it keeps records in a JavaScript map, in which a
 * repeated uuid keeps its first position, though its last line counts.
 */
static inline uint32_t grove__claude_map_place(const struct grove__claude_work *w, uint32_t row)
{
	return w->r->names[w->r->rows[row].id].first;
}

/*
 * Returns the record at a position of that map, if a record that counts is there; otherwise
 * CLAUDE_MISSING. Going through all positions visits each such record once.
 */
static inline uint32_t grove__claude_map_row(const struct grove__claude_work *w, uint32_t place)
{
	uint32_t id = w->r->rows[place].id, row;

	if (id == CLAUDE_NONE || w->r->names[id].first != place)
		return CLAUDE_MISSING;
	row = w->r->names[id].row;
	return grove__claude_live(w, row) ? row : CLAUDE_MISSING;
}

/* Returns the parent that a row has in the file, as a row, even if it is one that is skipped. */
uint32_t grove__claude_stored(const struct grove__claude_work *w, uint32_t row);
/* Returns true for rows that are not messages but belong in the answer. */
bool grove__claude_is_spoken(const struct grove__claude_work *w, uint32_t row);
/* Returns the nearest message at or above, or MISSING. No gap is bridged. */
uint32_t grove__claude_lift(const struct grove__claude_work *w, uint32_t row);
/* Adds a row to the answer, once. */
int grove__claude_place(struct grove__claude_work *w, uint32_t row);
/* Adds what belongs to the replies on the chain. */
int grove__claude_replies(struct grove__claude_work *w);

#endif
