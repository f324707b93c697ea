/*
 * store/sqlite_lines.c: the lines of a log in an SQLite store.
 *
 * A position is a line's seq. MAX(seq) is the tail and the authority for
 * compare-and-swap; the row of the session is not touched by an append.
 *
 * The last line of a log may lack its line end, as in a file that was copied
 * in: then `unfinished` is its seq. It means that only as long as no other line
 * follows, so an append ends it without writing to it.
 */
#include "store/sqlite.h"

#include "sys/clock.h"

#include <limits.h>
#include <stdlib.h>

#define WINDOW ((uint64_t)4 << 20)
#define BESIDE_FROM 32   /* lines from which it pays to look whether their rows lie side by side */

static int gone(struct sqlite_conn *c, struct grove_detail *d)
{
	return grove__fail(d, GROVE_ESTALE, c ? c->path : NULL, "the session was removed");
}

static int no_line(struct sqlite_conn *c, struct grove_detail *d)
{
	return grove__fail(d, GROVE_ESTALE, c->path, "the line is not there any more");
}

static int read_only(struct grove_detail *d)
{
	return grove__fail(d, GROVE_EACCESS, NULL, "opened for reading only");
}

static int moved(struct sqlite_conn *c, struct grove_detail *d)
{
	return grove__fail(d, GROVE_ECONFLICT, c->path, "another writer has appended");
}

static void take_session(sqlite3_stmt *st, int64_t *unfinished, struct sqlite_end *e)
{
	const char *owner = (const char *)sqlite3_column_text(st, 5);
	size_t len = (size_t)sqlite3_column_bytes(st, 5);

	e->generation = (uint64_t)sqlite3_column_int64(st, 0);
	*unfinished = sqlite3_column_type(st, 1) == SQLITE_NULL ? -1 : sqlite3_column_int64(st, 1);
	e->changed = sqlite3_column_int64(st, 2);
	e->base = (uint64_t)sqlite3_column_int64(st, 3);
	e->adjust = sqlite3_column_int64(st, 4);
	if (owner && len <= GROVE_LEASE_OWNER_MAX)
		memcpy(e->lease.owner, owner, len);
	e->lease.number = (uint64_t)sqlite3_column_int64(st, 6);
	e->lease.until = sqlite3_column_int64(st, 7);
}

int grove__sqlite_end(struct sqlite_conn *c, const uint8_t id[GROVE__SQL_ID], struct sqlite_end *e,
		      struct grove_detail *d)
{
	int64_t unfinished;
	sqlite3_stmt *st;
	int rc = grove__sqlite_prepare(c, SQL_SESSION, &st, d);

	memset(e, 0, sizeof(*e));
	if (rc)
		return rc;
	grove__sqlite_bind_id(st, 1, id);
	rc = grove__sqlite_row(c, st, d);
	if (rc)
		return rc;
	take_session(st, &unfinished, e);
	sqlite3_reset(st);
	rc = grove__sqlite_prepare(c, SQL_LAST, &st, d);
	if (rc)
		return rc;
	grove__sqlite_bind_id(st, 1, id);
	rc = grove__sqlite_row(c, st, d);
	if (rc)
		return rc < 0 ? rc : 0;
	e->unfinished = sqlite3_column_int64(st, 0) == unfinished;
	e->tail = (uint64_t)sqlite3_column_int64(st, 0) + 1;
	e->start = (uint64_t)sqlite3_column_int64(st, 1) + (uint64_t)sqlite3_column_int64(st, 2) + 1;
	if (sqlite3_column_int64(st, 3) > e->changed)
		e->changed = sqlite3_column_int64(st, 3);
	sqlite3_reset(st);
	return 0;
}

int grove__sqlite_look(struct sqlite_store *s, const struct sqlite_log *log,
		       struct sqlite_conn **out, struct sqlite_end *e, struct grove_detail *d)
{
	sqlite3_stmt *st;
	int rc = grove__sqlite_reader(s, out, d);

	if (rc)
		return rc;
	rc = grove__sqlite_prepare(*out, LITE_BEGIN, &st, d);
	if (!rc)
		rc = grove__sqlite_run(*out, st, d);
	if (!rc)
		rc = grove__sqlite_end(*out, log->id, e, d);
	if (rc)
		grove__sqlite_reader_done(s, *out);
	return rc;
}

