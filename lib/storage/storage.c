/*
 * storage/storage.c: files under paths, kept as the lines of logs.
 *
 * A session ends with an LF. Any other file may end without one: its log then has a value
 * that says so. The title of a session is a value, too, so that a list need not read
 * sessions: its texts, each followed by a NUL.
 */
#include "storage/storage.h"

#include "base/sized.h"
#include "base/utf8.h"

#include <stdlib.h>

#define TITLE "storage.title"
#define UNENDED "storage.unended"
#define TRIES 8

/* --------------------------------------------------------------- the handle */

int grove_storage_open(struct grove *g, const char *store, struct grove_storage **out)
{
	struct grove_storage *st = calloc(1, sizeof(*st));
	struct grove__storage_use u = { .st = st };

	*out = st;
	if (!st)
		return GROVE_ENOMEM;
	return grove__storage_end(&u, grove__storage_init(st, g, store, grove__fail_clear(&u.d)), false);
}

void grove_storage_close(struct grove_storage *st)
{
	if (!st)
		return;
	grove__storage_release(st);
	free(st);
}

/* ------------------------------------------------------------------- values */

/* A value that was never set is empty, as is that of a log that does not exist. */
static int get_value(struct grove__storage_use *u, const char *name, struct grove_buf *out)
{
	int rc = grove__keyed_value_get(u->f->log, name, out, &u->d);

	return rc == GROVE_ENOTFOUND ? 0 : rc;
}

static int is_unended(struct grove__storage_use *u, bool *out)
{
	struct grove_buf value = GROVE_BUF_INIT;
	int rc = 0;

	if (grove__storage_is_text(u->f->path))
		rc = get_value(u, UNENDED, &value);
	*out = value.len > 0;
	grove__buf_release(&value);
	return rc;
}

static int set_unended(struct grove__storage_use *u, bool unended)
{
	return grove__keyed_value_put(u->f->log, UNENDED, grove__slice_str(unended ? "1" : ""), &u->d);
}

static int put_title(struct grove__storage_use *u, const struct grove_title *t)
{
	const char *part[] = { t->text, t->source, t->updated };
	struct grove_buf value = GROVE_BUF_INIT;
	int rc = 0;

	for (int i = 0; i < 3 && !rc; i++)
		rc = grove__buf_add(&value, part[i] ? part[i] : "", part[i] ? strlen(part[i]) + 1 : 1);
	rc = rc ? grove__fail_nomem(&u->d)
		: grove__keyed_value_put(u->f->log, TITLE, grove__buf_slice(&value), &u->d);
	grove__buf_release(&value);
	return rc;
}

/* Returns the text at `*at` of such a value, and goes on to the next; NULL for none. */
static const char *next_text(const struct grove_buf *value, size_t *at)
{
	const char *text = value->ptr + *at;

	if (*at >= value->len)
		return NULL;
	*at += strlen(text) + 1;
	return *text ? text : NULL;
}

/* ------------------------------------------------------------------ listing */

struct listing {
	struct grove_storage *st;
	grove_storage_fn *fn;
	void *payload;
	struct grove_buf path, value;
};

static int read_value(struct grove_store_log *log, const char *name, struct grove_buf *out, struct grove_detail *d)
{
	struct grove_buf full = GROVE_BUF_INIT;
	int rc = grove__keyed_value_name(name, &full, d);

	grove__buf_clear(out);
	if (!rc)
		rc = grove__log_meta_get(log, full.ptr, out, d);
	grove__buf_release(&full);
	return rc == GROVE_ENOTFOUND || rc == GROVE_ESTALE ? 0 : rc;
}

static int list_file(void *payload, const struct grove_log_item *log_item, struct grove_store_log *log,
		     struct grove_detail *d)
{
	struct listing *l = payload;
	struct grove_storage_item item = { .bytes = log_item->bytes, .modified = log_item->modified };
	bool text;
	size_t at = 0;
	int rc;

