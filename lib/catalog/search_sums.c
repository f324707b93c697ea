/*
 * catalog/search_sums.c: a database whose pages have checksums.
 *
 * SQLite notices damage where a page makes no sense any more. A posting that is
 * another one makes sense, and what it stood for would never be found again. So
 * every page of the file ends in eight bytes that SQLite leaves alone: our name and
 * the checksum of the rest, put there when a page is written to its place and
 * looked at when it is read. (A log of changes that are on their way has checksums
 * of its own.)
 */
#include "catalog/search_sums.h"

#include "base/crc32c.h"
#include "store/sqlite_vfs.h"

#include <pthread.h>
#include <string.h>

#define NAME "grove-sums"
#define PAGE GROVE__SEARCH_PAGE
#define PART_MIN 512            /* what is shorter is a look at the header */
#define RESERVED 8

struct summed {
	sqlite3_file base;
	sqlite3_file *real;          /* right behind this */
};

static sqlite3_vfs *plain;
static sqlite3_vfs summing;
static sqlite3_io_methods methods;

static sqlite3_file *real(sqlite3_file *f)
{
	return ((struct summed *)f)->real;
}

/* The place is part of it: a page that lies in that of another is none. */
static void sum(const void *page, sqlite3_int64 at, unsigned char out[RESERVED])
{
	uint32_t crc = grove__crc32c(grove__crc32c(0, &at, sizeof(at)), page, PAGE - RESERVED);

	memcpy(out, "grov", 4);
	memcpy(out + 4, &crc, 4);
}

static int do_read(sqlite3_file *f, void *buf, int len, sqlite3_int64 at)
{
	unsigned char want[RESERVED], whole[PAGE];
	void *page = len == PAGE ? buf : whole;
	int rc;

	if (len < PART_MIN)
		return real(f)->pMethods->xRead(real(f), buf, len, at);
	if (len > PAGE || at % PAGE)
		return SQLITE_IOERR_DATA;
	/* of a long value a page is read without its end: all of it tells whether it is right */
	rc = real(f)->pMethods->xRead(real(f), page, PAGE, at);
	if (rc && rc != SQLITE_IOERR_SHORT_READ)
		return rc;
	sum(page, at, want);
	if (rc || memcmp((char *)page + PAGE - RESERVED, want, RESERVED))
		return SQLITE_IOERR_DATA;
	if (page != buf)
		memcpy(buf, page, (size_t)len);
	return SQLITE_OK;
}

static int do_write(sqlite3_file *f, const void *buf, int len, sqlite3_int64 at)
{
	/* the bytes are ours to change: that is what they were reserved for */
	if (len == PAGE)
		sum(buf, at, (unsigned char *)(uintptr_t)buf + PAGE - RESERVED);
	return real(f)->pMethods->xWrite(real(f), buf, len, at);
}

static int do_close(sqlite3_file *f)
{
	return real(f)->pMethods->xClose(real(f));
}

static int do_truncate(sqlite3_file *f, sqlite3_int64 size)
{
	return real(f)->pMethods->xTruncate(real(f), size);
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

static int do_control(sqlite3_file *f, int op, void *arg)
{
	return real(f)->pMethods->xFileControl(real(f), op, arg);
}

static int do_sector(sqlite3_file *f)
{
	return real(f)->pMethods->xSectorSize(real(f));
}

static int do_characteristics(sqlite3_file *f)
{
	return real(f)->pMethods->xDeviceCharacteristics(real(f));
}

static int do_shm_map(sqlite3_file *f, int page, int size, int extend, void volatile **out)
{
	return real(f)->pMethods->xShmMap(real(f), page, size, extend, out);
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

static int do_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *f, int flags, int *out)
{
	struct summed *s = (struct summed *)f;
	int rc;

	(void)vfs;
	if (!(flags & SQLITE_OPEN_MAIN_DB))
		return plain->xOpen(plain, name, f, flags, out);
	s->real = (sqlite3_file *)(s + 1);
	rc = plain->xOpen(plain, name, s->real, flags, out);
	f->pMethods = s->real->pMethods ? &methods : NULL;
	return rc;
}

static void begin(void)
{
	plain = sqlite3_vfs_find(grove__sqlite_vfs());
	if (!plain)
		return;
	/* version 2: no mapping, which would pass by the checks */
	methods = (sqlite3_io_methods){
		2, do_close, do_read, do_write, do_truncate, do_sync, do_size, do_lock, do_unlock, do_reserved,
		do_control, do_sector, do_characteristics, do_shm_map, do_shm_lock, do_shm_barrier,
		do_shm_unmap, NULL, NULL,
	};
	summing = *plain;
	summing.zName = NAME;
	summing.pNext = NULL;
	summing.szOsFile = plain->szOsFile + (int)sizeof(struct summed);
	summing.xOpen = do_open;
	if (sqlite3_vfs_register(&summing, 0))
		plain = NULL;
}

const char *grove__search_sums(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, begin);
	return plain ? NAME : NULL;
}

int grove__search_sums_begin(sqlite3 *db)
{
	int nr = RESERVED;

	return grove__search_sums() ? sqlite3_file_control(db, "main", SQLITE_FCNTL_RESERVE_BYTES, &nr) : 0;
}
