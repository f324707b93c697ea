/*
 * store/mysql_conn.c: the server behind a MySQL store: connections, statements,
 * trying again.
 *
 * Connections come out of a pool and go back to it; one that broke is thrown
 * away, with all others to the same host, and the next host has its turn. An
 * error that passes (a deadlock, a node that is joining, a host that is gone)
 * is not told before there was time for it to pass.
 *
 * On a cluster a read first waits until its node has what was committed on the
 * others (wsrep_sync_wait), unless it follows one that did.
 */
#include "store/mysql.h"

#include "sys/alive.h"
#include "sys/clock.h"
#include "sys/file.h"

#include <errmsg.h>
#include <mysqld_error.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
	CONNECT_S = 5,
	ANSWER_S = 60,
	LOCK_S = 10,
	PATIENCE_MS = 20000,
	IDLE_MAX = 8,
	UPGRADE_S = 7 * 24 * 3600,  /* an index over a large table takes as long as it takes */
};

#define TEXT_OF_(x) #x
#define TEXT_OF(x) TEXT_OF_(x)

/* By the server's clock: the clients' may differ by more than a lease lasts. */
#define NOW_MS "CAST(unix_timestamp(now(3)) * 1000 AS SIGNED)"

/* Of a long line only how long it is. */
#define ENTRY "SELECT seq, time, kind, role, length(line), id, parent, CASE WHEN length(line) <= " \
	      TEXT_OF(MYSQL_LONG_LINE) " THEN line END FROM entries WHERE session_id = ? AND "

static const char *const text[MY_NR - SQL_NR] = {
	[MY_END - SQL_NR] = "SELECT s.generation, s.unfinished, s.updated, s.rev, s.adjust, e.seq, "
			    "e.start, length(e.line), e.`stored`, s.lease_number, s.lease_until, "
			    NOW_MS ", s.lease_owner FROM sessions s LEFT JOIN entries e "
			    "ON e.session_id = s.session_id AND e.seq = "
			    "(SELECT max(m.seq) FROM entries m WHERE m.session_id = ?) "
			    "WHERE s.session_id = ?",
	[MY_LOCK - SQL_NR] = "SELECT generation FROM sessions WHERE session_id = ? FOR UPDATE",
	[MY_APPEND - SQL_NR] = "INSERT INTO entries (session_id, seq, start, `stored`, time, kind, role, "
			       "id, parent, line) SELECT s.session_id, ?, ?, ?, ?, ?, ?, ?, ?, ? "
			       "FROM sessions s WHERE s.session_id = ? AND s.generation = ? "
			       "AND s.rev = ? AND s.unfinished <=> ? AND (s.lease_number = ? OR ? = 0 AND "
			       "(s.lease_owner IS NULL OR s.lease_until <= " NOW_MS "))",
	[MY_LINES - SQL_NR] = "SELECT s.generation, e.seq, length(e.line), CASE WHEN length(e.line) <= "
			      TEXT_OF(MYSQL_LONG_LINE) " THEN e.line END FROM sessions s, entries e "
			      "WHERE s.session_id = ? AND e.session_id = s.session_id "
			      "AND e.seq >= ? AND e.seq < ? AND e.start < ? + "
			      "(SELECT f.start FROM entries f WHERE f.session_id = ? AND f.seq = ?) "
			      "ORDER BY e.seq",
	[MY_PIECE - SQL_NR] = ("SELECT length(line), substring(line, ?, ?) FROM entries "
			       "WHERE session_id = ? AND seq = ?"),
	/* what the lines have, and what the rows behind them say that they have */
	[MY_DRIFT - SQL_NR] = "SELECT CAST(coalesce(sum(length(line) + 1), 0) AS SIGNED), min(start) "
			      "FROM entries WHERE session_id = ? AND seq >= ? AND seq < ?",
	[MY_NOTED - SQL_NR] = "SELECT kind, time, `lines` FROM changes WHERE session_id = ? AND rev = ?",
	/* bytes and ASCII are two collations, with which a server may not take the index */
	[MY_ENTRY - SQL_NR] = ENTRY "id = CONVERT(? USING ascii) COLLATE ascii_bin "
			      "ORDER BY seq DESC LIMIT 1",
	[MY_LAST_ENTRY - SQL_NR] = ENTRY "1 ORDER BY seq DESC LIMIT 1",
	[MY_SAME - SQL_NR] = "SELECT `stored`, line FROM entries WHERE session_id = ? AND seq = ?",
	[MY_LEASE - SQL_NR] = "UPDATE sessions SET lease_owner = ?, lease_number = ?, lease_until = ? "
			      "WHERE session_id = ? AND lease_number = ?",
};

static const char *text_of(unsigned what)
{
	if (what == MY_MANY)
		return grove__sql_text[SQL_INSERT];
	return what < SQL_NR ? grove__sql_text[what] : text[what - SQL_NR];
}

/*
 * On a cluster a read waits for its node, by a message around the group. These
 * come right behind MY_END on the same connection, which has waited. Only MariaDB
 * has words for it.
 */
static bool behind_end(unsigned what)
{
	return what == MY_LINES || what == MY_SAME;
}

