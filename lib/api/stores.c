/*
 * api/stores.c: the public calls for whole stores, and for copies between them.
 */
#include "api/api.h"
#include "sys/file.h"
#include "transfer/stores.h"

int grove_copy(struct grove *g, const char *what, const char *store, struct grove_buf *id,
	       struct grove_buf *path)
{
	struct grove_detail d;

	return grove__api_told(g, grove__copy(g, what, store, id, path, grove__fail_clear(&d)), &d);
}

int grove_stores_exist(struct grove *g)
{
	struct grove_detail d;

	return grove__api_told(g, grove__logs_there(g, grove__fail_clear(&d)), &d);
}

static bool is_there(const char *dir)
{
	struct grove__sys_stat st;

	return !grove__sys_stat(dir, &st) && st.type == SYS_DIR;
}

int grove_store_each(struct grove *g, grove_store_fn *fn, void *payload)
{
	int rc = 0;

	for (size_t i = 0; i < g->nr_roots && !rc; i++) {
		const struct grove__root *r = &g->roots[i];
		struct grove_store_about about = { r->store->url, g->given ? NULL : r->agent, r->dir,
						   __atomic_load_n(&r->away, __ATOMIC_RELAXED) };

		if (g->given || !r->dir || is_there(r->dir))
			rc = fn(payload, &about);
	}
	return rc;
}

static int url_of(struct grove *g, const char *store, struct grove_buf *out, struct grove_detail *d)
{
	struct grove_buf url = GROVE_BUF_INIT;
	int rc = grove__world_store_url(g, store, &url) ? grove__fail_nomem(d) : grove__world_secret(g, url.ptr, out, d);

	grove__buf_release(&url);
	return rc;
}

int grove_store_init(struct grove *g, const char *store)
{
	struct grove_buf url = GROVE_BUF_INIT;
	struct grove_detail d;
	int rc = url_of(g, store, &url, grove__fail_clear(&d));

	rc = rc ? rc : grove__store_init(&g->store_types, url.ptr, &d);
	grove__buf_release(&url);
	return grove__api_told(g, rc, &d);
}

int grove_store_upgrade(struct grove *g, const char *store, unsigned *from, unsigned *to)
{
	struct grove_buf url = GROVE_BUF_INIT;
	struct grove_detail d;
	unsigned a = 0, b = 0;
	int rc = url_of(g, store, &url, grove__fail_clear(&d));

	rc = rc ? rc : grove__store_upgrade(&g->store_types, url.ptr, &a, &b, &d);
	if (from)
		*from = a;
	if (to)
		*to = b;
	grove__buf_release(&url);
	return grove__api_told(g, rc, &d);
}

int grove_store_verify(struct grove *g, const char *store, grove_problem_fn *fn, void *payload,
		       struct grove_check_result *result)
{
	struct grove_check_result r = { .size = sizeof(r) };
	struct grove_detail d;
	int rc = grove__sized_check(result, grove__fail_clear(&d));

	if (!rc)
		rc = grove__store_verify(g, store, fn, payload, &r, &d);
	grove__sized_give(result, &r, sizeof(r));
	return d.code ? grove__api_told(g, rc, &d) : rc;
}

int grove_store_copy(struct grove *g, const char *from, const char *to, grove_archive_fn *fn,
		     void *payload, struct grove_archive_result *result)
{
	struct grove_archive_result r = { .size = sizeof(r) };
	struct grove_detail d;
	int rc = grove__sized_check(result, grove__fail_clear(&d));

	if (!rc)
		rc = grove__stores_copy(g, from, to, fn, payload, &r, &d);
	grove__sized_give(result, &r, sizeof(r));
	return grove__api_told(g, rc, &d);
}

int grove_store_stats(struct grove *g, const char *store, struct grove_store_stats **out)
{
	struct grove_detail d;

	return grove__api_told(g, grove__store_stats(g, store, out, grove__fail_clear(&d)), &d);
}

void grove_store_stats_free(struct grove_store_stats *s)
{
	grove__store_stats_free(s);
}

int grove_store_stats_json(const struct grove_store_stats *s, struct grove_buf *out)
{
	return grove__store_stats_json(s, out);
}
