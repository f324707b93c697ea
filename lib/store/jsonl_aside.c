/*
 * store/jsonl_aside.c: what has no name yet, in files.
 *
 *	.NAME.jsonl.HEX.tmp   a log that is being written: a new one, or the next state of one
 *	.NAME.jsonl.HEX/      what belongs to a new one
 *	.NAME.jsonl.HEX.new   a new one that is whole: its directory gets its name first, and
 *	                      then the log
 *
 * Lists, of agents too, see none of them. A process that is killed leaves them behind, and
 * nobody else has them open: then the first two are removed, and the third is given its
 * name. Agents look for the log, so a directory without one is no session to them.
 */
#include "store/jsonl.h"

#include "sys/stamp.h"
#include "sys/temp.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#define WHOLE ".new"
#define DEPTH 32

/* ------------------------------------------------------------ directories */

/* A directory whose files are copied or moved to another one. */
struct tree {
	struct grove_buf from, to;
	bool copy;
	unsigned depth;
	int err;
};

static int copy_file(const char *from, const char *to, const struct grove__sys_stat *st)
{
	int src = -1, dst = -1, err = grove__sys_open(from, O_RDONLY | O_NOFOLLOW, 0, &src);

	if (!err)
		err = grove__sys_open(to, O_WRONLY | O_CREAT | O_EXCL, 0600, &dst);
	if (!err)
		err = grove__jsonl_carry_over(src, dst, 0);
	if (!err)
		err = grove__sys_owner(dst, st->mode, st->uid, st->gid);
	grove__sys_close(src);
	grove__sys_close(dst);
	return err ? err : grove__sys_set_mtime(to, st->mtime_ns);
}

static bool are_same(const char *from, const char *to)
{
	struct grove_buf a = GROVE_BUF_INIT, b = GROVE_BUF_INIT;
	bool same = !grove__jsonl_get_small(from, &a, NULL) && !grove__jsonl_get_small(to, &b, NULL) &&
		    grove__slice_eq(grove__buf_slice(&a), grove__buf_slice(&b));

	grove__buf_release(&a);
	grove__buf_release(&b);
	return same;
}

static int each(void *payload, const char *name);

static int whole_tree(struct tree *t)
{
	int ended = 0, err = grove__sys_mkdirs(t->to.ptr, 0700);

	if (!err)
		err = grove__sys_list(t->from.ptr, each, t, &ended);
	if (!err)
		err = t->err;
	return err ? err : grove__sys_sync_dir(t->to.ptr);
}

static int each(void *payload, const char *name)
{
	struct tree *t = payload;
	struct grove__sys_stat st;
	size_t from = t->from.len, to = t->to.len;
	int err = grove__buf_addf(&t->from, "/%s", name) || grove__buf_addf(&t->to, "/%s", name)
			  ? -ENOMEM : grove__sys_lstat(t->from.ptr, &st);

	if (!err && st.type == SYS_DIR && t->depth < DEPTH) {
		t->depth++;
		err = whole_tree(t);
		t->depth--;
	} else if (!err && t->copy && grove__sys_temp_of(name, GROVE__TEMP_TAIL)) {
		err = 0; /* left behind */
	} else if (!err && st.type == SYS_FILE) {
		err = t->copy ? copy_file(t->from.ptr, t->to.ptr, &st)
			      : grove__sys_rename_new(t->from.ptr, t->to.ptr);
		/* what is there already stays */
		if (err == -EEXIST && are_same(t->from.ptr, t->to.ptr))
			err = 0;
	} else if (!err) {
		/* a link may lead anywhere from its new place */
		err = -ENOTSUP;
	}
	grove__buf_cut(&t->from, from);
	grove__buf_cut(&t->to, to);
	t->err = err;
	return err != 0;
}

