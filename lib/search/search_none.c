/* search/search_none.c: without SQLite there is no index, and all logs are scanned. */
#include "search/search.h"

int grove__search_index_open(struct grove *g, struct grove__search_index **out,
			     struct grove_detail *why)
{
	(void)g;
	(void)why;
	*out = NULL;
	return 0;
}

void grove__search_index_close(struct grove__search_index *ix)
{
	(void)ix;
}

void grove__search_index_remove(struct grove *g)
{
	(void)g;
}

int grove__search_index_sync(struct grove__search_index *ix, struct grove *g,
			     const struct grove__sweep *sweep, const struct grove__search_like *like,
			     uint8_t *look, bool update, struct grove_detail *d)
{
	(void)ix;
	(void)g;
	(void)update;
	(void)sweep;
	(void)like;
	(void)look;
	return grove__fail(d, GROVE_ENOTSUP, NULL, "there is no index");
}

int grove__search_index_find(struct grove__search_index *ix, struct grove_search *s,
			     const struct grove__search_ask *ask, struct grove__search_hits *out,
			     bool *lost, struct grove_detail *d)
{
	(void)ix;
	(void)s;
	(void)ask;
	(void)out;
	(void)lost;
	return grove__fail(d, GROVE_ENOTSUP, NULL, "there is no index");
}

int grove__search_index_suggest(struct grove__search_index *ix, const struct grove__search_query *q,
				struct grove_buf *out)
{
	(void)ix;
	(void)q;
	(void)out;
	return GROVE_ENOTSUP;
}

const struct grove__dialect *grove__search_index_dialect(const struct grove__search_index *ix,
							 const struct grove__sweep_log *l)
{
	(void)ix;
	(void)l;
	return NULL;
}

int grove__search_index_file(struct grove__search_index *ix, uint32_t file, uint32_t row,
			     struct grove__search_file *out)
{
	(void)ix;
	(void)file;
	(void)row;
	(void)out;
	return GROVE_ENOTSUP;
}
