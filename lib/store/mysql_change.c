/*
 * store/mysql_change.c: changes of a log in a MySQL store that are no appends.
 *
 * Each holds the session's row alone, so that on this server nobody appends
 * meanwhile. The nodes of a cluster do not share locks but compare the keys that
 * were written. So each change also inserts a row at the tail and deletes it
 * again (the fence): an append on another node that did not see the change wrote
 * the same key, fails, and looks again. That makes the number of lines, which is
 * part of what listeners are told, the true one, too.
 *
 * What it was is told by a row of `changes`, under the rev that it led to. By
 * that row a change whose answer was lost is known again, too.
 */
#include "store/mysql.h"

#include "sys/clock.h"

#include <stdlib.h>

int grove__mysql_lock(struct mysql_conn *c, const uint8_t id[GROVE__SQL_ID], struct grove_detail *d)
{
	const struct mysql_arg arg = grove__mysql_id(id);
	struct mysql_row row;
	int rc = grove__mysql_first(c, MY_LOCK, &arg, 1, &row, d);

	if (!rc)
		grove__mysql_done(&row);
	return rc;
}

int grove__mysql_fence(struct mysql_conn *c, const uint8_t id[GROVE__SQL_ID],
		       const struct mysql_end *e, struct grove_detail *d)
{
	const struct grove_record none = { 0 };
	const struct mysql_arg place[] = { grove__mysql_id(id), grove__mysql_number((int64_t)e->tail) };
	struct mysql_arg arg[MYSQL_INSERT];
	int rc;

	grove__mysql_row_of(id, &none, e->tail, e->start, 0, arg);
	rc = grove__mysql_run(c, SQL_INSERT, arg, MYSQL_INSERT, NULL, d);
	/* our view is older than the last append */
	if (rc)
		return grove__mysql_duplicate(c, SQL_INSERT) ? grove__mysql_again(c, d) : rc;
	return grove__mysql_run(c, SQL_CUT, place, 2, NULL, d);
}

/*
 * Is the row that the last try wrote into `changes` there? Where it is not, and
 * lines were changed since, those may have been ours: nobody knows.
 */
static int settle(struct mysql_conn *c, const uint8_t id[GROVE__SQL_ID],
		  const struct mysql_change *k, const struct mysql_end *e, struct grove_detail *d)
{
	const struct mysql_arg arg[] = { grove__mysql_id(id), grove__mysql_number((int64_t)k->rev) };
	struct mysql_row row;
	int rc = grove__mysql_first(c, MY_NOTED, arg, 2, &row, d);

	if (rc < 0)
		return rc;
	if (!rc) {
		if (row.number[0] == (int64_t)k->kind && row.number[1] == k->time &&
		    (uint64_t)row.number[2] == k->lines)
			rc = MYSQL_SETTLED;
		grove__mysql_done(&row);
		return rc;
	}
	if (e->generation != k->was)
		return grove__fail(d, GROVE_EIO, c->url,
				   "the connection broke off and the session was changed: what became of it is unknown");
	return 0;
}

int grove__mysql_change(struct mysql_conn *c, struct mysql_work *w, struct mysql_log *log,
			struct mysql_change *k, struct mysql_end *e, struct grove_detail *d)
{
	int rc = grove__mysql_lock(c, log->id, d);

	if (!rc)
		rc = grove__mysql_end(c, log->id, e, d);
	if (!rc && w->unknown && k->tried)
		rc = settle(c, log->id, k, e, d);
	if (!rc)
		rc = grove__mysql_may_write(log, e, c->url, d);
	return rc ? rc : grove__mysql_fence(c, log->id, e, d);
}

