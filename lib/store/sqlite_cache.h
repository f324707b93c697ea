/*
 * store/sqlite_cache.h: databases that can be made again, shared by all processes of a user.
 *
 * They have a rollback journal. A write-ahead log would let readers and a writer work at the
 * same time, but it comes with a file that SQLite maps into memory: if another program cuts
 * that file short, SIGBUS ends the process. So a writer keeps its changes in memory and shuts
 * readers out only for as long as it takes to write them.
 */
#ifndef GROVE_STORE_SQLITE_CACHE_H
#define GROVE_STORE_SQLITE_CACHE_H

#include <sqlite3.h>

/*
 * Opens a database, or creates it, for its owner alone. Returns a code of SQLite;
 * SQLITE_NOTADB if it has to be removed first: somebody else could write to it, or it has a
 * write-ahead log. *out is to be closed in any case.
 */
int grove__sqlite_cache_open(const char *path, const char *vfs, int busy_ms, sqlite3 **out);
/* Removes its files. */
void grove__sqlite_cache_remove(const char *path);

#endif
