/*
 * store/mysql_lines.c: the lines of a log on a MySQL server, and how writers on one
 * server, or on several nodes of a cluster, avoid conflicts.
 *
 * Why an append is one INSERT … SELECT. Within a generation a log only grows. So a
 * writer that saw its tail at N and inserts a row N while the generation is unchanged
 * leaves no gap, and of two that do so the primary key lets one succeed. MY_APPEND does
 * that in one statement, and so in one round trip and without an explicit transaction:
 * it selects from the session's row, and inserts only if that has this generation, this
 * rev, and nobody else's lease. It holds a shared lock on the row, as other appends do,
 * until it is done; all other changes lock it exclusively (sql_change.c). If it stores
 * nothing, the end is read again to find out why.
 *
 * When a connection breaks, it is unknown whether the row was stored. It was if row N
 * is ours, by bytes and time. If there is no row N, the same one is sent again, so that
 * even an insert that is still under way cannot store it twice. If row N is somebody
 * else's, ours was not stored and never will be.
 *
 * The nodes of a cluster do not share locks but compare the keys that were written. So
 * each other change also inserts a row at the tail and deletes it again (the fence): an
 * append on another node that did not see the change has written the same key, fails,
 * and reads again.
 */
#include "store/mysql.h"

#include <stdlib.h>

/* ------------------------------------------------------------------ reading */

/* Takes a piece that fits into one answer. */
static int take_piece(struct sql_conn *c, const uint8_t id[GROVE__SQL_ID], uint64_t seq,
		      uint64_t off, char *buf, uint64_t len, uint64_t *line, struct grove_detail *d)
{
	const struct sql_arg arg[] = { grove__sql_number((int64_t)off + 1),
				       grove__sql_number((int64_t)len), grove__sql_id(id),
				       grove__sql_number((int64_t)seq) };
	struct sql_row row;
	int rc = grove__sql_first(c, MY_PIECE, arg, 4, &row, d);

	if (rc)
		return rc;
	*line = (uint64_t)row.number[0];
	if (off > *line || len > *line - off)
		rc = GROVE__SQL_NONE;
	else if (row.null[1] || row.len[1] != len)
		rc = grove__sql_wrong_length(c, d);
	else
		rc = grove__sql_take(c, &row, 1, buf, (size_t)len, d);
	grove__mysql_done(&row);
	return rc;
}

int grove__mysql_piece(struct sql_conn *c, const uint8_t id[GROVE__SQL_ID], uint64_t seq,
		       uint64_t off, char *buf, uint64_t len, uint64_t *line,
		       struct grove_detail *d)
{
	uint64_t most = grove__mysql_conn(c)->packet - GROVE__MYSQL_BESIDE;
	int rc;

	do {
		uint64_t n = len < most ? len : most;

		rc = take_piece(c, id, seq, off, buf, n, line, d);
		off += n;
		buf += n;
		len -= n;
	} while (!rc && len);
	return rc;
}

/*
 * Takes one row of MY_LINES into the buffer. GROVE__SQL_NONE: it does not fit, or is
 * read separately.
 */
static int take_row(struct sql_conn *c, struct sql_row *row, struct sql_reading *r, bool *is_long,
		    struct grove_detail *d)
{
	struct grove_store_run *run = r->run;
	uint64_t len = (uint64_t)row->number[2];
	int rc;

	if ((uint64_t)row->number[1] != run->next)
		return grove__sql_missing_line(c, run->next, d);
	if (len >= r->cap - run->len)
		return GROVE__SQL_NONE;
	*is_long = row->null[3];
	if (*is_long)
		return GROVE__SQL_NONE;
	if (row->len[3] != len)
		return grove__sql_wrong_length(c, d);
	rc = grove__sql_take(c, row, 3, r->buf + run->len, (size_t)len, d);
	if (!rc)
		grove__sql_add_line(r, (size_t)len);
	return rc;
}

/* Takes a long line, if it is the first; the next one is not requested. */
static int take_long_line(struct sql_conn *c, struct sql_reading *r, uint64_t len,
			  struct grove_detail *d)
{
	uint64_t line;
	int rc = grove__mysql_piece(c, r->log->id, r->run->next, 0, r->buf, len, &line, d);

