/*
 * storage/path.c: which key a path is, the files that are known, and their open logs.
 *
 * Whether /w/a/x.jsonl belongs to the session /w/a.jsonl depends on whether there is
 * such a session, so what was listed or written is remembered, and keeps its key.
 */
#include "storage/storage.h"

#include "base/array.h"
#include "sys/clock.h"

#include <stdlib.h>

#define SUFFIX ".jsonl"
#define SUFFIX_LEN (sizeof(SUFFIX) - 1)
#define OPEN_MAX 64              /* logs that stay open, each with a descriptor or a statement */

/* -------------------------------------------------------------- path and key */

bool grove__storage_is_text(const char *path)
{
	size_t n = strlen(path);

	return n < SUFFIX_LEN || strcmp(path + n - SUFFIX_LEN, SUFFIX) != 0;
}

/* The name in a key of the last part of a path. */
static char *name_of(const char *base)
{
	struct grove_buf name = GROVE_BUF_INIT;

	if (!grove__storage_is_text(base) && strcmp(base, SUFFIX))
		return strndup(base, strlen(base) - SUFFIX_LEN);
	return grove__buf_addf(&name, "%s/", base) ? NULL : name.ptr;
}

/* The last part of a path, from the name in a key. */
static int add_base(struct grove_buf *path, const char *name)
{
	size_t n = strlen(name);

	if (n && name[n - 1] == '/')
		return grove__buf_add(path, name, n - 1);
	return grove__buf_addf(path, "%s%s", name, SUFFIX);
}

static int path_of(const struct grove_key *key, struct grove_buf *path)
{
	const char *dir = key->project;
	int rc = dir ? grove__buf_addf(path, "%s%s", dir, strcmp(dir, "/") ? "/" : "") : 0;

	rc = rc ? rc : add_base(path, key->session);
	if (rc || !key->subpath)
		return rc;
	if (!grove__storage_is_text(path->ptr))
		grove__buf_cut(path, path->len - SUFFIX_LEN);
	rc = grove__buf_add_char(path, '/');
	return rc ? rc : add_base(path, key->subpath);
}

struct grove_key grove__storage_key(const struct grove__storage_file *f)
{
	return (struct grove_key){ f->project, f->session, f->subpath };
}

/* ----------------------------------------------------------------- the table */

static struct grove_slice path_at(const void *owner, uint32_t i)
{
	const struct grove_storage *st = owner;

	return grove__slice_str(st->files[i]->path);
}

struct grove__storage_file *grove__storage_find(const struct grove_storage *st, const char *path)
{
	uint32_t i = grove__idmap_get(&st->by_path, grove__slice_str(path));

	return i == GROVE__IDMAP_NONE ? NULL : st->files[i];
}

/* NULL: out of memory. */
static struct grove__storage_file *have_file(struct grove_storage *st, const char *path)
{
	struct grove__storage_file *f = grove__storage_find(st, path);
	uint32_t old;

	if (f)
		return f;
	f = calloc(1, sizeof(*f));
	if (!f || !(f->path = strdup(path)) || grove__array_room(&st->files, &st->cap, st->nr, sizeof(*st->files)))
		goto fail;
	st->files[st->nr++] = f;
	if (!grove__idmap_put(&st->by_path, grove__slice_str(path), (uint32_t)(st->nr - 1), &old))
		return f;
	st->nr--;
fail:
	if (f)
		free(f->path);
	free(f);
	return NULL;
}

static void close_log(struct grove_storage *st, struct grove__storage_file *f)
{
	if (!f->log)
		return;
	grove__keyed_close(f->log);
	free(f->log);
	f->log = NULL;
	st->nr_open--;
}

static void drop_key(struct grove__storage_file *f)
{
	free(f->project);
	free(f->session);
	free(f->subpath);
	f->project = f->session = f->subpath = NULL;
}

static int set_key(struct grove__storage_file *f, const struct grove_key *key)
{
	drop_key(f);
	f->project = key->project ? strdup(key->project) : NULL;
	f->session = strdup(key->session);
	f->subpath = key->subpath ? strdup(key->subpath) : NULL;
	return !f->session || (key->project && !f->project) || (key->subpath && !f->subpath) ? GROVE_ENOMEM : 0;
}

/* The session to which a file in this directory belongs, or NULL. */
static const struct grove__storage_file *owner_of(const struct grove_storage *st, struct grove_slice dir)
{
	struct grove_buf path = GROVE_BUF_INIT;
	const struct grove__storage_file *f = NULL;

	if (!grove__buf_addf(&path, "%.*s%s", (int)dir.len, dir.ptr, SUFFIX))
		f = grove__storage_find(st, path.ptr);
	grove__buf_release(&path);
	return f && f->there && !f->subpath ? f : NULL;
}

/* Decides which key a file has that is not there yet. */
static int choose_key(const struct grove_storage *st, struct grove__storage_file *f)
{
	const char *slash = strrchr(f->path, '/');
	struct grove_slice dir = { f->path, slash ? (size_t)(slash - f->path) + (slash == f->path) : 0 };
	const struct grove__storage_file *owner = slash ? owner_of(st, dir) : NULL;
	char *name = name_of(slash ? slash + 1 : f->path), *project = NULL;
	int rc = GROVE_ENOMEM;

	if (name && owner)
		rc = set_key(f, &(struct grove_key){ owner->project, owner->session, name });
	else if (name && (!slash || (project = strndup(dir.ptr, dir.len))))
		rc = set_key(f, &(struct grove_key){ project, name, NULL });
	free(project);
	free(name);
	return rc;
}