/* ------------------------------------------------------------------- errors */

/* Does it pass? */
static bool passes(unsigned err)
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

/* Is the connection of no more use? */
static bool breaks(unsigned err)
{
	return passes(err) && err != ER_LOCK_DEADLOCK && err != ER_LOCK_WAIT_TIMEOUT;
}

/* May what was sent have happened all the same? */
static bool leaves_open(unsigned err)
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

	if (passes(err))
		c->trouble = err;
	if (breaks(err))
		c->broken = true;
	switch (err) {
	case ER_BAD_DB_ERROR:
		return grove__fail(d, code, c->url,
				   "there is no such database yet (`grove store init` makes it)");
	case ER_LOCK_DEADLOCK:
	case ER_LOCK_WAIT_TIMEOUT:
		return grove__fail(d, code, c->url,
				   "another writer has the session locked, nothing was stored (try again)");
	case ER_DISK_FULL:
	case ER_RECORD_FILE_FULL:
		return grove__fail(d, code, c->url, "no space left on the server, nothing was stored");
	default:
		return grove__fail(d, code, c->url, "%.300s (%u)", words, err);
	}
}

static int fail_db(struct mysql_conn *c, struct grove_detail *d)
{
	return fail(c, mysql_errno(c->db), mysql_error(c->db), d);
}

static int fail_stmt(struct mysql_conn *c, MYSQL_STMT *st, struct grove_detail *d)
{
	if (mysql_stmt_errno(st))
		return fail(c, mysql_stmt_errno(st), mysql_stmt_error(st), d);
	/* a connection that is lost among the rows of an answer is told elsewhere, or not at all */
	if (mysql_errno(c->db))
		return fail_db(c, d);
	return fail(c, CR_SERVER_LOST, "the connection was lost", d);
}

int grove__mysql_again(struct mysql_conn *c, struct grove_detail *d)
{
	return fail(c, ER_LOCK_DEADLOCK, "", d);
}

bool grove__mysql_duplicate(struct mysql_conn *c, unsigned what)
{
	return c->st[what] && mysql_stmt_errno(c->st[what]) == ER_DUP_ENTRY;
}

