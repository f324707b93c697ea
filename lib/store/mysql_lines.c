/*
 * store/mysql_lines.c: the lines of a log in a MySQL store.
 *
 * A position is a line's seq; the primary key (session_id, seq) is what
 * compare-and-swap relies on. Within a generation a log only grows. So whoever
 * once saw its tail at N and inserts a row N while the generation is still the
 * same leaves no gap, and of two who do so the key lets one pass. MY_APPEND is
 * that in one statement: it inserts only if the session has this generation and
 * nobody else has the right to write to it, and
 * holds the session's row, shared with other appends, until it is done. All other
 * changes hold it alone (mysql_change.c).
 *
 * When a connection breaks off nobody knows whether the row was stored. It
 * was if the row N is ours, bytes and time; if there is no row N the same one is
 * sent again, so that even an insert that is still on its way cannot make two of
 * it; if it is another's, ours was not stored and never will be.
 */
#include "store/mysql.h"

#include "sys/clock.h"

#include <stdlib.h>

#define WINDOW ((uint64_t)8 << 20)

static int gone(const char *url, struct grove_detail *d)
{
	return grove__fail(d, GROVE_ESTALE, url, "the session was removed");
}

int grove__mysql_no_line(const char *url, struct grove_detail *d)
{
	return grove__fail(d, GROVE_ESTALE, url, "the line is not there any more");
}

int grove__mysql_read_only(struct grove_detail *d)
{
	return grove__fail(d, GROVE_EACCESS, NULL, "opened for reading only");
}

int grove__mysql_moved(const char *url, struct grove_detail *d)
{
	return grove__fail(d, GROVE_ECONFLICT, url, "another writer has appended");
}

/* What is there no more: the session, or the tables with all in them. */
int grove__mysql_gone(struct mysql_store *s, int rc, struct grove_detail *d)
{
	return rc > 0 ? gone(s->place.url, d) : rc;
}

int grove__mysql_end(struct mysql_conn *c, const uint8_t id[GROVE__SQL_ID], struct mysql_end *e,
		     struct grove_detail *d)
{
	const struct mysql_arg arg[] = { grove__mysql_id(id), grove__mysql_id(id) };
	struct mysql_row row;
	int rc = grove__mysql_first(c, MY_END, arg, 2, &row, d);

	memset(e, 0, sizeof(*e));
	if (rc)
		return rc;
	e->generation = (uint64_t)row.number[0];
	e->unfinished_row = row.null[1] ? -1 : row.number[1];
	e->changed = row.number[2];
	e->base = (uint64_t)row.number[3];
	e->adjust = row.number[4];
	if (!row.null[5]) {
		e->unfinished = row.number[5] == e->unfinished_row;
		e->tail = (uint64_t)row.number[5] + 1;
		e->start = (uint64_t)row.number[6] + (uint64_t)row.number[7] + !e->unfinished;
		if (row.number[8] > e->changed)
			e->changed = row.number[8];
	}
	e->lease.number = (uint64_t)row.number[9];
	e->lease.until = row.null[10] ? 0 : row.number[10];
	e->now = row.number[11];
	if (!row.null[12])
		rc = grove__mysql_take(c, &row, 12, e->lease.owner, GROVE_LEASE_OWNER_MAX, d);
	grove__mysql_done(&row);
	return rc;
}

static uint64_t bytes_in(const struct mysql_end *e)
{
	return e->tail ? e->start + (uint64_t)e->adjust : 0;
}

struct look {
	struct mysql_work work;
	struct mysql_log *log;
	struct mysql_end end;
};

static int look(struct mysql_conn *c, struct mysql_work *w, struct grove_detail *d)
{
	struct look *l = (struct look *)w;

	return grove__mysql_end(c, l->log->id, &l->end, d);
}

int grove__mysql_stat(struct grove_log *l, struct grove_log_stat *out, struct grove_detail *d)
{
	struct mysql_store *s = grove__mysql_store(l->store);
	struct look k = { .work = { .fn = look, .plain = true }, .log = grove__mysql_log(l) };
	int rc = grove__mysql_do(s, &k.work, d);

	if (rc)
		return rc < 0 ? rc
			      : grove__fail(d, GROVE_ENOTFOUND, s->place.url, "the session was removed");
	out->tail = k.end.tail;
	out->bytes = bytes_in(&k.end);
	out->base = k.end.base;
	out->far = 1;
	out->generation = k.end.generation;
	out->mtime_ms = k.end.changed;
	out->mtime_ns = k.end.changed * 1000000;
	return 0;
}

