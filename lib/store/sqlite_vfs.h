/*
 * store/sqlite_vfs.h: SQLite's files, safe under a limit on their size.
 */
#ifndef GROVE_STORE_SQLITE_VFS_H
#define GROVE_STORE_SQLITE_VFS_H

/*
 * The name to give to sqlite3_open_v2() for every database that may be written
 * to: the files are those of the default VFS, but a write past RLIMIT_FSIZE is
 * SQLITE_FULL, not a signal. NULL (the default itself) if that cannot be had.
 */
const char *grove__sqlite_vfs(void);

#endif
