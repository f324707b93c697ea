/*
 * store/mysql.h: what the files of the MySQL driver share.
 */
#ifndef GROVE_STORE_MYSQL_H
#define GROVE_STORE_MYSQL_H

#include "store/sql.h"

#include <mysql.h>

/* Statements that only MySQL has, after the common ones. */
enum {
	MY_APPEND = SQL_NR,  /* as SQL_INSERT without the first, then session_id, generation, rev, unfinished,
			      * lease_number twice */
	MY_LINES,            /* session_id, from, until, bytes, session_id, from -> generation, seq, length,
			      * line unless it is long */
	MY_PIECE,            /* from (1 is the first), bytes, session_id, seq -> length, that part of the line */
	MY_SAME,             /* session_id, seq -> stored, line */
	MY_LEASE,            /* as SQL_LEASE, then the lease_number that it has to have */
	MY_MANY,             /* SQL_INSERT for many rows */
	MY_NR
};

/* The size of a statement apart from the line: a packet has to hold both. */
#define GROVE__MYSQL_BESIDE 4096
/* The maximum number of rows sent at once, and of their bytes. */
enum { GROVE__MYSQL_ROWS = 1000, GROVE__MYSQL_BYTES = 4 << 20 };

struct mysql_host {
	char *name;
	unsigned port;
	uint64_t lacks;        /* settings that its server does not know, one bit each; atomic */
};

/* What a URL says. */
struct mysql_place {
	char *user, *password, *db, *socket;
	char *ca, *cert, *key;
	enum { PLACE_TLS_OFF, PLACE_TLS_ON, PLACE_TLS_VERIFY } tls;
	struct mysql_host *host;
	size_t nr_hosts, cap_hosts;
	char *url;             /* without the password */
};

/* Options for tests; 0 is the default. */
struct grove__mysql_options {
	const struct grove__sql_schema *schema;
	unsigned connect_s;    /* to wait for a host: 5, in brief works 2 */
	unsigned answer_s;     /* to wait for an answer: 60 */
	unsigned lock_s;       /* to wait for another writer: 10 */
	unsigned patience_ms;  /* to try again in all: 20000 */
};

/* Its prepared statements stay. */
struct mysql_conn {
	struct sql_conn base;
	MYSQL *db;
	MYSQL_STMT *st[MY_NR];
	unsigned columns[MY_NR];
	uint16_t numbers[MY_NR];  /* which columns are numbers, one bit each */
	MYSQL_BIND bind[SQL_COLUMNS];  /* for the result that is being read */
	size_t host;
	uint64_t packet;       /* no statement may be longer */
	bool cluster;          /* a node of one */
	bool bulk;             /* accepts many rows at once */
	unsigned trouble;      /* an error that passes */
	bool broken;           /* of no more use */
};

struct mysql_store {
	struct sql_store base;
	struct mysql_place place;
	struct grove__mysql_options opt;

	/* guarded by the lock of the pool */
	size_t host;           /* the one that answered last */
	uint64_t epoch;        /* counts connections that broke; never 0 */
	bool answered;         /* at least once; atomic */
	bool away;             /* nobody answered when last asked, */
	int64_t ask_ns;        /* and will not be asked before this moment, */
	int64_t pause_ns;      /* which is that long after the last try */
	char why[320];         /* what that try said */
	uint64_t again;        /* number of retries, for tests; atomic */
};

static inline struct mysql_store *grove__mysql_store(struct grove_store *st)
{
	return (struct mysql_store *)st;
}

static inline struct mysql_conn *grove__mysql_conn(struct sql_conn *c)
{
	return (struct mysql_conn *)c;
}

/* mysql_url.c */

/* Parses what comes after "mysql:". Messages never contain any of it. */
int grove__mysql_parse(struct mysql_place *p, const char *rest, struct grove_detail *d);
void grove__mysql_place_release(struct mysql_place *p);

/* mysql_stmt.c: statements, and errors of a server */

/*
 * Return whether an error is temporary, whether the connection is useless, and whether what
 * was sent may have happened nevertheless.
 */
bool grove__mysql_passes(unsigned err);
bool grove__mysql_leaves_open(unsigned err);
int grove__mysql_fail_db(struct mysql_conn *c, struct grove_detail *d);
/* Another writer was faster: GROVE_ECONFLICT, unless a retry succeeds. */
int grove__mysql_again(struct mysql_conn *c, struct grove_detail *d);

int grove__mysql_run(struct sql_conn *c, unsigned what, const struct sql_arg *arg, unsigned nr,
		     uint64_t *changed, struct grove_detail *d);
int grove__mysql_ask(struct sql_conn *c, unsigned what, const struct sql_arg *arg, unsigned nr,
		     struct sql_row *row, struct grove_detail *d);
int grove__mysql_next(struct sql_conn *c, struct sql_row *row, struct grove_detail *d);
void grove__mysql_done(struct sql_row *row);
int grove__mysql_take(struct sql_conn *c, struct sql_row *row, unsigned column, char *buf,
		      size_t cap, struct grove_detail *d);
bool grove__mysql_duplicate(struct sql_conn *c, unsigned what);
int grove__mysql_fits(struct sql_conn *c, size_t len, struct grove_detail *d);
/* Runs SQL_INSERT for many rows at once, with `columns` values each. */
int grove__mysql_insert_many(struct mysql_conn *c, const struct sql_arg *arg, unsigned columns,
			     unsigned rows, struct grove_detail *d);
/* Runs a statement given as text, for what is done once per connection. */
int grove__mysql_say(struct mysql_conn *c, const char *sql, struct grove_detail *d);

/* mysql_conn.c: connections, transactions, retries, tables */

int grove__mysql_work(struct sql_store *s, struct sql_work *w, struct grove_detail *d);
int grove__mysql_transaction(struct sql_conn *c, struct sql_work *w, sql_work_fn *fn,
			     struct grove_detail *d);
void grove__mysql_disconnect(struct mysql_store *s);
/* Creates the database and its tables, as far as they are missing. */
int grove__mysql_init(struct grove_store *st, struct grove_detail *d);
int grove__mysql_upgrade(struct grove_store *st, unsigned *from, unsigned *to,
			 struct grove_detail *d);

/* mysql_lines.c */

int grove__mysql_read(struct sql_conn *c, struct sql_reading *r, struct grove_detail *d);
int grove__mysql_piece(struct sql_conn *c, const uint8_t id[GROVE__SQL_ID], uint64_t seq,
		       uint64_t off, char *buf, uint64_t len, uint64_t *line,
		       struct grove_detail *d);
int grove__mysql_append(struct sql_conn *c, struct sql_appending *a, struct grove_detail *d);
int grove__mysql_insert(struct sql_conn *c, const uint8_t id[GROVE__SQL_ID],
			const struct grove_store_record *rec, size_t nr, struct sql_end *e,
			int64_t now, struct grove_detail *d);
int grove__mysql_fence(struct sql_conn *c, const uint8_t id[GROVE__SQL_ID], const struct sql_end *e,
		       struct grove_detail *d);
int grove__mysql_announce(struct sql_conn *c, struct sql_leasing *k, struct grove_detail *d);

/* mysql.c: a store with other options. */
int grove__mysql_open(struct grove_store **out, const char *rest,
		      const struct grove__mysql_options *opt, struct grove_detail *d);

#endif