	grove__buf_clear(&l->path);
	if (grove__storage_learn(l->st, &log_item->key, &l->path))
		return grove__fail_nomem(d);
	item.path = l->path.ptr;
	text = grove__storage_is_text(item.path);
	rc = read_value(log, text ? UNENDED : TITLE, &l->value, d);
	if (rc)
		return rc;
	item.title.size = sizeof(item.title);
	if (text) {
		item.bytes -= l->value.len && item.bytes;
	} else {
		item.title.text = next_text(&l->value, &at);
		item.title.source = next_text(&l->value, &at);
		item.title.updated = next_text(&l->value, &at);
	}
	return l->fn(l->payload, &item);
}

int grove_storage_each(struct grove_storage *st, grove_storage_fn *fn, void *payload)
{
	struct listing l = { .st = st, .fn = fn, .payload = payload };
	struct grove__storage_use u = { .st = st };
	int rc = grove__keyed_each(st->g, st->store, NULL, GROVE__KEYED_EACH_SUBS, list_file, &l,
				   grove__fail_clear(&u.d));

	grove__buf_release(&l.path);
	grove__buf_release(&l.value);
	/* a result of `fn` is not a failure of ours */
	return u.d.code == rc ? grove__storage_end(&u, rc, false) : rc;
}

void grove_storage_error(struct grove_storage *st, const char *path, struct grove_detail *out)
{
	const struct grove__storage_file *f;

	pthread_mutex_lock(&st->lock);
	f = path ? grove__storage_find(st, path) : NULL;
	if (f && f->detail)
		*out = *f->detail;
	else
		*out = st->detail;
	pthread_mutex_unlock(&st->lock);
}

/* ------------------------------------------------------------------ reading */

/* All lines as they are stored. */
static int read_lines(struct grove__storage_use *u, struct grove_buf *out)
{
	struct grove_log_result r = { .size = sizeof(r) };
	size_t before = out->len;
	int rc, tries = 0;

	do {
		grove__buf_cut(out, before);
		rc = grove__keyed_read(u->f->log, 0, 0, grove_buf_sink(out), &r, &u->d);
	} while (rc == GROVE_ESTALE && ++tries < TRIES);
	return rc;
}

static int read_text(struct grove__storage_use *u, struct grove_buf *out)
{
	size_t before = out->len;
	bool unended = false;
	int rc = read_lines(u, out);

	if (!rc)
		rc = is_unended(u, &unended);
	if (!rc && unended && out->len > before)
		grove__buf_cut(out, out->len - 1);
	return rc;
}

int grove_storage_read_text(struct grove_storage *st, const char *path, struct grove_buf *out)
{
	struct grove__storage_use u;
	int rc = grove__storage_begin(st, path, &u);

	return grove__storage_end(&u, rc ? rc : read_text(&u, out), false);
}

/* Of a text that is no session, which is short. */
static int read_text_ends(struct grove__storage_use *u, size_t head, size_t tail, struct grove_buf *first,
			  struct grove_buf *last)
{
	struct grove_buf text = GROVE_BUF_INIT;
	size_t first_len = first->len, last_len = last->len;
	int rc = read_text(u, &text);

	head = head < text.len ? head : text.len;
	tail = tail < text.len ? tail : text.len;
	if (!rc && (grove__buf_add(first, text.ptr, head) || grove__buf_add(last, text.ptr + text.len - tail, tail)))
		rc = grove__fail_nomem(&u->d);
	if (!rc && head < text.len)
		grove__utf8_cut_end(first, first_len);
	if (!rc && tail < text.len)
		grove__utf8_cut_start(last, last_len);
	grove__buf_release(&text);
	return rc;
}

int grove_storage_read_text_slices(struct grove_storage *st, const char *path, size_t head, size_t tail,
				   struct grove_buf *first, struct grove_buf *last)
{
	struct grove_log_result r = { .size = sizeof(r) };
	struct grove__storage_use u;
	int rc = grove__storage_begin(st, path, &u);

	if (!rc)
		rc = grove__storage_is_text(path)
			     ? read_text_ends(&u, head, tail, first, last)
			     : grove__keyed_read_ends(u.f->log, head, tail, first, last, &r, &u.d);
	return grove__storage_end(&u, rc, false);
}

