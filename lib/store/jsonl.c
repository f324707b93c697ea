/*
 * store/jsonl.c: sessions as files of lines, as the agents themselves store them.
 *
 * The store is a directory. A key is DIR/project/session, or DIR/session if the
 * directory is flat; a log that belongs to a session is in the directory with the
 * session's name. A position is a byte offset.
 *
 * The files belong to others: an agent may append to, truncate or replace them while we
 * read. So they are read with pread, never mapped, and nothing is assumed to be where
 * it was.
 *
 * What a database knows has to be derived for a file (memory.c defines the terms):
 *
 *     tail        the size of the file
 *     generation  counted by each handle for itself: one more when the name refers
 *                 to another file than before, or the file became shorter. It does
 *                 not reveal a line that was replaced in place, which is why stat
 *                 returns the times of the file as well
 *     base        the birth time of the file, or its inode if that is unknown: it
 *                 differs between a file and its replacement, and that is all
 *                 that is known about changes
 *
 * A handle stays with the file that it opened (its descriptor), not with the name. Both
 * are compared; a stat switches to the new file (follow()), but a write is refused
 * (GROVE_ESTALE), because its lines were made for the old one.
 *
 * There are two locks, always taken in this order: the handle's mutex, for the threads
 * of this process, and then the lock on the file, for other grove processes. Agents
 * take neither.
 */
#include "store/jsonl.h"

#include "sys/alive.h"
#include "sys/clock.h"
#include "sys/temp.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>

#define SUFFIX ".jsonl"
#define LOOK_NS ((int64_t)10000000)  /* how long a check of the name is valid */

static const struct grove_store_ops jsonl_ops;

static bool part_ok(const char *name)
{
	return *name && !strchr(name, '/') && strcmp(name, ".") && strcmp(name, "..");
}

int grove__jsonl_path(const struct jsonl_store *st, const struct grove_key *key,
		      struct grove_buf *out, struct grove_detail *d)
{
	int rc;

	if (!part_ok(key->session) || (*key->project && !part_ok(key->project)) ||
	    (*key->subpath && !grove__store_name_ok(key->subpath)))
		return grove__fail(d, GROVE_EINVAL, NULL, "not a name for a session: %.200s",
				   key->session);
	/* a list makes the path of every file, so it is put together by hand */
	rc = strcmp(st->root, "/") ? grove__buf_add_str(out, st->root) : 0;
	rc = rc ? rc : grove__buf_add_char(out, '/');
	rc = rc ? rc : grove__buf_add_str(out, key->project);
	rc = rc || !*key->project ? rc : grove__buf_add_char(out, '/');
	rc = rc ? rc : grove__buf_add_str(out, key->session);
	if (!rc && *key->subpath) {
		size_t stem = grove__jsonl_stem(key->session);

		if (stem)
			grove__buf_cut(out, out->len - (strlen(key->session) - stem));
		rc = grove__buf_addf(out, "/%s", key->subpath);
	}
	return rc ? grove__fail_nomem(d) : 0;
}

static int describe(struct grove_store *st, const struct grove_key *key, struct grove_buf *out)
{
	return grove__jsonl_path(grove__jsonl_store(st), key, out, NULL);
}

static void free_log(struct jsonl_log *log)
{
	if (!log)
		return;
	grove__sys_close(log->fd);
	grove__buf_release(&log->out);
	pthread_mutex_destroy(&log->lock);
	pthread_mutex_destroy(&log->sync_lock);
	pthread_cond_destroy(&log->synced_cond);
	free(log->lease_path);
	free(log->values);
	free(log->path);
	free(log);
}

static struct jsonl_log *new_log(struct grove_store *st)
{
	struct jsonl_log *log = calloc(1, sizeof(*log));

	if (!log)
		return NULL;
	log->base.ops = &jsonl_ops;
	log->base.store = st;
	log->fd = -1;
	log->lf_at = UINT64_MAX;
	log->pid = grove__sys_pid();
	pthread_mutex_init(&log->lock, NULL);
	pthread_mutex_init(&log->sync_lock, NULL);
	pthread_cond_init(&log->synced_cond, NULL);
	return log;
}

