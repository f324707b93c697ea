/*
 * store/sql.h: stores in a database: the common part, and the interface of a driver.
 *
 * A log is a row of `sessions` and a row of `entries` for each physical line, numbered
 * from 0. The line's own bytes are authoritative; the other columns are for queries,
 * and may be NULL if unknown.
 *
 * The common part is written once, over a driver:
 *
 *     sql_store.c    logs by name, values, attachments
 *     sql_lines.c    where a log ends; read, fetch, append
 *     sql_change.c   changes that are not appends
 *     sql_feed.c     the change feed, leases, parents
 *     sql.c          tables, statements, how a record becomes a row
 *     ---------------------------------------------------- struct sql_driver
 *     sqlite*.c      a file: one writer, parallel readers, syncing
 *     mysql*.c       a server: connections, retries, clusters
 *
 * Everything that touches the database is a `struct sql_work`: a function that is
 * called with a connection, and on a server perhaps called again. It must have no
 * effect if it fails, and check `unknown` to find out whether an earlier call, whose
 * answer was lost, has done the work.
 */
#ifndef GROVE_STORE_SQL_H
#define GROVE_STORE_SQL_H

#include "store/store.h"

#include <pthread.h>

/* The maximum lengths of names in the columns of every database, in bytes. */
enum {
	GROVE__SQL_PROJECT = 1000,
	GROVE__SQL_SESSION = 500,
	GROVE__SQL_SUBPATH = 1500,
	GROVE__SQL_NAME = 1500,      /* of an attachment */
	GROVE__SQL_VALUE_NAME = 200,
	GROVE__SQL_ENTRY_ID = 255,
	GROVE__SQL_ID = 16           /* of a log */
};

/* Longer lines are read in pieces, directly into the caller's buffer. */
#define GROVE__SQL_LONG_LINE 262144

/* Results other than 0 and the negative codes. */
enum {
	GROVE__SQL_NONE = 1,     /* no such row, or no more rows */
	GROVE__SQL_ABSENT,       /* there is no database yet, or it has no tables */
	GROVE__SQL_SETTLED       /* an earlier try, whose answer was lost, has done it */
};

/*
 * The tables, version by version: versions[0] creates version 1, versions[i] upgrades
 * version i to i+1. Each ends with NULL.
 */
struct grove__sql_schema {
	unsigned newest;
	const char *const *const *versions;
};

extern const struct grove__sql_schema grove__sql_schema_sqlite;
extern const struct grove__sql_schema grove__sql_schema_mysql;

/* On MySQL, the comment of each of our tables. */
#define GROVE__SQL_COMMENT "grove"

/*
 * The statements of the common part. A driver may have its own text for one, with the
 * same values and columns, and adds statements of its own from SQL_NR on.
 */