int grove__mysql_fits(struct mysql_conn *c, size_t len, struct grove_detail *d)
{
	if (len + MYSQL_BESIDE <= c->packet)
		return 0;
	return grove__fail(d, GROVE_ETOOBIG, c->url,
			   "%zu bytes: the server takes %llu at once (max_allowed_packet), nothing was stored",
			   len, (unsigned long long)(c->packet - MYSQL_BESIDE));
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

static void bind_one(MYSQL_BIND *b, const struct mysql_arg *a)
{
	union {
		const void *given;
		void *ptr;
	} bytes;

	switch (a->type) {
	case MYSQL_ARG_NULL:
		b->buffer_type = MYSQL_TYPE_NULL;
		break;
	case MYSQL_ARG_NUMBER:
		b->buffer_type = MYSQL_TYPE_LONGLONG;
		bytes.given = &a->number;
		b->buffer = bytes.ptr;
		break;
	case MYSQL_ARG_BYTES:
		b->buffer_type = MYSQL_TYPE_LONG_BLOB;
		bytes.given = a->ptr;
		b->buffer = bytes.ptr;
		b->buffer_length = (unsigned long)a->len;
		break;
	}
}

static int execute(struct mysql_conn *c, unsigned what, const struct mysql_arg *arg, unsigned nr,
		   MYSQL_STMT **out, struct grove_detail *d)
{
	MYSQL_BIND bind[MYSQL_ARGS];
	size_t bytes = 0;
	int rc = prepare(c, what, out, d);

	if (rc)
		return rc;
	memset(bind, 0, sizeof(bind));
	for (unsigned i = 0; i < nr; i++) {
		bind_one(&bind[i], &arg[i]);
		bytes += arg[i].len;
	}
	rc = grove__mysql_fits(c, bytes, d);
	if (rc)
		return rc;
	if ((nr && mysql_stmt_bind_param(*out, bind)) || mysql_stmt_execute(*out))
		return fail_stmt(c, *out, d);
	return 0;
}

int grove__mysql_run(struct mysql_conn *c, unsigned what, const struct mysql_arg *arg, unsigned nr,
		     uint64_t *changed, struct grove_detail *d)
{
	MYSQL_STMT *st;
	int rc = execute(c, what, arg, nr, &st, d);

	if (!rc && changed)
		*changed = mysql_stmt_affected_rows(st);
	return rc;
}

int grove__mysql_ask(struct mysql_conn *c, unsigned what, const struct mysql_arg *arg, unsigned nr,
		     struct mysql_row *row, struct grove_detail *d)
{
	int rc;

	memset(row, 0, sizeof(*row));
	rc = execute(c, what, arg, nr, &row->st, d);
	if (rc)
		return rc;
	row->nr = c->columns[what];
	for (unsigned i = 0; i < row->nr; i++) {
		MYSQL_BIND *b = &row->bind[i];

		b->buffer_type = c->numbers[what] >> i & 1 ? MYSQL_TYPE_LONGLONG : MYSQL_TYPE_LONG_BLOB;
		b->buffer = &row->number[i];
		b->buffer_length = b->buffer_type == MYSQL_TYPE_LONGLONG ? sizeof(row->number[i]) : 0;
		b->length = &row->len[i];
		b->is_null = &row->null[i];
	}
	if (mysql_stmt_bind_result(row->st, row->bind)) {
		rc = fail_stmt(c, row->st, d);
		grove__mysql_done(row);
	}
	return rc;
}

int grove__mysql_next(struct mysql_conn *c, struct mysql_row *row, struct grove_detail *d)
{
	switch (mysql_stmt_fetch(row->st)) {
	case 0:
	case MYSQL_DATA_TRUNCATED:   /* bytes are taken afterwards */
		return 0;
	case MYSQL_NO_DATA:
		return MYSQL_NONE;
	default:
		return fail_stmt(c, row->st, d);
	}
}

void grove__mysql_done(struct mysql_row *row)
{
	mysql_stmt_free_result(row->st);
}

int grove__mysql_take(struct mysql_conn *c, struct mysql_row *row, unsigned column, char *buf,
		      size_t cap, struct grove_detail *d)
{
	MYSQL_BIND b;
	unsigned long len = 0;
	my_bool null = 0, cut = 0;

	if (row->null[column] || !row->len[column] || !cap)
		return 0;
	memset(&b, 0, sizeof(b));
	b.buffer_type = MYSQL_TYPE_LONG_BLOB;
	b.buffer = buf;
	b.buffer_length = (unsigned long)cap;
	b.length = &len;
	b.is_null = &null;
	b.error = &cut;
	if (mysql_stmt_fetch_column(row->st, &b, column, 0))
		return fail_stmt(c, row->st, d);
	return 0;
}

int grove__mysql_first(struct mysql_conn *c, unsigned what, const struct mysql_arg *arg, unsigned nr,
		       struct mysql_row *row, struct grove_detail *d)
{
	int rc = grove__mysql_ask(c, what, arg, nr, row, d);

	if (rc)
		return rc;
	rc = grove__mysql_next(c, row, d);
	if (rc)
		grove__mysql_done(row);
	return rc;
}

/* Column by column, as the library wants it. */
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

static int fill_many(struct many *m, const struct mysql_arg *arg, unsigned columns, unsigned rows)
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
			const struct mysql_arg *a = &arg[(size_t)i * columns + k];
			size_t at = (size_t)k * rows + i;

			m->number[at] = a->number;
			m->ptr[at] = a->ptr ? a->ptr : "";
			m->len[at] = a->type == MYSQL_ARG_BYTES ? (unsigned long)a->len : sizeof(int64_t);
			m->indicator[at] = a->type == MYSQL_ARG_NULL ? STMT_INDICATOR_NULL : STMT_INDICATOR_NONE;
			if (a->type == MYSQL_ARG_BYTES)
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

int grove__mysql_insert_many(struct mysql_conn *c, const struct mysql_arg *arg, unsigned columns,
			     unsigned rows, struct grove_detail *d)
{
	struct many m = { NULL };
	MYSQL_STMT *st;
	int rc = 0;

	if (!c->bulk || rows == 1) {
		for (unsigned i = 0; i < rows && !rc; i++)
			rc = grove__mysql_run(c, SQL_INSERT, arg + (size_t)i * columns, columns, NULL, d);
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

/* A statement as text, for what is done once a connection. */
static int say(struct mysql_conn *c, const char *sql, struct grove_detail *d)
{
	return mysql_real_query(c->db, sql, (unsigned long)strlen(sql)) ? fail_db(c, d) : 0;
}

/* The numbers of its first row; MYSQL_NONE: there is none. */
static int ask_numbers(struct mysql_conn *c, const char *sql, int64_t *out, unsigned nr,
		       struct grove_detail *d)
{
	MYSQL_RES *res;
	MYSQL_ROW row;
	int rc = say(c, sql, d);

	if (rc)
		return rc;
	res = mysql_store_result(c->db);
	if (!res)
		return fail_db(c, d);
	row = mysql_num_fields(res) >= nr ? mysql_fetch_row(res) : NULL;
	for (unsigned i = 0; i < nr && row; i++)
		out[i] = row[i] ? strtoll(row[i], NULL, 10) : 0;
	mysql_free_result(res);
	return row ? 0 : MYSQL_NONE;
}

/* Longer each time, and never for two at the same moment. */
static void wait_a_little(unsigned tries)
{
	unsigned ms = tries < 8 ? 2u << tries : 500;
	uint16_t chance;

	grove__sys_random(&chance, sizeof(chance));
	usleep((ms / 2 + chance % (ms + 1)) * 1000);
}

/* --------------------------------------------------------------- the tables */

/*
 * The version of the tables. 0: there are none, or somebody began to make them
 * and was interrupted before the last step, which writes down the version.
 */
static int version_of(struct mysql_conn *c, bool thorough, int64_t *out, struct grove_detail *d)
{
	int64_t tables[2];
	int rc;

	*out = 0;
	if (thorough) {
		rc = ask_numbers(c, "SELECT count(*), coalesce(sum(table_comment = '" GROVE__SQL_COMMENT
				 "'), 0) FROM information_schema.tables WHERE table_schema = DATABASE() AND "
				 "table_name IN ('meta', 'sessions', 'entries', 'attachments', "
				 "'session_values', 'changes')", tables, 2, d);
		if (rc)
			return rc;
		if (tables[1] < tables[0])
			return grove__fail(d, GROVE_ENOTSUP, c->url,
					   "the database has tables of another program under names that grove uses");
		if (tables[0] < 5)
			return 0;
	}
	rc = ask_numbers(c, grove__sql_text[SQL_VERSION], out, 1, d);
	return rc == MYSQL_NONE ? 0 : rc;
}

static int judge_version(struct mysql_store *s, int64_t version, struct grove_detail *d)
{
	if (version > s->opt.schema->newest)
		return grove__fail(d, GROVE_ENOTSUP, s->place.url,
				   "made by a later grove (its tables have version %lld, this grove knows %u)",
				   (long long)version, s->opt.schema->newest);
	if (version < s->opt.schema->newest)
		return grove__fail(d, GROVE_ENOTSUP, s->place.url,
				   "made by an earlier grove: run `grove store upgrade` (its tables have version %lld, not %u)",
				   (long long)version, s->opt.schema->newest);
	return 0;
}

/* Is what is to be made there already? */
static bool made_before(unsigned err)
{
	return err == ER_TABLE_EXISTS_ERROR || err == ER_DUP_FIELDNAME || err == ER_DUP_KEYNAME;
}

/* Something that two may do at once, one behind the other. */
static int say_once(struct mysql_conn *c, const char *sql, struct grove_detail *d)
{
	int rc = say(c, sql, d);

	for (unsigned tries = 0; rc && c->trouble && !c->broken && tries < 20; tries++) {
		c->trouble = 0;
		wait_a_little(tries);
		rc = say(c, sql, d);
	}
	return rc && made_before(mysql_errno(c->db)) ? 0 : rc;
}

/* The statements that write down the version. */
static bool is_version(const char *sql)
{
	return !strncmp(sql, "INSERT INTO meta ", 17) || !strncmp(sql, "UPDATE meta ", 12);
}

/* Never back: of two who upgrade at once one may know a later version. */
static int write_version(struct mysql_store *s, struct mysql_conn *c, struct grove_detail *d)
{
	unsigned newest = s->opt.schema->newest;
	char sql[160];

	snprintf(sql, sizeof(sql), "INSERT INTO meta (name, value) VALUES ('version', %u) "
		 "ON DUPLICATE KEY UPDATE value = greatest(value, %u)", newest, newest);
	return say_once(c, sql, d);
}

/*
 * Each statement of MySQL's that makes a table stands for itself, so what was
 * interrupted is gone through again: what is there already is passed over. The
 * version comes last.
 */
static int make_tables(struct mysql_store *s, struct mysql_conn *c, unsigned from,
		       struct grove_detail *d)
{
	const struct grove__sql_schema *schema = s->opt.schema;
	int rc = 0;

	for (unsigned v = from; v < schema->newest && !rc; v++)
		for (const char *const *sql = schema->versions[v]; *sql && !rc; sql++)
			if (!is_version(*sql))
				rc = say_once(c, *sql, d);
	return rc ? rc : write_version(s, c, d);
}

/* -------------------------------------------------------------- connections */

static void close_conn(struct mysql_conn *c)
{
	if (!c)
		return;
	for (unsigned i = 0; i < MY_NR; i++)
		if (c->st[i])
			mysql_stmt_close(c->st[i]);
	if (c->db)
		mysql_close(c->db);
	free(c);
}

/*
 * In a child: its descriptor goes, and not a byte is sent, which the parent's server
 * would take for the parent's. The library cannot free the rest without a word.
 */
static void abandon_conn(struct mysql_conn *c)
{
	grove__sys_close(mysql_get_socket(c->db));
}

static void begin_library(void)
{
	mysql_library_init(0, NULL, NULL);
}

static unsigned or_usual(unsigned wanted, unsigned usual)
{
	return wanted ? wanted : usual;
}

static int set_options(struct mysql_store *s, struct mysql_conn *c, const struct mysql_host *h)
{
	const struct mysql_place *p = &s->place;
	unsigned connect = or_usual(s->opt.connect_s, CONNECT_S);
	unsigned answer = or_usual(s->opt.answer_s, ANSWER_S);
	enum mysql_protocol_type tcp = MYSQL_PROTOCOL_TCP;
	my_bool yes = 1;
	int rc = mysql_options(c->db, MYSQL_OPT_CONNECT_TIMEOUT, &connect) ||
		 mysql_options(c->db, MYSQL_OPT_READ_TIMEOUT, &answer) ||
		 mysql_options(c->db, MYSQL_OPT_WRITE_TIMEOUT, &answer) ||
		 mysql_options(c->db, MYSQL_SET_CHARSET_NAME, "utf8mb4");

	/* "localhost" would be a socket, whatever its port */
	if (!rc && !p->socket && h->port)
		rc = mysql_options(c->db, MYSQL_OPT_PROTOCOL, &tcp);
	if (!rc && p->tls != MYSQL_TLS_OFF)
		rc = mysql_options(c->db, MYSQL_OPT_SSL_ENFORCE, &yes) ||
		     (p->ca && mysql_options(c->db, MYSQL_OPT_SSL_CA, p->ca)) ||
		     (p->cert && mysql_options(c->db, MYSQL_OPT_SSL_CERT, p->cert)) ||
		     (p->key && mysql_options(c->db, MYSQL_OPT_SSL_KEY, p->key));
	if (!rc && p->tls == MYSQL_TLS_VERIFY)
		rc = mysql_options(c->db, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &yes);
	return rc;
}

/*
 * What a session inherits from its server and has to be as we expect it, or
 * acknowledged lines would be rolled back (autocommit, completion_type), answers
 * cut short (sql_select_limit, max_statement_time), keys twice (unique_checks),
 * names read in another alphabet (character_set_*), leases judged by a clock that
 * jumps twice a year (time_zone). What only makes things slower is the
 * administrator's affair, and so is how long a session may be idle.
 */
static const struct setting {
	const char *name;
	const char *value;  /* NULL: how long to wait for another writer */
	enum { ANY_SERVER, MARIADB_ONLY, MYSQL_ONLY } of;
	bool needed;        /* a server that does not know it cannot be used */
} settings[] = {
	{ "autocommit", "1", ANY_SERVER, true },
	{ "completion_type", "0", ANY_SERVER, false },
	{ "sql_mode", "'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'", ANY_SERVER, true },
	/* MY_APPEND lives from it: what it reads is locked until it has inserted */
	{ "tx_isolation", "'REPEATABLE-READ'", MARIADB_ONLY, true },
	{ "tx_read_only", "0", MARIADB_ONLY, true },
	{ "transaction_isolation", "'REPEATABLE-READ'", MYSQL_ONLY, true },
	{ "transaction_read_only", "0", MYSQL_ONLY, true },
	/* else a row that was changed meanwhile would be an error of its own */
	{ "innodb_snapshot_isolation", "0", MARIADB_ONLY, false },
	{ "innodb_lock_wait_timeout", NULL, ANY_SERVER, false },
	{ "lock_wait_timeout", NULL, ANY_SERVER, false },
	{ "unique_checks", "1", ANY_SERVER, false },
	{ "foreign_key_checks", "1", ANY_SERVER, false },
	{ "character_set_client", "utf8mb4", ANY_SERVER, false },
	{ "character_set_results", "utf8mb4", ANY_SERVER, false },
	{ "collation_connection", "utf8mb4_bin", ANY_SERVER, false },
	{ "time_zone", "_ascii'+00:00'", ANY_SERVER, false },
	{ "sql_select_limit", "18446744073709551615", ANY_SERVER, false },
	{ "sql_big_selects", "1", ANY_SERVER, false },
	{ "sql_safe_updates", "0", ANY_SERVER, false },
	{ "sql_auto_is_null", "0", ANY_SERVER, false },
	{ "max_statement_time", "0", MARIADB_ONLY, false },
	{ "max_execution_time", "0", MYSQL_ONLY, false },
	{ "alter_algorithm", "'DEFAULT'", MARIADB_ONLY, false },
	{ "query_cache_type", "0", MARIADB_ONLY, false },
	/* on a cluster a read waits for its node; one that is cut off answers nothing */
	{ "wsrep_sync_wait", "1", ANY_SERVER, false },
	{ "wsrep_dirty_reads", "0", ANY_SERVER, false },
};

enum { SETTINGS = sizeof(settings) / sizeof(*settings) };

static bool lacks(const struct mysql_host *h, unsigned setting)
{
	return __atomic_load_n(&h->lacks, __ATOMIC_RELAXED) >> setting & 1;
}

/* All of them in one statement, those aside that this host does not have. */
static int say_settings(struct mysql_store *s, struct mysql_conn *c, const struct mysql_host *h,
			struct grove_detail *d)
{
	int other = mariadb_connection(c->db) ? MYSQL_ONLY : MARIADB_ONLY, rc = 0;
	struct grove_buf sql = GROVE_BUF_INIT;

	for (unsigned i = 0; i < SETTINGS && !rc; i++) {
		if ((int)settings[i].of == other || lacks(h, i))
			continue;
		rc = grove__buf_addf(&sql, "%s%s = ", sql.len ? ", " : "SET SESSION ", settings[i].name);
		if (!rc)
			rc = settings[i].value ? grove__buf_add_str(&sql, settings[i].value)
					       : grove__buf_addf(&sql, "%u", or_usual(s->opt.lock_s, LOCK_S));
	}
	rc = rc ? grove__fail_nomem(d) : say(c, sql.ptr, d);
	grove__buf_release(&sql);
	return rc;
}

/* The setting that the server just said it does not know; SETTINGS: none, or one that we need. */
static unsigned unknown_setting(struct mysql_conn *c)
{
	char quoted[64];

	if (mysql_errno(c->db) != ER_UNKNOWN_SYSTEM_VARIABLE)
		return SETTINGS;
	for (unsigned i = 0; i < SETTINGS; i++) {
		snprintf(quoted, sizeof(quoted), "'%s'", settings[i].name);
		if (!settings[i].needed && strstr(mysql_error(c->db), quoted))
			return i;
	}
	return SETTINGS;
}

static int settle_session(struct mysql_store *s, struct mysql_conn *c, struct mysql_host *h,
			  struct grove_detail *d)
{
	unsigned unknown;
	int rc;

	for (unsigned tries = 0; tries <= SETTINGS; tries++) {
		rc = say_settings(s, c, h, d);
		unknown = rc ? unknown_setting(c) : SETTINGS;
		if (unknown == SETTINGS)
			break;
		__atomic_or_fetch(&h->lacks, (uint64_t)1 << unknown, __ATOMIC_RELAXED);
	}
	return rc;
}

static unsigned setting_of(const char *name)
{
	unsigned i = 0;

	while (i < SETTINGS && strcmp(settings[i].name, name))
		i++;
	return i;
}

#define ABOUT_SERVER(cluster) "SELECT @@max_allowed_packet, " cluster ", DATABASE(), " \
			      "abs(timestampdiff(SECOND, now(), sysdate())) > 60"

/* As the server said with its last answer. */
static bool in_transaction(struct mysql_conn *c)
{
	unsigned status = 0;

	return !mariadb_get_infov(c->db, MARIADB_CONNECTION_SERVER_STATUS, &status) &&
	       status & SERVER_STATUS_IN_TRANS;
}

/* What we have to know of the server; and is the session in another database, is its clock stopped? */
static int ask_server(struct mysql_conn *c, const struct mysql_host *h, const char *db, bool *moved,
		      bool *stopped, struct grove_detail *d)
{
	unsigned long caps = 0;
	uint64_t packet;
	MYSQL_RES *res;
	MYSQL_ROW row;
	int rc = say(c, lacks(h, setting_of("wsrep_sync_wait")) ? ABOUT_SERVER("0")
								: ABOUT_SERVER("@@wsrep_on"), d);

	if (rc)
		return rc;
	res = mysql_store_result(c->db);
	row = res && mysql_num_fields(res) == 4 ? mysql_fetch_row(res) : NULL;
	if (!row || !row[0]) {
		mysql_free_result(res);
		return fail_db(c, d);
	}
	packet = strtoull(row[0], NULL, 10);
	c->packet = packet > 2 * MYSQL_BESIDE ? packet : 2 * MYSQL_BESIDE;
	c->cluster = row[1] && !strcmp(row[1], "1");
	*moved = db && (!row[2] || strcmp(row[2], db));
	*stopped = row[3] && strcmp(row[3], "0");
	mysql_free_result(res);
	/*
	 * Not on a cluster. When another node's change throws a transaction out while
	 * it inserts an array, MariaDB 10.11 goes on with the rest of the array and
	 * says that all is well: rows were missing. Row by row the error is told.
	 */
	if (!mariadb_get_infov(c->db, MARIADB_CONNECTION_EXTENDED_SERVER_CAPABILITIES, &caps))
		c->bulk = !c->cluster && caps & (MARIADB_CLIENT_STMT_BULK_OPERATIONS >> 32);
	return 0;
}

/*
 * A session as we expect it, whatever the server does with a new one: what is set
 * for all sessions is settled, what init_connect began (a transaction, locks,
 * another database, a clock that stands still) is ended. Not by resetting the
 * connection: after that a node of a cluster (MariaDB 10.11) does not wait
 * for the others any more, whatever wsrep_sync_wait says.
 */
static int set_up(struct mysql_store *s, struct mysql_conn *c, const char *db,
		  struct grove_detail *d)
{
	struct mysql_host *h = &s->place.host[c->host];
	bool moved = false, stopped = false;
	int rc = settle_session(s, c, h, d);

	if (!rc && in_transaction(c))
		rc = say(c, "ROLLBACK", d);
	if (!rc)
		rc = say(c, "UNLOCK TABLES", d);
	if (!rc)
		rc = ask_server(c, h, db, &moved, &stopped, d);
	if (!rc && moved && mysql_select_db(c->db, db))
		rc = fail_db(c, d);
	if (!rc && stopped)
		rc = say(c, "SET SESSION timestamp = DEFAULT", d);
	return rc;
}

/* One host. `db` may be NULL. */
static int connect_to(struct mysql_store *s, size_t host, const char *db, struct mysql_conn **out,
		      unsigned *err, struct grove_detail *d)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	const struct mysql_place *p = &s->place;
	const struct mysql_host *h = &p->host[host];
	struct mysql_conn *c = calloc(1, sizeof(*c));
	int rc = 0;

	*err = 0;
	if (!c)
		return grove__fail_nomem(d);
	pthread_once(&once, begin_library);
	c->url = p->url;
	c->host = host;
	__atomic_store_n(&s->pid, grove__sys_pid(), __ATOMIC_RELEASE);
	c->db = mysql_init(NULL);
	if (!c->db || set_options(s, c, h)) {
		rc = grove__fail_nomem(d);
	} else if (!mysql_real_connect(c->db, h->name, p->user, *p->password ? p->password : NULL, db,
				       h->port, p->socket, 0)) {
		*err = mysql_errno(c->db);
		rc = fail_db(c, d);
	} else if (p->tls != MYSQL_TLS_OFF && !mysql_get_ssl_cipher(c->db)) {
		/* the library goes on without; our lines do not */
		rc = grove__fail(d, GROVE_EACCESS, p->url, "the server does not speak TLS");
	} else {
		rc = set_up(s, c, db, d);
		if (rc)
			*err = mysql_errno(c->db);
	}
	if (rc) {
		close_conn(c);
		return rc;
	}
	*out = c;
	return 0;
}

/* The first host that answers, beginning with the one that did last. */
static int connect_any(struct mysql_store *s, const char *db, struct mysql_conn **out,
		       unsigned *trouble, struct grove_detail *d)
{
	size_t first, nr = s->place.nr_hosts, host = 0;
	uint64_t epoch;
	unsigned err = 0;
	int rc = 0;

	pthread_mutex_lock(&s->pool_lock);
	first = s->host;
	epoch = s->epoch;
	pthread_mutex_unlock(&s->pool_lock);
	for (size_t i = 0; i < nr; i++) {
		host = (first + i) % nr;
		rc = connect_to(s, host, db, out, &err, d);
		/* a host whose name is not known is one that may be gone */
		if (!rc || (!passes(err) && err != CR_UNKNOWN_HOST))
			break;
	}
	*trouble = rc && passes(err) ? err : 0;
	if (rc)
		return rc;
	(*out)->epoch = epoch;
	if (host != first) {
		pthread_mutex_lock(&s->pool_lock);
		if (s->host == first) {
			s->host = host;
			s->epoch++;
		}
		(*out)->epoch = s->epoch;
		pthread_mutex_unlock(&s->pool_lock);
	}
	return 0;
}

static int open_conn(struct mysql_store *s, struct mysql_conn **out, unsigned *trouble,
		     struct grove_detail *d)
{
	struct mysql_conn *c;
	int64_t version = 0;
	int rc = connect_any(s, s->place.db, &c, trouble, d);

	if (rc)
		return rc;
	rc = version_of(c, !__atomic_load_n(&s->answered, __ATOMIC_ACQUIRE), &version, d);
	if (!rc)
		rc = version ? judge_version(s, version, d) : MYSQL_ABSENT;
	*trouble = c->trouble;
	if (rc) {
		close_conn(c);
		return rc;
	}
	__atomic_store_n(&s->answered, true, __ATOMIC_RELEASE);
	*out = c;
	return 0;
}

static int take(struct mysql_store *s, struct mysql_conn **out, unsigned *trouble,
		struct grove_detail *d)
{
	struct mysql_conn *c;

	*trouble = 0;
	pthread_mutex_lock(&s->pool_lock);
	c = s->idle;
	if (c) {
		s->idle = c->next;
		s->nr_idle--;
	}
	pthread_mutex_unlock(&s->pool_lock);
	if (!c)
		return open_conn(s, out, trouble, d);
	c->trouble = 0;
	*out = c;
	return 0;
}

/* Back to the pool; or away with it, and with its like. */
static void give(struct mysql_store *s, struct mysql_conn *c)
{
	struct mysql_conn *away = NULL, **at, *next;

	pthread_mutex_lock(&s->pool_lock);
	if (c->broken) {
		if (s->host == c->host && s->epoch == c->epoch) {
			s->host = (c->host + 1) % s->place.nr_hosts;
			s->epoch++;
		}
		for (at = &s->idle; *at;) {
			next = *at;
			if (next->epoch == s->epoch) {
				at = &next->next;
				continue;
			}
			*at = next->next;
			s->nr_idle--;
			next->next = away;
			away = next;
		}
	}
	if (c->broken || s->nr_idle >= IDLE_MAX || c->epoch != s->epoch) {
		c->next = away;
		away = c;
	} else {
		c->next = s->idle;
		s->idle = c;
		s->nr_idle++;
	}
	pthread_mutex_unlock(&s->pool_lock);
	for (; away; away = next) {
		next = away->next;
		close_conn(away);
	}
}

int grove__mysql_ours(const struct mysql_store *s, struct grove_detail *d)
{
	return grove__sql_forked(__atomic_load_n(&s->pid, __ATOMIC_ACQUIRE), s->place.url, d);
}

void grove__mysql_disconnect(struct mysql_store *s)
{
	bool ours = !grove__mysql_ours(s, NULL);
	struct mysql_conn *next;

	for (struct mysql_conn *c = s->idle; c; c = next) {
		next = c->next;
		if (ours)
			close_conn(c);
		else
			abandon_conn(c);
	}
	s->idle = NULL;
	s->nr_idle = 0;
}

/* ------------------------------------------------------------- trying again */

int grove__mysql_transaction(struct mysql_conn *c, struct mysql_work *w, mysql_work_fn *fn,
			     struct grove_detail *d)
{
	int rc = say(c, "START TRANSACTION", d);

	if (rc)
		return rc;
	rc = fn(c, w, d);
	/* thrown out without a word: what came after stands alone, and must not stay */
	if (!rc && !in_transaction(c))
		rc = fail(c, ER_LOCK_DEADLOCK, "", d);
	if (!rc)
		rc = say(c, "COMMIT", d);
	if (rc && !c->broken && mysql_real_query(c->db, "ROLLBACK", 8))
		c->broken = true;
	/* it has begun the next one: what would be done in there is nobody's */
	if (in_transaction(c))
		c->broken = true;
	return rc;
}

/*
 * What was done outside of a transaction is done when the server says so, unless
 * it says as well that one is open, which somebody between us and the server must
 * have begun: then it ends with this connection, and nothing of it stays.
 */
static int do_plain(struct mysql_conn *c, struct mysql_work *w, struct grove_detail *d)
{
	int rc = w->fn(c, w, d);

	if (rc < 0 || c->broken || !in_transaction(c))
		return rc;
	c->broken = true;
	return grove__fail(d, GROVE_EIO, c->url,
			   "the server has a transaction open that grove did not begin, nothing was stored");
}

int grove__mysql_do(struct mysql_store *s, struct mysql_work *w, struct grove_detail *d)
{
	int64_t end = grove__sys_ticks_ns() +
		      (int64_t)or_usual(s->opt.patience_ms, PATIENCE_MS) * 1000000;
	struct mysql_conn *c;
	unsigned trouble;
	int rc = grove__mysql_ours(s, d);

	if (rc)
		return rc;
	for (unsigned tries = 0;; tries++) {
		rc = take(s, &c, &trouble, d);
		if (!rc) {
			rc = w->plain ? do_plain(c, w, d) : grove__mysql_transaction(c, w, w->fn, d);
			trouble = rc < 0 ? c->trouble : 0;
			give(s, c);
		} else if (!__atomic_load_n(&s->answered, __ATOMIC_ACQUIRE)) {
			return rc;
		}
		if (rc >= 0 || !trouble)
			return rc;
		if (leaves_open(trouble))
			w->unknown = true;
		if (w->once || grove__sys_ticks_ns() >= end)
			break;
		__atomic_add_fetch(&s->again, 1, __ATOMIC_RELAXED);
		wait_a_little(tries);
	}
	/* whoever is told of a conflict may rely on it that nothing was stored */
	if (w->unknown) {
		rc = GROVE_EIO;
		if (d)
			d->code = rc;
	}
	return rc;
}

/* ----------------------------------------------------------- init, upgrade */

/* `db` becomes a name in backquotes. */
static int make_database(struct mysql_store *s, struct grove_detail *d)
{
	struct grove_buf sql = GROVE_BUF_INIT;
	struct mysql_conn *c = NULL;
	unsigned trouble;
	int rc = grove__buf_add_str(&sql, "CREATE DATABASE IF NOT EXISTS `");

	for (const char *p = s->place.db; *p && !rc; p++)
		rc = grove__buf_addf(&sql, *p == '`' ? "``" : "%c", *p);
	if (!rc)
		rc = grove__buf_add_char(&sql, '`');
	if (rc)
		rc = grove__fail_nomem(d);
	if (!rc)
		rc = connect_any(s, NULL, &c, &trouble, d);
	if (!rc)
		rc = say(c, sql.ptr, d);
	close_conn(c);
	grove__buf_release(&sql);
	return rc;
}

/* A connection to the database, whatever tables it has. */
static int connect_bare(struct mysql_store *s, bool create, struct mysql_conn **out,
			int64_t *version, struct grove_detail *d)
{
	unsigned trouble;
	int rc = connect_any(s, s->place.db, out, &trouble, d);

	if (rc == GROVE_ENOTFOUND && create) {
		rc = make_database(s, d);
		if (!rc)
			rc = connect_any(s, s->place.db, out, &trouble, d);
	}
	if (rc)
		return rc;
	rc = version_of(*out, true, version, d);
	if (rc)
		close_conn(*out);
	return rc;
}

int grove__mysql_init(struct mysql_store *s, struct grove_detail *d)
{
	struct mysql_conn *c;
	int64_t version;
	int rc = connect_bare(s, true, &c, &version, d);

	if (rc)
		return rc;
	if (!version) {
		rc = make_tables(s, c, 0, d);
		if (!rc)
			rc = version_of(c, true, &version, d);
	}
	if (!rc)
		rc = judge_version(s, version, d);
	close_conn(c);
	return rc;
}

int grove__mysql_upgrade(struct mysql_store *s, unsigned *from, unsigned *to,
			 struct grove_detail *d)
{
	unsigned answer_s = s->opt.answer_s;
	struct mysql_conn *c;
	int64_t version = 0;
	int rc;

	s->opt.answer_s = UPGRADE_S;
	rc = connect_bare(s, false, &c, &version, d);
	s->opt.answer_s = answer_s;
	*from = (unsigned)version;
	*to = s->opt.schema->newest;
	if (rc)
		return rc;
	if (!version)
		rc = grove__fail(d, GROVE_ENOTFOUND, s->place.url,
				 "there is no store here yet (`grove store init` makes one)");
	else if (version > *to)
		rc = judge_version(s, version, d);
	else if (version < *to)
		rc = make_tables(s, c, *from, d);
	close_conn(c);
	return rc;
}
