/*
 * storage/storage.c: files under paths.
 */
#include "storage/storage.h"

#include "base/sized.h"
#include "base/utf8.h"
#include "dialect/xcsh.h"
#include "js/js.h"
#include "sys/clock.h"

#include <errno.h>
#include <stdlib.h>

#define TEXT_MAX ((uint64_t)1 << 30)
#define SESSION_SUFFIX ".jsonl"

/* --------------------------------------------------------------- the handle */

int grove__storage_init(struct grove_storage *st, const struct grove__storage_ops *ops,
			const struct grove_storage_options *opt)
{
	struct grove_storage_options o;
	struct grove_detail d;
	int rc = grove__sized_take(&o, sizeof(o), opt, &d);

	st->ops = ops;
	st->flags = o.flags;
	st->refs = 1;
	pthread_mutex_init(&st->lock, NULL);
	return grove__storage_told(st, rc, &d);
}

void grove__storage_unref(struct grove_storage *st)
{
	if (__atomic_sub_fetch(&st->refs, 1, __ATOMIC_ACQ_REL))
		return;
	pthread_mutex_destroy(&st->lock);
	st->ops->release(st);
}

static void release_lock(struct grove_storage *st, struct grove__storage_lock *lock)
{
	st->ops->unlock(lock);
	free(lock);
}

void grove_storage_close(struct grove_storage *st)
{
	struct grove__storage_lock *lock;

	if (!st)
		return;
	while ((lock = st->locks)) {
		st->locks = lock->next;
		release_lock(st, lock);
	}
	grove__storage_unref(st);
}

void grove_storage_error(struct grove_storage *st, struct grove_detail *out)
{
	pthread_mutex_lock(&st->lock);
	*out = st->detail;
	pthread_mutex_unlock(&st->lock);
}

int grove__storage_told(struct grove_storage *st, int rc, const struct grove_detail *d)
{
	if (rc >= 0)
		return rc;
	pthread_mutex_lock(&st->lock);
	st->detail = *d;
	st->detail.code = rc;
	pthread_mutex_unlock(&st->lock);
	return rc;
}

/* ------------------------------------------------------------ the operations */

static bool named(const char *path)
{
	return path && *path;
}

/* The end of an operation, which returned `err`; `what` it could not do. */
static int ended(struct grove_storage *st, int err, const char *path, const char *what)
{
	struct grove_detail d;

	if (err >= 0)
		return err;
	if (!named(path))
		return grove__storage_told(st, grove__fail(&d, GROVE_EINVAL, NULL, "a path must not be empty"), &d);
	return grove__storage_told(st, grove__fail_sys(&d, err, path, what), &d);
}

/* The same for one that depends on the file's size. */
static int ended_if(struct grove_storage *st, int err, const char *path, const char *what, const uint64_t *expect)
{
	struct grove_detail d;

	if (err != -ECANCELED)
		return ended(st, err, path, what);
	grove__fail(&d, GROVE_ECONFLICT, path, "%s: the file does not have the expected %llu bytes", what,
		    (unsigned long long)*expect);
	return grove__storage_told(st, GROVE_ECONFLICT, &d);
}

int grove_storage_ensure_dir(struct grove_storage *st, const char *dir)
{
	return ended(st, named(dir) ? st->ops->mkdirs(st, dir) : -EINVAL, dir, "cannot create the directory");
}

int grove_storage_exists(struct grove_storage *st, const char *path)
{
	struct grove__storage_stat s;
	int err = named(path) ? st->ops->stat(st, path, &s) : -EINVAL;

	if (err == -ENOENT || err == -ENOTDIR)
		return 0;
	return err ? ended(st, err, path, "cannot examine") : 1;
}

int grove_storage_stat(struct grove_storage *st, const char *path, struct grove_storage_stat *out)
{
	struct grove__storage_stat s = { 0 };
	struct grove_storage_stat found;
	struct grove_detail d;
	int rc = grove__sized_check(out, &d);

	if (rc)
		return grove__storage_told(st, rc, &d);
	rc = ended(st, named(path) ? st->ops->stat(st, path, &s) : -EINVAL, path, "cannot examine");
	/* milliseconds are rounded down, also before 1970 */
	found = (struct grove_storage_stat){ .bytes = s.bytes, .mtime_ns = s.mtime_ns,
					     .mtime_ms = s.mtime_ns / 1000000 - (s.mtime_ns % 1000000 < 0) };
	if (rc)
		found = (struct grove_storage_stat){ .bytes = 0 };
	grove__sized_give(out, &found, sizeof(found));
	return rc;
}