int grove__sqlite_stat(struct grove_log *l, struct grove_log_stat *out, struct grove_detail *d)
{
	struct sqlite_store *s = grove__sqlite_store(l->store);
	struct sqlite_conn *c;
	struct sqlite_end e;
	int rc = grove__sqlite_look(s, grove__sqlite_log(l), &c, &e, d);

	if (rc)
		return rc < 0 ? rc : grove__fail(d, GROVE_ENOTFOUND, s->path, "the session was removed");
	out->tail = e.tail;
	out->bytes = e.tail ? (uint64_t)((int64_t)e.start + e.adjust) - e.unfinished : 0;
	out->generation = e.generation;
	out->base = e.base;
	out->mtime_ms = e.changed;
	out->mtime_ns = e.changed * 1000000;
	grove__sqlite_reader_done(s, c);
	return 0;
}

/* ------------------------------------------------------------------ reading */

/* A part of a long line, from SQLite's pages to where it is wanted. */
static int read_long(struct sqlite_conn *c, int64_t rowid, uint64_t off, char *buf, size_t len,
		     struct grove_detail *d)
{
	sqlite3_blob *blob = NULL;
	int rc = sqlite3_blob_open(c->db, "main", "entries", "line", rowid, 0, &blob);

	if (!rc)
		rc = sqlite3_blob_read(blob, buf, (int)len, (int)off);
	if (rc)
		rc = grove__sqlite_fail(c, rc, d);
	sqlite3_blob_close(blob);
	return rc;
}

/* A line into the buffer, which has room for it. */
static void add_line(const struct sqlite_end *e, char *buf, const void *line, size_t len,
		     struct grove_run *run)
{
	if (line && len)
		memcpy(buf + run->len, line, len);
	run->len += len;
	run->next++;
	if (!e->unfinished || run->next != e->tail)
		buf[run->len++] = '\n';
}

/* One row of LITE_LINES into the buffer; 1: it does not fit. */
static int take_row(struct sqlite_conn *c, sqlite3_stmt *st, const struct sqlite_end *e, char *buf,
		    size_t cap, struct grove_run *run, struct grove_detail *d)
{
	uint64_t seq = (uint64_t)sqlite3_column_int64(st, 0);
	uint64_t len = (uint64_t)sqlite3_column_int64(st, 2);
	const void *line = sqlite3_column_blob(st, 3);
	int rc = 0;

	if (seq != run->next)
		return grove__fail_at(d, GROVE_EDAMAGED, c->path, run->next + 1, 0,
				      "line %llu of the session is missing",
				      (unsigned long long)run->next + 1);
	if (len >= cap - run->len)
		return 1;
	if (!line && len) {
		rc = read_long(c, sqlite3_column_int64(st, 1), 0, buf + run->len, (size_t)len, d);
	} else if (len) {
		if ((uint64_t)sqlite3_column_bytes(st, 3) != len)
			return grove__fail(d, GROVE_EDAMAGED, c->path, "a line that is not bytes");
	}
	if (!rc)
		add_line(e, buf, line, (size_t)len, run);
	return rc;
}

/* The row of LITE_BESIDE, if it is the line that comes next. 1: it is not, or does not fit. */
static int take_beside(const struct sqlite_log *log, sqlite3_stmt *st, const struct sqlite_end *e,
		       char *buf, size_t cap, struct grove_run *run)
{
	const void *id = sqlite3_column_blob(st, 0), *line;
	size_t len;

	if (!id || sqlite3_column_bytes(st, 0) != GROVE__SQL_ID || memcmp(id, log->id, GROVE__SQL_ID) ||
	    (uint64_t)sqlite3_column_int64(st, 1) != run->next ||
	    sqlite3_column_type(st, 2) != SQLITE_BLOB)
		return 1;
	line = sqlite3_column_blob(st, 2);
	len = (size_t)sqlite3_column_bytes(st, 2);
	if (len >= cap - run->len)
		return 1;
	add_line(e, buf, line, len, run);
	return 0;
}

/*
 * The rows of a session that had the database for itself for a while lie side by side,
 * in the order of its lines. So lines are read row by row from where the first
 * one is, without the index, which takes half the time; as far as they are the
 * lines that come next. The others are looked for.
 */
