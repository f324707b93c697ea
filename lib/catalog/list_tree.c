/*
 * catalog/list_tree.c: a list as a tree: each session below the one it was forked from.
 *
 * Sessions without a parent, or whose parent is not in the list, are at the top. If
 * parents form a cycle, its first one in list order is at the top. Siblings keep their
 * list order; by time, the latest of a session and everything below it counts.
 */
#include "catalog/list.h"

#include "base/idmap.h"
#include "sys/clock.h"
#include "sys/file.h"

#include <stdlib.h>

struct node {
	uint32_t parent, child, last, sibling;
	int64_t latest;
	const char *real;            /* its path with every link resolved; see resolve_all() */
};

struct forest {
	struct grove_list *l;
	struct node *node;           /* with one more, which is above all */
	uint32_t *order;
	struct grove__idmap by_path, by_real, by_id;
	int resolved;                /* by_real is filled */
	struct grove__arena texts;
};

#define NONE GROVE__IDMAP_NONE

static struct grove_slice path_of(const void *owner, uint32_t i)
{
	return grove__slice_str(((const struct forest *)owner)->l->info[i].path);
}

static struct grove_slice real_of(const void *owner, uint32_t i)
{
	return grove__slice_str(((const struct forest *)owner)->node[i].real);
}

static struct grove_slice id_of(const void *owner, uint32_t i)
{
	return grove__slice_str(((const struct forest *)owner)->l->info[i].id);
}

/* Returns 1, and the path itself, if it does not exist. GROVE_ENOMEM. */
static int real_path(struct forest *f, const char *path, const char **out)
{
	struct grove_buf b = GROVE_BUF_INIT;
	int rc = *path == '/' && !grove__sys_realpath(path, &b) ? 0 : 1;

	*out = path;
	if (!rc && strcmp(b.ptr, path)) {
		*out = grove__arena_dup(&f->texts, grove__buf_slice(&b));
		rc = *out ? 0 : GROVE_ENOMEM;
	}
	grove__buf_release(&b);
	return rc;
}

/* If several have the same name, the first one keeps it. */
static int name_it(struct grove__idmap *m, struct grove_slice name, uint32_t i)
{
	uint32_t old;

	if (!name.len || grove__idmap_get(m, name) != NONE)
		return 0;
	return grove__idmap_put(m, name, i, &old);
}

static int name_all(struct forest *f)
{
	int rc = 0;

	for (uint32_t i = 0; i < f->l->nr && !rc; i++) {
		f->node[i].latest = f->l->info[i].modified;
		rc = name_it(&f->by_path, path_of(f, i), i);
		rc = rc ? rc : name_it(&f->by_id, id_of(f, i), i);
	}
	return rc;
}

/* Seven system calls for each session: done only if a parent has another name than it has in the list. */
static int resolve_all(struct forest *f)
{
	int rc = 0;

	if (f->resolved)
		return 0;
	f->resolved = 1;
	for (uint32_t i = 0; i < f->l->nr && rc >= 0; i++) {
		rc = real_path(f, f->l->info[i].path, &f->node[i].real);
		rc = rc < 0 ? rc : name_it(&f->by_real, real_of(f, i), i);
	}
	return rc < 0 ? rc : 0;
}

/* Looks by path, by real path, by id. */
static int find_parent(struct forest *f, const char *name, uint32_t *out)
{
	const char *real;
	int rc;

	*out = grove__idmap_get(&f->by_path, grove__slice_str(name));
	if (*out != NONE)
		return 0;
	rc = real_path(f, name, &real);
	if (!rc)
		rc = resolve_all(f);
	/* what does not exist is nobody's real path */
	if (!rc)
		*out = grove__idmap_get(&f->by_real, grove__slice_str(real));
	if (rc >= 0 && *out == NONE)
		*out = grove__idmap_get(&f->by_id, grove__slice_str(name));
	return rc < 0 ? rc : 0;
}

static int find_parents(struct forest *f)
{
	uint32_t top = (uint32_t)f->l->nr;
	int rc = 0;

	for (uint32_t i = 0; i < top && !rc; i++) {
		const char *name = f->l->info[i].parent_session;
		uint32_t parent = NONE;

		rc = name && *name ? find_parent(f, name, &parent) : 0;
		f->node[i].parent = parent == NONE || parent == i ? top : parent;
	}
	return rc;
}

