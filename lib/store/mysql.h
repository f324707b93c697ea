/*
 * store/mysql.h: what the files of the MySQL store share.
 */
#ifndef GROVE_STORE_MYSQL_H
#define GROVE_STORE_MYSQL_H

#include "store/sql.h"

#include <mysql.h>
#include <pthread.h>

/* Statements that only MySQL has, behind the common ones. */
enum {
	MY_END = SQL_NR,   /* session_id twice -> generation, unfinished, updated, rev, adjust, seq, start, length,
			    * stored, lease_number, lease_until, now, lease_owner */
	MY_LOCK,           /* session_id -> generation; nobody appends until the transaction ends */
	MY_APPEND,         /* as SQL_INSERT without the first, then session_id, generation, rev, unfinished,
			    * lease_number twice */
	MY_LINES,          /* session_id, from, until, bytes, session_id, from -> generation, seq, length, line unless it is long */
	MY_PIECE,          /* from (1 is the first), bytes, session_id, seq -> length, that part of the line */
	MY_DRIFT,          /* session_id, from, until -> bytes of these lines, start of the first */
	MY_NOTED,          /* session_id, rev -> kind, time, lines: a change */
	MY_ENTRY,          /* session_id, id -> seq, time, kind, role, length, id, parent, line unless it is long */
	MY_LAST_ENTRY,     /* session_id -> the same */
	MY_SAME,           /* session_id, seq -> stored, line */
	MY_LEASE,          /* as SQL_LEASE, then the lease_number that it has to have */
	MY_MANY,           /* SQL_INSERT for many rows */
	MY_NR
};

/* Longer lines are read piece by piece, straight to where they are wanted. */
#define MYSQL_LONG_LINE 262144
/* Of a statement, what is not the line: a packet has to take both. */
#define MYSQL_BESIDE 4096

struct mysql_host {
	char *name;
	unsigned port;
	uint64_t lacks;        /* settings that its server does not know, a bit each; atomic */
};

/* What a URL says. */
struct mysql_place {
	char *user, *password, *db, *socket;
	char *ca, *cert, *key;
	enum { MYSQL_TLS_OFF, MYSQL_TLS_ON, MYSQL_TLS_VERIFY } tls;
	struct mysql_host *host;
	size_t nr_hosts, cap_hosts;
	char *url;             /* without the password */
};

/* What tests may want otherwise; 0 is the usual. */
struct grove__mysql_options {
	const struct grove__sql_schema *schema;
	unsigned connect_s;    /* to wait for a host: 5 */
	unsigned answer_s;     /* to wait for an answer: 60 */
	unsigned lock_s;       /* to wait for another writer: 10 */
	unsigned patience_ms;  /* to try again in all: 20000 */
};

/* Used by one thread at a time; its statements are kept. */
struct mysql_conn {
	struct mysql_conn *next;
	MYSQL *db;
	MYSQL_STMT *st[MY_NR];
	unsigned columns[MY_NR];
	uint16_t numbers[MY_NR];  /* which of the columns are, a bit each */
	const char *url;       /* the store's */
	size_t host;
	uint64_t epoch;
	uint64_t packet;       /* no statement may be longer */
	bool cluster;          /* a node of one */
	bool bulk;             /* takes many rows at once */
	unsigned trouble;      /* an error that passes */
	bool broken;           /* of no more use */
};

struct mysql_store {
	struct grove_store base;
	struct mysql_place place;
	struct grove__mysql_options opt;
	int64_t pid;           /* of the process that connected, 0: nobody yet; atomic */

	pthread_mutex_t pool_lock;
	struct mysql_conn *idle;
	unsigned nr_idle;
	size_t host;           /* the one that answered last */
	uint64_t epoch;        /* counts connections that broke */
	bool answered;         /* at least once; atomic */
	uint64_t again;        /* how often something was tried again, for tests; atomic */
};

/* Where a log ends. */
struct mysql_end {
	uint64_t generation, tail, base;
	uint64_t start;           /* of a row behind the last; a line that lacks its end aside */
	int64_t adjust;           /* what the log has more bytes than that */
	int64_t changed, now;     /* ms; by the server's clock: now */
	struct grove_lease lease;
	int64_t unfinished_row;   /* -1: NULL */
	bool unfinished;          /* and that is the last line */
};

