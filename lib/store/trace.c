/*
 * store/trace.c: reports each call to a store, and its result.
 *
 * Wraps any store. One line per call:
 *
 *	jsonl.append key=--w-p--/x.jsonl nr=2 expect=133 sync=none -> 0 pos=133
 */
#include "store/store.h"
#include "sys/clock.h"

#include <stdio.h>
#include <stdlib.h>

struct trace_store {
	struct grove_store base;
	struct grove_store *inner;
	void (*fn)(void *payload, const char *line);
	void *payload;
};

struct trace_log {
	struct grove_store_log base;
	struct grove_store_log *inner;
	char *key;
};

static const struct grove_store_ops trace_ops;

static struct trace_store *store_of(struct grove_store *st)
{
	return (struct trace_store *)st;
}

static struct trace_log *log_of(struct grove_store_log *l)
{
	return (struct trace_log *)l;
}

__attribute__((format(printf, 3, 4)))
static void report(struct trace_store *t, const char *op, const char *fmt, ...)
{
	char rest[600], line[700];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(rest, sizeof(rest), fmt, ap);
	va_end(ap);
	snprintf(line, sizeof(line), "%s.%s %s", t->inner->ops->name, op, rest);
	t->fn(t->payload, line);
}

#define KEY "key=%.100s/%.200s%s%.100s"
#define KEY_OF(k) (k)->project, (k)->session, *(k)->subpath ? "/" : "", (k)->subpath

static int trace_open(struct grove_store *st, const struct grove_key *key, unsigned flags,
		      struct grove_store_log **out, struct grove_detail *d)
{
	struct trace_store *t = store_of(st);
	struct trace_log *log = calloc(1, sizeof(*log));
	struct grove_buf name = GROVE_BUF_INIT;
	int rc;

	if (!log || grove__buf_addf(&name, KEY, KEY_OF(key))) {
		free(log);
		return grove__fail_nomem(d);
	}
	log->key = name.ptr;
	rc = grove__log_open(&log->inner, t->inner, key, flags, d);
	report(t, "open", "%s flags=%u -> %d", log->key, flags, rc);
	if (rc) {
		free(log->key);
		free(log);
		return rc;
	}
	log->base.ops = &trace_ops;
	log->base.store = st;
	*out = &log->base;
	return 0;
}

static void trace_close_log(struct grove_store_log *l)
{
	struct trace_log *log = log_of(l);

	report(store_of(l->store), "close", "%s", log->key);
	grove__log_close(log->inner);
	free(log->key);
	free(log);
}

static int trace_stat(struct grove_store_log *l, struct grove_store_log_stat *out,
		      struct grove_detail *d)
{
	int rc = grove__log_stat(log_of(l)->inner, out, d);

	report(store_of(l->store), "stat", "%s -> %d tail=%llu generation=%llu", log_of(l)->key, rc,
	       (unsigned long long)out->tail, (unsigned long long)out->generation);
	return rc;
}

static int trace_read(struct grove_store_log *l, uint64_t pos, uint64_t until, char *buf,
		      size_t cap, struct grove_store_run *run, struct grove_detail *d)
{
	int rc = grove__log_read(log_of(l)->inner, pos, until, buf, cap, run, d);

	report(store_of(l->store), "read", "%s pos=%llu until=%llu -> %d len=%zu%s%s", log_of(l)->key,
	       (unsigned long long)pos, (unsigned long long)until, rc, run->len,
	       run->open ? " open" : "", run->end ? " end" : "");
	return rc;
}

static int trace_fetch(struct grove_store_log *l, uint64_t pos, uint64_t off, char *buf, size_t len,
		       struct grove_detail *d)
{
	int rc = grove__log_fetch(log_of(l)->inner, pos, off, buf, len, d);

	report(store_of(l->store), "fetch", "%s pos=%llu off=%llu len=%zu -> %d", log_of(l)->key,
	       (unsigned long long)pos, (unsigned long long)off, len, rc);
	return rc;
}

static int trace_append(struct grove_store_log *l, const struct grove_store_record *rec,
			size_t nr, uint64_t expect, uint64_t base, enum grove_sync sync,
			struct grove_store_appended *out, struct grove_detail *d)
{
	int64_t t0 = grove__sys_ticks_ns();
	int rc = grove__log_append_on(log_of(l)->inner, rec, nr, expect, base, sync, out, d);

	report(store_of(l->store), "append", "%s nr=%zu expect=%lld sync=%d -> %d pos=%llu us=%lld",
	       log_of(l)->key, nr, (long long)expect, (int)sync, rc, (unsigned long long)out->pos,
	       (long long)(grove__sys_ticks_ns() - t0) / 1000);
	return rc;
}

