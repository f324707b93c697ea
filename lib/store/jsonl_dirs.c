/*
 * store/jsonl_dirs.c: the directories of a file store, for those who have them watched.
 *
 * They are the ones that a listing reads (see jsonl.c): the store, its projects, which may
 * be links, and below these the directories of sessions, which are not followed if they are
 * links.
 */
#include "store/jsonl.h"

#include <errno.h>

struct dirs {
	struct grove_buf path;
	bool deep;
	unsigned depth;
	grove__store_dir_fn *fn;
	void *payload;
	int rc;
};

static int tell_below(struct dirs *d);

static int look_at(void *payload, const char *name)
{
	struct dirs *d = payload;
	struct grove__sys_stat st;
	size_t len = d->path.len;

	if (grove__jsonl_has_suffix(name) || (d->depth && name[0] == '.'))
		return 0;
	if (grove__buf_addf(&d->path, "/%s", name)) {
		d->rc = GROVE_ENOMEM;
		return 1;
	}
	if (!(d->depth ? grove__sys_lstat : grove__sys_stat)(d->path.ptr, &st) && st.type == SYS_DIR) {
		d->depth++;
		d->rc = tell_below(d);
		d->depth--;
	}
	grove__buf_cut(&d->path, len);
	return d->rc != 0;
}

/* Reports a directory before its names are read: what is created meanwhile is in one or the other. */
static int tell_below(struct dirs *d)
{
	int ended = 0, err, rc = d->fn(d->payload, d->path.ptr);

	if (rc || (d->depth && !d->deep))
		return rc;
	err = grove__sys_list(d->path.ptr, look_at, d, &ended);
	if (d->rc)
		return d->rc;
	return !err || err == -ENOENT || err == -ENOTDIR ? 0 : GROVE_EACCESS;
}

int grove__store_jsonl_dirs(const char *root, bool deep, grove__store_dir_fn *fn, void *payload)
{
	struct dirs d = { .path = GROVE_BUF_INIT, .deep = deep, .fn = fn, .payload = payload };
	int rc = grove__buf_add_str(&d.path, root) ? GROVE_ENOMEM : tell_below(&d);

	grove__buf_release(&d.path);
	return rc;
}
