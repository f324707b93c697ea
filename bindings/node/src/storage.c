/*
 * storage.c: files under paths. As in log.c, jobs run on the world's own struct grove, and
 * the first job opens the storage, so that making a handle never waits.
 */
#include "addon.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <grove/storage.h>

static const char kind[] = "a storage";

struct storage {
	struct handle handle;
	unsigned refs;           /* one for JavaScript, one for each job; counted on the environment's thread */
	struct world *world;
	pthread_mutex_t opening; /* many jobs may want to open the storage at once */
	struct grove_storage *st;  /* NULL: not open yet */
};

enum { PATH, TEXT, TITLE, SOURCE, UPDATED, MAX_TEXTS };

struct storage_job {
	struct job job;
	struct storage *storage;
	int (*act)(struct storage_job *j, struct grove_storage *st);
	char *text[MAX_TEXTS];
	size_t len[MAX_TEXTS];
	struct grove_title title;
	struct grove_storage_options opt;
	uint64_t head, tail;
	unsigned sync;
	struct grove_buf last;
	bool some;
};

static void storage_unref(struct storage *s)
{
	if (!s || --s->refs)
		return;
	grove_storage_close(s->st);
	pthread_mutex_destroy(&s->opening);
	world_unref(s->world);
	free(s);
}

static void release(struct job *job)
{
	struct storage_job *j = (struct storage_job *)job;

	for (size_t i = 0; i < MAX_TEXTS; i++)
		free(j->text[i]);
	grove_buf_release(&j->last);
	storage_unref(j->storage);
	free(j);
}

/* Opens the storage unless it is open. May be called on any thread. */
static int have_storage(struct storage *s, struct grove *g, struct grove_detail *why)
{
	int rc = 0;

	pthread_mutex_lock(&s->opening);
	if (!s->st)
		rc = grove_storage_open(g, NULL, &s->st);
	if (rc && s->st)
		grove_storage_error(s->st, NULL, why);
	if (rc) {
		grove_storage_close(s->st);
		s->st = NULL;
	}
	pthread_mutex_unlock(&s->opening);
	return rc;
}

static int run(struct job *job)
{
	struct storage_job *j = (struct storage_job *)job;
	int rc = have_storage(j->storage, job->g, &job->why);

	if (rc)
		return rc;
	rc = j->act(j, j->storage->st);
	if (rc < 0)
		grove_storage_error(j->storage->st, j->text[PATH], &job->why);
	return rc;
}

/* Makes a job for the storage of argument 0. NULL: an exception is pending. */
static struct storage_job *job_new(struct call *c, int (*act)(struct storage_job *j, struct grove_storage *st),
				   napi_value (*result)(struct job *job, napi_env env))
{
	struct storage *s = take_handle(c, 0, kind);
	struct storage_job *j = s ? calloc(1, sizeof(*j)) : NULL;

	if (!j)
		return s ? (struct storage_job *)throw_error(c, GROVE_ENOMEM, NULL) : NULL;
	j->job.run = run;
	j->job.result = result;
	j->job.release = release;
	j->job.on_world = true;
	j->act = act;
	j->opt.size = sizeof(j->opt);
	j->title.size = sizeof(j->title);
	j->storage = s;
	s->refs++;
	return j;
}

/* Copies argument `i` into j->text[at], which stays NULL if the argument is absent. */
static bool keep(struct call *c, struct storage_job *j, size_t i, size_t at)
{
	if (is_absent(c, i))
		return true;
	j->text[at] = copy_text(c, c->arg[i], &j->len[at]);
	return j->text[at] != NULL;
}

/* As keep(), for a text that C functions read up to its NUL: one that contains U+0000 is refused. */
static bool keep_name(struct call *c, struct storage_job *j, size_t i, size_t at)
{
	const char *text = NULL;

	if (!take_text(c, i, &text))
		return false;
	j->text[at] = text ? strdup(text) : NULL;
	if (text && !j->text[at])
		throw_error(c, GROVE_ENOMEM, NULL);
	return !text || j->text[at];
}

/* Copies a title, its source and the time of its last change, which are the arguments from `i` on. */
static bool keep_title(struct call *c, struct storage_job *j, size_t i)
{
	if (!keep_name(c, j, i, TITLE) || !keep_name(c, j, i + 1, SOURCE) || !keep_name(c, j, i + 2, UPDATED))
		return false;
	j->title.text = j->text[TITLE];
	j->title.source = j->text[SOURCE];
	j->title.updated = j->text[UPDATED];
	return true;
}

static napi_value start(struct call *c, struct storage_job *j, const char *name, bool ok)
{
	if (ok)
		return job_start(c, &j->job, j->storage->world, name, MAX_ARGS, MAX_ARGS);
	release(&j->job);
	return NULL;
}

