/*
 * image/sums.h: what was written to a file of ours, piece by piece, and whether
 * it is still there.
 */
#ifndef GROVE_IMAGE_SUMS_H
#define GROVE_IMAGE_SUMS_H

#include "sys/pool.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct grove__sum {
	uint64_t at;
	uint32_t len, crc;
};

struct grove__sums {
	struct grove__sum *list;
	size_t nr, cap;
};

/* Remember that these bytes were written there. GROVE_ENOMEM. */
int grove__sums_add(struct grove__sums *s, uint64_t at, const void *ptr, size_t len);
void grove__sums_release(struct grove__sums *s);

/*
 * Are all pieces among these bytes what they were? A second thread looks at them from
 * the beginning on, the caller when it comes to the end and has nothing better to do.
 */
struct grove__sums_check {
	const struct grove__sum *list;
	size_t nr, next;                  /* atomic: the piece to look at next */
	const char *bytes;
	size_t len;
	bool wrong;                       /* atomic */
	struct grove__pool pool;
};
void grove__sums_begin(struct grove__sums_check *c, const struct grove__sum *list, size_t nr,
		       const char *bytes, size_t len);
bool grove__sums_end(struct grove__sums_check *c);

#endif
