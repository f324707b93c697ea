/*
 * store/memory_feed.c: leases on a log in memory, and the changes to it that are not
 * appends.
 */
#include "store/memory.h"

#include "base/array.h"
#include "sys/clock.h"

#include <stdlib.h>

/* ----------------------------------------------------------------- changes */

int grove__memory_note_room(struct memory_shelf *s, struct grove_detail *d)
{
	return grove__array_room(&s->changes, &s->cap_changes, s->nr_changes, sizeof(*s->changes))
		       ? grove__fail_nomem(d)
		       : 0;
}

void grove__memory_free_changes(struct memory_shelf *s)
{
	for (size_t i = 0; i < s->nr_changes; i++)
		free(s->changes[i].id);
	free(s->changes);
}

void grove__memory_note(struct memory_shelf *s, uint64_t before, enum grove_change_kind kind,
			char *id)
{
	s->base += 1 + (s->nr < before ? before - s->nr : 0);
	/* everything before a reset has to be read again anyway */
	while (kind == GROVE_CHANGE_RESET && s->nr_changes)
		free(s->changes[--s->nr_changes].id);
	s->changes[s->nr_changes++] = (struct memory_change){ s->base + s->nr, s->nr, kind, id };
}

int grove__memory_update(struct grove_store_log *l, uint64_t pos, struct grove_slice was,
			 const struct grove_store_record *rec, enum grove_change_kind kind,
			 enum grove_sync sync, struct grove_detail *d)
{
	struct memory_store *m = grove__memory_store(l->store);
	struct memory_log *log = grove__memory_log(l);
	struct memory_shelf *s = log->shelf;
	struct memory_line x = grove__memory_line(rec);
	char *id = rec->id.len ? strndup(rec->id.ptr, rec->id.len) : NULL;
	int rc = x.ptr && !id == !rec->id.len ? 0 : grove__fail_nomem(d);

	(void)sync;
	if (!rc && !log->writable)
		rc = grove__fail(d, GROVE_EACCESS, NULL, "opened read-only");
	grove__memory_lock(m);
	if (!rc)
		rc = grove__memory_may_write(log, d);
	if (!rc && pos >= s->nr)
		rc = grove__fail(d, GROVE_ESTALE, NULL, "the line no longer exists");
	if (!rc && !grove__slice_eq(was, grove__slice(s->lines[pos].ptr, s->lines[pos].len)))
		rc = grove__fail(d, GROVE_ECONFLICT, NULL, "another writer changed the line first");
	if (!rc)
		rc = grove__memory_note_room(s, d);
	if (!rc) {
		s->bytes += x.len - s->lines[pos].len;
		grove__memory_free_line(&s->lines[pos]);
		s->lines[pos] = x;
		grove__memory_changed(s);
		grove__memory_note(s, s->nr, kind, id);
	}
	grove__memory_unlock(m, 0);
	if (rc) {
		grove__memory_free_line(&x);
		free(id);
	}
	return rc;
}

/* Makes a copy that can be passed to `fn` without the lock. */
static int copy_changes(const struct memory_shelf *s, uint64_t since, struct memory_change **out,
			size_t *nr)
{
	size_t from = s->nr_changes;
	struct memory_change *c;

	while (from && s->changes[from - 1].rev > since)
		from--;
	from -= from > 0;
	*nr = 0;
	*out = c = calloc(s->nr_changes - from + 1, sizeof(*c));
	if (!c)
		return GROVE_ENOMEM;
	for (size_t i = from; i < s->nr_changes; i++) {
		c[*nr] = s->changes[i];
		if (c[*nr].id && !(c[*nr].id = strdup(c[*nr].id)))
			return GROVE_ENOMEM;
		++*nr;
	}
	return 0;
}

int grove__memory_changes(struct grove_store_log *l, uint64_t since, grove_change_fn *fn,
			  void *payload, struct grove_detail *d)
{
	struct memory_store *m = grove__memory_store(l->store);
	struct memory_change *c;
	size_t nr;
	int rc;

	grove__memory_lock(m);
	rc = grove__memory_unlock(m, copy_changes(grove__memory_log(l)->shelf, since, &c, &nr));
	if (rc)
		grove__fail_nomem(d);
	for (size_t i = 0; i < nr && !rc; i++) {
		struct grove_store_change told = { .rev = c[i].rev,
						   .lines = c[i].lines,
						   .kind = c[i].kind };

		if (c[i].id)
			told.id = grove__slice_str(c[i].id);
		rc = fn(payload, &told);
	}
	for (size_t i = 0; c && i < nr; i++)
		free(c[i].id);
	free(c);
	return rc;
}

/* ------------------------------------------------------------------- lease */

static struct grove__lease_claim claim_of(const struct memory_log *log)
{
	return (struct grove__lease_claim){ .number = log->lease, .now = grove__sys_now_ms(),
					    .holds = log->lease && log->shelf->lease.number == log->lease };
}

int grove__memory_may_write(const struct memory_log *log, struct grove_detail *d)
{
	struct grove__lease_claim by = claim_of(log);

	if (log->shelf->removed)
		return grove__fail(d, GROVE_ESTALE, NULL, "the session was removed");
	return grove__lease_may_write(&log->shelf->lease, &by, NULL, d);
}

int grove__memory_lease(struct grove_store_log *l, const char *owner, int64_t ms, struct grove_lease *out,
			struct grove_detail *d)
{
	struct memory_store *m = grove__memory_store(l->store);
	struct memory_log *log = grove__memory_log(l);
	struct grove_lease *held = &log->shelf->lease;
	struct grove__lease_claim by;
	int rc;

	if (!log->writable)
		return grove__fail(d, GROVE_EACCESS, NULL, "opened read-only");
	grove__memory_lock(m);
	by = claim_of(log);
	rc = ms ? grove__lease_may_take(held, &by, owner, NULL, d) : 0;
	if (!ms) {
		if (by.holds)
			*held = (struct grove_lease){ .number = held->number };
		log->lease = 0;
	} else if (!rc) {
		log->lease = held->number += !by.holds;
		if (owner)
			memcpy(held->owner, owner, strlen(owner) + 1);
		held->until = by.now + ms;
	}
	*out = *held;
	return grove__memory_unlock(m, rc);
}

int grove__memory_lease_get(struct grove_store_log *l, struct grove_lease *out,
			    struct grove_detail *d)
{
	struct memory_store *m = grove__memory_store(l->store);

	(void)d;
	grove__memory_lock(m);
	*out = grove__memory_log(l)->shelf->lease;
	return grove__memory_unlock(m, 0);
}
