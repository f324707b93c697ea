/*
 * op_mysql.c: sessions on a MySQL or MariaDB server, beside the same
 * statements without grove.
 *
 * PATH is a URL, mysql://user:password@host:port/database. The database must not
 * exist: it is created, and dropped at the end. The server should have nothing
 * else to do. Both sides talk to it over connections of the same kind, in turn,
 * sample by sample; the medians are compared.
 */
#include "bench.h"

#include "store/mysql.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	LINE = 2048, /* bytes of a line, about */
	MANY = 500,  /* entries at once where only the result matters */
	BATCH = 100,
	COLUMNS = 10,
	PATH_SHARE = 100 /* of so many lines one is on the path */
};

/* ---------------------------------------------------------------- the server */

struct server {
	struct grove *g;
	MYSQL *db;	 /* a connection of our own */
	char *name;	 /* of the database, once it is ours */
	uint64_t asking; /* rows that the server reads to answer reads_of() */
};

static int say(struct server *s, const char *sql)
{
	return mysql_real_query(s->db, sql, (unsigned long)strlen(sql))
		       ? fail("%.60s…: %s", sql, mysql_error(s->db))
		       : 0;
}

/* All rows of an answer, in memory. */
static int ask(struct server *s, const char *sql, MYSQL_RES **out)
{
	*out = NULL;
	if (say(s, sql))
		return -1;
	*out = mysql_store_result(s->db);
	return *out ? 0 : fail("%.60s…: %s", sql, mysql_error(s->db));
}

/* The sum of the last column. */
static int ask_sum(struct server *s, const char *sql, uint64_t *sum)
{
	MYSQL_RES *res;
	MYSQL_ROW row;
	unsigned last;

	*sum = 0;
	if (ask(s, sql, &res))
		return -1;
	last = mysql_num_fields(res) - 1;
	while ((row = mysql_fetch_row(res)))
		*sum += row[last] ? strtoull(row[last], NULL, 10) : 0;
	mysql_free_result(res);
	return 0;
}

static int rows_read(struct server *s, uint64_t *n)
{
	return ask_sum(s, "SHOW GLOBAL STATUS LIKE 'Handler_read%'", n);
}

static int statements(struct server *s, uint64_t *n)
{
	return ask_sum(s, "SHOW GLOBAL STATUS LIKE 'Com_stmt_execute'", n);
}

/* Connects as the store does. */
static int connect_plain(struct server *s, const struct mysql_place *p)
{
	enum mysql_protocol_type tcp = MYSQL_PROTOCOL_TCP;

	if (p->tls != PLACE_TLS_OFF)
		return fail("without TLS, so that both sides are alike");
	s->db = mysql_init(NULL);
	if (!s->db || mysql_options(s->db, MYSQL_SET_CHARSET_NAME, "utf8mb4") ||
	    (!p->socket && p->host->port && mysql_options(s->db, MYSQL_OPT_PROTOCOL, &tcp)))
		return fail("out of memory");
	if (!mysql_real_connect(s->db, p->host->name, p->user, p->password, NULL, p->host->port,
				p->socket, 0))
		return fail("%s: %s", p->url, mysql_error(s->db));
	return say(s, "SET SESSION autocommit = 1, "
		      "sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'");
}

static int open_world(const char *url, struct grove **g)
{
	const struct grove_options opt = { .size = sizeof(opt),
					   .home = scratch(),
					   .cwd = scratch(),
					   .stores = &url,
					   .nr_stores = 1 };

	return fail_world(*g, grove_open(&opt, g), "world");
}