enum grove__sql {
	SQL_VERSION,       /* -> value */
	SQL_SET_VERSION,   /* value */
	SQL_FIND,          /* project, session, subpath -> session_id */
	SQL_SUBS,          /* project, session -> session_id, subpath */
	SQL_CREATE,        /* session_id, project, session, subpath, created, updated */
	SQL_END,           /* session_id twice -> generation, unfinished, updated, rev, adjust, seq, start,
			    * length, stored, lease_number, lease_until, now, lease_owner */
	SQL_LOCK,          /* session_id -> generation; locks the row until the transaction ends */
	SQL_GENERATION,    /* session_id -> generation */
	SQL_LAST,          /* session_id -> seq, start */
	SQL_INSERT,        /* session_id, seq, start, stored, time, kind, role, id, parent, line */
	SQL_LENGTH,        /* session_id, seq -> length */
	SQL_REPLACE,       /* line, session_id, seq */
	SQL_CUT,           /* session_id, seq */
	SQL_UPDATE,        /* time, kind, role, id, parent, line, session_id, seq */
	SQL_DRIFT,         /* session_id, from, until -> bytes of these lines, start of the first */
	SQL_CHANGED,       /* rev, adjust, unfinished, updated, session_id: another generation */
	SQL_TOUCHED,       /* rev, session_id */
	SQL_NOTE,          /* session_id, rev, lines, kind, id, time: a change */
	SQL_NOTED,         /* session_id, rev -> kind, time, lines */
	SQL_CHANGES,       /* session_id, session_id, since -> rev, lines, kind, id */
	SQL_LEASE,         /* lease_owner, lease_number, lease_until, session_id */
	SQL_IDS,           /* session_id, from, until -> id */
	SQL_WITHOUT_ID,    /* session_id, from, until -> seq, line */
	SQL_LIST,          /* -> project, session, subpath: sessions */
	SQL_LIST_OF,       /* project -> the same */
	SQL_LIST_SUBS,     /* -> the same: logs that belong to sessions */
	SQL_LIST_SUBS_OF,  /* project -> the same */
	SQL_SURVEY,        /* -> project, session, subpath, generation, rev, seq of the last line: all logs */
	SQL_RENAME,        /* project, session, subpath, session_id */
	SQL_DROP_SESSION,  /* session_id, as those below */
	SQL_DROP_ENTRIES,
	SQL_DROP_ATTACHMENTS,
	SQL_DROP_VALUES,
	SQL_DROP_CHANGES,
	SQL_ATTACH_PUT,    /* session_id, name, bytes */
	SQL_ATTACH_GET,    /* session_id, name -> bytes */
	SQL_ATTACH_LIST,   /* session_id -> name, length */
	SQL_VALUE_PUT,     /* session_id, name, value */
	SQL_VALUE_GET,     /* session_id, name -> value */
	SQL_LEAF_PUT,      /* value, session_id */
	SQL_LEAF_GET,      /* session_id -> value */
	SQL_NAME_PUT,
	SQL_NAME_GET,
	SQL_DIALECT_PUT,
	SQL_DIALECT_GET,
	SQL_UPDATED_PUT,   /* ms, session_id */
	SQL_UNFINISHED_PUT, /* seq or NULL, session_id */
	SQL_NR
};

extern const char *const grove__sql_text[SQL_NR];

/* SQL_END, with an expression for the time by which leases are judged (NULL: our own clock). */
#define GROVE__SQL_END(now) \
	"SELECT s.generation, s.unfinished, s.updated, s.rev, s.adjust, e.seq, e.start, " \
	"length(e.line), e.`stored`, s.lease_number, s.lease_until, " now ", s.lease_owner " \
	"FROM sessions s LEFT JOIN entries e ON e.session_id = s.session_id AND e.seq = " \
	"(SELECT max(m.seq) FROM entries m WHERE m.session_id = ?) WHERE s.session_id = ?"

#define GROVE__SQL_STR_(x) #x
#define GROVE__SQL_STR(x) GROVE__SQL_STR_(x)

/* ------------------------------------------------------ values and columns */

/* A value for a question mark. Text and bytes differ for databases that distinguish them. */
struct sql_arg {
	enum { SQL_ARG_NULL, SQL_ARG_NUMBER, SQL_ARG_TEXT, SQL_ARG_BYTES } type;
	const void *ptr;
	size_t len;
	int64_t number;
};

static inline struct sql_arg grove__sql_null(void)
{
	return (struct sql_arg){ SQL_ARG_NULL, NULL, 0, 0 };
}

static inline struct sql_arg grove__sql_number(int64_t n)
{
	return (struct sql_arg){ SQL_ARG_NUMBER, NULL, 0, n };
}

static inline struct sql_arg grove__sql_number_or_null(bool known, int64_t n)
{
	return known ? grove__sql_number(n) : grove__sql_null();
}

static inline struct sql_arg grove__sql_bytes(struct grove_slice s)
{
	return (struct sql_arg){ SQL_ARG_BYTES, s.len ? s.ptr : "", s.len, 0 };
}