/* Creates the file, and its directory if that is missing. */
static int create(struct jsonl_log *log, struct grove_detail *d)
{
	const int flags = O_RDWR | O_APPEND | O_CREAT | O_EXCL;
	int rc = grove__sys_open(log->path, flags, 0600, &log->fd);

	log->new_dirs = rc == -ENOENT;
	if (rc == -ENOENT) {
		char *slash = strrchr(log->path, '/');

		*slash = '\0';
		rc = grove__sys_mkdirs(log->path, 0700);
		if (rc)
			return grove__fail_sys(d, rc, log->path, "cannot create the directory");
		*slash = '/';
		rc = grove__sys_open(log->path, flags, 0600, &log->fd);
	}
	if (rc == -EEXIST)
		return grove__fail(d, GROVE_EEXIST, log->path, "the file already exists");
	if (rc)
		return grove__fail_sys(d, rc, log->path, "cannot create");
	log->created = true;
	/* another name waits for it: only that one has to last */
	log->unnamed = log->new_dirs || !grove__sys_temp_of(strrchr(log->path, '/') + 1, GROVE__TEMP_TAIL);
	return 0;
}

static int check_type(struct jsonl_log *log, const struct grove__sys_stat *st,
		      struct grove_detail *d)
{
	if (st->type == SYS_FILE)
		return 0;
	return grove__fail(d, GROVE_EDAMAGED, log->path, "%s, not a session",
			   st->type == SYS_DIR ? "is a directory" : "is not a regular file");
}

static int open_file(struct jsonl_log *log, unsigned flags, struct grove_detail *d)
{
	struct grove__sys_stat st;
	int rc;

	log->writable = flags & (GROVE_STORE_WRITE | GROVE_STORE_CREATE);
	if (flags & GROVE_STORE_CREATE) {
		rc = create(log, d);
		if (rc)
			return rc;
	} else {
		rc = grove__sys_open(log->path, log->writable ? O_RDWR | O_APPEND : O_RDONLY, 0,
				     &log->fd);
		if (rc == -EISDIR)
			return grove__fail(d, GROVE_EDAMAGED, log->path, "is a directory, not a session");
		/* a socket, a terminal that is not ours, or a device that is not there */
		if (rc == -ENXIO || rc == -ENODEV)
			return grove__fail(d, GROVE_EDAMAGED, log->path, "is not a regular file, not a session");
		if (rc == -ELOOP)
			return grove__fail(d, GROVE_EDAMAGED, log->path, "is a loop of symbolic links, not a session");
		if (rc)
			return grove__fail_sys(d, rc, log->path, "cannot open");
	}
	rc = grove__sys_fstat(log->fd, &st);
	if (rc)
		return grove__fail_sys(d, rc, log->path, "cannot examine");
	rc = check_type(log, &st, d);
	if (rc)
		return rc;
	log->dev = st.dev;
	log->ino = st.ino;
	log->size = st.size;
	return 0;
}

static int may_write(const struct jsonl_store *st, const char *path, struct grove_detail *d)
{
	return st->guard ? st->guard(st->guard_payload, path, d) : 0;
}

static int jsonl_open(struct grove_store *st, const struct grove_key *key, unsigned flags,
		      struct grove_store_log **out, struct grove_detail *d)
{
	struct jsonl_log *log = new_log(st);
	struct grove_buf path = GROVE_BUF_INIT, values = GROVE_BUF_INIT;
	int rc;

	if (!log)
		return grove__fail_nomem(d);
	rc = grove__jsonl_path(grove__jsonl_store(st), key, &path, d);
	log->path = path.ptr;
	if (!rc && grove__jsonl_values_dir(grove__jsonl_store(st), key, &values))
		rc = grove__fail_nomem(d);
	log->values = values.ptr;
	if (!rc && *key->subpath && flags & (GROVE_STORE_WRITE | GROVE_STORE_CREATE))
		rc = grove__jsonl_inside(grove__jsonl_store(st), log->path, d);
	if (!rc && flags & (GROVE_STORE_WRITE | GROVE_STORE_CREATE))
		rc = may_write(grove__jsonl_store(st), log->path, d);
	if (!rc)
		rc = open_file(log, flags, d);
	if (rc) {
		if (log->created)
			grove__sys_unlink(log->path);
		free_log(log);
		return rc;
	}
	*out = &log->base;
	return 0;
}

int grove__jsonl_look(struct jsonl_log *log, struct grove__sys_stat *st, struct grove_detail *d)
{
	int err = grove__sys_stat(log->path, st);

	/* by name, not by descriptor: a file that was renamed is no longer our session */
	if (err == -ENOENT || (!err && (st->ino != log->ino || st->dev != log->dev)))
		return grove__fail(d, GROVE_ESTALE, log->path, "was replaced or removed");
	if (err)
		return grove__fail_sys(d, err, log->path, "cannot examine");
	log->nlink = st->nlink;
	log->looked_ns = grove__sys_ticks_coarse_ns();
	return 0;
}

