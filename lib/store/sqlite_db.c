/*
 * store/sqlite_db.c: the file of an SQLite store: connections, transactions, syncing.
 *
 * One connection writes while others read (write-ahead log), each thread with its own
 * from a small pool. SQLite syncs nothing when a transaction commits
 * (synchronous=NORMAL): the commit is atomic and ordered, and survives a crash of the
 * process. To make it durable, the write-ahead log is synced afterwards, and threads
 * that do so at the same time, for any session of the store, share one sync. What
 * SQLite copies from there into the database it syncs itself, before it restarts the
 * write-ahead log.
 *
 * Nobody but SQLite opens the database file itself: a process loses its locks on a file
 * when it closes any descriptor of it.
 */
#include "store/sqlite.h"

#include "store/sqlite_vfs.h"

#include "sys/alive.h"
#include "sys/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	BUSY_MS = 5000,
	IDLE_MAX = 8,
	MOVE_FROM = 4000,           /* pages in the write-ahead log */
	MOVE_AT_ONCE = 32768,       /* if it has been in use for this long without a break,
	                               writers have to wait */
	STRETCH_FROM = 16,          /* syncs */
	STRETCH_TO = 4 << 20        /* a little more than SQLite lets accumulate there */
};

#define APPLICATION "0x47525645"   /* "GRVE" in the file header */

static int run(struct sqlite_conn *c, unsigned what, struct grove_detail *d)
{
	return grove__sqlite_run(&c->base, what, NULL, 0, NULL, d);
}

static int exec(struct sqlite_conn *c, const char *sql, struct grove_detail *d)
{
	int rc = sqlite3_exec(c->db, sql, NULL, NULL, NULL);

	return rc ? grove__sqlite_fail(c, rc, d) : 0;
}

/* --------------------------------------------------------------- the tables */

static int ask_number(struct sqlite_conn *c, const char *sql, int64_t *out, struct grove_detail *d)
{
	sqlite3_stmt *st;
	int rc = sqlite3_prepare_v2(c->db, sql, -1, &st, NULL);

	if (rc)
		return grove__sqlite_fail(c, rc, d);
	rc = sqlite3_step(st);
	*out = rc == SQLITE_ROW ? sqlite3_column_int64(st, 0) : 0;
	rc = rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : grove__sqlite_fail(c, rc, d);
	sqlite3_finalize(st);
	return rc;
}

/* Gets the version of the tables, 0 if there are none. */
static int version_of(struct sqlite_conn *c, int64_t *out, struct grove_detail *d)
{
	int64_t tables, meta;
	int rc = ask_number(c, "SELECT count(*) FROM sqlite_master", &tables, d);

	*out = 0;
	if (rc || !tables)
		return rc;
	rc = ask_number(c, "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND "
			"name IN ('meta', 'sessions', 'entries', 'attachments', 'session_values')",
			&meta, d);
	if (!rc && meta < 5)
		return grove__fail(d, GROVE_ENOTSUP, c->base.where, "this database is not a grove store");
	if (!rc)
		rc = ask_number(c, "SELECT coalesce(max(value), 0) FROM meta WHERE name = 'version' AND "
				"typeof(value) = 'integer'", out, d);
	if (!rc && *out <= 0)
		rc = grove__fail(d, GROVE_EDAMAGED, c->base.where, "the version of its tables is missing");
	return rc;
}

static int check_version(struct sqlite_store *s, struct sqlite_conn *c, struct grove_detail *d)
{
	int64_t version;
	int rc = version_of(c, &version, d);

	if (rc)
		return rc;
	return version ? grove__sql_judge_version(&s->base, version, d) : GROVE__SQL_ABSENT;
}

