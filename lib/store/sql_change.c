/*
 * store/sql_change.c: changes of a log in a database that are not appends.
 *
 * Each locks the session's row, so that nobody appends meanwhile, and on a server with
 * several nodes uses a fence (mysql_lines.c) that no earlier append can pass. That
 * makes the number of lines, which is reported to watchers, correct.
 *
 * Each change is recorded in a row of `changes`, under the rev that it led to. That row
 * also identifies a change whose answer was lost.
 */
#include "store/sql.h"

#include "sys/clock.h"

#include <stdlib.h>

int grove__sql_lock(struct sql_conn *c, const uint8_t id[GROVE__SQL_ID], struct grove_detail *d)
{
	const struct sql_arg arg = grove__sql_id(id);
	struct sql_row row;
	int rc = grove__sql_first(c, SQL_LOCK, &arg, 1, &row, d);

	if (!rc)
		c->driver->done(&row);
	return rc;
}

static int fence(struct sql_conn *c, const uint8_t id[GROVE__SQL_ID], const struct sql_end *e,
		 struct grove_detail *d)
{
	return c->driver->fence ? c->driver->fence(c, id, e, d) : 0;
}

int grove__sql_hold(struct sql_conn *c, const uint8_t id[GROVE__SQL_ID], struct sql_end *e,
		    struct grove_detail *d)
{
	int rc = grove__sql_lock(c, id, d);

	if (!rc)
		rc = grove__sql_end(c, id, e, d);
	return rc ? rc : fence(c, id, e, d);
}

/*
 * Checks whether the row that the last try wrote into `changes` exists. If it does not,
 * and lines have changed since, those changes may have been ours: the outcome is
 * unknown.
 */
static int settle(struct sql_conn *c, const uint8_t id[GROVE__SQL_ID], const struct sql_change *k,
		  const struct sql_end *e, struct grove_detail *d)
{
	const struct sql_arg arg[] = { grove__sql_id(id), grove__sql_number((int64_t)k->rev) };
	struct sql_row row;
	int rc = grove__sql_first(c, SQL_NOTED, arg, 2, &row, d);

	if (rc < 0)
		return rc;
	if (!rc) {
		if (row.number[0] == (int64_t)k->kind && row.number[1] == k->time &&
		    (uint64_t)row.number[2] == k->lines)
			rc = GROVE__SQL_SETTLED;
		c->driver->done(&row);
		return rc;
	}
	if (e->generation != k->was)
		return grove__fail(d, GROVE_EIO, c->where,
				   "the connection was lost and the session has changed since: "
				   "it is unknown whether this was stored");
	return 0;
}

int grove__sql_change(struct sql_conn *c, struct sql_work *w, struct sql_log *log,
		      struct sql_change *k, struct sql_end *e, struct grove_detail *d)
{
	int rc = c->driver->alone ? 0 : grove__sql_lock(c, log->id, d);

	if (!rc)
		rc = grove__sql_end_of(c, log, e, d);
	if (!rc && w->unknown && k->tried)
		rc = settle(c, log->id, k, e, d);
	if (!rc)
		rc = grove__sql_may_write(c, log, e, d);
	return rc ? rc : fence(c, log->id, e, d);
}

/*
 * Writes a row of `changes`. A reset deletes the earlier ones, since everything has to
 * be read again.
 */
static int note(struct sql_conn *c, const uint8_t id[GROVE__SQL_ID], const struct sql_change *k,
		struct grove_detail *d)
{
	const struct sql_arg arg[] = {
		grove__sql_id(id), grove__sql_number((int64_t)k->rev),
		grove__sql_number((int64_t)k->lines), grove__sql_number(k->kind),
		grove__sql_plain_id(k->id) ? grove__sql_text_or_null(k->id) : grove__sql_null(),
		grove__sql_number(k->time),
	};
	int rc = 0;

	if (k->kind == GROVE_CHANGE_RESET)
		rc = c->driver->run(c, SQL_DROP_CHANGES, arg, 1, NULL, d);
	return rc ? rc : c->driver->run(c, SQL_NOTE, arg, 6, NULL, d);
}

/* Updates the row of the session; with `generation`, also for changed lines. */
static int count(struct sql_conn *c, const uint8_t id[GROVE__SQL_ID], const struct sql_change *k,
		 const struct sql_end *after, struct grove_detail *d)
{
	const struct sql_arg base = grove__sql_number((int64_t)after->base);
	const struct sql_arg touched[] = { base, grove__sql_id(id) };
	const struct sql_arg changed[] = {
		base, grove__sql_number(after->adjust),
		grove__sql_number_or_null(after->unfinished, (int64_t)after->tail - 1),
		grove__sql_number(k->time), grove__sql_id(id),
	};

	return k->generation ? c->driver->run(c, SQL_CHANGED, changed, 5, NULL, d)
			     : c->driver->run(c, SQL_TOUCHED, touched, 2, NULL, d);
}

