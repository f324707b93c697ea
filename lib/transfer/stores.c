/*
 * transfer/stores.c: a store by its URL, and the sessions in it.
 */
#include "transfer/stores.h"

#include "sys/file.h"

#include <errno.h>
#include <stdlib.h>

/* To writers, a directory that does not exist is an empty store; to readers it is a mistake. */
static int must_be_there(const char *dir, struct grove_detail *d)
{
	struct grove__sys_stat st;
	int err = grove__sys_stat(dir, &st);

	if (!err && st.type != SYS_DIR)
		err = -ENOTDIR;
	return err ? grove__fail_sys(d, err, dir, "cannot examine") : 0;
}

int grove__stores_lasts(const char *url, struct grove_detail *d)
{
	struct grove__store_traits t;

	grove__store_path(url, &t);
	return !t.kind || t.shared ? 0
		: grove__fail(d, GROVE_EINVAL, NULL, "memory: ends with this call, and the copy with it (use another store)");
}

int grove__stores_open(struct grove__opened_store *s, struct grove *g, const char *url, bool list,
		     struct grove_detail *d)
{
	struct grove__logs_which all = { .only = &s->root, .copies = true, .by_key = true };
	struct grove_buf full = GROVE_BUF_INIT;
	const char *dir;
	int rc;

	memset(s, 0, sizeof(*s));
	s->root.agent = "grove";
	rc = grove__world_store_url(g, url, &full) ? grove__fail_nomem(d) : 0;
	dir = rc ? NULL : grove__store_dir(full.ptr);
	if (dir) {
		s->root.dir = strdup(dir);
		rc = !s->root.dir ? grove__fail_nomem(d) : list ? must_be_there(s->root.dir, d) : 0;
	}
	if (!rc)
		rc = grove__world_store(g, full.ptr, &s->root.store, d);
	/* a known location gives the dialect */
	for (size_t i = 0; i < g->nr_roots && !rc && s->root.dir; i++)
		if (g->roots[i].dir && !strcmp(g->roots[i].dir, s->root.dir)) {
			s->root.dialect = g->roots[i].dialect;
			s->root.agent = g->roots[i].agent;
		}
	if (!rc && list)
		rc = grove__logs_find(&s->found, g, &all, d);
	grove__buf_release(&full);
	return rc;
}

void grove__stores_close(struct grove__opened_store *s)
{
	grove__store_close(s->root.store);
	free(s->root.dir);
	grove__logs_release(&s->found);
}

int grove__stores_name(struct grove__opened_store *s, const struct grove_key *key, struct grove_buf *out)
{
	int rc;

	grove__buf_clear(out);
	rc = grove__store_describe(s->root.store, key, out);
	if (rc || out->len)
		return rc;
	return grove__buf_addf(out, "%s%s%s%s%s", key->project, *key->project ? "/" : "", key->session,
			       *key->subpath ? "/" : "", key->subpath);
}

int grove__stores_go_on(struct grove *g, uint64_t done, uint64_t total, struct grove_detail *d)
{
	const struct grove_progress *p = &g->progress;

	if (p->fn && p->fn(p->payload, done, total))
		return grove__fail(d, GROVE_ECANCELLED, NULL, "cancelled");
	return 0;
}
