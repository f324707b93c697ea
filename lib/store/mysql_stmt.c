/*
 * store/mysql_stmt.c: statements of a MySQL store, and errors of a server.
 *
 * Some errors are temporary: a deadlock, a node that is joining, a host that is gone.
 * They are recorded in the connection (`trouble`), and the work is retried.
 */
#include "store/mysql.h"

#include <errmsg.h>
#include <mysqld_error.h>
#include <stdio.h>
#include <stdlib.h>

enum { ARGS = 20 };

/* By the server's clock: those of clients may differ by more than the length of a lease. */
#define NOW_MS "CAST(unix_timestamp(now(3)) * 1000 AS SIGNED)"

/*
 * The common statements that are different in MySQL, and its own. Bytes and ASCII are
 * two collations; comparing them may keep a server from using the index.
 */
static const char *const text[MY_NR] = {
	[SQL_END] = GROVE__SQL_END(NOW_MS),
	[SQL_LOCK] = "SELECT generation FROM sessions WHERE session_id = ? FOR UPDATE",
	[MY_APPEND] = "INSERT INTO entries (session_id, seq, start, `stored`, time, kind, role, id, "
		      "parent, line) SELECT s.session_id, ?, ?, ?, ?, ?, ?, ?, ?, ? "
		      "FROM sessions s WHERE s.session_id = ? AND s.generation = ? "
		      "AND s.rev = ? AND s.unfinished <=> ? AND (s.lease_number = ? OR ? = 0 AND "
		      "(s.lease_owner IS NULL OR s.lease_until <= " NOW_MS "))",
	[MY_LINES] = "SELECT s.generation, e.seq, length(e.line), CASE WHEN length(e.line) <= "
		     GROVE__SQL_STR(GROVE__SQL_LONG_LINE) " THEN e.line END FROM sessions s, entries e "
		     "WHERE s.session_id = ? AND e.session_id = s.session_id "
		     "AND e.seq >= ? AND e.seq < ? AND e.start < ? + "
		     "(SELECT f.start FROM entries f WHERE f.session_id = ? AND f.seq = ?) "
		     "ORDER BY e.seq",
	[MY_PIECE] = "SELECT length(line), substring(line, ?, ?) FROM entries "
		     "WHERE session_id = ? AND seq = ?",
	[MY_SAME] = "SELECT `stored`, line FROM entries WHERE session_id = ? AND seq = ?",
	[MY_LEASE] = "UPDATE sessions SET lease_owner = ?, lease_number = ?, lease_until = ? "
		     "WHERE session_id = ? AND lease_number = ?",
};

static const char *text_of(unsigned what)
{
	if (what == MY_MANY)
		return grove__sql_text[SQL_INSERT];
	return text[what] ? text[what] : grove__sql_text[what];
}

/*
 * On a cluster a read waits for its node, by a message around the group. These come
 * right after SQL_END on the same connection, which has waited. Only MariaDB has syntax
 * for it.
 */
static bool behind_end(unsigned what)
{
	return what == MY_LINES || what == MY_SAME;
}

/* ------------------------------------------------------------------- errors */

bool grove__mysql_passes(unsigned err)
{
	switch (err) {
	case ER_LOCK_DEADLOCK:
	case ER_LOCK_WAIT_TIMEOUT:
	case ER_UNKNOWN_COM_ERROR:        /* 1047: a node that is not part of its cluster now */
	case ER_ERROR_DURING_COMMIT:      /* 1180 */
	case ER_SERVER_SHUTDOWN:
	case ER_CONNECTION_KILLED:
	case ER_CON_COUNT_ERROR:
	case ER_NEED_REPREPARE:
	case CR_CONNECTION_ERROR:
	case CR_CONN_HOST_ERROR:
	case CR_SERVER_GONE_ERROR:
	case CR_SERVER_LOST:
	case CR_COMMANDS_OUT_OF_SYNC:
		return true;
	default:
		return false;
	}
}

/* True if the connection is useless. */
static bool breaks(unsigned err)
{
	return grove__mysql_passes(err) && err != ER_LOCK_DEADLOCK && err != ER_LOCK_WAIT_TIMEOUT;
}

bool grove__mysql_leaves_open(unsigned err)
{
	return err == ER_ERROR_DURING_COMMIT || err == CR_SERVER_GONE_ERROR || err == CR_SERVER_LOST ||
	       err == ER_SERVER_SHUTDOWN || err == ER_CONNECTION_KILLED;
}

