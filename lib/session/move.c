/* session/move.c: changes the working directory of a session, or deletes the session. */
#include "session/append.h"
#include "session/change.h"

#include "store/jsonl.h"
#include "sys/clock.h"
#include "sys/file.h"

#include <errno.h>
#include <stdlib.h>

static int move_header(void *payload, struct grove_session *s, uint32_t row, bool header,
		       struct grove_slice value, struct grove_buf *out)
{
	bool *done = payload;

	(void)row;
	if (!header || *done)
		return GROVE__KEEP;
	*done = true;
	return s->at.dialect->write.move(value, s->cwd, s->at.path, out);
}

/* Changes only the header's line. Returns 1 if the log has to be rewritten. */
static int move_header_line(struct grove_session *s, struct grove_detail *d)
{
	struct grove_buf line = GROVE_BUF_INIT, out = GROVE_BUF_INIT;
	struct grove__spot at = s->image->header_at;
	struct grove_slice value;
	int rc = grove__log_has_update(s->log)
			 ? grove__image_header_line(s->image, s->log, &line, &value, d)
			 : 1;

	if (!rc && s->at.dialect->write.move(value, s->cwd, s->at.path, &out))
		rc = grove__fail_nomem(d);
	if (!rc)
		rc = grove__session_update_line(s, &at, GROVE_NO_ENTRY, grove__buf_slice(&out),
						GROVE_CHANGE_UPDATE, d);
	grove__buf_release(&line);
	grove__buf_release(&out);
	return rc;
}

static int say_cwd(struct grove_session *s, struct grove_detail *d)
{
	uint64_t changed;
	bool done = false;
	int rc = move_header_line(s, d);

	return rc == 1 ? grove__session_rewrite(s, move_header, &done, &changed, d) : rc;
}

/* In a format without a header, appends a line that names the directory. */
static int relocate(struct grove_session *s, struct grove_detail *d)
{
	struct grove_buf json = GROVE_BUF_INIT;
	struct grove_slice slice;
	int rc = s->at.dialect->write.move(grove__slice(NULL, 0), s->cwd, NULL, &json) ? grove__fail_nomem(d) : 0;

	slice = grove__buf_slice(&json);
	rc = rc ? rc : grove__append_locked(s, &slice, 1, NULL, NULL, d);
	grove__buf_release(&json);
	return rc;
}

/* Finds the new location of the file; the same one if its directory is flat. */
static int new_place(struct grove_session *s, const char *cwd, struct grove__where *to,
		     struct grove_detail *d)
{
	struct grove_buf project = GROVE_BUF_INIT, path = GROVE_BUF_INIT;
	struct grove_key key;
	int rc = grove__where_copy(to, &s->at);

	if (rc)
		return grove__fail_nomem(d);
	if (!*to->project)
		return 0;
	rc = s->at.dialect->paths.project(&s->g->env, cwd, &project);
	key = (struct grove_key){ project.ptr, to->session, "" };
	if (!rc)
		rc = grove__store_describe(to->store, &key, &path);
	if (rc) {
		grove__buf_release(&project);
		grove__buf_release(&path);
		grove__where_release(to);
		return grove__fail_nomem(d);
	}
	free(to->project);
	free(to->path);
	to->project = project.ptr;
	to->path = path.ptr;
	return 0;
}

/* Records the new directory in the log itself. */
static int change_cwd(struct grove_session *s, struct grove_buf *cwd, struct grove_detail *d)
{
	char *old = s->cwd, *new = cwd->ptr;
	int rc;

	*cwd = (struct grove_buf)GROVE_BUF_INIT;
	s->cwd = new;
	rc = grove__dialect_cwd_in_entries(s->at.dialect) ? relocate(s, d) : say_cwd(s, d);
	/* a header that was read again has its own value */
	if (rc && s->cwd == new) {
		s->cwd = old;
		free(new);
	} else {
		free(old);
	}
	return rc;
}

/*
 * A handle that could change the directory has the right to write, so the lease, if
 * there is one, moves with the session.
 */
static int take_lease_along(const struct grove_lease *held, struct grove_store_log *log,
			    struct grove_detail *d)
{
	int64_t left = held->until - grove__sys_now_ms();
	struct grove_lease now;
	int rc = *held->owner && left > 0 ? grove__log_lease_take(log, held->owner, left, &now, d) : 0;

	/* another handle was faster: this is like any other takeover */
	return rc == GROVE_ECONFLICT ? 0 : rc;
}

/*
 * Continues with the log under its new key, where it may be already; takes ownership of
 * `to`.
 */
