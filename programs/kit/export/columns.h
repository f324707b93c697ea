/*
 * columns.h: the shape of a session as the viewer reads it, one column per property.
 *
 *	"n":4,"seq":[1,2,3,4],"id":[…],"parent":[-1,0,1,2],"kind":"otmm","role":"--ua",
 *	"flags":[0,0,1,0],"bytes":[131,…],"time":[1784491765000,0,…],"labels":{"2":"findings"}
 *
 * `parent` is a position in the columns: -1 for a root, -2 for one before them. `time` has
 * differences. Kinds and roles are single letters, listed in the OpenAPI document; new ones
 * may be added, but none changes its meaning.
 */
#ifndef EXPORT_COLUMNS_H
#define EXPORT_COLUMNS_H

#include "kit/doc.h"

struct columns {
	const struct grove_view *v;
	const struct grove_columns *c;
	/*
	 * Only these entries, in this order; NULL for all of `c`. `place` then has the
	 * position of every entry of the view among them, or GROVE_NO_ENTRY, and `c` has
	 * all entries.
	 */
	const struct grove_rows *rows;
	const uint32_t *place;
	struct grove_sink to;     /* without a function, everything stays in `d` */
	struct doc d;             /* what is not written yet */
};

/* Writes an entry's value for a column; `k` is its index in `c`. */
typedef void columns_fn(struct columns *s, uint32_t k);

uint32_t columns_count(const struct columns *s);
void columns_put(struct columns *s, const char *name, columns_fn *fn);
/* Writes the members above up to `time`. */
void columns_put_shape(struct columns *s);
void columns_put_labels(struct columns *s);

/* '?' if it has none. */
char kind_letter(enum grove_kind kind);
char role_letter(enum grove_role role);

#endif
