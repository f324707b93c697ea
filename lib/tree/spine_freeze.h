/*
 * tree/spine_freeze.h: a spine as one piece of bytes.
 */
#ifndef GROVE_TREE_SPINE_FREEZE_H
#define GROVE_TREE_SPINE_FREEZE_H

#include "tree/spine.h"

/* The layout; stored together with the bytes. */
struct grove__ice {
	uint64_t end;                     /* after the last byte */
	uint64_t block[GROVE__SPINE_BLOCKS];
	uint64_t names, names_len, slots, pending, labels;
	uint64_t nr_pending, nr_labels;
	uint64_t nr_orphans, nr_cycles, nr_duplicates;
	uint64_t name, weak_name;         /* of the session, in names; 0: none */
	uint64_t seed;
	uint32_t nr, linked, root_first, root_last, mask, used;
};

/*
 * Writes a linked spine, from `at` (a multiple of 4096) on. Nobody may add to it
 * meanwhile. GROVE_ENOMEM, or an error of `fn`.
 */
int grove__spine_freeze(const struct grove__spine *s, uint64_t at, struct grove__ice *ice,
			grove__ice_fn *fn, void *payload);

/*
 * Makes a spine over these bytes, which must stay as long as it does and are written
 * to; of a log of `tail` bytes. The caller verifies checksums; apart from that the
 * bytes may be anything. Returns NULL if it cannot be walked, or out of memory.
 */
struct grove__spine *grove__spine_thaw(const struct grove__ice *ice, char *bytes, size_t len,
				       uint64_t tail);

/*
 * True if all its numbers are valid; see spine_sound.c. `names` are the texts, `len`
 * bytes of them.
 */
bool grove__spine_sound(const struct grove__spine *s, const char *names, uint64_t len, uint64_t tail);
/* True if there is a text at that offset. */
bool grove__spine_name_fits(const char *names, uint64_t len, uint64_t at);

#endif