static int go_over(struct grove_session *s, struct grove__where *to, bool there, struct grove_detail *d)
{
	struct grove_key from = { s->at.project, s->at.session, "" };
	struct grove_key key = { to->project, to->session, "" };
	struct grove_lease held = { .number = 0 };
	struct grove_store_log *log;
	bool own = s->at.own_store;
	int rc = grove__log_lease_get(s->log, &held, d);

	if (!there && (!rc || rc == GROVE_ENOTSUP))
		rc = grove__store_rename(s->at.store, &from, &key, d);
	if (!rc)
		rc = grove__log_open(&log, to->store, &key, GROVE_STORE_WRITE, d);
	if (rc)
		return rc;
	rc = take_lease_along(&held, log, d);
	if (!rc && grove__session_change_log(s, log))
		rc = grove__fail_nomem(d);
	if (rc)
		grove__log_close(log);
	s->at.own_store = false;
	grove__where_release(&s->at);
	s->at = *to;
	s->at.own_store = own;
	memset(to, 0, sizeof(*to));
	return rc ? rc : grove__session_load(s, d);
}

/*
 * The new place is taken: by another session, or by this one, if a move to another file
 * system was interrupted at the end.
 */
static int end_move(struct grove_session *s, const struct grove__where *to, const char *cwd,
		    struct grove_detail *d)
{
	struct grove_key from = { s->at.project, s->at.session, "" }, key = { to->project, to->session, "" };
	int rc = grove__store_traits(to->store).paths && s->cwd && !strcmp(s->cwd, cwd)
			 ? grove__jsonl_move_ended(to->store, &from, &key, s->at.path, to->path, d) : 1;

	return rc == 1 ? grove__fail(d, GROVE_EEXIST, to->path, "there is already a session of that name") : rc;
}

int grove__session_move(struct grove_session *s, const char *cwd, struct grove_detail *d)
{
	struct grove_buf full = GROVE_BUF_INIT;
	struct grove__where to;
	struct grove_key key;
	struct grove_store_log_stat was;
	struct grove_store_log *log;
	bool elsewhere, there = false;
	int rc;

	rc = grove__session_writable(s, d);
	if (rc)
		return rc;
	if (s->deferral.store)
		return grove__fail(d, GROVE_ENOTSUP, NULL, "a session without a file cannot be moved");
	if (s->at.sub)
		return grove__fail(d, GROVE_ENOTSUP, NULL, "the transcript of a sub-agent moves with its session");
	grove__session_close_old(s);
	/* others may have appended since we read the log */
	rc = grove__session_refresh(s, d);
	if (rc < 0)
		return rc;
	rc = grove__time_stat(s->log, &was, d);
	if (rc)
		return rc;
	if (grove__world_resolve(s->g, cwd, &full))
		return grove__fail_nomem(d);
	/* a running agent would continue at the old path and create another file there */
	rc = s->flags & GROVE_OPEN_FORCE ? 0 : grove__live_check(s->g, &s->at, d);
	if (!rc)
		rc = new_place(s, full.ptr, &to, d);
	if (rc) {
		grove__buf_release(&full);
		return rc;
	}
	/*
	 * First the header, then the file: if we stop in between, the session is whole
	 * and still in its old place. The new name must be free before.
	 */
	key = (struct grove_key){ to.project, to.session, "" };
	elsewhere = strcmp(to.project, s->at.project) != 0;
	if (elsewhere)
		grove__store_tidy(to.store, &(struct grove_key){ to.project, "", "" }, true, NULL, NULL, NULL);
	if (elsewhere && !grove__log_open(&log, to.store, &key, GROVE_STORE_READ, NULL)) {
		grove__log_close(log);
		there = true;
		rc = end_move(s, &to, full.ptr, d);
	}
	if (!rc && !there)
		rc = change_cwd(s, &full, d);
	if (!rc && elsewhere)
		rc = go_over(s, &to, there, d);
	/* nothing was said in it */
	key = (struct grove_key){ s->at.project, s->at.session, "" };
	if (!rc)
		rc = grove__time_set(s->at.store, &key, was.mtime_ns, d);
	if (!rc && s->flags & GROVE_OPEN_NOTE_LAST)
		grove__session_note_last(s);
	grove__where_release(&to);
	grove__buf_release(&full);
	return rc;
}

/*
 * Uses the desktop's trash, if there is one. A file that is gone afterwards counts as
 * moved there.
 */
static bool into_trash(const char *path)
{
	const char *const argv[] = { "trash", path[0] == '-' ? "--" : path,
				     path[0] == '-' ? path : NULL, NULL };
	struct grove__sys_stat st;

	if (!grove__sys_run(argv))
		return true;
	return grove__sys_lstat(path, &st) != 0;
}

