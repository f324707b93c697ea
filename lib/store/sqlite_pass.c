/* store/sqlite_pass.c: methods of SQLite's files that pass everything on. */
#include "store/sqlite_pass.h"

/* A method of the file that passes everything on: its parameters, and how they are named in the call. */
#define PASS(name, method, params, args) \
	static int name params \
	{ \
		return grove__sqlite_real(f)->pMethods->method args; \
	}
#define REAL grove__sqlite_real(f)

PASS(do_close, xClose, (sqlite3_file *f), (REAL))
PASS(do_read, xRead, (sqlite3_file *f, void *buf, int len, sqlite3_int64 at), (REAL, buf, len, at))
PASS(do_write, xWrite, (sqlite3_file *f, const void *buf, int len, sqlite3_int64 at), (REAL, buf, len, at))
PASS(do_truncate, xTruncate, (sqlite3_file *f, sqlite3_int64 size), (REAL, size))
PASS(do_sync, xSync, (sqlite3_file *f, int flags), (REAL, flags))
PASS(do_size, xFileSize, (sqlite3_file *f, sqlite3_int64 *size), (REAL, size))
PASS(do_lock, xLock, (sqlite3_file *f, int lock), (REAL, lock))
PASS(do_unlock, xUnlock, (sqlite3_file *f, int lock), (REAL, lock))
PASS(do_reserved, xCheckReservedLock, (sqlite3_file *f, int *out), (REAL, out))
PASS(do_control, xFileControl, (sqlite3_file *f, int op, void *arg), (REAL, op, arg))
PASS(do_sector, xSectorSize, (sqlite3_file *f), (REAL))
PASS(do_characteristics, xDeviceCharacteristics, (sqlite3_file *f), (REAL))
PASS(do_shm_map, xShmMap, (sqlite3_file *f, int page, int size, int extend, void volatile **out),
     (REAL, page, size, extend, out))
PASS(do_shm_lock, xShmLock, (sqlite3_file *f, int from, int nr, int flags), (REAL, from, nr, flags))
PASS(do_shm_unmap, xShmUnmap, (sqlite3_file *f, int remove), (REAL, remove))
PASS(do_fetch, xFetch, (sqlite3_file *f, sqlite3_int64 at, int len, void **out), (REAL, at, len, out))
PASS(do_unfetch, xUnfetch, (sqlite3_file *f, sqlite3_int64 at, void *p), (REAL, at, p))

static void do_shm_barrier(sqlite3_file *f)
{
	REAL->pMethods->xShmBarrier(REAL);
}

void grove__sqlite_pass(int version, sqlite3_io_methods *out)
{
	*out = (sqlite3_io_methods){
		version, do_close, do_read, do_write, do_truncate, do_sync, do_size, do_lock, do_unlock,
		do_reserved, do_control, do_sector, do_characteristics, do_shm_map, do_shm_lock, do_shm_barrier,
		do_shm_unmap, do_fetch, do_unfetch,
	};
}

void grove__sqlite_pass_vfs(const sqlite3_vfs *plain, const char *name,
			    int (*open)(sqlite3_vfs *, const char *, sqlite3_file *, int, int *),
			    sqlite3_vfs *out)
{
	*out = *plain;
	out->zName = name;
	out->pNext = NULL;
	out->szOsFile = plain->szOsFile + (int)sizeof(struct grove__sqlite_file);
	out->xOpen = open;
}

int grove__sqlite_pass_open(sqlite3_vfs *plain, const char *name, sqlite3_file *f, int flags, int *out)
{
	struct grove__sqlite_file *own = (struct grove__sqlite_file *)f;

	own->real = (sqlite3_file *)(own + 1);
	own->real->pMethods = NULL;
	f->pMethods = NULL;
	return plain->xOpen(plain, name, own->real, flags, out);
}
