/*
 * store/log.c: calls on an open log: defaults and checks, then the slot of its store.
 *
 * A store that cannot update a line has a substitute: the caller rewrites the log
 * (grove__log_has_update()).
 */
#include "store/store.h"

#include <string.h>

int grove__log_open(struct grove_store_log **out, struct grove_store *st,
		    const struct grove_key *key, unsigned flags, struct grove_detail *d)
{
	*out = NULL;
	return st->ops->open(st, key, flags, out, d);
}

void grove__log_close(struct grove_store_log *log)
{
	if (log)
		log->ops->close_log(log);
}

int grove__log_stat(struct grove_store_log *log, struct grove_store_log_stat *out,
		    struct grove_detail *d)
{
	memset(out, 0, sizeof(*out));
	return log->ops->stat(log, out, d);
}

struct grove__log_state grove__log_state(const struct grove_store_log_stat *st)
{
	return (struct grove__log_state){ st->base, st->generation, st->tail, st->mtime_ns, st->mtime_ns };
}

/* The store does not tell which file it has open, but its times do. */
bool grove__log_is_still(const struct grove_store_log_stat *now, const struct grove__log_state *was,
			 bool is_file)
{
	struct grove__log_state st = grove__log_state(now);

	if (is_file)
		return now->bytes == was->size && now->mtime_ns == was->mtime_ns && now->ctime_ns == was->ctime_ns;
	/* it may have the time of what it was copied from */
	return grove__state_as_long(was, &st);
}

int grove__log_read(struct grove_store_log *log, uint64_t pos, uint64_t until, char *buf,
		    size_t cap, struct grove_store_run *run, struct grove_detail *d)
{
	memset(run, 0, sizeof(*run));
	if (pos > until)
		return grove__fail(d, GROVE_ESTALE, NULL, "the session became shorter");
	return log->ops->read(log, pos, until, buf, cap, run, d);
}

int grove__log_fetch(struct grove_store_log *log, uint64_t pos, uint64_t off, char *buf, size_t len,
		     struct grove_detail *d)
{
	return log->ops->fetch(log, pos, off, buf, len, d);
}

static bool has_lf(struct grove_slice line)
{
	return line.len && memchr(line.ptr, '\n', line.len);
}

static int two_lines(struct grove_detail *d)
{
	return grove__fail(d, GROVE_EINVAL, NULL, "a line must not contain a line end");
}

int grove__log_base_moved(const char *path, struct grove_detail *d)
{
	return grove__fail(d, GROVE_ECONFLICT, path, "another writer changed the stored value");
}

int grove__log_same_base(struct grove_store_log *log, uint64_t base, struct grove_detail *d)
{
	struct grove_store_log_stat st;
	int rc;

	if (base == GROVE_ANY_BASE || !grove__log_has_changes(log))
		return 0;
	rc = grove__log_stat(log, &st, d);
	return !rc && st.base != base ? grove__log_base_moved(log->store->url, d) : rc;
}

int grove__log_append_on(struct grove_store_log *log, const struct grove_store_record *rec,
			 size_t nr, uint64_t expect, uint64_t base, enum grove_sync sync,
			 struct grove_store_appended *out, struct grove_detail *d)
{
	memset(out, 0, sizeof(*out));
	for (size_t i = 0; i < nr; i++)
		if (has_lf(rec[i].line))
			return two_lines(d);
	return log->ops->append(log, rec, nr, expect, grove__log_has_changes(log) ? base : GROVE_ANY_BASE, sync, out,
				d);
}

int grove__log_append(struct grove_store_log *log, const struct grove_store_record *rec, size_t nr,
		      uint64_t expect, enum grove_sync sync, struct grove_store_appended *out,
		      struct grove_detail *d)
{
	return grove__log_append_on(log, rec, nr, expect, GROVE_ANY_BASE, sync, out, d);
}

int grove__log_sync(struct grove_store_log *log, struct grove_detail *d)
{
	return log->ops->sync ? log->ops->sync(log, d) : 0;
}

int grove__log_replace(struct grove_store_log *log, uint64_t pos, struct grove_slice line,
		       enum grove_sync sync, struct grove_detail *d)
{
	if (has_lf(line))
		return two_lines(d);
	return log->ops->replace ? log->ops->replace(log, pos, line, sync, d)
				 : grove__store_cannot(d, log->ops, "replace a line");
}

/* Checks the lines that a rewrite supplies. */
struct checked {
	grove_line_fn *next;
	void *payload;
	struct grove_detail *d;
};

static int next_checked(void *payload, struct grove_store_record *rec)
{
	struct checked *c = payload;
	int rc;

	memset(rec, 0, sizeof(*rec));
	rc = c->next(c->payload, rec);
	return !rc && has_lf(rec->line) ? two_lines(c->d) : rc;
}

int grove__log_cut(struct grove_store_log *log, uint64_t pos, uint64_t expect, enum grove_sync sync,
		   struct grove_detail *d)
{
	return log->ops->cut ? log->ops->cut(log, pos, expect, sync, d)
			     : grove__store_cannot(d, log->ops, "cut a log off");
}

int grove__log_rewrite(struct grove_store_log *log, grove_line_fn *next, void *payload,
		       uint64_t expect, unsigned flags, struct grove_detail *d)
{
	struct checked c = { next, payload, d };

	return log->ops->rewrite ? log->ops->rewrite(log, next_checked, &c, expect, flags, d)
				 : grove__store_cannot(d, log->ops, "be rewritten");
}

