/* store/sqlite_stmt.c: statements of an SQLite store, and errors of SQLite. */
#include "store/sqlite.h"

#include "store/sqlite_code.h"

/* length() reads only the head of a row; the line itself is read only if selected. */
#define LINE_UNLESS_LONG \
	"rowid, length(line), CASE WHEN length(line) <= " GROVE__SQL_STR(GROVE__SQL_LONG_LINE) \
	" THEN line END "

static const char *const text[LITE_NR - SQL_NR] = {
	[LITE_BEGIN - SQL_NR] = "BEGIN",
	[LITE_BEGIN_WRITE - SQL_NR] = "BEGIN IMMEDIATE",
	[LITE_COMMIT - SQL_NR] = "COMMIT",
	[LITE_LINES - SQL_NR] = "SELECT seq, " LINE_UNLESS_LONG
				"FROM entries WHERE session_id = ? AND seq >= ? AND seq < ? ORDER BY seq",
	[LITE_LINE - SQL_NR] = ("SELECT " LINE_UNLESS_LONG
				"FROM entries WHERE session_id = ? AND seq = ?"),
	/* by rowid and not by the index, which the plus signs prevent */
	[LITE_BESIDE - SQL_NR] = "SELECT session_id, seq, line FROM entries WHERE rowid >= ?1 ORDER BY rowid",
};

int grove__sqlite_fail(struct sqlite_conn *c, int rc, struct grove_detail *d)
{
	int code = grove__sqlite_code(rc);
	const char *words = c->db ? sqlite3_errmsg(c->db) : sqlite3_errstr(rc), *path = c->base.where;

	switch (code) {
	case GROVE_ENOMEM:
		return grove__fail_nomem(d);
	case GROVE_ECONFLICT:
		return grove__fail(d, code, path, "another program has the database locked (try again)");
	case GROVE_EDAMAGED:
		return grove__fail(d, code, path,
				   rc == SQLITE_NOTADB ? "not an SQLite database"
						       : "the database is damaged: %.200s",
				   words);
	case GROVE_EFULL:
		return grove__fail(d, code, path, "no space left; nothing was stored");
	case GROVE_ETOOBIG:
		return grove__fail(d, code, path, "too large for an SQLite store (the limit is 1 GB)");
	default:
		return grove__fail(d, code, path, "%.200s", words);
	}
}

int grove__sqlite_prepare(struct sqlite_conn *c, unsigned what, sqlite3_stmt **out,
			  struct grove_detail *d)
{
	int rc;

	*out = c->st[what];
	if (*out)
		return 0;
	rc = sqlite3_prepare_v3(c->db, what < SQL_NR ? grove__sql_text[what] : text[what - SQL_NR], -1,
				SQLITE_PREPARE_PERSISTENT, out, NULL);
	if (rc)
		return grove__sqlite_fail(c, rc, d);
	c->st[what] = *out;
	return 0;
}

static int bind_one(sqlite3_stmt *st, int at, const struct sql_arg *a)
{
	switch (a->type) {
	case SQL_ARG_NUMBER:
		return sqlite3_bind_int64(st, at, a->number);
	case SQL_ARG_TEXT:
		return sqlite3_bind_text64(st, at, a->ptr, a->len, SQLITE_STATIC, SQLITE_UTF8);
	case SQL_ARG_BYTES:
		return sqlite3_bind_blob64(st, at, a->ptr, a->len, SQLITE_STATIC);
	default:
		return sqlite3_bind_null(st, at);
	}
}

int grove__sqlite_bind(struct sqlite_conn *c, sqlite3_stmt *st, const struct sql_arg *arg,
		       unsigned nr, struct grove_detail *d)
{
	int rc = 0;

	for (unsigned i = 0; i < nr && !rc; i++)
		rc = bind_one(st, (int)i + 1, &arg[i]);
	return rc ? grove__sqlite_fail(c, rc, d) : 0;
}

int grove__sqlite_step(struct sqlite_conn *c, sqlite3_stmt *st, struct grove_detail *d)
{
	int rc = sqlite3_step(st);

	if (rc == SQLITE_ROW)
		return 0;
	rc = rc == SQLITE_DONE ? GROVE__SQL_NONE : grove__sqlite_fail(c, rc, d);
	sqlite3_reset(st);
	return rc;
}

int grove__sqlite_run(struct sql_conn *base, unsigned what, const struct sql_arg *arg, unsigned nr,
		      uint64_t *changed, struct grove_detail *d)
{
	struct sqlite_conn *c = grove__sqlite_conn(base);
	sqlite3_stmt *st;
	int rc = grove__sqlite_prepare(c, what, &st, d);

	if (!rc)
		rc = grove__sqlite_bind(c, st, arg, nr, d);
	if (rc)
		return rc;
	rc = grove__sqlite_step(c, st, d);
	if (!rc)
		sqlite3_reset(st);
	if (changed)
		*changed = (uint64_t)sqlite3_changes(c->db);
	return rc < 0 ? rc : 0;
}

int grove__sqlite_ask(struct sql_conn *base, unsigned what, const struct sql_arg *arg, unsigned nr,
		      struct sql_row *row, struct grove_detail *d)
{
	struct sqlite_conn *c = grove__sqlite_conn(base);
	sqlite3_stmt *st;
	int rc = grove__sqlite_prepare(c, what, &st, d);

	row->st = st;
	return rc ? rc : grove__sqlite_bind(c, st, arg, nr, d);
}

int grove__sqlite_next(struct sql_conn *base, struct sql_row *row, struct grove_detail *d)
{
	sqlite3_stmt *st = row->st;
	int rc = grove__sqlite_step(grove__sqlite_conn(base), st, d);

	for (int i = 0, nr = rc ? 0 : sqlite3_data_count(st); i < nr; i++) {
		int type = sqlite3_column_type(st, i);
		bool bytes = type == SQLITE_TEXT || type == SQLITE_BLOB;

		row->null[i] = type == SQLITE_NULL;
		row->number[i] = bytes ? 0 : sqlite3_column_int64(st, i);
		row->ptr[i] = bytes ? sqlite3_column_blob(st, i) : NULL;
		row->len[i] = row->ptr[i] ? (unsigned long)sqlite3_column_bytes(st, i) : 0;
	}
	return rc;
}

void grove__sqlite_done(struct sql_row *row)
{
	sqlite3_reset(row->st);
}

bool grove__sqlite_duplicate(struct sql_conn *base, unsigned what)
{
	int rc = sqlite3_extended_errcode(grove__sqlite_conn(base)->db);

	(void)what;
	return rc == SQLITE_CONSTRAINT_UNIQUE || rc == SQLITE_CONSTRAINT_PRIMARYKEY;
}