struct mysql_log {
	struct grove_log base;
	uint8_t id[GROVE__SQL_ID];
	bool writable;
	uint64_t lease;           /* the number under which it writes, 0: none; atomic */

	/* threads that append queue here, not at the server */
	pthread_mutex_t append_lock;
	struct mysql_end end;     /* after our last append */
	uint64_t end_epoch;
	bool end_known;

	/* a piece of a long line, for those who fetch it in smaller ones */
	pthread_mutex_t window_lock;
	char *window;
	uint64_t window_seq, window_off, window_len, window_generation;
};

static inline struct mysql_store *grove__mysql_store(struct grove_store *st)
{
	return (struct mysql_store *)st;
}

static inline struct mysql_log *grove__mysql_log(struct grove_log *log)
{
	return (struct mysql_log *)log;
}

/* mysql_url.c */

/* Take apart what stands behind "mysql:". Messages never repeat any of it. */
int grove__mysql_parse(struct mysql_place *p, const char *rest, struct grove_detail *d);
void grove__mysql_place_release(struct mysql_place *p);

/* mysql_conn.c: connections, statements, trying again */

#define MYSQL_NONE 1    /* no such row */
#define MYSQL_ABSENT 2  /* the database has no tables yet */

struct mysql_work;
typedef int mysql_work_fn(struct mysql_conn *c, struct mysql_work *w, struct grove_detail *d);

/*
 * Something to be done on a connection, again if an error passes. What fn
 * needs stands behind this. Within a transaction unless `plain`.
 */
struct mysql_work {
	mysql_work_fn *fn;
	bool plain;
	bool once;      /* fn sets it when it could not be called a second time */
	bool unknown;   /* an earlier try broke off: it may have happened, or may yet happen */
};

/* GROVE_EINVAL in a child of the process that has the connections. */
int grove__mysql_ours(const struct mysql_store *s, struct grove_detail *d);
int grove__mysql_do(struct mysql_store *s, struct mysql_work *w, struct grove_detail *d);
/* For those who are plain, and want one all the same. It is rolled back unless `fn` says 0. */
int grove__mysql_transaction(struct mysql_conn *c, struct mysql_work *w, mysql_work_fn *fn,
			     struct grove_detail *d);

/* A value for a question mark. */
struct mysql_arg {
	enum { MYSQL_ARG_NULL, MYSQL_ARG_NUMBER, MYSQL_ARG_BYTES } type;
	const void *ptr;
	size_t len;
	int64_t number;
};

static inline struct mysql_arg grove__mysql_null(void)
{
	return (struct mysql_arg){ MYSQL_ARG_NULL, NULL, 0, 0 };
}

static inline struct mysql_arg grove__mysql_number(int64_t n)
{
	return (struct mysql_arg){ MYSQL_ARG_NUMBER, NULL, 0, n };
}

static inline struct mysql_arg grove__mysql_bytes(struct grove_slice s)
{
	return (struct mysql_arg){ MYSQL_ARG_BYTES, s.len ? s.ptr : "", s.len, 0 };
}

static inline struct mysql_arg grove__mysql_str(const char *s)
{
	return (struct mysql_arg){ MYSQL_ARG_BYTES, s, strlen(s), 0 };
}

static inline struct mysql_arg grove__mysql_id(const uint8_t id[GROVE__SQL_ID])
{
	return (struct mysql_arg){ MYSQL_ARG_BYTES, id, GROVE__SQL_ID, 0 };
}

enum { MYSQL_ARGS = 20, MYSQL_COLUMNS = 16 };

/* One row: numbers as they are, of bytes their length until they are taken. */
struct mysql_row {
	MYSQL_STMT *st;
	unsigned nr;
	MYSQL_BIND bind[MYSQL_COLUMNS];
	int64_t number[MYSQL_COLUMNS];
	unsigned long len[MYSQL_COLUMNS];
	my_bool null[MYSQL_COLUMNS];
};