int grove__log_meta_get(struct grove_store_log *log, const char *name, struct grove_buf *out,
			struct grove_detail *d)
{
	return log->ops->meta_get ? log->ops->meta_get(log, name, out, d)
				  : grove__fail(d, GROVE_ENOTFOUND, NULL, "no value named %s", name);
}

int grove__log_meta_put(struct grove_store_log *log, const char *name, struct grove_slice value,
			struct grove_detail *d)
{
	return grove__log_meta_put_on(log, name, value, GROVE_ANY_POS, GROVE_ANY_BASE, d);
}

int grove__log_meta_put_on(struct grove_store_log *log, const char *name, struct grove_slice value,
			   uint64_t expect, uint64_t base, struct grove_detail *d)
{
	return log->ops->meta_put ? log->ops->meta_put(log, name, value, expect, base, d)
				  : grove__store_cannot(d, log->ops, "keep values with a log");
}

bool grove__log_has_update(const struct grove_store_log *log)
{
	log = grove__store_traced(log);
	return log->ops->update != NULL;
}

int grove__log_update(struct grove_store_log *log, uint64_t pos, struct grove_slice was,
		      const struct grove_store_record *rec, enum grove_change_kind kind,
		      enum grove_sync sync, struct grove_detail *d)
{
	if (has_lf(rec->line))
		return two_lines(d);
	return log->ops->update ? log->ops->update(log, pos, was, rec, kind, sync, d)
				       : grove__store_cannot(d, log->ops, "update a line");
}

bool grove__log_has_changes(const struct grove_store_log *log)
{
	log = grove__store_traced(log);
	return log->ops->changes != NULL;
}

int grove__log_changes(struct grove_store_log *log, uint64_t since, grove_change_fn *fn,
		       void *payload, struct grove_detail *d)
{
	return log->ops->changes ? log->ops->changes(log, since, fn, payload, d)
					: grove__store_cannot(d, log->ops, "tell changes");
}

static int lease(struct grove_store_log *log, const char *owner, int64_t ms, struct grove_lease *out,
		 struct grove_detail *d)
{
	memset(out, 0, sizeof(*out));
	return log->ops->lease ? log->ops->lease(log, owner, ms, out, d)
			       : grove__store_cannot(d, log->ops, "lease a log");
}

int grove__log_lease_take(struct grove_store_log *log, const char *owner, int64_t ms,
			  struct grove_lease *out, struct grove_detail *d)
{
	size_t n = strlen(owner);

	memset(out, 0, sizeof(*out));
	if (!n || n > GROVE_LEASE_OWNER_MAX)
		return grove__fail(d, GROVE_EINVAL, NULL, "the owner of a lease must have 1 to %d bytes",
				   GROVE_LEASE_OWNER_MAX);
	return lease(log, owner, ms, out, d);
}

int grove__log_lease_renew(struct grove_store_log *log, int64_t ms, struct grove_lease *out,
			   struct grove_detail *d)
{
	return lease(log, NULL, ms, out, d);
}

int grove__log_lease_release(struct grove_store_log *log, struct grove_detail *d)
{
	struct grove_lease now;

	return lease(log, NULL, 0, &now, d);
}

int grove__log_lease_get(struct grove_store_log *log, struct grove_lease *out,
			 struct grove_detail *d)
{
	memset(out, 0, sizeof(*out));
	return log->ops->lease_get ? log->ops->lease_get(log, out, d)
				   : grove__store_cannot(d, log->ops, "lease a log");
}

static int refused(const struct grove_lease *held, uint64_t mine, const char *path, struct grove_detail *d)
{
	if (mine)
		return grove__fail(d, GROVE_ECONFLICT, path, "the lease was taken over by %.100s",
				   *held->owner ? held->owner : "another writer");
	return grove__fail(d, GROVE_ECONFLICT, path, "%.100s holds the lease on the session", held->owner);
}

static bool is_held(const struct grove_lease *held, int64_t now)
{
	return *held->owner && held->until > now;
}

int grove__lease_may_write(const struct grove_lease *held, const struct grove__lease_claim *by, const char *path,
			   struct grove_detail *d)
{
	return (by->number ? by->holds : !is_held(held, by->now)) ? 0 : refused(held, by->number, path, d);
}

int grove__lease_may_take(const struct grove_lease *held, const struct grove__lease_claim *by, const char *owner,
			  const char *path, struct grove_detail *d)
{
	if (by->holds || (owner && (!is_held(held, by->now) || !strcmp(held->owner, owner))))
		return 0;
	if (owner || by->number)
		return refused(held, owner ? 0 : by->number, path, d);
	return grove__fail(d, GROVE_ECONFLICT, path, "this handle has no lease to renew");
}

bool grove__log_has_ids(const struct grove_store_log *log)
{
	log = grove__store_traced(log);
	return log->ops->ids != NULL;
}

int grove__log_ids(struct grove_store_log *log, uint64_t pos, uint64_t until, grove_record_fn *fn,
		   void *payload, struct grove_detail *d)
{
	return log->ops->ids ? log->ops->ids(log, pos, until, fn, payload, d)
			     : grove__store_cannot(d, log->ops, "list ids");
}
