/* digest/shape.h: what only the tree of a session shows, for a long list. */
#ifndef GROVE_DIGEST_SHAPE_H
#define GROVE_DIGEST_SHAPE_H

#include "digest/read.h"

struct grove__shape {
	uint64_t entries, branches, compactions, malformed;
	bool torn;
	const char *leaf;            /* NULL: none; valid as long as `tmp` below */
	uint64_t nr_labels;
	const char *labels[GROVE_LIST_LABELS];  /* the latest of them, NULL after the last; as `leaf` */
};

/* Makes the shape of a log that turned out to be regular, as bytes for the catalog. GROVE_ENOMEM. */
int grove__shape_pack(const struct grove__outline *o, const struct grove__dialect *dialect, struct grove_buf *out);
/*
 * Gets the shape of a session that was just read for a list, from that reading, from the
 * catalog or by loading it.
 */
int grove__shape_of(struct grove *g, struct grove__catalog *c, const struct grove__digest_one *x,
		    struct grove__arena *tmp, struct grove__shape *out, struct grove_detail *d);

#endif