static inline struct sql_arg grove__sql_str(const char *s)
{
	return (struct sql_arg){ SQL_ARG_TEXT, s, strlen(s), 0 };
}

static inline struct sql_arg grove__sql_text_or_null(struct grove_slice s)
{
	return s.len ? (struct sql_arg){ SQL_ARG_TEXT, s.ptr, s.len, 0 } : grove__sql_null();
}

static inline struct sql_arg grove__sql_id(const uint8_t id[GROVE__SQL_ID])
{
	return (struct sql_arg){ SQL_ARG_BYTES, id, GROVE__SQL_ID, 0 };
}

enum { SQL_COLUMNS = 16 };

/* One row: the values of numbers; the lengths of text and bytes, until they are taken. */
struct sql_row {
	void *st;                       /* the driver's statement */
	int64_t number[SQL_COLUMNS];
	unsigned long len[SQL_COLUMNS];
	const void *ptr[SQL_COLUMNS];   /* if the driver has the bytes; NULL: use take() */
	char null[SQL_COLUMNS];
};

/* ----------------------------------------------- stores, connections, logs */

/* The first member of the driver's own struct. Used by one thread at a time. */
struct sql_conn {
	struct sql_conn *next;
	const struct sql_driver *driver;
	const char *where;     /* path or URL of the store, for messages */
	uint64_t epoch;        /* while it is the same, remembered ends are valid */
};

/* The first member of the driver's own struct. */
struct sql_store {
	struct grove_store base;
	struct grove_store_ops ops;
	const struct sql_driver *driver;
	const struct grove__sql_schema *schema;
	const char *where;
	int64_t pid;           /* of the process that connected, 0: none yet; atomic */

	pthread_mutex_t pool_lock;
	struct sql_conn *idle;
	unsigned nr_idle;
};

/* Where a log ends, and who may write to it. */
struct sql_end {
	uint64_t generation, base;
	uint64_t tail;
	uint64_t start;           /* of the next row */
	int64_t adjust;           /* by how much updated lines exceed what `start` says */
	int64_t changed;          /* ms */
	int64_t now;              /* ms, by the clock that leases are judged by */
	int64_t unfinished_row;   /* the column, -1: NULL */
	bool unfinished;          /* this applies to the last line */
	struct grove_lease lease;
};

struct sql_log {
	struct grove_store_log base;
	uint8_t id[GROVE__SQL_ID];
	bool writable;
	uint64_t lease;           /* number of this handle's lease, 0: none; atomic */

	/* appending threads queue here, not at the database */
	pthread_mutex_t append_lock;
	struct sql_end end;       /* after our last write */
	uint64_t end_epoch;       /* of the connection that set it, 0: unknown */

	/* a piece of a long line, for callers that fetch it in smaller ones */
	pthread_mutex_t window_lock;
	char *window;
	uint64_t window_seq, window_off, window_len, window_generation;
};

static inline struct sql_store *grove__sql_store(struct grove_store *st)
{
	return (struct sql_store *)st;
}

static inline struct sql_log *grove__sql_log(struct grove_store_log *log)
{
	return (struct sql_log *)log;
}

/* ------------------------------------------------------------------- works */

struct sql_work;
typedef int sql_work_fn(struct sql_conn *c, struct sql_work *w, struct grove_detail *d);

enum sql_mode {
	SQL_ONE,    /* reads by one statement */
	SQL_READ,   /* several reads, which a server may answer at different moments */
	SQL_VIEW,   /* several reads of one snapshot */
	SQL_WRITE,  /* one transaction */
	SQL_OWN     /* writes, and begins its own transactions (`transaction`) if needed */
};

