/*
 * store/sql_feed.c: the change feed of a log in a database, leases, and ids.
 *
 * Appended lines need no record. Each other change counts in `rev` of the session's row
 * and adds a row to `changes`, within the transaction that makes it.
 *
 * The lease is in the session's row, with a number that increases each time it is
 * taken. Writers compare the number within the transaction, or the statement, that
 * writes: a writer whose lease was taken over stores nothing any more.
 */
#include "store/sql.h"

#include "base/arena.h"
#include "base/array.h"

#include <stdlib.h>

/* ----------------------------------------------------------------- changes */

struct telling {
	struct sql_work work;
	struct sql_log *log;
	uint64_t since;
	struct grove__arena ids;
	struct grove_store_change *list;
	size_t nr, cap;
};

static int gather_one(struct sql_conn *c, struct telling *t, struct sql_row *row,
		      struct grove_detail *d)
{
	struct grove_store_change *change;
	char *id = NULL;

	if (grove__array_room(&t->list, &t->cap, t->nr, sizeof(*t->list)) ||
	    (!row->null[3] && !(id = grove__arena_alloc(&t->ids, row->len[3] + 1, 1))))
		return grove__fail_nomem(d);
	change = &t->list[t->nr++];
	*change = (struct grove_store_change){ .rev = (uint64_t)row->number[0],
					       .lines = (uint64_t)row->number[1],
					       .kind = (enum grove_change_kind)row->number[2] };
	if (!id)
		return 0;
	change->id = grove__slice(id, row->len[3]);
	return grove__sql_take(c, row, 3, id, row->len[3], d);
}

static int gather(struct sql_conn *c, struct sql_work *w, struct grove_detail *d)
{
	struct telling *t = (struct telling *)w;
	int64_t since = t->since > INT64_MAX ? INT64_MAX : (int64_t)t->since;
	const struct sql_arg arg[] = { grove__sql_id(t->log->id), grove__sql_id(t->log->id),
				       grove__sql_number(since) };
	struct sql_row row;
	struct sql_end e;
	int rc = c->driver->ask(c, SQL_CHANGES, arg, 3, &row, d);

	if (rc)
		return rc;
	t->nr = 0;
	while (!(rc = c->driver->next(c, &row, d)))
		if ((rc = gather_one(c, t, &row, d)))
			break;
	c->driver->done(&row);
	if (rc != GROVE__SQL_NONE)
		return rc;
	/* no changes, or no session? */
	return t->nr ? 0 : grove__sql_end(c, t->log->id, &e, d);
}

int grove__sql_changes(struct grove_store_log *l, uint64_t since, grove_change_fn *fn,
		       void *payload, struct grove_detail *d)
{
	struct sql_store *s = grove__sql_store(l->store);
	struct telling t = { .work = grove__sql_reading_of(gather, SQL_READ, l), .log = grove__sql_log(l),
			     .since = since };
	int rc;

	/* `fn` may call us again: copy first */
	grove__arena_init(&t.ids);
	rc = grove__sql_gone(s, s->driver->work(s, &t.work, d), d);
	for (size_t i = 0; i < t.nr && !rc; i++)
		rc = fn(payload, &t.list[i]);
	grove__arena_release(&t.ids);
	free(t.list);
	return rc;
}

/* ------------------------------------------------------------------- lease */

static struct grove__lease_claim claim_of(const struct sql_log *log, const struct sql_end *e)
{
	uint64_t number = __atomic_load_n(&log->lease, __ATOMIC_ACQUIRE);

	return (struct grove__lease_claim){ number, number && e->lease.number == number, e->now };
}

int grove__sql_may_write(const struct sql_conn *c, const struct sql_log *log,
			 const struct sql_end *e, struct grove_detail *d)
{
	struct grove__lease_claim by = claim_of(log, e);

	return grove__lease_may_write(&e->lease, &by, c->where, d);
}

static int look_at_lease(struct sql_conn *c, struct sql_work *w, struct grove_detail *d)
{
	struct sql_leasing *k = (struct sql_leasing *)w;
	struct sql_end e;
	int rc = grove__sql_end(c, k->log->id, &e, d);

	k->held = e.lease;
	return rc;
}

int grove__sql_judge_lease(const struct sql_conn *c, const struct sql_leasing *k,
			   const struct sql_end *e, bool *mine, struct grove_detail *d)
{
	struct grove__lease_claim by = claim_of(k->log, e);

	*mine = by.holds;
	return k->ms ? grove__lease_may_take(&e->lease, &by, k->owner, c->where, d) : 0;
}

void grove__sql_claim(struct sql_leasing *k, const struct sql_end *e, bool another)
{
	k->held = e->lease;
	if (k->owner)
		memcpy(k->held.owner, k->owner, strlen(k->owner) + 1);
	k->held.number += another;
	k->held.until = e->now + k->ms;
}

static int write_lease(struct sql_conn *c, const struct sql_leasing *k, struct grove_detail *d)
{
	const struct grove_lease *h = &k->held;
	const struct sql_arg arg[] = {
		*h->owner ? grove__sql_bytes(grove__slice_str(h->owner)) : grove__sql_null(),
		grove__sql_number((int64_t)h->number),
		grove__sql_number_or_null(*h->owner, h->until), grove__sql_id(k->log->id),
	};

	return c->driver->run(c, SQL_LEASE, arg, 4, NULL, d);
}

static void set_number(const struct sql_leasing *k, uint64_t number)
{
	__atomic_store_n(&k->log->lease, number, __ATOMIC_RELEASE);
}

/*
 * Called with the session's row locked. A released lease keeps its number, so that the
 * next one is higher.
 */