/* ------------------------------------------------------------------ writing */

static bool is_ended(struct grove_slice text)
{
	return !text.len || text.ptr[text.len - 1] == '\n';
}

/* The lines of a text, of which the last may have no LF. NULL: out of memory. */
static struct grove_slice *split_lines(struct grove_slice text, size_t *nr)
{
	size_t count = !is_ended(text), i = 0;
	struct grove_slice *lines;

	for (size_t at = 0; at < text.len; at++)
		count += text.ptr[at] == '\n';
	lines = calloc(count + 1, sizeof(*lines));
	for (const char *p = text.ptr, *end = p + text.len; lines && p < end; i++) {
		const char *lf = memchr(p, '\n', (size_t)(end - p));

		lines[i] = grove__slice(p, (size_t)((lf ? lf : end) - p));
		p = lf ? lf + 1 : end;
	}
	*nr = count;
	return lines;
}

typedef int write_fn(struct grove_log *l, const struct grove_slice *lines, size_t nr,
		     const struct grove_log_options *opt, bool tell, struct grove_log_result *out,
		     struct grove_detail *d);

static int write_lines(struct grove__storage_use *u, write_fn *fn, struct grove_slice text,
		       const struct grove_log_options *opt)
{
	struct grove_log_result r = { .size = sizeof(r) };
	size_t nr;
	struct grove_slice *lines = split_lines(text, &nr);
	int rc = lines ? fn(u->f->log, lines, nr, opt, false, &r, &u->d) : grove__fail_nomem(&u->d);

	free(lines);
	return rc;
}

/* `bytes` are those of the log; NULL: whatever it has. */
static int replace_text(struct grove__storage_use *u, struct grove_slice text, const uint64_t *bytes)
{
	struct grove_log_options opt = { .size = sizeof(opt), .flags = GROVE__KEYED_FORCE };
	int rc;

	if (bytes) {
		opt.flags |= GROVE_LOG_IF_BYTES;
		opt.bytes = *bytes;
	}
	rc = write_lines(u, grove__keyed_replace, text, &opt);
	return !rc && grove__storage_is_text(u->f->path) ? set_unended(u, !is_ended(text)) : rc;
}

static int write_text(struct grove__storage_use *u, struct grove_slice text, const struct grove_storage_options *opt)
{
	uint64_t bytes = opt->bytes;
	bool compares = opt->flags & GROVE_STORAGE_IF_BYTES, unended = false;
	int rc = compares && bytes ? is_unended(u, &unended) : 0;

	bytes += unended;
	if (!rc)
		rc = replace_text(u, text, compares ? &bytes : NULL);
	return !rc && opt->title ? put_title(u, opt->title) : rc;
}

int grove_storage_write_text(struct grove_storage *st, const char *path, struct grove_slice text,
			     const struct grove_storage_options *opt)
{
	struct grove_storage_options o;
	struct grove_title title;
	struct grove__storage_use u;
	int rc = grove__storage_begin(st, path, &u);

	if (!rc)
		rc = grove__sized_take(&o, sizeof(o), opt, &u.d);
	if (!rc && o.title) {
		rc = grove__sized_take(&title, sizeof(title), o.title, &u.d);
		o.title = &title;
	}
	return grove__storage_end(&u, rc ? rc : write_text(&u, text, &o), true);
}

/* The log has a line end more than the file, so it is written anew. */
static int append_to_unended(struct grove__storage_use *u, struct grove_slice text)
{
	struct grove_buf all = GROVE_BUF_INIT;
	uint64_t bytes;
	int rc, tries = 0;

	do {
		grove__buf_clear(&all);
		rc = read_lines(u, &all);
		bytes = all.len;
		if (!rc && all.len)
			grove__buf_cut(&all, all.len - 1);
		if (!rc && grove__buf_add_slice(&all, text))
			rc = grove__fail_nomem(&u->d);
		rc = rc ? rc : replace_text(u, grove__buf_slice(&all), &bytes);
	} while (rc == GROVE_ECONFLICT && ++tries < TRIES);
	grove__buf_release(&all);
	return rc;
}

