/*
 * table.c: which lines a log has.
 */
#include "table.h"

#include <openssl/sha.h>
#include <stdlib.h>
#include <string.h>

uint64_t table_hash(struct grove_slice bytes)
{
	unsigned char full[SHA256_DIGEST_LENGTH];
	uint64_t h;

	SHA256((const unsigned char *)(bytes.ptr ? bytes.ptr : ""), bytes.len, full);
	memcpy(&h, full, sizeof(h));
	return h ? h : 1;
}

void table_release(struct table *t)
{
	free(t->slot);
	memset(t, 0, sizeof(*t));
}

/* The slot of a key, or the free one where it would be. */
static struct table_slot *find(const struct table *t, uint64_t key)
{
	size_t at = (size_t)(key * 0x9e3779b97f4a7c15u >> 20) & t->mask;

	while (t->slot[at].key && t->slot[at].key != key)
		at = (at + 1) & t->mask;
	return &t->slot[at];
}

static int grow(struct table *t)
{
	struct table next = { .mask = t->slot ? t->mask * 2 + 1 : 255, .used = t->used };

	next.slot = calloc(next.mask + 1, sizeof(*next.slot));
	if (!next.slot)
		return GROVE_ENOMEM;
	for (size_t i = 0; t->slot && i <= t->mask; i++)
		if (t->slot[i].key)
			*find(&next, t->slot[i].key) = t->slot[i];
	free(t->slot);
	*t = next;
	return 0;
}

static int count(struct table *t, uint64_t key)
{
	struct table_slot *s;

	if ((!t->slot || t->used * 4 >= t->mask * 3) && grow(t))
		return GROVE_ENOMEM;
	s = find(t, key);
	t->used += !s->key;
	s->key = key;
	s->count++;
	return 0;
}

/* Of an id, of an id with its bytes, of bytes alone: keys of one table. */
static uint64_t pair_key(uint64_t id, uint64_t line)
{
	uint64_t k = (id ^ (line << 23 | line >> 41)) * 0xff51afd7ed558ccdu;

	return k ? k : 1;
}

int table_add(struct table *t, struct grove_slice id, struct grove_slice line)
{
	uint64_t h = table_hash(line), i;
	int rc;

	if (!id.len)
		return count(t, h);
	i = table_hash(id);
	rc = count(t, i);
	return rc ? rc : count(t, pair_key(i, h));
}

enum table_answer table_ask(struct table *t, struct grove_slice id, struct grove_slice line)
{
	uint64_t h, i;
	struct table_slot *s;

	if (!t->slot)
		return TABLE_MISSING;
	h = table_hash(line);
	if (!id.len) {
		s = find(t, h);
		return s->key && s->seen++ < s->count ? TABLE_SAME : TABLE_MISSING;
	}
	i = table_hash(id);
	if (!find(t, i)->key)
		return TABLE_MISSING;
	return find(t, pair_key(i, h))->key ? TABLE_SAME : TABLE_DIFFERS;
}

void table_rewind(struct table *t)
{
	for (size_t i = 0; t->slot && i <= t->mask; i++)
		t->slot[i].seen = 0;
}
