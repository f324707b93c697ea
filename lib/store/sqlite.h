/*
 * store/sqlite.h: what the files of the SQLite driver share.
 */
#ifndef GROVE_STORE_SQLITE_H
#define GROVE_STORE_SQLITE_H

#include "store/sql.h"

#include <sqlite3.h>

/* Statements that only SQLite has, after the common ones. */
enum {
	LITE_BEGIN = SQL_NR,
	LITE_BEGIN_WRITE,
	LITE_COMMIT,
	LITE_LINES,        /* session_id, from, until -> seq, rowid, length, line unless it is long */
	LITE_LINE,         /* session_id, seq -> rowid, length, line unless it is long */
	LITE_BESIDE,       /* rowid -> session_id, seq, line of the rows from there on, of any session */
	LITE_NR
};

/* Its prepared statements stay. */
struct sqlite_conn {
	struct sql_conn base;
	struct sqlite_conn *next_open, **prev_open;  /* of all in this process */
	int64_t pid;           /* that opened it */
	sqlite3 *db;
	sqlite3_stmt *st[LITE_NR];
	uint64_t dev, ino;     /* of the file that it has open */
	bool wal;              /* else not available, and every commit is synced by itself */
};

/* Options for tests, and for those who create a store. */
struct grove__sqlite_options {
	const struct grove__sql_schema *schema;
	int busy_ms;           /* how long to wait for another program; 0: 5 seconds */
	int max_pages;         /* of the file; 0: no limit */
};

struct sqlite_store {
	struct sql_store base;
	char *path, *url;
	struct grove__sqlite_options opt;

	/* one writer: threads queue for this in order, programs for the file's lock */
	pthread_mutex_t write_lock;
	struct sqlite_conn *writer;
	bool ready;            /* its tables have been checked */
	bool made_tables;      /* by the transaction that is open */
	bool made_file;
	bool dirs;             /* those to the file may be made */
	bool stretched;        /* the write-ahead log has its final length */
	unsigned writers;      /* how many there were */
	int wal_pages;         /* in the write-ahead log after the last commit; atomic */
	int moved_pages;       /* of these, how many are in the file already; used by the thread that moves them */
	bool moving;           /* a thread is moving them; atomic */
	/*
	 * The state of the file after our last commit. The writer's epoch is its state
	 * after the transaction has begun: while they are the same, nobody has changed
	 * anything since, and what we knew then need not be queried again.
	 */
	uint64_t left;

	/* group commit: commits are counted, and a sync covers all before it */
	pthread_mutex_t sync_lock;
	pthread_cond_t synced_cond;
	uint64_t written, synced, syncs;
	bool syncing, sync_failed;
	bool flushing, flush_again;
	bool named;            /* the directory has been synced, too */
	char *wal_path;        /* NULL: nothing written yet, or no such file */
	int wal_fd;
	bool other_wal;        /* differs from the one that is open */
};

static inline struct sqlite_store *grove__sqlite_store(struct sql_store *s)
{
	return (struct sqlite_store *)s;
}

static inline struct sqlite_conn *grove__sqlite_conn(struct sql_conn *c)
{
	return (struct sqlite_conn *)c;
}

/* sqlite_db.c: connections, transactions, syncing */

int grove__sqlite_work(struct sql_store *s, struct sql_work *w, struct grove_detail *d);
/* Makes all commits so far as durable as `sync` asks. */
int grove__sqlite_settle(struct sql_store *s, enum grove_sync sync, struct grove_detail *d);
/* Closes the file. Call when nobody uses the store any more. */
void grove__sqlite_disconnect(struct sqlite_store *s);
/* Creates the tables if there are none, or upgrades them, completely or not at all. */
int grove__sqlite_init(struct grove_store *st, struct grove_detail *d);
int grove__sqlite_upgrade(struct grove_store *st, unsigned *from, unsigned *to,
			  struct grove_detail *d);

/* sqlite_stmt.c: statements, and errors of SQLite */

/* Prepares a statement for its values. */
int grove__sqlite_prepare(struct sqlite_conn *c, unsigned what, sqlite3_stmt **out,
			  struct grove_detail *d);
/* Binds values, which must stay valid until the statement has run. */
int grove__sqlite_bind(struct sqlite_conn *c, sqlite3_stmt *st, const struct sql_arg *arg,
		       unsigned nr, struct grove_detail *d);
/*
 * Gets the next row: 0, or GROVE__SQL_NONE at the end. A caller that stops before must
 * reset it.
 */
int grove__sqlite_step(struct sqlite_conn *c, sqlite3_stmt *st, struct grove_detail *d);
int grove__sqlite_run(struct sql_conn *c, unsigned what, const struct sql_arg *arg, unsigned nr,
		      uint64_t *changed, struct grove_detail *d);
int grove__sqlite_ask(struct sql_conn *c, unsigned what, const struct sql_arg *arg, unsigned nr,
		      struct sql_row *row, struct grove_detail *d);
int grove__sqlite_next(struct sql_conn *c, struct sql_row *row, struct grove_detail *d);
void grove__sqlite_done(struct sql_row *row);
bool grove__sqlite_duplicate(struct sql_conn *c, unsigned what);
/* Turns the last error of SQLite into one of ours. */
int grove__sqlite_fail(struct sqlite_conn *c, int rc, struct grove_detail *d);

/* sqlite_lines.c */

int grove__sqlite_read(struct sql_conn *c, struct sql_reading *r, struct grove_detail *d);
int grove__sqlite_piece(struct sql_conn *c, const uint8_t id[GROVE__SQL_ID], uint64_t seq,
			uint64_t off, char *buf, uint64_t len, uint64_t *line,
			struct grove_detail *d);
int grove__sqlite_append(struct sql_conn *c, struct sql_appending *a, struct grove_detail *d);
int grove__sqlite_insert(struct sql_conn *c, const uint8_t id[GROVE__SQL_ID],
			 const struct grove_store_record *rec, size_t nr, struct sql_end *e,
			 int64_t now, struct grove_detail *d);

/* sqlite.c: a store with other options. */
int grove__sqlite_open(struct grove_store **out, const char *path,
		       const struct grove__sqlite_options *opt, struct grove_detail *d);

#endif
