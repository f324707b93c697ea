/*
 * api/archive.c: the public calls for archives, hydration and sub-agents.
 */
#include "api/api.h"
#include "catalog/list.h"
#include "session/about.h"
#include "transfer/copy.h"

int grove_archive(struct grove *g, const char *what, const struct grove_archive_options *opt,
		  struct grove_archive_result *result)
{
	struct grove_archive_options o;
	struct grove_archive_result r = { .size = sizeof(r) };
	struct grove_detail d;
	int rc = grove__sized_begin(&o, sizeof(o), opt, &d);

	if (!rc)
		rc = grove__sized_check(result, &d);
	if (!rc)
		rc = grove__archive(g, what, &o, &r, &d);
	grove__sized_give(result, &r, sizeof(r));
	return grove__api_told(g, rc, &d);
}

int grove_archive_url(struct grove *g, const char *to, struct grove_buf *out)
{
	return grove__world_archive_url(g, to, out);
}

int grove_restore(struct grove *g, const char *what, const char *dir, struct grove_list **out)
{
	struct grove_list *l = grove__api_list_new(g);
	struct grove_buf path = GROVE_BUF_INIT;
	struct grove_detail d;
	int rc;

	*out = l;
	if (!l)
		return GROVE_ENOMEM;
	grove__fail_clear(&d);
	rc = grove__restore(g, what, dir, &path, &d);
	rc = rc ? rc : grove__list_of_one(g, path.ptr, 0, l, &d);
	grove_buf_release(&path);
	return grove__api_told(g, rc, &d);
}

int grove_hydrate(struct grove *g, const struct grove_hydrate_options *opt,
			  const struct grove_source *src, uint64_t *lines)
{
	struct grove_hydrate_options o;
	struct grove_detail d;
	int rc = grove__sized_begin(&o, sizeof(o), opt, &d);

	if (!rc)
		rc = grove__session_hydrate(g, &o, src, lines, &d);
	return grove__api_told(g, rc, &d);
}

/* The result of a callback is passed on, without a detail. */
int grove_session_subagent_each(struct grove_session *s, grove_subagent_fn *fn, void *payload)
{
	struct grove_detail d;
	int rc = grove__subagents_list(s, fn, payload, grove__fail_clear(&d));

	return d.code ? grove__api_session_told(s, rc, &d) : rc;
}
