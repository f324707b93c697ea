/*
 * history/history_db.h: the file under a prompt history, for history/history*.c
 * alone.
 */
#ifndef GROVE_HISTORY_HISTORY_DB_H
#define GROVE_HISTORY_HISTORY_DB_H

#include "history/history.h"

#include <sqlite3.h>

/* What this history has; agents differ, and so do their releases. */
struct grove__history_shape {
	bool absent;         /* no table yet: an empty database */
	bool unique_prompt;  /* a prompt is there once, its time is that of its last use */
	bool session_id;
	bool use_count;
	bool fts;            /* history_fts is there and reads words as we do */
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
 * Open what is at `path`. READ: GROVE_ENOTFOUND if there is nothing, and what is
 * there stays as it is. WRITE: an empty database if there is nothing; the
 * tables are made by grove__history_db_create(). GROVE_EDAMAGED, GROVE_ENOTSUP
 * (a layout we do not know), GROVE_ECONFLICT (locked), GROVE_EACCESS.
 */
int grove__history_db_open(struct grove__history_db *h, const char *path,
			   enum grove__history_mode mode, int busy_ms, struct grove_detail *d);
void grove__history_db_close(struct grove__history_db *h);
/* Is the file that we have open still the one at its path? */
bool grove__history_db_current(const struct grove__history_db *h);
/* Within a transaction: look again at the layout if somebody has changed it. */
int grove__history_db_refresh(struct grove__history_db *h, struct grove_detail *d);
/*
 * Makes the tables, within a transaction of the caller; `counts_layouts` is the
 * dialect's (dialect.h).
 */
int grove__history_db_create(struct grove__history_db *h, bool counts_layouts, struct grove_detail *d);
/* Add the index and the triggers that are missing, and index all words again. */
int grove__history_db_upgrade(struct grove__history_db *h, struct grove_detail *d);

int grove__history_db_exec(struct grove__history_db *h, const char *sql, struct grove_detail *d);
int grove__history_db_prepare(struct grove__history_db *h, sqlite3_stmt **out,
			      struct grove_detail *d, const char *sql);
/* What SQLite just answered, as an error of ours. */
int grove__history_db_fail(struct grove__history_db *h, int rc, struct grove_detail *d);
void grove__history_db_rollback(struct grove__history_db *h);

#endif
