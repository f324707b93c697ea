/* store/sqlite_pass.c: methods of SQLite's files that pass everything on. */
#include "store/sqlite_pass.h"

static int do_close(sqlite3_file *f)
{
	return grove__sqlite_real(f)->pMethods->xClose(grove__sqlite_real(f));
}

static int do_read(sqlite3_file *f, void *buf, int len, sqlite3_int64 at)
{
	return grove__sqlite_real(f)->pMethods->xRead(grove__sqlite_real(f), buf, len, at);
}

static int do_write(sqlite3_file *f, const void *buf, int len, sqlite3_int64 at)
{
	return grove__sqlite_real(f)->pMethods->xWrite(grove__sqlite_real(f), buf, len, at);
}

static int do_truncate(sqlite3_file *f, sqlite3_int64 size)
{
	return grove__sqlite_real(f)->pMethods->xTruncate(grove__sqlite_real(f), size);
}

static int do_sync(sqlite3_file *f, int flags)
{
	return grove__sqlite_real(f)->pMethods->xSync(grove__sqlite_real(f), flags);
}

static int do_size(sqlite3_file *f, sqlite3_int64 *size)
{
	return grove__sqlite_real(f)->pMethods->xFileSize(grove__sqlite_real(f), size);
}

static int do_lock(sqlite3_file *f, int lock)
{
	return grove__sqlite_real(f)->pMethods->xLock(grove__sqlite_real(f), lock);
}

static int do_unlock(sqlite3_file *f, int lock)
{
	return grove__sqlite_real(f)->pMethods->xUnlock(grove__sqlite_real(f), lock);
}

static int do_reserved(sqlite3_file *f, int *out)
{
	return grove__sqlite_real(f)->pMethods->xCheckReservedLock(grove__sqlite_real(f), out);
}

static int do_control(sqlite3_file *f, int op, void *arg)
{
	return grove__sqlite_real(f)->pMethods->xFileControl(grove__sqlite_real(f), op, arg);
}

static int do_sector(sqlite3_file *f)
{
	return grove__sqlite_real(f)->pMethods->xSectorSize(grove__sqlite_real(f));
}

static int do_characteristics(sqlite3_file *f)
{
	return grove__sqlite_real(f)->pMethods->xDeviceCharacteristics(grove__sqlite_real(f));
}

static int do_shm_map(sqlite3_file *f, int page, int size, int extend, void volatile **out)
{
	return grove__sqlite_real(f)->pMethods->xShmMap(grove__sqlite_real(f), page, size, extend, out);
}

static int do_shm_lock(sqlite3_file *f, int from, int nr, int flags)
{
	return grove__sqlite_real(f)->pMethods->xShmLock(grove__sqlite_real(f), from, nr, flags);
}

static void do_shm_barrier(sqlite3_file *f)
{
	grove__sqlite_real(f)->pMethods->xShmBarrier(grove__sqlite_real(f));
}

static int do_shm_unmap(sqlite3_file *f, int remove)
{
	return grove__sqlite_real(f)->pMethods->xShmUnmap(grove__sqlite_real(f), remove);
}

static int do_fetch(sqlite3_file *f, sqlite3_int64 at, int len, void **out)
{
	return grove__sqlite_real(f)->pMethods->xFetch(grove__sqlite_real(f), at, len, out);
}

static int do_unfetch(sqlite3_file *f, sqlite3_int64 at, void *p)
{
	return grove__sqlite_real(f)->pMethods->xUnfetch(grove__sqlite_real(f), at, p);
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
