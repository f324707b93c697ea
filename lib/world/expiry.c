/*
 * world/expiry.c: sessions that agents delete automatically.
 *
 * An agent cleans up only in its own directory: it does not touch a copy of its
 * sessions elsewhere, for instance in an archive.
 */
#include "world/world.h"

#include "sys/file.h"

#include <errno.h>

#define SETTINGS_MAX ((size_t)16 << 20)

struct looking {
	struct grove *g;
	const char *dir;
	bool found;
};

static int is_it(void *payload, const char *agent, const char *dir, bool flat)
{
	struct looking *l = payload;
	struct grove_buf path = GROVE_BUF_INIT;
	int rc = grove__world_resolve(l->g, dir, &path);

	(void)agent;
	(void)flat;
	if (!rc && !strcmp(path.ptr, l->dir))
		l->found = true;
	grove__buf_release(&path);
	return rc;
}

static bool ends_in(const char *text, const char *end)
{
	size_t n = strlen(text), k = end ? strlen(end) : 0;

	return k && n >= k && !strcmp(text + n - k, end);
}

/* Finds the dialect whose agent has its sessions in this directory and deletes some. */
static int sweeper(struct grove *g, const struct grove__root *root,
		   const struct grove__dialect **out)
{
	const struct grove__dialect *dialect;
	struct looking l = { .g = g, .dir = root->dir };
	int rc = 0;

	*out = NULL;
	for (unsigned i = 0; root->dir && !*out && !rc && (dialect = grove__dialect_at(i)); i++) {
		if (!dialect->retention)
			continue;
		rc = dialect->paths.roots(&g->env, is_it, &l);
		if (l.found || ends_in(root->dir, dialect->recognise.root))
			*out = dialect;
	}
	return rc;
}

/* The agent ignores settings that are not JSON, and uses its defaults. */
static int check_settings(struct grove_buf *b)
{
	int rc = grove__json_document(b, NULL);

	if (rc == 1)
		grove__buf_clear(b);
	return rc < 0 ? rc : 0;
}

int grove__expiry_of(struct grove *g, const struct grove__root *root, struct grove__expiry *out,
		     struct grove_detail *d)
{
	struct grove_buf path = GROVE_BUF_INIT;
	struct grove_detail why;
	int rc, err;

	memset(out, 0, sizeof(*out));
	rc = sweeper(g, root, &out->dialect);
	if (!rc && out->dialect && out->dialect->retention->settings) {
		rc = grove__buf_addf(&path, "%s/%s", root->dir, out->dialect->retention->settings);
		err = rc ? 0 : grove__sys_read_small(path.ptr, SETTINGS_MAX, &out->settings, NULL);
		if (err && err != -ENOENT && g->warn) {
			grove__fail_clear(&why);
			grove__fail_sys(&why, err, path.ptr, "cannot read when sessions expire");
			g->warn(g->warn_payload, GROVE_SEVERITY_WARNING, &why);
		}
		if (!rc)
			rc = check_settings(&out->settings);
	}
	grove__buf_release(&path);
	if (!rc)
		return 0;
	grove__expiry_release(out);
	return grove__fail_nomem(d);
}

void grove__expiry_release(struct grove__expiry *e)
{
	grove__buf_release(&e->settings);
}
