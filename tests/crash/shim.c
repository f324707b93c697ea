/*
 * tests/crash/shim.c: makes SQLite's system calls and allocations fail in the
 * same way as grove's own.
 *
 * This is an SQLite VFS in front of the default one. It asks whether a call is to
 * fail, passes it on, and reports changes of files and names as lib/sys does, for
 * playing back what a disk may contain after a power failure (disk.c). The index
 * of the WAL is shared memory and not kept on the disk.
 */
#include "crash.h"

#ifdef GROVE_TEST_SQLITE

#include "sys/file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <unistd.h>

static sqlite3_vfs *below;

struct file {
	sqlite3_file base;
	sqlite3_file *real;             /* is in memory right behind this struct */
	const char *name;               /* NULL: a temporary file */
	int fd;                         /* stands for the file, cannot be read from; -1: none */
	bool names_too;                 /* the first sync also syncs the directory */
};

static void tell(struct grove__sys_deed deed)
{
	if (grove__sys_told)
		grove__sys_told(&deed);
}

/*
 * A descriptor opened normally would make SQLite lose its locks when it is closed: O_PATH avoids
 * that.
 */
static int stand_in(const char *path)
{
	return grove__sys_told ? open(path, O_PATH | O_CLOEXEC) : -1;
}

static void tell_file(sqlite3_file *f, struct grove__sys_deed deed)
{
	deed.fd = ((struct file *)f)->fd;
	if (deed.fd >= 0)
		tell(deed);
}

/* Reports that the directory of a file was synced. */
static void tell_dir(const char *name)
{
	char dir[1024];
	int fd;

	snprintf(dir, sizeof(dir), "%s", name);
	*strrchr(dir, '/') = '\0';
	fd = stand_in(dir);
	if (fd >= 0) {
		tell((struct grove__sys_deed){ .call = "sync", .fd = fd });
		close(fd);
	}
}

static sqlite3_file *real(sqlite3_file *f)
{
	return ((struct file *)f)->real;
}

/* Returns 0, or the error that SQLite is to get. */
static int refuse(const char *call, int otherwise)
{
	int err = fault_ask(call);

	/* SQLite reads errno afterwards */
	errno = err > 0 ? err : errno;
	return err <= 0 ? 0 : err == ENOSPC || err == EDQUOT ? SQLITE_FULL : otherwise;
}

static int f_close(sqlite3_file *f)
{
	if (((struct file *)f)->fd >= 0)
		close(((struct file *)f)->fd);
	return real(f)->pMethods ? real(f)->pMethods->xClose(real(f)) : SQLITE_OK;
}

static int f_read(sqlite3_file *f, void *buf, int n, sqlite3_int64 at)
{
	int rc = refuse("db-read", SQLITE_IOERR_READ);

	return rc ? rc : real(f)->pMethods->xRead(real(f), buf, n, at);
}

static int f_write(sqlite3_file *f, const void *buf, int n, sqlite3_int64 at)
{
	int err = fault_ask("db-write");

	if (err == GROVE__SYS_SHORT) {
		real(f)->pMethods->xWrite(real(f), buf, n / 2, at);
		raise(SIGKILL);
	}
	if (err > 0)
		return err == EIO ? SQLITE_IOERR_WRITE : SQLITE_FULL;
	err = real(f)->pMethods->xWrite(real(f), buf, n, at);
	if (!err)
		tell_file(f, (struct grove__sys_deed){ .call = "write", .bytes = buf, .len = (size_t)n,
						       .off = (uint64_t)at });
	return err;
}

static int f_truncate(sqlite3_file *f, sqlite3_int64 size)
{
	int rc = refuse("db-truncate", SQLITE_IOERR_TRUNCATE);

	rc = rc ? rc : real(f)->pMethods->xTruncate(real(f), size);
	if (!rc)
		tell_file(f, (struct grove__sys_deed){ .call = "truncate", .off = (uint64_t)size });
	return rc;
}

static int f_sync(sqlite3_file *f, int flags)
{
	int rc = refuse("db-sync", SQLITE_IOERR_FSYNC);

	rc = rc ? rc : real(f)->pMethods->xSync(real(f), flags);
	if (!rc) {
		tell_file(f, (struct grove__sys_deed){ .call = "sync" });
		if (((struct file *)f)->names_too)
			tell_dir(((struct file *)f)->name);
		((struct file *)f)->names_too = false;
	}
	return rc;
}

static int f_size(sqlite3_file *f, sqlite3_int64 *size)
{
	int rc = refuse("db-size", SQLITE_IOERR_FSTAT);

	return rc ? rc : real(f)->pMethods->xFileSize(real(f), size);
}

static int f_lock(sqlite3_file *f, int how)
{
	int rc = refuse("db-lock", SQLITE_IOERR_LOCK);

	return rc ? rc : real(f)->pMethods->xLock(real(f), how);
}

static int f_unlock(sqlite3_file *f, int how)
{
	return real(f)->pMethods->xUnlock(real(f), how);
}