/* Returns a negative errno. */
static int transfer(const char *from, const char *to, bool copy)
{
	struct tree t = { .copy = copy };
	int err = grove__buf_add_str(&t.from, from) || grove__buf_add_str(&t.to, to) ? -ENOMEM : whole_tree(&t);

	grove__buf_release(&t.from);
	grove__buf_release(&t.to);
	return err;
}

/* ----------------------------------------------------------------- naming */

/* The directory of a session's files. */
static int session_dir(struct jsonl_store *st, const struct grove_key *key, struct grove_buf *out,
		       struct grove_detail *d)
{
	const struct grove_key x = { key->project, key->session, "x" };
	int rc = grove__jsonl_path(st, &x, out, d);

	if (!rc)
		grove__buf_cut(out, out->len - 2);
	return rc;
}

/* The directory, if there is one; it may find one that an agent has left. */
static int name_dir(const char *dir, const char *home, struct grove_detail *d)
{
	int err = grove__sys_rename_new(dir, home);

	if (err == -EEXIST || err == -ENOTEMPTY || err == -EXDEV)
		err = transfer(dir, home, err == -EXDEV);
	if (!err || err == -ENOENT)
		return 0;
	return err == -EEXIST ? grove__fail(d, GROVE_ECONFLICT, home,
					    "there is already an attachment with different contents")
			      : grove__fail_sys(d, err, home, "cannot name the attachments");
}

/* The log is whole, as `path`; what belongs to it is in `dir`. */
static int give_name(struct jsonl_store *st, const struct grove_key *from, const struct grove_key *to,
		     const char *path, const char *dir, const char *name, struct grove_detail *d)
{
	struct grove_buf home = GROVE_BUF_INIT;
	int rc = session_dir(st, to, &home, d), err;

	if (!rc)
		rc = name_dir(dir, home.ptr, d);
	err = rc ? 0 : grove__sys_rename_new(path, name);
	if (err)
		rc = grove__fail_sys(d, err, err == -EEXIST ? name : path, "cannot name it");
	if (err)
		grove__sys_rename_new(home.ptr, dir);
	else if (!rc)
		grove__jsonl_attach_remove(st, from, NULL); /* what was there twice */
	grove__buf_release(&home);
	return rc;
}

int grove__jsonl_aside_name(struct jsonl_store *st, const struct grove_key *from, const struct grove_key *to,
			    const char *path, const char *name, struct grove_detail *d)
{
	struct grove_buf dir = GROVE_BUF_INIT, whole = GROVE_BUF_INIT;
	struct grove__sys_stat s;
	int n = (int)(strlen(path) - strlen(GROVE__TEMP_TAIL)), err = 0, rc;

	if (grove__buf_addf(&dir, "%.*s", n, path) || grove__buf_addf(&whole, "%s" WHOLE, dir.ptr)) {
		rc = grove__fail_nomem(d);
	} else if (!grove__sys_lstat(name, &s)) {
		rc = grove__fail(d, GROVE_EEXIST, name, "there is already a session of that name");
	} else if (!grove__jsonl_stem(from->session) || grove__sys_lstat(dir.ptr, &s)) {
		err = grove__sys_rename_new(path, name);
		rc = err ? grove__fail_sys(d, err, err == -EEXIST ? name : path, "cannot name it") : 0;
	} else {
		err = grove__sys_rename(path, whole.ptr);
		rc = err ? grove__fail_sys(d, err, path, "cannot name it")
			 : give_name(st, from, to, whole.ptr, dir.ptr, name, d);
		/* the caller knows it by that name, and removes it */
		if (rc && !err)
			grove__sys_rename(whole.ptr, path);
	}
	grove__buf_release(&dir);
	grove__buf_release(&whole);
	return rc;
}

/* ------------------------------------------------------ what was left behind */

struct tidy {
	struct jsonl_store st;
	const char *project, *of;   /* of: of this session only; NULL: of all */
	bool clear, deep;
	grove__left_fn *fn;
	void *payload;
	struct grove_buf path;
	int rc;
};

