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

/* Within a transaction. 1: the session is gone. */
static int find_end(struct sqlite_conn *c, const struct sqlite_log *log, struct sqlite_end *e,
		    struct grove_detail *d)
{
	int64_t unfinished = -1;
	sqlite3_stmt *st;
	int rc = grove__sqlite_prepare(c, SQL_SESSION, &st, d);

	memset(e, 0, sizeof(*e));
	if (rc)
		return rc;
	grove__sqlite_bind_id(st, 1, log->id);
	rc = grove__sqlite_row(c, st, d);
	if (rc)
		return rc;
	e->generation = (uint64_t)sqlite3_column_int64(st, 0);
	if (sqlite3_column_type(st, 1) != SQLITE_NULL)
		unfinished = sqlite3_column_int64(st, 1);
	e->changed = sqlite3_column_int64(st, 2);
	sqlite3_reset(st);
	rc = grove__sqlite_prepare(c, SQL_LAST, &st, d);
	if (rc)
		return rc;
	grove__sqlite_bind_id(st, 1, log->id);
	rc = grove__sqlite_row(c, st, d);
	if (rc)
		return rc < 0 ? rc : 0;
	e->unfinished = sqlite3_column_int64(st, 0) == unfinished;
	e->tail = (uint64_t)sqlite3_column_int64(st, 0) + 1;
	e->bytes = (uint64_t)sqlite3_column_int64(st, 1) + (uint64_t)sqlite3_column_int64(st, 2) +
		   !e->unfinished;
	if (sqlite3_column_int64(st, 3) > e->changed)
		e->changed = sqlite3_column_int64(st, 3);
	sqlite3_reset(st);
	return 0;
}

/* A reader at one moment, and the end of the log at that moment. 1: the session is gone. */
static int look(struct sqlite_store *s, const struct sqlite_log *log, struct sqlite_conn **out,
		struct sqlite_end *e, struct grove_detail *d)
{
	sqlite3_stmt *st;
	int rc = grove__sqlite_reader(s, out, d);

	if (rc)
		return rc;
	rc = grove__sqlite_prepare(*out, LITE_BEGIN, &st, d);
	if (!rc)
		rc = grove__sqlite_run(*out, st, d);
	if (!rc)
		rc = find_end(*out, log, e, d);
	if (rc)
		grove__sqlite_reader_done(s, *out);
	return rc;
}

int grove__sqlite_stat(struct grove_log *l, struct grove_log_stat *out, struct grove_detail *d)
{
	struct sqlite_store *s = grove__sqlite_store(l->store);
	struct sqlite_conn *c;
	struct sqlite_end e;
	int rc = look(s, grove__sqlite_log(l), &c, &e, d);

	if (rc)
		return rc < 0 ? rc : grove__fail(d, GROVE_ENOTFOUND, s->path, "the session was removed");
	out->tail = e.tail;
	out->bytes = e.bytes;
	out->generation = e.generation;
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
		memcpy(buf + run->len, line, (size_t)len);
	}
	if (rc)
		return rc;
	run->len += (size_t)len;
	run->next++;
	if (!e->unfinished || run->next != e->tail)
		buf[run->len++] = '\n';
	return 0;
}

int grove__sqlite_read(struct grove_log *l, uint64_t pos, uint64_t until, char *buf, size_t cap,
		       struct grove_run *run, struct grove_detail *d)
{
	struct sqlite_store *s = grove__sqlite_store(l->store);
	struct sqlite_log *log = grove__sqlite_log(l);
	struct sqlite_conn *c;
	sqlite3_stmt *st;
	struct sqlite_end e;
	int rc = look(s, log, &c, &e, d);

