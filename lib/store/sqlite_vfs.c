/*
 * store/sqlite_vfs.c: SQLite's files, safe under a limit on their size.
 *
 * SQLite writes by itself, so what sys/file.c does around its writes has to be
 * done here, around every method that may make a file longer. All else is handed
 * to the VFS that is the default when the first database is opened.
 */
#include "store/sqlite_vfs.h"

#include "sys/limit.h"

#include <pthread.h>
#include <sqlite3.h>

#define NAME "grove-limit"

struct limited {
	sqlite3_file base;
	sqlite3_file *real;          /* right behind this */
};

static sqlite3_vfs *plain;
static sqlite3_vfs limiting;
static sqlite3_io_methods methods[3];   /* by version: SQLite calls no slot that is above it */

static sqlite3_file *real(sqlite3_file *f)
{
	return ((struct limited *)f)->real;
}

/* ------------------------------------------------- what may make a file longer */

static int answer(struct grove__sys_limit *l, int rc)
{
	return grove__sys_limit_end(l) && rc ? SQLITE_FULL : rc;
}

static int do_write(sqlite3_file *f, const void *buf, int len, sqlite3_int64 at)
{
	struct grove__sys_limit l;

	grove__sys_limit_begin(&l);
	return answer(&l, real(f)->pMethods->xWrite(real(f), buf, len, at));
}

static int do_truncate(sqlite3_file *f, sqlite3_int64 size)
{
	struct grove__sys_limit l;

	grove__sys_limit_begin(&l);
	return answer(&l, real(f)->pMethods->xTruncate(real(f), size));
}

/* A hint about the size may be followed at once. */
static int do_control(sqlite3_file *f, int op, void *arg)
{
	struct grove__sys_limit l;

	if (op != SQLITE_FCNTL_SIZE_HINT)
		return real(f)->pMethods->xFileControl(real(f), op, arg);
	grove__sys_limit_begin(&l);
	return answer(&l, real(f)->pMethods->xFileControl(real(f), op, arg));
}

static int do_shm_map(sqlite3_file *f, int page, int size, int extend, void volatile **out)
{
	struct grove__sys_limit l;

	grove__sys_limit_begin(&l);
	return answer(&l, real(f)->pMethods->xShmMap(real(f), page, size, extend, out));
}

/* -------------------------------------------------------------- what is not ours */

static int do_close(sqlite3_file *f)
{
	return real(f)->pMethods->xClose(real(f));
}

static int do_read(sqlite3_file *f, void *buf, int len, sqlite3_int64 at)
{
	return real(f)->pMethods->xRead(real(f), buf, len, at);
}

static int do_sync(sqlite3_file *f, int flags)
{
	return real(f)->pMethods->xSync(real(f), flags);
}

static int do_size(sqlite3_file *f, sqlite3_int64 *size)
{
	return real(f)->pMethods->xFileSize(real(f), size);
}

static int do_lock(sqlite3_file *f, int lock)
{
	return real(f)->pMethods->xLock(real(f), lock);
}

static int do_unlock(sqlite3_file *f, int lock)
{
	return real(f)->pMethods->xUnlock(real(f), lock);
}

static int do_reserved(sqlite3_file *f, int *out)
{
	return real(f)->pMethods->xCheckReservedLock(real(f), out);
}

static int do_sector(sqlite3_file *f)
{
	return real(f)->pMethods->xSectorSize(real(f));
}

static int do_characteristics(sqlite3_file *f)
{
	return real(f)->pMethods->xDeviceCharacteristics(real(f));
}

static int do_shm_lock(sqlite3_file *f, int from, int nr, int flags)
{
	return real(f)->pMethods->xShmLock(real(f), from, nr, flags);
}

static void do_shm_barrier(sqlite3_file *f)
{
	real(f)->pMethods->xShmBarrier(real(f));
}

static int do_shm_unmap(sqlite3_file *f, int remove)
{
	return real(f)->pMethods->xShmUnmap(real(f), remove);
}

static int do_fetch(sqlite3_file *f, sqlite3_int64 at, int len, void **out)
{
	return real(f)->pMethods->xFetch(real(f), at, len, out);
}

static int do_unfetch(sqlite3_file *f, sqlite3_int64 at, void *p)
{
	return real(f)->pMethods->xUnfetch(real(f), at, p);
}

static int do_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *f, int flags, int *out)
{
	struct limited *l = (struct limited *)f;
	int rc, version;

	(void)vfs;
	l->real = (sqlite3_file *)(l + 1);
	l->real->pMethods = NULL;
	rc = plain->xOpen(plain, name, l->real, flags, out);
	f->pMethods = NULL;
	if (l->real->pMethods) {
		version = l->real->pMethods->iVersion;
		f->pMethods = &methods[version > 3 ? 2 : version - 1];
	}
	return rc;
}

static void begin(void)
{
	plain = sqlite3_vfs_find(NULL);
	if (!plain)
		return;
	for (int i = 0; i < 3; i++)
		methods[i] = (sqlite3_io_methods){
			i + 1, do_close, do_read, do_write, do_truncate, do_sync, do_size, do_lock, do_unlock,
			do_reserved, do_control, do_sector, do_characteristics, do_shm_map, do_shm_lock,
			do_shm_barrier, do_shm_unmap, do_fetch, do_unfetch,
		};
	limiting = *plain;
	limiting.zName = NAME;
	limiting.pNext = NULL;
	limiting.szOsFile = plain->szOsFile + (int)sizeof(struct limited);
	limiting.xOpen = do_open;
	if (sqlite3_vfs_register(&limiting, 0))
		plain = NULL;
}

const char *grove__sqlite_vfs(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, begin);
	return plain ? NAME : NULL;
}
