/*
 * store/sqlite_vfs.c: SQLite's files under a limit on the file size.
 *
 * SQLite writes by itself, so what sys/file.c does around its writes is done here,
 * around every method that may make a file longer. Everything else goes to the VFS that
 * is the default when the first database is opened.
 */
#include "store/sqlite_vfs.h"

#include "store/sqlite_pass.h"
#include "sys/limit.h"

#include <pthread.h>

#define NAME "grove-limit"

static sqlite3_vfs *plain;
static sqlite3_vfs limiting;
static sqlite3_io_methods methods[3];   /* by version: SQLite calls no slot that is above it */

static sqlite3_file *real(sqlite3_file *f)
{
	return grove__sqlite_real(f);
}

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

/* A size hint may be acted on at once. */
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

static int do_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *f, int flags, int *out)
{
	int version, rc = grove__sqlite_pass_open(plain, name, f, flags, out);

	(void)vfs;
	if (real(f)->pMethods) {
		version = real(f)->pMethods->iVersion;
		f->pMethods = &methods[version > 3 ? 2 : version - 1];
	}
	return rc;
}

static void register_vfs(void)
{
	plain = sqlite3_vfs_find(NULL);
	if (!plain)
		return;
	for (int i = 0; i < 3; i++) {
		grove__sqlite_pass(i + 1, &methods[i]);
		methods[i].xWrite = do_write;
		methods[i].xTruncate = do_truncate;
		methods[i].xFileControl = do_control;
		methods[i].xShmMap = do_shm_map;
	}
	grove__sqlite_pass_vfs(plain, NAME, do_open, &limiting);
	if (sqlite3_vfs_register(&limiting, 0))
		plain = NULL;
}

const char *grove__sqlite_vfs(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, register_vfs);
	return plain ? NAME : NULL;
}
