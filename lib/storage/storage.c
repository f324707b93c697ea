/*
 * storage/storage.c: files under paths. Every operation is a call, which is carried out
 * here, whether it was made directly or queued.
 */
#include "storage/storage.h"
#include "base/utf8.h"
#include "dialect/xcsh.h"
#include "js/js.h"
#include "sys/clock.h"

#include <errno.h>
#include <stdlib.h>

#define TEXT_MAX ((uint64_t)1 << 30)
#define QUEUE_MAX ((size_t)512 << 20)
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
	st->queue_max = o.queue_max ? o.queue_max : QUEUE_MAX;
	st->refs = 1;
	st->tail = &st->head;
	pthread_mutex_init(&st->lock, NULL);
	pthread_cond_init(&st->wake, NULL);
	pthread_cond_init(&st->settled, NULL);
	return grove__storage_told(st, rc, &d);
}

void grove__storage_ref(struct grove_storage *st)
{
	__atomic_add_fetch(&st->refs, 1, __ATOMIC_RELAXED);
}

void grove__storage_unref(struct grove_storage *st)
{
	if (__atomic_sub_fetch(&st->refs, 1, __ATOMIC_ACQ_REL))
		return;
	pthread_cond_destroy(&st->settled);
	pthread_cond_destroy(&st->wake);
	pthread_mutex_destroy(&st->lock);
	st->ops->release(st);
}

