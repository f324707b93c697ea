/* image/cache.h: images of large logs, cached from one process to the next. */
#ifndef GROVE_IMAGE_CACHE_H
#define GROVE_IMAGE_CACHE_H

#include "image/image.h"

/*
 * Fills an empty image with what an earlier process found in this log, up to where it
 * had read. Returns 1 if there is nothing, or something that may not be about this log.
 * grove__image_load() continues from there, and checks that the log is still the same.
 */
int grove__cache_thaw(const struct grove__image_source *src, struct grove__image *im);
/* Caches an image that was just loaded, if that pays. Failures are ignored. */
void grove__cache_freeze(const struct grove__image_source *src, struct grove__image *im);

#endif