	if (!rc && line != len)
		rc = GROVE__SQL_NONE;
	if (rc)
		return rc < 0 ? rc : grove__sql_no_line(c->where, d);
	grove__sql_add_line(r, (size_t)len);
	return 0;
}

/* Returns how many lines to ask for: more than fit would be sent for nothing. */
static uint64_t worth(const struct sql_reading *r)
{
	uint64_t left = r->cap - r->run->len, from = r->run->next;
	uint64_t mean = grove__sql_bytes_in(&r->end) / r->end.tail + 1;
	uint64_t n = left / mean + left / mean / 2 + 2;

	return r->until - from < n ? r->until : from + n;
}

/* One query for lines, and what of the answer fits. */
struct answer {
	bool full;        /* no more fits */
	bool is_long;     /* the next line is read separately, */
	uint64_t len;     /* and has this many bytes */
};

static int ask_lines(struct sql_conn *c, struct sql_reading *r, struct answer *a,
		     struct grove_detail *d)
{
	struct grove_store_run *run = r->run;
	const struct sql_arg from = grove__sql_number((int64_t)run->next);
	const struct sql_arg arg[] = {
		grove__sql_id(r->log->id), from, grove__sql_number((int64_t)worth(r)),
		grove__sql_number((int64_t)(r->cap - run->len)), grove__sql_id(r->log->id), from,
	};
	struct sql_row row;
	int rc = grove__mysql_ask(c, MY_LINES, arg, 6, &row, d);

	if (rc)
		return rc;
	while (!(rc = grove__mysql_next(c, &row, d))) {
		r->other = (uint64_t)row.number[0] != r->end.generation;
		a->len = (uint64_t)row.number[2];
		rc = r->other ? GROVE__SQL_NONE : take_row(c, &row, r, &a->is_long, d);
		a->full = rc == GROVE__SQL_NONE;
		if (rc || run->next == r->until)
			break;
	}
	grove__mysql_done(&row);
	return rc < 0 ? rc : 0;
}

int grove__mysql_read(struct sql_conn *c, struct sql_reading *r, struct grove_detail *d)
{
	struct grove_store_run *run = r->run;
	struct answer a = { .full = false };
	uint64_t before;
	int rc;

	/* updated lines may be shorter than `start` says, so more may fit */
	do {
		before = run->next;
		rc = ask_lines(c, r, &a, d);
	} while (!rc && !a.full && before < run->next && run->next < r->until && run->len < r->cap);
	return !rc && a.is_long && !r->other && run->next == r->pos ? take_long_line(c, r, a.len, d) : rc;
}

/* ---------------------------------------------------------------- appending */

static size_t bytes_of(const struct grove_store_record *rec)
{
	return rec->line.len + 2 * GROVE__SQL_ENTRY_ID + 128;
}

int grove__mysql_insert(struct sql_conn *base, const uint8_t id[GROVE__SQL_ID],
			const struct grove_store_record *rec, size_t nr, struct sql_end *e,
			int64_t now, struct grove_detail *d)
{
	struct mysql_conn *c = grove__mysql_conn(base);
	size_t most = c->packet / 2 < GROVE__MYSQL_BYTES ? c->packet / 2 : GROVE__MYSQL_BYTES;
	size_t cap = nr < GROVE__MYSQL_ROWS ? nr : GROVE__MYSQL_ROWS;
	struct sql_arg *arg = calloc(cap ? cap : 1, SQL_INSERT_ARGS * sizeof(*arg));
	int rc = arg ? 0 : grove__fail_nomem(d);

	while (nr && !rc) {
		unsigned rows = 0;
		size_t bytes = 0;

		while (rows < cap && rows < nr && (!rows || bytes + bytes_of(&rec[rows]) <= most)) {
			grove__sql_row_of(id, &rec[rows], e->tail, e->start, now,
					  arg + (size_t)rows * SQL_INSERT_ARGS);
			bytes += bytes_of(&rec[rows]);
			e->tail++;
			e->start += rec[rows].line.len + 1;
			rows++;
		}
		rc = grove__mysql_insert_many(c, arg, SQL_INSERT_ARGS, rows, d);
		rec += rows;
		nr -= rows;
	}
	free(arg);
	return rc;
}