static int read_beside(struct sqlite_conn *c, const struct sqlite_log *log, const struct sqlite_end *e,
		       uint64_t until, char *buf, size_t cap, struct grove_run *run,
		       struct grove_detail *d)
{
	sqlite3_stmt *st;
	int64_t rowid;
	int rc = grove__sqlite_prepare(c, LITE_LINE, &st, d);

	if (rc)
		return rc;
	grove__sqlite_bind_id(st, 1, log->id);
	sqlite3_bind_int64(st, 2, (int64_t)run->next);
	rc = grove__sqlite_row(c, st, d);
	if (rc)
		return rc < 0 ? rc : 0;
	rowid = sqlite3_column_int64(st, 0);
	sqlite3_reset(st);
	rc = grove__sqlite_prepare(c, LITE_BESIDE, &st, d);
	if (rc)
		return rc;
	sqlite3_bind_int64(st, 1, rowid);
	sqlite3_bind_int64(st, 2, (int64_t)(until - run->next));
	while (run->next < until && !(rc = grove__sqlite_row(c, st, d)) &&
	       !(rc = take_beside(log, st, e, buf, cap, run)))
		;
	sqlite3_reset(st);
	return rc < 0 ? rc : 0;
}

/* The rows of the lines that come next, wherever they are. 1: one does not fit. */
static int read_by_index(struct sqlite_conn *c, const struct sqlite_log *log,
			 const struct sqlite_end *e, uint64_t until, char *buf, size_t cap,
			 struct grove_run *run, struct grove_detail *d)
{
	sqlite3_stmt *st;
	int rc = grove__sqlite_prepare(c, LITE_LINES, &st, d);

	if (rc)
		return rc;
	grove__sqlite_bind_id(st, 1, log->id);
	sqlite3_bind_int64(st, 2, (int64_t)run->next);
	sqlite3_bind_int64(st, 3, (int64_t)until);
	while (!(rc = grove__sqlite_row(c, st, d)) &&
	       !(rc = take_row(c, st, e, buf, cap, run, d)) && run->next < until)
		;
	sqlite3_reset(st);
	return rc;
}

int grove__sqlite_read(struct grove_log *l, uint64_t pos, uint64_t until, char *buf, size_t cap,
		       struct grove_run *run, struct grove_detail *d)
{
	struct sqlite_store *s = grove__sqlite_store(l->store);
	struct sqlite_log *log = grove__sqlite_log(l);
	struct sqlite_conn *c;
	struct sqlite_end e;
	int rc = grove__sqlite_look(s, log, &c, &e, d);

	run->by_line = 1;
	run->pos = run->next = pos;
	if (rc)
		return rc < 0 ? rc : gone(NULL, d);
	if (until > e.tail)
		rc = grove__fail(d, GROVE_ESTALE, s->path, "the session became shorter");
	if (!rc && until > pos && until - pos >= BESIDE_FROM)
		rc = read_beside(c, log, &e, until, buf, cap, run, d);
	if (!rc && run->next < until)
		rc = read_by_index(c, log, &e, until, buf, cap, run, d);
	grove__sqlite_reader_done(s, c);
	if (rc < 0)
		return rc;
	/* a line longer than the buffer: its reader comes with a larger one */
	run->open = run->next == pos && pos < until;
	run->end = run->next == until;
	return 0;
}

/*
 * To find a place in a long line SQLite walks over all pages before it. Who
 * fetches it in small pieces gets them out of a larger one, for as long as
 * nothing was rewritten.
 */
