/*
 * base/table.h: a hash table of things that hold their own link.
 *
 * The owner embeds a struct grove__table_node, fills in its hash and compares what
 * has the same hash. Adding never fails once the table has room, and removing never
 * does: unlike an id map, things may go.
 */
#ifndef GROVE_BASE_TABLE_H
#define GROVE_BASE_TABLE_H

#include <stddef.h>
#include <stdint.h>

struct grove__table_node {
	struct grove__table_node *next;
	uint64_t hash;
};

/* Begins as zeros. */
struct grove__table {
	struct grove__table_node **at;
	size_t nr, room;               /* room: a power of two, or 0 */
};

/* `node->hash` is set. GROVE_ENOMEM. */
int grove__table_add(struct grove__table *t, struct grove__table_node *node);
/* The node is in the table. */
void grove__table_remove(struct grove__table *t, struct grove__table_node *node);
/* The first node with this hash, or NULL; the next one with the same. */
struct grove__table_node *grove__table_first(const struct grove__table *t, uint64_t hash);
struct grove__table_node *grove__table_next(const struct grove__table_node *node);
/* The nodes are their owner's. */
void grove__table_release(struct grove__table *t);

#endif