/* A statement without rows. *changed, which may be NULL, counts the rows it touched. */
int grove__mysql_run(struct mysql_conn *c, unsigned what, const struct mysql_arg *arg, unsigned nr,
		     uint64_t *changed, struct grove_detail *d);
/*
 * A statement with rows: next is 0, or MYSQL_NONE at the end. Nothing else
 * can be asked on the connection until done.
 */
int grove__mysql_ask(struct mysql_conn *c, unsigned what, const struct mysql_arg *arg, unsigned nr,
		     struct mysql_row *row, struct grove_detail *d);
int grove__mysql_next(struct mysql_conn *c, struct mysql_row *row, struct grove_detail *d);
void grove__mysql_done(struct mysql_row *row);
/* The bytes of a column, which has row->len[column] of them. */
int grove__mysql_take(struct mysql_conn *c, struct mysql_row *row, unsigned column, char *buf,
		      size_t cap, struct grove_detail *d);
/* Ask, and go to the first row; the caller is done with it unless there is none. */
int grove__mysql_first(struct mysql_conn *c, unsigned what, const struct mysql_arg *arg, unsigned nr,
		       struct mysql_row *row, struct grove_detail *d);
/* SQL_INSERT for many rows at once, `columns` values each. */
int grove__mysql_insert_many(struct mysql_conn *c, const struct mysql_arg *arg, unsigned columns,
			     unsigned rows, struct grove_detail *d);

/* Somebody was faster: GROVE_ECONFLICT, unless it goes well when it is tried again. */
int grove__mysql_again(struct mysql_conn *c, struct grove_detail *d);
/* Was the last failure a key that is there already? */
bool grove__mysql_duplicate(struct mysql_conn *c, unsigned what);
/* GROVE_ETOOBIG unless a statement with so many bytes can be sent. */
int grove__mysql_fits(struct mysql_conn *c, size_t len, struct grove_detail *d);

void grove__mysql_disconnect(struct mysql_store *s);
/* Make the database and its tables, as far as they are not there. */
int grove__mysql_init(struct mysql_store *s, struct grove_detail *d);
int grove__mysql_upgrade(struct mysql_store *s, unsigned *from, unsigned *to,
			 struct grove_detail *d);

/* mysql_lines.c */
int grove__mysql_stat(struct grove_log *l, struct grove_log_stat *out, struct grove_detail *d);
int grove__mysql_read(struct grove_log *l, uint64_t pos, uint64_t until, char *buf, size_t cap,
		      struct grove_run *run, struct grove_detail *d);
int grove__mysql_fetch(struct grove_log *l, uint64_t pos, uint64_t off, char *buf, size_t len,
		       struct grove_detail *d);
int grove__mysql_append(struct grove_log *l, const struct grove_record *rec, size_t nr,
			uint64_t expect, enum grove_sync sync, struct grove_appended *out,
			struct grove_detail *d);
int grove__mysql_append_on(struct grove_log *l, const struct grove_record *rec, size_t nr,
			   uint64_t expect, uint64_t base, enum grove_sync sync,
			   struct grove_appended *out, struct grove_detail *d);
/* Where the log ends now. MYSQL_NONE: the session is gone. */
int grove__mysql_end(struct mysql_conn *c, const uint8_t id[GROVE__SQL_ID], struct mysql_end *e,
		     struct grove_detail *d);
/*
 * `len` bytes of a line, in several pieces where one answer could not hold it,
 * and how long the line is. MYSQL_NONE: no such line.
 */
int grove__mysql_take_line(struct mysql_conn *c, const uint8_t id[GROVE__SQL_ID], uint64_t seq,
			   uint64_t off, char *buf, uint64_t len, uint64_t *line,
			   struct grove_detail *d);

enum { MYSQL_INSERT = 10, MYSQL_MANY_ROWS = 1000, MYSQL_MANY_BYTES = 4 << 20 };

