/* store/sqlite_vfs.h: SQLite's files under a limit on the file size. */
#ifndef GROVE_STORE_SQLITE_VFS_H
#define GROVE_STORE_SQLITE_VFS_H

/*
 * Returns the name to pass to sqlite3_open_v2() for every database that may be written
 * to: the files are those of the default VFS, but a write past RLIMIT_FSIZE is
 * SQLITE_FULL, not a signal. Returns NULL (the default itself) if that is not possible.
 */
const char *grove__sqlite_vfs(void);

#endif