/* Faster, before each change: an upgrade may have come in between. */
static int same_version(struct sqlite_store *s, struct sqlite_conn *c, struct grove_detail *d)
{
	sqlite3_stmt *st;
	int64_t version = 0;
	int rc = grove__sqlite_prepare(c, SQL_VERSION, &st, d);

	if (!rc)
		rc = grove__sqlite_step(c, st, d);
	if (rc)
		return rc < 0 ? rc : check_version(s, c, d);
	version = sqlite3_column_int64(st, 0);
	sqlite3_reset(st);
	return grove__sql_judge_version(&s->base, version, d);
}

/* Runs the statements of the versions after `from`, within a transaction. */
static int make_tables(struct sqlite_store *s, struct sqlite_conn *c, unsigned from,
		       struct grove_detail *d)
{
	const struct grove__sql_schema *schema = s->base.schema;
	const struct sql_arg version = grove__sql_number(schema->newest);
	int rc = 0;

	for (unsigned v = from; v < schema->newest && !rc; v++)
		for (const char *const *sql = schema->versions[v]; *sql && !rc; sql++)
			rc = exec(c, *sql, d);
	if (!rc)
		rc = grove__sqlite_run(&c->base, SQL_SET_VERSION, &version, 1, NULL, d);
	if (!rc)
		rc = exec(c, "PRAGMA application_id = " APPLICATION, d);
	return rc;
}

/* -------------------------------------------------------------- connections */

/*
 * All connections that are open in this process, and in a child those of its parent,
 * too. SQLite records the locks that a process has on a file in memory. A child
 * inherits that record but not the locks: it would use a file that its parent had open
 * without locks, and the write-ahead log would be removed under it.
 */
static pthread_mutex_t open_lock = PTHREAD_MUTEX_INITIALIZER;
static struct sqlite_conn *open_conns;

static void note_open(struct sqlite_conn *c)
{
	pthread_mutex_lock(&open_lock);
	c->pid = grove__sys_pid();
	c->next_open = open_conns;
	c->prev_open = &open_conns;
	if (open_conns)
		open_conns->prev_open = &c->next_open;
	open_conns = c;
	pthread_mutex_unlock(&open_lock);
}

static void note_closed(struct sqlite_conn *c)
{
	if (!c->prev_open)
		return;
	pthread_mutex_lock(&open_lock);
	*c->prev_open = c->next_open;
	if (c->next_open)
		c->next_open->prev_open = c->prev_open;
	pthread_mutex_unlock(&open_lock);
}

/* Returns GROVE_EINVAL if a parent had that file open when it forked this process. */
static int inherited(const char *path, const struct grove__sys_stat *st, struct grove_detail *d)
{
	int64_t pid = 0;

	pthread_mutex_lock(&open_lock);
	for (const struct sqlite_conn *c = open_conns; c && !pid; c = c->next_open)
		if (c->dev == st->dev && c->ino == st->ino && c->pid != grove__sys_pid())
			pid = c->pid;
	pthread_mutex_unlock(&open_lock);
	return grove__sql_forked(pid, path, d);
}

static void close_conn(struct sqlite_conn *c)
{
	if (!c)
		return;
	note_closed(c);
	for (unsigned i = 0; i < LITE_NR; i++)
		sqlite3_finalize(c->st[i]);
	sqlite3_close(c->db);
	free(c);
}

/*
 * SQLite's own busy handler soon sleeps for a hundred milliseconds; our writers are
 * done in less than one.
 */
static int wait_a_little(void *payload, int tries)
{
	const struct sqlite_store *s = payload;
	int ms = tries < 20 ? 1 : tries < 40 ? 5 : 20;
	int waited = tries < 20 ? tries : tries < 40 ? 20 + (tries - 20) * 5 : 120 + (tries - 40) * 20;

	if (waited >= (s->opt.busy_ms ? s->opt.busy_ms : BUSY_MS))
		return 0;
	sqlite3_sleep(ms);
	return 1;
}