int grove__jsonl_glance(struct jsonl_log *log, struct grove__sys_stat *st, struct grove_detail *d)
{
	unsigned nlink;
	int err;

	if (grove__sys_ticks_coarse_ns() - log->looked_ns > LOOK_NS)
		return grove__jsonl_look(log, st, d);
	err = grove__sys_size(log->fd, &st->size, &nlink);
	if (err)
		return grove__fail_sys(d, err, log->path, "cannot examine");
	/* the number of names changed: somebody may have replaced our file */
	if (nlink != log->nlink)
		return grove__jsonl_look(log, st, d);
	st->dev = log->dev;
	st->ino = log->ino;
	return 0;
}

int grove__jsonl_base_of(int fd, struct grove__sys_stat *st, uint64_t *base, bool *timed)
{
	int64_t us = 0;
	int err = grove__sys_fstat_born(fd, st, &us);

	*timed = us > 0;
	/* exact in JSON, where numbers are doubles */
	if (!err)
		*base = (*timed ? (uint64_t)us + (st->ino & 0xfff) : st->ino) &
			(((uint64_t)1 << 52) - 1);
	return err;
}

int grove__jsonl_base(struct jsonl_log *log, uint64_t *base, struct grove_detail *d)
{
	struct grove__sys_stat st;
	bool timed;
	int err = log->born_known ? 0 : grove__jsonl_base_of(log->fd, &st, &log->born, &timed);

	if (err)
		return grove__fail_sys(d, err, log->path, "cannot examine");
	log->born_known = true;
	*base = log->born;
	return 0;
}

/* This is another file: forgets what was known about the old one. */
static void forget(struct jsonl_log *log)
{
	log->born_known = false;
	log->leased = false;
	log->lease_looked_ns = 0;
	free(log->lease_path);
	log->lease_path = NULL;
}

/*
 * A child process shares its parent's descriptors, and with them the locks and the
 * position: to write, it opens the file again. Its parent's lease is not its own.
 */
static int own_descriptor(struct jsonl_log *log, struct grove_detail *d)
{
	struct grove__sys_stat mine, now;
	int fd = -1, err = grove__sys_open(log->path, O_RDWR | O_APPEND, 0, &fd);

	if (!err)
		err = grove__sys_fstat(fd, &now);
	if (!err)
		err = grove__sys_fstat(log->fd, &mine);
	if (!err && (now.ino != mine.ino || now.dev != mine.dev))
		err = -ESTALE;
	if (!err) {
		err = grove__sys_replace_fd(log->fd, fd);
		fd = -1;
	}
	if (err) {
		grove__sys_close(fd);
		return grove__fail_sys(d, err, log->path, "cannot open again after fork()");
	}
	log->lease.number = 0;
	log->created = false;
	log->pid = grove__sys_pid();
	return 0;
}

int grove__jsonl_begin(struct jsonl_log *log, struct grove_detail *d)
{
	int err, rc;

	if (!log->writable)
		return grove__fail(d, GROVE_EACCESS, log->path, "opened read-only");
	pthread_mutex_lock(&log->lock);
	rc = log->pid == grove__sys_pid() ? 0 : own_descriptor(log, d);
	if (!rc) {
		err = grove__sys_lock(log->fd);
		log->locked = !err;
		if (err == -ETIMEDOUT)
			rc = grove__sys_lock_fail(log->fd, log->path, d);
	}
	if (rc)
		pthread_mutex_unlock(&log->lock);
	return rc;
}

void grove__jsonl_unlock(struct jsonl_log *log)
{
	if (log->locked)
		grove__sys_unlock(log->fd);
	log->locked = false;
}

void grove__jsonl_end(struct jsonl_log *log)
{
	grove__jsonl_unlock(log);
	pthread_mutex_unlock(&log->lock);
}

void grove__jsonl_seen(struct jsonl_log *log, const struct grove__sys_stat *st)
{
	if (st->ino != log->ino || st->dev != log->dev)
		forget(log);
	if (st->ino != log->ino || st->dev != log->dev || st->size < log->size) {
		log->generation++;
		log->lf_at = UINT64_MAX;
	}
	log->dev = st->dev;
	log->ino = st->ino;
	log->size = st->size;
}

