/*
 * image/cache.h: images of large logs, kept from one process to the next.
 */
#ifndef GROVE_IMAGE_CACHE_H
#define GROVE_IMAGE_CACHE_H

#include "session/session.h"

/*
 * What an earlier process found in this log, up to where it had read: 0. 1 if
 * there is nothing, or something that may not be about this log. Reading goes on
 * from there by grove__image_load(), which looks whether the log is still the same.
 */
int grove__cache_thaw(struct grove_session *s, struct grove__image *im);
/* Keep an image that was just loaded, if that pays. Nobody should fail because of it. */
void grove__cache_freeze(struct grove_session *s, struct grove__image *im);

#endif