/* `order` is not used yet: here it says in which round a node was visited. */
static void cut_circles(struct forest *f)
{
	uint32_t top = (uint32_t)f->l->nr, at;

	for (uint32_t i = 0; i < top; i++)
		f->order[i] = NONE;
	for (uint32_t i = 0; i < top; i++) {
		for (at = i; at != top && f->order[at] == NONE; at = f->node[at].parent)
			f->order[at] = i;
		if (at == top || f->order[at] != i)
			continue;
		/* a cycle with `at` in it: the smallest is its first one */
		for (uint32_t k = f->node[at].parent, all = at; k != all; k = f->node[k].parent)
			at = k < at ? k : at;
		f->node[at].parent = top;
	}
}

static void raise_times(struct forest *f)
{
	uint32_t top = (uint32_t)f->l->nr;

	for (uint32_t i = 0; i < top; i++)
		for (uint32_t at = f->node[i].parent;
		     at != top && f->node[at].latest < f->l->info[i].modified; at = f->node[at].parent)
			f->node[at].latest = f->l->info[i].modified;
}

static int by_latest(const void *x, const void *y, void *payload)
{
	const struct forest *f = payload;
	uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
	int64_t ta = f->node[a].latest, tb = f->node[b].latest;

	if (ta != tb)
		return ta > tb ? -1 : 1;
	return a < b ? -1 : a > b;
}

static void link_all(struct forest *f, bool by_time)
{
	uint32_t top = (uint32_t)f->l->nr;

	for (uint32_t i = 0; i <= top; i++)
		f->node[i].child = f->node[i].last = f->node[i].sibling = NONE;
	for (uint32_t i = 0; i < top; i++)
		f->order[i] = i;
	if (by_time)
		qsort_r(f->order, top, sizeof(*f->order), by_latest, f);
	for (uint32_t k = 0; k < top; k++) {
		uint32_t i = f->order[k];
		struct node *parent = &f->node[f->node[i].parent];

		if (parent->last == NONE)
			parent->child = i;
		else
			f->node[parent->last].sibling = i;
		parent->last = i;
	}
}

/* Goes down, then to the next sibling, then up, without recursion. */
static void walk(struct forest *f, struct grove_list_item *out)
{
	uint32_t top = (uint32_t)f->l->nr, at = f->node[top].child;
	unsigned depth = 0;
	size_t nr = 0;

	while (at != NONE && at != top) {
		out[nr] = f->l->info[at];
		out[nr++].depth = depth;
		if (f->node[at].child != NONE) {
			at = f->node[at].child;
			depth++;
			continue;
		}
		while (at != top && f->node[at].sibling == NONE) {
			at = f->node[at].parent;
			depth -= at != top;
		}
		if (at != top)
			at = f->node[at].sibling;
	}
}

int grove__list_thread(struct grove_list *l, bool by_time)
{
	struct forest f = { .l = l };
	struct grove_list_item *out;
	uint64_t seed = grove__sys_seed();
	int rc;

	if (l->nr < 2 || l->nr >= NONE)
		return 0;
	grove__arena_init(&f.texts);
	grove__idmap_init(&f.by_path, seed, path_of, &f);
	grove__idmap_init(&f.by_real, seed, real_of, &f);
	grove__idmap_init(&f.by_id, seed, id_of, &f);
	f.node = calloc(l->nr + 1, sizeof(*f.node));
	f.order = calloc(l->nr, sizeof(*f.order));
	out = calloc(l->nr, sizeof(*out));
	rc = f.node && f.order && out ? name_all(&f) : GROVE_ENOMEM;
	if (!rc)
		rc = find_parents(&f);
	if (!rc) {
		cut_circles(&f);
		if (by_time)
			raise_times(&f);
		link_all(&f, by_time);
		walk(&f, out);
		free(l->info);
		l->info = out;
		l->cap = l->nr;
		out = NULL;
	}
	free(out);
	free(f.order);
	free(f.node);
	grove__idmap_release(&f.by_path);
	grove__idmap_release(&f.by_real);
	grove__idmap_release(&f.by_id);
	grove__arena_release(&f.texts);
	return rc;
}
