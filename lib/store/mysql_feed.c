/*
 * store/mysql_feed.c: what others are told of a log in a MySQL store, who may
 * write to it, and which entries come before one.
 *
 * The right to write stands in the session's row, with a number that each taking
 * makes higher. An append reads that row in the statement that inserts, every
 * other change has it locked: so on one server a writer whose right was taken
 * over stores nothing any more. On a cluster the one who takes it writes the key
 * at the tail, too (the fence), as every append there does, and of the two the
 * nodes let one pass. So that the one who takes it has his turn, he writes the
 * number first, by itself.
 */
#include "store/mysql.h"

#include "base/arena.h"
#include "base/array.h"

#include <stdlib.h>

/* ----------------------------------------------------------------- changes */

struct telling {
	struct mysql_work work;
	struct mysql_log *log;
	uint64_t since;
	struct grove__arena ids;
	struct grove_change *list;
	size_t nr, cap;
};

static int gather_one(struct mysql_conn *c, struct telling *t, struct mysql_row *row,
		      struct grove_detail *d)
{
	struct grove_change *change;
	char *id = NULL;

	if (grove__array_room(&t->list, &t->cap, t->nr, sizeof(*t->list)) ||
	    (!row->null[3] && !(id = grove__arena_alloc(&t->ids, row->len[3] + 1, 1))))
		return grove__fail_nomem(d);
	change = &t->list[t->nr++];
	*change = (struct grove_change){ .rev = (uint64_t)row->number[0],
					 .lines = (uint64_t)row->number[1],
					 .kind = (enum grove_change_kind)row->number[2] };
	if (!id)
		return 0;
	change->id = grove__slice(id, row->len[3]);
	return grove__mysql_take(c, row, 3, id, row->len[3], d);
}

static int gather(struct mysql_conn *c, struct mysql_work *w, struct grove_detail *d)
{
	struct telling *t = (struct telling *)w;
	int64_t since = t->since > INT64_MAX ? INT64_MAX : (int64_t)t->since;
	const struct mysql_arg arg[] = { grove__mysql_id(t->log->id), grove__mysql_id(t->log->id),
					 grove__mysql_number(since) };
	struct mysql_row row;
	int rc = grove__mysql_ask(c, SQL_CHANGES, arg, 3, &row, d);

	if (rc)
		return rc;
	t->nr = 0;
	while (!(rc = grove__mysql_next(c, &row, d)))
		if ((rc = gather_one(c, t, &row, d)))
			break;
	grove__mysql_done(&row);
	return rc == MYSQL_NONE ? 0 : rc;
}

int grove__mysql_changes(struct grove_log *l, uint64_t since, grove_change_fn *fn, void *payload,
			 struct grove_detail *d)
{
	struct mysql_store *s = grove__mysql_store(l->store);
	struct telling t = { .work = { .fn = gather, .plain = true }, .log = grove__mysql_log(l),
			     .since = since };
	int rc;

	/* `fn` may call us again: copy first */
	grove__arena_init(&t.ids);
	rc = grove__mysql_gone(s, grove__mysql_do(s, &t.work, d), d);
	for (size_t i = 0; i < t.nr && !rc; i++)
		rc = fn(payload, &t.list[i]);
	grove__arena_release(&t.ids);
	free(t.list);
	return rc;
}

/* ------------------------------------------------------------------- lease */

int grove__mysql_may_write(struct mysql_log *log, const struct mysql_end *e, const char *url,
			   struct grove_detail *d)
{
	uint64_t mine = __atomic_load_n(&log->lease, __ATOMIC_ACQUIRE);

	if (mine ? e->lease.number == mine : !*e->lease.owner || e->lease.until <= e->now)
		return 0;
	return grove__log_lease_refused(&e->lease, mine, url, d);
}

struct leasing {
	struct mysql_work work;
	struct mysql_log *log;
	const char *owner;
	int64_t ms;
	struct grove_lease held;   /* how it stands now */
	uint64_t announced;        /* the number that is in the row already, 0: none */
};

