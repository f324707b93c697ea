/* search/search_none.c: without SQLite there is no index, and all logs are scanned. */
#include "search/search.h"

/* these functions only have to have the right types */
#pragma GCC diagnostic ignored "-Wunused-parameter"

int grove__search_index_open(struct grove *g, struct grove__search_index **out,
			     struct grove_detail *why)
{
	*out = NULL;
	return 0;
}

void grove__search_index_close(struct grove__search_index *ix)
{
}

void grove__search_index_warm(struct grove__search_index *ix)
{
}

bool grove__search_index_is_gone(const struct grove__search_index *ix)
{
	return false;
}

void grove__search_index_remove(struct grove *g)
{
}

int grove__search_index_sync(struct grove__search_index *ix, struct grove *g, const struct grove__search_logs *logs,
			     bool update, struct grove_detail *d)
{
	return grove__fail(d, GROVE_ENOTSUP, NULL, "there is no index");
}

int grove__search_index_find(struct grove__search_index *ix, struct grove_search *s,
			     const struct grove__search_ask *ask, struct grove__search_rank *rank,
			     struct grove__search_hits *out, struct grove_detail *d)
{
	return grove__fail(d, GROVE_ENOTSUP, NULL, "there is no index");
}

int grove__search_index_take(struct grove__search_index *ix, struct grove_search *s, struct grove__search_rank *rank,
			     struct grove__search_hits *out, struct grove_detail *d)
{
	return grove__fail(d, GROVE_ENOTSUP, NULL, "there is no index");
}

int grove__search_index_make_sure(struct grove__search_index *ix, struct grove_search *s,
				  struct grove__search_hits *hits)
{
	return GROVE_ENOTSUP;
}

int grove__search_index_suggest(struct grove__search_index *ix, const struct grove__search_query *q,
				struct grove_buf *out)
{
	return GROVE_ENOTSUP;
}

const struct grove__dialect *grove__search_index_dialect(const struct grove__search_index *ix,
							 const struct grove__log_at *l)
{
	return NULL;
}

int grove__search_index_file(struct grove__search_index *ix, const struct grove__log_at *l,
			     uint32_t file, uint32_t row, struct grove__search_file *out)
{
	return GROVE_ENOTSUP;
}
