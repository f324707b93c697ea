/*
 * base/arena.h: many small allocations, one release; addresses never move.
 */
#ifndef GROVE_BASE_ARENA_H
#define GROVE_BASE_ARENA_H

#include "base/slice.h"

struct grove__arena {
	struct grove__arena_chunk *chunks; /* newest first */
	size_t used;                       /* all bytes handed out */
	bool failed;                       /* memory ran out: who read with it may have missed something */
};

void grove__arena_init(struct grove__arena *a);
void grove__arena_release(struct grove__arena *a);
/* All of it is free again; some of the memory is kept for what comes. */
void grove__arena_clear(struct grove__arena *a);
/* All that is in `from` belongs to `a` now; addresses stay. */
void grove__arena_join(struct grove__arena *a, struct grove__arena *from);
/* `len` bytes aligned to `align` (a power of two, at most 16); NULL when out of memory. */
void *grove__arena_alloc(struct grove__arena *a, size_t len, size_t align);
/* A NUL-terminated copy. */
char *grove__arena_dup(struct grove__arena *a, struct grove_slice s);

#endif
