/*
 * world/root.c: the sessions of a root.
 *
 * An agent puts the sessions of a working directory together, under a name made from
 * its path. That name is ambiguous, earlier releases had others, and sessions are moved:
 * so the directory that a session names counts, wherever its file is.
 */
#include "world/world.h"

#include <errno.h>
#include <stdlib.h>

struct grove__root *grove__root_with(struct grove *g, const struct grove_store *st)
{
	for (size_t i = 0; i < g->nr_roots; i++)
		if (g->roots[i].store == st)
			return &g->roots[i];
	return NULL;
}

int grove__roots_ask(struct grove *g, enum grove__roots which, grove__ask_fn *fn, void *payload,
		     struct grove_detail *d)
{
	struct grove_detail why;
	int rc = 0;

	d = d ? d : &why;
	for (size_t i = 0; i < g->nr_roots && !rc; i++) {
		struct grove__root *root = &g->roots[i];

		if (which == ROOTS_ALL || (which == ROOTS_HERE) == grove__store_is_here(root->store))
			rc = grove__hidden_asked(g, root, fn(payload, root, grove__fail_clear(d)), d);
	}
	return rc;
}

const struct grove__root *grove__roots_away(const struct grove *g)
{
	for (size_t i = 0; i < g->nr_roots; i++)
		if (__atomic_load_n(&g->roots[i].away, __ATOMIC_RELAXED))
			return &g->roots[i];
	return NULL;
}

/* Returns 1 or 0, or GROVE_ENOMEM. A path that leads nowhere is no other's. */
static int same_real(const struct grove *g, const char *a, const char *b)
{
	const struct grove__env *env = &g->env;
	struct grove_buf x = GROVE_BUF_INIT, y = GROVE_BUF_INIT;
	int rc = env->realpath(env->file_payload, a, &x);

	if (!rc)
		rc = env->realpath(env->file_payload, b, &y);
	rc = rc == -ENOMEM ? GROVE_ENOMEM : !rc && !strcmp(x.ptr, y.ptr);
	grove__buf_release(&x);
	grove__buf_release(&y);
	return rc;
}

/* Returns 1 if the directory that a header names is `cwd`, 0 if not, or GROVE_ENOMEM. */
static int same_cwd(const struct grove *g, const struct grove__dialect *dialect, const char *named,
		    const char *cwd)
{
	struct grove_buf path = GROVE_BUF_INIT;
	int rc = grove__world_resolve(g, named, &path);

	if (rc)
		rc = rc == GROVE_ENOMEM ? rc : 0;
	else if (!strcmp(path.ptr, cwd))
		rc = 1;
	else if (dialect->paths.real_cwd)
		rc = same_real(g, path.ptr, cwd);
	grove__buf_release(&path);
	return rc;
}

struct place {
	const char *project;
	bool found;
};

static int is_place(void *payload, const char *name)
{
	struct place *p = payload;

	p->found |= !strcmp(p->project, name);
	return 0;
}

int grove__root_belongs(struct grove *g, const struct grove__root *root,
			const struct grove__dialect *dialect, const char *project,
			const char *named, const char *cwd)
{
	struct grove_buf name = GROVE_BUF_INIT;
	struct place p = { .project = project };
	int rc;

	if (named && *named)
		return same_cwd(g, dialect, named, cwd);
	if (root->flat || !*project)
		return 0;
	rc = dialect->paths.project(&g->env, cwd, &name);
	if (!rc)
		is_place(&p, name.ptr);
	if (rc != GROVE_ENOMEM && !p.found && dialect->paths.old_projects)
		rc = dialect->paths.old_projects(&g->env, cwd, is_place, &p);
	grove__buf_release(&name);
	return rc == GROVE_ENOMEM ? rc : p.found;
}