/* ------------------------------------------------------------------ reading */

static int add_member(struct grove_buf *out, const char *name, const char *text)
{
	int rc = text ? grove_buf_add(out, grove_str(name)) : 0;

	return rc || !text ? rc : grove_buf_json_string(out, grove_str(text));
}

static int note(void *payload, const struct grove_storage_item *item)
{
	struct storage_job *j = payload;
	struct grove_buf *out = &j->job.out;
	char text[96];
	int rc = add_member(out, j->some ? ",{\"path\":" : "[{\"path\":", item->path);

	j->some = true;
	snprintf(text, sizeof(text), ",\"size\":%" PRIu64 ",\"mtimeMs\":%" PRId64, item->bytes, item->modified);
	rc = rc ? rc : grove_buf_add(out, grove_str(text));
	rc = rc ? rc : add_member(out, ",\"title\":", item->title.text);
	rc = rc ? rc : add_member(out, ",\"titleSource\":", item->title.source);
	rc = rc ? rc : add_member(out, ",\"titleUpdatedAt\":", item->title.updated);
	return rc ? rc : grove_buf_add(out, grove_str("}"));
}

static int list_files(struct storage_job *j, struct grove_storage *st)
{
	int rc = grove_storage_each(st, note, j);

	return rc ? rc : grove_buf_add(&j->job.out, grove_str(j->some ? "]" : "[]"));
}

/* storageEach(storage): lists all files, as JSON. */
static napi_value storage_each(struct call *c)
{
	struct storage_job *j = job_new(c, list_files, NULL);

	return j ? start(c, j, "grove:each", true) : NULL;
}

static int read_text(struct storage_job *j, struct grove_storage *st)
{
	return grove_storage_read_text(st, j->text[PATH], &j->job.out);
}

/* storageRead(storage, path) */
static napi_value storage_read(struct call *c)
{
	struct storage_job *j = job_new(c, read_text, NULL);

	return j ? start(c, j, "grove:read", keep_name(c, j, 1, PATH)) : NULL;
}

static int read_slices(struct storage_job *j, struct grove_storage *st)
{
	return grove_storage_read_text_slices(st, j->text[PATH], (size_t)j->head, (size_t)j->tail, &j->job.out,
					      &j->last);
}

/* [first, last] */
static napi_value both_slices(struct job *job, napi_env env)
{
	struct storage_job *j = (struct storage_job *)job;
	napi_value v = NULL;

	napi_create_array_with_length(env, 2, &v);
	napi_set_element(env, v, 0, js_slice(env, grove_buf_slice(&job->out)));
	napi_set_element(env, v, 1, js_slice(env, grove_buf_slice(&j->last)));
	return v;
}

/* storageReadSlices(storage, path, head, tail) */
static napi_value storage_read_slices(struct call *c)
{
	struct storage_job *j = job_new(c, read_slices, both_slices);

	return j ? start(c, j, "grove:read",
			 keep_name(c, j, 1, PATH) && take_u64(c, 2, &j->head) && take_u64(c, 3, &j->tail)) : NULL;
}

/* ------------------------------------------------------------------ writing */

static struct grove_slice text_of(const struct storage_job *j)
{
	return (struct grove_slice){ j->text[TEXT], j->len[TEXT] };
}

static int write_text(struct storage_job *j, struct grove_storage *st)
{
	return grove_storage_write_text(st, j->text[PATH], text_of(j), &j->opt);
}

/* storageWrite(storage, path, text, bytes, titled, title, source, updatedAt) */
static napi_value storage_write(struct call *c)
{
	struct storage_job *j = job_new(c, write_text, NULL);
	unsigned titled = 0;
	bool ok;

	if (!j)
		return NULL;
	j->opt.flags = is_absent(c, 3) ? 0 : GROVE_STORAGE_IF_BYTES;
	ok = keep_name(c, j, 1, PATH) && keep(c, j, 2, TEXT) && take_u64(c, 3, &j->opt.bytes) &&
	     take_unsigned(c, 4, &titled) && keep_title(c, j, 5);
	j->opt.title = titled ? &j->title : NULL;
	return start(c, j, "grove:write", ok);
}

static int append_text(struct storage_job *j, struct grove_storage *st)
{
	return grove_storage_append_text(st, j->text[PATH], text_of(j), (enum grove_sync)j->sync);
}

/* storageAppend(storage, path, text, sync) */
static napi_value storage_append(struct call *c)
{
	struct storage_job *j = job_new(c, append_text, NULL);

	return j ? start(c, j, "grove:append",
			 keep_name(c, j, 1, PATH) && keep(c, j, 2, TEXT) && take_unsigned(c, 3, &j->sync)) : NULL;
}