static void jsonl_close_log(struct grove_store_log *l)
{
	struct jsonl_log *log = grove__jsonl_log(l);
	struct grove__sys_stat st;

	/* a file that we created and could not fill is removed */
	if (log->created && log->pid == grove__sys_pid() && !grove__jsonl_look(log, &st, NULL) &&
	    !st.size)
		if (!grove__sys_unlink(log->path))
			grove__jsonl_lease_remove(log->path);
	free_log(log);
}

/*
 * The path may name another file by now, because an agent that rewrites a file replaces
 * it: then switches to that one.
 */
static int follow(struct jsonl_log *log, struct grove__sys_stat *st, struct grove_detail *d)
{
	struct grove__sys_stat now;
	int fd, rc = grove__sys_stat(log->path, &now);

	if (rc == -ENOENT)
		return grove__fail(d, GROVE_ENOTFOUND, log->path, "the file was removed");
	if (rc)
		return grove__fail_sys(d, rc, log->path, "cannot examine");
	if (now.ino == st->ino && now.dev == st->dev)
		return 0;
	rc = check_type(log, &now, d);
	if (rc)
		return rc;
	rc = grove__sys_open(log->path, log->writable ? O_RDWR | O_APPEND : O_RDONLY, 0, &fd);
	if (rc)
		return grove__fail_sys(d, rc, log->path, "cannot open again");
	rc = grove__sys_fstat(fd, &now);
	if (rc)
		rc = grove__fail_sys(d, rc, log->path, "cannot examine");
	else
		rc = check_type(log, &now, d);
	if (rc) {
		grove__sys_close(fd);
		return rc;
	}
	rc = grove__sys_replace_fd(log->fd, fd);
	if (rc)
		return grove__fail_sys(d, rc, log->path, "cannot open again");
	*st = now;
	return 0;
}

static int jsonl_stat(struct grove_store_log *l, struct grove_store_log_stat *out,
		      struct grove_detail *d)
{
	struct jsonl_log *log = grove__jsonl_log(l);
	struct grove__sys_stat st;
	bool timed;
	int rc;

	pthread_mutex_lock(&log->lock);
	rc = log->born_known ? grove__sys_fstat(log->fd, &st)
			     : grove__jsonl_base_of(log->fd, &st, &log->born, &timed);
	log->born_known |= !rc;
	if (rc)
		rc = grove__fail_sys(d, rc, log->path, "cannot examine");
	else
		rc = follow(log, &st, d);
	if (!rc) {
		grove__jsonl_seen(log, &st);
		rc = grove__jsonl_base(log, &out->base, d);
	}
	if (!rc) {
		out->tail = out->bytes = st.size;
		out->mtime_ms = st.mtime_ns >= 0 ? (st.mtime_ns + 500000) / 1000000
						 : st.mtime_ns / 1000000;
		out->mtime_ns = st.mtime_ns;
		out->ctime_ns = st.ctime_ns;
		out->generation = log->generation;
	}
	pthread_mutex_unlock(&log->lock);
	return rc;
}

static int jsonl_read(struct grove_store_log *l, uint64_t pos, uint64_t until, char *buf,
		      size_t cap, struct grove_store_run *run, struct grove_detail *d)
{
	struct jsonl_log *log = grove__jsonl_log(l);
	size_t want = until - pos < cap ? (size_t)(until - pos) : cap, got;
	const char *lf;
	int rc;

	run->pos = run->next = pos;
	rc = grove__sys_pread(log->fd, buf, want, pos, &got);
	if (rc)
		return grove__fail_sys(d, rc, log->path, "cannot read");
	if (got < want)
		return grove__fail_at(d, GROVE_ESTALE, log->path, 0, pos + got,
				      "became shorter while it was being read");
	run->end = pos + got == until;
	lf = got ? memrchr(buf, '\n', got) : NULL;
	if (run->end)
		run->len = got;
	else if (lf)
		run->len = (size_t)(lf - buf) + 1;
	else
		run->len = got, run->open = 1;
	run->next = pos + run->len;
	/* what a writer does must not depend on the file's own position */
	if (run->open && !buf[got - 1] && !log->writable)
		grove__sys_skip_hole(log->fd, &run->next, until);
	return 0;
}

static int jsonl_fetch(struct grove_store_log *l, uint64_t pos, uint64_t off, char *buf, size_t len,
		       struct grove_detail *d)
{
	struct jsonl_log *log = grove__jsonl_log(l);
	size_t got;
	int rc = grove__sys_pread(log->fd, buf, len, pos + off, &got);

