/*
 * image/sent.h: which entries of a log a model would be sent, by their rows.
 *
 * context.c writes them; whoever only wants to know which they are asks here, and
 * next to nothing is read.
 */
#ifndef GROVE_IMAGE_SENT_H
#define GROVE_IMAGE_SENT_H

#include "image/image.h"

enum grove__row_place {
	ROW_ON_PATH = 1,   /* on the way from the root to the leaf, compacted away or not */
	ROW_SENT = 2       /* the model sees what it says */
};

/*
 * A byte for each row of the image, of enum grove__row_place; free it. `name` is
 * that of the log's file, by which a sub-agent's own is known.
 */
int grove__image_sent(struct grove__image *im, struct grove_store_log *log, const char *name,
		      uint8_t **out, struct grove_detail *d);

#endif