int grove__mysql_changed(struct mysql_conn *c, const uint8_t id[GROVE__SQL_ID],
			 struct mysql_change *k, const struct mysql_end *e,
			 const struct mysql_end *after, struct grove_detail *d)
{
	uint64_t base = grove__sql_next_base(e->base, e->tail, after->tail);
	const struct grove_record about = { .id = k->id };
	struct grove__sql_row row;
	int rc = 0;

	k->was = e->generation;
	k->lines = after->tail;
	k->rev = base + after->tail;
	/* the same in all tries: by it the first is known again even if it arrives after the second */
	if (!k->tried)
		k->time = grove__sys_now_ms();
	k->tried = true;
	grove__sql_row(&about, &row);
	/* nobody asks for what was before: all of it is to be read again */
	if (k->kind == GROVE_CHANGE_RESET) {
		const struct mysql_arg arg = grove__mysql_id(id);

		rc = grove__mysql_run(c, SQL_DROP_CHANGES, &arg, 1, NULL, d);
	}
	if (!rc) {
		const struct mysql_arg arg[] = {
			grove__mysql_id(id), grove__mysql_number((int64_t)k->rev),
			grove__mysql_number((int64_t)k->lines), grove__mysql_number(k->kind),
			grove__mysql_text_or_null(row.id), grove__mysql_number(k->time),
		};

		rc = grove__mysql_run(c, SQL_NOTE, arg, 6, NULL, d);
	}
	if (!rc && k->generation) {
		const struct mysql_arg arg[] = {
			grove__mysql_number((int64_t)base), grove__mysql_number(after->adjust),
			grove__mysql_number_or_null(after->unfinished, (int64_t)after->tail - 1),
			grove__mysql_number(k->time), grove__mysql_id(id),
		};

		rc = grove__mysql_run(c, SQL_CHANGED, arg, 5, NULL, d);
	} else if (!rc) {
		const struct mysql_arg arg[] = { grove__mysql_number((int64_t)base), grove__mysql_id(id) };

		rc = grove__mysql_run(c, SQL_TOUCHED, arg, 2, NULL, d);
	}
	return rc;
}

/* ------------------------------------------------------------- one line */

struct changing {
	struct mysql_work work;
	struct mysql_log *log;
	struct mysql_change change;
	uint64_t pos, expect;
	struct grove_slice was;
	const struct grove_record *rec;
	grove_line_fn *next;
	void *payload;
};

static int make(struct grove_log *l, struct changing *k, mysql_work_fn *fn, struct grove_detail *d)
{
	struct mysql_store *s = grove__mysql_store(l->store);
	int rc;

	k->log = grove__mysql_log(l);
	k->work.fn = fn;
	k->change.generation = true;
	if (!k->log->writable)
		return grove__mysql_read_only(d);
	rc = grove__mysql_do(s, &k->work, d);
	return rc == MYSQL_SETTLED ? 0 : grove__mysql_gone(s, rc, d);
}

static int length_at(struct mysql_conn *c, const struct mysql_log *log, uint64_t pos, uint64_t *out,
		     struct grove_detail *d)
{
	const struct mysql_arg place[] = { grove__mysql_id(log->id), grove__mysql_number((int64_t)pos) };
	struct mysql_row row;
	int rc = pos > INT64_MAX ? MYSQL_NONE : grove__mysql_first(c, SQL_LENGTH, place, 2, &row, d);

	if (rc)
		return rc < 0 ? rc : grove__mysql_no_line(c->url, d);
	*out = (uint64_t)row.number[0];
	grove__mysql_done(&row);
	return 0;
}

static int replace(struct mysql_conn *c, struct mysql_work *w, struct grove_detail *d)
{
	struct changing *k = (struct changing *)w;
	const struct mysql_arg arg[] = { grove__mysql_bytes(k->rec->line), grove__mysql_id(k->log->id),
					 grove__mysql_number((int64_t)k->pos) };
	struct mysql_end e;
	uint64_t len = 0;
	int rc = grove__mysql_change(c, w, k->log, &k->change, &e, d);

	if (!rc)
		rc = length_at(c, k->log, k->pos, &len, d);
	if (!rc && len != k->rec->line.len)
		rc = grove__fail(d, GROVE_EINVAL, c->url, "a line of another length");
	if (!rc)
		rc = grove__mysql_run(c, SQL_REPLACE, arg, 3, NULL, d);
	return rc ? rc : grove__mysql_changed(c, k->log->id, &k->change, &e, &e, d);
}

int grove__mysql_replace(struct grove_log *l, uint64_t pos, struct grove_slice line,
			 enum grove_sync sync, struct grove_detail *d)
{
	const struct grove_record rec = { .line = line };
	struct changing k = { .change.kind = GROVE_CHANGE_NAME, .pos = pos, .rec = &rec };

	(void)sync;
	return make(l, &k, replace, d);
}

/* Is the line still what it was? */
static int compare(struct mysql_conn *c, const struct changing *k, struct grove_detail *d)
{
	uint64_t len = 0;
	char *line;
	int rc = length_at(c, k->log, k->pos, &len, d);
	bool same = !rc && len == k->was.len;

	if (same && len) {
		line = malloc((size_t)len);
		rc = line ? grove__mysql_take_line(c, k->log->id, k->pos, 0, line, len, &len, d)
			  : grove__fail_nomem(d);
		same = !rc && !memcmp(line, k->was.ptr, k->was.len);
		free(line);
		if (rc > 0)
			rc = grove__mysql_no_line(c->url, d);
	}
	if (!rc && !same)
		rc = grove__fail(d, GROVE_ECONFLICT, c->url, "another writer has changed the line");
	return rc;
}

