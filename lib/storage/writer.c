/*
 * storage/writer.c: appends lines until the first error.
 *
 * The first error is permanent, because anything written after it would follow a gap. It is
 * reported once, and every later call returns it.
 */
#include "storage/storage.h"

#include "base/sized.h"

#include <errno.h>
#include <stdlib.h>

/* A buffer for a line that lacks its LF is kept, if it is not larger. */
#define KEEP_BUFFER ((size_t)1 << 20)

enum act { WRITE_LINE, FLUSH, FSYNC, CLOSE };

struct grove_writer {
	struct grove_storage *st;
	char *path;
	grove_writer_error_fn *on_error;
	void *on_error_payload;

	pthread_mutex_t lock;       /* for all below */
	struct grove__storage_file *file;  /* NULL: closed */
	struct grove_detail first;         /* the first error; code 0: none */
	struct grove_buf line;
};

static int open_writer(struct grove_storage *st, const char *path, const struct grove_writer_options *o,
		       struct grove_writer *w, struct grove_detail *d)
{
	int err;

	if (!path || !*path)
		return grove__fail(d, GROVE_EINVAL, NULL, "a path must not be empty");
	if (!w || !(w->path = strdup(path)))
		return grove__fail_nomem(d);
	err = st->ops->open(st, path, o->flags & GROVE_WRITER_TRUNCATE, &w->file);
	if (err)
		return grove__fail_sys(d, err, path, "cannot open for writing");
	__atomic_add_fetch(&st->refs, 1, __ATOMIC_RELAXED);
	w->st = st;
	w->on_error = o->on_error;
	w->on_error_payload = o->on_error_payload;
	pthread_mutex_init(&w->lock, NULL);
	return 0;
}

int grove_storage_open_writer(struct grove_storage *st, const char *path,
			      const struct grove_writer_options *opt, struct grove_writer **out)
{
	struct grove_writer *w = calloc(1, sizeof(*w));
	struct grove_writer_options o;
	struct grove_detail d;
	int rc = grove__sized_take(&o, sizeof(o), opt, &d);

	rc = rc ? rc : open_writer(st, path, &o, w, &d);
	if (rc && w) {
		free(w->path);
		free(w);
	}
	*out = rc ? NULL : w;
	return grove__storage_told(st, rc, &d);
}

static int write_line(struct grove_writer *w, struct grove_slice line)
{
	int err;

	if (!line.len)
		return 0;
	if (line.ptr[line.len - 1] == '\n')
		return w->st->ops->append(w->file, line);
	grove__buf_clear(&w->line);
	if (grove__buf_add_slice(&w->line, line) || grove__buf_add_char(&w->line, '\n'))
		return -ENOMEM;
	err = w->st->ops->append(w->file, grove__buf_slice(&w->line));
	if (w->line.cap > KEEP_BUFFER)
		grove__buf_release(&w->line);
	return err;
}

static void keep_error(struct grove_writer *w, enum act act, int err)
{
	if (err == -ESTALE)
		grove__fail(&w->first, GROVE_ESTALE, w->path, "the file was removed or replaced");
	else
		grove__fail_sys(&w->first, err, w->path, act == FSYNC ? "cannot sync" : "cannot write a line");
	/* pages that could not be written may be dropped: what is on the disk is unknown */
	if (act == FSYNC && err != -ESTALE)
		w->first.code = GROVE_EIO;
}

/* With the lock. *failed: this is the writer's first error. */
static int act_on_file(struct grove_writer *w, enum act act, struct grove_slice line, bool *failed,
		       struct grove_detail *d)
{
	int err = 0;

	if (!w->first.code && !w->file && act != CLOSE)
		return grove__fail(d, GROVE_EINVAL, w->path, "Writer closed");
	if (!w->first.code && act == WRITE_LINE)
		err = write_line(w, line);
	else if (!w->first.code && act == FSYNC)
		err = w->st->ops->sync(w->file);
	if (err)
		keep_error(w, act, err);
	*failed = err;
	if (act == CLOSE && w->file) {
		w->st->ops->close(w->file);
		w->file = NULL;
	}
	if (w->first.code)
		*d = w->first;
	return w->first.code;
}

static int act_on(struct grove_writer *w, enum act act, struct grove_slice line)
{
	grove_writer_error_fn *on_error = w->on_error;
	void *payload = w->on_error_payload;
	struct grove_detail d;
	bool failed = false;
	int rc;

	pthread_mutex_lock(&w->lock);
	rc = act_on_file(w, act, line, &failed, &d);
	pthread_mutex_unlock(&w->lock);
	grove__storage_told(w->st, rc, &d);
	/* which may free the writer */
	if (failed && on_error)
		on_error(payload, &d);
	return rc;
}

int grove_writer_write_line(struct grove_writer *w, struct grove_slice line)
{
	return act_on(w, WRITE_LINE, line);
}

int grove_writer_flush(struct grove_writer *w)
{
	return act_on(w, FLUSH, grove__slice(NULL, 0));
}

int grove_writer_fsync(struct grove_writer *w)
{
	return act_on(w, FSYNC, grove__slice(NULL, 0));
}

int grove_writer_close(struct grove_writer *w)
{
	return act_on(w, CLOSE, grove__slice(NULL, 0));
}

int grove_writer_get_error(struct grove_writer *w, struct grove_detail *out)
{
	int code;

	pthread_mutex_lock(&w->lock);
	code = w->first.code;
	if (out)
		*out = w->first;
	pthread_mutex_unlock(&w->lock);
	return code;
}

void grove_writer_free(struct grove_writer *w)
{
	if (!w)
		return;
	grove_writer_close(w);
	grove__storage_unref(w->st);
	pthread_mutex_destroy(&w->lock);
	grove__buf_release(&w->line);
	free(w->path);
	free(w);
}