/* The first member of a struct that has what `fn` needs. */
struct sql_work {
	sql_work_fn *fn;
	enum sql_mode mode;
	bool create;    /* create the database if there is none, if that needs no permission */
	bool once;      /* fn sets it if it must not be called again */
	/*
	 * If nobody answers soon: GROVE_EAWAY, and again until it is time to ask again. A
	 * server that is there, but slow, gets so many seconds. 0: wait for it.
	 */
	unsigned brief_s;
	bool unknown;   /* an interrupted try may have happened, or may yet happen */
	/*
	 * fn sets both if it knows where the log ends once the transaction is
	 * committed; a driver that is `alone` remembers that.
	 */
	struct sql_log *ended;
	struct sql_end end;
};

enum { GROVE__SQL_LIST_S = 10, GROVE__SQL_READ_S = 60 };

/* A log that is open for writing waits for its database; a reader has better things to do. */
static inline struct sql_work grove__sql_reading_of(sql_work_fn *fn, enum sql_mode mode, const struct grove_store_log *l)
{
	return (struct sql_work){ .fn = fn, .mode = mode, .brief_s = ((const struct sql_log *)l)->writable ? 0 : GROVE__SQL_READ_S };
}

/*
 * Reads lines from `pos` up to `until` into a buffer. `other`: the log was rewritten
 * meanwhile.
 */
struct sql_reading {
	struct sql_work work;
	struct sql_log *log;
	uint64_t pos, until;
	char *buf;
	size_t cap;
	struct grove_store_run *run;
	struct sql_end end;
	bool other;
};

struct sql_appending {
	struct sql_work work;
	struct sql_log *log;
	const struct grove_store_record *rec;
	size_t nr;
	uint64_t expect, base;
	int64_t now;
	struct grove_store_appended *out;
	/* for a driver whose answers may be lost: where the last try was sent */
	uint64_t sent_at, sent_generation;
	bool sent;
};

/* A lease is taken, renewed or released. */
struct sql_leasing {
	struct sql_work work;
	struct sql_log *log;
	const char *owner;         /* NULL: the current holder, if that is us */
	int64_t ms;                /* 0: give it back */
	struct grove_lease held;   /* its current state */
	uint64_t announced;        /* the number already in the row, 0: none */
};

/* ------------------------------------------------------------------ drivers */

struct sql_driver {
	const char *name;     /* of the kind of store: "sqlite" */
	const char *absent;   /* the meaning of GROVE__SQL_ABSENT, for people */
	bool remote;          /* each query is a network round trip */
	/*
	 * A write transaction has the whole database to itself. What a log remembers
	 * about its end is then valid without a query, and no rows are locked.
	 */
	bool alone;
	uint64_t window;      /* how much of a long line to read at once */

	/*
	 * Calls w->fn with a connection, as w->mode says; again after a temporary
	 * error, unless w->once is set. Positive results are returned unchanged, and
	 * roll back a transaction, as errors do. GROVE__SQL_ABSENT.
	 */
	int (*work)(struct sql_store *s, struct sql_work *w, struct grove_detail *d);
	/*
	 * Within SQL_OWN: runs `fn` as one transaction, which is rolled back unless it
	 * returns 0.
	 */
	int (*transaction)(struct sql_conn *c, struct sql_work *w, sql_work_fn *fn,
			   struct grove_detail *d);

	/*
	 * Runs a statement without rows. *changed, which may be NULL, is the number of
	 * rows it affected.
	 */
	int (*run)(struct sql_conn *c, unsigned what, const struct sql_arg *arg, unsigned nr,
		   uint64_t *changed, struct grove_detail *d);
	/*
	 * Runs a statement with rows: next() returns 0, or GROVE__SQL_NONE at the end.
	 * Nothing else can be run on the connection until done().
	 */
	int (*ask)(struct sql_conn *c, unsigned what, const struct sql_arg *arg, unsigned nr,
		   struct sql_row *row, struct grove_detail *d);
	int (*next)(struct sql_conn *c, struct sql_row *row, struct grove_detail *d);
	void (*done)(struct sql_row *row);
	/* Gets the bytes of a column that has no `ptr`. */
	int (*take)(struct sql_conn *c, struct sql_row *row, unsigned column, char *buf, size_t cap,
		    struct grove_detail *d);
	/* True if that statement just failed because a key already exists. */
	bool (*duplicate)(struct sql_conn *c, unsigned what);
	/* Returns GROVE_ETOOBIG unless a statement of this many bytes can be sent. Optional. */
	int (*fits)(struct sql_conn *c, size_t len, struct grove_detail *d);

