/*
 * image/base.h: logs that begin with a part of another one.
 *
 * The header of such a log names another session, its base, and how much of that log comes
 * before its own lines. These lines are read from the base's log, wherever they are needed;
 * they are never written, and are no part of what a list, a search or a bill reads of the
 * log. The base may have a base itself.
 *
 *	base    0:header  1:a  2:b  3:c
 *	log     0:header(base, 3 lines)  1:d  2:e
 *	rows    a  b  d  e                a and b are at line 0, which stands for them
 *
 * The position of a row says in which log its line is: the upper bits are the number of a
 * base, from 1, or 0 for the log itself.
 */
#ifndef GROVE_IMAGE_BASE_H
#define GROVE_IMAGE_BASE_H

#include "store/store.h"

struct grove__image;
struct grove__spot;

#define GROVE__BASE_SHIFT 56
#define GROVE__BASES_MAX 32u      /* bases of bases */

/* The logs that rows come from besides the image's own. */
struct grove__bases {
	struct grove_store_log *log[GROVE__BASES_MAX];
	unsigned nr;
	uint32_t rows;             /* how many rows at the beginning are in them */
	unsigned depth;            /* of the images that are being read for each other */
};

/*
 * Adds the rows of the base that the header names, if it names one. `log` is the image's
 * own: the base is looked for in the same store. GROVE_EDAMAGED if it is not there, or not
 * as long as it must be. The model is locked.
 */
int grove__base_load(struct grove__image *im, struct grove_store_log *log, const struct grove__spot *header,
		     const char *path, struct grove_detail *d);
void grove__base_release(struct grove__bases *b);

/* GROVE_ENOTSUP for a row of a base: it is changed in its own log. */
int grove__base_refuse(const struct grove__image *im, uint32_t row, const char *path, struct grove_detail *d);

/* Returns the log in which a position is, and turns *pos into a position of that log. */
struct grove_store_log *grove__base_log(const struct grove__image *im, struct grove_store_log *log,
					uint64_t *pos);

#endif