static int write_lease(struct mysql_conn *c, struct leasing *k, struct grove_detail *d)
{
	const struct grove_lease *h = &k->held;
	const struct mysql_arg arg[] = {
		*h->owner ? grove__mysql_str(h->owner) : grove__mysql_null(),
		grove__mysql_number((int64_t)h->number),
		grove__mysql_number_or_null(*h->owner, h->until), grove__mysql_id(k->log->id),
	};

	return grove__mysql_run(c, SQL_LEASE, arg, 4, NULL, d);
}

/* The same, if nobody took it since it had the number `before`; else it has to be looked at again. */
static int write_lease_after(struct mysql_conn *c, struct leasing *k, uint64_t before,
			     struct grove_detail *d)
{
	const struct grove_lease *h = &k->held;
	const struct mysql_arg arg[] = {
		grove__mysql_str(h->owner), grove__mysql_number((int64_t)h->number),
		grove__mysql_number(h->until), grove__mysql_id(k->log->id),
		grove__mysql_number((int64_t)before),
	};
	uint64_t changed = 0;
	int rc = grove__mysql_run(c, MY_LEASE, arg, 5, &changed, d);

	return !rc && !changed ? grove__mysql_again(c, d) : rc;
}

static int look(struct mysql_conn *c, struct mysql_work *w, struct grove_detail *d)
{
	struct leasing *k = (struct leasing *)w;
	struct mysql_end e;
	int rc = grove__mysql_end(c, k->log->id, &e, d);

	k->held = e.lease;
	return rc;
}

/*
 * May we take it, or have it already (*mine)? What was announced for us is ours,
 * but for the fence.
 */
static int judge(const struct mysql_conn *c, const struct leasing *k, const struct mysql_end *e,
		 bool *mine, struct grove_detail *d)
{
	uint64_t number = k->log->lease;

	*mine = number && e->lease.number == number;
	if (k->ms && !*mine && *e->lease.owner && e->lease.until > e->now &&
	    strcmp(e->lease.owner, k->owner))
		return grove__log_lease_refused(&e->lease, 0, c->url, d);
	return 0;
}

/* How it is to stand: for us, from now on. */
static void claim(struct leasing *k, const struct mysql_end *e, bool another)
{
	k->held = e->lease;
	memcpy(k->held.owner, k->owner, strlen(k->owner) + 1);
	k->held.number += another;
	k->held.until = e->now + k->ms;
}

/*
 * On a cluster, before the fence: the new number by itself. It conflicts with no
 * append, so it is through at once, and appends under the old number end as soon as
 * their node has it. Without it a holder that appends without a pause on another
 * node would have written to the tail whenever our fence gets there.
 */
static int announce(struct mysql_conn *c, struct leasing *k, struct grove_detail *d)
{
	struct mysql_end e;
	bool mine;
	int rc = grove__mysql_end(c, k->log->id, &e, d);

	if (!rc)
		rc = judge(c, k, &e, &mine, d);
	if (rc || mine || (k->announced && e.lease.number == k->announced))
		return rc;
	claim(k, &e, true);
	rc = write_lease_after(c, k, e.lease.number, d);
	if (!rc)
		k->announced = k->held.number;
	return rc;
}

/* With the session's row locked, and behind the fence. */
static int settle_lease(struct mysql_conn *c, struct mysql_work *w, struct grove_detail *d)
{
	struct leasing *k = (struct leasing *)w;
	bool mine, announced;
	struct mysql_end e;
	int rc = grove__mysql_lock(c, k->log->id, d);

	if (!rc)
		rc = grove__mysql_end(c, k->log->id, &e, d);
	if (rc)
		return rc;
	k->held = e.lease;
	rc = judge(c, k, &e, &mine, d);
	if (rc)
		return rc;
	if (!k->ms) {
		if (!mine)
			return 0;
		k->held = (struct grove_lease){ .number = k->log->lease };
		return write_lease(c, k, d);
	}
	announced = k->announced && e.lease.number == k->announced;
	claim(k, &e, !mine && !announced);
	if (!mine)
		rc = grove__mysql_fence(c, k->log->id, &e, d);
	return rc ? rc : write_lease(c, k, d);
}