	/* Reads lines into r->buf, from r->run->next on; r->end is where the log ends. */
	int (*read)(struct sql_conn *c, struct sql_reading *r, struct grove_detail *d);
	/*
	 * Gets `len` bytes of a line, and its length. GROVE__SQL_NONE: there is no such
	 * line, or it is shorter.
	 */
	int (*piece)(struct sql_conn *c, const uint8_t id[GROVE__SQL_ID], uint64_t seq, uint64_t off,
		     char *buf, uint64_t len, uint64_t *line, struct grove_detail *d);
	/* Appends, as one try. GROVE__SQL_NONE: the session is gone. */
	int (*append)(struct sql_conn *c, struct sql_appending *a, struct grove_detail *d);
	/* Inserts rows after the others, and advances `e`. */
	int (*insert)(struct sql_conn *c, const uint8_t id[GROVE__SQL_ID],
		      const struct grove_store_record *rec, size_t nr, struct sql_end *e,
		      int64_t now, struct grove_detail *d);
	size_t insert_rows, insert_bytes;   /* worth collecting for one insert; 1 row: none */

	/*
	 * Ensures that no append which began before, on any node, is committed after
	 * this transaction. NULL: a write transaction is alone anyway.
	 */
	int (*fence)(struct sql_conn *c, const uint8_t id[GROVE__SQL_ID], const struct sql_end *e,
		     struct grove_detail *d);
	/* Called before a lease is taken. Optional. */
	int (*announce)(struct sql_conn *c, struct sql_leasing *k, struct grove_detail *d);

	/* After a commit: makes it as durable as `sync` asks. Optional: a commit is durable. */
	int (*settle)(struct sql_store *s, enum grove_sync sync, struct grove_detail *d);

	/* Slots of the store. */
	int (*init)(struct grove_store *st, struct grove_detail *d);
	int (*upgrade)(struct grove_store *st, unsigned *from, unsigned *to, struct grove_detail *d);
	void (*close)(struct grove_store *st);
};

/* Runs a query and goes to the first row. The caller must call done() unless there is none. */
int grove__sql_first(struct sql_conn *c, unsigned what, const struct sql_arg *arg, unsigned nr,
		     struct sql_row *row, struct grove_detail *d);
/* Gets the bytes of a column, of which it has row->len[column]; at most `cap`. */
int grove__sql_take(struct sql_conn *c, struct sql_row *row, unsigned column, char *buf, size_t cap,
		    struct grove_detail *d);

/* --------------------------------------------------------------------- sql.c */

/*
 * `rev` of a session's row counts the changes recorded by SQL_NOTE; together with the
 * number of lines it is the rev that watchers know. That must never decrease, so a log
 * that becomes shorter by n lines counts n more.
 */
static inline uint64_t grove__sql_next_base(uint64_t base, uint64_t lines_before,
					    uint64_t lines_after)
{
	return base + 1 + (lines_after < lines_before ? lines_before - lines_after : 0);
}

/*
 * Gets the statements for a value that has a column of its own. Returns false if it has
 * none.
 */
bool grove__sql_value_column(const char *name, enum grove__sql *get, enum grove__sql *put);

/*
 * Makes a new session_id. It begins with the time, so that the lines of a new session
 * go to the end of the table, and 80 bits of it are random, so that writers need not
 * queue for a counter.
 */
void grove__sql_new_id(uint8_t out[GROVE__SQL_ID]);