/* ------------------------------------------------------------------ reading */

/* `len` bytes of a line, and how long it is. MYSQL_NONE: no such line. */
static int take_piece(struct mysql_conn *c, const uint8_t id[GROVE__SQL_ID], uint64_t seq,
		      uint64_t off, char *buf, uint64_t len, uint64_t *line, struct grove_detail *d)
{
	const struct mysql_arg arg[] = { grove__mysql_number((int64_t)off + 1),
					 grove__mysql_number((int64_t)len), grove__mysql_id(id),
					 grove__mysql_number((int64_t)seq) };
	struct mysql_row row;
	int rc;

	if (seq > INT64_MAX || off >= INT64_MAX)
		return MYSQL_NONE;
	rc = grove__mysql_first(c, MY_PIECE, arg, 4, &row, d);
	if (rc)
		return rc;
	*line = (uint64_t)row.number[0];
	if (off <= *line && len <= *line - off) {
		if (row.null[1] || row.len[1] != len)
			rc = grove__fail(d, GROVE_EDAMAGED, c->url, "a line that is not as long as it is said to be");
		else
			rc = grove__mysql_take(c, &row, 1, buf, (size_t)len, d);
	} else if (buf) {
		rc = MYSQL_NONE;
	}
	grove__mysql_done(&row);
	return rc;
}

/* The same in several pieces where one answer could not hold it. */
int grove__mysql_take_line(struct mysql_conn *c, const uint8_t id[GROVE__SQL_ID], uint64_t seq,
			   uint64_t off, char *buf, uint64_t len, uint64_t *line,
			   struct grove_detail *d)
{
	uint64_t most = c->packet - MYSQL_BESIDE;
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

struct reading {
	struct mysql_work work;
	struct mysql_log *log;
	uint64_t pos, until;
	char *buf;
	size_t cap;
	struct grove_run *run;
	struct mysql_end end;
};

/* One row of MY_LINES into the buffer; MYSQL_NONE: it does not fit, or comes by itself. */
static int take_row(struct mysql_conn *c, struct mysql_row *row, struct reading *r, bool *is_long,
		    struct grove_detail *d)
{
	struct grove_run *run = r->run;
	uint64_t len = (uint64_t)row->number[2];
	int rc;

	if ((uint64_t)row->number[1] != run->next)
		return grove__fail_at(d, GROVE_EDAMAGED, c->url, run->next + 1, 0,
				      "line %llu of the session is missing",
				      (unsigned long long)run->next + 1);
	if (len >= r->cap - run->len)
		return MYSQL_NONE;
	*is_long = row->null[3];
	if (*is_long)
		return MYSQL_NONE;
	if (row->len[3] != len)
		return grove__fail(d, GROVE_EDAMAGED, c->url, "a line that is not as long as it is said to be");
	rc = grove__mysql_take(c, row, 3, r->buf + run->len, (size_t)len, d);
	if (rc)
		return rc;
	run->len += (size_t)len;
	run->next++;
	if (!r->end.unfinished || run->next != r->end.tail)
		r->buf[run->len++] = '\n';
	return 0;
}

/* A long line, if it is the first: the one that comes next is not asked for. */
static int take_long_line(struct mysql_conn *c, struct reading *r, uint64_t len,
			  struct grove_detail *d)
{
	struct grove_run *run = r->run;
	uint64_t line;
	int rc = grove__mysql_take_line(c, r->log->id, run->next, 0, r->buf, len, &line, d);

	if (!rc && line != len)
		rc = MYSQL_NONE;
	if (rc)
		return rc < 0 ? rc : grove__mysql_no_line(c->url, d);
	run->len = (size_t)len;
	run->next++;
	if (!r->end.unfinished || run->next != r->end.tail)
		r->buf[run->len++] = '\n';
	return 0;
}

/* How many lines to ask for: more than fit would be sent for nothing. */
static uint64_t worth(const struct reading *r)
{
	uint64_t left = r->cap - r->run->len, from = r->run->next;
	uint64_t mean = bytes_in(&r->end) / r->end.tail + 1, n = left / mean + left / mean / 2 + 2;

	return r->until - from < n ? r->until : from + n;
}

/* One question for lines, and what of the answer fits. */
struct answer {
	bool full;        /* no more fits */
	bool is_long;     /* the next line comes by itself, */
	uint64_t len;     /* and has so many bytes */
	bool other;       /* rewritten in between */
};

static int ask_lines(struct mysql_conn *c, struct reading *r, struct answer *a,
		     struct grove_detail *d)
{
	struct grove_run *run = r->run;
	const struct mysql_arg from = grove__mysql_number((int64_t)run->next);
	const struct mysql_arg arg[] = {
		grove__mysql_id(r->log->id), from, grove__mysql_number((int64_t)worth(r)),
		grove__mysql_number((int64_t)(r->cap - run->len)), grove__mysql_id(r->log->id), from,
	};
	struct mysql_row row;
	int rc = grove__mysql_ask(c, MY_LINES, arg, 6, &row, d);