static int trace_sync(struct grove_store_log *l, struct grove_detail *d)
{
	int rc = grove__log_sync(log_of(l)->inner, d);

	report(store_of(l->store), "sync", "%s -> %d", log_of(l)->key, rc);
	return rc;
}

static int trace_replace(struct grove_store_log *l, uint64_t pos, struct grove_slice line,
			 enum grove_sync sync, struct grove_detail *d)
{
	int rc = grove__log_replace(log_of(l)->inner, pos, line, sync, d);

	report(store_of(l->store), "replace", "%s pos=%llu len=%zu -> %d", log_of(l)->key,
	       (unsigned long long)pos, line.len, rc);
	return rc;
}

static int trace_rewrite(struct grove_store_log *l, grove_line_fn *next, void *payload,
			 uint64_t expect, unsigned flags, struct grove_detail *d)
{
	int rc = grove__log_rewrite(log_of(l)->inner, next, payload, expect, flags, d);

	report(store_of(l->store), "rewrite", "%s expect=%lld flags=%u -> %d", log_of(l)->key,
	       (long long)expect, flags, rc);
	return rc;
}

static int trace_cut(struct grove_store_log *l, uint64_t pos, uint64_t expect, enum grove_sync sync,
		     struct grove_detail *d)
{
	int rc = grove__log_cut(log_of(l)->inner, pos, expect, sync, d);

	report(store_of(l->store), "cut", "%s pos=%llu -> %d", log_of(l)->key, (unsigned long long)pos,
	       rc);
	return rc;
}

static int trace_update(struct grove_store_log *l, uint64_t pos, struct grove_slice was,
			const struct grove_store_record *rec, enum grove_change_kind kind,
			enum grove_sync sync, struct grove_detail *d)
{
	int rc = grove__log_update(log_of(l)->inner, pos, was, rec, kind, sync, d);

	report(store_of(l->store), "update", "%s pos=%llu len=%zu -> %d", log_of(l)->key,
	       (unsigned long long)pos, rec->line.len, rc);
	return rc;
}

static int trace_changes(struct grove_store_log *l, uint64_t since, grove_change_fn *fn,
			 void *payload, struct grove_detail *d)
{
	int rc = grove__log_changes(log_of(l)->inner, since, fn, payload, d);

	report(store_of(l->store), "changes", "%s since=%llu -> %d", log_of(l)->key,
	       (unsigned long long)since, rc);
	return rc;
}

static int trace_lease(struct grove_store_log *l, const char *owner, int64_t ms, struct grove_lease *out,
		       struct grove_detail *d)
{
	struct grove_store_log *inner = log_of(l)->inner;
	int rc = owner ? grove__log_lease_take(inner, owner, ms, out, d)
		 : ms  ? grove__log_lease_renew(inner, ms, out, d)
		       : grove__log_lease_release(inner, d);

	report(store_of(l->store), "lease", "%s owner=%.100s ms=%lld -> %d number=%llu", log_of(l)->key,
	       owner ? owner : out->owner, (long long)ms, rc, (unsigned long long)out->number);
	return rc;
}

static int trace_lease_get(struct grove_store_log *l, struct grove_lease *out,
			   struct grove_detail *d)
{
	int rc = grove__log_lease_get(log_of(l)->inner, out, d);

	report(store_of(l->store), "lease_get", "%s owner=%.100s -> %d number=%llu", log_of(l)->key, out->owner,
	       rc, (unsigned long long)out->number);
	return rc;
}

static int trace_list(struct grove_store *st, const char *project, int subs, grove_key_fn *fn,
		      void *payload, struct grove_detail *d)
{
	int rc = subs ? grove__store_list_subs(store_of(st)->inner, project, fn, payload, d)
		      : grove__store_list(store_of(st)->inner, project, fn, payload, d);

	report(store_of(st), subs ? "list_subs" : "list", "project=%.100s -> %d", project ? project : "*", rc);
	return rc;
}

static int trace_remove(struct grove_store *st, const struct grove_key *key, struct grove_detail *d)
{
	int rc = grove__store_remove(store_of(st)->inner, key, d);

	report(store_of(st), "remove", KEY " -> %d", KEY_OF(key), rc);
	return rc;
}

static int trace_rename(struct grove_store *st, const struct grove_key *from,
			const struct grove_key *to, struct grove_detail *d)
{
	int rc = grove__store_rename(store_of(st)->inner, from, to, d);

	report(store_of(st), "rename", KEY " to=%.100s/%.200s -> %d", KEY_OF(from), to->project,
	       to->session, rc);
	return rc;
}