/* Returns GROVE_EINVAL for a key that does not fit into the columns. */
int grove__sql_check_key(const struct grove_key *key, struct grove_detail *d);

/*
 * True if an entry can be looked up by this id. Other ids are only in their lines, and
 * the other columns of a line that has or names such an id are unknown.
 */
bool grove__sql_plain_id(struct grove_slice id);

enum { SQL_INSERT_ARGS = 10, SQL_INSERT_TIME = 4 };

/* The values of SQL_INSERT. */
void grove__sql_row_of(const uint8_t id[GROVE__SQL_ID], const struct grove_store_record *rec,
		       uint64_t seq, uint64_t start, int64_t now,
		       struct sql_arg arg[SQL_INSERT_ARGS]);

/*
 * Returns GROVE_EINVAL if another process `pid` (0: none) opened what this one wants to
 * use: a connection to a database is not shared with a parent.
 */
int grove__sql_forked(int64_t pid, const char *where, struct grove_detail *d);
/* The same for a store. */
int grove__sql_ours(const struct sql_store *s, struct grove_detail *d);

/* Returns GROVE_ENOTSUP unless the tables have the version that this grove knows. */
int grove__sql_judge_version(const struct sql_store *s, int64_t version, struct grove_detail *d);
/* For an upgrade: the same, but they may be older; GROVE_ENOTFOUND without any tables. */
int grove__sql_judge_upgrade(const struct sql_store *s, int64_t version, unsigned *from, unsigned *to,
			     struct grove_detail *d);

/* --------------------------------------------------------------- sql_store.c */

/* Initializes the embedded store. `where` and `url` still belong to the driver. */
void grove__sql_store_init(struct sql_store *s, const struct sql_driver *driver,
			   const struct grove__sql_schema *schema, const char *where,
			   const char *url);
void grove__sql_store_release(struct sql_store *s);
/* Takes an idle connection from the pool, or returns NULL. */
struct sql_conn *grove__sql_pool_take(struct sql_store *s);

/* --------------------------------------------------------------- sql_lines.c */

/* Finds where the log ends now. GROVE__SQL_NONE: the session is gone. */
int grove__sql_end(struct sql_conn *c, const uint8_t id[GROVE__SQL_ID], struct sql_end *e,
		   struct grove_detail *d);
/* The same within a write transaction, without a query if the log remembers it. */
int grove__sql_end_of(struct sql_conn *c, const struct sql_log *log, struct sql_end *e,
		      struct grove_detail *d);
uint64_t grove__sql_bytes_in(const struct sql_end *e);
/* Returns GROVE_ECONFLICT unless the end is where the caller of append expects it. */
int grove__sql_as_expected(const struct sql_conn *c, const struct sql_appending *a,
			   const struct sql_end *e, struct grove_detail *d);
/* Adds the newline of a line that is already in the buffer, if it has one. */
void grove__sql_add_line(struct sql_reading *r, size_t len);

int grove__sql_stat(struct grove_store_log *l, struct grove_store_log_stat *out,
		    struct grove_detail *d);
int grove__sql_read(struct grove_store_log *l, uint64_t pos, uint64_t until, char *buf, size_t cap,
		    struct grove_store_run *run, struct grove_detail *d);
int grove__sql_fetch(struct grove_store_log *l, uint64_t pos, uint64_t off, char *buf, size_t len,
		     struct grove_detail *d);
int grove__sql_append(struct grove_store_log *l, const struct grove_store_record *rec, size_t nr,
		      uint64_t expect, uint64_t base, enum grove_sync sync,
		      struct grove_store_appended *out, struct grove_detail *d);

