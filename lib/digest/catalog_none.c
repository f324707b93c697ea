/*
 * digest/catalog_none.c: there is no catalog without SQLite.
 */
#include "digest/catalog.h"

/* these functions only have to have the right types */
#pragma GCC diagnostic ignored "-Wunused-parameter"

struct grove__catalog *grove__catalog_open(struct grove *g, unsigned chapters,
					   const grove__catalog_need *need)
{
	return NULL;
}

bool grove__catalog_find(struct grove__catalog *c, enum grove__chapter chapter, const char *path,
			 const struct grove__log_state *st, struct grove__arena *tmp,
			 struct grove_slice *out)
{
	return false;
}

bool grove__catalog_lasts(const struct grove__catalog *c, enum grove__chapter chapter)
{
	return false;
}

bool grove__catalog_recall(struct grove__catalog *c, enum grove__chapter chapter, const char *path,
			   struct grove__log_state *st, struct grove__arena *tmp, struct grove_slice *out)
{
	return false;
}

void grove__catalog_put(struct grove__catalog *c, enum grove__chapter chapter, const char *path,
			const struct grove__log_state *st, struct grove_slice bytes)
{
}

void grove__catalog_close(struct grove__catalog *c, bool complete, struct grove__arena *texts)
{
}
