/* image/sums.h: checksums of what was written to a file of ours, by piece. */
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

/* Remembers that these bytes were written there. GROVE_ENOMEM. */
int grove__sums_add(struct grove__sums *s, uint64_t at, const void *ptr, size_t len);
void grove__sums_release(struct grove__sums *s);

/*
 * Verifies all pieces among these bytes. A second thread starts at the beginning; the
 * caller joins in when it has nothing else to do.
 */
struct grove__sums_check {
	const struct grove__sum *list;
	size_t nr, next;                  /* atomic: the next piece */
	const char *bytes;
	size_t len;
	bool wrong;                       /* atomic */
	struct grove__pool pool;
};
void grove__sums_begin(struct grove__sums_check *c, const struct grove__sum *list, size_t nr,
		       const char *bytes, size_t len);
bool grove__sums_end(struct grove__sums_check *c);

#endif