	if (rc)
		return rc;
	while (!(rc = grove__mysql_next(c, &row, d))) {
		a->other = (uint64_t)row.number[0] != r->end.generation;
		a->len = (uint64_t)row.number[2];
		rc = a->other ? MYSQL_NONE : take_row(c, &row, r, &a->is_long, d);
		a->full = rc == MYSQL_NONE;
		if (rc || run->next == r->until)
			break;
	}
	grove__mysql_done(&row);
	return rc < 0 ? rc : 0;
}

static int read_lines(struct mysql_conn *c, struct mysql_work *w, struct grove_detail *d)
{
	struct reading *r = (struct reading *)w;
	struct grove_run *run = r->run;
	struct answer a = { .full = false };
	uint64_t before;
	int rc = grove__mysql_end(c, r->log->id, &r->end, d);

	run->next = r->pos;
	run->len = 0;
	if (rc)
		return rc;
	if (r->until > r->end.tail)
		return grove__fail(d, GROVE_ESTALE, c->url, "the session became shorter");
	/* lines that were updated are shorter than `start` knows: there may be room for more */
	do {
		before = run->next;
		if (before < r->until)
			rc = ask_lines(c, r, &a, d);
	} while (!rc && !a.full && before < run->next && run->next < r->until && run->len < r->cap);
	if (rc)
		return rc;
	if (a.other)
		return read_lines(c, w, d);
	return a.is_long && run->next == r->pos ? take_long_line(c, r, a.len, d) : 0;
}

int grove__mysql_read(struct grove_log *l, uint64_t pos, uint64_t until, char *buf, size_t cap,
		      struct grove_run *run, struct grove_detail *d)
{
	struct mysql_store *s = grove__mysql_store(l->store);
	struct reading r = { .work = { .fn = read_lines, .plain = true }, .log = grove__mysql_log(l),
			     .pos = pos, .until = until, .buf = buf, .cap = cap, .run = run };
	int rc;

	run->by_line = 1;
	run->pos = run->next = pos;
	rc = grove__mysql_do(s, &r.work, d);
	if (rc)
		return grove__mysql_gone(s, rc, d);
	/* a line longer than the buffer: its reader comes with a larger one */
	run->open = run->next == pos && pos < until;
	run->end = run->next == until;
	return 0;
}

struct fetching {
	struct mysql_work work;
	struct mysql_log *log;
	uint64_t pos, off;
	char *buf;
	size_t len;
};

static int generation_of(struct mysql_conn *c, const struct mysql_log *log, uint64_t *out,
			 struct grove_detail *d)
{
	const struct mysql_arg arg = grove__mysql_id(log->id);
	struct mysql_row row;
	int rc = grove__mysql_first(c, SQL_SESSION, &arg, 1, &row, d);

