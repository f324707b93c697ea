/*
 * store/jsonl_attach.c: files that belong to a session.
 *
 * They are in the directory with the name of the session's file without its suffix.
 * Agents store artifacts, tool results and sub-agents there.
 */
#include "store/jsonl.h"

#include "sys/temp.h"

#include <errno.h>
#include <fcntl.h>

#define ATTACH_MAX ((uint64_t)1 << 30)

/* Finds the directory of a session, and `name` in it. Only a file named *.jsonl has one. */
static int attachment_path(struct jsonl_store *st, const struct grove_key *key, const char *name,
			   struct grove_buf *out, struct grove_detail *d)
{
	struct grove_key sub = { key->project, key->session, name ? name : "x" };
	int rc;

	if (!grove__jsonl_stem(key->session))
		return grove__fail(d, GROVE_ENOTSUP, NULL,
				   "a file not named *.jsonl cannot have attachments: %.200s",
				   key->session);
	rc = grove__jsonl_path(st, &sub, out, d);
	if (!rc && !name)
		grove__buf_cut(out, out->len - 2);
	return rc;
}

/* Returns GROVE_ENOTFOUND unless there is a session to attach to. */
static int session_there(struct jsonl_store *st, const struct grove_key *key, struct grove_detail *d)
{
	struct grove_key session = { key->project, key->session, "" };
	struct grove_buf path = GROVE_BUF_INIT;
	struct grove__sys_stat s;
	int rc = grove__jsonl_path(st, &session, &path, d), err;

	if (!rc) {
		err = grove__sys_stat(path.ptr, &s);
		if (err)
			rc = grove__fail_sys(d, err, path.ptr, "no such session");
	}
	grove__buf_release(&path);
	return rc;
}

int grove__jsonl_put_small(const char *path, struct grove_slice bytes, struct grove_detail *d)
{
	struct grove_buf temp = GROVE_BUF_INIT, dir = GROVE_BUF_INIT;
	int fd = -1, err = grove__buf_add(&dir, path, (size_t)(strrchr(path, '/') - path))
				  ? -ENOMEM
				  : grove__sys_mkdirs(dir.ptr, 0700);

	if (!err)
		err = grove__sys_temp_open(path, O_WRONLY, &temp, &fd);
	if (!err)
		err = grove__sys_write_all(fd, bytes.ptr, bytes.len);
	if (!err)
		err = grove__sys_sync(fd);
	if (!err)
		err = grove__sys_rename(temp.ptr, path);
	if (err && fd >= 0)
		grove__sys_unlink(temp.ptr);
	grove__sys_close(fd);
	if (!err)
		err = grove__sys_sync_parents(path);
	grove__buf_release(&temp);
	grove__buf_release(&dir);
	return err ? grove__fail_sys(d, err, path, "cannot store it") : 0;
}

int grove__jsonl_get_small(const char *path, struct grove_buf *out, struct grove_detail *d)
{
	struct grove__sys_stat s;
	size_t got = 0;
	int fd = -1, err = grove__sys_open(path, O_RDONLY | O_NOFOLLOW, 0, &fd);

	if (!err)
		err = grove__sys_fstat(fd, &s);
	if (!err && s.type != SYS_FILE)
		err = -EISDIR;
	if (!err && s.size > ATTACH_MAX) {
		grove__sys_close(fd);
		return grove__fail(d, GROVE_ETOOBIG, path, "it is too large to read");
	}
	if (!err && grove__buf_reserve(out, (size_t)s.size))
		err = -ENOMEM;
	if (!err)
		err = grove__sys_pread(fd, out->ptr + out->len, (size_t)s.size, 0, &got);
	grove__sys_close(fd);
	if (err)
		return grove__fail_sys(d, err, path, "cannot read it");
	grove__buf_cut(out, out->len + got);
	return 0;
}

int grove__jsonl_attach_put(struct grove_store *st, const struct grove_key *key, const char *name,
			    struct grove_slice bytes, struct grove_detail *d)
{
	struct grove_buf path = GROVE_BUF_INIT;
	int rc = attachment_path(grove__jsonl_store(st), key, name, &path, d);

	if (!rc)
		rc = session_there(grove__jsonl_store(st), key, d);
	if (!rc)
		rc = grove__jsonl_inside(grove__jsonl_store(st), path.ptr, d);
	if (!rc)
		rc = grove__jsonl_put_small(path.ptr, bytes, d);
	grove__buf_release(&path);
	return rc;
}

