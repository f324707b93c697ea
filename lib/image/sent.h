/*
 * image/sent.h: which entries of a log a model would be sent, by their rows.
 *
 * context.c writes them; this only finds out which they are, and reads next to nothing.
 */
#ifndef GROVE_IMAGE_SENT_H
#define GROVE_IMAGE_SENT_H

#include "image/image.h"

enum grove__row_place {
	ROW_ON_PATH = 1,   /* on the path from the root to the leaf, compacted or not */
	ROW_SENT = 2       /* the model is sent its text */
};

/*
 * Returns a byte for each row of the image, of enum grove__row_place; free it. `name`
 * is that of the log's file, which identifies a sub-agent's own log.
 */
int grove__image_sent(struct grove__image *im, struct grove_store_log *log, const char *name,
		      uint8_t **out, struct grove_detail *d);

#endif
