/*
 * digest/catalog.c: a cache of what was found in logs.
 *
 * There is one table, with a row for each chapter of a log: the state of the log (device,
 * inode, length, times), what was found, and a checksum over both. A log that does not
 * match exactly is read again. Only a change within one tick of the clock could leave all
 * five values the same, so a log is remembered only once that has passed.
 *
 * One chapter of all logs stands before the next one: a list does not read the replies,
 * which are the larger part.
 *
 * Several processes share it through SQLite. But correctness does not depend on that: a row that is intact and matches its file is right, however it got
 * there, and any other row is ignored. So a power loss, a network directory or changed
 * bytes do no harm.
 *
 * No failure here is reported: a catalog that is damaged or of another version is
 * created again, and one that is locked or cannot be written is left alone.
 */
#include "digest/catalog.h"

#include "base/array.h"
#include "base/crc32c.h"
#include "base/idmap.h"
#include "store/sqlite_cache.h"
#include "store/sqlite_vfs.h"
#include "sys/clock.h"
#include "sys/state.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>

/*
 * The version of the table, and of the meaning of its bytes. Increase it also whenever a
 * dialect says something else about a line.
 */
#define VERSION "11"
#define BUSY_MS 500
/* If at least one in this many known files is looked up, all rows are read at once. */
#define ALL_FROM 8
/* This many files are examined at a time whether they still exist. */
#define GONE_MAX 128

struct row {
	int64_t id;                   /* see id_of() */
	struct grove_slice path;
	struct grove__log_state st;
	struct grove_slice bytes;
	uint32_t crc;                 /* as stored; compared when the row is looked up */
};

struct rows {
	struct row *list;
	size_t nr, cap;
};

struct known {
	struct rows rows;
	struct grove__idmap by_path;
	bool all;                     /* the chapter's rows are all here */
};

struct grove__catalog {
	char *file;
	sqlite3 *db;
	sqlite3_stmt *one;
	bool damaged;
	struct grove__arena texts;
	struct known known[CHAPTERS];
	struct rows fresh;
	pthread_mutex_t lock;         /* guards `one`, `fresh` and `damaged` */
};

/* A row's number begins with its chapter's, in so many bits after the sign. */
enum { CHAPTER_BITS = 2 };

static int64_t first_id(unsigned chapter)
{
	return (int64_t)((uint64_t)chapter << (63 - CHAPTER_BITS));
}

/*
 * The rest is the hash of the path. The table then needs no other index, and new rows in
 * this order are written sequentially. If two paths have the same hash, only one of them
 * is remembered.
 */
static int64_t id_of(enum grove__chapter chapter, struct grove_slice path)
{
	return first_id(chapter) + (int64_t)(grove__idmap_hash(0, path.ptr, path.len) >> (CHAPTER_BITS + 1));
}

static struct grove_slice path_of(const void *owner, uint32_t i)
{
	const struct known *k = owner;

	return k->rows.list[i].path;
}

/* ------------------------------------------------------------------ opening */

static bool run(sqlite3 *db, const char *sql)
{
	return sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK;
}

static bool is_current(sqlite3 *db)
{
	sqlite3_stmt *st;
	bool yes = sqlite3_prepare_v2(db, "PRAGMA user_version", -1, &st, NULL) == SQLITE_OK &&
		   sqlite3_step(st) == SQLITE_ROW &&
		   sqlite3_column_int(st, 0) == atoi(VERSION);

	sqlite3_finalize(st);
	return yes;
}

static bool make_table(sqlite3 *db)
{
	bool ok = run(db, "BEGIN IMMEDIATE");

	/* another process may have been faster */
	if (ok && is_current(db))
		return run(db, "COMMIT");
	/* the first three are those of earlier versions */
	ok = ok && run(db, "DROP TABLE IF EXISTS listed; DROP TABLE IF EXISTS billed; DROP TABLE IF EXISTS shaped; "
			   "DROP TABLE IF EXISTS digests; CREATE TABLE digests (id INTEGER PRIMARY KEY, path TEXT, "
			   "dev INTEGER, ino INTEGER, size INTEGER, mtime INTEGER, ctime INTEGER, "
			   "crc INTEGER, about BLOB); PRAGMA user_version = " VERSION "; COMMIT");
	if (!ok)
		run(db, "ROLLBACK");
	return ok;
}

