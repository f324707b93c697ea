/*
 * transfer/blob_gc.c: removes the blobs that no session refers to.
 *
 * First the blobs are listed, then the sessions are searched for their names, so blobs
 * that are put after the listing are not affected. The line that refers to a blob may
 * come some time after its put, so young blobs are left alone; and grove__blob_sweep()
 * spares one that is put again at the last moment.
 */
#include "transfer/blobs.h"

#include "base/array.h"
#include "sys/clock.h"

#include <stdlib.h>

#define GRACE_MS 3600000

struct item {
	char *name;
	char hash[GROVE__BLOB_HASH];  /* "" if it is not a blob */
	uint64_t size;
	int64_t mtime_ns;
};

struct gc {
	struct grove__blobs *b;
	struct item *at;
	size_t nr, cap;
	struct grove__blob_refs refs;
	struct grove_detail *d;
};

static int collect(void *payload, const struct grove__blob_entry *e)
{
	struct gc *gc = payload;
	struct item *i;

	if (e->kind == BLOB_ODD)
		return 0; /* not ours to remove, whatever it is */
	if (grove__array_room(&gc->at, &gc->cap, gc->nr, sizeof(*gc->at)))
		return grove__fail_nomem(gc->d);
	i = &gc->at[gc->nr];
	memcpy(i->hash, e->hash, sizeof(i->hash));
	/* a second name of a blob has no bytes of its own */
	i->size = e->kind == BLOB_ALIAS && e->nlink > 1 ? 0 : e->size;
	i->mtime_ns = e->mtime_ns;
	i->name = strdup(e->name);
	if (!i->name || (*e->hash && grove__blob_refs_add(&gc->refs, e->hash))) {
		free(i->name);
		return grove__fail_nomem(gc->d);
	}
	gc->nr++;
	return 0;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct item *)a)->name, ((const struct item *)b)->name);
}

static void count(struct grove_blobs_gc_result *r, enum grove_blob_fate fate, uint64_t bytes)
{
	switch (fate) {
	case GROVE_BLOB_FATE_REFERENCED:
		r->referenced++;
		r->referenced_bytes += bytes;
		break;
	case GROVE_BLOB_FATE_YOUNG:
		r->young++;
		r->young_bytes += bytes;
		break;
	case GROVE_BLOB_FATE_GARBAGE:
	case GROVE_BLOB_FATE_REMOVED:
		r->garbage++;
		r->garbage_bytes += bytes;
		break;
	}
}

static int decide(struct gc *gc, const struct item *i, int64_t since_ns, bool force,
		  enum grove_blob_fate *fate)
{
	bool gone = false;
	int rc;

	*fate = *i->hash && grove__blob_refs_named(&gc->refs, i->hash) ? GROVE_BLOB_FATE_REFERENCED :
		i->mtime_ns > since_ns ? GROVE_BLOB_FATE_YOUNG : GROVE_BLOB_FATE_GARBAGE;
	if (*fate != GROVE_BLOB_FATE_GARBAGE || !force)
		return 0;
	rc = grove__blob_sweep(gc->b, i->name, since_ns, &gone, gc->d);
	*fate = gone ? GROVE_BLOB_FATE_REMOVED : GROVE_BLOB_FATE_YOUNG;
	return rc;
}

static int collect_one(struct gc *gc, const struct item *i, int64_t since_ns, bool force,
		       grove_blob_item_fn *fn, void *payload, struct grove_blobs_gc_result *result)
{
	struct grove_buf path = GROVE_BUF_INIT;
	struct grove_blob_item info = {
		.hash = *i->hash ? i->hash : NULL,
		.bytes = i->size,
		.modified = i->mtime_ns / 1000000,
	};
	int rc = decide(gc, i, since_ns, force, &info.fate);

	if (rc)
		return rc;
	count(result, info.fate, info.bytes);
	if (!fn)
		return 0;
	if (grove__blob_path(gc->b, i->name, &path))
		return grove__fail_nomem(gc->d);
	info.path = path.ptr;
	rc = fn(payload, &info);
	grove__buf_release(&path);
	return rc;
}

int grove__blob_gc(struct grove *g, struct grove__blobs *b,
		   const struct grove_blobs_gc_options *opt, grove_blob_item_fn *fn, void *payload,
		   struct grove_blobs_gc_result *result, struct grove_detail *d)
{
	struct gc gc = { .b = b, .d = d };
	int64_t grace = opt->grace > 0 ? opt->grace : opt->grace < 0 ? 0 : GRACE_MS;
	int64_t since_ns;
	int rc;

	if (grace > INT64_MAX / 2000000)
		grace = INT64_MAX / 2000000;
	/* the coarse clock of file times may lag behind: without grace, nothing is young */
	since_ns = opt->grace < 0 ? INT64_MAX : (grove__sys_now_ms() - grace) * 1000000;
	grove__blob_refs_init(&gc.refs);
	rc = grove__blobs_list(b, collect, &gc, d);
	grove__blob_refs_ready(&gc.refs);
	/* even if there is nothing to remove: the caller learns what was searched */
	if (!rc)
		rc = grove__blob_refs_scan(&gc.refs, g, b, d);
	/*
	 * no sessions at all: more likely we failed to find them than that all blobs
	 * are garbage
	 */
	if (!rc && opt->flags & GROVE_BLOBS_GC_REMOVE && gc.nr && !gc.refs.sessions)
		rc = grove__fail(d, GROVE_EACCESS, grove__blobs_dir(b),
				 "found no sessions that could refer to a blob, so nothing was removed "
				 "(add a --store?)");
	result->files = gc.refs.files;
	result->scanned = gc.refs.bytes;
	if (gc.nr)
		qsort(gc.at, gc.nr, sizeof(*gc.at), by_name);
	for (size_t i = 0; i < gc.nr && !rc; i++)
		rc = collect_one(&gc, &gc.at[i], since_ns, opt->flags & GROVE_BLOBS_GC_REMOVE, fn, payload, result);
	for (size_t i = 0; i < gc.nr; i++)
		free(gc.at[i].name);
	free(gc.at);
	grove__blob_refs_release(&gc.refs);
	return rc;
}
