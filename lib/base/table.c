/*
 * base/table.c: a hash table of things that hold their own link.
 */
#include "base/table.h"

#include "grove/types.h"

#include <stdlib.h>

#define FIRST_ROOM 64

static struct grove__table_node **bucket_of(const struct grove__table *t, uint64_t hash)
{
	return &t->at[hash & (t->room - 1)];
}

static int grow(struct grove__table *t)
{
	struct grove__table more = { .room = t->room ? t->room * 2 : FIRST_ROOM };
	struct grove__table_node *n, *next;

	more.at = calloc(more.room, sizeof(*more.at));
	if (!more.at)
		return GROVE_ENOMEM;
	for (size_t i = 0; i < t->room; i++)
		for (n = t->at[i]; n; n = next) {
			struct grove__table_node **p = bucket_of(&more, n->hash);

			next = n->next;
			n->next = *p;
			*p = n;
		}
	more.nr = t->nr;
	free(t->at);
	*t = more;
	return 0;
}

int grove__table_add(struct grove__table *t, struct grove__table_node *node)
{
	struct grove__table_node **p;

	if (t->nr >= t->room && grow(t))
		return GROVE_ENOMEM;
	p = bucket_of(t, node->hash);
	node->next = *p;
	*p = node;
	t->nr++;
	return 0;
}

void grove__table_remove(struct grove__table *t, struct grove__table_node *node)
{
	struct grove__table_node **p = bucket_of(t, node->hash);

	while (*p != node)
		p = &(*p)->next;
	*p = node->next;
	t->nr--;
}

struct grove__table_node *grove__table_first(const struct grove__table *t, uint64_t hash)
{
	struct grove__table_node *n = t->room ? *bucket_of(t, hash) : NULL;

	while (n && n->hash != hash)
		n = n->next;
	return n;
}

struct grove__table_node *grove__table_next(const struct grove__table_node *node)
{
	struct grove__table_node *n = node->next;

	while (n && n->hash != node->hash)
		n = n->next;
	return n;
}

void grove__table_release(struct grove__table *t)
{
	free(t->at);
	*t = (struct grove__table){ .at = NULL };
}