/* Checks whether the row at `seq` is this one. GROVE__SQL_NONE: there is no such row. */
static int same_row(struct sql_conn *c, const struct sql_appending *a, bool *same,
		    struct grove_detail *d)
{
	const struct sql_arg arg[] = { grove__sql_id(a->log->id), grove__sql_number((int64_t)a->sent_at) };
	struct grove_slice line = a->rec[0].line;
	struct sql_row row;
	char *bytes = NULL;
	int rc = grove__sql_first(c, MY_SAME, arg, 2, &row, d);

	*same = false;
	if (rc)
		return rc;
	if (row.number[0] == a->now && row.len[1] == line.len) {
		bytes = malloc(line.len + 1);
		rc = bytes ? grove__sql_take(c, &row, 1, bytes, line.len, d) : grove__fail_nomem(d);
		*same = !rc && (!line.len || !memcmp(bytes, line.ptr, line.len));
	}
	grove__mysql_done(&row);
	free(bytes);
	return rc;
}

/*
 * Sends the first row through MY_APPEND, the others after it. GROVE__SQL_NONE: the end
 * is elsewhere.
 */
static int try_append(struct sql_conn *c, struct sql_work *w, struct grove_detail *d)
{
	enum { ID = SQL_INSERT_ARGS - 1, NR = ID + 6 };
	struct sql_appending *a = (struct sql_appending *)w;
	struct sql_end e = w->end;
	uint64_t lease = __atomic_load_n(&a->log->lease, __ATOMIC_ACQUIRE);
	struct sql_arg arg[NR];
	uint64_t changed = 0;
	int rc = 0;

	for (size_t i = 0; i < a->nr && !rc; i++)
		rc = grove__mysql_fits(c, bytes_of(&a->rec[i]), d);
	if (rc)
		return rc;
	grove__sql_row_of(a->log->id, a->rec, e.tail, e.start, a->now, arg);
	memmove(arg, arg + 1, ID * sizeof(*arg));
	arg[ID] = grove__sql_id(a->log->id);
	arg[ID + 1] = grove__sql_number((int64_t)e.generation);
	arg[ID + 2] = grove__sql_number((int64_t)e.base);
	arg[ID + 3] = grove__sql_number_or_null(e.unfinished_row >= 0, e.unfinished_row);
	arg[ID + 4] = arg[ID + 5] = grove__sql_number((int64_t)lease);
	a->sent = true;
	a->sent_at = e.tail;
	a->sent_generation = e.generation;
	rc = grove__mysql_run(c, MY_APPEND, arg, NR, &changed, d);
	if (rc)
		return grove__mysql_duplicate(c, MY_APPEND) ? GROVE__SQL_NONE : rc;
	if (!changed)
		return GROVE__SQL_NONE;
	e.tail++;
	e.start += a->rec[0].line.len + 1;
	if (a->nr > 1)
		rc = grove__mysql_insert(c, a->log->id, a->rec + 1, a->nr - 1, &e, a->now, d);
	if (rc)
		return grove__mysql_conn(c)->trouble || !grove__mysql_duplicate(c, MY_MANY)
			       ? rc : GROVE__SQL_NONE;
	e.unfinished = false;
	w->end = e;
	return 0;
}

/*
 * An earlier try was interrupted; w->end is up to date. Sets *ours if it was stored.
 * Otherwise it was refused, or may be tried again at the same place.
 */
static int settle(struct sql_conn *c, struct sql_appending *a, bool *ours, struct grove_detail *d)
{
	int rc = same_row(c, a, ours, d);

	if (rc < 0 || *ours)
		return rc;
	if (a->work.end.generation != a->sent_generation)
		return grove__fail(d, GROVE_EIO, c->where,
				   "the connection was lost and the session has changed since: "
				   "it is unknown whether this was stored");
	if (a->work.end.tail <= a->sent_at)
		return 0;
	/* somebody else's: ours was refused, or will be when it arrives */
	a->work.unknown = a->sent = false;
	return 0;
}

static void give_place(struct sql_appending *a, uint64_t pos, bool pad)
{
	a->out->pos = pos;
	a->out->tail = pos + a->nr;
	a->out->pad = pad;
}

/* Reads the end, and checks that we may append there. *ours: an earlier try has done so. */
static int look_at_end(struct sql_conn *c, struct sql_appending *a, bool *ours,
		       struct grove_detail *d)
{
	int rc = grove__sql_end(c, a->log->id, &a->work.end, d);

