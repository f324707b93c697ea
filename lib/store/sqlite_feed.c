/*
 * store/sqlite_feed.c: what others are told of a log in an SQLite store, and
 * who may write to it.
 *
 * Lines behind the others need no telling. Each other change counts in `rev` of
 * the session's row and leaves a row in `changes`, within the transaction that
 * makes it. After a reset nothing of before matters, so those rows go.
 */
#include "store/sqlite.h"

#include "base/arena.h"
#include "base/array.h"
#include "base/idmap.h"
#include "sys/clock.h"

#include <stdlib.h>

static int forget(struct sqlite_conn *c, const uint8_t id[GROVE__SQL_ID], struct grove_detail *d)
{
	sqlite3_stmt *st;
	int rc = grove__sqlite_prepare(c, SQL_DROP_CHANGES, &st, d);

	if (rc)
		return rc;
	grove__sqlite_bind_id(st, 1, id);
	return grove__sqlite_run(c, st, d);
}

static int tell(struct sqlite_conn *c, const uint8_t id[GROVE__SQL_ID], const struct sqlite_end *e,
		enum grove_change_kind kind, struct grove_slice entry, int64_t now,
		struct grove_detail *d)
{
	struct grove_record rec = { .id = entry };
	struct grove__sql_row row;
	sqlite3_stmt *st;
	int rc = grove__sqlite_prepare(c, SQL_NOTE, &st, d);

	if (rc)
		return rc;
	grove__sql_row(&rec, &row);
	grove__sqlite_bind_id(st, 1, id);
	sqlite3_bind_int64(st, 2, (int64_t)(e->base + e->tail));
	sqlite3_bind_int64(st, 3, (int64_t)e->tail);
	sqlite3_bind_int64(st, 4, kind);
	grove__sqlite_bind_text(st, 5, row.id);
	sqlite3_bind_int64(st, 6, now);
	return grove__sqlite_run(c, st, d);
}

/* The row of the session; with `generation` also what changed lines leave there. */
static int count(struct sqlite_conn *c, const uint8_t id[GROVE__SQL_ID], const struct sqlite_end *e,
		 bool generation, int64_t now, struct grove_detail *d)
{
	sqlite3_stmt *st;
	int rc = grove__sqlite_prepare(c, generation ? SQL_CHANGED : SQL_TOUCHED, &st, d);

	if (rc)
		return rc;
	sqlite3_bind_int64(st, 1, (int64_t)e->base);
	grove__sqlite_bind_id(st, generation ? 5 : 2, id);
	if (generation) {
		sqlite3_bind_int64(st, 2, e->adjust);
		grove__sqlite_bind_number(st, 3, e->unfinished, (int64_t)e->tail - 1);
		sqlite3_bind_int64(st, 4, now);
	}
	return grove__sqlite_run(c, st, d);
}

int grove__sqlite_note(struct sqlite_conn *c, const uint8_t id[GROVE__SQL_ID], struct sqlite_end *e,
		       uint64_t lines, enum grove_change_kind kind, struct grove_slice entry,
		       bool generation, struct grove_detail *d)
{
	int64_t now = grove__sys_now_ms();
	int rc = 0;

	e->base = grove__sql_next_base(e->base, lines, e->tail);
	e->generation += generation;
	if (kind == GROVE_CHANGE_RESET)
		rc = forget(c, id, d);
	if (!rc)
		rc = tell(c, id, e, kind, entry, now, d);
	return rc ? rc : count(c, id, e, generation, now, d);
}

struct changes {
	struct grove__arena ids;
	struct grove_change *list;
	size_t nr, cap;
};