int grove__sql_missing_line(const struct sql_conn *c, uint64_t seq, struct grove_detail *d);
int grove__sql_wrong_length(const struct sql_conn *c, struct grove_detail *d);
int grove__sql_no_line(const char *where, struct grove_detail *d);
int grove__sql_moved(const struct sql_conn *c, struct grove_detail *d);
int grove__sql_read_only(struct grove_detail *d);
/* Turns GROVE__SQL_NONE and GROVE__SQL_ABSENT into GROVE_ESTALE. */
int grove__sql_gone(const struct sql_store *s, int rc, struct grove_detail *d);
/* After a commit: makes it as durable as `sync` asks. */
int grove__sql_settle(struct sql_store *s, enum grove_sync sync, struct grove_detail *d);

/* -------------------------------------------------------------- sql_change.c */

/* A change, through all its tries. */
struct sql_change {
	enum grove_change_kind kind;
	struct grove_slice id;     /* of the entry concerned */
	bool generation;           /* it changes lines */
	bool tried;
	uint64_t was, rev;         /* generation before the last try; rev after it */
	uint64_t lines;
	int64_t time;
};

/*
 * Within a transaction: locks the session, finds where it ends, and checks that nobody
 * else holds the lease. GROVE__SQL_NONE: it is gone; GROVE__SQL_SETTLED.
 */
int grove__sql_change(struct sql_conn *c, struct sql_work *w, struct sql_log *log,
		      struct sql_change *k, struct sql_end *e, struct grove_detail *d);
/*
 * Called after the change: counts and records it. `e` is how the log ended before,
 * `after` how it ends now.
 */
int grove__sql_changed(struct sql_conn *c, const uint8_t id[GROVE__SQL_ID], struct sql_change *k,
		       const struct sql_end *e, struct sql_end *after, struct grove_detail *d);
/* Locks the session's row. GROVE__SQL_NONE: it is gone. */
int grove__sql_lock(struct sql_conn *c, const uint8_t id[GROVE__SQL_ID], struct grove_detail *d);
/* The same, and ensures that no other append comes after us. `e` is where the log ends. */
int grove__sql_hold(struct sql_conn *c, const uint8_t id[GROVE__SQL_ID], struct sql_end *e,
		    struct grove_detail *d);

int grove__sql_replace(struct grove_store_log *l, uint64_t pos, struct grove_slice line,
		       enum grove_sync sync, struct grove_detail *d);
int grove__sql_cut(struct grove_store_log *l, uint64_t pos, uint64_t expect, enum grove_sync sync,
		   struct grove_detail *d);
int grove__sql_update(struct grove_store_log *l, uint64_t pos, struct grove_slice was,
		      const struct grove_store_record *rec, enum grove_change_kind kind,
		      enum grove_sync sync, struct grove_detail *d);
int grove__sql_rewrite(struct grove_store_log *l, grove_line_fn *next, void *payload,
		       uint64_t expect, unsigned flags, struct grove_detail *d);

/* ---------------------------------------------------------------- sql_feed.c */

/* Returns GROVE_ECONFLICT while somebody else holds the lease. */
int grove__sql_may_write(const struct sql_conn *c, const struct sql_log *log,
			 const struct sql_end *e, struct grove_detail *d);
/* Checks whether we may take the lease, or already hold it (*mine). */
int grove__sql_judge_lease(const struct sql_conn *c, const struct sql_leasing *k,
			   const struct sql_end *e, bool *mine, struct grove_detail *d);
/* Computes the new state: held by us, from now on; under `another` number. */
void grove__sql_claim(struct sql_leasing *k, const struct sql_end *e, bool another);

int grove__sql_changes(struct grove_store_log *l, uint64_t since, grove_change_fn *fn,
		       void *payload, struct grove_detail *d);
int grove__sql_lease(struct grove_store_log *l, const char *owner, int64_t ms, struct grove_lease *out,
		     struct grove_detail *d);
int grove__sql_lease_get(struct grove_store_log *l, struct grove_lease *out,
			 struct grove_detail *d);
int grove__sql_ids(struct grove_store_log *l, uint64_t pos, uint64_t until, grove_record_fn *fn,
		   void *payload, struct grove_detail *d);

#endif