int grove__sql_changed(struct sql_conn *c, const uint8_t id[GROVE__SQL_ID], struct sql_change *k,
		       const struct sql_end *e, struct sql_end *after, struct grove_detail *d)
{
	int rc;

	k->was = e->generation;
	after->base = grove__sql_next_base(e->base, e->tail, after->tail);
	after->generation = k->was + k->generation;
	k->lines = after->tail;
	k->rev = after->base + after->tail;
	/*
	 * the same in all tries, to recognize the first one even if it arrives after
	 * the second
	 */
	if (!k->tried)
		k->time = grove__sys_now_ms();
	k->tried = true;
	rc = note(c, id, k, d);
	return rc ? rc : count(c, id, k, after, d);
}

/* ------------------------------------------------------------- one line */

struct changing {
	struct sql_work work;
	struct sql_log *log;
	struct sql_change change;
	uint64_t pos, expect;
	struct grove_slice was;
	const struct grove_store_record *rec;
	grove_line_fn *next;
	void *payload;
};

static int make(struct grove_store_log *l, struct changing *k, sql_work_fn *fn,
		enum grove_sync sync, struct grove_detail *d)
{
	struct sql_store *s = grove__sql_store(l->store);
	int rc;

	k->log = grove__sql_log(l);
	k->work.fn = fn;
	k->work.mode = SQL_WRITE;
	k->change.generation = true;
	if (!k->log->writable)
		return grove__sql_read_only(d);
	rc = s->driver->work(s, &k->work, d);
	if (rc && rc != GROVE__SQL_SETTLED)
		return grove__sql_gone(s, rc, d);
	return grove__sql_settle(s, sync, d);
}

/* Called after the change; the log now ends like this. */
static int made(struct sql_conn *c, struct changing *k, const struct sql_end *e,
		const struct sql_end *after, struct grove_detail *d)
{
	k->work.ended = k->log;
	k->work.end = *after;
	return grove__sql_changed(c, k->log->id, &k->change, e, &k->work.end, d);
}

static int length_at(struct sql_conn *c, const struct changing *k, const struct sql_end *e,
		     uint64_t *out, struct grove_detail *d)
{
	const struct sql_arg place[] = { grove__sql_id(k->log->id), grove__sql_number((int64_t)k->pos) };
	struct sql_row row;
	int rc = k->pos >= e->tail ? GROVE__SQL_NONE
				   : grove__sql_first(c, SQL_LENGTH, place, 2, &row, d);

	if (rc)
		return rc < 0 ? rc : grove__sql_no_line(c->where, d);
	*out = (uint64_t)row.number[0];
	c->driver->done(&row);
	return 0;
}

static int replace(struct sql_conn *c, struct sql_work *w, struct grove_detail *d)
{
	struct changing *k = (struct changing *)w;
	const struct sql_arg arg[] = { grove__sql_bytes(k->rec->line), grove__sql_id(k->log->id),
				       grove__sql_number((int64_t)k->pos) };
	struct sql_end e;
	uint64_t len = 0;
	int rc = grove__sql_change(c, w, k->log, &k->change, &e, d);

	if (!rc)
		rc = length_at(c, k, &e, &len, d);
	if (!rc && len != k->rec->line.len)
		rc = grove__fail(d, GROVE_EINVAL, c->where, "the new line must have the length of the old one");
	if (!rc)
		rc = c->driver->run(c, SQL_REPLACE, arg, 3, NULL, d);
	return rc ? rc : made(c, k, &e, &e, d);
}

int grove__sql_replace(struct grove_store_log *l, uint64_t pos, struct grove_slice line,
		       enum grove_sync sync, struct grove_detail *d)
{
	const struct grove_store_record rec = { .line = line };
	struct changing k = { .change.kind = GROVE_CHANGE_NAME, .pos = pos, .rec = &rec };

	return make(l, &k, replace, sync, d);
}

/* Checks that the line has not changed. */
static int compare(struct sql_conn *c, const struct changing *k, const struct sql_end *e,
		   struct grove_detail *d)
{
	uint64_t len = 0;
	char *line;
	int rc = length_at(c, k, e, &len, d);
	bool same = !rc && len == k->was.len;

	if (same && len) {
		line = malloc((size_t)len);
		rc = line ? c->driver->piece(c, k->log->id, k->pos, 0, line, len, &len, d)
			  : grove__fail_nomem(d);
		same = !rc && !memcmp(line, k->was.ptr, k->was.len);
		free(line);
		if (rc > 0)
			rc = grove__sql_no_line(c->where, d);
	}
	if (!rc && !same)
		rc = grove__fail(d, GROVE_ECONFLICT, c->where, "another writer changed the line first");
	return rc;
}