static int take_change(struct changes *all, sqlite3_stmt *st)
{
	const char *id = (const char *)sqlite3_column_text(st, 3);
	struct grove_change *c;

	if (grove__array_room(&all->list, &all->cap, all->nr, sizeof(*all->list)))
		return GROVE_ENOMEM;
	c = &all->list[all->nr++];
	*c = (struct grove_change){
		.rev = (uint64_t)sqlite3_column_int64(st, 0),
		.lines = (uint64_t)sqlite3_column_int64(st, 1),
		.kind = (enum grove_change_kind)sqlite3_column_int(st, 2),
	};
	if (!id)
		return 0;
	id = grove__arena_dup(&all->ids, grove__slice_str(id));
	c->id = grove__slice_str(id ? id : "");
	return id ? 0 : GROVE_ENOMEM;
}

static int gather(struct sqlite_conn *c, const struct sqlite_log *log, uint64_t since,
		  struct changes *all, struct grove_detail *d)
{
	sqlite3_stmt *st;
	int rc = grove__sqlite_prepare(c, SQL_CHANGES, &st, d);

	if (rc)
		return rc;
	grove__sqlite_bind_id(st, 1, log->id);
	grove__sqlite_bind_id(st, 2, log->id);
	sqlite3_bind_int64(st, 3, since > INT64_MAX ? INT64_MAX : (int64_t)since);
	while (!(rc = grove__sqlite_row(c, st, d)))
		if (take_change(all, st)) {
			sqlite3_reset(st);
			return grove__fail_nomem(d);
		}
	return rc == 1 ? 0 : rc;
}

static int gone(struct sqlite_store *s, struct grove_detail *d)
{
	return grove__fail(d, GROVE_ESTALE, s->path, "the session was removed");
}

int grove__sqlite_changes(struct grove_log *l, uint64_t since, grove_change_fn *fn, void *payload,
			  struct grove_detail *d)
{
	struct sqlite_store *s = grove__sqlite_store(l->store);
	struct sqlite_log *log = grove__sqlite_log(l);
	struct changes all = { .list = NULL };
	struct sqlite_conn *c;
	struct sqlite_end e;
	int rc = grove__sqlite_look(s, log, &c, &e, d);

	if (rc)
		return rc < 0 ? rc : gone(s, d);
	/* `fn` may call us again: copy first */
	grove__arena_init(&all.ids);
	rc = gather(c, log, since, &all, d);
	grove__sqlite_reader_done(s, c);
	for (size_t i = 0; i < all.nr && !rc; i++)
		rc = fn(payload, &all.list[i]);
	grove__arena_release(&all.ids);
	free(all.list);
	return rc;
}

/* ------------------------------------------------------------------- lease */

static bool is_held(const struct grove_lease *held)
{
	return *held->owner && held->until > grove__sys_now_ms();
}

int grove__sqlite_may_write(const struct sqlite_log *log, const struct grove_lease *held,
			    struct grove_detail *d)
{
	if (log->lease ? held->number == log->lease : !is_held(held))
		return 0;
	return grove__log_lease_refused(held, log->lease, grove__sqlite_store(log->base.store)->path, d);
}

static int put_lease(struct sqlite_conn *c, const struct sqlite_log *log,
		     const struct grove_lease *lease, struct grove_detail *d)
{
	sqlite3_stmt *st;
	int rc = grove__sqlite_prepare(c, SQL_LEASE, &st, d);

	if (!rc)
		rc = grove__sqlite_bind(c, st, 1, grove__slice_str(lease->owner), d);
	if (rc)
		return rc;
	if (!*lease->owner)
		sqlite3_bind_null(st, 1);
	sqlite3_bind_int64(st, 2, (int64_t)lease->number);
	grove__sqlite_bind_number(st, 3, *lease->owner, lease->until);
	grove__sqlite_bind_id(st, 4, log->id);
	return grove__sqlite_run(c, st, d);
}

static int look_at_lease(struct sqlite_store *s, struct sqlite_log *log, struct grove_lease *out,
			 struct grove_detail *d)
{
	struct sqlite_conn *c;
	struct sqlite_end e;
	int rc = grove__sqlite_look(s, log, &c, &e, d);

	if (rc)
		return rc < 0 ? rc : gone(s, d);
	grove__sqlite_reader_done(s, c);
	*out = e.lease;
	return 0;
}