static sqlite3 *open_db(const char *path)
{
	sqlite3 *db;
	int rc = grove__sqlite_cache_open(path, grove__sqlite_vfs(), BUSY_MS, &db);

	if (rc == SQLITE_NOTADB) {
		sqlite3_close(db);
		grove__sqlite_cache_remove(path);
		rc = grove__sqlite_cache_open(path, grove__sqlite_vfs(), BUSY_MS, &db);
	}
	/* rows are read from the first to the last, once: large pages, and few of them in memory */
	if (!rc && run(db, "PRAGMA page_size = 16384; PRAGMA cache_size = -512") && (is_current(db) || make_table(db)))
		return db;
	sqlite3_close(db);
	return NULL;
}

static bool is_damage(int rc)
{
	return (rc & 0xff) == SQLITE_CORRUPT || (rc & 0xff) == SQLITE_NOTADB;
}

/*
 * Damaged means that SQLite does not accept it as a database, not that it is locked or
 * unreachable.
 */
static bool is_damaged(const char *path)
{
	sqlite3 *db = NULL;
	int rc = sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL);

	if (!rc)
		rc = sqlite3_exec(db, "SELECT count(*) FROM sqlite_master", NULL, NULL, NULL);
	sqlite3_close(db);
	return is_damage(rc);
}

/* ------------------------------------------------------------------ reading */

/* Covers all of a row, and the release that wrote it. */
static uint32_t crc_of(const struct row *r)
{
	const uint64_t like[] = { r->st.dev, r->st.ino, r->st.size, (uint64_t)r->st.mtime_ns,
				  (uint64_t)r->st.ctime_ns, r->bytes.len, (uint64_t)r->id };
	uint32_t crc = grove__crc32c(0, GROVE_VERSION " " VERSION, sizeof(GROVE_VERSION " " VERSION));

	crc = grove__crc32c(crc, like, sizeof(like));
	crc = grove__crc32c(crc, r->path.ptr, r->path.len + 1);
	return grove__crc32c(crc, r->bytes.ptr, r->bytes.len);
}

static struct grove_slice keep(struct grove__arena *a, const void *ptr, size_t len)
{
	char *copy = grove__arena_alloc(a, len + 1, 8);

	if (copy) {
		if (len)
			memcpy(copy, ptr, len);
		copy[len] = '\0';
	}
	return grove__slice(copy, len);
}

/* GROVE_ENOMEM. */
static int take_row(sqlite3_stmt *st, struct grove__arena *a, struct row *out)
{
	const void *path = sqlite3_column_blob(st, 0);
	size_t path_len = (size_t)sqlite3_column_bytes(st, 0);
	const void *bytes = sqlite3_column_blob(st, 7);
	size_t len = (size_t)sqlite3_column_bytes(st, 7);

	*out = (struct row){
		.path = keep(a, path, path ? path_len : 0),
		.st = { .dev = (uint64_t)sqlite3_column_int64(st, 1), .ino = (uint64_t)sqlite3_column_int64(st, 2),
			.size = (uint64_t)sqlite3_column_int64(st, 3), .mtime_ns = sqlite3_column_int64(st, 4),
			.ctime_ns = sqlite3_column_int64(st, 5) },
		.bytes = keep(a, bytes, bytes ? len : 0),
		.crc = (uint32_t)sqlite3_column_int64(st, 6), .id = sqlite3_column_int64(st, 8),
	};
	return out->path.ptr && out->bytes.ptr ? 0 : GROVE_ENOMEM;
}

static sqlite3_stmt *prepare(struct grove__catalog *c, const char *sql)
{
	sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(c->db, sql, -1, &st, NULL);

	/* this version but without its table: not ours */
	c->damaged |= is_damage(rc) || rc == SQLITE_ERROR;
	return rc ? NULL : st;
}