static int code_of(unsigned err)
{
	switch (err) {
	case CR_OUT_OF_MEMORY:
	case ER_OUTOFMEMORY:
	case ER_OUT_OF_RESOURCES:
		return GROVE_ENOMEM;
	case ER_LOCK_DEADLOCK:
	case ER_LOCK_WAIT_TIMEOUT:
		return GROVE_ECONFLICT;
	case ER_ACCESS_DENIED_ERROR:
	case ER_ACCESS_DENIED_NO_PASSWORD_ERROR:
	case ER_DBACCESS_DENIED_ERROR:
	case ER_TABLEACCESS_DENIED_ERROR:
	case ER_COLUMNACCESS_DENIED_ERROR:
	case ER_SPECIFIC_ACCESS_DENIED_ERROR:
	case ER_HOST_NOT_PRIVILEGED:
	case ER_HOST_IS_BLOCKED:
	case ER_OPTION_PREVENTS_STATEMENT:
	case CR_SSL_CONNECTION_ERROR:
		return GROVE_EACCESS;
	case ER_BAD_DB_ERROR:
	case ER_NO_SUCH_TABLE:
		return GROVE_ENOTFOUND;
	case ER_DISK_FULL:
	case ER_RECORD_FILE_FULL:
		return GROVE_EFULL;
	case ER_NET_PACKET_TOO_LARGE:
	case CR_NET_PACKET_TOO_LARGE:
	case ER_TOO_BIG_ROWSIZE:
	case ER_DATA_TOO_LONG:
		return GROVE_ETOOBIG;
	case CR_CONNECTION_ERROR:
	case CR_CONN_HOST_ERROR:
	case CR_UNKNOWN_HOST:
	case CR_SERVER_GONE_ERROR:
	case CR_SERVER_LOST:
	case ER_SERVER_SHUTDOWN:
	case ER_CON_COUNT_ERROR:
	case ER_UNKNOWN_COM_ERROR:
		return GROVE_EAWAY;
	case ER_NOT_KEYFILE:
	case ER_CRASHED_ON_USAGE:
		return GROVE_EDAMAGED;
	default:
		return GROVE_EIO;
	}
}

static int fail(struct mysql_conn *c, unsigned err, const char *words, struct grove_detail *d)
{
	int code = code_of(err);

	if (grove__mysql_passes(err))
		c->trouble = err;
	if (breaks(err))
		c->broken = true;
	switch (err) {
	case ER_BAD_DB_ERROR:
		return grove__fail(d, code, c->base.where,
				   "the database does not exist yet (run 'grove store init')");
	case ER_LOCK_DEADLOCK:
	case ER_LOCK_WAIT_TIMEOUT:
		return grove__fail(d, code, c->base.where,
				   "another writer has the session locked; nothing was stored (try again)");
	case ER_DISK_FULL:
	case ER_RECORD_FILE_FULL:
		return grove__fail(d, code, c->base.where, "no space left on the server; nothing was stored");
	default:
		return grove__fail(d, code, c->base.where, "%.300s (%u)", words, err);
	}
}

int grove__mysql_fail_db(struct mysql_conn *c, struct grove_detail *d)
{
	return fail(c, mysql_errno(c->db), mysql_error(c->db), d);
}

static int fail_stmt(struct mysql_conn *c, MYSQL_STMT *st, struct grove_detail *d)
{
	if (mysql_stmt_errno(st))
		return fail(c, mysql_stmt_errno(st), mysql_stmt_error(st), d);
	/* a connection lost among the rows of an answer is reported elsewhere, or not at all */
	if (mysql_errno(c->db))
		return grove__mysql_fail_db(c, d);
	return fail(c, CR_SERVER_LOST, "the connection was lost", d);
}

int grove__mysql_again(struct mysql_conn *c, struct grove_detail *d)
{
	return fail(c, ER_LOCK_DEADLOCK, "", d);
}

bool grove__mysql_duplicate(struct sql_conn *base, unsigned what)
{
	struct mysql_conn *c = grove__mysql_conn(base);

	return c->st[what] && mysql_stmt_errno(c->st[what]) == ER_DUP_ENTRY;
}

int grove__mysql_fits(struct sql_conn *base, size_t len, struct grove_detail *d)
{
	struct mysql_conn *c = grove__mysql_conn(base);

	if (len + GROVE__MYSQL_BESIDE <= c->packet)
		return 0;
	return grove__fail(d, GROVE_ETOOBIG, c->base.where,
			   "%zu bytes: the server takes %llu at once (max_allowed_packet), nothing was stored",
			   len, (unsigned long long)(c->packet - GROVE__MYSQL_BESIDE));
}

/* --------------------------------------------------------------- statements */