void grove_storage_close(struct grove_storage *st)
{
	if (!st)
		return;
	grove__storage_stop(st);
	grove__storage_unlock_all(st);
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

/* ------------------------------------------------------------------ listing */

/* Accepts "*", "*" and a suffix, or a name without special characters. */
static bool known_pattern(const char *pattern)
{
	return !strpbrk(*pattern == '*' ? pattern + 1 : pattern, "*?[]{}()!\\/");
}

bool grove__storage_wants(const char *pattern, const char *name)
{
	size_t n = strlen(name), end;

	if (*name == '.')
		return false;
	if (*pattern != '*')
		return !strcmp(pattern, name);
	end = strlen(pattern + 1);
	return n >= end && !strcmp(pattern + 1, name + n - end);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Turns names into paths: pointers and texts in one block. */
static int make_paths(const char *dir, const struct grove_buf *names, char ***paths, size_t *nr)
{
	size_t dir_len = strlen(dir), count = 0, total, at;
	size_t slash = dir_len && dir[dir_len - 1] != '/';
	char **out, *p;

	for (at = 0; at < names->len; at += strlen(names->ptr + at) + 1)
		count++;
	if (!count)
		return 0;
	total = count * (sizeof(*out) + dir_len + slash) + names->len;
	out = malloc(total);
	if (!out)
		return -ENOMEM;
	p = (char *)(out + count);
	for (at = 0, count = 0; at < names->len; count++) {
		size_t len = strlen(names->ptr + at) + 1;

		out[count] = p;
		memcpy(p, dir, dir_len);
		p += dir_len;
		if (slash)
			*p++ = '/';
		memcpy(p, names->ptr + at, len);
		p += len;
		at += len;
	}
	qsort(out, count, sizeof(*out), by_text);
	*paths = out;
	*nr = count;
	return 0;
}

static int list_files(struct grove_storage *st, struct grove_storage_call *c, struct grove_detail *d)
{
	struct grove_buf names = GROVE_BUF_INIT;
	int err;

	c->paths = NULL;
	c->nr_paths = 0;
	if (!known_pattern(c->path2))
		return grove__fail(d, GROVE_ENOTSUP, c->path, "unsupported pattern: %.200s",
				   c->path2);
	err = st->ops->list(st, c->path, c->path2, &names);
	if (!err)
		err = make_paths(c->path, &names, &c->paths, &c->nr_paths);
	grove__buf_release(&names);
	return err ? grove__fail_sys(d, err, c->path, "cannot list") : 0;
}

/* ------------------------------------------------------------------ reading */

static int read_text(struct grove_storage *st, struct grove_storage_call *c, struct grove_detail *d)
{
	bool whole = c->op == GROVE_STORAGE_READ_TEXT;
	size_t before = c->text.len, tail_before = c->text_tail.len;
	struct grove__storage_ends e = {
		.head = whole ? (size_t)TEXT_MAX : c->max,
		.tail = c->op == GROVE_STORAGE_READ_TEXT_SLICES ? c->max_tail : 0,
		.first = &c->text,
		.last = &c->text_tail,
	};
	struct grove__storage_stat s;
	int err = 0;

	/* check first, rather than read a gigabyte for nothing */
	if (whole)
		err = st->ops->stat(st, c->path, &s);
	if (!err && whole && s.bytes > TEXT_MAX && !s.is_dir)
		return grove__fail(d, GROVE_ETOOBIG, c->path, "the file is larger than 1 GiB");
	if (!err)
		err = st->ops->read(st, c->path, &e);
	if (err)
		return grove__fail_sys(d, err, c->path, "cannot read");
	if (e.tail && e.bytes > c->text_tail.len - tail_before)
		grove__utf8_cut_start(&c->text_tail, tail_before);
	if (e.bytes > c->text.len - before)
		grove__utf8_cut_end(&c->text, before);
	return 0;
}

static int exists(struct grove_storage *st, const char *path, struct grove_detail *d)
{
	struct grove__storage_stat s;
	int err = st->ops->stat(st, path, &s);

	if (err == -ENOENT || err == -ENOTDIR)
		return 0;
	return err ? grove__fail_sys(d, err, path, "cannot examine") : 1;
}

static int stat_file(struct grove_storage *st, struct grove_storage_call *c, struct grove_detail *d)
{
	struct grove__storage_stat s;
	int err = st->ops->stat(st, c->path, &s);

	if (err)
		return grove__fail_sys(d, err, c->path, "cannot examine");
	c->file_bytes = s.bytes;
	c->mtime_ns = s.mtime_ns;
	/* round down, also before 1970 */
	c->mtime_ms = s.mtime_ns / 1000000 - (s.mtime_ns % 1000000 < 0);
	return 0;
}

/* ---------------------------------------------------------- only if it has a size */

/* The size that a call depends on, or NULL. */
static const uint64_t *expected(const struct grove_storage_call *c)
{
	bool depends = c->op == GROVE_STORAGE_WRITE_TEXT_IF || c->op == GROVE_STORAGE_DELETE_SESSION_WITH_ARTIFACTS_IF;

	return depends ? &c->expect_bytes : NULL;
}

static int fail_change(struct grove_detail *d, int err, const struct grove_storage_call *c, const char *what)
{
	if (err != -ECANCELED)
		return grove__fail_sys(d, err, c->path, what);
	return grove__fail(d, GROVE_ECONFLICT, c->path, "%s: the file does not have the expected %llu bytes", what,
			   (unsigned long long)c->expect_bytes);
}

/* -------------------------------------------------------------------- titles */

static int put_title(void *payload, struct grove_slice line, struct grove_buf *out)
{
	const struct grove_title *t = payload;
	int rc = grove__xcsh_slot_change(line, t->text, t->source, t->updated, out);

	return rc < 0 ? -ENOMEM : rc;
}

static int set_title(struct grove_storage *st, const struct grove_storage_call *c, struct grove_detail *d)
{
	char now[GROVE__JS_ISO_MAX + 1];
	struct grove_title t;
	int err = grove__sized_take(&t, sizeof(t), c->title, d);

	if (err)
		return err;
	if (!t.updated) {
		now[grove__js_iso(now, grove__sys_now_ms())] = '\0';
		t.updated = now;
	}
	err = st->ops->change_line(st, c->path, put_title, &t);
	return err < 0 ? grove__fail_sys(d, err, c->path, "cannot change the title") : err;
}

/* ----------------------------------------------------------------- removing */

static int delete_session(struct grove_storage *st, const struct grove_storage_call *c, struct grove_detail *d)
{
	const char *path = c->path;
	size_t len = strlen(path), end = strlen(SESSION_SUFFIX);
	struct grove_buf dir = GROVE_BUF_INIT, words = GROVE_BUF_INIT;
	int err = st->ops->unlink(st, path, expected(c)), rc = 0;

	if (err)
		return fail_change(d, err, c, "cannot delete the session");
	/* a name that is only the suffix would mean the directory it is in */
	if (len <= end || strcmp(path + len - end, SESSION_SUFFIX) || path[len - end - 1] == '/')
		return 0;
	err = grove__buf_add(&dir, path, len - end) ? -ENOMEM : st->ops->remove_tree(st, dir.ptr);
	if (err && grove__buf_addf(&words, "Session file deleted but failed to remove artifacts "
				   "directory %.300s", dir.ptr ? dir.ptr : path))
		rc = grove__fail_nomem(d);
	else if (err)
		rc = grove__fail_sys(d, err, dir.ptr, words.ptr);
	grove__buf_release(&dir);
	grove__buf_release(&words);
	return rc;
}

/* -------------------------------------------------------------------- calls */

/* What a call requires. */
enum { NEEDS_PATH = 1, NEEDS_PATH2 = 2, NEEDS_WRITER = 4 };

static const unsigned char needs[] = {
	[GROVE_STORAGE_ENSURE_DIR] = NEEDS_PATH,
	[GROVE_STORAGE_EXISTS] = NEEDS_PATH,
	[GROVE_STORAGE_WRITE_TEXT] = NEEDS_PATH,
	[GROVE_STORAGE_STAT] = NEEDS_PATH,
	[GROVE_STORAGE_LIST_FILES] = NEEDS_PATH | NEEDS_PATH2,
	[GROVE_STORAGE_READ_TEXT] = NEEDS_PATH,
	[GROVE_STORAGE_READ_TEXT_PREFIX] = NEEDS_PATH,
	[GROVE_STORAGE_RENAME] = NEEDS_PATH | NEEDS_PATH2,
	[GROVE_STORAGE_UNLINK] = NEEDS_PATH,
	[GROVE_STORAGE_DELETE_SESSION_WITH_ARTIFACTS] = NEEDS_PATH,
	[GROVE_STORAGE_OPEN_WRITER] = NEEDS_PATH,
	[GROVE_STORAGE_WRITE_LINE] = NEEDS_WRITER,
	[GROVE_STORAGE_FLUSH] = NEEDS_WRITER,
	[GROVE_STORAGE_FSYNC] = NEEDS_WRITER,
	[GROVE_STORAGE_CLOSE] = NEEDS_WRITER,
	[GROVE_STORAGE_READ_TEXT_SLICES] = NEEDS_PATH,
	[GROVE_STORAGE_WRITE_TEXT_IF] = NEEDS_PATH,
	[GROVE_STORAGE_DELETE_SESSION_WITH_ARTIFACTS_IF] = NEEDS_PATH,
	[GROVE_STORAGE_SET_TITLE] = NEEDS_PATH,
	[GROVE_STORAGE_LOCK] = NEEDS_PATH,
	[GROVE_STORAGE_UNLOCK] = NEEDS_PATH,
};

int grove__storage_check(struct grove_storage *st, const struct grove_storage_call *c,
			 struct grove_detail *d)
{
	unsigned need;

	if ((size_t)c->op >= sizeof(needs))
		return grove__fail(d, GROVE_EINVAL, NULL, "no such operation");
	need = needs[c->op];
	if ((need & NEEDS_PATH && (!c->path || !*c->path)) ||
	    (need & NEEDS_PATH2 && (!c->path2 || !*c->path2)))
		return grove__fail(d, GROVE_EINVAL, NULL, "a path must not be empty");
	if (need & NEEDS_WRITER && (!c->writer || grove__writer_storage(c->writer) != st))
		return grove__fail(d, GROVE_EINVAL, NULL, "needs a writer of this storage");
	if (c->bytes.len && !c->bytes.ptr)
		return grove__fail(d, GROVE_EINVAL, c->path, "bytes are missing");
	return 0;
}

int grove__storage_perform(struct grove_storage *st, struct grove_storage_call *c,
			   struct grove_detail *d)
{
	const struct grove__storage_ops *ops = st->ops;
	int err;

	switch (c->op) {
	case GROVE_STORAGE_ENSURE_DIR:
		err = ops->mkdirs(st, c->path);
		return err ? grove__fail_sys(d, err, c->path, "cannot create the directory") : 0;
	case GROVE_STORAGE_EXISTS:
		return exists(st, c->path, d);
	case GROVE_STORAGE_WRITE_TEXT:
	case GROVE_STORAGE_WRITE_TEXT_IF:
		err = ops->write(st, c->path, c->bytes, expected(c));
		return err ? fail_change(d, err, c, "cannot write") : 0;
	case GROVE_STORAGE_STAT:
		return stat_file(st, c, d);
	case GROVE_STORAGE_LIST_FILES:
		return list_files(st, c, d);
	case GROVE_STORAGE_READ_TEXT:
	case GROVE_STORAGE_READ_TEXT_PREFIX:
	case GROVE_STORAGE_READ_TEXT_SLICES:
		return read_text(st, c, d);
	case GROVE_STORAGE_RENAME:
		err = ops->rename(st, c->path, c->path2);
		return err < 0 ? grove__fail_sys(d, err, c->path, "cannot rename") : err;
	case GROVE_STORAGE_UNLINK:
		err = ops->unlink(st, c->path, NULL);
		return err ? grove__fail_sys(d, err, c->path, "cannot remove") : 0;
	case GROVE_STORAGE_DELETE_SESSION_WITH_ARTIFACTS:
	case GROVE_STORAGE_DELETE_SESSION_WITH_ARTIFACTS_IF:
		return delete_session(st, c, d);
	case GROVE_STORAGE_SET_TITLE:
		return set_title(st, c, d);
	case GROVE_STORAGE_LOCK:
		return grove__storage_lock(st, c->path, d);
	case GROVE_STORAGE_UNLOCK:
		return grove__storage_unlock(st, c->path, d);
	case GROVE_STORAGE_OPEN_WRITER:
		return grove__writer_open(st, c->path, c->options, &c->writer, d);
	case GROVE_STORAGE_WRITE_LINE:
	case GROVE_STORAGE_FLUSH:
	case GROVE_STORAGE_FSYNC:
	case GROVE_STORAGE_CLOSE:
		return grove__writer_perform(c->writer, c->op, c->bytes, d);
	}
	return grove__fail(d, GROVE_EINVAL, NULL, "no such operation");
}

/* Waits for what was submitted for this writer, except within a completion. */
static void await_turn(struct grove_storage *st, struct grove_writer *w)
{
	uint64_t last;

	pthread_mutex_lock(&st->lock);
	last = *grove__writer_last(w);
	while (st->performed < last && !grove__storage_inside(st))
		pthread_cond_wait(&st->settled, &st->lock);
	pthread_mutex_unlock(&st->lock);
}

int grove_storage_run(struct grove_storage *st, struct grove_storage_call *call)
{
	struct grove_storage_call c;
	struct grove_writer *w = NULL;
	struct grove_detail d;
	int rc = grove__sized_begin(&c, sizeof(c), call, &d);

	if (!rc)
		rc = grove__storage_check(st, &c, &d);
	if (!rc) {
		/* the error callback may free the writer */
		if (needs[c.op] & NEEDS_WRITER) {
			w = c.writer;
			grove__writer_ref(w);
			await_turn(st, w);
		}
		rc = grove__storage_perform(st, &c, &d);
	}
	c.result = rc = grove__storage_told(st, rc, &d);
	c.detail = NULL;
	grove__sized_give(call, &c, sizeof(c));
	if (w)
		grove__writer_unref(w);
	return rc;
}

/* --------------------------------------------------------- the same, spelled out */

static struct grove_storage_call call_of(enum grove_storage_op op, const char *path)
{
	return (struct grove_storage_call){ .size = sizeof(struct grove_storage_call), .op = op,
					    .path = path };
}

static int run_path(struct grove_storage *st, enum grove_storage_op op, const char *path)
{
	struct grove_storage_call c = call_of(op, path);

	return grove_storage_run(st, &c);
}

int grove_storage_ensure_dir(struct grove_storage *st, const char *dir)
{
	struct grove_storage_call c = call_of(GROVE_STORAGE_ENSURE_DIR, dir);

	return grove_storage_run(st, &c);
}

int grove_storage_exists(struct grove_storage *st, const char *path)
{
	return run_path(st, GROVE_STORAGE_EXISTS, path);
}

int grove_storage_write_text(struct grove_storage *st, const char *path, struct grove_slice text)
{
	struct grove_storage_call c = call_of(GROVE_STORAGE_WRITE_TEXT, path);

	c.bytes = text;
	return grove_storage_run(st, &c);
}

int grove_storage_write_text_if(struct grove_storage *st, const char *path, struct grove_slice text,
				uint64_t expect_bytes)
{
	struct grove_storage_call c = call_of(GROVE_STORAGE_WRITE_TEXT_IF, path);

	c.bytes = text;
	c.expect_bytes = expect_bytes;
	return grove_storage_run(st, &c);
}

int grove_storage_stat(struct grove_storage *st, const char *path, struct grove_storage_stat *out)
{
	struct grove_storage_call c = call_of(GROVE_STORAGE_STAT, path);
	struct grove_storage_stat found;
	struct grove_detail d;
	int rc = grove__sized_check(out, &d);

	if (rc)
		return grove__storage_told(st, rc, &d);
	rc = grove_storage_run(st, &c);
	found = (struct grove_storage_stat){ .bytes = c.file_bytes, .mtime_ms = c.mtime_ms,
					     .mtime_ns = c.mtime_ns };
	grove__sized_give(out, &found, sizeof(found));
	return rc;
}

int grove_storage_list_files(struct grove_storage *st, const char *dir, const char *pattern,
			     char ***paths, size_t *nr)
{
	struct grove_storage_call c = call_of(GROVE_STORAGE_LIST_FILES, dir);
	int rc;

	c.path2 = pattern;
	rc = grove_storage_run(st, &c);
	*paths = c.paths;
	*nr = c.nr_paths;
	return rc;
}

static int run_read(struct grove_storage *st, struct grove_storage_call *c, struct grove_buf *out)
{
	int rc;

	c->text = *out;
	rc = grove_storage_run(st, c);
	*out = c->text;
	return rc;
}

int grove_storage_read_text(struct grove_storage *st, const char *path, struct grove_buf *out)
{
	struct grove_storage_call c = call_of(GROVE_STORAGE_READ_TEXT, path);

	return run_read(st, &c, out);
}

int grove_storage_read_text_prefix(struct grove_storage *st, const char *path, size_t max,
				   struct grove_buf *out)
{
	struct grove_storage_call c = call_of(GROVE_STORAGE_READ_TEXT_PREFIX, path);

	c.max = max;
	return run_read(st, &c, out);
}

int grove_storage_read_text_slices(struct grove_storage *st, const char *path, size_t head, size_t tail,
				   struct grove_buf *first, struct grove_buf *last)
{
	struct grove_storage_call c = call_of(GROVE_STORAGE_READ_TEXT_SLICES, path);
	int rc;

	c.max = head;
	c.max_tail = tail;
	c.text_tail = *last;
	rc = run_read(st, &c, first);
	*last = c.text_tail;
	return rc;
}

int grove_storage_rename(struct grove_storage *st, const char *from, const char *to)
{
	struct grove_storage_call c = call_of(GROVE_STORAGE_RENAME, from);

	c.path2 = to;
	return grove_storage_run(st, &c);
}

int grove_storage_unlink(struct grove_storage *st, const char *path)
{
	return run_path(st, GROVE_STORAGE_UNLINK, path);
}

int grove_storage_delete_session_with_artifacts(struct grove_storage *st, const char *path)
{
	return run_path(st, GROVE_STORAGE_DELETE_SESSION_WITH_ARTIFACTS, path);
}

int grove_storage_delete_session_with_artifacts_if(struct grove_storage *st, const char *path,
						   uint64_t expect_bytes)
{
	struct grove_storage_call c = call_of(GROVE_STORAGE_DELETE_SESSION_WITH_ARTIFACTS_IF, path);

	c.expect_bytes = expect_bytes;
	return grove_storage_run(st, &c);
}

int grove_storage_set_title(struct grove_storage *st, const char *path, const struct grove_title *title)
{
	struct grove_storage_call c = call_of(GROVE_STORAGE_SET_TITLE, path);

	c.title = title;
	return grove_storage_run(st, &c);
}

int grove_storage_lock(struct grove_storage *st, const char *path)
{
	return run_path(st, GROVE_STORAGE_LOCK, path);
}

int grove_storage_unlock(struct grove_storage *st, const char *path)
{
	return run_path(st, GROVE_STORAGE_UNLOCK, path);
}

int grove_storage_open_writer(struct grove_storage *st, const char *path,
			      const struct grove_writer_options *opt, struct grove_writer **out)
{
	struct grove_storage_call c = call_of(GROVE_STORAGE_OPEN_WRITER, path);
	int rc;

	c.options = opt;
	rc = grove_storage_run(st, &c);
	*out = c.writer;
	return rc;
}

static int run_writer(struct grove_writer *w, enum grove_storage_op op, struct grove_slice bytes)
{
	struct grove_storage_call c = call_of(op, NULL);

	c.writer = w;
	c.bytes = bytes;
	return grove_storage_run(grove__writer_storage(w), &c);
}

int grove_writer_write_line(struct grove_writer *w, struct grove_slice line)
{
	return run_writer(w, GROVE_STORAGE_WRITE_LINE, line);
}

int grove_writer_flush(struct grove_writer *w)
{
	return run_writer(w, GROVE_STORAGE_FLUSH, grove__slice(NULL, 0));
}

int grove_writer_fsync(struct grove_writer *w)
{
	return run_writer(w, GROVE_STORAGE_FSYNC, grove__slice(NULL, 0));
}

int grove_writer_close(struct grove_writer *w)
{
	return run_writer(w, GROVE_STORAGE_CLOSE, grove__slice(NULL, 0));
}

void grove_writer_free(struct grove_writer *w)
{
	if (!w)
		return;
	grove_writer_close(w);
	grove__writer_unref(w);
}
