/*
 * store/sqlite.c: sessions in one SQLite database: `sqlite:PATH`.
 *
 * The common part of the database stores is in sql_*.c. Specific to SQLite are the file
 * with its connections and syncing (sqlite_db.c), statements (sqlite_stmt.c), and the
 * order of lines in the file (sqlite_lines.c).
 *
 * SQLite lets one transaction write at a time, to whichever session. The driver relies
 * on that: a writer is alone (`alone`), so compare and insert are two steps of one
 * transaction, no row is locked, and a lease is compared by reading it. It is fast
 * because it avoids queries: under the write lock, a counter of SQLite's
 * (SQLITE_FCNTL_DATA_VERSION) tells whether anybody has committed anything since our
 * last commit. If not, the end of the log, its lease and the version of the tables are
 * unchanged, and an append is BEGIN, INSERT, COMMIT.
 *
 * Readers and the writer do not wait for each other: each has a connection of its own
 * and sees the database as it was when it began.
 *
 * A database that does not exist is an empty store, just like a directory that does not
 * exist: looking creates nothing, and the first session creates the file, for its owner
 * alone. `grove store init` creates it ahead of that. A file that is not a store of
 * ours, or has another version, is refused and left as it is.
 */
#include "store/sqlite.h"

#include <stdlib.h>

/* The writer already has a transaction open. */
static int transaction(struct sql_conn *c, struct sql_work *w, sql_work_fn *fn,
		       struct grove_detail *d)
{
	return fn(c, w, d);
}

static void close_store(struct grove_store *st)
{
	struct sqlite_store *s = (struct sqlite_store *)st;

	grove__sqlite_disconnect(s);
	pthread_mutex_destroy(&s->write_lock);
	pthread_mutex_destroy(&s->sync_lock);
	pthread_cond_destroy(&s->synced_cond);
	grove__sql_store_release(&s->base);
	free(s->path);
	free(s->url);
	free(s);
}

static const struct sql_driver driver = {
	.name = "sqlite",
	.absent = "the database does not exist yet (run 'grove store init')",
	.alone = true,
	.window = 4 << 20,
	.work = grove__sqlite_work,
	.transaction = transaction,
	.run = grove__sqlite_run,
	.ask = grove__sqlite_ask,
	.next = grove__sqlite_next,
	.done = grove__sqlite_done,
	.duplicate = grove__sqlite_duplicate,
	.read = grove__sqlite_read,
	.piece = grove__sqlite_piece,
	.append = grove__sqlite_append,
	.insert = grove__sqlite_insert,
	.insert_rows = 1,
	.settle = grove__sqlite_settle,
	.init = grove__sqlite_init,
	.upgrade = grove__sqlite_upgrade,
	.close = close_store,
};

int grove__sqlite_open(struct grove_store **out, const char *path,
		       const struct grove__sqlite_options *opt, struct grove_detail *d)
{
	struct sqlite_store *s;
	struct grove_buf url = GROVE_BUF_INIT;

	*out = NULL;
	if (!*path)
		return grove__fail(d, GROVE_EINVAL, NULL, "sqlite: must be followed by a path");
	s = calloc(1, sizeof(*s));
	if (!s)
		return grove__fail_nomem(d);
	s->path = strdup(path);
	if (!s->path || grove__buf_addf(&url, "sqlite:%s", path)) {
		free(s->path);
		free(s);
		return grove__fail_nomem(d);
	}
	s->opt = *opt;
	s->url = url.ptr;
	s->wal_fd = -1;
	pthread_mutex_init(&s->write_lock, NULL);
	pthread_mutex_init(&s->sync_lock, NULL);
	pthread_cond_init(&s->synced_cond, NULL);
	grove__sql_store_init(&s->base, &driver, opt->schema, s->path, s->url);
	*out = &s->base.base;
	return 0;
}

int grove__store_sqlite_open(struct grove_store **out, const char *rest, struct grove_detail *d)
{
	static const struct grove__sqlite_options usual = { .schema = &grove__sql_schema_sqlite };

	return grove__sqlite_open(out, rest, &usual, d);
}
