/*
 * search/search_sums.c: a database whose pages have checksums.
 *
 * SQLite notices damage only if a page no longer makes sense. A changed posting makes
 * sense, but the original would never be found again. So every page of the file ends in
 * eight bytes that SQLite leaves alone: a tag and the checksum of the rest, which are
 * set when a page is written to its place and verified when it is read.
 */
#include "search/search_sums.h"

#include "base/crc32c.h"
#include "store/sqlite_pass.h"
#include "store/sqlite_vfs.h"

#include <pthread.h>
#include <string.h>

#define NAME "grove-sums"
#define PAGE GROVE__SEARCH_PAGE
#define PART_MIN 512            /* a shorter read is of the file header */
#define RESERVED 8
#define COUNTER 24              /* of changes, in the file header; … */
#define COUNTER_AGAIN 92        /* … its page count is valid if this is the same */

static sqlite3_vfs *plain;
static sqlite3_vfs summing;
static sqlite3_io_methods methods;

static sqlite3_file *real(sqlite3_file *f)
{
	return grove__sqlite_real(f);
}

/* The position is included, so that a page in the place of another is detected. */
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
	/* a page of a long value is read without its end, but the checksum needs all of it */
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

/*
 * By the change counter SQLite tells whether the pages that it remembers are still those of
 * the file. It would begin at one again if somebody emptied the file and others made it anew.
 */
static void begin_counter(unsigned char *page)
{
	static const unsigned char one[] = { 0, 0, 0, 1 };

	if (memcmp(page + COUNTER, one, sizeof(one)))
		return;
	sqlite3_randomness(sizeof(one), page + COUNTER);
	memcpy(page + COUNTER_AGAIN, page + COUNTER, sizeof(one));
}

static int do_write(sqlite3_file *f, const void *buf, int len, sqlite3_int64 at)
{
	/* we may change these bytes: they are reserved for us; the counter is set by any commit */
	unsigned char *page = (unsigned char *)(uintptr_t)buf;

	if (len == PAGE && !at)
		begin_counter(page);
	if (len == PAGE)
		sum(buf, at, page + PAGE - RESERVED);
	return real(f)->pMethods->xWrite(real(f), buf, len, at);
}

static int do_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *f, int flags, int *out)
{
	int rc;

	(void)vfs;
	if (!(flags & SQLITE_OPEN_MAIN_DB))
		return plain->xOpen(plain, name, f, flags, out);
	rc = grove__sqlite_pass_open(plain, name, f, flags, out);
	if (real(f)->pMethods)
		f->pMethods = &methods;
	return rc;
}

static void begin(void)
{
	plain = sqlite3_vfs_find(grove__sqlite_vfs());
	if (!plain)
		return;
	/* version 1: nothing is mapped into memory, which would bypass the checks */
	grove__sqlite_pass(1, &methods);
	methods.xRead = do_read;
	methods.xWrite = do_write;
	grove__sqlite_pass_vfs(plain, NAME, do_open, &summing);
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