/* Returns true if it is to be cleared. */
static bool report_left(struct tidy *t)
{
	int rc = t->fn ? t->fn(t->payload, t->path.ptr) : 0;

	t->rc = rc == 1 ? 0 : rc;
	return !rc && t->clear;
}

/* The name that its maker knew it by. */
static int maker_key(struct tidy *t, const char *name, size_t n, struct grove_buf *out, struct grove_key *key)
{
	/* .NAME. and sixteen digits */
	if (grove__buf_addf(out, "%.*s" GROVE__TEMP_TAIL, (int)n + 18, name))
		return GROVE_ENOMEM;
	*key = (struct grove_key){ t->project, out->ptr, "" };
	return 0;
}

/* A whole one gets its name, unless that was taken or is too long to be known. */
static bool finish(struct tidy *t, const char *name, size_t n, const struct grove_key *from)
{
	struct grove_buf of = GROVE_BUF_INIT, path = GROVE_BUF_INIT, dir = GROVE_BUF_INIT;
	struct grove_key to = { t->project, NULL, "" };
	bool done = n < 200 && !grove__buf_addf(&of, "%.*s", (int)n, name + 1) &&
		    !grove__buf_addf(&dir, "%.*s", (int)(t->path.len - strlen(WHOLE)), t->path.ptr);

	to.session = of.ptr;
	done = done && !grove__jsonl_path(&t->st, &to, &path, NULL) &&
	       !give_name(&t->st, from, &to, t->path.ptr, dir.ptr, path.ptr, NULL) &&
	       !grove__sys_sync_parent(path.ptr);
	grove__buf_release(&of);
	grove__buf_release(&path);
	grove__buf_release(&dir);
	return done;
}

static int clear_one(struct tidy *t, const char *name, size_t n, bool whole)
{
	struct grove_buf session = GROVE_BUF_INIT;
	struct grove_key key;
	int rc = maker_key(t, name, n, &session, &key);

	if (!rc && (!whole || !finish(t, name, n, &key))) {
		rc = grove__jsonl_attach_remove(&t->st, &key, NULL);
		/* a directory alone is gone by now */
		if (!rc)
			grove__sys_unlink(t->path.ptr);
	}
	grove__buf_release(&session);
	return rc == GROVE_ENOMEM ? rc : 0;
}

/* Checks whether a directory is left without its log. */
static bool is_alone(struct tidy *t)
{
	struct grove__sys_stat st;
	size_t len = t->path.len;
	bool alone = !grove__sys_lstat(t->path.ptr, &st) && st.type == SYS_DIR;

	for (int i = 0; i < 2 && alone; i++) {
		alone = !grove__buf_add_str(&t->path, i ? WHOLE : GROVE__TEMP_TAIL) &&
			grove__sys_lstat(t->path.ptr, &st) == -ENOENT;
		grove__buf_cut(&t->path, len);
	}
	return alone;
}

/* Small files of a session that were being written. */
static int look_below(void *payload, const char *name)
{
	struct tidy *t = payload;
	struct grove__sys_stat st;
	size_t len = t->path.len;
	int ended;

	if (name[0] == '.' && strcmp(name, GROVE__JSONL_VALUES) && !grove__sys_temp_of(name, GROVE__TEMP_TAIL))
		return 0;
	if (grove__buf_addf(&t->path, "/%s", name)) {
		t->rc = GROVE_ENOMEM;
	} else if (grove__sys_lstat(t->path.ptr, &st)) {
		;
	} else if (st.type == SYS_DIR) {
		grove__sys_list(t->path.ptr, look_below, t, &ended);
	} else if (grove__sys_temp_of(name, GROVE__TEMP_TAIL) && grove__sys_temp_left(t->path.ptr, GROVE__TEMP_TAIL)) {
		if (report_left(t))
			grove__sys_unlink(t->path.ptr);
	}
	grove__buf_cut(&t->path, len);
	return t->rc != 0;
}

