/*
 * store/sqlite_pass.h: a VFS in front of another one.
 *
 * Whoever wants to see some of what SQLite does to its files takes these methods,
 * which hand everything on, and replaces those few that it cares for.
 */
#ifndef GROVE_STORE_SQLITE_PASS_H
#define GROVE_STORE_SQLITE_PASS_H

#include <sqlite3.h>

/* A file of ours; that of the VFS behind us follows it in memory. */
struct grove__sqlite_file {
	sqlite3_file base;
	sqlite3_file *real;
};

static inline sqlite3_file *grove__sqlite_real(sqlite3_file *f)
{
	return ((struct grove__sqlite_file *)f)->real;
}

/* SQLite calls no method that is above `version`. */
void grove__sqlite_pass(int version, sqlite3_io_methods *out);
/* `out` is `plain` under another name, with an open of its own. */
void grove__sqlite_pass_vfs(const sqlite3_vfs *plain, const char *name,
			    int (*open)(sqlite3_vfs *, const char *, sqlite3_file *, int, int *),
			    sqlite3_vfs *out);
/*
 * Open the file behind `f`. What `f` itself can do is for the caller to set, if
 * the file was opened: a failed open may leave one that has to be closed.
 */
int grove__sqlite_pass_open(sqlite3_vfs *plain, const char *name, sqlite3_file *f, int flags, int *out);

#endif
