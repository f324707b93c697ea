/*
 * store/sqlite.h: what the files of the SQLite driver share.
 */
#ifndef GROVE_STORE_SQLITE_H
#define GROVE_STORE_SQLITE_H

#include "store/sql.h"

#include <sqlite3.h>

/* Statements that only SQLite has, behind the common ones. */
enum {
	LITE_BEGIN = SQL_NR,
	LITE_BEGIN_WRITE,
	LITE_COMMIT,
	LITE_LINES,        /* session_id, from, until -> seq, rowid, length, line unless it is long */
	LITE_LINE,         /* session_id, seq -> rowid, length, line unless it is long */
	LITE_BESIDE,       /* rowid, how many, session_id, rowid - seq -> seq, line of the rows from there on */
	LITE_NR
};

/* Its statements are kept. */
struct sqlite_conn {
	struct sql_conn base;
	struct sqlite_conn *next_open, **prev_open;  /* of all in this process */
	int64_t pid;           /* that opened it */
	sqlite3 *db;
	sqlite3_stmt *st[LITE_NR];
	uint64_t dev, ino;     /* of the file that it has open */
	bool wal;              /* else: no such thing here, every commit is synced by itself */
};

/* What tests, and those who make a store, may want otherwise. */
struct grove__sqlite_options {
	const struct grove__sql_schema *schema;
	int busy_ms;           /* how long to wait for another program; 0: 5 seconds */
	int max_pages;         /* of the file; 0: as many as it takes */
};

struct sqlite_store {
	struct sql_store base;
	char *path, *url;
	struct grove__sqlite_options opt;

	/* one writer: threads queue for it in order, programs for the file's own lock */
	pthread_mutex_t write_lock;
	struct sqlite_conn *writer;
	bool ready;            /* its tables were looked at */
	bool made_tables;      /* by the transaction that is open */
	bool made_file;
	bool stretched;        /* the write-ahead log has its final length */
	unsigned writers;      /* how many there were */
	/*
	 * The state of the file after our last commit. The writer's epoch is its
	 * state with the transaction begun: while they are the same, nobody has
	 * changed anything since, and what we knew then need not be asked again.
	 */
	uint64_t left;

	/* group commit: commits are counted, a sync covers all that came before it */
	pthread_mutex_t sync_lock;
	pthread_cond_t synced_cond;
	uint64_t written, synced, syncs;
	bool syncing, sync_failed;
	bool named;            /* the directory is synced, too */
	char *wal_path;        /* NULL: nothing was written yet, or there is no such file */
	int wal_fd;
	bool other_wal;        /* than the one that is open */
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
/* All that was committed so far is as durable as that afterwards. */
int grove__sqlite_settle(struct sql_store *s, enum grove_sync sync, struct grove_detail *d);
/* Let go of the file; nobody uses the store any more. */
void grove__sqlite_disconnect(struct sqlite_store *s);
/* Make the tables if there are none; bring them up to date: all of it happens or nothing. */
int grove__sqlite_init(struct grove_store *st, struct grove_detail *d);
int grove__sqlite_upgrade(struct grove_store *st, unsigned *from, unsigned *to,
			  struct grove_detail *d);

/* sqlite_stmt.c: statements, and what SQLite answers */

/* A statement, ready to take its values. */
int grove__sqlite_prepare(struct sqlite_conn *c, unsigned what, sqlite3_stmt **out,
			  struct grove_detail *d);
/* Values that stay where they are until the statement has run. */
int grove__sqlite_bind(struct sqlite_conn *c, sqlite3_stmt *st, const struct sql_arg *arg,
		       unsigned nr, struct grove_detail *d);
/* The next row: 0, GROVE__SQL_NONE at the end. Whoever does not come to the end resets it. */
int grove__sqlite_step(struct sqlite_conn *c, sqlite3_stmt *st, struct grove_detail *d);
int grove__sqlite_run(struct sql_conn *c, unsigned what, const struct sql_arg *arg, unsigned nr,
		      uint64_t *changed, struct grove_detail *d);
int grove__sqlite_ask(struct sql_conn *c, unsigned what, const struct sql_arg *arg, unsigned nr,
		      struct sql_row *row, struct grove_detail *d);
int grove__sqlite_next(struct sql_conn *c, struct sql_row *row, struct grove_detail *d);
void grove__sqlite_done(struct sql_row *row);
bool grove__sqlite_duplicate(struct sql_conn *c, unsigned what);
/* What SQLite just answered, as an error of ours. */
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