	run->by_line = 1;
	run->pos = run->next = pos;
	if (rc)
		return rc < 0 ? rc : gone(NULL, d);
	if (until > e.tail)
		rc = grove__fail(d, GROVE_ESTALE, s->path, "the session became shorter");
	if (!rc && pos < until) {
		rc = grove__sqlite_prepare(c, LITE_LINES, &st, d);
		if (!rc) {
			grove__sqlite_bind_id(st, 1, log->id);
			sqlite3_bind_int64(st, 2, (int64_t)pos);
			sqlite3_bind_int64(st, 3, (int64_t)until);
			while (!(rc = grove__sqlite_row(c, st, d)) &&
			       !(rc = take_row(c, st, &e, buf, cap, run, d)) && run->next < until)
				;
			sqlite3_reset(st);
		}
	}
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
	int rc = look(s, log, &c, &e, d);

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

/* Begin to write, at the end of the log. */
static int begin(struct sqlite_store *s, const struct sqlite_log *log, struct sqlite_conn **c,
		 struct sqlite_end *e, struct grove_detail *d)
{
	int rc;

	if (!log->writable)
		return read_only(d);
	rc = grove__sqlite_write(s, false, c, d);
	if (rc)
		return rc < 0 ? rc : gone(NULL, d);
	if (s->last.state && s->last.state == s->state && !memcmp(s->last.id, log->id, GROVE__SQL_ID)) {
		*e = s->last.end;
		return 0;
	}
	rc = find_end(*c, log, e, d);
	if (rc == 1)
		rc = gone(*c, d);
	return rc ? grove__sqlite_write_done(s, *c, rc, d) : 0;
}

static void bind_text(sqlite3_stmt *st, int at, struct grove_slice text)
{
	if (text.len)
		sqlite3_bind_text(st, at, text.ptr, (int)text.len, SQLITE_STATIC);
	else
		sqlite3_bind_null(st, at);
}

static void bind_number(sqlite3_stmt *st, int at, bool known, int64_t n)
{
	if (known)
		sqlite3_bind_int64(st, at, n);
	else
		sqlite3_bind_null(st, at);
}

/* One row behind the others; `e` goes along. */
static int insert(struct sqlite_conn *c, sqlite3_stmt *st, const struct sqlite_log *log,
		  const struct grove_record *rec, struct sqlite_end *e, int64_t now, struct grove_detail *d)
{
	struct grove__sql_row row;
	int rc;

	if (rec->line.len > INT_MAX)
		return grove__sqlite_fail(c, SQLITE_TOOBIG, d);
	grove__sql_row(rec, &row);
	grove__sqlite_bind_id(st, 1, log->id);
	sqlite3_bind_int64(st, 2, (int64_t)e->tail);
	sqlite3_bind_int64(st, 3, (int64_t)e->bytes);
	sqlite3_bind_int64(st, 4, now);
	bind_number(st, 5, row.known && row.time != GROVE_NO_TIME, row.time);
	bind_number(st, 6, row.known, row.kind);
	bind_number(st, 7, row.known, row.role);
	bind_text(st, 8, row.id);
	bind_text(st, 9, row.parent);
	rc = grove__sqlite_bind(c, st, 10, rec->line, d);
	if (!rc)
		rc = grove__sqlite_run(c, st, d);
	if (rc)
		return rc;
	e->tail++;
	e->bytes += rec->line.len + 1;
	return 0;
}

int grove__sqlite_append(struct grove_log *l, const struct grove_record *rec, size_t nr,
			 uint64_t expect, enum grove_sync sync, struct grove_appended *out,
			 struct grove_detail *d)
{
	struct sqlite_store *s = grove__sqlite_store(l->store);
	struct sqlite_log *log = grove__sqlite_log(l);
	int64_t now = grove__sys_now_ms();
	struct sqlite_conn *c;
	sqlite3_stmt *st;
	struct sqlite_end e;
	int rc = begin(s, log, &c, &e, d);