static int move_lease(struct sql_conn *c, struct sql_work *w, struct grove_detail *d)
{
	struct sql_leasing *k = (struct sql_leasing *)w;
	bool mine, announced;
	struct sql_end e;
	int rc = grove__sql_lock(c, k->log->id, d);

	if (!rc)
		rc = grove__sql_end(c, k->log->id, &e, d);
	if (rc)
		return rc;
	k->held = e.lease;
	rc = grove__sql_judge_lease(c, k, &e, &mine, d);
	if (rc || (!k->ms && !mine))
		return rc;
	if (!k->ms) {
		k->held = (struct grove_lease){ .number = e.lease.number };
	} else {
		announced = k->announced && e.lease.number == k->announced;
		grove__sql_claim(k, &e, !mine && !announced);
		if (!mine && c->driver->fence)
			rc = c->driver->fence(c, k->log->id, &e, d);
	}
	if (!rc)
		rc = write_lease(c, k, d);
	if (rc)
		return rc;
	w->ended = k->log;
	w->end = e;
	w->end.lease = k->held;
	/* set it while nobody else writes, so that the next append sees it on any thread */
	if (c->driver->alone)
		set_number(k, k->ms ? k->held.number : 0);
	return 0;
}

/*
 * After a lost answer it is simply done again: a lease that we took then is taken from
 * ourselves, under a higher number.
 */
static int lease(struct sql_conn *c, struct sql_work *w, struct grove_detail *d)
{
	struct sql_leasing *k = (struct sql_leasing *)w;
	int rc = k->ms && c->driver->announce ? c->driver->announce(c, k, d) : 0;

	return rc ? rc : c->driver->transaction(c, w, move_lease, d);
}

int grove__sql_lease(struct grove_store_log *l, const char *owner, int64_t ms, struct grove_lease *out,
		     struct grove_detail *d)
{
	struct sql_store *s = grove__sql_store(l->store);
	struct sql_log *log = grove__sql_log(l);
	uint64_t had = __atomic_load_n(&log->lease, __ATOMIC_ACQUIRE);
	struct sql_leasing k = { .work = { .fn = lease, .mode = SQL_OWN }, .log = log, .owner = owner,
				 .ms = ms };
	int rc;

	if (!log->writable)
		return grove__sql_read_only(d);
	rc = grove__sql_gone(s, s->driver->work(s, &k.work, d), d);
	*out = k.held;
	set_number(&k, rc ? had : ms ? k.held.number : 0);
	return rc;
}

int grove__sql_lease_get(struct grove_store_log *l, struct grove_lease *out, struct grove_detail *d)
{
	struct sql_store *s = grove__sql_store(l->store);
	struct sql_leasing k = { .work = grove__sql_reading_of(look_at_lease, SQL_ONE, l), .log = grove__sql_log(l) };
	int rc = grove__sql_gone(s, s->driver->work(s, &k.work, d), d);

	*out = k.held;
	return rc;
}

/* --------------------------------------------------------------------- ids */

/* All ids in one answer, and then the lines that have none: these are few. */
struct id_list {
	struct sql_work work;
	struct sql_log *log;
	uint64_t pos, until;
	grove_record_fn *fn;
	void *payload;
	int told;
};

/* Reports one row: an id, or (`line`) a line. */
static int tell_id(struct sql_conn *c, struct id_list *k, struct sql_row *row, bool line,
		   struct grove_buf *buf, struct grove_detail *d)
{
	unsigned column = line ? 1 : 0;
	struct grove_store_record rec = { 0 };
	int rc;

	grove__buf_clear(buf);
	if (grove__buf_reserve(buf, row->len[column]))
		return grove__fail_nomem(d);
	rc = grove__sql_take(c, row, column, buf->ptr, row->len[column], d);
	if (rc)
		return rc;
	*(line ? &rec.line : &rec.id) = grove__slice(buf->ptr, row->len[column]);
	k->told = k->fn(k->payload, line ? (uint64_t)row->number[0] : 0, &rec);
	return k->told ? GROVE__SQL_SETTLED : 0;
}

static int tell_ids(struct sql_conn *c, struct id_list *k, enum grove__sql what,
		    struct grove_detail *d)
{
	const struct sql_arg arg[] = { grove__sql_id(k->log->id), grove__sql_number((int64_t)k->pos),
				       grove__sql_number((int64_t)k->until) };
	struct grove_buf buf = GROVE_BUF_INIT;
	struct sql_row row;
	int rc = c->driver->ask(c, what, arg, 3, &row, d);

	if (rc)
		return rc;
	while (!(rc = c->driver->next(c, &row, d)))
		if ((rc = tell_id(c, k, &row, what == SQL_WITHOUT_ID, &buf, d)))
			break;
	c->driver->done(&row);
	grove__buf_release(&buf);
	return rc == GROVE__SQL_NONE ? 0 : rc;
}

static int list_ids(struct sql_conn *c, struct sql_work *w, struct grove_detail *d)
{
	struct id_list *k = (struct id_list *)w;
	int rc = tell_ids(c, k, SQL_IDS, d);

	return rc ? rc : tell_ids(c, k, SQL_WITHOUT_ID, d);
}

/*
 * If an answer breaks off, it is requested again from the beginning, so `fn` may get an id
 * twice.
 */
int grove__sql_ids(struct grove_store_log *l, uint64_t pos, uint64_t until, grove_record_fn *fn,
		   void *payload, struct grove_detail *d)
{
	struct sql_store *s = grove__sql_store(l->store);
	struct id_list k = { .work = grove__sql_reading_of(list_ids, SQL_READ, l), .log = grove__sql_log(l),
			     .pos = pos, .until = until, .fn = fn, .payload = payload };
	int rc = s->driver->work(s, &k.work, d);

	return rc == GROVE__SQL_SETTLED ? k.told : grove__sql_gone(s, rc, d);
}