/*
 * After an answer that was lost it is simply done again: what we took then we
 * take from ourselves, under a higher number.
 */
static int lease(struct mysql_conn *c, struct mysql_work *w, struct grove_detail *d)
{
	struct leasing *k = (struct leasing *)w;
	int rc = c->cluster && k->ms ? announce(c, k, d) : 0;

	return rc ? rc : grove__mysql_transaction(c, w, settle_lease, d);
}

int grove__mysql_lease(struct grove_log *l, const char *owner, int64_t ms, struct grove_lease *out,
		       struct grove_detail *d)
{
	struct mysql_store *s = grove__mysql_store(l->store);
	struct leasing k = { .work = { .fn = ms < 0 ? look : lease, .plain = true },
			     .log = grove__mysql_log(l), .owner = owner, .ms = ms };
	int rc;

	if (ms >= 0 && !k.log->writable)
		return grove__mysql_read_only(d);
	rc = grove__mysql_gone(s, grove__mysql_do(s, &k.work, d), d);
	*out = k.held;
	if (!rc && ms >= 0)
		__atomic_store_n(&k.log->lease, ms ? k.held.number : 0, __ATOMIC_RELEASE);
	return rc;
}

/* --------------------------------------------------------------- ancestors */

/*
 * One row a step, found by the index over the ids, all in one view. What breaks
 * off goes on where it was if no line was changed meanwhile.
 */
struct climb {
	struct mysql_work work;
	struct mysql_log *log;
	struct grove_buf next;      /* the id that comes next; the last line if it is empty */
	struct grove_buf line;
	char id[GROVE__SQL_ENTRY_ID], parent[GROVE__SQL_ENTRY_ID];
	struct grove_record rec;
	uint64_t generation;
	uint64_t steps;
	uint64_t *been;             /* bits, by seq */
	size_t words;
	grove_record_fn *fn;
	void *payload;
	int told;                   /* what fn said last */
	bool done;
};

/* Was it there before? Then the circle is closed. */
static int mark(struct climb *k, uint64_t seq, bool *before, struct grove_detail *d)
{
	uint64_t word = seq / 64, bit = (uint64_t)1 << seq % 64;

	if (word >= k->words) {
		size_t words = (size_t)word + word / 2 + 16;
		uint64_t *more = seq < (uint64_t)1 << 40 ? realloc(k->been, words * sizeof(*more)) : NULL;

		if (!more)
			return grove__fail_nomem(d);
		memset(more + k->words, 0, (words - k->words) * sizeof(*more));
		k->been = more;
		k->words = words;
	}
	*before = k->been[word] & bit;
	k->been[word] |= bit;
	return 0;
}

static int take_name(struct mysql_conn *c, struct mysql_row *row, unsigned column, char *buf,
		     struct grove_slice *out, struct grove_detail *d)
{
	*out = grove__slice(buf, row->null[column] ? 0 : row->len[column]);
	return grove__mysql_take(c, row, column, buf, GROVE__SQL_ENTRY_ID, d);
}

/* A row of MY_ENTRY into k->rec, a long line aside. MYSQL_NONE: nobody looked at this line. */
static int take_entry(struct mysql_conn *c, struct climb *k, struct mysql_row *row, uint64_t *seq,
		      uint64_t *len, bool *is_long, struct grove_detail *d)
{
	int rc;

	*seq = (uint64_t)row->number[0];
	*len = (uint64_t)row->number[4];
	*is_long = row->null[7];
	if (row->null[2])
		return MYSQL_NONE;
	k->rec = (struct grove_record){ .time = row->null[1] ? GROVE_NO_TIME : row->number[1],
					.kind = (uint8_t)row->number[2],
					.role = row->null[3] ? 0 : (uint8_t)row->number[3] };
	rc = take_name(c, row, 5, k->id, &k->rec.id, d);
	if (!rc)
		rc = take_name(c, row, 6, k->parent, &k->rec.parent, d);
	grove__buf_clear(&k->line);
	if (!rc && grove__buf_reserve(&k->line, (size_t)*len))
		rc = grove__fail_nomem(d);
	if (!rc && !*is_long)
		rc = grove__mysql_take(c, row, 7, k->line.ptr, (size_t)*len, d);
	return rc;
}

