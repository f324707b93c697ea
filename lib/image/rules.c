/*
 * image/rules.c: what a dialect's rules say about the rows of an image.
 *
 * The rules' data (im->chain) grows while others read it, so each query takes the lock.
 * If the dialect has no rules, each function returns what is true for a path.
 */
#include "image/image.h"

#include <stdlib.h>

int grove__rules_name(struct grove__image *im, uint32_t row, const char *mode, struct grove_buf *out)
{
	struct grove_slice own = grove__spine_name(grove__spine_id(im->spine, row)), alias;
	int rc;

	grove__buf_clear(out);
	if (!im->chain)
		return grove__buf_add_slice(out, own);
	pthread_rwlock_rdlock(&im->chain_lock);
	alias = im->dialect->rules->alias(im->chain, row, mode);
	rc = grove__buf_add_slice(out, alias.len ? alias : own);
	pthread_rwlock_unlock(&im->chain_lock);
	return rc;
}

int grove__rules_llm(struct grove__image *im, const uint32_t *rows, const struct grove_slice *messages,
		     size_t nr, grove__message_fn *fn, void *payload)
{
	uint8_t *marks = calloc(nr ? nr : 1, sizeof(*marks));
	int rc;

	if (!marks)
		return GROVE_ENOMEM;
	pthread_rwlock_rdlock(&im->chain_lock);
	im->dialect->rules->marks(im->chain, rows, nr, marks);
	pthread_rwlock_unlock(&im->chain_lock);
	/* without the lock: `fn` leads to the host, which may append to the session */
	rc = im->dialect->rules->llm(messages, marks, nr, fn, payload);
	free(marks);
	return rc;
}

int grove__rules_may_end(struct grove__image *im, uint32_t row, bool own_file, const char **why)
{
	int rc;

	if (!im->chain || row == GROVE_NO_ENTRY)
		return 0;
	pthread_rwlock_rdlock(&im->chain_lock);
	rc = im->dialect->rules->may_end(im->chain, row, own_file, why);
	pthread_rwlock_unlock(&im->chain_lock);
	return rc;
}

int grove__rules_call(struct grove__image *im, struct grove_slice json, struct grove_slice *id)
{
	return im->chain ? im->dialect->rules->call(im->chain, json, id) : 1;
}

bool grove__rules_side(struct grove__image *im, uint32_t row)
{
	return im->chain && im->dialect->rules->side(im->chain, row);
}

int grove__rules_lacks(struct grove__image *im, int (*fn)(void *payload, uint32_t row), void *payload)
{
	return im->chain ? im->dialect->rules->lacks(im->chain, fn, payload) : 0;
}

bool grove__rules_closed(struct grove__image *im, const struct grove__chain_walk *w)
{
	return w->nr_reasons && im->dialect->rules->has(w->reasons[0]) &&
	       im->dialect->rules->closed(im->chain);
}