	if (rc)
		return rc;
	out->pos = e.tail;
	if (expect != GROVE_ANY_POS && expect != e.tail)
		rc = moved(c, d);
	if (!rc)
		rc = grove__sqlite_prepare(c, SQL_INSERT, &st, d);
	if (!rc && nr && e.unfinished) {
		e.bytes++;
		out->pad = 1;
	}
	for (size_t i = 0; i < nr && !rc; i++)
		rc = insert(c, st, log, &rec[i], &e, now, d);
	out->tail = e.tail;
	if (nr)
		e.unfinished = false;
	rc = grove__sqlite_append_done(s, c, log, &e, rc, d);
	return rc ? rc : grove__sqlite_settle(s, sync, d);
}

/* Another generation. `unfinished` is what it was, or nothing. */
static int changed(struct sqlite_conn *c, const struct sqlite_log *log, const struct sqlite_end *e,
		   bool unfinished, struct grove_detail *d)
{
	sqlite3_stmt *st;
	int rc = grove__sqlite_prepare(c, SQL_CHANGED, &st, d);

	if (rc)
		return rc;
	bind_number(st, 1, unfinished, (int64_t)e->tail - 1);
	sqlite3_bind_int64(st, 2, grove__sys_now_ms());
	grove__sqlite_bind_id(st, 3, log->id);
	return grove__sqlite_run(c, st, d);
}

int grove__sqlite_replace(struct grove_log *l, uint64_t pos, struct grove_slice line,
			  enum grove_sync sync, struct grove_detail *d)
{
	struct sqlite_store *s = grove__sqlite_store(l->store);
	struct sqlite_log *log = grove__sqlite_log(l);
	struct sqlite_conn *c;
	sqlite3_stmt *st;
	struct sqlite_end e;
	int rc = begin(s, log, &c, &e, d);

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
		rc = changed(c, log, &e, e.unfinished, d);
	rc = grove__sqlite_write_done(s, c, rc, d);
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

int grove__sqlite_cut(struct grove_log *l, uint64_t pos, uint64_t expect, enum grove_sync sync,
		      struct grove_detail *d)
{
	struct sqlite_store *s = grove__sqlite_store(l->store);
	struct sqlite_log *log = grove__sqlite_log(l);
	struct sqlite_conn *c;
	struct sqlite_end e;
	int rc = begin(s, log, &c, &e, d);

	if (rc)
		return rc;
	if (expect != e.tail)
		rc = moved(c, d);
	else if (pos > e.tail)
		rc = grove__fail(d, GROVE_EINVAL, c->path, "no line begins there");
	if (!rc)
		rc = drop_lines(c, log, pos, d);
	if (!rc)
		rc = changed(c, log, &e, e.unfinished && pos == e.tail, d);
	rc = grove__sqlite_write_done(s, c, rc, d);
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
	int rc = begin(s, log, &c, &e, d);

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
	memset(&anew, 0, sizeof(anew));
	while (!rc && !(rc = next(payload, &rec.line)))
		rc = insert(c, st, log, &rec, &anew, now, d);
	if (rc == 1)
		rc = changed(c, log, &anew, false, d);
	rc = grove__sqlite_write_done(s, c, rc, d);
	return rc ? rc : grove__sqlite_sync(s, d);
}

/* --------------------------------------------------- a last line without LF */

int grove__sqlite_unfinished(struct sqlite_conn *c, struct sqlite_log *log, bool *yes,
			     struct grove_detail *d)
{
	struct sqlite_end e;
	int rc = find_end(c, log, &e, d);

	*yes = e.unfinished;
	return rc == 1 ? gone(c, d) : rc;
}

int grove__sqlite_set_unfinished(struct sqlite_conn *c, struct sqlite_log *log, bool yes,
				 struct grove_detail *d)
{
	sqlite3_stmt *st;
	struct sqlite_end e;
	int rc = find_end(c, log, &e, d);

	if (!rc && yes && !e.tail)
		rc = grove__fail(d, GROVE_EINVAL, c->path, "a session without lines has no last line");
	if (!rc)
		rc = grove__sqlite_prepare(c, SQL_UNFINISHED_PUT, &st, d);
	if (rc)
		return rc == 1 ? gone(c, d) : rc;
	bind_number(st, 1, yes, (int64_t)e.tail - 1);
	grove__sqlite_bind_id(st, 2, log->id);
	return grove__sqlite_run(c, st, d);
}