	if (rc)
		return grove__fail_sys(d, rc, log->path, "cannot read");
	if (got < len)
		return grove__fail_at(d, GROVE_ESTALE, log->path, 0, pos + off + got,
				      "became shorter while it was being read");
	return 0;
}

bool grove__jsonl_has_suffix(const char *name)
{
	size_t n = strlen(name), k = strlen(SUFFIX);

	if (n <= k || strcmp(name + n - k, SUFFIX))
		return false;
	/* "..jsonl" and "...jsonl": the directories "." and ".." do not belong to a session */
	n -= k;
	return !(name[n - 1] == '.' && (n == 1 || name[n - 2] == '/' ||
					(name[n - 2] == '.' && (n == 2 || name[n - 3] == '/'))));
}

size_t grove__jsonl_stem(const char *name)
{
	size_t n = strlen(name), of = grove__sys_temp_of(name, GROVE__TEMP_TAIL);

	if (grove__jsonl_has_suffix(name))
		return n - strlen(SUFFIX);
	return of > strlen(SUFFIX) && !memcmp(name + 1 + of - strlen(SUFFIX), SUFFIX, strlen(SUFFIX))
		       ? n - strlen(GROVE__TEMP_TAIL) : 0;
}

/* Removes the last part of the path. Returns false if it has only one. */
static bool go_up(struct grove_buf *path)
{
	const char *slash = memrchr(path->ptr, '/', path->len);

	if (!slash || slash == path->ptr)
		return false;
	grove__buf_cut(path, (size_t)(slash - path->ptr));
	return true;
}

int grove__jsonl_inside(const struct jsonl_store *st, const char *path, struct grove_detail *d)
{
	struct grove_buf dir = GROVE_BUF_INIT, real = GROVE_BUF_INIT, root = GROVE_BUF_INIT;
	size_t top = strlen(st->root);
	int rc = 0, err;

	if (grove__buf_add_str(&dir, path)) {
		grove__buf_release(&dir);
		return grove__fail_nomem(d);
	}
	/* what does not exist yet will be created, and is not a link */
	do
		err = go_up(&dir) && dir.len > top ? grove__sys_realpath(dir.ptr, &real) : 1;
	while (err == -ENOENT);
	if (!err)
		err = grove__sys_realpath(st->root, &root);
	if (err < 0)
		rc = grove__fail_sys(d, err, dir.ptr, "cannot resolve the link");
	else if (!err && strcmp(root.ptr, "/") &&
		 (strncmp(real.ptr, root.ptr, root.len) ||
		  (real.ptr[root.len] && real.ptr[root.len] != '/')))
		rc = grove__fail(d, GROVE_EACCESS, dir.ptr, "a link points outside %.200s", st->root);
	grove__buf_release(&dir);
	grove__buf_release(&real);
	grove__buf_release(&root);
	return rc;
}

struct listing {
	struct jsonl_store *st;
	const char *project;      /* the current directory, "" at the top */
	struct grove_buf session, sub; /* below a session: its name, and the path from there */
	bool subs;                /* these are asked for */
	struct grove_buf path;
	grove_key_fn *fn;
	void *payload;
	int err;                  /* a negative errno that ends the listing */
};

/* Reports a directory that cannot be read. Returns true if the list continues. */
static bool pass_over(struct listing *li, const char *path, int err, bool top)
{
	struct jsonl_store *st = li->st;
	struct grove_detail why;

	if (!st->hidden)
		return !top;
	grove__fail_sys(&why, err, path, top ? "cannot look for sessions there"
					     : "skipped, so sessions there are not found");
	return st->hidden(st->hidden_payload, top, &why);
}

/* True if the name exists but is a dangling link. */
static bool dangles(const char *path)
{
	struct grove__sys_stat st;

	return !grove__sys_lstat(path, &st) && st.type == SYS_LINK;
}

static int list_one(void *payload, const char *name)
{
	struct listing *li = payload;
	struct grove_key key = { li->project, name, "" };

	return grove__jsonl_has_suffix(name) ? li->fn(li->payload, &key) : 0;
}

static int list_below(struct listing *li);

/*
 * Handles a name in a session's directory. Links are not followed, since they may form
 * cycles.
 */
