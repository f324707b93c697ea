/*
 * store/sqlite_lines.c: the order of lines in an SQLite file.
 *
 * The rows of a session that had the database to itself for a while are adjacent, in
 * the order of its lines: runs of lines are read by rowid, starting at the first one,
 * without the index. Long lines are read from SQLite's pages directly into the caller's
 * buffer.
 *
 * An append has the whole database to itself, so it is a loop of inserts within one
 * transaction. The log remembers where it ended, as long as SQLite says that the file
 * is the same.
 */
#include "store/sqlite.h"

#define BESIDE_FROM 32   /* from this many lines on, check for adjacent rows */

/* Reads a part of a long line from SQLite's pages directly into the buffer. */
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

/*
 * Finds the row of a line, by LITE_LINE. GROVE__SQL_NONE: there is none. Otherwise the
 * statement has to be reset.
 */
static int find_line(struct sqlite_conn *c, const uint8_t id[GROVE__SQL_ID], uint64_t seq,
		     sqlite3_stmt **st, struct grove_detail *d)
{
	int rc = grove__sqlite_prepare(c, LITE_LINE, st, d);

	if (rc)
		return rc;
	sqlite3_bind_blob(*st, 1, id, GROVE__SQL_ID, SQLITE_STATIC);
	sqlite3_bind_int64(*st, 2, (int64_t)seq);
	return grove__sqlite_step(c, *st, d);
}

int grove__sqlite_piece(struct sql_conn *base, const uint8_t id[GROVE__SQL_ID], uint64_t seq,
			uint64_t off, char *buf, uint64_t len, uint64_t *line,
			struct grove_detail *d)
{
	struct sqlite_conn *c = grove__sqlite_conn(base);
	const char *bytes;
	sqlite3_stmt *st;
	int64_t rowid;
	int rc = find_line(c, id, seq, &st, d);

	if (rc)
		return rc;
	rowid = sqlite3_column_int64(st, 0);
	*line = (uint64_t)sqlite3_column_int64(st, 1);
	bytes = sqlite3_column_blob(st, 2);
	if (off > *line || len > *line - off)
		rc = GROVE__SQL_NONE;
	else if (bytes && (uint64_t)sqlite3_column_bytes(st, 2) != *line)
		rc = grove__sql_wrong_length(base, d);
	else if (bytes && len)
		memcpy(buf, bytes + off, (size_t)len);
	sqlite3_reset(st);
	return rc || bytes || !len ? rc : read_long(c, rowid, off, buf, (size_t)len, d);
}

/* ------------------------------------------------------------------ reading */

/* Takes one row of LITE_LINES into the buffer. GROVE__SQL_NONE: it does not fit. */
static int take_row(struct sqlite_conn *c, sqlite3_stmt *st, struct sql_reading *r,
		    struct grove_detail *d)
{
	struct grove_store_run *run = r->run;
	uint64_t len = (uint64_t)sqlite3_column_int64(st, 2);
	const void *line = sqlite3_column_blob(st, 3);
	int rc = 0;

	if ((uint64_t)sqlite3_column_int64(st, 0) != run->next)
		return grove__sql_missing_line(&c->base, run->next, d);
	if (len >= r->cap - run->len)
		return GROVE__SQL_NONE;
	if (!line && len)
		rc = read_long(c, sqlite3_column_int64(st, 1), 0, r->buf + run->len, (size_t)len, d);
	else if (len && (uint64_t)sqlite3_column_bytes(st, 3) != len)
		rc = grove__sql_wrong_length(&c->base, d);
	else if (len)
		memcpy(r->buf + run->len, line, (size_t)len);
	if (!rc)
		grove__sql_add_line(r, (size_t)len);
	return rc;
}

/*
 * Takes the row of LITE_BESIDE, if it is the next line. GROVE__SQL_NONE: it is not, or
 * does not fit.
 */
static int take_beside(sqlite3_stmt *st, struct sql_reading *r)
{
	const void *id = sqlite3_column_blob(st, 0), *line;
	size_t len;

	if ((uint64_t)sqlite3_column_int64(st, 1) != r->run->next || sqlite3_column_bytes(st, 0) != GROVE__SQL_ID ||
	    memcmp(id, r->log->id, GROVE__SQL_ID) || sqlite3_column_type(st, 2) != SQLITE_BLOB)
		return GROVE__SQL_NONE;
	line = sqlite3_column_blob(st, 2);
	len = (size_t)sqlite3_column_bytes(st, 2);
	if (len >= r->cap - r->run->len)
		return GROVE__SQL_NONE;
	if (len)
		memcpy(r->buf + r->run->len, line, len);
	grove__sql_add_line(r, len);
	return 0;
}