/* Is this the directory of a session, in which such files may be? */
static bool is_deep(const struct tidy *t, const char *name)
{
	return t->deep && name[0] != '.' &&
	       (!t->of || (strlen(name) == grove__jsonl_stem(t->of) && !strncmp(name, t->of, strlen(name))));
}

static int look_at(void *payload, const char *name)
{
	static const char *const tails[] = { GROVE__TEMP_TAIL, WHOLE, "" };
	struct tidy *t = payload;
	size_t n = 0, i = 0, len = t->path.len;

	if (is_deep(t, name))
		return look_below(t, name);
	while (name[0] == '.' && i < 3 && !(n = grove__sys_temp_for(name, tails[i], t->of)))
		i++;
	if (!n)
		return 0;
	if (grove__buf_addf(&t->path, "/%s", name))
		t->rc = GROVE_ENOMEM;
	else if ((*tails[i] ? grove__sys_temp_left(t->path.ptr, tails[i]) : is_alone(t)) && report_left(t))
		t->rc = clear_one(t, name, n, i == 1);
	grove__buf_cut(&t->path, len);
	return t->rc != 0;
}

static int in_project(struct tidy *t, const char *project)
{
	int ended;

	t->project = project;
	grove__buf_clear(&t->path);
	if (grove__buf_addf(&t->path, "%s%s%s", t->st.root, *project ? "/" : "", project))
		return GROVE_ENOMEM;
	/* a directory that cannot be read is not ours to tidy */
	grove__sys_list(t->path.ptr, look_at, t, &ended);
	return t->rc;
}

static int each_project(void *payload, const char *name)
{
	struct tidy *t = payload;

	t->deep = true;
	return name[0] == '.' && grove__sys_temp_of(name, "") ? 0 : in_project(t, name) != 0;
}

int grove__jsonl_tidy(const char *root, const char *project, const char *of, bool clear, grove__left_fn *fn,
		      void *payload)
{
	struct tidy t = { .of = of, .clear = clear, .fn = fn, .payload = payload, .deep = of != NULL };
	int ended;

	t.st.root = strdup(root);
	if (!t.st.root)
		return GROVE_ENOMEM;
	in_project(&t, project ? project : "");
	if (!t.rc && !project)
		grove__sys_list(t.st.root, each_project, &t, &ended);
	free(t.st.root);
	grove__buf_release(&t.path);
	return t.rc;
}

void grove__jsonl_tidy_beside(const char *path)
{
	const char *slash = strrchr(path, '/');
	char *dir = strndup(path, (size_t)(slash - path));

	if (dir)
		grove__jsonl_tidy(*dir ? dir : "/", "", slash + 1, true, NULL, NULL);
	free(dir);
}

/* ------------------------------------------------------ to another file system */

static int copy_log(int src, const char *temp, int dst)
{
	struct grove__sys_stat st;
	int err = grove__jsonl_carry_over(src, dst, 0);

	if (!err)
		err = grove__sys_fstat(src, &st);
	if (!err)
		err = grove__sys_owner(dst, st.mode, st.uid, st.gid);
	if (!err)
		err = grove__sys_sync(dst);
	return err ? err : grove__sys_set_mtime(temp, st.mtime_ns);
}

static int copy_dir(struct jsonl_store *st, const struct grove_key *from, const char *temp)
{
	struct grove_buf dir = GROVE_BUF_INIT, to = GROVE_BUF_INIT;
	struct grove__sys_stat s;
	int err = session_dir(st, from, &dir, NULL) ||
				  grove__buf_addf(&to, "%.*s", (int)(strlen(temp) - strlen(GROVE__TEMP_TAIL)), temp)
			  ? -ENOMEM : 0;

	if (!err && grove__jsonl_stem(from->session) && !grove__sys_lstat(dir.ptr, &s))
		err = s.type == SYS_DIR ? transfer(dir.ptr, to.ptr, true) : -ENOTSUP;
	grove__buf_release(&dir);
	grove__buf_release(&to);
	return err;
}