/*
 * The rows after it keep their `start`: changing them all would make the update of a
 * line as expensive as a rewrite. The difference goes into `adjust`, unless it is the
 * last line.
 */
static int update(struct sql_conn *c, struct sql_work *w, struct grove_detail *d)
{
	struct changing *k = (struct changing *)w;
	int64_t longer = (int64_t)k->rec->line.len - (int64_t)k->was.len;
	struct sql_arg row[SQL_INSERT_ARGS], arg[8];
	struct sql_end e, after;
	int rc = grove__sql_change(c, w, k->log, &k->change, &e, d);

	if (!rc)
		rc = compare(c, k, &e, d);
	if (rc)
		return rc;
	/* its columns from `time` on, and then its key */
	grove__sql_row_of(k->log->id, k->rec, k->pos, 0, 0, row);
	memcpy(arg, row + SQL_INSERT_TIME, 6 * sizeof(*arg));
	arg[6] = row[0];
	arg[7] = row[1];
	rc = c->driver->run(c, SQL_UPDATE, arg, 8, NULL, d);
	if (rc)
		return rc;
	after = e;
	if (k->pos + 1 < e.tail)
		after.adjust += longer;
	else
		after.start = (uint64_t)((int64_t)e.start + longer);
	return made(c, k, &e, &after, d);
}

int grove__sql_update(struct grove_store_log *l, uint64_t pos, struct grove_slice was,
		      const struct grove_store_record *rec, enum grove_change_kind kind,
		      enum grove_sync sync, struct grove_detail *d)
{
	struct changing k = { .change = { .kind = kind, .id = rec->id }, .pos = pos, .was = was,
			      .rec = rec };

	return make(l, &k, update, sync, d);
}

/* ------------------------------------------------------------ many lines */

/*
 * Computes `adjust` without the lines from `pos` on: subtracts what the lines between
 * the new last one and the old one, which does not count, have added.
 */
static int adjust_of(struct sql_conn *c, const struct changing *k, const struct sql_end *e,
		     int64_t *out, struct grove_detail *d)
{
	const struct sql_arg arg[] = { grove__sql_id(k->log->id), grove__sql_number((int64_t)k->pos - 1),
				       grove__sql_number((int64_t)e->tail - 1) };
	struct sql_row row;
	int64_t bytes, first, last;
	int rc;

	*out = k->pos ? e->adjust : 0;
	if (!k->pos || k->pos == e->tail)
		return 0;
	rc = grove__sql_first(c, SQL_DRIFT, arg, 3, &row, d);
	if (rc)
		return rc;
	bytes = row.number[0];
	first = row.number[1];
	c->driver->done(&row);
	rc = grove__sql_first(c, SQL_LAST, arg, 1, &row, d);
	if (rc)
		return rc;
	last = row.number[1];
	c->driver->done(&row);
	*out -= bytes - (last - first);
	return 0;
}

static int cut(struct sql_conn *c, struct sql_work *w, struct grove_detail *d)
{
	struct changing *k = (struct changing *)w;
	const struct sql_arg place[] = { grove__sql_id(k->log->id), grove__sql_number((int64_t)k->pos) };
	struct sql_end e, after;
	int rc = grove__sql_change(c, w, k->log, &k->change, &e, d);

	if (rc)
		return rc;
	if (k->expect != e.tail)
		return grove__sql_moved(c, d);
	if (k->pos > e.tail)
		return grove__fail(d, GROVE_EINVAL, c->where, "no line begins there");
	after = e;
	after.tail = k->pos;
	after.unfinished = e.unfinished && k->pos == e.tail;
	rc = adjust_of(c, k, &e, &after.adjust, d);
	if (!rc)
		rc = c->driver->run(c, SQL_CUT, place, 2, NULL, d);
	/* where the next row would start is unknown */
	return rc ? rc : grove__sql_changed(c, k->log->id, &k->change, &e, &after, d);
}

int grove__sql_cut(struct grove_store_log *l, uint64_t pos, uint64_t expect, enum grove_sync sync,
		   struct grove_detail *d)
{
	struct changing k = { .change.kind = GROVE_CHANGE_RESET, .pos = pos, .expect = expect };

	return make(l, &k, cut, sync, d);
}

/* Records to be sent together; `bytes` has line, id and parent of each. */
struct batch {
	struct grove_buf bytes;
	struct grove_store_record *rec;
	size_t nr;
};

static const char *place_in(struct grove_slice *s, const char *at)
{
	s->ptr = at;
	return at + s->len;
}