int grove__jsonl_attach_get(struct grove_store *st, const struct grove_key *key, const char *name,
			    struct grove_buf *out, struct grove_detail *d)
{
	struct grove_buf path = GROVE_BUF_INIT;
	int rc = attachment_path(grove__jsonl_store(st), key, name, &path, d);

	/* a link could lead anywhere */
	if (!rc)
		rc = grove__jsonl_inside(grove__jsonl_store(st), path.ptr, d);
	if (!rc)
		rc = grove__jsonl_get_small(path.ptr, out, d);
	grove__buf_release(&path);
	return rc;
}

/* A walk through a directory; names are relative to its start. */
struct walk {
	struct grove_buf path;
	size_t base;
	unsigned depth;
	grove_name_fn *file;   /* for each file … */
	void *payload;
	bool removing;         /* … or everything is removed */
	int err;               /* a negative errno that ends the walk */
};

/* True for the directory of values (jsonl_meta.c), directly below the session's own. */
static bool is_values(const struct walk *w, const char *name)
{
	return !w->depth && !strcmp(name, GROVE__JSONL_VALUES);
}

static int visit(void *payload, const char *name)
{
	struct walk *w = payload;
	size_t len = w->path.len;
	struct grove__sys_stat st;
	int err, rc = 0;

	if (!w->removing && is_values(w, name))
		return 0;
	if (grove__buf_addf(&w->path, "/%s", name)) {
		w->err = -ENOMEM;
		return 1;
	}
	err = grove__sys_lstat(w->path.ptr, &st);
	if (!err && st.type == SYS_DIR && w->depth < 32) {
		w->depth++;
		err = grove__sys_list(w->path.ptr, visit, w, &rc);
		w->depth--;
		if (!err && !rc && w->removing)
			err = grove__sys_rmdir(w->path.ptr);
	} else if (!err && w->removing) {
		err = grove__sys_unlink(w->path.ptr);
	} else if (!err && st.type == SYS_FILE && !grove__sys_temp_of(name, GROVE__TEMP_TAIL) &&
		   !grove__jsonl_is_lease(name)) {
		rc = w->file(w->payload, w->path.ptr + w->base, st.size);
	}
	/* already gone: somebody else is removing it too */
	if (err && err != -ENOENT)
		w->err = err;
	grove__buf_cut(&w->path, len);
	return w->err ? 1 : rc;
}

static bool leads_out(const struct jsonl_store *st, struct grove_buf *dir)
{
	size_t len = dir->len;
	bool out = grove__buf_add_str(dir, "/x") || grove__jsonl_inside(st, dir->ptr, NULL);

	grove__buf_cut(dir, len);
	return out;
}

static int walk(struct jsonl_store *st, const struct grove_key *key, struct walk *w,
		struct grove_detail *d)
{
	struct grove__sys_stat top;
	int ended = 0, rc = attachment_path(st, key, NULL, &w->path, d), err;

	if (!rc) {
		w->base = w->path.len + 1;
		err = grove__sys_lstat(w->path.ptr, &top);
		/*
		 * a link in its place: its target must not be removed, nor shown if it
		 * is outside
		 */
		if (!err && top.type == SYS_LINK && w->removing)
			err = grove__sys_unlink(w->path.ptr);
		else if (!err && top.type == SYS_LINK && leads_out(st, &w->path))
			err = -ENOENT;
		else if (!err)
			err = grove__sys_list(w->path.ptr, visit, w, &ended);
		if (err == -ENOENT || err == -ENOTDIR)
			err = 0; /* no directory, no attachments */
		else if (!err && !ended && w->removing && top.type != SYS_LINK)
			err = grove__sys_rmdir(w->path.ptr);
		if (w->err)
			err = w->err;
		rc = err ? grove__fail_sys(d, err, w->path.ptr, "cannot list the attachments")
			 : ended;
	}
	grove__buf_release(&w->path);
	return rc;
}

int grove__jsonl_attach_list(struct grove_store *st, const struct grove_key *key,
			     grove_name_fn *fn, void *payload, struct grove_detail *d)
{
	struct walk w = { .path = GROVE_BUF_INIT, .file = fn, .payload = payload };
	int rc = session_there(grove__jsonl_store(st), key, d);

	if (rc || !grove__jsonl_stem(key->session))
		return rc;
	return walk(grove__jsonl_store(st), key, &w, d);
}

