/*
 * api/blobs.c: the public calls of grove/blobs.h.
 */
#include "api/api.h"
#include "dialect/dialect.h"
#include "js/js.h"
#include "sys/file.h"
#include "transfer/blobs.h"

#include <stdlib.h>

struct grove_blobs {
	struct grove *g;
	struct grove__blobs *store;
	pthread_mutex_t lock;
	struct grove_detail detail;
};

/* The detail goes to the blobs and to the handle they came from. */
static int told(struct grove_blobs *b, int rc, const struct grove_detail *d)
{
	grove__api_keep(&b->detail, &b->lock, rc, d);
	return grove__api_told(b->g, rc, d);
}

int grove_blobs_open(struct grove *g, const char *dir, struct grove_blobs **out)
{
	struct grove_blobs *b = calloc(1, sizeof(*b));
	struct grove_buf path = GROVE_BUF_INIT;
	struct grove_detail d;
	int rc;

	*out = b;
	if (!b)
		return GROVE_ENOMEM;
	b->g = grove__world_ref(g);
	pthread_mutex_init(&b->lock, NULL);
	grove__fail_clear(&d);
	if (dir ? !*dir : !grove__dialect_defaults.blobs)
		rc = grove__fail(&d, GROVE_EINVAL, NULL, "no directory for blobs given");
	else if (dir ? grove__world_resolve(g, dir, &path)
		     : grove__dialect_defaults.blobs->blobs->dir(&g->env, &path))
		rc = grove__fail_nomem(&d);
	else
		rc = grove__blobs_open(&b->store, path.ptr, &d);
	grove__buf_release(&path);
	return told(b, rc, &d);
}

void grove_blobs_close(struct grove_blobs *b)
{
	if (!b)
		return;
	grove__blobs_close(b->store);
	pthread_mutex_destroy(&b->lock);
	grove__world_unref(b->g);
	free(b);
}

void grove_blobs_error(struct grove_blobs *b, struct grove_detail *out)
{
	pthread_mutex_lock(&b->lock);
	*out = b->detail;
	pthread_mutex_unlock(&b->lock);
}

static int parse(const char *what, char hash[GROVE__BLOB_HASH], struct grove_detail *d)
{
	struct grove_slice s = grove__slice_str(what);

	grove__fail_clear(d);
	if (grove__blob_parse(s, hash))
		return 0;
	if (!grove__blob_hash_ok(s))
		return grove__fail(d, GROVE_EINVAL, NULL,
				   "not a blob: %.100s (blob:sha256: and 64 lower-case hex digits)", what);
	memcpy(hash, what, GROVE__BLOB_HASH);
	return 0;
}

int grove_blobs_put(struct grove_blobs *b, struct grove_slice bytes,
		    const struct grove_blobs_put_options *opt, char ref[GROVE_BLOB_REF_MAX], int *known)
{
	struct grove_blobs_put_options o;
	struct grove_buf text = GROVE_BUF_INIT;
	char hash[GROVE__BLOB_HASH];
	struct grove_detail d;
	bool there = false;
	int rc = grove__sized_begin(&o, sizeof(o), opt, &d);

	if (!rc)
		rc = grove__blob_put(b->store, bytes, o.sync, o.flags, hash, &there, &d);
	if (!rc && grove__blob_ref(&text, hash))
		rc = grove__fail_nomem(&d);
	if (!rc)
		memcpy(ref, text.ptr, text.len + 1);
	if (known)
		*known = there;
	grove__buf_release(&text);
	return told(b, rc, &d);
}

int grove_blobs_sync(struct grove_blobs *b)
{
	struct grove_detail d;

	return told(b, grove__blobs_sync(b->store, grove__fail_clear(&d)), &d);
}

int grove_blobs_get(struct grove_blobs *b, const char *what, struct grove_buf *out)
{
	char hash[GROVE__BLOB_HASH];
	struct grove_detail d;
	int rc = parse(what, hash, &d);

	if (!rc)
		rc = grove__blob_get(b->store, hash, out, &d);
	return told(b, rc, &d);
}