static int append_text(struct grove__storage_use *u, struct grove_slice text, enum grove_sync sync)
{
	struct grove_log_options opt = { .size = sizeof(opt), .sync = sync };
	bool unended;
	int rc = is_unended(u, &unended);

	if (rc || unended)
		return rc ? rc : append_to_unended(u, text);
	rc = write_lines(u, grove__keyed_append, text, &opt);
	return !rc && !is_ended(text) && grove__storage_is_text(u->f->path) ? set_unended(u, true) : rc;
}

int grove_storage_append_text(struct grove_storage *st, const char *path, struct grove_slice text,
			      enum grove_sync sync)
{
	struct grove__storage_use u;
	int rc = grove__storage_begin(st, path, &u);

	return grove__storage_end(&u, rc ? rc : append_text(&u, text, sync), true);
}

int grove_storage_set_title(struct grove_storage *st, const char *path, const struct grove_title *title)
{
	struct grove_title t;
	struct grove__storage_use u;
	int rc = grove__storage_begin(st, path, &u);

	if (!rc)
		rc = grove__sized_take(&t, sizeof(t), title, &u.d);
	if (!rc)
		rc = put_title(&u, &t);
	if (!rc)
		rc = grove__keyed_set_title(u.f->log, &t, &u.d);
	/* not every session has room in its first line */
	return grove__storage_end(&u, rc == 1 ? 0 : rc, false);
}

/* ------------------------------------------------------------ moving, removing */

static int remove_file(struct grove__storage_use *u)
{
	struct grove_key key = grove__storage_key(u->f);
	int rc = grove__keyed_remove(u->st->g, u->st->store, &key, &u->d);

	if (rc >= 0)
		grove__storage_forget(u->st, u->f);
	return rc;
}

int grove_storage_remove(struct grove_storage *st, const char *path)
{
	struct grove__storage_use u;
	int rc = grove__storage_begin(st, path, &u);

	return grove__storage_end(&u, rc ? rc : remove_file(&u), false);
}

static int move_file(struct grove__storage_use *from, const char *to)
{
	struct grove_key old = grove__storage_key(from->f), new;
	struct grove__storage_use u;
	int rc = grove__storage_begin(from->st, to, &u);

	if (!rc)
		rc = remove_file(&u);
	if (rc >= 0) {
		new = grove__storage_key(u.f);
		rc = grove__keyed_move(u.st->g, u.st->store, &old, &new, &u.d);
	}
	if (!rc)
		grove__storage_forget(from->st, from->f);
	else
		from->d = u.d;
	return grove__storage_end(&u, rc, true);
}

int grove_storage_rename(struct grove_storage *st, const char *from, const char *to)
{
	struct grove_store_log_stat seen;
	struct grove__storage_use u;
	int rc = grove__storage_begin(st, from, &u);

	if (!rc) {
		grove__keyed_enter(u.f->log);
		rc = grove__keyed_stat(u.f->log, &seen, &u.d);
		grove__keyed_leave(u.f->log);
	}
	if (!rc && (!to || strcmp(from, to) != 0))
		rc = move_file(&u, to);
	return grove__storage_end(&u, rc, false);
}

/* ------------------------------------------------------------------- locking */

int grove_storage_lock(struct grove_storage *st, const char *path, int64_t ms)
{
	struct grove__storage_use u;
	int rc = grove__storage_begin(st, path, &u);

	if (!rc)
		rc = grove__keyed_lock(u.f->log, ms, &u.d);
	/* the log that has the lock stays open, because the file keeps its key */
	return grove__storage_end(&u, rc == GROVE_ENOTFOUND && u.f && !u.f->there ? 1 : rc, !rc);
}

int grove_storage_unlock(struct grove_storage *st, const char *path)
{
	struct grove__storage_use u;
	int rc = grove__storage_begin(st, path, &u);

	return grove__storage_end(&u, rc ? rc : grove__keyed_unlock(u.f->log, &u.d), false);
}
