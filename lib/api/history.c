/*
 * api/history.c: the public calls of grove/history.h.
 */
#include "api/api.h"
#include "history/history.h"
#include "world/world.h"

static int told(struct grove_history *h, int rc, const struct grove_detail *d)
{
	if (rc < 0)
		grove__history_keep(h, rc, d);
	return rc;
}

int grove_history_open(struct grove *g, const char *path, struct grove_history **out)
{
	struct grove_buf full = GROVE_BUF_INIT;
	struct grove_detail d;
	int rc = 0;

	grove__fail_clear(&d);
	*out = NULL;
	if (path && *path && grove__world_resolve(g, path, &full))
		rc = grove__fail_nomem(&d);
	else
		*out = grove__history_open(&g->env, g->forced,
					   full.ptr ? full.ptr : path, &rc, &d);
	grove__buf_release(&full);
	grove__api_told(g, rc, &d);
	return *out ? told(*out, rc, &d) : rc;
}

void grove_history_close(struct grove_history *h)
{
	grove__history_close(h);
}

void grove_history_error(struct grove_history *h, struct grove_detail *out)
{
	grove__history_error(h, out);
}

const char *grove_history_path(const struct grove_history *h)
{
	return grove__history_path(h);
}

int grove_history_add(struct grove_history *h, struct grove_slice prompt, const char *cwd,
		      const char *session_id)
{
	struct grove_detail d;

	return told(h, grove__history_add(h, prompt, cwd, session_id, grove__fail_clear(&d)), &d);
}

int grove_history_flush(struct grove_history *h)
{
	struct grove_detail d;

	return told(h, grove__history_flush(h, grove__fail_clear(&d)), &d);
}

int grove_history_recent(struct grove_history *h, size_t limit, grove_history_fn *fn, void *payload)
{
	struct grove_detail d;

	return told(h, grove__history_recent(h, limit, fn, payload, grove__fail_clear(&d)), &d);
}

int grove_history_search(struct grove_history *h, const char *query, size_t limit, unsigned flags,
			 grove_history_fn *fn, void *payload)
{
	struct grove_detail d;

	return told(h, grove__history_search(h, query, limit, flags, fn, payload, grove__fail_clear(&d)), &d);
}

int grove_history_upgrade(struct grove_history *h)
{
	struct grove_detail d;

	return told(h, grove__history_upgrade(h, grove__fail_clear(&d)), &d);
}