/* A log that belongs to a session is in that session's directory and has none itself. */
static bool has_dir(const struct grove_key *key)
{
	return !*key->subpath && grove__jsonl_stem(key->session);
}

int grove__jsonl_attach_remove(struct jsonl_store *st, const struct grove_key *key,
			       struct grove_detail *d)
{
	struct walk w = { .path = GROVE_BUF_INIT, .removing = true };

	if (!has_dir(key))
		return 0;
	return walk(st, key, &w, d);
}

int grove__jsonl_attach_may_rename(struct jsonl_store *st, const struct grove_key *from,
				   const struct grove_key *to, struct grove_detail *d)
{
	struct grove_buf a = GROVE_BUF_INIT, b = GROVE_BUF_INIT;
	struct grove__sys_stat s;
	int rc = has_dir(from) ? attachment_path(st, from, NULL, &a, d) : 0;

	if (!rc && a.len && !grove__sys_lstat(a.ptr, &s)) {
		rc = *to->subpath ? grove__fail(d, GROVE_EINVAL, a.ptr, "already has attachments")
				  : attachment_path(st, to, NULL, &b, d);
		if (!rc && !grove__sys_lstat(b.ptr, &s))
			rc = grove__fail(d, GROVE_EEXIST, b.ptr,
					 "another file is where the attachments belong");
	}
	grove__buf_release(&a);
	grove__buf_release(&b);
	return rc;
}

int grove__jsonl_attach_rename(struct jsonl_store *st, const struct grove_key *from,
			       const struct grove_key *to, bool *moved, struct grove_detail *d)
{
	struct grove_buf a = GROVE_BUF_INIT, b = GROVE_BUF_INIT;
	int rc = 0, err = 0;

	*moved = false;
	if (!has_dir(from) || !has_dir(to))
		return 0;
	rc = attachment_path(st, from, NULL, &a, d);
	if (!rc)
		rc = attachment_path(st, to, NULL, &b, d);
	if (!rc)
		err = grove__sys_rename_new(a.ptr, b.ptr);
	*moved = !rc && !err;
	/* to another file system they go with the log */
	if (err && err != -ENOENT && err != -EXDEV)
		rc = grove__fail_sys(d, err, a.ptr, "cannot move the attachments");
	grove__buf_release(&a);
	grove__buf_release(&b);
	return rc;
}

int grove__jsonl_values_remove(struct jsonl_store *st, const struct grove_key *key,
			       struct grove_detail *d)
{
	struct walk w = { .path = GROVE_BUF_INIT, .removing = true };
	int ended = 0, rc = grove__jsonl_values_dir(st, key, &w.path) ? grove__fail_nomem(d) : 0, err;

	if (!rc && w.path.len) {
		err = grove__sys_list(w.path.ptr, visit, &w, &ended);
		if (!err && !w.err)
			err = grove__sys_rmdir(w.path.ptr);
		if (w.err)
			err = w.err;
		if (err && err != -ENOENT && err != -ENOTDIR)
			rc = grove__fail_sys(d, err, w.path.ptr, "cannot remove the values");
	}
	grove__buf_release(&w.path);
	return rc;
}

int grove__jsonl_values_rename(struct jsonl_store *st, const struct grove_key *from,
			       const struct grove_key *to, struct grove_detail *d)
{
	struct grove_buf a = GROVE_BUF_INIT, b = GROVE_BUF_INIT;
	struct grove__sys_stat s;
	int err = 0, rc = 0;

	if (grove__jsonl_values_dir(st, from, &a) || grove__jsonl_values_dir(st, to, &b))
		rc = grove__fail_nomem(d);
	if (!rc && a.len && b.len && !grove__sys_lstat(a.ptr, &s)) {
		char *slash = strrchr(b.ptr, '/');

		*slash = '\0';
		err = grove__sys_mkdirs(b.ptr, 0700);
		*slash = '/';
		if (!err)
			err = grove__sys_rename(a.ptr, b.ptr);
	}
	if (err)
		rc = grove__fail_sys(d, err, a.ptr, "cannot move the values");
	grove__buf_release(&a);
	grove__buf_release(&b);
	return rc;
}
