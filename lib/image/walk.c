/* image/walk.c: the conversation, if rules over the whole log determine it. */
#include "image/image.h"

#include <stdlib.h>

void grove__walk_release(struct grove__chain_walk *w)
{
	free(w->rows);
	free(w->reasons);
	memset(w, 0, sizeof(*w));
}

int grove__image_walk(struct grove__image *im, uint32_t nr, const struct grove__chain_ask *ask,
		      struct grove__chain_walk *out, struct grove_detail *d)
{
	const struct grove__dialect *dialect = im->dialect;
	struct grove__chain *then = NULL;
	int rc = 0;

	memset(out, 0, sizeof(*out));
	pthread_rwlock_rdlock(&im->chain_lock);
	if (dialect->rules->count(im->chain) != nr) {
		/* the log has grown since the caller looked at it */
		then = dialect->rules->copy(im->chain, nr);
		rc = then ? 0 : GROVE_ENOMEM;
	}
	if (!rc)
		rc = dialect->rules->walk(then ? then : im->chain, ask, out);
	pthread_rwlock_unlock(&im->chain_lock);
	if (then)
		dialect->rules->free(then);
	if (rc == GROVE_ENOMEM)
		return grove__fail_nomem(d);
	if (rc == GROVE_ENOTFOUND)
		return grove__fail(d, rc, NULL, "Entry %.200s not found", ask->leaf ? ask->leaf : "");
	if (rc == GROVE_EINVAL)
		return grove__fail(d, rc, NULL, "a %s session has no mode %.60s", dialect->name,
				   ask->mode ? ask->mode : "");
	return rc;
}