static int take_database(struct server *s, const char *url, const char *name)
{
	uint64_t there = 0, twice = 0;
	MYSQL_RES *res;
	char sql[300];

	snprintf(sql, sizeof(sql), "SHOW DATABASES LIKE '%.200s'", name);
	if (ask(s, sql, &res))
		return -1;
	there = mysql_num_rows(res);
	mysql_free_result(res);
	if (there)
		return fail("there is a database %s already: it would be dropped", name);
	if (open_world(url, &s->g) || fail_world(s->g, grove_store_init(s->g, url), "init"))
		return -1;
	s->name = strdup(name);
	if (!s->name || mysql_select_db(s->db, name))
		return fail("%s: %s", name, mysql_error(s->db));
	/* the question is counted as well */
	if (rows_read(s, &there) || rows_read(s, &twice))
		return -1;
	s->asking = twice - there;
	return 0;
}

static int server_open(struct server *s, const char *url)
{
	struct mysql_place p = { 0 };
	struct grove_detail d = { 0 };
	int rc;

	memset(s, 0, sizeof(*s));
	if (strncmp(url, "mysql:", 6))
		return fail("PATH is not the URL of a MySQL server");
	rc = grove__mysql_parse(&p, url + 6, &d) ? fail("%s", d.message) : connect_plain(s, &p);
	if (!rc)
		rc = take_database(s, url, p.db);
	grove__mysql_place_release(&p);
	return rc;
}

static void server_close(struct server *s)
{
	char sql[300];

	grove_close(s->g);
	if (s->name) {
		snprintf(sql, sizeof(sql), "DROP DATABASE `%.200s`", s->name);
		say(s, sql);
	}
	if (s->db)
		mysql_close(s->db);
	free(s->name);
}

/* --------------------------------------------------------------- the samples */

struct samples {
	double ms[1000];
	size_t nr;
};