static int list_sub(void *payload, const char *name)
{
	struct listing *li = payload;
	struct grove_key key;
	struct grove__sys_stat st;
	size_t path = li->path.len, sub = li->sub.len;
	int rc = 0;

	if (name[0] == '.')
		return 0;
	if (grove__buf_addf(&li->path, "/%s", name) ||
	    grove__buf_addf(&li->sub, "%s%s", sub ? "/" : "", name)) {
		li->err = -ENOMEM;
		return 1;
	}
	if (!grove__sys_lstat(li->path.ptr, &st)) {
		key = (struct grove_key){ li->project, li->session.ptr, li->sub.ptr };
		if (st.type == SYS_DIR)
			rc = list_below(li);
		else if (st.type == SYS_FILE && grove__jsonl_has_suffix(name))
			rc = li->fn(li->payload, &key);
	}
	grove__buf_cut(&li->path, path);
	grove__buf_cut(&li->sub, sub);
	return rc;
}

static int list_below(struct listing *li)
{
	int ended = 0, err = grove__sys_list(li->path.ptr, list_sub, li, &ended);

	/* what cannot be read hides only itself */
	if (err == -ENOMEM)
		li->err = err;
	else if (err && err != -ENOENT && err != -ENOTDIR)
		pass_over(li, li->path.ptr, err, false);
	return li->err ? 1 : ended;
}

/* Handles a name in a project, which may be the directory of a session. */
static int list_session(void *payload, const char *name)
{
	struct listing *li = payload;
	struct grove__sys_stat st;
	size_t path = li->path.len;
	int rc = 0;

	if (name[0] == '.' || grove__jsonl_has_suffix(name))
		return 0;
	grove__buf_clear(&li->session);
	grove__buf_clear(&li->sub);
	if (grove__buf_addf(&li->path, "/%s", name) ||
	    grove__buf_addf(&li->session, "%s" SUFFIX, name)) {
		li->err = -ENOMEM;
		return 1;
	}
	if (!grove__sys_lstat(li->path.ptr, &st) && st.type == SYS_DIR)
		rc = list_below(li);
	grove__buf_cut(&li->path, path);
	return rc;
}

/* Returns the negative errno of the listing; the result of `fn` goes to *ended. */
static int list_dir(struct listing *li, const char *project, int *ended)
{
	*ended = 0;
	grove__buf_clear(&li->path);
	if (grove__buf_addf(&li->path, "%s/%s", li->st->root, project))
		return -ENOMEM;
	li->project = project;
	return grove__sys_list(li->path.ptr, li->subs ? list_session : list_one, li, ended);
}

/* True for the target of a link in the root that is in the root itself: it is listed anyway. */
static bool leads_back(struct listing *li)
{
	struct grove__sys_stat up, root;
	size_t len = li->path.len;
	bool back = !grove__buf_add_str(&li->path, "/..") && !grove__sys_stat(li->path.ptr, &up) &&
		    !grove__sys_stat(li->st->root, &root) && up.dev == root.dev && up.ino == root.ino;

	grove__buf_cut(&li->path, len);
	return back;
}

static int list_top(void *payload, const char *name)
{
	struct listing *li = payload;
	struct grove__sys_stat st;
	bool link;
	int ended, err;

	if ((li->subs && name[0] == '.') || grove__sys_temp_of(name, ""))
		return 0;
	grove__buf_clear(&li->path);
	if (grove__buf_addf(&li->path, "%s/%s", li->st->root, name)) {
		li->err = -ENOMEM;
		return 1;
	}
	err = grove__sys_lstat(li->path.ptr, &st);
	link = !err && st.type == SYS_LINK;
	if (link)
		err = grove__sys_stat(li->path.ptr, &st);
	/* gone already */
	if ((err == -ENOENT || err == -ESTALE) && !link)
		return 0;
	/* a dangling link, or no permission; but a failing disk is an error */
	if (err == -ENOENT || err == -ENOTDIR || err == -ELOOP || err == -ESTALE || err == -EACCES ||
	    err == -EPERM) {
		/* whether it is a session is decided when it is opened */
		if (!grove__jsonl_has_suffix(name))
			pass_over(li, li->path.ptr, err, false);
		return 0;
	}
	if (err) {
		li->err = err;
		return 1;
	}
	if (st.type == SYS_DIR) {
		if (link && leads_back(li))
			return 0;
		err = list_dir(li, name, &ended);

		/* a directory that we may not read hides only itself */
		if (err == -EACCES || err == -EPERM)
			pass_over(li, li->path.ptr, err, false);
		else if (err && err != -ENOENT)
			li->err = err;
		return li->err ? 1 : ended;
	}
	li->project = "";
	return li->subs ? 0 : list_one(payload, name);
}

