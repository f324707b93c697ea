/*
 * image/relay.h: what many rows say, composed by several threads, delivered by one.
 *
 * The rows are divided into parts of neighbours. Any thread composes a part from its
 * lines; the thread that asks delivers the parts, in order. So each line is read, checked
 * and converted by one thread, and its bytes stay with that thread's processor.
 *
 *	caller    compose 1 | deliver 1 | compose 3 | deliver 2, 3 | compose 5 …
 *	helper    compose 2 ........... | compose 4 ............ …
 */
#ifndef GROVE_IMAGE_RELAY_H
#define GROVE_IMAGE_RELAY_H

#include "image/image.h"

struct grove__relay_part {
	const uint32_t *rows;
	size_t nr;
	/* for compose() to fill, and deliver() to use; empty at first */
	struct grove_buf text, more;
};

struct grove__relay {
	const struct grove__image *im;
	const uint32_t *rows;
	size_t nr;
	/* Called by several threads at once. Returns 0 or an error, with its detail. */
	int (*compose)(void *payload, struct grove__relay_part *part, struct grove_detail *d);
	/* Called by the thread that called grove__relay_run(). Another result than 0 ends it. */
	int (*deliver)(void *payload, const struct grove__relay_part *part);
	void *payload;
};

/* Returns 0, GROVE_ENOMEM, or the first result of compose() or deliver(), in the order of the rows. */
int grove__relay_run(const struct grove__relay *r, struct grove_detail *d);

#endif
