/*
 * store/sqlite_pass.h: a VFS in front of another one.
 *
 * To intercept some of what SQLite does to its files, take these methods, which pass
 * everything on, and replace a few of them.
 */
#ifndef GROVE_STORE_SQLITE_PASS_H
#define GROVE_STORE_SQLITE_PASS_H

#include <sqlite3.h>

/* A file of ours; that of the underlying VFS follows it in memory. */
struct grove__sqlite_file {
	sqlite3_file base;
	sqlite3_file *real;
};

static inline sqlite3_file *grove__sqlite_real(sqlite3_file *f)
{
	return ((struct grove__sqlite_file *)f)->real;
}

/* SQLite calls no method above `version`. */
void grove__sqlite_pass(int version, sqlite3_io_methods *out);
/* Makes `out` a copy of `plain` under another name, with its own open method. */
void grove__sqlite_pass_vfs(const sqlite3_vfs *plain, const char *name,
			    int (*open)(sqlite3_vfs *, const char *, sqlite3_file *, int, int *),
			    sqlite3_vfs *out);
/*
 * Opens the file under `f`. The caller sets the methods of `f` if the file was opened:
 * a failed open may leave one that has to be closed.
 */
int grove__sqlite_pass_open(sqlite3_vfs *plain, const char *name, sqlite3_file *f, int flags, int *out);

#endif
