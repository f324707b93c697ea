/*
 * storage/writer.c: appends lines until the first error.
 *
 * The first error is permanent, because anything written after it would follow a gap. It is
 * reported once, and every later call returns it.
 */
#include "storage/storage.h"

#include <errno.h>
#include <stdlib.h>

/* A buffer for a line that lacks its LF is kept, if it is not larger. */
#define KEEP_BUFFER ((size_t)1 << 20)

struct grove_writer {
	struct grove_storage *st;
	unsigned refs;              /* atomic: the caller's, and one a call */
	uint64_t last;              /* under the storage's lock */
	char *path;
	grove_writer_error_fn *on_error;
	void *on_error_payload;

	pthread_mutex_t lock;       /* for all below */
	struct grove__storage_file *file;  /* NULL: closed */
	struct grove_detail first;         /* the first error; code 0: none */
	struct grove_buf line;
};

struct grove_storage *grove__writer_storage(const struct grove_writer *w)
{
	return w->st;
}

uint64_t *grove__writer_last(struct grove_writer *w)
{
	return &w->last;
}

void grove__writer_ref(struct grove_writer *w)
{
	__atomic_add_fetch(&w->refs, 1, __ATOMIC_RELAXED);
}

void grove__writer_unref(struct grove_writer *w)
{
	if (__atomic_sub_fetch(&w->refs, 1, __ATOMIC_ACQ_REL))
		return;
	if (w->file)
		w->st->ops->close(w->file);
	grove__storage_unref(w->st);
	pthread_mutex_destroy(&w->lock);
	grove__buf_release(&w->line);
	free(w->path);
	free(w);
}

int grove__writer_open(struct grove_storage *st, const char *path,
		       const struct grove_writer_options *opt, struct grove_writer **out,
		       struct grove_detail *d)
{
	struct grove_writer_options o;
	struct grove_writer *w;
	int err, rc = grove__sized_take(&o, sizeof(o), opt, d);

	*out = NULL;
	if (rc)
		return rc;
	w = calloc(1, sizeof(*w));
	if (!w || !(w->path = strdup(path))) {
		free(w);
		return grove__fail_nomem(d);
	}
	err = st->ops->open(st, path, o.flags & GROVE_WRITER_TRUNCATE, &w->file);
	if (err) {
		free(w->path);
		free(w);
		return grove__fail_sys(d, err, path, "cannot open for writing");
	}
	grove__storage_ref(st);
	w->st = st;
	w->refs = 1;
	w->on_error = o.on_error;
	w->on_error_payload = o.on_error_payload;
	pthread_mutex_init(&w->lock, NULL);
	*out = w;
	return 0;
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

static void fail(struct grove_writer *w, enum grove_storage_op op, int err)
{
	if (err == -ESTALE)
		grove__fail(&w->first, GROVE_ESTALE, w->path, "the file was removed or replaced");
	else
		grove__fail_sys(&w->first, err, w->path,
				op == GROVE_STORAGE_FSYNC ? "cannot sync" : "cannot write a line");
	/* pages that could not be written may be dropped: what is on the disk is unknown */
	if (op == GROVE_STORAGE_FSYNC && err != -ESTALE)
		w->first.code = GROVE_EIO;
}

int grove__writer_perform(struct grove_writer *w, enum grove_storage_op op,
			  struct grove_slice bytes, struct grove_detail *d)
{
	bool closing = op == GROVE_STORAGE_CLOSE, tell = false;
	int err = 0, rc = 0;

	pthread_mutex_lock(&w->lock);
	if (!w->first.code && w->file) {
		if (op == GROVE_STORAGE_WRITE_LINE)
			err = write_line(w, bytes);
		else if (op == GROVE_STORAGE_FSYNC)
			err = w->st->ops->sync(w->file);
		if (err) {
			fail(w, op, err);
			tell = true;
		}
	} else if (!w->first.code && !closing) {
		rc = grove__fail(d, GROVE_EINVAL, w->path, "Writer closed");
	}
	if (w->first.code) {
		*d = w->first;
		rc = w->first.code;
	}
	if (closing && w->file) {
		w->st->ops->close(w->file);
		w->file = NULL;
	}
	pthread_mutex_unlock(&w->lock);
	if (tell && w->on_error)
		w->on_error(w->on_error_payload, d);
	return rc;
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