static int open_db(struct sqlite_conn *c, int flags)
{
	/* "./": so that ":memory:" or "file:x" is just a file name */
	struct grove_buf path = GROVE_BUF_INIT;
	int rc = grove__buf_addf(&path, "%s%s", c->base.where[0] == '/' ? "" : "./", c->base.where);

	rc = rc ? SQLITE_NOMEM
		: sqlite3_open_v2(path.ptr, &c->db,
				  flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE,
				  grove__sqlite_vfs());
	grove__buf_release(&path);
	return rc;
}

/*
 * Even to read, SQLite needs files next to the database, which it cannot create in a
 * read-only directory. If nobody can write, nothing changes, so the file alone is
 * enough, unless there are uncommitted changes next to it.
 */
static int open_still(struct sqlite_conn *c)
{
	struct grove_buf uri = GROVE_BUF_INIT;
	struct grove__sys_stat st;
	int rc = grove__buf_addf(&uri, "%s-wal", c->base.where);

	if (!rc && !grove__sys_stat(uri.ptr, &st) && st.size)
		rc = 1;
	grove__buf_clear(&uri);
	if (!rc)
		rc = grove__buf_addf(&uri, "file:%s", c->base.where[0] == '/' ? "" : "./");
	for (const char *p = c->base.where; *p && !rc; p++)
		rc = strchr("%?#", *p) ? grove__buf_addf(&uri, "%%%02x", (unsigned char)*p)
				       : grove__buf_add_char(&uri, *p);
	if (!rc)
		rc = grove__buf_add_str(&uri, "?immutable=1");
	if (!rc) {
		sqlite3_close(c->db);
		c->db = NULL;
		rc = sqlite3_open_v2(uri.ptr, &c->db,
				     SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI, NULL);
	}
	grove__buf_release(&uri);
	return rc;
}

/* Any other error that keeps SQLite from opening the file may be temporary. */
static bool not_allowed(struct sqlite_conn *c)
{
	int err = sqlite3_system_errno(c->db);

	return (sqlite3_errcode(c->db) & 0xff) != SQLITE_CANTOPEN || err == EACCES || err == EPERM ||
	       err == EROFS;
}