int grove__jsonl_move_far(struct grove_store *store, const struct grove_key *from, const struct grove_key *to,
			  const char *path, const char *name, struct grove_detail *d)
{
	struct jsonl_store *st = grove__jsonl_store(store);
	struct grove_buf temp = GROVE_BUF_INIT;
	struct grove_key aside = { to->project, NULL, "" };
	struct grove__sys_stat now;
	int src = -1, dst = -1, rc = 0, err = grove__sys_open(path, O_RDWR | O_NOFOLLOW, 0, &src);

	grove__jsonl_tidy_beside(name);
	if (!err && grove__sys_lock(src) == -ETIMEDOUT) {
		rc = grove__sys_lock_fail(src, path, d);
		goto out;
	}
	if (!err)
		err = grove__sys_temp_open(name, O_RDWR | O_APPEND, &temp, &dst);
	if (!err)
		err = copy_log(src, temp.ptr, dst);
	if (!err)
		err = copy_dir(st, from, temp.ptr);
	if (err)
		rc = grove__fail_sys(d, err, path, "cannot move to another file system");
	if (dst >= 0)
		aside.session = strrchr(temp.ptr, '/') + 1;
	if (!rc)
		rc = grove__jsonl_aside_name(st, &aside, to, temp.ptr, name, d);
	if (rc && dst >= 0) {
		grove__jsonl_attach_remove(st, &aside, NULL);
		grove__sys_unlink(temp.ptr);
	}
	/* from here on there are two, and the new one is the session */
	err = rc ? 0 : grove__sys_sync_parent(name);
	/* the log last: while it is there, the move can be tried again */
	if (!rc && !err)
		rc = grove__jsonl_attach_remove(st, from, d);
	if (!rc && !err)
		rc = grove__store_remove(store, from, d);
	/* what an agent wrote to the old one meanwhile */
	if (!rc && !err)
		err = grove__sys_fstat(dst, &now);
	if (!rc && !err)
		err = grove__jsonl_carry_over(src, dst, now.size);
	if (!rc && err)
		rc = grove__fail_sys(d, err, name, "the session has moved, but");
out:
	grove__sys_close(src);
	grove__sys_close(dst);
	grove__buf_release(&temp);
	return rc;
}

/* The copy may have grown since. */
static bool begins_with(int copy, int original)
{
	char a[32768], b[32768];
	size_t got = 1, have;
	uint64_t at = 0;

	while (got) {
		if (grove__sys_pread(original, a, sizeof(a), at, &got) || grove__sys_pread(copy, b, got, at, &have) ||
		    have != got || memcmp(a, b, got))
			return false;
		at += got;
	}
	return at > 0;
}

int grove__jsonl_move_ended(struct grove_store *store, const struct grove_key *from, const struct grove_key *to,
			    const char *path, const char *name, struct grove_detail *d)
{
	struct jsonl_store *st = grove__jsonl_store(store);
	struct grove_buf dir = GROVE_BUF_INIT, home = GROVE_BUF_INIT;
	int src = -1, dst = -1, rc;
	bool same = !grove__sys_open(path, O_RDONLY | O_NOFOLLOW, 0, &src) &&
		    !grove__sys_open(name, O_RDONLY | O_NOFOLLOW, 0, &dst) && begins_with(dst, src);

	grove__sys_close(src);
	grove__sys_close(dst);
	if (!same)
		return 1;
	rc = session_dir(st, from, &dir, d);
	rc = rc ? rc : session_dir(st, to, &home, d);
	/* nothing that only the old one has may go */
	if (!rc && grove__jsonl_stem(from->session))
		rc = name_dir(dir.ptr, home.ptr, d);
	rc = rc ? rc : grove__jsonl_attach_remove(st, from, d);
	grove__buf_release(&dir);
	grove__buf_release(&home);
	return rc ? rc : grove__store_remove(store, from, d);
}