/*
 * Within a transaction: *held becomes what it should be. A lease that was given
 * back leaves its number, so that the next one has a higher one.
 */
static int move_lease(struct sqlite_conn *c, const struct sqlite_log *log, const char *owner,
		      int64_t ms, struct grove_lease *held, struct grove_detail *d)
{
	bool mine = log->lease && held->number == log->lease;

	if (!ms && !mine)
		return 0;
	if (!ms) {
		*held = (struct grove_lease){ .number = held->number };
	} else if (!mine && is_held(held) && strcmp(held->owner, owner)) {
		return grove__log_lease_refused(held, 0, c->path, d);
	} else {
		held->number += !mine;
		held->until = grove__sys_now_ms() + ms;
		snprintf(held->owner, sizeof(held->owner), "%s", owner);
	}
	return put_lease(c, log, held, d);
}

int grove__sqlite_lease(struct grove_log *l, const char *owner, int64_t ms, struct grove_lease *out,
			struct grove_detail *d)
{
	struct sqlite_store *s = grove__sqlite_store(l->store);
	struct sqlite_log *log = grove__sqlite_log(l);
	uint64_t had = log->lease;
	struct sqlite_conn *c;
	struct sqlite_end e;
	int rc;

	if (ms < 0)
		return look_at_lease(s, log, out, d);
	if (!log->writable)
		return grove__fail(d, GROVE_EACCESS, s->path, "opened for reading only");
	rc = grove__sqlite_write(s, false, &c, d);
	if (rc)
		return rc < 0 ? rc : gone(s, d);
	rc = grove__sqlite_end(c, log->id, &e, d);
	if (rc == 1)
		rc = gone(s, d);
	if (!rc)
		rc = move_lease(c, log, owner, ms, &e.lease, d);
	*out = e.lease;
	/* with the lock held: who appends next, on whichever thread, has it or not */
	if (!rc)
		log->lease = ms ? out->number : 0;
	rc = grove__sqlite_end_done(s, c, log, &e, rc, d);
	if (rc)
		log->lease = had;
	return rc;
}

/* --------------------------------------------------------------- ancestors */

/*
 * Lines that were told of already. Nearly every parent is before its child, and
 * what is before all that came cannot have been among it; so only a step down
 * the log needs the set to be asked, but it may come any time.
 */
struct trail {
	struct grove__idmap seen;
	uint64_t *seq;
	size_t nr, cap;
	uint64_t first;
};

static struct grove_slice seq_name(const void *owner, uint32_t at)
{
	const struct trail *t = owner;

	return grove__slice((const char *)&t->seq[at], sizeof(*t->seq));
}

/* 1: it came by already. */
static int step(struct trail *t, uint64_t seq)
{
	struct grove_slice name = grove__slice((const char *)&seq, sizeof(seq));
	uint32_t old;

	if (t->nr && seq >= t->first && grove__idmap_get(&t->seen, name) != GROVE__IDMAP_NONE)
		return 1;
	if (t->nr >= GROVE__IDMAP_NONE || grove__array_room(&t->seq, &t->cap, t->nr, sizeof(seq)))
		return GROVE_ENOMEM;
	t->first = t->nr && t->first < seq ? t->first : seq;
	t->seq[t->nr++] = seq;
	return grove__idmap_put(&t->seen, name, (uint32_t)(t->nr - 1), &old);
}

static struct grove_slice bytes_at(sqlite3_stmt *st, int column)
{
	const char *bytes = sqlite3_column_blob(st, column);

	return grove__slice(bytes ? bytes : "", (size_t)sqlite3_column_bytes(st, column));
}

static int not_looked_at(struct sqlite_conn *c, struct grove_detail *d)
{
	return grove__fail(d, GROVE_ENOTSUP, c->path, "a line that nobody looked at");
}

