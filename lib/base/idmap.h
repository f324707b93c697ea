/*
 * base/idmap.h: from a name to a number, for many names.
 *
 * The map keeps no names: a slot is 32 bits of hash and a 32-bit number, and
 * the owner is asked for the name of a number when the hashes agree. One slot
 * is 8 bytes, and a look-up touches one or two cache lines.
 *
 * Names come from files that may be hostile, so the hash is seeded.
 */
#ifndef GROVE_BASE_IDMAP_H
#define GROVE_BASE_IDMAP_H

#include "base/slice.h"

#define GROVE__IDMAP_NONE UINT32_MAX

typedef struct grove_slice grove__idmap_name_fn(const void *owner, uint32_t value);

struct grove__idmap {
	uint64_t *slots;
	uint32_t mask;   /* number of slots - 1; 0 while there are none */
	uint32_t used;
	uint32_t limit;  /* all numbers are below it; borrowed slots may hold others, which are not found */
	uint64_t seed;
	grove__idmap_name_fn *name;
	const void *owner;
	bool borrowed;   /* the slots are not ours to free */
};

void grove__idmap_init(struct grove__idmap *m, uint64_t seed,
		       grove__idmap_name_fn *name, const void *owner);
void grove__idmap_release(struct grove__idmap *m);

/* The number of `name`, or GROVE__IDMAP_NONE. */
uint32_t grove__idmap_get(const struct grove__idmap *m, struct grove_slice name);

/*
 * Set the number of `name`. *old gets what it was before, or
 * GROVE__IDMAP_NONE. `value` must not be GROVE__IDMAP_NONE, and the owner must
 * already know it. Returns 0 or GROVE_ENOMEM.
 */
int grove__idmap_put(struct grove__idmap *m, struct grove_slice name,
		     uint32_t value, uint32_t *old);

/* Fetches the slot of `name` into the processor's cache, because it is asked for or set soon. */
void grove__idmap_hint(const struct grove__idmap *m, struct grove_slice name);
/*
 * Announces about `nr` names, so that room is made at once. If memory is short, it is made
 * later.
 */
void grove__idmap_expect(struct grove__idmap *m, uint64_t nr);

/*
 * Use slots that were kept, `mask` + 1 of them (a power of two, or none if it is 0), as
 * long as the map lives. They may hold anything: numbers from `limit` on are not found.
 */
void grove__idmap_borrow(struct grove__idmap *m, uint64_t *slots, uint32_t mask, uint32_t used,
			 uint32_t limit);

/* A good 64-bit mix of some bytes. */
uint64_t grove__idmap_hash(uint64_t seed, const void *ptr, size_t len);

#endif
