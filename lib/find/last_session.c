/*
 * find/last_session.c: the last session of this terminal.
 *
 * Some agents leave a record for each terminal, so that "continue" means the session
 * that was there, not the newest one. A record is a convenience: one that is stale or
 * unreadable is ignored.
 */
#include "find/find.h"

#include "sys/file.h"
#include "sys/temp.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#define CRUMB_MAX ((size_t)64 << 10)

/* True if the session can be continued. */
static bool usable(struct grove *g, struct grove__where *w)
{
	struct grove_key key = { w->project, w->session, "" };
	struct grove__arena keep;
	struct grove__header h;
	struct grove_store_log *log;
	bool ok;

	if (grove__peek_where_dialect(g, w, NULL) ||
	    grove__log_open(&log, w->store, &key, GROVE_STORE_READ, NULL))
		return false;
	grove__arena_init(&keep);
	ok = !grove__peek_header(log, w->dialect, &keep, &h, NULL) && h.usable;
	grove__log_close(log);
	grove__arena_release(&keep);
	return ok;
}

/*
 * Finds the session that a record names. Returns 1 if it is not for this cwd, or does
 * not exist.
 */
static int follow(struct grove *g, const struct grove__dialect *dialect, struct grove_slice note,
		  const char *cwd, struct grove__where *out, struct grove_detail *d)
{
	struct grove_buf dir = GROVE_BUF_INIT, path = GROVE_BUF_INIT;
	struct grove_slice for_cwd, session;
	char *named = NULL;
	int rc = 1;

	if (!dialect->last_session->parse(note, &for_cwd, &session))
		return 1;
	named = strndup(for_cwd.ptr, for_cwd.len);
	if (!named || grove__world_resolve(g, named, &dir) || grove__buf_add_slice(&path, session))
		rc = grove__fail_nomem(d);
	else if (path.ptr[0] == '/' && !strcmp(dir.ptr, cwd))
		rc = grove__locate_path(g, path.ptr, out, NULL) ? 1 : 0;
	if (!rc) {
		/* outside all roots, only the agent knows whose it is */
		if (out->own_store && !out->dialect && !strcmp(out->agent, "grove"))
			out->dialect = dialect;
		if (!usable(g, out)) {
			grove__where_release(out);
			rc = 1;
		} else if (!strcmp(out->agent, "grove")) {
			out->agent = out->dialect->name;
		}
	}
	free(named);
	grove__buf_release(&dir);
	grove__buf_release(&path);
	return rc;
}

int grove__last_session_read(struct grove *g, const struct grove__dialect *dialect, const char *cwd,
		      struct grove__where *out, int64_t *time_ns, struct grove_detail *d)
{
	struct grove_buf path = GROVE_BUF_INIT, note = GROVE_BUF_INIT;
	int rc;

	memset(out, 0, sizeof(*out));
	rc = dialect->last_session ? dialect->last_session->path(&g->env, &path) : 1;
	if (rc == GROVE_ENOMEM)
		rc = grove__fail_nomem(d);
	if (!rc && grove__sys_read_small(path.ptr, CRUMB_MAX, &note, time_ns))
		rc = 1;
	if (!rc)
		rc = follow(g, dialect, grove__buf_slice(&note), cwd, out, d);
	grove__buf_release(&path);
	grove__buf_release(&note);
	return rc;
}

/* Atomically: another terminal of that name may read it at any time. */
static int put(const char *path, struct grove_slice text)
{
	struct grove_buf temp = GROVE_BUF_INIT;
	int fd, rc = grove__buf_add(&temp, path, (size_t)(strrchr(path, '/') - path)) ? -ENOMEM : 0;

	rc = rc ? rc : grove__sys_mkdirs(temp.ptr, 0700);
	grove__buf_clear(&temp);
	rc = rc ? rc : grove__sys_temp_open(path, O_WRONLY, &temp, &fd);
	if (!rc) {
		rc = grove__sys_write_all(fd, text.ptr, text.len);
		if (!rc)
			rc = grove__sys_rename(temp.ptr, path);
		if (rc)
			grove__sys_unlink(temp.ptr);
		grove__sys_close(fd);
	}
	grove__buf_release(&temp);
	return rc;
}

int grove__last_session_write(const struct grove *g, const struct grove__dialect *dialect, const char *cwd,
		       const char *path, struct grove_detail *d)
{
	struct grove_buf file = GROVE_BUF_INIT, text = GROVE_BUF_INIT;
	int rc = dialect->last_session ? dialect->last_session->path(&g->env, &file) : 1, err;

	if (!rc)
		rc = dialect->last_session->compose(cwd, path, &text);
	if (rc < 0) {
		rc = grove__fail_nomem(d);
	} else if (!rc) {
		err = put(file.ptr, grove__buf_slice(&text));
		if (err)
			rc = grove__fail_sys(d, err, file.ptr, "cannot record the last session of this terminal");
	}
	grove__buf_release(&file);
	grove__buf_release(&text);
	return rc;
}

/* --- sessions that are gone --- */

struct forgetting {
	const struct grove__dialect *dialect;
	const char *path;
	struct grove_buf dir;            /* where the records are, with a trailing slash */
};

static int forget_one(void *payload, const char *name)
{
	struct forgetting *f = payload;
	struct grove_buf note = GROVE_BUF_INIT;
	struct grove_slice cwd, session;
	size_t n = f->dir.len;

	/* in the middle of being written */
	if (name[0] == '.')
		return 0;
	if (!grove__buf_add_str(&f->dir, name) &&
	    !grove__sys_read_small(f->dir.ptr, CRUMB_MAX, &note, NULL) &&
	    f->dialect->last_session->parse(grove__buf_slice(&note), &cwd, &session) &&
	    grove__slice_is(session, f->path))
		grove__sys_unlink(f->dir.ptr);
	grove__buf_cut(&f->dir, n);
	grove__buf_release(&note);
	return 0;
}

void grove__last_session_forget(struct grove *g, const char *path)
{
	struct forgetting f = { .path = path };
	struct grove__env env = g->env;
	const char *slash;
	int ended;

	/* any terminal will do: all records are in one directory */
	env.tty = "/dev/any";
	for (unsigned i = 0; (f.dialect = grove__dialect_at(i)); i++) {
		if (!f.dialect->last_session || f.dialect->last_session->path(&env, &f.dir))
			continue;
		slash = strrchr(f.dir.ptr, '/');
		grove__buf_cut(&f.dir, (size_t)(slash - f.dir.ptr) + 1);
		grove__sys_list(f.dir.ptr, forget_one, &f, &ended);
		grove__buf_clear(&f.dir);
	}
	grove__buf_release(&f.dir);
}