/* ------------------------------------------------------------------- a call */

static int open_log(struct grove_storage *st, struct grove__storage_file *f, struct grove_detail *d)
{
	struct grove_key key = grove__storage_key(f);
	int rc;

	f->log = calloc(1, sizeof(*f->log));
	if (!f->log)
		return grove__fail_nomem(d);
	st->nr_open++;
	rc = grove__keyed_init(st->g, st->store, &key, GROVE_LOG_CREATE, f->log, d);
	if (rc)
		close_log(st, f);
	return rc;
}

static int use_file(struct grove__storage_use *u, struct grove__storage_file *f)
{
	int rc = f ? 0 : GROVE_ENOMEM;

	if (!rc && !f->there && !f->users) {
		close_log(u->st, f);
		rc = choose_key(u->st, f);
	}
	if (rc)
		return grove__fail_nomem(&u->d);
	rc = f->log ? 0 : open_log(u->st, f, &u->d);
	if (!rc) {
		f->users++;
		u->f = f;
	}
	return rc;
}

int grove__storage_begin(struct grove_storage *st, const char *path, struct grove__storage_use *u)
{
	int rc;

	u->st = st;
	u->f = NULL;
	grove__fail_clear(&u->d);
	if (!path || !*path)
		return grove__fail(&u->d, GROVE_EINVAL, NULL, "a path must not be empty");
	pthread_mutex_lock(&st->lock);
	rc = use_file(u, have_file(st, path));
	pthread_mutex_unlock(&st->lock);
	return rc;
}

/* Closes the log that was not used for the longest time. One that is locked has to stay open. */
static void close_oldest(struct grove_storage *st)
{
	struct grove__storage_file *old = NULL;

	for (size_t i = 0; i < st->nr; i++) {
		struct grove__storage_file *f = st->files[i];

		if (f->log && !f->users && !f->log->lock_ms && (!old || f->used < old->used))
			old = f;
	}
	if (old)
		close_log(st, old);
}

int grove__storage_end(struct grove__storage_use *u, int rc, bool wrote)
{
	struct grove_storage *st = u->st;
	struct grove_detail *kept = &st->detail;

	pthread_mutex_lock(&st->lock);
	if (u->f) {
		u->f->users--;
		u->f->used = ++st->calls;
		u->f->there |= wrote && rc >= 0;
		if (rc < 0 && !u->f->detail)
			u->f->detail = calloc(1, sizeof(*kept));
		if (u->f->detail)
			kept = u->f->detail;
	}
	if (rc < 0) {
		*kept = u->d;
		kept->code = rc;
	}
	if (st->nr_open > OPEN_MAX)
		close_oldest(st);
	pthread_mutex_unlock(&st->lock);
	return rc;
}

/* ---------------------------------------------------------------- what is known */

int grove__storage_learn(struct grove_storage *st, const struct grove_key *key, struct grove_buf *path)
{
	struct grove__storage_file *f;
	int rc = path_of(key, path);

	if (rc)
		return rc;
	pthread_mutex_lock(&st->lock);
	f = have_file(st, path->ptr);
	rc = f ? 0 : GROVE_ENOMEM;
	if (!rc && !f->there && !f->users) {
		close_log(st, f);
		rc = set_key(f, key);
		f->there = !rc;
	}
	pthread_mutex_unlock(&st->lock);
	return rc;
}

void grove__storage_forget(struct grove_storage *st, const struct grove__storage_file *gone)
{
	bool owns = !gone->subpath && !grove__storage_is_text(gone->path);
	size_t n = owns ? strlen(gone->path) - SUFFIX_LEN : 0;

	pthread_mutex_lock(&st->lock);
	for (size_t i = 0; i < st->nr; i++) {
		struct grove__storage_file *f = st->files[i];

		if (f == gone || (owns && f->subpath && !strncmp(f->path, gone->path, n) && f->path[n] == '/'))
			f->there = false;
	}
	pthread_mutex_unlock(&st->lock);
}

/* --------------------------------------------------------------- the storage */

int grove__storage_init(struct grove_storage *st, struct grove *g, const char *store, struct grove_detail *d)
{
	struct grove_store *shared;

	st->g = grove__world_ref(g);
	pthread_mutex_init(&st->lock, NULL);
	grove__idmap_init(&st->by_path, grove__sys_seed(), path_at, st);
	if (store && !(st->store = strdup(store)))
		return grove__fail_nomem(d);
	return grove__world_shared(g, store, &shared, d);
}

void grove__storage_release(struct grove_storage *st)
{
	for (size_t i = 0; i < st->nr; i++) {
		struct grove__storage_file *f = st->files[i];

		close_log(st, f);
		drop_key(f);
		free(f->detail);
		free(f->path);
		free(f);
	}
	free(st->files);
	grove__idmap_release(&st->by_path);
	pthread_mutex_destroy(&st->lock);
	free(st->store);
	grove__world_unref(st->g);
}