static int update(struct mysql_conn *c, struct mysql_work *w, struct grove_detail *d)
{
	struct changing *k = (struct changing *)w;
	struct mysql_arg row[MYSQL_INSERT], arg[8];
	struct mysql_end e, after;
	int rc = grove__mysql_change(c, w, k->log, &k->change, &e, d);

	if (!rc)
		rc = compare(c, k, d);
	if (rc)
		return rc;
	/* its columns from `time` on, and then where it is */
	grove__mysql_row_of(k->log->id, k->rec, k->pos, 0, 0, row);
	memcpy(arg, row + 4, 6 * sizeof(*arg));
	arg[6] = row[0];
	arg[7] = row[1];
	rc = grove__mysql_run(c, SQL_UPDATE, arg, 8, NULL, d);
	if (rc)
		return rc;
	after = e;
	if (k->pos + 1 < e.tail)
		after.adjust += (int64_t)k->rec->line.len - (int64_t)k->was.len;
	return grove__mysql_changed(c, k->log->id, &k->change, &e, &after, d);
}

/* The rows behind it keep their `start`: what they say too little or too much is `adjust`. */
int grove__mysql_update(struct grove_log *l, uint64_t pos, struct grove_slice was,
			const struct grove_record *rec, enum grove_change_kind kind,
			enum grove_sync sync, struct grove_detail *d)
{
	struct changing k = { .change = { .kind = kind, .id = rec->id }, .pos = pos, .was = was,
			      .rec = rec };

	(void)sync;
	return make(l, &k, update, d);
}

/* ------------------------------------------------------------ many lines */

/* What `adjust` is when the lines from `pos` on are gone. */
static int adjust_of(struct mysql_conn *c, struct changing *k, const struct mysql_end *e,
		     int64_t *out, struct grove_detail *d)
{
	/* from the new last line to the old one, of which `start` is right or does not matter */
	const struct mysql_arg arg[] = { grove__mysql_id(k->log->id),
					 grove__mysql_number((int64_t)k->pos - 1),
					 grove__mysql_number((int64_t)e->tail - 1) };
	const struct mysql_arg id = grove__mysql_id(k->log->id);
	struct mysql_row row;
	int64_t bytes, first, last;
	int rc;

	*out = k->pos ? e->adjust : 0;
	if (!k->pos || k->pos == e->tail)
		return 0;
	rc = grove__mysql_first(c, MY_DRIFT, arg, 3, &row, d);
	if (rc)
		return rc;
	bytes = row.number[0];
	first = row.number[1];
	grove__mysql_done(&row);
	rc = grove__mysql_first(c, SQL_LAST, &id, 1, &row, d);
	if (rc)
		return rc;
	last = row.number[1];
	grove__mysql_done(&row);
	*out -= bytes - (last - first);
	return 0;
}

static int cut(struct mysql_conn *c, struct mysql_work *w, struct grove_detail *d)
{
	struct changing *k = (struct changing *)w;
	const struct mysql_arg place[] = { grove__mysql_id(k->log->id),
					   grove__mysql_number((int64_t)k->pos) };
	struct mysql_end e, after;
	int rc = grove__mysql_change(c, w, k->log, &k->change, &e, d);

	if (rc)
		return rc;
	if (k->expect != e.tail)
		return grove__mysql_moved(c->url, d);
	if (k->pos > e.tail)
		return grove__fail(d, GROVE_EINVAL, c->url, "no line begins there");
	after = e;
	after.tail = k->pos;
	after.unfinished = e.unfinished && k->pos == e.tail;
	rc = adjust_of(c, k, &e, &after.adjust, d);
	if (!rc)
		rc = grove__mysql_run(c, SQL_CUT, place, 2, NULL, d);
	return rc ? rc : grove__mysql_changed(c, k->log->id, &k->change, &e, &after, d);
}

int grove__mysql_cut(struct grove_log *l, uint64_t pos, uint64_t expect, enum grove_sync sync,
		     struct grove_detail *d)
{
	struct changing k = { .change.kind = GROVE_CHANGE_RESET, .pos = pos, .expect = expect };

	(void)sync;
	return make(l, &k, cut, d);
}