/* The file may be anybody's: it may contain rows, but nothing in it may run. */
static void set_up(struct sqlite_store *s, struct sqlite_conn *c)
{
	sqlite3_extended_result_codes(c->db, 1);
	sqlite3_busy_handler(c->db, wait_a_little, s);
	sqlite3_db_config(c->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(c->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_db_config(c->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
	sqlite3_db_config(c->db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
}

static int look_at_file(const char *path, struct grove__sys_stat *st, struct grove_detail *d)
{
	int err = grove__sys_stat(path, st);

	if (err == -ENOENT)
		return GROVE__SQL_ABSENT;
	if (err)
		return grove__fail_sys(d, err, path, "cannot open the database");
	if (st->type != SYS_FILE)
		return grove__fail(d, GROVE_EINVAL, path, "not a file, so it cannot be an SQLite store");
	return 0;
}

static int connect(struct sqlite_store *s, struct sqlite_conn **out, struct grove_detail *d)
{
	struct sqlite_conn *c = calloc(1, sizeof(*c));
	struct grove__sys_stat st;
	int rc;

	if (!c)
		return grove__fail_nomem(d);
	c->base.where = s->path;
	c->base.driver = s->base.driver;
	rc = look_at_file(s->path, &st, d);
	if (!rc)
		rc = inherited(s->path, &st, d);
	if (rc)
		goto out;
	__atomic_store_n(&s->base.pid, grove__sys_pid(), __ATOMIC_RELEASE);
	rc = open_db(c, SQLITE_OPEN_READWRITE);
	if (rc) {
		int err = c->db ? sqlite3_system_errno(c->db) : 0;

		rc = err ? grove__fail_sys(d, -err, s->path, "cannot open the database")
			 : grove__sqlite_fail(c, rc, d);
		goto out;
	}
	set_up(s, c);
	rc = look_at_file(s->path, &st, d);
	c->dev = rc ? 0 : st.dev;
	c->ino = rc ? 0 : st.ino;
	if (!rc)
		note_open(c);
out:
	if (rc) {
		close_conn(c);
		return rc;
	}
	*out = c;
	return 0;
}

/* True if the path still names the file that the connection has open. */
static bool current(const struct sqlite_conn *c)
{
	struct grove__sys_stat st;

	return !grove__sys_stat(c->base.where, &st) && st.dev == c->dev && st.ino == c->ino;
}

static int open_reader(struct sqlite_store *s, struct sqlite_conn **out, struct grove_detail *d)
{
	struct grove__sys_stat st;
	struct sqlite_conn *c;
	int rc = look_at_file(s->path, &st, d);

	if (!rc)
		rc = connect(s, &c, d);
	if (rc)
		return rc;
	rc = check_version(s, c, d);
	if (rc == GROVE_EACCESS && not_allowed(c) && !open_still(c)) {
		set_up(s, c);
		rc = check_version(s, c, d);
	}
	if (rc)
		close_conn(c);
	else
		*out = c;
	return rc;
}

/* Takes a connection for reading, until it is returned. GROVE__SQL_ABSENT. */
static int take_reader(struct sqlite_store *s, struct sqlite_conn **out, struct grove_detail *d)
{
	struct sql_conn *c;

	while ((c = grove__sql_pool_take(&s->base))) {
		*out = grove__sqlite_conn(c);
		if (current(*out))
			return 0;
		close_conn(*out);
	}
	return open_reader(s, out, d);
}

static void give_reader(struct sqlite_store *s, struct sqlite_conn *c)
{
	struct sql_store *pool = &s->base;
	bool keep;

	if (!sqlite3_get_autocommit(c->db))
		run(c, LITE_COMMIT, NULL);
	pthread_mutex_lock(&pool->pool_lock);
	keep = pool->nr_idle < IDLE_MAX && sqlite3_get_autocommit(c->db);
	if (keep) {
		c->base.next = pool->idle;
		pool->idle = &c->base;
		pool->nr_idle++;
	}
	pthread_mutex_unlock(&pool->pool_lock);
	if (!keep)
		close_conn(c);
}

void grove__sqlite_disconnect(struct sqlite_store *s)
{
	struct sql_conn *c;

	/* in a child they stay as they are: SQLite would close what the parent has open */
	if (!grove__sql_ours(&s->base, NULL)) {
		while ((c = grove__sql_pool_take(&s->base)))
			close_conn(grove__sqlite_conn(c));
		close_conn(s->writer);
	}
	grove__sys_close(s->wal_fd);
	free(s->wal_path);
}

/* ------------------------------------------------------------------ writing */

/*
 * Switches from a rollback journal to the write-ahead log. This needs the file
 * exclusively for a moment, which SQLite's busy handler does not cover.
 */
static int go_wal(struct sqlite_store *s, struct sqlite_conn *c, struct grove_detail *d)
{
	const char *got;
	sqlite3_stmt *st;
	int rc;

	for (int tries = 0;; tries++) {
		rc = sqlite3_prepare_v2(c->db, "PRAGMA journal_mode = WAL", -1, &st, NULL);
		if (!rc) {
			rc = sqlite3_step(st);
			got = rc == SQLITE_ROW ? (const char *)sqlite3_column_text(st, 0) : NULL;
			c->wal = got && !strcmp(got, "wal");
			rc = sqlite3_finalize(st);
		}
		if ((rc & 0xff) != SQLITE_BUSY || !wait_a_little(s, tries))
			break;
	}
	if (rc)
		return grove__sqlite_fail(c, rc, d);
	/* a write-ahead log that a large append made long is truncated again */
	return exec(c, c->wal ? "PRAGMA synchronous = NORMAL; "
				"PRAGMA journal_size_limit = 16777216"
			      : "PRAGMA synchronous = FULL", d);
}

/*
 * After each commit, with the lock held. SQLite itself would move pages from the
 * write-ahead log to the file now, which means two syncs, and all writers would wait.
 */
static int count_pages(void *payload, sqlite3 *db, const char *name, int pages)
{
	struct sqlite_store *s = payload;

	if (pages >= MOVE_AT_ONCE)
		sqlite3_wal_checkpoint_v2(db, name, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
	__atomic_store_n(&s->wal_pages, pages, __ATOMIC_RELAXED);
	return SQLITE_OK;
}

/*
 * Creates a private file, and with `dirs` the directories to it: otherwise one that is
 * missing is more likely a mistake in the path.
 */
static int make_file(struct sqlite_store *s, struct grove_detail *d)
{
	const char *slash = strrchr(s->path, '/');
	struct grove__sys_stat st;
	int fd = -1, err = 0;

	if (slash && slash > s->path) {
		/* a copy: other threads look at the path without a lock */
		char *dir = strndup(s->path, (size_t)(slash - s->path));

		if (!dir)
			return grove__fail_nomem(d);
		err = s->dirs ? grove__sys_mkdirs(dir, 0700) : grove__sys_stat(dir, &st);
		if (!s->dirs && err == -ENOENT)
			grove__fail(d, GROVE_ENOTFOUND, dir,
				    "there is no such directory for a database (check --store and GROVE_STORE; 'grove store init' creates it)");
		free(dir);
		if (!s->dirs && err == -ENOENT)
			return GROVE_ENOTFOUND;
	}
	if (!err)
		err = grove__sys_open(s->path, O_RDWR | O_CREAT | O_EXCL, 0600, &fd);
	if (!err) {
		grove__sys_close(fd);
		s->made_file = true;
	}
	return err && err != -EEXIST ? grove__fail_sys(d, err, s->path, "cannot create the database")
				     : 0;
}

/* Finds the write-ahead log: next to the file, or to the target of a link. */
static int find_wal(struct sqlite_store *s, struct sqlite_conn *c, struct grove_detail *d)
{
	const char *name = c->wal ? sqlite3_filename_wal(sqlite3_db_filename(c->db, "main")) : NULL;
	char *path = name && *name ? strdup(name) : NULL;

	if (name && *name && !path)
		return grove__fail_nomem(d);
	pthread_mutex_lock(&s->sync_lock);
	free(s->wal_path);
	s->wal_path = path;
	s->named = false;
	s->other_wal = true;
	pthread_mutex_unlock(&s->sync_lock);
	return 0;
}

static int open_writer(struct sqlite_store *s, bool create, struct grove_detail *d)
{
	struct grove__sys_stat st;
	struct sqlite_conn *c = NULL;
	int64_t version = 0;
	int rc = look_at_file(s->path, &st, d);

	if (rc == GROVE__SQL_ABSENT && create)
		rc = make_file(s, d);
	if (!rc)
		rc = connect(s, &c, d);
	if (!rc)
		rc = version_of(c, &version, d);
	if (!rc && !version && !create)
		rc = GROVE__SQL_ABSENT;
	/* a file that is not ours, or of another version, is left as it is */
	if (!rc && version)
		rc = grove__sql_judge_version(&s->base, version, d);
	if (!rc)
		rc = go_wal(s, c, d);
	if (!rc && s->opt.max_pages) {
		char sql[64];

		snprintf(sql, sizeof(sql), "PRAGMA max_page_count = %d", s->opt.max_pages);
		rc = exec(c, sql, d);
	}
	if (!rc)
		rc = find_wal(s, c, d);
	if (rc) {
		close_conn(c);
	} else {
		sqlite3_wal_hook(c->db, count_pages, s);
		s->writer = c;
	}
	s->ready = s->stretched = false;
	s->left = 0;
	s->writers++;
	return rc;
}

static void roll_back(struct sqlite_conn *c)
{
	if (!sqlite3_get_autocommit(c->db))
		sqlite3_exec(c->db, "ROLLBACK", NULL, NULL, NULL);
}

/*
 * Gets SQLite's counter for the state of the file, which changes with every commit. It
 * is only meaningful for one connection, so we count those too. 0: unknown.
 */
static uint64_t state_of(const struct sqlite_store *s, struct sqlite_conn *c)
{
	unsigned state = 0;

	if (sqlite3_file_control(c->db, "main", SQLITE_FCNTL_DATA_VERSION, &state) || !state)
		return 0;
	return (uint64_t)s->writers << 32 | state;
}

/* Within a transaction: checks that the tables exist, or creates them if asked to. */
static int get_ready(struct sqlite_store *s, struct sqlite_conn *c, bool create,
		     struct grove_detail *d)
{
	int rc;

	if (s->ready)
		return c->base.epoch && c->base.epoch == s->left ? 0 : same_version(s, c, d);
	rc = check_version(s, c, d);
	if (rc == GROVE__SQL_ABSENT && create) {
		rc = make_tables(s, c, 0, d);
		s->made_tables = !rc;
	}
	s->ready = !rc;
	return rc;
}

/*
 * Syncing a file that grows also has to write its length and its blocks, which takes
 * about twice as long. So after many syncs, the write-ahead log is extended to its
 * final length; SQLite treats the zeros as the end. Nobody else writes to it while we
 * hold the lock. If there is no space for it, it stays as it is.
 */
static void stretch_wal(struct sqlite_store *s)
{
	static const char zeros[65536];
	struct grove__sys_stat st;
	int fd, err;

	s->stretched = true;
	if (!s->wal_path || grove__sys_open(s->wal_path, O_RDWR, 0, &fd))
		return;
	err = grove__sys_fstat(fd, &st);
	for (uint64_t at = st.size; !err && at < STRETCH_TO; at += sizeof(zeros))
		err = grove__sys_pwrite_all(fd, zeros, sizeof(zeros), at);
	grove__sys_close(fd);
}

/*
 * Begins to write. With `create`, the database is created if there is none; otherwise
 * GROVE__SQL_ABSENT. GROVE_ECONFLICT if somebody else has kept it locked for too long.
 * On success the lock is held.
 */
static int begin_write(struct sqlite_store *s, bool create, struct sqlite_conn **out,
		       struct grove_detail *d)
{
	struct sqlite_conn *c;
	int rc = 0;

	pthread_mutex_lock(&s->write_lock);
	if (s->writer && !current(s->writer)) {
		close_conn(s->writer);
		s->writer = NULL;
	}
	if (!s->writer)
		rc = open_writer(s, create, d);
	c = s->writer;
	if (!rc)
		rc = run(c, LITE_BEGIN_WRITE, d);
	if (!rc)
		c->base.epoch = state_of(s, c);
	if (!rc)
		rc = get_ready(s, c, create, d);
	if (!rc && !s->stretched && __atomic_load_n(&s->syncs, __ATOMIC_RELAXED) >= STRETCH_FROM)
		stretch_wal(s);
	if (rc && c)
		roll_back(c);
	if (rc)
		pthread_mutex_unlock(&s->write_lock);
	else
		*out = c;
	return rc;
}

/* Ends it, with a rollback if `rc` is not 0. Called with the lock held. */
static int end_write(struct sqlite_store *s, struct sqlite_conn *c, int rc, struct grove_detail *d)
{
	if (!rc) {
		rc = run(c, LITE_COMMIT, d);
		if (!rc) {
			s->left = state_of(s, c);
			__atomic_add_fetch(&s->written, 1, __ATOMIC_RELEASE);
		}
	}
	if (rc) {
		roll_back(c);
		s->ready = s->ready && !s->made_tables;
	}
	s->made_tables = false;
	return rc;
}

/*
 * Moves pages from the write-ahead log to the file, when there are many. Without the
 * lock, so that only this call waits for the disk, and others go on writing. If it
 * fails, the pages are still in the log, and the next commit tries again.
 */
static void move_pages(struct sqlite_store *s)
{
	int pages = __atomic_load_n(&s->wal_pages, __ATOMIC_RELAXED);
	struct sqlite_conn *c;

	if (pages < MOVE_FROM || __atomic_exchange_n(&s->moving, true, __ATOMIC_ACQUIRE))
		return;
	/* fewer than before: the log has started over */
	if (pages < s->moved_pages)
		s->moved_pages = 0;
	if (pages - s->moved_pages >= MOVE_FROM && !take_reader(s, &c, NULL)) {
		int moved = 0;

		if (!sqlite3_wal_checkpoint_v2(c->db, "main", SQLITE_CHECKPOINT_PASSIVE, NULL, &moved))
			s->moved_pages = moved;
		give_reader(s, c);
	}
	__atomic_store_n(&s->moving, false, __ATOMIC_RELEASE);
}

static int work_writing(struct sqlite_store *s, struct sql_work *w, struct grove_detail *d)
{
	struct sqlite_conn *c;
	int rc = begin_write(s, w->create, &c, d);

	if (rc)
		return rc;
	rc = end_write(s, c, w->fn(&c->base, w, d), d);
	if (!rc && w->ended) {
		w->ended->end = w->end;
		w->ended->end_epoch = s->left;
	}
	pthread_mutex_unlock(&s->write_lock);
	move_pages(s);
	return rc;
}

int grove__sqlite_work(struct sql_store *base, struct sql_work *w, struct grove_detail *d)
{
	struct sqlite_store *s = grove__sqlite_store(base);
	struct sqlite_conn *c;
	int rc = grove__sql_ours(base, d);

	if (rc)
		return rc;
	if (w->mode >= SQL_WRITE)
		return work_writing(s, w, d);
	rc = take_reader(s, &c, d);
	if (rc)
		return rc;
	if (w->mode != SQL_ONE)
		rc = run(c, LITE_BEGIN, d);
	if (!rc)
		rc = w->fn(&c->base, w, d);
	give_reader(s, c);
	return rc;
}

/* Does only what every write does first. */
static int touch(struct sql_conn *c, struct sql_work *w, struct grove_detail *d)
{
	(void)c;
	(void)w;
	(void)d;
	return 0;
}

int grove__sqlite_init(struct grove_store *st, struct grove_detail *d)
{
	struct sql_store *s = grove__sql_store(st);
	struct sql_work w = { .fn = touch, .mode = SQL_WRITE, .create = true };
	int rc;

	((struct sqlite_store *)st)->dirs = true;
	rc = grove__sqlite_work(s, &w, d);

	return rc ? rc : grove__sqlite_settle(s, GROVE_SYNC_ALWAYS, d);
}

int grove__sqlite_upgrade(struct grove_store *st, unsigned *from, unsigned *to,
			  struct grove_detail *d)
{
	struct sqlite_store *s = (struct sqlite_store *)st;
	struct grove__sys_stat file;
	struct sqlite_conn *c = NULL;
	int64_t version = 0;
	int rc = look_at_file(s->path, &file, d);

	if (!rc)
		rc = connect(s, &c, d);
	if (!rc)
		rc = run(c, LITE_BEGIN_WRITE, d);
	if (!rc)
		rc = version_of(c, &version, d);
	if (rc >= 0)
		rc = grove__sql_judge_upgrade(&s->base, version, from, to, d);
	if (!rc && version < *to)
		rc = make_tables(s, c, *from, d);
	if (!rc)
		rc = run(c, LITE_COMMIT, d);
	if (c && rc)
		roll_back(c);
	close_conn(c);
	return rc;
}

/* ------------------------------------------------------------------ syncing */

/*
 * Opens the write-ahead log ourselves; SQLite takes no locks on it. It is not even
 * examined (stat) between syncs: the system would then record the time of the next
 * write more precisely, which makes the sync a third slower. Called with the lock held.
 */
static int open_wal(struct sqlite_store *s, const char *path)
{
	int err;

	if (s->wal_fd >= 0 && !s->other_wal)
		return 0;
	grove__sys_close(s->wal_fd);
	s->wal_fd = -1;
	err = grove__sys_open(path, O_RDWR, 0, &s->wal_fd);
	s->other_wal = err != 0;
	return err;
}

static int sync_wal(struct sqlite_store *s, const char *path, bool named)
{
	int err = grove__sys_datasync(s->wal_fd);

	if (!err && !named)
		err = s->made_file ? grove__sys_sync_parents(path) : grove__sys_sync_parent(path);
	return err;
}

/* Makes all commits so far durable. */
static int sync_all(struct sqlite_store *s, struct grove_detail *d)
{
	uint64_t ticket = __atomic_load_n(&s->written, __ATOMIC_ACQUIRE);
	int rc = grove__sql_ours(&s->base, d);

	if (rc)
		return rc;
	pthread_mutex_lock(&s->sync_lock);
	while (!rc && s->wal_path && s->synced < ticket) {
		if (s->sync_failed) {
			rc = grove__fail(d, GROVE_EIO, s->path,
					 "an earlier sync failed, so it is unknown what is on disk");
		} else if (s->syncing || s->flushing) {
			pthread_cond_wait(&s->synced_cond, &s->sync_lock);
		} else {
			uint64_t upto = __atomic_load_n(&s->written, __ATOMIC_ACQUIRE);
			char *path = strdup(s->wal_path);
			bool named = s->named;
			int err = path ? open_wal(s, path) : -ENOMEM;

			s->syncing = true;
			pthread_mutex_unlock(&s->sync_lock);
			err = err ? err : sync_wal(s, path, named);
			pthread_mutex_lock(&s->sync_lock);
			s->syncing = false;
			if (err) {
				/* the system may have dropped the pages: never try again */
				s->sync_failed = true;
				grove__fail_sys(d, err, path, "cannot sync");
				if (d)
					d->code = GROVE_EIO;
				rc = GROVE_EIO;
			} else {
				s->named = true;
				s->synced = upto;
				__atomic_add_fetch(&s->syncs, 1, __ATOMIC_RELAXED);
			}
			free(path);
			pthread_cond_broadcast(&s->synced_cond);
		}
	}
	pthread_mutex_unlock(&s->sync_lock);
	return rc;
}

/*
 * Has the system begin to write. That may take a while if the disk is busy, so nobody
 * waits for it: threads that come meanwhile leave it to the one that does it.
 */
static void flush_all(struct sqlite_store *s)
{
	pthread_mutex_lock(&s->sync_lock);
	s->flush_again = true;
	while (s->flush_again && !s->flushing && !s->syncing && s->wal_path && !open_wal(s, s->wal_path)) {
		s->flush_again = false;
		s->flushing = true;
		pthread_mutex_unlock(&s->sync_lock);
		grove__sys_flush_hint(s->wal_fd, 0, 0);
		pthread_mutex_lock(&s->sync_lock);
		s->flushing = false;
		pthread_cond_broadcast(&s->synced_cond);
	}
	pthread_mutex_unlock(&s->sync_lock);
}

int grove__sqlite_settle(struct sql_store *base, enum grove_sync sync, struct grove_detail *d)
{
	struct sqlite_store *s = grove__sqlite_store(base);

	if (sync == GROVE_SYNC_ALWAYS)
		return sync_all(s, d);
	if (sync == GROVE_SYNC_FLUSH)
		flush_all(s);
	return 0;
}
