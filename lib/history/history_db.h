/* history/history_db.h: the file of a prompt history, for history/history*.c only. */
#ifndef GROVE_HISTORY_HISTORY_DB_H
#define GROVE_HISTORY_HISTORY_DB_H

#include "history/history.h"

#include <sqlite3.h>

/* The layout of this history; agents differ, and so do their releases. */
struct grove__history_shape {
	bool absent;         /* no table yet: an empty database */
	bool unique_prompt;  /* each prompt is stored once, with the time of its last use */
	bool session_id;
	bool use_count;
	bool fts;            /* history_fts exists and splits words as we do */
	bool insertable;     /* no column that we could not fill */
};

struct grove__history_db {
	sqlite3 *db;         /* NULL: not open */
	const char *path;
	uint64_t dev, ino;
	int schema_version;  /* that `shape` was taken from */
	struct grove__history_shape shape;
};

enum grove__history_mode { HISTORY_READ, HISTORY_WRITE };

/*
 * Opens the file at `path`. READ: GROVE_ENOTFOUND if there is none, and it is not
 * changed. WRITE: an empty database if there is none; the tables are created by
 * grove__history_db_create(). GROVE_EDAMAGED, GROVE_ENOTSUP (an unknown layout),
 * GROVE_ECONFLICT (locked), GROVE_EACCESS.
 */
int grove__history_db_open(struct grove__history_db *h, const char *path,
			   enum grove__history_mode mode, int busy_ms, struct grove_detail *d);
void grove__history_db_close(struct grove__history_db *h);
/* True if the open file is still the one at its path. */
bool grove__history_db_current(const struct grove__history_db *h);
/* Within a transaction: examines the layout again if somebody has changed it. */
int grove__history_db_refresh(struct grove__history_db *h, struct grove_detail *d);
/*
 * Creates the tables, within a transaction of the caller; `layout` is the
 * dialect's (dialect.h).
 */
int grove__history_db_create(struct grove__history_db *h, unsigned layout, struct grove_detail *d);
/* Adds missing indexes and triggers, and builds the word index again. */
int grove__history_db_upgrade(struct grove__history_db *h, struct grove_detail *d);

int grove__history_db_exec(struct grove__history_db *h, const char *sql, struct grove_detail *d);
int grove__history_db_prepare(struct grove__history_db *h, sqlite3_stmt **out,
			      struct grove_detail *d, const char *sql);
/* Turns the last error of SQLite into one of ours. */
int grove__history_db_fail(struct grove__history_db *h, int rc, struct grove_detail *d);
void grove__history_db_rollback(struct grove__history_db *h);

#endif
