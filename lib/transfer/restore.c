/*
 * transfer/restore.c: copies an archived session back to where its agent stores its sessions.
 *
 * It is a copy (copy.c) with three differences: files get the current time, because otherwise
 * the agent would delete them at once; earlier versions stay in the archive; and what the
 * agent keeps elsewhere goes there.
 */
#include "transfer/copy.h"

#include <stdlib.h>

/* PROJECT~2 is PROJECT at its source. NULL: out of memory. */
static char *project_of(const char *project)
{
	const char *mark = strrchr(project, '~');
	bool ours = mark && mark[1] && mark[1 + strspn(mark + 1, "0123456789")] == '\0';

	return ours ? strndup(project, (size_t)(mark - project)) : strdup(project);
}

static int target(struct grove *g, const char *dir, const struct grove__dialect *dialect,
		  struct grove_store **out, struct grove_detail *d)
{
	struct grove__root *root = dir ? NULL : grove__world_root(g, dialect);

	if (dir)
		return grove__world_shared(g, dir, out, d);
	if (!root)
		return grove__fail(d, GROVE_EINVAL, NULL, "there is no directory of %s (use --to)", dialect->name);
	*out = root->store;
	return 0;
}

static int copy_back(struct grove *g, const struct grove__where *at, struct grove_store *to,
		     struct grove_buf *path, struct grove_detail *d)
{
	const struct grove__root *root = grove__root_with(g, at->store);
	char *project = project_of(at->project);
	struct grove_archived out = { 0 };
	struct grove__copy_job in = {
		.g = g, .dialect = at->dialect, .root_dir = root ? root->dir : NULL, .from = at->store, .to = to,
		.key = { at->project, at->session, "" }, .to_project = project, .restore = true,
	};
	struct grove_key key = { project, at->session, "" };
	int rc = project ? grove__copy_session(&in, &out, d) : grove__fail_nomem(d);

	if (!rc && grove__store_describe(to, &key, path))
		rc = grove__fail_nomem(d);
	free(project);
	return rc;
}

int grove__restore(struct grove *g, const char *what, const char *dir, struct grove_buf *path,
		   struct grove_detail *d)
{
	struct grove__where at = { 0 };
	const struct grove__root *root;
	struct grove_store *to = NULL;
	int rc = grove__locate(g, what, &at, d);

	root = rc ? NULL : grove__root_with(g, at.store);
	if (!rc && !(root && root->archive))
		rc = grove__fail(d, GROVE_EEXIST, at.path, "is not only in the archive: it is still here");
	if (!rc)
		rc = grove__peek_where_dialect(g, &at, d);
	if (!rc)
		rc = target(g, dir, at.dialect, &to, d);
	if (!rc)
		rc = copy_back(g, &at, to, path, d);
	grove__where_release(&at);
	return rc;
}
