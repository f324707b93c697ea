/* store/sqlite_cache.c: databases that can be made again. */
#include "store/sqlite_cache.h"

#include "base/buf.h"
#include "sys/file.h"

#include <fcntl.h>

/* The files of a database; those of a write-ahead log are of earlier releases. */
static const char *const ends[] = { "", "-journal", "-wal", "-shm" };
#define NR_ENDS (sizeof(ends) / sizeof(*ends))

/* A file that somebody else created, or may write to, is not trusted. */
static bool is_anybodys(const char *path)
{
	struct grove_buf b = GROVE_BUF_INIT;
	struct grove__sys_stat st;
	bool yes = false;

	for (size_t i = 0; i < NR_ENDS && !yes; i++) {
		grove__buf_clear(&b);
		yes = grove__buf_addf(&b, "%s%s", path, ends[i]) ||
		      (!grove__sys_lstat(b.ptr, &st) && (st.type != SYS_FILE || !grove__sys_is_ours(&st)));
	}
	grove__buf_release(&b);
	return yes;
}

/* Its header says how it is read. Not read by a file of ours: to close that would end SQLite's locks. */
static bool has_wal(sqlite3 *db)
{
	enum { READ_VERSION = 19, ROLLBACK = 1 };
	unsigned char head[READ_VERSION + 1];
	sqlite3_file *f = NULL;

	return sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &f) || !f->pMethods ||
	       (!f->pMethods->xRead(f, head, sizeof(head), 0) && head[READ_VERSION] != ROLLBACK);
}

int grove__sqlite_cache_open(const char *path, const char *vfs, int busy_ms, sqlite3 **out)
{
	int fd, rc;

	*out = NULL;
	if (is_anybodys(path))
		return SQLITE_NOTADB;
	/* nobody else may read it; SQLite would use the umask */
	if (!grove__sys_open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600, &fd))
		grove__sys_close(fd);
	rc = sqlite3_open_v2(path, out, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, vfs);
	if (rc)
		return rc;
	sqlite3_extended_result_codes(*out, 1);
	sqlite3_busy_timeout(*out, busy_ms);
	if (has_wal(*out))
		return SQLITE_NOTADB;
	/* a power loss may leave damage, which the caller notices; nothing is written before the end */
	return sqlite3_exec(*out, "PRAGMA mmap_size = 0; PRAGMA synchronous = OFF; PRAGMA temp_store = MEMORY; "
				  "PRAGMA cache_spill = OFF", NULL, NULL, NULL);
}

void grove__sqlite_cache_remove(const char *path)
{
	struct grove_buf b = GROVE_BUF_INIT;

	for (size_t i = 0; i < NR_ENDS; i++) {
		grove__buf_clear(&b);
		if (!grove__buf_addf(&b, "%s%s", path, ends[i]))
			grove__sys_unlink(b.ptr);
	}
	grove__buf_release(&b);
}