int grove_blobs_path(struct grove_blobs *b, const char *what, struct grove_buf *out)
{
	char hash[GROVE__BLOB_HASH];
	struct grove_detail d;
	int rc = parse(what, hash, &d);

	if (!rc && grove__blob_path(b->store, hash, out))
		rc = grove__fail_nomem(&d);
	return told(b, rc, &d);
}

/* ------------------------------------------------------------------- verify */

struct verify {
	struct grove_blobs *b;
	grove_blob_problem_fn *fn;
	void *payload;
	struct grove_blobs_verify_result *result;
	struct grove_detail *d;
};

static int problem(struct verify *v, const char *hash, const char *kind, const struct grove_detail *why)
{
	struct grove_blob_problem p = {
		.hash = hash, .path = why->path, .kind = kind, .detail = why->message,
	};

	v->result->problems++;
	return v->fn ? v->fn(v->payload, &p) : 0;
}

static int verify_one(struct verify *v, const char *hash, bool odd)
{
	struct grove_detail why;
	uint64_t size = 0;
	int rc;

	grove__fail_clear(&why);
	rc = grove__blob_verify(v->b->store, hash, &size, &why);
	if (rc == GROVE_ENOTFOUND || rc == GROVE_ENOMEM) {
		*v->d = why;
		return rc;
	}
	v->result->blobs++;
	v->result->bytes += size;
	if (!rc)
		return 0;
	return problem(v, hash, rc != GROVE_EDAMAGED ? "unreadable" : odd ? "not-a-file" : "wrong-bytes",
		       &why);
}

static int verify_entry(void *payload, const struct grove__blob_entry *e)
{
	struct verify *v = payload;
	const struct grove_progress *p = &v->b->g->progress;
	int rc;

	if (e->kind != BLOB_FILE && e->kind != BLOB_ODD)
		return 0;
	if (p->fn && p->fn(p->payload, v->result->bytes, 0))
		return grove__fail(v->d, GROVE_ECANCELLED, NULL, "cancelled");
	rc = verify_one(v, e->hash, e->kind == BLOB_ODD);
	return rc == GROVE_ENOTFOUND ? 0 : rc; /* removed just now */
}

static int verify_what(struct verify *v, const char *what)
{
	struct grove_buf path = GROVE_BUF_INIT;
	char hash[GROVE__BLOB_HASH];
	struct grove__sys_stat st;
	int rc = parse(what, hash, v->d);

	if (!rc && grove__blob_path(v->b->store, hash, &path))
		rc = grove__fail_nomem(v->d);
	if (!rc)
		rc = verify_one(v, hash, !grove__sys_lstat(path.ptr, &st) && st.type != SYS_FILE);
	grove__buf_release(&path);
	return rc;
}

int grove_blobs_verify(struct grove_blobs *b, const char *what, grove_blob_problem_fn *fn,
		       void *payload, struct grove_blobs_verify_result *result)
{
	struct grove_blobs_verify_result r = { .size = sizeof(r) };
	struct grove_detail d;
	struct verify v = { b, fn, payload, &r, &d };
	int rc = grove__sized_check(result, grove__fail_clear(&d));

	if (!rc)
		rc = what ? verify_what(&v, what) : grove__blobs_list(b->store, verify_entry, &v, &d);
	grove__sized_give(result, &r, sizeof(r));
	return told(b, rc, &d);
}

/* ----------------------------------------------------------------------- gc */

int grove_blobs_gc(struct grove_blobs *b, const struct grove_blobs_gc_options *opt,
		   grove_blob_item_fn *fn, void *payload, struct grove_blobs_gc_result *result)
{
	struct grove_blobs_gc_options o;
	struct grove_blobs_gc_result r = { .size = sizeof(r) };
	struct grove_detail d;
	int rc = grove__sized_begin(&o, sizeof(o), opt, &d);

	if (!rc)
		rc = grove__sized_check(result, &d);
	if (!rc)
		rc = grove__blob_gc(b->g, b->store, &o, fn, payload, &r, &d);
	grove__sized_give(result, &r, sizeof(r));
	return told(b, rc, &d);
}

int grove_buf_base64(struct grove_buf *b, struct grove_slice bytes)
{
	return grove__js_base64(b, bytes);
}