static int set_title(struct storage_job *j, struct grove_storage *st)
{
	return grove_storage_set_title(st, j->text[PATH], &j->title);
}

/* storageSetTitle(storage, path, title, source, updatedAt) */
static napi_value storage_set_title(struct call *c)
{
	struct storage_job *j = job_new(c, set_title, NULL);

	return j ? start(c, j, "grove:title", keep_name(c, j, 1, PATH) && keep_title(c, j, 2)) : NULL;
}

/* -------------------------------------------------------- moving, removing, locking */

static int rename_file(struct storage_job *j, struct grove_storage *st)
{
	return grove_storage_rename(st, j->text[PATH], j->text[TEXT]);
}

/* storageRename(storage, from, to) */
static napi_value storage_rename(struct call *c)
{
	struct storage_job *j = job_new(c, rename_file, NULL);

	return j ? start(c, j, "grove:move", keep_name(c, j, 1, PATH) && keep_name(c, j, 2, TEXT)) : NULL;
}

static int remove_file(struct storage_job *j, struct grove_storage *st)
{
	return grove_storage_remove(st, j->text[PATH]);
}

/* storageRemove(storage, path) */
static napi_value storage_remove(struct call *c)
{
	struct storage_job *j = job_new(c, remove_file, NULL);

	return j ? start(c, j, "grove:remove", keep_name(c, j, 1, PATH)) : NULL;
}

static int lock_file(struct storage_job *j, struct grove_storage *st)
{
	return grove_storage_lock(st, j->text[PATH], (int64_t)j->head);
}

/* storageLock(storage, path, ms) */
static napi_value storage_lock(struct call *c)
{
	struct storage_job *j = job_new(c, lock_file, NULL);

	return j ? start(c, j, "grove:lock", keep_name(c, j, 1, PATH) && take_u64(c, 2, &j->head)) : NULL;
}

static int unlock_file(struct storage_job *j, struct grove_storage *st)
{
	return grove_storage_unlock(st, j->text[PATH]);
}

/* storageUnlock(storage, path) */
static napi_value storage_unlock(struct call *c)
{
	struct storage_job *j = job_new(c, unlock_file, NULL);

	return j ? start(c, j, "grove:unlock", keep_name(c, j, 1, PATH)) : NULL;
}

/*
 * storageLockSync(storage, path, ms): as storageLock(), but the environment's thread itself
 * waits for the lock. Returns false if there is no such file yet.
 */
static napi_value storage_lock_sync(struct call *c)
{
	struct storage *s = take_handle(c, 0, kind);
	struct grove_detail why = { 0 };
	const char *path = NULL;
	uint64_t ms = 0;
	int rc;

	if (!s || !take_text(c, 1, &path) || !take_u64(c, 2, &ms))
		return NULL;
	rc = have_storage(s, s->world->g, &why);
	if (!rc) {
		rc = grove_storage_lock(s->st, path, (int64_t)ms);
		if (rc < 0)
			grove_storage_error(s->st, path, &why);
	}
	return rc < 0 ? throw_error(c, rc, &why) : js_bool(c, !rc);
}

/* ------------------------------------------------------------------ the handle */

static void finalise(napi_env env, void *data, void *hint)
{
	(void)env;
	(void)hint;
	storage_unref(data);
}

/* storageNew(world) */
static napi_value storage_new(struct call *c)
{
	struct world *w = take_world(c, 0);
	struct storage *s = w ? calloc(1, sizeof(*s)) : NULL;
	napi_value result = NULL;

	if (!s)
		return w ? throw_error(c, GROVE_ENOMEM, NULL) : NULL;
	s->handle.kind = kind;
	s->refs = 1;
	pthread_mutex_init(&s->opening, NULL);
	s->world = world_ref(w);
	if (napi_create_external(c->env, s, finalise, NULL, &result) == napi_ok)
		return result;
	storage_unref(s);
	return NULL;
}

const struct function storage_functions[] = {
	{ "storageNew", storage_new },
	{ "storageEach", storage_each },
	{ "storageRead", storage_read },
	{ "storageReadSlices", storage_read_slices },
	{ "storageWrite", storage_write },
	{ "storageAppend", storage_append },
	{ "storageSetTitle", storage_set_title },
	{ "storageRename", storage_rename },
	{ "storageRemove", storage_remove },
	{ "storageLock", storage_lock },
	{ "storageLockSync", storage_lock_sync },
	{ "storageUnlock", storage_unlock },
	{ NULL, NULL }
};