static int write_text(struct grove_storage *st, const char *path, struct grove_slice text, const uint64_t *expect)
{
	int err = named(path) && (text.ptr || !text.len) ? st->ops->write(st, path, text, expect) : -EINVAL;

	return ended_if(st, err, path, "cannot write", expect);
}

int grove_storage_write_text(struct grove_storage *st, const char *path, struct grove_slice text)
{
	return write_text(st, path, text, NULL);
}

int grove_storage_write_text_if(struct grove_storage *st, const char *path, struct grove_slice text,
				uint64_t expect_bytes)
{
	return write_text(st, path, text, &expect_bytes);
}

int grove_storage_rename(struct grove_storage *st, const char *from, const char *to)
{
	return ended(st, named(from) && named(to) ? st->ops->rename(st, from, to) : -EINVAL, named(to) ? from : to,
		     "cannot rename");
}

int grove_storage_unlink(struct grove_storage *st, const char *path)
{
	return ended(st, named(path) ? st->ops->unlink(st, path, NULL) : -EINVAL, path, "cannot remove");
}

/* ------------------------------------------------------------------ listing */

/* Accepts "*", "*" and a suffix, or a name without special characters. */
static bool known_pattern(const char *pattern)
{
	return !strpbrk(*pattern == '*' ? pattern + 1 : pattern, "*?[]{}()!\\/");
}

bool grove__storage_wants(const struct grove__storage_list *l, const char *name)
{
	const char *pattern = l->pattern;
	size_t n = strlen(name), end;

	if (*name == '.')
		return false;
	if (*pattern != '*')
		return !strcmp(pattern, name);
	end = strlen(pattern + 1);
	return n >= end && !strcmp(pattern + 1, name + n - end);
}

