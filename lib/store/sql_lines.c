/*
 * store/sql_lines.c: the lines of a log in a database.
 *
 * A position is a line's seq. MAX(seq) + 1 is the tail, and compare-and-swap relies on
 * the primary key (session_id, seq): of two writers that insert the same seq, one
 * fails. An append does not touch the row of the session.
 *
 * The last line of a log may lack its newline, as in a file that was copied in: then
 * `unfinished` is its seq. This applies only while no other line follows, so an append
 * ends the line without writing to it.
 */
#include "store/sql.h"

#include "sys/clock.h"

#include <stdlib.h>

int grove__sql_gone(const struct sql_store *s, int rc, struct grove_detail *d)
{
	return rc > 0 ? grove__fail(d, GROVE_ESTALE, s->where, "the session was removed") : rc;
}

int grove__sql_no_line(const char *where, struct grove_detail *d)
{
	return grove__fail(d, GROVE_ESTALE, where, "the line no longer exists");
}

int grove__sql_missing_line(const struct sql_conn *c, uint64_t seq, struct grove_detail *d)
{
	return grove__fail_at(d, GROVE_EDAMAGED, c->where, seq + 1, 0, "line %llu of the session is missing",
			      (unsigned long long)seq + 1);
}

int grove__sql_wrong_length(const struct sql_conn *c, struct grove_detail *d)
{
	return grove__fail(d, GROVE_EDAMAGED, c->where, "a line does not have the length that was recorded for it");
}

int grove__sql_read_only(struct grove_detail *d)
{
	return grove__fail(d, GROVE_EACCESS, NULL, "opened read-only");
}

int grove__sql_moved(const struct sql_conn *c, struct grove_detail *d)
{
	return grove__fail(d, GROVE_ECONFLICT, c->where, "another writer appended first");
}

int grove__sql_settle(struct sql_store *s, enum grove_sync sync, struct grove_detail *d)
{
	return s->driver->settle ? s->driver->settle(s, sync, d) : 0;
}

/* ------------------------------------------------------------------ the end */

int grove__sql_end(struct sql_conn *c, const uint8_t id[GROVE__SQL_ID], struct sql_end *e,
		   struct grove_detail *d)
{
	const struct sql_arg arg[] = { grove__sql_id(id), grove__sql_id(id) };
	struct sql_row row;
	int rc = grove__sql_first(c, SQL_END, arg, 2, &row, d);

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
		e->start = (uint64_t)row.number[6] + (uint64_t)row.number[7] + 1;
		if (row.number[8] > e->changed)
			e->changed = row.number[8];
	}
	e->lease.number = (uint64_t)row.number[9];
	e->lease.until = row.null[10] ? 0 : row.number[10];
	e->now = row.null[11] ? grove__sys_now_ms() : row.number[11];
	if (row.len[12] <= GROVE_LEASE_OWNER_MAX)
		rc = grove__sql_take(c, &row, 12, e->lease.owner, GROVE_LEASE_OWNER_MAX, d);
	c->driver->done(&row);
	return rc;
}

int grove__sql_end_of(struct sql_conn *c, const struct sql_log *log, struct sql_end *e,
		      struct grove_detail *d)
{
	if (!c->driver->alone || !log->end_epoch || log->end_epoch != c->epoch)
		return grove__sql_end(c, log->id, e, d);
	*e = log->end;
	e->now = grove__sys_now_ms();
	return 0;
}

uint64_t grove__sql_bytes_in(const struct sql_end *e)
{
	return e->tail ? e->start + (uint64_t)e->adjust - e->unfinished : 0;
}

struct look {
	struct sql_work work;
	struct sql_log *log;
	struct sql_end end;
};

static int look_at_end(struct sql_conn *c, struct sql_work *w, struct grove_detail *d)
{
	struct look *l = (struct look *)w;

	return grove__sql_end(c, l->log->id, &l->end, d);
}

