/*
 * image/cache.h: images of large logs, kept from one process to the next.
 */
#ifndef GROVE_IMAGE_CACHE_H
#define GROVE_IMAGE_CACHE_H

#include "image/image.h"

/*
 * Fill an empty image with what an earlier process found in this log, up to
 * where it had read. Returns 1 if there is nothing, or something that may not be
 * about this log. Reading goes on from there by grove__image_load(), which looks
 * whether the log is still the same.
 */
int grove__cache_thaw(const struct grove__image_source *src, struct grove__image *im);
/* Keep an image that was just loaded, if that pays. Failures are ignored. */
void grove__cache_freeze(const struct grove__image_source *src, struct grove__image *im);

#endif
