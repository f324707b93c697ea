/*
 * tests/fuzz/text_store.c: a store with one log, which is a text, as in a file.
 *
 * Positions are bytes, the last line may lack its newline, and lines may be
 * longer than what is read at once: everything in which the file store differs
 * from the memory store, without a disk.
 */
#include "world.h"

#include "base/buf.h"
#include "base/fail.h"
#include "store/store.h"

struct text_store {
	struct grove_store base;
	struct grove_buf text;
	size_t shown;          /* so much of it has been written yet */
	size_t window;         /* so much is read at once; 0: as much as the caller has space for */
	uint64_t generation;
	int64_t time_ns;
	struct grove_store *beside;
	unsigned made;         /* somebody has created the log */
};

static struct text_store *of(struct grove_store_log *log)
{
	return (struct text_store *)log->store;
}

static int text_open(struct grove_store *st, const struct grove_key *key, unsigned flags,
		     struct grove_store_log **out, struct grove_detail *d)
{
	struct grove_store_log *log = fuzz_alloc(sizeof(*log));

	(void)key;
	if (flags & GROVE_STORE_CREATE && ((struct text_store *)st)->made++) {
		free(log);
		return grove__fail(d, GROVE_EEXIST, NULL, "it is there already");
	}
	*log = (struct grove_store_log){ st->ops, st };
	*out = log;
	return 0;
}

static void text_close_log(struct grove_store_log *log)
{
	free(log);
}

static int text_stat(struct grove_store_log *log, struct grove_store_log_stat *out,
		     struct grove_detail *d)
{
	(void)d;
	out->tail = out->bytes = of(log)->shown;
	out->generation = of(log)->generation;
	out->mtime_ns = out->ctime_ns = of(log)->time_ns;
	return 0;
}

static int text_read(struct grove_store_log *log, uint64_t pos, uint64_t until, char *buf,
		     size_t cap, struct grove_store_run *run, struct grove_detail *d)
{
	struct text_store *t = of(log);
	const char *lf;
	size_t n;

	run->pos = run->next = pos;
	if (until > t->shown || pos > until)
		return grove__fail(d, GROVE_ESTALE, NULL, "became shorter");
	/* a caller that asks for a few bytes gets them */
	if (t->window && cap > t->window && cap >= 1024)
		cap = t->window;
	n = until - pos < cap ? (size_t)(until - pos) : cap;
	if (n)
		memcpy(buf, t->text.ptr + pos, n);
	run->end = pos + n == until;
	lf = n ? memrchr(buf, '\n', n) : NULL;
	run->len = run->end || !lf ? n : (size_t)(lf - buf) + 1;
	run->open = !run->end && !lf;
	run->next = pos + run->len;
	return 0;
}

static int text_fetch(struct grove_store_log *log, uint64_t pos, uint64_t off, char *buf,
		      size_t len, struct grove_detail *d)
{
	struct text_store *t = of(log);

	if (pos > t->shown || off > t->shown - pos || len > t->shown - pos - off)
		return grove__fail(d, GROVE_ESTALE, NULL, "became shorter");
	if (len)
		memcpy(buf, t->text.ptr + pos + off, len);
	return 0;
}

static int text_append(struct grove_store_log *log, const struct grove_store_record *rec, size_t nr,
		       uint64_t expect, uint64_t base, enum grove_sync sync,
		       struct grove_store_appended *out, struct grove_detail *d)
{
	struct text_store *t = of(log);

	(void)sync;
	(void)base;
	if (expect != GROVE_ANY_POS && expect != t->shown)
		return grove__fail(d, GROVE_ECONFLICT, NULL, "another writer appended first");
	out->pad = t->text.len && t->text.ptr[t->text.len - 1] != '\n';
	if (out->pad)
		CHECK(!grove__buf_add_char(&t->text, '\n'));
	out->pos = t->text.len;
	for (size_t i = 0; i < nr; i++)
		CHECK(!grove__buf_add_slice(&t->text, rec[i].line) && !grove__buf_add_char(&t->text, '\n'));
	t->shown = t->text.len;
	out->tail = t->shown;
	return 0;
}

static int text_replace(struct grove_store_log *log, uint64_t pos, struct grove_slice line,
			enum grove_sync sync, struct grove_detail *d)
{
	struct text_store *t = of(log);

	(void)sync;
	if (pos > t->shown || line.len > t->shown - pos || memchr(t->text.ptr + pos, '\n', line.len))
		return grove__fail(d, GROVE_EINVAL, NULL, "the new line must have the length of the old one");
	memcpy(t->text.ptr + pos, line.ptr, line.len);
	return 0;
}

static int text_rewrite(struct grove_store_log *log, grove_line_fn *next, void *payload,
			uint64_t expect, unsigned flags, struct grove_detail *d)
{
	struct text_store *t = of(log);
	struct grove_buf b = GROVE_BUF_INIT;
	struct grove_store_record rec;
	int rc;

	(void)flags;
	if (expect != GROVE_ANY_POS && expect != t->shown)
		return grove__fail(d, GROVE_ECONFLICT, NULL, "another writer appended first");
	for (;;) {
		rec = (struct grove_store_record){ 0 };
		rc = next(payload, &rec);
		if (rc)
			break;
		CHECK(!grove__buf_add_slice(&b, rec.line) && !grove__buf_add_char(&b, '\n'));
	}
	if (rc != 1) {
		grove__buf_release(&b);
		return rc;
	}
	grove__buf_release(&t->text);
	t->text = b;
	t->shown = b.len;
	t->generation++;
	return 0;
}

