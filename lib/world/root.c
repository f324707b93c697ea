/*
 * world/root.c: the sessions of a root.
 *
 * An agent puts the sessions of a working directory together, under a name made from
 * its path. That name is ambiguous, earlier releases had others, and sessions are moved:
 * so the directory that a session names counts, wherever its file is.
 */
#include "world/world.h"

#include "sys/file.h"

#include <errno.h>
#include <stdlib.h>

struct grove__root *grove__root_with(struct grove *g, const struct grove_store *st)
{
	for (size_t i = 0; i < g->nr_roots; i++)
		if (g->roots[i].store == st)
			return &g->roots[i];
	return NULL;
}

/* ------------------------------------------------------------------ archives */

/* In which other root is a log with this name? */
static bool is_elsewhere(const struct grove *g, const struct grove__root *archive, const char *project, size_t len,
			 const char *session)
{
	struct grove_buf path = GROVE_BUF_INIT;
	struct grove__sys_stat st;
	bool found = false;

	for (size_t i = 0; i < g->nr_roots && !found; i++) {
		const struct grove__root *r = &g->roots[i];

		if (r == archive || r->archive || !r->dir)
			continue;
		grove__buf_clear(&path);
		found = !grove__buf_addf(&path, "%s/%.*s/%s", r->dir, (int)len, project, session) &&
			!grove__sys_stat(path.ptr, &st) && st.size;
	}
	grove__buf_release(&path);
	return found;
}

/* An archive has the keys of its sources, or PROJECT~2 where two sources have the same. */
bool grove__root_is_copy(const struct grove *g, const struct grove__root *root, const struct grove_key *key)
{
	const char *mark = strrchr(key->project, '~');

	if (!root->archive)
		return false;
	if (is_elsewhere(g, root, key->project, strlen(key->project), key->session))
		return true;
	return mark && mark[1] && mark[1 + strspn(mark + 1, "0123456789")] == '\0' &&
	       is_elsewhere(g, root, key->project, (size_t)(mark - key->project), key->session);
}

struct originals {
	struct grove *g;
	const struct grove__root *root;
	grove_key_fn *fn;
	void *payload;
};

static int pass_on(void *payload, const struct grove_key *key)
{
	struct originals *o = payload;

	return grove__root_is_copy(o->g, o->root, key) ? 0 : o->fn(o->payload, key);
}

int grove__root_list(struct grove *g, struct grove__root *root, grove_key_fn *fn, void *payload,
		     struct grove_detail *d)
{
	struct originals o = { g, root, fn, payload };

	return root->archive ? grove__store_list(root->store, NULL, pass_on, &o, d)
			     : grove__store_list(root->store, NULL, fn, payload, d);
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

int grove__root_lists_subs(struct grove *g, struct grove__root *root, bool *yes, struct grove_detail *d)
{
	const struct grove__dialect *dialect = g->forced ? g->forced : root->dialect;

	if (!dialect && grove__peek_root_likely(g, root, "", &dialect))
		return grove__fail_nomem(d);
	*yes = dialect->list.with_subagents && !root->flat;
	return 0;
}

int grove__root_list_subs(struct grove *g, struct grove__root *root, grove_key_fn *fn,
			  void *payload, struct grove_detail *d)
{
	bool yes = false;
	int rc = grove__root_lists_subs(g, root, &yes, d);

	return rc || !yes ? rc : grove__store_list_subs(root->store, NULL, fn, payload, d);
}

/* ------------------------------------------------------- stores that were named */

static int any_key(void *payload, const struct grove_key *key)
{
	(void)payload;
	(void)key;
	return 1;
}

#define DEEPEST 6                         /* directories below a store in which files are looked for */

struct look {
	const char *dir;
	unsigned depth;
	struct grove_detail *d;
};

/*
 * Returns 1 for a file, here or in a directory below: somebody may have named the
 * directory above that of the sessions. Names that begin with a dot are not sessions,
 * and links are only followed here.
 */
static int any_file(void *payload, const char *name)
{
	struct look *l = payload;
	struct grove_buf path = GROVE_BUF_INIT;
	struct look below = { .depth = l->depth + 1, .d = l->d };
	struct grove__sys_stat st;
	int rc = 0;

	if (name[0] == '.')
		return 0;
	if (grove__buf_addf(&path, "%s/%s", l->dir, name))
		return grove__fail_nomem(l->d);
	below.dir = path.ptr;
	if (l->depth ? grove__sys_lstat(path.ptr, &st) : grove__sys_stat(path.ptr, &st))
		rc = 0;
	else if (st.type != SYS_DIR)
		rc = st.type != SYS_LINK;
	else if (l->depth < DEEPEST)
		grove__sys_list(path.ptr, any_file, &below, &rc);
	grove__buf_release(&path);
	return rc;
}

static int root_there(struct grove *g, const struct grove__root *root, struct grove_detail *d)
{
	struct look l = { .dir = root->dir, .d = d };
	uint64_t hidden = grove__hidden_count(g);
	struct grove__sys_stat st;
	int ended = 0, rc, err = grove__sys_stat(root->dir, &st);

	if (err)
		return grove__fail_sys(d, err, root->dir, "no store there");
	if (st.type != SYS_DIR)
		return grove__fail(d, GROVE_ENOTFOUND, root->dir, "no store there: not a directory");
	rc = grove__store_list(root->store, NULL, any_key, NULL, d);
	if (rc)
		return rc < 0 ? rc : 0;
	/* there may be sessions where we cannot look */
	if (grove__hidden_count(g) != hidden)
		return 0;
	err = grove__sys_list(root->dir, any_file, &l, &ended);
	if (err)
		return grove__fail_sys(d, err, root->dir, "cannot look for sessions there");
	if (ended < 0)
		return ended;
	return !ended ? 0
		      : grove__fail(d, GROVE_ENOTFOUND, root->dir,
				    "no sessions there (looked for *.jsonl, here and in each directory)");
}

/* A database in a file; others tell when they are asked. */
static int file_there(const struct grove__root *root, struct grove_detail *d)
{
	const char *file = grove__store_file(root->store);
	struct grove__sys_stat st;
	int err = file ? grove__sys_stat(file, &st) : 0;

	return err ? grove__fail_sys(d, err, file, "no store there") : 0;
}

int grove__root_all_there(struct grove *g, struct grove_detail *d)
{
	int rc = 0;

	for (size_t i = 0; i < g->nr_roots && !rc && g->given; i++)
		rc = g->roots[i].dir ? root_there(g, &g->roots[i], d) : file_there(&g->roots[i], d);
	return rc;
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
