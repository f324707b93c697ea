/*
 * table.h: which lines a log has, by 16 bytes each.
 *
 * A line with an id is known by the id, and is the same if its bytes are. A line without
 * one is known by its bytes, and by how often they are there: the second of two equal
 * lines is another line than the first.
 */
#ifndef SYNC_TABLE_H
#define SYNC_TABLE_H

#include <grove.h>

/* 64 bits of SHA-256, never 0. */
uint64_t table_hash(struct grove_slice bytes);

struct table_slot {
	uint64_t key;
	uint32_t count, seen;
};

struct table {
	struct table_slot *slot;
	size_t mask, used;           /* slots - 1 */
};

void table_release(struct table *t);
/* A line. GROVE_ENOMEM. */
int table_add(struct table *t, struct grove_slice id, struct grove_slice line);

enum table_answer {
	TABLE_MISSING,
	TABLE_SAME,
	TABLE_DIFFERS                /* another line has its id */
};
/*
 * Is this line there? Of equal lines without an id, the next call asks for the next one
 * (table_rewind() begins again).
 */
enum table_answer table_ask(struct table *t, struct grove_slice id, struct grove_slice line);
void table_rewind(struct table *t);

#endif
