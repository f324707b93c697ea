/* image/open.c: loads a whole log, starting from the cache. */
#include "image/cache.h"

#define TRIES 4

/* The cache is used once: after that, it may be what does not match. */
static struct grove__image *begin_image(const struct grove__image_source *src, bool first)
{
	struct grove__image *im = grove__image_new(src->dialect);

	if (im && first && grove__cache_thaw(src, im)) {
		grove__image_unref(im);
		im = grove__image_new(src->dialect);
	}
	if (im)
		im->may_be_empty = src->may_be_empty;
	if (im)
		im->alone = src->alone;
	return im;
}

int grove__image_open(const struct grove__image_source *src, struct grove__image **out,
		      struct grove_detail *d)
{
	const struct grove_progress nobody = { NULL };
	struct grove__image *im;
	int rc = GROVE_ESTALE;

	*out = NULL;
	for (int tries = 0; tries < TRIES && rc == GROVE_ESTALE; tries++) {
		im = begin_image(src, !tries);
		if (!im)
			return grove__fail_nomem(d);
		rc = grove__image_load(im, src->log, src->path, src->progress ? src->progress : &nobody, d);
		if (rc)
			grove__image_unref(im);
		else
			*out = im;
	}
	if (!rc && !src->read_cache_only)
		grove__cache_freeze(src, *out);
	return rc;
}