static int text_cut(struct grove_store_log *log, uint64_t pos, uint64_t expect,
		    enum grove_sync sync, struct grove_detail *d)
{
	struct text_store *t = of(log);

	(void)sync;
	if (expect != t->shown)
		return grove__fail(d, GROVE_ECONFLICT, NULL, "another writer appended first");
	if (pos > t->shown || (pos && t->text.ptr[pos - 1] != '\n'))
		return grove__fail(d, GROVE_EINVAL, NULL, "no line begins there");
	grove__buf_cut(&t->text, (size_t)pos);
	t->shown = (size_t)pos;
	t->generation++;
	return 0;
}

static int text_list(struct grove_store *st, const char *project, int subs, grove_key_fn *fn, void *payload,
		     struct grove_detail *d)
{
	(void)st;
	(void)d;
	return subs ? 0 : project && strcmp(project, world_key.project) ? 0 : fn(payload, &world_key);
}

static bool unfinished(const struct text_store *t)
{
	return t->shown && t->text.ptr[t->shown - 1] != '\n';
}

static int text_meta_get(struct grove_store_log *log, const char *name, struct grove_buf *out,
			 struct grove_detail *d)
{
	if (strcmp(name, GROVE__META_UNFINISHED) || !unfinished(of(log)))
		return grove__fail(d, GROVE_ENOTFOUND, NULL, "no value named %.100s", name);
	return grove__buf_add_char(out, '1');
}

static int text_meta_put(struct grove_store_log *log, const char *name, struct grove_slice value,
			 uint64_t expect, uint64_t base, struct grove_detail *d)
{
	struct text_store *t = of(log);

	(void)expect;
	(void)base;
	if (strcmp(name, GROVE__META_UNFINISHED))
		return grove__fail(d, GROVE_ENOTSUP, NULL, "no place for a value");
	CHECK(t->shown == t->text.len);
	if (value.len && !unfinished(t))
		grove__buf_cut(&t->text, t->text.len - 1);
	else if (!value.len && unfinished(t))
		CHECK(!grove__buf_add_char(&t->text, '\n'));
	t->shown = t->text.len;
	return 0;
}

/* Attachments go to a store that can keep them. */
static struct grove_store *beside(struct grove_store *st)
{
	struct text_store *t = (struct text_store *)st;
	struct grove_store_log *log;

	if (!t->beside) {
		CHECK(!grove__store_open(&t->beside, "memory:", NULL));
		CHECK(!grove__log_open(&log, t->beside, &world_key, GROVE_STORE_CREATE, NULL));
		grove__log_close(log);
	}
	return t->beside;
}

static int text_attach_put(struct grove_store *st, const struct grove_key *key, const char *name,
			   struct grove_slice bytes, struct grove_detail *d)
{
	return grove__store_attach_put(beside(st), key, name, bytes, d);
}

static int text_attach_get(struct grove_store *st, const struct grove_key *key, const char *name,
			   struct grove_buf *out, struct grove_detail *d)
{
	return grove__store_attach_get(beside(st), key, name, out, d);
}

static int text_attach_list(struct grove_store *st, const struct grove_key *key, grove_name_fn *fn,
			    void *payload, struct grove_detail *d)
{
	return grove__store_attach_list(beside(st), key, fn, payload, d);
}

static void text_close(struct grove_store *st)
{
	grove__store_close(((struct text_store *)st)->beside);
	grove__buf_release(&((struct text_store *)st)->text);
	free(st);
}

static const struct grove_store_ops ops = {
	.version = GROVE_STORE_VERSION,
	.name = "text",
	.open = text_open,
	.close_log = text_close_log,
	.stat = text_stat,
	.read = text_read,
	.fetch = text_fetch,
	.append = text_append,
	.replace = text_replace,
	.rewrite = text_rewrite,
	.cut = text_cut,
	.list = text_list,
	.meta_get = text_meta_get,
	.meta_put = text_meta_put,
	.attach_put = text_attach_put,
	.attach_get = text_attach_get,
	.attach_list = text_attach_list,
	.close = text_close,
};

struct grove_store *text_store_new(const char *text, size_t len)
{
	struct text_store *t = fuzz_alloc(sizeof(*t));

	*t = (struct text_store){ .base = { &ops, "text:" }, .shown = len, .made = len != 0 };
	CHECK(!grove__buf_add(&t->text, text, len));
	return &t->base;
}

void text_store_show(struct grove_store *st, size_t len)
{
	struct text_store *t = (struct text_store *)st;

	t->shown = len < t->text.len ? len : t->text.len;
}

void text_store_time(struct grove_store *st, int64_t ns)
{
	((struct text_store *)st)->time_ns = ns;
}

void text_store_window(struct grove_store *st, size_t len)
{
	((struct text_store *)st)->window = len;
}

struct grove_slice text_store_text(struct grove_store *st)
{
	return grove__buf_slice(&((struct text_store *)st)->text);
}
