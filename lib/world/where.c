/* world/where.c: the location of a session: a store and a key, or a path. */
#include "world/world.h"

#include <stdlib.h>
#include <string.h>

void grove__where_release(struct grove__where *w)
{
	if (w->own_store)
		grove__store_close(w->store);
	free(w->project);
	free(w->session);
	free(w->sub);
	free(w->path);
	memset(w, 0, sizeof(*w));
}

int grove__where_copy(struct grove__where *to, const struct grove__where *from)
{
	*to = *from;
	to->own_store = false;
	to->project = strdup(from->project);
	to->session = strdup(from->session);
	to->sub = from->sub ? strdup(from->sub) : NULL;
	to->path = from->path ? strdup(from->path) : NULL;
	if (to->project && to->session && (to->path || !from->path) && (to->sub || !from->sub))
		return 0;
	grove__where_release(to);
	return GROVE_ENOMEM;
}

int grove__where_writable(const struct grove *g, const struct grove__where *w, struct grove_detail *d)
{
	for (size_t i = 0; i < g->nr_roots; i++)
		if (g->roots[i].archive && g->roots[i].store == w->store)
			return grove__fail(d, GROVE_ENOTSUP, w->path ? w->path : w->session,
					   "it is in the archive, where nothing is changed (bring it back with 'grove archive restore')");
	return 0;
}

struct grove_key grove__where_key(const struct grove__where *w)
{
	return (struct grove_key){ w->project, w->session, w->sub ? w->sub : "" };
}

const char *grove__where_name(const struct grove__where *w)
{
	const char *slash = w->sub ? strrchr(w->sub, '/') : NULL;

	return slash ? slash + 1 : w->sub ? w->sub : w->session;
}

int grove__where_fill(struct grove__where *w, struct grove__root *root, const struct grove_key *key,
		      struct grove_detail *d)
{
	struct grove_buf path = GROVE_BUF_INIT;

	memset(w, 0, sizeof(*w));
	w->store = root->store;
	w->dialect = root->dialect;
	w->agent = root->agent;
	w->project = strdup(key->project);
	w->session = strdup(key->session);
	w->sub = *key->subpath ? strdup(key->subpath) : NULL;
	if (!w->project || !w->session || (*key->subpath && !w->sub) || grove__store_describe(root->store, key, &path)) {
		grove__buf_release(&path);
		grove__where_release(w);
		return grove__fail_nomem(d);
	}
	w->path = path.ptr;
	return 0;
}

unsigned grove__where_store_mark(const struct grove_store *st)
{
	uint32_t h = 2166136261u;

	/*
	 * FNV-1a, folded. It must not change, because keys are part of addresses that
	 * people save
	 */
	for (const char *p = st->url; *p; p++)
		h = (h ^ (unsigned char)*p) * 16777619u;
	return (h ^ h >> 16) & 0xffff;
}

int grove__where_word(const struct grove__where *w, const char *id, struct grove_buf *out)
{
	return w->path ? grove__buf_add_str(out, w->path)
		       : grove__buf_addf(out, "%s~%04x", id, grove__where_store_mark(w->store));
}