	if (rc)
		return rc;
	*out = (uint64_t)row.number[0];
	grove__mysql_done(&row);
	return 0;
}

/*
 * A part of a long line makes the server read all of it. Who fetches it in
 * small pieces gets them out of a larger one, for as long as nothing was
 * rewritten. With the window's lock.
 */
static int fetch_window(struct mysql_conn *c, struct fetching *f, struct grove_detail *d)
{
	struct mysql_log *log = f->log;
	uint64_t generation = 0, line = 0, n, off = f->off;
	int rc = generation_of(c, log, &generation, d);

	if (rc)
		return rc;
	if (log->window_len && log->window_seq == f->pos && log->window_generation == generation &&
	    off >= log->window_off && off + f->len <= log->window_off + log->window_len) {
		memcpy(f->buf, log->window + (off - log->window_off), f->len);
		return 0;
	}
	if (!log->window && !(log->window = malloc(WINDOW)))
		return grove__fail_nomem(d);
	log->window_len = 0;
	rc = take_piece(c, log->id, f->pos, off, NULL, 0, &line, d);
	if (!rc && (off > line || f->len > line - off))
		rc = MYSQL_NONE;
	n = rc ? 0 : line - off < WINDOW ? line - off : WINDOW;
	if (!rc)
		rc = grove__mysql_take_line(c, log->id, f->pos, off, log->window, n, &line, d);
	if (rc)
		return rc;
	log->window_seq = f->pos;
	log->window_off = off;
	log->window_len = n;
	log->window_generation = generation;
	memcpy(f->buf, log->window, f->len);
	return 0;
}

static int fetch(struct mysql_conn *c, struct mysql_work *w, struct grove_detail *d)
{
	struct fetching *f = (struct fetching *)w;
	struct mysql_log *log = f->log;
	uint64_t line = 0;
	int rc = 0;

	if (f->len && f->len < WINDOW) {
		bool kept;

		pthread_mutex_lock(&log->window_lock);
		kept = log->window_len && log->window_seq == f->pos;
		if (kept)
			rc = fetch_window(c, f, d);
		pthread_mutex_unlock(&log->window_lock);
		if (kept)
			return rc;
	}
	rc = grove__mysql_take_line(c, log->id, f->pos, f->off, f->buf, f->len, &line, d);
	/* the first piece of a long line: more will be wanted */
	if (!rc && line > 4 * (uint64_t)MYSQL_LONG_LINE && f->len && f->len < WINDOW) {
		pthread_mutex_lock(&log->window_lock);
		rc = fetch_window(c, f, d);
		pthread_mutex_unlock(&log->window_lock);
	}
	return rc;
}

int grove__mysql_fetch(struct grove_log *l, uint64_t pos, uint64_t off, char *buf, size_t len,
		       struct grove_detail *d)
{
	struct mysql_store *s = grove__mysql_store(l->store);
	char none;
	struct fetching f = { .work = { .fn = fetch, .plain = true }, .log = grove__mysql_log(l),
			      .pos = pos, .off = off, .buf = len ? buf : &none, .len = len };
	int rc = grove__mysql_do(s, &f.work, d);

	return rc > 0 ? grove__mysql_no_line(s->place.url, d) : rc;
}

/* ---------------------------------------------------------------- appending */

struct appending {
	struct mysql_work work;
	struct mysql_log *log;
	const struct grove_record *rec;
	size_t nr;
	uint64_t expect, base;
	int64_t now;
	uint64_t sent_at, sent_generation;  /* where the last try was sent */
	bool sent;
	struct grove_appended *out;
	struct mysql_end end;
	uint64_t epoch;
};

struct mysql_arg grove__mysql_text_or_null(struct grove_slice s)
{
	return s.len ? grove__mysql_bytes(s) : grove__mysql_null();
}

struct mysql_arg grove__mysql_number_or_null(bool known, int64_t n)
{
	return known ? grove__mysql_number(n) : grove__mysql_null();
}

/* The values of SQL_INSERT. */
void grove__mysql_row_of(const uint8_t id[GROVE__SQL_ID], const struct grove_record *rec,
			 uint64_t seq, uint64_t start, int64_t now,
			 struct mysql_arg arg[MYSQL_INSERT])
{
	struct grove__sql_row row;