	if (!rc && a->work.unknown && a->sent)
		rc = settle(c, a, ours, d);
	if (!rc && !*ours)
		rc = grove__sql_may_write(c, a->log, &a->work.end, d);
	return rc;
}

/*
 * Appends at the current end, or where it was after our last append: then the statement
 * itself checks.
 */
static int append_at_end(struct sql_conn *c, struct sql_appending *a, bool known,
			 struct grove_detail *d)
{
	struct sql_work *w = &a->work;
	bool ours = false;
	int rc = 0;

	for (;; known = false) {
		if (!known)
			rc = look_at_end(c, a, &ours, d);
		if (rc)
			return rc;
		if (ours) {
			/* the rows are one transaction: if the first is there, all are */
			give_place(a, a->sent_at, a->out->pad);
			return 0;
		}
		rc = grove__sql_as_expected(c, a, &w->end, d);
		if (rc)
			return rc;
		give_place(a, w->end.tail, a->nr && w->end.unfinished);
		if (!a->nr)
			return 0;
		/* one row is a transaction by itself */
		rc = a->nr > 1 ? grove__mysql_transaction(c, w, try_append, d) : try_append(c, w, d);
		if (rc != GROVE__SQL_NONE)
			return rc;
	}
}

int grove__mysql_append(struct sql_conn *c, struct sql_appending *a, struct grove_detail *d)
{
	struct sql_log *log = a->log;
	bool known = log->end_epoch == c->epoch && a->nr && !a->work.unknown;
	int rc;

	a->work.end = log->end;
	if (known && grove__sql_as_expected(c, a, &log->end, NULL))
		known = false;
	rc = append_at_end(c, a, known, d);
	log->end_epoch = rc ? 0 : c->epoch;
	log->end = a->work.end;
	return rc;
}

/* -------------------------------------------------- other changes and leases */

int grove__mysql_fence(struct sql_conn *c, const uint8_t id[GROVE__SQL_ID], const struct sql_end *e,
		       struct grove_detail *d)
{
	const struct grove_store_record none = { 0 };
	struct sql_arg arg[SQL_INSERT_ARGS];
	int rc;

	grove__sql_row_of(id, &none, e->tail, e->start, 0, arg);
	rc = grove__mysql_run(c, SQL_INSERT, arg, SQL_INSERT_ARGS, NULL, d);
	/* our snapshot is older than the last append */
	if (rc)
		return grove__mysql_duplicate(c, SQL_INSERT) ? grove__mysql_again(grove__mysql_conn(c), d)
							     : rc;
	return grove__mysql_run(c, SQL_CUT, arg, 2, NULL, d);
}

/* Takes it for us, unless its number is no longer `before`; then it has to be read again. */
static int write_lease_after(struct sql_conn *c, const struct sql_leasing *k, uint64_t before,
			     struct grove_detail *d)
{
	const struct sql_arg arg[] = {
		grove__sql_str(k->held.owner), grove__sql_number((int64_t)k->held.number),
		grove__sql_number(k->held.until), grove__sql_id(k->log->id),
		grove__sql_number((int64_t)before),
	};
	uint64_t changed = 0;
	int rc = grove__mysql_run(c, MY_LEASE, arg, 5, &changed, d);

	return !rc && !changed ? grove__mysql_again(grove__mysql_conn(c), d) : rc;
}

/*
 * On a cluster, before the fence: writes the new number by itself. It conflicts with no
 * append, so it succeeds at once, and appends under the old number fail as soon as
 * their node has it. Otherwise a holder that appends without pause on another node
 * would win the race for the tail again and again.
 */
int grove__mysql_announce(struct sql_conn *c, struct sql_leasing *k, struct grove_detail *d)
{
	struct sql_end e;
	bool mine;
	int rc;

	if (!grove__mysql_conn(c)->cluster)
		return 0;
	rc = grove__sql_end(c, k->log->id, &e, d);
	if (!rc)
		rc = grove__sql_judge_lease(c, k, &e, &mine, d);
	if (rc || mine || (k->announced && e.lease.number == k->announced))
		return rc;
	grove__sql_claim(k, &e, true);
	rc = write_lease_after(c, k, e.lease.number, d);
	if (!rc)
		k->announced = k->held.number;
	return rc;
}