static int fetch_long(struct sqlite_store *s, struct sqlite_log *log, uint64_t pos, uint64_t off,
		      char *buf, size_t len, struct grove_detail *d)
{
	struct sqlite_conn *c;
	sqlite3_stmt *st;
	uint64_t line = 0, n;
	int64_t rowid = 0;
	struct sqlite_end e;
	int rc = grove__sqlite_look(s, log, &c, &e, d);

	if (rc)
		return rc < 0 ? rc : gone(NULL, d);
	pthread_mutex_lock(&log->window_lock);
	if (log->window && log->window_seq == pos && log->window_generation == e.generation &&
	    off >= log->window_off && off + len <= log->window_off + log->window_len) {
		memcpy(buf, log->window + (off - log->window_off), len);
		goto out;
	}
	rc = grove__sqlite_prepare(c, LITE_LINE, &st, d);
	if (!rc) {
		grove__sqlite_bind_id(st, 1, log->id);
		sqlite3_bind_int64(st, 2, (int64_t)pos);
		rc = grove__sqlite_row(c, st, d);
	}
	if (!rc) {
		rowid = sqlite3_column_int64(st, 0);
		line = (uint64_t)sqlite3_column_int64(st, 1);
		sqlite3_reset(st);
	}
	if (rc == 1 || (!rc && (off > line || len > line - off)))
		rc = no_line(c, d);
	if (rc)
		goto out;
	if (!log->window && len < WINDOW)
		log->window = malloc(WINDOW);
	if (len >= WINDOW || !log->window) {
		rc = read_long(c, rowid, off, buf, len, d);
		goto out;
	}
	n = line - off < WINDOW ? line - off : WINDOW;
	log->window_len = 0;
	rc = read_long(c, rowid, off, log->window, (size_t)n, d);
	if (!rc) {
		log->window_seq = pos;
		log->window_off = off;
		log->window_len = n;
		log->window_generation = e.generation;
		memcpy(buf, log->window, len);
	}
out:
	pthread_mutex_unlock(&log->window_lock);
	grove__sqlite_reader_done(s, c);
	return rc;
}

int grove__sqlite_fetch(struct grove_log *l, uint64_t pos, uint64_t off, char *buf, size_t len,
			struct grove_detail *d)
{
	struct sqlite_store *s = grove__sqlite_store(l->store);
	struct sqlite_log *log = grove__sqlite_log(l);
	struct sqlite_conn *c;
	sqlite3_stmt *st;
	uint64_t line;
	bool is_long = false;
	int rc = grove__sqlite_reader(s, &c, d);

	if (rc)
		return rc < 0 ? rc : gone(NULL, d);
	rc = pos > INT64_MAX ? no_line(c, d) : grove__sqlite_prepare(c, LITE_LINE, &st, d);
	if (!rc) {
		grove__sqlite_bind_id(st, 1, log->id);
		sqlite3_bind_int64(st, 2, (int64_t)pos);
		rc = grove__sqlite_row(c, st, d);
		if (!rc) {
			const char *bytes = sqlite3_column_blob(st, 2);

			line = (uint64_t)sqlite3_column_int64(st, 1);
			is_long = line > SQLITE_LONG_LINE;
			if (off > line || len > line - off)
				rc = no_line(c, d);
			else if (!is_long && (uint64_t)sqlite3_column_bytes(st, 2) != line)
				rc = grove__fail(d, GROVE_EDAMAGED, c->path, "a line that is not bytes");
			else if (!is_long && len)
				memcpy(buf, bytes + off, len);
			sqlite3_reset(st);
		} else if (rc == 1) {
			rc = no_line(c, d);
		}
	}
	grove__sqlite_reader_done(s, c);
	return rc || !is_long || !len ? rc : fetch_long(s, log, pos, off, buf, len, d);
}

/* ------------------------------------------------------------------ writing */

int grove__sqlite_begin(struct sqlite_store *s, const struct sqlite_log *log,
			struct sqlite_conn **c, struct sqlite_end *e, struct grove_detail *d)
{
	int rc;

	if (!log->writable)
		return read_only(d);
	rc = grove__sqlite_write(s, false, c, d);
	if (rc)
		return rc < 0 ? rc : gone(NULL, d);
	if (s->last.state && s->last.state == s->state && !memcmp(s->last.id, log->id, GROVE__SQL_ID))
		*e = s->last.end;
	else
		rc = grove__sqlite_end(*c, log->id, e, d);
	if (rc == 1)
		rc = gone(*c, d);
	if (!rc)
		rc = grove__sqlite_may_write(log, &e->lease, d);
	return rc ? grove__sqlite_write_done(s, *c, rc, d) : 0;
}

/* time, kind, role, id, parent, line */
static int bind_record(struct sqlite_conn *c, sqlite3_stmt *st, int at,
		       const struct grove_record *rec, struct grove_detail *d)
{
	struct grove__sql_row row;

	if (rec->line.len > INT_MAX)
		return grove__sqlite_fail(c, SQLITE_TOOBIG, d);
	grove__sql_row(rec, &row);
	grove__sqlite_bind_number(st, at, row.known && row.time != GROVE_NO_TIME, row.time);
	grove__sqlite_bind_number(st, at + 1, row.known, row.kind);
	grove__sqlite_bind_number(st, at + 2, row.known, row.role);
	grove__sqlite_bind_text(st, at + 3, row.id);
	grove__sqlite_bind_text(st, at + 4, row.parent);
	return grove__sqlite_bind(c, st, at + 5, rec->line, d);
}

