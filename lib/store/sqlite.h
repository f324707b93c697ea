/*
 * store/sqlite.h: what the files of the SQLite store share.
 */
#ifndef GROVE_STORE_SQLITE_H
#define GROVE_STORE_SQLITE_H

#include "store/sql.h"

#include <pthread.h>
#include <sqlite3.h>

/* Statements that only SQLite has, behind the common ones. */
enum {
	LITE_BEGIN = SQL_NR,
	LITE_BEGIN_WRITE,
	LITE_COMMIT,
	LITE_LINES,        /* session_id, from, until -> seq, rowid, length, line unless it is long */
	LITE_LINE,         /* session_id, seq -> rowid, length, line unless it is long */
	LITE_BESIDE,       /* rowid, how many -> session_id, seq, line of the rows from there on, long ones aside */
	LITE_SAME,         /* line, session_id, seq -> length, is it that line? */
	LITE_UNKNOWN,      /* session_id -> a row if there are lines that nobody looked at */
	LITE_BYTES,        /* session_id, from -> how many the lines from there on have */
	LITE_NR
};

/* Longer lines are read piece by piece, straight to where they are wanted. */
#define SQLITE_LONG_LINE 262144

/* Used by one thread at a time; its statements are kept. */
struct sqlite_conn {
	struct sqlite_conn *next;
	struct sqlite_conn *next_open, **prev_open;  /* of all in this process */
	int64_t pid;           /* that opened it */
	sqlite3 *db;
	sqlite3_stmt *st[LITE_NR];
	const char *path;      /* the store's */
	uint64_t dev, ino;     /* of the file that it has open */
	bool wal;              /* else: no such thing here, every commit is synced by itself */
};

/* What tests, and those who make a store, may want otherwise. */
struct grove__sqlite_options {
	const struct grove__sql_schema *schema;
	int busy_ms;           /* how long to wait for another program; 0: 5 seconds */
	int max_pages;         /* of the file; 0: as many as it takes */
};

/* Where a log ends, and who may write there. */
struct sqlite_end {
	uint64_t generation, base;
	uint64_t tail;
	uint64_t start;        /* of the row that would come next */
	int64_t adjust;        /* lines that were updated: how much longer than `start` knows */
	int64_t changed;       /* ms */
	bool unfinished;
	struct grove_lease lease;
};

struct sqlite_store {
	struct grove_store base;
	char *path, *url;
	struct grove__sqlite_options opt;
	int64_t pid;           /* of the process that opened the file, 0: nobody yet; atomic */

	/* one writer: threads queue for it in order, programs for the file's own lock */
	pthread_mutex_t write_lock;
	struct sqlite_conn *writer;
	bool ready;            /* its tables were looked at */
	bool made_tables;      /* by the transaction that is open */
	bool made_file;
	bool stretched;        /* the write-ahead log has its final length */
	/*
	 * SQLite's number for the state of the file: now, with the transaction
	 * begun, and after our last commit. While they are the same, nobody has
	 * changed anything since, and what we knew then need not be asked again.
	 */
	unsigned state, left;
	struct {
		uint8_t id[GROVE__SQL_ID];
		struct sqlite_end end;
		unsigned state;    /* 0: nothing is known */
	} last;                /* the log that was appended to last */

	pthread_mutex_t pool_lock;
	struct sqlite_conn *idle;
	unsigned nr_idle;

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

struct sqlite_log {
	struct grove_log base;
	uint8_t id[GROVE__SQL_ID];
	bool writable;
	uint64_t lease;        /* the number under which it writes; 0: none */

