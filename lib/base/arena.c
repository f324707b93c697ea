/*
 * base/arena.c: many small allocations, one release.
 *
 * Chunks double from 4 KiB to 1 MiB, so small users stay small and large ones
 * call malloc seldom. A request larger than a chunk gets one of its own.
 */
#include "base/arena.h"

#include <stdlib.h>

#define CHUNK_MIN ((size_t)4096)
#define CHUNK_MAX ((size_t)1 << 20)

struct grove__arena_chunk {
	struct grove__arena_chunk *next;
	size_t cap, len;
	_Alignas(16) char bytes[];
};

void grove__arena_init(struct grove__arena *a)
{
	a->chunks = NULL;
	a->used = 0;
	a->failed = false;
}

void grove__arena_release(struct grove__arena *a)
{
	struct grove__arena_chunk *c, *next;

	for (c = a->chunks; c; c = next) {
		next = c->next;
		free(c);
	}
	grove__arena_init(a);
}

void grove__arena_clear(struct grove__arena *a)
{
	struct grove__arena_chunk *newest = a->chunks;

	if (!newest || newest->cap > CHUNK_MAX) {
		grove__arena_release(a);
		return;
	}
	/* the newest is the largest */
	a->chunks = newest->next;
	grove__arena_release(a);
	newest->next = NULL;
	newest->len = 0;
	a->chunks = newest;
}

void grove__arena_join(struct grove__arena *a, struct grove__arena *from)
{
	struct grove__arena_chunk **last = &from->chunks;

	/* in front, since the newest chunk is the one that has room */
	while (*last)
		last = &(*last)->next;
	*last = a->chunks;
	a->chunks = from->chunks;
	a->used += from->used;
	a->failed |= from->failed;
	grove__arena_init(from);
}

void *grove__arena_alloc(struct grove__arena *a, size_t len, size_t align)
{
	struct grove__arena_chunk *c = a->chunks;
	size_t at = 0, cap;

	if (c)
		at = (c->len + align - 1) & ~(align - 1);
	if (!c || at > c->cap || len > c->cap - at) {
		cap = c ? c->cap * 2 : CHUNK_MIN;
		if (cap > CHUNK_MAX)
			cap = CHUNK_MAX;
		if (cap < len)
			cap = len;
		c = cap > SIZE_MAX - sizeof(*c) ? NULL : malloc(sizeof(*c) + cap);
		if (!c) {
			a->failed = true;
			return NULL;
		}
		c->cap = cap;
		c->next = a->chunks;
		a->chunks = c;
		at = 0;
	}
	c->len = at + len;
	a->used += len;
	return c->bytes + at;
}

char *grove__arena_dup(struct grove__arena *a, struct grove_slice s)
{
	char *p = s.len < SIZE_MAX ? grove__arena_alloc(a, s.len + 1, 1) : NULL;

	if (!p)
		return NULL;
	if (s.len)
		memcpy(p, s.ptr, s.len);
	p[s.len] = '\0';
	return p;
}