int grove__sql_stat(struct grove_store_log *l, struct grove_store_log_stat *out,
		    struct grove_detail *d)
{
	struct sql_store *s = grove__sql_store(l->store);
	struct look k = { .work = grove__sql_reading_of(look_at_end, SQL_ONE, l), .log = grove__sql_log(l) };
	int rc = s->driver->work(s, &k.work, d);

	if (rc)
		return rc < 0 ? rc : grove__fail(d, GROVE_ENOTFOUND, s->where, "the session was removed");
	out->tail = k.end.tail;
	out->bytes = grove__sql_bytes_in(&k.end);
	out->base = k.end.base;
	out->remote = s->driver->remote;
	out->by_line = 1;
	out->generation = k.end.generation;
	out->mtime_ms = k.end.changed;
	out->mtime_ns = k.end.changed * 1000000;
	return 0;
}

/* ------------------------------------------------------------------ reading */

void grove__sql_add_line(struct sql_reading *r, size_t len)
{
	struct grove_store_run *run = r->run;

	run->len += len;
	run->next++;
	if (!r->end.unfinished || run->next != r->end.tail)
		r->buf[run->len++] = '\n';
}

static int read_lines(struct sql_conn *c, struct sql_work *w, struct grove_detail *d)
{
	struct sql_reading *r = (struct sql_reading *)w;
	int rc;

	do {
		rc = grove__sql_end(c, r->log->id, &r->end, d);
		r->run->next = r->pos;
		r->run->len = 0;
		r->other = false;
		if (!rc && r->until > r->end.tail)
			rc = grove__fail(d, GROVE_ESTALE, c->where, "the session became shorter");
		if (!rc && r->pos < r->until)
			rc = c->driver->read(c, r, d);
	} while (!rc && r->other);
	return rc;
}

int grove__sql_read(struct grove_store_log *l, uint64_t pos, uint64_t until, char *buf, size_t cap,
		    struct grove_store_run *run, struct grove_detail *d)
{
	struct sql_store *s = grove__sql_store(l->store);
	struct sql_reading r = { .work = grove__sql_reading_of(read_lines, SQL_READ, l), .log = grove__sql_log(l),
				 .pos = pos, .until = until, .buf = buf, .cap = cap, .run = run };
	int rc;

	run->by_line = 1;
	run->pos = run->next = pos;
	rc = s->driver->work(s, &r.work, d);
	if (rc)
		return grove__sql_gone(s, rc, d);
	/* a line longer than the buffer: the reader comes back with a larger one */
	run->open = run->next == pos && pos < until;
	run->end = run->next == until;
	return 0;
}

struct fetching {
	struct sql_work work;
	struct sql_log *log;
	uint64_t pos, off;
	char *buf;
	size_t len;
};

static int generation_of(struct sql_conn *c, const struct sql_log *log, uint64_t *out,
			 struct grove_detail *d)
{
	const struct sql_arg arg = grove__sql_id(log->id);
	struct sql_row row;
	int rc = grove__sql_first(c, SQL_GENERATION, &arg, 1, &row, d);

	if (rc)
		return rc;
	*out = (uint64_t)row.number[0];
	c->driver->done(&row);
	return 0;
}

/*
 * To seek in a long line, a database reads all that comes before. Small pieces are
 * therefore served from a larger one, as long as nothing was rewritten. Called with the
 * window's lock held. `line` is its length if this piece was already read, else 0.
 */
static int fetch_window(struct sql_conn *c, struct fetching *f, uint64_t line,
			struct grove_detail *d)
{
	struct sql_log *log = f->log;
	uint64_t generation = 0, n, off = f->off;
	int rc = generation_of(c, log, &generation, d);