static int send_batch(struct sql_conn *c, struct changing *k, struct batch *b, struct sql_end *e,
		      int64_t now, struct grove_detail *d)
{
	const char *at = b->bytes.ptr;
	int rc;

	for (size_t i = 0; i < b->nr; i++) {
		at = place_in(&b->rec[i].line, at);
		at = place_in(&b->rec[i].id, at);
		at = place_in(&b->rec[i].parent, at);
	}
	rc = c->driver->insert(c, k->log->id, b->rec, b->nr, e, now, d);
	b->nr = 0;
	grove__buf_clear(&b->bytes);
	return rc;
}

/* Collects a record, or sends it at once if nothing is gained by waiting. */
static int add_to_batch(struct sql_conn *c, struct changing *k, struct batch *b,
			const struct grove_store_record *rec, struct sql_end *e, int64_t now,
			struct grove_detail *d)
{
	size_t len = rec->line.len + rec->id.len + rec->parent.len;
	int rc = c->driver->fits ? c->driver->fits(c, len, d) : 0;

	if (!rc && c->driver->insert_rows == 1)
		return c->driver->insert(c, k->log->id, rec, 1, e, now, d);
	if (!rc && (b->nr == c->driver->insert_rows || b->bytes.len + len > c->driver->insert_bytes))
		rc = send_batch(c, k, b, e, now, d);
	if (!rc && (grove__buf_add_slice(&b->bytes, rec->line) ||
		    grove__buf_add_slice(&b->bytes, rec->id) ||
		    grove__buf_add_slice(&b->bytes, rec->parent)))
		rc = grove__fail_nomem(d);
	if (!rc)
		b->rec[b->nr++] = *rec;
	return rc;
}

static int rewrite_lines(struct sql_conn *c, struct changing *k, struct sql_end *e,
			 struct grove_detail *d)
{
	int64_t now = grove__sys_now_ms();
	struct batch b = { .rec = calloc(c->driver->insert_rows, sizeof(*b.rec)) };
	struct grove_store_record rec;
	int rc = b.rec ? 0 : grove__fail_nomem(d);

	while (!rc && !(rc = k->next(k->payload, &rec))) {
		/*
		 * the same line is never requested twice: from here on there is no
		 * second try
		 */
		k->work.once = true;
		rc = add_to_batch(c, k, &b, &rec, e, now, d);
	}
	k->work.once = true;
	if (rc == 1)
		rc = b.nr ? send_batch(c, k, &b, e, now, d) : 0;
	grove__buf_release(&b.bytes);
	free(b.rec);
	return rc;
}

/*
 * One transaction: `next` may read this log meanwhile, over another connection, and
 * sees its old state. It must not write to this store. Other handles find another
 * generation and continue from there.
 */
static int rewrite(struct sql_conn *c, struct sql_work *w, struct grove_detail *d)
{
	struct changing *k = (struct changing *)w;
	const struct sql_arg place[] = { grove__sql_id(k->log->id), grove__sql_number(0) };
	struct sql_end e, anew;
	int rc = grove__sql_change(c, w, k->log, &k->change, &e, d);

	if (!rc && k->expect != GROVE_ANY_POS && k->expect != e.tail)
		rc = grove__sql_moved(c, d);
	if (!rc)
		rc = c->driver->run(c, SQL_CUT, place, 2, NULL, d);
	if (rc)
		return rc;
	anew = e;
	anew.tail = anew.start = 0;
	anew.adjust = 0;
	anew.unfinished = false;
	rc = rewrite_lines(c, k, &anew, d);
	return rc ? rc : made(c, k, &e, &anew, d);
}

/* Finds out whether a commit whose answer was lost has succeeded. */
static int look_back(struct sql_conn *c, struct sql_work *w, struct grove_detail *d)
{
	struct changing *k = (struct changing *)w;
	struct sql_end e;
	int rc = grove__sql_end(c, k->log->id, &e, d);

	return rc ? rc : settle(c, k->log->id, &k->change, &e, d);
}

int grove__sql_rewrite(struct grove_store_log *l, grove_line_fn *next, void *payload,
		       uint64_t expect, unsigned flags, struct grove_detail *d)
{
	struct sql_store *s = grove__sql_store(l->store);
	struct changing k = { .change.kind = GROVE_CHANGE_RESET, .expect = expect, .next = next,
			      .payload = payload };
	int rc = make(l, &k, rewrite, GROVE_SYNC_ALWAYS, d);

	(void)flags;
	if (rc < 0 && k.work.unknown && k.change.tried) {
		struct changing past = { .work = { .fn = look_back, .mode = SQL_READ }, .log = k.log,
					 .change = k.change };

		if (s->driver->work(s, &past.work, NULL) == GROVE__SQL_SETTLED)
			return 0;
	}
	return rc;
}