/* The file is in the trash: moves the directory that belongs to it there too. */
static int remove_rest(const struct grove__where *at, const struct grove_key *key,
		       struct grove_detail *d)
{
	size_t n = strlen(at->path);
	struct grove__sys_stat st;
	struct grove_buf dir = GROVE_BUF_INIT;
	int rc = 0;

	if (!grove__jsonl_has_suffix(at->path))
		return 0;
	if (grove__buf_add(&dir, at->path, n - 6))
		return grove__fail_nomem(d);
	if (!grove__sys_lstat(dir.ptr, &st) && st.type == SYS_DIR && !into_trash(dir.ptr)) {
		rc = grove__store_remove(at->store, key, d);
		rc = rc == GROVE_ENOTFOUND ? 0 : rc;
	}
	grove__buf_release(&dir);
	return rc;
}

/* What the agent would bring the session back from: NAME.*.bak next to it. */
struct backups {
	const char *name;
	struct grove_buf path;
	size_t dir;
	bool trash;
	int err;
};

static int remove_backup(void *payload, const char *name)
{
	struct backups *b = payload;
	size_t n = strlen(b->name), len = strlen(name);

	if (strncmp(name, b->name, n) || name[n] != '.' || len < n + 5 || strcmp(name + len - 4, ".bak"))
		return 0;
	grove__buf_cut(&b->path, b->dir);
	b->err = grove__buf_add_str(&b->path, name) ? -ENOMEM
		 : b->trash && into_trash(b->path.ptr) ? 0 : grove__sys_unlink(b->path.ptr);
	if (b->err == -ENOENT)
		b->err = 0;
	return b->err != 0;
}

static int remove_backups(const struct grove__where *at, bool trash, struct grove_detail *d)
{
	const char *slash = at->path ? strrchr(at->path, '/') : NULL;
	struct backups b = { .trash = trash };
	int ended, rc;

	if (!slash || !at->dialect || !at->dialect->paths.backups)
		return 0;
	b.name = slash + 1;
	if (grove__buf_add(&b.path, at->path, (size_t)(b.name - at->path)))
		return grove__fail_nomem(d);
	b.dir = b.path.len;
	grove__sys_list(b.path.ptr, remove_backup, &b, &ended);
	rc = b.err ? grove__fail_sys(d, b.err, b.path.ptr, "the session is gone, but not this copy of it") : 0;
	grove__buf_release(&b.path);
	return rc;
}

/* Only sessions may be removed: other files may have been named by mistake. */
static int is_session(struct grove *g, struct grove__where *at, struct grove_store_log *log,
		      struct grove_detail *d)
{
	const char *name = grove__where_name(at);
	struct grove__header h = { 0 };
	struct grove__arena keep;
	bool ok;
	int rc = grove__peek_where_dialect(g, at, d);

	if (rc)
		return rc;
	grove__arena_init(&keep);
	rc = grove__peek_header(log, at->dialect, &keep, &h, d);
	/* in a format without a header, any JSON would do */
	ok = h.usable && (grove__dialect_has_header(at->dialect) || grove__jsonl_has_suffix(name));
	grove__arena_release(&keep);
	if (rc || ok)
		return rc;
	return grove__fail(d, GROVE_EDAMAGED, at->path, "not a session, so not removed");
}

int grove__session_remove(struct grove *g, struct grove__where *at, unsigned flags,
			  struct grove_detail *d)
{
	struct grove_key key = grove__where_key(at);
	struct grove_store_log *log;
	int rc = grove__where_writable(g, at, d);

	rc = rc ? rc : grove__log_open(&log, at->store, &key, GROVE_STORE_READ, d);
	if (rc && rc != GROVE_EACCESS)
		return rc;
	if (!rc) {
		rc = is_session(g, at, log, d);
		grove__log_close(log);
		if (rc)
			return rc;
	}
	if (at->path && !(flags & GROVE_REMOVE_NO_TRASH) && into_trash(at->path)) {
		grove__jsonl_lease_remove(at->path);
		rc = remove_rest(at, &key, d);
		if (!rc)
			rc = remove_backups(at, true, d);
		if (!rc && !*key.subpath)
			grove__store_tidy(at->store, &key, true, NULL, NULL, NULL);
	} else if (flags & GROVE_REMOVE_ONLY_TRASH) {
		rc = grove__fail(d, GROVE_ENOTSUP, at->path, "cannot be moved to the trash, so not removed");
	} else {
		rc = grove__store_remove(at->store, &key, d);
		if (!rc)
			rc = remove_backups(at, false, d);
	}
	/*
	 * blobs stay, since other sessions may refer to them; garbage collection
	 * removes them
	 */
	if (!rc && at->path)
		grove__last_session_forget(g, at->path);
	return rc;
}