static bool is_number(enum enum_field_types type)
{
	return type == MYSQL_TYPE_TINY || type == MYSQL_TYPE_SHORT || type == MYSQL_TYPE_INT24 ||
	       type == MYSQL_TYPE_LONG || type == MYSQL_TYPE_LONGLONG;
}

static int prepare(struct mysql_conn *c, unsigned what, MYSQL_STMT **out, struct grove_detail *d)
{
	char sql[1024];
	MYSQL_STMT *st = c->st[what];
	MYSQL_RES *about;
	int rc;

	*out = st;
	if (st)
		return 0;
	snprintf(sql, sizeof(sql), "%s%s", c->cluster && mariadb_connection(c->db) && behind_end(what)
		 ? "SET STATEMENT wsrep_sync_wait = 0 FOR " : "", text_of(what));
	st = mysql_stmt_init(c->db);
	if (!st)
		return grove__fail_nomem(d);
	if (mysql_stmt_prepare(st, sql, (unsigned long)strlen(sql))) {
		rc = fail_stmt(c, st, d);
		mysql_stmt_close(st);
		return rc;
	}
	about = mysql_stmt_result_metadata(st);
	c->columns[what] = about ? mysql_num_fields(about) : 0;
	for (unsigned i = 0; i < c->columns[what]; i++)
		if (is_number(mysql_fetch_field_direct(about, i)->type))
			c->numbers[what] |= (uint16_t)(1u << i);
	if (about)
		mysql_free_result(about);
	*out = c->st[what] = st;
	return 0;
}

static void bind_one(MYSQL_BIND *b, const struct sql_arg *a)
{
	union {
		const void *given;
		void *ptr;
	} bytes;

	switch (a->type) {
	case SQL_ARG_NULL:
		b->buffer_type = MYSQL_TYPE_NULL;
		break;
	case SQL_ARG_NUMBER:
		b->buffer_type = MYSQL_TYPE_LONGLONG;
		bytes.given = &a->number;
		b->buffer = bytes.ptr;
		break;
	case SQL_ARG_TEXT:
	case SQL_ARG_BYTES:
		b->buffer_type = MYSQL_TYPE_LONG_BLOB;
		bytes.given = a->ptr;
		b->buffer = bytes.ptr;
		b->buffer_length = (unsigned long)a->len;
		break;
	}
}

static int execute(struct mysql_conn *c, unsigned what, const struct sql_arg *arg, unsigned nr,
		   MYSQL_STMT **out, struct grove_detail *d)
{
	MYSQL_BIND bind[ARGS];
	size_t bytes = 0;
	int rc = prepare(c, what, out, d);

	if (rc)
		return rc;
	memset(bind, 0, sizeof(bind));
	for (unsigned i = 0; i < nr; i++) {
		bind_one(&bind[i], &arg[i]);
		bytes += arg[i].len;
	}
	rc = grove__mysql_fits(&c->base, bytes, d);
	if (rc)
		return rc;
	if ((nr && mysql_stmt_bind_param(*out, bind)) || mysql_stmt_execute(*out))
		return fail_stmt(c, *out, d);
	return 0;
}

int grove__mysql_run(struct sql_conn *base, unsigned what, const struct sql_arg *arg, unsigned nr,
		     uint64_t *changed, struct grove_detail *d)
{
	MYSQL_STMT *st;
	int rc = execute(grove__mysql_conn(base), what, arg, nr, &st, d);

	if (!rc && changed)
		*changed = mysql_stmt_affected_rows(st);
	return rc;
}

int grove__mysql_ask(struct sql_conn *base, unsigned what, const struct sql_arg *arg, unsigned nr,
		     struct sql_row *row, struct grove_detail *d)
{
	struct mysql_conn *c = grove__mysql_conn(base);
	MYSQL_STMT *st = NULL;
	int rc;

	memset(row, 0, sizeof(*row));
	rc = execute(c, what, arg, nr, &st, d);
	if (rc)
		return rc;
	row->st = st;
	memset(c->bind, 0, sizeof(c->bind));
	for (unsigned i = 0; i < c->columns[what]; i++) {
		MYSQL_BIND *b = &c->bind[i];

		b->buffer_type = c->numbers[what] >> i & 1 ? MYSQL_TYPE_LONGLONG : MYSQL_TYPE_LONG_BLOB;
		b->buffer = &row->number[i];
		b->buffer_length = b->buffer_type == MYSQL_TYPE_LONGLONG ? sizeof(row->number[i]) : 0;
		b->length = &row->len[i];
		b->is_null = &row->null[i];
	}
	if (mysql_stmt_bind_result(st, c->bind)) {
		rc = fail_stmt(c, st, d);
		grove__mysql_done(row);
	}
	return rc;
}

