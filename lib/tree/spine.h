/*
 * tree/spine.h: the index of a log.
 *
 * There is one row per entry: where its line is, what it is, whose child. Rows are
 * stored as arrays of fields in blocks that double in size and never move, so a reader
 * may continue while rows are added after the ones it knows. A row takes 60 bytes, plus
 * the ids.
 *
 * There is one writer at a time (the session ensures that). A reader holds a reference
 * and a row count, and reads nothing beyond that count; child lists, which grow, are
 * read atomically and cut off at the count.
 */
#ifndef GROVE_TREE_SPINE_H
#define GROVE_TREE_SPINE_H

#include "base/arena.h"
#include "base/ice.h"
#include "base/idmap.h"
#include "entry/entry.h"

#include <pthread.h>

#define GROVE__SPINE_FIRST 256u  /* rows in the first block */
#define GROVE__SPINE_BLOCKS 24

enum {
	ROW_ORPHAN = GROVE_ENTRY_ORPHAN,
	ROW_CYCLE = GROVE_ENTRY_CYCLE,
	ROW_SUPERSEDED = GROVE_ENTRY_SUPERSEDED,
	ROW_NO_ID = GROVE_ENTRY_NO_ID,
	ROW_LEAF_MARK = GROVE_ENTRY_LEAF_MARK,
	ROW_PARENT_ABSENT = 32,
	ROW_ASIDE = 64,
	ROW_HOLLOW = 128
};

struct grove__block {
	uint64_t *pos, *len;
	int64_t *time;
	uint64_t *id;          /* offset of a text from the spine's base; 0: none */
	uint32_t *line, *crc;
	uint32_t *parent, *child, *last, *sibling;
	uint16_t *flags;
	uint8_t *kind, *role;
};

/* A parent that did not exist yet when its child was added. */
struct grove__pending {
	uint32_t row;
	const char *parent;    /* as an id */
};

/* A line that set or cleared a label. */
struct grove__label_event {
	uint32_t row;
	const char *target;    /* as an id */
	const char *text;      /* NULL: cleared */
};

struct grove__spine {
	uint32_t nr;
	struct grove__block block[GROVE__SPINE_BLOCKS];
	struct grove__arena names;        /* ids, labels, the name */
	struct grove__idmap ids;          /* id → the last row that has it */
	pthread_rwlock_t ids_lock;
	uint32_t root_first, root_last;   /* the list of roots */

	struct grove__pending *pending;
	size_t nr_pending, cap_pending;
	struct grove__label_event *labels;
	size_t nr_labels, cap_labels;
	const char *name;                 /* of the session; NULL: none */
	const char *weak_name;            /* the same, if nobody chose one */
	bool duplicates, forward;         /* seen while adding, not yet settled by a link */
	uint32_t linked;                  /* rows that grove__tree_link() has settled */
	bool shared;                      /* it was linked: readers may use the spine */
	uint64_t nr_orphans, nr_cycles, nr_duplicates;

	/*
	 * What it was thawed from (spine_freeze.c), which has the first blocks. NULL:
	 * nothing.
	 */
	const char *ice;
	size_t ice_len;
	const char *base;                 /* texts are at offsets from here */
};

struct grove__spine *grove__spine_new(uint64_t seed);
void grove__spine_free(struct grove__spine *s);

static inline struct grove__block *grove__spine_at(const struct grove__spine *s, uint32_t row,
						   uint32_t *at)
{
	uint32_t v = row + GROVE__SPINE_FIRST;
	unsigned b = 31u - (unsigned)__builtin_clz(v) - 8;

	*at = v - (GROVE__SPINE_FIRST << b);
	return (struct grove__block *)(uintptr_t)&s->block[b];
}

#define SPINE_GET(name, type, field)                                                    \
	static inline type grove__spine_##name(const struct grove__spine *s, uint32_t row) \
	{                                                                               \
		uint32_t at;                                                            \
		struct grove__block *b = grove__spine_at(s, row, &at);                  \
		return __atomic_load_n(&b->field[at], __ATOMIC_RELAXED);                \
	}
SPINE_GET(pos, uint64_t, pos)
SPINE_GET(len, uint64_t, len)
SPINE_GET(time, int64_t, time)
SPINE_GET(line, uint32_t, line)
SPINE_GET(crc, uint32_t, crc)
SPINE_GET(parent, uint32_t, parent)
SPINE_GET(child, uint32_t, child)
SPINE_GET(last, uint32_t, last)
SPINE_GET(sibling, uint32_t, sibling)
SPINE_GET(flags, uint16_t, flags)
SPINE_GET(kind, uint8_t, kind)
SPINE_GET(role, uint8_t, role)
SPINE_GET(id_distance, uint64_t, id)
#undef SPINE_GET

/* NUL-terminated, its length in the 4 bytes before; NULL: none. */
static inline const char *grove__spine_id(const struct grove__spine *s, uint32_t row)
{
	return grove__ice_pointer(s->base, grove__spine_id_distance(s, row));
}

/* Returns an id as text; empty for NULL. */
struct grove_slice grove__spine_name(const char *id);

/*
 * Adds a row for an entry. The parent is looked up at once if possible;
 * grove__tree_link() settles the rest. A row that repeats the id of a linked one
 * changes nothing that readers see: the link will return GROVE_ESTALE. Returns 0,
 * GROVE_ENOMEM, or GROVE_ETOOBIG beyond 2^32 rows or lines.
 */
int grove__spine_add(struct grove__spine *s, const struct grove__entry *e,
		     uint64_t pos, uint64_t len, uint64_t line, uint32_t crc);

/*
 * Lays out the arrays of a block of that many rows in `mem`, whose size is
 * grove__spine_block_size().
 */
void grove__spine_lay_block(struct grove__block *b, char *mem, size_t rows);
size_t grove__spine_block_size(size_t rows);

/* Returns the first of `nr` rows that is on this line of the log or a later one; `nr`: there is none. */
uint32_t grove__spine_from_line(const struct grove__spine *s, uint32_t nr, uint64_t line);
/* Returns the first row after the first `from` that is at this position or a later one; s->nr: there is none. */
uint32_t grove__spine_from_pos(const struct grove__spine *s, uint32_t from, uint64_t pos);
/* Returns the row of an id among the first `nr`, or GROVE_NO_ENTRY. */
uint32_t grove__spine_find(const struct grove__spine *s, uint32_t nr, struct grove_slice id);

void grove__spine_set_parent(struct grove__spine *s, uint32_t row, uint32_t parent);
void grove__spine_set_flag(struct grove__spine *s, uint32_t row, unsigned flag);
/* Adds `row` after its parent's other children (or the other roots). */
void grove__spine_link_child(struct grove__spine *s, uint32_t row);

#endif
