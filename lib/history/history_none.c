/* history/history_none.c: a build without SQLite. */
#include "history/history.h"

#include <stdlib.h>

/* these functions only have to have the right types */
#pragma GCC diagnostic ignored "-Wunused-parameter"

/* There is a handle nevertheless, to hold the error. */
struct grove_history {
	struct grove__history_tuning tuning;
	struct grove_detail detail;
};

static int none(struct grove_detail *d)
{
	return grove__fail(d, GROVE_ENOTSUP, NULL,
			   "this build of grove has no SQLite, which prompt history needs");
}

struct grove_history *grove__history_open(const struct grove__env *env, const struct grove__dialect *asked,
					  const char *path, int *rc, struct grove_detail *d)
{
	*rc = none(d);
	return calloc(1, sizeof(struct grove_history));
}

void grove__history_close(struct grove_history *h)
{
	free(h);
}

const char *grove__history_path(const struct grove_history *h)
{
	return NULL;
}

int grove__history_add(struct grove_history *h, struct grove_slice prompt, const char *cwd,
		       const char *session_id, struct grove_detail *d)
{
	return none(d);
}

int grove__history_flush(struct grove_history *h, struct grove_detail *d)
{
	return none(d);
}

int grove__history_recent(struct grove_history *h, size_t limit, grove_history_fn *fn,
			  void *payload, struct grove_detail *d)
{
	return none(d);
}

int grove__history_search(struct grove_history *h, const char *query, size_t limit, unsigned flags,
			  grove_history_fn *fn, void *payload, struct grove_detail *d)
{
	return none(d);
}

int grove__history_upgrade(struct grove_history *h, struct grove_detail *d)
{
	return none(d);
}

void grove__history_keep(struct grove_history *h, int rc, const struct grove_detail *d)
{
	h->detail = *d;
	h->detail.code = rc;
}

void grove__history_error(struct grove_history *h, struct grove_detail *out)
{
	*out = h->detail;
}

struct grove__history_tuning *grove__history_tuning(struct grove_history *h)
{
	return &h->tuning;
}