int grove__mysql_next(struct sql_conn *c, struct sql_row *row, struct grove_detail *d)
{
	switch (mysql_stmt_fetch(row->st)) {
	case 0:
	case MYSQL_DATA_TRUNCATED:   /* bytes are taken afterwards */
		return 0;
	case MYSQL_NO_DATA:
		return GROVE__SQL_NONE;
	default:
		return fail_stmt(grove__mysql_conn(c), row->st, d);
	}
}

void grove__mysql_done(struct sql_row *row)
{
	mysql_stmt_free_result(row->st);
}

int grove__mysql_take(struct sql_conn *base, struct sql_row *row, unsigned column, char *buf,
		      size_t cap, struct grove_detail *d)
{
	MYSQL_BIND b;
	unsigned long len = 0;
	my_bool null = 0, cut = 0;

	memset(&b, 0, sizeof(b));
	b.buffer_type = MYSQL_TYPE_LONG_BLOB;
	b.buffer = buf;
	b.buffer_length = (unsigned long)cap;
	b.length = &len;
	b.is_null = &null;
	b.error = &cut;
	if (mysql_stmt_fetch_column(row->st, &b, column, 0))
		return fail_stmt(grove__mysql_conn(base), row->st, d);
	return 0;
}

/* Column by column, as the library requires. */
struct many {
	MYSQL_BIND *bind;
	int64_t *number;
	const void **ptr;
	unsigned long *len;
	char *indicator;
};

static void release_many(struct many *m)
{
	free(m->bind);
	free(m->number);
	free(m->ptr);
	free(m->len);
	free(m->indicator);
}

static int fill_many(struct many *m, const struct sql_arg *arg, unsigned columns, unsigned rows)
{
	size_t all = (size_t)columns * rows;

	m->bind = calloc(columns, sizeof(*m->bind));
	m->number = calloc(all, sizeof(*m->number));
	m->ptr = calloc(all, sizeof(*m->ptr));
	m->len = calloc(all, sizeof(*m->len));
	m->indicator = calloc(all, 1);
	if (!m->bind || !m->number || !m->ptr || !m->len || !m->indicator)
		return GROVE_ENOMEM;
	for (unsigned k = 0; k < columns; k++) {
		MYSQL_BIND *b = &m->bind[k];

		b->buffer_type = MYSQL_TYPE_LONGLONG;
		for (unsigned i = 0; i < rows; i++) {
			const struct sql_arg *a = &arg[(size_t)i * columns + k];
			size_t at = (size_t)k * rows + i;

			m->number[at] = a->number;
			m->ptr[at] = a->ptr ? a->ptr : "";
			m->len[at] = a->ptr ? (unsigned long)a->len : sizeof(int64_t);
			m->indicator[at] = a->type == SQL_ARG_NULL ? STMT_INDICATOR_NULL : STMT_INDICATOR_NONE;
			if (a->ptr)
				b->buffer_type = MYSQL_TYPE_LONG_BLOB;
		}
		b->length = &m->len[(size_t)k * rows];
		b->u.indicator = &m->indicator[(size_t)k * rows];
		if (b->buffer_type == MYSQL_TYPE_LONGLONG)
			b->buffer = &m->number[(size_t)k * rows];
		else
			b->buffer = &m->ptr[(size_t)k * rows];
	}
	return 0;
}

int grove__mysql_insert_many(struct mysql_conn *c, const struct sql_arg *arg, unsigned columns,
			     unsigned rows, struct grove_detail *d)
{
	struct many m = { NULL };
	MYSQL_STMT *st;
	int rc = 0;

	if (!c->bulk || rows == 1) {
		for (unsigned i = 0; i < rows && !rc; i++)
			rc = grove__mysql_run(&c->base, SQL_INSERT, arg + (size_t)i * columns, columns, NULL, d);
		return rc;
	}
	rc = prepare(c, MY_MANY, &st, d);
	if (!rc && fill_many(&m, arg, columns, rows))
		rc = grove__fail_nomem(d);
	if (!rc && (mysql_stmt_attr_set(st, STMT_ATTR_ARRAY_SIZE, &rows) ||
		    mysql_stmt_bind_param(st, m.bind) || mysql_stmt_execute(st)))
		rc = fail_stmt(c, st, d);
	release_many(&m);
	return rc;
}

int grove__mysql_say(struct mysql_conn *c, const char *sql, struct grove_detail *d)
{
	return mysql_real_query(c->db, sql, (unsigned long)strlen(sql)) ? grove__mysql_fail_db(c, d) : 0;
}