/* Gets the next row. Returns 1 if there is none. */
static int step(struct grove__catalog *c, sqlite3_stmt *st, struct grove__arena *a, struct row *out)
{
	int rc = sqlite3_step(st);

	if (rc == SQLITE_ROW)
		return take_row(st, a, out);
	c->damaged |= is_damage(rc);
	return rc == SQLITE_DONE ? 1 : GROVE_EIO;
}

#define COLUMNS "path, dev, ino, size, mtime, ctime, crc, about, id"

/*
 * Reads all rows of a chapter, unless there turn out to be so many that it is faster to
 * look up the few that are needed. Returns 0, or 1 if it stopped for that reason.
 */
static int read_all(struct grove__catalog *c, unsigned chapter, const grove__catalog_need *need)
{
	sqlite3_stmt *st = prepare(c, "SELECT " COLUMNS " FROM digests WHERE id >= ? AND id < ?");
	struct known *k = &c->known[chapter];
	int rc = st ? 0 : GROVE_EIO;
	bool few = !*need;
	uint32_t old;
	struct row r;

	if (st) {
		sqlite3_bind_int64(st, 1, first_id(chapter));
		sqlite3_bind_int64(st, 2, first_id(chapter + 1));
	}
	while (!rc && !few && !(rc = step(c, st, &c->texts, &r))) {
		rc = grove__array_room(&k->rows.list, &k->rows.cap, k->rows.nr, sizeof(r));
		if (!rc)
			k->rows.list[k->rows.nr++] = r;
		few = k->rows.nr / ALL_FROM >= *need;
	}
	sqlite3_finalize(st);
	if (few && rc >= 0)
		return 1;
	for (uint32_t i = 0; i < k->rows.nr && rc == 1; i++)
		if (grove__idmap_put(&k->by_path, path_of(k, i), i, &old))
			rc = GROVE_ENOMEM;
	k->all = rc == 1;
	return rc == 1 ? 0 : rc;
}

static bool open_catalog(struct grove__catalog *c, unsigned chapters, const grove__catalog_need *need)
{
	int rc = 0;

	c->db = open_db(c->file);
	if (!c->db) {
		c->damaged = is_damaged(c->file);
		return false;
	}
	for (unsigned i = 0; i < CHAPTERS && rc >= 0; i++)
		if (chapters & 1u << i)
			rc = read_all(c, i, need);
	if (rc < 0)
		return false;
	c->one = prepare(c, "SELECT " COLUMNS " FROM digests WHERE id = ?");
	return c->one != NULL;
}

static void release(struct grove__catalog *c)
{
	sqlite3_finalize(c->one);
	sqlite3_close(c->db);
	if (c->damaged && c->file)
		grove__sqlite_cache_remove(c->file);
	for (unsigned i = 0; i < CHAPTERS; i++) {
		grove__idmap_release(&c->known[i].by_path);
		free(c->known[i].rows.list);
	}
	grove__arena_release(&c->texts);
	pthread_mutex_destroy(&c->lock);
	free(c->fresh.list);
	free(c->file);
	free(c);
}

static struct grove__catalog *new_catalog(const char *dir)
{
	struct grove__catalog *c = calloc(1, sizeof(*c));
	struct grove_buf file = GROVE_BUF_INIT;

	if (!c)
		return NULL;
	grove__arena_init(&c->texts);
	for (unsigned i = 0; i < CHAPTERS; i++)
		grove__idmap_init(&c->known[i].by_path, grove__sys_seed(), path_of, &c->known[i]);
	pthread_mutex_init(&c->lock, NULL);
	if (!grove__buf_addf(&file, "%s/catalog.db", dir)) {
		c->file = file.ptr;
		return c;
	}
	grove__buf_release(&file);
	release(c);
	return NULL;
}