	if (rc)
		return rc;
	if (log->window_len && log->window_seq == f->pos && log->window_generation == generation &&
	    off >= log->window_off && off + f->len <= log->window_off + log->window_len) {
		memcpy(f->buf, log->window + (off - log->window_off), f->len);
		return 0;
	}
	log->window_len = 0;
	if (!line)
		rc = c->driver->piece(c, log->id, f->pos, off, f->buf, f->len, &line, d);
	if (rc)
		return rc;
	/* without the memory, each piece is read by itself */
	if (!log->window && !(log->window = malloc(c->driver->window)))
		return 0;
	n = line - off < c->driver->window ? line - off : c->driver->window;
	rc = c->driver->piece(c, log->id, f->pos, off, log->window, n, &line, d);
	if (rc)
		return rc;
	log->window_seq = f->pos;
	log->window_off = off;
	log->window_len = n;
	log->window_generation = generation;
	return 0;
}

static int fetch(struct sql_conn *c, struct sql_work *w, struct grove_detail *d)
{
	struct fetching *f = (struct fetching *)w;
	struct sql_log *log = f->log;
	bool small = f->len && f->len < c->driver->window, kept;
	uint64_t line = 0;
	int rc = 0;

	if (f->pos > INT64_MAX || f->off >= INT64_MAX)
		return GROVE__SQL_NONE;
	if (small) {
		pthread_mutex_lock(&log->window_lock);
		kept = log->window_len && log->window_seq == f->pos;
		if (kept)
			rc = fetch_window(c, f, 0, d);
		pthread_mutex_unlock(&log->window_lock);
		if (kept)
			return rc;
	}
	rc = c->driver->piece(c, log->id, f->pos, f->off, f->buf, f->len, &line, d);
	/* the first piece of a long line: more will follow */
	if (!rc && small && line > GROVE__SQL_LONG_LINE && f->off + f->len < line) {
		pthread_mutex_lock(&log->window_lock);
		rc = fetch_window(c, f, line, d);
		pthread_mutex_unlock(&log->window_lock);
	}
	return rc;
}

int grove__sql_fetch(struct grove_store_log *l, uint64_t pos, uint64_t off, char *buf, size_t len,
		     struct grove_detail *d)
{
	struct sql_store *s = grove__sql_store(l->store);
	char none;
	struct fetching f = { .work = grove__sql_reading_of(fetch, SQL_ONE, l), .log = grove__sql_log(l), .pos = pos, .off = off,
			      .buf = len ? buf : &none, .len = len };
	int rc = s->driver->work(s, &f.work, d);

	return rc > 0 ? grove__sql_no_line(s->where, d) : rc;
}

/* ---------------------------------------------------------------- appending */

int grove__sql_as_expected(const struct sql_conn *c, const struct sql_appending *a,
			   const struct sql_end *e, struct grove_detail *d)
{
	if (a->expect != GROVE_ANY_POS && a->expect != e->tail)
		return grove__sql_moved(c, d);
	if (a->base != GROVE_ANY_BASE && a->base != e->base)
		return grove__log_base_moved(c->where, d);
	return 0;
}

static int append(struct sql_conn *c, struct sql_work *w, struct grove_detail *d)
{
	return c->driver->append(c, (struct sql_appending *)w, d);
}

int grove__sql_append(struct grove_store_log *l, const struct grove_store_record *rec, size_t nr,
		      uint64_t expect, uint64_t base, enum grove_sync sync,
		      struct grove_store_appended *out, struct grove_detail *d)
{
	struct sql_store *s = grove__sql_store(l->store);
	struct sql_log *log = grove__sql_log(l);
	struct sql_appending a = { .work = { .fn = append, .mode = SQL_OWN }, .log = log, .rec = rec,
				   .nr = nr, .expect = expect, .base = base,
				   .now = grove__sys_now_ms(), .out = out };
	int rc;

	if (!log->writable)
		return grove__sql_read_only(d);
	/* before the lock, which a thread of the parent may have held */
	rc = grove__sql_ours(s, d);
	if (rc)
		return rc;
	pthread_mutex_lock(&log->append_lock);
	rc = s->driver->work(s, &a.work, d);
	pthread_mutex_unlock(&log->append_lock);
	return rc ? grove__sql_gone(s, rc, d) : grove__sql_settle(s, sync, d);
}