	grove__sql_row(rec, &row);
	arg[0] = grove__mysql_id(id);
	arg[1] = grove__mysql_number((int64_t)seq);
	arg[2] = grove__mysql_number((int64_t)start);
	arg[3] = grove__mysql_number(now);
	arg[4] = grove__mysql_number_or_null(row.known && row.time != GROVE_NO_TIME, row.time);
	arg[5] = grove__mysql_number_or_null(row.known, row.kind);
	arg[6] = grove__mysql_number_or_null(row.known, row.role);
	arg[7] = grove__mysql_text_or_null(row.id);
	arg[8] = grove__mysql_text_or_null(row.parent);
	arg[9] = grove__mysql_bytes(rec->line);
}

static size_t bytes_of(const struct grove_record *rec)
{
	return rec->line.len + 2 * GROVE__SQL_ENTRY_ID + 128;
}

/* Rows behind the others, many at once; `e` goes along. */
int grove__mysql_insert_rows(struct mysql_conn *c, const uint8_t id[GROVE__SQL_ID],
			     const struct grove_record *rec, size_t nr, struct mysql_end *e,
			     int64_t now, struct grove_detail *d)
{
	size_t most = c->packet / 2 < MYSQL_MANY_BYTES ? c->packet / 2 : MYSQL_MANY_BYTES;
	size_t cap = nr < MYSQL_MANY_ROWS ? nr : MYSQL_MANY_ROWS;
	struct mysql_arg *arg = calloc(cap ? cap : 1, MYSQL_INSERT * sizeof(*arg));
	int rc = arg ? 0 : grove__fail_nomem(d);

	while (nr && !rc) {
		unsigned rows = 0;
		size_t bytes = 0;

		while (rows < cap && rows < nr && (!rows || bytes + bytes_of(&rec[rows]) <= most)) {
			grove__mysql_row_of(id, &rec[rows], e->tail, e->start, now, arg + (size_t)rows * MYSQL_INSERT);
			bytes += bytes_of(&rec[rows]);
			e->tail++;
			e->start += rec[rows].line.len + 1;
			rows++;
		}
		rc = grove__mysql_insert_many(c, arg, MYSQL_INSERT, rows, d);
		rec += rows;
		nr -= rows;
	}
	free(arg);
	return rc;
}

/* Is the row at `seq` this one? MYSQL_NONE: there is no such row. */
static int same_row(struct mysql_conn *c, const uint8_t id[GROVE__SQL_ID], uint64_t seq,
		    struct grove_slice line, int64_t now, bool *same, struct grove_detail *d)
{
	const struct mysql_arg arg[] = { grove__mysql_id(id), grove__mysql_number((int64_t)seq) };
	struct mysql_row row;
	char *bytes = NULL;
	int rc = grove__mysql_first(c, MY_SAME, arg, 2, &row, d);