struct grove__catalog *grove__catalog_open(struct grove *g, unsigned chapters,
					   const grove__catalog_need *need)
{
	struct grove__catalog *c;
	const char *dir;
	bool again = true;

	dir = grove__world_cache_dir(g);
	if (!dir)
		return NULL;
	/* a damaged one is removed and created again, once */
	for (int tries = 0; tries < 2 && again; tries++) {
		c = new_catalog(dir);
		if (!c || open_catalog(c, chapters, need))
			return c;
		/* an incomplete result is discarded */
		again = c->damaged;
		release(c);
	}
	return NULL;
}

static bool find_one(struct grove__catalog *c, enum grove__chapter chapter, struct grove_slice path,
		     struct grove__arena *tmp, struct row *out)
{
	bool found;

	pthread_mutex_lock(&c->lock);
	sqlite3_bind_int64(c->one, 1, id_of(chapter, path));
	found = !step(c, c->one, tmp, out) && grove__slice_eq(out->path, path);
	sqlite3_reset(c->one);
	pthread_mutex_unlock(&c->lock);
	return found;
}

static bool find(struct grove__catalog *c, enum grove__chapter chapter, const char *path,
		 struct grove__arena *tmp, struct row *out)
{
	uint32_t i;

	if (!c)
		return false;
	if (!c->known[chapter].all)
		return find_one(c, chapter, grove__slice_str(path), tmp, out);
	i = grove__idmap_get(&c->known[chapter].by_path, grove__slice_str(path));
	if (i == GROVE__IDMAP_NONE)
		return false;
	*out = c->known[chapter].rows.list[i];
	return true;
}

bool grove__catalog_lasts(const struct grove__catalog *c, enum grove__chapter chapter)
{
	return c && c->known[chapter].all;
}

bool grove__catalog_recall(struct grove__catalog *c, enum grove__chapter chapter, const char *path,
			   struct grove__log_state *st, struct grove__arena *tmp, struct grove_slice *out)
{
	struct row r;

	/* only a row that can be trusted */
	if (!find(c, chapter, path, tmp, &r) || r.crc != crc_of(&r))
		return false;
	*st = r.st;
	*out = r.bytes;
	return true;
}

bool grove__catalog_find(struct grove__catalog *c, enum grove__chapter chapter, const char *path,
			 const struct grove__log_state *st, struct grove__arena *tmp,
			 struct grove_slice *out)
{
	struct grove__log_state was;

	return grove__catalog_recall(c, chapter, path, &was, tmp, out) && grove__state_same(&was, st);
}

/* ------------------------------------------------------------------ writing */

void grove__catalog_put(struct grove__catalog *c, enum grove__chapter chapter, const char *path,
			const struct grove__log_state *st, struct grove_slice bytes)
{
	struct row r = { .id = id_of(chapter, grove__slice_str(path)), .st = *st };

	if (!c || !grove__sys_settled(st->ctime_ns))
		return;
	pthread_mutex_lock(&c->lock);
	r.path = keep(&c->texts, path, strlen(path));
	r.bytes = keep(&c->texts, bytes.ptr, bytes.len);
	if (r.path.ptr && r.bytes.ptr &&
	    !grove__array_room(&c->fresh.list, &c->fresh.cap, c->fresh.nr, sizeof(r)))
		c->fresh.list[c->fresh.nr++] = r;
	pthread_mutex_unlock(&c->lock);
}

static bool done(struct grove__catalog *c, sqlite3_stmt *st)
{
	int rc = sqlite3_step(st);

	c->damaged |= is_damage(rc);
	sqlite3_reset(st);
	return rc == SQLITE_DONE;
}

static int by_id(const void *x, const void *y)
{
	const struct row *a = x, *b = y;

	return a->id < b->id ? -1 : a->id > b->id;
}