static int trace_meta_get(struct grove_store_log *l, const char *name, struct grove_buf *out,
			  struct grove_detail *d)
{
	int rc = grove__log_meta_get(log_of(l)->inner, name, out, d);

	report(store_of(l->store), "meta_get", "%s name=%.100s -> %d", log_of(l)->key, name, rc);
	return rc;
}

static int trace_meta_put(struct grove_store_log *l, const char *name, struct grove_slice value,
			  uint64_t expect, uint64_t base, struct grove_detail *d)
{
	int rc = grove__log_meta_put_on(log_of(l)->inner, name, value, expect, base, d);

	report(store_of(l->store), "meta_put", "%s name=%.100s expect=%lld -> %d", log_of(l)->key, name,
	       (long long)expect, rc);
	return rc;
}

static int trace_ids(struct grove_store_log *l, uint64_t pos, uint64_t until, grove_record_fn *fn,
		     void *payload, struct grove_detail *d)
{
	int rc = grove__log_ids(log_of(l)->inner, pos, until, fn, payload, d);

	report(store_of(l->store), "ids", "%s pos=%llu until=%llu -> %d", log_of(l)->key,
	       (unsigned long long)pos, (unsigned long long)until, rc);
	return rc;
}

static int trace_attach_put(struct grove_store *st, const struct grove_key *key, const char *name,
			    struct grove_slice bytes, struct grove_detail *d)
{
	int rc = grove__store_attach_put(store_of(st)->inner, key, name, bytes, d);

	report(store_of(st), "attach_put", KEY " name=%.100s len=%zu -> %d", KEY_OF(key), name,
	       bytes.len, rc);
	return rc;
}

static int trace_attach_get(struct grove_store *st, const struct grove_key *key, const char *name,
			    struct grove_buf *out, struct grove_detail *d)
{
	int rc = grove__store_attach_get(store_of(st)->inner, key, name, out, d);

	report(store_of(st), "attach_get", KEY " name=%.100s -> %d", KEY_OF(key), name, rc);
	return rc;
}

static int trace_attach_list(struct grove_store *st, const struct grove_key *key,
			     grove_name_fn *fn, void *payload, struct grove_detail *d)
{
	int rc = grove__store_attach_list(store_of(st)->inner, key, fn, payload, d);

	report(store_of(st), "attach_list", KEY " -> %d", KEY_OF(key), rc);
	return rc;
}

static int trace_survey(struct grove_store *st, grove_survey_fn *fn, void *payload,
			struct grove_detail *d)
{
	int rc = grove__store_survey(store_of(st)->inner, fn, payload, d);

	report(store_of(st), "survey", "-> %d", rc);
	return rc;
}

static int trace_describe(struct grove_store *st, const struct grove_key *key, struct grove_buf *out)
{
	return grove__store_describe(store_of(st)->inner, key, out);
}

static void trace_close(struct grove_store *st)
{
	grove__store_close(store_of(st)->inner);
	free(st);
}

static const struct grove_store_ops trace_ops = {
	.version = GROVE_STORE_VERSION,
	.name = "trace",
	.open = trace_open,
	.close_log = trace_close_log,
	.stat = trace_stat,
	.read = trace_read,
	.fetch = trace_fetch,
	.append = trace_append,
	.sync = trace_sync,
	.replace = trace_replace,
	.rewrite = trace_rewrite,
	.list = trace_list,
	.cut = trace_cut,
	.update = trace_update,
	.changes = trace_changes,
	.lease = trace_lease,
	.lease_get = trace_lease_get,
	.ids = trace_ids,
	.remove = trace_remove,
	.rename = trace_rename,
	.meta_get = trace_meta_get,
	.meta_put = trace_meta_put,
	.attach_put = trace_attach_put,
	.attach_get = trace_attach_get,
	.attach_list = trace_attach_list,
	.describe = trace_describe,
	.survey = trace_survey,
	.close = trace_close,
};

int grove__store_trace_open(struct grove_store **out, struct grove_store *inner,
			    void (*fn)(void *payload, const char *line), void *payload,
			    struct grove_detail *d)
{
	struct trace_store *t = calloc(1, sizeof(*t));

	*out = NULL;
	if (!t)
		return grove__fail_nomem(d);
	t->base.ops = &trace_ops;
	t->base.url = inner->url;
	t->inner = inner;
	t->fn = fn;
	t->payload = payload;
	*out = &t->base;
	return 0;
}

const struct grove_store_log *grove__store_traced(const struct grove_store_log *log)
{
	while (log->ops == &trace_ops)
		log = ((const struct trace_log *)log)->inner;
	return log;
}