/* Records that wait to be sent together; `bytes` has line, id and parent of each. */
struct batch {
	struct grove_buf bytes;
	struct grove_record rec[MYSQL_MANY_ROWS];
	size_t nr;
};

static const char *place_in(struct grove_slice *s, const char *at)
{
	s->ptr = at;
	return at + s->len;
}

static int send_batch(struct mysql_conn *c, struct changing *k, struct batch *b,
		      struct mysql_end *e, int64_t now, struct grove_detail *d)
{
	const char *at = b->bytes.ptr;
	int rc;

	for (size_t i = 0; i < b->nr; i++) {
		at = place_in(&b->rec[i].line, at);
		at = place_in(&b->rec[i].id, at);
		at = place_in(&b->rec[i].parent, at);
	}
	rc = grove__mysql_insert_rows(c, k->log->id, b->rec, b->nr, e, now, d);
	b->nr = 0;
	grove__buf_clear(&b->bytes);
	return rc;
}

static int rewrite_lines(struct mysql_conn *c, struct changing *k, struct batch *b,
			 struct mysql_end *e, struct grove_detail *d)
{
	int64_t now = grove__sys_now_ms();
	struct grove_record rec;
	size_t len;
	int rc = 0;

	while (!rc && !(rc = k->next(k->payload, &rec))) {
		/* never asked for the same line twice: from here on there is no second try */
		k->work.once = true;
		len = rec.line.len + rec.id.len + rec.parent.len;
		rc = grove__mysql_fits(c, len, d);
		if (!rc && (b->nr == MYSQL_MANY_ROWS || b->bytes.len + len > MYSQL_MANY_BYTES))
			rc = send_batch(c, k, b, e, now, d);
		if (!rc && (grove__buf_add_slice(&b->bytes, rec.line) ||
			    grove__buf_add_slice(&b->bytes, rec.id) ||
			    grove__buf_add_slice(&b->bytes, rec.parent)))
			rc = grove__fail_nomem(d);
		if (!rc)
			b->rec[b->nr++] = rec;
	}
	k->work.once = true;
	if (rc == 1)
		rc = send_batch(c, k, b, e, now, d);
	return rc;
}

static int rewrite(struct mysql_conn *c, struct mysql_work *w, struct grove_detail *d)
{
	struct changing *k = (struct changing *)w;
	const struct mysql_arg place[] = { grove__mysql_id(k->log->id), grove__mysql_number(0) };
	struct mysql_end e, anew;
	struct batch *b;
	int rc = grove__mysql_change(c, w, k->log, &k->change, &e, d);

	if (!rc && k->expect != GROVE_ANY_POS && k->expect != e.tail)
		rc = grove__mysql_moved(c->url, d);
	if (!rc)
		rc = grove__mysql_run(c, SQL_CUT, place, 2, NULL, d);
	if (rc)
		return rc;
	b = calloc(1, sizeof(*b));
	if (!b)
		return grove__fail_nomem(d);
	memset(&anew, 0, sizeof(anew));
	rc = rewrite_lines(c, k, b, &anew, d);
	grove__buf_release(&b->bytes);
	free(b);
	return rc ? rc : grove__mysql_changed(c, k->log->id, &k->change, &e, &anew, d);
}

/* Only to see whether the answer to a commit that was lost would have been a good one. */
static int look_back(struct mysql_conn *c, struct mysql_work *w, struct grove_detail *d)
{
	struct changing *k = (struct changing *)w;
	struct mysql_end e;
	int rc = grove__mysql_end(c, k->log->id, &e, d);

	return rc ? rc : settle(c, k->log->id, &k->change, &e, d);
}

/*
 * One transaction: `next` may read this very log meanwhile, by another
 * connection, and finds it as it was. Who else has it open finds another
 * generation, and goes on from there.
 */
int grove__mysql_rewrite(struct grove_log *l, grove_line_fn *next, void *payload, uint64_t expect,
			 unsigned flags, struct grove_detail *d)
{
	struct mysql_store *s = grove__mysql_store(l->store);
	struct changing k = { .change.kind = GROVE_CHANGE_RESET, .expect = expect, .next = next,
			      .payload = payload };
	int rc;

	(void)flags;
	rc = make(l, &k, rewrite, d);
	if (rc < 0 && k.work.unknown && k.change.tried) {
		struct changing past = { .work = { .fn = look_back, .plain = true }, .log = k.log,
					 .change = k.change };

		if (grove__mysql_do(s, &past.work, NULL) == MYSQL_SETTLED)
			return 0;
	}
	return rc;
}