/*
 * Reads the rows from there on, as long as each is the next line. A long line must not
 * be read whole, and asking for each length would cost most here. So SQLite is told not
 * to return longer values meanwhile, and one that it refuses (SQLITE_TOOBIG) ends the
 * run like any other that does not fit.
 */
static int step_beside(struct sqlite_conn *c, sqlite3_stmt *st, struct sql_reading *r,
		       struct grove_detail *d)
{
	int limit = sqlite3_limit(c->db, SQLITE_LIMIT_LENGTH, GROVE__SQL_LONG_LINE), rc = SQLITE_DONE;

	while (r->run->next < r->until && (rc = sqlite3_step(st)) == SQLITE_ROW && !take_beside(st, r))
		;
	sqlite3_limit(c->db, SQLITE_LIMIT_LENGTH, limit);
	rc = rc == SQLITE_ROW || rc == SQLITE_DONE || (rc & 0xff) == SQLITE_TOOBIG
		     ? 0 : grove__sqlite_fail(c, rc, d);
	sqlite3_reset(st);
	return rc;
}

/*
 * Starts at the row of the first line. That takes less than half the time of using the
 * index. Lines that are not there are looked up.
 */
static int read_beside(struct sqlite_conn *c, struct sql_reading *r, struct grove_detail *d)
{
	int64_t rowid;
	sqlite3_stmt *st;
	int rc = find_line(c, r->log->id, r->run->next, &st, d);

	if (rc)
		return rc < 0 ? rc : 0;
	rowid = sqlite3_column_int64(st, 0);
	sqlite3_reset(st);
	rc = grove__sqlite_prepare(c, LITE_BESIDE, &st, d);
	if (rc)
		return rc;
	sqlite3_bind_int64(st, 1, rowid);
	return step_beside(c, st, r, d);
}

/* Reads the rows of the next lines through the index, as far as they fit. */
static int read_by_index(struct sqlite_conn *c, struct sql_reading *r, struct grove_detail *d)
{
	const struct sql_arg arg[] = { grove__sql_id(r->log->id),
				       grove__sql_number((int64_t)r->run->next),
				       grove__sql_number((int64_t)r->until) };
	sqlite3_stmt *st;
	int rc = grove__sqlite_prepare(c, LITE_LINES, &st, d);

	if (!rc)
		rc = grove__sqlite_bind(c, st, arg, 3, d);
	if (rc)
		return rc;
	while (!(rc = grove__sqlite_step(c, st, d)) && !(rc = take_row(c, st, r, d)) &&
	       r->run->next < r->until)
		;
	sqlite3_reset(st);
	return rc < 0 ? rc : 0;
}

int grove__sqlite_read(struct sql_conn *base, struct sql_reading *r, struct grove_detail *d)
{
	struct sqlite_conn *c = grove__sqlite_conn(base);
	int rc = r->until - r->pos >= BESIDE_FROM ? read_beside(c, r, d) : 0;

	return rc || r->run->next == r->until ? rc : read_by_index(c, r, d);
}

/* ------------------------------------------------------------------ writing */

int grove__sqlite_insert(struct sql_conn *base, const uint8_t id[GROVE__SQL_ID],
			 const struct grove_store_record *rec, size_t nr, struct sql_end *e,
			 int64_t now, struct grove_detail *d)
{
	struct sqlite_conn *c = grove__sqlite_conn(base);
	struct sql_arg arg[SQL_INSERT_ARGS];
	sqlite3_stmt *st;
	int rc = grove__sqlite_prepare(c, SQL_INSERT, &st, d);

	for (size_t i = 0; i < nr && !rc; i++) {
		grove__sql_row_of(id, &rec[i], e->tail, e->start, now, arg);
		rc = grove__sqlite_bind(c, st, arg, SQL_INSERT_ARGS, d);
		if (!rc)
			rc = grove__sqlite_step(c, st, d);
		if (rc < 0)
			return rc;
		rc = 0;
		e->tail++;
		e->start += rec[i].line.len + 1;
	}
	return rc;
}

int grove__sqlite_append(struct sql_conn *c, struct sql_appending *a, struct grove_detail *d)
{
	struct sql_end *e = &a->work.end;
	int rc = grove__sql_end_of(c, a->log, e, d);

	if (!rc)
		rc = grove__sql_may_write(c, a->log, e, d);
	if (rc)
		return rc;
	a->out->pos = e->tail;
	rc = grove__sql_as_expected(c, a, e, d);
	if (rc)
		return rc;
	a->out->pad = a->nr && e->unfinished;
	rc = grove__sqlite_insert(c, a->log->id, a->rec, a->nr, e, a->now, d);
	a->out->tail = e->tail;
	if (a->nr)
		e->unfinished = false;
	a->work.ended = a->log;
	return rc;
}
