/*
 * session/sums.h: what was written to a file of ours, piece by piece, and whether
 * it is still there.
 */
#ifndef GROVE_SESSION_SUMS_H
#define GROVE_SESSION_SUMS_H

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

/* Are all pieces among these bytes what they were? */
bool grove__sums_hold(const struct grove__sum *list, size_t nr, const char *bytes, size_t len);

#endif