/* The entry that comes next. MYSQL_NONE: there is none. */
static int find(struct mysql_conn *c, struct climb *k, uint64_t *seq, struct grove_detail *d)
{
	const struct mysql_arg arg[] = {
		grove__mysql_id(k->log->id), grove__mysql_bytes(grove__slice(k->next.ptr, k->next.len)),
	};
	struct mysql_row row;
	uint64_t len = 0, now;
	bool is_long = false;
	int rc = grove__mysql_first(c, k->next.len ? MY_ENTRY : MY_LAST_ENTRY, arg, k->next.len ? 2 : 1,
				    &row, d);

	if (rc)
		return rc;
	rc = take_entry(c, k, &row, seq, &len, &is_long, d);
	grove__mysql_done(&row);
	if (!rc && is_long)
		rc = grove__mysql_take_line(c, k->log->id, *seq, 0, k->line.ptr, len, &now, d);
	if (rc > 0)
		return grove__fail(d, GROVE_ENOTSUP, c->url, "a line that nobody looked at");
	k->rec.line = grove__slice(k->line.ptr, (size_t)len);
	return rc;
}

static int generation(struct mysql_conn *c, struct climb *k, struct grove_detail *d)
{
	const struct mysql_arg arg = grove__mysql_id(k->log->id);
	struct mysql_row row;
	int rc = grove__mysql_first(c, SQL_SESSION, &arg, 1, &row, d);

	if (rc)
		return rc;
	if (k->steps && (uint64_t)row.number[0] != k->generation)
		rc = grove__fail(d, GROVE_ESTALE, c->url, "the session was rewritten");
	k->generation = (uint64_t)row.number[0];
	grove__mysql_done(&row);
	return rc;
}

static int climb(struct mysql_conn *c, struct mysql_work *w, struct grove_detail *d)
{
	struct climb *k = (struct climb *)w;
	uint64_t seq;
	int rc = k->done ? 0 : generation(c, k, d);

	while (!rc && !k->done) {
		rc = find(c, k, &seq, d);
		if (rc == MYSQL_NONE && !k->steps)
			return grove__fail(d, GROVE_ENOTFOUND, c->url, "no such entry");
		k->done = rc == MYSQL_NONE;
		if (!rc)
			rc = mark(k, seq, &k->done, d);
		if (rc || k->done)
			break;
		k->steps++;
		grove__buf_clear(&k->next);
		if (grove__buf_add_slice(&k->next, k->rec.parent))
			return grove__fail_nomem(d);
		k->told = k->fn(k->payload, seq, &k->rec);
		k->done = k->told || !k->next.len;
	}
	return rc == MYSQL_NONE && k->done ? 0 : rc;
}

int grove__mysql_ancestors(struct grove_log *l, struct grove_slice id, grove_record_fn *fn,
			   void *payload, struct grove_detail *d)
{
	struct mysql_store *s = grove__mysql_store(l->store);
	struct climb k = { .work = { .fn = climb }, .log = grove__mysql_log(l), .fn = fn,
			   .payload = payload };
	int rc;

	if (!grove__sql_plain_id(id))
		return grove__fail(d, GROVE_ENOTSUP, s->place.url, "an id that has no column");
	rc = grove__buf_add_slice(&k.next, id) ? grove__fail_nomem(d) : grove__mysql_do(s, &k.work, d);
	rc = grove__mysql_gone(s, rc, d);
	if (!rc)
		rc = k.told;
	grove__buf_release(&k.next);
	grove__buf_release(&k.line);
	free(k.been);
	return rc;
}
