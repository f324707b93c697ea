/* image/image.c: creating and freeing an image, and what it knows without its log. */
#include "image/image.h"

#include "sys/clock.h"
#include "sys/file.h"
#include "sys/map.h"

#include <stdlib.h>

struct grove__image *grove__image_new(const struct grove__dialect *dialect)
{
	struct grove__image *im = calloc(1, sizeof(*im));
	uint64_t seed = grove__sys_seed();

	if (!im)
		return NULL;
	im->refs = 1;
	im->dialect = dialect;
	im->from = dialect->version;
	grove__json_want_init(&im->want, dialect->read.members, dialect->read.nr_members);
	grove__arena_init(&im->keep);
	im->spine = grove__spine_new(seed);
	if (grove__model_init(&im->model, dialect, seed) || !im->spine) {
		grove__image_unref(im);
		return NULL;
	}
	return im;
}

struct grove__image *grove__image_ref(struct grove__image *im)
{
	__atomic_fetch_add(&im->refs, 1, __ATOMIC_RELAXED);
	return im;
}

void grove__image_unref(struct grove__image *im)
{
	if (!im || __atomic_sub_fetch(&im->refs, 1, __ATOMIC_ACQ_REL))
		return;
	grove__spine_free(im->spine);
	grove__arena_release(&im->keep);
	grove__model_release(&im->model);
	grove__base_release(&im->bases);
	/* spine and model are in there */
	grove__sys_unmap(im->ice, im->ice_len);
	/*
	 * it differs from the log: delete the cache, so that the next process need not
	 * find out again
	 */
	if (im->kept_path && grove__image_spoilt(im))
		grove__sys_unlink(im->kept_path);
	free(im->kept_path);
	free(im->headers);
	free(im->spans);
	grove__buf_release(&im->text);
	free(im->text_at);
	free(im);
}

const char *grove__image_name(const struct grove__image *im)
{
	if (im->slot_title)
		return im->slot_title;
	if (grove__dialect_has_title(im->dialect) && im->header.title && *im->header.title)
		return im->header.title;
	return im->spine->name ? im->spine->name : im->spine->weak_name;
}

const char *grove__image_kept_leaf(const struct grove_buf *value, uint64_t tail)
{
	char *end;

	return value->len && strtoull(value->ptr, &end, 10) == tail && *end == ' ' ? end + 1 : NULL;
}