static int jsonl_list(struct grove_store *st, const char *project, int subs, grove_key_fn *fn,
		      void *payload, struct grove_detail *d)
{
	struct listing li = { .st = grove__jsonl_store(st), .project = "", .subs = subs, .fn = fn,
			      .payload = payload };
	int err, ended, rc;

	if (project && *project && !part_ok(project))
		return grove__fail(d, GROVE_EINVAL, NULL, "not a project: %.200s", project);
	err = project ? list_dir(&li, project, &ended)
		      : grove__sys_list(li.st->root, list_top, &li, &ended);
	if (!err)
		err = li.err;
	if (err == -ENOENT && dangles(li.st->root) && pass_over(&li, li.st->root, err, true))
		rc = 0;
	else if (err == -ENOENT || err == -ENOTDIR || (project && err == -ENAMETOOLONG))
		rc = 0; /* nothing was ever stored here */
	else if (err && !project && !li.err && pass_over(&li, li.st->root, err, true))
		rc = 0;
	else if (err && project && li.st->hidden && (err == -EACCES || err == -EPERM) &&
		 pass_over(&li, li.path.ptr, err, false))
		rc = 0;
	else if (err)
		rc = grove__fail_sys(d, err, li.path.len ? li.path.ptr : li.st->root, "cannot list");
	else
		rc = ended;
	grove__buf_release(&li.path);
	grove__buf_release(&li.session);
	grove__buf_release(&li.sub);
	return rc;
}

/* Makes the creation or removal of a name durable. */
static int sync_name(const char *path, struct grove_detail *d)
{
	int err = grove__sys_sync_parent(path);

	/* a directory that we may write to but not read cannot be synced */
	if (!err || err == -EACCES || err == -EPERM)
		return 0;
	grove__fail_sys(d, err, path, "done, but it may not survive a crash");
	if (d)
		d->code = GROVE_EIO;
	return GROVE_EIO;
}

static bool same_dir(const char *a, const char *b)
{
	size_t n = (size_t)(strrchr(a, '/') - a);

	return (size_t)(strrchr(b, '/') - b) == n && !memcmp(a, b, n);
}

static int jsonl_remove(struct grove_store *st, const struct grove_key *key, struct grove_detail *d)
{
	struct grove_buf path = GROVE_BUF_INIT;
	int rc = grove__jsonl_path(grove__jsonl_store(st), key, &path, d), err;

	if (!rc && *key->subpath)
		rc = grove__jsonl_inside(grove__jsonl_store(st), path.ptr, d);
	if (!rc) {
		err = grove__sys_unlink(path.ptr);
		if (err)
			rc = grove__fail_sys(d, err, path.ptr, "cannot remove");
	}
	if (!rc) {
		rc = *key->subpath ? grove__jsonl_values_remove(grove__jsonl_store(st), key, d)
				   : grove__jsonl_attach_remove(grove__jsonl_store(st), key, d);
		grove__jsonl_lease_remove(path.ptr);
	}
	if (!rc)
		rc = sync_name(path.ptr, d);
	grove__buf_release(&path);
	return rc;
}

/* Creates a directory to move something into, and makes it durable. */
static int make_dirs(const char *dir)
{
	struct grove__sys_stat s;
	bool made = grove__sys_lstat(dir, &s) == -ENOENT;
	int err = grove__sys_mkdirs(dir, 0700);

	if (err || !made)
		return err;
	err = grove__sys_sync_parents(dir);
	return err == -EACCES || err == -EPERM ? 0 : err;
}