/* One row behind the others; `e` goes along. */
static int insert(struct sqlite_conn *c, sqlite3_stmt *st, const struct sqlite_log *log,
		  const struct grove_record *rec, struct sqlite_end *e, int64_t now, struct grove_detail *d)
{
	int rc;

	grove__sqlite_bind_id(st, 1, log->id);
	sqlite3_bind_int64(st, 2, (int64_t)e->tail);
	sqlite3_bind_int64(st, 3, (int64_t)e->start);
	sqlite3_bind_int64(st, 4, now);
	rc = bind_record(c, st, 5, rec, d);
	if (!rc)
		rc = grove__sqlite_run(c, st, d);
	if (rc)
		return rc;
	e->tail++;
	e->start += rec->line.len + 1;
	return 0;
}

int grove__sqlite_append_on(struct grove_log *l, const struct grove_record *rec, size_t nr,
			    uint64_t expect, uint64_t base, enum grove_sync sync,
			    struct grove_appended *out, struct grove_detail *d)
{
	struct sqlite_store *s = grove__sqlite_store(l->store);
	struct sqlite_log *log = grove__sqlite_log(l);
	int64_t now = grove__sys_now_ms();
	struct sqlite_conn *c;
	sqlite3_stmt *st;
	struct sqlite_end e;
	int rc = grove__sqlite_begin(s, log, &c, &e, d);

	if (rc)
		return rc;
	out->pos = e.tail;
	if (expect != GROVE_ANY_POS && expect != e.tail)
		rc = moved(c, d);
	else if (base != GROVE_ANY_BASE && base != e.base)
		rc = grove__log_base_moved(c->path, d);
	if (!rc)
		rc = grove__sqlite_prepare(c, SQL_INSERT, &st, d);
	if (!rc && nr && e.unfinished)
		out->pad = 1;
	for (size_t i = 0; i < nr && !rc; i++)
		rc = insert(c, st, log, &rec[i], &e, now, d);
	out->tail = e.tail;
	if (nr)
		e.unfinished = false;
	rc = grove__sqlite_end_done(s, c, log, &e, rc, d);
	return rc ? rc : grove__sqlite_settle(s, sync, d);
}

int grove__sqlite_append(struct grove_log *l, const struct grove_record *rec, size_t nr,
			 uint64_t expect, enum grove_sync sync, struct grove_appended *out,
			 struct grove_detail *d)
{
	return grove__sqlite_append_on(l, rec, nr, expect, GROVE_ANY_BASE, sync, out, d);
}

int grove__sqlite_replace(struct grove_log *l, uint64_t pos, struct grove_slice line,
			  enum grove_sync sync, struct grove_detail *d)
{
	struct sqlite_store *s = grove__sqlite_store(l->store);
	struct sqlite_log *log = grove__sqlite_log(l);
	struct sqlite_conn *c;
	sqlite3_stmt *st;
	struct sqlite_end e;
	int rc = grove__sqlite_begin(s, log, &c, &e, d);

	if (rc)
		return rc;
	rc = pos >= e.tail ? no_line(c, d) : grove__sqlite_prepare(c, SQL_LENGTH, &st, d);
	if (!rc) {
		grove__sqlite_bind_id(st, 1, log->id);
		sqlite3_bind_int64(st, 2, (int64_t)pos);
		rc = grove__sqlite_row(c, st, d);
		if (rc == 1)
			rc = no_line(c, d);
		else if (!rc && (uint64_t)sqlite3_column_int64(st, 0) != line.len)
			rc = grove__fail(d, GROVE_EINVAL, c->path, "a line of another length");
		sqlite3_reset(st);
	}
	if (!rc)
		rc = grove__sqlite_prepare(c, SQL_REPLACE, &st, d);
	if (!rc)
		rc = grove__sqlite_bind(c, st, 1, line, d);
	if (!rc) {
		grove__sqlite_bind_id(st, 2, log->id);
		sqlite3_bind_int64(st, 3, (int64_t)pos);
		rc = grove__sqlite_run(c, st, d);
	}
	if (!rc)
		rc = grove__sqlite_note(c, log->id, &e, e.tail, GROVE_CHANGE_NAME, grove__slice("", 0),
					true, d);
	rc = grove__sqlite_end_done(s, c, log, &e, rc, d);
	return rc ? rc : grove__sqlite_settle(s, sync, d);
}