struct mysql_arg grove__mysql_text_or_null(struct grove_slice s);
struct mysql_arg grove__mysql_number_or_null(bool known, int64_t n);
/* The values of SQL_INSERT. */
void grove__mysql_row_of(const uint8_t id[GROVE__SQL_ID], const struct grove_record *rec,
			 uint64_t seq, uint64_t start, int64_t now,
			 struct mysql_arg arg[MYSQL_INSERT]);
/* Rows behind the others, many at once; `e` goes along. */
int grove__mysql_insert_rows(struct mysql_conn *c, const uint8_t id[GROVE__SQL_ID],
			     const struct grove_record *rec, size_t nr, struct mysql_end *e,
			     int64_t now, struct grove_detail *d);

int grove__mysql_moved(const char *url, struct grove_detail *d);
int grove__mysql_no_line(const char *url, struct grove_detail *d);
int grove__mysql_read_only(struct grove_detail *d);
/* What is there no more (MYSQL_NONE, MYSQL_ABSENT) as GROVE_ESTALE. */
int grove__mysql_gone(struct mysql_store *s, int rc, struct grove_detail *d);

/* mysql_change.c: what is no append */

#define MYSQL_SETTLED 3  /* an earlier try, whose answer was lost, did it */

/* A change, through all its tries. */
struct mysql_change {
	enum grove_change_kind kind;
	struct grove_slice id;     /* of the entry that it is about */
	bool generation;           /* lines are changed by it */
	bool tried;
	uint64_t was, rev;         /* generation before the last try; rev after it */
	uint64_t lines;
	int64_t time;
};

/*
 * Within a transaction: the session for ourselves, where it ends, and nobody
 * else's right to write to it. MYSQL_NONE: it is gone; MYSQL_SETTLED.
 */
int grove__mysql_change(struct mysql_conn *c, struct mysql_work *w, struct mysql_log *log,
			struct mysql_change *k, struct mysql_end *e, struct grove_detail *d);
/* It is made, and the log was as `e` before: count it and tell it. `after` is how it ends now. */
int grove__mysql_changed(struct mysql_conn *c, const uint8_t id[GROVE__SQL_ID],
			 struct mysql_change *k, const struct mysql_end *e,
			 const struct mysql_end *after, struct grove_detail *d);
/* No append that began before, on whichever node of a cluster, comes after this transaction. */
int grove__mysql_fence(struct mysql_conn *c, const uint8_t id[GROVE__SQL_ID],
		       const struct mysql_end *e, struct grove_detail *d);
/* The session's row for ourselves; MYSQL_NONE: it is gone by now. */
int grove__mysql_lock(struct mysql_conn *c, const uint8_t id[GROVE__SQL_ID], struct grove_detail *d);

int grove__mysql_replace(struct grove_log *l, uint64_t pos, struct grove_slice line,
			 enum grove_sync sync, struct grove_detail *d);
int grove__mysql_cut(struct grove_log *l, uint64_t pos, uint64_t expect, enum grove_sync sync,
		     struct grove_detail *d);
int grove__mysql_update(struct grove_log *l, uint64_t pos, struct grove_slice was,
			const struct grove_record *rec, enum grove_change_kind kind,
			enum grove_sync sync, struct grove_detail *d);
int grove__mysql_rewrite(struct grove_log *l, grove_line_fn *next, void *payload, uint64_t expect,
			 unsigned flags, struct grove_detail *d);

/* mysql_feed.c: what others are told, who may write, who comes before an entry */

/* GROVE_ECONFLICT while another has the right to write. */
int grove__mysql_may_write(struct mysql_log *log, const struct mysql_end *e, const char *url,
			   struct grove_detail *d);
int grove__mysql_changes(struct grove_log *l, uint64_t since, grove_change_fn *fn, void *payload,
			 struct grove_detail *d);
int grove__mysql_lease(struct grove_log *l, const char *owner, int64_t ms, struct grove_lease *out,
		       struct grove_detail *d);
int grove__mysql_ancestors(struct grove_log *l, struct grove_slice id, grove_record_fn *fn,
			   void *payload, struct grove_detail *d);

/* mysql.c: a store with other options. */
int grove__mysql_open(struct grove_store **out, const char *rest,
		      const struct grove__mysql_options *opt, struct grove_detail *d);

#endif