static int jsonl_rename(struct grove_store *st, const struct grove_key *from,
			const struct grove_key *to, struct grove_detail *d)
{
	struct jsonl_store *js = grove__jsonl_store(st);
	struct grove_buf a = GROVE_BUF_INIT, b = GROVE_BUF_INIT;
	struct grove__sys_stat s;
	bool aside = grove__sys_temp_of(from->session, GROVE__TEMP_TAIL), far = false, moved = false;
	int rc = grove__jsonl_path(js, from, &a, d), err;

	if (!rc)
		rc = grove__jsonl_path(js, to, &b, d);
	if (!rc)
		rc = may_write(js, b.ptr, d);
	if (!rc) {
		err = grove__sys_lstat(a.ptr, &s);
		if (err)
			rc = grove__fail_sys(d, err, a.ptr, "cannot move");
	}
	/* what has no name yet may find a directory that is there already */
	if (!rc && !aside)
		rc = grove__jsonl_attach_may_rename(js, from, to, d);
	if (!rc && *from->subpath)
		rc = grove__jsonl_inside(js, a.ptr, d);
	if (!rc && *to->subpath)
		rc = grove__jsonl_inside(js, b.ptr, d);
	if (!rc) {
		char *slash = strrchr(b.ptr, '/');

		*slash = '\0';
		err = make_dirs(b.ptr);
		*slash = '/';
		/* the log comes last: while it is where it was, the move can be tried again */
		rc = err ? grove__fail_sys(d, err, a.ptr, "cannot move")
			 : aside ? grove__jsonl_aside_name(js, from, to, a.ptr, b.ptr, d)
				 : grove__jsonl_attach_rename(js, from, to, &moved, d);
	}
	if (!rc && !aside) {
		rc = grove__jsonl_move(a.ptr, b.ptr, &far, d);
		/* the directory at the target is that of another session, if ours had none */
		if (rc && moved)
			grove__jsonl_attach_rename(js, to, from, &moved, NULL);
	}
	if (!rc && far)
		rc = *from->subpath || s.type != SYS_FILE
			     ? grove__fail_sys(d, -EXDEV, a.ptr, "cannot move")
			     : grove__jsonl_move_far(st, from, to, a.ptr, b.ptr, d);
	if (!rc && !aside && !far && *from->subpath)
		rc = grove__jsonl_values_rename(js, from, to, d);
	/* the new name first: in between it may have both names, but never none */
	if (!rc)
		rc = sync_name(b.ptr, d);
	if (!rc && !same_dir(a.ptr, b.ptr))
		rc = sync_name(a.ptr, d);
	grove__buf_release(&a);
	grove__buf_release(&b);
	return rc;
}

void grove__store_tell_hidden(struct grove_store *st, grove__hidden_fn *fn, void *payload)
{
	if (st->ops->list != jsonl_list)
		return;
	grove__jsonl_store(st)->hidden = fn;
	grove__jsonl_store(st)->hidden_payload = payload;
}

void grove__store_guard(struct grove_store *st, grove__guard_fn *fn, void *payload)
{
	if (st->ops->list != jsonl_list)
		return;
	grove__jsonl_store(st)->guard = fn;
	grove__jsonl_store(st)->guard_payload = payload;
}

static void jsonl_close(struct grove_store *st)
{
	struct jsonl_store *js = grove__jsonl_store(st);

	free(js->root);
	free(js->url);
	free(js);
}

static const struct grove_store_ops jsonl_ops = {
	.version = GROVE_STORE_VERSION,
	.name = "jsonl",
	.open = jsonl_open,
	.close_log = jsonl_close_log,
	.stat = jsonl_stat,
	.read = jsonl_read,
	.fetch = jsonl_fetch,
	.append = grove__jsonl_append,
	.sync = grove__jsonl_sync,
	.replace = grove__jsonl_replace,
	.rewrite = grove__jsonl_rewrite,
	.list = jsonl_list,
	.cut = grove__jsonl_cut,
	.lease = grove__jsonl_lease,
	.lease_get = grove__jsonl_lease_get,
	.remove = jsonl_remove,
	.rename = jsonl_rename,
	.meta_get = grove__jsonl_meta_get,
	.meta_put = grove__jsonl_meta_put,
	.attach_put = grove__jsonl_attach_put,
	.attach_get = grove__jsonl_attach_get,
	.attach_list = grove__jsonl_attach_list,
	.describe = describe,
	.close = jsonl_close,
};

int grove__store_jsonl_open(struct grove_store **out, const char *dir, struct grove_detail *d)
{
	struct jsonl_store *st = calloc(1, sizeof(*st));
	struct grove_buf url = GROVE_BUF_INIT;
	size_t n = strlen(dir);

	*out = NULL;
	while (n > 1 && dir[n - 1] == '/')
		n--;
	if (!st || !(st->root = strndup(dir, n)) || grove__buf_addf(&url, "file:%s", st->root)) {
		if (st)
			free(st->root);
		free(st);
		grove__buf_release(&url);
		return grove__fail_nomem(d);
	}
	if (!n) {
		free(st->root);
		free(st);
		grove__buf_release(&url);
		return grove__fail(d, GROVE_EINVAL, NULL, "file: must be followed by a directory");
	}
	st->base.ops = &jsonl_ops;
	st->url = url.ptr;
	st->base.url = st->url;
	*out = &st->base;
	return 0;
}