static void took(struct samples *t, double since)
{
	if (t->nr < sizeof(t->ms) / sizeof(*t->ms))
		t->ms[t->nr++] = now_ms() - since;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The median; beside it the least, and what nine of ten stay below. */
static double put_samples(const char *name, struct samples *t)
{
	char member[64];
	double median;

	if (!t->nr)
		return 0;
	qsort(t->ms, t->nr, sizeof(*t->ms), compare);
	median = t->ms[t->nr / 2];
	snprintf(member, sizeof(member), "%s_ms", name);
	put_ms(member, median);
	snprintf(member, sizeof(member), "%s_least_ms", name);
	put_ms(member, t->ms[0]);
	snprintf(member, sizeof(member), "%s_p90_ms", name);
	put_ms(member, t->ms[t->nr * 9 / 10]);
	return median;
}

/* -------------------------------------------------------------- the sessions */

static const char filler[] = "the function now returns null when the session file is missing, and ";

/* A message of about `len` bytes; the first is the prompt. */
static size_t message(char *out, size_t cap, size_t i, size_t len)
{
	static const char tail[] = "\"}],\"timestamp\":1700000000000}";
	size_t at = (size_t)snprintf(
		out, cap, "{\"role\":\"%s\",\"content\":[{\"type\":\"text\",\"text\":\"%zu ",
		i % 2 ? "assistant" : "user", i);

	/* id, parent and time come with the line */
	for (len -= 150; at < len && at < cap - sizeof(tail); at++)
		out[at] = filler[at % (sizeof(filler) - 1)];
	memcpy(out + at, tail, sizeof(tail));
	return at + sizeof(tail) - 1;
}

static int new_session(struct server *s, struct grove_session **out)
{
	const struct grove_create_options opt = { .size = sizeof(opt),
					       .cwd = "/home/dev/project",
					       .flags = GROVE_CREATE_NOW };

	return fail_world(s->g, grove_session_create(s->g, &opt, out), "new");
}

/* `n` messages below each other, the first below `parent`; the last's id. */
static int add_chain(struct grove_session *s, size_t from, size_t n, size_t len, const char *parent,
		     const char **last)
{
	struct grove_append_result r = { .size = sizeof(r) };
	const struct grove_append_options opt = { .size = sizeof(opt), .parent = parent };
	const char *ids[MANY];
	struct grove_slice json[MANY];
	char *text = malloc(n * (len + 256));
	int rc;

	if (!text || n > MANY)
		return fail("too much at once");
	for (size_t i = 0; i < n; i++) {
		char *p = text + i * (len + 256);

		json[i] = (struct grove_slice){ p, message(p, len + 256, from + i, len) };
	}
	r.ids = ids;
	rc = fail_session(s, grove_session_append_many(s, json, n, &opt, &r), "append of many");
	free(text);
	if (!rc && last)
		*last = ids[n - 1];
	return rc;
}

static int fill(struct grove_session *s, size_t n, size_t len)
{
	int rc = 0;

	for (size_t i = 0; i < n && !rc; i += MANY)
		rc = add_chain(s, i, n - i < MANY ? n - i : MANY, len, NULL, NULL);
	return rc;
}

/* `what` about the rows of a session, which may have a condition. */
static void about(char sql[600], const char *what, struct grove_session *s, const char *condition)
{
	snprintf(sql, 600,
		 "SELECT %s FROM entries WHERE session_id = (SELECT session_id FROM sessions "
		 "WHERE session LIKE '%%%.100s%%') %s",
		 what, grove_session_id(s), condition);
}

static int count_lines(struct server *s, struct grove_session *of, uint64_t should)
{
	uint64_t lines = 0;
	char sql[600];

	about(sql, "count(*)", of, "");
	if (ask_sum(s, sql, &lines))
		return -1;
	return lines == should ? 0
			       : fail("%llu lines, should be %llu", (unsigned long long)lines,
				      (unsigned long long)should);
}

/* ------------------------------------------------------ one entry at a time */

/* A session as one row, which is what other stores do. */
struct whole {
	MYSQL_STMT *st;
	MYSQL_BIND bind[2];
	char line[LINE + 300];
	unsigned long len;
	int64_t id;
};

static int whole_prepare(struct server *s, struct whole *w, int64_t id, size_t lines)
{
	static const char update[] = "UPDATE whole SET content = CONCAT(content, ?) WHERE id = ?";
	static const char insert[] = "INSERT INTO whole (content, id) VALUES (REPEAT(?, %zu), ?)";
	char sql[200];
	int rc;

	memset(w, 0, sizeof(*w));
	w->id = id;
	w->len = LINE;
	memset(w->line, 'x', LINE - 1);
	w->line[LINE - 1] = '\n';
	w->bind[0] = (MYSQL_BIND){ .buffer_type = MYSQL_TYPE_LONG_BLOB,
				   .buffer = w->line,
				   .buffer_length = w->len,
				   .length = &w->len };
	w->bind[1] = (MYSQL_BIND){ .buffer_type = MYSQL_TYPE_LONGLONG, .buffer = &w->id };
	if (say(s, "CREATE TABLE IF NOT EXISTS whole (id BIGINT PRIMARY KEY, "
		   "content LONGBLOB NOT NULL) ENGINE=InnoDB"))
		return -1;
	snprintf(sql, sizeof(sql), insert, lines);
	w->st = mysql_stmt_init(s->db);
	rc = !w->st || mysql_stmt_prepare(w->st, sql, (unsigned long)strlen(sql)) ||
	     mysql_stmt_bind_param(w->st, w->bind) || mysql_stmt_execute(w->st) ||
	     mysql_stmt_prepare(w->st, update, sizeof(update) - 1) ||
	     mysql_stmt_bind_param(w->st, w->bind);
	return rc ? fail("whole row: %s", mysql_stmt_error(w->st)) : 0;
}

static int whole_verify(struct server *s, const struct whole *w, size_t lines)
{
	uint64_t bytes = 0;
	char sql[100];

	snprintf(sql, sizeof(sql), "SELECT length(content) FROM whole WHERE id = %d", (int)w->id);
	if (ask_sum(s, sql, &bytes))
		return -1;
	return bytes == lines * LINE
		       ? 0
		       : fail("the whole row has %llu bytes", (unsigned long long)bytes);
}

static int append_one(struct grove_session *s, size_t i, struct samples *t)
{
	const struct grove_append_options opt = { .size = sizeof(opt) };
	char json[LINE + 256];
	struct grove_slice slice = { json, message(json, sizeof(json), i, LINE) };
	double start = now_ms();
	int rc = grove_session_append(s, slice, &opt, NULL);

	took(t, start);
	return fail_session(s, rc, "append");
}

static int append_whole(struct whole *w, struct samples *t)
{
	double start = now_ms();
	int rc = mysql_stmt_execute(w->st);

	took(t, start);
	return rc ? fail("whole row: %s", mysql_stmt_error(w->st)) : 0;
}

struct large {
	size_t mb, lines;
	struct grove_session *session;
};

static int large_make(struct server *s, struct large *l, size_t mb)
{
	int rc;

	l->mb = mb;
	l->lines = mb * 1000000 / LINE;
	rc = new_session(s, &l->session);
	return rc ? rc : fill(l->session, l->lines, LINE);
}

/* Appends to grove's session and to the one in one row, in turn. */
static int append_turns(struct server *s, struct large *l, size_t n)
{
	struct samples ours = { .nr = 0 }, theirs = { .nr = 0 };
	struct whole w;
	char name[32];
	int rc = whole_prepare(s, &w, (int64_t)l->mb, l->lines);

	for (size_t i = 0; i < n && !rc; i++) {
		rc = append_one(l->session, i, &ours);
		if (!rc)
			rc = append_whole(&w, &theirs);
	}
	if (!rc)
		rc = count_lines(s, l->session, l->lines + n + 1);
	if (!rc)
		rc = whole_verify(s, &w, l->lines + n);
	l->lines += n;
	snprintf(name, sizeof(name), "append%zu", l->mb);
	put_samples(name, &ours);
	snprintf(name, sizeof(name), "whole%zu", l->mb);
	put_samples(name, &theirs);
	if (w.st)
		mysql_stmt_close(w.st);
	return rc;
}

/*
 * Is an append to the larger session slower? Only grove's are timed: a statement of 60 MB
 * leaves the server work that slows down the statements after it.
 */
static int append_alone(struct large *a, struct large *b, size_t n)
{
	struct samples to_a = { .nr = 0 }, to_b = { .nr = 0 };
	int rc = 0;

	for (size_t i = 0; i < n && !rc; i++) {
		rc = append_one(a->session, i, &to_a);
		if (!rc)
			rc = append_one(b->session, i, &to_b);
	}
	a->lines += n;
	b->lines += n;
	put_samples("alone6", &to_a);
	put_samples("alone60", &to_b);
	return rc;
}

int op_mysql_append(const char *url, size_t n)
{
	struct large a = { .mb = 0 }, b = { .mb = 0 };
	struct server s;
	int rc = server_open(&s, url);

	if (!rc)
		rc = large_make(&s, &a, 6);
	if (!rc)
		rc = large_make(&s, &b, 60);
	if (!rc)
		rc = append_alone(&a, &b, n);
	if (!rc)
		rc = append_turns(&s, &a, n);
	if (!rc)
		rc = append_turns(&s, &b, n);
	grove_session_close(a.session);
	grove_session_close(b.session);
	server_close(&s);
	return rc;
}

/* ------------------------------------------------------------------- batches */

/* Rows as the library takes them, column by column. */
struct rows {
	MYSQL_RES *res;
	MYSQL_BIND bind[COLUMNS];
	int64_t number[COLUMNS][BATCH];
	const char *text[COLUMNS][BATCH];
	unsigned long len[COLUMNS][BATCH];
	char null[COLUMNS][BATCH];
};

static const char row_columns[] =
	"session_id, seq, start, `stored`, time, kind, role, id, parent, line";

static int is_text(unsigned column)
{
	return !column || column >= COLUMNS - 3;
}

/* The last rows of a session. */
static int take_rows(struct server *s, struct grove_session *of, struct rows *r)
{
	char sql[600];
	MYSQL_ROW row;

	memset(r, 0, sizeof(*r));
	about(sql, row_columns, of, "ORDER BY seq DESC LIMIT 100");
	if (ask(s, sql, &r->res))
		return -1;
	for (unsigned i = BATCH; i-- && (row = mysql_fetch_row(r->res));)
		for (unsigned k = 0; k < COLUMNS; k++) {
			r->null[k][i] = row[k] ? STMT_INDICATOR_NONE : STMT_INDICATOR_NULL;
			r->number[k][i] = row[k] && !is_text(k) ? strtoll(row[k], NULL, 10) : 0;
			r->text[k][i] = row[k];
			r->len[k][i] = mysql_fetch_lengths(r->res)[k];
		}
	for (unsigned k = 0; k < COLUMNS; k++) {
		MYSQL_BIND *b = &r->bind[k];

		b->buffer_type = is_text(k) ? MYSQL_TYPE_LONG_BLOB : MYSQL_TYPE_LONGLONG;
		b->buffer = is_text(k) ? (void *)r->text[k] : (void *)r->number[k];
		b->length = r->len[k];
		b->u.indicator = r->null[k];
	}
	return mysql_num_rows(r->res) == BATCH ? 0 : fail("rows are missing");
}

static int insert_plain(MYSQL_STMT *st, struct rows *r, struct samples *t)
{
	unsigned rows = BATCH;
	double start = now_ms();
	int rc = mysql_stmt_attr_set(st, STMT_ATTR_ARRAY_SIZE, &rows) ||
		 mysql_stmt_bind_param(st, r->bind) || mysql_stmt_execute(st);

	took(t, start);
	mysql_free_result(r->res);
	return rc ? fail("plain rows: %s", mysql_stmt_error(st)) : 0;
}

static int append_batch(struct grove_session *s, size_t from, struct samples *t)
{
	const struct grove_append_options opt = { .size = sizeof(opt) };
	static char text[BATCH][LINE + 256];
	struct grove_slice json[BATCH];
	double start;
	int rc;

	for (size_t i = 0; i < BATCH; i++)
		json[i] = (struct grove_slice){ text[i],
						message(text[i], sizeof(text[i]), from + i, LINE) };
	start = now_ms();
	rc = grove_session_append_many(s, json, BATCH, &opt, NULL);
	took(t, start);
	return fail_session(s, rc, "append of many");
}

static int plain_table(struct server *s, MYSQL_STMT **st)
{
	char sql[300];

	if (say(s, "CREATE TABLE plain LIKE entries"))
		return -1;
	snprintf(sql, sizeof(sql), "INSERT INTO plain (%s) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		 row_columns);
	*st = mysql_stmt_init(s->db);
	if (!*st || mysql_stmt_prepare(*st, sql, (unsigned long)strlen(sql)))
		return fail("plain rows: %s", mysql_error(s->db));
	return 0;
}

/* Is every row in the plain table as it is in ours? */
static int same_rows(struct server *s, uint64_t should)
{
	uint64_t same = 0;

	if (ask_sum(s,
		    "SELECT count(*) FROM plain p, entries e WHERE p.session_id = e.session_id AND "
		    "p.seq = e.seq AND p.start = e.start AND p.id <=> e.id AND "
		    "p.parent <=> e.parent AND p.line = e.line",
		    &same))
		return -1;
	return same == should ? 0
			      : fail("%llu rows are the same, of %llu", (unsigned long long)same,
				     (unsigned long long)should);
}

int op_mysql_batch(const char *url, size_t n)
{
	struct samples ours = { .nr = 0 }, theirs = { .nr = 0 };
	struct grove_session *session = NULL;
	MYSQL_STMT *st = NULL;
	double mine, plain;
	struct rows *r = malloc(sizeof(*r));
	struct server s;
	int rc = server_open(&s, url);

	if (!rc && !r)
		rc = fail("out of memory");
	if (!rc)
		rc = new_session(&s, &session);
	if (!rc)
		rc = plain_table(&s, &st);
	for (size_t i = 0; i < n && !rc; i++) {
		rc = append_batch(session, i * BATCH, &ours);
		if (!rc)
			rc = take_rows(&s, session, r);
		if (!rc)
			rc = insert_plain(st, r, &theirs);
	}
	if (!rc)
		rc = count_lines(&s, session, n * BATCH + 1);
	if (!rc)
		rc = same_rows(&s, n * BATCH);
	mine = put_samples("batch", &ours);
	plain = put_samples("plain_batch", &theirs);
	put_number("batch_of_plain", mine > 0 ? plain / mine : 0);
	if (st)
		mysql_stmt_close(st);
	free(r);
	grove_session_close(session);
	server_close(&s);
	return rc;
}

/* -------------------------------------------------------------- the active path */

/*
 * A trunk from which a branch of PATH_SHARE - 1 entries goes off at each entry:
 * the path to the last line has one line of each PATH_SHARE.
 */
static int add_tree(struct grove_session *s, size_t lines)
{
	const char *trunk = GROVE_ROOT;
	int rc = 0;

	for (size_t i = 0; i < lines && !rc; i += PATH_SHARE) {
		rc = add_chain(s, i, PATH_SHARE - 1, 500, trunk, NULL);
		if (!rc)
			rc = add_chain(s, i, 1, 500, trunk, &trunk);
	}
	return rc;
}

struct cost {
	uint64_t rows, statements;
	double ms;
};

static int cost_begin(struct server *s, struct cost *c)
{
	int rc = statements(s, &c->statements);

	if (!rc)
		rc = rows_read(s, &c->rows);
	c->ms = now_ms();
	return rc;
}

static int cost_end(struct server *s, struct cost *c)
{
	uint64_t rows = 0, n = 0;
	int rc;

	c->ms = now_ms() - c->ms;
	rc = rows_read(s, &rows);
	if (!rc)
		rc = statements(s, &n);
	c->rows = rows - c->rows - s->asking;
	c->statements = n - c->statements;
	return rc;
}

static void put_cost(const char *name, const struct cost *c)
{
	char member[64];

	snprintf(member, sizeof(member), "%s_ms", name);
	put_ms(member, c->ms);
	snprintf(member, sizeof(member), "%s_rows_read", name);
	put_count(member, c->rows);
	snprintf(member, sizeof(member), "%s_statements", name);
	put_count(member, c->statements);
}

static size_t occurrences(const struct grove_buf *b, const char *word)
{
	size_t n = 0;

	for (const char *p = b->ptr; p && (p = strstr(p, word)); p++)
		n++;
	return n;
}

/* From nothing to what the model would be sent. */
static int cost_of_context(struct server *s, const char *url, const char *id, size_t path)
{
	struct grove_buf json = GROVE_BUF_INIT;
	struct grove_session *session = NULL;
	struct grove *g = NULL;
	struct cost c;
	int rc = cost_begin(s, &c);

	if (!rc)
		rc = open_world(url, &g);
	if (!rc)
		rc = fail_world(g, grove_session_open(g, id, GROVE_OPEN_READ | GROVE_OPEN_LAZY, &session),
				"open");
	if (!rc)
		rc = fail_session(session,
				  grove_session_context(session, NULL, grove_buf_sink(&json)),
				  "context");
	grove_session_close(session);
	grove_close(g);
	if (!rc)
		rc = cost_end(s, &c);
	if (!rc && occurrences(&json, "\"role\"") != path)
		rc = fail("%zu messages in the context, not %zu", occurrences(&json, "\"role\""),
			  path);
	if (!rc)
		put_cost("context", &c);
	grove_buf_release(&json);
	return rc;
}

int op_mysql_context(const char *url, size_t n)
{
	struct grove_session *session = NULL;
	size_t path = n / PATH_SHARE;
	char id[100] = "";
	struct server s;
	int rc = server_open(&s, url);

	if (!rc)
		rc = new_session(&s, &session);
	if (!rc)
		rc = add_tree(session, path * PATH_SHARE);
	if (!rc)
		rc = count_lines(&s, session, path * PATH_SHARE + 1);
	if (!rc)
		snprintf(id, sizeof(id), "%s", grove_session_id(session));
	grove_session_close(session);
	put_count("rows", path * PATH_SHARE);
	put_count("path", path);
	if (!rc)
		rc = cost_of_context(&s, url, id, path);
	server_close(&s);
	return rc;
}

/* ------------------------------------------------------------------ snapshots */

/* All lines by one SELECT, as the library keeps them. */
static int select_all(struct server *s, const char *sql, struct samples *t, size_t *rows)
{
	double start = now_ms();
	MYSQL_RES *res;
	int rc = ask(s, sql, &res);

	took(t, start);
	if (rc)
		return rc;
	*rows = mysql_num_rows(res);
	mysql_free_result(res);
	return 0;
}

struct parts {
	struct samples open, json, all;
};

/* The world is open and has its connection; the session is opened anew. */
static int snapshot(struct server *s, const char *id, struct grove_buf *json, struct parts *t)
{
	struct grove_session *session = NULL;
	struct grove_view *v = NULL;
	double start = now_ms(), opened;
	int rc = fail_world(s->g, grove_session_open(s->g, id, GROVE_OPEN_READ, &session), "open");

	if (!rc)
		rc = fail_session(session, grove_session_view(session, &v), "view");
	took(&t->open, start);
	opened = now_ms();
	if (!rc)
		rc = fail_session(session, grove_view_snapshot(v, NULL, grove_buf_sink(json)),
				  "snapshot");
	took(&t->json, opened);
	took(&t->all, start);
	grove_view_unref(v);
	grove_session_close(session);
	return rc;
}

/* The SELECT, a snapshot into a new buffer, and one into a buffer that had one before. */
static int snapshot_turns(struct server *s, const char *id, const char *sql, size_t n)
{
	enum { ROUNDS = 15 };
	struct grove_buf kept = GROVE_BUF_INIT;
	struct parts ours = { .all.nr = 0 }, again = { .all.nr = 0 };
	struct samples theirs = { .nr = 0 };
	uint64_t before = 0, after = 0;
	double plain;
	int rc = statements(s, &before);

	for (int i = 0; i < ROUNDS && !rc; i++) {
		struct grove_buf json = GROVE_BUF_INIT;
		size_t rows = 0, entries;

		rc = select_all(s, sql, &theirs, &rows);
		if (!rc)
			rc = snapshot(s, id, &json, &ours);
		kept.len = 0;
		if (!rc)
			rc = snapshot(s, id, &kept, &again);
		entries = occurrences(&json, "\"type\":\"message\"");
		if (!rc && (rows != n + 1 || entries != n || kept.len != json.len))
			rc = fail("%zu rows, %zu entries, should be %zu", rows, entries, n);
		grove_buf_release(&json);
	}
	grove_buf_release(&kept);
	if (!rc)
		rc = statements(s, &after);
	plain = put_samples("select", &theirs);
	put_samples("open", &ours.open);
	put_samples("json", &ours.json);
	put_number("snapshot_of_select",
		   put_samples("snapshot", &ours.all) / (plain > 0 ? plain : 1));
	put_samples("snapshot_kept", &again.all);
	put_count("snapshot_statements", (after - before) / (2 * ROUNDS));
	return rc;
}

int op_mysql_snapshot(const char *url, size_t n)
{
	struct grove_session *session = NULL;
	char id[100] = "", sql[600] = "";
	struct server s;
	int rc = server_open(&s, url);

	put_count("entries", n);
	if (!rc)
		rc = new_session(&s, &session);
	if (!rc)
		rc = fill(session, n, LINE);
	if (!rc) {
		snprintf(id, sizeof(id), "%s", grove_session_id(session));
		about(sql, "line", session, "ORDER BY seq");
	}
	grove_session_close(session);
	if (!rc)
		rc = snapshot_turns(&s, id, sql, n);
	server_close(&s);
	return rc;
}