int grove__storage_listed(struct grove__storage_list *l, const char *name)
{
	size_t len = strlen(l->dir);
	bool slash = len && l->dir[len - 1] == '/';

	l->nr++;
	return grove__buf_addf(&l->paths, "%s%s%s", l->dir, slash ? "" : "/", name) ||
	       grove__buf_add_char(&l->paths, '\0') ? -ENOMEM : 0;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Pointers and texts in one block. */
static int make_block(const struct grove__storage_list *l, char ***paths)
{
	char **out = malloc(l->nr * sizeof(*out) + l->paths.len), *p;

	if (!out)
		return -ENOMEM;
	p = memcpy(out + l->nr, l->paths.ptr, l->paths.len);
	for (size_t i = 0; i < l->nr; i++, p += strlen(p) + 1)
		out[i] = p;
	qsort(out, l->nr, sizeof(*out), by_text);
	*paths = out;
	return 0;
}

int grove_storage_list_files(struct grove_storage *st, const char *dir, const char *pattern,
			     char ***paths, size_t *nr)
{
	struct grove__storage_list l = { .dir = dir, .pattern = pattern };
	struct grove_detail d;
	int err;

	*paths = NULL;
	*nr = 0;
	if (!named(dir) || !named(pattern))
		return ended(st, -EINVAL, NULL, NULL);
	if (!known_pattern(pattern)) {
		grove__fail(&d, GROVE_ENOTSUP, dir, "unsupported pattern: %.200s", pattern);
		return grove__storage_told(st, GROVE_ENOTSUP, &d);
	}
	err = st->ops->list(st, &l);
	if (!err && l.nr)
		err = make_block(&l, paths);
	if (!err)
		*nr = l.nr;
	grove__buf_release(&l.paths);
	return ended(st, err, dir, "cannot list");
}

/* ------------------------------------------------------------------ reading */

/* Appends both ends; a character that would be cut in two is left out. */
static int read_ends(struct grove_storage *st, const char *path, struct grove__storage_ends *e)
{
	size_t first = e->first->len, last = e->last ? e->last->len : 0;
	int err = named(path) ? st->ops->read(st, path, e) : -EINVAL;

	if (err)
		return ended(st, err, path, "cannot read");
	if (e->tail && e->bytes > e->last->len - last)
		grove__utf8_cut_start(e->last, last);
	if (e->bytes > e->first->len - first)
		grove__utf8_cut_end(e->first, first);
	return 0;
}

int grove_storage_read_text(struct grove_storage *st, const char *path, struct grove_buf *out)
{
	struct grove__storage_ends e = { .head = (size_t)TEXT_MAX, .first = out };
	struct grove__storage_stat s;
	struct grove_detail d;

	/* check first, rather than read a gigabyte for nothing */
	if (named(path) && !st->ops->stat(st, path, &s) && s.bytes > TEXT_MAX && !s.is_dir) {
		grove__fail(&d, GROVE_ETOOBIG, path, "the file is larger than 1 GiB");
		return grove__storage_told(st, GROVE_ETOOBIG, &d);
	}
	return read_ends(st, path, &e);
}

int grove_storage_read_text_prefix(struct grove_storage *st, const char *path, size_t max,
				   struct grove_buf *out)
{
	return read_ends(st, path, &(struct grove__storage_ends){ .head = max, .first = out });
}

int grove_storage_read_text_slices(struct grove_storage *st, const char *path, size_t head, size_t tail,
				   struct grove_buf *first, struct grove_buf *last)
{
	return read_ends(st, path, &(struct grove__storage_ends){ .head = head, .tail = tail, .first = first,
								  .last = last });
}

/* ----------------------------------------------------------------- sessions */

static int put_title(void *payload, struct grove_slice line, struct grove_buf *out)
{
	const struct grove_title *t = payload;
	int rc = grove__xcsh_slot_change(line, t->text, t->source, t->updated, out);

	return rc < 0 ? -ENOMEM : rc;
}

int grove_storage_set_title(struct grove_storage *st, const char *path, const struct grove_title *title)
{
	char now[GROVE__JS_ISO_MAX + 1];
	struct grove_title t;
	struct grove_detail d;
	int rc = grove__sized_take(&t, sizeof(t), title, &d);

	if (rc)
		return grove__storage_told(st, rc, &d);
	if (!t.updated) {
		now[grove__js_iso(now, grove__sys_now_ms())] = '\0';
		t.updated = now;
	}
	return ended(st, named(path) ? st->ops->change_line(st, path, put_title, &t) : -EINVAL, path,
		     "cannot change the title");
}

static int remove_artifacts(struct grove_storage *st, const char *path)
{
	size_t len = strlen(path), end = strlen(SESSION_SUFFIX);
	struct grove_buf dir = GROVE_BUF_INIT, words = GROVE_BUF_INIT;
	int err, rc;

	/* a name that is only the suffix would mean the directory it is in */
	if (len <= end || strcmp(path + len - end, SESSION_SUFFIX) || path[len - end - 1] == '/')
		return 0;
	err = grove__buf_add(&dir, path, len - end) ? -ENOMEM : st->ops->remove_tree(st, dir.ptr);
	if (err && grove__buf_addf(&words, "Session file deleted but failed to remove artifacts "
				   "directory %.300s", dir.ptr ? dir.ptr : path))
		err = -ENOMEM;
	rc = ended(st, err, dir.ptr ? dir.ptr : path, words.ptr ? words.ptr : "cannot remove artifacts");
	grove__buf_release(&dir);
	grove__buf_release(&words);
	return rc;
}

static int delete_session(struct grove_storage *st, const char *path, const uint64_t *expect)
{
	int err = named(path) ? st->ops->unlink(st, path, expect) : -EINVAL;

	return err ? ended_if(st, err, path, "cannot delete the session", expect) : remove_artifacts(st, path);
}

int grove_storage_delete_session_with_artifacts(struct grove_storage *st, const char *path)
{
	return delete_session(st, path, NULL);
}

int grove_storage_delete_session_with_artifacts_if(struct grove_storage *st, const char *path,
						   uint64_t expect_bytes)
{
	return delete_session(st, path, &expect_bytes);
}

/* -------------------------------------------------------------------- locks */

int grove_storage_lock(struct grove_storage *st, const char *path)
{
	size_t len = named(path) ? strlen(path) + 1 : 0;
	struct grove__storage_lock *lock = calloc(1, sizeof(*lock) + len);
	struct grove_detail d;
	int err = !len ? -EINVAL : lock ? 0 : -ENOMEM;

	if (!err) {
		memcpy(lock->path, path, len);
		err = st->ops->lock(st, path, lock);
	}
	if (err) {
		free(lock);
		return err == -EBUSY ? grove__storage_told(st, grove__fail(&d, GROVE_ECONFLICT, path, "the file is locked"), &d)
				     : ended(st, err, path, "cannot lock");
	}
	pthread_mutex_lock(&st->lock);
	lock->next = st->locks;
	st->locks = lock;
	pthread_mutex_unlock(&st->lock);
	return 0;
}

int grove_storage_unlock(struct grove_storage *st, const char *path)
{
	struct grove__storage_lock **at, *lock;
	struct grove_detail d;

	if (!named(path))
		return ended(st, -EINVAL, NULL, NULL);
	pthread_mutex_lock(&st->lock);
	for (at = &st->locks; *at && strcmp((*at)->path, path);)
		at = &(*at)->next;
	lock = *at;
	if (lock)
		*at = lock->next;
	pthread_mutex_unlock(&st->lock);
	if (!lock)
		return grove__storage_told(st, grove__fail(&d, GROVE_ENOTFOUND, path, "the file is not locked"), &d);
	release_lock(st, lock);
	return 0;
}
