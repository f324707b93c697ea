/*
 * logs/there.c: stores that were named must be there.
 */
#include "logs/logs.h"

#include "sys/file.h"

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

int grove__logs_there(struct grove *g, struct grove_detail *d)
{
	int rc = 0;

	for (size_t i = 0; i < g->nr_roots && !rc && g->given; i++)
		rc = g->roots[i].dir ? root_there(g, &g->roots[i], d) : file_there(&g->roots[i], d);
	return rc;
}