static int f_reserved(sqlite3_file *f, int *out)
{
	return real(f)->pMethods->xCheckReservedLock(real(f), out);
}

static int f_control(sqlite3_file *f, int op, void *arg)
{
	return real(f)->pMethods->xFileControl(real(f), op, arg);
}

static int f_sector(sqlite3_file *f)
{
	return real(f)->pMethods->xSectorSize(real(f));
}

static int f_traits(sqlite3_file *f)
{
	return real(f)->pMethods->xDeviceCharacteristics(real(f));
}

static int f_shm_map(sqlite3_file *f, int page, int size, int extend, void volatile **out)
{
	int rc = refuse("db-map", SQLITE_IOERR_SHMMAP);

	return rc ? rc : real(f)->pMethods->xShmMap(real(f), page, size, extend, out);
}

static int f_shm_lock(sqlite3_file *f, int off, int n, int flags)
{
	int rc = flags & SQLITE_SHM_UNLOCK ? 0 : refuse("db-map-lock", SQLITE_IOERR_SHMLOCK);

	return rc ? rc : real(f)->pMethods->xShmLock(real(f), off, n, flags);
}

static void f_shm_barrier(sqlite3_file *f)
{
	real(f)->pMethods->xShmBarrier(real(f));
}

static int f_shm_unmap(sqlite3_file *f, int also)
{
	return real(f)->pMethods->xShmUnmap(real(f), also);
}

static const sqlite3_io_methods methods = {
	.iVersion = 2,
	.xClose = f_close,
	.xRead = f_read,
	.xWrite = f_write,
	.xTruncate = f_truncate,
	.xSync = f_sync,
	.xFileSize = f_size,
	.xLock = f_lock,
	.xUnlock = f_unlock,
	.xCheckReservedLock = f_reserved,
	.xFileControl = f_control,
	.xSectorSize = f_sector,
	.xDeviceCharacteristics = f_traits,
	.xShmMap = f_shm_map,
	.xShmLock = f_shm_lock,
	.xShmBarrier = f_shm_barrier,
	.xShmUnmap = f_shm_unmap,
};

static int v_open(sqlite3_vfs *v, const char *name, sqlite3_file *f, int flags, int *out)
{
	struct file *file = (struct file *)f;
	int rc = refuse("db-open", SQLITE_CANTOPEN);

	(void)v;
	file->base.pMethods = NULL;
	file->real = (sqlite3_file *)(file + 1);
	file->real->pMethods = NULL;
	file->name = name;
	file->fd = -1;
	file->names_too = name && (flags & SQLITE_OPEN_CREATE) &&
			  (flags & (SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_SUPER_JOURNAL | SQLITE_OPEN_WAL)) &&
			  access(name, F_OK);
	if (rc)
		return rc;
	rc = below->xOpen(below, name, file->real, flags, out);
	if (file->real->pMethods)
		file->base.pMethods = &methods;
	if (!rc && name) {
		file->fd = stand_in(name);
		tell_file(f, (struct grove__sys_deed){ .call = "create", .path = name });
	}
	return rc;
}

static int v_delete(sqlite3_vfs *v, const char *name, int sync)
{
	int rc = refuse("db-delete", SQLITE_IOERR_DELETE);

	(void)v;
	rc = rc ? rc : below->xDelete(below, name, sync);
	if (!rc) {
		tell((struct grove__sys_deed){ .call = "unlink", .fd = -1, .path = name });
		if (sync)
			tell_dir(name);
	}
	return rc;
}

static int v_access(sqlite3_vfs *v, const char *name, int flags, int *out)
{
	int rc = refuse("db-access", SQLITE_IOERR_ACCESS);

	(void)v;
	return rc ? rc : below->xAccess(below, name, flags, out);
}

/* Allocations: SQLite's own functions, asked first whether to fail. */
static sqlite3_mem_methods memory;

static void *m_malloc(int n)
{
	return fault_due_memory() ? NULL : memory.xMalloc(n);
}

static void *m_realloc(void *p, int n)
{
	return fault_due_memory() ? NULL : memory.xRealloc(p, n);
}

void shim_install(void)
{
	static sqlite3_vfs shim;
	sqlite3_mem_methods asking;

	sqlite3_config(SQLITE_CONFIG_GETMALLOC, &memory);
	asking = memory;
	asking.xMalloc = m_malloc;
	asking.xRealloc = m_realloc;
	sqlite3_config(SQLITE_CONFIG_MALLOC, &asking);
	below = sqlite3_vfs_find(NULL);
	shim = *below;
	shim.pNext = NULL;
	shim.zName = "grove-crash";
	shim.szOsFile = (int)sizeof(struct file) + below->szOsFile;
	shim.xOpen = v_open;
	shim.xDelete = v_delete;
	shim.xAccess = v_access;
	sqlite3_vfs_register(&shim, 1);
}

#else

void shim_install(void)
{
}

#endif
