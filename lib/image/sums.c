/*
 * image/sums.c: checksums of what was written to a file of ours.
 *
 * There is a checksum for each piece of at most 1 MiB, so that two threads can share
 * the work, most of which is waiting for pages.
 */
#include "image/sums.h"

#include "base/array.h"
#include "base/crc32c.h"

#include <stdlib.h>

#define PIECE ((size_t)1 << 20)
#define THREADS_FROM 8                    /* number of pieces from which a second thread pays */

int grove__sums_add(struct grove__sums *s, uint64_t at, const void *ptr, size_t len)
{
	const char *p = ptr;

	for (size_t off = 0; off < len; off += PIECE) {
		size_t n = len - off < PIECE ? len - off : PIECE;
		int rc = grove__array_room(&s->list, &s->cap, s->nr, sizeof(*s->list));

		if (rc)
			return rc;
		s->list[s->nr++] = (struct grove__sum){ at + off, (uint32_t)n, grove__crc32c(0, p + off, n) };
	}
	return 0;
}

void grove__sums_release(struct grove__sums *s)
{
	free(s->list);
	*s = (struct grove__sums){ NULL, 0, 0 };
}

static void check(void *payload, unsigned thread)
{
	struct grove__sums_check *c = payload;
	size_t i;

	(void)thread;
	while ((i = __atomic_fetch_add(&c->next, 1, __ATOMIC_RELAXED)) < c->nr) {
		const struct grove__sum *s = &c->list[i];

		if (s->at > c->len || s->len > c->len - s->at ||
		    grove__crc32c(0, c->bytes + s->at, s->len) != s->crc) {
			__atomic_store_n(&c->wrong, true, __ATOMIC_RELAXED);
			__atomic_store_n(&c->next, c->nr, __ATOMIC_RELAXED);
		}
	}
}

void grove__sums_begin(struct grove__sums_check *c, const struct grove__sum *list, size_t nr,
		       const char *bytes, size_t len)
{
	*c = (struct grove__sums_check){ .list = list, .nr = nr, .bytes = bytes, .len = len };
	if (nr >= THREADS_FROM)
		grove__pool_begin_one(&c->pool, check, c);
}

bool grove__sums_end(struct grove__sums_check *c)
{
	check(c, 0);
	grove__pool_end(&c->pool);
	return !c->wrong;
}