/* The row of SQL_ENTRY or SQL_LAST_ENTRY; `next` is its parent, none if a circle is closed. */
static int tell_entry(struct sqlite_conn *c, sqlite3_stmt *st, struct trail *t,
		      struct grove_buf *next, grove_record_fn *fn, void *payload,
		      struct grove_detail *d)
{
	uint64_t seq = (uint64_t)sqlite3_column_int64(st, 0);
	struct grove_record rec = {
		.line = bytes_at(st, 6), .id = bytes_at(st, 4), .parent = bytes_at(st, 5),
		.time = sqlite3_column_type(st, 1) == SQLITE_NULL ? GROVE_NO_TIME
								  : sqlite3_column_int64(st, 1),
		.kind = (uint8_t)sqlite3_column_int(st, 2), .role = (uint8_t)sqlite3_column_int(st, 3),
	};
	int rc = step(t, seq);

	if (rc)
		return rc == 1 ? 0 : grove__fail_nomem(d);
	if (sqlite3_column_type(st, 2) == SQLITE_NULL)
		return not_looked_at(c, d);
	if (grove__buf_add_slice(next, rec.parent))
		return grove__fail_nomem(d);
	return fn(payload, seq, &rec);
}

/* No entry has that id; or is it in a line of which we do not know it? */
static int missing(struct sqlite_conn *c, const struct sqlite_log *log, struct grove_detail *d)
{
	sqlite3_stmt *st;
	int rc = grove__sqlite_prepare(c, LITE_UNKNOWN, &st, d);

	if (rc)
		return rc;
	grove__sqlite_bind_id(st, 1, log->id);
	rc = grove__sqlite_row(c, st, d);
	if (rc)
		return rc == 1 ? 0 : rc;
	sqlite3_reset(st);
	return not_looked_at(c, d);
}

/* One entry: `id`, or the last line; `next` is its parent, if it has one. */
static int climb(struct sqlite_conn *c, const struct sqlite_log *log, struct grove_slice id,
		 struct trail *t, struct grove_buf *next, grove_record_fn *fn, void *payload,
		 struct grove_detail *d)
{
	sqlite3_stmt *st;
	int rc = grove__sqlite_prepare(c, id.len ? SQL_ENTRY : SQL_LAST_ENTRY, &st, d);

	grove__buf_clear(next);
	if (rc)
		return rc;
	grove__sqlite_bind_id(st, 1, log->id);
	if (id.len)
		grove__sqlite_bind_text(st, 2, id);
	rc = grove__sqlite_row(c, st, d);
	if (rc)
		return rc == 1 ? missing(c, log, d) : rc;
	rc = tell_entry(c, st, t, next, fn, payload, d);
	sqlite3_reset(st);
	return rc;
}

/*
 * `fn` is called within the reader's transaction, of which the lines are: it may
 * read from this store, by other connections.
 */
int grove__sqlite_ancestors(struct grove_log *l, struct grove_slice id, grove_record_fn *fn,
			    void *payload, struct grove_detail *d)
{
	struct sqlite_store *s = grove__sqlite_store(l->store);
	struct sqlite_log *log = grove__sqlite_log(l);
	struct grove_buf at = GROVE_BUF_INIT, next = GROVE_BUF_INIT, swap;
	struct trail t = { .seq = NULL };
	struct sqlite_conn *c;
	struct sqlite_end e;
	int rc = grove__sqlite_look(s, log, &c, &e, d);

	if (rc)
		return rc < 0 ? rc : gone(s, d);
	grove__idmap_init(&t.seen, 0, seq_name, &t);
	rc = grove__sql_plain_id(id) ? climb(c, log, id, &t, &next, fn, payload, d) : not_looked_at(c, d);
	while (!rc && next.len) {
		swap = at;
		at = next;
		next = swap;
		rc = climb(c, log, grove__buf_slice(&at), &t, &next, fn, payload, d);
	}
	grove__sqlite_reader_done(s, c);
	grove__idmap_release(&t.seen);
	grove__buf_release(&at);
	grove__buf_release(&next);
	free(t.seq);
	return rc || t.nr ? rc : grove__fail(d, GROVE_ENOTFOUND, s->path, "no such entry");
}