	/* a piece of a long line, for those who fetch it in smaller ones */
	pthread_mutex_t window_lock;
	char *window;
	uint64_t window_seq, window_off, window_len, window_generation;
};

static inline struct sqlite_store *grove__sqlite_store(struct grove_store *st)
{
	return (struct sqlite_store *)st;
}

static inline struct sqlite_log *grove__sqlite_log(struct grove_log *log)
{
	return (struct sqlite_log *)log;
}

/* sqlite_db.c: connections, transactions, syncing */

#define SQLITE_ABSENT 1  /* there is no database, or nothing in it yet */

/* A connection of one's own, to read with, until it is handed back. SQLITE_ABSENT. */
int grove__sqlite_reader(struct sqlite_store *s, struct sqlite_conn **out, struct grove_detail *d);
void grove__sqlite_reader_done(struct sqlite_store *s, struct sqlite_conn *c);
/*
 * Begin to write, and end it: by a rollback if `rc` says that something went
 * wrong. With `create` the database is made if there is none, else
 * SQLITE_ABSENT. GROVE_ECONFLICT if somebody else has it locked for too long.
 */
int grove__sqlite_write(struct sqlite_store *s, bool create, struct sqlite_conn **out,
			struct grove_detail *d);
int grove__sqlite_write_done(struct sqlite_store *s, struct sqlite_conn *c, int rc,
			     struct grove_detail *d);
/* The same by one who knows where the log ends now: remembered for who writes next. */
int grove__sqlite_end_done(struct sqlite_store *s, struct sqlite_conn *c,
			   const struct sqlite_log *log, const struct sqlite_end *end, int rc,
			   struct grove_detail *d);
/* All that was committed so far is on the disk afterwards. */
int grove__sqlite_sync(struct sqlite_store *s, struct grove_detail *d);
/* As durable as that; after a commit. */
int grove__sqlite_settle(struct sqlite_store *s, enum grove_sync sync, struct grove_detail *d);

/* Let go of the file; nobody uses the store any more. */
void grove__sqlite_disconnect(struct sqlite_store *s);

/* A statement, ready to take its values. */
int grove__sqlite_prepare(struct sqlite_conn *c, unsigned what, sqlite3_stmt **out,
			  struct grove_detail *d);
/* The next row: 0, 1 at the end. Whoever does not come to the end resets it. */
int grove__sqlite_row(struct sqlite_conn *c, sqlite3_stmt *st, struct grove_detail *d);
/* A statement without rows. */
int grove__sqlite_run(struct sqlite_conn *c, sqlite3_stmt *st, struct grove_detail *d);
/* Bytes that stay where they are until the statement has run; none are not NULL. */
int grove__sqlite_bind(struct sqlite_conn *c, sqlite3_stmt *st, int at, struct grove_slice bytes,
		       struct grove_detail *d);
static inline void grove__sqlite_bind_id(sqlite3_stmt *st, int at, const uint8_t id[GROVE__SQL_ID])
{
	sqlite3_bind_blob(st, at, id, GROVE__SQL_ID, SQLITE_STATIC);
}
static inline void grove__sqlite_bind_number(sqlite3_stmt *st, int at, bool known, int64_t n)
{
	if (known)
		sqlite3_bind_int64(st, at, n);
	else
		sqlite3_bind_null(st, at);
}
/* Text or, if there is none, NULL. */
static inline void grove__sqlite_bind_text(sqlite3_stmt *st, int at, struct grove_slice text)
{
	if (text.len)
		sqlite3_bind_text(st, at, text.ptr, (int)text.len, SQLITE_STATIC);
	else
		sqlite3_bind_null(st, at);
}
static inline void grove__sqlite_bind_str(sqlite3_stmt *st, int at, const char *str)
{
	sqlite3_bind_text(st, at, str, -1, SQLITE_STATIC);
}
/* What SQLite just answered, as an error of ours. */
int grove__sqlite_fail(struct sqlite_conn *c, int rc, struct grove_detail *d);

/*
 * sqlite_feed.c: what others are told of a log, and who may write to it
 *
 * A change other than lines behind the others, of which the log had `lines`
 * before: it is counted in `e` and told. With `generation` the lines are not
 * those that they were. Within a transaction.
 */
int grove__sqlite_note(struct sqlite_conn *c, const uint8_t id[GROVE__SQL_ID], struct sqlite_end *e,
		       uint64_t lines, enum grove_change_kind kind, struct grove_slice entry,
		       bool generation, struct grove_detail *d);
/* GROVE_ECONFLICT if the right to write, as it stands, is another's. */
int grove__sqlite_may_write(const struct sqlite_log *log, const struct grove_lease *held,
			    struct grove_detail *d);
int grove__sqlite_changes(struct grove_log *l, uint64_t since, grove_change_fn *fn, void *payload,
			  struct grove_detail *d);
int grove__sqlite_lease(struct grove_log *l, const char *owner, int64_t ms, struct grove_lease *out,
			struct grove_detail *d);
int grove__sqlite_ancestors(struct grove_log *l, struct grove_slice id, grove_record_fn *fn,
			    void *payload, struct grove_detail *d);

/* sqlite_lines.c */

/* Where the log ends, within a transaction. 1: there is none. */
int grove__sqlite_end(struct sqlite_conn *c, const uint8_t id[GROVE__SQL_ID], struct sqlite_end *e,
		      struct grove_detail *d);
/* Begin to write, at the end of the log, if this handle may. */
int grove__sqlite_begin(struct sqlite_store *s, const struct sqlite_log *log,
			struct sqlite_conn **c, struct sqlite_end *e, struct grove_detail *d);
/* A reader at one moment, and the end of the log at that moment. 1: the session is gone. */
int grove__sqlite_look(struct sqlite_store *s, const struct sqlite_log *log,
		       struct sqlite_conn **out, struct sqlite_end *e, struct grove_detail *d);
int grove__sqlite_stat(struct grove_log *l, struct grove_log_stat *out, struct grove_detail *d);
int grove__sqlite_read(struct grove_log *l, uint64_t pos, uint64_t until, char *buf, size_t cap,
		       struct grove_run *run, struct grove_detail *d);
int grove__sqlite_fetch(struct grove_log *l, uint64_t pos, uint64_t off, char *buf, size_t len,
			struct grove_detail *d);
int grove__sqlite_append(struct grove_log *l, const struct grove_record *rec, size_t nr,
			 uint64_t expect, enum grove_sync sync, struct grove_appended *out,
			 struct grove_detail *d);
int grove__sqlite_append_on(struct grove_log *l, const struct grove_record *rec, size_t nr,
			    uint64_t expect, uint64_t base, enum grove_sync sync,
			    struct grove_appended *out, struct grove_detail *d);
int grove__sqlite_replace(struct grove_log *l, uint64_t pos, struct grove_slice line,
			  enum grove_sync sync, struct grove_detail *d);
int grove__sqlite_update(struct grove_log *l, uint64_t pos, struct grove_slice was,
			 const struct grove_record *rec, enum grove_change_kind kind,
			 enum grove_sync sync, struct grove_detail *d);
int grove__sqlite_cut(struct grove_log *l, uint64_t pos, uint64_t expect, enum grove_sync sync,
		      struct grove_detail *d);
int grove__sqlite_rewrite(struct grove_log *l, grove_line_fn *next, void *payload, uint64_t expect,
			  unsigned flags, struct grove_detail *d);
/* Is the last line without its line end? Within a transaction. */
int grove__sqlite_unfinished(struct sqlite_conn *c, struct sqlite_log *log, bool *yes,
			     struct grove_detail *d);
int grove__sqlite_set_unfinished(struct sqlite_conn *c, struct sqlite_log *log, bool yes,
				 struct grove_detail *d);

/* sqlite.c: a store with other options. */
int grove__sqlite_open(struct grove_store **out, const char *path,
		       const struct grove__sqlite_options *opt, struct grove_detail *d);
int grove__sqlite_init(struct grove_store *st, struct grove_detail *d);
/* Bring the tables up to date; all of it happens or nothing. */
int grove__sqlite_upgrade(struct grove_store *st, unsigned *from, unsigned *to,
			  struct grove_detail *d);

#endif