	*same = false;
	if (rc)
		return rc;
	if (row.number[0] == now && row.len[1] == line.len) {
		bytes = malloc(line.len + 1);
		rc = bytes ? grove__mysql_take(c, &row, 1, bytes, line.len, d) : grove__fail_nomem(d);
		*same = !rc && (!line.len || !memcmp(bytes, line.ptr, line.len));
	}
	grove__mysql_done(&row);
	free(bytes);
	return rc;
}

/* The first row through MY_APPEND, the others behind it. MYSQL_NONE: the end is elsewhere. */
static int try_append(struct mysql_conn *c, struct mysql_work *w, struct grove_detail *d)
{
	struct appending *a = (struct appending *)w;
	struct mysql_end e = a->end;
	uint64_t lease = __atomic_load_n(&a->log->lease, __ATOMIC_ACQUIRE);
	struct mysql_arg arg[MYSQL_INSERT + 5];
	uint64_t changed = 0;
	int rc;

	for (size_t i = 0; i < a->nr; i++) {
		rc = grove__mysql_fits(c, bytes_of(&a->rec[i]), d);
		if (rc)
			return rc;
	}
	if (e.unfinished)
		e.start++;
	grove__mysql_row_of(a->log->id, a->rec, e.tail, e.start, a->now, arg);
	memmove(arg, arg + 1, (MYSQL_INSERT - 1) * sizeof(*arg));
	arg[MYSQL_INSERT - 1] = grove__mysql_id(a->log->id);
	arg[MYSQL_INSERT] = grove__mysql_number((int64_t)e.generation);
	arg[MYSQL_INSERT + 1] = grove__mysql_number((int64_t)e.base);
	arg[MYSQL_INSERT + 2] = grove__mysql_number_or_null(e.unfinished_row >= 0, e.unfinished_row);
	arg[MYSQL_INSERT + 3] = arg[MYSQL_INSERT + 4] = grove__mysql_number((int64_t)lease);
	a->sent = true;
	a->sent_at = e.tail;
	a->sent_generation = e.generation;
	rc = grove__mysql_run(c, MY_APPEND, arg, MYSQL_INSERT + 5, &changed, d);
	if (rc)
		return grove__mysql_duplicate(c, MY_APPEND) ? MYSQL_NONE : rc;
	if (!changed)
		return MYSQL_NONE;
	e.tail++;
	e.start += a->rec[0].line.len + 1;
	if (a->nr > 1)
		rc = grove__mysql_insert_rows(c, a->log->id, a->rec + 1, a->nr - 1, &e, a->now, d);
	if (rc)
		return c->trouble || !grove__mysql_duplicate(c, MY_MANY) ? rc : MYSQL_NONE;
	e.unfinished = false;
	a->end = e;
	return 0;
}

/*
 * An earlier try broke off; `a->end` is fresh. Sets *ours if it was stored. Else
 * it was refused, or may be tried again at the same place.
 */
static int settle(struct mysql_conn *c, struct appending *a, bool *ours, struct grove_detail *d)
{
	int rc;

	rc = same_row(c, a->log->id, a->sent_at, a->rec[0].line, a->now, ours, d);
	if (rc < 0 || *ours)
		return rc;
	if (a->end.generation != a->sent_generation)
		return grove__fail(d, GROVE_EIO, c->url,
				   "the connection broke off and the session was changed: the tail is unknown");
	if (a->end.tail <= a->sent_at)
		return 0;
	/* another's: ours was refused, or will be when it arrives */
	a->work.unknown = a->sent = false;
	return 0;
}

/* Is the end where the caller thinks it is? */
static int as_expected(const struct mysql_conn *c, const struct appending *a, struct grove_detail *d)
{
	if (a->expect != GROVE_ANY_POS && a->expect != a->end.tail)
		return grove__mysql_moved(c->url, d);
	if (a->base != GROVE_ANY_BASE && a->base != a->end.base)
		return grove__log_base_moved(c->url, d);
	return 0;
}

/* One try, at the end where it is now or was last. MYSQL_NONE: the session is gone. */
static int append(struct mysql_conn *c, struct mysql_work *w, struct grove_detail *d)
{
	struct appending *a = (struct appending *)w;
	struct mysql_log *log = a->log;
	bool known = log->end_known && log->end_epoch == c->epoch && a->nr && !w->unknown, ours;
	int rc;

	a->end = log->end;
	a->epoch = c->epoch;
	if (as_expected(c, a, NULL))
		known = false;
	for (;; known = false) {
		if (!known) {
			rc = grove__mysql_end(c, log->id, &a->end, d);
			if (rc)
				return rc;
		}
		if (w->unknown && a->sent) {
			rc = settle(c, a, &ours, d);
			if (rc)
				return rc;
			if (ours) {
				/* rows of one transaction: where the first is the others are */
				a->out->pos = a->sent_at;
				a->out->tail = a->sent_at + a->nr;
				return 0;
			}
		}
		if (!known) {
			rc = grove__mysql_may_write(log, &a->end, c->url, d);
			if (rc)
				return rc;
		}
		rc = as_expected(c, a, d);
		if (rc)
			return rc;
		a->out->pos = a->end.tail;
		a->out->tail = a->end.tail + a->nr;
		a->out->pad = a->nr && a->end.unfinished;
		if (!a->nr)
			return 0;
		/* one row is a transaction by itself */
		rc = a->nr > 1 ? grove__mysql_transaction(c, w, try_append, d) : try_append(c, w, d);
		if (rc != MYSQL_NONE)
			return rc;
	}
}

int grove__mysql_append_on(struct grove_log *l, const struct grove_record *rec, size_t nr,
			   uint64_t expect, uint64_t base, enum grove_sync sync,
			   struct grove_appended *out, struct grove_detail *d)
{
	struct mysql_store *s = grove__mysql_store(l->store);
	struct mysql_log *log = grove__mysql_log(l);
	struct appending a = { .work = { .fn = append, .plain = true }, .log = log, .rec = rec, .nr = nr,
			       .expect = expect, .base = base, .now = grove__sys_now_ms(), .out = out };
	int rc;

	/* how durable a commit is, is the server's affair */
	(void)sync;
	if (!log->writable)
		return grove__mysql_read_only(d);
	/* before the lock, which a thread of the parent may have had */
	rc = grove__mysql_ours(s, d);
	if (rc)
		return rc;
	pthread_mutex_lock(&log->append_lock);
	rc = grove__mysql_do(s, &a.work, d);
	log->end_known = !rc;
	if (!rc) {
		log->end = a.end;
		log->end_epoch = a.epoch;
	}
	pthread_mutex_unlock(&log->append_lock);
	return grove__mysql_gone(s, rc, d);
}

int grove__mysql_append(struct grove_log *l, const struct grove_record *rec, size_t nr,
			uint64_t expect, enum grove_sync sync, struct grove_appended *out,
			struct grove_detail *d)
{
	return grove__mysql_append_on(l, rec, nr, expect, GROVE_ANY_BASE, sync, out, d);
}