static bool write_fresh(struct grove__catalog *c)
{
	sqlite3_stmt *st = prepare(c, "INSERT OR REPLACE INTO digests (" COLUMNS ") "
				      "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)");
	bool ok = st != NULL;

	if (c->fresh.nr)
		qsort(c->fresh.list, c->fresh.nr, sizeof(*c->fresh.list), by_id);
	for (size_t i = 0; i < c->fresh.nr && ok; i++) {
		const struct row *r = &c->fresh.list[i];

		sqlite3_bind_text(st, 1, r->path.ptr, (int)r->path.len, SQLITE_STATIC);
		sqlite3_bind_int64(st, 2, (int64_t)r->st.dev);
		sqlite3_bind_int64(st, 3, (int64_t)r->st.ino);
		sqlite3_bind_int64(st, 4, (int64_t)r->st.size);
		sqlite3_bind_int64(st, 5, r->st.mtime_ns);
		sqlite3_bind_int64(st, 6, r->st.ctime_ns);
		sqlite3_bind_int64(st, 7, crc_of(r));
		sqlite3_bind_blob64(st, 8, r->bytes.ptr, r->bytes.len, SQLITE_STATIC);
		sqlite3_bind_int64(st, 9, r->id);
		ok = done(c, st);
	}
	sqlite3_finalize(st);
	return ok;
}

/* Rows whose files no longer exist. */
struct gone {
	int64_t id[GONE_MAX];
	size_t nr;
};

/*
 * Examines the files of some rows, others each time: there may be many of other stores,
 * which a list does not look at.
 */
static void find_gone(struct grove__catalog *c, struct gone *out)
{
	sqlite3_stmt *st = prepare(c, "SELECT * FROM (SELECT id, path FROM digests WHERE id >= ?1 ORDER BY id) "
				      "UNION ALL SELECT * FROM (SELECT id, path FROM digests WHERE id < ?1 ORDER BY id)");
	struct grove__sys_stat now;
	uint64_t start = 0;

	grove__sys_random(&start, sizeof(start));
	out->nr = 0;
	if (st)
		sqlite3_bind_int64(st, 1, (int64_t)(start >> 1));
	for (size_t n = 0; st && n < GONE_MAX && sqlite3_step(st) == SQLITE_ROW; n++) {
		const char *path = (const char *)sqlite3_column_text(st, 1);
		/* those of logs in databases are no paths */
		int err = path && *path != '/' ? 0 : path ? grove__sys_lstat(path, &now) : -ENOENT;

		if (err == -ENOENT || err == -ENOTDIR)
			out->id[out->nr++] = sqlite3_column_int64(st, 0);
	}
	sqlite3_finalize(st);
}

/* With all chapters of them. */
static bool forget(struct grove__catalog *c, const struct gone *gone)
{
	sqlite3_stmt *st = prepare(c, "DELETE FROM digests WHERE id = ?");
	bool ok = st != NULL;

	for (size_t i = 0; i < gone->nr * CHAPTERS && ok; i++) {
		sqlite3_bind_int64(st, 1, first_id((unsigned)(i % CHAPTERS)) + gone->id[i / CHAPTERS] % first_id(1));
		ok = done(c, st);
	}
	sqlite3_finalize(st);
	return ok;
}

static bool write_news(struct grove__catalog *c, const struct gone *gone)
{
	bool ok = run(c->db, "BEGIN IMMEDIATE");

	/* another release may have created another table meanwhile */
	if (ok) {
		ok = is_current(c->db) && write_fresh(c) && (!gone->nr || forget(c, gone));
		ok = run(c->db, ok ? "COMMIT" : "ROLLBACK") && ok;
	}
	return ok;
}

/* Only some of its pages are read, so damage may be noticed only when it is written to. */
static bool create_again(struct grove__catalog *c)
{
	sqlite3_finalize(c->one);
	sqlite3_close(c->db);
	c->one = NULL;
	grove__sqlite_cache_remove(c->file);
	c->db = open_db(c->file);
	c->damaged = !c->db;
	return c->db;
}

void grove__catalog_close(struct grove__catalog *c, bool complete, struct grove__arena *texts)
{
	struct gone gone = { .nr = 0 };

	if (!c)
		return;
	if (complete && !c->damaged)
		find_gone(c, &gone);
	if (!c->damaged && (c->fresh.nr || gone.nr) && !write_news(c, &gone) && c->damaged && create_again(c)) {
		gone.nr = 0;
		write_news(c, &gone);
	}
	if (texts)
		grove__arena_join(texts, &c->texts);
	release(c);
}