/* Is the line at `pos` still `was`? */
static int unchanged(struct sqlite_conn *c, const struct sqlite_log *log, uint64_t pos,
		     struct grove_slice was, struct grove_detail *d)
{
	sqlite3_stmt *st;
	int rc = grove__sqlite_prepare(c, LITE_SAME, &st, d);

	if (!rc)
		rc = grove__sqlite_bind(c, st, 1, was, d);
	if (rc)
		return rc;
	grove__sqlite_bind_id(st, 2, log->id);
	sqlite3_bind_int64(st, 3, (int64_t)pos);
	rc = grove__sqlite_row(c, st, d);
	if (rc)
		return rc == 1 ? no_line(c, d) : rc;
	if (!sqlite3_column_int(st, 1))
		rc = grove__fail(d, GROVE_ECONFLICT, c->path, "another writer has changed the line");
	sqlite3_reset(st);
	return rc;
}

static int put_line(struct sqlite_conn *c, const struct sqlite_log *log, uint64_t pos,
		    const struct grove_record *rec, struct grove_detail *d)
{
	sqlite3_stmt *st;
	int rc = grove__sqlite_prepare(c, SQL_UPDATE, &st, d);

	if (!rc)
		rc = bind_record(c, st, 1, rec, d);
	if (rc)
		return rc;
	grove__sqlite_bind_id(st, 7, log->id);
	sqlite3_bind_int64(st, 8, (int64_t)pos);
	return grove__sqlite_run(c, st, d);
}

/*
 * The rows behind it keep their `start`: to move them all would make the update
 * of a line as dear as a rewrite. The difference goes into `adjust`, unless
 * nothing is behind it.
 */
int grove__sqlite_update(struct grove_log *l, uint64_t pos, struct grove_slice was,
			 const struct grove_record *rec, enum grove_change_kind kind,
			 enum grove_sync sync, struct grove_detail *d)
{
	struct sqlite_store *s = grove__sqlite_store(l->store);
	struct sqlite_log *log = grove__sqlite_log(l);
	int64_t longer = (int64_t)rec->line.len - (int64_t)was.len;
	struct sqlite_conn *c;
	struct sqlite_end e;
	int rc = grove__sqlite_begin(s, log, &c, &e, d);

	if (rc)
		return rc;
	rc = pos >= e.tail ? no_line(c, d) : unchanged(c, log, pos, was, d);
	if (!rc)
		rc = put_line(c, log, pos, rec, d);
	if (pos + 1 == e.tail)
		e.start = (uint64_t)((int64_t)e.start + longer);
	else
		e.adjust += longer;
	if (!rc)
		rc = grove__sqlite_note(c, log->id, &e, e.tail, kind, rec->id, true, d);
	rc = grove__sqlite_end_done(s, c, log, &e, rc, d);
	return rc ? rc : grove__sqlite_settle(s, sync, d);
}

/* Every line from `pos` on goes. */
static int drop_lines(struct sqlite_conn *c, const struct sqlite_log *log, uint64_t pos,
		      struct grove_detail *d)
{
	sqlite3_stmt *st;
	int rc = grove__sqlite_prepare(c, SQL_CUT, &st, d);

	if (rc)
		return rc;
	grove__sqlite_bind_id(st, 1, log->id);
	sqlite3_bind_int64(st, 2, (int64_t)pos);
	return grove__sqlite_run(c, st, d);
}

/*
 * Lines that were updated count in `adjust` as long as they are not the last
 * one: what is true of the lines that stay is asked of those that go.
 */
static int cut_off(struct sqlite_conn *c, const struct sqlite_log *log, uint64_t pos,
		   struct sqlite_end *e, struct grove_detail *d)
{
	int64_t all = (int64_t)e->start + e->adjust, cut = 0;
	struct sqlite_end left;
	sqlite3_stmt *st;
	int rc = grove__sqlite_prepare(c, LITE_BYTES, &st, d);

	if (rc)
		return rc;
	grove__sqlite_bind_id(st, 1, log->id);
	sqlite3_bind_int64(st, 2, (int64_t)pos);
	rc = grove__sqlite_row(c, st, d);
	if (!rc) {
		cut = sqlite3_column_int64(st, 0);
		sqlite3_reset(st);
		rc = drop_lines(c, log, pos, d);
	}
	if (!rc)
		rc = grove__sqlite_end(c, log->id, &left, d);
	if (rc)
		return rc == 1 ? gone(c, d) : rc;
	*e = left;
	e->unfinished = false;
	e->adjust = all - cut - (int64_t)left.start;
	return 0;
}

int grove__sqlite_cut(struct grove_log *l, uint64_t pos, uint64_t expect, enum grove_sync sync,
		      struct grove_detail *d)
{
	struct sqlite_store *s = grove__sqlite_store(l->store);
	struct sqlite_log *log = grove__sqlite_log(l);
	struct sqlite_conn *c;
	struct sqlite_end e;
	int rc = grove__sqlite_begin(s, log, &c, &e, d);

	if (rc)
		return rc;
	if (expect != e.tail)
		rc = moved(c, d);
	else if (pos > e.tail)
		rc = grove__fail(d, GROVE_EINVAL, c->path, "no line begins there");
	if (!rc && pos < e.tail)
		rc = cut_off(c, log, pos, &e, d);
	if (!rc)
		rc = grove__sqlite_note(c, log->id, &e, expect, GROVE_CHANGE_RESET,
					grove__slice("", 0), true, d);
	rc = grove__sqlite_end_done(s, c, log, &e, rc, d);
	return rc ? rc : grove__sqlite_settle(s, sync, d);
}

/*
 * One transaction: `next` may read this very log meanwhile, by another
 * connection, and finds it as it was. It must not write to this store.
 */
int grove__sqlite_rewrite(struct grove_log *l, grove_line_fn *next, void *payload, uint64_t expect,
			  unsigned flags, struct grove_detail *d)
{
	struct sqlite_store *s = grove__sqlite_store(l->store);
	struct sqlite_log *log = grove__sqlite_log(l);
	int64_t now = grove__sys_now_ms();
	struct grove_record rec = { 0 };
	struct sqlite_conn *c;
	sqlite3_stmt *st;
	struct sqlite_end e, anew;
	int rc = grove__sqlite_begin(s, log, &c, &e, d);

	/* who else has it open finds another generation, and goes on from there */
	(void)flags;
	if (rc)
		return rc;
	if (expect != GROVE_ANY_POS && expect != e.tail)
		rc = moved(c, d);
	if (!rc)
		rc = drop_lines(c, log, 0, d);
	if (!rc)
		rc = grove__sqlite_prepare(c, SQL_INSERT, &st, d);
	anew = e;
	anew.tail = anew.start = 0;
	anew.adjust = 0;
	anew.unfinished = false;
	while (!rc && !(rc = next(payload, &rec)))
		rc = insert(c, st, log, &rec, &anew, now, d);
	if (rc == 1)
		rc = grove__sqlite_note(c, log->id, &anew, e.tail, GROVE_CHANGE_RESET,
					grove__slice("", 0), true, d);
	rc = grove__sqlite_end_done(s, c, log, &anew, rc, d);
	return rc ? rc : grove__sqlite_sync(s, d);
}

/* --------------------------------------------------- a last line without LF */

int grove__sqlite_unfinished(struct sqlite_conn *c, struct sqlite_log *log, bool *yes,
			     struct grove_detail *d)
{
	struct sqlite_end e;
	int rc = grove__sqlite_end(c, log->id, &e, d);

	*yes = e.unfinished;
	return rc == 1 ? gone(c, d) : rc;
}

int grove__sqlite_set_unfinished(struct sqlite_conn *c, struct sqlite_log *log, bool yes,
				 struct grove_detail *d)
{
	sqlite3_stmt *st;
	struct sqlite_end e;
	int rc = grove__sqlite_end(c, log->id, &e, d);

	if (!rc && yes && !e.tail)
		rc = grove__fail(d, GROVE_EINVAL, c->path, "a session without lines has no last line");
	if (!rc)
		rc = grove__sqlite_prepare(c, SQL_UNFINISHED_PUT, &st, d);
	if (rc)
		return rc == 1 ? gone(c, d) : rc;
	grove__sqlite_bind_number(st, 1, yes, (int64_t)e.tail - 1);
	grove__sqlite_bind_id(st, 2, log->id);
	return grove__sqlite_run(c, st, d);
}
